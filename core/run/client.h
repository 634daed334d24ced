/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - the optimizer of a run as those see it that answer its questions. */
#ifndef DS_RUN_CLIENT_H
#define DS_RUN_CLIENT_H

#include <diffsim/optimizer.h>

#include "run/journal.h"

typedef struct ds_client {
    ds_journal *journal;
    ds_problem problem;
    ds_objective objective; /* its ctx is this struct */
    ds_residual_objective residuals;
    struct ds_run_episodes *episodes; /* of stepwise control; NULL until the optimizer asks for it */
} ds_client;

#endif
