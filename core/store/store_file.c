/* SPDX-License-Identifier: Apache-2.0 */
/* store_present.c - is the file that is written to still the one that others see? */
#include "config.h"

#include "base/file.h"
#include "base/log.h"
#include "store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* ---- store_long_path ---- */

/* stores whose path is too long for SQLite, whose file layer for Unix takes paths of at
 * most 512 bytes and follows their links. Such a store is opened by a short name below a descriptor of its
 * folder, "/proc/self/fd/N/run.sqlite", through a copy of that layer that leaves full names as they are. */

enum { SQLITE_PATH_MAX = 512 - 40 /* less "-journal" and the names of temporary files */ };

static const char layer_name[] = "ds-long-path";

static int full_name(sqlite3_vfs *layer, const char *name, int size, char *out)
{
    (void)layer;
    return snprintf(out, (size_t)size, "%s", name) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static void register_layer(void)
{
    static sqlite3_vfs layer;
    const sqlite3_vfs *standard = sqlite3_vfs_find(NULL);
    if (standard != NULL) {
        layer = *standard;
        layer.pNext = NULL;
        layer.zName = layer_name;
        layer.xFullPathname = full_name;
        sqlite3_vfs_register(&layer, 0);
    }
}

/* Length of the path as SQLite would use it. */
static size_t full_length(const char *folder, const char *name)
{
    char *real = realpath(folder, NULL);
    const size_t length = real != NULL ? strlen(real) + strlen(name) + 1 : 0;
    free(real);
    return length;
}

char *ds_store_short_path(const char *path, int *folder, const char **layer)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char *parent = slash == NULL ? strdup(".") : strndup(path, slash > path ? (size_t)(slash - path) : 1);
    char *brief = NULL;
    *folder = -1;
    if (parent != NULL && full_length(parent, name) > SQLITE_PATH_MAX && strlen(name) < 100) {
        *folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    free(parent);
    if (*folder < 0 || asprintf(&brief, "/proc/self/fd/%d/%s", *folder, name) < 0) {
        return NULL;
    }
    pthread_once(&once, register_layer);
    *layer = layer_name;
    return brief;
}

/* ---- store_note ---- */

/* how many evaluations a store had when its log was written last, noted beside it: what is
 * lost with a damaged or removed log is told. */

/* The number twice, the second time all bits turned: a byte that changes is noticed. */
enum { NOTE_BYTES = 34 };

static char *name_of(const char *path)
{
    return sqlite3_mprintf("%s-rows", path);
}

/* Where there is no room for it, or no descriptor, the run goes on without. */
void ds_store_note(ds_store *s)
{
    const uint64_t rows = s->committed[DS_STORE_EVAL];
    char text[NOTE_BYTES + 1];
    if (!s->has_log || s->format < 2) {
        return;
    }
    if (s->note < 0) {
        char *name = name_of(s->path);
        s->note = name != NULL ? ds_file_inside(name, O_WRONLY | O_CREAT, 0666) : -1;
        sqlite3_free(name);
    }
    snprintf(text, sizeof(text), "%016" PRIx64 " %016" PRIx64 "\n", rows, ~rows);
    if (s->note >= 0 && pwrite(s->note, text, NOTE_BYTES, 0) < 0) {
        close(s->note);
        s->note = -1;
    }
}

void ds_store_note_end(ds_store *s)
{
    char *name = name_of(s->path);
    if (name != NULL && ds_store_present(s, NULL) == 0) {
        unlink(name);
    }
    sqlite3_free(name);
}

uint64_t ds_store_noted(const char *path, int *damaged)
{
    char text[NOTE_BYTES + 1] = "";
    uint64_t rows = 0, turned = 0;
    char *name = name_of(path);
    int fd = name != NULL ? ds_file_inside(name, O_RDONLY, 0) : -1;
    ssize_t got = fd >= 0 ? read(fd, text, NOTE_BYTES) : 0;
    int whole = got == NOTE_BYTES && text[NOTE_BYTES - 1] == '\n' &&
                sscanf(text, "%16" SCNx64 " %16" SCNx64, &rows, &turned) == 2 && rows == ~turned;
    *damaged = got != 0 && !whole;
    if (fd >= 0) {
        close(fd);
    }
    sqlite3_free(name);
    return whole ? rows : 0;
}

/* Some commands open a store several times: is it the first? */
static int is_first(const char *path)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct told {
        struct told *next;
        char path[];
    } * all;
    pthread_mutex_lock(&lock);
    struct told *t = all;
    while (t != NULL && strcmp(t->path, path) != 0) {
        t = t->next;
    }
    int first = t == NULL;
    if (first && (t = malloc(sizeof(*t) + strlen(path) + 1)) != NULL) {
        strcpy(t->path, path);
        t->next = all;
        all = t;
    }
    pthread_mutex_unlock(&lock);
    return first;
}

void ds_store_note_compare(const ds_store *s, uint64_t noted, int damaged)
{
    const uint64_t rows = s->committed[DS_STORE_EVAL];
    if ((!damaged && noted <= rows) || s->format < 2 || !is_first(s->path)) {
        return;
    }
    if (damaged) {
        ds_log(DS_LOG_WARNING, NULL,
               "%s-rows: damaged: whether evaluations behind the %" PRIu64
               " that are there were lost is not known",
               s->path, rows);
    } else {
        ds_log(DS_LOG_WARNING, NULL,
               "%s: evaluations %" PRIu64 "..%" PRIu64
               " were recorded and are lost: its log (%s-wal) was damaged or "
               "removed, or the machine lost its power; `dshost resume` makes them anew",
               s->path, rows + 1, noted, s->path);
    }
}
