/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/memory.h - arrays that a plugin allocates one by one and releases together.
 *
 *     ds_memory m = {0};
 *     double *speed = ds_memory_doubles(&m, n);
 *     uint32_t *index = ds_memory_take(&m, n, sizeof *index);
 *     if (m.failed) {
 *         ... out of memory
 *     }
 *     ds_memory_free(&m);
 *
 * Allocate everything first, then test `failed` once. A failed allocation sets it and returns NULL.
 *
 * Header only, in C11 and C++17; not part of the binary interface. Threads: [instance], one at a time for
 * each ds_memory.
 */
#ifndef DIFFSIM_HELPER_MEMORY_H
#define DIFFSIM_HELPER_MEMORY_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* The head of an allocation; its elements follow. Private to this header. */
typedef struct ds_memory_block {
    alignas(max_align_t) struct ds_memory_block *before;
} ds_memory_block;

/* A set of allocations; starts as zeros. */
typedef struct ds_memory {
    ds_memory_block *last; /* the newest allocation, from which the list leads to the oldest */
    int failed;            /* an allocation failed since the start or the last ds_memory_free() */
} ds_memory;

/* Allocates `count` elements of `size` bytes, all 0. Returns NULL and sets m->failed where memory is short or
 * the product exceeds the address space. The elements belong to `m`. */
static inline void *ds_memory_take(ds_memory *m, size_t count, size_t size)
{
    ds_memory_block *b = NULL;
    if (size == 0 || count <= (SIZE_MAX - sizeof *b) / size) {
        b = (ds_memory_block *)calloc(1, sizeof *b + count * size);
    }
    if (b == NULL) {
        m->failed = 1;
        return NULL;
    }
    b->before = m->last;
    m->last = b;
    return b + 1;
}

/* Allocates `count` doubles, all 0; like ds_memory_take(). */
static inline double *ds_memory_doubles(ds_memory *m, size_t count)
{
    return (double *)ds_memory_take(m, count, sizeof(double));
}

/* Allocates `count` doubles for each pointer whose address is in the list `place`, which NULL ends. */
static inline void ds_memory_each(ds_memory *m, size_t count, double **const *place)
{
    for (; *place != NULL; place++) {
        **place = ds_memory_doubles(m, count);
    }
}

/* Releases all allocations, also after a failure. `m` can then be used again. */
static inline void ds_memory_free(ds_memory *m)
{
    while (m->last != NULL) {
        ds_memory_block *b = m->last;
        m->last = b->before;
        free(b);
    }
    m->failed = 0;
}

#endif
