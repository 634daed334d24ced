/* SPDX-License-Identifier: Apache-2.0 */
/* check_apart.h - a part of a test in a process of its own: instances that want one to themselves
 * (DS_ENV_OWN_PROCESS), and what may not come to an end. */
#ifndef DS_HARNESS_CHECK_APART_H
#define DS_HARNESS_CHECK_APART_H

#include "harness/check.h"

/* Does every instance of the plugin want that? */
int ds_check_alone(const ds_check *c);

/* Calls fn(c, arg), which makes an instance: in a process forked for it where that is wanted, else here. What
 * fn leaves in the `size` bytes at `arg` comes back, and what it records; it dies of what the process dies
 * of. */
void ds_check_apart(ds_check *c, void (*fn)(ds_check *c, void *arg), void *arg, size_t size);

/* The same in a process of its own, whatever the plugin wants, and for at most `seconds`; 0 = it was ended
 * then. Where there are no other processes (--in-process) here, and without a limit. */
int ds_check_limited(ds_check *c, void (*fn)(ds_check *c, void *arg), void *arg, size_t size, double seconds);

#endif
