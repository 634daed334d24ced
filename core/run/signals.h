/* SPDX-License-Identifier: Apache-2.0 */
/* signals.h - how a run ends before its time: by the user, by the clock, or by a crash of what runs
 * in this process. */
#ifndef DS_RUN_SIGNALS_H
#define DS_RUN_SIGNALS_H

#include <stdatomic.h>

#include "protect/crash.h"
#include "store/recorder.h"

/* The first SIGINT, SIGTERM or SIGHUP raises the flag, the second one ends the process at once (130, 143,
 * 129). Also ignores SIGPIPE and SIGXFSZ, so that full disks and closed pipes are errors of write(). */
void ds_signals_install(void);

/* ds_crash_watch() that commits what `recorder` (NULL is fine) holds. */
void ds_crash_watch_run(const char *text, ds_recorder *recorder);

#endif
