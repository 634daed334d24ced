/* SPDX-License-Identifier: Apache-2.0 */
/* bench_methods.c - the cost of an optimizer itself: processor time of whole runs minus their evaluations,
 * compared with 1000 episodes of the small torus, so that the ratio does not depend on the machine. */
#include "bench/bench.h"
#include "host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUDGET = 1000 };

/* The objective of the environment, and the seconds it took. */
static ds_status (*inner)(const ds_objective *objective, const ds_rows *rows, const ds_label *label,
                          const ds_results *results, uint64_t *done);
static double simulated_s;

static ds_status timed(const ds_objective *objective, const ds_rows *rows, const ds_label *label,
                       const ds_results *results, uint64_t *done)
{
    double t = bench_cpu_s();
    ds_status status = inner(objective, rows, label, results, done);
    simulated_s += bench_cpu_s() - t;
    return status;
}

/* One run; returns the seconds of the optimizer itself. */
static double own_seconds(const char *environment, const char *const *settings, const char *optimizer,
                          uint64_t seed)
{
    fake_env e;
    char name[64], plugin[64];
    snprintf(name, sizeof name, "envs/%s", environment);
    snprintf(plugin, sizeof plugin, "optimizers/%s", optimizer);
    fake_env_open(&e, name, settings, BUDGET, -INFINITY);
    inner = e.objective.evaluate;
    e.objective.evaluate = timed;
    simulated_s = 0.0;
    double t = bench_cpu_s();
    fake_env_run(&e, plugin, seed, NULL);
    double own = bench_cpu_s() - t - simulated_s;
    fake_env_close(&e);
    return own;
}

int main(int argc, char **argv)
{
    static const char *const small[] = {"preset=small", NULL},
                             *const pinball16[] = {"variant=pinball16", NULL},
                             *const links[] = {"links=3", NULL};
    static const struct {
        const char *label, *environment;
        const char *const *settings;
    } tasks[] = {
        {"torus small", "torus", small},      {"pinball2", "pinball", NULL},
        {"pinball16", "pinball", pinball16},  {"cartpole, 200", "cartpole", NULL},
        {"cartpole, 400", "cartpole", links},
    };
    const char *optimizer = argc > 1 ? argv[1] : "racer";
    int seeds = argc > 2 ? atoi(argv[2]) : 3;
    double torus = 0.0;
    if (seeds < 1) {
        fprintf(stderr, "usage: bench_methods [OPTIMIZER [SEEDS]]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        double sum = 0.0, most = 0.0;
        for (int seed = 0; seed < seeds; seed++) {
            double own =
                own_seconds(tasks[i].environment, tasks[i].settings, optimizer, 1000u + (uint64_t)seed);
            sum += own / seeds;
            most = fmax(most, own);
            torus = i == 0 && seed == 0 ? simulated_s : torus;
        }
        printf("%-14s %s itself: %.2f s (at most %.2f) for %d evaluations, %.3f of the %.1f s of those of "
               "torus small\n",
               tasks[i].label, optimizer, sum, most, (int)BUDGET, sum / torus, torus);
        fflush(stdout);
    }
    return 0;
}
