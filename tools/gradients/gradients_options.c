/* SPDX-License-Identifier: Apache-2.0 */
/* gradients_options.c - the schema of section [gradients] and its conversion. */
#include "config.h"

#include "gradients/gradients_options.h"

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
    DS_TEXT("axes", "",
            "A slice instead: one variable (a number from 0, or a name), or random; the others stay at x."),
    DS_TEXT("range", "",
            "LOW:HIGH of the slice; empty = the bounds of the variable, -1:1 of a random direction as far as "
            "it stays "
            "inside of the bounds."),
    DS_TEXT("grid", "41", "Points of the slice."),
    DS_REAL("sigma", "0", 0, 1e12, "",
            "Standard deviation of the smoothing; 0 = that of the environment where noise is on its actions, "
            "else 0.1."),
    DS_ENUM("units", "x", units, "Of sigma: x = of each variable; box = half the width of its bounds."),
    DS_INT("samples", "100", 2, 1e7, "", "Samples of an estimate, of either order."),
    DS_INT("repeats", "10", 1, 1e6, "", "Estimates at each place."),
    DS_INT("reference", "10000", 0, 1e9, "",
           "Samples of the long run that biases are measured against, with gradients; 0 = none."),
    DS_ENUM("reference_order", "zeroth", orders,
            "What the long run estimates: zeroth, which is right for every loss, or first, which is more "
            "exact where the loss is continuous."),
    DS_ENUM("baseline", "center", baselines,
            "What the zeroth order takes off a loss: center = that without noise (one evaluation more); mean "
            "= that of the other samples; none."),
    DS_BOOL("shared", "false", "Both orders from the same samples; false = from independent ones."),
    DS_BOOL("antithetic", "false", "Draw samples in pairs w, -w."),
    DS_ENUM("noise", "auto", noises,
            "variables = noise on x; actions = on the actions of a policy, by the environment (extension "
            "ds.draft.env.score/1); auto = on actions where it offers that."),
    DS_ENUM("rule", "bias", rules,
            "Weight of the first order: bias = inverse variances, limited by gamma; ivw = inverse variances "
            "alone."),
    DS_REAL("gamma", "inf", 0, INFINITY, "", "Error of the gradient that is tolerated, in its unit."),
    DS_REAL("lmax", "10", 0, INFINITY, "",
            "Bound that is believed of the length of one zeroth-order sample (Bernstein's inequality)."),
    DS_REAL("confidence", "0.95", 0, 0.999999999, "",
            "That the error of the zeroth order is bounded by eps."),
    DS_BOOL("delta_repo", "false",
            "Put the confidence where the chance of failure belongs, as the authors' program does: eps is "
            "too small then."),
    DS_REAL("alpha", "-1", -1, 1, "", "Weight of the first order itself; negative = by the rule."),
    DS_REAL("beta", "0.05", 0, 0.5, "", "Share of rare samples, for the test of empirical bias."),
    DS_REAL("level", "0.95", 0.5, 0.999999, "", "Of the intervals."),
    DS_TEXT("sweep", "",
            "What is varied: samples=, sigma=, gamma= or env.PARAMETER= with 1,10,100 or log:1:100:3 or "
            "lin:0:1:11; several with blanks between them, or several flags."),
    NULL};

int ds_gradients_refuse(const ds_settings *settings, const char *key, const char *why, ds_error *e)
{
    const ds_setting *s = ds_settings_find(settings, DS_SECTION_GRADIENTS, key);
    if (s == NULL) {
        return ds_fail(e, DS_EXIT_CONFIG, "gradients: %s: %s", key, why);
    }
    if (s->layer == DS_LAYER_FLAG) {
        return ds_fail(e, s->status, "%s %.60s: %s", s->origin, s->value, why);
    }
    return ds_fail(e, s->status, "%s: %s = %.60s: %s", s->origin, key, s->value, why);
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
