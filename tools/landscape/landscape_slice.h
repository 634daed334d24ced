/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_slice.h - a line or a plane through the box of an environment, and the grid of points on it.
 *
 * A point of the slice has one or two coordinates c; in the box it is x = origin + sum_k c_k dir_k. The
 * coordinate of a variable is its value, in its unit. Along a random direction, 1 is where the box would end
 * if the centre were in its middle. Along a line from A to B, it is 0 at A and 1 at B. */
#ifndef DS_LANDSCAPE_LANDSCAPE_SLICE_H
#define DS_LANDSCAPE_LANDSCAPE_SLICE_H

#include "config/settings.h"
#include "results/point.h"

enum { DS_SLICE_DIMS = 2, DS_SLICE_LABEL = 160 };

enum { DS_AXIS_VARIABLE = 0, DS_AXIS_RANDOM = 1, DS_AXIS_LINE = 2 };

/* The user's texts; "" = not given. */
typedef struct ds_slice_text {
    const char *axes;      /* "3", "0,1", "random", "random,random", "2,random", "velocity.x,1" */
    const char *from, *to; /* ends of a line, which is the first axis */
    const char *center;    /* point */
    const char *range;     /* "-1:1", "-1:1,0:2" */
    const char *grid;      /* "101", "101x51" */
} ds_slice_text;

/* The same after parsing, before the environment is known. */
typedef struct ds_slice_plan {
    int dims; /* 0 = chosen when the environment is known */
    int kind[DS_SLICE_DIMS];
    uint64_t variable[DS_SLICE_DIMS];
    char name[DS_SLICE_DIMS][DS_MAX_NAME + 1]; /* "" = by its number */
    int ranges;                                /* 0 = defaults, 1 = one for all axes, 2 */
    double low[DS_SLICE_DIMS], high[DS_SLICE_DIMS];
    int grids; /* "" = given by number */
    uint64_t count[DS_SLICE_DIMS];
} ds_slice_plan;

typedef struct ds_slice {
    uint64_t n;
    int dims;
    double *origin;             /* n values; start of the block of all values */
    double *dir[DS_SLICE_DIMS]; /* n values each */
    double *center;             /* n values: the values of other variables; A of a line */
    double *end;                /* n values: B of a line, else 0 */
    double *lower, *upper;      /* n values each: the box */
    double low[DS_SLICE_DIMS], high[DS_SLICE_DIMS];
    uint64_t count[DS_SLICE_DIMS]; /* 1 for a missing axis */
    int kind[DS_SLICE_DIMS];
    uint64_t variable[DS_SLICE_DIMS];
    char label[DS_SLICE_DIMS][DS_SLICE_LABEL];
} ds_slice;

/* Parses the texts. On failure returns -1, with the name of the wrong text in *key ("axes"), and in `why` the
 * reason without the text. */
int ds_slice_parse(const ds_slice_text *text, ds_slice_plan *out, const char **key, char why[160]);

/* Makes the slice; random directions depend on the seed. Failures like those of ds_slice_parse() return -1;
 * others an exit status with *e filled. */
int ds_slice_make(const ds_slice_plan *plan, const ds_slice_text *text, const char *id,
                  const ds_pool_env *env, uint64_t seed, ds_slice *out, const char **key, char why[160],
                  ds_error *e);
void ds_slice_free(ds_slice *s);

/* Number of grid points, and the coordinates of point k = j * count[0] + i. */
uint64_t ds_slice_points(const ds_slice *s);
void ds_slice_grid(const ds_slice *s, uint64_t k, double c[DS_SLICE_DIMS]);

/* x of a point of the slice (n values). Returns 0 if it is outside the box. */
int ds_slice_x(const ds_slice *s, const double c[DS_SLICE_DIMS], double *x);

/* Derivatives along the axes, per unit of their coordinates. */
void ds_slice_gradient(const ds_slice *s, const double *gradient, double out[DS_SLICE_DIMS]);

/* The coordinates of the point of the slice nearest to x, with lengths in widths of the box. Returns the
 * distance relative to the box's diagonal. */
double ds_slice_project(const ds_slice *s, const double *x, double c[DS_SLICE_DIMS]);

/* Fails for the value of a key of section [landscape] or [gradients], with its origin, key and value, and
 * the reason. `command` replaces the origin of a default. */
int ds_slice_refuse(const ds_settings *settings, int section, const char *command, const char *key,
                    const char *why, ds_error *e);

#endif
