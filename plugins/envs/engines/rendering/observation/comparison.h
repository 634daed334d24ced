/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.h - compares an episode with its target at some of its states: by images, by the positions of
 * its points, or by their centre. One loss, its residuals, and exact derivatives by the points.
 *
 *   images    mean over all numbers of the images of (image - target)^2 (frames.h)
 *   points    mean over states and points of the squared distance to the target, m^2
 *   centre    mean over states and the three coordinates of (centre - target)^2, m^2; the centre is
 *             weighted by mass
 *
 * The loss is the sum of the squared residuals. Points are [points][3], in m.
 *
 * `comparison` is the loss itself. `comparison_env` makes channels of it for environments that have no other
 * loss. `image_loss` is the option "loss = image" of environments that have losses of their own. */
#ifndef DS_ENGINES_OBSERVATION_COMPARISON_H
#define DS_ENGINES_OBSERVATION_COMPARISON_H

#include "engines/rendering/observation/frames.h"

#include <diffsim/helper/env_kit.h>
#include <diffsim/helper/memory.h>

typedef enum comparison_kind {
    COMPARISON_IMAGES = 0,
    COMPARISON_POINTS = 1,
    COMPARISON_CENTRE = 2
} comparison_kind;

typedef struct comparison {
    comparison_kind kind;
    uint64_t states; /* compared states */
    size_t points;
    camera_frames *images; /* of images; else NULL */
    double *weight;        /* weight of each point in the centre, sum 1; NULL: all the same */
    uint32_t *chosen;      /* [size / 3]: the compared points; NULL: all of them */
    double *here, *target; /* [states][size]: points or centres */
    size_t size;           /* residuals of one state */
    ds_memory memory;
} comparison;

/* Compares `states` states of `points` points. For images, `subject` has the points as vertices or particles
 * and `l` the cameras. Copies weight[points] (may be NULL). Reports failures to the host. */
ds_status comparison_open(comparison *w, comparison_kind kind, uint64_t states, size_t points,
                          const double *weight, const cameras *l, const frames_subject *subject,
                          const ds_host *host);
/* Compares the positions of chosen points, chosen[count] ascending; copies the list. */
ds_status comparison_open_some(comparison *w, uint64_t states, size_t points, const uint32_t *chosen,
                               size_t count, const ds_host *host);
void comparison_close(comparison *w);

/* Sets state k of the episode. Returns DS_OK or DS_E_NOMEM. */
ds_status comparison_record(comparison *w, uint64_t k, const double *p);
/* Makes recorded state k the target of state k, or of all states. */
void comparison_target(comparison *w, uint64_t k);
void comparison_target_all(comparison *w, uint64_t k);

double comparison_loss(const comparison *w);

/* p_bar += the derivatives by the points of state k, p as recorded, of sum(r_bar * residuals of state k);
 * r_bar NULL: of the loss. Returns DS_OK or DS_E_NOMEM. */
ds_status comparison_adjoint(comparison *w, uint64_t k, const double *p, const double *r_bar, double *p_bar);
/* out = the change of the residuals of state k along p_dot. */
ds_status comparison_tangent(comparison *w, uint64_t k, const double *p, const double *p_dot, double *out);

/* ---- environments whose loss is a comparison ----
 *
 * The instance begins with a comparison_env; its ds_env_table has .channels = comparison_env_channels,
 * .channel = comparison_env_channel and .answer = comparison_env_answer. Channels: "residuals" with J v and
 * J' w; for images also "pictures" and "target", with the views below each other and the states side by side.
 */

typedef struct comparison_env {
    ds_env_kit kit; /* first */
    comparison comparison;
    /* After an episode: out[states x size] = J v for a direction v of the variables, and x_bar[n] = J' w.
     * They may simulate again and then add the cost to io->cost_steps. */
    ds_status (*forward)(void *self, ds_eval *io, const double *v, double *out);
    ds_status (*reverse)(void *self, ds_eval *io, const double *w, double *x_bar);
} comparison_env;

uint64_t comparison_env_channels(const void *self);
void comparison_env_channel(const void *self, uint64_t i, ds_channel *out);
ds_status comparison_env_answer(void *self, ds_eval *io, ds_eval_query *ask);

/* Does this evaluation need data for a backward pass? */
int comparison_needs_reverse(const ds_eval *io);

/* Which object the target is. */
#define COMPARISON_OBJECT_PARAM                                                                              \
    DS_INT(                                                                                                  \
        "object", "0", 0, 1000000000, "",                                                                    \
        "0: the target has the unknown numbers that the parameters give. K: they are drawn with this key, "  \
        "uniformly between the bounds of the variables, a tenth of their distance away from each.")

/* Parameter `observe` of environments that compare images or states, and the PNG file of target images. */
extern const char *const comparison_observes[];
#define COMPARISON_PARAMS(observe_, state_)                                                                  \
    DS_ENUM("observe", observe_, comparison_observes,                                                        \
            "What is compared with the target. image: mean squared difference of images. state: "            \
            "" state_),                                                                                      \
        DS_PATH("target_image", "",                                                                          \
                "PNG file with the target images: cameras below each other, compared states side "           \
                "by side, or one column for all of them. Empty: drawn from the true parameters.")

/* ---- loss = image ----
 *
 * An episode is compared with its target by what cameras see at some of its states. The scene may lie
 * anywhere: cameras find the distance from which they see start and target.
 *
 * read() calls image_loss_read(). If `wanted` is set, image_loss_open() and one of the functions that set the
 * target follow once; each episode then calls image_loss_draw() for each compared state, after writing its
 * points to `p`. Loss: the mean over all numbers of all images of (image - target)^2. Failures are reported
 * to the host. */

typedef struct image_loss {
    /* Set by image_loss_read(). */
    int wanted;             /* if 0, all of this is 0 */
    uint64_t steps, frames; /* output steps of an episode; compared states */
    cameras cameras;
    const char *image;        /* target_image */
    double radius, opacity;   /* of discs; radius 0: the environment sets it */
    const double *orbit, *at; /* [cameras][3]; one point or [cameras][3], NULL: the middle of the scene */
    int shared;               /* `at` has one point */

    /* Set by the environment if not 0. */
    int single;  /* the simulation rounds to single precision, which would drown the differences of J v */
    int partial; /* the loss has other terms than images */

    /* Made by image_loss_open(). */
    const ds_host *host;
    camera_frames *images;
    size_t points;
    double *p, *p_bar; /* [points][3], m: the current state, and derivatives by it */
    const double *w;   /* weights of the residuals during J' w; else NULL */
    ds_memory memory;
} image_loss;

/* Points that the cameras must see, [points][3]. */
typedef struct image_loss_points {
    size_t points;
    const double *p;
} image_loss_points;

/* Reads IMAGE_LOSS_PARAMS and, after the kind of the environment, IMAGE_LOSS_DISC_PARAMS or
 * CAMERAS_MESH_PARAMS (`mesh`). */
void image_loss_read(image_loss *s, ds_param_reader *in, int wanted, uint64_t steps, int mesh);
#define IMAGE_LOSS_PARAMS(camera_)                                                                           \
    CAMERAS_SIZE_PARAM("64"),                                                                                \
        DS_LIST("camera", camera_, -1e4, 1e4, 3 * CAMERAS_MAX, "m, deg, deg",                                \
                "loss = image: distance of the camera from the point it looks at, 0 = far enough to see "    \
                "start and "                                                                                 \
                "target; elevation and azimuth; three more numbers for each further camera."),               \
        DS_LIST("look_at", "", -1e4, 1e4, 3 * CAMERAS_MAX, "m",                                              \
                "Point that the cameras look at, or one point for each. Empty: the middle of start and "     \
                "target."),                                                                                  \
        DS_INT("frames", "1", 1, 10000, "",                                                                  \
               "loss = image: number of compared states, at equal distances in time; 1 = the last one."),    \
        DS_PATH("target_image", "",                                                                          \
                "PNG file with the target images: cameras below each other, compared states side "           \
                "by side, or one column for all of them. Empty: drawn from the target of the task."),        \
        CAMERAS_THREADS_PARAM
#define IMAGE_LOSS_DISC_PARAMS(radius_)                                                                      \
    DS_REAL("disc_radius", "0", 0, 1e3, "m",                                                                 \
            "Radius of the disc that cameras see of a particle; 0: " radius_),                               \
        DS_REAL("disc_opacity", "0.9", 1e-3, 0.99, "",                                                       \
                "Opacity of a disc. Low values give images like X-rays, in which thickness counts.",         \
                .flags = DS_PARAM_LOG)

/* Places the cameras so that they see these points, and allocates what the episodes need. */
ds_status image_loss_open(image_loss *s, const frames_subject *subject, size_t count,
                          const image_loss_points *seen, const ds_host *host);
void image_loss_close(image_loss *s);

/* Frame of output step `step`, -1 if it is not compared; output step of frame k. */
int64_t image_loss_frame(const image_loss *s, uint64_t step);
uint64_t image_loss_step(const image_loss *s, uint64_t k);

/* Makes the points in p the target of frame k. */
ds_status image_loss_target(image_loss *s, uint64_t k);
/* Makes another cloud the target of all frames. */
ds_status image_loss_target_cloud(image_loss *s, image_loss_points target);
/* Call after either: replaces the target by the images of the file, if one is given. */
ds_status image_loss_target_file(image_loss *s);

/* Draws the points in p as frame k; *share: its part of the loss. */
ds_status image_loss_draw(image_loss *s, uint64_t k, double *share);
/* p_bar = the derivatives by the points in p, drawn as frame k: of the loss, or of sum(w * residuals). */
ds_status image_loss_adjoint(image_loss *s, uint64_t k);

/* Channels "residuals" (with J v and J' w), "pictures" and "target". Products simulate the instance again: J'
 * w once, through simulate() and adjoint(), with the derivatives of the weighted residuals (s->w) in place of
 * the loss; J v twice by central differences, three times at a bound (DS_GRAD_FD), and once more at x if its
 * scene is wanted. `single` disables J v. `partial`, or a cost on network weights, disables both, and the
 * channel is then no longer a residual of the loss. */
uint64_t image_loss_channels(const image_loss *s);
void image_loss_channel(const image_loss *s, const ds_env_kit *kit, uint64_t i, ds_channel *out);
ds_status image_loss_answer(image_loss *s, ds_env_kit *kit, ds_eval *io, ds_eval_query *ask);

/* Defines these functions for instances of this type with this image_loss; IMAGE_LOSS_TABLE has the table
 * entries. */
#define IMAGE_LOSS_DEFINE_CHANNELS(type_, image_loss_)                                                       \
    static uint64_t image_loss_channels_of(const void *self)                                                 \
    {                                                                                                        \
        return image_loss_channels(&((const type_ *)self)->image_loss_);                                     \
    }                                                                                                        \
    static void image_loss_channel_of(const void *self, uint64_t i, ds_channel *out)                         \
    {                                                                                                        \
        image_loss_channel(&((const type_ *)self)->image_loss_, self, i, out);                               \
    }                                                                                                        \
    static ds_status image_loss_answer_of(void *self, ds_eval *io, ds_eval_query *ask)                       \
    {                                                                                                        \
        return image_loss_answer(&((type_ *)self)->image_loss_, self, io, ask);                              \
    }
#define IMAGE_LOSS_TABLE                                                                                     \
    .channels = image_loss_channels_of, .channel = image_loss_channel_of, .answer = image_loss_answer_of

#endif
