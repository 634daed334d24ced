/* SPDX-License-Identifier: Apache-2.0 */
/* body_variables.c - numbers of a deformable body as decision variables: picking, start and bounds, values
 * and derivatives. */
#include "engines/physics/soft/body_variables.h"

#include "engines/physics/soft/loads.h"
#include "engines/physics/soft/materials.h"

#include <diffsim/helper/fail.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <string.h>

/* ---- numbers of the model ---- */

/* Numbers of the model or their derivatives: first, first + stride, ... */
typedef struct slot {
    double *first;
    size_t count, stride;
} slot;

/* One variable for each axis. */
static int is_vector(const body_variable *q)
{
    return q->kind == BODY_VARIABLE_POSITION || q->kind == BODY_VARIABLE_TURN ||
           q->kind == BODY_VARIABLE_VELOCITY || q->kind == BODY_VARIABLE_CENTER ||
           (q->kind == BODY_VARIABLE_NUMBERS && q->place.count == 3);
}

static int is_fixed(const body_variable *q, size_t axis)
{
    return q->axes != NULL && q->axes->fixed[axis];
}

/* The axis of the d-th variable of a vector. */
static size_t axis_of(const body_variable *q, size_t d)
{
    size_t axis = 0;
    while (axis < 2 && (is_fixed(q, axis) || d > 0)) {
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
           kind == BODY_VARIABLE_MATERIAL_DENSITY;
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

/* Moves all particles together at the start. */
static int is_pose(body_variable_kind kind)
{
    return kind == BODY_VARIABLE_POSITION || kind == BODY_VARIABLE_TURN;
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

static slot numbers_of_model(fem_model *m, const body_variable *q);

/* With `log`, 10^variable of the true number. */
static double base_of(const body_variables *set, const body_variable *q, const double *truth)
{
    return q->kind == BODY_VARIABLE_MASSES ? 1
           : q->kind == BODY_VARIABLE_DENSITY
               ? set->density
               : truth[q->first * numbers_of_model(set->model, q).stride] / scale_of(q);
}

/* The variables x, v, grad begin with those of item i. */

static slot numbers_of_model(fem_model *m, const body_variable *q)
{
    const size_t solid = sizeof(fem_solid) / sizeof(double);
    const size_t sheet = sizeof(fem_membrane) / sizeof(double), bend = sizeof(fem_bending) / sizeof(double);
    switch (q->kind) {
    case BODY_VARIABLE_POSITION:
    case BODY_VARIABLE_TURN:
    case BODY_VARIABLE_CENTER:
        return (slot){m->q, 3 * m->particles, 1};
    case BODY_VARIABLE_VELOCITY:
    case BODY_VARIABLE_VELOCITIES:
        return (slot){m->u, 3 * m->particles, 1};
    case BODY_VARIABLE_DENSITY:
    case BODY_VARIABLE_MASSES:
    case BODY_VARIABLE_MATERIAL_DENSITY:
        return (slot){m->mass, m->particles, 1};
    case BODY_VARIABLE_GRAVITY:
        return (slot){&m->gravity[1], 1, 1};
    case BODY_VARIABLE_SOLID_MU:
        return (slot){&m->solid->mu, m->tets, solid};
    case BODY_VARIABLE_SOLID_LAMBDA:
        return (slot){&m->solid->lambda, m->tets, solid};
    case BODY_VARIABLE_SOLID_KD:
        return (slot){&m->solid->kd, m->tets, solid};
    case BODY_VARIABLE_STRETCH:
        return (slot){&m->membrane->mu, m->sheets, sheet};
    case BODY_VARIABLE_AREA:
        return (slot){&m->membrane->lambda, m->sheets, sheet};
    case BODY_VARIABLE_AREA_KD:
        return (slot){&m->membrane->kd, m->sheets, sheet};
    case BODY_VARIABLE_LIFT:
        return (slot){&m->membrane->lift, m->sheets, sheet};
    case BODY_VARIABLE_DRAG:
        return (slot){&m->membrane->drag, m->sheets, sheet};
    case BODY_VARIABLE_BEND:
        return (slot){&m->bending->ke, m->sheets, bend};
    case BODY_VARIABLE_BEND_KD:
        return (slot){&m->bending->kd, m->sheets, bend};
    case BODY_VARIABLE_REST_AREA:
    case BODY_VARIABLE_REST_AREAS:
        return (slot){m->triangle_act, m->triangles, 1};
    case BODY_VARIABLE_REST_ANGLE:
    case BODY_VARIABLE_REST_ANGLES:
        return (slot){m->edge_rest, m->edges, 1};
    case BODY_VARIABLE_SPRING_KE:
        return (slot){m->spring_ke, m->springs, 1};
    case BODY_VARIABLE_SPRING_KD:
        return (slot){m->spring_kd, m->springs, 1};
    case BODY_VARIABLE_SPRING_REST:
        return (slot){m->spring_rest, m->springs, 1};
    case BODY_VARIABLE_GROUND_KE:
        return (slot){&m->ground.ke, 1, 1};
    case BODY_VARIABLE_GROUND_KD:
        return (slot){&m->ground.kd, 1, 1};
    case BODY_VARIABLE_GROUND_KF:
        return (slot){&m->ground.kf, 1, 1};
    case BODY_VARIABLE_GROUND_MU:
        return (slot){&m->ground.mu, 1, 1};
    case BODY_VARIABLE_NUMBERS:
        return (slot){(double *)(void *)((char *)m + q->place.in_model), q->place.count, 1};
    case BODY_VARIABLE_WEIGHTS:
    case BODY_VARIABLE_YOUNGS:
    case BODY_VARIABLE_POISSON:
    case BODY_VARIABLE_LOAD:
        break;
    }
    return (slot){NULL, 0, 1};
}

/* The same numbers of a variation; counts and strides are those of the model. */
static double *numbers_of_variation(const fem_variation *v, const body_variable *q)
{
    fem_variation *w = (fem_variation *)(uintptr_t)v; /* const for the caller only */
    switch (q->kind) {
    case BODY_VARIABLE_POSITION:
    case BODY_VARIABLE_TURN:
    case BODY_VARIABLE_CENTER:
        return w->q;
    case BODY_VARIABLE_VELOCITY:
    case BODY_VARIABLE_VELOCITIES:
        return w->u;
    case BODY_VARIABLE_DENSITY:
    case BODY_VARIABLE_MASSES:
    case BODY_VARIABLE_MATERIAL_DENSITY:
        return w->mass;
    case BODY_VARIABLE_GRAVITY:
        return &w->gravity[1];
    case BODY_VARIABLE_SOLID_MU:
        return &w->solid->mu;
    case BODY_VARIABLE_SOLID_LAMBDA:
        return &w->solid->lambda;
    case BODY_VARIABLE_SOLID_KD:
        return &w->solid->kd;
    case BODY_VARIABLE_STRETCH:
        return &w->membrane->mu;
    case BODY_VARIABLE_AREA:
        return &w->membrane->lambda;
    case BODY_VARIABLE_AREA_KD:
        return &w->membrane->kd;
    case BODY_VARIABLE_LIFT:
        return &w->membrane->lift;
    case BODY_VARIABLE_DRAG:
        return &w->membrane->drag;
    case BODY_VARIABLE_BEND:
        return &w->bending->ke;
    case BODY_VARIABLE_BEND_KD:
        return &w->bending->kd;
    case BODY_VARIABLE_REST_AREA:
    case BODY_VARIABLE_REST_AREAS:
        return w->triangle_act;
    case BODY_VARIABLE_REST_ANGLE:
    case BODY_VARIABLE_REST_ANGLES:
        return w->edge_rest;
    case BODY_VARIABLE_SPRING_KE:
        return w->spring_ke;
    case BODY_VARIABLE_SPRING_KD:
        return w->spring_kd;
    case BODY_VARIABLE_SPRING_REST:
        return w->spring_rest;
    case BODY_VARIABLE_GROUND_KE:
        return &w->ke;
    case BODY_VARIABLE_GROUND_KD:
        return &w->kd;
    case BODY_VARIABLE_GROUND_KF:
        return &w->kf;
    case BODY_VARIABLE_GROUND_MU:
        return &w->mu;
    case BODY_VARIABLE_NUMBERS:
        return (double *)(void *)((char *)w + q->place.in_variation);
    case BODY_VARIABLE_WEIGHTS:
    case BODY_VARIABLE_YOUNGS:
    case BODY_VARIABLE_POISSON:
    case BODY_VARIABLE_LOAD:
        break;
    }
    return NULL;
}

/* Does number j move with the variable? Numbers of fixed particles do not. */
static int is_free(const fem_model *m, const body_variable *q, size_t j)
{
    if (is_vector(q) && is_fixed(q, j % 3)) {
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
        return is_vector(q) ? place_of(q, 3) : 1;
    }
    const size_t count = numbers_of_model(set->model, q).count;
    uint64_t n = 0;
    for (size_t j = 0; j < count; j++) {
        n += is_free(set->model, q, j) ? 1 : 0;
    }
    return n;
}

int body_variables_has_logarithm(const body_variables *set, const body_variable *q)
{
    const slot numbers = numbers_of_model(set->model, q);
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

void body_variables_name(const body_variables *set, uint64_t i, ds_env_variable *out)
{
    const uint64_t k = item_of(set, i);
    const body_variable *q = set->item[k];
    const unsigned j = (unsigned)(i - set->at[k]);
    if (q->kind == BODY_VARIABLE_LOAD) {
        body_load_name(q->load, j, q->name, out);
    } else if (is_vector(q)) {
        ds_env_variable_put(out->name, "%s.%c", q->name, "xyz"[axis_of(q, j)]);
    } else if (q->kind == BODY_VARIABLE_VELOCITIES) {
        ds_env_variable_put(out->name, "%s.%u.%c", q->name, j / 3, "xyz"[j % 3]);
    } else if (set->at[k + 1] - set->at[k] > 1 || (is_each(q->kind) && q->of == NULL)) {
        ds_env_variable_put(out->name, "%s.%u", q->name, j);
    } else {
        ds_env_variable_put(out->name, "%s", q->name);
    }
    ds_env_variable_put(out->unit, q->log ? "log10 %s" : "%s", q->unit);
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
    if (q->log) {
        return fabs(pow(10, v) / base_of(set, q, truth) - 1);
    }
    if (q->kind == BODY_VARIABLE_CENTER) {
        return fabs(v - q->axes->built[j % 3]);
    }
    return fabs(v - (is_pose(q->kind) ? 0 : truth[j] / scale_of(q)));
}

static double error_of_item(const body_variables *set, uint64_t i, const double *x)
{
    const body_variable *q = set->item[i];
    const double *truth = numbers_of_variation(&set->truth, q);
    const slot numbers = numbers_of_model(set->model, q);
    const size_t single = is_vector(q) ? 3 : 1;
    const size_t count = is_each(q->kind) ? numbers.count : single;
    double sum = 0;
    for (size_t j = 0, next = 0; j < count; j++) {
        if (is_each(q->kind) ? is_free(set->model, q, j) : !is_vector(q) || !is_fixed(q, j)) {
            const size_t first = is_each(q->kind) ? 0 : q->first * single;
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
    for (size_t i = 0; i < 3 * m->particles; i++) {
        set->middle[i % 3] += m->q[i] / (double)m->particles;
    }
    for (uint64_t i = 0; !room->failed && i < set->count; i++) {
        const slot numbers = numbers_of_model(set->model, set->item[i]);
        double *truth = numbers_of_variation(&set->truth, set->item[i]);
        for (size_t j = 0; j < numbers.count; j++) {
            truth[j * numbers.stride] = numbers.first[j * numbers.stride];
        }
    }
}

int body_variables_stays_in_plane(const body_variables *set)
{
    uint64_t i = 0;
    while (i < set->count && !is_vector(set->item[i]) && set->item[i]->kind != BODY_VARIABLE_VELOCITIES &&
           set->item[i]->kind != BODY_VARIABLE_LOAD && set->item[i]->kind != BODY_VARIABLE_REST_ANGLE &&
           set->item[i]->kind != BODY_VARIABLE_REST_ANGLES) {
        i++;
    }
    return i == set->count;
}

/* ---- pose ---- */

/* out = the rotation about x, then y, then z; for axis 0, 1 or 2 its derivative by that angle. */
static void rotation(const double angle[3], int axis, double out[9])
{
    double c[3], s[3], one[3] = {1, 1, 1};
    for (int i = 0; i < 3; i++) {
        c[i] = i == axis ? -sin(angle[i]) : cos(angle[i]);
        s[i] = i == axis ? cos(angle[i]) : sin(angle[i]);
        one[i] = i == axis ? 0 : 1;
    }
    const double x[9] = {one[0], 0, 0, 0, c[0], -s[0], 0, s[0], c[0]};
    const double y[9] = {c[1], 0, s[1], 0, one[1], 0, -s[1], 0, c[1]};
    const double z[9] = {c[2], -s[2], 0, s[2], c[2], 0, 0, 0, one[2]};
    double yx[9];
    for (int i = 0; i < 9; i++) {
        const int r = i / 3, k = i % 3;
        yx[i] = y[3 * r] * x[k] + y[3 * r + 1] * x[3 + k] + y[3 * r + 2] * x[6 + k];
    }
    for (int i = 0; i < 9; i++) {
        const int r = i / 3, k = i % 3;
        out[i] = z[3 * r] * yx[k] + z[3 * r + 1] * yx[3 + k] + z[3 * r + 2] * yx[6 + k];
    }
}

/* The variables of `kind`, or NULL if it was not picked. */
static const double *values_of(const body_variables *set, body_variable_kind kind, const double *x)
{
    for (uint64_t i = 0; i < set->count; i++) {
        if (set->item[i]->kind == kind) {
            return x + set->at[i];
        }
    }
    return NULL;
}

/* Position of particle i relative to the mean position, rotated. */
static void turned(const body_variables *set, const double turn[9], size_t i, double out[3])
{
    const double *q = set->truth.q + 3 * i, *c = set->middle;
    for (int d = 0; d < 3; d++) {
        out[d] =
            turn[3 * d] * (q[0] - c[0]) + turn[3 * d + 1] * (q[1] - c[1]) + turn[3 * d + 2] * (q[2] - c[2]);
    }
}

static void apply_pose(const body_variables *set, const double *x)
{
    static const double none[3];
    const double *move = values_of(set, BODY_VARIABLE_POSITION, x),
                 *angle = values_of(set, BODY_VARIABLE_TURN, x);
    double turn[9], arm[3];
    if (move == NULL && angle == NULL) {
        return;
    }
    rotation(angle != NULL ? angle : none, -1, turn);
    for (size_t i = 0; i < set->model->particles; i++) {
        turned(set, turn, i, arm);
        for (int d = 0; d < 3; d++) {
            set->model->q[3 * i + d] = set->middle[d] + arm[d] + (move != NULL ? move[d] : 0);
        }
    }
}

static void gather_pose(const body_variables *set, uint64_t i, const double *x, const double *bar,
                        double *grad)
{
    const size_t n = set->model->particles;
    double turn[9], arm[3];
    for (int d = 0; d < 3; d++) {
        if (set->item[i]->kind == BODY_VARIABLE_TURN) {
            rotation(x + set->at[i], d, turn);
        }
        for (size_t p = 0; p < n; p++) {
            if (set->item[i]->kind == BODY_VARIABLE_POSITION) {
                grad[d] += bar[3 * p + d];
                continue;
            }
            turned(set, turn, p, arm);
            grad[d] += bar[3 * p] * arm[0] + bar[3 * p + 1] * arm[1] + bar[3 * p + 2] * arm[2];
        }
    }
}

static void spread_pose(const body_variables *set, uint64_t i, const double *x, const double *v, double *dot)
{
    const size_t n = set->model->particles;
    double turn[9], arm[3];
    for (size_t j = 0; set->item[i]->kind == BODY_VARIABLE_POSITION && j < 3 * n; j++) {
        dot[j] += v[j % 3];
    }
    for (int axis = 0; set->item[i]->kind == BODY_VARIABLE_TURN && axis < 3; axis++) {
        rotation(x + set->at[i], axis, turn);
        for (size_t p = 0; p < n; p++) {
            turned(set, turn, p, arm);
            for (int d = 0; d < 3; d++) {
                dot[3 * p + d] += v[axis] * arm[d];
            }
        }
    }
}

/* ---- values ---- */

/* Variable of number j; *next counts through kinds with one variable per number. */
static size_t variable(const body_variable *q, size_t j, size_t *next)
{
    return is_each(q->kind) ? (*next)++ : is_vector(q) ? place_of(q, j % 3) : 0;
}

static void set_numbers(const body_variables *set, const body_variable *q, const double *x)
{
    const slot numbers = numbers_of_model(set->model, q);
    const double *truth = numbers_of_variation(&set->truth, q);
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
    const slot numbers = numbers_of_model(set->model, q);
    const double *truth = numbers_of_variation(&set->truth, q);
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

void body_variables_apply(const body_variables *set, const double *x)
{
    for (uint64_t i = 0; i < set->count; i++) {
        const body_variable *q = set->item[i];
        if (q->kind == BODY_VARIABLE_WEIGHTS) {
            control_set(set->control, x != NULL ? all_weights(set, x + set->at[i]) : NULL);
        } else if (q->kind == BODY_VARIABLE_LOAD) {
            body_load_put(q->load, x != NULL ? x + set->at[i] : NULL);
        } else if (is_material(q->kind)) {
            continue; /* below */
        } else if (x == NULL) {
            set_truth(set, q);
        } else if (!is_pose(q->kind)) {
            set_numbers(set, q, x + set->at[i]);
        }
    }
    body_materials_apply(set, x);
    if (x != NULL) {
        apply_pose(set, x);
    }
}

/* ---- derivatives ---- */

/* Derivative of number j by its variable. */
static double slope(const body_variable *q, const slot *numbers, size_t j)
{
    return q->log ? decision_ln10 * numbers->first[j * numbers->stride] : scale_of(q);
}

static void gather_numbers(const body_variables *set, const body_variable *q, const fem_variation *bar,
                           double *grad)
{
    const slot numbers = numbers_of_model(set->model, q);
    const double *from = numbers_of_variation(bar, q);
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
        } else if (is_pose(q->kind)) {
            gather_pose(set, i, x, bar->q, out);
        } else {
            gather_numbers(set, q, bar, out);
        }
    }
}

static void spread_numbers(const body_variables *set, const body_variable *q, const double *v,
                           fem_variation *dot)
{
    const slot numbers = numbers_of_model(set->model, q);
    double *to = numbers_of_variation(dot, q);
    size_t next = 0;
    for (size_t j = 0; j < numbers.count; j++) {
        if (is_free(set->model, q, j)) {
            to[j * numbers.stride] += slope(q, &numbers, j) * v[variable(q, j, &next)];
        }
    }
}

void body_variables_spread(body_variables *set, const double *x, const double *v, fem_variation *dot)
{
    for (uint64_t i = 0; i < set->count; i++) {
        const body_variable *q = set->item[i];
        const double *along = v + set->at[i];
        if (q->kind == BODY_VARIABLE_WEIGHTS) {
            set->weights_dot = all_weights(set, along);
        } else if (q->kind == BODY_VARIABLE_LOAD) {
            body_load_spread(q->load, along);
        } else if (is_material(q->kind)) {
            body_material_spread(set, i, x, along, dot);
        } else if (is_pose(q->kind)) {
            spread_pose(set, i, x, along, dot->q);
        } else {
            spread_numbers(set, q, along, dot);
        }
    }
}
