/* SPDX-License-Identifier: Apache-2.0 */
/* wrench_net.h - networks that act on a rigid body: from nine numbers of its state to a force at the centre
 * of mass and a torque, evaluated once per step (diffsim/helper/hybrid.h). */
#ifndef DS_ENGINES_RIGID_WRENCH_NET_H
#define DS_ENGINES_RIGID_WRENCH_NET_H

#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/memory.h>

enum { WRENCH_INPUTS = 9, WRENCH_OUTPUTS = 6 }; /* outputs: first the force, then the torque */

/* Networks, their parameters w, the change w_dot of these for a tangent, and w_bar, to which an adjoint adds.
 * The caller owns all of them. hybrid NULL: none. */
typedef struct wrench_net {
    const ds_hybrid *hybrid;
    const double *w, *w_dot;
    double *w_bar, *tape;
} wrench_net;

/* Writes the hook points: three inputs of three numbers, each with name, unit and sentence, and the outputs
 * "force" and "torque". Returns their number. */
uint64_t wrench_hooks(ds_hook *out, const char *const inputs[3][3], const char *force_begins);

/* Opens the networks of `h` with a tape from `m`; none if `h` has none. */
void wrench_open(wrench_net *n, ds_memory *m, const ds_hybrid *h);

/* Adds to force and torque, or replaces them. */
void wrench_add(const wrench_net *n, const double in[WRENCH_INPUTS], double force[3], double torque[3]);

/* force_bar, torque_bar: in, derivatives by the results; out, by the initial values. Adds to in_bar and
 * w_bar. */
void wrench_reverse(const wrench_net *n, const double in[WRENCH_INPUTS], double force_bar[3],
                    double torque_bar[3], double in_bar[WRENCH_INPUTS]);

/* force_dot, torque_dot: in, change of the initial values; out, of the results, along in_dot and w_dot. */
void wrench_tangent(const wrench_net *n, const double in[WRENCH_INPUTS], const double in_dot[WRENCH_INPUTS],
                    double force_dot[3], double torque_dot[3]);

#endif
