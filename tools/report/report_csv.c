/* SPDX-License-Identifier: Apache-2.0 */
/* report_csv.c - builds a CSV file in memory; the tables of a report. */
#include "config.h"

#include "report/report_csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

struct ds_table {
    FILE *f; /* into `text` */
    char *text;
    size_t size;
    int begun; /* the row has a cell */
};

ds_table *ds_table_new(const char *header)
{
    ds_table *t = calloc(1, sizeof *t);
    t = t != NULL && (t->f = open_memstream(&t->text, &t->size)) != NULL ? t : (free(t), NULL);
    if (t != NULL) {
        fprintf(t->f, "%s\n", header);
    }
    return t;
}

void ds_table_free(ds_table *t)
{
    if (t != NULL) {
        if (t->f != NULL) {
            fclose(t->f);
        }
        free(t->text);
        free(t);
    }
}

static void separate(ds_table *t)
{
    if (t->begun) {
        fputc(',', t->f);
    }
    t->begun = 1;
}

void ds_table_text(ds_table *t, const char *text)
{
    separate(t);
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, t->f);
        return;
    }
    fputc('"', t->f);
    for (; *text != '\0'; text++) {
        fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, t->f);
    }
    fputc('"', t->f);
}

void ds_table_count(ds_table *t, uint64_t v)
{
    separate(t);
    fprintf(t->f, "%" PRIu64, v);
}

void ds_table_reals(ds_table *t, size_t count, const double *v)
{
    for (size_t i = 0; i < count; i++) {
        separate(t);
        if (isfinite(v[i])) {
            fprintf(t->f, "%.17g", v[i]);
        }
    }
}

void ds_table_end(ds_table *t)
{
    fputc('\n', t->f);
    t->begun = 0;
}

int ds_table_close(ds_table *t, const char *path, int rc, ds_error *e)
{
    if (rc == 0 && (fflush(t->f) != 0 || ferror(t->f))) {
        rc = ds_no_memory(e);
    }
    rc = rc != 0 || path == NULL ? rc : ds_file_write_atomic(path, t->text, t->size, e);
    ds_table_free(t);
    return rc;
}

/* ---- tables ---- */

int ds_report_runs_csv(const ds_report *r, const char *path, ds_error *e)
{
    ds_table *t = ds_table_new(
        "environment,optimizer,seed,variables,budget,evaluations,gradients,best_loss,score,cost_steps,"
        "evaluation_s,wall_s,ended,folder,version_dshost,version_environment,version_optimizer");
    if (t == NULL) {
        return ds_no_memory(e);
    }
    for (size_t i = 0; i < r->envs * r->opts; i++) {
        for (size_t j = 0; j < r->cell[i].runs; j++) {
            const ds_result *s = r->cell[i].run[j].result;
            ds_table_text(t, s->env);
            ds_table_text(t, s->opt);
            ds_table_count(t, s->seed);
            ds_table_count(t, s->n);
            ds_table_count(t, s->budget);
            ds_table_count(t, s->evaluations);
            ds_table_count(t, s->gradients);
            ds_table_reals(t, 2, (double[]){r->cell[i].final[j], r->cell[i].score[j]});
            ds_table_count(t, s->cost_steps);
            ds_table_reals(t, 2, (double[]){s->evaluation_s, s->wall_s});
            ds_table_text(t, s->ended != NULL ? s->ended : "");
            ds_table_text(t, s->folder);
            ds_table_text(t, s->host_version != NULL ? s->host_version : "");
            ds_table_text(t, s->env_version != NULL ? s->env_version : "");
            ds_table_text(t, s->opt_version != NULL ? s->opt_version : "");
            ds_table_end(t);
        }
    }
    return ds_table_close(t, path, 0, e);
}

int ds_report_cells_csv(const ds_report *r, const char *path, ds_error *e)
{
    static const char *const word[] = {"worse", "", "better"};
    ds_table *t = ds_table_new(
        "environment,optimizer,runs,mean,sd,median,q1,q3,least,most,t90_low,t90_high,t95_low,t95_high,"
        "bca95_low,bca95_high,area,evaluations,cost_steps,wall_s,u,a12,p,p_holm,exact,area_steps,ert_50,"
        "ert_90,ert_99,ert_50_steps,ert_90_steps,ert_99_steps,rank,verdict");
    if (t == NULL) {
        return ds_no_memory(e);
    }
    for (size_t i = 0; i < r->envs * r->opts; i++) {
        const ds_report_cell *c = &r->cell[i];
        if (c->runs > 0) {
            ds_table_text(t, r->env[i / r->opts].name);
            ds_table_text(t, r->opt[i % r->opts].name);
            ds_table_count(t, c->runs);
            ds_table_reals(t, 21,
                           (double[]){c->mean,
                                      c->sd,
                                      c->median,
                                      c->q1,
                                      c->q3,
                                      c->least,
                                      c->most,
                                      c->student90.low,
                                      c->student90.high,
                                      c->student95.low,
                                      c->student95.high,
                                      c->bootstrap95.low,
                                      c->bootstrap95.high,
                                      c->area[0],
                                      c->evaluations,
                                      c->cost_steps,
                                      c->wall_s,
                                      c->test.u,
                                      c->test.a12,
                                      c->test.p,
                                      c->p_holm});
            ds_table_count(t, (uint64_t)c->test.exact);
            ds_table_reals(t, 1, &c->area[1]);
            ds_table_reals(t, DS_REPORT_SCORES, c->expected[0]);
            ds_table_reals(t, DS_REPORT_SCORES, c->expected[1]);
            ds_table_reals(t, 1, &c->rank);
            ds_table_text(t, word[1 + ds_report_verdict(c)]);
            ds_table_end(t);
        }
    }
    return ds_table_close(t, path, 0, e);
}

int ds_report_summary_csv(const ds_report *r, const char *path, ds_error *e)
{
    ds_table *t =
        ds_table_new("optimizer,environments,of,score,score95_low,score95_high,mean_rank,beats_reference,"
                     "beats95_low,beats95_high,better,worse,reference");
    if (t == NULL) {
        return ds_no_memory(e);
    }
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_opt *o = &r->opt[k];
        ds_table_text(t, o->name);
        ds_table_count(t, o->envs);
        ds_table_count(t, r->envs);
        ds_table_reals(t, 7,
                       (double[]){o->score, o->score95.low, o->score95.high, o->rank, o->improvement,
                                  o->improvement95.low, o->improvement95.high});
        ds_table_count(t, o->better);
        ds_table_count(t, o->worse);
        ds_table_text(t, r->opt[r->reference].name);
        ds_table_end(t);
    }
    return ds_table_close(t, path, 0, e);
}
