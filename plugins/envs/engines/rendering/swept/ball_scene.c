/* SPDX-License-Identifier: Apache-2.0 */
/* ball_scene.c - scenes of balls on an engine with a few constants: what the knobs do to them. */
#include "ball_scene.h"

#include <string.h>

/* ---- from knobs to what they set, and back ---- */

static void pick(const uint32_t *from, uint32_t n, const double *value, double other, double *out)
{
    for (uint32_t i = 0; i < n; i++) {
        out[i] = from[i] != BALL_SCENE_NONE ? value[from[i]] : other;
    }
}

static void pick_bar(const uint32_t *from, uint32_t n, const double *out_bar, double *value_bar)
{
    for (uint32_t i = 0; i < n; i++) {
        if (from[i] != BALL_SCENE_NONE) {
            value_bar[from[i]] += out_bar[i];
        }
    }
}

static void start_bar(void *self, const double *bar, double *value_bar)
{
    const ball_task *task = ((ball_scene *)self)->task;
    pick_bar(task->start, task->states, bar, value_bar);
}

static void start_dot(void *self, const double *value_dot, double *dot)
{
    const ball_task *task = ((ball_scene *)self)->task;
    pick(task->start, task->states, value_dot, 0, dot);
}

/* ---- an episode ---- */

static int64_t launch(void *self, const double *value)
{
    ball_scene *s = self;
    double start[SWEPT_NUMBERS];
    pick(s->task->constant, s->task->constants, value, s->task->other, s->theta);
    pick(s->task->start, s->task->states, value, 0, start);
    return s->task->launch(s, s->theta, start);
}

static void place(const void *self, uint64_t t, double *points)
{
    const ball_scene *s = self;
    double centre[2 * BALLS];
    s->task->centre(s, s->theta, t, centre);
    balls_place(&s->balls, centre, points);
}

static void place_bar(const void *self, uint64_t t, const double *points_bar, double *bar, double *value_bar)
{
    const ball_scene *s = self;
    double centre_bar[2 * BALLS], theta_bar[BALL_SCENE_CONSTANTS] = {0};
    balls_place_adjoint(&s->balls, points_bar, centre_bar);
    s->task->centre_bar(s, s->theta, t, centre_bar, bar, theta_bar);
    pick_bar(s->task->constant, s->task->constants, theta_bar, value_bar);
}

static void place_dot(const void *self, uint64_t t, const double *dot, const double *value_dot,
                      double *points_dot)
{
    const ball_scene *s = self;
    double centre_dot[2 * BALLS], theta_dot[BALL_SCENE_CONSTANTS];
    pick(s->task->constant, s->task->constants, value_dot, 0, theta_dot);
    s->task->centre_dot(s, s->theta, t, theta_dot, dot, centre_dot);
    balls_place_tangent(&s->balls, centre_dot, points_dot);
}

static int back(void *self, uint64_t from, uint64_t to, double *bar, double *value_bar)
{
    ball_scene *s = self;
    double theta_bar[BALL_SCENE_CONSTANTS] = {0};
    const int finite = s->task->back(s, from, to, bar, theta_bar);
    pick_bar(s->task->constant, s->task->constants, theta_bar, value_bar);
    return finite;
}

static int forth(void *self, uint64_t from, uint64_t to, double *dot, const double *value_dot)
{
    ball_scene *s = self;
    double theta_dot[BALL_SCENE_CONSTANTS];
    pick(s->task->constant, s->task->constants, value_dot, 0, theta_dot);
    return s->task->forth(s, from, to, dot, theta_dot);
}

/* ---- set-up ---- */

void ball_scene_read(ball_scene *s, ds_param_reader *in, const ball_task *task)
{
    knob_set *set = &s->swept.knobs;
    s->task = task;
    s->sweep = (swept_task){.numbers = task->states,
                            .launch = launch,
                            .place = place,
                            .place_bar = place_bar,
                            .place_dot = place_dot,
                            .back = back,
                            .forth = forth,
                            .start_bar = start_bar,
                            .start_dot = start_dot,
                            .cure = task->cure};
    swept_read(&s->swept, in, &s->sweep);
    swept_object(&s->swept, in);
    set->knob = task->knob;
    set->knobs = task->knobs;
    for (uint32_t k = 0; k < task->knobs; k++) {
        if (strchr(task->knob[k].name, '.') == NULL) {
            set->truth[k] = ds_param_real(in, task->knob[k].name);
        }
    }
}

void ball_scene_ready(ball_scene *s, ds_param_reader *in, uint32_t count, double radius,
                      const double *const *color)
{
    if (in->status == DS_OK) {
        in->status =
            balls_open(&s->balls, &s->swept.watcher.kit.memory, count, radius, color, &s->swept.subject);
    }
    swept_ready(&s->swept, in);
}
