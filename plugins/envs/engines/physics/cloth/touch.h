/* SPDX-License-Identifier: Apache-2.0 */
/* touch.h - contact of vertices with a floor or a moving pan, and the move that follows; forward and reverse.
 * A vertex in contact loses its velocity towards the surface (R. Antonova et al., CoRL 2022, appendix A.2).
 */
#ifndef DS_ENGINES_CLOTH_TOUCH_H
#define DS_ENGINES_CLOTH_TOUCH_H

#include "engines/physics/smoothing/softness.h"
#include "mesh.h"
#include <stdint.h>

/* A floor. A vertex touches it within a step if it approaches and its predicted position is below. */
typedef struct touch_floor {
    double height; /* m */
    double mu;     /* Coulomb friction */
    /* 1: the vertex keeps its velocity until the time of impact; 0: it loses it at once (DiffTaichi, 3.2) */
    int toi;
} touch_floor;

/* A round pan, open upward: flat up to the radius `flat`, then with the profile h = curve (r - flat)^2 up to
 * `radius`.
 *
 * Contact changes the velocity by D at the depth d > 0. A softened contact (soft.kernel) changes it by s(d) D
 * at any depth, s the slope of the ramp (softness.h): the average effect of a step if the height of the pan
 * is noisy. A vertex above the pan is then held up like one that touches it. With soft.at_distance the step
 * is unchanged, and only the adjoint treats a vertex above the pan as softened. */
typedef struct touch_pan {
    double flat, radius; /* m */
    double curve;        /* 1/m */
    double thickness;    /* m; a vertex deeper than this is not in contact (it passes under the pan) */
    double mu;
    softness soft; /* ramps over the depth, in m */
} touch_pan;

/* The pan at the end of a step and its motion in the step: the axis point of the flat part, the tilt about z,
 * and their rates. Also used for derivatives by these six numbers. */
typedef struct touch_pose {
    double x, y, tilt, vx, vy, omega;
} touch_pose;

/* Derivatives by the profile of a pan. */
typedef struct touch_pan_bar {
    double flat, curve;
} touch_pan_bar;

/* Computes positions and velocities after a step of h seconds from positions x and velocities u before
 * contact. `set`: SPRING_* of spring.h; all give the same bits. */
void touch_floor_move(int set, const touch_floor *floor, double h, size_t stride, const double *x,
                      const double *u, double *x_new, double *v_new);

/* Reverse: x_bar and v_bar go from the new state to x and u; mu_bar[vertex] += derivative by the friction
 * coefficient. */
void touch_floor_adjoint(int set, const touch_floor *floor, double h, size_t stride, const double *x,
                         const double *u, double *x_bar, double *v_bar, double *mu_bar);

/* The same for a pan; adds the derivatives by the pose to *pose_bar and by the profile to *by (NULL: not
 * wanted). mu_bar[vertex] as for a floor. */
void touch_pan_move(const touch_pan *pan, const touch_pose *pose, double h, const cloth_mesh *m,
                    const double *x, const double *u, double *x_new, double *v_new);
void touch_pan_adjoint(const touch_pan *pan, const touch_pose *pose, double h, const cloth_mesh *m,
                       const double *x, const double *u, double *x_bar, double *v_bar, touch_pose *pose_bar,
                       touch_pan_bar *by, double *mu_bar);

/* Distance, m, of the point q from the pan; 0 inside. Next to the pan it is measured from the height of the
 * rim. */
double touch_pan_gap(const touch_pan *pan, const touch_pose *pose, const double q[3]);

/* Adds `bar` times its derivatives by the point, by the pose and by the profile (NULL: not wanted). */
void touch_pan_gap_adjoint(const touch_pan *pan, const touch_pose *pose, const double q[3], double bar,
                           double q_bar[3], touch_pose *pose_bar, touch_pan_bar *by);

/* ---- shape of the pan for drawing ---- */

enum {
    PAN_RINGS = 9,
    PAN_SECTORS = 40,
    PAN_POINTS = PAN_RINGS * PAN_SECTORS,
    PAN_CORNERS = 6 * (PAN_RINGS - 1) * PAN_SECTORS
};

/* Writes PAN_CORNERS point indices, three per triangle. */
void pan_shape_triangles(uint32_t *triangle);

/* Writes the PAN_POINTS points (x, y, z) of a pan at a pose: rings of the flat part, then of the rim. */
void pan_shape_points(const touch_pan *pan, const touch_pose *at, double *out);

#endif
