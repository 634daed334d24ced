/* SPDX-License-Identifier: Apache-2.0 */
/* signals.h - how a run ends before its time: by the user, by the clock, or by a crash of what runs
 * in this process. */
#ifndef DS_RUN_SIGNALS_H
#define DS_RUN_SIGNALS_H

#include <stdatomic.h>

#include "store/recorder.h"

/* The first SIGINT, SIGTERM or SIGHUP raises the flag, the second one ends the process at once (130, 143,
 * 129). Also ignores SIGPIPE and SIGXFSZ, so that full disks and closed pipes are errors of write(). */
void ds_signals_install(void);

/* From here on a crash of this process (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, exit()) prints `text` after
 * the name of the signal, commits what `recorder` holds, and ends with DS_EXIT_PLUGIN. `recorder` may be
 * NULL. Both must live until ds_crash_unwatch(). */
void ds_crash_watch(const char *text, ds_recorder *recorder);
void ds_crash_unwatch(void);

#endif
