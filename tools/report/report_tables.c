/* SPDX-License-Identifier: Apache-2.0 */
/* report_tables.c - tables in the page of a report: of one environment, the overview, versions and settings
 * (see report.h). */
#include "config.h"

#include "page/page.h"
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        fputs("<p class=s>Runs with bit-identical losses under several seeds come from a deterministic "
              "search: they count as one sample in means, intervals and tests.</p>\n",
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
    fputs("<p class=s>Bold: the lowest mean. Better and worse (p (Holm) &lt; 0.05) are decided by ranks, so "
          "that one outlier, which would move a mean, counts as one run. Losses that differ by at most ",
          f);
    ds_html_number(f, r->env[i].tolerance, 2);
    fputs(r->env[i].range > 0
              ? " (1e-9 of the range of losses, or what the environment declares; --tolerance) "
                "are equal."
              : " (--tolerance) are equal.",
          f);
    if (!can) {
        fprintf(f,
                " <b>With so few runs no difference can be shown here: %zu runs of each optimizer are "
                "needed.</b>",
                needed);
    }
    fputs("</p>\n", f);
}

/* Cost of the runs, and expected cost until each score. */
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
        fputs("<p class=s>Areas and expected costs cover optimizers whose runs all have a record here; of <a "
              "href=\"#tables\">runs of tables</a> only the end is known.</p>\n",
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

/* Metrics of the best episodes, which optimizers do not see. */
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

/* ---- overview: heat map ---- */

/* Score of the median run. */
static double score_of(const ds_report_env *env, const ds_report_cell *c)
{
    return ds_normal_score(c->median, env->random, env->best);
}

static void put_shade(FILE *f, double score)
{
    if (score < 0) {
        fputs("hn", f);
    } else {
        const int shade = (int)(score * DS_REPORT_SHADES);
        fprintf(f, "h%d", shade < DS_REPORT_SHADES ? shade : DS_REPORT_SHADES - 1);
    }
}

static void put_score(FILE *f, double score)
{
    if (score < -9.99) {
        fputs("&lt; \xe2\x88\x92"
              "9",
              f);
    } else {
        fprintf(f, "%s%d.%02d", score < -0.005 ? "\xe2\x88\x92" : "", (int)lround(100 * fabs(score)) / 100,
                (int)lround(100 * fabs(score)) % 100);
    }
}

/* Filled: also after the correction for several tests; hollow: only before it. */
static void put_mark(FILE *f, const ds_report_cell *c)
{
    const int better = c->test.a12 > 0.5;
    if (c->p_holm < 0.05) {
        fputs(better ? " <span role=img aria-label=\"better\">\xe2\x96\xb2</span>"
                     : " <span role=img aria-label=\"worse\">\xe2\x96\xbc</span>",
              f);
    } else if (c->test.p < 0.05) {
        fputs(better ? " <span role=img aria-label=\"perhaps better\">\xe2\x96\xb3</span>"
                     : " <span role=img aria-label=\"perhaps worse\">\xe2\x96\xbd</span>",
              f);
    }
}

/* Has the optimizer the lowest median on the environment? */
static int is_best(const ds_report *r, size_t i, const ds_report_cell *c)
{
    for (size_t k = 0; k < r->opts; k++) {
        const ds_report_cell *other = ds_report_at(r, i, k);
        if (other->runs > 0 && other->median < c->median - r->env[i].tolerance) {
            return 0;
        }
    }
    return isfinite(c->median);
}

static void put_cell(FILE *f, const ds_report *r, size_t i, size_t k)
{
    const ds_report_cell *c = ds_report_at(r, i, k);
    if (c->runs == 0) {
        fputs("<td>&ndash;</td>", f);
        return;
    }
    const double score = score_of(&r->env[i], c);
    fputs("<td class=\"", f);
    put_shade(f, score);
    fputs(is_best(r, i, c) ? " b\">" : "\">", f);
    put_score(f, score);
    put_mark(f, c);
    fputs(c->unfinished ? "\xe2\x80\xa0<small>" : "<small>", f);
    ds_html_number(f, c->median, 4);
    fputs("</small></td>", f);
}

const char *ds_report_zero_text(const ds_report *r)
{
    int random = 0, other = 0;
    for (size_t i = 0; i < r->envs; i++) {
        *(r->env[i].zero == DS_ZERO_RANDOM ? &random : &other) += 1;
    }
    return random == 0  ? "the worst mean of an optimizer (there is no random search)"
           : other == 0 ? "the mean of random search"
                        : "the mean of random search (where there is none, the worst mean of an optimizer)";
}

static void put_legend(FILE *f, const ds_report *r)
{
    int open = 0;
    for (size_t i = 0; i < r->envs; i++) {
        open |= r->env[i].common > 0;
    }
    fputs("<p class=s>Score of the median run, and below it its loss. <span class=\"h hn\">&lt; 0</span>", f);
    for (int k = 0; k < DS_REPORT_SHADES; k++) {
        fprintf(f, "<span class=\"h h%d\">%.1f</span>", k, (double)k / DS_REPORT_SHADES);
    }
    fprintf(f,
            " 0 is %s, 1 the best loss that any run found there. Framed: the lowest median, and those within "
            "the tolerance of it. Against ",
            ds_report_zero_text(r));
    ds_html_text(f, r->opt[r->reference].name);
    fputs(": \xe2\x96\xb2 better, \xe2\x96\xbc worse (p &lt; 0.05 after Holm's correction), \xe2\x96\xb3 "
          "\xe2\x96\xbd p &lt; "
          "0.05 "
          "before it only.",
          f);
    fputs(open ? " \xe2\x80\xa0: unfinished.</p>\n" : "</p>\n", f);
}

void ds_report_put_overview(FILE *f, const ds_report *r)
{
    ds_html_table(f, "h", "scores of all optimizers on all environments", "");
    fputs("<thead><tr><th scope=col>environment", f);
    for (size_t j = 0; j < r->opts; j++) {
        fputs("<th scope=col>", f);
        ds_html_text(f, r->opt[r->order[j]].name);
        fputs(r->order[j] == r->reference ? "<small>reference</small>" : "", f);
    }
    fputs("</tr></thead>\n", f);
    for (size_t i = 0; i < r->envs; i++) {
        fprintf(f, "<tr><th scope=row><a href=\"#env%zu\">", i + 1);
        ds_html_text(f, r->env[i].name);
        fputs("</a></th>", f);
        for (size_t j = 0; j < r->opts; j++) {
            put_cell(f, r, i, r->order[j]);
        }
        fputs("</tr>\n", f);
    }
    if (r->envs > 1) {
        fputs("<tr class=z><th scope=row>all, mean rank</th>", f);
        for (size_t j = 0; j < r->opts; j++) {
            ds_html_fixed_cell(f, r->opt[r->order[j]].rank, 1);
        }
        fputs("</tr>\n", f);
    }
    ds_html_table_end(f);
    put_legend(f, r);
}

/* ---- what the numbers of runs can show ---- */

static void put_range(FILE *f, size_t least, size_t most)
{
    fprintf(f, least < most ? "%zu to %zu" : "%zu", least, most);
}

void ds_report_put_power(FILE *f, const ds_report *r)
{
    size_t blind = 0, tested = 0, needed = 0, least_runs = SIZE_MAX, most_runs = 0;
    double least = 1;
    for (size_t i = 0; i < r->envs; i++) {
        size_t runs = 0;
        tested += r->env[i].tests > 0;
        if (r->env[i].tests == 0 || ds_report_can_decide(r, i, &runs)) {
            continue;
        }
        blind++;
        needed = runs > needed ? runs : needed;
        for (size_t k = 0; k < r->opts; k++) {
            const ds_report_cell *c = ds_report_at(r, i, k);
            least = c->least_p < least ? c->least_p : least;
            if (c->runs > 0) {
                least_runs = c->runs < least_runs ? c->runs : least_runs;
                most_runs = c->runs > most_runs ? c->runs : most_runs;
            }
        }
    }
    if (blind == 0) {
        return;
    }
    fprintf(
        f,
        "<p class=m><b>Too few runs to tell optimizers apart on %s.</b> On %zu of %zu p cannot fall below ",
        r->envs > 1 ? "single environments" : "this environment", blind, tested);
    ds_html_number(f, least, 2);
    fputs(" after Holm's correction, however far apart the runs are: there are ", f);
    put_range(f, least_runs, most_runs);
    fprintf(f, " runs of an optimizer, and %zu are needed. ", needed);
    fputs(r->envs > 1 ? "The test over all environments needs fewer: see <a href=\"#all\">below</a>.</p>\n"
                      : "</p>\n",
          f);
}

/* ---- tests over all environments ---- */

static void put_verdict(FILE *f, const ds_report_opt *o)
{
    if (isnan(o->p)) {
        fputs("<td>&ndash;</td>", f);
    } else if (o->p_holm < 0.05) {
        fputs(o->improvement > 0.5 ? "<td class=g>better</td>" : "<td class=w>worse</td>", f);
    } else {
        fputs(o->least_p < 0.05 ? "<td class=n>not shown</td>" : "<td class=n>too few runs</td>", f);
    }
}

static void put_friedman(FILE *f, const ds_report *r)
{
    const ds_report_overall *o = &r->overall;
    if (o->envs < 2 || o->opts < 2) {
        return;
    }
    fprintf(f,
            "<p>Do the optimizers differ at all? Friedman's test of %zu optimizers on the %zu environments "
            "on which all of them ran: p = ",
            o->opts, o->envs);
    ds_html_number(f, o->test.p, 2);
    if (isfinite(o->test.f)) {
        fputs(" by permutations (Iman and Davenport: F = ", f);
        ds_html_number(f, o->test.f, 3);
        fputs(", p = ", f);
        ds_html_number(f, o->test.p_f, 2);
        fputs(")", f);
    } else {
        fputs(" by permutations; the order is the same everywhere", f);
    }
    fputs(". Two optimizers whose mean ranks differ by less than the critical difference of ", f);
    ds_html_number(f, o->test.critical_difference, 3);
    fputs(" (Nemenyi, 5 % over all pairs) are not distinguished by ranks.</p>\n", f);
}

void ds_report_put_overall(FILE *f, const ds_report *r)
{
    size_t parts = 0;
    for (size_t k = 0; k < r->opts; k++) {
        parts += r->opt[k].envs < r->envs;
    }
    ds_html_table(f, "", "optimizers over all environments", "");
    fputs("<thead><tr><th scope=col>optimizer", f);
    fputs(parts > 0 ? "<th scope=col>environ&shy;ments" : "", f);
    fputs("<th scope=col>score<th scope=col>95 "
          "%<th scope=col>mean rank<th scope=col>beats reference<th scope=col>95 %<th scope=col>p<th "
          "scope=col>p "
          "(Holm)<th scope=col>over all<th scope=col>better<br>on<th scope=col>worse<br>on<th "
          "scope=col>alone:<br>better on<th scope=col>worse<br>on</tr></thead>\n",
          f);
    for (size_t j = 0; j < r->opts; j++) {
        const size_t k = r->order[j];
        const ds_report_opt *o = &r->opt[k];
        fprintf(f, "<tr%s><th scope=row>", k == r->reference ? " class=r" : "");
        ds_html_text(f, o->name);
        fputs("</th>", f);
        if (parts > 0) {
            fprintf(f, o->envs < r->envs ? "<td><b>%zu of %zu</b></td>" : "<td>%zu of %zu</td>", o->envs,
                    r->envs);
        }
        ds_html_fixed_cell(f, o->score, 3);
        ds_html_interval_cell(f, o->score95, 3);
        ds_html_fixed_cell(f, o->rank, 2);
        ds_html_fixed_cell(f, o->improvement, 2);
        ds_html_interval_cell(f, o->improvement95, 2);
        ds_html_number_cell(f, o->p, 2);
        ds_html_number_cell(f, o->p_holm, 2);
        put_verdict(f, o);
        if (k == r->reference) {
            fputs("<td>&ndash;</td><td>&ndash;</td><td>&ndash;</td><td>&ndash;</td></tr>\n", f);
        } else {
            fprintf(f, "<td>%zu</td><td>%zu</td>", o->better, o->worse);
            if (o->alone_open > 0 && o->alone_better + o->alone_worse == 0) {
                fputs("<td class=n colspan=2>too few runs</td></tr>\n", f);
            } else {
                fprintf(f, "<td>%zu</td><td>%zu</td></tr>\n", o->alone_better, o->alone_worse);
            }
        }
    }
    ds_html_table_end(f);
    if (parts > 0) {
        fputs("<p><b>Not all optimizers ran on all environments: scores, ranks and profiles over different "
              "environments do not compare.</b></p>\n",
              f);
    }
    put_friedman(f, r);
}

/* ---- versions ---- */

enum { OF_HOST, OF_ENV, OF_OPT, OF_PROCESSOR, OF_ARITHMETIC };

static const char *version_of(const ds_result *r, int of)
{
    const char *text = of == OF_HOST         ? r->host_version
                       : of == OF_ENV        ? r->env_version
                       : of == OF_PROCESSOR  ? r->processor
                       : of == OF_ARITHMETIC ? r->arithmetic
                                             : r->opt_version;
    return text != NULL ? text : "?";
}

/* Does a run that counts use this environment or optimizer? `name` NULL: any. */
static int belongs(const ds_result *r, int of, const char *name)
{
    return ds_result_counts(r) && (name == NULL || strcmp(of == OF_ENV ? r->env : r->opt, name) == 0);
}

/* The distinct versions among the runs. */
static void put_versions_of(FILE *f, const ds_report *r, int of, const char *name)
{
    const ds_result *last = NULL;
    for (size_t i = 0; i < r->results.count; i++) {
        const ds_result *run = &r->results.item[i];
        int known = !belongs(run, of, name);
        for (size_t j = 0; j < i && !known; j++) {
            known = belongs(&r->results.item[j], of, name) &&
                    strcmp(version_of(&r->results.item[j], of), version_of(run, of)) == 0;
        }
        if (!known) {
            fputs(last != NULL ? ", " : "", f);
            ds_html_text(f, version_of(run, of));
            last = run;
        }
    }
}

/* The last run in a folder, which names the plugin. */
static const ds_result *record_of(const ds_report *r, int of, const char *name)
{
    const ds_result *last = NULL;
    for (size_t i = 0; i < r->results.count; i++) {
        const ds_result *run = &r->results.item[i];
        last = run->table == NULL && belongs(run, of, name) ? run : last;
    }
    return last;
}

static void put_version_row(FILE *f, const ds_report *r, int of, const char *name)
{
    fputs("<tr>", f);
    ds_html_element(f, "td", name);
    fputs(of == OF_ENV ? "<td>environment</td><td>" : "<td>optimizer</td><td>", f);
    put_versions_of(f, r, of, name);
    const ds_result *run = record_of(r, of, name);
    const char *plugin = run == NULL ? NULL : of == OF_ENV ? run->env_id : run->opt_id;
    fputs("</td>", f);
    ds_html_element(f, "td", plugin != NULL ? plugin : "?");
    fputs("</tr>\n", f);
}

void ds_report_put_versions(FILE *f, const ds_report *r, int any_version)
{
    fputs("<h2 id=versions>Versions</h2>\n<p>The runs were made by dshost ", f);
    put_versions_of(f, r, OF_HOST, NULL);
    fputs(", this page by dshost " PACKAGE_VERSION ". Processor: ", f);
    put_versions_of(f, r, OF_PROCESSOR, NULL);
    fputs(". Arithmetic, on which the last digits depend: ", f);
    put_versions_of(f, r, OF_ARITHMETIC, NULL);
    fputs(any_version ? ". Runs on different versions of an environment are treated as one.</p>\n"
                      : ".</p>\n",
          f);
    ds_html_table(f, "t", "versions", "");
    fputs("<tr><th scope=col>name<th scope=col>kind<th scope=col>version<th scope=col>plugin</tr>\n", f);
    for (size_t i = 0; i < r->envs; i++) {
        put_version_row(f, r, OF_ENV, r->env[i].name);
    }
    for (size_t k = 0; k < r->opts; k++) {
        put_version_row(f, r, OF_OPT, r->opt[k].name);
    }
    ds_html_table_end(f);
}

/* ---- runs of tables ---- */

size_t ds_report_rows(const ds_report *r)
{
    size_t rows = 0;
    for (size_t i = 0; i < r->envs; i++) {
        rows += r->env[i].rows;
    }
    return rows;
}

static size_t rows_of(const ds_report_cell *c, const char *table)
{
    size_t rows = 0;
    for (size_t j = 0; j < c->runs; j++) {
        rows += c->run[j].result->table != NULL && strcmp(c->run[j].result->table, table) == 0;
    }
    return rows;
}

/* Contents of a table for an environment: "bo 10, cmaes 10". */
static void put_rows_of(FILE *f, const ds_report *r, size_t env, const char *table)
{
    const char *between = "<td>";
    for (size_t j = 0; j < r->opts; j++) {
        const size_t rows = rows_of(ds_report_at(r, env, r->order[j]), table);
        if (rows == 0) {
            continue;
        }
        if (between[0] == '<') {
            fputs("<tr>", f);
            ds_html_element(f, "td", table);
            ds_html_element(f, "td", r->env[env].name);
        }
        fputs(between, f);
        ds_html_text(f, r->opt[r->order[j]].name);
        fprintf(f, " %zu", rows);
        between = ", ";
    }
    fputs(between[0] != '<' ? "</td></tr>\n" : "", f);
}

/* Is it the first run of its table that counts? */
static size_t is_first(const ds_run_results *all, size_t i)
{
    size_t first = all->item[i].table != NULL && ds_result_counts(&all->item[i]);
    for (size_t j = 0; first && j < i; j++) {
        const ds_result *other = &all->item[j];
        first =
            other->table == NULL || !ds_result_counts(other) || strcmp(other->table, all->item[i].table) != 0;
    }
    return first;
}

void ds_report_put_sources(FILE *f, const ds_report *r, int any_version)
{
    const ds_run_results *all = &r->results;
    const size_t rows = ds_report_rows(r);
    if (rows == 0) {
        return;
    }
    fprintf(f,
            "<h2 id=tables>Runs of tables: %zu</h2>\n<p class=s>For these runs only the end and the cost are "
            "known, not the curve, the best point or the settings. Runs with the same names are taken for "
            "the same environment and optimizer, unless %s differ. Curves, areas, expected costs, data "
            "profiles and metrics leave out optimizers with such runs; episodes come from runs with a "
            "record. A run that is also in a folder counts once, as that of the folder.</p>\n",
            rows,
            any_version ? "numbers of variables or versions of an optimizer"
                        : "versions or numbers of variables");
    ds_html_table(f, "t", "runs of tables", "");
    fputs("<thead><tr><th scope=col>table<th scope=col>environment<th scope=col>runs</tr></thead>\n", f);
    for (size_t i = 0; i < all->count; i++) {
        for (size_t k = 0, of_table = is_first(all, i); of_table && k < r->envs; k++) {
            put_rows_of(f, r, k, all->item[i].table);
        }
    }
    ds_html_table_end(f);
}

/* ---- settings ---- */

/* Leaves out what differs between runs, or is shown elsewhere. */
static int is_shown(int section, const char *key)
{
    return section != DS_SECTION_RUN ||
           (strcmp(key, "seed") != 0 && strcmp(key, "env") != 0 && strcmp(key, "opt") != 0);
}

static int same_settings(const ds_result *a, const ds_result *b, int section)
{
    const ds_section *x = &a->settings.section[section], *y = &b->settings.section[section];
    size_t shown[2] = {0, 0};
    for (size_t i = 0; i < x->count; i++) {
        const ds_setting *other = ds_settings_find(&b->settings, section, x->item[i].key);
        if (is_shown(section, x->item[i].key)) {
            shown[0]++;
            if (other == NULL || strcmp(other->value, x->item[i].value) != 0) {
                return 0;
            }
        }
    }
    for (size_t i = 0; i < y->count; i++) {
        shown[1] += (size_t)is_shown(section, y->item[i].key);
    }
    return shown[0] == shown[1];
}

/* The first run with settings. */
static const ds_result *first_run(const ds_report_cell *c)
{
    for (size_t j = 0; j < c->runs; j++) {
        if (c->run[j].result->table == NULL) {
            return c->run[j].result;
        }
    }
    return NULL;
}

static void put_section(FILE *f, const ds_result *run, int section)
{
    const ds_section *s = &run->settings.section[section];
    fprintf(f, "<pre>[%s]\n", ds_section_names[section]);
    for (size_t i = 0; i < s->count; i++) {
        if (is_shown(section, s->item[i].key)) {
            ds_html_text(f, s->item[i].key);
            fputs(" = ", f);
            ds_html_text(f, s->item[i].value);
            fputc('\n', f);
        }
    }
    fputs("</pre>\n", f);
}

/* What a set of settings was used on. */
static void put_place(FILE *f, const ds_result *run, int section)
{
    ds_html_text(f, section == DS_SECTION_ENV ? run->opt : run->env);
    if (section == DS_SECTION_RUN) {
        fputs(" with ", f);
        ds_html_text(f, run->opt);
    }
}

/* A heading, and each distinct set of settings of `count` cells with stride `step`. */
static void put_distinct(FILE *f, const ds_report *r, const char *name, int section, size_t first,
                         size_t count, size_t step)
{
    size_t sets = 0;
    for (size_t i = 0; i < count; i++) {
        const ds_result *run = first_run(&r->cell[first + i * step]);
        int known = run == NULL;
        for (size_t j = 0; j < i && !known; j++) {
            const ds_result *other = first_run(&r->cell[first + j * step]);
            known = other != NULL && same_settings(run, other, section);
        }
        if (known) {
            continue;
        }
        if (sets++ == 0) {
            ds_html_element(f, "h3", name);
        }
        size_t alike = 0;
        for (size_t j = 0; j < count; j++) {
            const ds_result *other = first_run(&r->cell[first + j * step]);
            alike += other == NULL || same_settings(run, other, section);
        }
        if (alike < count) { /* name them */
            const char *comma = "";
            fputs("<p class=s>", f);
            for (size_t j = 0; j < count; j++) {
                const ds_result *other = first_run(&r->cell[first + j * step]);
                if (other != NULL && same_settings(run, other, section)) {
                    fputs(comma, f);
                    put_place(f, other, section);
                    comma = ", ";
                }
            }
            fputs(":</p>\n", f);
        }
        put_section(f, run, section);
    }
}

void ds_report_put_settings(FILE *f, const ds_report *r)
{
    fputs("<h2 id=settings>Settings</h2>\n<p class=s>The folder of every run (<a "
          "href=\"runs.csv\">runs.csv</a>) has a run.ini with all settings; <code>dshost run --config "
          "run.ini</code> repeats the run. Settings that differ are listed with what they were used on.",
          f);
    fputs(ds_report_rows(r) > 0
              ? " Those of <a href=\"#tables\">runs of tables</a> are not known.</p>\n<div class=k>\n"
              : "</p>\n<div class=k>\n",
          f);
    for (size_t i = 0; i < r->envs; i++) {
        put_distinct(f, r, r->env[i].name, DS_SECTION_ENV, i * r->opts, r->opts, 1);
    }
    for (size_t k = 0; k < r->opts; k++) {
        put_distinct(f, r, r->opt[k].name, DS_SECTION_OPT, k, r->envs, r->opts);
    }
    put_distinct(f, r, "All runs", DS_SECTION_RUN, 0, r->envs * r->opts, 1);
    fputs("</div>\n", f);
}
