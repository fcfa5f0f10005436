/* From a tree to its program: what a launcher in bin/ and the one file have in common. */
#ifndef JOBCTL_START_H
#define JOBCTL_START_H

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By which names somebody can be called; each has a line of Python beside the interpreter, but for itself. */
static const char *const PROGRAMS[] = {"jobctl", "jobd", "crontab", "python3", NULL};

static inline const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static inline const char *program_named(const char *name) {
    for (const char *const *known = PROGRAMS; *known; known++)
        if (strcmp(*known, name) == 0) return *known;
    return NULL;
}

/* Becomes that program of the tree. The interpreter takes argv[0] for its own name, and finds its library beside it:
   TREE/lib/python3.x. -I and -S: neither the environment, nor the user's site, nor the current folder has a say; two
   variables by which CPython takes another name for itself all the same are taken away. Nothing is put into the environment, so that nothing of it reaches a command. Returns only when it failed. */
static inline void start_program(const char *tree, const char *program, int argc, char **argv) {
    static char self[PATH_MAX], python[PATH_MAX], script[PATH_MAX];
    char **words = calloc((size_t)argc + 5, sizeof *words);
    int n = 0;
    if (words == NULL) return;
    if (snprintf(self, sizeof self, "%s/bin/python3", tree) >= PATH_MAX ||
        snprintf(python, sizeof python, "%s/lib/jobctl/python3", tree) >= PATH_MAX ||
        snprintf(script, sizeof script, "%s/lib/jobctl/%s", tree, program) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return;
    }
    words[n++] = self;
    words[n++] = "-I";
    words[n++] = "-S";
    if (strcmp(program, "python3") != 0) words[n++] = script;
    for (int i = 1; i < argc; i++) words[n++] = argv[i];
    unsetenv("PYTHONEXECUTABLE");
    unsetenv("__PYVENV_LAUNCHER__");
    execv(python, words);
    free(words);
}

#endif
