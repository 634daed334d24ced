/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_measure.h - measures on a grid of losses and gradients: range, plateaus, steep places, turning
 * points, basins, and how useful the gradient is. Pure functions of arrays.
 *
 * Lengths are in widths of the slice, so that variables of different units compare: a scaled derivative is
 * the change of the loss across the whole width at that slope. R is the range of the loss on the slice,
 * largest minus smallest value. */
#ifndef DS_LANDSCAPE_LANDSCAPE_MEASURE_H
#define DS_LANDSCAPE_LANDSCAPE_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/* Thresholds; docs/landscape.md explains them. */
#define DS_EQUAL 1e-12     /* plateau: neighbours differ by at most this times the largest |loss| */
#define DS_STEEP 0.05      /* of R between neighbours: steep, a candidate for a jump */
#define DS_JUMP 0.025      /* of R within 1/4096 of a grid spacing: a jump */
#define DS_CHANGE 1e-6     /* of R: smaller scaled differences have no direction */
#define DS_DEPTH 0.01      /* of R: least depth of a basin or a turn */
#define DS_ZERO 1e-9       /* of R: smaller scaled derivatives are zero */
#define DS_EXPLODING 100.0 /* times R: larger scaled derivatives have exploded */
#define DS_CONVERGED 0.01  /* relative: differences of two steps that agree within this have converged */
#define DS_EXACT 0.01      /* relative: a gradient within this of a converged difference is its limit */

/* A hole in the data is not a ridge: floods meet across points without a loss, up to this part of the slice.
 */
enum { DS_BRIDGED = 4 };

enum { DS_FIELD_DIMS = 2, DS_JUMP_LEVELS = 12, DS_MEASURE_STEPS = 8 };

/* Values on the grid; point k = j * count[0] + i. NAN = none. */
typedef struct ds_field {
    int dims;
    uint64_t count[DS_FIELD_DIMS]; /* count[1] is 1 on a line */
    double width[DS_FIELD_DIMS];   /* of the slice, in units of the axis */
    const double *loss;
    const double *g[DS_FIELD_DIMS]; /* derivatives per unit of the axis; NULL = no gradients */
    const double *norm;             /* of the whole gradient, in widths of the box; or NULL */
} ds_field;

/* Quantiles of a sample: smallest, 10 %, median, 90 %, largest; NAN = none. */
typedef struct ds_spread {
    uint64_t count;
    double min, q10, median, q90, max;
} ds_spread;

/* Sorts v in place; values that are not finite are left out. */
ds_spread ds_spread_of(double *v, uint64_t count);

/* ---- loss ---- */

/* Measures along one axis, from neighbours. */
typedef struct ds_axis_measure {
    uint64_t pairs; /* neighbours that both have a loss */
    uint64_t equal; /* of these, on a plateau */
    uint64_t steep; /* of these, more than DS_STEEP apart */
    uint64_t lines;
    uint64_t triples; /* three consecutive points with a loss */
    uint64_t turns;   /* up and then down by more than DS_DEPTH, or the reverse */
    double sweeps;    /* total variation over range, mean over lines: how often the loss crosses its range */
} ds_axis_measure;

typedef struct ds_loss_measure {
    uint64_t points, with_loss;
    ds_spread loss;
    double range;  /* R */
    uint64_t best; /* point with the lowest loss */
    ds_axis_measure axis[DS_FIELD_DIMS];
    uint64_t cells, steep_cells; /* squares of four points (on a line: pairs); with a range above DS_STEEP */
} ds_loss_measure;

/* Returns -1 without memory. */
int ds_measure_loss(const ds_field *f, ds_loss_measure *out);

/* Finds neighbours more than DS_STEEP apart: axis and first point of at most `room` pairs, evenly chosen from
 * all. */
typedef struct ds_pair {
    uint64_t point;
    int axis;
} ds_pair;
uint64_t ds_measure_steep(const ds_field *f, double range, ds_pair *out, uint64_t room);

/* ---- basins ---- */

typedef struct ds_basin_measure {
    uint64_t minima; /* local minima of the grid; plateaus count once */
    uint64_t basins; /* of these, deeper than DS_DEPTH: ends of descents that cross smaller barriers */
    double drain;    /* share of points whose descent ends in the lowest basin */
    double second;   /* lowest loss of the second best basin minus the best, over R; NAN = none */
} ds_basin_measure;

/* Floods the slice from below. Around points without a loss, two points are also neighbours if no other point
 * with a loss is in their rectangle and they are at most 1/DS_BRIDGED of the slice apart. Returns -1 without
 * memory. */
int ds_measure_basins(const ds_field *f, double range, ds_basin_measure *out);

/* ---- gradient ---- */

/* Gradients against differences of the loss. */
typedef struct ds_agreement {
    double step;         /* of the difference, in widths; 0 = several */
    uint64_t compared;   /* points where the loss changes */
    uint64_t blind;      /* of these, with a zero gradient */
    uint64_t wrong_way;  /* of these, with a negative cosine */
    uint64_t wrong_sign; /* single derivatives with the opposite sign */
    uint64_t signs;      /* single derivatives compared */
    ds_spread cosine;
    ds_spread ratio; /* |gradient| / |difference| */
} ds_agreement;

typedef struct ds_gradient_measure {
    uint64_t points;                   /* with a gradient */
    uint64_t missing;                  /* with a loss but without a gradient */
    uint64_t zero;                     /* no derivative along the slice */
    uint64_t zero_axis[DS_FIELD_DIMS]; /* no derivative along this axis */
    uint64_t all_zero;                 /* no derivative along any variable */
    uint64_t exploding;
    uint64_t turns, pairs; /* neighbours between which the derivative along their axis changes sign */
    ds_spread size;        /* scaled derivative along the slice, over R */
    ds_spread norm;        /* of the whole gradient, in widths of the box */
    ds_agreement trend;    /* against differences across two grid spacings */
} ds_gradient_measure;

/* Returns -1 without memory. */
int ds_measure_gradient(const ds_field *f, double range, ds_gradient_measure *out);

/* Does the gradient of point k point uphill, judged by the difference across two grid spacings? */
int ds_wrong_way(const ds_field *f, double range, uint64_t k);

/* The difference across two grid spacings, scaled like a gradient. Returns 0 if a neighbour has no loss. */
int ds_trend(const ds_field *f, uint64_t k, double d[DS_FIELD_DIMS]);

/* Samples with differences of several steps. Derivatives are scaled by the width of the slice. */
typedef struct ds_samples {
    int dims;
    uint64_t count;
    int steps;
    const double *step; /* steps values, in widths, descending */
    const double *loss; /* count values */
    const double *g;    /* count x 2 */
    const double *d;    /* count x steps x 2; NAN = none */
} ds_samples;

typedef struct ds_quality_measure {
    uint64_t samples;
    int steps;
    ds_agreement at[DS_MEASURE_STEPS];
    uint64_t judged;    /* samples with two or more differences */
    uint64_t converged; /* of these, with two steps that agree */
    uint64_t exact;     /* of the converged ones, with the gradient as their limit */
    uint64_t opposite;  /* of the converged ones, with a negative cosine */
    ds_spread error;    /* of the converged ones: |gradient - difference| over the larger of both */
} ds_quality_measure;

int ds_measure_quality(const ds_samples *s, double range, ds_quality_measure *out);

#endif
