/* SPDX-License-Identifier: Apache-2.0 */
/* observed.h - environments with a state of a few numbers that the engine stores for every step. An episode
 * is compared with a target at some of its states, by images or by points. Derivatives sweep from one
 * compared state to the next. The scene maps its decisions (decision.h) to a start, and states to points.
 *
 * The instance begins with an `observed`. Its read() calls observed_read(), sets the fields named below, and
 * calls observed_ready(). Its ds_env_table has the entries of OBSERVED_TABLE, with observed_allocate and
 * observed_release or functions that call them. */
#ifndef DS_ENGINES_OBSERVATION_OBSERVED_H
#define DS_ENGINES_OBSERVATION_OBSERVED_H

#include "engines/rendering/observation/comparison.h"
#include "engines/kit/decision.h"

enum { OBSERVED_NUMBERS = 16 }; /* most numbers of a state */

/* After its own decisions each scene offers those of its view: camera.distance, light.elevation, ... */

/* The scene's functions; `self` is the instance. Derivatives by a state are task->numbers doubles. */
typedef struct observed_task {
    uint32_t numbers;
    /* Simulates with these values of the decisions. Returns -1, or the first step after which the state is
     * not finite. */
    int64_t (*launch)(void *self, const double *value);
    /* Points of state t, [points][3]. The adjoint adds to bar and value_bar; the tangent sets points_dot. */
    void (*place)(const void *self, uint64_t t, double *points);
    void (*place_bar)(const void *self, uint64_t t, const double *points_bar, double *bar, double *value_bar);
    void (*place_dot)(const void *self, uint64_t t, const double *dot, const double *value_dot,
                      double *points_dot);
    /* back: bar by state `to` becomes bar by state `from`, and value_bar is added to; forth: the other way.
     * Both return 0 if the result is not finite. */
    int (*back)(void *self, uint64_t from, uint64_t to, double *bar, double *value_bar);
    int (*forth)(void *self, uint64_t from, uint64_t to, double *dot, const double *value_dot);
    /* Derivatives of state 0, and of what else the decisions set: the adjoint adds, the tangent sets. */
    void (*start_bar)(void *self, const double *bar, double *value_bar);
    void (*start_dot)(void *self, const double *value_dot, double *dot);
    const char *cure; /* parameters that keep the target from diverging, for a message */
} observed_task;

typedef struct observed {
    comparison_env env; /* first */
    const observed_task *task;

    /* Set by read(), including offered, offers and truth of `decisions`. The instance owns the arrays. */
    decision_set decisions;
    double dt; /* s, one step */
    uint64_t steps;
    const uint64_t *compared; /* ascending; includes 0 only if back() and forth() accept an empty sweep */
    uint64_t states;          /* number of compared states */
    uint64_t shown_each;      /* steps between frames of the scene */
    frames_subject subject;   /* a mesh: its vertices are the points */
    double floor;             /* height of the ground, -HUGE_VAL: none */

    /* Set by observed_read() from the parameters. */
    int observe;       /* 0 = image, 1 = state */
    const char *image; /* target_image */
    cameras cameras;

    /* Made by observed_allocate(). */
    double *points, *points_bar; /* [points][3] */
    double *goal;                /* the points of the target at the end */
    double value[DECISIONS_MAX], value_bar[DECISIONS_MAX];
    identified error; /* of the last episode */
    uint32_t view;    /* the first decision of the view */
    int view_varies;  /* one of them is a variable */
    int is_target;    /* the episode of the target is being simulated */

    /* For scenes with hook points: network parameters of the episode, their change for forth(), and where
     * back() adds the derivatives by them. The target has no networks. */
    const double *w, *w_dot;
    double *w_bar;
} observed;

/* Call first in read(): reads OBSERVED_PARAMS. */
void observed_read(observed *s, ds_param_reader *in, const observed_task *task);
/* Call last in read(): picks the variables, sets sizes and times of the kit. */
void observed_ready(observed *s, ds_param_reader *in);
#define OBSERVED_PARAMS(variables_, words_, observe_, size_, camera_, mode_)                                 \
    DS_TEXT("variables", variables_,                                                                         \
            "Unknown numbers, one or several of: " words_                                                    \
            "; where images are compared also camera (distance, "                                            \
            "elevation, azimuth of the first one) and, unless obs = alpha, light (elevation, azimuth and "   \
            "shares).",                                                                                      \
            .flags = DS_PARAM_SHAPE),                                                                        \
        DS_INT("seed", "0", 0, 1000000000, "", "Seed of the random part of the start."),                     \
        COMPARISON_PARAMS(observe_, "mean squared distance of the points."),                                 \
        CAMERAS_PARAMS(size_, camera_, mode_)

/* For scenes with frames `between` seconds apart and steps between them. */
#define OBSERVED_FRAMES_PARAMS(frames_, between_, each_, substeps_)                                          \
    DS_INT("frames", frames_, 2, 1000, "", "Frames of an episode, " between_ " apart."),                     \
        DS_INT("compare_every", each_, 1, 1000, "",                                                          \
               "Compare every so many frames, beginning with the first."),                                   \
        DS_INT("substeps", substeps_, 1, 1000, "", "Time steps between two frames.")
/* Reads these and sets dt, steps, shown_each, compared and states. The first frame is `first` times `between`
 * after the start: 0 or 1. */
void observed_frames(observed *s, ds_param_reader *in, double between, int64_t first);

/* Reads COMPARISON_OBJECT_PARAM, before observed_ready(). */
void observed_object(observed *s, ds_param_reader *in);

/* Entries of a ds_env_table. */
ds_status observed_allocate(void *self);
void observed_release(void *self);
ds_status observed_simulate(void *self, ds_eval *io);
ds_status observed_adjoint(void *self, ds_eval *io);
void observed_bodies(void *self, ds_scene_kit *s);
void observed_place(const void *self, uint64_t k, uint64_t b, double *out);
void observed_range(const void *self, uint64_t i, double *lower, double *upper, double *start);
void observed_variable(const void *self, uint64_t i, ds_env_variable *out);
#define OBSERVED_TABLE(allocate_, release_)                                                                  \
    .allocate = (allocate_), .release = (release_), .simulate = observed_simulate,                           \
    .adjoint = observed_adjoint, .passes = 2, .channels = comparison_env_channels,                           \
    .channel = comparison_env_channel, .answer = comparison_env_answer, .bodies = observed_bodies,           \
    .place = observed_place, .range = observed_range, .variable = observed_variable

/* The state that frame k of the scene shows. */
uint64_t observed_state(const observed *s, uint64_t k);
/* The mean of the points in frame k of the scene; extends the visible box to the points. Returns the distance
 * from the mean of the target at the end, m. */
double observed_measure(observed *s, uint64_t k, double mean[3]);

#endif
