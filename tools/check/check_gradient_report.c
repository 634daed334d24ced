/* SPDX-License-Identifier: Apache-2.0 */
/* check_gradient_report.c - reports the faults of a gradient and what they have in common, or how certain it
 * is that there are none. */
#include "config.h"

#include "check/check_gradient_report.h"

#include <diffsim/ext/variables.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 5 /* faults printed one by one */ };

/* Below this share of agreeing quotients, and without a disagreeing one, there is no verdict. */
static const double DECIDED_LEAST = 0.1;

/* ---- names ---- */

static void name_point(unsigned point, uint64_t noise, char *out, size_t size)
{
    static const char *const names[DS_AT_SPECIALS] = {"the start point",
                                                      "the middle of the box",
                                                      "the lower corner of the box",
                                                      "the upper corner of the box",
                                                      "a corner of the box",
                                                      "a point with half of the variables at their bounds",
                                                      "a point near the lower corner",
                                                      "a point near the upper corner",
                                                      "another point near the lower corner",
                                                      "another point near the upper corner",
                                                      "a point near a corner"};
    if (point < DS_AT_SPECIALS) {
        snprintf(out, size, "%s", names[point]);
    } else {
        snprintf(out, size, "random point %u%s", point - DS_AT_SPECIALS, noise != 0 ? ", with noise" : "");
    }
}

/* "component 7 (push.x.3)" */
static void name_component(const ds_check_env *env, uint64_t i, char *out, size_t size)
{
    const ds_env_variables *names = ds_check_extension(env, DS_EXT_VARIABLES);
    ds_variable v = {.struct_size = sizeof v, .name = ""};
    int n = snprintf(out, size, "component %" PRIu64, i);
    if (names != NULL && DS_HAS(ds_env_variables, names, describe) && names->describe != NULL &&
        env->n <= DS_MAX_NAMED && names->describe(env->self, i, &v) == DS_OK && v.name != NULL &&
        v.name[0] != '\0') {
        snprintf(out + n, size - (size_t)n, " (%.48s)", v.name);
    }
}

static void report_fault(ds_check *c, const ds_check_env *env, const ds_gradient_fault *f)
{
    char name[120], point[80];
    name_point(f->point, f->noise, point, sizeof point);
    name_component(env, f->first, name, sizeof name);
    if (f->count == 1) {
        double ratio = f->exact / f->quotient;
        char times[60] = "";
        if (fabs(f->quotient) > 10 * f->spread && isfinite(ratio) && f->exact != 0) {
            snprintf(times, sizeof times,
                     fabs(ratio - 1) < 1e-5 ? ": %.10g times what it should be"
                                            : ": %.7g times what it should be",
                     ratio);
        }
        ds_check_fail(c, "%s of the gradient is %.10g at %s, the difference quotient %.10g +- %.1g%s", name,
                      f->exact, point, f->quotient, f->spread, times);
    } else if (f->count == env->n) {
        ds_check_fail(c,
                      "along a direction of all components the gradient gives %.10g at %s, the difference "
                      "quotient is %.10g +- %.1g",
                      f->exact, point, f->quotient, f->spread);
    } else {
        ds_check_fail(c,
                      "something is wrong in components %" PRIu64 " to %" PRIu64
                      ": along a direction of them the gradient gives %.10g at %s, the difference quotient "
                      "is %.10g +- %.1g",
                      f->first, f->first + f->count - 1, f->exact, point, f->quotient, f->spread);
    }
}

/* ---- what faults have in common ---- */

/* The common factor of all wrong components; NaN if there is none. */
static double common_factor(const ds_gradient_seen *g)
{
    double low = INFINITY, high = -INFINITY;
    size_t single = 0;
    for (size_t k = 0; k < g->faults; k++) {
        const ds_gradient_fault *f = &g->fault[k];
        if (f->count == 1) {
            double ratio = f->exact / f->quotient;
            low = fmin(low, isfinite(ratio) ? ratio : (double)-INFINITY);
            high = fmax(high, isfinite(ratio) ? ratio : (double)INFINITY);
            single++;
        }
    }
    return single > 1 && high - low <= 1e-3 * fabs(high - 1) ? 0.5 * (low + high) : (double)NAN;
}

/* Do two wrong components have each other's values? */
static int exchanged(const ds_gradient_seen *g, uint64_t *one, uint64_t *two)
{
    for (size_t i = 0; i < g->faults; i++) {
        for (size_t k = i + 1; k < g->faults; k++) {
            const ds_gradient_fault *a = &g->fault[i], *b = &g->fault[k];
            double size = 1e-4 * (fabs(a->quotient) + fabs(b->quotient));
            size = fmin(size, 0.1 * fabs(a->quotient - b->quotient));
            if (a->count == 1 && b->count == 1 && a->point == b->point &&
                fabs(a->exact - b->quotient) <= size && fabs(b->exact - a->quotient) <= size) {
                *one = a->first < b->first ? a->first : b->first;
                *two = a->first < b->first ? b->first : a->first;
                return 1;
            }
        }
    }
    return 0;
}

/* Are all wrong components among the "first" or the "last" ones? Else NULL. */
static const char *at_an_end(const ds_check_env *env, const ds_gradient_seen *g)
{
    uint64_t part = env->n / 10 > 1 ? env->n / 10 : 1, low = UINT64_MAX, high = 0;
    for (size_t k = 0; k < g->faults; k++) {
        const ds_gradient_fault *f = &g->fault[k];
        low = f->first < low ? f->first : low;
        high = f->first + f->count - 1 > high ? f->first + f->count - 1 : high;
    }
    return env->n < 4                                   ? NULL
           : low == 0 && high < part                    ? "first"
           : high == env->n - 1 && low >= env->n - part ? "last"
                                                        : NULL;
}

static int all_zero(const ds_gradient_seen *g)
{
    for (size_t k = 0; k < g->faults; k++) {
        if (g->fault[k].exact != 0) {
            return 0;
        }
    }
    return 1;
}

/* Hints from where the gradient is wrong. */
static void hint_places(ds_check *c, const ds_gradient_seen *g)
{
    if (g->changes) {
        ds_check_hint(c, "two requests at one point give different gradients: some state is carried over "
                         "from call to call");
    } else if (g->start_right > 0 && g->start_wrong == 0 && g->inner_right + g->bounds_right == 0) {
        ds_check_hint(c, "it is right at the start point and nowhere else: is it computed there?");
    } else if (g->bounds_wrong > 0 && g->inner_wrong == 0 && g->inner_right > 0) {
        ds_check_hint(c, "it is wrong only where variables are at their bounds: is x clamped, and the "
                         "derivative of the clamp taken as 0?");
    } else if (g->wrong_points < g->points) {
        ds_check_hint(c, "it is wrong at some points and right at others: check branches of the simulation, "
                         "and state from other calls");
    }
}

static void hint_common(ds_check *c, const ds_check_env *env, const ds_gradient_seen *g)
{
    double factor = common_factor(g);
    uint64_t one = 0, two = 0;
    const char *end = at_an_end(env, g);
    if (exchanged(g, &one, &two)) {
        ds_check_hint(c, "components %" PRIu64 " and %" PRIu64 " are exchanged", one, two);
    } else if (all_zero(g)) {
        ds_check_hint(
            c, "a component of 0 was never added to: check for a loop that ends too early or a missing term");
    } else if (isfinite(factor)) {
        ds_check_hint(c,
                      "all of them are %.6g times what they should be: a factor is missing or counted twice",
                      factor);
    }
    if (end != NULL) {
        ds_check_hint(c, "only the %s components are wrong: check the terms of the %s step", end, end);
    }
    hint_places(c, g);
    if (g->noisy_wrong == g->wrong_points) {
        ds_check_hint(c, "it is wrong only with noise: the same key must draw the same numbers for every x, "
                         "and the gradient is that of the loss with this noise");
    }
    ds_check_hint(c, "the gradient is d loss / d x in the units of x, neither clipped nor normalised; test "
                     "the adjoint of one step alone, then of two; fewer steps make a wrong term visible");
}

static void report_faults(ds_check *c, const ds_check_env *env, const ds_gradient_seen *g)
{
    size_t told = 0;
    int single = g->components_wrong > 0;
    for (size_t k = 0; k < g->faults && told < NAMED; k++) {
        if ((g->fault[k].count == 1) == single) { /* groups only if no component is known */
            report_fault(c, env, &g->fault[k]);
            told++;
        }
    }
    if (g->components_wrong > told) {
        ds_check_note(c, "... %s%" PRIu64 " of %" PRIu64 " components are wrong", g->more ? "at least " : "",
                      g->components_wrong, env->n);
    }
    if (g->small > 0) {
        ds_check_note(c,
                      "%" PRIu64 " of the errors are below 1e-6 of a component, but most other components of "
                      "the same gradient are exact to %.1g",
                      g->small, g->exact);
    }
    ds_check_note(c, "wrong at %u of %u points", g->wrong_points, g->points);
    char *again = g->fault_x != NULL
                      ? ds_check_point_command(c->options, g->fault_x, env->n, " --gradient --fd")
                      : NULL;
    if (again != NULL) {
        ds_check_hint(c, "to see every component at that point: %s", again);
        if (g->fault_noise != 0) {
            ds_check_hint(c,
                          "it has noise: add --config F.ini, with the lines [run] and noise_key = %" PRIu64,
                          g->fault_noise);
        }
    }
    free(again);
    hint_common(c, env, g);
}

/* ---- what was seen ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void note_tally(ds_check *c, const char *what, const ds_gradient_tally *t)
{
    uint64_t all = 0;
    for (int k = 0; k <= DS_SLOPE_WRONG; k++) {
        all += t->count[k];
    }
    if (all > 0) {
        double part = 100.0 / (double)all;
        ds_check_note(c,
                      "%" PRIu64 " quotients along %s: %.3g %% agree, %.3g %% show a kink, %.3g %% cannot be "
                      "decided (jumps, noise, failures), %.3g %% disagree",
                      all, what, part * (double)t->count[DS_SLOPE_AGREES],
                      part * (double)t->count[DS_SLOPE_KINK], part * (double)t->count[DS_SLOPE_UNKNOWN],
                      part * (double)t->count[DS_SLOPE_WRONG]);
    }
}

static void note_seen(ds_check *c, const ds_check_env *env, ds_gradient_seen *g)
{
    uint64_t single = 0;
    ds_check_note(c, "%u of %u points with a loss have no gradient (%.3g %%)", g->missing, g->with_loss,
                  g->with_loss > 0 ? 100.0 * g->missing / g->with_loss : 0.0);
    ds_check_note(c,
                  "%u points whose gradient was compared (%u more without one, %u with a gradient of zero)",
                  g->points, g->failed, g->zero);
    note_tally(c, "single components", &g->components);
    note_tally(c, "random directions", &g->directions);
    for (int k = 0; k <= DS_SLOPE_WRONG; k++) {
        single += g->components.count[k];
    }
    if (g->whole == 0 && g->points > 0 && env->n > 1 && g->components_wrong == 0) {
        ds_check_note(c,
                      "there was time for %" PRIu64 " of %" PRIu64
                      " components of one point: errors of other single components show along directions "
                      "only (set smaller parameters with --set for all)",
                      single, env->n);
    }
    if (g->seams > 0) {
        ds_check_note(c,
                      "%" PRIu64 " of the kinks are seams: there the gradient equals neither side, and 1e-7 "
                      "of the box away it is another one",
                      g->seams);
    }
    if (g->bounds > 0) {
        ds_check_note(c,
                      "%" PRIu64 " of the kinks lie at a bound of the box: one step inside, the gradient "
                      "equals the quotient",
                      g->bounds);
    }
    if (g->seens > 0 && g->longest > 0) {
        qsort(g->seen, g->seens, sizeof g->seen[0], by_value);
        ds_check_note(c,
                      "where they agree, an error of %.1g of the longest component would have been noticed "
                      "(median; %.1g at worst)%s",
                      g->seen[g->seens / 2] / g->longest, g->seen[g->seens - 1] / g->longest,
                      g->single && g->points > 1 ? "; the gradient is in single precision" : "");
    }
}

static void report_not_finite(ds_check *c, const ds_check_env *env, const ds_gradient_seen *g)
{
    char name[120];
    name_component(env, g->wild_component, name, sizeof name);
    ds_check_fail(c,
                  "%s of the gradient is not finite, or not written, at %u of %u points with a loss, "
                  "although the outcome is ok",
                  name, g->wild, g->with_loss);
    char *again =
        g->wild_x != NULL ? ds_check_point_command(c->options, g->wild_x, env->n, " --gradient") : NULL;
    if (again != NULL) {
        ds_check_hint(c, "one of them: %s", again);
    }
    free(again);
    ds_check_hint(c, "set all components (the buffer is not cleared before the call, so do not add to it); "
                     "if the gradient is invalid, set the outcome to DS_EVAL_BAD_GRAD");
}

/* Points with a loss but without a gradient are a fault unless the descriptor declares them. */
static void report_holes(ds_check *c, const ds_check_env *env, const ds_gradient_seen *g)
{
    if (g->holes == 0) {
        return;
    }
    if (c->module->plugin->desc->flags & DS_ENV_GRADIENT_HOLES) {
        ds_check_note(c, "the descriptor declares points without a gradient (DS_ENV_GRADIENT_HOLES)");
        return;
    }
    ds_check_fail(c, "%u of %u points (%.3g %%) have a loss but no gradient (outcome bad_gradient)", g->holes,
                  g->with_loss, 100.0 * g->holes / g->with_loss);
    char *again =
        g->hole_x != NULL ? ds_check_point_command(c->options, g->hole_x, env->n, " --gradient") : NULL;
    if (again != NULL) {
        ds_check_hint(c, "one of them%s: %s", g->hole_noise != 0 ? " (with noise)" : "", again);
    }
    free(again);
    ds_check_hint(c, "find the first step whose adjoint is not finite: an unstable direction may overflow, "
                     "and infinity times 0 is NaN even where it does not contribute to the gradient. If the "
                     "loss has no derivative there, declare it: DS_ENV_GRADIENT_HOLES in the flags");
}

void ds_gradient_report(ds_check *c, const ds_check_env *env, ds_gradient_seen *g)
{
    uint64_t agree = g->components.count[DS_SLOPE_AGREES] + g->directions.count[DS_SLOPE_AGREES], all = 0;
    for (int k = 0; k <= DS_SLOPE_WRONG; k++) {
        all += g->components.count[k] + g->directions.count[k];
    }
    note_seen(c, env, g);
    if (g->wild > 0) {
        report_not_finite(c, env, g);
    }
    if (g->missing > 0 && g->missing == g->with_loss) {
        ds_check_fail(c, "none of %u points with a loss has a finite gradient", g->with_loss);
        ds_check_hint(c, "find the first step whose adjoint is not finite, or leave DS_ENV_GRADIENT out of "
                         "the flags");
    } else {
        report_holes(c, env, g);
    }
    if (g->kind == DS_GRAD_SMOOTHED) {
        ds_check_skip(c, "cannot decide: it is the gradient of a smoothed loss (DS_GRAD_SMOOTHED)");
    } else if (g->faults > 0 && g->components_wrong == 0 && g->wrong_points < 2) {
        /* Out of time before a component was found: a kink at this very point looks the same. */
        ds_check_skip(c, "cannot decide: along one direction of all components the gradient disagrees, and "
                         "there was no time to find the component (set smaller parameters with --set)");
    } else if (g->faults > 0) {
        report_faults(c, env, g);
    } else if (all == 0) {
        ds_check_skip(c, "cannot decide: none of %u points has a gradient to compare with", g->failed);
    } else if ((double)agree < DECIDED_LEAST * (double)all) {
        ds_check_skip(c,
                      "cannot decide: only %.2g %% of %" PRIu64
                      " quotients are usable; the others see kinks, jumps or noise",
                      100 * (double)agree / (double)all, all);
    }
}
