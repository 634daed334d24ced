/* SPDX-License-Identifier: Apache-2.0 */
/* report_overview.c - the heat map and the tests over all environments (see report_overview.h). */
#include "config.h"

#include "report/report_overview.h"

#include <inttypes.h>
#include <math.h>

#include "page/html.h"
#include "report/report_style.h"

/* ---- all at a glance ---- */

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

/* Full: also after the correction for several tests; hollow: on its own only. */
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

/* Is its median the lowest one on the environment? */
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
            " 0 is %s, 1 the best loss that any run found there. Framed: the lowest median, and what is no "
            "farther above it than the tolerance. Against ",
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

/* ---- what can be shown ---- */

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
    fprintf(f, "<p class=m><b>Too few runs to tell optimizers apart on %s.</b> On %zu of %zu no p below ",
            r->envs > 1 ? "single environments" : "this environment", blind, tested);
    ds_html_number(f, least, 2);
    fputs(" can be reached after Holm's correction, however far apart the runs lie: there are ", f);
    put_range(f, least_runs, most_runs);
    fprintf(f, " runs of an optimizer, and it takes %zu. ", needed);
    fputs(r->envs > 1 ? "The test over all environments needs fewer: see <a href=\"#all\">below</a>.</p>\n"
                      : "</p>\n",
          f);
}

/* ---- all environments in one test ---- */

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
            "<p>Do they differ at all? Friedman's test of %zu optimizers on the %zu environments that all of "
            "them ran "
            "on: p = ",
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
    fputs(". Two of them whose mean ranks differ by less than the critical difference of ", f);
    ds_html_number(f, o->test.critical_difference, 3);
    fputs(" (Nemenyi, 5 % over all pairs) are not told apart by ranks.</p>\n", f);
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
