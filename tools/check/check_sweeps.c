/* SPDX-License-Identifier: Apache-2.0 */
/* check_sweeps.c - conformance of the derivatives of stepwise control: backward sweeps give the gradient of
 * evaluate() and of any sum of rewards and observations, are linear, and leave no trace. */
#include "config.h"

#include <diffsim/ext/draft/steps_gradient.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plugin_memory.h"
#include "check/check_items.h"
#include "check/check_steps.h"
#include "check/check_tests.h"
#include "difference/finite_difference.h"

enum { KEY = 5 }; /* noise key of all episodes */
/* Comparisons with differences at one point, in addition to the first two. */
static const double TRIALS_SECONDS = 4;

static int play(ds_check_steps *b, ds_check_episode *ep)
{
    return ds_check_steps_play(b, KEY, b->info.horizon, ep);
}

/* Reads the table of derivatives, converted to our size; 0 if there is none or it is invalid (recorded). */
static int open_gradient(const ds_check_steps *b, ds_env_steps_gradient *own)
{
    ds_error e;
    const ds_env_steps_gradient *theirs = ds_check_extension(&b->env, DS_EXT_STEPS_GRADIENT);
    if (theirs == NULL) {
        ds_check_skip(b->c, "this environment offers no derivatives of stepwise control");
        return 0;
    }
    if (DS_SIZED_READ(own, theirs, DS_ENV_STEPS_GRADIENT_SIZE_1_0, "", "the table of " DS_EXT_STEPS_GRADIENT,
                      &e) != 0) {
        ds_check_fail(b->c, "%s", e.text);
        return 0;
    }
    if (own->back == NULL) {
        ds_check_fail(b->c, "a function of " DS_EXT_STEPS_GRADIENT " is NULL: fill all of the table");
        return 0;
    }
    return 1;
}

/* Is everything that back() wrote finite? */
static int check_adjoint(const ds_check_steps *b, uint64_t step, const double *bar)
{
    for (uint64_t i = 0; i < b->info.n_act; i++) {
        if (!isfinite(bar[i])) {
            ds_check_fail(b->c, "step %llu backwards: number %llu of the adjoint of the action is %s",
                          (unsigned long long)step, (unsigned long long)i,
                          ds_check_is_poison(bar[i]) ? "not written" : "not finite");
            ds_check_hint(b->c, "write all n_act numbers; action and observation are invalid after step() "
                                "has returned: copy what a sweep needs");
            return 0;
        }
    }
    return 1;
}

/* Adjoints of a sweep: `rewards` at every step, or numbers that depend on the step and the seed, times
 * factor[] if given, for the step `only` (NEVER = all). */
typedef struct adjoints {
    double rewards;   /* if seed[0] is 0 */
    uint64_t seed[2]; /* sums of two sets of numbers; 0 = none */
    double factor[2];
    uint64_t step; /* with `single`: all others are 0 */
    int single, no_rewards, no_observations;
} adjoints;

static double reward_adjoint(const adjoints *a, uint64_t t)
{
    double sum = a->seed[0] == 0 ? a->rewards : 0;
    for (int k = 0; k < 2 && a->seed[0] != 0; k++) {
        sum += a->seed[k] != 0 ? a->factor[k] * ds_check_number(a->seed[k], 1, t) : 0;
    }
    return a->no_rewards || (a->single && t != a->step) ? 0 : sum;
}

static double observation_adjoint(const adjoints *a, uint64_t t, uint64_t i)
{
    double sum = 0;
    for (int k = 0; k < 2; k++) {
        sum += a->seed[k] != 0 ? a->factor[k] * ds_check_number(a->seed[k], 2 + t, i) : 0;
    }
    return a->no_observations || (a->single && t != a->step) ? 0 : sum;
}

/* Goes back from after step `last` to step `stop`; `out` has n numbers, and those of other steps are left
 * alone. 0 after recording a breach. */
static int sweep(const ds_check_steps *b, const ds_env_steps_gradient *g, uint64_t last, uint64_t stop,
                 const adjoints *a, double *out)
{
    const uint64_t m = b->info.n_act, n_obs = b->info.n_obs;
    double *bar = malloc(n_obs * sizeof *bar);
    ds_status st = bar == NULL ? DS_E_NOMEM : DS_OK;
    int sound = 1;
    for (uint64_t t = last; sound && st == DS_OK && t-- > stop;) {
        ds_back io = {.step = t,
                      .begins = t + 1 == last,
                      .reward_bar = reward_adjoint(a, t),
                      .obs_bar = bar,
                      .action_bar = out + t * m};
        for (uint64_t i = 0; i < n_obs; i++) {
            bar[i] = observation_adjoint(a, t, i);
        }
        for (uint64_t i = 0; i < m; i++) {
            io.action_bar[i] = ds_check_poison();
        }
        st = ds_back_call(g, b->env.self, 0, &io);
        sound = st != DS_OK || check_adjoint(b, t, io.action_bar);
    }
    free(bar);
    if (st != DS_OK) {
        ds_check_fail(b->c, "a sweep over steps %llu to %llu returned %s: %.200s", (unsigned long long)stop,
                      (unsigned long long)last - 1, ds_status_name(st), b->env.h.error_text);
    }
    return sound && st == DS_OK;
}

static double distance_of(uint64_t n, const double *v, const double *w)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        double d = v[i] - (w != NULL ? w[i] : 0);
        sum += d * d;
    }
    return sqrt(sum);
}

/* Backward rewards must give the gradient of evaluate(). */
static void compare_with_gradient(ds_check_steps *b, const ds_env_steps_gradient *g, double *swept,
                                  double *grad)
{
    ds_check_result a;
    ds_check_episode ep;
    if (!play(b, &ep) || ep.outcome != DS_EVAL_OK) {
        return;
    }
    const adjoints rewards = {.rewards = -1};
    if (!sweep(b, g, ep.steps, 0, &rewards, swept)) {
        return;
    }
    const uint64_t taken = ep.steps * b->info.n_act;
    ds_check_evaluate(&b->env, b->x, DS_WANT_GRAD, 5, grad, &a);
    double size = distance_of(taken, grad, NULL), off = distance_of(taken, swept, grad);
    if (a.io.outcome == DS_EVAL_OK && a.io.grad_kind != DS_GRAD_NONE && !(off <= 1e-6 * size + 1e-12)) {
        ds_check_fail(b->c,
                      "a sweep over %llu steps differs from the gradient of evaluate() by %.3g of its length",
                      (unsigned long long)ep.steps, off / (size > 0 ? size : 1));
        ds_check_hint(b->c,
                      "with reward_bar = -1 and obs_bar = 0 the adjoints of the actions are d loss / d x");
    }
}

/* ---- comparison with differences ---- */

/* The function that a sweep differentiates: the sum of its adjoints times rewards and observations. */
typedef struct objective {
    ds_check_steps *b;
    const ds_env_steps_gradient *g;
    const adjoints *a;
    uint64_t last, stop;
    double *swept, *d, *room; /* n values each */
} objective;

static double value_at(void *ctx, const double *x, int *failed)
{
    const objective *o = ctx;
    ds_check_steps *b = o->b;
    ds_check_episode ep;
    double sum = 0;
    memcpy(b->x, x, b->env.n * sizeof *x);
    if (!ds_check_steps_play(b, KEY, o->last, &ep) || ep.outcome != DS_EVAL_OK || ep.steps < o->last) {
        *failed = 1;
        return NAN;
    }
    for (uint64_t t = o->stop; t < o->last; t++) {
        sum += reward_adjoint(o->a, t) * b->rewards[t];
        for (uint64_t i = 0; i < b->info.n_obs; i++) {
            const double weight = observation_adjoint(o->a, t, i);
            sum += weight != 0 ? weight * b->observed[t * b->info.n_obs + i] : 0;
        }
    }
    return sum;
}

/* The slope along o->d at x from a sweep; 0 if there is none. */
static int slope_at(const objective *o, const double *x, double *slope, double *scale)
{
    ds_check_steps *b = o->b;
    const uint64_t m = b->info.n_act;
    int failed = 0;
    double sum = 0, squares = 0;
    value_at((void *)(uintptr_t)o, x, &failed);
    if (failed || !sweep(b, o->g, o->last, o->stop, o->a, o->swept)) {
        return 0;
    }
    for (uint64_t i = o->stop * m; i < o->last * m; i++) {
        sum += o->swept[i] * o->d[i];
        squares += o->swept[i] * o->d[i] * o->swept[i] * o->d[i];
    }
    *slope = sum;
    *scale = fmax(fabs(sum), sqrt(squares));
    return 1;
}

/* Does the slope itself jump next to x (difference/finite_difference.h)? */
static int on_seam(const objective *o, const double *x, double slope, double off)
{
    enum { TRIED = 6 };
    static const double BESIDE = 1e-7, PART = 0.3;
    const ds_check_env *env = &o->b->env;
    for (uint64_t k = 0; k < TRIED; k++) {
        double there = 0, scale;
        for (uint64_t i = 0; i < env->n; i++) {
            const double by = BESIDE * ds_check_number(k, 21, i) * (env->upper[i] - env->lower[i]);
            o->room[i] = fmin(fmax(x[i] + by, env->lower[i]), env->upper[i]);
        }
        if (!slope_at(o, o->room, &there, &scale) || fabs(there - slope) > PART * off) {
            return 1;
        }
    }
    return 0;
}

/* Compares a sweep at x with differences along a random direction of its actions. */
static void compare_slopes(objective *o, double *x, const char *what)
{
    static const double EXACT = 1e-5, LOST = 1e-12;
    ds_check_steps *b = o->b;
    const ds_check_env *env = &b->env;
    const uint64_t m = b->info.n_act, first = o->stop * m, count = (o->last - o->stop) * m;
    int failed = 0;
    double slope = 0, scale = 0;
    for (uint64_t i = 0; i < env->n; i++) {
        o->d[i] = i >= first && i < first + count
                      ? (2 * ds_random_uniform(&b->c->random) - 1) * (env->upper[i] - env->lower[i])
                      : 0;
    }
    if (!slope_at(o, x, &slope, &scale)) {
        return;
    }
    const double here = value_at(o, x, &failed);
    const ds_around around = {.f = value_at,
                              .ctx = o,
                              .n = env->n,
                              .x = x,
                              .lower = env->lower,
                              .upper = env->upper,
                              .f_at_x = here,
                              .noise = 2 * b->c->tolerance * fabs(here),
                              .brief = 1};
    const ds_direction along = {o->d + first, first, count};
    const ds_claim claim = {slope, fmax(EXACT, 4 * b->c->tolerance) * scale + LOST * fabs(here), scale,
                            1e-10};
    const ds_quotient q = ds_difference(&around, &along, &claim);
    if (q.verdict == DS_SLOPE_WRONG && !on_seam(o, x, slope, fabs(q.value - slope))) {
        ds_check_fail(b->c, "a sweep over steps %llu to %llu with %s gives the slope %.9g, differences %.9g",
                      (unsigned long long)o->stop, (unsigned long long)o->last - 1, what, slope, q.value);
        ds_check_hint(b->c, "every step uses its own reward_bar and obs_bar, of the observation after the "
                            "step, and adds them to the adjoint from later steps");
    }
}

/* Adjoints at every step, of one step alone, of rewards or observations alone, and windows. */
static void compare_with_differences(ds_check_steps *b, const ds_env_steps_gradient *g, double *room,
                                     uint64_t k)
{
    ds_check *c = b->c;
    ds_check_episode ep;
    double *x = room;
    objective o = {.b = b, .g = g, .swept = x + b->env.n, .d = x + 2 * b->env.n, .room = x + 3 * b->env.n};
    for (uint64_t i = 0; i < b->env.n; i++) { /* away from the bounds */
        x[i] = 0.5 * b->x[i] + 0.25 * (b->env.lower[i] + b->env.upper[i]);
    }
    memcpy(b->x, x, b->env.n * sizeof *x);
    if (!play(b, &ep) || ep.outcome != DS_EVAL_OK) {
        return;
    }
    const uint64_t steps = ep.steps, any = ds_random_u32(&c->random) % steps;
    const uint64_t last = 1 + ds_random_u32(&c->random) % steps, stop = ds_random_u32(&c->random) % last;
    const uint64_t seed = 100 + 10 * k;
    const struct {
        adjoints a;
        uint64_t last, stop;
        const char *what;
    } trial[] = {
        {{.seed = {seed}, .factor = {1}}, steps, 0, "adjoints of rewards and observations at every step"},
        {{.seed = {seed + 1}, .factor = {1}, .no_rewards = 1},
         steps,
         0,
         "adjoints of observations at every step"},
        {{.seed = {seed + 2}, .factor = {1}, .no_observations = 1}, steps, 0, "unequal adjoints of rewards"},
        {{.seed = {seed + 3}, .factor = {1}, .single = 1, .step = any, .no_rewards = 1},
         steps,
         0,
         "adjoints of the observation of one step"},
        {{.seed = {seed + 4}, .factor = {1}, .single = 1, .step = 0}, steps, 0, "adjoints of the first step"},
        {{.seed = {seed + 5}, .factor = {1}, .single = 1, .step = steps - 1, .no_rewards = 1},
         steps,
         0,
         "adjoints of the last observation"},
        {{.seed = {seed + 6}, .factor = {1}}, last, stop, "adjoints of a window"}};
    const double end = ds_check_worked() + TRIALS_SECONDS;
    for (size_t i = 0;
         i < sizeof trial / sizeof trial[0] && c->failed == 0 && (i < 2 || ds_check_worked() < end); i++) {
        o.a = &trial[i].a;
        o.last = trial[i].last;
        o.stop = trial[i].stop;
        compare_slopes(&o, x, trial[i].what);
    }
}

static void steps_gradient(ds_check *c)
{
    ds_check_steps b;
    ds_env_steps_gradient g;
    if (!ds_check_steps_open(c, &b)) {
        return;
    }
    double *room = calloc(4 * b.env.n, sizeof *room);
    b.rewards = calloc(b.info.horizon * (1 + b.info.n_obs), sizeof *b.rewards);
    b.observed = b.rewards != NULL ? b.rewards + b.info.horizon : NULL;
    if (room != NULL && b.rewards != NULL && open_gradient(&b, &g)) {
        uint64_t count =
            ds_check_plan(c, "sweeps", 3, 1, 30 * c->options->cost + 8 * c->options->cost_gradient);
        for (uint64_t k = 0; k < count && c->failed == 0; k++) {
            ds_check_random_point(c, &b.env, b.x);
            compare_with_gradient(&b, &g, room, room + b.env.n);
            if (c->failed == 0) {
                compare_with_differences(&b, &g, room, k);
            }
        }
    }
    free(b.rewards);
    free(room);
    ds_check_steps_close(&b);
}

/* ---- linearity ---- */

/* Is `sum` the sum of the other two? Else `first` is the first wrong number. */
static int adds_up(uint64_t n, const double *one, const double *two, const double *sum, uint64_t *first)
{
    static const double EXACT = 1e-6, BESIDE = 1e-9;
    double largest = 0;
    for (uint64_t i = 0; i < n; i++) {
        largest = fmax(largest, fmax(fabs(one[i]), fabs(two[i])));
    }
    for (*first = 0; *first < n; ++*first) {
        const double a = one[*first], b = two[*first];
        if (!(fabs(a + b - sum[*first]) <= EXACT * (fabs(a) + fabs(b)) + BESIDE * largest)) {
            return 0;
        }
    }
    return 1;
}

/* Sums, multiples and zeros of adjoints over one episode. */
static void sweeps_are_linear(ds_check_steps *b, const ds_env_steps_gradient *g, uint64_t steps, double *room)
{
    static const double sizes[] = {-1, 0.01, 1024, 0x1p-60, 0x1p60};
    const uint64_t taken = steps * b->info.n_act;
    double *one = room, *two = one + b->env.n, *sum = two + b->env.n;
    adjoints a = {.seed = {7, 0}, .factor = {1, 1}}, other = {.seed = {8, 0}, .factor = {1, 1}},
             both = {.seed = {7, 8}, .factor = {1, 1}}, none = {.rewards = 0};
    uint64_t i = 0;
    if (!sweep(b, g, steps, 0, &a, one) || !sweep(b, g, steps, 0, &other, two) ||
        !sweep(b, g, steps, 0, &both, sum)) {
        return;
    }
    int linear = adds_up(taken, one, two, sum, &i);
    if (!linear) {
        ds_check_fail(b->c,
                      "step %llu: the sum of the adjoints of two sweeps gives %.9g, the sweeps %.9g and %.9g",
                      (unsigned long long)(i / b->info.n_act), sum[i], one[i], two[i]);
    }
    for (size_t k = 0; linear && k < sizeof sizes / sizeof sizes[0]; k++) {
        a.factor[0] = sizes[k];
        if (!sweep(b, g, steps, 0, &a, sum)) {
            return;
        }
        memset(two, 0, taken * sizeof *two);
        for (i = 0; i < taken; i++) {
            sum[i] /= sizes[k];
        }
        linear = adds_up(taken, one, two, sum, &i);
        if (!linear) {
            ds_check_fail(b->c, "step %llu: %g times the adjoints give %g times %.9g instead of %.9g",
                          (unsigned long long)(i / b->info.n_act), sizes[k], sizes[k], sum[i], one[i]);
        }
    }
    if (linear && sweep(b, g, steps, 0, &none, sum)) {
        for (i = 0; linear && i < taken; i++) {
            linear = sum[i] == 0;
        }
        if (!linear) {
            ds_check_fail(b->c, "a sweep with adjoints of 0 gives %.9g", sum[i - 1]);
        }
    }
    if (!linear) {
        ds_check_hint(b->c, "a sweep is linear in its adjoints: use no limits, thresholds or absolute "
                            "values, and begin with an adjoint of the state of 0");
    }
}

/* ---- when a sweep is allowed ---- */

static void expect(ds_check *c, ds_status st, const char *what)
{
    if (st != DS_E_STATE) {
        ds_check_fail(c, "%s returned %s, not DS_E_STATE", what, ds_status_name(st));
        ds_check_hint(c, "a sweep begins after at most as many steps as had the outcome DS_EVAL_OK, and goes "
                         "back step by step; evaluate() ends it, and so does a step");
    }
}

static ds_status go_back(ds_check_steps *b, const ds_env_steps_gradient *g, uint64_t step, uint32_t begins,
                         double *room)
{
    ds_back io = {.step = step,
                  .begins = begins,
                  .reward_bar = -1,
                  .obs_bar = memset(b->obs, 0, b->info.n_obs * sizeof *b->obs),
                  .action_bar = room};
    return ds_back_call(g, b->env.self, 0, &io);
}

/* Calls in a wrong order, in an episode of `steps` steps at b->x. */
static void sweeps_out_of_turn(ds_check_steps *b, const ds_env_steps_gradient *g, uint64_t steps,
                               double *room)
{
    ds_check *c = b->c;
    ds_check_episode ep;
    ds_check_result a;
    const uint64_t some = steps > 3 ? 3 : steps > 2 ? 2 : 1;
    ds_step_begin_call(b->rl, b->env.self, 0, KEY, b->obs, NULL);
    expect(c, go_back(b, g, 0, 1, room), "a sweep that begins before the first step");
    if (some < steps && ds_check_steps_play(b, KEY, some, &ep)) {
        expect(c, go_back(b, g, some, 1, room), "a sweep that begins at a step not taken yet");
        if (go_back(b, g, some - 1, 1, room) == DS_OK) {
            expect(c, go_back(b, g, some - 1, 0, room), "back() over the same step twice in one sweep");
        }
        if (some > 2 && go_back(b, g, some - 1, 1, room) == DS_OK) {
            expect(c, go_back(b, g, some - 3, 0, room), "a sweep that skips a step");
        }
        if (some > 1 && go_back(b, g, some - 1, 1, room) == DS_OK) {
            ds_step io = {.action = b->x + some * b->info.n_act, .obs = b->obs};
            if (ds_step_call(b->rl, b->env.self, 0, &io) == DS_OK) {
                expect(c, go_back(b, g, some - 2, 0, room),
                       "back() that continues a sweep after another step");
            }
        }
    }
    ds_check_evaluate(&b->env, b->x, 0, 0, NULL, &a);
    expect(c, go_back(b, g, 0, 1, room), "a sweep that begins after evaluate()");
}

static void steps_sweeps(ds_check *c)
{
    ds_check_steps b;
    ds_env_steps_gradient g;
    ds_check_items s;
    ds_check_player p;
    ds_check_episode ep;
    if (!ds_check_steps_open(c, &b)) {
        return;
    }
    double *room = calloc(3 * b.env.n, sizeof *room), *out = NULL;
    if (room != NULL && open_gradient(&b, &g)) {
        expect(c, go_back(&b, &g, 0, 1, room), "a sweep that begins before the first episode");
        if (c->options->cost_gradient < 1 && c->failed == 0 && ds_check_items_open(c, &b.env, 0, 1, &s)) {
            out = malloc(s.size * sizeof *out);
            if (out != NULL && ds_check_player_open(&s, &b.env, &p)) {
                ds_check_items_play(&p, out);
                ds_check_items_agree(c, &s, out, 1);
                ds_check_player_close(&p);
            }
            free(out);
            ds_check_items_close(&s);
        }
        ds_check_random_point(c, &b.env, b.x);
        if (c->failed == 0 && play(&b, &ep)) {
            if (ep.outcome != DS_EVAL_OK) {
                memcpy(b.x, b.env.x0, b.env.n * sizeof *b.x);
            }
            if ((ep.outcome == DS_EVAL_OK || play(&b, &ep)) && ep.outcome == DS_EVAL_OK) {
                sweeps_are_linear(&b, &g, ep.steps, room);
                sweeps_out_of_turn(&b, &g, ep.steps, room);
            }
        }
    }
    free(room);
    ds_check_steps_close(&b);
}

const ds_check_test ds_check_sweep_tests[] = {
    {"steps.gradient",
     "backward steps give the gradient of evaluate(), and of any sum of rewards and observations", 0, 0, 0,
     steps_gradient},
    {"steps.sweeps", "sweeps are linear and repeatable, and change no step", 0, 0, 0, steps_sweeps},
    {NULL, NULL, 0, 0, 0, NULL}};
