/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h - parameters and paragraphs in words, for help and templates. */
#ifndef DS_CATALOG_DESCRIBE_H
#define DS_CATALOG_DESCRIBE_H

#include <diffsim/plugin.h>
#include <jansson.h>
#include <stdio.h>

enum { DS_DESCRIBE_SIZE = 4096 }; /* room for a type with many choices */

/* "name = default   (int, 1 to 1000, m)" and the wrapped text below it. */
void ds_describe_param(FILE *f, const ds_param *p, const char *indent);

/* Type and range in brackets, "(int, 1 to 1000, m)" or "(soft | hard)"; cut where `size` is too small. */
void ds_describe_type(const ds_param *p, char *out, size_t size);

/* The ids of a list, NULL-terminated; none where it is NULL. */
json_t *ds_describe_ids(const char *const *ids);

/* A list of needs in words between two texts, " [needs gradients]"; nothing where it is empty. */
void ds_describe_needs(FILE *f, const char *before, const char *const *ids, const char *after);

/* One paragraph, up to the first newline, wrapped at 100 columns; every line begins with `prefix`. */
void ds_describe_wrapped(FILE *f, const char *prefix, const char *text);

/* Paragraphs separated by "\n", wrapped, each followed by an empty line. */
void ds_describe_paragraphs(FILE *f, const char *text);

#endif
