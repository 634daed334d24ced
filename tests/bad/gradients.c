/* SPDX-License-Identifier: Apache-2.0 */
/* gradients.c - wrong gradients: -DBAD_IS_NAME compiles plugin NAME (compile_bad of
 * tests/cli/lib.sh). */

/* adds_up - adds to the gradient in place of setting it. */
#ifdef BAD_IS_adds_up
#define BAD_ID "adds_up"
#define BAD_AFTER                                                                                            \
    for (int t = 0; t < N; t++) {                                                                            \
        g[t] += grad[t];                                                                                     \
    }
#include "smooth_base.h"
#endif

/* clamped - the derivative is 0 where a variable is at its bound. */
#ifdef BAD_IS_clamped
#define BAD_ID "clamped"
#define BAD_AFTER                                                                                            \
    for (int t = 0; t < N; t++) {                                                                            \
        g[t] *= x[t] > -1 && x[t] < 1;                                                                       \
    }
#include "smooth_base.h"
#endif

/* exchanged - two components are exchanged. */
#ifdef BAD_IS_exchanged
#define BAD_ID "exchanged"
#define BAD_AFTER                                                                                            \
    double one = g[MIDDLE];                                                                                  \
    g[MIDDLE] = g[N - 1];                                                                                    \
    g[N - 1] = one;
#include "smooth_base.h"
#endif

/* first_step - the small term of the first step is forgotten. */
#ifdef BAD_IS_first_step
#define BAD_ID "first_step"
#define BAD_TERM(t) ((t) > 0)
#include "smooth_base.h"
#endif

/* first_zero - the first component is 0. */
#ifdef BAD_IS_first_zero
#define BAD_ID "first_zero"
#define BAD_AFTER g[0] = 0;
#include "smooth_base.h"
#endif

/* half_space - a component is wrong on one side of a plane. */
#ifdef BAD_IS_half_space
#define BAD_ID "half_space"
#define BAD_AFTER g[MIDDLE] *= x[0] + x[7] - x[N - 1] > 0.6 ? 1.001 : 1;
#include "smooth_base.h"
#endif

/* half_term - a factor of 2 is missing in a small term. */
#ifdef BAD_IS_half_term
#define BAD_ID "half_term"
#define BAD_TERM(t) 0.5
#include "smooth_base.h"
#endif

/* last_step - the small term of the last step is forgotten. */
#ifdef BAD_IS_last_step
#define BAD_ID "last_step"
#define BAD_TERM(t) ((t) < N - 1)
#include "smooth_base.h"
#endif

/* last_zero - the last component is 0. */
#ifdef BAD_IS_last_zero
#define BAD_ID "last_zero"
#define BAD_AFTER g[N - 1] = 0;
#include "smooth_base.h"
#endif

/* near_bounds - a component is wrong in the outer hundredth of its range, and right at the bound itself. */
#ifdef BAD_IS_near_bounds
#define BAD_ID "near_bounds"
#define BAD_AFTER                                                                                            \
    g[MIDDLE] *= (x[MIDDLE] > 0.98 && x[MIDDLE] < 1) || (x[MIDDLE] < -0.98 && x[MIDDLE] > -1) ? 0.9 : 1;
#include "smooth_base.h"
#endif

/* needs_loss - the gradient is right where the loss was asked for just before, and else that of the last such
 * point. */
#ifdef BAD_IS_needs_loss
#define BAD_ID "needs_loss"
#define BAD_KEEPS static double at[BAD_N];
#define BAD_LOSS_ONLY memcpy(at, x, sizeof at);
#define BAD_AFTER                                                                                            \
    for (int t = 0; t < N; t++) {                                                                            \
        g[t] += 0.01 * (x[t] - at[t]);                                                                       \
    }
#include "smooth_base.h"
#endif

/* one_component - one component of 40 is 1.001 times what it should be. */
#ifdef BAD_IS_one_component
#define BAD_ID "one_component"
#define BAD_AFTER g[MIDDLE] *= 1.001;
#include "smooth_base.h"
#endif

/* one_single - in single precision one component of 40 is 1.001 times what it should be. */
#ifdef BAD_IS_one_single
#define BAD_ID "one_single"
#define BAD_REAL float
#define BAD_AFTER g[MIDDLE] *= 1.001;
#include "smooth_base.h"
#endif

/* rare_sign - a penalty that few episodes meet has the wrong sign in the gradient. */
#ifdef BAD_IS_rare_sign
#define BAD_ID "rare_sign"
#define BAD_LIMIT 1.2
#define BAD_PENALTY -1
#include "smooth_base.h"
#endif

/* right_at_start - a component is right at the start point only. */
#ifdef BAD_IS_right_at_start
#define BAD_ID "right_at_start"
#define BAD_AFTER g[MIDDLE] *= x[0] > 0.5 || x[0] < 0.5 ? 0.9 : 1;
#include "smooth_base.h"
#endif

/* scaled - the whole gradient is 1.001 times what it should be. */
#ifdef BAD_IS_scaled
#define BAD_ID "scaled"
#define BAD_AFTER                                                                                            \
    for (int t = 0; t < N; t++) {                                                                            \
        g[t] *= 1.001;                                                                                       \
    }
#include "smooth_base.h"
#endif

/* second_call - the first gradient is right, later ones are 1.001 times what they should be. */
#ifdef BAD_IS_second_call
#define BAD_ID "second_call"
#define BAD_AFTER                                                                                            \
    static int calls;                                                                                        \
    for (int t = 0; t < N && calls > 0; t++) {                                                               \
        g[t] *= 1.001;                                                                                       \
    }                                                                                                        \
    calls = 1;
#include "smooth_base.h"
#endif

/* stale - the gradient is that of the point before. */
#ifdef BAD_IS_stale
#define BAD_ID "stale"
#define BAD_AFTER                                                                                            \
    static double before[N];                                                                                 \
    double now[N];                                                                                           \
    memcpy(now, g, sizeof g);                                                                                \
    memcpy(g, before, sizeof g);                                                                             \
    memcpy(before, now, sizeof g);
#include "smooth_base.h"
#endif

/* transposed - the gradient has its time steps in reverse order. */
#ifdef BAD_IS_transposed
#define BAD_ID "transposed"
#define BAD_AFTER                                                                                            \
    for (int t = 0; t < N / 2; t++) {                                                                        \
        double one = g[t];                                                                                   \
        g[t] = g[N - 1 - t];                                                                                 \
        g[N - 1 - t] = one;                                                                                  \
    }
#include "smooth_base.h"
#endif

/* wrong_gradient - a factor is missing in one component of the gradient. */
#ifdef BAD_IS_wrong_gradient
#define BAD_ID "wrong_gradient"
#define BAD_EVALUATE                                                                                         \
    if (io->want & DS_WANT_GRAD) {                                                                           \
        io->grad[1] *= 0.5;                                                                                  \
    }
#include "env_base.h"
#endif

/* wrong_outside - a component is wrong in the outer tenth of the box. */
#ifdef BAD_IS_wrong_outside
#define BAD_ID "wrong_outside"
#define BAD_AFTER g[MIDDLE] *= x[MIDDLE] > 0.9 ? 0.9 : 1;
#include "smooth_base.h"
#endif

/* wrong_sign - a small term has the wrong sign. */
#ifdef BAD_IS_wrong_sign
#define BAD_ID "wrong_sign"
#define BAD_EFFORT -1
#include "smooth_base.h"
#endif

/* wrong_weight - the gradient has another weight of one metric of the loss. */
#ifdef BAD_IS_wrong_weight
#define BAD_ID "wrong_weight"
#define BAD_WEIGHT 1.01
#include "smooth_base.h"
#endif

/* first_of_many - of 1000 steps the small term of the first is forgotten: 8e-9 of one component. */
#ifdef BAD_IS_first_of_many
#define BAD_ID "first_of_many"
#define BAD_N 1000
#define BAD_TERM(t) ((t) > 0)
#include "smooth_base.h"
#endif

/* deaf_to_noise - noise turns the variables a little; the gradient is the one without noise. */
#ifdef BAD_IS_deaf_to_noise
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
#endif
