/* SPDX-License-Identifier: Apache-2.0 */
/* spring_wall.c - bring a mass to rest that bounces between two springy walls (Suh et al., ICML 2022). */
#include "engines/kit/bundled.h"
#include "engines/physics/smoothing/rollout.h"
#include "engines/physics/smoothing/plain.h"

#define real double
#define real_mask int
#define real_choose(mask, a, b) ((mask) ? (a) : (b))
#include "engines/physics/smoothing/open_step.h"

enum { X, V, STATES };
enum { ADDS, IGNORED };

static const char *const sets[] = {"k100", "k500", "k1000", "k2000", "k4000", NULL};
static const char *const controls[] = {"adds", "ignored", NULL};

static const ds_param *const params[] = {
    DS_ENUM(
        "set", "k100", sets,
        "Default k, d, speed at the start, h, R and steps: 100, 1, 4, 0.005, 1, 200; 500, 5, 6, 0.01, 1, "
        "200; 1000, 10, 12, 0.005, 1, 200; 2000, 20, 40, 0.005, 0.1, 200; 4000, 10, 100, 0.001, 0.01, 20.",
        .flags = DS_PARAM_SHAPE),
    DS_REAL("mass", "0.1", 1e-9, 1e9, "kg", "Mass."),
    DS_LIST("k", "", 0, 1e12, 1, "N/m", "Stiffness of the walls; empty = the default of the set."),
    DS_LIST("d", "", 0, 1e9, 1, "N s/m", "Damping within the walls; empty = the default of the set."),
    DS_REAL("wall", "1", 1e-6, 1e6, "m", "The walls start at -wall and wall."),
    DS_ENUM("control_in_wall", "adds", controls,
            "Effect of the control while the mass is within a wall; ignored = none, as in single rollouts of "
            "the published program.",
            .flags = DS_PARAM_ADVANCED),
    OPEN_LOOP_PARAMS(2, "x, v"),
    NULL};

typedef struct bouncer {
    open_loop loop; /* must be first */
    double mass, k, d, wall;
    int64_t control;
} bouncer;

static void step(const void *self, const double *x, const double *u, double *next)
{
    const bouncer *e = self;
    walls_move(&e->loop.law, x, u[0], next);
}

static void back(const void *self, const double *x, const double *u, const double *next_bar, double *x_bar,
                 double *u_bar)
{
    const bouncer *e = self;
    (void)u;
    walls_reverse(&e->loop.law, x, next_bar, x_bar, u_bar);
}

static const uint32_t pushed[] = {V};
static const rollout_system between_walls = {
    .states = STATES, .controls = 1, .step = step, .back = back, .forces = 1, .pushed = pushed};

static void read_bouncer(void *self, ds_param_reader *in)
{
    static const double k[] = {100, 500, 1000, 2000, 4000}, d[] = {1, 5, 10, 20, 10},
                        v[] = {4, 6, 12, 40, 100};
    static const double h[] = {0.005, 0.01, 0.005, 0.005, 0.001}, r[] = {1, 1, 1, 0.1, 0.01};
    static const char *const names[] = {"u"};
    bouncer *e = self;
    const int64_t set = ds_param_int(in, "set");
    e->k = k[set];
    e->d = d[set];
    e->mass = ds_param_real(in, "mass");
    ds_param_values(in, "k", 1, &e->k);
    ds_param_values(in, "d", 1, &e->d);
    e->wall = ds_param_real(in, "wall");
    e->control = ds_param_int(in, "control_in_wall");
    open_loop_read(&e->loop, in, &between_walls,
                   &(open_loop_usual){.steps = set == 4 ? 20 : 200,
                                      .h = h[set],
                                      .start = {0, v[set]},
                                      .q = {10, 0.1},
                                      .qd = {10, 0.1},
                                      .r = {r[set]}});
    e->loop.names = names;
    e->loop.unit = "N";
    e->loop.state_doc = "Position (m) and velocity (m/s) of the mass before the step.";
    e->loop.roll.kick = e->loop.h / e->mass;
    e->loop.law = (open_law){.system = OPEN_WALLS,
                             .h = e->loop.h,
                             .rate = e->loop.h / e->mass,
                             .k = e->k,
                             .d = e->d,
                             .wall = e->wall,
                             .ignored = e->control == IGNORED};
    open_loop_lanes(&e->loop);
}

/* ---- scene ---- */

enum { MASS, WALLS, REST };

static void bodies_of_bouncer(void *self, ds_scene_kit *s)
{
    const bouncer *e = self;
    const double size = 0.05 * e->wall;
    s->info.flat = 1;
    ds_scene_kit_body(s, "mass", DS_BODY_SPHERE, DS_ROLE_MATERIAL, 1, (double[4]){size, 0, 0, 0});
    ds_scene_kit_body(s, "walls", DS_BODY_BOX, DS_ROLE_FIXED, 2,
                      (double[4]){0.25 * e->wall, 0.5 * e->wall, size, 0});
    ds_scene_kit_body(s, "rest", DS_BODY_SPHERE, DS_ROLE_TARGET, 1, (double[4]){size, 0, 0, 0});
    ds_scene_kit_include(s, 0, 0, 0, 1.6 * e->wall);
}

static void place_bouncer(const void *self, uint64_t k, uint64_t b, double *out)
{
    const bouncer *e = self;
    if (b == WALLS) {
        ds_scene_kit_pose(-1.25 * e->wall, 0, 0, 0, out);
        ds_scene_kit_pose(1.25 * e->wall, 0, 0, 0, out + 7);
    } else {
        ds_scene_kit_pose(b == MASS ? open_loop_state(&e->loop, k)[X] : e->loop.roll.goal[X], 0, 0, 0, out);
    }
}

static const ds_scene_kit_label metrics[] = {{"x", "m"}, {"v", "m/s"}, {"depth", "m"},
                                             {"u", "N"}, {"cost", ""}, {NULL, NULL}};

static void measure_bouncer(void *self, uint64_t k, double *out)
{
    const bouncer *e = self;
    const double *x = open_loop_state(&e->loop, k);
    out[0] = x[X];
    out[1] = x[V];
    out[2] = walls_depth(&e->loop.law, x[X]);
    out[3] = open_loop_control(&e->loop, k, 0);
    out[4] = rollout_cost(&e->loop.roll, k);
}

static const ds_env_table env = {.size = sizeof(bouncer),
                                 .cure = "reduce parameter h, k or d",
                                 .read = read_bouncer,
                                 .simulate = open_loop_simulate,
                                 .adjoint = open_loop_adjoint,
                                 .metrics = metrics,
                                 .bodies = bodies_of_bouncer,
                                 .place = place_bouncer,
                                 .measure = measure_bouncer,
                                 OPEN_LOOP_ROWS,
                                 OPEN_LOOP_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("spring_wall", "2"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Bring a mass to rest that bounces between springy walls.",
    .description = "Variables: the force u in each step. Beyond the walls a spring k and a damper d push "
                   "back. The loss is the sum of 10 x^2 + 0.1 v^2 + R u^2 over the steps, and of the last "
                   "state. The sets differ in stiffness and speed; a search starts at u = 0.\nMetrics: x, v, "
                   "depth in a wall, u and cost of the step that starts at the frame.",
    .citation = SMOOTHING_SUH,
};

DS_ENV_KIT_DEFINE(env, desc)
