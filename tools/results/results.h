/* SPDX-License-Identifier: Apache-2.0 */
/* results.h - reads result folders: their runs, how each ended, and how its best loss fell.
 *
 * The store has precedence; a different summary.json is reported. A run with a damaged store is left out with
 * a warning that names the rows; the command continues with the others and ends with DS_EXIT_IO.
 *
 * A run is any folder with run.sqlite, at any depth, even inside another run. Names become parts of paths:
 * they contain no '/' and no control character, and do not begin with '.'. For OUT/ENV/OPT/seed-K in a folder
 * OUT with a bench.ini, environment and optimizer have the names of the experiment (variants of a plugin have
 * different names), else the ids of the plugins. */
#ifndef DS_RESULTS_RESULTS_H
#define DS_RESULTS_RESULTS_H

#include "config/settings.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

/* One run. The struct owns its texts. */
typedef struct ds_result {
    char *folder;        /* of a table row: the folder of the run when the table was written */
    char *table, *where; /* the table (results/run_table.h) with this row, and FILE:LINE; NULL = a folder */
    char *place;         /* the folder without links and dots; NULL = not known */
    char *env, *opt;     /* names, see above */
    char *variant;       /* of a pooled environment: "object=3"; "" = none, NULL = not known, or not pooled */
    char *env_id, *opt_id; /* ids of the plugins; NULL without a summary */
    char *ended;           /* "budget", "target", ... of summary.json; NULL = not finished */
    char *error;           /* NULL = none */
    int named;             /* env and opt are names of an experiment */
    int damaged;           /* its store cannot be read; `error` says why */
    int format;            /* format of its store (store/store.h); 0 = not known */
    int partial;           /* counts as far as it got, see ds_results_take_unfinished() */
    char *host_version, *env_version, *opt_version; /* NULL without a summary */
    char *created, *machine;      /* start (ISO 8601) and machine; NULL = not in the store */
    char *processor, *arithmetic; /* see arithmetic/arithmetic.h; NULL = not in the summary */
    ds_settings settings;         /* as in the store; ds_result_read() does not fill them */
    uint64_t seed, n, budget;
    uint64_t evaluations;                    /* of the store if the run is not finished */
    uint64_t gradients, cost_steps, best_id; /* 0 without a summary */
    double best_loss;                        /* +INFINITY = none */
    double evaluation_s, wall_s;
    uint64_t losses;   /* hash of the bits of all losses in order; 0 = not known */
    double first_loss; /* first valid loss; NaN = not known, or none */
    double inexact;    /* how far two evaluations of one point may differ, relative to the loss */
    /* Under noise: the mean loss, over fixed noise keys, of the point that the run recommends
     * (run/recommend.h), its standard error, and the number of keys; NaN and 0 if there is none. */
    double recommended, recommended_se;
    uint64_t recommended_keys;
} ds_result;

typedef struct ds_run_results {
    ds_result *item; /* sorted by environment, optimizer, seed, folder */
    size_t count;
    size_t damaged; /* number of runs found that cannot be read */
} ds_run_results;

/* Reads all runs in the folders and their subfolders, without following links, each once. DS_EXIT_IO if a
 * folder cannot be read or no run is found; a run with a damaged store is marked. Runs in progress are read
 * as far as they are. */
int ds_results_read(const char *const *folders, size_t count, ds_run_results *out, ds_error *e);
void ds_results_clear(ds_run_results *r);

/* Ends a command that continued without damaged runs: DS_EXIT_IO with a message if there were any. */
int ds_results_left_out(size_t damaged, ds_error *e);

/* Counts runs that were interrupted or are in progress, if their optimizer has no finished run on their
 * environment. */
void ds_results_take_unfinished(ds_run_results *r);

/* Drops all but the finished runs, and, unless `opt` is NULL, all but those of one optimizer. */
void ds_results_keep_finished(ds_run_results *r, const char *opt);

/* Restores the order of ds_run_results after names have changed. */
void ds_results_sort(ds_run_results *r);

/* Prepares sets of runs for statistics (disambiguate.c). Environments whose finished runs have different
 * settings, numbers of variables or plugin versions, over all sets, get distinct names such as
 * analytic@function=sphere; so do optimizers within a set that differ on one environment. Warns of this, of
 * duplicate runs, and of damaged stores. With any_version neither the version of an environment counts as a
 * difference, nor a parameter that only one version has, with one value; a new version may compute other
 * losses. DS_EXIT_MEMORY on failure. */
int ds_results_disambiguate(ds_run_results *const *set, size_t sets, int any_version, ds_error *e);

/* Pools the variants of a sweep over `key`: ball@object=1, ball@object=2, ... become the environment ball,
 * whose samples are the runs of all of them. Runs keep their `variant`. DS_EXIT_USAGE if there are no such
 * variants. */
int ds_results_pool(ds_run_results *r, const char *key, ds_error *e);

/* Leaves out optimizers' runs on a pooled environment if they lack a variant that others have: an easy
 * variant alone is not a fair sample. Warns of these, and of optimizers with more runs on one variant than on
 * another, which stay. */
int ds_results_balance(ds_run_results *r, const char *key, ds_error *e);

/* "ball@object=3" of ".../ball@object=3/lm/seed-1": the folder of the environment, if it is a variant of a
 * sweep. *length = 0 if the folder names none. */
const char *ds_result_variant_folder(const ds_result *r, size_t *length);

/* Like ds_results_disambiguate(), for sets that also have runs of tables; does not warn of copies and damaged
 * stores. Settings of table rows are unknown: only numbers of variables and versions distinguish them. Names
 * of runs in folders must be final. */
int ds_results_tell_apart(ds_run_results *const *set, size_t sets, int any_version, ds_error *e);

/* Counts runs whose records have no checksums (store format 1); *first receives one of them. */
size_t ds_results_unchecked(const ds_run_results *r, const ds_result **first);

/* Warns if finished runs of the sets were made with different arithmetic. */
void ds_results_warn_mixed(ds_run_results *const *set, size_t sets);

/* Opens the store of a run's folder for reading. */
int ds_result_store(const char *folder, ds_store **out, ds_error *e);
/* The same after checking every row of every table: a damaged record yields no point, image or path. */
int ds_result_whole(const char *folder, ds_store **out, ds_error *e);

/* Name of a run in messages: its folder, or FILE:LINE of a table. */
const char *ds_result_where(const ds_result *r);

/* Turns a text into a valid name, see above. */
void ds_result_clean_name(char *name);

/* Reads one run folder. Returns 1 if it has a summary, 0 if not (names, seed and ended are set as far as
 * known), or -1 after filling *e. */
int ds_result_read(const char *folder, ds_result *out, ds_error *e);
void ds_result_clear(ds_result *r);

/* Adds what the store of a run says; marks the run if the store is damaged. */
int ds_result_check(ds_result *r, ds_error *e);

/* Did it end as planned, so that nothing is left to do? Did it end without an error, so that it counts? */
int ds_result_is_done(const ds_result *r);
int ds_result_is_finished(const ds_result *r);
/* Finished, or counted as it is. */
int ds_result_counts(const ds_result *r);
/* Why it did not finish; "" if it did. */
const char *ds_result_open_reason(const ds_result *r);
/* Marks it as damaged. */
int ds_result_damaged(ds_result *r, const char *why, ds_error *e);

/* The best loss so far as steps: at evaluation id[k] it fell to loss[k]. */
typedef struct ds_curve {
    size_t count;
    uint64_t *id;
    double *loss;
    uint64_t *cost_steps; /* simulation steps up to and including id[k] */
    double *wall;         /* seconds of evaluations up to and including id[k] */
    uint64_t evaluations; /* of the whole run, also after the last step */
    uint64_t all_cost_steps;
    double all_wall;
} ds_curve;

/* Reads the run's store; a run of 1e6 evaluations takes about a second. */
int ds_curve_read(const char *folder, ds_curve *out, ds_error *e);
/* The curve of a run after this number of evaluations, or all of it. It shares the memory of *c and must not
 * be cleared. */
int ds_curve_until(const char *folder, const ds_curve *c, uint64_t evaluations, ds_curve *out, ds_error *e);
void ds_curve_clear(ds_curve *c);

/* --tolerance of the commands: a number of 0 or more. DS_EXIT_USAGE. */
int ds_tolerance_read(const char *text, double *tolerance, ds_error *e);

/* Are they the same search under two seeds? A deterministic optimizer evaluates the same points with every
 * seed; such runs are one sample. Returns 0 if the losses of either are not known. */
int ds_results_identical(const ds_result *a, const ds_result *b);

#endif
