/* SPDX-License-Identifier: Apache-2.0 */
/* check_product_point.h - where products with the derivatives of a channel are compared, with difference
 * quotients and each other: a random point, directions and weights, what the plugin answers there. */
#ifndef DS_CHECK_CHANNELS_CHECK_PRODUCT_POINT_H
#define DS_CHECK_CHANNELS_CHECK_PRODUCT_POINT_H

#include "check/channels/check_asking.h"

/* What products may be off relative to what they are compared with: those that the plugin itself takes from
 * differences, and all others. */
static const double DS_CHECK_DIFFERENCED = 1e-3, DS_CHECK_FITTING = 1e-5;

typedef struct ds_check_product_point {
    ds_check_asking *b;
    const ds_channel *ch;
    uint64_t channel, n, elements, most; /* most: the larger of n and elements */
    uint64_t point;                      /* its number, for messages */
    /* n, n, n, elements, n, most, most values of the caller: the point, room, a direction, weights, another
     * direction, room */
    double *x, *y, *v, *w, *u, *low, *high;
    int differenced, smoothed; /* kinds of products seen */
} ds_check_product_point;

/* Without its memory. */
ds_check_product_point ds_check_product_point_of(ds_check_asking *b, uint64_t channel);

/* Draws x, inside of the box with room for quotients, v and u as long as the box is wide, and w. */
void ds_check_product_draw(ds_check_product_point *t);

/* Does the channel answer this kind of question? */
int ds_check_product_can(const ds_check_product_point *t, uint32_t op);

/* One product, or the values, at x, into `out` (n or elements numbers). 0 where there is no answer. */
int ds_check_product_get(ds_check_product_point *t, uint32_t op, const double *x, const double *v,
                         const double *w, double *out);

double ds_check_dot(uint64_t count, const double *a, const double *b);

#endif
