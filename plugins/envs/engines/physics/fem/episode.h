/* SPDX-License-Identifier: Apache-2.0 */
/* episode.h - a roll-out of a model: forward, its exact discrete adjoint, and its tangent.
 *
 * One step of dt, all forces at the old state (symplectic Euler):
 *     u' = u + dt (f(q, u) / mass + g),    q' = q + dt u';       fixed particles: u' = u.
 * State k = 0..steps is that after k steps; step k = 0..steps - 1 leads from state k to k + 1, at t = k dt.
 *
 * An episode belongs to one thread. Results are bitwise the same for every instruction set and memory limit;
 * the instruction set "plain" (the scalar oracle) adds up in another order. */
#ifndef DS_ENGINES_FEM_EPISODE_H
#define DS_ENGINES_FEM_EPISODE_H

#include "engines/physics/fem/model.h"

#include <diffsim/host.h>

typedef struct fem_state {
    double *q, *u; /* [particles][3] */
} fem_state;

/* Activation of each element, or derivatives by it. */
typedef struct fem_activation {
    double *triangle, *edge, *tet;
} fem_activation;

/* What an environment adds. Functions may be NULL. */
typedef struct fem_driver {
    const uint64_t *frames; /* ascending: the states that are shown */
    size_t frame_count;
    /* Sets activations for a step; they hold those of the model before, or what was set last: always set the
     * same elements, from `step` alone. */
    void (*activate)(void *self, uint64_t step, fem_activation *act);
    /* Derivatives of the loss by them; comes right after activate() of the same step. */
    void (*activate_bar)(void *self, uint64_t step, const fem_activation *bar);
    /* Shows state k, one of `frames`, forward. */
    void (*state)(void *self, uint64_t k, const fem_state *s);
    /* Adds the direct derivatives of the loss by state k to bar; backwards through `frames`. */
    void (*state_bar)(void *self, uint64_t k, const fem_state *s, fem_state *bar);
    /* For the tangent: variations of the activations of a step, all 0 before; variation of a shown state. */
    void (*activate_dot)(void *self, uint64_t step, fem_activation *dot);
    void (*state_dot)(void *self, uint64_t k, const fem_state *s, const fem_state *dot);
} fem_driver;

/* One number for everything that an episode depends on: derivatives of the loss, or a direction. */
typedef struct fem_variation {
    double *q, *u; /* [particles][3], by the start */
    double *mass;  /* [particles]; 0 for fixed ones */
    double *spring_ke, *spring_kd, *spring_rest;
    double *triangle_act, *edge_act, *tet_act; /* by those of the model: sums over the steps */
    double *edge_rest;
    fem_solid *solid; /* [tets] */
    fem_membrane membrane;
    fem_bending bending;
    double ke, kd, kf, mu; /* of the ground */
    double gravity[3];
} fem_variation;

/* Zeros of the shape of the model; arrays of `room`, look at room->failed. */
void fem_variation_open(fem_variation *v, ds_memory *room, const fem_model *m);
void fem_variation_clear(fem_variation *v, const fem_model *m);

enum {
    FEM_WANT_MATERIAL = 1, /* derivatives by spring, membrane, bending and solid constants are wanted */
    FEM_WANT_ACTIVATION = 2,
    /* Only derivatives by what acts alike on both sides of a plane are wanted: by no q, u or gravity across
     * an axis-parallel plane that all particles lie and move in, and by no angle of an edge. The adjoint then
     * stays in that plane. By symmetry the motion across it has no part in these derivatives, but a sheet
     * that is pressed in its plane buckles: the adjoint across it grows without bound and would overflow. */
    FEM_WANT_IN_PLANE = 4
};

typedef struct fem_options {
    double dt; /* s */
    uint64_t steps;
    uint32_t want;       /* FEM_WANT_*: the others of fem_variation are always there */
    size_t memory_bytes; /* for kept states; 0: 300 MB. Beyond it they are kept every so many steps */
    double most_speed;   /* m/s: beyond it an episode has exploded; 0: 1e5 */
    const char *isa;     /* NULL: the best, or that of DS_ISA; "plain", "baseline", "avx2", "avx512" */
} fem_options;

typedef struct fem_episode fem_episode;

/* The model stays the caller's and outlives the episode; its numbers are read when an episode begins. Of host
 * (may be NULL) the stop flag is asked. DS_OK, DS_E_NOMEM, DS_E_PARAM: dt or steps is not positive, or isa is
 * unknown or does not run here. */
ds_status fem_episode_open(fem_episode **out, const fem_model *m, const fem_options *o, const ds_host *host);
void fem_episode_close(fem_episode *e);

/* Begins at state 0 and shows it where it is a frame. `keep`: for the adjoint. The driver stays until the
 * next begin. */
void fem_episode_begin(fem_episode *e, const fem_driver *driver, void *self, int keep);
/* Goes on to state `until`. *bad: -1, or the step after which the state was not finite or faster than
 * most_speed; the episode ends there, and the bad state is never shown. DS_OK or DS_STOPPED. */
ds_status fem_episode_advance(fem_episode *e, uint64_t until, int64_t *bad);
/* Both, to the end. */
ds_status fem_episode_run(fem_episode *e, const fem_driver *driver, void *self, int keep, int64_t *bad);
/* The present state. */
fem_state fem_episode_state(fem_episode *e);

/* After an episode with `keep` that has got to its end: overwrites *gradient. *bad: -1, or the step at which
 * the adjoint was not finite; the gradient is then 0. DS_OK or DS_STOPPED. */
ds_status fem_episode_adjoint(fem_episode *e, fem_variation *gradient, int64_t *bad);

/* The whole episode once more with its derivative in a direction, shown by state_dot(). The exact
 * linearisation of fem_episode_run(): <J v, w> = <v, J' w>. *bad as with run, or the step at which the
 * tangent was not finite. DS_OK, DS_E_NOMEM, DS_STOPPED. */
ds_status fem_tangent(fem_episode *e, const fem_driver *driver, void *self, const fem_variation *direction,
                      int64_t *bad);

/* Bytes that the episode holds, most of them kept states; and the instruction set in use. */
size_t fem_episode_bytes(const fem_episode *e);
const char *fem_episode_isa(const fem_episode *e);

#endif
