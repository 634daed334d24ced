/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - reading whole files, and writing files so that a reader sees the old or the new content, never a
 * part. */
#ifndef DS_BASE_FILE_H
#define DS_BASE_FILE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Files inside a folder that others may have filled. The user named the folder, so links on the way to it are
 * allowed; inside it, a link, a file with a second name, a pipe or a device would let a program change
 * something outside the folder.
 *
 * ds_file_inside() opens a regular file with a single name, without waiting and without cutting it. Returns
 * the descriptor (closed on exec), or -1 with errno. */
int ds_file_inside(const char *path, int flags, mode_t mode);

/* The reason of that failure as a text for "PATH: ..."; `error` is the errno. */
const char *ds_file_inside_error(int error);

/* Makes the same check of a path: 0 where it is such a file or missing, else DS_EXIT_IO with one line. */
int ds_file_check_inside(const char *path, ds_error *e);

/* Names a file that the user wants written (`--out FILE`): ds_file_open() follows a link there, and writes
 * into a pipe or device. Programs call it before they start threads; NULL is allowed. */
void ds_file_named(const char *path);

/* A file being written. The bytes go to a temporary file in the folder of `path`; commit() makes it durable
 * (fsync) and renames it over `path`. An existing file is replaced, so that its other names keep their
 * content; its mode is kept. At a path of ds_file_named() a symbolic link is followed, and a device or pipe
 * is written directly; elsewhere both are refused. Errors are DS_EXIT_IO and name the path. */
typedef struct ds_file ds_file;

/* Returns 0 and *out, or an exit status. Copies `path`. */
int ds_file_open(ds_file **out, const char *path, ds_error *e);

/* Appends `len` bytes. The first failure is kept: later writes and commit() return it again. */
int ds_file_write(ds_file *f, const void *data, size_t len, ds_error *e);

/* Finishes the file, or removes the temporary one after a failure. Always frees `f`. */
int ds_file_commit(ds_file *f, ds_error *e);

/* Reports a file that could not be written, from an errno. Returns DS_EXIT_IO. */
int ds_file_write_failed(const char *name, int error, ds_error *e);

/* Gives up: removes the temporary file and frees `f` (NULL is allowed). */
void ds_file_abort(ds_file *f);

/* Opens, writes and commits. */
int ds_file_write_atomic(const char *path, const void *data, size_t len, ds_error *e);

/* Writes all of `data` to a descriptor, across short writes and interruptions. `name` is for the error line.
 */
int ds_fd_write_all(int fd, const void *data, size_t len, const char *name, ds_error *e);

/* Opens a file for reading. A named pipe without a writer for some seconds is an error (ETIMEDOUT), where a
 * plain open() would wait for ever. Returns the descriptor (closed on exec), or -1 with errno. */
int ds_file_open_input(const char *path);

/* The reason of that failure as a text for "PATH: cannot open: ...". */
const char *ds_file_input_error(int error);

/* Reads a whole file (or pipe; "-" = standard input) of at most `limit` bytes into *data (malloc; a NUL byte
 * follows that *len does not count). Other than regular files: at most 256 MiB. Returns `status` or
 * DS_EXIT_MEMORY on failure. */
int ds_file_read(const char *path, size_t limit, void **data, size_t *len, int status, ds_error *e);

/* ---- temporary files: ".tmp-PID-N" next to the file that they will replace ---- */

/* The writer holds a lock on the file (flock, which the kernel releases with a killed process, also on
 * another machine). Where the file system can, the file has no name until it is complete, so that nothing is
 * left behind. */

/* Creates a file in the folder of `target`. *name is its path (to be freed), or NULL while it has none.
 * Before the first one in a folder it removes leftovers of killed processes. Returns 0 or an errno. */
int ds_temporary_open(const char *target, mode_t mode, int *fd, char **name);

/* Renames a complete file over the target. Returns 0 or an errno. */
int ds_temporary_rename(const char *target, int fd, char **name);

#endif
