/* SPDX-License-Identifier: Apache-2.0 */
/* view_pack.h - the positions of a scene as small texts for a page: 16-bit numbers, differences,
 * zlib, base64. */
#ifndef DS_VIEW_VIEW_PACK_H
#define DS_VIEW_VIEW_PACK_H

#include <stdio.h>

#include "snapshot/snapshot.h"

/* The kept frames that are shown, ascending, the last one among them. */
typedef struct ds_pack_frames {
    uint64_t *kept;
    uint64_t count;
} ds_pack_frames;

/* Each `every`-th kept frame and the last one; 0 = as many as a page may have: at most DS_PACK_FRAMES, and
 * DS_PACK_NUMBERS positions in all of the `episodes` of the page. out->kept is to be freed. DS_EXIT_MEMORY
 * on failure. */
#define DS_PACK_FRAMES 2001
#define DS_PACK_NUMBERS ((uint64_t)24000000)
int ds_pack_frames_choose(const ds_snapshot *s, uint64_t every, size_t episodes, ds_pack_frames *out,
                          ds_error *e);

/* How the numbers of a body are written. A position or pose component v is the whole number q of 0..65534
 * with v = low + q * (high - low) / 65534, to half a step. An element that has a number which is not finite,
 * or lies farther than 50 diagonals from the box, is DS_PACK_NOTHING in all components: it is not drawn. */
enum { DS_PACK_LEVELS = 65534, DS_PACK_NOTHING = 65535 };
typedef struct ds_pack_range {
    uint64_t frames; /* 1 where all of the frames are equal to the first, else their number */
    double low[7], high[7];
} ds_pack_range;
void ds_pack_measure(const ds_snapshot *s, uint64_t b, const ds_pack_frames *frames, ds_pack_range *out);

/* Writes the block of a body: base64 of a zlib stream of, frame by frame, all components of the first kind
 * (x), then of the second, ... of all elements, as differences modulo 65536 to the frame before (in the first
 * one to the element before, that of the first element being 0), d >= 0 as 2 d and d < 0 as -2 d - 1; the
 * lower bytes of all, then the upper ones. Memory does not depend on the number of frames. DS_EXIT_MEMORY on
 * failure; what happens to `f` is the caller's to look at. */
int ds_pack_positions(FILE *f, const ds_snapshot *s, uint64_t b, const ds_pack_frames *frames,
                      const ds_pack_range *range, ds_error *e);

/* The same of the numbers of vertices of a mesh or of lines: 32-bit differences to the number before, in four
 * planes of bytes, the lowest first. */
int ds_pack_index(FILE *f, const ds_snapshot_body *body, ds_error *e);

#endif
