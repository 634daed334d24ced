/* SPDX-License-Identifier: Apache-2.0 */
/* impulses.c - the thrown cube with impulses (see throw.h): with rows J of all normals, then of all
 * directions of sliding, (J M^-1 J' + 1e-5) f = b with 0 <= f of the normals and |f| <= mu f_n along the
 * sliding, by Gauss and Seidel with projection; b = -(v_n - 0.01 depth / h), -v_t. */
#include "throw.h"

#include "vec.h"

#include <string.h>

enum { ROWS = 16, SWEEPS = 50 };
static const double mended = 0.01, softness = 1e-5, most = 1e5;

typedef struct rows {
    int contacts;
    double j[ROWS][6]; /* torque, force of a unit impulse */
    double b[ROWS], f[ROWS];
} rows;

static void set_row(rows *r, int row, const double arm[3], const double along[3])
{
    memset(r->j[row], 0, sizeof r->j[row]);
    add_cross(arm, along, r->j[row]);
    memcpy(r->j[row] + 3, along, 3 * sizeof *along);
}

/* Rows of the spheres that are in the plane. */
static void collect(double h, const double *at, const double *next, rows *r)
{
    static const double up[3] = {0, 0, 1};
    touch c[8];
    r->contacts = 0;
    const unsigned low = throw_low(at);
    for (int i = 0; i < 8; i++) {
        r->contacts += (low >> i & 1) != 0 && throw_touch(at, next, i, &c[r->contacts]);
    }
    for (int i = 0; i < r->contacts; i++) {
        const double v = sqrt(c[i].v[0] * c[i].v[0] + c[i].v[1] * c[i].v[1]);
        const double along[3] = {v > 1e-4 ? c[i].v[0] / v : 1, v > 1e-4 ? c[i].v[1] / v : 0, 0};
        set_row(r, i, c[i].arm, up);
        set_row(r, r->contacts + i, c[i].arm, along);
        r->b[i] = -c[i].v[2] + mended * c[i].depth / h;
        r->b[r->contacts + i] = -(c[i].v[0] * along[0] + c[i].v[1] * along[1]);
    }
}

static double coupling(const rows *r, int a, int b)
{
    double sum = 0;
    for (int d = 0; d < 3; d++) {
        sum += r->j[a][d] * r->j[b][d] + r->j[a][3 + d] * r->j[b][3 + d] / throw_mass;
    }
    return sum;
}

static void solve(rows *r, double mu)
{
    const int n = 2 * r->contacts;
    double a[ROWS][ROWS];
    for (int i = 0; i < n; i++) {
        r->f[i] = 0;
        for (int j = 0; j < n; j++) {
            a[i][j] = coupling(r, i, j) + (i == j ? softness : 0);
        }
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int i = 0; i < n; i++) {
            double rest = r->b[i];
            for (int j = 0; j < n; j++) {
                rest -= i != j ? a[i][j] * r->f[j] : 0;
            }
            const int normal = i < r->contacts;
            const double high = normal ? most : mu * r->f[i - r->contacts], low = normal ? 0 : -high;
            r->f[i] = fmin(high, fmax(low, rest / a[i][i]));
        }
    }
}

void throw_impulses(double h, uint64_t steps, double mu, const double start[THROW_STATES], double *out)
{
    rows r;
    memcpy(out, start, THROW_STATES * sizeof *start);
    for (uint64_t k = 0; k < steps; k++) {
        const double *at = out + k * THROW_STATES;
        double *next = out + (k + 1) * THROW_STATES;
        memcpy(next, at, THROW_STATES * sizeof *at);
        next[THROW_VELOCITY + 2] -= h * throw_gravity;
        collect(h, at, next, &r);
        solve(&r, mu);
        for (int i = 0; i < 2 * r.contacts; i++) {
            for (int d = 0; d < 3; d++) {
                next[THROW_SPIN + d] += r.j[i][d] * r.f[i];
                next[THROW_VELOCITY + d] += r.j[i][3 + d] * r.f[i] / throw_mass;
            }
        }
        throw_move(h, at, next);
    }
}
