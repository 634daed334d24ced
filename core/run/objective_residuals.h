/* SPDX-License-Identifier: Apache-2.0 */
/* objective_residuals.h - residuals and products with their Jacobian for the optimizer of a run. */
#ifndef DS_RUN_OBJECTIVE_RESIDUALS_H
#define DS_RUN_OBJECTIVE_RESIDUALS_H

#include "run/client.h"

/* The extension of the run's objective; NULL where the environment has no residuals. */
const ds_residual_objective *ds_run_residuals_of(ds_client *c);

#endif
