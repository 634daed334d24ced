/* SPDX-License-Identifier: Apache-2.0 */
/* smoke.c - simulation of smoke on a periodic grid, its adjoint and tangent. The projection is a symmetric
 * linear map of the velocities, so it is its own adjoint and its own tangent. */
#include "engines/physics/smoke/smoke.h"

#include "common/isa.h"
#include "engines/physics/smoke/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 3, LANES = 8 };

/* A state, derivatives by a state, or a direction, with borders. */
typedef struct fields {
    double *vx, *vy, *density;
} fields;

struct smoke {
    smoke_grid grid;
    const smoke_kernels *k;
    const ds_host *host;
    int stopped;
    size_t sweeps, bytes;
    uint64_t steps;
    double *states;
    fields now, next; /* current and next ones of a sweep */
    smoke_feet feet;
    double *source, *pressure[2];
    const smoke_push *push; /* NULL: none */
};

extern const smoke_kernels smoke_kernels_baseline, smoke_kernels_avx2, smoke_kernels_avx512;

/* The kernels of an instruction set, named as in smoke_create(). */
static const smoke_kernels *smoke_kernels_find(const char *isa)
{
    static const smoke_kernels *const variant[] = ISA_VARIANTS(smoke_kernels, NULL);
    const int found = isa_choose(isa);
    return found >= 0 ? variant[found] : NULL;
}

smoke *smoke_create(ds_memory *m, size_t n, size_t sweeps, uint64_t steps, const char *isa,
                    const ds_host *host)
{
    const smoke_grid grid = {.n = n, .stride = (n + 2 + LANES - 1) / LANES * LANES};
    const size_t field = smoke_field(&grid);
    smoke *s = ds_memory_take(m, 1, sizeof *s);
    double *states = ds_memory_doubles(m, (steps + 1) * FIELDS * field),
           *work = ds_memory_doubles(m, 11 * field);
    int32_t *cell = ds_memory_take(m, field, sizeof *cell);
    const smoke_kernels *kernels = smoke_kernels_find(isa);
    if (m->failed || kernels == NULL) {
        return NULL;
    }
    *s = (smoke){.grid = grid,
                 .k = kernels,
                 .host = host,
                 .sweeps = sweeps,
                 .bytes = ((steps + 1) * FIELDS + 11) * field * sizeof(double) + field * sizeof *cell,
                 .states = states,
                 .now = {work, work + field, work + 2 * field},
                 .next = {work + 3 * field, work + 4 * field, work + 5 * field},
                 .feet = {cell, work + 6 * field, work + 7 * field},
                 .source = work + 8 * field,
                 .pressure = {work + 9 * field, work + 10 * field}};
    return s;
}

/* Checked once per step. */
static int should_stop(smoke *s)
{
    if (s->host != NULL && s->host->should_stop(s->host) != 0) {
        s->stopped = 1;
    }
    return s->stopped;
}

/* ---- fields ---- */

static fields state_at(const smoke *s, uint64_t t)
{
    const size_t field = smoke_field(&s->grid);
    double *first = s->states + t * FIELDS * field;
    return (fields){first, first + field, first + 2 * field};
}

/* Fills the border from the other side. */
static void wrap(const smoke_grid *g, double *f)
{
    const size_t n = g->n, stride = g->stride;
    for (size_t i = 1; i <= n; i++) {
        f[i * stride] = f[i * stride + n];
        f[i * stride + n + 1] = f[i * stride + 1];
    }
    memcpy(f, f + n * stride, (n + 2) * sizeof *f);
    memcpy(f + (n + 1) * stride, f + stride, (n + 2) * sizeof *f);
}

static void read_field(const smoke_grid *g, const double *in, double *f)
{
    for (size_t i = 0; i < g->n; i++) {
        memcpy(f + (i + 1) * g->stride + 1, in + i * g->n, g->n * sizeof *f);
    }
    wrap(g, f);
}

static void write_field(const smoke_grid *g, const double *f, double *out)
{
    for (size_t i = 0; out != NULL && i < g->n; i++) {
        memcpy(out + i * g->n, f + (i + 1) * g->stride + 1, g->n * sizeof *f);
    }
}

static void read_fields(const smoke_grid *g, const smoke_state *in, const fields *f)
{
    read_field(g, in->vx, f->vx);
    read_field(g, in->vy, f->vy);
    read_field(g, in->density, f->density);
}

static void write_fields(const smoke_grid *g, const fields *f, const smoke_state *out)
{
    write_field(g, f->vx, out->vx);
    write_field(g, f->vy, out->vy);
    write_field(g, f->density, out->density);
}

/* ---- a step ---- */

static void carry(const smoke *s, const double *f, double *out)
{
    s->k->carry(&s->grid, &s->feet, f, out);
    wrap(&s->grid, out);
}

/* Makes velocities (with borders) nearly divergence-free. */
static void project(const smoke *s, double *vx, double *vy)
{
    const double *p = NULL;
    s->k->divergence(&s->grid, vx, vy, s->source);
    for (size_t i = 0; i < s->sweeps; i++) {
        double *better = s->pressure[i % 2];
        s->k->sweep(&s->grid, s->source, p, better);
        wrap(&s->grid, better);
        p = better;
    }
    if (p != NULL) {
        s->k->push(&s->grid, p, vx, vy);
        wrap(&s->grid, vx);
        wrap(&s->grid, vy);
    }
}

/* Position of cell c = 0 .. n^2 - 1 in a field. */
static size_t inside(const smoke_grid *g, size_t c)
{
    return (c / g->n + 1) * g->stride + c % g->n + 1;
}

static void take_cell(const fields *f, size_t at, double cell[3])
{
    cell[0] = f->vx[at];
    cell[1] = f->vy[at];
    cell[2] = f->density[at];
}

/* Adds the push to the velocities of `to`; returns 0 where one is too fast. */
static int push_cells(const smoke *s, const fields *from, const fields *to)
{
    int good = 1;
    for (size_t c = 0; c < s->grid.n * s->grid.n; c++) {
        const size_t at = inside(&s->grid, c);
        double in[3], push[2] = {0, 0};
        take_cell(from, at, in);
        s->push->add(s->push->self, in, push);
        to->vx[at] += push[0];
        to->vy[at] += push[1];
        good &= fabs(to->vx[at]) <= SMOKE_FASTEST && fabs(to->vy[at]) <= SMOKE_FASTEST;
    }
    wrap(&s->grid, to->vx);
    wrap(&s->grid, to->vy);
    return good;
}

/* Adds what the push passes on from the derivatives by the velocities after it. */
static void push_bar(const smoke *s, const fields *from, const fields *bar, const fields *out)
{
    for (size_t c = 0; c < s->grid.n * s->grid.n; c++) {
        const size_t at = inside(&s->grid, c);
        const double by[2] = {bar->vx[at], bar->vy[at]};
        double in[3], in_bar[3] = {0, 0, 0};
        take_cell(from, at, in);
        s->push->bar(s->push->self, in, by, in_bar);
        out->vx[at] += in_bar[0];
        out->vy[at] += in_bar[1];
        out->density[at] += in_bar[2];
    }
}

static void push_dot(const smoke *s, const fields *from, const fields *dot, const fields *out)
{
    for (size_t c = 0; c < s->grid.n * s->grid.n; c++) {
        const size_t at = inside(&s->grid, c);
        double in[3], in_dot[3], change[2] = {0, 0};
        take_cell(from, at, in);
        take_cell(dot, at, in_dot);
        s->push->dot(s->push->self, in, in_dot, change);
        out->vx[at] += change[0];
        out->vy[at] += change[1];
    }
    wrap(&s->grid, out->vx);
    wrap(&s->grid, out->vy);
}

/* Returns 0 where a pushed velocity is too fast. */
static int advance(const smoke *s, const fields *from, const fields *to)
{
    s->k->feet(&s->grid, from->vx, from->vy, &s->feet);
    carry(s, from->vx, to->vx);
    carry(s, from->vy, to->vy);
    if (s->push != NULL && !push_cells(s, from, to)) {
        return 0;
    }
    project(s, to->vx, to->vy);
    s->k->feet(&s->grid, to->vx, to->vy, &s->feet);
    carry(s, from->density, to->density);
    return 1;
}

static int acceptable(const smoke_grid *g, const smoke_state *start)
{
    int good = 1;
    for (size_t i = 0; i < g->n * g->n; i++) {
        good &= fabs(start->vx[i]) <= SMOKE_FASTEST && fabs(start->vy[i]) <= SMOKE_FASTEST &&
                isfinite(start->density[i]) != 0;
    }
    return good;
}

int smoke_simulate(smoke *s, const smoke_state *start, uint64_t steps)
{
    s->steps = 0;
    s->stopped = 0;
    if (!acceptable(&s->grid, start)) {
        return 0;
    }
    fields now = state_at(s, 0);
    read_fields(&s->grid, start, &now);
    for (; s->steps < steps && !should_stop(s); s->steps++) {
        fields next = state_at(s, s->steps + 1);
        if (!advance(s, &now, &next)) {
            return 0;
        }
        now = next;
    }
    return 1;
}

uint64_t smoke_steps(const smoke *s)
{
    return s->steps;
}

void smoke_set_push(smoke *s, const smoke_push *push)
{
    s->push = push;
}

int smoke_stopped(const smoke *s)
{
    return s->stopped;
}

void smoke_get(const smoke *s, uint64_t t, const smoke_state *out)
{
    const fields f = state_at(s, t);
    write_fields(&s->grid, &f, out);
}

/* ---- adjoint ---- */

/* Adds the border to the other side, where it belongs. Feet reach beyond the last row and column only. */
static void fold(const smoke_grid *g, double *f)
{
    const size_t n = g->n, stride = g->stride;
    for (size_t i = 1; i <= n + 1; i++) {
        f[i * stride + 1] += f[i * stride + n + 1];
    }
    for (size_t j = 1; j <= n; j++) {
        f[stride + j] += f[(n + 1) * stride + j];
    }
    wrap(g, f);
}

/* Sets f_bar, the derivatives of out_bar . carry(f): adds to the four cells around each foot, in the order of
 * the feet. */
static void scatter(const smoke *s, const double *out_bar, double *f_bar)
{
    const size_t n = s->grid.n, stride = s->grid.stride;
    memset(f_bar, 0, smoke_field(&s->grid) * sizeof *f_bar);
    for (size_t i = 1; i <= n; i++) {
        for (size_t c = i * stride + 1; c <= i * stride + n; c++) {
            double r = s->feet.right[c], u = s->feet.up[c], upper = out_bar[c] * r,
                   lower = out_bar[c] * (1 - r);
            double *to = f_bar + s->feet.cell[c];
            to[0] += lower * (1 - u);
            to[1] += lower * u;
            to[stride] += upper * (1 - u);
            to[stride + 1] += upper * u;
        }
    }
    fold(&s->grid, f_bar);
}

/* Turns the derivatives in s->now by `to`, the state after a step, into derivatives by `from`, the state
 * before. */
static void reverse(smoke *s, const fields *from, const fields *to)
{
    const fields bar = s->now, out = s->next;
    s->k->feet(&s->grid, to->vx, to->vy, &s->feet);
    s->k->carry_velocity_adjoint(&s->grid, &s->feet, from->density, bar.density, bar.vx, bar.vy);
    scatter(s, bar.density, out.density);
    wrap(&s->grid, bar.vx);
    wrap(&s->grid, bar.vy);
    project(s, bar.vx, bar.vy);
    s->k->feet(&s->grid, from->vx, from->vy, &s->feet);
    scatter(s, bar.vx, out.vx);
    scatter(s, bar.vy, out.vy);
    s->k->carry_velocity_adjoint(&s->grid, &s->feet, from->vx, bar.vx, out.vx, out.vy);
    s->k->carry_velocity_adjoint(&s->grid, &s->feet, from->vy, bar.vy, out.vx, out.vy);
    if (s->push != NULL) {
        push_bar(s, from, &bar, &out);
    }
    s->now = out;
    s->next = bar;
}

void smoke_adjoint(smoke *s, uint64_t from, uint64_t to, const smoke_state *bar)
{
    read_fields(&s->grid, bar, &s->now);
    for (uint64_t t = to; t-- > from && !should_stop(s);) {
        const fields before = state_at(s, t), after = state_at(s, t + 1);
        reverse(s, &before, &after);
    }
    write_fields(&s->grid, &s->now, bar);
}

/* ---- tangent ---- */

/* out_dot = the derivative of carry(f) by f in direction f_dot and by the velocity. */
static void carry_tangent(const smoke *s, const double *f, const double *f_dot, const double *vx_dot,
                          const double *vy_dot, double *out_dot)
{
    s->k->carry(&s->grid, &s->feet, f_dot, out_dot);
    s->k->carry_velocity_tangent(&s->grid, &s->feet, f, vx_dot, vy_dot, out_dot);
    wrap(&s->grid, out_dot);
}

static void forward(smoke *s, const fields *from, const fields *to)
{
    const fields dot = s->now, out = s->next;
    s->k->feet(&s->grid, from->vx, from->vy, &s->feet);
    carry_tangent(s, from->vx, dot.vx, dot.vx, dot.vy, out.vx);
    carry_tangent(s, from->vy, dot.vy, dot.vx, dot.vy, out.vy);
    if (s->push != NULL) {
        push_dot(s, from, &dot, &out);
    }
    project(s, out.vx, out.vy);
    s->k->feet(&s->grid, to->vx, to->vy, &s->feet);
    carry_tangent(s, from->density, dot.density, out.vx, out.vy, out.density);
    s->now = out;
    s->next = dot;
}

void smoke_tangent(smoke *s, uint64_t from, uint64_t to, const smoke_state *dot)
{
    read_fields(&s->grid, dot, &s->now);
    for (uint64_t t = from; t < to && !should_stop(s); t++) {
        const fields before = state_at(s, t), after = state_at(s, t + 1);
        forward(s, &before, &after);
    }
    write_fields(&s->grid, &s->now, dot);
}

const char *smoke_isa(const smoke *s)
{
    return s->k->isa;
}

size_t smoke_bytes(const smoke *s)
{
    return s->bytes;
}

/* ---- stream functions ---- */

static const double pi = 3.14159265358979323846;

struct stream {
    size_t n, waves;
    int (*vector)[2];
    double (*along)[2];    /* direction of the velocity of each wave, of length 1 */
    double *cosine, *sine; /* direction of the velocity of each wave, unit length */
};

/* Does a come before b? */
static int shorter(const int a[2], const int b[2])
{
    int la = a[0] * a[0] + a[1] * a[1], lb = b[0] * b[0] + b[1] * b[1];
    return la != lb ? la < lb : a[0] != b[0] ? a[0] < b[0] : a[1] < b[1];
}

/* Inserts a wave vector into the list of the shortest ones, which has `count` so far. */
static size_t insert(int (*list)[2], size_t count, size_t most, const int vector[2])
{
    size_t at = count < most ? count : most;
    for (; at > 0 && shorter(vector, list[at - 1]); at--) {
        if (at < most) {
            list[at][0] = list[at - 1][0];
            list[at][1] = list[at - 1][1];
        }
    }
    if (at < most) {
        list[at][0] = vector[0];
        list[at][1] = vector[1];
    }
    return count < most ? count + 1 : most;
}

/* The curl of a wave of the stream function: perpendicular to its vector, with the sines that central
 * differences give. */
static void set_direction(stream *s, size_t m)
{
    double x = sin(2 * pi * s->vector[m][1] / (double)s->n),
           y = -sin(2 * pi * s->vector[m][0] / (double)s->n);
    double norm = sqrt(x * x + y * y);
    s->along[m][0] = x / norm;
    s->along[m][1] = y / norm;
}

stream *stream_create(ds_memory *m, size_t n, size_t k)
{
    const int most = (int)k;
    size_t count = 0;
    stream *s = ds_memory_take(m, 1, sizeof *s);
    int(*vector)[2] = ds_memory_take(m, k * k, sizeof *vector);
    double(*along)[2] = ds_memory_take(m, k * k, sizeof *along);
    double *cosine = ds_memory_doubles(m, n), *sine = ds_memory_doubles(m, n);
    if (m->failed) {
        return NULL;
    }
    *s = (stream){.n = n, .waves = k * k, .vector = vector, .along = along, .cosine = cosine, .sine = sine};
    for (int a = 0; a <= most; a++) {
        for (int b = -most; b <= most; b++) {
            if (a > 0 || b > 0) {
                count = insert(vector, count, k * k, (const int[2]){a, b});
            }
        }
    }
    for (size_t i = 0; i < s->waves; i++) {
        set_direction(s, i);
    }
    for (size_t i = 0; i < n; i++) {
        cosine[i] = cos(2 * pi * (double)i / (double)n);
        sine[i] = sin(2 * pi * (double)i / (double)n);
    }
    return s;
}

void stream_wave(const stream *s, size_t wave, int vector[2])
{
    vector[0] = s->vector[wave][0];
    vector[1] = s->vector[wave][1];
}

/* The phase of wave m at (i, 0), and its increment from j to j + 1, in steps of 2 pi / n. */
static void phases(const stream *s, size_t m, size_t i, size_t *first, size_t *each)
{
    const size_t n = s->n;
    *first = (size_t)s->vector[m][0] * i % n;
    *each = (n + (size_t)s->vector[m][1]) % n;
}

void stream_velocity(const stream *s, const double *c, double *vx, double *vy)
{
    const size_t n = s->n;
    for (size_t i = 0; i < n * n; i++) {
        vx[i] = vy[i] = 0;
    }
    for (size_t m = 0; m < s->waves; m++) {
        for (size_t i = 0; i < n; i++) {
            size_t phase = 0, each = 0;
            phases(s, m, i, &phase, &each);
            for (size_t j = 0; j < n; j++) {
                double speed = c[2 * m] * s->cosine[phase] + c[2 * m + 1] * s->sine[phase];
                vx[i * n + j] += s->along[m][0] * speed;
                vy[i * n + j] += s->along[m][1] * speed;
                phase = phase + each < n ? phase + each : phase + each - n;
            }
        }
    }
}

void stream_adjoint(const stream *s, const double *vx_bar, const double *vy_bar, double *c_bar)
{
    const size_t n = s->n;
    for (size_t m = 0; m < s->waves; m++) {
        double cosine = 0, sine = 0;
        for (size_t i = 0; i < n; i++) {
            size_t phase = 0, each = 0;
            phases(s, m, i, &phase, &each);
            for (size_t j = 0; j < n; j++) {
                double bar = s->along[m][0] * vx_bar[i * n + j] + s->along[m][1] * vy_bar[i * n + j];
                cosine += s->cosine[phase] * bar;
                sine += s->sine[phase] * bar;
                phase = phase + each < n ? phase + each : phase + each - n;
            }
        }
        c_bar[2 * m] = cosine;
        c_bar[2 * m + 1] = sine;
    }
}
