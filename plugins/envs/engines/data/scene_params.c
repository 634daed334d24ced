/* SPDX-License-Identifier: Apache-2.0 */
/* scene_params.c - parameters that a scene file gives (see scene_params.h). */
#include "engines/data/scene_params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LIST = 4096 };

static const char *const switches[] = {"false", "true", "no", "yes", "0", "1", NULL};

/* ---- the host ---- */

static const scene_params *params_of(const ds_host *host)
{
    return (const scene_params *)host; /* its first member */
}

static const ds_param *find(const scene_params *p, const char *name, size_t *at)
{
    for (*at = 0; p->schema[*at]; ++*at) {
        if (strcmp(p->schema[*at]->name, name) == 0) {
            return p->schema[*at];
        }
    }
    return NULL;
}

static void DS_CALL log_line(const ds_host *host, uint32_t level, const char *line)
{
    const ds_host *outer = params_of(host)->outer;
    outer->log(outer, level, line);
}

static void DS_CALL error_line(const ds_host *host, ds_status status, const char *line)
{
    char text[600];
    const ds_host *outer = params_of(host)->outer;
    snprintf(text, sizeof text, "%s: %s", params_of(host)->name, line);
    outer->error(outer, status, text);
}

static uint32_t DS_CALL should_stop(const ds_host *host)
{
    const ds_host *outer = params_of(host)->outer;
    return outer->should_stop(outer);
}

static ds_status DS_CALL get_int(const ds_host *host, const char *name, int64_t *out)
{
    size_t at;
    const ds_param *s = find(params_of(host), name, &at);
    if (!s || (s->type != DS_PARAM_BOOL && s->type != DS_PARAM_INT && s->type != DS_PARAM_ENUM)) {
        return DS_E_PARAM;
    }
    *out = (int64_t)params_of(host)->value[at].number;
    return DS_OK;
}

static ds_status DS_CALL get_real(const ds_host *host, const char *name, double *out)
{
    size_t at;
    const ds_param *s = find(params_of(host), name, &at);
    if (!s || (s->type != DS_PARAM_REAL && s->type != DS_PARAM_INT)) {
        return DS_E_PARAM;
    }
    *out = params_of(host)->value[at].number;
    return DS_OK;
}

static ds_status DS_CALL get_text(const ds_host *host, const char *name, const char **out)
{
    size_t at;
    const ds_param *s = find(params_of(host), name, &at);
    if (!s || (s->type != DS_PARAM_TEXT && s->type != DS_PARAM_PATH && s->type != DS_PARAM_ENUM)) {
        return DS_E_PARAM;
    }
    const struct scene_value *v = &params_of(host)->value[at];
    *out = s->type == DS_PARAM_ENUM ? s->choices[(size_t)v->number] : v->text;
    return DS_OK;
}

static ds_status DS_CALL get_list(const ds_host *host, const char *name, const double **out, uint64_t *count)
{
    size_t at;
    const ds_param *s = find(params_of(host), name, &at);
    if (!s || s->type != DS_PARAM_LIST) {
        return DS_E_PARAM;
    }
    *out = params_of(host)->value[at].list;
    *count = params_of(host)->value[at].count;
    return DS_OK;
}

static ds_status DS_CALL get_array(const ds_host *host, const char *name, const double **data, uint64_t *ndim,
                                   uint64_t shape[8])
{
    (void)host, (void)name, (void)data, (void)ndim, (void)shape;
    return DS_E_PARAM;
}

static ds_status DS_CALL resource(const ds_host *host, const char *relative, char *buf, uint64_t cap,
                                  uint64_t *needed)
{
    const ds_host *outer = params_of(host)->outer;
    return outer->resource(outer, relative, buf, cap, needed);
}

static const void *DS_CALL get_extension(const ds_host *host, const char *id)
{
    const ds_host *outer = params_of(host)->outer;
    return outer->get_extension(outer, id);
}

/* ---- values ---- */

static void keep_list(scene_params *p, struct scene_value *v, uint64_t count, const double *from)
{
    double *list = ds_memory_doubles(p->memory, count + 1);
    if (list && count > 0) {
        memcpy(list, from, count * sizeof *list);
    }
    v->list = list;
    v->count = list ? count : 0;
}

/* The default of the schema; the host has checked its form. */
static void take_default(scene_params *p, const ds_param *s, struct scene_value *v)
{
    double list[LONGEST_LIST];
    uint64_t n = 0;
    v->text = s->default_text;
    if (s->type == DS_PARAM_ENUM) {
        for (size_t i = 0; s->choices[i]; i++) {
            v->number = strcmp(s->choices[i], s->default_text) == 0 ? (double)i : v->number;
        }
    } else if (s->type == DS_PARAM_BOOL) {
        v->number = strcmp(s->default_text, "true") == 0;
    } else if (s->type == DS_PARAM_LIST) {
        const char *at = s->default_text;
        char *end;
        for (double x = strtod(at, &end); end != at && n < LONGEST_LIST; x = strtod(at, &end)) {
            list[n++] = x;
            at = end + strspn(end, ", ");
        }
        keep_list(p, v, n, list);
    } else if (s->type == DS_PARAM_REAL || s->type == DS_PARAM_INT) {
        v->number = strtod(s->default_text, NULL);
    }
}

static void take_key(scene_params *p, scene_file *f, const scene_section *from, const char *key,
                     const ds_param *s, struct scene_value *v)
{
    double list[LONGEST_LIST];
    uint32_t most = s->max_count > 0 && s->max_count < LONGEST_LIST ? s->max_count : LONGEST_LIST;
    switch (s->type) {
    case DS_PARAM_BOOL:
        v->number = scene_choice(f, from, key, switches, (uint32_t)v->number) % 2;
        break;
    case DS_PARAM_ENUM:
        v->number = scene_choice(f, from, key, s->choices, (uint32_t)v->number);
        break;
    case DS_PARAM_INT:
    case DS_PARAM_REAL:
        v->number = scene_number(f, from, key, s->min, s->max, v->number);
        if (s->type == DS_PARAM_INT && v->number != floor(v->number)) {
            scene_fail(f, from, key, "%s = %.9g is not a whole number", key, v->number);
        }
        break;
    case DS_PARAM_LIST:
        if (scene_has(f, from, key)) {
            keep_list(p, v, scene_list(f, from, key, most, s->min, s->max, list), list);
        }
        break;
    case DS_PARAM_PATH:
        v->text = scene_has(f, from, key) ? scene_path(f, from, key) : v->text;
        break;
    default:
        v->text = scene_text(f, from, key, v->text);
        break;
    }
}

ds_status scene_params_open(scene_params *p, scene_file *f, const ds_host *outer,
                            const ds_param *const *schema, const scene_key *keys, ds_memory *memory)
{
    *p = (scene_params){.outer = outer, .schema = schema, .memory = memory};
    p->host = *outer;
    p->host.ctx = NULL;
    p->host.log = log_line;
    p->host.error = error_line;
    p->host.should_stop = should_stop;
    p->host.get_int = get_int;
    p->host.get_real = get_real;
    p->host.get_text = get_text;
    p->host.get_list = get_list;
    p->host.get_array = get_array;
    p->host.resource = resource;
    p->host.get_extension = get_extension;
    snprintf(p->name, sizeof p->name, "%.*s", SCENE_NAME, scene_file_name(f));
    for (size_t i = 0; schema[i] && i < SCENE_PARAMS_MOST; i++) {
        take_default(p, schema[i], &p->value[i]);
    }
    for (const scene_key *k = keys; k->section; k++) {
        size_t at;
        const ds_param *s = find(p, k->param, &at);
        if (s && at < SCENE_PARAMS_MOST) {
            const scene_section *whole = scene_find(f, k->section, "");
            take_key(p, f, whole ? whole : scene_next(f, NULL, k->section), k->key, s, &p->value[at]);
        }
    }
    return memory->failed ? DS_E_NOMEM : DS_OK;
}

/* The value of the outer host. */
static struct scene_value outer_value(const ds_param *s, ds_param_reader *in)
{
    struct scene_value v = {.text = ""};
    switch (s->type) {
    case DS_PARAM_REAL:
        v.number = ds_param_real(in, s->name);
        break;
    case DS_PARAM_LIST:
        v.list = ds_param_list(in, s->name, &v.count);
        break;
    case DS_PARAM_TEXT:
    case DS_PARAM_PATH:
        v.text = ds_param_text(in, s->name);
        break;
    default:
        v.number = (double)ds_param_int(in, s->name);
        break;
    }
    return v;
}

void scene_params_override(scene_params *p, ds_param_reader *in)
{
    for (size_t i = 0; p->schema[i] && i < SCENE_PARAMS_MOST && in->status == DS_OK; i++) {
        struct scene_value usual = {.text = ""};
        take_default(p, p->schema[i], &usual);
        const struct scene_value v = outer_value(p->schema[i], in);
        const bool is_list = p->schema[i]->type == DS_PARAM_LIST;
        const bool is_text = p->schema[i]->type == DS_PARAM_TEXT || p->schema[i]->type == DS_PARAM_PATH;
        if (in->status != DS_OK) {
            break;
        }
        if (is_list ? v.count != usual.count ||
                          (v.count > 0 && memcmp(v.list, usual.list, v.count * sizeof *v.list) != 0)
            : is_text ? strcmp(v.text, usual.text) != 0
                      : v.number < usual.number || v.number > usual.number) {
            p->value[i] = v;
        }
    }
}

void scene_params_set(scene_params *p, const char *param, double value)
{
    size_t at;
    if (find(p, param, &at)) {
        p->value[at].number = value;
    }
}

void scene_params_set_list(scene_params *p, const char *param, uint64_t count, const double *values)
{
    size_t at;
    if (find(p, param, &at)) {
        keep_list(p, &p->value[at], count, values);
    }
}

void scene_params_set_text(scene_params *p, const char *param, const char *text)
{
    size_t at;
    if (find(p, param, &at)) {
        p->value[at].text = text;
    }
}
