/* SPDX-License-Identifier: Apache-2.0 */
/* instance.h - one environment instance, and evaluations with it, whose answers are made safe. */
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
    uint64_t max_rows;                           /* rows of one call of evaluate() */
    const ds_env_steps *steps;                   /* NULL = not offered */
    ds_steps_info steps_info;                    /* max_lanes at least 1 */
    const ds_env_steps_gradient *steps_gradient; /* NULL = not offered */
    ds_env_steps steps_table;                    /* those tables, in our own size */
    ds_env_steps_gradient steps_gradient_table;
    ds_env_score score_table;
    ds_score_info score;            /* noise on actions; noise = 0: not offered */
    ds_channels channels;           /* none where not offered */
    ds_named_variable *variables;   /* n of them; NULL = without names, or not asked for */
    ds_hooks hooks;                 /* none where not offered */
    struct ds_env_results *results; /* room for those of max_rows rows */
} ds_env;

/* Makes an environment from section [env] of the settings, asks info and bounds and
 * extensions and tests them. */
int ds_env_open(const ds_module *module, const ds_settings *settings, uint64_t seed, uint32_t threads,
                const atomic_int *stop, ds_env **out, ds_error *e);

/* The same in a process that is worker number `worker` of `workers`. */
typedef struct ds_place {
    uint32_t threads; /* that one call may use */
    uint32_t worker, workers;
} ds_place;
int ds_env_open_at(const ds_module *module, const ds_settings *settings, uint64_t seed, const ds_place *place,
                   const atomic_int *stop, ds_env **out, ds_error *e);
void ds_env_close(ds_env *env);

/* Asks for the names of the variables, unless there are more than DS_MAX_NAMED, and tests them. Not part of
 * ds_env_open(): only who shows them to people needs them. */
int ds_env_read_variables(ds_env *env, ds_error *e);

/* What an instance says about itself, wherever it is. */
typedef struct ds_env_facts {
    ds_env_info info;
    ds_steps_info steps; /* horizon 0 = no stepwise control */
    ds_score_info score; /* noise 0 = none on actions */
    const ds_channels *channels;
    uint64_t max_rows; /* of one call; 1 = one at a time */
    int has_gradient;
    int steps_gradient; /* stepwise control with derivatives */
    int stochastic;
    const double *lower, *upper, *x0;   /* info.n values each */
    const ds_named_variable *variables; /* info.n; NULL = without names */
    const ds_params *params;
    ds_hooks hooks; /* by value: pointers mean nothing between processes */
} ds_env_facts;

ds_env_facts ds_env_facts_of(const ds_env *env);

/* Are bounds finite and in order (equal ones fix a variable), and is x0 (may be NULL) inside? `who` ("" =
 * nobody) begins the line that says that they are not, for which `status` is returned. */
int ds_bounds_check(const char *who, uint64_t n, const double *lower, const double *upper, const double *x0,
                    int status, ds_error *e);

/* A table of rows for an instance, and where its results go. Row k of an array begins k strides behind its
 * start; strides count elements of the array. */
typedef struct ds_env_rows {
    uint64_t count; /* 1 .. env->max_rows; 1 with DS_WANT_SCENE and where the score is asked for */
    uint32_t want;  /* DS_WANT_* */
    const double *x;
    uint64_t x_stride;
    const uint64_t *noise_key;      /* count */
    const ds_query_layout *queries; /* the queries of every row, or that for the score; NULL = none */
    const double *in;               /* asks->in numbers a row, as laid out */
    uint64_t in_stride;
    double *grad; /* n values a row with DS_WANT_GRAD; the plugin writes there directly */
    uint64_t grad_stride;
    uint64_t *out; /* asks->out words a row; the plugin writes there directly */
    uint64_t out_stride;
    ds_answer *const *answer; /* count */
} ds_env_rows;

/* Room for the results of `rows` rows; NULL without memory. Release with free(). */
struct ds_env_results *ds_env_results_make(uint64_t rows);

/* Evaluates the rows (x inside the bounds) and makes the answers safe: a non-finite loss or gradient becomes
 * DS_EVAL_INVALID or DS_EVAL_BAD_GRAD, an error status DS_EVAL_ERROR; gradients and outputs are zeroed where
 * there are none. The kind of a product is in grad_kind where no gradient is wanted. Where a call with
 * several rows fails, or one of its rows, each of those is evaluated once more alone: its message is then its
 * own. Returns DS_STOPPED if the plugin stopped on request, else DS_OK. */
ds_status ds_env_evaluate_table(ds_env *env, const ds_env_rows *t);

/* The same for one point; grad (n values) may be NULL. */
ds_status ds_env_evaluate(ds_env *env, const double *x, uint64_t noise_key, uint32_t want, double *grad,
                          ds_answer *answer);

/* The same with the queries of an inquiry (may be NULL). */
ds_status ds_env_evaluate_queries(ds_env *env, const double *x, uint64_t noise_key, uint32_t want,
                                  double *grad, const ds_query_io *inquiry, ds_answer *answer);

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

/* ---- stepwise control (extension ds.env.steps/1) ---- */

/* The episode that a lane of an instance has in hand; all zero but env and lane = none. */
typedef struct ds_episode {
    ds_env *env;
    uint64_t lane; /* of the instance */
    int open;
    uint64_t key;  /* its noise key */
    uint64_t step; /* steps taken */
    int sound;     /* all of them, the end included: they can be gone back over */
    uint64_t back; /* step that a sweep has gone back over last; UINT64_MAX = there is none */
} ds_episode;

/* The lanes that a process serves: makes an instance for each max_lanes lanes. All zero but `make` and `ctx`
 * = none yet. */
typedef struct ds_lane_set {
    int (*make)(void *ctx, ds_env **out, ds_error *e); /* 0, or an exit status */
    void *ctx;
    ds_episode **lane; /* NULL = not used so far */
    uint64_t lanes;    /* room of `lane` */
    ds_env **env;      /* instance i holds lanes i max_lanes .. (i + 1) max_lanes - 1; NULL = not made */
    uint64_t max_lanes;
} ds_lane_set;

/* The episode of a lane 0, 1, ...; `max_lanes` is that of the environment. 0, or an exit status. */
int ds_lane_set_find(ds_lane_set *s, uint64_t lane, uint64_t max_lanes, ds_episode **out, ds_error *e);

/* Closes all instances but `kept` (may be NULL). */
void ds_lane_set_close(ds_lane_set *s, const ds_env *kept);

/* One step of one episode. It is brought to step `step`: 0 = its beginning, else by the last action of x,
 * which holds the actions of all steps so far (step x n_act). An episode that is somewhere else (its instance
 * is new, or its process has died) goes through the steps before again, which gives the same: environments
 * are deterministic. */
typedef struct ds_episode_step {
    ds_episode *episode;
    uint64_t key, step;
    const double *x;
    double *obs;       /* out: n_obs values; left alone where the episode has failed */
    double reward;     /* out */
    uint32_t ended;    /* out: DS_STEPS_*; an episode whose outcome is not DS_EVAL_OK is terminated */
    ds_answer *answer; /* out: loss, where the episode is over; cost, wall_s and message of this step */
} ds_episode_step;

/* Makes the steps, those of one instance in one call. Returns DS_STOPPED when the plugin stopped on request,
 * else DS_OK. */
ds_status ds_episodes_advance(uint64_t count, ds_episode_step *const *step);

/* One step backwards (extension steps_gradient, which the instance has): the sweep of the episode of this
 * noise key, which was brought to step `taken`, goes back over step `step`; taken - 1 begins a sweep. */
typedef struct ds_episode_back {
    ds_episode *episode;
    uint64_t key, taken, step;
    double reward_bar;
    const double *obs_bar; /* n_obs values */
    double *action_bar;    /* out: n_act values, 0 where the outcome is not DS_EVAL_OK */
    /* out: the episode is not there (its instance is new): it has to be brought to its step, and the sweep to
     * begin anew */
    int lost;
    ds_answer *answer; /* out */
} ds_episode_back;

/* Goes back over them, those of one instance in one call; as ds_episodes_advance(). */
ds_status ds_episodes_go_back(uint64_t count, ds_episode_back *const *back);

/* ---- env ---- */

/* does one side offer what the other cannot do without (ds_desc.needs)? */

/* What somebody offers. */
typedef struct ds_offer {
    const char *who;               /* "torus" */
    int gradient;                  /* DS_HAS_GRADIENT */
    int residuals;                 /* DS_HAS_RESIDUALS */
    int episodes;                  /* DS_EXT_STEPS */
    int episode_gradients;         /* DS_EXT_STEPS_GRADIENT */
    const char *const *extensions; /* any other id, NULL-terminated; may be NULL */
    const char *advice;            /* what to do without it */
} ds_offer;

/* What an environment offers to optimizers: as its descriptor says, which may be more than an instance does,
 * and with the parameters of an instance. */
ds_offer ds_offer_of_env(const ds_desc *env);
ds_offer ds_offer_of_instance(const ds_desc *env, const ds_env_facts *facts);

/* The first need that is not met, or NULL; an id that nobody here knows is one. */
const char *ds_need_unmet(const ds_desc *d, const ds_offer *o);

/* A need in words, "gradients"; the id itself where there are none. */
const char *ds_need_words(const char *id);

/* DS_EXIT_PLUGIN and one line where a need is not met. */
int ds_need_check(const ds_desc *d, const ds_offer *o, ds_error *e);

/* The same where an instance of the environment wants a process to itself (DS_ENV_OWN_PROCESS), which `who`
 * does not give. */
int ds_need_process(const ds_desc *env, const char *who, const char *advice, ds_error *e);

#endif
