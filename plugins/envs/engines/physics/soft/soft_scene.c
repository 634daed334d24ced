/* SPDX-License-Identifier: Apache-2.0 */
/* soft_scene.c - what is seen of the episodes of deformable bodies. */
#include "engines/physics/soft/soft.h"

#include <math.h>

enum { BODY, TARGET };

/* What is drawn of the body, or of its target: triangles, or particles with their springs. */
static void add_body(const soft *s, ds_scene_kit *k, int b)
{
    const size_t n = s->model.particles;
    const int mesh = s->mesh.triangles > 0;
    const uint64_t at =
        ds_scene_kit_body(k, b == BODY ? "body" : "target", mesh ? DS_BODY_MESH : DS_BODY_POINTS,
                          b == BODY ? DS_ROLE_MATERIAL : DS_ROLE_TARGET, n, (double[4]){s->radius, 0, 0, 0});
    k->body[at].index = mesh ? s->mesh.triangle : NULL;
    k->body[at].index_count = 3 * s->mesh.triangles;
}

void soft_bodies(void *self, ds_scene_kit *k)
{
    soft *s = self;
    add_body(s, k, BODY);
    add_body(s, k, TARGET);
    if (s->model.springs > 0) {
        const uint64_t at = ds_scene_kit_body(k, "springs", DS_BODY_LINES, DS_ROLE_FIXED, s->model.particles,
                                              (double[4]){0.01, 0, 0, 0});
        k->body[at].index = s->model.spring;
        k->body[at].index_count = 2 * s->model.springs;
    }
    for (size_t i = 0; i < s->model.particles; i++) {
        const double *q = s->model.q + 3 * i, *goal = s->goal + 3 * i;
        ds_scene_kit_include(k, q[0], q[1], q[2], s->radius);
        ds_scene_kit_include(k, goal[0], goal[1], goal[2], s->radius);
    }
    identified_metrics(&s->error, k);
    k->info.ground = s->model.ground.on ? 0 : -HUGE_VAL;
    if (s->model.ground.on) {
        k->info.box[1] = fmin(k->info.box[1], 0);
    }
}

void soft_place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const soft *s = self;
    const double *from = b == TARGET ? s->goal : soft_frame(s, k);
    for (size_t i = 0; i < 3 * s->model.particles; i++) {
        out[i] = from[i];
    }
}

double soft_measure(soft *s, uint64_t k, double centre[3])
{
    const double *q = soft_frame(s, k);
    double goal[3];
    for (size_t i = 0; i < s->model.particles; i++) {
        ds_scene_kit_include(&s->watcher.kit.scene, q[3 * i], q[3 * i + 1], q[3 * i + 2], s->radius);
    }
    fem_centre(&s->model, q, centre);
    fem_centre(&s->model, s->goal, goal);
    return sqrt((centre[0] - goal[0]) * (centre[0] - goal[0]) +
                (centre[1] - goal[1]) * (centre[1] - goal[1]) +
                (centre[2] - goal[2]) * (centre[2] - goal[2]));
}

const ds_scene_kit_label soft_goal_metrics[] = {
    {"x", "m"}, {"y", "m"}, {"z", "m"}, {"distance", "m"}, {NULL, NULL}};

void soft_measure_goal(void *self, uint64_t k, double *out)
{
    out[3] = soft_measure(self, k, out);
}

const ds_scene_kit_label soft_fit_metrics[] = {
    {"x", "m"}, {"y", "m"}, {"distance", "m"}, {"error", ""}, {NULL, NULL}};

void soft_measure_fit(void *self, uint64_t k, double *out)
{
    const soft *s = self;
    double centre[3];
    out[2] = soft_measure(self, k, centre);
    out[0] = centre[0];
    out[1] = centre[1];
    identified_put(&s->error, out + 3);
}
