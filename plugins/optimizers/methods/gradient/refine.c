/* SPDX-License-Identifier: Apache-2.0 */
/* refine.c - local searches that take turns at the best point, see refine.h. */
#include "methods/gradient/refine.h"

#include "methods/base/rank.h"
#include "methods/cma/cma2001.h"
#include "methods/gradient/descent.h"
#include "methods/gradient/lbfgsb.h"

#include <diffsim/helper/opt_kit.h>
#include <math.h>
#include <string.h>

#define TURN 30 /* most evaluations of a turn of L-BFGS-B */
#define ADAM_TURN 50
#define ADAM_LR 0.05
#define ADAM_LEAST_LR 1e-3
#define ADAM_PATIENCE 6
#define SIGMA 0.05 /* of the first generation */
#define LEAST_SIGMA 1e-4
#define GENERATIONS 2 /* of a turn */
#define GAIN 1e-4     /* a turn that gains a smaller share of what there may be to gain is fruitless */

struct refine {
    size_t n;
    unsigned arms;
    uint64_t seed, turns;
    double floor;               /* of the loss, or -INFINITY */
    double gain[REFINE_ARMS];   /* per evaluation, in the last turn */
    double gained[REFINE_ARMS]; /* in all of it */
    int out[REFINE_ARMS], fruitless[REFINE_ARMS];

    double *best, best_loss; /* the caller's point */
    int64_t used;            /* evaluations */
    refine_evaluate evaluate;
    void *ctx;

    descent descent;
    double lr;
    lbfgsb *search;
    int is_searching; /* `search` can go on from the best point */
    cma2001 cma;
    int is_sampling;
    double *x, *ranked, *mean, *shift, *gradient, *loss; /* lambda x n twice, n thrice, lambda */
    size_t *order;
    ds_memory memory;
};

size_t refine_rows(size_t n)
{
    return 4 + (size_t)(3.0 * log((double)n)); /* lambda */
}

static unsigned suited(size_t n, unsigned arms)
{
    return n > REFINE_SAMPLES_MOST ? arms & ~(1u << REFINE_SAMPLES) : arms;
}

int refine_suits(size_t n, unsigned arms)
{
    return suited(n, arms) != 0;
}

refine *refine_create(size_t n, unsigned arms, uint64_t seed)
{
    static const descent_options steps = {DESCENT_ADAM, ADAM_LR, ADAM_PATIENCE, 1e-9, 1000.0};
    static const lbfgsb_options options = {10, 0.0, 0.0, 1000000, 1000000, 0.1};
    size_t lambda = refine_rows(n);
    refine *r = calloc(1, sizeof(*r));
    if (!r) {
        return NULL;
    }
    r->n = n;
    r->arms = suited(n, arms);
    r->seed = seed;
    r->floor = -INFINITY;
    ds_memory *own = &r->memory;
    const double *box = ds_opt_kit_box(own, n);
    r->x = ds_memory_doubles(own, lambda * n);
    r->ranked = ds_memory_doubles(own, lambda * n);
    r->mean = ds_memory_doubles(own, n);
    r->shift = ds_memory_doubles(own, n);
    r->gradient = ds_memory_doubles(own, n);
    r->loss = ds_memory_doubles(own, lambda);
    r->order = ds_memory_take(own, lambda, sizeof *r->order);
    r->search = box ? lbfgsb_create(n, box, box + n, &options) : NULL;
    int ok = !own->failed && r->search && descent_init(&r->descent, n, &steps);
    if (!ok || ((r->arms & (1u << REFINE_SAMPLES)) &&
                !cma2001_init(&r->cma, n, lambda, lambda / 2, CMA2001_LOG_WEIGHTS, CMA2001_TUTORIAL))) {
        refine_destroy(r);
        return NULL;
    }
    return r;
}

void refine_destroy(refine *r)
{
    if (r) {
        descent_free(&r->descent);
        lbfgsb_destroy(r->search);
        cma2001_free(&r->cma);
        ds_memory_free(&r->memory);
        free(r);
    }
}

void refine_know_floor(refine *r, double floor)
{
    r->floor = floor;
}

/* Evaluates points and keeps the best. */
static ds_status simulate(refine *r, size_t count, const double *v, double *loss, double *gradient,
                          uint32_t *outcome)
{
    for (size_t i = 0; i < count; i++) {
        loss[i] = INFINITY; /* where the run ends within the batch */
    }
    ds_status status = r->evaluate(r->ctx, "refine", count, v, loss, gradient, outcome);
    r->used += (int64_t)count;
    for (size_t i = 0; i < count; i++) {
        if (loss[i] < r->best_loss) {
            r->best_loss = loss[i];
            memcpy(r->best, v + i * r->n, r->n * sizeof(double));
        }
    }
    return status;
}

/* Possible gain at a loss: its height above its floor, or, without a floor, the largest gain of the last
 * turns. */
static double left_to_gain(const refine *r, double loss)
{
    double most = 0.0;
    for (int arm = 0; arm < REFINE_ARMS; arm++) {
        most = fmax(most, r->gained[arm]);
    }
    return isfinite(r->floor) ? fmax(loss - r->floor, 0.0) : most;
}

/* ---- arms ---- */

static ds_status simulate_step(void *self, const double *s, double *loss, double *gradient, uint32_t *outcome)
{
    return simulate(self, 1, s, loss, gradient, outcome);
}

static ds_status adam_turn(refine *r)
{
    double before = r->best_loss;
    r->descent.options.lr = r->lr;
    memcpy(r->mean, r->best, r->n * sizeof(double)); /* the descent moves `best` */
    ds_status status = descent_run(&r->descent, r->mean, ADAM_TURN, simulate_step, r);
    if (!(r->best_loss < before - r->descent.options.tol * left_to_gain(r, before))) {
        r->lr = fmax(0.5 * r->lr, ADAM_LEAST_LR);
    } else if (r->descent.evaluations < ADAM_TURN) { /* it oscillates already */
        r->lr = fmax(0.5 * r->lr, ADAM_LEAST_LR);
    }
    return status;
}

static ds_status lbfgsb_turn(refine *r)
{
    if (!r->is_searching) {
        lbfgsb_start_again(r->search, r->best);
    }
    int state = LBFGSB_EVALUATE;
    r->is_searching = 1;
    for (int i = 0; i < TURN && state == LBFGSB_EVALUATE; i++) {
        double loss;
        uint32_t outcome = DS_EVAL_OK;
        memcpy(r->mean, lbfgsb_point(r->search), r->n * sizeof(double));
        ds_status status = simulate(r, 1, r->mean, &loss, r->gradient, &outcome);
        if (status != DS_OK) {
            return status;
        }
        /* without a gradient the search cannot go on */
        state = outcome == DS_EVAL_BAD_GRAD ? LBFGSB_NONFINITE : lbfgsb_tell(r->search, loss, r->gradient);
    }
    if (state != LBFGSB_EVALUATE) {
        r->is_searching = 0;
        r->out[REFINE_LBFGSB] = 1;
    }
    return DS_OK;
}

static ds_status sample_turn(refine *r)
{
    cma2001 *c = &r->cma;
    ds_random rng = ds_random_open(r->seed, "refine", r->turns);
    if (!r->is_sampling) {
        cma2001_start(c, r->best, c->generation > 0 ? ds_box_clamp(c->sigma, LEAST_SIGMA, SIGMA) : SIGMA);
        ds_box_snap(r->n, c->mean);
        r->is_sampling = 1;
    }
    for (int generation = 0; generation < GENERATIONS; generation++) {
        for (size_t k = 0; k < c->lambda; k++) {
            double *x = r->x + k * r->n;
            cma2001_sample(c, &rng, x);
            for (size_t i = 0; i < r->n; i++) {
                x[i] = ds_box_clamp(x[i], -1.0, 1.0);
            }
        }
        ds_status status = simulate(r, c->lambda, r->x, r->loss, NULL, NULL);
        if (status != DS_OK) {
            return status;
        }
        size_t finite = rank_rows(c->lambda, r->n, r->x, r->loss, r->order, r->ranked);
        if (finite < c->mu) {
            c->sigma *= 0.5;
            continue;
        }
        cma2001_recombine(c, r->ranked, finite, r->mean);
        for (size_t i = 0; i < r->n; i++) {
            r->shift[i] = r->mean[i] - c->mean[i];
        }
        cma2001_update(c, r->shift, r->ranked, finite, r->mean);
    }
    return DS_OK;
}

/* ---- turns ---- */

/* The arm whose turn it is; REFINE_ARMS where all are out. */
static int choose(const refine *r)
{
    int chosen = REFINE_ARMS;
    for (int arm = 0; arm < REFINE_ARMS; arm++) {
        int takes_part = (r->arms & (1u << arm)) && !r->out[arm];
        if (takes_part && (chosen == REFINE_ARMS || r->gain[arm] > r->gain[chosen])) {
            chosen = arm;
        }
    }
    return chosen;
}

/* The point has moved: the other arms begin anew there. */
static void point_moved(refine *r, int by)
{
    for (int arm = 0; arm < REFINE_ARMS; arm++) {
        r->out[arm] &= arm == by;
    }
    r->is_searching &= by == REFINE_LBFGSB;
    r->is_sampling &= by == REFINE_SAMPLES;
}

ds_status refine_run(refine *r, double *best, double *best_loss, refine_evaluate evaluate, void *ctx)
{
    static ds_status (*const turn[REFINE_ARMS])(refine *) = {lbfgsb_turn, adam_turn, sample_turn};
    ds_status status = DS_OK;
    r->best = best;
    r->best_loss = *best_loss;
    r->evaluate = evaluate;
    r->ctx = ctx;
    r->lr = ADAM_LR;
    r->used = 0;
    r->is_searching = r->is_sampling = 0;
    r->cma.generation = 0;
    for (int arm = 0; arm < REFINE_ARMS; arm++) {
        r->gain[arm] = INFINITY;
        r->gained[arm] = 0.0;
        r->out[arm] = r->fruitless[arm] = 0;
    }
    int arm;
    while (status == DS_OK && (arm = choose(r)) < REFINE_ARMS) {
        double before = r->best_loss, least = GAIN * left_to_gain(r, before);
        int64_t used = r->used;
        status = turn[arm](r);
        r->gained[arm] = before - r->best_loss;
        r->gain[arm] = (before - r->best_loss) / (double)(r->used - used);
        r->turns++;
        if (r->gained[arm] > least) {
            point_moved(r, arm);
            r->fruitless[arm] = 0;
        } else if (arm == REFINE_SAMPLES) {
            r->cma.sigma *= 0.3;
            int is_alone = r->arms == 1u << REFINE_SAMPLES;
            r->out[arm] = ++r->fruitless[arm] >= 2 && (!is_alone || r->cma.sigma < LEAST_SIGMA);
        } else if (arm == REFINE_ADAM) {
            r->out[arm] = r->lr <= ADAM_LEAST_LR && ++r->fruitless[arm] >= 2;
        } else {
            r->out[arm] = 1;
        }
    }
    *best_loss = r->best_loss;
    return status;
}
