/* SPDX-License-Identifier: Apache-2.0 */
/* walker.c - a soft sheet on two legs walks to a target by contracting its triangles: control-walker of
 * gradSim (Jatavallabhula et al., ICLR 2021, figure 5). */
#include "engines/kit/bundled.h"
#include "engines/physics/soft/soft.h"

#include <math.h>

enum { REGIONS = 4, REGION_PHASES = 2, MOST_TRIANGLES = 256 };

static const char cure[] = "reduce parameter scale, or raise substeps";
static const char *const controllers[] = {"regions", "full", NULL};
static const double hip = 0.9461; /* m: a triangle below it belongs to a leg */

static const ds_param *const params[] = {
    SOFT_PARAMS("weights",
                "weights (of the controller), mass, stretch and area (Lame parameters of the membrane), "
                "gravity, contact_mu",
                "image", "squared error of the centre of mass, mean of its coordinates.", "64", "8, 30, 0",
                "alpha"),
    SOFT_CONTROL_PARAMS(
        "regions", controllers,
        "regions: 8 weights, for a sine and a cosine in each of left leg, right leg, left and right body. "
        "full: 832 weights, for eight phases in each triangle, as in gradSim.",
        "0.2"),
    DS_REAL("target", "2", -20, 20, "m", "x of the target: the walker at the start, moved by this distance."),
    SOFT_GROUND_PARAMS("1e4, 1000, 1000, 0.5"),
    SOFT_TIME_PARAMS("5", "32", "1"),
    NULL};

#define WALKER_OFFERED(bound, first)                                                                         \
    {                                                                                                        \
        BODY_VARIABLE_RANDOM("weights", "", BODY_VARIABLE_WEIGHTS, -(bound), (bound), -(first),              \
                             2 * (first)),                                                                   \
            BODY_VARIABLE_LOG("mass", "kg", BODY_VARIABLE_DENSITY, -0.5, 0.5, 0.1),                          \
            BODY_VARIABLE_LOG("stretch", "N/m", BODY_VARIABLE_STRETCH, 3.5, 4.5, 3.9),                       \
            BODY_VARIABLE_LOG("area", "N/m", BODY_VARIABLE_AREA, 3.5, 4.5, 3.9),                             \
            BODY_VARIABLE("gravity", "m/s^2", BODY_VARIABLE_GRAVITY, 0, 20, 9),                              \
            BODY_VARIABLE("contact_mu", "", BODY_VARIABLE_GROUND_MU, 0, 1, 0.4),                             \
        {                                                                                                    \
            .name = NULL                                                                                     \
        }                                                                                                    \
    }
static const body_variable of_regions[] = WALKER_OFFERED(2, 0.70710678118654752),
                           of_all[] = WALKER_OFFERED(3, 0.35355339059327376);

typedef struct walker {
    soft soft;     /* must be first */
    double target; /* m */
} walker;

static void place_target(const soft *s, double *q)
{
    for (size_t i = 0; i < 3 * s->mesh.points; i++) {
        q[i] = s->mesh.point[i] + (i % 3 == 0 ? ((const walker *)s)->target : 0);
    }
}

static const soft_task regions = {of_regions, place_target, COMPARISON_CENTRE, cure};
static const soft_task full = {of_all, place_target, COMPARISON_CENTRE, cure};

/* Region of each triangle by its middle: left or right, leg or body. */
static void divide(const fem_mesh *m, uint32_t *region)
{
    for (size_t t = 0; t < m->triangles; t++) {
        double x = 0, y = 0;
        for (int k = 0; k < 3; k++) {
            x += m->point[3 * m->triangle[3 * t + k]] / 3;
            y += m->point[3 * m->triangle[3 * t + k] + 1] / 3;
        }
        region[t] = (x > 0 ? 1u : 0u) + (y > hip ? 2u : 0u);
    }
}

static void build(soft *s)
{
    const fem_placing here = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0};
    s->model.status = s->model.status != DS_OK ? s->model.status : fem_mesh_walker(&s->mesh);
    s->model.membrane[0] = (fem_membrane){1e4, 1e4, 100, 0, 0};
    fem_add_cloth(&s->model, &s->mesh, &here, 1, 0, 0);
    s->unknown.density = 1;
}

static void read_walker(void *self, ds_param_reader *in)
{
    walker *e = self;
    soft *s = &e->soft;
    const int all = ds_param_int(in, "controller") == 1;
    uint32_t region[MOST_TRIANGLES];
    soft_read(s, in, all ? &full : &regions);
    build(s);
    soft_ground(s, in);
    divide(&s->mesh, region);
    soft_control(s, in,
                 &(soft_controller){.driven = SOFT_TRIANGLES,
                                    .groups = REGIONS,
                                    .group = region,
                                    .phases = REGION_PHASES,
                                    .phase_of = control_walker_phases});
    e->target = ds_param_real(in, "target");
    s->color[1] = 1;
    soft_ready(s, in);
}

static const ds_scene_kit_label metrics[] = {{"x", "m"}, {"y", "m"}, {"distance", "m"}, {NULL, NULL}};

static void measure_walker(void *self, uint64_t k, double *out)
{
    double centre[3];
    out[2] = soft_measure(self, k, centre);
    out[0] = centre[0];
    out[1] = centre[1];
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(walker),
                                 .advice = "reduce parameter image_size or duration",
                                 .cure = cure,
                                 .read = read_walker,
                                 .metrics = metrics,
                                 .measure = measure_walker,
                                 SOFT_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("walker", "3"), .flags = DS_ENV_GRADIENT,
    .summary = "Let a soft sheet walk to a target on two legs (gradSim, control-walker).",
    .description = "A sheet of 104 triangles (neo-Hookean membrane) stands on two legs. A triangle contracts "
                   "by scale tanh(w . sinusoids of 20 rad/s); the weights w are the variables. With all 0 it "
                   "stands still.\nobserve = image: the last image is compared with that of the walker at "
                   "the target. observe = state: error of the centre of mass at the end." COMPARISON_CHANNELS,
    .citation = PAPER_GRADSIM};

DS_ENV_KIT_DEFINE(env, desc)
