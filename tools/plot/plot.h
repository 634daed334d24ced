/* SPDX-License-Identifier: Apache-2.0 */
/* plot.h - the pictures of a run that need only numbers: convergence, and the best point within its bounds.
 */
#ifndef DS_PLOT_PLOT_H
#define DS_PLOT_PLOT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/variables.h"

enum { DS_PLOT_WIDTH = 1200, DS_PLOT_HEIGHT = 800 };

/* The history of one run. */
typedef struct ds_convergence {
    const char *env; /* ids */
    const char *opt;
    uint64_t seed;
    uint64_t count;     /* evaluations done */
    const double *loss; /* `count` losses in the order of evaluation; what is not finite counts as failed */
    const uint8_t *tag; /* per evaluation: number of its kind, < tags; NULL where there are none */
    uint32_t tags;      /* 0..7 */
    const char *const *tag_name; /* "init", "sample", ...; "" = evaluations without a tag */
    uint64_t budget;             /* evaluations planned, 0 = no limit */
    double target;               /* finite: drawn as a line */
    const char *note;            /* appended to the second line, e.g. "stopped by a signal"; may be NULL */
} ds_convergence;

/* Writes the convergence picture: best loss so far against evaluations, single evaluations behind it, failed
 * ones at the upper edge. Either path may be NULL. Returns 0 or DS_EXIT_IO / DS_EXIT_MEMORY. */
int ds_picture_convergence(const char *png_path, const char *svg_path, const ds_convergence *run,
                           ds_error *e);

/* What stands above and below a picture of one evaluation. */
typedef struct ds_caption {
    const char *env;
    const char *opt; /* NULL: not found by a run */
    uint64_t seed;
    double loss;          /* not finite: failed */
    uint64_t number;      /* evaluation number, from 1; 0 = none */
    const char *text;     /* continues the second line, e.g. the main metrics; may be NULL */
    const char *settings; /* what the environment was made with, "variant 2, preset small"; may be NULL */
} ds_caption;

/* The two lines that stand above a picture: "env . opt" and "loss ... at evaluation ...". The first one
 * names the settings, too. */
void ds_caption_title(char *out, size_t room, const ds_caption *caption);
void ds_caption_line(char *out, size_t room, const ds_caption *caption);

/* A point, its bounds, and what the variables are called. */
typedef struct ds_bars {
    uint64_t n;
    const double *x, *lower, *upper;
    const ds_named_variable *variables; /* NULL = without names */
} ds_bars;

/* Writes a PNG of the best x as bars within its bounds, for environments that show no scene. Names stand
 * below them where all of them have room, else numbers. */
int ds_picture_best_x(const char *path, const ds_bars *bars, const ds_caption *caption, ds_error *e);

#endif
