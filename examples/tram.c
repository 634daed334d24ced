/* SPDX-License-Identifier: Apache-2.0 */
/* tram - an environment with most features of the short way in one file: a tram is driven along a track with
 * slopes and gusts and should stop at `goal`. x = the force in each step; the gradient is an adjoint. The
 * steps can also be taken one at a time. */
#include <diffsim/helper/simple.h>

enum { TRAM, GOAL, START }; /* things */
static const ds_thing things[] = {DS_THING("tram", DS_BODY_BOX, DS_ROLE_MATERIAL, 0.3, 0.15, 0.15),
                                  DS_THING("goal", DS_BODY_SPHERE, DS_ROLE_TARGET, 0.1),
                                  DS_THING("start", DS_BODY_SPHERE, DS_ROLE_FIXED, 0.05),
                                  DS_LINK("track", DS_ROLE_FIXED, START, GOAL, 0.03)};

enum { OVERSHOOT, END }; /* channels */
static const ds_channel *const channels[] = {
    DS_CONSTRAINTS("overshoot", 1, -INFINITY, 0.05, "m", "How far the tram is past the goal at the end."),
    DS_OBSERVED("end", 2, "", "Position [m] and velocity [m/s] at the end."), NULL};

enum { GUST, DRAG, EFFORT, AIM, STEPS }; /* numbers among the parameters */
static const ds_param *const params[] = {
    DS_REAL("gust", "0.2", 0, 10, "m/s^2", "Standard deviation of the gusts."),
    DS_REAL("drag", "0.3", 0, 10, "1/s", "Damping of the velocity."),
    DS_REAL("effort", "0.01", 0, 10, "", "Weight of the forces in the loss."),
    DS_REAL("goal", "2", -5, 5, "m", "Where the tram should stop."),
    DS_INT("steps", "40", 2, 1000, "", "Steps of an episode.", .flags = DS_PARAM_SHAPE),
    DS_LIST("slope", "", -1, 1, 1000, "",
            "Slope of the track: one for all steps, or one for each; empty = 0."),
    NULL};
#define DT 0.05 /* seconds */

typedef struct data {
    double *slope; /* of each step */
} data;

static void setup(ds_simple_setup *s)
{
    data *d = s->data;
    s->n = s->steps = (uint64_t)s->param[STEPS];
    d->slope = ds_memory_doubles(s->memory, s->steps);
    if (d->slope != NULL) {
        ds_param_values(s->in, "slope", s->steps, d->slope);
    }
}

static void variable(const ds_simple_episode *e, uint64_t i, ds_env_variable *out)
{
    (void)e;
    ds_env_variable_put(out->name, "force.%d", (int)i + 1);
    ds_env_variable_put(out->unit, "m/s^2");
}

/* Step k: changes position and velocity, returns its cost. */
static double advance(const ds_simple_episode *e, uint64_t k, double force, double *q, double *v)
{
    const data *d = e->data;
    ds_random gusts = ds_random_open(e->noise_key, "gust", k);
    const double gust = e->noise_key != 0 ? e->param[GUST] * ds_random_normal(&gusts) : 0;
    *v += DT * (force - e->param[DRAG] * *v - 9.81 * d->slope[k] + gust);
    *q += DT * *v;
    const double miss = *q - e->param[AIM], effort = DT * e->param[EFFORT] * force * force;
    return k + 1 < e->steps ? effort : effort + miss * miss + *v * *v;
}

/* d (a q + b v at the end) / d force of each step. */
static void adjoint(const ds_simple_episode *e, double a, double b, double *grad)
{
    for (uint64_t k = e->steps; k-- > 0; b -= DT * e->param[DRAG] * b) {
        b += DT * a;
        grad[k] = DT * b;
    }
}

static void gradient(const ds_simple_episode *e, double q, double v)
{
    adjoint(e, 2 * (q - e->param[AIM]), 2 * v, e->grad);
    for (uint64_t k = 0; k < e->steps; k++) {
        e->grad[k] += 2 * DT * e->param[EFFORT] * e->x[k];
    }
}

static double loss(const ds_simple_episode *e)
{
    double q = 0, v = 0, sum = 0;
    ds_see(0, START, 0, 0, 0);
    ds_see(0, GOAL, e->param[AIM], 0, 0);
    ds_see(0, TRAM, q, 0.15, 0);
    for (uint64_t k = 0; k < e->steps; k++) {
        sum += advance(e, k, e->x[k], &q, &v);
        ds_see(k + 1, TRAM, q, 0.15, 0);
    }
    e->channel[OVERSHOOT].value[0] = q - e->param[AIM];
    adjoint(e, 1, 0, e->channel[OVERSHOOT].jacobian);
    e->channel[END].value[0] = q;
    e->channel[END].value[1] = v;
    if (e->grad != NULL) {
        gradient(e, q, v);
    }
    return sum;
}

/* Many episodes, all of them step by step. */
static void rows(const ds_simple_episode *e, uint64_t count, double *sum)
{
    double q[DS_SIMPLE_ROWS] = {0}, v[DS_SIMPLE_ROWS] = {0};
    for (uint64_t k = 0; k < e->steps; k++) {
        for (uint64_t i = 0; i < count; i++) {
            sum[i] = (k > 0 ? sum[i] : 0) + advance(&e[i], k, e[i].x[k], &q[i], &v[i]);
        }
    }
    for (uint64_t i = 0; i < count && e->grad != NULL; i++) {
        gradient(&e[i], q[i], v[i]);
    }
}

/* ---- stepwise control: state = position and velocity, 0 at the start ---- */

static void reset(const ds_simple_episode *e)
{
    (void)e;
}

static double step(const ds_simple_episode *e, const double *action)
{
    return advance(e, e->step, action[0], &e->state[0], &e->state[1]);
}

static void observe(const ds_simple_episode *e, double *obs)
{
    obs[0] = e->state[0] - e->param[AIM];
    obs[1] = e->state[1];
}

DS_DEFINE_SIMPLE(.id = "tram", .summary = "A tram in the wind.", .license = "Apache-2.0", .params = params,
                 .flags = DS_ENV_GRADIENT | DS_ENV_STOCHASTIC, .n = 1, .lower = -2, .upper = 2, .start = 0.5,
                 .variable = variable, .data_size = sizeof(data), .setup = setup, .dt = DT, .nonnegative = 1,
                 .loss = loss, .rows = rows, DS_THINGS(things), .channels = channels, .n_act = 1, .n_obs = 2,
                 .n_state = 2, .reset = reset, .step = step, .observe = observe)
