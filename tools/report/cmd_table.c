/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_table.c - `dshost table`: a table about the runs in folders and tables, for a paper or a page. */
#include "config.h"

#include "base/file.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "report/grid.h"
#include "report/report.h"
#include "results/run_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct request {
    ds_grid_choice grid;
    const char *out, *pool, *reference;
    char *only, *methods, *envs;
    int any_version, no_note, format_given;
    double tolerance;
} request;

static const char usage[] =
    "usage: dshost table [DIR|RUNS.csv|METRIC_CELLS.csv]... [OPTIONS]\n"
    "\n"
    "Prints a table of methods (rows) and environments (columns) about the runs below the folders and in the "
    "tables,\n"
    "counted as in `dshost report`. LaTeX needs the package booktabs.\n"
    "\n"
    "  --stat S        mean (with its interval; default), median (with quartiles), time (wall time of a run, "
    "s), scores (over\n"
    "                  all environments), counts (environments on which a method is better or worse than the "
    "reference)\n"
    "  --format F      latex, md or csv; by the ending of --out (.tex, .md, .csv), else md\n"
    "  --out FILE      output file; the standard output by default\n"
    "  --methods LIST  methods, in this order: names and patterns with commas, such as 'mine,cmaes,*'\n"
    "  --envs LIST     environments, in this order\n"
    "  --digits N      significant digits, 3 by default\n"
    "  --level L       of the interval of a mean: 90 (default) or 95 %\n"
    "  --mark M        best (bold: the best of an environment, and all that are not shown to be worse; "
    "default), reference\n"
    "                  ((+) and (-): better and worse than it), none\n"
    "  --metric NAME   a metric of the best episodes instead of the loss; simulates them, or reads a "
    "metric_cells.csv of\n"
    "                  `dshost report --metrics`\n"
    "  --caption TEXT  LaTeX: a floating table with this caption (TeX), followed by a description of its "
    "contents\n"
    "  --columns N     at most N columns per table; further ones follow in another table below\n"
    "  --transpose     environments as rows\n"
    "  --no-note       no description of the contents below the table\n"
    "  --only PATTERN, and the flags below: as for dshost report\n"
    "  --pool KEY\n"
    "  --any-version\n"
    "  --reference OPT\n"
    "  --tolerance T\n";

static int take_number(const char *name, const char *value, uint64_t least, uint64_t most, uint64_t *to,
                       ds_error *e)
{
    return ds_parse_seed(value, to) && *to >= least && *to <= most
               ? 0
               : ds_fail(e, DS_EXIT_USAGE, "--%s %.40s: expected a whole number from %llu to %llu", name,
                         value, (unsigned long long)least, (unsigned long long)most);
}

static int take(void *to, const char *name, const char *value, ds_error *e)
{
    request *q = to;
    uint64_t number = 0;
    int rc = 0;
    if (strcmp(name, "stat") == 0) {
        return ds_choice_read(name, value, ds_grid_stats, DS_GRID_STATS, &q->grid.stat, e);
    }
    if (strcmp(name, "format") == 0) {
        q->format_given = 1;
        return ds_choice_read(name, value, ds_grid_formats, DS_GRID_FORMATS, &q->grid.format, e);
    }
    if (strcmp(name, "mark") == 0) {
        return ds_choice_read(name, value, ds_grid_marks, DS_GRID_MARKS, &q->grid.mark, e);
    }
    if (strcmp(name, "tolerance") == 0) {
        return ds_tolerance_read(value, &q->tolerance, e);
    }
    if (strcmp(name, "digits") == 0) {
        rc = take_number(name, value, 1, DS_GRID_DIGITS_MAX, &number, e);
        q->grid.digits = (int)number;
    } else if (strcmp(name, "columns") == 0) {
        rc = take_number(name, value, 1, 10000, &number, e);
        q->grid.columns = number;
    } else {
        rc = strcmp(value, "90") == 0 || strcmp(value, "95") == 0
                 ? 0
                 : ds_fail(e, DS_EXIT_USAGE, "--level %.40s: 90 or 95", value);
        q->grid.level = rc == 0 ? atoi(value) : 0;
    }
    return rc;
}

static int format_of_ending(request *q, ds_error *e)
{
    static const struct {
        const char *ending;
        int format;
    } known[] = {{"tex", DS_GRID_LATEX}, {"md", DS_GRID_MARKDOWN}, {"csv", DS_GRID_CSV}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        if (ds_text_ends_with(q->out, (const char *const[]){known[k].ending, NULL})) {
            q->grid.format = known[k].format;
            return 0;
        }
    }
    return ds_fail(
        e, DS_EXIT_USAGE,
        "table: --out %.200s: name the format with --format, or let the name end with .tex, .md or .csv",
        q->out);
}

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    const ds_flag flags[] = {{"stat", .take = take},
                             {"format", .take = take},
                             {"mark", .take = take},
                             {"digits", .take = take},
                             {"columns", .take = take},
                             {"level", .take = take},
                             {"tolerance", .take = take},
                             {"metric", .text = &q->grid.metric},
                             {"methods", .list = &q->methods},
                             {"envs", .list = &q->envs},
                             {"caption", .text = &q->grid.caption},
                             {"transpose", .set = &q->grid.transpose},
                             {"no-note", .set = &q->no_note},
                             {"out", .text = &q->out},
                             {"only", .list = &q->only},
                             {"pool", .text = &q->pool},
                             {"reference", .text = &q->reference},
                             {"any-version", .set = &q->any_version},
                             {"help", .usage = usage},
                             {0}};
    q->tolerance = NAN;
    q->grid.digits = DS_GRID_DIGITS;
    q->grid.level = 90;
    q->grid.format = DS_GRID_MARKDOWN;
    int rc = ds_arguments_read(argc, argv, "table", flags, -1, q, e);
    if (rc == 0 && optind >= argc) {
        rc = ds_fail(e, DS_EXIT_USAGE,
                     "table: name a folder with runs, or a table of runs: dshost table results/");
    }
    if (rc == 0 && q->out != NULL && !q->format_given) {
        rc = format_of_ending(q, e);
    }
    if (rc == 0 && q->grid.caption != NULL && q->grid.format != DS_GRID_LATEX) {
        rc = ds_fail(e, DS_EXIT_USAGE, "table: --caption is for --format latex");
    }
    if (rc == 0 && q->grid.metric != NULL && q->grid.stat != DS_GRID_MEAN && q->grid.stat != DS_GRID_MEDIAN) {
        rc = ds_fail(e, DS_EXIT_USAGE, "table: --metric goes with --stat mean or median");
    }
    q->grid.methods = q->methods;
    q->grid.envs = q->envs;
    q->grid.note = !q->no_note;
    return rc;
}

/* Is it a metric_cells.csv? The header tells. */
static int is_metric_table(const char *path)
{
    char line[200] = "";
    struct stat s;
    const int regular = stat(path, &s) == 0 && S_ISREG(s.st_mode); /* a pipe can be read only once */
    FILE *f = regular && ds_run_table_is(path) ? fopen(path, "re") : NULL;
    if (f == NULL) {
        return 0;
    }
    const int any = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    return any && strstr(line, "metric") != NULL && strstr(line, "best_loss") == NULL &&
           strstr(line, "mean") != NULL;
}

static int write_metrics(FILE *f, const ds_report *r, const ds_grid_choice *grid, ds_error *e)
{
    char path[] = "/tmp/diffsim-table-XXXXXX";
    const int fd = mkstemp(path);
    if (fd < 0) {
        return ds_fail(e, DS_EXIT_IO, "%s: cannot be created", path);
    }
    close(fd);
    int rc = ds_report_metric_cells_csv(r, path, e);
    rc = rc != 0 ? rc : ds_grid_write_metrics(f, path, grid, e);
    unlink(path);
    return rc;
}

static int write_table(FILE *f, const request *q, int sources, char *const *source, ds_error *e)
{
    ds_report r;
    ds_report_choice choice = {.source = (const char *const *)source,
                               .sources = (size_t)sources,
                               .only = q->only,
                               .pool = q->pool,
                               .any_version = q->any_version,
                               .reference = q->reference,
                               .tolerance = q->tolerance};
    choice.skip = (q->grid.stat == DS_GRID_MEAN ? 0U : DS_REPORT_NO_INTERVALS) |
                  (q->grid.stat == DS_GRID_SCORES ? 0U : DS_REPORT_NO_SCORES) | DS_REPORT_NO_OVERALL;
    if (is_metric_table(source[0])) {
        return q->grid.metric == NULL
                   ? ds_fail(e, DS_EXIT_USAGE, "table: %.200s holds metrics: name one with --metric",
                             source[0])
               : sources > 1 ? ds_fail(e, DS_EXIT_USAGE,
                                       "table: %.200s holds metrics: name no other table with it", source[0])
                             : ds_grid_write_metrics(f, source[0], &q->grid, e);
    }
    int rc = ds_report_make(&choice, &r, e);
    if (rc != 0) {
        return rc;
    }
    if (q->grid.metric != NULL) {
        rc = ds_report_metrics(&r, e);
        rc = rc != 0 ? rc : write_metrics(f, &r, &q->grid, e);
    } else {
        rc = ds_grid_write(f, &r, &q->grid, e);
    }
    rc = rc != 0 ? rc : ds_results_left_out(r.results.damaged, e);
    ds_report_clear(&r);
    return rc;
}

static int command(int argc, char **argv, ds_error *e)
{
    request q = {0};
    char *text = NULL, *line = ds_text_shell_line("dshost table", argc - 1, argv + 1);
    size_t size = 0;
    int rc = line == NULL ? ds_no_memory(e) : parse(argc, argv, &q, e);
    if (rc == 0) {
        FILE *f = open_memstream(&text, &size);
        q.grid.command = line;
        rc = f == NULL ? ds_no_memory(e) : write_table(f, &q, argc - optind, argv + optind, e);
        if (f != NULL && fclose(f) != 0 && rc == 0) {
            rc = ds_no_memory(e);
        }
    }
    if (size > 0 && (rc == 0 || rc == DS_EXIT_IO)) { /* damaged runs are reported; the table has the others */
        const int written = q.out != NULL ? ds_file_write_atomic(q.out, text, size, e)
                            : fwrite(text, 1, size, stdout) == size && fflush(stdout) == 0
                                ? 0
                                : ds_fail(e, DS_EXIT_IO, "cannot write the standard output");
        rc = rc != 0 ? rc : written;
    }
    free(text);
    free(line);
    free(q.only);
    free(q.methods);
    free(q.envs);
    return rc;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
