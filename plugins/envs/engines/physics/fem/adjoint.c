/* SPDX-License-Identifier: Apache-2.0 */
/* adjoint.c - the exact reverse of the steps of an episode. With a = u_bar' + dt q_bar', the derivatives
 * by the forces of a step are dt a / mass; the laws pass them on to positions, velocities and constants. */
#include "episode_internal.h"

#include <math.h>
#include <string.h>

void fem_variation_open(fem_variation *v, ds_memory *room, const fem_model *m)
{
    *v = (fem_variation){0};
    ds_memory_each(room, 3 * m->particles, (double **const[]){&v->q, &v->u, NULL});
    v->mass = ds_memory_doubles(room, m->particles);
    ds_memory_each(room, m->springs + 1,
                   (double **const[]){&v->spring_ke, &v->spring_kd, &v->spring_rest, NULL});
    v->triangle_act = ds_memory_doubles(room, m->triangles + 1);
    ds_memory_each(room, m->edges + 1, (double **const[]){&v->edge_act, &v->edge_rest, NULL});
    v->tet_act = ds_memory_doubles(room, m->tets + 1);
    v->solid = ds_memory_take(room, m->tets + 1, sizeof *v->solid);
}

static void clear(double *x, size_t n)
{
    memset(x, 0, n * sizeof *x);
}

void fem_variation_clear(fem_variation *v, const fem_model *m)
{
    clear(v->q, 3 * m->particles);
    clear(v->u, 3 * m->particles);
    clear(v->mass, m->particles);
    clear(v->spring_ke, m->springs);
    clear(v->spring_kd, m->springs);
    clear(v->spring_rest, m->springs);
    clear(v->triangle_act, m->triangles);
    clear(v->edge_act, m->edges);
    clear(v->edge_rest, m->edges);
    clear(v->tet_act, m->tets);
    for (size_t t = 0; t < m->tets; t++) {
        v->solid[t] = (fem_solid){0};
    }
    v->membrane = (fem_membrane){0};
    v->bending = (fem_bending){0};
    v->ke = v->kd = v->kf = v->mu = 0;
    clear(v->gravity, 3);
}

/* ---- motion in a plane ---- */

static int all_zero(const double *x, size_t n)
{
    size_t i = 0;
    while (i < n && x[i] == 0) {
        i++;
    }
    return i == n;
}

/* Do all particles lie and move in one plane across this axis, at the start and in the last state? */
static int lies_across(const fem_episode *e, size_t axis, const double *last)
{
    const fem_model *m = e->model;
    const double at = m->q[axis];
    size_t i = 0;
    while (i < m->particles && m->q[3 * i + axis] == at && m->u[3 * i + axis] == 0 &&
           last[FEM_WIDTH * i + axis] == at && last[FEM_WIDTH * i + 4 + axis] == 0) {
        i++;
    }
    return i == m->particles;
}

/* The axis across the plane of the motion, or -1. Every law gives the mirror image of its forces for the
 * mirror image of a state, so that only gravity, the ground or a bent edge could push particles out of it. */
static int axis_across(const fem_episode *e, const double *last)
{
    const fem_model *m = e->model;
    const int flat = all_zero(m->edge_rest, m->edges) && all_zero(e->pack.edge.act, m->edges);
    int axis = flat && (e->options.want & FEM_WANT_IN_PLANE) ? 2 : -1;
    while (axis >= 0 &&
           (m->gravity[axis] != 0 || (m->ground.on && axis == 1) || !lies_across(e, (size_t)axis, last))) {
        axis--;
    }
    return axis;
}

static void stay_in_plane(fem_episode *e)
{
    for (size_t i = 0; i < e->pack.particles && e->across >= 0; i++) {
        double *bar = e->bar + FEM_WIDTH * i + e->across;
        bar[0] = bar[4] = 0;
    }
}

/* ---- one step ---- */

/* The direct derivatives by state k. */
static void add_frame(fem_episode *e, uint64_t k, const double *state)
{
    const fem_driver *d = e->driver;
    const size_t n = e->pack.particles;
    while (e->frame > 0 && d->frames[e->frame - 1] > k) {
        e->frame--;
    }
    if (e->frame == 0 || d->frames[e->frame - 1] != k || !d->state_bar) {
        return;
    }
    episode_show(e, state);
    clear(e->shown_bar.q, 3 * n);
    clear(e->shown_bar.u, 3 * n);
    d->state_bar(e->self, k, &e->shown, &e->shown_bar);
    for (size_t i = 0; i < 3 * n; i++) {
        e->bar[FEM_WIDTH * (i / 3) + i % 3] += e->shown_bar.q[i];
        e->bar[FEM_WIDTH * (i / 3) + 4 + i % 3] += e->shown_bar.u[i];
    }
}

static void add_sums(double *to, const fem_set *s)
{
    for (size_t i = 0; i < s->count; i++) {
        to[i] += s->act_bar[i];
    }
}

static void pass_activations(fem_episode *e, uint64_t step, fem_variation *g)
{
    if (e->driver->activate_bar) {
        const fem_activation bar = {e->pack.triangle.act_bar, e->pack.edge.act_bar, e->pack.tet.act_bar};
        e->driver->activate_bar(e->self, step, &bar);
    }
    if (e->options.want & FEM_WANT_ACTIVATION) {
        add_sums(g->triangle_act, &e->pack.triangle);
        add_sums(g->tet_act, &e->pack.tet);
    }
    if (e->options.want & (FEM_WANT_ACTIVATION | FEM_WANT_MATERIAL)) {
        add_sums(g->edge_act, &e->pack.edge);
    }
}

/* From state k + 1 to state k; 0 where the adjoint is not finite. */
static int reverse_step(fem_episode *e, uint64_t k, const double *state, const double *next, fem_variation *g)
{
    const double most = e->kernels->step_bar(&e->pack, e->options.dt, state, next, e->bar, e->force,
                                             e->mass_bar, e->gravity_bar);
    if (!isfinite(most)) {
        return 0;
    }
    if (e->driver->activate) {
        fem_activation act = episode_activation(&e->pack);
        e->driver->activate(e->self, k, &act);
    }
    e->kernels->vjp(&e->pack, state, e->force, e->bar);
    pass_activations(e, k, g);
    add_frame(e, k, state);
    stay_in_plane(e);
    return 1;
}

/* The states of a segment once more, unless they are still there. */
static ds_status repeat_segment(fem_episode *e, uint64_t begin, uint64_t end)
{
    const size_t width = episode_width(e);
    if (e->here == begin) {
        return DS_OK;
    }
    e->here = begin;
    memcpy(e->kept, e->checkpoint + begin / e->segment * width, width * sizeof *e->kept);
    for (uint64_t k = begin; k < end; k++) {
        if (episode_stopped(e, k)) {
            return DS_STOPPED;
        }
        episode_step(e, k, e->kept + (k - begin) * width, e->kept + (k + 1 - begin) * width);
    }
    return DS_OK;
}

static ds_status reverse_segment(fem_episode *e, uint64_t begin, uint64_t end, fem_variation *g, int64_t *bad)
{
    const size_t width = episode_width(e);
    ds_status status = repeat_segment(e, begin, end);
    for (uint64_t k = end; k > begin && status == DS_OK && *bad < 0; k--) {
        const double *next = e->kept + (k - begin) * width;
        if (episode_stopped(e, k)) {
            status = DS_STOPPED;
        } else if (!reverse_step(e, k - 1, next - width, next, g)) {
            *bad = (int64_t)k - 1;
        }
    }
    return status;
}

/* ---- the sums ---- */

/* The sum over the lanes of field k of the one chunk that all elements share. */
static double shared_sum(const fem_set *s, size_t k)
{
    double sum = 0;
    for (size_t lane = 0; lane < FEM_CHUNK; lane++) {
        sum += s->bar[k * FEM_CHUNK + lane];
    }
    return sum;
}

static double element_bar(const fem_set *s, size_t i, size_t k, size_t bars)
{
    return s->bar[(i / FEM_CHUNK * bars + k) * FEM_CHUNK + i % FEM_CHUNK];
}

static void read_materials(const fem_pack *p, fem_variation *g)
{
    for (size_t i = 0; i < p->spring.count; i++) {
        g->spring_ke[i] = element_bar(&p->spring, i, 0, FEM_SPRING_BARS);
        g->spring_kd[i] = element_bar(&p->spring, i, 1, FEM_SPRING_BARS);
        g->spring_rest[i] = element_bar(&p->spring, i, 2, FEM_SPRING_BARS);
    }
    for (size_t i = 0; i < p->tet.count; i++) {
        g->solid[i] =
            (fem_solid){element_bar(&p->tet, i, 0, FEM_TET_BARS), element_bar(&p->tet, i, 1, FEM_TET_BARS),
                        element_bar(&p->tet, i, 2, FEM_TET_BARS)};
    }
    const fem_set *t = &p->triangle;
    g->membrane = (fem_membrane){shared_sum(t, 0), shared_sum(t, 1), shared_sum(t, 2), shared_sum(t, 3),
                                 shared_sum(t, 4)};
    g->bending = (fem_bending){shared_sum(&p->edge, 0), shared_sum(&p->edge, 1)};
    for (size_t i = 0; i < p->edge.count; i++) {
        g->edge_rest[i] = g->edge_act[i];
    }
}

static void read_gradient(const fem_episode *e, fem_variation *g)
{
    const size_t n = e->pack.particles;
    fem_pack_from_state(n, e->bar, 0, g->q);
    fem_pack_from_state(n, e->bar, 4, g->u);
    memcpy(g->mass, e->mass_bar, n * sizeof *g->mass);
    memcpy(g->gravity, e->gravity_bar, sizeof g->gravity);
    g->ke = e->pack.ground_bar.ke;
    g->kd = e->pack.ground_bar.kd;
    g->kf = e->pack.ground_bar.kf;
    g->mu = e->pack.ground_bar.mu;
    if (e->options.want & FEM_WANT_MATERIAL) {
        read_materials(&e->pack, g);
    }
}

static int all_finite(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] - x[i];
    }
    return sum == 0;
}

ds_status fem_episode_adjoint(fem_episode *e, fem_variation *gradient, int64_t *bad)
{
    const uint64_t steps = e->options.steps;
    *bad = -1;
    fem_variation_clear(gradient, e->model);
    fem_pack_clear(&e->pack);
    e->pack.want_material = (e->options.want & FEM_WANT_MATERIAL) != 0;
    clear(e->bar, episode_width(e));
    clear(e->mass_bar, e->pack.particles);
    clear(e->gravity_bar, 4);
    e->frame = e->driver->frame_count;
    const uint64_t last = (steps - 1) / e->segment * e->segment;
    ds_status status = repeat_segment(e, last, steps);
    if (status == DS_OK) {
        const double *end = e->kept + (steps - last) * episode_width(e);
        e->across = axis_across(e, end);
        add_frame(e, steps, end);
        stay_in_plane(e);
    }
    for (uint64_t end = steps, begin = last; end > 0 && status == DS_OK && *bad < 0;
         end = begin, begin -= e->segment) {
        status = reverse_segment(e, begin, end, gradient, bad);
    }
    if (*bad < 0 && !all_finite(e->bar, episode_width(e))) {
        *bad = 0;
    }
    if (status == DS_OK && *bad < 0) {
        read_gradient(e, gradient);
    } else {
        fem_variation_clear(gradient, e->model);
    }
    return status;
}
