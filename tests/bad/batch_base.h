/* SPDX-License-Identifier: Apache-2.0 */
/* batch_base.h - many rows in one call for env_base.h, one evaluation after the other: BAD_ROW are statements
 * after row k of `count`. */
#include "rows_base.h"

#define BAD_MAX_ROWS MOST_ROWS
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
    }
#define BAD_ROWS all_rows(self, rows, results, many)
