/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - the runs of one or more result folders as a table of environments and optimizers, with what
 * statistics says about it. Sources of the measures: sample.h, hypothesis.h, aggregate.h. Of runs that are
 * rows of a table (tables/run_table.h) the end is known, and not how they got there. */
#ifndef DS_REPORT_REPORT_H
#define DS_REPORT_REPORT_H

#include "episode/episode.h"
#include "results/results.h"
#include "stats/aggregate.h"
#include "stats/friedman.h"
#include "stats/hypothesis.h"

enum {
    DS_REPORT_RESAMPLES = 10000,
    DS_REPORT_SCORES = 3,
    DS_REPORT_SEED = 1 /* of the bootstrap: reports are reproducible */
};

/* The default tolerance, as a share of the range of losses: from the median of random search to the lowest
 * loss; without random search from the median first loss of the runs; of tables alone from the highest median
 * of an optimizer. A divergent optimizer moves none of these. */
#define DS_REPORT_TOLERANCE 1e-9

/* Which optimizer others are compared with, ends with NULL. */
extern const char *const ds_report_references[];

/* Scores to which running times are reported. */
extern const double ds_report_score[DS_REPORT_SCORES];

/* What scores 0: the mean of optimizer rand; without it, or where runs of it failed, the worst finite mean of
 * an optimizer; where there is none either, the worst loss of a run. */
enum { DS_ZERO_RANDOM, DS_ZERO_WORST_MEAN, DS_ZERO_WORST_RUN };

/* A run that counts. */
typedef struct ds_report_run {
    const ds_result *result;
    ds_curve curve;         /* of a row of a table: just its sums, and no step */
    ds_curve compared;      /* what of it is compared: `common` evaluations of its environment; its memory */
    ds_last_metric *metric; /* of its best episode: those of its environment; NULL = not known */
} ds_report_run;

/* The runs of one optimizer on one environment, in the order of their seeds. All numbers but the counts are
 * NaN where there is no run. */
typedef struct ds_report_cell {
    size_t runs;     /* samples: of runs that are one search under several seeds the first counts */
    size_t repeated; /* the others, behind them in `run`; they are in no statistic */
    size_t rows;     /* of tables, among them: with one, all that needs curves or episodes is NaN */
    int unfinished;  /* no run of it has finished: these are counted as far as they got */
    ds_report_run *run;
    double *final;                        /* best loss of each run; +INFINITY = no valid one */
    double *ranked;                       /* the same for tests and ranks: equal within the tolerance */
    double *score;                        /* ds_normal_score() of each */
    double expected[2][DS_REPORT_SCORES]; /* evaluations, and simulation steps, until each of
                                           * ds_report_score[]; +INFINITY = never */
    double mean, sd, median, q1, q3, least, most;
    ds_interval mean90, mean95;             /* of the mean, by ds_mean_intervals() */
    double evaluations, cost_steps, wall_s; /* mean of each */
    double area[2];       /* mean of ds_anytime_area(), along evaluations and along simulation steps */
    double rank;          /* of its mean among the optimizers on this environment, 1 = best */
    ds_mann_whitney test; /* this optimizer (x) against the reference (y) */
    double p_holm;        /* test.p, adjusted over the optimizers compared on this environment */
    double p_alone;       /* test.p, adjusted over the environments: as if no other optimizer were compared */
    double least_alone;   /* the smallest p_alone that these numbers of runs can reach */
    double least_p;       /* the smallest p_holm that these numbers of runs can reach */
} ds_report_cell;

typedef struct ds_report_env {
    const char *name;
    uint64_t least_n, most_n; /* numbers of variables; they differ where variants are pooled only */
    uint64_t budget;          /* evaluations planned; 0 where runs differ */
    uint64_t common; /* 0, or where some of the runs have not finished: the evaluations that all of them have
                          * made, after which they are compared */
    size_t tests;    /* optimizers compared with the reference */
    /* what scores 0 and 1, see ds_normal_score(); not finite where no run has a valid loss */
    double random, best;
    int recommended;   /* noisy: runs are ranked by the point that they recommend, not by their lowest loss */
    int zero;          /* what `random` is: DS_ZERO_* */
    double tolerance;  /* losses no farther apart are equal, see ds_report_choice.tolerance */
    double range;      /* that it is a share of; 0 where it was given */
    double least_mean; /* of all optimizers here */
    const ds_result *best_run;
    const ds_result *best_record; /* the best run that is no row of a table; NULL = none */
    size_t rows;                  /* of tables */
    size_t metrics; /* of a run's best episode; 0 where they were not asked for, or there are none */
} ds_report_env;

typedef struct ds_report_opt {
    const char *name;
    size_t envs;  /* environments with runs */
    size_t rows;  /* of tables, among its runs */
    double score; /* interquartile mean over all runs of all environments */
    ds_interval score95;
    double improvement; /* probability that a run of it beats one of the reference, mean over environments */
    ds_interval improvement95;
    double p, p_holm;     /* of ds_stratified_test() against the reference; adjusted over the optimizers */
    double least_p;       /* the smallest p_holm that the numbers of runs allow */
    double rank;          /* mean over environments */
    int in_test;          /* does ds_report_overall have it? */
    double test_rank;     /* its mean rank there */
    size_t better, worse; /* environments where it differs from the reference with p_holm < 0.05 */
    size_t alone_better, alone_worse; /* the same with p_alone */
    size_t alone_open;                /* environments with too few runs for any p_alone < 0.05 */
} ds_report_opt;

/* The test over all environments on which all of these optimizers ran: those with the most environments. */
typedef struct ds_report_overall {
    size_t envs, opts; /* not made where one of them is below 2 */
    ds_friedman test;
} ds_report_overall;

typedef struct ds_report {
    ds_run_results results;
    size_t envs, opts;
    ds_report_env *env;
    ds_report_opt *opt;
    ds_report_cell *cell; /* envs x opts, row-major */
    size_t *order;        /* optimizers by merit: number of environments, then score */
    ds_report_overall overall;
    size_t reference;       /* optimizer that others are compared with */
    const ds_result **open; /* runs that did not finish, failed, or cannot be read: not in the cells */
    size_t open_count;
} ds_report;

/* Does the optimizer differ from the reference on this environment, with p_holm < 0.05? 1 = it is better, -1
 * = worse, 0 = neither is shown. */
int ds_report_verdict(const ds_report_cell *c);

/* Of a repeated run j (runs <= j < runs + repeated): the one that it repeats. */
size_t ds_report_first(const ds_report_cell *c, size_t j);

/* The mean of a cell for ranks and marks: means within the tolerance of the environment are equal. */
double ds_report_mean(const ds_report *r, size_t env, size_t opt);

/* Parts of ds_report_make() (report_overall.c): scores and ranks of the optimizers, and their order; how they
 * stand against the reference, and the test of all of them. */
int ds_report_score_all(ds_report *r, unsigned skip, ds_error *e);
int ds_report_judge_all(ds_report *r, unsigned skip, ds_error *e);

/* The optimizers with runs on an environment, the lowest mean first; `order` has room for all.
 * Returns how many. */
size_t ds_report_order_on(const ds_report *r, size_t env, size_t *order);

/* What the runs of a cell say of a metric of their best episodes. */
typedef struct ds_metric_summary {
    const ds_last_metric *metric; /* name and unit */
    size_t runs;                  /* where it is defined */
    double mean, median, q1, q3, least, most;
    ds_interval mean95;
} ds_metric_summary;

/* Of metric m < metrics of its environment; of no run where some of the cell are rows of tables.
 * DS_EXIT_MEMORY on failure. */
int ds_report_metric(const ds_report_cell *c, size_t m, ds_metric_summary *out, ds_error *e);

/* What is not needed, and takes time: intervals of means; scores over all environments, their order and the
 * tests over all environments. They are NaN then. */
enum { DS_REPORT_NO_INTERVALS = 1, DS_REPORT_NO_SCORES = 2, DS_REPORT_NO_OVERALL = 4 };

/* What a report is about. */
typedef struct ds_report_choice {
    const char *const *source; /* folders, and tables (ds_run_table_is()) */
    size_t sources;
    const char
        *only; /* patterns of cells ENV/OPT, as they are called there (ds_run_table_only()); NULL = all */
    const char *pool;      /* a key whose sweep is one environment (ds_results_pool()), or NULL */
    int any_version;       /* versions of an environment are no difference (ds_results_disambiguate()) */
    const char *reference; /* the name of an optimizer; NULL = the first of ds_report_references[] with runs,
                            * else the first by name of those that ran on the most environments: never the
                            * best one, which would choose the tests by their result */
    unsigned skip;         /* DS_REPORT_NO_* */
    double tolerance;      /* losses no farther apart are equal in tests, ranks and marks; NaN =
                            * DS_REPORT_TOLERANCE of the range of losses of each environment, and what an
                            * inexact environment declares */
} ds_report_choice;

/* Reads all runs below the folders and of the tables. Every environment and every optimizer has a run that
 * counts: a finished one, or where its optimizer has none there, one that is still at work or was
 * interrupted. DS_EXIT_IO where there is none at all. Exit status and message on failure; then nothing is to
 * be cleared. */
int ds_report_make(const ds_report_choice *choice, ds_report *out, ds_error *e);
void ds_report_clear(ds_report *r);

/* Is there a test that these numbers of runs could decide, and where there is none, how many runs of each
 * would do (0 = there is no test)? */
int ds_report_can_decide(const ds_report *r, size_t env, size_t *needed);

static inline const ds_report_cell *ds_report_at(const ds_report *r, size_t env, size_t opt)
{
    return &r->cell[env * r->opts + opt];
}

#endif
