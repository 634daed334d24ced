/* SPDX-License-Identifier: Apache-2.0 */
/* check_host.c - recording host services, raw environment instances, and comparison of their results. */
#include "config.h"

#include "base/text.h"
#include "harness/check_host.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/answer.h"
#include "harness/check_process.h"

/* ---- host services ---- */

enum { EXTRA_BYTE = 0x5a };

static ds_check_host *of(const ds_host *host)
{
    return host->ctx;
}

static void host_log(const ds_host *host, uint32_t level, const char *line)
{
    (void)host;
    (void)level;
    (void)line;
}

static void host_error(const ds_host *host, ds_status status, const char *line)
{
    ds_check_host *h = of(host);
    h->errors++;
    h->error_status = status;
    snprintf(h->error_text, sizeof h->error_text, "%s", line != NULL ? line : "");
}

static uint32_t host_stop(const ds_host *host)
{
    atomic_fetch_add(&of(host)->polls, 1);
    return atomic_load(&of(host)->stop) != 0;
}

/* Does this parameter query fail on purpose? */
static int inject(ds_check_host *h)
{
    h->getters++;
    if (h->getters == h->fail_at) {
        h->injected++;
        return 1;
    }
    return 0;
}

static ds_status note_undeclared(ds_check_host *h, const char *name, ds_status status)
{
    if (status != DS_OK && h->undeclared++ == 0) {
        snprintf(h->undeclared_name, sizeof h->undeclared_name, "%s", name);
    }
    return status;
}

static ds_status host_int(const ds_host *host, const char *name, int64_t *out)
{
    ds_check_host *h = of(host);
    return inject(h) ? DS_E_PARAM : note_undeclared(h, name, ds_params_int(h->services.params, name, out));
}

static ds_status host_real(const ds_host *host, const char *name, double *out)
{
    ds_check_host *h = of(host);
    return inject(h) ? DS_E_PARAM : note_undeclared(h, name, ds_params_real(h->services.params, name, out));
}

static ds_status host_text(const ds_host *host, const char *name, const char **out)
{
    ds_check_host *h = of(host);
    return inject(h) ? DS_E_PARAM : note_undeclared(h, name, ds_params_text(h->services.params, name, out));
}

static ds_status host_list(const ds_host *host, const char *name, const double **out, uint64_t *count)
{
    ds_check_host *h = of(host);
    return inject(h) ? DS_E_PARAM
                     : note_undeclared(h, name, ds_params_list(h->services.params, name, out, count));
}

static ds_status host_array(const ds_host *host, const char *name, const double **data, uint64_t *ndim,
                            uint64_t shape[8])
{
    ds_check_host *h = of(host);
    return inject(h) ? DS_E_PARAM
                     : note_undeclared(h, name, ds_params_array(h->services.params, name, data, ndim, shape));
}

static ds_status host_resource(const ds_host *host, const char *relative, char *buf, uint64_t cap,
                               uint64_t *needed)
{
    const ds_host *inner = &of(host)->services.host;
    return inner->resource(inner, relative, buf, cap, needed);
}

int ds_check_host_open(ds_check *c, const ds_settings *settings, uint64_t seed, uint32_t threads,
                       size_t extra, ds_check_host *h)
{
    int section = c->module->plugin->desc->kind == DS_KIND_ENV ? DS_SECTION_ENV : DS_SECTION_OPT;
    ds_params *params = NULL;
    ds_error e = {0};

    memset(h, 0, sizeof *h);
    if (ds_params_make(c->module->plugin->desc->params, c->module->id, settings, section, &params, &e) != 0) {
        ds_check_fail(c, "cannot create an instance: %s", e.text);
        ds_check_hint(c, "set the missing parameter with --set env.NAME=VALUE or --set opt.NAME=VALUE");
        return 0;
    }
    ds_services_init(&h->services, c->module, params, seed, threads, NULL);
    h->host = malloc(sizeof *h->host + extra);
    if (h->host == NULL) {
        ds_check_fail(c, "out of memory");
        ds_services_clear(&h->services);
        return 0;
    }
    h->extra = extra;
    memset(h->host, EXTRA_BYTE, sizeof *h->host + extra);
    *h->host = h->services.host;
    h->host->struct_size = (uint32_t)(sizeof *h->host + extra);
    h->host->ctx = h;
    h->host->log = host_log;
    h->host->error = host_error;
    h->host->should_stop = host_stop;
    h->host->get_int = host_int;
    h->host->get_real = host_real;
    h->host->get_text = host_text;
    h->host->get_list = host_list;
    h->host->get_array = host_array;
    h->host->resource = host_resource;
    return 1;
}

void ds_check_host_close(ds_check_host *h)
{
    free(h->host);
    h->host = NULL;
    ds_services_clear(&h->services);
}

void ds_check_host_check(ds_check *c, const ds_check_host *h)
{
    const unsigned char *p = (const unsigned char *)h->host + sizeof *h->host;
    for (size_t i = 0; i < h->extra; i++) {
        if (p[i] != EXTRA_BYTE) {
            ds_check_fail(
                c, "the plugin wrote to ds_host past the fields of its ABI version: ds_host is read-only");
            return;
        }
    }
}

void ds_check_error_explained(ds_check *c, const ds_check_host *h, const char *function, ds_status status)
{
    if (status > 0 || status < DS_E_NUMERIC) {
        ds_check_fail(c, "%s returned %d, which is not an error status", function, (int)status);
        ds_check_hint(c, "return one of DS_E_*");
    }
    /* After a failed getter the host already knows the reason; the plugin may just pass the status on. */
    if (h->errors == 0 && h->injected + h->undeclared == 0) {
        ds_check_fail(c, "%s returned %s without calling host->error()", function, ds_status_name(status));
        ds_check_hint(
            c,
            "call host->error(host, status, line) first: which value is wrong, what is allowed, what to do");
    } else if (h->errors > 0 && (h->error_text[0] == '\0' || strchr(h->error_text, '\n') != NULL)) {
        ds_check_fail(c,
                      "%s explained its error with \"%.80s\": expected one non-empty line without a newline",
                      function, h->error_text);
    }
}

/* ---- environments ---- */

static int is_inexact(const ds_check *c)
{
    return (c->module->plugin->desc->flags & DS_ENV_INEXACT) != 0;
}

static int read_environment(ds_check *c, ds_check_env *env)
{
    ds_env_info info = {.struct_size = sizeof info, .loss_floor = -INFINITY};
    ds_status st = env->vt->info(env->self, &info);
    if (st != DS_OK || info.n < 1 || info.n > DS_MAX_VARIABLES) {
        ds_check_fail(c, "info() returned %s and n = %llu; expected DS_OK and 1 to %u variables",
                      ds_status_name(st), (unsigned long long)info.n, DS_MAX_VARIABLES);
        return 0;
    }
    if (!(isfinite(info.tolerance) && info.tolerance >= 0) || (info.tolerance > 0 && !is_inexact(c))) {
        ds_check_fail(c, "info() reports tolerance = %g", info.tolerance);
        ds_check_hint(c, "with DS_ENV_INEXACT it is finite and at least 0; without this flag it is 0");
        return 0;
    }
    env->n = info.n;
    env->steps = info.steps;
    env->max_rows = info.max_rows > 1 ? info.max_rows : 1;
    env->loss_floor = info.loss_floor;
    env->has_gradient = env->has_gradient && (info.flags & DS_INFO_NO_GRADIENT) == 0;
    env->lower = calloc(5 * info.n, sizeof(double));
    if (env->lower == NULL) {
        ds_check_fail(c, "out of memory");
        return 0;
    }
    env->upper = env->lower + info.n;
    env->x0 = env->upper + info.n;
    env->x = env->x0 + info.n;
    env->g = env->x + info.n;
    st = env->vt->bounds(env->self, info.n, env->lower, env->upper, env->x0);
    if (st != DS_OK) {
        ds_check_fail(c, "bounds() returned %s: %.200s", ds_status_name(st), env->h.error_text);
        return 0;
    }
    memcpy(env->x, env->x0, info.n * sizeof *env->x);
    ds_flight_room(info.n);
    c->tolerance = info.tolerance;
    free(c->width);
    c->width = malloc(info.n * sizeof *c->width);
    for (uint64_t i = 0; c->width != NULL && i < info.n; i++) {
        c->width[i] = env->upper[i] - env->lower[i];
    }
    if (c->width == NULL) {
        ds_check_fail(c, "out of memory");
    }
    return c->width != NULL;
}

int ds_check_env_open(ds_check *c, uint32_t threads, ds_check_env *env)
{
    if (c->idle != NULL) {
        ds_check_env_close(c->idle);
        c->idle = NULL;
    }
    memset(env, 0, sizeof *env);
    env->vt = &c->module->env;
    env->has_gradient = (c->module->plugin->desc->flags & DS_ENV_GRADIENT) != 0;
    if (!ds_check_host_open(c, &c->options->settings, c->options->seed, threads, 0, &env->h)) {
        return 0;
    }
    ds_status st = env->vt->create(env->h.host, &env->self);
    if (st != DS_OK || env->self == NULL) {
        ds_check_fail(c, "create() returned %s%s: %.300s", ds_status_name(st),
                      st == DS_OK ? " and a NULL instance" : "", env->h.error_text);
        env->self = NULL;
    } else if (read_environment(c, env)) {
        return 1;
    }
    ds_check_env_close(env);
    return 0;
}

void ds_check_env_close(ds_check_env *env)
{
    if (env->self != NULL) {
        env->vt->destroy(env->self);
    }
    free(env->lower);
    ds_check_host_close(&env->h);
    memset(env, 0, sizeof *env);
}

const void *ds_check_extension(const ds_check_env *env, const char *id)
{
    return env->vt->get_extension != NULL ? env->vt->get_extension(env->self, id) : NULL;
}

/* ---- results of evaluations ---- */

double ds_check_poison(void)
{
    const uint64_t bits = 0x7ff8dead5eed5eedu; /* a quiet NaN that no computation produces */
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

int ds_check_is_poison(double v)
{
    const double poison = ds_check_poison();
    return memcmp(&v, &poison, sizeof v) == 0;
}

void ds_check_evaluate(ds_check_env *env, const double *x, uint32_t want, uint64_t noise_key, double *grad,
                       ds_check_result *a)
{
    memset(a, 0, sizeof *a);
    a->io = (ds_eval){.want = want,
                      .n = env->n,
                      .x = x,
                      .noise_key = noise_key,
                      .grad = grad,
                      .loss = ds_check_poison(),
                      .outcome = DS_EVAL_OK,
                      .bad_step = -1};
    for (uint64_t i = 0; grad != NULL && i < env->n; i++) {
        grad[i] = ds_check_poison();
    }
    env->h.errors = 0;
    env->h.error_text[0] = '\0';
    double begin = ds_check_worked();
    ds_flight_begin(x, env->n, want, noise_key, 1);
    a->status = ds_eval_call(env->vt, env->self, &a->io);
    ds_flight_end();
    a->seconds = ds_check_worked() - begin;
}

void ds_check_call(ds_check_env *env, const double *x, int gradient, ds_check_result *a)
{
    gradient = gradient && env->has_gradient;
    ds_check_evaluate(env, x, gradient ? DS_WANT_GRAD : 0, 0, gradient ? env->g : NULL, a);
}

static void check_gradient(ds_check *c, const ds_check_env *env, const ds_check_result *a, const char *where)
{
    const double *g = a->io.grad;
    if ((a->io.want & DS_WANT_GRAD) == 0 || a->io.outcome != DS_EVAL_OK) {
        return;
    }
    if (a->io.grad_kind == DS_GRAD_NONE || a->io.grad_kind > DS_GRAD_SMOOTHED) {
        ds_check_fail(c, "%s: a gradient was requested, but grad_kind is %u", where, a->io.grad_kind);
        ds_check_hint(c, "set grad_kind to DS_GRAD_ADJOINT, _FORWARD, _FD or _SMOOTHED");
    }
    for (uint64_t i = 0; i < env->n; i++) {
        if (ds_check_is_poison(g[i])) {
            ds_check_fail(c, "%s: entry %llu of the gradient was not written", where, (unsigned long long)i);
            ds_check_hint(c,
                          "write all n entries, zeros included: the buffer is not cleared before the call");
            return;
        }
        if (!isfinite(g[i])) {
            ds_check_fail(c, "%s: entry %llu of the gradient is %g although the outcome is ok", where,
                          (unsigned long long)i, g[i]);
            ds_check_hint(c, "report an invalid gradient with outcome DS_EVAL_BAD_GRAD; frequent causes are "
                             "0/0 and sqrt'(0)");
            return;
        }
    }
}

int ds_check_result_check(ds_check *c, const ds_check_env *env, const ds_check_result *a, const char *where)
{
    const ds_eval *io = &a->io;
    if (a->status != DS_OK) {
        ds_check_fail(c, "%s: evaluate() returned %s: %.200s", where, ds_status_name(a->status),
                      env->h.error_text);
        ds_check_hint(c, "for a point that cannot be simulated, return DS_OK and set the outcome to "
                         "DS_EVAL_DIVERGED or DS_EVAL_INFEASIBLE");
        return 0;
    }
    if (io->cost_steps > DS_COST_MAX) {
        ds_check_fail(c, "%s: cost_steps is %llu, more than 2^53", where, (unsigned long long)io->cost_steps);
        ds_check_hint(c, "set it to the number of simulated steps, or leave it 0");
    }
    if (io->outcome > DS_EVAL_INFEASIBLE) {
        ds_check_fail(c,
                      io->outcome == UINT32_MAX ? "%s: evaluate() did not set the outcome"
                                                : "%s: evaluate() set outcome %u, which only the host sets",
                      where, io->outcome);
        ds_check_hint(c, "set io->outcome to DS_EVAL_OK, _BAD_GRAD, _DIVERGED or _INFEASIBLE");
        return 0;
    }
    if (io->outcome >= DS_EVAL_DIVERGED) {
        if (!(isinf(io->loss) && io->loss > 0)) {
            ds_check_fail(c, "%s: the outcome is %s, but the loss is %.17g", where,
                          ds_outcome_name(io->outcome), io->loss);
            ds_check_hint(c, "set the loss to INFINITY where there is none");
        }
        return 0;
    }
    if (!isfinite(io->loss)) {
        ds_check_fail(c,
                      ds_check_is_poison(io->loss) ? "%s: evaluate() did not set the loss"
                                                   : "%s: the loss is %g although the outcome is ok",
                      where, io->loss);
        ds_check_hint(c, "test isfinite(loss) at the end: if it is not, set outcome = DS_EVAL_DIVERGED and "
                         "loss = INFINITY");
        return 0;
    }
    if (io->loss < env->loss_floor) {
        ds_check_fail(c, "%s: the loss %s is below loss_floor %s of info()", where, DS_TEXT_OF(io->loss),
                      DS_TEXT_OF(env->loss_floor));
        ds_check_hint(c, "loss_floor is a proven lower bound; use -INFINITY if none is known");
    }
    check_gradient(c, env, a, where);
    return 1;
}

static double longest(const ds_check *c, const double *grad, uint64_t n)
{
    double size = 0;
    for (uint64_t i = 0; i < n; i++) {
        size = fmax(size, fabs(grad[i]) * c->width[i]);
    }
    return size;
}

ds_check_bits ds_check_result_bits(const ds_check *c, const ds_check_result *a, uint64_t n)
{
    ds_check_bits b = {0, 0};
    memcpy(&b.loss, &a->io.loss, sizeof b.loss);
    if (is_inexact(c) && a->io.grad != NULL) {
        double size = longest(c, a->io.grad, n);
        memcpy(&b.grad, &size, sizeof b.grad);
        return b;
    }
    for (uint64_t i = 0; a->io.grad != NULL && i < n; i++) {
        uint64_t v;
        memcpy(&v, &a->io.grad[i], sizeof v);
        b.grad = ds_random_mix(b.grad ^ v);
    }
    return b;
}

/* Numbers with different bits have a distance above 0 even if their values are equal. */
static double relative(double difference, double size)
{
    return isfinite(difference) && size > 0 ? fmax(difference / size, DBL_MIN) : (double)INFINITY;
}

double ds_check_loss_distance(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 ? 0 : relative(fabs(a - b), fmax(fabs(a), fabs(b)));
}

static double gradient_distance(const ds_check *c, const double *a, const double *b, uint64_t n)
{
    double difference = 0, size = fmax(longest(c, a, n), longest(c, b, n));
    if (memcmp(a, b, n * sizeof *a) == 0) {
        return 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        double d = fabs(a[i] - b[i]) * c->width[i];
        difference = d > difference || isnan(d) ? d : difference;
    }
    return relative(difference, size);
}

double ds_check_distance(const ds_check *c, const ds_check_result *a, const ds_check_result *b, uint64_t n,
                         int grad)
{
    if (a->status != b->status || a->io.outcome != b->io.outcome) {
        return INFINITY;
    }
    double d = ds_check_loss_distance(a->io.loss, b->io.loss);
    int both = grad && a->io.grad != NULL && b->io.grad != NULL && a->io.outcome == DS_EVAL_OK;
    return both ? fmax(d, gradient_distance(c, a->io.grad, b->io.grad, n)) : d;
}

int ds_check_near(ds_check *c, double distance)
{
    c->distance = fmax(c->distance, distance);
    return distance <= c->tolerance;
}

int ds_check_is_reference(ds_check *c, const ds_check_result *a, uint64_t n, int grad)
{
    ds_check_bits is = ds_check_result_bits(c, a, n), was = c->options->reference;
    double before, sizes[2];
    memcpy(&before, &was.loss, sizeof before);
    if (!ds_check_near(c, ds_check_loss_distance(before, a->io.loss)) || !grad || a->io.grad == NULL) {
        return ds_check_loss_distance(before, a->io.loss) <= c->tolerance;
    }
    memcpy(&sizes[0], &was.grad, sizeof sizes[0]);
    memcpy(&sizes[1], &is.grad, sizeof sizes[1]);
    return is_inexact(c) ? ds_check_near(c, ds_check_loss_distance(sizes[0], sizes[1])) : is.grad == was.grad;
}

void ds_check_same(ds_check *c, const ds_check_result *a, const ds_check_result *b, uint64_t n, int grad,
                   const char *what)
{
    double distance = ds_check_distance(c, a, b, n, grad);
    if (ds_check_near(c, distance)) {
        return;
    }
    if (c->tolerance > 0 && isfinite(distance)) {
        ds_check_fail(c,
                      "%s: %.2g apart, but info() reports a tolerance of %.2g: report a larger one, or "
                      "compute more repeatably",
                      what, distance, c->tolerance);
        return;
    }
    if (a->status != b->status || a->io.outcome != b->io.outcome) {
        ds_check_fail(c, "%s: outcome %s, then %s", what, ds_outcome_name(a->io.outcome),
                      ds_outcome_name(b->io.outcome));
    } else if (memcmp(&a->io.loss, &b->io.loss, sizeof a->io.loss) != 0) {
        ds_check_fail(c, "%s: loss %.17g, then %.17g", what, a->io.loss, b->io.loss);
    } else if (grad && a->io.grad != NULL && b->io.grad != NULL && a->io.outcome == DS_EVAL_OK) {
        for (uint64_t i = 0; i < n; i++) {
            if (memcmp(&a->io.grad[i], &b->io.grad[i], sizeof(double)) != 0) {
                ds_check_fail(c, "%s: entry %llu of the gradient %.17g, then %.17g", what,
                              (unsigned long long)i, a->io.grad[i], b->io.grad[i]);
                break;
            }
        }
    }
}

void ds_check_random_point(ds_check *c, const ds_check_env *env, double *x)
{
    for (uint64_t i = 0; i < env->n; i++) {
        double u = ds_random_uniform(&c->random);
        x[i] = fmin(fmax(env->lower[i] + u * (env->upper[i] - env->lower[i]), env->lower[i]), env->upper[i]);
    }
}

void ds_check_corner(ds_check *c, const ds_check_env *env, int which, double *x)
{
    for (uint64_t i = 0; i < env->n; i++) {
        int up = which > 1 ? (int)(ds_random_u32(&c->random) & 1u) : which;
        x[i] = up ? env->upper[i] : env->lower[i];
    }
}
