/* SPDX-License-Identifier: Apache-2.0 */
/* inquiry.h - questions beside an evaluation, about channels or about the score of a policy's noise, as a
 * plugin gets them; and their answers made safe. */
#ifndef DS_PLUGIN_QUERY_H
#define DS_PLUGIN_QUERY_H

#include <diffsim/ext/draft/score.h>

#include "base/answer.h"
#include "plugin/channels.h"

/* The questions about one row and their numbers: `in` as laid out, `out` to be filled. */
typedef struct ds_query_io {
    const ds_query_layout *queries;
    const double *in;
    void *out;
} ds_query_io;

/* Tests what the plugin has answered beside a loss; kind[i stride] is how it made answer i. `out` is zeroed
 * as far as there is no answer. */
void ds_query_check(const ds_channels *channels, const ds_query_io *q, const uint32_t *kind, uint64_t stride,
                    ds_answer *answer);

/* ---- noise on the actions of a policy and its score (diffsim/ext/draft/score.h) ---- */

/* Takes the table of an instance of plugin `id` (NULL = it has none: info->noise is 0) into *own and asks
 * what is drawn. DS_EXIT_PLUGIN and a line where what it says is not possible. */
int ds_score_accept(const char *id, const ds_env_score *table, void *self, ds_env_score *own,
                    ds_score_info *info, ds_error *e);

/* Can these numbers, from another process, be those of one that was accepted? */
int ds_score_credible(const ds_score_info *info);

/* The question for the score of an episode with n variables: `in` holds sigma (0 = that of the instance),
 * `out` n values of the score and then the baseline, which is asked for where `baseline` is set. It is the
 * only one of its row. */
void ds_score_query(ds_query_layout *a, uint64_t n, int baseline);

/* Are these questions that one? Does it ask for the baseline? */
int ds_score_is_queried(const ds_query_layout *a);
int ds_score_wants_baseline(const ds_query_layout *a);

/* Makes room for it among what questions of a row can take. */
void ds_score_room(const ds_score_info *info, uint64_t n, uint64_t *in, uint64_t *out);

#endif
