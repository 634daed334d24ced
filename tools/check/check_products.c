/* SPDX-License-Identifier: Apache-2.0 */
/* check_products.c - conformance of products with the derivatives of channels: against
 * difference quotients, and against each other. A kink spoils the quotients of one point, so the
 * median over some points is judged; where single elements of a channel have kinks, their one-sided
 * quotients say so. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_asking.h"
#include "difference/finite_difference.h"

/* Some more steps, shorter ones, follow for values in double precision where none of the first has agreed: of
 * many elements with kinks, the fewer have one within a step the shorter it is. */
enum { POINTS = 5, STEPS = 3, MORE_STEPS = 2, COMPARISONS = 4 };

/* Step sizes relative to the box, the first one for each type: what is rounded more needs longer ones. */
static const double first_step[] = {0, 1e-4, 1e-2, 3e-2}, shorter[] = {0, 0.1, 0.3, 0.6};
/* Half of the last place of a value of 1 (of a byte for U8). */
static const double last_place[] = {0, 0x1p-53, 0x1p-24, 0};
/* Largest median of the relative errors that passes. */
static const double allowed[] = {0, 1e-4, 1e-2, 0.1};
static const double DIFFERENCED = 1e-3, DIFFERENCED_TWICE = 1e-2, FITTING = 1e-5;
/* Largest share of the elements that may have a kink between the ends of a quotient: where more do, left and
 * right differ because the step is too long, not because of kinks. */
static const double KINKS = 0.1;

/* Errors at the points; those that compare products with each other are as small as round-off. */
typedef struct errors {
    double at[POINTS];
    unsigned count, blurred; /* blurred: rounding hides everything */
} errors;

enum { OF_JV, OF_JTV, OF_HV, OF_FIT }; /* FIT: J v with J' v, or the symmetry of H */

typedef struct bench {
    ds_check_asking *b;
    const ds_channel *ch;
    uint64_t channel, n, elements, most, point;
    double *x, *y, *v, *w, *u, *low, *high; /* n, n, n, elements, n, most, most values */
    double *here;                           /* elements values: those at x */
    errors error[COMPARISONS];
    double asymmetry, unweighted;
    double kinks;              /* largest share of elements that were taken for kinks */
    int differenced, smoothed; /* kinds of products seen */
} bench;

static double dot(uint64_t count, const double *a, const double *b)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static double length(uint64_t count, const double *a)
{
    return sqrt(dot(count, a, a));
}

static int can(const bench *t, uint32_t op)
{
    return (t->ch->ops & DS_CAN(op)) != 0;
}

static void add(errors *e, double error)
{
    if (isnan(error)) {
        e->blurred++;
    } else {
        e->at[e->count++] = error;
    }
}

/* ---- answers ---- */

/* One product, or the values, at x. 0 where there is no answer. */
static int get(bench *t, uint32_t op, const double *x, const double *v, const double *w, double *out)
{
    ds_check_query q;
    char where[80];
    if (!ds_check_query_open(t->b, t->channel, op, x, &q)) {
        return 0;
    }
    q.ask.v = v;
    q.ask.w = w;
    snprintf(where, sizeof where, "point %llu", (unsigned long long)t->point);
    int there = ds_check_query_run(t->b, &q, where, 0xff);
    uint64_t count = op == DS_ASK_VALUE || op == DS_ASK_JV ? t->elements : t->n;
    for (uint64_t i = 0; there && i < count; i++) {
        out[i] = op == DS_ASK_VALUE ? ds_check_element(t->ch, q.ask.out, i) : ((const double *)q.ask.out)[i];
    }
    t->differenced |= op != DS_ASK_VALUE && q.ask.kind == DS_GRAD_FD;
    t->smoothed |= op != DS_ASK_VALUE && q.ask.kind == DS_GRAD_SMOOTHED;
    ds_check_query_close(&q);
    return there;
}

/* J' w, for the loss also from the gradient. */
static int pull_back(bench *t, const double *x, double *out)
{
    ds_check_env *env = t->b->c->env;
    ds_check_answer a;
    if (can(t, DS_ASK_JTV)) {
        return get(t, DS_ASK_JTV, x, t->w, NULL, out);
    }
    if (t->ch->role != DS_CHANNEL_LOSS || !env->has_gradient) {
        return 0;
    }
    ds_check_evaluate(env, x, DS_WANT_GRAD, 0, out, &a);
    for (uint64_t i = 0; i < t->n; i++) {
        out[i] *= t->w[0];
    }
    return a.status == DS_OK && a.io.outcome == DS_EVAL_OK;
}

/* ---- quotients ---- */

/* (f(x + h v) - f(x - h v)) / 2 h of the values or of J' w, in t->high; *largest gets the size of f. */
static int quotient(bench *t, int of_values, double h, double *largest)
{
    uint64_t count = of_values ? t->elements : t->n;
    for (int side = -1; side <= 1; side += 2) {
        double *out = side < 0 ? t->low : t->high;
        for (uint64_t i = 0; i < t->n; i++) {
            t->y[i] = t->x[i] + side * h * t->v[i];
        }
        if (!(of_values ? get(t, DS_ASK_VALUE, t->y, NULL, NULL, out) : pull_back(t, t->y, out))) {
            return 0;
        }
    }
    *largest = 0;
    for (uint64_t i = 0; i < count; i++) {
        *largest = fmax(*largest, fmax(fabs(t->low[i]), fabs(t->high[i])));
        t->high[i] = (t->high[i] - t->low[i]) / (2 * h);
    }
    return 1;
}

/* As the error of all elements together, which is `plain`, but of an element whose quotients of the two sides
 * differ, at a kink, only what `exact` lies beyond both; *share is that of such elements. t->high and t->low
 * are those of quotient(). Elements that are off by less than `each` agree anyway. */
static double error_beside_kinks(const bench *t, double h, double each, double plain, const double *exact,
                                 double *share)
{
    uint64_t kinks = 0;
    double sum = 0;
    for (uint64_t i = 0; i < t->elements; i++) {
        double off = fabs(t->high[i] - exact[i]), left = (t->here[i] - t->low[i]) / h;
        double beyond = fmax(0, off - fabs(t->high[i] - left)); /* the quotient lies in the middle of both */
        int kink = off > each && beyond <= each;
        kinks += kink != 0;
        sum += kink ? beyond * beyond : off * off;
    }
    *share = (double)kinks / (double)t->elements;
    return *share <= KINKS ? fmin(sqrt(sum), plain) : plain;
}

/* Difference quotients along v, best of some steps, against `exact`, or, where weights are given, its sum
 * with them against the number `exact` points to. Relative; NAN where rounding hides everything. */
static double quotient_error(bench *t, int of_values, const double *weights, const double *exact)
{
    uint32_t type = of_values ? t->ch->type : DS_TYPE_F64;
    uint64_t count = of_values ? t->elements : t->n;
    double best = NAN, kinks = 0, h = first_step[type];
    const int by_element = of_values && weights == NULL && type == DS_TYPE_F64;
    for (int k = 0; k < STEPS + (by_element && !(best <= allowed[type]) ? MORE_STEPS : 0);
         k++, h *= shorter[type]) {
        double error = 0, size, largest, share = 0;
        if (!quotient(t, of_values, h, &largest)) {
            return NAN;
        }
        double unsure = fmax(8 * last_place[type], t->b->c->tolerance);
        double ulp = type == DS_TYPE_U8 ? 0.5 : largest * unsure;
        double blur = ulp * sqrt((double)count) / h;
        if (weights != NULL) {
            double along = dot(count, weights, t->high);
            error = fabs(along - *exact);
            size = length(count, weights) * length(count, t->high);
            blur *= length(count, weights);
        } else {
            size = fmax(length(count, t->high), length(count, exact));
            for (uint64_t i = 0; i < count; i++) {
                error += (t->high[i] - exact[i]) * (t->high[i] - exact[i]);
            }
            error = sqrt(error);
            double limit = allowed[type] * size;
            if (by_element && k >= STEPS - 1 && !(best <= allowed[type]) && error - blur > limit) {
                error = error_beside_kinks(t, h, limit / sqrt((double)count), error, exact, &share);
            }
        }
        if (size == 0 || blur < 0.25 * size) {
            double relative_error = size > 0 ? fmax(0, error - blur) / size : 0;
            kinks = !(relative_error >= best) ? share : kinks;
            best = fmin(best, relative_error);
        }
    }
    t->kinks = fmax(t->kinks, kinks);
    return best;
}

/* ---- one point ---- */

static void try_jacobian(bench *t, double *jv, double *jtw)
{
    int have_jv = can(t, DS_ASK_JV) && get(t, DS_ASK_JV, t->x, t->v, NULL, jv);
    int have_jtw = can(t, DS_ASK_JTV) && get(t, DS_ASK_JTV, t->x, t->w, NULL, jtw);
    if (have_jv && get(t, DS_ASK_VALUE, t->x, NULL, NULL, t->here)) {
        add(&t->error[OF_JV], quotient_error(t, 1, NULL, jv));
    }
    if (have_jtw) {
        double along = dot(t->n, jtw, t->v);
        if (have_jv) {
            double size = length(t->elements, t->w) * length(t->elements, jv);
            size = fmax(size, fabs(along));
            add(&t->error[OF_FIT], size > 0 ? fabs(dot(t->elements, t->w, jv) - along) / size : 0);
        } else {
            add(&t->error[OF_JTV], quotient_error(t, 1, t->w, &along));
        }
    }
}

static double relative(uint64_t count, const double *a, const double *b)
{
    double d = 0, size = fmax(length(count, a), length(count, b));
    for (uint64_t i = 0; i < count; i++) {
        d += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return size > 0 ? sqrt(d) / size : 0;
}

/* `hv` and `other` have room for n numbers. */
static void try_hessian(bench *t, double *hv, double *other)
{
    if (!can(t, DS_ASK_HV) || !get(t, DS_ASK_HV, t->x, t->v, t->w, hv)) {
        return;
    }
    if (get(t, DS_ASK_HV, t->x, t->u, t->w, other)) {
        double size = fmax(length(t->n, t->u) * length(t->n, hv), length(t->n, t->v) * length(t->n, other));
        double d = fabs(dot(t->n, t->u, hv) - dot(t->n, t->v, other));
        t->asymmetry = fmax(t->asymmetry, size > 0 ? d / size : 0);
    }
    if (can(t, DS_ASK_JTV) || t->ch->role == DS_CHANNEL_LOSS) {
        add(&t->error[OF_HV], quotient_error(t, 0, NULL, hv));
    }
    for (uint64_t i = 0; i < t->elements; i++) {
        t->low[i] = 1;
    }
    if (get(t, DS_ASK_HV, t->x, t->v, t->low, hv) && get(t, DS_ASK_HV, t->x, t->v, NULL, other)) {
        t->unweighted = fmax(t->unweighted, relative(t->n, hv, other));
    }
}

static void draw(bench *t)
{
    const ds_check_env *env = t->b->c->env;
    ds_random *r = &t->b->c->random;
    ds_check_random_point(t->b->c, env, t->x);
    for (uint64_t i = 0; i < t->n; i++) { /* inside of the box, for the quotients */
        double width = env->upper[i] - env->lower[i];
        t->x[i] = 0.1 * (0.5 * env->lower[i] + 0.5 * env->upper[i]) + 0.9 * t->x[i];
        t->v[i] = (2 * ds_random_uniform(r) - 1) * width;
        t->u[i] = (2 * ds_random_uniform(r) - 1) * width;
    }
    for (uint64_t i = 0; i < t->elements; i++) {
        t->w[i] = 2 * ds_random_uniform(r) - 1;
    }
}

/* ---- verdict ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median; -1 where nothing was compared. */
static double median_of(errors *e)
{
    qsort(e->at, e->count, sizeof e->at[0], by_size);
    return e->count > 0 ? e->at[e->count / 2] : -1;
}

static void judge_hessian(bench *t, double limit)
{
    ds_check *c = t->b->c;
    double hv = median_of(&t->error[OF_HV]);
    if (hv > limit) {
        ds_check_fail(c,
                      "channel %s: H v differs from difference quotients of J' w by %.2g relative (median)",
                      t->ch->name, hv);
        ds_check_hint(c, "H v is (sum of w_i Hessian of c_i) v, with the second derivatives of the elements; "
                         "J' J v is something else");
    }
    if (t->asymmetry > (t->differenced ? DIFFERENCED : FITTING) + 4 * c->tolerance) {
        ds_check_fail(c, "channel %s: u.(H v) and v.(H u) differ by %.2g relative", t->ch->name,
                      t->asymmetry);
        ds_check_hint(c, "a Hessian is symmetric: compare single steps of the second-order sweep");
    }
    if (t->unweighted > FITTING + 4 * c->tolerance) {
        ds_check_fail(c, "channel %s: H v without weights differs by %.2g relative from weights of 1",
                      t->ch->name, t->unweighted);
        ds_check_hint(c, "ds_ask.w = NULL means that all weights are 1");
    }
}

/* What was compared; negative = not. */
static void tell_errors(const bench *t, double jv, double jtv, double hv, double fit)
{
    const struct {
        const char *name;
        double error;
    } part[] = {{"J v", jv}, {"J' v", jtv}, {"H v", hv}, {"J v with J' v", fit}};
    char text[160] = "";
    unsigned left_out = 0;
    for (size_t k = 0, at = 0; k < sizeof part / sizeof part[0]; k++) {
        if (part[k].error >= 0) {
            at += (size_t)snprintf(text + at, sizeof text - at, ", %s %.1e", part[k].name, part[k].error);
        }
    }
    for (int k = 0; k < COMPARISONS; k++) {
        left_out += t->error[k].blurred;
    }
    ds_check_note(t->b->c, "%s: %llu elements; relative errors%s; %u quotients rounded away or missing",
                  t->ch->name, (unsigned long long)t->elements, text, left_out);
    if (t->kinks > 0) {
        ds_check_note(t->b->c,
                      "%s: up to %.2g %% of the elements show a kink: J v lies between both sides there",
                      t->ch->name, 100 * t->kinks);
    }
}

static void judge(bench *t)
{
    ds_check *c = t->b->c;
    uint32_t type = t->ch->type;
    double limit = fmax(allowed[type], t->differenced ? DIFFERENCED : 0);
    double jv = median_of(&t->error[OF_JV]), jtv = median_of(&t->error[OF_JTV]);
    const errors *fit = &t->error[OF_FIT];
    double worst = fit->count > 0 ? 0 : -1, hv = median_of(&t->error[OF_HV]);
    for (unsigned k = 0; k < fit->count; k++) {
        worst = fmax(worst, fit->at[k]);
    }
    if (worst > (t->differenced ? DIFFERENCED : FITTING) + 4 * c->tolerance) {
        ds_check_fail(c, "channel %s: w.(J v) and (J' w).v differ by %.2g relative", t->ch->name, worst);
        ds_check_hint(
            c, "the two products belong to different matrices: test single steps with the dot product");
    }
    if (t->smoothed) {
        ds_check_note(c, "%s: products of smoothed values may differ from quotients: not judged",
                      t->ch->name);
        return;
    }
    if (jv > limit) {
        ds_check_fail(c,
                      "channel %s: J v differs from difference quotients of the values by %.2g relative "
                      "(median)",
                      t->ch->name, jv);
        ds_check_hint(
            c, "compare single elements with their quotients: at a kink J v is the slope of one side, or "
               "lies between both");
    }
    if (jtv > limit) {
        ds_check_fail(c,
                      "channel %s: (J' w).v differs from difference quotients of w.values by %.2g relative "
                      "(median)",
                      t->ch->name, jtv);
    }
    judge_hessian(t, fmax(1e-4, t->differenced ? DIFFERENCED_TWICE : 0));
    tell_errors(t, jv, jtv, hv, worst);
}

/* Would quotients fail the channel? Kinks spoil those of one point sooner than the median of five. */
static int spoilt(bench *t)
{
    const double least = t->differenced ? DIFFERENCED : 0, limit = fmax(allowed[t->ch->type], least);
    return median_of(&t->error[OF_JV]) > limit || median_of(&t->error[OF_JTV]) > limit ||
           median_of(&t->error[OF_HV]) > fmax(1e-4, t->differenced ? DIFFERENCED_TWICE : 0);
}

/* Fewer points than POINTS pass, but do not fail as long as there is time for another one. */
static int another(bench *t, uint64_t points, double begin)
{
    const double taken = ds_check_worked() - begin, each = taken / (double)(t->point > 0 ? t->point : 1);
    return t->point < points ||
           (t->point < POINTS && spoilt(t) && taken + each < 0.8 * t->b->c->options->timeout);
}

static void try_channel(ds_check_asking *b, uint64_t i, uint64_t points)
{
    const double begin = ds_check_worked();
    const ds_channel *ch = b->channels.list[i];
    bench t = {.b = b,
               .ch = ch,
               .channel = i,
               .n = b->c->env->n,
               .elements = ds_channel_elements(ch),
               .most = b->c->env->n};
    t.most = t.elements > t.most ? t.elements : t.most;
    double *memory = calloc(6 * t.n + 2 * t.elements + 3 * t.most, sizeof *memory), *at = memory;
    if (memory == NULL) {
        ds_check_fail(b->c, "out of memory");
        return;
    }
    double **const of_n[] = {&t.x, &t.y, &t.v, &t.u};
    for (size_t k = 0; k < sizeof of_n / sizeof of_n[0]; k++, at += t.n) {
        *of_n[k] = at;
    }
    double *one = at, *two = one + t.n; /* n values each */
    t.w = two + t.n;
    t.low = t.w + t.elements;
    t.high = t.low + t.most;
    double *jv = t.high + t.most;
    t.here = jv + t.most;
    for (t.point = 0; another(&t, points, begin); t.point++) {
        draw(&t);
        try_jacobian(&t, jv, one);
        try_hessian(&t, one, two);
    }
    judge(&t);
    free(memory);
}

void ds_check_channel_products(ds_check *c)
{
    const uint32_t products = DS_CAN(DS_ASK_JV) | DS_CAN(DS_ASK_JTV) | DS_CAN(DS_ASK_HV);
    ds_check_asking b;
    uint64_t with = 0;
    if (!ds_check_asking_open(c, &b)) {
        return;
    }
    for (uint64_t i = 0; i < b.channels.count; i++) {
        with += (b.channels.list[i]->ops & products) != 0;
    }
    uint64_t points = ds_check_plan(c, "points", POINTS, 1,
                                    (double)with * (8 * c->options->cost + 12 * c->options->cost_gradient));
    for (uint64_t i = 0; i < b.channels.count; i++) {
        if ((b.channels.list[i]->ops & products) != 0) {
            try_channel(&b, i, points);
        }
    }
    if (with == 0) {
        ds_check_skip(c, "no channel offers a product");
    }
    ds_check_asking_close(&b);
}

/* ---- single elements ---- */

/* Elements that are looked at of one point, and of them those for which J' is asked; points; values kept of
 * one point. */
enum { ELEMENTS = 400, PULLED = 6, ALONE = 64, ELEMENT_POINTS = 24, KEPT = 256, NAMED = 3 };

static const double ELEMENT_SECONDS = 3, COSTLY = 0.1;
/* What is no fault, relative to the derivative of the element: as the products are, and where all of them are
 * in single precision. */
static const double ELEMENT_EXACT = 1e-5, ELEMENT_SINGLE = 1e-4;
/* Nor what is so small beside the largest value or derivative of the channel: such a part of a sum gets lost
 * in it. */
static const double ELEMENT_LOST = 1e-13;
/* Differences lose more: a step that is short enough divides the rounding of the values by about 1e-8. */
static const double ELEMENT_LOST_DIFFERENCED = 1e-7;

typedef struct elements {
    bench *t;
    /* those of a point; the one that is looked at, as a number of `pick` */
    uint64_t pick[ELEMENTS], picked, element;
    size_t kept;
    double *at, *values; /* KEPT x n, KEPT x ELEMENTS: one question tells the values of all elements */
    double *all;         /* elements values */
    double *jv, *ju;     /* elements values each: J v, J u */
    double *row, *home;  /* n values each: J' e_k, and where x was */
    double exact, lost, largest; /* largest of values and derivatives */
    double end, latest;          /* of the time: of new elements, and of looking for a variable */
    uint64_t seen, wrong, told, undecided;
} elements;

static double element_at(void *ctx, const double *x, int *failed)
{
    elements *s = ctx;
    bench *t = s->t;
    size_t k = 0, bytes = t->n * sizeof *x;
    while (k < s->kept && memcmp(s->at + k * t->n, x, bytes) != 0) {
        k++;
    }
    if (k == s->kept) {
        k = s->kept < KEPT ? s->kept++ : KEPT - 1;
        memcpy(s->at + k * t->n, x, bytes);
        if (!get(t, DS_ASK_VALUE, x, NULL, NULL, s->all)) {
            s->kept = k;
            *failed = 1;
            return NAN;
        }
        for (uint64_t i = 0; i < s->picked; i++) {
            s->values[k * ELEMENTS + i] = s->all[s->pick[i]];
        }
    }
    return s->values[k * ELEMENTS + s->element];
}

/* J' of the element, in s->row. */
static int pull(elements *s)
{
    bench *t = s->t;
    memset(t->high, 0, t->elements * sizeof *t->high);
    t->high[s->pick[s->element]] = 1;
    return get(t, DS_ASK_JTV, t->x, t->high, NULL, s->row);
}

/* What the products say of the element along the variables first, first + 1, ... of v; 0 where they
 * do not. */
static int claimed(elements *s, uint64_t first, uint64_t count, double *slope)
{
    bench *t = s->t;
    if (!can(t, DS_ASK_JV)) {
        const int there = pull(s);
        *slope = dot(count, s->row + first, t->v + first);
        return there;
    }
    memset(t->y, 0, t->n * sizeof *t->y);
    memcpy(t->y + first, t->v + first, count * sizeof *t->y);
    if (!get(t, DS_ASK_JV, t->x, t->y, NULL, t->low)) {
        return 0;
    }
    *slope = t->low[s->pick[s->element]];
    return 1;
}

/* How far the claim changes on a random way of `size` widths of the box; INFINITY: there is none. */
static double change_beside(elements *s, uint64_t first, uint64_t count, double slope, double size)
{
    bench *t = s->t;
    const ds_check_env *env = t->b->c->env;
    double there = NAN;
    memcpy(s->home, t->x, t->n * sizeof *t->x);
    for (uint64_t i = 0; i < t->n; i++) {
        const double by =
            size * (2 * ds_random_uniform(&t->b->c->random) - 1) * (env->upper[i] - env->lower[i]);
        t->x[i] = fmin(fmax(t->x[i] + by, env->lower[i]), env->upper[i]);
    }
    const int answered = claimed(s, first, count, &there);
    memcpy(t->x, s->home, t->n * sizeof *t->x);
    return answered ? fabs(there - slope) : (double)INFINITY;
}

/* Is x on a seam, where the derivatives themselves jump (difference/gradient_seam.h)? */
static int on_seam(elements *s, uint64_t first, uint64_t count, double slope, double off)
{
    enum { TRIED = 6 };
    static const double FAR = 1e-6, NEAR = FAR / 16, PART = 0.3;
    for (int k = 0; k < TRIED; k++) {
        const double change = change_beside(s, first, count, slope, NEAR);
        if (!(change <= PART * off) && !(change <= PART * change_beside(s, first, count, slope, FAR))) {
            return 1;
        }
    }
    return 0;
}

static ds_quotient look_at_element(elements *s, uint64_t first, uint64_t count, double slope, double scale)
{
    const bench *t = s->t;
    const ds_check_env *env = t->b->c->env;
    int failed = 0;
    const double here = element_at(s, t->x, &failed), tolerance = t->b->c->tolerance;
    const ds_around around = {.f = element_at,
                              .ctx = s,
                              .n = t->n,
                              .x = t->x,
                              .lower = env->lower,
                              .upper = env->upper,
                              .f_at_x = here,
                              .noise = 2 * tolerance * fabs(here),
                              .brief = t->b->c->options->cost > COSTLY};
    const ds_direction along = {t->v + first, first, count};
    const ds_claim claim = {slope, fmax(s->exact, 4 * tolerance) * scale + s->lost * s->largest, scale,
                            1e-10};
    if (failed) {
        return (ds_quotient){.verdict = DS_SLOPE_UNKNOWN};
    }
    return ds_difference(&around, &along, &claim);
}

/* Halves of v lead to the variable. Where none of them is wrong, the slopes do not add up as those of a
 * smooth function do, and it is a kink. */
static int find_variable(elements *s, double scale, uint64_t *variable, double *slope, ds_quotient *q)
{
    uint64_t first = 0, count = s->t->n;
    while (count > 1) {
        const uint64_t half = count / 2;
        double one, two;
        if (ds_check_worked() > s->latest) {
            s->undecided++;
            return 0;
        }
        if (!claimed(s, first, half, &one) || !claimed(s, first + half, count - half, &two)) {
            return 0;
        }
        ds_quotient a = look_at_element(s, first, half, one, scale);
        ds_quotient b =
            a.verdict == DS_SLOPE_WRONG ? a : look_at_element(s, first + half, count - half, two, scale);
        if (b.verdict != DS_SLOPE_WRONG) {
            return 0;
        }
        first += a.verdict == DS_SLOPE_WRONG ? 0 : half;
        count = a.verdict == DS_SLOPE_WRONG ? half : count - half;
        *slope = a.verdict == DS_SLOPE_WRONG ? one : two;
        *q = b;
    }
    *variable = first;
    return 1;
}

static void element_wrong(elements *s, double scale, double slope, ds_quotient q)
{
    bench *t = s->t;
    uint64_t i = 0;
    if (t->n > 1 && !find_variable(s, scale, &i, &slope, &q)) {
        return;
    }
    if (on_seam(s, t->n > 1 ? i : 0, 1, slope, fabs(q.value - slope))) {
        return;
    }
    s->wrong++;
    if (s->told++ < NAMED) {
        ds_check_fail(t->b->c,
                      "channel %s: the derivative of element %llu with respect to variable %llu is %.10g, "
                      "the difference "
                      "quotient %.10g +- %.1g",
                      t->ch->name, (unsigned long long)s->pick[s->element], (unsigned long long)i,
                      slope / t->v[i], q.value / t->v[i], fabs(q.spread / t->v[i]));
    }
}

/* Where there are both products: do they say the same of the element? */
static void fit_element(elements *s, double scale)
{
    bench *t = s->t;
    double parts = 0;
    if (!pull(s)) {
        return;
    }
    const double along = dot(t->n, s->row, t->v), off = fabs(along - s->jv[s->pick[s->element]]);
    for (uint64_t i = 0; i < t->n; i++) {
        parts += fabs(s->row[i] * t->v[i]);
    }
    if (off > fmax(FITTING, t->differenced ? DIFFERENCED : 0) * fmax(parts, scale) +
                  (t->differenced ? ELEMENT_LOST_DIFFERENCED * s->largest : 0) &&
        off > 4 * t->b->c->tolerance * scale && s->told++ < NAMED) {
        ds_check_fail(
            t->b->c, "channel %s: element %llu of J v is %.10g, but J' of this element times v %.10g",
            t->ch->name, (unsigned long long)s->pick[s->element], s->jv[s->pick[s->element]], along);
    }
}

/* The largest value, and what is known of the largest derivative. */
static double largest_of(elements *s)
{
    const bench *t = s->t;
    int failed = 0;
    double largest = fabs(element_at(s, t->x, &failed));
    for (uint64_t k = 0; k < t->elements && !failed; k++) {
        largest = fmax(largest, fabs(s->all[k]));
        largest = can(t, DS_ASK_JV) ? fmax(largest, fmax(fabs(s->jv[k]), fabs(s->ju[k]))) : largest;
    }
    return largest;
}

static int single_precision(const elements *s)
{
    uint64_t k = 0;
    while (k < s->t->elements && (double)(float)s->jv[k] == s->jv[k]) {
        k++;
    }
    return can(s->t, DS_ASK_JV) && k == s->t->elements;
}

/* Some elements, the first and the last one among them, each on its own. */
static void look_at_elements(elements *s)
{
    bench *t = s->t;
    const int forward = can(t, DS_ASK_JV);
    const uint64_t most = forward ? ELEMENTS : ALONE;
    s->picked = t->elements < most ? t->elements : most;
    for (uint64_t k = 0; k < s->picked; k++) {
        const uint64_t any = ds_random_u32(&t->b->c->random) % t->elements;
        s->pick[k] = s->picked == t->elements ? k : k == 0 ? 0 : k == 1 ? t->elements - 1 : any;
    }
    draw(t);
    s->kept = 0;
    if (forward &&
        (!get(t, DS_ASK_JV, t->x, t->v, NULL, s->jv) || !get(t, DS_ASK_JV, t->x, t->u, NULL, s->ju))) {
        return;
    }
    const double rounded = single_precision(s) ? ELEMENT_SINGLE : ELEMENT_EXACT;
    s->element = 0;
    s->largest = largest_of(s);
    const uint64_t every = (s->picked + PULLED - 1) / PULLED;
    for (uint64_t k = 0; k < s->picked && !t->smoothed && (k < 2 || ds_check_worked() < s->end); k++) {
        s->element = k;
        double slope = s->jv[s->pick[k]], scale = fmax(fabs(slope), fabs(s->ju[s->pick[k]]));
        if (forward && can(t, DS_ASK_JTV) && k % every == t->point % every) {
            fit_element(s, scale);
        } else if (!forward && !pull(s)) {
            continue;
        } else if (!forward) {
            slope = dot(t->n, s->row, t->v);
            scale = fmax(fabs(slope), fabs(dot(t->n, s->row, t->u)));
        }
        if (t->smoothed) { /* what it is of, the first answer says */
            break;
        }
        s->exact = t->differenced ? DIFFERENCED : rounded;
        s->lost = t->differenced ? ELEMENT_LOST_DIFFERENCED : ELEMENT_LOST;
        ds_quotient q = look_at_element(s, 0, t->n, slope, scale);
        s->seen++;
        if (q.verdict == DS_SLOPE_WRONG) {
            element_wrong(s, scale, slope, q);
        }
    }
}

static void try_elements(ds_check_asking *b, uint64_t i, double seconds, double latest)
{
    const ds_channel *ch = b->channels.list[i];
    const uint64_t n = b->c->env->n, m = ds_channel_elements(ch), most = m > n ? m : n;
    bench t = {.b = b, .ch = ch, .channel = i, .n = n, .elements = m, .most = most};
    elements s = {.t = &t, .end = ds_check_worked() + seconds, .latest = latest};
    double *memory = calloc((7 + KEPT) * n + 4 * m + 2 * most + KEPT * ELEMENTS, sizeof *memory),
           *at = memory;
    if (memory == NULL) {
        ds_check_fail(b->c, "out of memory");
        return;
    }
    double **const of_n[] = {&t.x, &t.y, &t.v, &t.u, &s.row, &s.home};
    for (size_t k = 0; k < sizeof of_n / sizeof of_n[0]; k++, at += n) {
        *of_n[k] = at;
    }
    double **const of_m[] = {&t.w, &s.jv, &s.ju, &s.all};
    for (size_t k = 0; k < sizeof of_m / sizeof of_m[0]; k++, at += m) {
        *of_m[k] = at;
    }
    t.low = at;
    t.high = t.low + most;
    s.at = t.high + most;
    s.values = s.at + KEPT * n;
    for (t.point = 0;
         t.point < ELEMENT_POINTS && (t.point == 0 || ds_check_worked() < s.end) && s.wrong < NAMED;
         t.point++) {
        look_at_elements(&s);
    }
    ds_check_note(b->c, "%s: %llu elements at %llu points%s", ch->name, (unsigned long long)s.seen,
                  (unsigned long long)t.point,
                  t.smoothed ? ": products of smoothed values may differ from quotients: not judged"
                  : s.undecided > 0
                      ? "; evaluations take too long to tell kinks of some of them from errors (--timeout-s)"
                      : "");
    free(memory);
}

static int has_elements(const ds_channel *ch)
{
    return ch->type == DS_TYPE_F64 && (ch->ops & (DS_CAN(DS_ASK_JV) | DS_CAN(DS_ASK_JTV))) != 0 &&
           (ch->ops & DS_CAN(DS_ASK_VALUE)) != 0;
}

void ds_check_channel_elements(ds_check *c)
{
    const double begin = ds_check_worked(), most = 0.5 * c->options->timeout;
    ds_check_asking b;
    uint64_t with = 0, tried = 0;
    if (!ds_check_asking_open(c, &b)) {
        return;
    }
    for (uint64_t i = 0; i < b.channels.count; i++) {
        with += (uint64_t)has_elements(b.channels.list[i]);
    }
    for (uint64_t i = 0; i < b.channels.count; i++) {
        if (has_elements(b.channels.list[i]) && (tried == 0 || ds_check_worked() < begin + most)) {
            try_elements(&b, i, fmin(ELEMENT_SECONDS, most / (double)with), begin + most);
            tried++;
        }
    }
    if (with == 0) {
        ds_check_skip(c, "no channel in double precision offers a product");
    } else if (c->failed > 0) {
        ds_check_hint(c, "each element is looked at for itself: what is small beside others, or one of many, "
                         "counts as much");
    }
    if (tried < with) {
        ds_check_note(c, "%llu of %llu channels, because evaluations take too long for more",
                      (unsigned long long)tried, (unsigned long long)with);
    }
    ds_check_asking_close(&b);
}
