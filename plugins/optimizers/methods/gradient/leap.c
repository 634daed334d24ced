/* SPDX-License-Identifier: Apache-2.0 */
/* leap.c - the semi-local search of BO-Leap as a state machine, see leap.h. */
#include "methods/gradient/leap.h"

#include "methods/base/rank.h"

#include <diffsim/helper/box.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RETRIES 5    /* generations without a single success before a leap is given up */
#define MAX_REDRAWS 100  /* draws of a sample outside the box with LEAP_RESAMPLE */
#define RESUME_GAIN 0.01 /* share of what there may be to gain that makes a leap go on */
#define LONGEST 40       /* longest descent with LEAP_RIVAL, */
#define CAREFUL 0.7      /* and the factor of its learning rate after a failure */

int leap_init(leap *l, size_t n, const leap_options *options)
{
    size_t K = options->K > 0 ? options->K : 1;
    memset(l, 0, sizeof(*l));
    l->n = n;
    l->options = *options;
    ds_memory_each(&l->memory, K * n, (double **const[]){&l->x, &l->ranked, NULL});
    ds_memory_each(&l->memory, n, (double **const[]){&l->s_1, &l->s, &l->shift, NULL});
    l->loss = ds_memory_doubles(&l->memory, K);
    l->order = ds_memory_take(&l->memory, K, sizeof(*l->order));
    int ok = !l->memory.failed && descent_init(&l->descent, n, &options->descent) &&
             cma2001_init(&l->cma, n, K, options->K > 0 ? options->mu : 1, options->weights, options->update);
    l->mean = l->cma.mean;
    return ok;
}

void leap_free(leap *l)
{
    cma2001_free(&l->cma);
    descent_free(&l->descent);
    ds_memory_free(&l->memory);
}

/* x_k ~ N(mu_i, sigma_i^2 C_i), inside the box. */
static void draw_sample(leap *l, double *x)
{
    int inside = 0, draws = l->options.bounds == LEAP_RESAMPLE ? MAX_REDRAWS : 0;
    for (int draw = 0; draw <= draws && !inside; draw++) {
        cma2001_sample(&l->cma, &l->rng, x);
        inside = 1;
        for (size_t k = 0; k < l->n; k++) {
            inside &= x[k] >= -1.0 && x[k] <= 1.0;
        }
    }
    for (size_t k = 0; k < l->n; k++) {
        x[k] = ds_box_clamp(x[k], -1.0, 1.0);
    }
}

static void draw_samples(leap *l)
{
    for (size_t k = 0; k < l->options.K; k++) {
        draw_sample(l, l->x + k * l->n);
    }
    l->state = LEAP_SAMPLES;
}

/* A generation begins only where its samples and one step of its descent fit. */
static void begin_generation(leap *l)
{
    l->state = LEAP_OVER;
    l->failures = 0;
    if (l->options.K > 0 && l->left >= (int64_t)l->options.K + (l->J > 0)) {
        draw_samples(l);
    }
}

static void begin_descent(leap *l, const double *start)
{
    descent_begin(&l->descent, start, l->J < l->left ? l->J : l->left);
    l->state = LEAP_DESCENT;
}

void leap_begin(leap *l, const double *start, uint64_t number, ds_random rng)
{
    cma2001_start(&l->cma, start, l->options.sigma); /* mu_1 = x_n, C_1 = I */
    l->descent.options = l->options.descent;
    l->number = number;
    l->rng = rng;
    l->J = l->options.J;
    l->left = l->options.steps;
    l->best = l->best_before = l->first_best = INFINITY;
    l->is_first = l->J > 0 && (l->options.first || l->options.K == 0);
    l->at_start = l->is_first;
    if (l->is_first) {
        begin_descent(l, start);
    } else {
        begin_generation(l);
    }
}

size_t leap_points(const leap *l, const double **points)
{
    *points = l->state == LEAP_SAMPLES ? l->x : l->descent.s;
    return l->state == LEAP_SAMPLES ? l->options.K : l->state == LEAP_DESCENT;
}

int leap_wants_gradient(const leap *l)
{
    return l->state == LEAP_DESCENT || (l->state == LEAP_SAMPLES && l->options.gradients);
}

static void adapt_descent(leap *l)
{
    if (l->options.lengths == LEAP_RIVAL) {
        if (l->descent.best_loss < l->loss[l->order[0]]) {
            l->J = l->J * 2 < LONGEST ? l->J * 2 : LONGEST;
        } else {
            l->J = l->J > 1 ? l->J / 2 : 1;
            l->descent.options.lr *= CAREFUL;
        }
    } else if (l->options.lengths == LEAP_TRUST) {
        if (l->descent.best_loss < l->start_loss) {
            l->J = l->J * 2 < l->options.J ? l->J * 2 : l->options.J;
        } else if (l->J > 2) {
            l->J = l->J > 5 ? l->J / 2 : 2;
        }
    }
}

/* mu_{i+1} = s_J; eq. 14 to 17 */
static void end_generation(leap *l, int descended)
{
    const double *s_J = l->s;
    if (descended) {
        s_J = l->options.mean == LEAP_MEAN_LAST ? l->descent.last : l->descent.best;
        if (!isfinite(l->descent.best_loss)) {
            s_J = l->ranked; /* the mean cannot be simulated: go on from the best sample */
        }
        adapt_descent(l);
    }
    memmove(l->s, s_J, l->n * sizeof(double));
    if (descended || l->options.gradients) {
        ds_box_snap(l->n, l->s);
    }
    s_J = l->s;
    const double *x_new = l->options.path == LEAP_PATH_SAMPLES ? l->s_1 : s_J;
    for (size_t k = 0; k < l->n; k++) {
        l->shift[k] = x_new[k] - l->cma.mean[k];
    }
    if (l->options.path == LEAP_PATH_MOVED) {
        cma2001_clip_shift(&l->cma, l->shift);
    }
    cma2001_update(&l->cma, l->shift, l->ranked, l->finite, s_J);
    begin_generation(l);
}

static double norm2(size_t n, const double *g)
{
    double norm = 0.0;
    for (size_t i = 0; i < n; i++) {
        norm = hypot(norm, g[i]); /* squares of huge gradients overflow */
    }
    return norm;
}

/* s = s_1, moved by the gradients of the samples where they are known. Directions are averaged: one long
 * gradient has no more say than others, and where they contradict each other the step is short. */
static void move_start(leap *l, const double *gradient, const uint32_t *outcome)
{
    const size_t n = l->n;
    size_t known = 0;
    memset(l->s, 0, n * sizeof(double));
    for (size_t k = 0; l->options.gradients && k < l->options.K; k++) {
        const double *g = gradient + k * n, norm = outcome[k] == DS_EVAL_OK ? norm2(n, g) : 0.0;
        for (size_t i = 0; norm > 0.0 && i < n; i++) {
            l->s[i] += g[i] / norm;
        }
        known += norm > 0.0;
    }
    const double narrowed = fmin(1.0, l->cma.sigma / l->options.sigma),
                 step = known > 0 ? l->descent.options.lr * sqrt((double)n) * narrowed / (double)known : 0.0;
    for (size_t i = 0; i < n; i++) {
        l->s[i] = known > 0 ? ds_box_clamp(l->s_1[i] - step * l->s[i], -1.0, 1.0) : l->s_1[i];
    }
}

static void note_best(leap *l, double loss)
{
    l->best = fmin(l->best, loss);
    l->first_best = isfinite(l->first_best) ? l->first_best : l->best;
}

static void tell_samples(leap *l, const double *loss, const double *gradient, const uint32_t *outcome)
{
    size_t K = l->options.K;
    l->left -= (int64_t)K;
    memcpy(l->loss, loss, K * sizeof(double));
    l->finite = rank_rows(K, l->n, l->x, l->loss, l->order, l->ranked);
    if (l->finite == 0) { /* again with half the width */
        l->state = LEAP_OVER;
        if (++l->failures <= MAX_RETRIES && l->left >= (int64_t)K) {
            l->cma.sigma *= 0.5;
            draw_samples(l);
        }
        return;
    }
    note_best(l, l->loss[l->order[0]]);
    cma2001_recombine(&l->cma, l->ranked, l->finite, l->s_1); /* s_1 = mean of Kbest */
    move_start(l, gradient, outcome);
    if (l->J > 0 && l->left > 0) {
        begin_descent(l, l->s);
    } else {
        end_generation(l, 0);
    }
}

static void tell_step(leap *l, double loss, const double *gradient, uint32_t outcome)
{
    l->left--;
    l->at_start = 0;
    note_best(l, loss);
    if (l->descent.told == 0) {
        l->start_loss = loss;
    }
    if (descent_tell(&l->descent, loss, gradient, outcome)) {
        return;
    }
    if (!l->is_first) {
        end_generation(l, 1);
        return;
    }
    l->is_first = 0;
    if (isfinite(l->descent.best_loss)) {
        memcpy(l->cma.mean, l->descent.best, l->n * sizeof(double));
        ds_box_snap(l->n, l->cma.mean);
    }
    begin_generation(l);
}

void leap_tell(leap *l, const double *loss, const double *gradient, const uint32_t *outcome)
{
    if (l->state == LEAP_SAMPLES) {
        tell_samples(l, loss, gradient, outcome);
    } else {
        tell_step(l, loss[0], gradient, outcome[0]);
    }
}

int leap_resume(leap *l, double run_best)
{
    /* possible gain: the distance to the floor, or, without a floor, the gain so far */
    const double left =
        isfinite(l->options.floor) ? l->best_before - l->options.floor : l->first_best - l->best_before;
    int gained = !isfinite(l->best_before) || l->best_before - l->best > RESUME_GAIN * left;
    if (!isfinite(l->best) || l->best > run_best || !gained) {
        return 0;
    }
    l->best_before = l->best;
    l->left = l->options.steps;
    begin_generation(l);
    return l->state != LEAP_OVER;
}
