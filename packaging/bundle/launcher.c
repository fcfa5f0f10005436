/* bin/jobctl, bin/jobd, bin/crontab and bin/python3 of a tree: one program under four names. It finds the tree by
   where it lies itself, so a tree can be moved; and it is static, so that starting it costs next to nothing. */
#include "start.h"

#include <sys/auxv.h>

int main(int argc, char **argv) {
    static char self[PATH_MAX];
    const char *called = base_of(argc > 0 ? argv[0] : ""), *program;
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size < 0 && realpath((const char *)getauxval(AT_EXECFN), self) == NULL) {
        fprintf(stderr, "%s: cannot tell where it lies: %s\n", called, strerror(errno));
        return 126;
    }
    /* A link called crontab is crontab, whatever it leads to; by any other name the file's own counts. */
    program = program_named(called) ? program_named(called) : program_named(base_of(self));
    for (int up = 0; up < 2; up++) *strrchr(self, '/') = '\0';
    start_program(self, program ? program : "jobctl", argc, argv);
    fprintf(stderr, "%s: %s/lib/jobctl/python3 cannot be started: %s\n", called, self, strerror(errno));
    return 126;
}
