/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_merge.c - `dshost merge`: combines the parts of an experiment, made by `dshost bench --shard`, in one
 * folder. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/stop.h"
#include "bench/bench_plan.h"
#include "bench/experiment.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "results/results.h"
#include "run/run.h"
#include "store/run_folder.h"
#include "store/store.h"

typedef struct merge_counts {
    size_t copied, kept, missing; /* runs copied, already present, and missing in all parts */
    size_t done, all;
    size_t left_out; /* locked by a process that works on them, or damaged */
    int status;      /* exit status for the first of these */
} merge_counts;

/* ---- do two result folders belong to one experiment? ---- */

/* Compares their bench.ini, except for what does not change records: limits of time and memory, workers, and
 * the folders of plugins and data, since parts come from different machines. */

/* One of the two experiments. */
typedef struct side {
    const char *folder;
    char *path; /* of bench.ini */
    ds_bench_file file;
} side;

static int open_side(side *s, const char *folder, ds_error *e)
{
    ds_settings none = {0};
    memset(s, 0, sizeof(*s));
    s->folder = folder;
    s->path = ds_folder_path(folder, "bench.ini");
    if (s->path == NULL) {
        return ds_no_memory(e);
    }
    if (access(s->path, F_OK) != 0) {
        return ds_fail(e, DS_EXIT_IO,
                       "%s holds no experiment (it has no bench.ini): name a folder of `dshost bench`",
                       folder);
    }
    return ds_bench_file_read(s->path, &none, &none, &s->file, e);
}

static void close_side(side *s)
{
    ds_bench_file_clear(&s->file);
    free(s->path);
}

/* "where: key = value" of both; `where` is the line, or the file. */
static int differ(const side *a, const side *b, const char *key, const char *at_a, const char *in_a,
                  const char *at_b, const char *in_b, ds_error *e)
{
    return ds_fail(e, DS_EXIT_CONFIG,
                   "%s and %s are parts of different experiments: %s: %s = %.80s, %s: %s = %.80s", a->folder,
                   b->folder, at_a, key, in_a, at_b, key, in_b);
}

/* Equal, or absolute paths to files with the same name. */
static int same_value(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || (a[0] == '/' && b[0] == '/' && strcmp(strrchr(a, '/'), strrchr(b, '/')) == 0);
}

/* May a key of [run] differ? A smaller budget is another experiment, although a run may be extended. */
static int is_free(const char *key)
{
    return ds_run_may_override(key) && strcmp(key, "budget") != 0 && strcmp(key, "seconds") != 0;
}

static int compare_settings(const side *a, const side *b, const ds_settings *in_a, const ds_settings *in_b,
                            int section, ds_error *e)
{
    const ds_section *s = &in_a->section[section];
    for (size_t i = 0; i < s->count; i++) {
        const ds_setting *x = &s->item[i];
        const ds_setting *y = ds_settings_find(in_b, section, x->key);
        if (section == DS_SECTION_RUN && is_free(x->key)) {
            continue;
        }
        if (y == NULL || !same_value(x->value, y->value)) {
            return differ(a, b, x->key, x->origin, x->value, y != NULL ? y->origin : b->path,
                          y != NULL ? y->value : "(missing)", e);
        }
    }
    return 0;
}

/* In both directions, to find keys that only one side has. */
static int compare_both(const side *a, const side *b, const ds_settings *in_a, const ds_settings *in_b,
                        int section, ds_error *e)
{
    int rc = compare_settings(a, b, in_a, in_b, section, e);
    return rc != 0 ? rc : compare_settings(b, a, in_b, in_a, section, e);
}

static int compare_parts(const side *a, const side *b, int which, ds_error *e)
{
    const ds_bench_parts *x = &a->file.part[which], *y = &b->file.part[which];
    const char *list = which == DS_BENCH_ENV ? "envs" : "opts";
    int section = which == DS_BENCH_ENV ? DS_SECTION_ENV : DS_SECTION_OPT;
    int rc = 0;
    for (size_t i = 0; i < x->count && i < y->count && rc == 0; i++) {
        const ds_bench_part *p = &x->item[i], *q = &y->item[i];
        if (strcmp(p->name, q->name) != 0) {
            rc = differ(a, b, list, p->origin, p->name, q->origin, q->name, e);
        } else if (!same_value(p->plugin, q->plugin)) {
            rc = differ(a, b, p->name, a->path, p->plugin, b->path, q->plugin, e);
        } else {
            rc = compare_both(a, b, &p->settings, &q->settings, section, e);
        }
    }
    if (rc == 0 && x->count != y->count) {
        char one[32], other[32];
        snprintf(one, sizeof(one), "%zu names", x->count);
        snprintf(other, sizeof(other), "%zu names", y->count);
        rc = differ(a, b, list, a->path, one, b->path, other, e);
    }
    return rc;
}

/* Do two result folders belong to one experiment? Fails with DS_EXIT_CONFIG and the first difference, or
 * DS_EXIT_IO if one is not a result folder. */
static int same_experiment(const char *folder, const char *other, ds_error *e)
{
    static const char *const text[] = {"seed", "skip"};
    side a, b = {0};
    int rc = open_side(&a, folder, e);
    rc = rc != 0 ? rc : open_side(&b, other, e);
    for (int i = 0; i < 2 && rc == 0; i++) {
        const char *x = ds_bench_text(&a.file, text[i]), *y = ds_bench_text(&b.file, text[i]);
        rc = strcmp(x, y) != 0 ? differ(&a, &b, text[i], a.path, x, b.path, y, e) : 0;
    }
    if (rc == 0 && ds_bench_int(&a.file, "runs") != ds_bench_int(&b.file, "runs")) {
        char x[32], y[32];
        snprintf(x, sizeof(x), "%lld", (long long)ds_bench_int(&a.file, "runs"));
        snprintf(y, sizeof(y), "%lld", (long long)ds_bench_int(&b.file, "runs"));
        rc = differ(&a, &b, "runs", a.path, x, b.path, y, e);
    }
    rc = rc != 0 ? rc : compare_both(&a, &b, &a.file.run, &b.file.run, DS_SECTION_RUN, e);
    rc = rc != 0 ? rc : compare_parts(&a, &b, DS_BENCH_ENV, e);
    rc = rc != 0 ? rc : compare_parts(&a, &b, DS_BENCH_OPT, e);
    close_side(&a);
    close_side(&b);
    return rc;
}

enum { CHUNK = 1 << 20 };

/* ---- copying folders: complete or not at all ---- */

static int remove_folder(const char *folder)
{
    struct stat st;
    if (lstat(folder, &st) == 0 && !S_ISDIR(st.st_mode)) { /* a link: removed itself, not its target */
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

/* Belongs to the process that works on the run, or that was killed. */
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

/* Folds the log of a killed process into run.sqlite, which then contains everything. */
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

/* "DIR/.NAMEword": hidden, so that an incomplete copy is not taken for a run; to be freed. */
static char *hidden(const char *folder, const char *word)
{
    const char *slash = strrchr(folder, '/');
    const char *name = slash != NULL ? slash + 1 : folder;
    char *path = NULL;
    return asprintf(&path, "%.*s.%s%s", (int)(name - folder), folder, name, word) < 0 ? NULL : path;
}

/* A part on a read-only medium has no process that works on it; but the log of a killed process cannot be
 * folded in there. */
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

/* Copies a run: first to a hidden folder, which then replaces the existing one. *source: the failure is one
 * of the part. */
static int copy_run(const char *from, const char *to, int *source, ds_error *e)
{
    char *draft = hidden(to, ".new");
    char *old = hidden(to, ".old");
    ds_runlock *lock = NULL;
    int rc = draft == NULL || old == NULL ? ds_no_memory(e) : lock_part(from, &lock, e);
    rc = rc != 0 || lock == NULL ? rc : settle(from, e);
    *source = rc != 0 && rc != DS_EXIT_MEMORY;
    if (rc == 0 && (remove_folder(draft) != 0 || remove_folder(old) != 0)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: cannot remove: %s", draft, strerror(errno));
    }
    rc = rc != 0 ? rc : copy_files(from, draft, e);
    if (rc == 0 && ((rename(to, old) != 0 && errno != ENOENT) || rename(draft, to) != 0)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: cannot rename: %s", draft, strerror(errno));
        rename(old, to); /* the second rename failed */
    }
    if (rc == 0) {
        remove_folder(old);
    }
    ds_runlock_drop(lock);
    free(draft);
    free(old);
    return rc;
}

/* Copies the messages of a failed run. */
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
        /* including the first one, which must have a bench.ini */
        rc = same_experiment(parts[0], parts[i], e);
    }
    return rc == 0 && has_experiment(out) ? same_experiment(parts[0], out, e) : rc;
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

/* Reads the first bench.ini whose plugins and files are on this machine. */
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

/* Verified evaluations in the store of a folder; -1 = no run, -2 = damaged. */
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
        *e = (ds_error){0, ""}; /* on a read-only medium the first attempt fails */
    }
    return rc != 0 ? -2 : (int64_t)count;
}

/* Reports a run of a part that cannot be copied now; the others are merged. */
static void leave_out(merge_counts *counts, ds_error *e)
{
    ds_log(DS_LOG_WARNING, NULL, "left out: %s", e->text);
    counts->status = counts->status != 0 ? counts->status : e->status;
    counts->left_out++;
    *e = (ds_error){0, ""};
}

/* The part with most evaluations of a run; NULL = none has more than `most`. */
static char *best_part(const char *name, const char *to, const char *const *parts, size_t count,
                       int64_t *most, merge_counts *counts, ds_error *e)
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
                     merge_counts *counts, ds_error *e)
{
    char *name = ds_bench_run_name(plan, k);
    char *to = name != NULL ? ds_folder_path(plan->out, name) : NULL;
    char *best = NULL;
    ds_runlock *own = NULL; /* nobody may resume the existing run while a copy replaces it */
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

/* Copies the runs of all parts to `out`; of each run, the copy with most evaluations counts. All parts, and
 * `out` if it exists, must belong to the same experiment (bench.ini), else DS_EXIT_CONFIG. Runs that are
 * locked or damaged are left out. The parts are not changed. A merge can be repeated. */
static int copy_parts(const char *out, const char *const *parts, size_t count, merge_counts *counts,
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
        rc = atomic_load(&ds_stop_flag) > 0
                 ? ds_fail(e, 128 + atomic_load(&ds_stop_flag),
                           "stopped by a signal; run the same command again to continue")
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

static const char usage[] =
    "usage: dshost merge OUT PART... [OPTIONS]\n\nCopies the runs of the folders PART, made by `dshost bench "
    "--shard`, to the folder OUT, as if `dshost bench` had made\nthem there. Of a run that is in several "
    "folders, the copy with the most evaluations counts.\n\n  --trust-plugin P\n                load this "
    "plugin (file, folder or id) if a part names it and it is not on the plugin path\n  --json        print "
    "counts as JSON instead of the folder\n";

static int print_counts(const char *out, const merge_counts *n, int json, ds_error *e)
{
    int rc = 0;
    ds_log(DS_LOG_INFO, NULL,
           "%zu runs copied, %zu already present, %zu missing in all parts; %zu of %zu runs are done%s",
           n->copied, n->kept, n->missing, n->done, n->all,
           n->done < n->all ? "; run `dshost bench` with this --out to do the others" : "");
    if (json) {
        json_t *o =
            json_pack("{s:o, s:I, s:I, s:I, s:I, s:I}", "out", ds_json_text(out), "copied",
                      (json_int_t)n->copied, "kept", (json_int_t)n->kept, "missing", (json_int_t)n->missing,
                      "done", (json_int_t)n->done, "runs", (json_int_t)n->all);
        rc = ds_json_write(o, stdout, "standard output", e);
        json_decref(o);
    } else {
        printf("%s\n", out);
    }
    return rc != 0 ? rc : ds_stdout_done(e);
}

static int merge_parts(int argc, char **argv, int json, ds_error *e)
{
    merge_counts counts;
    const char *out = argv[optind];
    if (argc - optind < 2) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "merge: name the target folder and the parts: dshost merge OUT OUT-1of2 OUT-2of2");
    }
    for (int i = optind + 1; i < argc; i++) {
        if (strcmp(argv[i], out) == 0) {
            return ds_fail(e, DS_EXIT_USAGE,
                           "merge: %s is both the target folder and a part: choose another target", out);
        }
    }
    int rc = copy_parts(out, (const char *const *)argv + optind + 1, (size_t)(argc - optind - 1), &counts, e);
    rc = rc != 0 ? rc : print_counts(out, &counts, json, e);
    return rc == 0 && counts.left_out > 0
               ? ds_fail(e, counts.status,
                         "%zu runs were left out, see above; run the same command again to retry",
                         counts.left_out)
               : rc;
}

static int command(int argc, char **argv, ds_error *e)
{
    int json = 0;
    const ds_flag flags[] = {
        {"trust-plugin", .take = ds_trust_flag_take}, {"json", .set = &json}, {"help", .usage = usage}, {0}};
    int rc = ds_arguments_read(argc, argv, "merge", flags, argc, NULL, e);
    if (rc != 0) {
        return rc;
    }
    ds_signals_install();
    return merge_parts(argc, argv, json, e);
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
