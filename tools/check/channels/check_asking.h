/* SPDX-License-Identifier: Apache-2.0 */
/* check_asking.h - questions about the channels of an environment under test, asked of the plugin itself. */
#ifndef DS_CHECK_CHANNELS_CHECK_ASKING_H
#define DS_CHECK_CHANNELS_CHECK_ASKING_H

#include "harness/check_host.h"
#include "plugin/channels.h"

/* The channels of the test's instance. */
typedef struct ds_check_asking {
    ds_check *c;
    const ds_env_channels *table;
    ds_channels channels;
    double *x; /* n values, at first the start point */
    unsigned answered;
} ds_check_asking;

/* The table of an instance, or NULL. */
const ds_env_channels *ds_check_channels_of(const ds_check_env *env);

/* 0 where there are none (the test is skipped) or they are unsound (recorded). */
int ds_check_asking_open(ds_check *c, ds_check_asking *b);
void ds_check_asking_close(ds_check_asking *b);

/* One question with its buffers; v and w hold random numbers, v of JV and HV as long as the box is wide. */
typedef struct ds_check_query {
    ds_eval_query ask;
    const double *x;
    double *v, *w;
    uint64_t v_count, w_count;
    ds_eval io; /* of the last call */
} ds_check_query;

/* 0 without memory (recorded). */
int ds_check_query_open(ds_check_asking *b, uint64_t channel, uint32_t op, const double *x,
                        ds_check_query *q);
void ds_check_query_close(ds_check_query *q);

/* Asks it alone, into memory of bytes `fill`; 1 = there is an answer in finite numbers. Records
 * where it should be and is not. */
int ds_check_query_run(ds_check_asking *b, ds_check_query *q, const char *where, int fill);

/* ds_check_evaluate() with questions whose answers are filled with ones (NaN) before; raw:
 * they are left as they are. */
void ds_check_ask(ds_check_env *env, const double *x, uint32_t want, double *grad, uint64_t asks,
                  ds_eval_query *const *ask, ds_check_answer *a);
void ds_check_ask_raw(ds_check_env *env, const double *x, uint32_t want, double *grad, uint64_t asks,
                      ds_eval_query *const *ask, ds_check_answer *a);

/* Are two losses, or two answers to the question, the same: in every bit, or, of an inexact
 * environment, up to its tolerance relative to the largest element? *element (may be NULL) gets
 * the first one that is not. */
int ds_check_same_loss(const ds_check_asking *b, double first, double second);
int ds_check_same_answer(const ds_check_asking *b, const ds_eval_query *q, const void *first,
                         const void *second, uint64_t *element);

/* Element k of the values of a channel. */
double ds_check_element(const ds_channel *c, const void *values, uint64_t k);

/* "its values", "J v", "J' v", "H v". */
const char *ds_check_op_name(uint32_t op);

/* The tests channel.products, of all elements together, channel.linear, of unit vectors, sums and multiples,
 * and channel.elements, of single ones. */
void ds_check_channel_products(ds_check *c);
void ds_check_channel_linear(ds_check *c);
void ds_check_channel_elements(ds_check *c);

#endif
