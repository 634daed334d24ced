/* SPDX-License-Identifier: Apache-2.0 */
/* check_gradient.c - compares the gradient with difference quotients of the loss, whose errors are known: at
 * points in every part of the box, along random directions, and component by component as time allows. Where
 * a direction disagrees, halving it leads to the component. */
#include "config.h"

#include "check/check_gradient_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOISY = 12345 }; /* noise key of points with noise */

/* Number of random points: primes, so that their strata are spread easily. */
enum { POINTS_FEW_VARIABLES = 101, POINTS = 31, POINTS_COSTLY = 11, FEW_VARIABLES = 3, DIRECTIONS = 4 };
/* Points whose gradient is only requested, not compared, and the time for them, seconds. */
enum { HOLE_POINTS = 400 };
static const double SECONDS_HOLES = 1.5;
enum {
    SEARCHES = 3,
    TRIES = 30 /* to find the component of a wrong direction */,
    WRONG_AT_POINT = 40,
    WRONG_POINTS = 3
};

/* Time for all quotients: SECONDS_LEAST, or the time of EVALUATIONS evaluations, but at most SECONDS_MOST. */
static const double SECONDS_LEAST = 4, SECONDS_MOST = 12, EVALUATIONS = 400;
/* Time for all components of one point if there would be none otherwise; and for some of them if all take
 * longer. */
static const double SECONDS_POINT = 10, SECONDS_SOME = 3;
/* Evaluations of a quotient that settles at once, and of one that does not; an evaluation above COSTLY
 * seconds makes comparisons brief. */
static const double QUICK = 4, MOST = 50, COSTLY = 0.1;

/* The agreeing components that are off most are compared again. They are wrong if they are off by many times
 * what nine tenths of the others are, and by more than a least part of themselves; if that is not below the
 * limit for faults, nothing follows. */
enum { DOUBTS = 4 };
static const double LEARNT = 30, LEARNT_LEAST = 2e-9, LEARNT_MOST = 5e-7;

typedef struct doubt {
    uint64_t i;
    double excess;
} doubt;

typedef struct work {
    ds_check *c;
    ds_check_env *env;
    double *x, *grad, *again; /* a point, its gradient, and scratch for two more */
    double *d;
    double *excess;       /* per component */
    unsigned char *wrong; /* per component */
    unsigned char *bad;   /* something was wrong at this point */
    ds_gradient_claim claim;
    ds_around around;
    ds_gradient_seen *seen;
    unsigned randoms, points;
    unsigned point, searches;
    unsigned tries;    /* searches, successful or not */
    double begin, end; /* time limit */
    double typical;    /* seconds per evaluation, measured here */
    uint64_t key;
    uint64_t noise; /* noise key of the point */
    int stochastic;
} work;

/* ---- points ---- */

/* Point k in the order of comparison, which alternates random and special points. */
static unsigned in_order(const work *w, unsigned k)
{
    static const unsigned specials[DS_AT_SPECIALS] = {
        DS_AT_START,      DS_AT_CORNER,     DS_AT_NEAR_CORNER,  DS_AT_UPPER,        DS_AT_LOWER, DS_AT_FACES,
        DS_AT_NEAR_UPPER, DS_AT_NEAR_LOWER, DS_AT_NEAR_UPPER_2, DS_AT_NEAR_LOWER_2, DS_AT_CENTRE};
    unsigned turns = DS_AT_SPECIALS < w->randoms ? DS_AT_SPECIALS : w->randoms;
    if (k < 2 * turns) {
        return k % 2 == 0 ? DS_AT_SPECIALS + k / 2 : specials[k / 2];
    }
    return w->randoms > DS_AT_SPECIALS ? DS_AT_SPECIALS + k - turns : specials[k - turns];
}

/* Distance from a bound, as a part of the range: alternating between up to a tenth and down to 1e-4. */
static double distance(double u, int close)
{
    return close ? 1e-4 * exp(u * log(1e2)) : 0.01 + 0.07 * u;
}

/* A Latin hypercube: each variable is once in each part of its range. The same every time. */
static double relative(const work *w, unsigned point, uint64_t i, ds_random *r)
{
    double u = 0.001 + 0.998 * ds_random_uniform(r); /* with room on both sides */
    int up = u > 0.5;
    uint64_t h = ds_random_mix(w->key ^ ds_random_mix(i)), p = w->randoms;
    switch (point) {
    case DS_AT_CENTRE:
        return 0.5;
    case DS_AT_LOWER:
    case DS_AT_UPPER:
        return point == DS_AT_UPPER;
    case DS_AT_CORNER:
        return up;
    case DS_AT_FACES:
        return u < 0.25 ? 0 : u > 0.75 ? 1 : 2 * (u - 0.25);
    case DS_AT_NEAR_LOWER:
    case DS_AT_NEAR_LOWER_2:
        return distance(u, (h & 1) != (point == DS_AT_NEAR_LOWER));
    case DS_AT_NEAR_UPPER:
    case DS_AT_NEAR_UPPER_2:
        return 1 - distance(u, (h & 1) != (point == DS_AT_NEAR_UPPER));
    case DS_AT_NEAR_CORNER:
        return up ? 1 - distance(2 * (u - 0.5), h & 1) : distance(2 * u, h & 1);
    default: /* multiples modulo a prime form a permutation */
        return ((double)(((1 + h % (p - 1)) * (point - DS_AT_SPECIALS) + (h >> 32)) % p) + u) / (double)p;
    }
}

static void make_point(work *w, unsigned point)
{
    const ds_check_env *env = w->env;
    ds_random r = ds_random_open(w->key, "point", point);
    if (point == DS_AT_START) {
        memcpy(w->x, env->x0, env->n * sizeof *w->x);
        return;
    }
    for (uint64_t i = 0; i < env->n; i++) {
        double u = relative(w, point, i, &r);
        double x = u >= 1 ? env->upper[i] : env->lower[i] + u * (env->upper[i] - env->lower[i]);
        w->x[i] = fmin(fmax(x, env->lower[i]), env->upper[i]);
    }
}

/* Every other random point has noise if the environment has any, since runs have noise everywhere. */
static uint64_t noise_at(const work *w, unsigned point)
{
    return w->stochastic && point >= DS_AT_SPECIALS && (point - DS_AT_SPECIALS) % 2 != 0 ? NOISY : 0;
}

/* ---- evaluations ---- */

static double loss_at(void *ctx, const double *x, int *failed)
{
    work *w = ctx;
    ds_check_result a;
    ds_check_evaluate(w->env, x, 0, w->noise, NULL, &a);
    w->typical += 0.1 * (a.seconds - w->typical);
    if (a.status != DS_OK || a.io.outcome > DS_EVAL_BAD_GRAD || !isfinite(a.io.loss)) {
        *failed = 1;
        return NAN;
    }
    return a.io.loss;
}

static int gradient_at(void *ctx, const double *x, double *grad)
{
    work *w = ctx;
    ds_check_result a;
    ds_check_evaluate(w->env, x, DS_WANT_GRAD, w->noise, grad, &a);
    return a.status == DS_OK && a.io.outcome == DS_EVAL_OK;
}

/* Is there time for one more quotient, even one that takes all steps? */
static int time_left(const work *w, double end)
{
    double now = ds_check_worked();
    return now < end && now + MOST * w->typical < w->begin + 0.9 * w->c->options->timeout;
}

static double *copy(const double *x, uint64_t n)
{
    double *own = malloc(n * sizeof *own);
    return own != NULL ? memcpy(own, x, n * sizeof *own) : NULL;
}

/* Counts whether a point has a loss, and a gradient with it. */
static void count_hole(work *w, const ds_check_result *a, uint64_t wild)
{
    ds_gradient_seen *g = w->seen;
    const uint64_t n = w->env->n;
    if (a->status != DS_OK || a->io.outcome > DS_EVAL_BAD_GRAD || !isfinite(a->io.loss)) {
        return;
    }
    g->with_loss++;
    if (a->io.outcome == DS_EVAL_OK && wild == n) {
        return;
    }
    g->missing++;
    if (a->io.outcome == DS_EVAL_OK && g->wild++ == 0) {
        g->wild_component = wild;
        g->wild_x = copy(w->x, n);
    }
    if (a->io.outcome == DS_EVAL_BAD_GRAD && g->holes++ == 0) {
        g->hole_x = copy(w->x, n);
        g->hole_noise = w->noise;
    }
}

/* Computes the gradient at a point and its claims; `counted` = for the first time. 0 if there is none. */
static int visit(work *w, unsigned point, int counted)
{
    ds_gradient_seen *g = w->seen;
    const ds_check_env *env = w->env;
    ds_check_result a;
    int failed = 0;
    uint64_t n = env->n;
    make_point(w, point);
    w->noise = noise_at(w, point);
    ds_check_evaluate(w->env, w->x, DS_WANT_GRAD, w->noise, w->grad, &a);
    uint64_t wild = ds_first_not_finite(n, w->grad);
    double loss = loss_at(w, w->x, &failed);
    w->point = point;
    if (counted) {
        count_hole(w, &a, wild);
    }
    if (a.status != DS_OK || a.io.outcome != DS_EVAL_OK || wild < n || failed) {
        g->failed += counted != 0;
        memset(w->grad, 0, n * sizeof *w->grad);
        return 0;
    }
    w->claim = ds_gradient_claim_make(n, w->grad, env->lower, env->upper, a.io.grad_kind, w->c->tolerance);
    w->around = (ds_around){loss_at,
                            w,
                            n,
                            w->x,
                            env->lower,
                            env->upper,
                            loss,
                            2 * w->c->tolerance * fabs(loss),
                            w->typical > COSTLY};
    g->kind = a.io.grad_kind;
    g->single &= w->claim.single;
    if (counted) {
        g->points++;
        g->zero += w->claim.scale == 0;
    }
    return 1;
}

/* ---- records ---- */

static void count_wrong(work *w)
{
    w->seen->wrong_points += !w->bad[w->point];
    w->seen->noisy_wrong += !w->bad[w->point] && w->noise != 0;
    w->bad[w->point] = 1;
}

static void count(work *w, ds_gradient_tally *t, const ds_quotient *q, double seen)
{
    ds_gradient_seen *g = w->seen;
    t->count[q->verdict]++;
    if (q->verdict == DS_SLOPE_AGREES && g->seens < DS_SEEN) {
        g->seen[g->seens++] = seen;
        g->longest = fmax(g->longest, w->claim.scale);
    }
    if (q->verdict == DS_SLOPE_WRONG) {
        count_wrong(w);
    }
}

/* Does a second request give another gradient? */
static int changes(work *w)
{
    ds_check_result a;
    uint64_t n = w->env->n, i = 0;
    ds_check_evaluate(w->env, w->x, DS_WANT_GRAD, w->noise, w->again, &a);
    while (i < n && fabs(w->again[i] - w->grad[i]) * (w->env->upper[i] - w->env->lower[i]) <=
                        2 * w->c->tolerance * w->claim.scale) {
        i++;
    }
    return i < n;
}

/* Is the quotient along a direction, `off` more than the gradient, an error of it, and not a seam? */
static int stands(work *w, const ds_direction *along, double off)
{
    const ds_seam_test beside = {&w->around, &w->claim, gradient_at, w->again, w->key};
    const int seam = ds_on_seam(&beside, along, off);
    if (seam == DS_SEAM_NONE || changes(w)) {
        return 1;
    }
    w->seen->seams += seam == DS_SEAM_NEAR;
    w->seen->bounds += seam == DS_SEAM_BOUND;
    return 0;
}

static void record(work *w, uint64_t first, uint64_t number, double exact, const ds_quotient *q)
{
    ds_gradient_seen *g = w->seen;
    if (number == 1) {
        if (w->wrong[first]) {
            return;
        }
        w->wrong[first] = 1;
        g->components_wrong++;
    }
    if (g->faults == 0) {
        g->fault_x = copy(w->x, w->env->n);
        g->fault_noise = w->noise;
        g->changes = changes(w);
    }
    if (g->faults < DS_FAULTS) {
        g->fault[g->faults++] =
            (ds_gradient_fault){first, number, w->point, w->noise, exact, q->value, q->spread};
    }
}

/* ---- directions ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Typical contribution of a variable; `room` has space for n numbers. */
static double typical(const work *w, double *room)
{
    uint64_t n = w->env->n;
    for (uint64_t i = 0; i < n; i++) {
        room[i] = fabs(w->grad[i]) * (w->env->upper[i] - w->env->lower[i]);
    }
    qsort(room, n, sizeof *room, by_value);
    return room[n / 4];
}

/* A direction that moves all variables by about their range, or, if `balanced`, those with a large derivative
 * by less, so that they do not hide the others; inwards at a bound. */
static void make_direction(work *w, unsigned number)
{
    const ds_check_env *env = w->env;
    ds_random r = ds_random_open(w->key, "direction", (uint64_t)w->point * DIRECTIONS + number);
    int balanced = number % 2 != 0;
    double usual = balanced ? typical(w, w->d) : 0, longest = 0;
    for (uint64_t i = 0; i < env->n; i++) {
        double width = env->upper[i] - env->lower[i], part = fabs(w->grad[i]) * width;
        double d = ds_random_normal(&r);
        d = fabs(d) < 0.1 ? copysign(0.1, d) : d;
        d *= balanced && usual > 0 && part > usual ? usual / part : 1;
        w->d[i] = w->x[i] <= env->lower[i] ? fabs(d) : w->x[i] >= env->upper[i] ? -fabs(d) : d;
        longest = fmax(longest, fabs(d));
    }
    for (uint64_t i = 0; i < env->n; i++) {
        w->d[i] *= (env->upper[i] - env->lower[i]) / longest;
    }
}

static ds_quotient difference_along(work *w, uint64_t first, uint64_t number, double *exact)
{
    const ds_direction along = {w->d + first, first, number};
    const ds_claim claim = ds_gradient_claim_along(&w->claim, &along);
    *exact = claim.slope;
    return ds_difference(&w->around, &along, &claim);
}

/* Halves a wrong direction until a component is found; 1 = found. 0: no half is wrong, so slopes do not add
 * up as for a smooth function: the point lies on a kink. -1: out of time. */
static int search(work *w, ds_quotient q, double exact)
{
    uint64_t first = 0, number = w->env->n;
    const ds_direction whole = {w->d, 0, number};
    if (!stands(w, &whole, q.value - exact)) {
        return 0;
    }
    while (number > 1) {
        if (!time_left(w, w->begin + SECONDS_MOST)) {
            record(w, first, number, exact, &q);
            return -1;
        }
        uint64_t half = number / 2;
        double one, two;
        ds_quotient a = difference_along(w, first, half, &one);
        if (a.verdict == DS_SLOPE_WRONG) {
            number = half;
            q = a;
            exact = one;
            continue;
        }
        ds_quotient b = difference_along(w, first + half, number - half, &two);
        if (b.verdict != DS_SLOPE_WRONG) {
            return 0;
        }
        first += half;
        number -= half;
        q = b;
        exact = two;
    }
    const ds_direction along = {w->d + first, first, 1};
    if (w->env->n > 1 && !stands(w, &along, q.value - exact)) {
        return 0;
    }
    q.value /= w->d[first];
    q.spread /= fabs(w->d[first]);
    record(w, first, 1, w->grad[first], &q);
    return 1;
}

static void compare_directions(work *w)
{
    for (unsigned k = 0; k < DIRECTIONS && (k == 0 || time_left(w, w->end)); k++) {
        double exact;
        make_direction(w, k);
        ds_quotient q = difference_along(w, 0, w->env->n, &exact);
        int known = w->searches == SEARCHES, found = 1;
        if (q.verdict == DS_SLOPE_WRONG && !known) {
            found = w->tries++ < TRIES ? search(w, q, exact) : 0;
            w->searches += found > 0;
            q.verdict = found == 0 ? DS_SLOPE_KINK : DS_SLOPE_WRONG;
        }
        count(w, &w->seen->directions, &q, q.seen);
        if (q.verdict == DS_SLOPE_WRONG && known) {
            return; /* that it is wrong is known: only the place is still of interest */
        }
    }
}

/* ---- errors too small to be faults by themselves ---- */

/* Relative error of a component, minus the uncertainty of the quotient. */
static double excess(const work *w, uint64_t i, const ds_quotient *q)
{
    double by = fabs(q->value - w->grad[i]) - q->spread;
    return q->verdict == DS_SLOPE_AGREES && by > 0 && w->grad[i] != 0 ? by / fabs(w->grad[i]) : 0;
}

/* Examines components that agree but are off by `excess`: if most are exact up to round-off, the few others
 * lack something; if all are off a little, an equation was solved approximately. 1 = some are wrong. */
static int recheck_small_errors(work *w, const doubt *worst, uint64_t count)
{
    ds_gradient_seen *g = w->seen;
    int wrong = 0;
    if (count < DOUBTS) {
        return 0;
    }
    qsort(w->excess, count, sizeof *w->excess, by_value);
    double exact = fmax(LEARNT_LEAST, LEARNT * w->excess[count - 1 - (count > 10 ? count / 10 : 1)]);
    if (w->claim.single || g->kind == DS_GRAD_FD || w->c->tolerance > 0 || exact > LEARNT_MOST) {
        return 0;
    }
    for (size_t k = 0; k < DOUBTS && worst[k].excess > exact && time_left(w, w->begin + SECONDS_MOST); k++) {
        uint64_t i = worst[k].i;
        double width = w->env->upper[i] - w->env->lower[i];
        const ds_direction along = {&width, i, 1};
        ds_claim claim = ds_gradient_claim_of(&w->claim, i, width);
        claim.tolerance = exact * fabs(claim.slope);
        ds_quotient q = ds_difference_component_again(&w->around, i, &claim);
        if (q.verdict == DS_SLOPE_WRONG && stands(w, &along, (q.value - w->grad[i]) * width)) {
            count_wrong(w);
            record(w, i, 1, w->grad[i], &q);
            g->small++;
            g->exact = exact;
            wrong = 1;
        }
    }
    return wrong;
}

static void doubt_it(doubt *worst, uint64_t i, double by)
{
    size_t k = DOUBTS;
    for (; k > 0 && by > worst[k - 1].excess; k--) {
        if (k < DOUBTS) {
            worst[k] = worst[k - 1];
        }
    }
    if (k < DOUBTS) {
        worst[k] = (doubt){i, by};
    }
}

/* ---- components ---- */

static uint64_t divisor(uint64_t a, uint64_t b)
{
    return b == 0 ? a : divisor(b, a % b);
}

/* Component k of an order that starts with the first and last one and is spread over the others. */
static uint64_t component_at(const work *w, uint64_t k, uint64_t stride)
{
    uint64_t n = w->env->n;
    return k < 2 || n <= 3 ? (k == 1 ? n - 1 : k == 2 ? 1 : 0) : 1 + (w->key + (k - 2) * stride) % (n - 2);
}

/* Compares all components of one point; 0 = out of time. */
static int compare_components(work *w, double end)
{
    const ds_check_env *env = w->env;
    uint64_t n = env->n, stride = (uint64_t)(0.618 * (double)n) + 1, wrong = 0;
    doubt worst[DOUBTS] = {{0, 0}};
    while (n > 3 && divisor(stride, n - 2) != 1) {
        stride++;
    }
    for (uint64_t k = 0; k < n; k++) {
        uint64_t i = component_at(w, k, stride);
        double width = env->upper[i] - env->lower[i];
        const ds_claim claim = ds_gradient_claim_of(&w->claim, i, width);
        ds_quotient q = ds_difference_component(&w->around, i, &claim);
        const ds_direction along = {&width, i, 1};
        if (q.verdict == DS_SLOPE_WRONG && !stands(w, &along, (q.value - w->grad[i]) * width)) {
            q.verdict = DS_SLOPE_KINK;
        }
        const int is_free = width > 0; /* a fixed variable has no difference quotient */
        if (is_free) {
            count(w, &w->seen->components, &q, q.seen * width);
        }
        if (q.verdict == DS_SLOPE_WRONG) {
            record(w, i, 1, w->grad[i], &q);
            wrong++;
        }
        w->excess[k] = is_free ? excess(w, i, &q) : 0;
        doubt_it(worst, i, w->excess[k]);
        if (wrong >= WRONG_AT_POINT && k + 1 < n) {
            w->seen->more = 1;
            return 1;
        }
        w->seen->whole += k + 1 == n;
        if (k + 1 == n || !time_left(w, end)) {
            return recheck_small_errors(w, worst, wrong > 0 ? 0 : k + 1) || k + 1 == n;
        }
    }
    return 1;
}

/* ---- the test ---- */

static void place(work *w, unsigned point)
{
    ds_gradient_seen *g = w->seen;
    int bounds =
        point == DS_AT_LOWER || point == DS_AT_UPPER || point == DS_AT_CORNER || point == DS_AT_FACES;
    unsigned bad = w->bad[point] != 0, good = !bad;
    g->start_wrong += point == DS_AT_START ? bad : 0;
    g->start_right += point == DS_AT_START ? good : 0;
    g->bounds_wrong += bounds ? bad : 0;
    g->bounds_right += bounds ? good : 0;
    g->inner_wrong += !bounds && point != DS_AT_START ? bad : 0;
    g->inner_right += !bounds && point != DS_AT_START ? good : 0;
}

static void compare_all(work *w)
{
    uint64_t n = w->env->n;
    double one = (double)n * QUICK * w->c->options->cost;
    unsigned char *there = w->bad + w->points; /* points that have a gradient */
    for (unsigned k = 0; k < w->points && (k == 0 || time_left(w, w->end)); k++) {
        unsigned point = in_order(w, k);
        there[point] = visit(w, point, 1) != 0;
        if (there[point] && n > 1) {
            compare_directions(w);
        }
    }
    /* However long the directions took, compares all components of at least one point, or some if all take
     * too long. */
    double end = fmax(w->end, ds_check_worked() + (one < SECONDS_POINT ? 1.5 * one : SECONDS_SOME));
    end = fmin(end, w->begin + SECONDS_MOST);
    for (unsigned k = 0, wrong = 0; k < w->points; k++) {
        unsigned point = in_order(w, k);
        uint64_t before = w->seen->components.count[DS_SLOPE_WRONG], small = w->seen->small;
        if (!there[point] || !visit(w, point, 0)) {
            continue;
        }
        int time = compare_components(w, end);
        wrong += w->seen->components.count[DS_SLOPE_WRONG] > before || w->seen->small > small;
        if (!time || (n > FEW_VARIABLES && wrong >= WRONG_POINTS)) {
            break;
        }
    }
    for (unsigned k = 0; k < w->points; k++) {
        if (there[k]) {
            place(w, k);
        }
    }
}

/* Requests gradients at more random points: quotients take so long that only few points are compared. */
static void find_holes(work *w)
{
    const ds_check_env *env = w->env;
    const double end = ds_check_worked() + SECONDS_HOLES;
    for (unsigned k = 0; k < HOLE_POINTS && time_left(w, end); k++) {
        ds_random r = ds_random_open(w->key, "hole", k);
        ds_check_result a;
        for (uint64_t i = 0; i < env->n; i++) {
            w->x[i] =
                fmin(env->lower[i] + ds_random_uniform(&r) * (env->upper[i] - env->lower[i]), env->upper[i]);
        }
        w->noise = w->stochastic && k % 2 != 0 ? NOISY : 0;
        ds_check_evaluate(w->env, w->x, DS_WANT_GRAD, w->noise, w->again, &a);
        count_hole(w, &a, ds_first_not_finite(env->n, w->again));
    }
}

static void gradient_difference(ds_check *c)
{
    const ds_check_env *env = c->env;
    uint64_t n = env->n;
    double cost = c->options->cost, each = QUICK * DIRECTIONS * cost + c->options->cost_gradient;
    ds_gradient_seen *seen = calloc(1, sizeof *seen);
    work w = {.c = c, .env = c->env, .x = c->env->x, .seen = seen};
    if (!env->has_gradient) {
        ds_check_skip(c, "no gradient with these parameters");
        free(seen);
        return;
    }
    w.randoms = n <= FEW_VARIABLES ? POINTS_FEW_VARIABLES : each < 0.05 ? POINTS : POINTS_COSTLY;
    w.stochastic = (c->module->plugin->desc->flags & DS_ENV_STOCHASTIC) != 0;
    w.points = w.randoms + DS_AT_SPECIALS;
    w.key = ((uint64_t)ds_random_u32(&c->random) << 32) | ds_random_u32(&c->random);
    w.grad = calloc(5 * n, sizeof *w.grad);
    w.wrong = calloc(n + 2 * (size_t)w.points, 1);
    w.begin = ds_check_worked();
    w.typical = cost;
    w.end = w.begin + fmin(fmax(SECONDS_LEAST, EVALUATIONS * cost), SECONDS_MOST);
    if (seen == NULL || w.grad == NULL || w.wrong == NULL) {
        ds_check_fail(c, "out of memory");
    } else {
        w.again = w.grad + n;
        w.d = w.again + 2 * n;
        w.excess = w.d + n;
        w.bad = w.wrong + n;
        seen->single = 1;
        compare_all(&w);
        find_holes(&w);
        ds_gradient_report(c, env, seen);
        free(seen->hole_x);
        free(seen->wild_x);
        free(seen->fault_x);
    }
    free(seen);
    free(w.grad);
    free(w.wrong);
}

const ds_check_test ds_check_gradient_tests[] = {
    {"grad.difference", "the gradient equals difference quotients", DS_CHECK_ENV | DS_CHECK_GRADIENT, 16, 1,
     gradient_difference},
    {NULL, NULL, 0, 0, 0, NULL}};
