/* SPDX-License-Identifier: Apache-2.0 */
/* tangent.c - the derivative of an episode in a direction, carried forward with it: the Jacobian of each
 * law times the change of the state and of the constants. */
#include "episode_internal.h"

#include "engines/physics/fem/ground.h"
#include "engines/physics/fem/plain.h"

#include <math.h>
#include <string.h>

typedef struct tangent {
    fem_episode *e;
    const fem_variation *along;
    fem_activation act; /* change of the activations in a step, by the driver */
    double *state[2];   /* [particles][8], this and the next */
    double *dot;        /* [particles][8]: the change of the state */
    double *force_dot;  /* [particles][4] */
    fem_state shown;    /* [particles][3] */
    ds_memory room;
} tangent;

static int open_tangent(tangent *t, fem_episode *e, const fem_variation *direction)
{
    const size_t n = e->pack.particles;
    *t = (tangent){.e = e, .along = direction};
    t->act.triangle = ds_memory_doubles(&t->room, e->pack.triangle.count + 1);
    t->act.edge = ds_memory_doubles(&t->room, e->pack.edge.count + 1);
    t->act.tet = ds_memory_doubles(&t->room, e->pack.tet.count + 1);
    ds_memory_each(&t->room, FEM_WIDTH * n, (double **const[]){&t->state[0], &t->state[1], &t->dot, NULL});
    t->force_dot = ds_memory_doubles(&t->room, 4 * n);
    ds_memory_each(&t->room, 3 * n, (double **const[]){&t->shown.q, &t->shown.u, NULL});
    return !t->room.failed;
}

/* The state and its change at the corners of an element. */
typedef struct corners {
    vec3 q[4], u[4], dq[4], du[4], df[4];
} corners;

static void take_corners(const tangent *t, const fem_set *s, size_t i, size_t n, const double *state,
                         corners *c)
{
    take(s, i, n, state, FEM_WIDTH, c->q);
    take(s, i, n, state + 4, FEM_WIDTH, c->u);
    take(s, i, n, t->dot, FEM_WIDTH, c->dq);
    take(s, i, n, t->dot + 4, FEM_WIDTH, c->du);
}

static void of_springs(tangent *t, const double *state)
{
    const fem_pack *p = &t->e->pack;
    const fem_variation *d = t->along;
    corners c;
    for (size_t i = 0; i < p->spring.count; i++) {
        const fem_spring_law law = spring_law(p, i),
                             dot = {d->spring_ke[i], d->spring_kd[i], d->spring_rest[i]};
        take_corners(t, &p->spring, i, 2, state, &c);
        fem_spring_jvp(&law, c.q, c.u, c.dq, c.du, &dot, c.df);
        give(&p->spring, i, 2, c.df, t->force_dot, 4);
    }
}

static void of_triangles(tangent *t, const double *state)
{
    const fem_pack *p = &t->e->pack;
    const fem_membrane *d = &t->along->membrane;
    const fem_air_law air = air_law(p), air_dot = {d->drag, d->lift};
    corners c;
    for (size_t i = 0; i < p->triangle.count; i++) {
        const fem_triangle_rest rest = triangle_rest(p, i);
        const fem_triangle_law law = triangle_law(p, i);
        const fem_triangle_law dot = {d->mu, d->lambda, d->kd,
                                      t->along->triangle_act[i] + t->act.triangle[i]};
        take_corners(t, &p->triangle, i, 3, state, &c);
        fem_triangle_jvp(&rest, &law, c.q, c.u, c.dq, c.du, &dot, c.df);
        give(&p->triangle, i, 3, c.df, t->force_dot, 4);
        fem_air_jvp(&air, c.q, c.u, c.dq, c.du, &air_dot, c.df);
        give(&p->triangle, i, 3, c.df, t->force_dot, 4);
    }
}

static void of_edges(tangent *t, const double *state)
{
    const fem_pack *p = &t->e->pack;
    const fem_variation *d = t->along;
    corners c;
    for (size_t i = 0; i < p->edge.count; i++) {
        const fem_edge_law law = edge_law(p, i);
        const fem_edge_law dot = {d->bending.ke, d->bending.kd,
                                  d->edge_rest[i] + d->edge_act[i] + t->act.edge[i]};
        take_corners(t, &p->edge, i, 4, state, &c);
        fem_edge_jvp(edge_length(p, i), &law, c.q, c.u, c.dq, c.du, &dot, c.df);
        give(&p->edge, i, 4, c.df, t->force_dot, 4);
    }
}

static void of_tets(tangent *t, const double *state)
{
    const fem_pack *p = &t->e->pack;
    corners c;
    for (size_t i = 0; i < p->tet.count; i++) {
        const fem_tet_rest rest = tet_rest(p, i);
        const fem_tet_law law = tet_law(p, i);
        const fem_solid *d = &t->along->solid[i];
        const fem_tet_law dot = {d->mu, d->lambda, d->kd, t->along->tet_act[i] + t->act.tet[i]};
        take_corners(t, &p->tet, i, 4, state, &c);
        fem_tet_jvp(&rest, &law, c.q, c.u, c.dq, c.du, &dot, c.df);
        give(&p->tet, i, 4, c.df, t->force_dot, 4);
    }
}

static void of_ground(tangent *t, const double *state)
{
    const fem_pack *p = &t->e->pack;
    const fem_ground_bar dot = {t->along->ke, t->along->kd, t->along->kf, t->along->mu};
    for (size_t i = 0; i < p->particles && p->ground.on; i++) {
        const double *q = state + FEM_WIDTH * i, *dq = t->dot + FEM_WIDTH * i;
        const double c = ground_depth(&p->ground, q);
        if (c < 0) {
            ground_jvp(&p->ground, c, q + 4, dq[1], dq + 4, &dot, t->force_dot + 4 * i);
        }
    }
}

/* Changes of the forces at a state; the activations of the step have been set. */
static void change_forces(tangent *t, uint64_t step, const double *state)
{
    const fem_driver *d = t->e->driver;
    const fem_pack *p = &t->e->pack;
    memset(t->force_dot, 0, 4 * p->particles * sizeof *t->force_dot);
    if (d->activate_dot) {
        memset(t->act.triangle, 0, p->triangle.count * sizeof(double));
        memset(t->act.edge, 0, p->edge.count * sizeof(double));
        memset(t->act.tet, 0, p->tet.count * sizeof(double));
        d->activate_dot(t->e->self, step, &t->act);
    }
    of_springs(t, state);
    of_triangles(t, state);
    of_edges(t, state);
    of_tets(t, state);
    of_ground(t, state);
}

/* du' = du + dt (w df + dw f + dg), dq' = dq + dt du'; 0 where it is not finite. */
static int change_state(tangent *t)
{
    const fem_episode *e = t->e;
    const double dt = e->options.dt;
    double sum = 0;
    for (size_t i = 0; i < e->pack.particles; i++) {
        const double w = e->pack.inverse_mass[i], dw = -w * w * t->along->mass[i];
        double *d = t->dot + FEM_WIDTH * i;
        for (size_t k = 0; k < 3; k++) {
            const double g = w > 0 ? t->along->gravity[k] : 0;
            d[4 + k] += dt * (w * t->force_dot[4 * i + k] + dw * e->force[4 * i + k] + g);
            d[k] += dt * d[4 + k];
            sum += d[k] - d[k];
        }
    }
    return sum == 0;
}

static void show(tangent *t, uint64_t k, const double *state)
{
    fem_episode *e = t->e;
    if (episode_frame(e, k) && e->driver->state_dot) {
        episode_show(e, state);
        fem_pack_from_state(e->pack.particles, t->dot, 0, t->shown.q);
        fem_pack_from_state(e->pack.particles, t->dot, 4, t->shown.u);
        e->driver->state_dot(e->self, k, &e->shown, &t->shown);
    }
}

static ds_status run(tangent *t, int64_t *bad)
{
    fem_episode *e = t->e;
    show(t, 0, t->state[0]);
    for (uint64_t k = 0; k < e->options.steps; k++) {
        double *state = t->state[k % 2], *next = t->state[(k + 1) % 2];
        if (episode_stopped(e, k)) {
            return DS_STOPPED;
        }
        const int good = episode_step(e, k, state, next);
        change_forces(t, k, state);
        if (!good || !change_state(t)) {
            *bad = (int64_t)k;
            return DS_OK;
        }
        show(t, k + 1, next);
    }
    return DS_OK;
}

ds_status fem_tangent(fem_episode *e, const fem_driver *driver, void *self, const fem_variation *direction,
                      int64_t *bad)
{
    static const fem_driver none = {0};
    const size_t n = e->pack.particles;
    tangent t;
    ds_status status = open_tangent(&t, e, direction) ? DS_OK : DS_E_NOMEM;
    *bad = -1;
    if (status == DS_OK) {
        fem_pack_load(&e->pack, e->model);
        e->driver = driver ? driver : &none;
        e->self = self;
        e->frame = 0;
        fem_pack_to_state(n, e->model->q, t.state[0], 0);
        fem_pack_to_state(n, e->model->u, t.state[0], 4);
        fem_pack_to_state(n, direction->q, t.dot, 0);
        fem_pack_to_state(n, direction->u, t.dot, 4);
        status = run(&t, bad);
    }
    ds_memory_free(&t.room);
    return status;
}
