/* SPDX-License-Identifier: Apache-2.0 */
/* channels.h - the channels of an environment as the host keeps them, and questions about them: what goes
 * into one and what comes out, packed for one row.
 *
 * The texts of a channel travel between processes beside its numbers, so an entry holds copies of them. The
 * numbers keep their places: a channel of a role, type or shape that is not known stays in the list, but
 * nothing can be asked of it.
 */
#ifndef DS_PLUGIN_CHANNELS_H
#define DS_PLUGIN_CHANNELS_H

#include <diffsim/ext/channel.h>

#include "base/error.h"
#include "base/text.h"

typedef struct ds_channel_entry {
    ds_channel c; /* its texts are those below */
    char name[DS_MAX_NAME + 1], unit[40], doc[200];
} ds_channel_entry;

typedef struct ds_channels {
    uint64_t count;
    ds_channel_entry *entry;
    const ds_channel **list; /* the same, as optimizers get it */
} ds_channels;

/* Reads the table of a plugin `id`, gets all channels of an instance and tests them: 0, or DS_EXIT_PLUGIN
 * with one line. */
int ds_channels_read(const char *id, const ds_env_channels *theirs, void *self, ds_channels *out,
                     ds_error *e);

/* Makes the list of entries that come from another process, which are taken over;
 * nothing of them is believed. */
int ds_channels_receive(const char *id, ds_channel_entry *entry, uint64_t count, ds_channels *out,
                        ds_error *e);
void ds_channels_clear(ds_channels *c);

/* "residual", "constraint", ...; "channel" for a role that is not known. */
const char *ds_channel_role_name(uint32_t role);

/* Number of the channel of a role that may be there once; count where there is none. */
uint64_t ds_channels_find(const ds_channels *c, uint32_t role);

/* Elements of the residual channel; 0 where there is none. */
uint64_t ds_channels_residuals(const ds_channels *c);

/* Do two processes say the same? */
int ds_channels_equal(const ds_channels *a, const ds_channels *b);

/* ---- questions ---- */

/* One question, and where its numbers lie among those of its row. */
typedef struct ds_placed_query {
    uint32_t op, channel, weighted; /* HV: weights are given */
    uint32_t reserved;
    uint64_t v, v_count; /* doubles of `in` */
    uint64_t w, w_count; /* doubles of `in` */
    uint64_t out, bytes; /* place in words of 8 bytes, size in bytes of the answer */
    uint64_t elements;   /* numbers of the answer */
} ds_placed_query;

/* The questions of one row: any number of values, then at most one product. */
typedef struct ds_query_layout {
    uint32_t count;
    uint32_t product; /* 1 = the last one is a product */
    uint64_t in;      /* doubles that go into a row */
    uint64_t out;     /* words of 8 bytes that come out of it */
    uint64_t values;  /* of these, words of values: the first ones */
    ds_placed_query query[DS_MAX_QUERIES];
} ds_query_layout;

enum { DS_QUERY_TEXT = 200 };

/* Lays out questions whose op, channel and weighted are filled in; they are sorted, values first. 0, or -1
 * and what is wrong in `text`: an operation that the channel does not list, a question asked twice, two
 * products. `place` (may be NULL) gets where each question has gone. */
int ds_query_layout_make(ds_query_layout *a, const ds_channels *channels, uint64_t n, uint32_t *place,
                         char text[DS_QUERY_TEXT]);

/* The most that questions of one row can take: doubles of `in`, words of `out`. */
void ds_query_layout_room(const ds_channels *channels, uint64_t n, uint64_t *in, uint64_t *out);

#endif
