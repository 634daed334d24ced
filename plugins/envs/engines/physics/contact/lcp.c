/* SPDX-License-Identifier: Apache-2.0 */
/* lcp.c - boxed linear complementarity by active sets (see lcp.h). Square systems are solved by elimination
 * with row pivoting; if that breaks down, by the pseudo-inverse from a singular value decomposition with
 * one-sided Jacobi rotations (Hestenes 1958). */
#include "lcp.h"

#include <math.h>
#include <string.h>

/* ---- square systems ---- */

static const double singular = 1e-10; /* relative to the largest pivot or singular value */

static void swap_rows(double M[][DENSE_MAX], double *x, int n, int i, int k)
{
    double t = x[k];
    x[k] = x[i];
    x[i] = t;
    for (int j = 0; j < n; j++) {
        t = M[k][j];
        M[k][j] = M[i][j];
        M[i][j] = t;
    }
}

/* Returns 0 if a pivot is too small. */
static int eliminate(int n, double M[][DENSE_MAX], double *x)
{
    double largest = 0;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++) {
            best = fabs(M[i][k]) > fabs(M[best][k]) ? i : best;
        }
        largest = fmax(largest, fabs(M[best][k]));
        if (!(fabs(M[best][k]) > singular * largest)) {
            return 0;
        }
        swap_rows(M, x, n, k, best);
        for (int i = k + 1; i < n; i++) {
            double w = M[i][k] / M[k][k];
            for (int j = k + 1; j < n; j++) {
                M[i][j] -= w * M[k][j];
            }
            x[i] -= w * x[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) {
            x[k] -= M[k][j] * x[j];
        }
        x[k] /= M[k][k];
    }
    return 1;
}

/* Makes columns a and b of M orthogonal by a rotation and applies it to V. Returns how far they were from
 * orthogonal. */
static double rotate(int n, double M[][DENSE_MAX], double V[][DENSE_MAX], int a, int b)
{
    double aa = 0, bb = 0, ab = 0;
    for (int i = 0; i < n; i++) {
        aa += M[i][a] * M[i][a];
        bb += M[i][b] * M[i][b];
        ab += M[i][a] * M[i][b];
    }
    if (!(fabs(ab) > 1e-300) || !(fabs(ab) > 1e-16 * sqrt(aa * bb))) {
        return 0;
    }
    double zeta = (bb - aa) / (2 * ab);
    double t = copysign(1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    double c = 1 / sqrt(1 + t * t), s = c * t;
    for (int i = 0; i < n; i++) {
        double p = M[i][a], q = M[i][b], v = V[i][a], w = V[i][b];
        M[i][a] = c * p - s * q;
        M[i][b] = s * p + c * q;
        V[i][a] = c * v - s * w;
        V[i][b] = s * v + c * w;
    }
    return fabs(ab) / sqrt(aa * bb);
}

/* x = V diag(1/s^2) (M V)^T r over the singular values s that are not negligible. */
static void pseudo_inverse(int n, double M[][DENSE_MAX], double *r, double *x)
{
    double V[DENSE_MAX][DENSE_MAX] = {{0}}, square[DENSE_MAX], largest = 0;
    for (int i = 0; i < n; i++) {
        V[i][i] = 1;
    }
    double off = 1;
    for (int sweep = 0; sweep < 30 && off > 1e-15; sweep++) {
        off = 0;
        for (int a = 0; a < n; a++) {
            for (int b = a + 1; b < n; b++) {
                off = fmax(off, rotate(n, M, V, a, b));
            }
        }
    }
    for (int j = 0; j < n; j++) {
        square[j] = 0;
        for (int i = 0; i < n; i++) {
            square[j] += M[i][j] * M[i][j];
        }
        largest = fmax(largest, square[j]);
        x[j] = 0;
    }
    for (int j = 0; j < n; j++) {
        if (square[j] > singular * singular * largest) {
            double along = 0;
            for (int i = 0; i < n; i++) {
                along += M[i][j] * r[i];
            }
            for (int i = 0; i < n; i++) {
                x[i] += V[i][j] * along / square[j];
            }
        }
    }
}

void dense_solve(int n, double Q[][DENSE_MAX], int transposed, double *x)
{
    double M[DENSE_MAX][DENSE_MAX], kept[DENSE_MAX][DENSE_MAX], r[DENSE_MAX];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            M[i][j] = transposed ? Q[j][i] : Q[i][j];
            kept[i][j] = M[i][j];
        }
        r[i] = x[i];
    }
    if (!eliminate(n, M, x)) {
        pseudo_inverse(n, kept, r, x);
    }
}

/* ---- complementarity ---- */

const double lcp_mixing = 1e-4;

static const double accepted = 1e-10; /* violation of an exact solution, relative */
static const double class_at = 1e-6;  /* impulses below this are zero when Gauss-Seidel decides */
static const double empty_row = 1e-9; /* squared norm of a row of A that cannot clamp */
enum { SWEEPS = 50, MOST_SETS = 256 };

/* Friction / normal impulse in class c: 0, +mu or -mu. */
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

/* The condition of row i ("f is inside its bounds and w = 0, or f is at a bound and w has the right sign") as
 * one number. */
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

/* Largest violation of the conditions in lcp.h, relative to the largest |b|. */
static double lcp_violation(const lcp *p, const double *f)
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

/* Sets contact i (a normal row and its friction row, if any) to a state by number: off, sticking, sliding
 * either way. */
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

/* Tries all active sets of a small problem; returns 1 if one satisfies the conditions. */
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
