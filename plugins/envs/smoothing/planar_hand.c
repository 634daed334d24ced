/* SPDX-License-Identifier: Apache-2.0 */
/* planar_hand.c - two fingers move and turn a disc on a table by quasi-dynamic steps; contact is hard, or
 * smoothed by a logarithmic barrier or by noise (Pang et al. 2023). */
#include "engines/kit/bundled.h"
#include "engines/physics/quasidynamic/hand.h"
#include "engines/physics/smoothing/plain.h"
#include "engines/physics/smoothing/rollout.h"

#include <string.h>

enum { HARD, SMOOTH, MEAN }; /* of contact_grad, HARD: exact */
static const char *const contacts[] = {"hard", "smooth", "mean", NULL};
static const char *const gradients[] = {"exact", "smooth", "mean", NULL};

static const ds_param *const params[] = {
    DS_ENUM("contact", "hard", contacts,
            "hard = forces act on contact only; smooth = a logarithmic barrier, whose forces act at a "
            "distance; mean = the mean of hard steps with noise."),
    DS_ENUM("contact_grad", "exact", gradients,
            "contact = hard: exact = the derivative of the loss; smooth, mean = the gradient alone takes the "
            "derivatives of that contact at the states of hard contact; not the derivative of any loss."),
    DS_REAL("kappa", "1000", 1e-3, 1e12, "1/(N m s)",
            "Sharpness of the barrier: the gap of a pushed contact is about 1/sqrt(kappa drag).",
            .flags = DS_PARAM_LOG),
    DS_REAL("noise", "0.03", 1e-9, 10, "m, rad",
            "mean: standard deviation of the normal noise on each number of state and control.",
            .flags = DS_PARAM_LOG),
    DS_INT("draws", "50", 1, 10000, "",
           "mean: draws of the noise, each used with both signs; the same ones in all steps."),
    DS_REAL("friction", "0.5", 0, 10, "", "Coefficient of friction of links and disc."),
    DS_REAL("drag", "1", 1e-6, 1e6, "N s/m", "Viscous drag of the table on the disc."),
    DS_REAL("stiffness", "20", 1e-6, 1e6, "N m/rad", "Stiffness of the joints."),
    DS_REAL("radius", "0.2", 1e-3, 10, "m", "Of the disc."),
    OPEN_LOOP_PARAMS_OF(HAND_STATES, HAND_CONTROLS, "0.1",
                        "x, y, angle of the disc, two joint angles of the left and two of the right finger"),
    NULL};

typedef struct fingers {
    open_loop loop;          /* must be first */
    hand hand, differential; /* of the motion; of its derivatives */
} fingers;

static void step(const void *self, const double *x, const double *u, double *next)
{
    const fingers *e = self;
    hand_step(&e->hand, x, u, next, NULL);
}

static void back(const void *self, const double *x, const double *u, const double *next_bar, double *x_bar,
                 double *u_bar)
{
    const fingers *e = self;
    hand_back(&e->differential, x, u, next_bar, x_bar, u_bar);
}

static const rollout_system fingers_system = {
    .states = HAND_STATES, .controls = HAND_CONTROLS, .step = step, .back = back};

static const char *const joints[] = {"left.1", "left.2", "right.1", "right.2"};

/* Steps of `contact`. The draws are fixed: the mean is a function of state and control alone. */
static void set_contact(fingers *e, ds_param_reader *in, hand *h, int64_t contact)
{
    const uint64_t draws = (uint64_t)ds_param_int(in, "draws");
    const double noise = ds_param_real(in, "noise"), kappa = ds_param_real(in, "kappa");
    h->kappa = contact == SMOOTH ? kappa : 0;
    if (contact == MEAN && in->status == DS_OK) {
        double *to = ds_memory_doubles(&e->loop.kit.memory, draws * HAND_NOISE);
        ds_random random = ds_random_open(1, "contact", 0);
        for (uint64_t i = 0; to != NULL && i < draws * HAND_NOISE; i++) {
            to[i] = noise * ds_random_normal(&random);
        }
        h->noise = to;
        h->draws = draws;
        e->loop.roll.work = draws << 13; /* two steps of some 4000 operations */
    }
}

static void read_hand(void *self, ds_param_reader *in)
{
    fingers *e = self;
    const int64_t contact = ds_param_int(in, "contact"), gradient = ds_param_int(in, "contact_grad");
    e->hand = (hand){.base = {{-0.25, 0}, {0.25, 0}},
                     .length = {0.35, 0.3},
                     .thickness = 0.03,
                     .radius = ds_param_real(in, "radius"),
                     .friction = ds_param_real(in, "friction"),
                     .drag = ds_param_real(in, "drag"),
                     .stiffness = ds_param_real(in, "stiffness"),
                     .links = 0xf};
    if (in->status == DS_OK && contact != HARD && gradient != HARD) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameters contact = %s and contact_grad = %s: the gradient of a smooth "
                                  "contact is smooth already; take contact_grad = exact",
                                  contacts[contact], gradients[gradient]);
    }
    open_loop_read(&e->loop, in, &fingers_system,
                   &(open_loop_usual){.steps = 20,
                                      .h = 0.1,
                                      .start = {0, 0.5, 0, 2.2, -1.4, 0.9415926535897931, 1.4},
                                      .goal = {0.05, 0.5, 0.5, 0, 0, 0, 0},
                                      .q = {1, 1, 0.1, 0, 0, 0, 0},
                                      .qd = {100, 100, 10, 0, 0, 0, 0},
                                      .r = {0.1, 0.1, 0.1, 0.1}});
    e->loop.names = joints;
    e->loop.unit = "rad";
    e->loop.state_doc = "Place (m) and angle (rad) of the disc, and the four joint angles, before the step.";
    e->hand.h = e->loop.h;
    set_contact(e, in, &e->hand, contact);
    e->differential = e->hand;
    if (gradient != HARD) {
        set_contact(e, in, &e->differential, gradient);
    }
    e->loop.kit.grad_kind = gradient != HARD ? DS_GRAD_SMOOTHED : DS_GRAD_ADJOINT;
}

/* ---- scene ---- */

enum { DISC, MARK, GOAL, GOAL_MARK, LINK }; /* then the other links */

static const ds_scene_kit_label metrics[] = {{"x", "m"},      {"y", "m"},     {"angle", "rad"},
                                             {"gap", "m"},    {"force", "N"}, {"error", "m"},
                                             {"turn", "rad"}, {"cost", ""},   {NULL, NULL}};

static void bodies(void *self, ds_scene_kit *s)
{
    const fingers *e = self;
    const hand *h = &e->hand;
    s->info.flat = 1;
    memcpy(s->info.box, (double[6]){-0.7, -0.1, -0.2, 0.7, 0.9, 0.2}, sizeof s->info.box);
    ds_scene_kit_body(s, "disc", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){h->radius, 0, 0, 0});
    ds_scene_kit_body(s, "mark", DS_BODY_SPHERE, DS_ROLE_FIXED, 1, (double[4]){0.1 * h->radius, 0, 0, 0});
    ds_scene_kit_body(s, "goal", DS_BODY_SPHERE, DS_ROLE_TARGET, 1, (double[4]){h->radius, 0, 0, 0});
    ds_scene_kit_body(s, "goal_mark", DS_BODY_SPHERE, DS_ROLE_TARGET, 1,
                      (double[4]){0.1 * h->radius, 0, 0, 0});
    for (int l = 0; l < HAND_LINKS; l++) {
        static const char *const names[] = {"left_1", "left_2", "right_1", "right_2"};
        ds_scene_kit_body(s, names[l], DS_BODY_CAPSULE, DS_ROLE_TOOL, 1,
                          (double[4]){h->thickness, h->length[l % 2], 0, 0});
    }
}

/* A capsule stands upright at angle 0. */
static void place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const fingers *e = self;
    const double *q = b == GOAL || b == GOAL_MARK ? e->loop.roll.goal : open_loop_state(&e->loop, k);
    if (b >= LINK) {
        const int l = (int)(b - LINK);
        double joint[2], tip[2];
        hand_finger(&e->hand, q, l / 2, joint, tip);
        const double *from = l % 2 ? joint : e->hand.base[l / 2], *to = l % 2 ? tip : joint;
        const double angle = q[3 + 2 * (l / 2)] + (l % 2 ? q[4 + 2 * (l / 2)] : 0);
        ds_scene_kit_pose(0.5 * (from[0] + to[0]), 0.5 * (from[1] + to[1]), 0, angle - acos(0.0), out);
    } else {
        const double out_to = b == MARK || b == GOAL_MARK ? e->hand.radius : 0;
        ds_scene_kit_pose(q[0] - out_to * sin(q[2]), q[1] + out_to * cos(q[2]), 0, q[2], out);
    }
}

static void measure(void *self, uint64_t k, double *out)
{
    fingers *e = self;
    const double *q = open_loop_state(&e->loop, k), *goal = e->loop.roll.goal;
    memcpy(out, q, 3 * sizeof *out);
    out[3] = INFINITY;
    for (int l = 0; l < HAND_LINKS; l++) {
        out[3] = fmin(out[3], hand_gap(&e->hand, q, l));
    }
    out[4] = NAN;
    if (k < e->loop.kit.steps) {
        double next[HAND_STATES], force[HAND_LINKS];
        const double *from, *u;
        rollout_acting(&e->loop.roll, k, &from, &u);
        hand_step(&e->hand, from, u, next, force);
        out[4] = force[0] + force[1] + force[2] + force[3];
    }
    out[5] = hypot(q[0] - goal[0], q[1] - goal[1]);
    out[6] = fabs(q[2] - goal[2]);
    out[7] = rollout_cost(&e->loop.roll, k);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(fingers),
                                 .cure = "lower limit, or move the disc away from the links at the start",
                                 .read = read_hand,
                                 .simulate = open_loop_simulate,
                                 .adjoint = open_loop_adjoint,
                                 .metrics = metrics,
                                 .bodies = bodies,
                                 .place = place,
                                 .measure = measure,
                                 OPEN_LOOP_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("planar_hand", "2"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Two fingers of two links move and turn a disc: quasi-dynamic contact, hard or smoothed.",
    .description =
        "Variables: by how much the commanded angles of the four joints are ahead of the joints, in each of "
        "20 steps of 0.1 s. A step minimises the work of joint springs and of the table's drag, without "
        "inertia: under the conditions of contact with friction (hard), with a logarithmic barrier (smooth), "
        "or as the mean of hard steps with noise on state and control (mean).\nLoss: sum of (x - goal)' Q "
        "(x - goal) + u' R u over the steps, plus the last state with Qd. A state is x, y, angle of the disc "
        "and the four joint angles.\nDefaults: Q = 1, 1, 0.1, 0, ..., Qd = 100, 100, 10, 0, ..., R = 0.1; "
        "the disc begins at 0, 0.5 and should end at 0.05, 0.5, turned "
        "by 0.5 rad. At the start no link touches it: the hard gradient of u = 0 is 0.\nStepwise control "
        "with derivatives; the observation is the state. Channels: states, the Jacobians A and B of each "
        "step (of the barrier or the mean where contact or contact_grad says so), derivatives of the "
        "cost.\nMetrics: x, y, angle, smallest gap, sum of the normal forces of the step that starts at the "
        "frame, distance and angle to the goal, cost.",
    .citation = SMOOTHING_PANG,
};

DS_ENV_KIT_DEFINE(env, desc)
