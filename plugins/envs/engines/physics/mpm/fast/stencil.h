/* SPDX-License-Identifier: Apache-2.0 */
/* stencil.h - transfers between particles and grid with quadratic B-splines (affine particle-in-cell, Jiang
 * et al. 2015), one cell at a time: the particles of a run share the 27 nodes around them. Forward gather,
 * scatter, and the gather of the adjoint. */
#ifndef MPM_FAST_STENCIL_H
#define MPM_FAST_STENCIL_H

#include "engines/physics/mpm/fast/kernels.h"
#include "engines/physics/mpm/fast/lanes.h"

/* Particles processed together; more would not fit the first-level cache. Results depend on this number: it
 * ends runs of particles, whose sums go to the grid, and one particle decides on the number of terms for all.
 */
#ifdef MPM_CHUNK
#define CHUNK MPM_CHUNK
#elif VL * MPM_REAL_BITS == 512
#define CHUNK (2 * VL)
#else
#define CHUNK (4 * VL)
#endif
#define CHUNK_ROOM (CHUNK + VL) /* groups may reach past the end */
/* Vectors that hold the 3 nodes (12 floats) of a grid row. */
#define ROW ((12 + VL - 1) / VL)

/* Positions of the particles of a chunk on the grid. */
typedef struct site {
    real y[CHUNK_ROOM][4]; /* distance to the middle node of the stencil per axis, -1/2 .. 1/2 */
    int32_t cell[CHUNK];   /* index of the lowest node in the box */
    /* only for spreading to the grid */
    real column[9][CHUNK]; /* weights wx_a wy_b of the nine node rows */
    real level[3][CHUNK];  /* weights wz_c of the three nodes of a row */
} site;

/* An affine function of the offset to the particle, for each particle: value, and slopes along x, y, z; 4
 * components. */
typedef struct affine {
    real part[4][CHUNK_ROOM][4];
} affine;

typedef struct reach {
    vec lower[3], upper[3];
} reach;

/* At least 0: PlasticineLab truncates towards 0, so that below half a cell the base stays 0. */
INLINE vec cell_of(vec t)
{
    return most(whole_part(t), all(R(0)));
}

/* bounds: NULL, or collects the lowest and highest base nodes. `weights` (z and columns) are needed only for
 * spreading to the grid. */
INLINE void locate_chunk(const mpm_box *box, const real *x, site *s, reach *bounds, bool weights)
{
    const vec stride_x = all(R(box->stride_x)), stride_y = all(R(box->stride_y));
    const vec origin = all(R(box->lower[0] * box->stride_x + box->lower[1] * box->stride_y + box->lower[2]));
    for (int i = 0; i < CHUNK; i += VL) {
        vec at[3], base[3], y[3], w[2][3];
        quads_to_lanes(x + 4 * i, at);
        for (int d = 0; d < 3; d++) {
            base[d] = cell_of(at[d] - R(0.5));
            y[d] = at[d] - base[d] - R(1);
            if (bounds) {
                bounds->lower[d] = least(bounds->lower[d], base[d]);
                bounds->upper[d] = most(bounds->upper[d], base[d]);
            }
        }
        vec cell = base[0] * stride_x + base[1] * stride_y + base[2] - origin;
        *(loose_ints *)(s->cell + i) = __builtin_convertvector(cell, ints);
        lanes_to_quads(y[0], y[1], y[2], s->y[i]);
        for (int d = 0; d < 2 && weights; d++) {
            vec low = R(0.5) - y[d], high = R(0.5) + y[d];
            w[d][0] = R(0.5) * low * low;
            w[d][1] = R(0.75) - y[d] * y[d];
            w[d][2] = R(0.5) * high * high;
        }
        for (int r = 0; r < 9 && weights; r++) {
            store(s->column[r] + i, w[0][r / 3] * w[1][r % 3]);
        }
        if (weights) {
            vec low = y[2] - R(0.5), high = y[2] + R(0.5), square = rounded(y[2] * y[2]);
            store(s->level[0] + i, R(0.5) * (low * low));
            store(s->level[1] + i, R(0.75) - square);
            store(s->level[2] + i, R(0.5) * (high * high));
        }
    }
}

CHUNK_STEP void locate(const mpm_box *box, const real *x, site *s)
{
    locate_chunk(box, x, s, NULL, false);
}

CHUNK_STEP void locate_to_spread(const mpm_box *box, const real *x, site *s)
{
    locate_chunk(box, x, s, NULL, true);
}

CHUNK_STEP void locate_and_bound(const mpm_box *box, const real *x, site *s, reach *bounds)
{
    locate_chunk(box, x, s, bounds, true);
}

/* End of the run of particles of one cell that starts at i. */
INLINE int run_end(const site *s, int i, int count)
{
    int32_t cell = s->cell[i];
    do {
        i++;
    } while (i < count && s->cell[i] == cell);
    return i;
}

/* Value sum w g and moments sum w g (o - fx)_k of a grid field at the particles [i, end), which share a cell.
 * Works on QUADS particles at a time and may write past `end`; the run that owns those entries writes them
 * again. */
INLINE void gather_run(const mpm_box *box, const real *grid, const site *s, int i, int end, affine *out)
{
    const real *corner = grid + 4 * (ptrdiff_t)s->cell[i];
    for (; i < end; i += QUADS) {
        vec y = load(s->y[i]), low = R(0.5) - y, high = R(0.5) + y;
        vec w[3] = {R(0.5) * low * low, R(0.75) - y * y, R(0.5) * high * high};
        vec wy[3] = {SPREAD(w[0], 1), SPREAD(w[1], 1), SPREAD(w[2], 1)};
        vec wz[3] = {SPREAD(w[0], 2), SPREAD(w[1], 2), SPREAD(w[2], 2)};
        vec wx[3] = {SPREAD(w[0], 0), SPREAD(w[1], 0), SPREAD(w[2], 0)};
        vec value = all(R(0)), mx = value, my = value, mz = value;
#pragma GCC unroll 3
        for (int a = 0; a < 3; a++) {
            vec sum = all(R(0)), slope_y = sum, slope_z = sum;
#pragma GCC unroll 3
            for (int b = 0; b < 3; b++) {
                const real *node = corner + 4 * (a * (ptrdiff_t)box->stride_x + b * (ptrdiff_t)box->stride_y);
                vec n0 = wz[0] * load_quad(node), n2 = wz[2] * load_quad(node + 8);
                vec line = wz[1] * load_quad(node + 4) + (n0 + n2);
                vec weighted = wy[b] * line;
                sum += weighted;
                slope_z += wy[b] * (n2 - n0);
                if (b == 0) {
                    slope_y -= weighted;
                } else if (b == 2) {
                    slope_y += weighted;
                }
            }
            vec weighted = wx[a] * sum;
            value += weighted;
            my += wx[a] * slope_y;
            mz += wx[a] * slope_z;
            if (a == 0) {
                mx -= weighted;
            } else if (a == 2) {
                mx += weighted;
            }
        }
        store(out->part[0][i], value);
        store(out->part[1][i], mx - value * SPREAD(y, 0));
        store(out->part[2][i], my - value * SPREAD(y, 1));
        store(out->part[3][i], mz - value * SPREAD(y, 2));
    }
}

/* Weights along z of the nodes in vector j of a row, 0 beyond the third node. */
INLINE vec row_weights(const site *s, int j, int p)
{
#if VL == 4
    return all(s->level[j][p]);
#elif VL == 8
    return j ? all(s->level[2][p]) : (vec)HALF_AND_HALF(all(s->level[0][p]), all(s->level[1][p]));
#else
    (void)j;
    const vec low = HALF_AND_HALF(all(s->level[0][p]), all(s->level[2][p])),
              high = HALF_AND_HALF(all(s->level[1][p]), all(R(0)));
    return SHUFFLE(low, high, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
#endif
}

/* Spreads to the nodes in vector j of all rows. */
INLINE void scatter_rows(const mpm_box *box, real *corner, int j, const site *s, int i, int end,
                         const affine *g)
{
    vec offset, sum[9];
    for (int l = 0; l < VL; l++) {
        offset[l] = R((j * VL + l) / 4 - 1);
    }
#pragma GCC unroll 9
    for (int r = 0; r < 9; r++) {
        sum[r] = all(R(0));
    }
    for (int p = i; p < end; p++) {
        vec w = row_weights(s, j, p);
        vec middle = w * (load_quad(g->part[3][p]) * offset + load_quad(g->part[0][p]));
        vec sx = w * load_quad(g->part[1][p]), sy = w * load_quad(g->part[2][p]);
#pragma GCC unroll 3
        for (int a = 0; a < 3; a++) {
            vec line = middle;
            if (a == 0) {
                line -= sx;
            } else if (a == 2) {
                line += sx;
            }
            sum[3 * a] += (line - sy) * all(s->column[3 * a][p]);
            sum[3 * a + 1] += line * all(s->column[3 * a + 1][p]);
            sum[3 * a + 2] += (line + sy) * all(s->column[3 * a + 2][p]);
        }
    }
#pragma GCC unroll 9
    for (int r = 0; r < 9; r++) {
        ptrdiff_t row = r / 3 * (ptrdiff_t)box->stride_x + r % 3 * (ptrdiff_t)box->stride_y;
        real *to = corner + 4 * row + j * VL;
        store(to, load(to) + sum[r]);
    }
}

#if VL == 8
/* The weights of two columns of nodes, for half a vector each. */
INLINE vec two_columns(const site *s, int first, int second, int p)
{
    return HALF_AND_HALF(all(s->column[first][p]), all(s->column[second][p]));
}

INLINE void add_halves(real *first, real *second, vec sum)
{
    *(loose_quad *)first += QUAD_OF(sum, 0);
    *(loose_quad *)second += QUAD_OF(sum, 1);
}

/* Spreads to the third nodes of all rows, those of two rows in one vector: the sums are the same as in
 * scatter_rows(), with half of the vectors. */
INLINE void scatter_third(const mpm_box *box, real *corner, const site *s, int i, int end, const affine *g)
{
    const vec sign = HALF_AND_HALF(all(R(-1)), all(R(1)));
    vec ends[3] = {all(R(0)), all(R(0)), all(R(0))}; /* b = 0 and 2 of each a */
    vec sides = all(R(0)), middles = all(R(0));      /* b = 1 of a = 0 and 2, of a = 1 */
    for (int p = i; p < end; p++) {
        vec w = row_weights(s, 1, p);
        vec middle = w * (load_quad(g->part[3][p]) + load_quad(g->part[0][p]));
        vec sx = w * load_quad(g->part[1][p]), sy = (sign * w) * load_quad(g->part[2][p]);
        vec first = middle - sx, last = middle + sx;
        ends[0] += (first + sy) * two_columns(s, 0, 2, p);
        ends[1] += (middle + sy) * two_columns(s, 3, 5, p);
        ends[2] += (last + sy) * two_columns(s, 6, 8, p);
        sides += HALF_AND_HALF(first, last) * two_columns(s, 1, 7, p);
        middles += middle * all(s->column[4][p]);
    }
    const ptrdiff_t x = 4 * (ptrdiff_t)box->stride_x, y = 4 * (ptrdiff_t)box->stride_y;
    corner += 8;
#pragma GCC unroll 3
    for (int a = 0; a < 3; a++) {
        add_halves(corner + a * x, corner + a * x + 2 * y, ends[a]);
    }
    add_halves(corner + y, corner + 2 * x + y, sides);
    *(loose_quad *)(corner + x + y) += QUAD_OF(middles, 0);
}
#endif

/* grid += w g(o - fx) for the particles [i, end) of one cell: a row of nodes in the lanes, sums kept in
 * registers. `slab` starts at node `skip` of the box. */
INLINE void scatter_run(const mpm_box *box, real *slab, ptrdiff_t skip, const site *s, int i, int end,
                        const affine *g)
{
    real *corner = slab + 4 * (s->cell[i] - skip);
#if VL == 8
    scatter_rows(box, corner, 0, s, i, end, g);
    scatter_third(box, corner, s, i, end, g);
#else
#pragma GCC unroll 3
    for (int j = 0; j < ROW; j++) {
        scatter_rows(box, corner, j, s, i, end, g);
    }
#endif
}

/* ---- gather with derivatives, for the adjoint ----
 *
 * Inside a cell the interpolated field is a polynomial of degree 2 in each of y = (yx, yy, yz). Along one
 * axis, with node values g0, g1, g2, let e = g0 - 2 g1 + g2 (curvature) and d = (g2 - g0) / 2 (the slope in
 * the middle). Then
 *     value   sum w g   = g1 + e/8 + y (d + y/2 e)
 *     slope   sum w' g  = d + y e
 *     moment  sum w g (o - fx)  = slope/4 + c e,   c = y (1/4 - y^2) / 2
 *     and     sum w' g (o - fx) = value   + q e,   q = 3 (1/4 - y^2) / 2.
 * So every sum that a gather and its derivative need follows from value, slope and curvature along each axis.
 */

/* The cells of a chunk, in the order of their particles, and the polynomials in them: QUADS cells side by
 * side. All are computed before they are used, so that QUADS particles of different cells can share a vector.
 */
typedef struct cells {
    int32_t of[CHUNK];                                          /* number of the cell of each particle */
    int32_t cell[CHUNK_ROOM];                                   /* of each number: cell as in site */
    real c[CHUNK / QUADS][27][VL] __attribute__((aligned(64))); /* power of yx, yy, yz */
} cells;

/* The value is c0 + y d + e y^2/2 with c0 = g1 + e/8. If the bits need not equal those of other instruction
 * sets, it saves one operation per axis to use c0 = g1 and the weight y^2/2 + 1/8 for e. c1 stores 2 d, so
 * slopes are twice as large: that saves a multiplication per line of nodes. */
#if defined(MPM_FUSED)
#define MIDDLE(g1, e) (g1)
#define CURVE_WEIGHT(y) (R(0.5) * ((y) * (y)) + R(0.125))
#define VALUE(c0, c1, c2, at) ((c0) + (at).half * (c1) + (at).weight * (c2))
#else
#define MIDDLE(g1, e) ((g1) + R(0.125) * (e))
#define CURVE_WEIGHT(y) (y) /* over y/2 */
#define VALUE(c0, c1, c2, at) ((c0) + (at).half * ((c1) + (at).weight * (c2)))
#endif
#define SLOPE(c1, c2, at) ((c1) + (at).twice * (c2))

/* A position along one axis: y/2, the weight of the curvature, 2 y. */
typedef struct place {
    vec half, weight, twice;
} place;

/* Node values -> (c0, c1, c2) in place. */
INLINE void axis_polynomial(vec *g0, vec *g1, vec *g2)
{
    vec e = (*g0 + *g2) - R(2) * *g1, d = *g2 - *g0;
    *g0 = MIDDLE(*g1, e);
    *g1 = d;
    *g2 = e;
}

/* Numbers the cells and returns how many; without branches, which could not be predicted. */
INLINE int number_cells(const site *s, cells *to)
{
    int n = 0;
    to->cell[0] = s->cell[0];
    to->of[0] = 0;
    for (int i = 1; i < CHUNK; i++) {
        n += s->cell[i] != s->cell[i - 1];
        to->of[i] = n;
        to->cell[n] = s->cell[i];
    }
    for (int i = 1; i < QUADS; i++) {
        to->cell[n + i] = to->cell[n];
    }
    return n + 1;
}

INLINE void cell_polynomials(const mpm_box *box, const real *grid, const site *s, cells *to)
{
    const int n = number_cells(s, to);
    for (int i = 0; i < n; i += QUADS) {
        const real *corner[QUADS];
        for (int q = 0; q < QUADS; q++) {
            corner[q] = grid + 4 * (ptrdiff_t)to->cell[i + q];
        }
        vec g[9][3];
#pragma GCC unroll 3
        for (int k = 0; k < 3; k++) {
            vec h[9];
#pragma GCC unroll 9
            for (int r = 0; r < 9; r++) {
                ptrdiff_t row = r / 3 * (ptrdiff_t)box->stride_x + r % 3 * (ptrdiff_t)box->stride_y;
                h[r] = load_quads(corner, 4 * row + 4 * k);
            }
#pragma GCC unroll 3
            for (int b = 0; b < 3; b++) {
                axis_polynomial(&h[b], &h[3 + b], &h[6 + b]);
            }
#pragma GCC unroll 3
            for (int a = 0; a < 3; a++) {
                axis_polynomial(&h[3 * a], &h[3 * a + 1], &h[3 * a + 2]);
            }
#pragma GCC unroll 9
            for (int r = 0; r < 9; r++) {
                g[r][k] = h[r];
            }
        }
#pragma GCC unroll 9
        for (int r = 0; r < 9; r++) {
            axis_polynomial(&g[r][0], &g[r][1], &g[r][2]);
#pragma GCC unroll 3
            for (int k = 0; k < 3; k++) {
                store(to->c[i / QUADS][3 * r + k], g[r][k]);
            }
        }
    }
}

/* Sums over a chunk's stencils of a grid field g (4 components): value and moments as gather_run() gives
 * them, and twice their derivatives by the position along axis d: of the value, and of the moment along k. */
typedef struct gathered {
    affine sums;
    real by_value[3][CHUNK_ROOM][4];
    real by_moment[3][3][CHUNK_ROOM][4];
} gathered;

/* Receives the sums and their derivatives: by_value and by_moment; or, if h is already known, directly the
 * derivative of sum w g . h(o - fx) by the position, with h's value and slopes at the particles. */
typedef struct sink {
    affine *sums;
    gathered *all;           /* NULL: contracted */
    const affine *field;     /* h */
    real (*position_bar)[4]; /* twice that derivative; component d is for axis d */
} sink;

/* The field as a polynomial in yx: one coefficient, summed along z and y. First letter: along z, second:
 * along y; v value, s slope, c curvature. */
typedef struct plane_sums {
    vec vv, vs, vc, sv, ss, sc, cv, cs;
} plane_sums;

INLINE plane_sums sum_plane(const real *const cell[QUADS], int k, const place *y, const place *z)
{
    plane_sums r;
    vec v[3], s[3], c[3];
#pragma GCC unroll 3
    for (int b = 2; b >= 0; b--) {
        vec c1 = load_quads(cell, (k + 3 * b + 1) * VL);
        c[b] = load_quads(cell, (k + 3 * b + 2) * VL);
        v[b] = VALUE(load_quads(cell, (k + 3 * b) * VL), c1, c[b], *z);
        s[b] = SLOPE(c1, c[b], *z);
    }
    r.vv = VALUE(v[0], v[1], v[2], *y);
    r.vs = SLOPE(v[1], v[2], *y);
    r.vc = v[2];
    r.sv = VALUE(s[0], s[1], s[2], *y);
    r.ss = SLOPE(s[1], s[2], *y);
    r.sc = s[2];
    r.cv = VALUE(c[0], c[1], c[2], *y);
    r.cs = SLOPE(c[1], c[2], *y);
    return r;
}

/* One derivative along an axis: of the value (part 0) or of the moment along axis part - 1. */
INLINE void add_derivative(const sink *to, int i, int axis, int part, vec derivative, vec sum[3])
{
    if (!to->all) {
        sum[axis] += load(to->field->part[part][i]) * derivative;
    } else if (part == 0) {
        store(to->all->by_value[axis][i], derivative);
    } else {
        store(to->all->by_moment[axis][part - 1][i], derivative);
    }
}

/* Sums the four components of each quad: lane 0 of d[0], 1 of d[1], 2 of d[2]; 3 is 0. */
INLINE vec sum_of_components(const vec d[3])
{
    const vec none = all(R(0));
    vec xy = EVEN_OF(d[0], d[1]) + ODD_OF(d[0], d[1]), z = EVEN_OF(d[2], none) + ODD_OF(d[2], none);
    return PAIRS_LOW(xy, z) + PAIRS_HIGH(xy, z);
}

/* Uses each sum over x at once: there are not enough registers for all of them. For each axis in the order of
 * position_adjoint(). */
INLINE void gather_derivatives(const site *s, const cells *known, int count, const sink *to)
{
    for (int i = 0; i < count; i += QUADS) {
        const real *cell[QUADS];
        for (int q = 0; q < QUADS; q++) {
            const int c = known->of[i + q];
            cell[q] = known->c[c / QUADS][0] + c % QUADS * 4;
        }
        vec d[3] = {all(R(0)), all(R(0)), all(R(0))};
        vec y = load(s->y[i]);
        const vec halved = R(0.5) * y, weight = CURVE_WEIGHT(y), twice = R(2) * y;
        const place at[3] = {{SPREAD(halved, 0), SPREAD(weight, 0), SPREAD(twice, 0)},
                             {SPREAD(halved, 1), SPREAD(weight, 1), SPREAD(twice, 1)},
                             {SPREAD(halved, 2), SPREAD(weight, 2), SPREAD(twice, 2)}};
        const plane_sums two = sum_plane(cell, 18, &at[1], &at[2]), one = sum_plane(cell, 9, &at[1], &at[2]);
        const vec quarter = R(0.25) - y * y;
        const vec curve = R(0.5) * y * quarter, own = R(3) * quarter;
        vec cx = SPREAD(curve, 0), cy = SPREAD(curve, 1), cz = SPREAD(curve, 2);
        vec slope = SLOPE(one.vv, two.vv, at[0]);
        add_derivative(to, i, 0, 0, slope, d);
        store(to->sums->part[1][i], R(0.125) * slope + cx * two.vv);
        add_derivative(to, i, 0, 1, SPREAD(own, 0) * two.vv, d);
        vec mixed = R(0.125) * SLOPE(one.vs, two.vs, at[0]);
        add_derivative(to, i, 1, 1, mixed + cx * two.vs, d);
        add_derivative(to, i, 0, 2, mixed + cy * SLOPE(one.vc, two.vc, at[0]), d);
        mixed = R(0.125) * SLOPE(one.sv, two.sv, at[0]);
        add_derivative(to, i, 2, 1, mixed + cx * two.sv, d);
        add_derivative(to, i, 0, 3, mixed + cz * SLOPE(one.cv, two.cv, at[0]), d);
        const plane_sums none = sum_plane(cell, 0, &at[1], &at[2]);
        store(to->sums->part[0][i], VALUE(none.vv, one.vv, two.vv, at[0]));
        slope = VALUE(none.vs, one.vs, two.vs, at[0]);
        vec curvature = VALUE(none.vc, one.vc, two.vc, at[0]);
        add_derivative(to, i, 1, 0, slope, d);
        store(to->sums->part[2][i], R(0.125) * slope + cy * curvature);
        add_derivative(to, i, 1, 2, SPREAD(own, 1) * curvature, d);
        slope = VALUE(none.sv, one.sv, two.sv, at[0]);
        add_derivative(to, i, 2, 0, slope, d);
        mixed = R(0.125) * VALUE(none.ss, one.ss, two.ss, at[0]);
        add_derivative(to, i, 1, 3, mixed + cz * VALUE(none.cs, one.cs, two.cs, at[0]), d);
        add_derivative(to, i, 2, 2, mixed + cy * VALUE(none.sc, one.sc, two.sc, at[0]), d);
        curvature = VALUE(none.cv, one.cv, two.cv, at[0]);
        store(to->sums->part[3][i], R(0.125) * slope + cz * curvature);
        add_derivative(to, i, 2, 3, SPREAD(own, 2) * curvature, d);
        if (!to->all) {
            store(to->position_bar[i], sum_of_components(d));
        }
    }
}

/* Twice the derivative of sum w g . h(o - fx) by the positions of QUADS particles: h's value and slopes at
 * particle i. Component d of each quad is for axis d. */
INLINE vec position_adjoint(const gathered *g, vec h, vec hx, vec hy, vec hz, int i)
{
    vec d[3];
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        d[k] = h * load(g->by_value[k][i]) + hx * load(g->by_moment[k][0][i]) +
               hy * load(g->by_moment[k][1][i]) + hz * load(g->by_moment[k][2][i]);
    }
    return sum_of_components(d);
}

#undef MIDDLE
#undef CURVE_WEIGHT
#undef VALUE
#undef SLOPE

#endif
