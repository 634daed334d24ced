/* SPDX-License-Identifier: Apache-2.0 */
/* free_variables.c - see free_variables.h. */
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

/* Writes rows of the free variables into rows of all of them, whose other values are those of `rest`, or 0
 * where it is NULL. */
static void expand(const ds_free_variables *f, uint64_t rows, const double *from, const double *rest,
                   double *to)
{
    for (uint64_t row = 0; row < rows; row++, from += f->problem.n, to += f->n) {
        if (rest != NULL) {
            memcpy(to, rest, f->n * sizeof *to);
        } else {
            memset(to, 0, f->n * sizeof *to);
        }
        for (uint64_t k = 0; k < f->problem.n; k++) {
            to[f->index[k]] = from[k];
        }
    }
}

static void reduce(const ds_free_variables *f, uint64_t rows, const double *from, double *to)
{
    for (uint64_t row = 0; row < rows; row++, from += f->n, to += f->problem.n) {
        for (uint64_t k = 0; k < f->problem.n; k++) {
            to[k] = from[f->index[k]];
        }
    }
}

/* Does an operation take a vector of the variables, or give one? */
static int takes_variables(const ds_ask *q)
{
    return q->op == DS_ASK_JV || q->op == DS_ASK_HV;
}

static int gives_variables(const ds_ask *q)
{
    return q->op == DS_ASK_JTV || q->op == DS_ASK_HV;
}

int ds_full_batch_open(const ds_free_variables *f, const ds_batch *b, const ds_channels *channels,
                       ds_full_batch *out)
{
    const uint64_t row = b->count * f->n;
    uint64_t parts = (b->want & DS_WANT_GRAD) != 0 ? 2 : 1;
    for (uint64_t i = 0; i < b->asks; i++) {
        parts += (uint64_t)takes_variables(b->ask[i]) + (uint64_t)gives_variables(b->ask[i]);
    }
    out->batch = *b;
    out->room = calloc(parts, row * sizeof *out->room);
    if (out->room == NULL) {
        return DS_EXIT_MEMORY;
    }
    double *at = out->room;
    expand(f, b->count, b->x, f->point, at);
    out->batch.x = at;
    if ((b->want & DS_WANT_GRAD) != 0) {
        out->batch.grad = at += row;
    }
    for (uint64_t i = 0; i < b->asks; i++) {
        ds_ask *q = out->list[i] = &out->ask[i];
        *q = (ds_ask){.struct_size = sizeof *q,
                      .op = b->ask[i]->op,
                      .channel = b->ask[i]->channel,
                      .v = b->ask[i]->v,
                      .w = b->ask[i]->w,
                      .out = b->ask[i]->out,
                      .out_bytes = b->ask[i]->out_bytes};
        if (takes_variables(q)) {
            at += row;
            expand(f, b->count, q->v, NULL, at);
            q->v = at;
        }
        if (gives_variables(q)) {
            q->out = at += row;
            q->out_bytes = b->count * ds_channel_bytes(channels->list[q->channel], q->op, f->n);
        }
    }
    out->batch.ask = out->list;
    return 0;
}

void ds_full_batch_answer(const ds_free_variables *f, const ds_full_batch *full, const ds_batch *b,
                          uint64_t done)
{
    if ((b->want & DS_WANT_GRAD) != 0) {
        reduce(f, done, full->batch.grad, b->grad);
    }
    for (uint64_t i = 0; i < b->asks; i++) {
        b->ask[i]->kind = full->ask[i].kind;
        if (gives_variables(b->ask[i])) {
            reduce(f, done, full->ask[i].out, b->ask[i]->out);
        }
    }
}

void ds_full_batch_close(ds_full_batch *full)
{
    free(full->room);
    full->room = NULL;
}
