/* SPDX-License-Identifier: Apache-2.0 */
/* faulty.c - an environment that misbehaves on request, for tests of the host. Otherwise it is a sphere
 * function with gradient: loss = sum x_i^2, x in [-1, 1]^n. */
#include <diffsim/ext/channel.h>
#include <diffsim/helper/eval.h>
#include <diffsim/plugin.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const faults[] = {
    "none",     "segv",  "abort",  "exit",  "loop",    "sleep",      "alloc",   "nan",   "nangrad", "nograd",
    "overflow", "under", "writex", "error", "diverge", "infeasible", "stopped", "print", "stack",   NULL};
enum {
    F_NONE,
    F_SEGV,
    F_ABORT,
    F_EXIT,
    F_LOOP,
    F_SLEEP,
    F_ALLOC,
    F_NAN,
    F_NANGRAD,
    F_NOGRAD,
    F_OVERFLOW,
    F_UNDER,
    F_WRITEX,
    F_ERROR,
    F_DIVERGE,
    F_INFEASIBLE,
    F_STOPPED,
    F_PRINT,
    F_STACK
};
static const char *const stages[] = {"evaluate", "create", "never", NULL};

static const ds_param *const params[] = {
    DS_ENUM("fault", "none", faults, "What goes wrong."),
    DS_ENUM("stage", "evaluate", stages, "Where it goes wrong."),
    DS_REAL("share", "1", 0, 1, "", "Share of the points (chosen by a hash of x) where it does."),
    DS_REAL("above", "-inf", -INFINITY, INFINITY, "", "It happens only where x[0] is above this."),
    DS_INT("n", "2", 1, 100000, "", "Decision variables."),
    DS_REAL("work", "0", 0, 10, "s", "Time of one evaluation, which sleeps."),
    DS_BOOL("busy", "false", "Instead of sleeping it computes."),
    DS_REAL("noise", "0", 0, 1, "", "Amplitude of noise by the noise key."),
    DS_BOOL("batch", "false", "Take many rows in one call."),
    DS_BOOL("residuals", "false", "Offer the residuals x_i and 0 as a channel."),
    NULL};

typedef struct env {
    const ds_host *host;
    int64_t fault, n, busy, batch, residuals;
    double share, above, work, noise;
} env;

static volatile double *volatile nowhere = (volatile double *)64; /* no page is mapped there */
static volatile int forever = 1;
static void *volatile kept;

/* A number in [0, 1) that is the same for the same x. */
static double hash_of(const double *x, uint64_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof(bits));
        h = (h ^ bits) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return (double)(h >> 11) * 0x1p-53;
}

static int descend(volatile char *up, int depth)
{
    volatile char page[4096];
    page[0] = (char)(depth + (up != NULL ? up[0] : 0));
    return forever ? descend(page, depth + 1) + page[0] : 0;
}

/* The faults that may happen anywhere. */
static void misbehave(int64_t fault)
{
    switch (fault) {
    case F_SEGV:
        *nowhere = 1.0;
        break;
    case F_ABORT:
        abort();
    case F_EXIT:
        exit(3);
    case F_LOOP:
        while (forever) {
        }
        break;
    case F_SLEEP:
        while (forever) {
            sleep(1);
        }
        break;
    case F_ALLOC:
        for (size_t size = (size_t)16 << 20;; size = (size_t)16 << 20) {
            char *p = malloc(size);
            if (p == NULL) {
                abort();
            }
            memset(p, 1, size);
            kept = p; /* keeps a compiler from removing the allocation */
        }
    case F_STACK:
        descend(NULL, 0);
        break;
    case F_PRINT:
        for (int i = 0; i < 100; i++) {
            printf("line %d on stdout\n", i);
        }
        fflush(stdout);
        break;
    default:
        break;
    }
}

static ds_status create(const ds_host *host, void **out)
{
    env *e = calloc(1, sizeof(*e));
    int64_t stage = 0;
    if (e == NULL) {
        host->error(host, DS_E_NOMEM, "out of memory");
        return DS_E_NOMEM;
    }
    e->host = host;
    host->get_int(host, "fault", &e->fault);
    host->get_int(host, "stage", &stage);
    host->get_int(host, "n", &e->n);
    host->get_real(host, "share", &e->share);
    host->get_real(host, "above", &e->above);
    host->get_real(host, "work", &e->work);
    host->get_int(host, "busy", &e->busy);
    host->get_real(host, "noise", &e->noise);
    host->get_int(host, "batch", &e->batch);
    host->get_int(host, "residuals", &e->residuals);
    if (stage == 1) {
        if (e->fault == F_ERROR) {
            free(e);
            host->error(host, DS_E_PARAM, "fault = error: refused as asked");
            return DS_E_PARAM;
        }
        misbehave(e->fault);
    }
    if (stage != 0) {
        e->fault = F_NONE;
    }
    *out = e;
    return DS_OK;
}

static void destroy(void *self)
{
    free(self);
}

static ds_status info(void *self, ds_env_info *out)
{
    env *e = self;
    out->n = (uint64_t)e->n;
    out->steps = 1;
    out->dt = 0.0;
    out->loss_floor = 0.0;
    out->max_rows = e->batch ? 64 : 1;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -1.0;
        upper[i] = 1.0;
        if (x0 != NULL) {
            x0[i] = 0.5;
        }
    }
    return DS_OK;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The residuals; J is the identity over a row of zeros. */
static void answer_asks(ds_eval *io, int64_t fault)
{
    for (uint64_t k = 0; k < io->queries; k++) {
        ds_eval_query *q = io->query[k];
        double *out = q->out;
        memcpy(out, q->op == DS_QUERY_VALUE ? io->x : q->v, io->n * sizeof(double));
        if (q->op != DS_QUERY_JTV) {
            out[io->n] = 0;
        }
        if (fault == F_NANGRAD && q->op != DS_QUERY_VALUE) {
            out[0] = NAN;
        }
        q->kind = q->op == DS_QUERY_VALUE ? DS_GRAD_NONE : DS_GRAD_FORWARD;
    }
}

/* Returns 0 if stopped early. */
static int pass_time(const env *e)
{
    const double until = now() + e->work;
    for (double left = e->work; left > 0; left = until - now()) {
        if (e->host->should_stop(e->host)) {
            return 0;
        }
        if (!e->busy) {
            const struct timespec nap = {0, (long)(1e9 * fmin(left, 0.002))};
            nanosleep(&nap, NULL);
        }
    }
    return 1;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    env *e = self;
    int64_t fault = F_NONE;
    if (io->x[0] > e->above && hash_of(io->x, io->n) < e->share) {
        fault = e->fault;
    }
    if (e->work > 0.0 && !pass_time(e)) {
        return DS_STOPPED;
    }
    misbehave(fault);
    io->loss = 0.0;
    io->cost_steps = 1;
    for (uint64_t i = 0; i < io->n; i++) {
        io->loss += io->x[i] * io->x[i];
    }
    io->loss += e->noise * (double)(io->noise_key >> 12) * 0x1p-52;
    if ((io->want & DS_WANT_GRAD) != 0) {
        for (uint64_t i = 0; i < io->n && fault != F_NOGRAD; i++) {
            io->grad[i] = 2.0 * io->x[i];
        }
        io->grad_kind = DS_GRAD_ADJOINT;
    }
    answer_asks(io, fault);
    switch (fault) {
    case F_NAN:
        io->loss = NAN;
        break;
    case F_NANGRAD:
        if ((io->want & DS_WANT_GRAD) != 0) {
            io->grad[io->n - 1] = NAN;
        }
        break;
    case F_OVERFLOW:
        if ((io->want & DS_WANT_GRAD) != 0) {
            ((volatile double *)io->grad)[io->n] = 1.0;
        }
        break;
    case F_UNDER:
        if ((io->want & DS_WANT_GRAD) != 0) {
            ((volatile double *)io->grad)[-1] = 1.0;
        }
        break;
    case F_WRITEX:
        ((volatile double *)(uintptr_t)io->x)[0] = 0.25;
        break;
    case F_ERROR:
        e->host->error(e->host, DS_E_NUMERIC, "the solver did not converge");
        return DS_E_NUMERIC;
    case F_DIVERGE:
        io->loss = INFINITY;
        io->outcome = DS_EVAL_DIVERGED;
        io->bad_step = 1;
        break;
    case F_INFEASIBLE:
        io->loss = INFINITY;
        io->outcome = DS_EVAL_INFEASIBLE;
        break;
    case F_STOPPED:
        return DS_STOPPED;
    default:
        break;
    }
    return DS_OK;
}

static ds_status evaluate_rows(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_eval_each(self, rows, results, evaluate);
}

/* ---- channels: the same faults ---- */

static ds_status count_channels(void *self, uint64_t *count)
{
    (void)self;
    *count = 1;
    return DS_OK;
}

static ds_status describe_channel(void *self, uint64_t i, ds_channel *out)
{
    (void)i;
    out->role = DS_CHANNEL_RESIDUAL;
    out->type = DS_TYPE_F64;
    out->ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    out->ndim = 1;
    out->shape[0] = (uint64_t)((const env *)self)->n + 1;
    out->name = "residual";
    out->unit = "";
    out->doc = "The variables, and a zero.";
    return DS_OK;
}

static const void *get_extension(void *self, const char *id)
{
    static const ds_env_channels channels = {
        .struct_size = sizeof(channels), .count = count_channels, .describe = describe_channel};
    const env *e = self;
    return strcmp(id, DS_EXT_CHANNELS) == 0 && e->residuals ? &channels : NULL;
}

static const char *const extensions[] = {DS_EXT_CHANNELS, NULL};

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_ENV,
    .flags = DS_ENV_GRADIENT | DS_ENV_STOCHASTIC,
    .id = "faulty",
    .version = "1",
    .license = "Apache-2.0",
    .summary = "An environment that misbehaves on request.",
    .description = "",
    .citation = "",
    .params = params,
    .extensions = extensions,
};

static const ds_env_vtable vtable = {
    .struct_size = sizeof(ds_env_vtable),
    .create = create,
    .destroy = destroy,
    .info = info,
    .bounds = bounds,
    .evaluate = evaluate_rows,
    .get_extension = get_extension,
};

DS_DEFINE_ENV(desc, vtable)
