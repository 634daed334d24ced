/* SPDX-License-Identifier: Apache-2.0 */
/* stability.c - see stability.h. The reverse of the forces, (df/dq)' and (df/du)', is applied to motions
 * of the start shape at rest, where both are symmetric; the largest eigenvalue of M^-1 (dt^2 K + 2 dt C)
 * is found by power iteration, from below: no warning is false. */
#include "stability.h"

#include "engines/physics/fem/kernels/kernels.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

enum { ITERATIONS = 100 };

typedef struct probe {
    fem_pack pack;
    const fem_kernels *kernels;
    double *state, *force, *bar; /* as of kernels.h */
    double *v;                   /* [particles][4]: a motion, times the root of the masses */
} probe;

/* Its forces by stiffness and by damping: of v, per mass. Returns v.K v and v.C v. */
static void apply(probe *p, double *stiffness, double *damping)
{
    *stiffness = *damping = 0;
    for (size_t i = 0; i < 4 * p->pack.particles; i++) {
        p->force[i] = sqrt(p->pack.inverse_mass[i / 4]) * p->v[i];
    }
    memset(p->bar, 0, FEM_WIDTH * p->pack.particles * sizeof *p->bar);
    p->kernels->vjp(&p->pack, p->state, p->force, p->bar);
    for (size_t i = 0; i < 4 * p->pack.particles; i++) {
        double *bar = p->bar + FEM_WIDTH * (i / 4) + i % 4;
        *stiffness -= p->force[i] * bar[0];
        *damping -= p->force[i] * bar[4];
    }
}

static void normalise(double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += v[i] * v[i];
    }
    for (size_t i = 0; i < n; i++) {
        v[i] = sum > 0 ? v[i] / sqrt(sum) : 0;
    }
}

static fem_limit power_iteration(probe *p, double dt)
{
    const size_t n = 4 * p->pack.particles;
    double k = 0, c = 0;
    for (size_t i = 0; i < n; i++) { /* no mode is missing; fixed particles do not move */
        p->v[i] = p->pack.inverse_mass[i / 4] > 0 && i % 4 < 3 ? cos(1.7 * (double)(i * i % 1009)) : 0;
    }
    for (int round = 0; round < ITERATIONS; round++) {
        normalise(p->v, n);
        apply(p, &k, &c);
        for (size_t i = 0; i < n; i++) {
            const double *bar = p->bar + FEM_WIDTH * (i / 4) + i % 4;
            p->v[i] = -sqrt(p->pack.inverse_mass[i / 4]) * (dt * dt * bar[0] + 2 * dt * bar[4]);
        }
    }
    const double load = (dt * dt * k + 2 * dt * c) / 4;
    return (fem_limit){.load = load, .dt = load > 0 ? 4 / (c + sqrt(c * c + 4 * k)) : (double)INFINITY};
}

/* The lightest particle alone, held by the stiffness and the damping of the ground, or by its friction. */
static double ground_load(const fem_pack *p, double dt)
{
    double w = 0;
    for (size_t i = 0; i < p->particles; i++) {
        w = fmax(w, p->inverse_mass[i]);
    }
    const fem_ground *g = &p->ground;
    return g->on ? w * fmax(dt * dt * g->ke + 2 * dt * g->kd, 2 * dt * g->kf) / 4 : 0;
}

fem_limit fem_step_limit(const fem_model *m, double dt)
{
    ds_memory room = {0};
    probe p = {.kernels = fem_kernels_find("plain")};
    fem_limit out = {NAN, NAN, NAN};
    fem_pack_open(&p.pack, &room, m);
    p.state = ds_memory_doubles(&room, FEM_WIDTH * m->particles);
    p.bar = ds_memory_doubles(&room, FEM_WIDTH * m->particles);
    ds_memory_each(&room, 4 * m->particles, (double **const[]){&p.force, &p.v, NULL});
    if (!room.failed) {
        fem_pack_load(&p.pack, m);
        fem_pack_to_state(m->particles, m->q, p.state, 0);
        const double on_ground = ground_load(&p.pack, dt);
        p.pack.ground.on = 0;
        p.pack.membrane.drag = p.pack.membrane.lift = 0;
        out = power_iteration(&p, dt);
        out.ground = on_ground;
    }
    ds_memory_free(&room);
    return out;
}

ds_status fem_warn_of_step(const fem_model *m, double dt, const ds_host *host, const char *cure)
{
    const fem_limit limit = fem_step_limit(m, dt);
    if (isnan(limit.load)) {
        return DS_E_NOMEM;
    }
    if (limit.load > 1) {
        ds_host_say(host, DS_LOG_WARNING,
                    "dt = %g s is too long for this body, which allows at most %.3g s: episodes explode; %s",
                    dt, 0.995 * limit.dt, cure);
    }
    if (limit.ground > 1) {
        ds_host_say(
            host, DS_LOG_WARNING,
            "dt = %g s is too long for the lightest particle on this ground (%.3g times its limit); %s", dt,
            limit.ground, cure);
    }
    return DS_OK;
}
