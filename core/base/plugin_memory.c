/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_memory.c - guarded buffers for plugins, and structs of other versions of the interface. */
#include "config.h"

#include "base/plugin_memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NEAR = 64 /* marks that are checked often */ };

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int ds_guard_open(ds_guard *g, uint64_t n, int at_end)
{
    size_t page = page_size(), bytes = n * sizeof(double);
    size_t inner = (bytes + NEAR + page - 1) / page * page;
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
    g->data = (double *)(void *)(first + (at_end ? inner - bytes : 0));
    memset(at_end ? first : first + bytes, DS_GUARD_MARK, inner - bytes);
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
    unsigned char *mark = (unsigned char *)g->data - NEAR;
    unsigned wrong = 0;
    for (int i = 0; i < NEAR; i++) {
        wrong |= mark[i] ^ DS_GUARD_MARK;
    }
    if (wrong != 0) {
        memset(mark, DS_GUARD_MARK, NEAR);
    }
    return wrong == 0;
}

const unsigned char *ds_guard_breach(const ds_guard *g)
{
    const unsigned char *data = (const unsigned char *)g->data, *behind = data + g->n * sizeof(double);
    const unsigned char *end = g->map + g->map_size - page_size();
    for (const unsigned char *p = g->map + page_size(); p < end; p++) {
        if ((p < data || p >= behind) && *p != DS_GUARD_MARK) {
            return p;
        }
    }
    return NULL;
}

void ds_guard_readonly(ds_guard *g, int on)
{
    mprotect(g->map + page_size(), g->map_size - 2 * page_size(), on ? PROT_READ : PROT_READ | PROT_WRITE);
}

/* ---- structs of other versions ---- */

int ds_sized_read(void *own, size_t size, const void *theirs, size_t said, size_t least, const char *where,
                  const char *what, ds_error *e)
{
    const char *colon = where[0] != '\0' ? ": " : "";
    memset(own, 0, size);
    if (theirs == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s%s%s is missing: the pointer to it is NULL", where, colon, what);
    }
    if (said < least || said > DS_SIZE_MAX) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s%s%s: struct_size is %zu, %zu to %d are possible: set it to the sizeof of the type",
                       where, colon, what, said, least, DS_SIZE_MAX);
    }
    memcpy(own, theirs, said < size ? said : size);
    return 0;
}
