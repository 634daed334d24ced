/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - the loops of smoke.c over a grid, compiled for several instruction sets. Each does the same
 * operations in the same order for every element, so all return the same bits.
 *
 * Fields have a border of one cell on each side that repeats the other side: (n + 2) rows of `stride`
 * numbers, element (i, j) at [(i + 1) stride + j + 1]. The writer of a field fills its border (wrap() in
 * smoke.c). */
#ifndef DS_ENGINES_SMOKE_KERNELS_H
#define DS_ENGINES_SMOKE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

typedef struct smoke_grid {
    size_t n, stride;
} smoke_grid;

static inline size_t smoke_field(const smoke_grid *g)
{
    return (g->n + 2) * g->stride;
}

/* The origin of the smoke in each cell: the lower left cell (an index into a field) and the distance beyond
 * it along i and j. Fields without borders. */
typedef struct smoke_feet {
    int32_t *cell;
    double *right, *up;
} smoke_feet;

typedef struct smoke_kernels {
    const char *isa;
    /* Feet of the velocity (vx, vy). */
    void (*feet)(const smoke_grid *g, const double *vx, const double *vy, const smoke_feet *out);
    /* out = f at the feet, bilinear. */
    void (*carry)(const smoke_grid *g, const smoke_feet *at, const double *f, double *out);
    /* vx_bar, vy_bar += the derivatives of out_bar . carry(f) by the velocity of the feet. */
    void (*carry_velocity_adjoint)(const smoke_grid *g, const smoke_feet *at, const double *f,
                                   const double *out_bar, double *vx_bar, double *vy_bar);
    /* out_dot += the derivative of carry(f) in the direction of velocities. */
    void (*carry_velocity_tangent)(const smoke_grid *g, const smoke_feet *at, const double *f,
                                   const double *vx_dot, const double *vy_dot, double *out_dot);
    /* out = the source of the pressure: minus half the divergence by central differences. */
    void (*divergence)(const smoke_grid *g, const double *vx, const double *vy, double *out);
    /* out = (source + sum of the four neighbours of p) / 4; p NULL: 0. */
    void (*sweep)(const smoke_grid *g, const double *source, const double *p, double *out);
    /* vx, vy -= the gradient of p by central differences. */
    void (*push)(const smoke_grid *g, const double *p, double *vx, double *vy);
} smoke_kernels;

#endif
