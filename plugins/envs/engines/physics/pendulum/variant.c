/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - compound double pendulums side by side (compound.h), compiled for each instruction set:
 * LANES_ISA is its name, VECTOR_LANES its width. */
#include "compound.h"

#include "engines/kit/lanes.h"

#include <math.h>

/* As in compound.c: where an angle has made very many turns, all four numbers are the C library's. */
VEC_INLINE void sines_of_lanes(const vec *y, vec *sa, vec *ca, vec *sb, vec *cb)
{
    vec_sincos(y[0], sa, ca);
    vec_sincos(y[1], sb, cb);
    const vec_bits many =
        ~((vec_bits)(vec_abs(y[0]) <= SINCOS_MOST) & (vec_bits)(vec_abs(y[1]) <= SINCOS_MOST));
    for (int lane = 0; vec_any(many) && lane < VECTOR_LANES; lane++) {
        if (many[lane]) {
            (*sa)[lane] = sin(y[0][lane]);
            (*ca)[lane] = cos(y[0][lane]);
            (*sb)[lane] = sin(y[1][lane]);
            (*cb)[lane] = cos(y[1][lane]);
        }
    }
}

#define real vec
#define slopes vec
#define SLOPES_MOST COMPOUND_VARIABLES
#define real_sines sines_of_lanes
#include "compound_step.h"

enum { C = COMPOUND_CONSTANTS, V = COMPOUND_VARIABLES };

/* The numbers of all lanes in vectors. */
typedef struct packed {
    vec constant[C], by[V * C], y[N], d[V * N];
} packed;

static void pack(const compound *p, packed *out)
{
    for (int lane = 0; lane < VECTOR_LANES; lane++, p++) {
        for (int i = 0; i < C; i++) {
            out->constant[i][lane] = p->constant[i];
            for (int v = 0; v < V; v++) {
                out->by[v * C + i][lane] = p->slope[i][v];
            }
        }
        for (int i = 0; i < N; i++) {
            out->y[i][lane] = p->start[i];
            for (int v = 0; v < V; v++) {
                out->d[v * N + i][lane] = p->start_dot[i * V + v];
            }
        }
    }
}

COMPOUND_INLINE void run_of(const packed *start, compound_method method, double h, uint64_t frames,
                            uint64_t substeps, double *y, double *y_dot, const int D)
{
    packed now = *start;
    for (uint64_t f = 0;; f++) {
        for (int i = 0; i < N; i++, y += VECTOR_LANES) {
            vec_store(y, now.y[i]);
        }
        for (int i = 0; i < D * N; i++, y_dot += VECTOR_LANES) {
            vec_store(y_dot, now.d[i]);
        }
        if (f == frames) {
            return;
        }
        to_next_frame(method, substeps, now.constant, now.by, h, now.y, now.d, D);
    }
}

static void run(const compound *p, uint64_t variables, double h, uint64_t frames, uint64_t substeps,
                double *y, double *y_dot)
{
    packed start;
    pack(p, &start);
    if (y_dot == NULL) {
        run_of(&start, p->method, h, frames, substeps, y, NULL, 0);
    } else if (variables == 2) { /* few numbers have loops of their own, so that they unroll */
        run_of(&start, p->method, h, frames, substeps, y, y_dot, 2);
    } else if (variables == 4) {
        run_of(&start, p->method, h, frames, substeps, y, y_dot, 4);
    } else {
        run_of(&start, p->method, h, frames, substeps, y, y_dot, (int)variables);
    }
}

ISA_DEFINE(compound_lanes) = {ISA_NAME(LANES_ISA), VECTOR_LANES, run};
