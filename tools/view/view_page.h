/* SPDX-License-Identifier: Apache-2.0 */
/* view_page.h - episodes as one interactive HTML page that needs no other file and no network. */
#ifndef DS_VIEW_VIEW_PAGE_H
#define DS_VIEW_VIEW_PAGE_H

#include "snapshot/snapshot.h"
#include "view/view.h"

#include <stdio.h>

/* ---- positions of a scene as text: 16-bit numbers, differences, zlib, base64 ---- */

/* The kept frames that are shown, ascending, including the last one. */
typedef struct ds_pack_frames {
    uint64_t *kept;
    uint64_t count;
} ds_pack_frames;

/* Chooses every `every`-th kept frame and the last one; 0 = as many as a page may have: at most
 * DS_PACK_FRAMES, and DS_PACK_NUMBERS positions in all `episodes`. out->kept is to be freed. DS_EXIT_MEMORY
 * on failure. */
#define DS_PACK_FRAMES 2001
#define DS_PACK_NUMBERS ((uint64_t)24000000)
int ds_pack_frames_choose(const ds_snapshot *s, uint64_t every, size_t episodes, ds_pack_frames *out,
                          ds_error *e);

/* Encoding: a position or pose component v is the whole number q of 0..65534 with v = low + q * (high - low)
 * / 65534, to half a step. An element with a number that is not finite, or farther than 50 diagonals from the
 * box, is DS_PACK_NOTHING in all components and not drawn. */
enum { DS_PACK_LEVELS = 65534, DS_PACK_NOTHING = 65535 };
typedef struct ds_pack_range {
    uint64_t frames; /* 1 if all frames equal the first, else their number */
    double low[7], high[7];
} ds_pack_range;

/* The writer of .html. A script draws the episodes side by side with WebGL and plays them in step; if it
 * cannot, a still image of each is shown with an explanation. A Content-Security-Policy permits only that
 * script, by its SHA-256, and no loading; names of episodes are text. docs/view.md describes the format. */
ds_view_write ds_view_page;

/* The same to a stream; the caller checks that all of it was written. */
int ds_view_page_put(FILE *f, const ds_view_episodes *episodes, ds_error *e);

/* ---- files of tools/view/page/ as lines, ended by NULL, and SHA-256 sums ---- */

extern const char *const ds_page_episodes_html[];
extern const char *const ds_page_episodes_css[];
extern const char *const ds_page_episodes_js[];
extern const char *const ds_page_live_html[];
extern const char *const ds_page_live_css[];
extern const char *const ds_page_live_js[];

/* 'sha256-...' of a script or style element that contains a line end, the lines with their line ends, and a
 * line end. */
extern const char ds_page_episodes_js_sum[];
extern const char ds_page_episodes_css_sum[];
extern const char ds_page_live_js_sum[];
extern const char ds_page_live_css_sum[];

#endif
