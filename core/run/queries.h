/* SPDX-License-Identifier: Apache-2.0 */
/* queries.h - queries about channels between the request of an optimizer, the journal and the record.
 *
 * The record has the input vectors and the values; products are computed again. A row with one query about
 * the residuals is recorded as in the first versions: kind DS_QUERY_VALUE, DS_QUERY_JV or DS_QUERY_JTV,
 * `asked` = v. All others have kind DS_QUERIES_LIST, and `asked` holds the noise group (upper and lower 32
 * bits), the number of queries, op, channel and weighted of each, then the vectors. */
#ifndef DS_RUN_QUERIES_H
#define DS_RUN_QUERIES_H

#include <diffsim/optimizer.h>

#include "evaluate/request.h"
#include "plugin/channels.h"
#include "store/store.h"

enum { DS_QUERIES_LIST = 16 };

/* The queries of a request with dense rows; all zero = none. */
typedef struct ds_packed_queries {
    ds_query_layout queries;
    uint32_t place[DS_MAX_QUERIES]; /* their numbers in the layout */
    double *in;                     /* count x queries.in */
    double *out;                    /* count x queries.out words */
    uint32_t *kind;                 /* count: DS_GRAD_* of the product of each row */
} ds_packed_queries;

/* Packs the queries of a request whose count and x are valid. Returns 0; -1 with the breach in `text`; or
 * DS_EXIT_MEMORY. */
int ds_queries_pack(ds_packed_queries *rows, const ds_request *r, const ds_channels *channels, uint64_t n,
                    char text[DS_QUERY_TEXT]);

/* Copies values, products and their kinds (rows->kind) of the first `done` rows to the replies. */
void ds_queries_reply(const ds_packed_queries *rows, const ds_request *r, uint64_t done);
void ds_queries_free(ds_packed_queries *rows);

/* The most numbers that a row can add to the record. */
uint64_t ds_queries_record_room(const ds_channels *channels, uint64_t n);

/* What a row adds to the record; `room` holds numbers that have to be made for it. Empty without queries and
 * noise group. */
ds_extra ds_queries_record(const ds_channels *channels, const ds_query_layout *queries, const double *in,
                           const void *out, uint64_t noise, double *room);

/* The noise group of a recorded row; 0 = none. */
uint64_t ds_queries_noise(const ds_extra *extra);

/* Reads it: the queries, their vectors (*in, inside the record), the noise group. Returns 0, or -1 where the
 * record does not fit the channels. Without queries, queries->count is 0. */
int ds_queries_read(const ds_extra *extra, const ds_channels *channels, uint64_t n, ds_query_layout *queries,
                    const double **in, uint64_t *noise);

#endif
