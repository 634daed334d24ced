/* SPDX-License-Identifier: Apache-2.0 */
/* cart_pole.c - a cart with a hanging pole, pushed by a known force, as an environment to identify: its
 * channel is what sensors see. cart_pole.ini is the case. Build it with
 *
 *     cc -O2 -fPIC -shared -fvisibility=hidden $(pkg-config --cflags diffsim) -o cart_pole.so cart_pole.c -lm
 */
#include <diffsim/helper/simple.h>

enum { VISCOUS, COULOMB, POLE, ANGLE, VARIABLES };
enum { STEPS = 300, SUBSTEPS = 4 };
static const double dt = 0.01, cart = 1, bob = 0.2, length = 0.5, gravity = 9.81; /* s, kg, m, m/s^2 */

static const ds_channel *const channels[] = {
    DS_OBSERVED("state", 2 * (STEPS + 1), "",
                "Position of the cart (m) and angle of the pole (rad), sample by sample."),
    NULL};

static void variable(const ds_simple_episode *e, uint64_t i, ds_env_variable *out)
{
    static const char *const name[] = {"viscous", "coulomb", "pole", "angle"};
    static const char *const unit[] = {"N s/m", "N", "N m s/rad", "rad"};
    (void)e;
    ds_env_variable_put(out->name, "%s", name[i]);
    ds_env_variable_put(out->unit, "%s", unit[i]);
}

/* Derivative of y = (position, angle from hanging, their rates). */
static void move(const double *x, double t, const double *y, double *out)
{
    const double force = 3 * sin(2.2 * t) + 2 * sin(5.1 * t);
    const double push = force - x[VISCOUS] * y[2] - x[COULOMB] * tanh(y[2] / 0.02);
    const double s = sin(y[1]), c = cos(y[1]), ml = bob * length;
    const double along = push + ml * y[3] * y[3] * s, turn = -x[POLE] * y[3] - ml * gravity * s;
    const double det = (cart + bob) * ml * length - ml * c * ml * c;
    out[0] = y[2];
    out[1] = y[3];
    out[2] = (along * ml * length - ml * c * turn) / det;
    out[3] = ((cart + bob) * turn - ml * c * along) / det;
}

static void step(const double *x, double t, double h, double *y)
{
    double k[4][4], at[4];
    for (int stage = 0; stage < 4; stage++) {
        const double part = stage == 0 ? 0 : stage < 3 ? h / 2 : h;
        for (int i = 0; i < 4; i++) {
            at[i] = y[i] + (stage > 0 ? part * k[stage - 1][i] : 0);
        }
        move(x, t + part, at, k[stage]);
    }
    for (int i = 0; i < 4; i++) {
        y[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    }
}

static double loss(const ds_simple_episode *e)
{
    double y[4] = {0, e->x[ANGLE], 0, 0};
    for (int i = 0; i <= STEPS; i++) {
        e->channel[0].value[2 * i] = y[0];
        e->channel[0].value[2 * i + 1] = y[1];
        for (int k = 0; k < SUBSTEPS; k++) {
            step(e->x, dt * i + dt / SUBSTEPS * k, dt / SUBSTEPS, y);
        }
    }
    return 0;
}

static void range(const ds_simple_episode *e, uint64_t i, double *lower, double *upper, double *start)
{
    static const double box[VARIABLES][3] = {{0, 5, 1}, {0, 3, 0.2}, {1e-4, 0.1, 0.01}, {-1, 1, 0}};
    (void)e;
    *lower = box[i][0];
    *upper = box[i][1];
    *start = box[i][2];
}

DS_DEFINE_SIMPLE(.id = "cart_pole", .summary = "A pushed cart with a hanging pole.", .n = VARIABLES,
                 .range = range, .steps = STEPS, .dt = 0.01, .channels = channels, .variable = variable,
                 .loss = loss)
