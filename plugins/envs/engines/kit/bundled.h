/* SPDX-License-Identifier: Apache-2.0 */
/* bundled.h - what the descriptors of the environments in this tree have in common. */
#ifndef DS_ENGINES_BUNDLED_H
#define DS_ENGINES_BUNDLED_H

#include <diffsim/helper/env_kit.h>

/* The first fields of a descriptor; the schema of the file is called `params`. */
#define BUNDLED_DESC(id_, version_) DS_ENV_KIT_DESC(id_, version_, "Apache-2.0", params)

/* The paper of most of these environments. */
#define PAPER_ANTONOVA                                                                                       \
    "R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg: Rethinking optimization with differentiable "         \
    "simulation from a global perspective. CoRL 2022, arXiv:2207.00167."

/* The last sentences of descriptions of environments that compare images or states with a target. */
#define COMPARISON_CHANNELS                                                                                  \
    "\nChannels: residuals with J v and J' w; with observe = image also images and target."
#define COMPARISON_ERROR(which_)                                                                             \
    " Metric error: mean error of the variables, relative if they are " which_                               \
    "; the optimizer does not see it."

/* The paper of the scenes of gradsim/. */
#define PAPER_GRADSIM                                                                                        \
    "K. M. Jatavallabhula, M. Macklin, F. Golemo, V. Voleti, L. Petrini, M. Weiss, B. Considine, "           \
    "J. Parent-Levesque, K. Xie, K. Erleben, L. Paull, F. Shkurti, D. Nowrouzezahrai, S. Fidler: gradSim: "  \
    "Differentiable simulation for system identification and visuomotor control. ICLR 2021, "                \
    "arXiv:2104.02646."

#endif
