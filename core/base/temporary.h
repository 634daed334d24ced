/* SPDX-License-Identifier: Apache-2.0 */
/* temporary.h - files that are being written, beside the one they will be: ".tmp-PID-N".
 *
 * Who writes one holds a lock on it (flock, which a killed process gives up, also one on another machine).
 * Where the file system can, a file has no name until it is complete, so that nothing stays behind.
 */
#ifndef DS_BASE_TEMPORARY_H
#define DS_BASE_TEMPORARY_H

#include <sys/types.h>

/* A new file in the folder of `target`. *name is its path (to be freed), or NULL where it has none so far.
 * Before the first one in a folder, what killed processes have left there is removed. Returns 0 or an errno.
 */
int ds_temporary_open(const char *target, mode_t mode, int *fd, char **name);

/* Gives a complete file its name, in place of what is there. Returns 0 or an errno. */
int ds_temporary_rename(const char *target, int fd, char **name);

#endif
