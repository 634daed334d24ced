/* SPDX-License-Identifier: Apache-2.0 */
/* store_present.c - is the file that is written to still the one that others see? */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_internal.h"

/* The file at the path, whatever becomes of the path: O_PATH, because closing any other descriptor of the
 * file would give up the locks of SQLite. */
void ds_store_remember_place(ds_store *s)
{
    struct stat st;
    s->place = open(s->path, O_PATH | O_CLOEXEC);
    s->size = s->place >= 0 && fstat(s->place, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* The write-ahead log is there from the first commit on. */
static int log_present(const ds_store *s, ds_error *e)
{
    char *log = s->has_log ? sqlite3_mprintf("%s-wal", s->path) : NULL;
    int gone = log != NULL && access(log, F_OK) != 0 && errno == ENOENT;
    int rc =
        gone
            ? ds_fail(
                  e, DS_EXIT_IO,
                  "%s: was removed while the run worked on it; the run ends, and what was evaluated is saved",
                  log)
            : 0;
    sqlite3_free(log);
    return rc;
}

/* Is another file at its path, or none? *mine: the file itself; *gone: there is none. */
static int is_displaced(const ds_store *s, struct stat *mine, int *gone)
{
    struct stat there;
    if (s->place < 0 || fstat(s->place, mine) != 0) {
        return 0;
    }
    *gone = stat(s->path, &there) != 0;
    return *gone || mine->st_dev != there.st_dev || mine->st_ino != there.st_ino;
}

int ds_store_displaced(const ds_store *s)
{
    struct stat mine;
    int gone;
    return s != NULL && is_displaced(s, &mine, &gone);
}

int ds_store_present(ds_store *s, ds_error *e)
{
    struct stat mine;
    char link[40], now[4096];
    int gone = 0;
    if (s->place < 0 || fstat(s->place, &mine) != 0) {
        return 0;
    }
    if (!is_displaced(s, &mine, &gone)) {
        if ((int64_t)mine.st_size < s->size) {
            return ds_fail(e, DS_EXIT_IO,
                           "%s: damaged: another program has cut it to %lld bytes while the run worked on it",
                           s->path, (long long)mine.st_size);
        }
        s->size = (int64_t)mine.st_size;
        return log_present(s, e);
    }
    const char *what = gone ? "removed" : "replaced";
    if (mine.st_nlink == 0) {
        return ds_fail(
            e, DS_EXIT_IO,
            "%s: was %s while the run worked on it: what was evaluated is lost; start the run anew", s->path,
            what);
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", s->place);
    ssize_t length = readlink(link, now, sizeof(now) - 1);
    now[length > 0 ? length : 0] = '\0';
    return ds_fail(
        e, DS_EXIT_IO,
        "%s: was moved%s%s while the run worked on it: what was evaluated is saved there; go on with "
        "it there by: dshost resume",
        s->path, length > 0 ? " to " : "", now);
}
