/* SPDX-License-Identifier: Apache-2.0 */
/* gp_sample.h - joint draws from a Gaussian process at many points, for Thompson sampling. */
#ifndef DS_METHODS_GP_SAMPLE_H
#define DS_METHODS_GP_SAMPLE_H

#include "methods/bayes/gp.h"

/* `draws` joint draws of what would be observed (function plus noise) at `count` points (count x d), one
 * after the other in `out` (draws x count). The gp holds data. DS_E_NUMERIC, DS_E_NOMEM. */
ds_status gp_sample(gp *g, size_t count, const double *points, size_t draws, ds_random *rng, double *out);

#endif
