/* SPDX-License-Identifier: Apache-2.0 */
/* rigid_mass.c - find masses and positions of the vertices of a body that forces push, from camera images.
 * System identification of gradSim (Jatavallabhula et al., ICLR 2021, table 1, figures 4 and 12, and its
 * demonstration of shapes). */
#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/fem/mesh.h"
#include "engines/physics/fem/read.h"
#include "engines/kit/bundled.h"
#include "engines/physics/rigid/body.h"
#include "engines/physics/rigid/momentum.h"
#include "engines/rendering/observation/observed.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <string.h>

enum { MOST_VERTICES = 600, MOST_FRAMES = 1000 };
enum { PUSH, VIDEO };
enum { CUBE, MESH = 6 }; /* shapes with code of their own */

static const char cure[] = "raise the masses in parameter truth";
static const char *const scenes[] = {"push", "video", NULL};
static const char *const shapes[] = {"cube", "box", "sphere", "capsule", "cone", "cylinder", "mesh", NULL};

static const ds_param *const params[] = {
    OBSERVED_PARAMS("mass",
                    "mass (of all vertices), masses (of each vertex), force, vertices (position of each "
                    "vertex, from the shape)",
                    "image", "64", "8, 30, 0", "alpha"),
    DS_ENUM("scene", "push", scenes,
            "push: 10 N push the first two vertices down, as where gradSim draws its landscape. video: 10 N "
            "pull every vertex down and push the lowest one for a tenth of a second, from an attitude drawn "
            "for the object, as in its table."),
    DS_ENUM(
        "shape", "cube", shapes,
        "The pushed body, scaled so that its vertices reach 1 m from their mean: a cube, a box of sides 4 : "
        "3 : 2 (8 vertices each), a sphere (162), a capsule (594), a cone (34), a cylinder (66), or a mesh.",
        .flags = DS_PARAM_SHAPE),
    DS_PATH("mesh_file", "",
            "File for shape = mesh, at most 600 vertices: Wavefront OBJ; Gmsh MSH or TetGen .node with .ele.",
            .flags = DS_PARAM_SHAPE),
    DS_LIST("truth", "", 0, 100, MOST_VERTICES, "kg",
            "Mass of the vertices of the target, one value or one per vertex; empty: 1, in scene video "
            "uniform in (0.2, 0.3)."),
    DS_INT("object", "0", 0, 1000000000, "",
           "Seed of the random values of scene video: masses and attitude."),
    DS_REAL("force", "10", -1e3, 1e3, "N",
            "Size of each of these forces, downward: of the target, and if it is not a variable."),
    DS_LIST(
        "stretch", "1, 1, 1", 0.1, 3, 3, "",
        "Factors by which the target is longer than the shape, along its x, y and z. The body has the shape "
        "itself, a wrong model, unless vertices are variables."),
    DS_INT("steps", "0", 0, MOST_FRAMES, "", "Steps of 1/30 s; 0: 20, in scene video 30."),
    DS_LIST("frames", "", 0, MOST_FRAMES, MOST_FRAMES, "",
            "Compared frames, ascending; 0 is the frame after the first step. Empty: all, in scene video 0, "
            "5, 10, ..."),
    DS_BOOL("parity", "false",
            "Torques as in the program of the paper, whose levers do not turn with the body; required to "
            "reproduce its figures."),
    DS_HYBRID_PARAMS,
    NULL};

/* The masses are followed by FORCE and VERTICES, see force_of() and vertices_of(). */
enum { MASS, MASSES };

typedef char mass_name[32];

typedef struct pushed {
    observed observed; /* must be first */
    fem_mesh mesh;
    decision *decisions; /* MASS, one mass per vertex, the force, three offsets per vertex */
    mass_name *name;     /* of each of the last and of the masses */
    int reshapes;        /* vertices are variables */
    uint64_t *compared;
    momentum *engine;
    momentum_rules rules;
    wrench_net net;
    double *yellow, attitude[4];
    uint32_t vertex[2];                      /* vertices that single forces push */
    double mean;                             /* mass of a vertex of the target, kg */
    double *mass;                            /* of the episode */
    double *body;                            /* vertices of the episode, m */
    rigid_mass whole;                        /* of the episode */
    double *point;                           /* about the centre of mass */
    double *mass_bar, *point_bar, *body_bar; /* room for derivatives, or directions */
} pushed;

/* ---- masses ---- */

/* The number of the force; that of the first offset. */
static size_t force_of(const pushed *e)
{
    return MASSES + e->mesh.points;
}

static size_t vertices_of(const pushed *e)
{
    return force_of(e) + 1;
}

/* Mass of vertex k = masses.k times mass / their mean. */
static void weigh(pushed *e, const double *value)
{
    const size_t n = e->mesh.points;
    for (size_t k = 0; k < n; k++) {
        e->mass[k] = value[MASSES + k] * value[MASS] / e->mean;
    }
    for (size_t i = 0; i < 3 * n; i++) {
        const int moved = e->reshapes || e->observed.is_target;
        e->body[i] = e->mesh.point[i] + (moved ? value[vertices_of(e) + i] : 0);
    }
    rigid_mass_points(n, e->mass, e->body, &e->whole);
    for (size_t i = 0; i < 3 * n; i++) {
        e->point[i] = e->body[i] - e->whole.centre[i % 3];
    }
}

/* Room for the derivatives by the vertices, set to 0; NULL if they are not variables. */
static double *clear_body_bar(const pushed *e)
{
    if (e->reshapes) {
        memset(e->body_bar, 0, 3 * e->mesh.points * sizeof *e->body_bar);
    }
    return e->reshapes ? e->body_bar : NULL;
}

/* Adds to value_bar the derivatives through the mass properties, and those by the vertices (body_bar, may be
 * NULL). */
static void weigh_bar(const pushed *e, const rigid_mass *bar, double *body_bar, double *value_bar)
{
    const double *value = e->observed.value;
    const size_t n = e->mesh.points;
    memset(e->mass_bar, 0, n * sizeof *e->mass_bar);
    rigid_mass_points_adjoint(n, e->mass, e->body, bar, e->mass_bar, body_bar);
    for (size_t i = 0; body_bar != NULL && i < 3 * n; i++) {
        value_bar[vertices_of(e) + i] += body_bar[i];
    }
    for (size_t k = 0; k < n; k++) {
        value_bar[MASSES + k] += e->mass_bar[k] * value[MASS] / e->mean;
        value_bar[MASS] += e->mass_bar[k] * value[MASSES + k] / e->mean;
    }
}

static void weigh_dot(const pushed *e, const double *value_dot, rigid_mass *dot)
{
    const double *value = e->observed.value;
    const size_t n = e->mesh.points;
    for (size_t k = 0; k < n; k++) {
        e->mass_bar[k] =
            (value_dot[MASSES + k] * value[MASS] + value[MASSES + k] * value_dot[MASS]) / e->mean;
    }
    rigid_mass_points_tangent(n, e->mass, e->body, e->mass_bar, value_dot + vertices_of(e), dot);
}

/* ---- an episode ---- */

static int64_t launch_pushed(void *self, const double *value)
{
    pushed *e = self;
    momentum_state start = {.x = {0, 0, 0}};
    momentum_body body = {.restitution = 0};
    weigh(e, value);
    body.mass = e->whole.mass;
    memcpy(body.inertia, e->whole.inertia, sizeof body.inertia);
    for (size_t k = 0; k < e->rules.forces; k++) {
        body.force[k][1] = -value[force_of(e)];
    }
    memcpy(start.q, e->attitude, sizeof start.q);
    quat_rotate(e->attitude, e->whole.centre,
                start.x); /* the mean of the vertices, not the centre of mass, is at the origin */
    e->net.w = e->observed.w;
    momentum_networks(e->engine, e->observed.is_target ? NULL : &e->net);
    return momentum_simulate(e->engine, &e->rules, &body, e->mesh.points, e->point, &start,
                             e->observed.steps);
}

static void place_pushed(const void *self, uint64_t t, double *points)
{
    const pushed *e = self;
    const momentum_state *s = momentum_at(e->engine, t);
    rigid_place(s->x, s->q, e->whole.centre, e->mesh.points, e->body, points);
}

static void place_pushed_bar(const void *self, uint64_t t, const double *points_bar, double *bar,
                             double *value_bar)
{
    const pushed *e = self;
    const momentum_state *s = momentum_at(e->engine, t);
    momentum_state *b = (momentum_state *)(void *)bar;
    rigid_mass whole_bar = {0};
    double *body_bar = clear_body_bar(e);
    rigid_place_adjoint(s->q, e->whole.centre, e->mesh.points, e->body, points_bar, b->x, b->q,
                        whole_bar.centre, body_bar);
    weigh_bar(e, &whole_bar, body_bar, value_bar);
}

static void place_pushed_dot(const void *self, uint64_t t, const double *dot, const double *value_dot,
                             double *points_dot)
{
    const pushed *e = self;
    const momentum_state *s = momentum_at(e->engine, t), *d = (const momentum_state *)(const void *)dot;
    rigid_mass whole_dot;
    weigh_dot(e, value_dot, &whole_dot);
    rigid_place_tangent(s->q, e->whole.centre, e->mesh.points, e->body, d->x, d->q, whole_dot.centre,
                        value_dot + vertices_of(e), points_dot);
}

static int sweep_back(void *self, uint64_t from, uint64_t to, double *bar, double *value_bar)
{
    pushed *e = self;
    momentum_body body_bar = {0};
    rigid_mass whole_bar = {0};
    memset(e->point_bar, 0, 3 * e->mesh.points * sizeof *e->point_bar);
    e->net.w_bar = e->observed.w_bar;
    const int finite =
        momentum_adjoint(e->engine, from, to, (momentum_state *)(void *)bar, &body_bar, e->point_bar);
    whole_bar.mass = body_bar.mass;
    memcpy(whole_bar.inertia, body_bar.inertia, sizeof whole_bar.inertia);
    for (size_t i = 0; i < 3 * e->mesh.points; i++) {
        whole_bar.centre[i % 3] -= e->point_bar[i];
    }
    for (size_t k = 0; k < e->rules.forces; k++) {
        value_bar[force_of(e)] -= body_bar.force[k][1];
    }
    weigh_bar(e, &whole_bar, e->reshapes ? e->point_bar : NULL, value_bar);
    return finite;
}

static int sweep_forth(void *self, uint64_t from, uint64_t to, double *dot, const double *value_dot)
{
    pushed *e = self;
    momentum_body body_dot = {0};
    rigid_mass whole_dot;
    weigh_dot(e, value_dot, &whole_dot);
    body_dot.mass = whole_dot.mass;
    memcpy(body_dot.inertia, whole_dot.inertia, sizeof body_dot.inertia);
    for (size_t i = 0; i < 3 * e->mesh.points; i++) {
        e->point_bar[i] = value_dot[vertices_of(e) + i] - whole_dot.centre[i % 3];
    }
    for (size_t k = 0; k < e->rules.forces; k++) {
        body_dot.force[k][1] = -value_dot[force_of(e)];
    }
    e->net.w_dot = e->observed.w_dot;
    return momentum_tangent(e->engine, from, to, (momentum_state *)(void *)dot, &body_dot, e->point_bar);
}

static void start_bar(void *self, const double *bar, double *value_bar)
{
    const pushed *e = self;
    const momentum_state *b = (const momentum_state *)(const void *)bar;
    rigid_mass whole_bar = {0};
    double ignored[4] = {0, 0, 0, 0};
    quat_rotate_adjoint(e->attitude, e->whole.centre, b->x, ignored, whole_bar.centre);
    weigh_bar(e, &whole_bar, clear_body_bar(e), value_bar);
}

static void start_dot(void *self, const double *value_dot, double *dot)
{
    const pushed *e = self;
    momentum_state *d = (momentum_state *)(void *)dot;
    rigid_mass whole_dot;
    weigh_dot(e, value_dot, &whole_dot);
    memset(d, 0, sizeof *d);
    quat_rotate(e->attitude, whole_dot.centre, d->x);
}

static const observed_task task = {.numbers = MOMENTUM_STATE_NUMBERS,
                                   .launch = launch_pushed,
                                   .place = place_pushed,
                                   .place_bar = place_pushed_bar,
                                   .place_dot = place_pushed_dot,
                                   .back = sweep_back,
                                   .forth = sweep_forth,
                                   .start_bar = start_bar,
                                   .start_dot = start_dot,
                                   .cure = cure};

/* ---- set-up ---- */

static ds_status make_box(fem_mesh *m)
{
    return fem_mesh_box(m, (const double[3]){1, 0.75, 0.5});
}

static ds_status read_file(fem_mesh *m, const char *path, const ds_host *host)
{
    char error[FEM_READ_ERROR];
    const int failed = fem_read_mesh(m, path, error);
    if (failed) {
        return ds_host_fail(host, failed == 2 ? DS_E_NOMEM : DS_E_PARAM, "parameter mesh_file: %s", error);
    }
    if (m->points > MOST_VERTICES) {
        return ds_host_fail(host, DS_E_PARAM,
                            "parameter mesh_file: %.190s has %zu vertices: give a mesh of at most %d", path,
                            m->points, MOST_VERTICES);
    }
    return m->triangles > 0 ? DS_OK : fem_mesh_surface(m, NULL);
}

/* Returns whether the body can turn about every axis; points on a line cannot turn about that line. */
static int turns(const fem_mesh *m, double *mass)
{
    rigid_mass whole;
    for (size_t k = 0; k < m->points; k++) {
        mass[k] = 1;
    }
    rigid_mass_points(m->points, mass, m->point, &whole);
    const double *i = whole.inertia, third = (i[0] + i[4] + i[8]) / 3;
    const double det = i[0] * (i[4] * i[8] - i[5] * i[7]) - i[1] * (i[3] * i[8] - i[5] * i[6]) +
                       i[2] * (i[3] * i[7] - i[4] * i[6]);
    return det > 1e-9 * third * third * third;
}

static ds_status read_shape(pushed *e, int shape, const char *path, const ds_host *host)
{
    static ds_status (*const make[])(fem_mesh *) = {fem_mesh_cube,    make_box,      fem_mesh_sphere,
                                                    fem_mesh_capsule, fem_mesh_cone, fem_mesh_cylinder};
    ds_memory *m = &e->observed.env.kit.memory;
    if ((shape == MESH) != (path[0] != '\0')) {
        return ds_host_fail(host, DS_E_PARAM, "parameters shape and mesh_file: %s",
                            shape == MESH ? "shape=mesh needs a file" : "a file needs shape=mesh");
    }
    const ds_status status = shape == MESH ? read_file(&e->mesh, path, host) : make[shape](&e->mesh);
    if (status != DS_OK) {
        return status;
    }
    const size_t n = e->mesh.points;
    ds_memory_each(m, n, (double **const[]){&e->mass, &e->mass_bar, NULL});
    ds_memory_each(m, 3 * n, (double **const[]){&e->point, &e->point_bar, &e->body, &e->body_bar, NULL});
    e->yellow = ds_memory_doubles(m, 3 * e->mesh.triangles);
    e->decisions = ds_memory_take(m, vertices_of(e) + 3 * n, sizeof *e->decisions);
    e->name = ds_memory_take(m, 4 * n, sizeof *e->name);
    if (m->failed) {
        return DS_E_NOMEM;
    }
    if (shape != CUBE && !(fem_mesh_normalise(&e->mesh) && turns(&e->mesh, e->mass))) {
        return ds_host_fail(host, DS_E_PARAM,
                            "parameter mesh_file: the vertices of %.190s lie on a line: give a solid body",
                            path);
    }
    return DS_OK;
}

static void name_decisions(pushed *e)
{
    const size_t n = e->mesh.points, first = vertices_of(e);
    e->decisions[MASS] = (decision)DECISION_LOG("mass", "kg", -1, 0.7, -0.65);
    e->decisions[force_of(e)] = (decision)DECISION("force", "N", 1, 50, 5);
    for (size_t i = 0; i < 3 * n; i++) {
        snprintf(e->name[n + i], sizeof e->name[n + i], "vertices.%zu.%c", i / 3, "xyz"[i % 3]);
        e->decisions[first + i] = (decision)DECISION(e->name[n + i], "m", -0.5, 0.5, 0);
    }
    for (size_t k = 0; k < n; k++) {
        snprintf(e->name[k], sizeof e->name[k], "masses.%zu", k);
        e->decisions[MASSES + k] = (decision)DECISION(e->name[k], "kg", 0.02, 10, 0.2);
    }
    e->observed.decisions.offered = e->decisions;
    e->observed.decisions.offers = (uint32_t)(first + 3 * n);
}

static void read_truth(pushed *e, ds_param_reader *in, int video, uint64_t object)
{
    double *truth = e->observed.decisions.truth, stretch[3] = {1, 1, 1};
    const size_t n = e->mesh.points;
    double sum = 0;
    truth[force_of(e)] = ds_param_real(in, "force");
    ds_param_values(in, "stretch", 3, stretch);
    for (size_t i = 0; i < 3 * n; i++) {
        truth[vertices_of(e) + i] = (stretch[i % 3] - 1) * e->mesh.point[i];
    }
    for (size_t k = 0; k < n; k++) {
        ds_random r = ds_random_open(object, "mass of a vertex", k);
        truth[MASSES + k] = video ? 0.2 + 0.1 * ds_random_uniform(&r) : 1;
    }
    ds_param_values(in, "truth", n, truth + MASSES);
    for (size_t k = 0; k < n; k++) {
        sum += truth[MASSES + k];
    }
    e->mean = sum / (double)n;
    truth[MASS] = e->mean;
    if (in->status == DS_OK && !(e->mean > 0)) {
        in->status =
            ds_host_fail(in->host, DS_E_PARAM, "parameter truth: the body has no mass: give one above 0");
    }
}

/* (1 + U, U, U, U) with the sign of another U, as for the paper's objects. */
static void draw_attitude(pushed *e, int video, uint64_t object)
{
    double q[4] = {1, 0, 0, 0};
    ds_random r = ds_random_open(object, "attitude", 0);
    for (int i = 0; video && i < 4; i++) {
        q[i] = (i == 0 ? 1 : 0) + ds_random_uniform(&r);
    }
    quat_normalise(q);
    memcpy(e->attitude, q, sizeof q);
}

/* Index of the vertex that is lowest at the start. */
static uint32_t lowest(const pushed *e)
{
    uint32_t found = 0;
    double least = HUGE_VAL, at[3];
    for (uint32_t k = 0; k < e->mesh.points; k++) {
        quat_rotate(e->attitude, e->mesh.point + 3 * k, at);
        found = at[1] < least ? k : found;
        least = fmin(least, at[1]);
    }
    return found;
}

static void set_forces(pushed *e, int video)
{
    momentum_rules *r = &e->rules;
    r->h = e->observed.dt;
    e->vertex[0] = video ? lowest(e) : 0;
    e->vertex[1] = 1;
    r->forces = video ? 2 : 1;
    r->list[0] =
        (momentum_list){.count = video ? 1 : 2, .vertex = e->vertex, .end = video ? 4 : e->observed.steps};
    r->list[1] = (momentum_list){.count = 0, .end = e->observed.steps};
}

static void read_frames(pushed *e, ds_param_reader *in, int video)
{
    observed *s = &e->observed;
    uint64_t count = 0;
    const double *list = ds_param_list(in, "frames", &count);
    const uint64_t each = video ? 5 : 1, most = count > 0 ? count : (s->steps + each - 1) / each;
    e->compared = ds_memory_take(&s->env.kit.memory, most, sizeof *e->compared);
    s->compared = e->compared;
    s->states = e->compared != NULL ? most : 0;
    for (uint64_t k = 0; in->status == DS_OK && k < s->states; k++) {
        const double frame = count > 0 ? list[k] : (double)(k * each);
        const int ascends = count == 0 || k == 0 || frame > list[k - 1];
        if (!(ascends && frame >= 0 && frame < (double)s->steps && floor(frame) == frame)) {
            in->status = ds_host_fail(
                in->host, DS_E_PARAM,
                "parameter frames: %g: give whole numbers from 0 to %d, each above the one before", frame,
                (int)s->steps - 1);
        }
        e->compared[k] = (uint64_t)fmax(0, fmin(frame, (double)s->steps - 1)) + 1;
    }
}

static void read_rigid_mass(void *self, ds_param_reader *in)
{
    pushed *e = self;
    observed *s = &e->observed;
    observed_read(s, in, &task);
    const int video = ds_param_int(in, "scene") == VIDEO;
    const uint64_t object = (uint64_t)ds_param_int(in, "object");
    const int64_t steps = ds_param_int(in, "steps");
    const int shape = (int)ds_param_int(in, "shape");
    const char *path = ds_param_text(in, "mesh_file");
    s->dt = 1.0 / 30;
    s->steps = steps > 0 && steps <= MOST_FRAMES ? (uint64_t)steps : video ? 30 : 20;
    s->shown_each = 1;
    in->status = in->status != DS_OK ? in->status : read_shape(e, shape, path, in->host);
    if (in->status != DS_OK) {
        return;
    }
    name_decisions(e);
    read_truth(e, in, video, object);
    draw_attitude(e, video, object);
    e->rules.parity = ds_param_int(in, "parity") != 0;
    set_forces(e, video);
    read_frames(e, in, video);
    e->engine = momentum_create(&s->env.kit.memory, e->mesh.points, s->steps);
    for (size_t f = 0; f < e->mesh.triangles; f++) {
        e->yellow[3 * f] = e->yellow[3 * f + 1] = 1;
    }
    s->subject =
        (frames_subject){.mesh = {(uint32_t)e->mesh.points, (uint32_t)e->mesh.triangles, e->mesh.triangle},
                         .color = e->yellow,
                         .rest = e->mesh.point};
    observed_ready(s, in);
    for (uint64_t i = 0; i < s->decisions.n; i++) {
        e->reshapes |= s->decisions.at[i] >= vertices_of(e) && s->decisions.at[i] < s->view;
    }
}

static uint64_t hooks_of_mass(const void *self, ds_hook *out)
{
    static const char *const inputs[3][3] = {{"position", "m", "Of the centre of mass (y is up)."},
                                             {"momentum", "kg m/s", "Of the body."},
                                             {"angular_momentum", "kg m^2/s", "About the centre of mass."}};
    (void)self;
    return wrench_hooks(out, inputs,
                        "At the centre of mass, in addition to the forces on vertices; starts at 0.");
}

static ds_status allocate_mass(void *self)
{
    pushed *e = self;
    wrench_open(&e->net, &e->observed.env.kit.memory, &e->observed.env.kit.hybrid);
    return observed_allocate(self);
}

static void release_rigid_mass(void *self)
{
    observed_release(self);
    fem_mesh_free(&((pushed *)self)->mesh);
}

static const ds_scene_kit_label metrics[] = {{"y", "m"}, {"distance", "m"}, {"error", ""}, {NULL, NULL}};

static void measure_rigid_mass(void *self, uint64_t k, double *out)
{
    observed *s = self;
    double mean[3];
    out[1] = observed_measure(s, k, mean);
    out[0] = mean[1];
    identified_put(&s->error, out + 2);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(pushed),
                                 .advice = "reduce parameter image_size or steps",
                                 .cure = cure,
                                 .read = read_rigid_mass,
                                 .hook_points = hooks_of_mass,
                                 .metrics = metrics,
                                 .measure = measure_rigid_mass,
                                 OBSERVED_TABLE(allocate_mass, release_rigid_mass)};

static const ds_desc desc = {
    BUNDLED_DESC("rigid_mass", "2"), .flags = DS_ENV_GRADIENT,
    .summary = "How heavy is a body that is pushed? From images (gradSim, table 1).",
    .description =
        "Known forces push a cube, or another body, with a point mass at each vertex; there is no gravity "
        "and no ground. The variables are log10 of the mass of all vertices, or the mass of each; the force "
        "and the "
        "positions of the vertices can be variables, too. The target "
        "is an episode of the same body with parameter truth, seen by the same camera, so the least loss is "
        "0.\nIn scene video the force acts on every vertex, whatever its mass: unlike gravity, this makes "
        "the mass observable.\nA network can replace what the model lacks: a force and a torque that depend "
        "on position and momenta (parameter residual); the target has none." COMPARISON_CHANNELS
            COMPARISON_ERROR("positive"),
    .citation = PAPER_GRADSIM};

DS_ENV_KIT_DEFINE(env, desc)
