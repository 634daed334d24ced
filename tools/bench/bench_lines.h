/* SPDX-License-Identifier: Apache-2.0 */
/* bench_lines.h - the lines of an experiment file before anybody knows what they mean, and the words in them.
 * Internal to the experiments. */
#ifndef DS_BENCH_BENCH_LINES_H
#define DS_BENCH_BENCH_LINES_H

#include "bench/bench_file.h"
#include "config/inifile.h"

enum {
    DS_BENCH_IN_BENCH,
    DS_BENCH_IN_RUN,
    DS_BENCH_IN_ENV,
    DS_BENCH_IN_OPT,
    DS_BENCH_SWEEP_ENV,
    DS_BENCH_SWEEP_OPT
};
enum { DS_BENCH_VARIANTS = 1000, DS_BENCH_WORDS = 1000 /* in one list */ };

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

typedef struct ds_bench_words {
    char *text; /* to be freed */
    char *item[DS_BENCH_WORDS];
    size_t count;
} ds_bench_words;

/* Splits at any of the characters in `separators`; `origin` is for the message where there are too many. */
int ds_bench_split(const char *text, const char *separators, const char *origin, ds_bench_words *out,
                   ds_error *e);

/* Releases parts; the list is then empty. */
void ds_bench_parts_clear(ds_bench_parts *list);

/* Replaces parts that [sweep] sections name by their variants. */
int ds_bench_sweep(const ds_bench_lines *all, const char *base, ds_bench_file *f, ds_error *e);

#endif
