/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - reading whole files, and writing files so that a reader sees the old or the new content,
 * never a part. */
#ifndef DS_BASE_FILE_H
#define DS_BASE_FILE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Files inside a folder that others may have filled. The folder itself may be reached through links that
 * the user named, what lies in it may not: a link, a file with a second name, a pipe or a device there
 * would have a program change what lies elsewhere.
 *
 * ds_file_inside() opens such a file, without waiting and without cutting it, if it is regular and has this
 * one name. Returns the descriptor (closed on exec), or -1 with errno. */
int ds_file_inside(const char *path, int flags, mode_t mode);

/* Why that failed, as a text for "PATH: ..."; the errno. */
const char *ds_file_inside_error(int error);

/* The same test of a path at which something may be: 0 where it is such a file, or nothing is there; else
 * DS_EXIT_IO and a line. */
int ds_file_check_inside(const char *path, ds_error *e);

/* A file that the user has named as the one to write (`--out FILE`): ds_file_open() follows a link there, and
 * writes into a pipe or device. For programs, before they have threads; NULL is fine. */
void ds_file_named(const char *path);

/* A file being written. The bytes go to a temporary file in the folder of `path`; commit() makes it durable
 * (fsync) and renames it over `path`. A file that is there is replaced and not written to, so that another
 * name of it keeps its content; its mode is kept. At a path of ds_file_named() a symbolic link is followed,
 * and what exists and is not a regular file (a device, a pipe) is written directly; elsewhere both are
 * refused. Errors are DS_EXIT_IO and name the path. */
typedef struct ds_file ds_file;

/* Returns 0 and *out, or an exit status. `path` is copied. */
int ds_file_open(ds_file **out, const char *path, ds_error *e);

/* Appends `len` bytes. The first failure is kept: later writes and commit() return it again. */
int ds_file_write(ds_file *f, const void *data, size_t len, ds_error *e);

/* Finishes the file, or removes the temporary one where anything failed. Frees `f` in every case. */
int ds_file_commit(ds_file *f, ds_error *e);

/* The message of a file that could not be written, from an errno. Returns DS_EXIT_IO. */
int ds_file_write_failed(const char *name, int error, ds_error *e);

/* Gives up: removes the temporary file and frees `f` (NULL is fine). */
void ds_file_abort(ds_file *f);

/* open + write + commit. */
int ds_file_write_atomic(const char *path, const void *data, size_t len, ds_error *e);

/* Writes all of `data` to a descriptor, also after short writes and interruptions. `name` is for
 * the error line. */
int ds_fd_write_all(int fd, const void *data, size_t len, const char *name, ds_error *e);

/* Opens a file for reading. A named pipe that nobody writes to for some seconds is an error (ETIMEDOUT): a
 * plain open() would wait for ever. Returns the descriptor (closed on exec), or -1 with errno. */
int ds_file_open_input(const char *path);

/* Why that failed, as a text for "PATH: cannot open: ...". */
const char *ds_file_input_error(int error);

/* Reads a whole file (or pipe; "-" is the standard input) of at most `limit` bytes into *data (malloc; one
 * NUL byte is appended that *len does not count); at most 256 MiB of what is not a regular file. On failure
 * returns `status`, or DS_EXIT_MEMORY. */
int ds_file_read(const char *path, size_t limit, void **data, size_t *len, int status, ds_error *e);

/* ---- temporary ---- */

/* files that are being written, beside the one they will be: ".tmp-PID-N".
 *
 * Who writes one holds a lock on it (flock, which a killed process gives up, also one on another machine).
 * Where the file system can, a file has no name until it is complete, so that nothing stays behind. */

/* A new file in the folder of `target`. *name is its path (to be freed), or NULL where it has none so far.
 * Before the first one in a folder, what killed processes have left there is removed. Returns 0 or an errno.
 */
int ds_temporary_open(const char *target, mode_t mode, int *fd, char **name);

/* Gives a complete file its name, in place of what is there. Returns 0 or an errno. */
int ds_temporary_rename(const char *target, int fd, char **name);

#endif
