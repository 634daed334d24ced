/* SPDX-License-Identifier: Apache-2.0 */
/* bench_plan.h - the parts of an experiment: variants of environments and optimizers, cells (one of each),
 * and runs (one seed of a cell), with their folders in the results.
 *
 *   OUT/bench.ini                 the effective experiment: all variants, all parameters
 *   OUT/bench.json                its state, see experiment.h
 *   OUT/ENV/OPT/run.ini           the cell, as `dshost run --runs N` writes it
 *   OUT/ENV/OPT/seed-K/           an ordinary run */
#ifndef DS_BENCH_BENCH_PLAN_H
#define DS_BENCH_BENCH_PLAN_H

#include "bench/bench_file.h"
#include "config/run_options.h"
#include "plugin/loader.h"

typedef struct ds_bench_variant {
    const ds_bench_part *part;
    const ds_module *module;
    ds_params *params;
} ds_bench_variant;

typedef struct ds_bench_cell {
    size_t env, opt; /* indices of variants */
    char *name;      /* "ENV/OPT", also its folder in OUT */
    int wanted;      /* --only matches it */
} ds_bench_cell;

/* Runs are ordered by seed, then by cell, so that early results cover all cells. Run r belongs to cell r %
 * cells and has seed number r / cells: first the seeds to be done, from file.seed on, then the other seeds in
 * OUT, so that a run has the same number on all ranks. The plan covers the whole file and all of OUT; only a
 * part may be selected now. */
typedef struct ds_bench_plan {
    char *path; /* of the file, as the user named it */
    char *out;  /* result folder */
    ds_bench_file file;
    ds_bench_variant *variant[2]; /* DS_BENCH_ENV, DS_BENCH_OPT */
    size_t variants[2];
    ds_bench_cell *cell;
    size_t cells;
    size_t seeds;         /* in every cell */
    size_t wanted;        /* seeds to be done */
    size_t before;        /* seeds below file.seed, which are in OUT */
    size_t runs;          /* of all cells */
    uint64_t budget;      /* episodes of a run; see ds_bench_budget() */
    double seconds;       /* time limit of a run, 0 = none */
    int64_t jobs;         /* runs at the same time on this machine */
    size_t shard, shards; /* runs of this process: shard of 0..shards-1 */
} ds_bench_plan;

typedef struct ds_bench_choice {
    const char *out;      /* NULL = from the file */
    const char *only;     /* pattern of cells, NULL = all */
    int skip_missing;     /* leave out what cannot be loaded */
    int of_record;        /* the file lies in a result folder: its plugins need trust (evaluate/trust.h) */
    size_t shard, shards; /* 0, 1 = everything */
} ds_bench_choice;

/* Reads the file, loads the plugins and validates all parameters. Cells whose optimizer needs gradients or
 * stepwise control that the environment lacks are left out with a warning. Missing plugins are one error with
 * all names (DS_EXIT_PLUGIN), or with skip_missing one warning. */
int ds_bench_plan_make(const char *path, const ds_settings *flags, const ds_settings *sets,
                       const ds_bench_choice *choice, ds_bench_plan *out, ds_error *e);
void ds_bench_plan_clear(ds_bench_plan *p);

/* Of a run: its cell, its seed, whether it belongs to this shard, and whether it is selected. */
const ds_bench_cell *ds_bench_cell_of(const ds_bench_plan *p, size_t run);
/* Evaluations that the budget allows: fewer than episodes where env.expect averages several. */
uint64_t ds_bench_budget(const ds_bench_plan *p, const ds_bench_cell *cell);
uint64_t ds_bench_seed_of(const ds_bench_plan *p, size_t run);
uint64_t ds_bench_first_seed(const ds_bench_plan *p);
int ds_bench_is_here(const ds_bench_plan *p, size_t run);
int ds_bench_is_mine(const ds_bench_plan *p, size_t run);
size_t ds_bench_wanted_cells(const ds_bench_plan *p);

/* "ENV/OPT/seed-K" of a run, and its path with OUT; to be freed. */
char *ds_bench_run_name(const ds_bench_plan *p, size_t run);
char *ds_bench_run_folder(const ds_bench_plan *p, size_t run);

/* Puts settings [run], [env] and [opt] of a cell into an empty *out. */
int ds_bench_cell_settings(const ds_bench_plan *p, const ds_bench_cell *c, ds_settings *out, ds_error *e);

/* The effective experiment as text, to be freed; equal for equal experiments. */
char *ds_bench_plan_text(const ds_bench_plan *p, ds_error *e);

/* Fails with DS_EXIT_IO if OUT is the folder of a run or a landscape. */
int ds_bench_out_is_free(const char *out, ds_error *e);

/* Checks what OUT contains. Its runs must have the parameters that their variants have now (DS_EXIT_CONFIG)
 * and no larger budget (DS_EXIT_USAGE). Adds the other seeds of OUT to the plan, which must overlap or adjoin
 * those of the plan; the first seed of a shard must be the same (DS_EXIT_USAGE). Writes nothing. */
int ds_bench_plan_join(ds_bench_plan *p, ds_error *e);

/* Creates OUT with bench.ini, and the run.ini of all selected cells. */
int ds_bench_plan_write(const ds_bench_plan *p, ds_error *e);

#endif
