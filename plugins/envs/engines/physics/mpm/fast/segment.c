/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, order and box of a segment. */
#include "segment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large buffers begin with pages of this size where the system has such: less time to get them, and to
 * find addresses in them. */
static const size_t huge_page = 2097152;

bool mpm_buffer_reserve(mpm_buffer *b, size_t bytes)
{
    if (bytes <= b->bytes) {
        return true;
    }
    mpm_buffer_free(b);
    bytes = (bytes + 4095) / 4096 * 4096;
    bool huge = bytes >= 2 * huge_page;
    b->at = NULL;
    if (posix_memalign(&b->at, huge ? huge_page : 4096, bytes) != 0) {
        b->at = NULL;
    }
#if defined(MADV_HUGEPAGE)
    if (b->at && huge) {
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

/* Floats per particle without F: x, v, three moments (4 each). */
enum { FIELD_FLOATS = 4 + 4 + 12 };

size_t mpm_fields_bytes(const mpm_kernels *k, size_t padded, size_t gradients)
{
    return (padded * FIELD_FLOATS + gradients) * k->real;
}

mpm_fields mpm_fields_in(const mpm_kernels *k, size_t padded, void *at)
{
    char *bytes = at;
    size_t quads = padded * 4 * k->real;
    mpm_fields f = {.x = bytes, .v = bytes + quads, .m = bytes + 2 * quads, .f = bytes + 5 * quads};
    return f;
}

bool mpm_history_reserve(mpm_history *h, const mpm_kernels *k, size_t padded, size_t gradients,
                         uint32_t substeps)
{
    h->complete = false;
    return mpm_buffer_reserve(&h->x, substeps * padded * 4 * k->real) &&
           mpm_buffer_reserve(&h->f, substeps * gradients * k->real);
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

bool mpm_grid_history_reserve(mpm_grid_history *h, uint32_t substeps)
{
    bool done = mpm_buffer_reserve(&h->starts, 2 * MPM_PLANE_TASKS * (substeps + (size_t)1) * sizeof(size_t));
    size_t *starts = h->starts.at;
    for (size_t t = 0; done && t < MPM_PLANE_TASKS; t++) {
        h->struck[t].start = starts + 2 * t * (substeps + (size_t)1);
        h->struck[t].count = 0;
        h->velocity[t].start = starts + (2 * t + 1) * (substeps + (size_t)1);
        h->velocity[t].used = 0;
    }
    h->complete = false;
    return done;
}

size_t mpm_packed_plane(const mpm_kernels *k, const mpm_box *box)
{
    return (size_t)box->stride_x * 4 * k->real + ((size_t)box->size[1] + 8) * sizeof(mpm_span);
}

bool mpm_packed_reserve(mpm_packed *p, size_t bytes, uint32_t local, uint32_t substeps)
{
    if (p->used + bytes <= p->buffer.bytes) {
        return true;
    }
    mpm_buffer grown = {0};
    size_t foreseen = local > 0 && substeps > local ? p->used / local * (substeps - local) : 0;
    if (!mpm_buffer_reserve(&grown, p->used + bytes + foreseen + foreseen / 32)) {
        return false;
    }
    if (p->used > 0) {
        memcpy(grown.at, p->buffer.at, p->used);
    }
    mpm_buffer_free(&p->buffer);
    p->buffer = grown;
    return true;
}

void mpm_grid_history_free(mpm_grid_history *h)
{
    mpm_buffer_free(&h->starts);
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        mpm_buffer_free(&h->velocity[t].buffer);
        free(h->struck[t].nodes);
    }
    memset(h, 0, sizeof *h);
}

size_t mpm_grid_history_bytes(const mpm_grid_history *h)
{
    size_t bytes = h->starts.bytes;
    for (int t = 0; t < MPM_PLANE_TASKS; t++) {
        bytes += h->velocity[t].buffer.bytes + h->struck[t].capacity * sizeof(mpm_struck);
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
