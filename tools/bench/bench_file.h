/* SPDX-License-Identifier: Apache-2.0 */
/* bench_file.h - experiment files: which environments, which optimizers, with which parameters, as the user
 * wrote them. Nothing is loaded here.
 *
 *   [bench]             envs, opts, seed, runs, skip, out, jobs
 *   [run]               settings of every run: budget, seconds, target, ...
 *   [env A B]           parameters of the environments A and B of envs; `plugin` where the name is no id
 *   [opt A]             the same for optimizers
 *   [sweep env A]       key = VALUE | VALUE | ...: a variant A@key=VALUE of A for every combination; A@1,
 *                       A@2, ... where names would be too long
 *   [sweep opt A]
 */
#ifndef DS_BENCH_BENCH_FILE_H
#define DS_BENCH_BENCH_FILE_H

#include "bench/bench_parts.h"
#include "config/params.h"

/* The schema of [bench]; the names are also flags of `dshost bench`. */
extern const ds_param *const ds_bench_schema[];

typedef struct ds_bench_file {
    ds_params *options;     /* of [bench], by its schema */
    uint64_t seed;          /* of the first run of each cell */
    ds_settings run;        /* section [run] */
    ds_bench_parts part[2]; /* DS_BENCH_ENV, DS_BENCH_OPT; variants of a sweep are parts of their own */
} ds_bench_file;

/* Reads a file. `flags` are settings that win: keys of [bench] in section [run], with layer DS_LAYER_FLAG;
 * `sets` are those of [run] from --set and from flags. An error (DS_EXIT_CONFIG) names file and line. */
int ds_bench_file_read(const char *path, const ds_settings *flags, const ds_settings *sets,
                       ds_bench_file *out, ds_error *e);

/* The same from memory; `name` stands for the file in messages, `base` for its folder. */
int ds_bench_file_parse(const char *text, size_t length, const char *name, const char *base,
                        const ds_settings *flags, const ds_settings *sets, ds_bench_file *out, ds_error *e);

void ds_bench_file_clear(ds_bench_file *f);

/* Where a key of `dshost run` is said instead that stands in [bench], or makes no sense for many runs; NULL =
 * it is one of [run] here, too. */
const char *ds_bench_elsewhere(const char *key);

/* A key of [bench]. */
const char *ds_bench_text(const ds_bench_file *f, const char *key);
int64_t ds_bench_int(const ds_bench_file *f, const char *key);

#endif
