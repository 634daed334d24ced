/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/simple.h - the short way to a plugin, in C: one function and one line that announces it.
 *
 * An environment is a function of its variables and the macro DS_DEFINE_SIMPLE with the fields that it needs:
 *
 *     #include <diffsim/helper/simple.h>
 *
 *     static const ds_param *const params[] = {
 *         DS_REAL("stiffness", "2", 0, 10, "N/m", "Of the spring."), NULL};
 *
 *     static double loss(const ds_simple_episode *e)
 *     {
 *         if (e->grad != NULL) {
 *             e->grad[0] = e->param[0] * e->x[0];
 *         }
 *         return 0.5 * e->param[0] * e->x[0] * e->x[0];
 *     }
 *
 *     DS_DEFINE_SIMPLE(.id = "spring", .summary = "Energy of a spring.", .params = params,
 *                      .flags = DS_ENV_GRADIENT, .n = 1, .lower = -1, .upper = 1, .start = 0.5, .loss = loss)
 *
 * Every further field of ds_simple_env adds a feature, and all of them combine: names, units and bounds of
 * each variable; data that setup() makes from the parameters; a scene; channels; stepwise control; many
 * points in one call. A whole environment with most of them:
 *
 *     #include <diffsim/helper/simple.h>
 *
 *     enum { STEPS = 50 };
 *     static const ds_param *const params[] = {
 *         DS_LIST("goal", "1 0.5", -5, 5, 2, "m", "Where the cart should be at the end, x and y."),
 *         DS_REAL("wind", "0.1", 0, 1, "m/s", "Standard deviation of the gusts."), NULL};
 *     static const ds_simple_variable variables[] = {
 *         {"velocity.x", "m/s", "velocity", -4, 4, 0.5}, {"velocity.y", "m/s", "velocity", -4, 4, 0.5}};
 *     static const ds_thing things[] = {DS_THING("cart", DS_BODY_BOX, DS_ROLE_MATERIAL, 0.1, 0.1, 0.1),
 *                                       DS_THING("goal", DS_BODY_SPHERE, DS_ROLE_TARGET, 0.1)};
 *     static const ds_channel *const channels[] = {DS_RESIDUALS("miss", 2, "m", "Of the goal."), NULL};
 *
 *     typedef struct data {
 *         double goal[2];
 *     } data;
 *
 *     static void setup(ds_simple_setup *s)
 *     {
 *         ds_param_values(s->in, "goal", 2, ((data *)s->data)->goal);
 *     }
 *
 *     static double loss(const ds_simple_episode *e)
 *     {
 *         const data *d = e->data;
 *         double at[2] = {0, 0}, *miss = e->channel[0].value, *J = e->channel[0].jacobian;
 *         ds_random wind = ds_random_open(e->noise_key, "wind", 0);
 *         for (uint64_t k = 0; k <= STEPS; k++) {
 *             ds_see(k, 0, at[0], at[1], 0);
 *             for (int i = 0; i < 2 && k < STEPS; i++) {
 *                 const double gust = e->noise_key != 0 ? e->param[1] * ds_random_normal(&wind) : 0;
 *                 at[i] += (e->x[i] + gust) / STEPS;
 *             }
 *         }
 *         ds_see(0, 1, d->goal[0], d->goal[1], 0);
 *         for (int i = 0; i < 2; i++) {
 *             miss[i] = at[i] - d->goal[i];
 *             J[2 * i + i] = 1;
 *         }
 *         return ds_simple_squares(e, 0, 2);
 *     }
 *
 *     DS_DEFINE_SIMPLE(.id = "gusty_cart", .summary = "A cart in the wind.", .params = params,
 *                      .flags = DS_ENV_GRADIENT | DS_ENV_STOCHASTIC, .n = 2, .variables = variables,
 *                      .data_size = sizeof(data), .setup = setup, .steps = STEPS, .dt = 1.0 / STEPS,
 *                      DS_THINGS(things), .channels = channels, .loss = loss)
 *
 * Stepwise control is in diffsim/helper/steps.h. An optimizer is one loop over ds_simple_ask(), see
 * diffsim/helper/simple_optimizer.h, which this header includes:
 *
 *     static ds_status search(ds_simple_search *s);
 *     DS_SIMPLE_OPTIMIZER("walk", "Evolution strategy.", params, 0, search)
 *
 * The host does the rest, as for every plugin: help, templates and checks of the parameters, parallel
 * evaluation, isolation, budget, record and resume. Test it with `dshost check ./spring.so`.
 *
 * Header only, no part of the binary interface. An environment that does not fit (metrics, meshes, adjoints
 * that run after the simulation, derivatives of control steps) uses diffsim/helper/env_kit.h, of which this
 * header is made.
 */
#ifndef DIFFSIM_SIMPLE_H
#define DIFFSIM_SIMPLE_H

#include <diffsim/diffsim.h>
#include <diffsim/ext/channel.h>
#include <diffsim/helper/env_kit.h>
#include <diffsim/helper/params.h>
#include <diffsim/helper/random.h>
#include <diffsim/helper/simple_optimizer.h>
#include <diffsim/helper/things.h>

#ifndef __cplusplus

/* ---- arguments of the author's functions ---- */

/* Where an episode writes a channel. */
typedef struct ds_simple_channel {
    double *value;    /* its elements; NULL for an image */
    float *pixel;     /* pixels of an image, 0..1, the top row first; else NULL */
    double *jacobian; /* residuals and constraints: d value[i] / d x[j] at i n + j; else NULL */
} ds_simple_channel;

/* One episode. The function reads the fields and writes to what grad, channel and state point to. */
typedef struct ds_simple_episode {
    /* Values of the schema in its order: switches as 0 or 1, choices as their index; 0 at texts, lists, files
     * and arrays, which setup() can read. */
    const double *param;
    const double *x;                  /* n values; NULL in stepwise control and in range() and variable() */
    uint64_t n;                       /* number of variables */
    double *grad;                     /* n values to be written; NULL where they are not wanted */
    uint64_t noise_key;               /* 0 = no noise, else for ds_random_open(noise_key, "wind", 0) */
    const ds_simple_channel *channel; /* in the order of the list; NULL in rows() */
    const void *data;                 /* what setup() made */
    double *state;                    /* stepwise control: n_state values, 0 before reset() */
    uint64_t step;                    /* stepwise control: the step that step() takes, from 0 on */
    uint64_t steps;                   /* steps of an episode */
} ds_simple_episode;

/* What setup() sees. It fills `data`, may change n, steps and dt, which have the values of the table, and
 * reports an error of the user by in->status = ds_host_fail(in->host, DS_E_PARAM, ...). */
typedef struct ds_simple_setup {
    ds_param_reader *in;
    const double *param; /* as in ds_simple_episode */
    void *data;          /* data_size bytes, 0 */
    ds_memory *memory;   /* for arrays; released with the instance. The caller looks at its `failed` */
    uint64_t n, steps;
    double dt;
} ds_simple_setup;

/* Name, unit, group ("" = none), bounds and start value of one variable. */
typedef struct ds_simple_variable {
    const char *name, *unit, *group;
    double lower, upper, start;
} ds_simple_variable;

/* ---- the environment ---- */

/* All fields are optional but id, summary, n, and loss or step. Functions get a ds_simple_episode that is
 * valid during the call. They are pure, see ds_env_vtable.evaluate. [instance] */
typedef struct ds_simple_env {
    const char *id, *summary;                               /* the file name without ".so"; one line */
    const char *description, *version, *license, *citation; /* ["" "1" "unstated" ""], see below */
    const ds_param *const *params;                          /* NULL-terminated, of any types */
    uint64_t flags; /* DS_ENV_GRADIENT where loss() writes the gradient, DS_ENV_STOCHASTIC, ... */

    /* Variables: their number; bounds and start value of all, or of each: from a table of n rows, which also
     * names them, or by functions. */
    uint64_t n;
    double lower, upper, start;
    const ds_simple_variable *variables;
    void (*range)(const ds_simple_episode *e, uint64_t i, double *lower, double *upper, double *start);
    void (*variable)(const ds_simple_episode *e, uint64_t i, ds_env_variable *out);

    /* Data that an instance makes once from its parameters: bytes of `data`; the function that fills it; one
     * that releases what is not in `memory`, also after an error. */
    size_t data_size;
    void (*setup)(ds_simple_setup *s);
    void (*release)(void *data);

    /* The episode: its output steps [1] and the seconds of each; whether the loss is never below 0.
     * loss() simulates the episode at e->x, writes all channels, and the gradient where e->grad is not NULL,
     * and returns the loss; not finite = the simulation diverged. grad_kind says how it makes derivatives
     * [DS_GRAD_ADJOINT]. */
    uint64_t steps;
    double dt;
    int nonnegative;
    double (*loss)(const ds_simple_episode *e);
    uint32_t grad_kind;

    /* Many points in one call: simulates episodes e[0] .. e[count - 1], count <= max_rows, and writes
     * their losses, each the same as loss() returns for it, bit for bit, and their gradients where e->grad
     * is not NULL. Called where neither channels nor a scene are asked for. */
    void (*rows)(const ds_simple_episode *e, uint64_t count, double *loss);
    uint64_t max_rows; /* 0 = DS_SIMPLE_ROWS */

    /* Scene: the table of things, see DS_THINGS(). The functions report positions by ds_see(). */
    const ds_thing *things;
    uint64_t kinds;

    /* Channels: a NULL-terminated list of DS_RESIDUALS(), DS_CONSTRAINTS(), DS_OBSERVED(), DS_IMAGE(). */
    const ds_channel *const *channels;

    /* Stepwise control (diffsim/helper/steps.h): numbers of an action, an observation and the state; n =
     * steps x n_act [which is set where n is 0]. reset() writes the state at the start. step() takes step
     * e->step and returns what it costs. observe() writes what a policy sees. With loss(), loss() at the
     * actions must return the sum of the costs. Without it that sum is the loss: step() reports frame
     * e->step + 1 and writes the channels in the last step. time_limit: see ds_env_kit. */
    uint64_t n_act, n_obs, n_state;
    void (*reset)(const ds_simple_episode *e);
    double (*step)(const ds_simple_episode *e, const double *action);
    void (*observe)(const ds_simple_episode *e, double *obs);
    int time_limit;
} ds_simple_env;

enum { DS_SIMPLE_ROWS = 64 }; /* most episodes of one call of rows() where max_rows is 0 */

/* The fields `things` and `kinds` for an array of ds_thing. */
#define DS_THINGS(table_) .things = (table_), .kinds = sizeof(table_) / sizeof *(table_)

/* Entries of a list of channels, `static const ds_channel *const []` with NULL at its end: name, number of
 * elements (of an image height and width), range of a constraint (-INFINITY, INFINITY = no limit; equal for
 * an equation), unit, one sentence. */
#define DS_RESIDUALS(name_, count_, unit_, doc_)                                                             \
    DS_SIMPLE_CHANNEL_(DS_CHANNEL_RESIDUAL, DS_SIMPLE_PRODUCTS_, name_, unit_, doc_, -INFINITY, INFINITY,    \
                       count_)
#define DS_CONSTRAINTS(name_, count_, lower_, upper_, unit_, doc_)                                           \
    DS_SIMPLE_CHANNEL_(DS_CHANNEL_CONSTRAINT, DS_SIMPLE_PRODUCTS_, name_, unit_, doc_, lower_, upper_, count_)
#define DS_OBSERVED(name_, count_, unit_, doc_)                                                              \
    DS_SIMPLE_CHANNEL_(DS_CHANNEL_STATE, 0u, name_, unit_, doc_, -INFINITY, INFINITY, count_)
#define DS_IMAGE(name_, height_, width_, doc_)                                                               \
    DS_SIMPLE_CHANNEL_(DS_CHANNEL_IMAGE, 0u, name_, "", doc_, -INFINITY, INFINITY, height_, width_)
/* Used by the macros above. */
#define DS_SIMPLE_PRODUCTS_ (DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV))
#define DS_SIMPLE_CHANNEL_(role_, ops_, name_, unit_, doc_, lower_, upper_, ...)                             \
    (&(const ds_channel){.struct_size = sizeof(ds_channel),                                                  \
                         .role = (role_),                                                                    \
                         .type = (role_) == DS_CHANNEL_IMAGE ? DS_TYPE_F32 : DS_TYPE_F64,                    \
                         .ops = DS_CAN(DS_QUERY_VALUE) | (ops_),                                             \
                         .ndim = (role_) == DS_CHANNEL_IMAGE ? 2 : 1,                                        \
                         .shape = {__VA_ARGS__},                                                             \
                         .lower = (lower_),                                                                  \
                         .upper = (upper_),                                                                  \
                         .name = (name_),                                                                    \
                         .unit = (unit_),                                                                    \
                         .doc = (doc_)})

/* Returns the sum of the `count` squares of residual channel k and writes its gradient 2 J' r where that is
 * wanted: what loss() returns where it has residuals. [instance] */
static inline double ds_simple_squares(const ds_simple_episode *e, uint64_t k, uint64_t count);

/* ---- the plugin ---- */

/* Private: the plugin of one ds_simple_env, written by the first ds_plugin_query() (env_kit.h). */
typedef struct ds_simple_plugin {
    ds_env_table table; /* first */
    const ds_simple_env *env;
    ds_desc desc;
    ds_env_kit_plugin kit;
} ds_simple_plugin;

/* Defines the whole plugin of an environment from fields of ds_simple_env; use it once, at file scope, after
 * its functions. Description, version and license that are left out are those defined before this header is
 * included:
 *
 *     #define DS_SIMPLE_VERSION "2"
 *     #define DS_SIMPLE_LICENSE "Apache-2.0"
 *     #define DS_SIMPLE_DESCRIPTION "A mass on a spring, in the units of the SI."
 *     #include <diffsim/helper/simple.h>
 */
#define DS_DEFINE_SIMPLE(...)                                                                                \
    static const ds_simple_env ds_simple_env_ = {__VA_ARGS__};                                               \
    static ds_simple_plugin ds_simple_plugin_ = {.env = &ds_simple_env_};                                    \
    static ds_status ds_simple_make_(const ds_host *host, void **out)                                        \
    {                                                                                                        \
        return ds_env_kit_create(&ds_simple_plugin_.table, host, out);                                       \
    }                                                                                                        \
    static ds_status ds_simple_call_(void *self, const ds_rows *rows, const ds_results *results)             \
    {                                                                                                        \
        return ds_env_kit_evaluate_table(&ds_simple_plugin_.table, self, rows, results);                     \
    }                                                                                                        \
    const ds_plugin *DS_CALL ds_plugin_query(uint32_t host_major, uint32_t host_minor)                       \
    {                                                                                                        \
        static const ds_env_vtable vtable = {.struct_size = sizeof(ds_env_vtable),                           \
                                             .create = ds_simple_make_,                                      \
                                             .destroy = ds_env_kit_destroy,                                  \
                                             .info = ds_env_kit_info,                                        \
                                             .bounds = ds_env_kit_bounds,                                    \
                                             .evaluate = ds_simple_call_,                                    \
                                             .get_extension = ds_env_kit_extension};                         \
        (void)host_major, (void)host_minor;                                                                  \
        return ds_simple_query(&ds_simple_plugin_, &vtable);                                                 \
    }

/* The same in one line for an environment that is one function of parameters and variables:
 *   id_, summary_, params_, flags_, n_, lower_, upper_, start_   the fields of that name
 *   loss_   double loss_(const double *param, const double *x, double *grad): param, x and grad of
 *           ds_simple_episode */
#define DS_SIMPLE_ENV(id_, summary_, params_, flags_, n_, lower_, upper_, start_, loss_)                     \
    DS_SIMPLE_LOSS_(loss_)                                                                                   \
    DS_DEFINE_SIMPLE(DS_SIMPLE_FIELDS_(id_, summary_, params_, flags_, n_, lower_, upper_, start_),          \
                     .loss = ds_simple_loss_)
/* Parts of it that diffsim/helper/scene.h uses as well. */
#define DS_SIMPLE_LOSS_(loss_)                                                                               \
    static double ds_simple_loss_(const ds_simple_episode *e)                                                \
    {                                                                                                        \
        return loss_(e->param, e->x, e->grad);                                                               \
    }
#define DS_SIMPLE_FIELDS_(id_, summary_, params_, flags_, n_, lower_, upper_, start_)                        \
    .id = id_, .summary = summary_, .params = params_, .flags = (flags_), .n = (n_), .lower = (lower_),      \
    .upper = (upper_), .start = (start_)

#include <diffsim/helper/simple.inl>

#endif
#endif
