/* SPDX-License-Identifier: Apache-2.0 */
/* bench_fem.c - seconds of processor time of whole episodes of the gear and of the walker (gradSim:
 * Jatavallabhula et al., ICLR 2021), with their controllers, without and with gradient, on one core: the
 * best of some rounds, for each instruction set that runs here; `ratio` is by how much it is faster than
 * the scalar oracle of the same run. Prints one JSON object per line. bench/bench_fem [ROUNDS] */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "bench/bench.h"
#include "tests/envs/engines/physics/fem/fem_scenes.h"

enum { ROUNDS = 3 };

static const struct scene {
    const char *name;
    int (*open)(fem_scene *s, uint64_t steps, const char *isa);
    uint64_t steps;
    double goal[2]; /* s, without and with gradient */
} scenes[] = {
    {"gear", fem_scene_gear, 5760, {0.20, 0.60}},
    {"walker", fem_scene_walker, 9600, {0.10, 0.25}},
};

static const char *const sets[] = {"plain", "baseline", "avx2", "avx512"};

static double best_time(fem_scene *s, int gradient, int rounds)
{
    double best = INFINITY;
    for (int i = 0; i < rounds; i++) {
        double start = bench_cpu_s();
        fem_scene_run(s, gradient);
        best = fmin(best, bench_cpu_s() - start);
    }
    return best;
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
        double plain[2] = {NAN, NAN};
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
            fem_scene s;
            if (!bench_has(sets[i]) || !scenes[k].open(&s, scenes[k].steps, sets[i])) {
                continue;
            }
            double time[2] = {best_time(&s, 0, rounds), best_time(&s, 1, rounds)};
            for (int g = 0; g < 2; g++) {
                plain[g] = i == 0 ? time[g] : plain[g];
            }
            printf(
                "{\"scene\": \"%s\", \"isa\": \"%s\", \"loss_s\": %.3f, \"gradient_s\": %.3f, "
                "\"loss_ratio\": %.1f, \"gradient_ratio\": %.1f, \"goals_s\": [%g, %g], \"kept_MB\": %.0f}\n",
                scenes[k].name, fem_episode_isa(s.episode), time[0], time[1], plain[0] / time[0],
                plain[1] / time[1], scenes[k].goal[0], scenes[k].goal[1],
                (double)fem_episode_bytes(s.episode) / 1e6);
            fem_scene_close(&s);
        }
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("{\"most_memory_MB\": %.0f}\n", (double)use.ru_maxrss / 1e3);
    return 0;
}
