/* SPDX-License-Identifier: Apache-2.0 */
/* accept.c - tests magic, sizes, versions, texts, schema and functions of a plugin before anything of it is used. */
#include "config.h"

#include "plugin/accept.h"

#include <string.h>

#include "config/params.h"

enum { MAX_CHOICES = 256 /* of a parameter */ };

/* NULL, or what keeps a text of the descriptor from being shown to users and written to files. */
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

static int is_name(const char *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t n = s != NULL && s[0] >= 'a' && s[0] <= 'z' ? strspn(s, letters) : 0;
    return n > 0 && n <= 47 && s[n] == '\0';
}

static int accept_param(const ds_param *q, size_t index, const ds_param *const *all, const char *path,
                        ds_error *e)
{
    if (q->struct_size < sizeof *q) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: parameter %zu: struct_size is %u, this host needs at least %zu", path, index,
                       q->struct_size, sizeof *q);
    }
    if (!is_name(q->name)) {
        return ds_fail(
            e, DS_EXIT_PLUGIN,
            "%s: parameter %zu: name '%.60s' must match [a-z][a-z0-9_]* with at most 47 characters", path,
            index, q->name != NULL ? q->name : "(null)");
    }
    for (size_t k = 0; k < index; k++) {
        if (strcmp(all[k]->name, q->name) == 0) {
            return ds_fail(e, DS_EXIT_PLUGIN, "%s: parameter '%s' is declared twice", path, q->name);
        }
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
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: parameter '%s': range %g..%g is empty", path, q->name, q->min,
                       q->max);
    }
    if ((q->type == DS_PARAM_ENUM) != (q->choices != NULL) || (q->choices != NULL && q->choices[0] == NULL)) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: parameter '%s': choices are for ENUM, and ENUM needs them",
                       path, q->name);
    }
    for (size_t k = 0; q->choices != NULL && q->choices[k] != NULL; k++) {
        if (k == MAX_CHOICES || q->choices[k][0] == '\0' || text_problem(q->choices[k], 0) != NULL ||
            ds_ini_text_problem(q->name, q->choices[k]) != NULL) {
            return ds_fail(
                e, DS_EXIT_PLUGIN,
                "%s: parameter '%s': choice %zu: a choice is a short word, at most %d are possible", path,
                q->name, k, MAX_CHOICES);
        }
    }
    return 0;
}

int ds_desc_accept(const ds_desc *d, const char *id, const char *path, ds_error *e)
{
    if (d == NULL || d->struct_size < sizeof *d) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: the descriptor's struct_size is %u, this host needs at least %zu", path,
                       d != NULL ? d->struct_size : 0, sizeof *d);
    }
    if (!is_name(d->id)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: id '%.60s' must match [a-z][a-z0-9_]* with at most 47 characters", path,
                       d->id != NULL ? d->id : "(null)");
    }
    if (id != NULL && strcmp(d->id, id) != 0) {
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
    for (size_t i = 0; status == 0 && d->params != NULL && d->params[i] != NULL; i++) {
        status = i < DS_PARAMS_MAX
                     ? accept_param(d->params[i], i, d->params, path, e)
                     : ds_fail(e, DS_EXIT_PLUGIN, "%s: more than %d parameters", path, DS_PARAMS_MAX);
    }
    return status;
}

static int accept_size(const char *kind, uint32_t size, size_t least, const char *path, ds_error *e)
{
    return size >= least
               ? 0
               : ds_fail(e, DS_EXIT_PLUGIN, "%s: %s vtable has struct_size %u, at least %zu is needed", path,
                         kind, size, least);
}

int ds_plugin_accept(const ds_plugin *p, const char *id, const char *path, ds_error *e)
{
    if (p == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: ds_plugin_query() returned NULL", path);
    }
    if (p->magic != DS_MAGIC) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: magic number is %08x, expected %08x: not a diffsim plugin",
                       path, p->magic, DS_MAGIC);
    }
    /* The fields up to `layout` stay where they are for ever: a plugin for another version is recognised as
     * such. */
    if (p->struct_size >= offsetof(ds_plugin, reserved)) {
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
    }
    if (p->struct_size < sizeof *p) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: struct_size is %u, this host needs at least %zu", path,
                       p->struct_size, sizeof *p);
    }
    int status = ds_desc_accept(p->desc, id, path, e);
    if (status != 0) {
        return status;
    }
    const ds_env_vtable *v = p->env;
    const ds_optimizer_vtable *o = p->optimizer;
    if (p->desc->kind == DS_KIND_ENV) {
        status = accept_size("environment", v != NULL ? v->struct_size : 0,
                             offsetof(ds_env_vtable, get_extension), path, e);
        return status != 0 || (v->create != NULL && v->destroy != NULL && v->info != NULL &&
                               v->bounds != NULL && v->evaluate != NULL)
                   ? status
                   : ds_fail(e, DS_EXIT_PLUGIN, "%s: create, destroy, info, bounds and evaluate are required",
                             path);
    }
    if (p->desc->kind == DS_KIND_OPTIMIZER) {
        status = accept_size("optimizer", o != NULL ? o->struct_size : 0,
                             offsetof(ds_optimizer_vtable, get_extension), path, e);
        return status != 0 || (o->create != NULL && o->destroy != NULL && o->run != NULL)
                   ? status
                   : ds_fail(e, DS_EXIT_PLUGIN, "%s: create, destroy and run are required", path);
    }
    return ds_fail(e, DS_EXIT_PLUGIN, "%s: kind is %u, 1 (environment) and 2 (optimizer) are known", path,
                   p->desc->kind);
}
