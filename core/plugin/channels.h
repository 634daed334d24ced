/* SPDX-License-Identifier: Apache-2.0 */
/* channels.h - what an environment offers besides its loss: channels, queries about them, scores of noise on
 * actions, and hook points.
 *
 * The texts of a channel travel between processes next to its numbers, so an entry holds copies of them. A
 * channel whose role, type or shape this host does not know stays in the list, so that numbers of channels
 * keep their meaning, but allows no queries. */
#ifndef DS_PLUGIN_CHANNELS_H
#define DS_PLUGIN_CHANNELS_H

#include <diffsim/ext/channel.h>
#include <diffsim/ext/draft/hooks.h>
#include <diffsim/ext/draft/score.h>

#include "base/answer.h"
#include "base/error.h"
#include "base/text.h"

/* ---- channels ---- */

typedef struct ds_channel_entry {
    ds_channel c; /* its texts point to those below */
    char name[DS_MAX_NAME + 1], unit[40], doc[200];
} ds_channel_entry;

typedef struct ds_channels {
    uint64_t count;
    ds_channel_entry *entry;
    const ds_channel **list; /* the same channels, as optimizers get them */
} ds_channels;

/* Reads the table `theirs` of plugin `id` and all channels of its instance, and tests them. Returns 0, or
 * DS_EXIT_PLUGIN and one line. */
int ds_channels_read(const char *id, const ds_env_channels *theirs, void *self, ds_channels *out,
                     ds_error *e);

/* Makes the list from entries that another process sent, and owns them from then on. Trusts nothing in them.
 */
int ds_channels_receive(const char *id, ds_channel_entry *entry, uint64_t count, ds_channels *out,
                        ds_error *e);
void ds_channels_clear(ds_channels *c);

/* "residual", "constraint", ...; "channel" for an unknown role. */
const char *ds_channel_role_name(uint32_t role);

/* Number of the channel of a role that may occur once; `count` where there is none. */
uint64_t ds_channels_find(const ds_channels *c, uint32_t role);

/* Elements of the residual channel; 0 where there is none. */
uint64_t ds_channels_residuals(const ds_channels *c);

/* Do two processes describe the same channels? */
int ds_channels_equal(const ds_channels *a, const ds_channels *b);

/* ---- queries ---- */

/* One query, and where its numbers lie among those of its row. */
typedef struct ds_placed_query {
    uint32_t op, channel, weighted; /* weighted: HV with weights */
    uint32_t reserved;
    uint64_t v, v_count; /* doubles of `in` */
    uint64_t w, w_count; /* doubles of `in` */
    uint64_t out, bytes; /* of the result: offset in words of 8 bytes, size in bytes */
    uint64_t elements;   /* numbers of the result */
} ds_placed_query;

/* The queries of one row: any number of values, then at most one product. */
typedef struct ds_query_layout {
    uint32_t count;
    uint32_t product; /* 1 = the last query is a product */
    uint64_t in;      /* doubles that go into a row */
    uint64_t out;     /* words of 8 bytes that a row returns */
    uint64_t values;  /* how many of these words are values; they come first */
    ds_placed_query query[DS_MAX_QUERIES];
} ds_query_layout;

enum { DS_QUERY_TEXT = 200 };

/* Lays out queries whose op, channel and weighted are set, and sorts them: values first. `place` (may be
 * NULL) gets the new position of each query. Returns 0, or -1 and the reason in `text`: the channel does not
 * list the operation, a query occurs twice, or there are two products. */
int ds_query_layout_make(ds_query_layout *a, const ds_channels *channels, uint64_t n, uint32_t *place,
                         char text[DS_QUERY_TEXT]);

/* The most room that queries of one row can take: doubles of `in`, words of `out`. */
void ds_query_layout_room(const ds_channels *channels, uint64_t n, uint64_t *in, uint64_t *out);

/* The queries of one row with their numbers: `in` as laid out, `out` to fill. */
typedef struct ds_query_io {
    const ds_query_layout *queries;
    const double *in;
    void *out;
} ds_query_io;

/* Tests the results that the plugin wrote; kind[i stride] says how it computed result i. Zeroes the part of
 * `out` that holds no result. */
void ds_query_check(const ds_channels *channels, const ds_query_io *q, const uint32_t *kind, uint64_t stride,
                    ds_answer *answer);

/* ---- score of noise on the actions of a policy (diffsim/ext/draft/score.h) ---- */

/* Copies the table of an instance of plugin `id` (NULL: it has none, info->noise becomes 0) into *own and
 * reads what it draws. Returns 0, or DS_EXIT_PLUGIN and one line. */
int ds_score_accept(const char *id, const ds_env_score *table, void *self, ds_env_score *own,
                    ds_score_info *info, ds_error *e);

/* Could these numbers, which another process sent, have been accepted? */
int ds_score_credible(const ds_score_info *info);

/* Makes the query for the score of an episode with n variables. `in` holds sigma (0 = that of the instance);
 * `out` gets n values of the score, then the baseline, if `baseline` is set. It is the only query of its row.
 */
void ds_score_query(ds_query_layout *a, uint64_t n, int baseline);

/* Is this the query for the score? Does it request the baseline? */
int ds_score_is_queried(const ds_query_layout *a);
int ds_score_wants_baseline(const ds_query_layout *a);

/* Raises the room of a row, from ds_query_layout_room(), so that a score fits. */
void ds_score_room(const ds_score_info *info, uint64_t n, uint64_t *in, uint64_t *out);

/* ---- hook points (diffsim/ext/draft/hooks.h) ---- */

typedef struct ds_hook_entry {
    uint32_t kind; /* DS_HOOK_* */
    uint32_t count;
    char name[DS_MAX_NAME + 1], unit[32], doc[152];
} ds_hook_entry;

/* By value, so that they can travel between processes. count 0 = none. */
typedef struct ds_hooks {
    uint64_t count;
    ds_hook_entry entry[DS_MAX_HOOKS];
} ds_hooks;

/* Reads the table `theirs` of plugin `id` and the hook points of its instance, and tests them. Returns 0, or
 * DS_EXIT_PLUGIN and one line. */
int ds_hooks_read(const char *id, const ds_env_hooks *theirs, void *self, ds_hooks *out, ds_error *e);

/* Makes hook points that another process sent safe to show. */
void ds_hooks_tidy(ds_hooks *h);

/* "input" or "output". */
const char *ds_hook_kind_name(uint32_t kind);

#endif
