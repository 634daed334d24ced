/* SPDX-License-Identifier: Apache-2.0 */
/* test_rl.c - networks, losses and whole runs of the optimizers for stepwise control. */
#include "golden.h"
#include "methods/rl/actor_critic.h"
#include "methods/rl/mlp.h"
#include "methods/rl/mlp_loops.h"
#include "methods/rl/soft_actor_critic.h"
#include "methods/rl/stepwise.h"
#include "rl.h"
#include "test.h"

/* ---- networks ---- */

static void fill(size_t count, float *v, ds_random *r)
{
    for (size_t i = 0; i < count; i++) {
        v[i] = (float)ds_random_normal(r);
    }
}

/* In the mode that loop_limit() has set. */
static void check_tanh(void)
{
    enum { EACH = 4096, STEP = 149 };
    static float x[EACH], y_of[EACH];
    double worst = 0;
    for (uint32_t at = 0x30000000; at < 0x41400000; at += EACH * STEP) { /* from 2^-31 to 12 */
        for (uint32_t i = 0; i < EACH; i++) {
            const uint32_t bits = (at + i * STEP) | i << 31;
            memcpy(&x[i], &bits, sizeof bits);
        }
        loop_squash(EACH, x, y_of);
        for (int i = 0; i < EACH; i++) {
            const double t = tanh((double)x[i]), size = fabs((double)(float)t);
            const double unit = size < 1 ? (double)nextafterf((float)size, 2) - size : 0x1p-24;
            worst = fmax(worst, fabs((double)y_of[i] - t) / unit);
        }
    }
    float special[4] = {NAN, INFINITY, -INFINITY, -0.0f}, y[4];
    loop_squash(4, special, y);
    assert_true(isnan(y[0]) && y[1] == 1.0f && y[2] == -1.0f && y[3] == 0.0f && signbit(y[3]));
    print_message("# error of tanh at most %.3g units in the last place\n", worst);
    assert_true(worst <= 2);
}

static void test_tanh(void **state)
{
    check_tanh();
    loop_limit(2, 0);
    check_tanh();
    loop_limit(2, 1);
}

/* Loss sum c_i y_i of a network at w + h direction. */
typedef struct probe {
    mlp net;
    size_t rows;
    float *w, *x, *c, *dw, *dx, *moved;
    mlp_tape tape;
} probe;

static double probe_loss(probe *p, const float *w, const float *x)
{
    const float *y = mlp_forward(&p->net, w, p->rows, x, &p->tape);
    double sum = 0;
    for (size_t i = 0; i < p->rows * p->net.size[p->net.layers]; i++) {
        sum += (double)p->c[i] * (double)y[i];
    }
    return sum;
}

/* Derivative along `d` by central difference, and from the gradient g. */
static void directional(probe *p, int of_input, size_t count, const float *g, const float *d, double h,
                        double *fd, double *exact)
{
    const float *base = of_input ? p->x : p->w;
    double f[2];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < count; i++) {
            p->moved[i] = (float)((double)base[i] + (side ? h : -h) * (double)d[i]);
        }
        f[side] = of_input ? probe_loss(p, p->w, p->moved) : probe_loss(p, p->moved, p->x);
    }
    *fd = (f[1] - f[0]) / (2 * h);
    *exact = 0;
    for (size_t i = 0; i < count; i++) {
        *exact += (double)g[i] * (double)d[i];
    }
}

static void check_network(int activation, size_t hidden_count, size_t rows, double h)
{
    static const size_t hidden[] = {13, 7};
    ds_random r = ds_random_open(3, "mlp", (uint64_t)activation * 10 + hidden_count);
    probe p = {.net = mlp_make(5, hidden_count, hidden, 3, activation), .rows = rows};
    size_t n = p.net.weights, inputs = rows * 5, most = n > inputs ? n : inputs;
    float *d = malloc(most * sizeof *d), *dy = malloc(rows * 3 * sizeof *dy);
    p.w = malloc(n * sizeof(float));
    p.dw = malloc(n * sizeof(float));
    p.x = malloc(inputs * sizeof(float));
    p.dx = malloc(inputs * sizeof(float));
    p.c = malloc(rows * 3 * sizeof(float));
    p.moved = malloc(most * sizeof(float));
    assert_true(mlp_tape_init(&p.tape, &p.net, rows + 4));
    mlp_init_uniform(&p.net, p.w, &r);
    fill(inputs, p.x, &r);
    fill(rows * 3, p.c, &r);
    probe_loss(&p, p.w, p.x);
    memcpy(dy, p.c, rows * 3 * sizeof *dy);
    mlp_backward(&p.net, p.w, rows, p.x, &p.tape, dy, p.dw, p.dx);
    double worst = 0;
    for (int k = 0; k < 20; k++) {
        double fd, exact, norm = 0;
        size_t count = k % 2 ? inputs : n;
        fill(count, d, &r);
        directional(&p, k % 2, count, k % 2 ? p.dx : p.dw, d, h, &fd, &exact);
        for (size_t i = 0; i < count; i++) {
            norm += pow((double)(k % 2 ? p.dx : p.dw)[i], 2);
        }
        worst = fmax(worst, fabs(fd - exact) / sqrt(norm));
    }
    print_message("# network, activation %d, %d hidden layers: %.2g\n", activation, (int)hidden_count, worst);
    assert_true(worst < 1e-2);
    mlp_tape_free(&p.tape);
    float *all[] = {d, dy, p.w, p.dw, p.x, p.dx, p.c, p.moved};
    for (size_t i = 0; i < 8; i++) {
        free(all[i]);
    }
}

static void test_network_gradients(void **state)
{
    for (size_t hidden = 0; hidden <= 2; hidden++) {
        check_network(MLP_TANH, hidden, 6, 2e-3);
        check_network(MLP_RELU, hidden, 6, 2e-4);
        check_network(MLP_TANH, hidden, 1, 2e-3);
    }
}

static void test_orthogonal(void **state)
{
    static const size_t hidden[] = {16, 40};
    ds_random r = ds_random_open(1, "orthogonal", 0);
    mlp net = mlp_make(9, 2, hidden, 2, MLP_TANH);
    float *w = malloc(net.weights * sizeof *w);
    assert_true(mlp_init_orthogonal(&net, w, sqrt(2), 0.01, &r));
    for (int l = 0; l < net.layers; l++) {
        size_t in = net.size[l], out = net.size[l + 1], rows = in < out ? in : out,
               length = in < out ? out : in;
        double gain = l + 1 < net.layers ? 2 : 1e-4;
        const float *m = w + mlp_matrix(&net, l);
        for (size_t i = 0; i < rows; i++) {
            for (size_t k = 0; k < rows; k++) {
                double dot = 0;
                for (size_t j = 0; j < length; j++) {
                    dot += in < out ? (double)m[j * in + i] * (double)m[j * in + k]
                                    : (double)m[i * in + j] * (double)m[k * in + j];
                }
                assert_true(fabs(dot - (i == k ? gain : 0)) < 1e-6 * gain);
            }
        }
        for (size_t i = 0; i < out; i++) {
            assert_true(w[mlp_bias(&net, l) + i] == 0.0f);
        }
    }
    free(w);
}

/* ---- PPO ---- */

static void test_advantages(void **state)
{
    enum { N = 7 };
    double reward[N], value[N], a[N], target[N], sum = 0;
    ds_random r = ds_random_open(1, "gae", 0);
    for (int i = 0; i < N; i++) {
        reward[i] = ds_random_normal(&r);
        value[i] = ds_random_normal(&r);
    }
    advantage_estimate(N, reward, value, 0.7, 0.9, 1.0, a, target); /* lambda = 1: return minus value */
    sum = 0.7;
    for (int i = N - 1; i >= 0; i--) {
        sum = reward[i] + 0.9 * sum;
        assert_true(fabs(a[i] - (sum - value[i])) < 1e-12);
        assert_true(fabs(target[i] - sum) < 1e-12);
    }
    advantage_estimate(N, reward, value, 0.7, 0.9, 0.0, a, target); /* lambda = 0: one step */
    for (int i = 0; i < N; i++) {
        double next = i + 1 < N ? value[i + 1] : 0.7;
        assert_true(fabs(a[i] - (reward[i] + 0.9 * next - value[i])) < 1e-12);
    }
}

enum { ROWS = 24, OBS = 4, ACT = 2 };

typedef struct ppo_case {
    actor_critic ac;
    ppo_coefficients c;
    float obs[ROWS * OBS], action[ROWS * ACT];
    double density[ROWS], advantage[ROWS], kept[ROWS], target[ROWS], old[ROWS];
} ppo_case;

static ppo_minibatch minibatch(ppo_case *p)
{
    memcpy(p->advantage, p->kept, sizeof p->advantage);
    return (ppo_minibatch){ROWS, p->obs, p->action, p->density, p->advantage, p->target, p->old};
}

static void make_ppo_case(ppo_case *p, int sde, ds_random *r)
{
    actor_critic_shape shape = {
        .obs = OBS, .act = ACT, .hidden_count = 2, .hidden = {12, 9}, .sde = sde, .log_std = -0.3};
    assert_true(actor_critic_init(&p->ac, &shape, ROWS, r));
    fill(p->ac.policy.weights, p->ac.w, r); /* so that all parts of the gradient matter */
    for (size_t i = 0; i < p->ac.policy.weights; i++) {
        p->ac.w[i] *= 0.4f;
    }
    fill(ROWS * OBS, p->obs, r);
    const float *mean = actor_critic_policy(&p->ac, ROWS, p->obs);
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < ACT; k++) {
            p->action[i * ACT + k] =
                (float)((double)mean[i * ACT + k] + p->ac.deviation[i * ACT + k] * ds_random_normal(r));
        }
        p->density[i] = gaussian_log_density(ACT, p->action + i * ACT, mean + i * ACT,
                                             p->ac.deviation + i * ACT, p->ac.ln_deviation + i * ACT);
        p->kept[i] = ds_random_normal(r);
        p->target[i] = ds_random_normal(r);
    }
    const float *value = actor_critic_value(&p->ac, ROWS, p->obs);
    for (int i = 0; i < ROWS; i++) {
        p->old[i] = (double)value[i] + 0.3 * ds_random_normal(r);
    }
    p->c = (ppo_coefficients){.clip = 0.2, .entropy = 0.05, .value = 0.5, .normalise = 1};
}

/* ratio = 1 and divergence 0 where the policy has not changed. */
static void test_ppo_start(void **state)
{
    ds_random r = ds_random_open(2, "ppo", 0);
    for (int sde = 0; sde < 2; sde++) {
        ppo_case p;
        make_ppo_case(&p, sde, &r);
        ppo_minibatch b = minibatch(&p);
        ppo_terms t = ppo_loss(&p.ac, &p.c, &b);
        assert_true(fabs(t.kl) < 1e-12);
        assert_true(t.clipped == 0);
        assert_true(fabs(t.policy) < 1e-6); /* minus the mean of normalised advantages */
        double mean = 0, square = 0;
        for (int i = 0; i < ROWS; i++) {
            mean += p.advantage[i] / ROWS;
            square += p.advantage[i] * p.advantage[i] / (ROWS - 1);
        }
        assert_true(fabs(mean) < 1e-12 && fabs(square - 1) < 1e-6);
        actor_critic_free(&p.ac);
    }
}

/* Largest error of a gradient against central differences of `loss` along random directions, relative to the
 * gradient's norm. Directions whose quotients at two step sizes differ cross a kink (max, clip, ReLU) and are
 * left out. */
static double gradient_error(size_t n, float *w, const float *g, double h, double (*loss)(void *), void *ctx,
                             ds_random *r)
{
    enum { DIRECTIONS = 24 };
    float *old = malloc(n * sizeof *old), *d = malloc(n * sizeof *d);
    double norm = float_length(n, g), worst = 0;
    int kept = 0;
    memcpy(old, w, n * sizeof *old);
    for (int k = 0; k < DIRECTIONS; k++) {
        double f[4], exact = 0;
        fill(n, d, r);
        for (int side = 0; side < 4; side++) {
            double step = (side % 2 ? h : -h) * (side < 2 ? 1 : 0.5);
            for (size_t i = 0; i < n; i++) {
                w[i] = (float)((double)old[i] + step * (double)d[i]);
            }
            f[side] = loss(ctx);
        }
        for (size_t i = 0; i < n; i++) {
            exact += (double)g[i] * (double)d[i];
        }
        double wide = (f[1] - f[0]) / (2 * h), narrow = (f[3] - f[2]) / h;
        if (fabs(wide - narrow) < 4e-3 * norm) {
            worst = fmax(worst, fabs(wide - exact) / norm);
            kept++;
        }
    }
    memcpy(w, old, n * sizeof *old);
    print_message("# error %.2g in %d of %d directions\n", worst, kept, DIRECTIONS);
    assert_true(kept >= DIRECTIONS / 2);
    free(old);
    free(d);
    return worst;
}

static double ppo_total(void *ctx)
{
    ppo_case *p = ctx;
    ppo_minibatch b = minibatch(p);
    return ppo_loss(&p->ac, &p->c, &b).total;
}

static void check_ppo_gradient(int sde, double clip_value, int half_max, ds_random *r)
{
    ppo_case p;
    make_ppo_case(&p, sde, r);
    p.c.clip_value = clip_value;
    p.c.max_value_loss = half_max;
    for (int i = 0; i < ROWS; i++) {
        p.density[i] += 0.25 * ds_random_normal(r); /* some ratios are clipped */
    }
    ppo_minibatch b = minibatch(&p);
    ppo_terms t = ppo_loss(&p.ac, &p.c, &b);
    assert_true(t.clipped > 0 && t.clipped < 1);
    /* With sde the deviation takes the hidden layers as constant: their gradient is not the derivative of the
     * loss. */
    size_t first = sde ? mlp_matrix(&p.ac.policy, p.ac.policy.layers - 1) : 0, n = p.ac.count - first;
    float *g = malloc(n * sizeof *g);
    memcpy(g, p.ac.g + first, n * sizeof *g);
    print_message("# ppo loss, sde %d, clip_value %g, half_max %d\n", sde, clip_value, half_max);
    assert_true(gradient_error(n, p.ac.w + first, g, 2e-4, ppo_total, &p, r) < 1e-2);
    free(g);
    actor_critic_free(&p.ac);
}

static void test_ppo_gradient(void **state)
{
    ds_random r = ds_random_open(5, "ppo", 1);
    for (int sde = 0; sde < 2; sde++) {
        check_ppo_gradient(sde, 0, 0, &r);
        check_ppo_gradient(sde, 0.2, 0, &r);
        check_ppo_gradient(sde, 0.2, 1, &r);
    }
}

/* ---- SAC ---- */

static void test_squashed_density(void **state)
{
    for (int k = 0; k < 6; k++) { /* the density of a = tanh(x) integrates to 1 over (-1, 1) */
        float head[2] = {(float)k * 0.4f - 1.0f, k % 2 ? -0.7f : 0.2f}, noise, a;
        double sum = 0, d = exp((double)head[1]);
        enum { N = 400000 };
        for (int i = 0; i < N; i++) {
            double at = -1 + 2 * (i + 0.5) / N;
            noise = (float)((atanh(at) - (double)head[0]) / d);
            sum += exp(squashed_log_density(1, head, &noise, SAC_CLAMP, &a)) * 2 / N;
        }
        assert_true(fabs(sum - 1) < 2e-3);
    }
}

enum { BATCH = 32 };

typedef struct sac_case {
    soft_actor_critic nets;
    sac_minibatch b;
    float obs[BATCH * OBS], action[BATCH * ACT], reward[BATCH], next[BATCH * OBS], end[BATCH];
    int which; /* 0, 1 = critics, 2 = actor */
} sac_case;

static void make_sac_case(sac_case *s, int log_std, int full, ds_random *r)
{
    sac_shape shape = {.obs = OBS,
                       .act = ACT,
                       .batch = BATCH,
                       .hidden_count = 2,
                       .hidden = {16, 12},
                       .activation = MLP_RELU,
                       .log_std = log_std,
                       .full_critic_loss = full,
                       .adam_eps = 1e-8};
    assert_true(sac_init(&s->nets, &shape, 0.3, r));
    fill(BATCH * OBS, s->obs, r);
    fill(BATCH * ACT, s->action, r);
    loop_squash(BATCH * ACT, s->action, s->action);
    fill(BATCH, s->reward, r);
    fill(BATCH * OBS, s->next, r);
    for (int i = 0; i < BATCH; i++) {
        s->end[i] = i % 5 == 0 ? 1.0f : 0.0f;
    }
    s->b = (sac_minibatch){s->obs, s->action, s->reward, s->next, s->end};
}

/* The actor's loss at the current weights with the same random numbers. */
static double actor_loss(sac_case *s, uint64_t seed)
{
    ds_random r = ds_random_open(seed, "noise", 0);
    sac_sample(&s->nets, &s->b, &r);
    return sac_actor_loss(&s->nets, &s->b);
}

static double sac_loss(void *ctx)
{
    sac_case *s = ctx;
    return s->which == 2 ? actor_loss(s, 9) : sac_critic_loss(&s->nets, &s->b, s->which);
}

static void check_sac_gradient(sac_case *s, int which, ds_random *r)
{
    size_t n = which == 2 ? s->nets.actor.weights : s->nets.critic.weights;
    float *w = which == 2 ? s->nets.w_actor : s->nets.w_critic[which];
    float *g = malloc(n * sizeof *g);
    s->which = which;
    sac_loss(s);
    memcpy(g, s->nets.g, n * sizeof *g);
    print_message("# sac %s\n", which == 2 ? "actor" : "critic");
    assert_true(gradient_error(n, w, g, 1e-4, sac_loss, s, r) < 1e-2);
    free(g);
}

static void test_sac_gradients(void **state)
{
    ds_random r = ds_random_open(4, "sac", 0);
    for (int k = 0; k < 2; k++) {
        sac_case s;
        make_sac_case(&s, k ? SAC_TANH : SAC_CLAMP, k, &r);
        sac_sample(&s.nets, &s.b, &r);
        sac_targets(&s.nets, &s.b, 0.9);
        for (int i = 0; i < BATCH; i += 5) { /* terminal: the reward alone */
            assert_true(s.nets.target[i] == s.reward[i]);
        }
        for (int which = 0; which < 3; which++) {
            check_sac_gradient(&s, which, &r);
        }
        sac_free(&s.nets);
    }
}

static void test_sac_temperature(void **state)
{
    ds_random r = ds_random_open(6, "sac", 1);
    sac_case s;
    make_sac_case(&s, SAC_CLAMP, 0, &r);
    sac_sample(&s.nets, &s.b, &r);
    double entropy = 0;
    for (int i = 0; i < BATCH; i++) {
        entropy -= s.nets.log_density[i] / BATCH;
    }
    /* ln alpha descends: it rises while the entropy is below its target. */
    for (int form = 0; form < 2; form++) {
        assert_true(sac_alpha_slope(&s.nets, entropy + 1, form) < 0);
        assert_true(sac_alpha_slope(&s.nets, entropy - 1, form) > 0);
    }
    float_average(s.nets.critic.weights, 1.0, s.nets.w_critic[1], s.nets.w_target[0]);
    assert_memory_equal(s.nets.w_target[0], s.nets.w_critic[1], s.nets.critic.weights * sizeof(float));
    sac_free(&s.nets);
}

static void test_buffer(void **state)
{
    replay_buffer b;
    ds_random r = ds_random_open(1, "buffer", 0);
    float obs[64], action[64], reward[64], next[64], end[64];
    assert_true(replay_buffer_init(&b, 1, 1, 10));
    for (int i = 0; i < 25; i++) {
        float v = (float)i, w = v + 1.0f, a = -v;
        replay_buffer_add(&b, &v, &a, 2 * i, &w, i % 2);
    }
    assert_int_equal(b.count, 10);
    replay_buffer_draw(&b, 64, 0.5, &r, obs, action, reward, next, end);
    for (int i = 0; i < 64; i++) {
        assert_true(obs[i] >= 15 && obs[i] <= 24 && action[i] == -obs[i] && reward[i] == obs[i]);
        assert_true(next[i] == obs[i] + 1 && end[i] == (float)((int)obs[i] % 2));
    }
    replay_buffer_free(&b);
}

/* ---- whole runs ---- */

#define GYM "env.variant=gym env.start=random"
#define SMALL_SAC "opt.hidden=16,16 opt.batch=32 opt.learning_starts=100"

static void assert_sound(const fake_rl *f)
{
    assert_int_equal(f->create_status, DS_OK);
    assert_int_equal(f->status, DS_STOPPED);
    assert_int_equal(f->broken, 0);
    assert_int_equal(f->begun, f->budget);
    for (uint64_t i = 0; i < f->begun; i++) {
        assert_true(f->rows[i].steps > 0); /* every episode ended */
    }
}

/* Budget to the last episode, 20 % failing ones, two equal runs, and all failing. */
static void stands(const char *opt, const char *settings, const char *env, const char *env_settings)
{
    fake_rl f = {.env = env, .env_settings = env_settings, .opt = opt, .opt_settings = settings};
    f.budget = 23;
    f.seed = 3;
    f.failure_rate = 0.2;
    assert_true(fake_rl_run(&f));
    assert_sound(&f);
    double best = INFINITY;
    uint64_t failed = 0;
    for (uint64_t i = 0; i < f.begun; i++) {
        best = fmin(best, f.rows[i].loss);
        failed += f.rows[i].outcome != DS_EVAL_OK;
    }
    assert_true(isfinite(best) && failed > 0);
    fake_rl again = f;
    again.rows = NULL;
    again.begun = again.steps = 0;
    assert_true(fake_rl_run(&again));
    assert_memory_equal(f.x, again.x, f.begun * f.n * sizeof(double));
    fake_rl_free(&again);
    fake_rl_free(&f);
    f.begun = f.steps = 0;
    f.failure_rate = 1;
    assert_true(fake_rl_run(&f));
    assert_sound(&f);
    fake_rl_free(&f);
    f.begun = f.steps = 0;
    f.failure_rate = 0;
    f.stop_after = 150;
    assert_true(fake_rl_run(&f));
    assert_int_equal(f.status, DS_STOPPED);
    assert_true(f.begun < f.budget);
    fake_rl_free(&f);
}

static void test_ppo_runs(void **state)
{
    stands("ppo", "opt.episodes=5", "pendulum", "");
    stands("ppo",
           "opt.envs=3 opt.n_steps=64 opt.minibatch=50 opt.end=truncate opt.evaluate_every=4 "
           "opt.evaluate_episodes=3 opt.sde=true",
           "pendulum", GYM);
    stands(
        "ppo",
        "opt.episodes=4 opt.normalise_reward=true opt.clip_value=0.2 opt.value_loss=half_max opt.time=false "
        "opt.entropy=0.01 opt.activation=relu opt.sde=true opt.sde_every=0",
        "cartpole", "env.steps=20");
}

static void test_sac_runs(void **state)
{
    stands("sac", SMALL_SAC, "pendulum", "");
    stands("sac",
           SMALL_SAC
           " opt.actor_every=2 opt.actor_updates=2 opt.critic_loss=full opt.alpha_loss=alpha "
           "opt.evaluate_every=5 opt.evaluate_episodes=2 opt.log_std=clamp opt.train_every=3 opt.updates=2",
           "cartpole", "env.steps=40");
    stands("sac",
           SMALL_SAC " opt.auto_alpha=false opt.alpha=0.2 opt.buffer=100 opt.end=truncate opt.time=false "
                     "opt.target_every=2 opt.activation=tanh",
           "pendulum", GYM);
}

/* The actions of an optimizer with these settings; free() them. */
static double *actions(const char *opt, const char *settings, const char *end, const char *env)
{
    char text[200];
    snprintf(text, sizeof text, "%s %s", settings, end);
    fake_rl f = {
        .env = "pendulum", .env_settings = env, .opt = opt, .opt_settings = text, .budget = 12, .seed = 2};
    assert_true(fake_rl_run(&f));
    assert_sound(&f);
    double *x = f.x;
    f.x = NULL;
    fake_rl_free(&f);
    return x;
}

/* Where the environment's horizon is a time limit the value after it counts, otherwise not; `end` overrides
 * it. */
static void test_ends(void **state)
{
    static const char *const opts[][2] = {{"ppo", "opt.episodes=4"}, {"sac", SMALL_SAC}};
    static const struct {
        const char *env;
        size_t steps;
        int limit;
    } envs[] = {{"env.variant=gym", 200, 1}, {"", 60, 0}};
    for (size_t i = 0; i < 4; i++) {
        const char *const *opt = opts[i / 2], *env = envs[i % 2].env;
        size_t bytes = 12 * envs[i % 2].steps * sizeof(double);
        double *x[3] = {actions(opt[0], opt[1], "", env), actions(opt[0], opt[1], "opt.end=truncate", env),
                        actions(opt[0], opt[1], "opt.end=terminate", env)};
        assert_memory_not_equal(x[1], x[2], bytes);
        assert_memory_equal(x[0], envs[i % 2].limit ? x[1] : x[2], bytes);
        for (size_t k = 0; k < 3; k++) {
            free(x[k]);
        }
    }
}

/* Minibatches and passes of ppo where they are automatic, for episodes of 200 steps. More lanes than episodes
 * change nothing. */
static void test_minibatches(void **state)
{
    static const struct {
        const char *automatic, *given;
        int same;
    } cases[] = {
        {"opt.episodes=5", "opt.episodes=5 opt.minibatch=17", 1},
        {"opt.episodes=5", "opt.episodes=5 opt.envs=64", 1},
        {"opt.episodes=1", "opt.episodes=1 opt.minibatch=17 opt.epochs=10", 1},
        {"opt.episodes=8 opt.minibatch=25", "opt.episodes=8 opt.minibatch=25 opt.epochs=2", 1},
        {"opt.episodes=5", "opt.episodes=5 opt.epochs=2", 0}, /* between 2 and 3 */
        {"opt.episodes=5", "opt.episodes=5 opt.epochs=3", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double *x = actions("ppo", cases[i].automatic, "", "env.variant=gym"),
               *y = actions("ppo", cases[i].given, "", "env.variant=gym");
        const int same = memcmp(x, y, 12 * 200 * sizeof *x) == 0;
        print_message("# ppo, %s and %s\n", cases[i].automatic, cases[i].given);
        assert_int_equal(same, cases[i].same);
        free(x);
        free(y);
    }
}

/* A short check that it learns at all; slow_rl compares recorded returns. */
static void test_learning(void **state)
{
    fake_rl f = {.env = "pendulum", .env_settings = GYM, .opt = "ppo", .budget = 300, .seed = 1};
    double first = 0, last = 0;
    f.opt_settings =
        "opt.time=false opt.end=truncate opt.reward_scale=1 opt.envs=4 opt.n_steps=1024 "
        "opt.minibatch=64 opt.epochs=10 opt.lr=1e-3 opt.gamma=0.9 opt.anneal=false opt.log_std=0 "
        "opt.action_range=2 opt.normalise_obs=false opt.target_kl=0 opt.sde=true";
    assert_true(fake_rl_run(&f));
    assert_sound(&f);
    for (int i = 0; i < 40; i++) {
        first -= f.rows[i].loss / 40;
        last -= f.rows[f.begun - 1 - (uint64_t)i].loss / 40;
    }
    print_message("# mean return of the first and of the last 40 of 300 episodes: %.0f, %.0f\n", first, last);
    assert_true(last > -450 && first < -900);
    fake_rl_free(&f);
}

RUN_TESTS(test_tanh, test_network_gradients, test_orthogonal, test_advantages, test_ppo_start,
          test_ppo_gradient, test_squashed_density, test_sac_gradients, test_sac_temperature, test_buffer,
          test_ppo_runs, test_sac_runs, test_ends, test_minibatches, test_learning)
