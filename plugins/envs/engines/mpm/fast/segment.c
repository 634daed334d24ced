/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, order and box of a segment. */
#include "segment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Buffers of this size and more are whole pages of it where the system has such: less time to get them, and to find
 * addresses in them. */
static const size_t huge_page = 2097152;

bool mpm_buffer_reserve(mpm_buffer *b, size_t bytes)
{
    if (bytes <= b->bytes) {
        return true;
    }
    mpm_buffer_free(b);
    size_t page = bytes >= huge_page ? huge_page : 4096;
    bytes = (bytes + page - 1) / page * page;
    b->at = aligned_alloc(page, bytes);
#if defined(MADV_HUGEPAGE)
    if (b->at && page == huge_page) {
        (void)madvise(b->at, bytes, MADV_HUGEPAGE); /* refused: ordinary pages do as well */
    }
#endif
    b->bytes = b->at ? bytes : 0;
    return b->at != NULL;
}

void mpm_buffer_free(mpm_buffer *b)
{
    free(b->at);
    memset(b, 0, sizeof *b);
}

/* Floats per particle: x, v, three moments (4 each), F. */
enum { FIELD_FLOATS = 4 + 4 + 12 + 9 };

size_t mpm_fields_bytes(const mpm_kernels *k, size_t padded)
{
    return padded * FIELD_FLOATS * k->real;
}

mpm_fields mpm_fields_in(const mpm_kernels *k, size_t padded, void *at)
{
    char *bytes = at;
    size_t quads = padded * 4 * k->real;
    mpm_fields f = {.x = bytes, .v = bytes + quads, .m = bytes + 2 * quads, .f = bytes + 5 * quads};
    return f;
}

bool mpm_history_reserve(mpm_history *h, const mpm_kernels *k, size_t padded, uint32_t substeps)
{
    size_t particle = substeps * padded * k->real;
    h->complete = false;
    return mpm_buffer_reserve(&h->x, 4 * particle) && mpm_buffer_reserve(&h->f, 9 * particle);
}

void mpm_history_free(mpm_history *h)
{
    mpm_buffer_free(&h->x);
    mpm_buffer_free(&h->f);
}

size_t mpm_history_bytes(const mpm_history *h)
{
    return h->x.bytes + h->f.bytes;
}

bool mpm_grid_history_reserve(mpm_grid_history *h, const mpm_kernels *k, const mpm_box *box, uint32_t substeps)
{
    bool done = mpm_buffer_reserve(&h->velocity, substeps * box->nodes * 4 * k->real + MPM_ROOM) &&
                mpm_buffer_reserve(&h->starts, MPM_PLANE_TASKS * (substeps + (size_t)1) * sizeof(size_t));
    for (size_t t = 0; done && t < MPM_PLANE_TASKS; t++) {
        h->struck[t].start = (size_t *)h->starts.at + t * (substeps + (size_t)1);
        h->struck[t].count = 0;
    }
    h->complete = false;
    return done;
}

void mpm_grid_history_free(mpm_grid_history *h)
{
    mpm_buffer_free(&h->velocity);
    mpm_buffer_free(&h->starts);
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        free(h->struck[t].nodes);
    }
    memset(h, 0, sizeof *h);
}

size_t mpm_grid_history_bytes(const mpm_grid_history *h)
{
    size_t bytes = h->velocity.bytes + h->starts.bytes;
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        bytes += h->struck[t].capacity * sizeof(mpm_struck);
    }
    return bytes;
}

void mpm_sort_by_cell(const int16_t *base, uint32_t n, const int low[3], const int high[3], uint32_t *keys,
                      uint32_t *counts, uint32_t *order)
{
    uint32_t ny = (uint32_t)(high[1] - low[1] + 1), nz = (uint32_t)(high[2] - low[2] + 1);
    uint32_t cells = (uint32_t)(high[0] - low[0] + 1) * ny * nz;
    memset(counts, 0, (cells + (size_t)1) * sizeof *counts);
    for (uint32_t p = 0; p < n; p++) {
        const int16_t *own = base + 3 * (size_t)p;
        uint32_t x = (uint32_t)(own[0] - low[0]), y = (uint32_t)(own[1] - low[1]);
        keys[p] = (x * ny + y) * nz + (uint32_t)(own[2] - low[2]);
        counts[keys[p] + 1]++;
    }
    for (uint32_t c = 0; c < cells; c++) {
        counts[c + 1] += counts[c];
    }
    for (uint32_t p = 0; p < n; p++) {
        order[counts[keys[p]]++] = p;
    }
}

mpm_box mpm_box_make(const int low[3], const int high[3], int quads)
{
    mpm_box box;
    for (int d = 0; d < 3; d++) {
        box.lower[d] = low[d];
        box.size[d] = high[d] - low[d] + 3;
    }
    box.stride_y = box.size[2];
    box.stride_x = (box.size[1] * box.size[2] + quads - 1) / quads * quads;
    box.nodes = (size_t)box.size[0] * (size_t)box.stride_x;
    return box;
}
