/* SPDX-License-Identifier: Apache-2.0 */
/* rl_base.h - stepwise control for env_base.h: each step sets one variable, those to come stand at the start
 * point. BAD_FLAGS are those of info(), BAD_END how an episode ends with its last step. */
#include <diffsim/ext/rl.h>
#include <string.h>

#define BAD_EXTENSIONS DS_EXT_RL
#define BAD_TABLE(id) (strcmp(id, DS_EXT_RL) == 0 ? &rl : NULL)
#define BAD_FIELDS                                                                                           \
    int open;                                                                                                \
    uint64_t t;                                                                                              \
    double x[3];
#define BAD_EVALUATE b->open = 0;
#define BAD_TABLES                                                                                           \
    static ds_status rl_info(void *self, ds_rl_info *out)                                                    \
    {                                                                                                        \
        (void)self;                                                                                          \
        out->flags = BAD_FLAGS;                                                                              \
        out->horizon = 3;                                                                                    \
        out->n_act = 1;                                                                                      \
        out->n_obs = 3;                                                                                      \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static double loss_of(bowl *b)                                                                           \
    {                                                                                                        \
        ds_eval plain = {.struct_size = sizeof plain, .n = 3, .x = b->x};                                    \
        evaluate(b, &plain);                                                                                 \
        return plain.loss;                                                                                   \
    }                                                                                                        \
    static ds_status reset(void *self, uint64_t noise_key, double *obs)                                      \
    {                                                                                                        \
        bowl *b = self;                                                                                      \
        (void)noise_key;                                                                                     \
        b->x[0] = b->x[1] = b->x[2] = 1;                                                                     \
        b->t = 0;                                                                                            \
        b->open = 1;                                                                                         \
        memcpy(obs, b->x, sizeof b->x);                                                                      \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static ds_status step(void *self, ds_rl_step *io)                                                        \
    {                                                                                                        \
        bowl *b = self;                                                                                      \
        if (!b->open) {                                                                                      \
            return DS_E_STATE;                                                                               \
        }                                                                                                    \
        double before = loss_of(b);                                                                          \
        b->x[b->t++] = io->action[0];                                                                        \
        io->loss = loss_of(b);                                                                               \
        io->reward = before - io->loss;                                                                      \
        io->outcome = isfinite(io->loss) ? DS_EVAL_OK : DS_EVAL_INFEASIBLE;                                  \
        io->ended = io->outcome != DS_EVAL_OK ? DS_RL_TERMINATED : b->t == 3 ? BAD_END : DS_RL_GOES_ON;      \
        memcpy(io->obs, b->x, sizeof b->x);                                                                  \
        b->open = io->ended == DS_RL_GOES_ON;                                                                \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static const ds_rl rl = {.struct_size = sizeof rl, .info = rl_info, .reset = reset, .step = step};
