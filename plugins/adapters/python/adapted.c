/* SPDX-License-Identifier: Apache-2.0 */
/* adapted.c - what environments and optimizers in Python have in common: a process, and parameters. */
#include "adapters/python/adapted.h"

#include <diffsim/helper/fail.h>

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the description ---- */

/* ---- what Python says ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* null stands for no limit, which JSON has no number for. */
static double number_of(const json_t *object, const char *key, double none)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : none;
}

/* A list of texts, at `*at` in the block of pointers; NULL where it is empty. */
static const char *const *list_of(const json_t *array, const char ***at)
{
    const char **list = *at;
    const size_t n = json_array_size(array);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(array, i));
        list[i] = text != NULL ? text : "";
    }
    *at += n + 1;
    return n > 0 ? list : NULL;
}

static void read_param(const json_t *from, ds_param *p, const char ***at)
{
    *p = (ds_param){.struct_size = sizeof *p,
                    .type = (uint32_t)number_of(from, "type", 0),
                    .flags = (uint32_t)number_of(from, "flags", 0),
                    .min = number_of(from, "min", -INFINITY),
                    .max = number_of(from, "max", INFINITY),
                    .name = text_of(from, "name"),
                    .default_text = text_of(from, "default"),
                    .unit = text_of(from, "unit"),
                    .doc = text_of(from, "doc"),
                    .choices = list_of(json_object_get(from, "choices"), at)};
}

static size_t pointers_of(const json_t *json, const json_t *params)
{
    size_t count = json_array_size(json_object_get(json, "extensions")) +
                   json_array_size(json_object_get(json, "needs")) +
                   json_array_size(json_object_get(json, "uses")) + 3;
    for (size_t i = 0; i < json_array_size(params); i++) {
        count += json_array_size(json_object_get(json_array_get(params, i), "choices")) + 1;
    }
    return count;
}

int description_read(description *d, const char *text, size_t bytes)
{
    *d = (description){.json = json_loadb(text, bytes, 0, NULL)};
    const json_t *params = json_object_get(d->json, "params");
    const size_t count = json_array_size(params);
    d->param = calloc(count + 1, sizeof *d->param);
    d->params = calloc(count + 1, sizeof *d->params);
    d->pointers = calloc(pointers_of(d->json, params), sizeof *d->pointers);
    if (!json_is_object(d->json) || d->param == NULL || d->params == NULL || d->pointers == NULL) {
        description_clear(d);
        return -1;
    }
    const char **at = d->pointers;
    for (size_t i = 0; i < count; i++) {
        read_param(json_array_get(params, i), &d->param[i], &at);
        d->params[i] = &d->param[i];
    }
    d->desc = (ds_desc){.struct_size = sizeof d->desc,
                        .kind = (uint32_t)number_of(d->json, "kind", 0),
                        .flags = (uint64_t)number_of(d->json, "flags", 0),
                        .id = text_of(d->json, "id"),
                        .version = text_of(d->json, "version"),
                        .license = text_of(d->json, "license"),
                        .summary = text_of(d->json, "summary"),
                        .description = text_of(d->json, "description"),
                        .citation = text_of(d->json, "citation"),
                        .params = d->params,
                        .extensions = list_of(json_object_get(d->json, "extensions"), &at),
                        .needs = list_of(json_object_get(d->json, "needs"), &at),
                        .uses = list_of(json_object_get(d->json, "uses"), &at)};
    return 0;
}

void description_clear(description *d)
{
    free(d->param);
    free(d->params);
    free(d->pointers);
    json_decref(d->json);
    *d = (description){.json = NULL};
}

/* ---- values ---- */

/* JSON has no infinities; Python takes these words for floats. */
static json_t *number(double v)
{
    return isinf(v) ? json_string(v > 0 ? "inf" : "-inf") : json_real(v);
}

static json_t *numbers(const double *v, uint64_t count)
{
    json_t *list = json_array();
    for (uint64_t i = 0; i < count; i++) {
        json_array_append_new(list, number(v[i]));
    }
    return list;
}

static json_t *array(const ds_host *host, const char *name, ds_status *st)
{
    const double *data = NULL;
    uint64_t ndim = 0, shape[8] = {0}, count = 1;
    *st = host->get_array(host, name, &data, &ndim, shape);
    json_t *sizes = json_array();
    for (uint64_t i = 0; i < ndim; i++) {
        json_array_append_new(sizes, json_integer((json_int_t)shape[i]));
        count *= shape[i];
    }
    return json_pack("{s:o, s:o}", "shape", sizes, "data", numbers(data, data != NULL ? count : 0));
}

static json_t *value_of(const ds_param *p, const ds_host *host, ds_status *st)
{
    int64_t whole = 0;
    double real = 0;
    const char *text = "";
    const double *list = NULL;
    uint64_t count = 0;
    switch (p->type) {
    case DS_PARAM_BOOL:
        *st = host->get_int(host, p->name, &whole);
        return json_boolean(whole != 0);
    case DS_PARAM_INT:
        *st = host->get_int(host, p->name, &whole);
        return json_integer(whole);
    case DS_PARAM_REAL:
        *st = host->get_real(host, p->name, &real);
        return number(real);
    case DS_PARAM_LIST:
        *st = host->get_list(host, p->name, &list, &count);
        return numbers(list, *st == DS_OK ? count : 0);
    case DS_PARAM_ARRAY:
        return array(host, p->name, st);
    default:
        *st = host->get_text(host, p->name, &text);
        return json_string(text);
    }
}

json_t *description_values(const ds_desc *desc, const ds_host *host)
{
    json_t *values = json_object();
    ds_status st = DS_OK;
    for (size_t i = 0; st == DS_OK && desc->params[i] != NULL; i++) {
        const char *name = desc->params[i]->name;
        json_t *v = value_of(desc->params[i], host, &st);
        if (st != DS_OK) {
            json_decref(v);
            ds_host_fail(host, st, "parameter '%.60s' cannot be read", name);
        } else if (json_object_set_new(values, name, v) != 0) {
            st = ds_host_fail(host, DS_E_NOMEM, "out of memory, or parameter '%.60s' is not UTF-8", name);
        }
    }
    if (st != DS_OK) {
        json_decref(values);
        return NULL;
    }
    return values;
}

/* ---- instances ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the processes that wait */

/* The process that waits for the first instance, or one more. */
static ds_status take(adapted *a, const ds_host *host, child *out)
{
    char why[600];
    pthread_mutex_lock(&lock);
    const int waits = a->first.pid > 0 && a->first.owner == getpid();
    if (waits) {
        *out = a->first;
        /* Loading has opened the descriptor, so it stays open when the instance goes. */
        out->talk.fd = fcntl(out->talk.fd, F_DUPFD_CLOEXEC, TALK_FD_LEAST);
        a->first = (child){.pid = 0};
    }
    pthread_mutex_unlock(&lock);
    if (waits || child_start(out, a->file, a->object, why, sizeof why) == 0) {
        return DS_OK;
    }
    return ds_host_fail(host, DS_E_GENERIC, "%s", why);
}

/* The values of its parameters go into the room, head->bytes long. */
static ds_status put_values(const adapted *a, const ds_host *host, child *c)
{
    json_t *values = description_values(&a->description.desc, host);
    char *text = values != NULL ? json_dumps(values, JSON_COMPACT) : NULL;
    const size_t bytes = text != NULL ? strlen(text) : 0;
    ds_status st = DS_OK;
    if (values == NULL) {
        st = DS_E_PARAM;
    } else if (text == NULL || talk_grow(&c->talk, bytes) != 0) {
        st = ds_host_fail(host, DS_E_NOMEM, "no memory for the parameters");
    } else {
        memcpy(c->talk.room, text, bytes);
        c->talk.head->bytes = bytes;
    }
    free(text);
    json_decref(values);
    return st;
}

ds_status adapted_begin(adapted *a, const ds_host *host, child *out)
{
    ds_status st = take(a, host, out);
    if (st != DS_OK) {
        return st;
    }
    st = put_values(a, host, out);
    if (st == DS_OK) {
        out->talk.head->threads = host->threads;
        child_limit_memory(out);
        st = child_ask(out, host, TALK_CREATE);
        st = st >= 0 ? st : ds_host_fail(host, st, "%.500s", out->talk.head->text);
    }
    if (st != DS_OK) {
        child_end(out);
    }
    return st;
}
