/* SPDX-License-Identifier: Apache-2.0 */
/* mjcf_attributes.c - attributes of MJCF with their defaults, poses (mjcf_parts.h). */
#include "engines/physics/articulated/mjcf_parts.h"

#include "engines/kit/algebra/mat3.h"

#include <string.h>

/* ---- defaults ---- */

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

const char *mjcf_value(mjcf *f, const robot_node *n, const char *attribute)
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

int mjcf_numbers(mjcf *f, const robot_node *n, const char *attribute, int least, int most, double *out)
{
    const char *text = mjcf_value(f, n, attribute);
    return text ? robot_numbers(f->in, n, attribute, text, least, most, out) : 0;
}

int mjcf_choice(mjcf *f, const robot_node *n, const char *attribute, int unset)
{
    const char *text = mjcf_value(f, n, attribute);
    if (text == NULL || strcmp(text, "auto") == 0) {
        return unset;
    }
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
        robot_fail(f->in, n, "%s=\"%.20s\": use true or false", attribute, text);
    }
    return strcmp(text, "true") == 0;
}

void mjcf_refuse(mjcf *f, const robot_node *n, const char *const *attributes, double harmless)
{
    for (; *attributes; attributes++) {
        const char *text = mjcf_value(f, n, *attributes);
        char *end;
        if (text && (strtod(text, &end) != harmless || end == text)) {
            robot_fail(f->in, n, "the attribute %s=\"%.30s\" is not supported", *attributes, text);
        }
    }
}

void mjcf_name(mjcf *f, const robot_node *n, char to[TREE_NAME])
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
    mjcf_numbers(f, n, "pos", 3, 3, at);
    if (mjcf_numbers(f, n, "quat", 4, 4, v)) {
        given++;
        if (!robot_quaternion(v, R)) {
            robot_fail(f->in, n, "the quaternion has no length");
        }
    }
    if (mjcf_numbers(f, n, "axisangle", 4, 4, v)) {
        given++;
        if (!robot_normalise(v)) {
            robot_fail(f->in, n, "the axis of axisangle has no length");
        }
        robot_axis_angle(v, v[3] * f->angle, R);
    }
    if (mjcf_numbers(f, n, "euler", 3, 3, v)) {
        given++;
        for (int k = 0; k < 3; k++) {
            v[k] *= f->angle;
        }
        robot_euler(v, f->sequence, R);
    }
    if (mjcf_numbers(f, n, "xyaxes", 6, 6, v)) {
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
    if (mjcf_numbers(f, n, "zaxis", 3, 3, v)) {
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

void mjcf_leave_frames(mjcf *f, const robot_node *n, double at[3], double R[9])
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

void mjcf_frame(mjcf *f, const robot_node *n, double at[3], double R[9])
{
    own_frame(f, n, at, R);
    mjcf_leave_frames(f, n, at, R);
}

const robot_node *mjcf_element_after(const robot_node *body, const robot_node *n)
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
