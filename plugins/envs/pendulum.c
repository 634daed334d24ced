/* SPDX-License-Identifier: Apache-2.0 */
/* pendulum.c - a rod on a pivot, moved by a weak torque; one torque per step is the decision variable. theta
 * = 0 is upright; the torque cannot lift the rod, so it must be swung up. */
#include "common/sincos.h"
#include "engines/kit/bundled.h"
#include "engines/kit/lanes.h"
#include "engines/kit/linear_model.h"
#include "engines/kit/state_net.h"

#include <diffsim/helper/random.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* Angle in [-pi, pi). */
static double wrapped(double theta)
{
    double turn = fmod(theta + pi, 2 * pi);
    return (turn < 0 ? turn + 2 * pi : turn) - pi;
}

#define real double
#define real_mask int
#define real_sincos sincos_same
#define real_choose(mask, a, b) ((mask) ? (a) : (b))
#define real_abs fabs
#define real_sign copysign
#define real_wrapped wrapped
#include "engines/physics/rod/rod_step.h"

/* Pendulum-v1 of Gymnasium: uniform rod of length 1 m and mass 1 kg, g = 10 m/s^2, so that
 * omega' = 3 g/(2 l) sin(theta) + 3/(m l^2) u. */
static const double dt = 0.05;        /* s */
static const double weight_rate = 15; /* 1/s^2, per sin(theta) */
static const double torque_rate = 3;  /* 1/(kg m^2) */
static const double torque_limit = 2; /* N m */
/* swingup200: a point mass, omega' = sin(theta) + u, costs of every step and of the end (Suh et al., ICML
 * 2022), with their signs: from hanging at theta = pi a positive torque lifts towards theta = 2 pi, upright.
 */
static const double suh_dt = 0.02, suh_limit = 10, suh_start = 0.1, suh_final = 20;
static const double speed_limit = 8; /* rad/s, variant gym only */
enum { MAX_STEPS = 200, N_OBS = 3 };
enum { SWINGUP60 = 0, GYM = 1, SWINGUP200 = 2 };
enum { FIXED = 0, RANDOM = 1 };
enum { ROD, PIVOT };

static const char *const variants[] = {"swingup60", "gym", "swingup200", NULL};
static const char *const starts[] = {"fixed", "random", NULL};

static const ds_param *const params[] = {
    DS_ENUM("variant", "swingup60", variants,
            "swingup60 = 60 torques, loss of the final state; gym = Pendulum-v1 of Gymnasium, 200 "
            "torques, loss = minus the return; swingup200 = 200 torques, quadratic loss of every step and of "
            "the final state.",
            .flags = DS_PARAM_SHAPE),
    DS_ENUM("start", "fixed", starts,
            "fixed = theta0, omega0; random = that of Pendulum-v1, angle in [-pi, pi] and velocity in [-1, "
            "1], another one for every episode."),
    DS_REAL("theta0", "3.1415926535897931", -1e3, 1e3, "rad",
            "Angle at the start; 0 is upright, pi hangs down."),
    DS_REAL("omega0", "0", -8, 8, "rad/s", "Angular velocity at the start."),
    DS_REAL("speed_weight", "0.1", 0, 1e6, "s^2",
            "swingup60: weight of the final angular velocity, 1 - cos(theta) + speed_weight omega^2."),
    DS_REAL("effort_weight", "0.02", 0, 1e6, "1/(N m)^2", "swingup60: weight of the mean squared torque."),
    DS_HYBRID_PARAMS,
    NULL};

/* An episode: states 0 .. steps, the torque of each step; in stepwise control sine and cosine of the angles,
 * those of the C library. */
typedef struct motion {
    double sine[MAX_STEPS + 1], cosine[MAX_STEPS + 1];
    double theta[MAX_STEPS + 1], omega[MAX_STEPS + 1], torque[MAX_STEPS];
    uint8_t at_limit[MAX_STEPS]; /* the speed limit acted in this step */
    double running;              /* loss of the steps so far */
    double theta_bar, omega_bar; /* of a sweep over its steps: adjoint of the state before the last one */
} motion;

typedef struct pendulum {
    ds_env_kit kit; /* first */
    int64_t variant, start;
    double theta0, omega0, speed_weight, effort_weight;
    rod_law law;
    double limit; /* of the torque, of the variant */
    const rod_lanes *lanes;
    double *record; /* of episodes side by side */
    motion *motion; /* the last episode of each lane */
    state_net net;  /* on the torque */
} pendulum;

/* ---- dynamics ---- */

/* The last episode of the present lane. */
static motion *last_motion(const pendulum *p)
{
    return &p->motion[p->kit.lane];
}

/* The torque that networks make of u. */
static double acting_torque(const pendulum *p, double theta, double omega, double u)
{
    const double before[] = {theta, omega}, *x = before, *torque = &u;
    state_net_act(&p->net, &x, &torque);
    return *torque;
}

static void move_rod(pendulum *p, uint64_t k, double u)
{
    motion *m = last_motion(p);
    double theta = m->theta[k], omega = m->omega[k], cosine;
    m->torque[k] = u;
    if (p->net.hybrid != NULL) {
        u = acting_torque(p, theta, omega, u);
    }
    m->at_limit[k] = (uint8_t)rod_move(&p->law, &theta, &omega, u, &cosine);
    m->omega[k + 1] = omega;
    m->theta[k + 1] = theta;
}

/* Cost of a state in swingup200: from upright at theta = 2 pi. */
static double suh_cost(double theta, double omega)
{
    double angle = theta - 2 * pi;
    return angle * angle + omega * omega;
}

/* Cost of a state if it is the last one; cosine: of theta, needed in swingup60. */
static double final_cost_at(const pendulum *p, double theta, double omega, double cosine)
{
    if (p->variant == SWINGUP200) {
        return suh_final * suh_cost(theta, omega);
    }
    return 1 - cosine + p->speed_weight * omega * omega;
}

static double final_cost(const pendulum *p, double theta, double omega)
{
    return final_cost_at(p, theta, omega, p->variant == SWINGUP60 ? cos(theta) : 0);
}

static void start_of(const pendulum *p, uint64_t noise_key, double *theta, double *omega)
{
    *theta = p->theta0;
    *omega = p->omega0;
    if (p->start == RANDOM && noise_key != 0) {
        ds_random random = ds_random_open(noise_key, "start", 0);
        *theta = pi * (2 * ds_random_uniform(&random) - 1);
        *omega = 2 * ds_random_uniform(&random) - 1;
    }
}

static ds_status begin_pendulum(void *self, uint64_t noise_key)
{
    pendulum *p = self;
    motion *m = last_motion(p);
    m->running = 0;
    start_of(p, noise_key, &m->theta[0], &m->omega[0]);
    return DS_OK;
}

/* Step k with torque u; returns what it adds to the loss. */
static double advance(pendulum *p, uint64_t k, double u)
{
    motion *m = last_motion(p);
    double cost = rod_cost(&p->law, m->theta[k], m->omega[k], u);
    m->running += cost;
    move_rod(p, k, u);
    return cost;
}

static double loss_of(const pendulum *p, double running, double theta, double omega)
{
    return p->variant == GYM ? running : running + final_cost(p, theta, omega);
}

/* Its derivatives by the final state. */
static void loss_bar(const pendulum *p, double theta, double omega, double *a, double *b)
{
    *a = *b = 0;
    if (p->variant == SWINGUP60) {
        *a = sin(theta);
        *b = 2 * p->speed_weight * omega;
    } else if (p->variant == SWINGUP200) {
        *a = 2 * suh_final * (theta - 2 * pi);
        *b = 2 * suh_final * omega;
    }
}

/* Reverse of step k, its cost `weight` times; a, b as in rod_reverse(). */
static double reverse(const pendulum *p, uint64_t k, double weight, double *a, double *b)
{
    motion *m = last_motion(p);
    double sine, cosine;
    sincos_same(m->theta[k], &sine, &cosine);
    return rod_reverse(&p->law, m->theta[k], m->omega[k], m->torque[k], cosine, m->at_limit[k], weight, a, b);
}

/* The same with networks: what reaches the rod is not the torque that the cost counts. */
static double reverse_net(const pendulum *p, uint64_t k, double *a, double *b)
{
    motion *m = last_motion(p);
    double bar[2] = {0, 0}, by_torque = reverse(p, k, 1, &bar[0], &bar[1]); /* of the cost alone */
    acting_torque(p, m->theta[k], m->omega[k], m->torque[k]);
    p->net.x_bar[0] = *a;
    p->net.x_bar[1] = *b;
    p->net.u_bar[0] = reverse(p, k, 0, &p->net.x_bar[0], &p->net.x_bar[1]);
    state_net_back(&p->net, bar, &by_torque);
    *a = bar[0];
    *b = bar[1];
    return by_torque;
}

static ds_status adjoint_of_pendulum(void *self, ds_eval *io)
{
    pendulum *p = self;
    motion *m = last_motion(p);
    double a, b;
    loss_bar(p, m->theta[p->kit.steps], m->omega[p->kit.steps], &a, &b);
    const int wired = p->net.hybrid != NULL;
    p->net.w_bar = io->grad + p->kit.n;
    memset(p->net.w_bar, 0, (io->n - p->kit.n) * sizeof *p->net.w_bar);
    for (uint64_t k = p->kit.steps; k-- > 0;) {
        io->grad[k] = wired ? reverse_net(p, k, &a, &b) : reverse(p, k, 1, &a, &b);
    }
    return DS_OK;
}

/* Many episodes side by side. */
static ds_status simulate_rows(void *self, uint64_t count, ds_eval *const *io)
{
    pendulum *p = self;
    const uint64_t width = p->lanes->width, steps = p->kit.steps;
    for (uint64_t k = 0; k < count; k += width) {
        const lanes_group g = lanes_take(width, count - k, io + k);
        double theta[LANES_MOST], omega[LANES_MOST], running[LANES_MOST], a[LANES_MOST], b[LANES_MOST];
        for (uint64_t lane = 0; lane < width; lane++) {
            start_of(p, g.io[lane]->noise_key, &theta[lane], &omega[lane]);
        }
        p->lanes->simulate(&p->law, steps, g.x, theta, omega, running, g.graded ? p->record : NULL);
        for (uint64_t lane = 0; lane < width; lane++) {
            g.io[lane]->loss = loss_of(p, running[lane], theta[lane], omega[lane]);
            loss_bar(p, theta[lane], omega[lane], &a[lane], &b[lane]);
        }
        if (g.graded) {
            p->lanes->adjoint(&p->law, steps, g.x, p->record, a, b, g.grad);
        }
    }
    return DS_OK;
}

/* ---- set-up ---- */

static void read_pendulum(void *self, ds_param_reader *in)
{
    pendulum *p = self;
    p->variant = ds_param_int(in, "variant");
    p->start = ds_param_int(in, "start");
    p->theta0 = ds_param_real(in, "theta0");
    p->omega0 = ds_param_real(in, "omega0");
    p->speed_weight = ds_param_real(in, "speed_weight");
    p->effort_weight = ds_param_real(in, "effort_weight");
    const int suh = p->variant == SWINGUP200;
    p->law = (rod_law){.cost = suh                 ? ROD_TRACK
                               : p->variant == GYM ? ROD_GYM
                                                   : ROD_EFFORT,
                       .dt = suh ? suh_dt : dt,
                       .weight_rate = suh ? 1 : weight_rate,
                       .torque_rate = suh ? 1 : torque_rate,
                       .speed_limit = p->variant == GYM ? speed_limit : (double)INFINITY};
    p->limit = suh ? suh_limit : torque_limit;
    p->kit.n = p->kit.steps = p->kit.horizon = p->variant == SWINGUP60 ? 60 : 200;
    p->kit.n_obs = N_OBS;
    p->kit.lanes = ds_env_kit_lanes_of(sizeof(motion));
    p->kit.dt = p->kit.control_dt = p->law.dt;
    p->law.effort = p->effort_weight / (double)p->kit.steps;
    p->kit.time_limit = p->variant == GYM; /* cost of Pendulum-v1, for any number of steps */
}

static uint64_t hooks_of_pendulum(const void *self, ds_hook *out)
{
    uint64_t k = 0;
    (void)self;
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "angle", "rad", "Before the step; 0 is upright.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "rate", "rad/s", "Of the angle.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 1, "control", "N m",
                    "The variable of the step, which the cost counts.");
    ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, 1, "torque", "N m", "On the rod: begins as control.");
    return k;
}

static ds_status allocate_pendulum(void *self)
{
    pendulum *p = self;
    p->net = (state_net){.states = 2, .controls = 1};
    state_net_open(&p->net, &p->kit.memory, &p->kit.hybrid);
    p->kit.max_rows = p->kit.hybrid.nets > 0 ? 1 : 0;
    p->motion = ds_memory_take(&p->kit.memory, p->kit.lanes, sizeof *p->motion);
    p->lanes = rod_lanes_find();
    p->record = lanes_memory(&p->kit.memory, p->kit.steps * ROD_RECORD, p->lanes->width);
    return DS_OK;
}

/* The suggested start is a constant push: without torque the hanging rod is a stationary point of the loss.
 */
static void name_torque(const void *self, uint64_t i, ds_env_variable *out)
{
    (void)self;
    ds_env_variable_put(out->name, "torque.%u", (unsigned)i);
    ds_env_variable_put(out->unit, "N m");
    ds_env_variable_put(out->group, "torque");
}

static void range_of_torque(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const pendulum *p = self;
    (void)i;
    *lower = -p->limit;
    *upper = p->limit;
    *start = p->variant == SWINGUP200 ? suh_start : 0.5 * p->limit;
}

static ds_status simulate_pendulum(void *self, ds_eval *io)
{
    pendulum *p = self;
    motion *m = last_motion(p);
    p->net.w = io->x + p->kit.n;
    begin_pendulum(p, io->noise_key);
    for (uint64_t k = 0; k < p->kit.steps; k++) {
        advance(p, k, io->x[k]);
    }
    io->loss = loss_of(p, m->running, m->theta[p->kit.steps], m->omega[p->kit.steps]);
    return DS_OK;
}

/* ---- stepwise control ---- */

static void observe_pendulum(const void *self, double *obs)
{
    const pendulum *p = self;
    motion *m = last_motion(p);
    obs[0] = m->cosine[p->kit.next];
    obs[1] = m->sine[p->kit.next];
    obs[2] = m->omega[p->kit.next];
}

static void turn_of_state(motion *m, uint64_t k)
{
    const double theta = m->theta[k], sine = sin(theta), cosine = cos(theta); /* one call of sincos() */
    m->sine[k] = sine;
    m->cosine[k] = cosine;
}

static ds_status begin_steps(void *self, uint64_t noise_key)
{
    begin_pendulum(self, noise_key);
    turn_of_state(last_motion(self), 0);
    return DS_OK;
}

/* As final_cost(), of state k. */
static double final_cost_of(const pendulum *p, const motion *m, uint64_t k)
{
    return final_cost_at(p, m->theta[k], m->omega[k], m->cosine[k]);
}

/* Completes step k, which cost `cost`. gym, swingup200: the reward is minus that cost, and at the end of the
 * last state; swingup60: the improvement of the state, minus the effort. */
static void finish_step(const pendulum *p, motion *m, uint64_t k, double cost, ds_step *io)
{
    turn_of_state(m, k + 1);
    io->reward = -cost;
    if (p->variant == SWINGUP60) {
        io->reward += final_cost_of(p, m, k) - final_cost_of(p, m, k + 1);
    } else if (p->variant == SWINGUP200 && k + 1 == p->kit.steps) {
        io->reward -= final_cost_of(p, m, k + 1);
    }
    io->loss = k + 1 == p->kit.steps ? loss_of(p, m->running, m->theta[k + 1], m->omega[k + 1]) : 0;
    io->cost_steps = 1;
    io->outcome = isfinite(m->running) && isfinite(m->theta[k + 1]) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
}

static ds_status act_on_pendulum(void *self, uint64_t k, ds_step *io)
{
    pendulum *p = self;
    const double cost = advance(p, k, io->action[0]);
    finish_step(p, last_motion(p), k, cost, io);
    return DS_OK;
}

static ds_status act_on_many(void *self, uint64_t count, ds_env_kit_act *row)
{
    pendulum *p = self;
    const uint64_t width = p->lanes->width;
    for (uint64_t at = 0; at < count; at += width, row += width) {
        const uint64_t here = count - at < width ? count - at : width;
        rod_rows r;
        for (uint64_t lane = 0; lane < width; lane++) {
            const ds_env_kit_act *is = &row[lane < here ? lane : here - 1];
            const motion *m = &p->motion[is->lane];
            r.u[lane] = is->io.action[0];
            r.theta[lane] = m->theta[is->k];
            r.omega[lane] = m->omega[is->k];
        }
        p->lanes->step(&p->law, &r);
        for (uint64_t lane = 0; lane < here; lane++) {
            const uint64_t k = row[lane].k;
            motion *m = &p->motion[row[lane].lane];
            m->torque[k] = r.u[lane];
            m->at_limit[k] = r.limited[lane] > 0;
            m->theta[k + 1] = r.theta[lane];
            m->omega[k + 1] = r.omega[lane];
            m->running += r.cost[lane];
            finish_step(p, m, k, r.cost[lane], &row[lane].io);
        }
    }
    return DS_OK;
}

static ds_status begin_sweep(void *self, uint64_t last)
{
    pendulum *p = self;
    motion *m = last_motion(p);
    (void)last;
    m->theta_bar = m->omega_bar = 0;
    return DS_OK;
}

/* Adds `weight` times the derivatives of the final cost of state k to the adjoint. */
static void add_final_bar(const pendulum *p, motion *m, uint64_t k, double weight)
{
    if (p->variant == SWINGUP200) {
        m->theta_bar += weight * 2 * suh_final * (m->theta[k] - 2 * pi);
        m->omega_bar += weight * 2 * suh_final * m->omega[k];
    } else {
        m->theta_bar += weight * m->sine[k];
        m->omega_bar += weight * 2 * p->speed_weight * m->omega[k];
    }
}

/* Before the reverse of a step: what comes from the observation and the reward of the state after it. */
static void begin_back(const pendulum *p, motion *m, const ds_back *io)
{
    const uint64_t k = io->step;
    const double *obs_bar = io->obs_bar;
    m->theta_bar += obs_bar[1] * m->cosine[k + 1] - obs_bar[0] * m->sine[k + 1];
    m->omega_bar += obs_bar[2];
    if (p->variant == SWINGUP60 || (p->variant == SWINGUP200 && k + 1 == p->kit.steps)) {
        add_final_bar(p, m, k + 1, -io->reward_bar);
    }
}

/* After it, with the derivative by the torque. */
static void finish_back(const pendulum *p, motion *m, double by_torque, ds_back *io)
{
    io->action_bar[0] = by_torque;
    if (p->variant == SWINGUP60) {
        add_final_bar(p, m, io->step, io->reward_bar);
    }
    io->cost_steps = 1;
}

static ds_status sweep_pendulum(void *self, ds_back *io)
{
    pendulum *p = self;
    motion *m = last_motion(p);
    const uint64_t k = io->step;
    begin_back(p, m, io);
    finish_back(p, m, reverse(p, k, -io->reward_bar, &m->theta_bar, &m->omega_bar), io);
    return DS_OK;
}

static ds_status sweep_many(void *self, uint64_t count, ds_env_kit_sweep *row)
{
    pendulum *p = self;
    const uint64_t width = p->lanes->width;
    for (uint64_t at = 0; at < count; at += width, row += width) {
        const uint64_t here = count - at < width ? count - at : width;
        rod_rows r;
        for (uint64_t lane = 0; lane < width; lane++) {
            const ds_env_kit_sweep *is = &row[lane < here ? lane : here - 1];
            const uint64_t k = is->io.step;
            motion *m = &p->motion[is->lane];
            if (lane < here) {
                begin_back(p, m, &is->io);
            }
            r.u[lane] = m->torque[k];
            r.theta[lane] = m->theta[k];
            r.omega[lane] = m->omega[k];
            r.limited[lane] = m->at_limit[k];
            r.weight[lane] = -is->io.reward_bar;
            r.a[lane] = m->theta_bar;
            r.b[lane] = m->omega_bar;
        }
        p->lanes->back(&p->law, &r);
        for (uint64_t lane = 0; lane < here; lane++) {
            motion *m = &p->motion[row[lane].lane];
            m->theta_bar = r.a[lane];
            m->omega_bar = r.b[lane];
            finish_back(p, m, r.by_torque[lane], &row[lane].io);
        }
    }
    return DS_OK;
}

/* ---- channels: the linear model; the state is theta, omega ---- */

/* Not with networks: their parameters are not controls. */
static uint64_t channels_of_pendulum(const void *self)
{
    return ((const pendulum *)self)->kit.hybrid.nets == 0 ? MODEL_CHANNELS : 0;
}

static void channel_of_pendulum(const void *self, uint64_t i, ds_channel *out)
{
    const pendulum *p = self;
    linear_model_describe(i, p->kit.steps, 2, 1, out);
}

/* Derivatives of the cost of step k, or of the final state, by theta, omega, torque; of order 1 or 2. */
static void cost_model(const pendulum *p, uint64_t k, int order, double out[3])
{
    motion *m = last_motion(p);
    const int is_final = k == p->kit.steps;
    out[0] = out[1] = out[2] = 0;
    if (order == 1 && is_final) {
        loss_bar(p, m->theta[k], m->omega[k], &out[0], &out[1]);
    } else if (order == 1) {
        out[2] = reverse(p, k, 1, &out[0], &out[1]);
    } else if (is_final && p->variant == SWINGUP60) {
        out[0] = cos(m->theta[k]);
        out[1] = 2 * p->speed_weight;
    } else if (p->variant == SWINGUP60) {
        out[2] = 2 * p->law.effort;
    } else if (p->variant == SWINGUP200) {
        out[0] = out[1] = 2 * (is_final ? suh_final : 1);
        out[2] = is_final ? 0 : 2;
    } else if (!is_final) {
        out[0] = 2;
        out[1] = 0.2;
        out[2] = 0.002;
    }
}

static ds_status answer_of_pendulum(void *self, ds_eval *io, ds_eval_query *ask)
{
    const pendulum *p = self;
    motion *m = last_motion(p);
    double *out = ask->out;
    (void)io;
    for (uint64_t k = 0; k <= p->kit.steps; k++) {
        double by_theta[2] = {1, 0}, by_omega[2] = {0, 1}, by_torque[2]; /* d theta', d omega' by each */
        if (ask->channel == MODEL_STATE) {
            out[2 * k] = m->theta[k];
            out[2 * k + 1] = m->omega[k];
        } else if (ask->channel >= MODEL_COST_GRADIENT) {
            cost_model(p, k, ask->channel == MODEL_COST_GRADIENT ? 1 : 2, out + 3 * k);
        } else if (k < p->kit.steps) {
            by_torque[0] = reverse(p, k, 0, &by_theta[0], &by_theta[1]);
            by_torque[1] = reverse(p, k, 0, &by_omega[0], &by_omega[1]);
            const double A[4] = {by_theta[0], by_theta[1], by_omega[0], by_omega[1]};
            if (ask->channel == MODEL_STATE_JACOBIAN) {
                memcpy(out + 4 * k, A, sizeof A);
            } else {
                memcpy(out + 2 * k, by_torque, sizeof by_torque);
            }
        }
    }
    ask->kind = DS_GRAD_NONE;
    return DS_OK;
}

/* ---- scene ---- */

static void bodies_of_pendulum(void *self, ds_scene_kit *s)
{
    static const double box[6] = {-1.2, -1.2, -0.2, 1.2, 1.2, 0.2};
    (void)self;
    s->info.flat = 1;
    memcpy(s->info.box, box, sizeof box);
    ds_scene_kit_body(s, "rod", DS_BODY_CAPSULE, DS_ROLE_MATERIAL, 1, (double[4]){0.05, 1, 0, 0});
    ds_scene_kit_body(s, "pivot", DS_BODY_SPHERE, DS_ROLE_FIXED, 1, (double[4]){0.06, 0, 0, 0});
    ds_scene_kit_body(s, "upright", DS_BODY_CAPSULE, DS_ROLE_TARGET, 1, (double[4]){0.05, 1, 0, 0});
}

/* Angles count counter-clockwise from the upright y axis. */
static void place_pendulum(const void *self, uint64_t k, uint64_t b, double *out)
{
    const pendulum *p = self;
    motion *m = last_motion(p);
    double angle = b == ROD ? m->theta[k] : 0, middle = b == PIVOT ? 0 : 0.5;
    ds_scene_kit_pose(-middle * sin(angle), middle * cos(angle), 0, angle, out);
}

static const ds_scene_kit_label metrics[] = {
    {"theta", "rad"}, {"omega", "rad/s"}, {"torque", "N m"}, {"cost", ""}, {NULL, NULL}};

static void measure_pendulum(void *self, uint64_t k, double *out)
{
    const pendulum *p = self;
    motion *m = last_motion(p);
    out[0] = m->theta[k];
    out[1] = m->omega[k];
    out[2] = k < p->kit.steps ? m->torque[k] : (double)NAN;
    out[3] = p->variant == SWINGUP60 ? final_cost(p, out[0], out[1])
             : p->variant == GYM     ? rod_cost(&p->law, out[0], out[1], out[2])
                                     : suh_cost(out[0], out[1]);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(pendulum),
                                 .read = read_pendulum,
                                 .hook_points = hooks_of_pendulum,
                                 .allocate = allocate_pendulum,
                                 .range = range_of_torque,
                                 .variable = name_torque,
                                 .simulate = simulate_pendulum,
                                 .adjoint = adjoint_of_pendulum,
                                 .passes = 1,
                                 .rows = simulate_rows,
                                 .rows_adjoint = 1,
                                 .metrics = metrics,
                                 .bodies = bodies_of_pendulum,
                                 .place = place_pendulum,
                                 .measure = measure_pendulum,
                                 .begin = begin_steps,
                                 .observe = observe_pendulum,
                                 .act = act_on_pendulum,
                                 .act_many = act_on_many,
                                 .back_begin = begin_sweep,
                                 .back = sweep_pendulum,
                                 .back_many = sweep_many,
                                 .channels = channels_of_pendulum,
                                 .channel = channel_of_pendulum,
                                 .answer = answer_of_pendulum};

static const ds_desc desc = {
    BUNDLED_DESC("pendulum", "4"),
    .flags = DS_ENV_GRADIENT | DS_ENV_STOCHASTIC,
    .summary = "Swing-up of a pendulum by a weak torque.",
    .description =
        "A rod of 1 m and 1 kg, 10 m/s^2, steps of 0.05 s, torques in [-2, 2] N m; swingup200 is another "
        "one.\n"
        "swingup60: loss = 1 - cos(theta) + speed_weight omega^2 at the end + effort_weight mean u^2.\n"
        "gym: loss = sum over 200 steps of angle^2 + 0.1 omega^2 + 0.001 u^2 with the angle in [-pi, pi) and "
        "the speed limited to 8 rad/s. The gradient is that of the branch taken: a step in which the speed "
        "limit acts passes no derivative on, and the jump of the angle at pi has none.\n"
        "swingup200: omega' = sin(theta) + u, steps of 0.02 s, torques in [-10, 10], a search starts at 0.1; "
        "loss = sum over 200 steps of e^2 + omega^2 + u^2, and 20 (e^2 + omega^2) at the end, with the angle "
        "e = theta - 2 pi that a positive torque leads to.\n"
        "Stepwise control: observations cos(theta), sin(theta), omega; one torque per step; rewards: gym and "
        "swingup200 minus the cost of the step, swingup60 the decrease of the final cost less the effort. "
        "The 200 steps of gym are a time limit, those of the others a part of the task.\n"
        "Channels: states theta, omega, the Jacobians of each step, derivatives of the cost.\n"
        "Metrics: theta (not wrapped), omega, torque of the step that begins at the frame, cost (gym: of "
        "that step; swingup60: of the state).",
    .citation = "Pendulum-v1, Gymnasium (Towers et al., arXiv:2407.17032). swingup200: H. J. T. Suh, M. "
                "Simchowitz, K. Zhang, R. Tedrake: Do differentiable simulators give better policy "
                "gradients? ICML 2022, arXiv:2202.00817.",
};

DS_ENV_KIT_DEFINE(env, desc)
