/* SPDX-License-Identifier: Apache-2.0 */
/* team.h - a team of threads that process numbered tasks together. Results do not depend on the size of the
 * team if each task writes to its own memory. */
#ifndef DS_ENGINES_TEAM_H
#define DS_ENGINES_TEAM_H

#include <stdint.h>

typedef struct kit_team kit_team;

/* Processes one task. `member` is below the size of the team. */
typedef void kit_team_task(void *context, int task, int member);

/* `size` counts the calling thread. Returns NULL without memory, and a smaller team if threads cannot be
 * started. */
kit_team *kit_team_create(uint32_t size);
void kit_team_destroy(kit_team *team);

/* Runs tasks 0 .. n - 1, each once, on any free member; returns when all are done. */
void kit_team_run(kit_team *team, kit_team_task *task, void *context, int n);

#endif
