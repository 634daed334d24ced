/* SPDX-License-Identifier: Apache-2.0 */
/* camera.h - a pinhole camera: its pose, projection of points, and the derivatives by points and pose.
 *
 * The image plane is [-1, 1] x [-1, 1], x to the right and y up; the centre of pixel (row, column) of an S x
 * S image is ((2 column + 1 - S) / S, (S - 1 - 2 row) / S): row 0 is on top. A point p with coordinates X, Y,
 * Z in the frame of the camera has the image x = s X / Z, y = s Y / Z and the depth Z, with s = 1 / tan(half
 * angle). There are two frames, one for each renderer:
 *
 * - CAMERA_SOFTRAS (S. Liu et al., "Soft Rasterizer", ICCV 2019; K. M. Jatavallabhula et al., "gradSim", ICLR
 *   2021): Z along the view, X = up x Z. A left-handed view that mirrors images: a camera at -z that looks
 *   along +z has +x on the right.
 * - CAMERA_DIBR (W. Chen et al., "DIB-R", NeurIPS 2019): Z against the view, X = up x Z, depth -Z.
 *   Right-handed, images are as an eye sees them. */
#ifndef DS_ENGINES_RENDER_CAMERA_H
#define DS_ENGINES_RENDER_CAMERA_H

#include "engines/rendering/render/mesh.h"

typedef enum camera_kind { CAMERA_SOFTRAS = 0, CAMERA_DIBR = 1 } camera_kind;

/* The differentiable numbers of a camera; also used for derivatives by them and for directions. */
typedef struct camera_pose {
    double eye[3], target[3]; /* m */
    double up[3];             /* any length; not along the view */
    double half_angle;        /* rad, from the centre of the image to its edge; in (0, pi/2) */
} camera_pose;

typedef struct camera {
    camera_kind kind;
    camera_pose pose;
    double near, far; /* m, 0 < near < far: drawn depths */
} camera;

/* A camera at `distance` from the origin, looking at it, `elevation` above the plane y = 0; radians.
 * CAMERA_SOFTRAS: eye = d (cos el sin az, sin el, -cos el cos az), half angle 30 degrees. CAMERA_DIBR: with a
 * = pi/2 - az, eye = d (cos el cos a, sin el, cos el sin a), half angle 24.56717 degrees. Near 1, far 100. */
camera camera_orbit(camera_kind kind, double distance, double elevation, double azimuth);
/* out[0..2] += derivatives by distance, elevation and azimuth, from the derivatives `bar` by the pose. */
void camera_orbit_adjoint(camera_kind kind, double distance, double elevation, double azimuth,
                          const camera_pose *bar, double out[3]);

/* Returns 0 if the camera is usable, else 1 and a line that says why not. */
int camera_check(const camera *c, char text[RENDER_TEXT]);

/* q[3 n] = image x, image y, depth of the n points p[3 n]; not finite for points at depth 0. Here and below,
 * camera_check() must accept `c`. */
void camera_project(const camera *c, size_t n, const double *p, double *q);

/* p_bar[3 n] += and *bar += the derivatives by points and pose, from the derivatives q_bar by q; NULL: not
 * wanted. Points with q_bar 0 may be anywhere. */
void camera_project_adjoint(const camera *c, size_t n, const double *p, const double *q_bar, double *p_bar,
                            camera_pose *bar);

/* q_dot[3 n] = the change of q along p_dot and `dot`; NULL: unchanged. */
void camera_project_tangent(const camera *c, size_t n, const double *p, const double *p_dot,
                            const camera_pose *dot, double *q_dot);

#endif
