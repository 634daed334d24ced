/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c - size, sides and rotation of bodies as variables (see shape.h).
 *
 * The points of a body at rest, in its own frame, are sums of modes times numbers: the width of a box times
 * the x of a box of width 1, and so on. The positions at the start are these points, rotated and moved. */
#include "engines/physics/soft/shape.h"

#include "engines/kit/algebra/quaternion.h"
#include "engines/kit/decision.h"
#include "engines/physics/fem/rest.h"
#include "engines/physics/soft/materials.h"

#include <math.h>
#include <string.h>

static int is_shape(const body_variable *q)
{
    return q->kind == BODY_VARIABLE_SHAPE;
}

/* ---- rotation ---- */

/* The rotation matrix, and its derivatives by the numbers of the rotation. */
typedef struct rotation {
    double m[9], by[BODY_SHAPE_TURN][9];
} rotation;

/* Quaternion of axis x, y, z and angle. */
static void by_axis_of(const double *w, double q[4], double vector[3], double *length)
{
    *length = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    for (int d = 0; d < 3; d++) {
        vector[d] = *length > 0 ? w[d] * w[3] / *length : 0;
    }
    quat_from_vector(vector, q);
}

/* Derivatives by axis and angle from those by the quaternion. */
static void by_axis_bar(const double *w, const double vector[3], double length, const double q_bar[4],
                        double out[4])
{
    double bar[3] = {0, 0, 0}, along = 0;
    memset(out, 0, 4 * sizeof *out);
    if (!(length > 0)) {
        return;
    }
    quat_from_vector_adjoint(vector, q_bar, bar);
    for (int d = 0; d < 3; d++) {
        along += bar[d] * w[d] / length;
    }
    for (int d = 0; d < 3; d++) {
        out[d] = w[3] / length * (bar[d] - along * w[d] / length);
    }
    out[3] = along;
}

static void rotation_of(const body_shape *s, const double *number, rotation *out)
{
    const double *w = number + s->modes;
    double q[4], vector[3], length = 0;
    if (s->by_axis) {
        by_axis_of(w, q, vector, &length);
    } else {
        memcpy(q, w, sizeof q);
    }
    const double norm = quat_normalise(q);
    quat_matrix(q, out->m);
    for (int i = 0; i < 9; i++) {
        double m_bar[9] = {0}, q_bar[4] = {0, 0, 0, 0}, by[4];
        m_bar[i] = 1;
        quat_matrix_adjoint(q, m_bar, q_bar);
        quat_normalise_adjoint(q, norm, q_bar, q_bar);
        if (s->by_axis) {
            by_axis_bar(w, vector, length, q_bar, by);
        } else {
            memcpy(by, q_bar, sizeof by);
        }
        for (int k = 0; k < BODY_SHAPE_TURN; k++) {
            out->by[k][i] = by[k];
        }
    }
}

static void turn(const double m[9], const double p[3], double out[3])
{
    for (int d = 0; d < 3; d++) {
        out[d] = m[3 * d] * p[0] + m[3 * d + 1] * p[1] + m[3 * d + 2] * p[2];
    }
}

/* ---- points ---- */

static const double *mode_of(const body_shape *s, size_t k, size_t i)
{
    return s->mode + 3 * (k * s->particles + i);
}

static void own_point(const body_shape *s, const double *number, size_t i, double out[3])
{
    memset(out, 0, 3 * sizeof *out);
    for (size_t k = 0; k < s->modes; k++) {
        for (int d = 0; d < 3; d++) {
            out[d] += number[k] * mode_of(s, k, i)[d];
        }
    }
}

static double number_of(const body_variable *q, double v)
{
    return q->log ? pow(10, v) : v;
}

/* Numbers of a shape from the variables. */
static void numbers_of(const body_variables *set, const body_shape *s, const double *x, double *number)
{
    memcpy(number, s->built, sizeof s->built);
    for (uint64_t i = 0; x != NULL && i < set->count; i++) {
        const body_variable *q = set->item[i];
        size_t next = 0;
        for (size_t d = 0; is_shape(q) && q->shape == s && d < q->place.count; d++) {
            if (q->axes == NULL || !q->axes->fixed[d]) {
                number[q->first + d] = number_of(q, x[set->at[i] + next++]);
            }
        }
    }
}

static int changes_rest(const body_variables *set, const body_shape *s)
{
    int found = 0;
    for (uint64_t i = 0; i < set->count; i++) {
        const body_variable *q = set->item[i];
        found |= is_shape(q) && q->shape == s && q->first < s->modes;
    }
    return found;
}

int body_shapes_change_rest(const body_variables *set)
{
    int found = 0;
    for (uint64_t i = 0; i < set->count; i++) {
        found |= is_shape(set->item[i]) && set->item[i]->first < set->item[i]->shape->modes;
    }
    return found;
}

/* Is item i the first one of its shape? */
static int is_first(const body_variables *set, uint64_t i)
{
    uint64_t k = 0;
    while (k < i && set->item[k]->shape != set->item[i]->shape) {
        k++;
    }
    return is_shape(set->item[i]) && k == i;
}

static void apply_points(const body_variables *set, body_shape *s, const double *x)
{
    fem_model *m = set->model;
    double number[BODY_SHAPE_NUMBERS], own[3], arm[3];
    rotation r;
    numbers_of(set, s, x, number);
    rotation_of(s, number, &r);
    for (size_t p = 0; p < s->particles; p++) {
        const size_t at = 3 * (s->particle + p);
        own_point(s, number, p, own);
        turn(r.m, own, arm);
        for (size_t d = 0; d < 3; d++) {
            m->q[at + d] += arm[d] - s->arm[3 * p + d];
            if (m->rest != NULL) {
                m->rest[at + d] = own[d];
            }
        }
    }
    if (changes_rest(set, s)) {
        fem_rest_set(m, s->particle, s->particles);
    }
}

void body_shapes_open(body_variables *set, ds_memory *room)
{
    fem_model *m = set->model;
    for (uint64_t i = 0; i < set->count && !room->failed; i++) {
        body_shape *s = set->item[i]->shape;
        rotation r;
        double own[3];
        if (!is_first(set, i)) {
            continue;
        }
        s->arm = ds_memory_doubles(room, 3 * s->particles);
        rotation_of(s, s->built, &r);
        for (size_t p = 0; !room->failed && p < s->particles; p++) {
            own_point(s, s->built, p, own);
            turn(r.m, own, s->arm + 3 * p);
        }
    }
    if (!body_shapes_change_rest(set)) {
        return;
    }
    m->rest = ds_memory_doubles(room, 3 * m->particles);
    set->tet_built = ds_memory_doubles(room, m->tets + 1);
    set->triangle_built = ds_memory_doubles(room, m->triangles + 1);
    set->rest_work = ds_memory_doubles(room, 3 * m->particles);
    if (!room->failed) {
        memcpy(m->rest, m->q, 3 * m->particles * sizeof *m->q);
        for (uint64_t i = 0; i < set->count; i++) { /* sizes as built, to the last digit */
            if (is_first(set, i)) {
                apply_points(set, set->item[i]->shape, NULL);
            }
        }
        for (size_t t = 0; t < m->tets; t++) {
            set->tet_built[t] = m->tet_volume[t];
        }
        for (size_t t = 0; t < m->triangles; t++) {
            set->triangle_built[t] = m->triangle_area[t];
        }
    }
}

/* Masses follow the sizes of the elements. */
static void apply_masses(const body_variables *set)
{
    fem_model *m = set->model;
    for (size_t i = 0; set->tet_density != NULL && i < 4 * m->tets; i++) {
        const size_t t = i / 4;
        m->mass[m->tet[i]] += set->tet_density[t] * (m->tet_volume[t] - set->tet_built[t]) / 4;
    }
    for (size_t i = 0; set->triangle_density != NULL && i < 3 * m->triangles; i++) {
        const size_t t = i / 3;
        m->mass[m->triangle[i]] +=
            set->triangle_density[t] * (m->triangle_area[t] - set->triangle_built[t]) / 3;
    }
}

void body_shapes_apply(const body_variables *set, const double *x)
{
    int changed = 0;
    for (uint64_t i = 0; i < set->count; i++) {
        if (is_first(set, i)) {
            apply_points(set, set->item[i]->shape, x);
            changed |= changes_rest(set, set->item[i]->shape);
        }
    }
    if (changed) {
        memcpy(set->model->mass, set->truth.mass, set->model->particles * sizeof(double));
        apply_masses(set);
    }
}

/* ---- derivatives ---- */

/* Derivatives by the positions at rest through the masses. */
static void masses_vjp(const body_variables *set, const double *x, const double *mass_bar, double *rest_bar)
{
    const fem_model *m = set->model;
    for (size_t t = 0; set->tet_density != NULL && t < m->tets; t++) {
        double sum = 0;
        for (size_t c = 0; c < 4; c++) {
            sum += mass_bar[m->tet[4 * t + c]] / 4;
        }
        fem_rest_size_vjp(m, 1, t, sum * body_material_density(set, x, 1, t), rest_bar);
    }
    for (size_t t = 0; set->triangle_density != NULL && t < m->triangles; t++) {
        double sum = 0;
        for (size_t c = 0; c < 3; c++) {
            sum += mass_bar[m->triangle[3 * t + c]] / 3;
        }
        fem_rest_size_vjp(m, 0, t, sum * body_material_density(set, x, 0, t), rest_bar);
    }
}

static void masses_jvp(const body_variables *set, const double *x, const double *rest_dot, double *mass_dot)
{
    const fem_model *m = set->model;
    for (size_t t = 0; set->tet_density != NULL && t < m->tets; t++) {
        const double change = body_material_density(set, x, 1, t) * fem_rest_size_jvp(m, 1, t, rest_dot) / 4;
        for (size_t c = 0; c < 4; c++) {
            mass_dot[m->tet[4 * t + c]] += change;
        }
    }
    for (size_t t = 0; set->triangle_density != NULL && t < m->triangles; t++) {
        const double change = body_material_density(set, x, 0, t) * fem_rest_size_jvp(m, 0, t, rest_dot) / 3;
        for (size_t c = 0; c < 3; c++) {
            mass_dot[m->triangle[3 * t + c]] += change;
        }
    }
}

/* How the positions at the start and at rest of particle p change with number k of a shape. */
static void directions(const body_shape *s, const double *number, const rotation *r, size_t k, size_t p,
                       double start[3], double rest[3])
{
    double own[3];
    if (k < s->modes) {
        memcpy(rest, mode_of(s, k, p), 3 * sizeof *rest);
        turn(r->m, rest, start);
        return;
    }
    memset(rest, 0, 3 * sizeof *rest);
    own_point(s, number, p, own);
    turn(r->by[k - s->modes], own, start);
}

/* Slope of a number by its variable. */
static double slope_of(const body_variable *q, double number)
{
    return q->log ? decision_ln10 * number : 1;
}

void body_shape_gather(const body_variables *set, uint64_t i, const double *x, const fem_variation *bar,
                       double *grad)
{
    const body_variable *q = set->item[i];
    const body_shape *s = q->shape;
    double number[BODY_SHAPE_NUMBERS], start[3], rest[3];
    rotation r;
    size_t next = 0;
    numbers_of(set, s, x, number);
    rotation_of(s, number, &r);
    if (set->model->rest != NULL) {
        memcpy(set->rest_work, bar->rest, 3 * set->model->particles * sizeof *bar->rest);
        masses_vjp(set, x, bar->mass, set->rest_work);
    }
    for (size_t d = 0; d < q->place.count; d++) {
        double sum = 0;
        for (size_t p = 0; p < s->particles; p++) {
            const size_t at = 3 * (s->particle + p);
            directions(s, number, &r, q->first + d, p, start, rest);
            for (size_t k = 0; k < 3; k++) {
                sum += start[k] * bar->q[at + k];
                sum += set->model->rest != NULL ? rest[k] * set->rest_work[at + k] : 0;
            }
        }
        if (q->axes == NULL || !q->axes->fixed[d]) {
            grad[next++] += sum * slope_of(q, number[q->first + d]);
        }
    }
}

void body_shape_spread(const body_variables *set, uint64_t i, const double *x, const double *v,
                       fem_variation *dot)
{
    const body_variable *q = set->item[i];
    const body_shape *s = q->shape;
    double number[BODY_SHAPE_NUMBERS], start[3], rest[3];
    rotation r;
    size_t next = 0;
    numbers_of(set, s, x, number);
    rotation_of(s, number, &r);
    if (set->model->rest != NULL) {
        memset(set->rest_work, 0, 3 * set->model->particles * sizeof *set->rest_work);
    }
    for (size_t d = 0; d < q->place.count; d++) {
        const int fixed = q->axes != NULL && q->axes->fixed[d];
        const double change = fixed ? 0 : v[next++] * slope_of(q, number[q->first + d]);
        for (size_t p = 0; p < s->particles; p++) {
            const size_t at = 3 * (s->particle + p);
            directions(s, number, &r, q->first + d, p, start, rest);
            for (size_t k = 0; k < 3; k++) {
                dot->q[at + k] += change * start[k];
                if (set->model->rest != NULL) {
                    set->rest_work[at + k] += change * rest[k];
                }
            }
        }
    }
    if (set->model->rest != NULL) {
        masses_jvp(set, x, set->rest_work, dot->mass);
        for (size_t k = 0; k < 3 * set->model->particles; k++) {
            dot->rest[k] += set->rest_work[k];
        }
    }
}
