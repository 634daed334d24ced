/* SPDX-License-Identifier: Apache-2.0 */
/* terms.c - see terms.h. Each term is next to its adjoint. */
#include "engines/physics/mpm/env/terms.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/physics/mpm/sim/loss.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- centre of mass ---- */

static void center_of(const mpm_terms_run *r, uint32_t body, const mpm_particle *particles, double center[3])
{
    memset(center, 0, 3 * sizeof(double));
    for (uint32_t p = r->first[body]; p < r->first[body] + r->count[body]; p++) {
        for (int d = 0; d < 3; d++) {
            center[d] += particles[p].x[d] / r->count[body];
        }
    }
}

static void center_adjoint(const mpm_terms_run *r, uint32_t body, const double center_bar[3],
                           mpm_particle *bar)
{
    for (uint32_t p = r->first[body]; p < r->first[body] + r->count[body]; p++) {
        for (int d = 0; d < 3; d++) {
            bar[p].x[d] += center_bar[d] / r->count[body];
        }
    }
}

/* The vector from the goal of a term to the centre, and its length, sqrt(a.a + tiny): differentiable
 * everywhere. */
static double to_center(const mpm_term *t, const double center[3], const mpm_pose *poses, double delta[3])
{
    const double *at = t->to_tool ? poses[t->tool].position : t->position;
    double sum = 0.0;
    for (int d = 0; d < 3; d++) {
        delta[d] = t->along[d] ? center[d] - at[d] : 0.0;
        sum += delta[d] * delta[d];
    }
    return sqrt(sum + 1e-20);
}

static double missing_height(const mpm_term *t, double y)
{
    const double missing = t->below ? y - t->height : t->height - y;
    return missing > 0.0 ? missing : 0.0;
}

/* ---- region ---- */

static double region_loss(const mpm_terms_run *r, const mpm_term *t, const mpm_particle *particles)
{
    double sum = 0.0;
    for (uint32_t p = r->first[t->body]; p < r->first[t->body] + r->count[t->body]; p++) {
        const double d = mpm_tool_distance(&t->region, &t->region.start, particles[p].x);
        sum += d > 0.0 ? d * d : 0.0;
    }
    return sum / r->count[t->body];
}

static void region_adjoint(const mpm_terms_run *r, const mpm_term *t, const mpm_particle *particles,
                           mpm_particle *bar)
{
    mpm_pose unused;
    memset(&unused, 0, sizeof unused);
    for (uint32_t p = r->first[t->body]; p < r->first[t->body] + r->count[t->body]; p++) {
        const double d = mpm_tool_distance(&t->region, &t->region.start, particles[p].x);
        if (d > 0.0) {
            mpm_tool_distance_adjoint(&t->region, &t->region.start, particles[p].x,
                                      t->weight * 2.0 * d / r->count[t->body], &unused, bar[p].x);
        }
    }
}

/* ---- the sum ---- */

/* One term, without its weight. */
static double term_value(const mpm_terms_run *r, const mpm_term *t, const mpm_particle *particles,
                         const mpm_pose *poses)
{
    double center[3], delta[3];
    if (t->kind == MPM_TERM_REGION) {
        return region_loss(r, t, particles);
    }
    center_of(r, t->body, particles, center);
    return t->kind == MPM_TERM_CENTER ? to_center(t, center, poses, delta) : missing_height(t, center[1]);
}

static mpm_result loss_of(void *self, uint32_t step, const mpm_particle *particles, const mpm_pose *poses,
                          double *loss)
{
    mpm_terms_run *r = self;
    mpm_episode *e = r->episode;
    mpm_result result = MPM_OK;
    double sum = 0.0;
    (void)step;
    if (e->objective.target) {
        result = mpm_loss_of_state(&e->objective, &e->sim, particles, poses, &sum);
    }
    for (uint32_t k = 0; k < r->terms->count; k++) {
        sum += r->terms->term[k].weight * term_value(r, &r->terms->term[k], particles, poses);
    }
    *loss = sum;
    return result;
}

static mpm_result loss_adjoint(void *self, uint32_t step, const mpm_particle *particles,
                               const mpm_pose *poses, mpm_particle *bar, mpm_pose *poses_bar)
{
    mpm_terms_run *r = self;
    mpm_episode *e = r->episode;
    mpm_result result = MPM_OK;
    double center_bar[MPM_MAX_BODIES][3] = {{0.0}}, center[3], delta[3];
    (void)step;
    if (e->objective.target) {
        result = mpm_loss_adjoint(&e->objective, &e->sim, particles, poses, 1.0, bar, poses_bar);
    }
    for (uint32_t k = 0; k < r->terms->count; k++) {
        const mpm_term *t = &r->terms->term[k];
        if (t->kind == MPM_TERM_REGION) {
            region_adjoint(r, t, particles, bar);
            continue;
        }
        center_of(r, t->body, particles, center);
        if (t->kind == MPM_TERM_HEIGHT) {
            const double sign = t->below ? 1.0 : -1.0;
            center_bar[t->body][1] += missing_height(t, center[1]) > 0.0 ? t->weight * sign : 0.0;
            continue;
        }
        const double slope = t->weight / to_center(t, center, poses, delta);
        for (int d = 0; d < 3; d++) {
            center_bar[t->body][d] += slope * delta[d];
            if (t->to_tool) {
                poses_bar[t->tool].position[d] -= slope * delta[d];
            }
        }
    }
    for (uint32_t b = 0; b < e->scene->n_bodies; b++) {
        center_adjoint(r, b, center_bar[b], bar);
    }
    return result;
}

void mpm_terms_goal(mpm_terms_run *run, const mpm_terms *terms, mpm_episode *e, const mpm_scene *scene,
                    const mpm_domain *domain, uint32_t total, mpm_goal *goal)
{
    uint32_t first = 0;
    run->n_bodies = scene->n_bodies;
    run->n_tools = scene->n_tools;
    run->terms = terms;
    run->episode = e;
    for (uint32_t b = 0; b < scene->n_bodies; b++) {
        run->first[b] = first;
        run->count[b] = mpm_body_count(scene, domain, total, b);
        first += run->count[b];
    }
    *goal = (mpm_goal){.self = run, .loss = loss_of, .adjoint = loss_adjoint};
}

/* ---- metrics ---- */

/* A name in lower case with letters, digits and _ that no metric has yet. */
static const char *metric_name(const ds_scene_kit *s, ds_memory *memory, const char *prefix, const char *own,
                               const char *ending)
{
    enum { ROOM = 64 };
    char *name = ds_memory_take(memory, ROOM, 1);
    if (!name) {
        return "";
    }
    snprintf(name, ROOM, "%s%.40s%s", prefix, own, ending);
    for (char *c = name; *c; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
        *c = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') ? *c : '_';
    }
    name[0] = name[0] >= 'a' ? name[0] : 'm';
    for (uint64_t m = 0; m < s->info.metrics; m++) {
        const size_t used = strlen(name);
        if (strcmp(s->metric[m].name, name) == 0 && used + 2 < ROOM) {
            memcpy(name + used, "_t", 3); /* a tool with the name of a body */
            m = 0;
        }
    }
    return name;
}

void mpm_terms_metrics(const mpm_terms_run *r, const char *const *body_names, const char *const *tool_names,
                       ds_scene_kit *s, ds_memory *memory)
{
    static const char *const axes[] = {"_x", "_y", "_z"};
    for (uint32_t k = 0; k < 3 * (r->n_bodies + r->n_tools); k++) {
        const uint32_t i = k / 3;
        const char *own = i < r->n_bodies ? body_names[i] : tool_names[i - r->n_bodies];
        ds_scene_kit_metric(s, metric_name(s, memory, "", own, axes[k % 3]), "m");
    }
    for (uint32_t k = 0; k < r->terms->count; k++) {
        const bool is_region = r->terms->term[k].kind == MPM_TERM_REGION;
        ds_scene_kit_metric(s, metric_name(s, memory, "loss_", r->terms->term[k].name, ""),
                            is_region ? "m^2" : "m");
    }
    ds_scene_kit_metric(s, metric_name(s, memory, "loss", "", ""), "");
    ds_scene_kit_metric(s, metric_name(s, memory, "speed", "", ""), "m/s");
    ds_scene_kit_metric(s, metric_name(s, memory, "volume_least", "", ""), "");
    ds_scene_kit_metric(s, metric_name(s, memory, "volume_most", "", ""), "");
}

void mpm_terms_measure(mpm_terms_run *r, const mpm_particle *particles, const mpm_pose *poses, double *out)
{
    double loss = 0.0, speed = 0.0, least = (double)INFINITY, most = 0.0;
    for (uint32_t b = 0; b < r->n_bodies; b++, out += 3) {
        center_of(r, b, particles, out);
        for (uint32_t p = r->first[b]; p < r->first[b] + r->count[b]; p++) {
            const double volume = mat3_det(particles[p].f);
            speed = fmax(speed, sqrt(vec3_dot(particles[p].v, particles[p].v)));
            least = fmin(least, volume);
            most = fmax(most, volume);
        }
    }
    for (uint32_t t = 0; t < r->n_tools; t++, out += 3) {
        memcpy(out, poses[t].position, sizeof poses[t].position);
    }
    for (uint32_t k = 0; k < r->terms->count; k++) {
        *out++ = term_value(r, &r->terms->term[k], particles, poses);
    }
    if (loss_of(r, 0, particles, poses, &loss) != MPM_OK) {
        loss = (double)NAN;
    }
    const double rest[] = {loss, speed, least, most};
    memcpy(out, rest, sizeof rest);
}
