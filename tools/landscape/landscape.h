/* SPDX-License-Identifier: Apache-2.0 */
/* landscape.h - the loss and its gradient on a slice through the box of an environment: evaluated by the
 * worker pool, recorded like a run (landscape.sqlite), measured, described and drawn.
 *
 * Rows of the record have three values. For a point of the slice x is its two coordinates and 0; for a random
 * point of the box x is its number, 0 and 1. grad, if requested, is the derivatives along both axes and the
 * norm of the whole gradient in widths of the box. */
#ifndef DS_LANDSCAPE_LANDSCAPE_H
#define DS_LANDSCAPE_LANDSCAPE_H

#include "config/settings.h"
#include "landscape/landscape_measure.h"
#include "landscape/landscape_slice.h"
#include "landscape/landscape_verdict.h"
#include "run/session.h"

#include <jansson.h>
#include <stddef.h>

/* A request besides the settings. */
typedef struct ds_landscape_request {
    const char *folder;
    const char *const *path; /* folders of runs to draw on the slice */
    size_t paths;
    const char *marks; /* table of points to draw on it; NULL = the points kept in the folder */
    int text;          /* print text on stdout: */
    int advise;        /* only verdict and advice */
} ds_landscape_request;

/* Surveys a slice from settings [run], [env], [landscape] into a new folder. *summary, owned by the caller,
 * is NULL if nothing was measured. Returns 0 or an exit status; 130 and 143: stopped by a signal, with all
 * evaluations saved. */
int ds_landscape_start(const ds_settings *settings, const ds_landscape_request *q, json_t **summary,
                       ds_error *e);

/* Continues the landscape in a folder, or measures and draws it again if it is complete. `overrides`:
 * settings of [run] that do not change results. */
int ds_landscape_resume(const ds_settings *overrides, const ds_landscape_request *q, json_t **summary,
                        ds_error *e);

/* ---- options: which slice, and what is measured ---- */

/* The schema; its names are also flags of `dshost landscape`. */
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

enum { DS_POINT_OUTSIDE = 255 }; /* outcome of a point outside the box, which is not evaluated */

/* One result; NAN = none. */
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
    double *distance; /* from the slice, relative to the box's diagonal */
    double *loss;     /* +INFINITY = none */
    char title[80];
} ds_run_path;

/* Third-party points drawn on the slice: a coordinate and a loss on a line, two coordinates on a plane. */
enum { DS_MARKS_MAX = 3, DS_MARK_NAME = 80 };
typedef struct ds_mark_point {
    double xy[2];
    int percent; /* the loss in percent of the largest on the slice */
} ds_mark_point;
typedef struct ds_mark {
    char name[DS_MARK_NAME];
    uint64_t count;
    ds_mark_point *point;
} ds_mark;

/* Norms of the gradient by the variables of each moment of the episode, in widths of the box, over some
 * points. */
typedef struct ds_time_measure {
    uint64_t blocks; /* moments; 0 = not known for this environment */
    uint64_t points;
    double *low, *median, *high; /* blocks values each; one allocation at `low` */
    /* ratio of the median in the first tenth of the episode to that in the last */
    double growth;
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

/* landscape_survey.c: evaluates everything and fills the measures. Returns 0, an exit status, or
 * DS_POOL_STOPPED. */
int ds_landscape_survey(ds_landscape *l, ds_error *e);
uint64_t ds_landscape_planned(const ds_landscape *l);

/* Fills l->time. Returns like ds_landscape_survey(). */
int ds_landscape_time(ds_landscape *l, ds_error *e);

/* The grid as separate arrays loss, g0, g1, norm of `points` values each in one block, to be freed; NULL
 * without memory. */
double *ds_landscape_field(const ds_landscape *l, ds_field *out);

/* landscape_report.c: summary.json, the text, and grid.csv, samples.csv, landscape.npz. */
json_t *ds_landscape_summary(const ds_landscape *l);
void ds_landscape_print(const ds_landscape *l, FILE *f);
void ds_landscape_print_advice(const ds_landscape *l, FILE *f); /* verdict and advice alone */

int ds_landscape_write_files(const ds_landscape *l, ds_error *e);

/* landscape_pictures.c: landscape.png/.svg, gradient.png/.svg and time.png/.svg. */
int ds_landscape_draw(const ds_landscape *l, ds_error *e);

/* landscape_page.c: landscape.html, with the figures in the folder. */
int ds_landscape_page(const ds_landscape *l, ds_error *e);

/* The colour scale of losses: DS_SCALE_LINEAR or DS_SCALE_LOG, and its upper limit if it is cut, else NAN. */
int ds_landscape_loss_scale(const ds_landscape *l, double *high);

/* landscape_marks.c: projects runs onto the slice. */
int ds_landscape_read_trails(ds_landscape *l, const char *const *folders, size_t count, ds_error *e);
void ds_landscape_free_trails(ds_landscape *l);

/* Reads third-party points from a table, or (NULL) those kept in the folder, if any. The slice must be open.
 * Returns 0 or an exit status. */
int ds_landscape_read_marks(ds_landscape *l, const char *path, ds_error *e);
int ds_landscape_write_marks(const ds_landscape *l, ds_error *e); /* marks.csv */
json_t *ds_landscape_marks_json(const ds_landscape *l);
double ds_mark_value(const ds_landscape *l, const ds_mark_point *p); /* the loss, or the second coordinate */
void ds_landscape_free_marks(ds_landscape *l);

/* The style sheet and script of landscape.html, generated by page_files.sh from tools/landscape/page/. */

extern const char *const ds_page_landscape_css[];
extern const char *const ds_page_landscape_js[];
extern const char ds_page_landscape_js_sum[];

#endif
