/* SPDX-License-Identifier: Apache-2.0 */
/* objective.h - the objective that the optimizer of a run gets, with its extensions: channels, and
 * episodes of stepwise control. */
#ifndef DS_RUN_OBJECTIVE_H
#define DS_RUN_OBJECTIVE_H

#include <diffsim/ext/rl.h>
#include <diffsim/optimizer.h>

#include "run/journal.h"

typedef struct ds_client {
    ds_journal *journal;
    const ds_module *optimizer; /* computes here but for its calls of the objective; or NULL */
    ds_problem problem;
    ds_objective objective; /* its ctx is this struct */
    ds_objective_channels channels;
    struct ds_run_episodes *episodes; /* NULL until the optimizer asks for them */
} ds_client;

/* Fills c->objective; journal and problem are set. */
void ds_client_init(ds_client *c);
void ds_client_close(ds_client *c);

/* Open episodes that are being repeated from the record. */
uint64_t ds_client_repeated(const ds_client *c);

#endif
