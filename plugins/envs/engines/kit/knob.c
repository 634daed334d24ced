/* SPDX-License-Identifier: Apache-2.0 */
/* knob.c - named numbers that a scene depends on, some of which are decision variables. */
#include "knob.h"

#include <diffsim/helper/fail.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <string.h>

static const double ln10 = 2.302585092994045684;

/* ---- picking ---- */

static int is_called(const knob *k, const char *word, size_t length)
{
    return strncmp(k->name, word, length) == 0 && (k->name[length] == '\0' || k->name[length] == '.');
}

static ds_status add(knob_set *set, const ds_host *host, uint32_t k)
{
    for (uint64_t i = 0; i < set->n; i++) {
        if (set->at[i] == k) {
            return ds_host_fail(host, DS_E_PARAM, "parameter variables names %s twice", set->knob[k].name);
        }
    }
    set->at[set->n++] = k;
    return DS_OK;
}

/* The names to choose from, groups once. */
static ds_status unknown(const knob_set *set, const ds_host *host, const char *word, size_t length)
{
    char names[300] = "";
    size_t used = 0;
    for (uint32_t k = 0; k < set->knobs && used < sizeof names; k++) {
        const size_t own = strcspn(set->knob[k].name, ".");
        if (k == 0 || !is_called(&set->knob[k - 1], set->knob[k].name, own)) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", used > 0 ? ", " : "",
                                     (int)own, set->knob[k].name);
        }
    }
    return ds_host_fail(host, DS_E_PARAM,
                        "parameter variables: there is no quantity '%.*s': give one or several of %s",
                        (int)(length < 40 ? length : 40), word, names);
}

static void draw_truth(knob_set *set)
{
    for (uint64_t i = 0; i < set->n; i++) {
        const knob *k = &set->knob[set->at[i]];
        ds_random r = ds_random_open(set->object, k->name, 0);
        const double x = k->lower + (0.1 + 0.8 * ds_random_uniform(&r)) * (k->upper - k->lower);
        set->truth[set->at[i]] = k->log ? pow(10, x) : x;
    }
}

void knob_pick(knob_set *set, ds_param_reader *in)
{
    static const char gaps[] = " ,\t\n";
    const char *word = ds_param_text(in, "variables");
    for (word += strspn(word, gaps); in->status == DS_OK && *word; word += strspn(word, gaps)) {
        const size_t length = strcspn(word, gaps);
        const uint64_t before = set->n;
        for (uint32_t k = 0; in->status == DS_OK && k < set->knobs; k++) {
            in->status = is_called(&set->knob[k], word, length) ? add(set, in->host, k) : DS_OK;
        }
        if (in->status == DS_OK && set->n == before) {
            in->status = unknown(set, in->host, word, length);
        }
        word += length;
    }
    if (in->status == DS_OK && set->n == 0) {
        in->status = unknown(set, in->host, "", 0);
    }
    if (set->object > 0) {
        draw_truth(set);
    }
}

/* ---- numbers ---- */

void knob_values(const knob_set *set, const double *x, double *value)
{
    memcpy(value, set->truth, set->knobs * sizeof *value);
    for (uint64_t i = 0; x != NULL && i < set->n; i++) {
        value[set->at[i]] = set->knob[set->at[i]].log ? pow(10, x[i]) : x[i];
    }
}

static double slope(const knob_set *set, const double *value, uint64_t i)
{
    return set->knob[set->at[i]].log ? ln10 * value[set->at[i]] : 1;
}

void knob_gather(const knob_set *set, const double *value, const double *value_bar, double *grad)
{
    for (uint64_t i = 0; i < set->n; i++) {
        grad[i] = slope(set, value, i) * value_bar[set->at[i]];
    }
}

void knob_spread(const knob_set *set, const double *value, const double *v, double *value_dot)
{
    memset(value_dot, 0, set->knobs * sizeof *value_dot);
    for (uint64_t i = 0; i < set->n; i++) {
        value_dot[set->at[i]] = slope(set, value, i) * v[i];
    }
}

void knob_identify(const knob_set *set, identified *out)
{
    identified_open(out, set->n);
    for (uint64_t i = 0; i < set->n; i++) {
        identified_name(out, i, set->knob[set->at[i]].name);
    }
}

void knob_error(const knob_set *set, const double *value, identified *out)
{
    double sum = 0;
    for (uint64_t i = 0; i < set->n; i++) {
        const uint32_t k = set->at[i];
        const int positive = set->knob[k].log || set->knob[k].lower > 0;
        const double error = fabs(positive ? value[k] / set->truth[k] - 1 : value[k] - set->truth[k]);
        identified_set(out, i, error);
        sum += error;
    }
    out->mean = sum / (double)set->n;
}

/* ---- what is said of them ---- */

void knob_range(const knob_set *set, uint64_t i, double *lower, double *upper, double *start)
{
    const knob *k = &set->knob[set->at[i]];
    ds_random r = ds_random_open(set->seed, k->name, 0);
    *lower = k->lower;
    *upper = k->upper;
    *start = k->start + k->random * ds_random_uniform(&r);
}

void knob_name(const knob_set *set, uint64_t i, ds_env_variable *out)
{
    const knob *k = &set->knob[set->at[i]];
    ds_env_variable_put(out->name, "%s", k->name);
    ds_env_variable_put(out->unit, k->log ? "log10 %s" : "%s", k->unit);
    if (strchr(k->name, '.') != NULL) {
        ds_env_variable_put(out->group, "%.*s", (int)strcspn(k->name, "."), k->name);
    }
}
