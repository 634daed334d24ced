/* SPDX-License-Identifier: Apache-2.0 */
/* eval_channels.c - asks for the values of all channels, and shows them. */
#include "config.h"

#include "eval/eval_channels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_text.h"

/* One evaluation: channels from `first` on. */
typedef struct visit {
    ds_channel_values *v;
    const ds_query_layout *queries;
    int rc;
} visit;

static double element(uint32_t type, const void *values, uint64_t i)
{
    return type == DS_TYPE_U8    ? ((const unsigned char *)values)[i]
           : type == DS_TYPE_F32 ? (double)((const float *)values)[i]
                                 : ((const double *)values)[i];
}

static int keep(void *ctx, uint64_t row, const ds_answer *answer, const double *grad, const void *out)
{
    visit *s = ctx;
    (void)row, (void)grad;
    s->v->answer = *answer;
    for (uint32_t k = 0; k < s->queries->count && answer->outcome <= DS_EVAL_BAD_GRAD; k++) {
        const ds_placed_query *a = &s->queries->query[k];
        const void *from = (const double *)out + a->out;
        double *to = malloc(a->elements * sizeof *to);
        if (to == NULL) {
            s->rc = DS_EXIT_MEMORY;
            return 1;
        }
        for (uint64_t i = 0; i < a->elements; i++) {
            to[i] = element(s->v->channels->list[a->channel]->type, from, i);
        }
        s->v->value[a->channel] = to;
    }
    return 0;
}

/* Asks for the channels from `first` on, as many as one evaluation takes; returns the next one in *first. */
static int ask_some(ds_pool *pool, const double *x, uint64_t n, uint64_t *first, ds_channel_values *v,
                    ds_error *e)
{
    ds_query_layout queries = {0};
    char text[DS_QUERY_TEXT];
    for (; *first < v->channels->count && queries.count < DS_MAX_QUERIES; (*first)++) {
        if (v->channels->list[*first]->ops != 0) { /* 0: of a kind that is not known here */
            queries.query[queries.count++] =
                (ds_placed_query){.op = DS_QUERY_VALUE, .channel = (uint32_t)*first};
        }
    }
    if (ds_query_layout_make(&queries, v->channels, n, NULL, text) != 0) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s", text);
    }
    visit s = {v, &queries, 0};
    const ds_pool_request q = {.count = 1, .x = x, .queries = &queries, .first = 1};
    int rc = ds_pool_execute(pool, &q, keep, &s, e);
    return s.rc != 0 ? ds_no_memory(e) : rc;
}

int ds_channel_values_get(ds_pool *pool, const char *id, const double *x, ds_channel_values *out, ds_error *e)
{
    const ds_pool_env *env = ds_pool_env_of(pool);
    *out = (ds_channel_values){.channels = env->channels};
    if (env->channels->count == 0) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "%s has no channels: --channels and --images need the extension " DS_EXT_CHANNELS, id);
    }
    out->value = calloc(env->channels->count, sizeof *out->value);
    if (out->value == NULL) {
        return ds_no_memory(e);
    }
    int rc = 0;
    for (uint64_t first = 0; rc == 0 && first < env->channels->count;) {
        rc = ask_some(pool, x, env->info.n, &first, out, e);
    }
    return rc;
}

void ds_channel_values_clear(ds_channel_values *v)
{
    for (uint64_t i = 0; v->value != NULL && i < v->channels->count; i++) {
        free(v->value[i]);
    }
    free(v->value);
    v->value = NULL;
}

/* What the table says about the values of a channel. */
typedef struct summary {
    double least, most, length, broken;
} summary;

static summary summarise(const ds_channel *c, const double *value)
{
    summary s = {INFINITY, -INFINITY, 0, 0};
    uint64_t elements = ds_channel_elements(c);
    for (uint64_t i = 0; i < elements; i++) {
        s.least = fmin(s.least, value[i]);
        s.most = fmax(s.most, value[i]);
        s.length = hypot(s.length, value[i]);
        s.broken = fmax(s.broken, fmax(c->lower - value[i], value[i] - c->upper));
    }
    return s;
}

void ds_channel_values_print(const ds_channel_values *v)
{
    printf("\nchannel          role       shape              least         most       length unit\n");
    for (uint64_t i = 0; i < v->channels->count; i++) {
        const ds_channel *c = v->channels->list[i];
        char shape[120] = "1";
        for (uint32_t k = 0, at = 0; k < c->ndim && at < sizeof shape; k++) {
            at += (uint32_t)snprintf(shape + at, sizeof shape - at, "%s%llu", k > 0 ? "x" : "",
                                     (unsigned long long)c->shape[k]);
        }
        printf("%-16s %-10s %-11s ", c->name, ds_channel_role_name(c->role), shape);
        if (v->value[i] == NULL) {
            printf("no values\n");
            continue;
        }
        summary s = summarise(c, v->value[i]);
        printf("%12.6g %12.6g %12.6g %s", s.least, s.most, s.length, c->unit);
        if (c->role == DS_CHANNEL_CONSTRAINT) {
            printf(s.broken > 0 ? " (broken by %.6g)" : " (kept)", s.broken);
        }
        printf("\n");
    }
}

json_t *ds_channel_values_json(const ds_channel_values *v)
{
    json_t *all = json_object();
    for (uint64_t i = 0; i < v->channels->count; i++) {
        const ds_channel *c = v->channels->list[i];
        json_t *shape = json_array();
        for (uint32_t k = 0; k < c->ndim; k++) {
            json_array_append_new(shape, json_integer((json_int_t)c->shape[k]));
        }
        json_t *o = json_pack(
            "{s:s, s:o, s:s, s:o}", "role", ds_channel_role_name(c->role), "shape", shape, "unit", c->unit,
            "values", v->value[i] != NULL ? ds_json_reals(v->value[i], ds_channel_elements(c)) : json_null());
        if (c->role == DS_CHANNEL_CONSTRAINT) {
            json_object_set_new(o, "lower", ds_json_real(c->lower));
            json_object_set_new(o, "upper", ds_json_real(c->upper));
        }
        json_object_set_new(all, c->name, o);
    }
    return all;
}
