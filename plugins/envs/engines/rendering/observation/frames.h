/* SPDX-License-Identifier: Apache-2.0 */
/* frames.h - what cameras see of an episode: images of some of its states, their mean squared difference from
 * target images, and exact derivatives by the points seen.
 *
 * Each of `frames` frames has an image from every view. A view is a camera and, of a mesh, a group of faces.
 * All images have size x size pixels of 1 channel (alpha) or 4. The loss is the mean over all numbers of all
 * images of (image - target)^2. Residuals are (image - target) / sqrt(number of numbers), so that their
 * squares add up to the loss. Arrays of a frame are [views][size][size][channels].
 *
 * A camera_frames belongs to one thread at a time; it may draw with more. Results do not depend on their
 * number. */
#ifndef DS_ENGINES_OBSERVATION_FRAMES_H
#define DS_ENGINES_OBSERVATION_FRAMES_H

#include "engines/rendering/observation/cameras.h"

#include <diffsim/ext/channel.h>
#include <diffsim/host.h>

enum { FRAMES_VIEWS = 16 };

/* Faces of a mesh that are seen by all cameras without the other faces. */
typedef struct frames_group {
    uint32_t first, faces;
} frames_group;

/* What the cameras see. It is copied. */
typedef struct frames_subject {
    /* A mesh: faces with one colour each, `color` [mesh.faces][3] in 0..1; NULL: all white. groups 0: one
     * group of all faces. */
    render_mesh mesh;
    const double *color;
    const double *rest; /* [mesh.vertices][3], m: positions at which a texture is mapped onto them */
    uint32_t groups;
    frames_group group[FRAMES_VIEWS];
    /* Or, if mesh.faces is 0, a cloud of particles with this radius in m and this opacity (splat.h); opacity
     * 0: that of splat_defaults(). */
    uint32_t particles;
    double radius, opacity;
} frames_subject;

typedef struct camera_frames camera_frames;

/* Orders views by group, then camera; at most FRAMES_VIEWS. Reports to the host: DS_E_NOMEM, or DS_E_PARAM
 * for settings that do not fit together. */
ds_status frames_open(camera_frames **out, const cameras *l, const frames_subject *subject, uint64_t frames,
                      const ds_host *host);
void frames_close(camera_frames *f); /* NULL is allowed */

/* Numbers of one frame, and of all frames. */
size_t frames_frame_size(const camera_frames *f);
size_t frames_size(const camera_frames *f);

/* Draws frame k: p is [vertices or particles][3], m. Points behind a camera and points that are not finite
 * are not drawn. Returns DS_OK or DS_E_NOMEM. */
ds_status frames_draw(camera_frames *f, uint64_t k, const double *p);
/* The images of frame k; frames follow each other in memory. */
const double *frames_image(const camera_frames *f, uint64_t k);

/* Makes the images of frame k the target of frame k, or of all frames. */
void frames_target(camera_frames *f, uint64_t k);
void frames_target_all(camera_frames *f, uint64_t k);
/* Draws another cloud of `particles` at p as the target of all frames. Reports failures to the host. */
ds_status frames_target_cloud(camera_frames *f, uint32_t particles, const double *p, const ds_host *host);
/* Reads targets from a PNG file: the images of all views below each other, of all frames side by side, or one
 * column for all frames. Grey or colour; for 1 channel alpha if the file has transparent pixels, else the
 * grey value. Reports failures to the host, for parameter `name`. */
ds_status frames_read_targets(camera_frames *f, const char *path, const char *name, const ds_host *host);

/* Mean squared difference of all images; NaN if a number is not finite. */
double frames_loss(const camera_frames *f);
/* The part of frame k in the loss; the parts add up to it except for rounding. */
double frames_frame_loss(const camera_frames *f, uint64_t k);
void frames_residuals(const camera_frames *f, double *out); /* [frames_size()] */

/* p_bar += derivatives of sum(w * residuals of frame k), with w of that frame only; w NULL: of the loss. p as
 * in frames_draw() of this frame. Returns DS_OK or DS_E_NOMEM. */
ds_status frames_adjoint(camera_frames *f, uint64_t k, const double *p, const double *w, double *p_bar);
/* out = the change of the residuals of frame k along p_dot. */
ds_status frames_tangent(camera_frames *f, uint64_t k, const double *p, const double *p_dot, double *out);

/* Sets the view of the following images (cameras.h). Returns 0, or 1 for an unusable camera. */
int frames_view(camera_frames *f, const double *view);
/* Later calls of frames_adjoint() add the derivatives by the view to bar, those of frames_tangent() include
 * its change along dot; NULL: no more. */
void frames_view_derivatives(camera_frames *f, double *bar, const double *dot);

/* Channels: the residuals, with these operations; the images and the targets, each as one image, views below
 * each other, frames side by side. */
enum { FRAMES_RESIDUALS, FRAMES_IMAGES, FRAMES_TARGET, FRAMES_CHANNELS };
void frames_describe(const camera_frames *f, uint64_t channel, uint32_t ops, ds_channel *out);
void frames_answer(const camera_frames *f, uint64_t channel, double *out);

#endif
