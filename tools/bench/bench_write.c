/* SPDX-License-Identifier: Apache-2.0 */
/* bench_write.c - the effective experiment as text, and the files of the results folder that describe it. */
#include "config.h"

#include "bench/bench_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "config/inifile.h"
#include "run/session.h"

enum { LINE_BYTES = 150 /* where a list of names goes on in the next line */ };

/* ---- text ---- */

/* A word of "key = a b c"; where the line gets long it goes on in the next one. */
static void put_word(FILE *f, size_t *used, const char *word, size_t n)
{
    if (*used + n > LINE_BYTES) {
        *used = (size_t)fprintf(f, "\n   ");
    }
    *used += (size_t)fprintf(f, " %.*s", (int)n, word);
}

static void put_words(FILE *f, const char *key, const char *text)
{
    size_t used = (size_t)fprintf(f, "%s =", key);
    for (text += strspn(text, " \t,"); *text != '\0'; text += strspn(text, " \t,")) {
        size_t n = strcspn(text, " \t,");
        put_word(f, &used, text, n);
        text += n;
    }
    fputc('\n', f);
}

static void put_names(FILE *f, const ds_bench_plan *p, int which)
{
    size_t used = (size_t)fprintf(f, "%s =", which == DS_BENCH_ENV ? "envs" : "opts");
    for (size_t i = 0; i < p->variants[which]; i++) {
        const char *name = p->variant[which][i].part->name;
        put_word(f, &used, name, strlen(name));
    }
    fputc('\n', f);
}

static int put_run(FILE *f, const ds_bench_plan *p, ds_error *e)
{
    ds_run_options o;
    int rc = ds_run_options_make(&p->file.run, &o, e);
    if (rc != 0) {
        return rc;
    }
    fprintf(f, "\n[run]\n");
    for (size_t i = 0; i < ds_params_count(o.params); i++) {
        const char *key = ds_params_info(o.params, i)->name;
        if (ds_bench_elsewhere(key) == NULL) {
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
        ds_no_memory(e);
        return NULL;
    }
    fprintf(f,
            "; The effective experiment, by dshost %s. The same again:\n;   dshost bench bench.ini --out "
            "OTHER\n\n",
            PACKAGE_VERSION);
    fprintf(f, "[bench]\n");
    put_names(f, p, DS_BENCH_ENV);
    put_names(f, p, DS_BENCH_OPT);
    fprintf(f, "seed = %llu\nruns = %zu\n", (unsigned long long)ds_bench_first_seed(p), p->seeds);
    if (ds_bench_text(&p->file, "skip")[0] != '\0') {
        put_words(f, "skip", ds_bench_text(&p->file, "skip"));
    }
    int rc = put_run(f, p, e);
    for (int which = 0; which < 2 && rc == 0; which++) {
        for (size_t i = 0; i < p->variants[which]; i++) {
            const ds_bench_variant *v = &p->variant[which][i];
            const ds_plugin_name plugin = ds_session_plugin(v->module, v->part->plugin);
            fprintf(f, "\n; %s %s\n[%s %s]\nplugin = %s\n", v->module->id, v->module->plugin->desc->version,
                    which == DS_BENCH_ENV ? "env" : "opt", v->part->name, ds_folder_plugin_name(&plugin));
            ds_params_write_ini(v->params, f);
        }
    }
    int bad = ferror(f);
    bad |= fclose(f) != 0;
    if (rc == 0 && bad) {
        rc = ds_no_memory(e);
    }
    if (rc != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

/* ---- write ---- */

static int write_cell(const ds_bench_plan *p, const ds_bench_cell *c, ds_error *e)
{
    const ds_bench_variant *env = &p->variant[DS_BENCH_ENV][c->env];
    const ds_bench_variant *opt = &p->variant[DS_BENCH_OPT][c->opt];
    char *folder = ds_folder_path(p->out, c->name);
    ds_settings s = {0};
    ds_run_options o = {0};
    int rc = folder == NULL ? ds_no_memory(e) : ds_folder_make_below(p->out, folder, e);
    rc = rc != 0 ? rc : ds_bench_cell_settings(p, c, &s, e);
    rc = rc != 0 ? rc : ds_run_options_make(&s, &o, e);
    if (rc == 0) {
        const ds_run_spec r = {.kind = "run",
                               .env = ds_session_plugin(env->module, o.env),
                               .opt = ds_session_plugin(opt->module, o.opt),
                               .options = &o,
                               .section = {[DS_SECTION_ENV] = env->params, [DS_SECTION_OPT] = opt->params},
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
    int rc = text == NULL ? e->status : path == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && strlen(text) > DS_INI_LARGE_LIMIT) { /* nobody could read it again */
        rc = ds_fail(e, DS_EXIT_CONFIG,
                     "%s: all parameters of %zu environments and %zu optimizers are over %d MiB", p->path,
                     p->variants[0], p->variants[1], DS_INI_LARGE_LIMIT >> 20);
    }
    rc = rc != 0 ? rc : ds_folder_make(p->out, e);
    rc = rc != 0 ? rc : ds_file_write_atomic(path, text, strlen(text), e);
    for (size_t i = 0; i < p->cells && rc == 0; i++) {
        rc = p->cell[i].wanted ? write_cell(p, &p->cell[i], e) : 0;
    }
    free(text);
    free(path);
    return rc;
}
