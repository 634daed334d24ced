/* SPDX-License-Identifier: Apache-2.0 */
/* setup_numbers.c - numbers in scene files of deformable bodies, which may be variables; sizes and rotations
 * of bodies (see setup_numbers.h). */
#include "engines/physics/soft/scene/setup_numbers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- variables ---- */

/* The name of key `key` of a section: NAME.key, or the key alone in a section without a name. */
static const char *name_of(setup_reader *r, const scene_section *s, const char *key)
{
    const size_t size = strlen(scene_name(s)) + strlen(key) + 2;
    char *name = ds_memory_take(&r->setup->memory, size, 1);
    if (name != NULL) {
        snprintf(name, size, "%s%s%s", scene_name(s), scene_name(s)[0] != '\0' ? "." : "", key);
    }
    return name != NULL ? name : "";
}

/* A new variable for key `key`; NULL where there are too many. */
body_variable *setup_variable(setup_reader *r, const scene_section *s, const char *key, int has_truth)
{
    if (r->variables == BODY_VARIABLES_MAX) {
        scene_fail(r->f, s, key, "more than %d keys are variables", BODY_VARIABLES_MAX);
        return NULL;
    }
    r->variable[r->variables] = (place){s, key, has_truth};
    body_variable *q = &r->setup->variable[r->variables++];
    q->name = name_of(r, s, key);
    return q;
}

/* A number that may be a variable; returns its value in the model as built. */
double setup_quantity(setup_reader *r, const scene_section *s, const char *key, const char *unit,
                      body_variable_kind kind, double low, double high, double otherwise,
                      body_variable **made)
{
    const scene_quantity q = scene_quantity_of(r->f, s, key, low, high, otherwise);
    body_variable *v = q.variable ? setup_variable(r, s, key, !isnan(q.truth)) : NULL;
    const double built = isnan(q.truth) ? q.value : q.truth;
    if (v != NULL) {
        v->unit = unit;
        v->kind = kind;
        v->log = q.log;
        v->lower = q.log ? log10(q.lower) : q.lower;
        v->upper = q.log ? log10(q.upper) : q.upper;
        v->start = q.log ? log10(q.value) : q.value;
    }
    if (v != NULL && q.log && !(built > 0)) {
        scene_fail(r->f, s, key, "%s is a logarithm: its truth must be above 0", key);
    }
    if (made != NULL) {
        *made = v;
    }
    return built;
}

double setup_number(setup_reader *r, const scene_section *s, const char *key, const char *unit,
                    body_place where, double low, double high, double otherwise)
{
    body_variable *v;
    const double value = setup_quantity(r, s, key, unit, BODY_VARIABLE_NUMBERS, low, high, otherwise, &v);
    where.count = 1;
    if (v != NULL) {
        v->place = where;
    }
    return where.scale * value;
}

/* Is one range, and one start, given for all numbers? */
static int are_alike(const scene_quantity *q, size_t n)
{
    size_t d = 0;
    while (d < n && q[d].variable && memcmp(&q[d].lower, &q[0].lower, 2 * sizeof(double)) == 0 &&
           !(q[d].value < q[0].value || q[d].value > q[0].value)) {
        d++;
    }
    return d == n;
}

int setup_components(setup_reader *r, const scene_section *s, const char *key, size_t n, const char *unit,
                     double low, double most, double *out, body_variable **made)
{
    scene_quantity q[SCENE_MOST_QUANTITIES] = {{0}};
    size_t first = n;
    *made = NULL;
    for (size_t d = 0; d < n; d++) {
        q[d].value = out[d];
    }
    if (!scene_components(r->f, s, key, n, low, most, q) || scene_failed(r->f)) {
        return 0;
    }
    for (size_t d = n; d-- > 0;) {
        first = q[d].variable ? d : first;
    }
    const int has_truth = first < n && !isnan(q[first].truth);
    for (size_t d = 0; d < n; d++) {
        out[d] = q[d].variable && has_truth ? q[d].truth : q[d].value;
    }
    if (first == n) {
        return 0;
    }
    *made = setup_variable(r, s, key, has_truth);
    body_variable_axes *axes = ds_memory_take(&r->setup->memory, 1, sizeof *axes);
    if (*made == NULL || axes == NULL) {
        return 0;
    }
    if (q[first].log) {
        scene_fail(r->f, s, key, "%s cannot be a logarithm", key);
    }
    for (size_t d = 0; d < n; d++) {
        axes->fixed[d] = !q[d].variable;
        axes->lower[d] = q[d].lower;
        axes->upper[d] = q[d].upper;
        axes->start[d] = q[d].value;
        axes->built[d] = out[d];
    }
    (*made)->unit = unit;
    (*made)->axes = axes;
    if (q[first].random > 0 || strstr(scene_text(r->f, s, key, ""), "random")) { /* drawn for each number */
        (*made)->axes = NULL;
        (*made)->lower = q[0].lower;
        (*made)->upper = q[0].upper;
        (*made)->start = q[0].value;
        (*made)->random = q[0].random;
        if (!are_alike(q, n)) {
            scene_fail(r->f, s, key, "random needs one range and one start for all %zu numbers", n);
        }
    }
    return 1;
}

int setup_vector(setup_reader *r, const scene_section *s, const char *key, const char *unit, double low,
                 double most, double out[3], body_variable **made)
{
    return setup_components(r, s, key, 3, unit, low, most, out, made);
}

void setup_refuse_random(setup_reader *r, const scene_section *s, const char *key, const body_variable *v)
{
    if (v != NULL && v->axes == NULL && strstr(scene_text(r->f, s, key, ""), "random") != NULL) {
        scene_fail(r->f, s, key, "random belongs to velocities: remove it");
    }
}

void setup_numbers(setup_reader *r, const scene_section *s, const char *key, const char *unit,
                   body_place where, double low, double most, double *out)
{
    body_variable *v;
    where.count = where.count > 0 ? where.count : 3;
    if (setup_components(r, s, key, where.count, unit, low, most, out, &v)) {
        v->kind = BODY_VARIABLE_NUMBERS;
        v->place = where;
    }
    setup_refuse_random(r, s, key, v);
    for (size_t d = 0; d < where.count; d++) {
        out[d] *= where.scale;
    }
}

body_variable *setup_center(setup_reader *r, const scene_section *s, const char *key, double out[3])
{
    body_variable *v;
    if (setup_vector(r, s, key, "m", -setup_most_size, setup_most_size, out, &v)) {
        v->kind = BODY_VARIABLE_CENTER;
    }
    setup_refuse_random(r, s, key, v);
    return v;
}

/* ---- sizes and rotations ---- */

void setup_shape_numbers(setup_reader *r, const scene_section *s, body *b, const char *key, const char *unit,
                         size_t first, size_t n, double low, double most)
{
    double *built = b->shape->built + first;
    body_variable *v = NULL;
    if (n == 1) {
        *built = setup_quantity(r, s, key, unit, BODY_VARIABLE_SHAPE, low, most, *built, &v);
    } else {
        setup_components(r, s, key, n, unit, low, most, built, &v);
    }
    if (v != NULL) {
        v->kind = BODY_VARIABLE_SHAPE;
        v->shape = b->shape;
        v->first = first;
        v->place.count = n;
    }
    setup_refuse_random(r, s, key, v);
}

void setup_check_rotation(setup_reader *r, const scene_section *s)
{
    const size_t n = scene_count(r->f, s, "rotation");
    if (n != 4 && n > 0 && !scene_varies(r->f, s, "rotation")) {
        scene_fail(r->f, s, "rotation", "rotation has %zu numbers: give the four of a quaternion w x y z", n);
    }
}

static void read_quaternion(setup_reader *r, const scene_section *s, body *b, fem_placing *where)
{
    double *w = b->shape->built + b->shape->modes;
    w[0] = 1;
    if (!scene_has(r->f, s, "rotation")) {
        return;
    }
    setup_check_rotation(r, s);
    setup_shape_numbers(r, s, b, "rotation", "", b->shape->modes, 4, -1e3, 1e3);
    const double along = sqrt(w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
    if (!(along + fabs(w[0]) > 0)) {
        scene_fail(r->f, s, "rotation", "rotation is a quaternion w x y z, and this one is zero%s",
                   scene_varies(r->f, s, "rotation") ? ": give its start" : "");
    }
    memcpy(where->axis, w + 1, sizeof where->axis);
    where->angle = 2 * atan2(along, w[0]);
}

static void read_axis(setup_reader *r, const scene_section *s, body *b, fem_placing *where)
{
    double *w = b->shape->built + b->shape->modes;
    const bool turned = scene_has(r->f, s, "axis");
    b->shape->by_axis = 1;
    if (turned) {
        setup_shape_numbers(r, s, b, "axis", "", b->shape->modes, 3, -1e3, 1e3);
    }
    setup_shape_numbers(r, s, b, "angle", "rad", b->shape->modes + 3, 1, -1e3, 1e3);
    if (turned && !(fabs(w[0]) + fabs(w[1]) + fabs(w[2]) > 0)) {
        scene_fail(r->f, s, "axis", "axis is zero: give a direction%s",
                   scene_varies(r->f, s, "axis") ? " as its start" : "");
    } else if (turned != scene_has(r->f, s, "angle")) {
        scene_fail(r->f, s, turned ? "axis" : "angle", "a rotation needs axis and angle (rad)");
    }
    memcpy(where->axis, w, sizeof where->axis);
    where->angle = w[3];
}

void setup_rotation(setup_reader *r, const scene_section *s, body *b, int by_axis, fem_placing *where)
{
    if (by_axis) {
        read_axis(r, s, b, where);
    } else {
        read_quaternion(r, s, b, where);
    }
    b->turned = where->angle != 0 || scene_varies(r->f, s, "rotation") || scene_varies(r->f, s, "angle");
}

/* ---- modes ---- */

/* Point i of the mesh for one of the numbers at 1 and the others at 0. */
static void mode_at(const body *b, const fem_mesh *mesh, size_t k, size_t i, double out[3])
{
    const double *p = mesh->point + 3 * i, *built = b->shape->built;
    const size_t axis = b->modes == SETUP_MODES_PLANE ? 2 * k : k;
    memset(out, 0, 3 * sizeof *out);
    switch (b->modes) {
    case SETUP_MODES_AXES:
    case SETUP_MODES_PLANE:
        out[axis] = p[axis] / built[k];
        break;
    case SETUP_MODES_SIDES:
        out[k % 3] = (double)(k < 3 ? i % (b->row + 1) : i / (b->row + 1));
        break;
    default:
        for (int d = 0; d < 3; d++) {
            out[d] = p[d] / built[0];
        }
    }
}

void setup_modes(setup_reader *r, body *b, const fem_mesh *mesh)
{
    body_shape *s = b->shape;
    int used = 0;
    for (size_t k = 0; k < r->variables; k++) {
        used |= r->setup->variable[k].shape == s;
    }
    double *mode = used ? ds_memory_doubles(&r->setup->memory, 3 * s->modes * (mesh->points + 1)) : NULL;
    for (size_t k = 0; mode != NULL && k < s->modes; k++) {
        for (size_t i = 0; i < mesh->points; i++) {
            mode_at(b, mesh, k, i, mode + 3 * (k * mesh->points + i));
        }
    }
    s->mode = mode;
}
