/* SPDX-License-Identifier: Apache-2.0 */
/* What a segment starts from, for the way back: x and f before the last move of the segment before and the
 * grid that moved them, because velocities and moments are many numbers and one gather gives them again. */
#include "engine_internal.h"

#include <string.h>

static size_t x_bytes(const mpm_fast *f)
{
    return f->padded * 4 * f->kernels->real;
}

static size_t f_bytes(const mpm_fast *f)
{
    return f->gradients * f->kernels->real;
}

static size_t grid_bytes(const mpm_fast *f, const mpm_box *box)
{
    return box->nodes * 4 * f->kernels->real + MPM_ROOM;
}

size_t mpm_checkpoint_bytes(const mpm_fast *f, const mpm_box *before)
{
    return x_bytes(f) + f_bytes(f) + grid_bytes(f, before);
}

mpm_result mpm_fast_keep_start(mpm_fast *f, uint32_t index)
{
    mpm_segment *s = &f->segments[index];
    const mpm_box *before = index > 0 ? &s[-1].box : NULL;
    if (!mpm_buffer_reserve(&s->start, before ? mpm_checkpoint_bytes(f, before) : f->state.bytes)) {
        return MPM_NO_MEMORY;
    }
    char *at = s->start.at;
    if (!before) {
        memcpy(at, f->state.at, f->state.bytes);
        return MPM_OK;
    }
    mpm_fast_copy(f, at, f->now.x, x_bytes(f));
    mpm_fast_copy(f, at + x_bytes(f), f->now.f, f_bytes(f));
    mpm_fast_copy(f, at + x_bytes(f) + f_bytes(f), f->velocity.at, grid_bytes(f, before));
    return MPM_OK;
}

bool mpm_fast_take_start(mpm_fast *f, uint32_t index, mpm_fields *moved, const void **velocity)
{
    char *at = f->segments[index].start.at;
    if (index == 0) {
        memcpy(f->state.at, at, f->state.bytes);
        return true;
    }
    moved->x = at;
    moved->f = at + x_bytes(f);
    *velocity = at + x_bytes(f) + f_bytes(f);
    return false;
}
