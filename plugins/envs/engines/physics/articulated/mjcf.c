/* SPDX-License-Identifier: Apache-2.0 */
/* mjcf.c - robots in MuJoCo's XML format (robot.h). A body with several joints becomes a chain of links
 * without mass; the frame of a link is at its joint, with the axes of the body. */
#include "engines/physics/articulated/robot_parts.h"

#include "engines/kit/algebra/mat3.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const double degree = 3.14159265358979323846 / 180;

typedef struct mjcf {
    robot_reader *in;
    const robot_node *root;
    double angle; /* radians per unit of the file */
    char sequence[4];
    const char *mesh_folder;
    int auto_limits;
    int from_geoms; /* masses: 0 = given ones, 1 = of the geoms, 2 = of the geoms where none is given */
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

/* pos and the orientation of a frame. */
static void frame_of(mjcf *f, const robot_node *n, double at[3], double R[9])
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
    return 1;
}

/* Reads a geom of `link`, whose frame is at `joint` in the body. Adds its mass to `sum`. Returns whether it
 * is a mesh, whose mass is unknown. */
static int read_geom(mjcf *f, const robot_node *n, int link, const double joint[3], robot_mass *sum)
{
    static const struct {
        const char *name;
        tree_form form;
        int sizes;
    } types[] = {{"sphere", TREE_SPHERE, 1},     {"capsule", TREE_CAPSULE, 2}, {"box", TREE_BOX, 3},
                 {"cylinder", TREE_CYLINDER, 2}, {"plane", TREE_PLANE, 0},     {"mesh", TREE_MESH, 0}};
    const char *type = value_of(f, n, "type"), *mesh = value_of(f, n, "mesh");
    double contype = 1, conaffinity = 1, mass = 0, density = 1000, friction[3] = {1}, half = 0;
    size_t k = 0;
    type = type ? type : "sphere";
    while (k < sizeof types / sizeof *types && strcmp(types[k].name, type) != 0) {
        k++;
    }
    if (k == sizeof types / sizeof *types) {
        robot_fail(f->in, n, "geom type \"%.40s\" is not supported", type);
        return 0;
    }
    numbers_of(f, n, "contype", 1, 1, &contype);
    numbers_of(f, n, "conaffinity", 1, 1, &conaffinity);
    if (!(contype >= 0 && contype < 2147483648.0 && conaffinity >= 0 && conaffinity < 2147483648.0)) {
        robot_fail(f->in, n, "contype and conaffinity are integers of at least 0");
        return 0;
    }
    if (types[k].form == TREE_MESH) {
        int collides = contype != 0 || conaffinity != 0;
        for (const robot_node *a = robot_child(f->root, "asset"); a; a = robot_next(a, "asset")) {
            for (const robot_node *m = robot_child(a, "mesh"); m && mesh; m = robot_next(m, "mesh")) {
                const char *file = robot_text(m, "file"), *name = robot_text(m, "name");
                const char *base = file && strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
                size_t length = base ? strcspn(base, ".") : 0;
                if (file && (name ? strcmp(name, mesh) == 0
                                  : strlen(mesh) == length && strncmp(base, mesh, length) == 0)) {
                    robot_mesh(f->in, n, file, f->mesh_folder, collides);
                    return 1;
                }
            }
        }
        robot_fail(f->in, n, "the mesh asset \"%.40s\" is not defined, or has no file", mesh ? mesh : "");
        return 1;
    }
    tree_shape *s = &f->in->out->tree->shape[tree_add_shape(f->in->out->tree, link, types[k].form)];
    name_of(f, n, s->name);
    frame_of(f, n, s->at, s->rotation);
    int ends = ends_of(f, n, s, &half),
        sizes = ends && types[k].sizes > 1 ? types[k].sizes - 1 : types[k].sizes;
    double size[3] = {0};
    if (ends && (types[k].sizes < 2)) {
        robot_fail(f->in, n, "fromto is for capsules, boxes and cylinders");
    }
    if (numbers_of(f, n, "size", sizes, 3, size) < sizes) {
        robot_fail(f->in, n, "size is missing");
    }
    if (ends && types[k].form == TREE_BOX) {
        size[1] = size[0]; /* a box along fromto is square */
    }
    if (ends) {
        size[types[k].sizes - 1] = half;
    }
    for (int j = 0; j < types[k].sizes; j++) {
        if (!(size[j] > 0)) {
            robot_fail(f->in, n, "sizes must be above 0");
        }
        s->size[j] = size[j];
    }
    vec3_add_scaled(s->at, -1, joint);
    numbers_of(f, n, "friction", 1, 3, friction);
    s->friction = friction[0];
    s->mask[0] = (unsigned)contype;
    s->mask[1] = (unsigned)conaffinity;
    s->collides = s->mask[0] || s->mask[1];
    if (s->form == TREE_PLANE) {
        if (link >= 0) {
            robot_fail(f->in, n, "a plane is fixed to the world");
        }
        return 0;
    }
    robot_mass part;
    double volume = robot_solid(s, 1, &part);
    numbers_of(f, n, "density", 1, 1, &density);
    if (!numbers_of(f, n, "mass", 1, 1, &mass)) {
        mass = density * volume;
    }
    if (!(mass >= 0)) {
        robot_fail(f->in, n, "its mass is negative (%g kg)", mass);
    }
    robot_solid(s, mass, &part);
    robot_add_mass(sum, &part);
    return 0;
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
    static const char *const refused[] = {"frictionloss", "margin", NULL}, *const springs[] = {"stiffness",
                                                                                               NULL};
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
        numbers_of(f, n, "pos", 3, 3, anchor);
        if (before) {
            for (int j = 0; j < 3; j++) {
                l->offset[j] = anchor[j] - before[j];
            }
        } else {
            mat3_apply(R, anchor, l->offset);
            vec3_add_scaled(l->offset, 1, at);
            memcpy(l->rotation, R, sizeof l->rotation);
        }
        refuse(f, n, refused, 0);
        numbers_of(f, n, "damping", 1, 1, &number[TREE_DAMPING]);
        numbers_of(f, n, "armature", 1, 1, &number[TREE_ARMATURE]);
    }
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
        memcpy(l->axis, axis, sizeof axis);
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
            robot_fail(f->in, n, "damping, stiffness and armature are not negative");
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
    int link = parent, joints = 0, meshes = 0, inertial = 0;
    robot_mass sum = {0};
    if (!world) {
        frame_of(f, body, at, R);
        vec3_add_scaled(at, -1, up_joint);
        refuse(f, body, refused, 0);
        if (choice_of(f, body, "mocap", 0)) {
            robot_fail(f->in, body, "bodies that are moved from outside (mocap) are not supported");
        }
        for (const robot_node *n = body->first; n && !f->in->failed; n = n->next) {
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
    for (const robot_node *n = body->first; n && !f->in->failed; n = n->next) {
        if (strcmp(n->name, "geom") == 0) {
            meshes += read_geom(f, n, link, joint, &sum);
        } else if (strcmp(n->name, "site") == 0) {
            read_site(f, n, link, joint);
        } else if (strcmp(n->name, "inertial") == 0 && !world) {
            inertial = 1;
            if (f->from_geoms != 1) {
                read_inertial(f, n, link, joint);
            }
        } else if (strcmp(n->name, "body") != 0 && strcmp(n->name, "camera") != 0 &&
                   strcmp(n->name, "light") != 0 && (world || !is_joint(n))) {
            robot_fail(f->in, n, "this element is not supported");
        }
    }
    int use_geoms = !world && (f->from_geoms == 1 || (f->from_geoms == 2 && !inertial));
    if (use_geoms && meshes && !f->in->failed) {
        robot_fail(f->in, body, "the mass of a mesh is unknown: give the body <inertial>");
    }
    if (use_geoms && !f->in->failed) {
        robot_set_mass(f->in, body, link, &sum);
    }
    for (const robot_node *n = robot_child(body, "body"); n && !f->in->failed; n = robot_next(n, "body")) {
        read_body(f, n, link, 0, joint);
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
    static const char *const refused[] = {"boundmass", "boundinertia", NULL}, *const total[] = {
                                                                                  "settotalmass", NULL};
    refuse(f, n, refused, 0);
    refuse(f, n, total, -1);
}

static void read_option(mjcf *f, const robot_node *n)
{
    static const char *const refused[] = {"density", "viscosity", "o_margin", NULL};
    tree *t = f->in->out->tree;
    double wind[3] = {0};
    robot_values(f->in, n, "gravity", 3, t->number + TREE_GRAVITY);
    if (robot_values(f->in, n, "timestep", 1, &f->in->out->step) && !(f->in->out->step > 0)) {
        robot_fail(f->in, n, "timestep must be above 0");
    }
    robot_values(f->in, n, "wind", 3, wind);
    refuse(f, n, refused, 0);
    for (const robot_node *c = robot_child(n, "flag"); c; c = robot_next(c, "flag")) {
        static const char *const flags[] = {"gravity", "contact", "passive", "limit", "actuation", NULL};
        for (int k = 0; flags[k]; k++) {
            const char *text = robot_text(c, flags[k]);
            if (text && strcmp(text, "enable") != 0) {
                robot_fail(f->in, c, "the flag %s=\"%.20s\" is not supported", flags[k], text);
            }
        }
    }
}

static void read_actuator(mjcf *f, const robot_node *n)
{
    static const char *const kinds[] = {"motor", "position", "velocity"};
    static const char *const other[] = {"tendon",        "site",       "body", "cranksite",
                                        "jointinparent", "slidersite", NULL};
    static const char *const refused[] = {"dampratio", "timeconst", "inheritrange", NULL};
    robot *r = f->in->out;
    robot_actuator *a = &r->actuator[r->actuators];
    const char *joint = value_of(f, n, "joint");
    double gear[6] = {1}, range[2], gain = 1, rate_gain = 0;
    int kind = 0;
    while (kind < 3 && strcmp(n->name, kinds[kind]) != 0) {
        kind++;
    }
    for (int k = 0; other[k]; k++) {
        if (value_of(f, n, other[k])) {
            robot_fail(f->in, n, "it drives a %s: only joints are supported", other[k]);
        }
    }
    if (kind == 3 || joint == NULL) {
        robot_fail(f->in, n,
                   kind == 3 ? "this actuator is not supported: use motor, position or velocity"
                             : "the attribute joint is missing");
        return;
    }
    refuse(f, n, refused, 0);
    int link = tree_find_joint(r->tree, joint);
    if (link < 0 || r->tree->link[link].nv != 1) {
        robot_fail(f->in, n, "joint \"%.60s\" %s", joint,
                   link < 0 ? "does not exist" : "is not a hinge or slide");
        return;
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
    if (choice_of(f, n, "ctrllimited", f->auto_limits && given)) {
        if (!given || !(range[0] < range[1])) {
            robot_fail(f->in, n, "ctrlrange must go from a lower to a higher value");
            return;
        }
        a->lower = range[0];
        a->upper = range[1];
    }
    numbers_of(f, n, "kp", 1, 1, &gain);
    rate_gain = kind == 2 ? 1 : 0;
    numbers_of(f, n, "kv", 1, 1, &rate_gain);
    a->gear = gear[0];
    a->gain = kind == 1 ? gain * gear[0] * gear[0] : 0;
    a->rate_gain = kind >= 1 ? rate_gain * gear[0] * gear[0] : 0;
    r->actuators++;
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
        if (link < 0) {
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

void robot_from_mjcf(robot_reader *in, const robot_node *root)
{
    static const char *const known[] = {"compiler", "option",   "size",    "visual",    "statistic",
                                        "default",  "asset",    "custom",  "worldbody", "actuator",
                                        "sensor",   "keyframe", "contact", NULL};
    mjcf f = {.in = in, .root = root, .angle = degree, .sequence = "xyz", .auto_limits = 1, .from_geoms = 2};
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
    for (const robot_node *n = root->first; n && !in->failed; n = n->next) {
        for (const robot_node *c = n->first; c && !in->failed; c = c->next) {
            if (strcmp(n->name, "actuator") == 0) {
                read_actuator(&f, c);
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
