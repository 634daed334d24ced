/* SPDX-License-Identifier: Apache-2.0 */
/* check_products.c - conformance of products with the derivatives of channels: comparison with difference
 * quotients, and with each other. A kink spoils the quotients of one point, so the median over some points
 * counts; where single elements have kinks, their one-sided quotients show it. Where a motion amplifies a
 * change a million times, as with many impacts, quotients of all steps differ: such points are not judged. */
#include "config.h"

#include "check/check_queries.h"
#include "check/check_tests.h"

#include "difference/finite_difference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shorter steps follow for double-precision values if none of the first steps agreed: the shorter the step,
 * the fewer elements have a kink within it. */
enum { POINTS = 5, MOST_POINTS = 20, LEAST = 3, STEPS = 3, MORE_STEPS = 4, COMPARISONS = 4 };

/* First step of each type, relative to the box: coarser rounding needs longer steps. */
static const double first_step[] = {0, 1e-4, 1e-2, 3e-2}, shorter[] = {0, 0.1, 0.3, 0.6};
/* Half of the last place of a value of 1 (of a byte for U8). */
static const double last_place[] = {0, 0x1p-53, 0x1p-24, 0};
/* Largest median of the relative errors that passes. */
static const double allowed[] = {0, 1e-4, 1e-2, 0.1};
/* As DS_CHECK_DIFFERENCED, for second derivatives. */
static const double DIFFERENCED_TWICE = 1e-2;
/* Largest share of elements that may have a kink within a step: with more of them, left and right differ
 * because the step is too long. */
static const double KINKS = 0.1;
/* Quotients of neighbouring steps that differ by less than this share show a slope. */
static const double SETTLED = 0.3;

/* Errors at the points. Products compared with each other agree up to round-off. */
typedef struct errors {
    double at[MOST_POINTS];
    unsigned count, blurred; /* blurred: rounding hides everything */
    unsigned unsettled;      /* points where no two neighbouring steps agree: the slope is unknown */
} errors;

enum { OF_JV, OF_JTV, OF_HV, OF_FIT }; /* FIT: J v with J' v, or the symmetry of H */

typedef struct bench {
    ds_check_product_point p;
    double *here;    /* values of the elements at x */
    double *coarser; /* quotients of the last step */
    errors error[COMPARISONS];
    double asymmetry, unweighted;
    double kinks; /* largest share of elements considered kinks */
} bench;

static double length(uint64_t count, const double *a)
{
    return sqrt(ds_check_dot(count, a, a));
}

static void add(errors *e, double error)
{
    if (isnan(error)) {
        e->blurred++;
    } else if (isinf(error)) {
        e->unsettled++;
    } else {
        e->at[e->count++] = error;
    }
}

/* ---- answers ---- */

/* J' w; for the loss also from the gradient. */
static int pull_back(bench *t, const double *x, double *out)
{
    ds_check_env *env = t->p.b->c->env;
    ds_check_result a;
    if (ds_check_product_can(&t->p, DS_QUERY_JTV)) {
        return ds_check_product_get(&t->p, DS_QUERY_JTV, x, t->p.w, NULL, out);
    }
    if (t->p.ch->role != DS_CHANNEL_LOSS || !env->has_gradient) {
        return 0;
    }
    ds_check_evaluate(env, x, DS_WANT_GRAD, 0, out, &a);
    for (uint64_t i = 0; i < t->p.n; i++) {
        out[i] *= t->p.w[0];
    }
    return a.status == DS_OK && a.io.outcome == DS_EVAL_OK;
}

/* ---- quotients ---- */

/* Central difference (f(x + h v) - f(x - h v)) / 2 h of the values or of J' w, in t->p.high; *largest
 * receives the size of f. */
static int quotient(bench *t, int of_values, double h, double *largest)
{
    uint64_t count = of_values ? t->p.elements : t->p.n;
    for (int side = -1; side <= 1; side += 2) {
        double *out = side < 0 ? t->p.low : t->p.high;
        for (uint64_t i = 0; i < t->p.n; i++) {
            t->p.y[i] = t->p.x[i] + side * h * t->p.v[i];
        }
        if (!(of_values ? ds_check_product_get(&t->p, DS_QUERY_VALUE, t->p.y, NULL, NULL, out)
                        : pull_back(t, t->p.y, out))) {
            return 0;
        }
    }
    *largest = 0;
    for (uint64_t i = 0; i < count; i++) {
        *largest = fmax(*largest, fmax(fabs(t->p.low[i]), fabs(t->p.high[i])));
        t->p.high[i] = (t->p.high[i] - t->p.low[i]) / (2 * h);
    }
    return 1;
}

/* Like the error of all elements together, which is `plain`; but for an element at a kink, whose two
 * one-sided quotients differ, only the distance of `exact` beyond both counts. *share receives the share of
 * such elements. `high` and `low` are those of quotient(). Elements that are off by less than `each` agree
 * anyway. */
static double error_without_kinks(const bench *t, double h, double each, double plain, const double *exact,
                                  double *share)
{
    uint64_t kinks = 0;
    double sum = 0;
    for (uint64_t i = 0; i < t->p.elements; i++) {
        double off = fabs(t->p.high[i] - exact[i]), left = (t->here[i] - t->p.low[i]) / h;
        double beyond = fmax(0, off - fabs(t->p.high[i] - left)); /* the quotient lies midway between them */
        int kink = off > each && beyond <= each;
        kinks += kink != 0;
        sum += kink ? beyond * beyond : off * off;
    }
    *share = (double)kinks / (double)t->p.elements;
    return *share <= KINKS ? fmin(sqrt(sum), plain) : plain;
}

/* Do the quotients of this step, in t->p.high, agree with the ones of the step before? Keeps them. */
static int agrees_with_coarser(bench *t, uint64_t count, int step)
{
    double off = 0, size = fmax(length(count, t->coarser), length(count, t->p.high));
    for (uint64_t i = 0; i < count; i++) {
        off += (t->coarser[i] - t->p.high[i]) * (t->coarser[i] - t->p.high[i]);
    }
    memcpy(t->coarser, t->p.high, count * sizeof *t->coarser);
    return step > 0 && sqrt(off) <= SETTLED * size;
}

/* Relative error of difference quotients along v, the best of some steps, against `exact`; or, with weights,
 * of their weighted sum against the number *exact. NAN if rounding hides everything, INFINITY if the
 * quotients show no slope: whether they do does not depend on `exact`. */
static double quotient_error(bench *t, int of_values, const double *weights, const double *exact)
{
    uint32_t type = of_values ? t->p.ch->type : DS_TYPE_F64;
    uint64_t count = of_values ? t->p.elements : t->p.n;
    double best = NAN, kinks = 0, h = first_step[type];
    const int by_element = of_values && weights == NULL && type == DS_TYPE_F64;
    int settled = !by_element;
    for (int k = 0; k < STEPS + (by_element && !(best <= allowed[type]) ? MORE_STEPS : 0);
         k++, h *= shorter[type]) {
        double error = 0, size, largest, share = 0;
        if (!quotient(t, of_values, h, &largest)) {
            return NAN;
        }
        settled = (by_element && agrees_with_coarser(t, count, k)) || settled;
        double unsure = fmax(8 * last_place[type], t->p.b->c->tolerance);
        double ulp = type == DS_TYPE_U8 ? 0.5 : largest * unsure;
        double blur = ulp * sqrt((double)count) / h;
        if (weights != NULL) {
            double along = ds_check_dot(count, weights, t->p.high);
            error = fabs(along - *exact);
            size = length(count, weights) * length(count, t->p.high);
            blur *= length(count, weights);
        } else {
            size = fmax(length(count, t->p.high), length(count, exact));
            for (uint64_t i = 0; i < count; i++) {
                error += (t->p.high[i] - exact[i]) * (t->p.high[i] - exact[i]);
            }
            error = sqrt(error);
            double limit = allowed[type] * size;
            if (by_element && k >= STEPS - 1 && !(best <= allowed[type]) && error - blur > limit) {
                error = error_without_kinks(t, h, limit / sqrt((double)count), error, exact, &share);
            }
        }
        if (size == 0 || blur < 0.25 * size) {
            double relative_error = size > 0 ? fmax(0, error - blur) / size : 0;
            kinks = !(relative_error >= best) ? share : kinks;
            best = fmin(best, relative_error);
        }
    }
    t->kinks = fmax(t->kinks, kinks);
    return !settled && best > allowed[type] ? (double)INFINITY : best;
}

/* ---- one point ---- */

static void try_jacobian(bench *t, double *jv, double *jtw)
{
    int have_jv = ds_check_product_can(&t->p, DS_QUERY_JV) &&
                  ds_check_product_get(&t->p, DS_QUERY_JV, t->p.x, t->p.v, NULL, jv);
    int have_jtw = ds_check_product_can(&t->p, DS_QUERY_JTV) &&
                   ds_check_product_get(&t->p, DS_QUERY_JTV, t->p.x, t->p.w, NULL, jtw);
    if (have_jv && ds_check_product_get(&t->p, DS_QUERY_VALUE, t->p.x, NULL, NULL, t->here)) {
        add(&t->error[OF_JV], quotient_error(t, 1, NULL, jv));
    }
    if (have_jtw) {
        double along = ds_check_dot(t->p.n, jtw, t->p.v);
        if (have_jv) {
            double size = length(t->p.elements, t->p.w) * length(t->p.elements, jv);
            size = fmax(size, fabs(along));
            add(&t->error[OF_FIT],
                size > 0 ? fabs(ds_check_dot(t->p.elements, t->p.w, jv) - along) / size : 0);
        } else {
            add(&t->error[OF_JTV], quotient_error(t, 1, t->p.w, &along));
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
    if (!ds_check_product_can(&t->p, DS_QUERY_HV) ||
        !ds_check_product_get(&t->p, DS_QUERY_HV, t->p.x, t->p.v, t->p.w, hv)) {
        return;
    }
    if (ds_check_product_get(&t->p, DS_QUERY_HV, t->p.x, t->p.u, t->p.w, other)) {
        double size =
            fmax(length(t->p.n, t->p.u) * length(t->p.n, hv), length(t->p.n, t->p.v) * length(t->p.n, other));
        double d = fabs(ds_check_dot(t->p.n, t->p.u, hv) - ds_check_dot(t->p.n, t->p.v, other));
        t->asymmetry = fmax(t->asymmetry, size > 0 ? d / size : 0);
    }
    if (ds_check_product_can(&t->p, DS_QUERY_JTV) || t->p.ch->role == DS_CHANNEL_LOSS) {
        add(&t->error[OF_HV], quotient_error(t, 0, NULL, hv));
    }
    for (uint64_t i = 0; i < t->p.elements; i++) {
        t->p.low[i] = 1;
    }
    if (ds_check_product_get(&t->p, DS_QUERY_HV, t->p.x, t->p.v, t->p.low, hv) &&
        ds_check_product_get(&t->p, DS_QUERY_HV, t->p.x, t->p.v, NULL, other)) {
        t->unweighted = fmax(t->unweighted, relative(t->p.n, hv, other));
    }
}

/* ---- verdict ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median; -1 if nothing was compared, or too little beside points without a slope. */
static double median_of(errors *e)
{
    if (e->unsettled > 0 && e->count < LEAST) {
        return -1;
    }
    qsort(e->at, e->count, sizeof e->at[0], by_size);
    return e->count > 0 ? e->at[e->count / 2] : -1;
}

static void judge_hessian(bench *t, double limit)
{
    ds_check *c = t->p.b->c;
    double hv = median_of(&t->error[OF_HV]);
    if (hv > limit) {
        ds_check_fail(c,
                      "channel %s: H v differs from difference quotients of J' w by %.2g relative (median)",
                      t->p.ch->name, hv);
        ds_check_hint(c, "H v is (sum of w_i Hessian of c_i) v, with the second derivatives of the elements; "
                         "J' J v is something else");
    }
    if (t->asymmetry > (t->p.differenced ? DS_CHECK_DIFFERENCED : DS_CHECK_FITTING) + 4 * c->tolerance) {
        ds_check_fail(c, "channel %s: u.(H v) and v.(H u) differ by %.2g relative", t->p.ch->name,
                      t->asymmetry);
        ds_check_hint(c, "a Hessian is symmetric: compare single steps of the second-order sweep");
    }
    if (t->unweighted > DS_CHECK_FITTING + 4 * c->tolerance) {
        ds_check_fail(c, "channel %s: H v without weights differs by %.2g relative from weights of 1",
                      t->p.ch->name, t->unweighted);
        ds_check_hint(c, "ds_eval_query.w = NULL means weights of 1");
    }
}

/* Notes the errors; negative = not compared. */
static void note_errors(const bench *t, double jv, double jtv, double hv, double fit)
{
    const struct {
        const char *name;
        double error;
    } part[] = {{"J v", jv}, {"J' v", jtv}, {"H v", hv}, {"J v with J' v", fit}};
    char text[160] = "";
    unsigned left_out = 0, unsettled = t->error[OF_JV].unsettled;
    for (size_t k = 0, at = 0; k < sizeof part / sizeof part[0]; k++) {
        if (part[k].error >= 0) {
            at += (size_t)snprintf(text + at, sizeof text - at, ", %s %.1e", part[k].name, part[k].error);
        }
    }
    for (int k = 0; k < COMPARISONS; k++) {
        left_out += t->error[k].blurred;
    }
    ds_check_note(t->p.b->c, "%s: %llu elements; relative errors%s; %u quotients rounded away or missing",
                  t->p.ch->name, (unsigned long long)t->p.elements, text, left_out);
    if (unsettled > 0) {
        ds_check_note(
            t->p.b->c,
            "%s: quotients of %u of %u points differ at all steps, and are not judged: jumps, noise, "
            "or a motion that amplifies every change",
            t->p.ch->name, unsettled, unsettled + t->error[OF_JV].count);
    }
    if (t->kinks > 0) {
        ds_check_note(t->p.b->c,
                      "%s: up to %.2g %% of the elements show a kink: J v lies between both sides there",
                      t->p.ch->name, 100 * t->kinks);
    }
}

static void judge(bench *t)
{
    ds_check *c = t->p.b->c;
    uint32_t type = t->p.ch->type;
    double limit = fmax(allowed[type], t->p.differenced ? DS_CHECK_DIFFERENCED : 0);
    double jv = median_of(&t->error[OF_JV]), jtv = median_of(&t->error[OF_JTV]);
    const errors *fit = &t->error[OF_FIT];
    double worst = fit->count > 0 ? 0 : -1, hv = median_of(&t->error[OF_HV]);
    for (unsigned k = 0; k < fit->count; k++) {
        worst = fmax(worst, fit->at[k]);
    }
    if (worst > (t->p.differenced ? DS_CHECK_DIFFERENCED : DS_CHECK_FITTING) + 4 * c->tolerance) {
        ds_check_fail(c, "channel %s: w.(J v) and (J' w).v differ by %.2g relative", t->p.ch->name, worst);
        ds_check_hint(
            c, "the two products belong to different matrices: test single steps with the dot product");
    }
    if (t->p.smoothed) {
        ds_check_note(c, "%s: products of smoothed values may differ from quotients: not judged",
                      t->p.ch->name);
        return;
    }
    if (jv > limit) {
        ds_check_fail(c,
                      "channel %s: J v differs from difference quotients of the values by %.2g relative "
                      "(median)",
                      t->p.ch->name, jv);
        ds_check_hint(c, "compare single elements with their quotients: at a kink J v is the slope of one "
                         "side, or lies between both");
    }
    if (jtv > limit) {
        ds_check_fail(c,
                      "channel %s: (J' w).v differs from difference quotients of w.values by %.2g relative "
                      "(median)",
                      t->p.ch->name, jtv);
    }
    judge_hessian(t, fmax(1e-4, t->p.differenced ? DIFFERENCED_TWICE : 0));
    note_errors(t, jv, jtv, hv, worst);
}

/* Would quotients fail the channel? Kinks spoil one point more easily than the median of five. */
static int spoilt(bench *t)
{
    const double least = t->p.differenced ? DS_CHECK_DIFFERENCED : 0,
                 limit = fmax(allowed[t->p.ch->type], least);
    return median_of(&t->error[OF_JV]) > limit || median_of(&t->error[OF_JTV]) > limit ||
           median_of(&t->error[OF_HV]) > fmax(1e-4, t->p.differenced ? DIFFERENCED_TWICE : 0);
}

/* Fewer points than POINTS may pass, but fail only if there is no time for another one. */
static int another(bench *t, uint64_t points, double begin)
{
    const double taken = ds_check_worked() - begin, each = taken / (double)(t->p.point > 0 ? t->p.point : 1);
    const unsigned unsettled = t->error[OF_JV].unsettled; /* others take their place */
    const uint64_t most = POINTS + 3 * unsettled < MOST_POINTS ? POINTS + 3 * unsettled : MOST_POINTS;
    const int too_few = unsettled > 0 && t->error[OF_JV].count < LEAST;
    return t->p.point < points ||
           (t->p.point < most && (spoilt(t) || too_few) && taken + each < 0.8 * t->p.b->c->options->timeout);
}

static void try_channel(ds_check_channels *b, uint64_t i, uint64_t points)
{
    const double begin = ds_check_worked();
    bench t = {.p = ds_check_product_point_of(b, i)};
    double *memory = ds_check_room(b->c, 6 * t.p.n + 3 * t.p.elements + 3 * t.p.most, sizeof *memory),
           *at = memory;
    if (memory == NULL) {
        return;
    }
    double **const of_n[] = {&t.p.x, &t.p.y, &t.p.v, &t.p.u};
    for (size_t k = 0; k < sizeof of_n / sizeof of_n[0]; k++, at += t.p.n) {
        *of_n[k] = at;
    }
    double *one = at, *two = one + t.p.n; /* n values each */
    t.p.w = two + t.p.n;
    t.p.low = t.p.w + t.p.elements;
    t.p.high = t.p.low + t.p.most;
    double *jv = t.p.high + t.p.most;
    t.here = jv + t.p.most;
    t.coarser = t.here + t.p.elements;
    for (t.p.point = 0; another(&t, points, begin); t.p.point++) {
        ds_check_product_draw(&t.p);
        try_jacobian(&t, jv, one);
        try_hessian(&t, one, two);
    }
    judge(&t);
    free(memory);
}

void ds_check_channel_products(ds_check *c)
{
    const uint32_t products = DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV) | DS_CAN(DS_QUERY_HV);
    ds_check_channels b;
    uint64_t with = 0;
    if (!ds_check_channels_open(c, &b)) {
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
    ds_check_channels_close(&b);
}
