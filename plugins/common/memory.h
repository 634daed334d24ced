/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - arrays that are released together. The first that cannot be had is noted in `failed`: take all
 * of them, then look once. */
#ifndef DS_COMMON_MEMORY_H
#define DS_COMMON_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct memory_block {
    struct memory_block *before;
    max_align_t data[];
} memory_block;

typedef struct memory {
    memory_block *last;
    int failed;
} memory;

/* `count` elements of `size` bytes, all 0; NULL without memory. */
static inline void *memory_take(memory *m, size_t count, size_t size)
{
    memory_block *b = count <= (SIZE_MAX - sizeof *b) / size ? calloc(1, sizeof *b + count * size) : NULL;
    if (!b) {
        m->failed = 1;
        return NULL;
    }
    b->before = m->last;
    m->last = b;
    return b->data;
}

static inline double *memory_doubles(memory *m, size_t count)
{
    return memory_take(m, count, sizeof(double));
}

/* `count` doubles for each of these places; NULL ends the list. */
static inline void memory_each(memory *m, size_t count, double **const *place)
{
    for (; *place; place++) {
        **place = memory_doubles(m, count);
    }
}

/* Releases all, also after a failure; then it can be used again. */
static inline void memory_free(memory *m)
{
    while (m->last) {
        memory_block *b = m->last;
        m->last = b->before;
        free(b);
    }
    m->failed = 0;
}

#endif
