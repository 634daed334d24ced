/* SPDX-License-Identifier: Apache-2.0 */
/* linesearch.c - safeguarded cubic and quadratic interpolation on a shrinking interval, see
 * linesearch.h. Section and case numbers are those of More and Thuente (1994). */
#include "methods/gradient/linesearch.h"

#include <math.h>

#define SHRINK 0.66     /* the interval must lose a third of its length in two trials */
#define EXTRAPOLATE 4.0 /* a trial beyond an interval that holds no minimiser yet */

void line_search_start(line_search *s, double f, double g, double step, double step_max)
{
    s->decrease = 1e-3;
    s->curvature = 0.9;
    s->width_tol = 0.1;
    s->step_min = 0.0;
    s->step_max = step_max;
    s->start = (line_point){0.0, f, g};
    s->best = s->start;
    s->other = s->start;
    s->trial_min = 0.0;
    s->trial_max = step + EXTRAPOLATE * step;
    s->width = step_max;
    s->width_before = 2.0 * step_max;
    s->bracketed = 0;
    s->auxiliary = 1;
}

/* Distance from b of the minimiser of the cubic through a and b, as a fraction of a.t - b.t. `middle` is the
 * weight of the slopes in the denominator that the four cases share. */
static double cubic_gamma(const line_point *a, const line_point *b, double *theta)
{
    *theta = 3.0 * (a->f - b->f) / (b->t - a->t) + a->g + b->g;
    double scale = fmax(fabs(*theta), fmax(fabs(a->g), fabs(b->g)));
    double inner = (*theta / scale) * (*theta / scale) - (a->g / scale) * (b->g / scale);
    return scale * sqrt(fmax(0.0, inner));
}

static double closer_to(double t, double a, double b)
{
    return fabs(a - t) < fabs(b - t) ? a : b;
}

/* Section 4: the next trial from the best point x, the other end y and the trial p just evaluated; then the
 * interval is updated. Values are those of phi or of the auxiliary function. */
static double interpolate(line_point *x, line_point *y, const line_point *p, int *bracketed, double tmin,
                          double tmax)
{
    double theta, gamma, next;
    double opposite = p->g * (x->g / fabs(x->g));
    if (p->f > x->f) { /* case 1: higher value */
        gamma = cubic_gamma(x, p, &theta);
        gamma = p->t < x->t ? -gamma : gamma;
        double r = ((gamma - x->g) + theta) / (((gamma - x->g) + gamma) + p->g);
        double cubic = x->t + r * (p->t - x->t);
        double secant = (x->f - p->f) / (p->t - x->t) + x->g;
        double quadratic = x->t + 0.5 * (x->g / secant) * (p->t - x->t);
        next = fabs(cubic - x->t) < fabs(quadratic - x->t) ? cubic : cubic + 0.5 * (quadratic - cubic);
        *bracketed = 1;
    } else if (opposite < 0.0) { /* case 2: lower value, slope of opposite sign */
        gamma = cubic_gamma(x, p, &theta);
        gamma = p->t > x->t ? -gamma : gamma;
        double r = ((gamma - p->g) + theta) / (((gamma - p->g) + gamma) + x->g);
        double cubic = p->t + r * (x->t - p->t);
        double quadratic = p->t + (p->g / (p->g - x->g)) * (x->t - p->t);
        next = fabs(cubic - p->t) > fabs(quadratic - p->t) ? cubic : quadratic;
        *bracketed = 1;
    } else if (fabs(p->g) < fabs(x->g)) { /* case 3: lower value, same sign, smaller slope */
        gamma = cubic_gamma(x, p, &theta);
        gamma = p->t > x->t ? -gamma : gamma;
        double r = ((gamma - p->g) + theta) / ((gamma + (x->g - p->g)) + gamma);
        double cubic = r < 0.0 && gamma != 0.0 ? p->t + r * (x->t - p->t) : (p->t > x->t ? tmax : tmin);
        double quadratic = p->t + (p->g / (p->g - x->g)) * (x->t - p->t);
        if (*bracketed) {
            double limit = p->t + SHRINK * (y->t - p->t);
            next = closer_to(p->t, cubic, quadratic);
            next = p->t > x->t ? fmin(limit, next) : fmax(limit, next);
        } else {
            next = fabs(cubic - p->t) > fabs(quadratic - p->t) ? cubic : quadratic;
            next = fmax(tmin, fmin(tmax, next));
        }
    } else if (*bracketed) { /* case 4: lower value, same sign, slope not smaller */
        gamma = cubic_gamma(p, y, &theta);
        gamma = p->t > y->t ? -gamma : gamma;
        double r = ((gamma - p->g) + theta) / (((gamma - p->g) + gamma) + y->g);
        next = p->t + r * (y->t - p->t);
    } else {
        next = p->t > x->t ? tmax : tmin;
    }
    if (p->f > x->f) {
        *y = *p;
    } else {
        if (opposite < 0.0) {
            *y = *x;
        }
        *x = *p;
    }
    return next;
}

int line_search_next(line_search *s, double f, double g, double *step)
{
    if (!isfinite(f) || !isfinite(g)) {
        /* never at the failed step again: an extrapolation would be cut to step_max */
        s->step_max = s->trial_max = s->best.t + 0.5 * (*step - s->best.t);
        *step = s->best.t + 0.2 * (*step - s->best.t);
        return LINE_EVALUATE;
    }
    double slope = s->decrease * s->start.g;
    double allowed = s->start.f + *step * slope;
    if (s->auxiliary && f <= allowed && g >= 0.0) {
        s->auxiliary = 0;
    }
    int narrow = s->bracketed && (*step <= s->trial_min || *step >= s->trial_max ||
                                  s->trial_max - s->trial_min <= s->width_tol * s->trial_max);
    int longest = *step == s->step_max && f <= allowed && g <= slope;
    if (narrow || longest || (f <= allowed && fabs(g) <= -s->curvature * s->start.g)) {
        return LINE_DONE;
    }
    line_point trial = {*step, f, g};
    if (s->auxiliary && f <= s->best.f && f > allowed) {
        line_point *ends[3] = {&s->best, &s->other, &trial};
        for (int i = 0; i < 3; i++) {
            ends[i]->f -= ends[i]->t * slope;
            ends[i]->g -= slope;
        }
        *step = interpolate(&s->best, &s->other, &trial, &s->bracketed, s->trial_min, s->trial_max);
        for (int i = 0; i < 2; i++) {
            ends[i]->f += ends[i]->t * slope;
            ends[i]->g += slope;
        }
    } else {
        *step = interpolate(&s->best, &s->other, &trial, &s->bracketed, s->trial_min, s->trial_max);
    }
    if (s->bracketed) {
        if (fabs(s->other.t - s->best.t) >= SHRINK * s->width_before) {
            *step = s->best.t + 0.5 * (s->other.t - s->best.t);
        }
        s->width_before = s->width;
        s->width = fabs(s->other.t - s->best.t);
        s->trial_min = fmin(s->best.t, s->other.t);
        s->trial_max = fmax(s->best.t, s->other.t);
    } else {
        s->trial_min = *step + 1.1 * (*step - s->best.t);
        s->trial_max = *step + EXTRAPOLATE * (*step - s->best.t);
    }
    *step = fmax(s->step_min, fmin(s->step_max, *step));
    if (s->bracketed && (*step <= s->trial_min || *step >= s->trial_max ||
                         s->trial_max - s->trial_min <= s->width_tol * s->trial_max)) {
        *step = s->best.t; /* no further progress possible: end at the best point */
    }
    return LINE_EVALUATE;
}
