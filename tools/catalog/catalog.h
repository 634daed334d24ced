/* SPDX-License-Identifier: Apache-2.0 */
/* catalog.h - parameters and paragraphs in words, for help and templates; plugins as they describe
 * themselves. */
#ifndef DS_CATALOG_DESCRIBE_H
#define DS_CATALOG_DESCRIBE_H

#include "plugin/loader.h"

#include <diffsim/plugin.h>

#include <jansson.h>
#include <stdio.h>

enum { DS_DESCRIBE_SIZE = 4096 }; /* enough for a type with many choices */

/* Prints "name = default   (int, 1 to 1000, m)" with wrapped text below it. */
void ds_describe_param(FILE *f, const ds_param *p, const char *indent);

/* Type and range in parentheses, "(int, 1 to 1000, m)" or "(soft | hard)", cut off at `size`. */
void ds_describe_type(const ds_param *p, char *out, size_t size);

/* The ids of a NULL-terminated list (NULL = empty). */
json_t *ds_describe_ids(const char *const *ids);

/* Prints a list of needs in words between two texts, " [needs gradients]"; nothing if it is empty. */
void ds_describe_needs(FILE *f, const char *before, const char *const *ids, const char *after);

/* Prints one paragraph, up to the first newline, wrapped at 100 columns; every line begins with `prefix`. */
void ds_describe_wrapped(FILE *f, const char *prefix, const char *text);

/* Prints paragraphs separated by "\n", wrapped, each followed by an empty line. */
void ds_describe_paragraphs(FILE *f, const char *text);

/* ---- plugins, for commands that only show them ---- */

/* Third-party plugins are loaded in another process (worker/process.h). */

/* Finds and describes a plugin. A crash, a hang or an exit() in start-up code is DS_EXIT_PLUGIN. */
int ds_loader_describe(const char *name, uint32_t kind, const ds_module **out, ds_error *e);

/* One plugin file on the search path. */
typedef struct ds_found {
    char *path;
    char *id;
    uint32_t kind;           /* of the plugin; 0 = unknown */
    int shadowed;            /* another file with this id comes first */
    const ds_module *module; /* NULL if it was refused */
    char refusal[1024];
} ds_found;

/* Lists every .so on the search path in search order, each loaded and validated. */
int ds_loader_list(ds_found **out, size_t *count, ds_error *e);
void ds_found_free(ds_found *list, size_t count);

#endif
