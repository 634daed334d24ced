/* SPDX-License-Identifier: Apache-2.0 */
/* check_linear.c - conformance of products as linear maps, and of products of single elements. A product that
 * agrees with differences along random directions may still be wrong along unit vectors, which give the
 * columns of a Jacobian; and an element that is small, or one of many, is lost in the error of all together.
 */
#include "config.h"

#include "check/check_queries.h"
#include "check/check_tests.h"
#include "difference/finite_difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Unit vectors of one product, and points, at most. */
enum { UNITS = 1000, LINEAR_POINTS = 2 };
static const double LINEAR_SECONDS = 3;
/* Allowed errors of sums: relative to a number, and to the largest one; in single precision; for differences.
 */
static const double EXACT = 1e-6, BESIDE = 1e-9, SINGLE = 1e-4;

typedef struct linear {
    ds_check_product_point *t;
    uint32_t op;
    uint64_t in, out;             /* numbers of a vector, and of a product */
    double *v, *u, *sum;          /* vectors */
    double *of_v, *of_u, *of_sum; /* products with them */
    const double *w;              /* weights of H v; else NULL */
    double exact, beside;
    double end; /* time limit for unit vectors */
    uint64_t units;
} linear;

static int ask(linear *l, const double *v, double *out)
{
    return ds_check_product_get(l->t, l->op, l->t->x, v, l->w, out);
}

/* Is of_sum = a + factor * b (b NULL = 0)? Else *first receives the first wrong number. */
static int adds_up(const linear *l, const double *a, double factor, const double *b, uint64_t *first)
{
    double largest = 0;
    for (uint64_t i = 0; i < l->out; i++) {
        largest = fmax(largest, fmax(a != NULL ? fabs(a[i]) : 0, b != NULL ? fabs(factor * b[i]) : 0));
    }
    for (*first = 0; *first < l->out; ++*first) {
        const double one = a != NULL ? a[*first] : 0, two = b != NULL ? factor * b[*first] : 0;
        if (!(fabs(one + two - l->of_sum[*first]) <=
              l->exact * (fabs(one) + fabs(two)) + l->beside * largest)) {
            return 0;
        }
    }
    return 1;
}

static void fail(const linear *l, uint64_t i, const char *what, double expected)
{
    ds_check *c = l->t->b->c;
    ds_check_fail(c, "channel %s: %s is not linear: number %llu of the product with %s is %.9g, not %.9g",
                  l->t->ch->name, ds_check_op_name(l->op), (unsigned long long)i, what, l->of_sum[i],
                  expected);
    ds_check_hint(c, "a product with a derivative is linear in its vector, whatever its size and sign, and "
                     "however many numbers are 0: use no limits, thresholds, absolute values or lengths");
}

/* v times a factor. */
static int try_size(linear *l, double factor)
{
    uint64_t i;
    char what[60];
    for (i = 0; i < l->in; i++) {
        l->sum[i] = factor * l->v[i];
    }
    if (!ask(l, l->sum, l->of_sum)) {
        return 0;
    }
    for (i = 0; factor != 0 && i < l->out; i++) {
        l->of_sum[i] /= factor;
    }
    if (factor == 0) {
        for (i = 0; i < l->out && l->of_sum[i] == 0; i++) {
        }
        if (i < l->out) {
            fail(l, i, "a vector of zeros", 0);
        }
        return i == l->out;
    }
    if (!adds_up(l, l->of_v, 0, NULL, &i)) {
        snprintf(what, sizeof what, "%g v, divided by %g,", factor, factor);
        fail(l, i, what, l->of_v[i]);
        return 0;
    }
    return 1;
}

/* v + u, where u has the length `factor` along `one`, or along everything if `one` is `in`. */
static int try_sum(linear *l, uint64_t one, double factor, const char *what)
{
    uint64_t i;
    char text[100];
    for (i = 0; i < l->in; i++) {
        l->u[i] = one == l->in ? l->u[i] : i == one;
        l->sum[i] = l->v[i] + factor * l->u[i];
    }
    if (!ask(l, l->u, l->of_u) || !ask(l, l->sum, l->of_sum)) {
        return 0;
    }
    if (!adds_up(l, l->of_v, factor, l->of_u, &i)) {
        snprintf(text, sizeof text, "v + %.3g u, where u is %s,", factor, what);
        fail(l, i, text, l->of_v[i] + factor * l->of_u[i]);
        return 0;
    }
    return 1;
}

/* A unit vector alone, negated, and added to v. */
static int try_unit(linear *l, uint64_t one, double width)
{
    char what[60];
    snprintf(what, sizeof what, "unit vector %llu", (unsigned long long)one);
    if (!try_sum(l, one, width, what)) {
        return 0;
    }
    uint64_t i;
    for (i = 0; i < l->in; i++) {
        l->u[i] = -l->u[i];
    }
    if (!ask(l, l->u, l->of_sum)) {
        return 0;
    }
    if (!adds_up(l, NULL, -1, l->of_u, &i)) {
        snprintf(what, sizeof what, "minus unit vector %llu", (unsigned long long)one);
        fail(l, i, what, -l->of_u[i]);
        return 0;
    }
    return 1;
}

/* All unit vectors, or as many as there is time for, from a random one on. */
static void try_units(linear *l)
{
    const ds_check_env *env = l->t->b->c->env;
    const uint64_t count = l->in < UNITS ? l->in : UNITS, from = ds_random_u32(&l->t->b->c->random) % l->in;
    const uint64_t stride = l->in / count;
    for (uint64_t k = 0; k < count && (k < 3 || ds_check_worked() < l->end); k++) {
        const uint64_t i = (from + k * stride) % l->in;
        const double width = l->op == DS_QUERY_JTV ? 1 : env->upper[i] - env->lower[i];
        l->units++;
        if (!try_unit(l, i, width)) {
            return;
        }
    }
}

static void try_product(linear *l)
{
    static const double sizes[] = {0, -1, 0.5, 3, 1e-8, 1e8, 0x1p-200, 0x1p200};
    const int differenced = l->t->differenced;
    uint64_t left = sizeof sizes / sizeof sizes[0];
    ds_check_product_point *t = l->t;
    memcpy(l->v, l->op == DS_QUERY_JTV ? t->w : t->v, l->in * sizeof *l->v);
    memcpy(l->u, t->u, (l->op == DS_QUERY_JTV ? 0 : l->in) * sizeof *l->u);
    for (uint64_t i = 0; l->op == DS_QUERY_JTV && i < l->in; i++) {
        l->u[i] = 2 * ds_random_uniform(&t->b->c->random) - 1;
    }
    if (!ask(l, l->v, l->of_v)) {
        return;
    }
    int single = 1;
    for (uint64_t i = 0; i < l->out; i++) {
        single = single && (double)(float)l->of_v[i] == l->of_v[i];
    }
    /* Differences and smoothed values are linear only as far as their steps allow. */
    const int rough = t->differenced || t->smoothed || differenced;
    l->exact = (rough ? DS_CHECK_DIFFERENCED : single ? SINGLE : EXACT) + 4 * t->b->c->tolerance;
    l->beside = rough ? DS_CHECK_DIFFERENCED : single ? SINGLE : BESIDE;
    left = rough || single ? 4 : left; /* others may be too short or too long */
    for (uint64_t k = 0; k < left; k++) {
        if (!try_size(l, sizes[k])) {
            return;
        }
    }
    if (try_sum(l, l->in, 1, "another vector")) {
        try_units(l);
    }
}

static void try_channel(ds_check_channels *b, uint64_t channel, double end)
{
    static const uint32_t ops[] = {DS_QUERY_JV, DS_QUERY_JTV, DS_QUERY_HV};
    ds_check_product_point t = ds_check_product_point_of(b, channel);
    const uint64_t n = t.n, m = t.elements;
    double *memory = ds_check_room(b->c, 4 * n + m + 8 * t.most, sizeof *memory);
    if (memory == NULL) {
        return;
    }
    t.x = memory;
    t.y = t.x + n;
    t.v = t.y + n;
    t.u = t.v + n;
    t.w = t.u + n;
    t.low = t.w + m;
    t.high = t.low + t.most;
    double *room = t.high + t.most;
    uint64_t units = 0;
    ds_check_product_draw(&t);
    for (size_t k = 0; k < sizeof ops / sizeof ops[0] && b->c->failed == 0; k++) {
        linear l = {.t = &t, .op = ops[k], .end = end};
        l.in = ops[k] == DS_QUERY_JTV ? m : n;
        l.out = ops[k] == DS_QUERY_JV ? m : n;
        l.w = ops[k] == DS_QUERY_HV ? t.w : NULL;
        double **const parts[] = {&l.v, &l.u, &l.sum, &l.of_v, &l.of_u, &l.of_sum};
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            *parts[i] = room + i * t.most;
        }
        if (ds_check_product_can(&t, ops[k])) {
            try_product(&l);
            units += l.units;
        }
    }
    ds_check_note(b->c, "%s: %llu unit vectors", t.ch->name, (unsigned long long)units);
    free(memory);
}

void ds_check_channel_linear(ds_check *c)
{
    const uint32_t products = DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV) | DS_CAN(DS_QUERY_HV);
    ds_check_channels b;
    uint64_t with = 0, tried = 0;
    if (!ds_check_channels_open(c, &b)) {
        return;
    }
    for (uint64_t i = 0; i < b.channels.count; i++) {
        with += (b.channels.list[i]->ops & products) != 0;
    }
    const double each = with > 0 ? LINEAR_SECONDS / (double)(with * LINEAR_POINTS) : 0;
    const uint64_t points = ds_check_plan(c, "points", LINEAR_POINTS, 1,
                                          (double)with * 30 * (c->options->cost + c->options->cost_gradient));
    for (uint64_t k = 0; k < points; k++) {
        for (uint64_t i = 0; i < b.channels.count && c->failed == 0; i++) {
            if ((b.channels.list[i]->ops & products) != 0 &&
                (tried == 0 || ds_check_worked() < 0.5 * c->options->timeout)) {
                try_channel(&b, i, ds_check_worked() + each);
                tried++;
            }
        }
    }
    if (with == 0) {
        ds_check_skip(c, "no channel offers a product");
    }
    ds_check_channels_close(&b);
}

/* ---- single elements ---- */

/* Elements of one point; of these, elements with J'; points; values kept per point. */
enum { ELEMENTS = 400, PULLED = 6, ALONE = 64, ELEMENT_POINTS = 24, KEPT = 256, NAMED = 3 };

static const double ELEMENT_SECONDS = 3, COSTLY = 0.1;
/* Allowed errors relative to the derivative of the element: of products, and of products in single precision.
 */
static const double ELEMENT_EXACT = 1e-5, ELEMENT_SINGLE = 1e-4;
/* The same relative to the largest value or derivative of the channel, in whose sums small parts are lost:
 * rounding of thousands of steps, as where a motion leaves its plane of symmetry by rounding alone. */
static const double ELEMENT_LOST = 1e-12;
/* Differences lose more: a short step divides the rounding error of the values by about 1e-8. */
static const double ELEMENT_LOST_DIFFERENCED = 1e-7;

typedef struct elements {
    ds_check_product_point *t;
    /* elements of a point; index of the current one in `pick` */
    uint64_t pick[ELEMENTS], picked, element;
    size_t kept;
    double *at, *values;         /* KEPT x n, KEPT x ELEMENTS: one query gives the values of all elements */
    double *all;                 /* elements values */
    double *jv, *ju;             /* elements values each: J v, J u */
    double *row, *home;          /* n values each: J' e_k, and the saved x */
    double exact, lost, largest; /* largest of values and derivatives */
    double end, latest;          /* time limits: for new elements, and for finding a variable */
    uint64_t seen, wrong, told, undecided;
} elements;

static double element_at(void *ctx, const double *x, int *failed)
{
    elements *s = ctx;
    ds_check_product_point *t = s->t;
    size_t k = 0, bytes = t->n * sizeof *x;
    while (k < s->kept && memcmp(s->at + k * t->n, x, bytes) != 0) {
        k++;
    }
    if (k == s->kept) {
        k = s->kept < KEPT ? s->kept++ : KEPT - 1;
        memcpy(s->at + k * t->n, x, bytes);
        if (!ds_check_product_get(t, DS_QUERY_VALUE, x, NULL, NULL, s->all)) {
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
    ds_check_product_point *t = s->t;
    memset(t->high, 0, t->elements * sizeof *t->high);
    t->high[s->pick[s->element]] = 1;
    return ds_check_product_get(t, DS_QUERY_JTV, t->x, t->high, NULL, s->row);
}

/* The slope of the element along the variables first, first + 1, ... of v, from the products; 0 if there is
 * none. */
static int claimed(elements *s, uint64_t first, uint64_t count, double *slope)
{
    ds_check_product_point *t = s->t;
    if (!ds_check_product_can(t, DS_QUERY_JV)) {
        const int there = pull(s);
        *slope = ds_check_dot(count, s->row + first, t->v + first);
        return there;
    }
    memset(t->y, 0, t->n * sizeof *t->y);
    memcpy(t->y + first, t->v + first, count * sizeof *t->y);
    if (!ds_check_product_get(t, DS_QUERY_JV, t->x, t->y, NULL, t->low)) {
        return 0;
    }
    *slope = t->low[s->pick[s->element]];
    return 1;
}

/* Change of the claim over a random step of `size` widths of the box; INFINITY if there is none. */
static double change_nearby(elements *s, uint64_t first, uint64_t count, double slope, double size)
{
    ds_check_product_point *t = s->t;
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

/* Is x on a seam, where the derivatives themselves jump (difference/finite_difference.h)? */
static int on_seam(elements *s, uint64_t first, uint64_t count, double slope, double off)
{
    enum { TRIED = 6 };
    static const double FAR = 1e-6, NEAR = FAR / 16, PART = 0.3;
    for (int k = 0; k < TRIED; k++) {
        const double change = change_nearby(s, first, count, slope, NEAR);
        if (!(change <= PART * off) && !(change <= PART * change_nearby(s, first, count, slope, FAR))) {
            return 1;
        }
    }
    return 0;
}

static ds_quotient compare_element(elements *s, uint64_t first, uint64_t count, double slope, double scale)
{
    const ds_check_product_point *t = s->t;
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

/* Halves v until the variable is found. If no half is wrong, slopes do not add up as for a smooth function:
 * it is a kink. */
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
        ds_quotient a = compare_element(s, first, half, one, scale);
        ds_quotient b =
            a.verdict == DS_SLOPE_WRONG ? a : compare_element(s, first + half, count - half, two, scale);
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
    ds_check_product_point *t = s->t;
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
                      "the difference quotient %.10g +- %.1g",
                      t->ch->name, (unsigned long long)s->pick[s->element], (unsigned long long)i,
                      slope / t->v[i], q.value / t->v[i], fabs(q.spread / t->v[i]));
    }
}

/* If both products exist: do they agree about the element? */
static void fit_element(elements *s, double scale)
{
    ds_check_product_point *t = s->t;
    double parts = 0;
    if (!pull(s)) {
        return;
    }
    const double along = ds_check_dot(t->n, s->row, t->v), off = fabs(along - s->jv[s->pick[s->element]]);
    for (uint64_t i = 0; i < t->n; i++) {
        parts += fabs(s->row[i] * t->v[i]);
    }
    if (off > fmax(DS_CHECK_FITTING, t->differenced ? DS_CHECK_DIFFERENCED : 0) * fmax(parts, scale) +
                  (t->differenced ? ELEMENT_LOST_DIFFERENCED : ELEMENT_LOST) * s->largest &&
        off > 4 * t->b->c->tolerance * scale && s->told++ < NAMED) {
        ds_check_fail(
            t->b->c, "channel %s: element %llu of J v is %.10g, but J' of this element times v is %.10g",
            t->ch->name, (unsigned long long)s->pick[s->element], s->jv[s->pick[s->element]], along);
    }
}

/* Updates the largest value and the largest known derivative. */
static double largest_of(elements *s)
{
    const ds_check_product_point *t = s->t;
    int failed = 0;
    double largest = fabs(element_at(s, t->x, &failed));
    for (uint64_t k = 0; k < t->elements && !failed; k++) {
        largest = fmax(largest, fabs(s->all[k]));
        largest = ds_check_product_can(t, DS_QUERY_JV) ? fmax(largest, fmax(fabs(s->jv[k]), fabs(s->ju[k])))
                                                       : largest;
    }
    return largest;
}

static int single_precision(const elements *s)
{
    uint64_t k = 0;
    while (k < s->t->elements && (double)(float)s->jv[k] == s->jv[k]) {
        k++;
    }
    return ds_check_product_can(s->t, DS_QUERY_JV) && k == s->t->elements;
}

/* Compares some elements, including the first and the last one, each on its own. */
static void compare_elements(elements *s)
{
    ds_check_product_point *t = s->t;
    const int forward = ds_check_product_can(t, DS_QUERY_JV);
    const uint64_t most = forward ? ELEMENTS : ALONE;
    s->picked = t->elements < most ? t->elements : most;
    for (uint64_t k = 0; k < s->picked; k++) {
        const uint64_t any = ds_random_u32(&t->b->c->random) % t->elements;
        s->pick[k] = s->picked == t->elements ? k : k == 0 ? 0 : k == 1 ? t->elements - 1 : any;
    }
    ds_check_product_draw(t);
    s->kept = 0;
    if (forward && (!ds_check_product_get(t, DS_QUERY_JV, t->x, t->v, NULL, s->jv) ||
                    !ds_check_product_get(t, DS_QUERY_JV, t->x, t->u, NULL, s->ju))) {
        return;
    }
    const double rounded = single_precision(s) ? ELEMENT_SINGLE : ELEMENT_EXACT;
    s->element = 0;
    s->largest = largest_of(s);
    const uint64_t every = (s->picked + PULLED - 1) / PULLED;
    for (uint64_t k = 0; k < s->picked && !t->smoothed && (k < 2 || ds_check_worked() < s->end); k++) {
        s->element = k;
        double slope = s->jv[s->pick[k]], scale = fmax(fabs(slope), fabs(s->ju[s->pick[k]]));
        if (forward && ds_check_product_can(t, DS_QUERY_JTV) && k % every == t->point % every) {
            fit_element(s, scale);
        } else if (!forward && !pull(s)) {
            continue;
        } else if (!forward) {
            slope = ds_check_dot(t->n, s->row, t->v);
            scale = fmax(fabs(slope), fabs(ds_check_dot(t->n, s->row, t->u)));
        }
        if (t->smoothed) { /* the first result shows how it was computed */
            break;
        }
        s->exact = t->differenced ? DS_CHECK_DIFFERENCED : rounded;
        s->lost = t->differenced ? ELEMENT_LOST_DIFFERENCED : ELEMENT_LOST;
        ds_quotient q = compare_element(s, 0, t->n, slope, scale);
        s->seen++;
        if (q.verdict == DS_SLOPE_WRONG) {
            element_wrong(s, scale, slope, q);
        }
    }
}

static void try_elements(ds_check_channels *b, uint64_t i, double seconds, double latest)
{
    ds_check_product_point t = ds_check_product_point_of(b, i);
    const uint64_t n = t.n, m = t.elements;
    elements s = {.t = &t, .end = ds_check_worked() + seconds, .latest = latest};
    double *memory =
               ds_check_room(b->c, (7 + KEPT) * n + 4 * m + 2 * t.most + KEPT * ELEMENTS, sizeof *memory),
           *at = memory;
    if (memory == NULL) {
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
    t.high = t.low + t.most;
    s.at = t.high + t.most;
    s.values = s.at + KEPT * n;
    for (t.point = 0;
         t.point < ELEMENT_POINTS && (t.point == 0 || ds_check_worked() < s.end) && s.wrong < NAMED;
         t.point++) {
        compare_elements(&s);
    }
    ds_check_note(
        b->c, "%s: %llu elements at %llu points%s", t.ch->name, (unsigned long long)s.seen,
        (unsigned long long)t.point,
        t.smoothed ? ": products of smoothed values may differ from quotients: not judged"
        : s.undecided > 0
            ? "; evaluations take too long to tell kinks of some of them from errors (raise --timeout-s)"
            : "");
    free(memory);
}

static int has_elements(const ds_channel *ch)
{
    return ch->type == DS_TYPE_F64 && (ch->ops & (DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV))) != 0 &&
           (ch->ops & DS_CAN(DS_QUERY_VALUE)) != 0;
}

void ds_check_channel_elements(ds_check *c)
{
    const double begin = ds_check_worked(), most = 0.5 * c->options->timeout;
    ds_check_channels b;
    uint64_t with = 0, tried = 0;
    if (!ds_check_channels_open(c, &b)) {
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
        ds_check_hint(c,
                      "each element is compared on its own: check elements that are small, or one of many");
    }
    if (tried < with) {
        ds_check_note(c, "%llu of %llu channels, because evaluations take too long for more",
                      (unsigned long long)tried, (unsigned long long)with);
    }
    ds_check_channels_close(&b);
}
