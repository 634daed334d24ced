/* SPDX-License-Identifier: Apache-2.0 */
/* tennis.c - a paddle with a linear policy returns a ball to a place: episodes differ in whether and where it
 * hits (Suh et al., ICML 2022, figure 8). */
#include "engines/kit/bundled.h"
#include "engines/kit/lanes.h"
#include "engines/physics/smoothing/rollout.h"
#include "engines/physics/smoothing/softness.h"
#include "engines/physics/smoothing/plain.h"

#include <string.h>

/* The values of sin() and cos(), in every episode. */
static void sincos_of(double angle, double *sine, double *cosine)
{
    *sine = sin(angle);
    *cosine = cos(angle);
}

#define real double
#define real_mask int
#define real_sincos sincos_of
#define real_choose(mask, a, b) ((mask) ? (a) : (b))
#define real_any(mask) (mask)
#define real_abs fabs
#include "engines/physics/paddle/paddle_step.h"

enum {
    BX = PADDLE_BX,
    BY = PADDLE_BY,
    VX = PADDLE_VX,
    VY = PADDLE_VY,
    PX = PADDLE_PX,
    PY = PADDLE_PY,
    ANGLE = PADDLE_ANGLE,
    STATES = PADDLE_STATES
};
enum { TOI, BOUNCE, ROUNDED, BOX };

static const char *const contacts[] = {"toi", "bounce", "rounded", "box", NULL};

static const ds_param *const params[] = {
    DS_ENUM("contact", "toi", contacts,
            "toi = an impact at its time within the step; bounce = only the velocity is reflected; rounded, "
            "box = a penalty force by the distance to a paddle with round or sharp corners."),
    DS_INT("steps", "200", 1, 100000, "", "Steps of an episode."),
    DS_REAL("h", "0.05", 1e-6, 1, "s", "Time step."),
    DS_REAL("half_width", "0.8", 1e-6, 1e6, "m", "Half the width of the paddle."),
    DS_REAL("pad", "0.05", 1e-6, 1e6, "m",
            "Half the height of the paddle; the published penalty contact also used 0.08 and 0.02."),
    DS_REAL("radius", "0.15", 1e-6, 1e6, "m", "Radius of the ball."),
    DS_REAL("keep", "0.999", 0, 1, "", "Share of the velocity that remains after a step."),
    DS_LIST("restitution", "", 0, 1, 1, "", "Restitution of an impact; empty = 1 (toi), 0.8 (bounce)."),
    DS_REAL("k", "100", 0, 1e9, "N/m",
            "Penalty: stiffness; the published program also uses 1000. The ball has 1 kg."),
    SOFTNESS_PARAMS("width", "softplus", "0.063095734448019331", "m"),
    DS_LIST("start", "0,2,0,-0.2,0.5,0,0", -1e6, 1e6, STATES, "",
            "Ball x, y, velocity x, y, paddle x, y, angle at the start of episodes without noise, or with "
            "begin = fixed."),
    DS_LIST("goal", "0,2.5,0,0,0,0,0", -1e6, 1e6, STATES, "", "Goal state at the end."),
    DS_LIST("qd", "100,100,10,10,0,0,0", 0, 1e6, STATES, "", "Weights of the squared state at the end."),
    DS_REAL("r", "0.001", 0, 1e6, "", "Weight of the squared controls."),
    POLICY_PARAMS("1", "0.01"),
    NULL};

typedef struct tennis {
    policy policy; /* must be first */
    int64_t contact;
    paddle_law law;
    double k;
    softness soft;
    /* Of episodes side by side: noise of each, states and controls. */
    const paddle_lanes *lanes;
    double *noise, *tape;
} tennis;

/* ---- impacts ---- */

static void step_impact(const void *self, const double *x, const double *u, double *next)
{
    const tennis *e = self;
    paddle_step(&e->law, x, u, next);
}

static void back_impact(const void *self, const double *x, const double *u, const double *next_bar,
                        double *x_bar, double *u_bar)
{
    const tennis *e = self;
    paddle_back(&e->law, x, u, next_bar, x_bar, u_bar);
}

/* ---- penalty contact ---- */

/* The paddle has already moved. */
typedef struct press {
    double c, s, at[2], force;
    rounded box;
} press;

static press touch(const tennis *e, const double *x, const double *u)
{
    const double angle = x[ANGLE] + e->law.h * u[2];
    const double from[2] = {x[BX] - x[PX] - e->law.h * u[0], x[BY] - x[PY] - e->law.h * u[1]};
    press p = {.c = cos(angle), .s = sin(angle)};
    turn_back(p.c, p.s, from, p.at);
    p.box = rounded_box(p.at, e->law.half, e->law.pad, e->law.radius, e->contact == ROUNDED);
    p.force = e->k * softness_ramp(&e->soft, -p.box.distance);
    return p;
}

static void step_penalty(const void *self, const double *x, const double *u, double *next)
{
    const tennis *e = self;
    const press p = touch(e, x, u);
    double n[2];
    turn(p.c, p.s, p.box.n, n);
    for (int i = 0; i < 2; i++) {
        next[VX + i] = e->law.keep * x[VX + i] + e->law.h * p.force * n[i];
        next[BX + i] = x[BX + i] + e->law.h * next[VX + i];
    }
    for (int i = 0; i < 3; i++) {
        next[PX + i] = x[PX + i] + e->law.h * u[i];
    }
}

static void back_penalty(const void *self, const double *x, const double *u, const double *next_bar,
                         double *x_bar, double *u_bar)
{
    const tennis *e = self;
    const press p = touch(e, x, u);
    const double *n = p.box.n;
    double force_bar[2], local[2], at_bar[2], world[2], pose_bar[3];
    for (int i = 0; i < 2; i++) {
        const double v_bar = next_bar[VX + i] + e->law.h * next_bar[BX + i];
        force_bar[i] = e->law.h * v_bar;
        x_bar[BX + i] += next_bar[BX + i];
        x_bar[VX + i] += e->law.keep * v_bar;
    }
    turn_back(p.c, p.s, force_bar, local);
    const double along = n[0] * local[0] + n[1] * local[1];
    const double distance_bar = -e->k * softness_slope(&e->soft, -p.box.distance) * along;
    double angle_bar = p.force * (n[0] * local[1] - n[1] * local[0]);
    for (int i = 0; i < 2; i++) {
        at_bar[i] = distance_bar * n[i] + p.force * p.box.curvature * (local[i] - along * n[i]);
    }
    turn(p.c, p.s, at_bar, world);
    angle_bar += at_bar[0] * p.at[1] - at_bar[1] * p.at[0];
    pose_bar[2] = next_bar[ANGLE] + angle_bar;
    for (int i = 0; i < 2; i++) {
        x_bar[BX + i] += world[i];
        pose_bar[i] = next_bar[PX + i] - world[i];
    }
    for (int i = 0; i < 3; i++) {
        x_bar[PX + i] += pose_bar[i];
        u_bar[i] += e->law.h * pose_bar[i];
    }
}

static const uint32_t pushed[] = {VX, VY};
static const rollout_system systems[] = {{.states = STATES,
                                          .controls = 3,
                                          .step = step_impact,
                                          .back = back_impact,
                                          .forces = 2,
                                          .pushed = pushed},
                                         {.states = STATES,
                                          .controls = 3,
                                          .step = step_penalty,
                                          .back = back_penalty,
                                          .forces = 2,
                                          .pushed = pushed}};

/* ---- set-up ---- */

static void draw_serve(const void *self, ds_random *random, double *start)
{
    (void)self;
    start[BX] = 4 * ds_random_uniform(random) - 2;
    start[BY] = 2 + 0.2 * ds_random_normal(random);
    start[VX] = -0.2 * start[BX] + 0.03 * ds_random_normal(random);
    start[VY] = -0.2 * start[BY] + 0.03 * ds_random_normal(random);
    start[PX] = 0.5 * ds_random_normal(random);
    start[PY] = 0.05 * ds_random_normal(random);
    start[ANGLE] = 0.05 * ds_random_normal(random);
}

enum { LANES_STEPS = 4096 }; /* longer episodes have no lanes: their tapes would not fit into caches */

static void take_lanes(tennis *e, uint64_t steps)
{
    e->policy.kit.max_rows = 1;
    if (e->contact >= ROUNDED || steps > LANES_STEPS) {
        return;
    }
    ds_memory *m = &e->policy.kit.memory;
    e->lanes = paddle_lanes_find();
    e->noise = ds_memory_doubles(m, steps * PADDLE_CONTROLS * e->lanes->width);
    e->tape = lanes_memory(m, (steps + 1) * PADDLE_RECORD, e->lanes->width);
    e->policy.kit.max_rows = 0;
}

static void read_tennis(void *self, ds_param_reader *in)
{
    tennis *e = self;
    rollout *r = &e->policy.roll;
    const uint64_t steps = (uint64_t)ds_param_int(in, "steps");
    e->contact = ds_param_int(in, "contact");
    e->law = (paddle_law){.has_toi = e->contact == TOI,
                          .h = ds_param_real(in, "h"),
                          .half = ds_param_real(in, "half_width"),
                          .pad = ds_param_real(in, "pad"),
                          .radius = ds_param_real(in, "radius"),
                          .keep = ds_param_real(in, "keep"),
                          .restitution = e->contact == TOI ? 1 : 0.8};
    ds_param_values(in, "restitution", 1, &e->law.restitution);
    e->k = ds_param_real(in, "k");
    softness_read(&e->soft, in, "width");
    policy_read(&e->policy, in, &systems[e->contact >= ROUNDED], steps, e->law.h, draw_serve);
    r->kick = e->law.h; /* of 1 kg */
    const double weight = ds_param_real(in, "r");
    if (in->status == DS_OK && !e->policy.kit.memory.failed) {
        r->r[0] = r->r[1] = r->r[2] = weight;
        ds_param_values(in, "start", STATES, e->policy.usual);
        ds_param_values(in, "goal", STATES, r->goal);
        ds_param_values(in, "qd", STATES, r->qd);
    }
    take_lanes(e, steps);
}

/* ---- episodes side by side ---- */

static ds_status simulate_rows(void *self, uint64_t count, ds_eval *const *io)
{
    tennis *e = self;
    const rollout *r = &e->policy.roll;
    const uint64_t width = e->lanes->width, numbers = r->steps * PADDLE_CONTROLS;
    const paddle_cost cost = {r->steps, r->goal, r->q, r->qd, r->r};
    for (uint64_t k = 0; k < count; k += width) {
        const lanes_group g = lanes_take(width, count - k, io + k);
        const double *noise[LANES_MOST];
        double start[STATES * LANES_MOST], loss[LANES_MOST];
        for (uint64_t lane = 0; lane < width; lane++) {
            double one[STATES], *of_lane = e->noise + lane * numbers;
            if (!policy_draw(&e->policy, g.io[lane]->noise_key, one, of_lane)) {
                memset(of_lane, 0, numbers * sizeof *of_lane);
            }
            noise[lane] = of_lane;
            for (uint64_t i = 0; i < STATES; i++) {
                start[i * width + lane] = one[i];
            }
        }
        e->lanes->simulate(&e->law, &cost, g.x, noise, start, g.graded ? e->tape : NULL, loss);
        for (uint64_t lane = 0; lane < width; lane++) {
            g.io[lane]->loss = loss[lane];
        }
        if (g.graded) {
            e->lanes->adjoint(&e->law, &cost, g.x, e->tape, g.grad);
        }
        if (r->host->should_stop(r->host)) {
            return DS_STOPPED;
        }
    }
    return DS_OK;
}

/* ---- scene ---- */

enum { BALL, PADDLE, GOAL };

static void bodies_of_tennis(void *self, ds_scene_kit *s)
{
    const tennis *e = self;
    const double *goal = e->policy.roll.goal;
    s->info.flat = 1;
    ds_scene_kit_body(s, "ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){e->law.radius, 0, 0, 0});
    ds_scene_kit_body(s, "paddle", DS_BODY_BOX, DS_ROLE_TOOL, 1,
                      (double[4]){e->law.half, e->law.pad, e->law.pad, 0});
    ds_scene_kit_body(s, "goal", DS_BODY_SPHERE, DS_ROLE_TARGET, 1, (double[4]){e->law.radius, 0, 0, 0});
    ds_scene_kit_include(s, 0, 0, 0, 1);
    ds_scene_kit_include(s, goal[BX], goal[BY], 0, 2 * e->law.radius);
}

static void place_tennis(const void *self, uint64_t k, uint64_t b, double *out)
{
    const tennis *e = self;
    const double *x = b == GOAL ? e->policy.roll.goal : e->policy.roll.x + k * STATES;
    b == PADDLE ? ds_scene_kit_pose(x[PX], x[PY], 0, x[ANGLE], out)
                : ds_scene_kit_pose(x[BX], x[BY], 0, 0, out);
}

static const ds_scene_kit_label metrics[] = {
    {"x", "m"}, {"y", "m"}, {"speed", "m/s"}, {"distance", "m"}, {"contact", ""}, {"cost", ""}, {NULL, NULL}};

static void measure_tennis(void *self, uint64_t k, double *out)
{
    tennis *e = self;
    const rollout *r = &e->policy.roll;
    const double *x = r->x + k * STATES, *from, *u;
    ds_scene_kit_include(&e->policy.kit.scene, x[BX], x[BY], 0, e->law.radius);
    ds_scene_kit_include(&e->policy.kit.scene, x[PX], x[PY], 0, e->law.half);
    out[0] = x[BX];
    out[1] = x[BY];
    out[2] = hypot(x[VX], x[VY]);
    out[3] = hypot(x[BX] - r->goal[BX], x[BY] - r->goal[BY]);
    out[4] = NAN;
    if (k < r->steps) {
        rollout_acting(r, k, &from, &u);
        out[4] = e->contact >= ROUNDED ? touch(e, from, u).box.distance < 0 : meet(&e->law, from, u).hit;
    }
    out[5] = rollout_cost(r, k);
}

static const ds_env_table env = {.size = sizeof(tennis),
                                 .cure = "reduce parameter limit, h or k",
                                 .read = read_tennis,
                                 .metrics = metrics,
                                 .bodies = bodies_of_tennis,
                                 .place = place_tennis,
                                 .measure = measure_tennis,
                                 .rows = simulate_rows,
                                 .rows_adjoint = 1,
                                 POLICY_TABLE};

static const char *const extensions[] = {DS_EXT_SCORE, NULL};

static const ds_desc desc = {
    BUNDLED_DESC("tennis", "2"),
    .flags = DS_ENV_GRADIENT | DS_ENV_STOCHASTIC,
    .summary = "A paddle with a linear policy returns a ball.",
    .description =
        "Variables: the gains K of u = K s (3 x 7, row by row), s = ball x, y, velocity x, y, paddle x, y, "
        "angle; u is the velocity of the paddle. No gravity. The loss is 100 times the squared distance of "
        "the ball to (0, 2.5) plus 10 times its squared speed at the end, plus r u^2 of the steps.\nEpisodes "
        "with noise (a noise key) have normal noise on u and, with begin = random, a start with ball x "
        "uniform in [-2, 2], y 2 +- 0.2, velocity -0.2 (x, y) +- 0.03, paddle x +- 0.5, y and angle +- 0.05. "
        "The environment offers the score of the noise (ds.draft.env.score/1).\nAn impact is computed in the "
        "frame of the paddle's new angle at its old place and assumes that the ball hits the upper face; the "
        "paddle keeps its pose in that step; a ball that is still inside is reflected again.\nMetrics: x, y, "
        "speed, distance to the goal, contact in the step that starts at the frame, its cost.",
    .citation = SMOOTHING_SUH,
    .extensions = extensions,
};

DS_ENV_KIT_DEFINE(env, desc)
