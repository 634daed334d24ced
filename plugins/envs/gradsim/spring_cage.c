/* SPDX-License-Identifier: Apache-2.0 */
/* spring_cage.c - a mass hangs on springs from the corners of a cage and should end at a target; the springs
 * are the variables. After the test scene of DiffRL's engine (Xu et al., ICLR 2022), for the quantities of
 * springs in table 6 of gradSim (Jatavallabhula et al., ICLR 2021). */
#include "engines/kit/bundled.h"
#include "engines/physics/soft/soft.h"

#include <math.h>
#include <string.h>

static const char cure[] = "raise substeps";

static const ds_param *const params[] = {
    SOFT_PARAMS("rest", "rest (lengths at rest), stiff, damp (of each spring), mass, velocity, gravity",
                "state", "squared distance of the mass to the target, mean of its coordinates.", "64",
                "6, 20, 0", "alpha"),
    DS_BOOL("cube", "false",
            "Eight springs from the corners of a cube instead of four from those of a square.",
            .flags = DS_PARAM_SHAPE),
    DS_LIST("target", "", -1, 1, 3, "m",
            "Target of the mass; empty: 0.85, 0.5, 0, in the cube 0.85, 0.5, -0.75."),
    SOFT_TIME_PARAMS("2", "8", "1"), NULL};

#define CAGE_OFFERED(natural)                                                                                \
    {                                                                                                        \
        {.name = "rest",                                                                                     \
         .unit = "m",                                                                                        \
         .kind = BODY_VARIABLE_SPRING_REST,                                                                  \
         .lower = 0.05,                                                                                      \
         .upper = 2.5,                                                                                       \
         .start = natural},                                                                                  \
            BODY_VARIABLE_LOG("stiff", "N/m", BODY_VARIABLE_SPRING_KE, 0, 4, 2),                             \
            BODY_VARIABLE_LOG("damp", "N s/m", BODY_VARIABLE_SPRING_KD, 0, 2, 1),                            \
            BODY_VARIABLE_LOG("mass", "kg", BODY_VARIABLE_DENSITY, -1, 1, 0),                                \
            BODY_VARIABLE("velocity", "m/s", BODY_VARIABLE_VELOCITY, -20, 20, 0),                            \
            BODY_VARIABLE("gravity", "m/s^2", BODY_VARIABLE_GRAVITY, -100, 100, 0),                          \
        {                                                                                                    \
            .name = NULL                                                                                     \
        }                                                                                                    \
    }
static const body_variable of_square[] = CAGE_OFFERED(1.41421356237309505),
                           of_cube[] = CAGE_OFFERED(1.73205080756887729);

typedef struct cage {
    soft soft; /* must be first */
    double target[3];
} cage;

enum { MASS = 0 }; /* particle 0; the corners follow */

static void place_target(const soft *s, double *q)
{
    memcpy(q, s->model.q, 3 * s->model.particles * sizeof *q);
    memcpy(q + 3 * MASS, ((const cage *)s)->target, 3 * sizeof *q);
}

static const soft_task square = {of_square, place_target, COMPARISON_CENTRE, cure};
static const soft_task cube = {of_cube, place_target, COMPARISON_CENTRE, cure};

static void build(fem_model *m, uint32_t corners)
{
    static const double centre[3], still[3];
    fem_add_particle(m, centre, still, 1);
    for (uint32_t i = 0; i < corners; i++) {
        const double corner[3] = {i & 1 ? 1 : -1, i & 2 ? 1 : -1, corners == 4 ? 0 : i & 4 ? 1 : -1};
        const uint32_t at = fem_add_particle(m, corner, still, 1);
        if (m->status == DS_OK) {
            m->fixed[at] = 1;
            fem_add_spring(m, at, MASS, 100, 10, -1);
        }
    }
    m->gravity[1] = 0;
}

static void read_spring_cage(void *self, ds_param_reader *in)
{
    cage *e = self;
    soft *s = &e->soft;
    const int eight = ds_param_int(in, "cube") != 0;
    soft_read(s, in, eight ? &cube : &square);
    build(&s->model, eight ? 8 : 4);
    s->unknown.density = 1;
    s->radius = 0.1;
    memcpy(e->target, (double[3]){0.85, 0.5, eight ? -0.75 : 0}, sizeof e->target);
    ds_param_values(in, "target", 3, e->target);
    soft_ready(s, in);
}

static const ds_scene_kit_label metrics[] = {
    {"distance", "m"}, {"x", "m"}, {"y", "m"}, {"z", "m"}, {NULL, NULL}};

static void measure_spring_cage(void *self, uint64_t k, double *out)
{
    const cage *e = self;
    const double *q = soft_frame(&e->soft, k) + 3 * MASS;
    out[0] =
        sqrt((q[0] - e->target[0]) * (q[0] - e->target[0]) + (q[1] - e->target[1]) * (q[1] - e->target[1]) +
             (q[2] - e->target[2]) * (q[2] - e->target[2]));
    memcpy(out + 1, q, 3 * sizeof *q);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(cage),
                                 .advice = "reduce parameter image_size or duration",
                                 .cure = cure,
                                 .read = read_spring_cage,
                                 .metrics = metrics,
                                 .measure = measure_spring_cage,
                                 SOFT_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("spring_cage", "2"), .flags = DS_ENV_GRADIENT,
    .summary = "Choose the springs of a cage so that a mass among them ends at a target.",
    .description = "A mass of 1 kg in the middle of a square, or a cube, hangs on springs from its corners "
                   "(100 N/m, 10 N s/m), without gravity. The variables are the rest lengths of the springs "
                   "by default, or log10 of stiffness or damping of each. The loss is a third of the squared "
                   "distance of the mass from its target after 2 s.\nChannels: residuals with J v and J' w; "
                   "with observe = image (a disc for the mass) also images and target.",
    .citation = PAPER_GRADSIM};

DS_ENV_KIT_DEFINE(env, desc)
