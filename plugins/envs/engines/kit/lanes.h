/* SPDX-License-Identifier: Apache-2.0 */
/* lanes.h - episodes side by side: the rows of one call of ds_env_table.rows() in the lanes of vectors.
 *
 * Rows are taken in groups of as many as a vector has lanes. A kernel is compiled once for each instruction
 * set (common/isa.h) with LANES_ISA and VECTOR_LANES, and does in every lane what the scalar code does for
 * one row: the same IEEE operations in the same order, nothing fused, no operation across lanes, the sine of
 * common/sincos.h in both. So a lane has the bits of the single evaluation at every width, and a result does
 * not depend on the rows next to it. Branches become masks; rare ones, such as an impact, go through the
 * scalar code lane by lane. */
#ifndef DS_ENGINES_KIT_LANES_H
#define DS_ENGINES_KIT_LANES_H

#include "common/isa.h"

#include <diffsim/helper/eval.h>
#include <diffsim/helper/memory.h>

enum { LANES_MOST = 16 }; /* lanes of a kernel: one or two of the widest vectors */

/* Rows of one call in lanes 0 .. width - 1; lanes without a row repeat the last one, so that nothing that
 * they compute or write differs from it. */
typedef struct lanes_group {
    uint64_t count; /* lanes with a row */
    int graded;     /* the rows want gradients */
    ds_eval *io[LANES_MOST];
    const double *x[LANES_MOST];
    double *grad[LANES_MOST];
} lanes_group;

/* The next group of `left` rows, at least 1, which begin at io. */
static inline lanes_group lanes_take(uint64_t width, uint64_t left, ds_eval *const *io)
{
    lanes_group g = {.count = left < width ? left : width, .graded = (io[0]->want & DS_WANT_GRAD) != 0};
    for (uint64_t lane = 0; lane < width; lane++) {
        ds_eval *row = io[lane < g.count ? lane : g.count - 1];
        g.io[lane] = row;
        g.x[lane] = row->x;
        g.grad[lane] = row->grad;
    }
    return g;
}

/* Takes memory for `count` vectors of `width` doubles, aligned for them. */
static inline double *lanes_memory(ds_memory *m, uint64_t count, uint64_t width)
{
    const uint64_t align = 64; /* bytes of the widest vector */
    char *at = (char *)ds_memory_doubles(m, count * width + align / sizeof(double));
    return at != NULL ? (double *)(at + (align - (uintptr_t)at % align) % align) : NULL;
}

/* ---- in kernels ---- */

#ifdef LANES_ISA
#include "common/vector_math.h"

/* Number i of every row. */
VEC_INLINE vec lanes_load(const double *const *row, uint64_t i)
{
#if VECTOR_LANES == 8
    return (vec){row[0][i], row[1][i], row[2][i], row[3][i], row[4][i], row[5][i], row[6][i], row[7][i]};
#elif VECTOR_LANES == 4
    return (vec){row[0][i], row[1][i], row[2][i], row[3][i]};
#else
    return (vec){row[0][i], row[1][i]};
#endif
}

VEC_INLINE void lanes_store(double *const *row, uint64_t i, vec a)
{
    for (int lane = 0; lane < VECTOR_LANES; lane++) {
        row[lane][i] = a[lane];
    }
}
#endif

#endif
