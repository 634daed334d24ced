/* SPDX-License-Identifier: Apache-2.0 */
/* eval_intervals.c - how well residuals determine the variables (see eval_intervals.h). */
#include "config.h"

#include "eval/eval_intervals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "stats/distribution.h"

enum { MOST = 200, TURNS = 60 };
static const double level = 0.95, least = 1e-8, shown = 0.1;

/* ---- residuals and Jacobian ---- */

typedef struct matrix {
    uint64_t m, n;
    double *r;        /* m */
    double *column;   /* n columns of m, each times the width of its variable */
    double *v;        /* n x n, by columns */
    uint64_t product; /* where the product is in an answer */
    int bad;
} matrix;

static int keep(void *ctx, uint64_t row, const ds_answer *answer, const double *grad, const void *out)
{
    matrix *j = ctx;
    (void)grad;
    j->bad |= answer->outcome != DS_EVAL_OK;
    memcpy(j->column + row * j->m, (const double *)out + j->product, j->m * sizeof *j->column);
    if (row == 0) {
        memcpy(j->r, out, j->m * sizeof *j->r);
    }
    return 0;
}

/* The channel of residuals with products. */
static int find_channel(const ds_pool_env *env, const char *id, uint32_t *channel, ds_error *e)
{
    for (uint64_t i = 0; i < env->channels->count; i++) {
        const ds_channel *c = env->channels->list[i];
        if (c->role == DS_CHANNEL_RESIDUAL && c->type == DS_TYPE_F64 && (c->ops & DS_CAN(DS_QUERY_JV)) != 0) {
            *channel = (uint32_t)i;
            return 0;
        }
    }
    return ds_fail(e, DS_EXIT_USAGE,
                   "--intervals: %s has no residuals with products J v (see dshost help %s)", id, id);
}

/* J (upper - lower), by columns. */
static int fill(ds_pool *pool, uint32_t channel, const double *x, matrix *j, ds_error *e)
{
    const ds_pool_env *env = ds_pool_env_of(pool);
    const uint64_t n = j->n;
    char text[DS_QUERY_TEXT];
    ds_query_layout queries = {
        .count = 2,
        .query = {{.op = DS_QUERY_VALUE, .channel = channel}, {.op = DS_QUERY_JV, .channel = channel}}};
    double *point = calloc(n, n * sizeof *point), *in = calloc(n, n * sizeof *in);
    int status = point == NULL || in == NULL ? ds_no_memory(e) : 0;
    if (status == 0 && ds_query_layout_make(&queries, env->channels, n, NULL, text) != 0) {
        status = ds_fail(e, DS_EXIT_PLUGIN, "%s", text);
    }
    for (uint64_t i = 0; status == 0 && i < n; i++) {
        memcpy(point + i * n, x, n * sizeof *x);
        in[i * n + i] = env->upper[i] - env->lower[i];
    }
    if (status == 0) {
        const ds_pool_request q = {.count = n, .x = point, .queries = &queries, .in = in, .first = 1};
        j->product = queries.query[1].out;
        status = ds_pool_execute(pool, &q, keep, j, e);
    }
    free(point);
    free(in);
    return status != 0 || !j->bad
               ? status
               : ds_fail(e, DS_EXIT_ENV, "--intervals: there is no Jacobian at this point");
}

/* ---- singular values ---- */

/* Turns columns p and q of J, and of V, until they are orthogonal; 0 where they were. */
static int turn(matrix *j, uint64_t p, uint64_t q)
{
    double *a = j->column + p * j->m, *b = j->column + q * j->m, aa = 0, bb = 0, ab = 0;
    for (uint64_t k = 0; k < j->m; k++) {
        aa += a[k] * a[k];
        bb += b[k] * b[k];
        ab += a[k] * b[k];
    }
    if (!(fabs(ab) > 1e-15 * sqrt(aa * bb))) {
        return 0;
    }
    const double zeta = (bb - aa) / (2 * ab), t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    const double c = 1 / sqrt(1 + t * t), s = c * t;
    double *va = j->v + p * j->n, *vb = j->v + q * j->n;
    for (uint64_t k = 0; k < j->m; k++) {
        const double old = a[k];
        a[k] = c * old - s * b[k];
        b[k] = s * old + c * b[k];
    }
    for (uint64_t k = 0; k < j->n; k++) {
        const double old = va[k];
        va[k] = c * old - s * vb[k];
        vb[k] = s * old + c * vb[k];
    }
    return 1;
}

/* One-sided Jacobi rotations (M. Hestenes, "Inversion of matrices by biorthogonalization", 1958): J V =
 * U S. */
static void decompose(matrix *j)
{
    int turned = 1;
    for (uint64_t i = 0; i < j->n; i++) {
        j->v[i * j->n + i] = 1;
    }
    for (int k = 0; turned && k < TURNS; k++) {
        turned = 0;
        for (uint64_t p = 0; p < j->n; p++) {
            for (uint64_t q = p + 1; q < j->n; q++) {
                turned |= turn(j, p, q);
            }
        }
    }
}

static double length(const double *v, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += v[i] * v[i];
    }
    return sqrt(sum);
}

/* ---- intervals ---- */

/* Rows that say something: what was not recorded neither is a residual nor depends on anything. */
static uint64_t count_rows(const matrix *j)
{
    uint64_t rows = 0;
    for (uint64_t k = 0; k < j->m; k++) {
        int counts = fabs(j->r[k]) > 0;
        for (uint64_t i = 0; !counts && i < j->n; i++) {
            counts = fabs(j->column[i * j->m + k]) > 0;
        }
        rows += (uint64_t)counts;
    }
    return rows;
}

static void conclude(matrix *j, const ds_pool_env *env, ds_intervals *out)
{
    const uint64_t n = j->n;
    double most = 0;
    out->rows = count_rows(j);
    decompose(j);
    for (uint64_t k = 0; k < n; k++) {
        most = fmax(most, length(j->column + k * j->m, j->m));
    }
    for (uint64_t k = 0; k < n; k++) {
        const double *v = j->v + k * n, s = length(j->column + k * j->m, j->m);
        const int determined = s > least * most;
        if (!determined) {
            memcpy(out->direction + (k - out->rank) * n, v, n * sizeof *v);
        }
        out->rank += (uint64_t)determined;
        for (uint64_t i = 0; i < n; i++) {
            out->half[i] += determined ? v[i] * v[i] / (s * s) : fabs(v[i]) > 1e-6 ? (double)INFINITY : 0;
        }
    }
    const double freedom = (double)out->rows - (double)out->rank, r = length(j->r, j->m);
    out->sigma = freedom > 0 ? r / sqrt(freedom) : (double)NAN;
    for (uint64_t i = 0; i < n; i++) {
        const double wide = env->upper[i] - env->lower[i];
        out->half[i] = freedom > 0 ? ds_student_quantile(0.5 + level / 2, freedom) * out->sigma * wide *
                                         sqrt(out->half[i])
                                   : (double)INFINITY;
    }
}

int ds_intervals_get(ds_pool *pool, const char *id, const double *x, ds_intervals *out, ds_error *e)
{
    const ds_pool_env *env = ds_pool_env_of(pool);
    uint32_t channel = 0;
    int status = find_channel(env, id, &channel, e);
    if (status != 0) {
        return status;
    }
    matrix j = {.m = ds_channel_elements(env->channels->list[channel]), .n = env->info.n};
    if (j.n > MOST) {
        return ds_fail(e, DS_EXIT_USAGE, "--intervals: %llu variables, at most %d can be asked for",
                       (unsigned long long)j.n, MOST);
    }
    *out = (ds_intervals){.n = j.n};
    out->half = calloc(j.n, sizeof *out->half);
    out->direction = calloc(j.n, j.n * sizeof *out->direction);
    j.r = calloc(j.m, sizeof *j.r);
    j.column = calloc(j.m, j.n * sizeof *j.column);
    j.v = calloc(j.n, j.n * sizeof *j.v);
    status = out->half == NULL || out->direction == NULL || j.r == NULL || j.column == NULL || j.v == NULL
                 ? ds_no_memory(e)
                 : fill(pool, channel, x, &j, e);
    if (status == 0) {
        conclude(&j, env, out);
    }
    free(j.r);
    free(j.column);
    free(j.v);
    return status;
}

void ds_intervals_clear(ds_intervals *v)
{
    free(v->half);
    free(v->direction);
    *v = (ds_intervals){.n = 0};
}

/* ---- output ---- */

/* "not determined: 0.8 inertia.1 - 0.6 inertia.2", its largest parts. */
static void print_direction(const double *v, uint64_t n, const ds_named_variable *variables)
{
    char room[24];
    int parts = 0;
    printf("not determined:");
    for (uint64_t i = 0; i < n; i++) {
        if (fabs(v[i]) >= shown) {
            printf(" %s%.3g %s",
                   v[i] < 0    ? "- "
                   : parts > 0 ? "+ "
                               : "",
                   fabs(v[i]), ds_variable_name(variables, i, room));
            parts++;
        }
    }
    printf("%s (in widths of the box)\n", parts > 0 ? "" : " many variables, each a little");
}

void ds_intervals_print(const ds_intervals *v, const double *x, const ds_named_variable *variables)
{
    printf("\nintervals of %g %%: sigma %.6g of a residual, %llu of them, rank %llu of %llu\n", 100 * level,
           v->sigma, (unsigned long long)v->rows, (unsigned long long)v->rank, (unsigned long long)v->n);
    printf("%-28s %16s %12s %16s %16s\n", "variable", "x", "+-", "from", "to");
    for (uint64_t i = 0; i < v->n; i++) {
        char label[DS_VARIABLE_LABEL];
        if (variables != NULL) {
            ds_variable_label(variables, i, label);
        } else {
            snprintf(label, sizeof label, "x%llu", (unsigned long long)i);
        }
        printf("%-28s %16.9g", label, x[i]);
        if (isfinite(v->half[i])) {
            printf(" %12.4g %16.9g %16.9g\n", v->half[i], x[i] - v->half[i], x[i] + v->half[i]);
        } else {
            printf(" %12s\n", "unknown");
        }
    }
    for (uint64_t k = 0; k < v->n - v->rank; k++) {
        print_direction(v->direction + k * v->n, v->n, variables);
    }
}

json_t *ds_intervals_json(const ds_intervals *v, const double *x)
{
    json_t *directions = json_array(), *low = json_array(), *high = json_array();
    for (uint64_t k = 0; k < v->n - v->rank; k++) {
        json_array_append_new(directions, ds_json_reals(v->direction + k * v->n, v->n));
    }
    for (uint64_t i = 0; i < v->n; i++) {
        json_array_append_new(low, ds_json_real(x[i] - v->half[i]));
        json_array_append_new(high, ds_json_real(x[i] + v->half[i]));
    }
    return json_pack("{s:f, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "level", level, "sigma",
                     ds_json_real(v->sigma), "residuals", (json_int_t)v->rows, "rank", (json_int_t)v->rank,
                     "half", ds_json_reals(v->half, v->n), "low", low, "high", high, "undetermined",
                     directions);
}
