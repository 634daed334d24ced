/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_options.c - the schema of section [landscape] and its conversion. */
#include "config.h"

#include "landscape/landscape_options.h"

#include <string.h>

static const char *const gradients[] = {"auto", "yes", "no", NULL};

const ds_param *const ds_landscape_schema[] = {
    DS_TEXT("axes", "",
            "One or two variables (numbers from 0, or names) or random directions: 0,1 or velocity.y or "
            "random,random; empty = the first two, or none where a line is given."),
    DS_TEXT("center", "",
            "Where the other variables are: start, center, random:SEED, FILE, or DIR or DIR:ID of a run (its "
            "best point, or an evaluation); empty = start."),
    DS_TEXT("from", "", "First point of a line, which is then the first axis; as center."),
    DS_TEXT("to", "", "Second point of the line."),
    DS_TEXT("range", "",
            "LOW:HIGH of the axes' coordinates, one or one per axis (-1:1,0:2); empty = the bounds of a "
            "variable, -1:1 of a random direction, 0:1 of a line."),
    DS_TEXT("grid", "", "Points: N or NxM; empty = 101x101, or 1001 on a line."),
    DS_ENUM("gradient", "auto", gradients,
            "yes: also gradients, and their quality; no: losses alone; auto: yes where the environment has "
            "gradients."),
    DS_INT("samples", "200", 0, 1e6, "",
           "Points of the grid where gradients are compared with finite differences."),
    DS_LIST("steps", "1e-3 1e-4 1e-5 1e-6", 1e-12, 0.25, DS_MEASURE_STEPS, "",
            "Steps of these differences, in widths of the slice, from large to small."),
    DS_INT("jumps", "50", 0, 1e6, "",
           "Steep places that are halved twelve times, to tell jumps from steep slopes."),
    DS_INT(
        "box", "100", 0, 1e6, "",
        "Random points of the whole box where a loss may be without a gradient; at most as many as the grid "
        "has."),
    NULL};

int ds_landscape_refuse(const ds_settings *settings, const char *key, const char *why, ds_error *e)
{
    const ds_setting *s = ds_settings_find(settings, DS_SECTION_LANDSCAPE, key);
    if (s == NULL) {
        return ds_fail(e, DS_EXIT_CONFIG, "landscape: %s: %s", key, why);
    }
    if (s->layer == DS_LAYER_FLAG) {
        return ds_fail(e, s->status, "%s %.60s: %s", s->origin, s->value, why);
    }
    return ds_fail(e, s->status, "%s: %s = %.60s: %s", s->origin, key, s->value, why);
}

static int take_steps(const ds_settings *settings, ds_landscape_options *o, ds_error *e)
{
    const double *list = NULL;
    uint64_t count = 0;
    ds_params_list(o->params, "steps", &list, &count);
    for (uint64_t k = 0; k < count; k++) {
        o->step[k] = list[k];
        if (k > 0 && !(o->step[k] < o->step[k - 1])) {
            return ds_landscape_refuse(settings, "steps", "each step must be smaller than the one before it",
                                       e);
        }
    }
    o->steps = (int)count;
    return 0;
}

int ds_landscape_options_make(const ds_settings *settings, ds_landscape_options *out, ds_error *e)
{
    int64_t gradient = 0, samples = 0, jumps = 0, box = 0;
    const char *key = "axes";
    char why[160] = "";

    memset(out, 0, sizeof *out);
    int rc = ds_params_make(ds_landscape_schema, "", settings, DS_SECTION_LANDSCAPE, &out->params, e);
    if (rc != 0) {
        return rc;
    }
    const ds_params *p = out->params;
    ds_params_text(p, "axes", &out->text.axes);
    ds_params_text(p, "center", &out->text.center);
    ds_params_text(p, "from", &out->text.from);
    ds_params_text(p, "to", &out->text.to);
    ds_params_text(p, "range", &out->text.range);
    ds_params_text(p, "grid", &out->text.grid);
    ds_params_int(p, "gradient", &gradient);
    ds_params_int(p, "samples", &samples);
    ds_params_int(p, "jumps", &jumps);
    ds_params_int(p, "box", &box);
    out->gradient = (int)gradient;
    out->samples = (uint64_t)samples;
    out->jumps = (uint64_t)jumps;
    out->box = (uint64_t)box;
    rc = take_steps(settings, out, e);
    if (rc == 0 && ds_slice_parse(&out->text, &out->plan, &key, why) != 0) {
        rc = ds_landscape_refuse(settings, key, why, e);
    }
    if (rc != 0) {
        ds_landscape_options_clear(out);
    }
    return rc;
}

void ds_landscape_options_clear(ds_landscape_options *o)
{
    ds_params_free(o->params);
    memset(o, 0, sizeof *o);
}
