/* SPDX-License-Identifier: Apache-2.0 */
/* decay.c - a least-squares fit: the residuals and their Jacobian are a channel, the loss is their sum of
 * squares. */
#include <diffsim/helper/simple.h>

static const double recorded[5] = {1.98, 1.21, 0.75, 0.44, 0.27};
static const ds_channel *const channels[] = {DS_RESIDUALS("error", 5, "V", "Simulated minus recorded."),
                                             NULL};

static double loss(const ds_simple_episode *e)
{
    for (int i = 0; i < 5; i++) {
        const double decay = exp(-e->x[1] * i);
        e->channel[0].value[i] = e->x[0] * decay - recorded[i];
        e->channel[0].jacobian[2 * i] = decay;
        e->channel[0].jacobian[2 * i + 1] = -i * e->x[0] * decay;
    }
    return ds_simple_squares(e, 0, 5);
}

DS_DEFINE_SIMPLE(.id = "decay", .summary = "A decay and its recording.", .flags = DS_ENV_GRADIENT, .n = 2,
                 .lower = 0.1, .upper = 4, .start = 1, .channels = channels, .loss = loss)
