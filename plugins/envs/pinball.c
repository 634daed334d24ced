/* SPDX-License-Identifier: Apache-2.0 */
/* pinball - a ball drops through a grid of tilted bars: the decision variables are their angles, the loss is
 * the distance of the ball to a target after a fixed time. */
#include <diffsim/plugin.h>

#include <stdlib.h>
#include <string.h>

#include "engines/contact/ball.h"
#include "engines/scene/scene_kit.h"
#include "engines/scene/settings.h"

enum { PINBALL2 = 0, PINBALL16 = 1 };
enum { BALL, BARS, SIDES, FLOOR_AND_TOP, TARGET };
enum { M_X, M_Y, M_DISTANCE, M_SPEED, M_ENERGY, M_IMPULSE };
static const double wall = 0.1; /* m, half thickness of the walls in pictures */

static const char *const variants[] = {"pinball2", "pinball16", NULL};
static const char *const integrators[] = {"explicit", "semi-implicit", NULL};
static const char *const orders[] = {"simultaneous", "sequential", "reversed", NULL};
static const char *const gradients[] = {"discrete", "nimble", "saltation", "alternate", NULL};

static const ds_param *const params[] = {
    &(const ds_param){sizeof(ds_param), DS_PARAM_ENUM, DS_PARAM_SHAPE, 0, 0, 0, "variant", "pinball2", "",
                      "pinball2: one row of two bars, two variables; pinball16: four rows of four.",
                      variants},
    &(const ds_param){sizeof(ds_param), DS_PARAM_INT, DS_PARAM_SHAPE, 0, 0, 64, "nh", "0", "",
                      "Rows of bars; 0 = of the variant.", NULL},
    &(const ds_param){sizeof(ds_param), DS_PARAM_INT, DS_PARAM_SHAPE, 0, 0, 64, "nw", "0", "",
                      "Bars in a row; 0 = of the variant.", NULL},
    DS_INT("steps", "1000", 1, 1000000, "", "Steps of an episode."),
    DS_REAL("h", "0.002", 1e-9, 1, "s",
            "Time step. A ball of speed v passes through what is thinner than v h."),
    DS_REAL("width", "8", 1e-6, 1e6, "m", "Width of the platform; the left wall is at x = 0."),
    DS_REAL("height", "10", 1e-6, 1e6, "m", "Height of the platform; the floor is at y = 0."),
    DS_LIST(
        "half_length", "", 0, 1e6, 1, "m",
        "Half length of a bar; empty = 1.2 with one row of two, else 0.35 of the distance of the columns."),
    DS_REAL("half_thickness", "0.1", 0, 1e6, "m", "Half thickness of a bar."),
    DS_REAL("radius", "0.2", 1e-9, 1e6, "m", "Radius of the ball."),
    DS_LIST("start", "", -1e6, 1e6, 2, "m",
            "Centre of the ball at the start (x, y); empty = (2.5, 9.5) with two columns, else (3.3, 9.5)."),
    DS_LIST("start_velocity", "0,0", -1e6, 1e6, 2, "m/s", "Velocity of the ball at the start."),
    DS_LIST("target", "7,0.5", -1e6, 1e6, 2, "m", "Target of the ball's centre (x, y)."),
    DS_REAL("restitution", "0.6", 0, 1, "", "Coefficient of restitution of an impact."),
    DS_REAL("friction", "0", 0, 1e3, "", "Coulomb friction; the ball does not spin."),
    DS_REAL("gravity", "9.81", -1e3, 1e3, "m/s^2", "Gravity, downward."),
    DS_REAL("threshold", "0.1", 0, INFINITY, "m/s",
            "The ball bounces only where restitution times speed of approach exceeds this."),
    DS_REAL("clip", "inf", 0, INFINITY, "m",
            "Contacts deeper than this are ignored (0.03 in Nimble); inf = none are."),
    DS_ENUM(
        "integrator", "explicit", integrators,
        "explicit: positions move with the velocity before the step, as in Nimble; semi-implicit: after it."),
    DS_ENUM("contact_order", "simultaneous", orders,
            "Contacts of one step: together (linear complementarity), or one after the other, in order or "
            "reversed."),
    DS_ENUM(
        "gradient", "discrete", gradients,
        "discrete: of the program, exact. nimble: with its bounce approximation of positions. saltation: of "
        "the continuous motion, in which the time of impact shifts. alternate: contacts switched where that "
        "gives a larger derivative (Nimble's way off saddle points). Only the first is the derivative of "
        "the loss."),
    NULL};

typedef struct pinball {
    scene_kit scene; /* first: see scene_kit.h */
    ball_params p;
    ball *sim;
    shape_box *bar;
    uint64_t n, steps;
    double *angle; /* of the last episode */
    double width, height, half[2], start[4], target[2];
} pinball;

/* ---- set-up ---- */

static ds_status read_physics(pinball *e, const ds_host *host)
{
    int64_t integrator = 0, order = 0, gradient = 0;
    ds_status s = DS_OK;
    ball_params *p = &e->p;
    setting_real(&s, host, "h", &p->h);
    setting_real(&s, host, "gravity", &p->gravity);
    setting_real(&s, host, "radius", &p->radius);
    setting_real(&s, host, "clip", &p->clip);
    setting_real(&s, host, "restitution", &p->law.restitution);
    setting_real(&s, host, "friction", &p->law.friction);
    setting_real(&s, host, "threshold", &p->law.threshold);
    setting_int(&s, host, "integrator", &integrator);
    setting_int(&s, host, "contact_order", &order);
    setting_int(&s, host, "gradient", &gradient);
    p->integrator = (int)integrator; /* the choices are in the order of the engine's constants */
    p->order = (int)order;
    p->gradient = (int)gradient;
    p->walls[1] = e->width;
    p->walls[3] = e->height;
    return s;
}

static ds_status read_params(pinball *e, const ds_host *host, uint64_t *nh, uint64_t *nw)
{
    int64_t variant = 0, rows = 0, columns = 0, steps = 0;
    ds_status s = DS_OK;
    setting_int(&s, host, "variant", &variant);
    setting_int(&s, host, "nh", &rows);
    setting_int(&s, host, "nw", &columns);
    setting_int(&s, host, "steps", &steps);
    setting_real(&s, host, "width", &e->width);
    setting_real(&s, host, "height", &e->height);
    *nh = rows ? (uint64_t)rows : variant == PINBALL16 ? 4 : 1;
    *nw = columns ? (uint64_t)columns : variant == PINBALL16 ? 4 : 2;
    e->n = *nh * *nw;
    e->steps = (uint64_t)steps;
    e->half[0] = e->n == 2 && *nw == 2 ? 1.2 : 0.35 * e->width / (double)*nw;
    e->start[0] = *nw == 2 ? 2.5 : 3.3;
    e->start[1] = 9.5;
    setting_values(&s, host, "half_length", 1, e->half);
    setting_real(&s, host, "half_thickness", &e->half[1]);
    setting_values(&s, host, "start", 2, e->start);
    setting_values(&s, host, "start_velocity", 2, e->start + 2);
    setting_values(&s, host, "target", 2, e->target);
    s = s == DS_OK ? read_physics(e, host) : s;
    if (s == DS_OK && 2 * e->p.radius > fmin(e->width, e->height)) {
        s = setting_bad(
            host, "parameter radius = %g: a ball of diameter %g does not fit between walls %g m x %g m apart",
            e->p.radius, 2 * e->p.radius, e->width, e->height);
    }
    return s;
}

/* Bars row by row, the top row first, evenly spread: centres x = W (j + 1/2)/nw, y = H (nh - i)/(nh + 1). */
static void set_bars(pinball *e, uint64_t nh, uint64_t nw)
{
    for (uint64_t k = 0; k < e->n; k++) {
        shape_box *b = &e->bar[k];
        b->centre[0] = e->width * ((double)(k % nw) + 0.5) / (double)nw;
        b->centre[1] = e->height * (double)(nh - k / nw) / (double)(nh + 1);
        memcpy(b->half, e->half, sizeof b->half);
    }
}

static void place(const void *self, uint64_t k, uint64_t b, double *out);

static int set_scene(pinball *e)
{
    scene_kit *s = &e->scene;
    const double r = e->p.radius, W = 0.5 * e->width, H = 0.5 * e->height;
    scene_kit_open(s, e->steps, e->p.h, place);
    scene_kit_body(s, "ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){r, 0, 0, 0});
    scene_kit_body(s, "bars", DS_BODY_BOX, DS_ROLE_TOOL, e->n, (double[4]){e->half[0], e->half[1], r, 0});
    scene_kit_body(s, "sides", DS_BODY_BOX, DS_ROLE_FIXED, 2, (double[4]){wall, H + 2 * wall, r, 0});
    scene_kit_body(s, "floor_and_top", DS_BODY_BOX, DS_ROLE_FIXED, 2, (double[4]){W, wall, r, 0});
    scene_kit_body(s, "target", DS_BODY_SPHERE, DS_ROLE_TARGET, 1, (double[4]){r, 0, 0, 0});
    scene_kit_include(s, 0, 0, 0, 2 * wall);
    scene_kit_include(s, e->width, e->height, 0, 2 * wall);
    scene_kit_include(s, e->target[0], e->target[1], 0, r);
    s->info.flat = 1;
    scene_kit_metric(s, "x", "m");
    scene_kit_metric(s, "y", "m");
    scene_kit_metric(s, "distance", "m");
    scene_kit_metric(s, "speed", "m/s");
    scene_kit_metric(s, "energy", "J");
    scene_kit_metric(s, "impulse", "N s");
    return scene_kit_ready(s);
}

static void destroy(void *self)
{
    pinball *e = self;
    if (e) {
        scene_kit_close(&e->scene);
        ball_destroy(e->sim);
        free(e->bar);
        free(e->angle);
        free(e);
    }
}

static ds_status create(const ds_host *host, void **out)
{
    uint64_t nh = 0, nw = 0;
    pinball *e = calloc(1, sizeof *e);
    ds_status status = e ? read_params(e, host, &nh, &nw) : DS_E_NOMEM;
    if (status == DS_OK) {
        e->bar = calloc(e->n, sizeof *e->bar);
        e->angle = calloc(e->n, sizeof *e->angle);
        status = e->bar && e->angle ? DS_OK : DS_E_NOMEM;
    }
    if (status == DS_OK) {
        set_bars(e, nh, nw);
        e->p.host = host;
        e->sim = ball_create(&e->p, e->n, e->bar, e->steps);
        status = e->sim && set_scene(e) ? DS_OK : DS_E_NOMEM;
    }
    if (status == DS_E_NOMEM) {
        host->error(host, status, "out of memory: reduce parameter steps");
    }
    if (status != DS_OK) {
        destroy(e);
        return status;
    }
    *out = e;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    const pinball *e = self;
    out->n = e->n;
    out->steps = e->steps;
    out->dt = e->p.h;
    out->loss_floor = 0;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -1;
        upper[i] = 1;
        if (x0) {
            x0[i] = 0;
        }
    }
    return DS_OK;
}

/* ---- episode ---- */

static double distance(const pinball *e, const double *state, double bar[2])
{
    double dx = state[0] - e->target[0], dy = state[1] - e->target[1], d = sqrt(dx * dx + dy * dy);
    bar[0] = d < 1e-12 ? 0 : dx / d;
    bar[1] = d < 1e-12 ? 0 : dy / d;
    return d;
}

static void keep_scene(pinball *e)
{
    scene_kit *s = &e->scene;
    double unused[2];
    for (uint64_t k = 0; k <= e->steps; k++) {
        const double *at = ball_state(e->sim, k);
        double square = at[2] * at[2] + at[3] * at[3];
        scene_kit_values(s, M_X)[k] = at[0];
        scene_kit_values(s, M_Y)[k] = at[1];
        scene_kit_values(s, M_SPEED)[k] = sqrt(square);
        scene_kit_values(s, M_DISTANCE)[k] = distance(e, at, unused);
        scene_kit_values(s, M_ENERGY)[k] = 0.5 * square + e->p.gravity * at[1];
        scene_kit_values(s, M_IMPULSE)[k] = 0;
    }
    for (uint64_t i = 0; i < ball_events(e->sim); i++) {
        const ball_event *event = ball_event_at(e->sim, i);
        const impact_contact *c = ball_contacts(e->sim, event);
        for (int j = 0; j < event->count; j++) {
            scene_kit_values(s, M_IMPULSE)[event->step + 1] += hypot(c[j].f[0], c[j].f[1]);
        }
    }
    s->kept = 1;
}

static int64_t bad_step(const pinball *e)
{
    uint64_t k = 0;
    while (k + 1 < e->steps && isfinite(ball_state(e->sim, k + 1)[0] + ball_state(e->sim, k + 1)[1])) {
        k++;
    }
    return (int64_t)k;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    pinball *e = self;
    double bar[4] = {0, 0, 0, 0}, sum = 0;
    int want_grad = (io->want & DS_WANT_GRAD) != 0;
    e->scene.kept = 0;
    memcpy(e->angle, io->x, e->n * sizeof *e->angle);
    ball_simulate(e->sim, e->angle, e->start, e->steps);
    if (ball_stopped(e->sim)) {
        return DS_STOPPED;
    }
    io->loss = distance(e, ball_state(e->sim, e->steps), bar);
    io->outcome = DS_EVAL_OK;
    io->grad_kind = DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = e->steps;
    if (!isfinite(io->loss)) {
        io->outcome = DS_EVAL_DIVERGED;
        io->loss = INFINITY;
        io->bad_step = bad_step(e);
        if (want_grad) {
            memset(io->grad, 0, e->n * sizeof *io->grad);
        }
        return DS_OK;
    }
    if (want_grad) {
        ball_adjoint(e->sim, bar, io->grad);
        io->grad_kind = e->p.gradient == BALL_DISCRETE ? DS_GRAD_ADJOINT : DS_GRAD_SMOOTHED;
        io->cost_steps += e->steps;
        for (uint64_t i = 0; i < e->n; i++) {
            sum += fabs(io->grad[i]);
        }
        if (!isfinite(sum)) {
            memset(io->grad, 0, e->n * sizeof *io->grad);
            io->outcome = DS_EVAL_BAD_GRAD;
        }
    }
    if (io->want & DS_WANT_SCENE) {
        keep_scene(e);
    }
    return DS_OK;
}

/* ---- scene ---- */

static void place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const pinball *e = self;
    const double *at = ball_state(e->sim, k), W = e->width, H = e->height;
    if (b == BALL) {
        scene_kit_pose(at[0], at[1], 0, 0, out);
    } else if (b == TARGET) {
        scene_kit_pose(e->target[0], e->target[1], 0, 0, out);
    } else if (b == SIDES) {
        scene_kit_pose(-wall, 0.5 * H, 0, 0, out);
        scene_kit_pose(W + wall, 0.5 * H, 0, 0, out + 7);
    } else if (b == FLOOR_AND_TOP) {
        scene_kit_pose(0.5 * W, -wall, 0, 0, out);
        scene_kit_pose(0.5 * W, H + wall, 0, 0, out + 7);
    } else {
        for (uint64_t i = 0; i < e->n; i++) {
            scene_kit_pose(e->bar[i].centre[0], e->bar[i].centre[1], 0, e->angle[i], out + 7 * i);
        }
    }
}

static const void *get_extension(void *self, const char *id)
{
    (void)self;
    return strcmp(id, DS_EXT_SCENE) == 0 ? &scene_kit_table : NULL;
}

static const ds_env_vtable vtable = {sizeof(ds_env_vtable), 0, create, destroy, info, bounds, evaluate,
                                     get_extension};

static const char *const extensions[] = {DS_EXT_SCENE, NULL};

static const ds_desc desc = {
    sizeof(ds_desc),
    DS_KIND_ENV,
    DS_ENV_GRADIENT,
    "pinball",
    "1",
    "Apache-2.0",
    "A ball drops through a grid of tilted bars and is to reach a target.",
    "Variables: the angles of the bars in rad, each in [-1, 1], row by row from the top left. Rigid contact "
    "with bars and walls; the bars do not move.\n"
    "The landscape has plateaus and jumps: a bar that the ball never touches has gradient exactly zero; hit "
    "or miss at an edge, face or corner, the order of impacts, the restitution threshold and the clipping "
    "depth are switches; a ball at rest on a level bar no longer depends on anything; the fixed end time "
    "cuts a flight short.\n"
    "The discrete gradient is exact for the program, but the program moves impacts in whole steps: against "
    "the loss seen over a distance it has an error that does not vanish with h (compare gradient = "
    "saltation).\n"
    "No stepwise control: the bars stand still, there are no actions during an episode.\n"
    "Metrics: x, y, distance to the target, speed, energy, impulse of the contacts in the step before.",
    "R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg: Rethinking optimization with differentiable "
    "simulation from a global perspective. CoRL 2022, arXiv:2207.00167. Contact: K. Werling et al., RSS "
    "2021.",
    params,
    extensions,
};

DS_DEFINE_ENV(desc, vtable)
