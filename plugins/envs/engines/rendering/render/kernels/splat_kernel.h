/* SPDX-License-Identifier: Apache-2.0 */
/* splat_kernel.h - soft discs in one tile, several pixels of a row at a time (see ../splat.h for the
 * formulas). */
#ifndef DS_ENGINES_RENDER_SPLAT_KERNEL_H
#define DS_ENGINES_RENDER_SPLAT_KERNEL_H

#include "tile.h"

VEC_INLINE void draw_disc(double opacity, const splat_disc *d, const render_tile *tile, double *product)
{
    const span s = span_of(&d->box, tile);
    for (size_t part = s.part[0]; part < s.part[1]; part++) {
        const vec dx = pixels_x(tile, part) - d->x;
        for (size_t row = s.row[0]; row < s.row[1]; row++) {
            const size_t i = row * TILE_COLUMNS + part * VECTOR_LANES;
            const vec dy = pixels_y(tile, row) - d->y;
            const vec t = vec_most(1 - (dx * dx + dy * dy) * d->per_square, vec_all(0));
            vec_store(product + i, vec_load(product + i) * (1 - opacity * (t * t * t)));
        }
    }
}

static void splat_draw_tile(double opacity, const splat_disc *disc, const render_tile *tile, double *product)
{
    for (size_t k = 0; k < tile->items; k++) {
        draw_disc(opacity, &disc[tile->item[k]], tile, product);
    }
}

/* Sums over the rows, of the derivatives by u, times what u has from x, y and per_square. */
VEC_INLINE void adjoint_disc(double opacity, const splat_disc *d, const render_tile *tile, const double *g,
                             splat_disc_bar *bar)
{
    const span s = span_of(&d->box, tile);
    double x[TILE_COLUMNS] = {0}, y[TILE_COLUMNS] = {0}, square[TILE_COLUMNS] = {0};
    for (size_t part = s.part[0]; part < s.part[1]; part++) {
        const vec dx = pixels_x(tile, part) - d->x;
        vec sum = {0}, sum_y = {0}, sum_square = {0};
        for (size_t row = s.row[0]; row < s.row[1]; row++) {
            const vec dy = pixels_y(tile, row) - d->y, d2 = dx * dx + dy * dy;
            const vec t = vec_most(1 - d2 * d->per_square, vec_all(0)), t2 = t * t;
            const vec gu = vec_load(g + row * TILE_COLUMNS + part * VECTOR_LANES) * (-3 * opacity) * t2 /
                           (1 - opacity * (t2 * t));
            sum += gu;
            sum_y += gu * dy;
            sum_square += gu * d2;
        }
        vec_store(x + part * VECTOR_LANES, sum * dx);
        vec_store(y + part * VECTOR_LANES, sum_y);
        vec_store(square + part * VECTOR_LANES, sum_square);
    }
    bar->x = -2 * d->per_square * tile_sum(x);
    bar->y = -2 * d->per_square * tile_sum(y);
    bar->per_square = tile_sum(square);
}

static void splat_adjoint_tile(double opacity, const splat_disc *disc, const render_tile *tile,
                               const double *g, splat_disc_bar *bar)
{
    for (size_t k = 0; k < tile->items; k++) {
        adjoint_disc(opacity, &disc[tile->item[k]], tile, g, bar + k);
    }
}

VEC_INLINE void tangent_disc(double opacity, const splat_disc *d, const splat_disc_dot *v,
                             const render_tile *tile, double *out)
{
    const span s = span_of(&d->box, tile);
    for (size_t part = s.part[0]; part < s.part[1]; part++) {
        const vec dx = pixels_x(tile, part) - d->x;
        for (size_t row = s.row[0]; row < s.row[1]; row++) {
            double *at = out + row * TILE_COLUMNS + part * VECTOR_LANES;
            const vec dy = pixels_y(tile, row) - d->y, d2 = dx * dx + dy * dy;
            const vec t = vec_most(1 - d2 * d->per_square, vec_all(0)), t2 = t * t;
            const vec u_dot = -2 * d->per_square * (dx * v->x + dy * v->y) + d2 * v->per_square;
            vec_store(at, vec_load(at) + (-3 * opacity) * t2 / (1 - opacity * (t2 * t)) * u_dot);
        }
    }
}

static void splat_tangent_tile(double opacity, const splat_disc *disc, const splat_disc_dot *dot,
                               const render_tile *tile, double *out)
{
    for (size_t k = 0; k < tile->items; k++) {
        tangent_disc(opacity, &disc[tile->item[k]], &dot[tile->item[k]], tile, out);
    }
}

#endif
