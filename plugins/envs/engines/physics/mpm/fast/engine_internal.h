/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the fast engine, in the order of the files: set-up (engine.c), copies by all threads
 * (bytes.c), order of the particles and room on the grid (layout.c), what a segment starts from
 * (checkpoint.c), how many bytes are held (memory.c) and what is kept (plan.c), a substep (substep.c), the
 * episode forward (forward.c) and backward (adjoint.c).
 *
 * A substep is: particles of each block gather the velocities of the substep before, deform, and spread
 * momentum to the block's slab; then the planes of the grid sum the slabs and become velocities. The
 * episode is cut into segments between two sorts. Forward, a checkpoint at the start of each segment is kept
 * and, within a budget of memory, the grid of all its substeps, and then the particles of these, too (of the
 * last segment always everything); backward, the particles of a segment without such a history are simulated
 * again, on the grid as it was if that was kept, and then differentiated. */
#ifndef MPM_FAST_ENGINE_INTERNAL_H
#define MPM_FAST_ENGINE_INTERNAL_H

#include "engine.h"
#include "engines/kit/team.h"
#include "segment.h"

enum { MPM_NONE = UINT32_MAX };

/* The particles of one matter. They stay together in the order: `room` says where in the fields. */
typedef struct mpm_group {
    const mpm_phase *phase;
    mpm_room room;
} mpm_group;

struct mpm_fast {
    const mpm_kernels *kernels;
    const mpm_sim *sim;
    kit_team *team;
    uint32_t threads, interval;
    bool store;
    size_t budget;       /* bytes: beyond what it must have, the engine keeps for the adjoint what fits */
    size_t later_budget; /* the same after MPM_EARLY_EPISODES */
    bool own_budget;     /* nobody told one */
    uint32_t adjoints;   /* episodes with an adjoint so far */
    double *times;
    size_t padded, gradients; /* particles of the fields, and numbers of f */
    int n_groups, n_blocks;
    mpm_group groups[MPM_MAX_BODIES];
    int lowest[3], highest[3]; /* base nodes that particles may have, as the domain stops them */
    mpm_block blocks[MPM_MAX_BLOCKS];
    mpm_buffer slabs, scratch;
    mpm_near near[MPM_PLANE_TASKS]; /* for the box that the slabs are laid out for */
    mpm_buffer work, bars, loose;   /* fields: present particles; their adjoints; between two orders */
    mpm_fields now, bar, between;
    mpm_buffer state; /* fields that a segment starts from, of `state_owner` */
    mpm_fields start;
    uint32_t state_owner;
    mpm_buffer velocity, node_bar; /* grid of one substep */
    mpm_buffer other_velocity;     /* of the substep after, while it is unpacked ahead of its use */
    mpm_buffer sorting;
    size_t marks_stride;
    uint32_t (*should_stop)(const void *context);
    const void *stop_context;
    /* the episode */
    const mpm_pose *poses;
    uint32_t substeps, frame, repeated;
    bool with_adjoint, backward;
    uint32_t n_segments, segment_capacity;
    mpm_segment *segments;
    mpm_history shared;           /* of one segment at a time, unless all are stored */
    mpm_grid_history shared_grid; /* the same for segments that do not keep their own */
    uint32_t shared_owner;
    uint32_t held_segment, held; /* segment and substep of `velocity`; held_segment MPM_NONE: of none */
    size_t packed;               /* bytes of the grid of a substep that was kept lately; 0 = not known */
    double speed;                /* largest velocity component on the grid */
    uint32_t bar_segment;        /* whose order the adjoints have */
    /* adjoint: local substep whose particle pass is still to do; MPM_NONE = at a border */
    uint32_t pending;
};

static inline double mpm_in_spacings(const mpm_domain *domain, double x)
{
    return x * domain->inv_dx + domain->offset;
}

static inline void *mpm_history_x(const mpm_fast *f, const mpm_history *h, uint32_t local)
{
    return (char *)h->x.at + local * f->padded * 4 * f->kernels->real;
}

static inline void *mpm_history_f(const mpm_fast *f, const mpm_history *h, uint32_t local)
{
    return (char *)h->f.at + local * f->gradients * f->kernels->real;
}

static inline uint32_t mpm_fast_present_segment(const mpm_fast *f)
{
    return f->n_segments - 1;
}

/* ---- bytes.c ---- */

void mpm_fast_copy(const mpm_fast *f, void *to, const void *from, size_t bytes);
/* To zeros. */
void mpm_fast_clear(const mpm_fast *f, void *at, size_t bytes);

/* ---- layout.c ---- */

/* Room for three orders of the particles, for as long as no segment is begun. */
uint32_t *mpm_fast_local_order(const mpm_fast *f);
/* Would all particles stay in the box and in the slabs of their blocks for one more substep? */
bool mpm_fast_room_left(const mpm_fast *f, const mpm_segment *s);
/* Points the blocks to their slabs for this segment. */
void mpm_fast_use_slabs(mpm_fast *f, const mpm_segment *s);
/* Brings fields from the order of one segment to that of another. `rest`: diagonal of F where nothing is. */
void mpm_fast_reorder(mpm_fast *f, const mpm_fields *to, uint32_t to_index, const mpm_fields *from,
                      uint32_t from_index, double rest);
/* Starts a segment at the present frame from `between` (x, v, moments) and `now` (F), in the order of the
 * particles that `order` tells in terms of the caller's. */
mpm_result mpm_fast_begin_segment(mpm_fast *f, const uint32_t *order);

/* ---- checkpoint.c ---- */

/* Bytes of the checkpoint of a segment that follows one with this box. */
size_t mpm_checkpoint_bytes(const mpm_fast *f, const mpm_box *before);
/* Keeps what the state at the start of a segment, the latest, is to be had from. */
mpm_result mpm_fast_keep_start(mpm_fast *f, uint32_t index);
/* Copies the state at the start of a segment to f->start if that is what was kept. Else returns false and
 * where x and f before the move and the grid's velocities are. */
bool mpm_fast_take_start(mpm_fast *f, uint32_t index, mpm_fields *moved, const void **velocity);

/* ---- memory.c (and mpm_fast_memory() of engine.h) ---- */

size_t mpm_segment_bytes(const mpm_segment *s);

/* ---- plan.c ---- */

mpm_segment *mpm_fast_add_segment(mpm_fast *f);
/* Substeps that a segment has, or may come to have. */
uint32_t mpm_fast_most_substeps(const mpm_fast *f, const mpm_segment *s);
/* Where the particles' history of a segment is, once it is there. */
mpm_history *mpm_fast_history(mpm_fast *f, mpm_segment *s);
/* Room for the particles' history of a segment, and for the grid's unless it keeps its own. */
mpm_result mpm_fast_reserve_history(mpm_fast *f, uint32_t index);
/* Decides what this segment, the latest, keeps from the first simulation on, such that all stays within
 * the budget. */
void mpm_fast_plan_segment(mpm_fast *f, mpm_segment *s);
/* The history that the forward pass keeps for its present segment: its own, or for the last that which is
 * shared. */
mpm_history *mpm_fast_forward_history(mpm_fast *f, uint32_t index);
/* The grid's history of a segment, as far as there is one. */
mpm_grid_history *mpm_fast_grid_history(mpm_fast *f, uint32_t index);

/* ---- substep.c ---- */

/* Processor seconds so far; 0 where nobody asks, because it takes a system call. */
double mpm_fast_begin_time(const mpm_fast *f);
void mpm_fast_end_time(const mpm_fast *f, int phase, double begin);
/* Substep `local` of a segment. What the adjoint needs is kept where h (particles) and g (grid) are not
 * NULL; the grid is taken from g if it is complete. */
mpm_result mpm_fast_step(mpm_fast *f, const mpm_segment *s, mpm_history *h, mpm_grid_history *g,
                         uint32_t local);
/* x, v and moments to `between`, from x before a move and the velocities of the grid of a segment. */
void mpm_fast_gather(mpm_fast *f, const mpm_segment *s, const void *x, const void *velocity);
/* Gathers the velocities that the particles have not got yet: x, v and moments to `between`. */
void mpm_fast_settle(mpm_fast *f, const mpm_segment *s, mpm_grid_history *g, uint32_t local);
/* Backwards, as far as the histories at hand go: the particles of the substep after, then the grid of this
 * one. Adds to the adjoints of the poses after and before. */
void mpm_fast_step_adjoint(mpm_fast *f, mpm_segment *s, uint32_t local, mpm_pose *now_bar,
                           mpm_pose *next_bar);
/* Particles of the first substep of a segment, once f->start is its state: leaves the adjoint of its start
 * state in `bar`. */
void mpm_fast_first_adjoint(mpm_fast *f);

/* The same for a substep within a segment, once its grid is done: in two parts, not with what is before it
 * in one. */
void mpm_fast_part_adjoint(mpm_fast *f);

/* ---- forward.c ---- */

/* What is kept of a segment will not grow any more. */
void mpm_fast_complete(mpm_fast *f, uint32_t index);

void mpm_fast_export(mpm_fast *f, const mpm_fields *from, const mpm_segment *s, double inv_dx, double offset,
                     mpm_particle *to);
/* What syrup does not use of F: diag(J, rest, rest). */
void mpm_fast_clear_unused(const mpm_phase *phase, double rest, mpm_particle *particles);

#endif
