/* SPDX-License-Identifier: Apache-2.0 */
/* check_gradient.c - the gradient against difference quotients of the loss over several step sizes. A
 * quotient counts only where two step sizes agree: at a switch (contact, yield) the loss has a kink, and
 * there a quotient proves nothing. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check_host.h"
#include "check/check_tests.h"
#include "difference/finite_difference.h"

enum { POINTS = 10, COMPONENTS = 20, DIRECTIONS = 5 };

/* Largest median of the relative error that passes. Exact gradients reach 1e-8 and better. */
static const double MEDIAN_MAX = 1e-4;
/* A single component whose median error is above this is taken for wrong, whatever the others are. */
static const double COMPONENT_MAX = 1e-2;
/* Seconds for all quotients together. */
static const double SECONDS = 40;
/* Evaluations of one quotient, about: the central difference at two to three step sizes. */
static const double EVALUATIONS = 5;

typedef struct probe {
    double error; /* relative */
    double exact, quotient, spread;
    uint64_t component; /* UINT64_MAX = a direction */
    unsigned point;
    int agreed;
} probe;

typedef struct work {
    ds_check_env *env;
    double *x, *grad; /* those of env */
    double *d;
    probe *probe;
    size_t count;
    unsigned points, zero, failed;
    unsigned missing; /* of the failed points: a loss, but no gradient in numbers */
    uint32_t grad_kind;
} work;

static double loss_at(void *ctx, const double *x, int *failed)
{
    work *w = ctx;
    ds_check_answer a;
    ds_check_evaluate(w->env, x, 0, 0, NULL, &a);
    if (a.status != DS_OK || a.io.outcome > DS_EVAL_BAD_GRAD || !isfinite(a.io.loss)) {
        *failed = 1;
        return NAN;
    }
    return a.io.loss;
}

/* Everything is scaled by the width of the box, so that components of different units compare. */
static void add_probe(work *w, unsigned point, uint64_t component, double exact, ds_quotient q, double scale)
{
    probe *p = &w->probe[w->count++];
    double size = fmax(fmax(fabs(exact), fabs(q.value)), 1e-3 * scale);
    p->point = point;
    p->component = component;
    p->exact = exact;
    p->quotient = q.value;
    p->spread = q.spread;
    p->agreed = q.agreed && isfinite(q.value);
    p->error = !(size > 0) ? 0 : fabs(exact - q.value) / size;
}

static void probe_component(work *w, unsigned point, uint64_t i, double loss, double scale)
{
    double range = w->env->upper[i] - w->env->lower[i];
    ds_quotient q =
        ds_difference_component(loss_at, w, w->env->n, w->x, w->env->lower, w->env->upper, i, loss);
    q.value *= range;
    q.spread *= range;
    add_probe(w, point, i, w->grad[i] * range, q, scale);
}

static void probe_direction(ds_check *c, work *w, unsigned point, double loss, double scale)
{
    double along = 0, norm = 0;
    for (uint64_t i = 0; i < w->env->n; i++) {
        w->d[i] = ds_random_normal(&c->random);
        norm += w->d[i] * w->d[i];
    }
    for (uint64_t i = 0; i < w->env->n; i++) {
        w->d[i] *= (w->env->upper[i] - w->env->lower[i]) / sqrt(norm);
        along += w->grad[i] * w->d[i];
    }
    ds_quotient q = ds_difference(loss_at, w, w->env->n, w->x, w->env->lower, w->env->upper, w->d, loss);
    add_probe(w, point, UINT64_MAX, along, q, scale);
}

/* `components` of the n, all of them or a random choice, and `directions`. */
static void probe_point(ds_check *c, work *w, unsigned point, uint64_t components, unsigned directions)
{
    ds_check_answer a;
    double scale = 0;

    ds_check_random_point(c, w->env, w->x);
    ds_check_evaluate(w->env, w->x, DS_WANT_GRAD, 0, w->grad, &a);
    int finite = 1;
    for (uint64_t i = 0; i < w->env->n; i++) {
        finite &= isfinite(w->grad[i]) != 0;
    }
    if (a.status != DS_OK || a.io.outcome != DS_EVAL_OK || !finite) {
        w->failed++;
        w->missing += a.status == DS_OK && a.io.outcome <= DS_EVAL_BAD_GRAD && isfinite(a.io.loss);
        return;
    }
    w->grad_kind = a.io.grad_kind;
    w->points++;
    for (uint64_t i = 0; i < w->env->n; i++) {
        scale = fmax(scale, fabs(w->grad[i]) * (w->env->upper[i] - w->env->lower[i]));
    }
    w->zero += scale == 0;
    for (uint64_t k = 0; k < components; k++) {
        uint64_t i = components == w->env->n ? k : ds_random_below(&c->random, w->env->n);
        probe_component(w, point, i, a.io.loss, scale);
    }
    for (unsigned k = 0; k < directions; k++) {
        probe_direction(c, w, point, a.io.loss, scale);
    }
}

/* ---- verdict ---- */

static int by_error(const void *a, const void *b)
{
    double x = (*(const probe *const *)a)->error, y = (*(const probe *const *)b)->error;
    return (x > y) - (x < y);
}

static void name_probe(char *out, size_t size, const probe *p)
{
    if (p->component == UINT64_MAX) {
        snprintf(out, size, "a random direction");
    } else {
        snprintf(out, size, "component %llu", (unsigned long long)p->component);
    }
}

static void judge_components(ds_check *c, const work *w, const probe **list)
{
    for (uint64_t i = 0; i < w->env->n && i < 100000; i++) {
        size_t n = 0;
        for (size_t k = 0; k < w->count; k++) {
            if (w->probe[k].component == i && w->probe[k].agreed) {
                list[n++] = &w->probe[k];
            }
        }
        if (n < 5) {
            continue;
        }
        qsort(list, n, sizeof *list, by_error);
        const probe *p = list[n / 2];
        if (p->error > COMPONENT_MAX) {
            ds_check_fail(
                c,
                "component %llu is wrong at most of %zu points: %.6g, difference quotient %.6g (times the "
                "width of the box)",
                (unsigned long long)i, n, p->exact, p->quotient);
            ds_check_hint(c, "`dshost eval --gradient --fd` prints both for every component of one point");
        }
    }
}

static void judge(ds_check *c, const work *w)
{
    const probe **list = calloc(w->count + 1, sizeof *list);
    char name[64];
    size_t n = 0;

    if (list == NULL) {
        return;
    }
    for (size_t k = 0; k < w->count; k++) {
        if (w->probe[k].agreed) {
            list[n++] = &w->probe[k];
        }
    }
    ds_check_note(c,
                  "%zu differences at %u points (%u more without a gradient): %.0f %% of them usable, where "
                  "two step sizes agree; the gradient is zero at %u points",
                  w->count, w->points, w->failed, w->count > 0 ? 100.0 * (double)n / (double)w->count : 0.0,
                  w->zero);
    if (w->points == 0 && w->missing > 0) {
        ds_check_fail(c, "none of %u points has a gradient in finite numbers, though %u of them have a loss",
                      w->failed, w->missing);
        ds_check_hint(c, "find the first step whose adjoint is not finite, or leave DS_ENV_GRADIENT out of "
                         "the flags");
        free(list);
        return;
    }
    if (n == 0) {
        ds_check_note(
            c, "nothing to compare the gradient with: the loss has kinks, noise or failures everywhere");
        free(list);
        return;
    }
    qsort(list, n, sizeof *list, by_error);
    const probe *median = list[n / 2], *worst = list[n - 1];
    name_probe(name, sizeof name, worst);
    ds_check_note(
        c, "relative error: median %.2g, worst %.2g (%s at point %u: %.10g, quotient %.10g +- %.1g)",
        median->error, worst->error, name, worst->point, worst->exact, worst->quotient, worst->spread);
    if (w->grad_kind == DS_GRAD_SMOOTHED) {
        ds_check_note(c, "a smoothed gradient may differ: not judged");
    } else if (median->error > MEDIAN_MAX) {
        name_probe(name, sizeof name, median);
        ds_check_fail(
            c, "the median of the relative error is %.2g, at most %.0e passes (%s: %.10g, quotient %.10g)",
            median->error, MEDIAN_MAX, name, median->exact, median->quotient);
        ds_check_hint(c, "the gradient is d loss / d x in the units of x, neither clipped nor normalised; "
                         "test the adjoint "
                         "of one step alone, then of two; fewer steps make a wrong term visible");
    } else {
        judge_components(c, w, list);
    }
    free(list);
}

static void gradient_difference(ds_check *c)
{
    work w = {.env = c->env, .x = c->env->x, .grad = c->env->g};
    if (!w.env->has_gradient) {
        ds_check_skip(c, "no gradient with these parameters");
        return;
    }
    uint64_t n = w.env->n;
    uint64_t components = n <= COMPONENTS ? n : COMPONENTS;
    unsigned directions = n <= COMPONENTS ? 0 : DIRECTIONS, points = POINTS;
    double one = EVALUATIONS * c->options->cost;
    double affordable = one > 0 ? SECONDS / one : 1e9;
    if (affordable < (double)points * (double)(components + directions)) {
        /* A direction looks at all components at once, so few quotients are spent on directions alone. */
        points = affordable >= 50 ? 5 : affordable >= 8 ? 2 : 1;
        double each = affordable / points;
        if (each < (double)(components + directions)) {
            directions = each >= 2 ? 2 : 1;
            components = each > directions ? (uint64_t)(each - directions) : 0;
        }
        ds_check_note(c,
                      "%u points, %llu components and %u directions each, because a quotient takes about "
                      "%.2g s (smaller "
                      "parameters, given with --set, make it complete)",
                      points, (unsigned long long)components, directions, one);
    }
    w.d = calloc(n, sizeof *w.d);
    w.probe = calloc(points * (components + directions) + 1, sizeof *w.probe);
    if (w.d == NULL || w.probe == NULL) {
        ds_check_fail(c, "out of memory");
    } else {
        for (unsigned k = 0; k < points; k++) {
            probe_point(c, &w, k, components, directions);
        }
        judge(c, &w);
    }
    free(w.d);
    free(w.probe);
}

const ds_check_test ds_check_gradient_tests[] = {
    {"grad.difference", "the gradient equals difference quotients", DS_CHECK_ENV | DS_CHECK_GRADIENT, 8, 1,
     gradient_difference},
    {NULL, NULL, 0, 0, 0, NULL}};
