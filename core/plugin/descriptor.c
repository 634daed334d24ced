/* SPDX-License-Identifier: Apache-2.0 */
/* descriptor.c - copies, tests, packs and unpacks descriptors. Packed, a descriptor is a head with counts,
 * then all texts in a fixed order, each with its NUL, and the numbers of each parameter before its texts.
 * Both sides of the bytes are the same version of the host. */
#include "config.h"

#include "plugin/descriptor.h"

#include "base/plugin_memory.h"
#include "base/text.h"
#include "config/params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x3243534544u /* "DESC2" */

typedef struct head {
    uint64_t magic, flags;
    uint32_t kind, params, extensions, needs, uses;
    uint32_t pointers; /* of all lists of texts, with the NULL that ends each */
} head;

typedef struct numbers {
    uint32_t type, flags, max_count, choices;
    double min, max;
} numbers;

/* A plugin with everything it points to. */
typedef struct described {
    ds_plugin plugin; /* must be first */
    ds_desc desc;
    ds_env_vtable env;
    ds_optimizer_vtable optimizer;
    ds_param *param;
    const ds_param **params;
    char *texts; /* after unpacking: what the pointers point to */
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

/* Returns NULL for an empty list. */
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
    /* Every pointer stands for a text of at least its NUL, or ends a list: three lists of the plugin, one per
     * parameter. */
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

/* ---- acceptance ---- */

/* Returns why a text of the descriptor cannot be shown to users and written to files, or NULL. */
static const char *text_problem(const char *s, int paragraphs)
{
    if (s == NULL) {
        return "is NULL (\"\" is fine)";
    }
    for (;;) {
        size_t n = paragraphs ? strcspn(s, "\n") : strlen(s);
        if (!ds_text_is_line(s, n)) {
            return "is not UTF-8, or has a line break or control character in it";
        }
        if (s[n] == '\0') {
            return NULL;
        }
        s += n + 1;
    }
}

typedef struct text {
    const char *what, *text;
    int paragraphs;
} text;

/* `owner` is the parameter that the texts belong to, or NULL. */
static int accept_texts(const text *list, size_t count, const char *path, const char *owner, ds_error *e)
{
    for (size_t k = 0; k < count; k++) {
        const char *problem = text_problem(list[k].text, list[k].paragraphs);
        if (problem != NULL) {
            return owner == NULL ? ds_fail(e, DS_EXIT_PLUGIN, "%s: %s %s", path, list[k].what, problem)
                                 : ds_fail(e, DS_EXIT_PLUGIN, "%s: parameter '%s': %s %s", path, owner,
                                           list[k].what, problem);
        }
    }
    return 0;
}

/* Tests the ids of a list of extensions, which ends with NULL or is NULL. */
static int accept_ids(const char *what, const char *const *list, const char *path, ds_error *e)
{
    int status = 0;
    for (; status == 0 && list != NULL && *list != NULL; list++) {
        const text id = {what, *list, 0};
        status = accept_texts(&id, 1, path, NULL, e);
    }
    return status;
}

static int is_name(const char *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t n = s != NULL && s[0] >= 'a' && s[0] <= 'z' ? strspn(s, letters) : 0;
    return n > 0 && n <= DS_MAX_NAME && s[n] == '\0';
}

/* Can v limit a whole number that a double holds exactly? */
static int whole_limit(double v)
{
    return isinf(v) || fabs(v) <= (double)DS_WHOLE_MAX;
}

static int accept_param(const ds_param *q, size_t index, const ds_param *const *all, uint32_t kind,
                        const char *path, ds_error *e)
{
    if (!is_name(q->name)) {
        return ds_fail(
            e, DS_EXIT_PLUGIN,
            "%s: parameter %zu: name '%.60s' must match [a-z][a-z0-9_]* with at most %u characters", path,
            index, q->name != NULL ? q->name : "(null)", DS_MAX_NAME);
    }
    for (size_t k = 0; k < index; k++) {
        if (strcmp(all[k]->name, q->name) == 0) {
            return ds_fail(e, DS_EXIT_PLUGIN, "%s: parameter '%s' is declared twice", path, q->name);
        }
    }
    if (kind == DS_KIND_ENV && ds_expect_owns(q->name)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: parameter '%s': the host has a parameter of this name for every environment; use "
                       "another one",
                       path, q->name);
    }
    if (q->type < DS_PARAM_BOOL || q->type > DS_PARAM_ARRAY) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: parameter '%s': type %u is unknown, 1 to 8 are known", path,
                       q->name, q->type);
    }
    const text texts[] = {{"default", q->default_text, 0}, {"unit", q->unit, 0}, {"doc", q->doc, 0}};
    if (accept_texts(texts, 3, path, q->name, e) != 0) {
        return DS_EXIT_PLUGIN;
    }
    const char *problem = ds_ini_text_problem(q->name, q->default_text);
    if (problem != NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: parameter '%s': default '%.60s' cannot stand in an .ini file: %s", path, q->name,
                       q->default_text, problem);
    }
    if (!(q->min <= q->max)) {
        return ds_fail(
            e, DS_EXIT_PLUGIN,
            "%s: parameter '%s': range %s..%s is empty: the lower limit must not exceed the upper one", path,
            q->name, DS_TEXT_OF(q->min), DS_TEXT_OF(q->max));
    }
    if (q->type == DS_PARAM_INT && !(whole_limit(q->min) && whole_limit(q->max))) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: parameter '%s': range %s..%s: the limits of an INT lie in -2^53..2^53, or are "
                       "-INFINITY and INFINITY for none",
                       path, q->name, DS_TEXT_OF(q->min), DS_TEXT_OF(q->max));
    }
    if ((q->type == DS_PARAM_ENUM) != (q->choices != NULL) || (q->choices != NULL && q->choices[0] == NULL)) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: parameter '%s': choices are for ENUM, and ENUM needs them",
                       path, q->name);
    }
    for (size_t k = 0; q->choices != NULL && q->choices[k] != NULL; k++) {
        if (k == DS_MAX_PARAMS || q->choices[k][0] == '\0' || text_problem(q->choices[k], 0) != NULL ||
            ds_ini_text_problem(q->name, q->choices[k]) != NULL) {
            return ds_fail(e, DS_EXIT_PLUGIN,
                           "%s: parameter '%s': choice %zu must be a short word of at most %u characters",
                           path, q->name, k, DS_MAX_PARAMS);
        }
    }
    return 0;
}

/* Accepts libmy.so, the name that Cargo and CMake give to a library, as the file of plugin my. */
static int is_file_of(const char *id, const char *file)
{
    return strcmp(id, file) == 0 || (strncmp(file, "lib", 3) == 0 && strcmp(id, file + 3) == 0);
}

int ds_desc_accept(const ds_desc *d, const char *id, const char *path, ds_error *e)
{
    if (!is_name(d->id)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: id '%.60s' must match [a-z][a-z0-9_]* with at most %u characters", path,
                       d->id != NULL ? d->id : "(null)", DS_MAX_NAME);
    }
    if (id != NULL && !is_file_of(d->id, id)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: the plugin calls itself '%s' but the file is '%s.so': rename one", path, d->id,
                       id);
    }
    const text texts[] = {{"version", d->version, 0},
                          {"license", d->license, 0},
                          {"summary", d->summary, 0},
                          {"description", d->description, 1},
                          {"citation", d->citation, 1}};
    int status = accept_texts(texts, sizeof texts / sizeof texts[0], path, NULL, e);
    status = status != 0 ? status : accept_ids("an id in `extensions`", d->extensions, path, e);
    status = status != 0 ? status : accept_ids("an id in `needs`", d->needs, path, e);
    status = status != 0 ? status : accept_ids("an id in `uses`", d->uses, path, e);
    for (size_t i = 0; status == 0 && d->params != NULL && d->params[i] != NULL; i++) {
        status = accept_param(d->params[i], i, d->params, d->kind, path, e);
    }
    return status;
}

static int accept_functions(const ds_plugin *p, const char *path, ds_error *e)
{
    const ds_env_vtable *v = p->env;
    const ds_optimizer_vtable *o = p->optimizer;
    switch (p->desc->kind) {
    case DS_KIND_ENV:
        return v->create != NULL && v->destroy != NULL && v->info != NULL && v->bounds != NULL &&
                       v->evaluate != NULL
                   ? 0
                   : ds_fail(e, DS_EXIT_PLUGIN, "%s: create, destroy, info, bounds and evaluate are required",
                             path);
    case DS_KIND_OPTIMIZER:
        return o->create != NULL && o->destroy != NULL && o->run != NULL
                   ? 0
                   : ds_fail(e, DS_EXIT_PLUGIN, "%s: create, destroy and run are required", path);
    default:
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: kind is %u, 1 (environment) and 2 (optimizer) are known", path,
                       p->desc->kind);
    }
}

/* The fields up to `layout` never move, so a plugin for another version is recognised. */
static int accept_version(const ds_plugin *p, const char *path, ds_error *e)
{
    if (p == NULL) {
        return ds_fail(
            e, DS_EXIT_PLUGIN,
            "%s: cannot serve this host, which has plugin ABI %u.%u: ds_plugin_query() returned NULL", path,
            DS_ABI_MAJOR, DS_ABI_MINOR);
    }
    if (p->magic != DS_MAGIC) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: magic number is %08x, expected %08x: not a diffsim plugin",
                       path, p->magic, DS_MAGIC);
    }
    if (p->struct_size < offsetof(ds_plugin, reserved)) {
        return 0; /* reported later, with all other sizes */
    }
    if (p->layout != DS_LAYOUT) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: data layout is %08x, this host has %08x: built for another machine", path,
                       p->layout, DS_LAYOUT);
    }
    if (p->abi_major != DS_ABI_MAJOR || (DS_ABI_MAJOR == 0 && p->abi_minor != DS_ABI_MINOR)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: built for plugin ABI %u.%u, this host has %u.%u: compile it again", path,
                       p->abi_major, p->abi_minor, DS_ABI_MAJOR, DS_ABI_MINOR);
    }
    return 0;
}

int ds_plugin_accept(const ds_plugin *theirs, const char *id, const char *path, ds_plugin **out, ds_error *e)
{
    ds_plugin *p = NULL;
    int status = accept_version(theirs, path, e);
    status = status != 0 ? status : ds_descriptor_copy(theirs, path, &p, e);
    status = status != 0 ? status : ds_desc_accept(p->desc, id, path, e);
    status = status != 0 ? status : accept_functions(p, path, e);
    if (status != 0) {
        ds_descriptor_free(p);
        return status;
    }
    *out = p;
    return 0;
}
