/* SPDX-License-Identifier: Apache-2.0 */
/* store_note.c - how many evaluations a store had when its log was written last, noted beside it: what is
 * lost with a damaged or removed log is told. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "store/store_internal.h"

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
