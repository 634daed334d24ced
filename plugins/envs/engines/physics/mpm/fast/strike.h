/* SPDX-License-Identifier: Apache-2.0 */
/* strike.h - grid nodes that tools, floor or walls act on: found plane by plane, pushed, and recorded for the
 * adjoint. */
#ifndef MPM_FAST_STRIKE_H
#define MPM_FAST_STRIKE_H

#include "engines/physics/mpm/sim/grid.h"
#include "engines/physics/mpm/fast/kernels.h"

/* A node that was acted on. */
typedef struct mpm_struck {
    double u[3];    /* velocity before */
    uint32_t node;  /* in the box */
    int16_t at[3];  /* in the domain */
    uint16_t tools; /* bits of the tools that may have acted */
} mpm_struck;

/* The struck nodes in the planes of one task, substep after substep. */
typedef struct mpm_struck_list {
    mpm_struck *nodes;
    size_t count, capacity;
    size_t *start; /* [substep]: start of its nodes; [substeps]: their end */
} mpm_struck_list;

typedef struct mpm_strike {
    const mpm_forcing *forcing;
    const mpm_box *box;
    const mpm_pose *now, *next;
    bool with_walls; /* floor and walls too */
} mpm_strike;

/* Nodes of some planes that tools reach, or may reach before the next search, and the positions of the tools
 * at the last search. */
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

/* Call in this order before planes [from, to) are struck: searches again if the tools have moved far or
 * near->valid is not set. marks: zeros, a byte per node of a plane, zeros again on return; marked: room for
 * as many numbers. Returns false without memory. */
bool mpm_near_update(mpm_near *near, const mpm_strike *s, int from, int to, uint8_t *marks, uint32_t *marked);
void mpm_near_free(mpm_near *near);

/* list: NULL, or receives the struck nodes. marks as above. Returns false without memory. */
bool mpm_strike_plane(const mpm_strike *s, const mpm_kernels *kernels, void *velocity, int plane,
                      mpm_near *near, uint8_t *marks, mpm_struck_list *list);

/* Corrects node_bar, as left by nodes_adjoint(), at the struck nodes, and adds to the adjoints of the poses.
 */
void mpm_strike_adjoint(const mpm_strike *s, const mpm_kernels *kernels, const void *velocity, void *node_bar,
                        const mpm_struck *nodes, size_t count, mpm_pose *now_bar, mpm_pose *next_bar);

#endif
