/* SPDX-License-Identifier: Apache-2.0 */
/* pendulum - a rod on a pivot, moved by a weak torque: one torque per step is the decision variable. theta =
 * 0 is upright; the torque cannot lift the rod, it has to be swung up. */
#include <diffsim/ext/rl.h>
#include <diffsim/ext/scene.h>
#include <diffsim/plugin.h>
#include <diffsim/random.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* Pendulum-v1 of Gymnasium: uniform rod of length 1 m and mass 1 kg, g = 10 m/s^2, so that
 * omega' = 3 g/(2 l) sin(theta) + 3/(m l^2) u. */
static const double dt = 0.05;        /* s */
static const double weight_rate = 15; /* 1/s^2, per sin(theta) */
static const double torque_rate = 3;  /* 1/(kg m^2) */
static const double torque_limit = 2; /* N m */
static const double speed_limit = 8;  /* rad/s, variant gym only */
enum { MAX_STEPS = 200, N_OBS = 3 };
#define NO_EPISODE UINT64_MAX
enum { SWINGUP60 = 0, GYM = 1 };
enum { FIXED = 0, RANDOM = 1 };
enum { THETA, OMEGA, TORQUE, COST, METRICS };
enum { ROD, PIVOT, TARGET, BODIES };

static const char *const variants[] = {"swingup60", "gym", NULL};
static const char *const starts[] = {"fixed", "random", NULL};

static const ds_param *const params[] = {
    &(const ds_param){sizeof(ds_param), DS_PARAM_ENUM, DS_PARAM_SHAPE, 0, 0, 0, "variant", "swingup60", "",
                      "swingup60 = 60 torques, loss of the final state; gym = Pendulum-v1 of Gymnasium, 200 "
                      "torques, loss = minus the return.",
                      variants},
    DS_ENUM("start", "fixed", starts,
            "fixed = theta0, omega0; random = that of Pendulum-v1, angle in [-pi, pi] and velocity in [-1, "
            "1], another "
            "one for every episode."),
    DS_REAL("theta0", "3.1415926535897931", -1e3, 1e3, "rad",
            "Angle at the start; 0 is upright, pi hangs down."),
    DS_REAL("omega0", "0", -8, 8, "rad/s", "Angular velocity at the start."),
    DS_REAL("speed_weight", "0.1", 0, 1e6, "s^2",
            "swingup60: weight of the final angular velocity, 1 - cos(theta) + speed_weight omega^2."),
    DS_REAL("effort_weight", "0.02", 0, 1e6, "1/(N m)^2", "swingup60: weight of the mean squared torque."),
    NULL};

typedef struct pendulum {
    int64_t variant, start;
    uint64_t steps;
    double theta0, omega0, speed_weight, effort_weight;
    /* The last episode: states 0..steps. */
    double theta[MAX_STEPS + 1], omega[MAX_STEPS + 1];
    uint8_t at_limit[MAX_STEPS]; /* the speed limit acted in this step */
    double running;              /* loss of the steps so far */
    uint64_t next;               /* step of the open episode, NO_EPISODE */
    int has_scene;
    double metric[METRICS][MAX_STEPS + 1];
} pendulum;

/* ---- dynamics ---- */

/* Angle in [-pi, pi). */
static double wrapped(double theta)
{
    double turn = fmod(theta + pi, 2 * pi);
    return (turn < 0 ? turn + 2 * pi : turn) - pi;
}

/* Cost of one step of Pendulum-v1, from the state before it. */
static double gym_cost(double theta, double omega, double u)
{
    double angle = wrapped(theta);
    return angle * angle + 0.1 * omega * omega + 0.001 * u * u;
}

/* Semi-implicit Euler: the angle moves with the new velocity. */
static void step(pendulum *p, uint64_t k, double u)
{
    double omega = p->omega[k] + (weight_rate * sin(p->theta[k]) + torque_rate * u) * dt;
    p->at_limit[k] = p->variant == GYM && fabs(omega) > speed_limit;
    p->omega[k + 1] = p->at_limit[k] ? copysign(speed_limit, omega) : omega;
    p->theta[k + 1] = p->theta[k] + p->omega[k + 1] * dt;
}

static double final_cost(const pendulum *p, uint64_t k)
{
    return 1 - cos(p->theta[k]) + p->speed_weight * p->omega[k] * p->omega[k];
}

static void begin(pendulum *p, uint64_t noise_key)
{
    p->running = 0;
    p->next = NO_EPISODE;
    p->theta[0] = p->theta0;
    p->omega[0] = p->omega0;
    if (p->start == RANDOM && noise_key != 0) {
        ds_random random = ds_random_open(noise_key, "start", 0);
        p->theta[0] = pi * (2 * ds_random_uniform(&random) - 1);
        p->omega[0] = 2 * ds_random_uniform(&random) - 1;
    }
}

/* Step k with torque u; returns what it adds to the loss. */
static double advance(pendulum *p, uint64_t k, double u)
{
    double cost = p->variant == GYM ? gym_cost(p->theta[k], p->omega[k], u)
                                    : p->effort_weight / (double)p->steps * u * u;
    p->running += cost;
    step(p, k, u);
    return cost;
}

static double loss_of(const pendulum *p)
{
    return p->variant == GYM ? p->running : p->running + final_cost(p, p->steps);
}

/* Reverse sweep: a, b are d loss / d theta, d omega of the state after step k. While the speed limit acts,
 * the new speed does not depend on anything (its derivative is taken as 0 there, as 1 up to and at the
 * limit); the wrapped angle has slope 1, also where it jumps at pi. */
static void adjoint(const pendulum *p, const double *x, double *grad)
{
    double a = 0, b = 0;
    if (p->variant == SWINGUP60) {
        a = sin(p->theta[p->steps]);
        b = 2 * p->speed_weight * p->omega[p->steps];
    }
    for (uint64_t k = p->steps; k-- > 0;) {
        b += dt * a;
        b = p->at_limit[k] ? 0 : b;
        grad[k] = torque_rate * dt * b;
        a += weight_rate * dt * cos(p->theta[k]) * b;
        if (p->variant == GYM) {
            grad[k] += 0.002 * x[k];
            a += 2 * wrapped(p->theta[k]);
            b += 0.2 * p->omega[k];
        } else {
            grad[k] += 2 * p->effort_weight / (double)p->steps * x[k];
        }
    }
}

/* ---- plugin ---- */

static ds_status create(const ds_host *host, void **out)
{
    pendulum *p = calloc(1, sizeof *p);
    if (!p) {
        host->error(host, DS_E_NOMEM, "out of memory");
        return DS_E_NOMEM;
    }
    ds_status s = host->get_int(host, "variant", &p->variant);
    s = s ? s : host->get_int(host, "start", &p->start);
    s = s ? s : host->get_real(host, "theta0", &p->theta0);
    s = s ? s : host->get_real(host, "omega0", &p->omega0);
    s = s ? s : host->get_real(host, "speed_weight", &p->speed_weight);
    s = s ? s : host->get_real(host, "effort_weight", &p->effort_weight);
    if (s != DS_OK) {
        free(p);
        return s;
    }
    p->steps = p->variant == GYM ? 200 : 60;
    p->next = NO_EPISODE;
    *out = p;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    const pendulum *p = self;
    out->n = p->steps;
    out->steps = p->steps;
    out->dt = dt;
    out->loss_floor = 0;
    return DS_OK;
}

/* The suggested start is a constant push: without torque the hanging rod is a stationary point
 * of the loss. */
static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -torque_limit;
        upper[i] = torque_limit;
        if (x0) {
            x0[i] = 0.5 * torque_limit;
        }
    }
    return DS_OK;
}

static void keep_scene(pendulum *p, const double *x)
{
    for (uint64_t k = 0; k <= p->steps; k++) {
        int last = k == p->steps;
        double u = last ? (double)NAN : x[k];
        p->metric[THETA][k] = p->theta[k];
        p->metric[OMEGA][k] = p->omega[k];
        p->metric[TORQUE][k] = u;
        p->metric[COST][k] = p->variant == GYM ? gym_cost(p->theta[k], p->omega[k], u) : final_cost(p, k);
    }
    p->has_scene = 1;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    pendulum *p = self;
    int want_grad = (io->want & DS_WANT_GRAD) != 0;
    p->has_scene = 0;
    begin(p, io->noise_key);
    for (uint64_t k = 0; k < p->steps; k++) {
        advance(p, k, io->x[k]);
    }
    io->loss = loss_of(p);
    io->outcome = DS_EVAL_OK;
    io->grad_kind = want_grad ? DS_GRAD_ADJOINT : DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = p->steps * (want_grad ? 2 : 1);
    if (want_grad) {
        adjoint(p, io->x, io->grad);
    }
    if (!isfinite(io->loss)) { /* only where x is not finite, or so large that squares overflow */
        io->loss = INFINITY;
        io->outcome = DS_EVAL_DIVERGED;
        io->grad_kind = DS_GRAD_NONE;
    }
    if (io->want & DS_WANT_SCENE) {
        keep_scene(p, io->x);
    }
    return DS_OK;
}

/* ---- scene ---- */

static ds_status scene_info(void *self, ds_scene_info *out)
{
    const pendulum *p = self;
    if (!p->has_scene) {
        return DS_E_STATE;
    }
    out->flat = 1;
    out->frames = p->steps + 1;
    out->bodies = BODIES;
    out->metrics = METRICS;
    out->dt = dt;
    out->ground = -HUGE_VAL;
    static const double box[6] = {-1.2, -1.2, -0.2, 1.2, 1.2, 0.2};
    memcpy(out->box, box, sizeof box);
    return DS_OK;
}

static ds_status scene_body(void *self, uint64_t b, ds_scene_body *out)
{
    (void)self;
    static const char *const names[BODIES] = {"rod", "pivot", "upright"};
    static const uint32_t roles[BODIES] = {DS_ROLE_MATERIAL, DS_ROLE_FIXED, DS_ROLE_TARGET};
    if (b >= BODIES) {
        return DS_E_ARG;
    }
    out->shape = b == PIVOT ? DS_BODY_SPHERE : DS_BODY_CAPSULE;
    out->role = roles[b];
    out->variety = 0;
    out->count = 1;
    memset(out->size, 0, sizeof out->size);
    out->size[0] = b == PIVOT ? 0.06 : 0.05;
    out->size[1] = b == PIVOT ? 0 : 1;
    out->name = names[b];
    out->index = NULL;
    out->index_count = 0;
    return DS_OK;
}

/* Angles count counter-clockwise from the upright y axis. */
static ds_status scene_frame(void *self, uint64_t k, uint64_t b, uint64_t capacity, double *out)
{
    const pendulum *p = self;
    if (!p->has_scene) {
        return DS_E_STATE;
    }
    if (k > p->steps || b >= BODIES || capacity < 7) {
        return DS_E_ARG;
    }
    double angle = b == ROD ? p->theta[k] : 0, middle = b == PIVOT ? 0 : 0.5;
    const double pose[7] = {-middle * sin(angle), middle * cos(angle), 0, cos(0.5 * angle), 0, 0,
                            sin(0.5 * angle)};
    memcpy(out, pose, sizeof pose);
    return DS_OK;
}

static ds_status scene_metric(void *self, uint64_t m, const char **name, const char **unit,
                              const double **values)
{
    const pendulum *p = self;
    static const char *const names[METRICS] = {"theta", "omega", "torque", "cost"};
    static const char *const units[METRICS] = {"rad", "rad/s", "N m", ""};
    if (!p->has_scene) {
        return DS_E_STATE;
    }
    if (m >= METRICS) {
        return DS_E_ARG;
    }
    *name = names[m];
    *unit = units[m];
    *values = p->metric[m];
    return DS_OK;
}

/* ---- stepwise control ---- */

static ds_status rl_info(void *self, ds_rl_info *out)
{
    const pendulum *p = self;
    out->horizon = p->steps;
    out->n_act = 1;
    out->n_obs = N_OBS;
    out->dt = dt;
    return DS_OK;
}

static void observe(const pendulum *p, uint64_t k, double *obs)
{
    obs[0] = cos(p->theta[k]);
    obs[1] = sin(p->theta[k]);
    obs[2] = p->omega[k];
}

static ds_status rl_reset(void *self, uint64_t noise_key, double *obs)
{
    pendulum *p = self;
    p->has_scene = 0;
    begin(p, noise_key);
    p->next = 0;
    observe(p, 0, obs);
    return DS_OK;
}

/* gym: minus the cost of the step; swingup60: by how much the state has become better, less the effort. */
static ds_status rl_step(void *self, ds_rl_step *io)
{
    pendulum *p = self;
    uint64_t k = p->next;
    if (k >= p->steps) {
        return DS_E_STATE;
    }
    io->reward = -advance(p, k, io->action[0]);
    if (p->variant == SWINGUP60) {
        io->reward += final_cost(p, k) - final_cost(p, k + 1);
    }
    p->next = k + 1;
    io->ended = p->next == p->steps;
    io->loss = io->ended ? loss_of(p) : 0;
    io->outcome = DS_EVAL_OK;
    io->cost_steps = 1;
    observe(p, k + 1, io->obs);
    if (!isfinite(p->running) || !isfinite(p->theta[k + 1])) {
        io->outcome = DS_EVAL_DIVERGED;
        io->ended = 1;
        io->loss = INFINITY;
    }
    return DS_OK;
}

static const ds_rl rl = {sizeof(ds_rl), 0, rl_info, rl_reset, rl_step};
static const ds_scene scene = {sizeof(ds_scene), 0, scene_info, scene_body, scene_frame, scene_metric};

static const void *get_extension(void *self, const char *id)
{
    (void)self;
    if (strcmp(id, DS_EXT_RL) == 0) {
        return &rl;
    }
    return strcmp(id, DS_EXT_SCENE) == 0 ? &scene : NULL;
}

static const ds_env_vtable vtable = {sizeof(ds_env_vtable), 0, create, free, info, bounds, evaluate,
                                     get_extension};

static const char *const extensions[] = {DS_EXT_SCENE, DS_EXT_RL, NULL};

static const ds_desc desc = {
    sizeof(ds_desc),
    DS_KIND_ENV,
    DS_ENV_GRADIENT | DS_ENV_STOCHASTIC,
    "pendulum",
    "1",
    "Apache-2.0",
    "Swing-up of a pendulum by a weak torque.",
    "A rod of 1 m and 1 kg, 10 m/s^2, steps of 0.05 s, torques in [-2, 2] N m.\n"
    "swingup60: loss = 1 - cos(theta) + speed_weight omega^2 at the end + effort_weight mean u^2.\n"
    "gym: loss = sum over 200 steps of angle^2 + 0.1 omega^2 + 0.001 u^2 with the angle in [-pi, pi) and "
    "the speed limited to 8 rad/s. The gradient is that of the branch taken: a step in which the speed "
    "limit acts passes no derivative on, and the jump of the angle at pi has none.\n"
    "Stepwise control: observations cos(theta), sin(theta), omega; one torque per step; rewards: gym minus "
    "the cost of the step, swingup60 the decrease of the final cost less the effort.\n"
    "Metrics: theta (not wrapped), omega, torque of the step that begins at the frame, cost (gym: of that "
    "step; swingup60: of the state).",
    "Pendulum-v1, Gymnasium (Towers et al., arXiv:2407.17032).",
    params,
    extensions,
};

DS_DEFINE_ENV(desc, vtable)
