/* SPDX-License-Identifier: Apache-2.0 */
/* setup_cloth.c - sheets of membrane in scene files: grids and meshes of triangles, regions, anchors. */
#include "engines/physics/soft/scene/setup_bodies.h"

#include "engines/physics/fem/read.h"
#include "engines/physics/soft/materials.h"

#include <math.h>
#include <string.h>

enum { MOST_CELLS = 500, MOST_TRIANGLES = 200000, SHAPE_GRID = 0 };

static const char *const shapes[] = {"grid", "mesh", NULL};

/* ---- meshes ---- */

/* Cells with the sides `cell_a` and `cell_b` from the corner, or in the plane y = 0 about the origin. */
static ds_status make_grid(setup_reader *r, const scene_section *s, body *of, fem_mesh *mesh,
                           const char **where_key)
{
    const bool skew = scene_has(r->f, s, "cell_a");
    double cells[2] = {20, 20}, *size = of->shape->built, a[3] = {0}, b[3] = {0};
    scene_numbers(r->f, s, "cells", 2, true, 1, MOST_CELLS, cells);
    for (int d = 0; d < 2; d++) {
        if (cells[d] != floor(cells[d])) {
            scene_fail(r->f, s, "cells", "cells = %.9g is not a whole number", cells[d]);
        }
    }
    if (2 * cells[0] * cells[1] > MOST_TRIANGLES) {
        scene_fail(r->f, s, "cells", "%.0f cells have two triangles each, more than %d together: use fewer",
                   cells[0] * cells[1], MOST_TRIANGLES);
    }
    of->modes = skew ? SETUP_MODES_SIDES : SETUP_MODES_PLANE;
    of->shape->modes = skew ? 6 : 2;
    of->row = (size_t)cells[0];
    if (skew != scene_has(r->f, s, "cell_b") || skew == scene_has(r->f, s, "size")) {
        scene_fail(r->f, s, NULL, "[cloth %s] needs size (two lengths), or cell_a and cell_b", scene_name(s));
    }
    if (skew) {
        setup_shape_numbers(r, s, of, "cell_a", "m", 0, 3, -setup_most_size, setup_most_size);
        setup_shape_numbers(r, s, of, "cell_b", "m", 3, 3, -setup_most_size, setup_most_size);
    } else {
        setup_shape_numbers(r, s, of, "size", "m", 0, 2, 1e-6, setup_most_size);
    }
    if (scene_failed(r->f)) {
        return DS_OK;
    }
    if (skew) {
        memcpy(a, size, sizeof a);
        memcpy(b, size + 3, sizeof b);
    } else {
        a[0] = size[0] / cells[0];
        b[2] = -size[1] / cells[1]; /* the front of the cloth looks up */
    }
    *where_key = skew ? "corner" : "center";
    const ds_status status = fem_mesh_grid(mesh, (size_t)cells[0], (size_t)cells[1], a, b);
    for (size_t i = 0; i < 3 * mesh->points && !skew; i++) {
        mesh->point[i] -= i % 3 == 0 ? 0.5 * size[0] : i % 3 == 2 ? -0.5 * size[1] : 0;
    }
    return status;
}

static ds_status make_from_file(setup_reader *r, const scene_section *s, body *b, fem_mesh *mesh)
{
    char why[FEM_READ_ERROR];
    b->shape->modes = 1;
    b->shape->built[0] = 1;
    setup_shape_numbers(r, s, b, "scale", "", 0, 1, 1e-6, 1e6);
    const double scale = b->shape->built[0];
    if (!scene_needs(r->f, s, "file") || scene_failed(r->f)) {
        return DS_OK;
    }
    const int failed = fem_read_mesh(mesh, scene_path(r->f, s, "file"), why);
    if (failed == 2) {
        return DS_E_NOMEM;
    }
    if (failed) {
        scene_fail(r->f, s, "file", "%s", why);
    } else if (mesh->tets > 0 || mesh->triangles == 0) {
        scene_fail(r->f, s, "file", "a cloth needs a mesh of triangles (OBJ, STL or PLY)");
    } else if (mesh->triangles > MOST_TRIANGLES) {
        scene_fail(r->f, s, "file", "the mesh has %zu triangles, more than %d: use a coarser one",
                   mesh->triangles, MOST_TRIANGLES);
    }
    for (size_t i = 0; i < 3 * mesh->points && !scene_failed(r->f); i++) {
        mesh->point[i] *= scale;
        if (!(fabs(mesh->point[i]) <= setup_most_size)) {
            scene_fail(r->f, s, "file", "the mesh reaches %.3g m, more than %g: set scale", mesh->point[i],
                       setup_most_size);
        }
    }
    return DS_OK;
}

/* One velocity for all particles, or variables for each of them. */
static void read_velocities(setup_reader *r, const scene_section *s, fem_placing *where, body_variable **v)
{
    body_variable *each;
    if (setup_vector(r, s, "velocity", "m/s", -1e3, 1e3, where->velocity, v)) {
        (*v)->kind = BODY_VARIABLE_VELOCITY;
    }
    if (!scene_has(r->f, s, "velocities")) {
        return;
    }
    if (*v || scene_failed(r->f)) {
        scene_fail(r->f, s, "velocities",
                   "velocity and velocities set the same numbers: remove one variable");
        return;
    }
    double one[3] = {where->velocity[0], where->velocity[1], where->velocity[2]};
    if (!setup_vector(r, s, "velocities", "m/s", -1e3, 1e3, one, &each) || each->axes) {
        scene_fail(
            r->f, s, "velocities",
            "velocities of all vertices are variables: write variable LOWER..UPPER [start VALUE] random "
            "WIDTH (0 = all start alike)");
        return;
    }
    each->kind = BODY_VARIABLE_VELOCITIES;
    r->variable[r->variables - 1].has_truth = 1; /* the key velocity */
    *v = each;
}

static void check_masses(setup_reader *r, const scene_section *s, const body *b)
{
    for (size_t i = 0; i < b->particles && !scene_failed(r->f); i++) {
        if (r->soft->model.mass[b->particle + i] > 0) {
            continue;
        }
        if (b->of->density > 0) {
            scene_fail(r->f, s, "file", "vertex %zu belongs to no triangle: remove it from the mesh", i + 1);
        } else {
            scene_fail(r->f, b->of->section, "density", "a membrane needs density or mass above 0");
        }
    }
}

void setup_cloth(setup_reader *r, const scene_section *s)
{
    fem_mesh mesh = {0};
    fem_placing where = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0};
    const char *where_key = "center";
    body_variable *v[2] = {NULL, NULL};
    if (r->n_bodies == SETUP_BODIES) {
        scene_fail(r->f, s, NULL, "more than %d bodies", SETUP_BODIES);
        return;
    }
    body *b = &r->bodies[r->n_bodies];
    b->section = s;
    b->shape = &r->setup->shape[r->n_bodies++];
    b->of = setup_material_of(r, s);
    if (!b->of->membrane && !scene_failed(r->f)) {
        scene_fail(r->f, b->of->section, "law", "the material of a cloth needs law = membrane");
    }
    const uint32_t shape = scene_choice(r->f, s, "shape", shapes, SHAPE_GRID);
    const ds_status made =
        shape == SHAPE_GRID ? make_grid(r, s, b, &mesh, &where_key) : make_from_file(r, s, b, &mesh);
    r->soft->model.status = r->soft->model.status != DS_OK ? r->soft->model.status : made;
    v[1] = setup_center(r, s, where_key, where.position);
    setup_rotation(r, s, b, 1, &where);
    read_velocities(r, s, &where, &v[0]);
    if (!scene_failed(r->f) && made == DS_OK) {
        setup_modes(r, b, &mesh);
        setup_place(r, s, b, &mesh, &where, v);
        check_masses(r, s, b);
    }
    fem_mesh_free(&mesh);
}

/* ---- regions ---- */

/* Is the middle of the edge between the particles i and j in the part? */
static int holds_edge(const setup_reader *r, const part *p, uint32_t i, uint32_t j)
{
    const double *q = r->soft->model.q;
    double middle[3];
    for (size_t d = 0; d < 3; d++) {
        middle[d] = 0.5 * (q[3 * (size_t)i + d] + q[3 * (size_t)j + d]);
    }
    return i >= p->of->particle && i < p->of->particle + p->of->particles && setup_inside(p, middle);
}

/* What a region sets: its elements, and its triangles that have its density. */
typedef struct region_marks {
    uint8_t *triangles, *edges, *denser;
} region_marks;

/* Opens the marks; v: variables of stiffness and density, or NULL. Returns 0 without memory. */
static int mark_region(setup_reader *r, double factor, double density, body_variable *const v[2],
                       region_marks *out)
{
    const fem_model *m = &r->soft->model;
    ds_memory *room = &r->setup->memory;
    body_material *own = ds_memory_take(room, 2, sizeof *own);
    out->triangles = ds_memory_take(room, m->triangles + 1, 1);
    out->edges = ds_memory_take(room, m->edges + 1, 1);
    out->denser = ds_memory_take(room, m->triangles + 1, 1);
    double *share = ds_memory_doubles(room, m->particles + 1);
    if (room->failed) {
        return 0;
    }
    own[0] = (body_material){.factor = factor, .triangles = out->triangles, .edges = out->edges};
    own[1] = (body_material){.density = density, .triangles = out->denser, .share = share};
    for (int k = 0; k < 2; k++) {
        if (v[k] != NULL) {
            v[k]->material = &own[k];
        }
    }
    return 1;
}

/* Forces of an element are proportional to its size at rest: a stiffer region counts as a larger one. */
void setup_cloth_region(setup_reader *r, const scene_section *s, const part *p)
{
    fem_model *m = &r->soft->model;
    const material *to = scene_has(r->f, s, "material") ? setup_material_of(r, s) : p->of->of;
    region_marks of;
    body_variable *v[2];
    const double factor = setup_quantity(r, s, "stiffness", "", BODY_VARIABLE_FACTOR, 1e-6, 1e6, 1, &v[0]);
    const double density =
        setup_quantity(r, s, "density", "kg/m^2", BODY_VARIABLE_MATERIAL_DENSITY, 0, 1e6, to->density, &v[1]);
    size_t count = 0;
    if (!mark_region(r, factor, density, v, &of)) {
        return;
    }
    if (!to->membrane || (to != p->of->of && to->mass > 0)) {
        scene_fail(r->f, s, "material",
                   to->membrane ? "the material of a region has a density: its mass is that of each vertex"
                                : "the material of a part of a cloth needs law = membrane");
    }
    for (size_t t = p->of->triangle; t < p->of->triangle + p->of->triangles && !scene_failed(r->f); t++) {
        if (!setup_holds_triangle(r, p, t)) {
            continue;
        }
        m->triangle_sheet[t] = to->sheet;
        m->triangle_factor[t] *= factor;
        of.triangles[t] = 1;
        r->sheet_density[t] = density;
        if (r->sheet_own[t] != NULL) { /* the last region counts */
            r->sheet_own[t][t] = 0;
        }
        r->sheet_own[t] = scene_has(r->f, s, "density") ? of.denser : NULL;
        of.denser[t] = scene_has(r->f, s, "density");
        count++;
    }
    for (size_t e = 0; e < m->edges && !scene_failed(r->f); e++) {
        if (holds_edge(r, p, m->edge[4 * e + 2], m->edge[4 * e + 3])) {
            m->edge_factor[e] *= factor;
            of.edges[e] = 1;
            m->edge_sheet[e] = to->sheet;
        }
    }
    r->sheet_divided = 1;
    if (count == 0) {
        scene_fail(r->f, s, NULL, "none of the %zu triangles of [cloth %s] is in this region",
                   p->of->triangles, scene_name(p->of->section));
    }
}

/* ---- anchors ---- */

/* The vertex of the body that key `vertex` numbers, or the one nearest to the point of key `near`. */
static size_t vertex_of(setup_reader *r, const scene_section *s, const body *b)
{
    double at[3] = {0, 0, 0}, least = HUGE_VAL;
    size_t best = 0;
    const double most = b->particles > 0 ? (double)b->particles - 1 : 0;
    const double number = scene_number(r->f, s, "vertex", 0, most, 0);
    const bool near = scene_numbers(r->f, s, "near", 3, false, -setup_most_size, setup_most_size, at);
    if (near == scene_has(r->f, s, "vertex")) {
        scene_fail(r->f, s, NULL, "[anchor %s] needs vertex (its number), or near (a point)", scene_name(s));
    }
    for (size_t i = 0; near && i < b->particles; i++) {
        const double *q = r->soft->model.q + 3 * (b->particle + i);
        const double off = (q[0] - at[0]) * (q[0] - at[0]) + (q[1] - at[1]) * (q[1] - at[1]) +
                           (q[2] - at[2]) * (q[2] - at[2]);
        best = off < least ? i : best;
        least = fmin(least, off);
    }
    return b->particle + (near ? best : (size_t)number);
}

static size_t count_anchors(setup_reader *r)
{
    size_t n = 0;
    for (const scene_section *s = NULL; (s = scene_next(r->f, s, "anchor"));) {
        n++;
    }
    return n;
}

void setup_anchor(setup_reader *r, const scene_section *s)
{
    fem_model *m = &r->soft->model;
    const body *b = setup_body_of(r, s, NULL);
    double offset[3] = {0, 0, 0}, at[3];
    if (scene_failed(r->f)) {
        return;
    }
    const size_t i = vertex_of(r, s, b);
    body_variable *shift = setup_center(r, s, "offset", offset);
    const size_t from = r->variables;
    const double ke = setup_quantity(r, s, "stiffness", "N/m", BODY_VARIABLE_SPRING_KE, 0, 1e9, 1e4, NULL);
    const double kd = setup_quantity(r, s, "damping", "N s/m", BODY_VARIABLE_SPRING_KD, 0, 1e9, 10, NULL);
    const double rest =
        setup_quantity(r, s, "rest", "m", BODY_VARIABLE_SPRING_REST, 0, setup_most_size, -1, NULL);
    if (scene_failed(r->f)) {
        return;
    }
    uint8_t *of = ds_memory_take(&r->setup->memory, count_anchors(r), 1);
    for (size_t k = from; of != NULL && k < r->variables; k++) {
        of[m->springs] = 1; /* the next one */
        r->setup->variable[k].of = of;
        r->setup->variable[k].first = m->springs;
    }
    for (size_t d = 0; d < 3; d++) {
        at[d] = m->q[3 * i + d] + offset[d];
    }
    const uint32_t a = fem_add_particle(m, at, (double[3]){0, 0, 0}, 1);
    if (m->status == DS_OK) {
        m->fixed[a] = 1;
        fem_add_spring(m, a, (uint32_t)i, ke, kd, rest);
    }
    uint8_t *point = shift != NULL ? ds_memory_take(&r->setup->memory, FEM_MOST_POINTS, 1) : NULL;
    if (point != NULL && m->status == DS_OK) {
        point[a] = 1;
        shift->of = point;
    }
}
