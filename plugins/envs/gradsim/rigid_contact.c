/* SPDX-License-Identifier: Apache-2.0 */
/* rigid_contact.c - find density and contact constants of a cube that is thrown, tumbles and bounces, from
 * camera images. System identification of gradSim (Jatavallabhula et al., ICLR 2021, table 2). */
#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/fem/mesh.h"
#include "engines/kit/bundled.h"
#include "engines/physics/rigid/body.h"
#include "engines/physics/rigid/rigid.h"
#include "engines/physics/smoothing/softness.h"
#include "engines/rendering/observation/observed.h"

#include <math.h>
#include <string.h>

static const char cure[] =
    "reduce the stiffness or damping of the contact in parameter truth, or raise substeps";
static const double pi = 3.14159265358979323846;

enum { NOTHING, FRICTION, DAMPING };

static const char *const unmodelled[] = {"nothing", "friction", "damping", NULL};

static const ds_param *const params[] = {
    OBSERVED_PARAMS("density ke kd kf mu",
                    "density, ke, kd, kf, mu (stiffness, damping, viscous friction and its bound of the "
                    "contact), gravity, position, velocity, turn, spin, force",
                    "image", "64", "10, 30, 0", "alpha"),
    DS_LIST("truth", "5, 4900, 15, 50, 0.3", 1e-3, 1e6, 5, "kg/m^3, N/m, N s/m, N s/m, 1",
            "Density and contact of the target: density, ke, kd, kf, mu."),
    COMPARISON_OBJECT_PARAM,
    DS_LIST("velocity", "2, 0, 0", -50, 50, 3, "m/s",
            "Velocity at the start: of the target, and if it is not a variable."),
    DS_LIST(
        "force", "0, 0, 0", -1e4, 1e4, 3, "N",
        "A force that pushes the cube all the time: of the target, and if it is not a variable. Without a "
        "known force the motion only depends on the ratios of density, ke, kd and kf."),
    DS_ENUM("unmodelled", "nothing", unmodelled,
            "What the target has and the simulated cube lacks: friction on the ground, or the damping of its "
            "contact. To study the cost of an imperfect model."),
    SOFTNESS_PARAMS("width", "none", "0.02", "m"),
    SOFTNESS_BACKWARD_PARAMS("0.1", "m"),
    DS_REAL("gravity", "9.8", -100, 100, "m/s^2",
            "Gravity, downward: of the target, and if it is not a variable."),
    DS_REAL("duration", "2", 0.01, 100, "s", "Length of an episode."),
    DS_INT("substeps", "16", 1, 10000, "", "Time steps in 1/60 s."),
    DS_INT("frames", "9", 1, 1000, "",
           "Number of compared states: after the first step, then equally spaced, and the last one."),
    DS_HYBRID_PARAMS,
    NULL};

enum {
    DENSITY,
    KE,
    KD,
    KF,
    MU,
    GRAVITY,
    POSITION,
    VELOCITY = POSITION + 3,
    TURN = VELOCITY + 3,
    SPIN = TURN + 3,
    FORCE = SPIN + 3,
    COUNT = FORCE + 3
};

/* The first five are in parameter truth and start in the middle of their ranges; bounds are ours. */
static const decision decisions[COUNT] = {DECISION_LOG("density", "kg/m^3", 0.30103, 1.07918, 0.690106),
                                          DECISION_LOG("ke", "N/m", 3, 4.30103, 3.650515),
                                          DECISION_LOG("kd", "N s/m", 0.477121, 2, 1.2385605),
                                          DECISION_LOG("kf", "N s/m", 1, 3, 2),
                                          DECISION("mu", "", 0.1, 1, 0.55),
                                          DECISION("gravity", "m/s^2", 0, 20, 5),
                                          DECISION("position.x", "m", -1, 1, 0.2),
                                          DECISION("position.y", "m", -1, 1, 0.2),
                                          DECISION("position.z", "m", -1, 1, 0.2),
                                          DECISION("velocity.x", "m/s", -4, 4, 1),
                                          DECISION("velocity.y", "m/s", -4, 4, 1),
                                          DECISION("velocity.z", "m/s", -4, 4, 1),
                                          DECISION("turn.x", "rad", -1, 1, 0.1),
                                          DECISION("turn.y", "rad", -1, 1, 0.1),
                                          DECISION("turn.z", "rad", -1, 1, 0.1),
                                          DECISION("spin.x", "rad/s", -4, 4, 0.1),
                                          DECISION("spin.y", "rad/s", -4, 4, 0.1),
                                          DECISION("spin.z", "rad/s", -4, 4, 0.1),
                                          DECISION("force.x", "N", -20, 20, 1),
                                          DECISION("force.y", "N", -20, 20, 1),
                                          DECISION("force.z", "N", -20, 20, 1)};

enum { FACES = 12, MOST_STEPS = 1000000 };

typedef struct contact {
    observed observed; /* must be first */
    fem_mesh mesh;
    uint64_t *compared;
    rigid *engine;
    rigid_mass unit; /* mass properties of the cube at density 1 */
    rigid_point corner[RIGID_BOX_POINTS];
    double yellow[FACES][3];
    int unmodelled;
    softness soft;
    double first[4], turn[4]; /* attitude at the start, before and through `turn` */
    wrench_net net;
} contact;

/* ---- the cube ---- */

static const double origin[3];

static void start_at(contact *e, const double *value, rigid_state *start)
{
    memset(start, 0, sizeof *start);
    quat_from_vector(value + TURN, e->turn);
    quat_product(e->turn, e->first, start->q);
    for (int d = 0; d < 3; d++) {
        start->x[d] = value[POSITION + d] + (d == 1 ? 4 : 0);
        start->v[d] = value[VELOCITY + d];
        start->omega[d] = value[SPIN + d];
    }
}

static int64_t launch_cube(void *self, const double *value)
{
    contact *e = self;
    rigid_state start;
    rigid_body body = {.mass = e->unit.mass * value[DENSITY],
                       .gravity = {0, -value[GRAVITY], 0},
                       .force = {value[FORCE], value[FORCE + 1], value[FORCE + 2]},
                       .ke = value[KE],
                       .kd = value[KD],
                       .kf = value[KF],
                       .mu = value[MU]};
    for (int i = 0; i < 9; i++) {
        body.inertia[i] = e->unit.inertia[i] * value[DENSITY];
    }
    if (!e->observed.is_target && e->unmodelled == FRICTION) {
        body.kf = body.mu = 0;
    } else if (!e->observed.is_target && e->unmodelled == DAMPING) {
        body.kd = 0;
    }
    start_at(e, value, &start);
    e->net.w = e->observed.w;
    rigid_networks(e->engine, e->observed.is_target ? NULL : &e->net);
    rigid_soften(e->engine, e->observed.is_target ? NULL : &e->soft);
    return rigid_simulate(e->engine, &body, RIGID_BOX_POINTS, e->corner, &start, e->observed.dt,
                          e->observed.steps);
}

static void place_cube(const void *self, uint64_t t, double *points)
{
    const contact *e = self;
    const rigid_state *s = rigid_at(e->engine, t);
    rigid_place(s->x, s->q, origin, e->mesh.points, e->mesh.point, points);
}

static void place_cube_bar(const void *self, uint64_t t, const double *points_bar, double *bar,
                           double *value_bar)
{
    const contact *e = self;
    const rigid_state *s = rigid_at(e->engine, t);
    rigid_state *b = (rigid_state *)(void *)bar;
    (void)value_bar;
    rigid_place_adjoint(s->q, origin, e->mesh.points, e->mesh.point, points_bar, b->x, b->q, NULL, NULL);
}

static void place_cube_dot(const void *self, uint64_t t, const double *dot, const double *value_dot,
                           double *points_dot)
{
    const contact *e = self;
    const rigid_state *s = rigid_at(e->engine, t), *d = (const rigid_state *)(const void *)dot;
    (void)value_dot;
    rigid_place_tangent(s->q, origin, e->mesh.points, e->mesh.point, d->x, d->q, NULL, NULL, points_dot);
}

static int sweep_back(void *self, uint64_t from, uint64_t to, double *bar, double *value_bar)
{
    contact *e = self;
    rigid_body body_bar = {0};
    rigid_mass mass_bar = {0};
    e->net.w_bar = e->observed.w_bar;
    const int finite = rigid_adjoint(e->engine, from, to, (rigid_state *)(void *)bar, &body_bar, NULL);
    mass_bar.mass = body_bar.mass;
    memcpy(mass_bar.inertia, body_bar.inertia, sizeof mass_bar.inertia);
    value_bar[DENSITY] += rigid_mass_density_adjoint(&e->unit, &mass_bar);
    value_bar[KE] += body_bar.ke;
    value_bar[KD] += body_bar.kd;
    value_bar[KF] += body_bar.kf;
    value_bar[MU] += body_bar.mu;
    value_bar[GRAVITY] -= body_bar.gravity[1];
    for (int d = 0; d < 3; d++) {
        value_bar[FORCE + d] += body_bar.force[d];
    }
    return finite;
}

static int sweep_forth(void *self, uint64_t from, uint64_t to, double *dot, const double *value_dot)
{
    contact *e = self;
    rigid_body body_dot = {.mass = e->unit.mass * value_dot[DENSITY],
                           .gravity = {0, -value_dot[GRAVITY], 0},
                           .force = {value_dot[FORCE], value_dot[FORCE + 1], value_dot[FORCE + 2]},
                           .ke = value_dot[KE],
                           .kd = value_dot[KD],
                           .kf = value_dot[KF],
                           .mu = value_dot[MU]};
    for (int i = 0; i < 9; i++) {
        body_dot.inertia[i] = e->unit.inertia[i] * value_dot[DENSITY];
    }
    e->net.w_dot = e->observed.w_dot;
    return rigid_tangent(e->engine, from, to, (rigid_state *)(void *)dot, &body_dot, NULL);
}

static void start_bar(void *self, const double *bar, double *value_bar)
{
    contact *e = self;
    const rigid_state *b = (const rigid_state *)(const void *)bar;
    const double back[4] = {e->first[0], -e->first[1], -e->first[2], -e->first[3]};
    double turn_bar[4];
    quat_product(b->q, back, turn_bar);
    quat_from_vector_adjoint(e->observed.value + TURN, turn_bar, value_bar + TURN);
    for (int d = 0; d < 3; d++) {
        value_bar[POSITION + d] += b->x[d];
        value_bar[VELOCITY + d] += b->v[d];
        value_bar[SPIN + d] += b->omega[d];
    }
}

static void start_dot(void *self, const double *value_dot, double *dot)
{
    contact *e = self;
    rigid_state *s = (rigid_state *)(void *)dot;
    double turn_dot[4];
    for (int i = 0; i < 4; i++) { /* row i: derivative of the quaternion by component i of the vector */
        const double one[4] = {i == 0, i == 1, i == 2, i == 3};
        double row[3] = {0, 0, 0};
        quat_from_vector_adjoint(e->observed.value + TURN, one, row);
        turn_dot[i] = row[0] * value_dot[TURN] + row[1] * value_dot[TURN + 1] + row[2] * value_dot[TURN + 2];
    }
    memset(s, 0, sizeof *s);
    quat_product(turn_dot, e->first, s->q);
    for (int d = 0; d < 3; d++) {
        s->x[d] = value_dot[POSITION + d];
        s->v[d] = value_dot[VELOCITY + d];
        s->omega[d] = value_dot[SPIN + d];
    }
}

static const observed_task task = {.numbers = RIGID_STATE_NUMBERS,
                                   .launch = launch_cube,
                                   .place = place_cube,
                                   .place_bar = place_cube_bar,
                                   .place_dot = place_cube_dot,
                                   .back = sweep_back,
                                   .forth = sweep_forth,
                                   .start_bar = start_bar,
                                   .start_dot = start_dot,
                                   .cure = cure};

/* ---- set-up ---- */

/* Compared states: 1, 1 + d, 1 + 2 d, ... and the last one. */
static void list_states(contact *e, uint64_t frames)
{
    observed *s = &e->observed;
    const uint64_t count = frames < s->steps ? frames : s->steps,
                   each = count > 1 ? s->steps / (count - 1) : 1;
    e->compared = ds_memory_take(&s->env.kit.memory, count, sizeof *e->compared);
    for (uint64_t k = 0; e->compared != NULL && k < count; k++) {
        e->compared[k] = k + 1 < count ? 1 + k * each : s->steps;
    }
    s->compared = e->compared;
    s->states = e->compared != NULL ? count : 0;
}

static void read_times(contact *e, ds_param_reader *in)
{
    observed *s = &e->observed;
    const int64_t substeps = ds_param_int(in, "substeps"), frames = ds_param_int(in, "frames");
    s->dt = 1 / (60 * fmax(1, (double)substeps));
    const double steps = fmax(1, round(ds_param_real(in, "duration") / s->dt));
    if (in->status == DS_OK && steps > MOST_STEPS) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM,
                         "parameters duration and substeps: %.3g steps, more than %d; reduce one of them",
                         steps, MOST_STEPS);
    }
    s->steps = (uint64_t)fmin(MOST_STEPS, steps);
    s->shown_each = (uint64_t)fmin((double)s->steps, 2 * fmax(1, (double)substeps));
    list_states(e, (uint64_t)fmax(1, (double)frames));
}

/* Refuses variables that the model does not have. */
static void check_unmodelled(contact *e, ds_param_reader *in)
{
    const decision_set *set = &e->observed.decisions;
    e->unmodelled = (int)ds_param_int(in, "unmodelled");
    for (uint64_t i = 0; in->status == DS_OK && i < set->n; i++) {
        const uint32_t k = set->at[i];
        if ((e->unmodelled == FRICTION && (k == KF || k == MU)) || (e->unmodelled == DAMPING && k == KD)) {
            in->status = ds_host_fail(in->host, DS_E_PARAM,
                                      "parameter variables names %s, which parameter unmodelled removes from "
                                      "the model: leave it out",
                                      set->offered[k].name);
        }
    }
}

static void read_softness(contact *e, ds_param_reader *in)
{
    softness_read(&e->soft, in, "width");
    softness_read_backward(&e->soft, in);
    e->observed.env.kit.grad_kind = e->soft.at_distance ? DS_GRAD_SMOOTHED : DS_GRAD_ADJOINT;
}

static void read_rigid_contact(void *self, ds_param_reader *in)
{
    contact *e = self;
    observed *s = &e->observed;
    static const double half[3] = {0.57735026918962576, 0.57735026918962576, 0.57735026918962576};
    observed_read(s, in, &task);
    observed_object(s, in);
    s->decisions.offered = decisions;
    s->decisions.offers = COUNT;
    ds_param_values(in, "truth", 5, s->decisions.truth);
    ds_param_values(in, "velocity", 3, s->decisions.truth + VELOCITY);
    ds_param_values(in, "force", 3, s->decisions.truth + FORCE);
    s->decisions.truth[GRAVITY] = ds_param_real(in, "gravity");
    read_softness(e, in);
    read_times(e, in);
    in->status = in->status != DS_OK ? in->status : fem_mesh_cube(&e->mesh);
    rigid_mass_box(1, half, &e->unit);
    rigid_points_box(half, e->corner);
    quat_from_vector((double[3]){0, 0, 0.3 * pi}, e->first);
    e->engine = rigid_create(&s->env.kit.memory, RIGID_BOX_POINTS, s->steps);
    for (int f = 0; f < FACES; f++) {
        e->yellow[f][0] = e->yellow[f][1] = 1;
    }
    s->subject =
        (frames_subject){.mesh = {(uint32_t)e->mesh.points, (uint32_t)e->mesh.triangles, e->mesh.triangle},
                         .color = &e->yellow[0][0],
                         .rest = e->mesh.point};
    s->floor = 0;
    observed_ready(s, in);
    check_unmodelled(e, in);
}

static uint64_t hooks_of_contact(const void *self, ds_hook *out)
{
    static const char *const inputs[3][3] = {{"position", "m", "Of the centre of mass (y is up)."},
                                             {"velocity", "m/s", "Of the centre of mass."},
                                             {"spin", "rad/s", "Angular velocity, axes of the world."}};
    (void)self;
    return wrench_hooks(
        out, inputs, "At the centre of mass, in addition to gravity and contact; starts as parameter force.");
}

static ds_status allocate_contact(void *self)
{
    contact *e = self;
    wrench_open(&e->net, &e->observed.env.kit.memory, &e->observed.env.kit.hybrid);
    return observed_allocate(self);
}

static void release_rigid_contact(void *self)
{
    observed_release(self);
    fem_mesh_free(&((contact *)self)->mesh);
}

static const ds_scene_kit_label metrics[] = {
    {"x", "m"}, {"y", "m"}, {"distance", "m"}, {"error", ""}, {NULL, NULL}};

static void measure_rigid_contact(void *self, uint64_t k, double *out)
{
    observed *s = self;
    double mean[3];
    out[2] = observed_measure(s, k, mean);
    out[0] = mean[0];
    out[1] = mean[1];
    identified_put(&s->error, out + 3);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(contact),
                                 .advice = "reduce parameter image_size or duration",
                                 .cure = cure,
                                 .read = read_rigid_contact,
                                 .hook_points = hooks_of_contact,
                                 .metrics = metrics,
                                 .measure = measure_rigid_contact,
                                 OBSERVED_TABLE(allocate_contact, release_rigid_contact)};

static const ds_desc desc = {
    BUNDLED_DESC("rigid_contact", "2"), .flags = DS_ENV_GRADIENT,
    .summary = "Density and contact of a bouncing cube? From images (gradSim, table 2).",
    .description =
        "A cube of side 1.15 m falls from 4 m, thrown at 2 m/s, bounces and slides on the ground: a penalty "
        "with damping, and friction that is viscous up to Coulomb's bound. The variables are the unknown "
        "quantities, by default log10 of density, stiffness, damping and viscous friction of the contact, "
        "and the bound mu. The target is an episode of the same cube with parameter truth, seen by the same "
        "camera, so the least loss is 0. Scaling density, ke, kd and kf together gives the same motion: to "
        "find all of them, push the cube with a known force (parameter force), or fix one.\nA network can "
        "replace what the model lacks: a force and a torque that depend on position, velocity and spin "
        "(parameter residual); the target has none.\nThe ground can act at a distance: softness (the spring "
        "also acts above it; the target stays hard), contact_grad = distance (only for derivatives, whose "
        "kind is `smoothed`)." COMPARISON_CHANNELS COMPARISON_ERROR("positive"),
    .citation = PAPER_GRADSIM};

DS_ENV_KIT_DEFINE(env, desc)
