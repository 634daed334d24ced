/* SPDX-License-Identifier: Apache-2.0 */
/* impulse_problem.c - contact impulses by active sets (impulse_problem.h). */
#include "engines/physics/articulated/tree/impulse_problem.h"

#include <math.h>
#include <string.h>

enum { CHANGES = 12, ROUNDS = 6, SWEEPS = 30 };

static const double accepted = 1e-11; /* violation of a condition, relative to the largest |b| */

impulse_problem *impulse_problem_create(ds_memory *m, int most)
{
    impulse_problem *p = ds_memory_take(m, 1, sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    size_t rows = 3 * (size_t)most + 1;
    p->most = most;
    p->A = ds_memory_doubles(m, rows * rows);
    p->factor = ds_memory_doubles(m, rows * rows);
    ds_memory_each(m, rows, (double **const[]){&p->b, &p->mu, &p->f, &p->z, &p->x, NULL});
    p->cls = ds_memory_take(m, rows, 1);
    p->still = ds_memory_take(m, rows, 1);
    p->next = ds_memory_take(m, rows, 1);
    p->best = ds_memory_take(m, rows, 1);
    p->row = ds_memory_take(m, rows, sizeof *p->row);
    p->pivot = ds_memory_take(m, rows, sizeof *p->pivot);
    return m->failed ? NULL : p;
}

double impulse_problem_slope(const impulse_problem *p, int i)
{
    return i % 3 == 0                   ? 0
           : p->cls[i] == IMPULSE_UPPER ? p->mu[i / 3]
           : p->cls[i] == IMPULSE_LOWER ? -p->mu[i / 3]
                                        : 0;
}

/* ---- the linear system ---- */

/* Factors the system of the clamping rows: P Q = L U, P as exchanges of rows. A sliding tangent follows the
 * normal impulse of its contact. */
static void factor_rows(impulse_problem *p)
{
    int rows = 3 * p->contacts, n = 0;
    for (int i = 0; i < rows; i++) {
        if (p->cls[i] == IMPULSE_CLAMPING) {
            p->row[n++] = i;
        }
    }
    p->clamping = n;
    for (int i = 0; i < n; i++) {
        const double *A = p->A + (size_t)p->row[i] * (size_t)rows;
        for (int j = 0; j < n; j++) {
            int c = p->row[j];
            double sum = A[c];
            for (int k = c + 1; c % 3 == 0 && k < c + 3; k++) {
                sum += impulse_problem_slope(p, k) * A[k];
            }
            p->factor[i * n + j] = sum;
        }
    }
    double *Q = p->factor;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++) {
            best = fabs(Q[i * n + k]) > fabs(Q[best * n + k]) ? i : best;
        }
        p->pivot[k] = best;
        for (int j = 0; j < n && best != k; j++) {
            double kept = Q[k * n + j];
            Q[k * n + j] = Q[best * n + j];
            Q[best * n + j] = kept;
        }
        for (int i = k + 1; i < n; i++) {
            double m = Q[i * n + k] / Q[k * n + k];
            Q[i * n + k] = m;
            for (int j = k + 1; j < n; j++) {
                Q[i * n + j] -= m * Q[k * n + j];
            }
        }
    }
}

static void exchange(double *x, int a, int b)
{
    double kept = x[a];
    x[a] = x[b];
    x[b] = kept;
}

static void solve_rows(const impulse_problem *p, double *x)
{
    int n = p->clamping;
    const double *Q = p->factor;
    for (int k = 0; k < n; k++) {
        exchange(x, k, p->pivot[k]);
    }
    for (int k = 0; k < n; k++) {
        for (int j = 0; j < k; j++) {
            x[k] -= Q[k * n + j] * x[j];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) {
            x[k] -= Q[k * n + j] * x[j];
        }
        x[k] /= Q[k * n + k];
    }
}

static void solve_columns(const impulse_problem *p, double *x)
{
    int n = p->clamping;
    const double *Q = p->factor;
    for (int k = 0; k < n; k++) {
        for (int j = 0; j < k; j++) {
            x[k] -= Q[j * n + k] * x[j];
        }
        x[k] /= Q[k * n + k];
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int i = k + 1; i < n; i++) {
            x[k] -= Q[i * n + k] * x[i];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        exchange(x, k, p->pivot[k]);
    }
}

void impulse_problem_linear(const impulse_problem *p, int transposed, double *x)
{
    for (int i = 0; i < p->clamping; i++) {
        p->x[i] = x[p->row[i]];
    }
    (transposed ? solve_columns : solve_rows)(p, p->x);
    memset(x, 0, 3 * (size_t)p->contacts * sizeof *x);
    for (int i = 0; i < p->clamping; i++) {
        x[p->row[i]] = p->x[i];
    }
}

/* ---- classes ---- */

static int can_act(const impulse_problem *p, int i)
{
    return !p->still[i - i % 3] && !p->still[i] && (i % 3 == 0 || p->mu[i / 3] > 0);
}

static void impulses_of_classes(impulse_problem *p)
{
    factor_rows(p);
    memcpy(p->f, p->b, 3 * (size_t)p->contacts * sizeof *p->f);
    impulse_problem_linear(p, 0, p->f);
    for (int i = 0; i < 3 * p->contacts; i++) {
        double slope = impulse_problem_slope(p, i);
        p->f[i] += slope * p->f[i - i % 3];
    }
}

/* Gives row i another class in p->next if its violation is large enough; returns whether it is. */
static int change(impulse_problem *p, int i, int c, double by, double limit, double *worst)
{
    if (!(by > limit)) {
        return 0;
    }
    *worst = fmax(*worst, by);
    p->next[i] = (unsigned char)c;
    return 1;
}

/* The largest violation of the conditions, as a velocity, and in p->next the classes without these
 * violations; with `one`, those of the first contact that has one. A contact that closes sticks at first or,
 * with `slide`, slides. */
static double repair(impulse_problem *p, double limit, int one, int slide)
{
    int rows = 3 * p->contacts, open = 1;
    double worst = 0;
    memcpy(p->next, p->cls, (size_t)rows);
    for (int n = 0; n < rows; n += 3) {
        double w[3], unit[3];
        int changed = 0;
        for (int k = 0; k < 3; k++) {
            const double *A = p->A + (size_t)(n + k) * (size_t)rows;
            w[k] = -p->b[n + k];
            unit[k] = A[n + k];
            for (int j = 0; j < rows; j++) {
                w[k] += A[j] * p->f[j];
            }
        }
        if (p->cls[n] == IMPULSE_OFF) {
            changed = can_act(p, n) && change(p, n, IMPULSE_CLAMPING, -w[0], limit, &worst);
            for (int k = 1; changed && k < 3; k++) {
                int slides = w[k] > 0 ? IMPULSE_LOWER : IMPULSE_UPPER;
                p->next[n + k] = (unsigned char)(!can_act(p, n + k) ? IMPULSE_OFF
                                                 : slide            ? slides
                                                                    : IMPULSE_CLAMPING);
            }
        } else if (change(p, n, IMPULSE_OFF, -p->f[n] * unit[0], limit, &worst)) {
            p->next[n + 1] = p->next[n + 2] = IMPULSE_OFF;
            changed = 1;
        } else {
            for (int k = 1; k < 3; k++) {
                int c = p->cls[n + k];
                double f = p->f[n + k], over = fabs(f) - p->mu[n / 3] * p->f[n];
                if (c == IMPULSE_CLAMPING) {
                    int end = f > 0 ? IMPULSE_UPPER : IMPULSE_LOWER;
                    changed |= change(p, n + k, end, over * unit[k], limit, &worst);
                } else if (c != IMPULSE_OFF) {
                    double back = c == IMPULSE_UPPER ? w[k] : -w[k];
                    changed |= change(p, n + k, IMPULSE_CLAMPING, back, limit, &worst);
                }
            }
        }
        if (changed && !open) {
            memcpy(p->next + n, p->cls + n, 3);
        }
        open = open && !(changed && one);
    }
    return worst;
}

static void gauss_seidel(impulse_problem *p, int sweeps, double limit)
{
    int rows = 3 * p->contacts;
    double *f = p->f;
    for (int sweep = 0; sweep < sweeps; sweep++) {
        for (int i = 0; i < rows; i++) {
            const double *A = p->A + (size_t)i * (size_t)rows;
            double rest = p->b[i], bound = i % 3 ? p->mu[i / 3] * f[i - i % 3] : HUGE_VAL;
            for (int j = 0; j < rows; j++) {
                rest -= j == i ? 0 : A[j] * f[j];
            }
            f[i] = !can_act(p, i) ? 0 : fmin(bound, fmax(i % 3 ? -bound : 0, rest / A[i]));
        }
    }
    for (int i = 0; i < rows; i++) {
        double unit = p->A[(size_t)i * (size_t)(rows + 1)], room = p->mu[i / 3] * f[i - i % 3] - fabs(f[i]);
        p->cls[i] = !can_act(p, i) || !(f[i - i % 3] * unit > limit) ? IMPULSE_OFF
                    : i % 3 == 0 || room * unit > limit              ? IMPULSE_CLAMPING
                    : f[i] > 0                                       ? IMPULSE_UPPER
                                                                     : IMPULSE_LOWER;
    }
}

void impulse_problem_solve(impulse_problem *p)
{
    int rows = 3 * p->contacts;
    double size = 0, least = HUGE_VAL;
    for (int i = 0; i < rows; i++) {
        int on = p->b[i - i % 3] > 0 && can_act(p, i);
        p->cls[i] = on ? IMPULSE_CLAMPING : IMPULSE_OFF;
        size = fmax(size, fabs(p->b[i]));
    }
    p->met = 0;
    for (int round = 0; round < ROUNDS && !p->met; round++) {
        for (int k = 0; k < CHANGES && !p->met; k++) {
            impulses_of_classes(p);
            double worst = repair(p, accepted * size, round % 2, round / 2 % 2);
            p->met = worst == 0;
            if (worst < least) {
                least = worst;
                memcpy(p->best, p->cls, (size_t)rows);
            }
            if (!p->met) {
                memcpy(p->cls, p->next, (size_t)rows);
            }
        }
        if (!p->met) {
            gauss_seidel(p, SWEEPS << round, 1e-6 * size);
        }
    }
    if (!p->met) {
        memcpy(p->cls, p->best, (size_t)rows);
        impulses_of_classes(p);
    }
}
