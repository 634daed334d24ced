/* SPDX-License-Identifier: Apache-2.0 */
/* descent.c - projected gradient descent with Adam and simpler step rules, see descent.h. */
#include "methods/gradient/descent.h"

#include <diffsim/helper/box.h>

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARMIJO_TRIALS 10 /* shorter steps tried before a descent ends */
#define ADAM_EPS 1e-8    /* of the largest root of a second moment: it has the unit of the loss */

const char *const descent_steps[] = {"adam", "gd", "nsgd", "momentum", "armijo", "lbfgsb", NULL};

descent_options descent_read_options(ds_param_reader *in)
{
    int step = (int)ds_param_int(in, "step");
    step = step == DESCENT_GD         ? DESCENT_MEASURED_GD
           : step == DESCENT_MOMENTUM ? DESCENT_MEASURED_MOMENTUM
                                      : step;
    descent_options o = {step, ds_param_real(in, "lr"), ds_param_int(in, "patience"),
                         ds_param_real(in, "tol"), ds_param_real(in, "outlier")};
    return o;
}

/* The quasi-Newton search of [-1, 1]^n; NULL without memory. It ends by patience, not by its own
 * tolerances. */
static lbfgsb *make_quasi_newton(size_t n)
{
    const lbfgsb_options options = {10, 0.0, 0.0, INT_MAX, INT_MAX, 0.1};
    ds_memory bounds = {NULL, 0};
    double *lower = ds_memory_doubles(&bounds, n), *upper = ds_memory_doubles(&bounds, n);
    for (size_t k = 0; !bounds.failed && k < n; k++) {
        lower[k] = -1.0;
        upper[k] = 1.0;
    }
    lbfgsb *made = bounds.failed ? NULL : lbfgsb_create(n, lower, upper, &options);
    ds_memory_free(&bounds);
    return made;
}

int descent_init(descent *d, size_t n, const descent_options *options)
{
    memset(d, 0, sizeof(*d));
    d->n = n;
    d->options = *options;
    ds_memory_each(&d->memory, n,
                   (double **const[]){&d->best, &d->last, &d->s, &d->gradient, &d->moment, &d->root, NULL});
    if (options->step == DESCENT_LBFGSB) {
        d->quasi_newton = make_quasi_newton(n);
        d->memory.failed |= !d->quasi_newton;
    }
    return !d->memory.failed;
}

void descent_free(descent *d)
{
    lbfgsb_destroy(d->quasi_newton);
    d->quasi_newton = NULL;
    ds_memory_free(&d->memory);
}

/* Largest component, NAN if one is not finite. */
static double max_norm(size_t n, const double *g)
{
    double norm = 0.0;
    for (size_t k = 0; k < n; k++) {
        if (!isfinite(g[k])) {
            return NAN;
        }
        norm = fmax(norm, fabs(g[k]));
    }
    return norm;
}

/* Takes the gradient into the moments of Adam. Returns the largest root of the second one. */
static double absorb(descent *d)
{
    double largest = 0.0;
    for (size_t k = 0; k < d->n; k++) {
        double g = d->gradient[k];
        d->moment[k] = 0.9 * d->moment[k] + 0.1 * g;
        /* the root of the second moment: the square of a huge gradient would overflow */
        d->root[k] = hypot(sqrt(0.999) * d->root[k], sqrt(0.001) * g);
        largest = fmax(largest, d->root[k]);
    }
    return largest;
}

/* The change of coordinate k at step t = 1, 2, ...; `norm` is the Euclidean norm of the gradient, `largest`
 * what absorb() returned. */
static double step_size(descent *d, size_t k, int64_t t, double norm, double largest)
{
    int step = d->options.step,
        is_measured = step == DESCENT_MEASURED_GD || step == DESCENT_MEASURED_MOMENTUM;
    double lr = d->options.lr, g = d->gradient[k] * (is_measured ? sqrt((double)d->n) / d->unit : 1.0);
    switch (step) {
    case DESCENT_ADAM:
        return lr * (d->moment[k] / (1.0 - pow(0.9, (double)t))) /
               ((d->root[k] + ADAM_EPS * largest) / sqrt(1.0 - pow(0.999, (double)t)));
    case DESCENT_NSGD:
        return lr * sqrt((double)d->n) * (g / norm);
    case DESCENT_MOMENTUM:
    case DESCENT_MEASURED_MOMENTUM:
        d->moment[k] = 0.9 * d->moment[k] + 0.1 * g;
        return lr * d->moment[k];
    default:
        return lr * g;
    }
}

/* s <- clamp(s - step(gradient)). Returns whether s changed. */
static int take_step(descent *d, int64_t t, double largest)
{
    double sum = 0.0;
    for (size_t k = 0; k < d->n; k++) {
        sum += (d->gradient[k] / largest) * (d->gradient[k] / largest);
    }
    double norm = largest * sqrt(sum); /* scaled: squares of huge gradients overflow */
    double root = d->options.step == DESCENT_ADAM ? absorb(d) : 0.0;
    int moved = 0;
    d->unit = d->unit > 0.0 ? d->unit : norm;
    for (size_t k = 0; k < d->n; k++) {
        double before = d->s[k], after = before - step_size(d, k, t, norm, root);
        d->s[k] = isnan(after) ? before : ds_box_clamp(after, -1.0, 1.0);
        moved |= d->s[k] != before;
    }
    return moved;
}

/* The next trial of Armijo's rule from the base point (in `root`) along its normalised gradient (in
 * `moment`). Returns whether it differs from the base point. */
static int try_step(descent *d)
{
    int moved = 0;
    for (size_t k = 0; k < d->n; k++) {
        d->s[k] = ds_box_clamp(d->root[k] - d->length * d->moment[k], -1.0, 1.0);
        moved |= d->s[k] != d->root[k];
    }
    return moved;
}

/* Takes s as the base point of the next step; its length was accepted, so that twice of it is tried. */
static int new_base(descent *d, double loss, double largest)
{
    double sum = 0.0;
    for (size_t k = 0; k < d->n; k++) {
        sum += (d->gradient[k] / largest) * (d->gradient[k] / largest);
    }
    for (size_t k = 0; k < d->n; k++) {
        d->root[k] = d->s[k];
        d->moment[k] = sqrt((double)d->n / sum) * (d->gradient[k] / largest);
    }
    d->length = d->told == 1 ? d->options.lr : fmin(2.0 * d->length, 2.0);
    d->base_loss = loss;
    d->trials = 0;
    d->slope = largest * sqrt(sum / (double)d->n);
    return try_step(d);
}

/* Whether the trial s meets Armijo's condition f(s) <= f(base) - 1e-4 g . (base - s). */
static int accepted(const descent *d, double loss)
{
    double fall = 0.0;
    for (size_t k = 0; k < d->n; k++) {
        fall += d->moment[k] * (d->root[k] - d->s[k]);
    }
    return loss <= d->base_loss - 1e-4 * d->slope * fall;
}

static int backtrack(descent *d)
{
    d->length *= 0.5;
    return ++d->trials <= ARMIJO_TRIALS && d->told < d->limit && try_step(d);
}

void descent_begin(descent *d, const double *start, int64_t limit)
{
    size_t bytes = d->n * sizeof(double);
    d->limit = limit;
    d->told = 0;
    d->stall = 0;
    d->best_loss = d->first_loss = INFINITY;
    d->unit = 0.0;
    d->evaluations = 0;
    memset(d->moment, 0, bytes);
    memset(d->root, 0, bytes);
    for (size_t k = 0; k < d->n; k++) {
        d->s[k] = ds_box_clamp(start[k], -1.0, 1.0);
    }
    memcpy(d->best, d->s, bytes);
    memcpy(d->last, d->s, bytes);
    d->norms.count = 0;
    if (d->options.step == DESCENT_LBFGSB) {
        lbfgsb_start(d->quasi_newton, d->s);
    }
}

/* Counts a successful evaluation of s, as progress or, where that says something, as none. */
static void note_loss(descent *d, double loss, int may_stall)
{
    size_t bytes = d->n * sizeof(double);
    d->evaluations = d->told;
    memcpy(d->last, d->s, bytes);
    d->first_loss = d->told == 1 ? loss : d->first_loss;
    if (d->told == 1 || loss < d->best_loss - d->options.tol * (d->first_loss - d->best_loss)) {
        d->best_loss = loss;
        memcpy(d->best, d->s, bytes);
        d->stall = 0;
    } else if (may_stall) {
        d->stall++;
    }
}

/* Gives an outlier among the gradients the length of a typical one. Returns the largest component. */
static double shorten(descent *d, double largest)
{
    double sum = 0.0;
    for (size_t k = 0; k < d->n; k++) {
        sum += (d->gradient[k] / largest) * (d->gradient[k] / largest);
    }
    double norm = largest * sqrt(sum), length = outlier_length(&d->norms, d->options.outlier, norm);
    if (!(length < norm)) {
        return largest;
    }
    for (size_t k = 0; k < d->n; k++) {
        d->gradient[k] *= length / norm;
    }
    return largest * (length / norm);
}

/* The quasi-Newton search takes the answer; failed simulations are trials of its line search. */
static int tell_quasi_newton(descent *d, double loss, const double *gradient, uint32_t outcome)
{
    if (isfinite(loss)) {
        note_loss(d, loss, 1);
    }
    if (outcome == DS_EVAL_BAD_GRAD || d->stall > d->options.patience || d->told >= d->limit ||
        lbfgsb_tell(d->quasi_newton, loss, gradient) != LBFGSB_EVALUATE) {
        return 0;
    }
    memcpy(d->s, lbfgsb_point(d->quasi_newton), d->n * sizeof(double));
    return 1;
}

int descent_tell(descent *d, double loss, const double *gradient, uint32_t outcome)
{
    int armijo = d->options.step == DESCENT_ARMIJO;
    d->told++;
    if (d->options.step == DESCENT_LBFGSB) {
        return tell_quasi_newton(d, loss, gradient, outcome);
    }
    if (!isfinite(loss)) {
        return armijo && d->told > 1 && backtrack(d);
    }
    int rejected = armijo && d->told > 1 && !accepted(d, loss);
    note_loss(d, loss, !rejected);
    if (rejected) {
        return backtrack(d);
    }
    if (gradient != d->gradient) {
        memcpy(d->gradient, gradient, d->n * sizeof(double));
    }
    double largest = max_norm(d->n, d->gradient);
    if (outcome != DS_EVAL_OK || d->stall > d->options.patience || !(largest > 0.0) || d->told >= d->limit) {
        return 0;
    }
    return armijo ? new_base(d, loss, largest) : take_step(d, d->told, shorten(d, largest));
}

ds_status descent_run(descent *d, const double *start, int64_t limit, descent_evaluate evaluate, void *ctx)
{
    ds_status status;
    double loss;
    uint32_t outcome;
    descent_begin(d, start, limit);
    do {
        loss = INFINITY;
        outcome = DS_EVAL_OK;
        status = evaluate(ctx, d->s, &loss, d->gradient, &outcome);
    } while (descent_tell(d, loss, d->gradient, outcome) && status == DS_OK);
    return status;
}

/* ---- from many starts ---- */

void multistart_read(multistart *m, ds_param_reader *in, const local_search *search)
{
    m->search = search;
    m->arms = (size_t)ds_param_int(in, "arms");
}

int multistart_allocate(multistart *m)
{
    ds_memory *own = &m->kit.memory;
    m->v = ds_memory_doubles(own, m->arms * m->kit.n);
    m->gradient = ds_memory_doubles(own, m->arms * m->kit.n);
    m->loss = ds_memory_doubles(own, m->arms);
    m->start = ds_memory_doubles(own, m->kit.n);
    m->number = ds_memory_take(own, m->arms, sizeof *m->number);
    m->fresh = ds_memory_take(own, m->arms, sizeof *m->fresh);
    m->outcome = ds_memory_take(own, m->arms, sizeof *m->outcome);
    return ds_opt_kit_rows(&m->kit, m->arms) && !own->failed;
}

static void begin_search(multistart *m, size_t arm)
{
    m->number[arm] = ++m->starts;
    m->fresh[arm] = 1;
    ds_opt_kit_start(&m->kit, m->starts, m->start);
    m->search->begin(m, arm, m->start);
}

/* Reports the mean length of the steps from the last points to the next ones, where the box is [-1, 1], and
 * how many searches have begun. */
static ds_status report(multistart *m)
{
    static const char *const names[] = {"searches", "step"};
    const size_t n = m->kit.n;
    double sum = 0.0;
    size_t steps = 0;
    for (size_t arm = 0; arm < m->arms; arm++) {
        const double *from = m->v + arm * n, *to = m->search->point(m, arm);
        double squares = 0.0;
        for (size_t k = 0; !m->fresh[arm] && k < n; k++) {
            squares += (to[k] - from[k]) * (to[k] - from[k]);
        }
        sum += sqrt(squares);
        steps += !m->fresh[arm];
    }
    const double values[] = {(double)m->starts, sum / (double)steps};
    return ds_evaluator_report(&m->kit.evaluator, steps > 0 ? 2 : 1, names, values, NULL);
}

/* Simulates the next point of every arm in one batch. */
static ds_status simulate_arms(multistart *m)
{
    size_t n = m->kit.n, done;
    ds_evaluator_label label = {"init", m->starts};
    for (size_t arm = 0; arm < m->arms; arm++) {
        memcpy(m->v + arm * n, m->search->point(m, arm), n * sizeof(double));
        if (!m->fresh[arm]) {
            label.tag = "descent";
        }
        if (m->number[arm] < label.group) {
            label.group = m->number[arm];
        }
        m->fresh[arm] = 0;
    }
    return ds_evaluator_run(&m->kit.evaluator, label, m->arms, m->v, m->loss, m->gradient, m->outcome, &done);
}

ds_status multistart_begin(void *self)
{
    multistart *m = self;
    for (size_t arm = 0; arm < m->arms; arm++) {
        begin_search(m, arm);
    }
    return DS_OK;
}

ds_status multistart_round(void *self)
{
    multistart *m = self;
    ds_status status = report(m);
    status = status != DS_OK ? status : simulate_arms(m);
    for (size_t arm = 0; status == DS_OK && arm < m->arms; arm++) {
        if (!m->search->tell(m, arm, m->loss[arm], m->gradient + arm * m->kit.n, m->outcome[arm])) {
            begin_search(m, arm);
        }
    }
    return status;
}
