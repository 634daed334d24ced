/* SPDX-License-Identifier: Apache-2.0 */
/* badopt.c - an optimizer that misbehaves on request after some evaluations, for tests of the host. Otherwise
 * it walks through the box on a fixed grid of points, in tables. */
#include <diffsim/plugin.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const faults[] = {"none",    "outside", "nan",   "gradient", "empty", "segv",
                                     "abort",   "exit",    "error", "stubborn", "early", "create",
                                     "clock",   "nudge",   "stack", "loop",     "alloc", "polls",
                                     "destroy", "zero",    "huge",  NULL};
enum {
    B_NONE,
    B_OUTSIDE,
    B_NAN,
    B_GRADIENT,
    B_EMPTY,
    B_SEGV,
    B_ABORT,
    B_EXIT,
    B_ERROR,
    B_STUBBORN,
    B_EARLY,
    B_CREATE,
    B_CLOCK,
    B_NUDGE,
    B_STACK,
    B_LOOP,
    B_ALLOC,
    B_POLLS,
    B_DESTROY,
    B_ZERO,
    B_HUGE
};

static const ds_param *const params[] = {
    DS_ENUM("fault", "none", faults, "What goes wrong."),
    DS_INT("after", "20", 0, 1000000, "", "Evaluations before it goes wrong."),
    DS_INT("rows", "4", 1, 1000, "", "Rows of a request."),
    DS_BOOL("gradient", "false", "Ask for gradients."),
    DS_INT("work_ms", "0", 0, 1000, "ms", "Work of its own before each request."),
    NULL};

typedef struct search {
    const ds_host *host;
    const ds_problem *problem;
    int64_t fault, after, rows, gradient, work_ms;
    double *x, *loss, *grad;
} search;

static volatile double *volatile nowhere = (volatile double *)64; /* no page is mapped there */
static volatile int forever = 1;

static void destroy(void *self)
{
    search *s = self;
    if (s != NULL) {
        if (s->fault == B_DESTROY) {
            abort();
        }
        free(s->x);
        free(s->loss);
        free(s->grad);
        free(s);
    }
}

static ds_status create(const ds_host *host, const ds_problem *problem, void **out)
{
    search *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return DS_E_NOMEM;
    }
    s->host = host;
    s->problem = problem;
    host->get_int(host, "fault", &s->fault);
    host->get_int(host, "after", &s->after);
    host->get_int(host, "rows", &s->rows);
    host->get_int(host, "gradient", &s->gradient);
    host->get_int(host, "work_ms", &s->work_ms);
    if (s->fault == B_CREATE) {
        destroy(s);
        host->error(host, DS_E_PARAM, "fault = create: refused as asked");
        return DS_E_PARAM;
    }
    s->x = calloc((size_t)s->rows * problem->n, sizeof(double));
    s->loss = calloc((size_t)s->rows, sizeof(double));
    s->grad = calloc((size_t)s->rows * problem->n, sizeof(double));
    *out = s;
    return DS_OK;
}

static int descend(volatile char *up, int depth)
{
    volatile char page[4096];
    page[0] = (char)(depth + (up != NULL ? up[0] : 0));
    return forever ? descend(page, depth + 1) + page[0] : 0;
}

/* Spoils the next request, or worse. */
static ds_status spoil(search *s, ds_rows *rows, ds_results *results)
{
    struct timespec t;
    switch (s->fault) {
    case B_OUTSIDE:
        s->x[s->problem->n] = s->problem->upper[0] * 2.0 + 1.0;
        break;
    case B_NAN:
        s->x[0] = NAN;
        break;
    case B_GRADIENT:
        rows->want = DS_WANT_GRAD;
        results->grad = NULL;
        break;
    case B_EMPTY:
        rows->count = 0;
        break;
    case B_ZERO:
        rows->struct_size = 0;
        break;
    case B_HUGE:
        rows->struct_size = 0xdeadbeef;
        break;
    case B_SEGV:
        *nowhere = 1.0;
        break;
    case B_STACK:
        descend(NULL, 0);
        break;
    case B_LOOP:
        while (forever) {
            sleep(1);
        }
        break;
    case B_ALLOC:
        for (;;) {
            memset(malloc(1 << 24), 1, 1 << 24);
        }
    case B_POLLS: /* continues until a stop is requested */
        while (s->host->should_stop(s->host) == 0) {
        }
        return DS_STOPPED;
    case B_ABORT:
        abort();
    case B_EXIT:
        exit(0);
    case B_ERROR:
        s->host->error(s->host, DS_E_NUMERIC, "the matrix is not positive definite");
        return DS_E_NUMERIC;
    case B_CLOCK: /* not deterministic */
        clock_gettime(CLOCK_MONOTONIC, &t);
        s->x[0] =
            s->problem->lower[0] + (s->problem->upper[0] - s->problem->lower[0]) * 1e-9 * (double)t.tv_nsec;
        break;
    case B_NUDGE: /* as another processor might round */
        clock_gettime(CLOCK_MONOTONIC, &t);
        s->x[0] += 1e-12 * (double)(t.tv_nsec % 1000 + 1) * 1e-3;
        break;
    default:
        break;
    }
    return DS_OK;
}

static ds_status run(void *self, const ds_objective *objective)
{
    search *s = self;
    const ds_problem *p = s->problem;
    const struct timespec work = {0, (long)s->work_ms * 999999};
    uint64_t k = 0;
    for (;;) {
        if (s->work_ms > 0) {
            nanosleep(&work, NULL);
        }
        uint64_t done = 0;
        ds_rows rows = {.struct_size = sizeof(rows),
                        .want = s->gradient ? DS_WANT_GRAD : 0,
                        .count = (uint64_t)s->rows,
                        .n = p->n,
                        .stride = p->n,
                        .x = s->x};
        ds_results results = {.struct_size = sizeof(results),
                              .stride = p->n,
                              .loss = s->loss,
                              .grad = s->gradient ? s->grad : NULL};
        const ds_label label = {.struct_size = sizeof(label), .tag = "grid", .group = k / 10};
        for (uint64_t i = 0; i < (uint64_t)s->rows * p->n; i++) {
            double u = (double)((k * p->n + i) * 7919 % 1000) / 1001.0;
            s->x[i] = p->lower[i % p->n] + u * (p->upper[i % p->n] - p->lower[i % p->n]);
        }
        if ((int64_t)k >= s->after) {
            if (s->fault == B_EARLY) {
                return DS_OK;
            }
            ds_status st = spoil(s, &rows, &results);
            if (st != DS_OK) {
                return st;
            }
        }
        ds_status st = objective->evaluate(objective, &rows, &label, &results, &done);
        if (st != DS_OK && s->fault != B_STUBBORN) {
            return st;
        }
        k += done;
    }
}

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .id = "badopt",
    .version = "1",
    .license = "Apache-2.0",
    .summary = "An optimizer that misbehaves on request.",
    .description = "",
    .citation = "",
    .params = params,
};

static const ds_optimizer_vtable vtable = {
    .struct_size = sizeof(ds_optimizer_vtable),
    .create = create,
    .destroy = destroy,
    .run = run,
};

DS_DEFINE_OPTIMIZER(desc, vtable)
