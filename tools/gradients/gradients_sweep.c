/* SPDX-License-Identifier: Apache-2.0 */
/* gradients_sweep.c - see gradients_sweep.h. */
#include "config.h"

#include "gradients/gradients_sweep.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int wrong(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int wrong(char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, DS_SWEEP_WHY, format, args);
    va_end(args);
    return -1;
}

/* ---- values ---- */

static void put_number(ds_sweep_value *v, double number)
{
    v->number = number;
    snprintf(v->text, sizeof v->text, "%s", DS_TEXT_OF(number));
}

/* The piece of `text` up to `stop` or the end; NULL where it is empty or too long. *rest: what follows,
 * or NULL. */
static const char *piece(const char *text, char stop, char out[DS_SWEEP_TEXT], const char **rest)
{
    size_t n = strcspn(text, (char[]){stop, '\0'});
    *rest = text[n] == stop ? text + n + 1 : NULL;
    if (n == 0 || n >= DS_SWEEP_TEXT) {
        return NULL;
    }
    memcpy(out, text, n);
    out[n] = '\0';
    return out;
}

/* log:LOW:HIGH:COUNT or lin:LOW:HIGH:COUNT. */
static int parse_range(const char *text, ds_sweep *s, char *why)
{
    char part[3][DS_SWEEP_TEXT];
    const char *rest = text + 4;
    double low = 0, high = 0;
    int64_t count = 0;
    for (int k = 0; k < 3 && rest != NULL; k++) {
        part[k][0] = '\0';
        if (piece(rest, ':', part[k], &rest) == NULL) {
            break;
        }
        if (k == 2 && rest == NULL && ds_parse_real(part[0], &low) && ds_parse_real(part[1], &high) &&
            ds_parse_int(part[2], &count) && low < high && isfinite(low) && isfinite(high) && count >= 2 &&
            count <= DS_SWEEP_VALUES && (!s->log || low > 0)) {
            s->count = (uint64_t)count;
        }
    }
    if (s->count == 0) {
        return wrong(why, "%s=%.60s: expected %s:LOW:HIGH:COUNT with %sLOW below HIGH and COUNT from 2 to %d",
                     s->key, text, s->log ? "log" : "lin", s->log ? "0 below LOW, " : "", DS_SWEEP_VALUES);
    }
    s->value = calloc(s->count, sizeof *s->value);
    for (uint64_t i = 0; s->value != NULL && i < s->count; i++) {
        double t = (double)i / (double)(s->count - 1);
        double v = s->log ? exp((1 - t) * log(low) + t * log(high)) : (1 - t) * low + t * high;
        char digits[DS_SWEEP_TEXT]; /* twelve of them: 1000, not 1000.0000000000016 */
        snprintf(digits, sizeof digits, "%.12g", v);
        put_number(&s->value[i], i == 0 ? low : i + 1 == s->count ? high : ds_strtod(digits, NULL));
    }
    return s->value != NULL ? 0 : -2;
}

static int parse_list(const char *text, ds_sweep *s, char *why)
{
    uint64_t most = 1;
    for (const char *c = text; *c != '\0'; c++) {
        most += *c == ',';
    }
    if (most > DS_SWEEP_VALUES) {
        return wrong(why, "%s: more than %d values", s->key, DS_SWEEP_VALUES);
    }
    s->value = calloc(most, sizeof *s->value);
    if (s->value == NULL) {
        return -2;
    }
    while (text != NULL) {
        ds_sweep_value *v = &s->value[s->count];
        if (piece(text, ',', v->text, &text) == NULL) {
            return wrong(why,
                         "%s: expected values with commas between them, 1,10,100, or a range, log:1:100:3",
                         s->key);
        }
        if (!ds_parse_real(v->text, &v->number)) {
            v->number = (double)s->count;
        }
        s->count++;
    }
    return 0;
}

/* Values that belong to the tool itself must be numbers that it can use. */
static int check_own(const ds_sweep *s, char *why)
{
    for (uint64_t i = 0; i < s->count && s->what != DS_SWEEP_ENV; i++) {
        double v = 0;
        int number = ds_parse_real(s->value[i].text, &v);
        if (s->what == DS_SWEEP_SAMPLES && !(number && v >= 2 && v <= 1e7)) {
            return wrong(why, "samples=%.40s: expected numbers from 2 to 1e7", s->value[i].text);
        }
        if (s->what == DS_SWEEP_SIGMA && !(number && v > 0 && isfinite(v))) {
            return wrong(why, "sigma=%.40s: expected numbers above 0", s->value[i].text);
        }
        if (s->what == DS_SWEEP_GAMMA && !(number && v >= 0)) {
            return wrong(why, "gamma=%.40s: expected numbers from 0 on, or inf", s->value[i].text);
        }
    }
    return 0;
}

/* Numbers that grow by a steady factor of 1.5 or more are shown on a logarithmic axis. */
static int grows_by_factors(const ds_sweep *s)
{
    int yes = s->count >= 3;
    for (uint64_t i = 0; i + 1 < s->count && yes; i++) {
        double v = 0, a = s->value[i].number, b = s->value[i + 1].number;
        yes = ds_parse_real(s->value[i].text, &v) && a > 0 && b >= 1.5 * a && isfinite(b);
    }
    return yes;
}

static int round_values(ds_sweep *s)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < s->count; i++) {
        double whole = floor(s->value[i].number + 0.5);
        if (kept == 0 || !(fabs(s->value[kept - 1].number - whole) < 0.5)) {
            s->value[kept].number = whole;
            snprintf(s->value[kept++].text, DS_SWEEP_TEXT, "%.0f", whole);
        }
    }
    s->count = kept;
    return 0;
}

static int parse_one(const char *text, size_t length, ds_sweep *s, char *why)
{
    static const char *const own[] = {"sigma", "samples", "gamma"};
    char *copy = strndup(text, length);
    if (copy == NULL) {
        return -2;
    }
    char *values = strchr(copy, '=');
    int rc =
        values == NULL ? wrong(why, "expected KEY=VALUES: samples=10,100,1000 or env.mu=log:1:100:5") : 0;
    if (rc == 0) {
        *values++ = '\0';
        const char *key = copy;
        s->what = -1;
        for (int k = 0; k < 3; k++) {
            s->what = strcmp(copy, own[k]) == 0 ? DS_SWEEP_SIGMA + k : s->what;
        }
        if (s->what < 0 && strncmp(copy, "env.", 4) == 0) {
            s->what = DS_SWEEP_ENV;
            key = copy + 4;
        }
        rc = s->what < 0 || key[0] == '\0' || strlen(key) > DS_MAX_NAME
                 ? wrong(why, "'%.60s': expected samples, sigma, gamma or env.PARAMETER", copy)
                 : 0;
        snprintf(s->key, sizeof s->key, "%.*s", (int)DS_MAX_NAME, key);
    }
    if (rc == 0) {
        s->log = strncmp(values, "log:", 4) == 0;
        s->range = s->log || strncmp(values, "lin:", 4) == 0;
        rc = s->range ? parse_range(values, s, why) : parse_list(values, s, why);
    }
    rc = rc != 0 ? rc : check_own(s, why);
    if (rc == 0 && s->what == DS_SWEEP_SAMPLES) {
        round_values(s);
    }
    s->log = rc == 0 && (s->log || grows_by_factors(s));
    free(copy);
    return rc;
}

int ds_sweeps_parse(const char *text, ds_sweep out[DS_SWEEPS_MAX], int *count, char why[DS_SWEEP_WHY])
{
    *count = 0;
    memset(out, 0, DS_SWEEPS_MAX * sizeof *out);
    for (text += strspn(text, " \t\n"); *text != '\0'; text += strspn(text, " \t\n")) {
        size_t length = strcspn(text, " \t\n");
        if (*count == DS_SWEEPS_MAX) {
            return wrong(why, "at most %d sweeps", DS_SWEEPS_MAX);
        }
        ds_sweep *s = &out[(*count)++];
        int rc = parse_one(text, length, s, why);
        if (rc != 0) {
            return rc;
        }
        for (int k = 0; k + 1 < *count; k++) {
            if (out[k].what == s->what && strcmp(out[k].key, s->key) == 0) {
                return wrong(why, "%s is swept twice", s->key);
            }
        }
        text += length;
    }
    return 0;
}

void ds_sweeps_free(ds_sweep *sweep, int count)
{
    for (int k = 0; k < count; k++) {
        free(sweep[k].value);
    }
    memset(sweep, 0, (size_t)count * sizeof *sweep);
}

int ds_sweep_fit(ds_sweep *s, const ds_param *const *schema, char why[DS_SWEEP_WHY])
{
    const ds_param *found = NULL;
    for (int k = 0; s->what == DS_SWEEP_ENV && schema != NULL && schema[k] != NULL; k++) {
        found = strcmp(schema[k]->name, s->key) == 0 ? schema[k] : found;
    }
    if (s->what == DS_SWEEP_ENV && found == NULL) {
        return wrong(why, "env.%s: the environment has no such parameter (`dshost help` shows them)", s->key);
    }
    return found != NULL && found->type == DS_PARAM_INT && s->range ? round_values(s) : 0;
}
