#include "unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 512, CHUNK = 1 << 16 };

const char DAMAGED[] = "this file is damaged: its payload does not match its checksum";

static lzma_stream stream = LZMA_STREAM_INIT;
static lzma_ret state = LZMA_OK;
static int source;
static unsigned char compressed[CHUNK], data[CHUNK];
static char reason[512];

static const char *failed(const char *path) {
    snprintf(reason, sizeof reason, "cannot write %s: %s", path, strerror(errno));
    return reason;
}

/* The next bytes of the archive, as many as asked for unless it ends before. */
static size_t pull(void *buffer, size_t size) {
    stream.next_out = buffer;
    stream.avail_out = size;
    while (stream.avail_out > 0 && state == LZMA_OK) {
        if (stream.avail_in == 0) {
            ssize_t got = read(source, compressed, sizeof compressed);
            if (got < 0 && errno == EINTR) continue;
            stream.next_in = compressed;
            stream.avail_in = got > 0 ? (size_t)got : 0;
        }
        state = lzma_code(&stream, stream.avail_in == 0 ? LZMA_FINISH : LZMA_RUN);
    }
    return size - stream.avail_out;
}

static const char *write_file(int folder, const char *path, mode_t mode, unsigned long long size) {
    int file = openat(folder, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return failed(path);
    const char *why = NULL;
    for (unsigned long long rest = (size + BLOCK - 1) / BLOCK * BLOCK, left = size; rest > 0 && why == NULL;) {
        size_t part = rest < CHUNK ? (size_t)rest : CHUNK;
        if (pull(data, part) != part) why = DAMAGED;
        size_t wanted = left < part ? (size_t)left : part;
        for (size_t done = 0; done < wanted && why == NULL;) {
            ssize_t n = write(file, data + done, wanted - done);
            if (n < 0 && errno != EINTR) why = failed(path);
            if (n > 0) done += (size_t)n;
        }
        rest -= part;
        left -= wanted;
    }
    if (why == NULL && fchmod(file, mode) != 0) why = failed(path);
    if (close(file) != 0 && why == NULL) why = failed(path);
    return why;
}

/* One member: its header is in ustar's form, written by the build. */
static const char *write_member(int folder, const char *header) {
    char path[257], target[101];
    int has_prefix = header[345] != '\0';
    snprintf(path, sizeof path, "%.155s%s%.100s", has_prefix ? header + 345 : "", has_prefix ? "/" : "", header);
    snprintf(target, sizeof target, "%.100s", header + 157);
    mode_t mode = (mode_t)strtoul(header + 100, NULL, 8) & 0755;
    unsigned long long size = strtoull(header + 124, NULL, 8);
    if (path[0] == '/' || strstr(path, "..") || strstr(target, "..")) return DAMAGED;
    switch (header[156]) {
    case '0': return write_file(folder, path, mode, size);
    case '1': return linkat(folder, target, folder, path, 0) == 0 ? NULL : failed(path);
    case '5':
        if (mkdirat(folder, path, 0700) != 0 && errno != EEXIST) return failed(path);
        return fchmodat(folder, path, mode, 0) == 0 ? NULL : failed(path);
    default: return DAMAGED;
    }
}

const char *unpack(int from, off_t begin, int folder) {
    static char header[BLOCK + 1];
    const char *why = NULL;
    source = from;
    if (begin <= 0 || lseek(from, begin, SEEK_SET) != begin) return DAMAGED;
    if (lzma_stream_decoder(&stream, 256U << 20, LZMA_TELL_UNSUPPORTED_CHECK) != LZMA_OK) return "no memory";
    while (why == NULL) {
        if (pull(header, BLOCK) != BLOCK) why = DAMAGED;
        if (why != NULL || header[0] == '\0') break; /* a block of zeros ends an archive */
        why = write_member(folder, header);
    }
    while (why == NULL && pull(data, sizeof data) > 0) continue; /* the checksum stands behind the last byte */
    if (why == NULL && state != LZMA_STREAM_END) why = state == LZMA_MEM_ERROR ? "no memory" : DAMAGED;
    lzma_end(&stream);
    return why;
}
