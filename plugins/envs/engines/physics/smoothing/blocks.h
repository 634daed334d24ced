/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.h - two blocks on a line: a force u pushes the first, which pushes the second. The system of push
 * and push_far. State x1, x2, v1, v2. With gap = x2 - x1 - 1 and F = k ramp(-gap):
 *
 *     v1' = keep v1 + h (u - F)/m,  v2' = keep v2 + h F/m,  x' = x + h v' */
#ifndef DS_ENGINES_BLOCKS_H
#define DS_ENGINES_BLOCKS_H

#include "rollout.h"
#include "softness.h"

enum { BLOCKS_X1, BLOCKS_X2, BLOCKS_V1, BLOCKS_V2, BLOCKS_STATES };

/* First member of an instance. */
typedef struct blocks {
    open_loop loop; /* must be first */
    double mass, k, keep;
    softness soft;
} blocks;

extern const rollout_system blocks_system;
extern const char *const blocks_names[];

/* Parameters other than those of softness. */
#define BLOCKS_PARAMS                                                                                        \
    DS_REAL("mass", "0.1", 1e-9, 1e9, "kg", "Mass of each block."),                                          \
        DS_LIST("k", "", 0, 1e12, 1, "N/m",                                                                  \
                "Stiffness of contact; empty = the default of the environment."),                            \
        DS_LIST("keep", "", 0, 1, 1, "",                                                                     \
                "Share of each velocity that remains after a step; empty = the default of the environment.")

/* Reads all parameters; b->k and b->keep must hold the default values. */
void blocks_read(blocks *b, ds_param_reader *in, const open_loop_usual *usual);

/* Width of the gap in a state; negative if the blocks overlap. */
double blocks_gap(const double *x);

/* Metrics x1, x2, gap, contact force, u, cost, and the scene; its body "goal" shows where block 2 should end.
 */
extern const ds_scene_kit_label blocks_metrics[];
void blocks_bodies(void *self, ds_scene_kit *s);
void blocks_place(const void *self, uint64_t k, uint64_t b, double *out);
void blocks_measure(void *self, uint64_t k, double *out);

#define BLOCKS_TABLE                                                                                         \
    .cure = "reduce parameter h or k", .metrics = blocks_metrics, .bodies = blocks_bodies,                   \
    .place = blocks_place, .measure = blocks_measure, OPEN_LOOP_ROWS, OPEN_LOOP_TABLE

#endif
