/* SPDX-License-Identifier: Apache-2.0 */
/* identify.h - `dshost identify`: unknown quantities of a simulation from recordings.
 *
 * A case is an environment, its recordings, and the parameters, which are the numbers to find. Every
 * recording has an instance of the environment. Its inputs are the variables of the environment, then gain,
 * offset and delay of each signal; a map takes each input to a parameter or to a constant. So a parameter is
 * shared by all recordings or belongs to one. The residuals of a recording are
 *
 *     the residual channel of an environment that reads the recording itself, or
 *     gain s(t - delay) + offset - recorded  for each signal s, an element of a state channel,
 *
 * times the weights of the samples. Weights of held-out samples are 0.
 *
 * A search works on coordinates u: the parameter, or its logarithm. Recordings that share no parameter are
 * independent problems and are searched one after the other, each with the whole budget. One evaluation is
 * one simulation of every recording of the problem; products and differences cost evaluations, too. */
#ifndef DS_IDENTIFY_IDENTIFY_H
#define DS_IDENTIFY_IDENTIFY_H

#include "base/error.h"
#include "config/run_options.h"
#include "evaluate/pool.h"
#include "identify/identify_data.h"

#include <jansson.h>
#include <stdio.h>

enum {
    DS_IDENTIFY_RECORDINGS = 64,
    DS_IDENTIFY_PARAMETERS = 400,
    DS_IDENTIFY_SIGNALS = 16,
    DS_IDENTIFY_MINIMA = 24,
    DS_IDENTIFY_NAME = 2 * DS_MAX_NAME + 4,
    DS_IDENTIFY_LINE = 400
};

extern const ds_param *const ds_identify_schema[];

/* ---- the file ---- */

/* What sections [parameter NAME ...] say about inputs of that name or group. Texts are NULL where not given.
 */
typedef struct ds_identify_rule {
    char *names, *origin;
    char *lower, *upper, *start, *fixed, *log, *scope;
} ds_identify_rule;

/* Section [signal NAME]: which element of which channel a column records. */
typedef struct ds_identify_signal {
    char *name, *origin;
    char *channel, *element, *column, *unit, *scale, *noise;
} ds_identify_signal;

/* Section [recording NAME]: settings of the environment for this recording. */
typedef struct ds_identify_source {
    char *name;
    ds_section set;
} ds_identify_source;

typedef struct ds_identify_file {
    ds_settings settings; /* [run], [env], [identify] */
    ds_identify_rule *rule;
    ds_identify_signal *signal;
    ds_identify_source *source;
    size_t rules, signals, sources;
} ds_identify_file;

/* Reads the sections of a file into `f`, whose settings may hold flags already. */
int ds_identify_file_read(ds_identify_file *f, const char *path, ds_error *e);
/* Replaces the recordings. */
int ds_identify_file_data(ds_identify_file *f, const char *const *path, size_t paths, ds_error *e);
void ds_identify_file_clear(ds_identify_file *f);

typedef struct ds_identify_options {
    ds_params *params;
    const char *method, *windows;
    int own, bootstrap, recovery, profile, points, check_only, page;
    uint64_t samples, held_out;
    double level, noise, hop;
} ds_identify_options;

/* ---- the case ---- */

/* A number to find. */
typedef struct ds_identify_parameter {
    char name[DS_IDENTIFY_NAME], unit[DS_MAX_NAME + 1];
    int recording; /* -1 = shared */
    int log;
    double lower, upper, start;
} ds_identify_parameter;

typedef struct ds_identify_element {
    uint64_t column; /* of the data */
    uint64_t offset, stride;
    double noise; /* standard deviation; 0 = not known */
    char name[DS_MAX_NAME + 1];
} ds_identify_element;

typedef struct ds_identify_recording {
    char name[DS_MAX_NAME + 1];
    char *file; /* NULL = the environment makes its data */
    ds_settings settings;
    ds_pool *pool;
    const ds_pool_env *env;
    uint32_t channel, ops;
    uint64_t elements; /* of the channel */
    uint64_t n;        /* inputs: variables, then 3 for each signal */
    uint64_t m;        /* residuals */
    uint64_t rows, width, fitted;
    double dt; /* s between rows; 0 = not known */
    int timed; /* rows follow each other in time */
    int64_t *parameter;
    double *constant, *lower, *upper, *start; /* n each */
    char (*input)[DS_IDENTIFY_NAME];
    char (*unit)[DS_MAX_NAME + 1];
    double *weight; /* m: of the search: 0 = held out, or beyond the window */
    double *shift;  /* m: added to the residuals of made data; NULL = none */
    ds_identify_element element[DS_IDENTIFY_SIGNALS];
    uint64_t signals;
    ds_recorded_table data;           /* with signals: what was recorded, in the units of the channel */
    double *last_x, *last_r, *last_s; /* the last inputs, their residuals and channel */
    int known;
    uint64_t evaluations;
} ds_identify_recording;

typedef struct ds_identify_case {
    ds_identify_file *file;
    ds_identify_options options;
    ds_run_options run;
    const ds_module *module;
    ds_identify_recording *recording;
    size_t recordings;
    ds_identify_parameter *parameter;
    size_t parameters;
    char **warning; /* lines of the data check */
    size_t warnings;
} ds_identify_case;

/* Opens an instance for each recording and makes the list of parameters. */
int ds_identify_open(ds_identify_case *c, ds_identify_file *file, ds_error *e);
void ds_identify_close(ds_identify_case *c);

/* Adds a line to the warnings and prints it. */
int ds_identify_warn(ds_identify_case *c, ds_error *e, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The absolute or relative path that a setting means; to be freed. */
char *ds_identify_path(const ds_setting *s);

/* Recordings with common parameters. */
typedef struct ds_identify_problem {
    ds_identify_case *c;
    size_t recording[DS_IDENTIFY_RECORDINGS], recordings;
    size_t parameter[DS_IDENTIFY_PARAMETERS], n;
    uint64_t m;
    double *lower, *upper, *start; /* n each: coordinates */
    uint64_t evaluations;          /* so far, of all recordings together, divided by their number */
    uint64_t budget;
} ds_identify_problem;

/* The independent problems of a case; *out is to be freed with ds_identify_problems_free(). */
int ds_identify_problems(ds_identify_case *c, ds_identify_problem **out, size_t *count, ds_error *e);
void ds_identify_problems_free(ds_identify_problem *p, size_t count);

double ds_identify_value(const ds_identify_parameter *p, double u);
double ds_identify_coordinate(const ds_identify_parameter *p, double value);
/* d value / d u */
double ds_identify_slope(const ds_identify_parameter *p, double u);

/* Samples of a recording that a window of the first `share` of the fitted ones has, at least `least`. Sets
 * the weights of the search. */
void ds_identify_window(ds_identify_problem *p, uint64_t window);
uint64_t ds_identify_fitted(const ds_identify_problem *p);

/* Weighted residuals r (count x m) and their sum of squares at points u (count x n); loss +INFINITY where a
 * simulation fails. r may be NULL. */
int ds_identify_residuals(ds_identify_problem *p, uint64_t count, const double *u, double *r, double *loss,
                          ds_error *e);
/* out (count x m) = J v at points u, with v (count x n), and residuals (r may be NULL) and losses of the same
 * evaluations. A product that fails is zeros, and failed[row] is 1. */
int ds_identify_products(ds_identify_problem *p, uint64_t count, const double *u, const double *v,
                         double *out, double *r, double *loss, int *failed, ds_error *e);
/* out (n) = J' w at one point, with w (m). */
int ds_identify_transposed(ds_identify_problem *p, const double *u, const double *w, double *out, int *failed,
                           ds_error *e);
/* J (m x n, by columns) at one point; *failed as above. */
int ds_identify_jacobian(ds_identify_problem *p, const double *u, double *j, int *failed, ds_error *e);

/* Sums of squares and numbers of the unweighted residuals: fitted samples, held-out ones. */
typedef struct ds_identify_errors {
    double sum[2];
    uint64_t count[2];
} ds_identify_errors;

/* Errors of recording `k` at the point: of one column of its samples, or of all (column = -1). The residuals
 * stay in last_r. */
int ds_identify_errors_of(ds_identify_problem *p, size_t k, const double *u, int64_t column,
                          ds_identify_errors *out, ds_error *e);
/* Root mean square; NAN without samples. */
double ds_identify_rmse(const ds_identify_errors *v, int held_out);
/* Columns of a sample that have errors of their own: signals, or numbers of a residual; and their names. */
uint64_t ds_identify_columns(const ds_identify_recording *r);
void ds_identify_column_name(const ds_identify_recording *r, uint64_t column, char out[DS_IDENTIFY_NAME]);

/* ---- search ---- */

typedef struct ds_identify_minimum {
    double *u; /* n */
    double loss;
    double fit, held_out; /* root mean squares */
    uint64_t found;       /* searches that ended here */
    int within;           /* not worse than the best by more than noise explains */
} ds_identify_minimum;

typedef struct ds_identify_found {
    ds_identify_minimum minimum[DS_IDENTIFY_MINIMA]; /* ascending */
    size_t count;
    char recipe[DS_IDENTIFY_LINE];
} ds_identify_found;

int ds_identify_search(ds_identify_problem *p, uint64_t seed, ds_identify_found *out, ds_error *e);
/* Searches with one optimizer; the best point of each of its searches goes to `out`. `start` may be NULL;
 * `one`: ends after its first search. */
int ds_identify_optimize(ds_identify_problem *p, const char *optimizer, const char *settings, uint64_t seed,
                         const double *start, uint64_t budget, int one, ds_identify_found *out, ds_error *e);
void ds_identify_found_clear(ds_identify_found *f);

/* ---- statistics ---- */

typedef struct ds_identify_direction {
    char words[DS_IDENTIFY_LINE];
    double ratio; /* of its singular value to the largest */
} ds_identify_direction;

/* How well the residuals determine the parameters at a point. */
typedef struct ds_identify_determined {
    size_t n, rank;
    uint64_t rows;      /* residuals that count */
    double condition;   /* of J'J, in widths of the box */
    double *value;      /* n: singular values, descending */
    double *vector;     /* n x n: vector k in widths of the box */
    double *covariance; /* n x n of coordinates, for residuals of variance 1; determined directions only */
    int *known;         /* n: is the parameter determined? */
} ds_identify_determined;

/* The same from a Jacobian (m x n, by columns) and the residuals, which may be NULL. */
int ds_identify_decompose(const ds_identify_problem *p, const double *residual, const double *j,
                          ds_identify_determined *out, ds_error *e);
int ds_identify_determine(ds_identify_problem *p, const double *u, ds_identify_determined *out, int *failed,
                          ds_error *e);
void ds_identify_determined_clear(ds_identify_determined *d);
/* Direction k in words. */
void ds_identify_direction_words(const ds_identify_problem *p, const double *u, const double *vector,
                                 char out[DS_IDENTIFY_LINE]);

typedef struct ds_identify_estimate {
    double value, low, high; /* units of the parameter */
    const char *interval;    /* method */
    double linear_low, linear_high, window_low, window_high;
    int known, at_bound;
} ds_identify_estimate;

typedef struct ds_identify_recovery {
    size_t starts, recovered, covered, intervals;
} ds_identify_recovery;

/* All about one problem. */
typedef struct ds_identify_result {
    ds_identify_found found;
    ds_identify_determined determined;
    ds_identify_estimate *estimate; /* n */
    double *u;                      /* n: the best point */
    double *residual;               /* m, at it */
    double loss, sigma, white,
        bias;         /* white: lag-1 correlation of residuals; bias: mean over standard error */
    double effective; /* independent residuals */
    uint64_t counted;
    char undetermined[16][DS_IDENTIFY_LINE];
    size_t undetermined_count;
    double check_condition[2]; /* least and largest of random points */
    size_t check_points, check_deficient;
    ds_identify_recovery recovery;
    uint64_t evaluations, check_evaluations, certificate_evaluations;
} ds_identify_result;

/* What a recording measured and its simulation: a signal, or metrics recorded_NAME and NAME of an environment
 * that reads the file itself. */
typedef struct ds_identify_pair {
    char name[DS_IDENTIFY_NAME];
    uint64_t rows;
    double step;                  /* s between rows; 0 = not known */
    double *recorded, *simulated; /* one allocation, at `recorded` */
} ds_identify_pair;

/* All pairs of a recording, simulated at last_x, the inputs of its last residuals; at most
 * DS_IDENTIFY_SIGNALS. */
int ds_identify_pairs(const ds_identify_recording *r, ds_identify_pair *pair, size_t *count, ds_error *e);
void ds_identify_pairs_clear(ds_identify_pair *pair, size_t *count);

/* Before the search: suspicious data as warnings; rank at random points. */
int ds_identify_look(ds_identify_problem *p, ds_error *e);
int ds_identify_check(ds_identify_problem *p, ds_identify_result *r, ds_error *e);
/* After it: intervals and residuals. */
int ds_identify_conclude(ds_identify_problem *p, ds_identify_result *r, ds_error *e);
/* Says in words where the coverage is not within 2 % of the level; "" where it is. */
void ds_identify_judge_coverage(const ds_identify_recovery *r, double level, char out[DS_IDENTIFY_LINE]);
int ds_identify_certify(ds_identify_problem *p, ds_identify_result *r, ds_error *e);
void ds_identify_result_clear(ds_identify_result *r);

/* ---- results ---- */

typedef struct ds_identify_report {
    ds_identify_case *c;
    ds_identify_problem *problem;
    ds_identify_result *result; /* of each problem */
    size_t problems;
    const char *folder;
} ds_identify_report;

json_t *ds_identify_summary(const ds_identify_report *r, ds_error *e);
int ds_identify_write(const ds_identify_report *r, const json_t *summary, ds_error *e);
/* Where a task of environment `robot` names a URDF or MJCF file, writes a copy of it with the values x of the
 * variables: estimate.urdf, or estimate-RECORDING.urdf where there are several recordings. */
int ds_identify_model(const char *folder, const ds_identify_recording *q, const double *x, int several,
                      ds_error *e);
/* Writes the figures of recording `k` of a problem and puts them into the page: recorded and simulated values
 * of signals, or of metrics NAME and recorded_NAME of the environment, and the residuals. */
int ds_identify_figures(const ds_identify_report *r, ds_identify_problem *p, size_t k,
                        const ds_identify_result *v, FILE *f, ds_error *e);
int ds_identify_page(const ds_identify_report *r, const json_t *summary, ds_error *e);
void ds_identify_print(const ds_identify_report *r);

#endif
