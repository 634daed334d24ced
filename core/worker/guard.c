/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c - buffers between two pages without access, with a mark before the first number. */
#include "config.h"

#include "worker/guard.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MARK_BYTES = 64, MARK = 0x5a };

int ds_guard_open(ds_guard *g, uint64_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = n * sizeof(double);
    size_t inner = (bytes + MARK_BYTES + page - 1) / page * page;
    memset(g, 0, sizeof(*g));
    void *map = mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return -1;
    }
    unsigned char *first = (unsigned char *)map + page;
    if (mprotect(first, inner, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, inner + 2 * page);
        return -1;
    }
    g->n = n;
    g->map = map;
    g->map_size = inner + 2 * page;
    g->data = (double *)(void *)(first + inner - bytes);
    memset((unsigned char *)g->data - MARK_BYTES, MARK, MARK_BYTES);
    return 0;
}

void ds_guard_close(ds_guard *g)
{
    if (g->map != NULL) {
        munmap(g->map, g->map_size);
    }
    memset(g, 0, sizeof(*g));
}

int ds_guard_intact(ds_guard *g)
{
    unsigned char *mark = (unsigned char *)g->data - MARK_BYTES;
    for (int i = 0; i < MARK_BYTES; i++) {
        if (mark[i] != MARK) {
            memset(mark, MARK, MARK_BYTES);
            return 0;
        }
    }
    return 1;
}
