/* SPDX-License-Identifier: Apache-2.0 */
/* chain_law.h - parameters and state of a chain, and the kernels for chains side by side, one in each lane of
 * a vector (engines/kit/lanes.h). */
#ifndef DS_ENGINES_CHAIN_LAW_H
#define DS_ENGINES_CHAIN_LAW_H

#include <diffsim/helper/hybrid.h>
#include <diffsim/host.h>
#include <stdint.h>

enum { CHAIN_MAX_LINKS = 10 };

/* Meaning of the first control of a step. */
enum {
    CHAIN_VELOCITY = 0, /* velocity of the cart after the step, without a limit of force */
    CHAIN_FORCE = 1     /* force on the cart */
};

enum {
    CHAIN_EXPLICIT = 0,      /* q' = q + h v, v' = v + h a(q, v): Nimble's order */
    CHAIN_SEMI_IMPLICIT = 1, /* v' = v + h a(q, v), q' = q + h v' */
    /* the classical Runge-Kutta method; a cart with prescribed velocity has the same a in all stages */
    CHAIN_RK4 = 2
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
    /* Networks; NULL or empty: none. Inputs: x, v, the relative joint angles and their rates (links each).
     * Outputs: with force control the force on the cart, then the torques of the joints. */
    const ds_hybrid *hybrid;
    const ds_host *host; /* its stop flag is polled; may be NULL */
} chain_params;

typedef struct chain_state {
    double x, v;
    double theta[CHAIN_MAX_LINKS], omega[CHAIN_MAX_LINKS];
} chain_state;

/* Episodes side by side, one in each lane, with controls scale[j] x[lane][i + j] for every `hold` steps. */
typedef struct chain_table {
    uint64_t steps, hold;
    uint64_t apart;         /* 0: all begin at start[0]; 1: each at its own start[lane] */
    const double *scale;    /* links + 1 */
    const double *const *x; /* chain_width() arrays */
} chain_table;

/* The constants of the equations of motion (chain.c). */
typedef struct chain_law {
    chain_params p;
    double A[CHAIN_MAX_LINKS][CHAIN_MAX_LINKS], b[CHAIN_MAX_LINKS], M0;
} chain_law;

typedef struct chain_lanes {
    const char *isa;
    uint64_t width;
    /* chain_lanes_simulate() and chain_lanes_adjoint() of `width` episodes. `tape` has a record of `width`
     * doubles per number for each of steps + 1 states; without `keep` only the first two are used. */
    void (*simulate)(const chain_law *law, const chain_table *t, const chain_state *start, double *tape,
                     int keep, chain_state *end);
    void (*adjoint)(const chain_law *law, const chain_table *t, const double *tape, chain_state *bar,
                    double *const *grad);
} chain_lanes;

/* The kernels of this machine. */
const chain_lanes *chain_lanes_find(void);

#endif
