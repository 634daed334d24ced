/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and clears large pieces of memory, the team together: between two segments the others would fall
 * asleep over what one thread does alone. */
#include "engine_internal.h"

#include <string.h>

enum { SLICES = 8, LEAST = 65536 };

typedef struct piece {
    char *to;
    const char *from; /* NULL: zeros */
    size_t bytes;
} piece;

static void do_slice(void *context, int task, int member)
{
    const piece *p = context;
    size_t slice = (p->bytes / SLICES + 64) / 64 * 64, at = slice * (size_t)task;
    (void)member;
    if (at < p->bytes) {
        size_t bytes = p->bytes - at < slice ? p->bytes - at : slice;
        if (p->from) {
            memcpy(p->to + at, p->from + at, bytes);
        } else {
            memset(p->to + at, 0, bytes);
        }
    }
}

static void do_piece(const mpm_fast *f, piece p)
{
    if (p.bytes >= LEAST) {
        kit_team_run(f->team, do_slice, &p, SLICES);
    } else if (p.from) {
        memcpy(p.to, p.from, p.bytes);
    } else {
        memset(p.to, 0, p.bytes);
    }
}

void mpm_fast_copy(const mpm_fast *f, void *to, const void *from, size_t bytes)
{
    do_piece(f, (piece){.to = to, .from = from, .bytes = bytes});
}

void mpm_fast_clear(const mpm_fast *f, void *at, size_t bytes)
{
    do_piece(f, (piece){.to = at, .bytes = bytes});
}
