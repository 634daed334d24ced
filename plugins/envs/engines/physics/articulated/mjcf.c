/* SPDX-License-Identifier: Apache-2.0 */
/* mjcf.c - robots in MuJoCo's XML format (robot.h). A body with several joints becomes a chain of links
 * without mass; the frame of a link is at its joint, with the axes of the body. */
#include "engines/physics/articulated/robot_parts.h"

#include "engines/kit/algebra/mat3.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LINES = 2000 }; /* of terrain */

static const double degree = 3.14159265358979323846 / 180;

typedef struct mjcf {
    robot_reader *in;
    const robot_node *root;
    double angle; /* radians per unit of the file */
    char sequence[4];
    const char *mesh_folder;
    int auto_limits;
    int from_geoms; /* masses: 0 = given ones, 1 = of the geoms, 2 = of the geoms where none is given */
    int need_mass;  /* of the geoms of the present body */
    int no_contact;
    double total, least_mass, least_inertia; /* total: -1, or the mass of all bodies */
} mjcf;

/* ---- attributes with their defaults ---- */

/* The default class `name` below `n`; the outermost one is called main unless it has a name. */
static const robot_node *find_class(const robot_node *n, const char *name)
{
    for (const robot_node *c = robot_child(n, "default"); c; c = robot_next(c, "default")) {
        const char *own = robot_text(c, "class");
        if (own ? strcmp(own, name) == 0 : strcmp(n->name, "mujoco") == 0 && strcmp(name, "main") == 0) {
            return c;
        }
        const robot_node *inside = find_class(c, name);
        if (inside) {
            return inside;
        }
    }
    return NULL;
}

/* The class of an element: its own, or that of the nearest body with a childclass, or main. */
static const robot_node *class_of(mjcf *f, const robot_node *n)
{
    const char *name = robot_text(n, "class");
    for (const robot_node *up = n->parent; up && !name; up = up->parent) {
        name = robot_text(up, "childclass");
    }
    const robot_node *found = name ? find_class(f->root, name) : robot_child(f->root, "default");
    if (name && !found && strcmp(name, "main") != 0) {
        robot_fail(f->in, n, "the default class \"%.40s\" is not defined", name);
    }
    return found;
}

/* The value of an attribute of the element or of its class. */
static const char *value_of(mjcf *f, const robot_node *n, const char *attribute)
{
    const char *own = robot_text(n, attribute);
    for (const robot_node *c = own ? NULL : class_of(f, n); c && !own; c = c->parent) {
        for (const robot_node *d = robot_child(c, n->name); d; d = robot_next(d, n->name)) {
            const char *text = robot_text(d, attribute);
            own = text ? text : own;
        }
        if (strcmp(c->name, "default") != 0) {
            break;
        }
    }
    return own;
}

static int numbers_of(mjcf *f, const robot_node *n, const char *attribute, int least, int most, double *out)
{
    const char *text = value_of(f, n, attribute);
    return text ? robot_numbers(f->in, n, attribute, text, least, most, out) : 0;
}

/* true, false or auto; `unset` where the attribute is missing. */
static int choice_of(mjcf *f, const robot_node *n, const char *attribute, int unset)
{
    const char *text = value_of(f, n, attribute);
    if (text == NULL || strcmp(text, "auto") == 0) {
        return unset;
    }
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
        robot_fail(f->in, n, "%s=\"%.20s\": use true or false", attribute, text);
    }
    return strcmp(text, "true") == 0;
}

/* Refuses attributes that change the motion unless they have the value that does not. */
static void refuse(mjcf *f, const robot_node *n, const char *const *attributes, double harmless)
{
    for (; *attributes; attributes++) {
        const char *text = value_of(f, n, *attributes);
        char *end;
        if (text && (strtod(text, &end) != harmless || end == text)) {
            robot_fail(f->in, n, "the attribute %s=\"%.30s\" is not supported", *attributes, text);
        }
    }
}

static void name_of(mjcf *f, const robot_node *n, char to[TREE_NAME])
{
    const char *name = robot_text(n, "name");
    if (name) {
        robot_name(f->in, n, name, to);
    }
}

/* pos and the orientation of an element. */
static void own_frame(mjcf *f, const robot_node *n, double at[3], double R[9])
{
    double v[6];
    int given = 0;
    memset(at, 0, 3 * sizeof *at);
    mat3_identity(R);
    numbers_of(f, n, "pos", 3, 3, at);
    if (numbers_of(f, n, "quat", 4, 4, v)) {
        given++;
        if (!robot_quaternion(v, R)) {
            robot_fail(f->in, n, "the quaternion has no length");
        }
    }
    if (numbers_of(f, n, "axisangle", 4, 4, v)) {
        given++;
        if (!robot_normalise(v)) {
            robot_fail(f->in, n, "the axis of axisangle has no length");
        }
        robot_axis_angle(v, v[3] * f->angle, R);
    }
    if (numbers_of(f, n, "euler", 3, 3, v)) {
        given++;
        for (int k = 0; k < 3; k++) {
            v[k] *= f->angle;
        }
        robot_euler(v, f->sequence, R);
    }
    if (numbers_of(f, n, "xyaxes", 6, 6, v)) {
        double *x = v, *y = v + 3, z[3];
        given++;
        if (!robot_normalise(x)) {
            robot_fail(f->in, n, "the x axis of xyaxes has no length");
        }
        vec3_add_scaled(y, -vec3_dot(x, y), x);
        if (!robot_normalise(y)) {
            robot_fail(f->in, n, "the axes of xyaxes are parallel");
        }
        vec3_cross(x, y, z);
        for (int k = 0; k < 3; k++) {
            R[3 * k] = x[k];
            R[3 * k + 1] = y[k];
            R[3 * k + 2] = z[k];
        }
    }
    if (numbers_of(f, n, "zaxis", 3, 3, v)) {
        const double up[3] = {0, 0, 1};
        double axis[3], sine;
        given++;
        if (!robot_normalise(v)) {
            robot_fail(f->in, n, "zaxis has no length");
        }
        vec3_cross(up, v, axis);
        sine = sqrt(vec3_dot(axis, axis));
        if (!robot_normalise(axis)) {
            axis[0] = 1;
        }
        robot_axis_angle(axis, atan2(sine, v[2]), R);
    }
    if (given > 1) {
        robot_fail(f->in, n, "more than one orientation is given");
    }
}

/* Turns a pose in the innermost <frame> around an element into one in its body. */
static void leave_frames(mjcf *f, const robot_node *n, double at[3], double R[9])
{
    for (const robot_node *up = n->parent; up && strcmp(up->name, "frame") == 0; up = up->parent) {
        double x[3], Q[9], y[3];
        own_frame(f, up, x, Q);
        mat3_apply(Q, at, y);
        for (int k = 0; k < 3; k++) {
            at[k] = x[k] + y[k];
        }
        mat3_mul(Q, R, R);
    }
}

static void frame_of(mjcf *f, const robot_node *n, double at[3], double R[9])
{
    own_frame(f, n, at, R);
    leave_frames(f, n, at, R);
}

/* The element of a body after n, or its first one for NULL, also inside <frame>. */
static const robot_node *element_after(const robot_node *body, const robot_node *n)
{
    const robot_node *next = n ? n->next : body->first;
    for (;;) {
        while (next == NULL) {
            const robot_node *up = n ? n->parent : body;
            if (up == body) {
                return NULL;
            }
            n = up;
            next = n->next;
        }
        if (strcmp(next->name, "frame") != 0) {
            return next;
        }
        n = next;
        next = n->first ? n->first : n->next;
    }
}

/* ---- geoms ---- */

/* The ends of a solid that is given by fromto: its centre, half length and rotation. */
static int ends_of(mjcf *f, const robot_node *n, tree_shape *s, double *half)
{
    double e[6], d[3], axis[3];
    const double up[3] = {0, 0, 1};
    if (!numbers_of(f, n, "fromto", 6, 6, e)) {
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
    leave_frames(f, n, s->at, s->rotation);
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

/* Adds the shape of a geom of type mesh and its mass; -1: none was added. */
static int read_mesh(mjcf *f, const robot_node *n, const char *mesh, robot_mesh_use *use, double density,
                     double mass, robot_mass *sum)
{
    const robot_node *m = mesh ? find_mesh(f, mesh) : NULL;
    static const char *const refused[] = {"refpos", NULL};
    double *point = NULL;
    if (m == NULL) {
        robot_fail(f->in, n, "the mesh asset \"%.40s\" is not defined", mesh ? mesh : "");
        return -1;
    }
    const char *inline_points = robot_text(m, "vertex"), *inertia = value_of(f, m, "inertia");
    use->file = robot_text(m, "file");
    use->folder = f->mesh_folder;
    numbers_of(f, m, "scale", 3, 3, use->scale);
    refuse(f, m, refused, 0);
    if (inertia && strcmp(inertia, "shell") == 0) {
        robot_fail(f->in, m, "inertia=\"shell\" is not supported");
    }
    if (use->file == NULL && inline_points) {
        size_t most = strlen(inline_points) / 2 + 2;
        point = ds_memory_doubles(f->in->m, most);
        if (point == NULL) {
            f->in->failed = 2;
            return -1;
        }
        use->point = point;
        use->points = robot_numbers(f->in, m, "vertex", inline_points, 12, (int)most, point) / 3;
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
    numbers_of(f, n, "contype", 1, 1, &contype);
    numbers_of(f, n, "conaffinity", 1, 1, &conaffinity);
    if (!(contype >= 0 && contype < 2147483648.0 && conaffinity >= 0 && conaffinity < 2147483648.0)) {
        robot_fail(f->in, n, "contype and conaffinity are integers of at least 0");
        return;
    }
    numbers_of(f, n, "friction", 1, 3, friction);
    numbers_of(f, n, "group", 1, 1, &group);
    s->friction = friction[0];
    s->mask[0] = (unsigned)contype;
    s->mask[1] = (unsigned)conaffinity;
    s->collides = !f->no_contact && (s->mask[0] || s->mask[1]);
    s->visible = group < 3; /* the groups that MuJoCo draws at first */
}

/* Heights of an hfield from MuJoCo's own format: two 32-bit integers, rows and columns, then 32-bit
 * numbers, the row of the least y first. Returns how many were read. */
static size_t read_heights(mjcf *f, const robot_node *n, const char *file, int count[2], double **height)
{
    char path[ROBOT_PATH];
    const char *slash = strrchr(f->in->file, '/'), *folder = f->mesh_folder;
    int length = slash && *file != '/' && !(folder && *folder == '/') ? (int)(slash - f->in->file) + 1 : 0;
    int with_folder = folder && *folder && *file != '/';
    snprintf(path, sizeof path, "%.*s%s%s%s", length, f->in->file, with_folder ? folder : "",
             with_folder ? "/" : "", file);
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

/* Adds the terrain of a geom of type hfield: heights scaled to 0 .. 1 times the third size. */
static int read_terrain(mjcf *f, const robot_node *n)
{
    const char *name = value_of(f, n, "hfield");
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
    int count[2] = {0};
    size_t got = 0;
    if (!robot_values(f->in, asset, "size", 4, size) || !(size[0] > 0 && size[1] > 0 && size[2] > 0)) {
        robot_fail(f->in, asset, "size needs four numbers above 0");
    }
    if (file) {
        got = read_heights(f, asset, file, count, &from);
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
        /* elevation begins with the row of the largest y */
        const double *line = from + (size_t)(file ? row : count[0] - 1 - row) * (size_t)count[1];
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

/* Reads a geom of `link`, whose frame is at `joint` in the body. Adds its mass to `sum`. */
static void read_geom(mjcf *f, const robot_node *n, int link, const double joint[3], robot_mass *sum)
{
    static const struct {
        const char *name;
        tree_form form;
        int sizes;
    } types[] = {{"sphere", TREE_SPHERE, 1},     {"capsule", TREE_CAPSULE, 2}, {"box", TREE_BOX, 3},
                 {"cylinder", TREE_CYLINDER, 2}, {"plane", TREE_PLANE, 0},     {"mesh", TREE_MESH, 0},
                 {"ellipsoid", TREE_MESH, 3},    {"hfield", TREE_TERRAIN, 0}};
    const char *type = value_of(f, n, "type"), *mesh = value_of(f, n, "mesh");
    double mass = -1, density = 1000, half = 0, size[3] = {0};
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
    tree_shape s = {.form = types[k].form};
    frame_of(f, n, s.at, s.rotation);
    int ends = ends_of(f, n, &s, &half),
        sizes = ends && types[k].sizes > 1 ? types[k].sizes - 1 : types[k].sizes;
    if (ends && types[k].sizes < 2) {
        robot_fail(f->in, n, "fromto is for capsules, boxes, cylinders and ellipsoids");
    }
    if (sizes > 0 && numbers_of(f, n, "size", sizes > 1 && ends ? 1 : sizes, 3, size) < sizes &&
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
    numbers_of(f, n, "density", 1, 1, &density);
    if (numbers_of(f, n, "mass", 1, 1, &mass) && !(mass >= 0)) {
        robot_fail(f->in, n, "its mass is negative (%g kg)", mass);
    }
    if (choice_of(f, n, "shellinertia", 0)) {
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
    name_of(f, n, to->name);
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

/* ---- bodies ---- */

static void read_inertial(mjcf *f, const robot_node *n, int link, const double joint[3])
{
    robot_mass m = {0};
    double R[9], d[6], I[9] = {0}, T[9];
    frame_of(f, n, m.centre, R);
    vec3_add_scaled(m.centre, -1, joint);
    if (!numbers_of(f, n, "mass", 1, 1, &m.mass)) {
        robot_fail(f->in, n, "the attribute mass is missing");
    }
    if (numbers_of(f, n, "fullinertia", 6, 6, d)) {
        const double full[9] = {d[0], d[3], d[4], d[3], d[1], d[5], d[4], d[5], d[2]};
        memcpy(I, full, sizeof I);
    } else if (numbers_of(f, n, "diaginertia", 3, 3, d)) {
        I[0] = d[0];
        I[4] = d[1];
        I[8] = d[2];
    } else {
        robot_fail(f->in, n, "diaginertia or fullinertia is missing");
    }
    mat3_mul(R, I, T);
    mat3_mult(T, R, m.inertia);
    robot_set_mass(f->in, n, link, &m);
}

/* Adds a link for joint n; `at` and R place the body in its parent, `before` is the joint before it. */
static int read_joint(mjcf *f, const robot_node *n, int parent, const double at[3], const double R[9],
                      const double *before, double anchor[3])
{
    static const char *const springs[] = {"stiffness", NULL};
    static const char *const types[] = {"hinge", "slide", "ball", "free"};
    static const tree_joint kinds[] = {TREE_REVOLUTE, TREE_PRISMATIC, TREE_SPHERICAL, TREE_FREE};
    tree *t = f->in->out->tree;
    const char *type = strcmp(n->name, "freejoint") == 0 ? "free" : value_of(f, n, "type");
    double axis[3] = {0, 0, 1}, range[2], number[TREE_JOINT_NUMBERS] = {0}, zero = 0;
    int k = 0;
    while (type && k < 4 && strcmp(types[k], type) != 0) {
        k++;
    }
    if (k == 4) {
        robot_fail(f->in, n, "joint type \"%.40s\": use hinge, slide, ball or free", type);
        return -1;
    }
    memset(anchor, 0, 3 * sizeof *anchor);
    if (kinds[k] == TREE_FREE && (parent >= 0 || before)) {
        robot_fail(f->in, n, "a free joint belongs to a body of the world and is its only joint");
        return -1;
    }
    int link = tree_add_link(t, parent, kinds[k]);
    tree_link *l = &t->link[link];
    name_of(f, n, l->joint);
    if (kinds[k] == TREE_FREE) {
        double q[4];
        memcpy(t->start + l->q, at, 3 * sizeof *at);
        /* The quaternion of R, from its largest component. */
        const double four[4] = {1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8], 1 - R[0] + R[4] - R[8],
                                1 - R[0] - R[4] + R[8]};
        int big = 0;
        for (int j = 1; j < 4; j++) {
            big = four[j] > four[big] ? j : big;
        }
        const double S[16] = {four[0],     R[7] - R[5], R[2] - R[6], R[3] - R[1], R[7] - R[5], four[1],
                              R[1] + R[3], R[2] + R[6], R[2] - R[6], R[1] + R[3], four[2],     R[5] + R[7],
                              R[3] - R[1], R[2] + R[6], R[5] + R[7], four[3]};
        for (int j = 0; j < 4; j++) {
            q[j] = S[4 * big + j] / (2 * sqrt(four[big]));
        }
        memcpy(t->start + l->q + 3, q, sizeof q);
    } else {
        double unused[9];
        numbers_of(f, n, "pos", 3, 3, anchor);
        mat3_identity(unused);
        leave_frames(f, n, anchor, unused);
        if (before) {
            for (int j = 0; j < 3; j++) {
                l->offset[j] = anchor[j] - before[j];
            }
        } else {
            mat3_apply(R, anchor, l->offset);
            vec3_add_scaled(l->offset, 1, at);
            memcpy(l->rotation, R, sizeof l->rotation);
        }
    }
    numbers_of(f, n, "damping", 1, 1, &number[TREE_DAMPING]);
    numbers_of(f, n, "frictionloss", 1, 1, &number[TREE_DRY]);
    numbers_of(f, n, "armature", 1, 1, &number[TREE_ARMATURE]);
    if (l->nv == 3) {
        refuse(f, n, springs, 0);
        if (choice_of(f, n, "limited", f->auto_limits && value_of(f, n, "range"))) {
            robot_fail(f->in, n, "limits of ball joints are not supported");
        }
    }
    if (l->nv == 1) {
        double unit = kinds[k] == TREE_REVOLUTE ? f->angle : 1;
        numbers_of(f, n, "axis", 3, 3, axis);
        if (!robot_normalise(axis)) {
            robot_fail(f->in, n, "the axis has no length");
        }
        double unused[3] = {0}, Q[9];
        mat3_identity(Q);
        leave_frames(f, n, unused, Q);
        mat3_apply(Q, axis, l->axis);
        numbers_of(f, n, "ref", 1, 1, &zero);
        numbers_of(f, n, "stiffness", 1, 1, &number[TREE_SPRING]);
        numbers_of(f, n, "springref", 1, 1, &number[TREE_REST]);
        number[TREE_REST] *= unit;
        l->zero = t->start[l->q] = zero * unit;
        int given = numbers_of(f, n, "range", 2, 2, range);
        if (choice_of(f, n, "limited", f->auto_limits && given)) {
            if (!given || !(range[0] < range[1])) {
                robot_fail(f->in, n, "a limited joint needs a range from a lower to a higher value");
                return link;
            }
            t->lower[l->v] = range[0] * unit;
            t->upper[l->v] = range[1] * unit;
        }
    }
    for (int j = 0; j < TREE_JOINT_NUMBERS; j++) {
        if (j != TREE_REST && number[j] < 0) {
            robot_fail(f->in, n, "damping, stiffness, armature and frictionloss are not negative");
        }
        for (int i = 0; i < l->nv; i++) {
            f->in->joint[j][l->v + i] = number[j];
        }
    }
    return link;
}

static void read_site(mjcf *f, const robot_node *n, int link, const double joint[3])
{
    tree_site *s = &f->in->out->tree->site[tree_add_site(f->in->out->tree, link)];
    name_of(f, n, s->name);
    frame_of(f, n, s->at, s->rotation);
    vec3_add_scaled(s->at, -1, joint);
}

static int is_joint(const robot_node *n)
{
    return strcmp(n->name, "joint") == 0 || strcmp(n->name, "freejoint") == 0;
}

/* Reads a body, or the world (link -1), whose parent link is `parent`. */
static void read_body(mjcf *f, const robot_node *body, int parent, int world, const double up_joint[3])
{
    static const char *const refused[] = {"gravcomp", NULL};
    tree *t = f->in->out->tree;
    double at[3] = {0}, R[9], joint[3] = {0}, next[3];
    int link = parent, joints = 0, inertial = 0;
    robot_mass sum = {0};
    if (!world) {
        frame_of(f, body, at, R);
        vec3_add_scaled(at, -1, up_joint);
        refuse(f, body, refused, 0);
        if (choice_of(f, body, "mocap", 0)) {
            robot_fail(f->in, body, "bodies that are moved from outside (mocap) are not supported");
        }
        for (const robot_node *n = element_after(body, NULL); n && !f->in->failed;
             n = element_after(body, n)) {
            if (is_joint(n)) {
                link = read_joint(f, n, link, at, R, joints ? joint : NULL, next);
                memcpy(joint, next, sizeof joint);
                if (!f->in->failed && joints++ && t->link[link].kind == TREE_FREE) {
                    robot_fail(f->in, n, "a free joint is the only joint of its body");
                }
            }
        }
        if (f->in->failed) {
            return;
        }
        if (joints == 0) {
            link = tree_add_link(t, parent, TREE_FIXED);
            memcpy(t->link[link].rotation, R, sizeof R);
            memcpy(t->link[link].offset, at, sizeof at);
        }
        name_of(f, body, t->link[link].name);
    }
    for (const robot_node *n = element_after(body, NULL); n; n = element_after(body, n)) {
        inertial = inertial || strcmp(n->name, "inertial") == 0;
    }
    int use_geoms = !world && (f->from_geoms == 1 || (f->from_geoms == 2 && !inertial));
    for (const robot_node *n = element_after(body, NULL); n && !f->in->failed; n = element_after(body, n)) {
        f->need_mass = use_geoms;
        if (strcmp(n->name, "geom") == 0) {
            read_geom(f, n, link, joint, &sum);
        } else if (strcmp(n->name, "site") == 0) {
            read_site(f, n, link, joint);
        } else if (strcmp(n->name, "inertial") == 0 && !world) {
            if (f->from_geoms != 1) {
                read_inertial(f, n, link, joint);
            }
        } else if (strcmp(n->name, "body") != 0 && strcmp(n->name, "camera") != 0 &&
                   strcmp(n->name, "light") != 0 && (world || !is_joint(n))) {
            robot_fail(f->in, n, "this element is not supported");
        }
    }
    if (use_geoms && !f->in->failed) {
        robot_set_mass(f->in, body, link, &sum);
    }
    for (const robot_node *n = element_after(body, NULL); n && !f->in->failed; n = element_after(body, n)) {
        if (strcmp(n->name, "body") == 0) {
            read_body(f, n, link, 0, joint);
        }
    }
}

/* ---- settings, actuators, keyframes ---- */

static void read_compiler(mjcf *f, const robot_node *n)
{
    const char *text = robot_text(n, "angle");
    if (text) {
        f->angle = strcmp(text, "radian") == 0 ? 1 : degree;
        if (strcmp(text, "radian") != 0 && strcmp(text, "degree") != 0) {
            robot_fail(f->in, n, "angle=\"%.20s\": use degree or radian", text);
        }
    }
    text = robot_text(n, "eulerseq");
    if (text) {
        if (strlen(text) != 3 || strspn(text, "xyzXYZ") != 3) {
            robot_fail(f->in, n, "eulerseq=\"%.20s\": use three of x, y, z, X, Y, Z", text);
        } else {
            memcpy(f->sequence, text, 4);
        }
    }
    text = robot_text(n, "coordinate");
    if (text && strcmp(text, "local") != 0) {
        robot_fail(f->in, n, "coordinate=\"%.20s\": only local coordinates are supported", text);
    }
    f->auto_limits = choice_of(f, n, "autolimits", f->auto_limits);
    f->from_geoms = choice_of(f, n, "inertiafromgeom", f->from_geoms);
    text = robot_text(n, "meshdir") ? robot_text(n, "meshdir") : robot_text(n, "assetdir");
    f->mesh_folder = text ? text : f->mesh_folder;
    robot_values(f->in, n, "settotalmass", 1, &f->total);
    robot_values(f->in, n, "boundmass", 1, &f->least_mass);
    robot_values(f->in, n, "boundinertia", 1, &f->least_inertia);
    if (choice_of(f, n, "balanceinertia", 0) || choice_of(f, n, "fitaabb", 0)) {
        robot_fail(f->in, n, "balanceinertia and fitaabb are not supported");
    }
}

/* Lower bounds of masses and moments of inertia, and the total mass. */
static void bound_masses(mjcf *f)
{
    tree *t = f->in->out->tree;
    double sum = 0;
    for (int i = 0; i < t->links; i++) {
        tree_link *l = &t->link[i];
        int last = 1; /* of the links of a body, whose others have no mass */
        for (int j = i + 1; j < t->links && l->name[0] == '\0'; j++) {
            last = last && t->link[j].parent != i;
        }
        if (last) {
            l->mass = fmax(l->mass, f->least_mass);
            for (int k = 0; k < 9; k += 4) {
                l->inertia[k] = fmax(l->inertia[k], f->least_inertia);
            }
        }
        sum += l->mass;
    }
    for (int i = 0; i < t->links && f->total > 0 && sum > 0; i++) {
        t->link[i].mass *= f->total / sum;
        for (int k = 0; k < 9; k++) {
            t->link[i].inertia[k] *= f->total / sum;
        }
    }
}

static void read_option(mjcf *f, const robot_node *n)
{
    static const char *const refused[] = {"density", "viscosity", NULL};
    tree *t = f->in->out->tree;
    double wind[3] = {0};
    robot_values(f->in, n, "gravity", 3, t->number + TREE_GRAVITY);
    if (robot_values(f->in, n, "timestep", 1, &f->in->out->step) && !(f->in->out->step > 0)) {
        robot_fail(f->in, n, "timestep must be above 0");
    }
    robot_values(f->in, n, "wind", 3, wind);
    refuse(f, n, refused, 0);
    for (const robot_node *c = robot_child(n, "flag"); c; c = robot_next(c, "flag")) {
        static const char *const flags[] = {"passive", "limit", "actuation", NULL};
        const char *gravity = robot_text(c, "gravity"), *contact = robot_text(c, "contact");
        for (int k = 0; flags[k]; k++) {
            const char *text = robot_text(c, flags[k]);
            if (text && strcmp(text, "enable") != 0) {
                robot_fail(f->in, c, "the flag %s=\"%.20s\" is not supported", flags[k], text);
            }
        }
        if (gravity && strcmp(gravity, "disable") == 0) {
            memset(t->number + TREE_GRAVITY, 0, 3 * sizeof *t->number);
        }
        f->no_contact = contact && strcmp(contact, "disable") == 0;
    }
}

/* gain and bias of a general actuator: force = gear (gain u + bias . (1, length, velocity)). */
static void read_general(mjcf *f, const robot_node *n, double *gain, double *stiffness, double *damping)
{
    const char *dynamics = value_of(f, n, "dyntype"), *gains = value_of(f, n, "gaintype"),
               *biases = value_of(f, n, "biastype");
    double gainprm[10] = {1}, biasprm[10] = {0};
    numbers_of(f, n, "gainprm", 1, 10, gainprm);
    numbers_of(f, n, "biasprm", 1, 10, biasprm);
    int affine = biases && strcmp(biases, "affine") == 0;
    if (dynamics && strcmp(dynamics, "none") != 0) {
        robot_fail(f->in, n, "dyntype=\"%.20s\": only none is supported", dynamics);
    } else if (gains && strcmp(gains, "fixed") != 0) {
        robot_fail(f->in, n, "gaintype=\"%.20s\": only fixed is supported", gains);
    } else if (biases && !affine && strcmp(biases, "none") != 0) {
        robot_fail(f->in, n, "biastype=\"%.20s\": use none or affine", biases);
    } else if (affine && (biasprm[0] != 0 || biasprm[1] > 0 || biasprm[2] > 0)) {
        robot_fail(f->in, n, "biasprm must be 0 and two numbers that are not positive");
    } else if (affine && biasprm[1] != 0 && fabs(gainprm[0] + biasprm[1]) > 1e-6 * fabs(biasprm[1])) {
        robot_fail(f->in, n,
                   "a servo whose gain differs from its stiffness (gainprm, biasprm) is not supported");
    }
    *gain = gainprm[0];
    *stiffness = affine ? -biasprm[1] : 0;
    *damping = affine ? -biasprm[2] : 0;
}

static void read_actuator(mjcf *f, const robot_node *n)
{
    static const char *const kinds[] = {"motor", "position", "velocity", "general", NULL};
    static const char *const other[] = {"tendon",        "site",       "body", "cranksite",
                                        "jointinparent", "slidersite", NULL};
    static const char *const refused[] = {"dampratio", "timeconst", NULL};
    robot *r = f->in->out;
    robot_actuator *a = &r->actuator[r->actuators];
    const char *joint = value_of(f, n, "joint");
    double gear[6] = {1}, range[2], gain = 1, stiffness = 0, damping = 0, inherit = 0;
    int kind = 0;
    while (kinds[kind] && strcmp(n->name, kinds[kind]) != 0) {
        kind++;
    }
    for (int k = 0; other[k]; k++) {
        if (value_of(f, n, other[k])) {
            robot_fail(f->in, n, "it drives a %s: only joints are supported", other[k]);
        }
    }
    if (!kinds[kind] || joint == NULL) {
        robot_fail(f->in, n,
                   kinds[kind] ? "the attribute joint is missing"
                               : "this actuator is not supported: use motor, position, velocity or general");
        return;
    }
    refuse(f, n, refused, 0);
    int link = tree_find_joint(r->tree, joint);
    if (link < 0 || r->tree->link[link].nv != 1) {
        robot_fail(f->in, n, "joint \"%.60s\" %s", joint,
                   link < 0 ? "does not exist" : "is not a hinge or slide");
        return;
    }
    if (kind == 1) {
        numbers_of(f, n, "kp", 1, 1, &gain);
        numbers_of(f, n, "kv", 1, 1, &damping);
        stiffness = gain;
    } else if (kind == 2) {
        numbers_of(f, n, "kv", 1, 1, &gain);
        damping = gain;
    } else if (kind == 3) {
        read_general(f, n, &gain, &stiffness, &damping);
        kind = stiffness > 0;
    }
    *a = (robot_actuator){.link = link, .kind = kind, .lower = -INFINITY, .upper = INFINITY};
    name_of(f, n, a->name);
    if (a->name[0] == '\0') {
        memcpy(a->name, r->tree->link[link].joint, sizeof a->name);
    }
    numbers_of(f, n, "gear", 1, 6, gear);
    if (gear[0] == 0) {
        robot_fail(f->in, n, "gear is 0");
    }
    int given = numbers_of(f, n, "ctrlrange", 2, 2, range);
    if (numbers_of(f, n, "inheritrange", 1, 1, &inherit) && inherit > 0 && !given) {
        const tree *t = r->tree;
        double lower = t->lower[t->link[link].v], upper = t->upper[t->link[link].v];
        given = isfinite(lower) && isfinite(upper);
        range[0] = 0.5 * (upper + lower - inherit * (upper - lower));
        range[1] = 0.5 * (upper + lower + inherit * (upper - lower));
    }
    if (choice_of(f, n, "ctrllimited", f->auto_limits && given)) {
        if (!given || !(range[0] < range[1])) {
            robot_fail(f->in, n, "ctrlrange must go from a lower to a higher value");
            return;
        }
        a->lower = range[0];
        a->upper = range[1];
    }
    a->gear = gear[0] * (kind == 0 ? gain : 1);
    a->gain = stiffness * gear[0] * gear[0];
    a->rate_gain = damping * gear[0] * gear[0];
    r->actuators++;
}

/* Tendons that only measure a length are left out; others are refused. */
static void read_tendon(mjcf *f, const robot_node *n)
{
    static const char *const forces[] = {"stiffness", "damping", "frictionloss", "armature", "range", NULL};
    for (int k = 0; forces[k]; k++) {
        const char *text = value_of(f, n, forces[k]);
        if (text && strspn(text, "0. \t") != strlen(text)) {
            robot_fail(f->in, n, "a tendon that acts on the robot (%s) is not supported", forces[k]);
        }
    }
}

/* A joint that follows another one, or stays; other equality constraints are refused. */
static void read_equality(mjcf *f, const robot_node *n)
{
    tree *t = f->in->out->tree;
    const char *active = robot_text(n, "active"),
               *names[2] = {robot_text(n, "joint1"), robot_text(n, "joint2")};
    double poly[5] = {0, 1, 0, 0, 0}, start[2] = {0};
    int link[2] = {-1, -1};
    if (active && strcmp(active, "false") == 0) {
        return;
    }
    if (strcmp(n->name, "joint") != 0) {
        robot_fail(f->in, n, "this equality constraint is not supported: only joints can follow each other");
        return;
    }
    const char *text = robot_text(n, "polycoef");
    if (text) {
        memset(poly, 0, sizeof poly);
        robot_numbers(f->in, n, "polycoef", text, 1, 5, poly);
    }
    if (poly[2] != 0 || poly[3] != 0 || poly[4] != 0) {
        robot_fail(f->in, n, "polycoef=\"%.60s\": only linear couplings are supported", text);
    }
    for (int k = 0; k < 2; k++) {
        link[k] = names[k] ? tree_find_joint(t, names[k]) : -1;
        if ((names[k] || k == 0) && (link[k] < 0 || t->link[link[k]].nv != 1)) {
            robot_fail(f->in, n, "joint%d=\"%.60s\" %s", k + 1, names[k] ? names[k] : "",
                       link[k] < 0 ? "does not exist" : "is not a hinge or slide");
            return;
        }
        start[k] = link[k] < 0 ? 0 : t->start[t->link[link[k]].q];
    }
    double ratio = link[1] < 0 ? 0 : poly[1];
    t->coupling[t->couplings++] =
        (tree_coupling){link[0], link[1], ratio, start[0] + poly[0] - ratio * start[1]};
}

static double *list_of(mjcf *f, const robot_node *n, const char *attribute, int count)
{
    const char *text = robot_text(n, attribute);
    double *out = text ? ds_memory_doubles(f->in->m, (size_t)count + 1) : NULL;
    if (text && out == NULL) {
        f->in->failed = f->in->failed ? f->in->failed : 2;
    } else if (text) {
        robot_numbers(f->in, n, attribute, text, count, count, out);
    }
    return out;
}

static void read_key(mjcf *f, const robot_node *n)
{
    robot *r = f->in->out;
    tree *t = r->tree;
    robot_key *k = &r->key[r->keys++];
    name_of(f, n, k->name);
    k->q = list_of(f, n, "qpos", t->nq);
    k->v = list_of(f, n, "qvel", t->nv);
    k->u = list_of(f, n, "ctrl", r->actuators);
    for (int i = 0; k->q && !f->in->failed && i < t->links; i++) {
        double *q = k->q + t->link[i].q + t->link[i].nq - 4, R[9], norm = 0;
        if (t->link[i].nq < 4) {
            continue;
        }
        if (!robot_quaternion(q, R)) {
            robot_fail(f->in, n, "a quaternion of qpos has no length");
        }
        for (int j = 0; j < 4; j++) {
            norm += q[j] * q[j];
        }
        for (int j = 0; j < 4; j++) {
            q[j] /= sqrt(norm);
        }
    }
}

static void read_exclusion(mjcf *f, const robot_node *n)
{
    tree *t = f->in->out->tree;
    static const char *const names[] = {"body1", "body2"};
    for (int k = 0; k < 2; k++) {
        const char *name = robot_text(n, names[k]);
        int link = name ? tree_find_link(t, name) : -1;
        if (link < 0 && !(name && strcmp(name, "world") == 0)) {
            robot_fail(f->in, n, "%s=\"%.40s\" does not exist", names[k], name ? name : "");
            return;
        }
        t->excluded[t->exclusions][k] = link;
    }
    t->exclusions++;
}

static int one_of(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0) {
        list++;
    }
    return *list != NULL;
}

static void include_below(robot_reader *in, robot_node *n, int depth)
{
    const char *slash = strrchr(in->file, '/');
    robot_node *before = NULL;
    for (robot_node *c = n->first; c && !in->failed; c = c->next) {
        const char *file = robot_text(c, "file"), *own = in->file;
        if (strcmp(c->name, "include") != 0) {
            include_below(in, c, depth);
            before = c;
            continue;
        }
        char *path = file ? robot_take(in, ROBOT_PATH, 1) : NULL;
        if (path == NULL) {
            robot_fail(in, c, "the attribute file is missing");
            return;
        }
        snprintf(path, ROBOT_PATH, "%.*s%s", slash && *file != '/' ? (int)(slash - own) + 1 : 0, own, file);
        if (depth == 0) {
            robot_fail(in, c, "files include each other: \"%.100s\"", file);
            return;
        }
        if (access(path, R_OK) != 0) {
            robot_fail(in, c, "the file \"%.200s\" does not exist or cannot be read", file);
            return;
        }
        in->file = path;
        robot_node *other = robot_elements_of(in, path);
        in->file = own;
        if (other == NULL) {
            return;
        }
        include_below(in, other, depth - 1);
        for (robot_node *o = other->first; o; o = o->next) {
            o->parent = n;
        }
        /* The list: before, other->first .. other->last, c->next. */
        robot_node *first = other->first ? other->first : c->next;
        *(before ? &before->next : &n->first) = first;
        if (other->first) {
            other->last->next = c->next;
            before = other->last;
        }
        n->last = n->last == c ? before : n->last;
    }
}

void robot_include(robot_reader *in, robot_node *root)
{
    include_below(in, root, 10);
}

void robot_from_mjcf(robot_reader *in, const robot_node *root)
{
    static const char *const known[] = {
        "compiler",  "option",   "size",   "visual",   "statistic", "default", "asset",    "custom",
        "worldbody", "actuator", "sensor", "keyframe", "contact",   "tendon",  "equality", NULL};
    mjcf f = {.in = in,
              .root = root,
              .angle = degree,
              .sequence = "xyz",
              .auto_limits = 1,
              .from_geoms = 2,
              .total = -1};
    const double origin[3] = {0};
    for (const robot_node *n = root->first; n && !in->failed; n = n->next) {
        if (!one_of(n->name, known)) {
            robot_fail(in, n, "this element is not supported");
        } else if (strcmp(n->name, "compiler") == 0) {
            read_compiler(&f, n);
        } else if (strcmp(n->name, "option") == 0) {
            read_option(&f, n);
        }
    }
    for (const robot_node *n = robot_child(root, "worldbody"); n && !in->failed;
         n = robot_next(n, "worldbody")) {
        read_body(&f, n, -1, 1, origin);
    }
    if (!in->failed) {
        bound_masses(&f);
    }
    for (const robot_node *n = root->first; n && !in->failed; n = n->next) {
        for (const robot_node *c = n->first; c && !in->failed; c = c->next) {
            if (strcmp(n->name, "actuator") == 0) {
                read_actuator(&f, c);
            } else if (strcmp(n->name, "tendon") == 0) {
                read_tendon(&f, c);
            } else if (strcmp(n->name, "equality") == 0) {
                read_equality(&f, c);
            } else if (strcmp(n->name, "contact") == 0 && strcmp(c->name, "exclude") == 0) {
                read_exclusion(&f, c);
            } else if (strcmp(n->name, "contact") == 0) {
                robot_fail(in, c, "this element is not supported");
            }
        }
    }
    for (const robot_node *n = robot_child(root, "keyframe"); n && !in->failed;
         n = robot_next(n, "keyframe")) {
        for (const robot_node *c = robot_child(n, "key"); c && !in->failed; c = robot_next(c, "key")) {
            read_key(&f, c);
        }
    }
}
