/* SPDX-License-Identifier: Apache-2.0 */
/* robot_mesh.c - meshes of a robot: finds, reads and measures them (robot_parts.h). OBJ, STL, PLY, and
 * triangles, polygons, nodes and units of COLLADA 1.4 (the axis that points up is ignored, as in RViz). */
#include "engines/physics/articulated/hull.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/physics/fem/read.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MOST_MESH = 1 << 22, PICTURE_POINTS = 600 };

/* ---- where a file is ---- */

static int is_file(char path[ROBOT_PATH], const char *folder, size_t length, const char *between,
                   const char *file)
{
    int n = snprintf(path, ROBOT_PATH, "%.*s%s%s%s", (int)length, folder, length ? "/" : "", between, file);
    return n > 0 && n < ROBOT_PATH && access(path, R_OK) == 0;
}

/* Seeks PACKAGE/FOLDER/FILE, then without the package, then without further folders. */
static int is_part(char path[ROBOT_PATH], const char *folder, size_t length, const char *file)
{
    for (int cut = 0; !is_file(path, folder, length, "", file); cut++) {
        const char *slash = strchr(file, '/');
        if (slash == NULL || (cut > 0 && strchr(slash + 1, '/') == NULL)) {
            return 0;
        }
        file = slash + 1;
    }
    return 1;
}

/* Seeks PACKAGE/FILE in the folders of `list`, then in those above the model. */
static int in_packages(const robot_reader *in, const char *file, char path[ROBOT_PATH])
{
    const char *list = in->options->packages;
    while (list && *list) {
        size_t n = strcspn(list, ":");
        if (n > 0 && is_part(path, list, n, file)) {
            return 1;
        }
        list += n + (list[n] == ':');
    }
    char *full = realpath(in->file, NULL), *slash = full ? strrchr(full, '/') : NULL;
    int found = 0;
    for (; slash && slash > full && !found; slash = strrchr(full, '/')) {
        found = is_part(path, full, (size_t)(slash - full), file);
        *slash = '\0';
    }
    free(full);
    return found;
}

/* Writes the path of the file of a mesh, or fails. */
static int find_file(robot_reader *in, const robot_node *at, const char *file, const char *folder,
                     char path[ROBOT_PATH])
{
    const char *slash = strrchr(in->file, '/');
    int package = strncmp(file, "package://", 10) == 0 || strncmp(file, "model://", 8) == 0;
    if (package) {
        if (!in_packages(in, strstr(file, "://") + 3, path)) {
            const char *list = in->options->packages;
            robot_fail(
                in, at,
                "mesh \"%.100s\" is in no folder above the model and in no folder of packages (%.100s)", file,
                list && *list ? list : "none given");
        }
        return !in->failed;
    }
    file += strncmp(file, "file://", 7) == 0 ? 7 : 0;
    char inside[ROBOT_PATH];
    snprintf(inside, sizeof inside, "%s%s", folder && *folder && *file != '/' ? folder : "",
             folder && *folder && *file != '/' ? "/" : "");
    size_t length = *file == '/' || *inside == '/' || !slash ? 0 : (size_t)(slash - in->file);
    if (!is_file(path, in->file, length, inside, file)) {
        robot_fail(in, at, "mesh \"%.200s\" does not exist or cannot be read", file);
    }
    return !in->failed;
}

/* ---- COLLADA ---- */

typedef struct collada {
    robot_reader *in;
    const robot_node *root;
    fem_mesh *mesh;
    size_t point_room, triangle_room;
    int depth;
} collada;

static int grow(void **array, size_t *room, size_t need, size_t size)
{
    if (need <= *room) {
        return 1;
    }
    size_t more = need > 2 * *room ? need : 2 * *room;
    void *p = more < MOST_MESH ? realloc(*array, more * size) : NULL;
    *array = p ? p : *array;
    *room = p ? more : *room;
    return p != NULL;
}

/* The element of this kind with an id ("#id" or "id") at any depth below n. */
static const robot_node *with_id(const robot_node *n, const char *kind, const char *id)
{
    id += *id == '#';
    for (const robot_node *c = n->first; c; c = c->next) {
        const char *own = robot_text(c, "id");
        const robot_node *found = own && strcmp(c->name, kind) == 0 && strcmp(own, id) == 0 ? c : NULL;
        found = found ? found : with_id(c, kind, id);
        if (found) {
            return found;
        }
    }
    return NULL;
}

static const robot_node *input_of(const robot_node *n, const char *semantic, int *stride, int *offset)
{
    const robot_node *found = NULL;
    for (const robot_node *i = robot_child(n, "input"); i; i = robot_next(i, "input")) {
        const char *what = robot_text(i, "semantic"), *at = robot_text(i, "offset");
        int place = at ? atoi(at) : 0;
        if (place < 0 || place > 100) {
            return NULL;
        }
        if (what && strcmp(what, semantic) == 0) {
            found = i;
            *offset = place;
        }
        *stride = place + 1 > *stride ? place + 1 : *stride;
    }
    return found;
}

static void add_corner(collada *c, uint32_t first, long index, uint32_t v[3], int corner)
{
    fem_mesh *m = c->mesh;
    uint32_t i = first + (uint32_t)index;
    if (index < 0 || i >= m->points) {
        robot_fail(c->in, NULL, "a corner of a polygon is not a point of its geometry");
        return;
    }
    v[corner < 2 ? corner : 2] = i;
    if (corner >= 2) {
        if (!grow((void **)&m->triangle, &c->triangle_room, m->triangles + 1, 3 * sizeof *m->triangle)) {
            c->in->failed = 2;
            return;
        }
        memcpy(m->triangle + 3 * m->triangles++, v, 3 * sizeof *v);
        v[1] = i;
    }
}

/* Triangles and polygons of one <triangles>, <polylist> or <polygons>; points from `first` on. */
static void add_faces(collada *c, const robot_node *n, uint32_t first)
{
    int stride = 1, offset = 0;
    const robot_node *counts = robot_child(n, "vcount");
    const char *sizes = counts && counts->text ? counts->text : NULL;
    if (!input_of(n, "VERTEX", &stride, &offset)) {
        return;
    }
    for (const robot_node *p = robot_child(n, "p"); p && p->text; p = robot_next(p, "p")) {
        char *text = p->text, *end;
        uint32_t v[3] = {0};
        long place = 0, corner = 0, corners = 3;
        if (strcmp(n->name, "polygons") == 0) {
            corners = LONG_MAX;
        } else if (sizes) {
            corners = strtol(sizes, &end, 10);
            sizes = end;
        }
        while (!c->in->failed) {
            long index = strtol(text, &end, 10);
            if (end == text) {
                break;
            }
            text = end;
            if (place++ % stride != offset) {
                continue;
            }
            while (corner == corners) { /* the next polygon; some have no corner */
                corners = sizes ? strtol(sizes, &end, 10) : 3;
                corner = 0;
                if (sizes && (end == sizes || corners < 0)) {
                    robot_fail(c->in, NULL, "vcount has too few numbers");
                    return;
                }
                sizes = sizes ? end : sizes;
            }
            add_corner(c, first, index, v, corner++ < 3 ? (int)corner - 1 : 2);
        }
    }
}

static void add_geometry(collada *c, const robot_node *geometry, const double T[12])
{
    const robot_node *mesh = robot_child(geometry, "mesh"), *vertices, *input, *source, *list;
    int unused = 1, offset = 0;
    vertices = mesh ? robot_child(mesh, "vertices") : NULL;
    input = vertices ? input_of(vertices, "POSITION", &unused, &offset) : NULL;
    source =
        input && robot_text(input, "source") ? with_id(mesh, "source", robot_text(input, "source")) : NULL;
    list = source ? robot_child(source, "float_array") : NULL;
    if (list == NULL || list->text == NULL) {
        return; /* lines, or a geometry without points */
    }
    uint32_t first = (uint32_t)c->mesh->points;
    char *text = list->text, *end;
    double p[3];
    for (int k = 0; !c->in->failed; k = (k + 1) % 3) {
        p[k] = strtod(text, &end);
        if (end == text) {
            break;
        }
        text = end;
        if (!(fabs(p[k]) < 1e15)) {
            robot_fail(c->in, NULL, "a coordinate is not finite");
        }
        if (k < 2) {
            continue;
        }
        if (!grow((void **)&c->mesh->point, &c->point_room, c->mesh->points + 1, 3 * sizeof *p)) {
            c->in->failed = 2;
            return;
        }
        double *x = c->mesh->point + 3 * c->mesh->points++;
        for (int r = 0; r < 3; r++) {
            x[r] = T[4 * r] * p[0] + T[4 * r + 1] * p[1] + T[4 * r + 2] * p[2] + T[4 * r + 3];
        }
    }
    for (const robot_node *n = mesh->first; n && !c->in->failed; n = n->next) {
        if (strcmp(n->name, "triangles") == 0 || strcmp(n->name, "polylist") == 0 ||
            strcmp(n->name, "polygons") == 0) {
            add_faces(c, n, first);
        }
    }
}

static void compose(const double A[12], const double B[12], double out[12])
{
    double T[12];
    for (int r = 0; r < 3; r++) {
        for (int k = 0; k < 4; k++) {
            T[4 * r + k] = A[4 * r] * B[k] + A[4 * r + 1] * B[4 + k] + A[4 * r + 2] * B[8 + k] +
                           (k == 3 ? A[4 * r + 3] : 0);
        }
    }
    memcpy(out, T, sizeof T);
}

static void add_node(collada *c, const robot_node *node, const double above[12])
{
    double T[12];
    memcpy(T, above, sizeof T);
    if (++c->depth > 100) {
        robot_fail(c->in, NULL, "nodes are nested too deeply");
    }
    for (const robot_node *n = node->first; n && !c->in->failed; n = n->next) {
        double v[16], B[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
        const char *text = n->text ? n->text : "", *url = robot_text(n, "url");
        if (strcmp(n->name, "matrix") == 0 && robot_numbers(c->in, n, "matrix", text, 16, 16, v)) {
            compose(T, v, T);
        } else if (strcmp(n->name, "translate") == 0 && robot_numbers(c->in, n, "translate", text, 3, 3, v)) {
            B[3] = v[0], B[7] = v[1], B[11] = v[2];
            compose(T, B, T);
        } else if (strcmp(n->name, "scale") == 0 && robot_numbers(c->in, n, "scale", text, 3, 3, v)) {
            B[0] = v[0], B[5] = v[1], B[10] = v[2];
            compose(T, B, T);
        } else if (strcmp(n->name, "rotate") == 0 && robot_numbers(c->in, n, "rotate", text, 4, 4, v)) {
            double R[9];
            if (robot_normalise(v)) {
                robot_axis_angle(v, v[3] * 3.14159265358979323846 / 180, R);
                for (int k = 0; k < 9; k++) {
                    B[4 * (k / 3) + k % 3] = R[k];
                }
                compose(T, B, T);
            }
        } else if (strcmp(n->name, "instance_geometry") == 0 && url) {
            const robot_node *g = with_id(c->root, "geometry", url);
            if (g) {
                add_geometry(c, g, T);
            }
        } else if (strcmp(n->name, "instance_node") == 0 && url) {
            const robot_node *other = with_id(c->root, "node", url);
            if (other) {
                add_node(c, other, T);
            }
        } else if (strcmp(n->name, "node") == 0) {
            add_node(c, n, T);
        }
    }
    c->depth--;
}

/* Reads a COLLADA file; `error` gets a line. */
static int read_collada(const char *path, const robot_options *options, fem_mesh *mesh,
                        char error[ROBOT_ERROR])
{
    ds_memory temporary = {0};
    robot_reader in = {.m = &temporary, .options = options, .file = path, .error = error, .keep_text = 1};
    const robot_node *root = robot_elements_of(&in, path);
    collada c = {.in = &in, .root = root, .mesh = mesh};
    double T[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    const robot_node *asset = root ? robot_child(root, "asset") : NULL,
                     *unit = asset ? robot_child(asset, "unit") : NULL;
    double meter = unit && robot_text(unit, "meter") ? atof(robot_text(unit, "meter")) : 1;
    T[0] = T[5] = T[10] = meter > 0 && meter < 1e6 ? meter : 1;
    const robot_node *scenes = root ? robot_child(root, "library_visual_scenes") : NULL;
    for (const robot_node *s = scenes ? robot_child(scenes, "visual_scene") : NULL; s && !in.failed;
         s = robot_next(s, "visual_scene")) {
        add_node(&c, s, T);
    }
    if (!in.failed && mesh->triangles == 0) {
        robot_fail(&in, NULL, "no triangles");
    }
    ds_memory_free(&temporary);
    return in.failed;
}

/* ---- shapes ---- */

struct robot_mesh {
    struct robot_mesh *before;
    const char *path;
    double scale[3];
    robot_mesh_inertia inertia;
    tree_mesh hull, drawn;
    robot_mass mass; /* for mass 1 */
    double volume;
    const char *fault; /* NULL: the mass is right */
};

/* Mass of a surface of MJCF, which may have no triangles. */
static void measure_mjcf(struct robot_mesh *s, const fem_mesh *m, const tree_mesh *all, double size)
{
    const double sign = s->scale[0] * s->scale[1] * s->scale[2] < 0 ? -1 : 1; /* turns triangles over */
    if (m->triangles == 0 || s->inertia == ROBOT_CONVEX) {
        s->volume = hull_mass(&s->hull, &s->mass);
        s->fault = hull_outside(&s->hull, m->point, m->points) > 1e-6 * size
                       ? "its convex hull has too many corners for its mass: add <inertial> to the body"
                       : NULL;
    } else if (s->inertia == ROBOT_EXACT) {
        s->volume = sign * hull_mass(all, &s->mass);
        s->fault = !(hull_opening(all) < 1e-6)
                       ? "inertia=\"exact\" needs a closed surface whose triangles all face outwards"
                   : !(s->volume > 0) ? "its triangles face inwards"
                                      : NULL;
    } else {
        s->volume = hull_mass_legacy(all, &s->mass);
        s->fault = s->volume > 0 ? NULL : "it has no volume";
    }
}

/* Hull, picture and mass of the points and triangles. */
static void measure(robot_reader *in, const robot_node *at, struct robot_mesh *s, const fem_mesh *m)
{
    const tree_mesh all = {
        .points = (int)m->points, .triangles = (int)m->triangles, .point = m->point, .triangle = m->triangle};
    robot_mass hull;
    if (!hull_of(in->m, m->point, m->points, &s->hull) ||
        (m->triangles > 0 &&
         !hull_coarse(in->m, m->point, m->points, m->triangle, m->triangles, PICTURE_POINTS, &s->drawn))) {
        in->failed = 2;
        return;
    }
    if (s->drawn.triangles == 0) {
        s->drawn = s->hull;
    }
    double convex = hull_mass(&s->hull, &hull);
    if (s->inertia == ROBOT_SOLID) {
        s->volume = fabs(m->triangles > 0 ? hull_mass(&all, &s->mass) : 0);
        /* A surface with holes gives any volume. */
        if (!(s->volume > 0.01 * convex && s->volume < 1.3 * convex)) {
            s->volume = convex;
            s->mass = hull;
        }
    } else {
        measure_mjcf(s, m, &all, cbrt(convex));
    }
    if (!isfinite(s->volume)) {
        robot_fail(in, at, "the mesh has points that are not finite");
    }
}

/* Reads a file, or returns the mesh that was read before. NULL after a failure. */
static const struct robot_mesh *mesh_of(robot_reader *in, const robot_node *at, const robot_mesh_use *use,
                                        int strict)
{
    char path[ROBOT_PATH] = "", error[(int)ROBOT_ERROR + (int)FEM_READ_ERROR] = "";
    fem_mesh m = {0};
    if (use->file && !find_file(in, at, use->file, use->folder, path)) {
        return NULL;
    }
    for (const struct robot_mesh *s = in->meshes; s && use->file; s = s->before) {
        if (strcmp(s->path, path) == 0 && memcmp(s->scale, use->scale, sizeof s->scale) == 0 &&
            s->inertia == use->inertia) {
            return s;
        }
    }
    size_t length = strlen(path);
    int failed = 0, dae = length > 4 && strcasecmp(path + length - 4, ".dae") == 0;
    if (use->file) {
        failed = dae ? read_collada(path, in->options, &m, error) : fem_read_faces(&m, path, error);
    } else {
        failed = fem_mesh_open(&m, (size_t)use->points, (size_t)use->triangles, 0) == DS_OK ? 0 : 2;
        for (int i = 0; i < 3 * use->points && !failed; i++) {
            m.point[i] = use->point[i];
        }
        for (int i = 0; i < 3 * use->triangles && !failed; i++) {
            m.triangle[i] = use->triangle[i];
        }
    }
    if (failed == 2) {
        in->failed = 2;
    } else if (failed && strict) {
        robot_fail(in, at, "mesh %.300s", error);
    }
    struct robot_mesh *s = failed ? NULL : robot_take(in, 1, sizeof *s);
    char *name = s ? robot_take(in, length + 1, 1) : NULL;
    if (name) {
        memcpy(name, path, length + 1);
        for (size_t i = 0; i < 3 * m.points; i++) {
            m.point[i] *= use->scale[i % 3];
        }
        s->path = name;
        memcpy(s->scale, use->scale, sizeof s->scale);
        s->inertia = use->inertia;
        measure(in, at, s, &m);
        s->before = in->meshes;
        in->meshes = s;
    }
    fem_mesh_free(&m);
    return in->failed ? NULL : s;
}

int robot_mesh(robot_reader *in, const robot_node *at, const robot_mesh_use *use, double density, double mass,
               robot_mass *sum)
{
    tree *t = in->out->tree;
    if (in->failed || in->options->skip_meshes) {
        return -1;
    }
    const struct robot_mesh *m = mesh_of(in, at, use, use->collides || sum);
    if (m == NULL) {
        return -1;
    }
    if (sum && m->fault && mass != 0) {
        robot_fail(in, at, "mesh \"%.200s\": %s", use->file ? use->file : "vertex", m->fault);
        return -1;
    }
    int i = tree_add_shape(t, use->link, TREE_MESH);
    tree_shape *s = &t->shape[i];
    memcpy(s->at, use->at, sizeof s->at);
    memcpy(s->rotation, use->rotation, sizeof s->rotation);
    for (int k = 0; k < m->hull.points; k++) {
        s->size[0] = fmax(s->size[0], sqrt(vec3_dot(m->hull.point + 3 * k, m->hull.point + 3 * k)));
    }
    s->hull = &m->hull;
    s->drawn = &m->drawn;
    s->collides = use->collides;
    s->visible = use->visible;
    if (sum) {
        robot_mass part = m->mass;
        double total = mass >= 0 ? mass : density * m->volume, T[9];
        part.mass = total;
        mat3_apply(use->rotation, m->mass.centre, part.centre);
        vec3_add_scaled(part.centre, 1, use->at);
        mat3_mul(use->rotation, m->mass.inertia, T);
        mat3_mult(T, use->rotation, part.inertia);
        for (int k = 0; k < 9; k++) {
            part.inertia[k] *= total;
        }
        robot_add_mass(sum, &part);
    }
    return i;
}
