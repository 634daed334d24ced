/* SPDX-License-Identifier: Apache-2.0 */
/* env_batch.c - many points in one call, see env_batch.h. */
#include "config.h"

#include "plugin/env_batch.h"

#include <math.h>

#include "base/clock.h"

void ds_env_ask_batch(ds_env *env)
{
    const ds_env_batch *b = ds_env_extension(env, DS_EXT_BATCH);
    env->batch = b != NULL && DS_HAS(ds_env_batch, b, evaluate) ? b : NULL;
}

void ds_env_evaluate_many(ds_env *env, uint64_t count, const double *x, uint64_t stride,
                          const uint64_t *noise_key, uint32_t want, double *grad, ds_answer *const *answer)
{
    ds_eval io[DS_MANY_MAX], *list[DS_MANY_MAX];
    uint64_t n = env->info.n;
    double start = ds_clock_s();
    for (uint64_t k = 0; k < count; k++) {
        io[k] = (ds_eval){.struct_size = sizeof io[k],
                          .want = want,
                          .n = n,
                          .x = x + k * stride,
                          .noise_key = noise_key[k],
                          .grad = (want & DS_WANT_GRAD) != 0 ? grad + k * stride : NULL,
                          .loss = NAN,
                          .bad_step = -1};
        list[k] = &io[k];
    }
    ds_status st = env->batch->evaluate(env->self, count, list);
    double each = (ds_clock_s() - start) / (double)count;
    for (uint64_t k = 0; k < count; k++) {
        if (st != DS_OK || io[k].outcome != DS_EVAL_OK) {
            /* Alone once more: then the message that the plugin gives belongs to this point. */
            ds_env_evaluate(env, x + k * stride, noise_key[k], want, io[k].grad, answer[k]);
            continue;
        }
        answer[k]->message[0] = '\0';
        ds_answer_validate(env, &io[k], answer[k]);
        answer[k]->wall_s = each;
    }
}
