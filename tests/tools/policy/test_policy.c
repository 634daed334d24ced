/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy.c - policies in files: reading gives the network that ppo and sac act with, the formula of
 * docs/optimizers.md gives the same action, and a file that is incomplete or inconsistent is refused with one
 * line. */
#include "methods/rl/actor_critic.h"
#include "methods/rl/policy_file.h"
#include "methods/rl/soft_actor_critic.h"
#include "policy/npz_read.h"
#include "policy/policy.h"
#include "test.h"

enum { OBS = 5, ACT = 3, FEATURES = OBS + 1, HORIZON = 40, TRIES = 50 };

/* A network and an environment that fits it. */
typedef struct learner {
    ds_steps_info info;
    ds_objective_steps episodes;
    ds_problem problem;
    stepwise s;
    double lower[HORIZON * ACT], upper[HORIZON * ACT];
    running_moments moments[FEATURES];
    policy_parts parts;
    actor_critic ac;
    soft_actor_critic sac;
    ds_objective_files files;
    ds_host host;
} learner;

/* Bounds are the same in all steps, or differ. */
static void learner_open(learner *l, int same)
{
    memset(l, 0, sizeof *l);
    l->info = (ds_steps_info){.struct_size = sizeof l->info, .horizon = HORIZON, .n_act = ACT, .n_obs = OBS};
    l->episodes.info = &l->info;
    for (size_t i = 0; i < HORIZON * ACT; i++) {
        l->lower[i] = -1.0 - (double)(i % ACT) - (same ? 0.0 : 0.01 * (double)i);
        l->upper[i] = 2.0 + (double)(i % ACT);
    }
    l->problem.lower = l->lower;
    l->problem.upper = l->upper;
    l->s = (stepwise){.problem = &l->problem,
                      .host = {.host = &l->host, .episodes = &l->episodes, .info = &l->info},
                      .horizon = HORIZON,
                      .act = ACT,
                      .obs = FEATURES,
                      .time = 1,
                      .range = 1.0};
    l->files = (ds_objective_files){.env = "tube", .env_version = "3", .env_settings = "speed = 2\n"};
    l->host.seed = 9;
}

static void learner_close(learner *l)
{
    actor_critic_free(&l->ac);
    sac_free(&l->sac);
}

static void scatter(size_t count, float *w, ds_random *r)
{
    for (size_t i = 0; i < count; i++) {
        w[i] += (float)(0.3 * ds_random_normal(r));
    }
}

static void learn_ppo(learner *l, int activation, int sde, int normalise)
{
    ds_random r = ds_random_open(4, "test", 0);
    const actor_critic_shape shape = {.obs = FEATURES,
                                      .act = ACT,
                                      .hidden_count = 2,
                                      .hidden = {17, 12},
                                      .activation = activation,
                                      .sde = sde,
                                      .log_std = -1.0};
    assert_true(actor_critic_init(&l->ac, &shape, 1, &r));
    scatter(l->ac.count, l->ac.w, &r);
    for (size_t k = 0; k < FEATURES; k++) {
        for (int i = 0; i < 20; i++) {
            running_moments_add(&l->moments[k], (double)k + ds_random_normal(&r));
        }
    }
    l->s.range = 1.5;
    l->parts = (policy_parts){.method = "ppo",
                              .version = "0.2",
                              .net = &l->ac.policy,
                              .w = l->ac.w,
                              .squash = "clip",
                              .moments = normalise ? l->moments : NULL,
                              .limit = 2.0,
                              .log_std = l->ac.log_std,
                              .log_std_rows = sde ? l->ac.latent : 1,
                              .noise = sde ? "sde" : "plain"};
}

static void learn_sac(learner *l, int activation, int log_std)
{
    ds_random r = ds_random_open(5, "test", 0);
    const sac_shape shape = {.obs = FEATURES,
                             .act = ACT,
                             .batch = 1,
                             .hidden_count = 2,
                             .hidden = {11, 19},
                             .activation = activation,
                             .log_std = log_std};
    assert_true(sac_init(&l->sac, &shape, 1.0, &r));
    scatter(l->sac.actor.weights, l->sac.w_actor, &r);
    l->parts = (policy_parts){.method = "sac",
                              .version = "0.2",
                              .net = &l->sac.actor,
                              .w = l->sac.w_actor,
                              .squash = "tanh",
                              .noise = log_std == SAC_TANH ? "tanh" : "clamp"};
}

static void make(const learner *l, ds_npz_memory *z)
{
    const policy_moment now = {.evaluations = 77, .episodes = 4, .loss = 0.25};
    memset(z, 0, sizeof *z);
    assert_true(policy_file_make(z, &l->parts, &l->s, &l->files, &l->host, &now));
}

static void *copy_of(const ds_npz_memory *z)
{
    void *data = malloc(z->bytes);
    assert_non_null(data);
    memcpy(data, z->data, z->bytes);
    return data;
}

static void must_read(const learner *l, ds_policy *p)
{
    ds_npz_memory z;
    ds_error e = {0, ""};
    make(l, &z);
    if (ds_policy_parse(p, copy_of(&z), z.bytes, "policy.npz", &e) != 0) {
        fail_msg("%s", e.text);
    }
    ds_npz_free(&z);
}

/* ---- the network that acts ---- */

/* The features that the optimizers compute from an observation. */
static void features(const learner *l, const double *obs, uint64_t step, float *out)
{
    for (size_t k = 0; k < FEATURES; k++) {
        out[k] = k < OBS ? (float)obs[k] : (float)((double)step / HORIZON);
        if (l->parts.moments) {
            out[k] = (float)running_moments_normal(&l->moments[k], (double)out[k], l->parts.limit);
        }
    }
}

static double to_units(const learner *l, uint64_t step, size_t k, double a)
{
    const double u = 0.5 * (fmin(fmax(a / l->s.range, -1.0), 1.0) + 1.0);
    return (1.0 - u) * l->lower[step * ACT + k] + u * l->upper[step * ACT + k];
}

/* The mean action of the optimizer, and the standard deviation of its actions. */
static void act(learner *l, const double *obs, uint64_t step, double *action, double *deviation)
{
    float z[FEATURES], a[ACT];
    features(l, obs, step, z);
    if (strcmp(l->parts.method, "ppo") == 0) {
        const float *mean = actor_critic_policy(&l->ac, 1, z);
        memcpy(a, mean, sizeof a);
        memcpy(deviation, l->ac.deviation, ACT * sizeof *deviation);
    } else {
        sac_act(&l->sac, z, NULL, a);
    }
    for (size_t k = 0; k < ACT; k++) {
        action[k] = to_units(l, step, k, (double)a[k]);
    }
}

static void compare(learner *l)
{
    ds_policy p;
    ds_random r = ds_random_open(6, "test", 0);
    double worst = 0.0, largest = 0.0, least = 0.0;
    must_read(l, &p);
    for (int i = 0; i < TRIES; i++) {
        double obs[OBS], action[ACT], wanted[ACT], deviation[ACT];
        uint64_t step = (uint64_t)i * 7 % HORIZON;
        for (size_t k = 0; k < OBS; k++) {
            obs[k] = 2.0 * ds_random_normal(&r) + (double)k;
        }
        act(l, obs, step, wanted, deviation);
        ds_policy_act(&p, obs, step, HORIZON, NULL, action);
        for (size_t k = 0; k < ACT; k++) {
            worst = fmax(worst, fabs(action[k] - wanted[k]));
            largest = fmax(largest, wanted[k]);
            least = fmin(least, wanted[k]);
        }
    }
    assert_true(worst < 2e-6); /* in single precision */
    assert_true(largest > 0.5 && least < -0.5);
    ds_policy_free(&p);
}

static void test_same_network(void **state)
{
    for (int k = 0; k < 12; k++) {
        learner l;
        learner_open(&l, k % 3 != 0);
        if (k < 8) {
            learn_ppo(&l, k & 1 ? MLP_RELU : MLP_TANH, k >> 1 & 1, k >> 2 & 1);
        } else {
            learn_sac(&l, k & 1 ? MLP_RELU : MLP_TANH, k & 2 ? SAC_CLAMP : SAC_TANH);
        }
        compare(&l);
        learner_close(&l);
    }
}

/* Random actions have the mean and deviation of those of the optimizer. */
static void test_noise(void **state)
{
    for (int sde = 0; sde < 2; sde++) {
        enum { DRAWS = 20000 };
        learner l;
        ds_policy p;
        ds_random r = ds_random_open(7, "test", 0);
        const double obs[OBS] = {0.1, 0.9, 2.2, 2.8, 4.0};
        double mean[ACT], deviation[ACT], action[ACT], sum = 0.0, squares = 0.0;
        learner_open(&l, 1);
        learn_ppo(&l, MLP_TANH, sde, 1);
        l.s.range = 50.0; /* nothing is clipped */
        must_read(&l, &p);
        act(&l, obs, 3, mean, deviation);
        for (int i = 0; i < DRAWS; i++) {
            ds_policy_act(&p, obs, 3, HORIZON, &r, action);
            sum += action[1] - mean[1];
            squares += (action[1] - mean[1]) * (action[1] - mean[1]);
        }
        const double unit = 0.5 * (l.upper[1] - l.lower[1]) / l.s.range * deviation[1];
        assert_near(sum / DRAWS / unit, 0.0, 0.03);
        assert_near(sqrt(squares / DRAWS) / unit, 1.0, 0.03);
        ds_policy_free(&p);
        learner_close(&l);
    }
}

/* ---- the documented formula ---- */

static ds_array array_of(const ds_npz_reader *z, const char *name)
{
    ds_array a;
    ds_error e = {0, ""};
    if (ds_npz_array(z, name, &a, &e) != 0) {
        fail_msg("%s", e.text);
    }
    return a;
}

/* docs/optimizers.md line by line, from the arrays alone. */
static void formula(const ds_npz_reader *z, const double *obs, double t, double *action)
{
    ds_array mean = array_of(z, "obs_mean"), variance = array_of(z, "obs_variance"),
             clip = array_of(z, "obs_clip");
    ds_array layers = array_of(z, "layers"), range = array_of(z, "action_range");
    ds_array lower = array_of(z, "action_lower"), upper = array_of(z, "action_upper");
    char *activation, *squash, name[32];
    double h[64] = {0}, y[64];
    assert_int_equal(ds_npz_text(z, "activation", &activation, NULL), 0);
    assert_int_equal(ds_npz_text(z, "squash", &squash, NULL), 0);
    for (size_t k = 0; k < FEATURES; k++) {
        const double s = k < OBS ? obs[k] : t;
        h[k] = fmin(fmax((s - mean.data[k]) / sqrt(variance.data[k]), -clip.data[0]), clip.data[0]);
    }
    for (int l = 0; l < (int)layers.data[0]; l++) {
        snprintf(name, sizeof name, "weight_%d", l);
        ds_array w = array_of(z, name);
        snprintf(name, sizeof name, "bias_%d", l);
        ds_array b = array_of(z, name);
        for (size_t o = 0; o < w.shape[0]; o++) {
            y[o] = b.data[o];
            for (size_t i = 0; i < w.shape[1]; i++) {
                y[o] += w.data[o * w.shape[1] + i] * h[i];
            }
        }
        for (size_t o = 0; o < w.shape[0]; o++) {
            const int last = l + 1 == (int)layers.data[0];
            h[o] = last ? y[o] : strcmp(activation, "tanh") == 0 ? tanh(y[o]) : fmax(y[o], 0.0);
        }
        ds_array_free(&w);
        ds_array_free(&b);
    }
    for (size_t k = 0; k < ACT; k++) {
        double a = strcmp(squash, "tanh") == 0 ? tanh(h[k]) : h[k];
        a = fmin(fmax(a / range.data[0], -1.0), 1.0);
        action[k] = lower.data[k] + 0.5 * (a + 1.0) * (upper.data[k] - lower.data[k]);
    }
    ds_array *const all[] = {&mean, &variance, &clip, &layers, &range, &lower, &upper};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        ds_array_free(all[i]);
    }
    free(activation);
    free(squash);
}

static void test_formula(void **state)
{
    for (int k = 0; k < 4; k++) {
        learner l;
        ds_policy p;
        ds_npz_memory file;
        ds_npz_reader *z;
        ds_random r = ds_random_open(8, "test", 0);
        learner_open(&l, 1);
        if (k < 2) {
            learn_ppo(&l, k & 1 ? MLP_RELU : MLP_TANH, 0, 1);
        } else {
            learn_sac(&l, k & 1 ? MLP_RELU : MLP_TANH, SAC_TANH);
        }
        must_read(&l, &p);
        make(&l, &file);
        assert_int_equal(ds_npz_parse(copy_of(&file), file.bytes, "x", (size_t)1 << 30, &z, NULL), 0);
        for (int i = 0; i < TRIES; i++) {
            double obs[OBS], action[ACT], wanted[ACT];
            for (size_t c = 0; c < OBS; c++) {
                obs[c] = (double)(float)(2.0 * ds_random_normal(&r) + (double)c);
            }
            formula(z, obs, 0.5, wanted);
            ds_policy_act(&p, obs, HORIZON / 2, HORIZON, NULL, action);
            for (size_t c = 0; c < ACT; c++) {
                assert_near(action[c], wanted[c], 1e-12);
            }
        }
        ds_npz_reader_free(z);
        ds_npz_free(&file);
        ds_policy_free(&p);
        learner_close(&l);
    }
}

static void test_texts(void **state)
{
    learner l;
    ds_policy p;
    learner_open(&l, 1);
    learn_ppo(&l, MLP_TANH, 0, 1);
    l.files.env_settings = "path = /home/m\xc3\xbcller/\xe2\x82\xac/\xf0\x9f\x98\x80.npy\nn = 3\n";
    must_read(&l, &p);
    assert_string_equal(p.method, "ppo");
    assert_string_equal(p.method_version, "0.2");
    assert_string_equal(p.env, "tube");
    assert_string_equal(p.env_version, "3");
    assert_string_equal(p.env_settings, l.files.env_settings);
    assert_int_equal(p.evaluations, 77);
    ds_policy_free(&p);
    learner_close(&l);
}

/* ---- files that are wrong ---- */

/* A small policy of one layer, with one array missing or changed. */
typedef struct change {
    const char *name, *word; /* name of the array; text expected in the message */
    const char *descr;       /* NULL = left out */
    uint32_t ndim;
    uint64_t shape[2];
    double number[4];
    const char *text;
} change;

static void put(ds_npz_memory *z, const change *c, const char *name, const char *descr, uint32_t ndim,
                uint64_t rows, uint64_t columns, const double *data)
{
    const uint64_t shape[2] = {rows, columns};
    if (c == NULL || strcmp(c->name, name) != 0) {
        ds_npz_put(z, name, descr, ndim, shape, data);
    } else if (c->descr != NULL) {
        ds_npz_put(z, name, c->descr, c->ndim, c->shape, c->number);
    }
}

static void put_text(ds_npz_memory *z, const change *c, const char *name, const char *text)
{
    const int changed = c != NULL && strcmp(c->name, name) == 0;
    if (changed && c->descr != NULL) {
        ds_npz_put(z, name, c->descr, c->ndim, c->shape, c->number);
    } else if (!changed || c->text != NULL) {
        ds_npz_put_text(z, name, changed ? c->text : text);
    }
}

static void make_small(ds_npz_memory *z, const change *c)
{
    static const double one = 1.0, two = 2.0, zeros[4] = {0}, ones[4] = {1, 1, 1, 1}, minus = -1.0;
    memset(z, 0, sizeof *z);
    put_text(z, c, "format", "diffsim policy 1");
    put_text(z, c, "method", "mine");
    put_text(z, c, "method_version", "1");
    put_text(z, c, "env", "tube");
    put_text(z, c, "env_version", "3");
    put_text(z, c, "env_settings", "");
    put_text(z, c, "activation", "tanh");
    put_text(z, c, "squash", "clip");
    put_text(z, c, "noise", "plain");
    put(z, c, "n_obs", "<f8", 0, 0, 0, &two);
    put(z, c, "n_act", "<f8", 0, 0, 0, &one);
    put(z, c, "time", "<f8", 0, 0, 0, zeros);
    put(z, c, "evaluations", "<f8", 0, 0, 0, &one);
    put(z, c, "obs_mean", "<f8", 1, 2, 0, zeros);
    put(z, c, "obs_variance", "<f8", 1, 2, 0, ones);
    put(z, c, "obs_clip", "<f8", 0, 0, 0, &one);
    put(z, c, "layers", "<f8", 0, 0, 0, &one);
    put(z, c, "weight_0", "<f8", 2, 1, 2, ones);
    put(z, c, "bias_0", "<f8", 1, 1, 0, zeros);
    put(z, c, "action_range", "<f8", 0, 0, 0, &one);
    put(z, c, "action_lower", "<f8", 2, 1, 1, &minus);
    put(z, c, "action_upper", "<f8", 2, 1, 1, &one);
    put(z, c, "log_std", "<f8", 2, 1, 1, zeros);
    assert_true(ds_npz_finish(z));
}

static void must_refuse(const ds_npz_memory *z, size_t bytes, const char *word)
{
    ds_policy p;
    ds_error e = {0, ""};
    int rc = ds_policy_parse(&p, copy_of(z), bytes, "f.npz", &e);
    if (rc != DS_EXIT_CONFIG || strncmp(e.text, "f.npz: ", 7) != 0 || strstr(e.text, word) == NULL) {
        fail_msg("status %d, '%s' without '%s'", rc, e.text, word);
    }
    ds_policy_free(&p);
}

static void test_wrong_files(void **state)
{
    static const change changes[] = {
        {.name = "format", .word = "no array 'format'"},
        {.name = "format", .word = "format = 'diffsim policy 9'", .text = "diffsim policy 9"},
        {.name = "env", .word = "env: the file has no such array"},
        {.name = "activation", .word = "activation = 'gelu'", .text = "gelu"},
        {.name = "noise", .word = "outputs that n_act and noise imply", .text = "clamp"},
        {.name = "weight_0", .word = "weight_0: the file has no such array"},
        {.name = "weight_0",
         .word = "element 1 is nan",
         .descr = "<f8",
         .ndim = 2,
         .shape = {1, 2},
         .number = {1, NAN}},
        {.name = "weight_0",
         .word = "weight_0 does not have the size",
         .descr = "<f8",
         .ndim = 2,
         .shape = {1, 3}},
        {.name = "bias_0",
         .word = "weight_0 does not have the size",
         .descr = "<f8",
         .ndim = 1,
         .shape = {2}},
        {.name = "obs_mean",
         .word = "obs_mean does not have the size",
         .descr = "<f8",
         .ndim = 1,
         .shape = {3}},
        {.name = "obs_variance",
         .word = "obs_variance has a number",
         .descr = "<f8",
         .ndim = 1,
         .shape = {2},
         .number = {1, 0}},
        {.name = "obs_clip", .word = "obs_clip is not a number above 0", .descr = "<f8"},
        {.name = "layers", .word = "layers is not a whole number", .descr = "<f8", .number = {0.5}},
        {.name = "layers", .word = "bias_1: the file has no such array", .descr = "<f8", .number = {2}},
        {.name = "n_act", .word = "last layer", .descr = "<f8", .number = {2}},
        {.name = "time", .word = "time is not a whole number", .descr = "<f8", .number = {2}},
        {.name = "action_upper",
         .word = "above its action_upper",
         .descr = "<f8",
         .ndim = 2,
         .shape = {1, 1},
         .number = {-2}},
        {.name = "action_lower",
         .word = "action_lower does not have the size",
         .descr = "<f8",
         .ndim = 2,
         .shape = {1, 2}},
        {.name = "log_std",
         .word = "log_std does not have the size",
         .descr = "<f8",
         .ndim = 2,
         .shape = {2, 1}},
        {.name = "env_settings", .word = "not a single text", .descr = "<f8"},
    };
    ds_npz_memory z;
    ds_policy p;
    ds_error e = {0, ""};
    make_small(&z, NULL);
    assert_int_equal(ds_policy_parse(&p, copy_of(&z), z.bytes, "f.npz", &e), 0);
    ds_policy_free(&p);
    /* A truncated file is damaged, and so is one with a changed bit. */
    for (size_t bytes = 0; bytes < z.bytes; bytes += 37) {
        must_refuse(&z, bytes, "damaged");
    }
    z.data[z.member[17].at + 172] ^= 4;
    must_refuse(&z, z.bytes, "checksum");
    ds_npz_free(&z);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        make_small(&z, &changes[i]);
        must_refuse(&z, z.bytes, changes[i].word);
        ds_npz_free(&z);
    }
}

/* The check that a policy belongs to an environment. */
static void test_check(void **state)
{
    ds_npz_memory z;
    ds_policy p;
    ds_error e = {0, ""};
    ds_env_facts env = {.steps = {.horizon = 10, .n_act = 1, .n_obs = 2}};
    make_small(&z, NULL);
    assert_int_equal(ds_policy_parse(&p, copy_of(&z), z.bytes, "f.npz", &e), 0);
    assert_int_equal(ds_policy_check(&p, "tube", &env, &e), 0);
    assert_int_equal(ds_policy_check(&p, "pipe", &env, &e), DS_EXIT_CONFIG);
    assert_string_equal(e.text, "f.npz: a policy for tube, not for pipe");
    env.steps.n_obs = 4;
    assert_int_equal(ds_policy_check(&p, "tube", &env, &e), DS_EXIT_CONFIG);
    assert_non_null(strstr(e.text, "learned with 2 observations and 1 numbers of an action"));
    env.steps.horizon = 0;
    assert_int_equal(ds_policy_check(&p, "tube", &env, &e), DS_EXIT_CONFIG);
    assert_non_null(strstr(e.text, "no stepwise control"));
    ds_policy_free(&p);
    ds_npz_free(&z);
}

RUN_TESTS(test_same_network, test_noise, test_formula, test_texts, test_wrong_files, test_check)
