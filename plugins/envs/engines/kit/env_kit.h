/* SPDX-License-Identifier: Apache-2.0 */
/* env_kit.h - the environment interface from a table of what is special to one environment: how its
 * parameters are read, how an episode is simulated and differentiated, what is seen of it. The instance of
 * an environment begins with an env_kit; its file ends with ENV_KIT_DEFINE. */
#ifndef DS_ENGINES_ENV_KIT_H
#define DS_ENGINES_ENV_KIT_H

#include "scene_kit.h"

#include <diffsim/ext/channel.h>
#include <diffsim/ext/hooks.h>
#include <diffsim/ext/rl.h>
#include <diffsim/ext/rl_gradient.h>
#include <diffsim/ext/variables.h>
#include <diffsim/helper/hybrid.h>
#include <diffsim/helper/memory.h>
#include <diffsim/helper/params.h>
#include <diffsim/plugin.h>
#include <math.h>

typedef struct env_table env_table;

/* One variable, with room for texts that are put together; "" where there is nothing to say. */
typedef struct env_variable {
    char name[DS_MAX_NAME + 1], unit[DS_MAX_NAME + 1], group[DS_MAX_NAME + 1];
} env_variable;

/* What all instances have. read() sets the part in the middle; what it leaves is 0. */
typedef struct env_kit {
    scene_kit scene; /* first: see scene_kit.h */
    const env_table *env;
    const ds_host *host;
    ds_memory memory; /* what is taken of it is released with the instance */

    uint32_t flags;     /* DS_INFO_* */
    uint64_t n, steps;  /* decision variables without those of networks, output steps */
    double dt;          /* seconds per output step */
    uint64_t cost;      /* simulation steps of an episode; 0 = as `steps` */
    double loss_floor;  /* lower bound of the loss */
    uint32_t grad_kind; /* what adjoint() makes: DS_GRAD_ADJOINT, unless read() sets another kind */
    uint64_t horizon;   /* control steps of n / horizon actions each */
    uint64_t n_obs;
    double control_dt; /* seconds per control step */
    int time_limit; /* the horizon is one (DS_RL_TIME_LIMIT): who gets there is truncated, not terminated */

    /* Networks in the equations of motion (table entry `hooks`), nets = 0 where nothing is wired. Their
     * parameters are variables n .. n + hybrid.variables - 1. */
    ds_hybrid hybrid;
    uint64_t hooks;
    ds_hook hook[DS_MAX_HOOKS];

    uint64_t next;  /* control step that comes next in the open episode, ENV_KIT_CLOSED where there is none */
    uint64_t taken; /* control steps of the last episode, which can be gone back over; else ENV_KIT_CLOSED */
    uint64_t back;  /* the sweep has gone back over this one last; ENV_KIT_CLOSED where there is none */
    env_variable described; /* last */
} env_kit;

#define ENV_KIT_CLOSED UINT64_MAX

/* What is special to an environment. `self` is the instance, which begins with an env_kit. Functions that
 * may be NULL say so. */
struct env_table {
    uint64_t size;      /* of an instance, which begins as zeros */
    const char *advice; /* what to do where memory is short; may be NULL, "": read() says it */
    const char *cure;   /* which parameters to change where an episode diverges; NULL where none helps */

    /* Reads the parameters and sets n, steps, dt ... of the kit. */
    void (*read)(void *self, ds_param_reader *in);
    /* Hook points for networks, for the parameters that read() has read: fills `out` (room for DS_MAX_HOOKS),
     * returns their number; NULL where there are none. The schema then ends with DS_HYBRID_PARAMS; io->x and
     * io->grad have the parameters of the networks behind the n others. */
    uint64_t (*hook_points)(const void *self, ds_hook *out);
    /* Makes what every episode needs; may be NULL. DS_E_NOMEM needs no message, other errors do; where the
     * memory of the kit has failed DS_OK does too. */
    ds_status (*allocate)(void *self);
    /* Releases what is not of the kit's memory, as far as it was made; may be NULL. */
    void (*release)(void *self);

    /* The variables lie in [-limit, limit] and start at 0; limit 0: range() says where, for each. */
    double limit;
    void (*range)(const void *self, uint64_t i, double *lower, double *upper, double *start);

    /* What variable i is called (diffsim/ext/variables.h), into texts that are empty; NULL where they have no
     * names. */
    void (*variable)(const void *self, uint64_t i, env_variable *out);

    /* Simulates an episode and sets io->loss; it has diverged where that is not finite, at io->bad_step if
     * that is set, else at bad_step(), which may be NULL, or negative for the last step. io->cost_steps is
     * that of the kit, and may be changed. */
    ds_status (*simulate)(void *self, ds_eval *io);
    int64_t (*bad_step)(void *self, ds_eval *io);
    /* The gradient of the episode just simulated, into io->grad; NULL where simulate() makes it and says
     * so in io->grad_kind, or where there is none. It costs `passes` times as many steps. */
    ds_status (*adjoint)(void *self, ds_eval *io);
    uint64_t passes;

    /* The scene, all NULL where there is none: metrics up to a NULL name; bodies and visible box; numbers
     * of body b in frame k (ds_scene.frame); the metrics of frame k in their order, asked for frame by frame
     * from 0 on, which may widen the box (NULL where simulate() has filled them in). */
    const scene_metric *metrics;
    void (*bodies)(void *self, scene_kit *s);
    void (*place)(const void *self, uint64_t k, uint64_t b, double *out);
    void (*measure)(void *self, uint64_t k, double *out);

    /* Stepwise control, all NULL where there is none: begins an episode; what is observed now; control
     * step `k`. act() sets reward, cost_steps, loss as if the episode ended there, and the outcome where
     * that is not DS_EVAL_OK; `ended` (DS_RL_*) where the rules end it in this step: what reaches the horizon
     * and goes on by its rules is ended by the kit. */
    ds_status (*begin)(void *self, uint64_t noise_key);
    void (*observe)(const void *self, double *obs);
    ds_status (*act)(void *self, uint64_t k, ds_rl_step *io);

    /* Derivatives of control steps (diffsim/ext/rl_gradient.h), both NULL where there are none: sets the
     * adjoint of the state after `last` steps to 0; goes back over step io->step, the last or the one before
     * that of the call before. The episode is sound that far. differentiable() may be NULL: with
     * all parameters. */
    int (*differentiable)(const void *self);
    ds_status (*back_begin)(void *self, uint64_t last);
    ds_status (*back)(void *self, ds_rl_back *io);

    /* Channels (diffsim/ext/channel.h), all NULL where there are none: how many these parameters have; what
     * channel i is, where operations, a name and a shape are missing; the answer to a question about the
     * episode just simulated, values before gradient and scene, products last. It may add to io->cost_steps,
     * set io->outcome, and says in ask->kind how a product was made. */
    uint64_t (*channels)(const void *self);
    void (*channel)(const void *self, uint64_t i, ds_channel *out);
    ds_status (*answer)(void *self, ds_eval *io, ds_ask *ask);

    /* Other extensions; may be NULL. */
    const void *(*extension)(const void *self, const char *id);
};

/* The functions of the environment interface, for instances of the kit. */
ds_status env_kit_create(const env_table *env, const ds_host *host, void **out);
void env_kit_destroy(void *self);
ds_status env_kit_info(void *self, ds_env_info *out);
ds_status env_kit_bounds(void *self, uint64_t n, double *lower, double *upper, double *x0);
const void *env_kit_extension(void *self, const char *id);

/* What is done after simulate(): an episode without a loss; what is wanted beside the loss. */
void env_kit_diverged(env_kit *kit, ds_eval *io);
ds_status env_kit_more(env_kit *kit, ds_eval *io);

/* An evaluation. Where the table is a constant of the caller's file, simulate() is called directly: an
 * environment of a few nanoseconds feels that. */
static inline ds_status env_kit_evaluate(const env_table *env, void *self, ds_eval *io)
{
    env_kit *kit = self;
    kit->scene.kept = 0;
    kit->next = kit->taken = kit->back = ENV_KIT_CLOSED;
    io->outcome = DS_EVAL_OK;
    io->grad_kind = DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = kit->cost ? kit->cost : kit->steps;
    ds_status status = env->simulate(self, io);
    if (kit->hybrid.nets > 0) {
        io->loss += ds_hybrid_penalty(&kit->hybrid, io->x + kit->n, NULL);
    }
    if (status == DS_OK && !isfinite(io->loss)) {
        env_kit_diverged(kit, io);
    } else if (status == DS_OK) {
        io->bad_step = -1;
        status = (io->want | io->asks) != 0 ? env_kit_more(kit, io) : DS_OK;
    }
    return status;
}

/* One hook point more behind out[*count]. */
void env_kit_hook(ds_hook *out, uint64_t *count, uint32_t kind, uint64_t numbers, const char *name,
                  const char *unit, const char *doc);

/* Writes one of the texts of a variable. */
void env_variable_put(char text[DS_MAX_NAME + 1], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The unit of one that counts in multiples of `size`: "2 m/s"; none where it has no effect (0). */
void env_variable_unit(env_variable *v, double size, const char *unit);

/* Extensions of an environment with a scene and names of its variables, and with channels, stepwise control
 * or both. */
extern const char *const env_kit_scene[], *const env_kit_scene_channels[],
                                              *const env_kit_scene_rl[],
                                                  *const env_kit_scene_channels_rl[],
                                                      *const env_kit_scene_rl_gradient[],
                                                          *const env_kit_scene_channels_rl_gradient[];
/* The same with hook points. */
extern const char *const env_kit_scene_hooks[], *const env_kit_scene_rl_gradient_hooks[],
                                                    *const env_kit_scene_channels_hooks[],
                                                        *const env_kit_scene_channels_rl_gradient_hooks[];

/* What descriptors have in common. */
#define ENV_KIT_DESC(id_, version_)                                                                          \
    .struct_size = sizeof(ds_desc), .kind = DS_KIND_ENV, .id = id_, .version = version_,                     \
    .license = "Apache-2.0", .params = params

/* The paper whose environments most of these are. */
#define ENV_KIT_ANTONOVA                                                                                     \
    "R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg: Rethinking optimization with differentiable "         \
    "simulation from a global perspective. CoRL 2022, arXiv:2207.00167."

/* The paper of the scenes of gradsim/. */
#define ENV_KIT_GRADSIM                                                                                      \
    "K. M. Jatavallabhula, M. Macklin, F. Golemo, V. Voleti, L. Petrini, M. Weiss, B. Considine, "           \
    "J. Parent-Levesque, K. Xie, K. Erleben, L. Paull, F. Shkurti, D. Nowrouzezahrai, S. Fidler: gradSim: "  \
    "Differentiable simulation for system identification and visuomotor control. ICLR 2021, "                \
    "arXiv:2104.02646."

/* Everything that a plugin needs besides its table and its description. */
#define ENV_KIT_DEFINE(env_, desc_)                                                                          \
    static ds_status env_kit_make(const ds_host *host, void **out)                                           \
    {                                                                                                        \
        return env_kit_create(&(env_), host, out);                                                           \
    }                                                                                                        \
    static ds_status env_kit_call(void *self, ds_eval *io)                                                   \
    {                                                                                                        \
        return env_kit_evaluate(&(env_), self, io);                                                          \
    }                                                                                                        \
    static const ds_env_vtable env_kit_vtable = {.struct_size = sizeof(ds_env_vtable),                       \
                                                 .create = env_kit_make,                                     \
                                                 .destroy = env_kit_destroy,                                 \
                                                 .info = env_kit_info,                                       \
                                                 .bounds = env_kit_bounds,                                   \
                                                 .evaluate = env_kit_call,                                   \
                                                 .get_extension = env_kit_extension};                        \
    DS_DEFINE_ENV(desc_, env_kit_vtable)

#endif
