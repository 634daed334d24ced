/* SPDX-License-Identifier: Apache-2.0 */
/* smoke_plain.c - smoke on a periodic grid and its adjoint, cell by cell. */
#include "smoke_plain.h"

#include <math.h>
#include <string.h>

/* The four cells around (i - vx, j - vy), and the distance beyond the first. */
typedef struct foot {
    size_t cell[2][2];
    double right, up;
} foot;

static size_t wrapped(double whole, size_t n)
{
    return (size_t)(whole - floor(whole / (double)n) * (double)n) % n;
}

static foot foot_of(size_t n, size_t i, size_t j, double vx, double vy)
{
    double x = (double)i - vx, y = (double)j - vy, l = floor(x), t = floor(y);
    size_t row = wrapped(l, n), column = wrapped(t, n), next = (row + 1) % n, beside = (column + 1) % n;
    return (foot){.cell = {{row * n + column, row * n + beside}, {next * n + column, next * n + beside}},
                  .right = x - l,
                  .up = y - t};
}

static void carry(size_t n, const double *vx, const double *vy, const double *f, double *out)
{
    for (size_t c = 0; c < n * n; c++) {
        foot p = foot_of(n, c / n, c % n, vx[c], vy[c]);
        out[c] = (1 - p.right) * ((1 - p.up) * f[p.cell[0][0]] + p.up * f[p.cell[0][1]]) +
                 p.right * ((1 - p.up) * f[p.cell[1][0]] + p.up * f[p.cell[1][1]]);
    }
}

/* Adds the derivatives of out_bar . carry(f). */
static void carry_adjoint(size_t n, const double *vx, const double *vy, const double *f,
                          const double *out_bar, double *vx_bar, double *vy_bar, double *f_bar)
{
    for (size_t c = 0; c < n * n; c++) {
        foot p = foot_of(n, c / n, c % n, vx[c], vy[c]);
        double f00 = f[p.cell[0][0]], f01 = f[p.cell[0][1]], f10 = f[p.cell[1][0]], f11 = f[p.cell[1][1]];
        double bar = out_bar[c];
        vx_bar[c] -= bar * ((1 - p.up) * (f10 - f00) + p.up * (f11 - f01));
        vy_bar[c] -= bar * ((1 - p.right) * (f01 - f00) + p.right * (f11 - f10));
        f_bar[p.cell[0][0]] += bar * (1 - p.right) * (1 - p.up);
        f_bar[p.cell[0][1]] += bar * (1 - p.right) * p.up;
        f_bar[p.cell[1][0]] += bar * p.right * (1 - p.up);
        f_bar[p.cell[1][1]] += bar * p.right * p.up;
    }
}

/* f at a neighbour of (i, j). */
static double at(size_t n, const double *f, size_t i, size_t j, int di, int dj)
{
    return f[(i + n + (size_t)di) % n * n + (j + n + (size_t)dj) % n];
}

void smoke_plain_project(size_t n, size_t sweeps, double *vx, double *vy, double *work)
{
    double *source = work, *p = work + n * n, *better = work + 2 * n * n;
    memset(p, 0, n * n * sizeof *p);
    for (size_t c = 0; c < n * n; c++) {
        size_t i = c / n, j = c % n;
        source[c] = -0.5 * ((at(n, vx, i, j, 1, 0) - at(n, vx, i, j, -1, 0)) +
                            (at(n, vy, i, j, 0, 1) - at(n, vy, i, j, 0, -1)));
    }
    for (size_t k = 0; k < sweeps; k++) {
        for (size_t c = 0; c < n * n; c++) {
            size_t i = c / n, j = c % n;
            better[c] = 0.25 * (source[c] + ((at(n, p, i, j, 1, 0) + at(n, p, i, j, -1, 0)) +
                                             (at(n, p, i, j, 0, 1) + at(n, p, i, j, 0, -1))));
        }
        double *old = p;
        p = better;
        better = old;
    }
    for (size_t c = 0; c < n * n; c++) {
        size_t i = c / n, j = c % n;
        vx[c] -= 0.5 * (at(n, p, i, j, 1, 0) - at(n, p, i, j, -1, 0));
        vy[c] -= 0.5 * (at(n, p, i, j, 0, 1) - at(n, p, i, j, 0, -1));
    }
}

typedef struct plain {
    size_t n, sweeps;
    double *states; /* vx, vy, density of each */
    double *bar;    /* the same for the reverse sweep, twice */
    double *work;
} plain;

static void advance(const plain *s, const double *from, double *to)
{
    const size_t n = s->n, field = n * n;
    carry(n, from, from + field, from, to);
    carry(n, from, from + field, from + field, to + field);
    smoke_plain_project(n, s->sweeps, to, to + field, s->work);
    carry(n, to, to + field, from + 2 * field, to + 2 * field);
}

/* Turns `bar` by state `to` into derivatives by state `from`. */
static void reverse(const plain *s, const double *from, const double *to, double *bar, double *out)
{
    const size_t n = s->n, field = n * n;
    memset(out, 0, 3 * field * sizeof *out);
    carry_adjoint(n, to, to + field, from + 2 * field, bar + 2 * field, bar, bar + field, out + 2 * field);
    smoke_plain_project(n, s->sweeps, bar, bar + field, s->work);
    carry_adjoint(n, from, from + field, from, bar, out, out + field, out);
    carry_adjoint(n, from, from + field, from + field, bar + field, out, out + field, out + field);
}

static void copy_out(size_t field, const double *from, const smoke_state *to)
{
    memcpy(to->vx, from, field * sizeof *from);
    memcpy(to->vy, from + field, field * sizeof *from);
    memcpy(to->density, from + 2 * field, field * sizeof *from);
}

static void copy_in(size_t field, const smoke_state *from, double *to)
{
    memcpy(to, from->vx, field * sizeof *to);
    memcpy(to + field, from->vy, field * sizeof *to);
    memcpy(to + 2 * field, from->density, field * sizeof *to);
}

static void run(const plain *s, uint64_t steps, const smoke_state *start, const smoke_state *end,
                const smoke_state *bar)
{
    const size_t field = s->n * s->n;
    double *now = s->bar, *next = s->bar + 3 * field;
    copy_in(field, start, s->states);
    for (uint64_t t = 0; t < steps; t++) {
        advance(s, s->states + t * 3 * field, s->states + (t + 1) * 3 * field);
    }
    copy_out(field, s->states + steps * 3 * field, end);
    if (bar == NULL) {
        return;
    }
    copy_in(field, bar, now);
    for (uint64_t t = steps; t-- > 0;) {
        double *done = now;
        reverse(s, s->states + t * 3 * field, s->states + (t + 1) * 3 * field, now, next);
        now = next;
        next = done;
    }
    copy_out(field, now, bar);
}

int smoke_plain(size_t n, size_t sweeps, uint64_t steps, const smoke_state *start, const smoke_state *end,
                const smoke_state *bar)
{
    ds_memory room = {0};
    plain s = {.n = n, .sweeps = sweeps};
    s.states = ds_memory_doubles(&room, (steps + 1) * 3 * n * n);
    s.bar = ds_memory_doubles(&room, 6 * n * n);
    s.work = ds_memory_doubles(&room, 3 * n * n);
    if (!room.failed) {
        run(&s, steps, start, end, bar);
    }
    int done = !room.failed;
    ds_memory_free(&room);
    return done;
}
