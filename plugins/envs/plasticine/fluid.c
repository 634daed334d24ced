/* SPDX-License-Identifier: Apache-2.0 */
/* fluid.c - a ladle lifts a sugar cube out of a tank of syrup; the decision variables are the velocities of
 * the ladle in the segments of an episode. */
#include "engines/kit/bundled.h"
#include "engines/kit/state_net.h"
#include "engines/physics/mpm/env/env.h"
#include "engines/physics/mpm/env/ladle.h"
#include "engines/physics/mpm/env/stepwise.h"

#include <string.h>

enum { SYRUP, CUBE };                               /* bodies of the simulation, drawn first */
enum { DRAWN_LADLE = 2, DRAWN_HANDLE, DRAWN_TANK }; /* the other drawn bodies */
enum { N_OBS = 14 };
enum { SIGN_CORRECTED, SIGN_PRINTED };

static const double tank[3] = {0.4, 0.5, 0.4}; /* inner size; the walls are higher than what is drawn */
static const double rim = 0.2;                 /* of the tank in the paper; the cube must get above it */
static const double depth = 0.12;              /* of the syrup */
static const double axis[2] = {0.2, 0.2};      /* x and z of the middle of the tank */
static const double speed_limit = 2.0;         /* of the ladle, each component */
static const double frame_time = 0.02;         /* seconds per output step */

static const char *const preset_choices[] = {"default", "fast", "small", NULL};
static const char *const loss_choices[] = {"task", "image", NULL};
static const char *const sign_choices[] = {"corrected", "printed", NULL};

static const ds_param *const params[] = {
    DS_ENUM("preset", "default", preset_choices,
            "default: grid spacing 0.02 m, 2000 substeps of 5e-4 s, 19200 particles. fast: 0.025 m, 1000 of "
            "1e-3 s, 10268 particles. small: 0.05 m, 500 of 2e-3 s, 1276 particles, a thicker shell: for "
            "tests of programs."),
    DS_INT("segments", "5", 1, 50, "",
           "Intervals of constant velocity, of equal length; each has two variables.",
           .flags = DS_PARAM_SHAPE),
    DS_INT("steps", "50", 1, 500, "", "Output steps of an episode, 0.02 s each."),
    DS_ENUM("loss", "task", loss_choices,
            "task: position of cube and ladle at the end. image: what cameras see of the cube, as if the "
            "syrup were clear, compared with a cube over the middle of the tank that has just left it."),
    DS_ENUM("loss_sign", "corrected", sign_choices,
            "First term of the loss: max(0, 0.2 - y), which rewards lifting, or max(0, y - 0.2) as printed "
            "in the paper."),
    DS_REAL("viscosity", "5", 0, 50, "Pa s", "Viscosity of the syrup."),
    DS_REAL("bulk", "25000", 1000, 40000, "Pa",
            "Bulk modulus of the syrup: density times speed of sound squared."),
    DS_REAL("stiffness", "50000", 0, 1e5, "Pa", "Shear modulus of the cube."),
    DS_REAL("cube_density", "1000", 200, 5000, "kg/m^3", "Density of the cube; the syrup has 1000."),
    DS_REAL("friction", "0.2", 0, 10, "", "Coulomb friction of the ladle."),
    DS_REAL("gravity", "9.81", 0, 100, "m/s^2", "Gravity, downward."),
    IMAGE_LOSS_PARAMS(MPM_CAMERAS),
    IMAGE_LOSS_DISC_PARAMS("the distance of the cube's particles, 0.01 m."),
    &mpm_engine_param,
    &mpm_precision_param,
    &mpm_memory_param,
    DS_HYBRID_PARAMS,
    NULL};

typedef struct fluid {
    ds_env_kit kit; /* first */
    mpm_scene scene;
    mpm_episode episode;
    mpm_image image; /* loss = image */
    uint32_t sign;
    uint32_t first[2], count[2]; /* particles of syrup and cube */
    double *positions;           /* [steps + 1][particles][3], if a scene is wanted */
    double (*ladle)[3];          /* [steps + 1] */
    double ladle_mesh[MPM_LADLE_POINTS][3];
    uint32_t triangles[MPM_LADLE_INDICES];
    state_net net;           /* on the velocities; its state is the control of the segment before */
    double *acting, *by_act; /* what the ladle does, and derivatives by it */
} fluid;

/* ---- the scene ---- */

/* Lattice spacing of the syrup and half thickness of the ladle's shell; the rest is the same for all presets.
 */
static mpm_scene make_scene(double spacing, double shell)
{
    const mpm_scene scene = {
        .n_bodies = 2,
        .bodies = {[SYRUP] = {.shape = MPM_BODY_LATTICE,
                              .center = {0.2, 0.06, 0.2},
                              .size = {0.4, depth, 0.4},
                              .spacing = spacing,
                              .jitter = 0.001,
                              .carved = 1 + CUBE,
                              .matter = {.law = MPM_SYRUP, .density = 1000.0}},
                   [CUBE] = {.shape = MPM_BODY_LATTICE,
                             .center = {0.22, 0.09, 0.2},
                             .size = {0.04, 0.04, 0.04},
                             .spacing = 0.01,
                             .matter = {.law = MPM_ELASTIC}}},
        .n_tools = 1,
        .tools = {{.shape = MPM_LADLE,
                   .action_dim = 2,
                   .size = {0.05, shell},
                   .lower = {0.065, 0.065, 0.0},
                   .upper = {0.335, 0.45, 0.4},
                   .scale = {frame_time, frame_time},
                   .start = {.position = {0.08, 0.19, 0.2}, .rotation = {1.0, 0.0, 0.0, 0.0}}}},
    };
    return scene;
}

/* ---- loss ---- */

/* Lengths in the loss are sqrt(a.a + tiny): differentiable everywhere. */
static double length2(double x, double z)
{
    return sqrt(x * x + z * z + 1e-20);
}

static void cube_center(const fluid *e, const mpm_particle *particles, double center[3])
{
    memset(center, 0, 3 * sizeof(double));
    for (uint32_t p = e->first[CUBE]; p < e->first[CUBE] + e->count[CUBE]; p++) {
        for (int d = 0; d < 3; d++) {
            center[d] += particles[p].x[d] / e->count[CUBE];
        }
    }
}

static double height_term(const fluid *e, double y)
{
    double missing = e->sign == SIGN_PRINTED ? y - rim : rim - y;
    return missing > 0.0 ? missing : 0.0;
}

static double task_loss(const fluid *e, const mpm_particle *particles, const mpm_pose *ladle)
{
    const double *at = ladle->position;
    double c[3];
    cube_center(e, particles, c);
    return height_term(e, c[1]) + 3.0 * length2(c[0] - at[0], c[2] - at[2]) +
           length2(c[0] - axis[0], c[2] - axis[1]);
}

static mpm_result loss_of(void *self, uint32_t step, const mpm_particle *particles, const mpm_pose *ladle,
                          double *loss)
{
    (void)step;
    *loss = task_loss(self, particles, ladle);
    return MPM_OK;
}

static mpm_result loss_adjoint(void *self, uint32_t step, const mpm_particle *particles,
                               const mpm_pose *ladle, mpm_particle *bar, mpm_pose *ladle_bar)
{
    const fluid *e = self;
    (void)step;
    const double *at = ladle->position;
    double c[3], c_bar[3];
    cube_center(e, particles, c);
    double near = 3.0 / length2(c[0] - at[0], c[2] - at[2]);
    double middle = 1.0 / length2(c[0] - axis[0], c[2] - axis[1]);
    double toward_x = near * (c[0] - at[0]), toward_z = near * (c[2] - at[2]);
    c_bar[0] = toward_x + middle * (c[0] - axis[0]);
    c_bar[1] = height_term(e, c[1]) > 0.0 ? (e->sign == SIGN_PRINTED ? 1.0 : -1.0) : 0.0;
    c_bar[2] = toward_z + middle * (c[2] - axis[1]);
    ladle_bar->position[0] -= toward_x;
    ladle_bar->position[2] -= toward_z;
    for (uint32_t p = e->first[CUBE]; p < e->first[CUBE] + e->count[CUBE]; p++) {
        for (int d = 0; d < 3; d++) {
            bar[p].x[d] += c_bar[d] / e->count[CUBE];
        }
    }
    return MPM_OK;
}

/* ---- set-up ---- */

/* The cube at its start, over the middle of the tank, its lower side at the height of the rim. */
static ds_status open_image(fluid *e)
{
    const mpm_particle *start = e->episode.start;
    const double half = 0.5 * e->scene.bodies[CUBE].size[1], to[3] = {axis[0], rim + half, axis[1]};
    ds_memory room = {0};
    double c[3], *p = ds_memory_doubles(&room, 3 * (size_t)e->count[CUBE]);
    cube_center(e, start, c);
    if (!(e->image.image_loss.radius > 0.0)) {
        e->image.image_loss.radius = e->scene.bodies[CUBE].spacing;
    }
    for (size_t i = 0; p && i < 3 * (size_t)e->count[CUBE]; i++) {
        p[i] = start[e->first[CUBE] + i / 3].x[i % 3] + to[i % 3] - c[i % 3];
    }
    const image_loss_points target = {e->count[CUBE], p};
    const ds_status status =
        p ? mpm_image_open(&e->image, &e->episode, e->first[CUBE], e->count[CUBE], target, e->kit.host)
          : DS_E_NOMEM;
    ds_memory_free(&room);
    return status;
}

static void read_fluid(void *self, ds_param_reader *in)
{
    /* by preset: grid spacing, time step, spacing of the syrup, half thickness of the shell */
    static const double sizes[3][4] = {
        {0.02, 5e-4, 0.01, 0.012}, {0.025, 1e-3, 0.0125, 0.0125}, {0.05, 2e-3, 0.025, 0.02}};
    fluid *e = self;
    mpm_episode_spec spec = {0};
    mpm_goal goal = {.self = e, .loss = loss_of, .adjoint = loss_adjoint};
    const double *size = sizes[ds_param_int(in, "preset")];
    spec.segments = (uint32_t)ds_param_int(in, "segments");
    spec.steps = (uint32_t)ds_param_int(in, "steps");
    e->sign = (uint32_t)ds_param_int(in, "loss_sign");
    e->scene = make_scene(size[2], size[3]);
    e->scene.bodies[SYRUP].matter.viscosity = ds_param_real(in, "viscosity");
    e->scene.bodies[SYRUP].matter.modulus = ds_param_real(in, "bulk");
    e->scene.bodies[CUBE].matter.modulus = ds_param_real(in, "stiffness");
    e->scene.bodies[CUBE].matter.density = ds_param_real(in, "cube_density");
    e->scene.tools[0].friction = ds_param_real(in, "friction");
    e->scene.gravity[1] = -ds_param_real(in, "gravity");
    mpm_env_read_engine(in, &spec);
    if (in->status == DS_OK && spec.segments > spec.steps) {
        in->status = ds_host_fail(
            in->host, DS_E_PARAM,
            "parameters segments = %d and steps = %d: there must be at least one step for each segment",
            (int)spec.segments, (int)spec.steps);
    }
    if (in->status != DS_OK) {
        return;
    }
    spec.domain =
        mpm_domain_tank(size[0], tank, 0.001, size[1], (int)(frame_time / size[1] + 0.5), spec.steps);
    spec.loss_mode = MPM_LOSS_FINAL;
    spec.action_limit = speed_limit;
    spec.scene = &e->scene;
    spec.goal = &goal;
    image_loss_read(&e->image.image_loss, in, ds_param_int(in, "loss") == 1, spec.steps, 0);
    mpm_image_goal(&e->image, &goal, &spec);
    if (in->status != DS_OK) {
        return;
    }
    in->status = mpm_episode_init(&e->episode, &spec) == MPM_OK ? DS_OK : DS_E_NOMEM;
    for (uint32_t b = SYRUP; in->status == DS_OK && b <= CUBE; b++) {
        e->first[b] = e->episode.sim.phases[b].first;
        e->count[b] = e->episode.sim.phases[b].count;
    }
    if (in->status == DS_OK && e->image.image_loss.wanted) {
        in->status = open_image(e);
    }
    e->episode.should_stop = mpm_env_should_stop;
    e->episode.stop_context = in->host;
    e->kit.n = mpm_episode_dim(&e->episode);
    e->kit.steps = spec.steps;
    e->kit.dt = frame_time;
    e->kit.horizon = spec.segments;
    e->kit.n_obs = N_OBS;
    e->kit.control_dt = frame_time * spec.steps / spec.segments;
}

static uint64_t hooks_of_fluid(const void *self, ds_hook *out)
{
    uint64_t k = 0;
    (void)self;
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 2, "before", "m/s", "Control of the segment before; at first 0.");
    ds_env_kit_hook(out, &k, DS_HOOK_INPUT, 2, "control", "m/s", "The variables of the segment.");
    ds_env_kit_hook(out, &k, DS_HOOK_OUTPUT, 2, "velocity", "m/s", "Of the ladle: begins as control.");
    return k;
}

static ds_status allocate_fluid(void *self)
{
    fluid *e = self;
    e->net = (state_net){.states = 2, .controls = 2};
    state_net_open(&e->net, &e->kit.memory, &e->kit.hybrid);
    ds_memory_each(&e->kit.memory, e->kit.n, (double **const[]){&e->acting, &e->by_act, NULL});
    return DS_OK;
}

static void release_fluid(void *self)
{
    fluid *e = self;
    mpm_episode_free(&e->episode);
    image_loss_close(&e->image.image_loss);
}

/* ---- scene ---- */

static const uint32_t tank_edges[24] = {0, 1, 1, 3, 3, 2, 2, 0, 4, 5, 5, 7,
                                        7, 6, 6, 4, 0, 4, 1, 5, 2, 6, 3, 7};

static void place_fluid(const void *self, uint64_t k, uint64_t b, double *out)
{
    const fluid *e = self;
    if (b <= CUBE) {
        const double *x = e->positions + 3 * (k * e->episode.sim.n_particles + e->first[b]);
        memcpy(out, x, 3 * (size_t)e->count[b] * sizeof *out);
    } else if (b == DRAWN_LADLE) {
        for (size_t v = 0; v < MPM_LADLE_POINTS; v++) {
            for (size_t d = 0; d < 3; d++) {
                out[3 * v + d] = e->ladle[k][d] + e->ladle_mesh[v][d];
            }
        }
    } else if (b == DRAWN_HANDLE) {
        ds_scene_kit_pose(e->ladle[k][0] - e->scene.tools[0].size[0], e->ladle[k][1] + 0.06, e->ladle[k][2],
                          0.0, out);
    } else {
        for (int v = 0; v < 8; v++) {
            out[3 * v] = v & 1 ? tank[0] : 0.0;
            out[3 * v + 1] = v & 4 ? rim : 0.0;
            out[3 * v + 2] = v & 2 ? tank[2] : 0.0;
        }
    }
}

static const double seen_height = 0.36; /* of the visible box, m; more if the ladle goes higher ... */
static const double handle_top = 0.13;  /* ... with its handle */

static const ds_scene_kit_label metrics[] = {{"cube_y", "m"},      {"success", ""},     {"level", "m"},
                                             {"cube_x", "m"},      {"cube_z", "m"},     {"ladle_x", "m"},
                                             {"ladle_y", "m"},     {"loss", ""},        {"speed", "m/s"},
                                             {"volume_least", ""}, {"volume_most", ""}, {NULL, NULL}};

static void bodies_of_fluid(void *self, ds_scene_kit *s)
{
    fluid *e = self;
    const double spacing = e->scene.bodies[SYRUP].spacing;
    ds_scene_kit_body(s, "syrup", DS_BODY_POINTS, DS_ROLE_MATERIAL, e->count[SYRUP],
                      (double[4]){0.6 * spacing, 0.45, 0, 0});
    ds_scene_kit_body(s, "cube", DS_BODY_POINTS, DS_ROLE_MATERIAL, e->count[CUBE],
                      (double[4]){0.0065, 0, 0, 0});
    ds_scene_kit_at(s, SYRUP)->variety = 2; /* golden, and red */
    ds_scene_kit_at(s, CUBE)->variety = 3;
    ds_scene_kit_body(s, "ladle", DS_BODY_MESH, DS_ROLE_TOOL, MPM_LADLE_POINTS, (double[4]){0, 0, 0, 0});
    ds_scene_kit_at(s, DRAWN_LADLE)->index = e->triangles;
    ds_scene_kit_at(s, DRAWN_LADLE)->index_count = sizeof e->triangles / sizeof e->triangles[0];
    ds_scene_kit_body(s, "handle", DS_BODY_CAPSULE, DS_ROLE_TOOL, 1, (double[4]){0.006, 0.12, 0, 0});
    ds_scene_kit_at(s, DRAWN_HANDLE)->variety = 1;
    ds_scene_kit_body(s, "tank", DS_BODY_LINES, DS_ROLE_FIXED, 8, (double[4]){0.003, 0, 0, 0});
    ds_scene_kit_at(s, DRAWN_TANK)->index = tank_edges;
    ds_scene_kit_at(s, DRAWN_TANK)->index_count = sizeof tank_edges / sizeof tank_edges[0];
    for (int d = 0; d < 3; d++) {
        s->info.box[d] = 0.0;
        s->info.box[3 + d] = d == 1 ? seen_height : tank[d];
    }
    s->info.ground = 0.0;
    mpm_ladle_mesh(e->scene.tools[0].size[0], e->scene.tools[0].size[1], e->ladle_mesh[0], e->triangles);
}

/* The metrics of one frame, and the positions to draw. */
static void keep_frame(void *context, uint32_t step, const mpm_particle *particles, const mpm_pose *poses,
                       const mpm_measure *measure)
{
    fluid *e = context;
    ds_scene_kit *s = &e->kit.scene;
    uint32_t n = e->episode.sim.n_particles;
    double *x = e->positions + 3 * (size_t)step * n, c[3];
    double speed = 0.0, least = INFINITY, most = 0.0, level = 0.0;
    (void)measure;
    cube_center(e, particles, c);
    for (uint32_t p = 0; p < n; p++) {
        const double *v = particles[p].v;
        memcpy(x + 3 * (size_t)p, particles[p].x, sizeof particles[p].x);
        speed = fmax(speed, sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
        if (p >= e->first[SYRUP] && p < e->first[SYRUP] + e->count[SYRUP]) {
            level += 2.0 * particles[p].x[1] / e->count[SYRUP]; /* at rest: twice the mean height */
            least = fmin(least, particles[p].f[0]);
            most = fmax(most, particles[p].f[0]);
        }
    }
    memcpy(e->ladle[step], poses->position, sizeof e->ladle[step]);
    s->info.box[4] = fmax(step == 0 ? seen_height : s->info.box[4], poses->position[1] + handle_top);
    const double *at = poses->position;
    const double values[] = {c[1],  c[1] > rim, level, c[0],
                             c[2],  at[0],      at[1], task_loss(e, particles, poses),
                             speed, least,      most};
    ds_scene_kit_measured(s, step, values);
}

static int reserve_frames(fluid *e)
{
    size_t frames = e->episode.steps + (size_t)1;
    if (!e->positions) {
        e->positions = ds_memory_doubles(&e->kit.memory, frames * e->episode.sim.n_particles * 3);
    }
    if (!e->ladle) {
        e->ladle = ds_memory_take(&e->kit.memory, frames, sizeof *e->ladle);
    }
    return e->positions && e->ladle;
}

/* ---- episode ---- */

/* Points *before and *now to the controls of a segment and of the one before it (zeros). */
static void controls_of(const double *x, uint64_t segment, const double **before, const double **now)
{
    static const double rest[2];
    *now = x + 2 * segment;
    *before = segment > 0 ? *now - 2 : rest;
}

/* The derivatives by what the ladle does, in e->by_act, become those by all variables. */
static void pull_back(fluid *e, const double *x, double *grad)
{
    memset(grad, 0, (e->kit.n + e->kit.hybrid.variables) * sizeof *grad);
    e->net.w_bar = grad + e->kit.n;
    for (uint64_t k = 0; k < e->kit.horizon; k++) {
        const double *before, *now;
        double ignored[2] = {0, 0};
        controls_of(x, k, &before, &now);
        state_net_act(&e->net, &before, &now);
        memcpy(e->net.u_bar, e->by_act + 2 * k, 2 * sizeof *e->net.u_bar);
        state_net_back(&e->net, k > 0 ? grad + 2 * (k - 1) : ignored, grad + 2 * k);
    }
    ds_hybrid_penalty(&e->kit.hybrid, x + e->kit.n, e->net.w_bar);
}

/* An episode of all variables, those of networks included. */
static ds_status run_fluid(fluid *e, ds_eval *io, mpm_step_hook *hook)
{
    const uint64_t all = io->n;
    const double *x = io->x;
    double *grad = io->grad;
    if (e->net.hybrid == NULL) {
        return mpm_env_episode(&e->episode, e->kit.host, io, hook, e);
    }
    e->net.w = x + e->kit.n;
    for (uint64_t k = 0; k < e->kit.horizon; k++) {
        const double *before, *now;
        controls_of(x, k, &before, &now);
        state_net_act(&e->net, &before, &now);
        memcpy(e->acting + 2 * k, now, 2 * sizeof *now);
    }
    io->n = e->kit.n;
    io->x = e->acting;
    io->grad = e->by_act;
    const ds_status status = mpm_env_episode(&e->episode, e->kit.host, io, hook, e);
    io->n = all;
    io->x = x;
    io->grad = grad;
    if (status == DS_OK && (io->want & DS_WANT_GRAD)) {
        pull_back(e, x, grad);
    }
    return status;
}

static ds_status simulate_fluid(void *self, ds_eval *io)
{
    fluid *e = self;
    bool scene = (io->want & DS_WANT_SCENE) != 0;
    if (scene && !reserve_frames(e)) {
        return ds_host_fail(e->kit.host, DS_E_NOMEM,
                            "no memory to store %u frames of %u particles: reduce parameter steps",
                            e->episode.steps + 1, e->episode.sim.n_particles);
    }
    return run_fluid(e, io, scene ? keep_frame : NULL);
}

static void name_of_fluid(const void *self, uint64_t i, ds_env_variable *out)
{
    (void)self;
    ds_env_variable_put(out->name, "ladle.v%c.%u", "xy"[i % 2], (unsigned)(i / 2));
    ds_env_variable_put(out->unit, "m/s");
    ds_env_variable_put(out->group, "ladle");
}

/* ---- stepwise control ---- */

/* x and y of the ladle; then the centre of mass and its velocity, of the cube and of the syrup. */
static void observe_fluid(const void *self, double *obs)
{
    const fluid *e = self;
    const mpm_pose *ladle = mpm_stepwise_poses(&e->episode);
    memset(obs, 0, N_OBS * sizeof *obs);
    obs[0] = ladle->position[0];
    obs[1] = ladle->position[1];
    obs += 2;
    for (int b = CUBE; b >= SYRUP; b--, obs += 6) {
        for (uint32_t p = e->first[b]; p < e->first[b] + e->count[b]; p++) {
            for (int d = 0; d < 3; d++) {
                obs[d] += e->episode.now[p].x[d] / e->count[b];
                obs[3 + d] += e->episode.now[p].v[d] / e->count[b];
            }
        }
    }
}

static ds_status begin_fluid(void *self, uint64_t noise_key)
{
    fluid *e = self;
    (void)noise_key;
    return mpm_stepwise_reset(&e->episode, e->kit.host, N_OBS);
}

/* The adjoint of observe_fluid(). */
static void observe_adjoint(const void *self, const double *obs_bar, mpm_particle *bar, mpm_pose *ladle_bar)
{
    const fluid *e = self;
    ladle_bar->position[0] += obs_bar[0];
    ladle_bar->position[1] += obs_bar[1];
    obs_bar += 2;
    for (int b = CUBE; b >= SYRUP; b--, obs_bar += 6) {
        for (uint32_t p = e->first[b]; p < e->first[b] + e->count[b]; p++) {
            for (int d = 0; d < 3; d++) {
                bar[p].x[d] += obs_bar[d] / e->count[b];
                bar[p].v[d] += obs_bar[3 + d] / e->count[b];
            }
        }
    }
}

static ds_status begin_sweep(void *self, uint64_t last)
{
    fluid *e = self;
    return mpm_sweep_begin(&e->episode, e->kit.host, last);
}

static ds_status sweep_fluid(void *self, ds_back *io)
{
    fluid *e = self;
    return mpm_sweep_back(&e->episode, e->kit.host, io, observe_adjoint, e);
}

static ds_status act_on_fluid(void *self, uint64_t k, ds_step *io)
{
    fluid *e = self;
    (void)k;
    return mpm_stepwise_act(&e->episode, e->kit.host, io);
}

IMAGE_LOSS_DEFINE_CHANNELS(fluid, image.image_loss)

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(fluid),
                                 .advice = "use preset=fast or fewer steps",
                                 .read = read_fluid,
                                 .hook_points = hooks_of_fluid,
                                 .allocate = allocate_fluid,
                                 .release = release_fluid,
                                 .limit = speed_limit,
                                 .variable = name_of_fluid,
                                 .simulate = simulate_fluid,
                                 .metrics = metrics,
                                 .bodies = bodies_of_fluid,
                                 .place = place_fluid,
                                 .begin = begin_fluid,
                                 .observe = observe_fluid,
                                 .act = act_on_fluid,
                                 .back_begin = begin_sweep,
                                 .back = sweep_fluid,
                                 IMAGE_LOSS_TABLE};

static const ds_desc desc = {
    BUNDLED_DESC("fluid", "0.2.1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "A ladle lifts a sugar cube out of a tank of syrup.",
    .description =
        "Variables: horizontal and vertical velocity (m/s) of the ladle in each segment. Syrup (weakly "
        "compressible, viscous) and cube (elastic) are particles of the material point method; the ladle is "
        "a half spherical shell, 0.1 m wide. Loss at the end of one second: the distance of the cube below "
        "0.2 m, 3 times its horizontal distance from the ladle, and its horizontal distance from the axis of "
        "the tank; loss = image: images of the cube.\nThe landscape is rugged with many shallow minima. "
        "Idle, the loss is 0.554; x = 0 -0.62 0.7 0 0 0 0 0.6 0 0.6 scoops the cube out. The gradient is the "
        "exact adjoint of the whole episode; the loss has kinks where a grid node meets the shell.\nStepwise "
        "control: an action is the two velocities of a segment; observations: x and y of the ladle, then "
        "centre of mass and its velocity, first of the cube, then of the syrup; rewards are the decrease of "
        "the loss of the state.\nMetrics: centre of the cube, position of the ladle, loss if the episode "
        "ended there, success (the cube is above 0.2 m), level of the syrup, highest speed, and least and "
        "most relative volume of the syrup.",
    .citation = PAPER_ANTONOVA,
};

DS_ENV_KIT_DEFINE(env, desc)
