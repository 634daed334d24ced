/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/env_kit.h - an environment from a table of functions, in C.
 *
 * The author writes what is special to the environment: which parameters it reads, how it simulates and
 * differentiates an episode, what an episode shows. The kit writes the functions of the interface (env.h) and
 * of its extensions from that. Header only, no part of the binary interface. A whole environment:
 *
 *     #include <diffsim/helper/env_kit.h>
 *
 *     static const ds_param *const params[] = {
 *         DS_REAL("stiffness", "2", 0, 10, "N/m", "Of the springs."),
 *         DS_INT("springs", "3", 1, 1000, "", "How many.", .flags = DS_PARAM_SHAPE), NULL};
 *
 *     typedef struct coil {
 *         ds_env_kit kit; // first
 *         double stiffness;
 *     } coil;
 *
 *     static void read_coil(void *self, ds_param_reader *in)
 *     {
 *         coil *e = self;
 *         e->stiffness = ds_param_real(in, "stiffness");
 *         e->kit.n = (uint64_t)ds_param_int(in, "springs");
 *         e->kit.steps = 1;
 *     }
 *
 *     static ds_status simulate_coil(void *self, ds_eval *io)
 *     {
 *         const coil *e = self;
 *         io->loss = 0;
 *         for (uint64_t i = 0; i < io->n; i++) {
 *             io->loss += 0.5 * e->stiffness * io->x[i] * io->x[i];
 *         }
 *         return DS_OK;
 *     }
 *
 *     static ds_status adjoint_coil(void *self, ds_eval *io)
 *     {
 *         const coil *e = self;
 *         for (uint64_t i = 0; i < io->n; i++) {
 *             io->grad[i] = e->stiffness * io->x[i];
 *         }
 *         return DS_OK;
 *     }
 *
 *     static const ds_env_table env = {.size = sizeof(coil),
 *                                      .read = read_coil,
 *                                      .limit = 1,
 *                                      .simulate = simulate_coil,
 *                                      .adjoint = adjoint_coil};
 *
 *     static const ds_desc desc = {DS_ENV_KIT_DESC("coil", "1", "Apache-2.0", params),
 *                                  .flags = DS_ENV_GRADIENT,
 *                                  .summary = "Energy of springs.",
 *                                  .description = "",
 *                                  .citation = ""};
 *
 *     DS_ENV_KIT_DEFINE(env, desc)
 *
 * Further entries of the table add features, in any combination: `variable` (names of the variables), `place`
 * (a scene), `channel` (residuals, constraints, images), `act` (stepwise control), `back` (its derivatives),
 * `hook_points` (networks in the equations of motion), `rows` (many points in one call). The kit lists the
 * extensions of these entries in the descriptor; .extensions of the author's own descriptor lists only those
 * that `extension` answers.
 *
 * diffsim/helper/simple.h is a shorter way for small environments, and is made of this one.
 *
 * Threads and ownership are those of env.h: every function gets the instance and is called by one thread at a
 * time. Buffers of ds_eval and the other in-and-out structs belong to the caller.
 */
#ifndef DIFFSIM_HELPER_ENV_KIT_H
#define DIFFSIM_HELPER_ENV_KIT_H

#include <diffsim/ext/channel.h>
#include <diffsim/ext/draft/hooks.h>
#include <diffsim/ext/steps.h>
#include <diffsim/ext/draft/steps_gradient.h>
#include <diffsim/ext/variables.h>
#include <diffsim/helper/eval.h>
#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/memory.h>
#include <diffsim/helper/params.h>
#include <diffsim/helper/scene_kit.h>
#include <diffsim/plugin.h>

#ifndef __cplusplus
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct ds_env_table ds_env_table;

/* Texts of one variable (diffsim/ext/variables.h); "" = none. */
typedef struct ds_env_variable {
    char name[DS_MAX_NAME + 1], unit[DS_MAX_NAME + 1], group[DS_MAX_NAME + 1];
} ds_env_variable;

/* Where the episode of a lane is, in control steps; DS_ENV_KIT_CLOSED: nowhere. */
typedef struct ds_env_kit_lane {
    uint64_t next;  /* next step of the open episode */
    uint64_t taken; /* steps of the last episode that back() can differentiate */
    uint64_t back;  /* last step that back() has differentiated */
} ds_env_kit_lane;

/* One control step of one lane in a call for many: step `k` forwards, or `back` (io->step) backwards. */
typedef struct ds_env_kit_act {
    uint64_t lane, k;
    ds_step io;
} ds_env_kit_act;
typedef struct ds_env_kit_sweep {
    uint64_t lane;
    ds_back io;
} ds_env_kit_sweep;

/* Begins every instance. Starts as zeros; read() sets the second part. */
typedef struct ds_env_kit {
    ds_scene_kit scene; /* first: see scene_kit.h */
    const ds_env_table *env;
    const ds_host *host; /* valid until the instance is destroyed */
    ds_memory memory;    /* released with the instance */

    /* Set by read(). */
    uint32_t flags;     /* DS_INFO_* */
    uint64_t n, steps;  /* decision variables without those of networks; output steps */
    double dt;          /* seconds per output step */
    uint64_t cost;      /* simulation steps of an episode; 0 = as many as `steps` */
    double loss_floor;  /* lower bound of the loss */
    uint32_t grad_kind; /* DS_GRAD_* of adjoint(); DS_GRAD_ADJOINT unless read() sets another kind */
    uint64_t horizon;   /* control steps; each has n / horizon actions; 0 = no stepwise control */
    uint64_t n_obs;     /* numbers of an observation */
    double control_dt;  /* seconds per control step */
    uint64_t max_rows;  /* rows of one call of rows(); 0 = 64; 1: nothing is done for many at once */
    int time_limit;     /* an episode that reaches the horizon is truncated, not terminated (ext/steps.h) */
    uint64_t lanes;     /* episodes of stepwise control that may be open at once; 0 = 1 */

    ds_scene_kit_camera camera; /* set by read(): from where pictures show the scene, if it is given */

    /* Networks in the equations of motion (table entry `hook_points`); hybrid.nets is 0 where nothing is
     * wired. Their parameters are the variables n .. n + hybrid.variables - 1. */
    ds_hybrid hybrid;
    uint64_t hooks;
    ds_hook hook[DS_MAX_HOOKS];

    /* Stepwise control: the lane that begin(), observe(), act(), back_begin() or back() is called for, below
     * `lanes`, and where its episode is, as in ds_env_kit_lane; `others`: the same of the other lanes. */
    uint64_t lane, next, taken, back;
    ds_env_kit_lane *others;
    int has_begun;             /* an episode has begun since the last evaluation */
    ds_env_variable described; /* texts of the variable that was described last */
    ds_eval *row, **rows;      /* last; of one call of rows(): max_rows each, NULL without it */
} ds_env_kit;

#define DS_ENV_KIT_CLOSED UINT64_MAX

/* The functions and constants of an environment. `self` is the instance, which begins with a ds_env_kit. An
 * entry may be NULL or 0 where its comment says so, or where a whole feature is left out. */
struct ds_env_table {
    uint64_t size;      /* bytes of an instance */
    const char *advice; /* what to do when memory is short; may be NULL; "": read() reports it itself */
    const char *cure;   /* which parameters to change when an episode diverges; may be NULL */

    /* Reads the parameters and sets the second part of the kit. */
    void (*read)(void *self, ds_param_reader *in);
    /* Hook points for networks, for the parameters that read() has read: fills `out` (room for DS_MAX_HOOKS)
     * and returns their number. The schema then ends with DS_HYBRID_PARAMS; io->x and io->grad hold the
     * parameters of the networks after the n other variables. May be NULL. */
    uint64_t (*hook_points)(const void *self, ds_hook *out);
    /* Allocates what every episode needs; may be NULL. DS_E_NOMEM needs no message, other errors do. After a
     * failed allocation in kit.memory it may return DS_OK: the kit checks kit.memory.failed. */
    ds_status (*allocate)(void *self);
    /* Releases what does not belong to kit.memory, also after a failed read() or allocate(); may be NULL. */
    void (*release)(void *self);

    /* The variables lie in [-limit, limit] and start at 0, unless range() sets bounds and start of each. */
    double limit;
    void (*range)(const void *self, uint64_t i, double *lower, double *upper, double *start);

    /* Writes the texts of variable i, which are empty before. NULL: the variables have no names. */
    void (*variable)(const void *self, uint64_t i, ds_env_variable *out);

    /* Simulates an episode and sets io->loss. A loss that is not finite means that the episode diverged, at
     * io->bad_step where simulate() sets it, else at bad_step() (may be NULL; negative = the last step). The
     * kit sets io->cost_steps before; simulate() may change it. */
    ds_status (*simulate)(void *self, ds_eval *io);
    int64_t (*bad_step)(void *self, ds_eval *io);
    /* Writes the gradient of the episode just simulated to io->grad, at the cost of `passes` episodes. NULL:
     * simulate() writes it where io->want says so and sets io->grad_kind, or there is no gradient. */
    ds_status (*adjoint)(void *self, ds_eval *io);
    uint64_t passes;
    /* Simulates `count` points, at most kit.max_rows, in one call: for every row what simulate() does for
     * one, with the same result bit for bit. The kit calls it for rows without queries that need no
     * adjoint(), else simulate() for each; and simulate() again for a row that diverged. An instance without
     * it sets kit.max_rows to 1. NULL: the host evaluates one point per call. */
    ds_status (*rows)(void *self, uint64_t count, ds_eval *const *io);
    /* 1: rows() also does what adjoint() does, for rows that want a gradient. */
    int rows_adjoint;

    /* The scene: metrics, up to one whose name is NULL (may be NULL); adds bodies and the visible box;
     * writes the numbers of body b in frame k (ds_scene.frame). measure() writes the metrics of frame k and
     * may grow the visible box; the kit calls it for frame 0, 1, ... NULL: simulate() calls
     * ds_scene_kit_measured(). */
    const ds_scene_kit_label *metrics;
    void (*bodies)(void *self, ds_scene_kit *s);
    void (*place)(const void *self, uint64_t k, uint64_t b, double *out);
    void (*measure)(void *self, uint64_t k, double *out);

    /* Stepwise control: begins an episode; writes the observation of the present state; takes control step
     * `k`, all in lane kit.lane. A call of the host for many lanes is one call of each function per lane,
     * unless act_many() or back_many() takes the steps. act() sets reward, cost_steps and loss (as if the
     * episode ended there), the outcome if it is not DS_EVAL_OK, and `ended` (DS_STEPS_*) if the rules end
     * the episode in this step. The kit ends an episode that reaches the horizon. */
    ds_status (*begin)(void *self, uint64_t noise_key);
    void (*observe)(const void *self, double *obs);
    ds_status (*act)(void *self, uint64_t k, ds_step *io);
    /* Does for `count` different lanes (2 .. 64) what act() does for one, with the same results bit for bit;
     * a status other than DS_OK holds for all of them. kit.lane is undefined. NULL, or kit.max_rows is 1:
     * act() for each. */
    ds_status (*act_many)(void *self, uint64_t count, ds_env_kit_act *row);

    /* Derivatives of control steps (diffsim/ext/draft/steps_gradient.h): sets the adjoint of the state after
     * `last` steps to 0; goes back over step io->step, which is `last` - 1 or the one before that of
     * the previous call. The episode is valid up to there. differentiable() may be NULL: with all
     * parameters. */
    int (*differentiable)(const void *self);
    ds_status (*back_begin)(void *self, uint64_t last);
    ds_status (*back)(void *self, ds_back *io);
    /* What act_many() is to act(); back_begin() was called where a sweep begins. */
    ds_status (*back_many)(void *self, uint64_t count, ds_env_kit_sweep *row);

    /* Channels (diffsim/ext/channel.h): their number with these parameters; the description of channel i (set
     * name, role, operations and shape; the default is F64 with one dimension); the result of a query about
     * the episode just simulated. The kit queries values before gradient and scene, and products last.
     * answer() may add to io->cost_steps, may set io->outcome, and sets ask->kind for a product. */
    uint64_t (*channels)(const void *self);
    void (*channel)(const void *self, uint64_t i, ds_channel *out);
    ds_status (*answer)(void *self, ds_eval *io, ds_eval_query *ask);

    /* Further extensions, which .extensions of the descriptor lists; may be NULL. */
    const void *(*extension)(const void *self, const char *id);
};

/* The functions of ds_env_vtable for instances of the kit; their contracts are those of env.h. */
static inline ds_status ds_env_kit_create(const ds_env_table *env, const ds_host *host, void **out);
static inline void ds_env_kit_destroy(void *self);
static inline ds_status ds_env_kit_info(void *self, ds_env_info *out);
static inline ds_status ds_env_kit_bounds(void *self, uint64_t n, double *lower, double *upper, double *x0);
/* Evaluates a point. Where `env` is a constant of the caller's file, the compiler calls simulate() directly,
 * which an evaluation of a few nanoseconds needs. */
static inline ds_status ds_env_kit_evaluate(const ds_env_table *env, void *self, ds_eval *io);
/* ds_env_vtable.evaluate: all rows of a table. */
static inline ds_status ds_env_kit_evaluate_table(const ds_env_table *env, void *self, const ds_rows *rows,
                                                  const ds_results *results);
static inline const void *ds_env_kit_extension(void *self, const char *id);

/* kit.lanes for episodes that take `bytes` each: as many as the host uses, fewer where they need more than
 * 32 MiB. */
static inline uint64_t ds_env_kit_lanes_of(uint64_t bytes);

/* Adds a hook point after out[*count - 1]. */
static inline void ds_env_kit_hook(ds_hook *out, uint64_t *count, uint32_t kind, uint64_t numbers,
                                   const char *name, const char *unit, const char *doc);

/* Writes one of the texts of a variable. */
DS_PRINTF(2, 3)
static inline void ds_env_variable_put(char text[DS_MAX_NAME + 1], const char *format, ...);
/* Sets the unit of a variable that counts in multiples of `size`: "2 m/s"; "" where it has no effect (0). */
static inline void ds_env_variable_unit(ds_env_variable *v, double size, const char *unit);

/* The fields that every descriptor has. */
#define DS_ENV_KIT_DESC(id_, version_, license_, params_)                                                    \
    .struct_size = sizeof(ds_desc), .kind = DS_KIND_ENV, .id = id_, .version = version_,                     \
    .license = license_, .params = params_

/* What ds_plugin_query() returns. Its first call writes it, because the list of extensions depends on the
 * table, which is not a constant expression of C; from then on it is constant. */
enum { DS_ENV_KIT_OFFERS = 32 }; /* extensions */
typedef struct ds_env_kit_plugin {
    ds_plugin plugin;
    ds_desc desc;
    const char *offers[DS_ENV_KIT_OFFERS + 1];
    atomic_uint state; /* 0, 1 = a thread is writing, 2 = complete */
} ds_env_kit_plugin;
static inline const ds_plugin *ds_env_kit_query(ds_env_kit_plugin *p, const ds_env_table *env,
                                                const ds_desc *desc, const ds_env_vtable *vtable);

/* Defines the plugin from its table and its descriptor: constants of type ds_env_table and ds_desc. Use it
 * once, at file scope, as the last line. */
#define DS_ENV_KIT_DEFINE(env_, desc_)                                                                       \
    static ds_status ds_env_kit_make_(const ds_host *host, void **out)                                       \
    {                                                                                                        \
        return ds_env_kit_create(&(env_), host, out);                                                        \
    }                                                                                                        \
    static ds_status ds_env_kit_call_(void *self, const ds_rows *rows, const ds_results *results)            \
    {                                                                                                        \
        return ds_env_kit_evaluate_table(&(env_), self, rows, results);                                      \
    }                                                                                                        \
    const ds_plugin *DS_CALL ds_plugin_query(uint32_t host_major, uint32_t host_minor)                       \
    {                                                                                                        \
        static const ds_env_vtable vtable = {.struct_size = sizeof(ds_env_vtable),                           \
                                             .create = ds_env_kit_make_,                                     \
                                             .destroy = ds_env_kit_destroy,                                  \
                                             .info = ds_env_kit_info,                                        \
                                             .bounds = ds_env_kit_bounds,                                    \
                                             .evaluate = ds_env_kit_call_,                                   \
                                             .get_extension = ds_env_kit_extension};                         \
        static ds_env_kit_plugin plugin;                                                                     \
        (void)host_major, (void)host_minor;                                                                  \
        return ds_env_kit_query(&plugin, &(env_), &(desc_), &vtable);                                        \
    }

#include <diffsim/helper/env_kit.inl>

#endif
#endif
