/* SPDX-License-Identifier: Apache-2.0 */
/* cloth_velocity.c - find the velocities at the start of the particles of a cloth that swings between two
 * anchors and falls, or its friction where it slides on the ground, from camera images. System identification
 * of gradSim (Jatavallabhula et al., ICLR 2021, tables 3 and 6). */
#include "engines/kit/bundled.h"
#include "engines/physics/soft/soft.h"

#include <diffsim/helper/random.h>
#include <math.h>

enum { WIDTH = 20, HEIGHT = 10 }; /* cells */

static const char cure[] = "raise stretch against area in parameter truth, or substeps";
static const char *const scenes[] = {"hang", "slide", NULL};
static const double pi = 3.14159265358979323846;

static const ds_param *const params[] = {
    SOFT_PARAMS(
        "velocity",
        "velocities (of each particle), velocity (of all), position, turn, mass, masses (a factor of "
        "each particle), stretch and area (Lame parameters of the membrane), damping, bend, rest_area and "
        "rest_angle (growth of the area at rest of all triangles, angle at rest of all edges), "
        "rest_areas, rest_angles (of each), gravity; in scene slide also contact_ke, contact_kd, "
        "contact_kf, contact_mu",
        "image", "mean squared distance of the points.", "64", "5, 0, 0", "alpha"),
    COMPARISON_OBJECT_PARAM,
    DS_LIST("velocity", "1, 0, 0", -10, 10, 3, "m/s",
            "Velocity at the start: of the target, and if it is not a variable."),
    DS_INT("throw", "0", 0, 1000000000, "",
           "0: thrown with parameter velocity. K: the same speed, in a direction drawn from this number."),
    DS_REAL(
        "start_spread", "1", 0, 1, "m/s",
        "Start values of the velocities: each component is -0.01 + start_spread U(0, 1). 1: as in gradSim. "
        "0: all particles start alike; the parts of a velocity that no image shows stay at their start."),
    DS_LIST("truth", "1e4, 1e4, 100, 100", 0, 1e7, 4, "N/m, N/m, N s/m, N/rad",
            "Material of the target cloth: stretch and area (Lame parameters of the membrane), damping of "
            "its area, stiffness of bending."),
    DS_BOOL("random_mass", "false",
            "Inverse masses are uniform in (0, 1) for the first half of the particles and in (0, 2) for the "
            "others, as in gradSim, drawn with the seed; false: 1 kg each."),
    DS_ENUM(
        "scene", "hang", scenes,
        "hang: the cloth swings between two anchors on springs, without ground. slide: without anchors; it "
        "lies 0.1 m above the ground, falls and slides.",
        .flags = DS_PARAM_SHAPE),
    SOFT_GROUND_PARAMS("1e4, 100, 1000, 0.3"),
    SOFT_TIME_PARAMS("1.5", "32", "12"),
    NULL};

/* Bounds of the shape at rest and of the contact are ours. */
#define CLOTH_OFFERED                                                                                        \
    BODY_VARIABLE_RANDOM("velocities", "m/s", BODY_VARIABLE_VELOCITIES, -2, 2, -0.01, 1),                    \
        BODY_VARIABLE_RANDOM("velocity", "m/s", BODY_VARIABLE_VELOCITY, -2, 2, -0.01, 1),                    \
        BODY_VARIABLE("position", "m", BODY_VARIABLE_POSITION, -0.5, 0.5, 0.1),                              \
        BODY_VARIABLE("turn", "rad", BODY_VARIABLE_TURN, -0.5, 0.5, 0.1),                                    \
        BODY_VARIABLE_LOG("mass", "kg", BODY_VARIABLE_DENSITY, -0.5, 0.5, 0.1),                              \
        BODY_VARIABLE_LOG("masses", "", BODY_VARIABLE_MASSES, -0.5, 0.5, 0.1),                               \
        BODY_VARIABLE_LOG("stretch", "N/m", BODY_VARIABLE_STRETCH, 3.7, 4.5, 4.2),                           \
        BODY_VARIABLE_LOG("area", "N/m", BODY_VARIABLE_AREA, 3.7, 4.5, 4.2),                                 \
        BODY_VARIABLE_LOG("damping", "N s/m", BODY_VARIABLE_AREA_KD, 1, 3, 1.5),                             \
        BODY_VARIABLE_LOG("bend", "N/rad", BODY_VARIABLE_BEND, 1, 3, 1.5),                                   \
        BODY_VARIABLE("gravity", "m/s^2", BODY_VARIABLE_GRAVITY, 0, 20, 5),                                  \
        BODY_VARIABLE("rest_area", "", BODY_VARIABLE_REST_AREA, -0.2, 0.2, 0.05),                            \
        BODY_VARIABLE("rest_areas", "", BODY_VARIABLE_REST_AREAS, -0.2, 0.2, 0.05),                          \
        BODY_VARIABLE("rest_angle", "rad", BODY_VARIABLE_REST_ANGLE, -0.3, 0.3, 0.05),                       \
        BODY_VARIABLE("rest_angles", "rad", BODY_VARIABLE_REST_ANGLES, -0.3, 0.3, 0.05)
static const body_variable of_hanging[] = {CLOTH_OFFERED, {.name = NULL}},
                           of_sliding[] = {
                               CLOTH_OFFERED,
                               BODY_VARIABLE_LOG("contact_ke", "N/m", BODY_VARIABLE_GROUND_KE, 3, 5, 3.5),
                               BODY_VARIABLE_LOG("contact_kd", "N s/m", BODY_VARIABLE_GROUND_KD, 0, 3, 1),
                               BODY_VARIABLE_LOG("contact_kf", "N s/m", BODY_VARIABLE_GROUND_KF, 1, 3.5, 2),
                               BODY_VARIABLE("contact_mu", "", BODY_VARIABLE_GROUND_MU, 0, 1, 0.6),
                               {.name = NULL}};

static const soft_task hanging = {of_hanging, NULL, COMPARISON_POINTS, cure},
                       sliding = {of_sliding, NULL, COMPARISON_POINTS, cure};

/* Adds an anchor a metre to the side of particle i, on a spring. */
static void anchor(fem_model *m, uint32_t i, double side)
{
    const double *q = m->q + 3 * (size_t)i;
    const double at[3] = {q[0] + side, q[1], q[2]};
    const uint32_t a = fem_add_particle(m, at, (double[3]){0, 0, 0}, 1);
    if (m->status == DS_OK) {
        m->fixed[a] = 1;
        fem_add_spring(m, a, i, 1e4, 1e3, 1);
    }
}

static void draw_masses(fem_model *m, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        ds_random r = ds_random_open(seed, "inverse mass", i);
        m->mass[i] = 1 / ((i < n / 2 ? 1 : 2) * ds_random_uniform(&r));
    }
}

/* Turns the velocity to the direction of throw K. */
static void draw_throw(double velocity[3], uint64_t k)
{
    ds_random r = ds_random_open(k, "throw", 0);
    double v[3], drawn = 0, speed = 0;
    for (int d = 0; d < 3; d++) {
        v[d] = ds_random_normal(&r);
        drawn += v[d] * v[d];
        speed += velocity[d] * velocity[d];
    }
    for (int d = 0; d < 3; d++) {
        velocity[d] = sqrt(speed / drawn) * v[d];
    }
}

static void build(soft *s, const double velocity[3], const double truth[4], int random_mass, int slides)
{
    const double cell = 0.1;
    fem_model *m = &s->model;
    const fem_placing hung = {{-2, 1.5, 0}, {velocity[0], velocity[1], velocity[2]}, {1, 0, 0}, 1.04 * pi},
                      laid = {{-2, 0.1, 0.5}, {velocity[0], velocity[1], velocity[2]}, {1, 0, 0}, -0.5 * pi};
    m->status = m->status != DS_OK ? m->status
                                   : fem_mesh_grid(&s->mesh, WIDTH, HEIGHT, (double[3]){cell, 0, 0},
                                                   (double[3]){0, cell, 0});
    m->membrane[0] = (fem_membrane){truth[0], truth[1], truth[2], 0, 0};
    m->bending[0] = (fem_bending){truth[3], 0};
    fem_add_cloth(m, &s->mesh, slides ? &laid : &hung, 1, 0, 1);
    if (m->status == DS_OK && random_mass) {
        draw_masses(m, m->particles, s->unknown.seed);
    }
    if (m->status == DS_OK && !slides) {
        anchor(m, 0, -1);
        anchor(m, WIDTH, 1);
    }
    s->unknown.density = 1;
}

static void read_cloth_velocity(void *self, ds_param_reader *in)
{
    soft *s = self;
    double velocity[3] = {1, 0, 0}, truth[4] = {1e4, 1e4, 100, 100};
    const int slides = ds_param_int(in, "scene") == 1;
    soft_read(s, in, slides ? &sliding : &hanging);
    soft_object(s, in);
    s->unknown.start_spread = ds_param_real(in, "start_spread");
    ds_param_values(in, "velocity", 3, velocity);
    const uint64_t throw = (uint64_t)ds_param_int(in, "throw");
    if (throw > 0) {
        draw_throw(velocity, throw);
    }
    ds_param_values(in, "truth", 4, truth);
    build(s, velocity, truth, ds_param_int(in, "random_mass") != 0, slides);
    if (slides) {
        soft_ground(s, in);
    }
    s->first = 1; /* as in gradSim, which draws the state after the first step */
    s->color[0] = s->color[1] = 1;
    soft_ready(s, in);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(soft),
                                 .advice = "reduce parameter image_size or duration",
                                 .cure = cure,
                                 .read = read_cloth_velocity,
                                 .metrics = soft_fit_metrics,
                                 .measure = soft_measure_fit,
                                 SOFT_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("cloth_velocity", "2"), .flags = DS_ENV_GRADIENT,
    .summary = "How fast did the particles of a cloth start? From images (gradSim).",
    .description =
        "A cloth of 20 x 10 cells (neo-Hookean membrane, bending) hangs between two anchors on springs, a "
        "metre to the left and to the right of two of its corners. The variables are the unknown quantities: "
        "by default its velocity at the start; with variables = velocities that of each of its 231 "
        "particles, 693 numbers. The target is an episode of the same cloth, seen by the same camera, so the "
        "least loss is 0.\nIts Lame parameters are both 1e4 N/m. With gradSim's own mu of 100 N/m the "
        "corners, which carry the whole cloth, are stretched to needles that a step of this size cannot "
        "follow.\nIn scene slide the cloth lies on the ground and slides: its friction can be "
        "found." COMPARISON_CHANNELS COMPARISON_ERROR("logarithms"),
    .citation = PAPER_GRADSIM};

DS_ENV_KIT_DEFINE(env, desc)
