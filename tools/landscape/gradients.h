/* SPDX-License-Identifier: Apache-2.0 */
/* gradients.h - estimates of the gradient of a smoothed loss, of first, zeroth and alpha order: at a point,
 * along a slice, and over sweeps; their means, variances and errors, and what determines them. Only results
 * are recorded: an interrupted command starts anew. */
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

/* A request besides the settings. */
typedef struct ds_gradients_request {
    int text; /* print the table on stdout */
} ds_gradients_request;

/* Makes estimates as settings [run], [env], [gradients] say. With [run] out, that folder receives
 * estimates.csv, summary.json and figures. *summary, owned by the caller, holds the JSON; NULL if there is
 * none. Returns 0 or an exit status; 130 and 143: stopped by a signal, with nothing written. */
int ds_gradients_make(const ds_settings *settings, const ds_gradients_request *q, json_t **summary,
                      ds_error *e);

/* ---- sweeps over sample counts, smoothing widths, gammas and parameters of the environment ---- */

/* For example:
 *
 *     samples=10,100,1000        env.mu=log:1e2:1e7:11
 *     env.T=lin:20:400:20        env.system=ball_wall,momentum */

enum { DS_SWEEPS_MAX = 4, DS_SWEEP_VALUES = 4096, DS_SWEEP_TEXT = 64, DS_SWEEP_WHY = 200 };

/* What a sweep varies. */
enum { DS_SWEEP_ENV = 0, DS_SWEEP_SIGMA = 1, DS_SWEEP_SAMPLES = 2, DS_SWEEP_GAMMA = 3 };

/* One value, as a setting and as a number (its index if it is not a number). */
typedef struct ds_sweep_value {
    char text[DS_SWEEP_TEXT];
    double number;
} ds_sweep_value;

typedef struct ds_sweep {
    int what;                  /* DS_SWEEP_* */
    char key[DS_MAX_NAME + 1]; /* of a parameter: "mu"; else the word itself */
    ds_sweep_value *value;     /* owned; freed by ds_sweeps_free() */
    uint64_t count;
    int range; /* given as a range */
    int log;   /* suits a logarithmic axis */
} ds_sweep;

/* Reads "KEY=VALUES KEY=VALUES ..." separated by blanks; *count receives their number, at most DS_SWEEPS_MAX.
 * Returns 0, -1 with a reason in `why`, or -2 without memory. Must be freed also after a failure. */
int ds_sweeps_parse(const char *text, ds_sweep out[DS_SWEEPS_MAX], int *count, char why[DS_SWEEP_WHY]);
void ds_sweeps_free(ds_sweep *sweep, int count);

/* Rounds the numbers of a range if the parameter is an integer, and joins equal neighbours. Called when the
 * schema of the environment is known. Returns -1 with a reason if it has no such parameter. */
int ds_sweep_fit(ds_sweep *s, const ds_param *const *schema, char why[DS_SWEEP_WHY]);

/* ---- estimates ---- */

/* Gradients of a smoothed loss F(x) = E_w f(x + w), w ~ N(0, sigma^2 I), from samples: moments of single
 * estimates, mixing of the two orders, and the effect of rare large samples on a variance. Single estimates
 * z_i are grad f(x + w_i) (first order) or (f(x + w_i) - f(x)) w_i / sigma^2 (zeroth order). Source: H. J. T.
 * Suh, M. Simchowitz, K. Zhang, R. Tedrake, "Do differentiable simulators give better policy gradients?",
 * ICML 2022, sections 2 to 4. Pure functions without environments, callable from any thread. */

/* Running mean and scatter of estimates of n numbers (B. P. Welford, Technometrics 4, 1962). An estimate may
 * be the mean of several samples, such as an antithetic pair. */
typedef struct ds_moments {
    uint64_t n, count; /* numbers per estimate; estimates so far */
    uint64_t samples;  /* samples in them */
    double *mean;      /* n values; owned by the caller, as is m2 */
    double *m2;        /* n values: sums of squared distances from the mean */
} ds_moments;

/* Starts without estimates; `room` has 2 n values. */
void ds_moments_begin(ds_moments *m, uint64_t n, double *room);
/* Adds the estimate z (n values), the mean of `samples` samples. */
void ds_moments_add(ds_moments *m, const double *z, uint64_t samples);

/* The empirical variance of one sample, 1/(N-1) sum |z_i - mean|^2: the trace of the sample covariance. For
 * means of pairs, the variance of a sample that would give the mean the same error. NAN for fewer than two
 * estimates. ds_moments_variance_of() is the same for component k. */
double ds_moments_variance(const ds_moments *m);
double ds_moments_variance_of(const ds_moments *m, uint64_t k);

/* How alpha is chosen. */
enum {
    DS_ALPHA_BIAS =
        0, /* inverse variances, as long as the possible error of the first order stays below gamma */
    DS_ALPHA_IVW = 1 /* inverse variances alone */
};

/* How alpha was chosen: the zeroth order is too uncertain (alpha = 0); by the variances; limited by gamma. */
enum { DS_ALPHA_UNCERTAIN = 0, DS_ALPHA_INSIDE = 1, DS_ALPHA_HIT = 2, DS_ALPHA_CASES = 3 };
extern const char *const ds_alpha_case_names[DS_ALPHA_CASES];

/* Constants of the mixture. */
typedef struct ds_alpha_rule {
    int rule;
    double gamma; /* tolerated error of the gradient, in its unit; INFINITY = any */
    /* assumed bound of the length of one zeroth-order sample, in the gradient's unit */
    double largest;
    double chance; /* probability that the error bound of the zeroth order is wrong; above 0 */
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
 *     alpha = variance0 / (variance0 + variance1 + 1e-5)     if alpha B <= gamma - eps,
 *             (gamma - eps) / B                              if not; 0 if eps > gamma
 *
 * A variance of NAN (no such estimate) gives the other order all the weight; two of them give 0. */
ds_alpha ds_alpha_choose(const ds_alpha_rule *rule, double variance1, double variance0, double distance,
                         uint64_t n, uint64_t N);

/* |a - b| of n numbers, without overflow. */
double ds_distance(const double *a, const double *b, uint64_t n);

/* Empirical bias: the share 1 - beta of the samples that lie close together has another mean than all
 * samples, although it scatters little. The variance of one sample is then at least bound = max(0, (1-beta)
 * delta - beta |E z|)^2 / beta, however small it looks while no sample of the rest has been seen. */
typedef struct ds_empirical_bias {
    double beta;   /* share found outside, at most the requested one */
    double delta;  /* |E[z | event] - E z| */
    double radius; /* largest |z - E[z | event]| within the event: S */
    double bound;  /* of the variance */
} ds_empirical_bias;

/* For `count` samples z (count x n): the event is the share 1 - beta nearest to the median of each component.
 * `mean`: E z, or its best estimate. All NAN if there is no such event. Returns 0, or -1 without memory. */
int ds_empirical_bias_of(const double *z, uint64_t count, uint64_t n, const double *mean, double beta,
                         ds_empirical_bias *out);

/* ---- options ---- */

/* The schema; its names are also flags of `dshost gradients`. */
extern const ds_param *const ds_gradients_schema[];

enum { DS_BASELINE_CENTER = 0, DS_BASELINE_MEAN = 1, DS_BASELINE_NONE = 2 };
enum { DS_NOISE_AUTO = 0, DS_NOISE_VARIABLES = 1, DS_NOISE_ACTIONS = 2 };
enum { DS_UNITS_X = 0, DS_UNITS_BOX = 1 };
enum { DS_REFERENCE_ZEROTH = 0, DS_REFERENCE_FIRST = 1 };

typedef struct ds_gradients_options {
    const char *x; /* the point, without a slice */
    ds_slice_text slice_text;
    ds_slice_plan plan;
    int slice;    /* is there a slice? */
    double sigma; /* 0 = that of the environment for noise on actions, else 0.1 */
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

/* Fails for the value of a key, with its origin, key and value, and the reason. */
int ds_gradients_refuse(const ds_settings *settings, const char *key, const char *why, ds_error *e);

/* ---- samples ---- */

/* Orders that a set of samples serves. */
enum { DS_ORDER_FIRST = 1, DS_ORDER_ZEROTH = 2 };

enum { DS_SAMPLE_MESSAGE = 200 };

/* How to sample around a point. Gradients are in the unit of the scaled variables x[k] / scale[k], in which
 * the noise has standard deviation sigma in every direction. */
typedef struct ds_sampler {
    ds_pool *pool;
    const ds_pool_env *env;
    uint64_t seed;
    const double *x, *scale; /* n values each */
    double sigma;
    double center; /* f(x); NAN = none */
    int actions;   /* the environment adds the noise to the actions of a policy */
    int antithetic;
    int baseline; /* DS_BASELINE_* */
    /* A control variate of the zeroth order, n values or NULL: for any fixed g, (f(x + w) - f(x) - g . w) w /
     * sigma^2 + g has the same mean, and scatters less the closer g is to the gradient. Not for noise on
     * actions. */
    const double *tilt;
} ds_sampler;

/* A set of samples. The caller provides the memory; that of an order that is not requested may be NULL. */
typedef struct ds_sample_set {
    const char *stream; /* name and index of the random numbers */
    uint64_t index;
    uint64_t count;        /* requested number, rounded up to pairs */
    int orders;            /* DS_ORDER_* */
    double *room1, *room0; /* 2 n values each, for the moments */
    double *keep;          /* the first `keep_rows` samples of the first order (keep_rows x n); or NULL */
    uint64_t keep_rows;

    /* results */
    ds_moments first, zeroth, loss;
    double loss_room[2];
    uint64_t kept;    /* rows of `keep` */
    uint64_t failed;  /* samples without a loss, or without a requested gradient */
    uint64_t clamped; /* samples that were clamped to the box */
    uint64_t evaluations;
    char message[DS_SAMPLE_MESSAGE]; /* reason of the first failure */
} ds_sample_set;

/* Draws and evaluates. Returns 0, an exit status, or DS_POOL_STOPPED. */
int ds_sample(const ds_sampler *s, ds_sample_set *set, ds_error *e);

/* f(x) without noise; NAN if the evaluation fails, with the reason in `message`, else "". */
int ds_sample_center(const ds_sampler *s, double *loss, char message[DS_SAMPLE_MESSAGE], ds_error *e);

/* ---- state ---- */

/* The three estimates. */
enum { DS_FIRST = 0, DS_ZEROTH = 1, DS_ALPHA = 2, DS_ESTIMATES = 3 };
extern const char *const ds_estimate_names[DS_ESTIMATES]; /* "first", "zeroth", "alpha" */

/* A mean and its interval; NAN = none. */
typedef struct ds_stat {
    double mean, low, high;
} ds_stat;

/* The results at one place with one setting. `slope` is the component of a gradient along the axis of the
 * slice (per unit of its coordinate), else along the long run's gradient, else along the first variable. */
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
    double reference_error;     /* of its whole gradient: expected root mean square */
    ds_stat bias[DS_ESTIMATES]; /* of the slope, relative to the long run */
    double off[DS_ESTIMATES];   /* length of the bias of the whole gradient, corrected for noise */
    ds_stat error
        /* root mean square of |estimate - long run|, corrected for the noise of the long run */
        [DS_ESTIMATES];
    ds_empirical_bias rare; /* of the first-order samples of the long run, with their variance */
    double rare_variance;
    double failed, clamped; /* shares of the samples */
    uint64_t evaluations;
    /* of a single cell: DS_ESTIMATES + 1 blocks (the last: the long run) of 2 n values: means, and half
     * widths of their intervals; else NULL */
    double *vector;
} ds_cell;

/* One dimension of the table of cells: a sweep, or the slice (sweep NULL). The last varies fastest. */
enum { DS_DIMS_MAX = DS_SWEEPS_MAX + 1 };
typedef struct ds_dim {
    const ds_sweep *sweep;
    uint64_t count;
} ds_dim;

/* The long run, the reference of estimates, made of batches whose means show its precision. Its mean is in
 * work. */
typedef struct ds_reference {
    uint64_t place; /* number of its place, from 1; 0 = none yet */
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
    /* of the current environment, which sweeps change */
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
    int made_folder; /* we created the folder of the results */
    char message[DS_SAMPLE_MESSAGE];
} ds_gradients;

/* Index of cell k along each dimension. */
void ds_gradients_index(const ds_gradients *g, uint64_t k, uint64_t at[DS_DIMS_MAX]);

/* gradients_cell.c: the size of g->work for n variables; and the estimates of cell k, whose sigma, samples
 * and gamma, and g->x, are set. `place`: number of its point, parameters and sigma, from 1. */
uint64_t ds_gradients_room(uint64_t n);
int ds_gradients_cell(ds_gradients *g, uint64_t k, uint64_t place, ds_error *e);

/* gradients_report.c */
json_t *ds_gradients_summary(const ds_gradients *g);
void ds_gradients_print(const ds_gradients *g, int written); /* was the folder written? */
int ds_gradients_write(const ds_gradients *g, const json_t *summary, ds_error *e);

int ds_gradients_draw(const ds_gradients *g, ds_error *e);

#endif
