/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - a model in the layout that the kernels read.
 *
 * A state is [particles][8]: x y z 0, vx vy vz 0. Forces and their derivatives are [particles][4]. Elements
 * of a kind are stored in chunks of FEM_CHUNK, the constants of a chunk one after the other; the last chunk
 * is filled with elements of size 0 at particle 0. Each corner of each element writes its share to its own
 * slot, [slots][8], and each particle sums its slots in ascending order, so no result depends on how many
 * elements are processed at a time. */
#ifndef DS_ENGINES_FEM_PACK_H
#define DS_ENGINES_FEM_PACK_H

#include "engines/physics/fem/model.h"

#include <diffsim/helper/memory.h>

enum { FEM_CHUNK = 8, FEM_WIDTH = 8 };

/* The constants of an element, in the order of storage in a chunk. */
enum { FEM_SPRING_KE, FEM_SPRING_KD, FEM_SPRING_REST, FEM_SPRING_FIELDS };
enum {
    FEM_TRIANGLE_INVERSE,
    FEM_TRIANGLE_AREA = 4,
    FEM_TRIANGLE_MEMBRANE, /* the five of fem_membrane; read where there are several membranes */
    FEM_TRIANGLE_FIELDS = FEM_TRIANGLE_MEMBRANE + 5
};
enum { FEM_EDGE_REST, FEM_EDGE_LENGTH, FEM_EDGE_BENDING, FEM_EDGE_FIELDS = FEM_EDGE_BENDING + 2 };
enum { FEM_TET_INVERSE, FEM_TET_VOLUME = 9, FEM_TET_MU, FEM_TET_LAMBDA, FEM_TET_KD, FEM_TET_FIELDS };

/* Elements of one kind. */
typedef struct fem_set {
    size_t count, chunks;
    size_t first;     /* slot of corner c of a lane of chunk k: first + (k corners + c) 8 + lane */
    uint32_t *vertex; /* [chunks][corners][FEM_CHUNK] */
    double *constant; /* [chunks][fields][FEM_CHUNK] */
    double *act;      /* [chunks FEM_CHUNK], by element; NULL for springs */
    /* Derivatives. */
    double *bar;     /* [chunks][bars][FEM_CHUNK]: derivatives by the constants, summed over the steps */
    double *act_bar; /* [chunks FEM_CHUNK]: by the activations, this step */
} fem_set;

/* Contents of `bar` per kind. With one membrane the constants of triangles and edges belong to the model, and
 * one chunk of sums serves all; with several each element has its own sums. */
enum { FEM_SPRING_BARS = 3 };   /* ke, kd, rest */
enum { FEM_TRIANGLE_BARS = 8 }; /* mu, lambda, kd, drag, lift, wind */
enum { FEM_EDGE_BARS = 2 };     /* ke, kd */
enum { FEM_TET_BARS = 3 };      /* mu, lambda, kd */

typedef struct fem_ground_bar {
    double ke, kd, kf, mu, offset;
} fem_ground_bar;

typedef struct fem_pack {
    size_t particles;
    double *inverse_mass; /* [particles], 0 for fixed ones */
    double gravity[4];
    fem_ground ground;
    double wind[3];
    int mixed; /* several membranes: constants and their sums are those of each element */
    int air;   /* some membrane has drag or lift */
    fem_membrane membrane;
    fem_bending bending;
    fem_set spring, triangle, edge, tet;
    size_t slots;
    double *share; /* [slots][8] */
    uint32_t
        *begin; /* [particles + 1]: the slots of a particle are list[begin[i]] .. list[begin[i + 1]] - 1 */
    uint32_t *list;
    int want_material;
    /* Derivatives, summed over the steps. */
    fem_ground_bar ground_bar;
} fem_pack;

/* Takes topology and rest data of the model, and memory from `room`; check room->failed. */
void fem_pack_open(fem_pack *p, ds_memory *room, const fem_model *m);
/* Loads the numbers that may change between episodes: masses, constants, activations, ground, gravity. */
void fem_pack_load(fem_pack *p, const fem_model *m);
/* Clears derivatives, bar and act_bar. */
void fem_pack_clear(fem_pack *p);

/* Copies between [particles][3] and the q or u (component 0 or 4) of a state. */
void fem_pack_to_state(size_t particles, const double *from, double *state, size_t component);
void fem_pack_from_state(size_t particles, const double *state, size_t component, double *to);

#endif
