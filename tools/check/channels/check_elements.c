/* SPDX-License-Identifier: Apache-2.0 */
/* check_elements.c - conformance of products with the derivatives of single elements of a channel: what is
 * small beside others, or one of many, is lost in the errors of all together. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/channels/check_product_point.h"
#include "difference/finite_difference.h"

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
    ds_check_product_point *t;
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

/* What the products say of the element along the variables first, first + 1, ... of v; 0 where they
 * do not. */
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

/* How far the claim changes on a random way of `size` widths of the box; INFINITY: there is none. */
static double change_beside(elements *s, uint64_t first, uint64_t count, double slope, double size)
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

/* Where there are both products: do they say the same of the element? */
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

/* Some elements, the first and the last one among them, each on its own. */
static void look_at_elements(elements *s)
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
        if (t->smoothed) { /* what it is of, the first answer says */
            break;
        }
        s->exact = t->differenced ? DS_CHECK_DIFFERENCED : rounded;
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
    ds_check_product_point t = ds_check_product_point_of(b, i);
    const uint64_t n = t.n, m = t.elements;
    elements s = {.t = &t, .end = ds_check_worked() + seconds, .latest = latest};
    double *memory = calloc((7 + KEPT) * n + 4 * m + 2 * t.most + KEPT * ELEMENTS, sizeof *memory),
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
    t.high = t.low + t.most;
    s.at = t.high + t.most;
    s.values = s.at + KEPT * n;
    for (t.point = 0;
         t.point < ELEMENT_POINTS && (t.point == 0 || ds_check_worked() < s.end) && s.wrong < NAMED;
         t.point++) {
        look_at_elements(&s);
    }
    ds_check_note(b->c, "%s: %llu elements at %llu points%s", t.ch->name, (unsigned long long)s.seen,
                  (unsigned long long)t.point,
                  t.smoothed ? ": products of smoothed values may differ from quotients: not judged"
                  : s.undecided > 0
                      ? "; evaluations take too long to tell kinks of some of them from errors (--timeout-s)"
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
