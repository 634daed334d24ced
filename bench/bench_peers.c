/* SPDX-License-Identifier: Apache-2.0 */
/* bench_peers.c - our work and that of a peer in one run, one thread, as a table in Markdown: processor time
 * of each and their ratio. bench/peers.py does the peer's part; a peer that is not installed has no row. Both
 * sides evaluate the same points of the same task, and their losses are compared. */
#define _POSIX_C_SOURCE 200809L
#include <diffsim/helper/eval.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "methods/base/blas.h"
#include "methods/cma/cma.h"
#include "plugin/instance.h"

enum { POINTS = 512, ROUNDS = 7 };

static int rows; /* printed */

/* A row of the table, with its head before the first one; nothing where the peer is not installed. */
static void print_row(const char *work, const char *unit, double ours, const char *peer, double theirs)
{
    if (!(theirs > 0.0)) {
        return;
    }
    if (rows++ == 0) {
        printf("| work | diffsim | peer | its time | diffsim / peer |\n| --- | --- | --- | --- | --- |\n");
    }
    const double scale = strcmp(unit, "ms") == 0 ? 1e3 : 1e6;
    printf("| %s | %.3g %s | %s | %.3g %s | %.3g |\n", work, scale * ours, unit, peer, scale * theirs, unit,
           ours / theirs);
    fflush(stdout);
}

/* ---- episodes ---- */

/* As points() of peers.py: coordinate k of point i lies at frac(0.5 + phi (n i + k + 1)) of its bounds. */
static void draw_points(const ds_env *env, double *x)
{
    const double phi = 0.61803398874989484820;
    const uint64_t n = env->info.n;
    for (uint64_t i = 0; i < POINTS * n; i++) {
        const double t = 0.5 + phi * (double)(i + 1), u = t - floor(t);
        x[i] = env->lower[i % n] + u * (env->upper[i % n] - env->lower[i % n]);
    }
}

/* Evaluates all points, in calls of as many rows as the environment takes. */
static void evaluate(ds_env *env, const double *x, uint32_t want, double *grad, const uint64_t *key,
                     ds_answer *const *answer)
{
    const uint64_t n = env->info.n, most = env->max_rows < POINTS ? env->max_rows : POINTS;
    for (uint64_t i = 0; i < POINTS; i += most) {
        const ds_env_rows t = {.count = POINTS - i < most ? POINTS - i : most,
                               .want = want,
                               .x = x + i * n,
                               .x_stride = n,
                               .noise_key = key,
                               .grad = grad + i * n,
                               .grad_stride = n,
                               .answer = answer + i};
        ds_env_evaluate_table(env, &t);
    }
}

/* The losses of both sides agree to a thousandth, or they do not do the same task. */
static int compare_losses(const char *id, double ours, double theirs, ds_error *e)
{
    return fabs(theirs - ours) <= 1e-3 * fabs(ours)
               ? 0
               : ds_fail(e, DS_EXIT_PLUGIN, "%s: the loss is %.9g, that of the peer %.9g: not the same task",
                         id, ours, theirs);
}

/* Episodes of one environment, loss alone or with gradient, at 512 points. An episode of cartpole has 100
 * steps. */
static int bench_episodes(const char *id, bool gradient, ds_error *e)
{
    const ds_module *module = NULL;
    ds_settings none = {0};
    ds_env *env = NULL;
    int rc = ds_loader_open(id, DS_KIND_ENV, &module, e);
    rc = rc != 0 ? rc : ds_env_open(module, &none, 0, 1, NULL, &env, e);
    const uint64_t n = rc == 0 ? env->info.n : 0;
    double *x = calloc(2 * POINTS * (n + 1), sizeof *x), best = INFINITY, sum = 0.0, theirs;
    static ds_answer one[POINTS], *answer[POINTS];
    static uint64_t key[POINTS];
    if (rc != 0 || x == NULL) {
        free(x);
        return rc != 0 ? rc : ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    draw_points(env, x);
    for (int i = 0; i < POINTS; i++) {
        answer[i] = &one[i];
    }
    for (int round = 0; round < ROUNDS; round++) {
        const double start = bench_cpu_s();
        for (int i = 0; i < 4; i++) {
            evaluate(env, x, gradient ? DS_WANT_GRAD : 0, x + POINTS * n, key, answer);
        }
        best = fmin(best, (bench_cpu_s() - start) / 4 / POINTS);
    }
    for (int i = 0; i < POINTS; i++) {
        sum += one[i].loss / POINTS;
    }
    char name[128];
    snprintf(name, sizeof name, "%s, loss%s, 512 points", id, gradient ? " and gradient" : "");
    for (int i = 0; i < 2 && rc == 0; i++) {
        char work[64];
        snprintf(work, sizeof work, "%s%s%s", id, i == 1 ? "-warp" : "", gradient ? "-gradient" : "");
        const bool known = i == 0 || strcmp(id, "bounce") == 0;
        const double peer = known ? bench_peer(work, &theirs) : 0.0;
        rc = peer > 0.0 ? compare_losses(id, sum, theirs, e) : 0;
        print_row(name, "us", best, i == 1 ? "Warp, f32" : "JAX, vmap, f32", rc == 0 ? peer : 0.0);
    }
    if (rc == 0 && !gradient && strcmp(id, "cartpole") == 0) {
        print_row("a step of a cart with one link", "us", best / 100, "MuJoCo", bench_peer("mujoco", NULL));
    }
    free(x);
    ds_env_close(env);
    return rc;
}

/* ---- tasks of files ---- */

/* Best time of `rounds` episodes of a file of bench/ at the middle of its variables, without or with
 * gradient, and the loss. more: a further setting, or NULL. */
static double time_task(const char *id, const char *parameter, const char *name, const char *more,
                        bool gradient, int rounds, double *loss, ds_error *e)
{
    const ds_module *module = NULL;
    ds_settings settings = {0};
    ds_env *env = NULL;
    char task[4096];
    const char *top = getenv("DS_TOP_SRC");
    snprintf(task, sizeof task, "env.%s=%s/bench/%s.ini", parameter, top != NULL ? top : ".", name);
    int rc = ds_loader_open(id, DS_KIND_ENV, &module, e);
    rc = rc != 0 ? rc : ds_settings_set(&settings, task, e);
    rc = rc != 0 || more == NULL ? rc : ds_settings_set(&settings, more, e);
    rc = rc != 0 ? rc : ds_env_open(module, &settings, 0, 1, NULL, &env, e);
    if (rc != 0) {
        return -1.0;
    }
    double *x = calloc(2 * env->info.n, sizeof *x), best = INFINITY;
    for (uint64_t i = 0; x != NULL && i < env->info.n; i++) {
        x[i] = 0.5 * (env->lower[i] + env->upper[i]);
    }
    for (int round = 0; x != NULL && round < rounds; round++) {
        ds_eval io = {.bad_step = -1,
                      .want = gradient ? DS_WANT_GRAD : 0,
                      .n = env->info.n,
                      .x = x,
                      .grad = gradient ? x + env->info.n : NULL};
        const double start = bench_cpu_s();
        ds_eval_call(env->vt, env->self, &io);
        best = fmin(best, bench_cpu_s() - start);
        *loss = io.loss;
    }
    free(x);
    ds_env_close(env);
    ds_settings_clear(&settings);
    return best;
}

/* A block of jelly thrown onto the floor: 13824 material points, 95 substeps. */
static int bench_particles(ds_error *e)
{
    double loss = 0.0, theirs = 0.0;
    const double best = time_task("particles", "scene", "drop", "env.precision=f32", true, 3, &loss, e);
    const double peer = best > 0.0 ? bench_peer("drop", &theirs) : 0.0;
    const int rc = best > 0.0 ? 0 : DS_EXIT_PLUGIN;
    if (rc != 0 || !(peer > 0.0)) {
        return rc;
    }
    print_row("13824 material points, 95 substeps, loss and gradient, f32", "ms", best, "Taichi, f32", peer);
    return compare_losses("drop", loss, theirs, e);
}

static int bench_robots(ds_error *e)
{
    enum { EPISODES = 20 * ROUNDS };
    double unused;
    const double loss = time_task("robot", "task", "quadruped", NULL, false, EPISODES, &unused, e) / 500,
                 gradient = time_task("robot", "task", "quadruped", NULL, true, EPISODES, &unused, e) / 500,
                 arm = time_task("robot", "task", "arm", NULL, true, EPISODES, &unused, e) / 100;
    if (!(loss > 0.0 && gradient > 0.0 && arm > 0.0)) {
        return DS_EXIT_PLUGIN;
    }
    print_row("a step of the quadruped without contact", "us", loss, "MuJoCo, mj_step",
              bench_peer("quadruped", NULL));
    print_row("the same with gradient", "us", gradient, "diffsim, loss alone", loss);
    print_row("a step of the arm with gradient", "us", arm, "Nimble, PyTorch", bench_peer("arm", NULL));
    return 0;
}

/* ---- CMA-ES ---- */

/* Sampling and update of CMA-ES per evaluation, a sphere of 200 variables, 64 samples. */
static int bench_cma(ds_error *e)
{
    enum { N = 200, LAMBDA = 64, GENERATIONS = 16 };
    const cma_options options = {
        .n = N, .lambda = LAMBDA, .profile = CMA_TUTORIAL, .active = 1, .eigen_share = 0.05};
    static double m[N], x[LAMBDA * N], f[LAMBDA];
    double best = INFINITY;
    cma *c = cma_new(&options);
    if (c == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    ds_random random = ds_random_open(1, "bench", 0);
    for (int i = 0; i < N; i++) {
        m[i] = 1.0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        const double start = bench_cpu_s();
        cma_start(c, m, 0.5);
        for (int g = 0; g < GENERATIONS && cma_sample(c, &random, x) == 0; g++) {
            for (int k = 0; k < LAMBDA; k++) {
                f[k] = cblas_ddot(N, x + k * N, 1, x + k * N, 1);
            }
            cma_update(c, x, f, NULL);
        }
        best = fmin(best, (bench_cpu_s() - start) / (LAMBDA * GENERATIONS));
    }
    cma_free(c);
    print_row("CMA-ES, 200 variables, 64 samples, per evaluation of a sphere", "us", best, "pycma",
              bench_peer("cma", NULL));
    return 0;
}

/* The model that the kernel reports, or that of the instruction set. */
static void print_machine(void)
{
    char line[256], *model = NULL;
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f != NULL && model == NULL && fgets(line, sizeof line, f) != NULL) {
        model = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
    }
    if (f != NULL) {
        fclose(f);
    }
    static const char *const sets[] = {"plain", "baseline", "avx2", "avx512"};
    printf("Processor%s; instruction set %s; kernels of OpenBLAS: %s; one thread.\n\n",
           model != NULL ? strtok(model, "\n") : ": unknown", sets[isa_choose(NULL)],
           openblas_get_corename());
}

int main(void)
{
    static const char *const envs[] = {"cartpole", "pendulum", "bounce"};
    ds_error e = {0};
    int rc = 0;
    openblas_set_num_threads(1);
    print_machine();
    for (size_t i = 0; i < 2 * (sizeof envs / sizeof *envs) && rc == 0; i++) {
        rc = bench_episodes(envs[i / 2], i % 2 == 1, &e);
    }
    rc = rc != 0 ? rc : bench_particles(&e);
    rc = rc != 0 ? rc : bench_robots(&e);
    rc = rc != 0 ? rc : bench_cma(&e);
    if (rc == 0 && rows == 0) {
        printf("No peer is installed: see bench/README.md.\n");
    } else if (rc != 0) {
        fprintf(stderr, "bench_peers: %s\n", e.text);
    }
    return rc;
}
