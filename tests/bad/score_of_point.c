/* SPDX-License-Identifier: Apache-2.0 */
/* score_of_point - the noise of an action is drawn from the point, too. */
#include <diffsim/ext/draft/score.h>
#include <math.h>
#include <string.h>

#define BAD_ID "score_of_point"
#define BAD_FLAGS (DS_ENV_GRADIENT | DS_ENV_STOCHASTIC)
#define BAD_EXTENSIONS DS_EXT_SCORE
#define BAD_TABLE(id) (strcmp(id, DS_EXT_SCORE) == 0 ? &score : NULL)
#define BAD_TABLES                                                                                           \
    static ds_status score_info(void *self, ds_score_info *out)                                              \
    {                                                                                                        \
        (void)self;                                                                                          \
        out->noise = out->action = 1;                                                                        \
        out->sigma = 1;                                                                                      \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static ds_status score_evaluate(void *self, const ds_rows *rows, const ds_results *results,              \
                                    ds_score *ask)                                                           \
    {                                                                                                        \
        const ds_status status = ds_eval_each(self, rows, results, evaluate);                                \
        const bowl *b = self;                                                                                \
        if (ask->sigma < 0) {                                                                                \
            b->host->error(b->host, DS_E_ARG, "sigma is negative: give a positive one, or 0");               \
            return DS_E_ARG;                                                                                 \
        }                                                                                                    \
        for (uint64_t i = 0; i < rows->n; i++) {                                                             \
            ask->score[i] = 0;                                                                               \
        }                                                                                                    \
        ask->baseline = results->loss[0];                                                                    \
        if (ask->noise != NULL) {                                                                            \
            ask->noise[0] = rows->noise_key[0] != 0 ? rows->x[0] : 0;                                        \
        }                                                                                                    \
        return status;                                                                                       \
    }                                                                                                        \
    static const ds_env_score score = {sizeof score, 0, score_info, score_evaluate};
#include "env_base.h"
