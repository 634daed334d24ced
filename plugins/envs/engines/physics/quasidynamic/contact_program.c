/* SPDX-License-Identifier: Apache-2.0 */
/* contact_program.c - see contact_program.h. */
#include "contact_program.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 1e-13 /* of s in m, and of pivots relative to the diagonal */
enum { ROUNDS = 200, NEWTON = 100 };

/* Solves A x = x for a symmetric positive matrix of `n` rows of PROGRAM_ROWS numbers, which it overwrites. */
static void solve(int n, double A[][PROGRAM_ROWS], double *x)
{
    for (int k = 0; k < n; k++) {
        for (int i = k + 1; i < n; i++) {
            const double factor = A[i][k] / A[k][k];
            for (int j = k; j < n; j++) {
                A[i][j] -= factor * A[k][j];
            }
            x[i] -= factor * x[k];
        }
    }
    for (int k = n; k-- > 0;) {
        for (int j = k + 1; j < n; j++) {
            x[k] -= A[k][j] * x[j];
        }
        x[k] /= A[k][k];
    }
}

/* Entry of J Q^-1 J'. */
static double gram(const contact_program *p, int i, int j)
{
    double sum = 0;
    for (int k = 0; k < p->n; k++) {
        sum += p->J[i][k] * p->J[j][k] / p->q[k];
    }
    return sum;
}

static double slack(const contact_program *p, int i, const double *d)
{
    double s = p->gap[i];
    for (int k = 0; k < p->n; k++) {
        s += p->J[i][k] * d[k];
    }
    return s;
}

/* d and s of the forces. */
static void follow(const contact_program *p, contact_solution *out)
{
    for (int k = 0; k < p->n; k++) {
        double impulse = -p->b[k];
        for (int i = 0; i < p->m; i++) {
            impulse += out->force[i] * p->J[i][k];
        }
        out->d[k] = impulse / p->q[k];
    }
    for (int i = 0; i < p->m; i++) {
        out->s[i] = slack(p, i, out->d);
    }
}

/* Changes of the acting forces per force of row i that keep their rows closed: r = G_PP^-1 G_Pi. Returns how
 * much s_i still rises per force. */
static double respond(const contact_program *p, const contact_solution *out, int i, double *r)
{
    double A[PROGRAM_ROWS][PROGRAM_ROWS], rise = gram(p, i, i);
    for (int a = 0; a < out->count; a++) {
        for (int b = 0; b < out->count; b++) {
            A[a][b] = gram(p, out->act[a], out->act[b]);
        }
        r[a] = gram(p, out->act[a], i);
    }
    solve(out->count, A, r);
    for (int a = 0; a < out->count; a++) {
        rise -= r[a] * gram(p, out->act[a], i);
    }
    return rise;
}

static void drop(contact_solution *out, int a)
{
    out->force[out->act[a]] = 0;
    out->count--;
    memmove(out->act + a, out->act + a + 1, (unsigned)(out->count - a) * sizeof *out->act);
}

/* Raises the force of row i, which is violated, until it is closed; drops acting rows whose force becomes 0.
 * Returns 0 where that is impossible. */
static int close_row(const contact_program *p, contact_solution *out, int i, const double *margin)
{
    for (int round = 0; round < ROUNDS; round++) {
        double r[PROGRAM_ROWS];
        const double rise = respond(p, out, i, r);
        const int independent = rise > TOLERANCE * gram(p, i, i) && out->count < p->n;
        double length = independent ? -(out->s[i] - margin[i]) / rise : (double)INFINITY;
        int first = -1;
        for (int a = 0; a < out->count; a++) {
            if (r[a] > 0 && out->force[out->act[a]] / r[a] < length) {
                length = out->force[out->act[a]] / r[a];
                first = a;
            }
        }
        if (!isfinite(length)) {
            return 0;
        }
        for (int a = 0; a < out->count; a++) {
            out->force[out->act[a]] -= length * r[a];
        }
        out->force[i] += length;
        if (first >= 0) {
            drop(out, first);
        } else {
            out->act[out->count++] = i;
        }
        follow(p, out);
        if (first < 0) {
            return 1;
        }
    }
    return 0;
}

/* The hard program with s >= margin. */
static int solve_hard(const contact_program *p, const double *margin, contact_solution *out)
{
    *out = (contact_solution){.count = 0};
    follow(p, out);
    for (int round = 0; round < ROUNDS; round++) {
        int worst = -1;
        for (int i = 0; i < p->m; i++) {
            int acts = 0;
            for (int a = 0; a < out->count; a++) {
                acts |= out->act[a] == i;
            }
            const double s = out->s[i] - margin[i];
            if (isnan(s)) {
                return 0;
            }
            if (!acts && s < -TOLERANCE && (worst < 0 || s < out->s[worst] - margin[worst])) {
                worst = i;
            }
        }
        if (worst < 0) {
            return 1;
        }
        if (!close_row(p, out, worst, margin)) {
            return 0;
        }
    }
    return 0;
}

static double barrier(const contact_program *p, const double *d)
{
    double sum = 0;
    for (int k = 0; k < p->n; k++) {
        sum += 0.5 * p->q[k] * d[k] * d[k] + p->b[k] * d[k];
    }
    for (int i = 0; i < p->m; i++) {
        sum -= log(slack(p, i, d)) / p->kappa;
    }
    return sum;
}

/* Q + J' diag(1/(kappa s^2)) J */
static void curvature(const contact_program *p, const double *s, double H[][PROGRAM_ROWS])
{
    for (int k = 0; k < p->n; k++) {
        for (int l = 0; l < p->n; l++) {
            H[k][l] = k == l ? p->q[k] : 0;
            for (int i = 0; i < p->m; i++) {
                H[k][l] += p->J[i][k] * p->J[i][l] / (p->kappa * s[i] * s[i]);
            }
        }
    }
}

/* Newton's method from out->d, where all s are positive. */
static int minimise(const contact_program *p, contact_solution *out)
{
    double value = barrier(p, out->d);
    for (int round = 0; round < NEWTON; round++) {
        double H[PROGRAM_DOF][PROGRAM_ROWS], step[PROGRAM_DOF], g[PROGRAM_DOF], decrement = 0, length = 1;
        for (int k = 0; k < p->n; k++) {
            g[k] = p->q[k] * out->d[k] + p->b[k];
            for (int i = 0; i < p->m; i++) {
                g[k] -= p->J[i][k] / (p->kappa * out->s[i]);
            }
            step[k] = -g[k];
        }
        curvature(p, out->s, H);
        solve(p->n, H, step);
        for (int k = 0; k < p->n; k++) {
            decrement -= g[k] * step[k];
        }
        for (int i = 0; i < p->m; i++) {
            const double change = slack(p, i, step) - p->gap[i];
            length = out->s[i] + length * change > 0.01 * out->s[i] ? length : 0.99 * out->s[i] / -change;
        }
        /* close to the minimum rounding of the value would stop the search */
        const int is_close = p->kappa * decrement < 1e-10;
        double next[PROGRAM_DOF], reached = value;
        for (int halvings = 0; halvings < 60; halvings++, length *= 0.5) {
            for (int k = 0; k < p->n; k++) {
                next[k] = out->d[k] + length * step[k];
            }
            reached = barrier(p, next);
            if (is_close || reached <= value - 0.25 * length * decrement) {
                break;
            }
        }
        memcpy(out->d, next, sizeof next);
        value = reached;
        for (int i = 0; i < p->m; i++) {
            out->s[i] = slack(p, i, out->d);
        }
        if (p->kappa * decrement < 1e-16) {
            return 1;
        }
    }
    return 0;
}

int contact_program_solve(const contact_program *p, contact_solution *out)
{
    double margin[PROGRAM_ROWS] = {0};
    if (p->kappa == 0) {
        return solve_hard(p, margin, out);
    }
    int made = 0;
    for (double share = 0.5; !made && share > 1e-9; share *= 0.1) {
        for (int i = 0; i < p->m; i++) {
            margin[i] = share * sqrt(gram(p, i, i) / p->kappa); /* s where a single row is closed */
        }
        made = solve_hard(p, margin, out);
    }
    made = made && minimise(p, out);
    for (int i = 0; i < p->m; i++) {
        out->force[i] = 1 / (p->kappa * out->s[i]);
    }
    return made;
}

/* With y'(d condition) for y = (w, v): w solves the linearised condition for d_bar, v are the multipliers of
 * the rows. */
void contact_program_back(const contact_program *p, const contact_solution *at, const double *d_bar,
                          contact_adjoint *out)
{
    double A[PROGRAM_ROWS][PROGRAM_ROWS], w[PROGRAM_DOF], v[PROGRAM_ROWS] = {0}, z[PROGRAM_ROWS];
    memset(out, 0, sizeof *out);
    if (p->kappa == 0) {
        for (int a = 0; a < at->count; a++) {
            z[a] = 0;
            for (int k = 0; k < p->n; k++) {
                z[a] += p->J[at->act[a]][k] * d_bar[k] / p->q[k];
            }
            for (int b = 0; b < at->count; b++) {
                A[a][b] = gram(p, at->act[a], at->act[b]);
            }
        }
        solve(at->count, A, z);
        memcpy(w, d_bar, (unsigned)p->n * sizeof *w);
        for (int a = 0; a < at->count; a++) {
            v[at->act[a]] = z[a];
            for (int k = 0; k < p->n; k++) {
                w[k] -= z[a] * p->J[at->act[a]][k];
            }
        }
        for (int k = 0; k < p->n; k++) {
            w[k] /= p->q[k];
        }
    } else {
        memcpy(w, d_bar, (unsigned)p->n * sizeof *w);
        curvature(p, at->s, A);
        solve(p->n, A, w);
        for (int i = 0; i < p->m; i++) {
            for (int k = 0; k < p->n; k++) {
                v[i] += p->J[i][k] * w[k] / (p->kappa * at->s[i] * at->s[i]);
            }
        }
    }
    for (int k = 0; k < p->n; k++) {
        out->b[k] = -w[k];
    }
    for (int i = 0; i < p->m; i++) {
        out->gap[i] = -v[i];
        for (int k = 0; k < p->n; k++) {
            out->J[i][k] = at->force[i] * w[k] - v[i] * at->d[k];
        }
    }
}
