/* SPDX-License-Identifier: Apache-2.0 */
/* Scene extension of the plasticine environments: particles, tools, target and metrics of the last episode.
 * Bodies are, in this order, the soft bodies, the tools and the target. */
#include "env_scene.h"

#include "engines/mpm/scene/quaternion.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const metric_names[MPM_METRICS] = {"density", "sdf",       "contact_soft", "contact_hard",
                                                      "iou",     "com_x",     "com_y",        "com_z",
                                                      "sum_sq",  "det_f_mean"};
static const char *const metric_units[MPM_METRICS] = {"kg", "kg m", "m^2", "m^2", "",
                                                      "m",  "m",    "m",   "m^2", ""};

static const char *const body_names[MPM_MAX_BODIES] = {"material",   "material_2", "material_3",
                                                       "material_4", "material_5", "material_6",
                                                       "material_7", "material_8"};
static const char *const tool_names[MPM_MAX_TOOLS] = {"tool",   "tool_2", "tool_3", "tool_4",
                                                      "tool_5", "tool_6", "tool_7", "tool_8"};

void mpm_recording_free(mpm_recording *r)
{
    free(r->positions);
    free(r->poses);
    free(r->metrics);
    free(r->target_points);
    memset(r, 0, sizeof *r);
}

static size_t cells_of(const mpm_env *env)
{
    size_t n = (size_t)env->episode.sim.domain.n;
    return n * n * n;
}

/* A target that the user gives may hold any mass. */
static const double most_target_points = 200000.0;

/* How many points the nodes up to this one hold, rounded: consecutive differences are whole numbers of points
 * whose sum has no drift. */
static uint64_t points_up_to(double mass, double point_mass)
{
    return mass > 0.0 ? (uint64_t)(mass / point_mass + 0.5) : 0;
}

/* Points spread like the target's mass: as many per node as it has particle masses (or multiples of it,
 * where there would be too many), at the places of a low-discrepancy sequence (Roberts 2018, generalised
 * golden ratio) inside the node's cell. */
static bool make_target_points(mpm_env *env)
{
    const mpm_domain *domain = &env->episode.sim.domain;
    const double *target = env->episode.objective.target;
    mpm_recording *r = &env->recording;
    double sum = 0.0;
    for (size_t i = 0; i < cells_of(env); i++) {
        sum += target[i] > 0.0 ? target[i] : 0.0;
    }
    sum = isfinite(sum) ? sum : 0.0;
    double point_mass = fmax(domain->particle_mass, sum / most_target_points);
    r->target_count = points_up_to(sum, point_mass);
    r->target_points = malloc((r->target_count + 1) * 3 * sizeof(double));
    if (!r->target_points) {
        return false;
    }
    const double stride[3] = {0.8191725133961645, 0.6710436067037893, 0.5497004779019703};
    size_t n = (size_t)domain->n;
    uint64_t p = 0;
    sum = 0.0;
    for (size_t i = 0; i < cells_of(env); i++) {
        sum += target[i] > 0.0 ? target[i] : 0.0;
        const double node[3] = {(double)(i / (n * n)), (double)(i / n % n), (double)(i % n)};
        for (; p < r->target_count && p < points_up_to(sum, point_mass); p++) {
            for (int d = 0; d < 3; d++) {
                double u = 0.5 + (double)(p + 1) * stride[d];
                double x = (node[d] + (u - floor(u)) - 0.5) * domain->dx;
                r->target_points[3 * p + (uint64_t)d] = x > 0.0 ? x : 0.0;
            }
        }
    }
    r->target_count = p;
    return true;
}

ds_status mpm_recording_reserve(mpm_env *env)
{
    mpm_recording *r = &env->recording;
    size_t frames = env->episode.steps + (size_t)1;
    if (!r->positions) {
        r->positions = malloc(frames * env->episode.sim.n_particles * 3 * sizeof(double));
    }
    if (!r->poses) {
        r->poses = malloc(frames * (env->scene.n_tools + 1) * sizeof(mpm_pose));
    }
    if (!r->metrics) {
        r->metrics = malloc(frames * MPM_METRICS * sizeof(double));
    }
    if (!r->positions || !r->poses || !r->metrics || (!r->target_points && !make_target_points(env))) {
        return ds_host_fail(env->host, DS_E_NOMEM, "no memory to keep %zu frames of %u particles", frames,
                            env->episode.sim.n_particles);
    }
    return DS_OK;
}

void mpm_recording_step(void *context, uint32_t step, const mpm_particle *particles, const mpm_pose *poses,
                        const mpm_measure *m)
{
    mpm_env *env = context;
    mpm_recording *r = &env->recording;
    size_t count = env->episode.sim.n_particles, frames = env->episode.steps + (size_t)1;
    double *x = r->positions + step * count * 3;
    for (size_t p = 0; p < count; p++) {
        memcpy(x + 3 * p, particles[p].x, sizeof particles[p].x);
    }
    memcpy(r->poses + step * (size_t)env->scene.n_tools, poses, env->scene.n_tools * sizeof(mpm_pose));
    const double values[MPM_METRICS] = {m->density, m->sdf,       m->contact_soft, m->contact_hard,
                                        m->iou,     m->com[0],    m->com[1],       m->com[2],
                                        m->sum_sq,  m->det_f_mean};
    for (size_t i = 0; i < MPM_METRICS; i++) {
        r->metrics[i * frames + step] = values[i];
    }
    r->frames = step + (uint64_t)1;
}

static ds_status need_recording(const mpm_env *env)
{
    if (env->recording.frames == 0) {
        return ds_host_fail(env->host, DS_E_STATE, "no scene was kept: evaluate with DS_WANT_SCENE first");
    }
    return DS_OK;
}

static void put_pose(const double position[3], const double rotation[4], double out[7])
{
    double norm = sqrt(rotation[0] * rotation[0] + rotation[1] * rotation[1] + rotation[2] * rotation[2] +
                       rotation[3] * rotation[3]);
    memcpy(out, position, 3 * sizeof(double));
    for (int k = 0; k < 4; k++) {
        out[3 + k] = rotation[k] / norm;
    }
}

/* The two sticks hang from the pose; each is drawn as a capsule about its own middle. */
static void put_chopsticks(const mpm_tool *tool, const mpm_pose *pose, double out[14])
{
    for (int s = 0; s < 2; s++) {
        const double middle[3] = {s == 0 ? 0.5 * pose->gap : -0.5 * pose->gap, -0.5 * tool->size[1], 0.0};
        double at[3];
        quat_rotate(pose->rotation, middle, at);
        for (int d = 0; d < 3; d++) {
            at[d] += pose->position[d];
        }
        put_pose(at, pose->rotation, out + 7 * s);
    }
}

/* Poses of the shapes a tool is drawn as; returns how many. */
static uint32_t put_tool(const mpm_tool *tool, const mpm_pose *pose, double out[14])
{
    if (tool->shape == MPM_CHOPSTICKS) {
        put_chopsticks(tool, pose, out);
        return 2;
    }
    put_pose(pose->position, pose->rotation, out);
    return 1;
}

static void widen(double box[6], const double x[3], const double margin[3])
{
    for (int d = 0; d < 3; d++) {
        box[d] = x[d] - margin[d] < box[d] ? x[d] - margin[d] : box[d];
        box[3 + d] = x[d] + margin[d] > box[3 + d] ? x[d] + margin[d] : box[3 + d];
    }
}

/* Half the edges of the upright box around a shape that is turned by `rotation`. */
static void half_extent(const mpm_tool *tool, const double rotation[4], double out[3])
{
    double edge[3][3];
    for (int k = 0; k < 3; k++) {
        const double unit[3] = {k == 0, k == 1, k == 2};
        quat_rotate(rotation, unit, edge[k]);
    }
    for (int d = 0; d < 3; d++) {
        const double *s = tool->size;
        double along = fabs(edge[1][d]), across = sqrt(fmax(0.0, 1.0 - along * along));
        switch (tool->shape) {
        case MPM_SPHERE:
            out[d] = s[0];
            break;
        case MPM_CYLINDER:
            out[d] = s[0] * across + s[1] * along;
            break;
        case MPM_TORUS:
            out[d] = s[0] * across + s[1];
            break;
        case MPM_BOX:
            out[d] = s[0] * fabs(edge[0][d]) + s[1] * along + s[2] * fabs(edge[2][d]);
            break;
        default:
            out[d] = s[0] + 0.5 * s[1] * along;
            break;
        }
    }
}

static void widen_by_tool(double box[6], const mpm_tool *tool, const mpm_pose *pose)
{
    double at[14], half[3];
    uint32_t count = put_tool(tool, pose, at);
    for (uint32_t i = 0; i < count; i++) {
        half_extent(tool, at + 7 * i + 3, half);
        widen(box, at + 7 * i, half);
    }
}

static ds_status scene_info(void *self, ds_scene_info *out)
{
    const mpm_env *env = self;
    const mpm_recording *r = &env->recording;
    ds_status status = need_recording(env);
    if (status != DS_OK) {
        return status;
    }
    const mpm_domain *domain = &env->episode.sim.domain;
    const double no_margin[3] = {0.0, 0.0, 0.0};
    ds_scene_info info = {0};
    info.struct_size = out->struct_size;
    info.frames = r->frames;
    info.bodies = (uint64_t)env->scene.n_bodies + env->scene.n_tools + 1;
    info.metrics = MPM_METRICS;
    info.dt = domain->substeps * domain->dt;
    info.ground = 0.0;
    for (int d = 0; d < 3; d++) {
        info.box[d] = INFINITY;
        info.box[3 + d] = -INFINITY;
    }
    for (size_t p = 0; p < r->frames * env->episode.sim.n_particles; p++) {
        widen(info.box, r->positions + 3 * p, no_margin);
    }
    for (size_t p = 0; p < r->target_count; p++) {
        widen(info.box, r->target_points + 3 * p, no_margin);
    }
    for (size_t p = 0; p < r->frames * env->scene.n_tools; p++) {
        widen_by_tool(info.box, &env->scene.tools[p % env->scene.n_tools], &r->poses[p]);
    }
    info.box[1] = info.ground; /* what is below the floor is not seen, and shadows show what is in the air */
    memcpy(out, &info, out->struct_size < sizeof info ? out->struct_size : sizeof info);
    return DS_OK;
}

static void describe_tool(const mpm_tool *tool, ds_scene_body *body)
{
    static const uint32_t shapes[] = {DS_BODY_SPHERE, DS_BODY_CAPSULE, DS_BODY_CYLINDER, DS_BODY_TORUS,
                                      DS_BODY_BOX,    DS_BODY_CAPSULE, DS_BODY_CAPSULE};
    body->shape = shapes[tool->shape];
    body->role = tool->action_dim > 0 ? DS_ROLE_TOOL : DS_ROLE_FIXED;
    body->count = tool->shape == MPM_CHOPSTICKS ? 2 : 1;
    memcpy(body->size, tool->size, sizeof tool->size);
    if (tool->shape == MPM_CYLINDER) {
        body->size[1] *= 2.0; /* the tool has half the height */
    }
}

static ds_status scene_body(void *self, uint64_t b, ds_scene_body *out)
{
    const mpm_env *env = self;
    const mpm_scene *scene = &env->scene;
    const mpm_domain *domain = &env->episode.sim.domain;
    ds_status status = need_recording(env);
    if (status != DS_OK) {
        return status;
    }
    ds_scene_body body = {0};
    body.struct_size = out->struct_size;
    /* A particle stands for the share of the volume that it was given: about 8 per cell when filled. */
    body.shape = DS_BODY_POINTS;
    body.size[0] = 0.25 * domain->dx;
    if (b < scene->n_bodies) {
        body.role = DS_ROLE_MATERIAL;
        body.variety = (uint32_t)b;
        body.count = mpm_body_count(scene, domain, env->particles_asked, (uint32_t)b);
        body.name = body_names[b];
    } else if (b < (uint64_t)scene->n_bodies + scene->n_tools) {
        uint32_t t = (uint32_t)b - scene->n_bodies;
        memset(body.size, 0, sizeof body.size);
        describe_tool(&scene->tools[t], &body);
        body.variety = t;
        body.name = tool_names[t];
    } else if (b == (uint64_t)scene->n_bodies + scene->n_tools) {
        body.role = DS_ROLE_TARGET;
        body.count = env->recording.target_count;
        body.name = "target";
    } else {
        return ds_host_fail(env->host, DS_E_ARG, "there is no body %llu", (unsigned long long)b);
    }
    memcpy(out, &body, out->struct_size < sizeof body ? out->struct_size : sizeof body);
    return DS_OK;
}

static ds_status scene_frame(void *self, uint64_t k, uint64_t b, uint64_t capacity, double *out)
{
    const mpm_env *env = self;
    const mpm_recording *r = &env->recording;
    ds_scene_body body = {0};
    body.struct_size = sizeof body;
    ds_status status = scene_body(self, b, &body);
    if (status != DS_OK) {
        return status;
    }
    uint64_t width = body.shape == DS_BODY_POINTS ? 3 : 7;
    if (k >= r->frames || capacity < width * body.count) {
        return ds_host_fail(env->host, DS_E_ARG, "frame %llu of body %s needs %llu numbers and k < %llu",
                            (unsigned long long)k, body.name, (unsigned long long)(width * body.count),
                            (unsigned long long)r->frames);
    }
    if (body.role == DS_ROLE_TARGET) {
        memcpy(out, r->target_points, body.count * 3 * sizeof(double));
        return DS_OK;
    }
    if (body.role == DS_ROLE_MATERIAL) {
        uint64_t first = k * env->episode.sim.n_particles;
        for (uint32_t i = 0; i < b; i++) {
            first += mpm_body_count(&env->scene, &env->episode.sim.domain, env->particles_asked, i);
        }
        memcpy(out, r->positions + 3 * first, body.count * 3 * sizeof(double));
        return DS_OK;
    }
    uint64_t t = b - env->scene.n_bodies;
    const mpm_pose *pose = &r->poses[k * env->scene.n_tools + t];
    put_tool(&env->scene.tools[t], pose, out);
    return DS_OK;
}

static ds_status scene_metric(void *self, uint64_t m, const char **name, const char **unit,
                              const double **values)
{
    const mpm_env *env = self;
    ds_status status = need_recording(env);
    if (status != DS_OK) {
        return status;
    }
    if (m >= MPM_METRICS) {
        return ds_host_fail(env->host, DS_E_ARG, "there is no metric %llu", (unsigned long long)m);
    }
    *name = metric_names[m];
    *unit = metric_units[m];
    *values = env->recording.metrics + m * (env->episode.steps + (uint64_t)1);
    return DS_OK;
}

const ds_scene mpm_env_scene = {.struct_size = sizeof(ds_scene),
                                .info = scene_info,
                                .body = scene_body,
                                .frame = scene_frame,
                                .metric = scene_metric};
