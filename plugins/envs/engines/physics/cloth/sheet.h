/* SPDX-License-Identifier: Apache-2.0 */
/* sheet.h - a rectangular cloth: its springs, the patches that share a stiffness, its size and triangles. */
#ifndef DS_ENGINES_CLOTH_SHEET_H
#define DS_ENGINES_CLOTH_SHEET_H

#include "cloth.h"

/* A sheet of cells x cells cells, vertex id = (cells + 1) i + j. Springs: structural (1,0), (0,1) with the
 * stiffness of their patch, shear (1,1), (1,-1) with half of it, bending (2,0), (0,2) with a tenth. */
typedef struct sheet {
    size_t cells;
    size_t patches[2];  /* along i and j; patch id = patches[1] pi + pj */
    uint32_t *patch;    /* per slot of the mesh: the patch of the spring's midpoint */
    double *factor;     /* per slot: stiffness at a patch stiffness of 1; 0 without spring */
    uint32_t *triangle; /* 6 cells^2 vertex numbers */
} sheet;

/* Builds the mesh of a sheet with arrays from `room`. Returns 0 without memory. */
int sheet_open(sheet *s, cloth_mesh *m, ds_memory *room, size_t cells, size_t rows, size_t columns,
               double damping);

/* Sets the rest lengths for a width (along i) and length (along j), m. */
void sheet_set_size(const sheet *s, cloth_mesh *m, double width, double length);
/* Its reverse; call after cloth_adjoint(). */
void sheet_size_bar(const sheet *s, const cloth *c, double width, double length, double bar[2]);

/* Sets the stiffness of the springs from that of the patches (N/m); the reverse comes after cloth_adjoint().
 */
void sheet_set_stiffness(const sheet *s, cloth_mesh *m, const double *patch);
void sheet_stiffness_bar(const sheet *s, const cloth *c, double *patch_bar);

/* Largest length / rest length of the springs; x as structure of arrays. */
double sheet_stretch(const sheet *s, const cloth_mesh *m, const double *x);

/* Mean of |x_v - goal_v| over the vertices of a list (NULL = the first `count`); x and goal as structures of
 * arrays. */
double sheet_distance(const cloth_mesh *m, const uint32_t *list, size_t count, const double *x,
                      const double *goal);
/* Adds `weight` times its derivatives to x_bar (0 for a vertex at its goal, see kit/norm.h). */
void sheet_distance_bar(const cloth_mesh *m, const uint32_t *list, size_t count, const double *x,
                        const double *goal, double weight, double *x_bar);

#endif
