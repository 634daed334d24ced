/* SPDX-License-Identifier: Apache-2.0 */
/* bench_render.c - milliseconds of the renderer, and ratios within one run: the vectorised rasterizer
 * against the plain one, instruction sets, antialiasing, threads, clouds of particles. bench_render
 * [faces]; how to read it: bench/README.md. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/bench.h"
#include "engines/rendering/render/dibr.h"
#include "engines/rendering/render/image.h"
#include "engines/rendering/render/mesh.h"
#include "engines/rendering/render/softras.h"
#include "engines/rendering/render/splat.h"
#include "tests/envs/engines/rendering/render/softras_plain.h"

enum { ROUNDS = 7, MOST_FACES = 20000 };

static double now_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void *take(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (!p) {
        fprintf(stderr, "bench_render: out of memory\n");
        exit(1);
    }
    return p;
}

/* A sphere of radius 1 from rings of quadrilaterals. */
typedef struct ball {
    render_mesh m;
    uint32_t *face;
    double *p, *color;
} ball;

static void point(double *p, double ring, double around)
{
    p[0] = sin(ring) * cos(around);
    p[1] = cos(ring);
    p[2] = sin(ring) * sin(around);
}

static ball ball_open(uint32_t faces)
{
    const double pi = acos(-1);
    const uint32_t rings = (uint32_t)lround(sqrt(faces / 4.0)), around = 2 * rings;
    ball b = {.m = {(rings + 1) * around, 2 * rings * around, NULL}};
    uint32_t *f = b.face = take(3 * (size_t)b.m.faces, sizeof *b.face);
    b.p = take(3 * (size_t)b.m.vertices, sizeof *b.p);
    b.color = take(3 * (size_t)b.m.faces, sizeof *b.color);
    for (uint32_t r = 0; r <= rings; r++) {
        for (uint32_t a = 0; a < around; a++) {
            point(b.p + 3 * (size_t)(r * around + a), pi * (0.05 + 0.9 * r / rings), 2 * pi * a / around);
        }
    }
    for (uint32_t r = 0; r < rings; r++) {
        for (uint32_t a = 0; a < around; a++, f += 6) {
            uint32_t next = (a + 1) % around, i = r * around + a, j = r * around + next;
            f[0] = f[3] = i;
            f[1] = j;
            f[2] = f[4] = j + around;
            f[5] = i + around;
        }
    }
    b.m.face = b.face;
    light l = light_default();
    light_faces(&l, &b.m, b.p, (double[3]){1, 1, 0}, 0, b.color);
    return b;
}

static void ball_close(ball *b)
{
    free(b->face);
    free(b->p);
    free(b->color);
}

typedef struct cost {
    double draw, adjoint, tangent; /* ms */
} cost;

/* The best of some rounds. */
static cost time_softras(const softras_options *o, const ball *b, clockid_t clock)
{
    const camera c = camera_orbit(CAMERA_SOFTRAS, 2.6, 0.5, 0.3);
    const size_t pixels = (size_t)o->size * o->size * softras_channels(o->mode);
    double *image = take(2 * pixels, sizeof *image),
           *bar = take(3 * (size_t)b->m.vertices + 3 * b->m.faces, sizeof *bar);
    cost best = {INFINITY, INFINITY, INFINITY};
    char text[RENDER_TEXT];
    ds_status status;
    softras *r = softras_create(o, &b->m, &status, text);
    if (!r) {
        fprintf(stderr, "bench_render: %s\n", text);
        exit(1);
    }
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ms(clock);
        softras_draw(r, &c, b->p, b->color, image, NULL);
        best.draw = fmin(best.draw, now_ms(clock) - start);
        bench_mean_square_bar(pixels, image, image + pixels, image + pixels);
        start = now_ms(clock);
        softras_adjoint(r, image + pixels,
                        &(softras_bar){.p = bar, .color = bar + 3 * (size_t)b->m.vertices});
        best.adjoint = fmin(best.adjoint, now_ms(clock) - start);
        start = now_ms(clock);
        softras_tangent(r, &(softras_dot){.p = b->p}, image + pixels);
        best.tangent = fmin(best.tangent, now_ms(clock) - start);
    }
    softras_destroy(r);
    free(image);
    free(bar);
    return best;
}

static double time_plain(const softras_options *o, const ball *b)
{
    const camera c = camera_orbit(CAMERA_SOFTRAS, 2.6, 0.5, 0.3);
    const size_t pixels = (size_t)o->size * o->size * softras_channels(o->mode);
    double *image = take(2 * pixels, sizeof *image), *bar = take(3 * (size_t)b->m.vertices, sizeof *bar);
    for (size_t i = 0; i < pixels; i++) {
        image[pixels + i] = 1;
    }
    double start = now_ms(CLOCK_PROCESS_CPUTIME_ID);
    softras_plain(o, &b->m, &c, b->p, b->color, image, image + pixels, &(softras_bar){.p = bar}, NULL);
    double spent = now_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
    free(image);
    free(bar);
    return spent;
}

static const char *const mode_name[] = {"alpha", "over", "rgba"};

static void modes(const ball *b)
{
    printf("soft rasterization, %u faces, one thread (ms; goal at 256, draw and adjoint: 12)\n", b->m.faces);
    printf("  %-6s %5s %8s %8s %8s %8s %8s\n", "mode", "size", "draw", "adjoint", "both", "tangent",
           "both, aa");
    for (int mode = 0; mode < 3; mode++) {
        for (uint32_t size = 64; size <= 256; size *= 2) {
            softras_options o = softras_defaults((softras_mode)mode, size);
            cost t = time_softras(&o, b, CLOCK_PROCESS_CPUTIME_ID);
            o.antialias = 1;
            cost a = time_softras(&o, b, CLOCK_PROCESS_CPUTIME_ID);
            printf("  %-6s %5u %8.2f %8.2f %8.2f %8.2f %8.2f\n", mode_name[mode], size, t.draw, t.adjoint,
                   t.draw + t.adjoint, t.tangent, a.draw + a.adjoint);
        }
    }
}

static void sets(const ball *b)
{
    static const char *const isa[] = {"baseline", "avx2", "avx512"};
    softras_options o = softras_defaults(SOFTRAS_OVER, 256);
    double first = 0;
    printf("\ninstruction sets, over, 256 (ms, times as fast as baseline)\n");
    for (int k = 0; k < 3 && bench_has(isa[k]); k++) {
        o.isa = isa[k];
        cost t = time_softras(&o, b, CLOCK_PROCESS_CPUTIME_ID);
        first = k == 0 ? t.draw + t.adjoint : first;
        printf("  %-8s %8.2f %6.2f\n", isa[k], t.draw + t.adjoint, first / (t.draw + t.adjoint));
    }
}

static void against_plain(const ball *b)
{
    printf("\nagainst the plain one, 64 pixels, draw and adjoint (ms, ratio)\n");
    for (int mode = 0; mode < 2; mode++) {
        softras_options o = softras_defaults((softras_mode)mode, 64);
        cost t = time_softras(&o, b, CLOCK_PROCESS_CPUTIME_ID);
        double plain = time_plain(&o, b);
        printf("  %-6s %8.2f %10.2f %8.0f\n", mode_name[mode], t.draw + t.adjoint, plain,
               plain / (t.draw + t.adjoint));
    }
}

static void threads(const ball *b)
{
    softras_options o = softras_defaults(SOFTRAS_OVER, 256);
    printf("\nthreads, over, 256 (ms elapsed, ms of all processors; says something where cores are idle)\n");
    for (o.threads = 1; o.threads <= 4; o.threads *= 2) {
        cost w = time_softras(&o, b, CLOCK_MONOTONIC), t = time_softras(&o, b, CLOCK_PROCESS_CPUTIME_ID);
        printf("  %u %8.2f %8.2f\n", o.threads, w.draw + w.adjoint, t.draw + t.adjoint);
    }
}

static void clouds(void)
{
    enum { PARTICLES = 10000, CAMERAS = 1, MOST = 128 };
    const camera c = camera_orbit(CAMERA_SOFTRAS, 2.6, 0.5, 0.3);
    double *p = take(6 * PARTICLES, sizeof *p), *image = take(2 * MOST * MOST, sizeof *image);
    const double radius = 0.012;
    uint32_t state = 1;
    for (size_t i = 0; i < 3 * PARTICLES; i++) { /* a cube of side 1 */
        state = state * 1664525u + 1013904223u;
        p[i] = state / 4294967296.0 - 0.5;
    }
    printf("\nclouds of %d particles, one thread (ms)\n  %5s %8s %8s %8s\n", (int)PARTICLES, "size", "draw",
           "adjoint", "both");
    for (uint32_t size = 64; size <= MOST; size *= 2) {
        splat_options o = splat_defaults(size);
        char text[RENDER_TEXT];
        ds_status status;
        double draw = INFINITY, adjoint = INFINITY;
        splat *s = splat_create(&o, PARTICLES, &status, text);
        for (int round = 0; s && round < ROUNDS; round++) {
            double start = now_ms(CLOCK_PROCESS_CPUTIME_ID);
            splat_draw(s, &c, p, &radius, 0, image, NULL);
            draw = fmin(draw, now_ms(CLOCK_PROCESS_CPUTIME_ID) - start);
            start = now_ms(CLOCK_PROCESS_CPUTIME_ID);
            splat_adjoint(s, image, p + 3 * PARTICLES, NULL, 0, NULL);
            adjoint = fmin(adjoint, now_ms(CLOCK_PROCESS_CPUTIME_ID) - start);
        }
        printf("  %5u %8.2f %8.2f %8.2f\n", size, draw, adjoint, draw + adjoint);
        splat_destroy(s);
    }
    free(p);
    free(image);
}

static void interpolated(const ball *b)
{
    const camera c = camera_orbit(CAMERA_DIBR, 2.6, 0.5, 0.3);
    const size_t numbers = 3 * (size_t)b->m.vertices;
    double *image = take(256 * 256 * DIBR_CHANNELS, sizeof *image), *bar = take(numbers, sizeof *bar);
    dibr_surface s = {.p = b->p, .color = b->p}, out = {.p = bar};
    printf("\ninterpolating rasterizer, vertex colours, one thread (ms)\n  %5s %8s %8s\n", "size", "draw",
           "adjoint");
    for (uint32_t size = 128; size <= 256; size *= 2) {
        dibr_options o = dibr_defaults(DIBR_COLOR, size);
        char text[RENDER_TEXT];
        ds_status status;
        double draw = INFINITY, adjoint = INFINITY;
        dibr *r = dibr_create(&o, &b->m, &status, text);
        for (int round = 0; r && round < ROUNDS; round++) {
            double start = now_ms(CLOCK_PROCESS_CPUTIME_ID);
            dibr_draw(r, &c, &s, image, NULL);
            draw = fmin(draw, now_ms(CLOCK_PROCESS_CPUTIME_ID) - start);
            start = now_ms(CLOCK_PROCESS_CPUTIME_ID);
            dibr_adjoint(r, image, &out, NULL);
            adjoint = fmin(adjoint, now_ms(CLOCK_PROCESS_CPUTIME_ID) - start);
        }
        printf("  %5u %8.2f %8.2f\n", size, draw, adjoint);
        dibr_destroy(r);
    }
    free(image);
    free(bar);
}

int main(int argc, char **argv)
{
    const long faces = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    if (faces < 16 || faces > MOST_FACES) {
        fprintf(stderr, "bench_render: 16 to %d faces\n", MOST_FACES);
        return 2;
    }
    ball b = ball_open((uint32_t)faces);
    modes(&b);
    sets(&b);
    against_plain(&b);
    threads(&b);
    clouds();
    interpolated(&b);
    ball_close(&b);
    return 0;
}
