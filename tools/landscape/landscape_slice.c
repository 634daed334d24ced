/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_slice.c - the line or plane that a user describes, and its points (see landscape_slice.h). */
#include "config.h"

#include "landscape/landscape_slice.h"

#include "base/text.h"

#include <diffsim/helper/random.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WHY = 160,
    PIECE = 48,          /* bytes of a number */
    COUNT_MAX = 1000000, /* points along one axis */
    POINTS_MAX = 4000000,
    DEFAULT_2D = 101,
    DEFAULT_1D = 1001
};

/* ---- texts ---- */

/* Copies the text up to `stop` or the end; returns 0 if it is empty or too long. *rest is what follows the
 * stop, or NULL. */
static int piece(const char *text, char stop, char out[PIECE], const char **rest)
{
    size_t n = strcspn(text, (char[]){stop, '\0'});
    *rest = text[n] == stop ? text + n + 1 : NULL;
    if (n == 0 || n >= PIECE) {
        return 0;
    }
    memcpy(out, text, n);
    out[n] = '\0';
    return 1;
}

static int wrong(const char **key, const char *name, char *why, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int wrong(const char **key, const char *name, char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, WHY, format, args);
    va_end(args);
    *key = name;
    return -1;
}

_Static_assert((int)PIECE == (int)DS_MAX_NAME + 1, "a name fits into a piece");

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int parse_axes(const char *text, ds_slice_plan *p, char *why)
{
    while (text != NULL) {
        char one[PIECE];
        int64_t v = 0;
        if (p->dims == DS_SLICE_DIMS) {
            snprintf(why, WHY, "a slice has at most two axes");
            return -1;
        }
        int found = piece(text, ',', one, &text), named = found && is_letter(one[0]);
        if (!found || (!named && !(ds_parse_int(one, &v) && v >= 0))) {
            snprintf(
                why, WHY,
                "expected numbers (from 0) or names of one or two variables, or random: 0,1 or 3,random");
            return -1;
        }
        p->kind[p->dims] = strcmp(one, "random") == 0 ? DS_AXIS_RANDOM : DS_AXIS_VARIABLE;
        p->variable[p->dims] = (uint64_t)v;
        if (named && p->kind[p->dims] == DS_AXIS_VARIABLE) {
            strcpy(p->name[p->dims], one);
        }
        p->dims++;
    }
    return 0;
}

static int parse_range(const char *text, ds_slice_plan *p, char *why)
{
    while (text != NULL) {
        char one[PIECE], low[PIECE];
        const char *high = NULL;
        double *a = p->low + p->ranges, *b = p->high + p->ranges;
        if (p->ranges == DS_SLICE_DIMS || !piece(text, ',', one, &text) || !piece(one, ':', low, &high) ||
            high == NULL || !ds_parse_real(low, a) || !ds_parse_real(high, b) || !isfinite(*a) ||
            !isfinite(*b) || !(*a < *b)) {
            snprintf(why, WHY, "expected LOW:HIGH with LOW below HIGH, for two axes LOW:HIGH,LOW:HIGH");
            return -1;
        }
        p->ranges++;
    }
    return 0;
}

static int parse_grid(const char *text, ds_slice_plan *p, char *why)
{
    while (text != NULL) {
        char one[PIECE];
        int64_t v = 0;
        if (p->grids == DS_SLICE_DIMS || !piece(text, 'x', one, &text) || !ds_parse_int(one, &v) || v < 3 ||
            v > COUNT_MAX) {
            snprintf(why, WHY, "expected N or NxM points, each from 3 to %d", COUNT_MAX);
            return -1;
        }
        p->count[p->grids++] = (uint64_t)v;
    }
    return 0;
}

int ds_slice_parse(const ds_slice_text *text, ds_slice_plan *out, const char **key, char why[WHY])
{
    memset(out, 0, sizeof *out);
    if ((text->from[0] != '\0') != (text->to[0] != '\0')) {
        return wrong(key, text->from[0] != '\0' ? "from" : "to", why,
                     "a line needs both ends, --from and --to");
    }
    if (text->from[0] != '\0') {
        if (text->center[0] != '\0') {
            return wrong(key, "center", why, "a line between two points cannot have another centre");
        }
        out->kind[out->dims++] = DS_AXIS_LINE;
    }
    const struct {
        const char *key, *text;
        int (*parse)(const char *text, ds_slice_plan *p, char *why);
    } part[] = {{"axes", text->axes, parse_axes},
                {"range", text->range, parse_range},
                {"grid", text->grid, parse_grid}};
    for (size_t k = 0; k < sizeof part / sizeof part[0]; k++) {
        *key = part[k].key;
        if (part[k].text[0] != '\0' && part[k].parse(part[k].text, out, why) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- geometry ---- */

static int allocate(ds_slice *s, const ds_pool_env *env)
{
    double **const part[] = {&s->center, &s->end, &s->lower, &s->upper, &s->dir[0], &s->dir[1]};
    s->n = env->info.n;
    s->origin = calloc(7 * s->n, sizeof(double));
    for (size_t k = 0; s->origin != NULL && k < sizeof part / sizeof part[0]; k++) {
        *part[k] = s->origin + (k + 1) * s->n;
    }
    if (s->origin == NULL) {
        return -1;
    }
    memcpy(s->lower, env->lower, s->n * sizeof(double));
    memcpy(s->upper, env->upper, s->n * sizeof(double));
    return 0;
}

void ds_slice_free(ds_slice *s)
{
    free(s->origin);
    memset(s, 0, sizeof *s);
}

static double half_width(const ds_slice *s, uint64_t i)
{
    return 0.5 * s->upper[i] - 0.5 * s->lower[i];
}

/* Isotropic directions in half widths of the box; two of them are made orthogonal in that scale. */
static void random_directions(ds_slice *s, uint64_t seed)
{
    double reach = 0;
    for (int k = 0; k < s->dims; k++) {
        if (s->kind[k] != DS_AXIS_RANDOM) {
            continue;
        }
        ds_random r = ds_random_open(seed, "landscape.direction", (uint64_t)k);
        for (uint64_t i = 0; i < s->n; i++) {
            const double d = ds_random_normal(&r);
            s->dir[k][i] = half_width(s, i) > 0 ? d : 0;
        }
        if (k == 1 && s->kind[0] == DS_AXIS_RANDOM && s->n > 1) {
            double ab = 0, aa = 0;
            for (uint64_t i = 0; i < s->n; i++) {
                ab += s->dir[0][i] * s->dir[1][i];
                aa += s->dir[0][i] * s->dir[0][i];
            }
            for (uint64_t i = 0; i < s->n; i++) {
                s->dir[1][i] -= ab / aa * s->dir[0][i];
            }
        }
        double length = 0;
        for (uint64_t i = 0; i < s->n; i++) {
            length += s->dir[k][i] * s->dir[k][i];
        }
        for (uint64_t i = 0; i < s->n; i++) {
            s->dir[k][i] /= sqrt(length);
        }
    }
    for (uint64_t i = 0; i < s->n; i++) { /* the square -1..1 fits into the box around its centre */
        double sum = 0;
        for (int k = 0; k < s->dims; k++) {
            sum += s->kind[k] == DS_AXIS_RANDOM ? fabs(s->dir[k][i]) : 0;
        }
        reach = fmax(reach, sum);
    }
    for (int k = 0; k < s->dims; k++) {
        for (uint64_t i = 0; i < s->n && s->kind[k] == DS_AXIS_RANDOM; i++) {
            s->dir[k][i] *= half_width(s, i) / reach;
        }
    }
}

/* "variable 3", with its name and unit, if any. */
static void label_variable(char out[DS_SLICE_LABEL], const ds_pool_env *env, uint64_t i, int offset)
{
    char label[DS_VARIABLE_LABEL] = "";
    if (env->variables != NULL) {
        ds_variable_label(env->variables, i, label);
    }
    snprintf(out, DS_SLICE_LABEL, "%svariable %" PRIu64 "%s%s", offset ? "offset of " : "", i,
             label[0] != '\0' ? ": " : "", label);
}

static void label_axes(ds_slice *s, const ds_slice_text *text, const ds_pool_env *env, uint64_t seed)
{
    int line = s->kind[0] == DS_AXIS_LINE;
    for (int k = 0; k < s->dims; k++) {
        if (s->kind[k] == DS_AXIS_LINE) {
            snprintf(s->label[k], DS_SLICE_LABEL, "from %.36s (0) to %.36s (1)", text->from, text->to);
        } else if (s->kind[k] == DS_AXIS_RANDOM) {
            snprintf(s->label[k], DS_SLICE_LABEL, "random direction %d (seed %" PRIu64 ")", k + 1, seed);
        } else {
            label_variable(s->label[k], env, s->variable[k], line);
        }
    }
}

/* Sets directions, origin and default ranges; the centre is known. */
static void place(ds_slice *s, const ds_slice_plan *p, uint64_t seed)
{
    memcpy(s->origin, s->center, s->n * sizeof(double));
    random_directions(s, seed);
    for (int k = 0; k < s->dims; k++) {
        uint64_t v = s->variable[k];
        s->low[k] = -1;
        s->high[k] = 1;
        if (s->kind[k] == DS_AXIS_LINE) {
            s->low[k] = 0;
            for (uint64_t i = 0; i < s->n; i++) {
                s->dir[k][i] = s->end[i] - s->center[i];
            }
        } else if (s->kind[k] == DS_AXIS_VARIABLE) {
            int offset = s->kind[0] == DS_AXIS_LINE;
            s->dir[k][v] = 1;
            s->origin[v] = offset ? s->origin[v] : 0;
            s->low[k] = offset ? -half_width(s, v) : s->lower[v];
            s->high[k] = offset ? half_width(s, v) : s->upper[v];
        }
        if (p->ranges > 0) {
            s->low[k] = p->low[p->ranges == 1 ? 0 : k];
            s->high[k] = p->high[p->ranges == 1 ? 0 : k];
        }
    }
}

static uint64_t count_free(const ds_slice *s)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < s->n; i++) {
        count += half_width(s, i) > 0;
    }
    return count;
}

/* Default axes: the first variables that are not fixed. */
static void choose_axes(ds_slice *s)
{
    uint64_t next = 0;
    for (int k = 0; k < s->dims; k++) {
        while (next < s->n && !(half_width(s, next) > 0)) {
            next++;
        }
        s->variable[k] = next++;
    }
}

static int find_names(const ds_slice_plan *p, const ds_pool_env *env, ds_slice *s, const char **key,
                      char *why)
{
    for (int k = 0; k < p->dims; k++) {
        const char *name = p->name[k];
        if (name[0] != '\0' && ds_variable_find(env->variables, s->n, name, &s->variable[k]) != 0) {
            return wrong(key, "axes", why, "there is no variable '%s': %s", name,
                         env->variables != NULL
                             ? "`dshost eval` shows the names"
                             : "the variables of this environment have no names, use numbers");
        }
    }
    return 0;
}

/* Checks that the environment has what the plan names. */
static int check_plan(const ds_slice_plan *p, const ds_slice *s, const char **key, char *why)
{
    const uint64_t free_ones = count_free(s);
    for (int k = 0; k < s->dims; k++) {
        if (s->kind[k] == DS_AXIS_VARIABLE && s->variable[k] >= s->n) {
            return wrong(key, "axes", why,
                         "there is no variable %" PRIu64 ": the environment has %" PRIu64 ", numbered from 0",
                         s->variable[k], s->n);
        }
        if (s->kind[k] == DS_AXIS_VARIABLE && !(half_width(s, s->variable[k]) > 0)) {
            return wrong(key, "axes", why, "variable %" PRIu64 " is fixed: choose one with lower < upper",
                         s->variable[k]);
        }
    }
    if (s->dims == 2 && s->kind[0] == DS_AXIS_VARIABLE && s->kind[1] == DS_AXIS_VARIABLE &&
        s->variable[0] == s->variable[1] && s->n > 1) {
        return wrong(key, "axes", why, "both axes are the same variable");
    }
    if (free_ones == 0) {
        return wrong(key, "axes", why, "all variables of the environment are fixed");
    }
    if (free_ones == 1 && s->dims == 2) {
        return wrong(key, "axes", why, "the environment has one %svariable: name one axis",
                     s->n > 1 ? "free " : "");
    }
    if (p->ranges > s->dims) {
        return wrong(key, "range", why, "two ranges for one axis");
    }
    if (p->grids > s->dims) {
        return wrong(key, "grid", why, "two numbers of points for one axis");
    }
    return s->count[0] <= POINTS_MAX / s->count[1]
               ? 0
               : wrong(key, "grid", why, "%" PRIu64 " x %" PRIu64 " points are more than %d", s->count[0],
                       s->count[1], POINTS_MAX);
}

/* A slice that misses the box would give an empty figure. */
static int check_place(const ds_slice *s, const char **key, char *why)
{
    for (int k = 0; k < s->dims; k++) {
        uint64_t v = s->variable[k];
        if (s->kind[k] == DS_AXIS_VARIABLE && s->kind[0] != DS_AXIS_LINE &&
            (s->low[k] < s->lower[v] || s->high[k] > s->upper[v])) {
            return wrong(key, "range", why, "variable %" PRIu64 " has the bounds %s to %s", v,
                         DS_TEXT_OF(s->lower[v]), DS_TEXT_OF(s->upper[v]));
        }
        if (s->kind[k] == DS_AXIS_LINE) {
            double length = 0;
            for (uint64_t i = 0; i < s->n; i++) {
                length += fabs(s->dir[k][i]);
            }
            if (!(length > 0)) {
                return wrong(key, "to", why, "both ends of the line are the same point");
            }
        }
    }
    return 0;
}

int ds_slice_make(const ds_slice_plan *plan, const ds_slice_text *text, const char *id,
                  const ds_pool_env *env, uint64_t seed, ds_slice *out, const char **key, char why[WHY],
                  ds_error *e)
{
    ds_slice *s = out;
    memset(s, 0, sizeof *s);
    if (allocate(s, env) != 0) {
        return ds_no_memory(e);
    }
    s->dims = plan->dims > 0 ? plan->dims : count_free(s) > 1 ? 2 : 1;
    for (int k = 0; k < DS_SLICE_DIMS; k++) {
        uint64_t standard = s->dims == 1 ? DEFAULT_1D : DEFAULT_2D;
        s->kind[k] = plan->kind[k];
        s->variable[k] = plan->variable[k];
        s->count[k] = k >= s->dims ? 1 : plan->grids == 0 ? standard : plan->count[plan->grids == 1 ? 0 : k];
    }
    int line = s->kind[0] == DS_AXIS_LINE;
    ds_point_request q = {line ? "--from" : "--center", id, env};
    if (plan->dims == 0) {
        choose_axes(s);
    }
    int rc = find_names(plan, env, s, key, why);
    rc = rc != 0 ? rc : check_plan(plan, s, key, why);
    const char *center = line ? text->from : text->center[0] != '\0' ? text->center : "start";
    rc = rc != 0 ? rc : ds_point_read(&q, center, s->center, e);
    if (rc == 0 && line) {
        q.origin = "--to";
        rc = ds_point_read(&q, text->to, s->end, e);
    }
    if (rc == 0) {
        place(s, plan, seed);
        label_axes(s, text, env, seed);
        rc = check_place(s, key, why);
    }
    if (rc != 0) {
        ds_slice_free(s);
    }
    return rc;
}

/* ---- points ---- */

uint64_t ds_slice_points(const ds_slice *s)
{
    return s->count[0] * s->count[1];
}

void ds_slice_grid(const ds_slice *s, uint64_t k, double c[DS_SLICE_DIMS])
{
    uint64_t at[DS_SLICE_DIMS] = {k % s->count[0], k / s->count[0]};
    for (int a = 0; a < DS_SLICE_DIMS; a++) {
        if (a >= s->dims) {
            c[a] = 0;
        } else if (at[a] + 1 == s->count[a]) {
            c[a] = s->high[a]; /* exactly */
        } else {
            c[a] = s->low[a] + (s->high[a] - s->low[a]) * ((double)at[a] / (double)(s->count[a] - 1));
        }
    }
}

int ds_slice_x(const ds_slice *s, const double c[DS_SLICE_DIMS], double *x)
{
    for (uint64_t i = 0; i < s->n; i++) {
        double v = s->origin[i] + c[0] * s->dir[0][i];
        v = s->dims > 1 ? v + c[1] * s->dir[1][i] : v;
        double slack = 1e-9 * (s->upper[i] - s->lower[i]); /* rounding at a face of the box */
        if (!(v >= s->lower[i] - slack && v <= s->upper[i] + slack)) {
            return 0;
        }
        x[i] = fmin(fmax(v, s->lower[i]), s->upper[i]);
    }
    return 1;
}

void ds_slice_gradient(const ds_slice *s, const double *gradient, double out[DS_SLICE_DIMS])
{
    for (int k = 0; k < DS_SLICE_DIMS; k++) {
        double sum = 0;
        for (uint64_t i = 0; i < s->n && k < s->dims; i++) {
            /* 0 times an exploded derivative of another variable must be 0. */
            sum += s->dir[k][i] < 0 || s->dir[k][i] > 0 ? gradient[i] * s->dir[k][i] : 0;
        }
        out[k] = sum;
    }
}

double ds_slice_project(const ds_slice *s, const double *x, double c[DS_SLICE_DIMS])
{
    double a[2][2] = {{0, 0}, {0, 0}}, b[2] = {0, 0}, left = 0;
    for (uint64_t i = 0; i < s->n; i++) {
        double w = 2 * half_width(s, i), r = (x[i] - s->origin[i]) / w;
        if (!(w > 0)) { /* fixed: it has no width */
            continue;
        }
        double d[2] = {s->dir[0][i] / w, s->dir[1][i] / w};
        for (int k = 0; k < 2; k++) {
            b[k] += d[k] * r;
            a[k][0] += d[k] * d[0];
            a[k][1] += d[k] * d[1];
        }
    }
    double det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    int plane = s->dims == 2 && det > 1e-12 * a[0][0] * a[1][1];
    c[0] = plane ? (b[0] * a[1][1] - b[1] * a[0][1]) / det : b[0] / a[0][0];
    c[1] = plane ? (a[0][0] * b[1] - a[1][0] * b[0]) / det : 0;
    for (uint64_t i = 0; i < s->n; i++) {
        double r = x[i] - s->origin[i] - c[0] * s->dir[0][i] - c[1] * s->dir[1][i];
        r /= half_width(s, i) > 0 ? 2 * half_width(s, i) : 1;
        left += r * r;
    }
    return sqrt(left / (double)s->n);
}

/* ---- messages ---- */

int ds_slice_refuse(const ds_settings *settings, int section, const char *command, const char *key,
                    const char *why, ds_error *e)
{
    const ds_setting *s = ds_settings_find(settings, section, key);
    if (s == NULL) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: %s: %s", command, key, why);
    }
    if (s->layer == DS_LAYER_FLAG) {
        return ds_fail(e, s->status, "%s %.60s: %s", s->origin, s->value, why);
    }
    return ds_fail(e, s->status, "%s: %s = %.60s: %s", s->origin, key, s->value, why);
}
