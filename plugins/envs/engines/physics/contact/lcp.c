/* SPDX-License-Identifier: Apache-2.0 */
/* lcp.c - boxed linear complementarity by active sets (see lcp.h). */
#include "lcp.h"

#include <math.h>
#include <string.h>

const double lcp_mixing = 1e-4;

static const double accepted = 1e-10; /* violation of an exact solution, relative */
static const double class_at = 1e-6;  /* impulses below this are zero when Gauss-Seidel decides */
static const double empty_row = 1e-9; /* squared norm of a row of A that cannot clamp */
enum { SWEEPS = 50, MOST_SETS = 256 };

/* Friction over normal impulse in class c: 0, +mu or -mu. */
static double slope(const lcp *p, int row, uint8_t c)
{
    return c == LCP_UPPER ? p->mu[row] : c == LCP_LOWER ? -p->mu[row] : 0;
}

void lcp_solve_classes(const lcp *p, const uint8_t *cls, double *f)
{
    int set[DENSE_MAX], m = 0;
    double Q[DENSE_MAX][DENSE_MAX], x[DENSE_MAX];
    for (int i = 0; i < p->n; i++) {
        f[i] = 0;
        if (cls[i] == LCP_CLAMPING) {
            set[m++] = i;
        }
    }
    for (int i = 0; i < m; i++) {
        x[i] = p->b[set[i]];
        for (int j = 0; j < m; j++) {
            Q[i][j] = p->A[set[i]][set[j]];
        }
        for (int k = 0; k < p->n; k++) { /* friction at its bound follows its normal impulse */
            double s = p->normal[k] >= 0 ? slope(p, k, cls[k]) : 0;
            for (int j = 0; j < m && s != 0; j++) {
                Q[i][j] += p->normal[k] == set[j] ? s * p->A[set[i]][k] : 0;
            }
        }
    }
    dense_solve(m, Q, 0, x);
    for (int i = 0; i < m; i++) {
        f[set[i]] = x[i];
    }
    for (int k = 0; k < p->n; k++) {
        if (p->normal[k] >= 0 && cls[k] >= LCP_UPPER) {
            f[k] = slope(p, k, cls[k]) * f[p->normal[k]];
        }
    }
}

/* A condition "either f has room and w = 0, or f is at its bound and w has the right sign" as one number. */
static double row_violation(const lcp *p, const double *f, int i)
{
    double w = -p->b[i];
    for (int j = 0; j < p->n; j++) {
        w += p->A[i][j] * f[j];
    }
    if (p->normal[i] < 0) {
        return fabs(fmin(f[i], w)); /* 0 exactly where f >= 0, w >= 0, f w = 0 */
    }
    double bound = p->mu[i] * fmax(f[p->normal[i]], 0);
    double moved = fmin(bound, fmax(-bound, f[i] - w)); /* fixed point of the projection */
    return fabs(moved - f[i]);
}

double lcp_violation(const lcp *p, const double *f)
{
    double worst = 0, size = 0;
    for (int i = 0; i < p->n; i++) {
        worst = fmax(worst, row_violation(p, f, i));
        size = fmax(size, fabs(p->b[i]));
    }
    return size > 0 ? worst / size : worst;
}

static void gauss_seidel(const lcp *p, double *f)
{
    memset(f, 0, (size_t)p->n * sizeof *f);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int i = 0; i < p->n; i++) {
            double s = p->b[i], bound = p->normal[i] < 0 ? HUGE_VAL : p->mu[i] * fmax(f[p->normal[i]], 0);
            if (!(p->A[i][i] > 0)) {
                continue;
            }
            for (int j = 0; j < p->n; j++) {
                s -= j == i ? 0 : p->A[i][j] * f[j];
            }
            f[i] = fmin(bound, fmax(p->normal[i] < 0 ? 0 : -bound, s / p->A[i][i]));
        }
    }
}

static double row_norm(const lcp *p, int i)
{
    double sum = 0;
    for (int j = 0; j < p->n; j++) {
        sum += p->A[i][j] * p->A[i][j];
    }
    return sum;
}

static void classify(const lcp *p, const double *f, uint8_t *cls)
{
    for (int i = 0; i < p->n; i++) {
        int of = p->normal[i] < 0 ? i : p->normal[i];
        double room = p->normal[i] < 0 ? HUGE_VAL : p->mu[i] * f[of] - fabs(f[i]);
        cls[i] = row_norm(p, i) < empty_row || f[of] <= class_at ? LCP_NOT_CLAMPING
                 : room > class_at                               ? LCP_CLAMPING
                 : f[i] > 0                                      ? LCP_UPPER
                                                                 : LCP_LOWER;
    }
}

/* States of contact i (a normal row and perhaps its friction row) by number: off, sticking,
 * sliding either way. */
static void set_contact(const lcp *p, int i, unsigned number, uint8_t *cls)
{
    static const uint8_t friction[4] = {LCP_NOT_CLAMPING, LCP_CLAMPING, LCP_UPPER, LCP_LOWER};
    cls[i] = number ? LCP_CLAMPING : LCP_NOT_CLAMPING;
    for (int k = 0; k < p->n; k++) {
        if (p->normal[k] == i) {
            cls[k] = friction[number];
        }
    }
}

/* Tries all active sets of a small problem; 1 where one satisfies the conditions. */
static int enumerate(const lcp *p, double *f, uint8_t *cls)
{
    int contact[DENSE_MAX], contacts = 0;
    for (int i = 0; i < p->n; i++) {
        if (p->normal[i] < 0) {
            contact[contacts++] = i;
        }
    }
    unsigned states = p->n > contacts ? 4 : 2, sets = 1;
    for (int i = 0; i < contacts && sets <= MOST_SETS; i++) {
        sets *= states;
    }
    for (unsigned set = 0; sets <= MOST_SETS && set < sets; set++) {
        unsigned rest = set;
        for (int i = 0; i < contacts; i++) {
            set_contact(p, contact[i], rest % states, cls);
            rest /= states;
        }
        lcp_solve_classes(p, cls, f);
        if (lcp_violation(p, f) <= accepted) {
            return 1;
        }
    }
    return 0;
}

int lcp_solve(lcp *p, double *f, uint8_t *cls)
{
    for (int i = 0; i < p->n; i++) {
        int of = p->normal[i] < 0 ? i : p->normal[i];
        cls[i] = p->b[of] > 0 && row_norm(p, i) >= empty_row ? LCP_CLAMPING : LCP_NOT_CLAMPING;
    }
    lcp_solve_classes(p, cls, f);
    if (lcp_violation(p, f) <= accepted) {
        return LCP_GUESS;
    }
    for (int mixed = 0; mixed < 2; mixed++) {
        for (int i = 0; i < p->n && mixed; i++) {
            p->A[i][i] += lcp_mixing;
        }
        gauss_seidel(p, f);
        classify(p, f, cls);
        lcp_solve_classes(p, cls, f);
        if (lcp_violation(p, f) <= accepted || enumerate(p, f, cls)) {
            return mixed ? LCP_MIXED : LCP_REFINED;
        }
    }
    gauss_seidel(p, f);
    classify(p, f, cls);
    return LCP_APPROXIMATE;
}
