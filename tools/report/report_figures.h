/* SPDX-License-Identifier: Apache-2.0 */
/* report_figures.h - the figures of a report, each with its numbers as CSV. */
#ifndef DS_REPORT_REPORT_FIGURES_H
#define DS_REPORT_REPORT_FIGURES_H

#include "plot/canvas.h"
#include "report/report.h"

/* Where a figure goes; a path that is NULL is not written. */
typedef struct ds_figure {
    const char *png, *svg, *csv;
    const ds_paper *paper; /* in place of PNG and SVG; NULL = for a screen */
} ds_figure;

/* What counts along the horizontal axis of curves and targets. */
enum { DS_ALONG_EVALUATIONS = 0, DS_ALONG_STEPS = 1, DS_ALONG_SECONDS = 2, DS_ALONGS = 3 };

enum {
    /* Mean final loss per optimizer on an environment with its 90 % interval by the bootstrap, and every run;
     * best first. */
    DS_FIGURE_BARS,
    /* Best loss so far on an environment: median and quartiles over runs; in the table also the
     * mean with its 90 % interval. A run that ended keeps its last value; the curve ends with
     * the optimizer's longest run. */
    DS_FIGURE_CURVES,
    /* Interquartile mean of the scores over all environments, 95 % intervals by the stratified bootstrap. */
    DS_FIGURE_SCORES,
    /* Share of runs with a score above tau. */
    DS_FIGURE_PROFILE,
    /* Share of (environment, target, run) reached, against cost per variable. Targets that nobody reached
     * are left out. */
    DS_FIGURE_TARGETS,
    DS_FIGURES
};

/* Their names for users. */
extern const char *const ds_figure_kinds[DS_FIGURES], *const ds_figure_alongs[DS_ALONGS];

/* Curves and targets are those of runs in time: optimizers with runs of tables, on the environment or
 * anywhere, are left out, which the figure says. Is anything left? */
int ds_figure_is_known(const ds_report *r, int kind, size_t env);

/* `env` and `along` count where the kind has them. */
int ds_figure_draw(const ds_report *r, int kind, size_t env, int along, const ds_figure *f, ds_error *e);

#endif
