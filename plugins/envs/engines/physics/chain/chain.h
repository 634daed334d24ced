/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h - planar chain of rigid links on a cart (n-link cart-pole): simulation of an episode and its
 * adjoint.
 *
 * The cart slides along x; link 1 turns about a joint on the cart, link i about the end of link i - 1.
 * theta_i is the absolute angle of link i from the upward vertical, counter-clockwise; omega_i its rate.
 * Torque tau_i acts between link i - 1 (0 = the cart) and link i. No friction, no limits, no contact.
 */
#ifndef DS_ENGINES_CHAIN_H
#define DS_ENGINES_CHAIN_H

#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/memory.h>
#include <diffsim/host.h>
#include <stdint.h>

enum { CHAIN_MAX_LINKS = 10 };

/* What the first control of a step is. */
enum {
    CHAIN_VELOCITY = 0, /* velocity of the cart after the step, whatever force that takes */
    CHAIN_FORCE = 1     /* force on the cart */
};

enum {
    CHAIN_EXPLICIT = 0,      /* q' = q + h v, v' = v + h a(q, v): Nimble's order */
    CHAIN_SEMI_IMPLICIT = 1, /* v' = v + h a(q, v), q' = q + h v' */
    CHAIN_RK4 = 2 /* the classical Runge-Kutta method; a cart of prescribed velocity has one a for all
                              * stages */
};

typedef struct chain_params {
    int links, control, integrator;
    double h;         /* s */
    double gravity;   /* m/s^2, acts along -y */
    double cart_mass; /* kg */
    double mass[CHAIN_MAX_LINKS];
    double length[CHAIN_MAX_LINKS];  /* m, from joint to joint */
    double com[CHAIN_MAX_LINKS];     /* m, centre of mass from the joint nearer to the cart */
    double inertia[CHAIN_MAX_LINKS]; /* kg m^2, about the centre of mass */
    /* Networks, NULL or without any: none. Inputs: x, v, the relative joint angles and their rates (links
     * each); outputs: with force control the force on the cart, then the torques of the joints. */
    const ds_hybrid *hybrid;
    const ds_host *host; /* asked now and then whether to stop; may be NULL */
} chain_params;

typedef struct chain_state {
    double x, v;
    double theta[CHAIN_MAX_LINKS], omega[CHAIN_MAX_LINKS];
} chain_state;

typedef struct chain chain;

/* Memory for episodes of up to `steps` steps, taken of `m`; NULL where there is none. */
chain *chain_create(ds_memory *m, const chain_params *p, uint64_t steps);

/* Simulates `steps` steps from `start`. u holds links + 1 controls (cart, tau_1..tau_n) for
 * every `hold` steps. */
void chain_simulate(chain *c, const chain_state *start, uint64_t steps, const double *u, uint64_t hold);

/* The parameters of the networks for what follows, and where the reverse sweep adds its derivatives by them
 * (may be NULL); both are the caller's. Needed where there are networks. */
void chain_weights(chain *c, const double *w, double *w_bar);

/* Reverse sweep over the last simulation. In: `bar`, the derivatives of a loss by the final state. Out: the
 * same by the start state in `bar`, and by the controls in u_bar (shape of u; overwritten). */
void chain_adjoint(chain *c, chain_state *bar, double *u_bar);

/* State before step t; t = steps gives the final state. */
void chain_get(const chain *c, uint64_t t, chain_state *out);

/* Whether the host ended the last simulation or reverse sweep, whose results are then incomplete. */
int chain_stopped(const chain *c);

/* Whether the state before step t is finite. */
int chain_finite(const chain *c, uint64_t t);

/* First step after which the state is not finite, or -1. */
int64_t chain_bad_step(const chain *c);

/* Accelerations of the cart and of the angles in a state, under controls u as above (velocity control: over
 * one h). */
void chain_accelerations(chain *c, const chain_state *s, const double *u, double *a, double *alpha);

/* Position of the outer end of the last link. */
void chain_tip(const chain_params *p, const chain_state *s, double tip[2]);

/* Kinetic plus potential energy (zero at the height of the cart), J. */
double chain_energy(const chain_params *p, const chain_state *s);

/* Momentum along x, kg m/s; constant where no force acts on the cart. */
double chain_momentum(const chain_params *p, const chain_state *s);

#endif
