/* SPDX-License-Identifier: Apache-2.0 */
/* episode.h - one episode: decision variables -> tool motion -> simulation -> loss, and the gradient of the
 * loss by the adjoint of the whole episode with checkpoints at output steps. stepwise.h
 * simulates an episode in parts. */
#ifndef MPM_EPISODE_H
#define MPM_EPISODE_H

#include "engines/physics/mpm/fast/engine.h"
#include "engines/physics/mpm/sim/loss.h"
#include "engines/physics/mpm/sim/sim.h"
#include "engines/physics/mpm/sim/tool.h"

#include <diffsim/helper/eval.h>

/* Which states the loss sums: at segment ends, after every step, the last one, or `frames` of them at equal
 * distances in time. */
enum { MPM_LOSS_SEGMENT_SUM = 0, MPM_LOSS_STEP_SUM = 1, MPM_LOSS_FINAL = 2, MPM_LOSS_FRAMES = 3 };

/* The action of a step: that of its segment; or interpolated between the middles of the segments, along lines
 * or uniform cubic B-splines, whose control points are the actions. Neither exceeds the actions. */
enum { MPM_MOTION_PIECES = 0, MPM_MOTION_LINES = 1, MPM_MOTION_SPLINE = 2 };

/* The scalar simulation of sim.c, or the vectorised one. */
enum { MPM_ENGINE_SCALAR = 0, MPM_ENGINE_FAST = 1 };

/* A task's own loss of the state after output step `step`, in place of loss.h. Returns MPM_OK or
 * MPM_NO_MEMORY. */
typedef struct mpm_goal {
    void *self;
    mpm_result (*loss)(void *self, uint32_t step, const mpm_particle *particles, const mpm_pose *poses,
                       double *loss);
    /* Adds the adjoint of the loss to the adjoints of particles and poses. */
    mpm_result (*adjoint)(void *self, uint32_t step, const mpm_particle *particles, const mpm_pose *poses,
                          mpm_particle *bar, mpm_pose *poses_bar);
} mpm_goal;

/* The caller sets these before mpm_episode_init(). */
typedef struct mpm_episode_spec {
    const mpm_scene *scene; /* must outlive the episode */
    mpm_domain domain;
    uint32_t particles;       /* 0: the scene's own number */
    uint32_t particle_seed;   /* 0: PlasticineLab's particles */
    uint32_t steps, segments; /* output steps; intervals of constant action */
    uint32_t loss_mode;
    uint32_t frames; /* for MPM_LOSS_FRAMES, at most steps */
    uint32_t motion; /* MPM_MOTION_* */
    double softness;
    double action_limit;        /* actions are clipped to [-limit, limit]; 0 = 1 */
    const mpm_goal *goal;       /* NULL: the loss of loss.h */
    bool clamped_svd;           /* see material.h */
    const mpm_pose *tool_start; /* one per tool, or NULL: the scene's own */
    uint32_t engine;            /* clamped_svd always uses the scalar one */
    mpm_fast_options fast;      /* for the fast one */
} mpm_episode_spec;

typedef struct mpm_outcome {
    double loss;
    int64_t bad_step; /* output step in which the simulation diverged, or -1 */
    uint64_t cost;    /* simulated substeps, forward and backward */
} mpm_outcome;

/* Progress of an episode that is simulated one segment at a time. */
typedef struct mpm_parts {
    bool open;
    uint32_t segment; /* the next one */
    double *x;        /* actions of the segments so far */
    double value;     /* rewards are decreases of this: loss of the present state, or its sum so far */
    mpm_outcome sum;
    /* sweeps back over the episode */
    bool wanted;    /* there was one, so there may be more: store their data while simulating */
    bool kept;      /* the data was stored in this episode */
    bool turned;    /* the engine is or was in a sweep, so it does not hold the state of the episode */
    uint64_t n_obs; /* numbers of an observation */
    double *grad;
    mpm_pose pose_bar[MPM_MAX_TOOLS];
    /* adjoint of the loss of the next state, from the reward of the step after it */
    double value_bar;
    uint64_t cost; /* substeps not reported yet */
} mpm_parts;

typedef struct mpm_episode {
    mpm_sim sim;
    ds_memory memory;        /* of the arrays below */
    mpm_objective objective; /* the owner sets the weights, also after mpm_objective_init() */
    mpm_goal goal;           /* goal.loss NULL: use the objective */
    const mpm_scene *scene;
    uint32_t steps, segments, loss_mode, frames, action_dim;
    double action_limit;
    uint32_t motion;
    mpm_particle *start; /* initial particles */
    mpm_particle *now;   /* current particles */
    mpm_pose start_pose[MPM_MAX_TOOLS];
    mpm_pose *poses; /* [steps * substeps + 1][n_tools] */
    uint32_t engine;
    mpm_fast_options fast_options;
    mpm_fast *fast; /* NULL: scalar engine, or not needed yet */
    /* for the gradient, allocated when first needed; the fast engine needs only the last two */
    mpm_particle *checkpoint; /* [steps + 1][particles] */
    mpm_particle *frame;      /* [substeps + 1][particles] */
    mpm_particle *bar;
    mpm_particle *loss_bar;            /* scratch */
    mpm_pose start_bar[MPM_MAX_TOOLS]; /* of start_pose, after a run with gradient */
    mpm_tape *tape;                    /* [substeps] */
    mpm_parts parts;
    /* returns 1 to end the run; may be NULL */
    uint32_t (*should_stop)(const void *context);
    const void *stop_context;
} mpm_episode;

/* Called after every output step (and with step 0 for the start). `measure` is NULL if the episode has no
 * target density. */
typedef void mpm_step_hook(void *context, uint32_t step, const mpm_particle *particles, const mpm_pose *poses,
                           const mpm_measure *measure);

mpm_result mpm_episode_init(mpm_episode *e, const mpm_episode_spec *spec);
void mpm_episode_free(mpm_episode *e);

/* Number of decision variables: segments * action_dim. */
uint32_t mpm_episode_dim(const mpm_episode *e);

/* Runs an episode. x: actions of the segments, each clipped to the limit. grad: NULL, or receives d loss / d
 * x. hook: NULL, or called with the measures of every output step. */
mpm_result mpm_episode_run(mpm_episode *e, const double *x, double *grad, mpm_step_hook *hook, void *context,
                           mpm_outcome *out);

/* The adjoint of the particles at the start, after a run with gradient that went well. */
const mpm_particle *mpm_episode_start_bar(mpm_episode *e);

/* Runs an episode in parts: begin, then simulate from the current output step `from` to `to` and add to *out.
 * x: as above; actions of segments that begin at `to` or later may be missing. keep: store data for the way
 * back; the same for all parts. */
mpm_result mpm_episode_begin(mpm_episode *e, bool keep, mpm_outcome *out);
mpm_result mpm_episode_advance(mpm_episode *e, const double *x, uint32_t from, uint32_t to, bool keep,
                               mpm_outcome *out);

/* The way back. Turn after at least one output step, with an adjoint of 0. Then either add to the adjoint of
 * the state after output step `step`, the current one, or go back over output step `step` - 1 (0-based) and
 * add to grad, the adjoints of the actions. pose_bar: adjoint of the poses after the step on entry, before it
 * on return. mpm_episode_loss_adjoint() writes to `bar`, and adds to pose_bar, the adjoint of the loss of the
 * state times `scale`. */
void mpm_episode_turn(mpm_episode *e);
mpm_result mpm_episode_loss_adjoint(mpm_episode *e, uint32_t step, double scale, mpm_particle *bar,
                                    mpm_pose *pose_bar);
void mpm_episode_add_bar(mpm_episode *e, const mpm_particle *bar);
mpm_result mpm_episode_retreat(mpm_episode *e, const double *x, uint32_t step, mpm_pose *pose_bar,
                               double *grad, mpm_outcome *out);

/* Does the loss count the state after output step `step` (1..steps)? */
bool mpm_episode_counts(const mpm_episode *e, uint32_t step);

/* Copies the particles of the present state to e->now; other episodes may run between the parts of one. */
mpm_result mpm_episode_state(mpm_episode *e);

/* Loss of the present state, after output step `step`; copies the positions of its particles to e->now. */
mpm_result mpm_episode_loss(mpm_episode *e, uint32_t step, double *loss);

/* The tools after output step `step`. */
const mpm_pose *mpm_episode_poses(const mpm_episode *e, uint32_t step);

/* Runs the steps after output step `from` again, from the state that the last run with gradient had there,
 * and sums their losses. For differences of single actions: the x of both runs must agree in all actions
 * before. */
mpm_result mpm_episode_resume(mpm_episode *e, const double *x, uint32_t from, mpm_outcome *out);

/* ---- evaluations ---- */

/* Runs one evaluation and sets all results in io. hook and context: see mpm_episode_run(). */
ds_status mpm_env_episode(mpm_episode *e, const ds_host *host, ds_eval *io, mpm_step_hook *hook,
                          void *context);
bool mpm_env_finite(uint64_t n, const double *values);
/* Does the host want the episode to end? context: the ds_host. */
uint32_t mpm_env_should_stop(const void *context);

/* Reports where an episode diverged, and what helps. */
void mpm_env_say_diverged(const ds_host *host, int64_t step);

#endif
