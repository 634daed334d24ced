/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes the fast engine holds. */
#include "engine_internal.h"

size_t mpm_segment_bytes(const mpm_segment *s)
{
    return s->order.bytes + s->start.bytes + mpm_grid_history_bytes(&s->grid) +
           mpm_history_bytes(&s->history);
}

size_t mpm_fast_memory(const mpm_fast *f)
{
    size_t bytes = f->slabs.bytes + f->scratch.bytes + f->work.bytes + f->bars.bytes + f->loose.bytes +
                   f->state.bytes + f->velocity.bytes + f->other_velocity.bytes + f->node_bar.bytes +
                   f->sorting.bytes + mpm_history_bytes(&f->shared) + mpm_grid_history_bytes(&f->shared_grid);
    for (uint32_t s = 0; s < f->segment_capacity; s++) {
        bytes += mpm_segment_bytes(&f->segments[s]);
    }
    return bytes;
}
