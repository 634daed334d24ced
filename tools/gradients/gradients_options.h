/* SPDX-License-Identifier: Apache-2.0 */
/* gradients_options.h - section [gradients]: where gradients are estimated, how, and what is varied. */
#ifndef DS_GRADIENTS_GRADIENTS_OPTIONS_H
#define DS_GRADIENTS_GRADIENTS_OPTIONS_H

#include "config/params.h"
#include "gradients/estimate.h"
#include "gradients/gradients_sweep.h"
#include "landscape/landscape_slice.h"

/* The schema; the names are also the flags of `dshost gradients`. */
extern const ds_param *const ds_gradients_schema[];

enum { DS_BASELINE_CENTER = 0, DS_BASELINE_MEAN = 1, DS_BASELINE_NONE = 2 };
enum { DS_NOISE_AUTO = 0, DS_NOISE_VARIABLES = 1, DS_NOISE_ACTIONS = 2 };
enum { DS_UNITS_X = 0, DS_UNITS_BOX = 1 };
enum { DS_REFERENCE_ZEROTH = 0, DS_REFERENCE_FIRST = 1 };

typedef struct ds_gradients_options {
    const char *x; /* the point, where there is no slice */
    ds_slice_text slice_text;
    ds_slice_plan plan;
    int slice;    /* is there one? */
    double sigma; /* 0 = that of the environment, with noise on actions; else 0.1 stands for it */
    uint64_t samples, repeats, reference;
    int reference_order, baseline, noise, units;
    int shared, antithetic;
    ds_alpha_rule rule;
    double beta;  /* of the empirical bias */
    double level; /* of the intervals */
    ds_sweep sweep[DS_SWEEPS_MAX];
    int sweeps;
    ds_params *params; /* owns the texts */
} ds_gradients_options;

/* Converts section [gradients]. */
int ds_gradients_options_make(const ds_settings *settings, ds_gradients_options *out, ds_error *e);
void ds_gradients_options_clear(ds_gradients_options *o);

/* Fails for the value of a key: origin, key, value, and why. */
int ds_gradients_refuse(const ds_settings *settings, const char *key, const char *why, ds_error *e);

#endif
