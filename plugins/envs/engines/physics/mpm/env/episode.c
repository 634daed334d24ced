/* SPDX-License-Identifier: Apache-2.0 */
/* episode.c - simulation of an episode, loss over time, and the checkpointed adjoint. The scalar engine
 * stores the state at every output step; going backwards, the substeps of one output step are simulated again
 * and then differentiated. */
#include "engines/physics/mpm/env/episode.h"

#include "engines/kit/algebra/mat3.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

mpm_result mpm_episode_init(mpm_episode *e, const mpm_episode_spec *spec)
{
    memset(e, 0, sizeof *e);
    const mpm_scene *scene = spec->scene;
    uint32_t count = mpm_particle_count(scene, &spec->domain, spec->particles);
    mpm_result result = mpm_sim_init(&e->sim, scene, &spec->domain, count, spec->softness);
    if (result != MPM_OK) {
        return result;
    }
    for (uint32_t k = 0; k < e->sim.n_phases; k++) {
        e->sim.phases[k].material.clamped_svd = spec->clamped_svd;
    }
    e->engine = spec->clamped_svd || count == 0 ? MPM_ENGINE_SCALAR : spec->engine;
    e->fast_options = spec->fast;
    e->scene = scene;
    e->steps = spec->steps;
    e->segments = spec->segments;
    e->loss_mode = spec->loss_mode;
    e->frames = spec->frames;
    e->action_limit = spec->action_limit > 0.0 ? spec->action_limit : 1.0;
    e->motion = spec->motion;
    if (spec->goal) {
        e->goal = *spec->goal;
    }
    e->action_dim = mpm_action_dim(scene);
    for (uint32_t t = 0; t < scene->n_tools; t++) {
        e->start_pose[t] = spec->tool_start ? spec->tool_start[t] : scene->tools[t].start;
    }
    size_t frames = (size_t)spec->steps * (size_t)spec->domain.substeps + 1;
    e->start = ds_memory_take(&e->memory, count, sizeof *e->start);
    e->now = ds_memory_take(&e->memory, count, sizeof *e->now);
    e->poses = ds_memory_take(&e->memory, frames * mpm_pose_bars(scene->n_tools), sizeof *e->poses);
    if (e->memory.failed) {
        return MPM_NO_MEMORY;
    }
    mpm_particles_make(scene, &spec->domain, spec->particles, spec->particle_seed, e->start);
    return MPM_OK;
}

void mpm_episode_free(mpm_episode *e)
{
    for (int j = 0; e->tape && j < e->sim.domain.substeps; j++) {
        mpm_grid_record_free(&e->tape[j].grid);
    }
    ds_memory_free(&e->memory);
    mpm_fast_destroy(e->fast);
    mpm_objective_free(&e->objective);
    mpm_sim_free(&e->sim);
    memset(e, 0, sizeof *e);
}

uint32_t mpm_episode_dim(const mpm_episode *e)
{
    return e->segments * e->action_dim;
}

/* Memory of a run in addition to that of mpm_episode_init(). */
static mpm_result reserve(mpm_episode *e, bool gradient)
{
    size_t count = e->sim.n_particles, substeps = (size_t)e->sim.domain.substeps;
    if (gradient &&
        !e->loss_bar) { /* one condition each, so that memory obtained before a failure is not taken again */
        e->loss_bar = ds_memory_take(&e->memory, count, sizeof *e->loss_bar);
    }
    if (gradient && !e->bar) {
        e->bar = ds_memory_take(&e->memory, count, sizeof *e->bar);
    }
    if (gradient && (!e->bar || !e->loss_bar)) {
        return MPM_NO_MEMORY;
    }
    if (e->engine == MPM_ENGINE_FAST && !e->fast) {
        e->fast = mpm_fast_create(&e->sim, &e->fast_options);
        if (!e->fast) {
            return MPM_NO_MEMORY;
        }
    }
    if (e->fast) {
        mpm_fast_on_stop(e->fast, e->should_stop, e->stop_context);
    }
    if (e->fast || !gradient) {
        return MPM_OK;
    }
    if (!e->checkpoint) {
        e->checkpoint = ds_memory_take(&e->memory, (e->steps + (size_t)1) * count, sizeof *e->checkpoint);
    }
    if (!e->frame) {
        e->frame = ds_memory_take(&e->memory, (substeps + 1) * count, sizeof *e->frame);
    }
    if (!e->tape) {
        e->tape = ds_memory_take(&e->memory, substeps, sizeof *e->tape);
    }
    if (!e->checkpoint || !e->frame || !e->tape) {
        return MPM_NO_MEMORY;
    }
    for (size_t j = 0; j < substeps; j++) {
        if (!e->tape[j].svd) {
            e->tape[j].svd = ds_memory_take(&e->memory, count, sizeof *e->tape[j].svd);
        }
        if (!e->tape[j].svd) {
            return MPM_NO_MEMORY;
        }
    }
    return mpm_grid_init_adjoint(&e->sim.grid) ? MPM_OK : MPM_NO_MEMORY;
}

static uint32_t segment_of(const mpm_episode *e, uint32_t step)
{
    return (uint32_t)((uint64_t)step * e->segments / e->steps);
}

bool mpm_episode_counts(const mpm_episode *e, uint32_t step)
{
    if (step == e->steps) {
        return true;
    }
    switch (e->loss_mode) {
    case MPM_LOSS_STEP_SUM:
        return true;
    case MPM_LOSS_SEGMENT_SUM:
        return segment_of(e, step) != segment_of(e, step - 1);
    case MPM_LOSS_FRAMES:
        return (e->steps - step) % (e->steps / e->frames) == 0 &&
               (e->steps - step) / (e->steps / e->frames) < e->frames;
    default:
        return false;
    }
}

/* The segments whose actions make the action of a step, and their weights, which sum to 1. */
enum { MOST_PARTS = 4 };
typedef struct blend {
    int count;
    uint32_t segment[MOST_PARTS];
    double weight[MOST_PARTS];
} blend;

static blend blend_of(const mpm_episode *e, uint32_t step)
{
    if (e->motion == MPM_MOTION_PIECES) {
        return (blend){.count = 1, .segment = {segment_of(e, step)}, .weight = {1.0}};
    }
    /* in segments, from the middle of the first one */
    const double at = ((double)step + 0.5) * e->segments / e->steps - 0.5, cell = floor(at), t = at - cell,
                 u = 1.0 - t;
    const blend lines = {.count = 2, .weight = {u, t}},
                spline = {.count = 4,
                          .weight = {u * u * u / 6.0, 2.0 / 3.0 - 0.5 * t * t * (2.0 - t),
                                     2.0 / 3.0 - 0.5 * u * u * (2.0 - u), t * t * t / 6.0}};
    blend out = e->motion == MPM_MOTION_LINES ? lines : spline;
    for (int k = 0; k < out.count; k++) {
        const double segment = cell + k - (out.count == 4 ? 1 : 0);
        out.segment[k] = (uint32_t)clamp(segment, 0.0, e->segments - 1.0);
    }
    return out;
}

static double limit_of(const mpm_episode *e, const mpm_tool *tool, uint32_t c)
{
    return tool->limit[c] > 0.0 ? tool->limit[c] : e->action_limit;
}

/* The share of one substep in the action of output step `step` for every tool. */
static void controls_of(const mpm_episode *e, const double *x, uint32_t step, mpm_control *controls)
{
    const blend b = blend_of(e, step);
    size_t at = 0;
    for (uint32_t t = 0; t < e->scene->n_tools; t++) {
        const mpm_tool *tool = &e->scene->tools[t];
        memset(&controls[t], 0, sizeof controls[t]);
        for (uint32_t c = 0; c < tool->action_dim; c++, at++) {
            const double limit = limit_of(e, tool, c);
            double action = 0.0;
            for (int k = 0; k < b.count; k++) {
                action += b.weight[k] * clamp(x[(size_t)b.segment[k] * e->action_dim + at], -limit, limit);
            }
            controls[t].value[c] = action * tool->scale[c] / e->sim.domain.substeps;
        }
    }
}

/* Adds the adjoint of the controls of output step `step`, summed over its substeps, to the gradient. */
static void controls_adjoint(const mpm_episode *e, const double *x, uint32_t step, const mpm_control *bar,
                             double *grad)
{
    const blend b = blend_of(e, step);
    size_t at = 0;
    for (uint32_t t = 0; t < e->scene->n_tools; t++) {
        const mpm_tool *tool = &e->scene->tools[t];
        for (uint32_t c = 0; c < tool->action_dim; c++, at++) {
            for (int k = 0; k < b.count; k++) {
                const size_t i = (size_t)b.segment[k] * e->action_dim + at;
                if (fabs(x[i]) <= limit_of(e, tool, c)) {
                    grad[i] += b.weight[k] * (bar[t].value[c] * tool->scale[c] / e->sim.domain.substeps);
                }
            }
        }
    }
}

static mpm_pose *poses_at(const mpm_episode *e, uint32_t step, int substep)
{
    size_t frame = (size_t)step * (size_t)e->sim.domain.substeps + (size_t)substep;
    return e->poses + frame * e->scene->n_tools;
}

/* The motion of the tools from output step `from` to `to`. It does not depend on the particles. */
static void move_tools(mpm_episode *e, const double *x, uint32_t from, uint32_t to)
{
    uint32_t n_tools = e->scene->n_tools;
    memcpy(e->poses, e->start_pose, n_tools * sizeof(mpm_pose));
    for (uint32_t step = from; step < to; step++) {
        mpm_control controls[MPM_MAX_TOOLS];
        controls_of(e, x, step, controls);
        for (int j = 0; j < e->sim.domain.substeps; j++) {
            const mpm_pose *now = poses_at(e, step, j);
            mpm_pose *next = poses_at(e, step, j + 1);
            for (uint32_t t = 0; t < n_tools; t++) {
                mpm_tool_move(&e->scene->tools[t], &now[t], &controls[t], &next[t]);
            }
        }
    }
}

static bool stop_wanted(const mpm_episode *e)
{
    return e->should_stop && e->should_stop(e->stop_context) != 0;
}

static mpm_result substep(mpm_episode *e, uint32_t step, int j)
{
    if (e->fast) {
        return mpm_fast_advance(e->fast);
    }
    return mpm_substep(&e->sim, e->now, e->now, poses_at(e, step, j), poses_at(e, step, j + 1), NULL);
}

mpm_result mpm_episode_state(mpm_episode *e)
{
    return e->fast ? mpm_fast_state(e->fast, e->now) : MPM_OK;
}

/* Copies the particles after output step `step` to e->now, `all` of them or positions only. Computes the
 * measures if `measure` is not NULL (requires `all`), and the loss if it counts or comes with them. */
static mpm_result assess(mpm_episode *e, uint32_t step, bool counts, bool all, mpm_measure *measure,
                         double *loss)
{
    const mpm_pose *poses = poses_at(e, step, 0);
    mpm_result result = all ? mpm_episode_state(e) : e->fast ? mpm_fast_positions(e->fast, e->now) : MPM_OK;
    *loss = 0.0;
    if (result == MPM_OK && measure) {
        result = mpm_measure_state(&e->objective, &e->sim, e->now, poses, measure);
    }
    if (result != MPM_OK) {
        return result;
    }
    if (e->goal.loss) {
        return counts ? e->goal.loss(e->goal.self, step, e->now, poses, loss) : MPM_OK;
    }
    if (measure) {
        *loss = mpm_loss(&e->objective, measure);
        return MPM_OK;
    }
    return mpm_loss_of_state(&e->objective, &e->sim, e->now, poses, loss);
}

/* Gives the fast engine the particles in e->now and the motion of the tools, which may be filled in later. */
static mpm_result start(mpm_episode *e, bool keep, mpm_outcome *out)
{
    uint32_t substeps = e->steps * (uint32_t)e->sim.domain.substeps;
    mpm_result result = e->fast ? mpm_fast_start(e->fast, e->now, e->poses, substeps, keep) : MPM_OK;
    if (result == MPM_DIVERGED) {
        out->bad_step = 0;
    }
    return result;
}

/* Simulates from the state after output step `from` to the state after `to`; sums the losses after output
 * step `sum_from`. */
static mpm_result forward(mpm_episode *e, uint32_t from, uint32_t to, uint32_t sum_from, bool keep,
                          mpm_step_hook *hook, void *context, mpm_outcome *out)
{
    size_t bytes = e->sim.n_particles * sizeof(mpm_particle);
    mpm_measure room, *measure = hook && e->objective.target ? &room : NULL;
    mpm_result result = MPM_OK;
    for (uint32_t step = from; step <= to; step++) {
        for (int j = 0; step > from && j < e->sim.domain.substeps && result == MPM_OK; j++) {
            if (stop_wanted(e)) {
                return MPM_STOPPED;
            }
            result = substep(e, step - 1, j);
            out->cost++;
        }
        bool counts = step > sum_from && mpm_episode_counts(e, step);
        double loss = 0.0;
        if (result == MPM_OK && (hook || counts)) {
            result = assess(e, step, counts, hook != NULL, measure, &loss);
        }
        if (result == MPM_DIVERGED || !isfinite(loss)) {
            out->bad_step = step;
            return MPM_DIVERGED;
        }
        if (result != MPM_OK) {
            return result;
        }
        out->loss += counts ? loss : 0.0;
        if (hook) {
            hook(context, step, e->now, poses_at(e, step, 0), measure);
        }
        if (keep && !e->fast) {
            memcpy(e->checkpoint + step * (size_t)e->sim.n_particles, e->now, bytes);
        }
    }
    return MPM_OK;
}

/* Simulates output step `step` (0-based) again from its checkpoint and stores every substep. */
static mpm_result repeat_step(mpm_episode *e, uint32_t step, mpm_outcome *out)
{
    size_t count = e->sim.n_particles;
    memcpy(e->frame, e->checkpoint + step * count, count * sizeof(mpm_particle));
    for (int j = 0; j < e->sim.domain.substeps; j++) {
        if (stop_wanted(e)) {
            return MPM_STOPPED;
        }
        mpm_particle *in = e->frame + (size_t)j * count;
        mpm_result result =
            mpm_substep(&e->sim, in, in + count, poses_at(e, step, j), poses_at(e, step, j + 1), &e->tape[j]);
        if (result != MPM_OK) {
            return result;
        }
        out->cost++;
    }
    return MPM_OK;
}

/* Adjoint of output step `step`. pose_bar: adjoint of the poses after it on entry, before it on return. */
static mpm_result step_adjoint(mpm_episode *e, const double *x, uint32_t step, mpm_pose *pose_bar,
                               double *grad, mpm_outcome *out)
{
    size_t count = e->sim.n_particles;
    uint32_t n_tools = e->scene->n_tools;
    mpm_control controls[MPM_MAX_TOOLS], controls_bar[MPM_MAX_TOOLS];
    controls_of(e, x, step, controls);
    memset(controls_bar, 0, sizeof controls_bar);
    for (int j = e->sim.domain.substeps - 1; j >= 0; j--) {
        if (stop_wanted(e)) {
            return MPM_STOPPED;
        }
        const mpm_pose *now = poses_at(e, step, j), *next = poses_at(e, step, j + 1);
        mpm_pose before_bar[MPM_MAX_TOOLS];
        memset(before_bar, 0, sizeof before_bar);
        if (e->fast) {
            mpm_result result = mpm_fast_retreat(e->fast, before_bar, pose_bar);
            if (result != MPM_OK) {
                return result;
            }
        } else {
            mpm_particle *in = e->frame + (size_t)j * count;
            mpm_substep_adjoint(&e->sim, in, in + count, &e->tape[j], now, next, e->bar, before_bar,
                                pose_bar);
        }
        for (uint32_t t = 0; t < n_tools; t++) {
            mpm_tool_move_adjoint(&e->scene->tools[t], &now[t], &controls[t], &pose_bar[t], &before_bar[t],
                                  &controls_bar[t]);
        }
        for (uint32_t t = 0; t < mpm_pose_bars(n_tools); t++) {
            const mpm_pose constants = {.constants = pose_bar[t].constants};
            mpm_pose_add(&before_bar[t], 1.0, &constants);
            pose_bar[t] = before_bar[t];
        }
        out->cost++;
    }
    controls_adjoint(e, x, step, controls_bar, grad);
    return MPM_OK;
}

void mpm_episode_turn(mpm_episode *e)
{
    memset(e->bar, 0, e->sim.n_particles * sizeof(mpm_particle));
    if (e->fast) {
        mpm_fast_turn(e->fast);
    }
}

mpm_result mpm_episode_loss_adjoint(mpm_episode *e, uint32_t step, double scale, mpm_particle *bar,
                                    mpm_pose *pose_bar)
{
    size_t count = e->sim.n_particles;
    const mpm_particle *particles = e->fast ? e->now : e->checkpoint + step * count;
    mpm_result result = e->fast ? mpm_fast_positions(e->fast, e->now) : MPM_OK;
    memset(bar, 0, count * sizeof *bar);
    if (result != MPM_OK || !e->goal.loss) {
        return result != MPM_OK ? result
                                : mpm_loss_adjoint(&e->objective, &e->sim, particles, poses_at(e, step, 0),
                                                   scale, bar, pose_bar);
    }
    mpm_pose own[MPM_MAX_TOOLS];
    memset(own, 0, sizeof own);
    result = e->goal.adjoint(e->goal.self, step, particles, poses_at(e, step, 0), bar, own);
    for (size_t p = 0; p < count; p++) {
        for (int d = 0; d < 3; d++) {
            bar[p].x[d] *= scale;
        }
    }
    for (uint32_t t = 0; t < e->scene->n_tools; t++) {
        mpm_pose_add(&pose_bar[t], scale, &own[t]);
    }
    return result;
}

void mpm_episode_add_bar(mpm_episode *e, const mpm_particle *bar)
{
    if (e->fast) {
        mpm_fast_add_bar(e->fast, bar);
        return;
    }
    for (uint32_t p = 0; p < e->sim.n_particles; p++) {
        vec3_add_scaled(e->bar[p].x, 1.0, bar[p].x);
        vec3_add_scaled(e->bar[p].v, 1.0, bar[p].v);
    }
}

mpm_result mpm_episode_retreat(mpm_episode *e, const double *x, uint32_t step, mpm_pose *pose_bar,
                               double *grad, mpm_outcome *out)
{
    uint32_t before = e->fast ? mpm_fast_repeated(e->fast) : 0;
    mpm_result result = e->fast ? MPM_OK : repeat_step(e, step, out);
    result = result == MPM_OK ? step_adjoint(e, x, step, pose_bar, grad, out) : result;
    out->cost += e->fast ? mpm_fast_repeated(e->fast) - before : 0;
    return result;
}

static mpm_result backward(mpm_episode *e, const double *x, double *grad, mpm_outcome *out)
{
    mpm_pose pose_bar[MPM_MAX_TOOLS];
    mpm_result result = MPM_OK;
    memset(pose_bar, 0, sizeof pose_bar);
    memset(grad, 0, mpm_episode_dim(e) * sizeof(double));
    mpm_episode_turn(e);
    for (uint32_t step = e->steps; step > 0 && result == MPM_OK; step--) {
        if (mpm_episode_counts(e, step)) {
            result = mpm_episode_loss_adjoint(e, step, 1.0, e->loss_bar, pose_bar);
            if (result == MPM_OK) {
                mpm_episode_add_bar(e, e->loss_bar);
            }
        }
        if (result == MPM_OK) {
            result = mpm_episode_retreat(e, x, step - 1, pose_bar, grad, out);
        }
    }
    memcpy(e->start_bar, pose_bar, sizeof pose_bar);
    return result;
}

const mpm_particle *mpm_episode_start_bar(mpm_episode *e)
{
    if (e->fast) {
        mpm_fast_bar(e->fast, e->loss_bar);
    }
    return e->fast ? e->loss_bar : e->bar;
}

static void clear_outcome(mpm_outcome *out)
{
    out->loss = 0.0;
    out->bad_step = -1;
    out->cost = 0;
}

mpm_result mpm_episode_run(mpm_episode *e, const double *x, double *grad, mpm_step_hook *hook, void *context,
                           mpm_outcome *out)
{
    clear_outcome(out);
    e->parts.open = false;
    mpm_result result = reserve(e, grad != NULL);
    if (result != MPM_OK) {
        return result;
    }
    move_tools(e, x, 0, e->steps);
    memcpy(e->now, e->start, e->sim.n_particles * sizeof(mpm_particle));
    result = start(e, grad != NULL, out);
    if (result == MPM_OK) {
        result = forward(e, 0, e->steps, 0, grad != NULL, hook, context, out);
    }
    if (result == MPM_OK && grad) {
        result = backward(e, x, grad, out);
    }
    return result;
}

mpm_result mpm_episode_begin(mpm_episode *e, bool keep, mpm_outcome *out)
{
    clear_outcome(out);
    mpm_result result = reserve(e, keep);
    if (result != MPM_OK) {
        return result;
    }
    move_tools(e, NULL, 0, 0);
    memcpy(e->now, e->start, e->sim.n_particles * sizeof(mpm_particle));
    return start(e, keep, out);
}

mpm_result mpm_episode_advance(mpm_episode *e, const double *x, uint32_t from, uint32_t to, bool keep,
                               mpm_outcome *out)
{
    move_tools(e, x, from, to);
    return forward(e, from, to, from, keep, NULL, NULL, out);
}

mpm_result mpm_episode_loss(mpm_episode *e, uint32_t step, double *loss)
{
    return assess(e, step, true, false, NULL, loss);
}

const mpm_pose *mpm_episode_poses(const mpm_episode *e, uint32_t step)
{
    return poses_at(e, step, 0);
}

mpm_result mpm_episode_resume(mpm_episode *e, const double *x, uint32_t from, mpm_outcome *out)
{
    size_t count = e->sim.n_particles;
    uint32_t begin = e->fast ? 0 : from; /* the fast engine stores no states at output steps */
    clear_outcome(out);
    e->parts.open = false;
    move_tools(e, x, 0, e->steps);
    memcpy(e->now, e->fast ? e->start : e->checkpoint + from * count, count * sizeof(mpm_particle));
    mpm_result result = start(e, false, out);
    return result == MPM_OK ? forward(e, begin, e->steps, from, false, NULL, NULL, out) : result;
}

/* ---- evaluations ---- */

uint32_t mpm_env_should_stop(const void *context)
{
    const ds_host *host = context;
    return host->should_stop(host);
}

bool mpm_env_finite(uint64_t n, const double *values)
{
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) {
            return false;
        }
    }
    return true;
}

void mpm_env_say_diverged(const ds_host *host, int64_t step)
{
    ds_host_fail(host, DS_OK,
                 "in output step %lld a particle leaves the grid or the loss is not finite: move the tools "
                 "less, or make "
                 "materials softer or speeds smaller",
                 (long long)step);
}

ds_status mpm_env_episode(mpm_episode *e, const ds_host *host, ds_eval *io, mpm_step_hook *hook,
                          void *context)
{
    bool grad = (io->want & DS_WANT_GRAD) != 0;
    if (io->n != mpm_episode_dim(e) || !mpm_env_finite(io->n, io->x)) {
        return ds_host_fail(host, DS_E_ARG, "x must hold %u finite numbers", mpm_episode_dim(e));
    }
    mpm_outcome outcome;
    mpm_result result = mpm_episode_run(e, io->x, grad ? io->grad : NULL, hook, context, &outcome);
    if (result == MPM_STOPPED) {
        return DS_STOPPED;
    }
    if (result == MPM_NO_MEMORY) {
        return ds_host_fail(host, DS_E_NOMEM,
                            "no memory for %u particles over %u steps%s: reduce one of them",
                            e->sim.n_particles, e->steps, grad ? " with gradient" : "");
    }
    io->loss = outcome.loss;
    io->outcome = DS_EVAL_OK;
    io->grad_kind = grad ? DS_GRAD_ADJOINT : DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = outcome.cost;
    if (result == MPM_DIVERGED) {
        io->loss = INFINITY;
        io->outcome = DS_EVAL_DIVERGED;
        io->bad_step = outcome.bad_step;
        mpm_env_say_diverged(host, outcome.bad_step);
    } else if (grad && !mpm_env_finite(io->n, io->grad)) {
        io->outcome = DS_EVAL_BAD_GRAD;
    }
    if (grad && io->outcome != DS_EVAL_OK) {
        memset(io->grad, 0, io->n * sizeof(double));
    }
    return DS_OK;
}
