/* SPDX-License-Identifier: Apache-2.0 */
/* bench_bodies.c - processor time of the engines for smoke and rigid bodies on one core: smoke on each
 * instruction set against the plain engine in the same run; roll-outs of a cube that falls to the ground,
 * by its contact points. Prints one JSON object per line. bench/bench_bodies */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "engines/physics/rigid/body.h"
#include "engines/physics/rigid/rigid.h"
#include "tests/envs/engines/physics/smoke/smoke_plain.h"
#include "engines/physics/smoke/smoke.h"

enum { N = 110, FIELD = N * N, SWEEPS = 6, STEPS = 99, ROUNDS = 5, ROLL = 1920, MOST = 512 };

static double now_ms(void)
{
    return 1e3 * bench_cpu_s();
}

/* ---- smoke ---- */

typedef struct scene {
    double start[3 * FIELD], end[3 * FIELD], bar[3 * FIELD];
} scene;

static smoke_state view(double *numbers)
{
    return (smoke_state){numbers, numbers + FIELD, numbers + 2 * FIELD};
}

/* Two vortices of up to 2 cells per step; smoke in the last third. */
static void set_scene(scene *s)
{
    for (int c = 0; c < FIELD; c++) {
        double x = 6.283185307179586 * (c / N) / N, y = 6.283185307179586 * (c % N) / N;
        s->start[c] = 2 * cos(x) * sin(y);
        s->start[FIELD + c] = -2 * sin(x) * cos(y);
        s->start[2 * FIELD + c] = c / N >= 73;
    }
}

static void set_derivatives(scene *s)
{
    memset(s->bar, 0, sizeof s->bar);
    for (int c = 0; c < FIELD; c++) {
        s->bar[2 * FIELD + c] = s->end[2 * FIELD + c] / FIELD;
    }
}

static double time_plain(scene *s)
{
    const smoke_state start = view(s->start), end = view(s->end), bar = view(s->bar);
    double best = INFINITY;
    for (int round = 0; round < 2; round++) {
        set_derivatives(s);
        double begin = now_ms();
        smoke_plain(N, SWEEPS, STEPS, &start, &end, &bar);
        best = fmin(best, now_ms() - begin);
    }
    return best;
}

static void time_fast(scene *s, const char *isa, double plain)
{
    ds_memory room = {0};
    smoke *r = smoke_create(&room, N, SWEEPS, STEPS, isa, NULL);
    const smoke_state start = view(s->start), end = view(s->end), bar = view(s->bar);
    double forward = INFINITY, all = INFINITY;
    for (int round = 0; r != NULL && round < ROUNDS; round++) {
        double begin = now_ms();
        smoke_simulate(r, &start, STEPS);
        smoke_get(r, STEPS, &end);
        forward = fmin(forward, now_ms() - begin);
        set_derivatives(s);
        smoke_adjoint(r, 0, STEPS, &bar);
        all = fmin(all, now_ms() - begin);
    }
    if (r != NULL) {
        printf("{\"engine\": \"smoke\", \"n\": %d, \"steps\": %d, \"isa\": \"%s\", \"loss_ms\": %.1f, "
               "\"gradient_ms\": %.1f, \"plain_gradient_ms\": %.1f, \"ratio\": %.2f, \"goal_ms\": 100, "
               "\"mib\": %.0f}\n",
               N, STEPS, smoke_isa(r), forward, all, plain, plain / all, (double)smoke_bytes(r) / 1048576);
    }
    ds_memory_free(&room);
}

static int bench_smoke(void)
{
    scene *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return 1;
    }
    set_scene(s);
    double plain = time_plain(s);
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
        if (bench_has(isas[i])) {
            time_fast(s, isas[i], plain);
        }
    }
    free(s);
    return 0;
}

/* ---- rigid ---- */

static void time_rigid(size_t points)
{
    ds_memory room = {0};
    rigid *r = rigid_create(&room, points, ROLL);
    rigid_point point[MOST];
    rigid_mass m;
    const double half = 1 / sqrt(3);
    rigid_mass_box(5, (double[3]){half, half, half}, &m);
    for (size_t i = 0; i < points; i += RIGID_BOX_POINTS) {
        rigid_points_box((double[3]){half, half, half}, point + i);
    }
    rigid_body b = {.mass = m.mass, .gravity = {0, -9.8, 0}, .ke = 4900, .kd = 15, .kf = 50, .mu = 0.3};
    memcpy(b.inertia, m.inertia, sizeof b.inertia);
    const rigid_state start = {.x = {0, 4, 0}, .q = {0.891, 0, 0, 0.454}, .v = {2, 0, 0}};
    double forward = INFINITY, all = INFINITY;
    for (int round = 0; r != NULL && round < 4 * ROUNDS; round++) {
        rigid_state bar = {.x = {1, 1, 1}};
        rigid_body body_bar = {0};
        double begin = now_ms();
        rigid_simulate(r, &b, points, point, &start, 1.0 / 960, ROLL);
        forward = fmin(forward, now_ms() - begin);
        rigid_adjoint(r, 0, ROLL, &bar, &body_bar, NULL);
        all = fmin(all, now_ms() - begin);
    }
    printf(
        "{\"engine\": \"rigid\", \"points\": %zu, \"steps\": %d, \"loss_ms\": %.3f, \"gradient_ms\": %.3f, "
        "\"gradient_by_loss\": %.2f}\n",
        points, ROLL, forward, all, all / forward);
    ds_memory_free(&room);
}

int main(void)
{
    time_rigid(8);
    time_rigid(MOST);
    return bench_smoke();
}
