/* SPDX-License-Identifier: Apache-2.0 */
/* steps_base.h - stepwise control for env_base.h: each step sets one variable; the others are at the start
 * point. BAD_FLAGS are those of info(), BAD_END how an episode ends with its last step, BAD_LANES the number
 * of lanes, BAD_BEGIN and BAD_STEP statements at the end of begin() and step() of lane `lane`, whose state is
 * *l. */
#include <diffsim/ext/steps.h>
#include <diffsim/helper/eval.h>
#include <string.h>

#ifndef BAD_LANES
#define BAD_LANES 1
#endif
#ifndef BAD_BEGIN
#define BAD_BEGIN
#endif
#ifndef BAD_STEP
#define BAD_STEP
#endif
#define BAD_EXTENSIONS DS_EXT_STEPS
#define BAD_TABLE(id) (strcmp(id, DS_EXT_STEPS) == 0 ? &steps : NULL)
#define BAD_FIELDS                                                                                           \
    struct state {                                                                                           \
        int open;                                                                                            \
        uint64_t t;                                                                                          \
        double x[3];                                                                                         \
    } lane[BAD_LANES];                                                                                       \
    int stepping; /* evaluate() is called by step() */
#define BAD_EVALUATE                                                                                         \
    for (int i = 0; i < BAD_LANES && !b->stepping; i++) {                                                    \
        b->lane[i].open = 0;                                                                                 \
    }
#define BAD_TABLES                                                                                           \
    static ds_status steps_info(void *self, ds_steps_info *out)                                              \
    {                                                                                                        \
        (void)self;                                                                                          \
        out->flags = BAD_FLAGS;                                                                              \
        out->horizon = 3;                                                                                    \
        out->n_act = 1;                                                                                      \
        out->n_obs = 3;                                                                                      \
        out->max_lanes = BAD_LANES;                                                                          \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static double loss_of(bowl *b, const struct state *l)                                                    \
    {                                                                                                        \
        ds_eval plain = {.n = 3, .x = l->x};                                                                 \
        b->stepping = 1;                                                                                     \
        evaluate(b, &plain);                                                                                 \
        b->stepping = 0;                                                                                     \
        return plain.loss;                                                                                   \
    }                                                                                                        \
    static ds_status begin(void *self, uint64_t lane, uint64_t noise_key, double *obs)                       \
    {                                                                                                        \
        bowl *b = self;                                                                                      \
        struct state *l = &b->lane[lane];                                                                    \
        (void)noise_key;                                                                                     \
        *l = (struct state){1, 0, {1, 1, 1}};                                                                \
        memcpy(obs, l->x, sizeof l->x);                                                                      \
        BAD_BEGIN                                                                                            \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static ds_status step(void *self, uint64_t lane, ds_step *io)                                            \
    {                                                                                                        \
        bowl *b = self;                                                                                      \
        struct state *l = &b->lane[lane];                                                                    \
        if (!l->open) {                                                                                      \
            return DS_E_STATE;                                                                               \
        }                                                                                                    \
        double before = loss_of(b, l);                                                                       \
        l->x[l->t++] = io->action[0];                                                                        \
        io->loss = loss_of(b, l);                                                                            \
        io->reward = before - io->loss;                                                                      \
        io->outcome = isfinite(io->loss) ? DS_EVAL_OK : DS_EVAL_INFEASIBLE;                                  \
        io->ended = io->outcome != DS_EVAL_OK ? DS_STEPS_TERMINATED : DS_STEPS_CONTINUES;                    \
        if (l->t == 3 && io->outcome == DS_EVAL_OK) {                                                        \
            io->ended = BAD_END;                                                                             \
        }                                                                                                    \
        memcpy(io->obs, l->x, sizeof l->x);                                                                  \
        l->open = io->ended == DS_STEPS_CONTINUES;                                                           \
        BAD_STEP                                                                                             \
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
