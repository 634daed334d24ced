/* SPDX-License-Identifier: Apache-2.0 */
/* instance.h - one environment instance: evaluations and episodes with it, whose results are tested. */
#ifndef DS_PLUGIN_INSTANCE_H
#define DS_PLUGIN_INSTANCE_H

#include "base/answer.h"
#include "base/variables.h"
#include "plugin/channels.h"
#include "plugin/services.h"

#include <diffsim/ext/draft/steps_gradient.h>
#include <diffsim/ext/scene.h>
#include <diffsim/ext/steps.h>

typedef struct ds_env {
    ds_services services;
    const ds_module *module;
    const ds_env_vtable *vt;
    void *self;
    ds_env_info info;
    double *lower, *upper, *x0; /* n values each */
    int has_gradient;
    int stochastic;                              /* results depend on the noise key */
    uint64_t episodes;                           /* of one evaluation (expectation.c) */
    uint64_t max_rows;                           /* rows of one call of evaluate() */
    const ds_env_steps *steps;                   /* NULL = not offered */
    ds_steps_info steps_info;                    /* max_lanes at least 1 */
    const ds_env_steps_gradient *steps_gradient; /* NULL = not offered */
    ds_env_steps steps_table;                    /* copies of those tables, in this version's size */
    ds_env_steps_gradient steps_gradient_table;
    ds_env_score score_table;
    ds_score_info score;            /* noise on actions; noise 0: not offered */
    ds_channels channels;           /* none where not offered */
    ds_named_variable *variables;   /* n of them; NULL = unnamed, or not read */
    ds_hooks hooks;                 /* none where not offered */
    struct ds_env_results *results; /* buffers for max_rows rows */
} ds_env;

/* Makes an environment from section [env] of the settings; reads and tests its info, bounds and extensions.
 * With env.expect it has several instances (expectation.c). */
int ds_env_open(const ds_module *module, const ds_settings *settings, uint64_t seed, uint32_t threads,
                const atomic_int *stop, ds_env **out, ds_error *e);

/* The same in a process that is worker number `worker` of `workers`. */
typedef struct ds_place {
    uint32_t threads; /* for one call */
    uint32_t worker, workers;
    int quiet; /* drop what the instance logs */
} ds_place;
int ds_env_open_at(const ds_module *module, const ds_settings *settings, uint64_t seed, const ds_place *place,
                   const atomic_int *stop, ds_env **out, ds_error *e);

/* The same, where `make` sets env->vt and env->self (NULL: ds_env_create(), create() of the plugin). */
typedef int ds_env_maker(ds_env *env, void *ctx, ds_error *e);
int ds_env_open_by(const ds_module *module, const ds_settings *settings, uint64_t seed, const ds_place *place,
                   const atomic_int *stop, ds_env_maker *make, void *ctx, ds_env **out, ds_error *e);
int ds_env_create(ds_env *env, ds_error *e);
void ds_env_close(ds_env *env);

/* Reads and tests the names of the variables, if there are at most DS_MAX_NAMED. Not part of ds_env_open():
 * only programs that show names need them. */
int ds_env_read_variables(ds_env *env, ds_error *e);

/* Description of an instance, which may be in another process. */
typedef struct ds_env_facts {
    ds_env_info info;
    ds_steps_info steps; /* horizon 0 = no stepwise control */
    ds_score_info score; /* noise 0 = no noise on actions */
    const ds_channels *channels;
    uint64_t max_rows; /* of one call; 1 = one at a time */
    int has_gradient;
    int steps_gradient; /* stepwise control offers derivatives */
    int stochastic;
    uint64_t episodes;                  /* of one evaluation, at least 1 */
    const double *lower, *upper, *x0;   /* info.n values each */
    const ds_named_variable *variables; /* info.n; NULL = unnamed */
    const ds_params *params;
    ds_hooks hooks; /* by value: pointers mean nothing in another process */
} ds_env_facts;

ds_env_facts ds_env_facts_of(const ds_env *env);

/* Tests that bounds are finite and in order (equal bounds fix a variable) and that x0 (may be NULL) lies
 * inside. On failure returns `status` and a line that begins with `who` ("" = nothing). */
int ds_bounds_check(const char *who, uint64_t n, const double *lower, const double *upper, const double *x0,
                    int status, ds_error *e);

/* Rows to evaluate, and where their results go. Row k of an array begins k strides after its start; strides
 * count elements of the array. */
typedef struct ds_env_rows {
    uint64_t count; /* 1 .. env->max_rows; 1 with DS_WANT_SCENE or a score query */
    uint32_t want;  /* DS_WANT_* */
    const double *x;
    uint64_t x_stride;
    const uint64_t *noise_key;      /* count */
    const ds_query_layout *queries; /* of every row, or the query for the score; NULL = none */
    const double *in;               /* queries->in doubles per row, as laid out */
    uint64_t in_stride;
    double *grad; /* with DS_WANT_GRAD, n values per row, written by the plugin directly */
    uint64_t grad_stride;
    uint64_t *out; /* queries->out words per row, written by the plugin directly */
    uint64_t out_stride;
    ds_answer *const *answer; /* count */
} ds_env_rows;

/* Allocates buffers for the results of `rows` rows; NULL without memory. Release with free(). */
struct ds_env_results *ds_env_results_make(uint64_t rows);

/* Evaluates the rows (x inside the bounds) and tests the results. A loss or gradient that is not finite
 * becomes DS_EVAL_INVALID or DS_EVAL_BAD_GRAD, an error status DS_EVAL_ERROR; gradients and outputs without a
 * result are zeroed. Where no gradient is wanted, grad_kind holds the kind of a product. If a call with
 * several rows fails, or some of its rows, each of these is evaluated once more alone, so that the message is
 * its own. Returns DS_STOPPED if the plugin stopped on request, else DS_OK. */
ds_status ds_env_evaluate_table(ds_env *env, const ds_env_rows *t);

/* The same for one point; grad (n values) may be NULL. */
ds_status ds_env_evaluate(ds_env *env, const double *x, uint64_t noise_key, uint32_t want, double *grad,
                          ds_answer *answer);

/* The same with queries (may be NULL). */
ds_status ds_env_evaluate_queries(ds_env *env, const double *x, uint64_t noise_key, uint32_t want,
                                  double *grad, const ds_query_io *inquiry, ds_answer *answer);

/* Are all these numbers finite? */
int ds_all_finite(const double *v, uint64_t count);

/* Marks a failed evaluation: no loss, and this reason. */
void ds_answer_fail(ds_answer *a, uint32_t outcome, const char *text);

/* The same where a call of the plugin returned `st`, not DS_OK; the message is the plugin's own. */
void ds_answer_fail_status(const ds_env *env, ds_answer *a, ds_status st);

/* An extension of the instance, or NULL. */
const void *ds_env_extension(const ds_env *env, const char *id);

/* The scene extension, or NULL. */
const ds_scene *ds_env_scene(const ds_env *env);

/* ---- stepwise control (extension ds.env.steps/1) ---- */

/* The episode in a lane of an instance. All zero but env and lane = none. */
typedef struct ds_episode {
    ds_env *env;
    uint64_t lane; /* of the instance */
    int open;
    uint64_t key;  /* its noise key */
    uint64_t step; /* steps taken */
    int sound;     /* all steps succeeded, the end included: a backward sweep is possible */
    uint64_t back; /* the last step that the backward sweep passed; UINT64_MAX = none */
} ds_episode;

/* The lanes that a process serves; makes an instance per max_lanes lanes. Starts all zero but `make` and
 * `ctx`. */
typedef struct ds_lane_set {
    int (*make)(void *ctx, ds_env **out, ds_error *e); /* 0, or an exit status */
    void *ctx;
    ds_episode **lane; /* NULL = not used yet */
    uint64_t lanes;    /* room of `lane` */
    ds_env **env;      /* instance i holds lanes i max_lanes .. (i + 1) max_lanes - 1; NULL = not made */
    uint64_t max_lanes;
} ds_lane_set;

/* Finds the episode of lane 0, 1, ..., below the `max_lanes` of the environment. Returns 0, or an exit
 * status. */
int ds_lane_set_find(ds_lane_set *s, uint64_t lane, uint64_t max_lanes, ds_episode **out, ds_error *e);

/* Closes all instances but `kept` (may be NULL). */
void ds_lane_set_close(ds_lane_set *s, const ds_env *kept);

/* Brings one episode to step `step`: 0 = its beginning, else by the last action of x, which holds the actions
 * of all steps so far (step x n_act). An episode that is elsewhere, because its instance is new or its
 * process died, repeats the steps before; environments are deterministic, so the result is the same. */
typedef struct ds_episode_step {
    ds_episode *episode;
    uint64_t key, step;
    const double *x;
    double *obs;       /* out: n_obs values; unchanged where the episode failed */
    double reward;     /* out */
    uint32_t ended;    /* out: DS_STEPS_*; TERMINATED where the outcome is not DS_EVAL_OK */
    ds_answer *answer; /* out: the loss at the end of the episode; cost, wall_s and message of this step */
} ds_episode_step;

/* Takes the steps, with one call for each instance. Returns DS_STOPPED if the plugin stopped on request, else
 * DS_OK. */
ds_status ds_episodes_advance(uint64_t count, ds_episode_step *const *step);

/* Goes back over one step (the instance has the extension steps_gradient). The episode of this noise key is
 * at step `taken`; the sweep begins with step taken - 1 and goes down. */
typedef struct ds_episode_back {
    ds_episode *episode;
    uint64_t key, taken, step;
    double reward_bar;
    const double *obs_bar; /* n_obs values */
    double *action_bar;    /* out: n_act values, 0 where the outcome is not DS_EVAL_OK */
    /* out: the instance does not hold the episode: bring it to its step again, and restart the sweep */
    int lost;
    ds_answer *answer; /* out */
} ds_episode_back;

/* Goes back over these steps, with one call for each instance. Returns as ds_episodes_advance(). */
ds_status ds_episodes_go_back(uint64_t count, ds_episode_back *const *back);

/* ---- needs of a plugin (ds_desc.needs) and offers of the other side ---- */

/* What an environment, or a host, offers. */
typedef struct ds_offer {
    const char *who;               /* "torus" */
    int gradient;                  /* DS_HAS_GRADIENT */
    int residuals;                 /* DS_HAS_RESIDUALS */
    int episodes;                  /* DS_EXT_STEPS */
    int episode_gradients;         /* DS_EXT_STEPS_GRADIENT */
    const char *const *extensions; /* any other ids, NULL-terminated; may be NULL */
    const char *advice;            /* what to do without it */
} ds_offer;

/* What an environment offers: according to its descriptor, which may list more than an instance has, and
 * according to an instance. */
ds_offer ds_offer_of_env(const ds_desc *env);
ds_offer ds_offer_of_instance(const ds_desc *env, const ds_env_facts *facts);

/* The first need that is not met, an unknown id included; or NULL. */
const char *ds_need_unmet(const ds_desc *d, const ds_offer *o);

/* A need in words, such as "gradients"; the id itself where there are none. */
const char *ds_need_words(const char *id);

/* Returns DS_EXIT_PLUGIN and one line if a need is not met. */
int ds_need_check(const ds_desc *d, const ds_offer *o, ds_error *e);

/* Returns DS_EXIT_PLUGIN and one line if instances of the environment need a process of their own
 * (DS_ENV_OWN_PROCESS), which `who` does not provide. */
int ds_need_process(const ds_desc *env, const char *who, const char *advice, ds_error *e);

#endif
