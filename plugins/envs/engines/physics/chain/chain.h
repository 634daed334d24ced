/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h - planar chain of rigid links on a cart (n-link cart-pole): simulation of an episode and its
 * adjoint.
 *
 * The cart slides along x. Link 1 turns about a joint on the cart, link i about the end of link i - 1.
 * theta_i is the absolute angle of link i from the upward vertical, counter-clockwise; omega_i its rate.
 * Torque tau_i acts between link i - 1 (0 = the cart) and link i. No friction, no limits, no contact. */
#ifndef DS_ENGINES_CHAIN_H
#define DS_ENGINES_CHAIN_H

#include "chain_law.h"

#include <diffsim/helper/memory.h>

typedef struct chain chain;

/* Takes memory from `m` for episodes of up to `steps` steps; NULL without memory. */
chain *chain_create(ds_memory *m, const chain_params *p, uint64_t steps);

/* Simulates `steps` steps from `start`. u holds links + 1 controls (cart, tau_1..tau_n) for
 * every `hold` steps. */
void chain_simulate(chain *c, const chain_state *start, uint64_t steps, const double *u, uint64_t hold);

/* Sets the parameters of the networks and where the reverse sweep adds their derivatives (may be NULL); owned
 * by the caller. Required if there are networks. */
void chain_weights(chain *c, const double *w, double *w_bar);

/* Reverse sweep over the last simulation. `bar`, in: derivatives of a loss by the final state; out: by the
 * start state. Overwrites u_bar (shape of u) with those by the controls. */
void chain_adjoint(chain *c, chain_state *bar, double *u_bar);

/* Episodes of one call of the following functions; 1: they cannot be called (networks, RK4, long
 * episodes). */
uint64_t chain_width(const chain *c);

/* Simulates them, with the bits of chain_simulate(); end: chain_width() final states. `keep`: the adjoint
 * follows. */
void chain_lanes_simulate(chain *c, const chain_table *t, const chain_state *start, int keep,
                          chain_state *end);

/* Reverse sweep over them. bar, in: derivatives by the final states; out: by the start states; grad: by x. */
void chain_lanes_adjoint(chain *c, const chain_table *t, chain_state *bar, double *const *grad);

/* State before step t (t = steps: the final state). */
void chain_get(const chain *c, uint64_t t, chain_state *out);

/* Returns 1 if the host stopped the last simulation or reverse sweep, whose results are then incomplete. */
int chain_stopped(const chain *c);

/* Returns whether the state before step t is finite. */
int chain_finite(const chain *c, uint64_t t);

/* First step after which the state is not finite, or -1. */
int64_t chain_bad_step(const chain *c);

/* Accelerations of the cart and the angles in a state under controls u as above (velocity control: over one
 * h). */
void chain_accelerations(chain *c, const chain_state *s, const double *u, double *a, double *alpha);

/* Position of the outer end of the last link; with sine and cosine of the angles. */
void chain_tip_at(const chain_params *p, double x, const double *sine, const double *cosine, double tip[2]);
void chain_tip(const chain_params *p, const chain_state *s, double tip[2]);

/* Kinetic plus potential energy (zero at the height of the cart), J. */
double chain_energy(const chain_params *p, const chain_state *s);

/* Momentum along x, kg m/s; constant if no force acts on the cart. */
double chain_momentum(const chain_params *p, const chain_state *s);

#endif
