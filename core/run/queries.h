/* SPDX-License-Identifier: Apache-2.0 */
/* asked.h - queries about channels between the request of an optimizer, the journal and the record.
 *
 * Recorded is what went in, and the values that came out; products are computed again. Rows that ask one
 * thing of the residuals are recorded as the first versions did: kind DS_QUERY_VALUE, DS_QUERY_JV or
 * DS_QUERY_JTV, `asked` = v. All others have the kind DS_QUERIES_LIST, and `asked` is their noise group (upper
 * and lower 32 bits), the number of questions, op, channel and weighted of each, then what went in. */
#ifndef DS_RUN_QUERIES_H
#define DS_RUN_QUERIES_H

#include <diffsim/optimizer.h>

#include "evaluate/request.h"
#include "plugin/channels.h"
#include "store/store.h"

enum { DS_QUERIES_LIST = 16 };

/* The queries of a request, their rows packed one behind the other; all zero = none. */
typedef struct ds_packed_queries {
    ds_query_layout queries;
    uint32_t place[DS_MAX_QUERIES]; /* where the queries of the request have gone */
    double *in;                     /* count x asks.in */
    double *out;                    /* count x asks.out words */
    uint32_t *kind;                 /* count: how the product of a row was made */
} ds_packed_queries;

/* Takes the queries of a request of which count and x are sound. 0; -1 and in `text` what breaks the
 * contract; or DS_EXIT_MEMORY. */
int ds_queries_pack(ds_packed_queries *rows, const ds_request *r, const ds_channels *channels, uint64_t n,
                    char text[DS_QUERY_TEXT]);

/* Copies values, products and their kinds (rows->kind) of the first `done` rows to the replies. */
void ds_queries_reply(const ds_packed_queries *rows, const ds_request *r, uint64_t done);
void ds_queries_free(ds_packed_queries *rows);

/* The most numbers that a row's part in the record takes. */
uint64_t ds_queries_record_room(const ds_channels *channels, uint64_t n);

/* The row's part in the record; `room` holds what has to be written for it. Nothing where there are no
 * questions and no noise group. */
ds_extra ds_queries_record(const ds_channels *channels, const ds_query_layout *queries, const double *in,
                           const void *out, uint64_t noise, double *room);

/* The noise group of a recorded row; 0 = none. */
uint64_t ds_queries_noise(const ds_extra *extra);

/* Reads it: the questions, what went in (in *in, inside of the record), the noise group. 0, or -1 where
 * the record does not fit the channels. No questions: asks->count is 0. */
int ds_queries_read(const ds_extra *extra, const ds_channels *channels, uint64_t n, ds_query_layout *queries,
                    const double **in, uint64_t *noise);

#endif
