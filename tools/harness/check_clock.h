/* SPDX-License-Identifier: Apache-2.0 */
/* check_clock.h - time that does not depend on what else the machine does: how much a test looks at, and when it has
 * taken too long, must be the same on a machine that is busy. */
#ifndef DS_CHECK_CHECK_CLOCK_H
#define DS_CHECK_CHECK_CLOCK_H

#include <sys/types.h>

double ds_check_now(void); /* seconds of the monotonic clock */

/* Seconds that the calling thread has had, since its first call: of the monotonic clock, but from one call to the next
 * only its processor time where it gave no processor up by itself. What it waits for others to release one counts
 * nothing; that it sleeps, or waits for other threads or processes, does. */
double ds_check_worked(void);

/* The same of another process, looked at from time to time. */
typedef struct ds_check_other {
    pid_t pid;
    double limit, spent, all, wall, work;
} ds_check_other;

/* Has it been at work for longer than `limit` seconds, or, however little of that it had a processor, so many times that
 * long? */
enum { DS_CHECK_STARVED = 20 };
void ds_check_other_open(ds_check_other *o, pid_t pid, double limit);
int ds_check_other_over(ds_check_other *o);

#endif
