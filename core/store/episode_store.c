/* SPDX-License-Identifier: Apache-2.0 */
/* episode_store.c - the table of episodes, see episode_store.h. */
#include "config.h"

#include "store/episode_store.h"

#include <sqlite3.h>
#include <string.h>

static int fail(ds_store *s, const char *doing, ds_error *e)
{
    return ds_fail(e, DS_EXIT_IO, "%s: failed %s episodes: %s", ds_store_path(s), doing,
                   sqlite3_errmsg(ds_store_handle(s)));
}

int ds_episode_store_make(ds_store *s, ds_error *e)
{
    static const char sql[] =
        "CREATE TABLE IF NOT EXISTS episode(id INTEGER PRIMARY KEY, key INTEGER NOT NULL, steps "
        "INTEGER NOT NULL, obs BLOB NOT NULL, reward BLOB NOT NULL)";
    return sqlite3_exec(ds_store_handle(s), sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(s, "preparing", e);
}

int ds_episode_store_insert(ds_store *s, uint64_t id, const struct ds_row_episode *ep, ds_error *e)
{
    static const char sql[] = "INSERT INTO episode(id, key, steps, obs, reward) VALUES(?1, ?2, ?3, ?4, ?5)";
    sqlite3_stmt *q = NULL;
    int rc = 0;
    if (sqlite3_prepare_v2(ds_store_handle(s), sql, -1, &q, NULL) != SQLITE_OK) {
        return fail(s, "writing", e);
    }
    sqlite3_bind_int64(q, 1, (sqlite3_int64)id);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)ep->key);
    sqlite3_bind_int64(q, 3, (sqlite3_int64)ep->steps);
    sqlite3_bind_blob(q, 4, ep->obs, (int)((ep->steps + 1) * ep->n_obs * sizeof(double)), SQLITE_STATIC);
    sqlite3_bind_blob(q, 5, ep->reward, (int)(ep->steps * sizeof(double)), SQLITE_STATIC);
    if (sqlite3_step(q) != SQLITE_DONE) {
        rc = fail(s, "writing", e);
    }
    sqlite3_finalize(q);
    return rc;
}

int ds_episode_store_read(ds_store *s, uint64_t id, uint64_t horizon, uint64_t n_obs, uint64_t *steps,
                          double *obs, double *reward, ds_error *e)
{
    sqlite3_stmt *q = NULL;
    int rc = 0;
    *steps = 0;
    if (sqlite3_prepare_v2(ds_store_handle(s), "SELECT steps, obs, reward FROM episode WHERE id=?1", -1, &q,
                           NULL) != SQLITE_OK) {
        return 0; /* no table: no row is an episode */
    }
    sqlite3_bind_int64(q, 1, (sqlite3_int64)id);
    int got = sqlite3_step(q);
    if (got == SQLITE_ROW) {
        uint64_t count = (uint64_t)sqlite3_column_int64(q, 0);
        size_t obs_bytes = (size_t)((count + 1) * n_obs) * sizeof(double),
               reward_bytes = (size_t)count * sizeof(double);
        if (count < 1 || count > horizon || (size_t)sqlite3_column_bytes(q, 1) != obs_bytes ||
            (size_t)sqlite3_column_bytes(q, 2) != reward_bytes) {
            rc = ds_fail(e, DS_EXIT_IO, "%s: damaged at the episode of evaluation %llu", ds_store_path(s),
                         (unsigned long long)id);
        } else {
            memcpy(obs, sqlite3_column_blob(q, 1), obs_bytes);
            memcpy(reward, sqlite3_column_blob(q, 2), reward_bytes);
            *steps = count;
        }
    } else if (got != SQLITE_DONE) {
        rc = fail(s, "reading", e);
    }
    sqlite3_finalize(q);
    return rc;
}
