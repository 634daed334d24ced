/* SPDX-License-Identifier: Apache-2.0 */
/* bench_sweep.h - variants of environments and optimizers: one for every combination of swept values. */
#ifndef DS_BENCH_BENCH_SWEEP_H
#define DS_BENCH_BENCH_SWEEP_H

#include "bench/bench_lines.h"
#include "bench/bench_parts.h"

/* Replaces parts that [sweep] sections name by their variants; part[DS_BENCH_ENV] and part[DS_BENCH_OPT]. */
int ds_bench_sweep(const ds_bench_lines *all, const char *base, ds_bench_parts part[2], ds_error *e);

#endif
