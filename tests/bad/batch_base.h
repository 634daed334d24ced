/* SPDX-License-Identifier: Apache-2.0 */
/* batch_base.h - the extension batch for env_base.h, as single calls one after the other: BAD_ROW are
 * statements behind row k of `count`. */
#include <diffsim/ext/batch.h>
#include <string.h>

#define BAD_EXTENSIONS DS_EXT_BATCH
#define BAD_TABLE(id) (strcmp(id, DS_EXT_BATCH) == 0 ? &batch : NULL)
#define BAD_TABLES                                                                                           \
    static ds_status many(void *self, uint64_t count, ds_eval *const *io)                                    \
    {                                                                                                        \
        for (uint64_t k = 0; k < count; k++) {                                                               \
            ds_status status = evaluate(self, io[k]);                                                        \
            if (status != DS_OK) {                                                                           \
                return status;                                                                               \
            }                                                                                                \
            BAD_ROW                                                                                          \
        }                                                                                                    \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static const ds_env_batch batch = {sizeof batch, 0, many};
