/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.c - JSON output through jansson. */
#include "config.h"

#include "base/json_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

json_t *ds_json_real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

json_t *ds_json_reals(const double *v, uint64_t n)
{
    json_t *a = json_array();
    for (uint64_t i = 0; i < n; i++) {
        json_array_append_new(a, ds_json_real(v[i]));
    }
    return a;
}

json_t *ds_json_text(const char *text)
{
    json_t *s = json_string(text);
    if (s == NULL) { /* file names need not be UTF-8 */
        char *copy = strdup(text);
        if (copy != NULL) {
            ds_text_clean(copy);
            s = json_string(copy);
            free(copy);
        }
    }
    return s;
}

json_t *ds_json_whole(uint64_t v)
{
    return json_integer((json_int_t)v);
}

json_t *ds_json_seed(uint64_t v)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
    return v <= INT64_MAX ? ds_json_whole(v) : json_string(text);
}

json_t *ds_json_object(const ds_json_entry *entry)
{
    json_t *o = json_object();
    for (; entry->key != NULL; entry++) {
        json_object_set_new(o, entry->key, entry->value);
    }
    return o;
}

void ds_json_add_variables(json_t *object, const ds_named_variable *v, uint64_t n)
{
    json_t *names = json_array(), *units = json_array(), *groups = json_array();
    for (uint64_t i = 0; i < n && v != NULL; i++) {
        json_array_append_new(names, ds_json_text(v[i].name));
        json_array_append_new(units, ds_json_text(v[i].unit));
        json_array_append_new(groups, ds_json_text(v[i].group));
    }
    if (v != NULL) {
        json_object_set(object, "names", names);
        json_object_set(object, "units", units);
        json_object_set(object, "groups", groups);
    }
    json_decref(names);
    json_decref(units);
    json_decref(groups);
}

json_t *ds_json_read_file(const char *path)
{
    void *text = NULL;
    size_t length = 0;
    json_t *o = NULL;
    if (ds_file_read(path, SIZE_MAX, &text, &length, DS_EXIT_IO, NULL) == 0) {
        o = json_loadb(text, length, 0, NULL);
    }
    free(text);
    return o;
}

int ds_json_write(const json_t *object, FILE *f, const char *name, ds_error *e)
{
    if (object == NULL) {
        return ds_no_memory(e);
    }
    if (json_dumpf(object, f, JSON_INDENT(0) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17)) != 0 ||
        fputc('\n', f) == EOF) {
        return ds_fail(e, DS_EXIT_IO, "%s: cannot write: %s", name, strerror(errno));
    }
    return 0;
}

/* Writes [1.0, null, ...] as jansson would. */
static int write_reals(const ds_json_array *a, FILE *f)
{
    int bad = fputc('[', f) == EOF;
    for (uint64_t i = 0; i < a->n && !bad; i++) {
        json_t *number = ds_json_real(a->v[i]);
        bad = (i > 0 && fputs(", ", f) == EOF) ||
              json_dumpf(number, f, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) != 0;
        json_decref(number);
    }
    return bad || fputc(']', f) == EOF;
}

int ds_json_write_arrays(const json_t *object, const ds_json_array *arrays, FILE *f, const char *name,
                         ds_error *e)
{
    const char *key, *before = "{";
    json_t *value;
    if (object == NULL) {
        return ds_no_memory(e);
    }
    int bad = 0;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const ds_json_array *a = arrays;
        while (a->key != NULL && strcmp(a->key, key) != 0) {
            a++;
        }
        bad = bad || fprintf(f, "%s\"%s\": ", before, key) < 0 ||
              (a->key != NULL && a->v != NULL
                   ? write_reals(a, f)
                   : json_dumpf(value, f, JSON_ENCODE_ANY | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17)));
        before = ", ";
    }
    return bad || fputs(before[0] == '{' ? "{}\n" : "}\n", f) == EOF
               ? ds_fail(e, DS_EXIT_IO, "%s: cannot write: %s", name, strerror(errno))
               : 0;
}

int ds_stdout_done(ds_error *e)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        return ds_fail(e, DS_EXIT_IO, "standard output: cannot write: %s", strerror(errno));
    }
    return 0;
}

int ds_json_write_file(const json_t *object, const char *path, ds_error *e)
{
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    if (text == NULL) {
        return ds_no_memory(e);
    }
    size_t len = strlen(text);
    text[len] = '\n'; /* replaces the NUL: the length is given */
    int rc = ds_file_write_atomic(path, text, len + 1, e);
    free(text);
    return rc;
}
