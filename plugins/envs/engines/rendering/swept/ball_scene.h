/* SPDX-License-Identifier: Apache-2.0 */
/* ball_scene.h - scenes of balls on an engine with a few constants: numbers of the knobs (knob.h) are its
 * constants and its state at the start, and the balls are where its state says.
 *
 * The instance begins with a `ball_scene`. Its read() calls ball_scene_read(), then swept_frames(), makes the
 * engine, and ends with ball_scene_ready(); its ds_env_table has the entries of SWEPT_TABLE. */
#ifndef DS_ENGINES_SWEPT_BALL_SCENE_H
#define DS_ENGINES_SWEPT_BALL_SCENE_H

#include "engines/rendering/swept/balls.h"
#include "engines/rendering/swept/swept.h"

enum { BALL_SCENE_CONSTANTS = 8 };     /* most constants of an engine */
enum { BALL_SCENE_NONE = UINT32_MAX }; /* no knob: what this sets keeps its value */

/* What is special to a scene; `self` is the instance. theta are the constants of the episode,
 * centre[count][2] those of the balls; derivatives by a state are `states` doubles. */
typedef struct ball_task {
    const knob *knob;
    uint32_t knobs;
    uint32_t states, constants; /* at most SWEPT_NUMBERS, BALL_SCENE_CONSTANTS */
    const uint32_t *start;      /* [states]: the knob that is this number of state 0 */
    const uint32_t *constant;   /* [constants]: the knob that is this constant */
    double other;               /* the constants that are no knob */

    /* Simulates: -1, or the first step after which the state is not finite. */
    int64_t (*launch)(void *self, const double *theta, const double *start);
    /* Where the balls are at state t. The adjoint adds to bar and theta_bar; the tangent sets centre_dot. */
    void (*centre)(const void *self, const double *theta, uint64_t t, double *centre);
    void (*centre_bar)(const void *self, const double *theta, uint64_t t, const double *centre_bar,
                       double *bar, double *theta_bar);
    void (*centre_dot)(const void *self, const double *theta, uint64_t t, const double *theta_dot,
                       const double *dot, double *centre_dot);
    /* As those of a swept_task, by the constants instead of the knobs. */
    int (*back)(void *self, uint64_t from, uint64_t to, double *bar, double *theta_bar);
    int (*forth)(void *self, uint64_t from, uint64_t to, double *dot, const double *theta_dot);
    const char *cure;
} ball_task;

typedef struct ball_scene {
    swept swept; /* first */
    const ball_task *task;
    swept_task sweep;
    balls balls;
    double theta[BALL_SCENE_CONSTANTS]; /* of the episode */
} ball_scene;

/* Reads SWEPT_PARAMS, WATCHER_OBJECT_PARAM, and the true number of each knob from the parameter of its name;
 * those of knobs with a dot in their names, which share a parameter, are the scene's to read. */
void ball_scene_read(ball_scene *s, ds_param_reader *in, const ball_task *task);
/* Makes the balls, one of each of `count` colours, and ends with swept_ready(). */
void ball_scene_ready(ball_scene *s, ds_param_reader *in, uint32_t count, double radius,
                      const double *const *color);

#endif
