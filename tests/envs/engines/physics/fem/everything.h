/* SPDX-License-Identifier: Apache-2.0 */
/* everything.h - an episode with all features of deformable bodies: a block, a cloth in the air, springs,
 * activations by a controller, ground. The loss is a smooth function of some states. */
#ifndef DS_TESTS_FEM_EVERYTHING_H
#define DS_TESTS_FEM_EVERYTHING_H

#include "engines/physics/control/control.h"
#include "engines/physics/fem/episode.h"

enum { EVERYTHING_FRAMES = 3, EVERYTHING_STEPS = 200, EVERYTHING_VARIABLES = 24 };

typedef struct everything {
    fem_model model;
    fem_episode *episode;
    fem_variation gradient;
    ds_memory room;
    fem_driver driver;
    uint64_t frames[EVERYTHING_FRAMES];
    control *net;
    double *weights, *bar, *weights_dot;
    double loss, loss_dot;
    int64_t bad;
} everything;

/* Opens it; the body touches the ground if `contact` is 1. Returns 0 on failure. */
int everything_open(everything *s, int contact, const char *isa, size_t memory_bytes);
void everything_close(everything *s);

/* Returns the loss; with `gradient` the derivatives are in s->gradient and s->bar. */
double everything_run(everything *s, int gradient);

/* Numbers of the episode and where their derivatives are. */
typedef struct everything_variable {
    const char *name;
    double *at, *by;
    size_t n;
} everything_variable;

/* Lists all of them and returns how many. Constants of the solids are shared by all tetrahedra. */
size_t everything_list(everything *s, everything_variable out[EVERYTHING_VARIABLES]);

#endif
