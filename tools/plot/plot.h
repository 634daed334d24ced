/* SPDX-License-Identifier: Apache-2.0 */
/* plot.h - figures of one run: convergence, and the best point within its bounds. */
#ifndef DS_PLOT_PLOT_H
#define DS_PLOT_PLOT_H

#include "base/error.h"
#include "base/variables.h"

#include <stddef.h>
#include <stdint.h>

enum { DS_PLOT_WIDTH = 1200, DS_PLOT_HEIGHT = 800 };

/* The history of one run. */
typedef struct ds_convergence {
    const char *env; /* ids */
    const char *opt;
    uint64_t seed;
    uint64_t count; /* evaluations made */
    /* `count` losses in order of evaluation; a loss that is not finite counts as failed */
    const double *loss;
    const uint8_t *tag;          /* per evaluation: its kind < tags; NULL = not known */
    uint32_t tags;               /* 0..7 */
    const char *const *tag_name; /* "init", "sample", ...; "" = evaluations without a tag */
    uint64_t budget;             /* planned evaluations, 0 = no limit */
    double target;               /* drawn as a line if finite */
    const char *note;            /* appended to the second line, e.g. "stopped by a signal"; may be NULL */
} ds_convergence;

/* Draws the convergence figure: best loss so far against evaluations, with single evaluations in the
 * background and failed ones at the upper edge. Either path may be NULL. Returns 0, DS_EXIT_IO or
 * DS_EXIT_MEMORY. */
int ds_picture_convergence(const char *png_path, const char *svg_path, const ds_convergence *run,
                           ds_error *e);

/* Text above and below an image of one evaluation. */
typedef struct ds_caption {
    const char *env;
    const char *opt; /* NULL = not the result of a run */
    uint64_t seed;
    double loss;          /* not finite: failed */
    uint64_t number;      /* evaluation number, from 1; 0 = none */
    const char *text;     /* continues the second line, e.g. the main metrics; may be NULL */
    const char *settings; /* settings of the environment, "variant 2, preset small"; may be NULL */
    int no_loss;          /* the second line is `text` alone */
} ds_caption;

/* The two lines above an image: "env . opt" with the settings, and "loss ... at evaluation ...". */
void ds_caption_title(char *out, size_t room, const ds_caption *caption);
void ds_caption_line(char *out, size_t room, const ds_caption *caption);

/* A point, its bounds, and the names of its variables. */
typedef struct ds_bars {
    uint64_t n;
    const double *x, *lower, *upper;
    const ds_named_variable *variables; /* NULL = without names */
} ds_bars;

/* Writes a PNG of the best x as bars within its bounds, for environments without a scene. The bars are
 * labelled with names if all of them fit, else with numbers. */
int ds_picture_best_x(const char *path, const ds_bars *bars, const ds_caption *caption, ds_error *e);

#endif
