/* The whole product in one file: this program, and behind it the tree, packed. It unpacks the tree once, into a folder
   of its version and build, and from then on only looks whether that folder is to be trusted and becomes the program
   in it. docs/decisions/0015-one-file.md tells why.

   The build gives VERSION, BUILD, PAYLOAD_SIZE (bytes behind this program) and UNPACKED_SIZE (bytes, about). */
#include "folders.h"
#include "start.h"
#include "unpack.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

enum { FAILED = 126, WRONG_USAGE = 2 };

static char base[PATH_MAX - 256]; /* of all versions */
static char tree[PATH_MAX];       /* of this one */

static _Noreturn void __attribute__((format(printf, 2, 3))) die(int code, const char *words, ...) {
    va_list values;
    va_start(values, words);
    fputs("jobctl: ", stderr);
    vfprintf(stderr, words, values);
    fputc('\n', stderr);
    va_end(values);
    exit(code);
}

/* What helps where this place does not do. */
static const char *elsewhere = "JOBCTL_UNPACK_DIR=DIR chooses another place";

static void settle_base(void) {
    const char *given = getenv("JOBCTL_UNPACK_DIR"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int size;
    if (given != NULL && *given != '\0') {
        if (*given != '/') die(WRONG_USAGE, "JOBCTL_UNPACK_DIR is %s: an absolute path is needed", given);
        size = snprintf(base, sizeof base, "%s", given);
    } else if (geteuid() == 0) {
        size = snprintf(base, sizeof base, "/opt/jobctl/unpacked");
    } else if (data != NULL && *data == '/') {
        size = snprintf(base, sizeof base, "%s/jobctl/unpacked", data);
    } else if (home != NULL && *home == '/') {
        size = snprintf(base, sizeof base, "%s/.local/share/jobctl/unpacked", home);
    } else {
        die(FAILED, "HOME is not set, so there is no place to unpack to; %s", elsewhere);
    }
    if (size >= (int)sizeof base) die(FAILED, "the path of the folder to unpack to is too long; %s", elsewhere);
}

/* Links are followed once; from here on only the path without them is used, and that one is looked at. 0 when it is
   not there yet. */
static int resolve_base(void) {
    char real[PATH_MAX];
    if (realpath(base, real) == NULL) {
        if (errno == ENOENT) return 0;
        die(FAILED, "cannot look at %s: %s; %s", base, strerror(errno), elsewhere);
    }
    if (snprintf(base, sizeof base, "%s", real) >= (int)sizeof base) die(FAILED, "%s: the path is too long", real);
    snprintf(tree, sizeof tree, "%s/" VERSION "-" BUILD, base);
    return 1;
}

static int is_there(void) {
    struct stat found;
    return lstat(tree, &found) == 0;
}

/* The lock that an unpacking takes alone, and a start together with others, until it has become the program: exec
   closes it after /proc tells what runs, so that no tree goes from under somebody who begins. Whoever may not even
   open it (root's folder, a file system that is read-only) can unpack nothing either. */
static int take_lock(int how) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/.lock", base);
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0) lock = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (lock < 0) return -1;
    while (flock(lock, how) != 0)
        if (errno != EINTR) {
            close(lock);
            return -1;
        }
    return lock;
}

/* Whether the tree is there, and will be until this has become its program. Whoever unpacks another version may be
   removing this one at the moment, so it is looked at again under the lock. */
static int is_held(void) {
    if (!is_there()) return 0;
    int lock = take_lock(LOCK_SH);
    if (is_there()) return 1;
    if (lock >= 0) close(lock); /* which make_tree takes alone */
    return 0;
}

static int open_self(void) {
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (self < 0) self = open((const char *)getauxval(AT_EXECFN), O_RDONLY | O_CLOEXEC);
    if (self < 0) die(FAILED, "cannot read itself: %s", strerror(errno));
    return self;
}

static void check_room(const char *where) {
    struct statvfs found;
    if (statvfs(where, &found) != 0) return;
    if (found.f_flag & ST_NOEXEC)
        die(FAILED, "%s lies on a file system that runs no programs (noexec); %s", where, elsewhere);
    unsigned long long room = (unsigned long long)found.f_bavail * found.f_frsize;
    if (room < UNPACKED_SIZE)
        die(FAILED, "%s has too little room: %llu MB, and %llu MB are needed; %s", where, room >> 20,
            UNPACKED_SIZE >> 20, elsewhere);
}

/* Into a folder that is there and empty. On disk when it returns; it ends here, with nothing left, when that fails. */
static void fill(const char *folder, int itself) {
    int self = open_self(), at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat found;
    if (at < 0) die(FAILED, "cannot open %s: %s", folder, strerror(errno));
    if (fstat(self, &found) != 0) die(FAILED, "cannot read itself: %s", strerror(errno));
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN); /* a limit on sizes is an error to tell, and none to inherit */
    const char *why = unpack(self, found.st_size - (off_t)PAYLOAD_SIZE, at);
    signal(SIGXFSZ, before);
    if (why == NULL && syncfs(at) != 0) why = strerror(errno);
    close(at);
    close(self);
    if (why != NULL) {
        remove_tree(folder, itself);
        if (why == DAMAGED) die(FAILED, "%s: get it anew", DAMAGED);
        die(FAILED, "cannot unpack to %s: %s; %s", folder, why, elsewhere);
    }
}

/* Of versions before this one, those that nobody runs. The new tree's own program knows how to tell; what it cannot
   do is not done. */
static void sweep(void) {
    pid_t child = fork();
    if (child == 0) {
        char program[PATH_MAX + 32], *words[] = {"python3", program, base, NULL};
        int null = open("/dev/null", O_RDWR);
        for (int number = 0; number < 3; number++) dup2(null, number);
        snprintf(program, sizeof program, "%s/lib/jobctl/sweep.py", tree);
        start_program(tree, "python3", 3, words);
        _exit(FAILED);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
}

static void make_tree(void) {
    char new[PATH_MAX];
    if (make_folders(base, geteuid() == 0 ? 0755 : 0700) != 0)
        die(FAILED, "cannot make %s: %s; %s", base, strerror(errno), elsewhere);
    resolve_base();
    const char *why = distrusted(base);
    if (why != NULL) die(FAILED, "nothing is unpacked where somebody else could change it: %s; %s", why, elsewhere);
    if (take_lock(LOCK_EX) < 0) die(FAILED, "cannot lock %s: %s; %s", base, strerror(errno), elsewhere);
    if (is_there()) return; /* by another start, meanwhile */
    check_room(base);
    if (isatty(STDERR_FILENO)) fprintf(stderr, "jobctl: unpacks itself to %s, once\n", tree);
    snprintf(new, sizeof new, "%s/.new", base);
    remove_tree(new, 1); /* of one that was interrupted */
    if (mkdir(new, 0700) != 0) die(FAILED, "cannot make %s: %s; %s", new, strerror(errno), elsewhere);
    fill(new, 1);
    chmod(new, 0755);
    if (rename(new, tree) != 0) die(FAILED, "cannot make %s: %s", tree, strerror(errno));
    int folder = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fsync(folder);
    close(folder);
    sweep();
}

static int unpack_to(int argc, char **argv) {
    if (argc != 1 || argv[0][0] == '-') die(WRONG_USAGE, "usage: unpack DIR: a folder that is not there yet, or empty");
    const char *folder = argv[0];
    elsewhere = "unpack to another folder";
    if (make_folders(folder, 0755) != 0) die(FAILED, "cannot make %s: %s", folder, strerror(errno));
    if (!is_empty(folder)) die(WRONG_USAGE, "%s is no empty folder: nothing was unpacked", folder);
    check_room(folder);
    fill(folder, 0);
    return 0;
}

int main(int argc, char **argv) {
    const char *program = program_named(base_of(argc > 0 ? argv[0] : ""));
    if (getauxval(AT_SECURE)) die(FAILED, "it must not be set-uid");
    if (argc > 1 && strcmp(argv[1], "unpack") == 0 && (program == NULL || strcmp(program, "jobctl") == 0))
        return unpack_to(argc - 2, argv + 2);
    if (program == NULL && argc > 1 && (program = program_named(argv[1])) != NULL) argc--, argv++;
    if (program == NULL) program = "jobctl";

    settle_base();
    const char *why = NULL;
    if (!resolve_base() || ((why = distrusted(base)) == NULL && !is_held())) make_tree();
    if (why != NULL || (why = distrusted(tree)) != NULL)
        die(FAILED, "not started from where somebody else could change it: %s; %s", why, elsewhere);
    start_program(tree, program, argc, argv);
    die(FAILED, "%s/lib/jobctl/python3 cannot be started: %s; remove %s and it is unpacked anew", tree, strerror(errno),
        tree);
}
