/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h - a table for a paper or a page: methods as rows, environments as columns, in LaTeX (booktabs),
 * Markdown or CSV. Its numbers come from a report (report.h) or from its METRIC_CELLS.csv. */
#ifndef DS_TABLE_GRID_H
#define DS_TABLE_GRID_H

#include "report/report.h"

#include <stdio.h>

/* Contents of the cells. */
enum {
    DS_GRID_MEAN,   /* mean of the best losses and its interval, or of a metric */
    DS_GRID_MEDIAN, /* median, first and third quartile */
    DS_GRID_TIME,   /* mean wall time of a run, s */
    DS_GRID_SCORES, /* score over all environments and its 95 % interval */
    DS_GRID_COUNTS, /* number of environments on which a method is better or worse than the reference */
    DS_GRID_STATS
};
enum { DS_GRID_LATEX, DS_GRID_MARKDOWN, DS_GRID_CSV, DS_GRID_FORMATS };

/* Marks: bold for the best cell of an environment and all that are not shown to be worse; (+) and (-) for
 * better and worse than the reference; or none. */
enum { DS_GRID_MARK_BEST, DS_GRID_MARK_REFERENCE, DS_GRID_MARK_NONE, DS_GRID_MARKS };

/* Names for users. */
extern const char *const ds_grid_stats[DS_GRID_STATS], *const ds_grid_formats[DS_GRID_FORMATS],
                                                           *const ds_grid_marks[DS_GRID_MARKS];

enum { DS_GRID_DIGITS = 3, DS_GRID_DIGITS_MAX = 17 };

typedef struct ds_grid_choice {
    int stat, format, mark;
    int digits;          /* significant digits */
    int level;           /* of the interval of a mean, 90 or 95 % */
    int transpose, note; /* environments as rows; add a description below the table */
    size_t columns;      /* at most, further ones in another table; 0 = all */
    const char *metric;  /* of the best episodes, instead of the loss; NULL = the loss */
    const char *methods; /* rows in this order: names and patterns separated by commas or blanks; */
    const char *envs;    /* columns, likewise; NULL = all */
    const char *caption; /* of a floating LaTeX table; NULL = the tabular alone */
    const char *command; /* that makes the table, for a comment; or NULL */
} ds_grid_choice;

/* Writes the table. DS_EXIT_USAGE for a name without runs. */
int ds_grid_write(FILE *f, const ds_report *r, const ds_grid_choice *choice, ds_error *e);

/* The same from a metric_cells.csv. */
int ds_grid_write_metrics(FILE *f, const char *path, const ds_grid_choice *choice, ds_error *e);

#endif
