/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_compare.c - `dshost compare`: which of two sets of runs is better, by how much, how sure. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/json_text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "compare/compare.h"

typedef struct request {
    const char *set[2];
    int json, any_version;
    double tolerance;
} request;

static const char usage[] =
    "usage: dshost compare A B [OPTIONS]\n\n"
    "Compares the final losses of two sets of finished runs, environment by "
    "environment and over all of them, and says where\nthere are too few runs to decide. A set is a "
    "folder with runs or a RUNS.csv of dshost report, or FOLDER:OPT or\nRUNS.csv:OPT for the runs of one "
    "optimizer in it:\n\n"
    "  dshost compare results/fig2:boleap results/fig2:cmaes\n\n"
    "  --any-version  runs on different versions of an environment are not kept apart, for a change that "
    "none "
    "of them has\n"
    "                 to do with\n"
    "  --tolerance T  losses that differ by at most T are equal; by default 1e-9 of the way from the first "
    "losses to the lowest\n"
    "                 one, and what an inexact environment declares\n"
    "  --json         one object with all numbers on the standard output\n";

static int take_tolerance(void *to, const char *name, const char *value, ds_error *e)
{
    request *q = to;
    (void)name;
    return ds_tolerance_read(value, &q->tolerance, e);
}

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    const ds_flag flags[] = {{"json", .set = &q->json},
                             {"any-version", .set = &q->any_version},
                             {"tolerance", .take = take_tolerance},
                             {"help", .usage = usage},
                             {0}};
    q->tolerance = NAN;
    int rc = ds_arguments_read(argc, argv, "compare", flags, -1, q, e);
    if (rc != 0) {
        return rc;
    }
    if (argc - optind < 2) {
        return ds_fail(e, DS_EXIT_USAGE, "compare: name two sets of runs: dshost compare DIR1 DIR2");
    }
    q->set[0] = argv[optind++];
    q->set[1] = argv[optind++];
    return ds_arguments_end(argc, argv, "compare", e);
}

/* ---- words ---- */

static void say_side(const char *name, const ds_side *s)
{
    printf("  %s  %zu run%s", name, s->runs + s->repeated, s->runs + s->repeated == 1 ? "" : "s");
    if (s->repeated > 0) {
        printf(" (%zu different: the search is deterministic, and the others repeat it to the last bit; they "
               "count as one)",
               s->runs);
    }
    printf(", mean %.6g", s->mean);
    if (s->runs > 1) {
        printf(" (90 %%: %.6g to %.6g)", s->mean90.low, s->mean90.high);
    }
    printf(", median %.6g; %" PRIu64, s->median, s->least);
    if (s->most > s->least) {
        printf(" to %" PRIu64, s->most);
    }
    printf(" evaluations, %.6g simulation steps\n", s->cost_steps);
}

/* One budget, or the range of several. */
static void say_budget(char set, const ds_side *s)
{
    printf(" %c %" PRIu64, set, s->budget);
    if (s->budget_most > s->budget) {
        printf(" to %" PRIu64, s->budget_most);
    }
}

static void say_verdict(const ds_versus *v, size_t envs, size_t needed)
{
    static const char *const text[] = {"cannot be decided", "A is better", "B is better"};
    const int verdict = ds_versus_verdict(v);
    printf("\n  => %s", verdict == DS_VERSUS_OPEN ? "no significant difference" : text[verdict]);
    if (verdict == DS_VERSUS_TOO_FEW) {
        printf(": with %zu and %zu runs no p below %.2g can be reached%s; it takes %zu runs of each",
               v->a.runs, v->b.runs, v->least_p, envs > 1 ? " after the correction" : "", needed);
    }
    printf("\n");
}

static void say_env(const ds_versus *v, size_t envs, size_t needed)
{
    printf("%s%s\n", v->env,
           v->recommended ? " (noisy: mean losses of the recommended points over fixed noise keys)" : "");
    say_side("A", &v->a);
    say_side("B", &v->b);
    if (isfinite(v->difference)) {
        printf("  B - A = %.6g", v->difference);
        if (isfinite(v->difference95.low)) {
            printf(" (95 %%: %.6g to %.6g)", v->difference95.low, v->difference95.high);
        }
        printf("\n");
    }
    printf("  a run of A ends below one of B with probability %.3f", v->test.a12);
    if (v->a.runs > 1 && v->b.runs > 1) {
        printf(" (95 %%: %.3f to %.3f)", v->a12_95.low, v->a12_95.high);
    }
    printf("; Mann-Whitney p = %.3g", v->test.p);
    if (envs > 1) {
        printf(", %.3g after Holm's correction", v->p_holm);
    }
    if (v->paired && !isnan(v->pairs.p)) {
        printf("; paired by seed (Wilcoxon) p = %.3g", v->pairs.p);
    }
    if (v->tolerance > 0) {
        printf("; losses that differ by at most %.2g are equal", v->tolerance);
    }
    if (!v->same_budget) {
        printf("\n  different budgets:");
        say_budget('A', &v->a);
        printf(",");
        say_budget('B', &v->b);
        printf(" evaluations: more of them alone find lower losses");
    }
    say_verdict(v, envs, needed);
}

static void say_all(const request *q, const ds_comparison *c)
{
    printf("A = %s\nB = %s\n\n", q->set[0], q->set[1]);
    for (size_t i = 0; i < c->count; i++) {
        say_env(&c->item[i], c->count, c->runs_needed);
    }
    if (c->count > 1) {
        size_t count[3] = {0, 0, 0};
        for (size_t i = 0; i < c->count; i++) {
            const int verdict = ds_versus_verdict(&c->item[i]);
            count[verdict != DS_VERSUS_OPEN ? verdict : DS_VERSUS_TOO_FEW] += verdict != DS_VERSUS_OPEN;
        }
        printf("\nover %zu environments: A is significantly better on %zu, B on %zu; a run of A ends below "
               "one of B with probability %.3f",
               c->count, count[DS_VERSUS_A], count[DS_VERSUS_B], c->improvement);
        if (isfinite(c->improvement95.low)) {
            printf(" (95 %%: %.3f to %.3f)", c->improvement95.low, c->improvement95.high);
        }
        printf("; all environments in one test (van Elteren) p = %.3g\n", c->overall.p);
        if (count[DS_VERSUS_TOO_FEW] > 0) {
            printf("on %zu of them the runs are too few for any verdict after Holm's correction: it takes "
                   "%zu runs of each set on each environment\n",
                   count[DS_VERSUS_TOO_FEW], c->runs_needed);
        }
        printf("=> %s\n", !(c->overall.p < 0.05) ? c->overall.least_p < 0.05
                                                       ? "over all environments: no significant difference"
                                                       : "over all environments: too few runs to decide"
                          : c->overall.a12 > 0.5 ? "over all environments: A is better"
                                                 : "over all environments: B is better");
    }
    for (int k = 0; k < 2; k++) {
        if (c->only[k] > 0 || c->open[k] > 0) {
            printf("left out of %c: %zu environment%s that the other set lacks, %zu unfinished run%s\n",
                   'A' + k, c->only[k], c->only[k] == 1 ? "" : "s", c->open[k], c->open[k] == 1 ? "" : "s");
        }
    }
}

/* ---- JSON ---- */

static json_t *interval(ds_interval i)
{
    const double ends[2] = {i.low, i.high};
    return ds_json_reals(ends, 2);
}

static json_t *counts(uint64_t first, uint64_t second)
{
    return json_pack("[I, I]", (json_int_t)first, (json_int_t)second);
}

static json_t *side(const ds_side *s)
{
    json_t *o = json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "runs",
                          (json_int_t)(s->runs + s->repeated), "samples", (json_int_t)s->runs, "values",
                          ds_json_reals(s->value, s->runs), "mean", ds_json_real(s->mean), "mean90",
                          interval(s->mean90), "median", ds_json_real(s->median), "evaluations",
                          counts(s->least, s->most), "budget", counts(s->budget, s->budget_most),
                          "cost_steps", ds_json_real(s->cost_steps));
    return o;
}

static json_t *object(const request *q, const ds_comparison *c)
{
    static const char *const verdict[] = {"none", "too few runs", "a", "b"};
    json_t *o = json_object(), *envs = json_array();
    json_object_set_new(o, "a", ds_json_text(q->set[0]));
    json_object_set_new(o, "b", ds_json_text(q->set[1]));
    for (size_t i = 0; i < c->count; i++) {
        const ds_versus *v = &c->item[i];
        json_t *env =
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:b, s:o, s:b, s:o}",
                      "env", ds_json_text(v->env), "a", side(&v->a), "b", side(&v->b), "difference",
                      ds_json_real(v->difference), "difference95", interval(v->difference95), "u",
                      ds_json_real(v->test.u), "a12", ds_json_real(v->test.a12), "a12_95",
                      interval(v->a12_95), "p", ds_json_real(v->test.p), "exact", v->test.exact, "p_holm",
                      ds_json_real(v->p_holm), "least_p_holm", ds_json_real(v->least_p), "p_paired",
                      v->paired ? ds_json_real(v->pairs.p) : json_null(), "same_budget", v->same_budget,
                      "verdict", json_string(verdict[1 + ds_versus_verdict(v)]), "recommended",
                      v->recommended, "tolerance", ds_json_real(v->tolerance));
        json_array_append_new(envs, env);
    }
    json_object_set_new(o, "envs", envs);
    json_object_set_new(o, "improvement", ds_json_real(c->improvement));
    json_object_set_new(o, "improvement95", interval(c->improvement95));
    json_object_set_new(o, "p_overall", ds_json_real(c->overall.p));
    json_object_set_new(o, "least_p_overall", ds_json_real(c->overall.least_p));
    json_object_set_new(o, "runs_needed", json_integer((json_int_t)c->runs_needed));
    json_object_set_new(o, "only", counts(c->only[0], c->only[1]));
    json_object_set_new(o, "open", counts(c->open[0], c->open[1]));
    return o;
}

static int command(int argc, char **argv, ds_error *e)
{
    request q = {0};
    ds_comparison c;
    int rc = parse(argc, argv, &q, e);
    rc = rc != 0 ? rc : ds_compare(q.set, q.any_version, q.tolerance, &c, e);
    if (rc == 0) {
        if (q.json) {
            json_t *o = object(&q, &c);
            rc = ds_json_write(o, stdout, "standard output", e);
            json_decref(o);
        } else {
            say_all(&q, &c);
        }
        rc = rc != 0 ? rc : ds_results_left_out(c.damaged, e);
        ds_comparison_clear(&c);
    }
    return rc;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
