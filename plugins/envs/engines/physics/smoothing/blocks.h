/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.h - two blocks on a line, one of which is pushed by a force and pushes the other: the system of
 * push and push_far. State x1, x2, v1, v2, one control u. With gap = x2 - x1 - 1 and F = k ramp(-gap):
 *
 *     v1' = keep v1 + h (u - F)/m,  v2' = keep v2 + h F/m,  x' = x + h v'
 */
#ifndef DS_ENGINES_BLOCKS_H
#define DS_ENGINES_BLOCKS_H

#include "open_loop.h"
#include "softness.h"

enum { BLOCKS_X1, BLOCKS_X2, BLOCKS_V1, BLOCKS_V2, BLOCKS_STATES };

/* Begins an instance. */
typedef struct blocks {
    open_loop loop; /* first */
    double mass, k, keep;
    softness soft;
} blocks;

extern const rollout_system blocks_system;
extern const char *const blocks_names[];

/* Parameters but those of softness. */
#define BLOCKS_PARAMS                                                                                        \
    DS_REAL("mass", "0.1", 1e-9, 1e9, "kg", "Mass of each block."),                                          \
        DS_LIST("k", "", 0, 1e12, 1, "N/m", "Stiffness of contact; empty = the usual one."),                 \
        DS_LIST("keep", "", 0, 1, 1, "", "What is left of each velocity in a step; empty = the usual part.")

/* Reads all parameters; k and keep are the usual ones before. */
void blocks_read(blocks *b, ds_param_reader *in, const open_loop_usual *usual);

/* Width of the gap in a state, negative where the blocks overlap. */
double blocks_gap(const double *x);

/* Scene and metrics x1, x2, gap, force of contact, u, cost. goal: where block 2 is to be. */
enum { BLOCKS_METRICS = 6 };
#define BLOCKS_METRICS_LIST                                                                                  \
    {"x1", "m"}, {"x2", "m"}, {"gap", "m"}, {"force", "N"}, {"u", "N"},                                      \
    {                                                                                                        \
        "cost", ""                                                                                           \
    }
void blocks_bodies(void *self, ds_scene_kit *s);
void blocks_place(const void *self, uint64_t k, uint64_t b, double *out);
void blocks_measure(void *self, uint64_t k, double *out);

#endif
