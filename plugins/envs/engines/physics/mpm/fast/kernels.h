/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - the compiled variants of the fast engine: passes over particles and grid nodes of one substep,
 * forward and adjoint, for one float type and one instruction set. Arrays hold floats of the variant's type,
 * hence void pointers. */
#ifndef MPM_FAST_KERNELS_H
#define MPM_FAST_KERNELS_H

#include "engines/physics/mpm/sim/material.h"
#include "engines/physics/mpm/sim/scene.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MPM_MAX_BLOCKS = MPM_PARTS };

/* The passes over the particles of a block. `first`: v and m come from (go to) pass->now / pass->bar instead
 * of the grid. */
enum {
    MPM_PASS_FORWARD = 0,
    MPM_PASS_FORWARD_FIRST = 1,
    MPM_PASS_GATHER = 2,
    MPM_PASS_ADJOINT = 3,
    MPM_PASS_ADJOINT_FIRST = 4,
    MPM_PASS_GATHER_ADJOINT = 5,
    /* forward with known velocities of the grid: spreads nothing to it */
    MPM_PASS_REPEAT = 6,
    MPM_PASS_REPEAT_FIRST = 7,
    MPM_PASSES = 8
};

/* The nodes that particles may reach before they are sorted again: node (i, j, k) of the domain is at (i -
 * lower[0]) stride_x + (j - lower[1]) stride_y + (k - lower[2]), in units of 4 floats. */
typedef struct mpm_box {
    int lower[3], size[3];
    int stride_x, stride_y;
    size_t nodes;
} mpm_box;

/* The contents of a packed row: nodes from..to - 1. */
typedef struct mpm_span {
    uint16_t from, to;
} mpm_span;

/* Particles of one matter after the other, each in the order of their cells and padded to whole chunks with
 * particles that rest and touch nothing. */
typedef struct mpm_fields {
    void *x; /* [padded][4]: position in node spacings */
    void *v; /* [padded][4]: velocity */
    /* [3][padded][4]: moments sum w v (o - fx)_k of the grid velocity; the APIC matrix is 4/dx
     * times these */
    void *m;
    /* deformation gradient, per matter [slots / lanes][width][lanes]; of syrup only its volume */
    void *f;
} mpm_fields;

/* Numbers of f per particle of a law (MPM_PLASTICINE, ...). */
static inline size_t mpm_width(uint32_t law)
{
    return law == MPM_SYRUP ? 1 : 9;
}

/* The place of the particles of one matter in the fields: `slots` from `first` on (with padding), of
 * `padded`; their numbers of f, `width` each, from number `first_f` on. */
typedef struct mpm_room {
    size_t first, slots, padded, first_f, width;
} mpm_room;

/* A range of particles that spreads to a private slab of grid planes. The ranges and the order in which the
 * slabs are summed do not depend on the number of threads, so neither do the results. */
typedef struct mpm_block {
    uint32_t first, count;     /* particles; first is a multiple of the chunk */
    size_t first_f;            /* start of their numbers of f */
    uint32_t group;            /* matter, see engine.c */
    int plane, planes;         /* of the box */
    void *slab;                /* [planes][stride_x][4], all 0 between uses */
    double lower[3], upper[3]; /* out: lowest and highest nodes of the particles after the pass */
} mpm_block;

/* One substep of the particles. The factors are those of sim.c, for positions in node spacings and moments
 * instead of the APIC matrix. */
typedef struct mpm_pass {
    mpm_box box;
    size_t padded;
    double low[3], high[3]; /* limits of positions, in node spacings */
    double drift;           /* displacement in node spacings per velocity: dt / dx */
    double stretch;         /* dt 4 / dx: displacement gradient per moment */
    double rate;            /* 1 / dt */
    /* these depend on the matter of the block */
    double mass;   /* of a particle */
    double stress; /* momentum slope per Kirchhoff stress */
    const mpm_material *law;
    const void *velocity;  /* of the grid after the previous substep: [nodes][4], component 3 is the mass */
    const void *node_bar;  /* adjoint of momentum and mass in this substep */
    mpm_fields now;        /* forward: in place, x and f; first pass after sorting: also reads v and m */
    const void *x_before;  /* adjoint: position before */
    void *keep_x, *keep_f; /* forward: NULL, or receives x after moving and f before the update */
    mpm_fields bar;        /* adjoints, in place: x and f; v and m at the ends of a segment */
    mpm_fields out;        /* gather only: receives x, v and m */
} mpm_pass;

/* One substep of the grid. */
typedef struct mpm_nodes {
    mpm_box box;
    double fall[3];                /* velocity that gravity adds in dt */
    int wall_low[3], wall_high[3]; /* see mpm_forcing */
    bool sticky_floor;
    int n_blocks;
    const mpm_block *blocks;
    void *velocity; /* [nodes][4] */
    void *node_bar;
} mpm_nodes;

typedef struct mpm_kernels {
    const char *isa;
    int lanes, chunk;
    size_t real;    /* bytes of a float */
    size_t scratch; /* bytes of work space per thread */
    /* Particles of one block. */
    void (*particles[MPM_PASSES])(const mpm_pass *pass, mpm_block *block, void *scratch);
    /* Nodes of one plane of the box. */
    void (*nodes_forward)(const mpm_nodes *nodes, int plane);
    void (*nodes_walls)(const mpm_nodes *nodes, int plane);
    /* largest component; infinite if any is not finite */
    double (*nodes_speed)(const mpm_nodes *nodes, int plane);
    void (*nodes_adjoint)(const mpm_nodes *nodes, int plane);
    /* Packs a plane of the grid's velocities without the empty nodes before and after the others in each row.
     * Both return the bytes of the packed plane, at most those of the plane and of mpm_span per row. */
    size_t (*pack)(const mpm_box *box, const void *field, int plane, void *to);
    size_t (*unpack)(const mpm_box *box, const void *from, int plane, void *field);
    /* Conversions of the n particles of one matter; order[i] is the index in the source of the i-th particle.
     */
    void (*import)(const mpm_fields *to, const mpm_room *room, uint32_t n, const uint32_t *order,
                   double inv_dx, double offset, const mpm_particle *from);
    void (*export)(const mpm_fields *from, const mpm_room *room, uint32_t n, const uint32_t *order,
                   double inv_dx, double offset, mpm_particle *to);
    void (*add_bar)(const mpm_fields *to, const mpm_room *room, uint32_t n, const uint32_t *order,
                    double inv_dx, const mpm_particle *from);
    /* Particles `first` to `end` in a new order; the last ones come with the padding. */
    void (*permute)(const mpm_fields *to, const mpm_fields *from, const mpm_room *room, uint32_t first,
                    uint32_t end, uint32_t n, const uint32_t *order, double rest);
    void (*bases)(const void *x, uint32_t n, int16_t *base); /* 3 per particle */
    void (*node)(const void *field, size_t index, double out[4]);
    void (*set_node)(void *field, size_t index, const double value[4]);
} mpm_kernels;

/* Chooses by float type and instruction set with isa_choose(). `isa`: baseline, avx2, avx512; portable_avx2
 * and portable_avx512 compute the bits of the baseline. NULL: the environment variable DS_ISA, or the best
 * set, portable if DS_PORTABLE is 1. Returns NULL for an unknown set. */
const mpm_kernels *mpm_kernels_find(int bits, const char *isa);

#endif
