/* SPDX-License-Identifier: Apache-2.0 */
/* A team of threads that work through numbered tasks together. */
#ifndef MPM_FAST_TEAM_H
#define MPM_FAST_TEAM_H

#include <stdint.h>

typedef struct mpm_team mpm_team;

/* What a member does for one task. `member` is below the size of the team. */
typedef void mpm_team_task(void *context, int task, int member);

/* `size` counts the calling thread. NULL when there is no memory; where threads cannot be started, a
 * smaller team. */
mpm_team *mpm_team_create(uint32_t size);
void mpm_team_destroy(mpm_team *team);

/* Runs tasks 0 .. n - 1, each once, by whichever member is free; returns when all are done. */
void mpm_team_run(mpm_team *team, mpm_team_task *task, void *context, int n);

#endif
