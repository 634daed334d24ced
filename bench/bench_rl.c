/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rl.c - CPU time of one gradient step of soft actor-critic and of the critic of shac, with the time of
 * their matrix products alone, and of ppo per 1000 steps of the pendulum including the environment. It
 * depends on the kernels that OpenBLAS chooses for the processor or that OPENBLAS_CORETYPE names. */
#include "bench/bench.h"
#include "methods/base/blas.h"
#include "methods/rl/mlp.h"
#include "methods/rl/soft_actor_critic.h"
#include "rl.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBS = 3, ACT = 1, BATCH = 256, PASSES = 16 };

/* What Stable-Baselines3 takes on this machine, where it is installed. */
static void print_peer(const char *work, double ours)
{
    const double peer = bench_peer_s(work);
    if (peer > 0) {
        printf("; Stable-Baselines3 %.2f ms, ratio %.3f", 1e3 * peer, ours / peer);
    }
    printf("\n");
}

/* As gradient_step() of sac.c. */
static void gradient_step(soft_actor_critic *s, const sac_minibatch *b, ds_random *r)
{
    sac_sample(s, b, r);
    sac_targets(s, b, 0.99);
    for (int i = 0; i < 2; i++) {
        sac_critic_loss(s, b, i);
        float_adam_step(&s->adam_critic[i], 1e-3, 1.0, s->g, s->w_critic[i]);
    }
    float slope = (float)sac_alpha_slope(s, -1.0, SAC_LN_ALPHA);
    sac_actor_loss(s, b);
    float_adam_step(&s->adam_actor, 1e-3, 1.0, s->g, s->w_actor);
    float_adam_step(&s->adam_alpha, 1e-3, 1.0, &slope, &s->ln_alpha);
    for (int i = 0; i < 2; i++) {
        float_average(s->critic.weights, 0.005, s->w_critic[i], s->w_target[i]);
    }
}

/* The products between the hidden layers: forward 8 times, weights and inputs 4 times each. */
static double products(int width)
{
    size_t most = (size_t)(BATCH > width ? BATCH : width) * (size_t)width;
    float *a = calloc(3 * most, sizeof *a), *b = a + most, *c = b + most;
    double best = INFINITY;
    for (int k = 0; k < 20; k++) {
        double t = bench_cpu_s();
        for (int i = 0; i < PASSES; i++) {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, BATCH, width, width, 1.0f, a, width, b,
                        width, 0.0f, c, width);
        }
        best = fmin(best, bench_cpu_s() - t);
    }
    free(a);
    return best;
}

static void bench_sac(size_t width, const char *peer)
{
    sac_shape shape = {.obs = OBS, .act = ACT, .batch = BATCH, .hidden_count = 2, .hidden = {width, width}};
    shape.activation = MLP_RELU;
    shape.adam_eps = 1e-8;
    ds_random r = ds_random_open(1, "bench", width);
    soft_actor_critic s;
    static float obs[BATCH * OBS], next[BATCH * OBS], action[BATCH * ACT], reward[BATCH], end[BATCH];
    for (int i = 0; i < BATCH * OBS; i++) {
        obs[i] = (float)ds_random_normal(&r);
        next[i] = (float)ds_random_normal(&r);
    }
    sac_minibatch b = {obs, action, reward, next, end};
    sac_init(&s, &shape, 1.0, &r);
    double best = INFINITY;
    int repeats = width > 100 ? 20 : 100;
    for (int round = 0; round < 8; round++) {
        double t = bench_cpu_s();
        for (int i = 0; i < repeats; i++) {
            gradient_step(&s, &b, &r);
        }
        best = fmin(best, (bench_cpu_s() - t) / repeats);
    }
    double alone = products((int)width);
    printf("sac gradient step, %zu-%zu, batch %d: %.2f ms; matrix products alone %.2f ms, ratio %.2f", width,
           width, BATCH, 1e3 * best, 1e3 * alone, best / alone);
    print_peer(peer, best);
    sac_free(&s);
}

static void bench_ppo(void)
{
    fake_rl f = {.env = "pendulum",
                 .env_settings = "env.variant=gym env.start=random",
                 .opt = "ppo",
                 .opt_settings =
                     "opt.time=false opt.end=truncate opt.reward_scale=1 opt.envs=4 opt.n_steps=1024 "
                     "opt.minibatch=64 opt.epochs=10 opt.lr=1e-3 opt.gamma=0.9 opt.anneal=false "
                     "opt.normalise_obs=false opt.target_kl=0",
                 .budget = 200};
    const double start = bench_cpu_s();
    if (fake_rl_run(&f)) {
        const double each = 1e3 * (bench_cpu_s() - start) / (double)f.steps;
        printf("ppo, 4 envs x 1024, batch 64, 10 epochs, 64-64: %.1f ms per 1000 steps", 1e3 * each);
        print_peer("ppo", each);
        fake_rl_free(&f);
    }
}

/* A step of the critic of shac: a minibatch of a quarter of 16 lanes x 32 steps forward and backward through
 * two hidden layers of tanh, clipping and Adam; and its matrix products alone. */
static void bench_critic(size_t width)
{
    enum { IN = 6, ROWS = 128, REPEATS = 200 };
    const size_t hidden[2] = {width, width};
    const mlp net = mlp_make(IN, 2, hidden, 1, MLP_TANH);
    static float x[ROWS * IN], dy[ROWS];
    float *w = calloc(2 * net.weights, sizeof *w), *g = w + net.weights,
          *a = calloc(3 * ROWS * width, sizeof *a);
    mlp_tape tape = {0};
    float_adam adam = {0};
    ds_random r = ds_random_open(1, "bench critic", width);
    double step = INFINITY, products = INFINITY;
    if (w == NULL || a == NULL || !mlp_tape_init(&tape, &net, ROWS) ||
        !float_adam_init(&adam, net.weights, 1e-8)) {
        return;
    }
    for (int i = 0; i < ROWS * IN; i++) {
        x[i] = (float)ds_random_normal(&r);
        dy[i % ROWS] = x[i];
    }
    adam.beta1 = 0.7; /* as shac has them */
    adam.beta2 = 0.95;
    mlp_init_uniform(&net, w, &r);
    for (int round = 0; round < 8; round++) {
        double t = bench_cpu_s();
        for (int i = 0; i < REPEATS; i++) {
            mlp_forward(&net, w, ROWS, x, &tape);
            mlp_backward(&net, w, ROWS, x, &tape, dy, g, NULL);
            const double norm = float_length(net.weights, g);
            float_adam_step(&adam, 1e-3, norm > 1 ? 1 / norm : 1.0, g, w);
        }
        step = fmin(step, (bench_cpu_s() - t) / REPEATS);
        t = bench_cpu_s();
        for (int i = 0; i < 3 * REPEATS; i++) { /* forward; backward to the inputs, and to the weights */
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, ROWS, (int)width, (int)width, 1.0f, a,
                        (int)width, w, (int)width, 0.0f, a + 2 * ROWS * width, (int)width);
        }
        products = fmin(products, (bench_cpu_s() - t) / REPEATS);
    }
    printf("shac critic step, %zu-%zu, batch %d: %.3f ms; matrix products alone %.3f ms, ratio %.2f\n", width,
           width, ROWS, 1e3 * step, 1e3 * products, step / products);
    float_adam_free(&adam);
    mlp_tape_free(&tape);
    free(a);
    free(w);
}

/* Whether the row is wanted: all rows without arguments. */
static bool wanted(int argc, char **argv, const char *row)
{
    bool found = argc < 2;
    for (int i = 1; i < argc; i++) {
        found |= strcmp(argv[i], row) == 0;
    }
    return found;
}

int main(int argc, char **argv)
{
    openblas_set_num_threads(1);
    printf("OpenBLAS kernels: %s\n", openblas_get_corename());
    if (wanted(argc, argv, "sac-256")) {
        bench_sac(256, "sac-256");
    }
    if (wanted(argc, argv, "sac-64")) {
        bench_sac(64, "sac-64");
    }
    if (wanted(argc, argv, "ppo")) {
        bench_ppo();
    }
    if (wanted(argc, argv, "shac-64")) {
        bench_critic(64);
    }
    if (wanted(argc, argv, "shac-256")) {
        bench_critic(256);
    }
    return 0;
}
