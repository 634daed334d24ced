/* SPDX-License-Identifier: Apache-2.0 */
/* residual_base.h - residuals x_i - centre for env_base.h, with a hole for each kind of question. */
#include <diffsim/ext/residuals.h>
#include <string.h>

#ifndef BAD_SQUARE
#define BAD_SQUARE(r) (r)
#endif
#ifndef BAD_JTV
#define BAD_JTV(v) (v)
#endif

#define BAD_EXTENSIONS DS_EXT_RESIDUALS
#define BAD_TABLE(id) (strcmp(id, DS_EXT_RESIDUALS) == 0 ? &residuals : NULL)
#define BAD_TABLES                                                                                           \
    static ds_status size(void *self, uint64_t *m)                                                           \
    {                                                                                                        \
        (void)self;                                                                                          \
        *m = 3;                                                                                              \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static ds_status answer(void *self, ds_residual_eval *io)                                                \
    {                                                                                                        \
        ds_eval plain = {.struct_size = sizeof plain, .n = io->n, .x = io->x};                               \
        ds_status status = evaluate(self, &plain);                                                           \
        io->loss = plain.loss;                                                                               \
        io->outcome = plain.outcome;                                                                         \
        io->grad_kind = DS_GRAD_FORWARD;                                                                     \
        for (int i = 0; i < 3; i++) {                                                                        \
            double r = io->x[i] - ((bowl *)self)->centre;                                                    \
            io->out[i] = io->kind == DS_RESIDUALS_VALUE ? BAD_SQUARE(r)                                      \
                         : io->kind == DS_RESIDUALS_JV  ? io->v[i]                                           \
                                                        : BAD_JTV(io->v[i]);                                  \
        }                                                                                                    \
        return status;                                                                                       \
    }                                                                                                        \
    static const ds_residuals residuals = {sizeof residuals, 0, size, answer};
