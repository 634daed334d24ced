/* SPDX-License-Identifier: Apache-2.0 */
/* cartpole_gym.c - CartPole-v1 of Gymnasium: keep a pole on a cart upright by pushing the cart left or right.
 * A push is the sign of a decision variable, so there is no gradient: a reference task for stepwise control.
 */
#include "engines/kit/bundled.h"

#include <diffsim/helper/random.h>
#include <string.h>

/* Constants of CartPole-v1. */
static const double gravity = 9.8;                    /* m/s^2 */
static const double cart_mass = 1.0;                  /* kg */
static const double pole_mass = 0.1;                  /* kg */
static const double half_length = 0.5;                /* m, of the pole */
static const double push = 10.0;                      /* N */
static const double dt = 0.02;                        /* s */
static const double x_limit = 2.4;                    /* m, to each side */
static const double theta_limit = 0.2094395102393195; /* rad = 12 degrees */
static const double start_range = 0.05;               /* of each number of a random start state */

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
    DS_REAL("theta0", "0.02", -0.2, 0.2, "rad", "Angle of the pole at a fixed start; 0 is upright."), NULL};

typedef struct state {
    double x, v, theta, omega;
} state;

typedef struct balance {
    ds_env_kit kit; /* first */
    int64_t start;
    double theta0;
    state *at;      /* steps + 1 states of the last episode */
    uint64_t lived; /* steps of it */
} balance;

/* ---- dynamics ---- */

/* Explicit Euler, as Gymnasium's default integrator. */
static state push_once(const state *s, double action)
{
    const double mass = cart_mass + pole_mass, moment = pole_mass * half_length;
    double force = action > 0 ? push : -push, c = cos(s->theta), sine = sin(s->theta);
    /* Acceleration of the cart as if the pole did not push back. */
    double cart_acc = (force + moment * s->omega * s->omega * sine) / mass;
    double theta_acc =
        (gravity * sine - c * cart_acc) / (half_length * (4.0 / 3.0 - pole_mass * c * c / mass));
    double x_acc = cart_acc - moment * theta_acc * c / mass;
    return (state){s->x + dt * s->v, s->v + dt * x_acc, s->theta + dt * s->omega, s->omega + dt * theta_acc};
}

static int fallen(const state *s)
{
    return !(fabs(s->x) <= x_limit && fabs(s->theta) <= theta_limit);
}

static ds_status begin_balance(void *self, uint64_t noise_key)
{
    balance *b = self;
    b->at[0] = (state){0, 0, b->theta0, 0};
    b->lived = 0;
    if (b->start == RANDOM && noise_key != 0) {
        ds_random random = ds_random_open(noise_key, "start", 0);
        double *number[4] = {&b->at[0].x, &b->at[0].v, &b->at[0].theta, &b->at[0].omega};
        for (int i = 0; i < 4; i++) {
            *number[i] = start_range * (2 * ds_random_uniform(&random) - 1);
        }
    }
    return DS_OK;
}

/* One push; returns 1 if the pole has fallen. The step in which it falls counts, as in CartPole-v1. */
static int advance(balance *b, double action)
{
    b->at[b->lived + 1] = push_once(&b->at[b->lived], action);
    b->lived++;
    return fallen(&b->at[b->lived]);
}

static double loss_of(const balance *b)
{
    return (double)(b->kit.steps - b->lived);
}

static void read_balance(void *self, ds_param_reader *in)
{
    balance *b = self;
    uint64_t steps = (uint64_t)ds_param_int(in, "steps");
    b->start = ds_param_int(in, "start");
    b->theta0 = ds_param_real(in, "theta0");
    b->kit.n = b->kit.steps = b->kit.horizon = steps;
    b->kit.n_obs = N_OBS;
    b->kit.dt = b->kit.control_dt = dt;
    b->kit.time_limit = 1; /* a pole that stands after the last push has not fallen */
}

static ds_status allocate_balance(void *self)
{
    balance *b = self;
    b->at = ds_memory_take(&b->kit.memory, b->kit.steps + 1, sizeof *b->at);
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
    begin_balance(b, io->noise_key);
    while (b->lived < b->kit.steps && !advance(b, io->x[b->lived])) {
    }
    io->loss = loss_of(b);
    io->cost_steps = b->lived;
    b->kit.scene.info.frames = b->lived + 1; /* the fall ends the episode */
    return DS_OK;
}

/* ---- stepwise control ---- */

static void observe_balance(const void *self, double *obs)
{
    const balance *b = self;
    const state *s = &b->at[b->lived];
    const double values[N_OBS] = {s->x, s->v, s->theta, s->omega};
    memcpy(obs, values, sizeof values);
}

static ds_status act_on_balance(void *self, uint64_t k, ds_step *io)
{
    balance *b = self;
    (void)k;
    io->ended = advance(b, io->action[0]) ? DS_STEPS_TERMINATED : DS_STEPS_CONTINUES;
    io->reward = 1;
    io->loss = loss_of(b);
    io->cost_steps = 1;
    return DS_OK;
}

/* ---- scene ---- */

static void bodies_of_balance(void *self, ds_scene_kit *s)
{
    (void)self;
    s->info.flat = 1;
    ds_scene_kit_body(s, "rail", DS_BODY_BOX, DS_ROLE_FIXED, 1, (double[4]){x_limit, 0.02, 0.02, 0});
    ds_scene_kit_body(s, "cart", DS_BODY_BOX, DS_ROLE_TOOL, 1, (double[4]){0.2, 0.1, 0.1, 0});
    ds_scene_kit_body(s, "pole", DS_BODY_CAPSULE, DS_ROLE_MATERIAL, 1,
                      (double[4]){0.03, 2 * half_length, 0, 0});
    ds_scene_kit_include(s, -x_limit, 0, 0, 0.3);
    ds_scene_kit_include(s, x_limit, 0, 0, 0.3);
    ds_scene_kit_include(s, 0, 2 * half_length, 0, 0.2);
}

/* After its end the episode stands still. */
static const state *state_of_frame(const balance *b, uint64_t k)
{
    return &b->at[k < b->lived ? k : b->lived];
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
        ds_scene_kit_pose(s->x + half_length * sin(s->theta), half_length * cos(s->theta), 0, -s->theta, out);
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

static const ds_env_table env = {.size = sizeof(balance),
                                 .read = read_balance,
                                 .allocate = allocate_balance,
                                 .range = range_of_push,
                                 .variable = name_push,
                                 .simulate = simulate_balance,
                                 .metrics = metrics,
                                 .bodies = bodies_of_balance,
                                 .place = place_balance,
                                 .measure = measure_balance,
                                 .begin = begin_balance,
                                 .observe = observe_balance,
                                 .act = act_on_balance};

static const ds_desc desc = {
    BUNDLED_DESC("cartpole_gym", "2"),
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
