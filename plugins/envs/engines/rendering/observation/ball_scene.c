/* SPDX-License-Identifier: Apache-2.0 */
/* ball_scene.c - observed scenes of balls that move in the plane z = 0. */
#include "engines/rendering/observation/ball_scene.h"

#include "engines/physics/fem/mesh.h"

#include <string.h>

/* ---- balls ---- */

const double balls_red[3] = {1, 0, 0}, balls_blue[3] = {0, 0, 1};

static void copy(balls *b, const fem_mesh *one, double radius, const double *const *color)
{
    for (size_t i = 0; i < 3 * one->points * b->count; i++) {
        b->shape[i] = radius * one->point[i % (3 * one->points)];
    }
    for (size_t i = 0; i < 3 * one->triangles * b->count; i++) {
        const size_t ball = i / (3 * one->triangles);
        b->face[i] = one->triangle[i % (3 * one->triangles)] + (uint32_t)(ball * one->points);
        b->color[i] = color[ball][i % 3];
    }
}

ds_status balls_open(balls *b, ds_memory *m, uint32_t count, double radius, const double *const *color,
                     frames_subject *subject)
{
    fem_mesh one;
    const ds_status status = fem_mesh_sphere(&one);
    if (status != DS_OK) {
        return status;
    }
    b->count = count;
    b->points = one.points;
    b->shape = ds_memory_doubles(m, 3 * one.points * count);
    b->face = ds_memory_take(m, 3 * one.triangles * count, sizeof *b->face);
    b->color = ds_memory_doubles(m, 3 * one.triangles * count);
    if (!m->failed) {
        copy(b, &one, radius, color);
    }
    const uint32_t faces = (uint32_t)one.triangles, points = (uint32_t)one.points;
    *subject = (frames_subject){.mesh = {count * points, count * faces, b->face},
                                .color = b->color,
                                .rest = b->shape,
                                .groups = count};
    for (uint32_t i = 0; i < count; i++) {
        subject->group[i] = (frames_group){i * faces, faces};
    }
    fem_mesh_free(&one);
    return m->failed ? DS_E_NOMEM : DS_OK;
}

void balls_place(const balls *b, const double *centre, double *points)
{
    balls_place_tangent(b, centre, points);
    for (size_t i = 0; i < 3 * b->points * b->count; i++) {
        points[i] += b->shape[i];
    }
}

void balls_place_adjoint(const balls *b, const double *points_bar, double *centre_bar)
{
    memset(centre_bar, 0, 2 * b->count * sizeof *centre_bar);
    for (size_t i = 0; i < b->points * b->count; i++) {
        centre_bar[2 * (i / b->points)] += points_bar[3 * i];
        centre_bar[2 * (i / b->points) + 1] += points_bar[3 * i + 1];
    }
}

void balls_place_tangent(const balls *b, const double *centre_dot, double *points_dot)
{
    for (size_t i = 0; i < b->points * b->count; i++) {
        points_dot[3 * i] = centre_dot[2 * (i / b->points)];
        points_dot[3 * i + 1] = centre_dot[2 * (i / b->points) + 1];
        points_dot[3 * i + 2] = 0;
    }
}

/* ---- from decisions to start and constants, and back ---- */

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
    double start[OBSERVED_NUMBERS];
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
    decision_set *set = &s->observed.decisions;
    s->task = task;
    s->sweep = (observed_task){.numbers = task->states,
                               .launch = launch,
                               .place = place,
                               .place_bar = place_bar,
                               .place_dot = place_dot,
                               .back = back,
                               .forth = forth,
                               .start_bar = start_bar,
                               .start_dot = start_dot,
                               .cure = task->cure};
    observed_read(&s->observed, in, &s->sweep);
    observed_object(&s->observed, in);
    set->offered = task->offered;
    set->offers = task->offers;
    for (uint32_t k = 0; k < task->offers; k++) {
        if (strchr(task->offered[k].name, '.') == NULL) {
            set->truth[k] = ds_param_real(in, task->offered[k].name);
        }
    }
}

void ball_scene_ready(ball_scene *s, ds_param_reader *in, uint32_t count, double radius,
                      const double *const *color)
{
    if (in->status == DS_OK) {
        in->status =
            balls_open(&s->balls, &s->observed.env.kit.memory, count, radius, color, &s->observed.subject);
    }
    observed_ready(&s->observed, in);
}
