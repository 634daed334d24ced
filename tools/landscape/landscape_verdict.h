/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_verdict.h - a landscape described in words, and the thresholds of the words. */
#ifndef DS_LANDSCAPE_LANDSCAPE_VERDICT_H
#define DS_LANDSCAPE_LANDSCAPE_VERDICT_H

#include "landscape/landscape_measure.h"

/* Steep neighbours whose distance was halved DS_JUMP_LEVELS times. */
typedef struct ds_jump_measure {
    uint64_t steep, pairs; /* of the grid */
    uint64_t tested, jumps;
} ds_jump_measure;

/* Random points of the whole box. */
typedef struct ds_box_measure {
    uint64_t points, failed;     /* points without a loss although x is feasible */
    uint64_t with_loss, missing; /* points with a loss; of these, without a gradient */
} ds_box_measure;

typedef struct ds_landscape_measures {
    uint64_t n; /* variables of the environment, for the advice; 0 = few */
    ds_loss_measure loss;
    ds_basin_measure basins;
    ds_jump_measure jump;
    ds_box_measure box;
    uint64_t outside; /* grid points outside the box, which are not evaluated */
    int has_gradient;
    int not_measured; /* the environment has gradients that were not requested */
    ds_gradient_measure gradient;
    ds_quality_measure quality;
} ds_landscape_measures;

enum { DS_THRESHOLDS = 14 };

/* Facts behind the words. */
typedef struct ds_verdict {
    int constant, plateaus, jumps, lossless;
    int untested; /* there are steep neighbours, but none was halved */
    int rugged;   /* 0 smooth, 1 rugged, 2 extremely rugged */
    int no_gradient, zero, missing, exploding, noisy, not_derivative;
    int wrong_way; /* 0 rarely, 1 sometimes, 2 often */
    double turns_per_line, turn_share, plateau_share, jump_share /* NAN = not tested */, zero_share,
        missing_share, exploding_share, wrong_way_share, lossless_share; /* of the points inside the box */
    double converged_share, exact_share;                                 /* NAN = nothing was tested */
    double measured[DS_THRESHOLDS]; /* what is compared with each threshold; NAN = not measured */
    int said[DS_THRESHOLDS];        /* did it cause a word? */
    char shape[160], gradients[200];
    char words[400];  /* "rugged (121 basins); good gradients" */
    char advice[400]; /* "gradients vanish at 40 % of the points: ..." and what to try; "" = none */
} ds_verdict;

void ds_verdict_make(const ds_landscape_measures *m, ds_verdict *out);

/* One threshold: the word, the measure, and the value from which on the word is used. */
typedef struct ds_threshold {
    const char *word, *measure;
    double value;
} ds_threshold;
extern const ds_threshold ds_thresholds[DS_THRESHOLDS];

#endif
