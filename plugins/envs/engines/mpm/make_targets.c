/* SPDX-License-Identifier: Apache-2.0 */
/* Developer's program: simulates the target scripts of the task it is linked with and writes its target file.
 * Usage: make_targets_TASK FILE (about 10 s per variant). */
#include "env.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const mpm_task *task = mpm_task_of_plugin();
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    int n = mpm_domain_make(MPM_PRESET_FULL).n;
    size_t cells = (size_t)n * (size_t)n * (size_t)n;
    double *densities = calloc(MPM_TARGET_VARIANTS * cells, sizeof(double));
    if (!densities) {
        fprintf(stderr, "%s: no memory\n", argv[0]);
        return 7;
    }
    for (uint32_t v = 1; v <= MPM_TARGET_VARIANTS; v++) {
        mpm_scene scene = task->scene;
        if (task->vary) {
            task->vary(&scene, v);
        }
        if (mpm_target_simulate(&scene, task->script, v, densities + (v - 1) * cells) != 0) {
            fprintf(stderr, "%s: variant %u diverged\n", argv[0], v);
            free(densities);
            return 1;
        }
        fprintf(stderr, "variant %u done\n", v);
    }
    const char *wrong = mpm_target_write(argv[1], n, MPM_TARGET_VARIANTS, densities);
    free(densities);
    if (wrong) {
        fprintf(stderr, "%s: %s %s\n", argv[0], argv[1], wrong);
        return 6;
    }
    return 0;
}
