/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - the runs of result folders as a table of environments and optimizers, with statistics. Sources
 * of the measures: sample.h, hypothesis.h, aggregate.h. For runs that are rows of a table
 * (results/run_table.h) only the end is known, not the curve. */
#ifndef DS_REPORT_REPORT_H
#define DS_REPORT_REPORT_H

#include "episode/episode.h"
#include "plot/canvas.h"
#include "results/results.h"
#include "stats/aggregate.h"
#include "stats/hypothesis.h"

#include <stdio.h>

enum {
    DS_REPORT_RESAMPLES = 10000,
    DS_REPORT_SCORES = 3,
    DS_REPORT_SEED = 1 /* of the bootstrap, so that reports are reproducible */
};

/* The default tolerance as a share of the range of losses: from the median of random search to the lowest
 * loss; without random search from the median first loss of the runs; with tables only from the highest
 * median of an optimizer. A divergent optimizer changes none of these. */
#define DS_REPORT_TOLERANCE 1e-9

/* Default optimizers to compare others with; ends with NULL. */
extern const char *const ds_report_references[];

/* Scores for which running times are reported. */
extern const double ds_report_score[DS_REPORT_SCORES];

/* What scores 0: the mean of optimizer rand; without it, or if runs of it failed, the worst finite mean of an
 * optimizer; if there is none, the worst loss of a run. */
enum { DS_ZERO_RANDOM, DS_ZERO_WORST_MEAN, DS_ZERO_WORST_RUN };

/* A run that counts. */
typedef struct ds_report_run {
    const ds_result *result;
    ds_curve curve;         /* of a table row: only its sums, no steps */
    ds_curve compared;      /* the compared part: `common` evaluations; shares the memory of `curve` */
    ds_last_metric *metric; /* of its best episode, as many as its environment has; NULL = not known */
} ds_report_run;

/* The runs of one optimizer on one environment, in the order of their seeds. Without runs all numbers but the
 * counts are NaN. */
typedef struct ds_report_cell {
    size_t runs;     /* samples: of runs that are the same search under several seeds only the first counts */
    size_t repeated; /* the others, at the end of `run`; statistics ignore them */
    size_t rows;     /* of them from tables: with any, all that needs curves or episodes is NaN */
    int unfinished;  /* none of its runs has finished: they count as far as they got */
    ds_report_run *run;
    double *final; /* best loss of each run; +INFINITY = no valid loss */
    /* the same for tests and ranks: losses within the tolerance are equal */
    double *ranked;
    double *score; /* ds_normal_score() of each */
    /* evaluations, and simulation steps, until each of ds_report_score[]; +INFINITY = never */
    double expected[2][DS_REPORT_SCORES];
    double mean, sd, median, q1, q3, least, most;
    ds_interval mean90, mean95;             /* of the mean, by ds_mean_intervals() */
    double evaluations, cost_steps, wall_s; /* mean over runs */
    double area[2];       /* mean of ds_anytime_area(), over evaluations and over simulation steps */
    double rank;          /* rank of its mean among the optimizers on this environment, 1 = best */
    ds_mann_whitney test; /* this optimizer (x) against the reference (y) */
    double p_holm;        /* test.p, adjusted over the optimizers compared on this environment */
    double p_alone;       /* test.p, adjusted over the environments: as if no other optimizer were compared */
    double least_alone;   /* smallest p_alone that these numbers of runs can reach */
    double least_p;       /* smallest p_holm that these numbers of runs can reach */
} ds_report_cell;

typedef struct ds_report_env {
    const char *name;
    uint64_t least_n, most_n; /* numbers of variables, which differ only between pooled variants */
    uint64_t budget;          /* planned evaluations; 0 if runs differ */
    /* with unfinished runs: the evaluations that all have made, after which they are compared; else 0 */
    uint64_t common;
    size_t tests; /* optimizers compared with the reference */
    /* losses with score 0 and 1, see ds_normal_score(); not finite without a valid loss */
    double random, best;
    int recommended;   /* noisy: runs are ranked by the point that they recommend, not by their lowest loss */
    int zero;          /* DS_ZERO_* of `random` */
    double tolerance;  /* losses within it are equal, see ds_report_choice.tolerance */
    double range;      /* of losses, for the default tolerance; 0 if the tolerance was given */
    double least_mean; /* of all optimizers here */
    const ds_result *best_run;
    const ds_result *best_record; /* the best run in a folder; NULL = none */
    size_t rows;                  /* runs from tables */
    size_t metrics;               /* of a run's best episode; 0 if not requested, or without any */
} ds_report_env;

typedef struct ds_report_opt {
    const char *name;
    size_t envs;  /* environments with runs */
    size_t rows;  /* runs from tables */
    double score; /* interquartile mean over all runs of all environments */
    ds_interval score95;
    /* probability that a run of it beats a run of the reference, mean over environments */
    double improvement;
    ds_interval improvement95;
    double p, p_holm;     /* of ds_stratified_test() against the reference; adjusted over the optimizers */
    double least_p;       /* smallest p_holm that the numbers of runs allow */
    double rank;          /* mean over environments */
    int in_test;          /* is it part of ds_report_overall? */
    double test_rank;     /* its mean rank there */
    size_t better, worse; /* environments where it differs from the reference with p_holm < 0.05 */
    size_t alone_better, alone_worse; /* the same with p_alone */
    size_t alone_open;                /* environments with too few runs for any p_alone < 0.05 */
} ds_report_opt;

/* The test over all environments on which all of these optimizers ran: the optimizers with the most
 * environments. */
typedef struct ds_report_overall {
    size_t envs, opts; /* below 2 there is no test */
    ds_friedman test;
} ds_report_overall;

typedef struct ds_report {
    ds_run_results results;
    size_t envs, opts;
    ds_report_env *env;
    ds_report_opt *opt;
    ds_report_cell *cell; /* envs x opts, row-major */
    size_t *order;        /* optimizers by number of environments, then score */
    ds_report_overall overall;
    size_t reference;       /* optimizer that others are compared with */
    const ds_result **open; /* runs that are not in the cells: unfinished, failed or unreadable */
    size_t open_count;
} ds_report;

/* Does the optimizer differ from the reference on this environment, with p_holm < 0.05? 1 = better, -1 =
 * worse, 0 = neither is shown. */
int ds_report_verdict(const ds_report_cell *c);

/* The run that a repeated run j (runs <= j < runs + repeated) repeats. */
size_t ds_report_first(const ds_report_cell *c, size_t j);

/* The mean of a cell for ranks and marks: means within the environment's tolerance are equal. */
double ds_report_mean(const ds_report *r, size_t env, size_t opt);

/* Parts of ds_report_make() (report_overall.c): scores, ranks and order of the optimizers; then their tests
 * against the reference, and the test of all of them. */
int ds_report_score_all(ds_report *r, unsigned skip, ds_error *e);
int ds_report_judge_all(ds_report *r, unsigned skip, ds_error *e);

/* The optimizers with runs on an environment, the lowest mean first; `order` has room for all. Returns their
 * number. */
size_t ds_report_order_on(const ds_report *r, size_t env, size_t *order);

/* A metric of the best episodes over the runs of a cell. */
typedef struct ds_metric_summary {
    const ds_last_metric *metric; /* name and unit */
    size_t runs;                  /* in which it is defined */
    double mean, median, q1, q3, least, most;
    ds_interval mean95;
} ds_metric_summary;

/* Metric m < metrics of its environment; without runs if some of the cell are table rows. DS_EXIT_MEMORY on
 * failure. */
int ds_report_metric(const ds_report_cell *c, size_t m, ds_metric_summary *out, ds_error *e);

/* What to skip to save time: intervals of means; scores over all environments with the order; tests over all
 * environments. Skipped results are NaN. */
enum { DS_REPORT_NO_INTERVALS = 1, DS_REPORT_NO_SCORES = 2, DS_REPORT_NO_OVERALL = 4 };

/* Contents of a report. */
typedef struct ds_report_choice {
    const char *const *source; /* folders, and tables (ds_run_table_is()) */
    size_t sources;
    const char *only; /* patterns of cells ENV/OPT (ds_run_table_only()); NULL = all */
    const char *pool; /* a key whose sweep is pooled to one environment (ds_results_pool()), or NULL */
    /* versions of an environment do not count as a difference (ds_results_disambiguate()) */
    int any_version;
    /* name of an optimizer; NULL = the first of ds_report_references[] with runs, else the first by name of
     * those that ran on the most environments. Never the best one: that would choose the tests by their
     * result. */
    const char *reference;
    unsigned skip; /* DS_REPORT_NO_* */
    /* losses within it are equal in tests, ranks and marks; NaN = DS_REPORT_TOLERANCE of the range of losses
     * of each environment, and what an inexact environment declares */
    double tolerance;
} ds_report_choice;

/* Reads all runs of the folders and tables. Every environment and optimizer has a run that counts: a finished
 * one, or, if its optimizer has none there, an unfinished one. DS_EXIT_IO if there is none at all. After a
 * failure nothing needs to be cleared. */
int ds_report_make(const ds_report_choice *choice, ds_report *out, ds_error *e);
void ds_report_clear(ds_report *r);

/* Can these numbers of runs decide any test? *needed receives the number of runs of each optimizer that would
 * suffice (0 = there is no test). */
int ds_report_can_decide(const ds_report *r, size_t env, size_t *needed);

static inline const ds_report_cell *ds_report_at(const ds_report *r, size_t env, size_t opt)
{
    return &r->cell[env * r->opts + opt];
}

/* ---- page: one HTML file that prints on A4, fits narrow screens, and follows light and dark mode ---- */

/* How the report was requested, as text for a shell. */
typedef struct ds_report_origin {
    const char *command;   /* reproduces the report */
    const char *first;     /* folder or table that names the page */
    const char *folders;   /* folders and tables with the runs, also for `plot` */
    const char *only;      /* selected cells; NULL = all */
    const char *reference; /* requested reference; NULL = the default */
    const char *pool;      /* key whose variants are pooled; NULL = none */
    int any_version;       /* versions of an environment do not count as a difference */
    int page_only;         /* leave no files of figures, and no links to them */
    int metrics;           /* ds_report_metrics() was called: write metrics.csv and metric_cells.csv */
} ds_report_origin;

/* Writes `folder`/index.html, the tables as CSV, and the figures as SVG and CSV in `folder`/figures/, which
 * stays empty with page_only. */
int ds_report_page(const ds_report *r, const char *folder, const ds_report_origin *origin, ds_error *e);

enum { DS_REPORT_SHADES = 10 /* classes of cells: h0 (score 0) to h9 (score 1), hn below 0 */ };

/* ---- runs in detail ---- */

/* Writes the best point of a run as a folded table of its first variables, headed "The best point"
 * followed by `of`. Writes nothing if the run has no best point or its record cannot be read. */
void ds_report_point(FILE *f, const ds_result *run, const char *of);

/* Writes the scalars that the best run of each optimizer on an environment reported as a folded table: their
 * range and a line over the run. Writes nothing if none reported any. */
void ds_report_progress(FILE *f, const ds_report *r, size_t env);

/* ---- tables of one environment ---- */

/* Best losses, tests against the reference, and costs, the lowest mean first. */
int ds_report_put_tables(FILE *f, const ds_report *r, size_t env, ds_error *e);

/* ---- overview: all optimizers on all environments, and the tests over all of them ---- */

/* A coloured table of scores, with marks for significant differences, and its legend. */
void ds_report_put_overview(FILE *f, const ds_report *r);

/* The meaning of score 0 over all environments, as text. */
const char *ds_report_zero_text(const ds_report *r);

/* What these numbers of runs can show at all. */
void ds_report_put_power(FILE *f, const ds_report *r);

/* The optimizers over all environments, with the tests. */
void ds_report_put_overall(FILE *f, const ds_report *r);

/* ---- versions and settings of the runs ---- */

/* Number of runs that are table rows; and a list of them by table, if there are any. any_version: versions of
 * an environment count as one (ds_report_choice). */
size_t ds_report_rows(const ds_report *r);
void ds_report_put_sources(FILE *f, const ds_report *r, int any_version);

/* A table of all environments and optimizers with their plugins and versions. */
void ds_report_put_versions(FILE *f, const ds_report *r, int any_version);

/* All settings of each environment, of each optimizer, and of the runs, once for all runs that share them. */
void ds_report_put_settings(FILE *f, const ds_report *r);

/* ---- best episodes: image per environment, page with those of all optimizers, metrics of each run ---- */

/* Path of the image for environment `env` of a report in `folder`; to be freed, or NULL. */
char *ds_report_picture_path(const ds_report *r, size_t env, const char *folder);

/* Removes the images of an earlier report in the folder, which may show other runs. If `draw`, then simulates
 * the best episode of each environment whose best run has no best.png, and draws it. What cannot be drawn (a
 * plugin is missing) costs a warning. DS_EXIT_IO or DS_EXIT_MEMORY if the folder cannot be created. */
int ds_report_pictures(const ds_report *r, const char *folder, int draw, ds_error *e);

/* Path of the page that plays the best episodes of environment `env`; to be freed, or NULL. */
char *ds_report_episodes_path(const ds_report *r, size_t env, const char *folder);

/* Writes that page for each environment: the best episodes of up to DS_REPORT_EPISODES optimizers side by
 * side, the lowest mean first. Removes the page of an earlier report if there is no scene, nothing could be
 * simulated (with a warning), or it is not `wanted`. DS_EXIT_IO or DS_EXIT_MEMORY on failure. */
enum { DS_REPORT_EPISODES = 12 };
int ds_report_episodes(const ds_report *r, const char *folder, int wanted, ds_error *e);

/* Simulates the best episode of every run that counts, for the metrics that optimizers do not see (errors of
 * identified parameters, distances to a target): fills metrics and metric of the report. What cannot be
 * simulated costs a warning. DS_EXIT_MEMORY on failure. */
int ds_report_metrics(ds_report *r, ds_error *e);

/* "kind-NAME" as a file name: characters that file names should not have become '_'. */
void ds_report_file_name(char *out, size_t room, const char *kind, const char *name);

/* ---- CSV ---- */

/* One row per finished run; per cell; per optimizer. */
int ds_report_runs_csv(const ds_report *r, const char *path, ds_error *e);
int ds_report_cells_csv(const ds_report *r, const char *path, ds_error *e);
int ds_report_summary_csv(const ds_report *r, const char *path, ds_error *e);

/* One row per metric of each run's best episode; per metric of each cell. Only the header if they were not
 * measured. */
int ds_report_metrics_csv(const ds_report *r, const char *path, ds_error *e);
int ds_report_metric_cells_csv(const ds_report *r, const char *path, ds_error *e);

/* Number of runs in folders. */
size_t ds_report_records(const ds_run_results *r);

/* ---- figures, each with its numbers as CSV ---- */

/* Where a figure goes; NULL paths are not written. */
typedef struct ds_figure {
    const char *png, *svg, *csv;
    const ds_paper *paper; /* instead of PNG and SVG; NULL = for a screen */
} ds_figure;

/* Horizontal axis of curves and targets. */
enum { DS_ALONG_EVALUATIONS = 0, DS_ALONG_STEPS = 1, DS_ALONG_SECONDS = 2, DS_ALONGS = 3 };

enum {
    /* Mean final loss per optimizer on an environment, with its 90 % bootstrap interval and every run; best
     * first. */
    DS_FIGURE_BARS,
    /* Best loss so far on an environment: median and quartiles over runs; in the table also the mean with its
     * 90 % interval. A run that ended keeps its last value; the curve ends with the optimizer's longest run.
     */
    DS_FIGURE_CURVES,
    /* Interquartile mean of the scores over all environments, 95 % intervals by the stratified bootstrap. */
    DS_FIGURE_SCORES,
    /* Share of runs with a score above tau. */
    DS_FIGURE_PROFILE,
    /* Share of (environment, target, run) reached, against cost per variable. Targets that no run reached are
     * left out. */
    DS_FIGURE_TARGETS,
    DS_FIGURES
};

/* Names for users. */
extern const char *const ds_figure_kinds[DS_FIGURES], *const ds_figure_alongs[DS_ALONGS];

/* Is there anything to draw? Curves and targets leave out optimizers with table rows (on the environment, or
 * anywhere), which the figure says. */
int ds_figure_is_known(const ds_report *r, int kind, size_t env);

/* `env` and `along` are used by the kinds that have them. */
int ds_figure_draw(const ds_report *r, int kind, size_t env, int along, const ds_figure *f, ds_error *e);

#endif
