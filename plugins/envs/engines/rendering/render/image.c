/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - the mean square difference of images, boxes sorted into tiles by counting, and the
 * choice of the kernels. */
#include "engines/rendering/render/image.h"

#include "common/isa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Eight independent sums, so that additions need not wait for each other, added in a fixed order. */
enum { SUMS = 8 };

double image_mean_square(size_t n, const double *a, const double *b)
{
    double sum[SUMS] = {0}, all = 0;
    size_t i = 0;
    for (; i + SUMS <= n; i += SUMS) {
        for (size_t k = 0; k < SUMS; k++) {
            double d = a[i + k] - b[i + k];
            sum[k] += d * d;
        }
    }
    for (; i < n; i++) {
        sum[i % SUMS] += (a[i] - b[i]) * (a[i] - b[i]);
    }
    for (size_t k = 0; k < SUMS; k++) {
        all += sum[k];
    }
    return all / (double)n;
}

/* ---- tiles ---- */

int bins_open(render_bins *b, uint32_t size)
{
    *b = (render_bins){.size = size,
                       .columns = (size + TILE_COLUMNS - 1) / TILE_COLUMNS,
                       .rows = (size + TILE_ROWS - 1) / TILE_ROWS};
    b->tiles = b->columns * b->rows;
    const uint32_t padded = size + TILE_ROWS + TILE_COLUMNS;
    b->center = calloc(padded, sizeof *b->center);
    b->start = calloc(b->tiles + (size_t)1, sizeof *b->start);
    for (uint32_t i = 0; b->center && i < padded; i++) {
        b->center[i] = (2.0 * i + 1 - size) / size;
    }
    return b->center && b->start;
}

void bins_close(render_bins *b)
{
    free(b->center);
    free(b->start);
    free(b->item);
    *b = (render_bins){.size = 0};
}

size_t bins_memory(const render_bins *b)
{
    return (b->size + TILE_ROWS + TILE_COLUMNS) * sizeof *b->center +
           (b->tiles + (size_t)1) * sizeof *b->start + b->room * sizeof *b->item;
}

/* v truncated to a whole number in [low, high]. */
static int32_t between(double v, int32_t low, int32_t high)
{
    return !(v > low) ? low : v >= high ? high : (int32_t)v; /* low for NaN */
}

render_box bins_box(uint32_t size, const double x[2], const double y[2])
{
    const double half = 0.5 * size, middle = 0.5 * (size - 1.0);
    const int32_t end = (int32_t)size;
    return (render_box){
        .column = {between(ceil(middle + half * x[0]), 0, end),
                   between(floor(middle + half * x[1]), -1, end - 1)},
        .row = {between(ceil(middle - half * y[1]), 0, end),
                between(floor(middle - half * y[0]), -1, end - 1)},
    };
}

static const render_box *box_at(const render_box *box, size_t stride, size_t i)
{
    return (const render_box *)(const void *)((const char *)box + i * stride);
}

/* Counts the boxes of each tile, or writes their indices to the places `at`. */
static void enter(const render_bins *b, size_t n, const render_box *box, size_t stride, size_t *at,
                  uint32_t *item)
{
    for (size_t i = 0; i < n; i++) {
        const render_box *k = box_at(box, stride, i);
        if (bins_empty(k)) {
            continue;
        }
        for (int32_t r = k->row[0] / TILE_ROWS; r <= k->row[1] / TILE_ROWS; r++) {
            for (int32_t c = k->column[0] / TILE_COLUMNS; c <= k->column[1] / TILE_COLUMNS; c++) {
                size_t *place = at + (uint32_t)r * b->columns + (uint32_t)c;
                if (item) {
                    item[*place] = (uint32_t)i;
                }
                ++*place;
            }
        }
    }
}

static int make_room(render_bins *b, size_t items)
{
    if (items > b->room) {
        free(b->item);
        b->room = 0;
        b->item = calloc(items + items / 4, sizeof *b->item);
        if (!b->item) {
            return 0;
        }
        b->room = items + items / 4;
    }
    return 1;
}

int bins_fill(render_bins *b, size_t n, const render_box *box, size_t stride)
{
    memset(b->start, 0, (b->tiles + (size_t)1) * sizeof *b->start);
    enter(b, n, box, stride, b->start + 1, NULL);
    for (size_t t = 0; t < b->tiles; t++) {
        b->start[t + 1] += b->start[t];
    }
    if (!make_room(b, b->start[b->tiles])) {
        return 0;
    }
    /* Entering moved each start to the start of the next tile: move them back. */
    enter(b, n, box, stride, b->start, b->item);
    memmove(b->start + 1, b->start, b->tiles * sizeof *b->start);
    b->start[0] = 0;
    return 1;
}

void *bins_pairs(const render_bins *b, void *pair, size_t *pairs, size_t size)
{
    if (bins_fit(b, *pairs)) {
        return pair;
    }
    free(pair);
    pair = calloc(b->room, size);
    *pairs = pair != NULL ? b->room : 0;
    return pair;
}

render_tile bins_tile(const render_bins *b, uint32_t tile)
{
    return (render_tile){.column = tile % b->columns * TILE_COLUMNS,
                         .row = tile / b->columns * TILE_ROWS,
                         .center = b->center,
                         .item = b->item ? b->item + b->start[tile] : NULL,
                         .items = b->start[tile + 1] - b->start[tile]};
}

/* ---- kernels of an instruction set ---- */

extern const render_kernels render_kernels_baseline, render_kernels_avx2, render_kernels_avx512;

const render_kernels *render_kernels_find(const char *isa)
{
    static const render_kernels *const variant[] = ISA_VARIANTS(render_kernels, NULL);
    const int found = isa_choose(isa);
    return found >= 0 ? variant[found] : NULL;
}
