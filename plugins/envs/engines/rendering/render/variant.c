/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - kernels for the pixels of one tile, several pixels of a row at a time, for one instruction set,
 * RENDER_ISA, with vectors of VECTOR_LANES numbers. softras.h and splat.h have the formulas.
 *
 * Soft rasterization: with s the signed squared distance over sigma, q = 1 - A = A(-s): d(1 - alpha)/ds_f =
 * -(1 - alpha) A_f and dA/ds = A q. In this form nothing is divided by 1 - A, and pixels deep inside a face
 * are not a special case. */
#include "engines/rendering/render/kernels.h"

#include "common/isa.h"
#include "common/vector.h"
#include "common/vector_math.h"

/* ---- pixels of a tile ---- */

/* Rows and vectors of columns of a tile that a box reaches: first and one past the last. */
typedef struct span {
    size_t row[2], part[2];
} span;

VEC_INLINE span span_of(const render_box *box, const render_tile *tile)
{
    const int32_t c0 = box->column[0] - (int32_t)tile->column, c1 = box->column[1] - (int32_t)tile->column;
    const int32_t r0 = box->row[0] - (int32_t)tile->row, r1 = box->row[1] - (int32_t)tile->row;
    return (span){
        .row = {r0 > 0 ? (size_t)r0 : 0, r1 < TILE_ROWS ? (size_t)r1 + 1 : TILE_ROWS},
        .part = {c0 > 0 ? (size_t)c0 / VECTOR_LANES : 0,
                 (c1 < TILE_COLUMNS ? (size_t)c1 : TILE_COLUMNS - 1) / VECTOR_LANES + 1},
    };
}

/* Positions of the pixels of a vector of columns, and of a row. */
VEC_INLINE vec pixels_x(const render_tile *tile, size_t part)
{
    return vec_load(tile->center + tile->column + part * VECTOR_LANES);
}

VEC_INLINE vec pixels_y(const render_tile *tile, size_t row)
{
    return vec_all(-tile->center[tile->row + row]);
}

/* ---- soft rasterization: a face at some pixels ---- */

static const double reach = 9.210240366975849; /* ln(1e4 - 1): outside, A is at least 1e-4 */

/* How some pixels see a face. */
typedef struct view {
    vec_bits active, inside;
    vec w[3];        /* barycentric coordinates */
    vec te[3], x, y; /* the nearest point of the boundary: its weights, and its offset from the pixel */
    vec A, q;
    vec clipped[3], sum; /* w in [0, 1] */
    vec z, zn;
    vec_bits visible; /* has a colour: active, z between near and far */
} view;

/* Keeps the nearer edge; of equal distances the first stays. */
VEC_INLINE void nearer_edge(const softras_face *f, int k, vec dx, vec dy, vec *square, view *v)
{
    const int next = k < 2 ? k + 1 : 0, last = k > 0 ? k - 1 : 2;
    const vec t = vec_clamp01((dx * f->edge_x[k] + dy * f->edge_y[k]) * f->per_square[k]);
    const vec x = t * f->edge_x[k] - dx, y = t * f->edge_y[k] - dy, d2 = x * x + y * y;
    const vec_bits m = d2 < *square;
    *square = vec_choose(m, d2, *square);
    v->x = vec_choose(m, x, v->x);
    v->y = vec_choose(m, y, v->y);
    v->te[k] = vec_choose(m, 1 - t, v->te[k]);
    v->te[next] = vec_choose(m, t, v->te[next]);
    v->te[last] = vec_only(~m, v->te[last]);
}

/* Returns 1 if a pixel is reached. */
VEC_INLINE int look(const softras_law *law, const softras_face *f, vec px, vec py, view *v)
{
    const vec dx = px - f->x, dy = py - f->y;
    vec square = vec_all(1e300); /* larger than any */
    v->w[1] = dx * f->slope_x[0] + dy * f->slope_y[0];
    v->w[2] = dx * f->slope_x[1] + dy * f->slope_y[1];
    v->w[0] = (1 - v->w[1]) - v->w[2];
    v->inside = (v->w[0] > 0) & (v->w[1] > 0) & (v->w[2] > 0);
    v->x = v->y = v->te[0] = v->te[1] = v->te[2] = (vec){0};
    nearer_edge(f, 0, dx, dy, &square, v);
    nearer_edge(f, 1, dx - f->edge_x[0], dy - f->edge_y[0], &square, v);
    nearer_edge(f, 2, dx + f->edge_x[2], dy + f->edge_y[2], &square, v);
    const vec s = square * law->per_sigma;
    v->active = v->inside | (s < reach);
    if (!vec_any(v->active)) {
        return 0;
    }
    const vec e = vec_exp(-s), large = 1 / (1 + e), small = e * large;
    v->A = vec_only(v->active, vec_choose(v->inside, large, small));
    v->q = vec_choose(v->active, vec_choose(v->inside, small, large), vec_all(1));
    return 1;
}

/* Depth, and whether the face gives a colour. The sum of clipped coordinates is at least 1: those cut at 1
 * lose no more than others gain by being cut at 0. */
VEC_INLINE int look_deep(const softras_law *law, const softras_face *f, view *v)
{
    vec inverse = {0};
    for (int k = 0; k < 3; k++) {
        v->clipped[k] = vec_clamp01(v->w[k]);
        inverse += v->clipped[k] * f->inverse_z[k];
    }
    v->sum = (v->clipped[0] + v->clipped[1]) + v->clipped[2];
    v->z = v->sum / inverse;
    v->zn = (law->far - v->z) * law->per_range;
    v->visible = v->active & (v->z >= law->near) & (v->z <= law->far);
    return vec_any(v->visible);
}

/* Softmax over depth with a running maximum: a nearer face scales down the earlier ones. */
VEC_INLINE void mix(const softras_law *law, const softras_face *f, const view *v, size_t i,
                    const softras_pixels *out)
{
    const vec before = vec_load(out->nearest + i), ahead = v->zn - before;
    const vec_bits nearer = v->visible & (ahead > 0);
    const vec e = vec_exp(-vec_abs(ahead) * law->per_gamma);
    const vec keep = vec_choose(nearer, e, vec_all(1)),
              add = vec_only(v->visible, vec_choose(nearer, v->A, v->A * e));
    vec_store(out->nearest + i, vec_choose(nearer, v->zn, before));
    vec_store(out->weight + i, vec_load(out->weight + i) * keep + add);
    for (int k = 0; k < 3; k++) {
        vec_store(out->color[k] + i, vec_load(out->color[k] + i) * keep + add * f->color[k]);
    }
}

/* ---- soft rasterization: image ---- */

VEC_INLINE void draw_face(const softras_law *law, int color, const softras_face *f, const render_tile *tile,
                          const softras_pixels *out)
{
    const span s = span_of(&f->box, tile);
    for (size_t part = s.part[0]; part < s.part[1]; part++) {
        const vec px = pixels_x(tile, part);
        for (size_t row = s.row[0]; row < s.row[1]; row++) {
            const size_t i = row * TILE_COLUMNS + part * VECTOR_LANES;
            view v;
            if (!look(law, f, px, pixels_y(tile, row), &v)) {
                continue;
            }
            vec_store(out->product + i, vec_load(out->product + i) * v.q);
            if (color && look_deep(law, f, &v)) {
                mix(law, f, &v, i, out);
            }
        }
    }
}

static void softras_draw_tile(const softras_law *law, const softras_face *face, const render_tile *tile,
                              const softras_pixels *out)
{
    if (law->color) {
        for (size_t k = 0; k < tile->items; k++) {
            draw_face(law, 1, &face[tile->item[k]], tile, out);
        }
    } else {
        for (size_t k = 0; k < tile->items; k++) {
            draw_face(law, 0, &face[tile->item[k]], tile, out);
        }
    }
}

/* ---- soft rasterization: derivatives ---- */

/* Sums over the rows, one for each column. */
typedef struct sums {
    vec x[3], y[3], z[3], color[3];
} sums;

/* Derivatives of the colour of a pixel by the depth of the face: gz z^2 / sum for the corners' depths, and by
 * the barycentric coordinates for their positions. Returns the derivative by the position in *hx, *hy. */
VEC_INLINE void depth_adjoint(const softras_face *f, const view *v, vec gz, sums *to, vec *hx, vec *hy)
{
    const vec per = gz * v->z / v->sum;
    vec g[3];
    for (int k = 0; k < 3; k++) {
        to->z[k] += per * v->z * v->clipped[k];
        g[k] = vec_only((v->w[k] > 0) & (v->w[k] < 1), per * (1 - v->z * f->inverse_z[k]));
    }
    *hx = (g[1] - g[0]) * f->slope_x[0] + (g[2] - g[0]) * f->slope_x[1];
    *hy = (g[1] - g[0]) * f->slope_y[0] + (g[2] - g[0]) * f->slope_y[1];
}

VEC_INLINE vec omega_of(const softras_law *law, const view *v, size_t i, const softras_pixels *at)
{
    const vec e = vec_exp((v->zn - vec_load(at->nearest + i)) * law->per_gamma);
    return vec_only(v->visible, v->A * e * vec_load(at->weight + i));
}

/* Adds the derivatives by the colour; returns the derivative by s. */
VEC_INLINE vec color_adjoint(const softras_law *law, const softras_face *f, const view *v, size_t i,
                             const softras_pixels *at, const softras_pixels_bar *g, sums *to, vec *hx,
                             vec *hy)
{
    const vec omega = omega_of(law, v, i, at);
    vec more = -vec_load(g->dot + i); /* g . (c_f - C) */
    for (int k = 0; k < 3; k++) {
        const vec gc = vec_load(g->color[k] + i);
        more += gc * f->color[k];
        to->color[k] += omega * gc;
    }
    more *= omega;
    depth_adjoint(f, v, -more * law->per_gamma * law->per_range, to, hx, hy);
    return more * v->q;
}

VEC_INLINE void pixels_adjoint(const softras_law *law, int color, const softras_face *f, const view *v,
                               size_t i, const softras_pixels *at, const softras_pixels_bar *g, sums *to)
{
    vec gs = vec_load(g->alpha + i) * v->A, hx = {0}, hy = {0};
    if (color && vec_any(v->visible)) {
        gs += color_adjoint(law, f, v, i, at, g, to, &hx, &hy);
    }
    const vec gd = vec_choose(v->inside, gs, -gs) * (2 * law->per_sigma), gx = gd * v->x, gy = gd * v->y;
    for (int k = 0; k < 3; k++) {
        to->x[k] += color ? v->te[k] * gx - v->w[k] * hx : v->te[k] * gx;
        to->y[k] += color ? v->te[k] * gy - v->w[k] * hy : v->te[k] * gy;
    }
}

/* One number for every column of a tile. */
typedef struct columns {
    double x[3][TILE_COLUMNS], y[3][TILE_COLUMNS], z[3][TILE_COLUMNS], color[3][TILE_COLUMNS];
} columns;

VEC_INLINE void adjoint_face(const softras_law *law, int color, const softras_face *f,
                             const render_tile *tile, const softras_pixels *at, const softras_pixels_bar *g,
                             softras_face_bar *bar)
{
    const span s = span_of(&f->box, tile);
    columns by = {.x = {{0}}};
    for (size_t part = s.part[0]; part < s.part[1]; part++) {
        const vec px = pixels_x(tile, part);
        sums to = {.x = {{0}}};
        for (size_t row = s.row[0]; row < s.row[1]; row++) {
            view v;
            if (!look(law, f, px, pixels_y(tile, row), &v)) {
                continue;
            }
            if (color) {
                look_deep(law, f, &v);
            }
            pixels_adjoint(law, color, f, &v, row * TILE_COLUMNS + part * VECTOR_LANES, at, g, &to);
        }
        for (int k = 0; k < 3; k++) {
            vec_store(by.x[k] + part * VECTOR_LANES, to.x[k]);
            vec_store(by.y[k] + part * VECTOR_LANES, to.y[k]);
            vec_store(by.z[k] + part * VECTOR_LANES, to.z[k]);
            vec_store(by.color[k] + part * VECTOR_LANES, to.color[k]);
        }
    }
    for (int k = 0; k < 3; k++) {
        bar->x[k] = tile_sum(by.x[k]);
        bar->y[k] = tile_sum(by.y[k]);
        bar->z[k] = color ? tile_sum(by.z[k]) : 0;
        bar->color[k] = color ? tile_sum(by.color[k]) : 0;
    }
}

static void softras_adjoint_tile(const softras_law *law, const softras_face *face, const render_tile *tile,
                                 const softras_pixels *at, const softras_pixels_bar *g, softras_face_bar *bar)
{
    if (law->color) {
        for (size_t k = 0; k < tile->items; k++) {
            adjoint_face(law, 1, &face[tile->item[k]], tile, at, g, bar + k);
        }
    } else {
        for (size_t k = 0; k < tile->items; k++) {
            adjoint_face(law, 0, &face[tile->item[k]], tile, at, g, bar + k);
        }
    }
}

/* ---- soft rasterization: change along a direction ---- */

/* Change of the depth of the face, by the depths of the corners and the barycentric coordinates. */
VEC_INLINE vec depth_tangent(const softras_face *f, const softras_face_dot *d, const view *v)
{
    const vec per = v->z / v->sum;
    vec z = {0}, x = {0}, y = {0}, g[3];
    for (int k = 0; k < 3; k++) {
        z += per * v->z * v->clipped[k] * d->z[k];
        g[k] = vec_only((v->w[k] > 0) & (v->w[k] < 1), per * (1 - v->z * f->inverse_z[k]));
        x += v->w[k] * d->x[k];
        y += v->w[k] * d->y[k];
    }
    const vec hx = (g[1] - g[0]) * f->slope_x[0] + (g[2] - g[0]) * f->slope_x[1];
    const vec hy = (g[1] - g[0]) * f->slope_y[0] + (g[2] - g[0]) * f->slope_y[1];
    return z - (hx * x + hy * y);
}

VEC_INLINE void pixels_tangent(const softras_law *law, int color, const softras_face *f,
                               const softras_face_dot *d, const view *v, size_t i, const softras_pixels *at,
                               softras_pixels_dot *out)
{
    vec x = {0}, y = {0};
    for (int k = 0; k < 3; k++) {
        x += v->te[k] * d->x[k];
        y += v->te[k] * d->y[k];
    }
    const vec square = (2 * law->per_sigma) * (v->x * x + v->y * y),
              s = vec_choose(v->inside, square, -square);
    vec_store(out->alpha + i, vec_load(out->alpha + i) + v->A * s);
    if (color && vec_any(v->visible)) {
        const vec omega = omega_of(law, v, i, at);
        const vec zn = -depth_tangent(f, d, v) * law->per_range;
        const vec more = v->q * s + zn * law->per_gamma;
        for (int k = 0; k < 3; k++) {
            const vec c = more * (f->color[k] - vec_load(at->color[k] + i)) + d->color[k];
            vec_store(out->color[k] + i, vec_load(out->color[k] + i) + omega * c);
        }
    }
}

VEC_INLINE void tangent_face(const softras_law *law, int color, const softras_face *f,
                             const softras_face_dot *d, const render_tile *tile, const softras_pixels *at,
                             softras_pixels_dot *out)
{
    const span s = span_of(&f->box, tile);
    for (size_t part = s.part[0]; part < s.part[1]; part++) {
        const vec px = pixels_x(tile, part);
        for (size_t row = s.row[0]; row < s.row[1]; row++) {
            view v;
            if (!look(law, f, px, pixels_y(tile, row), &v)) {
                continue;
            }
            if (color) {
                look_deep(law, f, &v);
            }
            pixels_tangent(law, color, f, d, &v, row * TILE_COLUMNS + part * VECTOR_LANES, at, out);
        }
    }
}

static void softras_tangent_tile(const softras_law *law, const softras_face *face,
                                 const softras_face_dot *dot, const render_tile *tile,
                                 const softras_pixels *at, softras_pixels_dot *out)
{
    for (size_t k = 0; k < tile->items; k++) {
        const uint32_t f = tile->item[k];
        if (law->color) {
            tangent_face(law, 1, &face[f], &dot[f], tile, at, out);
        } else {
            tangent_face(law, 0, &face[f], &dot[f], tile, at, out);
        }
    }
}

/* ---- soft discs ---- */

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

/* Sums over the rows the derivatives by u, times the derivatives of u by x, y and per_square. */
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

/* ---- table ---- */

static void exps(size_t n, const double *x, double *out)
{
    for (size_t i = 0; i < n; i += VECTOR_LANES) {
        vec_store(out + i, vec_exp(vec_load(x + i)));
    }
}

extern const render_kernels ISA_VARIANT(render_kernels, RENDER_ISA);
const render_kernels ISA_VARIANT(render_kernels, RENDER_ISA) = {
    .isa = ISA_NAME(RENDER_ISA),
    .softras_draw = softras_draw_tile,
    .softras_adjoint = softras_adjoint_tile,
    .softras_tangent = softras_tangent_tile,
    .splat_draw = splat_draw_tile,
    .splat_adjoint = splat_adjoint_tile,
    .splat_tangent = splat_tangent_tile,
    .exps = exps,
};
