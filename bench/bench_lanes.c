/* SPDX-License-Identifier: Apache-2.0 */
/* bench_lanes.c - microseconds of processor time per evaluation in this process, one by one and in batches of
 * 512, without and with gradient, of environments with episodes side by side; optionally next to the plugins
 * of another build.
 *
 *     make bench/bench_lanes && bench/bench_lanes [FOLDER] [ENV ...]       FOLDER: contains a / */
#include "config.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "evaluate/pool.h"

enum { BATCH = 512, ROUNDS = 7, COLUMNS = 4 };

/* name, then settings up to NULL */
static const char *const scenes[][4] = {{"bounce", NULL},
                                        {"pendulum", NULL},
                                        {"pendulum", "variant=gym", NULL},
                                        {"pendulum", "variant=swingup200", NULL},
                                        {"cartpole", NULL},
                                        {"cartpole", "links=3", NULL},
                                        {"cartpole_gym", NULL},
                                        {"pinball", NULL},
                                        {"pinball", "variant=pinball16", NULL},
                                        {"double_pendulum", "variant=lengths", NULL},
                                        {"double_pendulum", "variant=synthetic", NULL},
                                        {"push", NULL},
                                        {"push_far", NULL},
                                        {"spring_wall", NULL},
                                        {"billiards", NULL},
                                        {"roomba", NULL},
                                        {"tennis", NULL},
                                        {"cube_throw", NULL},
                                        {"robot", "task=bench/arm.ini", NULL},
                                        {"robot", "task=bench/quadruped.ini", NULL},
                                        {"robot", "task=examples/robots/cartpole.ini", NULL},
                                        {"robot", "task=examples/robots/arm.ini", NULL},
                                        {"robot", "task=examples/robots/pusher.ini", NULL},
                                        {"robot", "task=examples/robots/double_pendulum.ini", NULL}};

static void die(const ds_error *e)
{
    fprintf(stderr, "bench_lanes: %s\n", e->text);
    exit(1);
}

static int add(void *ctx, uint64_t i, const ds_answer *a, const double *grad, const void *out)
{
    (void)i, (void)grad, (void)out;
    *(double *)ctx += a->outcome == DS_EVAL_OK ? a->loss : 0;
    return 0;
}

static ds_pool *open_pool(const char *folder, const char *const *scene)
{
    char path[512], setting[128];
    ds_settings s;
    ds_error e = {0, ""};
    ds_pool *p = NULL;
    memset(&s, 0, sizeof s);
    ds_pool_config c = {.settings = &s, .threads = 1, .jobs = 1, .isolation = DS_ISOLATION_NONE};
    snprintf(path, sizeof path, "%s/%s.so", folder, scene[0]);
    for (int i = 1; scene[i] != NULL; i++) {
        snprintf(setting, sizeof setting, "env.%s", scene[i]);
        if (ds_settings_set(&s, setting, &e) != 0) {
            die(&e);
        }
    }
    if (ds_loader_open(path, DS_KIND_ENV, &c.module, &e) != 0 || ds_pool_open(&c, &p, &e) != 0) {
        die(&e);
    }
    ds_settings_clear(&s);
    return p;
}

/* Microseconds per evaluation of all points in calls of `batch` rows; adds the losses to *sum. */
static double microseconds(ds_pool *p, const double *x, uint64_t batch, uint32_t want, double *sum)
{
    const uint64_t n = ds_pool_env_of(p)->info.n;
    ds_error e = {0, ""};
    const double start = bench_cpu_s();
    for (uint64_t k = 0; k < BATCH; k += batch) {
        if (ds_pool_evaluate(p, batch, x + k * n, want, k + 1, add, sum, &e) != 0) {
            die(&e);
        }
    }
    return 1e6 * (bench_cpu_s() - start) / BATCH;
}

/* The least times of an environment at the same random points of its box: loss one by one and in a batch,
 * then with gradient. */
static void measure(ds_pool *const *p, int builds, double best[][COLUMNS])
{
    const ds_pool_env *env = ds_pool_env_of(p[0]);
    const uint64_t n = env->info.n;
    double *x = calloc(BATCH * n, sizeof *x);
    ds_random rng = ds_random_open(1, "bench", 0);
    for (uint64_t i = 0; x != NULL && i < BATCH * n; i++) {
        const double u = ds_random_uniform(&rng);
        x[i] = (1 - u) * env->lower[i % n] + u * env->upper[i % n];
    }
    for (int round = 0; x != NULL && round < ROUNDS; round++) {
        for (int b = 0; b < builds; b++) {
            double sum[COLUMNS] = {0};
            for (int c = 0; c < (env->has_gradient ? COLUMNS : 2); c++) {
                const uint32_t want = c < 2 ? 0 : DS_WANT_GRAD;
                const double us = microseconds(p[b], x, c % 2 ? BATCH : 1, want, &sum[c]);
                best[b][c] = round == 0 ? us : fmin(best[b][c], us);
            }
            if (memcmp(&sum[0], &sum[1], sizeof *sum) != 0 || memcmp(&sum[2], &sum[3], sizeof *sum) != 0) {
                fprintf(stderr, "bench_lanes: a batch has other losses than single evaluations\n");
                exit(1);
            }
        }
    }
    free(x);
}

int main(int argc, char **argv)
{
    const int other = argc > 1 && strchr(argv[1], '/') != NULL;
    printf("us per evaluation%20s  loss: one %8s   with gradient: one %8s\n", "", "batch", "batch");
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        int wanted = argc <= 1 + other;
        for (int k = 1 + other; k < argc; k++) {
            wanted |= strcmp(argv[k], scenes[i][0]) == 0;
        }
        if (!wanted) {
            continue;
        }
        ds_pool *p[2] = {open_pool("plugins/envs", scenes[i]), other ? open_pool(argv[1], scenes[i]) : NULL};
        double us[2][COLUMNS] = {{0}};
        measure(p, 1 + other, us);
        for (int b = 0; b <= other; b++) {
            printf("%-16s %-19s %10.3f %8.3f %20.3f %8.3f\n", b ? "  other build" : scenes[i][0],
                   b || scenes[i][1] == NULL ? "" : scenes[i][1], us[b][0], us[b][1], us[b][2], us[b][3]);
            ds_pool_close(p[b]);
        }
        fflush(stdout);
    }
    return 0;
}
