/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of one substep over the particles, fused: velocities from the grid of the substep before,
 * constitutive law, momentum to the grid; and the same backwards. Compiled once per float type and
 * instruction set (see local.mk). */
#include "kernels.h"

#include "convert.h"
#include "lanes.h"
#include "law.h"
#include "law_fluid.h"
#include "nodes.h"
#include "stencil.h"

#include <string.h>

enum { GROUPS = CHUNK / VL }; /* vectors of particles in a chunk */

/* Constants of a pass for quads: built once, because the compiler would do so in every loop. */
typedef struct constants {
    vec low, high, drift;     /* where particles are stopped; displacement per velocity */
    vec apic, inertia, mass;  /* factors of moments, velocity; what component 3 of the momentum field holds */
} constants;

typedef struct work {
    constants by;
    site before, now;       /* where the particles were and are on the grid */
    affine moved;           /* grid velocity at `before`: value and moments */
    affine field;           /* what goes to the grid */
    gathered own, other;    /* adjoint pass: of the grid velocity, and of the adjoint of momentum and mass */
    real stress[3][CHUNK][4]; /* columns of the scaled stress; adjoint pass: of A_bar F^T */
    strain strains[GROUPS];
    sym squares[GROUPS];
    vec log_series[GROUPS][3], log_slope[GROUPS][3];
} work;

/* ---- fallback: singular values in double precision, one particle at a time ---- */

static void lane_law(const mpm_material *law, const vec a[9], int lane, real factor, vec f_new[9],
                     vec stress[6])
{
    static const int where[6] = {0, 1, 2, 4, 5, 8};
    double trial_f[9], f[9], t[9];
    mpm_svd svd;
    for (int k = 0; k < 9; k++) {
        trial_f[k] = (double)a[k][lane];
    }
    mpm_svd3(trial_f, &svd);
    mpm_material_update(law, trial_f, &svd, f, t);
    for (int k = 0; k < 9; k++) {
        f_new[k][lane] = R(f[k]);
    }
    for (int k = 0; k < 6; k++) {
        stress[k][lane] = R(t[where[k]]) * factor;
    }
}

static void lane_law_adjoint(const mpm_material *law, const vec a[9], int lane, const vec f_bar[9],
                             const sym t_bar, vec a_bar[9])
{
    static const int where[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    double trial_f[9], f[9], t[9], fb[9], tb[9], ab[9];
    mpm_svd svd;
    for (int k = 0; k < 9; k++) {
        trial_f[k] = (double)a[k][lane];
        fb[k] = (double)f_bar[k][lane];
        tb[k] = (double)t_bar[where[k]][lane];
    }
    mpm_svd3(trial_f, &svd);
    mpm_material_update(law, trial_f, &svd, f, t);
    mpm_material_adjoint(law, &svd, f, fb, tb, ab);
    for (int k = 0; k < 9; k++) {
        a_bar[k][lane] = R(ab[k]);
    }
}

static void set_constants(const mpm_pass *p, constants *by)
{
    by->low = quad_constant(R(p->low[0]), R(p->low[1]), R(p->low[2]), R(0));
    by->high = quad_constant(R(p->high[0]), R(p->high[1]), R(p->high[2]), R(0));
    by->drift = quad_constant(R(p->drift), R(p->drift), R(p->drift), R(0));
    by->apic = quad_constant(R(4 * p->mass), R(4 * p->mass), R(4 * p->mass), R(0));
    by->inertia = quad_constant(R(p->mass), R(p->mass), R(p->mass), R(0));
    by->mass = quad_constant(R(0), R(0), R(0), R(p->mass));
}

/* ---- forward ---- */

static void load_gradient(const real *records, int group, vec f[9])
{
    for (int k = 0; k < 9; k++) {
        f[k] = *(const vec *)(records + (9 * group + k) * VL);
    }
}

static void save_gradient(real *records, int group, const vec f[9])
{
    for (int k = 0; k < 9; k++) {
        *(vec *)(records + (9 * group + k) * VL) = f[k];
    }
}

/* dt C as lanes from the moments of a group of VL particles. `columns`: where the three moments of the
 * chunk start. */
INLINE void velocity_step(const real *const columns[3], int group, real factor, vec step[9])
{
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        vec c[3];
        quads_to_lanes(columns[k] + (ptrdiff_t)group * VL * 4, c);
        step[k] = c[0] * factor;
        step[3 + k] = c[1] * factor;
        step[6 + k] = c[2] * factor;
    }
}

/* Trial state and logarithmic strain of a chunk. Returns how many terms exp(k H) needs, and *terms those
 * of the rest; *beyond: whether any lane needs singular values. */
CHUNK_STEP int chunk_strain(const mpm_pass *p, work *w, const real *const columns[3], const real *f_records,
                        int *terms, bool *beyond)
{
    vec shear = all(R(0)), outside = shear, flow = shear;
    for (int g = 0; g < GROUPS; g++) {
        vec f[9], step[9];
        load_gradient(f_records, g, f);
        velocity_step(columns, g, R(p->stretch), step);
        trial(step, f, w->strains[g].a);
        shear = most(shear, strain_deviator(&w->strains[g]));
        outside += w->strains[g].beyond;
    }
    *terms = terms_needed(log_terms, largest_lane(shear));
    *beyond = largest_lane(outside) > R(0);
    for (int g = 0; g < GROUPS; g++) {
        flow = most(flow, strain_flow(&w->strains[g], p->law, *terms, w->log_series[g], w->log_slope[g],
                                      w->squares[g]));
    }
    return terms_needed(exp_terms, largest_lane(flow));
}

/* Terms of e^Y: Y = (1 + k) H is at most about half of D. */
INLINE int stress_terms(const work *w)
{
    vec top = all(R(0));
    for (int g = 0; g < GROUPS; g++) {
        vec r = R(1) + w->strains[g].flow;
        top = most(top, r * r * w->strains[g].h2);
    }
    return terms_needed(exp_terms, largest_lane(top));
}

INLINE void save_columns(real (*columns)[CHUNK][4], int group, const vec t[9])
{
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        lanes_to_quads(t[k], t[3 + k], t[6 + k], columns[k][group * VL]);
    }
}

INLINE void save_stress(work *w, int group, const sym t)
{
    const vec full[9] = {t[0], t[1], t[2], t[1], t[3], t[4], t[2], t[4], t[5]};
    save_columns(w->stress, group, full);
}

/* The affine momentum field m v + Q (o - fx) dx of the particles, and their mass as component 3.
 * `velocity`, `columns`: velocity and moments. */
INLINE void momentum_quads(const work *w, const real *velocity, const real *const columns[3], int i,
                           vec field[4])
{
    field[0] = w->by.inertia * load(velocity + 4 * i) + w->by.mass;
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        field[1 + k] = w->by.apic * load(columns[k] + 4 * i) + load(w->stress[k][i]);
    }
}

/* Stores an affine function of the offset to the particle as one of the offset to the middle node. */
INLINE void save_field(affine *to, const site *s, int i, const vec field[4])
{
    vec y = load(s->y[i]);
    store(to->part[0][i],
          field[0] - field[1] * SPREAD(y, 0) - field[2] * SPREAD(y, 1) - field[3] * SPREAD(y, 2));
    store(to->part[1][i], field[1]);
    store(to->part[2][i], field[2]);
    store(to->part[3][i], field[3]);
}

/* Velocity and moments at the particles of a chunk, from the grid; zero for those that only
 * fill the chunk. */
CHUNK_STEP void gather_chunk(const mpm_pass *p, const site *s, int count, affine *out)
{
    for (int i = 0; i < count;) {
        int end = run_end(s, i, count);
        gather_run(&p->box, p->velocity, s, i, end, out);
        i = end;
    }
    for (int k = 0; k < 4 && count < CHUNK; k++) {
        memset(out->part[k][count], 0, (size_t)(CHUNK - count) * sizeof out->part[k][0]);
    }
}

/* Spreads an affine field to the slab of the block. */
CHUNK_STEP void scatter_chunk(const mpm_pass *p, mpm_block *block, const site *s, int count,
                              const affine *field)
{
    ptrdiff_t skip = (ptrdiff_t)block->plane * p->box.stride_x;
    for (int i = 0; i < count;) {
        int end = run_end(s, i, count);
        scatter_run(&p->box, block->slab, skip, s, i, end, field);
        i = end;
    }
}

/* F_new of a chunk, from what chunk_strain() left. */
CHUNK_STEP void deform_chunk(const mpm_pass *p, work *w, int flow_terms, bool beyond, real *f_records)
{
    for (int g = 0; g < GROUPS; g++) {
        const strain *s = &w->strains[g];
        flow_function flow;
        vec f_new[9];
        flow_function_of(s, flow_terms, &flow);
        new_gradient(s, &flow, f_new);
        for (int l = 0; beyond && l < VL; l++) {
            if (s->beyond[l] > R(0)) {
                sym stress;
                lane_law(p->law, s->a, l, R(p->stress), f_new, stress);
            }
        }
        save_gradient(f_records, g, f_new);
    }
}

/* The scaled stress of a chunk. */
CHUNK_STEP void stress_chunk(const mpm_pass *p, work *w, bool beyond)
{
    int terms = stress_terms(w);
    for (int g = 0; g < GROUPS; g++) {
        const strain *s = &w->strains[g];
        stress_function phi;
        sym stress;
        stress_function_of(s, terms, &phi);
        stress_of(s, &phi, p->law, R(p->stress), stress);
        for (int l = 0; beyond && l < VL; l++) {
            if (s->beyond[l] > R(0)) {
                vec f_new[9];
                lane_law(p->law, s->a, l, R(p->stress), f_new, stress);
            }
        }
        save_stress(w, g, stress);
    }
}

INLINE vec move(const constants *by, vec x, vec v)
{
    return least(most(x + v * by->drift, by->low), by->high);
}

CHUNK_STEP void syrup_chunk(const mpm_pass *p, work *w, const real *const columns[3], real *f_records)
{
    for (int g = 0; g < GROUPS; g++) {
        vec step[9], *j = (vec *)(f_records + 9 * g * VL);
        sym stress;
        velocity_step(columns, g, R(p->stretch), step);
        *j = syrup_volume(*j, syrup_growth(step));
        syrup_stress(p, step, *j, stress);
        save_stress(w, g, stress);
    }
}

CHUNK_STEP void elastic_chunk(const mpm_pass *p, work *w, const real *const columns[3], real *f_records)
{
    for (int g = 0; g < GROUPS; g++) {
        vec step[9], f[9], a[9];
        sym stress;
        load_gradient(f_records, g, f);
        velocity_step(columns, g, R(p->stretch), step);
        trial(step, f, a);
        elastic_stress(p, a, stress);
        save_gradient(f_records, g, a);
        save_stress(w, g, stress);
    }
}

/* F_new, in place, and the stress of a chunk; where `stress` is false that may be left out. */
static void law_chunk(const mpm_pass *p, work *w, const real *const columns[3], real *f_records, bool stress)
{
    uint32_t law = p->law->law;
    if (law == MPM_SYRUP) {
        syrup_chunk(p, w, columns, f_records);
    } else if (law == MPM_ELASTIC) {
        elastic_chunk(p, w, columns, f_records);
    } else {
        bool beyond;
        int terms, flow_terms = chunk_strain(p, w, columns, f_records, &terms, &beyond);
        deform_chunk(p, w, flow_terms, beyond, f_records);
        if (stress) {
            stress_chunk(p, w, beyond);
        }
    }
}

/* F before the pass, for the adjoint. */
INLINE void keep_gradients(real *to, const real *f_records, uint32_t law)
{
    for (int k = 0; k < 9 * GROUPS; k += law == MPM_SYRUP ? 9 : 1) {
        stream(to + k * VL, load(f_records + k * VL));
    }
}

/* A chunk in a substep: at the start of a segment (`first`) or in it; not spreading to the grid when its
 * velocities after this substep are known already (`known`). */
static void forward_chunk(const mpm_pass *p, mpm_block *block, int start, int count, reach *bounds, work *w,
                          bool first, bool known)
{
    size_t at = block->first + (size_t)start;
    real *x = (real *)p->now.x + 4 * at, *f_records = (real *)p->now.f + 9 * at;
    real *keep_x = p->keep_x ? (real *)p->keep_x + 4 * at : NULL;
    real *keep_f = p->keep_f ? (real *)p->keep_f + 9 * at : NULL;
    const real *velocity = first ? (const real *)p->now.v + 4 * at : w->moved.part[0][0];
    const real *columns[3];
    for (size_t k = 0; k < 3; k++) {
        columns[k] = first ? (const real *)p->now.m + 4 * (k * p->padded + at) : w->moved.part[1 + k][0];
    }
    fetch(x + 4 * CHUNK, 4 * CHUNK);
    fetch(f_records + 9 * CHUNK, 9 * CHUNK);
    if (!first) {
        locate(&p->box, x, &w->before);
        gather_chunk(p, &w->before, count, &w->moved);
        for (int i = 0; i < CHUNK; i += QUADS) {
            store(x + 4 * i, move(&w->by, load(x + 4 * i), load(velocity + 4 * i)));
        }
    }
    if (keep_x) {
        for (int k = 0; k < 4 * CHUNK; k += VL) {
            stream(keep_x + k, load(x + k));
        }
        keep_gradients(keep_f, f_records, p->law->law);
    }
    law_chunk(p, w, columns, f_records, !known);
    if (known) {
        return;
    }
    locate_and_bound(&p->box, x, &w->now, bounds);
    for (int i = 0; i < CHUNK; i += QUADS) {
        vec field[4];
        momentum_quads(w, velocity, columns, i, field);
        save_field(&w->field, &w->now, i, field);
    }
    scatter_chunk(p, block, &w->now, count, &w->field);
}

static reach nowhere(void)
{
    reach r;
    for (int d = 0; d < 3; d++) {
        r.lower[d] = all(R(1e6));
        r.upper[d] = all(R(-1e6));
    }
    return r;
}

static void report_reach(mpm_block *block, const reach *r)
{
    for (int d = 0; d < 3; d++) {
        block->lower[d] = -(double)largest_lane(-r->lower[d]);
        block->upper[d] = (double)largest_lane(r->upper[d]);
    }
}

static int chunk_count(const mpm_block *block, int start)
{
    int left = (int)block->count - start;
    return left < CHUNK ? left : CHUNK;
}

static void forward_block(const mpm_pass *pass, mpm_block *block, void *scratch, bool first, bool known)
{
    work *w = scratch;
    reach bounds = nowhere();
    set_constants(pass, &w->by);
    for (int i = 0; i < (int)block->count; i += CHUNK) {
        forward_chunk(pass, block, i, chunk_count(block, i), &bounds, w, first, known);
    }
    if (!known) {
        report_reach(block, &bounds);
    }
}

static void forward(const mpm_pass *pass, mpm_block *block, void *scratch)
{
    forward_block(pass, block, scratch, false, false);
}

static void forward_first(const mpm_pass *pass, mpm_block *block, void *scratch)
{
    forward_block(pass, block, scratch, true, false);
}

static void repeat(const mpm_pass *pass, mpm_block *block, void *scratch)
{
    forward_block(pass, block, scratch, false, true);
}

static void repeat_first(const mpm_pass *pass, mpm_block *block, void *scratch)
{
    forward_block(pass, block, scratch, true, true);
}

/* The end of a substep alone: positions, velocities and moments to pass->out. */
static void gather(const mpm_pass *p, mpm_block *block, void *scratch)
{
    work *w = scratch;
    set_constants(p, &w->by);
    for (int i = 0; i < (int)block->count; i += CHUNK) {
        size_t at = block->first + (size_t)i;
        const real *x = (const real *)p->now.x + 4 * at;
        locate(&p->box, x, &w->before);
        gather_chunk(p, &w->before, chunk_count(block, i), &w->moved);
        for (int j = 0; j < CHUNK; j += QUADS) {
            store((real *)p->out.x + 4 * at + 4 * j,
                  move(&w->by, load(x + 4 * j), load(w->moved.part[0][j])));
        }
        memcpy((real *)p->out.v + 4 * at, w->moved.part[0], 4 * CHUNK * sizeof(real));
        for (size_t k = 0; k < 3; k++) {
            memcpy((real *)p->out.m + 4 * (k * p->padded + at), w->moved.part[1 + k],
                   4 * CHUNK * sizeof(real));
        }
    }
}

/* ---- adjoint ---- */

/* Value, moments and their derivatives at the particles of a chunk. */
CHUNK_STEP void gather_chunk_derivatives(const mpm_pass *p, const void *grid, const site *s, int count,
                                         gathered *out)
{
    for (int i = 0; i < count;) {
        int end = run_end(s, i, count);
        gather_run_derivatives(&p->box, grid, s, i, end, out);
        i = end;
    }
    for (int k = 0; k < 4 && count < CHUNK; k++) {
        size_t bytes = (size_t)(CHUNK - count) * sizeof out->sums.part[k][0];
        memset(out->sums.part[k][count], 0, bytes);
        for (int d = 0; d < 3; d++) {
            memset(k ? out->by_moment[d][k - 1][count] : out->by_value[d][count], 0, bytes);
        }
    }
}

/* Adjoint of the end of the substep before: h: adjoint of velocity and moments at QUADS particles, x_bar:
 * that of the new position. Saves what goes to the grid and returns the adjoint of the old position. */
INLINE vec gather_adjoint_quads(work *w, int i, vec x_bar, vec x, vec h[4])
{
    mask free = less(w->by.low, x) & less(x, w->by.high);
    x_bar = choose(free, x_bar, all(R(0)));
    h[0] += w->by.drift * x_bar;
    save_field(&w->field, &w->before, i, h);
    return x_bar + position_adjoint(&w->own, h[0], h[1], h[2], h[3], i);
}

/* Symmetric part of the adjoint of the stress for a group, from the moments of node_bar. */
INLINE void stress_adjoint(const mpm_pass *p, const work *w, int g, sym t_bar)
{
    const real *const bars[3] =
        {w->other.sums.part[1][0], w->other.sums.part[2][0], w->other.sums.part[3][0]};
    vec q_bar[9];
    velocity_step(bars, g, R(p->stress), q_bar);
    t_bar[0] = q_bar[0];
    t_bar[3] = q_bar[4];
    t_bar[5] = q_bar[8];
    t_bar[1] = R(0.5) * (q_bar[1] + q_bar[3]);
    t_bar[2] = R(0.5) * (q_bar[2] + q_bar[6]);
    t_bar[4] = R(0.5) * (q_bar[5] + q_bar[7]);
}

/* A = (1 + dt C) F backwards for a group. */
INLINE void trial_adjoint(const mpm_pass *p, const real *const columns[3], const real *f_records, int g,
                          const vec a_bar[9], real *bar_records, real (*turned)[CHUNK][4])
{
    vec f[9], step[9], out[9];
    load_gradient(f_records, g, f);
    velocity_step(columns, g, R(p->stretch), step);
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
#pragma GCC unroll 3
        for (int j = 0; j < 3; j++) {
            out[3 * i + j] = a_bar[3 * i + j] + step[i] * a_bar[j] + step[3 + i] * a_bar[3 + j] +
                             step[6 + i] * a_bar[6 + j];
        }
    }
    save_gradient(bar_records, g, out);
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
#pragma GCC unroll 3
        for (int j = 0; j < 3; j++) {
            out[3 * i + j] = a_bar[3 * i] * f[3 * j] + a_bar[3 * i + 1] * f[3 * j + 1] +
                             a_bar[3 * i + 2] * f[3 * j + 2];
        }
    }
    save_columns(turned, g, out);
}

/* Adjoint of the law for a chunk: from the moments of node_bar and the adjoint of F_new (in place: to that
 * of F); leaves the scaled stress in `stress` and the adjoint of dt C in `turned`, column by column. */
CHUNK_STEP void plasticine_adjoint_chunk(const mpm_pass *p, work *w, const real *const columns[3],
                                         const real *f_records,
                              real *bar_records, real (*turned)[CHUNK][4])
{
    int terms;
    bool beyond;
    int flow_terms = chunk_strain(p, w, columns, f_records, &terms, &beyond);
    terms = stress_terms(w);
    for (int g = 0; g < GROUPS; g++) {
        const strain *s = &w->strains[g];
        flow_function flow;
        stress_function phi;
        vec f_bar[9], a_bar[9], out[9];
        sym stress, t_bar;
        flow_function_of(s, flow_terms, &flow);
        stress_function_of(s, terms, &phi);
        stress_of(s, &phi, p->law, R(p->stress), stress);
        stress_adjoint(p, w, g, t_bar);
        load_gradient(bar_records, g, f_bar);
        law_adjoint(s, &flow, &phi, w->log_series[g], w->log_slope[g], w->squares[g], p->law, f_bar, t_bar,
                    a_bar);
        for (int l = 0; beyond && l < VL; l++) {
            if (s->beyond[l] > R(0)) {
                lane_law(p->law, s->a, l, R(p->stress), out, stress);
                lane_law_adjoint(p->law, s->a, l, f_bar, t_bar, a_bar);
            }
        }
        save_stress(w, g, stress);
        trial_adjoint(p, columns, f_records, g, a_bar, bar_records, turned);
    }
}

CHUNK_STEP void syrup_adjoint_chunk(const mpm_pass *p, work *w, const real *const columns[3],
                                const real *f_records, real *bar_records, real (*turned)[CHUNK][4])
{
    for (int g = 0; g < GROUPS; g++) {
        vec step[9], out[9], j = *(const vec *)(f_records + 9 * g * VL),
            *j_bar = (vec *)(bar_records + 9 * g * VL);
        sym stress, t_bar;
        velocity_step(columns, g, R(p->stretch), step);
        vec growth = syrup_growth(step);
        syrup_stress(p, step, syrup_volume(j, growth), stress);
        stress_adjoint(p, w, g, t_bar);
        syrup_adjoint(p, j, growth, t_bar, j_bar, out);
        save_stress(w, g, stress);
        save_columns(turned, g, out);
    }
}

CHUNK_STEP void elastic_adjoint_chunk(const mpm_pass *p, work *w, const real *const columns[3],
                                  const real *f_records, real *bar_records, real (*turned)[CHUNK][4])
{
    for (int g = 0; g < GROUPS; g++) {
        vec step[9], f[9], a[9], a_bar[9];
        sym stress, t_bar;
        load_gradient(f_records, g, f);
        velocity_step(columns, g, R(p->stretch), step);
        trial(step, f, a);
        elastic_stress(p, a, stress);
        stress_adjoint(p, w, g, t_bar);
        load_gradient(bar_records, g, a_bar);
        elastic_adjoint(p, a, t_bar, a_bar);
        save_stress(w, g, stress);
        trial_adjoint(p, columns, f_records, g, a_bar, bar_records, turned);
    }
}

static void law_adjoint_chunk(const mpm_pass *p, work *w, const real *const columns[3], const real *f_records,
                              real *bar_records, real (*turned)[CHUNK][4])
{
    uint32_t law = p->law->law;
    if (law == MPM_SYRUP) {
        syrup_adjoint_chunk(p, w, columns, f_records, bar_records, turned);
    } else if (law == MPM_ELASTIC) {
        elastic_adjoint_chunk(p, w, columns, f_records, bar_records, turned);
    } else {
        plasticine_adjoint_chunk(p, w, columns, f_records, bar_records, turned);
    }
}

static void adjoint_chunk(const mpm_pass *p, mpm_block *block, int start, int count, work *w, bool first)
{
    size_t at = block->first + (size_t)start;
    const real *x = (const real *)p->now.x + 4 * at, *f_records = (const real *)p->now.f + 9 * at;
    real *x_bar = (real *)p->bar.x + 4 * at, *f_bar = (real *)p->bar.f + 9 * at;
    real turned[3][CHUNK][4] __attribute__((aligned(64)));
    const real *velocity = first ? (const real *)p->now.v + 4 * at : w->own.sums.part[0][0];
    const real *columns[3];
    for (size_t k = 0; k < 3; k++) {
        columns[k] = first ? (const real *)p->now.m + 4 * (k * p->padded + at) : w->own.sums.part[1 + k][0];
    }
    fetch(x + 4 * CHUNK, 4 * CHUNK);
    fetch(x_bar + 4 * CHUNK, 4 * CHUNK);
    fetch(f_records + 9 * CHUNK, 9 * CHUNK);
    fetch(f_bar + 9 * CHUNK, 9 * CHUNK);
    if (!first) {
        fetch((const real *)p->x_before + 4 * (at + CHUNK), 4 * CHUNK);
        locate_to_spread(&p->box, (const real *)p->x_before + 4 * at, &w->before);
        gather_chunk_derivatives(p, p->velocity, &w->before, count, &w->own);
    }
    locate(&p->box, x, &w->now);
    gather_chunk_derivatives(p, p->node_bar, &w->now, count, &w->other);
    law_adjoint_chunk(p, w, columns, f_records, f_bar, turned);

    for (int i = 0; i < CHUNK; i += QUADS) {
        vec field[4], h[4];
        momentum_quads(w, velocity, columns, i, field);
        vec bar = load(x_bar + 4 * i) +
            position_adjoint(&w->other, field[0], field[1], field[2], field[3], i);
        h[0] = w->by.inertia * load(w->other.sums.part[0][i]);
#pragma GCC unroll 3
        for (int k = 0; k < 3; k++) {
            h[1 + k] = w->by.apic * load(w->other.sums.part[1 + k][i]) + R(p->stretch) * load(turned[k][i]);
        }
        if (first) {
            store((real *)p->bar.v + 4 * (at + (size_t)i), h[0]);
            for (size_t k = 0; k < 3; k++) {
                store((real *)p->bar.m + 4 * (k * p->padded + at + (size_t)i), h[1 + k]);
            }
        } else {
            bar = gather_adjoint_quads(w, i, bar, load(x + 4 * i), h);
        }
        store(x_bar + 4 * i, bar);
    }
    if (!first) {
        scatter_chunk(p, block, &w->before, count, &w->field);
    }
}

static void adjoint_block(const mpm_pass *pass, mpm_block *block, void *scratch, bool first)
{
    work *w = scratch;
    set_constants(pass, &w->by);
    for (int i = 0; i < (int)block->count; i += CHUNK) {
        adjoint_chunk(pass, block, i, chunk_count(block, i), w, first);
    }
}

static void adjoint(const mpm_pass *pass, mpm_block *block, void *scratch)
{
    adjoint_block(pass, block, scratch, false);
}

static void adjoint_first(const mpm_pass *pass, mpm_block *block, void *scratch)
{
    adjoint_block(pass, block, scratch, true);
}

/* Adjoint of gather(): from the adjoints of x, v and moments in pass->bar to that of x before
 * and the grid. */
static void gather_adjoint(const mpm_pass *p, mpm_block *block, void *scratch)
{
    work *w = scratch;
    set_constants(p, &w->by);
    for (int start = 0; start < (int)block->count; start += CHUNK) {
        size_t at = block->first + (size_t)start;
        int count = chunk_count(block, start);
        const real *before = (const real *)p->x_before + 4 * at;
        real *x_bar = (real *)p->bar.x + 4 * at;
        locate_to_spread(&p->box, before, &w->before);
        gather_chunk_derivatives(p, p->velocity, &w->before, count, &w->own);
        for (int i = 0; i < CHUNK; i += QUADS) {
            vec h[4];
            h[0] = load((const real *)p->bar.v + 4 * (at + (size_t)i));
            for (size_t k = 0; k < 3; k++) {
                h[1 + k] = load((const real *)p->bar.m + 4 * (k * p->padded + at + (size_t)i));
            }
            vec x = move(&w->by, load(before + 4 * i), load(w->own.sums.part[0][i]));
            store(x_bar + 4 * i, gather_adjoint_quads(w, i, load(x_bar + 4 * i), x, h));
        }
        scatter_chunk(p, block, &w->before, count, &w->field);
    }
}

/* mpm_kernels_64_avx2 and so on */
#define KERNELS_NAME(bits, isa) mpm_kernels_##bits##_##isa
#define KERNELS_OF(bits, isa) KERNELS_NAME(bits, isa)
#define TEXT_OF(word) #word
#define TEXT(word) TEXT_OF(word)

extern const mpm_kernels KERNELS_OF(MPM_REAL_BITS, MPM_ISA);
const mpm_kernels KERNELS_OF(MPM_REAL_BITS, MPM_ISA) = {
    .isa = TEXT(MPM_ISA),
    .lanes = VL,
    .chunk = CHUNK,
    .real = sizeof(real),
    .scratch = sizeof(work),
    .particles = {[MPM_PASS_FORWARD] = forward,
                  [MPM_PASS_FORWARD_FIRST] = forward_first,
                  [MPM_PASS_REPEAT] = repeat,
                  [MPM_PASS_REPEAT_FIRST] = repeat_first,
                  [MPM_PASS_GATHER] = gather,
                  [MPM_PASS_ADJOINT] = adjoint,
                  [MPM_PASS_ADJOINT_FIRST] = adjoint_first,
                  [MPM_PASS_GATHER_ADJOINT] = gather_adjoint},
    .nodes_forward = nodes_forward,
    .nodes_walls = nodes_walls,
    .nodes_speed = nodes_speed,
    .nodes_adjoint = nodes_adjoint,
    .pack = pack_plane,
    .unpack = unpack_plane,
    .import = import_particles,
    .export = export_particles,
    .add_bar = add_bar,
    .permute = permute,
    .bases = bases,
    .node = get_node,
    .set_node = set_node,
};
