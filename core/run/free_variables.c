/* SPDX-License-Identifier: Apache-2.0 */
/* free_variables.c - requests about the free variables, as requests about all variables. */
#include "config.h"

#include "run/free_variables.h"

#include <stdlib.h>
#include <string.h>

static uint64_t count_free(const ds_problem *p)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < p->n; i++) {
        count += p->lower[i] < p->upper[i];
    }
    return count;
}

int ds_free_variables_open(const char *who, const ds_problem *full, int status, ds_free_variables *out,
                           ds_error *e)
{
    const uint64_t n = full->n, count = count_free(full);
    *out = (ds_free_variables){.n = n, .problem = *full};
    if (count == n) {
        return 0;
    }
    if (count == 0) {
        return ds_fail(
            e, status,
            "%s: all %llu variables are fixed: there is nothing to search for; leave at least one free", who,
            (unsigned long long)n);
    }
    out->index = malloc(count * sizeof *out->index);
    out->point = malloc((n + 3 * count) * sizeof *out->point);
    if (out->index == NULL || out->point == NULL) {
        ds_free_variables_close(out);
        return ds_no_memory(e);
    }
    double *lower = out->point + n, *upper = lower + count, *x0 = upper + count;
    for (uint64_t i = 0, k = 0; i < n; i++) {
        out->point[i] = full->lower[i];
        if (full->lower[i] < full->upper[i]) {
            lower[k] = full->lower[i];
            upper[k] = full->upper[i];
            x0[k] = full->x0[i];
            out->index[k++] = i;
        }
    }
    out->problem.n = count;
    out->problem.lower = lower;
    out->problem.upper = upper;
    out->problem.x0 = x0;
    return 0;
}

void ds_free_variables_close(ds_free_variables *f)
{
    free(f->index);
    free(f->point);
    f->index = NULL;
    f->point = NULL;
}

/* Copies rows of the free variables, `stride` apart, into rows of all variables. The other values come from
 * `rest`, or are 0 where it is NULL. */
static void expand(const ds_free_variables *f, uint64_t rows, const double *from, uint64_t stride,
                   const double *rest, double *to)
{
    for (uint64_t row = 0; row < rows; row++, from += stride, to += f->n) {
        if (rest != NULL) {
            memcpy(to, rest, f->n * sizeof *to);
        } else {
            memset(to, 0, f->n * sizeof *to);
        }
        for (uint64_t k = 0; k < f->problem.n; k++) {
            to[f->index != NULL ? f->index[k] : k] = from[k];
        }
    }
}

void ds_free_variables_expand(const ds_free_variables *f, const double *x, double *full)
{
    expand(f, 1, x, f->problem.n, f->point, full);
}

static void reduce(const ds_free_variables *f, uint64_t rows, const double *from, double *to, uint64_t stride)
{
    for (uint64_t row = 0; row < rows; row++, from += f->n, to += stride) {
        for (uint64_t k = 0; k < f->problem.n; k++) {
            to[k] = from[f->index != NULL ? f->index[k] : k];
        }
    }
}

/* Does a query take, or give, a vector of the variables? */
static int takes_variables(const ds_query *q)
{
    return q->op == DS_QUERY_JV || q->op == DS_QUERY_HV;
}

static int gives_variables(const ds_query *q)
{
    return q->op == DS_QUERY_JTV || q->op == DS_QUERY_HV;
}

int ds_full_request_needed(const ds_free_variables *f, const ds_request *r)
{
    return f->index != NULL || r->rows.stride != r->rows.n ||
           ((r->rows.want & DS_WANT_GRAD) != 0 && r->results.stride != r->rows.n);
}

int ds_full_request_open(const ds_free_variables *f, const ds_request *r, const ds_channels *channels,
                         ds_full_request *out)
{
    const uint64_t count = r->rows.count, row = count * f->n;
    uint64_t parts = (r->rows.want & DS_WANT_GRAD) != 0 ? 2 : 1;
    for (uint64_t i = 0; i < r->rows.queries; i++) {
        parts += (uint64_t)takes_variables(&r->query[i]) + (uint64_t)gives_variables(&r->query[i]);
    }
    out->request = *r;
    out->room = calloc(parts, row * sizeof *out->room);
    if (out->room == NULL) {
        return DS_EXIT_MEMORY;
    }
    double *at = out->room;
    expand(f, count, r->rows.x, r->rows.stride, f->point, at);
    ds_rows *rows = &out->request.rows;
    ds_results *results = &out->request.results;
    rows->x = at;
    rows->n = rows->stride = results->stride = f->n;
    if ((rows->want & DS_WANT_GRAD) != 0) {
        results->grad = at += row;
    }
    for (uint64_t i = 0; i < rows->queries; i++) {
        ds_query *q = &out->request.query[i];
        ds_reply *reply = &out->request.reply[i];
        out->request.queries[i] = q;
        out->request.replies[i] = reply;
        if (takes_variables(q)) {
            at += row;
            expand(f, count, q->v, q->v_stride, NULL, at);
            q->v = at;
            q->v_stride = f->n;
        }
        if (gives_variables(q)) {
            reply->out = at += row;
            reply->bytes = reply->stride = ds_channel_bytes(channels->list[q->channel], q->op, f->n);
        }
    }
    rows->query = out->request.queries;
    results->reply = out->request.replies;
    return 0;
}

void ds_full_request_answer(const ds_free_variables *f, const ds_full_request *full, const ds_request *r,
                            uint64_t done)
{
    if ((r->rows.want & DS_WANT_GRAD) != 0) {
        reduce(f, done, full->request.results.grad, r->results.grad, r->results.stride);
    }
    for (uint64_t i = 0; i < r->rows.queries; i++) {
        if (gives_variables(&r->query[i])) {
            reduce(f, done, full->request.reply[i].out, r->reply[i].out, r->reply[i].stride / sizeof(double));
        }
    }
}

void ds_full_request_close(ds_full_request *full)
{
    free(full->room);
    full->room = NULL;
}
