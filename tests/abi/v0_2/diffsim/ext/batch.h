/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/batch.h - environment extension "ds.env.batch/1": many points in one call.
 *
 * What for: environments that are faster that way, because of vector units, a graphics card, or because one
 * call costs less than many of a cheap function.
 *
 * Scenario: an evolution strategy asks for 100 points; a worker takes 50 of them in one call, the next worker
 * the others. The host uses it by itself wherever several points wait; an optimizer does not notice.
 *
 * Rules for the environment: every point has the answer that it would have alone, whatever stands beside it;
 * points may fail, each with its own outcome. Rules for the host: it may call evaluate() at any time instead.
 */
#ifndef DIFFSIM_EXT_BATCH_H
#define DIFFSIM_EXT_BATCH_H

#include <diffsim/base.h>
#include <diffsim/env.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Listed in ds_desc.extensions, and the id for which get_extension() returns a static ds_env_batch. */
#define DS_EXT_BATCH "ds.env.batch/1"

/* The environment's side; an optimizer has none. */
typedef struct ds_env_batch {
    uint32_t struct_size;
    uint32_t reserved;

    /* [instance] Evaluates 1 <= `count` <= DS_MAX_ROWS points. io[k] is what evaluate() would be given for
     * point k, with the same `want` and the same questions (operation and channel) for all and without
     * DS_WANT_SCENE; each gets the answer that evaluate() would give, bit for bit, in whatever company it
     * is. After an error status, the host evaluates the points one by one. */
    ds_status(DS_CALL *evaluate)(void *self, uint64_t count, ds_eval *const *io);
    DS_GROWN
} ds_env_batch;
#define DS_ENV_BATCH_SIZE_1_0 DS_SIZE_WITH(ds_env_batch, evaluate)

#ifdef __cplusplus
}
#endif
#endif
