/* SPDX-License-Identifier: Apache-2.0 */
/* episode_store.h - what an episode of stepwise control adds to its row in the store of a run.
 *
 *   episode(id, key, steps, obs, reward)   id = that of the row in eval
 *
 * obs is a blob of (steps + 1) x n_obs doubles, reward one of `steps`; key is the noise key. Where an episode
 * ended before its horizon the actions behind `steps` in the row's x were never asked for: they are the start
 * point's.
 */
#ifndef DS_STORE_EPISODE_STORE_H
#define DS_STORE_EPISODE_STORE_H

#include "store/store.h"

struct ds_row_episode {
    uint64_t key, steps, n_obs;
    const double *obs, *reward;
};

/* Makes the table where it is missing. */
int ds_episode_store_make(ds_store *s, ds_error *e);

int ds_episode_store_insert(ds_store *s, uint64_t id, const struct ds_row_episode *episode, ds_error *e);

/* Reads an episode into obs (room for (horizon + 1) x n_obs) and reward (horizon); *steps = 0 where the row
 * is none. */
int ds_episode_store_read(ds_store *s, uint64_t id, uint64_t horizon, uint64_t n_obs, uint64_t *steps,
                          double *obs, double *reward, ds_error *e);

#endif
