/* SPDX-License-Identifier: Apache-2.0 */
/* cloth_throw.c - throw a cloth so that it falls to the place of another one in the air: control-cloth of
 * gradSim (Jatavallabhula et al., ICLR 2021, figures 5 and 6b). */
#include "engines/kit/bundled.h"
#include "engines/physics/soft/soft.h"

#include <diffsim/helper/random.h>

static const char cure[] = "raise substeps, or throw slower";

static const ds_param *const params[] = {
    SOFT_PARAMS("velocity",
                "velocity, velocities (of each particle), position, turn, mass, masses (a factor of each "
                "particle), stretch and area (Lame parameters of the membrane), damping, bend, lift, drag, "
                "gravity",
                "image",
                "squared error of the centre of mass, mean of its coordinates, weighted by the initial "
                "masses, even if masses are variables.",
                "64", "15, 0, 0", "alpha"),
    DS_INT("object", "0", 0, 1000000000, "",
           "0: parameters cells, height and target. K: they are drawn with this key as in gradSim: 8 to 31 "
           "cells, height in (2, 3), target in (0, 3)."),
    DS_INT("cells", "20", 2, 100, "", "Cells of the cloth along each side."),
    DS_REAL("height", "2.5", -10, 10, "m", "y of its first corner at the start."),
    DS_REAL("target", "1.5", -10, 10, "m", "x of the first corner of the target; its y is -3 m."),
    DS_LIST("air", "10, 5", 0, 1e3, 2, "N s^2/m^4", "Lift and drag of the air, if they are not variables."),
    SOFT_TIME_PARAMS("1.5", "16", "1"),
    NULL};

/* The time step cannot follow faster throws. */
static const body_variable_axes speeds = {.lower = {0, -6, -1}, .upper = {12, 6, 1}, .start = {1, 0, 0}};

static const body_variable offered[] = {
    {.name = "velocity", .unit = "m/s", .kind = BODY_VARIABLE_VELOCITY, .axes = &speeds},
    {.name = "velocities",
     .unit = "m/s",
     .kind = BODY_VARIABLE_VELOCITIES,
     .lower = -6,
     .upper = 12,
     .start = 1},
    BODY_VARIABLE("position", "m", BODY_VARIABLE_POSITION, -5, 5, 0),
    BODY_VARIABLE("turn", "rad", BODY_VARIABLE_TURN, -1.5, 1.5, 0),
    BODY_VARIABLE_LOG("mass", "kg", BODY_VARIABLE_DENSITY, -0.5, 1, 0.3),
    BODY_VARIABLE_LOG("masses", "", BODY_VARIABLE_MASSES, -0.5, 0.5, 0),
    BODY_VARIABLE_LOG("stretch", "N/m", BODY_VARIABLE_STRETCH, 1, 3, 2),
    BODY_VARIABLE_LOG("area", "N/m", BODY_VARIABLE_AREA, 3, 4.5, 4),
    BODY_VARIABLE_LOG("damping", "N s/m", BODY_VARIABLE_AREA_KD, 1, 2.5, 2),
    BODY_VARIABLE_LOG("bend", "N/rad", BODY_VARIABLE_BEND, 1, 2.5, 2),
    BODY_VARIABLE("lift", "N s^2/m^4", BODY_VARIABLE_LIFT, 0, 30, 10),
    BODY_VARIABLE("drag", "N s^2/m^4", BODY_VARIABLE_DRAG, 0, 30, 5),
    BODY_VARIABLE("gravity", "m/s^2", BODY_VARIABLE_GRAVITY, 0, 20, 9.8),
    {.name = NULL}};

typedef struct throw
{
    soft soft;        /* must be first */
    double corner[3]; /* position of the target, m */
}
throw;

static void place_target(const soft *s, double *q)
{
    const throw *e = (const throw *)s;
    for (size_t i = 0; i < 3 * s->mesh.points; i++) {
        q[i] = s->mesh.point[i] + e->corner[i % 3];
    }
}

static const soft_task task = {offered, place_target, COMPARISON_CENTRE, cure};

/* The sides of a cell are those of gradSim's scene, where a rotation about an axis that is not of unit length
 * stretches the cloth. */
static void build(soft *s, size_t cells, double height)
{
    static const double a[3] = {0.125, 0.0625, -0.0625}, b[3] = {0.0625, 0.03125, 0.125};
    const fem_placing where = {{-5, height, 0}, {1, 0, 0}, {0, 0, 0}, 0};
    s->model.status =
        s->model.status != DS_OK ? s->model.status : fem_mesh_grid(&s->mesh, cells, cells, a, b);
    s->model.bending[0] = (fem_bending){100, 0};
    fem_add_cloth(&s->model, &s->mesh, &where, 2, 0, 1);
    s->unknown.density = 2;
}

/* Size, height and goal of object K; speeds of the target do not exist, so nothing else is drawn. */
static void draw_scene(uint64_t object, size_t *cells, double *height, double *target)
{
    ds_random r = ds_random_open(object, "thrown cloth", 0);
    *cells = 8 + (size_t)(24 * ds_random_uniform(&r));
    *height = 2 + ds_random_uniform(&r);
    *target = 3 * ds_random_uniform(&r);
}

static void read_cloth_throw(void *self, ds_param_reader *in)
{
    throw *e = self;
    soft *s = &e->soft;
    double air[2] = {10, 5};
    soft_read(s, in, &task);
    ds_param_values(in, "air", 2, air);
    s->model.membrane[0] =
        (fem_membrane){.mu = 100, .lambda = 1e4, .kd = 100, .lift = air[0], .drag = air[1]};
    const uint64_t object = (uint64_t)ds_param_int(in, "object");
    size_t cells = (size_t)ds_param_int(in, "cells");
    double height = ds_param_real(in, "height");
    e->corner[0] = ds_param_real(in, "target");
    if (object > 0) {
        draw_scene(object, &cells, &height, &e->corner[0]);
    }
    build(s, cells, height);
    e->corner[1] = -3;
    s->color[1] = 1;
    soft_ready(s, in);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(throw),
                                 .advice = "reduce parameter image_size, cells or duration",
                                 .cure = cure,
                                 .read = read_cloth_throw,
                                 .metrics = soft_goal_metrics,
                                 .measure = soft_measure_goal,
                                 SOFT_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("cloth_throw", "3"), .flags = DS_ENV_GRADIENT,
    .summary = "Throw a cloth to a target in the air (gradSim, control-cloth).",
    .description =
        "A cloth of 20 x 20 cells (neo-Hookean membrane, bending, lift and drag) flies for 1.5 s. The "
        "variables are its velocity at the start; other properties can be variables, too.\nobserve = image: "
        "the last image is compared with that of the target. Where the silhouettes do not overlap, the "
        "gradient does not point to the target: a plateau, with a trap that moves the cloth out of view. "
        "observe = state: error of the centre of mass. frames = 24 compares all images with that of the "
        "target, as gradSim does." COMPARISON_CHANNELS,
    .citation = PAPER_GRADSIM};

DS_ENV_KIT_DEFINE(env, desc)
