/* SPDX-License-Identifier: Apache-2.0 */
/* recommend.h - the point that a run recommends in a noisy environment. The lowest recorded loss is the
 * luckiest draw, so the most promising points are evaluated again, outside the budget, on noise keys that are
 * the same for all runs of all optimizers. The lowest mean wins. */
#ifndef DS_RUN_RECOMMEND_H
#define DS_RUN_RECOMMEND_H

#include "run/session.h"

/* Points with the lowest recorded losses; keys of the first stage, and of the second, which the best
 * DS_RECOMMEND_FINAL points reach. */
enum { DS_RECOMMEND_BEST = 10, DS_RECOMMEND_FIRST = 8, DS_RECOMMEND_KEYS = 64, DS_RECOMMEND_FINAL = 3 };

/* Evaluates the candidates and writes the recommendation into the store, as JSON under the key "recommended"
 * of meta. A run has none without noise (equal losses under several keys), with episodes of stepwise control,
 * or without a valid loss. Call it after the search, with all rows committed. A failure is only a warning. */
void ds_recommend(ds_session *s);

/* The recommendation of the store; NULL = none. */
json_t *ds_recommended(ds_store *store);

#endif
