/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - the work on the pixels of one tile, compiled for several instruction sets, all with the same
 * bits. A tile is TILE_COLUMNS x TILE_ROWS pixels; arrays of a tile are [row][column]. */
#ifndef DS_ENGINES_RENDER_KERNELS_H
#define DS_ENGINES_RENDER_KERNELS_H

#include <stddef.h>
#include <stdint.h>

enum { TILE_COLUMNS = 8, TILE_ROWS = 32, TILE_PIXELS = TILE_COLUMNS * TILE_ROWS };

/* The pixels that something reaches: first and last column, first and last row; empty if first > last. */
typedef struct render_box {
    int32_t column[2], row[2];
} render_box;

/* The place of a tile and its contents. */
typedef struct render_tile {
    uint32_t column, row; /* of its first pixel */
    const double *center; /* x of the pixels of a row, and -y of those of a column */
    const uint32_t *item; /* of faces or discs, in their order */
    size_t items;
} render_tile;

/* ---- soft rasterization ---- */

/* A face in the image plane. Edge k leads from corner k to corner k + 1. */
typedef struct softras_face {
    double x, y; /* corner 0 */
    double edge_x[3], edge_y[3];
    double per_square[3];          /* 1 / |edge|^2; 0 for one without length */
    double slope_x[2], slope_y[2]; /* of barycentric coordinates 1 and 2; 0 for a face without area */
    double inverse_z[3];
    double color[3];
    render_box box;
} softras_face;

typedef struct softras_law {
    double per_sigma;
    double near, far, per_range; /* 1 / (far - near) */
    double per_gamma;
    int color; /* else alpha only */
} softras_law;

/* An image in progress, one number per pixel: product of 1 - A, the largest zn so far, sum of the weights
 * relative to it, sums of weighted colours. When finished: the product, the largest zn, 1 / sum of weights,
 * colour. */
typedef struct softras_pixels {
    double *product, *nearest, *weight, *color[3]; /* without colours only `product` */
} softras_pixels;

/* Derivatives by the contents of a pixel: by alpha times the product; by the colour; that times the colour.
 */
typedef struct softras_pixels_bar {
    double alpha[TILE_PIXELS], color[3][TILE_PIXELS], dot[TILE_PIXELS];
} softras_pixels_bar;

/* Derivatives by a face: x and y of the corners; z holds -d / d inverse_z; colour. */
typedef struct softras_face_bar {
    double x[3], y[3], z[3], color[3];
} softras_face_bar;

/* The change of a face, and of a pixel (alpha / product, and colour). */
typedef softras_face_bar softras_face_dot;
typedef struct softras_pixels_dot {
    double alpha[TILE_PIXELS], color[3][TILE_PIXELS];
} softras_pixels_dot;

/* ---- soft discs ---- */

typedef struct splat_disc {
    double x, y, per_square; /* centre; 1 / R^2 */
    render_box box;
} splat_disc;

/* Derivatives by x, y and per_square, or a change of them. */
typedef struct splat_disc_bar {
    double x, y, per_square;
} splat_disc_bar;
typedef splat_disc_bar splat_disc_dot;

typedef struct render_kernels {
    const char *isa;
    void (*softras_draw)(const softras_law *law, const softras_face *face, const render_tile *tile,
                         const softras_pixels *out);
    /* bar[items] in the order of the tile's items. */
    void (*softras_adjoint)(const softras_law *law, const softras_face *face, const render_tile *tile,
                            const softras_pixels *at, const softras_pixels_bar *g, softras_face_bar *bar);
    /* dot is one per face. */
    void (*softras_tangent)(const softras_law *law, const softras_face *face, const softras_face_dot *dot,
                            const render_tile *tile, const softras_pixels *at, softras_pixels_dot *out);
    /* product[TILE_PIXELS] *= 1 - a of every disc; g = derivatives by alpha, times the product. */
    void (*splat_draw)(double opacity, const splat_disc *disc, const render_tile *tile, double *product);
    void (*splat_adjoint)(double opacity, const splat_disc *disc, const render_tile *tile, const double *g,
                          splat_disc_bar *bar);
    /* out[TILE_PIXELS] = the change of alpha divided by the product; dot is one per disc. */
    void (*splat_tangent)(double opacity, const splat_disc *disc, const splat_disc_dot *dot,
                          const render_tile *tile, double *out);
    /* exp_same() of n numbers, a multiple of 8; for tests. */
    void (*exps)(size_t n, const double *x, double *out);
} render_kernels;

/* The kernels of instruction set `isa` (baseline, avx2, avx512), chosen by isa_choose(); NULL: unknown. */
const render_kernels *render_kernels_find(const char *isa);

/* Sum of TILE_COLUMNS numbers in a fixed order. */
static inline double tile_sum(const double v[TILE_COLUMNS])
{
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

#endif
