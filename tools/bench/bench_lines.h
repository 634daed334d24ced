/* SPDX-License-Identifier: Apache-2.0 */
/* bench_lines.h - the lines of an experiment file before anybody knows what they mean. */
#ifndef DS_BENCH_BENCH_LINES_H
#define DS_BENCH_BENCH_LINES_H

#include "config/inifile.h"

enum {
    DS_BENCH_IN_BENCH,
    DS_BENCH_IN_RUN,
    DS_BENCH_IN_ENV,
    DS_BENCH_IN_OPT,
    DS_BENCH_SWEEP_ENV,
    DS_BENCH_SWEEP_OPT
};

typedef struct ds_bench_line {
    int kind;    /* DS_BENCH_IN_*, DS_BENCH_SWEEP_* */
    char *names; /* of the section: "A B" */
    char *key;   /* NULL = the section begins */
    char *value, *origin;
    int more;
} ds_bench_line;

typedef struct ds_bench_lines {
    ds_bench_line *item;
    size_t count, capacity;
    int kind;
    char names[DS_INI_NAME_LIMIT + 1];
} ds_bench_lines;

/* A reader that collects lines in *all, which begins zeroed. */
ds_ini_handler ds_bench_lines_handler(ds_bench_lines *all);
void ds_bench_lines_clear(ds_bench_lines *all);

#endif
