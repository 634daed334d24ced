/* SPDX-License-Identifier: Apache-2.0 */
/* engine_internal.h - inside of the fast engine: engine.c (set-up, the episode forward and backward),
 * segment.c (memory, order of the particles, room on the grid, checkpoints, what is stored), substep.c (one
 * substep).
 *
 * In a substep, the particles of each block gather the velocities of the previous substep, deform, and spread
 * momentum to the block's slab; then the planes of the grid sum the slabs and become velocities. The episode
 * is cut into segments between two sorts. Forward, the engine stores a checkpoint at the start of each
 * segment and, within a memory budget, the grid of all its substeps, and then the particles of these too (of
 * the last segment always everything). Backward, the particles of a segment without such a history are
 * simulated again, on the stored grid if there is one, and then differentiated. */
#ifndef MPM_FAST_ENGINE_INTERNAL_H
#define MPM_FAST_ENGINE_INTERNAL_H

#include "engines/kit/team.h"
#include "engines/physics/mpm/fast/engine.h"
#include "engines/physics/mpm/fast/kernels.h"
#include "engines/physics/mpm/fast/strike.h"

/* ---- segments ---- */

/* tasks of the grid step; fixed, so that results do not depend on the threads */
enum { MPM_PLANE_TASKS = 8 };

/* Bytes past the end of a grid field that reads of rows in whole vectors may reach. */
enum { MPM_ROOM = 64 };

/* Memory that is reused while it suffices. */
typedef struct mpm_buffer {
    void *at;
    size_t bytes;
} mpm_buffer;

/* 64-byte aligned; the contents are lost when it grows. */
bool mpm_buffer_reserve(mpm_buffer *b, size_t bytes);
void mpm_buffer_free(mpm_buffer *b);

/* Particle data for the adjoint of a segment. */
typedef struct mpm_history {
    mpm_buffer x; /* [substep][padded][4]: positions before the substep */
    mpm_buffer f; /* [substep][gradients]: deformation gradients before it */
    bool complete;
} mpm_history;

/* The packed velocities of the planes of one task, substep after substep. */
typedef struct mpm_packed {
    mpm_buffer buffer;
    size_t used;   /* bytes */
    size_t *start; /* [substep]: start of its planes */
} mpm_packed;

/* Grid data for the adjoint. With it the particles can be simulated again without spreading to the grid. */
typedef struct mpm_grid_history {
    mpm_packed velocity[MPM_PLANE_TASKS];
    mpm_buffer starts;
    mpm_struck_list struck[MPM_PLANE_TASKS];
    bool complete;
} mpm_grid_history;

typedef struct mpm_segment {
    uint32_t first, count; /* substeps */
    mpm_box box;
    int low[3], high[3]; /* base nodes that particles may have */
    /* the same along x for the slab of each block */
    int block_high[MPM_MAX_BLOCKS], block_low[MPM_MAX_BLOCKS];
    mpm_buffer order; /* uint32: index of the i-th particle in the caller's order */
    /* Of the first segment: the fields. Of the others: x and f before the last move of the previous segment,
     * in its order, and the velocities of the grid that moved them; a gather gives the fields, which are
     * larger. */
    mpm_buffer start;
    mpm_history history;   /* used if keeps_history */
    mpm_grid_history grid; /* used if keeps_grid, from the first simulation on; else the shared ones are */
    bool keeps_history, keeps_grid;
} mpm_segment;

/* Bytes of a set of fields whose f has `gradients` numbers, and its pointers into `at`. */
size_t mpm_fields_bytes(const mpm_kernels *k, size_t padded, size_t gradients);
mpm_fields mpm_fields_in(const mpm_kernels *k, size_t padded, void *at);

void mpm_history_free(mpm_history *h);

/* Packed data gets its room from mpm_packed_reserve(). */
void mpm_grid_history_free(mpm_grid_history *h);

/* Makes room for `bytes` more in substep `local` of `substeps`, expecting later substeps to need as much as
 * earlier ones. */
bool mpm_packed_reserve(mpm_packed *p, size_t bytes, uint32_t local, uint32_t substeps);
/* Upper bound of the packed bytes of a plane. */
size_t mpm_packed_plane(const mpm_kernels *k, const mpm_box *box);

/* ---- engine ---- */

enum { MPM_NONE = UINT32_MAX };

/* The particles of one matter. They stay together in the order; `room` is their place in the fields. */
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
    size_t budget;       /* bytes: beyond what it must store, the engine stores for the adjoint what fits */
    size_t later_budget; /* the same after MPM_EARLY_EPISODES */
    bool own_budget;     /* the caller gave none */
    uint32_t adjoints;   /* episodes with an adjoint so far */
    double *times;
    size_t padded, gradients; /* particles of the fields, and numbers of f */
    int n_groups, n_blocks;
    mpm_group groups[MPM_MAX_BODIES];
    int lowest[3], highest[3]; /* base nodes that particles may have, limited by the domain */
    mpm_block blocks[MPM_MAX_BLOCKS];
    mpm_buffer slabs, scratch;
    mpm_near near[MPM_PLANE_TASKS]; /* for the box of the current slabs */
    /* fields: present particles; their adjoints; scratch between two orders */
    mpm_buffer work, bars, loose;
    mpm_fields now, bar, between;
    mpm_buffer state; /* fields at the start of a segment, for `state_owner` */
    mpm_fields start;
    uint32_t state_owner;
    mpm_buffer velocity, node_bar; /* grid of one substep */
    mpm_buffer other_velocity;     /* of the next substep, unpacked ahead of its use */
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
    mpm_grid_history shared_grid; /* likewise, for segments without a grid history of their own */
    uint32_t shared_owner;
    uint32_t held_segment, held; /* segment and substep of `velocity`; held_segment MPM_NONE: none */
    size_t packed;               /* bytes of the grid of a recently stored substep; 0: unknown */
    double speed;                /* largest velocity component on the grid */
    uint32_t bar_segment;        /* the adjoints are in the order of this segment */
    /* adjoint: local substep whose particle pass is still to do; MPM_NONE at a border */
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

/* ---- segment.c: bytes ---- */

void mpm_fast_copy(const mpm_fast *f, void *to, const void *from, size_t bytes);

/* ---- segment.c: layout ---- */

/* Room for three orders of the particles, while no segment is begun. */
uint32_t *mpm_fast_local_order(const mpm_fast *f);
/* Would all particles stay in the box and in the slabs of their blocks for one more substep? */
bool mpm_fast_room_left(const mpm_fast *f, const mpm_segment *s);
/* Assigns slabs to the blocks for this segment. */
void mpm_fast_use_slabs(mpm_fast *f, const mpm_segment *s);
/* Copies fields from the order of one segment to another order. `rest`: diagonal of F for padding. */
void mpm_fast_reorder(mpm_fast *f, const mpm_fields *to, uint32_t to_index, const mpm_fields *from,
                      uint32_t from_index, double rest);
/* Starts a segment at the present frame from `between` (x, v, moments) and `now` (F), in the order of the
 * particles that `order` gives by the caller's indices. */
mpm_result mpm_fast_begin_segment(mpm_fast *f, const uint32_t *order);

/* ---- segment.c: checkpoints ---- */

/* Copies the state at the start of a segment to f->start if that was stored. Else returns false, with x and f
 * before the move and the grid's velocities. */
bool mpm_fast_take_start(mpm_fast *f, uint32_t index, mpm_fields *moved, const void **velocity);

/* ---- segment.c: what is stored ---- */

/* Substeps that a segment has, or may get. */
uint32_t mpm_fast_most_substeps(const mpm_fast *f, const mpm_segment *s);
/* The place of a segment's particle history, once it exists. */
mpm_history *mpm_fast_history(mpm_fast *f, mpm_segment *s);
/* Makes room for the particle history of a segment, and for the grid's unless it has its own. */
mpm_result mpm_fast_reserve_history(mpm_fast *f, uint32_t index);
/* The history that the forward pass stores for its present segment: its own, or for the last one the shared
 * history. */
mpm_history *mpm_fast_forward_history(mpm_fast *f, uint32_t index);
/* The grid history of a segment, if there is one. */
mpm_grid_history *mpm_fast_grid_history(mpm_fast *f, uint32_t index);

/* ---- substep.c ---- */

/* Processor seconds so far; 0 if times are not requested, because it takes a system call. */
double mpm_fast_begin_time(const mpm_fast *f);
void mpm_fast_end_time(const mpm_fast *f, int phase, double begin);
/* Simulates substep `local` of a segment. Stores data for the adjoint in h (particles) and g (grid) if they
 * are not NULL; takes the grid from g if it is complete. */
mpm_result mpm_fast_step(mpm_fast *f, const mpm_segment *s, mpm_history *h, mpm_grid_history *g,
                         uint32_t local);
/* Writes x, v and moments to `between`, from x before a move and the velocities of the grid of a segment. */
void mpm_fast_gather(mpm_fast *f, const mpm_segment *s, const void *x, const void *velocity);
/* Gathers the velocities that the particles do not have yet: x, v and moments to `between`. */
void mpm_fast_settle(mpm_fast *f, const mpm_segment *s, mpm_grid_history *g, uint32_t local);
/* Backwards within the available histories: the particles of the next substep, then the grid of this one.
 * Adds to the adjoints of the poses after and before. */
void mpm_fast_step_adjoint(mpm_fast *f, mpm_segment *s, uint32_t local, mpm_pose *now_bar,
                           mpm_pose *next_bar);
/* Particles of the first substep of a segment, once f->start is its state: leaves the adjoint of its start
 * state in `bar`. */
void mpm_fast_first_adjoint(mpm_fast *f);

/* The same for a substep within a segment, once its grid is done; separate from the substep before. */
void mpm_fast_part_adjoint(mpm_fast *f);

/* ---- engine.c ---- */

#endif
