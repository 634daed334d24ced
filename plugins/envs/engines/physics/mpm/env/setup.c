/* SPDX-License-Identifier: Apache-2.0 */
/* setup.c - from the sections of a scene file to an mpm_task. */
#include "engines/physics/mpm/env/setup.h"

#include "engines/data/surface.h"
#include "engines/kit/algebra/quaternion.h"
#include "engines/physics/fem/read.h"
#include "engines/physics/mpm/env/ladle.h"
#include "engines/physics/mpm/sim/tool.h"

#include <diffsim/helper/npy_read.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PARTICLES = 1000000, MOST_MATERIALS = 16 };

static const double most_size = 10.0, most_stress = 1e9;

static const char *const kinds[] = {"scene",  "grid",    "material", "body",   "tool",
                                    "target", "actions", "loss",     "camera", NULL};
static const char *const law_names[] = {"plasticine", "elastic", "fluid", "sand", NULL};
static const char *const body_shapes[] = {"box",   "sphere", "lattice", "cylinder", "capsule",
                                          "torus", "points", "mesh",    NULL};
enum { BODY_MESH = MPM_BODY_POINTS + 1 }; /* becomes points */
static const char *const tool_shapes[] = {"sphere",      "capsule",    "cylinder", "torus", "box",
                                          "rolling_pin", "chopsticks", "ladle",    "mesh",  NULL};
static const char *const inside_names[] = {"no", "yes", NULL};
static const char *const term_names[] = {"center", "height", "region", NULL};
static const char *const motion_names[] = {"pieces", "lines", "spline", NULL};
static const char *const control_names[] = {"displacement", "velocity", NULL};
static const char *const moves[] = {"none", "xy", "xyz", "pose", NULL};
static const uint32_t move_dims[] = {0, 2, 3, 6};
static const char *const loss_names[] = {"segment_sum", "step_sum", "final", "image", NULL};
static const char *const contact_names[] = {"soft", "hard", NULL};

typedef struct material {
    const char *name;
    mpm_matter matter;
} material;

typedef struct reader {
    mpm_setup *setup;
    scene_file *f;
    const ds_host *host;
    material materials[MOST_MATERIALS];
    uint32_t n_materials;
    double size[3]; /* of the grid */
} reader;

/* ---- variables ---- */

static const char can_vary[] = "gravity, ground_friction and softness of [scene], constants and density of "
                               "[material], center, rotation and velocity of [body], position, rotation, "
                               "friction, gap and sizes other than a mesh's of [tool]";

/* What a key is if it becomes a variable. */
typedef struct meaning {
    uint32_t kind, of, part; /* of mpm_variable; part: the first one */
    double factor;
    const char *unit;
} meaning;

static void add_variable(reader *r, const scene_section *s, const char *key, const meaning *as, uint32_t part,
                         const char *component, const scene_quantity *q)
{
    mpm_task *task = &r->setup->task;
    if (task->n_variables == MPM_MAX_VARIABLES) {
        scene_fail(r->f, s, key, "more than %d variables", MPM_MAX_VARIABLES);
    } else if (!isnan(q->truth) || q->random > 0.0) {
        scene_fail(r->f, s, key, "the target of this scene is a shape: remove '%s'",
                   isnan(q->truth) ? "random" : "truth");
    } else {
        task->variables[task->n_variables++] =
            (mpm_variable){.kind = as->kind,
                           .of = as->of,
                           .part = as->part + part,
                           .log = q->log,
                           .lower = q->lower,
                           .upper = q->upper,
                           .start = q->value,
                           .factor = as->factor,
                           .section = scene_name(s)[0] ? scene_name(s) : "scene",
                           .key = key,
                           .component = component,
                           .unit = as->unit};
    }
}

/* A number or a variable; returns the number, of a variable the start. */
static double quantity(reader *r, const scene_section *s, const char *key, const meaning *as, double low,
                       double high, double otherwise)
{
    const scene_quantity q = scene_quantity_of(r->f, s, key, low, high, otherwise);
    if (q.variable && !scene_failed(r->f)) {
        add_variable(r, s, key, as, 0, "", &q);
    }
    return q.value;
}

/* n numbers, any of them variables; `spread`: one can stand for all. `out` keeps its values where the key is
 * missing. */
static bool quantities(reader *r, const scene_section *s, const char *key, size_t n, bool spread,
                       const meaning *as, double low, double high, double *out)
{
    static const char *const axes[] = {"x", "y", "z"}, *const quaternion[] = {"w", "x", "y", "z"};
    scene_quantity q[4] = {{0}};
    if (!scene_varies(r->f, s, key)) {
        return scene_numbers(r->f, s, key, n, spread, low, high, out);
    }
    scene_components(r->f, s, key, n, low, high, q);
    for (uint32_t i = 0; i < n && !scene_failed(r->f); i++) {
        out[i] = q[i].value;
        if (q[i].variable) {
            add_variable(r, s, key, as, i, n == 4 ? quaternion[i] : axes[i], &q[i]);
        }
    }
    return true;
}

/* ---- materials ---- */

/* A constant of the last material. */
static double constant_of(reader *r, const scene_section *s, const char *key, uint32_t kind, const char *unit,
                          double low, double high, double otherwise)
{
    const uint32_t before = r->setup->task.n_variables;
    const double value = quantity(r, s, key, &(meaning){.kind = kind, .of = r->n_materials, .unit = unit},
                                  low, high, otherwise);
    if (r->setup->task.n_variables > before) {
        r->materials[r->n_materials - 1].matter.number = r->n_materials;
    }
    return value;
}

static void read_material(reader *r, const scene_section *s)
{
    scene_file *f = r->f;
    if (r->n_materials == MOST_MATERIALS) {
        scene_fail(f, s, NULL, "more than %d materials", MOST_MATERIALS);
        return;
    }
    material *m = &r->materials[r->n_materials++];
    m->name = scene_name(s);
    m->matter.law = scene_choice(f, s, "law", law_names, MPM_PLASTICINE);
    if (m->matter.law == MPM_PLASTICINE || m->matter.law == MPM_SAND) {
        m->matter.youngs_modulus =
            constant_of(r, s, "youngs_modulus", MPM_YOUNGS_MODULUS, "Pa", 1.0, most_stress, 5000.0);
        m->matter.poisson_ratio = constant_of(r, s, "poisson_ratio", MPM_POISSON_RATIO, "", 0.0, 0.49, 0.2);
    }
    if (m->matter.law == MPM_PLASTICINE) {
        m->matter.yield_stress =
            constant_of(r, s, "yield_stress", MPM_YIELD_STRESS, "Pa", 0.0, most_stress, 50.0);
    } else if (m->matter.law == MPM_SAND) {
        m->matter.friction_angle =
            constant_of(r, s, "friction_angle", MPM_FRICTION_ANGLE, "degrees", 0.0, 60.0, 35.0);
    } else if (m->matter.law == MPM_ELASTIC) {
        m->matter.modulus =
            constant_of(r, s, "shear_modulus", MPM_SHEAR_MODULUS, "Pa", 0.0, most_stress, 1000.0);
    } else {
        m->matter.modulus =
            constant_of(r, s, "bulk_modulus", MPM_BULK_MODULUS, "Pa", 1.0, most_stress, 1000.0);
        m->matter.viscosity = constant_of(r, s, "viscosity", MPM_VISCOSITY, "Pa s", 0.0, 1e3, 0.1);
    }
    m->matter.density =
        constant_of(r, s, "density", MPM_DENSITY, "", 1e-3, m->matter.law == MPM_PLASTICINE ? 1e3 : 1e5, 1.0);
}

/* The first plasticine of density 1 that a body uses gives the constants of the scene. */
static void use_material(reader *r, const scene_section *s, mpm_body *body, bool *have)
{
    const char *name = scene_text(r->f, s, "material", "");
    const material *m = NULL;
    for (uint32_t i = 0; i < r->n_materials; i++) {
        if (strcmp(r->materials[i].name, name) == 0) {
            m = &r->materials[i];
        }
    }
    if (!m) {
        scene_fail(r->f, s, "material",
                   name[0] ? "section [material %.47s] is missing"
                           : "the key 'material' must name a section [material ...]%.0s",
                   name);
        return;
    }
    mpm_scene *scene = &r->setup->task.scene;
    const mpm_matter *matter = &m->matter;
    if (matter->law != MPM_PLASTICINE) {
        body->matter = *matter;
        return;
    }
    const bool plain =
        !(matter->density < 1.0 || matter->density > 1.0) && matter->number == 0 && !r->setup->task.domain;
    if (plain && !*have) {
        scene->youngs_modulus = matter->youngs_modulus;
        scene->poisson_ratio = matter->poisson_ratio;
        scene->yield_stress = matter->yield_stress;
        *have = true;
    }
    const double constants[3] = {scene->youngs_modulus, scene->poisson_ratio, scene->yield_stress};
    if (!plain || memcmp(constants, &matter->youngs_modulus, sizeof constants) != 0) {
        body->matter = *matter;
        body->matter.own = true;
    }
}

/* ---- bodies ---- */

/* as: NULL where it cannot be a variable. */
static void read_rotation(reader *r, const scene_section *s, const meaning *as, double q[4], bool *turned)
{
    const double identity[4] = {1.0, 0.0, 0.0, 0.0};
    memcpy(q, identity, sizeof identity);
    if ((as ? quantities(r, s, "rotation", 4, false, as, -1.0, 1.0, q)
            : scene_numbers(r->f, s, "rotation", 4, false, -1.0, 1.0, q)) &&
        q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] < 1e-6) {
        scene_fail(r->f, s, "rotation", "rotation is a quaternion w x y z; this one is zero");
    }
    *turned = memcmp(q, identity, sizeof identity) != 0;
}

static double size_of(reader *r, const scene_section *s, const char *key)
{
    return scene_needs(r->f, s, key) ? scene_number(r->f, s, key, 1e-4, most_size, 1.0) : 1.0;
}

/* A size of tool number `of` that may be a variable (of NOT_A_TOOL: it may not), times `factor`. */
enum { NOT_A_TOOL = UINT32_MAX };
static double tool_size_of(reader *r, const scene_section *s, const char *key, uint32_t of, uint32_t part,
                           double factor)
{
    const meaning as = {.kind = MPM_TOOL_SIZE, .of = of, .part = part, .factor = factor, .unit = "m"};
    return factor * (of == NOT_A_TOOL || !scene_needs(r->f, s, key)
                         ? size_of(r, s, key)
                         : quantity(r, s, key, &as, 1e-4, most_size, 1.0));
}

/* ---- bodies from files ---- */

/* Copies n numbers, times scale, to memory of the setup; NULL where it is short. */
static double *keep(reader *r, const double *from, size_t n, double scale)
{
    double *out = ds_memory_doubles(&r->setup->memory, n + 1);
    for (size_t i = 0; out && i < n; i++) {
        out[i] = from[i] * scale;
    }
    return out;
}

static double scale_of(reader *r, const scene_section *s)
{
    return scene_number(r->f, s, "scale", 1e-9, 1e9, 1.0);
}

/* Opens the closed surface of key `file`; returns false after a failure. */
static bool open_surface(reader *r, const scene_section *s, surface *out)
{
    char error[SURFACE_ERROR];
    const double scale = scale_of(r, s);
    if (!scene_needs(r->f, s, "file") || scene_failed(r->f)) {
        return false;
    }
    if (surface_read(out, scene_path(r->f, s, "file"), scale, error) != 0) {
        scene_fail(r->f, s, "file", "%s", error);
        return false;
    }
    return true;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && strcmp(text + n - m, ending) == 0;
}

/* The bytes of a file, to be freed; NULL after a failure. */
static unsigned char *read_bytes(reader *r, const scene_section *s, const char *path, size_t *count)
{
    static const long most = 1L << 28;
    FILE *in = fopen(path, "rb");
    const long size = in && fseek(in, 0, SEEK_END) == 0 ? ftell(in) : -1;
    unsigned char *bytes = size >= 0 && size < most ? malloc((size_t)size + 1) : NULL;
    *count = 0;
    if (bytes && fseek(in, 0, SEEK_SET) == 0) {
        *count = fread(bytes, 1, (size_t)size, in);
    }
    if (!bytes) {
        scene_fail(r->f, s, "file", size < most ? "%.200s cannot be read" : "%.200s has more than 256 MB",
                   path);
    }
    if (in) {
        fclose(in);
    }
    return bytes;
}

/* The numbers of an .npy file with so many dimensions; NULL after a failure. */
static double *read_array(reader *r, const scene_section *s, const char *path, uint32_t ndim, uint64_t *shape)
{
    ds_npy a;
    char why[DS_NPY_WHY] = "";
    size_t bytes;
    unsigned char *file = read_bytes(r, s, path, &bytes);
    const uint64_t n =
        file && ds_npy_open(&a, file, bytes, why) ? ds_npy_numbers(&a, (uint64_t)1 << 25, why) : 0;
    double *out = n > 0 && a.ndim == ndim ? ds_memory_doubles(&r->setup->memory, (size_t)n) : NULL;
    for (uint64_t i = 0; out && i < n; i++) {
        out[i] = ds_npy_number(&a, i);
        if (!isfinite(out[i]) && !scene_failed(r->f)) {
            scene_fail(r->f, s, "file", "%.200s: number %llu is not finite", path, (unsigned long long)i);
        }
    }
    if (file && n == 0) {
        scene_fail(r->f, s, "file", "%.200s: %s", path, why);
    } else if (file && a.ndim != ndim) {
        scene_fail(r->f, s, "file", "%.200s: the array has %u dimensions instead of %u", path, a.ndim, ndim);
    } else if (out) {
        memcpy(shape, a.shape, ndim * sizeof *shape);
    }
    free(file);
    return scene_failed(r->f) ? NULL : out;
}

static void check_points(reader *r, const scene_section *s, uint64_t count)
{
    if (count == 0 || count > MOST_PARTICLES) {
        scene_fail(r->f, s, "file", "%llu points: use 1 to %d", (unsigned long long)count, MOST_PARTICLES);
    }
}

/* Points of an .npy file, an array of n x 3 numbers. */
static void read_npy_points(reader *r, const scene_section *s, double scale, mpm_body *body)
{
    uint64_t shape[2] = {0};
    double *points = read_array(r, s, scene_path(r->f, s, "file"), 2, shape);
    if (!points) {
        return;
    }
    check_points(r, s, shape[0]);
    if (shape[1] != 3) {
        scene_fail(r->f, s, "file", "points are an array of n x 3 numbers; this one has %llu columns",
                   (unsigned long long)shape[1]);
    }
    for (uint64_t i = 0; !scene_failed(r->f) && i < 3 * shape[0]; i++) {
        points[i] *= scale;
    }
    body->points = points;
    body->count = scene_failed(r->f) ? 0 : (uint32_t)shape[0];
}

/* Points of a .ply file. */
static void read_ply_points(reader *r, const scene_section *s, double scale, mpm_body *body)
{
    char error[FEM_READ_ERROR];
    fem_mesh mesh;
    if (fem_read_points(&mesh, scene_path(r->f, s, "file"), error) != 0) {
        scene_fail(r->f, s, "file", "%s", error);
        return;
    }
    check_points(r, s, mesh.points);
    if (!scene_failed(r->f)) {
        body->points = keep(r, mesh.point, 3 * mesh.points, scale);
        body->count = body->points ? (uint32_t)mesh.points : 0;
    }
    fem_mesh_free(&mesh);
}

/* Points of a file. */
static void read_points(reader *r, const scene_section *s, mpm_body *body)
{
    const double scale = scale_of(r, s);
    if (!scene_needs(r->f, s, "file") || scene_failed(r->f)) {
        return;
    }
    if (ends_with(scene_text(r->f, s, "file", ""), ".npy")) {
        read_npy_points(r, s, scale, body);
    } else {
        read_ply_points(r, s, scale, body);
    }
}

/* Fills the inside of a mesh with points, drawn in the box around it. */
static void draw_inside(ds_memory *memory, const surface *inside, uint32_t count, uint32_t seed,
                        mpm_body *body)
{
    double *points = ds_memory_doubles(memory, 3 * (size_t)count);
    mpm_rng rng;
    mpm_rng_seed(&rng, seed);
    for (uint32_t p = 0; points && p < count;) {
        double *x = points + 3 * (size_t)p;
        for (int d = 0; d < 3; d++) {
            x[d] = inside->low[d] + mpm_rng_uniform(&rng) * (inside->high[d] - inside->low[d]);
        }
        p += surface_inside(inside, x);
    }
    body->points = points;
    body->count = points ? count : 0;
}

/* The same as a scene file wants it. */
static void fill_mesh(reader *r, const scene_section *s, mpm_body *body)
{
    surface inside;
    if (!open_surface(r, s, &inside)) {
        return;
    }
    double wanted = scene_has(r->f, s, "per_volume")
                        ? scene_number(r->f, s, "per_volume", 1.0, 1e12, 1.0) * inside.volume
                        : scene_whole(r->f, s, "count", 1, MOST_PARTICLES, 1);
    if (scene_has(r->f, s, "per_volume") == scene_has(r->f, s, "count")) {
        scene_fail(r->f, s, NULL, "[%s] needs either count or per_volume", scene_name(s));
    } else if (wanted < 1.0 || wanted > MOST_PARTICLES) {
        scene_fail(r->f, s, "per_volume", "that makes %.0f particles: use 1 to %d per body", wanted,
                   MOST_PARTICLES);
    }
    const uint32_t seed = scene_whole(r->f, s, "seed", 0, UINT32_MAX, 0);
    if (!scene_failed(r->f)) {
        draw_inside(&r->setup->memory, &inside, (uint32_t)wanted, seed, body);
        body->volume = r->setup->task.domain ? inside.volume : 0.0;
    }
    surface_free(&inside);
}

/* Fills the shape of a body; returns its volume. */
static double read_shape(reader *r, const scene_section *s, const mpm_scene *scene, mpm_body *body)
{
    const double pi = 3.14159265358979323846;
    scene_file *f = r->f;
    double *size = body->size;
    const bool own = scene == &r->setup->task.scene; /* not a target */
    const uint32_t of = scene->n_bodies - 1;
    const meaning centre = {.kind = MPM_BODY_CENTER, .of = of, .unit = "m"},
                  rotation = {.kind = MPM_BODY_ROTATION, .of = of, .unit = ""},
                  velocity = {.kind = MPM_BODY_VELOCITY, .of = of, .unit = "m/s"};
    body->shape = scene_needs(f, s, "shape") ? scene_choice(f, s, "shape", body_shapes, 0) : 0;
    if (scene_needs(f, s, "center") && own) {
        quantities(r, s, "center", 3, false, &centre, -most_size, most_size, body->center);
    } else {
        scene_numbers(f, s, "center", 3, false, -most_size, most_size, body->center);
    }
    read_rotation(r, s, own ? &rotation : NULL, body->rotation, &body->turned);
    if (own) {
        quantities(r, s, "velocity", 3, false, &velocity, -1e3, 1e3, body->velocity);
    }
    switch (body->shape) {
    case MPM_BODY_POINTS:
        read_points(r, s, body);
        return 0.0;
    case BODY_MESH:
        body->shape = MPM_BODY_POINTS;
        fill_mesh(r, s, body);
        return 0.0;
    case MPM_BODY_SPHERE:
        size[0] = size_of(r, s, "radius");
        return 4.0 / 3.0 * pi * size[0] * size[0] * size[0];
    case MPM_BODY_CYLINDER:
        size[0] = size_of(r, s, "radius");
        size[1] = size_of(r, s, "height");
        return pi * size[0] * size[0] * size[1];
    case MPM_BODY_CAPSULE:
        size[0] = size_of(r, s, "radius");
        size[1] = size_of(r, s, "length");
        return pi * size[0] * size[0] * (size[1] + 4.0 / 3.0 * size[0]);
    case MPM_BODY_TORUS:
        size[0] = size_of(r, s, "radius");
        size[1] = size_of(r, s, "tube");
        return 2.0 * pi * pi * size[0] * size[1] * size[1];
    default:
        if (scene_needs(f, s, "size")) {
            scene_numbers(f, s, "size", 3, true, 1e-4, most_size, size);
        }
        if (body->shape == MPM_BODY_LATTICE) {
            body->spacing =
                scene_needs(f, s, "spacing") ? scene_number(f, s, "spacing", 1e-4, 1.0, 0.01) : 0.01;
            body->jitter = scene_number(f, s, "jitter", 0.0, 1.0, 0.0);
        }
        return size[0] * size[1] * size[2];
    }
}

/* Half the edges of the axis-aligned box around a turned box. */
static void turn_half(const double q[4], const double half[3], double out[3])
{
    for (int d = 0; d < 3; d++) {
        out[d] = 0.0;
    }
    for (int k = 0; k < 3; k++) {
        const double edge[3] = {k == 0 ? half[0] : 0.0, k == 1 ? half[1] : 0.0, k == 2 ? half[2] : 0.0};
        double turned[3];
        quat_rotate(q, edge, turned);
        for (int d = 0; d < 3; d++) {
            out[d] += fabs(turned[d]);
        }
    }
}

/* The axis-aligned box around a body. */
static void box_of(const mpm_body *body, double low[3], double high[3])
{
    const bool points = body->shape == MPM_BODY_POINTS;
    double own[3], half[3] = {0.0}, turned[3];
    if (!points) {
        mpm_body_half(body, own);
        turn_half(body->rotation, own, half);
    }
    for (int d = 0; d < 3; d++) {
        low[d] = points ? (double)INFINITY : body->center[d] - half[d];
        high[d] = points ? -(double)INFINITY : body->center[d] + half[d];
    }
    for (uint32_t p = 0; points && p < body->count; p++) {
        quat_rotate(body->rotation, body->points + 3 * (size_t)p, turned);
        for (int d = 0; d < 3; d++) {
            low[d] = fmin(low[d], body->center[d] + turned[d]);
            high[d] = fmax(high[d], body->center[d] + turned[d]);
        }
    }
}

/* Also at the ends of the range of a centre that is a variable. */
static void check_inside(reader *r, const scene_section *s, const mpm_scene *scene, const mpm_body *body)
{
    const mpm_task *task = &r->setup->task;
    double lower[3], upper[3];
    box_of(body, lower, upper);
    for (uint32_t i = 0; scene == &task->scene && i < task->n_variables; i++) {
        const mpm_variable *v = &task->variables[i];
        if (v->kind == MPM_BODY_CENTER && v->of == scene->n_bodies - 1) {
            lower[v->part] += v->lower - v->start;
            upper[v->part] += v->upper - v->start;
        }
    }
    for (int d = 0; d < 3 && !scene_failed(r->f); d++) {
        const double low = lower[d], high = upper[d];
        if (!(low >= 0.0) || !(high <= r->size[d])) {
            scene_fail(
                r->f, s, "center",
                "the body reaches from %.4g to %.4g along %c, the grid from 0 to %.4g: move it or make "
                "it smaller",
                low, high, "xyz"[d], r -> size[d]);
        }
    }
}

/* The number of particles: `count`, or `per_volume` times the volume. */
static uint32_t read_count(reader *r, const scene_section *s, const mpm_body *body, double volume)
{
    scene_file *f = r->f;
    if (body->shape == MPM_BODY_LATTICE) {
        const double *size = body->size;
        double n = 1.0;
        for (int d = 0; d < 3; d++) {
            n *= floor(size[d] / body->spacing + 0.5);
        }
        if (n < 1.0 || n > MOST_PARTICLES) {
            scene_fail(f, s, "spacing", "the lattice has %.0f particles: use 1 to %d", n, MOST_PARTICLES);
            return 1;
        }
        return (uint32_t)n;
    }
    if (scene_has(f, s, "per_volume")) {
        if (scene_has(f, s, "count")) {
            scene_fail(f, s, "per_volume", "give either count or per_volume");
        }
        double n = scene_number(f, s, "per_volume", 1.0, 1e12, 1.0) * volume;
        if (n < 1.0 || n > MOST_PARTICLES) {
            scene_fail(f, s, "per_volume", "that makes %.0f particles: use 1 to %d per body", n,
                       MOST_PARTICLES);
            return 1;
        }
        return (uint32_t)n;
    }
    return scene_needs(f, s, "count") ? scene_whole(f, s, "count", 1, MOST_PARTICLES, 1) : 1;
}

static void read_body(reader *r, const scene_section *s, mpm_scene *scene)
{
    if (scene->n_bodies == MPM_MAX_BODIES) {
        scene_fail(r->f, s, NULL, "more than %d bodies: join some of them", MPM_MAX_BODIES);
        return;
    }
    mpm_body *body = &scene->bodies[scene->n_bodies++];
    double volume = read_shape(r, s, scene, body);
    if (body->shape != MPM_BODY_POINTS) {
        uint32_t count = read_count(r, s, body, volume);
        body->count = body->shape == MPM_BODY_LATTICE ? 0 : count;
        body->volume = r->setup->task.domain && body->shape != MPM_BODY_LATTICE ? volume : 0.0;
    }
    body->seed = scene_whole(r->f, s, "seed", 0, UINT32_MAX, 0);
    check_inside(r, s, scene, body);
}

static uint32_t body_number(const mpm_task *task, const char *name)
{
    uint32_t b = 0;
    while (b < task->scene.n_bodies && strcmp(task->body_names[b], name) != 0) {
        b++;
    }
    return b;
}

static void read_bodies(reader *r)
{
    mpm_task *task = &r->setup->task;
    bool have = false;
    for (const scene_section *s = NULL; (s = scene_next(r->f, s, "body"));) {
        uint32_t b = task->scene.n_bodies;
        read_body(r, s, &task->scene);
        if (b < task->scene.n_bodies) {
            task->body_names[b] = scene_name(s);
            use_material(r, s, &task->scene.bodies[b], &have);
        }
    }
    uint32_t b = 0;
    for (const scene_section *s = NULL; !scene_failed(r->f) && (s = scene_next(r->f, s, "body")); b++) {
        const char *carve = scene_text(r->f, s, "carve", "");
        uint32_t other = body_number(task, carve);
        if (carve[0] && (other == task->scene.n_bodies || task->scene.bodies[b].shape != MPM_BODY_LATTICE)) {
            scene_fail(r->f, s, "carve", "carve names a body whose box a lattice leaves free");
        } else if (carve[0]) {
            task->scene.bodies[b].carved = 1 + other;
        }
    }
    if (task->scene.n_bodies == 0) {
        scene_fail(r->f, NULL, NULL, "section [body NAME] is missing: a scene needs at least one body");
    }
}

/* ---- tools ---- */

/* The distance to a mesh on a grid, and the mesh to draw. */
static void read_tool_mesh(reader *r, const scene_section *s, mpm_tool *tool)
{
    surface solid;
    const int cells = (int)scene_whole(r->f, s, "cells", 8, 128, 48);
    if (!open_surface(r, s, &solid)) {
        return;
    }
    distance_grid grid;
    mpm_tool_mesh *mesh = ds_memory_take(&r->setup->memory, 1, sizeof *mesh);
    uint32_t *index = ds_memory_take(&r->setup->memory, 3 * solid.mesh.triangles, sizeof *index);
    if (mesh && index && surface_distances(&solid, cells, &grid)) {
        const size_t all = (size_t)grid.n[0] * (size_t)grid.n[1] * (size_t)grid.n[2];
        double *value = keep(r, grid.value, all, 1.0);
        free(grid.value);
        memcpy(index, solid.mesh.triangle, 3 * solid.mesh.triangles * sizeof *index);
        grid.value = value;
        mesh->distance = grid;
        mesh->points = (uint32_t)solid.mesh.points;
        mesh->indices = (uint32_t)(3 * solid.mesh.triangles);
        mesh->point = keep(r, solid.mesh.point, 3 * solid.mesh.points, 1.0);
        mesh->index = index;
        tool->mesh = mesh;
    }
    for (int d = 0; d < 3; d++) {
        tool->size[d] = fmax(fabs(solid.low[d]), fabs(solid.high[d]));
    }
    if (!tool->mesh || r->setup->memory.failed) {
        scene_fail(r->f, s, "file", "no memory for the distance to the mesh");
    }
    surface_free(&solid);
}

/* The mesh that shows a ladle. */
static void draw_ladle(reader *r, mpm_tool *tool)
{
    mpm_tool_mesh *mesh = ds_memory_take(&r->setup->memory, 1, sizeof *mesh);
    double *point = ds_memory_doubles(&r->setup->memory, 3 * (size_t)MPM_LADLE_POINTS);
    uint32_t *index = ds_memory_take(&r->setup->memory, MPM_LADLE_INDICES, sizeof *index);
    if (mesh && point && index) {
        mpm_ladle_mesh(tool->size[0], tool->size[1], point, index);
        *mesh = (mpm_tool_mesh){
            .points = MPM_LADLE_POINTS, .indices = MPM_LADLE_INDICES, .point = point, .index = index};
        tool->mesh = mesh;
    }
}

/* of: the number of the tool, NOT_A_TOOL for a region. */
static void read_tool_size(reader *r, const scene_section *s, uint32_t of, mpm_tool *tool)
{
    const meaning edges = {.kind = MPM_TOOL_SIZE, .of = of, .factor = 0.5, .unit = "m"};
    double *size = tool->size;
    switch (tool->shape) {
    case MPM_BOX:
        if (scene_needs(r->f, s, "size") && of != NOT_A_TOOL) {
            quantities(r, s, "size", 3, true, &edges, 1e-4, most_size, size);
        } else {
            scene_numbers(r->f, s, "size", 3, true, 1e-4, most_size, size);
        }
        for (int d = 0; d < 3; d++) {
            size[d] *= 0.5;
        }
        break;
    case MPM_MESH:
        read_tool_mesh(r, s, tool);
        break;
    case MPM_CYLINDER:
        size[0] = tool_size_of(r, s, "radius", of, 0, 1.0);
        size[1] = tool_size_of(r, s, "height", of, 1, 0.5);
        break;
    case MPM_TORUS:
        size[0] = tool_size_of(r, s, "radius", of, 0, 1.0);
        size[1] = tool_size_of(r, s, "tube", of, 1, 1.0);
        break;
    case MPM_LADLE:
        size[0] = tool_size_of(r, s, "radius", of, 0, 1.0);
        size[1] = tool_size_of(r, s, "thickness", of, 1, 0.5);
        draw_ladle(r, tool);
        break;
    default:
        size[0] = tool_size_of(r, s, "radius", of, 0, 1.0);
        size[1] = tool->shape == MPM_SPHERE ? 0.0 : tool_size_of(r, s, "length", of, 1, 1.0);
        break;
    }
}

/* A tool that moves must do so, from a place in its bounds. */
static void check_motion(reader *r, const scene_section *s, const mpm_tool *tool)
{
    double fastest = 0.0;
    for (uint32_t i = 0; i < tool->action_dim; i++) {
        fastest = fmax(fastest, tool->scale[i]);
    }
    if (fastest == 0.0) {
        scene_fail(r->f, s, "speed", "the tool moves at a speed of 0: give a speed, or move = none");
    }
    for (int d = 0; d < 3 && !scene_failed(r->f); d++) {
        const double at = tool->start.position[d], low = tool->lower[d],
                     high = scene_has(r->f, s, "upper") ? tool->upper[d] : fmin(tool->upper[d], r->size[d]);
        if (!(at >= low && at <= high)) {
            scene_fail(
                r->f, s, "position",
                "the tool begins at %.4g along %c, outside its bounds %.4g to %.4g (keys lower, upper)", at,
                "xyz"[d], low, high);
        }
    }
}

static void read_tool(reader *r, const scene_section *s)
{
    scene_file *f = r->f;
    mpm_task *task = &r->setup->task;
    mpm_scene *scene = &task->scene;
    bool turned;
    if (scene->n_tools == MPM_MAX_TOOLS) {
        scene_fail(f, s, NULL, "more than %d tools", MPM_MAX_TOOLS);
        return;
    }
    const uint32_t of = scene->n_tools;
    const meaning position = {.kind = MPM_TOOL_POSITION, .of = of, .unit = "m"},
                  rotation = {.kind = MPM_TOOL_ROTATION, .of = of, .unit = ""},
                  friction = {.kind = MPM_TOOL_FRICTION, .of = of, .unit = ""},
                  gap = {.kind = MPM_TOOL_GAP, .of = of, .unit = "m"};
    task->tool_names[scene->n_tools] = scene_name(s);
    mpm_tool *tool = &scene->tools[scene->n_tools++];
    tool->shape = scene_needs(f, s, "shape") ? scene_choice(f, s, "shape", tool_shapes, 0) : 0;
    read_tool_size(r, s, of, tool);
    tool->friction = quantity(r, s, "friction", &friction, 0.0, 1e3, 0.9);
    for (int d = 0; d < 3; d++) {
        tool->upper[d] = 1.0;
    }
    scene_numbers(f, s, "lower", 3, true, -most_size, most_size, tool->lower);
    scene_numbers(f, s, "upper", 3, true, -most_size, most_size, tool->upper);
    for (int d = 0; d < 3; d++) {
        if (!(tool->lower[d] < tool->upper[d])) {
            scene_fail(f, s, "upper", "upper must be above lower along %c", "xyz"[d]);
        }
    }
    if (scene_needs(f, s, "position")) {
        quantities(r, s, "position", 3, false, &position, -most_size, most_size, tool->start.position);
    }
    read_rotation(r, s, &rotation, tool->start.rotation, &turned);
    if (tool->shape == MPM_ROLLING_PIN) {
        tool->action_dim = 3;
    } else if (tool->shape == MPM_CHOPSTICKS) {
        tool->action_dim = 7;
        tool->start.gap = scene_needs(f, s, "gap") ? quantity(r, s, "gap", &gap, 1e-4, most_size, 1.0) : 1.0;
        tool->min_gap = scene_number(f, s, "min_gap", 0.0, most_size, tool->start.gap);
    } else {
        tool->action_dim = move_dims[scene_choice(f, s, "move", moves, 2)];
    }
    if (tool->action_dim > 0 && scene_needs(f, s, "speed")) {
        scene_numbers(f, s, "speed", tool->action_dim, true, 0.0, most_size, tool->scale);
        check_motion(r, s, tool);
    }
}

/* Refuses a tool that begins deep inside a body, which would throw the body apart; key `inside` allows it.
 * Looks at some of the particles. */
static void check_tools(reader *r)
{
    enum { LOOKED_AT = 20000 };
    const mpm_task *task = &r->setup->task;
    const mpm_scene *scene = &task->scene;
    const mpm_domain domain = task->domain ? *task->domain : mpm_domain_make(MPM_PRESET_FULL);
    const uint32_t all = mpm_particle_count(scene, &domain, 0), total = all < LOOKED_AT ? all : LOOKED_AT;
    const uint32_t count = mpm_particle_count(scene, &domain, total); /* a lattice has its own number */
    mpm_particle *particles = calloc((size_t)count + 1, sizeof *particles);
    if (!particles) {
        r->setup->memory.failed = true;
        return;
    }
    mpm_particles_make(scene, &domain, total, 0, particles);
    uint32_t t = 0;
    for (const scene_section *s = NULL; !scene_failed(r->f) && (s = scene_next(r->f, s, "tool")); t++) {
        const mpm_tool *tool = &scene->tools[t];
        const bool allowed = scene_choice(r->f, s, "inside", inside_names, 0) == 1;
        for (uint32_t b = 0, p = 0; b < scene->n_bodies; b++) {
            const uint32_t end = p + mpm_body_count(scene, &domain, total, b);
            double deepest = 0.0;
            for (; p < end; p++) {
                deepest = fmin(deepest, mpm_tool_distance(tool, &tool->start, particles[p].x));
            }
            if (deepest < -domain.dx && !allowed && !scene_failed(r->f)) {
                scene_fail(r->f, s, "position",
                           "tool %.47s begins %.3g m inside body %.47s: move one of them, or allow it by "
                           "inside = yes",
                           scene_name(s), -deepest, task->body_names[b]);
            }
        }
    }
    free(particles);
}

/* ---- target ---- */

/* A density as NumPy saves it: n x n x n numbers, the mass of each node. */
static void read_density(reader *r, const scene_section *s, const char *path)
{
    enum { LEAST_NODES = 8, MOST_NODES = 128 };
    uint64_t n[3] = {0};
    double sum = 0.0;
    double *density = read_array(r, s, path, 3, n);
    if (!density) {
        return;
    }
    if (n[0] < LEAST_NODES || n[0] > MOST_NODES || n[1] != n[0] || n[2] != n[0]) {
        scene_fail(r->f, s, "file", "%.200s: expected an array of n x n x n numbers, n from %d to %d", path,
                   LEAST_NODES, MOST_NODES);
        return;
    }
    for (uint64_t i = 0; i < n[0] * n[0] * n[0] && !scene_failed(r->f); i++) {
        sum += density[i];
        if (density[i] < 0.0) {
            scene_fail(r->f, s, "file", "%.200s: a mass is negative", path);
        }
    }
    if (!(sum > 0.0)) {
        scene_fail(r->f, s, "file", "%.200s: the density is zero everywhere", path);
    }
    r->setup->task.density = density;
    r->setup->task.n = (int)n[0];
}

static void read_target_file(reader *r, const scene_section *s)
{
    mpm_task *task = &r->setup->task;
    const char *given = scene_text(r->f, s, "file", ""), *path = scene_path(r->f, s, "file");
    char relative[SCENE_LINE + 8], found[4096];
    if (ends_with(given, ".npy")) {
        read_density(r, s, path);
        return;
    }
    if (!ends_with(given, ".targets")) {
        scene_fail(r->f, s, "file", "file = %.60s: expected a density (.npy) or a file of targets (.targets)",
                   given);
        return;
    }
    if (access(path, R_OK) != 0) {
        snprintf(relative, sizeof relative, "data/%.190s", given);
        if (r->host->resource(r->host, relative, found, sizeof found, NULL) != DS_OK) {
            scene_fail(r->f, s, "file", "%.200s cannot be read, and is not among the data of the plugins",
                       path);
            return;
        }
        char *copy = ds_memory_take(&r->setup->memory, strlen(found) + 1, 1);
        if (copy) {
            memcpy(copy, found, strlen(found) + 1);
        }
        path = copy;
    }
    task->target_path = path;
    r->setup->choices.variant = scene_whole(r->f, s, "variant", 1, MPM_TARGET_VARIANTS, 1);
}

/* [target NAME]: where body NAME goes. */
static void read_aim(reader *r, const scene_section *s, uint32_t b)
{
    scene_file *f = r->f;
    mpm_task *task = &r->setup->task;
    mpm_body *body = &task->scene.bodies[b];
    mpm_aim *aim = &body->aim;
    const char *around = scene_text(f, s, "around", "");
    bool shift = scene_numbers(f, s, "shift", 3, false, -most_size, most_size, aim->by);
    bool center = scene_numbers(f, s, "center", 3, false, -most_size, most_size, aim->by);
    if (shift + center + (around[0] != '\0') != 1) {
        scene_fail(f, s, NULL, "[target %s] needs one of: shift, center, around (a tool), or shape",
                   scene_name(s));
        return;
    }
    aim->kind = shift ? MPM_AIM_SHIFT : center ? MPM_AIM_CENTER : MPM_AIM_RING;
    if (around[0]) {
        while (aim->tool < task->scene.n_tools && strcmp(task->tool_names[aim->tool], around) != 0) {
            aim->tool++;
        }
        aim->radius = size_of(r, s, "radius");
        if (aim->tool == task->scene.n_tools || body->shape != MPM_BODY_BOX) {
            scene_fail(f, s, "around", "around names a tool that a box along x is bent around");
        }
    }
}

static void read_targets(reader *r)
{
    scene_file *f = r->f;
    mpm_task *task = &r->setup->task;
    const scene_section *whole = scene_find(f, "target", "");
    uint32_t n = whole != NULL, aims = 0;
    if (whole && scene_needs(f, whole, "file")) {
        read_target_file(r, whole);
    }
    for (const scene_section *s = NULL; (s = scene_next(f, s, "target"));) {
        if (s == whole) {
            continue;
        }
        uint32_t b = body_number(task, scene_name(s));
        n++;
        if (scene_has(f, s, "shape")) {
            read_body(r, s, &r->setup->shapes);
        } else if (b < task->scene.n_bodies) {
            read_aim(r, s, b);
            aims++;
        } else {
            scene_fail(f, s, NULL, "there is no [body %s]: name a body, or give the target a shape",
                       scene_name(s));
        }
    }
    task->no_target = n == 0;
    if (n > 0 && task->domain) {
        scene_fail(
            f, whole ? whole : scene_next(f, NULL, "target"), NULL,
            "a target is a density of the unit cube, and this scene has a section [grid]: use terms of "
            "the loss, [loss NAME]");
    } else if (n == 0 && task->terms.count == 0) {
        scene_fail(f, NULL, NULL, "section [target] is missing: it states where the material should go");
    } else if ((whole != NULL) + (aims > 0) + (r->setup->shapes.n_bodies > 0) > 1) {
        scene_fail(f, NULL, NULL,
                   "the target is a file, or bodies that move, or shapes; this scene has two of them");
    }
    task->shapes = r->setup->shapes.n_bodies > 0 ? &r->setup->shapes : NULL;
}

/* ---- terms of the loss ---- */

/* The number of the body that key `body` names; without the key the only one. */
static uint32_t read_term_body(reader *r, const scene_section *s)
{
    const mpm_task *task = &r->setup->task;
    const char *name = scene_text(r->f, s, "body", "");
    const uint32_t body = name[0] ? body_number(task, name) : 0;
    if (body >= task->scene.n_bodies || (!name[0] && task->scene.n_bodies > 1)) {
        scene_fail(r->f, s, name[0] ? "body" : NULL,
                   name[0] ? "section [body %.47s] is missing"
                           : "the key 'body' must name one of the bodies of the scene%.0s",
                   name);
        return 0;
    }
    return body;
}

static uint32_t tool_number(const mpm_task *task, const char *name)
{
    uint32_t t = 0;
    while (t < task->scene.n_tools && strcmp(task->tool_names[t], name) != 0) {
        t++;
    }
    return t;
}

/* The axes that count, "xz". */
static void read_along(reader *r, const scene_section *s, bool along[3])
{
    const char *axes = scene_text(r->f, s, "along", "xyz");
    if (!axes[0] || strspn(axes, "xyz") != strlen(axes)) {
        scene_fail(r->f, s, "along", "along = %.20s: expected some of the axes x, y, z, as in along = xz",
                   axes);
    }
    for (int d = 0; d < 3; d++) {
        along[d] = strchr(axes, "xyz"[d]) != NULL;
    }
}

static void read_center_term(reader *r, const scene_section *s, mpm_term *t)
{
    const mpm_task *task = &r->setup->task;
    const char *tool = scene_text(r->f, s, "tool", "");
    t->to_tool = tool[0] != '\0';
    t->tool = t->to_tool ? tool_number(task, tool) : 0;
    if (scene_numbers(r->f, s, "position", 3, false, -most_size, most_size, t->position) == t->to_tool) {
        scene_fail(r->f, s, NULL,
                   "a term 'center' needs either position or tool: where the centre of mass should be");
    } else if (t->to_tool && t->tool == task->scene.n_tools) {
        scene_fail(r->f, s, "tool", "section [tool %.47s] is missing", tool);
        t->tool = 0;
    }
    read_along(r, s, t->along);
}

static void read_height_term(reader *r, const scene_section *s, mpm_term *t)
{
    t->below = scene_has(r->f, s, "below");
    if (scene_has(r->f, s, "above") == t->below) {
        scene_fail(r->f, s, NULL, "a term 'height' needs either above or below: a height in m");
    }
    t->height = scene_number(r->f, s, t->below ? "below" : "above", -most_size, most_size, 0.0);
}

static void read_region_term(reader *r, const scene_section *s, mpm_term *t)
{
    bool turned;
    mpm_tool *region = &t->region;
    region->shape = scene_needs(r->f, s, "shape") ? scene_choice(r->f, s, "shape", tool_shapes, 0) : 0;
    if (region->shape > MPM_BOX && region->shape != MPM_MESH) {
        scene_fail(r->f, s, "shape", "a region is a sphere, capsule, cylinder, torus, box or mesh");
        return;
    }
    read_tool_size(r, s, NOT_A_TOOL, region);
    if (scene_needs(r->f, s, "position")) {
        scene_numbers(r->f, s, "position", 3, false, -most_size, most_size, region->start.position);
    }
    for (int d = 0; d < 3 && !scene_failed(r->f); d++) {
        const double at = region->start.position[d];
        if (!(at >= 0.0 && at <= r->size[d])) {
            scene_fail(r->f, s, "position", "the region is at %.4g along %c, the grid from 0 to %.4g", at,
                       "xyz"[d], r -> size[d]);
        }
    }
    read_rotation(r, s, NULL, region->start.rotation, &turned);
}

static void read_terms(reader *r)
{
    mpm_terms *terms = &r->setup->task.terms;
    for (const scene_section *s = NULL; (s = scene_next(r->f, s, "loss")) && !scene_failed(r->f);) {
        if (scene_name(s)[0] == '\0') {
            continue;
        }
        if (terms->count == MPM_MAX_TERMS) {
            scene_fail(r->f, s, NULL, "more than %d terms", MPM_MAX_TERMS);
            return;
        }
        mpm_term *t = &terms->term[terms->count++];
        t->name = scene_name(s);
        t->kind = scene_needs(r->f, s, "term") ? scene_choice(r->f, s, "term", term_names, 0) : 0;
        t->weight = scene_number(r->f, s, "weight", 0.0, 1e6, 1.0);
        t->body = read_term_body(r, s);
        if (t->kind == MPM_TERM_CENTER) {
            read_center_term(r, s, t);
        } else if (t->kind == MPM_TERM_HEIGHT) {
            read_height_term(r, s, t);
        } else {
            read_region_term(r, s, t);
        }
    }
}

/* ---- the rest ---- */

/* [grid]: a tank in SI units in place of the unit cube of a preset. */
static void read_grid(reader *r)
{
    scene_file *f = r->f;
    mpm_setup *setup = r->setup;
    const scene_section *s = scene_find(f, "grid", "");
    for (int d = 0; d < 3; d++) {
        r->size[d] = 1.0;
    }
    if (!s) {
        return;
    }
    if (scene_needs(f, s, "size")) {
        scene_numbers(f, s, "size", 3, true, 1e-3, most_size, r->size);
    }
    const double spacing =
        scene_needs(f, s, "spacing") ? scene_number(f, s, "spacing", 1e-5, 1.0, 0.02) : 0.02;
    const double dt = scene_needs(f, s, "dt") ? scene_number(f, s, "dt", 1e-7, 1.0, 5e-4) : 5e-4;
    const double step = scene_needs(f, s, "step") ? scene_number(f, s, "step", 1e-6, 10.0, 0.02) : 0.02;
    const double margin = scene_number(f, s, "margin", 0.0, 1.0, 0.001), substeps = floor(step / dt + 0.5);
    for (int d = 0; d < 3 && !scene_failed(f); d++) {
        const double cells = r->size[d] / spacing;
        if (fabs(cells - floor(cells + 0.5)) > 1e-6 || cells < 2.0 || cells > 120.0) {
            scene_fail(f, s, "size",
                       "%.6g m along %c are %.6g spacings: use a whole number of them, 2 to 120", r->size[d],
                       "xyz"[d], cells);
        } else if (margin > 0.25 * r->size[d]) {
            scene_fail(f, s, "margin", "margin is more than a quarter of the grid along %c", "xyz"[d]);
        }
    }
    if (!scene_failed(f) &&
        (substeps < 1.0 || substeps > 10000.0 || fabs(substeps * dt / step - 1.0) > 1e-6)) {
        scene_fail(f, s, "dt",
                   "a step of %.6g s must hold a whole number of time steps, 1 to 10000, not %.6g", step,
                   step / dt);
    }
    if (!scene_failed(f)) {
        const uint32_t steps = setup->choices.steps > 0 ? setup->choices.steps : 50;
        setup->domain = mpm_domain_tank(spacing, r->size, margin, dt, (int)substeps, steps);
        setup->task.domain = &setup->domain;
    }
}

/* Explicit steps explode where sound passes more than a cell in one (Courant, Friedrichs, Lewy). */
static void check_steps(const reader *r)
{
    const mpm_task *task = &r->setup->task;
    const mpm_domain domain = task->domain ? *task->domain : mpm_domain_make(MPM_PRESET_FULL);
    for (uint32_t i = 0; i < r->n_materials; i++) {
        const mpm_matter *m = &r->materials[i].matter;
        const double nu = m->poisson_ratio,
                     modulus = m->law == MPM_PLASTICINE || m->law == MPM_SAND
                                   ? m->youngs_modulus * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu))
                                   : m->modulus,
                     cells = sqrt(modulus / m->density) * domain.dt / domain.dx;
        if (cells > 1.0) {
            ds_host_say(
                r->host, DS_LOG_WARNING,
                "sound in material %s passes %.3g cells in a substep, which becomes unstable above 1: %s",
                r->materials[i].name, cells,
                task->domain ? "shorten dt of [grid], or make the material softer or denser"
                             : "make the material softer or denser");
        }
    }
}

static void read_general(reader *r)
{
    scene_file *f = r->f;
    mpm_scene *scene = &r->setup->task.scene;
    mpm_choices *c = &r->setup->choices;
    const scene_section *s = scene_find(f, "scene", ""), *actions = scene_find(f, "actions", ""),
                        *loss = scene_find(f, "loss", "");
    scene_text(f, s, "include", "");
    scene_text(f, s, "small", "");
    scene->gravity[1] = -1.0;
    quantities(r, s, "gravity", 3, false, &(meaning){.kind = MPM_GRAVITY, .unit = "m/s^2"}, -1e3, 1e3,
               scene->gravity);
    scene->ground_friction = quantity(r, s, "ground_friction",
                                      &(meaning){.kind = MPM_GROUND_FRICTION, .unit = ""}, 0.0, 1e6, 100.0);
    c->softness =
        quantity(r, s, "softness", &(meaning){.kind = MPM_SOFTNESS, .unit = "1/m"}, 0.0, 1e6, 666.0);
    for (uint32_t i = 0; i < r->setup->task.n_variables && !scene_failed(f); i++) {
        const mpm_variable *v = &r->setup->task.variables[i];
        if (v->kind == MPM_GROUND_FRICTION && !(v->lower > 0.0 && v->upper < MPM_STICKY_FRICTION)) {
            scene_fail(
                f, s, "ground_friction",
                "as a variable ground_friction must stay above 0 and below %g, from where on the floor "
                "holds",
                MPM_STICKY_FRICTION);
        } else if (v->kind == MPM_SOFTNESS && !(v->lower > 0.0)) {
            scene_fail(f, s, "softness", "as a variable softness must stay above 0");
        }
    }
    c->steps = scene_whole(f, actions, "steps", 1, 1000, 0);
    c->segments = scene_whole(f, actions, "segments", 1, 1000, 5);
    r->setup->task.motion = scene_choice(f, actions, "motion", motion_names, MPM_MOTION_PIECES);
    r->setup->task.velocity = scene_choice(f, actions, "control", control_names, 0) == 1;
    read_grid(r);
    c->loss = scene_choice(f, loss, "states", loss_names, 0);
    c->soft_contact = scene_choice(f, loss, "contact_measure", contact_names, 0) == 0;
    c->weight_density = scene_number(f, loss, "density", 0.0, 1e6, 10.0);
    c->weight_sdf = scene_number(f, loss, "distance", 0.0, 1e6, 10.0);
    c->weight_contact = scene_number(f, loss, "contact", 0.0, 1e6, 40.0);
    c->variant = 1;
}

static const scene_key camera_keys[] = {{"camera", "position", "camera"},
                                        {"camera", "look_at", "look_at"},
                                        {"camera", "size", "image_size"},
                                        {"camera", "threads", "image_threads"},
                                        {"camera", "disc_radius", "disc_radius"},
                                        {"camera", "disc_opacity", "disc_opacity"},
                                        {"loss", "frames", "frames"},
                                        {"loss", "images", "target_image"},
                                        {NULL, NULL, NULL}};

ds_status mpm_setup_read(mpm_setup *setup, scene_file *file, const ds_host *host)
{
    reader r = {.setup = setup, .f = file, .host = host};
    if (!file) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for the scene");
    }
    setup->file = file;
    scene_kinds(file, kinds);
    scene_variables(file, can_vary);
    read_general(&r);
    for (const scene_section *s = NULL; (s = scene_next(file, s, "material"));) {
        read_material(&r, s);
    }
    read_bodies(&r);
    for (const scene_section *s = NULL; (s = scene_next(file, s, "tool"));) {
        read_tool(&r, s);
    }
    if (!scene_failed(file) && mpm_action_dim(&setup->task.scene) == 0 && setup->task.n_variables == 0) {
        scene_fail(file, NULL, NULL, "nothing can be optimized: no tool moves, and no number is a variable");
    }
    if (!scene_failed(file)) {
        check_tools(&r);
        check_steps(&r);
    }
    if (!scene_failed(file)) {
        read_terms(&r);
    }
    if (!scene_failed(file)) {
        read_targets(&r);
    }
    if (!scene_failed(file)) {
        scene_params_open(&setup->cameras, file, host, mpm_image_params, camera_keys, &setup->memory);
    }
    scene_done(file);
    if (setup->memory.failed) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for the scene");
    }
    return scene_failed(file) ? ds_host_fail(host, DS_E_DATA, "%s", scene_error(file)) : DS_OK;
}

/* ---- a body alone ---- */

/* Points of a .ply file without faces, or points inside a closed mesh; `error` receives what is wrong. */
static bool fill(mpm_setup *setup, const mpm_filling *filling, mpm_body *body, char error[SURFACE_ERROR])
{
    surface inside;
    fem_mesh mesh;
    if (ends_with(filling->path, ".ply")) {
        if (fem_read_points(&mesh, filling->path, error) != 0) {
            return false;
        }
        if (mesh.triangles == 0 && mesh.points <= MOST_PARTICLES) {
            double *points = ds_memory_doubles(&setup->memory, 3 * mesh.points + 1);
            for (size_t i = 0; points && i < 3 * mesh.points; i++) {
                points[i] = mesh.point[i] * filling->scale;
            }
            body->points = points;
            body->count = points ? (uint32_t)mesh.points : 0;
        }
        const bool done = mesh.triangles == 0, many = mesh.points > MOST_PARTICLES;
        const size_t count = mesh.points;
        fem_mesh_free(&mesh);
        if (done && many) {
            snprintf(error, SURFACE_ERROR, "%.200s: %zu points: use at most %d", filling->path, count,
                     MOST_PARTICLES);
        }
        if (done) {
            return !many;
        }
    }
    if (surface_read(&inside, filling->path, filling->scale, error) != 0) {
        return false;
    }
    draw_inside(&setup->memory, &inside, filling->count, 0, body);
    surface_free(&inside);
    return true;
}

ds_status mpm_setup_fill(mpm_setup *setup, const mpm_filling *filling, const ds_host *host)
{
    mpm_scene *scene = &setup->task.scene;
    mpm_body *body = &scene->bodies[0];
    char error[SURFACE_ERROR] = "";
    double low[3], high[3];
    scene->gravity[1] = -1.0;
    scene->youngs_modulus = 5000.0;
    scene->poisson_ratio = 0.2;
    scene->yield_stress = 50.0;
    scene->n_bodies = 1;
    scene->n_tools = 1;
    scene->tools[0] = (mpm_tool)MPM_MOVED_BALL(0.01, 0.0, 0.9, 0.9, 0.9);
    body->shape = MPM_BODY_POINTS;
    body->rotation[0] = 1.0;
    memcpy(body->center, filling->center, sizeof body->center);
    setup->choices = (mpm_choices){.variant = 1, .steps = 1, .segments = 1, .loss = MPM_LOSS_FINAL};
    if (!fill(setup, filling, body, error)) {
        return ds_host_fail(host, DS_E_DATA, "fill: %s", error);
    }
    if (setup->memory.failed) {
        return ds_host_fail(host, DS_E_NOMEM, "no memory for the particles");
    }
    box_of(body, low, high);
    for (int d = 0; d < 3; d++) {
        if (!(low[d] >= 0.0) || !(high[d] <= 1.0)) {
            return ds_host_fail(
                host, DS_E_DATA,
                "fill: %.200s reaches from %.4g to %.4g along %c, the grid from 0 to 1: change "
                "its scale or its centre",
                filling->path, low[d], high[d], "xyz"[d]);
        }
    }
    return DS_OK;
}

scene_file *mpm_setup_file(const char *path, bool is_small)
{
    scene_file *whole = scene_file_read(path);
    if (!whole || !is_small || scene_failed(whole)) {
        return whole;
    }
    const char *other = scene_path(whole, scene_find(whole, "scene", ""), "small");
    if (!other[0]) {
        return whole;
    }
    scene_file *file = scene_file_read(other);
    scene_file_free(whole);
    return file;
}

void mpm_setup_free(mpm_setup *setup)
{
    scene_file_free(setup->file);
    ds_memory_free(&setup->memory);
    memset(setup, 0, sizeof *setup);
}
