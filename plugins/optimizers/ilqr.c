/* SPDX-License-Identifier: Apache-2.0 */
/* ilqr.c - the iterative linear quadratic regulator: improves the controls of an episode by the linear model
 * of its steps.
 *
 *     v = start
 *     repeat
 *         x_t, A_t, B_t, cost and its derivatives of the episode with controls v
 *         k, K = the law that minimises the model within the bounds        (squares/riccati.h)
 *         for alpha = 1, shrink, shrink^2, ...
 *             new episode with v'_t = clamp(v_t + alpha k_t + K_t (x'_t - x_t))
 *             if it lowers the loss by the share `slope` of what the model predicts: v = v', mu falls
 *         without such an alpha: mu rises
 *     until the model predicts no decrease that the loss can show
 *
 * W. Li, E. Todorov, "Iterative linear quadratic regulator design for nonlinear biological movement systems"
 * (ICINCO 2004); bounds and mu as in Y. Tassa, N. Mansard, E. Todorov, "Control-limited differential dynamic
 * programming" (ICRA 2014), its change as in Y. Tassa, T. Erez, E. Todorov, "Synthesis and stabilization of
 * complex behaviors through online trajectory optimization" (IROS 2012). With the barrier's A and B it is the
 * trajectory optimization of T. Pang et al. (arXiv:2206.10787).
 *
 * Where the observation is the state, new episodes are stepped with feedback; else x' is that of the linear
 * model. Without a linear model every variable is a step of its own, its slope that of the loss, its second
 * derivative the change of the gradient over the last step (J. Barzilai, J. Borwein 1988): a damped gradient
 * descent. */
#include "methods/base/own.h"
#include "methods/squares/riccati.h"

#include <diffsim/ext/steps.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STATE, STATE_JACOBIAN, CONTROL_JACOBIAN, COST_GRADIENT, COST_HESSIAN, CHANNELS };
static const char *const names[CHANNELS] = {"state", "state_jacobian", "control_jacobian", "cost_gradient",
                                            "cost_hessian"};
enum { MOST_TRIALS = 100 };
static const double LEAST_MU = 1e-6, ROUNDING = 4 * DBL_EPSILON; /* of a loss, as a share */

typedef struct ilqr {
    ds_opt_kit kit;
    /* parameters */
    size_t trials;
    int64_t j, patience;
    double shrink, slope, mu_start, mu_most, tol;
    int use_feedback;
    /* episodes */
    size_t T, n, m;            /* steps, numbers of a state, of a control */
    uint32_t number[CHANNELS]; /* of the channels */
    double *channel[CHANNELS];
    int has_model, has_feedback;
    int full; /* second derivatives of the cost are matrices, not diagonals */
    ds_evaluator_lanes lanes;
    uint64_t *lane;
    double *obs, *action, *reward, *ended_loss; /* of the lanes */
    uint32_t *ended;
    size_t *open; /* trials whose episodes are open */
    /* search */
    double *v, *k, *K, *room;
    double *trial, *trial_loss; /* trials x T m, trials */
    double *dx;                 /* 2 n */
    double *before, *gradient; /* without a model: the last point and its gradient, kit.n each; the present */
    double curvature;          /* without a model: 0 = unknown */
    double mu, change;         /* its last factor; 1 = none yet */
    double *tried;             /* kit.n: the k of the last line search of this model */
    double loss;
} ilqr;

/* ---- episodes ---- */

/* The linear model of the episode at v. *loss is +INFINITY where the simulation fails. */
static ds_status read_model(ilqr *s, double *loss)
{
    ds_evaluator_query query[CHANNELS];
    double x;
    uint32_t outcome = DS_EVAL_OK;
    for (int i = 0; i < CHANNELS; i++) {
        query[i] = (ds_evaluator_query){.op = DS_QUERY_VALUE, .channel = s->number[i], .out = s->channel[i]};
    }
    ds_evaluator_request request = {
        .count = 1, .v = s->v, .loss = &x, .outcome = &outcome, .queries = CHANNELS, .query = query};
    ds_status status =
        ds_evaluator_send(&s->kit.evaluator, (ds_evaluator_label){"model", s->kit.round}, &request);
    *loss = x;
    return status;
}

/* The model of a loss with gradient at v. */
static ds_status read_gradient(ilqr *s, double *loss)
{
    const size_t N = s->kit.n;
    double *last = s->before + N, *g = s->gradient, along = 0.0, square = 0.0, most = 0.0;
    uint32_t outcome = DS_EVAL_OK;
    size_t done;
    ds_status status = ds_evaluator_run(&s->kit.evaluator, (ds_evaluator_label){"model", s->kit.round}, 1,
                                        s->v, loss, g, &outcome, &done);
    if (status != DS_OK) {
        return status;
    }
    *loss = outcome == DS_EVAL_OK ? *loss : (double)INFINITY;
    for (size_t i = 0; i < N; i++) {
        along += (g[i] - last[i]) * (s->v[i] - s->before[i]);
        square += (s->v[i] - s->before[i]) * (s->v[i] - s->before[i]);
        most = fmax(most, fabs(g[i]));
    }
    const int is_known = s->curvature > 0.0;
    s->curvature = is_known && along > 0.0 && square > 0.0 ? along / square : is_known ? s->curvature : most;
    memcpy(s->before, s->v, N * sizeof *g);
    memcpy(last, g, N * sizeof *g);
    for (size_t i = 0; i < N; i++) { /* one state, which nothing moves */
        s->channel[COST_GRADIENT][2 * i + 1] = g[i];
        s->channel[COST_HESSIAN][2 * i + 1] = s->curvature;
    }
    return DS_OK;
}

/* Controls of step t of trial i, from the deviation dx of its state. */
static void control(ilqr *s, size_t i, size_t t, double alpha, const double *dx)
{
    for (size_t a = 0; a < s->m; a++) {
        double to = s->v[t * s->m + a] + alpha * s->k[t * s->m + a];
        for (size_t l = 0; l < s->n; l++) {
            to += s->K[(t * s->m + a) * s->n + l] * dx[l];
        }
        s->trial[i * s->kit.n + t * s->m + a] = isnan(to) ? s->v[t * s->m + a] : ds_box_clamp(to, -1.0, 1.0);
    }
}

static double length_of_trial(const ilqr *s, size_t i)
{
    return pow(s->shrink, (double)i);
}

/* Trials first .. first + count - 1 by the states of the linear model. */
static ds_status try_linear(ilqr *s, size_t first, size_t count, size_t *done)
{
    for (size_t i = first; i < first + count; i++) {
        double *dx = s->dx, *next = dx + s->n;
        memset(dx, 0, s->n * sizeof *dx);
        for (size_t t = 0; t < s->T; t++) {
            const double *A = s->channel[STATE_JACOBIAN] + t * s->n * s->n,
                         *B = s->channel[CONTROL_JACOBIAN] + t * s->n * s->m;
            control(s, i, t, length_of_trial(s, i), dx);
            for (size_t l = 0; l < s->n; l++) {
                next[l] = 0.0;
                for (size_t c = 0; c < s->n; c++) {
                    next[l] += A[l * s->n + c] * dx[c];
                }
                for (size_t a = 0; a < s->m; a++) {
                    next[l] += B[l * s->m + a] * (s->trial[i * s->kit.n + t * s->m + a] - s->v[t * s->m + a]);
                }
            }
            double *const swapped = dx;
            dx = next;
            next = swapped;
        }
    }
    return ds_evaluator_run(&s->kit.evaluator, (ds_evaluator_label){"trial", s->kit.round}, count,
                            s->trial + first * s->kit.n, s->trial_loss + first, NULL, NULL, done);
}

/* One step of the trials in s->open. */
static ds_status step_trials(ilqr *s, size_t t, size_t *count)
{
    const ds_problem *p = s->kit.problem;
    for (size_t r = 0; r < *count; r++) {
        const double *state = s->channel[STATE] + t * s->n, *obs = s->obs + r * s->n;
        const size_t i = s->open[r];
        for (size_t l = 0; l < s->n; l++) {
            s->dx[l] = obs[l] - state[l];
        }
        control(s, i, t, length_of_trial(s, i), s->dx);
        ds_box_x_from_v(s->m, p->lower + t * s->m, p->upper + t * s->m, s->trial + i * s->kit.n + t * s->m,
                        s->action + r * s->m);
    }
    ds_evaluator_steps rows = {.count = *count,
                               .lane = s->lane,
                               .action = s->action,
                               .obs = s->obs,
                               .reward = s->reward,
                               .ended = s->ended,
                               .loss = s->ended_loss};
    const ds_status status = ds_evaluator_lanes_step(&s->lanes, &rows);
    size_t kept = 0;
    for (size_t r = 0; r < rows.done; r++) {
        if (s->ended[r] == DS_STEPS_CONTINUES) {
            memmove(s->obs + kept * s->n, s->obs + r * s->n, s->n * sizeof *s->obs);
            s->lane[kept] = s->lane[r];
            s->open[kept++] = s->open[r];
        } else {
            s->trial_loss[s->open[r]] = s->ended_loss[r];
        }
    }
    *count = kept;
    return status;
}

/* Trials first .. first + count - 1 with feedback, in as many rounds as the lanes need. */
static ds_status try_feedback(ilqr *s, size_t first, size_t count, size_t *done)
{
    *done = 0;
    while (*done < count) {
        size_t open = count - *done < s->lanes.count ? count - *done : s->lanes.count;
        for (size_t r = 0; r < open; r++) {
            s->lane[r] = r;
            s->open[r] = first + *done + r;
            s->trial_loss[s->open[r]] = INFINITY;
        }
        ds_evaluator_steps rows = {.count = open, .lane = s->lane, .obs = s->obs};
        ds_status status =
            ds_evaluator_lanes_begin(&s->lanes, (ds_evaluator_label){"trial", s->kit.round}, &rows);
        if (status != DS_OK) {
            return status;
        }
        open = rows.done;
        *done += open;
        for (size_t t = 0; status == DS_OK && t < s->T && open > 0; t++) {
            status = step_trials(s, t, &open);
        }
        if (status != DS_OK) {
            return status;
        }
    }
    return DS_OK;
}

/* ---- search ---- */

/* Tries the lengths until one is good enough: the first alone, then the others together. *taken: whether v
 * was replaced. Where mu outweighs the second derivatives, k is the gradient divided by mu: a shorter step is
 * that of a larger mu, and only the first length is tried. */
static ds_status line_search(ilqr *s, double slope, double bend, int *taken)
{
    const size_t lengths = s->mu >= 1.0 ? 1 : s->trials;
    *taken = 0;
    memcpy(s->tried, s->k, s->kit.n * sizeof *s->k);
    for (size_t first = 0; first < lengths && !*taken; first = first == 0 ? 1 : lengths) {
        const size_t count = first == 0 ? 1 : lengths - first;
        size_t done;
        const ds_status status =
            s->has_feedback ? try_feedback(s, first, count, &done) : try_linear(s, first, count, &done);
        if (status != DS_OK) {
            return status;
        }
        for (size_t i = first; i < first + count && !*taken; i++) {
            const double alpha = length_of_trial(s, i), promised = alpha * slope - alpha * alpha * bend;
            if (isfinite(s->trial_loss[i]) && s->trial_loss[i] < s->loss - s->slope * promised) {
                memcpy(s->v, s->trial + i * s->kit.n, s->kit.n * sizeof *s->v);
                *taken = 1;
            }
        }
    }
    return DS_OK;
}

static riccati_model model_of(const ilqr *s)
{
    return (riccati_model){.T = s->T,
                           .n = s->n,
                           .m = s->m,
                           .A = s->channel[STATE_JACOBIAN],
                           .B = s->channel[CONTROL_JACOBIAN],
                           .c = s->channel[COST_GRADIENT],
                           .H = s->channel[COST_HESSIAN],
                           .full = s->full,
                           .v = s->v};
}

/* Converts the second derivatives of step t by its number i. */
static void convert_curvature(ilqr *s, size_t t, size_t i, double half)
{
    const size_t all = s->n + s->m;
    double *H = s->channel[COST_HESSIAN] + t * all * (s->full ? all : 1);
    if (!s->full) {
        H[i] *= half * half;
        return;
    }
    for (size_t j = 0; j < all; j++) {
        H[i * all + j] *= half;
        H[j * all + i] *= half;
    }
}

/* Converts the derivatives by controls to [-1, 1]. */
static void convert_model(ilqr *s)
{
    for (size_t t = 0; t < s->T; t++) {
        for (size_t a = 0; a < s->m; a++) {
            const double half =
                ds_box_half(s->kit.problem->lower[t * s->m + a], s->kit.problem->upper[t * s->m + a]);
            double *B = s->channel[CONTROL_JACOBIAN] + t * s->n * s->m + a;
            for (size_t l = 0; l < s->n; l++) {
                B[l * s->m] *= half;
            }
            s->channel[COST_GRADIENT][t * (s->n + s->m) + s->n + a] *= half;
            convert_curvature(s, t, s->n + a, half);
        }
    }
}

/* mu rises and falls by factors that grow as long as it keeps its direction; below LEAST_MU it is 0. */
static void raise_mu(ilqr *s)
{
    s->change = fmax(2.0, 2.0 * s->change);
    s->mu = fmax(LEAST_MU, s->change * s->mu);
}

static void lower_mu(ilqr *s)
{
    s->change = fmin(0.5, 0.5 * s->change);
    s->mu = s->change * s->mu >= LEAST_MU ? s->change * s->mu : 0.0;
}

/* Is k the one that failed but for a tenth? Its trials would fail like those. */
static int is_tried(const ilqr *s)
{
    double most = 0.0, off = 0.0;
    for (size_t i = 0; i < s->kit.n; i++) {
        most = fmax(most, fabs(s->tried[i]));
        off = fmax(off, fabs(s->k[i] - s->tried[i]));
    }
    return off <= 0.1 * most;
}

/* Steps from the model until one succeeds. *taken = 0: none does, or the model predicts no decrease that the
 * loss can show. */
static ds_status take_step(ilqr *s, int *taken)
{
    const riccati_model model = model_of(s);
    const double scale = riccati_scale(&model, s->room);
    *taken = 0;
    for (int failed = 0; s->mu <= s->mu_most; raise_mu(s)) {
        double slope, bend;
        if (!riccati_back(&model, s->mu, scale, s->k, s->K, &slope, &bend, s->room)) {
            continue;
        }
        if (!(slope - bend > ROUNDING * fabs(s->loss))) {
            return DS_OK;
        }
        if (failed && is_tried(s)) {
            continue;
        }
        const ds_status status = line_search(s, slope, bend, taken);
        if (status != DS_OK || s->kit.host->should_stop(s->kit.host)) {
            return status != DS_OK ? status : DS_STOPPED;
        }
        if (*taken) {
            lower_mu(s);
            return DS_OK;
        }
        failed = 1;
    }
    return DS_OK;
}

/* One search, from its start until it makes no more progress. */
static ds_status ilqr_search(void *self)
{
    ilqr *s = self;
    double first = NAN;
    int64_t stall = 0;
    ds_opt_kit_start(&s->kit, s->kit.round, s->v);
    s->mu = s->mu_start;
    s->change = 1.0;
    s->curvature = 0.0;
    for (int64_t t = 0; t < s->j && stall <= s->patience; t++) {
        const double before = s->loss;
        int taken;
        ds_status status = s->has_model ? read_model(s, &s->loss) : read_gradient(s, &s->loss);
        if (status != DS_OK || !isfinite(s->loss)) {
            return status;
        }
        if (t == 1) {
            first = before - s->loss;
        }
        stall = t > 0 && before - s->loss <= s->tol * fabs(first) ? stall + 1 : 0;
        if (s->has_model) {
            convert_model(s);
        }
        status = take_step(s, &taken);
        if (status != DS_OK) {
            return status;
        }
        if (!taken) {
            return DS_OK;
        }
    }
    return DS_OK;
}

/* ---- set-up ---- */

static const ds_channel *find_channel(const ds_objective_channels *list, const char *name, uint32_t *number)
{
    for (uint64_t i = 0; list != NULL && i < list->count; i++) {
        if (strcmp(list->channel[i]->name, name) == 0 && list->channel[i]->type == DS_TYPE_F64) {
            *number = (uint32_t)i;
            return list->channel[i];
        }
    }
    return NULL;
}

/* Without a linear model: every variable is a step with one control, and one state that stays 0. */
static ds_status take_gradients(ilqr *s, const char *why)
{
    const size_t N = s->kit.n;
    s->T = N;
    s->n = s->m = 1;
    for (int i = 0; i < CHANNELS; i++) {
        s->channel[i] = ds_memory_doubles(&s->kit.memory, 2 * (N + 1));
    }
    s->before = ds_memory_doubles(&s->kit.memory, 2 * N);
    s->gradient = ds_memory_doubles(&s->kit.memory, N);
    char line[200];
    snprintf(line, sizeof line, "%s: a damped gradient descent", why);
    s->kit.host->log(s->kit.host, DS_LOG_INFO, line);
    return DS_OK;
}

/* Finds the channels of the linear model and the sizes of the episode. */
static ds_status find_model(ilqr *s)
{
    const ds_objective_channels *list = ds_evaluator_channels(&s->kit.evaluator);
    const ds_channel *c[CHANNELS];
    for (int i = 0; i < CHANNELS; i++) {
        c[i] = find_channel(list, names[i], &s->number[i]);
        const int matrices = i == STATE_JACOBIAN || i == CONTROL_JACOBIAN;
        if (c[i] == NULL || (c[i]->ndim != (matrices ? 3 : 2) && !(i == COST_HESSIAN && c[i]->ndim == 3))) {
            return take_gradients(s, "the environment has no linear model of its steps");
        }
    }
    /* An episode has one state more than steps: the host joins the episodes of an expected loss. */
    if (c[STATE]->shape[0] > c[CONTROL_JACOBIAN]->shape[0] + 1) {
        return take_gradients(s, "an evaluation has several episodes, each with a linear model of its own");
    }
    s->full = c[COST_HESSIAN]->ndim == 3;
    s->has_model = 1;
    s->T = (size_t)c[CONTROL_JACOBIAN]->shape[0];
    s->n = (size_t)c[CONTROL_JACOBIAN]->shape[1];
    s->m = (size_t)c[CONTROL_JACOBIAN]->shape[2];
    const uint64_t expected[CHANNELS] = {(s->T + 1) * s->n, s->T * s->n * s->n, s->T * s->n * s->m,
                                         (s->T + 1) * (s->n + s->m),
                                         (s->T + 1) * (s->n + s->m) * (s->full ? s->n + s->m : 1)};
    for (int i = 0; i < CHANNELS; i++) {
        if (ds_channel_elements(c[i]) != expected[i]) {
            return ds_host_fail(s->kit.host, DS_E_UNSUPPORTED,
                                "ilqr: channel %s has %llu elements; %llu follow from the shape of %s",
                                names[i], (unsigned long long)ds_channel_elements(c[i]),
                                (unsigned long long)expected[i], names[CONTROL_JACOBIAN]);
        }
        s->channel[i] = ds_memory_doubles(&s->kit.memory, (size_t)expected[i]);
    }
    if (s->T * s->m != s->kit.n) {
        return ds_host_fail(s->kit.host, DS_E_UNSUPPORTED,
                            "ilqr changes %llu controls, and the search has %llu variables: fix none",
                            (unsigned long long)(s->T * s->m), (unsigned long long)s->kit.n);
    }
    return DS_OK;
}

/* Steps with feedback where the observation has as many numbers as the state: by the rule of these channels
 * it is the state. */
static ds_status find_steps(ilqr *s)
{
    if (!s->has_model || !s->use_feedback ||
        ds_evaluator_extension(&s->kit.evaluator, DS_EXT_OBJECTIVE_STEPS) == NULL) {
        return DS_OK;
    }
    const ds_status status = ds_evaluator_lanes_open(&s->kit.evaluator, &s->lanes);
    s->has_feedback = status == DS_OK && s->lanes.info->n_obs == s->n && s->lanes.info->horizon == s->T;
    return status;
}

static ds_status ilqr_begin(void *self)
{
    ilqr *s = self;
    ds_memory *own = &s->kit.memory;
    ds_status status = find_model(s);
    status = status != DS_OK ? status : find_steps(s);
    if (status != DS_OK) {
        return status;
    }
    s->v = ds_memory_doubles(own, s->kit.n);
    s->k = ds_memory_doubles(own, s->kit.n);
    s->K = ds_memory_doubles(own, s->kit.n * s->n);
    s->room = ds_memory_doubles(own, riccati_room(s->n, s->m));
    s->tried = ds_memory_doubles(own, s->kit.n);
    s->trial = ds_memory_doubles(own, s->trials * s->kit.n);
    s->trial_loss = ds_memory_doubles(own, s->trials);
    s->dx = ds_memory_doubles(own, 2 * s->n);
    s->lane = ds_memory_take(own, s->trials, sizeof *s->lane);
    s->open = ds_memory_take(own, s->trials, sizeof *s->open);
    s->ended = ds_memory_take(own, s->trials, sizeof *s->ended);
    s->obs = ds_memory_doubles(own, s->trials * s->n);
    s->action = ds_memory_doubles(own, s->trials * s->m);
    s->reward = ds_memory_doubles(own, s->trials);
    s->ended_loss = ds_memory_doubles(own, s->trials);
    return own->failed || !ds_opt_kit_rows(&s->kit, s->trials) ? DS_E_NOMEM : DS_OK;
}

static void ilqr_read(void *self, ds_param_reader *in)
{
    ilqr *s = self;
    s->trials = (size_t)ds_param_int(in, "trials");
    s->shrink = ds_param_real(in, "shrink");
    s->slope = ds_param_real(in, "slope");
    s->mu_start = ds_param_real(in, "mu");
    s->mu_most = ds_param_real(in, "mu_most");
    s->use_feedback = ds_param_int(in, "feedback") != 0;
    s->j = ds_param_int(in, "j");
    s->patience = ds_param_int(in, "patience");
    s->tol = ds_param_real(in, "tol");
}

static const ds_param *const params[] = {
    DS_INT("trials", "8", 1, MOST_TRIALS, "",
           "Lengths alpha = 1, shrink, shrink^2, ... of an iteration: the first is tried alone, the others "
           "together; one evaluation each. From mu = 1 on only the first: shorter ones are those of a larger "
           "mu."),
    DS_REAL("shrink", "0.5", 1e-3, 0.999, "", "Factor from one length to the next."),
    DS_REAL("slope", "0.1", 0, 1, "", "Share of the predicted decrease that a trial must reach."),
    DS_REAL("mu", "0", 0, 1e12, "",
            "Regularisation at the start of a search, in units of the mean second derivative by a control."),
    DS_REAL("mu_most", "1e10", 1e-12, 1e100, "",
            "A search ends, and another begins at a random point, where no step succeeds with this."),
    DS_BOOL("feedback", "true",
            "Step new episodes with the law of the model, where the environment can be stepped and its "
            "observation is the state; false = take the states of the linear model."),
    DS_OPT_START_PARAMS("true"),
    DS_INT("j", "1000000", 1, 1e9, "", "Most iterations of a search."),
    DS_INT("patience", "3", 0, 1e9, "",
           "A search ends when the loss has not fallen for more than this many iterations in a row."),
    DS_REAL("tol", "1e-9", 0, 1, "",
            "Least decrease that counts as progress, as a share of the first decrease."),
    NULL};

static const ds_desc desc = {
    OPT_DESC("ilqr", "0.2.0"),
    .needs = DS_OPT_IDS(DS_HAS_GRADIENT),
    .uses = DS_OPT_IDS(DS_EXT_CHANNELS, DS_EXT_STEPS),
    .summary = "Iterative linear quadratic regulator: improves controls by the linear model of each step",
    .description =
        "Repeats: linearise the steps of an episode and expand its cost; find the feedback law that "
        "minimises the model within the bounds; step a new episode with it, shorter steps first where that "
        "fails. Converges almost as fast as Newton's method on smooth tasks of control, at a cost that grows "
        "linearly with the steps. An iteration takes one evaluation for the model and one for each trial. "
        "A search ends, and another begins at a random point, where the model predicts no decrease above the "
        "rounding of the loss.\n"
        "The choice where the environment has the channels state, state_jacobian, control_jacobian, "
        "cost_gradient and cost_hessian. Without them, and with env.expect, it is a damped gradient descent, "
        "and lbfgsb is better.",
    .citation =
        "W. Li, E. Todorov: Iterative linear quadratic regulator design for nonlinear biological movement "
        "systems. ICINCO 2004; Y. Tassa, N. Mansard, E. Todorov: Control-limited differential dynamic "
        "programming. ICRA 2014; Y. Tassa, T. Erez, E. Todorov: Synthesis and stabilization of complex "
        "behaviors through online trajectory optimization. IROS 2012",
};

static const ds_opt_table table = {
    .size = sizeof(ilqr),
    .no_memory_run = "out of memory: lower trials",
    .read = ilqr_read,
    .begins_at_start = ds_opt_kit_begins_at_start,
    .begin = ilqr_begin,
    .round = ilqr_search,
};

DS_OPT_KIT_DEFINE(table, desc)
