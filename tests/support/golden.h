/* SPDX-License-Identifier: Apache-2.0 */
/* golden.h - reads recorded reference values (JSON) from the folder named by DS_SHARED. */
#ifndef DS_TESTS_GOLDEN_H
#define DS_TESTS_GOLDEN_H

#include "test.h"

#include <jansson.h>

/* The parsed file golden/`name` of the folder DS_SHARED; NULL and a message if it is missing. */
static inline json_t *golden_load(const char *name)
{
    const char *shared = getenv("DS_SHARED");
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/golden/%s", shared ? shared : "", name);
    FILE *f = shared && *shared ? fopen(path, "r") : NULL;
    if (!f) {
        print_message("# golden/%s is not in the folder DS_SHARED: not compared\n", name);
        return NULL;
    }
    json_t *root = json_loadf(f, 0, &error);
    fclose(f);
    if (!root) {
        fail_msg("%s line %d: %s", path, error.line, error.text);
    }
    return root;
}

/* The same; skips the test if the file is missing. */
static inline json_t *golden_or_skip(const char *name)
{
    json_t *root = golden_load(name);
    if (!root) {
        skip();
    }
    return root;
}

/* The recorded cases under `key`; fails if there are none, because that would compare nothing. */
static inline json_t *golden_list(const json_t *object, const char *key)
{
    json_t *list = json_object_get(object, key);
    if (json_is_object(list) ? json_object_size(list) == 0 : json_array_size(list) == 0) {
        fail_msg("recorded cases '%s' are missing", key);
    }
    return list;
}

static inline double golden_number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_number(v)) {
        fail_msg("recorded value %s is missing", key);
    }
    return json_number_value(v);
}

static inline const char *golden_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Copies an array of numbers, or of rows of numbers, in order. Returns how many. */
static inline size_t golden_copy(const json_t *array, double *out)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        if (json_is_array(item)) {
            count += golden_copy(item, out + count);
        } else {
            out[count++] = json_number_value(item);
        }
    }
    return count;
}

static inline size_t golden_array(const json_t *object, const char *key, double *out)
{
    return golden_copy(json_object_get(object, key), out);
}

#endif
