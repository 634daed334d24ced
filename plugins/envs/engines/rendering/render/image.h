/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - images as arrays of doubles, [row][column][channel], row 0 on top: the mean square of a
 * difference, and bins: the tiles of an image and the boxes that reach each tile, in the order of the
 * boxes. The result of a tile depends on this order alone, so it does not depend on the number of threads. A
 * video is its frames one after the other. */
#ifndef DS_ENGINES_RENDER_IMAGE_H
#define DS_ENGINES_RENDER_IMAGE_H

#include "engines/rendering/render/kernels.h"

#include <stddef.h>
#include <stdint.h>

/* Mean of (a - b)^2 over n numbers: the loss of an image or a video. */
double image_mean_square(size_t n, const double *a, const double *b);

/* ---- tiles ---- */

typedef struct render_bins {
    uint32_t size, columns, rows, tiles; /* of the image in pixels; tiles across, down, in total */
    double *center;                      /* of the pixels, padded to whole tiles */
    size_t *start;                       /* tiles + 1 */
    uint32_t *item;                      /* start[tiles] */
    size_t room;                         /* capacity of item */
} render_bins;

/* Returns 0 without memory; bins_close() then releases what there is. */
int bins_open(render_bins *b, uint32_t size);
void bins_close(render_bins *b);
size_t bins_memory(const render_bins *b);

/* The box of pixels with centres in [x0, x1] x [y0, y1] of the image plane; may be empty. */
render_box bins_box(uint32_t size, const double x[2], const double y[2]);
static inline int bins_empty(const render_box *box)
{
    return box->column[0] > box->column[1] || box->row[0] > box->row[1];
}

/* Sorts n boxes, `stride` bytes apart, into the tiles. Returns 0 without memory. */
int bins_fill(render_bins *b, size_t n, const render_box *box, size_t stride);

/* An array with `size` bytes for each box in each tile, in the order of item. Returns `pair` if its room of
 * *pairs is enough; else frees it and returns a new array of zeros with its room in *pairs. NULL with *pairs
 * 0 without memory or boxes. */
void *bins_pairs(const render_bins *b, void *pair, size_t *pairs, size_t size);
/* Is there room for all boxes? */
static inline int bins_fit(const render_bins *b, size_t pairs)
{
    return b->start[b->tiles] <= pairs;
}

render_tile bins_tile(const render_bins *b, uint32_t tile);

#endif
