/* SPDX-License-Identifier: Apache-2.0 */
/* recommend.h - which point a run recommends where its environment has noise. The lowest recorded loss is the
 * luckiest draw, so the most promising points are evaluated again, outside the budget, on noise keys that are
 * the same for all runs of all optimizers, and the lowest mean decides. */
#ifndef DS_RUN_RECOMMEND_H
#define DS_RUN_RECOMMEND_H

#include "run/session.h"

/* Points with the lowest recorded losses; keys of the first stage, and of the second, which the
 * DS_RECOMMEND_FINAL best points of the first one reach. */
enum { DS_RECOMMEND_BEST = 10, DS_RECOMMEND_FIRST = 8, DS_RECOMMEND_KEYS = 64, DS_RECOMMEND_FINAL = 3 };

/* Evaluates again and writes the recommendation into the store, as JSON under the key "recommended" of meta.
 * A run without noise (the same loss under several keys), with episodes of stepwise control, or without a
 * valid loss has none. The search is over and all rows are committed. What cannot be done costs a warning. */
void ds_recommend(ds_session *s);

/* That of the store: NULL = there is none. */
json_t *ds_recommended(ds_store *store);

#endif
