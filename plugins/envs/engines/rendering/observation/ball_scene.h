/* SPDX-License-Identifier: Apache-2.0 */
/* ball_scene.h - observed scenes of balls that move in the plane z = 0, on an engine with a few constants.
 *
 * `balls` are spheres of one size and one colour each. `ball_scene` adds an engine: decisions (decision.h)
 * are its constants or numbers of its state at the start, and the state gives the centres of the balls. The
 * instance begins with a `ball_scene`. Its read() calls ball_scene_read(), then observed_frames(), creates
 * the engine, and ends with ball_scene_ready(); its ds_env_table has the entries of OBSERVED_TABLE. */
#ifndef DS_ENGINES_OBSERVATION_BALL_SCENE_H
#define DS_ENGINES_OBSERVATION_BALL_SCENE_H

#include "engines/rendering/observation/frames.h"
#include "engines/rendering/observation/observed.h"

#include <diffsim/base.h>
#include <diffsim/helper/memory.h>

enum { BALLS = 2 };

/* Colours of gradSim's bobs. */
extern const double balls_red[3], balls_blue[3];

typedef struct balls {
    uint32_t count; /* at most BALLS */
    size_t points;  /* of one ball */
    double *shape;  /* [count][points][3], each about its own centre, m */
    uint32_t *face; /* of all balls, ball 0 first */
    double *color;  /* of the faces */
} balls;

/* Allocates from `m`. Sets `subject` to show each ball in an image of its own; its points are the points of
 * ball 0, then of ball 1. Returns DS_OK or DS_E_NOMEM. */
ds_status balls_open(balls *b, ds_memory *m, uint32_t count, double radius, const double *const *color,
                     frames_subject *subject);

/* Points [count][points][3] of balls at centre[count][2]. The adjoint sets centre_bar, the tangent sets
 * points_dot. */
void balls_place(const balls *b, const double *centre, double *points);
void balls_place_adjoint(const balls *b, const double *points_bar, double *centre_bar);
void balls_place_tangent(const balls *b, const double *centre_dot, double *points_dot);

/* ---- scenes ---- */

enum { BALL_SCENE_CONSTANTS = 8 };     /* most constants of an engine */
enum { BALL_SCENE_NONE = UINT32_MAX }; /* no decision: the number keeps its value */

/* The scene's functions; `self` is the instance. theta are the constants of the episode, centre[count][2] the
 * centres of the balls. Derivatives by a state are `states` doubles. */
typedef struct ball_task {
    const decision *offered;
    uint32_t offers;
    uint32_t states, constants; /* at most OBSERVED_NUMBERS, BALL_SCENE_CONSTANTS */
    const uint32_t *start;      /* [states]: the decision that sets this number of state 0 */
    const uint32_t *constant;   /* [constants]: the decision that sets this constant */
    double other;               /* value of constants without a decision */

    /* Simulates. Returns -1, or the first step after which the state is not finite. */
    int64_t (*launch)(void *self, const double *theta, const double *start);
    /* Centres of the balls at state t. The adjoint adds to bar and theta_bar; the tangent sets centre_dot. */
    void (*centre)(const void *self, const double *theta, uint64_t t, double *centre);
    void (*centre_bar)(const void *self, const double *theta, uint64_t t, const double *centre_bar,
                       double *bar, double *theta_bar);
    void (*centre_dot)(const void *self, const double *theta, uint64_t t, const double *theta_dot,
                       const double *dot, double *centre_dot);
    /* Like back() and forth() of an observed_task, by constants instead of decisions. */
    int (*back)(void *self, uint64_t from, uint64_t to, double *bar, double *theta_bar);
    int (*forth)(void *self, uint64_t from, uint64_t to, double *dot, const double *theta_dot);
    const char *cure;
} ball_task;

typedef struct ball_scene {
    observed observed; /* first */
    const ball_task *task;
    observed_task sweep;
    balls balls;
    double theta[BALL_SCENE_CONSTANTS]; /* of the episode */
} ball_scene;

/* Reads OBSERVED_PARAMS and COMPARISON_OBJECT_PARAM, and the true value of each decision from the parameter
 * of the same name. The scene reads the true values of decisions with a dot in their name, which share a
 * parameter. */
void ball_scene_read(ball_scene *s, ds_param_reader *in, const ball_task *task);
/* Creates `count` balls with these colours and ends with observed_ready(). */
void ball_scene_ready(ball_scene *s, ds_param_reader *in, uint32_t count, double radius,
                      const double *const *color);

#endif
