/* SPDX-License-Identifier: Apache-2.0 */
/* wrench_net.h - networks that push and turn a rigid body: from nine numbers of its state to a force at the
 * centre of mass and a torque, asked once in each step (diffsim/helper/hybrid.h). */
#ifndef DS_ENGINES_RIGID_WRENCH_NET_H
#define DS_ENGINES_RIGID_WRENCH_NET_H

#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/memory.h>

enum { WRENCH_INPUTS = 9, WRENCH_OUTPUTS = 6 }; /* of outputs the force first */

/* hybrid NULL: there are none. Parameters, their change for a tangent, and where an adjoint adds derivatives
 * by them are the caller's. */
typedef struct wrench_net {
    const ds_hybrid *hybrid;
    const double *w, *w_dot;
    double *w_bar, *tape;
} wrench_net;

/* Hook points of what is in three parts of three numbers: names, units and sentences of the inputs. Returns
 * their number; the outputs are called force and torque. */
uint64_t wrench_hooks(ds_hook *out, const char *const inputs[3][3], const char *force_begins);

/* Networks of `h`, with a tape of `m`; none where it has none. */
void wrench_open(wrench_net *n, ds_memory *m, const ds_hybrid *h);

/* Changes force and torque. */
void wrench_add(const wrench_net *n, const double in[WRENCH_INPUTS], double force[3], double torque[3]);

/* force_bar, torque_bar: in, derivatives by what came out; out, by what went in. Adds to in_bar and w_bar. */
void wrench_reverse(const wrench_net *n, const double in[WRENCH_INPUTS], double force_bar[3],
                    double torque_bar[3], double in_bar[WRENCH_INPUTS]);

/* force_dot, torque_dot: in, change of what goes in; out, of what comes out, along in_dot and w_dot. */
void wrench_tangent(const wrench_net *n, const double in[WRENCH_INPUTS], const double in_dot[WRENCH_INPUTS],
                    double force_dot[3], double torque_dot[3]);

#endif
