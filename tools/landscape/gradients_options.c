/* SPDX-License-Identifier: Apache-2.0 */
/* gradients_options.c - section [gradients], and its sweeps (see gradients.h). */
#include "config.h"

#include "landscape/gradients.h"

#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const baselines[] = {"center", "mean", "none", NULL};
static const char *const noises[] = {"auto", "variables", "actions", NULL};
static const char *const units[] = {"x", "box", NULL};
static const char *const orders[] = {"zeroth", "first", NULL};
static const char *const rules[] = {"bias", "ivw", NULL};

const ds_param *const ds_gradients_schema[] = {
    DS_TEXT("x", "start",
            "The point: start, center, random:SEED, numbers 1,2,3, FILE, or DIR or DIR:ID of a run (its best "
            "point, or an evaluation)."),
    DS_TEXT(
        "axes", "",
        "A slice instead: one variable (a number from 0, or a name), or random; other variables stay at x."),
    DS_TEXT("range", "",
            "LOW:HIGH of the slice; empty = the bounds of the variable, -1:1 of a random direction as far as "
            "it is inside the bounds."),
    DS_TEXT("grid", "41", "Points of the slice."),
    DS_REAL("sigma", "0", 0, 1e12, "",
            "Standard deviation of the smoothing; 0 = that of the environment for noise on its actions, else "
            "0.1."),
    DS_ENUM("units", "x", units, "Unit of sigma: x = of each variable; box = half the width of its bounds."),
    DS_INT("samples", "100", 2, 1e7, "", "Samples per estimate, of either order."),
    DS_INT("repeats", "10", 1, 1e6, "", "Estimates at each place."),
    DS_INT("reference", "10000", 0, 1e9, "",
           "Samples of the long run to which biases are relative, with gradients; 0 = none."),
    DS_ENUM("reference_order", "zeroth", orders,
            "What the long run estimates: zeroth, which is correct for every loss, or first, which is more "
            "precise for continuous losses."),
    DS_ENUM("baseline", "center", baselines,
            "What the zeroth order subtracts from a loss: center = the loss without noise (one more "
            "evaluation); mean = the mean of the other samples; none."),
    DS_BOOL("shared", "false", "Use the same samples for both orders; false = independent ones."),
    DS_BOOL("antithetic", "false", "Draw samples in pairs w, -w."),
    DS_ENUM("noise", "auto", noises,
            "variables = noise on x; actions = on the actions of a policy, by the environment (extension "
            "ds.draft.env.score/1); auto = on actions if the environment offers it."),
    DS_ENUM("rule", "bias", rules,
            "Weight of the first order: bias = inverse variances, limited by gamma; ivw = inverse variances "
            "alone."),
    DS_REAL("gamma", "inf", 0, INFINITY, "", "Tolerated error of the gradient, in its unit."),
    DS_REAL("lmax", "10", 0, INFINITY, "",
            "Assumed bound of the length of one zeroth-order sample (Bernstein's inequality)."),
    DS_REAL("confidence", "0.95", 0, 0.999999999, "",
            "Probability that the error of the zeroth order is bounded by eps."),
    DS_BOOL("delta_repo", "false",
            "Use the confidence in place of the failure probability, as the authors' program does: eps is "
            "then too small."),
    DS_REAL("alpha", "-1", -1, 1, "", "Fixed weight of the first order; negative = by the rule."),
    DS_REAL("beta", "0.05", 0, 0.5, "", "Share of rare samples for the test of empirical bias."),
    DS_REAL("level", "0.95", 0.5, 0.999999, "", "Level of the intervals."),
    DS_TEXT("sweep", "",
            "What to vary: samples=, sigma=, gamma= or env.PARAMETER= with 1,10,100 or log:1:100:3 or "
            "lin:0:1:11; several separated by blanks, or several flags."),
    NULL};

int ds_gradients_refuse(const ds_settings *settings, const char *key, const char *why, ds_error *e)
{
    return ds_slice_refuse(settings, DS_SECTION_GRADIENTS, "gradients", key, why, e);
}

static int whole(const ds_params *p, const char *name)
{
    int64_t v = 0;
    ds_params_int(p, name, &v);
    return (int)v;
}

static uint64_t count(const ds_params *p, const char *name)
{
    int64_t v = 0;
    ds_params_int(p, name, &v);
    return (uint64_t)v;
}

static void read_rule(const ds_params *p, ds_gradients_options *o)
{
    double confidence = 0.95;
    o->rule.rule = whole(p, "rule");
    ds_params_real(p, "gamma", &o->rule.gamma);
    ds_params_real(p, "lmax", &o->rule.largest);
    ds_params_real(p, "confidence", &confidence);
    ds_params_real(p, "alpha", &o->rule.fixed);
    o->rule.chance = whole(p, "delta_repo") && confidence > 0 ? confidence : 1.0 - confidence;
}

static void read_estimates(const ds_params *p, ds_gradients_options *o)
{
    o->samples = count(p, "samples");
    o->repeats = count(p, "repeats");
    o->reference = count(p, "reference");
    o->reference_order = whole(p, "reference_order");
    o->baseline = whole(p, "baseline");
    o->noise = whole(p, "noise");
    o->units = whole(p, "units");
    o->shared = whole(p, "shared");
    o->antithetic = whole(p, "antithetic");
    ds_params_real(p, "sigma", &o->sigma);
    ds_params_real(p, "beta", &o->beta);
    ds_params_real(p, "level", &o->level);
}

static int read_places(const ds_settings *settings, ds_gradients_options *o, ds_error *e)
{
    const char *sweep = "", *key = "axes";
    char why[DS_SWEEP_WHY] = "";
    ds_params_text(o->params, "x", &o->x);
    ds_params_text(o->params, "axes", &o->slice_text.axes);
    ds_params_text(o->params, "range", &o->slice_text.range);
    ds_params_text(o->params, "grid", &o->slice_text.grid);
    ds_params_text(o->params, "sweep", &sweep);
    o->slice_text.center = o->x;
    o->slice_text.from = o->slice_text.to = "";
    o->slice = o->slice_text.axes[0] != '\0';
    if (!o->slice && o->slice_text.range[0] != '\0') {
        return ds_gradients_refuse(settings, "range", "there is no slice: give --axes", e);
    }
    if (ds_slice_parse(&o->slice_text, &o->plan, &key, why) != 0) {
        return ds_gradients_refuse(settings, key, why, e);
    }
    if (o->plan.dims > 1) {
        return ds_gradients_refuse(settings, "axes", "estimates are made along one axis", e);
    }
    int rc = ds_sweeps_parse(sweep, o->sweep, &o->sweeps, why);
    return rc == -2 ? ds_no_memory(e) : rc != 0 ? ds_gradients_refuse(settings, "sweep", why, e) : 0;
}

int ds_gradients_options_make(const ds_settings *settings, ds_gradients_options *out, ds_error *e)
{
    memset(out, 0, sizeof *out);
    int rc = ds_params_make(ds_gradients_schema, "", settings, DS_SECTION_GRADIENTS, &out->params, e);
    if (rc != 0) {
        return rc;
    }
    read_rule(out->params, out);
    read_estimates(out->params, out);
    rc = read_places(settings, out, e);
    if (rc == 0 && out->antithetic && out->noise == DS_NOISE_ACTIONS) {
        rc = ds_gradients_refuse(settings, "antithetic",
                                 "noise on actions is drawn by the environment, not in pairs", e);
    }
    if (rc != 0) {
        ds_gradients_options_clear(out);
    }
    return rc;
}

void ds_gradients_options_clear(ds_gradients_options *o)
{
    ds_sweeps_free(o->sweep, o->sweeps);
    ds_params_free(o->params);
    memset(o, 0, sizeof *o);
}

/* ---- sweeps ---- */

static int wrong(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int wrong(char *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, DS_SWEEP_WHY, format, args);
    va_end(args);
    return -1;
}

/* ---- values of sweeps ---- */

static void put_number(ds_sweep_value *v, double number)
{
    v->number = number;
    snprintf(v->text, sizeof v->text, "%s", DS_TEXT_OF(number));
}

/* The text up to `stop` or the end; NULL if it is empty or too long. *rest: what follows, or NULL. */
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
        char digits[DS_SWEEP_TEXT]; /* twelve digits: 1000, not 1000.0000000000016 */
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
            return wrong(why, "%s: expected values separated by commas, 1,10,100, or a range, log:1:100:3",
                         s->key);
        }
        if (!ds_parse_real(v->text, &v->number)) {
            v->number = (double)s->count;
        }
        s->count++;
    }
    return 0;
}

/* Values of the tool's own settings must be valid numbers. */
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

/* Numbers that grow by a constant factor of at least 1.5 have a logarithmic axis. */
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
