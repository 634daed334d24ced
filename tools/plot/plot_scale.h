/* SPDX-License-Identifier: Apache-2.0 */
/* plot_scale.h - axes: which range and kind, where the ticks are, how they are labelled. */
#ifndef DS_PLOT_PLOT_SCALE_H
#define DS_PLOT_PLOT_SCALE_H

#include <stddef.h>

enum { DS_SCALE_LINEAR = 0, DS_SCALE_LOG = 1, DS_SCALE_SYMLOG = 2 };

enum { DS_SCALE_MAX_TICKS = 64, DS_TICK_LABEL_MAX = 40 };

typedef struct ds_scale {
    int kind;
    double low; /* data values at the two ends; low < high, both positive on a log scale */
    double high;
    double linear; /* symlog: below this magnitude the scale is about linear */
    double from;   /* pixels of low and high */
    double to;
} ds_scale;

typedef struct ds_tick {
    double value;
    int major; /* has a label */
    char label[DS_TICK_LABEL_MAX];
} ds_tick;

/* A scale that shows [low, high] (finite, low <= high) with a little air on both sides. A log scale falls
 * back to linear where it would span less than a third of a decade, a symlog scale where it would not reach
 * zero nor span a decade. */
ds_scale ds_scale_make(int kind, double low, double high, double linear, double from, double to);

/* Data value to pixel; values outside are not cut. */
double ds_scale_map(const ds_scale *s, double v);

/* About `wanted` labelled ticks; returns how many ticks of both kinds were filled. */
size_t ds_scale_ticks(const ds_scale *s, int wanted, ds_tick ticks[DS_SCALE_MAX_TICKS]);

#endif
