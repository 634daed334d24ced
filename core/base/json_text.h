/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h - JSON in dshost's form: 17 significant digits, null for numbers that are not finite, checked
 * output. */
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

/* A seed. Above 2^63 it does not fit an integer of jansson, and becomes a text. */
json_t *ds_json_seed(uint64_t v);

/* An object of these entries; the last has no key. An entry without a value (text that is not UTF-8) is left
 * out. */
typedef struct ds_json_entry {
    const char *key;
    json_t *value; /* taken over */
} ds_json_entry;
json_t *ds_json_object(const ds_json_entry *entry);

/* Adds arrays names, units and groups of n variables; nothing where v is NULL. */
void ds_json_add_variables(json_t *object, const ds_named_variable *v, uint64_t n);

/* Reads the JSON file at `path`; NULL where it cannot be read. The caller releases it. */
json_t *ds_json_read_file(const char *path);

/* Writes one object and a newline; `name` is the file in the message. Returns DS_EXIT_IO on failure. Keys
 * keep their order. */
int ds_json_write(const json_t *object, FILE *f, const char *name, ds_error *e);

/* The same with arrays that are too long for an object in memory: each replaces the entry `key`, which is
 * null in the object. The last has a NULL key. */
typedef struct ds_json_array {
    const char *key;
    const double *v; /* n values; NULL = the entry stays null */
    uint64_t n;
} ds_json_array;
int ds_json_write_arrays(const json_t *object, const ds_json_array *arrays, FILE *f, const char *name,
                         ds_error *e);

/* Writes one object, indented, to a file, atomically (file.h). */
int ds_json_write_file(const json_t *object, const char *path, ds_error *e);

/* Flushes stdout. Returns whether everything written to it has arrived. */
int ds_stdout_done(ds_error *e);

#endif
