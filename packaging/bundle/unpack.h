/* The payload of the one file: a tar archive inside xz, which carries a SHA-256 of it. */
#ifndef JOBCTL_UNPACK_H
#define JOBCTL_UNPACK_H

#include <sys/types.h>

/* Writes what begins there in the open file into the folder, which is open and empty. NULL when everything was written
   and the checksum holds; else why not, in words: DAMAGED when it is the file's own fault. */
extern const char DAMAGED[];
const char *unpack(int from, off_t begin, int folder);

#endif
