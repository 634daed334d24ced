/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - the flag that ends what this process is doing: raised by a signal or by the clock, and tested by
 * every loop and every wait. */
#ifndef DS_BASE_STOP_H
#define DS_BASE_STOP_H

#include <stdatomic.h>

enum { DS_STOP_TIME = -1 }; /* values of the flag: 0, a signal number, or this */

extern atomic_int ds_stop_flag;

/* Raises the flag, or another one, unless it is already raised. */
void ds_stop_raise(int why);
void ds_stop_raise_flag(atomic_int *flag, int why);

/* The exit status of a command that ends with `rc`: after a failure, a signal decides. */
int ds_stop_status(int rc);

/* The first SIGINT, SIGTERM or SIGHUP raises the flag, the second ends the process at once (130, 143, 129).
 * Ignores SIGPIPE and SIGXFSZ, so that full disks and closed pipes become errors of write(). */
void ds_signals_install(void);

#endif
