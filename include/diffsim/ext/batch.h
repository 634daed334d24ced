/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/batch.h - environment extension "ds.env.batch/1": many points in one call.
 *
 * For environments that are faster that way (vector units, graphics cards, cheap functions). The host uses it
 * by itself wherever several points wait; an optimizer does not notice.
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

    /* [instance] Evaluates `count` >= 1 points. io[k] is what evaluate() would be given for point k, with the
     * same `want` for all and without DS_WANT_SCENE; each gets the answer that evaluate() would give, bit for
     * bit, in whatever company it is. After an error status, the host evaluates the points one by one. */
    ds_status (*evaluate)(void *self, uint64_t count, ds_eval *const *io);
} ds_env_batch;

#ifdef __cplusplus
}
#endif
#endif
