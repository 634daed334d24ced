/* SPDX-License-Identifier: Apache-2.0 */
/* compare_runs.c - whether two result folders belong to one experiment, by their bench.ini.
 *
 * What changes no record may differ: limits of time and memory, workers, and the folders that plugins and
 * data lie in, since parts come from different machines. */
#include "config.h"

#include "merge/compare_runs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_plan.h"
#include "run/run.h"
#include "store/run_folder.h"

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
        return ds_fail(e, DS_EXIT_IO, "%s holds no experiment (there is no bench.ini)", folder);
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

/* Equal, or absolute paths to files of one name. */
static int same_value(const char *a, const char *b)
{
    return strcmp(a, b) == 0 || (a[0] == '/' && b[0] == '/' && strcmp(strrchr(a, '/'), strrchr(b, '/')) == 0);
}

/* May a key of [run] differ? A smaller budget is another experiment, though a run may be extended. */
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
                          y != NULL ? y->value : "(not there)", e);
        }
    }
    return 0;
}

/* In both directions, so that keys of one side alone are found. */
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

int ds_compare_runs(const char *folder, const char *other, ds_error *e)
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
