/* SPDX-License-Identifier: Apache-2.0 */
/* eval_channels.h - the values of all channels of an environment at one point, as a table and as JSON. */
#ifndef DS_EVAL_CHANNELS_H
#define DS_EVAL_CHANNELS_H

#include <jansson.h>

#include "evaluate/pool.h"

typedef struct ds_channel_values {
    const ds_channels *channels;
    double **value; /* of each channel its elements, as doubles; NULL where there is no answer */
    ds_answer answer;
} ds_channel_values;

/* Evaluates x once for every DS_MAX_QUERIES channels. An environment without channels
 * is refused (DS_EXIT_USAGE). */
int ds_channel_values_get(ds_pool *pool, const char *id, const double *x, ds_channel_values *out,
                          ds_error *e);
void ds_channel_values_clear(ds_channel_values *v);

/* A line for each: role, shape, range, length; of a constraint how far it is broken. */
void ds_channel_values_print(const ds_channel_values *v);

/* An object by name: role, shape, unit, and the values in C order (null where there is no answer). */
json_t *ds_channel_values_json(const ds_channel_values *v);

#endif
