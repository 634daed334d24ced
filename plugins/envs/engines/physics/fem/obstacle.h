/* SPDX-License-Identifier: Apache-2.0 */
/* obstacle.h - contact of particles with fixed bodies: spheres, boxes, capsules, and any body with a signed
 * distance. Force, its reverse and its tangent.
 *
 * A particle at the signed distance phi, c = phi - offset < 0, with the unit normal n of the body and the
 * velocity u, is pushed by -(ke c + kd min(u.n, 0)) n and slowed by kf times its sliding velocity, at most mu
 * ke |c|: the law of the ground (ground.h, FEM_FRICTION_ISOTROPIC) along a curved normal. The derivatives
 * are exact where phi has second derivatives: everywhere but in the middle of a body and where the nearest
 * part of its surface changes between face, edge and corner. */
#ifndef DS_ENGINES_FEM_OBSTACLE_H
#define DS_ENGINES_FEM_OBSTACLE_H

#include <stddef.h>
#include <stdint.h>

enum { FEM_MOST_OBSTACLES = 16 };

typedef enum fem_obstacle_shape {
    FEM_SPHERE,  /* size: radius */
    FEM_BOX,     /* half sizes along x, y, z */
    FEM_CAPSULE, /* radius, half the distance of the centres of its ends, which lie along y */
    FEM_SURFACE  /* distance(); size: half sizes of a box about the origin of its frame that holds it */
} fem_obstacle_shape;

typedef struct fem_obstacle {
    fem_obstacle_shape shape;
    double size[3];                  /* m */
    double position[3], rotation[4]; /* of its own frame in the world: m, unit quaternion w x y z */
    int turns;                       /* not 0: the rotation is a variable, a quaternion of any length */
    double offset;                   /* m: contact begins at this distance */
    double ke, kd, kf, mu;           /* N/m, N s/m, N s/m, 1 */
    /* FEM_SURFACE, in the own frame: the signed distance at x, its gradient and second derivatives (row by
     * row). */
    double (*distance)(const void *body, const double x[3], double gradient[3], double hessian[9]);
    const void *body;
    double scale; /* FEM_SURFACE: of the body, its distances and what is drawn; `size` is that without it */
    /* FEM_SURFACE: what is drawn, points [points][3] in its own frame, three indices for each triangle */
    const double *point;
    const uint32_t *index;
    size_t points, indices;
    const char *name; /* in drawings; NULL: by its number */
} fem_obstacle;

/* Derivatives by the constants of an obstacle, or their change. */
typedef struct fem_obstacle_bar {
    double size[3], position[3], rotation[4], scale, offset;
    double ke, kd, kf, mu;
} fem_obstacle_bar;

/* The signed distance of a point of the world; n: its unit normal; turn: the derivative of n by the point;
 * slope: length of the gradient of the distance, 1 but for a FEM_SURFACE. */
double fem_obstacle_distance(const fem_obstacle *o, const double q[3], double n[3], double turn[9],
                             double *slope);

/* What fem_obstacle_distance() found at a point, and c, its distance minus the offset. */
typedef struct fem_obstacle_surface {
    double c, slope;
    const double *n, *turn;
} fem_obstacle_surface;

/* The reverse, from the derivatives c_bar and n_bar: sets those by the point, and adds to *by (may be NULL)
 * those by offset, sizes, scale, position and, where it turns, rotation. */
void fem_obstacle_surface_bar(const fem_obstacle *o, const double q[3], const fem_obstacle_surface *at,
                              double c_bar, const double n_bar[3], double point_bar[3], fem_obstacle_bar *by);

/* The rotation as a unit quaternion; returns the length of that of the obstacle. */
double fem_obstacle_rotation(const fem_obstacle *o, double unit[4]);

/* The place in the world of a point of its own frame. */
void fem_obstacle_point(const fem_obstacle *o, const double own[3], double world[3]);

/* Can a point be nearer than the offset? Quick; yes where in doubt. */
int fem_obstacle_is_near(const fem_obstacle *o, const double q[3]);

/* States are [particles][8] with positions from 0 and velocities from 4, forces [particles][4]
 * (kernels/kernels.h). Adds the forces of all obstacles; the reverse adds the derivatives by the state and by
 * the constants (by[count]) from those by the forces; the tangent adds the change of the forces along `dot`,
 * laid out as a state, and along the change of the constants. The size of a FEM_SURFACE does not change. */
void fem_obstacles_force(const fem_obstacle *o, size_t count, size_t particles, const double *state,
                         double *force);
void fem_obstacles_vjp(const fem_obstacle *o, size_t count, size_t particles, const double *state,
                       const double *force_bar, double *bar, fem_obstacle_bar *by);
void fem_obstacles_jvp(const fem_obstacle *o, size_t count, size_t particles, const double *state,
                       const double *dot, const fem_obstacle_bar *along, double *force_dot);

#endif
