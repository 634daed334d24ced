/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c - writes parameters and paragraphs in words. */
#include "config.h"

#include "describe.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 100 };

void ds_describe_wrapped(FILE *f, const char *prefix, const char *text)
{
    size_t column = 0;
    while (*text != '\0' && *text != '\n') {
        size_t n = strcspn(text, " \n");
        if (column == 0 || column + 1 + n > WIDTH) {
            column = strlen(prefix) + n;
            fprintf(f, "%s%.*s", prefix, (int)n, text);
        } else {
            column += 1 + n;
            fprintf(f, " %.*s", (int)n, text);
        }
        text += n;
        while (*text == ' ') {
            text++;
        }
        if (*text != '\0' && *text != '\n' && column + 1 + strcspn(text, " \n") > WIDTH) {
            fputc('\n', f);
            column = 0;
        }
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
    static const char *const words[] = {"?", "bool", "int", "real", "", "text", "file", "list", "file of numbers"};
    char part[200] = "";

    if (p->type == DS_PARAM_ENUM) {
        for (int i = 0; p->choices[i] != NULL; i++) {
            size_t used = strlen(part);
            snprintf(part + used, sizeof part - used, "%s%s", i > 0 ? "|" : "", p->choices[i]);
        }
    } else if (p->type == DS_PARAM_INT || p->type == DS_PARAM_REAL || p->type == DS_PARAM_LIST) {
        if (isfinite(p->min) && isfinite(p->max)) {
            snprintf(part, sizeof part, ", %.10g to %.10g", p->min, p->max);
        } else if (isfinite(p->min)) {
            snprintf(part, sizeof part, ", at least %.10g", p->min);
        } else if (isfinite(p->max)) {
            snprintf(part, sizeof part, ", at most %.10g", p->max);
        }
    }
    snprintf(out, size, "(%s%s%s%s%s)", words[p->type], part, p->unit[0] != '\0' ? ", " : "", p->unit,
                         (p->flags & DS_PARAM_REQUIRED) != 0 ? ", required" : "");
}

void ds_describe_param(FILE *f, const ds_param *p, const char *indent)
{
    char type[300], prefix[32];
    ds_describe_type(p, type, sizeof type);
    fprintf(f, "%s%s = %s   %s\n", indent, p->name, p->default_text, type);
    snprintf(prefix, sizeof prefix, "%s    ", indent);
    ds_describe_wrapped(f, prefix, p->doc);
}
