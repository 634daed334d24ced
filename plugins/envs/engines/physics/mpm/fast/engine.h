/* SPDX-License-Identifier: Apache-2.0 */
/* The fast engine: the simulation of sim.c, forward and adjoint over a whole episode, vectorised and
 * threaded. It works a substep at a time; between forward and adjoint it keeps what it needs. */
#ifndef MPM_FAST_ENGINE_H
#define MPM_FAST_ENGINE_H

#include "engines/physics/mpm/sim/sim.h"

typedef struct mpm_fast mpm_fast;

/* Where the time goes; `repeat` is what is simulated again for the adjoint. */
enum {
    MPM_TIME_FORWARD = 0, /* particles */
    MPM_TIME_GRID = 1,
    MPM_TIME_SORT = 2,
    MPM_TIME_REPEAT = 3,
    MPM_TIME_ADJOINT = 4, /* particles */
    MPM_TIME_GRID_ADJOINT = 5,
    MPM_TIMES = 6
};

/* The time that more memory spares in as many episodes is about what it takes to fetch it, on a virtual
 * machine whose host has to find it first (2 s for a GB; elsewhere a tenth): who ends before need not pay. */
enum { MPM_EARLY_EPISODES = 8 };

typedef struct mpm_fast_options {
    int bits;          /* 64 or 32: precision of the simulation */
    bool store;        /* keep all substeps; else a checkpoint now and then, and simulate twice */
    uint32_t threads;  /* at least 1; the results do not depend on it */
    uint32_t interval; /* most substeps between two sorts; 0 = a good number */
    size_t budget;     /* bytes that the engine stays within, as far as it can; 0 = a good number */
    /* The same after the first MPM_EARLY_EPISODES with an adjoint; if less, `budget`. 0 = that of the first
     * where it is told, else what kit_memory_share() says. */
    size_t later_budget;
    double *times;   /* NULL, or [MPM_TIMES]: processor seconds are added */
    const char *isa; /* NULL: the best that runs here, or what the environment variable DS_ISA says */
} mpm_fast_options;

/* `sim` and what it points to must outlive the engine; it must have at least one particle. NULL when there
 * is no memory. */
mpm_fast *mpm_fast_create(const mpm_sim *sim, const mpm_fast_options *options);
void mpm_fast_destroy(mpm_fast *f);

/* Bytes allocated. */
size_t mpm_fast_memory(const mpm_fast *f);

/* Asked between the substeps that are simulated again; may be NULL. */
void mpm_fast_on_stop(mpm_fast *f, uint32_t (*should_stop)(const void *context), const void *context);

/* Begins an episode of `substeps`. poses: [substeps + 1][tools], must stay until the adjoint is done. */
mpm_result mpm_fast_start(mpm_fast *f, const mpm_particle *particles, const mpm_pose *poses,
                          uint32_t substeps, bool with_adjoint);
/* One substep on. */
mpm_result mpm_fast_advance(mpm_fast *f);
/* The particles of the present frame, in the caller's order. During the adjoint: x and f only, the
 * rest is 0. */
mpm_result mpm_fast_state(mpm_fast *f, mpm_particle *particles);
/* Their positions alone; the rest stays as it is. */
mpm_result mpm_fast_positions(mpm_fast *f, mpm_particle *particles);

/* Turns round after at least one substep, with adjoint 0. */
void mpm_fast_turn(mpm_fast *f);
/* Adds to the adjoint of the present frame: of x at any frame, of the rest only right after mpm_fast_turn()
 * or mpm_fast_open_bar(). */
void mpm_fast_add_bar(mpm_fast *f, const mpm_particle *bar);
/* Lets the adjoint of all fields of the present frame be added to, for the price of half a substep more. */
void mpm_fast_open_bar(mpm_fast *f);
/* Substeps that had to be simulated again in this episode, so far. */
uint32_t mpm_fast_repeated(const mpm_fast *f);
/* One substep back. next_bar: adjoint of the poses after the substep, added to; now_bar: before
 * it, added to. */
mpm_result mpm_fast_retreat(mpm_fast *f, mpm_pose *now_bar, mpm_pose *next_bar);
/* The adjoint of the first frame's particles, once all substeps are taken back. */
mpm_result mpm_fast_bar(mpm_fast *f, mpm_particle *bar);

#endif
