/* SPDX-License-Identifier: Apache-2.0 */
/* episode.h - a roll-out of a model: forward, exact discrete adjoint, tangent.
 *
 * One step of dt, with all forces at the old state (symplectic Euler):
 *     u' = u + dt (f(q, u) / mass + g),    q' = q + dt u';       fixed particles: u' = u.
 * State k = 0..steps is the state after k steps; step k = 0..steps - 1 leads from state k to k + 1, at t = k
 * dt.
 *
 * An episode belongs to one thread. Results are bitwise the same for every instruction set and memory limit.
 */
#ifndef DS_ENGINES_FEM_EPISODE_H
#define DS_ENGINES_FEM_EPISODE_H

#include "engines/physics/fem/model.h"
#include "engines/physics/fem/variation.h"

#include <diffsim/host.h>

typedef struct fem_state {
    double *q, *u; /* [particles][3] */
} fem_state;

/* Activation of each element, or derivatives by it. */
typedef struct fem_activation {
    double *triangle, *edge, *tet;
} fem_activation;

/* Numbers that an environment sets in each step, three for each of some particles, all different. set()
 * writes those of a step, from `step` alone; bar() receives the derivatives of the loss by them; dot() writes
 * their change along a direction. bar() and dot() may be NULL. */
typedef struct fem_hand {
    const uint32_t *particle;
    size_t count;
    void (*set)(void *self, uint64_t step, double *value); /* [count][3] */
    void (*bar)(void *self, uint64_t step, const double *value_bar);
    void (*dot)(void *self, uint64_t step, double *value_dot);
} fem_hand;

/* Further forces, N, on all particles as functions of the state, [particles][8]: place in 0 .. 2, velocity
 * in 4 .. 6; of forces, [particles][4], fixed particles take none. add() adds them; bar() adds the
 * derivatives by the state from those by the forces; dot() adds their change along that of a state. All three
 * or none. */
typedef struct fem_field {
    void (*add)(void *self, const double *state, double *force);
    void (*bar)(void *self, const double *state, const double *force_bar, double *state_bar);
    void (*dot)(void *self, const double *state, const double *state_dot, double *force_dot);
} fem_field;

/* What an environment adds. Functions may be NULL. */
typedef struct fem_driver {

    const uint64_t *frames; /* ascending: the states that are shown */
    size_t frame_count;
    /* Sets activations for a step. Before, they hold those of the model or the last set values: always set
     * the same elements, from `step` alone. */
    void (*activate)(void *self, uint64_t step, fem_activation *act);
    /* Receives the derivatives of the loss by them, right after activate() of the same step. */
    void (*activate_bar)(void *self, uint64_t step, const fem_activation *bar);
    /* Receives state k, one of `frames`, going forward. */
    void (*state)(void *self, uint64_t k, const fem_state *s);
    /* Adds the direct derivatives of the loss by state k to bar, going backward through `frames`. */
    void (*state_bar)(void *self, uint64_t k, const fem_state *s, fem_state *bar);
    /* For the tangent. Sets the variations of the activations of a step, all 0 before; receives the variation
     * of a shown state. */
    void (*activate_dot)(void *self, uint64_t step, fem_activation *dot);
    void (*state_dot)(void *self, uint64_t k, const fem_state *s, const fem_state *dot);
    fem_hand drive; /* velocities of fixed particles, m/s */
    fem_hand push;  /* further forces, N */
    fem_field field;
} fem_driver;

enum {
    FEM_WANT_MATERIAL = 1, /* derivatives by spring, membrane, bending and solid constants */
    FEM_WANT_ACTIVATION = 2,
    /* Only derivatives by quantities that act alike on both sides of a plane: not by q, u or gravity across
     * an axis-parallel plane in which all particles lie and move, and not by the angle of an edge. The
     * adjoint then stays in that plane. By symmetry the motion across the plane does not contribute to these
     * derivatives, but a sheet pressed in its plane buckles: the adjoint across the plane would grow without
     * bound and overflow. */
    FEM_WANT_IN_PLANE = 4,
    FEM_WANT_REST =
        8 /* derivatives by the shape at rest (rest.h), in scalar code: the reverse takes longer */
};

typedef struct fem_options {
    double dt; /* s */
    uint64_t steps;
    uint32_t want;                     /* FEM_WANT_*; other parts of fem_variation are always computed */
    size_t memory_bytes;               /* limit for kept states; 0: 300 MB. Above it, checkpoints are used */
    double most_speed;                 /* m/s: a faster particle means that the episode exploded; 0: 1e5 */
    const char *isa;                   /* NULL: the best, or DS_ISA; "baseline", "avx2", "avx512" */
    const struct fem_kernels *kernels; /* instead of those of `isa`, for tests; NULL: none */
} fem_options;

typedef struct fem_episode fem_episode;

/* Opens an episode. The caller owns the model, which must outlive the episode; its numbers are read when an
 * episode starts. host (may be NULL): its stop flag is polled. DS_OK, DS_E_NOMEM, or DS_E_PARAM: dt or steps
 * is not positive, or isa is unknown or unsupported here. */
ds_status fem_episode_open(fem_episode **out, const fem_model *m, const fem_options *o, const ds_host *host);
void fem_episode_close(fem_episode *e);

/* Starts at state 0 and shows it if it is a frame. `keep`: for the adjoint. The driver stays in use until the
 * next start. */
void fem_episode_begin(fem_episode *e, const fem_driver *driver, void *self, int keep);
/* Advances to state `until`. *bad: -1, or the step after which the state was not finite or faster than
 * most_speed; the episode ends there and the bad state is not shown. DS_OK or DS_STOPPED. */
ds_status fem_episode_advance(fem_episode *e, uint64_t until, int64_t *bad);
/* Both, up to the last state. */
ds_status fem_episode_run(fem_episode *e, const fem_driver *driver, void *self, int keep, int64_t *bad);
/* The present state. */
fem_state fem_episode_state(fem_episode *e);

/* After an episode with `keep` that reached its end: overwrites *gradient. *bad: -1, or the step at which the
 * adjoint was not finite; the gradient is then 0. DS_OK or DS_STOPPED. */
ds_status fem_episode_adjoint(fem_episode *e, fem_variation *gradient, int64_t *bad);

/* Runs the whole episode again with its derivative in a direction, shown by state_dot(): the exact
 * linearisation of fem_episode_run(), <J v, w> = <v, J' w>. *bad as in fem_episode_run(), or the step at
 * which the tangent was not finite. DS_OK, DS_E_NOMEM, DS_STOPPED. */
ds_status fem_tangent(fem_episode *e, const fem_driver *driver, void *self, const fem_variation *direction,
                      int64_t *bad);

/* Bytes held by the episode, mostly kept states. */
size_t fem_episode_bytes(const fem_episode *e);

/* ---- the longest stable step ---- */

typedef struct fem_limit {
    double load;   /* load of dt: above 1 the stiffest motion grows from step to step; NaN: no memory */
    double dt;     /* s, about the longest stable step */
    double ground; /* load of the lightest particle alone on the ground */
} fem_limit;

/* Considers small motions about the start positions, without drag and lift, and never overestimates: no
 * warning is false. With k and c stiffness and damping of a mode per mass, a step is stable if dt^2 k + 2 dt
 * c < 4. */
fem_limit fem_step_limit(const fem_model *m, double dt);

/* Warns through the host if the limit is exceeded; `cure` ends the line. DS_OK or DS_E_NOMEM. */
ds_status fem_warn_of_step(const fem_model *m, double dt, const ds_host *host, const char *cure);

#endif
