/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - a search whose run() is Python: while it runs, Python sends calls and this process calls the
 * objective. */
#include "adapters/python/adapted.h"

#include <diffsim/ext/draft/files.h>
#include <diffsim/helper/fail.h>
#include <stdlib.h>
#include <string.h>

typedef struct python_optimizer {
    child child;
    const ds_host *host;
    const ds_problem *problem;
} python_optimizer;

static void optimizer_destroy(void *self)
{
    python_optimizer *p = self;
    if (p != NULL) {
        child_end(&p->child);
        free(p);
    }
}

ds_status adapted_create_optimizer(adapted *a, const ds_host *host, const ds_problem *problem, void **out)
{
    python_optimizer *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    p->host = host;
    p->problem = problem;
    ds_status st = adapted_begin(a, host, &p->child);
    if (st != DS_OK) {
        free(p);
        return st;
    }
    *out = p;
    return DS_OK;
}

/* Python begins with the problem. */
static ds_status put_problem(python_optimizer *p)
{
    const ds_problem *q = p->problem;
    talk_head *h = p->child.talk.head;
    const size_t bytes = q->n * sizeof(double);
    if (talk_grow(&p->child.talk, 3 * bytes) != 0) {
        return ds_host_fail(p->host, DS_E_NOMEM, "no memory for the problem");
    }
    memcpy(p->child.talk.room, q->lower, bytes);
    memcpy(p->child.talk.room + bytes, q->upper, bytes);
    memcpy(p->child.talk.room + 2 * bytes, q->x0, bytes);
    h->n = q->n;
    h->has_gradient = q->has_gradient;
    h->stochastic = q->stochastic;
    h->budget = q->budget;
    h->target = q->target;
    h->loss_floor = q->loss_floor;
    h->seed = p->host->seed;
    return DS_OK;
}

/* Points at 0, then losses, gradients where requested, outcomes; with `grad_kind` noise numbers after those.
 */
static ds_status evaluate(python_optimizer *p, const ds_objective *objective)
{
    talk_head *h = p->child.talk.head;
    const uint64_t n = p->problem->n, count = h->count, row = n * sizeof(double);
    const uint64_t rows = (h->want & DS_WANT_GRAD) != 0 ? 2 * row : row;
    if (count == 0 || count > p->child.talk.mapped / (rows + 24)) {
        return DS_E_ARG;
    }
    char *at = p->child.talk.room, tag[DS_MAX_TAG + 1] = "";
    memcpy(tag, h->text, DS_MAX_TAG);
    uint64_t *noise = (uint64_t *)(void *)(at + count * (rows + 8)), done = 0;
    const int graded = (h->want & DS_WANT_GRAD) != 0;
    const ds_rows table = {.struct_size = sizeof table,
                           .want = h->want,
                           .count = count,
                           .n = n,
                           .stride = n,
                           .x = (const double *)(void *)at};
    const ds_label label = {
        .struct_size = sizeof label, .tag = tag, .group = h->group, .noise = h->key != 0 ? noise : NULL};
    const ds_results results = {.struct_size = sizeof results,
                                .stride = n,
                                .loss = (double *)(void *)(at + count * row),
                                .grad = graded ? (double *)(void *)(at + count * (row + 8)) : NULL,
                                .outcome = (uint32_t *)(void *)(noise + count)};
    const ds_status st = objective->evaluate(objective, &table, &label, &results, &done);
    h->bytes = done;
    return st;
}

static ds_status save(const python_optimizer *p, const ds_objective *objective)
{
    const talk_head *h = p->child.talk.head;
    const ds_objective_files *files =
        objective->get_extension != NULL ? objective->get_extension(objective, DS_EXT_FILES) : NULL;
    return files == NULL                     ? DS_E_UNSUPPORTED
           : h->bytes > p->child.talk.mapped ? DS_E_ARG
                                             : files->save(objective, h->text, p->child.talk.room, h->bytes);
}

static ds_status answer(python_optimizer *p, const ds_objective *objective)
{
    talk_head *h = p->child.talk.head;
    switch (h->what) {
    case TALK_BATCH:
        return evaluate(p, objective);
    case TALK_SAVE:
        return save(p, objective);
    case TALK_ROOM:
        return talk_grow(&p->child.talk, h->bytes) == 0 ? DS_OK : DS_E_NOMEM;
    default:
        return DS_E_ARG;
    }
}

/* The next message of Python. A request to stop is passed on: run() in Python ends by itself. */
static ds_status listen(python_optimizer *p)
{
    ds_status st;
    while ((st = child_listen(&p->child, p->host)) == DS_STOPPED &&
           atomic_load(&p->child.talk.head->turn) != TALK_HOST) {
    }
    return st;
}

static ds_status optimizer_run(void *self, const ds_objective *objective)
{
    python_optimizer *p = self;
    talk_head *h = p->child.talk.head;
    ds_status st = put_problem(p);
    if (st != DS_OK) {
        return st;
    }
    h->what = TALK_RUN;
    h->status = DS_OK;
    atomic_store(&h->stop, 0);
    talk_pass(&p->child.talk);
    st = listen(p);
    while (h->what != TALK_RUN) {
        h->status = answer(p, objective);
        talk_pass(&p->child.talk);
        st = listen(p);
    }
    return st >= 0 ? st : ds_host_fail(p->host, st, "%.500s", h->text);
}

const ds_optimizer_vtable adapted_optimizer = {
    .struct_size = sizeof adapted_optimizer, .destroy = optimizer_destroy, .run = optimizer_run};
