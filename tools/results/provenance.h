/* SPDX-License-Identifier: Apache-2.0 */
/* provenance.h - which environment, with which parameters, the points of a run belong to: in another one the same
 * numbers mean something else. */
#ifndef DS_RESULTS_PROVENANCE_H
#define DS_RESULTS_PROVENANCE_H

#include "config/params.h"
#include "store/store.h"

/* Fails (DS_EXIT_CONFIG) where the run in the store has another environment than `id`, and warns where it has
 * other parameters, which it names. `what` ("--x results/a") begins both lines. */
int ds_provenance_compare(ds_store *store, const char *what, const char *id, const ds_params *params,
                          ds_error *e);

/* Adds the environment of the run in a folder, its parameters and its seed to settings that do not name an
 * environment. What they do set stays as it is. */
int ds_provenance_load(const char *folder, ds_settings *settings, ds_error *e);

#endif
