/* SPDX-License-Identifier: Apache-2.0 */
/* report_csv.c - the tables of a report as CSV. */
#include "config.h"

#include "report/report.h"
#include "results/csv.h"

#include <inttypes.h>
#include <stdio.h>

int ds_report_runs_csv(const ds_report *r, const char *path, ds_error *e)
{
    ds_table *t = ds_table_new(
        "environment,optimizer,seed,variables,budget,evaluations,gradients,best_loss,score,cost_steps,"
        "evaluation_s,wall_s,ended,folder,version_dshost,version_environment,version_optimizer,"
        "processor,arithmetic,losses,first_loss,recommended,recommended_se");
    if (t == NULL) {
        return ds_no_memory(e);
    }
    for (size_t i = 0; i < r->envs * r->opts; i++) {
        const ds_report_cell *c = &r->cell[i];
        for (size_t j = 0; j < c->runs + c->repeated; j++) {
            const ds_result *s = c->run[j].result;
            const size_t at = j < c->runs ? j : ds_report_first(c, j);
            char losses[24] = "";
            if (s->losses != 0) {
                snprintf(losses, sizeof losses, "%" PRIu64, s->losses);
            }
            ds_table_row(t, "ttnnnnnrrnrrttttttttrrr", s->env, s->opt, s->seed, s->n, s->budget,
                         s->evaluations, s->gradients,
                         r->env[i / r->opts].recommended ? s->best_loss : c->final[at], c->score[at],
                         s->cost_steps, s->evaluation_s, s->wall_s, s->partial ? "unfinished" : s->ended,
                         s->folder, s->host_version, s->env_version, s->opt_version, s->processor,
                         s->arithmetic, losses, s->first_loss, s->recommended, s->recommended_se);
        }
    }
    return ds_table_close(t, path, 0, e);
}

int ds_report_cells_csv(const ds_report *r, const char *path, ds_error *e)
{
    static const char *const word[] = {"worse", "", "better"};
    ds_table *t = ds_table_new(
        "environment,optimizer,runs,mean,sd,median,q1,q3,least,most,bca90_low,bca90_high,bca95_low,bca95_"
        "high,"
        "area,evaluations,cost_steps,wall_s,u,a12,p,p_holm,exact,area_steps,ert_50,"
        "ert_90,ert_99,ert_50_steps,ert_90_steps,ert_99_steps,rank,verdict,least_p_holm,compared_after,"
        "p_holm_alone,least_p_holm_alone,samples,tolerance");
    if (t == NULL) {
        return ds_no_memory(e);
    }
    for (size_t i = 0; i < r->envs * r->opts; i++) {
        const ds_report_cell *c = &r->cell[i];
        if (c->runs > 0) {
            ds_table_row(t, "ttnrrrrrrrrrrrrrrrrrrrnrRRRRRRrtrnrrnr", r->env[i / r->opts].name,
                         r->opt[i % r->opts].name, (uint64_t)(c->runs + c->repeated), c->mean, c->sd,
                         c->median, c->q1, c->q3, c->least, c->most, c->mean90.low, c->mean90.high,
                         c->mean95.low, c->mean95.high, c->area[0], c->evaluations, c->cost_steps, c->wall_s,
                         c->test.u, c->test.a12, c->test.p, c->p_holm, (uint64_t)c->test.exact, c->area[1],
                         c->expected[0], c->rank, word[1 + ds_report_verdict(c)], c->least_p,
                         r->env[i / r->opts].common, c->p_alone, c->least_alone, (uint64_t)c->runs,
                         r->env[i / r->opts].tolerance);
        }
    }
    return ds_table_close(t, path, 0, e);
}

int ds_report_summary_csv(const ds_report *r, const char *path, ds_error *e)
{
    ds_table *t =
        ds_table_new("optimizer,environments,of,score,score95_low,score95_high,mean_rank,beats_reference,"
                     "beats95_low,beats95_high,better,worse,reference,p,p_holm,least_p_holm,test_rank,"
                     "better_alone,worse_alone");
    if (t == NULL) {
        return ds_no_memory(e);
    }
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_opt *o = &r->opt[k];
        ds_table_row(t, "tnnrrrrrrrnntrrrrnn", o->name, (uint64_t)o->envs, (uint64_t)r->envs, o->score,
                     o->score95.low, o->score95.high, o->rank, o->improvement, o->improvement95.low,
                     o->improvement95.high, (uint64_t)o->better, (uint64_t)o->worse,
                     r->opt[r->reference].name, o->p, o->p_holm, o->least_p, o->test_rank,
                     (uint64_t)o->alone_better, (uint64_t)o->alone_worse);
    }
    return ds_table_close(t, path, 0, e);
}

int ds_report_metrics_csv(const ds_report *r, const char *path, ds_error *e)
{
    ds_table *t = ds_table_new("environment,optimizer,seed,best_loss,metric,unit,value,folder");
    if (t == NULL) {
        return ds_no_memory(e);
    }
    for (size_t i = 0; i < r->envs * r->opts; i++) {
        for (size_t j = 0; j < r->cell[i].runs; j++) {
            const ds_report_run *run = &r->cell[i].run[j];
            for (size_t m = 0; run->metric != NULL && m < r->env[i / r->opts].metrics; m++) {
                ds_table_row(t, "ttnrttrt", run->result->env, run->result->opt, run->result->seed,
                             r->cell[i].final[j], run->metric[m].name, run->metric[m].unit,
                             run->metric[m].value, run->result->folder);
            }
        }
    }
    return ds_table_close(t, path, 0, e);
}

int ds_report_metric_cells_csv(const ds_report *r, const char *path, ds_error *e)
{
    int rc = 0;
    ds_table *t =
        ds_table_new("environment,optimizer,metric,unit,runs,mean,bca95_low,bca95_high,median,q1,q3,"
                     "least,most");
    if (t == NULL) {
        return ds_no_memory(e);
    }
    for (size_t i = 0; rc == 0 && i < r->envs * r->opts; i++) {
        for (size_t m = 0; rc == 0 && m < r->env[i / r->opts].metrics; m++) {
            ds_metric_summary s;
            rc = ds_report_metric(&r->cell[i], m, &s, e);
            if (rc == 0 && s.runs > 0) {
                ds_table_row(t, "ttttnrrrrrrrr", r->env[i / r->opts].name, r->opt[i % r->opts].name,
                             s.metric->name, s.metric->unit, (uint64_t)s.runs, s.mean, s.mean95.low,
                             s.mean95.high, s.median, s.q1, s.q3, s.least, s.most);
            }
        }
    }
    return ds_table_close(t, path, rc, e);
}
