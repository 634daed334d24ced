/* SPDX-License-Identifier: Apache-2.0 */
/* npy_names.h - names, units and groups of variables as arrays of texts. */
#ifndef DS_RESULTS_NPY_NAMES_H
#define DS_RESULTS_NPY_NAMES_H

#include "base/variables.h"
#include "results/npy_write.h"

/* Adds the arrays names, units and groups; none where the variables have no names (v is NULL). */
int ds_npz_add_variables(ds_npz *z, const ds_named_variable *v, uint64_t n, ds_error *e);

#endif
