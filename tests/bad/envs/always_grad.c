/* SPDX-License-Identifier: Apache-2.0 */
/* always_grad - writes to the gradient although none is wanted. */
#define BAD_ID "always_grad"
#define BAD_ROWS spoil_gradient(self, rows, results)
#define BAD_TABLES                                                                                           \
    static ds_status spoil_gradient(void *self, const ds_rows *rows, const ds_results *results)              \
    {                                                                                                        \
        if (results->grad != NULL) {                                                                         \
            results->grad[0] = 1;                                                                            \
        }                                                                                                    \
        return ds_eval_each(self, rows, results, evaluate);                                                  \
    }
#include "env_base.h"
