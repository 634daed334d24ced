/* SPDX-License-Identifier: Apache-2.0 */
/* decision.c - decision variables picked by name, and how far they are from the true values. */
#include "engines/kit/decision.h"

#include <ctype.h>
#include <diffsim/helper/fail.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ---- */

void identified_open(identified *d, uint64_t parts)
{
    d->parts = parts >= 2 && parts <= IDENTIFIED_PARTS ? parts : 0;
}

void identified_name(identified *d, uint64_t part, const char *name)
{
    if (part < d->parts) {
        snprintf(d->name[part], sizeof *d->name, "error_%.*s", IDENTIFIED_NAME - 7, name);
        for (char *c = d->name[part]; *c != '\0'; c++) { /* keep letters that a metric's name may have */
            *c = (char)(isalnum((unsigned char)*c) ? tolower((unsigned char)*c) : '_');
        }
    }
}

void identified_set(identified *d, uint64_t part, double error)
{
    if (part < d->parts) {
        d->part[part] = error;
    }
}

void identified_metrics(const identified *d, ds_scene_kit *s)
{
    const uint64_t last = s->info.metrics - 1;
    if (s->info.metrics > 0 && strcmp(s->metric[last].name, "error") == 0) {
        for (uint64_t k = 0; k < d->parts; k++) {
            ds_scene_kit_metric(s, d->name[k], "");
        }
    }
}

void identified_put(const identified *d, double *out)
{
    out[0] = d->mean;
    memcpy(out + 1, d->part, d->parts * sizeof *out);
}

/* ---- picking ---- */

int decision_word(const char **text, const char **word, size_t *length)
{
    static const char gaps[] = " ,\t\n";
    *word = *text + strspn(*text, gaps);
    *length = strcspn(*word, gaps);
    *text = *word + *length;
    return *length > 0;
}

ds_status decision_unknown(const ds_host *host, const char *word, size_t length, const char *names)
{
    if (length == 0) {
        return ds_host_fail(host, DS_E_PARAM, "parameter variables is empty: name one or several of %s",
                            names);
    }
    return ds_host_fail(host, DS_E_PARAM, "parameter variables: unknown variable '%.*s': choose from %s",
                        (int)(length < 40 ? length : 40), word, names);
}

double decision_draw(uint64_t object, const char *name, uint64_t index, double lower, double upper)
{
    ds_random r = ds_random_open(object, name, index);
    return lower + (0.1 + 0.8 * ds_random_uniform(&r)) * (upper - lower);
}

static int is_called(const decision *k, const char *word, size_t length)
{
    return strncmp(k->name, word, length) == 0 && (k->name[length] == '\0' || k->name[length] == '.');
}

static ds_status add(decision_set *set, const ds_host *host, uint32_t k)
{
    for (uint64_t i = 0; i < set->n; i++) {
        if (set->at[i] == k) {
            return ds_host_fail(host, DS_E_PARAM, "parameter variables names %s twice", set->offered[k].name);
        }
    }
    set->at[set->n++] = k;
    return DS_OK;
}

/* Lists each group of names once. */
static ds_status unknown(const decision_set *set, const ds_host *host, const char *word, size_t length)
{
    char names[300] = "";
    size_t used = 0;
    for (uint32_t k = 0; k < set->offers && used < sizeof names; k++) {
        const size_t own = strcspn(set->offered[k].name, ".");
        if (k == 0 || !is_called(&set->offered[k - 1], set->offered[k].name, own)) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", used > 0 ? ", " : "",
                                     (int)own, set->offered[k].name);
        }
    }
    return decision_unknown(host, word, length, names);
}

static void draw_truth(decision_set *set)
{
    for (uint64_t i = 0; i < set->n; i++) {
        const decision *k = &set->offered[set->at[i]];
        const double x = decision_draw(set->object, k->name, 0, k->lower, k->upper);
        set->truth[set->at[i]] = k->log ? pow(10, x) : x;
    }
}

void decision_pick(decision_set *set, ds_param_reader *in)
{
    const char *text = ds_param_text(in, "variables"), *word;
    size_t length;
    while (in->status == DS_OK && decision_word(&text, &word, &length)) {
        const uint64_t before = set->n;
        for (uint32_t k = 0; in->status == DS_OK && k < set->offers; k++) {
            in->status = is_called(&set->offered[k], word, length) ? add(set, in->host, k) : DS_OK;
        }
        if (in->status == DS_OK && set->n == before) {
            in->status = unknown(set, in->host, word, length);
        }
    }
    if (in->status == DS_OK && set->n == 0) {
        in->status = unknown(set, in->host, "", 0);
    }
    if (set->object > 0) {
        draw_truth(set);
    }
}

/* ---- values and derivatives ---- */

void decision_values(const decision_set *set, const double *x, double *value)
{
    memcpy(value, set->truth, set->offers * sizeof *value);
    for (uint64_t i = 0; x != NULL && i < set->n; i++) {
        value[set->at[i]] = set->offered[set->at[i]].log ? pow(10, x[i]) : x[i];
    }
}

static double slope(const decision_set *set, const double *value, uint64_t i)
{
    return set->offered[set->at[i]].log ? decision_ln10 * value[set->at[i]] : 1;
}

void decision_gather(const decision_set *set, const double *value, const double *value_bar, double *grad)
{
    for (uint64_t i = 0; i < set->n; i++) {
        grad[i] = slope(set, value, i) * value_bar[set->at[i]];
    }
}

void decision_spread(const decision_set *set, const double *value, const double *v, double *value_dot)
{
    memset(value_dot, 0, set->offers * sizeof *value_dot);
    for (uint64_t i = 0; i < set->n; i++) {
        value_dot[set->at[i]] = slope(set, value, i) * v[i];
    }
}

void decision_identify(const decision_set *set, identified *out)
{
    identified_open(out, set->n);
    for (uint64_t i = 0; i < set->n; i++) {
        identified_name(out, i, set->offered[set->at[i]].name);
    }
}

void decision_error(const decision_set *set, const double *value, identified *out)
{
    double sum = 0;
    for (uint64_t i = 0; i < set->n; i++) {
        const uint32_t k = set->at[i];
        const int positive = set->offered[k].log || set->offered[k].lower > 0;
        const double error = fabs(positive ? value[k] / set->truth[k] - 1 : value[k] - set->truth[k]);
        identified_set(out, i, error);
        sum += error;
    }
    out->mean = sum / (double)set->n;
}

/* ---- descriptions ---- */

void decision_range(const decision_set *set, uint64_t i, double *lower, double *upper, double *start)
{
    const decision *k = &set->offered[set->at[i]];
    ds_random r = ds_random_open(set->seed, k->name, 0);
    *lower = k->lower;
    *upper = k->upper;
    *start = k->start + k->random * ds_random_uniform(&r);
}

void decision_name(const decision_set *set, uint64_t i, ds_env_variable *out)
{
    const decision *k = &set->offered[set->at[i]];
    ds_env_variable_put(out->name, "%s", k->name);
    ds_env_variable_put(out->unit, k->log ? "log10 %s" : "%s", k->unit);
    if (strchr(k->name, '.') != NULL) {
        ds_env_variable_put(out->group, "%.*s", (int)strcspn(k->name, "."), k->name);
    }
}
