/* SPDX-License-Identifier: Apache-2.0 */
/* sim.c - particles to grid, grid, grid to particles; the same backwards; and the interpolation between
 * particles and grid. */
#include "engines/physics/mpm/sim/sim.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/physics/mpm/sim/deform.h"
#include "engines/physics/mpm/sim/sand.h"

#include <string.h>

/* ---- interpolation ----
 *
 * Interpolation weights and the loops over the 27 nodes of a particle. */

/* Weights at a position in node spacings; returns false outside of 0 to n - 3. */
static bool mpm_stencil_scaled(int n, const double scaled[3], mpm_stencil *out)
{
    double highest = n - 3.0;
    for (int d = 0; d < 3; d++) {
        if (!(scaled[d] >= 0.0 && scaled[d] <= highest)) {
            return false;
        }
    }
    for (int d = 0; d < 3; d++) {
        /* Truncated towards zero as in PlasticineLab: below dx/2 the base stays 0 and w[1] may become
         * negative. */
        int base = (int)(scaled[d] - 0.5);
        double fx = scaled[d] - base;
        out->base[d] = base;
        out->fx[d] = fx;
        out->w[d][0] = 0.5 * (1.5 - fx) * (1.5 - fx);
        out->w[d][1] = 0.75 - (fx - 1.0) * (fx - 1.0);
        out->w[d][2] = 0.5 * (fx - 0.5) * (fx - 0.5);
        out->dw[d][0] = fx - 1.5;
        out->dw[d][1] = -2.0 * (fx - 1.0);
        out->dw[d][2] = fx - 0.5;
    }
    out->first = ((size_t)out->base[0] * (size_t)n + (size_t)out->base[1]) * (size_t)n + (size_t)out->base[2];
    return true;
}

bool mpm_stencil_at(int n, const double x[3], mpm_stencil *out)
{
    const double scaled[3] = {x[0] * n, x[1] * n, x[2] * n};
    return mpm_stencil_scaled(n, scaled, out);
}

/* The first node of row (a, b) of a stencil. */
static size_t row(int n, const mpm_stencil *s, int a, int b)
{
    return s->first + ((size_t)a * (size_t)n + (size_t)b) * (size_t)n;
}

void mpm_scatter(double *field, int n, const mpm_stencil *s, const mpm_affine *g)
{
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            double w = s->w[0][a] * s->w[1][b];
            double *node = field + 4 * row(n, s, a, b);
            double t[4];
            for (int c = 0; c < 4; c++) {
                t[c] = g->value[c] + a * g->slope[0][c] + b * g->slope[1][c];
            }
            for (int k = 0; k < 3; k++) {
                double wk = w * s->w[2][k];
                for (int c = 0; c < 4; c++) {
                    node[4 * k + c] += wk * (t[c] + k * g->slope[2][c]);
                }
            }
        }
    }
}

void mpm_gather(const double *field, int n, const mpm_stencil *s, mpm_affine *out)
{
    memset(out, 0, sizeof *out);
    for (int a = 0; a < 3; a++) {
        double sum[4] = {0.0}, moment[4] = {0.0};
        for (int b = 0; b < 3; b++) {
            const double *node = field + 4 * row(n, s, a, b);
            double w = s->w[0][a] * s->w[1][b];
            double w0 = w * s->w[2][0], w1 = w * s->w[2][1], w2 = w * s->w[2][2];
            for (int c = 0; c < 4; c++) {
                double one = w1 * node[4 + c], two = w2 * node[8 + c];
                double line = w0 * node[c] + one + two;
                sum[c] += line;
                moment[c] += b * line;
                out->slope[2][c] += one + 2.0 * two;
            }
        }
        for (int c = 0; c < 4; c++) {
            out->value[c] += sum[c];
            out->slope[0][c] += a * sum[c];
            out->slope[1][c] += moment[c];
        }
    }
}

void mpm_weight_adjoint(const double *field, int n, const mpm_stencil *s, const mpm_affine *g,
                        double fx_bar[3])
{
    double sum[3] = {0.0};
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            const double *node = field + 4 * row(n, s, a, b);
            double t[4], w_bar[3];
            for (int c = 0; c < 4; c++) {
                t[c] = g->value[c] + a * g->slope[0][c] + b * g->slope[1][c];
            }
            for (int k = 0; k < 3; k++) {
                double dot = 0.0;
                for (int c = 0; c < 4; c++) {
                    dot += node[4 * k + c] * (t[c] + k * g->slope[2][c]);
                }
                w_bar[k] = dot;
            }
            double line = w_bar[0] * s->w[2][0] + w_bar[1] * s->w[2][1] + w_bar[2] * s->w[2][2];
            double slant = w_bar[0] * s->dw[2][0] + w_bar[1] * s->dw[2][1] + w_bar[2] * s->dw[2][2];
            sum[0] += s->dw[0][a] * s->w[1][b] * line;
            sum[1] += s->w[0][a] * s->dw[1][b] * line;
            sum[2] += s->w[0][a] * s->w[1][b] * slant;
        }
    }
    for (int d = 0; d < 3; d++) {
        fx_bar[d] += sum[d];
    }
}

void mpm_splat(double *field, int n, const mpm_stencil *s, double amount)
{
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            double *node = field + row(n, s, a, b);
            double w = s->w[0][a] * s->w[1][b] * amount;
            for (int k = 0; k < 3; k++) {
                node[k] += w * s->w[2][k];
            }
        }
    }
}

void mpm_splat_adjoint(const double *field_bar, int n, const mpm_stencil *s, double amount, double fx_bar[3])
{
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++) {
            const double *node = field_bar + row(n, s, a, b);
            double line = 0.0, slant = 0.0;
            for (int k = 0; k < 3; k++) {
                line += node[k] * s->w[2][k];
                slant += node[k] * s->dw[2][k];
            }
            fx_bar[0] += amount * s->dw[0][a] * s->w[1][b] * line;
            fx_bar[1] += amount * s->w[0][a] * s->dw[1][b] * line;
            fx_bar[2] += amount * s->w[0][a] * s->w[1][b] * slant;
        }
    }
}

/* ---- one substep ---- */

static mpm_phase phase_of(const mpm_scene *scene, const mpm_domain *domain, const mpm_body *body,
                          uint32_t count)
{
    const mpm_matter *matter = &body->matter;
    mpm_phase phase = {.mass = domain->particle_mass, .volume = domain->particle_volume};
    if (body->volume > 0.0 && count > 0) {
        phase.mass = phase.volume = body->volume / count;
    }
    if (matter->law == MPM_PLASTICINE && matter->own) {
        phase.mass *= matter->density;
        phase.material =
            mpm_material_make(matter->youngs_modulus, matter->poisson_ratio, matter->yield_stress);
        return phase;
    }
    if (matter->law == MPM_PLASTICINE) {
        phase.material = mpm_material_make(scene->youngs_modulus, scene->poisson_ratio, scene->yield_stress);
        return phase;
    }
    if (body->spacing > 0.0) {
        phase.volume = body->spacing * body->spacing * body->spacing;
    }
    phase.mass = matter->density * phase.volume;
    if (matter->law == MPM_SAND) {
        phase.material = mpm_sand_make(matter->youngs_modulus, matter->poisson_ratio, matter->friction_angle);
        return phase;
    }
    phase.material.law = matter->law;
    phase.material.modulus = matter->modulus;
    phase.material.viscosity = matter->viscosity;
    return phase;
}

/* Consecutive bodies of the scene's plasticine form one phase; others have their own constants. */
static void make_phases(mpm_sim *sim, const mpm_scene *scene)
{
    const mpm_domain *domain = &sim->domain;
    uint32_t total = sim->n_particles == mpm_particle_count(scene, domain, 0) ? 0 : sim->n_particles,
             first = 0;
    for (uint32_t b = 0; b < scene->n_bodies; b++) {
        uint32_t count = mpm_body_count(scene, domain, total, b);
        mpm_phase phase = phase_of(scene, domain, &scene->bodies[b], count);
        mpm_phase *last = sim->n_phases > 0 ? &sim->phases[sim->n_phases - 1] : NULL;
        if (last && last->material.law == MPM_PLASTICINE && phase.material.law == MPM_PLASTICINE &&
            !scene->bodies[b].matter.own && !scene->bodies[b - 1].matter.own) {
            last->count += count;
        } else {
            phase.first = first;
            phase.count = count;
            sim->phases[sim->n_phases++] = phase;
        }
        first += count;
    }
}

mpm_result mpm_sim_init(mpm_sim *sim, const mpm_scene *scene, const mpm_domain *domain, uint32_t n_particles,
                        double softness)
{
    memset(sim, 0, sizeof *sim);
    sim->domain = *domain;
    for (int d = 0; d < 3; d++) {
        sim->forcing.gravity[d] = domain->gravity_factor * scene->gravity[d];
        sim->forcing.wall_low[d] = domain->wall_low[d];
        sim->forcing.wall_high[d] = domain->wall_high[d];
    }
    sim->forcing.dx = domain->dx;
    sim->forcing.offset = domain->offset;
    sim->forcing.ground_friction = scene->ground_friction;
    sim->forcing.softness = softness;
    sim->forcing.dt = domain->dt;
    sim->forcing.n_tools = scene->n_tools;
    sim->forcing.tools = scene->tools;
    sim->n_particles = n_particles;
    make_phases(sim, scene);
    return mpm_grid_init(&sim->grid, domain->n) ? MPM_OK : MPM_NO_MEMORY;
}

void mpm_sim_free(mpm_sim *sim)
{
    mpm_grid_free(&sim->grid);
}

/* The box of nodes that the particles reach. Returns false if a position is invalid. */
static bool find_box(mpm_sim *sim, const mpm_particle *particles)
{
    int lower[3] = {sim->domain.n, sim->domain.n, sim->domain.n}, upper[3] = {0, 0, 0};
    double highest = sim->domain.n - 3.0;
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        for (int d = 0; d < 3; d++) {
            double scaled = particles[p].x[d] * sim->domain.inv_dx + sim->domain.offset;
            if (!(scaled >= 0.0 && scaled <= highest)) {
                return false;
            }
            int base = (int)(scaled - 0.5);
            lower[d] = base < lower[d] ? base : lower[d];
            upper[d] = base + 3 > upper[d] ? base + 3 : upper[d];
        }
    }
    mpm_grid_set_box(&sim->grid, lower, upper);
    return true;
}

static void stencil_of(const mpm_domain *domain, const double x[3], mpm_stencil *s)
{
    const double scaled[3] = {x[0] * domain->inv_dx + domain->offset, x[1] * domain->inv_dx + domain->offset,
                              x[2] * domain->inv_dx + domain->offset};
    mpm_stencil_scaled(domain->n, scaled, s);
}

/* The affine momentum field m v + Q d that a particle gives to the grid, d = (o - fx) dx, and its mass. */
static mpm_affine momentum_field(double mass, double dx, const mpm_stencil *s, const double v[3],
                                 const double q[9])
{
    mpm_affine g;
    for (int c = 0; c < 3; c++) {
        g.value[c] = mass * v[c];
        for (int k = 0; k < 3; k++) {
            g.slope[k][c] = q[3 * c + k] * dx;
            g.value[c] -= g.slope[k][c] * s->fx[k];
        }
    }
    g.value[3] = mass;
    g.slope[0][3] = g.slope[1][3] = g.slope[2][3] = 0.0;
    return g;
}

/* Factor of the stress in Q (MLS-MPM, quadratic weights: 4 / dx^2). */
static double stress_factor(const mpm_domain *domain, const mpm_phase *phase)
{
    return -domain->dt * phase->volume * 4.0 * domain->inv_dx * domain->inv_dx;
}

static void affine_momentum(const mpm_domain *domain, const mpm_phase *phase, const double stress[9],
                            const double c[9], double q[9])
{
    double factor = stress_factor(domain, phase);
    for (int i = 0; i < 9; i++) {
        q[i] = factor * stress[i] + phase->mass * c[i];
    }
}

/* Writes the new deformation gradients to `out` and mass and momentum to the grid. */
static void phase_to_grid(mpm_sim *sim, const mpm_phase *phase, const mpm_particle *in, mpm_particle *out,
                          mpm_svd *keep)
{
    const mpm_domain *domain = &sim->domain;
    for (uint32_t p = phase->first; p < phase->first + phase->count; p++) {
        double f_new[9], stress[9], q[9];
        mpm_svd local, *svd = keep ? &keep[p] : &local;
        mpm_stencil s;
        stencil_of(domain, in[p].x, &s);
        mpm_deform(&phase->material, domain->dt, in[p].c, in[p].f, svd, f_new, stress);
        affine_momentum(domain, phase, stress, in[p].c, q);
        mpm_affine g = momentum_field(phase->mass, domain->dx, &s, in[p].v, q);
        mpm_scatter(sim->grid.node, domain->n, &s, &g);
        memcpy(out[p].f, f_new, sizeof f_new);
    }
}

static void particles_to_grid(mpm_sim *sim, const mpm_particle *in, mpm_particle *out, mpm_svd *keep)
{
    mpm_grid_clear(&sim->grid, sim->grid.node);
    for (uint32_t k = 0; k < sim->n_phases; k++) {
        phase_to_grid(sim, &sim->phases[k], in, out, keep);
    }
}

static void grid_to_particles(const mpm_sim *sim, const mpm_particle *in, mpm_particle *out)
{
    const mpm_domain *domain = &sim->domain;
    double scale = 4.0 * domain->inv_dx;
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        mpm_stencil s;
        mpm_affine g;
        stencil_of(domain, in[p].x, &s);
        mpm_gather(sim->grid.velocity, domain->n, &s, &g);
        for (int c = 0; c < 3; c++) {
            double v = g.value[c];
            for (int k = 0; k < 3; k++) {
                out[p].c[3 * c + k] = scale * (g.slope[k][c] - v * s.fx[k]);
            }
            out[p].v[c] = v;
            out[p].x[c] = clamp(in[p].x[c] + domain->dt * v, domain->low[c], domain->high[c]);
        }
    }
}

mpm_result mpm_substep(mpm_sim *sim, const mpm_particle *in, mpm_particle *out, const mpm_pose *now,
                       const mpm_pose *next, mpm_tape *tape)
{
    if (!find_box(sim, in)) {
        return MPM_DIVERGED;
    }
    particles_to_grid(sim, in, out, tape ? tape->svd : NULL);
    if (!mpm_grid_update(&sim->grid, &sim->forcing, now, next, tape ? &tape->grid : NULL)) {
        return MPM_NO_MEMORY;
    }
    grid_to_particles(sim, in, out);
    return MPM_OK;
}

/* Adjoint of grid_to_particles for one particle: spreads to velocity_bar and returns the adjoint of the
 * position. */
static void gather_adjoint(mpm_sim *sim, const mpm_particle *in, const mpm_particle *bar, double x_bar[3])
{
    const mpm_domain *domain = &sim->domain;
    double scale = 4.0 * domain->inv_dx;
    mpm_stencil s;
    mpm_affine own, h;
    stencil_of(domain, in->x, &s);
    mpm_gather(sim->grid.velocity, domain->n, &s, &own); /* the new velocity again, before clamping */
    for (int c = 0; c < 3; c++) {
        double y = in->x[c] + domain->dt * own.value[c];
        x_bar[c] = y > domain->low[c] && y < domain->high[c] ? bar->x[c] : 0.0;
        h.value[c] = bar->v[c] + domain->dt * x_bar[c];
        for (int k = 0; k < 3; k++) {
            h.slope[k][c] = scale * bar->c[3 * c + k];
            h.value[c] -= h.slope[k][c] * s.fx[k];
        }
    }
    h.value[3] = h.slope[0][3] = h.slope[1][3] = h.slope[2][3] = 0.0;
    mpm_scatter(sim->grid.velocity_bar, domain->n, &s, &h);
    double fx_bar[3] = {0.0};
    mpm_weight_adjoint(sim->grid.velocity, domain->n, &s, &h, fx_bar);
    for (int k = 0; k < 3; k++) {
        fx_bar[k] -= vec3_dot(h.slope[k], own.value);
        x_bar[k] += domain->inv_dx * fx_bar[k];
    }
}

/* Adjoint of particles_to_grid for one particle. bar: adjoint of the new F and, in x, the result of
 * gather_adjoint(). */
static void scatter_adjoint(mpm_sim *sim, const mpm_phase *phase, const mpm_particle *in,
                            const mpm_particle *out, const mpm_svd *svd, mpm_particle *bar)
{
    const mpm_domain *domain = &sim->domain;
    double stress[9], q[9];
    mpm_stencil s;
    stencil_of(domain, in->x, &s);
    mpm_deform_stress(&phase->material, in->c, svd, out->f, stress);
    affine_momentum(domain, phase, stress, in->c, q);
    mpm_affine g = momentum_field(phase->mass, domain->dx, &s, in->v, q), n;
    mpm_gather(sim->grid.node_bar, domain->n, &s, &n);
    double fx_bar[3] = {0.0}, q_bar[9], stress_bar[9];
    mpm_weight_adjoint(sim->grid.node_bar, domain->n, &s, &g, fx_bar);
    for (int k = 0; k < 3; k++) {
        fx_bar[k] -= vec3_dot(g.slope[k], n.value);
        bar->x[k] += domain->inv_dx * fx_bar[k];
        for (int c = 0; c < 3; c++) {
            q_bar[3 * c + k] = domain->dx * (n.slope[k][c] - n.value[c] * s.fx[k]);
        }
    }
    double factor = stress_factor(domain, phase);
    for (int i = 0; i < 9; i++) {
        stress_bar[i] = factor * q_bar[i];
    }
    if (phase->material.bar) {
        double *sum = phase->material.bar + (size_t)MPM_CONSTANTS * phase->material.part;
        sum[MPM_BAR_MASS] += vec3_dot(in->v, n.value) + n.value[3];
        for (int i = 0; i < 9; i++) {
            sum[MPM_BAR_MASS] += in->c[i] * q_bar[i];
        }
        for (int c = 0; c < 3; c++) {
            sum[MPM_BAR_FALL + c] += phase->mass * n.value[c];
        }
    }
    mpm_deform_adjoint(&phase->material, domain->dt, in->c, in->f, svd, out->f, stress_bar, bar->f, bar->c);
    for (int i = 0; i < 9; i++) {
        bar->c[i] += phase->mass * q_bar[i];
    }
    for (int c = 0; c < 3; c++) {
        bar->v[c] = phase->mass * n.value[c];
    }
}

void mpm_substep_adjoint(mpm_sim *sim, const mpm_particle *in, const mpm_particle *out, const mpm_tape *tape,
                         const mpm_pose *now, const mpm_pose *next, mpm_particle *bar, mpm_pose *now_bar,
                         mpm_pose *next_bar)
{
    mpm_grid_restore(&sim->grid, &tape->grid);
    mpm_grid_clear(&sim->grid, sim->grid.velocity_bar);
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        double x_bar[3];
        gather_adjoint(sim, &in[p], &bar[p], x_bar);
        memcpy(bar[p].x, x_bar, sizeof x_bar);
    }
    mpm_grid_update_adjoint(&sim->grid, &sim->forcing, &tape->grid, now, next, now_bar, next_bar);
    for (uint32_t k = 0; k < sim->n_phases; k++) {
        const mpm_phase *phase = &sim->phases[k];
        for (uint32_t p = phase->first; p < phase->first + phase->count; p++) {
            scatter_adjoint(sim, phase, &in[p], &out[p], &tape->svd[p], &bar[p]);
        }
    }
}
