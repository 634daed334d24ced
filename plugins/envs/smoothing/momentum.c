/* SPDX-License-Identifier: Apache-2.0 */
/* momentum.c - a ball hits a bar that can turn: the momentum it transfers grows with the angle of the throw,
 * up to the angle at which the ball misses the bar (Suh et al., ICML 2022, section 5, in closed form). */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/plain.h"

static const ds_param *const params[] = {DS_REAL("cliff", "0.78539816339744831", 1e-3, 1.5707963267948966,
                                                 "rad", "Angle beyond which the ball misses."),
                                         PLAIN_PARAMS("0", "1.5707963267948966", "0.1", "rad"), NULL};

typedef struct shot {
    plain plain; /* must be first */
    double cliff;
    double angle; /* last throw */
} shot;

enum { FRAMES = 40 };

static void read_shot(void *self, ds_param_reader *in)
{
    shot *e = self;
    e->cliff = ds_param_real(in, "cliff");
    plain_read(&e->plain, in, 1, "angle", "rad");
    e->plain.kit.steps = FRAMES;
    e->plain.kit.dt = 2.0 / FRAMES; /* twice the longest flight to the bar */
    e->plain.kit.loss_floor = -1;
}

static ds_status simulate_shot(void *self, ds_eval *io)
{
    shot *e = self;
    const double s = sin(io->x[0]);
    e->angle = io->x[0];
    io->loss = fabs(io->x[0]) <= e->cliff ? -s * s : 0;
    return DS_OK;
}

static ds_status adjoint_of_shot(void *self, ds_eval *io)
{
    const shot *e = self;
    io->grad[0] = fabs(io->x[0]) <= e->cliff ? -sin(2 * io->x[0]) : 0;
    return DS_OK;
}

/* ---- scene: a ball of 1 m/s, and a bar 1 m away that the throw at the cliff angle just reaches ---- */

enum { BALL, BAR, PIVOT };
static const double radius = 0.03;

/* Ball, tilt and rate of the bar at frame k; the ball stays where it hits. */
static void state_of(const shot *e, uint64_t k, double out[4])
{
    const double t = (double)k * e->plain.kit.dt, c = cos(e->angle), s = sin(e->angle);
    const double hit = fabs(e->angle) <= e->cliff ? cos(e->cliff) / c : HUGE_VAL, flown = fmin(t, hit);
    out[0] = c * flown;
    out[1] = s * flown;
    out[3] = t >= hit ? s : 0;
    out[2] = t >= hit ? s * (t - hit) : 0;
}

static void bodies_of_shot(void *self, ds_scene_kit *s)
{
    const shot *e = self;
    const double x = cos(e->cliff), length = sin(e->cliff);
    s->info.flat = 1;
    ds_scene_kit_body(s, "ball", DS_BODY_SPHERE, DS_ROLE_TOOL, 1, (double[4]){radius, 0, 0, 0});
    ds_scene_kit_body(s, "bar", DS_BODY_CAPSULE, DS_ROLE_MATERIAL, 1,
                      (double[4]){0.5 * radius, length, 0, 0});
    ds_scene_kit_body(s, "pivot", DS_BODY_SPHERE, DS_ROLE_FIXED, 1, (double[4]){radius, 0, 0, 0});
    ds_scene_kit_include(s, 0, 0, 0, 2 * radius);
    ds_scene_kit_include(s, x, 0, 0, 1.1 * length + 2 * radius);
}

static void place_shot(const void *self, uint64_t k, uint64_t b, double *out)
{
    const shot *e = self;
    double at[4];
    state_of(e, k, at);
    if (b == BALL) {
        ds_scene_kit_pose(at[0], at[1], 0, 0, out);
        return;
    }
    const double half =
        b == BAR ? (e->angle < 0 ? -0.5 : 0.5) * sin(e->cliff) : 0; /* it stands where the ball arrives */
    const double tilt = e->angle < 0 ? -at[2] : at[2];
    ds_scene_kit_pose(cos(e->cliff) + fabs(half) * sin(tilt), half * cos(tilt), 0,
                      e->angle < 0 ? tilt : -tilt, out);
}

static const ds_scene_kit_label metrics[] = {
    {"x", "m"}, {"y", "m"}, {"tilt", "rad"}, {"rate", "rad/s"}, {NULL, NULL}};

static void measure_shot(void *self, uint64_t k, double *out)
{
    shot *e = self;
    state_of(e, k, out);
    ds_scene_kit_include(&e->plain.kit.scene, out[0], out[1], 0, radius);
}

static const ds_env_table env = {.size = sizeof(shot),
                                 .read = read_shot,
                                 .simulate = simulate_shot,
                                 .adjoint = adjoint_of_shot,
                                 .metrics = metrics,
                                 .bodies = bodies_of_shot,
                                 .place = place_shot,
                                 .measure = measure_shot,
                                 PLAIN_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("momentum", "1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Hit a bar as hard as possible without missing it, in closed form.",
    .description = "Variable: the angle of the throw. Loss -sin(angle)^2 up to the cliff, 0 beyond it: the "
                   "best angle is the last one before the cliff, and gradients lead over it.\nThe figure "
                   "takes the loss as minus the square of the rate of the bar after the hit. Metrics: "
                   "position of the ball, tilt and rate of the bar.",
    .citation = SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
