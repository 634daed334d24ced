/* SPDX-License-Identifier: Apache-2.0 */
/* stability.c - see stability.h. A spring pulls along its direction u, by stiffness and by damping alike: the
 * matrix h^2 K + 2 h C is that of dampers of the strength h^2 k + 2 h c, which spring_force() applies. Its
 * largest eigenvalue is found by power iteration, from below: no warning is false. */
#include "stability.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

enum { ITERATIONS = 100 };

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Energy of the motion v when the springs are dampers of the given strength, with f = the force. */
static double energy(const cloth *c, const cloth_mesh *springs, const double *x, const double *v, double *f,
                     double *work)
{
    const size_t n = 3 * springs->stride;
    memset(f, 0, n * sizeof *f);
    spring_force(c->set, springs, x, v, f, work);
    return -dot(n, v, f);
}

/* Lengths of 1, and a start in which no mode is missing; absent vertices stay at 0. */
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

cloth_limit cloth_step_limit(const cloth *c, const double *x)
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
        ds_host_say(
            c->host, DS_LOG_WARNING,
            "h = %g s is too long for these springs%s, which allow at most %.3g s: episodes diverge; %s",
            c->h, where, 0.995 * limit.h, cure);
    }
    return DS_OK;
}
