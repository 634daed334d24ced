/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of PlasticineLab (Huang et al. 2021, section 3.2; losses/loss.py) and their adjoints. */
#include "loss.h"

#include "distance.h"
#include "engines/kit/algebra/mat3.h"
#include "engines/physics/mpm/scene/tool.h"
#include "engines/physics/mpm/sim/transfer.h"

/* Steepness of the soft minimum: a particle at distance d weighs 1 / (1 + 10000 d^2). */
static const double soft_steepness = 1e4;

static size_t cells_of(int n)
{
    return (size_t)n * (size_t)n * (size_t)n;
}

/* The nodes where a field is not 0. */
static mpm_nodes_box nodes_of(int n, const double *field)
{
    mpm_nodes_box box = {{n, n, n}, {0, 0, 0}};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < n; k++, field++) {
                const int at[3] = {i, j, k};
                for (int d = 0; d < 3 && *field != 0.0; d++) {
                    box.lower[d] = at[d] < box.lower[d] ? at[d] : box.lower[d];
                    box.upper[d] = at[d] >= box.upper[d] ? at[d] + 1 : box.upper[d];
                }
            }
        }
    }
    return box;
}

mpm_result mpm_objective_init(mpm_objective *o, int n, const double *target)
{
    size_t cells = cells_of(n);
    ds_memory_each(&o->memory, cells, (double **const[]){&o->target, &o->mass, &o->mass_bar, NULL});
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
    o->target_nodes = nodes_of(n, target);
    return MPM_OK;
}

void mpm_objective_free(mpm_objective *o)
{
    ds_memory_free(&o->memory);
    memset(o, 0, sizeof *o);
}

static mpm_result need_distance(mpm_objective *o, int n)
{
    if (o->distance) {
        return MPM_OK;
    }
    double *distance = ds_memory_doubles(&o->memory, cells_of(n));
    if (!distance || !mpm_distance_field(n, o->target, distance)) {
        return MPM_NO_MEMORY;
    }
    o->distance = distance;
    return MPM_OK;
}

static mpm_result need_gap(mpm_objective *o, const mpm_sim *sim)
{
    o->gap = o->gap ? o->gap : ds_memory_doubles(&o->memory, sim->n_particles);
    return o->gap ? MPM_OK : MPM_NO_MEMORY;
}

static size_t row_at(int n, int i, int j)
{
    return ((size_t)i * (size_t)n + (size_t)j) * (size_t)n;
}

static void clear_mass(mpm_objective *o, int n)
{
    const mpm_nodes_box *b = &o->mass_nodes;
    for (int i = b->lower[0]; i < b->upper[0]; i++) {
        for (int j = b->lower[1]; j < b->upper[1]; j++) {
            memset(o->mass + row_at(n, i, j) + b->lower[2], 0,
                   (size_t)(b->upper[2] - b->lower[2]) * sizeof *o->mass);
        }
    }
}

static mpm_result splat_mass(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles)
{
    int n = sim->domain.n;
    mpm_nodes_box *b = &o->mass_nodes;
    clear_mass(o, n);
    *b = (mpm_nodes_box){{n, n, n}, {0, 0, 0}};
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        mpm_stencil s;
        if (!mpm_stencil_at(n, particles[p].x, &s)) {
            return MPM_DIVERGED;
        }
        for (int d = 0; d < 3; d++) {
            b->lower[d] = s.base[d] < b->lower[d] ? s.base[d] : b->lower[d];
            b->upper[d] = s.base[d] + 3 > b->upper[d] ? s.base[d] + 3 : b->upper[d];
        }
        mpm_splat(o->mass, n, &s, sim->domain.particle_mass);
    }
    return MPM_OK;
}

static mpm_nodes_box box_of_both(const mpm_nodes_box *a, const mpm_nodes_box *b)
{
    mpm_nodes_box r;
    for (int d = 0; d < 3; d++) {
        r.lower[d] = a->lower[d] < b->lower[d] ? a->lower[d] : b->lower[d];
        r.upper[d] = a->upper[d] > b->upper[d] ? a->upper[d] : b->upper[d];
    }
    return r;
}

/* Where neither mass nor target are, nothing is to be summed. */
static void measure_density(const mpm_objective *o, int n, mpm_measure *out)
{
    const mpm_nodes_box b = box_of_both(&o->target_nodes, &o->mass_nodes);
    double density = 0.0;
    for (int i = b.lower[0]; i < b.upper[0]; i++) {
        for (int j = b.lower[1]; j < b.upper[1]; j++) {
            for (size_t at = row_at(n, i, j), k = at + (size_t)b.lower[2]; k < at + (size_t)b.upper[2]; k++) {
                density += fabs(o->mass[k] - o->target[k]);
            }
        }
    }
    out->density = density;
}

static void measure_sdf(const mpm_objective *o, int n, mpm_measure *out)
{
    const mpm_nodes_box *b = &o->mass_nodes;
    double sdf = 0.0;
    for (int i = b->lower[0]; i < b->upper[0]; i++) {
        for (int j = b->lower[1]; j < b->upper[1]; j++) {
            for (size_t at = row_at(n, i, j), k = at + (size_t)b->lower[2]; k < at + (size_t)b->upper[2];
                 k++) {
                sdf += o->distance[k] * o->mass[k];
            }
        }
    }
    out->sdf = sdf;
}

static void measure_overlap(const mpm_objective *o, int n, mpm_measure *out)
{
    double common = 0.0, sum = 0.0, max = 0.0;
    for (size_t i = 0; i < cells_of(n); i++) {
        double m = o->mass[i];
        common += m * o->target[i];
        sum += m;
        max = m > max ? m : max;
    }
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

/* gap: the distances, for the adjoint. */
static contact_sums contact_of_tool(const mpm_sim *sim, const mpm_particle *particles, const mpm_tool *tool,
                                    const mpm_pose *pose, double *gap)
{
    contact_sums c = {0.0, 0.0, 1e5, 0};
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        double d = outside(tool, pose, particles[p].x);
        gap[p] = d;
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

static void measure_contact(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                            const mpm_pose *poses, mpm_measure *out)
{
    for (uint32_t t = 0; t < sim->forcing.n_tools; t++) {
        const mpm_tool *tool = &sim->forcing.tools[t];
        if (tool->action_dim == 0) {
            continue;
        }
        contact_sums c = contact_of_tool(sim, particles, tool, &poses[t], o->gap);
        double soft = c.weighted / c.weights;
        out->contact_soft += soft * soft;
        out->contact_hard += c.nearest * c.nearest;
    }
}

mpm_result mpm_measure_state(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                             const mpm_pose *poses, mpm_measure *out)
{
    memset(out, 0, sizeof *out);
    mpm_result result = splat_mass(o, sim, particles);
    result = result == MPM_OK ? need_distance(o, sim->domain.n) : result;
    result = result == MPM_OK ? need_gap(o, sim) : result;
    if (result != MPM_OK) {
        return result;
    }
    measure_density(o, sim->domain.n, out);
    measure_sdf(o, sim->domain.n, out);
    measure_overlap(o, sim->domain.n, out);
    measure_contact(o, sim, particles, poses, out);
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

mpm_result mpm_loss_of_state(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                             const mpm_pose *poses, double *loss)
{
    mpm_measure m = {0};
    bool sdf = o->weight_sdf != 0.0, contact = o->weight_contact != 0.0;
    mpm_result result = splat_mass(o, sim, particles);
    result = result == MPM_OK && sdf ? need_distance(o, sim->domain.n) : result;
    result = result == MPM_OK && contact ? need_gap(o, sim) : result;
    if (result != MPM_OK) {
        return result;
    }
    measure_density(o, sim->domain.n, &m);
    if (sdf) {
        measure_sdf(o, sim->domain.n, &m);
    }
    if (contact) {
        measure_contact(o, sim, particles, poses, &m);
    }
    *loss = mpm_loss(o, &m);
    return MPM_OK;
}

static void density_adjoint(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles, double scale,
                            mpm_particle *bar)
{
    int n = sim->domain.n;
    const mpm_nodes_box *b = &o->mass_nodes;
    const double density = scale * o->weight_density, sdf = scale * o->weight_sdf;
    for (int i = b->lower[0]; i < b->upper[0]; i++) {
        for (int j = b->lower[1]; j < b->upper[1]; j++) {
            for (size_t at = row_at(n, i, j), k = at + (size_t)b->lower[2]; k < at + (size_t)b->upper[2];
                 k++) {
                double diff = o->mass[k] - o->target[k];
                o->mass_bar[k] = density * ((diff > 0.0) - (diff < 0.0));
                if (o->distance) {
                    o->mass_bar[k] += sdf * o->distance[k];
                }
            }
        }
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
                            const mpm_tool *tool, const mpm_pose *pose, double scale, mpm_particle *bar,
                            mpm_pose *pose_bar)
{
    contact_sums c = contact_of_tool(sim, particles, tool, pose, o->gap);
    double mean = c.weighted / c.weights, weight = scale * o->weight_contact;
    for (uint32_t p = 0; p < sim->n_particles; p++) {
        double d = o->gap[p];
        if (d <= 0.0 || (!o->soft_contact && !o->contact_all_particles && p != c.who)) {
            continue;
        }
        double d_bar = weight * 2.0 * c.nearest;
        if (o->soft_contact) {
            double w = soft_weight(d);
            double dw = -2.0 * soft_steepness * d * w * w;
            d_bar = weight * 2.0 * mean * (w + (d - mean) * dw) / c.weights;
        }
        mpm_tool_distance_adjoint(tool, pose, particles[p].x, d_bar, pose_bar, bar[p].x);
    }
}

mpm_result mpm_loss_adjoint(mpm_objective *o, const mpm_sim *sim, const mpm_particle *particles,
                            const mpm_pose *poses, double scale, mpm_particle *bar, mpm_pose *poses_bar)
{
    mpm_result result = splat_mass(o, sim, particles);
    result = result == MPM_OK && o->weight_sdf != 0.0 ? need_distance(o, sim->domain.n) : result;
    result = result == MPM_OK ? need_gap(o, sim) : result;
    if (result != MPM_OK) {
        return result;
    }
    density_adjoint(o, sim, particles, scale, bar);
    for (uint32_t t = 0; t < sim->forcing.n_tools && o->weight_contact != 0.0; t++) {
        if (sim->forcing.tools[t].action_dim > 0) {
            contact_adjoint(o, sim, particles, &sim->forcing.tools[t], &poses[t], scale, bar, &poses_bar[t]);
        }
    }
    return MPM_OK;
}
