/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c - writes parameters and paragraphs in words. */
#include "config.h"

#include "catalog/describe.h"

#include <math.h>
#include <string.h>

#include "base/json_text.h"
#include "plugin/instance.h"

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
        int digits = p->type == DS_PARAM_INT ? 17 : 15; /* whole numbers in full */
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
