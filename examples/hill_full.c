/* SPDX-License-Identifier: Apache-2.0 */
/* hill_full - an environment with every feature of the short form: the ball of hill.c starts in a valley, is
 * pushed in each control step, and should be at `target` at the end. x = the pushes [m/s^2]; the gradient is
 * an adjoint. Start from here, and delete what you do not need. */
#include <diffsim/helper/simple.h>

enum { STEPS = 100 };
#define DT 0.02     /* seconds */
#define START -1.05 /* metres */

/* ---- what users can set, see and query ---- */

enum { FRICTION, TARGET };
static const ds_param *const params[] = {DS_REAL("friction", "0.5", 0, 10, "1/s", "Damping of the velocity."),
                                         DS_REAL("target", "1", -5, 5, "m", "Where the ball should end."),
                                         NULL};

enum { BALL, GOAL };
static const ds_thing things[] = {DS_THING("ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 0.12),
                                  DS_THING("goal", DS_BODY_SPHERE, DS_ROLE_TARGET, 0.12)};

enum { MISS, PATH };
static const ds_channel *const channels[] = {
    DS_RESIDUALS("miss", 1, "m", "Distance from the target at the end."),
    DS_OBSERVED("path", STEPS + 1, "m", "Position before each step, and at the end."), NULL};

static void variable(const ds_simple_episode *e, uint64_t i, ds_env_variable *out)
{
    (void)e;
    ds_env_variable_put(out->name, "push.%d", (int)i + 1);
    ds_env_variable_put(out->unit, "m/s^2");
}

/* ---- physics ---- */

static double height(double q)
{
    return cos(3 * q);
}

/* One step of symplectic Euler. */
static void advance(const ds_simple_episode *e, double push, double *q, double *v)
{
    *v += DT * (9.81 * 3 * sin(3 * *q) - e->param[FRICTION] * *v + push);
    *q += DT * *v;
}

/* Writes d (position at the end) / d push to J: back over the steps of `path`. */
static void adjoint(const ds_simple_episode *e, const double *path, double *J)
{
    double q_bar = 1, v_bar = 0;
    for (int k = STEPS - 1; k >= 0; k--) {
        v_bar += DT * q_bar;
        J[k] = DT * v_bar;
        q_bar += DT * 9.81 * 9 * cos(3 * path[k]) * v_bar;
        v_bar -= DT * e->param[FRICTION] * v_bar;
    }
}

/* ---- whole episodes ---- */

static double loss(const ds_simple_episode *e)
{
    double *path = e->channel[PATH].value, q = START, v = 0;
    for (uint64_t k = 0; k <= STEPS; k++) {
        path[k] = q;
        ds_see(k, BALL, q, height(q) + 0.14, 0);
        if (k < STEPS) {
            advance(e, e->x[k], &q, &v);
        }
    }
    ds_see(0, GOAL, e->param[TARGET], height(e->param[TARGET]) + 0.14, 0);
    e->channel[MISS].value[0] = q - e->param[TARGET];
    adjoint(e, path, e->channel[MISS].jacobian);
    return ds_simple_squares(e, MISS, 1); /* and its gradient */
}

/* Many episodes in one call, with the same result for each. */
static void rows(const ds_simple_episode *e, uint64_t count, double *out)
{
    for (uint64_t i = 0; i < count; i++) {
        double path[STEPS], q = START, v = 0;
        for (uint64_t k = 0; k < STEPS; k++) {
            path[k] = q;
            advance(&e[i], e[i].x[k], &q, &v);
        }
        const double miss = q - e[i].param[TARGET];
        out[i] = miss * miss;
        if (e[i].grad != NULL) {
            adjoint(&e[i], path, e[i].grad);
            for (uint64_t k = 0; k < STEPS; k++) {
                e[i].grad[k] *= 2 * miss;
            }
        }
    }
}

/* ---- stepwise control: the state is position and velocity ---- */

static void reset(const ds_simple_episode *e)
{
    e->state[0] = START;
}

static double step(const ds_simple_episode *e, const double *action)
{
    advance(e, action[0], &e->state[0], &e->state[1]);
    const double miss = e->state[0] - e->param[TARGET];
    return e->step + 1 < STEPS ? 0 : miss * miss;
}

static void observe(const ds_simple_episode *e, double *obs)
{
    obs[0] = e->state[0] - e->param[TARGET];
    obs[1] = e->state[1];
}

DS_DEFINE_SIMPLE(.id = "hill_full", .summary = "A ball pushed over hilly ground, step by step.",
                 .params = params, .flags = DS_ENV_GRADIENT, .lower = -12, .upper = 12, .steps = STEPS,
                 .dt = DT, .nonnegative = 1, .variable = variable, DS_THINGS(things), .channels = channels,
                 .loss = loss, .rows = rows, .n_act = 1, .n_obs = 2, .n_state = 2, .reset = reset,
                 .step = step, .observe = observe)
