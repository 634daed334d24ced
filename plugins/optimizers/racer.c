/* SPDX-License-Identifier: Apache-2.0 */
/* racer.c - raced descents: a model proposes where local searches start, the searches compete for
 * evaluations, and each follows its gradients only while they predict the loss. A method of this project,
 * after open ends of BO-Leap (R. Antonova et al., arXiv:2207.00167):
 *
 *     S = {};  all lanes are idle
 *     repeat
 *         if (1 - polish) of the budget is spent and the best point is new since the last refinement
 *             refine the best points, polish_lanes of them in step, then the best  (gradient/refine.h)
 *         else
 *             for each idle lane                                               (race/race.h)
 *                 continue the paused runner of the highest rung that is among the best 1/keep there,
 *                 or is predicted to beat the best point
 *                 or start a new one: at the given start, then at argmin LCB(x | Gaussian process
 *                 of S and of the active runners), sometimes anywhere
 *             every lane's runner evaluates its next points                    (race/race.h)
 *                 unless they would use more than a quarter of the share of the refinement
 *                 doubt = difference between what gradients predicted and what its last steps did
 *                 small: L-BFGS-B (every second runner only after Adam has ended);
 *                 middling: Adam;  larger, and no progress: leaps;  near 1, or no gradients: CMA-ES
 *             a runner at the end of its rung is paused;  every simulated point enters S
 *
 * All lanes are one call (two, where some need no gradients), whatever `--jobs` is. */
#include "methods/base/blas.h"
#include "methods/base/own.h"
#include "methods/bayes/bayes_search.h"
#include "methods/race/race.h"

#include <math.h>
#include <string.h>

typedef struct racer {
    bayes_search bayes; /* Gaussian process of S, best point, refinement */
    race_options options;
    race *race;
    int use_model;
    int64_t anywhere; /* one start in this many is uniform */
    uint64_t starts;
    double *start, *others, *other_loss; /* n; lanes x n, lanes: best points of the active runners */
    size_t *lane, *count;                /* of the call in progress: lanes, and rows of each */
    int *with_gradient;                  /* for each lane in this round */
    double *v, *loss, *gradient;         /* rows of a call */
    uint32_t *outcome;
    unsigned char *is_start;
    /* Polish of several points. */
    size_t polish_lanes;
    basin **polisher;
    double *candidates;   /* most_candidates() x n: their starts, best first */
    const double **found; /* most_candidates() */
    int is_polishing, has_polished;
} racer;

#define POLISH_LR 0.05    /* first rate of a search that polishes */
#define POLISH_SIGMA 0.05 /* standard deviation of its first samples, as in refine.c */

#define SAME_BASIN                                                                                           \
    1e-2 /* of two search ends closer than this in every variable, only the better one is polished */

/* Points that a lane polishes one after the other. */
enum { POLISH_TURNS = 4 };

/* Collects the active runners, so that the model proposes points away from them; runners that have only begun
 * count by their starts. */
static size_t gather_others(racer *self)
{
    size_t others = 0, n = self->bayes.kit.n;
    for (size_t lane = 0; lane < self->options.lanes; lane++) {
        const basin *b = race_runner(self->race, lane);
        if (b) {
            memcpy(self->others + others * n, b->best, n * sizeof(double));
            self->other_loss[others++] = b->best_loss;
        }
    }
    return others;
}

static ds_status propose(racer *self)
{
    const ds_opt_kit *kit = &self->bayes.kit;
    uint64_t number = ++self->starts;
    if ((number == 1 && kit->start.v) || !self->use_model ||
        (self->anywhere > 0 && number % (uint64_t)self->anywhere == 0)) {
        ds_opt_kit_start(kit, number, self->start);
        return DS_OK;
    }
    size_t others = gather_others(self);
    return surrogate_propose_beside(self->bayes.model, number, others, self->others, self->other_loss,
                                    self->start);
}

static ds_status fill_lanes(racer *self)
{
    for (size_t lane; (lane = race_idle(self->race)) < self->options.lanes;) {
        ds_status status = propose(self);
        if (status != DS_OK) {
            return status;
        }
        ds_random rng = ds_random_open(self->bayes.kit.host->seed, "sample", self->starts);
        if (!race_enter(self->race, lane, self->start, rng)) {
            return DS_E_NOMEM;
        }
    }
    return DS_OK;
}

static size_t lanes_now(const racer *self)
{
    return self->is_polishing ? self->polish_lanes : self->options.lanes;
}

/* Puts the points of the runners with gradients, or of the others, into one call. Sets how many lanes take
 * part; 0 without memory. */
static int gather_rows(racer *self, int with_gradient, size_t *lanes, size_t *rows)
{
    size_t n = self->bayes.kit.n;
    *lanes = *rows = 0;
    for (size_t lane = 0; lane < lanes_now(self); lane++) {
        if (self->with_gradient[lane] != with_gradient) {
            continue;
        }
        const double *points;
        size_t count = self->is_polishing ? basin_points(self->polisher[lane], &points)
                                          : race_points(self->race, lane, &points);
        if (count == 0) {
            return 0;
        }
        memcpy(self->v + *rows * n, points, count * n * sizeof(double));
        int begins = !self->is_polishing && race_runner(self->race, lane)->evaluations == 0;
        memset(self->is_start + *rows, begins, count);
        self->lane[*lanes] = lane;
        self->count[(*lanes)++] = count;
        *rows += count;
    }
    return 1;
}

static ds_status advance(racer *self, int with_gradient)
{
    size_t lanes, rows;
    if (!gather_rows(self, with_gradient, &lanes, &rows)) {
        return DS_E_NOMEM;
    }
    const char *tag = self->is_polishing ? "refine" : with_gradient ? "descent" : "sample";
    ds_status status = rows == 0
                           ? DS_OK
                           : bayes_simulate(&self->bayes, tag, rows, self->is_start, self->v, self->loss,
                                            with_gradient ? self->gradient : NULL, self->outcome);
    for (size_t i = 0, row = 0; status == DS_OK && i < lanes; row += self->count[i++]) {
        const double *gradient = self->gradient + row * self->bayes.kit.n;
        if (self->is_polishing) {
            basin_tell(self->polisher[self->lane[i]], self->loss + row, gradient, self->outcome + row);
        } else {
            status = race_tell(self->race, self->lane[i], self->loss + row, gradient, self->outcome + row);
        }
    }
    return status;
}

/* ---- polish of several points ---- */

static size_t most_candidates(const racer *self)
{
    return self->polish_lanes * POLISH_TURNS;
}

static int lies_near(size_t n, const double *a, const double *b)
{
    double largest = 0.0;
    for (size_t k = 0; k < n; k++) {
        largest = fmax(largest, fabs(a[k] - b[k]));
    }
    return largest < SAME_BASIN;
}

/* Copies the best points of the race, one of each basin: they must not move while others are polished. */
static size_t gather_candidates(racer *self)
{
    size_t found = race_best(self->race, most_candidates(self), self->found), count = 0,
           n = self->bayes.kit.n;
    for (size_t i = 0; i < found; i++) {
        int is_new = 1;
        for (size_t j = 0; j < count; j++) {
            is_new &= !lies_near(n, self->found[i], self->candidates + j * n);
        }
        if (is_new) {
            memcpy(self->candidates + count++ * n, self->found[i], n * sizeof(double));
        }
    }
    return count;
}

/* Searches from the best points of the race in step, with half of the evaluations left; a finished lane takes
 * the next point. The rest is for the best point alone. */
static ds_status polish_together(racer *self)
{
    const ds_opt_kit *kit = &self->bayes.kit;
    int64_t planned = (int64_t)kit->problem->budget,
            until = planned > 0 ? self->bayes.told + (planned - self->bayes.told) / 2 : INT64_MAX;
    size_t count = gather_candidates(self), next = 0, running = 1;
    ds_status status = DS_OK;
    self->is_polishing = 1;
    while (status == DS_OK && running > 0 && self->bayes.told < until) {
        running = 0;
        for (size_t lane = 0; lane < self->polish_lanes; lane++) {
            basin *b = self->polisher[lane];
            if (b->over && next < count) {
                ds_random rng = ds_random_open(kit->host->seed, "polish", next);
                basin_begin(b, self->candidates + next++ * kit->n, 0, rng);
            }
            self->with_gradient[lane] = b->over ? -1 : basin_wants_gradient(b);
            running += !b->over;
        }
        status = advance(self, 1);
        status = status != DS_OK ? status : advance(self, 0);
    }
    self->is_polishing = 0;
    self->has_polished = 1;
    return status;
}

static ds_status polish(racer *self)
{
    ds_status status = DS_OK;
    if (self->polish_lanes > 1 && !self->has_polished) {
        status = polish_together(self);
    }
    return status != DS_OK ? status : bayes_refine(&self->bayes);
}

/* Chooses the lanes of the next round, and whether they need gradients (-1: the lane waits, because its
 * points would use more than a quarter of the share of the refinement). Returns how many there are. */
static size_t choose_lanes(racer *self)
{
    const bayes_search *b = &self->bayes;
    int64_t planned = (int64_t)b->kit.problem->budget, room = INT64_MAX;
    size_t chosen = 0;
    if (b->refine && planned > 0 && b->best_loss < b->refined) {
        room = b->refine_from + (planned - b->refine_from) / 4 - b->told;
    }
    for (size_t lane = 0; lane < self->options.lanes; lane++) {
        const basin *runner = race_runner(self->race, lane);
        int64_t rows = (int64_t)basin_count(runner);
        self->with_gradient[lane] = rows <= room ? basin_wants_gradient(runner) : -1;
        room -= rows <= room ? rows : 0;
        chosen += self->with_gradient[lane] >= 0;
    }
    return chosen;
}

/* Reports the doubt of gradients of the searches in the lanes (their mean; see race/race.h), and the length
 * scale of the model. */
static ds_status report(racer *self)
{
    static const char *const names[] = {"doubt", "length"};
    double doubt = 0.0;
    for (size_t lane = 0; lane < self->options.lanes; lane++) {
        doubt += trust_doubt(&race_runner(self->race, lane)->trust) / (double)self->options.lanes;
    }
    const double values[] = {doubt, self->use_model ? surrogate_length(self->bayes.model) : (double)NAN};
    return ds_evaluator_report(&self->bayes.kit.evaluator, self->use_model ? 2 : 1, names, values, NULL);
}

static ds_status racer_search(void *self_)
{
    racer *self = self_;
    self->bayes.group = self->bayes.kit.round;
    if (bayes_refine_due(&self->bayes)) {
        return polish(self);
    }
    race_know(self->race, self->bayes.best_loss);
    ds_status status = fill_lanes(self);
    if (status == DS_OK && choose_lanes(self) == 0) {
        return polish(self);
    }
    status = status != DS_OK ? status : report(self);
    status = status != DS_OK ? status : advance(self, 1);
    return status != DS_OK ? status : advance(self, 0);
}

static void read_parameters(void *self_, ds_param_reader *in)
{
    racer *self = self_;
    race_options *o = &self->options;
    blas_use_one_thread();
    o->lanes = (size_t)ds_param_int(in, "lanes");
    o->first = ds_param_int(in, "first");
    o->keep = ds_param_real(in, "keep");
    o->racing = ds_param_int(in, "racing") != 0;
    o->promise = ds_param_int(in, "promise") != 0;
    o->patient = ds_param_int(in, "patient") != 0;
    o->basin.has_gradient = self->bayes.kit.has_gradient;
    o->basin.trust = ds_param_int(in, "trust") != 0;
    o->basin.sample_gradients = ds_param_int(in, "sample_gradients") != 0;
    o->basin.lr = ds_param_real(in, "lr");
    o->basin.patience = ds_param_int(in, "patience");
    o->basin.sigma = ds_param_real(in, "sigma1");
    o->basin.good = ds_param_real(in, "good");
    o->basin.noisy = ds_param_real(in, "noisy");
    o->basin.blind = ds_param_real(in, "blind");
    o->basin.stall = ds_param_int(in, "stall");
    o->basin.floor = self->bayes.kit.problem->loss_floor;
    self->use_model = ds_param_int(in, "model") != 0;
    if (self->use_model && self->bayes.kit.n > OPT_MOST) {
        in->host->log(in->host, DS_LOG_INFO,
                      "more than 5000 variables: model = false, starts are uniform in the box");
        self->use_model = 0;
    }
    self->bayes.is_deaf = !self->use_model;
    self->anywhere = ds_param_int(in, "anywhere");
    self->polish_lanes = (size_t)ds_param_int(in, "polish_lanes");
    bayes_read(&self->bayes, in, "polish");
    if (in->status == DS_OK && !(o->basin.good <= o->basin.noisy && o->basin.noisy <= o->basin.blind)) {
        in->status = ds_host_fail(
            in->host, DS_E_PARAM,
            "good = %g, noisy = %g, blind = %g are limits of the same doubt: give them in ascending order",
            o->basin.good, o->basin.noisy, o->basin.blind);
    }
}

static int allocate_polish(racer *self, const double *box)
{
    ds_memory *own = &self->bayes.kit.memory;
    basin_options careful = self->options.basin;
    careful.lr = POLISH_LR;
    careful.sigma = POLISH_SIGMA;
    self->candidates = ds_memory_doubles(own, most_candidates(self) * self->bayes.kit.n);
    self->found = ds_memory_take(own, most_candidates(self), sizeof *self->found);
    self->polisher = ds_memory_take(own, self->polish_lanes, sizeof(basin *));
    for (size_t lane = 0; box && self->polisher && lane < self->polish_lanes; lane++) {
        self->polisher[lane] = basin_create(self->bayes.kit.n, box, &careful);
        if (!self->polisher[lane]) {
            return 0;
        }
        self->polisher[lane]->over = 1;
    }
    return box && self->polisher && self->found && self->candidates;
}

static int allocate(void *self_)
{
    racer *self = self_;
    ds_memory *own = &self->bayes.kit.memory;
    size_t n = self->bayes.kit.n, most = self->polish_lanes > 1 ? self->polish_lanes : 0,
           lanes = self->options.lanes > most ? self->options.lanes : most, rows = lanes * basin_rows(n);
    const double *box = ds_opt_kit_box(own, n);
    ds_memory_each(own, rows * n, (double **const[]){&self->v, &self->gradient, NULL});
    self->start = ds_memory_doubles(own, n);
    self->others = ds_memory_doubles(own, lanes * n);
    self->other_loss = ds_memory_doubles(own, lanes);
    self->loss = ds_memory_doubles(own, rows);
    self->outcome = ds_memory_take(own, rows, sizeof *self->outcome);
    self->is_start = ds_memory_take(own, rows, 1);
    self->lane = ds_memory_take(own, lanes, sizeof *self->lane);
    self->count = ds_memory_take(own, lanes, sizeof *self->count);
    self->with_gradient = ds_memory_take(own, lanes, sizeof *self->with_gradient);
    self->race = box ? race_create(n, box, &self->options) : NULL;
    if (most > 0 && !allocate_polish(self, box)) {
        return 0;
    }
    return self->race &&
           bayes_allocate(&self->bayes, rows, 1u << REFINE_LBFGSB | 1u << REFINE_ADAM | 1u << REFINE_SAMPLES);
}

static void racer_release(void *self_)
{
    racer *self = self_;
    bayes_release(&self->bayes);
    race_destroy(self->race);
    for (size_t lane = 0; self->polisher && lane < self->polish_lanes; lane++) {
        basin_destroy(self->polisher[lane]);
    }
}

static const ds_param *const params[] = {
    DS_INT("lanes", "4", 1, 1e4, "",
           "Searches that advance in step; their next points are simulated in parallel, as one batch."),
    DS_BOOL("racing", "true",
            "Searches compete: at the end of a rung only the most promising ones continue. false: all of "
            "them, each to its end."),
    DS_BOOL("promise", "true", "In a race, a search predicted to beat the best point continues in any case."),
    DS_INT("first", "6", 1, 1e6, "",
           "Evaluations of a search before it is compared with others; each further rung has twice as many."),
    DS_REAL("keep", "2", 1, 1e6, "", "One in this many searches continues at the end of a rung."),
    DS_OPT_START_PARAMS("true"),
    DS_BOOL("model", "true",
            "A Gaussian process proposes starts, up to 5000 variables. false: they are uniform in the box."),
    DS_INT("anywhere", "4", 0, 1e6, "",
           "With the model, one start in this many is uniform in the box; 0 = none."),
    DS_BOOL("trust", "true",
            "A search chooses between L-BFGS-B, descents, leaps and CMA-ES by how well its gradients predict "
            "the loss. false: descents only."),
    DS_REAL("good", "0.15", 0, 1, "",
            "Doubt of gradients (0: they predict the loss, 1: they predict the opposite) below which "
            "L-BFGS-B follows them."),
    DS_BOOL("patient", "true",
            "Every second search follows its first descent to the end before L-BFGS-B takes over: small "
            "steps pass over bumps that stop line searches."),
    DS_REAL("noisy", "0.3", 0, 1, "",
            "Doubt above which a search leaps: samples, and short descents from their mean."),
    DS_INT("stall", "1", 0, 1e6, "",
           "Evaluations in a row without progress after which a descent with such a doubt leaps; one that "
           "still falls continues."),
    DS_REAL("blind", "0.7", 0, 1, "",
            "Doubt above which only samples follow a descent that has ended (CMA-ES)."),
    DS_REAL("lr", "0.1", 1e-12, 1e6, "", "Learning rate of the first descent, where the box is [-1, 1]."),
    DS_INT("patience", "6", 0, 1e6, "",
           "A descent ends after more than this many evaluations in a row without improvement."),
    DS_REAL("sigma1", "0.3", 1e-6, 1e3, "",
            "Standard deviation of the first samples of a search, where the box is [-1, 1]."),
    LEAP_GRADIENTS,
    DS_REAL("polish", "0.3", 0, 1, "",
            "Share of the budget kept for the refinement of the best point by alternating L-BFGS-B, Adam and "
            "CMA-ES; 0 = none. Without a budget, the best point is refined whenever it is new."),
    DS_INT("polish_lanes", "1", 1, 1e4, "",
           "Searches that refine the best points of the race in step, as one batch, for half of that share; "
           "then the best point alone is refined. 1 = only the best point, one evaluation at a time; use "
           "more with as many processors."),
    SURROGATE_PARAMS,
    NULL};

static const ds_desc desc = {
    OPT_DESC("racer", "0.4.1"),
    .flags = DS_OPT_USES_BUDGET,
    .uses = DS_OPT_IDS(DS_HAS_GRADIENT),
    .summary =
        "Parallel local searches compete for the budget and use gradients while they help; our default",
    .description =
        "A Gaussian process proposes where local searches start; the given start is one of them. Several "
        "advance in step; each is paused after a rung of 6, 12, 24, ... evaluations and continues only if it "
        "is among the most promising. Each compares what its gradients predicted with what its steps gained, "
        "and so chooses L-BFGS-B, Adam, samples with descents, or samples alone. For the last part of the "
        "budget L-BFGS-B, Adam and CMA-ES alternate at the best point.",
    .citation = "This project; after " OPT_ANTONOVA ", and L. Li et al.: A system for massively parallel "
                "hyperparameter tuning. MLSys 2020, arXiv:1810.05934",
};

static const ds_opt_table table = {
    .size = sizeof(racer),
    .no_memory = "out of memory: lower lanes",
    .no_memory_run = BAYES_NO_MEMORY,
    .read = read_parameters,
    .allocate = allocate,
    .release = racer_release,
    .begins_at_start = ds_opt_kit_begins_at_start,
    .round = racer_search,
};

DS_OPT_KIT_DEFINE(table, desc)
