/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - the fast engine: the simulation of sim.c, forward and adjoint over a whole episode, vectorised
 * and threaded. It works one substep at a time and stores between forward and adjoint what it needs. */
#ifndef MPM_FAST_ENGINE_H
#define MPM_FAST_ENGINE_H

#include "engines/physics/mpm/sim/sim.h"

typedef struct mpm_fast mpm_fast;

/* Parts of the time; `repeat` is simulation repeated for the adjoint. */
enum {
    MPM_TIME_FORWARD = 0, /* particles */
    MPM_TIME_GRID = 1,
    MPM_TIME_SORT = 2,
    MPM_TIME_REPEAT = 3,
    MPM_TIME_ADJOINT = 4, /* particles */
    MPM_TIME_GRID_ADJOINT = 5,
    MPM_TIMES = 6
};

/* After this many episodes, more memory has saved about the time it takes to get it on a virtual machine
 * whose host must find it first (2 s per GB; elsewhere a tenth). A shorter run need not pay for it. */
enum { MPM_EARLY_EPISODES = 8 };

typedef struct mpm_fast_options {
    int bits;          /* 64 or 32: precision of the simulation */
    bool store;        /* store all substeps; else checkpoints, and simulate twice */
    uint32_t threads;  /* at least 1; results do not depend on it */
    uint32_t interval; /* most substeps between two sorts; 0: chosen */
    size_t budget;     /* memory limit that the engine observes if it can, bytes; 0: chosen */
    /* The limit after MPM_EARLY_EPISODES episodes with an adjoint; if smaller, `budget` applies. 0: `budget`
     * if that is given, else kit_memory_share(). */
    size_t later_budget;
    double *times;   /* NULL, or [MPM_TIMES]: processor seconds are added to it */
    const char *isa; /* NULL: the environment variable DS_ISA, or the best of this machine */
} mpm_fast_options;

/* `sim` and what it points to must outlive the engine; it must have at least one particle. Returns NULL
 * without memory. */
mpm_fast *mpm_fast_create(const mpm_sim *sim, const mpm_fast_options *options);
void mpm_fast_destroy(mpm_fast *f);

/* Bytes allocated. */
size_t mpm_fast_memory(const mpm_fast *f);

/* Called between repeated substeps; may be NULL. */
void mpm_fast_on_stop(mpm_fast *f, uint32_t (*should_stop)(const void *context), const void *context);

/* Begins an episode of `substeps`. poses: [substeps + 1][tools], which must stay until the adjoint is done.
 */
mpm_result mpm_fast_start(mpm_fast *f, const mpm_particle *particles, const mpm_pose *poses,
                          uint32_t substeps, bool with_adjoint);
/* Simulates one substep. */
mpm_result mpm_fast_advance(mpm_fast *f);
/* The particles of the present frame, in the caller's order. During the adjoint only x and f are set; the
 * rest is 0. */
mpm_result mpm_fast_state(mpm_fast *f, mpm_particle *particles);
/* Their positions only; the rest stays unchanged. */
mpm_result mpm_fast_positions(mpm_fast *f, mpm_particle *particles);

/* Turns around after at least one substep, with adjoint 0. */
void mpm_fast_turn(mpm_fast *f);
/* Adds to the adjoint of the present frame: of x at any frame, of the rest only right after mpm_fast_turn()
 * or mpm_fast_open_bar(). */
void mpm_fast_add_bar(mpm_fast *f, const mpm_particle *bar);
/* Allows adding to the adjoint of all fields of the present frame; costs half a substep. */
void mpm_fast_open_bar(mpm_fast *f);
/* Substeps simulated again in this episode so far. */
uint32_t mpm_fast_repeated(const mpm_fast *f);
/* One substep back. Adds to next_bar, the adjoint of the poses after the substep, and now_bar, before it. */
mpm_result mpm_fast_retreat(mpm_fast *f, mpm_pose *now_bar, mpm_pose *next_bar);
/* The adjoint of the first frame's particles, after all substeps back. */
mpm_result mpm_fast_bar(mpm_fast *f, mpm_particle *bar);

#endif
