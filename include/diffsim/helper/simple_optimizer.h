/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/simple_optimizer.h - the short way to an optimizer, in C: one function and one line that
 * announces it. diffsim/helper/simple.h includes this header.
 *
 * Header only, not part of the binary interface. A whole optimizer:
 *
 *     #include <diffsim/helper/simple.h>
 *
 *     static ds_status search(ds_simple_search *s)
 *     {
 *         const ds_problem *p = s->problem;
 *         double f;
 *         ds_status status;
 *         do {
 *             for (uint64_t i = 0; i < p->n; i++) {
 *                 s->point[i] = p->lower[i] + ds_random_uniform(&s->random) * (p->upper[i] - p->lower[i]);
 *             }
 *             status = ds_simple_ask(s, s->point, &f, NULL);
 *         } while (status == DS_OK);
 *         return status;
 *     }
 *
 *     DS_SIMPLE_OPTIMIZER("dice", "Uniform random points.", NULL, 0, search)
 *
 * It stands on the optimizer kit (diffsim/helper/opt_kit.h); search() can use everything of the kit:
 *
 *     start point           DS_OPT_START_PARAMS("true") in the schema, ds_simple_start_x() in the search
 *     without units         ds_simple_ask_v() takes points of [-1, 1]^n, gradients by them;
 *                           diffsim/helper/box.h maps
 *     many points at once   ds_simple_ask_v(), in parallel
 *     texts and lists       ds_simple_text(), ds_simple_list()
 *     residuals, channels   ds_evaluator_find() and ds_evaluator_send() with s->kit.evaluator
 *     common noise          ds_evaluator_request.noise
 *     memory                ds_memory_doubles(&s->kit.memory, count), released with the instance
 *     stepwise control      ds_evaluator_lanes_open() with s->kit.evaluator, and DS_SIMPLE_NEEDS_STEPS
 *     files                 ds_opt_kit_save(&s->kit, ...)
 *
 * Gradient descent from several starts, one after the other, where the user may give the first. It is the
 * same search in every unit of the variables and of the loss:
 *
 *     #include <diffsim/helper/simple.h>
 *
 *     static const ds_param *const params[] = {
 *         DS_REAL("length", "0.2", 1e-9, 2, "", "Of the first step, where the box is [-1, 1]."),
 *         DS_LIST("steps", "50, 200", 1, 1e6, 8, "", "Of the first search, of the second, ..."),
 *         DS_OPT_START_PARAMS("true"), NULL};
 *
 *     static ds_status search(ds_simple_search *s)
 *     {
 *         const uint64_t n = s->problem->n;
 *         double *v = s->point, *g = s->point + n, f;
 *         uint64_t searches;
 *         const double *steps = ds_simple_list(s, "steps", &searches);
 *         ds_status status = DS_OK;
 *         for (uint64_t k = 0; k < searches; k++) {
 *             ds_simple_start_v(s, k + 1, v);
 *             for (double t = 1; t <= steps[k] && status == DS_OK; t++) {
 *                 double norm = 1e-300;
 *                 status = ds_simple_ask_v(s, 1, v, &f, g);
 *                 for (uint64_t i = 0; i < n; i++) {
 *                     norm = hypot(norm, g[i]);
 *                 }
 *                 for (uint64_t i = 0; i < n; i++) {
 *                     v[i] = ds_box_clamp(v[i] - s->param[0] / sqrt(t) * g[i] / norm, -1, 1);
 *                 }
 *             }
 *         }
 *         return status;
 *     }
 *
 *     DS_SIMPLE_OPTIMIZER("slide", "Gradient descent.", params, DS_SIMPLE_NEEDS_GRADIENT, search)
 *
 * Version, license and description are those of diffsim/helper/simple.h: DS_SIMPLE_VERSION and so on.
 */
#ifndef DIFFSIM_HELPER_SIMPLE_OPTIMIZER_H
#define DIFFSIM_HELPER_SIMPLE_OPTIMIZER_H

#include <diffsim/helper/opt_kit.h>

#ifndef __cplusplus

/* What a short plugin says about itself; define it before this header is included. */
#ifndef DS_SIMPLE_VERSION
#define DS_SIMPLE_VERSION "1"
#endif
#ifndef DS_SIMPLE_LICENSE
#define DS_SIMPLE_LICENSE "unstated"
#endif
#ifndef DS_SIMPLE_DESCRIPTION
#define DS_SIMPLE_DESCRIPTION ""
#endif

/* A search, as the function of DS_SIMPLE_OPTIMIZER sees it. The function may write to `point` and draw from
 * `random`; it reads the rest. */
typedef struct ds_simple_search {
    ds_opt_kit kit; /* evaluator, memory, start point (opt_kit.h) */
    const ds_host *host;
    const ds_problem *problem; /* n, bounds, suggested start, budget (optimizer.h) */
    const double *param; /* values of the schema in its order: switches as 0 or 1, choices as their index;
                                * 0 at texts, lists and files */
    double *point;       /* 2 n zeros for the search's own use: say, the best point and the next one */
    ds_random random;    /* stream of the run's seed, named after the plugin */
} ds_simple_search;

/* Flags of DS_SIMPLE_OPTIMIZER: what its descriptor lists in `uses` and `needs`. */
enum {
    DS_SIMPLE_USES_GRADIENT = 1 << 30,       /* gradients, where there are any */
    DS_SIMPLE_NEEDS_GRADIENT = 1 << 29,      /* gradients */
    DS_SIMPLE_USES_RESIDUALS = 1 << 28,      /* a channel of residuals, where there is one */
    DS_SIMPLE_NEEDS_STEPS = 1 << 27,         /* stepwise control */
    DS_SIMPLE_NEEDS_STEP_GRADIENTS = 1 << 26 /* stepwise control with derivatives of its steps */
};

/* Evaluates one point x (n values inside the bounds, in the units of the environment). Writes its loss,
 * +INFINITY where the evaluation failed, and, where `grad` is not NULL, its n derivatives d loss / d x,
 * zeros where there are none. Returns DS_OK, or what search() must return at once: DS_STOPPED where budget,
 * time, target or the user end the run, DS_E_ARG for a point outside the bounds. [instance] */
static inline ds_status ds_simple_ask(ds_simple_search *s, const double *x, double *loss, double *grad)
{
    const ds_evaluator_label label = {NULL, 0};
    ds_evaluator_request request = {.count = 1, .x = x, .loss = loss, .gradient = grad};
    return ds_evaluator_send(&s->kit.evaluator, label, &request);
}

/* Evaluates `count` points v of [-1, 1]^n (count x n values) in parallel. Writes `count` losses and, where
 * `grad` is not NULL, count x n derivatives d loss / d v. Else as ds_simple_ask(). [instance] */
static inline ds_status ds_simple_ask_v(ds_simple_search *s, uint64_t count, const double *v, double *loss,
                                        double *grad)
{
    const ds_evaluator_label label = {NULL, 0};
    size_t done;
    return ds_evaluator_run(&s->kit.evaluator, label, (size_t)count, v, loss, grad, NULL, &done);
}

/* Writes where local search `number` = 1, 2, ... begins to v (n values of [-1, 1]). The first one begins at
 * the start of the run where the user gives one: schema entries DS_OPT_START_PARAMS. All others begin at
 * random. A search whose schema has these entries evaluates start 1 first. [instance] */
static inline void ds_simple_start_v(const ds_simple_search *s, uint64_t number, double *v)
{
    ds_opt_kit_start(&s->kit, number, v);
}

/* The same in the units of the environment, inside the bounds; the start of the run exactly as given. */
static inline void ds_simple_start_x(const ds_simple_search *s, uint64_t number, double *x)
{
    ds_opt_kit_start_x(&s->kit, number, x);
}

/* The value of a TEXT, PATH or ENUM of the schema; "" where the schema has no such parameter, with a message.
 * Valid until the end of the search. [instance] */
static inline const char *ds_simple_text(const ds_simple_search *s, const char *name)
{
    ds_param_reader in = {s->host, DS_OK};
    return ds_param_text(&in, name);
}

/* The `*count` values of a LIST of the schema; NULL and 0 where it is empty or the schema has no such
 * parameter, the latter with a message. Valid until the end of the search. [instance] */
static inline const double *ds_simple_list(const ds_simple_search *s, const char *name, uint64_t *count)
{
    ds_param_reader in = {s->host, DS_OK};
    return ds_param_list(&in, name, count);
}

/* ds_opt_table.read for the macro: the numbers of the schema, in its order. */
static inline void ds_simple_search_read(void *self, ds_param_reader *in)
{
    ds_simple_search *s = (ds_simple_search *)self;
    const ds_param *const *params = s->kit.desc->params;
    size_t count = 0;
    while (params != NULL && params[count] != NULL) {
        count++;
    }
    double *value = ds_memory_doubles(&s->kit.memory, count);
    for (size_t i = 0; value != NULL && i < count; i++) {
        const uint32_t type = params[i]->type;
        if (type == DS_PARAM_REAL) {
            value[i] = ds_param_real(in, params[i]->name);
        } else if (type == DS_PARAM_BOOL || type == DS_PARAM_INT || type == DS_PARAM_ENUM) {
            value[i] = (double)ds_param_int(in, params[i]->name);
        }
    }
    s->host = s->kit.host;
    s->problem = s->kit.problem;
    s->param = value;
    s->point = ds_memory_doubles(&s->kit.memory, 2 * s->kit.n);
    s->random = ds_random_open(s->host->seed, s->kit.desc->id, 0);
}

/* The lists of ds_desc for the flags of the macro. */
#define DS_SIMPLE_USES_(flags_)                                                                              \
    (((flags_)&DS_SIMPLE_USES_GRADIENT) != 0                                                                 \
         ? (((flags_)&DS_SIMPLE_USES_RESIDUALS) != 0 ? ds_simple_both : ds_simple_gradient)                  \
         : (((flags_)&DS_SIMPLE_USES_RESIDUALS) != 0 ? ds_simple_both + 1 : NULL))
#define DS_SIMPLE_NEEDS_(flags_)                                                                             \
    (((flags_)&DS_SIMPLE_NEEDS_GRADIENT) != 0         ? ds_simple_gradient                                   \
     : ((flags_)&DS_SIMPLE_NEEDS_STEP_GRADIENTS) != 0 ? ds_simple_steps                                      \
     : ((flags_)&DS_SIMPLE_NEEDS_STEPS) != 0          ? ds_simple_steps + 1                                  \
                                                      : NULL)

/* Defines the whole plugin of an optimizer; use it once, at file scope, after its function.
 *   id_       text, the file name without ".so"
 *   summary_  text, one line
 *   params_   const ds_param *const [], NULL-terminated, of any types; or NULL
 *   flags_    DS_SIMPLE_USES_..., DS_SIMPLE_NEEDS_..., DS_OPT_USES_BUDGET, joined by |; or 0
 *   search_   ds_status search_(ds_simple_search *s): loops over ds_simple_ask() until that returns
 *             something else than DS_OK, and returns it; returns DS_OK when it has nothing more to ask.
 *             Deterministic, see optimizer.h. */
#define DS_SIMPLE_OPTIMIZER(id_, summary_, params_, flags_, search_)                                         \
    static ds_status ds_simple_round(void *self)                                                             \
    {                                                                                                        \
        ((ds_simple_search *)self)->kit.finished = 1; /* the search is one round */                          \
        return search_((ds_simple_search *)self);                                                            \
    }                                                                                                        \
    static const ds_opt_table ds_simple_table = {.size = sizeof(ds_simple_search),                           \
                                                 .no_memory = "no memory for the search",                    \
                                                 .read = ds_simple_search_read,                              \
                                                 .begins_at_start = ds_opt_kit_begins_at_start,              \
                                                 .round = ds_simple_round};                                  \
    static const char *const ds_simple_gradient[] = {DS_HAS_GRADIENT, NULL};                                 \
    static const char *const ds_simple_both[] = {DS_HAS_GRADIENT, DS_HAS_RESIDUALS, NULL};                   \
    static const char *const ds_simple_steps[] = {DS_EXT_STEPS_GRADIENT, DS_EXT_STEPS, NULL};                \
    static const ds_desc ds_simple_desc = {                                                                  \
        DS_OPT_KIT_DESC(id_, DS_SIMPLE_VERSION, DS_SIMPLE_LICENSE, params_),                                 \
        .flags = (flags_)&0xffffff,                                                                          \
        .needs = DS_SIMPLE_NEEDS_(flags_),                                                                   \
        .uses = DS_SIMPLE_USES_(flags_),                                                                     \
        .summary = summary_,                                                                                 \
        .description = DS_SIMPLE_DESCRIPTION,                                                                \
        .citation = ""};                                                                                     \
    DS_OPT_KIT_DEFINE(ds_simple_table, ds_simple_desc)

#endif
#endif
