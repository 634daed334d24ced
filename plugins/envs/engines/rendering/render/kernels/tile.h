/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h - which pixels of a tile a box reaches, in vectors of columns. */
#ifndef DS_ENGINES_RENDER_TILE_H
#define DS_ENGINES_RENDER_TILE_H

#include "kernels.h"

#include "common/vector.h"

/* Rows and vectors of columns of a tile that a box reaches: first and one past the last. */
typedef struct span {
    size_t row[2], part[2];
} span;

VEC_INLINE span span_of(const render_box *box, const render_tile *tile)
{
    const int32_t c0 = box->column[0] - (int32_t)tile->column, c1 = box->column[1] - (int32_t)tile->column;
    const int32_t r0 = box->row[0] - (int32_t)tile->row, r1 = box->row[1] - (int32_t)tile->row;
    return (span){
        .row = {r0 > 0 ? (size_t)r0 : 0, r1 < TILE_ROWS ? (size_t)r1 + 1 : TILE_ROWS},
        .part = {c0 > 0 ? (size_t)c0 / VECTOR_LANES : 0,
                 (c1 < TILE_COLUMNS ? (size_t)c1 : TILE_COLUMNS - 1) / VECTOR_LANES + 1},
    };
}

/* Where the pixels are whose first is `i` of the tile. */
VEC_INLINE vec pixels_x(const render_tile *tile, size_t part)
{
    return vec_load(tile->center + tile->column + part * VECTOR_LANES);
}

VEC_INLINE vec pixels_y(const render_tile *tile, size_t row)
{
    return vec_all(-tile->center[tile->row + row]);
}

#endif
