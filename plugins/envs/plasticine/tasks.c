/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - the list of PlasticineLab's tasks. The task files in this library are compiled with
 * MPM_TASKS_ONLY. */
#include "tasks.h"

#define DECLARE(id)                                                                                          \
    extern const mpm_task *const mpm_task_##id;                                                              \
    extern const ds_desc *const mpm_desc_##id

DECLARE(assembly);
DECLARE(chopsticks);
DECLARE(move);
DECLARE(pinch);
DECLARE(rollingpin);
DECLARE(rope);
DECLARE(table);
DECLARE(torus);
DECLARE(triplemove);
DECLARE(writer);

#define ENTRY(id)                                                                                            \
    {                                                                                                        \
        &mpm_task_##id, &mpm_desc_##id                                                                       \
    }

mpm_task_entry mpm_task_at(int t)
{
    static const struct {
        const mpm_task *const *task;
        const ds_desc *const *desc;
    } all[MPM_TASKS] = {ENTRY(assembly),   ENTRY(chopsticks), ENTRY(move),  ENTRY(pinch),
                        ENTRY(rollingpin), ENTRY(rope),       ENTRY(table), ENTRY(torus),
                        ENTRY(triplemove), ENTRY(writer)};
    return (mpm_task_entry){*all[t].task, *all[t].desc};
}
