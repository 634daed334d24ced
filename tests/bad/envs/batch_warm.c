/* SPDX-License-Identifier: Apache-2.0 */
/* batch_warm - with many points in one call each begins from where the one before ended. */
#define BAD_ID "batch_warm"
#include <diffsim/ext/batch.h>
#include <string.h>

#define BAD_EXTENSIONS DS_EXT_BATCH
#define BAD_TABLE(id) (strcmp(id, DS_EXT_BATCH) == 0 ? &batch : NULL)
#define BAD_TABLES                                                                                           \
    static ds_status many(void *self, uint64_t count, ds_eval *const *io)                                    \
    {                                                                                                        \
        double last = 0;                                                                                     \
        for (uint64_t k = 0; k < count; k++) {                                                               \
            ds_status status = evaluate(self, io[k]);                                                        \
            if (status != DS_OK) {                                                                           \
                return status;                                                                               \
            }                                                                                                \
            io[k]->loss += 1e-12 * last;                                                                     \
            last = io[k]->loss;                                                                              \
        }                                                                                                    \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static const ds_env_batch batch = {sizeof batch, 0, many};
#include "env_base.h"
