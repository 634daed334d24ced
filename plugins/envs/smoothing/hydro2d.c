/* SPDX-License-Identifier: Apache-2.0 */
/* hydro2d.c - force and torque of a box on the ground, or of two boxes at their corners, as functions of the
 * pose: with a pressure field (hydroelastic contact), which is continuous, or at a point, which jumps; and
 * where a box comes to rest that falls, tips and slides with such contact. R. Elandt et al., IROS 2019. */
#include "engines/kit/bundled.h"
#include "engines/kit/state_net.h"
#include "engines/physics/smoothing/box_field.h"
#include "engines/physics/smoothing/plain.h"
#include "engines/physics/smoothing/sliding_box.h"

#include <string.h>

enum { GROUND, CORNERS, MOTION };
enum { FIELD = SLIDING_FIELD, POINT = SLIDING_POINT, ALL = SLIDING_CORNERS };
enum { HEIGHT, TILT, SPEED_X, SPEED_Y, RATE, MU, STARTS }; /* variables of scene C */
enum { MATCH, FIRST, SECOND };
static const char *const scenes[] = {"A", "B", "C", NULL};
static const char *const contacts[] = {"hydroelastic", "point", "corners", NULL};
static const char *const outputs[] = {"match", "first", "second", NULL};

static const ds_param *const params[] = {
    DS_ENUM("scene", "A", scenes,
            "A = a compliant box on the rigid ground; variables: height of its centre and tilt; result: "
            "force and torque. B = two compliant boxes whose corners overlap; variables: the overlaps; "
            "result: the force. C = the box of A falls, tips and slides; variables: height, tilt and "
            "velocities at the start, friction; loss: squared distance of the pose at the end to `goal`.",
            .flags = DS_PARAM_SHAPE),
    DS_ENUM(
        "contact", "hydroelastic", contacts,
        "hydroelastic = pressure over the contact surface; point = force at the deepest corner (A), "
        "along the axis of the smaller overlap (B); corners = force at every corner in the ground (A, C)."),
    DS_ENUM("loss", "match", outputs,
            "Squared distance of the result to `wanted`, or its first or second number."),
    DS_LIST("wanted", "", -1e6, 1e6, 2, "", "Wanted result; empty = 0.0784, 0 (A), 0.0125, 0.0025 (B)."),
    DS_REAL("modulus", "1", 1e-9, 1e12, "Pa", "Hydroelastic modulus; B: slope of the pressure, Pa/m.",
            .flags = DS_PARAM_LOG),
    DS_REAL("dissipation", "0", 0, 1e6, "s/m",
            "hydroelastic: dissipation of Hunt and Crossley; the pressure is p (1 - dissipation velocity), "
            "at least 0; typically 20."),
    DS_REAL("velocity", "0", -1e6, 1e6, "m/s",
            "Velocity at which the surfaces separate along their normal, the same everywhere; negative if "
            "they approach."),
    DS_REAL("stiffness", "1", 1e-9, 1e12, "N/m", "Stiffness of point contact.", .flags = DS_PARAM_LOG),
    DS_REAL("a", "0.5", 1e-6, 1e6, "m", "A: half the width of the box."),
    DS_REAL("b", "0.25", 1e-6, 1e6, "m", "A: half the height of the box."),
    DS_LIST("goal", "1.5,0.25,0", -1e6, 1e6, 3, "m, m, rad", "C: wanted x, height and tilt at the end."),
    DS_INT("steps", "300", 1, 100000, "", "C: steps of an episode."),
    DS_REAL("h", "0.005", 1e-6, 0.1, "s", "C: time step."),
    DS_REAL("mass", "1", 1e-6, 1e6, "kg", "C: mass of the box."),
    DS_REAL("gravity", "9.81", 0, 1e3, "m/s^2", "C: gravity, downward."),
    DS_REAL("hardness", "2000", 1e-6, 1e9, "N/m", "C: force per depth of the box that lies flat.",
            .flags = DS_PARAM_LOG),
    DS_REAL("damping", "1", 1e-6, 1e6, "s/m", "C: dissipation of Hunt and Crossley."),
    DS_REAL("slip", "0.05", 1e-6, 1e3, "m/s", "C: speed below which friction grows with the speed."),
    DS_HYBRID_PARAMS,
    NULL};

typedef struct hydro {
    ds_env_kit kit; /* must be first */
    int64_t scene, contact, loss;
    double wanted[2], modulus, stiffness, a, b; /* modulus: includes the factor of the dissipation */
    double pose[2];                             /* of the last evaluation */
    double result[2], slope[2][2];              /* of the last evaluation; derivatives by each variable */
    sliding_box box;                            /* scene C */
    double goal[3], (*path)[SLIDING_STATE];     /* the states of its last episode */
    state_net net;                              /* pushes the box before each step */
} hydro;

static void read_motion(hydro *e, ds_param_reader *in)
{
    e->box = (sliding_box){.a = e->a,
                           .b = e->b,
                           .mass = ds_param_real(in, "mass"),
                           .gravity = ds_param_real(in, "gravity"),
                           .stiffness = ds_param_real(in, "hardness"),
                           .damping = ds_param_real(in, "damping"),
                           .slip = ds_param_real(in, "slip"),
                           .h = ds_param_real(in, "h"),
                           .contact = (int)e->contact};
    ds_param_values(in, "goal", 3, e->goal);
    const uint64_t steps = (uint64_t)ds_param_int(in, "steps");
    if (e->scene == MOTION && in->status == DS_OK) {
        e->kit.n = STARTS;
        e->kit.cost = e->kit.steps = steps;
        e->kit.dt = e->box.h;
        e->kit.loss_floor = 0;
        e->path = ds_memory_take(&e->kit.memory, steps + 1, sizeof *e->path);
    }
}

static void read_hydro(void *self, ds_param_reader *in)
{
    hydro *e = self;
    e->scene = ds_param_int(in, "scene");
    e->contact = ds_param_int(in, "contact");
    e->loss = ds_param_int(in, "loss");
    /* The factor of dissipation, the same for the pressure everywhere. */
    e->modulus = ds_param_real(in, "modulus") *
                 fmax(0, 1 - ds_param_real(in, "dissipation") * ds_param_real(in, "velocity"));
    e->stiffness = ds_param_real(in, "stiffness");
    e->a = ds_param_real(in, "a");
    e->b = ds_param_real(in, "b");
    memcpy(e->wanted, e->scene == GROUND ? (double[2]){0.0784, 0} : (double[2]){0.0125, 0.0025},
           sizeof e->wanted);
    ds_param_values(in, "wanted", 2, e->wanted);
    e->kit.n = 2;
    e->kit.cost = 1;
    e->kit.steps = 1; /* one pose in two frames */
    e->kit.dt = 1;
    e->kit.loss_floor = e->loss == MATCH ? 0 : (double)-INFINITY;
    if (in->status == DS_OK && e->scene == CORNERS && e->contact == ALL) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameter contact = corners is for scene A and C: take hydroelastic or "
                                  "point in scene B");
    }
    read_motion(e, in);
}

static void range_of_pose(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    const hydro *e = self;
    if (e->scene == MOTION) {
        static const double low[STARTS] = {0, -0.5, 0, -2, -4, 0}, high[STARTS] = {0, 0.5, 4, 0, 4, 1},
                            usual[STARTS] = {0, 0.1, 2, 0, 0, 0.4};
        *lower = i == HEIGHT ? 1.5 * (e->a + e->b) : low[i];
        *upper = i == HEIGHT ? 3 * (e->a + e->b) : high[i];
        *start = i == HEIGHT ? 1.5 * (e->a + e->b) : usual[i];
    } else if (e->scene == GROUND) {
        *lower = i == 0 ? 0.5 * e->b : -0.2;
        *upper = i == 0 ? 1.5 * e->b : 0.2;
        *start = i == 0 ? 0.9 * e->b : 0.1;
    } else {
        *lower = -0.1;
        *upper = 0.5;
        *start = i == 0 ? 0.3 : 0.1;
    }
}

static void name_pose(const void *self, uint64_t i, ds_env_variable *out)
{
    static const char *const names[2][2] = {{"height", "tilt"}, {"overlap.x", "overlap.y"}};
    static const char *const starts[STARTS][2] = {{"height", "m"},       {"tilt", "rad"},
                                                  {"velocity.x", "m/s"}, {"velocity.y", "m/s"},
                                                  {"rate", "rad/s"},     {"friction", ""}};
    const hydro *e = self;
    if (e->scene == MOTION) {
        ds_env_variable_put(out->name, "%s", starts[i][0]);
        ds_env_variable_put(out->unit, "%s", starts[i][1]);
        return;
    }
    ds_env_variable_put(out->name, "%s", names[e->scene][i]);
    ds_env_variable_put(out->unit, "%s", e->scene == GROUND && i == 1 ? "rad" : "m");
    ds_env_variable_put(out->group, "%s", e->scene == CORNERS ? "overlap" : "");
}

/* ---- scene A ---- */

/* Integrals of (at + along X) and of X (at + along X) from x0 to x1. */
static void add_linear(double at, double along, double x0, double x1, double scale, double out[2])
{
    const double m = 0.5 * (x0 + x1), w = x1 - x0, mean = at + along * m, third = along * w * w / 12;
    out[0] += scale * w * mean;
    out[1] += scale * w * (m * mean + third);
}

/* The pressure vanishes at both ends of the contact line, so moving ends do not contribute to the
 * derivatives. */
static void field_on_ground(hydro *e, double y, double tilt)
{
    box_side sides[BOX_SIDES];
    double cut[BOX_CROSSINGS], slope[2][2] = {{0}};
    const double scale = e->modulus / fmin(e->a, e->b);
    box_sides(e->a, e->b, y, tilt, sides);
    const int cuts = box_crossings(sides, cut);
    for (int k = 0; k + 1 < cuts; k++) {
        int which = 0;
        if (cut[k + 1] > cut[k] && box_depth(sides, 0.5 * (cut[k] + cut[k + 1]), &which) > 0) {
            const box_side *s = &sides[which];
            add_linear(s->at, s->along, cut[k], cut[k + 1], scale, e->result);
            for (int v = 0; v < 2; v++) {
                add_linear(s->at_bar[v], s->along_bar[v], cut[k], cut[k + 1], scale, slope[v]);
            }
        }
    }
    for (int v = 0; v < 2; v++) {
        e->slope[0][v] = slope[v][0];
        e->slope[1][v] = slope[v][1];
    }
}

/* Contact at the deepest corner, of equal ones the left; or at all. */
static void corners_on_ground(hydro *e, double y, double tilt)
{
    double deepest = 0;
    for (int k = 0; k < BOX_SIDES; k++) {
        double r[2];
        box_corner(e->a, e->b, tilt, k, r);
        const double arm = r[0], below = r[1], depth = -(y + below), force = e->stiffness * depth;
        if (!(depth > 0) || (e->contact == POINT && !(depth > deepest))) {
            continue;
        }
        if (e->contact == POINT) {
            deepest = depth;
            memset(e->result, 0, sizeof e->result);
            memset(e->slope, 0, sizeof e->slope);
        }
        e->result[0] += force;
        e->result[1] += arm * force;
        e->slope[0][0] -= e->stiffness;
        e->slope[0][1] -= e->stiffness * arm;
        e->slope[1][0] -= e->stiffness * arm;
        e->slope[1][1] -= below * force + e->stiffness * arm * arm;
    }
}

/* ---- scene B ---- */

static void at_corners(hydro *e, const double overlap[2])
{
    const int small = overlap[0] <= overlap[1] ? 0 : 1, large = 1 - small;
    const double m = overlap[small], most = overlap[large];
    if (m <= 0) {
        return;
    }
    if (e->contact == POINT) {
        e->result[small] = e->stiffness * m;
        e->slope[small][small] = e->stiffness;
        return;
    }
    e->result[small] = e->modulus * (0.5 * m * most - 0.25 * m * m);
    e->slope[small][small] = e->modulus * (0.5 * most - 0.5 * m);
    e->slope[small][large] = e->modulus * 0.5 * m;
    e->result[large] = e->modulus * 0.25 * m * m;
    e->slope[large][small] = e->modulus * 0.5 * m;
}

/* ---- loss ---- */

/* Scene C: the squared distance of the last pose to the goal. */
static double move_box(hydro *e, const double *x)
{
    const uint64_t steps = e->kit.steps;
    double loss = 0;
    e->box.mu = x[MU];
    e->net.w = x + e->kit.n;
    e->path[0][SLIDING_X] = 0;
    memcpy(e->path[0] + SLIDING_Y, x, (SLIDING_STATE - 1) * sizeof *x); /* in the order of the variables */
    for (uint64_t t = 0; t < steps; t++) {
        memcpy(e->path[t + 1], state_net_push(&e->net, e->path[t]), sizeof *e->path);
        sliding_step(&e->box, e->path[t + 1]);
    }
    for (int i = 0; i < 3; i++) {
        loss += (e->path[steps][i] - e->goal[i]) * (e->path[steps][i] - e->goal[i]);
    }
    return loss;
}

/* One step back; bar: the derivatives by the state after it become those by the state before. */
static void step_back(const hydro *e, const double *before, double *bar, double *mu_bar)
{
    const state_net *net = &e->net;
    if (net->hybrid == NULL) {
        sliding_back(&e->box, before, bar, mu_bar);
        return;
    }
    double none = 0;
    const double *x = before, *u = &none;
    state_net_act(net, &x, &u);
    memcpy(net->x_bar, bar, SLIDING_STATE * sizeof *bar);
    sliding_back(&e->box, x, net->x_bar, mu_bar);
    memset(bar, 0, SLIDING_STATE * sizeof *bar);
    state_net_back(net, bar, &none);
}

static void move_back(hydro *e, double *grad)
{
    double bar[SLIDING_STATE] = {0};
    grad[MU] = 0;
    e->net.w_bar = grad + e->kit.n;
    memset(e->net.w_bar, 0, e->kit.hybrid.variables * sizeof *grad);
    for (int i = 0; i < 3; i++) {
        bar[i] = 2 * (e->path[e->kit.steps][i] - e->goal[i]);
    }
    for (uint64_t t = e->kit.steps; t-- > 0;) {
        step_back(e, e->path[t], bar, &grad[MU]);
    }
    memcpy(grad, bar + SLIDING_Y, (SLIDING_STATE - 1) * sizeof *grad);
}

static ds_status simulate_hydro(void *self, ds_eval *io)
{
    hydro *e = self;
    if (e->scene == MOTION) {
        io->loss = move_box(e, io->x);
        return DS_OK;
    }
    memcpy(e->pose, io->x, sizeof e->pose);
    memset(e->result, 0, sizeof e->result);
    memset(e->slope, 0, sizeof e->slope);
    if (e->scene == CORNERS) {
        at_corners(e, io->x);
    } else {
        (e->contact == FIELD ? field_on_ground : corners_on_ground)(e, io->x[0], io->x[1]);
    }
    const double miss[2] = {e->result[0] - e->wanted[0], e->result[1] - e->wanted[1]};
    io->loss = e->loss == MATCH ? miss[0] * miss[0] + miss[1] * miss[1] : e->result[e->loss == SECOND];
    return DS_OK;
}

static ds_status adjoint_of_hydro(void *self, ds_eval *io)
{
    hydro *e = self;
    if (e->scene == MOTION) {
        move_back(e, io->grad);
        return DS_OK;
    }
    double bar[2] = {e->loss == FIRST, e->loss == SECOND};
    for (int k = 0; e->loss == MATCH && k < 2; k++) {
        bar[k] = 2 * (e->result[k] - e->wanted[k]);
    }
    for (int v = 0; v < 2; v++) {
        io->grad[v] = bar[0] * e->slope[0][v] + bar[1] * e->slope[1][v];
    }
    return DS_OK;
}

/* ---- scene ---- */

static const double half_of_b = 0.5; /* m, drawn size of the boxes of scene B */

static void bodies_of_hydro(void *self, ds_scene_kit *s)
{
    const hydro *e = self;
    s->info.flat = 1;
    if (e->scene != CORNERS) {
        s->info.ground = 0;
        ds_scene_kit_body(s, "box", DS_BODY_BOX, DS_ROLE_MATERIAL, 1, (double[4]){e->a, e->b, e->b, 0});
        ds_scene_kit_include(s, 0, e->b, 0, 1.2 * (e->a + e->b));
        if (e->scene == MOTION) {
            ds_scene_kit_body(s, "goal", DS_BODY_BOX, DS_ROLE_TARGET, 1, (double[4]){e->a, e->b, e->b, 0});
            ds_scene_kit_include(s, e->goal[0], e->goal[1], 0, e->a + e->b);
        }
        return;
    }
    const double size[4] = {half_of_b, half_of_b, half_of_b, 0};
    ds_scene_kit_body(s, "upper", DS_BODY_BOX, DS_ROLE_MATERIAL, 1, size);
    ds_scene_kit_body(s, "lower", DS_BODY_BOX, DS_ROLE_FIXED, 1, size);
    ds_scene_kit_include(s, 0, 0, 0, 2.4 * half_of_b);
}

/* The inner corner of the lower box is the origin. */
static void place_hydro(const void *self, uint64_t k, uint64_t b, double *out)
{
    const hydro *e = self;
    if (e->scene == MOTION) {
        const double *q = b == 0 ? e->path[k] : e->goal;
        ds_scene_kit_pose(q[0], q[1], 0, q[2], out);
    } else if (e->scene == GROUND) {
        ds_scene_kit_pose(0, e->pose[0], 0, e->pose[1], out);
    } else if (b == 0) {
        ds_scene_kit_pose(half_of_b - e->pose[0], half_of_b - e->pose[1], 0, 0, out);
    } else {
        ds_scene_kit_pose(-half_of_b, -half_of_b, 0, 0, out);
    }
}

static const ds_scene_kit_label metrics[] = {{"first", ""}, {"second", ""}, {NULL, NULL}};

/* Scene C: force and torque of contact in the frame. */
static void measure_hydro(void *self, uint64_t k, double *out)
{
    hydro *e = self;
    memcpy(out, e->result, sizeof e->result);
    if (e->scene == MOTION) {
        const double *q = e->path[k];
        const sliding_wrench w = sliding_contact(&e->box, q);
        ds_scene_kit_include(&e->kit.scene, q[0], q[1], 0, e->a + e->b);
        out[0] = w.force[1];
        out[1] = w.force[2];
    }
}

/* Only scene C has an equation of motion. */
static uint64_t hooks_of_hydro(const void *self, ds_hook *out)
{
    return ((const hydro *)self)->scene != MOTION
               ? 0
               : state_net_hooks(out, SLIDING_STATE, 0, 2, "",
                                 "x, height and tilt of the box, then their rates (m, rad, s).");
}

static ds_status allocate_hydro(void *self)
{
    static const uint32_t pushed[] = {SLIDING_VX, SLIDING_VY};
    hydro *e = self;
    e->net =
        (state_net){.states = SLIDING_STATE, .forces = 2, .pushed = pushed, .kick = e->box.h / e->box.mass};
    state_net_open(&e->net, &e->kit.memory, &e->kit.hybrid);
    return DS_OK;
}

static const ds_env_table env = {.size = sizeof(hydro),
                                 .cure = "reduce parameter h or hardness",
                                 .read = read_hydro,
                                 .hook_points = hooks_of_hydro,
                                 .allocate = allocate_hydro,
                                 .range = range_of_pose,
                                 .variable = name_pose,
                                 .simulate = simulate_hydro,
                                 .adjoint = adjoint_of_hydro,
                                 .metrics = metrics,
                                 .bodies = bodies_of_hydro,
                                 .place = place_hydro,
                                 .measure = measure_hydro};

static const ds_desc desc = {
    BUNDLED_DESC("hydro2d", "2"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Contact force and torque of a pose, or a falling box: a pressure field, or points.",
    .description =
        "scene = A: a box of half sizes a, b on the rigid ground, with the pressure field modulus x depth "
        "below its nearest side / min(a, b). The normal force N is the integral of the pressure along the "
        "ground inside the box, the torque the integral of X times the pressure (per metre of depth). Flat "
        "and sunk by d: N = modulus (2 a d - d^2)/min(a, b), torque 0.\nscene = B: two boxes with equal "
        "fields whose corners overlap by (wx, wy). With m the smaller and M the larger overlap the force is "
        "m M/2 - m^2/4 along the axis of the smaller one and m^2/4 along the other.\nDissipation raises the "
        "pressure where the boxes approach (velocity < 0); it never becomes negative.\ncontact = point: a "
        "spring at the deepest corner, whose arm jumps from one side to the other at tilt 0 (A); a spring "
        "along the axis of the smaller overlap, which turns by 90 degrees at wx = wy (B); corners: a spring "
        "at "
        "every corner in the ground.\nscene = C: the box falls, tips and slides by semi-implicit steps, with "
        "damping and friction of each contact; a box flat in the ground weighs the same on all three. With "
        "a point the arm of the force jumps whenever another corner is deepest, and the loss is full of "
        "jumps.\nMetrics: both numbers of the result; C: normal force and torque.",
    .citation = SMOOTHING_ELANDT,
};

DS_ENV_KIT_DEFINE(env, desc)
