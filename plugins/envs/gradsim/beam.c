/* SPDX-License-Identifier: Apache-2.0 */
/* beam.c - find the material of a soft beam that is held at both ends and sags under its weight, from camera
 * images. System identification of gradSim (Jatavallabhula et al., ICLR 2021, figures 4 and 11, table 3). */
#include "engines/kit/bundled.h"
#include "engines/physics/soft/soft.h"

#include <math.h>

static const char cure[] = "reduce mu, lambda or damping in parameter truth, or raise substeps";

static const ds_param *const params[] = {
    SOFT_PARAMS(
        "mu lambda",
        "mu, lambda, damping, density, masses (a factor of each particle), gravity, position, turn, velocity",
        "image", "mean squared distance of the points.", "64", "4, 30, 0", "alpha"),
    DS_LIST("truth", "1000, 1000, 5, 10", 1e-3, 1e7, 4, "Pa, Pa, Pa s, kg/m^3",
            "Material of the target beam: Lame parameters mu and lambda, damping, density."),
    COMPARISON_OBJECT_PARAM,
    DS_REAL("gravity", "9.8", -100, 100, "m/s^2",
            "Gravity, downward: of the target, and if it is not a variable."),
    SOFT_TIME_PARAMS("2", "32", "10"),
    NULL};

static const body_variable offered[] = {
    BODY_VARIABLE_LOG("mu", "Pa", BODY_VARIABLE_SOLID_MU, 1.7, 4, 2),
    BODY_VARIABLE_LOG("lambda", "Pa", BODY_VARIABLE_SOLID_LAMBDA, 1.7, 4, 1.7),
    BODY_VARIABLE_LOG("damping", "Pa s", BODY_VARIABLE_SOLID_KD, -1, 1.3, 0),
    BODY_VARIABLE_LOG("density", "kg/m^3", BODY_VARIABLE_DENSITY, 0.5, 1.5, 1.2),
    BODY_VARIABLE_LOG("masses", "", BODY_VARIABLE_MASSES, -0.5, 0.5, 0.1),
    BODY_VARIABLE("gravity", "m/s^2", BODY_VARIABLE_GRAVITY, 0, 20, 5),
    BODY_VARIABLE("position", "m", BODY_VARIABLE_POSITION, -0.5, 0.5, 0.1),
    BODY_VARIABLE("turn", "rad", BODY_VARIABLE_TURN, -1, 1, 0.1),
    BODY_VARIABLE("velocity", "m/s", BODY_VARIABLE_VELOCITY, -2, 2, 0.5),
    {.name = NULL}};

static const soft_task task = {.offered = offered, .state = COMPARISON_POINTS, .cure = cure};

/* Fixes both ends: the particles at the least and the largest x. */
static void hold_ends(fem_model *m)
{
    for (size_t i = 0; i < m->particles; i++) {
        m->fixed[i] = fabs(m->q[3 * i]) > 1 - 1e-9;
    }
}

static void read_beam(void *self, ds_param_reader *in)
{
    soft *s = self;
    double truth[4] = {1000, 1000, 5, 10};
    soft_read(s, in, &task);
    soft_object(s, in);
    ds_param_values(in, "truth", 4, truth);
    soft_body(s, fem_mesh_beam(&s->mesh), (double[3]){0, 0, 0}, (double[3]){0, 0, 0}, truth[3],
              (fem_solid){truth[0], truth[1], truth[2]});
    hold_ends(&s->model);
    s->model.gravity[1] = -ds_param_real(in, "gravity");
    s->first = 1; /* as in gradSim, which draws the state after the first step */
    s->color[0] = s->color[1] = 1;
    soft_ready(s, in);
}

static const ds_scene_kit_label metrics[] = {{"sag", "m"}, {"distance", "m"}, {"error", ""}, {NULL, NULL}};

static void measure_beam(void *self, uint64_t k, double *out)
{
    soft *s = self;
    double centre[3], start[3];
    const double miss = soft_measure(s, k, centre);
    fem_centre(&s->model, s->model.q, start);
    out[0] = start[1] - centre[1];
    out[1] = miss;
    identified_put(&s->error, out + 2);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(soft),
                                 .advice = "reduce parameter image_size or duration",
                                 .cure = cure,
                                 .read = read_beam,
                                 .metrics = metrics,
                                 .measure = measure_beam,
                                 SOFT_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("beam", "2"), .flags = DS_ENV_GRADIENT,
    .summary = "What is a sagging beam made of? From images (gradSim, Lame parameters).",
    .description =
        "A beam of 400 tetrahedra (stable neo-Hookean), 2 m x 0.2 m x 0.2 m, held at both ends, falls from "
        "rest. The variables are the unknown quantities, by default log10 of the Lame parameters mu and "
        "lambda (Pa). The target is an episode of the same beam with parameter truth, seen by the same "
        "camera, so the least loss is 0." COMPARISON_CHANNELS COMPARISON_ERROR("logarithms"),
    .citation = PAPER_GRADSIM};

DS_ENV_KIT_DEFINE(env, desc)
