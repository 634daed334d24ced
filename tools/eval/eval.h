/* SPDX-License-Identifier: Apache-2.0 */
/* eval.h - the parts of `dshost eval`: channels and images, intervals of the variables, finite differences,
 * policies. */
#ifndef DS_EVAL_CHANNELS_H
#define DS_EVAL_CHANNELS_H

#include "base/error.h"
#include "difference/finite_difference.h"
#include "evaluate/pool.h"
#include "policy/policy.h"

#include <jansson.h>

typedef struct ds_channel_values {
    const ds_channels *channels;
    double **value; /* the elements of each channel, as doubles; NULL if there is no result */
    ds_answer answer;
} ds_channel_values;

/* Evaluates x once for every DS_MAX_QUERIES channels. Fails with DS_EXIT_USAGE for an environment without
 * channels. */
int ds_channel_values_get(ds_pool *pool, const char *id, const double *x, ds_channel_values *out,
                          ds_error *e);
void ds_channel_values_clear(ds_channel_values *v);

/* One line per channel: role, shape, range, length; for a constraint, by how much it is violated. */
void ds_channel_values_print(const ds_channel_values *v);

/* An object by name: role, shape, unit, and the values in C order (null if there is no result). */
json_t *ds_channel_values_json(const ds_channel_values *v);

/* Writes FOLDER/NAME.png for each image channel that has values: grey, grey with alpha, RGB or RGBA. The
 * 8-bit numbers are those of the channel, so a file can be used as a target. Fails with DS_EXIT_USAGE if
 * there is no image, or in a build without libpng. */
int ds_eval_images(const ds_channel_values *v, const char *id, const char *folder, ds_error *e);

/* ---- data sets ---- */

/* `count` points of the box, random:SEED, random:SEED + 1, ... as --x has them. */
typedef struct ds_objects {
    const char *id, *folder;
    uint64_t seed, count;
} ds_objects;

/* Evaluates them. Writes FOLDER/NUMBER/NAME.png for each image channel, NUMBER from SEED on, a table
 * FOLDER/parameters.csv (object, outcome, loss, variables), and FOLDER/objects.npz: x[count][n], loss[count],
 * the first image channel [count][...] (NaN where an evaluation failed), and the names of the variables. */
int ds_eval_objects(ds_pool *pool, const ds_objects *q, ds_error *e);

/* ---- intervals: how well residuals determine the variables ---- */

/* From their Jacobian J, as for least squares near the optimum (G. Seber, C. Wild, "Nonlinear regression",
 * 1989, section 2.1): the covariance is sigma^2 (J'J)^-1, sigma^2 = r'r / (rows - rank), with Student's t for
 * this many degrees of freedom. */

typedef struct ds_intervals {
    /* variables; residuals that are not 0 or depend on a variable; directions that are determined */
    uint64_t n, rows, rank;
    double sigma;      /* standard deviation of a residual; NAN without degrees of freedom */
    double *half;      /* n: half width of the 95 % interval; INFINITY if the variable is not determined */
    double *direction; /* (n - rank) x n: unit vectors along which nothing changes, in widths of the box */
} ds_intervals;

/* Evaluates x once per variable. Fails with DS_EXIT_USAGE without residuals, without products J v, or for
 * more than 200 variables. */
int ds_intervals_get(ds_pool *pool, const char *id, const double *x, ds_intervals *out, ds_error *e);
void ds_intervals_clear(ds_intervals *v);

void ds_intervals_print(const ds_intervals *v, const double *x, const ds_named_variable *variables);
json_t *ds_intervals_json(const ds_intervals *v, const double *x);

/* ---- finite differences of --fd, compared with the gradient ---- */

typedef struct ds_gradient_table {
    ds_quotient *row; /* n of them, or NULL */
    uint64_t n;
    const ds_pool_env *env; /* its fixed variables have no difference */
    uint64_t fixed;
    int judged; /* there is a gradient to compare with */
    uint64_t count[DS_SLOPE_WRONG + 1];
} ds_gradient_table;

/* Computes differences at x, whose evaluation gave `at_x`; `grad` is NULL if there is no gradient. x is
 * restored. */
int ds_gradient_table_make(ds_pool *pool, double *x, const ds_answer *at_x, const double *grad,
                           ds_gradient_table *t, ds_error *e);
void ds_gradient_table_clear(ds_gradient_table *t);

/* Prints the columns of variable i; the line below the table. */
void ds_gradient_table_print_row(const ds_gradient_table *t, uint64_t i);
void ds_gradient_table_print_verdict(const ds_gradient_table *t);

/* Adds its keys to `o`; `t` may be empty. */
void ds_gradient_table_json(const ds_gradient_table *t, json_t *o);

/* Returns DS_EXIT_CHECK, with a message, if the gradient is wrong. */
int ds_gradient_table_status(const ds_gradient_table *t, const char *id, ds_error *e);

/* ---- policies: episodes of a learned policy, as a point or as a table ---- */

/* The flags of the command line. */
typedef struct ds_policy_request {
    const char *spec; /* --policy: the folder of a run, or a file; NULL = none */
    char *seed_spec;  /* all --seeds flags, owned; NULL = none */
    int stochastic;
    uint64_t *seed, seeds; /* from --seeds; none without it */
} ds_policy_request;

/* Parses --seeds. To be released. */
int ds_policy_request_check(ds_policy_request *q, ds_error *e);
void ds_policy_request_clear(ds_policy_request *q);

/* Reads the policy. If the settings name no environment, adds that of the run that contains the policy, with
 * its parameters, or else the one stored in the file. */
int ds_policy_open(const ds_policy_request *q, ds_settings *settings, ds_policy *p, ds_error *e);

/* Plays one episode, whose actions become x, or one per seed; *played is to be freed. Refuses several seeds
 * for an environment without noise, where all would be the same. */
int ds_policy_episodes(const ds_policy_request *q, ds_pool *pool, const char *id, uint64_t run_seed,
                       ds_policy *p, ds_played **played, double *x, ds_error *e);

/* Prints a line about the policy and the one episode; a table of several episodes with mean and spread. */
void ds_policy_print(const ds_policy_request *q, const ds_policy *p, const ds_played *played);
void ds_policy_print_table(const ds_policy_request *q, const ds_played *played);

/* The same as JSON: an object about the policy, and one about several episodes. */
json_t *ds_policy_json(const ds_policy_request *q, const ds_policy *p, const ds_played *played);
json_t *ds_policy_table_json(const ds_policy_request *q, const ds_played *played);

/* Returns DS_EXIT_ENV if an episode of the table has failed. */
int ds_policy_table_status(const ds_policy_request *q, const char *id, const ds_played *played, ds_error *e);

#endif
