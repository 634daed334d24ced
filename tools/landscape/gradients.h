/* SPDX-License-Identifier: Apache-2.0 */
/* gradients.h - estimates of the gradient of a smoothed loss. */
#ifndef DS_LANDSCAPE_GRADIENTS_H
#define DS_LANDSCAPE_GRADIENTS_H

#include "config/params.h"
#include "config/run_options.h"
#include "config/settings.h"
#include "evaluate/pool.h"
#include "landscape/landscape_slice.h"
#include "stats/sample.h"

#include <diffsim/plugin.h>

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* ---- gradients ---- */

/* estimates of the gradient of a smoothed loss, of first, zeroth and alpha order: at a point,
 * along a slice, and over sweeps; their means, variances, errors and what rules them. Nothing is recorded but
 * results: it cannot be gone on with, and starts anew each time. */

/* What is wanted besides the settings. */
typedef struct ds_gradients_request {
    int text; /* print the table for people on stdout */
} ds_gradients_request;

/* Estimates as settings [run], [env], [gradients] say. Where [run] out is given, that folder gets
 * estimates.csv, summary.json and pictures. *summary (owned by the caller) is what the JSON says; NULL where
 * there is none. 0 or an exit status; 130 and 143: stopped by a signal, with nothing written. */
int ds_gradients_make(const ds_settings *settings, const ds_gradients_request *q, json_t **summary,
                      ds_error *e);

/* ---- gradients_sweep ---- */

/* what is varied: sample counts, the width of the smoothing, gamma, parameters of the
 * environment, as lists or ranges.
 *
 *     samples=10,100,1000        env.mu=log:1e2:1e7:11
 *     env.T=lin:20:400:20        env.system=ball_wall,momentum */

enum { DS_SWEEPS_MAX = 4, DS_SWEEP_VALUES = 4096, DS_SWEEP_TEXT = 64, DS_SWEEP_WHY = 200 };

/* What a sweep varies. */
enum { DS_SWEEP_ENV = 0, DS_SWEEP_SIGMA = 1, DS_SWEEP_SAMPLES = 2, DS_SWEEP_GAMMA = 3 };

/* One value: as a setting, and as a number (its place from 0 where it is none). */
typedef struct ds_sweep_value {
    char text[DS_SWEEP_TEXT];
    double number;
} ds_sweep_value;

typedef struct ds_sweep {
    int what;                  /* DS_SWEEP_* */
    char key[DS_MAX_NAME + 1]; /* of a parameter: "mu"; else the word itself */
    ds_sweep_value *value;     /* owned; freed by ds_sweeps_free() */
    uint64_t count;
    int range; /* given as one */
    int log;   /* a logarithmic axis suits it */
} ds_sweep;

/* Reads "KEY=VALUES KEY=VALUES ..." (blanks between them), at most DS_SWEEPS_MAX; *count of them. 0, -1 with
 * a reason in `why`, -2 without memory. Partly filled ones are to be freed, too. */
int ds_sweeps_parse(const char *text, ds_sweep out[DS_SWEEPS_MAX], int *count, char why[DS_SWEEP_WHY]);
void ds_sweeps_free(ds_sweep *sweep, int count);

/* Numbers of a range become whole ones where the parameter is one (equal neighbours fall together): called
 * when the schema of the environment is known. -1 with a reason where it has no such parameter. */
int ds_sweep_fit(ds_sweep *s, const ds_param *const *schema, char why[DS_SWEEP_WHY]);

/* ---- estimate ---- */

/* gradients of a smoothed loss F(x) = E_w f(x + w), w ~ N(0, sigma^2 I), from samples: moments
 * of single estimates, how the two orders are mixed, and what rare large samples do to a variance.
 *
 * Single estimates z_i are grad f(x + w_i) (first order) or (f(x + w_i) - f(x)) w_i / sigma^2 (zeroth order).
 * Source: H. J. T. Suh, M. Simchowitz, K. Zhang, R. Tedrake, "Do differentiable simulators give better policy
 * gradients?", ICML 2022, sections 2 to 4. Nothing here knows of environments. Pure functions; callable from
 * any thread. */

/* Mean and scatter of estimates of n numbers, one after the other (B. P. Welford, Technometrics 4, 1962). An
 * estimate may be the mean of several samples, of an antithetic pair. */
typedef struct ds_moments {
    uint64_t n, count; /* numbers of one estimate; estimates so far */
    uint64_t samples;  /* in them */
    double *mean;      /* n values; belongs to the caller, as does m2 */
    double *m2;        /* n values: sums of squared distances from the mean */
} ds_moments;

/* Begins with no estimates; `room` has 2 n values. */
void ds_moments_begin(ds_moments *m, uint64_t n, double *room);
/* Adds the estimate z (n values), which is the mean of so many samples. */
void ds_moments_add(ds_moments *m, const double *z, uint64_t samples);

/* The empirical variance of one sample, 1/(N-1) sum |z_i - mean|^2: the trace of the sample covariance. Of
 * means of pairs the variance of a sample that would give the mean the same error. NAN for fewer than two
 * estimates. Variable k alone: the same of component k. */
double ds_moments_variance(const ds_moments *m);
double ds_moments_variance_of(const ds_moments *m, uint64_t k);

/* How alpha is chosen. */
enum {
    DS_ALPHA_BIAS =
        0, /* inverse variances, as long as the difference that the first order may make stays below gamma */
    DS_ALPHA_IVW = 1 /* inverse variances alone */
};

/* What became of it: the zeroth order is too uncertain (alpha = 0); alpha of the variances; alpha limited
 * by gamma. */
enum { DS_ALPHA_UNCERTAIN = 0, DS_ALPHA_INSIDE = 1, DS_ALPHA_HIT = 2, DS_ALPHA_CASES = 3 };
extern const char *const ds_alpha_case_names[DS_ALPHA_CASES];

/* Constants of the mixture. */
typedef struct ds_alpha_rule {
    int rule;
    double gamma; /* error of the gradient that is allowed, in its unit; INFINITY = any */
    /* a bound that is believed of the length of one zeroth-order sample, in the gradient's unit */
    double largest;
    double chance; /* that the bound of the error of the zeroth order is wrong: above 0 */
    double fixed;  /* alpha itself, 0..1; negative = by the rule */
} ds_alpha_rule;

typedef struct ds_alpha {
    double alpha; /* weight of the first order, 0..1 */
    double eps;   /* bound of the error of the zeroth order (Bernstein's inequality for vectors) */
    int which;    /* DS_ALPHA_* case */
} ds_alpha;

/* The weight for empirical variances of one sample, `distance` = B = |g1 - g0|, n variables and N
 * zeroth-order samples:
 *
 *     eps = sqrt(2 variance0 ln((n+1)/chance) / N) + 2 largest / (3 N) ln((n+1)/chance)
 *     alpha = variance0 / (variance0 + variance1 + 1e-5)     where alpha B <= gamma - eps,
 *             (gamma - eps) / B                              where not, 0 where eps > gamma
 *
 * A variance that is NAN (no such estimate) gives the other order all the weight, both 0. */
ds_alpha ds_alpha_choose(const ds_alpha_rule *rule, double variance1, double variance0, double distance,
                         uint64_t n, uint64_t N);

/* |a - b| of n numbers, without overflow. */
double ds_distance(const double *a, const double *b, uint64_t n);

/* Empirical bias: the share 1 - beta of the samples that lie together has another mean than all of them,
 * though it scatters little; then the variance of one sample is at least bound = max(0, (1-beta) delta - beta
 * |E z|)^2 / beta, however small it looks as long as no sample of the rest was seen. */
typedef struct ds_empirical_bias {
    double beta;   /* what was found to be outside: at most what was asked for */
    double delta;  /* |E[z | event] - E z| */
    double radius; /* largest |z - E[z | event]| within the event: S */
    double bound;  /* of the variance */
} ds_empirical_bias;

/* Of `count` samples z (count x n): the event is the share 1 - beta that lies nearest to the median of each
 * component. `mean`: E z, or the best that is known of it. All NAN where there is no such event. -1 without
 * memory, else 0. */
int ds_empirical_bias_of(const double *z, uint64_t count, uint64_t n, const double *mean, double beta,
                         ds_empirical_bias *out);

/* ---- options ---- */

/* The schema; the names are also the flags of `dshost gradients`. */
extern const ds_param *const ds_gradients_schema[];

enum { DS_BASELINE_CENTER = 0, DS_BASELINE_MEAN = 1, DS_BASELINE_NONE = 2 };
enum { DS_NOISE_AUTO = 0, DS_NOISE_VARIABLES = 1, DS_NOISE_ACTIONS = 2 };
enum { DS_UNITS_X = 0, DS_UNITS_BOX = 1 };
enum { DS_REFERENCE_ZEROTH = 0, DS_REFERENCE_FIRST = 1 };

typedef struct ds_gradients_options {
    const char *x; /* the point, where there is no slice */
    ds_slice_text slice_text;
    ds_slice_plan plan;
    int slice;    /* is there one? */
    double sigma; /* 0 = that of the environment, with noise on actions; else 0.1 stands for it */
    uint64_t samples, repeats, reference;
    int reference_order, baseline, noise, units;
    int shared, antithetic;
    ds_alpha_rule rule;
    double beta;  /* of the empirical bias */
    double level; /* of the intervals */
    ds_sweep sweep[DS_SWEEPS_MAX];
    int sweeps;
    ds_params *params; /* owns the texts */
} ds_gradients_options;

/* Converts section [gradients]. */
int ds_gradients_options_make(const ds_settings *settings, ds_gradients_options *out, ds_error *e);
void ds_gradients_options_clear(ds_gradients_options *o);

/* Fails for the value of a key: origin, key, value, and why. */
int ds_gradients_refuse(const ds_settings *settings, const char *key, const char *why, ds_error *e);

/* ---- samples ---- */

/* Which orders a set of samples serves. */
enum { DS_ORDER_FIRST = 1, DS_ORDER_ZEROTH = 2 };

enum { DS_SAMPLE_MESSAGE = 200 };

/* How samples are made around one point. Gradients are in the unit of the scaled variables x[k] / scale[k],
 * in which the noise has standard deviation sigma in every direction. */
typedef struct ds_sampler {
    ds_pool *pool;
    const ds_pool_env *env;
    uint64_t seed;
    const double *x, *scale; /* n values each */
    double sigma;
    double center; /* f(x); NAN = none */
    int actions;   /* the environment puts the noise on the actions of a policy */
    int antithetic;
    int baseline; /* DS_BASELINE_* */
    /* A control variate of the zeroth order, n values or NULL: with any fixed g, (f(x + w) - f(x) - g . w) w
     * / sigma^2 + g has the same mean, and scatters less the nearer g is to the gradient. Not with noise
     * on actions. */
    const double *tilt;
} ds_sampler;

/* A set of samples. The caller provides the places; those of an order that is not wanted may be NULL. */
typedef struct ds_sample_set {
    const char *stream; /* name and index of the random numbers */
    uint64_t index;
    uint64_t count;        /* wanted; rounded up to pairs */
    int orders;            /* DS_ORDER_* */
    double *room1, *room0; /* 2 n values each, for the moments */
    double *keep;          /* the first `keep_rows` samples of the first order (keep_rows x n); or NULL */
    uint64_t keep_rows;

    /* out */
    ds_moments first, zeroth, loss;
    double loss_room[2];
    uint64_t kept;    /* rows of `keep` */
    uint64_t failed;  /* samples without a loss, or without a gradient that was wanted */
    uint64_t clamped; /* samples that were moved back into the box */
    uint64_t evaluations;
    char message[DS_SAMPLE_MESSAGE]; /* why the first one failed */
} ds_sample_set;

/* Draws and evaluates. 0, an exit status, or DS_POOL_STOPPED. */
int ds_sample(const ds_sampler *s, ds_sample_set *set, ds_error *e);

/* f(x) itself, without noise; NAN where the evaluation fails, with the reason in `message`, else "". */
int ds_sample_center(const ds_sampler *s, double *loss, char message[DS_SAMPLE_MESSAGE], ds_error *e);

/* ---- state ---- */

/* The three estimates. */
enum { DS_FIRST = 0, DS_ZEROTH = 1, DS_ALPHA = 2, DS_ESTIMATES = 3 };
extern const char *const ds_estimate_names[DS_ESTIMATES]; /* "first", "zeroth", "alpha" */

/* A mean and its interval. NAN where there is none. */
typedef struct ds_stat {
    double mean, low, high;
} ds_stat;

/* The results at one place with one setting. `slope`: of a gradient, along the axis of the slice (per unit of
 * its coordinate), else along the long run's gradient, else along the first variable. */
typedef struct ds_cell {
    double sigma, gamma;
    uint64_t samples;
    double loss;      /* f(x) */
    ds_stat smoothed; /* F(x) */
    ds_stat slope[DS_ESTIMATES];
    ds_stat variance[2]; /* empirical, of one sample: first, zeroth */
    ds_stat distance, eps, alpha;
    double share[DS_ALPHA_CASES];
    ds_stat reference;          /* slope of the long run */
    double reference_error;     /* of its whole gradient: root of the mean square that is expected */
    ds_stat bias[DS_ESTIMATES]; /* of the slope, against the long run */
    double off[DS_ESTIMATES];   /* length of the bias of the whole gradient, less what noise makes of it */
    ds_stat error
        [DS_ESTIMATES]; /* root of the mean square of |estimate - long run|, less the noise of the long run */
    ds_empirical_bias rare; /* of the first-order samples of the long run, and their variance */
    double rare_variance;
    double failed, clamped; /* shares of the samples */
    uint64_t evaluations;
    /* of a single cell: DS_ESTIMATES + 1 blocks (the last: the long run) of 2 n values: means, and half
     * the width of their intervals; else NULL */
    double *vector;
} ds_cell;

/* One direction of the table of cells: a sweep, or the slice (sweep NULL). The last varies fastest. */
enum { DS_DIMS_MAX = DS_SWEEPS_MAX + 1 };
typedef struct ds_dim {
    const ds_sweep *sweep;
    uint64_t count;
} ds_dim;

/* The long run that estimates are held against, made of batches, whose means tell how exact it is. Its mean
 * is in work. */
typedef struct ds_reference {
    uint64_t place; /* what it belongs to, from 1; 0 = none yet */
    double total;   /* variance of its mean, all components */
    ds_stat slope;
    double slope_variance;
    ds_empirical_bias rare;
    double rare_variance;
} ds_reference;

typedef struct ds_gradients {
    const ds_settings *settings;
    ds_run_options run;
    ds_gradients_options wish;
    const char *id;
    /* of the present environment, which sweeps change */
    ds_settings varied;
    ds_pool *pool;
    const ds_pool_env *env;
    ds_slice place; /* with a slice */
    double *x, *scale, *axis;
    double *work; /* of gradients_cell.c */
    uint64_t n;   /* of the first environment, for the summary */
    int has_gradient, actions;
    char label[DS_SLICE_LABEL]; /* of the slice */
    ds_reference reference;
    /* results */
    ds_dim dim[DS_DIMS_MAX];
    int dims;
    uint64_t cells;
    ds_cell *cell;
    double start;     /* ds_clock_s() */
    double *slice_at; /* coordinates of the slice's points */
    uint64_t evaluations, failed;
    int made_folder; /* the folder of the results was not there before */
    char message[DS_SAMPLE_MESSAGE];
} ds_gradients;

/* Place of cell k along each direction. */
void ds_gradients_index(const ds_gradients *g, uint64_t k, uint64_t at[DS_DIMS_MAX]);

/* gradients_cell.c: numbers of g->work that n variables take; and the estimates of cell k (its sigma, samples
 * and gamma are set, as is g->x). `place`: number of its point, parameters and sigma, from 1. */
uint64_t ds_gradients_room(uint64_t n);
int ds_gradients_cell(ds_gradients *g, uint64_t k, uint64_t place, ds_error *e);

/* gradients_report.c */
json_t *ds_gradients_summary(const ds_gradients *g);
void ds_gradients_print(const ds_gradients *g, int written); /* is the folder? */
int ds_gradients_write(const ds_gradients *g, const json_t *summary, ds_error *e);

int ds_gradients_draw(const ds_gradients *g, ds_error *e);

#endif
