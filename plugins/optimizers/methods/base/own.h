/* SPDX-License-Identifier: Apache-2.0 */
/* own.h - what the optimizers of this tree share beyond diffsim/helper/opt_kit.h: license, a citation, limits
 * of methods whose memory grows fast, the check of parameter polish. */
#ifndef DS_METHODS_OWN_H
#define DS_METHODS_OWN_H

#include <diffsim/helper/opt_kit.h>

/* Fields that all descriptors have; the file calls its schema `params`. */
#define OPT_DESC(id_, version_) DS_OPT_KIT_DESC(id_, version_, "Apache-2.0", params)

/* The paper that several optimizers come from. */
#define OPT_ANTONOVA                                                                                         \
    "R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg: Rethinking optimization with differentiable "         \
    "simulation from a global perspective. CoRL 2022, arXiv:2207.00167"

/* Variables that an optimizer takes whose matrices, or populations, hold all of them. */
enum { OPT_MOST = 5000 };

/* DS_OK for at most OPT_MOST variables. Else reports what grows too fast and what to take instead,
 * DS_E_PARAM. */
static inline ds_status opt_check_size(const ds_host *host, size_t n, const char *grows, const char *instead)
{
    return n <= OPT_MOST ? DS_OK
                         : ds_host_fail(host, DS_E_PARAM,
                                        "%zu variables are too many: %s, so it takes at most %d; take %s", n,
                                        grows, (int)OPT_MOST, instead);
}

/* Refuses a positive `share` of the budget for parameter `polish` where the run has no budget: reports it and
 * sets in->status. */
static inline void opt_check_polish(ds_param_reader *in, const ds_problem *problem, double share)
{
    if (in->status == DS_OK && share > 0.0 && problem->budget == 0) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "polish is a share of the budget: give the run a budget, or polish = 0");
    }
}

#endif
