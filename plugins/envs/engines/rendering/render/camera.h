/* SPDX-License-Identifier: Apache-2.0 */
/* camera.h - a pinhole camera: where it is, how points are projected, and the derivatives by points and by
 * the camera itself.
 *
 * The image plane is [-1, 1] x [-1, 1], x to the right and y up; the centre of pixel (row, column) of an S
 * x S image is ((2 column + 1 - S) / S, (S - 1 - 2 row) / S): row 0 is on top. A point p with coordinates
 * X, Y, Z in the frame of the camera has the image x = s X / Z, y = s Y / Z and the depth Z, with s = 1 /
 * tan(half angle). Two frames, those of the renderers they come from:
 *
 * - CAMERA_SOFTRAS (S. Liu et al., "Soft Rasterizer", ICCV 2019; K. M. Jatavallabhula et al., "gradSim", ICLR
 *   2021): Z along the view, X = up x Z. A left-handed view, in which images are mirrored: a camera at -z
 *   that looks along +z has +x on the right.
 * - CAMERA_DIBR (W. Chen et al., "DIB-R", NeurIPS 2019): Z against the view, X = up x Z, depth -Z.
 *   Right-handed, images are as an eye sees them. */
#ifndef DS_ENGINES_RENDER_CAMERA_H
#define DS_ENGINES_RENDER_CAMERA_H

#include "mesh.h"

typedef enum camera_kind { CAMERA_SOFTRAS = 0, CAMERA_DIBR = 1 } camera_kind;

/* The numbers that can be differentiated by. Also used for the derivatives by them, and for directions. */
typedef struct camera_pose {
    double eye[3], target[3]; /* m */
    double up[3];             /* any length; not along the view */
    double half_angle;        /* rad, from the centre of the image to its edge; in (0, pi/2) */
} camera_pose;

typedef struct camera {
    camera_kind kind;
    camera_pose pose;
    double near, far; /* m, 0 < near < far: depths that are drawn */
} camera;

/* A camera `distance` from the origin, which it looks at, `elevation` above the plane y = 0; radians. Kind
 * CAMERA_SOFTRAS: eye = d (cos el sin az, sin el, -cos el cos az), 30 degrees of half angle. CAMERA_DIBR:
 * with a = pi/2 - az, eye = d (cos el cos a, sin el, cos el sin a), 24.56717 degrees. Near 1, far 100. */
camera camera_orbit(camera_kind kind, double distance, double elevation, double azimuth);
/* out[0..2] += derivatives by distance, elevation and azimuth, of what has the derivatives `bar` by the
 * pose. */
void camera_orbit_adjoint(camera_kind kind, double distance, double elevation, double azimuth,
                          const camera_pose *bar, double out[3]);

/* 0 where it can be used; else 1 and a line that says why not. */
int camera_check(const camera *c, char text[RENDER_TEXT]);

/* q[3 n] = image x, image y, depth of the n points p[3 n]. Points at depth 0 give what is not finite. `c`
 * is one that camera_check() accepts, here and below. */
void camera_project(const camera *c, size_t n, const double *p, double *q);

/* p_bar[3 n] += and *bar += the derivatives of a number whose derivatives by q are q_bar; NULL for what is
 * not wanted. Points whose q_bar is 0 may be anywhere. */
void camera_project_adjoint(const camera *c, size_t n, const double *p, const double *q_bar, double *p_bar,
                            camera_pose *bar);

/* q_dot[3 n] = the change of q along p_dot and `dot`; NULL for what stands still. */
void camera_project_tangent(const camera *c, size_t n, const double *p, const double *p_dot,
                            const camera_pose *dot, double *q_dot);

#endif
