/* SPDX-License-Identifier: Apache-2.0 */
/* cloth.c - episode of a mass-spring system, forward and reverse (see cloth.h).
 *
 * The longest stable step: a spring pulls along its direction u, by stiffness and by damping alike, so the
 * matrix h^2 K + 2 h C is that of dampers of strength h^2 k + 2 h c, which spring_force() applies. Power
 * iteration approaches its largest eigenvalue from below: no warning is false. */
#include "cloth.h"

#include <diffsim/helper/fail.h>

#include <math.h>
#include <string.h>

int cloth_open(cloth *c, ds_memory *room, const cloth_mesh *mesh, uint64_t steps, uint64_t segment,
               const ds_host *host, const cloth_driver *driver, void *self)
{
    c->mesh = *mesh;
    c->steps = steps;
    c->segment = segment;
    c->host = host;
    c->driver = driver;
    c->self = self;
    c->set = spring_widest();
    const size_t n = c->mesh.stride, slots = c->mesh.springs;
    c->anchored = ds_memory_take(room, n, sizeof *c->anchored);
    ds_memory_each(room, slots, (double **const[]){&c->k_bar, &c->rest_bar, NULL});
    ds_memory_each(room, 3 * n, (double **const[]){&c->x_bar, &c->v_bar, &c->f, NULL});
    ds_memory_each(room, 6 * n, (double **const[]){&c->now, &c->work, NULL});
    c->checkpoint = ds_memory_doubles(room, (steps / segment + 1) * 6 * n);
    c->frame = ds_memory_doubles(room, (segment + 1) * 9 * n);
    c->vertex_bar = ds_memory_doubles(room, 2 * n);
    c->pushed = ds_memory_doubles(room, 3 * n);
    c->damping_bar = c->by_constants ? ds_memory_doubles(room, slots) : NULL;
    return !room->failed;
}

double *cloth_start(cloth *c)
{
    return c->checkpoint;
}

const double *cloth_state_at_start(const cloth *c)
{
    return c->checkpoint;
}

/* ---- one step ---- */

/* Computes u from x and v: springs, drag, gravity, anchors. */
static void velocities(cloth *c, uint64_t step, const double *x, const double *v, double *restrict u)
{
    const size_t n = c->mesh.stride;
    const double keep = exp(-c->drag * c->h), per_mass = c->h / c->mass, fall = c->h * c->gravity;
    const unsigned char *present = c->mesh.present;
    double *restrict f = c->f;
    memset(f, 0, 3 * n * sizeof *f);
    spring_force(c->set, &c->mesh, x, v, f, c->work);
    if (c->driver->force) {
        c->driver->force(c->self, x, v, f);
    }
    for (size_t i = 0; i < 3 * n; i++) {
        u[i] = keep * v[i] + per_mass * f[i];
    }
    for (size_t i = 0; i < n; i++) {
        u[n + i] -= present[i] ? fall : 0;
    }
    double prescribed[3];
    if (c->anchors && c->driver->anchor && c->driver->anchor(c->self, step, prescribed)) {
        for (size_t a = 0; a < c->anchors; a++) {
            for (size_t i = 0; i < 3; i++) {
                u[i * n + c->anchored[a]] = prescribed[i];
            }
        }
    }
}

/* The velocities after contact with the solids. */
static const double *pushed(cloth *c, const double *x, const double *u)
{
    if (c->solids == 0) {
        return u;
    }
    memcpy(c->pushed, u, 3 * c->mesh.stride * sizeof *u);
    solid_push(c->solid, c->solids, c->h, &c->mesh, x, c->pushed);
    return c->pushed;
}

static void advance(cloth *c, uint64_t step, const double *x, const double *v, double *before, double *x_new,
                    double *v_new)
{
    velocities(c, step, x, v, before);
    const double *u = pushed(c, x, before);
    if (c->surface == CLOTH_PAN) {
        touch_pose pose;
        c->driver->pose(c->self, step, &pose);
        touch_pan_move(&c->pan, &pose, c->h, &c->mesh, x, u, x_new, v_new);
    } else {
        touch_floor_move(c->set, &c->floor, c->h, c->mesh.stride, x, u, x_new, v_new);
    }
}

static double total(size_t n, const double *a)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i];
    }
    return sum;
}

/* Reverse of contact: x_bar, v_bar go from the new state to x and u. */
static void contact_adjoint(cloth *c, uint64_t step, const double *x, const double *before)
{
    const double *u = pushed(c, x, before), *x_bar = c->x_bar + c->mesh.stride;
    if (c->surface == CLOTH_PAN) {
        touch_pose pose, bar = {0, 0, 0, 0, 0, 0};
        c->driver->pose(c->self, step, &pose);
        touch_pan_adjoint(&c->pan, &pose, c->h, &c->mesh, x, u, c->x_bar, c->v_bar, &bar, c->pan_bar,
                          c->vertex_bar + c->mesh.stride);
        c->driver->pose_bar(c->self, step, &bar);
    } else {
        const double before_floor = c->by_constants ? total(c->mesh.stride, x_bar) : 0;
        touch_floor_adjoint(c->set, &c->floor, c->h, c->mesh.stride, x, u, c->x_bar, c->v_bar,
                            c->vertex_bar + c->mesh.stride);
        c->height_bar += c->by_constants ? before_floor - total(c->mesh.stride, x_bar) : 0;
    }
    if (c->solids > 0) {
        solid_adjoint(c->solid, c->solids, c->h, &c->mesh, x, before, c->x_bar, c->v_bar, c->solid_bar);
    }
}

/* Reverse of anchors: anchored vertices do not depend on their velocity before. */
static void anchor_adjoint(cloth *c, uint64_t step)
{
    const size_t n = c->mesh.stride;
    double velocity[3], sum[3] = {0, 0, 0};
    if (!c->anchors || !c->driver->anchor || !c->driver->anchor(c->self, step, velocity)) {
        return;
    }
    for (size_t a = 0; a < c->anchors; a++) {
        for (size_t i = 0; i < 3; i++) {
            double *bar = &c->v_bar[i * n + c->anchored[a]];
            sum[i] += *bar;
            *bar = 0;
        }
    }
    if (c->driver->anchor_bar) {
        c->driver->anchor_bar(c->self, step, sum);
    }
}

/* Derivatives by drag and gravity, from those by the velocities before contact. */
static void constants_adjoint(cloth *c, double keep, const double *v)
{
    const size_t n = c->mesh.stride;
    double sum = 0, fall = 0;
    for (size_t i = 0; i < 3 * n; i++) {
        sum += c->v_bar[i] * v[i];
    }
    for (size_t i = 0; i < n; i++) {
        fall += c->mesh.present[i] ? c->v_bar[n + i] : 0;
    }
    c->drag_bar -= c->h * keep * sum;
    c->gravity_bar -= c->h * fall;
}

static void step_adjoint(cloth *c, uint64_t step, const double *x, const double *v, const double *restrict u)
{
    const size_t n = c->mesh.stride;
    const double keep = exp(-c->drag * c->h), per_mass = c->h / c->mass, fall = c->h * c->gravity;
    double *restrict f_bar = c->f, *restrict v_bar = c->v_bar, *restrict mass_bar = c->vertex_bar;
    contact_adjoint(c, step, x, u);
    anchor_adjoint(c, step);
    /* h f / mass = u - exp(-drag h) v - h g for vertices that are not anchored; anchored ones have v_bar = 0.
     */
    for (size_t i = 0; i < n; i++) {
        mass_bar[i] -= v_bar[i] * (u[i] - keep * v[i]) + v_bar[n + i] * (u[n + i] - keep * v[n + i] + fall) +
                       v_bar[2 * n + i] * (u[2 * n + i] - keep * v[2 * n + i]);
    }
    if (c->by_constants) {
        constants_adjoint(c, keep, v);
    }
    for (size_t i = 0; i < 3 * n; i++) {
        f_bar[i] = per_mass * v_bar[i];
        v_bar[i] *= keep;
    }
    if (c->driver->force) {
        c->driver->force_bar(c->self, x, v, f_bar, c->x_bar, c->v_bar);
    }
    spring_adjoint(c->set, &c->mesh, x, v, f_bar, c->x_bar, c->v_bar, c->k_bar, c->rest_bar, c->work);
    if (c->by_constants) {
        spring_damping_adjoint(c->set, &c->mesh, x, v, f_bar, c->damping_bar);
    }
}

/* ---- episode ---- */

static int finite_state(const cloth *c, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < 6 * c->mesh.stride; i++) {
        sum += fabs(x[i]);
    }
    return isfinite(sum);
}

static int stopped(const cloth *c)
{
    return c->host && c->host->should_stop(c->host);
}

void cloth_begin(cloth *c)
{
    c->at = 0;
    c->state = c->now;
    memcpy(c->state, c->checkpoint, 6 * c->mesh.stride * sizeof *c->state);
}

const double *cloth_state(const cloth *c)
{
    return c->state;
}

ds_status cloth_advance(cloth *c, uint64_t until, int64_t *bad)
{
    const size_t n = c->mesh.stride;
    double *u = c->frame;
    *bad = -1;
    for (;; c->at++) {
        double *x = c->state;
        if (c->at % c->segment == 0 || c->at == until) {
            if (stopped(c)) {
                return DS_STOPPED;
            }
            if (!finite_state(c, x)) {
                *bad = (int64_t)(c->at ? c->at - 1 : 0);
                return DS_OK;
            }
        }
        if (c->at % c->segment == 0) {
            memcpy(c->checkpoint + c->at / c->segment * 6 * n, x, 6 * n * sizeof *x);
        }
        if (c->driver->state) {
            c->driver->state(c->self, c->at, x, x + 3 * n);
        }
        if (c->at == until) {
            return DS_OK;
        }
        c->state = x == c->now ? c->frame + 3 * n : c->now;
        advance(c, c->at, x, x + 3 * n, u, c->state, c->state + 3 * n);
    }
}

ds_status cloth_simulate(cloth *c, int64_t *bad)
{
    cloth_begin(c);
    return cloth_advance(c, c->steps, bad);
}

ds_status cloth_adjoint(cloth *c)
{
    const size_t n = c->mesh.stride;
    memset(c->x_bar, 0, 3 * n * sizeof *c->x_bar);
    memset(c->v_bar, 0, 3 * n * sizeof *c->v_bar);
    memset(c->k_bar, 0, c->mesh.springs * sizeof *c->k_bar);
    memset(c->rest_bar, 0, c->mesh.springs * sizeof *c->rest_bar);
    memset(c->vertex_bar, 0, 2 * n * sizeof *c->vertex_bar);
    if (c->by_constants) {
        memset(c->damping_bar, 0, c->mesh.springs * sizeof *c->damping_bar);
    }
    for (size_t k = 0; k < c->solids && c->solid_bar; k++) {
        c->solid_bar[k] = (fem_obstacle_bar){0};
    }
    if (c->pan_bar) {
        *c->pan_bar = (touch_pan_bar){0, 0};
    }
    c->drag_bar = c->gravity_bar = c->height_bar = 0;
    c->driver->state_bar(c->self, c->steps, c->x_bar);
    for (uint64_t end = c->steps; end > 0;) {
        uint64_t begin = (end - 1) / c->segment * c->segment;
        if (stopped(c)) {
            return DS_STOPPED;
        }
        memcpy(c->frame, c->checkpoint + begin / c->segment * 6 * n, 6 * n * sizeof *c->frame);
        for (uint64_t k = begin; k < end; k++) {
            double *at = c->frame + (k - begin) * 9 * n, *to = at + 9 * n;
            advance(c, k, at, at + 3 * n, at + 6 * n, to, to + 3 * n);
        }
        for (uint64_t k = end; k-- > begin;) {
            const double *at = c->frame + (k - begin) * 9 * n;
            step_adjoint(c, k, at, at + 3 * n, at + 6 * n);
            c->driver->state_bar(c->self, k, c->x_bar);
        }
        end = begin;
    }
    c->mass_bar = 0;
    c->mu_bar = 0;
    for (size_t i = 0; i < c->mesh.vertices; i++) {
        c->mass_bar += c->mesh.present[i] ? c->vertex_bar[i] / c->mass : 0;
        c->mu_bar += c->vertex_bar[n + i];
    }
    return DS_OK;
}

/* ---- the longest stable step ---- */

enum { ITERATIONS = 100 };

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Power of the motion v against the force f of dampers of the given strength. */
static double energy(const cloth *c, const cloth_mesh *springs, const double *x, const double *v, double *f,
                     double *work)
{
    const size_t n = 3 * springs->stride;
    memset(f, 0, n * sizeof *f);
    spring_force(c->set, springs, x, v, f, work);
    return -dot(n, v, f);
}

static void normalise(size_t n, double *v)
{
    double size = sqrt(dot(n, v, v));
    for (size_t i = 0; i < n; i++) {
        v[i] = size > 0 ? v[i] / size : 0;
    }
}

static cloth_limit power_iteration(const cloth *c, cloth_mesh *springs, const double *x, double *v, double *f,
                                   double *work)
{
    const size_t n = springs->stride;
    for (size_t i = 0; i < 3 * n; i++) {
        v[i] = springs->present[i % n] ? cos(1.7 * (double)(i * i % 1009)) : 0;
    }
    double strongest = 0;
    for (int round = 0; round < ITERATIONS; round++) {
        normalise(3 * n, v);
        strongest = energy(c, springs, x, v, f, work);
        for (size_t i = 0; i < 3 * n; i++) {
            v[i] = -f[i];
        }
    }
    normalise(3 * n, v);
    double *strength = springs->c;
    springs->c = c->mesh.k;
    double k = energy(c, springs, x, v, f, work) / c->mass;
    springs->c = c->mesh.c;
    double damping = energy(c, springs, x, v, f, work) / c->mass;
    springs->c = strength;
    double allowed = 2 * (1 + exp(-c->drag * c->h));
    return (cloth_limit){strongest / c->mass / allowed,
                         allowed / (damping + sqrt(damping * damping + allowed * k))};
}

/* Small motions about the positions x (laid out like cloth_start()), where all springs are at rest. With k
 * and c the stiffness and damping of a mode of the springs, per mass, the step of cloth.h is stable if
 *     h^2 k + 2 h c < 2 (1 + exp(-drag h)),
 * and otherwise the stiffest mode explodes. */
static cloth_limit cloth_step_limit(const cloth *c, const double *x)
{
    ds_memory room = {0};
    cloth_mesh springs = c->mesh;
    const size_t n = springs.stride;
    double *v, *f, *work;
    ds_memory_each(&room, 3 * n, (double **const[]){&v, &f, NULL});
    ds_memory_each(&room, springs.springs, (double **const[]){&springs.k, &springs.c, NULL});
    work = ds_memory_doubles(&room, 6 * n);
    cloth_limit out = {NAN, NAN};
    if (!room.failed) {
        for (size_t i = 0; i < springs.springs; i++) {
            springs.c[i] = c->h * (c->h * c->mesh.k[i] + 2 * c->mesh.c[i]);
        }
        out = power_iteration(c, &springs, x, v, f, work);
    }
    ds_memory_free(&room);
    return out;
}

ds_status cloth_warn_of_step(const cloth *c, const double *x, const char *where, const char *cure)
{
    cloth_limit limit = cloth_step_limit(c, x);
    if (isnan(limit.load)) {
        return DS_E_NOMEM;
    }
    if (limit.load > 1) {
        ds_host_say(c->host, DS_LOG_WARNING,
                    "h = %g s is too long for these springs%s: episodes diverge above about %.3g s; %s", c->h,
                    where, 0.995 * limit.h, cure);
    }
    return DS_OK;
}
