/* SPDX-License-Identifier: Apache-2.0 */
/* report_tables.c - losses, tests and costs of an environment (see report_tables.h). */
#include "config.h"

#include "report/report_tables.h"

#include <math.h>
#include <stdlib.h>

#include "page/html.h"

static void begin_row(FILE *f, const ds_report *r, size_t k)
{
    fprintf(f, "<tr%s><th scope=row>", k == r->reference ? " class=r" : "");
    ds_html_text(f, r->opt[k].name);
    fputs("</th>", f);
}

static void put_means(FILE *f, const ds_report *r, size_t i, const size_t *order, size_t rows)
{
    ds_html_table(f, "", "best losses", r->env[i].name);
    fputs("<thead><tr><th scope=col>optimizer<th scope=col>runs<th scope=col>mean<th scope=col>95 "
          "%<th scope=col>median<th scope=col>quartiles<th scope=col>best<th scope=col>worst</tr></thead>\n",
          f);
    size_t repeated = 0;
    for (size_t j = 0; j < rows; j++) {
        const ds_report_cell *c = ds_report_at(r, i, order[j]);
        begin_row(f, r, order[j]);
        fprintf(f, "<td>%zu", c->runs + c->repeated);
        if (c->repeated > 0) {
            fprintf(f, ", %zu different", c->runs);
            repeated += c->repeated;
        }
        fprintf(f, "%s</td><td%s>", c->unfinished ? " unfinished" : "",
                c->mean <= r->env[i].least_mean + r->env[i].tolerance ? " class=b" : "");
        ds_html_number(f, c->mean, 5);
        fputs("</td>", f);
        ds_html_interval_cell(f, c->mean95, 4);
        ds_html_number_cell(f, c->median, 5);
        ds_html_interval_cell(f, c->runs > 1 ? (ds_interval){c->q1, c->q3} : (ds_interval){NAN, NAN}, 4);
        ds_html_number_cell(f, c->least, 5);
        ds_html_number_cell(f, c->most, 5);
        fputs("</tr>\n", f);
    }
    ds_html_table_end(f);
    if (repeated > 0) {
        fputs("<p class=s>Runs whose losses are the same to the last bit under several seeds come from a "
              "deterministic search: they count as one sample in means, intervals and tests.</p>\n",
              f);
    }
}

static void put_tests(FILE *f, const ds_report *r, size_t i, const size_t *order, size_t rows)
{
    static const char *const verdict[] = {"<td class=w>worse</td>", "", "<td class=g>better</td>"};
    size_t needed = 0;
    const int can = ds_report_can_decide(r, i, &needed);
    if (r->env[i].tests == 0) {
        return;
    }
    ds_html_table(f, "", "tests", r->env[i].name);
    fputs(
        "<thead><tr><th scope=col>optimizer<th scope=col>A12<th scope=col>95 %<th scope=col>p<th scope=col>p "
        "(Holm)<th scope=col>than ",
        f);
    ds_html_text(f, r->opt[r->reference].name);
    fputs("</tr></thead>\n", f);
    for (size_t j = 0; j < rows; j++) {
        const size_t k = order[j];
        const ds_report_cell *c = ds_report_at(r, i, k), *other = ds_report_at(r, i, r->reference);
        if (k == r->reference || other->runs == 0) {
            continue;
        }
        begin_row(f, r, k);
        ds_html_fixed_cell(f, c->test.a12, 2);
        ds_html_interval_cell(f,
                              c->runs > 1 && other->runs > 1
                                  ? ds_probability_interval(c->test.a12, c->runs, other->runs, 0.95)
                                  : (ds_interval){NAN, NAN},
                              2);
        ds_html_number_cell(f, c->test.p, 2);
        ds_html_number_cell(f, c->p_holm, 2);
        fprintf(f, "%s</tr>\n",
                ds_report_verdict(c) != 0 ? verdict[1 + ds_report_verdict(c)]
                : c->least_p < 0.05       ? "<td class=n>not shown</td>"
                                          : "<td class=n>too few runs</td>");
    }
    ds_html_table_end(f);
    fputs("<p class=s>Bold: the lowest mean. Better and worse (p (Holm) &lt; 0.05) go by ranks, so that one "
          "run far off, which moves a mean, counts as one run. Losses that differ by at most ",
          f);
    ds_html_number(f, r->env[i].tolerance, 2);
    fputs(r->env[i].range > 0
              ? " (1e-9 of the range of losses, or what the environment declares; --tolerance) "
                "are equal."
              : " (--tolerance) are equal.",
          f);
    if (!can) {
        fprintf(f, " <b>Nothing can be shown here with so few runs: it takes %zu of each optimizer.</b>",
                needed);
    }
    fputs("</p>\n", f);
}

/* What the runs cost, and how soon they were good. */
static void put_costs(FILE *f, const ds_report *r, size_t i, const size_t *order, size_t rows)
{
    ds_html_table(f, "", "costs", r->env[i].name);
    fputs("<thead><tr><th rowspan=2 scope=col>optimizer<th colspan=3 scope=colgroup>cost, mean per run<th "
          "colspan=2 scope=colgroup>area, by<th colspan=3 scope=colgroup>evaluations expected<br>until the "
          "score is<th colspan=3 scope=colgroup>simulation steps<br>expected until</tr>\n"
          "<tr><th scope=col style=\"text-align:right\">evaluations<th scope=col>steps<th "
          "scope=col>seconds<th scope=col>evaluations<th scope=col>steps",
          f);
    for (int t = 0; t < 2 * DS_REPORT_SCORES; t++) {
        fprintf(f, "<th scope=col>%g", ds_report_score[t % DS_REPORT_SCORES]);
    }
    fputs("</tr></thead>\n", f);
    for (size_t j = 0; j < rows; j++) {
        const ds_report_cell *c = ds_report_at(r, i, order[j]);
        begin_row(f, r, order[j]);
        ds_html_number_cell(f, c->evaluations, 6);
        ds_html_number_cell(f, c->cost_steps, 6);
        ds_html_number_cell(f, c->wall_s, 4);
        ds_html_fixed_cell(f, c->area[0], 3);
        ds_html_fixed_cell(f, c->area[1], 3);
        for (int t = 0; t < 2 * DS_REPORT_SCORES; t++) {
            const double cost = c->expected[t / DS_REPORT_SCORES][t % DS_REPORT_SCORES];
            ds_html_number_cell(f, cost >= 100 ? round(cost) : cost, cost >= 100 ? 9 : 4);
        }
        fputs("</tr>\n", f);
    }
    ds_html_table_end(f);
    if (r->env[i].rows > 0) {
        fputs("<p class=s>Areas and expected costs are those of optimizers whose runs all have a record "
              "here; of <a href=\"#tables\">runs of tables</a> just the end is known.</p>\n",
              f);
    }
}

static void put_metric(FILE *f, const ds_report *r, size_t opt, const ds_metric_summary *s)
{
    begin_row(f, r, opt);
    fputs("<td>", f);
    ds_html_text(f, s->metric->name);
    fputs(s->metric->unit[0] != '\0' ? ", " : "", f);
    ds_html_text(f, s->metric->unit);
    fputs("</td>", f);
    ds_html_number_cell(f, s->mean, 4);
    ds_html_interval_cell(f, s->mean95, 3);
    ds_html_number_cell(f, s->median, 4);
    ds_html_interval_cell(f, s->runs > 1 ? (ds_interval){s->q1, s->q3} : (ds_interval){NAN, NAN}, 3);
    ds_html_number_cell(f, s->least, 4);
    ds_html_number_cell(f, s->most, 4);
    fputs("</tr>\n", f);
}

/* What the best episodes are like, in the metrics that no optimizer sees. */
static int put_metrics(FILE *f, const ds_report *r, size_t i, const size_t *order, size_t rows, ds_error *e)
{
    int rc = 0;
    if (r->env[i].metrics == 0) {
        return 0;
    }
    ds_html_table(f, "", "metrics of the best episodes", r->env[i].name);
    fputs("<thead><tr><th scope=col>optimizer<th scope=col>metric<th scope=col>mean<th scope=col>95 %<th "
          "scope=col>median<th scope=col>quartiles<th scope=col>least<th scope=col>most</tr></thead>\n",
          f);
    for (size_t m = 0; rc == 0 && m < r->env[i].metrics; m++) {
        for (size_t j = 0; rc == 0 && j < rows; j++) {
            ds_metric_summary s;
            rc = ds_report_metric(ds_report_at(r, i, order[j]), m, &s, e);
            if (rc == 0 && s.runs > 0) {
                put_metric(f, r, order[j], &s);
            }
        }
    }
    ds_html_table_end(f);
    fputs("<p class=s>Over the runs, at the end of the best episode of each.", f);
    fputs(r->env[i].rows > 0 ? " Optimizers with <a href=\"#tables\">runs of tables</a> have none.</p>\n"
                             : "</p>\n",
          f);
    return rc;
}

int ds_report_put_tables(FILE *f, const ds_report *r, size_t env, ds_error *e)
{
    size_t *order = calloc(r->opts + 1, sizeof *order);
    if (order == NULL) {
        return ds_no_memory(e);
    }
    const size_t rows = ds_report_order_on(r, env, order);
    if (isfinite(r->env[env].best)) {
        put_means(f, r, env, order, rows);
        put_tests(f, r, env, order, rows);
    }
    const int rc = put_metrics(f, r, env, order, rows, e);
    put_costs(f, r, env, order, rows);
    free(order);
    return rc;
}
