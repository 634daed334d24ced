/* SPDX-License-Identifier: Apache-2.0 */
/* report_figures.h - the figures of a report, each with its numbers as CSV. */
#ifndef DS_REPORT_REPORT_FIGURES_H
#define DS_REPORT_REPORT_FIGURES_H

#include "report/report.h"

/* Where a figure goes; a path that is NULL is not written. */
typedef struct ds_figure {
    const char *png, *svg, *csv;
} ds_figure;

/* What counts along the horizontal axis. */
enum { DS_ALONG_EVALUATIONS = 0, DS_ALONG_STEPS = 1, DS_ALONG_SECONDS = 2 };

/* Mean final loss per optimizer on an environment with its 90 % interval by Student's t, and every run. */
int ds_figure_bars(const ds_report *r, size_t env, const ds_figure *f, ds_error *e);

/* Best loss so far on an environment: median and quartiles over runs; in the table also the mean with its
 * 90 % interval. A run that ended keeps its last value; the curve ends with the optimizer's longest run. */
int ds_figure_anytime(const ds_report *r, size_t env, int along, const ds_figure *f, ds_error *e);

/* Interquartile mean of the scores over all environments, 95 % intervals by the stratified bootstrap. */
int ds_figure_scores(const ds_report *r, const ds_figure *f, ds_error *e);

/* Share of runs with a score above tau. */
int ds_figure_profile(const ds_report *r, const ds_figure *f, ds_error *e);

/* Share of (environment, target, run) reached, against cost per variable. Targets that nobody reached
 * are left out. */
int ds_figure_targets(const ds_report *r, int along, const ds_figure *f, ds_error *e);

#endif
