/* SPDX-License-Identifier: Apache-2.0 */
/* origin.h - which environment, with which parameters, the points of a run belong to: in another one the same
 * numbers mean something else. */
#ifndef DS_CORE_ORIGIN_H
#define DS_CORE_ORIGIN_H

#include "config/params.h"
#include "store/store.h"

/* Fails (DS_EXIT_CONFIG) where the run in the store has another environment than `id`, and warns where it has
 * other parameters, which it names. `what` ("--x results/a") begins both lines. */
int ds_origin_compare(ds_store *store, const char *what, const char *id, const ds_params *params,
                      ds_error *e);

/* Adds the environment of the run in a folder, its parameters and its seed to settings that do not name an
 * environment. What they do set stays as it is. */
int ds_origin_adopt(const char *folder, ds_settings *settings, ds_error *e);

#endif
