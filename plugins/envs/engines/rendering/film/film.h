/* SPDX-License-Identifier: Apache-2.0 */
/* film.h - what cameras see of an episode: pictures of some of its states, their mean squared difference from
 * those of a target, and exact derivatives by what is seen.
 *
 * A film has `frames` frames, each with a picture from every view; a view is a camera, and of a mesh the
 * faces that it sees. All pictures have size x size pixels of 1 channel (alpha) or 4. The loss is the mean
 * over all numbers of all pictures of (picture - target)^2. Residuals are (picture - target) / sqrt(number of
 * numbers), so that their squares add up to the loss. Arrays of a frame are [views][size][size][channels].
 *
 * A film belongs to one thread at a time; it may draw with more. Results do not depend on their number. */
#ifndef DS_ENGINES_FILM_FILM_H
#define DS_ENGINES_FILM_FILM_H

#include "engines/rendering/film/look.h"

#include <diffsim/ext/channel.h>
#include <diffsim/host.h>

enum { FILM_VIEWS = 16 };

/* Some faces of a mesh, seen by all cameras without the others. */
typedef struct film_group {
    uint32_t first, faces;
} film_group;

/* What is seen. It is copied. */
typedef struct film_subject {
    /* A mesh: faces with one colour each, `color` [mesh.faces][3] in 0..1; NULL: all white. groups 0: one
     * group of all faces. */
    render_mesh mesh;
    const double *color;
    const double
        *rest; /* [mesh.vertices][3], m: where they are when a picture is put on them (look.texture) */
    uint32_t groups;
    film_group group[FILM_VIEWS];
    /* Or, where mesh.faces is 0, a cloud of particles, all with this radius in m and this opacity (splat.h);
     * 0: that of splat_defaults(). */
    uint32_t particles;
    double radius, opacity;
} film_subject;

typedef struct film film;

/* Views are ordered by group, then camera; at most FILM_VIEWS. A failure is said to the host: DS_E_NOMEM, or
 * DS_E_PARAM for settings that do not go together. */
ds_status film_open(film **out, const look *l, const film_subject *subject, uint64_t frames,
                    const ds_host *host);
void film_close(film *f); /* NULL: nothing */

uint64_t film_frames(const film *f);
/* Numbers of one frame, and of all pictures. */
size_t film_frame_size(const film *f);
size_t film_size(const film *f);

/* Takes the pictures of frame k: p is [vertices or particles][3], in m. DS_OK or DS_E_NOMEM. What lies behind
 * a camera or is not finite is not seen. */
ds_status film_shoot(film *f, uint64_t k, const double *p);
/* The pictures of a frame; those of all follow each other. */
const double *film_picture(const film *f, uint64_t k);

/* The pictures of frame k become the target of frame k, or of all frames. */
void film_target(film *f, uint64_t k);
void film_target_all(film *f, uint64_t k);
const double *film_target_picture(const film *f, uint64_t k);
/* What the cameras see of another cloud of `particles` at p becomes the target of all frames. A failure is
 * said to the host. */
ds_status film_target_cloud(film *f, uint32_t particles, const double *p, const ds_host *host);
/* Targets from a PNG file: the pictures of all views, one below the other, for all frames, side by side, or
 * one column for all frames. Grey or colours; for 1 channel alpha where the file has transparent pixels, else
 * the grey value. A failure is said to the host, as of parameter `name`. */
ds_status film_read_targets(film *f, const char *path, const char *name, const ds_host *host);

/* Mean squared difference of all pictures; NaN where one number is not finite. */
double film_loss(const film *f);
/* What frame k has in it: the loss is their sum, but for the last digits. */
double film_frame_loss(const film *f, uint64_t k);
void film_residuals(const film *f, double *out); /* [film_size()] */

/* p_bar += derivatives of sum(w * residuals of frame k), for w of that frame alone; w NULL: of the loss. p as
 * in film_shoot() of this frame. DS_OK or DS_E_NOMEM. */
ds_status film_adjoint(film *f, uint64_t k, const double *p, const double *w, double *p_bar);
/* out = the change of the residuals of frame k along p_dot. */
ds_status film_tangent(film *f, uint64_t k, const double *p, const double *p_dot, double *out);

/* Channels: the residuals, with these operations; the pictures and the targets, each as one image, views
 * below each other, frames side by side. */
enum { FILM_RESIDUALS, FILM_PICTURES, FILM_TARGET, FILM_CHANNELS };
void film_describe(const film *f, uint64_t channel, uint32_t ops, ds_channel *out);
void film_answer(const film *f, uint64_t channel, double *out);

#endif
