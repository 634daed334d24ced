/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - particles, and the elements between them: springs, membranes, bending edges, tetrahedra; ground.
 *
 * The model of gradSim (K. M. Jatavallabhula et al., ICLR 2021): particles with lumped masses, moved by the
 * forces of
 *   springs      ke (l - l0) + kd l' along the spring;
 *   triangles    neo-Hookean membrane in the plane with area damping; lift and drag of the air, which may
 *                move (wind);
 *   edges        ke (theta - theta0 - act) + kd theta' about the edge between two triangles;
 *   tets         stable neo-Hookean solid (B. Smith et al., ACM Trans. Graph. 37(2), 2018) with activation;
 *   ground       a horizontal plane, by penalty with friction;
 *   obstacles    fixed bodies, likewise (obstacle.h);
 *   contact      of the bodies with each other (contact.h).
 * To build a model, call fem_model_open(), any number of fem_add_*(), fem_model_finish(). The first mistake
 * is kept in `problem`; later calls do nothing, and fem_model_finish() returns it. Afterwards all arrays
 * except topology may change between episodes. SI units; vectors over particles are
 * [particles][3]. */
#ifndef DS_ENGINES_FEM_MODEL_H
#define DS_ENGINES_FEM_MODEL_H

#include "engines/physics/fem/contact.h"
#include "engines/physics/fem/mesh.h"
#include "engines/physics/fem/obstacle.h"

#include <diffsim/helper/memory.h>
#include <diffsim/host.h>

enum {
    FEM_FRICTION_BOX = 0,       /* x and z separately, each within mu ke |c|; the default */
    FEM_FRICTION_ISOTROPIC = 1, /* along the sliding, within mu ke |c| */
    FEM_FRICTION_COULOMB = 2,   /* along the sliding, within mu times the normal force with its damping */
};

/* A particle below y = height + offset, by c < 0, is pushed by -(ke c + kd min(u_y, 0)) and slowed by kf
 * times its sliding velocity, bounded as `friction` says. */
typedef struct fem_ground {
    int on;
    int friction;          /* FEM_FRICTION_* */
    double offset;         /* m; 0.01 by default */
    double ke, kd, kf, mu; /* N/m, N s/m, N s/m, 1 */
    double height;         /* m, of the plane; 0 by default */
} fem_ground;

/* mu, lambda in N/m, kd in N s/m, drag and lift as in 1/2 drag |N.v| v, v against the wind. */
typedef struct fem_membrane {
    double mu, lambda, kd, drag, lift;
} fem_membrane;

typedef struct fem_bending {
    double ke, kd; /* N/rad, N s/rad: torque per length */
} fem_bending;

/* Constants of one tetrahedron: Pa, Pa, Pa s. */
typedef struct fem_solid {
    double mu, lambda, kd;
} fem_solid;

enum { FEM_MOST_SHEETS = 8 };

typedef struct fem_model {
    size_t particles;
    double *q, *u;  /* m, m/s: the start of an episode */
    double *mass;   /* kg */
    uint8_t *fixed; /* not 0: keeps its velocity under any force */
    double gravity[3];
    double wind[3]; /* m/s, of the air */

    size_t springs;
    uint32_t *spring; /* [springs][2] */
    double *spring_ke, *spring_kd, *spring_rest;

    size_t triangles;
    uint32_t *triangle;       /* [triangles][3] */
    double *triangle_inverse; /* [triangles][4]: rows of the inverse of the rest edges in the plane */
    double *triangle_area;    /* m^2, at rest */
    double *triangle_factor;  /* of its elastic forces; 1 by default */
    double *triangle_act;     /* activation: positive shrinks; 0 by default */
    uint8_t *triangle_sheet;  /* the membrane of each triangle; 0 by default */
    size_t sheets;            /* membranes, each with its bending; 1 by default */
    fem_membrane membrane[FEM_MOST_SHEETS];

    size_t edges;
    uint32_t *edge;      /* [edges][4], see fem_mesh_edges() */
    double *edge_rest;   /* rad, the angle at rest */
    double *edge_length; /* m, at rest */
    double *edge_factor; /* of its forces; 1 by default */
    double *edge_act;    /* rad, added to the angle at rest */
    uint8_t *edge_sheet; /* the bending of each edge; 0 by default */
    fem_bending bending[FEM_MOST_SHEETS];

    size_t tets;
    uint32_t *tet;       /* [tets][4] */
    double *tet_inverse; /* [tets][9]: rows of the inverse of the rest edges */
    double *tet_volume;  /* m^3 */
    double *tet_act;
    fem_solid *solid; /* [tets] */

    /* [particles][3], m: positions at rest in any frame of each body, if they change between episodes
     * (rest.h); owned by the caller. NULL: they do not. */
    double *rest;

    fem_ground ground;

    size_t obstacles;
    fem_obstacle obstacle[FEM_MOST_OBSTACLES];

    fem_contact contact; /* between bodies */

    ds_status status;  /* DS_OK, or the first failure */
    char problem[200]; /* its message: what, which element, which value */
    size_t room[5];    /* private: of particles, springs, triangles, edges, tets */
} fem_model;

/* Placement of a mesh in the world: p -> position + rotation p, with one velocity for all points. */
typedef struct fem_placing {
    double position[3], velocity[3];
    double axis[3], angle; /* rad; a zero axis means no rotation; the length of the axis does not matter */
} fem_placing;

/* Opens an empty model with gravity (0, -9.8, 0), no ground, offset 0.01. */
void fem_model_open(fem_model *m);
void fem_model_close(fem_model *m);

/* Returns the index of the new particle; UINT32_MAX after a failure. */
uint32_t fem_add_particle(fem_model *m, const double q[3], const double u[3], double mass);
/* Rest length: `rest` if >= 0, otherwise the present distance. */
void fem_add_spring(fem_model *m, uint32_t i, uint32_t j, double ke, double kd, double rest);
void fem_add_triangle(fem_model *m, uint32_t i, uint32_t j, uint32_t k);
/* Exchanges vertices of an element with negative volume; refuses one without volume. */
void fem_add_tet(fem_model *m, const uint32_t tet[4], fem_solid law);

/* Adds the points and triangles of a mesh, and with `bend` the edges between them. Each particle gets `mass`
 * kg and a third of density (kg/m^2) times area of its triangles. Returns the index of the first particle. */
uint32_t fem_add_cloth(fem_model *m, const fem_mesh *mesh, const fem_placing *where, double mass,
                       double density, int bend);
/* Adds the points and tetrahedra; each vertex gets a fourth of density (kg/m^3) times volume. */
uint32_t fem_add_soft(fem_model *m, const fem_mesh *mesh, const fem_placing *where, double density,
                      fem_solid law);

/* Adds a fixed body that particles touch. */
void fem_add_obstacle(fem_model *m, const fem_obstacle *o);

/* Checks the whole model. Returns DS_OK, or the status of the first failure with m->problem. */
ds_status fem_model_finish(fem_model *m);

/* Mean of positions or velocities, weighted by mass: x is [particles][3]. */
void fem_centre(const fem_model *m, const double *x, double centre[3]);

#endif
