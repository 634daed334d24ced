/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_internal.h - the state of a landscape, shared by the files of its engine: landscape_run.c (life),
 * landscape_evaluate.c (points of the slice), landscape_survey.c (what is asked), and those that write
 * results. */
#ifndef DS_LANDSCAPE_LANDSCAPE_H
#define DS_LANDSCAPE_LANDSCAPE_H

#include "config/settings.h"
#include "landscape/landscape_measure.h"
#include "landscape/landscape_slice.h"
#include "landscape/landscape_verdict.h"
#include "run/session.h"

#include <jansson.h>
#include <stddef.h>

/* ---- landscape ---- */

/* the loss and its gradient on a slice through the box of an environment: evaluated by the
 * worker pool, recorded like a run (landscape.sqlite), measured, described and drawn.
 *
 * Rows of the record have three values: x is the two coordinates on the slice and 0, or of a random point of
 * the box its number, 0 and 1; grad, where it was asked
 * for, the derivatives along both axes and the norm of the whole gradient in widths of the box. */

/* What is wanted besides the settings. */
typedef struct ds_landscape_request {
    const char *folder;
    const char *const *path; /* folders of runs that are drawn on the slice */
    size_t paths;
    const char *marks; /* table of points that are drawn on it; NULL: those of the folder */
    int text;          /* print the text for people on stdout, */
    int advise;        /* or of it only the verdict and what to do about it */
} ds_landscape_request;

/* Surveys a slice from settings [run], [env], [landscape] into a new folder. On return *summary (owned by the
 * caller) is NULL where nothing was measured. 0 or an exit status; 130 and 143: stopped by a signal, and
 * saved. */
int ds_landscape_start(const ds_settings *settings, const ds_landscape_request *q, json_t **summary,
                       ds_error *e);

/* Goes on with the landscape in a folder, or, where it is complete, measures and draws it again. `overrides`:
 * settings of [run] that do not change results. */
int ds_landscape_resume(const ds_settings *overrides, const ds_landscape_request *q, json_t **summary,
                        ds_error *e);

/* ---- landscape_run ---- */

/* section [landscape]: which slice, and what is measured on it. */

/* The schema; the names are also the flags of `dshost landscape`. */
extern const ds_param *const ds_landscape_schema[];

enum { DS_GRADIENT_AUTO = 0, DS_GRADIENT_YES = 1, DS_GRADIENT_NO = 2 };

typedef struct ds_landscape_options {
    ds_slice_text text;
    ds_slice_plan plan;
    int gradient; /* DS_GRADIENT_* */
    uint64_t samples, jumps, box;
    int steps;
    double step[DS_MEASURE_STEPS]; /* descending, in widths of the slice */
    ds_params *params;             /* owns the texts */
} ds_landscape_options;

enum { DS_POINT_OUTSIDE = 255 }; /* outcome of a point outside of the box: it is not evaluated */

/* One answer. NAN where there is no number. */
typedef struct ds_slice_value {
    double loss;
    double grad[DS_SLICE_DIMS]; /* per unit of the axis */
    double norm;                /* of the whole gradient, in widths of the box */
    uint32_t outcome;           /* DS_EVAL_*, or DS_POINT_OUTSIDE */
} ds_slice_value;

/* A run whose evaluations are drawn on the slice. */
typedef struct ds_run_path {
    char *folder;
    uint64_t count;
    double *c;        /* count x 2 */
    double *distance; /* from the slice, as a share of the box's diagonal */
    double *loss;     /* +INFINITY = none */
    char title[80];
} ds_run_path;

/* Points of others that are drawn on the slice: a coordinate and a loss on a line, two coordinates on
 * a plane. */
enum { DS_MARKS_MAX = 3, DS_MARK_NAME = 80 };
typedef struct ds_mark_point {
    double xy[2];
    int percent; /* the loss in percent of the largest one on the slice */
} ds_mark_point;
typedef struct ds_mark {
    char name[DS_MARK_NAME];
    uint64_t count;
    ds_mark_point *point;
} ds_mark;

/* Norms of the gradient by the variables of each moment, in widths of the box, over some points. */
typedef struct ds_time_measure {
    uint64_t blocks; /* moments; 0 = the environment does not tell */
    uint64_t points;
    double *low, *median, *high; /* blocks values each, in one allocation at `low` */
    double growth;               /* of the median: first tenth of the episode over the last one */
} ds_time_measure;

typedef struct ds_landscape {
    ds_session session;
    ds_landscape_options wish;
    uint64_t recorded; /* evaluations of earlier starts */
    int want_gradient;
    ds_slice slice;
    /* results */
    ds_slice_value *grid; /* points of the slice */
    ds_samples samples;
    uint64_t *sample_point; /* grid points of the samples */
    ds_landscape_measures measures;
    ds_verdict verdict;
    ds_time_measure time;
    ds_run_path *trail;
    size_t trails;
    ds_mark mark[DS_MARKS_MAX];
    size_t marks;
} ds_landscape;

/* landscape_survey.c: everything that is evaluated, and the measures. As ds_landscape_ask(). */
int ds_landscape_survey(ds_landscape *l, ds_error *e);
uint64_t ds_landscape_planned(const ds_landscape *l);

/* landscape_time.c: fills l->time. As ds_landscape_ask(). */
int ds_landscape_time(ds_landscape *l, ds_error *e);

/* The grid as arrays of their own: loss, g0, g1, norm, of `points` values each in one block to be freed. NULL
 * without memory. */
double *ds_landscape_field(const ds_landscape *l, ds_field *out);

/* landscape_report.c: summary.json; and the text for people. */
json_t *ds_landscape_summary(const ds_landscape *l);
void ds_landscape_print(const ds_landscape *l, FILE *f);
void ds_landscape_print_advice(const ds_landscape *l, FILE *f); /* verdict and advice alone */

/* landscape_files.c: grid.csv, samples.csv, landscape.npz. */
int ds_landscape_write_files(const ds_landscape *l, ds_error *e);

/* landscape_pictures.c: landscape.png/.svg, gradient.png/.svg and time.png/.svg. */
int ds_landscape_draw(const ds_landscape *l, ds_error *e);

/* landscape_page.c: landscape.html, with the pictures that are in the folder. */
int ds_landscape_page(const ds_landscape *l, ds_error *e);

/* landscape_scale.c: how losses are mapped to colours: DS_SCALE_LINEAR or DS_SCALE_LOG, and where the scale
 * is cut, NAN where it is not. */
int ds_landscape_loss_scale(const ds_landscape *l, double *high);

/* landscape_run_path.c: projects the runs in the folders onto the slice. */
int ds_landscape_read_trails(ds_landscape *l, const char *const *folders, size_t count, ds_error *e);
void ds_landscape_free_trails(ds_landscape *l);

/* landscape_marks.c: reads points from a table, or (NULL) those that the folder keeps, if any. The slice is
 * open. 0 or an exit status. */
int ds_landscape_read_marks(ds_landscape *l, const char *path, ds_error *e);
int ds_landscape_write_marks(const ds_landscape *l, ds_error *e); /* marks.csv */
json_t *ds_landscape_marks_json(const ds_landscape *l);
double ds_mark_value(const ds_landscape *l, const ds_mark_point *p); /* the loss, or the second coordinate */
void ds_landscape_free_marks(ds_landscape *l);

/* ---- page_texts ---- */

/* style sheet and script of landscape.html, made of tools/landscape/page/ by page_files.sh. */

extern const char *const ds_page_landscape_css[];
extern const char *const ds_page_landscape_js[];
extern const char ds_page_landscape_js_sum[];

#endif
