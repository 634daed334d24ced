/* SPDX-License-Identifier: Apache-2.0 */
/* levenberg.c - the Levenberg-Marquardt method in a box, see levenberg.h. */
#include "methods/squares/levenberg.h"

#include "methods/base/blas.h"

#include <diffsim/helper/box.h>
#include <diffsim/helper/fail.h>
#include <diffsim/helper/memory.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double damping_min = 1e-6, /* of the largest component at the start */
    near_max = 1e32, radius_min = 1e-32, radius_max = 1e16;

struct lm {
    size_t n, m;
    lm_options options;
    double *lower, *upper;
    double *x, *trial;   /* accepted point, and the one in question */
    double *r;           /* at x */
    double *j;           /* m x n at x */
    double *g, *damping; /* J^T r, D */
    double *near;        /* added to D/mu; 0 with LM_CLAMPED_BOUNDS */
    double *step;        /* trial - x */
    double cost, radius, factor, predicted;
    double square; /* largest component of diag J^T J at the start; 0 = not known yet */
    size_t iterations;
    size_t *free, frees; /* variables that may move */
    double *stack, *rhs; /* (m + n) min(m, n), and m + n: the system of a step, by columns */
    double *work;
    int lwork;
    int started; /* r at x is known */
    ds_memory memory;
};

lm *lm_create(size_t n, size_t m, const double *lower, const double *upper, const lm_options *options)
{
    lm *s = calloc(1, sizeof *s);
    if (!s) {
        return NULL;
    }
    size_t least = m < n ? m : n;
    int rows = (int)(m < n ? m : m + n), columns = (int)(m < n ? m + n : n), longest = (int)(m + n);
    int one = 1, info = 0, query = -1;
    double size = 0;
    s->n = n;
    s->m = m;
    s->options = *options;
    dgels_("N", &rows, &columns, &one, NULL, &rows, NULL, &longest, &size, &query, &info, 1);
    s->lwork = (int)size;
    ds_memory *own = &s->memory;
    ds_memory_each(own, n,
                   (double **const[]){&s->lower, &s->upper, &s->x, &s->trial, &s->g, &s->damping, &s->near,
                                      &s->step, NULL});
    s->r = ds_memory_doubles(own, m);
    s->j = ds_memory_doubles(own, m * n);
    s->free = ds_memory_take(own, n, sizeof(*s->free));
    s->stack = ds_memory_doubles(own, (m + n) * least);
    s->rhs = ds_memory_doubles(own, m + n);
    s->work = ds_memory_doubles(own, (size_t)s->lwork);
    if (own->failed) {
        lm_destroy(s);
        return NULL;
    }
    memcpy(s->lower, lower, n * sizeof(double));
    memcpy(s->upper, upper, n * sizeof(double));
    return s;
}

void lm_destroy(lm *s)
{
    if (s) {
        ds_memory_free(&s->memory);
        free(s);
    }
}

int lm_start(lm *s, const double *x)
{
    for (size_t i = 0; i < s->n; i++) {
        s->x[i] = s->trial[i] = ds_box_clamp(x[i], s->lower[i], s->upper[i]);
    }
    s->radius = s->options.radius;
    s->factor = 2;
    s->cost = INFINITY;
    s->square = 0;
    s->iterations = 0;
    s->started = 0;
    return LM_RESIDUALS;
}

const double *lm_point(const lm *s)
{
    return s->trial;
}

double lm_cost(const lm *s)
{
    return s->cost;
}

static int done(lm *s)
{
    memcpy(s->trial, s->x, s->n * sizeof(double));
    return LM_DONE;
}

/* Lists the variables that may move; returns the largest component of the projected gradient, g in units of
 * L. */
static double choose_free(lm *s)
{
    double largest = 0;
    s->frees = 0;
    for (size_t i = 0; i < s->n; i++) {
        const int is_free = s->g[i] > 0 ? s->x[i] > s->lower[i] : s->g[i] < 0 && s->x[i] < s->upper[i];
        if (is_free) {
            double moved = ds_box_clamp(s->x[i] - s->g[i] / s->cost, s->lower[i], s->upper[i]) - s->x[i];
            s->free[s->frees++] = i;
            largest = fmax(largest, fabs(moved));
        }
    }
    return largest;
}

/* sqrt(D/mu + near) of a variable. */
static double root_of_damping(const lm *s, size_t i)
{
    return sqrt(s->damping[i] / s->radius + s->near[i]);
}

/* The system of solve() by columns: as many rows as residuals and free variables, J over sqrt(D/mu). */
static int fill_tall(lm *s)
{
    size_t height = s->m + s->frees;
    for (size_t k = 0; k < s->frees; k++) {
        double *column = s->stack + k * height;
        memcpy(column, s->j + s->free[k] * s->m, s->m * sizeof(double));
        memset(column + s->m, 0, s->frees * sizeof(double));
        column[s->m + k] = root_of_damping(s, s->free[k]);
    }
    return (int)height;
}

/* The same with q = sqrt(D/mu) p and the residual left over, e = -(J p + r), as unknowns of least length:
 * fewer numbers where there are fewer residuals than variables. */
static int fill_wide(lm *s)
{
    for (size_t k = 0; k < s->frees; k++) {
        double root = root_of_damping(s, s->free[k]);
        for (size_t i = 0; i < s->m; i++) {
            s->stack[k * s->m + i] = s->j[s->free[k] * s->m + i] / root;
        }
    }
    memset(s->stack + s->frees * s->m, 0, s->m * s->m * sizeof(double));
    for (size_t i = 0; i < s->m; i++) {
        s->stack[(s->frees + i) * s->m + i] = 1;
    }
    return (int)s->m;
}

/* min |J p + r|^2 + p^T D p / mu over the free variables, by orthogonal factorisation. 0 where that fails. */
static int solve(lm *s)
{
    int wide = s->m < s->frees, one = 1, info = 0;
    int rows = wide ? fill_wide(s) : fill_tall(s), columns = (int)(wide ? s->frees + s->m : s->frees);
    int longest = (int)(s->m + s->frees);
    memset(s->step, 0, s->n * sizeof(double));
    memset(s->rhs, 0, (size_t)longest * sizeof(double));
    for (size_t i = 0; i < s->m; i++) {
        s->rhs[i] = -s->r[i];
    }
    dgels_("N", &rows, &columns, &one, s->stack, &rows, s->rhs, &longest, s->work, &s->lwork, &info, 1);
    for (size_t k = 0; k < s->frees; k++) {
        size_t i = s->free[k];
        s->step[i] = wide ? s->rhs[k] / root_of_damping(s, i) : s->rhs[k];
        if (!isfinite(s->step[i])) {
            return 0;
        }
    }
    return info == 0;
}

/* -(g . p) - |J p|^2 / 2 for the step as it is after the projection. */
static double predict(lm *s)
{
    double slope = 0, square = 0;
    cblas_dgemv(CblasColMajor, CblasNoTrans, (int)s->m, (int)s->n, 1, s->j, (int)s->m, s->step, 1, 0, s->rhs,
                1);
    for (size_t i = 0; i < s->n; i++) {
        slope += s->g[i] * s->step[i];
    }
    for (size_t i = 0; i < s->m; i++) {
        square += s->rhs[i] * s->rhs[i];
    }
    return -slope - 0.5 * square;
}

static void shrink(lm *s)
{
    s->radius /= s->factor;
    s->factor *= 2;
}

/* The next trial step from x; shortens steps that predict no gain after the projection at once. */
static int propose(lm *s)
{
    while (s->iterations < s->options.iterations && s->radius > radius_min) {
        double length = 0, size = 0;
        s->iterations++;
        if (solve(s)) {
            for (size_t i = 0; i < s->n; i++) {
                s->trial[i] = ds_box_clamp(s->x[i] + s->step[i], s->lower[i], s->upper[i]);
                s->step[i] = s->trial[i] - s->x[i];
                length += s->step[i] * s->step[i];
                size += s->x[i] * s->x[i];
            }
            if (sqrt(length) < s->options.xtol * (sqrt(size) + s->options.xtol)) {
                return done(s);
            }
            s->predicted = predict(s);
            if (s->predicted > 0) {
                return LM_RESIDUALS;
            }
        }
        shrink(s);
    }
    return done(s);
}

int lm_tell_residuals(lm *s, const double *r)
{
    double cost = r ? 0 : (double)INFINITY;
    for (size_t i = 0; r && i < s->m; i++) {
        cost += 0.5 * r[i] * r[i];
    }
    int usable = isfinite(cost);
    if (!s->started) {
        s->started = usable;
        if (!usable) {
            return done(s);
        }
    } else {
        double gain = s->cost - cost, ratio = gain / s->predicted;
        if (!usable || !(ratio > s->options.accept)) {
            shrink(s);
            return propose(s);
        }
        double t = 2 * ratio - 1;
        s->radius = fmin(s->radius / fmax(1.0 / 3, 1 - t * t * t), radius_max);
        s->factor = 2;
        if (gain < s->options.ftol * s->cost || cost == 0) {
            s->cost = cost;
            memcpy(s->x, s->trial, s->n * sizeof(double));
            return done(s);
        }
    }
    s->cost = cost;
    memcpy(s->x, s->trial, s->n * sizeof(double));
    memcpy(s->r, r, s->m * sizeof(double));
    return cost == 0 ? done(s) : LM_JACOBIAN;
}

/* How near the bounds are to which L falls. */
static void damp_bounds(lm *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const double room = s->g[i] < 0 ? s->upper[i] - s->x[i] : s->x[i] - s->lower[i];
        s->near[i] = room > 0 ? fmin(fabs(s->g[i]) / room, near_max * s->square) : 0;
    }
}

int lm_tell_jacobian(lm *s, const double *j)
{
    double sum = 0, most = 0;
    memcpy(s->j, j, s->m * s->n * sizeof(double));
    for (size_t i = 0; i < s->n; i++) {
        const double *column = s->j + i * s->m;
        double square = 0;
        s->g[i] = 0;
        for (size_t k = 0; k < s->m; k++) {
            s->g[i] += column[k] * s->r[k];
            square += column[k] * column[k];
        }
        s->damping[i] = square;
        sum += fabs(s->g[i]) + square;
        most = fmax(most, square);
    }
    s->square = s->square > 0 ? s->square : most;
    for (size_t i = 0; i < s->n; i++) {
        s->damping[i] = fmax(s->damping[i], damping_min * s->square);
    }
    if (s->options.bounds == LM_DAMPED_BOUNDS) {
        damp_bounds(s);
    }
    if (!isfinite(sum) || choose_free(s) <= s->options.gtol) {
        return done(s);
    }
    return propose(s);
}

/* ---- residuals and their Jacobian ---- */

enum { ROWS = 256, NUMBERS = 1 << 22 }; /* of one request, at most */
enum { MOST_NUMBERS = 1 << 27 };        /* of the system of a step: 1 GiB */

static const double difference = 1e-6; /* in units of half the box */

void least_squares_free(least_squares *q)
{
    ds_memory_free(&q->memory);
    memset(q, 0, sizeof *q);
}

/* The channel of residuals, if it offers everything needed. */
static void find_residuals(least_squares *q)
{
    const uint32_t needed = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    q->vector = ds_evaluator_find(q->evaluator, DS_CHANNEL_RESIDUAL, DS_TYPE_F64, needed, &q->channel);
}

ds_status least_squares_open(least_squares *q, ds_opt_kit *kit, int wanted, size_t arms)
{
    const ds_host *host = kit->host;
    const ds_problem *problem = kit->problem;
    memset(q, 0, sizeof *q);
    q->problem = problem;
    q->evaluator = &kit->evaluator;
    q->n = (size_t)problem->n;
    q->arms = arms;
    if (wanted != LEAST_SQUARES_SCALAR) {
        find_residuals(q);
    }
    if (wanted == LEAST_SQUARES_VECTOR && !q->vector) {
        return ds_host_fail(
            host, DS_E_UNSUPPORTED,
            "parameter residuals = vector: this environment has no residuals; use auto or scalar");
    }
    q->m = q->vector ? (size_t)ds_channel_elements(q->vector) : 1;
    const double least = (double)(q->m < q->n ? q->m : q->n);
    if (least * ((double)q->m + (double)q->n) > MOST_NUMBERS) {
        return ds_host_fail(
            host, DS_E_PARAM,
            "%zu residuals of %zu variables are too many for a Jacobian of at most %d numbers; use "
            "residuals = scalar, or take lbfgsb, adam or racer",
            q->m, q->n, (int)MOST_NUMBERS);
    }
    size_t most = q->n > q->m ? q->n : q->m, rows = NUMBERS / most < ROWS ? NUMBERS / most + 1 : ROWS;
    q->chunk = rows;
    rows = rows > arms ? rows : arms;
    q->v = ds_memory_doubles(&q->memory, rows * q->n);
    q->seed = ds_memory_doubles(&q->memory, rows * most);
    q->out = ds_memory_doubles(&q->memory, rows * most);
    q->loss = ds_memory_doubles(&q->memory, rows);
    q->outcome = ds_memory_take(&q->memory, rows, sizeof *q->outcome);
    q->last_loss = ds_memory_doubles(&q->memory, arms);
    q->floor = ds_memory_doubles(&q->memory, arms);
    q->last_gradient = ds_memory_doubles(&q->memory, arms * q->n);
    q->fresh = ds_memory_take(&q->memory, arms, sizeof *q->fresh);
    q->has_slopes = ds_memory_take(&q->memory, arms, sizeof *q->has_slopes);
    if (!ds_opt_kit_rows(kit, rows) || q->memory.failed) {
        return ds_host_fail(host, DS_E_NOMEM, "out of memory");
    }
    return DS_OK;
}

void least_squares_begin(least_squares *q, size_t arm)
{
    q->fresh[arm] = 1;
}

/* Queries the residuals at `count` points v. Products take their seeds from q->seed. */
static ds_status query(least_squares *q, uint32_t op, ds_evaluator_label label, size_t count, const double *v,
                       double *out, double *loss)
{
    ds_evaluator_query residuals = {
        .op = op, .channel = q->channel, .v = op == DS_QUERY_VALUE ? NULL : q->seed, .out = out};
    ds_evaluator_request request = {
        .count = count, .v = v, .loss = loss, .outcome = q->outcome, .queries = 1, .query = &residuals};
    return ds_evaluator_send(q->evaluator, label, &request);
}

/* The floor of a search with its first loss. Where none is known, it estimates one far below: ten times as
 * far as the loss would fall across the box with the slopes of the start. */
static void choose_floor(least_squares *q, size_t arm, double loss)
{
    double slopes = 0;
    for (size_t k = 0; k < q->n; k++) {
        slopes += fabs(q->last_gradient[arm * q->n + k]);
    }
    q->floor[arm] = isfinite(q->problem->loss_floor) ? q->problem->loss_floor : loss - 10 * slopes;
    q->fresh[arm] = 0;
}

static ds_status differences(least_squares *q, ds_evaluator_label label, size_t arm, const double *v,
                             double *j);

ds_status least_squares_residuals(least_squares *q, ds_evaluator_label label, size_t count, const size_t *arm,
                                  const double *v, double *r, double *loss)
{
    size_t n = q->n, done = 0;
    const ds_problem *p = q->problem;
    if (q->vector) {
        return query(q, DS_QUERY_VALUE, label, count, v, r, loss);
    }
    double *gradient = p->has_gradient ? q->out : NULL;
    ds_status status = ds_evaluator_run(q->evaluator, label, count, v, loss, gradient, q->outcome, &done);
    for (size_t k = 0; k < done; k++) {
        q->last_loss[arm[k]] = loss[k];
        q->has_slopes[arm[k]] = 0;
        if (gradient) {
            memcpy(q->last_gradient + arm[k] * n, gradient + k * n, n * sizeof(double));
        }
    }
    for (size_t k = 0; status == DS_OK && k < done; k++) {
        const size_t a = arm[k];
        if (q->fresh[a] && isfinite(loss[k])) {
            if (!gradient && !isfinite(p->loss_floor)) { /* the floor needs slopes, here from the Jacobian */
                status = differences(q, label, a, v + k * n, q->last_gradient + a * n);
                q->has_slopes[a] = 1;
            }
            choose_floor(q, a, loss[k]);
        }
        r[k] = fmax(0, loss[k] - q->floor[a]);
    }
    return status;
}

/* Column `column` of J, or row, is the product with a unit vector. */
static ds_status products(least_squares *q, ds_evaluator_label label, const double *v, double *j)
{
    const ds_problem *p = q->problem;
    size_t n = q->n, m = q->m, total = m < n ? m : n;
    uint32_t op = m < n ? DS_QUERY_JTV : DS_QUERY_JV;
    size_t in = m < n ? m : n, out = m < n ? n : m;
    ds_status status = DS_OK;
    for (size_t from = 0; status == DS_OK && from < total; from += q->chunk) {
        size_t count = total - from < q->chunk ? total - from : q->chunk;
        memset(q->seed, 0, count * in * sizeof(double));
        for (size_t k = 0; k < count; k++) {
            memcpy(q->v + k * n, v, n * sizeof *v);
            q->seed[k * in + from + k] = 1;
        }
        status = query(q, op, label, count, q->v, q->out, q->loss);
        for (size_t k = 0; status == DS_OK && k < count; k++) {
            for (size_t i = 0; i < out; i++) {
                size_t row = m < n ? from + k : i, column = m < n ? i : from + k;
                const double half = ds_box_half(p->lower[column], p->upper[column]);
                j[column * m + row] = half * q->out[k * out + i];
            }
        }
    }
    return status;
}

static ds_status differences(least_squares *q, ds_evaluator_label label, size_t arm, const double *v,
                             double *j)
{
    size_t n = q->n, done = 0;
    ds_status status = DS_OK;
    for (size_t from = 0; status == DS_OK && from < n; from += q->chunk) {
        size_t count = n - from < q->chunk ? n - from : q->chunk;
        for (size_t k = 0; k < count; k++) {
            double *row = q->seed + k * n;
            memcpy(row, v, n * sizeof(double));
            row[from + k] += row[from + k] < 0 ? difference : -difference; /* inside of the box */
        }
        status = ds_evaluator_run(q->evaluator, label, count, q->seed, q->loss, NULL, q->outcome, &done);
        for (size_t k = 0; status == DS_OK && k < count; k++) {
            double slope = (q->loss[k] - q->last_loss[arm]) / (q->seed[k * n + from + k] - v[from + k]);
            j[from + k] = isfinite(slope) ? slope : 0;
        }
    }
    return status;
}

size_t least_squares_cost(const least_squares *q)
{
    if (q->vector) {
        return q->m < q->n ? q->m : q->n;
    }
    return q->problem->has_gradient ? 0 : q->n;
}

ds_status least_squares_jacobian(least_squares *q, ds_evaluator_label label, size_t arm, const double *v,
                                 double *j)
{
    if (q->vector) {
        return products(q, label, v, j);
    }
    if (q->problem->has_gradient) {
        memcpy(j, q->last_gradient + arm * q->n, q->n * sizeof(double));
        return DS_OK;
    }
    if (q->has_slopes[arm]) {
        memcpy(j, q->last_gradient + arm * q->n, q->n * sizeof(double));
        return DS_OK;
    }
    return differences(q, label, arm, v, j);
}
