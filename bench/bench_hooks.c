/* SPDX-License-Identifier: Apache-2.0 */
/* bench_hooks.c - the cost of networks in the equations of motion: processor time of episodes with gradient
 * of the environments with hook points, without a network and with a small one in each output, on one core;
 * or EPISODES episodes of one of them, for a tool that counts instructions. DS_PLUGIN_PATH=plugins
 * bench/bench_hooks [SCENE EPISODES [wired]] */
#define _POSIX_C_SOURCE 200809L
#include <diffsim/helper/eval.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "plugin/instance.h"

enum { POINTS = 16, ROUNDS = 20 };

static const struct scene {
    const char *env, *settings[3], *wiring;
} scenes[] = {
    {"cartpole", {NULL}, "env.residual=joint_torque = joint_angle, joint_rate | 5 5 | tanh"},
    {"bounce", {"env.variant=paper"}, "env.residual=force = velocity | 5 5 | tanh"},
    {"pinball", {NULL}, "env.residual=friction = sliding_velocity | 5 5 | tanh"},
    {"double_pendulum",
     {"env.variant=damping", "env.n_samples=200"},
     "env.residual=joint_torque = joint_angle, joint_rate | 5 5 | tanh"},
    {"cube_throw", {"env.network_force=50"}, "env.residual=normal = depth, depth_rate | 5 5 | tanh"},
    {"cube_throw",
     {"env.variables=stiffness damping"},
     "env.residual=friction = normal_force, sliding_speed | 5 5 | tanh"},
    {"rigid_contact", {"env.observe=state"}, "env.residual=force, torque = velocity, spin | 5 5 | tanh"},
    {"rigid_mass", {"env.observe=state"}, "env.residual=force, torque = momentum | 5 5 | tanh"},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

static double now_us(void)
{
    return 1e6 * bench_cpu_s();
}

static void episode(ds_env *env, const double *x, double *grad)
{
    ds_eval io = {.bad_step = -1, .want = DS_WANT_GRAD, .n = env->info.n, .x = x, .grad = grad};
    ds_eval_call(env->vt, env->self, &io);
}

/* Mean over the points of the best time of each, or the time of `episodes` where that is not 0. Variables of
 * networks are drawn like the others. */
static int time_scene(const struct scene *s, int wired, int episodes, double *us, uint64_t *n, ds_error *e)
{
    const ds_module *module = NULL;
    ds_settings settings;
    ds_env *env = NULL;
    memset(&settings, 0, sizeof settings);
    int status = ds_loader_open(s->env, DS_KIND_ENV, &module, e);
    for (int i = 0; i < 3 && !status && s->settings[i]; i++) {
        status = ds_settings_set(&settings, s->settings[i], e);
    }
    status = status || !wired ? status : ds_settings_set(&settings, s->wiring, e);
    status = status ? status : ds_env_open(module, &settings, 0, 1, NULL, &env, e);
    if (status) {
        return status;
    }
    *n = env->info.n;
    double *x = malloc((POINTS + 1) * *n * sizeof *x), *grad = x + POINTS * *n;
    if (!x) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    ds_random r = ds_random_open(1, "bench", 0);
    for (uint64_t i = 0; i < POINTS * *n; i++) {
        const double lower = env->lower[i % *n], upper = env->upper[i % *n];
        x[i] = 0.5 * (lower + upper) + (ds_random_uniform(&r) - 0.5) * 0.5 * (upper - lower);
    }
    *us = 0;
    for (int k = 0; k < episodes; k++) {
        episode(env, x + (uint64_t)(k % POINTS) * *n, grad);
    }
    for (int k = 0; k < POINTS && episodes == 0; k++) {
        double best = INFINITY;
        for (int round = 0; round < ROUNDS; round++) {
            const double start = now_us();
            episode(env, x + (uint64_t)k * *n, grad);
            best = fmin(best, now_us() - start);
        }
        *us += best / POINTS;
    }
    free(x);
    ds_env_close(env);
    ds_settings_clear(&settings);
    return 0;
}

int main(int argc, char **argv)
{
    ds_error e = {0};
    int found = argc < 3;
    for (int k = 0; k < SCENES; k++) {
        double plain = 0, wired = 0;
        uint64_t n = 0, more = 0;
        int status = 0;
        if (argc >= 3) {
            const int asked = strcmp(argv[1], scenes[k].env) == 0;
            status = asked ? time_scene(&scenes[k], argc > 3, atoi(argv[2]), &plain, &n, &e) : 0;
            found |= asked;
        } else {
            status = time_scene(&scenes[k], 0, 0, &plain, &n, &e);
            status = status ? status : time_scene(&scenes[k], 1, 0, &wired, &more, &e);
            printf(
                "{\"scene\": \"%s\", \"n\": %d, \"gradient_us\": %.2f, \"weights\": %d, \"wired_us\": %.2f, "
                "\"ratio\": %.2f}\n",
                scenes[k].env, (int)n, plain, (int)(more - n), wired, wired / plain);
        }
        if (status) {
            fprintf(stderr, "bench_hooks: %s\n", e.text);
            return e.status;
        }
    }
    if (!found) {
        fprintf(stderr,
                "bench_hooks: %s: there is no such scene; they are named in the lines of bench_hooks without "
                "arguments\n",
                argv[1]);
        return DS_EXIT_USAGE;
    }
    return 0;
}
