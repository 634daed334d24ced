/* SPDX-License-Identifier: Apache-2.0 */
/* local_solver.c - local searches of several workers in step, see local_solver.h. */
#include "methods/squares/local_solver.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct worker {
    lm *lm;
    lbfgsb *lbfgsb;
    descent descent;
    int next;     /* LM_*; for the others LM_RESIDUALS while they go on */
    size_t spent; /* evaluations */
} worker;

struct local_solver {
    const ds_host *host;
    ds_memory memory;
    local_options options;
    size_t n, workers;
    worker *worker;
    least_squares squares;            /* LOCAL_LM */
    ds_evaluator *evaluator;          /* the others: of the optimizer */
    double *v, *value, *gradient, *j; /* workers x n, losses, workers x (n or m), m x n */
    size_t *arm;
    uint32_t *outcome;
};

void local_solver_destroy(local_solver *s)
{
    if (s) {
        for (size_t w = 0; s->worker && w < s->workers; w++) {
            lm_destroy(s->worker[w].lm);
            lbfgsb_destroy(s->worker[w].lbfgsb);
            descent_free(&s->worker[w].descent);
        }
        least_squares_free(&s->squares);
        ds_memory_free(&s->memory);
        free(s);
    }
}

static int make_worker(local_solver *s, worker *w, const double *box)
{
    static const lbfgsb_options quasi_newton = {10, 2.220446e-9, 1e-5, INT_MAX, INT_MAX, 1};
    const descent_options adam = {.step = DESCENT_ADAM, .lr = s->options.lr, .patience = 3, .tol = 1e-9};
    size_t n = s->n;
    switch (s->options.kind) {
    case LOCAL_LM:
        return (w->lm = lm_create(n, s->squares.m, box, box + n, &s->options.lm)) != NULL;
    case LOCAL_LBFGSB:
        return (w->lbfgsb = lbfgsb_create(n, box, box + n, &quasi_newton)) != NULL;
    default:
        return descent_init(&w->descent, n, &adam);
    }
}

/* Evaluates the losses that the solver requests. */
static ds_status open_objective(local_solver *s, ds_opt_kit *kit)
{
    if (s->options.kind != LOCAL_LM) {
        s->evaluator = &kit->evaluator;
        return ds_opt_kit_rows(kit, s->workers) ? DS_OK : DS_E_NOMEM;
    }
    ds_status status = least_squares_open(&s->squares, kit, s->options.residuals, s->workers);
    if (status == DS_OK && s->options.limit > 0 && s->options.limit < least_squares_cost(&s->squares) + 2) {
        return ds_host_fail(kit->host, DS_E_PARAM,
                            "j = %lld leaves a search no evaluation for a step: a Jacobian costs %lld, so "
                            "give at least %lld",
                            (long long)s->options.limit, (long long)least_squares_cost(&s->squares),
                            (long long)least_squares_cost(&s->squares) + 2);
    }
    return status;
}

static ds_status make_workers(local_solver *s)
{
    size_t n = s->n, workers = s->workers, m = s->options.kind == LOCAL_LM ? s->squares.m : 1;
    const double *box = ds_opt_kit_box(&s->memory, n);
    s->worker = ds_memory_take(&s->memory, workers, sizeof *s->worker);
    s->v = ds_memory_doubles(&s->memory, workers * n);
    s->value = ds_memory_doubles(&s->memory, workers);
    s->gradient = ds_memory_doubles(&s->memory, workers * (n > m ? n : m));
    s->j = ds_memory_doubles(&s->memory, m * n);
    s->arm = ds_memory_take(&s->memory, workers, sizeof *s->arm);
    s->outcome = ds_memory_take(&s->memory, workers, sizeof *s->outcome);
    int made = !s->memory.failed;
    for (size_t w = 0; made && w < workers; w++) {
        made = make_worker(s, &s->worker[w], box);
    }
    return made ? DS_OK : DS_E_NOMEM;
}

local_solver *local_solver_create(ds_opt_kit *kit, size_t workers, const local_options *options,
                                  ds_status *status)
{
    local_solver *s = calloc(1, sizeof *s);
    *status = DS_E_NOMEM;
    if (s) {
        s->host = kit->host;
        s->options = *options;
        s->n = kit->n;
        s->workers = workers;
        *status = open_objective(s, kit);
        *status = *status != DS_OK ? *status : make_workers(s);
    }
    if (*status == DS_E_NOMEM) {
        ds_host_fail(kit->host, *status, "out of memory: lower workers");
    }
    if (*status != DS_OK) {
        local_solver_destroy(s);
        return NULL;
    }
    return s;
}

static void begin(local_solver *s, size_t i, const double *start)
{
    worker *w = &s->worker[i];
    w->spent = 0;
    w->next = LM_RESIDUALS;
    switch (s->options.kind) {
    case LOCAL_LM:
        w->next = lm_start(w->lm, start);
        least_squares_begin(&s->squares, i);
        break;
    case LOCAL_LBFGSB:
        lbfgsb_start(w->lbfgsb, start);
        break;
    default:
        descent_begin(&w->descent, start, s->options.limit > 0 ? (int64_t)s->options.limit : INT64_MAX);
        break;
    }
}

static const double *point(const local_solver *s, size_t i)
{
    const worker *w = &s->worker[i];
    return s->options.kind == LOCAL_LM       ? lm_point(w->lm)
           : s->options.kind == LOCAL_LBFGSB ? lbfgsb_point(w->lbfgsb)
                                             : w->descent.s;
}

static int tell_gradient(local_solver *s, worker *w, double loss, const double *gradient, uint32_t outcome)
{
    int goes_on =
        s->options.kind == LOCAL_LBFGSB
            ? outcome != DS_EVAL_BAD_GRAD && lbfgsb_tell(w->lbfgsb, loss, gradient) == LBFGSB_EVALUATE
            : descent_tell(&w->descent, loss, gradient, outcome);
    return goes_on ? LM_RESIDUALS : LM_DONE;
}

/* Values, or residuals, at the points of all workers that wait for them. */
static ds_status values(local_solver *s, uint64_t group, double *loss, double *best)
{
    size_t n = s->n, count = 0, done = 0;
    const ds_evaluator_label label = {"local", group};
    for (size_t i = 0; i < s->workers; i++) {
        if (s->worker[i].next == LM_RESIDUALS) {
            memcpy(s->v + count * n, point(s, i), n * sizeof(double));
            s->arm[count++] = i;
        }
    }
    if (count == 0) {
        return DS_OK;
    }
    int squares = s->options.kind == LOCAL_LM;
    size_t row = squares ? s->squares.m : n;
    ds_status status =
        squares
            ? least_squares_residuals(&s->squares, label, count, s->arm, s->v, s->gradient, s->value)
            : ds_evaluator_run(s->evaluator, label, count, s->v, s->value, s->gradient, s->outcome, &done);
    for (size_t k = 0; status == DS_OK && k < count; k++) {
        size_t i = s->arm[k];
        worker *w = &s->worker[i];
        const double *answer = s->gradient + k * row;
        if (s->value[k] < loss[i]) {
            loss[i] = s->value[k];
            memcpy(best + i * n, s->v + k * n, n * sizeof(double));
        }
        w->spent++;
        w->next = squares ? lm_tell_residuals(w->lm, isfinite(s->value[k]) ? answer : NULL)
                          : tell_gradient(s, w, s->value[k], answer, s->outcome[k]);
        if (w->next == LM_JACOBIAN && s->options.limit > 0 &&
            w->spent + least_squares_cost(&s->squares) >= s->options.limit) {
            w->next = LM_DONE; /* no evaluation would be left for a step */
        }
    }
    return status;
}

/* Jacobians of the workers that wait for one. */
static ds_status jacobians(local_solver *s, uint64_t group)
{
    const ds_evaluator_label label = {"jacobian", group};
    ds_status status = DS_OK;
    for (size_t i = 0; status == DS_OK && i < s->workers; i++) {
        worker *w = &s->worker[i];
        if (w->next == LM_JACOBIAN) {
            status = least_squares_jacobian(&s->squares, label, i, lm_point(w->lm), s->j);
            w->next = status == DS_OK ? lm_tell_jacobian(w->lm, s->j) : w->next;
            w->spent += least_squares_cost(&s->squares);
        }
    }
    return status;
}

ds_status local_solver_run(local_solver *s, uint64_t group, const double *start, double *loss, double *best)
{
    ds_status status = DS_OK;
    size_t open = s->workers;
    for (size_t i = 0; i < s->workers; i++) {
        loss[i] = INFINITY;
        memcpy(best + i * s->n, start + i * s->n, s->n * sizeof(double));
        begin(s, i, start + i * s->n);
    }
    while (status == DS_OK && open > 0) {
        status = values(s, group, loss, best);
        status = status != DS_OK ? status : jacobians(s, group);
        open = 0;
        for (size_t i = 0; i < s->workers; i++) {
            worker *w = &s->worker[i];
            if (s->options.limit > 0 && w->spent >= s->options.limit) {
                w->next = LM_DONE;
            }
            open += w->next != LM_DONE;
        }
        if (status == DS_OK && s->host->should_stop(s->host)) {
            status = DS_STOPPED;
        }
    }
    return status;
}
