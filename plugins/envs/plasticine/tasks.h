/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.h - all of PlasticineLab's tasks, for programs that use each of them: tests, and make_targets. */
#ifndef MPM_TASKS_H
#define MPM_TASKS_H

#include "engines/physics/mpm/env/env.h"

enum { MPM_TASKS = 10 };

typedef struct mpm_task_entry {
    const mpm_task *task;
    const ds_desc *desc;
} mpm_task_entry;

/* Task `t` (0 .. MPM_TASKS - 1), in alphabetical order. */
mpm_task_entry mpm_task_at(int t);

#endif
