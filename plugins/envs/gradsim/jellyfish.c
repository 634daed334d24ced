/* SPDX-License-Identifier: Apache-2.0 */
/* jellyfish.c - a soft bell swims to a target by bending at its edges in turn: actuation of dihedral angles
 * of gradSim (Jatavallabhula et al., ICLR 2021, figure 8a). */
#include "engines/kit/bundled.h"
#include "engines/physics/soft/soft.h"

#include <math.h>
#include <stdlib.h>

enum { RINGS = 4, SECTORS = 16, RING_PHASES = 2 };

static const char cure[] = "reduce parameter scale, or raise substeps";
static const char *const controllers[] = {"rings", "full", NULL};

static const ds_param *const params[] = {
    SOFT_PARAMS("weights",
                "weights (of the controller), mass, stretch and area (Lame parameters of the membrane), "
                "damping, bend, lift, drag, rest_area (growth of the area at rest), velocity, gravity",
                "state", "squared error of the centre of mass, mean of its coordinates.", "64", "4, 10, 0",
                "alpha"),
    SOFT_CONTROL_PARAMS("rings", controllers,
                        "rings: 8 weights, for a sine and a cosine in each of 4 rings of edges. full: 1280 "
                        "weights, for eight phases in each edge.",
                        "0.9"),
    DS_REAL("target", "0.3", -10, 10, "m", "Height to which the bell swims."),
    SOFT_TIME_PARAMS("2", "32", "1"), NULL};

/* Bounds are ours. */
#define JELLYFISH_OFFERED(bound, first)                                                                      \
    {                                                                                                        \
        BODY_VARIABLE_RANDOM("weights", "", BODY_VARIABLE_WEIGHTS, -(bound), (bound), -(first),              \
                             2 * (first)),                                                                   \
            BODY_VARIABLE_LOG("mass", "kg/m^2", BODY_VARIABLE_DENSITY, 1.5, 2.5, 1.9),                       \
            BODY_VARIABLE_LOG("stretch", "N/m", BODY_VARIABLE_STRETCH, 3, 4, 3.5),                           \
            BODY_VARIABLE_LOG("area", "N/m", BODY_VARIABLE_AREA, 3, 4, 3.5),                                 \
            BODY_VARIABLE_LOG("damping", "N s/m", BODY_VARIABLE_AREA_KD, 1, 2.5, 2),                         \
            BODY_VARIABLE_LOG("bend", "N/rad", BODY_VARIABLE_BEND, 1, 2.5, 2),                               \
            BODY_VARIABLE("lift", "N s^2/m^4", BODY_VARIABLE_LIFT, 0, 2000, 900),                            \
            BODY_VARIABLE("drag", "N s^2/m^4", BODY_VARIABLE_DRAG, 0, 2000, 90),                             \
            BODY_VARIABLE("rest_area", "", BODY_VARIABLE_REST_AREA, -0.2, 0.2, 0.05),                        \
            BODY_VARIABLE("velocity", "m/s", BODY_VARIABLE_VELOCITY, -1, 1, 0.1),                            \
            BODY_VARIABLE("gravity", "m/s^2", BODY_VARIABLE_GRAVITY, -1, 1, 0.1),                            \
        {                                                                                                    \
            .name = NULL                                                                                     \
        }                                                                                                    \
    }
static const body_variable of_rings[] = JELLYFISH_OFFERED(3, 0.70710678118654752),
                           of_all[] = JELLYFISH_OFFERED(3, 0.35355339059327376);

typedef struct jellyfish {
    soft soft;     /* must be first */
    double target; /* m */
} jellyfish;

static void place_target(const soft *s, double *q)
{
    for (size_t i = 0; i < 3 * s->mesh.points; i++) {
        q[i] = s->mesh.point[i] + (i % 3 == 1 ? ((const jellyfish *)s)->target : 0);
    }
}

static const soft_task rings = {of_rings, place_target, COMPARISON_CENTRE, cure};
static const soft_task full = {of_all, place_target, COMPARISON_CENTRE, cure};

/* Ring of each edge, by the distance of its middle from the axis. */
static void divide(const fem_model *m, uint32_t *ring)
{
    double most = 0;
    for (size_t i = 0; i < m->particles; i++) {
        most = fmax(most, hypot(m->q[3 * i], m->q[3 * i + 2]));
    }
    for (size_t e = 0; e < m->edges; e++) {
        const double *a = m->q + 3 * (size_t)m->edge[4 * e + 2], *b = m->q + 3 * (size_t)m->edge[4 * e + 3];
        const double from = hypot(a[0] + b[0], a[2] + b[2]) / 2;
        ring[e] = (uint32_t)fmin(RINGS - 1, floor(RINGS * from / most));
    }
}

static void build(soft *s)
{
    const fem_placing here = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0};
    const double radius = 0.5, angle = 1.2;
    s->model.status =
        s->model.status != DS_OK ? s->model.status : fem_mesh_bell(&s->mesh, RINGS, SECTORS, radius, angle);
    s->model.membrane[0] = (fem_membrane){.mu = 5000, .lambda = 5000, .kd = 100, .lift = 1000, .drag = 100};
    s->model.bending[0] = (fem_bending){100, 1};
    s->model.gravity[1] = 0;
    fem_add_cloth(&s->model, &s->mesh, &here, 0, 100, 1);
    s->unknown.density = 100;
}

static void add_controller(soft *s, ds_param_reader *in)
{
    uint32_t *ring = calloc(s->model.edges + 1, sizeof *ring);
    if (ring == NULL) {
        in->status = in->status != DS_OK ? in->status : DS_E_NOMEM;
        return;
    }
    divide(&s->model, ring);
    soft_control(s, in,
                 &(soft_controller){.driven = SOFT_EDGES,
                                    .groups = RINGS,
                                    .group = ring,
                                    .phases = RING_PHASES,
                                    .phase_of = control_jellyfish_phases});
    free(ring);
}

static void read_jellyfish(void *self, ds_param_reader *in)
{
    jellyfish *e = self;
    soft *s = &e->soft;
    soft_read(s, in, ds_param_int(in, "controller") == 1 ? &full : &rings);
    build(s);
    add_controller(s, in);
    e->target = ds_param_real(in, "target");
    s->color[0] = s->color[2] = 1;
    soft_ready(s, in);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(jellyfish),
                                 .advice = "reduce parameter image_size or duration",
                                 .cure = cure,
                                 .read = read_jellyfish,
                                 .metrics = soft_goal_metrics,
                                 .measure = soft_measure_goal,
                                 SOFT_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("jellyfish", "2"), .flags = DS_ENV_GRADIENT,
    .summary = "Let a soft bell swim to a target by bending at its edges (gradSim, figure 8a).",
    .description =
        "A bell of 112 triangles (neo-Hookean membrane, bending, lift and drag) floats without gravity. The "
        "angle at rest of an edge changes by scale tanh(w . sinusoids of 10 rad/s); the weights w are the "
        "variables. Only lift and drag move its centre of mass; with all 0 it rests.\nobserve = state: error "
        "of "
        "the centre of mass at the end. observe = image: the last image is compared with that of the bell "
        "at rest at the target." COMPARISON_CHANNELS,
    .citation = PAPER_GRADSIM};

DS_ENV_KIT_DEFINE(env, desc)
