/* SPDX-License-Identifier: Apache-2.0 */
/* All of PlasticineLab's tasks, for programs that go through them: tests, and the one that
 * makes target files. */
#ifndef MPM_TASKS_H
#define MPM_TASKS_H

#include "engines/physics/mpm/env/env.h"

enum { MPM_TASKS = 10 };

typedef struct mpm_task_entry {
    const mpm_task *task;
    const ds_desc *desc;
} mpm_task_entry;

/* Task `t` (0 .. MPM_TASKS - 1), in the order of the alphabet. */
mpm_task_entry mpm_task_at(int t);

#endif
