/* SPDX-License-Identifier: Apache-2.0 */
/* tennis.c - a paddle with a linear policy returns a ball to a place: episodes differ in whether and where it
 * hits (Suh et al., ICML 2022, figure 8). */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/rollout.h"
#include "engines/physics/smoothing/softness.h"
#include "engines/physics/smoothing/plain.h"

#include <string.h>

enum { BX, BY, VX, VY, PX, PY, ANGLE, STATES };
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
    double h, a, b, radius, keep, restitution, k;
    softness soft;
} tennis;

/* out = R(angle) in, and the transpose. */
static void turn(double c, double s, const double in[2], double out[2])
{
    out[0] = c * in[0] - s * in[1];
    out[1] = s * in[0] + c * in[1];
}

static void turn_back(double c, double s, const double in[2], double out[2])
{
    out[0] = c * in[0] + s * in[1];
    out[1] = c * in[1] - s * in[0];
}

/* ---- impacts ---- */

/* In the frame of the paddle with its new angle at its old place: the ball after the step, its velocity
 * before and after; whether it hits, and when in the step. The upper face is assumed to be hit. */
typedef struct impact {
    double c, s, at[2], w[2], after[2], v[2], toi;
    int hit;
} impact;

static impact meet(const tennis *e, const double *x, const double *u)
{
    const double angle = x[ANGLE] + e->h * u[2];
    const double from[2] = {x[BX] + e->h * x[VX] - x[PX], x[BY] + e->h * x[VY] - x[PY]};
    impact m = {.c = cos(angle), .s = sin(angle)};
    turn_back(m.c, m.s, from, m.at);
    turn_back(m.c, m.s, x + VX, m.w);
    m.hit = fabs(m.at[0]) <= e->a + e->radius && fabs(m.at[1]) <= e->b + e->radius;
    m.after[0] = e->keep * m.w[0];
    m.after[1] = (m.hit ? -e->restitution : e->keep) * m.w[1];
    turn(m.c, m.s, m.after, m.v);
    m.toi = e->contact == TOI ? e->h * (1 - (e->b + e->radius - m.at[1]) / (1e-5 - e->h * m.w[1])) : 0;
    return m;
}

static void step_impact(const void *self, const double *x, const double *u, double *next)
{
    const tennis *e = self;
    const double h = e->h;
    const impact m = meet(e, x, u);
    if (m.hit) { /* the paddle stays where it is */
        for (int i = 0; i < 2; i++) {
            next[BX + i] = x[BX + i] + m.toi * x[VX + i] + (h - m.toi) * m.v[i];
            next[VX + i] = m.v[i];
        }
        memcpy(next + PX, x + PX, 3 * sizeof *next);
        return;
    }
    for (int i = 0; i < 2; i++) {
        next[VX + i] = e->keep * x[VX + i];
        next[BX + i] = x[BX + i] + h * next[VX + i];
    }
    for (int i = 0; i < 3; i++) {
        next[PX + i] = x[PX + i] + h * u[i];
    }
}

static void back_hit(const tennis *e, const impact *m, const double *x, const double *next_bar, double *x_bar,
                     double *u_bar)
{
    const double h = e->h, *ball_bar = next_bar + BX;
    double v_bar[2], after_bar[2], w_bar[2], world[2], at_bar[2] = {0, 0}, toi_bar = 0;
    for (int i = 0; i < 2; i++) {
        v_bar[i] = next_bar[VX + i] + (h - m->toi) * ball_bar[i];
        toi_bar += ball_bar[i] * (x[VX + i] - m->v[i]);
        x_bar[BX + i] += ball_bar[i];
        x_bar[VX + i] += m->toi * ball_bar[i];
        x_bar[PX + i] += next_bar[PX + i];
    }
    turn_back(m->c, m->s, v_bar, after_bar);
    double angle_bar = m->after[0] * after_bar[1] - m->after[1] * after_bar[0];
    w_bar[0] = e->keep * after_bar[0];
    w_bar[1] = -e->restitution * after_bar[1];
    if (e->contact == TOI) {
        const double fall = 1e-5 - h * m->w[1];
        at_bar[1] = toi_bar * h / fall;
        w_bar[1] -= toi_bar * h * h * (e->b + e->radius - m->at[1]) / (fall * fall);
    }
    turn(m->c, m->s, w_bar, world);
    x_bar[VX] += world[0];
    x_bar[VY] += world[1];
    angle_bar += w_bar[0] * m->w[1] - w_bar[1] * m->w[0];
    turn(m->c, m->s, at_bar, world);
    for (int i = 0; i < 2; i++) {
        x_bar[BX + i] += world[i];
        x_bar[VX + i] += h * world[i];
        x_bar[PX + i] -= world[i];
    }
    angle_bar += at_bar[0] * m->at[1] - at_bar[1] * m->at[0];
    x_bar[ANGLE] += next_bar[ANGLE] + angle_bar;
    u_bar[2] += h * angle_bar;
}

static void back_impact(const void *self, const double *x, const double *u, const double *next_bar,
                        double *x_bar, double *u_bar)
{
    const tennis *e = self;
    const impact m = meet(e, x, u);
    if (m.hit) {
        back_hit(e, &m, x, next_bar, x_bar, u_bar);
        return;
    }
    for (int i = 0; i < 2; i++) {
        x_bar[BX + i] += next_bar[BX + i];
        x_bar[VX + i] += e->keep * (next_bar[VX + i] + e->h * next_bar[BX + i]);
    }
    for (int i = 0; i < 3; i++) {
        x_bar[PX + i] += next_bar[PX + i];
        u_bar[i] += e->h * next_bar[PX + i];
    }
}

/* ---- penalty contact ---- */

/* The paddle has already moved. */
typedef struct press {
    double c, s, at[2], force;
    rounded box;
} press;

static press touch(const tennis *e, const double *x, const double *u)
{
    const double angle = x[ANGLE] + e->h * u[2];
    const double from[2] = {x[BX] - x[PX] - e->h * u[0], x[BY] - x[PY] - e->h * u[1]};
    press p = {.c = cos(angle), .s = sin(angle)};
    turn_back(p.c, p.s, from, p.at);
    p.box = rounded_box(p.at, e->a, e->b, e->radius, e->contact == ROUNDED);
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
        next[VX + i] = e->keep * x[VX + i] + e->h * p.force * n[i];
        next[BX + i] = x[BX + i] + e->h * next[VX + i];
    }
    for (int i = 0; i < 3; i++) {
        next[PX + i] = x[PX + i] + e->h * u[i];
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
        const double v_bar = next_bar[VX + i] + e->h * next_bar[BX + i];
        force_bar[i] = e->h * v_bar;
        x_bar[BX + i] += next_bar[BX + i];
        x_bar[VX + i] += e->keep * v_bar;
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
        u_bar[i] += e->h * pose_bar[i];
    }
}

static const rollout_system systems[] = {
    {.states = STATES, .controls = 3, .step = step_impact, .back = back_impact},
    {.states = STATES, .controls = 3, .step = step_penalty, .back = back_penalty}};

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

static void read_tennis(void *self, ds_param_reader *in)
{
    tennis *e = self;
    rollout *r = &e->policy.roll;
    const uint64_t steps = (uint64_t)ds_param_int(in, "steps");
    e->contact = ds_param_int(in, "contact");
    e->h = ds_param_real(in, "h");
    e->a = ds_param_real(in, "half_width");
    e->b = ds_param_real(in, "pad");
    e->radius = ds_param_real(in, "radius");
    e->keep = ds_param_real(in, "keep");
    e->restitution = e->contact == TOI ? 1 : 0.8;
    ds_param_values(in, "restitution", 1, &e->restitution);
    e->k = ds_param_real(in, "k");
    softness_read(&e->soft, in, "width");
    policy_read(&e->policy, in, &systems[e->contact >= ROUNDED], steps, e->h, draw_serve);
    const double weight = ds_param_real(in, "r");
    if (in->status == DS_OK && !e->policy.kit.memory.failed) {
        r->r[0] = r->r[1] = r->r[2] = weight;
        ds_param_values(in, "start", STATES, e->policy.usual);
        ds_param_values(in, "goal", STATES, r->goal);
        ds_param_values(in, "qd", STATES, r->qd);
    }
}

/* ---- scene ---- */

enum { BALL, PADDLE, GOAL };

static void bodies_of_tennis(void *self, ds_scene_kit *s)
{
    const tennis *e = self;
    const double *goal = e->policy.roll.goal;
    s->info.flat = 1;
    ds_scene_kit_body(s, "ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){e->radius, 0, 0, 0});
    ds_scene_kit_body(s, "paddle", DS_BODY_BOX, DS_ROLE_TOOL, 1, (double[4]){e->a, e->b, e->b, 0});
    ds_scene_kit_body(s, "goal", DS_BODY_SPHERE, DS_ROLE_TARGET, 1, (double[4]){e->radius, 0, 0, 0});
    ds_scene_kit_include(s, 0, 0, 0, 1);
    ds_scene_kit_include(s, goal[BX], goal[BY], 0, 2 * e->radius);
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
    const double *x = r->x + k * STATES, *u = r->u + 3 * k;
    ds_scene_kit_include(&e->policy.kit.scene, x[BX], x[BY], 0, e->radius);
    ds_scene_kit_include(&e->policy.kit.scene, x[PX], x[PY], 0, e->a);
    out[0] = x[BX];
    out[1] = x[BY];
    out[2] = hypot(x[VX], x[VY]);
    out[3] = hypot(x[BX] - r->goal[BX], x[BY] - r->goal[BY]);
    out[4] = k == r->steps           ? (double)NAN
             : e->contact >= ROUNDED ? touch(e, x, u).box.distance < 0
                                     : meet(e, x, u).hit;
    out[5] = rollout_cost(r, k);
}

static const ds_env_table env = {.size = sizeof(tennis),
                                 .cure = "reduce parameter limit, h or k",
                                 .read = read_tennis,
                                 .metrics = metrics,
                                 .bodies = bodies_of_tennis,
                                 .place = place_tennis,
                                 .measure = measure_tennis,
                                 POLICY_TABLE};

static const char *const extensions[] = {DS_EXT_SCORE, NULL};

static const ds_desc desc = {
    BUNDLED_DESC("tennis", "1"),
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
