/* SPDX-License-Identifier: Apache-2.0 */
/* swept.h - environments whose state is a few numbers, all of which the engine keeps: an episode is compared
 * with a target at some of its states, by pictures or by the points of what moves. Derivatives sweep from one
 * of these states to the next. The scene says how its points follow from its state, and what its numbers
 * (knob.h) do to it.
 *
 * The instance begins with a `swept`. Its read() calls swept_read(), sets what is named below, and calls
 * swept_ready(); its ds_env_table has the entries of SWEPT_TABLE, with swept_allocate and swept_release or
 * functions that call them. */
#ifndef DS_ENGINES_SWEPT_SWEPT_H
#define DS_ENGINES_SWEPT_SWEPT_H

#include "engines/rendering/film/watcher.h"
#include "engines/kit/knob.h"

enum { SWEPT_NUMBERS = 16 }; /* most numbers of a state */

/* What is special to a scene; `self` is the instance. Derivatives by a state are task->numbers doubles. */
typedef struct swept_task {
    uint32_t numbers;
    /* Simulates with these numbers of the knobs: -1, or the first step after which the state is
     * not finite. */
    int64_t (*launch)(void *self, const double *value);
    /* Points of state t, [points][3]. The adjoint adds to bar and value_bar; the tangent sets points_dot. */
    void (*place)(const void *self, uint64_t t, double *points);
    void (*place_bar)(const void *self, uint64_t t, const double *points_bar, double *bar, double *value_bar);
    void (*place_dot)(const void *self, uint64_t t, const double *dot, const double *value_dot,
                      double *points_dot);
    /* bar: from the derivatives by state `to` to those by state `from`, adding to value_bar; dot: the other
     * way. 0 where they are not finite. */
    int (*back)(void *self, uint64_t from, uint64_t to, double *bar, double *value_bar);
    int (*forth)(void *self, uint64_t from, uint64_t to, double *dot, const double *value_dot);
    /* How state 0 follows from the numbers, and what these set besides: the adjoint adds, the
     * tangent sets. */
    void (*start_bar)(void *self, const double *bar, double *value_bar);
    void (*start_dot)(void *self, const double *value_dot, double *dot);
    const char *cure; /* parameters that keep the target from diverging */
} swept_task;

typedef struct swept {
    watcher watcher; /* first */
    const swept_task *task;

    /* Set by read(), with knob, knobs and truth of `knobs`. Arrays are the instance's. */
    knob_set knobs;
    double dt; /* s, of a step */
    uint64_t steps;
    const uint64_t *compared; /* ascending; with 0 where back and forth may sweep over no step */
    uint64_t states;          /* how many are compared */
    uint64_t shown_each;      /* steps between frames of the scene */
    film_subject subject;     /* a mesh: its vertices are the points */
    double floor;             /* height of the ground, -HUGE_VAL: none */

    /* Set by swept_read() from the parameters. */
    int observe;       /* 0 = image, 1 = state */
    const char *image; /* target_image */
    look look;

    /* Made by swept_allocate(). */
    double *points, *points_bar; /* [points][3] */
    double *goal;                /* the points of the target at the end */
    double value[KNOBS], value_bar[KNOBS];
    identified error; /* of the last episode */
    int is_target;    /* the episode of the target is being simulated */

    /* Of a scene with hook points: parameters of networks for the episode, their change for forth(), and
     * where back() adds the derivatives by them. The target has no networks. */
    const double *w, *w_dot;
    double *w_bar;
} swept;

/* First in read(): reads SWEPT_PARAMS and sets what they say. */
void swept_read(swept *s, ds_param_reader *in, const swept_task *task);
/* Last in read(): picks the variables, sets sizes and times of the kit. */
void swept_ready(swept *s, ds_param_reader *in);
#define SWEPT_PARAMS(variables_, words_, observe_, size_, camera_, mode_)                                    \
    DS_TEXT("variables", variables_, "What is unknown, one or several of: " words_ ".",                      \
            .flags = DS_PARAM_SHAPE),                                                                        \
        DS_INT("seed", "0", 0, 1000000000, "", "Of what is random where the variables start."),              \
        WATCHER_PARAMS(observe_, "mean squared distance of the points."), LOOK_PARAMS(size_, camera_, mode_)

/* Of scenes with frames `between` seconds apart and steps between them. */
#define SWEPT_FRAMES_PARAMS(frames_, between_, each_, substeps_)                                             \
    DS_INT("frames", frames_, 2, 1000, "", "Frames of an episode, " between_ " apart."),                     \
        DS_INT("compare_every", each_, 1, 1000, "",                                                          \
               "Every so many frames one is compared with the target, the first of them to begin with."),    \
        DS_INT("substeps", substeps_, 1, 1000, "", "Time steps from one frame to the next.")
/* Reads them and sets dt, steps, shown_each, compared and states. The first frame is that after `first` times
 * `between`: 0 or 1. */
void swept_frames(swept *s, ds_param_reader *in, double between, int64_t first);

/* Which object the target is, from WATCHER_OBJECT_PARAM, before swept_ready(). */
void swept_object(swept *s, ds_param_reader *in);

/* Entries of an ds_env_table. */
ds_status swept_allocate(void *self);
void swept_release(void *self);
ds_status swept_simulate(void *self, ds_eval *io);
ds_status swept_adjoint(void *self, ds_eval *io);
void swept_bodies(void *self, ds_scene_kit *s);
void swept_place(const void *self, uint64_t k, uint64_t b, double *out);
void swept_range(const void *self, uint64_t i, double *lower, double *upper, double *start);
void swept_variable(const void *self, uint64_t i, ds_env_variable *out);
#define SWEPT_TABLE(allocate_, release_)                                                                     \
    .allocate = (allocate_), .release = (release_), .simulate = swept_simulate, .adjoint = swept_adjoint,    \
    .passes = 2, .channels = watcher_channels, .channel = watcher_channel, .answer = watcher_answer,         \
    .bodies = swept_bodies, .place = swept_place, .range = swept_range, .variable = swept_variable

/* The state that frame k of the scene shows. */
uint64_t swept_state(const swept *s, uint64_t k);
/* Of frame k of the scene, which the visible box then holds: the mean of the points. Returns how far it is
 * from that of the target at the end, m. */
double swept_measure(swept *s, uint64_t k, double mean[3]);

#endif
