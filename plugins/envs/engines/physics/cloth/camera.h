/* SPDX-License-Identifier: Apache-2.0 */
/* camera.h - loss of a cloth from camera images: observation/comparison.h for the states of a mesh of masses.
 * States are output steps, whose positions the environment keeps: [steps + 1][3][stride], laid out as in
 * cloth.h. */
#ifndef DS_ENGINES_CLOTH_CAMERA_H
#define DS_ENGINES_CLOTH_CAMERA_H

#include "engines/rendering/observation/comparison.h"

typedef struct cloth_camera {
    image_loss image_loss;
    size_t stride;
    const uint32_t *vertex; /* vertices of the visible points, in their order; NULL: the first ones */
    ds_status failed;       /* failure of an adjoint, returned by cloth_camera_status() */
} cloth_camera;

/* Opens the cameras on the points of `subject`, with these states as start and target. `vertex` stays owned
 * by the environment. Reports a failure to the host. */
ds_status cloth_camera_open(cloth_camera *c, const frames_subject *subject, size_t stride,
                            const uint32_t *vertex, const double *start, const double *target,
                            const ds_host *host);
void cloth_camera_close(cloth_camera *c);

/* Sets the target from the compared states among these, or one state for all; then from a PNG file if one is
 * given. */
ds_status cloth_camera_target(cloth_camera *c, const double *states);
ds_status cloth_camera_target_all(cloth_camera *c, const double *state);

/* *loss: loss of the compared states up to output step `last`. */
ds_status cloth_camera_loss(cloth_camera *c, const double *states, uint64_t last, double *loss);
/* *loss: loss of one state as if it were the first compared one. */
ds_status cloth_camera_state(cloth_camera *c, const double *state, double *loss);
/* x_bar[3][stride] += derivatives of the loss by output step `step`, if it is compared. */
void cloth_camera_bar(cloth_camera *c, uint64_t step, const double *states, double *x_bar);
/* Returns `status`, or the failure of an earlier cloth_camera_bar(). */
ds_status cloth_camera_status(cloth_camera *c, ds_status status);

#endif
