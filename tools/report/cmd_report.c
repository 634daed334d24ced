/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report.c - `dshost report`: one HTML page about the runs in folders and tables. */
#include "config.h"

#include "base/text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "report/report.h"
#include "results/run_table.h"
#include "store/run_folder.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct request {
    const char *out, *pool, *reference;
    char *only; /* of all --only flags */
    int no_pictures, no_episodes, page_only, metrics, any_version;
    double tolerance;
} request;

static const char usage[] =
    "usage: dshost report [DIR|RUNS.csv]... [OPTIONS]\n"
    "\n"
    "Writes one self-contained HTML page about all runs below the folders, with an overview, tables, "
    "intervals, tests and\n"
    "figures, and next to it the figures as SVG and all numbers as CSV. Prints its path. Unfinished runs "
    "count as far as they\n"
    "got, marked as such, if their optimizer has no finished run on the environment.\n"
    "\n"
    "Every row of a RUNS.csv, as a report writes it (runs.csv), also counts as a finished run unless the "
    "folders hold it. A row\n"
    "has no curve, episode or settings; results that need them leave out optimizers with such runs.\n"
    "\n"
    "  --out FOLDER       output folder; DIR/report by default (in the first DIR; required without one)\n"
    "  --only PATTERN     only cells ENV/OPT that match, as in 'torus/*'; may be repeated or contain commas\n"
    "  --reference OPT    the optimizer that others are compared with; by default the first of boleap, rand, "
    "cmaes with\n"
    "                     runs, else the first by name of those that ran on the most environments\n"
    "  --tolerance T      treat losses that differ by at most T as equal in tests, ranks and marks; by "
    "default 1e-9 of the\n"
    "                     range of losses of each environment (from the median of random search, or of the "
    "first losses, to\n"
    "                     the lowest), and what an inexact environment declares\n"
    "  --metrics          simulate the best episode of every run for metrics that optimizers do not see "
    "(errors of\n"
    "                     identified parameters, distances): medians in the page, all values in metrics.csv\n"
    "  --pool KEY         treat the variants of a sweep over a parameter of environments, ENV@KEY=VALUE, as "
    "one\n"
    "                     environment, whose samples are the runs of all of them\n"
    "  --any-version      do not separate runs on different versions of an environment, for changes that do "
    "not affect\n"
    "                     these runs\n"
    "  --no-pictures      do not simulate the best episode of an environment to draw it if its run left no "
    "image\n"
    "  --no-episodes      do not simulate the best episode of each optimizer for the pages that play them "
    "side by side\n"
    "  --trust-plugin P   run this plugin (file, folder or id) if a record names it and it is not on the "
    "plugin path\n"
    "  --page-only        write the page and its tables, but no folder of figures\n";

static int take_tolerance(void *to, const char *name, const char *value, ds_error *e)
{
    request *q = to;
    (void)name;
    return ds_tolerance_read(value, &q->tolerance, e);
}

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    const ds_flag flags[] = {{"out", .text = &q->out},
                             {"reference", .text = &q->reference},
                             {"pool", .text = &q->pool},
                             {"any-version", .set = &q->any_version},
                             {"only", .list = &q->only},
                             {"tolerance", .take = take_tolerance},
                             {"metrics", .set = &q->metrics},
                             {"no-pictures", .set = &q->no_pictures},
                             {"no-episodes", .set = &q->no_episodes},
                             {"trust-plugin", .take = ds_trust_flag_take},
                             {"page-only", .set = &q->page_only},
                             {"help", .usage = usage},
                             {0}};
    q->tolerance = NAN;
    int rc = ds_arguments_read(argc, argv, "report", flags, -1, q, e);
    if (rc == 0 && optind >= argc) {
        rc = ds_fail(e, DS_EXIT_USAGE,
                     "report: name a folder with runs, or a table of runs: dshost report results/");
    } else if (rc == 0 && q->out != NULL &&
               ds_text_ends_with(q->out,
                                 (const char *const[]){"html", "htm", "pdf", "csv", "png", "svg", NULL})) {
        rc = ds_fail(e, DS_EXIT_USAGE,
                     "report: --out %.200s: name a folder: the report is FOLDER/index.html, with tables and "
                     "figures next to it",
                     q->out);
    }
    return rc;
}

/* With --page-only the images are part of the page, and their files are removed. */
static int remove_figures(const ds_report *r, const char *out, ds_error *e)
{
    char *figures = ds_folder_path(out, "figures");
    int rc = figures == NULL ? ds_no_memory(e) : ds_report_pictures(r, out, 0, e);
    if (rc == 0 && rmdir(figures) != 0 && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: cannot be removed: %s", figures, strerror(errno));
    }
    free(figures);
    return rc;
}

/* To be freed, or NULL after filling *e. */
static char *place_of(const request *q, int sources, char *const *source, ds_error *e)
{
    const char *first = NULL;
    for (int i = sources; i-- > 0;) {
        first = ds_run_table_is(source[i]) ? first : source[i];
    }
    if (q->out == NULL && first == NULL) {
        ds_fail(e, DS_EXIT_USAGE, "report: with tables only, name the folder of the report with --out");
        return NULL;
    }
    char *out = q->out != NULL ? strdup(q->out) : ds_folder_path(first, "report");
    if (out == NULL) {
        ds_no_memory(e);
    } else if (q->out == NULL && ds_folder_check_below(first, out, e) != 0) {
        free(out);
        out = NULL;
    }
    return out;
}

static int make(const request *q, int sources, char *const *source, const char *command, ds_error *e)
{
    ds_report r;
    const ds_report_choice choice = {.source = (const char *const *)source,
                                     .sources = (size_t)sources,
                                     .only = q->only,
                                     .pool = q->pool,
                                     .any_version = q->any_version,
                                     .reference = q->reference,
                                     .tolerance = q->tolerance};
    char *list = ds_text_shell_line("", sources, source);
    char *out = list != NULL ? place_of(q, sources, source, e) : NULL;
    int rc = list == NULL ? ds_no_memory(e) : out == NULL ? e->status : ds_report_make(&choice, &r, e);
    if (rc == 0) {
        const ds_report_origin origin = {.command = command,
                                         .first = source[0],
                                         .folders = list,
                                         .only = q->only,
                                         .reference = q->reference,
                                         .pool = q->pool,
                                         .any_version = q->any_version,
                                         .page_only = q->page_only,
                                         .metrics = q->metrics};
        rc = ds_report_pictures(&r, out, !q->no_pictures, e);
        rc = rc != 0 ? rc : ds_report_episodes(&r, out, !q->no_episodes && !q->page_only, e);
        rc = rc == 0 && q->metrics ? ds_report_metrics(&r, e) : rc;
        rc = rc != 0 ? rc : ds_report_page(&r, out, &origin, e);
        rc = rc == 0 && q->page_only ? remove_figures(&r, out, e) : rc;
        if (rc == 0) {
            char *page = ds_folder_path(out, "index.html");
            printf("%s\n", page != NULL ? page : out);
            free(page);
            rc = ds_results_left_out(r.results.damaged, e);
        }
        ds_report_clear(&r);
    }
    free(out);
    free(list);
    return rc;
}

static int command(int argc, char **argv, ds_error *e)
{
    request q = {0};
    char *line = ds_text_shell_line("dshost report", argc - 1, argv + 1); /* parse() reorders the arguments */
    int rc = line == NULL ? ds_no_memory(e) : parse(argc, argv, &q, e);
    rc = rc != 0 ? rc : make(&q, argc - optind, argv + optind, line, e);
    free(q.only);
    free(line);
    return rc;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
