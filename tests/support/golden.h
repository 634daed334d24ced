/* SPDX-License-Identifier: Apache-2.0 */
/* golden.h - reads recorded reference values (JSON) from the folder named by DS_SHARED. */
#ifndef DS_TESTS_GOLDEN_H
#define DS_TESTS_GOLDEN_H

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The parsed file golden/`name` of the folder DS_SHARED; NULL (with a message) where it is not there. */
static inline json_t *golden_load(const char *name)
{
    const char *shared = getenv("DS_SHARED");
    char path[4096];
    if (!shared || !*shared) {
        fprintf(stderr, "# DS_SHARED is not set: golden/%s is not compared\n", name);
        return NULL;
    }
    snprintf(path, sizeof(path), "%s/golden/%s", shared, name);
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root) {
        fprintf(stderr, "# %s: %s: not compared\n", path, error.text);
    }
    return root;
}

static inline double golden_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static inline const char *golden_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Copies an array of numbers, or of rows of numbers, one after the other. Returns how many. */
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
