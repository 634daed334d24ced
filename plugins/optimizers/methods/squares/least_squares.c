/* SPDX-License-Identifier: Apache-2.0 */
/* least_squares.c - residuals and Jacobians from what the environment offers, see least_squares.h. */
#include "methods/squares/least_squares.h"

#include <diffsim/helper/box.h>
#include <diffsim/helper/fail.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
