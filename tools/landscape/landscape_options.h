/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_options.h - section [landscape]: which slice, and what is measured on it. */
#ifndef DS_LANDSCAPE_LANDSCAPE_OPTIONS_H
#define DS_LANDSCAPE_LANDSCAPE_OPTIONS_H

#include "landscape/landscape_measure.h"
#include "landscape/landscape_slice.h"

/* The schema; the names are also the flags of `dshost landscape`. */
extern const ds_param *const ds_landscape_schema[];

enum { DS_GRADIENT_AUTO = 0, DS_GRADIENT_YES = 1, DS_GRADIENT_NO = 2 };

typedef struct ds_landscape_options {
    ds_slice_text text;
    ds_slice_plan plan;
    int gradient; /* DS_GRADIENT_* */
    uint64_t samples, jumps, box;
    int steps;
    double step[DS_MEASURE_STEPS]; /* descending, in widths of the slice */
    ds_params *params;             /* owns the texts */
} ds_landscape_options;

/* Converts section [landscape]. */
int ds_landscape_options_make(const ds_settings *settings, ds_landscape_options *out, ds_error *e);
void ds_landscape_options_clear(ds_landscape_options *o);

/* Fails for the value of a key: origin, key, value, and why. */
int ds_landscape_refuse(const ds_settings *settings, const char *key, const char *why, ds_error *e);

#endif
