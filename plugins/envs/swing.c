/* SPDX-License-Identifier: Apache-2.0 */
/* swing.c - a cloth swung by two corners should lie on the floor like a target. */
#include "engines/kit/bundled.h"
#include "engines/physics/cloth/env/sheet_env.h"

static const ds_env_table env = {SHEET_ENV_TABLE, .size = sizeof(sheet_env), .release = sheet_env_release,
                                 .read = sheet_env_read, .hook_points = sheet_env_hooks};

static const ds_desc desc = {
    DS_ENV_KIT_DESC("swing", "4", "Apache-2.0", sheet_env_params),
    .flags = DS_ENV_GRADIENT,
    .summary = "A cloth is swung by two corners, released, and should lie on the floor like a target.",
    .description = "Variables: the stiffness of the patches of the cloth, or its initial velocity; "
                   "optionally its width and length. The cloth is a lattice of masses with structural, shear "
                   "and bending springs; a vertex that meets the floor loses its velocity towards it. The "
                   "target is an episode of the same cloth, so the least loss is 0.\nUntil the first contact "
                   "the loss is smooth. From then on an episode is sensitive: neighbouring vertices land in "
                   "another order, the landscape is rugged, and exact gradients are large and often point "
                   "away from the trend.\nNo stepwise control: the variables are constants of an episode, "
                   "not actions in it.\nMetrics: loss if the episode ended there (loss = image: that of loss "
                   "= mesh), largest stretch of a spring, lowest point, x, y, z of the centre of mass.",
    .citation = PAPER_ANTONOVA " Springs and time of impact: Y. Hu et al., DiffTaichi, ICLR 2020.",
};

DS_ENV_KIT_DEFINE(env, desc)
