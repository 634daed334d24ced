/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - a request of evaluations, as an optimizer or program makes it, in structs of this version's
 * size. */
#ifndef DS_EVALUATE_REQUEST_H
#define DS_EVALUATE_REQUEST_H

#include <diffsim/optimizer.h>

enum { DS_REQUEST_TEXT = 1024 };

/* Its pointers point to arrays of the caller. */
typedef struct ds_request {
    ds_rows rows;
    ds_label label;
    ds_results results;
    ds_query query[DS_MAX_QUERIES];
    ds_reply reply[DS_MAX_QUERIES];
    const ds_query *queries[DS_MAX_QUERIES]; /* rows.query */
    const ds_reply *replies[DS_MAX_QUERIES]; /* results.reply */
} ds_request;

/* Reads the structs of a call; label may be NULL. Returns 0, or -1 and the reason in `text`. */
int ds_request_read(ds_request *r, const ds_rows *rows, const ds_label *label, const ds_results *results,
                    char text[DS_REQUEST_TEXT]);

enum { DS_BATCH_TEXT = 300 };

/* Tests a request of ds_objective.evaluate() against the contract for a problem: 1 = valid, else 0 and the
 * reason in `text`. */
int ds_rows_allowed(const ds_rows *r, const ds_results *results, const ds_problem *problem,
                    char text[DS_BATCH_TEXT]);

#endif
