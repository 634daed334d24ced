/* SPDX-License-Identifier: Apache-2.0 */
/* mjcf_geom.c - geoms of MJCF: solids, meshes, terrain, with their masses (mjcf_parts.h). */
#include "engines/physics/articulated/mjcf_parts.h"

#include "engines/kit/algebra/mat3.h"
#include "engines/rendering/render/read_png.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MOST_LINES = 2000 }; /* of terrain */

/* The ends of a solid that is given by fromto: its centre, half length and rotation. */
static int ends_of(mjcf *f, const robot_node *n, tree_shape *s, double *half)
{
    double e[6], d[3], axis[3];
    const double up[3] = {0, 0, 1};
    if (!mjcf_numbers(f, n, "fromto", 6, 6, e)) {
        return 0;
    }
    for (int k = 0; k < 3; k++) {
        s->at[k] = 0.5 * (e[k] + e[3 + k]);
        d[k] = e[k] - e[3 + k];
    }
    *half = 0.5 * sqrt(vec3_dot(d, d));
    if (!robot_normalise(d)) {
        robot_fail(f->in, n, "the ends of fromto are the same point");
        return 1;
    }
    vec3_cross(up, d, axis);
    double sine = sqrt(vec3_dot(axis, axis));
    if (!robot_normalise(axis)) {
        axis[0] = 1;
    }
    robot_axis_angle(axis, atan2(sine, d[2]), s->rotation);
    mjcf_leave_frames(f, n, s->at, s->rotation);
    return 1;
}

/* The asset of this name; its own name or the stem of its file. */
static const robot_node *find_mesh(mjcf *f, const char *mesh)
{
    for (const robot_node *a = robot_child(f->root, "asset"); a; a = robot_next(a, "asset")) {
        for (const robot_node *m = robot_child(a, "mesh"); m; m = robot_next(m, "mesh")) {
            const char *file = robot_text(m, "file"), *name = robot_text(m, "name");
            const char *base = file && strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
            const char *dot = base ? strrchr(base, '.') : NULL;
            size_t length = dot ? (size_t)(dot - base) : base ? strlen(base) : 0;
            if (name ? strcmp(name, mesh) == 0
                     : file && strlen(mesh) == length && strncmp(base, mesh, length) == 0) {
                return m;
            }
        }
    }
    return NULL;
}

/* What the mass of a mesh is; legacy is MuJoCo's default. */
static robot_mesh_inertia inertia_of_mesh(mjcf *f, const robot_node *mesh)
{
    const char *text = mjcf_value(f, mesh, "inertia");
    if (text == NULL) {
        return f->exact_meshes ? ROBOT_EXACT : ROBOT_LEGACY;
    }
    if (strcmp(text, "legacy") != 0 && strcmp(text, "exact") != 0 && strcmp(text, "convex") != 0) {
        robot_fail(f->in, mesh, "inertia=\"%.20s\": use legacy, exact or convex", text);
    }
    return text[0] == 'l' ? ROBOT_LEGACY : text[0] == 'e' ? ROBOT_EXACT : ROBOT_CONVEX;
}

/* The attributes vertex and face of a mesh. */
static int read_points(mjcf *f, const robot_node *m, const char *vertices, robot_mesh_use *use)
{
    const char *faces = robot_text(m, "face");
    const size_t most = strlen(vertices) / 2 + 2, corners = faces ? strlen(faces) / 2 + 2 : 0;
    double *point = ds_memory_doubles(f->in->m, most + corners), *index = point + most;
    uint32_t *triangle = ds_memory_take(f->in->m, corners + 1, sizeof *triangle);
    if (point == NULL || triangle == NULL) {
        f->in->failed = 2;
        return 0;
    }
    use->point = point;
    use->points = robot_numbers(f->in, m, "vertex", vertices, 12, (int)most, point) / 3;
    int count = faces ? robot_numbers(f->in, m, "face", faces, 3, (int)corners, index) : 0;
    for (int i = 0; i < count && !f->in->failed; i++) {
        if (count % 3 != 0 || !(index[i] >= 0 && index[i] < use->points && index[i] == floor(index[i]))) {
            robot_fail(f->in, m, "face needs three numbers of vertices (0 to %d) for each triangle",
                       use->points - 1);
        } else {
            triangle[i] = (uint32_t)index[i];
        }
    }
    use->triangle = triangle;
    use->triangles = count / 3;
    return !f->in->failed;
}

/* Adds the shape of a geom of type mesh and its mass; -1: none was added. */
static int read_mesh(mjcf *f, const robot_node *n, const char *mesh, robot_mesh_use *use, double density,
                     double mass, robot_mass *sum)
{
    const robot_node *m = mesh ? find_mesh(f, mesh) : NULL;
    static const char *const refused[] = {"refpos", NULL};
    if (m == NULL) {
        robot_fail(f->in, n, "the mesh asset \"%.40s\" is not defined", mesh ? mesh : "");
        return -1;
    }
    const char *inline_points = robot_text(m, "vertex");
    double turn[4] = {1, 0, 0, 0};
    use->file = robot_text(m, "file");
    use->folder = f->mesh_folder;
    mjcf_numbers(f, m, "scale", 3, 3, use->scale);
    mjcf_refuse(f, m, refused, 0);
    if (mjcf_numbers(f, m, "refquat", 4, 4, turn) && (turn[1] != 0 || turn[2] != 0 || turn[3] != 0)) {
        robot_fail(f->in, m, "refquat is not supported: turn the geom instead");
    }
    use->inertia = inertia_of_mesh(f, m);
    if (use->file == NULL && inline_points) {
        if (!read_points(f, m, inline_points, use)) {
            return -1;
        }
    } else if (use->file == NULL) {
        robot_fail(f->in, m, "a mesh needs file or vertex");
    }
    return robot_mesh(f->in, n, use, density, mass, sum);
}

/* Corners of an ellipsoid, for contact and pictures; its mass is exact. */
static int read_ellipsoid(mjcf *f, const robot_node *n, const double size[3], robot_mesh_use *use,
                          double density, double mass, robot_mass *sum)
{
    enum { RINGS = 5, SIDES = 12, POINTS = RINGS * SIDES + 2 };
    static const double pi = 3.14159265358979323846;
    double *point = robot_take(f->in, 3 * (size_t)POINTS, sizeof *point), axis2[3], total = mass, T[9];
    for (int i = 0; point && i < POINTS; i++) {
        double polar = i < RINGS * SIDES ? pi * (i / SIDES + 1) / (RINGS + 1)
                       : i == POINTS - 1 ? pi
                                         : 0,
               around = 2 * pi * (i % SIDES) / SIDES;
        point[3 * i] = size[0] * sin(polar) * cos(around);
        point[3 * i + 1] = size[1] * sin(polar) * sin(around);
        point[3 * i + 2] = size[2] * cos(polar);
    }
    use->point = point;
    use->points = point ? POINTS : 0;
    for (int k = 0; k < 3; k++) {
        axis2[k] = size[k] * size[k];
    }
    if (total < 0) {
        total = density * 4 / 3 * pi * size[0] * size[1] * size[2];
    }
    robot_mass part = {.mass = total, .centre = {use->at[0], use->at[1], use->at[2]}};
    const double D[9] = {0.2 * total * (axis2[1] + axis2[2]), 0, 0, 0,
                         0.2 * total * (axis2[0] + axis2[2]), 0, 0, 0,
                         0.2 * total * (axis2[0] + axis2[1])};
    mat3_mul(use->rotation, D, T);
    mat3_mult(T, use->rotation, part.inertia);
    robot_add_mass(sum, &part);
    return robot_mesh(f->in, n, use, 0, 0, NULL);
}

/* What contact and pictures need of a geom. */
static void read_surface(mjcf *f, const robot_node *n, tree_shape *s)
{
    double contype = 1, conaffinity = 1, friction[3] = {1}, group = 0;
    mjcf_numbers(f, n, "contype", 1, 1, &contype);
    mjcf_numbers(f, n, "conaffinity", 1, 1, &conaffinity);
    if (!(contype >= 0 && contype < 2147483648.0 && conaffinity >= 0 && conaffinity < 2147483648.0)) {
        robot_fail(f->in, n, "contype and conaffinity are integers of at least 0");
        return;
    }
    mjcf_numbers(f, n, "friction", 1, 3, friction);
    mjcf_numbers(f, n, "group", 1, 1, &group);
    s->friction = friction[0];
    s->mask[0] = (unsigned)contype;
    s->mask[1] = (unsigned)conaffinity;
    s->collides = !f->no_contact && (s->mask[0] || s->mask[1]);
    s->visible = group < 3; /* the groups that MuJoCo draws at first */
}

/* The path of a file of terrain. */
static void path_of(const mjcf *f, const char *file, char path[ROBOT_PATH])
{
    const char *slash = strrchr(f->in->file, '/'), *folder = f->mesh_folder;
    int length = slash && *file != '/' && !(folder && *folder == '/') ? (int)(slash - f->in->file) + 1 : 0;
    int with_folder = folder && *folder && *file != '/';
    snprintf(path, ROBOT_PATH, "%.*s%s%s%s", length, f->in->file, with_folder ? folder : "",
             with_folder ? "/" : "", file);
}

/* Heights of an hfield from MuJoCo's own format: two 32-bit integers, rows and columns, then 32-bit
 * numbers, the row of the least y first. Returns how many were read. */
static size_t read_heights(mjcf *f, const robot_node *n, const char *file, int count[2], double **height)
{
    char path[ROBOT_PATH];
    path_of(f, file, path);
    FILE *in = fopen(path, "rb");
    int32_t head[2] = {0};
    size_t all = 0, got = 0;
    if (in == NULL) {
        robot_fail(f->in, n, "file=\"%.100s\": %s", file, strerror(errno));
        return 0;
    }
    if (fread(head, sizeof head, 1, in) == 1 && head[0] > 1 && head[1] > 1 && head[0] <= MOST_LINES &&
        head[1] <= MOST_LINES) {
        all = (size_t)head[0] * (size_t)head[1];
        *height = robot_take(f->in, all, sizeof **height);
    }
    float value;
    while (*height && got < all && fread(&value, sizeof value, 1, in) == 1) {
        (*height)[got++] = value;
    }
    fclose(in);
    count[0] = head[0];
    count[1] = head[1];
    if (got == 0 || got < all) {
        robot_fail(f->in, n,
                   "file=\"%.100s\" is not a height field of MuJoCo: give elevation, or its binary format",
                   file);
    }
    return got;
}

/* Grey values of a picture, the row of the largest y first. Returns how many. */
static size_t read_picture(mjcf *f, const robot_node *n, const char *file, int count[2], double **height)
{
    char path[ROBOT_PATH], text[READ_PNG_TEXT];
    png_picture p;
    path_of(f, file, path);
    int rc = png_picture_read(&p, path, text);
    if (rc != READ_PNG_OK) {
        robot_fail(f->in, n, "file=\"%.100s\": %.200s", file, text);
        return 0;
    }
    size_t all = (size_t)p.width * p.height;
    int fits = p.width > 1 && p.height > 1 && p.width <= MOST_LINES && p.height <= MOST_LINES;
    if (!fits) {
        robot_fail(f->in, n, "file=\"%.100s\": it has %u x %u pixels, not 2 to %d", file, p.width, p.height,
                   MOST_LINES);
    }
    *height = fits ? robot_take(f->in, all, sizeof **height) : NULL;
    count[0] = (int)p.height;
    count[1] = (int)p.width;
    for (size_t k = 0; *height && k < all; k++) {
        (*height)[k] = p.pixel[k * p.channels];
    }
    png_picture_free(&p);
    return *height ? all : 0;
}

/* Adds the terrain of a geom of type hfield: heights scaled to 0 .. 1 times the third size. */
static int read_terrain(mjcf *f, const robot_node *n)
{
    const char *name = mjcf_value(f, n, "hfield");
    const robot_node *asset = NULL;
    for (const robot_node *a = robot_child(f->root, "asset"); a; a = robot_next(a, "asset")) {
        for (const robot_node *h = robot_child(a, "hfield"); h && name; h = robot_next(h, "hfield")) {
            asset = robot_text(h, "name") && strcmp(robot_text(h, "name"), name) == 0 ? h : asset;
        }
    }
    if (asset == NULL) {
        robot_fail(f->in, n, "the hfield asset \"%.40s\" is not defined", name ? name : "");
        return -1;
    }
    const char *file = robot_text(asset, "file"), *elevation = robot_text(asset, "elevation");
    double size[4], lines[2] = {0}, *from = NULL, low = HUGE_VAL, high = -HUGE_VAL;
    int count[2] = {0}, picture = 0;
    size_t got = 0;
    if (!robot_values(f->in, asset, "size", 4, size) || !(size[0] > 0 && size[1] > 0 && size[2] > 0)) {
        robot_fail(f->in, asset, "size needs four numbers above 0");
    }
    if (file) {
        const char *dot = strrchr(file, '.');
        picture = dot && strcasecmp(dot, ".png") == 0;
        got = (picture ? read_picture : read_heights)(f, asset, file, count, &from);
    } else {
        robot_values(f->in, asset, "nrow", 1, &lines[0]);
        robot_values(f->in, asset, "ncol", 1, &lines[1]);
        int small = lines[0] >= 2 && lines[1] >= 2 && lines[0] <= MOST_LINES && lines[1] <= MOST_LINES;
        count[0] = small ? (int)lines[0] : 0;
        count[1] = small ? (int)lines[1] : 0;
        got = (size_t)count[0] * (size_t)count[1];
        from = got ? robot_take(f->in, got, sizeof *from) : NULL;
        if (!got) {
            robot_fail(f->in, asset, "nrow and ncol must be 2 to %d", MOST_LINES);
        } else if (elevation && from) {
            robot_numbers(f->in, asset, "elevation", elevation, (int)got, (int)got, from);
        }
    }
    if (f->in->failed || from == NULL) {
        return -1;
    }
    for (size_t k = 0; k < got; k++) {
        if (!isfinite(from[k])) {
            robot_fail(f->in, asset, "a height is not finite");
            return -1;
        }
        low = fmin(low, from[k]);
        high = fmax(high, from[k]);
    }
    tree *t = f->in->out->tree;
    double *height =
        tree_add_terrain(t, count[1], count[0], 2 * size[0] / (count[1] - 1), 2 * size[1] / (count[0] - 1));
    for (int row = 0; height && row < count[0]; row++) {
        /* elevation and pictures begin with the row of the largest y */
        const double *line = from + (size_t)(file && !picture ? row : count[0] - 1 - row) * (size_t)count[1];
        for (int column = 0; column < count[1]; column++) {
            height[row * count[1] + column] = high > low ? size[2] * (line[column] - low) / (high - low) : 0;
        }
    }
    if (height == NULL || !tree_draw_terrain(t, &t->shape[t->shapes - 1])) {
        f->in->failed = 2;
        return -1;
    }
    return t->shapes - 1;
}

void mjcf_geom(mjcf *f, const robot_node *n, int link, const double joint[3], robot_mass *sum)
{
    static const struct {
        const char *name;
        tree_form form;
        int sizes;
    } types[] = {{"sphere", TREE_SPHERE, 1},     {"capsule", TREE_CAPSULE, 2}, {"box", TREE_BOX, 3},
                 {"cylinder", TREE_CYLINDER, 2}, {"plane", TREE_PLANE, 0},     {"mesh", TREE_MESH, 0},
                 {"ellipsoid", TREE_MESH, 3},    {"hfield", TREE_TERRAIN, 0}};
    const char *type = mjcf_value(f, n, "type"), *mesh = mjcf_value(f, n, "mesh");
    double mass = -1, density = 1000, half = 0, size[3] = {0}, group = 0;
    robot_mass none = {0};
    size_t k = 0;
    type = type ? type : "sphere";
    while (k < sizeof types / sizeof *types && strcmp(types[k].name, type) != 0) {
        k++;
    }
    if (k == sizeof types / sizeof *types) {
        robot_fail(f->in, n, "geom type \"%.40s\" is not supported", type);
        return;
    }
    if (mesh && strcmp(type, "mesh") != 0) {
        robot_fail(f->in, n, "a geom of type %s that is fitted to a mesh is not supported", type);
    }
    mjcf_numbers(f, n, "group", 1, 1, &group);
    if (group < f->groups[0] || group > f->groups[1]) {
        f->need_mass = 0;
        sum = &none;
    }
    tree_shape s = {.form = types[k].form};
    mjcf_frame(f, n, s.at, s.rotation);
    int ends = ends_of(f, n, &s, &half),
        sizes = ends && types[k].sizes > 1 ? types[k].sizes - 1 : types[k].sizes;
    if (ends && types[k].sizes < 2) {
        robot_fail(f->in, n, "fromto is for capsules, boxes, cylinders and ellipsoids");
    }
    if (sizes > 0 && mjcf_numbers(f, n, "size", sizes > 1 && ends ? 1 : sizes, 3, size) < sizes &&
        !(sizes > 1 && ends)) {
        robot_fail(f->in, n, "size is missing");
    }
    if (ends && types[k].sizes == 3) {
        size[1] = size[0]; /* a box along fromto is square */
    }
    if (ends) {
        size[types[k].sizes - 1] = half;
    }
    for (int j = 0; j < types[k].sizes; j++) {
        if (!(size[j] > 0)) {
            robot_fail(f->in, n, "sizes must be above 0");
        }
        s.size[j] = size[j];
    }
    vec3_add_scaled(s.at, -1, joint);
    mjcf_numbers(f, n, "density", 1, 1, &density);
    if (mjcf_numbers(f, n, "mass", 1, 1, &mass) && !(mass >= 0)) {
        robot_fail(f->in, n, "its mass is negative (%g kg)", mass);
    }
    if (mjcf_choice(f, n, "shellinertia", 0)) {
        robot_fail(f->in, n, "shellinertia is not supported");
    }
    if (f->in->failed) {
        return;
    }
    int added = -1;
    if (s.form == TREE_MESH) {
        robot_mesh_use use = {.link = link, .scale = {1, 1, 1}, .collides = 1, .visible = 1};
        memcpy(use.at, s.at, sizeof use.at);
        memcpy(use.rotation, s.rotation, sizeof use.rotation);
        read_surface(f, n, &s);
        use.collides = s.collides;
        added = types[k].sizes ? read_ellipsoid(f, n, size, &use, density, mass, sum)
                               : read_mesh(f, n, mesh, &use, density, mass, f->need_mass ? sum : NULL);
    } else if (s.form == TREE_TERRAIN) {
        added = link < 0 ? read_terrain(f, n) : -1;
        if (link >= 0) {
            robot_fail(f->in, n, "terrain is fixed to the world");
        } else if (added >= 0) {
            tree_shape *to = &f->in->out->tree->shape[added];
            memcpy(to->at, s.at, sizeof to->at);
            memcpy(to->rotation, s.rotation, sizeof to->rotation);
        }
    } else {
        added = tree_add_shape(f->in->out->tree, link, s.form);
        tree_shape *to = &f->in->out->tree->shape[added];
        memcpy(to->at, s.at, sizeof to->at);
        memcpy(to->rotation, s.rotation, sizeof to->rotation);
        memcpy(to->size, s.size, sizeof to->size);
    }
    if (added < 0 || f->in->failed) {
        return;
    }
    tree_shape *to = &f->in->out->tree->shape[added];
    mjcf_name(f, n, to->name);
    read_surface(f, n, to);
    if (s.form == TREE_PLANE && link >= 0) {
        robot_fail(f->in, n, "a plane is fixed to the world");
    }
    if (s.form != TREE_PLANE && s.form != TREE_MESH && s.form != TREE_TERRAIN) {
        robot_mass part;
        double volume = robot_solid(to, 1, &part);
        robot_solid(to, mass >= 0 ? mass : density * volume, &part);
        robot_add_mass(sum, &part);
    }
}
