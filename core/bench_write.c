/* SPDX-License-Identifier: Apache-2.0 */
/* bench_write.c - the effective experiment as text, and the files of the results folder that describe it. */
#include "config.h"

#include "bench_plan.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "folder.h"
#include "run.h"

enum { LINE_BYTES = 150 /* where a list of names goes on in the next line */ };

/* ---- text ---- */

/* "key = a b c" with continuation lines. */
static void put_words(FILE *f, const char *key, const char *const *word, size_t count)
{
    size_t used = (size_t)fprintf(f, "%s =", key);
    for (size_t i = 0; i < count; i++) {
        if (used + strlen(word[i]) > LINE_BYTES) {
            used = (size_t)fprintf(f, "\n   ");
        }
        used += (size_t)fprintf(f, " %s", word[i]);
    }
    fprintf(f, "\n");
}

static void put_names(FILE *f, const ds_bench_plan *p, int which)
{
    const char **name = calloc(p->variants[which] + 1, sizeof(*name));
    for (size_t i = 0; name != NULL && i < p->variants[which]; i++) {
        name[i] = p->variant[which][i].part->name;
    }
    if (name != NULL) {
        put_words(f, which == DS_BENCH_ENV ? "envs" : "opts", name, p->variants[which]);
    }
    free(name);
}

static int put_run(FILE *f, const ds_bench_plan *p, ds_error *e)
{
    static const char *const left_out[] = {"env", "opt", "seed", "runs", "out", "x", "noise_key"};
    ds_run_options o;
    int rc = ds_run_options_make(&p->file.run, &o, e);
    if (rc != 0) {
        return rc;
    }
    fprintf(f, "\n[run]\n");
    for (size_t i = 0; i < ds_params_count(o.params); i++) {
        const char *key = ds_params_info(o.params, i)->name;
        int out = 0;
        for (size_t k = 0; k < sizeof(left_out) / sizeof(left_out[0]); k++) {
            out |= strcmp(key, left_out[k]) == 0;
        }
        if (!out) {
            fprintf(f, "%s = %s\n", key, ds_params_value_text(o.params, i));
        }
    }
    ds_run_options_clear(&o);
    return 0;
}

char *ds_bench_plan_text(const ds_bench_plan *p, ds_error *e)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f == NULL) {
        ds_fail(e, DS_EXIT_MEMORY, "out of memory");
        return NULL;
    }
    fprintf(f,
            "; The effective experiment, by dshost %s. The same again:\n;   dshost bench bench.ini --out "
            "OTHER\n\n",
            PACKAGE_VERSION);
    fprintf(f, "[bench]\n");
    put_names(f, p, DS_BENCH_ENV);
    put_names(f, p, DS_BENCH_OPT);
    fprintf(f, "seed = %s\nruns = %lld\n", ds_bench_text(&p->file, "seed"),
            (long long)ds_bench_int(&p->file, "runs"));
    if (ds_bench_text(&p->file, "skip")[0] != '\0') {
        fprintf(f, "skip = %s\n", ds_bench_text(&p->file, "skip"));
    }
    int rc = put_run(f, p, e);
    for (int which = 0; which < 2 && rc == 0; which++) {
        for (size_t i = 0; i < p->variants[which]; i++) {
            const ds_bench_variant *v = &p->variant[which][i];
            const char *plugin = strchr(v->part->plugin, '/') != NULL ? v->module->path : v->module->id;
            fprintf(f, "\n; %s %s\n[%s %s]\nplugin = %s\n", v->module->id, v->module->plugin->desc->version,
                    which == DS_BENCH_ENV ? "env" : "opt", v->part->name, plugin);
            ds_params_write_ini(v->params, f);
        }
    }
    int bad = ferror(f);
    bad |= fclose(f) != 0;
    if (rc == 0 && bad) {
        rc = ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    if (rc != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

/* ---- an experiment that is there ---- */

/* Settings of both that differ in a key: what the old runs in this folder were made with is not what is
 * wanted. */
static int compare(const char *out, const char *what, const ds_settings *then, const ds_settings *now,
                   int section, int (*may_differ)(const char *key), ds_error *e)
{
    const ds_section *sec = &now->section[section];
    for (size_t i = 0; i < sec->count; i++) {
        const char *key = sec->item[i].key;
        const ds_setting *old = ds_settings_find(then, section, key);
        const ds_setting *new = ds_settings_find(now, section, key);
        if (old != NULL && strcmp(old->value, new->value) != 0 && (may_differ == NULL || !may_differ(key))) {
            return ds_fail(
                e, DS_EXIT_CONFIG,
                "%s holds runs of %s with %s = %.60s, the file now says %.60s: give the variant another "
                "name, or choose another --out",
                out, what, key, old->value, new->value);
        }
    }
    return 0;
}

/* Is there a run in OUT/ENV/OPT? */
static int has_runs(const char *out, const char *env, const char *opt)
{
    char *path = NULL;
    int has = 0;
    DIR *d = asprintf(&path, "%s/%s/%s", out, env, opt) < 0 ? NULL : opendir(path);
    for (struct dirent *entry; d != NULL && !has && (entry = readdir(d)) != NULL;) {
        has = strncmp(entry->d_name, "seed-", 5) == 0;
    }
    if (d != NULL) {
        closedir(d);
    }
    free(path);
    return has;
}

/* Has a variant that stood in the file then any run? */
static int was_run(const char *out, const ds_bench_file *then, int which, const char *name)
{
    const ds_bench_parts *others = &then->part[which == DS_BENCH_ENV ? DS_BENCH_OPT : DS_BENCH_ENV];
    for (size_t i = 0; i < others->count; i++) {
        const char *other = others->item[i].name;
        if (which == DS_BENCH_ENV ? has_runs(out, name, other) : has_runs(out, other, name)) {
            return 1;
        }
    }
    return 0;
}

static int compare_parts(const ds_bench_plan *p, const ds_bench_file *then, const ds_bench_file *now,
                         int which, ds_error *e)
{
    int section = which == DS_BENCH_ENV ? DS_SECTION_ENV : DS_SECTION_OPT;
    int rc = 0;
    for (size_t i = 0; i < now->part[which].count && rc == 0; i++) {
        const ds_bench_part *mine = &now->part[which].item[i];
        for (size_t k = 0; k < then->part[which].count && rc == 0; k++) {
            const ds_bench_part *old = &then->part[which].item[k];
            if (strcmp(old->name, mine->name) != 0 || !was_run(p->out, then, which, mine->name)) {
                continue;
            }
            rc = strcmp(old->plugin, mine->plugin) != 0
                     ? ds_fail(e, DS_EXIT_CONFIG,
                               "%s holds runs of %s with plugin %.200s, the file now says %.200s: "
                               "choose another --out",
                               p->out, old->name, old->plugin, mine->plugin)
                     : compare(p->out, mine->name, &old->settings, &mine->settings, section, NULL, e);
        }
    }
    return rc;
}

/* Both as effective files, so that a default and the same value given are equal. */
static int compare_with(const ds_bench_plan *p, const char *old_path, const char *new_path, ds_error *e)
{
    ds_settings none;
    ds_bench_file then, now;
    memset(&none, 0, sizeof(none));
    memset(&now, 0, sizeof(now));
    int rc = ds_bench_file_read(old_path, &none, &none, &then, e);
    rc = rc != 0 ? rc : ds_bench_file_read(new_path, &none, &none, &now, e);
    rc = rc != 0 ? rc : compare_parts(p, &then, &now, DS_BENCH_ENV, e);
    rc = rc != 0 ? rc : compare_parts(p, &then, &now, DS_BENCH_OPT, e);
    rc = rc != 0 ? rc : compare(p->out, "all", &then.run, &now.run, DS_SECTION_RUN, ds_run_may_override, e);
    ds_bench_file_clear(&then);
    ds_bench_file_clear(&now);
    return rc;
}

/* ---- write ---- */

static int write_cell(const ds_bench_plan *p, const ds_bench_cell *c, ds_error *e)
{
    const ds_bench_variant *env = &p->variant[DS_BENCH_ENV][c->env];
    const ds_bench_variant *opt = &p->variant[DS_BENCH_OPT][c->opt];
    char *folder = ds_folder_path(p->out, c->name);
    ds_settings s;
    ds_run_options o;
    memset(&s, 0, sizeof(s));
    memset(&o, 0, sizeof(o));
    int rc = folder == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : ds_folder_make(folder, e);
    rc = rc != 0 ? rc : ds_bench_cell_settings(p, c, &s, e);
    rc = rc != 0 ? rc : ds_run_options_make(&s, &o, e);
    if (rc == 0) {
        const ds_recipe r = {.env = env->module,
                             .opt = opt->module,
                             .options = &o,
                             .env_params = env->params,
                             .opt_params = opt->params,
                             .all_runs = 1};
        rc = ds_folder_write_ini(folder, &r, e);
    }
    ds_run_options_clear(&o);
    ds_settings_clear(&s);
    free(folder);
    return rc;
}

int ds_bench_plan_write(const ds_bench_plan *p, ds_error *e)
{
    char *text = ds_bench_plan_text(p, e);
    char *path = ds_folder_path(p->out, "bench.ini");
    char *draft = ds_folder_path(p->out, "bench.ini.new");
    int rc = text == NULL ? e->status : 0;
    if (rc == 0 && (path == NULL || draft == NULL)) {
        rc = ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    rc = rc != 0 ? rc : ds_folder_make(p->out, e);
    rc = rc != 0 ? rc : ds_file_write_atomic(draft, text, strlen(text), e);
    if (rc == 0 && access(path, F_OK) == 0) {
        rc = compare_with(p, path, draft, e);
    }
    if (rc == 0) {
        rc = ds_file_write_atomic(path, text, strlen(text), e);
    }
    if (draft != NULL) {
        unlink(draft);
    }
    for (size_t i = 0; i < p->cells && rc == 0; i++) {
        rc = write_cell(p, &p->cell[i], e);
    }
    free(text);
    free(path);
    free(draft);
    return rc;
}
