/* SPDX-License-Identifier: Apache-2.0 */
/* cartpole_gym.c - CartPole-v1 of Gymnasium: keep a pole on a cart upright by pushing the cart left or right.
 * A push is the sign of a decision variable, so there is no gradient: a reference task for stepwise control.
 */
#include "common/sincos.h"
#include "engines/kit/bundled.h"
#include "engines/kit/lanes.h"
#include "engines/physics/balance/balance.h"

#define real double
#define real_mask int
#define real_sincos sincos_same
#define real_choose(mask, a, b) ((mask) ? (a) : (b))
#define real_abs fabs
#include "engines/physics/balance/balance_step.h"

#include <diffsim/helper/random.h>
#include <string.h>

static const double start_range = 0.05; /* of each number of a random start state */

enum { N_OBS = 4, MAX_STEPS = 100000 };
enum { FIXED = 0, RANDOM = 1 };
enum { RAIL, CART, POLE };

static const char *const starts[] = {"fixed", "random", NULL};

static const ds_param *const params[] = {
    DS_INT("steps", "500", 1, MAX_STEPS, "", "Pushes of an episode: 500 in CartPole-v1, 200 in CartPole-v0.",
           .flags = DS_PARAM_SHAPE),
    DS_ENUM("start", "fixed", starts,
            "fixed = theta0, all else 0; random = that of CartPole-v1, position, velocity, angle and rate "
            "in [-0.05, 0.05], others for every episode."),
    DS_REAL("theta0", "0.02", -0.2, 0.2, "rad", "Angle of the pole at a fixed start; 0 is upright."),
    DS_HYBRID_PARAMS, NULL};

typedef struct state {
    double x, v, theta, omega;
} state;

typedef struct episode {
    state *at;      /* steps + 1 states */
    uint64_t lived; /* steps */
} episode;

typedef struct balance {
    ds_env_kit kit; /* first */
    int64_t start;
    double theta0;
    episode *episode; /* the last one of each lane */
    const balance_lanes *lanes;
    const double *w; /* parameters of networks in this episode */
    double *tape;    /* of the networks */
} balance;

/* ---- dynamics ---- */

/* The last episode of the present lane. */
static episode *last_episode(const balance *b)
{
    return &b->episode[b->kit.lane];
}

static state start_of(const balance *b, uint64_t noise_key)
{
    state s = {0, 0, b->theta0, 0};
    if (b->start == RANDOM && noise_key != 0) {
        ds_random random = ds_random_open(noise_key, "start", 0);
        double *number[4] = {&s.x, &s.v, &s.theta, &s.omega};
        for (int i = 0; i < 4; i++) {
            *number[i] = start_range * (2 * ds_random_uniform(&random) - 1);
        }
    }
    return s;
}

static ds_status begin_balance(void *self, uint64_t noise_key)
{
    balance *b = self;
    episode *e = last_episode(b);
    e->at[0] = start_of(b, noise_key);
    e->lived = 0;
    return DS_OK;
}

/* One push; returns 1 if the pole has fallen. The step in which it falls counts, as in CartPole-v1. */
static int advance(balance *b, double action)
{
    episode *e = last_episode(b);
    const state *now = &e->at[e->lived++];
    double s[4] = {now->x, now->v, now->theta, now->omega};
    double force = balance_force(action);
    if (b->kit.hybrid.nets > 0) {
        ds_hybrid_forward(&b->kit.hybrid, b->w, s, &force, b->tape);
    }
    balance_move(s, force);
    e->at[e->lived] = (state){s[0], s[1], s[2], s[3]};
    return !balance_stands(s);
}

static double loss_of(const balance *b, uint64_t lived)
{
    return (double)(b->kit.steps - lived);
}

static void read_balance(void *self, ds_param_reader *in)
{
    balance *b = self;
    uint64_t steps = (uint64_t)ds_param_int(in, "steps");
    b->start = ds_param_int(in, "start");
    b->theta0 = ds_param_real(in, "theta0");
    b->kit.n = b->kit.steps = b->kit.horizon = steps;
    b->kit.n_obs = N_OBS;
    b->kit.lanes = ds_env_kit_lanes_of((steps + 1) * sizeof(state));
    b->kit.dt = b->kit.control_dt = BALANCE_DT;
    b->kit.time_limit = 1; /* a pole that stands after the last push has not fallen */
}

static ds_status allocate_balance(void *self)
{
    balance *b = self;
    b->lanes = balance_lanes_find();
    if (b->kit.hybrid.nets > 0) {
        b->tape = ds_memory_doubles(&b->kit.memory, b->kit.hybrid.tape);
        b->kit.max_rows = 1;
    }
    b->episode = ds_memory_take(&b->kit.memory, b->kit.lanes, sizeof *b->episode);
    for (uint64_t lane = 0; b->episode != NULL && lane < b->kit.lanes; lane++) {
        b->episode[lane].at = ds_memory_take(&b->kit.memory, b->kit.steps + 1, sizeof *b->episode->at);
    }
    return DS_OK;
}

/* The suggested start pushes back and forth. */
/* The sign is the direction of the push. */
static void name_push(const void *self, uint64_t i, ds_env_variable *out)
{
    (void)self;
    ds_env_variable_put(out->name, "push.%u", (unsigned)i);
    ds_env_variable_put(out->group, "push");
}

static void range_of_push(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    (void)self;
    *lower = -1;
    *upper = 1;
    *start = i % 2 == 0 ? 0.5 : -0.5;
}

static ds_status simulate_balance(void *self, ds_eval *io)
{
    balance *b = self;
    episode *e = last_episode(b);
    begin_balance(b, io->noise_key);
    b->w = io->x + b->kit.n;
    while (e->lived < b->kit.steps && !advance(b, io->x[e->lived])) {
    }
    io->loss = loss_of(b, e->lived);
    io->cost_steps = e->lived;
    b->kit.scene.info.frames = e->lived + 1; /* the fall ends the episode */
    return DS_OK;
}

/* Writes a state with its numbers `width` apart. */
static void put_state(const state *s, uint64_t width, double *to)
{
    to[0] = s->x;
    to[width] = s->v;
    to[2 * width] = s->theta;
    to[3 * width] = s->omega;
}

/* Many episodes side by side. */
static ds_status simulate_rows(void *self, uint64_t count, ds_eval *const *io)
{
    balance *b = self;
    const uint64_t width = b->lanes->width;
    for (uint64_t k = 0; k < count; k += width) {
        const lanes_group g = lanes_take(width, count - k, io + k);
        double at[4 * LANES_MOST], lived[LANES_MOST];
        for (uint64_t lane = 0; lane < width; lane++) {
            const state s = start_of(b, g.io[lane]->noise_key);
            put_state(&s, width, at + lane);
        }
        b->lanes->simulate(b->kit.steps, g.x, at, lived);
        for (uint64_t lane = 0; lane < width; lane++) {
            g.io[lane]->loss = loss_of(b, (uint64_t)lived[lane]);
            g.io[lane]->cost_steps = (uint64_t)lived[lane];
        }
    }
    return DS_OK;
}

/* ---- stepwise control ---- */

static void observe_balance(const void *self, double *obs)
{
    const balance *b = self;
    episode *e = last_episode(b);
    const state *s = &e->at[e->lived];
    const double values[N_OBS] = {s->x, s->v, s->theta, s->omega};
    memcpy(obs, values, sizeof values);
}

static void finish_push(const balance *b, uint64_t lived, int fallen, ds_step *io)
{
    io->ended = fallen ? DS_STEPS_TERMINATED : DS_STEPS_CONTINUES;
    io->reward = 1;
    io->loss = loss_of(b, lived);
    io->cost_steps = 1;
}

static ds_status act_on_balance(void *self, uint64_t k, ds_step *io)
{
    balance *b = self;
    const int fallen = advance(b, io->action[0]);
    finish_push(b, k + 1, fallen, io);
    return DS_OK;
}

static ds_status act_on_many(void *self, uint64_t count, ds_env_kit_act *row)
{
    balance *b = self;
    const uint64_t width = b->lanes->width;
    for (uint64_t at = 0; at < count; at += width, row += width) {
        const uint64_t here = count - at < width ? count - at : width;
        double s[4 * LANES_MOST], action[LANES_MOST], fallen[LANES_MOST];
        for (uint64_t lane = 0; lane < width; lane++) {
            const ds_env_kit_act *is = &row[lane < here ? lane : here - 1];
            action[lane] = is->io.action[0];
            put_state(&b->episode[is->lane].at[is->k], width, s + lane);
        }
        b->lanes->push(action, s, fallen);
        for (uint64_t lane = 0; lane < here; lane++) {
            const double *to = s + lane;
            episode *e = &b->episode[row[lane].lane];
            e->lived = row[lane].k + 1;
            e->at[e->lived] = (state){to[0], to[width], to[2 * width], to[3 * width]};
            finish_push(b, e->lived, fallen[lane] > 0, &row[lane].io);
        }
    }
    return DS_OK;
}

/* ---- scene ---- */

static void bodies_of_balance(void *self, ds_scene_kit *s)
{
    (void)self;
    s->info.flat = 1;
    ds_scene_kit_body(s, "rail", DS_BODY_BOX, DS_ROLE_FIXED, 1, (double[4]){BALANCE_X_LIMIT, 0.02, 0.02, 0});
    ds_scene_kit_body(s, "cart", DS_BODY_BOX, DS_ROLE_TOOL, 1, (double[4]){0.2, 0.1, 0.1, 0});
    ds_scene_kit_body(s, "pole", DS_BODY_CAPSULE, DS_ROLE_MATERIAL, 1,
                      (double[4]){0.03, 2 * BALANCE_HALF, 0, 0});
    ds_scene_kit_include(s, -BALANCE_X_LIMIT, 0, 0, 0.3);
    ds_scene_kit_include(s, BALANCE_X_LIMIT, 0, 0, 0.3);
    ds_scene_kit_include(s, 0, 2 * BALANCE_HALF, 0, 0.2);
}

/* After its end the episode stands still. */
static const state *state_of_frame(const balance *b, uint64_t k)
{
    episode *e = last_episode(b);
    return &e->at[k < e->lived ? k : e->lived];
}

static void place_balance(const void *self, uint64_t k, uint64_t body, double *out)
{
    const balance *b = self;
    const state *s = state_of_frame(b, k);
    if (body == RAIL) {
        ds_scene_kit_pose(0, 0, 0, 0, out);
    } else if (body == CART) {
        ds_scene_kit_pose(s->x, 0, 0, 0, out);
    } else { /* Gymnasium's angles count clockwise */
        ds_scene_kit_pose(s->x + BALANCE_HALF * sin(s->theta), BALANCE_HALF * cos(s->theta), 0, -s->theta,
                          out);
    }
}

static const ds_scene_kit_label metrics[] = {{"x", "m"}, {"theta", "rad"}, {NULL, NULL}};

static void measure_balance(void *self, uint64_t k, double *out)
{
    const state *s = state_of_frame(self, k);
    out[0] = s->x;
    out[1] = s->theta;
}

/* ---- plugin ---- */

static uint64_t hooks_of_balance(const void *self, ds_hook *out)
{
    uint64_t k = 0;
    (void)self;
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "position", "m", "Of the cart, before the step.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "velocity", "m/s", "Of the cart.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "angle", "rad", "Of the pole; 0 is upright.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "rate", "rad/s", "Of the pole.");
    ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, 1, "force", "N", "On the cart: begins as the push, 10 or -10.");
    return k;
}

static const ds_env_table env = {.size = sizeof(balance),
                                 .read = read_balance,
                                 .hook_points = hooks_of_balance,
                                 .allocate = allocate_balance,
                                 .range = range_of_push,
                                 .variable = name_push,
                                 .simulate = simulate_balance,
                                 .rows = simulate_rows,
                                 .metrics = metrics,
                                 .bodies = bodies_of_balance,
                                 .place = place_balance,
                                 .measure = measure_balance,
                                 .begin = begin_balance,
                                 .observe = observe_balance,
                                 .act = act_on_balance,
                                 .act_many = act_on_many};

static const ds_desc desc = {
    BUNDLED_DESC("cartpole_gym", "4"),
    .flags = DS_ENV_STOCHASTIC,
    .summary = "CartPole-v1 of Gymnasium: keep the pole up by pushes left or right.",
    .description = "Variable t pushes the cart in step t of 0.02 s: 10 N to the right if it is above 0, else "
                   "to the left. The\nepisode ends when the pole leans by more than 12 degrees or the cart "
                   "is more than 2.4 m off. Loss: the\nsteps missing to a whole episode, 500 minus the "
                   "return of CartPole-v1. There is no gradient.\nStepwise control: observations x, v, "
                   "theta, omega; a reward of 1 for every step. The last step is a time limit: an episode "
                   "that reaches it is truncated, one whose pole falls is terminated.\nMetrics: x, theta.",
    .citation = "CartPole-v1, Gymnasium (Towers et al., arXiv:2407.17032); A. Barto, R. Sutton, C. Anderson: "
                "Neuronlike adaptive elements that can solve difficult learning control problems. IEEE SMC "
                "13 (1983).",
};

DS_ENV_KIT_DEFINE(env, desc)
