/* SPDX-License-Identifier: Apache-2.0 */
/* request.c - reads the structs of a request, and tests it against the contract of ds_objective.evaluate
 * (diffsim/optimizer.h). */
#include "config.h"

#include "evaluate/request.h"

#include <stdio.h>

#include "base/plugin_memory.h"
#include "base/text.h"

static int wrong(char text[DS_REQUEST_TEXT], uint64_t i, const char *why)
{
    snprintf(text, DS_REQUEST_TEXT, "query %llu %s", (unsigned long long)i, why);
    return -1;
}

static int read_queries(ds_request *r, char text[DS_REQUEST_TEXT])
{
    ds_error e;
    if (r->rows.queries > DS_MAX_QUERIES || r->rows.query == NULL || r->results.reply == NULL) {
        return wrong(text, r->rows.queries, "is one too many, or query or reply is NULL");
    }
    for (uint64_t i = 0; i < r->rows.queries; i++) {
        const ds_query *q = r->rows.query[i];
        const ds_reply *out = r->results.reply[i];
        if (q == NULL || out == NULL ||
            DS_SIZED_READ(&r->query[i], q, DS_QUERY_SIZE_1_0, "", "a query", &e) != 0 ||
            DS_SIZED_READ(&r->reply[i], out, DS_REPLY_SIZE_1_0, "", "a reply", &e) != 0) {
            return wrong(text, i, "is NULL, or its struct_size or that of its reply is impossible");
        }
        r->queries[i] = &r->query[i];
        r->replies[i] = &r->reply[i];
    }
    r->rows.query = r->queries;
    r->results.reply = r->replies;
    return 0;
}

int ds_request_read(ds_request *r, const ds_rows *rows, const ds_label *label, const ds_results *results,
                    char text[DS_REQUEST_TEXT])
{
    ds_error e = {0, "rows, results or done is NULL"};
    r->label = (ds_label){.struct_size = sizeof r->label};
    if (rows == NULL || results == NULL ||
        DS_SIZED_READ(&r->rows, rows, DS_ROWS_SIZE_1_0, "", "the rows", &e) != 0 ||
        DS_SIZED_READ(&r->results, results, DS_RESULTS_SIZE_1_0, "", "the results", &e) != 0 ||
        (label != NULL && DS_SIZED_READ(&r->label, label, DS_LABEL_SIZE_1_0, "", "the label", &e) != 0)) {
        snprintf(text, DS_REQUEST_TEXT, "%s", e.text);
        return -1;
    }
    return r->rows.queries > 0 ? read_queries(r, text) : 0;
}

/* ---- the contract of ds_objective.evaluate() ---- */

static int refuse(char text[DS_BATCH_TEXT], const char *why)
{
    snprintf(text, DS_BATCH_TEXT, "%s", why);
    return 0;
}

static int rows_allowed(const ds_rows *r, const ds_problem *problem, char text[DS_BATCH_TEXT])
{
    uint64_t n = problem->n;
    for (uint64_t row = 0; row < r->count; row++) {
        const double *x = r->x + row * r->stride;
        for (uint64_t i = 0; i < n; i++) {
            if (!(x[i] >= problem->lower[i] && x[i] <= problem->upper[i])) { /* also catches NaN */
                snprintf(text, DS_BATCH_TEXT,
                         "row %llu of %llu, variable %llu is %s, outside of its bounds %s..%s",
                         (unsigned long long)row, (unsigned long long)r->count, (unsigned long long)i,
                         DS_TEXT_OF(x[i]), DS_TEXT_OF(problem->lower[i]), DS_TEXT_OF(problem->upper[i]));
                return 0;
            }
        }
    }
    return 1;
}

int ds_rows_allowed(const ds_rows *r, const ds_results *results, const ds_problem *problem,
                    char text[DS_BATCH_TEXT])
{
    if (r->count == 0 || r->x == NULL || results->loss == NULL) {
        return refuse(text, "count is 0, or x or loss is NULL");
    }
    if (r->n != problem->n || r->stride < r->n) {
        return refuse(text, "n is not that of the problem, or stride is less than n");
    }
    if (r->memory != DS_MEMORY_HOST) {
        return refuse(text, "memory is not DS_MEMORY_HOST");
    }
    if ((r->want & ~(uint32_t)DS_WANT_GRAD) != 0) {
        return refuse(text, "want holds more than DS_WANT_GRAD");
    }
    if ((r->want & DS_WANT_GRAD) != 0 && (!problem->has_gradient || results->grad == NULL)) {
        return refuse(text, problem->has_gradient ? "a gradient is wanted but grad is NULL"
                                                  : "a gradient is wanted, but the environment has none");
    }
    if ((r->want & DS_WANT_GRAD) != 0 && results->stride < r->n) {
        return refuse(text, "the stride of the gradients is less than n");
    }
    if (r->queries > 0 && (r->query == NULL || results->reply == NULL)) {
        return refuse(text, "query or reply is NULL");
    }
    return rows_allowed(r, problem, text);
}
