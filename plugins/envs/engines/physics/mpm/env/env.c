/* SPDX-License-Identifier: Apache-2.0 */
/* env.c - an instance of the plasticine environments: memory, evaluation, stepwise control with the
 * observations of PlasticineLab (Huang et al. 2021, envs/env.py: some of the particles, and the tools), names
 * of the variables. */
#include "engines/physics/mpm/env/env.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/mpm/env/stepwise.h"

#include <diffsim/helper/env_kit.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- network in the yield stress ---- */

enum { INPUTS = 2 };

/* Fills `out`; returns the number of hook points. */
static uint64_t mpm_net_hooks(ds_hook *out)
{
    uint64_t k = 0;
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "volume", "",
                    "Of a particle, 1 at the start: det F of the trial state of a substep, before it "
                    "flows.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "shear", "",
                    "Of a particle in that state: norm of the deviator of the logarithmic strain.");
    ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, 1, "yield_stress", "Pa",
                    "Of a particle in a substep: starts as the task's value (50 to 200 Pa); values below 0 "
                    "count as 0. The built-in targets are made without a network.");
    return k;
}

/* The yield stress of one particle; `tape` stores its computation. */
static double stress_of(const mpm_net *net, double volume, double shear, double *tape)
{
    const double in[INPUTS] = {volume, shear};
    double stress = net->stress;
    ds_hybrid_forward(net->hybrid, net->weights, in, &stress, tape);
    return stress;
}

static double *tape_of(const mpm_net *net, uint32_t part)
{
    return net->tape + part * (net->hybrid->tape + 1);
}

static void strain(void *self, uint32_t part, size_t count, const double *volume, const double *shear,
                   double *out)
{
    const mpm_net *net = self;
    for (size_t i = 0; i < count; i++) {
        double stress = stress_of(net, volume[i], shear[i], tape_of(net, part));
        out[i] = stress > 0.0 ? stress / (2.0 * net->mu) : 0.0;
    }
}

static void strain_adjoint(void *self, uint32_t part, size_t count, const double *volume, const double *shear,
                           const double *strain_bar, double *volume_bar, double *shear_bar)
{
    const mpm_net *net = self;
    double *tape = tape_of(net, part), *w_bar = net->w_bar + part * net->hybrid->variables;
    for (size_t i = 0; i < count; i++) {
        double in_bar[INPUTS] = {0.0, 0.0};
        /* most particles do not flow in most substeps */
        if ((strain_bar[i] > 0.0 || strain_bar[i] < 0.0) && stress_of(net, volume[i], shear[i], tape) > 0.0) {
            double stress_bar = strain_bar[i] / (2.0 * net->mu);
            ds_hybrid_reverse(net->hybrid, net->weights, tape, &stress_bar, w_bar, in_bar);
        }
        volume_bar[i] = in_bar[0];
        shear_bar[i] = in_bar[1];
    }
}

/* Allocates from `room`; `hybrid` must outlive the net. stress, mu: yield stress and shear modulus, Pa.
 * Returns false without memory. */
static bool mpm_net_open(mpm_net *net, const ds_hybrid *hybrid, double stress, double mu, ds_memory *room)
{
    net->yield = (mpm_yield){.self = net, .strain = strain, .adjoint = strain_adjoint};
    net->hybrid = hybrid;
    net->stress = stress;
    net->mu = mu;
    net->tape = ds_memory_doubles(room, MPM_PARTS * (hybrid->tape + 1));
    net->w_bar = ds_memory_doubles(room, MPM_PARTS * hybrid->variables);
    return net->tape && net->w_bar;
}

/* Sets the weights before an episode; they must stay until the episode ends. */
static void mpm_net_begin(mpm_net *net, const double *weights)
{
    net->weights = weights;
    memset(net->w_bar, 0, MPM_PARTS * net->hybrid->variables * sizeof *net->w_bar);
}

/* After an episode with gradient: adds the derivatives by the weights to grad. The sum does not depend on the
 * number of threads. */
static void mpm_net_gradient(const mpm_net *net, double *grad)
{
    const uint64_t n = net->hybrid->variables;
    for (uint64_t i = 0; i < MPM_PARTS * n; i++) {
        grad[i % n] += net->w_bar[i];
    }
}

/* ---- environment interface ---- */

uint64_t mpm_env_pose_size(const mpm_tool *tool)
{
    return tool->shape == MPM_CHOPSTICKS ? 8 : 7;
}

uint32_t mpm_env_stride(const mpm_env *env)
{
    uint32_t n = env->episode.sim.n_particles, wanted = env->observed_asked;
    return n < wanted || wanted == 0 ? 1 : n / wanted;
}

uint32_t mpm_env_observed(const mpm_env *env)
{
    uint32_t n = env->episode.sim.n_particles, stride = mpm_env_stride(env);
    return env->observed_asked == 0 ? 0 : (n + stride - 1) / stride;
}

uint64_t mpm_env_hooks(const void *self, ds_hook *out)
{
    (void)self;
    return mpm_net_hooks(out);
}

ds_status mpm_env_wire(void *self)
{
    mpm_env *env = self;
    mpm_sim *sim = &env->episode.sim;
    if (env->kit.hybrid.nets == 0) {
        return DS_OK;
    }
    if (!mpm_net_open(&env->net, &env->kit.hybrid, env->scene.yield_stress, sim->phases[0].material.mu,
                      &env->kit.memory)) {
        return ds_host_fail(env->kit.host, DS_E_NOMEM, "no memory for the networks of parameter residual");
    }
    for (uint32_t k = 0; k < sim->n_phases; k++) {
        sim->phases[k].material.yield = &env->net.yield;
    }
    return DS_OK;
}

void mpm_env_release(void *self)
{
    mpm_env *env = self;
    mpm_episode_free(&env->episode);
    image_loss_close(&env->image.image_loss);
}

ds_status mpm_env_begin(void *self, uint64_t noise_key)
{
    mpm_env *env = self;
    (void)noise_key;
    return mpm_stepwise_reset(&env->episode, env->kit.host, env->kit.n_obs);
}

void mpm_env_observe(const void *self, double *obs)
{
    const mpm_env *env = self;
    const mpm_pose *poses = mpm_stepwise_poses(&env->episode);
    for (uint32_t i = 0; i < mpm_env_observed(env); i++) {
        const mpm_particle *particle = &env->episode.now[(size_t)i * mpm_env_stride(env)];
        memcpy(obs, particle->x, sizeof particle->x);
        memcpy(obs + 3, particle->v, sizeof particle->v);
        obs += 6;
    }
    for (uint32_t t = 0; t < env->scene.n_tools; t++) {
        memcpy(obs, poses[t].position, sizeof poses[t].position);
        memcpy(obs + 3, poses[t].rotation, sizeof poses[t].rotation);
        uint64_t size = mpm_env_pose_size(&env->scene.tools[t]);
        if (size == 8) {
            obs[7] = poses[t].gap;
        }
        obs += size;
    }
}

/* The adjoint of mpm_env_observe(). */
static void observe_adjoint(const void *self, const double *obs_bar, mpm_particle *bar, mpm_pose *poses_bar)
{
    const mpm_env *env = self;
    for (uint32_t i = 0; i < mpm_env_observed(env); i++, obs_bar += 6) {
        mpm_particle *particle = &bar[(size_t)i * mpm_env_stride(env)];
        vec3_add_scaled(particle->x, 1.0, obs_bar);
        vec3_add_scaled(particle->v, 1.0, obs_bar + 3);
    }
    for (uint32_t t = 0; t < env->scene.n_tools; t++) {
        uint64_t size = mpm_env_pose_size(&env->scene.tools[t]);
        vec3_add_scaled(poses_bar[t].position, 1.0, obs_bar);
        for (int d = 0; d < 4; d++) {
            poses_bar[t].rotation[d] += obs_bar[3 + d];
        }
        poses_bar[t].gap += size == 8 ? obs_bar[7] : 0.0;
        obs_bar += size;
    }
}

ds_status mpm_env_back_begin(void *self, uint64_t last)
{
    mpm_env *env = self;
    return mpm_sweep_begin(&env->episode, env->kit.host, last);
}

ds_status mpm_env_back(void *self, ds_back *io)
{
    mpm_env *env = self;
    return mpm_sweep_back(&env->episode, env->kit.host, io, observe_adjoint, env);
}

ds_status mpm_env_act(void *self, uint64_t k, ds_step *io)
{
    mpm_env *env = self;
    (void)k;
    return mpm_stepwise_act(&env->episode, env->kit.host, io);
}

/* ---- names of the variables ----
 *
 * Names of the actions of the tools: "ball1.x.0" is the displacement along x, per output step, of the first
 * ball in segment 0. */

/* One component of an action. */
typedef struct component {
    const char *name, *unit;
} component;

static const component moves[MPM_MAX_ACTION] = {{"x", "m/step"},    {"y", "m/step"},    {"z", "m/step"},
                                                {"rx", "rad/step"}, {"ry", "rad/step"}, {"rz", "rad/step"},
                                                {"close", "m/step"}};
static const component rolls[3] = {{"roll", "rad/step"}, {"turn", "rad/step"}, {"lift", "m/step"}};

/* "ball", or "ball1", "ball2" ... if several tools move; or the tool's own name. */
static void name_tool(const mpm_scene *scene, uint32_t tool, const char *own, char out[DS_MAX_NAME + 1])
{
    static const char *const names[] = {
        [MPM_SPHERE] = "ball",       [MPM_CAPSULE] = "pen", [MPM_CYLINDER] = "cylinder",
        [MPM_TORUS] = "ring",        [MPM_BOX] = "box",     [MPM_ROLLING_PIN] = "pin",
        [MPM_CHOPSTICKS] = "sticks", [MPM_LADLE] = "ladle", [MPM_MESH] = "mesh"};
    uint32_t moved = 0, number = 0;
    for (uint32_t t = 0; t < scene->n_tools; t++) {
        moved += scene->tools[t].action_dim > 0;
        number = t == tool ? moved : number;
    }
    const char *name = names[scene->tools[tool].shape];
    if (own) {
        ds_env_variable_put(out, "%s", own);
    } else if (moved > 1) {
        ds_env_variable_put(out, "%s%u", name, number);
    } else {
        ds_env_variable_put(out, "%s", name);
    }
}

/* The tool that variable i moves, and which of its components. */
static const mpm_tool *tool_of(const mpm_env *env, uint64_t i, uint32_t *c)
{
    const mpm_tool *tool = env->scene.tools;
    *c = (uint32_t)(i % env->episode.action_dim);
    while (*c >= tool->action_dim) {
        *c -= (tool++)->action_dim;
    }
    return tool;
}

void mpm_env_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const mpm_env *env = self;
    const uint32_t dim = mpm_episode_dim(&env->episode);
    uint32_t c = 0;
    const mpm_tool *tool = i < dim ? tool_of(env, i, &c) : NULL;
    const double limit = tool && tool->limit[c] > 0.0 ? tool->limit[c] : 1.0;
    *lower = -limit;
    *upper = limit;
    *start = 0.0;
    if (i >= dim) {
        mpm_variable_range(&env->task->variables[i - dim], lower, upper, start);
    }
}

void mpm_env_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    const mpm_env *env = self;
    const mpm_scene *scene = &env->scene;
    if (i >= mpm_episode_dim(&env->episode)) {
        mpm_variable_name(&env->task->variables[i - mpm_episode_dim(&env->episode)], out);
        return;
    }
    uint32_t k = 0;
    const mpm_tool *tool = tool_of(env, i, &k);
    const uint32_t t = (uint32_t)(tool - scene->tools), segment = (uint32_t)(i / env->episode.action_dim);
    const component *c = tool->shape == MPM_ROLLING_PIN ? &rolls[k] : &moves[k];
    name_tool(scene, t, env->task->tool_names[t], out->group);
    if (env->task->velocity) {
        ds_env_variable_put(out->name, "%.20s.v%s.%u", out->group, c->name, segment);
        ds_env_variable_put(out->unit, "%.*s/s", (int)strcspn(c->unit, "/"), c->unit);
        return;
    }
    ds_env_variable_put(out->name, "%.20s.%s.%u", out->group, c->name, segment);
    ds_env_variable_unit(out, tool->scale[k], c->unit);
}

/* ---- scene ----
 *
 * Simulates an episode and records its scene: particles, tools, target and metrics. Bodies are,
 * in this order, the soft bodies, the tools and the target. */

const ds_scene_kit_label mpm_env_metrics[] = {
    {"density", "kg"}, {"sdf", "kg m"}, {"contact_soft", "m^2"}, {"contact_hard", "m^2"}, {"iou", ""},
    {"com_x", "m"},    {"com_y", "m"},  {"com_z", "m"},          {"sum_sq", "m^2"},       {"det_f_mean", ""},
    {NULL, NULL}};

static const char *const body_names[MPM_MAX_BODIES] = {"material",   "material_2", "material_3",
                                                       "material_4", "material_5", "material_6",
                                                       "material_7", "material_8"};
static const char *const tool_names[MPM_MAX_TOOLS] = {"tool",   "tool_2", "tool_3", "tool_4",
                                                      "tool_5", "tool_6", "tool_7", "tool_8"};

static size_t cells_of(const mpm_env *env)
{
    size_t n = (size_t)env->episode.sim.domain.n;
    return n * n * n;
}

/* Scenes whose loss has terms only have no target. */
static bool has_target(const mpm_env *env)
{
    return env->episode.objective.target != NULL;
}

/* The number of the target, and of the first outline. */
static uint64_t target_of(const mpm_env *env)
{
    return (uint64_t)env->scene.n_bodies + env->scene.n_tools;
}

static uint64_t outlines_of(const mpm_env *env)
{
    return target_of(env) + has_target(env);
}

/* Points spread like the target's mass, in the cells of the nodes. */
static bool make_target_points(mpm_env *env)
{
    const mpm_domain *domain = &env->episode.sim.domain;
    const double *target = env->episode.objective.target;
    double sum = 0.0;
    for (size_t i = 0; i < cells_of(env); i++) {
        sum += target[i] > 0.0 ? target[i] : 0.0;
    }
    sum = isfinite(sum) ? sum : 0.0;
    mpm_spread points = {.point_mass = mpm_point_mass(domain, sum)};
    points.count = mpm_spread_points(sum, points.point_mass);
    env->target_points = ds_memory_doubles(&env->kit.memory, (points.count + 1) * 3);
    points.out = env->target_points;
    if (!points.out) {
        return false;
    }
    size_t n = (size_t)domain->n;
    for (size_t i = 0; i < cells_of(env); i++) {
        const double node[3] = {(double)(i / (n * n)), (double)(i / n % n), (double)(i % n)};
        mpm_spread_cell(&points, target[i] > 0.0 ? target[i] : 0.0, node, domain->dx);
    }
    ds_scene_kit_at(&env->kit.scene, target_of(env))->count = points.points;
    return true;
}

static bool reserve(mpm_env *env)
{
    size_t frames = env->episode.steps + (size_t)1;
    if (!env->positions) {
        env->positions = ds_memory_doubles(&env->kit.memory, frames * env->episode.sim.n_particles * 3);
    }
    if (!env->poses) {
        env->poses = ds_memory_take(&env->kit.memory, frames * (env->scene.n_tools + 1), sizeof(mpm_pose));
    }
    return env->positions && env->poses &&
           (!has_target(env) || env->target_points || make_target_points(env));
}

static void keep_step(void *context, uint32_t step, const mpm_particle *particles, const mpm_pose *poses,
                      const mpm_measure *m)
{
    mpm_env *env = context;
    size_t count = env->episode.sim.n_particles;
    double *x = env->positions + step * count * 3;
    for (size_t p = 0; p < count; p++) {
        memcpy(x + 3 * p, particles[p].x, sizeof particles[p].x);
    }
    memcpy(env->poses + step * (size_t)env->scene.n_tools, poses, env->scene.n_tools * sizeof(mpm_pose));
    mpm_measure own = {NAN, NAN, NAN, NAN, NAN, {0.0}, NAN, NAN};
    for (size_t p = 0; !m && p < count; p++) {
        vec3_add_scaled(own.com, 1.0 / (double)count, particles[p].x);
    }
    m = m ? m : &own; /* without a target */
    double values[10 + MPM_TERM_METRICS] = {m->density, m->sdf,       m->contact_soft, m->contact_hard,
                                            m->iou,     m->com[0],    m->com[1],       m->com[2],
                                            m->sum_sq,  m->det_f_mean};
    if (env->task->terms.count > 0) {
        mpm_terms_measure(&env->terms, particles, poses, values + 10);
    }
    ds_scene_kit_measured(&env->kit.scene, step, values);
    env->kit.scene.info.frames = step + (uint64_t)1;
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

/* Poses of the shapes a tool is drawn as; returns their number. */
static uint32_t put_tool(const mpm_tool *tool, const mpm_pose *pose, double out[14])
{
    if (tool->shape == MPM_CHOPSTICKS) {
        put_chopsticks(tool, pose, out);
        return 2;
    }
    put_pose(pose->position, pose->rotation, out);
    return 1;
}

/* The size of the shape that a tool is drawn as. It stores half the height of a cylinder. */
static void tool_size(const mpm_tool *tool, double size[4])
{
    size[0] = tool->size[0];
    size[1] = (tool->shape == MPM_CYLINDER ? 2.0 : 1.0) * tool->size[1];
    size[2] = tool->size[2];
    size[3] = 0.0;
}

static void widen(double box[6], const double x[3], const double margin[3])
{
    for (int d = 0; d < 3; d++) {
        box[d] = x[d] - margin[d] < box[d] ? x[d] - margin[d] : box[d];
        box[3 + d] = x[d] + margin[d] > box[3 + d] ? x[d] + margin[d] : box[3 + d];
    }
}

/* Half the edges of the axis-aligned box around a shape rotated by `rotation`. */
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
        case MPM_LADLE:
            out[d] = s[0] + s[1];
            break;
        case MPM_CYLINDER:
            out[d] = s[0] * across + s[1] * along;
            break;
        case MPM_TORUS:
            out[d] = s[0] * across + s[1];
            break;
        case MPM_BOX:
        case MPM_MESH:
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

/* Makes the visible box hold everything of all frames. */
static void set_box(mpm_env *env)
{
    ds_scene_kit *s = &env->kit.scene;
    const double no_margin[3] = {0.0, 0.0, 0.0};
    ds_scene_kit_reset_box(s);
    for (size_t p = 0; p < s->info.frames * env->episode.sim.n_particles; p++) {
        widen(s->info.box, env->positions + 3 * p, no_margin);
    }
    for (size_t p = 0; has_target(env) && p < s->body[target_of(env)].count; p++) {
        widen(s->info.box, env->target_points + 3 * p, no_margin);
    }
    for (size_t p = 0; p < s->info.frames * env->scene.n_tools; p++) {
        widen_by_tool(s->info.box, &env->scene.tools[p % env->scene.n_tools], &env->poses[p]);
    }
    s->info.box[1] = s->info.ground; /* nothing below the floor is visible; shadows show what is in the air */
}

/* ---- variables after the actions: numbers of the scene, then networks ---- */

/* Tools are drawn with the sizes of the episode. */
static void show_sizes(mpm_env *env)
{
    for (uint32_t t = 0; t < env->scene.n_tools; t++) {
        if (!env->scene.tools[t].mesh) {
            tool_size(&env->scene.tools[t],
                      ds_scene_kit_at(&env->kit.scene, env->scene.n_bodies + (uint64_t)t)->size);
        }
    }
}

static ds_status run_scene(mpm_env *env, ds_eval *io, mpm_step_hook *hook)
{
    const uint64_t all = io->n, own = mpm_episode_dim(&env->episode);
    if (env->task->n_variables == 0) {
        return mpm_env_episode(&env->episode, env->kit.host, io, hook, env);
    }
    if (all != own + env->task->n_variables || !mpm_env_finite(all, io->x)) {
        return ds_host_fail(env->kit.host, DS_E_ARG, "x must hold %llu finite numbers",
                            (unsigned long long)(own + env->task->n_variables));
    }
    mpm_variables_set(&env->variables, io->x + own);
    show_sizes(env);
    io->n = own;
    ds_status status = mpm_env_episode(&env->episode, env->kit.host, io, hook, env);
    io->n = all;
    if (status == DS_OK && (io->want & DS_WANT_GRAD)) {
        memset(io->grad + own, 0, (all - own) * sizeof *io->grad);
        if (io->outcome == DS_EVAL_OK) {
            mpm_variables_gradient(&env->variables, io->x + own, io->grad + own);
        }
    }
    return status;
}

static ds_status run(mpm_env *env, ds_eval *io, mpm_step_hook *hook)
{
    const ds_hybrid *hybrid = &env->kit.hybrid;
    const uint64_t all = io->n, own = mpm_episode_dim(&env->episode) + env->task->n_variables;
    if (hybrid->nets == 0) {
        return run_scene(env, io, hook);
    }
    if (all != own + hybrid->variables || !mpm_env_finite(all, io->x)) {
        return ds_host_fail(env->kit.host, DS_E_ARG, "x must hold %llu finite numbers",
                            (unsigned long long)(own + hybrid->variables));
    }
    mpm_net_begin(&env->net, io->x + own);
    io->n = own;
    ds_status status = run_scene(env, io, hook);
    io->n = all;
    if (status == DS_OK && (io->want & DS_WANT_GRAD)) {
        memset(io->grad + own, 0, (all - own) * sizeof *io->grad);
        if (io->outcome == DS_EVAL_OK) {
            mpm_net_gradient(&env->net, io->grad + own);
            ds_hybrid_penalty(hybrid, io->x + own, io->grad + own);
        }
    }
    return status;
}

ds_status mpm_env_simulate(void *self, ds_eval *io)
{
    mpm_env *env = self;
    ds_scene_kit *s = &env->kit.scene;
    bool scene = (io->want & DS_WANT_SCENE) != 0;
    s->info.frames = 0;
    if (scene && !reserve(env)) {
        return ds_host_fail(env->kit.host, DS_E_NOMEM, "no memory to store %zu frames of %u particles",
                            env->episode.steps + (size_t)1, env->episode.sim.n_particles);
    }
    ds_status status = run(env, io, scene ? keep_step : NULL);
    s->kept = status == DS_OK && s->info.frames > 0;
    if (s->kept) {
        set_box(env);
    }
    return status;
}

static void add_tool(ds_scene_kit *s, const char *name, const mpm_tool *tool)
{
    static const uint32_t shapes[] = {DS_BODY_SPHERE, DS_BODY_CAPSULE, DS_BODY_CYLINDER, DS_BODY_TORUS,
                                      DS_BODY_BOX,    DS_BODY_CAPSULE, DS_BODY_CAPSULE};
    double size[4];
    tool_size(tool, size);
    if (tool->mesh) {
        const double edge[4] = {0.0};
        ds_scene_body *body = ds_scene_kit_at(
            s, ds_scene_kit_body(s, name, DS_BODY_MESH, tool->action_dim > 0 ? DS_ROLE_TOOL : DS_ROLE_FIXED,
                                 tool->mesh->points, edge));
        body->index = tool->mesh->index;
        body->index_count = tool->mesh->indices;
        return;
    }
    ds_scene_kit_body(s, name, shapes[tool->shape], tool->action_dim > 0 ? DS_ROLE_TOOL : DS_ROLE_FIXED,
                      tool->shape == MPM_CHOPSTICKS ? 2 : 1, size);
}

/* ---- bounds of the tools, after the other bodies ---- */

static const uint32_t box_edges[24] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 2, 1, 3,
                                       4, 6, 5, 7, 0, 4, 1, 5, 2, 6, 3, 7};

static void add_outlines(mpm_env *env, ds_scene_kit *s)
{
    const double thickness[4] = {0.002, 0.0, 0.0, 0.0};
    for (uint32_t t = 0; env->outline && t < env->scene.n_tools; t++) {
        const char *tool = env->task->tool_names[t] ? env->task->tool_names[t] : tool_names[t];
        snprintf(env->outline_name[t], sizeof env->outline_name[t], "bounds_%.40s", tool);
        ds_scene_body *body = ds_scene_kit_at(
            s, ds_scene_kit_body(s, env->outline_name[t], DS_BODY_LINES, DS_ROLE_FIXED, 8, thickness));
        body->index = box_edges;
        body->index_count = 24;
        body->variety = t;
    }
}

/* The corners of the box in which the position of a tool must stay, as far as it is visible. */
static void put_outline(const mpm_env *env, uint64_t tool, double *out)
{
    const double *box = env->kit.scene.info.box;
    const mpm_tool *t = &env->scene.tools[tool];
    for (int v = 0; v < 8; v++) {
        for (int d = 0; d < 3; d++) {
            const double bound = (v >> d) & 1 ? t->upper[d] : t->lower[d];
            out[3 * v + d] = fmin(fmax(bound, box[d]), box[3 + d]);
        }
    }
}

void mpm_env_bodies(void *self, ds_scene_kit *s)
{
    mpm_env *env = self;
    const mpm_domain *domain = &env->episode.sim.domain;
    /* A particle stands for its share of the volume: about 8 per cell when filled. */
    const double size[4] = {0.25 * domain->dx, 0.0, 0.0, 0.0};
    for (uint32_t b = 0; b < env->scene.n_bodies; b++) {
        uint32_t count = mpm_body_count(&env->scene, domain, env->particles_asked, b);
        const char *name = env->task->body_names[b] ? env->task->body_names[b] : body_names[b];
        ds_scene_kit_at(s, ds_scene_kit_body(s, name, DS_BODY_POINTS, DS_ROLE_MATERIAL, count, size))
            ->variety = b;
    }
    for (uint32_t t = 0; t < env->scene.n_tools; t++) {
        add_tool(s, env->task->tool_names[t] ? env->task->tool_names[t] : tool_names[t],
                 &env->scene.tools[t]);
        ds_scene_kit_at(s, env->scene.n_bodies + t)->variety = t;
    }
    if (has_target(env)) {
        ds_scene_kit_body(s, "target", DS_BODY_POINTS, DS_ROLE_TARGET, 0,
                          size); /* counted when it is created */
    }
    add_outlines(env, s);
    if (env->task->terms.count > 0) {
        mpm_terms_metrics(&env->terms, env->task->body_names, env->task->tool_names, s, &env->kit.memory);
    }
    s->info.ground = 0.0;
}

/* The points of the mesh in the world. */
static void put_mesh(const mpm_tool *tool, const mpm_pose *pose, double *out)
{
    const mpm_tool_mesh *mesh = tool->mesh;
    const double scale = tool->shape == MPM_MESH ? tool->size[0] : 1.0;
    for (size_t p = 0; p < mesh->points; p++) {
        double turned[3];
        quat_rotate(pose->rotation, mesh->point + 3 * p, turned);
        memcpy(out + 3 * p, pose->position, sizeof pose->position);
        vec3_add_scaled(out + 3 * p, scale, turned);
    }
}

void mpm_env_place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const mpm_env *env = self;
    const ds_scene_kit *s = &env->kit.scene;
    if (b >= outlines_of(env)) {
        put_outline(env, b - outlines_of(env), out);
    } else if (b == target_of(env)) {
        memcpy(out, env->target_points, s->body[b].count * 3 * sizeof(double));
    } else if (b < env->scene.n_bodies) {
        uint64_t first = k * env->episode.sim.n_particles;
        for (uint64_t i = 0; i < b; i++) {
            first += s->body[i].count;
        }
        memcpy(out, env->positions + 3 * first, s->body[b].count * 3 * sizeof(double));
    } else {
        uint64_t t = b - env->scene.n_bodies;
        if (env->scene.tools[t].mesh) {
            put_mesh(&env->scene.tools[t], &env->poses[k * env->scene.n_tools + t], out);
            return;
        }
        put_tool(&env->scene.tools[t], &env->poses[k * env->scene.n_tools + t], out);
    }
}
