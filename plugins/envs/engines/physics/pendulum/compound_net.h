/* SPDX-License-Identifier: Apache-2.0 */
/* compound_net.h - the compound double pendulum (compound.h) with networks in the torques of its joints: its
 * motion, the adjoint of the whole motion and its tangent in one direction. Without networks compound_run()
 * is faster: it carries the derivatives by all of its few variables with it, which with those of networks are
 * too many.
 *
 * Inputs of the networks: angles of the joints a, b - a, and their rates, 2 each; outputs: the torques t1,
 * t2, which begin as those of the damping. They are asked at each evaluation of the equations, four times a
 * step with Runge and Kutta. */
#ifndef DS_ENGINES_COMPOUND_NET_H
#define DS_ENGINES_COMPOUND_NET_H

#include "compound.h"

#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/memory.h>

enum { COMPOUND_NET_INPUTS = 4, COMPOUND_NET_OUTPUTS = 2 };

typedef struct compound_net {
    const ds_hybrid *hybrid; /* with at least one network */
    const double *w;         /* its parameters, the caller's */
    double h;
    uint64_t substeps;
    double *step; /* [frames substeps + 1][COMPOUND_STATES], states of the last motion */
    /* Of the stages of a step: what is known of each, and tapes of the networks. Those of all steps of the
     * last motion are kept for its sweeps where they fit into some MiB (`keeps`), else those of one step,
     * which is made again. */
    struct compound_net_stages *stages;
    double *tape;
    int keeps;
} compound_net;

/* Arrays for motions of up to so many frames, of `m`; 0: no memory. */
int compound_net_open(compound_net *n, ds_memory *m, const ds_hybrid *hybrid, double h, uint64_t frames,
                      uint64_t substeps);

/* As compound_run() without derivatives, for `frames` frames. */
int64_t compound_net_run(compound_net *n, const compound *p, const double *w, uint64_t frames, double *y);

/* Of the first `frames` frames of the last motion, which must have got there: adds to
 * x_bar[COMPOUND_VARIABLES] and w_bar the derivatives for those by the states of the frames, y_bar[frames
 * + 1][COMPOUND_STATES]. */
void compound_net_adjoint(const compound_net *n, const compound *p, uint64_t frames, const double *y_bar,
                          double *x_bar, double *w_bar);

/* y_dot[frames + 1][COMPOUND_STATES] = the change of the states of these frames along x_dot and w_dot. */
void compound_net_tangent(const compound_net *n, const compound *p, uint64_t frames, const double *x_dot,
                          const double *w_dot, double *y_dot);

#endif
