/* SPDX-License-Identifier: Apache-2.0 */
/* gradients.h - estimates of the gradient of a smoothed loss, of first, zeroth and alpha order: at a point,
 * along a slice, and over sweeps; their means, variances, errors and what rules them. Nothing is recorded but
 * results: it cannot be gone on with, and starts anew each time.
 */
#ifndef DS_GRADIENTS_GRADIENTS_H
#define DS_GRADIENTS_GRADIENTS_H

#include <jansson.h>

#include "config/settings.h"

/* What is wanted besides the settings. */
typedef struct ds_gradients_request {
    int text; /* print the table for people on stdout */
} ds_gradients_request;

/* Estimates as settings [run], [env], [gradients] say. Where [run] out is given, that folder gets
 * estimates.csv, summary.json and pictures. *summary (owned by the caller) is what the JSON says; NULL where
 * there is none. 0 or an exit status; 130 and 143: stopped by a signal, with nothing written. */
int ds_gradients_make(const ds_settings *settings, const ds_gradients_request *q, json_t **summary,
                      ds_error *e);

#endif
