/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h - the background grid of one substep: mass and momentum in, velocity out, with gravity, tools, floor
 * and walls; and its adjoint. Only the box around the particles is cleared and visited. */
#ifndef MPM_GRID_H
#define MPM_GRID_H

#include "engines/physics/mpm/sim/scene.h"

#include <diffsim/helper/memory.h>
#include <stdbool.h>
#include <stddef.h>

/* Forces on the grid other than those of the particles. */
typedef struct mpm_forcing {
    double gravity[3]; /* acceleration, all factors included */
    double ground_friction;
    double softness; /* of the tools */
    double dt;
    uint32_t n_tools;
    const mpm_tool *tools;
    double dx; /* see mpm_domain for this and the following */
    int offset, wall_low[3], wall_high[3];
} mpm_forcing;

/* A floor with at least this friction coefficient holds what touches it. */
#define MPM_STICKY_FRICTION 10.0

/* Is node i along axis d part of a wall or of the floor? */
static inline bool mpm_in_wall(const mpm_forcing *forcing, int d, int i)
{
    return i <= forcing->wall_low[d] || i >= forcing->wall_high[d];
}

/* Tools (a bit for each), then floor and walls if wanted, act on the velocity u of node i, after gravity.
 * Returns whether anything did. */
enum { MPM_ALL_TOOLS = (1 << MPM_MAX_TOOLS) - 1 };
bool mpm_node_push(const mpm_forcing *forcing, const int i[3], uint32_t tools, bool with_walls,
                   const mpm_pose *now, const mpm_pose *next, double u[3]);
/* u: the velocity before. u_bar: adjoint of the velocity after on entry, of u on return. Adds to the adjoints
 * of the poses, mpm_pose_bars() of them. */
void mpm_node_push_adjoint(const mpm_forcing *forcing, const int i[3], uint32_t tools, bool with_walls,
                           const double u[3], const mpm_pose *now, const mpm_pose *next, double u_bar[3],
                           mpm_pose *now_bar, mpm_pose *next_bar);

typedef struct mpm_grid {
    int n;
    int lower[3], upper[3]; /* the active box, upper exclusive */
    double *node;           /* 4 per node: momentum x y z, mass */
    double *velocity;       /* 4 per node: velocity x y z, 0 */
    double *velocity_bar;   /* their adjoints, allocated by mpm_grid_init(with_adjoint) */
    double *node_bar;
    ds_memory memory;
} mpm_grid;

/* A node that carried mass in one substep, recorded for the backward pass. */
typedef struct mpm_node_record {
    uint32_t i, j, k;
    double node[4];
    double velocity[3];
} mpm_node_record;

typedef struct mpm_grid_record {
    int lower[3], upper[3];
    size_t count, capacity;
    mpm_node_record *nodes;
} mpm_grid_record;

bool mpm_grid_init(mpm_grid *grid, int n);
bool mpm_grid_init_adjoint(mpm_grid *grid);
void mpm_grid_free(mpm_grid *grid);
void mpm_grid_record_free(mpm_grid_record *record);

/* Sets the active box. */
void mpm_grid_set_box(mpm_grid *grid, const int lower[3], const int upper[3]);
/* Zeroes a 4-component field inside the box. */
void mpm_grid_clear(const mpm_grid *grid, double *field);

/* Velocities from momenta. `now` and `next` hold a pose per tool. Records the nodes in `record` if it is not
 * NULL; returns false if memory for that is short. */
bool mpm_grid_update(mpm_grid *grid, const mpm_forcing *forcing, const mpm_pose *now, const mpm_pose *next,
                     mpm_grid_record *record);

/* Sets the box and the velocities to those of a record. */
void mpm_grid_restore(mpm_grid *grid, const mpm_grid_record *record);

/* velocity_bar -> node_bar; adds to the adjoints of the poses. */
void mpm_grid_update_adjoint(mpm_grid *grid, const mpm_forcing *forcing, const mpm_grid_record *record,
                             const mpm_pose *now, const mpm_pose *next, mpm_pose *now_bar,
                             mpm_pose *next_bar);

#endif
