/* SPDX-License-Identifier: Apache-2.0 */
/* bins.h - the tiles of an image, and which boxes reach each of them, in the order of the boxes. What is
 * computed for a tile depends on this order alone, so results do not depend on the number of threads. */
#ifndef DS_ENGINES_RENDER_BINS_H
#define DS_ENGINES_RENDER_BINS_H

#include "kernels/kernels.h"

typedef struct render_bins {
    uint32_t size, columns, rows, tiles; /* of the image in pixels; tiles across, down, all */
    double *center;                      /* of the pixels, up to a whole number of tiles */
    size_t *start;                       /* tiles + 1 */
    uint32_t *item;                      /* start[tiles] */
    size_t room;                         /* of item */
} render_bins;

/* 0 without memory; then, as later, bins_close() releases what there is. */
int bins_open(render_bins *b, uint32_t size);
void bins_close(render_bins *b);
size_t bins_memory(const render_bins *b);

/* The box of pixels whose centres lie in [x0, x1] x [y0, y1] of the image plane; empty where there are
 * none. */
render_box bins_box(uint32_t size, const double x[2], const double y[2]);
static inline int bins_empty(const render_box *box)
{
    return box->column[0] > box->column[1] || box->row[0] > box->row[1];
}

/* Sorts n boxes, `stride` bytes apart, into the tiles. 0 without memory. */
int bins_fill(render_bins *b, size_t n, const render_box *box, size_t stride);

/* An array with `size` bytes for each box in each tile, in the order of item: `pair`, which has room for
 * *pairs of them, or in its place another one of zeros, *pairs being its room. NULL, and *pairs 0, without
 * memory or where it is not needed. */
void *bins_pairs(const render_bins *b, void *pair, size_t *pairs, size_t size);
/* Is there room for all? */
static inline int bins_fit(const render_bins *b, size_t pairs)
{
    return b->start[b->tiles] <= pairs;
}

render_tile bins_tile(const render_bins *b, uint32_t tile);

#endif
