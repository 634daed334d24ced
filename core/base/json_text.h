/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h - JSON as dshost writes it: 17 significant digits, null for what is not
 * finite, checked output. */
#ifndef DS_BASE_JSON_TEXT_H
#define DS_BASE_JSON_TEXT_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/variables.h"

/* A number, or null where v is not finite. */
json_t *ds_json_real(double v);

/* An array of n numbers. */
json_t *ds_json_reals(const double *v, uint64_t n);

/* A string; bytes that are not UTF-8 are replaced. */
json_t *ds_json_text(const char *text);

/* A whole number. */
json_t *ds_json_whole(uint64_t v);

/* A seed: above 2^63 it does not fit into an integer of jansson, and is a text. */
json_t *ds_json_seed(uint64_t v);

/* An object of these entries, the last of which has no key; one without a value (text that
 * is not UTF-8) is left out. */
typedef struct ds_json_entry {
    const char *key;
    json_t *value; /* taken over */
} ds_json_entry;
json_t *ds_json_object(const ds_json_entry *entry);

/* Adds the arrays names, units and groups of n variables; none where they have no names (v is NULL). */
void ds_json_add_variables(json_t *object, const ds_named_variable *v, uint64_t n);

/* Reads the JSON file at `path`; NULL where there is none that can be read. The caller releases it. */
json_t *ds_json_read_file(const char *path);

/* Writes one object and a newline; `name` is the file in the message. DS_EXIT_IO where that fails. Keys keep
 * the order in which they were added. */
int ds_json_write(const json_t *object, FILE *f, const char *name, ds_error *e);

/* The same with arrays that are too long for an object in memory: each takes the place of the entry `key`,
 * which is null there. Ends with an entry whose key is NULL. */
typedef struct ds_json_array {
    const char *key;
    const double *v; /* n values; NULL = the entry stays null */
    uint64_t n;
} ds_json_array;
int ds_json_write_arrays(const json_t *object, const ds_json_array *arrays, FILE *f, const char *name,
                         ds_error *e);

/* Writes one object, indented, to a file, atomically (file.h). */
int ds_json_write_file(const json_t *object, const char *path, ds_error *e);

/* Flushes stdout and says whether everything written to it has arrived. */
int ds_stdout_done(ds_error *e);

#endif
