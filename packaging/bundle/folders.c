#include "folders.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char reason[PATH_MAX + 200];

static const char *weakness(const char *path, int above) {
    struct stat found;
    if (lstat(path, &found) != 0) {
        snprintf(reason, sizeof reason, "%s: %s", path, strerror(errno));
        return reason;
    }
    if (!S_ISDIR(found.st_mode)) {
        snprintf(reason, sizeof reason, "%s is no folder", path);
        return reason;
    }
    if (found.st_uid != 0 && found.st_uid != geteuid()) {
        snprintf(reason, sizeof reason, "%s belongs to uid %u", path, (unsigned)found.st_uid);
        return reason;
    }
    if (above && (found.st_mode & S_ISVTX)) return NULL;
    int own_group = above && (found.st_gid == 0 || (geteuid() != 0 && found.st_gid == getegid()));
    if ((found.st_mode & S_IWOTH) || ((found.st_mode & S_IWGRP) && !own_group)) {
        snprintf(reason, sizeof reason, "%s can be written by others (mode %04o)", path,
                 (unsigned)found.st_mode & 07777);
        return reason;
    }
    return NULL;
}

const char *distrusted(const char *path) {
    char above[PATH_MAX];
    const char *why = weakness("/", 1);
    snprintf(above, sizeof above, "%s", path);
    for (char *at = strchr(above + 1, '/'); at != NULL && why == NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        why = weakness(above, 1);
        *at = '/';
    }
    return why ? why : weakness(path, 0);
}

/* Root makes what others are to read, whatever its umask is at the moment. */
static int make_folder(const char *path, unsigned mode) {
    /* EROFS and EACCES come before EEXIST on some file systems: what is there is not to be made. */
    if (access(path, F_OK) == 0) return 0;
    if (mkdir(path, mode) != 0) return errno == EEXIST ? 0 : -1;
    return geteuid() == 0 ? chmod(path, mode) : 0;
}

int make_folders(const char *path, unsigned mode) {
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = strchr(part + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (make_folder(part, 0755) != 0) return -1;
        *at = '/';
    }
    return make_folder(part, mode);
}

static int remove_one(const char *path, const struct stat *found, int kind, struct FTW *at) {
    (void)found, (void)kind, (void)at;
    remove(path);
    return 0;
}

static int remove_inner(const char *path, const struct stat *found, int kind, struct FTW *at) {
    return at->level == 0 ? 0 : remove_one(path, found, kind, at);
}

void remove_tree(const char *path, int itself) {
    nftw(path, itself ? remove_one : remove_inner, 16, FTW_DEPTH | FTW_PHYS);
}

int is_empty(const char *path) {
    DIR *folder = opendir(path);
    int count = 0;
    if (folder == NULL) return 0;
    while (readdir(folder) != NULL) count++;
    closedir(folder);
    return count <= 2;
}
