/* SPDX-License-Identifier: Apache-2.0 */
/* episode_internal.h - what the parts of an episode share. */
#ifndef DS_ENGINES_FEM_EPISODE_INTERNAL_H
#define DS_ENGINES_FEM_EPISODE_INTERNAL_H

#include "engines/physics/fem/episode.h"
#include "engines/physics/fem/kernels/kernels.h"

struct fem_episode {
    const fem_model *model;
    const ds_host *host;
    const fem_kernels *kernels;
    fem_options options;
    fem_pack pack;
    ds_memory room;
    size_t bytes;

    const fem_driver *driver;
    void *self;
    int keep;
    int ended;    /* a step was bad */
    size_t frame; /* index of the next frame to be shown */

    uint64_t at;        /* the present state */
    uint64_t segment;   /* states are kept from checkpoints, this many steps apart */
    double *checkpoint; /* [segments][particles][8], where there are several */
    double *kept;       /* [segment + 1][particles][8]: the states of a segment */
    uint64_t here;      /* the first of them */
    double *force;      /* [particles][4]; of derivatives in the reverse */
    double *bar;        /* [particles][8] */
    double *mass_bar;   /* [particles] */
    double gravity_bar[4];
    int across;                 /* axis that the adjoint leaves out, see FEM_WANT_IN_PLANE; -1: none */
    fem_state shown, shown_bar; /* [particles][3] */
};

/* Numbers in a state. */
static inline size_t episode_width(const fem_episode *e)
{
    return FEM_WIDTH * e->pack.particles;
}

/* The activations that the driver sets, and their derivatives in a step. */
static inline fem_activation episode_activation(fem_pack *p)
{
    return (fem_activation){p->triangle.act, p->edge.act, p->tet.act};
}

/* Sets the activations of a step and the forces at a state. */
void episode_force(fem_episode *e, uint64_t step, const double *state);
/* One step; 0 where the next state has exploded. */
int episode_step(fem_episode *e, uint64_t step, const double *state, double *next);
int episode_stopped(const fem_episode *e, uint64_t step);
/* Is state k a frame? Frames are asked for in their order, forward. */
int episode_frame(fem_episode *e, uint64_t k);
void episode_show(fem_episode *e, const double *state);

#endif
