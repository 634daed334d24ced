/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rigid.c - microseconds per episode of cartpole, pinball, bounce and the systems of smoothing/ on one
 * core, without and with gradient, at random points; some rows have our goals. Prints one JSON object per
 * line. DS_PLUGIN_PATH=plugins bench/bench_rigid */
#define _POSIX_C_SOURCE 200809L
#include <diffsim/helper/eval.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "plugin/instance.h"

enum { POINTS = 64, ROUNDS = 40, SPAN_US = 50 /* at least, so that looking at the clock takes none of it */ };

static const struct scene {
    const char *env, *settings[2], *name;
    double goal; /* us, with gradient; 0: none */
} scenes[] = {
    {"cartpole", {NULL, NULL}, "cartpole 1 link, velocity", 50},
    {"cartpole", {"env.control=force", NULL}, "cartpole 1 link, force", 50},
    {"cartpole", {"env.links=3", NULL}, "cartpole 3 links, velocity", 150},
    {"cartpole", {"env.links=3", "env.control=force"}, "cartpole 3 links, force", 150},
    {"cartpole", {"env.links=10", NULL}, "cartpole 10 links, velocity", 0},
    {"pinball", {NULL, NULL}, "pinball2", 150},
    {"pinball", {"env.variant=pinball16", NULL}, "pinball16", 500},
    {"pinball", {"env.variant=pinball16", "env.friction=0.3"}, "pinball16 with friction", 0},
    {"bounce", {NULL, NULL}, "bounce warp", 8},
    {"bounce", {"env.variant=paper", NULL}, "bounce paper", 0},
    {"heaviside", {NULL, NULL}, "heaviside", 0},
    {"soft_heaviside", {NULL, NULL}, "soft_heaviside", 0},
    {"sine_quadratic", {NULL, NULL}, "sine_quadratic", 0},
    {"momentum", {NULL, NULL}, "momentum", 0},
    {"ball_wall", {NULL, NULL}, "ball_wall", 0},
    {"pusher1d", {"env.softness=barrier", NULL}, "pusher1d, barrier", 0},
    {"hydro2d", {NULL, NULL}, "hydro2d, box on the ground", 0},
    {"push", {NULL, NULL}, "push, k 10", 0},
    {"push", {"env.softness=softplus", NULL}, "push, k 10, softplus", 0},
    {"push_far", {NULL, NULL}, "push_far", 0},
    {"friction", {NULL, NULL}, "friction", 0},
    {"spring_wall", {NULL, NULL}, "spring_wall", 0},
    {"roomba", {NULL, NULL}, "roomba", 0},
    {"roomba", {"env.robot=bicycle", NULL}, "roomba, bicycle", 0},
    {"pendulum", {"env.variant=swingup200", NULL}, "pendulum swingup200", 0},
    {"pivot", {NULL, NULL}, "pivot", 0},
    {"ball_wall_soft", {NULL, NULL}, "ball_wall_soft", 0},
    {"ball_wall_soft", {"env.variant=hard", NULL}, "ball_wall_soft, hard", 0},
    {"tennis", {NULL, NULL}, "tennis", 0},
    {"tennis", {"env.contact=rounded", NULL}, "tennis, rounded", 0},
    {"lp_norm", {NULL, NULL}, "lp_norm, 5000", 0},
    {"lqr", {NULL, NULL}, "lqr, 10000", 0},
};

static double now_us(void)
{
    return 1e6 * bench_cpu_s();
}

/* Mean over the points of the best time of each; *slowest gets the largest of those. */
static double time_episodes(ds_env *env, const double *x, double *grad, double *slowest)
{
    double sum = 0;
    uint64_t n = env->info.n;
    *slowest = 0;
    for (int k = 0; k < POINTS; k++) {
        double best = INFINITY;
        for (int round = 0; round < ROUNDS; round++) {
            const int count = best < SPAN_US ? (int)(SPAN_US / best) + 1 : 1;
            double start = now_us();
            for (int i = 0; i < count; i++) {
                ds_eval io = {.bad_step = -1,
                              .want = grad ? DS_WANT_GRAD : 0,
                              .n = n,
                              .x = x + (uint64_t)k * n,
                              .grad = grad};
                ds_eval_call(env->vt, env->self, &io);
            }
            best = fmin(best, (now_us() - start) / count);
        }
        sum += best / POINTS;
        *slowest = fmax(*slowest, best);
    }
    return sum;
}

static int bench(const struct scene *s, ds_error *e)
{
    const ds_module *module = NULL;
    ds_settings settings;
    ds_env *env = NULL;
    memset(&settings, 0, sizeof settings);
    int status = ds_loader_open(s->env, DS_KIND_ENV, &module, e);
    for (int i = 0; i < 2 && !status && s->settings[i]; i++) {
        status = ds_settings_set(&settings, s->settings[i], e);
    }
    status = status ? status : ds_env_open(module, &settings, 0, 1, NULL, &env, e);
    if (status) {
        return status;
    }
    uint64_t n = env->info.n;
    double *x = malloc(POINTS * n * sizeof *x), *grad = malloc(n * sizeof *grad), slowest = 0,
           slowest_grad = 0;
    if (!x || !grad) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    ds_random r = ds_random_open(1, "bench", 0);
    for (uint64_t i = 0; i < POINTS * n; i++) {
        x[i] = env->lower[i % n] + ds_random_uniform(&r) * (env->upper[i % n] - env->lower[i % n]);
    }
    double plain = time_episodes(env, x, NULL, &slowest), full = time_episodes(env, x, grad, &slowest_grad);
    printf("{\"scene\": \"%s\", \"n\": %d, \"steps\": %d, \"loss_us\": %.3f, \"gradient_us\": %.3f, "
           "\"slowest_us\": %.3f",
           s->name, (int)n, (int)env->info.steps, plain, full, slowest_grad);
    if (s->goal > 0) {
        printf(", \"goal_us\": %g", s->goal);
    }
    printf("}\n");
    free(x);
    free(grad);
    ds_env_close(env);
    ds_settings_clear(&settings);
    return 0;
}

int main(void)
{
    ds_error e = {0};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
        if (bench(&scenes[k], &e)) {
            fprintf(stderr, "bench_rigid: %s\n", e.text);
            return e.status;
        }
    }
    return 0;
}
