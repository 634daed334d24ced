/* SPDX-License-Identifier: Apache-2.0 */
/* bounce - a ball is thrown at the ground (and a wall) and is to be at a target after a given time: the
 * decision variables are its initial velocity. */
#include <diffsim/plugin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines/penalty/penalty.h"
#include "engines/scene/scene_kit.h"
#include "engines/scene/settings.h"

enum { WARP = 0, PAPER = 1 };
enum { SQUARED = 0, L2 = 1 };
enum { BALL, TARGET, WALL };
enum { M_X, M_Y, M_Z, M_SPEED, M_DISTANCE, M_ENERGY, M_FORCE };

static const char *const variants[] = {"warp", "paper", NULL};
static const char *const losses[] = {"squared", "l2", NULL};

static const ds_param *const params[] = {
    DS_ENUM("variant", "warp", variants,
            "Where defaults come from. warp: the example of Warp, 0.6 s, with a wall, without friction; "
            "paper: 2 s, no wall, friction, thrown downward."),
    DS_INT("steps", "0", 0, 1000000, "", "Steps of an episode; 0 = 288 (warp), 960 (paper)."),
    DS_REAL("h", "0.0020833333333333333", 1e-9, 1, "s", "Time step."),
    DS_LIST("start", "-0.5,1,0", -1e6, 1e6, 3, "m", "Position of the ball at the start (y is up)."),
    DS_LIST("target", "", -1e6, 1e6, 3, "m",
            "Target of the ball at the end; empty = (-2, 1.5, 0) (warp), (2.340879433, 1.636667177, "
            "0.710219858) (paper)."),
    DS_ENUM("loss", "squared", losses, "Squared distance to the target, or the distance."),
    DS_LIST("wall", "", -INFINITY, INFINITY, 1, "m",
            "x of a wall to the right of the ball; inf = none; empty = 1.75 (warp), inf (paper)."),
    DS_REAL("mass", "1", 1e-9, 1e9, "kg", "Mass of the ball."),
    DS_REAL("radius", "0.1", 0, 1e3, "m", "Distance of the centre at which contact begins."),
    DS_REAL("gravity", "9.8", -1e3, 1e3, "m/s^2", "Gravity, downward."),
    DS_REAL("ke", "1e4", 0, 1e300, "N/m", "Stiffness of contact."),
    DS_REAL("kd", "10", 0, 1e300, "N s/m", "Damping of contact while the ball approaches."),
    DS_LIST("kf", "", 0, 1e300, 1, "N s/m", "Viscous friction at low speed; empty = 0 (warp), 10 (paper)."),
    DS_LIST("mu", "", 0, 1e3, 1, "",
            "Coulomb friction; empty = 0.25 (warp, where kf = 0 switches it off), 0.1 (paper)."),
    DS_LIST("lower", "", -1e6, 1e6, 3, "m/s", "Lower bounds of the velocity; empty = -10."),
    DS_LIST("upper", "", -1e6, 1e6, 3, "m/s",
            "Upper bounds of the velocity; empty = 10; paper: 10, -0.5, 10 (downward)."),
    NULL};

typedef struct bounce {
    scene_kit scene; /* first: see scene_kit.h */
    penalty_params p;
    penalty *sim;
    int64_t variant, loss;
    uint64_t steps;
    double start[3], target[3], lower[3], upper[3];
    double view[6]; /* box of start, target and wall, before an episode widens it */
} bounce;

/* ---- set-up ---- */

static ds_status check(bounce *e, const ds_host *host)
{
    for (int i = 0; i < 3; i++) {
        if (!(e->lower[i] < e->upper[i])) {
            return setting_bad(
                host, "parameters lower = %g and upper = %g of velocity %c: lower must be less than upper",
                e->lower[i], e->upper[i], "xyz"[i]);
        }
    }
    if (e->p.wall - e->p.radius <= e->start[0]) {
        return setting_bad(
            host, "parameter wall = %g: the ball starts at x = %g, in the wall; put the wall at x > %g",
            e->p.wall, e->start[0], e->start[0] + e->p.radius);
    }
    double overshoot = e->p.kf * e->p.h / e->p.mass;
    if (overshoot > 1) {
        char line[256];
        snprintf(line, sizeof line,
                 "kf h / mass = %g is above 1: friction reverses the sliding instead of stopping it; reduce "
                 "kf or h",
                 overshoot);
        host->log(host, DS_LOG_WARNING, line);
    }
    return DS_OK;
}

static ds_status read_params(bounce *e, const ds_host *host)
{
    static const double targets[2][3] = {{-2, 1.5, 0}, {2.340879433, 1.636667177, 0.710219858}};
    int64_t steps = 0;
    ds_status s = DS_OK;
    setting_int(&s, host, "variant", &e->variant);
    setting_int(&s, host, "steps", &steps);
    setting_int(&s, host, "loss", &e->loss);
    int paper = e->variant == PAPER;
    e->steps = steps ? (uint64_t)steps : paper ? 960 : 288;
    memcpy(e->target, targets[paper], sizeof e->target);
    e->p.wall = paper ? (double)INFINITY : 1.75;
    e->p.kf = paper ? 10 : 0;
    e->p.mu = paper ? 0.1 : 0.25;
    for (int i = 0; i < 3; i++) {
        e->lower[i] = -10;
        e->upper[i] = paper && i == 1 ? -0.5 : 10;
    }
    setting_real(&s, host, "h", &e->p.h);
    setting_values(&s, host, "start", 3, e->start);
    setting_values(&s, host, "target", 3, e->target);
    setting_values(&s, host, "wall", 1, &e->p.wall);
    setting_real(&s, host, "mass", &e->p.mass);
    setting_real(&s, host, "radius", &e->p.radius);
    setting_real(&s, host, "gravity", &e->p.gravity);
    setting_real(&s, host, "ke", &e->p.ke);
    setting_real(&s, host, "kd", &e->p.kd);
    setting_values(&s, host, "kf", 1, &e->p.kf);
    setting_values(&s, host, "mu", 1, &e->p.mu);
    setting_values(&s, host, "lower", 3, e->lower);
    setting_values(&s, host, "upper", 3, e->upper);
    return s == DS_OK ? check(e, host) : s;
}

static void place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const bounce *e = self;
    const double *at = penalty_state(e->sim, k);
    if (b == BALL) {
        scene_kit_pose(at[0], at[1], at[2], 0, out);
    } else if (b == TARGET) {
        scene_kit_pose(e->target[0], e->target[1], e->target[2], 0, out);
    } else {
        scene_kit_pose(e->p.wall + 0.25, 1, 0, 0, out);
    }
}

static int set_scene(bounce *e)
{
    scene_kit *s = &e->scene;
    const double r = e->p.radius;
    scene_kit_open(s, e->steps, e->p.h, place);
    scene_kit_body(s, "ball", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){r, 0, 0, 0});
    scene_kit_body(s, "target", DS_BODY_SPHERE, DS_ROLE_TARGET, 1, (double[4]){r, 0, 0, 0});
    if (isfinite(e->p.wall)) {
        scene_kit_body(s, "wall", DS_BODY_BOX, DS_ROLE_FIXED, 1, (double[4]){0.25, 1, 1, 0});
        scene_kit_include(s, e->p.wall, 1, 0, 1);
    }
    scene_kit_include(s, e->start[0], e->start[1], e->start[2], 1 + r);
    scene_kit_include(s, e->target[0], e->target[1], e->target[2], 1 + r);
    s->info.box[1] = 0;
    s->info.ground = 0;
    memcpy(e->view, s->info.box, sizeof e->view);
    scene_kit_metric(s, "x", "m");
    scene_kit_metric(s, "y", "m");
    scene_kit_metric(s, "z", "m");
    scene_kit_metric(s, "speed", "m/s");
    scene_kit_metric(s, "distance", "m");
    scene_kit_metric(s, "energy", "J");
    scene_kit_metric(s, "force", "N");
    return scene_kit_ready(s);
}

static void destroy(void *self)
{
    bounce *e = self;
    if (e) {
        scene_kit_close(&e->scene);
        penalty_destroy(e->sim);
        free(e);
    }
}

static ds_status create(const ds_host *host, void **out)
{
    bounce *e = calloc(1, sizeof *e);
    ds_status status = e ? read_params(e, host) : DS_E_NOMEM;
    if (status == DS_OK) {
        e->sim = penalty_create(&e->p, e->steps);
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
    const bounce *e = self;
    out->n = 3;
    out->steps = e->steps;
    out->dt = e->p.h;
    out->loss_floor = 0;
    return DS_OK;
}

/* Warp's example starts from (5, -5, 0). */
static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    static const double example[3] = {5, -5, 0};
    const bounce *e = self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = e->lower[i];
        upper[i] = e->upper[i];
        if (x0) {
            int fits = e->variant == WARP && example[i] >= lower[i] && example[i] <= upper[i];
            x0[i] = fits ? example[i] : 0.5 * lower[i] + 0.5 * upper[i];
        }
    }
    return DS_OK;
}

/* ---- episode ---- */

static double square_distance(const bounce *e, const double x[3])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += (x[i] - e->target[i]) * (x[i] - e->target[i]);
    }
    return sum;
}

static void keep_scene(bounce *e)
{
    scene_kit *s = &e->scene;
    memcpy(s->info.box, e->view, sizeof e->view);
    for (uint64_t k = 0; k <= e->steps; k++) {
        const double *x = penalty_state(e->sim, k), *v = x + 3;
        double force[3], square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
        penalty_force(&e->p, x, v, force);
        scene_kit_include(s, x[0], fmax(x[1], e->p.radius), x[2], e->p.radius);
        scene_kit_values(s, M_X)[k] = x[0];
        scene_kit_values(s, M_Y)[k] = x[1];
        scene_kit_values(s, M_Z)[k] = x[2];
        scene_kit_values(s, M_SPEED)[k] = sqrt(square);
        scene_kit_values(s, M_DISTANCE)[k] = sqrt(square_distance(e, x));
        scene_kit_values(s, M_ENERGY)[k] = e->p.mass * (0.5 * square + e->p.gravity * x[1]);
        scene_kit_values(s, M_FORCE)[k] =
            sqrt(force[0] * force[0] + force[1] * force[1] + force[2] * force[2]);
    }
    s->kept = 1;
}

static void simulate(bounce *e, const double *velocity, double x[3], int keep)
{
    double v[3];
    memcpy(x, e->start, sizeof e->start);
    memcpy(v, velocity, sizeof v);
    penalty_simulate(e->sim, x, v, e->steps, keep);
}

static void gradient(bounce *e, const double x[3], double distance, double grad[3])
{
    double x_bar[3], factor = e->loss == SQUARED ? 2 : distance < 1e-12 ? 0 : 1 / distance;
    for (int i = 0; i < 3; i++) {
        x_bar[i] = factor * (x[i] - e->target[i]);
        grad[i] = 0;
    }
    penalty_adjoint(e->sim, x_bar, grad);
}

static ds_status evaluate(void *self, ds_eval *io)
{
    bounce *e = self;
    double x[3];
    int want_grad = (io->want & DS_WANT_GRAD) != 0, want_scene = (io->want & DS_WANT_SCENE) != 0;
    e->scene.kept = 0;
    simulate(e, io->x, x, want_scene);
    double square = square_distance(e, x), distance = sqrt(square);
    io->loss = e->loss == SQUARED ? square : distance;
    io->outcome = DS_EVAL_OK;
    io->grad_kind = DS_GRAD_NONE;
    io->bad_step = -1;
    io->cost_steps = e->steps;
    if (!isfinite(io->loss)) {
        simulate(e, io->x, x, 1); /* once more, to name the step */
        io->outcome = DS_EVAL_DIVERGED;
        io->loss = INFINITY;
        io->bad_step = penalty_bad_step(e->sim);
        if (io->bad_step < 0) { /* a last state that is finite, too far away for its loss */
            io->bad_step = (int64_t)e->steps - 1;
        }
        io->cost_steps *= 2;
        if (want_grad) {
            memset(io->grad, 0, 3 * sizeof *io->grad);
        }
        return DS_OK;
    }
    if (want_grad) {
        gradient(e, x, distance, io->grad);
        io->grad_kind = DS_GRAD_ADJOINT;
        io->cost_steps += e->steps;
        if (!isfinite(io->grad[0] + io->grad[1] + io->grad[2])) {
            memset(io->grad, 0, 3 * sizeof *io->grad);
            io->outcome = DS_EVAL_BAD_GRAD;
        }
    }
    if (want_scene) {
        keep_scene(e);
    }
    return DS_OK;
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
    "bounce",
    "1",
    "Apache-2.0",
    "Throw a ball so that it bounces to a target.",
    "Variables: the initial velocity (x, y, z) in m/s. Contact is a stiff spring with damping while "
    "approaching and regularized Coulomb friction; steps are semi-implicit.\n"
    "Along the horizontal velocities the loss is smooth; along the vertical one it has many local minima, "
    "and because a contact begins and ends in whole steps it jumps by small amounts at most velocities: the "
    "exact gradient is steep and often has the sign of a tooth, not of the trend.\n"
    "No stepwise control: once the ball is thrown there are no actions.\n"
    "Metrics: x, y, z, speed, distance to the target, energy (without that of the contact spring), force of "
    "contact.",
    "M. Macklin, Warp: a high-performance Python framework for GPU simulation and graphics, 2022 (example "
    "bounce). R. Antonova, J. Yang, K. Jatavallabhula, J. Bohg: Rethinking optimization with differentiable "
    "simulation from a global perspective. CoRL 2022, arXiv:2207.00167.",
    params,
    extensions,
};

DS_DEFINE_ENV(desc, vtable)
