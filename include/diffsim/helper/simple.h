/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/simple.h - the short way to a plugin, in C: one function and one line that announces it.
 *
 * An environment whose number of variables is fixed and whose bounds are the same for every variable
 * is one function
 *
 *     static double loss(const double *param, const double *x, double *grad);
 *     DS_SIMPLE_ENV("hill", "A ball on hilly ground.", params, DS_ENV_GRADIENT, 2, -4, 4, 0.5, loss)
 *
 * An optimizer is one loop over ds_simple_ask(), see diffsim/helper/simple_optimizer.h, which this header
 * includes:
 *
 *     static ds_status search(ds_simple_search *s);
 *     DS_SIMPLE_OPTIMIZER("walk", "Evolution strategy.", params, 0, search)
 *
 * Header only, no part of the binary interface: the macros write the tables of env.h, optimizer.h and
 * plugin.h. A whole environment:
 *
 *     #include <diffsim/helper/simple.h>
 *
 *     static const ds_param *const params[] = {
 *         DS_REAL("stiffness", "2", 0, 10, "N/m", "Of the spring."), NULL};
 *
 *     static double loss(const double *param, const double *x, double *grad)
 *     {
 *         if (grad != NULL) {
 *             grad[0] = param[0] * x[0];
 *         }
 *         return 0.5 * param[0] * x[0] * x[0];
 *     }
 *
 *     DS_SIMPLE_ENV("spring", "Energy of a spring.", params, DS_ENV_GRADIENT, 1, -1, 1, 0.5, loss)
 *
 * diffsim/helper/scene.h adds pictures, diffsim/helper/episode.h constraints, residuals, images and noise,
 * diffsim/helper/steps.h control step by step; whole examples of each are in docs/plugin-authors.md.
 *
 * The host does the rest, as for every plugin: help, templates and checks of the parameters, parallel
 * evaluation, isolation, budget, record and resume. Test it with `dshost check ./spring.so`.
 *
 * Version, license and description of the plugin are "1", "unstated" and "" unless they are defined before
 * this header is included:
 *
 *     #define DS_SIMPLE_VERSION "2"
 *     #define DS_SIMPLE_LICENSE "Apache-2.0"
 *     #define DS_SIMPLE_DESCRIPTION "A mass on a spring, in the units of the SI."
 *     #include <diffsim/helper/simple.h>
 *
 * An environment that does not fit (bounds or a number of variables that depend on parameters, extensions,
 * text or list parameters, state that is costly to set up) uses those tables directly, as in
 * examples/hill_full.c.
 */
#ifndef DIFFSIM_SIMPLE_H
#define DIFFSIM_SIMPLE_H

#include <diffsim/diffsim.h>
#include <diffsim/helper/params.h>
#include <diffsim/helper/random.h>
#include <diffsim/helper/simple_optimizer.h>

#ifndef __cplusplus
#include <stdlib.h>
#include <string.h>

/* How the parts below hang together: ds_simple_params() reads the schema once, when an instance is
 * made; the macro DS_SIMPLE_ENV defines the functions of a vtable around the author's function, all
 * static, so that a plugin still exports ds_plugin_query() alone; DS_DEFINE_ENV (plugin.h) announces them. */

/* Reads the numbers of a schema (BOOL, INT, REAL, and ENUM as the index of the choice) in its order. Returns
 * an array of `extra` + number-of-parameters doubles that the caller frees, the first `extra` of them 0; NULL
 * when it has said through host->error() what is wrong. [any] */
static inline double *ds_simple_params(const ds_host *host, const ds_param *const *params, uint64_t extra)
{
    uint64_t count = 0;
    while (params != NULL && params[count] != NULL) {
        count++;
    }
    double *value = (double *)calloc((size_t)(extra + count + 1), sizeof *value);
    if (value == NULL) {
        host->error(host, DS_E_NOMEM, "no memory for the parameters");
        return NULL;
    }
    ds_param_reader in = {host, DS_OK};
    for (uint64_t i = 0; i < count && in.status == DS_OK; i++) {
        const uint32_t type = params[i]->type;
        if (type == DS_PARAM_REAL) {
            value[extra + i] = ds_param_real(&in, params[i]->name);
        } else if (type == DS_PARAM_BOOL || type == DS_PARAM_INT || type == DS_PARAM_ENUM) {
            value[extra + i] = (double)ds_param_int(&in, params[i]->name);
        } else {
            in.status = ds_host_fail(
                host, DS_E_PARAM,
                "diffsim/helper/simple.h passes numbers, switches and choices only: use the full "
                "interface for texts, lists and files");
        }
    }
    if (in.status != DS_OK) {
        free(value);
        value = NULL;
    }
    return value;
}

/* Evaluates the function of an author; see DS_SIMPLE_ENV. [instance] */
static inline void ds_simple_outcome(const double *param, ds_eval *io, uint32_t flags, uint64_t steps,
                                     double (*loss)(const double *, const double *, double *))
{
    /* The same forward code with and without gradient: the loss must not depend on what is wanted. */
    const int graded = (io->want & DS_WANT_GRAD) != 0 && (flags & DS_ENV_GRADIENT) != 0;
    io->loss = loss(param, io->x, graded ? io->grad : NULL);
    io->outcome = isfinite(io->loss) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    /* A gradient with a hole in it is none; the loss beside it still counts. */
    for (uint64_t i = 0; graded && i < io->n; i++) {
        io->outcome = io->outcome == DS_EVAL_OK && !isfinite(io->grad[i]) ? DS_EVAL_BAD_GRAD : io->outcome;
    }
    io->loss = isfinite(io->loss) ? io->loss : INFINITY;
    io->grad_kind = graded ? DS_GRAD_ADJOINT : DS_GRAD_NONE;
    io->bad_step = -1;
    /* What the author's gradient costs is not known here: cost_steps counts the forward simulation alone. */
    io->cost_steps = steps;
}

/* Parts of an environment, used by the macros of the short ways only: the same box for every variable; the
 * answer to one extension id; the tables. */
#define DS_SIMPLE_BOX_(n_, steps_, dt_, lower_, upper_, start_)                                              \
    static ds_status ds_simple_info(void *self, ds_env_info *out)                                            \
    {                                                                                                        \
        (void)self;                                                                                          \
        out->n = (n_);                                                                                       \
        out->steps = (steps_);                                                                               \
        out->dt = (dt_);                                                                                     \
        out->loss_floor = -INFINITY;                                                                         \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static ds_status ds_simple_bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)      \
    {                                                                                                        \
        (void)self;                                                                                          \
        for (uint64_t i = 0; i < n; i++) {                                                                   \
            lower[i] = (lower_);                                                                             \
            upper[i] = (upper_);                                                                             \
            if (x0 != NULL) {                                                                                \
                x0[i] = (start_);                                                                            \
            }                                                                                                \
        }                                                                                                    \
        return DS_OK;                                                                                        \
    }
#define DS_SIMPLE_OFFERS_(extension_, table_)                                                                \
    static const char *const ds_simple_offers[] = {extension_, NULL};                                        \
    static const void *ds_simple_extension(void *self, const char *id)                                       \
    {                                                                                                        \
        (void)self;                                                                                          \
        return strcmp(id, extension_) == 0 ? &(table_) : NULL;                                               \
    }
#define DS_SIMPLE_TABLES_(id_, summary_, params_, flags_, destroy_, evaluate_, extension_, offers_)          \
    static const ds_env_vtable ds_simple_vtable = {.struct_size = sizeof(ds_env_vtable),                     \
                                                   .create = ds_simple_create,                               \
                                                   .destroy = destroy_,                                      \
                                                   .info = ds_simple_info,                                   \
                                                   .bounds = ds_simple_bounds,                               \
                                                   .evaluate = evaluate_,                                    \
                                                   .get_extension = extension_};                             \
    DS_SIMPLE_DESC_(DS_KIND_ENV, id_, summary_, params_, flags_, offers_)                                    \
    DS_DEFINE_ENV(ds_simple_desc, ds_simple_vtable)

/* Defines the whole plugin of an environment; use it once, at file scope, after its functions.
 *   id_       text, the file name without ".so"
 *   summary_  text, one line
 *   params_   const ds_param *const [], NULL-terminated, of number types (DS_BOOL, DS_INT, DS_REAL, DS_ENUM)
 *   flags_    DS_ENV_GRADIENT where loss_ writes the gradient, else 0
 *   n_        number of variables
 *   lower_, upper_, start_   bounds and start value of every variable
 *   loss_     double loss_(const double *param, const double *x, double *grad): simulates one episode at x
 *             (n_ values) and returns the loss; `param` has the values of the schema in its order. Writes the
 *             n_ derivatives where grad is not NULL. Pure, see ds_env_vtable.evaluate. A result that is not
 *             finite means that the simulation diverged. [any] */
#define DS_SIMPLE_ENV(id_, summary_, params_, flags_, n_, lower_, upper_, start_, loss_)                     \
    static ds_status ds_simple_create(const ds_host *host, void **out)                                       \
    {                                                                                                        \
        double *value = ds_simple_params(host, params_, 0);                                                  \
        if (value == NULL) {                                                                                 \
            return DS_E_PARAM;                                                                               \
        }                                                                                                    \
        *out = value;                                                                                        \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    DS_SIMPLE_BOX_(n_, 1, 0, lower_, upper_, start_)                                                         \
    static ds_status ds_simple_evaluate(void *self, ds_eval *io)                                             \
    {                                                                                                        \
        ds_simple_outcome((const double *)self, io, flags_, 1, loss_);                                       \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    DS_SIMPLE_TABLES_(id_, summary_, params_, flags_, free, ds_simple_evaluate, NULL, NULL)

/* The descriptor; used by the macros of the short ways only. */
#define DS_SIMPLE_DESC_(kind_, id_, summary_, params_, flags_, extensions_)                                  \
    static const ds_desc ds_simple_desc = {.struct_size = sizeof(ds_desc),                                   \
                                           .kind = (kind_),                                                  \
                                           .flags = (flags_)&0xffffff,                                       \
                                           .id = id_,                                                        \
                                           .version = DS_SIMPLE_VERSION,                                     \
                                           .license = DS_SIMPLE_LICENSE,                                     \
                                           .summary = summary_,                                              \
                                           .description = DS_SIMPLE_DESCRIPTION,                             \
                                           .citation = "",                                                   \
                                           .params = params_,                                                \
                                           .extensions = extensions_};

#endif
#endif
