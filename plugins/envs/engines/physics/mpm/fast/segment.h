/* SPDX-License-Identifier: Apache-2.0 */
/* A stretch of substeps in which the particles keep one order and one box of nodes: what the state it starts
 * from follows from (a checkpoint), and the history of its substeps that the adjoint needs. */
#ifndef MPM_FAST_SEGMENT_H
#define MPM_FAST_SEGMENT_H

#include "engines/physics/mpm/fast/kernels/kernels.h"
#include "strike.h"

/* shares of the grid step; fixed, so that results do not depend on the threads */
enum { MPM_PLANE_TASKS = 8 };

/* Bytes past the end of a grid field that rows of nodes, read in whole vectors, may reach. */
enum { MPM_ROOM = 64 };

/* Memory that is used again as long as it suffices. */
typedef struct mpm_buffer {
    void *at;
    size_t bytes;
} mpm_buffer;

/* 64-byte aligned room; what was in it is lost when it grows. */
bool mpm_buffer_reserve(mpm_buffer *b, size_t bytes);
void mpm_buffer_free(mpm_buffer *b);

/* What the adjoint of a segment needs of its particles. */
typedef struct mpm_history {
    mpm_buffer x; /* [substep][padded][4]: positions before the substep */
    mpm_buffer f; /* [substep][gradients]: deformation gradients before it */
    bool complete;
} mpm_history;

/* The velocities of the planes of one task, packed, substep after substep. */
typedef struct mpm_packed {
    mpm_buffer buffer;
    size_t used;   /* bytes */
    size_t *start; /* [substep]: where its planes begin */
} mpm_packed;

/* And of the grid. With it the particles' part can be simulated again without spreading to the grid. */
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
    /* Of the first: the fields. Of the others: x and f before the last move of the segment before, in its
     * order, and the velocities of the grid that moved them; a gather gives the fields, which are more. */
    mpm_buffer start;
    mpm_history history;   /* when keeps_history, and */
    mpm_grid_history grid; /* when keeps_grid: from the first simulation on; else there are shared ones */
    bool keeps_history, keeps_grid;
} mpm_segment;

/* Bytes of a set of fields, whose f has `gradients` numbers, and its pointers into `at`. */
size_t mpm_fields_bytes(const mpm_kernels *k, size_t padded, size_t gradients);
mpm_fields mpm_fields_in(const mpm_kernels *k, size_t padded, void *at);

bool mpm_history_reserve(mpm_history *h, const mpm_kernels *k, size_t padded, size_t gradients,
                         uint32_t substeps);
void mpm_history_free(mpm_history *h);
size_t mpm_history_bytes(const mpm_history *h);

/* What is packed takes room as it comes: see mpm_packed_reserve(). */
bool mpm_grid_history_reserve(mpm_grid_history *h, uint32_t substeps);
void mpm_grid_history_free(mpm_grid_history *h);
size_t mpm_grid_history_bytes(const mpm_grid_history *h);

/* Room for `bytes` more in substep `local` of `substeps`; foresees as much for those that
 * follow as came before. */
bool mpm_packed_reserve(mpm_packed *p, size_t bytes, uint32_t local, uint32_t substeps);
/* At most so many bytes are packed of a plane. */
size_t mpm_packed_plane(const mpm_kernels *k, const mpm_box *box);

/* Particles by cell, x slowest: base: 3 per particle, order[i] is the i-th one's index in it. Equal cells
 * keep their order. `keys` and `counts` are room. */
void mpm_sort_by_cell(const int16_t *base, uint32_t n, const int low[3], const int high[3], uint32_t *keys,
                      uint32_t *counts, uint32_t *order);

/* The box for base nodes from `low` to `high`; planes are whole vectors of `quads` nodes. */
mpm_box mpm_box_make(const int low[3], const int high[3], int quads);

#endif
