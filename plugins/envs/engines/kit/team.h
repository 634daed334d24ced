/* SPDX-License-Identifier: Apache-2.0 */
/* team.h - a team of threads that work through numbered tasks together. Results do not depend on the size of
 * the team where tasks write to places of their own. */
#ifndef DS_ENGINES_TEAM_H
#define DS_ENGINES_TEAM_H

#include <stdint.h>

typedef struct kit_team kit_team;

/* What a member does for one task. `member` is below the size of the team. */
typedef void kit_team_task(void *context, int task, int member);

/* `size` counts the calling thread. NULL when there is no memory; where threads cannot be started, a
 * smaller team. */
kit_team *kit_team_create(uint32_t size);
void kit_team_destroy(kit_team *team);

/* Runs tasks 0 .. n - 1, each once, by whichever member is free; returns when all are done. */
void kit_team_run(kit_team *team, kit_team_task *task, void *context, int n);

#endif
