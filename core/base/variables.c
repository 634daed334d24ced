/* SPDX-License-Identifier: Apache-2.0 */
/* variables.c - the rules for names of decision variables, and how they are displayed. */
#include "config.h"

#include "base/variables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

int ds_variable_is_name(const char *text)
{
    if (text == NULL || !is_letter(text[0]) || strnlen(text, DS_MAX_NAME + 1) > DS_MAX_NAME) {
        return 0;
    }
    while (is_letter(*text) || (*text >= '0' && *text <= '9') || *text == '_' || *text == '.') {
        text++;
    }
    return *text == '\0';
}

/* Copies one text; writes the breach to `why` where it is too long or malformed. */
static int take(char to[DS_MAX_NAME + 1], const char *what, const char *text, int named,
                char why[DS_VARIABLE_WHY])
{
    size_t length = text != NULL ? strnlen(text, DS_MAX_NAME + 1) : 0;
    if (text == NULL || length > DS_MAX_NAME) {
        snprintf(why, DS_VARIABLE_WHY, text == NULL ? "the %s is NULL" : "the %s is longer than %u bytes",
                 what, DS_MAX_NAME);
        return -1;
    }
    if (named && !ds_variable_is_name(text)) {
        char shown[DS_MAX_NAME + 1];
        memcpy(shown, text, length + 1);
        ds_text_clean(shown);
        snprintf(why, DS_VARIABLE_WHY, "the %s is '%s': use a letter, then letters, digits, '_' and '.'",
                 what, shown);
        return -1;
    }
    if (!named && (!ds_text_is_line(text, length) || strchr(text, '\t') != NULL)) {
        snprintf(why, DS_VARIABLE_WHY, "the %s is not one line of UTF-8", what);
        return -1;
    }
    memset(to, 0, DS_MAX_NAME + 1);
    memcpy(to, text, length);
    return 0;
}

int ds_variable_set(ds_named_variable *out, const char *name, const char *unit, const char *group,
                    uint32_t flags, char why[DS_VARIABLE_WHY])
{
    if ((flags & ~(uint32_t)DS_VARIABLE_LOG) != 0) {
        snprintf(why, DS_VARIABLE_WHY,
                 (flags & (DS_VARIABLE_INTEGER | DS_VARIABLE_CATEGORICAL)) != 0
                     ? "it takes whole numbers or choices (flags 0x%x), which this host does not have"
                     : "it has flags 0x%x, unknown to this host",
                 flags);
        return -1;
    }
    out->flags = flags;
    int rc = take(out->name, "name", name, 1, why);
    rc = rc != 0 ? rc : take(out->unit, "unit", unit, 0, why);
    return rc != 0 ? rc : take(out->group, "group", group, group != NULL && group[0] != '\0', why);
}

static int by_name(const void *a, const void *b)
{
    const ds_named_variable *x = *(const ds_named_variable *const *)a,
                            *y = *(const ds_named_variable *const *)b;
    int c = strcmp(x->name, y->name);
    return c != 0 ? c : (x > y) - (x < y);
}

int ds_variables_unique(const ds_named_variable *v, uint64_t n, uint64_t *a, uint64_t *b)
{
    int rc = 0;
    const ds_named_variable **sorted = malloc((n > 0 ? n : 1) * sizeof *sorted);
    if (sorted == NULL) {
        return DS_EXIT_MEMORY;
    }
    for (uint64_t i = 0; i < n; i++) {
        sorted[i] = &v[i];
    }
    qsort(sorted, n, sizeof *sorted, by_name);
    for (uint64_t i = 1; i < n && rc == 0; i++) {
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0) {
            *a = (uint64_t)(sorted[i - 1] - v);
            *b = (uint64_t)(sorted[i] - v);
            rc = -1;
        }
    }
    free(sorted);
    return rc;
}

int ds_variable_find(const ds_named_variable *v, uint64_t n, const char *text, uint64_t *i)
{
    for (uint64_t k = 0; v != NULL && k < n; k++) {
        if (strcmp(v[k].name, text) == 0) {
            *i = k;
            return 0;
        }
    }
    const int bracket = strncmp(text, "x[", 2) == 0;
    char digits[24];
    int64_t number = -1;
    text += bracket ? 2 : text[0] == 'x';
    const size_t length = strspn(text, "0123456789");
    if (length == 0 || length >= sizeof digits || strcmp(text + length, bracket ? "]" : "") != 0) {
        return -1;
    }
    memcpy(digits, text, length);
    digits[length] = '\0';
    *i = ds_parse_int(digits, &number) && number >= 0 ? (uint64_t)number : n;
    return *i < n ? 0 : -1;
}

const char *ds_variable_name(const ds_named_variable *v, uint64_t i, char room[24])
{
    snprintf(room, 24, "x%" PRIu64, i);
    return v != NULL ? v[i].name : room;
}

const char *ds_variable_unit(const ds_named_variable *v, uint64_t i)
{
    return v != NULL ? v[i].unit : "";
}

void ds_variable_label(const ds_named_variable *v, uint64_t i, char out[DS_VARIABLE_LABEL])
{
    char room[24];
    const char *unit = ds_variable_unit(v, i);
    snprintf(out, DS_VARIABLE_LABEL, unit[0] != '\0' ? "%s [%s]" : "%s", ds_variable_name(v, i, room), unit);
}
