/* Folders that nobody else may change, as jobctl/trust.py means it. */
#ifndef JOBCTL_FOLDERS_H
#define JOBCTL_FOLDERS_H

/* Whether a folder by this absolute path without links, and every folder above it, belongs to root or to whoever asks,
   and nobody else may write there. NULL, or why not, in words. Above it, a sticky bit shields, and a user's own group
   is trusted. */
const char *distrusted(const char *path);

/* As mkdir -p; the last one with that mode. 0, or -1 with errno. */
int make_folders(const char *path, unsigned mode);

/* Everything in it, and the folder itself if that is wanted; errors are passed over. */
void remove_tree(const char *path, int itself);

int is_empty(const char *path);

#endif
