/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - environments whose variables are the gains K of a linear policy u = K x, row by row, with noise
 * on the controls and perhaps on the start; they offer its score (diffsim/ext/draft/score.h). The instance
 * begins with a policy. */
#ifndef DS_ENGINES_POLICY_H
#define DS_ENGINES_POLICY_H

#include "rollout.h"

#include <diffsim/ext/draft/score.h>
#include <diffsim/helper/env_kit.h>
#include <diffsim/helper/random.h>

typedef struct policy {
    ds_env_kit kit; /* first */
    rollout roll;
    double limit, sigma;
    double sigma_now; /* of the episode in hand */
    int random_start;
    double *usual; /* start without noise, `states` */
    double *noise; /* controls of all steps, of the last episode */
    void (*draw)(const void *self, ds_random *random, double *start);
} policy;

extern const char *const policy_starts[]; /* fixed, random */

#define POLICY_PARAMS(limit_, sigma_)                                                                        \
    DS_REAL("limit", limit_, 1e-9, 1e6, "", "Gains lie in [-limit, limit]; bounds are not of the paper."),   \
        DS_REAL("sigma", sigma_, 1e-9, 1e6, "",                                                              \
                "Standard deviation of the noise on each control, in episodes with noise."),                 \
        DS_ENUM("begin", "random", policy_starts,                                                            \
                "Where episodes with noise begin: fixed = at `start`, as those without; random = drawn for " \
                "each episode, see above.")

/* In read(), with steps known: reads these parameters, sets the kit, takes memory. Without memory r->start is
 * NULL. `draw` writes a start for random = not fixed. */
void policy_read(policy *p, ds_param_reader *in, const rollout_system *system, uint64_t steps, double dt,
                 void (*draw)(const void *self, ds_random *random, double *start));

/* Functions of the table. */
void policy_range(const void *self, uint64_t i, double *lower, double *upper, double *start);
void policy_variable(const void *self, uint64_t i, ds_env_variable *out);
ds_status policy_simulate(void *self, ds_eval *io);
int64_t policy_bad_step(void *self, ds_eval *io);
ds_status policy_adjoint(void *self, ds_eval *io);
const void *policy_extension(const void *self, const char *id);

#define POLICY_TABLE                                                                                         \
    .advice = "reduce parameter steps", .range = policy_range, .variable = policy_variable,                  \
    .simulate = policy_simulate, .bad_step = policy_bad_step, .adjoint = policy_adjoint, .passes = 1,        \
    .extension = policy_extension

#endif
