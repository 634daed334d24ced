/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cloth.c - milliseconds of processor time per episode of swing, flip and realtosim on one
 * core, without and with gradient: mean over random points of the best of some rounds. Prints one
 * JSON object per line. DS_PLUGIN_PATH=plugins bench/bench_cloth */
#define _POSIX_C_SOURCE 200809L
#include <diffsim/helper/eval.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "plugin/instance.h"

enum { POINTS = 4, ROUNDS = 5, MOST = 128 };

static const struct scene {
    const char *env, *setting;
    double goal; /* ms, with gradient */
} scenes[] = {
    {"swing", "env.variables=stiffness", 100},
    {"swing", "env.variables=velocity", 100},
    {"flip", "env.segments=5", 80},
    {"realtosim", "env.toi=true", 40},
};

static double now_ms(void)
{
    return 1e3 * bench_cpu_s();
}

static double time_episodes(ds_env *env, uint32_t want)
{
    double x[MOST], grad[MOST], sum = 0;
    ds_random r = ds_random_open(1, "bench", 0);
    for (int k = 0; k < POINTS; k++) {
        double best = INFINITY;
        for (uint64_t i = 0; i < env->info.n; i++) {
            x[i] = env->lower[i] + ds_random_uniform(&r) * (env->upper[i] - env->lower[i]);
        }
        for (int round = 0; round < ROUNDS; round++) {
            ds_eval io = {.bad_step = -1, .want = want, .n = env->info.n, .x = x, .grad = grad};
            double start = now_ms();
            ds_eval_call(env->vt, env->self, &io);
            best = fmin(best, now_ms() - start);
        }
        sum += best / POINTS;
    }
    return sum;
}

int main(void)
{
    ds_error e = {0};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
        const struct scene *s = &scenes[k];
        const ds_module *module = NULL;
        ds_settings settings;
        ds_env *env = NULL;
        memset(&settings, 0, sizeof settings);
        int status = ds_loader_open(s->env, DS_KIND_ENV, &module, &e);
        status = status ? status : ds_settings_set(&settings, s->setting, &e);
        status = status ? status : ds_env_open(module, &settings, 0, 1, NULL, &env, &e);
        if (status || env->info.n > MOST) {
            fprintf(stderr, "bench_cloth: %s\n", status ? e.text : "too many variables");
            return status ? status : 1;
        }
        printf("{\"scene\": \"%s\", \"setting\": \"%s\", \"loss_ms\": %.2f, \"gradient_ms\": %.2f, "
               "\"goal_ms\": %g}\n",
               s->env, s->setting, time_episodes(env, 0), time_episodes(env, DS_WANT_GRAD), s->goal);
        ds_env_close(env);
        ds_settings_clear(&settings);
    }
    return 0;
}
