/* SPDX-License-Identifier: Apache-2.0 */
/* bench_hybrid.c - episodes with gradient of the hybrid scenes and of the small systems of gradient
 * estimators, and of the double pendulum with all columns of its Jacobian, on one core. With another folder
 * of plugins both alternate in one run and `ratio` is how many times longer the other one takes. Or EPISODES
 * episodes of one scene, for a tool that counts instructions. DS_PLUGIN_PATH=plugins bench/bench_hybrid
 * [FOLDER | SCENE EPISODES] */
#define _POSIX_C_SOURCE 200809L
#include <diffsim/ext/channel.h>
#include <diffsim/helper/eval.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "plugin/instance.h"

enum { POINTS = 16, ROUNDS = 40, SETTINGS = 3 };

static const struct scene {
    const char *name, *env, *settings[SETTINGS];
    double goal_us;
    int jacobian; /* also queries the products of the residuals with every unit vector */
} scenes[] = {
    {"cube_throw", "cube_throw", {NULL}, 150, 0},
    {"cube_throw_springs", "cube_throw", {"env.variables=stiffness damping"}, 150, 0},
    {"double_pendulum", "double_pendulum", {"env.variant=synthetic"}, 40, 0},
    {"double_pendulum_jacobian", "double_pendulum", {"env.variant=synthetic"}, 40, 1},
    {"double_pendulum_damping", "double_pendulum", {"env.variant=damping", "env.n_samples=200"}, 40, 0},
    {"heaviside", "heaviside", {NULL}, 100, 0},
    {"soft_heaviside", "soft_heaviside", {NULL}, 100, 0},
    {"sine_quadratic", "sine_quadratic", {NULL}, 100, 0},
    {"lp_norm", "lp_norm", {NULL}, 100, 0},
    {"ball_wall", "ball_wall", {NULL}, 100, 0},
    {"momentum", "momentum", {NULL}, 100, 0},
    {"pivot", "pivot", {NULL}, 100, 0},
    {"ball_wall_soft", "ball_wall_soft", {NULL}, 100, 0},
    {"push", "push", {NULL}, 100, 0},
    {"push_softplus", "push", {"env.set=variance", "env.softness=softplus"}, 100, 0},
    {"friction", "friction", {NULL}, 100, 0},
    {"spring_wall", "spring_wall", {NULL}, 100, 0},
    {"pendulum", "pendulum", {"env.variant=swingup200"}, 100, 0},
    {"double_pendulum_initial", "double_pendulum", {"env.variant=initial"}, 100, 0},
    {"tennis", "tennis", {NULL}, 100, 0},
    {"tennis_penalty", "tennis", {"env.contact=rounded"}, 100, 0},
    {"lqr", "lqr", {NULL}, 100, 0},
    {"roomba", "roomba", {NULL}, 100, 0},
    {"roomba_bicycle", "roomba", {"env.robot=bicycle"}, 100, 0},
    {"push_far", "push_far", {NULL}, 100, 0},
    {"pusher1d", "pusher1d", {NULL}, 100, 0},
    {"hydro2d", "hydro2d", {NULL}, 100, 0},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

/* An instance and its queries at every point. */
typedef struct subject {
    ds_settings settings;
    ds_env *env;
    double *grad, *unit, *column; /* of the products: n unit vectors, one column of the Jacobian */
    ds_eval_query *ask, **asks;
    uint64_t count;
} subject;

static double now_us(void)
{
    return 1e6 * bench_cpu_s();
}

static int ask_columns(subject *s, uint64_t n, ds_error *e)
{
    const uint64_t m = ds_channel_elements(s->env->channels.list[0]);
    s->unit = calloc(n * n, sizeof *s->unit);
    s->column = calloc(n * m, sizeof *s->column);
    s->ask = calloc(n, sizeof *s->ask);
    s->asks = calloc(n, sizeof *s->asks);
    if (!s->unit || !s->column || !s->ask || !s->asks) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    for (uint64_t i = 0; i < n; i++) {
        s->unit[i * n + i] = 1;
        s->ask[i] = (ds_eval_query){
            .op = DS_QUERY_JV, .v = s->unit + i * n, .out = s->column + i * m, .bytes = m * sizeof(double)};
        s->asks[i] = &s->ask[i];
    }
    s->count = n;
    return 0;
}

static int open_subject(subject *s, const struct scene *scene, const char *folder, ds_error *e)
{
    const ds_module *module = NULL;
    char path[4096];
    snprintf(path, sizeof path, folder ? "%s/%s.so" : "%.0s%s", folder ? folder : "", scene->env);
    memset(s, 0, sizeof *s);
    int status = ds_loader_open(path, DS_KIND_ENV, &module, e);
    for (int i = 0; i < SETTINGS && !status && scene->settings[i]; i++) {
        status = ds_settings_set(&s->settings, scene->settings[i], e);
    }
    status = status ? status : ds_env_open(module, &s->settings, 0, 1, NULL, &s->env, e);
    if (status == 0 && !(s->grad = malloc(s->env->info.n * sizeof *s->grad))) {
        status = ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    return status == 0 && scene->jacobian ? ask_columns(s, s->env->info.n, e) : status;
}

static void close_subject(subject *s)
{
    free(s->grad);
    free(s->unit);
    free(s->column);
    free(s->ask);
    free(s->asks);
    ds_env_close(s->env);
    ds_settings_clear(&s->settings);
}

static void episode(subject *s, const double *x)
{
    ds_eval io = {.bad_step = -1,
                  .want = DS_WANT_GRAD,
                  .n = s->env->info.n,
                  .x = x,
                  .grad = s->grad,
                  .queries = s->count,
                  .query = s->asks};
    ds_eval_call(s->env->vt, s->env->self, &io);
}

/* Points in the middle half of the bounds. */
static double *draw_points(const ds_env *env)
{
    const uint64_t n = env->info.n;
    double *x = malloc(POINTS * n * sizeof *x);
    ds_random r = ds_random_open(1, "bench", 0);
    for (uint64_t i = 0; x && i < POINTS * n; i++) {
        const double lower = env->lower[i % n], upper = env->upper[i % n];
        x[i] = 0.5 * (lower + upper) + (ds_random_uniform(&r) - 0.5) * 0.5 * (upper - lower);
    }
    return x;
}

/* Means over the points of the best times of each; the subjects take turns. */
static void time_subjects(subject *s, int subjects, const double *x, double *us)
{
    const uint64_t n = s[0].env->info.n;
    for (uint64_t k = 0; k < POINTS; k++) {
        double best[2] = {INFINITY, INFINITY};
        for (int turn = 0; turn < ROUNDS * subjects; turn++) {
            const int which = turn % subjects;
            episode(&s[which], x + k * n); /* warms the caches */
            const double start = now_us();
            episode(&s[which], x + k * n);
            best[which] = fmin(best[which], now_us() - start);
        }
        for (int i = 0; i < subjects; i++) {
            us[i] += best[i] / POINTS;
        }
    }
}

static int run_scene(const struct scene *scene, const char *folder, int episodes, ds_error *e)
{
    subject s[2];
    const int subjects = folder ? 2 : 1;
    double us[2] = {0, 0};
    int status = open_subject(&s[0], scene, NULL, e);
    status = status || !folder ? status : open_subject(&s[1], scene, folder, e);
    double *x = status ? NULL : draw_points(s[0].env);
    if (status || !x) {
        return status ? status : ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    const uint64_t n = s[0].env->info.n;
    for (int k = 0; k < episodes; k++) {
        episode(&s[0], x + (uint64_t)(k % POINTS) * n);
    }
    if (episodes == 0) {
        time_subjects(s, subjects, x, us);
        printf("{\"scene\": \"%s\", \"n\": %d, \"gradient_us\": %.2f, \"of_goal\": %.2f", scene->name, (int)n,
               us[0], us[0] / scene->goal_us);
        printf(folder ? ", \"other_us\": %.2f, \"ratio\": %.2f}\n" : "}\n", us[1], us[1] / us[0]);
    }
    free(x);
    for (int i = 0; i < subjects; i++) {
        close_subject(&s[i]);
    }
    return 0;
}

/* The scene of this name, or NULL. */
static const struct scene *scene_named(const char *name)
{
    for (int k = 0; k < SCENES; k++) {
        if (strcmp(name, scenes[k].name) == 0) {
            return &scenes[k];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    ds_error e = {0};
    int status = 0;
    if (argc == 3 && scene_named(argv[1]) != NULL && atoi(argv[2]) > 0) {
        status = run_scene(scene_named(argv[1]), NULL, atoi(argv[2]), &e);
    } else if (argc > 2) {
        fprintf(stderr, "usage: bench_hybrid [FOLDER | SCENE EPISODES], SCENE as bench_hybrid prints them\n");
        return 2;
    }
    for (int k = 0; argc < 3 && k < SCENES && status == 0; k++) {
        status = run_scene(&scenes[k], argc == 2 ? argv[1] : NULL, 0, &e);
    }
    if (status) {
        fprintf(stderr, "bench_hybrid: %s\n", e.text);
    }
    return status;
}
