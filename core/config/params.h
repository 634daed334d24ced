/* SPDX-License-Identifier: Apache-2.0 */
/* params.h - settings checked and converted by a schema: the typed parameters of a plugin or of the run. */
#ifndef DS_CONFIG_PARAMS_H
#define DS_CONFIG_PARAMS_H

#include "base/error.h"
#include "base/text.h"
#include "config/settings.h"

#include <diffsim/plugin.h>

#include <stddef.h>

/* Flags for schemas of the host; they mean nothing in the schema of a plugin. */
#define DS_PARAM_HOST_FLAGS 0xff000000u

/* For a TEXT in a schema of the host: a name, or a file name where it has a slash, which is made absolute
 * like a PATH. */
#define DS_PARAM_NAME_OR_PATH (1u << 31)

/* For a TEXT in a schema of the host: any number of words, which may continue in further lines. */
#define DS_PARAM_WORDS (1u << 30)

/* Largest value of an INT: a double holds all whole numbers up to it. */
#define DS_WHOLE_MAX ((int64_t)1 << 53)

typedef struct ds_params ds_params;

/* The host's own parameters of every environment (config/expect.h): ds_params_make() accepts them in [env]
 * next to those of the plugin, and lists those that are set. NULL-terminated. */
extern const ds_param *const ds_expect_schema[];

/* Is it the name of one of them? A plugin of an environment may not use it. */
int ds_expect_owns(const char *name);

/* Converts a section by a schema (NULL-terminated, may be NULL). `owner` names the plugin in messages
 * ("torus"); "" = the run. Refuses with origin, key, value, allowed values and the nearest known name:
 * unknown keys, values of the wrong type or out of range, missing required ones, unreadable files. */
int ds_params_make(const ds_param *const *schema, const char *owner, const ds_settings *settings, int section,
                   ds_params **out, ds_error *e);
void ds_params_free(ds_params *p);

/* Typed access, as ds_host.get_*: DS_E_PARAM for an undeclared name or the wrong type. */
ds_status ds_params_int(const ds_params *p, const char *name, int64_t *out);
ds_status ds_params_real(const ds_params *p, const char *name, double *out);
ds_status ds_params_text(const ds_params *p, const char *name, const char **out);
ds_status ds_params_list(const ds_params *p, const char *name, const double **out, uint64_t *count);
ds_status ds_params_array(const ds_params *p, const char *name, const double **data, uint64_t *ndim,
                          uint64_t shape[8]);

/* Parameter i of the schema: its declaration, the text that reproduces its value (paths absolute), and
 * whether the user gave it. */
size_t ds_params_count(const ds_params *p);
const ds_param *ds_params_info(const ds_params *p, size_t i);
const char *ds_params_value_text(const ds_params *p, size_t i);
int ds_params_given(const ds_params *p, size_t i);

/* Does parameter i have the same value in both, which share a schema? 1e-3 equals 0.001. */
int ds_params_same(const ds_params *a, const ds_params *b, size_t i);

/* Writes "key = value" lines of all parameters (long lists on continuation lines) for ds_settings_read(). */
int ds_params_write_ini(const ds_params *p, FILE *f);

/* Writes one of these lines with another text as value. */
void ds_params_write_value(const ds_param *info, const char *text, FILE *f);

/* NULL where an .ini file reproduces `text` as the value of `key`, else the reason why not. */
const char *ds_ini_text_problem(const char *key, const char *text);

/* ---- settings in a title ---- */

/* The settings of an environment as text for the title of an image. */

/* The scene, "variant 2, preset small", and other settings that are not the defaults; "" for p == NULL and
 * without any. What does not fit is replaced by "...". */
void ds_settings_text(char *out, size_t room, const ds_params *p);

#endif
