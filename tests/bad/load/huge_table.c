/* SPDX-License-Identifier: Apache-2.0 */
/* huge_table - the struct_size of an extension's table was never set, and holds anything. */
#define BAD_ID "huge_table"
#include <diffsim/ext/batch.h>
#include <string.h>

#define BAD_EXTENSIONS DS_EXT_BATCH
#define BAD_TABLES                                                                                           \
    static ds_status evaluate_many(void *self, uint64_t count, ds_eval *const *io)                           \
    {                                                                                                        \
        ds_status status = DS_OK;                                                                            \
        for (uint64_t k = 0; k < count && status == DS_OK; k++) {                                            \
            status = evaluate(self, io[k]);                                                                  \
        }                                                                                                    \
        return status;                                                                                       \
    }                                                                                                        \
    static const ds_env_batch batch = {.struct_size = 0xcccccccc, .evaluate = evaluate_many};
#define BAD_TABLE(id) (strcmp(id, DS_EXT_BATCH) == 0 ? &batch : NULL)
#include "env_base.h"
