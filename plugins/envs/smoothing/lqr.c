/* SPDX-License-Identifier: Apache-2.0 */
/* lqr.c - a linear system with a linear policy of many gains: the variance of estimates depends on the
 * dimension of the noise on actions, not on the number of gains (Suh et al., ICML 2022). */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/rollout.h"
#include "engines/physics/smoothing/plain.h"

static const ds_param *const params[] = {
    DS_INT("states", "100", 1, 1000, "", "Dimension of the state and of the control.",
           .flags = DS_PARAM_SHAPE),
    DS_INT("steps", "10", 1, 10000, "", "Steps of an episode."),
    DS_REAL("q", "1", 0, 1e6, "", "Weight of the squared state in each step."),
    DS_REAL("qd", "10", 0, 1e6, "", "Weight of the squared state at the end."),
    DS_REAL("r", "0.1", 0, 1e6, "", "Weight of the squared controls."),
    DS_REAL("start", "1", -1e6, 1e6, "", "Value of each state component at the start."),
    DS_REAL("spread", "0.001", 0, 1e6, "", "Standard deviation of the start with begin = random."),
    POLICY_PARAMS("1", "0.1"),
    NULL};

typedef struct lqr {
    policy policy; /* must be first */
    rollout_system system;
    double spread;
} lqr;

static void step(const void *self, const double *x, const double *u, double *next)
{
    const lqr *e = self;
    for (uint64_t i = 0; i < e->system.states; i++) {
        next[i] = x[i] + u[i];
    }
}

static void back(const void *self, const double *x, const double *u, const double *next_bar, double *x_bar,
                 double *u_bar)
{
    const lqr *e = self;
    (void)x;
    (void)u;
    for (uint64_t i = 0; i < e->system.states; i++) {
        x_bar[i] += next_bar[i];
        u_bar[i] += next_bar[i];
    }
}

static void draw_start(const void *self, ds_random *random, double *start)
{
    const lqr *e = self;
    for (uint64_t i = 0; i < e->system.states; i++) {
        start[i] += e->spread * ds_random_normal(random);
    }
}

static void read_lqr(void *self, ds_param_reader *in)
{
    lqr *e = self;
    const uint64_t states = (uint64_t)ds_param_int(in, "states"), steps = (uint64_t)ds_param_int(in, "steps");
    const double q = ds_param_real(in, "q"), qd = ds_param_real(in, "qd"), r = ds_param_real(in, "r");
    const double start = ds_param_real(in, "start");
    e->spread = ds_param_real(in, "spread");
    e->system = (rollout_system){.states = states, .controls = states, .step = step, .back = back};
    policy_read(&e->policy, in, &e->system, steps, 1, draw_start);
    for (uint64_t i = 0; in->status == DS_OK && !e->policy.kit.memory.failed && i < states; i++) {
        e->policy.usual[i] = start;
        e->policy.roll.q[i] = q;
        e->policy.roll.qd[i] = qd;
        e->policy.roll.r[i] = r;
    }
}

static const ds_env_table env = {
    .size = sizeof(lqr), .cure = "reduce parameter limit or steps", .read = read_lqr, POLICY_TABLE};

static const char *const extensions[] = {DS_EXT_SCORE, NULL};

static const ds_desc desc = {
    BUNDLED_DESC("lqr", "2"),
    .flags = DS_ENV_GRADIENT | DS_ENV_STOCHASTIC,
    .summary = "A linear system with a linear policy of 10000 gains.",
    .description =
        "x' = x + u, u = K x; the variables are the gains K, row by row. The loss is the sum of q |x|^2 + r "
        "|u|^2 over the steps plus qd |x|^2 at the end; with K = 0 it is 20 per state component.\nEpisodes "
        "with noise (a noise key) have normal noise on u and, with begin = random, on the start. The "
        "environment offers the score of the noise (ds.draft.env.score/1).",
    .citation = SMOOTHING_SUH,
    .extensions = extensions,
};

DS_ENV_KIT_DEFINE(env, desc)
