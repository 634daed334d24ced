/* SPDX-License-Identifier: Apache-2.0 */
/* race.c - asynchronous successive halving over pausable local searches, see race.h. */
#include "methods/race/race.h"

#include <diffsim/helper/box.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- basins ---- */

#define TOL 1e-9          /* a fall by a smaller share of the fall so far is not progress */
#define OUTLIER 1000.0    /* gradients this many times longer than usual are shortened */
#define CAREFUL (1.0 / 3) /* learning rate of a descent in terms of that before it */
#define LEAST_LR 2e-3  /* where it falls below, the search is over: closer in is the work of the refinement */
#define TRUST_KEPT 0.8 /* decay of the doubt's sums at each step: about the last five count */
#define TRUST_STEPS 3  /* steps before the doubt is believed */
#define NEWTON_PATIENCE 8 /* evaluations without progress that end L-BFGS-B; its line searches have some */
#define NEWTON_GAIN                                                                                          \
    1e-4          /* share of what there may be to gain that it must gain to be followed by another descent */
#define LEAP_J 10 /* longest descent of a leap, as in boleap */
#define LEAP_MOST 400      /* variables up to which there are leaps: their matrix costs n^3 a generation */
#define LEAP_GAIN 1e-3     /* the same of a generation of a leap */
#define LEAP_GENERATIONS 3 /* this many in a row do not end the leap */
#define GENERATIONS 6      /* the same of the samples without gradients */
#define LEAST_SIGMA 2e-3   /* where they lie closer together, the search is over */
#define FULL_MATRIX                                                                                          \
    40 /* variables up to which they adapt a full matrix: hundreds of samples teach no larger one */
#define FIRST_MARK 3 /* evaluations: half of a first rung of the race */

size_t basin_rows(size_t n)
{
    return cma_default_lambda(n);
}

basin *basin_create(size_t n, const double *box, const basin_options *options)
{
    const descent_options steps = {DESCENT_ADAM, options->lr, options->patience, TOL, OUTLIER};
    const lbfgsb_options endless = {10, 0.0, 0.0, 1000000, 1000000, 0.1};
    basin *b = calloc(1, sizeof *b);
    if (!b) {
        return NULL;
    }
    b->n = n;
    b->options = *options;
    ds_memory_each(&b->memory, n, (double **const[]){&b->best, &b->last, &b->last_gradient, NULL});
    b->newton = lbfgsb_create(n, box, box + n, &endless);
    if (!descent_init(&b->descent, n, &steps) || b->memory.failed || !b->newton) {
        basin_destroy(b);
        return NULL;
    }
    return b;
}

void basin_destroy(basin *b)
{
    if (b) {
        descent_free(&b->descent);
        lbfgsb_destroy(b->newton);
        if (b->leap) {
            leap_free(b->leap);
        }
        cma_free(b->samples);
        ds_memory_free(&b->memory);
        free(b);
    }
}

/* ---- turns: how they begin ---- */

static void begin_turn(basin *b, int mode)
{
    b->mode = mode;
    b->turn_loss = b->best_loss;
    b->fruitless = 0;
    b->has_last = 0;
}

static void begin_descent(basin *b, const double *from)
{
    begin_turn(b, BASIN_DESCENT);
    b->descent.options.lr = b->lr;
    descent_begin(&b->descent, from, INT64_MAX);
}

static void begin_newton(basin *b)
{
    begin_turn(b, BASIN_NEWTON);
    lbfgsb_start(b->newton, b->best);
}

/* Where memory is short, basin_points() says so. */
static void begin_leap(basin *b)
{
    begin_turn(b, BASIN_LEAP);
    b->has_leapt = 1;
    if (!b->leap) {
        const leap_options options = {.K = basin_rows(b->n),
                                      .mu = basin_rows(b->n) / 2,
                                      .lengths = LEAP_TRUST,
                                      .gradients = b->options.sample_gradients,
                                      .J = LEAP_J,
                                      .steps = INT64_MAX,
                                      .sigma = b->options.sigma,
                                      .floor = b->options.floor,
                                      .descent = b->descent.options};
        b->leap = ds_memory_take(&b->memory, 1, sizeof *b->leap);
        if (!b->leap || !leap_init(b->leap, b->n, &options)) {
            b->memory.failed = 1;
            return;
        }
        b->leap->options.descent.lr = b->options.lr;
    }
    memcpy(b->last, b->best, b->n * sizeof(double)); /* free in this turn */
    ds_box_snap(b->n, b->last);
    leap_begin(b->leap, b->last, 1, b->rng);
}

/* Around the best point. */
static void start_samples(basin *b, double sigma)
{
    memcpy(b->x, b->best, b->n * sizeof(double));
    ds_box_snap(b->n, b->x);
    cma_start(b->samples, b->x, sigma);
}

static void begin_samples(basin *b)
{
    begin_turn(b, BASIN_SAMPLES);
    b->turned = 1;
    if (!b->samples) {
        const cma_options options = {
            .n = b->n, .profile = CMA_TUTORIAL, .active = 1, .diagonal = b->n > FULL_MATRIX};
        b->samples = cma_new(&options);
        b->x = ds_memory_doubles(&b->memory, basin_rows(b->n) * b->n);
        b->v = ds_memory_doubles(&b->memory, basin_rows(b->n) * b->n);
        b->memory.failed |= !b->samples;
    }
    if (b->samples && b->x) {
        start_samples(b, b->options.sigma);
    }
}

/* Once per search: where one leap finds nothing, another from there would not either. */
static int may_leap(const basin *b)
{
    return !b->has_leapt && b->n <= LEAP_MOST;
}

/* Whether this turn gained more than a share of the possible gain: the distance to the floor of the loss, or,
 * without a floor, the gain of the search so far. */
static int has_gained(const basin *b, double share)
{
    const double left =
        isfinite(b->options.floor) ? b->turn_loss - b->options.floor : b->first_loss - b->turn_loss;
    return isfinite(b->turn_loss) && b->turn_loss - b->best_loss > share * left;
}

/* A descent or L-BFGS-B has ended; `is_flat`: at a point whose gradient is 0 or missing. */
static void go_on(basin *b, int is_flat)
{
    double doubt = trust_doubt(&b->trust);
    int knows = b->options.trust && b->trust.steps >= TRUST_STEPS, is_good = knows && doubt < b->options.good;
    int gained = has_gained(b, NEWTON_GAIN), ended = b->mode;
    if (ended == BASIN_NEWTON) {
        b->over = !gained && b->lr < b->options.lr;
    }
    if (ended == BASIN_DESCENT || !gained) { /* a descent at the first rate would turn to L-BFGS-B at once */
        b->lr *= CAREFUL;
    }
    double least = fmin(LEAST_LR, b->options.lr / 50); /* also of a search that begins with small steps */
    b->over |= !isfinite(b->best_loss) || b->lr < least || (is_flat && (!b->options.trust || is_good));
    if (is_flat || (knows && doubt > b->options.blind)) {
        begin_samples(b);
    } else if (knows && doubt > b->options.noisy && ended == BASIN_DESCENT && may_leap(b)) {
        begin_leap(b);
    } else if (is_good && ended == BASIN_DESCENT) {
        begin_newton(b);
    } else {
        begin_descent(b, b->best);
    }
}

/* ---- turns: results of their evaluations ---- */

static int is_progress(const basin *b, double before)
{
    return b->best_loss < before - TOL * (b->first_loss - before);
}

static void keep_best(basin *b, const double *point, double loss)
{
    b->first_loss = isfinite(b->first_loss) ? b->first_loss : loss;
    if (loss < b->best_loss) {
        b->best_loss = loss;
        memcpy(b->best, point, b->n * sizeof(double));
    }
}

/* Compares a point with the one before it. */
static void watch(basin *b, const double *point, double loss, const double *gradient, int is_sound)
{
    if (is_sound && b->has_last) {
        trust_step(&b->trust, b->n, TRUST_KEPT, b->last, b->last_loss, b->last_gradient, point, loss,
                   gradient);
    }
    b->has_last = is_sound;
    if (is_sound) {
        memcpy(b->last, point, b->n * sizeof(double));
        memcpy(b->last_gradient, gradient, b->n * sizeof(double));
        b->last_loss = loss;
    }
}

static int is_zero(size_t n, const double *g)
{
    for (size_t k = 0; k < n; k++) {
        if (g[k] != 0.0) {
            return 0;
        }
    }
    return 1;
}

static void tell_descent(basin *b, double loss, const double *gradient, uint32_t outcome)
{
    int is_sound = outcome == DS_EVAL_OK && isfinite(loss) && b->options.has_gradient;
    int is_missing =
        outcome == DS_EVAL_BAD_GRAD && b->descent.told == 0; /* where nothing has been descended yet */
    int is_blind = !b->options.has_gradient || is_missing || (is_sound && is_zero(b->n, gradient));
    keep_best(b, b->descent.s, loss);
    if (b->options.has_gradient) {
        watch(b, b->descent.s, loss, gradient, is_sound);
    }
    if (is_blind || !descent_tell(&b->descent, loss, gradient, outcome)) {
        go_on(b, is_blind);
        return;
    }
    double doubt = trust_doubt(&b->trust);
    int first = b->options.trust && b->lr >= b->options.lr && !b->has_leapt;
    int is_good = b->trust.steps >= TRUST_STEPS && doubt < b->options.good && b->descent.stall == 0;
    int is_noisy =
        b->trust.steps > TRUST_STEPS && doubt > b->options.noisy && b->descent.stall >= b->options.stall;
    if (first && is_good && !b->patient) {
        begin_newton(b);
    } else if (first && is_noisy && may_leap(b)) {
        begin_leap(b);
    }
}

static void tell_newton(basin *b, double loss, const double *gradient, uint32_t outcome)
{
    const double *point = lbfgsb_point(b->newton);
    double before = b->best_loss;
    keep_best(b, point, loss);
    watch(b, point, loss, gradient, outcome == DS_EVAL_OK && isfinite(loss));
    b->fruitless = is_progress(b, before) ? 0 : b->fruitless + 1;
    int state = outcome == DS_EVAL_BAD_GRAD ? LBFGSB_NONFINITE : lbfgsb_tell(b->newton, loss, gradient);
    if (state != LBFGSB_EVALUATE || b->fruitless > NEWTON_PATIENCE) {
        go_on(b, 0);
    }
}

static void tell_leap(basin *b, const double *loss, const double *gradient, const uint32_t *outcome)
{
    const double *points;
    size_t count = leap_points(b->leap, &points);
    int generation = b->leap->cma.generation;
    for (size_t k = 0; k < count; k++) {
        keep_best(b, points + k * b->n, loss[k]);
    }
    leap_tell(b->leap, loss, gradient, outcome);
    if (b->leap->cma.generation != generation) {
        b->fruitless = has_gained(b, LEAP_GAIN) ? 0 : b->fruitless + 1;
        b->turn_loss = b->best_loss;
    }
    if (b->leap->state == LEAP_OVER || b->fruitless > LEAP_GENERATIONS) {
        b->rng = b->leap->rng;
        trust_clear(&b->trust);
        begin_descent(b, b->best);
    }
}

static void tell_samples(basin *b, const double *loss)
{
    size_t lambda = b->samples->k.lambda, finite = 0;
    double before = b->best_loss;
    for (size_t k = 0; k < lambda; k++) {
        keep_best(b, b->v + k * b->n, loss[k]);
        finite += isfinite(loss[k]) != 0;
    }
    b->fruitless = is_progress(b, before) ? 0 : b->fruitless + 1;
    if (finite > 0) {
        cma_update(b->samples, b->x, loss, NULL);
    } else {
        b->samples->sigma *= 0.5;
    }
    b->over = !(b->samples->sigma >= LEAST_SIGMA) || b->fruitless > GENERATIONS;
}

/* A generation, inside the box. */
static size_t draw(basin *b)
{
    cma *c = b->samples;
    if (cma_sample(c, &b->rng, b->x) != 0) { /* the matrix is not finite any more */
        start_samples(b, LEAST_SIGMA);
        cma_sample(c, &b->rng, b->x);
    }
    for (size_t k = 0; k < c->k.lambda; k++) {
        for (size_t i = k * b->n; i < (k + 1) * b->n; i++) {
            b->v[i] = ds_box_clamp(b->x[i], -1.0, 1.0);
            c->repaired[k] |= b->v[i] != b->x[i];
            b->x[i] = b->v[i];
        }
    }
    return c->k.lambda;
}

/* ---- for the caller ---- */

size_t basin_count(const basin *b)
{
    const double *points;
    return b->mode == BASIN_SAMPLES                   ? basin_rows(b->n)
           : b->mode == BASIN_LEAP && b->leap != NULL ? leap_points(b->leap, &points)
                                                      : 1;
}

void basin_begin(basin *b, const double *start, int patient, ds_random rng)
{
    b->patient = patient;
    b->over = b->turned = b->has_leapt = 0;
    b->evaluations = b->mark = 0;
    memset(b->spent, 0, sizeof b->spent);
    b->best_loss = b->first_loss = b->marked = b->marked_before = INFINITY;
    b->lr = b->options.lr;
    b->rng = rng;
    trust_clear(&b->trust);
    memcpy(b->best, start, b->n * sizeof(double));
    begin_descent(b, start);
}

int basin_wants_gradient(const basin *b)
{
    int is_drawn = b->mode == BASIN_SAMPLES ||
                   (b->mode == BASIN_LEAP && (b->leap == NULL || !leap_wants_gradient(b->leap)));
    return b->options.has_gradient && !is_drawn;
}

size_t basin_points(basin *b, const double **points)
{
    if (b->memory.failed) {
        return 0;
    }
    switch (b->mode) {
    case BASIN_SAMPLES: {
        size_t count = draw(b);
        *points = b->v;
        return count;
    }
    case BASIN_LEAP:
        return leap_points(b->leap, points);
    default:
        *points = b->mode == BASIN_NEWTON ? lbfgsb_point(b->newton) : b->descent.s;
        return 1;
    }
}

void basin_tell(basin *b, const double *loss, const double *gradient, const uint32_t *outcome)
{
    const double *points;
    int mode = b->mode;
    size_t count = mode == BASIN_SAMPLES ? b->samples->k.lambda : 1;
    count = mode == BASIN_LEAP ? leap_points(b->leap, &points) : count;
    b->evaluations += (int64_t)count;
    b->spent[mode] += (int64_t)count;
    if (mode == BASIN_SAMPLES) {
        tell_samples(b, loss);
    } else if (mode == BASIN_LEAP) {
        tell_leap(b, loss, gradient, outcome);
    } else if (mode == BASIN_NEWTON) {
        tell_newton(b, loss[0], gradient, outcome[0]);
    } else {
        tell_descent(b, loss[0], gradient, outcome[0]);
    }
    if (b->evaluations >= (b->mark > 0 ? 2 * b->mark : FIRST_MARK)) {
        b->mark = b->evaluations;
        b->marked_before = b->marked;
        b->marked = b->best_loss;
    }
}

double basin_promise(const basin *b)
{
    double then = b->evaluations > b->mark ? b->marked : b->marked_before;
    return b->over || !isfinite(then) ? b->best_loss : b->best_loss - (then - b->best_loss);
}

/* ---- races ---- */

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
