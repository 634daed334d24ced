/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_cost.c - the search runs in a process of its own, which may crash, and is killed at the limit. */
#include "config.h"

#include "bench/optimizer_cost.h"

#include <diffsim/ext/steps.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "embed/embed.h"
#include "plugin/descriptor.h"

enum { PATIENCE = 10 /* times the limit, for one question between two looks at the clock */ };

/* Seconds of its own up to evaluation `used`. */
typedef struct moment {
    double used, s;
} moment;

typedef struct watch {
    ds_search *search;
    uint64_t n;
    double *loss, *grad; /* of the batch in hand */
    moment *moment;      /* one per batch */
    size_t count, room;
} watch;

/* A bowl with ripples: no optimizer is done with it at once. */
static double stand_in(uint64_t n, const double *x, double *gradient)
{
    double sum = 0.0;
    for (uint64_t i = 0; i < n; i++) {
        double d = x[i] - 0.3;
        sum += d * d + 0.1 * (1.0 - cos(12.0 * d));
        gradient[i] = 2.0 * d + 1.2 * sin(12.0 * d);
    }
    return sum;
}

/* 0 = no memory. */
static int answer(watch *w, uint64_t count, const double *x)
{
    double *loss = realloc(w->loss, count * sizeof *loss),
           *grad = realloc(w->grad, count * w->n * sizeof *grad);
    w->loss = loss != NULL ? loss : w->loss;
    w->grad = grad != NULL ? grad : w->grad;
    if (loss == NULL || grad == NULL) {
        return 0;
    }
    for (uint64_t k = 0; k < count; k++) {
        loss[k] = stand_in(w->n, x + k * w->n, grad + k * w->n);
    }
    return ds_search_tell(w->search, loss, grad) == DS_OK;
}

static int remember(watch *w, double s)
{
    if (w->count == w->room) {
        size_t room = 2 * w->room + 256;
        moment *m = realloc(w->moment, room * sizeof *m);
        if (m == NULL) {
            return 0;
        }
        w->moment = m;
        w->room = room;
    }
    w->moment[w->count++] = (moment){(double)ds_search_used(w->search), s};
    return 1;
}

/* The time of the whole search: measured where it ends within the limit, else extended. */
static double follow_search(watch *w, uint64_t budget, double limit)
{
    const double *x;
    uint64_t count;
    uint32_t want;
    double s = 0.0;
    while (s < limit) {
        uint64_t begin = ds_clock_ns();
        ds_status status = ds_search_ask(w->search, &count, &x, &want);
        s += 1e-9 * (double)(ds_clock_ns() - begin);
        if (status != DS_OK) {
            return s;
        }
        if (!remember(w, s) || !answer(w, count, x)) {
            return (double)INFINITY;
        }
    }
    const moment *last = &w->moment[w->count - 1], *half = last;
    while (half > w->moment && half->used > 0.5 * last->used) {
        half--;
    }
    double grown = last->used > 0 ? log(last->s / half->s) / log(last->used / half->used) : 1.0;
    double power = isfinite(grown) ? fmin(fmax(grown, 1.0), 3.0) : 1.0;
    return last->used > 0 ? last->s * pow((double)budget / last->used, power) : (double)INFINITY;
}

static double search_for(const ds_module *optimizer, const ds_settings *settings, uint64_t n, uint64_t budget,
                         int has_gradient, double limit)
{
    double own = (double)INFINITY, *bound = calloc(2 * n, sizeof *bound);
    ds_error ignored = {0, ""};
    watch w = {.n = n};
    for (uint64_t i = 0; bound != NULL && i < n; i++) {
        bound[i] = -1.0;
        bound[n + i] = 1.0;
    }
    if (bound != NULL) {
        const ds_search_options o = {.struct_size = sizeof o,
                                     .has_gradient = (uint32_t)has_gradient,
                                     .n = n,
                                     .lower = bound,
                                     .upper = bound + n,
                                     .budget = budget};
        w.search = ds_search_start(optimizer, settings, &o, &ignored);
    }
    if (w.search != NULL) {
        own = follow_search(&w, budget, limit);
        ds_search_close(w.search);
    }
    free(w.loss);
    free(w.grad);
    free(w.moment);
    free(bound);
    return own;
}

double ds_optimizer_cost(const ds_module *optimizer, const ds_settings *settings, uint64_t n, uint64_t budget,
                         int has_gradient, double limit)
{
    double own = (double)INFINITY;
    int ends[2];
    if (ds_desc_needs(optimizer->plugin->desc, DS_EXT_STEPS) || pipe(ends) != 0) {
        return own;
    }
    pid_t child = fork();
    if (child == 0) {
        own = search_for(optimizer, settings, n, budget, has_gradient, limit);
        _exit(write(ends[1], &own, sizeof own) == sizeof own ? 0 : 1);
    }
    close(ends[1]);
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    if (child < 0 || poll(&p, 1, (int)(1000 * PATIENCE * limit)) != 1 ||
        read(ends[0], &own, sizeof own) != sizeof own) {
        own = (double)INFINITY;
    }
    close(ends[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return own;
}
