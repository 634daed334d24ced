/* SPDX-License-Identifier: Apache-2.0 */
/* check_queries.h - queries about the channels of an environment under test, made to the plugin itself. */
#ifndef DS_CHECK_CHECK_QUERIES_H
#define DS_CHECK_CHECK_QUERIES_H

#include "harness/check_host.h"
#include "plugin/channels.h"

/* The channels of the test's instance. */
typedef struct ds_check_channels {
    ds_check *c;
    const ds_env_channels *table;
    ds_channels channels;
    double *x; /* n values, initially the start point */
    unsigned answered;
} ds_check_channels;

/* 0 if there are no channels (the test is skipped) or they are invalid (recorded). */
int ds_check_channels_open(ds_check *c, ds_check_channels *b);
void ds_check_channels_close(ds_check_channels *b);

/* One query with its buffers; v and w hold random numbers, v of JV and HV up to the width of the box. */
typedef struct ds_check_query {
    ds_eval_query ask;
    const double *x;
    double *v, *w;
    uint64_t v_count, w_count;
    ds_eval io; /* of the last call */
} ds_check_query;

/* 0 without memory (recorded). */
int ds_check_query_open(ds_check_channels *b, uint64_t channel, uint32_t op, const double *x,
                        ds_check_query *q);
void ds_check_query_close(ds_check_query *q);

/* Evaluates the query alone into memory filled with bytes `fill`; 1 = the result is finite. Records a failure
 * if there should be one and is not. */
int ds_check_query_run(ds_check_channels *b, ds_check_query *q, const char *where, int fill);

/* Element k of the values of a channel. */
double ds_check_element(const ds_channel *c, const void *values, uint64_t k);

/* "its values", "J v", "J' v", "H v". */
const char *ds_check_op_name(uint32_t op);

/* ds_check_evaluate() with queries, whose buffers are filled with ones (NaN) first, or with `raw` left alone.
 */
void ds_check_evaluate_queries(ds_check_env *env, const double *x, uint32_t want, double *grad, uint64_t asks,
                               ds_eval_query *const *ask, ds_check_result *a);
void ds_check_evaluate_queries_raw(ds_check_env *env, const double *x, uint32_t want, double *grad,
                                   uint64_t asks, ds_eval_query *const *ask, ds_check_result *a);

/* Are two losses, or two results of a query, the same: in every bit, or, for an inexact environment, up to
 * its tolerance relative to the largest element? *element (may be NULL) receives the first difference. */
int ds_check_same_loss(const ds_check_channels *b, double first, double second);
int ds_check_same_result(const ds_check_channels *b, const ds_eval_query *q, const void *first,
                         const void *second, uint64_t *element);

/* ---- a point where products are compared with difference quotients and with each other ---- */

/* Allowed relative differences of products: from differences, and all others. */
static const double DS_CHECK_DIFFERENCED = 1e-3, DS_CHECK_FITTING = 1e-5;

typedef struct ds_check_product_point {
    ds_check_channels *b;
    const ds_channel *ch;
    uint64_t channel, n, elements, most; /* most: the larger of n and elements */
    uint64_t point;                      /* number of the point, for messages */
    /* Arrays of the caller, with n, n, n, elements, n, most, most values: the point, scratch, a direction,
     * weights, another direction, scratch. */
    double *x, *y, *v, *w, *u, *low, *high;
    int differenced, smoothed; /* kinds of products seen */
} ds_check_product_point;

/* Without its arrays. */
ds_check_product_point ds_check_product_point_of(ds_check_channels *b, uint64_t channel);

/* Draws x inside of the box with room for quotients, v and u up to the width of the box, and w. */
void ds_check_product_draw(ds_check_product_point *t);

/* Does the channel support this operation? */
int ds_check_product_can(const ds_check_product_point *t, uint32_t op);

/* One product, or the values, at x, into `out` (n or elements numbers). 0 if there is no result. */
int ds_check_product_get(ds_check_product_point *t, uint32_t op, const double *x, const double *v,
                         const double *w, double *out);

double ds_check_dot(uint64_t count, const double *a, const double *b);

#endif
