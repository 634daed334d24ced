/* SPDX-License-Identifier: Apache-2.0 */
/* check_search.c - conformance of run(): what an optimizer requests, that it ends, and that it is repeatable.
 */
#include "config.h"

#include <diffsim/ext/steps.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check_watch.h"
#include "harness/check_process.h"
#include "check/check_tests.h"
#include "plugin/descriptor.h"

/* A search in `n` variables, with gradients if the optimizer can use them. */
static ds_check_search make_search(const ds_check *c, int function, uint64_t n, uint64_t budget,
                                   double seconds)
{
    ds_check_search s = {
        .function = function, .n = n, .budget = budget, .seed = c->options->seed, .threads = 1};
    s.seconds = seconds;
    s.has_gradient = ds_desc_uses(c->module->plugin->desc, DS_HAS_GRADIENT);
    return s;
}

/* ---- points ---- */

static void search_points(ds_check *c)
{
    static const uint64_t sizes[] = {1, 2, 10};
    char name[64];
    uint64_t asked = 0;
    unsigned searches = 0, short_ones = 0;

    for (int function = 0; function < DS_CHECK_FUNCTIONS; function++) {
        for (unsigned k = 0; k < 3; k++) {
            ds_check_search s = make_search(c, function, sizes[k], 200, 2);
            if (!ds_desc_needs(c->module->plugin->desc, DS_HAS_GRADIENT) && (function + (int)k) % 2 == 0) {
                s.has_gradient = 0;
            }
            s.strict = 1;
            snprintf(name, sizeof name, "%s, n = %u", ds_check_function_name(function), (unsigned)sizes[k]);
            ds_check_search_run(c, name, &s);
            free(s.trace);
            if (!s.created && s.status < 0) {
                ds_check_note(c, "%s: refused: %.200s", name, s.message);
            } else if (s.created && s.status < 0) {
                ds_check_fail(c, "%s: run() returned %s: %.200s", name, ds_status_name(s.status), s.message);
            } else if (s.created && s.used == 0) {
                ds_check_fail(c, "%s: not a single point was evaluated: call objective->evaluate() in run()",
                              name);
            }
            searches += s.created != 0;
            short_ones += s.used < s.budget;
            asked += s.used;
        }
    }
    ds_check_note(c, "%" PRIu64 " points in %u searches of up to 200 evaluations or 2 s (%u ended before)",
                  asked, searches, short_ones);
    if (searches == 0) {
        ds_check_fail(c, "no search was possible");
        ds_check_hint(c, "create() refused every problem: see the notes");
    }
}

/* ---- ending ---- */

static void search_stop(ds_check *c)
{
    static const uint64_t after[] = {1, 2, 7, 23, 64, 101};
    char name[64];
    for (size_t k = 0; k < sizeof after / sizeof after[0]; k++) {
        ds_check_search s = make_search(c, DS_CHECK_RASTRIGIN, 2, 1000, 4);
        s.stop_after = after[k];
        s.strict = 1;
        snprintf(name, sizeof name, "stopped after %u evaluations", (unsigned)after[k]);
        ds_check_search_run(c, name, &s);
        free(s.trace);
        if (s.created && s.status < 0) {
            ds_check_fail(c, "%s: run() returned %s: %.200s", name, ds_status_name(s.status), s.message);
            ds_check_hint(c, "stopping is not an error: return DS_STOPPED");
        }
    }
}

static void search_interrupt(ds_check *c)
{
    const double allowed = 2;
    ds_check_search s = make_search(c, DS_CHECK_RASTRIGIN, 10, 1000000, 0);
    s.stop_at = 0.3;
    ds_check_search_run(c, "stopped after 0.3 s", &s);
    free(s.trace);
    const double on = fmin(s.wall, s.worked + s.stop_at) - s.stop_at; /* worked no longer than that */
    ds_check_note(c, "run() ended after %.2g s and %" PRIu64 " evaluations", s.wall, s.used);
    if (on > allowed) {
        ds_check_fail(c, "run() continued for %.1f s after should_stop() had become true", on);
        ds_check_hint(c, "call host->should_stop(host) inside long computations and return DS_STOPPED");
    }
}

/* ---- failures ---- */

static void search_failures(ds_check *c)
{
    static const struct {
        int failure, function;
        const char *name;
    } cases[] = {{DS_CHECK_FAIL_SOME, DS_CHECK_SPHERE, "30 % of the points fail"},
                 {DS_CHECK_FAIL_ALL, DS_CHECK_SPHERE, "every point fails"},
                 {DS_CHECK_FAIL_HUGE, DS_CHECK_SPHERE, "losses of 1e300 and -1e300"},
                 {DS_CHECK_FAIL_GRADIENT, DS_CHECK_ROSENBROCK, "30 % of the gradients are invalid"},
                 {DS_CHECK_FAIL_ZERO, DS_CHECK_SPHERE, "every gradient is zero"},
                 {DS_CHECK_FAIL_NOTHING, DS_CHECK_CONSTANT, "all losses are equal"}};
    char name[96];
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        for (uint64_t n = 2; n <= 10; n += 8) {
            ds_check_search s = make_search(c, cases[k].function, n, 150, 2);
            s.failure = cases[k].failure;
            s.strict = 1;
            snprintf(name, sizeof name, "%s, n = %u", cases[k].name, (unsigned)n);
            ds_check_search_run(c, name, &s);
            free(s.trace);
            if (s.created && s.status < 0) {
                ds_check_note(c, "%s: run() gave up after %" PRIu64 " evaluations: %.150s", name, s.used,
                              s.message);
            }
        }
    }
}

/* ---- better than chance ---- */

static double random_search(ds_check *c, uint64_t n, uint64_t count)
{
    ds_check_problem p;
    double x[DS_CHECK_MAX_N], best = INFINITY;
    ds_check_problem_make(&p, n, 0, count);
    for (uint64_t k = 0; k < count; k++) {
        for (uint64_t i = 0; i < n; i++) {
            x[i] = p.lower[i] + ds_random_uniform(&c->random) * (p.upper[i] - p.lower[i]);
        }
        best = fmin(best, ds_check_problem_value(DS_CHECK_SPHERE, n, x, NULL));
    }
    return best;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void search_better(ds_check *c)
{
    enum { N = 5, SEEDS = 3, CHANCES = 20 };
    double best[SEEDS], worst_chance = 0, median_chance[CHANCES];
    uint64_t used = 0;

    for (int k = 0; k < SEEDS; k++) {
        ds_check_search s = make_search(c, DS_CHECK_SPHERE, N, 200, 6);
        s.seed += (uint64_t)k;
        ds_check_search_run(c, "sphere, n = 5", &s);
        free(s.trace);
        if (!s.created || s.used == 0 || s.broken) {
            ds_check_skip(c, "it refuses this problem: %.200s", s.message);
            return;
        }
        best[k] = s.best;
        used = s.used > used ? s.used : used;
    }
    qsort(best, SEEDS, sizeof best[0], by_value);
    /* The limit is the worst of twenty random searches with a quarter of the evaluations, which the median of
     * three random searches exceeds once in 1e10: random search itself is an optimizer that must pass for
     * every seed. */
    for (int k = 0; k < CHANCES; k++) {
        worst_chance = fmax(worst_chance, random_search(c, N, used >= 4 ? used / 4 : 1));
        median_chance[k] = random_search(c, N, used);
    }
    qsort(median_chance, CHANCES, sizeof median_chance[0], by_value);
    ds_check_note(c, "sphere, n = 5, %" PRIu64 " evaluations: %.3g; random search %.3g", used,
                  best[SEEDS / 2], median_chance[CHANCES / 2]);
    if (best[SEEDS / 2] > worst_chance) {
        ds_check_fail(
            c,
            "the best loss on the sphere is %.4g; the worst of %d random searches with a quarter of the "
            "evaluations reaches %.4g",
            best[SEEDS / 2], CHANCES, worst_chance);
        ds_check_hint(c, "check that it minimises the loss, and that steps are scaled by upper - lower");
    }
}

/* ---- needs and uses ---- */

/* What a search requested must be among the needs and uses of its descriptor; `where` names the search. */
static void check_needs(ds_check *c, const ds_check_search *s, const char *where)
{
    const struct {
        uint64_t wanted;
        const char *id, *words;
    } wishes[] = {{s->wanted_gradient, DS_HAS_GRADIENT, "gradients"},
                  {s->wanted_residuals + s->wanted_products, DS_HAS_RESIDUALS, "residuals"},
                  {s->wanted_episodes, DS_EXT_STEPS, "episodes"}};
    for (size_t k = 0; k < sizeof wishes / sizeof wishes[0]; k++) {
        if (wishes[k].wanted > 0 && !ds_desc_uses(c->module->plugin->desc, wishes[k].id)) {
            ds_check_fail(
                c, "%s: it requests %s, but its descriptor lists \"%s\" neither in `needs` nor in `uses`",
                where, wishes[k].words, wishes[k].id);
            ds_check_hint(c, "list in `uses` what it requests with some parameters, in `needs` what it "
                             "cannot work without");
        }
    }
}

/* ---- gradients ---- */

static void search_gradient(ds_check *c)
{
    int needs = ds_desc_needs(c->module->plugin->desc, DS_HAS_GRADIENT);
    int uses = ds_desc_uses(c->module->plugin->desc, DS_HAS_GRADIENT);
    ds_check_search with = make_search(c, DS_CHECK_ROSENBROCK, 2, 200, 3), without = with;

    with.has_gradient = 1;
    without.has_gradient = 0;
    without.strict = 1; /* it must not request what the problem lacks */
    ds_check_search_run(c, "with gradient", &with);
    ds_check_search_run(c, "without gradient", &without);
    free(with.trace);
    free(without.trace);
    ds_check_note(c, "gradients requested for %" PRIu64 " of %" PRIu64 " points", with.wanted_gradient,
                  with.used);
    check_needs(c, &with, "with gradient");
    if (with.wanted_gradient == 0 && needs && with.created) {
        ds_check_fail(c, "the descriptor says that it needs gradients, but it requested none: request them, "
                         "or remove the need");
    } else if (with.wanted_gradient == 0 && uses && with.created) {
        ds_check_note(c, "the descriptor says that it uses gradients: not with these parameters");
    }
    if (needs && without.created && without.status >= 0 && without.used > 0) {
        ds_check_fail(c, "the descriptor lists \"" DS_HAS_GRADIENT "\" in `needs`, but it searches without");
        ds_check_hint(c, "refuse in create() with DS_E_UNSUPPORTED, or list it in `uses`");
    }
    if (!needs && !without.broken && (!without.created || without.status < 0)) {
        ds_check_fail(c, "it refuses a problem without gradient: %.200s", without.message);
        ds_check_hint(c, "list \"" DS_HAS_GRADIENT "\" in `needs`");
    }
}

/* ---- other parameters ---- */

/* Wall time for all searches with other parameters, for one of them, and until it is killed, seconds. */
static const double PARAMS_SECONDS = 10, PARAM_SECONDS = 0.5, PATIENCE = 4;
enum { TOGETHER = 12 /* searches with other values of all parameters */ };

/* Other values of some parameters. */
enum { AT_ONCE = 64, VALUE = 48 };
typedef struct others {
    const ds_param *q[AT_ONCE];
    char text[AT_ONCE][VALUE];
    size_t count;
    int searched;
} others;

/* "j = 1, step = gd" */
static void name_others(const others *o, char *out, size_t size)
{
    size_t at = 0;
    for (size_t k = 0; k < o->count && at < size; k++) {
        at +=
            (size_t)snprintf(out + at, size - at, "%s%s = %s", k > 0 ? ", " : "", o->q[k]->name, o->text[k]);
    }
}

/* One short search, with everything offered or without a gradient. */
static int search_once(ds_check *c, const ds_settings *settings, const char *where, int gradient)
{
    ds_check_search s = make_search(c, DS_CHECK_ROSENBROCK, 4, 100, PARAM_SECONDS);
    s.has_gradient = gradient;
    s.residuals = gradient;
    s.strict = 1; /* no other test sees the effect of these values */
    s.settings = settings;
    ds_check_search_run(c, where, &s);
    free(s.trace);
    if (gradient) {
        check_needs(c, &s, where);
    }
    return s.created && s.used > 0;
}

static void search_others(ds_check *c, void *arg)
{
    others *o = arg;
    ds_settings settings = {0};
    ds_error e = {0};
    char where[400] = "", without[440];
    name_others(o, where, sizeof where);
    int status = ds_settings_copy(&settings, &c->options->settings, &e);
    for (size_t k = 0; status == 0 && k < o->count; k++) {
        status = ds_settings_add(&settings, DS_SECTION_OPT, o->q[k]->name, o->text[k], "check", NULL,
                                 DS_EXIT_CONFIG, 2, &e);
    }
    if (status == 0) {
        o->searched = search_once(c, &settings, where, 1);
        snprintf(without, sizeof without, "%s, without gradient", where);
        if (o->searched && !ds_desc_needs(c->module->plugin->desc, DS_HAS_GRADIENT)) {
            search_once(c, &settings, without, 0);
        }
    }
    ds_settings_clear(&settings);
}

/* 1 = it searched. A search that does not end is not judged. */
static int try_all(ds_check *c, others *o)
{
    char where[400] = "";
    name_others(o, where, sizeof where);
    if (!ds_check_limited(c, search_others, o, sizeof *o, PATIENCE)) {
        ds_check_note(c, "%s: no end within %g s", where, PATIENCE);
    }
    return o->searched;
}

static int try_other(ds_check *c, const ds_param *q, const char *text)
{
    others o = {.q = {q}, .count = 1};
    snprintf(o.text[0], VALUE, "%s", text);
    return try_all(c, &o);
}

/* Another value of a real number: twice or half of it, inside its range, or a nonzero one for 0. */
static int other_real(const ds_param *q, int larger, char text[VALUE])
{
    double value, other;
    if (q->type != DS_PARAM_REAL || !ds_parse_real(q->default_text, &value)) {
        return 0;
    }
    other = value == 0 ? (larger ? 1 : -1) : larger ? 2 * value : 0.5 * value;
    other = fmin(fmax(other, q->min), q->max);
    snprintf(text, VALUE, "%.17g", other);
    return (other < value || other > value) && isfinite(other);
}

/* Values other than the default: every choice, for an integer its neighbours and some more, for a real number
 * two. */
static unsigned try_others(ds_check *c, const ds_param *q, double end)
{
    static const int64_t steps[] = {1, 4, -1};
    char text[VALUE];
    int64_t value = 0;
    unsigned searches = 0;
    for (size_t i = 0; q->type == DS_PARAM_ENUM && q->choices[i] != NULL && ds_check_now() < end; i++) {
        if (strcmp(q->choices[i], q->default_text) != 0) {
            searches += try_other(c, q, q->choices[i]) != 0;
        }
    }
    if (q->type == DS_PARAM_BOOL) {
        searches += try_other(c, q, "true") != 0;
        searches += try_other(c, q, "false") != 0;
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && ds_check_now() < end; i++) {
        if (q->type == DS_PARAM_INT && ds_parse_int(q->default_text, &value) &&
            (double)(value + steps[i]) >= q->min && (double)(value + steps[i]) <= q->max) {
            snprintf(text, sizeof text, "%" PRId64, value + steps[i]);
            searches += try_other(c, q, text) != 0;
        }
    }
    for (int larger = 0; larger < 2 && ds_check_now() < end; larger++) {
        if (other_real(q, larger, text)) {
            searches += try_other(c, q, text) != 0;
        }
    }
    return searches;
}

/* A random other value of a parameter; 0 = none. */
static int draw_other(ds_check *c, const ds_param *q, char text[VALUE])
{
    ds_random *r = &c->random;
    size_t choices = 0;
    int64_t value;
    switch (q->type) {
    case DS_PARAM_BOOL:
        snprintf(text, VALUE, "%s", ds_random_below(r, 2) == 0 ? "false" : "true");
        return 1;
    case DS_PARAM_ENUM:
        while (q->choices[choices] != NULL) {
            choices++;
        }
        snprintf(text, VALUE, "%s", q->choices[ds_random_below(r, choices)]);
        return 1;
    case DS_PARAM_INT:
        if (!ds_parse_int(q->default_text, &value)) {
            return 0;
        }
        value += (int64_t)ds_random_below(r, 5) - 1;
        snprintf(text, VALUE, "%" PRId64, value);
        return (double)value >= q->min && (double)value <= q->max;
    default:
        return other_real(q, ds_random_below(r, 2) != 0, text);
    }
}

/* Several at once: a request for gradients may need two switches. */
static int try_together(ds_check *c)
{
    const ds_param *const *params = c->module->plugin->desc->params;
    others o = {.count = 0};
    for (size_t i = 0; params != NULL && params[i] != NULL && o.count < AT_ONCE; i++) {
        if (ds_settings_find(&c->options->settings, DS_SECTION_OPT, params[i]->name) == NULL &&
            draw_other(c, params[i], o.text[o.count])) {
            o.q[o.count++] = params[i];
        }
    }
    return o.count > 1 && try_all(c, &o);
}

static void search_params(ds_check *c)
{
    const ds_param *const *params = c->module->plugin->desc->params;
    double end = ds_check_now() + PARAMS_SECONDS;
    unsigned searches = 0, left = 0, together = 0;
    for (size_t i = 0; params != NULL && params[i] != NULL; i++) {
        uint32_t type = params[i]->type;
        if ((type == DS_PARAM_BOOL || type == DS_PARAM_ENUM || type == DS_PARAM_INT ||
             type == DS_PARAM_REAL) &&
            ds_settings_find(&c->options->settings, DS_SECTION_OPT, params[i]->name) == NULL) {
            left += ds_check_now() >= end;
            searches += try_others(c, params[i], end);
        }
    }
    end = fmax(end, ds_check_now() + PARAMS_SECONDS / 2);
    for (int k = 0; k < TOGETHER && ds_check_now() < end; k++) {
        together += try_together(c) != 0;
    }
    ds_check_note(c, "%u searches with another value of one parameter, %u with others of all", searches,
                  together);
    if (left > 0) {
        ds_check_note(c, "no time for %u parameters: set others with --set to try these", left);
    }
}

/* ---- repetition ---- */

/* The search that is repeated. */
static ds_check_search standard(const ds_check *c, uint64_t used)
{
    ds_check_search s = make_search(c, DS_CHECK_RASTRIGIN, 3, 120, used == 0 ? 5 : 0);
    s.stop_after = used;
    return s;
}

static uint64_t hash_trace(const ds_check_search *s)
{
    uint64_t h = s->used;
    for (uint64_t k = 0; k < s->used; k++) {
        h = ds_random_mix(h ^ s->trace[k]);
    }
    return h;
}

void ds_check_opt_measure(ds_check *c)
{
    ds_check_search s = standard(c, 0);
    char text[80];
    ds_check_search_run(c, "rastrigin, n = 3", &s);
    if (s.created && s.used > 0 && !s.broken) {
        snprintf(text, sizeof text, "%" PRIx64 " %" PRIx64, hash_trace(&s), s.used);
        ds_check_record(c, DS_CHECK_BITS, text);
        snprintf(text, sizeof text, "%.9g %.9g", s.worked / (double)s.used, s.worked / (double)s.used);
        ds_check_record(c, DS_CHECK_COST, text);
    }
    free(s.trace);
}

static void compare(ds_check *c, const ds_check_search *a, const ds_check_search *b, const char *what)
{
    uint64_t n = a->used < b->used ? a->used : b->used;
    for (uint64_t k = 0; k < n; k++) {
        if (a->trace[k] != b->trace[k]) {
            ds_check_fail(c, "%s: evaluation %" PRIu64 " is at another point", what, k);
            ds_check_hint(c, "use no rand(), time, addresses, uninitialised memory or static variables: take "
                             "random numbers from diffsim/helper/random.h and host->seed alone");
            return;
        }
    }
    if (a->used != b->used) {
        ds_check_fail(c, "%s: %" PRIu64 " and %" PRIu64 " evaluations", what, a->used, b->used);
    } else if (a->saved != b->saved || a->saved_hash != b->saved_hash) {
        ds_check_fail(c, "%s: it requests the same points but saves other files", what);
        ds_check_hint(c, "write no times or addresses to files: a run that was killed and resumed must end "
                         "with the same files, byte for byte");
    }
}

/* ---- residuals ---- */

static void search_residuals(ds_check *c)
{
    static const int functions[] = {DS_CHECK_SPHERE, DS_CHECK_ROSENBROCK, DS_CHECK_RASTRIGIN};
    char name[96];
    uint64_t values = 0, products = 0;
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        for (int failure = DS_CHECK_FAIL_NOTHING; failure <= DS_CHECK_FAIL_ALL; failure++) {
            ds_check_search s = make_search(c, functions[k], 4, 300, 2);
            s.residuals = 1;
            s.failure = failure;
            s.strict = 1;
            snprintf(name, sizeof name, "%s with residuals%s", ds_check_function_name(functions[k]),
                     failure == DS_CHECK_FAIL_SOME  ? ", 30 % of the points fail"
                     : failure == DS_CHECK_FAIL_ALL ? ", every point fails"
                                                    : "");
            ds_check_search_run(c, name, &s);
            free(s.trace);
            if (s.created && s.status < 0) {
                ds_check_fail(c, "%s: run() returned %s: %.200s", name, ds_status_name(s.status), s.message);
            }
            values += s.wanted_residuals;
            products += s.wanted_products;
            if (s.wanted_residuals == 0) { /* the first search shows whether it uses the extension */
                ds_check_skip(c, "it does not use residuals");
                return;
            }
            if (functions[k] == DS_CHECK_SPHERE && failure == DS_CHECK_FAIL_NOTHING && !(s.best < 1e-12)) {
                ds_check_fail(c, "%s: best loss %.3g after 300 evaluations", name, s.best);
                ds_check_hint(c, "linear residuals: one step with the whole Jacobian leads to the minimum");
            }
        }
    }
    ds_check_note(c, "residuals requested at %" PRIu64 " points, products at %" PRIu64, values, products);
}

/* ---- the ends of episodes ---- */

/* A search whose episodes reach a horizon, as part of the task or as a time limit; some may end before. */
static void search_with_ends(ds_check *c, const char *name, ds_check_search *s)
{
    s->strict = 1;
    ds_check_search_run(c, name, s);
    if (s->created && s->status < 0) {
        ds_check_fail(c, "%s: run() returned %s: %.200s", name, ds_status_name(s->status), s->message);
        ds_check_hint(c, "an episode is over when `ended` is DS_STEPS_TERMINATED or DS_STEPS_TRUNCATED");
    }
}

static void search_endings(ds_check *c)
{
    if (!ds_desc_uses(c->module->plugin->desc, DS_EXT_STEPS)) {
        ds_check_skip(c, "it does not use stepwise control");
        return;
    }
    ds_check_search task = make_search(c, DS_CHECK_ROSENBROCK, 10, 150, 2), limit = task, mixed = task;
    limit.time_limit = mixed.time_limit = mixed.early_ends = 1;
    search_with_ends(c, "all episodes terminate at the horizon", &task);
    search_with_ends(c, "all episodes are truncated at the horizon", &limit);
    search_with_ends(c, "some episodes terminate, the others are truncated", &mixed);
    ds_check_note(c, "%" PRIu64 " episodes terminated, %" PRIu64 " were truncated",
                  task.terminated + mixed.terminated, limit.truncated + mixed.truncated);
    if (task.used == limit.used && c->failed == 0) {
        ds_check_note(
            c, "%s",
            hash_trace(&task) == hash_trace(&limit)
                ? "the search does not depend on which: right for methods that learn no value of a state"
                : "the search depends on which");
    }
    free(task.trace);
    free(limit.trace);
    free(mixed.trace);
}

static void search_repeat(ds_check *c)
{
    ds_check_search first = standard(c, 0), again, threads;

    ds_check_search_run(c, "rastrigin, n = 3", &first);
    if (first.created && first.used > 0 && !first.broken) {
        /* Changes the heap in between, so that dependence on addresses or old contents of memory shows. */
        void *block[16];
        for (size_t i = 0; i < 16; i++) {
            block[i] = malloc(4096 * (i + 1));
            if (block[i] != NULL) {
                memset(block[i], 0x77, 4096 * (i + 1));
            }
        }
        for (size_t i = 0; i < 16; i += 2) {
            free(block[i]);
        }
        again = standard(c, first.used);
        ds_check_search_run(c, "the same again", &again);
        compare(c, &first, &again, "the same seed again");
        free(again.trace);
        threads = standard(c, first.used);
        threads.threads = 2;
        ds_check_search_run(c, "with 2 threads", &threads);
        compare(c, &first, &threads, "with 1 and 2 threads");
        free(threads.trace);
        for (size_t i = 1; i < 16; i += 2) {
            free(block[i]);
        }
    } else if (!first.broken) {
        ds_check_fail(c, "nothing to compare: %.200s", first.message);
    }
    free(first.trace);
}

static void search_process(ds_check *c)
{
    if (!c->options->has_reference) {
        ds_check_skip(c, "nothing to compare with: the first search failed, see search.points");
        return;
    }
    ds_check_search s = standard(c, c->options->reference.grad);
    ds_check_search_run(c, "rastrigin, n = 3", &s);
    if (s.created && !s.broken && hash_trace(&s) != c->options->reference.loss) {
        ds_check_fail(c, "another process requests other points with the same seed");
        ds_check_hint(
            c, "use no time, addresses, process ids or uninitialised memory: the run could not be resumed");
    }
    free(s.trace);
}

static void search_seed(ds_check *c)
{
    ds_check_search a = standard(c, 0), b;
    ds_check_search_run(c, "rastrigin, n = 3", &a);
    b = standard(c, a.used);
    b.seed++;
    if (a.created && a.used > 0 && !a.broken) {
        ds_check_search_run(c, "another seed", &b);
        uint64_t n = a.used < b.used ? a.used : b.used, same = 0;
        for (uint64_t k = 0; k < n; k++) {
            same += a.trace[k] == b.trace[k];
        }
        if (same == n && a.used == b.used) {
            ds_check_note(c, "two seeds give the same search: fine for a method without randomness; "
                             "otherwise use host->seed");
        } else if (same > n / 2) {
            ds_check_note(c, "two seeds agree at %" PRIu64 " of %" PRIu64 " points", same, n);
        }
        free(b.trace);
    } else if (!a.broken) {
        ds_check_fail(c, "nothing to compare: %.200s", a.message);
    }
    free(a.trace);
}

/* ---- side effects ---- */

/* 0 after a breach of the contract. */
static int short_search(ds_check *c, uint32_t threads)
{
    ds_check_search s = make_search(c, DS_CHECK_SPHERE, 3, 60, 3);
    s.threads = threads;
    int made = ds_check_search_run(c, "sphere, n = 3", &s);
    free(s.trace);
    return made && !s.broken;
}

static void search_state(ds_check *c)
{
    ds_process *before = ds_process_snapshot();
    short_search(c, 1);
    short_search(c, 4);
    ds_process *after = ds_process_snapshot();
    ds_process_compare(c, before, after, "create(), run() or destroy()");
    ds_process_compare_threads(c, before, "destroy()");
    free(before);
    free(after);
}

static void search_quiet(ds_check *c)
{
    ds_capture *capture = ds_capture_start();
    short_search(c, 1);
    ds_capture_end(c, capture, "create(), run() or destroy()");
}

static void search_leak(ds_check *c)
{
    enum { ROUND = 4 };
    uint64_t heap[3];
    double seconds = 60 * c->options->cost;
    if (seconds > 2) {
        ds_check_skip(c, "a search of 60 evaluations takes %.2g s", seconds);
        return;
    }
    if (!short_search(c, 1)) {
        return;
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < ROUND && round > 0; i++) {
            short_search(c, 1);
        }
        heap[round] = ds_process_heap();
    }
    if (heap[1] >= heap[0] + 8 * ROUND && heap[2] >= heap[1] + 8 * ROUND) {
        ds_check_fail(c, "every search leaks about %llu bytes of the heap",
                      (unsigned long long)((heap[2] - heap[1]) / ROUND));
        ds_check_hint(c, "free in destroy(), and in run() also when it returns DS_STOPPED");
    }
}

static void search_speed(ds_check *c)
{
    if (!(c->options->cost > 0)) {
        ds_check_skip(c, "the first search failed, see search.points");
        return;
    }
    ds_check_note(c, "%.3g ms of its own time per evaluation (rastrigin, n = 3)", 1e3 * c->options->cost);
}

const ds_check_test ds_check_search_tests[] = {
    {"search.speed", "its own time per evaluation", 0, 0, 0, search_speed},
    {"search.points", "every point is finite and inside the box, in 1, 2 and 10 variables", 0, 0, 0,
     search_points},
    {"search.stop", "it ends when the objective says DS_STOPPED", 0, 0, 0, search_stop},
    {"search.interrupt", "it ends soon after the user requests it", 0, 0, 0, search_interrupt},
    {"search.failures", "failed points, huge and equal losses and invalid gradients do no harm", 0, 0, 0,
     search_failures},
    {"search.better", "on the sphere it is no worse than random search", 0, 0, 0, search_better},
    {"search.gradient", "it requests gradients as the descriptor says", 0, 0, 0, search_gradient},
    {"search.params", "with other parameters it requests nothing that the descriptor hides", 0, 0, 0,
     search_params},
    {"search.residuals", "if it uses residuals, it requests them correctly and gains by them", 0, 0, 0,
     search_residuals},
    {"search.endings", "if it uses stepwise control, terminated and truncated episodes are both over", 0, 0,
     0, search_endings},
    {"search.repeat", "the same seed gives the same search, bit for bit", 0, 0, 0, search_repeat},
    {"search.process", "another process makes the same search", 0, 0, 0, search_process},
    {"search.seed", "another seed gives another search", 0, 0, 0, search_seed},
    {"search.state", "a search changes nothing in the process", 0, 0, 0, search_state},
    {"search.quiet", "nothing is printed", 0, 0, 0, search_quiet},
    {"search.leak", "a search leaves no memory", DS_CHECK_ALONE, 0, 0, search_leak},
    {NULL, NULL, 0, 0, 0, NULL}};
