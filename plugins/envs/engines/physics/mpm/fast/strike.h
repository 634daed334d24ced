/* SPDX-License-Identifier: Apache-2.0 */
/* Grid nodes that tools, floor or walls act on: found plane by plane, pushed, and remembered
 * for the adjoint. */
#ifndef MPM_FAST_STRIKE_H
#define MPM_FAST_STRIKE_H

#include "engines/physics/mpm/sim/grid.h"
#include "engines/physics/mpm/fast/kernels/kernels.h"

/* A node that something acted on. */
typedef struct mpm_struck {
    double u[3];    /* its velocity before */
    uint32_t node;  /* in the box */
    int16_t at[3];  /* in the domain */
    uint16_t tools; /* bits of the tools that may have acted */
} mpm_struck;

/* Those of the planes of one task, substep after substep. */
typedef struct mpm_struck_list {
    mpm_struck *nodes;
    size_t count, capacity;
    size_t *start; /* [substep]: where its nodes begin; [substeps]: their end */
} mpm_struck_list;

typedef struct mpm_strike {
    const mpm_forcing *forcing;
    const mpm_box *box;
    const mpm_pose *now, *next;
    bool with_walls; /* floor and walls too */
} mpm_strike;

/* Nodes of some planes that tools reach, or may before the next search; and where the tools were at the
 * last one. */
typedef struct mpm_near_node {
    uint16_t plane, j, k;
    uint8_t tools; /* bits */
} mpm_near_node;

typedef struct mpm_near {
    bool valid;
    mpm_pose poses[MPM_MAX_TOOLS];
    mpm_near_node *nodes; /* by plane */
    size_t count, capacity, next;
} mpm_near;

/* Before the planes [from, to) are struck, in this order: searches again if the tools have moved far or
 * near->valid is not set. marks: zeros, a byte per node of a plane, and again on return; marked: room for
 * as many numbers. False when there is no memory. */
bool mpm_near_update(mpm_near *near, const mpm_strike *s, int from, int to, uint8_t *marks, uint32_t *marked);
void mpm_near_free(mpm_near *near);

/* list: NULL, or where to remember. marks as above. False when there is no memory. */
bool mpm_strike_plane(const mpm_strike *s, const mpm_kernels *kernels, void *velocity, int plane,
                      mpm_near *near, uint8_t *marks, mpm_struck_list *list);

/* Corrects node_bar, as left by nodes_adjoint(), at the nodes that were struck, and adds to the adjoints
 * of the poses. */
void mpm_strike_adjoint(const mpm_strike *s, const mpm_kernels *kernels, const void *velocity, void *node_bar,
                        const mpm_struck *nodes, size_t count, mpm_pose *now_bar, mpm_pose *next_bar);

#endif
