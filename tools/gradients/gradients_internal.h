/* SPDX-License-Identifier: Apache-2.0 */
/* gradients_internal.h - what the files of the tool share: gradients_run.c (life), gradients_cell.c (one
 * place with one setting), and those that write results. */
#ifndef DS_GRADIENTS_GRADIENTS_INTERNAL_H
#define DS_GRADIENTS_GRADIENTS_INTERNAL_H

#include <jansson.h>

#include "config/run_options.h"
#include "gradients/gradients.h"
#include "gradients/gradients_options.h"
#include "gradients/gradients_sample.h"
#include "stats/sample.h"

/* The three estimates. */
enum { DS_FIRST = 0, DS_ZEROTH = 1, DS_ALPHA = 2, DS_ESTIMATES = 3 };
extern const char *const ds_estimate_names[DS_ESTIMATES]; /* "first", "zeroth", "alpha" */

/* A mean and its interval. NAN where there is none. */
typedef struct ds_stat {
    double mean, low, high;
} ds_stat;

/* The results at one place with one setting. `slope`: of a gradient, along the axis of the slice (per unit of
 * its coordinate), else along the long run's gradient, else along the first variable. */
typedef struct ds_cell {
    double sigma, gamma;
    uint64_t samples;
    double loss;      /* f(x) */
    ds_stat smoothed; /* F(x) */
    ds_stat slope[DS_ESTIMATES];
    ds_stat variance[2]; /* empirical, of one sample: first, zeroth */
    ds_stat distance, eps, alpha;
    double share[DS_ALPHA_CASES];
    ds_stat reference;          /* slope of the long run */
    double reference_error;     /* of its whole gradient: root of the mean square that is expected */
    ds_stat bias[DS_ESTIMATES]; /* of the slope, against the long run */
    double off[DS_ESTIMATES];   /* length of the bias of the whole gradient, less what noise makes of it */
    ds_stat error
        [DS_ESTIMATES]; /* root of the mean square of |estimate - long run|, less the noise of the long run */
    ds_empirical_bias rare; /* of the first-order samples of the long run, and their variance */
    double rare_variance;
    double failed, clamped; /* shares of the samples */
    uint64_t evaluations;
    /* of a single cell: DS_ESTIMATES + 1 blocks (the last: the long run) of 2 n values: means, and half
     * the width of their intervals; else NULL */
    double *vector;
} ds_cell;

/* One direction of the table of cells: a sweep, or the slice (sweep NULL). The last varies fastest. */
enum { DS_DIMS_MAX = DS_SWEEPS_MAX + 1 };
typedef struct ds_dim {
    const ds_sweep *sweep;
    uint64_t count;
} ds_dim;

/* The long run that estimates are held against, made of batches, whose means tell how exact it is. Its mean
 * is in work. */
typedef struct ds_reference {
    uint64_t place; /* what it belongs to, from 1; 0 = none yet */
    double total;   /* variance of its mean, all components */
    ds_stat slope;
    double slope_variance;
    ds_empirical_bias rare;
    double rare_variance;
} ds_reference;

typedef struct ds_gradients {
    const ds_settings *settings;
    ds_run_options run;
    ds_gradients_options wish;
    const char *id;
    /* of the present environment, which sweeps change */
    ds_settings varied;
    ds_pool *pool;
    const ds_pool_env *env;
    ds_slice place; /* with a slice */
    double *x, *scale, *axis;
    double *work; /* of gradients_cell.c */
    uint64_t n;   /* of the first environment, for the summary */
    int has_gradient, actions;
    char label[DS_SLICE_LABEL]; /* of the slice */
    ds_reference reference;
    /* results */
    ds_dim dim[DS_DIMS_MAX];
    int dims;
    uint64_t cells;
    ds_cell *cell;
    double start;     /* ds_clock_s() */
    double *slice_at; /* coordinates of the slice's points */
    uint64_t evaluations, failed;
    int made_folder; /* the folder of the results was not there before */
    char message[DS_SAMPLE_MESSAGE];
} ds_gradients;

/* Place of cell k along each direction. */
void ds_gradients_index(const ds_gradients *g, uint64_t k, uint64_t at[DS_DIMS_MAX]);

/* gradients_cell.c: numbers of g->work that n variables take; and the estimates of cell k (its sigma, samples
 * and gamma are set, as is g->x). `place`: number of its point, parameters and sigma, from 1. */
uint64_t ds_gradients_room(uint64_t n);
int ds_gradients_cell(ds_gradients *g, uint64_t k, uint64_t place, ds_error *e);

/* gradients_report.c */
json_t *ds_gradients_summary(const ds_gradients *g);
void ds_gradients_print(const ds_gradients *g, int written); /* is the folder? */
int ds_gradients_write(const ds_gradients *g, const json_t *summary, ds_error *e);

/* gradients_pictures.c */
int ds_gradients_draw(const ds_gradients *g, ds_error *e);

#endif
