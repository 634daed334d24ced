/* SPDX-License-Identifier: Apache-2.0 */
/* check_watch.c - the small problems, and the state of a search that objectives for points and episodes
 * share. */
#include "config.h"

#include "harness/check_watch.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- problems ---- */

static const double PI = 3.14159265358979323846;

const char *ds_check_function_name(int function)
{
    static const char *const names[DS_CHECK_FUNCTIONS] = {"sphere", "rosenbrock", "rastrigin",
                                                          "step function", "constant"};
    return function >= 0 && function < DS_CHECK_FUNCTIONS ? names[function] : "?";
}

/* The minimum is at 1.2, off the middle of the box and off the start point. */
double ds_check_problem_value(int function, uint64_t n, const double *x, double *grad)
{
    double f = 0;
    for (uint64_t i = 0; grad != NULL && i < n; i++) {
        grad[i] = 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        double z = x[i] - 1.2, g = 0;
        switch (function) {
        case DS_CHECK_SPHERE:
            f += z * z;
            g = 2 * z;
            break;
        case DS_CHECK_ROSENBROCK: /* in z + 1; for n = 1 only this term */
            f += z * z;
            g = 2 * z;
            if (i + 1 < n) {
                double y = x[i + 1] - 1.2 + 1, t = y - (z + 1) * (z + 1);
                f += 100 * t * t;
                g -= 400 * t * (z + 1);
                if (grad != NULL) {
                    grad[i + 1] += 200 * t;
                }
            }
            break;
        case DS_CHECK_RASTRIGIN:
            f += z * z + 10 * (1 - cos(2 * PI * z));
            g = 2 * z + 20 * PI * sin(2 * PI * z);
            break;
        case DS_CHECK_STEP:
            f += floor(fabs(z) + 0.5);
            break;
        default:
            f = 1;
            break;
        }
        if (grad != NULL) {
            grad[i] += g;
        }
    }
    return f;
}

uint64_t ds_check_problem_residuals(int function, uint64_t n)
{
    switch (function) {
    case DS_CHECK_SPHERE:
        return n;
    case DS_CHECK_ROSENBROCK:
        return 2 * n - 1;
    case DS_CHECK_RASTRIGIN:
        return 2 * n;
    default:
        return 0;
    }
}

void ds_check_problem_product(int function, uint64_t n, uint32_t op, const double *x, const double *v,
                              double *out)
{
    uint64_t m = ds_check_problem_residuals(function, n);
    for (uint64_t i = 0; op == DS_QUERY_JTV && i < n; i++) {
        out[i] = 0;
    }
    for (uint64_t k = 0; k < m; k++) {
        uint64_t i = k < n ? k : k - n, other = i; /* r_k = z_i, or a wave, or 10 (y - (z + 1)^2) */
        double z = x[i] - 1.2, r = z, d = 1, e = 0;
        if (k >= n && function == DS_CHECK_RASTRIGIN) {
            r = sqrt(20) * sin(PI * z);
            d = sqrt(20) * PI * cos(PI * z);
        } else if (k >= n) {
            other = i + 1;
            r = 10 * (x[other] - 1.2 + 1 - (z + 1) * (z + 1));
            d = -20 * (z + 1);
            e = 10;
        }
        if (op == DS_QUERY_VALUE) {
            out[k] = r;
        } else if (op == DS_QUERY_JV) {
            out[k] = d * v[i] + e * v[other];
        } else {
            out[i] += d * v[k];
            out[other] += e * v[k];
        }
    }
}

void ds_check_problem_make(ds_check_problem *p, uint64_t n, int has_gradient, uint64_t budget)
{
    for (uint64_t i = 0; i < n; i++) {
        p->lower[i] = -5 + 0.25 * (double)i; /* not the same for all variables */
        p->upper[i] = 5;
        p->x0[i] = -1.5;
    }
    p->problem = (ds_problem){.struct_size = sizeof p->problem,
                              .has_gradient = has_gradient != 0,
                              .n = n,
                              .lower = p->lower,
                              .upper = p->upper,
                              .x0 = p->x0,
                              .budget = budget,
                              .target = -INFINITY,
                              .loss_floor = -INFINITY};
}

/* ---- state of a search ---- */

uint64_t ds_check_hash_row(const double *x, uint64_t n, uint32_t want)
{
    uint64_t hash = want;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        hash = ds_random_mix(hash ^ bits);
    }
    return hash;
}

void ds_check_breach(ds_check_watch *w, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    w->s->broken = 1;
    if (w->s->strict) {
        ds_check_fail(w->c, "%s: %s", w->name, text);
    } else {
        ds_check_skip(w->c, "the search breaks its contract (%s: %.200s), see search.points and search.stop",
                      w->name, text);
    }
}

void ds_check_advise(const ds_check_watch *w, const char *text)
{
    if (w->s->strict) {
        ds_check_hint(w->c, "%s", text);
    }
}

ds_status ds_check_watch_stop(ds_check_watch *w)
{
    if (!w->stopped) {
        w->s->told_stop = ds_check_now() - w->begin;
    }
    w->stopped = 1;
    return DS_STOPPED;
}

ds_status ds_check_called_after(ds_check_watch *w)
{
    if (++w->s->asked_after >= DS_CHECK_AFTER_CUT) {
        longjmp(w->cut, 1);
    }
    return DS_STOPPED;
}

int ds_check_is_hurried(ds_check_watch *w)
{
    return atomic_load(&w->h.stop) != 0;
}

int ds_check_time_is_up(ds_check_watch *w)
{
    return ds_check_is_hurried(w) || (w->s->seconds > 0 && ds_check_now() - w->begin >= w->s->seconds);
}
