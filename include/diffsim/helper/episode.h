/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/helper/episode.h - the short way to an environment with channels (diffsim/ext/channel.h) or noise,
 * in C: residuals, constraints, images, what is observed.
 *
 * Header only, no part of the binary interface. As DS_SIMPLE_ENV of diffsim/helper/simple.h, with a list of
 * channels and a function that writes them. A whole environment, two residuals of a fit:
 *
 *     #include <diffsim/helper/episode.h>
 *
 *     static const ds_channel *const channels[] = {DS_RESIDUALS("miss", 2, "m", "Of the valley."), NULL};
 *
 *     static double loss(const ds_simple_episode *e)
 *     {
 *         double *r = e->channel[0].value, *J = e->channel[0].jacobian;
 *         r[0] = 10 * (e->x[1] - e->x[0] * e->x[0]);
 *         r[1] = 1 - e->x[0];
 *         J[0] = -20 * e->x[0];
 *         J[1] = 10;
 *         J[2] = -1;
 *         J[3] = 0;
 *         return ds_simple_squares(e, 0, 2);
 *     }
 *
 *     DS_SIMPLE_EPISODE("valley", "Rosenbrock's.", NULL, DS_ENV_GRADIENT, 2, -2, 2, -1, channels, loss)
 *
 * Another one, with a constraint and a picture of what is observed, and no gradient:
 *
 *     #include <diffsim/helper/episode.h>
 *
 *     enum { SIZE = 16 };
 *     static const ds_channel *const channels[] = {
 *         DS_CONSTRAINTS("distance", 1, 0.25, INFINITY, "m", "Of the lamp from the corner."),
 *         DS_IMAGE("wall", SIZE, SIZE, "What the lamp lights."), NULL};
 *
 *     static double loss(const ds_simple_episode *e)
 *     {
 *         double sum = 0, far = sqrt(e->x[0] * e->x[0] + e->x[1] * e->x[1]);
 *         for (int k = 0; k < SIZE * SIZE; k++) {
 *             double dx = (k % SIZE + 0.5) / SIZE - e->x[0], dy = (k / SIZE + 0.5) / SIZE - e->x[1];
 *             e->channel[1].pixel[k] = (float)exp(-8 * (dx * dx + dy * dy));
 *             sum += e->channel[1].pixel[k];
 *         }
 *         e->channel[0].value[0] = far;
 *         e->channel[0].jacobian[0] = far > 0 ? e->x[0] / far : 0;
 *         e->channel[0].jacobian[1] = far > 0 ? e->x[1] / far : 0;
 *         return -sum / (SIZE * SIZE);
 *     }
 *
 *     DS_SIMPLE_EPISODE("lamp", "Light for a wall.", NULL, 0, 2, 0, 1, 0.5, channels, loss)
 *
 * Optimizers get J v and J' v, which are made of the Jacobian, and with residuals `lm` finds the minimum. The
 * gradient of such a loss is 2 J' r, which ds_simple_squares() writes. What a constraint allows is no part of
 * the loss: an optimizer that knows nothing of constraints ignores it, and sees nothing of an image.
 *
 * A function that draws random numbers opens its streams from e->noise_key, draws none where that is 0, and
 * has DS_ENV_STOCHASTIC in its flags. DS_DEFINE_SIMPLE of simple.h, of which DS_SIMPLE_EPISODE is a short
 * form, combines channels with a scene, stepwise control and names of the variables.
 *
 * Write all channels at every call, also those that are not requested: results do not depend on requests.
 * Where writing them takes long, use diffsim/helper/env_kit.h.
 */
#ifndef DIFFSIM_HELPER_EPISODE_H
#define DIFFSIM_HELPER_EPISODE_H

#include <diffsim/helper/simple.h>

#ifndef __cplusplus

/* Defines the whole plugin of an environment; use it once, at file scope, after its functions. As
 * DS_SIMPLE_ENV, but
 *   flags_      DS_ENV_GRADIENT, DS_ENV_STOCHASTIC or 0
 *   channels_   the array of channels, at least one
 *   loss_       double loss_(const ds_simple_episode *e): simulates one episode, writes all channels, and the
 *               gradient where e->grad is not NULL, and returns the loss */
#define DS_SIMPLE_EPISODE(id_, summary_, params_, flags_, n_, lower_, upper_, start_, channels_, loss_)      \
    DS_DEFINE_SIMPLE(DS_SIMPLE_FIELDS_(id_, summary_, params_, flags_, n_, lower_, upper_, start_),          \
                     .channels = channels_, .loss = loss_)

#endif
#endif
