/* SPDX-License-Identifier: Apache-2.0 */
/* quantity_pick.c - which quantities are variables, and what is said of these: names, ranges, errors. */
#include "engines/physics/soft/quantity_internal.h"

#include <diffsim/helper/fail.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <string.h>

/* ---- picking ---- */

static const quantity *find(const quantity *offered, const char *word, size_t length)
{
    for (; offered->name != NULL; offered++) {
        if (strlen(offered->name) == length && strncmp(offered->name, word, length) == 0) {
            return offered;
        }
    }
    return NULL;
}

static ds_status unknown(const ds_host *host, const quantity *offered, const char *word, size_t length)
{
    char names[300] = "";
    for (size_t n = 0; offered->name != NULL && n < sizeof names; offered++) {
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n > 0 ? ", " : "", offered->name);
    }
    return ds_host_fail(host, DS_E_PARAM,
                        "parameter variables: there is no quantity '%.*s': give one or several of %s",
                        (int)(length < 40 ? length : 40), word, names);
}

/* Two quantities that would set the same numbers. */
static int collide(quantity_kind a, quantity_kind b)
{
    static const quantity_kind pairs[][2] = {{QUANTITY_VELOCITY, QUANTITY_VELOCITIES},
                                             {QUANTITY_DENSITY, QUANTITY_MASSES}};
    int found = a == b;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        found |= (a == pairs[i][0] && b == pairs[i][1]) || (a == pairs[i][1] && b == pairs[i][0]);
    }
    return found;
}

static uint64_t variables_of(const quantity_set *set, quantity_kind kind)
{
    if (kind == QUANTITY_WEIGHTS) {
        return control_weights(set->control);
    }
    if (!quantity_is_each(kind)) {
        return quantity_is_vector(kind) ? 3 : 1;
    }
    const size_t count = quantity_of_model(set->model, kind).count;
    uint64_t n = 0;
    for (size_t j = 0; j < count; j++) {
        n += quantity_moves(set->model, kind, j) ? 1 : 0;
    }
    return n;
}

/* A variable that is a logarithm scales the number of the truth: there is no such number where that is 0. */
static ds_status check_logarithm(const quantity_set *set, const ds_host *host, const quantity *q)
{
    const int ground =
        q->kind == QUANTITY_GROUND_KE || q->kind == QUANTITY_GROUND_KD || q->kind == QUANTITY_GROUND_KF;
    const quantity_slot numbers = quantity_of_model(set->model, q->kind);
    if (!q->log || numbers.count == 0 || quantity_base(set, q, numbers.first) > 0) {
        return DS_OK;
    }
    return ds_host_fail(host, DS_E_PARAM,
                        "parameter %s: variable %s is a logarithm: its number there must be above 0; raise "
                        "it, or take %s out of parameter variables",
                        ground ? "contact" : "truth", q->name, q->name);
}

static ds_status pick(quantity_set *set, const ds_host *host, const quantity *q)
{
    for (uint64_t i = 0; i < set->count; i++) {
        if (collide(set->item[i]->kind, q->kind)) {
            return ds_host_fail(host, DS_E_PARAM,
                                "parameter variables: %s and %s are the same numbers: give one of them",
                                set->item[i]->name, q->name);
        }
    }
    if (set->count == QUANTITIES) {
        return ds_host_fail(host, DS_E_PARAM, "parameter variables has more than %d quantities", QUANTITIES);
    }
    const ds_status status = check_logarithm(set, host, q);
    if (status != DS_OK) {
        return status;
    }
    set->at[set->count] = set->n;
    set->item[set->count++] = q;
    set->n += variables_of(set, q->kind);
    set->at[set->count] = set->n;
    return DS_OK;
}

/* A start near the target is one of masses: without them it would be asked for in vain. */
static ds_status check_near(const quantity_set *set, const ds_host *host)
{
    int masses = set->near == QUANTITY_ANYWHERE;
    for (uint64_t i = 0; i < set->count; i++) {
        masses |= set->item[i]->kind == QUANTITY_MASSES;
    }
    return masses ? DS_OK
                  : ds_host_fail(host, DS_E_PARAM,
                                 "parameter near says where masses start, and these are no variables: give "
                                 "variables = masses too, or leave near out");
}

void quantity_pick(quantity_set *set, ds_param_reader *in, const quantity *offered)
{
    static const char gaps[] = " ,\t\n";
    const char *word = ds_param_text(in, "variables");
    for (word += strspn(word, gaps); in->status == DS_OK && *word; word += strspn(word, gaps)) {
        const size_t length = strcspn(word, gaps);
        const quantity *q = find(offered, word, length);
        in->status = q != NULL ? pick(set, in->host, q) : unknown(in->host, offered, word, length);
        word += length;
    }
    if (in->status == DS_OK && set->n == 0) {
        in->status = unknown(in->host, offered, "", 0);
    }
    in->status = in->status != DS_OK ? in->status : check_near(set, in->host);
}

/* ---- what is said of them ---- */

static uint64_t item_of(const quantity_set *set, uint64_t i)
{
    uint64_t k = 0;
    while (i >= set->at[k + 1]) {
        k++;
    }
    return k;
}

const char *const quantity_nears[] = {"anywhere", "inverse", "factor", NULL};

/* kg; of the d-th particle that is not fixed, as the model was built. */
static double mass_of(const quantity_set *set, uint64_t d)
{
    uint64_t movable = 0;
    for (size_t j = 0; j < set->model->particles; j++) {
        if (!set->model->fixed[j] && movable++ == d) {
            return set->truth.mass[j];
        }
    }
    return (double)NAN;
}

/* log10 of the factor that mass i starts at, variable d of its quantity. */
static double start_near(const quantity_set *set, uint64_t i, uint64_t d)
{
    const double truth = set->drawn != NULL ? set->drawn[i] : 0;
    ds_random r = ds_random_open(set->seed, "start of masses", set->object * set->n + i);
    const double a = ds_random_uniform(&r), b = ds_random_uniform(&r);
    if (set->near == QUANTITY_NEAR_FACTOR) {
        return truth + (2 * a - 1) * log10(2);
    }
    return truth - log10(1 + 0.1 * (a + b) * mass_of(set, d) * pow(10, truth));
}

void quantity_range(const quantity_set *set, uint64_t i, double *lower, double *upper, double *start)
{
    const uint64_t k = item_of(set, i), d = i - set->at[k];
    const quantity *q = set->item[k];
    ds_random r = ds_random_open(set->seed, q->name, d); /* the same wherever it is in the list */
    *lower = q->axes != NULL ? q->axes->lower[d] : q->lower;
    *upper = q->axes != NULL ? q->axes->upper[d] : q->upper;
    *start = q->axes != NULL ? q->axes->start[d]
                             : q->start + set->start_spread * (q->random * ds_random_uniform(&r));
    if (q->kind == QUANTITY_MASSES && set->near != QUANTITY_ANYWHERE) {
        *start = fmax(*lower, fmin(*upper, start_near(set, i, d)));
    }
}

void quantity_name(const quantity_set *set, uint64_t i, ds_env_variable *out)
{
    const uint64_t k = item_of(set, i);
    const quantity *q = set->item[k];
    const unsigned j = (unsigned)(i - set->at[k]);
    if (quantity_is_vector(q->kind)) {
        ds_env_variable_put(out->name, "%s.%c", q->name, "xyz"[j]);
    } else if (q->kind == QUANTITY_VELOCITIES) {
        ds_env_variable_put(out->name, "%s.%u.%c", q->name, j / 3, "xyz"[j % 3]);
    } else if (set->at[k + 1] - set->at[k] > 1 || quantity_is_each(q->kind)) {
        ds_env_variable_put(out->name, "%s.%u", q->name, j);
    } else {
        ds_env_variable_put(out->name, "%s", q->name);
    }
    ds_env_variable_put(out->unit, q->log ? "log10 %s" : "%s", q->unit);
    if (set->at[k + 1] - set->at[k] > 1) {
        ds_env_variable_put(out->group, "%s", q->name);
    }
}

void quantity_draw(quantity_set *set, ds_memory *room)
{
    double lower, upper, start;
    set->drawn = set->object > 0 ? ds_memory_doubles(room, set->n) : NULL;
    for (uint64_t i = 0; set->drawn != NULL && i < set->n; i++) {
        const uint64_t k = item_of(set, i);
        ds_random r = ds_random_open(set->object, set->item[k]->name, i - set->at[k]);
        quantity_range(set, i, &lower, &upper, &start);
        set->drawn[i] = lower + (0.1 + 0.8 * ds_random_uniform(&r)) * (upper - lower);
    }
}

/* How far variable v is from the number of the truth. */
static double error_of(const quantity_set *set, const quantity *q, const double *truth, size_t j, double v)
{
    if (q->log) {
        return fabs(pow(10, v) / quantity_base(set, q, truth) - 1);
    }
    return fabs(v - (quantity_is_pose(q->kind) ? 0 : quantity_sign(q->kind) * truth[j]));
}

static double error_of_item(const quantity_set *set, uint64_t i, const double *x)
{
    const quantity *q = set->item[i];
    const double *truth = quantity_of_variation(&set->truth, q->kind);
    const quantity_slot numbers = quantity_of_model(set->model, q->kind);
    const size_t single = quantity_is_vector(q->kind) ? 3 : 1;
    const size_t count = quantity_is_each(q->kind) ? numbers.count : single;
    double sum = 0;
    for (size_t j = 0, next = 0; j < count; j++) {
        if (!quantity_is_each(q->kind) || quantity_moves(set->model, q->kind, j)) {
            sum += error_of(set, q, truth, j * numbers.stride, x[next++]);
        }
    }
    return sum;
}

static double error_of_drawn(const quantity_set *set, uint64_t i, const double *x)
{
    double sum = 0;
    for (uint64_t k = set->at[i]; k < set->at[i + 1]; k++) {
        const double off = x[k] - set->drawn[k];
        sum += fabs(set->item[i]->log ? pow(10, off) - 1 : off);
    }
    return sum;
}

void quantity_identify(const quantity_set *set, identified *out)
{
    identified_open(out, set->count);
    for (uint64_t i = 0; i < set->count; i++) {
        identified_name(out, i, set->item[i]->name);
    }
}

void quantity_error(const quantity_set *set, const double *x, identified *out)
{
    double sum = 0;
    for (uint64_t i = 0; i < set->count; i++) {
        const double error = set->item[i]->kind == QUANTITY_WEIGHTS ? (double)NAN
                             : set->drawn != NULL                   ? error_of_drawn(set, i, x)
                                                                    : error_of_item(set, i, x + set->at[i]);
        identified_set(out, i, error / (double)(set->at[i + 1] - set->at[i]));
        sum += error;
    }
    out->mean = sum / (double)set->n;
}
