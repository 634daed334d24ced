/* SPDX-License-Identifier: Apache-2.0 */
/* steps_base.h - stepwise control for env_base.h: each step sets one variable, those to come stand at the
 * start point. BAD_FLAGS are those of info(), BAD_END how an episode ends with its last step. */
#include <diffsim/ext/steps.h>
#include <diffsim/helper/eval.h>
#include <string.h>

#define BAD_EXTENSIONS DS_EXT_STEPS
#define BAD_TABLE(id) (strcmp(id, DS_EXT_STEPS) == 0 ? &steps : NULL)
#define BAD_FIELDS                                                                                           \
    int open;                                                                                                \
    uint64_t t;                                                                                              \
    double x[3];
#define BAD_EVALUATE b->open = 0;
#define BAD_TABLES                                                                                           \
    static ds_status steps_info(void *self, ds_steps_info *out)                                              \
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
        ds_eval plain = {.n = 3, .x = b->x};                                                                 \
        evaluate(b, &plain);                                                                                 \
        return plain.loss;                                                                                   \
    }                                                                                                        \
    static ds_status begin(void *self, uint64_t lane, uint64_t noise_key, double *obs)                       \
    {                                                                                                        \
        bowl *b = self;                                                                                      \
        (void)lane, (void)noise_key;                                                                         \
        b->x[0] = b->x[1] = b->x[2] = 1;                                                                     \
        b->t = 0;                                                                                            \
        b->open = 1;                                                                                         \
        memcpy(obs, b->x, sizeof b->x);                                                                      \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static ds_status step(void *self, uint64_t lane, ds_step *io)                                            \
    {                                                                                                        \
        bowl *b = self;                                                                                      \
        (void)lane;                                                                                          \
        if (!b->open) {                                                                                      \
            return DS_E_STATE;                                                                               \
        }                                                                                                    \
        double before = loss_of(b);                                                                          \
        b->x[b->t++] = io->action[0];                                                                        \
        io->loss = loss_of(b);                                                                               \
        io->reward = before - io->loss;                                                                      \
        io->outcome = isfinite(io->loss) ? DS_EVAL_OK : DS_EVAL_INFEASIBLE;                                  \
        io->ended = io->outcome != DS_EVAL_OK ? DS_STEPS_TERMINATED : DS_STEPS_CONTINUES;                    \
        if (b->t == 3 && io->outcome == DS_EVAL_OK) {                                                        \
            io->ended = BAD_END;                                                                             \
        }                                                                                                    \
        memcpy(io->obs, b->x, sizeof b->x);                                                                  \
        b->open = io->ended == DS_STEPS_CONTINUES;                                                           \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static ds_status begin_rows(void *self, const ds_step_rows *rows, const ds_step_results *results)        \
    {                                                                                                        \
        return ds_step_begin_each(self, rows, results, 3, begin);                                            \
    }                                                                                                        \
    static ds_status step_rows(void *self, const ds_step_rows *rows, const ds_step_results *results)         \
    {                                                                                                        \
        return ds_step_each(self, rows, results, 1, 3, step);                                                \
    }                                                                                                        \
    static const ds_env_steps steps = {                                                                      \
        .struct_size = sizeof steps, .info = steps_info, .begin = begin_rows, .step = step_rows};
