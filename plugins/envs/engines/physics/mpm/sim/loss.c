/* SPDX-License-Identifier: Apache-2.0 */
/* loss.c - losses of PlasticineLab (Huang et al. 2021, section 3.2; losses/loss.py) and their adjoints; the
 * distance field of a target. */
#include "engines/physics/mpm/sim/loss.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/physics/mpm/sim/tool.h"

#include <diffsim/helper/memory.h>
#include <math.h>
#include <string.h>

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

/* Nodes without mass and target are skipped. */
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
    uint32_t who;             /* the first particle at this distance */
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

/* gap: receives the distances, for the adjoint. */
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

/* ---- distance to the target ----
 *
 * Distance to the target by sweeps that pass on nearest points (PlasticineLab: losses/loss.py,
 * update_target_sdf). In every sweep each node outside the target looks at the previous sweep's nearest
 * points of the nodes at offsets -3..2 (PlasticineLab leaves out +3) and takes the closest one, on ties the
 * first in lexicographic order of the offset. The result equals that of PlasticineLab's 2 n sweeps over all
 * nodes. But here only nodes whose point has changed act: they offer it to the nodes that look at them. A
 * node searches all offsets again only if the neighbour that gave its point now offers a worse one. */

enum {
    BACK = 3,
    AHEAD = 2, /* offsets run from -BACK to AHEAD */
    WINDOW = BACK + AHEAD + 1,
    LANES = 4, /* nodes along k that get an offer together; two such vectors hold the window */
    NOBODY = WINDOW * WINDOW * WINDOW
};

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef float loose_lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t flags __attribute__((vector_size(4 * LANES)));
typedef int32_t loose_flags __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

typedef struct point {
    int16_t i, j, k;
} point;

typedef struct node {
    int16_t i, j, k;
    point found; /* by the current sweep */
} node;

/* Unknown points, with a square that still fits into an int; and a squared distance (in nodes) above every
 * true one. */
static const point unknown = {1 << 13, 1 << 13, 1 << 13};
static const float far = 1e9f;

/* Arrays over the nodes with a frame around them, so that no test for the end of the grid is needed. */
typedef struct field {
    int n;
    size_t row, plane, all; /* distances of neighbours along j and i; nodes with the frame */
    point *nearest;         /* after the previous sweep */
    float *best;            /* squared distance to the closest offered point */
    int32_t *giver;         /* number of the offset to the neighbour that offers it */
    /* the offers changed: TOUCHED, and DOUBTFUL if another one may be the closest now */
    int32_t *touched;
    node *changed; /* nodes whose point the previous sweep changed */
    size_t count;
    ds_memory memory;
} field;

enum { TOUCHED = 1, DOUBTFUL = 2 };

static size_t index_of(const field *f, int i, int j, int k)
{
    return (size_t)(i + BACK) * f->plane + (size_t)(j + BACK) * f->row + (size_t)(k + BACK);
}

static bool init_field(field *f, int n)
{
    memset(f, 0, sizeof *f);
    f->n = n;
    f->row = (size_t)n + 2 * BACK + LANES;
    f->plane = f->row * ((size_t)n + 2 * BACK);
    f->all = f->plane * ((size_t)n + 2 * BACK) + LANES;
    f->nearest = ds_memory_take(&f->memory, f->all, sizeof *f->nearest);
    f->best = ds_memory_take(&f->memory, f->all, sizeof *f->best);
    f->giver = ds_memory_take(&f->memory, f->all, sizeof *f->giver);
    f->touched = ds_memory_take(&f->memory, f->all, sizeof *f->touched);
    f->changed = ds_memory_take(&f->memory, (size_t)n * (size_t)n * (size_t)n, sizeof *f->changed);
    if (f->memory.failed) {
        return false;
    }
    for (size_t p = 0; p < f->all; p++) {
        f->nearest[p] = unknown;
        f->best[p] = far;
        f->giver[p] = NOBODY;
    }
    return true;
}

static int32_t number_of(int a, int b, int c)
{
    return ((a + BACK) * WINDOW + b + BACK) * WINDOW + c + BACK;
}

static size_t neighbour(const field *f, int i, int j, int k, int number)
{
    return index_of(f, i + number / (WINDOW * WINDOW) - BACK, j + number / WINDOW % WINDOW - BACK,
                    k + number % WINDOW - BACK);
}

/* Neighbours at the offsets of these numbers offer LANES nodes a point at squared distances d (numbers below
 * 0: not theirs; a node does not offer to itself). */
static inline void offer(field *f, size_t at, lanes d, flags number)
{
    lanes best = *(loose_lanes *)(f->best + at);
    flags giver = *(loose_flags *)(f->giver + at), own = giver == number;
    flags better =
        (number >= 0) & (number != number_of(0, 0, 0)) & ((d < best) | ((d == best) & (number <= giver)));
    flags worse = own & (d > best);
    *(loose_lanes *)(f->best + at) = (lanes)((better & (flags)d) | (~better & (flags)best));
    *(loose_flags *)(f->giver + at) = (better & number) | (~better & giver);
    *(loose_flags *)(f->touched + at) |= (better & TOUCHED) | (worse & (TOUCHED | DOUBTFUL));
}

/* Node (i, j, k) offers its point to all nodes that look at it: (i - a, j - b, k - c) for offsets (a, b, c).
 */
static void hand_on(field *f, int i, int j, int k)
{
    const size_t self = index_of(f, i, j, k);
    const point own = f->nearest[self];
    lanes along[2];
    flags step[2];
    for (int l = 0; l < 2 * LANES; l++) {
        float dk = (float)(own.k - (k - AHEAD + l));
        along[l / LANES][l % LANES] = dk * dk;
        step[l / LANES][l % LANES] = l < WINDOW ? WINDOW - 1 - l : -2 * NOBODY;
    }
    for (int a = -BACK; a <= AHEAD; a++) {
        for (int b = -BACK; b <= AHEAD; b++) {
            int di = own.i - (i - a), dj = own.j - (j - b), first = number_of(a, b, -BACK);
            size_t at = self - (size_t)(a * (ptrdiff_t)f->plane + b * (ptrdiff_t)f->row + AHEAD);
            float across = (float)(di * di + dj * dj);
            offer(f, at, along[0] + across, step[0] + first);
            offer(f, at + LANES, along[1] + across, step[1] + first);
        }
    }
}

/* The closest of all points offered to a node. */
static void look_around(field *f, int i, int j, int k)
{
    const size_t self = index_of(f, i, j, k);
    int best = INT32_MAX;
    f->giver[self] = NOBODY;
    f->best[self] = far;
    for (int number = 0; number < NOBODY; number++) {
        const point *p = &f->nearest[neighbour(f, i, j, k, number)];
        int di = p->i - i, dj = p->j - j, dk = p->k - k, d = di * di + dj * dj + dk * dk;
        if (p->i != unknown.i && number != number_of(0, 0, 0) && d < best) {
            best = d;
            f->best[self] = (float)d;
            f->giver[self] = number;
        }
    }
}

/* The node takes the closest offered point. */
static void choose(field *f, int i, int j, int k)
{
    const size_t self = index_of(f, i, j, k);
    if (f->touched[self] & DOUBTFUL) {
        look_around(f, i, j, k);
    }
    node taken = {(int16_t)i, (int16_t)j, (int16_t)k, unknown};
    if (f->giver[self] != NOBODY) {
        taken.found = f->nearest[neighbour(f, i, j, k, f->giver[self])];
    }
    if (memcmp(&taken.found, &f->nearest[self], sizeof taken.found) != 0) {
        f->changed[f->count++] = taken;
    }
}

/* All nodes see the points of the previous sweep: new ones are applied at the end. */
static void sweep(field *f, const double *density)
{
    for (size_t c = 0; c < f->count; c++) {
        hand_on(f, f->changed[c].i, f->changed[c].j, f->changed[c].k);
    }
    size_t cell = 0;
    f->count = 0;
    for (int i = 0; i < f->n; i++) {
        for (int j = 0; j < f->n; j++) {
            int32_t *touched = f->touched + index_of(f, i, j, 0);
            for (int k = 0; k < f->n; k++, cell++) {
                if (touched[k] && !(density[cell] > MPM_TARGET_CELL)) {
                    choose(f, i, j, k);
                }
                touched[k] = 0;
            }
        }
    }
    for (size_t c = 0; c < f->count; c++) {
        const node *taken = &f->changed[c];
        f->nearest[index_of(f, taken->i, taken->j, taken->k)] = taken->found;
    }
}

/* Every target node is its own nearest point. */
static void start(field *f, const double *density)
{
    size_t cell = 0;
    for (int i = 0; i < f->n; i++) {
        for (int j = 0; j < f->n; j++) {
            for (int k = 0; k < f->n; k++, cell++) {
                if (density[cell] > MPM_TARGET_CELL) {
                    const point self = {(int16_t)i, (int16_t)j, (int16_t)k};
                    f->nearest[index_of(f, i, j, k)] = self;
                    f->changed[f->count++] = (node){self.i, self.j, self.k, self};
                }
            }
        }
    }
}

bool mpm_distance_field(int n, const double *density, double *distance)
{
    field f;
    bool ok = init_field(&f, n);
    if (ok) {
        start(&f, density);
    }
    for (int s = 0; ok && s < 2 * n && f.count > 0; s++) {
        sweep(&f, density);
    }
    size_t cell = 0;
    for (int i = 0; ok && i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < n; k++, cell++) {
                const point *p = &f.nearest[index_of(&f, i, j, k)];
                double di = p->i - i, dj = p->j - j, dk = p->k - k;
                if (density[cell] > MPM_TARGET_CELL) {
                    distance[cell] = 0.0;
                } else if (p->i == unknown.i) {
                    distance[cell] = 1000.0;
                } else {
                    distance[cell] = sqrt((di * di + dj * dj + dk * dk) / ((double)n * n) + 1e-8);
                }
            }
        }
    }
    ds_memory_free(&f.memory);
    return ok;
}
