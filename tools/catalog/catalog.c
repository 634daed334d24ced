/* SPDX-License-Identifier: Apache-2.0 */
/* catalog.c - describes parameters in words, and lists plugins. A plugin that crashes or hangs in its
 * start-up code costs one line of the list, not the program. */
#include "config.h"

#include "catalog/catalog.h"

#include "base/json_text.h"
#include "plugin/instance.h"
#include "worker/process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WIDTH = 100 };

void ds_describe_wrapped(FILE *f, const char *prefix, const char *text)
{
    size_t column = 0;
    while (*text != '\0' && *text != '\n') {
        size_t n = strcspn(text, " \n");
        if (column == 0) {
            column = strlen(prefix) + n;
            fprintf(f, "%s%.*s", prefix, (int)n, text);
        } else if (column + 1 + n > WIDTH) {
            column = strlen(prefix) + n;
            fprintf(f, "\n%s%.*s", prefix, (int)n, text);
        } else {
            column += 1 + n;
            fprintf(f, " %.*s", (int)n, text);
        }
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', f);
}

void ds_describe_paragraphs(FILE *f, const char *text)
{
    while (*text != '\0') {
        ds_describe_wrapped(f, "", text);
        fputc('\n', f);
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
}

void ds_describe_type(const ds_param *p, char *out, size_t size)
{
    static const char *const words[] = {"?",    "bool", "int",  "real",           "",
                                        "text", "file", "list", "file of numbers"};
    size_t used = 0;

    for (size_t i = 0; p->type == DS_PARAM_ENUM && p->choices[i] != NULL && used < size; i++) {
        used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? " | " : "(", p->choices[i]);
    }
    if (p->type != DS_PARAM_ENUM) {
        used = (size_t)snprintf(out, size, "(%s", words[p->type]);
    }
    if (p->type == DS_PARAM_INT || p->type == DS_PARAM_REAL || p->type == DS_PARAM_LIST) {
        char range[80] = "";
        int digits = p->type == DS_PARAM_INT ? 17 : 15; /* integers with all digits */
        if (isfinite(p->min) && isfinite(p->max)) {
            snprintf(range, sizeof range, ", %.*g to %.*g", digits, p->min, digits, p->max);
        } else if (isfinite(p->min)) {
            snprintf(range, sizeof range, ", at least %.*g", digits, p->min);
        } else if (isfinite(p->max)) {
            snprintf(range, sizeof range, ", at most %.*g", digits, p->max);
        }
        used += (size_t)snprintf(out + used, size - used, "%s", range);
    }
    if (used < size) {
        snprintf(out + used, size - used, "%s%s%s)", p->unit[0] != '\0' ? ", " : "", p->unit,
                 (p->flags & DS_PARAM_REQUIRED) != 0 ? ", required" : "");
    }
}

json_t *ds_describe_ids(const char *const *ids)
{
    json_t *list = json_array();
    for (; ids != NULL && *ids != NULL; ids++) {
        json_array_append_new(list, ds_json_text(*ids));
    }
    return list;
}

void ds_describe_needs(FILE *f, const char *before, const char *const *ids, const char *after)
{
    for (size_t i = 0; ids != NULL && ids[i] != NULL; i++) {
        fprintf(f, "%s%s%s", i == 0 ? before : ", ", ds_need_words(ids[i]), ids[i + 1] == NULL ? after : "");
    }
}

void ds_describe_param(FILE *f, const ds_param *p, const char *indent)
{
    char type[DS_DESCRIBE_SIZE], prefix[32];
    ds_describe_type(p, type, sizeof type);
    snprintf(prefix, sizeof prefix, "%s    ", indent);
    fprintf(f, "%s%s%s%s", indent, p->name, p->default_text[0] != '\0' ? " = " : "", p->default_text);
    if (strlen(indent) + strlen(p->name) + strlen(p->default_text) + 6 + strlen(type) <= WIDTH) {
        fprintf(f, "   %s\n", type);
    } else {
        fputc('\n', f);
        ds_describe_wrapped(f, prefix, type);
    }
    ds_describe_wrapped(f, prefix, p->doc);
}

/* ---- plugins ---- */

static const ds_describe_config look = {.start_timeout = DS_DESCRIBE_ONLY_SECONDS};

int ds_loader_describe(const char *name, uint32_t kind, const ds_module **out, ds_error *e)
{
    return ds_describe_name(name, kind, &look, out, e);
}

static int list_file(const char *dir, const char *file, ds_found **list, size_t *count, ds_error *e)
{
    char path[PATH_MAX];
    struct stat st, other;
    ds_plugin_file found;
    ds_error why = {0};
    ds_found new = {0};
    int n = (int)(strrchr(file, '.') - file);

    /* report a dangling link: somebody expects this plugin */
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, file) >= sizeof path ||
        (stat(path, &st) != 0 && lstat(path, &st) != 0)) {
        return 0;
    }
    for (size_t i = 0; i < *count; i++) {
        const ds_found *f = &(*list)[i];
        if (strncmp(f->id, file, (size_t)n) == 0 && f->id[n] == '\0') {
            if (stat(f->path, &other) == 0 && other.st_ino == st.st_ino && other.st_dev == st.st_dev) {
                return 0; /* the same file through another folder or link */
            }
            new.shadowed = 1;
        }
    }
    ds_found *grown = realloc(*list, (*count + 1) * sizeof **list);
    *list = grown != NULL ? grown : *list;
    new.path = strdup(path);
    new.id = strndup(file, (size_t)n);
    if (grown == NULL || new.path == NULL || new.id == NULL) {
        free(new.path);
        free(new.id);
        return ds_no_memory(e);
    }
    if (ds_plugin_file_of(path, &found, &why) != 0 ||
        ds_describe_file(&found, &look, &new.module, &why) != 0) {
        snprintf(new.refusal, sizeof new.refusal, "%s", why.text);
    } else {
        new.kind = new.module->plugin->desc->kind;
        if (strncmp(new.id, "lib", 3) == 0 && strcmp(new.id + 3, new.module->id) == 0) { /* libmy.so */
            memmove(new.id, new.id + 3, strlen(new.id) - 2);
        }
    }
    grown[(*count)++] = new;
    return 0;
}

int ds_loader_list(ds_found **out, size_t *count, ds_error *e)
{
    const char *const *path = ds_loader_path();
    int status = 0;

    *out = NULL;
    *count = 0;
    for (size_t i = 0; path[i] != NULL && status == 0; i++) {
        char *names[DS_FILES_MAX];
        size_t n = ds_plugin_files(path[i], names, 0);
        for (size_t k = 0; k < n; k++) {
            status = status != 0 ? status : list_file(path[i], names[k], out, count, e);
            free(names[k]);
        }
    }
    if (status != 0) {
        ds_found_free(*out, *count);
        *out = NULL;
        *count = 0;
    }
    return status;
}

void ds_found_free(ds_found *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].path);
        free(list[i].id);
    }
    free(list);
}
