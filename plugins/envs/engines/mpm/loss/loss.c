/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of PlasticineLab (Huang et al. 2021, section 3.2; losses/loss.py) and their adjoints. */
#include "loss.h"

#include "distance.h"
#include "engines/algebra/mat3.h"
#include "engines/mpm/scene/tool.h"
#include "engines/mpm/sim/transfer.h"

/* Steepness of the soft minimum: a particle at distance d weighs 1 / (1 + 10000 d^2). */
static const double soft_steepness = 1e4;

static size_t cells_of(int n)
{
    return (size_t)n * (size_t)n * (size_t)n;
}

mpm_result mpm_objective_init(mpm_objective *o, int n, const double *target)
{
    size_t cells = cells_of(n);
    memory_each(&o->memory, cells,
                (double **const[]){&o->target, &o->distance, &o->mass, &o->mass_bar, NULL});
    if (o->memory.failed) {
        return MPM_NO_MEMORY;
    }
    memcpy(o->target, target, cells * sizeof(double));
    o->target_sum = 0.0;
    o->target_max = 0.0;
    for (size_t i = 0; i < cells; i++) {
        o->target_sum += target[i];
        o->target_max = target[i] > o->target_max ? target[i] : o->target_max;
    }
    return mpm_distance_field(n, target, o->distance) ? MPM_OK : MPM_NO_MEMORY;
}

void mpm_objective_free(mpm_objective *o)
{
    memory_free(&o->memory);
    memset(o, 0, sizeof *o);
}

static mpm_result splat_mass(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles)
{
    int n = sim->domain.n;
    memset(o->mass, 0, cells_of(n) * sizeof(double));
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        mpm_stencil s;
        if (!mpm_stencil_at(n, particles[p].x, &s)) {
            return MPM_DIVERGED;
        }
        mpm_splat(o->mass, n, &s, sim->domain.particle_mass);
    }
    return MPM_OK;
}

static void measure_density(const mpm_objective *o, int n, mpm_measure *out)
{
    double density = 0.0, sdf = 0.0, common = 0.0, sum = 0.0, max = 0.0;
    for (size_t i = 0; i < cells_of(n); i++) {
        double m = o->mass[i];
        density += fabs(m - o->target[i]);
        sdf += o->distance[i] * m;
        common += m * o->target[i];
        sum += m;
        max = m > max ? m : max;
    }
    out->density = density;
    out->sdf = sdf;
    /* Occupancies M / max M and T / max T; |A or B| = |A| + |B| - |A and B|. */
    double both = common / (max * o->target_max);
    out->iou = both / (sum / max + o->target_sum / o->target_max - both);
}

/* The sums over particles that both contact losses of one tool need. */
typedef struct contact_sums {
    double weighted, weights; /* soft: sum d w, sum w */
    double nearest;           /* hard: smallest d */
    uint32_t who;             /* the first particle that has it */
} contact_sums;

static double outside(const mpm_tool *tool, const mpm_pose *pose, const double x[3])
{
    double d = mpm_tool_distance(tool, pose, x);
    return d > 0.0 ? d : 0.0;
}

static double soft_weight(double d)
{
    return 1.0 / (1.0 + soft_steepness * d * d);
}

static contact_sums contact_of_tool(const mpm_sim *sim, const mpm_particle *particles, const mpm_tool *tool,
                                    const mpm_pose *pose)
{
    contact_sums c = {0.0, 0.0, 1e5, 0};
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        double d = outside(tool, pose, particles[p].x);
        double w = soft_weight(d);
        c.weighted += d * w;
        c.weights += w;
        if (d < c.nearest) {
            c.nearest = d;
            c.who = p;
        }
    }
    return c;
}

mpm_result mpm_measure_state(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                             const mpm_pose *poses, mpm_measure *out)
{
    memset(out, 0, sizeof *out);
    mpm_result result = splat_mass(o, sim, particles);
    if (result != MPM_OK) {
        return result;
    }
    measure_density(o, sim->domain.n, out);
    for (uint32_t t = 0; t < sim->forcing.n_tools; t++) {
        const mpm_tool *tool = &sim->forcing.tools[t];
        if (tool->action_dim == 0) {
            continue;
        }
        contact_sums c = contact_of_tool(sim, particles, tool, &poses[t]);
        double soft = c.weighted / c.weights;
        out->contact_soft += soft * soft;
        out->contact_hard += c.nearest * c.nearest;
    }
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        vec3_add_scaled(out->com, 1.0, particles[p].x);
        out->sum_sq += vec3_dot(particles[p].x, particles[p].x);
        out->det_f_mean += mat3_det(particles[p].f);
    }
    for (int d = 0; d < 3; d++) {
        out->com[d] /= sim->n_particles;
    }
    out->det_f_mean /= sim->n_particles;
    return MPM_OK;
}

double mpm_loss(const mpm_objective *o, const mpm_measure *m)
{
    return o->weight_density * m->density + o->weight_sdf * m->sdf +
           o->weight_contact * (o->soft_contact ? m->contact_soft : m->contact_hard);
}

static void density_adjoint(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                            mpm_particle *bar)
{
    int n = sim->domain.n;
    for (size_t i = 0; i < cells_of(n); i++) {
        double diff = o->mass[i] - o->target[i];
        o->mass_bar[i] = o->weight_density * ((diff > 0.0) - (diff < 0.0)) + o->weight_sdf * o->distance[i];
    }
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        mpm_stencil s;
        double fx_bar[3] = {0.0};
        mpm_stencil_at(n, particles[p].x, &s);
        mpm_splat_adjoint(o->mass_bar, n, &s, sim->domain.particle_mass, fx_bar);
        vec3_add_scaled(bar[p].x, sim->domain.inv_dx, fx_bar);
    }
}

static void contact_adjoint(const mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                            const mpm_tool *tool, const mpm_pose *pose, mpm_particle *bar, mpm_pose *pose_bar)
{
    contact_sums c = contact_of_tool(sim, particles, tool, pose);
    double mean = c.weighted / c.weights;
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        if (!o->soft_contact && !o->contact_all_particles && p != c.who) {
            continue;
        }
        double d = outside(tool, pose, particles[p].x);
        if (d <= 0.0) {
            continue;
        }
        double d_bar = o->weight_contact * 2.0 * c.nearest;
        if (o->soft_contact) {
            double w = soft_weight(d);
            double dw = -2.0 * soft_steepness * d * w * w;
            d_bar = o->weight_contact * 2.0 * mean * (w + (d - mean) * dw) / c.weights;
        }
        mpm_tool_distance_adjoint(tool, pose, particles[p].x, d_bar, pose_bar, bar[p].x);
    }
}

void mpm_loss_adjoint(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                      const mpm_pose *poses, mpm_particle *bar, mpm_pose *poses_bar)
{
    if (splat_mass(o, sim, particles) == MPM_OK) {
        density_adjoint(o, sim, particles, bar);
    }
    if (o->weight_contact == 0.0) {
        return;
    }
    for (uint32_t t = 0; t < sim->forcing.n_tools; t++) {
        if (sim->forcing.tools[t].action_dim > 0) {
            contact_adjoint(o, sim, particles, &sim->forcing.tools[t], &poses[t], bar, &poses_bar[t]);
        }
    }
}
