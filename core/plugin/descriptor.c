/* SPDX-License-Identifier: Apache-2.0 */
/* descriptor.c - descriptors in structs of our own size, copied from a plugin or made from bytes: a head with
 * the counts, then all texts in a fixed order, each with its NUL; the numbers of a parameter stand before its
 * texts. Both sides of the bytes are the same version of the host. */
#include "config.h"

#include "plugin/descriptor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "config/params.h"

#define MAGIC 0x3243534544u /* "DESC2" */

typedef struct head {
    uint64_t magic, flags;
    uint32_t kind, params, extensions, needs, uses;
    uint32_t pointers; /* of all lists of texts, with the NULL at the end of each */
} head;

typedef struct numbers {
    uint32_t type, flags, max_count, choices;
    double min, max;
} numbers;

/* A plugin with all that it points to. */
typedef struct described {
    ds_plugin plugin; /* comes first */
    ds_desc desc;
    ds_env_vtable env;
    ds_optimizer_vtable optimizer;
    ds_param *param;
    const ds_param **params;
    char *texts; /* made from bytes: what the pointers point to */
    const char **pointers;
} described;

static int lists(const char *const *list, const char *id)
{
    for (; list != NULL && *list != NULL; list++) {
        if (strcmp(*list, id) == 0) {
            return 1;
        }
    }
    return 0;
}

int ds_desc_offers(const ds_desc *d, const char *extension)
{
    return lists(d->extensions, extension);
}

int ds_desc_needs(const ds_desc *d, const char *id)
{
    return lists(d->needs, id);
}

int ds_desc_uses(const ds_desc *d, const char *id)
{
    return lists(d->needs, id) || lists(d->uses, id);
}

static described *new_described(size_t params)
{
    described *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return NULL;
    }
    d->param = calloc(params + 1, sizeof *d->param);
    d->params = calloc(params + 1, sizeof *d->params);
    if (d->param == NULL || d->params == NULL) {
        ds_descriptor_free(&d->plugin);
        return NULL;
    }
    for (size_t i = 0; i < params; i++) {
        d->params[i] = &d->param[i];
    }
    return d;
}

/* ---- copying ---- */

static int copy_params(const ds_param *const *theirs, size_t count, const char *path, described *d,
                       ds_error *e)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < count; i++) {
        char what[40];
        snprintf(what, sizeof what, "parameter %zu", i);
        status = DS_SIZED_READ(&d->param[i], theirs[i], DS_PARAM_SIZE_1_0, path, what, e);
        d->param[i].flags &= ~DS_PARAM_HOST_FLAGS;
    }
    return status;
}

static int copy_functions(const ds_plugin *p, const char *path, described *d, ds_error *e)
{
    int status = 0;
    if (d->desc.kind == DS_KIND_ENV) {
        d->plugin.env = &d->env;
        status =
            DS_SIZED_READ(&d->env, p->env, DS_ENV_VTABLE_SIZE_1_0, path, "the vtable of the environment", e);
    } else if (d->desc.kind == DS_KIND_OPTIMIZER) {
        d->plugin.optimizer = &d->optimizer;
        status = DS_SIZED_READ(&d->optimizer, p->optimizer, DS_OPTIMIZER_VTABLE_SIZE_1_0, path,
                               "the vtable of the optimizer", e);
    }
    return status;
}

int ds_descriptor_copy(const ds_plugin *theirs, const char *path, ds_plugin **out, ds_error *e)
{
    ds_plugin p;
    ds_desc desc;
    size_t params = 0;
    int status = DS_SIZED_READ(&p, theirs, DS_PLUGIN_SIZE_1_0, path, "the plugin's data", e);
    status = status != 0 ? status : DS_SIZED_READ(&desc, p.desc, DS_DESC_SIZE_1_0, path, "the descriptor", e);
    if (status != 0) {
        return status;
    }
    while (desc.params != NULL && desc.params[params] != NULL) {
        if (params++ == DS_MAX_PARAMS) {
            return ds_fail(e, DS_EXIT_PLUGIN, "%s: more than %u parameters", path, DS_MAX_PARAMS);
        }
    }
    described *d = new_described(params);
    if (d == NULL) {
        return ds_no_memory(e);
    }
    status = copy_params(desc.params, params, path, d, e);
    d->plugin = p;
    d->desc = desc;
    d->desc.params = d->params;
    d->plugin.desc = &d->desc;
    d->plugin.env = NULL;
    d->plugin.optimizer = NULL;
    status = status != 0 ? status : copy_functions(&p, path, d, e);
    if (status != 0) {
        ds_descriptor_free(&d->plugin);
        return status;
    }
    *out = &d->plugin;
    return 0;
}

/* ---- writing ---- */

static uint32_t length_of(const char *const *list)
{
    uint32_t n = 0;
    while (list != NULL && list[n] != NULL) {
        n++;
    }
    return n;
}

static void put_list(FILE *f, const char *const *list)
{
    for (; list != NULL && *list != NULL; list++) {
        fwrite(*list, 1, strlen(*list) + 1, f);
    }
}

static void put_param(FILE *f, const ds_param *q)
{
    numbers v = {q->type, q->flags, q->max_count, length_of(q->choices), q->min, q->max};
    const char *const texts[] = {q->name, q->default_text, q->unit, q->doc, NULL};
    fwrite(&v, sizeof v, 1, f);
    put_list(f, texts);
    put_list(f, q->choices);
}

char *ds_descriptor_pack(const ds_desc *d, size_t *size)
{
    head h = {.magic = MAGIC,
              .flags = d->flags,
              .kind = d->kind,
              .extensions = length_of(d->extensions),
              .needs = length_of(d->needs),
              .uses = length_of(d->uses)};
    const char *const texts[] = {d->id,          d->version,  d->license, d->summary,
                                 d->description, d->citation, NULL};
    char *bytes = NULL;
    FILE *f = open_memstream(&bytes, size);
    if (f == NULL) {
        return NULL;
    }
    h.pointers = h.extensions + h.needs + h.uses + 3;
    for (; d->params != NULL && d->params[h.params] != NULL; h.params++) {
        h.pointers += length_of(d->params[h.params]->choices) + 1;
    }
    fwrite(&h, sizeof h, 1, f);
    put_list(f, texts);
    put_list(f, d->extensions);
    put_list(f, d->needs);
    put_list(f, d->uses);
    for (uint32_t i = 0; i < h.params; i++) {
        put_param(f, d->params[i]);
    }
    if (fclose(f) != 0) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* ---- reading ---- */

typedef struct reader {
    const char *at, *end;
    const char **pointer, **last; /* room for lists */
    int bad;
} reader;

static void take(reader *r, void *out, size_t size)
{
    memset(out, 0, size);
    if (r->bad || (size_t)(r->end - r->at) < size) {
        r->bad = 1;
        return;
    }
    memcpy(out, r->at, size);
    r->at += size;
}

static const char *take_text(reader *r)
{
    const char *text = r->at;
    const char *nul = r->bad || r->at == r->end ? NULL : memchr(r->at, 0, (size_t)(r->end - r->at));
    if (nul == NULL) {
        r->bad = 1;
        return "";
    }
    r->at = nul + 1;
    return text;
}

/* NULL for an empty list. */
static const char *const *take_list(reader *r, uint32_t count)
{
    const char **list = r->pointer;
    if (r->bad || (size_t)(r->last - r->pointer) <= count) {
        r->bad = 1;
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        list[i] = take_text(r);
    }
    r->pointer += count + 1;
    return count > 0 ? list : NULL;
}

static void take_param(reader *r, ds_param *q)
{
    numbers v;
    take(r, &v, sizeof v);
    q->struct_size = sizeof *q;
    q->type = v.type;
    q->flags = v.flags & ~DS_PARAM_HOST_FLAGS;
    q->max_count = v.max_count;
    q->min = v.min;
    q->max = v.max;
    q->name = take_text(r);
    q->default_text = take_text(r);
    q->unit = take_text(r);
    q->doc = take_text(r);
    q->choices = take_list(r, v.choices);
}

static void take_desc(reader *r, const head *h, described *d)
{
    ds_desc *to = &d->desc;
    to->struct_size = sizeof *to;
    to->kind = h->kind;
    to->flags = h->flags;
    to->id = take_text(r);
    to->version = take_text(r);
    to->license = take_text(r);
    to->summary = take_text(r);
    to->description = take_text(r);
    to->citation = take_text(r);
    to->extensions = take_list(r, h->extensions);
    to->needs = take_list(r, h->needs);
    to->uses = take_list(r, h->uses);
    for (uint32_t i = 0; i < h->params; i++) {
        take_param(r, &d->param[i]);
    }
    to->params = d->params;
}

int ds_descriptor_unpack(const void *bytes, size_t size, ds_plugin **out, ds_error *e)
{
    head h;
    if (size < sizeof h) {
        return ds_fail(e, DS_EXIT_PLUGIN, "the description is incomplete");
    }
    memcpy(&h, bytes, sizeof h);
    size_t rest = size - sizeof h;
    /* Every pointer stands for a text of at least its NUL, or ends a list: three of the
     * plugin, one of a parameter. */
    if (h.magic != MAGIC || h.params > DS_MAX_PARAMS || h.pointers > rest + h.params + 3) {
        return ds_fail(e, DS_EXIT_PLUGIN, "the description is damaged");
    }
    described *d = new_described(h.params);
    if (d == NULL) {
        return ds_no_memory(e);
    }
    d->texts = malloc(rest + 1);
    d->pointers = calloc((size_t)h.pointers + 1, sizeof *d->pointers);
    if (d->texts == NULL || d->pointers == NULL) {
        ds_descriptor_free(&d->plugin);
        return ds_no_memory(e);
    }
    memcpy(d->texts, (const char *)bytes + sizeof h, rest);
    reader r = {d->texts, d->texts + rest, d->pointers, d->pointers + h.pointers, 0};
    take_desc(&r, &h, d);
    d->plugin = (ds_plugin){.magic = DS_MAGIC,
                            .struct_size = sizeof d->plugin,
                            .abi_major = DS_ABI_MAJOR,
                            .abi_minor = DS_ABI_MINOR,
                            .layout = DS_LAYOUT,
                            .build = "",
                            .desc = &d->desc};
    if (r.bad || r.at != r.end) {
        ds_descriptor_free(&d->plugin);
        return ds_fail(e, DS_EXIT_PLUGIN, "the description is damaged");
    }
    *out = &d->plugin;
    return 0;
}

void ds_descriptor_free(ds_plugin *p)
{
    described *d = (described *)(void *)p;
    if (d != NULL) {
        free(d->texts);
        free(d->param);
        free(d->params);
        free(d->pointers);
        free(d);
    }
}
