/* SPDX-License-Identifier: Apache-2.0 */
/* state_net.h - networks that act on a small system before each step: they change the control that reaches
 * it, and push its velocities (diffsim/helper/hybrid.h).
 *
 * Inputs are the state x before the step and the control u. Outputs are the control that acts, which begins
 * as u, and forces, which begin at 0: velocity k of the state becomes v + kick force before the step. */
#ifndef DS_ENGINES_STATE_NET_H
#define DS_ENGINES_STATE_NET_H

#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/memory.h>

enum { STATE_NET_FORCES = 4, STATE_NET_NUMBERS = 64 };

typedef struct state_net {
    const ds_hybrid *hybrid; /* NULL: no network, and the rest is not set */
    uint64_t states, controls, forces;
    const uint32_t *pushed;  /* which numbers of a state the forces change */
    double kick;             /* of a unit force: the time step over the mass */
    const double *w;         /* parameters of the networks in this episode */
    const double *w_dot;     /* their direction, for engines with a tangent */
    double *w_bar;           /* an adjoint adds to it */
    double *in, *out, *tape; /* x and u; control and forces */
    double *x;               /* a state with its pushes */
    double *x_bar, *u_bar;   /* derivatives of the step by what acted in it */
    double *bar, *in_bar;
} state_net;

/* Writes the hook points of a system: inputs "state" (described by `doc`) and "control", outputs "actuation"
 * and, with forces > 0, "force"; without controls only "state" and "force". Returns their number: 0 for
 * systems with too many states or controls. */
uint64_t state_net_hooks(ds_hook *out, uint64_t states, uint64_t controls, uint64_t forces, const char *unit,
                         const char *doc);

/* Takes memory for the networks of `h`; none if it has none. states, controls, forces, pushed and kick are
 * set by the caller. */
void state_net_open(state_net *n, ds_memory *m, const ds_hybrid *h);

/* What acts in a step: points *x and *u to the pushed state and the changed control, valid until the next
 * call. Sets n->x_bar and n->u_bar to 0. */
void state_net_act(const state_net *n, const double **x, const double **u);

/* After state_net_act(), with the derivatives of the step by what acted in n->x_bar and n->u_bar: adds those
 * by state and control to x_bar and u_bar, and those by the parameters to n->w_bar. */
void state_net_back(const state_net *n, double *x_bar, double *u_bar);

/* After state_net_act(): a direction of state and control becomes that of what acts. w_dot: of the
 * parameters, NULL = 0. */
void state_net_tangent(const state_net *n, const double *w_dot, double *x_dot, double *u_dot);

/* For systems without controls: state_net_act() and state_net_tangent(), which change nothing where there is
 * no network. */
const double *state_net_push(const state_net *n, const double *x);
void state_net_push_dot(const state_net *n, const double *w_dot, double *x_dot);

#endif
