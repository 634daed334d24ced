/* SPDX-License-Identifier: Apache-2.0 */
/* penalties.h - refuses penalties on the weights of networks where the loss is a sum of squares that the
 * environment offers as residuals. */
#ifndef DS_ENGINES_PENALTIES_H
#define DS_ENGINES_PENALTIES_H

#include <diffsim/helper/env_kit.h>

/* Returns DS_OK or, after a message, DS_E_PARAM. */
static inline ds_status penalties_refused(const ds_env_kit *kit)
{
    const ds_hybrid *h = &kit->hybrid;
    return h->l1 > 0 || h->l2 > 0
               ? ds_host_fail(kit->host, DS_E_PARAM,
                              "parameters residual_l1 and residual_l2 are not supported: the loss is a sum "
                              "of squares without them; set both to 0 and limit weights by residual_limit")
               : DS_OK;
}

#endif
