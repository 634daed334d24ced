/* SPDX-License-Identifier: Apache-2.0 */
/* setup_bodies.c - materials, bodies and their parts in scene files (see setup_bodies.h). */
#include "engines/physics/soft/scene/setup_bodies.h"

#include "engines/physics/fem/read.h"
#include "engines/physics/soft/materials.h"

#include <diffsim/helper/nearest.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CELLS = 200, MOST_TETS = 500000 };

static const char *const laws[] = {"solid", "membrane", NULL};
static const char *const shapes[] = {"box", "ball", "gear", "walker", "mesh", NULL};

enum { SHAPE_BOX, SHAPE_BALL, SHAPE_GEAR, SHAPE_WALKER, SHAPE_MESH };

/* ---- materials ---- */

static void read_elastic(setup_reader *r, const scene_section *s, material *m)
{
    body_variable *v[4] = {NULL};
    m->engineering = scene_has(r->f, s, "youngs_modulus") || scene_has(r->f, s, "poisson_ratio");
    if (m->engineering && (scene_has(r->f, s, "mu") || scene_has(r->f, s, "lambda"))) {
        scene_fail(r->f, s, scene_has(r->f, s, "mu") ? "mu" : "lambda",
                   "a material has youngs_modulus and poisson_ratio, or mu and lambda: remove one pair");
        return;
    }
    if (m->engineering) {
        m->constants->youngs_modulus = setup_quantity(r, s, "youngs_modulus", "Pa", BODY_VARIABLE_YOUNGS, 1,
                                                      setup_most_stiffness, 1e4, &v[0]);
        m->constants->poisson_ratio =
            setup_quantity(r, s, "poisson_ratio", "", BODY_VARIABLE_POISSON, 0, 0.499, 0.4, &v[1]);
        body_material_law(m->constants->youngs_modulus, m->constants->poisson_ratio, &m->law);
    } else {
        m->law.mu =
            setup_quantity(r, s, "mu", "Pa", BODY_VARIABLE_SOLID_MU, 1e-3, setup_most_stiffness, 1000, &v[0]);
        m->law.lambda = setup_quantity(r, s, "lambda", "Pa", BODY_VARIABLE_SOLID_LAMBDA, 1e-3,
                                       setup_most_stiffness, 1000, &v[1]);
    }
    m->law.kd = setup_quantity(r, s, "damping", "Pa s", BODY_VARIABLE_SOLID_KD, 0, 1e9, 1, &v[2]);
    m->density =
        setup_quantity(r, s, "density", "kg/m^3", BODY_VARIABLE_MATERIAL_DENSITY, 1e-6, 1e6, 1000, &v[3]);
    m->constants->density = m->density;
    for (int i = 0; i < 4; i++) { /* body_variable.of and .material follow in setup_end_materials() */
        if (v[i] != NULL) {
            v[i]->material = m->constants;
        }
    }
}

/* Variables of the constants of a membrane set those of its sheet. */
static void of_sheet(setup_reader *r, const material *m, size_t from)
{
    uint8_t *of = ds_memory_take(&r->setup->memory, FEM_MOST_SHEETS, 1);
    for (size_t k = from; of != NULL && k < r->variables; k++) {
        of[m->sheet] = 1;
        r->setup->variable[k].of = of;
        r->setup->variable[k].first = m->sheet;
    }
}

static void read_membrane(setup_reader *r, const scene_section *s, material *m)
{
    fem_model *model = &r->soft->model;
    size_t membranes = 0;
    for (const material *other = r->materials; other < m; other++) {
        membranes += other->membrane ? 1 : 0;
    }
    m->sheet = (uint8_t)membranes;
    model->sheets = membranes + 1;
    fem_membrane *to = &model->membrane[m->sheet];
    fem_bending *bending = &model->bending[m->sheet];
    body_variable *v, *w;
    const size_t from = r->variables;
    to->mu =
        setup_quantity(r, s, "stretch", "N/m", BODY_VARIABLE_STRETCH, 0, setup_most_stiffness, 1e4, NULL);
    to->lambda = setup_quantity(r, s, "area", "N/m", BODY_VARIABLE_AREA, 0, setup_most_stiffness, 1e4, NULL);
    to->kd = setup_quantity(r, s, "damping", "N s/m", BODY_VARIABLE_AREA_KD, 0, 1e9, 100, NULL);
    to->lift = setup_quantity(r, s, "lift", "N s^2/m^4", BODY_VARIABLE_LIFT, 0, 1e6, 0, NULL);
    to->drag = setup_quantity(r, s, "drag", "N s^2/m^4", BODY_VARIABLE_DRAG, 0, 1e6, 0, NULL);
    bending->ke = setup_quantity(r, s, "bend", "N/rad", BODY_VARIABLE_BEND, 0, setup_most_stiffness, 0, &v);
    bending->kd = setup_quantity(r, s, "bend_damping", "N s/rad", BODY_VARIABLE_BEND_KD, 0, 1e9, 0, &w);
    m->bends = bending->ke > 0 || bending->kd > 0 || v != NULL || w != NULL;
    of_sheet(r, m, from);
    m->mass = setup_quantity(r, s, "mass", "kg", BODY_VARIABLE_MATERIAL_DENSITY, 0, 1e6, 0, &v);
    m->density = setup_quantity(r, s, "density", "kg/m^2", BODY_VARIABLE_MATERIAL_DENSITY, 0, 1e6,
                                m->mass > 0 ? 0 : 1, &w);
    m->by_vertex->density = m->mass;
    m->constants->density = m->density;
    if (v != NULL) {
        v->material = m->by_vertex;
    }
    if (w != NULL) {
        w->material = m->constants;
    }
}

void setup_materials(setup_reader *r)
{
    for (const scene_section *s = NULL; (s = scene_next(r->f, s, "material"));) {
        if (r->n_materials == SETUP_MATERIALS) {
            scene_fail(r->f, s, NULL, "more than %d materials", SETUP_MATERIALS);
            return;
        }
        material *m = &r->materials[r->n_materials++];
        m->section = s;
        m->constants = &r->setup->material[r->n_materials - 1];
        m->by_vertex = &r->setup->by_vertex[r->n_materials - 1];
        m->membrane = scene_choice(r->f, s, "law", laws, 0) == 1;
        if (m->membrane) {
            read_membrane(r, s, m);
        } else {
            read_elastic(r, s, m);
        }
    }
    if (r->n_materials == 0) {
        scene_fail(r->f, NULL, NULL, "section [material] is missing");
    }
    for (size_t i = 0; i < r->n_materials; i++) { /* a region may bend where its body does not */
        for (size_t k = 0; k < r->n_materials && r->materials[i].membrane; k++) {
            r->materials[i].bends |= r->materials[k].membrane && r->materials[k].bends;
        }
    }
}

/* "there is low, high; did you mean 'low'?" */
static const char *among(const char *word, const char *const *names, size_t n, char *out, size_t size)
{
    const char *near = ds_nearest(word, names, n);
    size_t used = (size_t)snprintf(out, size, "there is");
    for (size_t i = 0; i < n && used < size; i++) {
        used += (size_t)snprintf(out + used, size - used, "%s %s", i > 0 ? "," : "", names[i]);
    }
    if (near != NULL && used < size) {
        snprintf(out + used, size - used, "; did you mean '%s'?", near);
    }
    return out;
}

material *setup_material_of(setup_reader *r, const scene_section *s)
{
    const char *name = scene_text(r->f, s, "material", r->n_materials == 1 ? NULL : ""),
               *names[SETUP_MATERIALS];
    char list[300];
    for (size_t i = 0; i < r->n_materials; i++) {
        names[i] = scene_name(r->materials[i].section);
        if (name != NULL && strcmp(names[i], name) == 0) {
            return &r->materials[i];
        }
    }
    if (name != NULL && name[0] == '\0' && !scene_has(r->f, s, "material")) {
        scene_fail(r->f, s, NULL, "[%s] needs the key 'material': %s", scene_name(s),
                   among("", names, r->n_materials, list, sizeof list));
    } else if (name != NULL && r->n_materials == 1 && names[0][0] == '\0') {
        scene_fail(r->f, s, "material", "material = %s, but the only [material] has no name: remove the key",
                   name);
    } else if (name != NULL) {
        scene_fail(r->f, s, "material", "section [material %s] is missing: %s", name,
                   among(name, names, r->n_materials, list, sizeof list));
    }
    return &r->materials[0];
}

/* ---- bodies ---- */

/* A box of cells about the origin. */
static ds_status make_box(setup_reader *r, const scene_section *s, body *b, fem_mesh *mesh)
{
    const double *size = b->shape->built;
    double cells[3] = {0}, cell[3];
    if (!scene_needs(r->f, s, "size") || !scene_needs(r->f, s, "cells")) {
        return DS_OK;
    }
    b->modes = SETUP_MODES_AXES;
    b->shape->modes = 3;
    setup_shape_numbers(r, s, b, "size", "m", 0, 3, 1e-6, setup_most_size);
    scene_numbers(r->f, s, "cells", 3, true, 1, MOST_CELLS, cells);
    for (int d = 0; d < 3; d++) {
        if (cells[d] != floor(cells[d])) {
            scene_fail(r->f, s, "cells", "cells = %.9g is not a whole number", cells[d]);
        }
        cell[d] = size[d] / cells[d];
    }
    if (5 * cells[0] * cells[1] * cells[2] > MOST_TETS) {
        scene_fail(r->f, s, "cells",
                   "%.0f cells have five tetrahedra each, more than %d together: use fewer cells",
                   cells[0] * cells[1] * cells[2], MOST_TETS);
    }
    if (scene_failed(r->f)) {
        return DS_OK;
    }
    const ds_status status = fem_mesh_block(mesh, (size_t)cells[0], (size_t)cells[1], (size_t)cells[2], cell);
    for (size_t i = 0; i < 3 * mesh->points; i++) {
        mesh->point[i] -= size[i % 3] / 2;
    }
    return status;
}

/* Drops the vertices that no tetrahedron uses:
 * centres of arcs in Gmsh files, for example. They have no mass. */
static ds_status drop_unused(fem_mesh *mesh)
{
    uint32_t *to = calloc(mesh->points + 1, sizeof *to), count = 0;
    uint8_t *used = calloc(mesh->points + 1, 1);
    if (to == NULL || used == NULL) {
        free(to);
        free(used);
        return DS_E_NOMEM;
    }
    for (size_t i = 0; i < 4 * mesh->tets; i++) {
        used[mesh->tet[i]] = 1;
    }
    for (size_t i = 0; i < mesh->points; i++) {
        if (used[i]) {
            memmove(mesh->point + 3 * (size_t)count, mesh->point + 3 * i, 3 * sizeof *mesh->point);
            to[i] = count++;
        }
    }
    for (size_t i = 0; i < 4 * mesh->tets; i++) {
        mesh->tet[i] = to[mesh->tet[i]];
    }
    size_t faces = 0;
    for (size_t t = 0; t < mesh->triangles; t++) {
        const uint32_t *v = mesh->triangle + 3 * t;
        if (used[v[0]] && used[v[1]] && used[v[2]]) {
            mesh->triangle_group[faces] = mesh->triangle_group[t];
            for (int k = 0; k < 3; k++) {
                mesh->triangle[3 * faces + (size_t)k] = to[v[k]];
            }
            faces++;
        }
    }
    mesh->triangles = faces;
    mesh->points = count;
    free(to);
    free(used);
    return DS_OK;
}

/* A mesh from a file, times `scale`. */
static ds_status make_from_file(setup_reader *r, const scene_section *s, body *b, fem_mesh *mesh)
{
    char why[FEM_READ_ERROR];
    const char *path = scene_path(r->f, s, "file");
    setup_shape_numbers(r, s, b, "scale", "", 0, 1, 1e-6, 1e6);
    const double scale = b->shape->built[0];
    if (!scene_needs(r->f, s, "file")) {
        return DS_OK;
    }
    const int failed = fem_read_mesh(mesh, path, why);
    if (failed == 2) {
        return DS_E_NOMEM;
    }
    if (failed) {
        scene_fail(r->f, s, "file", "%s", why);
        return DS_OK;
    }
    if (mesh->tets == 0) {
        scene_fail(r->f, s, "file",
                   "the mesh has triangles only: a soft body needs tetrahedra, from Gmsh or TetGen");
    } else if (mesh->tets > MOST_TETS) {
        scene_fail(r->f, s, "file", "the mesh has %zu tetrahedra, more than %d: use a coarser one",
                   mesh->tets, MOST_TETS);
    }
    if (mesh->turned > 0 && !scene_failed(r->f)) {
        ds_host_say(r->host, DS_LOG_WARNING,
                    "%s: %zu of %zu tetrahedra have a negative volume and are turned over, the first is "
                    "number %zu: is the mesh tangled?",
                    path, mesh->turned, mesh->tets, mesh->first_turned + 1);
    }
    const ds_status status = drop_unused(mesh);
    for (size_t i = 0; i < 3 * mesh->points; i++) {
        mesh->point[i] *= scale;
        if (fabs(mesh->point[i]) > setup_most_size) {
            scene_fail(r->f, s, "file", "the mesh reaches %.3g m, more than %g: set scale", mesh->point[i],
                       setup_most_size);
        }
    }
    return status;
}

/* The ball, wheel or walker of gradSim's tasks, times `scale`. */
static ds_status make_known(setup_reader *r, const scene_section *s, uint32_t shape, body *b, fem_mesh *mesh)
{
    setup_shape_numbers(r, s, b, "scale", "", 0, 1, 1e-6, 1e3);
    const ds_status status = shape == SHAPE_BALL   ? fem_mesh_ball(mesh)
                             : shape == SHAPE_GEAR ? fem_mesh_gear(mesh)
                                                   : fem_mesh_walker(mesh);
    for (size_t i = 0; i < 3 * mesh->points; i++) {
        mesh->point[i] *= b->shape->built[0];
    }
    return status;
}

static ds_status make_mesh(setup_reader *r, const scene_section *s, uint32_t shape, body *b, fem_mesh *mesh)
{
    b->shape->modes = 1;
    b->shape->built[0] = 1;
    switch (shape) {
    case SHAPE_BOX:
        return make_box(r, s, b, mesh);
    case SHAPE_MESH:
        return make_from_file(r, s, b, mesh);
    default:
        return make_known(r, s, shape, b, mesh);
    }
}

/* Adds points, triangles and tetrahedra of a body to the mesh that is drawn. */
static ds_status append(fem_mesh *all, const fem_mesh *mesh)
{
    fem_mesh sum;
    const ds_status status = fem_mesh_open(&sum, all->points + mesh->points, all->triangles + mesh->triangles,
                                           all->tets + mesh->tets);
    if (status != DS_OK) {
        return status;
    }
    if (all->points > 0) {
        memcpy(sum.point, all->point, 3 * all->points * sizeof *sum.point);
        memcpy(sum.triangle, all->triangle, 3 * all->triangles * sizeof *sum.triangle);
        memcpy(sum.tet, all->tet, 4 * all->tets * sizeof *sum.tet);
    }
    memcpy(sum.point + 3 * all->points, mesh->point, 3 * mesh->points * sizeof *sum.point);
    for (size_t i = 0; i < 3 * mesh->triangles; i++) {
        sum.triangle[3 * all->triangles + i] = (uint32_t)all->points + mesh->triangle[i];
    }
    for (size_t i = 0; i < 4 * mesh->tets; i++) {
        sum.tet[4 * all->tets + i] = (uint32_t)all->points + mesh->tet[i];
    }
    fem_mesh_free(all);
    *all = sum;
    return DS_OK;
}

void setup_place(setup_reader *r, const scene_section *s, body *b, fem_mesh *mesh, const fem_placing *where,
                 body_variable *const v[2])
{
    soft *to = r->soft;
    fem_model *m = &to->model;
    const size_t edges = m->edges;
    memcpy(b->center, where->position, sizeof b->center);
    b->particle = m->particles;
    b->tet = m->tets;
    b->triangle = m->triangles;
    if (b->of->membrane) {
        fem_add_cloth(m, mesh, where, b->of->mass, b->of->density, b->of->bends);
    } else {
        fem_add_soft(m, mesh, where, b->of->density, b->of->law);
    }
    b->particles = m->particles - b->particle;
    b->tets = m->tets - b->tet;
    b->triangles = m->triangles - b->triangle;
    b->shape->particle = b->particle;
    b->shape->particles = b->particles;
    if (m->status == DS_OK && b->of->membrane) {
        memset(m->triangle_sheet + b->triangle, b->of->sheet, b->triangles);
        memset(m->edge_sheet + edges, b->of->sheet, m->edges - edges);
    }
    if (m->status == DS_E_PARAM) {
        scene_fail(r->f, s, NULL, "[%s]: %s", scene_name(s), m->problem);
    }
    if (m->status == DS_OK && !b->of->membrane) {
        m->status = fem_mesh_surface(mesh, NULL);
    }
    b->face = to->mesh.triangles;
    m->status = m->status != DS_OK ? m->status : append(&to->mesh, mesh);
    b->faces = to->mesh.triangles - b->face;
    for (int i = 0; i < 2 && m->status == DS_OK; i++) { /* the particles of this body */
        uint8_t *of = v[i] != NULL ? ds_memory_take(&r->setup->memory, FEM_MOST_POINTS, 1) : NULL;
        if (of != NULL) {
            memset(of + b->particle, 1, b->particles);
            v[i]->of = of;
            v[i]->first = b->particle;
        }
    }
}

static void add_body(setup_reader *r, const scene_section *s, body *b, fem_mesh *mesh)
{
    fem_placing where = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0};
    body_variable *v[2];
    v[1] = setup_center(r, s, "center", where.position);
    setup_rotation(r, s, b, 0, &where);
    setup_modes(r, b, mesh);
    if (setup_vector(r, s, "velocity", "m/s", -1e3, 1e3, where.velocity, &v[0])) {
        v[0]->kind = BODY_VARIABLE_VELOCITY;
    }
    setup_place(r, s, b, mesh, &where, v);
}

void setup_body(setup_reader *r, const scene_section *s)
{
    fem_mesh mesh = {0};
    if (r->n_bodies == SETUP_BODIES) {
        scene_fail(r->f, s, NULL, "more than %d bodies", SETUP_BODIES);
        return;
    }
    body *b = &r->bodies[r->n_bodies];
    b->section = s;
    b->shape = &r->setup->shape[r->n_bodies++];
    b->of = setup_material_of(r, s);
    if (!scene_needs(r->f, s, "shape")) {
        return;
    }
    const uint32_t shape = scene_choice(r->f, s, "shape", shapes, 0);
    if ((shape == SHAPE_WALKER) != (b->of->membrane != 0) && !scene_failed(r->f)) {
        scene_fail(r->f, s, "shape",
                   "shape = %s needs a material with law = %s: only the walker is a sheet of triangles",
                   shapes[shape], laws[shape == SHAPE_WALKER]);
    }
    if (scene_failed(r->f)) {
        return;
    }
    const ds_status made = make_mesh(r, s, shape, b, &mesh);
    r->soft->model.status = r->soft->model.status != DS_OK ? r->soft->model.status : made;
    if (!scene_failed(r->f) && made == DS_OK) {
        b->file = (fem_mesh){.group = mesh.group,
                             .triangle_group = mesh.triangle_group,
                             .named = mesh.named,
                             .groups = mesh.groups,
                             .triangle = mesh.group != NULL ? mesh.triangle : NULL,
                             .triangles = mesh.group != NULL ? mesh.triangles : 0};
        if (mesh.group != NULL) { /* the surface follows from the tetrahedra */
            mesh.triangle = NULL;
            mesh.triangles = 0;
        }
        mesh.group = mesh.triangle_group = NULL;
        mesh.named = NULL;
        mesh.groups = 0;
        add_body(r, s, b, &mesh);
    }
    fem_mesh_free(&mesh);
}

body *setup_body_of(setup_reader *r, const scene_section *s, const char *own)
{
    const char *name = own != NULL ? own : scene_text(r->f, s, "body", r->n_bodies == 1 ? NULL : "");
    const char *names[SETUP_BODIES], *key = own != NULL ? NULL : "body";
    char list[300];
    for (size_t i = 0; i < r->n_bodies; i++) {
        names[i] = scene_name(r->bodies[i].section);
        if (name != NULL && strcmp(names[i], name) == 0) {
            return &r->bodies[i];
        }
    }
    if (name == NULL) {
        return &r->bodies[0];
    }
    among(name, names, r->n_bodies, list, sizeof list);
    if (r->n_bodies == 1 && names[0][0] == '\0') {
        scene_fail(r->f, s, key, "'%s' names no body: the only one has no name, so this section needs none",
                   name);
    } else if (name[0] != '\0') {
        scene_fail(r->f, s, key, "no body or cloth has the name '%s': %s", name, list);
    } else {
        scene_fail(r->f, s, NULL,
                   own != NULL ? "this section needs the name of its body: %s"
                               : "this section needs the key 'body': %s",
                   list);
    }
    return &r->bodies[0];
}

/* ---- parts of bodies ---- */

/* Refuses a number that no tetrahedron has, with the numbers that there are. */
static void check_number(setup_reader *r, const scene_section *s, const part *p)
{
    char all[200] = "";
    size_t used = 0;
    const int32_t *group = p->of->file.group;
    for (size_t t = 0; t < p->of->tets; t++) {
        size_t first = 0;
        while (first < t && group[first] != group[t]) {
            first++;
        }
        if (group[t] == p->number) {
            return;
        }
        if (first == t && used < sizeof all) {
            used +=
                (size_t)snprintf(all + used, sizeof all - used, "%s%d", used > 0 ? ", " : "", (int)group[t]);
        }
    }
    scene_fail(r->f, s, "group", "group = %d: the tetrahedra of the mesh have the groups %s", (int)p->number,
               all);
}

/* The group that key `group` names or numbers. */
static void find_group(setup_reader *r, const scene_section *s, part *p)
{
    const char *word = scene_text(r->f, s, "group", "");
    const fem_mesh *file = &p->of->file;
    char all[300] = "";
    size_t n = 0;
    if (word[strspn(word, "-0123456789")] == '\0') {
        p->number = (int32_t)scene_number(r->f, s, "group", -1e9, 1e9, 0);
        check_number(r, s, p);
        return;
    }
    for (size_t i = 0; i < file->groups; i++) {
        const fem_group *g = &file->named[i];
        if (g->dimension >= 2 && strcmp(g->name, word) == 0) {
            p->number = g->number;
            p->surface = g->dimension == 2;
            return;
        }
        if (g->dimension >= 2 && n < sizeof all) {
            n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", n > 0 ? ", " : "", g->name);
        }
    }
    scene_fail(r->f, s, "group", "group = %.60s: the mesh names %s", word,
               n > 0 ? all : "no groups of triangles or tetrahedra; give a number");
}

part setup_part(setup_reader *r, const scene_section *s)
{
    part p = {.of = setup_body_of(r, s, NULL)};
    double box[6];
    p.box = scene_numbers(r->f, s, "box", 6, false, -1e9, 1e9, box);
    p.ball = scene_numbers(r->f, s, "sphere", 4, false, -1e9, 1e9, p.center);
    p.group = scene_has(r->f, s, "group");
    for (int d = 0; d < 3 && p.box && !scene_failed(r->f); d++) {
        p.low[d] = box[d];
        p.high[d] = box[3 + d];
        if (!(box[d] <= box[3 + d])) {
            scene_fail(r->f, s, "box", "box is LOWER UPPER, three numbers each: %.6g is above %.6g", box[d],
                       box[3 + d]);
        }
    }
    if (p.ball && !scene_failed(r->f) && !(p.center[3] > 0)) {
        scene_fail(r->f, s, "sphere", "sphere is X Y Z RADIUS with a radius above 0");
    }
    if (p.group && !scene_failed(r->f) && p.of->file.group == NULL) {
        scene_fail(r->f, s, "group", "[%s] has no groups: its shape is not a mesh file of tetrahedra",
                   scene_name(p.of->section));
    } else if (p.group && !scene_failed(r->f)) {
        find_group(r, s, &p);
    }
    return p;
}

int setup_inside(const part *p, const double x[3])
{
    double distance = 0;
    int in = 1;
    for (int d = 0; d < 3; d++) {
        in = in && (!p->box || (x[d] >= p->low[d] && x[d] <= p->high[d]));
        distance += (x[d] - p->center[d]) * (x[d] - p->center[d]);
    }
    return in && (!p->ball || distance <= p->center[3] * p->center[3]);
}

/* Is element t of the body in the part? Elements by their middle. */
static int holds_element(const setup_reader *r, const part *p, const uint32_t *vertex, size_t corners,
                         size_t t)
{
    double middle[3] = {0, 0, 0};
    for (size_t i = 0; i < 3 * corners; i++) {
        middle[i % 3] += r->soft->model.q[3 * (size_t)vertex[corners * t + i / 3] + i % 3] / (double)corners;
    }
    return setup_inside(p, middle);
}

int setup_holds_tet(const setup_reader *r, const part *p, size_t t)
{
    return t >= p->of->tet && t < p->of->tet + p->of->tets &&
           (!p->group || (!p->surface && p->of->file.group[t - p->of->tet] == p->number)) &&
           holds_element(r, p, r->soft->model.tet, 4, t);
}

int setup_holds_triangle(const setup_reader *r, const part *p, size_t t)
{
    return t >= p->of->triangle && t < p->of->triangle + p->of->triangles &&
           holds_element(r, p, r->soft->model.triangle, 3, t);
}

/* Marks the particles of a part; returns how many. Those of a group are the vertices of its elements. */
size_t setup_mark(setup_reader *r, const scene_section *s, const part *p, uint8_t *mark_of)
{
    const fem_model *m = &r->soft->model;
    const body *b = p->of;
    size_t count = 0;
    for (size_t t = b->tet; p->group && !p->surface && t < b->tet + b->tets; t++) {
        for (int k = 0; b->file.group[t - b->tet] == p->number && k < 4; k++) {
            mark_of[m->tet[4 * t + (size_t)k]] = 1;
        }
    }
    for (size_t t = 0; p->surface && t < b->file.triangles; t++) {
        for (int k = 0; b->file.triangle_group[t] == p->number && k < 3; k++) {
            mark_of[b->particle + b->file.triangle[3 * t + (size_t)k]] = 1;
        }
    }
    for (size_t i = b->particle; i < b->particle + b->particles; i++) {
        mark_of[i] = (!p->group || mark_of[i]) && setup_inside(p, m->q + 3 * i);
        count += mark_of[i];
    }
    if (count == 0 && !scene_failed(r->f)) {
        scene_fail(r->f, s, NULL, "none of the %zu vertices of [body %s] is in this part", b->particles,
                   scene_name(b->section));
    }
    return count;
}

/* [region NAME]: another material. */
void setup_region(setup_reader *r, const scene_section *s)
{
    fem_model *m = &r->soft->model;
    const part p = setup_part(r, s);
    const material *to = scene_needs(r->f, s, "material") ? setup_material_of(r, s) : &r->materials[0];
    size_t count = 0;
    if (!scene_failed(r->f) && to->membrane) {
        scene_fail(r->f, s, "material", "regions have solid materials");
    }
    for (size_t t = 0; t < m->tets && !scene_failed(r->f); t++) {
        if (setup_holds_tet(r, &p, t)) {
            m->solid[t] = to->law;
            r->owner[t] = (uint8_t)(to - r->materials);
            count++;
        }
    }
    r->divided = 1;
    if (count == 0) {
        scene_fail(r->f, s, NULL, "none of the %zu tetrahedra of [body %s] is in this region", p.of->tets,
                   scene_name(p.of->section));
    }
}

void setup_own_tets(setup_reader *r)
{
    r->owner = ds_memory_take(&r->setup->memory, r->soft->model.tets + 1, 1);
    const fem_model *m = &r->soft->model;
    for (size_t i = 0; r->owner != NULL && i < r->n_bodies; i++) {
        memset(r->owner + r->bodies[i].tet, (int)(r->bodies[i].of - r->materials), r->bodies[i].tets);
    }
    r->sheet_density = ds_memory_doubles(&r->setup->memory, m->triangles + 1);
    r->sheet_own = ds_memory_take(&r->setup->memory, m->triangles + 1, sizeof *r->sheet_own);
    for (size_t i = 0; !r->setup->memory.failed && i < r->n_bodies; i++) {
        const body *b = &r->bodies[i];
        for (size_t t = b->triangle; t < b->triangle + b->triangles; t++) {
            r->sheet_density[t] = b->of->density;
        }
    }
}

/* The triangles of a membrane, and the vertices with a mass of their own. */
static void mark_triangles(setup_reader *r, const material *m)
{
    const fem_model *model = &r->soft->model;
    double *by_vertex = ds_memory_doubles(&r->setup->memory, model->particles + 1);
    uint8_t *own = ds_memory_take(&r->setup->memory, model->triangles + 1, 1);
    for (size_t t = 0; !r->setup->memory.failed && t < model->triangles; t++) {
        own[t] = model->triangle_sheet[t] == m->sheet && !r->sheet_own[t];
    }
    m->constants->triangles = own;
    for (size_t i = 0; !r->setup->memory.failed && i < r->n_bodies; i++) {
        for (size_t j = 0; r->bodies[i].of == m && j < r->bodies[i].particles; j++) {
            by_vertex[r->bodies[i].particle + j] = 1;
        }
    }
    m->by_vertex->share = by_vertex;
}

/* Finds what belongs to a material, and what its density adds to the mass of each particle. Returns the first
 * tetrahedron. */
static size_t divide_material(setup_reader *r, material *m)
{
    const fem_model *model = &r->soft->model;
    size_t first = model->tets;
    uint8_t *tets = m->membrane ? NULL : ds_memory_take(&r->setup->memory, model->tets + 1, 1);
    m->constants->share = ds_memory_doubles(&r->setup->memory, model->particles + 1);
    if (m->membrane) {
        mark_triangles(r, m);
    }
    for (size_t t = model->tets; tets != NULL && t-- > 0;) {
        tets[t] = r->owner[t] == (uint8_t)(m - r->materials);
        first = tets[t] ? t : first;
    }
    m->constants->tets = tets;
    if (!r->setup->memory.failed) {
        body_material_share(m->constants, model);
    }
    return first;
}

/* With regions the masses are sums over the materials. */
static void add_masses(setup_reader *r)
{
    fem_model *model = &r->soft->model;
    for (size_t i = 0; i < 4 * model->tets; i++) {
        model->mass[model->tet[i]] = 0;
    }
    for (size_t i = 0; i < 4 * model->tets; i++) {
        model->mass[model->tet[i]] += r->materials[r->owner[i / 4]].density * model->tet_volume[i / 4] / 4;
    }
}

static void add_sheet_masses(setup_reader *r)
{
    fem_model *model = &r->soft->model;
    for (size_t i = 0; i < r->n_bodies; i++) {
        const body *b = &r->bodies[i];
        for (size_t j = b->particle; b->of->membrane && j < b->particle + b->particles; j++) {
            model->mass[j] = b->of->mass;
        }
    }
    for (size_t i = 0; i < 3 * model->triangles; i++) {
        model->mass[model->triangle[i]] += r->sheet_density[i / 3] * model->triangle_area[i / 3] / 3;
    }
}

static int has_triangles(const setup_reader *r, const material *m)
{
    const fem_model *model = &r->soft->model;
    size_t t = 0;
    while (t < model->triangles && model->triangle_sheet[t] != m->sheet) {
        t++;
    }
    return t < model->triangles;
}

/* The densities of all elements, for variables that change their sizes. */
static void keep_densities(setup_reader *r)
{
    soft *s = r->soft;
    double *of = s->model.tets > 0 ? ds_memory_doubles(&r->setup->memory, s->model.tets) : NULL;
    for (size_t t = 0; of != NULL && t < s->model.tets; t++) {
        of[t] = r->materials[r->owner[t]].density;
    }
    s->unknown.tet_density = of;
    s->unknown.triangle_density = s->model.triangles > 0 ? r->sheet_density : NULL;
}

void setup_end_materials(setup_reader *r)
{
    for (size_t i = 0; i < r->n_materials && !r->setup->memory.failed; i++) {
        material *m = &r->materials[i];
        const size_t first = divide_material(r, m);
        const int used = m->membrane ? has_triangles(r, m) : first < r->soft->model.tets;
        for (size_t k = 0; k < r->variables; k++) {
            body_variable *v = &r->setup->variable[k];
            if (r->variable[k].section != m->section) {
                continue;
            }
            if (!m->membrane) {
                v->of = m->constants->tets;
                v->first = v->kind == BODY_VARIABLE_MATERIAL_DENSITY ? 0 : first;
            }
            if (!used) {
                scene_fail(r->f, m->section, r->variable[k].key,
                           "%s is a variable, but no body has this material", r->variable[k].key);
            }
        }
    }
    for (size_t k = 0; k < r->variables && !r->setup->memory.failed; k++) { /* of regions: their elements */
        if (r->setup->variable[k].kind == BODY_VARIABLE_MATERIAL_DENSITY) {
            body_material_share(r->setup->variable[k].material, &r->soft->model);
        }
    }
    keep_densities(r);
    if (r->divided && !r->setup->memory.failed) {
        add_masses(r);
    }
    if (r->sheet_divided && !r->setup->memory.failed) {
        add_sheet_masses(r);
    }
}
