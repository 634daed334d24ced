/* SPDX-License-Identifier: Apache-2.0 */
/* accept.c - tests magic, sizes, versions, texts, schema and functions of a plugin before anything of it is
 * used. */
#include "config.h"

#include "plugin/accept.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "config/params.h"
#include "plugin/descriptor.h"

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

/* Ids of extensions: lists that end with NULL, or are NULL. */
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

/* Can it limit a whole number that a double holds exactly? */
static int whole_limit(double v)
{
    return isinf(v) || fabs(v) <= (double)DS_WHOLE_MAX;
}

static int accept_param(const ds_param *q, size_t index, const ds_param *const *all, const char *path,
                        ds_error *e)
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
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: parameter '%s': range %s..%s is empty", path, q->name,
                       DS_TEXT_OF(q->min), DS_TEXT_OF(q->max));
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
            return ds_fail(
                e, DS_EXIT_PLUGIN,
                "%s: parameter '%s': choice %zu: a choice is a short word, at most %u are possible", path,
                q->name, k, DS_MAX_PARAMS);
        }
    }
    return 0;
}

/* libmy.so, as Cargo and CMake call a library, is a file of the plugin my. */
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
        status = accept_param(d->params[i], i, d->params, path, e);
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

/* The fields up to `layout` stay where they are for ever: a plugin for another
 * version is recognised as such. */
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
        return 0; /* which is said with all other sizes */
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
