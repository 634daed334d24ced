/* SPDX-License-Identifier: Apache-2.0 */
/* results.h - reads result folders: which runs there are in them, how they ended, and how the best loss fell.
 *
 * What counts is the store: where summary.json tells something else, that is said. A run whose store is
 * damaged is left out with a warning that names the rows; the others go on, and the command ends with
 * DS_EXIT_IO.
 *
 * A run is any folder with run.sqlite, at any depth, also in the folder of another run. Names become parts of
 * paths: they hold no '/', no control character, and begin with no '.'. Where OUT/ENV/OPT/seed-K lies in a
 * folder OUT with a bench.ini, the names of environment and optimizer are those of the experiment (variants
 * of one plugin have different names), else the ids of the plugins. */
#ifndef DS_RESULTS_RESULTS_H
#define DS_RESULTS_RESULTS_H

#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"
#include "store/store.h"

/* One run. Texts are owned by the struct. */
typedef struct ds_result {
    char *folder; /* of a row of a table: where the run was when that was written */
    char *table,
        *where;  /* the table (tables/run_table.h) of which it is a row, and FILE:LINE; NULL = of a folder */
    char *place; /* the same without links and dots; NULL where it is not known */
    char *env, *opt; /* names, see above */
    char *variant;   /* of a pooled environment: "object=3"; "" = of none, NULL = not known, or not pooled */
    char *env_id, *opt_id; /* ids of the plugins; NULL where there is no summary */
    char *ended; /* "budget", "target", ... of summary.json; NULL = not finished: there is none yet */
    char *error; /* NULL = none */
    int named;   /* env and opt are names of an experiment */
    int damaged; /* its store cannot be read: `error` says why */
    int format;  /* of its store (store/store.h); 0 = not known */
    int partial; /* it counts as far as it got: ds_results_take_unfinished() */
    char *host_version, *env_version, *opt_version; /* NULL where there is no summary */
    char *created, *machine; /* when it was begun (ISO 8601), and where; NULL where the store does not say */
    char *processor, *arithmetic; /* see arithmetic/arithmetic.h; NULL where the summary does not say */
    ds_settings settings;         /* as the store has them; not filled by ds_result_read() */
    uint64_t seed, n, budget;
    uint64_t evaluations;                    /* of the store where it did not finish */
    uint64_t gradients, cost_steps, best_id; /* 0 where there is no summary */
    double best_loss;                        /* +INFINITY = none */
    double evaluation_s, wall_s;
    uint64_t losses;   /* a hash of the bits of all its losses in their order; 0 = not known */
    double first_loss; /* the first valid one; NaN = not known, or none */
    double inexact;    /* how far two calls of its environment may be apart, relative to the loss */
    /* Under noise: the mean loss, over fixed noise keys, of the point that the run recommends
     * (run/recommend.h), its standard error, and the number of keys; NaN and 0 where there is none. */
    double recommended, recommended_se;
    uint64_t recommended_keys;
} ds_result;

typedef struct ds_run_results {
    ds_result *item; /* sorted by environment, optimizer, seed, folder */
    size_t count;
    size_t damaged; /* runs that cannot be read, of those that were found */
} ds_run_results;

/* All runs in the given folders (and in their subfolders, without following links), each once, however many
 * of the folders it lies in. DS_EXIT_IO where a folder cannot be read or there is no run in any of them; a
 * run with a damaged store is marked. Runs that another process works on are read as far as they are. */
int ds_results_read(const char *const *folders, size_t count, ds_run_results *out, ds_error *e);
void ds_results_clear(ds_run_results *r);

/* The end of a command that did its work with the others: DS_EXIT_IO and a line where runs were damaged. */
int ds_results_left_out(size_t damaged, ds_error *e);

/* Lets runs count that were interrupted, or that another process works on, where their optimizer has no
 * finished run on their environment. */
void ds_results_take_unfinished(ds_run_results *r);

/* Drops all but the finished runs, and all but those of one optimizer where `opt` is not NULL. */
void ds_results_keep_finished(ds_run_results *r, const char *opt);

/* Back into the order of ds_run_results, after names have changed. */
void ds_results_sort(ds_run_results *r);

/* Makes sets of runs fit for statistics (disambiguate.c): environments whose finished runs have different
 * settings, numbers of variables or plugin versions, in all sets together, get names that tell them apart,
 * such as analytic@function=sphere; so do optimizers within a set that differ on one environment. Warns on
 * stderr of that, of runs that are there twice, and of damaged stores. With any_version the version of an
 * environment is no difference, nor is a parameter that one version lacks and another has with one value: a
 * new version may compute other losses, for some settings or for all. DS_EXIT_MEMORY on failure. */
int ds_results_disambiguate(ds_run_results *const *set, size_t sets, int any_version, ds_error *e);

/* Makes one environment of the variants of a sweep over `key`: ball@object=1, ball@object=2, ... become ball,
 * whose samples are the runs of all of them, which keep their `variant` (pool.c). DS_EXIT_USAGE where there
 * are no such variants. */
int ds_results_pool(ds_run_results *r, const char *key, ds_error *e);

/* Leaves out runs of optimizers that have none on some variant of a pooled environment on which others have:
 * an easy variant alone is no sample of all. Warns of these, and of optimizers with more runs on one variant
 * than on another, which stay. */
int ds_results_balance(ds_run_results *r, const char *key, ds_error *e);

/* "ball@object=3" of ".../ball@object=3/lm/seed-1": the folder of its environment, where that is a variant of
 * a sweep. *length = 0 where the folder names none. */
const char *ds_result_variant_folder(const ds_result *r, size_t *length);

/* As the first of these, for sets with runs of tables among those of folders, and without a word on copies
 * and damaged stores: settings of a table's runs are not known, so that numbers of variables and versions
 * alone tell them apart. What differs in folders has to have its names by then. */
int ds_results_tell_apart(ds_run_results *const *set, size_t sets, int any_version, ds_error *e);

/* Runs whose records have no checksums (store format 1); *first gets one of them. */
size_t ds_results_unchecked(const ds_run_results *r, const ds_result **first);

/* Warns where finished runs of the sets were made with different arithmetic. */
void ds_results_warn_mixed(ds_run_results *const *set, size_t sets);

/* Opens the store of a run's folder for reading. */
int ds_result_store(const char *folder, ds_store **out, ds_error *e);
/* The same, and every row of every table is looked at first: a point, a picture or a path of a record that is
 * damaged anywhere is none. */
int ds_result_whole(const char *folder, ds_store **out, ds_error *e);

/* What to call a run in a message: its folder, or FILE:LINE of a table. */
const char *ds_result_where(const ds_result *r);

/* Makes a name of it that can be a part of a path, see above. */
void ds_result_clean_name(char *name);

/* One run folder. Returns 1 where it has a summary, 0 where it has none (names, seed and ended are set as far
 * as they are known), or -1 after filling *e. */
int ds_result_read(const char *folder, ds_result *out, ds_error *e);
void ds_result_clear(ds_result *r);

/* Takes over what the store of a run that was read says; marks it where that is damaged. */
int ds_result_check(ds_result *r, ds_error *e);

/* Did it end as planned, so that nothing is left to do? And without an error, so that it counts? */
int ds_result_is_done(const ds_result *r);
int ds_result_is_finished(const ds_result *r);
/* Finished, or taken as it is. */
int ds_result_counts(const ds_result *r);
/* Why it did not finish; "" where it did. */
const char *ds_result_open_reason(const ds_result *r);
/* Marks it as damaged. */
int ds_result_damaged(ds_result *r, const char *why, ds_error *e);

/* The best loss so far, as steps: at evaluation id[k] it fell to loss[k]. */
typedef struct ds_curve {
    size_t count;
    uint64_t *id;
    double *loss;
    uint64_t *cost_steps; /* simulation steps up to and with id[k] */
    double *wall;         /* seconds of evaluations up to and with id[k] */
    uint64_t evaluations; /* of the whole run, also behind the last step */
    uint64_t all_cost_steps;
    double all_wall;
} ds_curve;

/* From the run's store; a run of 1e6 evaluations takes about a second. */
int ds_curve_read(const char *folder, ds_curve *out, ds_error *e);
/* The curve of a run as it was after so many evaluations, or all of it. It has the memory of *c, and is not
 * to be cleared. */
int ds_curve_until(const char *folder, const ds_curve *c, uint64_t evaluations, ds_curve *out, ds_error *e);
void ds_curve_clear(ds_curve *c);

/* --tolerance of the commands: a number of 0 or more. DS_EXIT_USAGE. */
int ds_tolerance_read(const char *text, double *tolerance, ds_error *e);

/* Are they one and the same search under two seeds? A deterministic optimizer asks for the same points
 * whatever its seed is, and such runs are one sample. Where the losses of either are not known: no. */
int ds_results_identical(const ds_result *a, const ds_result *b);

#endif
