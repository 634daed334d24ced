/* SPDX-License-Identifier: Apache-2.0 */
/* instance.c - host services of a plugin instance, and environments whose answers are vetted. */
#include "config.h"

#include "plugin/instance_internal.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "plugin/env_rl.h"

/* ---- services ---- */

static ds_services *of(const ds_host *host)
{
    return host->ctx;
}

static void service_log(const ds_host *host, uint32_t level, const char *line)
{
    ds_log(level, of(host)->module->id, "%.1023s", line);
}

static void service_error(const ds_host *host, ds_status status, const char *line)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* threads of one instance may fail together */
    ds_services *s = of(host);
    pthread_mutex_lock(&lock);
    s->last_status = status;
    snprintf(s->last_error, sizeof s->last_error, "%s", line);
    ds_text_clean(s->last_error);
    pthread_mutex_unlock(&lock);
}

static uint32_t service_stop(const ds_host *host)
{
    const atomic_int *stop = of(host)->stop;
    return stop != NULL && atomic_load_explicit(stop, memory_order_relaxed) != 0;
}

static ds_status undeclared(const ds_host *host, const char *name, ds_status status)
{
    if (status != DS_OK) {
        ds_log(DS_LOG_ERROR, of(host)->module->id,
               "the plugin asks for parameter '%.60s', which its schema does not declare with this type",
               name);
    }
    return status;
}

static ds_status service_int(const ds_host *host, const char *name, int64_t *out)
{
    return undeclared(host, name, ds_params_int(of(host)->params, name, out));
}

static ds_status service_real(const ds_host *host, const char *name, double *out)
{
    return undeclared(host, name, ds_params_real(of(host)->params, name, out));
}

static ds_status service_text(const ds_host *host, const char *name, const char **out)
{
    return undeclared(host, name, ds_params_text(of(host)->params, name, out));
}

static ds_status service_list(const ds_host *host, const char *name, const double **out, uint64_t *count)
{
    return undeclared(host, name, ds_params_list(of(host)->params, name, out, count));
}

static ds_status service_array(const ds_host *host, const char *name, const double **data, uint64_t *ndim,
                               uint64_t shape[8])
{
    return undeclared(host, name, ds_params_array(of(host)->params, name, data, ndim, shape));
}

static ds_status service_resource(const ds_host *host, const char *relative, char *buf, uint64_t cap)
{
    const char *path = of(host)->module->path;
    const char *slash = strrchr(path, '/');
    char text[PATH_MAX];

    if (relative[0] == '/' || strstr(relative, "..") != NULL) {
        return DS_E_ARG;
    }
    /* Beside the plugin; in the build tree the plugin itself lies in a folder .libs below its data. */
    for (int up = 0; up < 2; up++) {
        int n =
            snprintf(text, sizeof text, "%.*s%s/%s", (int)(slash - path), path, up ? "/.." : "", relative);
        if (n > 0 && (size_t)n < sizeof text && (uint64_t)n < cap && access(text, R_OK) == 0) {
            memcpy(buf, text, (size_t)n + 1);
            return DS_OK;
        }
    }
    return DS_E_IO;
}

static const void *service_extension(const ds_host *host, const char *id)
{
    (void)host;
    (void)id;
    return NULL;
}

void ds_services_init(ds_services *s, const ds_module *module, ds_params *params, uint64_t seed,
                      uint32_t threads, const atomic_int *stop)
{
    memset(s, 0, sizeof *s);
    s->module = module;
    s->params = params;
    s->stop = stop;
    s->host.struct_size = sizeof s->host;
    s->host.abi_minor = DS_ABI_MINOR;
    s->host.ctx = s;
    s->host.seed = seed;
    s->host.threads = threads > 0 ? threads : 1;
    s->host.log = service_log;
    s->host.error = service_error;
    s->host.should_stop = service_stop;
    s->host.get_int = service_int;
    s->host.get_real = service_real;
    s->host.get_text = service_text;
    s->host.get_list = service_list;
    s->host.get_array = service_array;
    s->host.resource = service_resource;
    s->host.get_extension = service_extension;
}

void ds_services_clear(ds_services *s)
{
    ds_params_free(s->params);
    s->params = NULL;
}

int ds_services_fail(const ds_services *s, ds_error *e, const char *function, ds_status status)
{
    return ds_fail(e, ds_status_exit(status), "%s: %s failed: %s (%s)", s->module->id, function,
                   s->last_error[0] != '\0' ? s->last_error : ds_status_text(status), ds_status_name(status));
}

/* ---- environments ---- */

double ds_env_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ask_bounds(ds_env *env, ds_error *e)
{
    uint64_t n = env->info.n;
    ds_status st = env->vt->bounds(env->self, n, env->lower, env->upper, env->x0);
    if (st != DS_OK) {
        return ds_services_fail(&env->services, e, "bounds()", st);
    }
    for (uint64_t i = 0; i < n; i++) {
        double lo = env->lower[i], hi = env->upper[i], x0 = env->x0[i];
        if (!(isfinite(lo) && isfinite(hi) && lo < hi)) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "%s: bounds of variable %llu are %g..%g: they must be finite and lower < upper",
                           env->module->id, (unsigned long long)i, lo, hi);
        }
        if (!(x0 >= lo && x0 <= hi)) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "%s: start point: variable %llu is %g, outside of its bounds %g..%g",
                           env->module->id, (unsigned long long)i, x0, lo, hi);
        }
    }
    return 0;
}

int ds_env_open(const ds_module *module, const ds_settings *settings, uint64_t seed, uint32_t threads,
                const atomic_int *stop, ds_env **out, ds_error *e)
{
    ds_env *env = calloc(1, sizeof *env);
    ds_params *params = NULL;
    int status;

    if (env == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    env->module = module;
    env->vt = &module->env;
    status = ds_params_make(module->plugin->desc->params, module->id, settings, DS_SECTION_ENV, &params, e);
    if (status != 0) {
        free(env);
        return status;
    }
    ds_services_init(&env->services, module, params, seed, threads, stop);
    ds_status st = env->vt->create(&env->services.host, &env->self);
    if (st != DS_OK || env->self == NULL) {
        status = st != DS_OK ? ds_services_fail(&env->services, e, "create()", st)
                             : ds_fail(e, DS_EXIT_PLUGIN, "%s: create() returned DS_OK without an instance",
                                       module->id);
        env->self = NULL;
        ds_env_close(env);
        return status;
    }
    env->info.struct_size = sizeof env->info;
    env->info.loss_floor = -INFINITY;
    st = env->vt->info(env->self, &env->info);
    if (st != DS_OK) {
        status = ds_services_fail(&env->services, e, "info()", st);
    } else if (env->info.n < 1 || env->info.n > (1u << 24)) {
        status = ds_fail(e, DS_EXIT_PLUGIN, "%s: info() says %llu variables, 1 to %u are possible",
                         module->id, (unsigned long long)env->info.n, 1u << 24);
    } else {
        env->lower = calloc(env->info.n, 3 * sizeof *env->lower);
        status = env->lower == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : 0;
    }
    if (status == 0) {
        env->upper = env->lower + env->info.n;
        env->x0 = env->upper + env->info.n;
        status = ask_bounds(env, e);
    }
    if (status == 0) {
        status = ds_env_ask_extensions(env, e);
    }
    if (status == 0) {
        status = ds_env_ask_rl(env, e);
    }
    if (status != 0) {
        ds_env_close(env);
        return status;
    }
    env->has_gradient =
        (module->plugin->desc->flags & DS_ENV_GRADIENT) != 0 && (env->info.flags & DS_INFO_NO_GRADIENT) == 0;
    *out = env;
    return 0;
}

void ds_env_close(ds_env *env)
{
    if (env == NULL) {
        return;
    }
    if (env->self != NULL) {
        env->vt->destroy(env->self);
    }
    ds_services_clear(&env->services);
    free(env->lower);
    free(env);
}

static void set_message(ds_answer *a, const char *text)
{
    size_t n = strnlen(text, sizeof a->message - 1);
    memcpy(a->message, text, n);
    a->message[n] = '\0';
    ds_text_clean(a->message); /* it may have been cut inside a character */
}

void ds_answer_fail(ds_answer *a, uint32_t outcome, const char *text)
{
    a->outcome = outcome;
    a->loss = INFINITY;
    a->grad_kind = DS_GRAD_NONE;
    set_message(a, text);
}

static void vet_gradient(const ds_eval *io, ds_answer *a)
{
    for (uint64_t i = 0; i < io->n; i++) {
        if (!isfinite(io->grad[i])) {
            a->outcome = DS_EVAL_BAD_GRAD;
            snprintf(a->message, sizeof a->message, "component %llu of the gradient is not finite",
                     (unsigned long long)i);
            return;
        }
    }
    if (io->grad_kind == DS_GRAD_NONE || io->grad_kind > DS_GRAD_SMOOTHED) {
        a->outcome = DS_EVAL_BAD_GRAD;
        set_message(a, "evaluate() did not say which kind of gradient it returned");
    }
}

void ds_answer_validate(ds_env *env, const ds_eval *io, ds_answer *a)
{
    a->loss = io->loss;
    a->outcome = io->outcome;
    a->grad_kind = (io->want & DS_WANT_GRAD) != 0 ? io->grad_kind : DS_GRAD_NONE;
    a->bad_step = io->bad_step;
    a->cost_steps = io->cost_steps;
    if (io->outcome > DS_EVAL_INFEASIBLE) {
        ds_answer_fail(a, DS_EVAL_INVALID, "evaluate() set an outcome that only the host sets");
    } else if (io->outcome >= DS_EVAL_DIVERGED) {
        ds_answer_fail(a, io->outcome, env->services.last_error);
    } else if (!isfinite(io->loss)) {
        ds_answer_fail(a, DS_EVAL_INVALID, "evaluate() returned a loss that is not finite as a success");
    } else if (io->outcome == DS_EVAL_BAD_GRAD) {
        set_message(a, env->services.last_error);
    } else if ((io->want & DS_WANT_GRAD) != 0) {
        vet_gradient(io, a);
    }
    if ((io->want & DS_WANT_GRAD) != 0 && a->outcome != DS_EVAL_OK) {
        memset(io->grad, 0, io->n * sizeof *io->grad);
        a->grad_kind = DS_GRAD_NONE;
    }
}

ds_status ds_env_evaluate(ds_env *env, const double *x, uint64_t noise_key, uint32_t want, double *grad,
                          ds_answer *answer)
{
    ds_eval io = {.struct_size = sizeof io,
                  .want = want,
                  .n = env->info.n,
                  .x = x,
                  .noise_key = noise_key,
                  .grad = (want & DS_WANT_GRAD) != 0 ? grad : NULL,
                  .loss = NAN,
                  .bad_step = -1};
    double start = ds_env_now();
    ds_status st;

    answer->message[0] = '\0';
    env->services.last_error[0] = '\0';
    st = env->vt->evaluate(env->self, &io);
    if (st == DS_OK) {
        ds_answer_validate(env, &io, answer);
    } else {
        answer->bad_step = -1;
        answer->cost_steps = io.cost_steps;
        ds_answer_fail(answer, st == DS_STOPPED ? DS_EVAL_STOPPED : DS_EVAL_ERROR,
                       env->services.last_error[0] != '\0' ? env->services.last_error : ds_status_text(st));
        if (io.grad != NULL) {
            memset(io.grad, 0, io.n * sizeof *io.grad);
        }
    }
    answer->wall = ds_env_now() - start;
    return st == DS_STOPPED ? DS_STOPPED : DS_OK;
}

const ds_scene *ds_env_scene(ds_env *env)
{
    return env->vt->get_extension != NULL ? env->vt->get_extension(env->self, DS_EXT_SCENE) : NULL;
}
