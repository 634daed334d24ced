/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h - summary.json: what a run was and what came out of it. */
#ifndef DS_RUN_SUMMARY_H
#define DS_RUN_SUMMARY_H

#include <jansson.h>

#include "run/session.h"

/* `plan` is the budget of the first start. */
json_t *ds_run_summary(const ds_session *run, uint64_t plan);

#endif
