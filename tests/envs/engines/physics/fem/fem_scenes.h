/* SPDX-License-Identifier: Apache-2.0 */
/* fem_scenes.h - whole episodes of gradSim's scenes, for tests and timings: the gear and the walker with
 * their controllers, the beam, the ball. The loss is the squared final distance of the centre from a target.
 */
#ifndef DS_TESTS_FEM_SCENES_H
#define DS_TESTS_FEM_SCENES_H

#include "engines/physics/control/control.h"
#include "engines/physics/fem/episode.h"
#include "engines/physics/fem/kernels/kernels.h"

/* fem_plain.c: the scalar oracle of the kernels, which adds in another order. */
extern const fem_kernels fem_kernels_plain;

typedef struct fem_scene {
    fem_model model;
    fem_episode *episode;
    control *net;          /* NULL: no actuation */
    double *weights, *bar; /* of the controller */
    fem_variation gradient;
    ds_memory room;
    uint64_t frames[16];
    fem_driver driver;
    double target[3];
    double loss;
    double centre[16][3]; /* of the frames */
    double *last;         /* [particles][3]: positions in the last frame */
    size_t seen;          /* frames */
    double total_mass;
    int64_t bad;
} fem_scene;

/* Opens a scene with `steps` steps (the full episode: 5760, 9600, 3840, 3840); returns 0 if the instruction
 * set does not run here. Weights are random, of the size that the scenes start with. */
int fem_scene_gear(fem_scene *s, uint64_t steps, const char *isa);
int fem_scene_walker(fem_scene *s, uint64_t steps, const char *isa);
int fem_scene_beam(fem_scene *s, uint64_t steps, const char *isa, double mu, double lambda);
int fem_scene_ball(fem_scene *s, uint64_t steps, const char *isa);
/* Opens any other model: it must be finished, s->net set or not. */
int fem_scene_open(fem_scene *s, const fem_options *o);
void fem_scene_close(fem_scene *s);

/* Runs it; sets s->loss and s->bad, with `gradient` also s->gradient and s->bar. */
void fem_scene_run(fem_scene *s, int gradient);

/* ---- an episode with every feature: a block, a cloth in the air, springs, a controller, ground ---- */

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
