/* SPDX-License-Identifier: Apache-2.0 */
/* deaf_to_noise - noise turns the variables a little; the gradient is the one without noise. */
#define BAD_ID "deaf_to_noise"
#include <diffsim/helper/episode.h>

enum { N = 12 };
static const ds_channel *const channels[] = {DS_OBSERVED("sum", 1, "", "The loss."), NULL};

static double loss(const ds_simple_episode *e)
{
    double sum = 0;
    ds_random r = ds_random_open(e->noise_key, "turn", 0);
    for (int i = 0; i < N; i++) {
        const double turn = e->noise_key != 0 ? 0.1 * ds_random_normal(&r) : 0, at = e->x[i] + turn;
        sum += (1 + 0.1 * i) * at * at + 0.1 * sin(3 * at);
        if (e->grad != NULL) {
            e->grad[i] = 2 * (1 + 0.1 * i) * e->x[i] + 0.3 * cos(3 * e->x[i]);
        }
    }
    e->channel[0].value[0] = sum;
    return sum;
}

DS_SIMPLE_EPISODE(BAD_ID, "A bowl that shakes.", NULL, DS_ENV_GRADIENT | DS_ENV_STOCHASTIC, N, -1, 1, 0.5,
                  channels, loss)
