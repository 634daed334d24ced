/* SPDX-License-Identifier: Apache-2.0 */
/* flip.c - a pancake in a pan should be turned over by moving and tilting the pan. */
#include "engines/kit/bundled.h"
#include "engines/physics/cloth/env/disc_env.h"

static const ds_env_table env = {DISC_ENV_TABLE, .size = sizeof(disc_env), .release = disc_env_release,
                                 .read = disc_env_read, .hook_points = disc_env_hooks};

static const ds_desc desc = {
    DS_ENV_KIT_DESC("flip", "2", "Apache-2.0", disc_env_params),
    .flags = DS_ENV_GRADIENT,
    .summary = "A pancake in a pan is turned over by moving and tilting the pan.",
    .description =
        "Variables: x, y (m) and tilt (rad) of the pan at the end of each segment; in between it moves "
        "evenly. The pancake is two layers of masses on a lattice with damped springs; a vertex in the pan "
        "loses its velocity towards it, with friction. Loss: mean distance of four marks on the rim to their "
        "positions after half a turn.\nThrown, caught or lost decides: the landscape is extremely rugged and "
        "exact gradients are noisy. Without any motion the loss is 0.086; from about 0.02 on the pancake "
        "lies turned in the pan.\nA pan that is far can be felt: softness (contact sets in above it), "
        "contact_grad = distance (for the gradient only; its kind is `smoothed`), contact_loss (how far the "
        "pancake is from the pan at the end). See docs/contact.md.\nNetworks: a force on each vertex "
        "(parameter residual); then there is no stepwise control.\nStepwise control: an action is the "
        "variables of a segment; observations: x, y and tilt of the pan, then position and velocity of the "
        "centre of mass and of the four marks; rewards are the decrease of the loss of the state.\nMetrics: "
        "angle of the pancake, loss if the episode ended there, x, y, z of the centre of mass, position of "
        "the pan.",
    .citation = PAPER_ANTONOVA,
};

DS_ENV_KIT_DEFINE(env, desc)
