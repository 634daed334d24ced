/* SPDX-License-Identifier: Apache-2.0 */
/* instance.h - one environment instance, and evaluations with it, whose answers are made safe. */
#ifndef DS_PLUGIN_INSTANCE_H
#define DS_PLUGIN_INSTANCE_H

#include <diffsim/ext/batch.h>
#include <diffsim/ext/rl.h>
#include <diffsim/ext/rl_gradient.h>
#include <diffsim/ext/scene.h>

#include "base/answer.h"
#include "base/variables.h"
#include "hooks/hooks.h"
#include "plugin/inquiry.h"
#include "plugin/services.h"

typedef struct ds_env {
    ds_services services;
    const ds_module *module;
    const ds_env_vtable *vt;
    void *self;
    ds_env_info info;
    double *lower, *upper, *x0; /* n values each */
    int has_gradient;
    const ds_rl *rl; /* NULL = not offered */
    ds_rl_info rl_info;
    const ds_rl_gradient *rl_gradient; /* NULL = not offered */
    const ds_env_batch *batch;         /* NULL = not offered */
    ds_rl rl_table;                    /* those tables, in our own size */
    ds_rl_gradient rl_gradient_table;
    ds_env_batch batch_table;
    ds_env_score score_table;
    ds_score_info score;          /* noise on actions; noise = 0: not offered */
    ds_channels channels;         /* none where not offered */
    ds_named_variable *variables; /* n of them; NULL = without names, or not asked for */
    ds_hooks hooks;               /* none where not offered */
} ds_env;

/* Makes an environment from section [env] of the settings, asks info and bounds and
 * extensions and tests them. */
int ds_env_open(const ds_module *module, const ds_settings *settings, uint64_t seed, uint32_t threads,
                const atomic_int *stop, ds_env **out, ds_error *e);
void ds_env_close(ds_env *env);

/* Asks for the names of the variables, unless there are more than DS_MAX_NAMED, and tests them. Not part of
 * ds_env_open(): only who shows them to people needs them. */
int ds_env_ask_variables(ds_env *env, ds_error *e);

/* What an instance says about itself, wherever it is. */
typedef struct ds_env_facts {
    ds_env_info info;
    ds_rl_info rl;       /* horizon 0 = no stepwise control */
    ds_score_info score; /* noise 0 = none on actions */
    const ds_channels *channels;
    uint64_t rows; /* that one call takes; 1 = one at a time */
    int has_gradient;
    int rl_gradient; /* stepwise control with derivatives */
    int stochastic;
    const double *lower, *upper, *x0;   /* info.n values each */
    const ds_named_variable *variables; /* info.n; NULL = without names */
    const ds_params *params;
    ds_hooks hooks; /* by value: pointers mean nothing between processes */
} ds_env_facts;

ds_env_facts ds_env_facts_of(const ds_env *env);

/* Rows of a table that go into one call of its evaluate(): 1 = one at a time. */
uint64_t ds_env_rows(const ds_env *env);

/* Are bounds finite and in order (equal ones fix a variable), and is x0 (may be NULL) inside? `who` ("" =
 * nobody) begins the line that says that they are not, for which `status` is returned. */
int ds_bounds_check(const char *who, uint64_t n, const double *lower, const double *upper, const double *x0,
                    int status, ds_error *e);

/* Evaluates x (n values inside the bounds) and makes the answer safe: a non-finite loss or gradient becomes
 * DS_EVAL_INVALID or DS_EVAL_BAD_GRAD, an error status DS_EVAL_ERROR; grad (n values, or NULL) is zeroed
 * where there is none. Returns DS_STOPPED if the plugin stopped on request, else DS_OK. `grad` is written by
 * the plugin directly. */
ds_status ds_env_evaluate(ds_env *env, const double *x, uint64_t noise_key, uint32_t want, double *grad,
                          ds_answer *answer);

/* The same, and the questions of an inquiry (may be NULL), or that for the score, whose `out` is written by
 * the plugin directly and zeroed as far as there is no answer. The kind of a product is in grad_kind where no
 * gradient is wanted. */
ds_status ds_env_inquire(ds_env *env, const double *x, uint64_t noise_key, uint32_t want, double *grad,
                         const ds_inquiry *inquiry, ds_answer *answer);

/* ds_env_evaluate() for `count` <= DS_MAX_ROWS points at once (env->batch is not NULL): point k and its
 * gradient are at x + k stride and grad + k stride, answer[k] is its answer. */
void ds_env_evaluate_many(ds_env *env, uint64_t count, const double *x, uint64_t stride,
                          const uint64_t *noise_key, uint32_t want, double *grad, ds_answer *const *answer);

/* Are these numbers all finite? */
int ds_all_finite(const double *v, uint64_t count);

/* There is no loss, for this reason. */
void ds_answer_fail(ds_answer *a, uint32_t outcome, const char *text);

/* The same where a call of the plugin returned `st`, which is not DS_OK: its own words say why. */
void ds_answer_fail_status(const ds_env *env, ds_answer *a, ds_status st);

/* An extension of the instance, or NULL. */
const void *ds_env_extension(const ds_env *env, const char *id);

/* The scene extension, or NULL. */
const ds_scene *ds_env_scene(const ds_env *env);

/* ---- one episode of stepwise control (extension ds.env.rl/1) ---- */

/* The episode that an instance has in hand; all zero = none. */
typedef struct ds_episode {
    ds_env *env;
    int open;
    uint64_t key;  /* its noise key */
    uint64_t step; /* steps taken */
    int sound;     /* all of them, the end included: they can be gone back over */
    uint64_t back; /* step that a sweep has gone back over last; UINT64_MAX = there is none */
} ds_episode;

/* What one step gave. Where `ended` is not DS_RL_GOES_ON the episode is over; one whose outcome is not
 * DS_EVAL_OK is terminated. */
typedef struct ds_episode_answer {
    ds_answer answer; /* loss, where the episode is over; cost, wall_s and message of this step */
    double reward;
    uint32_t ended; /* DS_RL_* */
    uint32_t reserved;
} ds_episode_answer;

/* Brings the episode of noise key `key` to step `step`: 0 = its beginning, else by the last action of x,
 * which holds the actions of all steps so far (step x n_act). An instance that is somewhere else (it is new,
 * or its process has died) goes through the steps before again, which gives the same: environments are
 * deterministic. obs gets n_obs values; it is left alone where the episode has failed. DS_STOPPED when the
 * plugin stopped on request, else DS_OK. */
ds_status ds_episode_advance(ds_episode *ep, uint64_t key, uint64_t step, const double *x, double *obs,
                             ds_episode_answer *out);

/* One step backwards (extension ds.env.rl_gradient/1, which the instance has): the sweep of the episode of
 * this noise key, which was brought to step `taken`, goes back over step `step`; taken - 1 begins a sweep. */
typedef struct ds_episode_back {
    uint64_t key, taken, step;
    double reward_bar;
    const double *obs_bar; /* n_obs values */
    double *action_bar;    /* out: n_act values, 0 where the outcome is not DS_EVAL_OK */
} ds_episode_back;

/* `lost` gets 1 where the instance is not there (it is new): the episode has to be brought to its step, and
 * the sweep to begin anew. DS_STOPPED when the plugin stopped on request, else DS_OK. */
ds_status ds_episode_go_back(ds_episode *ep, const ds_episode_back *b, int *lost, ds_answer *out);

#endif
