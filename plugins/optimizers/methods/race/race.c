/* SPDX-License-Identifier: Apache-2.0 */
/* race.c - asynchronous successive halving over pausable local searches, see race.h. */
#include "methods/race/race.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUNGS 24  /* the last begins after first * 2^23 evaluations: never */
#define PAUSED 64 /* paused runners; beyond this the least promising one is dropped */

typedef struct runner {
    basin *search;
    int rung;       /* its current rung, or the one it has just finished */
    int is_waiting; /* at the end of its rung */
    int is_running; /* it has a lane */
    double promise; /* at the end of its rung */
} runner;

/* What all runners promised at the end of a rung, in ascending order. */
typedef struct rung {
    double *promise;
    size_t count, capacity;
    size_t left; /* runners that continued from here by their prediction */
} rung;

struct race {
    size_t n;
    const double *box;
    race_options options;
    runner *all; /* lanes + PAUSED; search == NULL: a free place, not yet used */
    size_t places;
    runner **lane;     /* NULL = idle */
    uint64_t entered;  /* runners so far */
    double least_loss; /* that is known: of a runner, or by race_know() */
    rung rungs[RUNGS];
};

race *race_create(size_t n, const double *box, const race_options *options)
{
    race *r = calloc(1, sizeof *r);
    if (!r) {
        return NULL;
    }
    r->n = n;
    r->box = box;
    r->options = *options;
    r->least_loss = INFINITY;
    r->places = options->lanes + PAUSED;
    r->all = calloc(r->places, sizeof *r->all);
    r->lane = calloc(options->lanes, sizeof(runner *));
    if (!r->all || !r->lane) {
        race_destroy(r);
        return NULL;
    }
    return r;
}

void race_destroy(race *r)
{
    if (r) {
        for (size_t i = 0; r->all && i < r->places; i++) {
            basin_destroy(r->all[i].search);
        }
        for (int k = 0; k < RUNGS; k++) {
            free(r->rungs[k].promise);
        }
        free(r->all);
        free(r->lane);
        free(r);
    }
}

/* Records the predicted loss of a runner at the end of rung k; 0 without memory. */
static int note(rung *k, double promise)
{
    if (k->count == k->capacity) {
        size_t more = 2 * k->capacity + 16;
        double *room = realloc(k->promise, more * sizeof(double));
        if (!room) {
            return 0;
        }
        k->promise = room;
        k->capacity = more;
    }
    size_t at = k->count++;
    for (; at > 0 && k->promise[at - 1] > promise; at--) {
        k->promise[at] = k->promise[at - 1];
    }
    k->promise[at] = promise;
    return 1;
}

/* Whether fewer than count/keep of the runners that finished the rung predict a smaller loss (predictions are
 * sorted); of equal ones at this limit only as many as fit. */
static int is_ahead(const race *r, const runner *w)
{
    const rung *k = &r->rungs[w->rung];
    const size_t some = (size_t)((double)k->count / r->options.keep);
    if (some == 0 || k->promise[some - 1] < w->promise) {
        return 0;
    }
    const int is_tied =
        k->promise[some - 1] == w->promise && some < k->count && k->promise[some] == w->promise;
    return !is_tied || k->left < some;
}

/* It is ahead, or predicts less than the least loss found. */
static int may_go_on(const race *r, const runner *w)
{
    int beats_all = r->options.promise && w->promise < r->least_loss;
    return w->is_waiting && (!r->options.racing || beats_all || is_ahead(r, w));
}

/* Of the paused runners that may continue, the one in the highest rung, and there the most promising. */
static runner *choose(race *r)
{
    runner *best = NULL;
    for (size_t i = 0; i < r->places; i++) {
        runner *w = &r->all[i];
        if (w->search && may_go_on(r, w) &&
            (!best || w->rung > best->rung || (w->rung == best->rung && w->promise < best->promise))) {
            best = w;
        }
    }
    return best;
}

size_t race_idle(race *r)
{
    for (size_t lane = 0; lane < r->options.lanes; lane++) {
        if (r->lane[lane]) {
            continue;
        }
        runner *w = choose(r);
        if (!w) {
            return lane;
        }
        w->is_waiting = 0;
        r->rungs[w->rung].left++;
        w->rung += w->rung + 1 < RUNGS;
        w->is_running = 1;
        r->lane[lane] = w;
    }
    return r->options.lanes;
}

/* A place for a new runner: an unused one, one whose search is over, else the place of the least promising
 * paused one. */
static runner *make_room(race *r)
{
    runner *place = NULL;
    for (size_t i = 0; i < r->places; i++) {
        runner *w = &r->all[i];
        if (!w->search) {
            return place && place->search->over ? place : w;
        }
        if (w->is_running) {
            continue;
        }
        if (!place || (!place->search->over && (w->search->over || w->promise > place->promise))) {
            place = w;
        }
    }
    return place;
}

int race_enter(race *r, size_t lane, const double *start, ds_random rng)
{
    runner *w = make_room(r);
    if (!w->search) {
        w->search = basin_create(r->n, r->box, &r->options.basin);
    }
    if (!w->search) {
        return 0;
    }
    basin_begin(w->search, start, r->options.patient && r->entered % 2 == 1, rng);
    r->entered++;
    w->rung = w->is_waiting = 0;
    w->is_running = 1;
    r->lane[lane] = w;
    return 1;
}

size_t race_points(race *r, size_t lane, const double **points)
{
    return basin_points(r->lane[lane]->search, points);
}

/* Evaluations after which rung k ends. */
static int64_t rung_end(const race *r, int k)
{
    return r->options.first * (((int64_t)2 << k) - 1);
}

ds_status race_tell(race *r, size_t lane, const double *loss, const double *gradient, const uint32_t *outcome)
{
    runner *w = r->lane[lane];
    basin *b = w->search;
    basin_tell(b, loss, gradient, outcome);
    r->least_loss = fmin(r->least_loss, b->best_loss);
    if (!b->over && !b->turned && b->evaluations < rung_end(r, w->rung)) {
        return DS_OK;
    }
    b->turned = 0;
    w->promise = basin_promise(b);
    w->is_waiting = !b->over;
    w->is_running = 0;
    r->lane[lane] = NULL;
    return note(&r->rungs[w->rung], w->promise) ? DS_OK : DS_E_NOMEM;
}

void race_know(race *r, double loss)
{
    r->least_loss = fmin(r->least_loss, loss);
}

size_t race_best(const race *r, size_t most, const double **points)
{
    size_t count = 0;
    double least = -INFINITY; /* of the one found last, and its place */
    size_t last = 0;
    for (; count < most; count++) {
        size_t next = r->places;
        for (size_t i = 0; i < r->places; i++) {
            const basin *b = r->all[i].search;
            int comes_later = b && isfinite(b->best_loss) &&
                              (b->best_loss > least || (b->best_loss == least && count > 0 && i > last));
            if (comes_later && (next == r->places || b->best_loss < r->all[next].search->best_loss)) {
                next = i;
            }
        }
        if (next == r->places) {
            break;
        }
        last = next;
        least = r->all[next].search->best_loss;
        points[count] = r->all[next].search->best;
    }
    return count;
}

const basin *race_runner(const race *r, size_t lane)
{
    return r->lane[lane] ? r->lane[lane]->search : NULL;
}
