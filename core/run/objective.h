/* SPDX-License-Identifier: Apache-2.0 */
/* objective.h - the objective that the optimizer of a run gets, with its extensions. */
#ifndef DS_RUN_OBJECTIVE_H
#define DS_RUN_OBJECTIVE_H

#include "run/client.h"

/* Fills c->objective; journal and problem are set. */
void ds_objective_init(ds_client *c);

#endif
