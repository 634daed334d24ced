/* SPDX-License-Identifier: Apache-2.0 */
/* gear.c - a soft wheel with teeth moves to a target by contracting its parts in turn: control-fem of gradSim
 * (Jatavallabhula et al., ICLR 2021, figures 5 and 6a). */
#include "engines/kit/bundled.h"
#include "engines/physics/soft/soft.h"

#include <math.h>

enum { SECTORS = 16, SECTOR_PHASES = 2, MOST_TETS = 4096 };

static const char cure[] = "reduce parameter scale, or raise substeps";
static const char *const controllers[] = {"sectors", "full", NULL};

static const ds_param *const params[] = {
    SOFT_PARAMS("weights", "weights (of the controller), density, mu, lambda, velocity, gravity, contact_mu",
                "state", "squared error of the centre of mass, mean of its coordinates.", "64", "13, 30, 0",
                "alpha"),
    SOFT_CONTROL_PARAMS("sectors", controllers,
                        "sectors: 32 weights, for a sine and a cosine in each of 16 sectors. full: 9216 "
                        "weights, for eight phases in each tetrahedron, as in gradSim.",
                        "0.3"),
    DS_LIST("target", "", -20, 20, 1, "m",
            "x of the target, a wheel at rest 2 m above the ground; empty: 0 with sectors, 2 with full."),
    SOFT_GROUND_PARAMS("1e4, 1, 10, 0.5"),
    SOFT_TIME_PARAMS("3", "32", "1"),
    NULL};

#define GEAR_OFFERED(bound, first)                                                                           \
    {                                                                                                        \
        BODY_VARIABLE_RANDOM("weights", "", BODY_VARIABLE_WEIGHTS, -(bound), (bound), -(first),              \
                             2 * (first)),                                                                   \
            BODY_VARIABLE_LOG("density", "kg/m^3", BODY_VARIABLE_DENSITY, -0.5, 0.5, 0.1),                   \
            BODY_VARIABLE_LOG("mu", "Pa", BODY_VARIABLE_SOLID_MU, 2.5, 3.5, 2.9),                            \
            BODY_VARIABLE_LOG("lambda", "Pa", BODY_VARIABLE_SOLID_LAMBDA, 2.5, 3.5, 2.9),                    \
            BODY_VARIABLE("velocity", "m/s", BODY_VARIABLE_VELOCITY, -3, 3, 1),                              \
            BODY_VARIABLE("gravity", "m/s^2", BODY_VARIABLE_GRAVITY, 0, 20, 9),                              \
            BODY_VARIABLE("contact_mu", "", BODY_VARIABLE_GROUND_MU, 0, 1, 0.4),                             \
        {                                                                                                    \
            .name = NULL                                                                                     \
        }                                                                                                    \
    }
static const body_variable of_sectors[] = GEAR_OFFERED(3, 0.35355339059327376),
                           of_all[] = GEAR_OFFERED(30, 0.35355339059327376);

typedef struct gear {
    soft soft;     /* must be first */
    double target; /* x of the target, m */
} gear;

/* A wheel at rest. */
static void place_target(const soft *s, double *q)
{
    const gear *e = (const gear *)s;
    for (size_t i = 0; i < s->mesh.points; i++) {
        q[3 * i] = s->mesh.point[3 * i] + e->target;
        q[3 * i + 1] = s->mesh.point[3 * i + 1] + 2;
        q[3 * i + 2] = s->mesh.point[3 * i + 2];
    }
}

static const soft_task sectors = {of_sectors, place_target, COMPARISON_CENTRE, cure};
static const soft_task full = {of_all, place_target, COMPARISON_CENTRE, cure};

/* Sector about the axis that contains the middle of each tetrahedron. */
static void divide(const fem_mesh *m, uint32_t *sector)
{
    for (size_t t = 0; t < m->tets; t++) {
        double x = 0, y = 0;
        for (int k = 0; k < 4; k++) {
            x += m->point[3 * m->tet[4 * t + k]];
            y += m->point[3 * m->tet[4 * t + k] + 1];
        }
        const double turn = atan2(y, x) / (2 * 3.14159265358979323846) + 0.5;
        sector[t] = (uint32_t)fmin(SECTORS - 1, floor(SECTORS * turn));
    }
}

static void read_gear(void *self, ds_param_reader *in)
{
    gear *e = self;
    soft *s = &e->soft;
    const int all = ds_param_int(in, "controller") == 1;
    uint32_t sector[MOST_TETS];
    soft_read(s, in, all ? &full : &sectors);
    soft_body(s, fem_mesh_gear(&s->mesh), (double[3]){-4, 2, 0}, (double[3]){1.5, 0, 0}, 1,
              (fem_solid){1000, 1000, 1});
    soft_ground(s, in);
    divide(&s->mesh, sector);
    soft_control(s, in,
                 &(soft_controller){.driven = SOFT_TETS,
                                    .groups = SECTORS,
                                    .group = sector,
                                    .phases = SECTOR_PHASES,
                                    .phase_of = control_gear_phases});
    e->target = all ? 2 : 0;
    ds_param_values(in, "target", 1, &e->target);
    s->color[0] = s->color[1] = 1;
    soft_ready(s, in);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(gear),
                                 .advice = "reduce parameter image_size or duration",
                                 .cure = cure,
                                 .read = read_gear,
                                 .metrics = soft_goal_metrics,
                                 .measure = soft_measure_goal,
                                 SOFT_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("gear", "3"), .flags = DS_ENV_GRADIENT,
    .summary = "Move a soft wheel to a target by contracting its parts in turn (gradSim, control-fem).",
    .description = "A wheel with 16 teeth and 1152 tetrahedra (stable neo-Hookean) is thrown at 1.5 m/s and "
                   "rolls on the ground. A tetrahedron contracts by scale tanh(w . sinusoids of 2.5 rad/s); "
                   "the weights w are the variables. Without them the wheel ends at x = -2.56 m.\nobserve = "
                   "state: error of the centre of mass at the end. observe = image: silhouette of the wheel "
                   "compared with one at rest at the target; where the two do not overlap, the gradient "
                   "makes the wheel look smaller, not closer." COMPARISON_CHANNELS,
    .citation = PAPER_GRADSIM};

DS_ENV_KIT_DEFINE(env, desc)
