/* SPDX-License-Identifier: Apache-2.0 */
/* sight.h - "loss = image" of environments that have losses of their own: an episode is compared with its
 * target by what cameras see of both at some of its states. The scene may lie anywhere: cameras find the
 * distance from which they see start and target.
 *
 * read() calls sight_read(). Where `wanted` is set, sight_open() and one of the functions that set the target
 * follow once, and in each episode sight_show() for each compared state, whose points have been put into `p`.
 * Loss: the mean over all numbers of all pictures of (picture - target)^2. Failures are said to the host. */
#ifndef DS_ENGINES_FILM_SIGHT_H
#define DS_ENGINES_FILM_SIGHT_H

#include "engines/rendering/film/film.h"

#include <diffsim/helper/env_kit.h>
#include <diffsim/helper/memory.h>

typedef struct sight {
    /* Set by sight_read(). */
    int wanted;             /* else all of this is 0 */
    uint64_t steps, frames; /* output steps of an episode; how many of its states are compared */
    look look;
    const char *image;        /* target_image */
    double radius, opacity;   /* of discs; radius 0: the environment says */
    const double *orbit, *at; /* [cameras][3], and one place or [cameras]; at NULL: the middle of the scene */
    int shared;               /* there is one place */

    /* Set by the environment where they are not 0. */
    int single;  /* the simulation rounds to singles, which drowns what J v is made from */
    int partial; /* the loss has more in it than pictures */

    /* Made by sight_open(). */
    const ds_host *host;
    film *film;
    size_t points;
    double *p, *p_bar; /* [points][3], in m: of the state in hand, and derivatives by it */
    const double *w;   /* of the residuals, while J' w is made; else NULL */
    ds_memory memory;
} sight;

/* Points that the cameras have to see, [points][3]. */
typedef struct sight_points {
    size_t points;
    const double *p;
} sight_points;

/* Reads SIGHT_PARAMS and what follows the environment's kind: SIGHT_DISC_PARAMS, or
 * LOOK_MESH_PARAMS (`mesh`). */
void sight_read(sight *s, ds_param_reader *in, int wanted, uint64_t steps, int mesh);
#define SIGHT_PARAMS(camera_)                                                                                \
    LOOK_SIZE_PARAM("64"),                                                                                   \
        DS_LIST(                                                                                             \
            "camera", camera_, -1e4, 1e4, 3 * LOOK_CAMERAS, "m, deg, deg",                                   \
            "loss = image: distance of the camera from what it looks at, 0 = as far as start and target "    \
            "need to be seen; elevation and azimuth; three more numbers for each further camera."),          \
        DS_LIST("look_at", "", -1e4, 1e4, 3 * LOOK_CAMERAS, "m",                                             \
                "Point that the cameras look at, or one for each. Empty: the middle of start and target."),  \
        DS_INT("frames", "1", 1, 10000, "",                                                                  \
               "loss = image: states that are compared, at equal distances in time; 1 = the last one."),     \
        DS_PATH("target_image", "",                                                                          \
                "PNG file with the pictures of the target: cameras below each other, compared states side "  \
                "by side, or one column for all of them. Empty: drawn from the target of the task."),        \
        LOOK_THREADS_PARAM
#define SIGHT_DISC_PARAMS(radius_)                                                                           \
    DS_REAL("disc_radius", "0", 0, 1e3, "m", "Of the disc that cameras see of a particle; 0: " radius_),     \
        DS_REAL("disc_opacity", "0.9", 1e-3, 0.99, "",                                                       \
                "Of a disc. Little of it makes pictures like those of X-rays, in which thickness counts.",   \
                .flags = DS_PARAM_LOG)

/* Places the cameras so that they see these points, and takes what the episodes need. */
ds_status sight_open(sight *s, const film_subject *subject, size_t count, const sight_points *seen,
                     const ds_host *host);
void sight_close(sight *s);

/* Frame of output step `step`, -1 where it is not compared; output step of frame k. */
int64_t sight_frame(const sight *s, uint64_t step);
uint64_t sight_step(const sight *s, uint64_t k);

/* The points in p are the target of frame k. */
ds_status sight_target(sight *s, uint64_t k);
/* Another cloud is the target of all frames. */
ds_status sight_target_cloud(sight *s, sight_points target);
/* After either of them: the pictures of the file take their place, where one is given. */
ds_status sight_target_file(sight *s);

/* Frame k shows the points in p; *share: what it has in the loss. */
ds_status sight_show(sight *s, uint64_t k, double *share);
/* p_bar = the derivatives by the points in p, which frame k showed: of the loss, or of sum(w * residuals). */
ds_status sight_adjoint(sight *s, uint64_t k);

/* Channels "residuals", with J v and J' w, "pictures" and "target": how many; what they are; what is in them.
 * Products are made by more episodes of the instance, whose table has simulate() and, unless that makes the
 * gradient too, adjoint(): one with gradient for J' w, with the derivatives of the residuals in s->w in
 * place of those of the loss; two for J v, by differences, or three at a bound (DS_GRAD_FD), and one more at
 * x where its scene is wanted; no J v where `single` is set. Where `partial` is set, or weights of networks
 * have a cost, there are none, and the differences are no residuals of the loss. */
uint64_t sight_channels(const sight *s);
void sight_channel(const sight *s, const ds_env_kit *kit, uint64_t i, ds_channel *out);
ds_status sight_answer(sight *s, ds_env_kit *kit, ds_eval *io, ds_eval_query *ask);

/* Defines them for instances of this type with this sight; SIGHT_TABLE are the entries of the table. */
#define SIGHT_DEFINE_CHANNELS(type_, sight_)                                                                 \
    static uint64_t sight_channels_of(const void *self)                                                      \
    {                                                                                                        \
        return sight_channels(&((const type_ *)self)->sight_);                                               \
    }                                                                                                        \
    static void sight_channel_of(const void *self, uint64_t i, ds_channel *out)                              \
    {                                                                                                        \
        sight_channel(&((const type_ *)self)->sight_, self, i, out);                                         \
    }                                                                                                        \
    static ds_status sight_answer_of(void *self, ds_eval *io, ds_eval_query *ask)                            \
    {                                                                                                        \
        return sight_answer(&((type_ *)self)->sight_, self, io, ask);                                        \
    }
#define SIGHT_TABLE .channels = sight_channels_of, .channel = sight_channel_of, .answer = sight_answer_of

#endif
