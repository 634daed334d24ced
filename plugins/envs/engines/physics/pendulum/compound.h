/* SPDX-License-Identifier: Apache-2.0 */
/* compound.h - a double pendulum of rigid bodies, described by the constants that its motion depends on, with
 * the derivatives of the whole motion by up to eight variables, for least squares. With absolute angles a, b
 * from the downward vertical, c = cos(a - b), s = sin(a - b),
 *     A a''  + C c b'' = -C s b'^2 - G1 sin a + t1 - t2,    t1 = D1 a'
 *     C c a'' + B b''  =  C s a'^2 - G2 sin b + t2,         t2 = D2 (b' - a').
 * With masses m, lengths l, distances r of the centres of mass and moments of inertia I about them: A = I1 +
 * m1 r1^2 + m2 l1^2, B = I2 + m2 r2^2, C = m2 l1 r2, G1 = (m1 r1 + m2 l1) g, G2 = m2 r2 g. A common factor
 * cancels. t1 and t2 are the torques of the joints at the pivot and between the bodies. */
#ifndef DS_ENGINES_COMPOUND_H
#define DS_ENGINES_COMPOUND_H

#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/memory.h>

#include <stddef.h>
#include <stdint.h>

enum {
    COMPOUND_A,
    COMPOUND_B,
    COMPOUND_C,
    COMPOUND_G1,
    COMPOUND_G2,
    COMPOUND_D1,
    COMPOUND_D2,
    COMPOUND_CONSTANTS
};

/* A state is a, b, a', b'. Derivatives of a state by the variables are [COMPOUND_STATES][COMPOUND_VARIABLES].
 */
enum { COMPOUND_STATES = 4, COMPOUND_VARIABLES = 8 };
enum { COMPOUND_SLOPES = COMPOUND_STATES * COMPOUND_VARIABLES };

typedef enum compound_method {
    COMPOUND_RK4,          /* the classical Runge-Kutta method of order 4 */
    COMPOUND_SEMI_IMPLICIT /* rates first, then angles by the new rates */
} compound_method;

/* Constants and start, with their derivatives by the variables. */
typedef struct compound {
    compound_method method;
    double constant[COMPOUND_CONSTANTS];
    double slope[COMPOUND_CONSTANTS][COMPOUND_VARIABLES]; /* of the constants by the variables */
    double start[COMPOUND_STATES], start_dot[COMPOUND_SLOPES];
} compound;

/* Runs from the start, frame 0, to frame `frames`, with `substeps` steps of h seconds per frame. Writes the
 * states of the frames, y[frames + 1][COMPOUND_STATES], and unless y_dot is NULL their derivatives,
 * y_dot[frames + 1][COMPOUND_SLOPES]. Returns -1, or the first frame whose state is not finite; that frame
 * and later ones are not written. */
int64_t compound_run(const compound *p, double h, uint64_t frames, uint64_t substeps, double *y,
                     double *y_dot);

/* Motions side by side, one in each lane (engines/kit/lanes.h). */
typedef struct compound_lanes {
    const char *isa;
    uint64_t width;
    /* The same for p[0] .. p[width - 1], of one method, with the derivatives by the first `variables`
     * variables only. State number i of frame f in lane k is y[(f COMPOUND_STATES + i) width + k], its
     * derivative by variable v y_dot[((f variables + v) COMPOUND_STATES + i) width + k]. All frames are
     * written, also those that are not finite. */
    void (*run)(const compound *p, uint64_t variables, double h, uint64_t frames, uint64_t substeps,
                double *y, double *y_dot);
} compound_lanes;

/* The kernels of this machine. */
const compound_lanes *compound_lanes_find(void);

/* Kinetic plus potential energy, with 0 at the height of the pivot; J if the constants are SI. */
double compound_energy(const compound *p, const double y[COMPOUND_STATES]);

/* ---- with networks in the joints ---- */

/* The same with networks in the torques of its joints: motion, adjoint of the whole motion, tangent in one
 * direction. Without networks compound_run() is faster, because it carries the derivatives by its few
 * variables along; networks have too many.
 *
 * Inputs of the networks: angles of the joints a, b - a, and their rates, 2 each. Outputs: the torques t1,
 * t2, which start as the damping torques. They are evaluated with the equations of motion: four times per
 * step with Runge-Kutta. */

enum { COMPOUND_NET_INPUTS = 4, COMPOUND_NET_OUTPUTS = 2 };

typedef struct compound_net {
    const ds_hybrid *hybrid; /* with at least one network */
    const double *w;         /* its parameters, owned by the caller */
    double h;
    uint64_t substeps;
    double *step; /* [frames substeps + 1][COMPOUND_STATES], states of the last motion */
    /* Values and tapes of the stages of a step. `keeps`: all steps of the last motion are kept for its sweeps
     * (they fit into some MiB); otherwise one step, which sweeps compute again. */
    struct compound_net_stages *stages;
    double *tape;
    int keeps;
} compound_net;

/* Takes arrays from `m` for motions of up to `frames` frames. Returns 0 without memory. */
int compound_net_open(compound_net *n, ds_memory *m, const ds_hybrid *hybrid, double h, uint64_t frames,
                      uint64_t substeps);

/* Like compound_run() without derivatives, for `frames` frames. */
int64_t compound_net_run(compound_net *n, const compound *p, const double *w, uint64_t frames, double *y);

/* For the first `frames` frames of the last motion, which must have reached them: adds to
 * x_bar[COMPOUND_VARIABLES] and w_bar the derivatives of a loss. y_bar[frames + 1][COMPOUND_STATES]:
 * derivatives by the states of the frames. */
void compound_net_adjoint(const compound_net *n, const compound *p, uint64_t frames, const double *y_bar,
                          double *x_bar, double *w_bar);

/* y_dot[frames + 1][COMPOUND_STATES] = change of the states of these frames along x_dot and w_dot. */
void compound_net_tangent(const compound_net *n, const compound *p, uint64_t frames, const double *x_dot,
                          const double *w_dot, double *y_dot);

#endif
