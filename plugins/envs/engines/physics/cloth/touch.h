/* SPDX-License-Identifier: Apache-2.0 */
/* touch.h - contact of vertices with a floor or with a moving pan, and the move that follows; forward and
 * reverse. A vertex in contact loses its velocity towards the surface (R. Antonova et al., CoRL 2022,
 * appendix A.2). */
#ifndef DS_ENGINES_CLOTH_TOUCH_H
#define DS_ENGINES_CLOTH_TOUCH_H

#include "engines/physics/smoothing/softness.h"
#include "mesh.h"

/* A floor at a height. A vertex touches it within a step if it approaches and its predicted
 * position is below. */
typedef struct touch_floor {
    double height; /* m */
    double mu;     /* Coulomb friction */
    int toi;       /* 1: the vertex keeps its velocity until the time of impact; 0: it loses it at once
                      (DiffTaichi, 3.2) */
} touch_floor;

/* A round pan that is open upward, flat up to the radius `flat`, then with a profile h = curve (r - flat)^2
 * up to `radius`.
 *
 * Contact changes the velocity by D at the depth d > 0. With a softened one (soft.kernel) it changes it by
 * s(d) D at any depth, s the slope of the ramp (softness.h): what a step does on average where the height of
 * the pan is noisy. A vertex above the pan is held up like one that touches it. With soft.at_distance the
 * step is as ever, and the adjoint takes it for such a one where a vertex is above the pan. */
typedef struct touch_pan {
    double flat, radius; /* m */
    double curve;        /* 1/m */
    double thickness; /* m; deeper than this below the surface a vertex is not in contact (it passes under the
                         pan) */
    double mu;
    softness soft; /* ramps over the depth, in m */
} touch_pan;

/* Where the pan is at the end of a step and how it moved in it: the axis point of the flat part, the turn
 * about z, and their rates. Also used for the derivatives by these six numbers. */
typedef struct touch_pose {
    double x, y, tilt, vx, vy, omega;
} touch_pose;

/* From positions x and velocities u before contact: positions and velocities after a step of h seconds. `set`
 * is a SPRING_* of spring.h; all give the same bits. */
void touch_floor_move(int set, const touch_floor *floor, double h, size_t stride, const double *x,
                      const double *u, double *x_new, double *v_new);

/* Reverse: x_bar and v_bar hold the derivatives by the new state and get those by x and u; mu_bar[vertex] +=
 * those by the friction coefficient. */
void touch_floor_adjoint(int set, const touch_floor *floor, double h, size_t stride, const double *x,
                         const double *u, double *x_bar, double *v_bar, double *mu_bar);

/* The same for a pan. *pose_bar += derivatives by the pose. */
void touch_pan_move(const touch_pan *pan, const touch_pose *pose, double h, const cloth_mesh *m,
                    const double *x, const double *u, double *x_new, double *v_new);
void touch_pan_adjoint(const touch_pan *pan, const touch_pose *pose, double h, const cloth_mesh *m,
                       const double *x, const double *u, double *x_bar, double *v_bar, touch_pose *pose_bar);

/* How far the point q is from the pan, 0 in it; in m. A point beside it is as far as from the height of
 * its rim. */
double touch_pan_gap(const touch_pan *pan, const touch_pose *pose, const double q[3]);

/* Adds to the derivatives by the point and by the pose those of `bar` times that. */
void touch_pan_gap_adjoint(const touch_pan *pan, const touch_pose *pose, const double q[3], double bar,
                           double q_bar[3], touch_pose *pose_bar);

#endif
