/* SPDX-License-Identifier: Apache-2.0 */
/* alone.c - an environment that needs a process of its own and is exact only to a tolerance, for tests of the
 * host. It allows one instance per process, and behaves like an interpreter: it sets a locale and a signal
 * handler and keeps a thread. */
#include <diffsim/diffsim.h>
#include <diffsim/helper/eval.h>

#include <diffsim/ext/steps.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HORIZON = 8, N_OBS = 2 };

static const ds_param *const params[] = {
    DS_REAL("wobble", "0", 0, 1, "", "By how much results differ, relative; this is the tolerance, too."),
    NULL};

typedef struct env {
    const ds_host *host;
    double tolerance, wobble, limit;
    uint64_t calls;
    int open;
    uint64_t t;
    double sum;
} env;

static atomic_int instances;

static void *for_ever(void *arg)
{
    (void)arg;
    for (;;) {
        pause();
    }
    return NULL;
}

static ds_status create(const ds_host *host, void **out)
{
    const char *really = getenv("DS_TEST_WOBBLE"); /* the real error, unlike the declared tolerance */
    const char *limit = getenv("DS_TEST_LIMIT");   /* points with a larger first variable fail */
    pthread_t thread;
    env *e = calloc(1, sizeof *e);
    if (e == NULL || atomic_fetch_add(&instances, 1) > 0) {
        host->error(host, DS_E_STATE, "a second instance in one process");
        free(e);
        return DS_E_STATE;
    }
    if (host->get_real(host, "wobble", &e->tolerance) != DS_OK) {
        free(e);
        return DS_E_PARAM;
    }
    e->host = host;
    e->limit = limit != NULL ? strtod(limit, NULL) : (double)INFINITY;
    e->wobble = really != NULL ? strtod(really, NULL) : e->tolerance;
    setlocale(LC_ALL, "C.UTF-8");
    signal(SIGUSR1, SIG_IGN);
    if (pthread_create(&thread, NULL, for_ever, NULL) == 0) {
        pthread_detach(thread);
    }
    *out = e;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    out->n = HORIZON;
    out->steps = HORIZON;
    out->loss_floor = 0;
    out->tolerance = ((env *)self)->tolerance;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -1;
        upper[i] = 1;
        if (x0 != NULL) {
            x0[i] = 0.5;
        }
    }
    return DS_OK;
}

/* A factor between 1 - wobble / 2 and 1 + wobble / 2 that differs at every call. */
static double unsteady(env *e)
{
    e->calls++;
    return 1 + e->wobble * ((double)(e->calls * 7 % 11) / 10 - 0.5);
}

static ds_status evaluate(void *self, ds_eval *io)
{
    env *e = self;
    double factor = unsteady(e);
    e->open = 0;
    if (io->x[0] > e->limit) {
        e->host->error(e->host, DS_E_NUMERIC, "x₀ is too large – größer als erlaubt");
        return DS_E_NUMERIC;
    }
    io->loss = 0;
    io->outcome = DS_EVAL_OK;
    io->grad_kind = DS_GRAD_ADJOINT;
    for (uint64_t i = 0; i < io->n; i++) {
        double d = io->x[i] - 0.25;
        io->loss += d * d;
        if ((io->want & DS_WANT_GRAD) != 0) {
            io->grad[i] = 2 * d * factor;
        }
    }
    io->loss *= factor;
    if (!isfinite(io->loss)) {
        io->outcome = DS_EVAL_DIVERGED;
        io->loss = (double)INFINITY;
    }
    return DS_OK;
}

static ds_status steps_info(void *self, ds_steps_info *out)
{
    (void)self;
    out->horizon = HORIZON;
    out->n_act = 1;
    out->n_obs = N_OBS;
    return DS_OK;
}

static void observe(const env *e, double *obs)
{
    obs[0] = (double)e->t;
    obs[1] = fmin(e->sum, 1e6);
}

static ds_status begin(void *self, uint64_t lane, uint64_t noise_key, double *obs)
{
    env *e = self;
    (void)lane;
    (void)noise_key;
    e->open = 1;
    e->t = 0;
    e->sum = 0;
    observe(e, obs);
    return DS_OK;
}

static ds_status step(void *self, uint64_t lane, ds_step *io)
{
    env *e = self;
    (void)lane;
    if (!e->open) {
        return DS_E_STATE;
    }
    double d = io->action[0] - 0.25, term = d * d;
    e->t++;
    e->sum += term;
    observe(e, io->obs);
    io->outcome = isfinite(term) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    io->reward = -term;
    io->ended = e->t == HORIZON || io->outcome != DS_EVAL_OK ? DS_STEPS_TERMINATED : DS_STEPS_CONTINUES;
    io->loss = e->sum;
    io->cost_steps = 1;
    e->open = io->ended == DS_STEPS_CONTINUES;
    return DS_OK;
}

static ds_status begin_rows(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    return ds_step_begin_each(self, rows, results, N_OBS, begin);
}

static ds_status step_rows(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    return ds_step_each(self, rows, results, 1, N_OBS, step);
}

static const ds_env_steps steps = {
    .struct_size = sizeof steps, .info = steps_info, .begin = begin_rows, .step = step_rows};

static ds_status evaluate_rows(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, evaluate);
}

static const void *get_extension(void *self, const char *id)
{
    (void)self;
    return strcmp(id, DS_EXT_STEPS) == 0 ? &steps : NULL;
}

static const char *const extensions[] = {DS_EXT_STEPS, NULL};
static const ds_env_vtable vtable = {.struct_size = sizeof vtable,
                                     .create = create,
                                     .destroy = free,
                                     .info = info,
                                     .bounds = bounds,
                                     .evaluate = evaluate_rows,
                                     .get_extension = get_extension};
static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_ENV,
                             .flags = DS_ENV_GRADIENT | DS_ENV_OWN_PROCESS | DS_ENV_INEXACT,
                             .id = "alone",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "Wants a process to itself, and is not exact.",
                             .description = "",
                             .citation = "",
                             .params = params,
                             .extensions = extensions};
DS_DEFINE_ENV(desc, vtable)
