/* SPDX-License-Identifier: Apache-2.0 */
/* bench_merge.c - copies runs between result folders, complete or not at all. */
#include "config.h"

#include "merge/bench_merge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "bench/bench_state.h"
#include "merge/compare_runs.h"
#include "results/results.h"
#include "store/run_folder.h"
#include "store/store.h"

enum { CHUNK = 1 << 20 };

/* ---- folders ---- */

static int remove_folder(const char *folder)
{
    struct stat st;
    if (lstat(folder, &st) == 0 && !S_ISDIR(st.st_mode)) { /* a link: it goes, and what it names stays */
        return unlink(folder);
    }
    DIR *d = opendir(folder);
    if (d == NULL) {
        return errno == ENOENT ? 0 : -1;
    }
    for (struct dirent *item; (item = readdir(d)) != NULL;) {
        int self = strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0;
        char *path = !self ? ds_folder_path(folder, item->d_name) : NULL;
        if (path != NULL && unlink(path) != 0 && errno == EISDIR) { /* export/ */
            remove_folder(path);
        }
        free(path);
    }
    closedir(d);
    return rmdir(folder);
}

static int copy_file(const char *from, const char *to, ds_error *e)
{
    int fd = ds_file_open_input(from);
    char *chunk = malloc(CHUNK);
    ds_file *f = NULL;
    int rc = chunk == NULL ? ds_no_memory(e)
             : fd < 0      ? ds_fail(e, DS_EXIT_IO, "%s: %s", from, ds_file_input_error(errno))
                           : 0;
    rc = rc != 0 ? rc : ds_file_open(&f, to, e);
    ssize_t n = 0;
    while (rc == 0 && (n = read(fd, chunk, CHUNK)) > 0) {
        rc = ds_file_write(f, chunk, (size_t)n, e);
    }
    if (rc == 0 && n < 0) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: %s", from, strerror(errno));
    }
    if (rc == 0) {
        rc = ds_file_commit(f, e);
    } else {
        ds_file_abort(f);
    }
    if (fd >= 0) {
        close(fd);
    }
    free(chunk);
    return rc;
}

/* Belongs to a process that works on the run, or to one that was killed. */
static int is_passing(const char *name)
{
    return strcmp(name, "run.lock") == 0 || strcmp(name, "run.sqlite-wal") == 0 ||
           strcmp(name, "run.sqlite-shm") == 0 || strcmp(name, "run.sqlite-rows") == 0;
}

static int copy_files(const char *from, const char *to, ds_error *e)
{
    DIR *d = opendir(from);
    int rc = d == NULL ? ds_fail(e, DS_EXIT_IO, "%s: %s", from, strerror(errno)) : ds_folder_make(to, e);
    for (struct dirent *item; rc == 0 && (item = readdir(d)) != NULL;) {
        struct stat st;
        char *source = ds_folder_path(from, item->d_name);
        char *target = ds_folder_path(to, item->d_name);
        if (source == NULL || target == NULL) {
            rc = ds_no_memory(e);
        } else if (item->d_name[0] != '.' && !is_passing(item->d_name) && lstat(source, &st) == 0 &&
                   S_ISREG(st.st_mode)) {
            rc = copy_file(source, target, e);
        }
        free(source);
        free(target);
    }
    if (d != NULL) {
        closedir(d);
    }
    return rc;
}

/* After this, run.sqlite holds everything: what a killed process has left in the log is folded in. */
static int settle(const char *folder, ds_error *e)
{
    char *log = ds_folder_path(folder, "run.sqlite-wal");
    char *path = ds_folder_path(folder, "run.sqlite");
    ds_store *s = NULL;
    struct stat st;
    int rc = log == NULL || path == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && stat(log, &st) == 0 && st.st_size > 0) {
        rc = ds_store_open(path, DS_STORE_WRITE, &s, e);
        rc = rc != 0 ? rc : ds_store_close(s, e);
    }
    free(log);
    free(path);
    return rc;
}

/* "DIR/.NAMEword": hidden, so that nobody takes a copy that was not finished for a run; to be freed. */
static char *hidden(const char *folder, const char *word)
{
    const char *slash = strrchr(folder, '/');
    const char *name = slash != NULL ? slash + 1 : folder;
    char *path = NULL;
    return asprintf(&path, "%.*s.%s%s", (int)(name - folder), folder, name, word) < 0 ? NULL : path;
}

/* A part on a medium that cannot be written has no one who works on it; but what a killed process has left in
 * the log cannot be folded in there. */
static int lock_part(const char *from, ds_runlock **lock, ds_error *e)
{
    int rc = ds_runlock_take(from, lock, e);
    if (rc == DS_EXIT_IO && access(from, W_OK) != 0 && (errno == EROFS || errno == EACCES)) {
        char *log = ds_folder_path(from, "run.sqlite-wal");
        struct stat st;
        if (log != NULL && (stat(log, &st) != 0 || st.st_size == 0)) {
            *e = (ds_error){0, ""};
            rc = 0;
        }
        free(log);
    }
    return rc;
}

/* Copies a run: first to a hidden folder, which then takes the place of what is there. *source tells whether
 * a failure is one of the part. */
static int copy_run(const char *from, const char *to, int *source, ds_error *e)
{
    char *draft = hidden(to, ".new");
    char *old = hidden(to, ".old");
    ds_runlock *lock = NULL;
    int rc = draft == NULL || old == NULL ? ds_no_memory(e) : lock_part(from, &lock, e);
    rc = rc != 0 || lock == NULL ? rc : settle(from, e);
    *source = rc != 0 && rc != DS_EXIT_MEMORY;
    if (rc == 0 && (remove_folder(draft) != 0 || remove_folder(old) != 0)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: cannot be removed: %s", draft, strerror(errno));
    }
    rc = rc != 0 ? rc : copy_files(from, draft, e);
    if (rc == 0 && ((rename(to, old) != 0 && errno != ENOENT) || rename(draft, to) != 0)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: cannot be renamed: %s", draft, strerror(errno));
        rename(old, to); /* where the second one has failed */
    }
    if (rc == 0) {
        remove_folder(old);
    }
    ds_runlock_drop(lock);
    free(draft);
    free(old);
    return rc;
}

/* What a failed run said. */
static int copy_log(const char *from, const char *to, ds_error *e)
{
    char *source = NULL, *target = NULL;
    int rc =
        asprintf(&source, "%s.log", from) < 0 || asprintf(&target, "%s.log", to) < 0 ? ds_no_memory(e) : 0;
    if (rc == 0 && access(source, F_OK) == 0) {
        rc = copy_file(source, target, e);
    }
    free(source);
    free(target);
    return rc;
}

/* ---- experiments ---- */

static int has_experiment(const char *folder)
{
    char *path = ds_folder_path(folder, "bench.ini");
    int has = path != NULL && access(path, F_OK) == 0;
    free(path);
    return has;
}

static int check_parts(const char *out, const char *const *parts, size_t count, ds_error *e)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = ds_compare_runs(parts[0], parts[i], e); /* the first one, too: it must have a bench.ini */
    }
    return rc == 0 && has_experiment(out) ? ds_compare_runs(parts[0], out, e) : rc;
}

static int plan_of(const char *folder, const char *out, ds_bench_plan *plan, ds_error *e)
{
    const ds_bench_choice choice = {.out = out, .of_record = 1, .shards = 1};
    ds_settings none = {0};
    char *ini = ds_folder_path(folder, "bench.ini");
    int rc = ini == NULL ? ds_no_memory(e) : ds_bench_plan_make(ini, &none, &none, &choice, plan, e);
    free(ini);
    return rc;
}

/* By the first bench.ini whose plugins and files are on this machine. */
static int make_plan(const char *out, const char *const *parts, size_t count, ds_bench_plan *plan,
                     ds_error *e)
{
    ds_error first = {0, ""};
    int rc = has_experiment(out) ? plan_of(out, out, plan, e) : DS_EXIT_PLUGIN;
    for (size_t i = 0; i < count && (rc == DS_EXIT_PLUGIN || rc == DS_EXIT_CONFIG); i++) {
        ds_bench_plan_clear(plan);
        rc = plan_of(parts[i], out, plan, e);
        first = first.status == 0 ? *e : first;
    }
    *e = rc == 0 ? (ds_error){0, ""} : first.status != 0 ? first : *e;
    return e->status;
}

/* ---- runs ---- */

/* Evaluations in the store of a folder, each of them as it was written; -1 = there is no run, -2 = it is
 * damaged. */
static int64_t progress_of(const char *folder, ds_error *e)
{
    uint64_t count = 0;
    ds_store *s = NULL;
    if (!ds_folder_has_run(folder)) {
        return -1;
    }
    int rc = ds_result_store(folder, &s, e);
    rc = rc != 0 ? rc : ds_store_verify(s, e);
    rc = rc != 0 ? rc : ds_store_count(s, &count, e);
    ds_store_close(s, NULL);
    if (rc == 0) {
        *e = (ds_error){0, ""}; /* on a medium that cannot be written the first attempt fails */
    }
    return rc != 0 ? -2 : (int64_t)count;
}

/* Says which run of a part cannot be had now; the others are merged. */
static void leave_out(ds_merge_counts *counts, ds_error *e)
{
    ds_log(DS_LOG_WARNING, NULL, "left out: %s", e->text);
    counts->status = counts->status != 0 ? counts->status : e->status;
    counts->left_out++;
    *e = (ds_error){0, ""};
}

/* Which part has most of a run; NULL = none has more than `most`. */
static char *best_part(const char *name, const char *to, const char *const *parts, size_t count,
                       int64_t *most, ds_merge_counts *counts, ds_error *e)
{
    char *best = NULL;
    for (size_t i = 0; i < count && e->status == 0; i++) {
        char *from = ds_folder_path(parts[i], name);
        const int mine = from == NULL || ds_folder_check_below(parts[i], from, e) == 0;
        int64_t here = from != NULL && mine ? progress_of(from, e) : -1;
        if (!mine) {
            leave_out(counts, e);
        } else if (from == NULL) {
            ds_no_memory(e);
        } else if (here == -2) { /* one damaged store must not keep all others out */
            leave_out(counts, e);
        }
        if (e->status == 0 && copy_log(from, to, e) == 0 && here > *most) {
            free(best);
            best = from;
            *most = here;
        } else {
            free(from);
        }
    }
    return best;
}

static int merge_run(const ds_bench_plan *plan, size_t k, const char *const *parts, size_t count,
                     ds_merge_counts *counts, ds_error *e)
{
    char *name = ds_bench_run_name(plan, k);
    char *to = name != NULL ? ds_folder_path(plan->out, name) : NULL;
    char *best = NULL;
    ds_runlock *own = NULL; /* nobody goes on with the run that is there while a copy may take its place */
    int64_t most = -1;
    if (to != NULL && ds_folder_check_below(plan->out, to, e) != 0) {
        leave_out(counts, e);
        most = -2;
    } else if (to != NULL && access(to, F_OK) == 0 && ds_runlock_take(to, &own, e) != 0) {
        leave_out(counts, e);
        most = -2;
    } else if (to != NULL && (most = progress_of(to, e)) == -2) {
        leave_out(counts, e);
    }
    if (to == NULL) {
        ds_no_memory(e);
    } else if (most != -2) {
        best = best_part(name, to, parts, count, &most, counts, e);
        counts->kept += best == NULL && most >= 0;
        counts->missing += best == NULL && most < 0;
    }
    if (e->status == 0 && best != NULL) {
        int source = 0;
        int rc = copy_run(best, to, &source, e);
        counts->copied += rc == 0;
        if (source) {
            leave_out(counts, e);
        }
    }
    ds_runlock_drop(own);
    free(best);
    free(to);
    free(name);
    return e->status;
}

int ds_bench_merge(const char *out, const char *const *parts, size_t count, ds_merge_counts *counts,
                   ds_error *e)
{
    ds_bench_plan plan = {0};
    ds_bench_state state = {0};
    ds_runlock *lock = NULL;
    memset(counts, 0, sizeof(*counts));
    int rc = check_parts(out, parts, count, e);
    rc = rc != 0 ? rc : make_plan(out, parts, count, &plan, e);
    rc = rc != 0 ? rc : ds_bench_out_is_free(out, e);
    rc = rc != 0 ? rc : ds_folder_make(out, e);
    rc = rc != 0 ? rc : ds_runlock_take(out, &lock, e);
    rc = rc != 0 ? rc : ds_bench_plan_join(&plan, e);
    rc = rc != 0 ? rc : ds_bench_plan_write(&plan, e);
    for (size_t k = 0; k < plan.runs && rc == 0; k++) {
        rc = atomic_load(&ds_stop_flag) > 0 ? ds_fail(e, 128 + atomic_load(&ds_stop_flag),
                                                      "stopped by a signal; the same command goes on")
                                            : merge_run(&plan, k, parts, count, counts, e);
    }
    rc = rc != 0 ? rc : ds_bench_state_open(&plan, 0, &state, e);
    rc = rc != 0 ? rc : ds_bench_state_write(&state, 1, e);
    counts->done = state.done;
    counts->all = state.mine;
    ds_bench_state_close(&state);
    ds_bench_plan_clear(&plan);
    ds_runlock_drop(lock);
    return rc;
}
