/* SPDX-License-Identifier: Apache-2.0 */
/* runlock.h - one process at a time works on a result folder: DIR/run.lock is locked while it does. */
#ifndef DS_STORE_RUNLOCK_H
#define DS_STORE_RUNLOCK_H

#include "base/error.h"

typedef struct ds_runlock ds_runlock;

/* Takes the lock of a folder. DS_EXIT_LOCKED with the process id of the holder where another process has it.
 */
int ds_runlock_take(const char *folder, ds_runlock **out, ds_error *e);

/* Removes the file and gives the lock back (NULL is fine). A killed process gives it back, too. */
void ds_runlock_drop(ds_runlock *lock);

#endif
