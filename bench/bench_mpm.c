/* SPDX-License-Identifier: Apache-2.0 */
/* Time and memory of one full-size torus episode, loss alone and with gradient: bench_mpm [output steps,
 * default 10]. Prints processor time per particle and substep, which does not depend on the load of the
 * machine as elapsed time does. */
#include "env.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double peak_megabytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024.0;
}

int main(int argc, char **argv)
{
    mpm_scene scene = mpm_task_of_plugin()->scene;
    const mpm_pose start = {{0.5, 0.11, 0.5}, {0.0, 0.0, 0.0, 1.0}, 0.0}; /* in contact from the start */
    mpm_episode_spec spec = {.scene = &scene,
                             .domain = mpm_domain_make(MPM_PRESET_FULL),
                             .steps = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10,
                             .segments = 1,
                             .softness = 666.0,
                             .tool_start = &start};
    mpm_episode e;
    if (spec.steps < 1 || mpm_episode_init(&e, &spec) != MPM_OK) {
        return 1;
    }
    size_t cells = (size_t)spec.domain.n * (size_t)spec.domain.n * (size_t)spec.domain.n;
    double *target = calloc(cells, sizeof(double));
    const double x[3] = {0.1, -0.5, 0.1};
    double grad[3];
    mpm_outcome out;
    if (!target) {
        return 1;
    }
    target[cells / 2] = 1.0; /* any target: its shape does not change the time */
    e.objective.weight_density = e.objective.weight_sdf = 10.0;
    e.objective.weight_contact = 40.0;
    e.objective.soft_contact = true;
    double begin = cpu_seconds();
    if (mpm_objective_init(&e.objective, spec.domain.n, target) != MPM_OK) {
        return 1;
    }
    printf("target and distance field  %8.3f s\n", cpu_seconds() - begin);
    for (int with = 0; with < 2; with++) {
        begin = cpu_seconds();
        if (mpm_episode_run(&e, x, with ? grad : NULL, NULL, NULL, &out) != MPM_OK) {
            return 1;
        }
        double t = cpu_seconds() - begin;
        printf("%-26s %8.3f s  %6.0f ns per particle and substep  peak memory %.0f MB\n",
               with ? "loss and gradient" : "loss", t,
               t * 1e9 / ((double)e.sim.n_particles * spec.steps * spec.domain.substeps), peak_megabytes());
    }
    mpm_episode_free(&e);
    free(target);
    return 0;
}
