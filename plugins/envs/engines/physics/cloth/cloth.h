/* SPDX-License-Identifier: Apache-2.0 */
/* cloth.h - an episode of a mass-spring system with contact: forward, and reverse from checkpoints.
 *
 * One step of h seconds, from positions x and velocities v:
 *     f = forces of the springs at (x, v)
 *     u = exp(-drag h) v + h (f / mass + g)
 *     u = prescribed velocity, for anchored vertices
 *     contact changes u to v' and moves x to x' (touch.h)
 * States are structures of arrays: component i (x, y, z) of vertex j at [i stride + j]. */
#ifndef DS_ENGINES_CLOTH_H
#define DS_ENGINES_CLOTH_H

#include "mesh.h"
#include "spring.h"
#include "touch.h"

#include <diffsim/host.h>

enum { CLOTH_FLOOR = 0, CLOTH_PAN = 1 };

/* What an environment adds to an episode; functions may be NULL. `step` = 0..steps-1, state k = 0..steps. */
typedef struct cloth_driver {
    /* Velocity of the anchored vertices in this step; 0 = they are free. */
    int (*anchor)(void *self, uint64_t step, double velocity[3]);
    /* Reverse of it: derivatives of the loss, summed over the anchored vertices. Not called
     * for free steps. */
    void (*anchor_bar)(void *self, uint64_t step, const double velocity_bar[3]);
    /* The pan in this step, and reverse of it. Required with CLOTH_PAN. */
    void (*pose)(void *self, uint64_t step, touch_pose *out);
    void (*pose_bar)(void *self, uint64_t step, const touch_pose *bar);
    /* Adds further forces on the vertices, [3][stride] as x and v are, and reverse of it: adds the
     * derivatives by x and v for those by the forces. Both or none. */
    void (*force)(void *self, const double *x, const double *v, double *f);
    void (*force_bar)(void *self, const double *x, const double *v, const double *f_bar, double *x_bar,
                      double *v_bar);
    /* The episode is at state k. */
    void (*state)(void *self, uint64_t k, const double *x, const double *v);
    /* Adds derivatives of the loss by the positions of state k. */
    void (*state_bar)(void *self, uint64_t k, double *x_bar);
} cloth_driver;

typedef struct cloth {
    /* Set by the environment before an episode. */
    cloth_mesh mesh;
    double h;       /* s */
    double drag;    /* 1/s */
    double gravity; /* m/s^2, downward */
    double mass;    /* kg, of each vertex */
    int surface;    /* CLOTH_FLOOR, CLOTH_PAN */
    touch_floor floor;
    touch_pan pan;
    uint32_t *anchored; /* vertices, `anchors` of them; room for all vertices */
    size_t anchors;
    int set;        /* SPRING_*; the widest by default */
    uint64_t steps; /* of an episode and its adjoint: those of cloth_open(), or fewer */

    /* Results of cloth_adjoint(): derivatives of the loss. */
    double *x_bar, *v_bar;   /* by the state at the start */
    double *k_bar;           /* by the stiffness of each slot */
    double *rest_bar;        /* by the rest length of each slot */
    double mass_bar, mu_bar; /* by the mass of a vertex, by the friction of the floor */

    /* Private. */
    const cloth_driver *driver;
    void *self;
    const ds_host *host; /* asked for its stop flag; may be NULL */
    uint64_t segment;
    double *checkpoint; /* x, v at the begin of each segment */
    double *frame;      /* x, v, u of each step of one segment */
    double *now;        /* x, v */
    uint64_t at;        /* the state of an episode in parts, and where it is */
    double *state;
    double *f, *work;   /* per vertex: force or its derivative; scratch of the springs */
    double *vertex_bar; /* per vertex: derivatives by its mass, by friction */
} cloth;

/* Of zeros, or of what the environment has set already; its arrays are of `room`, as those of the mesh are.
 * Episodes have at most `steps` steps and are kept every `segment` steps. 0 where there is no memory. */
int cloth_open(cloth *c, ds_memory *room, const cloth_mesh *mesh, uint64_t steps, uint64_t segment,
               const ds_host *host, const cloth_driver *driver, void *self);

/* Room for a state at the start: positions; velocities are stride * 3 doubles further.
 * Fill before cloth_simulate(). */
double *cloth_start(cloth *c);

/* Runs an episode. *bad gets the first step with a non-finite state, to the length of a segment, or -1; the
 * episode ends there. DS_STOPPED where the host wants to stop. */
ds_status cloth_simulate(cloth *c, int64_t *bad);

/* The same in parts: begins an episode, at state 0, and goes on to state `until`, at least the present
 * one. *bad as above; no part can follow one. The adjoint is for episodes that have got to state `steps`,
 * and not hurt by going on behind it, up to the most states of cloth_open(). */
void cloth_begin(cloth *c);
ds_status cloth_advance(cloth *c, uint64_t until, int64_t *bad);

/* Positions of the present state; velocities are stride * 3 doubles further. */
const double *cloth_state(const cloth *c);

/* Derivatives of the loss of the last episode. */
ds_status cloth_adjoint(cloth *c);

#endif
