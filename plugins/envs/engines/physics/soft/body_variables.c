/* SPDX-License-Identifier: Apache-2.0 */
/* body_variables.c - numbers of a deformable body as decision variables: picking, start and bounds, values
 * and derivatives. */
#include "engines/physics/soft/body_variables.h"

#include "engines/physics/soft/loads.h"
#include "engines/physics/soft/materials.h"
#include "engines/physics/soft/pose.h"
#include "engines/physics/soft/shape.h"
#include "engines/physics/soft/slots.h"

#include <diffsim/helper/fail.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <string.h>

/* ---- numbers of the model ---- */

/* Numbers of a quantity that is a vector, else 1. */
static size_t axes_of(const body_variable *q)
{
    switch (q->kind) {
    case BODY_VARIABLE_POSITION:
    case BODY_VARIABLE_TURN:
    case BODY_VARIABLE_VELOCITY:
    case BODY_VARIABLE_CENTER:
        return 3;
    case BODY_VARIABLE_NUMBERS:
    case BODY_VARIABLE_SHAPE:
    case BODY_VARIABLE_CONTROL:
        return q->place.count;
    default:
        return 1;
    }
}

/* One variable for each axis. */
static int is_vector(const body_variable *q)
{
    return axes_of(q) > 1;
}

static int is_fixed(const body_variable *q, size_t axis)
{
    return q->axes != NULL && q->axes->fixed[axis];
}

/* The axis of the d-th variable of a vector. */
static size_t axis_of(const body_variable *q, size_t d)
{
    size_t axis = 0;
    while (axis + 1 < axes_of(q) && (is_fixed(q, axis) || d > 0)) {
        d -= is_fixed(q, axis) ? 0 : 1;
        axis++;
    }
    return axis;
}

/* The reverse. */
static size_t place_of(const body_variable *q, size_t axis)
{
    size_t d = 0;
    for (size_t k = 0; k < axis; k++) {
        d += is_fixed(q, k) ? 0 : 1;
    }
    return d;
}

/* Sets several kinds of numbers. */
static int is_material(body_variable_kind kind)
{
    return kind == BODY_VARIABLE_YOUNGS || kind == BODY_VARIABLE_POISSON ||
           kind == BODY_VARIABLE_MATERIAL_DENSITY || kind == BODY_VARIABLE_FACTOR;
}

static int has_no_truth(body_variable_kind kind)
{
    return kind == BODY_VARIABLE_WEIGHTS || kind == BODY_VARIABLE_LOAD;
}

/* One variable for each number. */
static int is_each(body_variable_kind kind)
{
    return kind == BODY_VARIABLE_VELOCITIES || kind == BODY_VARIABLE_MASSES ||
           kind == BODY_VARIABLE_SPRING_KE || kind == BODY_VARIABLE_SPRING_KD ||
           kind == BODY_VARIABLE_SPRING_REST || kind == BODY_VARIABLE_REST_AREAS ||
           kind == BODY_VARIABLE_REST_ANGLES;
}

/* Without `log` the number is the variable times this. A membrane with activation a is at rest with the area
 * 1 - a times the area as built. */
static double scale_of(const body_variable *q)
{
    switch (q->kind) {
    case BODY_VARIABLE_GRAVITY:
    case BODY_VARIABLE_REST_AREA:
    case BODY_VARIABLE_REST_AREAS:
        return -1;
    case BODY_VARIABLE_NUMBERS:
        return q->place.scale;
    default:
        return 1;
    }
}

/* With `log`, 10^variable of the true number. */
static double base_of(const body_variables *set, const body_variable *q, const double *truth)
{
    return q->kind == BODY_VARIABLE_MASSES ? 1
           : q->kind == BODY_VARIABLE_DENSITY
               ? set->density
               : truth[q->first * body_slot_of(set->model, q).stride] / scale_of(q);
}

/* Does number j move with the variable? Numbers of fixed particles do not. */
static int is_free(const fem_model *m, const body_variable *q, size_t j)
{
    if (is_vector(q) && is_fixed(q, j % axes_of(q))) {
        return 0;
    }
    switch (q->kind) {
    case BODY_VARIABLE_VELOCITY:
    case BODY_VARIABLE_VELOCITIES:
        return !m->fixed[j / 3] && (q->of == NULL || q->of[j / 3]);
    case BODY_VARIABLE_DENSITY:
    case BODY_VARIABLE_MASSES:
        return !m->fixed[j] && (q->of == NULL || q->of[j]);
    case BODY_VARIABLE_CENTER:
        return q->of[j / 3];
    default:
        return q->of == NULL || q->of[j];
    }
}

/* ---- picking ---- */

static const body_variable *find(const body_variable *offered, const char *word, size_t length)
{
    for (; offered->name != NULL; offered++) {
        if (strlen(offered->name) == length && strncmp(offered->name, word, length) == 0) {
            return offered;
        }
    }
    return NULL;
}

static ds_status unknown(const ds_host *host, const body_variable *offered, const char *word, size_t length)
{
    char names[300] = "";
    for (size_t n = 0; offered->name != NULL && n < sizeof names; offered++) {
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n > 0 ? ", " : "", offered->name);
    }
    return decision_unknown(host, word, length, names);
}

/* Would both set the same numbers? */
static int collide(body_variable_kind a, body_variable_kind b)
{
    static const body_variable_kind pairs[][2] = {{BODY_VARIABLE_VELOCITY, BODY_VARIABLE_VELOCITIES},
                                                  {BODY_VARIABLE_DENSITY, BODY_VARIABLE_MASSES},
                                                  {BODY_VARIABLE_REST_AREA, BODY_VARIABLE_REST_AREAS},
                                                  {BODY_VARIABLE_REST_ANGLE, BODY_VARIABLE_REST_ANGLES}};
    int found = a == b;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        found |= (a == pairs[i][0] && b == pairs[i][1]) || (a == pairs[i][1] && b == pairs[i][0]);
    }
    return found;
}

static uint64_t variables_of(const body_variables *set, const body_variable *q)
{
    if (q->kind == BODY_VARIABLE_WEIGHTS) {
        return control_weights(set->control) - set->idle;
    }
    if (q->kind == BODY_VARIABLE_LOAD) {
        return body_load_numbers(q->load);
    }
    if (!is_each(q->kind)) {
        return is_vector(q) ? place_of(q, axes_of(q)) : 1;
    }
    const size_t count = body_slot_of(set->model, q).count;
    uint64_t n = 0;
    for (size_t j = 0; j < count; j++) {
        n += is_free(set->model, q, j) ? 1 : 0;
    }
    return n;
}

int body_variables_has_logarithm(const body_variables *set, const body_variable *q)
{
    const body_slot numbers = body_slot_of(set->model, q);
    return numbers.count == 0 || base_of(set, q, numbers.first) > 0;
}

/* A logarithm scales the true number, so that number must not be 0. */
static ds_status check_logarithm(const body_variables *set, const ds_host *host, const body_variable *q)
{
    const int ground = q->kind == BODY_VARIABLE_GROUND_KE || q->kind == BODY_VARIABLE_GROUND_KD ||
                       q->kind == BODY_VARIABLE_GROUND_KF;
    if (!q->log || body_variables_has_logarithm(set, q)) {
        return DS_OK;
    }
    return ds_host_fail(
        host, DS_E_PARAM,
        "parameter %s: variable %s is a logarithm and needs a true value above 0: raise it, or "
        "remove %s from parameter variables",
        ground ? "contact" : "truth", q->name, q->name);
}

void body_variables_add(body_variables *set, const body_variable *q)
{
    set->at[set->count] = set->n;
    set->item[set->count++] = q;
    set->n += variables_of(set, q);
    set->at[set->count] = set->n;
}

static ds_status pick(body_variables *set, const ds_host *host, const body_variable *q)
{
    for (uint64_t i = 0; i < set->count; i++) {
        if (collide(set->item[i]->kind, q->kind)) {
            return ds_host_fail(host, DS_E_PARAM,
                                "parameter variables: %s and %s set the same numbers: name only one of them",
                                set->item[i]->name, q->name);
        }
    }
    if (set->count == BODY_VARIABLES_MAX) {
        return ds_host_fail(host, DS_E_PARAM, "parameter variables has more than %d names",
                            BODY_VARIABLES_MAX);
    }
    const ds_status status = check_logarithm(set, host, q);
    if (status != DS_OK) {
        return status;
    }
    body_variables_add(set, q);
    return DS_OK;
}

/* Only masses can start near the target. */
static ds_status check_near(const body_variables *set, const ds_host *host)
{
    int masses = set->near == BODY_VARIABLE_ANYWHERE;
    for (uint64_t i = 0; i < set->count; i++) {
        masses |= set->item[i]->kind == BODY_VARIABLE_MASSES;
    }
    return masses ? DS_OK
                  : ds_host_fail(host, DS_E_PARAM,
                                 "parameter near sets where masses start, but masses are not variables: add "
                                 "masses to parameter variables, or remove near");
}

void body_variables_pick(body_variables *set, ds_param_reader *in, const body_variable *offered)
{
    const char *text = ds_param_text(in, "variables"), *word;
    size_t length;
    while (in->status == DS_OK && decision_word(&text, &word, &length)) {
        const body_variable *q = find(offered, word, length);
        in->status = q != NULL ? pick(set, in->host, q) : unknown(in->host, offered, word, length);
    }
    if (in->status == DS_OK && set->n == 0) {
        in->status = unknown(in->host, offered, "", 0);
    }
    in->status = in->status != DS_OK ? in->status : check_near(set, in->host);
}

/* ---- start, bounds, names and errors ---- */

static uint64_t item_of(const body_variables *set, uint64_t i)
{
    uint64_t k = 0;
    while (i >= set->at[k + 1]) {
        k++;
    }
    return k;
}

const char *const body_variables_nears[] = {"anywhere", "inverse", "factor", NULL};

/* True mass of the d-th free particle, kg. */
static double mass_of(const body_variables *set, uint64_t d)
{
    uint64_t movable = 0;
    for (size_t j = 0; j < set->model->particles; j++) {
        if (!set->model->fixed[j] && movable++ == d) {
            return set->truth.mass[j];
        }
    }
    return (double)NAN;
}

/* Start of variable i, which is log10 of the factor of mass d. */
static double start_near(const body_variables *set, uint64_t i, uint64_t d)
{
    const double truth = set->drawn != NULL ? set->drawn[i] : 0;
    ds_random r = ds_random_open(set->seed, "start of masses", set->object * set->n + i);
    const double a = ds_random_uniform(&r), b = ds_random_uniform(&r);
    if (set->near == BODY_VARIABLE_NEAR_FACTOR) {
        return truth + (2 * a - 1) * log10(2);
    }
    return truth - log10(1 + 0.1 * (a + b) * mass_of(set, d) * pow(10, truth));
}

void body_variables_range(const body_variables *set, uint64_t i, double *lower, double *upper, double *start)
{
    const uint64_t k = item_of(set, i), d = i - set->at[k];
    const body_variable *q = set->item[k];
    const uint64_t axis = q->kind == BODY_VARIABLE_LOAD ? q->load->axis[d % q->load->axes]
                          : is_vector(q)                ? axis_of(q, d)
                                                        : d;
    ds_random r = ds_random_open(set->seed, q->name, d); /* does not depend on the place in the list */
    *lower = q->axes != NULL ? q->axes->lower[axis] : q->lower;
    *upper = q->axes != NULL ? q->axes->upper[axis] : q->upper;
    *start = q->axes != NULL ? q->axes->start[axis]
                             : q->start + set->start_spread * (q->random * ds_random_uniform(&r));
    if (q->kind == BODY_VARIABLE_MASSES && set->near != BODY_VARIABLE_ANYWHERE) {
        *start = fmax(*lower, fmin(*upper, start_near(set, i, d)));
    }
}

/* Quaternions are w x y z; sheets lie along x and z. */
static void name_axis(const body_variable *q, size_t axis, ds_env_variable *out)
{
    static const char *const letters[] = {"", "", "xz", "xyz", "wxyz"};
    if (q->kind == BODY_VARIABLE_CONTROL) {
        ds_env_variable_put(out->name, "%s.%zu", q->name, axis);
    } else {
        ds_env_variable_put(out->name, "%s.%c", q->name, letters[axes_of(q)][axis]);
    }
}

void body_variables_name(const body_variables *set, uint64_t i, ds_env_variable *out)
{
    const uint64_t k = item_of(set, i);
    const body_variable *q = set->item[k];
    const unsigned j = (unsigned)(i - set->at[k]);
    if (q->kind == BODY_VARIABLE_LOAD) {
        body_load_name(q->load, j, q->name, out);
    } else if (is_vector(q)) {
        name_axis(q, axis_of(q, j), out);
    } else if (q->kind == BODY_VARIABLE_VELOCITIES) {
        ds_env_variable_put(out->name, "%s.%u.%c", q->name, j / 3, "xyz"[j % 3]);
    } else if (set->at[k + 1] - set->at[k] > 1 || (is_each(q->kind) && q->of == NULL)) {
        ds_env_variable_put(out->name, "%s.%u", q->name, j);
    } else {
        ds_env_variable_put(out->name, "%s", q->name);
    }
    ds_env_variable_put(out->unit, q->log ? q->unit[0] != '\0' ? "log10 %s" : "log10" : "%s", q->unit);
    if (set->at[k + 1] - set->at[k] > 1) {
        ds_env_variable_put(out->group, "%s", q->name);
    }
}

void body_variables_draw(body_variables *set, ds_memory *room)
{
    double lower, upper, start;
    set->drawn = set->object > 0 ? ds_memory_doubles(room, set->n) : NULL;
    for (uint64_t i = 0; set->drawn != NULL && i < set->n; i++) {
        const uint64_t k = item_of(set, i);
        body_variables_range(set, i, &lower, &upper, &start);
        set->drawn[i] = decision_draw(set->object, set->item[k]->name, i - set->at[k], lower, upper);
    }
}

/* Distance of variable v from true number j. */
static double error_of(const body_variables *set, const body_variable *q, const double *truth, size_t j,
                       double v)
{
    if (is_material(q->kind)) {
        return body_material_error(q, v);
    }
    if (q->axes == NULL && (q->kind == BODY_VARIABLE_SHAPE || q->kind == BODY_VARIABLE_CONTROL)) {
        const double built = q->kind == BODY_VARIABLE_SHAPE ? q->shape->built[q->first]
                                                            : control_numbers(set->control)[q->first];
        return q->log ? fabs(pow(10, v) / built - 1) : fabs(v - built);
    }
    if (q->log) {
        return fabs(pow(10, v) / base_of(set, q, truth) - 1);
    }
    if (q->axes != NULL && (q->kind == BODY_VARIABLE_CENTER || q->kind == BODY_VARIABLE_SHAPE ||
                            q->kind == BODY_VARIABLE_CONTROL)) {
        return fabs(v - q->axes->built[j % axes_of(q)]);
    }
    return fabs(v - (body_is_pose(q->kind) ? 0 : truth[j] / scale_of(q)));
}

static double error_of_item(const body_variables *set, uint64_t i, const double *x)
{
    const body_variable *q = set->item[i];
    const double *truth = body_slot_of_variation(&set->truth, q);
    const body_slot numbers = body_slot_of(set->model, q);
    const size_t single = axes_of(q);
    const size_t count = is_each(q->kind) ? numbers.count : single;
    double sum = 0;
    for (size_t j = 0, next = 0; j < count; j++) {
        if (is_each(q->kind) ? is_free(set->model, q, j) : !is_vector(q) || !is_fixed(q, j)) {
            const int none =
                is_each(q->kind) || q->kind == BODY_VARIABLE_SHAPE || q->kind == BODY_VARIABLE_CONTROL;
            const size_t first = none ? 0 : q->first * single;
            sum += error_of(set, q, truth, (j + first) * numbers.stride, x[next++]);
        }
    }
    return sum;
}

static double error_of_drawn(const body_variables *set, uint64_t i, const double *x)
{
    double sum = 0;
    for (uint64_t k = set->at[i]; k < set->at[i + 1]; k++) {
        const double off = x[k] - set->drawn[k];
        sum += fabs(set->item[i]->log ? pow(10, off) - 1 : off);
    }
    return sum;
}

void body_variables_identify(const body_variables *set, identified *out)
{
    identified_open(out, set->count);
    for (uint64_t i = 0; i < set->count; i++) {
        identified_name(out, i, set->item[i]->name);
    }
}

void body_variables_error(const body_variables *set, const double *x, identified *out)
{
    double sum = 0;
    for (uint64_t i = 0; i < set->count; i++) {
        const double error = has_no_truth(set->item[i]->kind) ? (double)NAN
                             : set->drawn != NULL             ? error_of_drawn(set, i, x)
                                                              : error_of_item(set, i, x + set->at[i]);
        identified_set(out, i, error / (double)(set->at[i + 1] - set->at[i]));
        sum += error;
    }
    out->mean = sum / (double)set->n;
}

/* ---- truth ---- */

void body_variables_keep(body_variables *set, ds_memory *room)
{
    const fem_model *m = set->model;
    fem_variation_open(&set->truth, room, m);
    set->numbers = set->control != NULL ? ds_memory_doubles(room, 2 * control_count(set->control)) : NULL;
    set->numbers_change = set->numbers != NULL ? set->numbers + control_count(set->control) : NULL;
    for (size_t i = 0; i < 3 * m->particles; i++) {
        set->middle[i % 3] += m->q[i] / (double)m->particles;
    }
    for (uint64_t i = 0; !room->failed && i < set->count; i++) {
        const body_slot numbers = body_slot_of(set->model, set->item[i]);
        double *truth = body_slot_of_variation(&set->truth, set->item[i]);
        for (size_t j = 0; j < numbers.count; j++) {
            truth[j * numbers.stride] = numbers.first[j * numbers.stride];
        }
    }
    if (!room->failed) {
        memcpy(set->truth.mass, m->mass, m->particles * sizeof *m->mass);
    }
    if (!room->failed && m->triangles > 0) {
        memcpy(set->truth.triangle_factor, m->triangle_factor, m->triangles * sizeof *m->triangle_factor);
    }
    if (!room->failed && m->edges > 0) {
        memcpy(set->truth.edge_factor, m->edge_factor, m->edges * sizeof *m->edge_factor);
    }
    body_shapes_open(set, room);
}

int body_variables_stays_in_plane(const body_variables *set)
{
    uint64_t i = 0;
    while (i < set->count && !is_vector(set->item[i]) && set->item[i]->kind != BODY_VARIABLE_VELOCITIES &&
           set->item[i]->kind != BODY_VARIABLE_LOAD && set->item[i]->kind != BODY_VARIABLE_REST_ANGLE &&
           set->item[i]->kind != BODY_VARIABLE_REST_ANGLES && set->item[i]->kind != BODY_VARIABLE_SHAPE) {
        i++;
    }
    return i == set->count;
}

int body_variables_change_rest(const body_variables *set)
{
    uint64_t i = 0;
    while (i < set->count && set->item[i]->kind != BODY_VARIABLE_FACTOR) {
        i++;
    }
    return i < set->count || body_shapes_change_rest(set);
}

/* ---- values ---- */

/* Variable of number j; *next counts through kinds with one variable per number. */
static size_t variable(const body_variable *q, size_t j, size_t *next)
{
    return is_each(q->kind) ? (*next)++ : is_vector(q) ? place_of(q, j % axes_of(q)) : 0;
}

static void set_numbers(const body_variables *set, const body_variable *q, const double *x)
{
    const body_slot numbers = body_slot_of(set->model, q);
    const double *truth = body_slot_of_variation(&set->truth, q);
    size_t next = 0;
    for (size_t j = 0; j < numbers.count; j++) {
        const size_t at = j * numbers.stride;
        if (is_free(set->model, q, j)) {
            const double v = x[variable(q, j, &next)];
            numbers.first[at] = q->log ? truth[at] * pow(10, v) / base_of(set, q, truth)
                                : q->kind == BODY_VARIABLE_CENTER ? truth[at] + (v - q->axes->built[j % 3])
                                                                  : scale_of(q) * v;
        }
    }
}

static void set_truth(const body_variables *set, const body_variable *q)
{
    const body_slot numbers = body_slot_of(set->model, q);
    const double *truth = body_slot_of_variation(&set->truth, q);
    for (size_t j = 0; j < numbers.count; j++) {
        numbers.first[j * numbers.stride] = truth[j * numbers.stride];
    }
}

/* The weights of the controller, with 0 for the idle ones. */
static const double *all_weights(const body_variables *set, const double *x)
{
    if (set->idle == 0) {
        return x;
    }
    memcpy(set->weights, x, (control_weights(set->control) - set->idle) * sizeof *x);
    return set->weights;
}

static void gather_weights(const body_variables *set, double *grad)
{
    if (set->idle == 0) {
        control_gradient(set->control, grad);
        return;
    }
    const size_t used = control_weights(set->control) - set->idle;
    control_gradient(set->control, set->weights);
    memcpy(grad, set->weights, used * sizeof *grad);
    memset(set->weights, 0, (used + set->idle) * sizeof *set->weights);
}

/* ---- the controller ---- */

static int tunes(const body_variables *set)
{
    uint64_t i = 0;
    while (i < set->count && set->item[i]->kind != BODY_VARIABLE_CONTROL) {
        i++;
    }
    return i < set->count;
}

/* Sets scale, rate and phases. */
static void apply_control(const body_variables *set, const double *x)
{
    memcpy(set->numbers, control_numbers(set->control), control_count(set->control) * sizeof *set->numbers);
    for (uint64_t i = 0; x != NULL && i < set->count; i++) {
        const body_variable *q = set->item[i];
        size_t next = 0;
        for (size_t d = 0; q->kind == BODY_VARIABLE_CONTROL && d < axes_of(q); d++) {
            if (!is_fixed(q, d)) {
                const double v = x[set->at[i] + next++];
                set->numbers[q->first + d] = q->log ? pow(10, v) : v;
            }
        }
    }
    control_tune(set->control, set->numbers);
}

static double slope_of_control(const body_variables *set, const body_variable *q, size_t d)
{
    return q->log ? decision_ln10 * set->numbers[q->first + d] : 1;
}

static void gather_control(const body_variables *set, const body_variable *q, double *grad)
{
    size_t next = 0;
    control_tune_gradient(set->control, set->numbers_change);
    for (size_t d = 0; d < axes_of(q); d++) {
        if (!is_fixed(q, d)) {
            grad[next++] += slope_of_control(set, q, d) * set->numbers_change[q->first + d];
        }
    }
}

static void spread_control(body_variables *set, const body_variable *q, const double *v)
{
    size_t next = 0;
    for (size_t d = 0; d < axes_of(q); d++) {
        if (!is_fixed(q, d)) {
            set->numbers_change[q->first + d] = slope_of_control(set, q, d) * v[next++];
        }
    }
    set->numbers_dot = set->numbers_change;
}

void body_variables_apply(const body_variables *set, const double *x)
{
    for (uint64_t i = 0; i < set->count; i++) {
        if (set->item[i]->kind == BODY_VARIABLE_SHAPE) {
            set_truth(set, set->item[i]); /* variables of the center come next */
        }
    }
    if (tunes(set)) {
        apply_control(set, x);
    }
    for (uint64_t i = 0; i < set->count; i++) {
        const body_variable *q = set->item[i];
        if (q->kind == BODY_VARIABLE_WEIGHTS) {
            control_set(set->control, x != NULL ? all_weights(set, x + set->at[i]) : NULL);
        } else if (q->kind == BODY_VARIABLE_LOAD) {
            body_load_put(q->load, x != NULL ? x + set->at[i] : NULL);
        } else if (is_material(q->kind) || q->kind == BODY_VARIABLE_SHAPE ||
                   q->kind == BODY_VARIABLE_CONTROL) {
            continue; /* above and below */
        } else if (x == NULL) {
            set_truth(set, q);
        } else if (!body_is_pose(q->kind)) {
            set_numbers(set, q, x + set->at[i]);
        }
    }
    body_shapes_apply(set, x);
    body_materials_apply(set, x);
    if (x != NULL) {
        body_pose_apply(set, x);
    }
}

/* ---- derivatives ---- */

/* Derivative of number j by its variable. */
static double slope(const body_variable *q, const body_slot *numbers, size_t j)
{
    return q->log ? decision_ln10 * numbers->first[j * numbers->stride] : scale_of(q);
}

static void gather_numbers(const body_variables *set, const body_variable *q, const fem_variation *bar,
                           double *grad)
{
    const body_slot numbers = body_slot_of(set->model, q);
    const double *from = body_slot_of_variation(bar, q);
    size_t next = 0;
    for (size_t j = 0; j < numbers.count; j++) {
        if (is_free(set->model, q, j)) {
            grad[variable(q, j, &next)] += slope(q, &numbers, j) * from[j * numbers.stride];
        }
    }
}

void body_variables_gather(const body_variables *set, const double *x, const fem_variation *bar, double *grad)
{
    memset(grad, 0, set->n * sizeof *grad);
    for (uint64_t i = 0; i < set->count; i++) {
        const body_variable *q = set->item[i];
        double *out = grad + set->at[i];
        if (q->kind == BODY_VARIABLE_WEIGHTS) {
            gather_weights(set, out);
        } else if (q->kind == BODY_VARIABLE_LOAD) {
            body_load_gather(q->load, out);
        } else if (is_material(q->kind)) {
            body_material_gather(set, i, x, bar, out);
        } else if (q->kind == BODY_VARIABLE_SHAPE) {
            body_shape_gather(set, i, x, bar, out);
        } else if (q->kind == BODY_VARIABLE_CONTROL) {
            gather_control(set, q, out);
        } else if (body_is_pose(q->kind)) {
            body_pose_gather(set, i, x, bar->q, out);
        } else {
            gather_numbers(set, q, bar, out);
        }
    }
}

static void spread_numbers(const body_variables *set, const body_variable *q, const double *v,
                           fem_variation *dot)
{
    const body_slot numbers = body_slot_of(set->model, q);
    double *to = body_slot_of_variation(dot, q);
    size_t next = 0;
    for (size_t j = 0; j < numbers.count; j++) {
        if (is_free(set->model, q, j)) {
            to[j * numbers.stride] += slope(q, &numbers, j) * v[variable(q, j, &next)];
        }
    }
}

void body_variables_spread(body_variables *set, const double *x, const double *v, fem_variation *dot)
{
    if (tunes(set)) {
        memset(set->numbers_change, 0, control_count(set->control) * sizeof *set->numbers_change);
    }
    for (uint64_t i = 0; i < set->count; i++) {
        const body_variable *q = set->item[i];
        const double *along = v + set->at[i];
        if (q->kind == BODY_VARIABLE_WEIGHTS) {
            set->weights_dot = all_weights(set, along);
        } else if (q->kind == BODY_VARIABLE_LOAD) {
            body_load_spread(q->load, along);
        } else if (is_material(q->kind)) {
            body_material_spread(set, i, x, along, dot);
        } else if (q->kind == BODY_VARIABLE_SHAPE) {
            body_shape_spread(set, i, x, along, dot);
        } else if (q->kind == BODY_VARIABLE_CONTROL) {
            spread_control(set, q, along);
        } else if (body_is_pose(q->kind)) {
            body_pose_spread(set, i, x, along, dot->q);
        } else {
            spread_numbers(set, q, along, dot);
        }
    }
}
