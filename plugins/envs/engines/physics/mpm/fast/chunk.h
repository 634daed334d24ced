/* SPDX-License-Identifier: Apache-2.0 */
/* chunk.h - what all passes over the particles do with a chunk of them: position on the grid, gather,
 * scatter, and the laws (F after the substep and the stress, from F before and the velocity gradient; each
 * law with its adjoint). */
#ifndef MPM_FAST_CHUNK_H
#define MPM_FAST_CHUNK_H

#include "engines/physics/mpm/fast/kernels.h"
#include "engines/physics/mpm/fast/lanes.h"
#include "engines/physics/mpm/fast/law.h"
#include "engines/physics/mpm/fast/sand.h"
#include "engines/physics/mpm/fast/stencil.h"
#include "engines/physics/mpm/sim/deform.h"

#include <string.h>

enum { GROUPS = CHUNK / VL }; /* vectors of particles in a chunk */

/* Constants of a pass for quads: built once, because the compiler would build them in every loop. */
typedef struct constants {
    vec low, high, drift;    /* limits of the positions; displacement per velocity */
    vec apic, inertia, mass; /* factors of moments and velocity; component 3 of the momentum field */
} constants;

typedef struct work {
    constants by;
    site before, now; /* positions of the particles on the grid, before and now */
    affine moved;     /* grid velocity at `before`: value and moments */
    affine field;     /* field spread to the grid */
    /* adjoint pass: derivatives of the grid velocity; of the adjoint of momentum and mass, contracted with
     * the field */
    gathered own;
    affine other;
    real position_bar[CHUNK_ROOM][4];
    cells cells;
    real stress[3][CHUNK][4]; /* columns of the scaled stress */
    strain strains[GROUPS];
    sym squares[GROUPS];
    vec log_series[GROUPS][3], log_slope[GROUPS][3];
    stress_function phi[GROUPS];
    vec growth[GROUPS]; /* of syrup */
    grains grains[GROUPS];
} work;

static void set_constants(const mpm_pass *p, constants *by)
{
    by->low = quad_constant(R(p->low[0]), R(p->low[1]), R(p->low[2]), R(0));
    by->high = quad_constant(R(p->high[0]), R(p->high[1]), R(p->high[2]), R(0));
    by->drift = quad_constant(R(p->drift), R(p->drift), R(p->drift), R(0));
    by->apic = quad_constant(R(4 * p->mass), R(4 * p->mass), R(4 * p->mass), R(0));
    by->inertia = quad_constant(R(p->mass), R(p->mass), R(p->mass), R(0));
    by->mass = quad_constant(R(0), R(0), R(0), R(p->mass));
}

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

/* dt C as lanes from the moments of a group of VL particles. `columns`: start of the three moments of the
 * chunk. */
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

INLINE void save_columns(real (*columns)[CHUNK][4], int group, const vec t[9])
{
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        lanes_to_quads(t[k], t[3 + k], t[6 + k], columns[k][group * VL]);
    }
}
/* The affine momentum field m v + Q (o - fx) dx of the particles, and their mass as component 3. `velocity`,
 * `columns`: velocity and moments. */
INLINE void momentum_quads(const work *w, const real *velocity, const real *const columns[3], int i,
                           vec field[4])
{
    field[0] = w->by.inertia * load(velocity + 4 * i) + w->by.mass;
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        field[1 + k] = w->by.apic * load(columns[k] + 4 * i) + load(w->stress[k][i]);
    }
}

/* Stores an affine function of the offset to the particle as a function of the offset to the middle node. */
INLINE void save_field(affine *to, const site *s, int i, const vec field[4])
{
    vec y = load(s->y[i]);
    store(to->part[0][i],
          field[0] - field[1] * SPREAD(y, 0) - field[2] * SPREAD(y, 1) - field[3] * SPREAD(y, 2));
    store(to->part[1][i], field[1]);
    store(to->part[2][i], field[2]);
    store(to->part[3][i], field[3]);
}

/* Clears the particles that pad the chunk. */
INLINE void clear_rest(real (*of_chunk)[4], int count)
{
    memset(of_chunk[count], 0, (size_t)(CHUNK - count) * sizeof of_chunk[0]);
}

/* Velocity and moments at the particles of a chunk, from the grid; zero for padding. */
CHUNK_STEP void gather_chunk(const mpm_pass *p, const site *s, int count, affine *out)
{
    for (int i = 0; i < count;) {
        int end = run_end(s, i, count);
        gather_run(&p->box, p->velocity, s, i, end, out);
        i = end;
    }
    for (int k = 0; k < 4 && count < CHUNK; k++) {
        clear_rest(out->part[k], count);
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

INLINE void gather_derivatives_chunk(const mpm_pass *p, const void *grid, const site *s, int count,
                                     cells *known, const sink *to)
{
    cell_polynomials(&p->box, grid, s, known);
    gather_derivatives(s, known, count, to);
    for (int k = 0; k < 4 && count < CHUNK; k++) {
        clear_rest(to->sums->part[k], count);
        for (int d = 0; to->all && d < 3; d++) {
            clear_rest(k ? to->all->by_moment[d][k - 1] : to->all->by_value[d], count);
        }
    }
    if (!to->all && count < CHUNK) {
        clear_rest(to->position_bar, count);
    }
}

/* Value, moments and their derivatives at the particles of a chunk. */
CHUNK_STEP void gather_chunk_derivatives(const mpm_pass *p, const void *grid, const site *s, int count,
                                         cells *known, gathered *out)
{
    gather_derivatives_chunk(p, grid, s, count, known, &(sink){.sums = &out->sums, .all = out});
}

/* Value, moments, and the derivative of the sum over the stencils of the grid field times the particles'
 * field. */
CHUNK_STEP void gather_chunk_contracted(const mpm_pass *p, const void *grid, const site *s, int count,
                                        cells *known, const affine *field, affine *sums,
                                        real (*position_bar)[4])
{
    gather_derivatives_chunk(p, grid, s, count, known,
                             &(sink){.sums = sums, .field = field, .position_bar = position_bar});
}

INLINE vec move(const constants *by, vec x, vec v)
{
    return least(most(x + v * by->drift, by->low), by->high);
}

static int chunk_count(const mpm_block *block, int start)
{
    int left = (int)block->count - start;
    return left < CHUNK ? left : CHUNK;
}

/* ---- laws ---- */

INLINE void save_stress(work *w, int group, const sym t)
{
    const vec full[9] = {t[0], t[1], t[2], t[1], t[3], t[4], t[2], t[4], t[5]};
    save_columns(w->stress, group, full);
}

/* Symmetric part of the adjoint of the stress for a group, from the moments of node_bar. */
INLINE void stress_adjoint(const mpm_pass *p, const work *w, int g, sym t_bar)
{
    const real *const bars[3] = {w->other.part[1][0], w->other.part[2][0], w->other.part[3][0]};
    vec q_bar[9];
    velocity_step(bars, g, R(p->stress), q_bar);
    t_bar[0] = q_bar[0];
    t_bar[3] = q_bar[4];
    t_bar[5] = q_bar[8];
    t_bar[1] = R(0.5) * (q_bar[1] + q_bar[3]);
    t_bar[2] = R(0.5) * (q_bar[2] + q_bar[6]);
    t_bar[4] = R(0.5) * (q_bar[5] + q_bar[7]);
}

/* Adjoint of A = (1 + dt C) F for a group. */
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
            out[3 * i + j] =
                a_bar[3 * i] * f[3 * j] + a_bar[3 * i + 1] * f[3 * j + 1] + a_bar[3 * i + 2] * f[3 * j + 2];
        }
    }
    save_columns(turned, g, out);
}

/* ---- plasticine ----
 *
 * Where the polynomials do not reach: singular values in double precision, one particle at a time.
 */

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
    mpm_law_update(law, trial_f, &svd, f, t);
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
    mpm_law_update(law, trial_f, &svd, f, t);
    mpm_law_adjoint(law, &svd, f, fb, tb, ab);
    for (int k = 0; k < 9; k++) {
        a_bar[k][lane] = R(ab[k]);
    }
}

/* The trial state of a chunk, as far as the series reach; returns whether any lane needs singular values.
 * sand: its series reach less far. Writes the largest second invariant of D. */
INLINE bool trial_of_chunk(const mpm_pass *p, work *w, const real *const columns[3], const real *f_records,
                           bool sand, vec *shear)
{
    vec outside = all(R(0));
    *shear = outside;
    for (int g = 0; g < GROUPS; g++) {
        vec f[9], step[9];
        load_gradient(f_records, g, f);
        velocity_step(columns, g, R(p->stretch), step);
        trial(step, f, w->strains[g].a);
        strain_deviator(&w->strains[g]);
        if (sand) {
            sand_volume(&w->strains[g], &w->grains[g]);
        }
        outside += w->strains[g].beyond;
    }
    const bool beyond = largest_lane(outside) > R(0);
    for (int g = 0; g < GROUPS; g++) {
        if (beyond) {
            strain_beyond(&w->strains[g]);
        }
        *shear = most(*shear, w->strains[g].d2);
    }
    return beyond;
}

/* Trial state and logarithmic strain of a chunk. Returns the number of terms that exp(k H) needs; *beyond:
 * whether any lane needs singular values. slopes: whether derivatives are needed too. */
INLINE int strain_of_chunk(const mpm_pass *p, work *w, const real *const columns[3], const real *f_records,
                           bool slopes, bool *beyond)
{
    vec shear, flow = all(R(0)), unused[3];
    *beyond = trial_of_chunk(p, w, columns, f_records, false, &shear);
    int terms = terms_needed(log_limits, largest_lane(shear));
    for (int g = 0; g < GROUPS; g++) {
        flow = most(flow, strain_flow(&w->strains[g], p->law, terms, w->log_series[g],
                                      slopes ? w->log_slope[g] : unused, w->squares[g]));
    }
    if (p->law->yield) {
        flow = all(R(0));
        for (int g = 0; g < GROUPS; g++) {
            flow = most(flow, yield_flow(&w->strains[g], p->law));
        }
    }
    return terms_needed(exp_limits, largest_lane(flow));
}

CHUNK_STEP int chunk_strain(const mpm_pass *p, work *w, const real *const columns[3], const real *f_records,
                            bool *beyond)
{
    return strain_of_chunk(p, w, columns, f_records, false, beyond);
}

CHUNK_STEP int chunk_strain_slopes(const mpm_pass *p, work *w, const real *const columns[3],
                                   const real *f_records, bool *beyond)
{
    return strain_of_chunk(p, w, columns, f_records, true, beyond);
}

/* Terms of e^Y: Y = (1 + k) H is at most about half of D. */
INLINE int stress_terms(const work *w)
{
    vec top = all(R(0));
    for (int g = 0; g < GROUPS; g++) {
        vec r = R(1) + w->strains[g].flow;
        top = most(top, r * r * w->strains[g].h2);
    }
    return terms_needed(exp_limits, largest_lane(top));
}

/* F_new of a chunk, from the results of strain_of_chunk(). */
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

INLINE void save_law_stress(const mpm_pass *p, work *w, int g, const stress_function *phi, bool beyond)
{
    const strain *s = &w->strains[g];
    sym stress;
    stress_of(s, phi, p->law, R(p->stress), stress);
    for (int l = 0; beyond && l < VL; l++) {
        if (s->beyond[l] > R(0)) {
            vec f_new[9];
            lane_law(p->law, s->a, l, R(p->stress), f_new, stress);
        }
    }
    save_stress(w, g, stress);
}

/* The scaled stress of a chunk. */
CHUNK_STEP void stress_chunk(const mpm_pass *p, work *w, bool beyond)
{
    int terms = stress_terms(w);
    for (int g = 0; g < GROUPS; g++) {
        stress_function phi;
        stress_function_of(&w->strains[g], terms, &phi);
        save_law_stress(p, w, g, &phi, beyond);
    }
}

/* For the adjoint: the scaled stress again, and the inputs of law_adjoint(). Returns as strain_of_chunk(). */
CHUNK_STEP int plasticine_again_chunk(const mpm_pass *p, work *w, const real *const columns[3],
                                      const real *f_records, bool *beyond)
{
    int flow_terms = chunk_strain_slopes(p, w, columns, f_records, beyond), terms = stress_terms(w);
    for (int g = 0; g < GROUPS; g++) {
        const strain *s = &w->strains[g];
        stress_function_of(s, terms, &w->phi[g]);
        save_law_stress(p, w, g, &w->phi[g], *beyond);
    }
    return flow_terms;
}

CHUNK_STEP void plasticine_adjoint_chunk(const mpm_pass *p, work *w, const real *const columns[3],
                                         const real *f_records, int flow_terms, bool beyond,
                                         real *bar_records, real (*turned)[CHUNK][4])
{
    for (int g = 0; g < GROUPS; g++) {
        const strain *s = &w->strains[g];
        flow_function flow;
        vec f_bar[9], a_bar[9];
        sym t_bar;
        flow_function_of(s, flow_terms, &flow);
        stress_adjoint(p, w, g, t_bar);
        load_gradient(bar_records, g, f_bar);
        law_adjoint(s, &flow, &w->phi[g], w->log_series[g], w->log_slope[g], w->squares[g], p->law, f_bar,
                    t_bar, a_bar);
        for (int l = 0; beyond && l < VL; l++) {
            if (s->beyond[l] > R(0)) {
                lane_law_adjoint(p->law, s->a, l, f_bar, t_bar, a_bar);
            }
        }
        trial_adjoint(p, columns, f_records, g, a_bar, bar_records, turned);
    }
}

/* ---- sand ---- */

/* As strain_of_chunk(). */
CHUNK_STEP int sand_strain_chunk(const mpm_pass *p, work *w, const real *const columns[3],
                                 const real *f_records, bool *beyond)
{
    vec shear, flow = all(R(0));
    *beyond = trial_of_chunk(p, w, columns, f_records, true, &shear);
    int terms = terms_needed(log_limits, largest_lane(shear));
    for (int g = 0; g < GROUPS; g++) {
        strain *s = &w->strains[g];
        log_strain(s, terms, w->log_series[g], w->log_slope[g], w->squares[g]);
        sand_flow(s, p->law, w->log_series[g], &w->grains[g]);
        flow = most(flow, s->flow * s->flow * s->h2);
    }
    return terms_needed(exp_limits, largest_lane(flow));
}

CHUNK_STEP void sand_deform_chunk(const mpm_pass *p, work *w, int flow_terms, bool beyond, real *f_records)
{
    for (int g = 0; g < GROUPS; g++) {
        const strain *s = &w->strains[g];
        flow_function flow;
        vec f_new[9];
        flow_function_of(s, flow_terms, &flow);
        new_gradient(s, &flow, f_new);
        for (int i = 0; i < 9; i++) {
            f_new[i] *= w->grains[g].shrink;
        }
        for (int l = 0; beyond && l < VL; l++) {
            if (s->beyond[l] > R(0)) {
                sym stress;
                lane_law(p->law, s->a, l, R(p->stress), f_new, stress);
            }
        }
        save_gradient(f_records, g, f_new);
    }
}

CHUNK_STEP void sand_stress_chunk(const mpm_pass *p, work *w, bool beyond)
{
    for (int g = 0; g < GROUPS; g++) {
        const strain *s = &w->strains[g];
        sym stress;
        sand_stress(s, &w->grains[g], p->law, R(p->stress), stress);
        for (int l = 0; beyond && l < VL; l++) {
            if (s->beyond[l] > R(0)) {
                vec f_new[9];
                lane_law(p->law, s->a, l, R(p->stress), f_new, stress);
            }
        }
        save_stress(w, g, stress);
    }
}

CHUNK_STEP void sand_adjoint_chunk(const mpm_pass *p, work *w, const real *const columns[3],
                                   const real *f_records, int flow_terms, bool beyond, real *bar_records,
                                   real (*turned)[CHUNK][4])
{
    for (int g = 0; g < GROUPS; g++) {
        const strain *s = &w->strains[g];
        flow_function flow;
        vec f_bar[9], a_bar[9];
        sym t_bar;
        flow_function_of(s, flow_terms, &flow);
        stress_adjoint(p, w, g, t_bar);
        load_gradient(bar_records, g, f_bar);
        sand_adjoint(s, &w->grains[g], &flow, w->log_series[g], w->log_slope[g], w->squares[g], p->law, f_bar,
                     t_bar, a_bar);
        for (int l = 0; beyond && l < VL; l++) {
            if (s->beyond[l] > R(0)) {
                lane_law_adjoint(p->law, s->a, l, f_bar, t_bar, a_bar);
            }
        }
        trial_adjoint(p, columns, f_records, g, a_bar, bar_records, turned);
    }
}

/* ---- syrup ---- */

CHUNK_STEP void syrup_chunk(const mpm_pass *p, work *w, const real *const columns[3], real *f_records)
{
    for (int g = 0; g < GROUPS; g++) {
        vec step[9], *j = (vec *)(f_records + g * VL);
        sym stress;
        velocity_step(columns, g, R(p->stretch), step);
        *j = syrup_volume(*j, syrup_growth(step));
        syrup_stress(p, step, *j, stress);
        save_stress(w, g, stress);
    }
}

CHUNK_STEP void syrup_again_chunk(const mpm_pass *p, work *w, const real *const columns[3],
                                  const real *f_records)
{
    for (int g = 0; g < GROUPS; g++) {
        vec step[9], j = *(const vec *)(f_records + g * VL);
        sym stress;
        velocity_step(columns, g, R(p->stretch), step);
        w->growth[g] = syrup_growth(step);
        syrup_stress(p, step, syrup_volume(j, w->growth[g]), stress);
        save_stress(w, g, stress);
    }
}

CHUNK_STEP void syrup_adjoint_chunk(const mpm_pass *p, work *w, const real *const columns[3],
                                    const real *f_records, real *bar_records, real (*turned)[CHUNK][4])
{
    for (int g = 0; g < GROUPS; g++) {
        vec out[9], j = *(const vec *)(f_records + g * VL), *j_bar = (vec *)(bar_records + g * VL);
        sym t_bar;
        stress_adjoint(p, w, g, t_bar);
        if (p->law->bar) {
            vec step[9];
            velocity_step(columns, g, R(p->stretch), step);
            syrup_constants(p, step, syrup_volume(j, w->growth[g]), t_bar);
        }
        syrup_adjoint(p, j, w->growth[g], t_bar, j_bar, out);
        save_columns(turned, g, out);
    }
}

/* ---- elastic solid ---- */

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

CHUNK_STEP void elastic_again_chunk(const mpm_pass *p, work *w, const real *const columns[3],
                                    const real *f_records)
{
    for (int g = 0; g < GROUPS; g++) {
        vec step[9], f[9];
        sym stress;
        load_gradient(f_records, g, f);
        velocity_step(columns, g, R(p->stretch), step);
        trial(step, f, w->strains[g].a);
        elastic_stress(p, w->strains[g].a, stress);
        save_stress(w, g, stress);
    }
}

CHUNK_STEP void elastic_adjoint_chunk(const mpm_pass *p, work *w, const real *const columns[3],
                                      const real *f_records, real *bar_records, real (*turned)[CHUNK][4])
{
    for (int g = 0; g < GROUPS; g++) {
        vec a_bar[9];
        sym t_bar;
        stress_adjoint(p, w, g, t_bar);
        load_gradient(bar_records, g, a_bar);
        elastic_adjoint(p, w->strains[g].a, t_bar, a_bar);
        if (p->law->bar) {
            elastic_constants(p, w->strains[g].a, t_bar);
        }
        trial_adjoint(p, columns, f_records, g, a_bar, bar_records, turned);
    }
}

/* ---- inertia ---- */

/* Adds the adjoints of the mass and of the fall, from the adjoint of momentum and mass at the particles. */
static __attribute__((noinline)) void inertia_adjoint(const mpm_pass *p, const work *w, const real *velocity,
                                                      const real *const columns[3], int count)
{
    double *bar = p->law->bar + (size_t)MPM_CONSTANTS * p->law->part;
    for (int i = 0; i < count; i++) {
        const real *value = w->other.part[0][i];
        double mass = (double)value[3];
        for (int d = 0; d < 3; d++) {
            mass += (double)velocity[4 * i + d] * (double)value[d];
            for (int k = 0; k < 3; k++) {
                mass += 4.0 * (double)columns[k][4 * i + d] * (double)w->other.part[1 + k][i][d];
            }
            bar[MPM_BAR_FALL + d] += p->mass * (double)value[d];
        }
        bar[MPM_BAR_MASS] += mass;
    }
}

/* ---- all laws ---- */

/* F_new, in place, and the stress of a chunk; if `stress` is false the stress may be skipped. */
static void law_chunk(const mpm_pass *p, work *w, const real *const columns[3], real *f_records, bool stress)
{
    uint32_t law = p->law->law;
    if (law == MPM_SYRUP) {
        syrup_chunk(p, w, columns, f_records);
    } else if (law == MPM_ELASTIC) {
        elastic_chunk(p, w, columns, f_records);
    } else if (law == MPM_SAND) {
        bool beyond;
        int flow_terms = sand_strain_chunk(p, w, columns, f_records, &beyond);
        sand_deform_chunk(p, w, flow_terms, beyond, f_records);
        if (stress) {
            sand_stress_chunk(p, w, beyond);
        }
    } else {
        bool beyond;
        int flow_terms = chunk_strain(p, w, columns, f_records, &beyond);
        deform_chunk(p, w, flow_terms, beyond, f_records);
        if (stress) {
            stress_chunk(p, w, beyond);
        }
    }
}

/* Data of the law that the adjoint of a chunk needs before the adjoint of the stress is known. */
typedef struct law_state {
    int flow_terms;
    bool beyond;
} law_state;

/* The stress of a chunk again. */
static law_state law_again_chunk(const mpm_pass *p, work *w, const real *const columns[3],
                                 const real *f_records)
{
    law_state state = {0};
    uint32_t law = p->law->law;
    if (law == MPM_SYRUP) {
        syrup_again_chunk(p, w, columns, f_records);
    } else if (law == MPM_ELASTIC) {
        elastic_again_chunk(p, w, columns, f_records);
    } else if (law == MPM_SAND) {
        state.flow_terms = sand_strain_chunk(p, w, columns, f_records, &state.beyond);
        sand_stress_chunk(p, w, state.beyond);
    } else {
        state.flow_terms = plasticine_again_chunk(p, w, columns, f_records, &state.beyond);
    }
    return state;
}

/* Adjoint of the law for a chunk: from the moments of node_bar and the adjoint of F_new (in place: becomes
 * that of F); leaves the adjoint of dt C in `turned`, column by column. */
static void law_adjoint_chunk(const mpm_pass *p, work *w, const law_state *state,
                              const real *const columns[3], const real *f_records, real *bar_records,
                              real (*turned)[CHUNK][4])
{
    uint32_t law = p->law->law;
    if (law == MPM_SYRUP) {
        syrup_adjoint_chunk(p, w, columns, f_records, bar_records, turned);
    } else if (law == MPM_ELASTIC) {
        elastic_adjoint_chunk(p, w, columns, f_records, bar_records, turned);
    } else if (law == MPM_SAND) {
        sand_adjoint_chunk(p, w, columns, f_records, state->flow_terms, state->beyond, bar_records, turned);
    } else {
        plasticine_adjoint_chunk(p, w, columns, f_records, state->flow_terms, state->beyond, bar_records,
                                 turned);
    }
}

#endif
