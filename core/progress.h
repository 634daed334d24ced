/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - a thread that shows the progress line four times a second and raises the stop flag when the
 * time of the run is over. */
#ifndef DS_CORE_PROGRESS_H
#define DS_CORE_PROGRESS_H

#include "ledger.h"

typedef struct ds_progress ds_progress;

/* `title` names the run, `seconds` limits it (0 = no limit). The ledger must live until close. */
int ds_progress_open(const ds_ledger *ledger, const char *title, uint64_t budget, double seconds,
                     ds_progress **out, ds_error *e);
void ds_progress_close(ds_progress *p);

#endif
