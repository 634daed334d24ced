/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/opt_kit.h - an optimizer from a table: how it reads its parameters, what it allocates, and
 * one round of its search. The kit does the rest: it makes the instance, releases it, evaluates the start
 * point, runs rounds until the search or the host ends the run, and reports errors.
 *
 * A whole optimizer, a random walk that takes every step that does not raise the loss:
 *
 *     #include <diffsim/helper/opt_kit.h>
 *
 *     typedef struct stroll {
 *         ds_opt_kit kit;                                    // the instance begins with the kit
 *         double length, best, *x, *v;
 *         ds_random random;
 *     } stroll;
 *
 *     static void stroll_read(void *self, ds_param_reader *in)
 *     {
 *         stroll *s = (stroll *)self;
 *         s->length = ds_param_real(in, "length");
 *         s->random = ds_random_open(s->kit.host->seed, "stroll", 0);
 *         s->x = ds_memory_doubles(&s->kit.memory, s->kit.n);
 *         s->v = ds_memory_doubles(&s->kit.memory, s->kit.n);
 *     }
 *
 *     static ds_status stroll_begin(void *self)
 *     {
 *         stroll *s = (stroll *)self;
 *         ds_opt_kit_start(&s->kit, 1, s->x);
 *         s->best = s->kit.start.evaluated ? s->kit.start.loss : INFINITY;
 *         return DS_OK;
 *     }
 *
 *     static ds_status stroll_round(void *self)
 *     {
 *         stroll *s = (stroll *)self;
 *         const ds_evaluator_label label = {"sample", 0};
 *         double loss;
 *         size_t done;
 *         for (size_t i = 0; i < s->kit.n; i++) {
 *             s->v[i] = ds_box_clamp(s->x[i] + s->length * ds_random_normal(&s->random), -1, 1);
 *         }
 *         ds_status status = ds_evaluator_run(&s->kit.evaluator, label, 1, s->v, &loss, NULL, NULL, &done);
 *         if (status == DS_OK && loss <= s->best) {
 *             s->best = loss;
 *             memcpy(s->x, s->v, s->kit.n * sizeof *s->x);
 *         }
 *         return status;
 *     }
 *
 *     static const ds_param *const params[] = {
 *         DS_REAL("length", "0.1", 0, 2, "", "Standard deviation of a step, where the box is [-1, 1]."),
 *         DS_OPT_START_PARAMS("true"), NULL};
 *     static const ds_desc desc = {DS_OPT_KIT_DESC("stroll", "1", "Apache-2.0", params),
 *                                  .summary = "Random walk.", .description = "", .citation = ""};
 *     static const ds_opt_table table = {
 *         .size = sizeof(stroll), .read = stroll_read, .begin = stroll_begin, .round = stroll_round};
 *     DS_OPT_KIT_DEFINE(table, desc)
 *
 * diffsim/helper/simple_optimizer.h is shorter still: one function and one line.
 *
 * The calls of one instance, in this order:
 *
 *     create()   read(), allocate()                on failure release() follows
 *     run()      evaluation of the start, begin(), round(), round(), ..., end()
 *     destroy()  release()
 *
 * The rules of diffsim/optimizer.h hold: what a search requests depends on its parameters, host->seed, the
 * problem and the results alone. Take random numbers from ds_random_open(host->seed, "purpose", number). A
 * round may hold a whole local search; one that computes for longer than 100 ms between two requests polls
 * host->should_stop() itself and then returns DS_STOPPED.
 *
 * Header only; not part of the binary interface. The functions are for C11 and C++17, the macros for C.
 * Except where stated: [instance], inside the calls of the host.
 */
#ifndef DIFFSIM_HELPER_OPT_KIT_H
#define DIFFSIM_HELPER_OPT_KIT_H

#include <diffsim/ext/draft/files.h>
#include <diffsim/helper/evaluator.h>
#include <diffsim/helper/memory.h>
#include <diffsim/helper/params.h>
#include <diffsim/helper/random.h>
#include <diffsim/plugin.h>

#include <math.h>

typedef struct ds_opt_table ds_opt_table;

/* The part of an instance that all optimizers share. Read everything; write only start.gradient and
 * `finished`, and take memory and evaluations. */
typedef struct ds_opt_kit {
    const ds_opt_table *table;
    const ds_desc *desc;
    const ds_host *host;       /* seed, messages, parameters, stop flag */
    const ds_problem *problem; /* bounds, budget, target, floor of the loss */
    size_t n;                  /* decision variables */
    int has_gradient;          /* the environment returns d loss / d x */
    ds_evaluator_start start;  /* parameters x0 and use_x0; x = NULL where the run has none */
    ds_memory memory;          /* for the arrays of the instance; released with it */
    ds_evaluator evaluator;    /* evaluates from begin() on */
    uint64_t round;            /* of the search: 1, 2, ...; 0 in begin() */
    int finished;              /* set it to 1 in begin() or round() where the search ends by itself */
} ds_opt_kit;

/* What is special to one optimizer. `self` is the instance, which begins with a ds_opt_kit. */
struct ds_opt_table {
    size_t size;               /* bytes of an instance, all 0 at first */
    const char *no_memory;     /* error message where create() lacks memory; NULL = "out of memory" */
    const char *no_memory_run; /* the same where begin() or round() returns DS_E_NOMEM; NULL = they have
                                * already reported it */

    /* Reads and checks the parameters. Reports a bad one with in->status = ds_host_fail(...). Required. */
    void (*read)(void *self, ds_param_reader *in);
    /* Allocates. Returns 0 without memory; a failure in kit.memory counts by itself. May be NULL. */
    int (*allocate)(void *self);
    /* Releases what is not in kit.memory; also after a failed read() or allocate(). May be NULL. */
    void (*release)(void *self);

    /* Returns 1 where the search evaluates the start of the run first, by itself. NULL or 0: the kit
     * evaluates it before begin(), with tag "init", and sets kit.start.loss and evaluated. */
    int (*begins_at_start)(const void *self);

    /* Runs before the first round; kit.evaluator works from here on. May be NULL. */
    ds_status (*begin)(void *self);
    /* One round of the search. DS_OK: the next round follows, unless the host wants to stop or `finished` is
     * set. Other values end the run; return what the evaluator returns. Required. */
    ds_status (*round)(void *self);
    /* Runs after the last round, unless begin() or a round failed: saves results. May be NULL. */
    void (*end)(void *self);
};

/* ---- the start point ---- */

/* Writes a random start to v (n values): uniform in [-1, 1]^n, from the run's seed, with its own random
 * stream for each `number`. */
static inline void ds_opt_kit_random_start(const ds_host *host, uint64_t number, size_t n, double *v)
{
    ds_random random = ds_random_open(host->seed, "start", number);
    for (size_t i = 0; i < n; i++) {
        v[i] = 2.0 * ds_random_uniform(&random) - 1.0;
    }
}

/* Writes where search `number` = 1, 2, ... begins to v (n values): the first one at the start of the run,
 * where there is one, all others at random. */
static inline void ds_opt_kit_start(const ds_opt_kit *kit, uint64_t number, double *v)
{
    if (number == 1 && kit->start.v != NULL) {
        memcpy(v, kit->start.v, kit->n * sizeof *v);
    } else {
        ds_opt_kit_random_start(kit->host, number, kit->n, v);
    }
}

/* The same in the units of the environment, inside the bounds; the start of the run exactly as given. */
static inline void ds_opt_kit_start_x(const ds_opt_kit *kit, uint64_t number, double *x)
{
    ds_opt_kit_start(kit, number, x);
    ds_evaluator_x(&kit->evaluator, x, x);
}

/* Writes the point that the environment suggests to v (n values), whatever the parameters say. */
static inline void ds_opt_kit_x0(const ds_problem *problem, double *v)
{
    ds_box_v_from_x((size_t)problem->n, problem->lower, problem->upper, problem->x0, v);
}

/* For ds_opt_table.begins_at_start of a search that always begins there. */
static inline int ds_opt_kit_begins_at_start(const void *self)
{
    (void)self;
    return 1;
}

/* ---- checks, memory, files ---- */

/* DS_OK where the environment has gradients. Else reports that `name` needs them, DS_E_UNSUPPORTED. For
 * optimizers that need gradients with some parameters only: the kit checks ds_desc.needs by itself. */
static inline ds_status ds_opt_kit_need_gradient(const ds_host *host, const ds_problem *problem,
                                                 const char *name)
{
    if (problem->has_gradient) {
        return DS_OK;
    }
    return ds_host_fail(
        host, DS_E_UNSUPPORTED,
        "%.60s needs gradients and this environment has none: choose another optimizer, for example cmaes",
        name);
}

/* Makes room for requests of `rows` points, see ds_evaluator_reserve(). Returns 0 without memory. */
static inline int ds_opt_kit_rows(ds_opt_kit *kit, size_t rows)
{
    return ds_evaluator_reserve(&kit->evaluator, rows);
}

/* The corners of [-1, 1]^n, for methods that take bounds: n times -1, then n times 1. The array belongs to
 * `m`. Returns NULL without memory. */
static inline double *ds_opt_kit_box(ds_memory *m, size_t n)
{
    double *corners = ds_memory_doubles(m, 2 * n);
    for (size_t i = 0; corners != NULL && i < n; i++) {
        corners[i] = -1.0;
        corners[n + i] = 1.0;
    }
    return corners;
}

/* The service for files in the folder of the run (diffsim/ext/draft/files.h); NULL where there is no folder,
 * as in a program that embeds the search. Call it in begin(), round() or end(). */
static inline const ds_objective_files *ds_opt_kit_files(const ds_opt_kit *kit)
{
    return (const ds_objective_files *)ds_evaluator_extension(&kit->evaluator, DS_EXT_FILES);
}

/* Saves `bytes` bytes as file `name` in the folder of the run. DS_E_UNSUPPORTED, without a message, where
 * there is no folder; else what ds_objective_files.save() returns. */
static inline ds_status ds_opt_kit_save(const ds_opt_kit *kit, const char *name, const void *data,
                                        uint64_t bytes)
{
    const ds_objective_files *files = ds_opt_kit_files(kit);
    return files != NULL ? files->save(kit->evaluator.objective, name, data, bytes) : DS_E_UNSUPPORTED;
}

/* ---- the functions of the optimizer interface; DS_OPT_KIT_DEFINE uses them ---- */

/* Does the schema of the optimizer have this parameter? Private to this header, as all names that end in an
 * underscore. */
static inline int ds_opt_kit_declares_(const ds_desc *desc, const char *name)
{
    for (size_t i = 0; desc->params != NULL && desc->params[i] != NULL; i++) {
        if (strcmp(desc->params[i]->name, name) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Copies the start point and checks the bounds: `count` values are given, 1 for all variables or n; 0 = the
 * start point of the environment. */
static inline void ds_opt_kit_take_start_(ds_opt_kit *kit, ds_param_reader *in, const double *given,
                                          uint64_t count)
{
    const ds_problem *p = kit->problem;
    ds_evaluator_start *s = &kit->start;
    s->x = ds_memory_doubles(&kit->memory, kit->n);
    s->v = ds_memory_doubles(&kit->memory, kit->n);
    for (size_t i = 0; s->x != NULL && s->v != NULL && i < kit->n; i++) {
        double x = count == 0 ? p->x0[i] : given[count == 1 ? 0 : i];
        if (!(x >= p->lower[i] && x <= p->upper[i])) {
            in->status = ds_host_fail(
                in->host, DS_E_PARAM,
                "parameter x0: value %g of variable %llu is outside its bounds [%g, %g]: give one inside", x,
                (unsigned long long)i, p->lower[i], p->upper[i]);
            return;
        }
        s->x[i] = x;
    }
    if (s->x != NULL && s->v != NULL) {
        ds_box_v_from_x(kit->n, p->lower, p->upper, s->x, s->v);
        kit->evaluator.start = s;
    }
}

/* Reads parameters use_x0 and x0, where the schema has them; x0 wins. The start point of the environment lies
 * inside its bounds, that of the user may not. */
static inline void ds_opt_kit_read_start_(ds_opt_kit *kit, ds_param_reader *in)
{
    uint64_t count = 0;
    const double *given = NULL;
    const int64_t use_x0 = ds_opt_kit_declares_(kit->desc, "use_x0") ? ds_param_int(in, "use_x0") : 0;
    if (ds_opt_kit_declares_(kit->desc, "x0")) {
        given = ds_param_list(in, "x0", &count);
    }
    if (in->status != DS_OK || (count == 0 && !use_x0)) {
        return;
    }
    if (count > 1 && count != kit->problem->n) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameter x0 has %llu values: give one for all variables, or %llu",
                                  (unsigned long long)count, (unsigned long long)kit->problem->n);
        return;
    }
    ds_opt_kit_take_start_(kit, in, given, count);
}

/* Refuses a problem without gradients where the descriptor needs them: a program that embeds a search may not
 * have checked ds_desc.needs. */
static inline ds_status ds_opt_kit_check_needs_(const ds_desc *desc, const ds_host *host,
                                                const ds_problem *problem)
{
    ds_status status = DS_OK;
    for (size_t i = 0; status == DS_OK && desc->needs != NULL && desc->needs[i] != NULL; i++) {
        if (strcmp(desc->needs[i], DS_HAS_GRADIENT) == 0) {
            status = ds_opt_kit_need_gradient(host, problem, desc->id);
        }
    }
    return status;
}

/* Reads the parameters and allocates. DS_E_NOMEM has no message yet. */
static inline ds_status ds_opt_kit_open_(ds_opt_kit *kit)
{
    ds_param_reader in = {kit->host, DS_OK};
    ds_opt_kit_read_start_(kit, &in);
    if (in.status == DS_OK) {
        kit->table->read(kit, &in);
    }
    if (in.status != DS_OK) {
        return in.status;
    }
    int made = kit->table->allocate == NULL || kit->table->allocate(kit);
    return made && !kit->memory.failed ? DS_OK : DS_E_NOMEM;
}

/* ds_optimizer_vtable.destroy. Accepts NULL, and an instance whose creation failed. */
static inline void ds_opt_kit_destroy(void *self)
{
    ds_opt_kit *kit = (ds_opt_kit *)self;
    if (kit == NULL) {
        return;
    }
    if (kit->table->release != NULL) {
        kit->table->release(kit);
    }
    ds_evaluator_close(&kit->evaluator);
    ds_memory_free(&kit->memory);
    free(kit);
}

/* ds_optimizer_vtable.create of an optimizer with this table and descriptor, which must be static. On
 * failure the host has a message and *out is left alone. */
static inline ds_status ds_opt_kit_create(const ds_opt_table *table, const ds_desc *desc, const ds_host *host,
                                          const ds_problem *problem, void **out)
{
    ds_status status = ds_opt_kit_check_needs_(desc, host, problem);
    if (status != DS_OK) {
        return status;
    }
    ds_opt_kit *kit = (ds_opt_kit *)calloc(1, table->size);
    status = DS_E_NOMEM;
    if (kit != NULL) {
        kit->table = table;
        kit->desc = desc;
        kit->host = host;
        kit->problem = problem;
        kit->n = (size_t)problem->n;
        kit->has_gradient = problem->has_gradient != 0;
        ds_evaluator_open(&kit->evaluator, host, problem);
        status = ds_opt_kit_open_(kit);
    }
    if (status == DS_E_NOMEM) {
        ds_host_fail(host, status, "%s", table->no_memory != NULL ? table->no_memory : "out of memory");
    }
    if (status != DS_OK) {
        ds_opt_kit_destroy(kit);
        return status;
    }
    *out = kit;
    return DS_OK;
}

/* Evaluates the start, where the run has one and the search does not evaluate it itself. */
static inline ds_status ds_opt_kit_evaluate_start_(ds_opt_kit *kit)
{
    ds_evaluator_start *s = &kit->start;
    const ds_evaluator_label label = {"init", 0};
    size_t done;
    if (s->v == NULL || (kit->table->begins_at_start != NULL && kit->table->begins_at_start(kit))) {
        return DS_OK;
    }
    ds_status status = ds_evaluator_run(&kit->evaluator, label, 1, s->v, &s->loss, s->gradient, NULL, &done);
    s->evaluated = status == DS_OK;
    return status;
}

/* ds_optimizer_vtable.run: the start, begin(), rounds, end(). Returns DS_OK where the search ended by itself,
 * DS_STOPPED where the host ended it, negative after a failure. */
static inline ds_status ds_opt_kit_run(void *self, const ds_objective *objective)
{
    ds_opt_kit *kit = (ds_opt_kit *)self;
    ds_evaluator_begin(&kit->evaluator, objective);
    ds_status status = ds_opt_kit_evaluate_start_(kit);
    status = status == DS_OK && kit->table->begin != NULL ? kit->table->begin(kit) : status;
    while (status == DS_OK && !kit->finished) {
        kit->round++;
        status = kit->table->round(kit);
        if (status == DS_OK && !kit->finished && kit->host->should_stop(kit->host)) {
            status = DS_STOPPED;
        }
    }
    if (status >= 0 && kit->table->end != NULL) {
        kit->table->end(kit);
    }
    if (status == DS_E_NOMEM && kit->table->no_memory_run != NULL) {
        ds_host_fail(kit->host, status, "%s", kit->table->no_memory_run);
    }
    return status;
}

#ifndef __cplusplus
/* ---- macros ---- */

/* Schema entries of the start point. The kit reads them where the schema has them, and the search begins at
 * kit.start or calls ds_opt_kit_start(). use_x0_: text, the default of use_x0, "true" or "false". */
#define DS_OPT_START_PARAMS(use_x0_)                                                                         \
    DS_BOOL("use_x0", use_x0_,                                                                               \
            "Evaluate the start point that the environment suggests first; the search begins there."),       \
        DS_LIST("x0", "", -INFINITY, INFINITY, 0, "",                                                        \
                "Evaluate this point first; the search begins there. In the units of the environment: one "  \
                "value for all variables, or one for each; empty = as use_x0 says.")

/* A list of ids for ds_desc.needs, uses and extensions: .uses = DS_OPT_IDS(DS_HAS_RESIDUALS,
 * DS_HAS_GRADIENT). File scope only. */
#define DS_OPT_IDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The fields that every descriptor of an optimizer has; others follow as .field = value. */
#define DS_OPT_KIT_DESC(id_, version_, license_, params_)                                                    \
    .struct_size = sizeof(ds_desc), .kind = DS_KIND_OPTIMIZER, .id = id_, .version = version_,               \
    .license = license_, .params = params_

/* Defines ds_plugin_query() of an optimizer from its static ds_opt_table and ds_desc. Use it once, at file
 * scope, at the end of the file. */
#define DS_OPT_KIT_DEFINE(table_, desc_)                                                                     \
    static ds_status ds_opt_kit_make(const ds_host *host, const ds_problem *problem, void **out)             \
    {                                                                                                        \
        return ds_opt_kit_create(&(table_), &(desc_), host, problem, out);                                   \
    }                                                                                                        \
    static const ds_optimizer_vtable ds_opt_kit_vtable = {.struct_size = sizeof(ds_optimizer_vtable),        \
                                                          .create = ds_opt_kit_make,                         \
                                                          .destroy = ds_opt_kit_destroy,                     \
                                                          .run = ds_opt_kit_run};                            \
    DS_DEFINE_OPTIMIZER(desc_, ds_opt_kit_vtable)
#endif

#endif
