/* SPDX-License-Identifier: Apache-2.0 */
/* cloth.h - an episode of a mass-spring system with contact: forward, and reverse from checkpoints.
 *
 * One step of h seconds, from positions x and velocities v:
 *     f = forces of the springs at (x, v)
 *     u = exp(-drag h) v + h (f / mass + g)
 *     u = prescribed velocity, for anchored vertices
 *     contact with solids changes u (solid.h)
 *     contact with the surface changes u to v' and moves x to x' (touch.h)
 * States are structures of arrays: component i (x, y, z) of vertex j is at [i stride + j]. */
#ifndef DS_ENGINES_CLOTH_H
#define DS_ENGINES_CLOTH_H

#include "mesh.h"
#include "solid.h"
#include "spring.h"
#include "touch.h"

#include <diffsim/host.h>

enum { CLOTH_FLOOR = 0, CLOTH_PAN = 1 };

/* What an environment adds to an episode; functions may be NULL. `step` = 0..steps-1, state k = 0..steps. */
typedef struct cloth_driver {
    /* Velocity of the anchored vertices in this step; returns 0 if they are free. */
    int (*anchor)(void *self, uint64_t step, double velocity[3]);
    /* Its reverse: derivatives of the loss, summed over the anchored vertices. Not called for free steps. */
    void (*anchor_bar)(void *self, uint64_t step, const double velocity_bar[3]);
    /* The pan in this step, and the reverse. Required with CLOTH_PAN. */
    void (*pose)(void *self, uint64_t step, touch_pose *out);
    void (*pose_bar)(void *self, uint64_t step, const touch_pose *bar);
    /* Adds further forces on the vertices, laid out as x and v ([3][stride]); the reverse adds the
     * derivatives by x and v, from those by the forces. Both or none. */
    void (*force)(void *self, const double *x, const double *v, double *f);
    void (*force_bar)(void *self, const double *x, const double *v, const double *f_bar, double *x_bar,
                      double *v_bar);
    /* Called when the episode is at state k. */
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
    const fem_obstacle *solid; /* [solids], besides the floor */
    size_t solids;
    touch_pan_bar *pan_bar;      /* a result: derivatives by the profile of the pan; NULL: not wanted */
    fem_obstacle_bar *solid_bar; /* [solids], a result: derivatives by the solids; NULL: not wanted */
    uint32_t *anchored;          /* vertices, `anchors` of them; room for all vertices */
    size_t anchors;
    int set;          /* SPRING_*; default: the widest */
    int by_constants; /* set before cloth_open(): cloth_adjoint() computes the derivatives by constants too */
    uint64_t steps;   /* of an episode and its adjoint: at most those of cloth_open() */

    /* Results of cloth_adjoint(): derivatives of the loss. */
    double *x_bar, *v_bar;   /* by the state at the start */
    double *k_bar;           /* by the stiffness of each slot */
    double *rest_bar;        /* by the rest length of each slot */
    double mass_bar, mu_bar; /* by the mass of a vertex, by the friction of the surface */
    /* With by_constants only: by drag, gravity and the height of the floor, by the damping of each slot. */
    double drag_bar, gravity_bar, height_bar, *damping_bar;

    /* Private. */
    const cloth_driver *driver;
    void *self;
    const ds_host *host; /* its stop flag is polled; may be NULL */
    uint64_t segment;
    double *checkpoint; /* x, v at the start of each segment */
    double *frame;      /* x, v, u of each step of one segment */
    double *now;        /* x, v */
    uint64_t at;        /* present state of the episode: number, positions and velocities */
    double *state;
    double *f, *work;   /* per vertex: force or its derivative; scratch memory of the springs */
    double *vertex_bar; /* per vertex: derivatives by its mass, by friction */
    double *pushed;     /* velocities after contact with solids */
} cloth;

/* Opens *c, which holds zeros or what the environment has already set. Takes arrays from `room`, like the
 * mesh. Episodes have at most `steps` steps; states are kept every `segment` steps. Returns 0 without memory.
 */
int cloth_open(cloth *c, ds_memory *room, const cloth_mesh *mesh, uint64_t steps, uint64_t segment,
               const ds_host *host, const cloth_driver *driver, void *self);

/* The state at the start: positions, then velocities from stride * 3 doubles on. Fill it before
 * cloth_simulate(). */
double *cloth_start(cloth *c);
const double *cloth_state_at_start(const cloth *c);

/* Runs an episode. *bad: the first step with a non-finite state (to within a segment), where the episode
 * ends, or -1. DS_STOPPED if the host stops. */
ds_status cloth_simulate(cloth *c, int64_t *bad);

/* The same in parts: begins an episode at state 0; advances to state `until`, at least the present one. *bad
 * as above; do not advance after a bad step. The adjoint needs an episode that has reached state `steps`; it
 * may have advanced further, up to the limit of cloth_open(). */
void cloth_begin(cloth *c);
ds_status cloth_advance(cloth *c, uint64_t until, int64_t *bad);

/* Positions of the present state, then velocities from stride * 3 doubles on. */
const double *cloth_state(const cloth *c);

/* Computes the derivatives of the loss of the last episode. */
ds_status cloth_adjoint(cloth *c);

/* ---- the longest stable step ---- */

typedef struct cloth_limit {
    double load; /* above 1 every motion of the stiffest mode grows from step to step; NaN: no memory */
    double h;    /* s, about the longest stable step */
} cloth_limit;

/* Warns through c->host if h is above the limit. `where` says at which variables, or is "". Returns DS_OK or
 * DS_E_NOMEM. */
ds_status cloth_warn_of_step(const cloth *c, const double *x, const char *where, const char *cure);

#endif
