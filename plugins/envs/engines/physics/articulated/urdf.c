/* SPDX-License-Identifier: Apache-2.0 */
/* urdf.c - robots in the Unified Robot Description Format (robot.h). */
#include "engines/physics/articulated/robot_parts.h"

#include "engines/kit/algebra/mat3.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* xyz and rpy of <origin>: fixed axes x, y, z in this order. */
static void origin_of(robot_reader *in, const robot_node *n, double at[3], double R[9])
{
    const robot_node *o = robot_child(n, "origin");
    double rpy[3] = {0};
    memset(at, 0, 3 * sizeof *at);
    if (o) {
        robot_values(in, o, "xyz", 3, at);
        robot_values(in, o, "rpy", 3, rpy);
    }
    robot_euler(rpy, "XYZ", R);
}

static void need(robot_reader *in, const robot_node *n, const char *attribute, double *out, int count,
                 int positive)
{
    if (!robot_values(in, n, attribute, count, out)) {
        robot_fail(in, n, "the attribute %s is missing", attribute);
    }
    for (int k = 0; positive && k < count; k++) {
        if (!(out[k] > 0)) {
            robot_fail(in, n, "%s must be above 0", attribute);
        }
    }
}

static void read_inertial(robot_reader *in, const robot_node *link, int i)
{
    const robot_node *n = robot_child(link, "inertial");
    if (n == NULL) {
        return;
    }
    static const char *const names[] = {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"};
    static const int place[6][2] = {{0, 0}, {1, 3}, {2, 6}, {4, 4}, {5, 7}, {8, 8}};
    const robot_node *mass = robot_child(n, "mass"), *inertia = robot_child(n, "inertia");
    robot_mass m = {0};
    double R[9], I[9] = {0}, T[9];
    origin_of(in, n, m.centre, R);
    if (mass == NULL || inertia == NULL) {
        robot_fail(in, n, "<%s> is missing", mass ? "inertia" : "mass");
        return;
    }
    need(in, mass, "value", &m.mass, 1, 0);
    for (int k = 0; k < 6; k++) {
        double v = 0;
        if (k == 0 || k == 3 || k == 5) {
            need(in, inertia, names[k], &v, 1, 0);
        } else {
            robot_values(in, inertia, names[k], 1, &v);
        }
        I[place[k][0]] = I[place[k][1]] = v;
    }
    mat3_mul(R, I, T);
    mat3_mult(T, R, m.inertia);
    robot_set_mass(in, inertia, i, &m);
}

static void read_shape(robot_reader *in, const robot_node *n, int link, int collides, int visible)
{
    const robot_node *g = robot_child(n, "geometry"), *c = g ? g->first : NULL;
    double size[3] = {0};
    if (c == NULL) {
        robot_fail(in, n, "<geometry> is missing or empty");
        return;
    }
    tree_form form = TREE_MESH;
    if (strcmp(c->name, "box") == 0) {
        form = TREE_BOX;
        need(in, c, "size", size, 3, 0);
        for (int k = 0; k < 3; k++) {
            if (!(size[k] >= 0)) { /* 0: a plate */
                robot_fail(in, c, "size must not be negative");
            }
            size[k] *= 0.5;
        }
    } else if (strcmp(c->name, "sphere") == 0) {
        form = TREE_SPHERE;
        need(in, c, "radius", size, 1, 1);
    } else if (strcmp(c->name, "cylinder") == 0 || strcmp(c->name, "capsule") == 0) {
        form = c->name[1] == 'y' ? TREE_CYLINDER : TREE_CAPSULE;
        need(in, c, "radius", size, 1, 1);
        need(in, c, "length", size + 1, 1, 1);
        size[1] *= 0.5;
    } else if (strcmp(c->name, "mesh") == 0) {
        const char *file = robot_text(c, "filename");
        if (file == NULL) {
            robot_fail(in, c, "the attribute filename is missing");
        } else {
            robot_mesh_use use = {
                .file = file, .scale = {1, 1, 1}, .link = link, .collides = collides, .visible = visible};
            origin_of(in, n, use.at, use.rotation);
            robot_values(in, c, "scale", 3, use.scale);
            robot_mesh(in, c, &use, 0, 0, NULL);
        }
        return;
    } else {
        robot_fail(in, c, "unknown geometry: use box, sphere, cylinder, capsule or mesh");
    }
    tree_shape *s = &in->out->tree->shape[tree_add_shape(in->out->tree, link, form)];
    memcpy(s->size, size, sizeof size);
    origin_of(in, n, s->at, s->rotation);
    s->collides = collides;
    s->visible = visible;
    const char *name = robot_text(n, "name");
    if (name) {
        robot_name(in, n, name, s->name);
    }
}

static void read_link(robot_reader *in, const robot_node *n, int i)
{
    const robot_node *visual = robot_child(n, "visual"), *collision = robot_child(n, "collision");
    int drawn = in->out->tree->shapes;
    robot_name(in, n, robot_text(n, "name"), in->out->tree->link[i].name);
    read_inertial(in, n, i);
    for (const robot_node *c = visual; c && !in->failed; c = robot_next(c, "visual")) {
        read_shape(in, c, i, 0, 1);
    }
    drawn = in->out->tree->shapes > drawn;
    for (const robot_node *c = collision; c && !in->failed; c = robot_next(c, "collision")) {
        read_shape(in, c, i, 1, !drawn);
    }
}

/* The element by which a joint follows another one, or NULL. */
static const robot_node *mimic_of(const robot_reader *in, const robot_node *joint)
{
    return in->options->free_mimics ? NULL : robot_child(joint, "mimic");
}

static void read_limits(robot_reader *in, const robot_node *n, tree_link *l, int endless)
{
    tree *t = in->out->tree;
    const robot_node *limit = robot_child(n, "limit"), *dynamics = robot_child(n, "dynamics");
    double effort = 0, lower = 0, upper = 0;
    if (limit == NULL && !endless) {
        robot_fail(in, n, "<limit> is missing");
        return;
    }
    robot_actuator *a = &in->out->actuator[in->out->actuators];
    in->out->actuators += mimic_of(in, n) == NULL;
    *a = (robot_actuator){.link = (int)(l - t->link), .gear = 1, .lower = -INFINITY, .upper = INFINITY};
    memcpy(a->name, l->joint, sizeof a->name);
    if (limit) {
        robot_values(in, limit, "lower", 1, &lower);
        robot_values(in, limit, "upper", 1, &upper);
        if (robot_values(in, limit, "effort", 1, &effort) && effort > 0) {
            a->lower = -effort;
            a->upper = effort;
        }
        if (!endless && !(lower <= upper)) {
            robot_fail(in, limit, "lower %g is above upper %g", lower, upper);
        }
        if (!endless) {
            t->lower[l->v] = lower;
            t->upper[l->v] = upper;
        }
    }
    if (dynamics) {
        double *damping = &in->joint[TREE_DAMPING][l->v], *friction = &in->joint[TREE_DRY][l->v];
        robot_values(in, dynamics, "damping", 1, damping);
        robot_values(in, dynamics, "friction", 1, friction);
        if (*damping < 0 || *friction < 0) {
            robot_fail(in, dynamics, "damping %g or friction %g is negative", *damping, *friction);
        }
    }
}

/* Adds the links of one joint; returns the last one. */
static int read_joint(robot_reader *in, const robot_node *n, int parent)
{
    static const struct {
        const char *name;
        tree_joint kind;
        int endless;
    } types[] = {{"fixed", TREE_FIXED, 1},         {"revolute", TREE_REVOLUTE, 0},
                 {"continuous", TREE_REVOLUTE, 1}, {"prismatic", TREE_PRISMATIC, 0},
                 {"floating", TREE_FREE, 1},       {"planar", TREE_PRISMATIC, 1}};
    tree *t = in->out->tree;
    const char *type = robot_text(n, "type"), *name = robot_text(n, "name");
    const robot_node *axis_node = robot_child(n, "axis");
    double axis[3] = {1, 0, 0}, at[3], R[9];
    size_t k = 0;
    while (type && k < sizeof types / sizeof *types && strcmp(types[k].name, type) != 0) {
        k++;
    }
    if (type == NULL || k == sizeof types / sizeof *types) {
        robot_fail(in, n, "joint type \"%.40s\" is not supported", type ? type : "");
        return -1;
    }
    if (axis_node) {
        need(in, axis_node, "xyz", axis, 3, 0);
    }
    if (types[k].kind != TREE_FIXED && !robot_normalise(axis)) {
        robot_fail(in, axis_node ? axis_node : n, "the axis has no length");
    }
    origin_of(in, n, at, R);
    if (types[k].kind == TREE_FREE &&
        (parent < 0 || t->link[parent].parent >= 0 || t->link[parent].nv > 0 || t->link[parent].mass > 0)) {
        robot_fail(in, n, "a floating joint is supported at a root without mass only");
    }
    int planar = strcmp(type, "planar") == 0, i = -1;
    double side[3] = {0};
    for (int part = planar ? 0 : 2; part < 3 && !in->failed; part++) {
        tree_joint kind = part < 2 ? TREE_PRISMATIC : planar ? TREE_REVOLUTE : types[k].kind;
        i = tree_add_link(t, kind == TREE_FREE ? -1 : i >= 0 ? i : parent, kind);
        tree_link *l = &t->link[i];
        if (part == (planar ? 0 : 2)) {
            memcpy(l->rotation, R, sizeof R);
            memcpy(l->offset, at, sizeof at);
        }
        memcpy(l->axis, axis, sizeof axis);
        if (part == 0) {
            const double x[3] = {fabs(axis[0]) < 0.9, fabs(axis[0]) >= 0.9, 0};
            vec3_cross(x, axis, side);
            robot_normalise(side);
            vec3_cross(side, axis, l->axis);
        } else if (part == 1) {
            memcpy(l->axis, side, sizeof side);
        }
        char full[TREE_NAME + 4];
        snprintf(full, sizeof full, "%.*s%s", TREE_NAME - 3, name ? name : "",
                 part == 0   ? "_x"
                 : part == 1 ? "_y"
                             : "");
        robot_name(in, n, full, l->joint);
        if (kind == TREE_FREE) {
            memcpy(t->start + l->q, at, sizeof at);
        } else if (l->nv == 1) {
            read_limits(in, n, l, types[k].endless);
        }
    }
    return i;
}

static const robot_node *named(const robot_node *root, const char *element, const char *name)
{
    for (const robot_node *n = robot_child(root, element); n; n = robot_next(n, element)) {
        const char *own = robot_text(n, "name");
        if (own && strcmp(own, name) == 0) {
            return n;
        }
    }
    return NULL;
}

static const char *end_of(const robot_node *joint, const char *end)
{
    const robot_node *n = robot_child(joint, end);
    return n ? robot_text(n, "link") : NULL;
}

/* Names, and that every link is the child of at most one joint. Returns the root. */
static const robot_node *check_links(robot_reader *in, const robot_node *file)
{
    const robot_node *root = NULL;
    for (const robot_node *n = robot_child(file, "joint"); n; n = robot_next(n, "joint")) {
        for (int k = 0; k < 2; k++) {
            const char *end = k ? "child" : "parent", *link = end_of(n, end);
            if (link == NULL || !named(file, "link", link)) {
                robot_fail(in, n, "its %s link \"%.60s\" does not exist", end, link ? link : "");
                return NULL;
            }
        }
    }
    for (const robot_node *n = robot_child(file, "link"); n && !in->failed; n = robot_next(n, "link")) {
        const char *name = robot_text(n, "name");
        const robot_node *above = NULL;
        if (name == NULL || *name == '\0' || named(file, "link", name) != n) {
            robot_fail(in, n, name && *name ? "there are two links of this name" : "the link has no name");
            return NULL;
        }
        for (const robot_node *j = robot_child(file, "joint"); j; j = robot_next(j, "joint")) {
            if (strcmp(end_of(j, "child"), name) == 0) {
                if (above) {
                    robot_fail(
                        in, j,
                        "link \"%.60s\" is already the child of another joint: loops are not supported",
                        name);
                }
                above = j;
            }
        }
        if (above == NULL && root != NULL) {
            robot_fail(in, n, "a second root: the links are not connected");
        }
        root = above ? root : n;
    }
    if (root == NULL) {
        robot_fail(in, file, robot_child(file, "link") ? "the joints form a cycle" : "there is no <link>");
    }
    return root;
}

/* Couples joints that follow others; a fixed joint stays where it is. */
static void read_mimics(robot_reader *in, const robot_node *file)
{
    tree *t = in->out->tree;
    for (const robot_node *j = robot_child(file, "joint"); j && !in->failed; j = robot_next(j, "joint")) {
        const robot_node *n = mimic_of(in, j), *to = NULL;
        const char *own = robot_text(j, "name"), *name = n ? robot_text(n, "joint") : NULL;
        int follower = n && own ? tree_find_joint(t, own) : -1;
        if (follower < 0) {
            continue;
        }
        tree_coupling c = {follower, name ? tree_find_joint(t, name) : -1, 1, 0};
        to = name ? named(file, "joint", name) : NULL;
        if (to == NULL) {
            robot_fail(in, n, "joint \"%.60s\" does not exist", name ? name : "");
        } else if (t->link[follower].nv != 1 || (c.leader >= 0 && t->link[c.leader].nv != 1) ||
                   strcmp(robot_text(j, "type"), "planar") == 0 ||
                   strcmp(robot_text(to, "type"), "planar") == 0) {
            robot_fail(in, n, "only revolute, continuous and prismatic joints follow each other");
        }
        robot_values(in, n, "multiplier", 1, &c.ratio);
        robot_values(in, n, "offset", 1, &c.offset);
        t->coupling[t->couplings++] = c;
    }
}

static const robot_spelling spelling[] = {{"link", " name type "},
                                          {"joint", " name type "},
                                          {"origin", " xyz rpy quat_xyzw "},
                                          {"mass", " value "},
                                          {"inertia", " ixx ixy ixz iyy iyz izz "},
                                          {"box", " size "},
                                          {"cylinder", " radius length "},
                                          {"capsule", " radius length "},
                                          {"sphere", " radius "},
                                          {"mesh", " filename scale "},
                                          {"axis", " xyz "},
                                          {"limit", " lower upper effort velocity acceleration jerk "},
                                          {"dynamics", " damping friction "},
                                          {"mimic", " joint multiplier offset "},
                                          {"parent", " link "},
                                          {"child", " link "},
                                          {NULL, NULL}};

void robot_from_urdf(robot_reader *in, const robot_node *file)
{
    for (const robot_node *n = file->first; n && !in->failed; n = n->next) {
        if (strcmp(n->name, "link") == 0 || strcmp(n->name, "joint") == 0) {
            robot_check_spelling(in, n, spelling);
        }
    }
    tree *t = in->out->tree;
    const robot_node *root = in->failed ? NULL : check_links(in, file);
    if (in->failed) {
        return;
    }
    int first = tree_add_link(t, -1, in->options->free_base ? TREE_FREE : TREE_FIXED);
    memcpy(t->link[first].joint, "base", 5);
    read_link(in, root, first);
    /* A link takes its place after its parent: the list grows while it is walked. */
    for (int i = 0; i < t->links && !in->failed; i++) {
        for (const robot_node *j = robot_child(file, "joint"); j && !in->failed; j = robot_next(j, "joint")) {
            if (strcmp(end_of(j, "parent"), t->link[i].name) == 0) {
                int child = read_joint(in, j, i);
                if (!in->failed) {
                    read_link(in, named(file, "link", end_of(j, "child")), child);
                }
            }
        }
    }
    for (const robot_node *n = robot_child(file, "link"); n; n = robot_next(n, "link")) {
        if (!in->failed && tree_find_link(t, robot_text(n, "name")) < 0) {
            robot_fail(in, n, "the joints form a cycle that is not connected to the root");
        }
    }
    read_mimics(in, file);
}
