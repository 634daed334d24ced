/* SPDX-License-Identifier: Apache-2.0 */
/* rogue.c - an optimizer that does things to its process and to its host, for tests of the host: at its
 * start and end (rogue.h), in create() and destroy(), and between its evaluations. Else it walks through
 * the box. */
#define _GNU_SOURCE
#include <diffsim/plugin.h>

#include <math.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>

#include "rogue.h"

static const ds_param *const params[] = {
    DS_TEXT("create", "", "What create() does."),
    DS_TEXT("run", "", "What run() does behind the first evaluations."),
    DS_TEXT("destroy", "", "What destroy() does."),
    DS_INT("after", "20", 0, 1000000, "", "Evaluations before it does it."),
    DS_INT("status", "0", -1000000000, 1000000000, "", "What run() returns."),
    NULL};

typedef struct search {
    const ds_host *host;
    const ds_problem *problem;
    const char *run, *destroy;
    int64_t after, status;
    const ds_objective *objective; /* of the threads */
} search;

/* One evaluation. */
static ds_status one(const search *s, uint64_t number, uint64_t count)
{
    double x[64], loss[64];
    uint64_t n = s->problem->n <= 64 ? s->problem->n : 64;
    for (uint64_t i = 0; i < n; i++) {
        double lo = s->problem->lower[i], hi = s->problem->upper[i];
        x[i] = lo + (hi - lo) * ((double)(number * (i + 1) % 101) / 100.0);
    }
    uint64_t done;
    const ds_rows rows = {.struct_size = sizeof rows, .count = count, .n = n, .stride = n, .x = x};
    const ds_results results = {.struct_size = sizeof results, .loss = loss};
    return s->objective->evaluate(s->objective, &rows, NULL, &results, &done);
}

static void *ask_once(void *ctx)
{
    one(ctx, 7, 1);
    return NULL;
}

static void *ask_for_ever(void *ctx)
{
    while (rogue_forever) {
        one(ctx, 7, 1);
        usleep(100);
    }
    return NULL;
}

/* Threads that are left behind: what they ask with outlives the instance, and they have asked before anybody
 * goes on. */
static search left;
static atomic_int destroying, asked;

static void *ask_behind(void *late)
{
    while (late != NULL && !atomic_load(&destroying)) {
        usleep(1000);
    }
    while (rogue_forever) {
        one(&left, 7, 1);
        atomic_store(&asked, 1);
        usleep(100);
    }
    return NULL;
}

static void await_question(void)
{
    while (!atomic_load(&asked)) {
        usleep(1000);
    }
}

static void in_threads(void *ctx, void *(*function)(void *), int join)
{
    pthread_t thread[3];
    for (int k = 0; k < 3; k++) {
        pthread_create(&thread[k], NULL, function, ctx);
    }
    for (int k = 0; join && k < 3; k++) {
        pthread_join(thread[k], NULL);
    }
}

static sigjmp_buf back;

static void jump(int sig)
{
    (void)sig;
    siglongjmp(back, 1);
}

static const search *asker;

static void ask_in_handler(int sig)
{
    (void)sig;
    one(asker, 3, 1);
}

static ds_status run(void *self, const ds_objective *objective);

/* What concerns the host; the rest is in rogue.h. A status other than DS_OK is what run() returns. */
static ds_status misbehave(search *s, void *self)
{
    const char *what = s->run;
    ds_problem *p = (ds_problem *)(uintptr_t)s->problem;
    if (strcmp(what, "threads") == 0) {
        in_threads(s, ask_once, 1);
    } else if (strcmp(what, "threads_stubborn") == 0) {
        in_threads(s, ask_for_ever, 1);
    } else if (strcmp(what, "leave") == 0 || strcmp(what, "leave_late") == 0) {
        const int late = strcmp(what, "leave_late") == 0;
        left = *s;
        in_threads(late ? &left : NULL, ask_behind, 0);
        if (!late) {
            await_question();
        }
        return DS_STOPPED;
    } else if (strcmp(what, "recurse") == 0) {
        s->run = "";
        return run(self, s->objective);
    } else if (strcmp(what, "longjmp") == 0) {
        signal(SIGALRM, jump);
        for (int k = 0; k < 3; k++) {
            if (sigsetjmp(back, 1) == 0) {
                ualarm(3000, 0);
                for (uint64_t i = 0; i < 100000; i++) {
                    ds_status st = one(s, i, 1);
                    if (st != DS_OK) {
                        return st;
                    }
                }
            }
        }
    } else if (strcmp(what, "handler") == 0) {
        asker = s;
        signal(SIGALRM, ask_in_handler);
        ualarm(2000, 2000);
    } else if (strcmp(what, "astronomic") == 0) {
        return one(s, 1, (uint64_t)1 << 60);
    } else if (strcmp(what, "many") == 0) {
        return one(s, 1, (uint64_t)1 << 32);
    } else if (strcmp(what, "free") == 0) {
        free((void *)(uintptr_t)p->lower);
        free(p);
    } else if (strcmp(what, "overwrite") == 0) {
        double *lower = (double *)(uintptr_t)p->lower, *upper = (double *)(uintptr_t)p->upper;
        for (uint64_t i = 0; i < p->n; i++) {
            lower[i] -= 1.0;
            upper[i] += 1.0;
        }
        p->budget = 0;
    } else if (strcmp(what, "parent") == 0) {
        kill(getppid(), SIGTERM);
    } else {
        rogue_do(what);
    }
    return DS_OK;
}

static ds_status create(const ds_host *host, const ds_problem *problem, void **out)
{
    const char *what = "";
    search *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return DS_E_NOMEM;
    }
    s->host = host;
    s->problem = problem;
    host->get_text(host, "create", &what);
    host->get_text(host, "run", &s->run);
    host->get_text(host, "destroy", &s->destroy);
    host->get_int(host, "after", &s->after);
    host->get_int(host, "status", &s->status);
    rogue_do(what);
    *out = s;
    return DS_OK;
}

static void destroy(void *self)
{
    search *s = self;
    if (s != NULL) {
        atomic_store(&destroying, 1);
        if (strcmp(s->run, "leave_late") == 0) {
            await_question();
        }
        rogue_do(s->destroy);
        free(s);
    }
}

static ds_status run(void *self, const ds_objective *objective)
{
    search *s = self;
    s->objective = objective;
    for (uint64_t k = 0;; k++) {
        ds_status st = k == (uint64_t)s->after ? misbehave(s, self) : DS_OK;
        st = st != DS_OK ? st : one(s, k, 1);
        if (st != DS_OK) {
            return s->status != 0 ? (ds_status)s->status : st;
        }
    }
}

static const ds_desc desc = {
    .struct_size = sizeof(ds_desc),
    .kind = DS_KIND_OPTIMIZER,
    .id = "rogue",
    .version = "1",
    .license = "Apache-2.0",
    .summary = "An optimizer that does things to its process.",
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

ROGUE_PLUGIN(.optimizer = &vtable)
