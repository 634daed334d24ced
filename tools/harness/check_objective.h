/* SPDX-License-Identifier: Apache-2.0 */
/* check_objective.h - an objective that watches an optimizer: every point must be finite and inside the box,
 * and it must end when it is told to. */
#ifndef DS_HARNESS_CHECK_OBJECTIVE_H
#define DS_HARNESS_CHECK_OBJECTIVE_H

#include "harness/check_watch.h"

/* Makes an optimizer for the problem and lets it run. Breaches of the contract are recorded with `name` in
 * front, as a failure where the search is strict, else as a reason to skip; the caller judges the rest. 0
 * where no instance could be tried (recorded). */
int ds_check_search_run(ds_check *c, const char *name, ds_check_search *s);

#endif
