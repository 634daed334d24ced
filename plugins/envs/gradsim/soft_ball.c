/* SPDX-License-Identifier: Apache-2.0 */
/* soft_ball.c - find the material of a soft ball that is thrown and bounces, from camera images. System
 * identification of gradSim (Jatavallabhula et al., ICLR 2021, table 3). */
#include "engines/kit/bundled.h"
#include "engines/physics/soft/soft.h"

#include <math.h>

static const char cure[] = "reduce mu, lambda or damping in parameter truth, or raise substeps";

static const char *const shapes[] = {"ball", "cube", NULL};

static const ds_param *const params[] = {
    SOFT_PARAMS("mu lambda",
                "mu, lambda, damping, density, masses (a factor of each particle), velocity, position, turn, "
                "gravity, contact_ke, contact_kd, contact_kf, contact_mu",
                "image", "mean squared distance of the points.", "64", "8, 30, 0", "alpha"),
    DS_LIST("truth", "1000, 1000, 1, 10", 1e-3, 1e7, 4, "Pa, Pa, Pa s, kg/m^3",
            "Material of the target ball: Lame parameters mu and lambda, damping, density."),
    COMPARISON_OBJECT_PARAM,
    DS_ENUM(
        "shape", "ball", shapes,
        "ball: of radius 1 m, from 2 m. cube: the cube of rigid_contact, of 40 tetrahedra, with its start "
        "and its compared states (also the last one), for studies of wrong models; give velocity, contact "
        "and substeps of that scene, too."),
    DS_ENUM("near", "anywhere", body_variables_nears,
            "Start of masses as variables. anywhere: all at 10^0.1 times those of a ball of uniform density. "
            "inverse: at 1 / (1/m + U(0, 0.1) + U(0, 0.1)) with m kg the mass in the target, as in gradSim. "
            "factor: at m 2^U(-1, 1). The last two stay in the bounds and are drawn with object and seed."),
    DS_LIST("velocity", "2, 0, 0", -20, 20, 3, "m/s",
            "Velocity of the throw: of the target, and if it is not a variable."),
    SOFT_GROUND_PARAMS("1e4, 1, 10, 0.5"),
    DS_REAL("gravity", "9.8", -100, 100, "m/s^2",
            "Gravity, downward: of the target, and if it is not a variable."),
    SOFT_TIME_PARAMS("2", "32", "10"),
    NULL};

/* A cube has the densities of rigid_contact. */
#define BALL_OFFERED(lightest, heaviest, first)                                                              \
    BODY_VARIABLE_LOG("mu", "Pa", BODY_VARIABLE_SOLID_MU, 2, 4, 2.7),                                        \
        BODY_VARIABLE_LOG("lambda", "Pa", BODY_VARIABLE_SOLID_LAMBDA, 2, 4, 2.7),                            \
        BODY_VARIABLE_LOG("damping", "Pa s", BODY_VARIABLE_SOLID_KD, -2, 1, -1),                             \
        BODY_VARIABLE_LOG("density", "kg/m^3", BODY_VARIABLE_DENSITY, lightest, heaviest, first),            \
        BODY_VARIABLE_LOG("masses", "", BODY_VARIABLE_MASSES, -0.5, 0.5, 0.1),                               \
        BODY_VARIABLE("velocity", "m/s", BODY_VARIABLE_VELOCITY, -4, 4, 1),                                  \
        BODY_VARIABLE("position", "m", BODY_VARIABLE_POSITION, -1, 1, 0.2),                                  \
        BODY_VARIABLE("turn", "rad", BODY_VARIABLE_TURN, -1.5, 1.5, 0.1),                                    \
        BODY_VARIABLE("gravity", "m/s^2", BODY_VARIABLE_GRAVITY, 0, 20, 5),                                  \
        BODY_VARIABLE_LOG("contact_ke", "N/m", BODY_VARIABLE_GROUND_KE, 3, 5, 3.5),                          \
        BODY_VARIABLE_LOG("contact_kd", "N s/m", BODY_VARIABLE_GROUND_KD, -1, 2, 0.5),                       \
        BODY_VARIABLE_LOG("contact_kf", "N s/m", BODY_VARIABLE_GROUND_KF, 0, 2, 0.5),                        \
        BODY_VARIABLE("contact_mu", "", BODY_VARIABLE_GROUND_MU, 0, 1, 0.2)
static const body_variable of_ball[] = {BALL_OFFERED(0.5, 1.5, 1.2), {.name = NULL}},
                           of_cube[] = {BALL_OFFERED(0.30103, 1.07918, 0.690106), {.name = NULL}};

static const soft_task ball = {.offered = of_ball, .state = COMPARISON_POINTS, .cure = cure},
                       cube = {.offered = of_cube, .state = COMPARISON_POINTS, .cure = cure};

/* The cube of rigid_contact about the origin, turned as there. */
static ds_status make_cube(fem_mesh *m)
{
    const double side = 2 / sqrt(3), cell = side / 2, turn = 0.3 * 3.14159265358979323846;
    const ds_status status = fem_mesh_block(m, 2, 2, 2, (const double[3]){cell, cell, cell});
    for (size_t i = 0; status == DS_OK && i < m->points; i++) {
        double *p = m->point + 3 * i;
        const double x = p[0] - side / 2, y = p[1] - side / 2;
        p[0] = cos(turn) * x - sin(turn) * y;
        p[1] = sin(turn) * x + cos(turn) * y;
        p[2] -= side / 2;
    }
    return status;
}

static void read_soft_ball(void *self, ds_param_reader *in)
{
    soft *s = self;
    double truth[4] = {1000, 1000, 1, 10}, velocity[3] = {2, 0, 0};
    const int is_cube = ds_param_int(in, "shape") == 1;
    soft_read(s, in, is_cube ? &cube : &ball);
    soft_object(s, in);
    s->unknown.near = (body_variable_near)ds_param_int(in, "near");
    ds_param_values(in, "truth", 4, truth);
    ds_param_values(in, "velocity", 3, velocity);
    const double at[2][3] = {{-2, 2, 0}, {0, 4, 0}};
    soft_body(s, is_cube ? make_cube(&s->mesh) : fem_mesh_ball(&s->mesh), at[is_cube], velocity, truth[3],
              (fem_solid){truth[0], truth[1], truth[2]});
    soft_ground(s, in);
    s->model.gravity[1] = -ds_param_real(in, "gravity");
    if (is_cube && s->compared > 1) {
        s->compared--;
        s->each = s->steps / s->compared;
        s->first = 1;
        s->last = 1;
    }
    s->color[0] = s->color[1] = 1;
    soft_ready(s, in);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(soft),
                                 .advice = "reduce parameter image_size or duration",
                                 .cure = cure,
                                 .read = read_soft_ball,
                                 .metrics = soft_fit_metrics,
                                 .measure = soft_measure_fit,
                                 SOFT_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("soft_ball", "2"), .flags = DS_ENV_GRADIENT,
    .summary = "What is a bouncing soft ball made of? From images (gradSim, masses and Lame parameters).",
    .description =
        "A ball of 320 tetrahedra (stable neo-Hookean) of radius 1 m is thrown at 2 m/s and bounces on the "
        "ground. The variables are the unknown quantities, by default log10 of the Lame parameters mu and "
        "lambda (Pa); masses is a factor for the mass of each of its 85 particles. The target is an episode "
        "of the same ball with parameter truth, seen by the same camera, so the least loss is 0. Bounces "
        "make small ripples in the loss." COMPARISON_CHANNELS COMPARISON_ERROR("logarithms"),
    .citation = PAPER_GRADSIM};

DS_ENV_KIT_DEFINE(env, desc)
