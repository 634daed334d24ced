/* SPDX-License-Identifier: Apache-2.0 */
/* opt_kit.h - the optimizer interface from a table of what is special to one optimizer: how its parameters
 * are read, what it allocates, one round of its search. The instance of an optimizer begins with an opt_kit;
 * its file ends with OPT_KIT_DEFINE. */
#ifndef DS_METHODS_OPT_KIT_H
#define DS_METHODS_OPT_KIT_H

#include "methods/base/evaluator.h"

#include <diffsim/helper/memory.h>
#include <diffsim/helper/params.h>
#include <diffsim/plugin.h>
#include <diffsim/helper/random.h>
#include <math.h>

typedef struct opt_table opt_table;

/* Schema entries of the start; use_x0_: default of use_x0. */
#define OPT_START_PARAMS(use_x0_)                                                                            \
    DS_BOOL("use_x0", use_x0_,                                                                               \
            "Evaluate the start point that the environment suggests first; the search begins there."),       \
        DS_LIST("x0", "", -INFINITY, INFINITY, 0, "",                                                        \
                "Evaluate this point first; the search begins there. In the units of the environment: one "  \
                "value for all variables, or one for each; empty = as use_x0 says.")

/* What all instances have. */
typedef struct opt_kit {
    const opt_table *table;
    const ds_host *host;
    const ds_problem *problem;
    size_t n;
    int has_gradient;
    opt_start start;
    ds_memory memory;    /* released with the instance */
    evaluator evaluator; /* of those that take rows for it, see opt_kit_rows() */

    const ds_objective *objective; /* of the run */
    uint64_t round;                /* of the search: 1, 2, ... */
    int finished;                  /* set it where the search has ended by itself */
} opt_kit;

/* What is special to an optimizer. `self` is the instance, which begins with an opt_kit. */
struct opt_table {
    size_t size;                /* of an instance, which begins as zeros */
    const char *needs_gradient; /* who does, for the message where there is none; NULL = it can do without */
    const char *no_memory;      /* what is said where memory is short in create(); NULL = just that */
    const char *no_memory_run; /* and where begin() or round() returns DS_E_NOMEM; NULL = they have said it */

    /* Reads the parameters and checks them. */
    void (*read)(void *self, ds_param_reader *in);
    /* Makes what it needs: 0 without memory. What failed in kit.memory need not be told. May be NULL. */
    int (*allocate)(void *self);
    /* Releases what is not in kit.memory, as far as it was made; may be NULL. */
    void (*release)(void *self);

    /* Is the first evaluation of this search the start, without help? Else, or where it is NULL, the kit
     * evaluates the start, before begin(). */
    int (*begins_at_start)(const void *self);

    /* Before the first round; may be NULL. */
    ds_status (*begin)(void *self);
    /* One round of the search; the next follows where it returns DS_OK, until the host says stop. */
    ds_status (*round)(void *self);
    /* Behind the last round, unless begin() or a round has failed: for what is to be kept; may be NULL. */
    void (*end)(void *self);
};

/* The functions of the optimizer interface, for instances of the kit. */
ds_status opt_kit_create(const opt_table *table, const ds_host *host, const ds_problem *problem, void **out);
void opt_kit_destroy(void *self);
ds_status opt_kit_run(void *self, const ds_objective *objective);

/* Prepares kit->evaluator for up to so many points at a time; 0 without memory. */
int opt_kit_rows(opt_kit *kit, size_t rows);

/* `name` needs gradients and the environment has none: tells the host, DS_E_UNSUPPORTED; else DS_OK. */
ds_status opt_kit_need_gradient(const ds_host *host, const ds_problem *problem, const char *name);

/* A share of the budget was given for parameter `polish` and there is no budget: tells the host and sets
 * in->status. */
void opt_kit_check_polish(ds_param_reader *in, const ds_problem *problem, double share);

/* A random start: uniform in [-1, 1]^n, from a stream of its own for each `number`. */
void opt_kit_random_start(const ds_host *host, uint64_t number, size_t n, double *v);

/* Where search `number` = 1, 2, ... begins: the first at the start of the run where there is one, the others
 * at random. */
void opt_kit_start(const opt_kit *kit, uint64_t number, double *v);

/* opt_table.begins_at_start of those that always do. */
int opt_kit_begins_at_start(const void *self);

/* The start that the environment suggests, in [-1, 1]^n. */
void opt_kit_x0(const ds_problem *problem, double *v);

/* Variables that an optimizer takes which keeps matrices, or many points, of all of them. */
enum { OPT_KIT_MOST = 5000 };

/* More variables than OPT_KIT_MOST: tells the host what grows too fast and what to take instead, DS_E_PARAM;
 * else DS_OK. */
ds_status opt_kit_check_size(const ds_host *host, size_t n, const char *grows, const char *instead);

/* The corners of [-1, 1]^n: n lower bounds, then n upper ones. NULL without memory. */
double *opt_kit_box(ds_memory *m, size_t n);

/* ds_desc.needs or uses of those that want gradients, residuals or episodes of stepwise control, plain or
 * with derivatives. */
extern const char *const opt_gradient[], *const opt_residuals[], *const opt_episodes[],
                                                                     *const opt_episode_gradients[];

/* What descriptors have in common. */
#define OPT_KIT_DESC(id_, version_)                                                                          \
    .struct_size = sizeof(ds_desc), .kind = DS_KIND_OPTIMIZER, .id = id_, .version = version_,               \
    .license = "Apache-2.0", .params = params

/* The paper that several of these come from. */
#define OPT_KIT_ANTONOVA                                                                                     \
    "R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg: Rethinking optimization with differentiable "         \
    "simulation from a global perspective. CoRL 2022, arXiv:2207.00167"

/* Everything that a plugin needs besides its table and its description. */
#define OPT_KIT_DEFINE(table_, desc_)                                                                        \
    static ds_status opt_kit_make(const ds_host *host, const ds_problem *problem, void **out)                \
    {                                                                                                        \
        return opt_kit_create(&(table_), host, problem, out);                                                \
    }                                                                                                        \
    static const ds_optimizer_vtable opt_kit_vtable = {.struct_size = sizeof(ds_optimizer_vtable),           \
                                                       .create = opt_kit_make,                               \
                                                       .destroy = opt_kit_destroy,                           \
                                                       .run = opt_kit_run};                                  \
    DS_DEFINE_OPTIMIZER(desc_, opt_kit_vtable)

#endif
