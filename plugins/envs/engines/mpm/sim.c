/* SPDX-License-Identifier: Apache-2.0 */
/* Particles to grid, grid, grid to particles; and the same backwards. */
#include "sim.h"

#include "mat3.h"
#include "transfer.h"

/* The original multiplies gravity by 30. */
static const double gravity_factor = 30.0;

mpm_result mpm_sim_init(mpm_sim *sim, const mpm_scene *scene, const mpm_domain *domain, uint32_t n_particles,
                        double softness)
{
    memset(sim, 0, sizeof *sim);
    sim->domain = *domain;
    sim->material = mpm_material_make(scene->youngs_modulus, scene->poisson_ratio, scene->yield_stress);
    for (int d = 0; d < 3; d++) {
        sim->forcing.gravity[d] = gravity_factor * scene->gravity[d];
    }
    sim->forcing.ground_friction = scene->ground_friction;
    sim->forcing.softness = softness;
    sim->forcing.dt = domain->dt;
    sim->forcing.n_tools = scene->n_tools;
    sim->forcing.tools = scene->tools;
    sim->n_particles = n_particles;
    return mpm_grid_init(&sim->grid, domain->n) ? MPM_OK : MPM_NO_MEMORY;
}

void mpm_sim_free(mpm_sim *sim)
{
    mpm_grid_free(&sim->grid);
}

/* The box of nodes that the particles reach. False where a position is invalid. */
static bool find_box(mpm_sim *sim, const mpm_particle *particles)
{
    int lower[3] = {sim->domain.n, sim->domain.n, sim->domain.n}, upper[3] = {0, 0, 0};
    double highest = sim->domain.n - 3.0;
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        for (int d = 0; d < 3; d++) {
            double scaled = particles[p].x[d] * sim->domain.inv_dx;
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

/* I + dt C */
static void velocity_step(double dt, const mpm_particle *p, double step[9])
{
    for (int i = 0; i < 9; i++) {
        step[i] = dt * p->c[i];
    }
    step[0] += 1.0;
    step[4] += 1.0;
    step[8] += 1.0;
}

/* The affine momentum field m v + Q d that a particle hands to the grid, d = (o - fx) dx, and its mass. */
static mpm_affine momentum_field(const mpm_domain *domain, const mpm_stencil *s, const double v[3],
                                 const double q[9])
{
    mpm_affine g;
    for (int c = 0; c < 3; c++) {
        g.value[c] = domain->particle_mass * v[c];
        for (int k = 0; k < 3; k++) {
            g.slope[k][c] = q[3 * c + k] * domain->dx;
            g.value[c] -= g.slope[k][c] * s->fx[k];
        }
    }
    g.value[3] = domain->particle_mass;
    g.slope[0][3] = g.slope[1][3] = g.slope[2][3] = 0.0;
    return g;
}

/* Factor of the stress in Q (MLS-MPM, quadratic weights: 4 / dx^2). */
static double stress_factor(const mpm_domain *domain)
{
    return -domain->dt * domain->particle_volume * 4.0 * domain->inv_dx * domain->inv_dx;
}

static void affine_momentum(const mpm_domain *domain, const double stress[9], const double c[9], double q[9])
{
    double factor = stress_factor(domain);
    for (int i = 0; i < 9; i++) {
        q[i] = factor * stress[i] + domain->particle_mass * c[i];
    }
}

/* Writes the new deformation gradients to `out` and mass and momentum to the grid. */
static void particles_to_grid(mpm_sim *sim, const mpm_particle *in, mpm_particle *out, mpm_svd *keep)
{
    const mpm_domain *domain = &sim->domain;
    mpm_grid_clear(&sim->grid, sim->grid.node);
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        double step[9], a[9], stress[9], q[9];
        mpm_svd local, *svd = keep ? &keep[p] : &local;
        mpm_stencil s;
        mpm_stencil_at(domain->n, in[p].x, &s);
        velocity_step(domain->dt, &in[p], step);
        mat3_mul(step, in[p].f, a);
        mpm_svd3(a, svd);
        mpm_material_update(&sim->material, a, svd, out[p].f, stress);
        affine_momentum(domain, stress, in[p].c, q);
        mpm_affine g = momentum_field(domain, &s, in[p].v, q);
        mpm_scatter(sim->grid.node, domain->n, &s, &g);
    }
}

static double highest_position(const mpm_domain *domain)
{
    return 1.0 - 3.0 * domain->dx;
}

static void grid_to_particles(const mpm_sim *sim, const mpm_particle *in, mpm_particle *out)
{
    const mpm_domain *domain = &sim->domain;
    double highest = highest_position(domain), scale = 4.0 * domain->inv_dx;
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        mpm_stencil s;
        mpm_affine g;
        mpm_stencil_at(domain->n, in[p].x, &s);
        mpm_gather(sim->grid.velocity, domain->n, &s, &g);
        for (int c = 0; c < 3; c++) {
            double v = g.value[c];
            for (int k = 0; k < 3; k++) {
                out[p].c[3 * c + k] = scale * (g.slope[k][c] - v * s.fx[k]);
            }
            out[p].v[c] = v;
            out[p].x[c] = clamp(in[p].x[c] + domain->dt * v, 0.0, highest);
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
    double highest = highest_position(domain), scale = 4.0 * domain->inv_dx;
    mpm_stencil s;
    mpm_affine own, h;
    mpm_stencil_at(domain->n, in->x, &s);
    mpm_gather(sim->grid.velocity, domain->n, &s, &own); /* the new velocity again, before clamping */
    for (int c = 0; c < 3; c++) {
        double y = in->x[c] + domain->dt * own.value[c];
        x_bar[c] = y > 0.0 && y < highest ? bar->x[c] : 0.0;
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

/* Adjoint of particles_to_grid for one particle. bar: adjoint of the new F and, in x, what gather_adjoint()
 * found. */
static void scatter_adjoint(mpm_sim *sim, const mpm_particle *in, const mpm_particle *out, const mpm_svd *svd,
                            mpm_particle *bar)
{
    const mpm_domain *domain = &sim->domain;
    double step[9], stress[9], q[9];
    mpm_stencil s;
    mpm_stencil_at(domain->n, in->x, &s);
    velocity_step(domain->dt, in, step);
    mpm_material_stress(&sim->material, svd, out->f, stress);
    affine_momentum(domain, stress, in->c, q);
    mpm_affine g = momentum_field(domain, &s, in->v, q), n;
    mpm_gather(sim->grid.node_bar, domain->n, &s, &n);
    double fx_bar[3] = {0.0}, q_bar[9], stress_bar[9], a_bar[9];
    mpm_weight_adjoint(sim->grid.node_bar, domain->n, &s, &g, fx_bar);
    for (int k = 0; k < 3; k++) {
        fx_bar[k] -= vec3_dot(g.slope[k], n.value);
        bar->x[k] += domain->inv_dx * fx_bar[k];
        for (int c = 0; c < 3; c++) {
            q_bar[3 * c + k] = domain->dx * (n.slope[k][c] - n.value[c] * s.fx[k]);
        }
    }
    double factor = stress_factor(domain);
    for (int i = 0; i < 9; i++) {
        stress_bar[i] = factor * q_bar[i];
    }
    mpm_material_adjoint(&sim->material, svd, out->f, bar->f, stress_bar, a_bar);
    mat3_mult(a_bar, in->f, bar->c);
    for (int i = 0; i < 9; i++) {
        bar->c[i] = domain->dt * bar->c[i] + domain->particle_mass * q_bar[i];
    }
    mat3_tmul(step, a_bar, bar->f);
    for (int c = 0; c < 3; c++) {
        bar->v[c] = domain->particle_mass * n.value[c];
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
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        scatter_adjoint(sim, &in[p], &out[p], &tape->svd[p], &bar[p]);
    }
}
