/* SPDX-License-Identifier: Apache-2.0 */
/* variation.h - one number for each number of a model: derivatives of a loss, or a direction. */
#ifndef DS_ENGINES_FEM_VARIATION_H
#define DS_ENGINES_FEM_VARIATION_H

#include "engines/physics/fem/model.h"

/* One number for everything that an episode depends on: derivatives of the loss, or a direction. */
typedef struct fem_variation {
    double *q, *u; /* [particles][3], by the start */
    double *mass;  /* [particles]; 0 for fixed ones */
    double *spring_ke, *spring_kd, *spring_rest;
    double *triangle_act, *edge_act, *tet_act; /* by the activations of the model: sums over the steps */
    double *edge_rest;
    fem_solid *solid; /* [tets] */
    fem_membrane membrane[FEM_MOST_SHEETS];
    fem_bending bending[FEM_MOST_SHEETS];
    double ke, kd, kf, mu, offset; /* of the ground */
    double gravity[3], wind[3];
    fem_obstacle_bar obstacle[FEM_MOST_OBSTACLES];
    fem_contact_law contact;
    double *rest;                          /* [particles][3], by the positions at rest; with FEM_WANT_REST, */
    double *triangle_factor, *edge_factor; /* likewise */
} fem_variation;

/* Opens with zeros in the shape of the model; arrays from `room`, check room->failed. */
void fem_variation_open(fem_variation *v, ds_memory *room, const fem_model *m);
void fem_variation_clear(fem_variation *v, const fem_model *m);

#endif
