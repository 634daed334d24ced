/* SPDX-License-Identifier: Apache-2.0 */
/* cartpole_gym - CartPole-v1 of Gymnasium: keep a pole on a cart upright by pushing the cart left or right. A push is
 * the sign of a decision variable, so there is no gradient: a yardstick for stepwise control. */
#include <diffsim/ext/rl.h>
#include <diffsim/plugin.h>
#include <diffsim/random.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engines/scene/scene_kit.h"

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
enum { X, THETA };

static const char *const starts[] = {"fixed", "random", NULL};

static const ds_param *const params[] = {
    &(const ds_param){sizeof(ds_param), DS_PARAM_INT, DS_PARAM_SHAPE, 0, 1, MAX_STEPS, "steps", "500", "",
                      "Pushes of an episode: 500 in CartPole-v1, 200 in CartPole-v0.", NULL},
    DS_ENUM("start", "fixed", starts,
            "fixed = theta0, all else 0; random = that of CartPole-v1, position, velocity, angle and rate in "
            "[-0.05, "
            "0.05], others for every episode."),
    DS_REAL("theta0", "0.02", -0.2, 0.2, "rad", "Angle of the pole at a fixed start; 0 is upright."), NULL};

typedef struct state {
    double x, v, theta, omega;
} state;

typedef struct balance {
    scene_kit scene;
    int64_t steps, start;
    double theta0;
    state *at;      /* steps + 1 states of the last episode */
    uint64_t lived; /* steps of it */
    int open;       /* an episode of stepwise control */
} balance;

/* ---- dynamics ---- */

/* Explicit Euler, as the original's default integrator. */
static state step(const state *s, double action)
{
    const double mass = cart_mass + pole_mass, moment = pole_mass * half_length;
    double force = action > 0 ? push : -push, c = cos(s->theta), sine = sin(s->theta);
    /* Of the cart as if the pole did not push back. */
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

static void begin(balance *b, uint64_t noise_key)
{
    b->at[0] = (state){0, 0, b->theta0, 0};
    b->lived = 0;
    b->open = 0;
    b->scene.kept = 0;
    if (b->start == RANDOM && noise_key != 0) {
        ds_random random = ds_random_open(noise_key, "start", 0);
        double *number[4] = {&b->at[0].x, &b->at[0].v, &b->at[0].theta, &b->at[0].omega};
        for (int i = 0; i < 4; i++) {
            *number[i] = start_range * (2 * ds_random_uniform(&random) - 1);
        }
    }
}

/* One push; 1 = the episode is over. The step that lets the pole fall counts, as in CartPole-v1. */
static int advance(balance *b, double action)
{
    b->at[b->lived + 1] = step(&b->at[b->lived], action);
    b->lived++;
    return b->lived == (uint64_t)b->steps || fallen(&b->at[b->lived]);
}

static double loss_of(const balance *b)
{
    return (double)((uint64_t)b->steps - b->lived);
}

/* ---- plugin ---- */

static void place(const void *self, uint64_t k, uint64_t body, double *out)
{
    const balance *b = self;
    const state *s = &b->at[k < b->lived ? k : b->lived];
    if (body == RAIL) {
        scene_kit_pose(0, 0, 0, 0, out);
    } else if (body == CART) {
        scene_kit_pose(s->x, 0, 0, 0, out);
    } else { /* angles of the original count clockwise */
        scene_kit_pose(s->x + half_length * sin(s->theta), half_length * cos(s->theta), 0, -s->theta, out);
    }
}

static void destroy(void *self)
{
    balance *b = self;
    if (b != NULL) {
        scene_kit_close(&b->scene);
        free(b->at);
        free(b);
    }
}

static ds_status create(const ds_host *host, void **out)
{
    balance *b = calloc(1, sizeof *b);
    if (b == NULL) {
        host->error(host, DS_E_NOMEM, "out of memory");
        return DS_E_NOMEM;
    }
    ds_status s = host->get_int(host, "steps", &b->steps);
    s = s ? s : host->get_int(host, "start", &b->start);
    s = s ? s : host->get_real(host, "theta0", &b->theta0);
    if (s == DS_OK) {
        b->at = calloc((size_t)b->steps + 1, sizeof *b->at);
        scene_kit_open(&b->scene, (uint64_t)b->steps, dt, place);
        b->scene.info.flat = 1;
        scene_kit_body(&b->scene, "rail", DS_BODY_BOX, DS_ROLE_FIXED, 1, (double[4]){x_limit, 0.02, 0.02, 0});
        scene_kit_body(&b->scene, "cart", DS_BODY_BOX, DS_ROLE_TOOL, 1, (double[4]){0.2, 0.1, 0.1, 0});
        scene_kit_body(&b->scene, "pole", DS_BODY_CAPSULE, DS_ROLE_MATERIAL, 1,
                       (double[4]){0.03, 2 * half_length, 0, 0});
        scene_kit_metric(&b->scene, "x", "m");
        scene_kit_metric(&b->scene, "theta", "rad");
        scene_kit_include(&b->scene, -x_limit, 0, 0, 0.3);
        scene_kit_include(&b->scene, x_limit, 0, 0, 0.3);
        scene_kit_include(&b->scene, 0, 2 * half_length, 0, 0.2);
        if (b->at == NULL || !scene_kit_ready(&b->scene)) {
            host->error(host, DS_E_NOMEM, "out of memory");
            s = DS_E_NOMEM;
        }
    }
    if (s != DS_OK) {
        destroy(b);
        return s;
    }
    *out = b;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    const balance *b = self;
    out->n = (uint64_t)b->steps;
    out->steps = (uint64_t)b->steps;
    out->dt = dt;
    out->loss_floor = 0;
    return DS_OK;
}

/* The suggested start pushes to and fro. */
static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -1;
        upper[i] = 1;
        if (x0 != NULL) {
            x0[i] = i % 2 == 0 ? 0.5 : -0.5;
        }
    }
    return DS_OK;
}

/* After its end the episode stands still. */
static void keep_scene(balance *b)
{
    double *x = scene_kit_values(&b->scene, X), *theta = scene_kit_values(&b->scene, THETA);
    for (uint64_t k = 0; k <= (uint64_t)b->steps; k++) {
        const state *s = &b->at[k < b->lived ? k : b->lived];
        x[k] = s->x;
        theta[k] = s->theta;
    }
    b->scene.kept = 1;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    balance *b = self;
    begin(b, io->noise_key);
    for (uint64_t k = 0; !advance(b, io->x[k]); k++) {
    }
    io->loss = loss_of(b);
    io->outcome = DS_EVAL_OK;
    io->grad_kind = DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = b->lived;
    if (io->want & DS_WANT_SCENE) {
        keep_scene(b);
    }
    return DS_OK;
}

/* ---- stepwise control ---- */

static ds_status rl_info(void *self, ds_rl_info *out)
{
    const balance *b = self;
    out->horizon = (uint64_t)b->steps;
    out->n_act = 1;
    out->n_obs = N_OBS;
    out->dt = dt;
    return DS_OK;
}

static void observe(const balance *b, double *obs)
{
    const state *s = &b->at[b->lived];
    const double values[N_OBS] = {s->x, s->v, s->theta, s->omega};
    memcpy(obs, values, sizeof values);
}

static ds_status rl_reset(void *self, uint64_t noise_key, double *obs)
{
    balance *b = self;
    begin(b, noise_key);
    b->open = 1;
    observe(b, obs);
    return DS_OK;
}

static ds_status rl_step(void *self, ds_rl_step *io)
{
    balance *b = self;
    if (!b->open) {
        return DS_E_STATE;
    }
    io->ended = advance(b, io->action[0]) != 0;
    io->reward = 1;
    io->loss = io->ended ? loss_of(b) : 0;
    io->outcome = DS_EVAL_OK;
    io->cost_steps = 1;
    observe(b, io->obs);
    b->open = !io->ended;
    return DS_OK;
}

static const ds_rl rl = {sizeof(ds_rl), 0, rl_info, rl_reset, rl_step};

static const void *get_extension(void *self, const char *id)
{
    (void)self;
    if (strcmp(id, DS_EXT_RL) == 0) {
        return &rl;
    }
    return strcmp(id, DS_EXT_SCENE) == 0 ? &scene_kit_table : NULL;
}

static const ds_env_vtable vtable = {sizeof(ds_env_vtable), 0, create, destroy, info, bounds, evaluate,
                                     get_extension};

static const char *const extensions[] = {DS_EXT_SCENE, DS_EXT_RL, NULL};

static const ds_desc desc = {
    sizeof(ds_desc),
    DS_KIND_ENV,
    DS_ENV_STOCHASTIC,
    "cartpole_gym",
    "1",
    "Apache-2.0",
    "CartPole-v1 of Gymnasium: keep the pole up by pushes left or right.",
    "Variable t pushes the cart in step t of 0.02 s: 10 N to the right where it is above 0, to the left "
    "elsewhere. The\n"
    "episode ends when the pole leans by more than 12 degrees or the cart is more than 2.4 m off. Loss: the\n"
    "steps that are missing to a whole episode, 500 minus the return of CartPole-v1. There is no gradient.\n"
    "Stepwise control: observations x, v, theta, omega; a reward of 1 for every step.\n"
    "Metrics: x, theta.",
    "CartPole-v1, Gymnasium (Towers et al., arXiv:2407.17032); A. Barto, R. Sutton, C. Anderson: Neuronlike "
    "adaptive elements that can solve difficult learning control problems. IEEE SMC 13 (1983).",
    params,
    extensions,
};

DS_DEFINE_ENV(desc, vtable)
