/* SPDX-License-Identifier: Apache-2.0 */
/* make_targets.c - developer's program: simulates the moves that make a task's built-in targets and writes
 * its target file. Usage: make_targets ID FILE (about 10 s per variant). */
#include "tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const mpm_task *find(const char *id)
{
    for (int t = 0; t < MPM_TASKS; t++) {
        mpm_task_entry entry = mpm_task_at(t);
        if (strcmp(entry.desc->id, id) == 0 && entry.task->moves) {
            return entry.task;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const mpm_task *task = argc == 3 ? find(argv[1]) : NULL;
    if (!task) {
        fprintf(stderr, "usage: %s ID FILE, for a task whose targets are simulated\n", argv[0]);
        return 2;
    }
    int n = mpm_domain_make(MPM_PRESET_FULL).n;
    size_t cells = (size_t)n * (size_t)n * (size_t)n;
    size_t moves = MPM_TARGET_PIECES * mpm_action_dim(&task->scene);
    double *densities = calloc(MPM_TARGET_VARIANTS * cells, sizeof(double));
    if (!densities) {
        fprintf(stderr, "%s: no memory\n", argv[0]);
        return 7;
    }
    for (uint32_t v = 0; v < MPM_TARGET_VARIANTS; v++) {
        mpm_scene scene = task->scene;
        if (task->vary) {
            task->vary(&scene, v + 1);
        }
        if (mpm_target_simulate(&scene, task->moves + v * moves, densities + v * cells) != 0) {
            fprintf(stderr, "%s: variant %u diverged\n", argv[0], v + 1);
            free(densities);
            return 1;
        }
        fprintf(stderr, "variant %u done\n", v + 1);
    }
    const char *wrong = mpm_target_write(argv[2], n, MPM_TARGET_VARIANTS, densities);
    free(densities);
    if (wrong) {
        fprintf(stderr, "%s: %s %s\n", argv[0], argv[2], wrong);
        return 6;
    }
    return 0;
}
