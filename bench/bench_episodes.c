/* SPDX-License-Identifier: Apache-2.0 */
/* bench_episodes.c - processor time of one episode with gradient of the tasks of the material point engine,
 * in terms of the full-size torus in the same run and the same precision. */
#include "bench/bench.h"
#include "host.h"

#include <diffsim/helper/random.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The least time of `rounds` episodes at a random point of the box. */
static double episode_seconds(const char *environment, const char *preset, const char *precision, int rounds)
{
    const char *const settings[] = {preset, precision, NULL};
    fake_env e;
    char name[64];
    snprintf(name, sizeof name, "envs/%s", environment);
    fake_env_open(&e, name, settings, (uint64_t)rounds, -INFINITY);
    double *x = calloc(2 * e.info.n, sizeof *x), best = INFINITY;
    ds_random rng = ds_random_open(1, "bench", 0);
    for (uint64_t i = 0; x != NULL && i < e.info.n; i++) {
        double u = ds_random_uniform(&rng);
        x[i] = (1.0 - u) * e.lower[i] + u * e.upper[i];
    }
    for (int round = 0; x != NULL && round < rounds; round++) {
        uint32_t outcome;
        double t = bench_cpu_s();
        fake_eval(&e, x, x + e.info.n, 0, &outcome);
        best = fmin(best, bench_cpu_s() - t);
    }
    free(x);
    fake_env_close(&e);
    return best;
}

int main(int argc, char **argv)
{
    static const char *const precisions[] = {"precision=f64", "precision=f32"};
    static const struct {
        const char *environment, *preset;
    } tasks[] = {{"torus", "preset=full"},
                 {"torus", "preset=small"},
                 {"fluid", "preset=default"},
                 {"fluid", "preset=fast"},
                 {"fluid", "preset=small"}};
    int rounds = argc > 1 ? atoi(argv[1]) : 2;
    if (rounds < 1) {
        fprintf(stderr, "usage: bench_episodes [ROUNDS]\n");
        return 2;
    }
    for (int p = 0; p < 2; p++) {
        double torus = 0.0;
        for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
            double s = episode_seconds(tasks[i].environment, tasks[i].preset, precisions[p], rounds);
            torus = i == 0 ? s : torus;
            printf("%s  %-6s %-15s %8.4f s  %6.3f of torus\n", precisions[p], tasks[i].environment,
                   tasks[i].preset, s, s / torus);
            fflush(stdout);
        }
    }
    return 0;
}
