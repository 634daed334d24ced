/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - the user's settings: key = value pairs of the sections [run], [env], [opt], [landscape],
 * [gradients] and [identify], with their origin.
 *
 * They come from .ini files, from --set and from flags; nothing is interpreted here. Flags override --set,
 * and --set overrides files, in any order on the command line. */
#ifndef DS_CONFIG_SETTINGS_H
#define DS_CONFIG_SETTINGS_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

enum {
    DS_SECTION_RUN = 0,
    DS_SECTION_ENV = 1,
    DS_SECTION_OPT = 2,
    DS_SECTION_LANDSCAPE = 3,
    DS_SECTION_GRADIENTS = 4,
    DS_SECTION_IDENTIFY = 5,
    DS_SECTIONS = 6
};

/* "run", "env", "opt", "landscape", "gradients", "identify". */
extern const char *const ds_section_names[DS_SECTIONS];

/* The origin of a setting; a higher layer wins. */
enum {
    DS_LAYER_RECORD = -1, /* of a result folder, which anybody may have written */
    DS_LAYER_FILE = 0,
    DS_LAYER_SET = 1,
    DS_LAYER_FLAG = 2
};

typedef struct ds_setting {
    char *key;
    char *value;
    char *origin; /* "runs.ini:12", "--set env.steps", "--budget": for messages */
    char *base;   /* base of relative file names, or NULL = the working directory */
    int status;   /* exit status of a wrong value: DS_EXIT_USAGE for flags, else DS_EXIT_CONFIG */
    int layer;    /* DS_LAYER_* */
    int more;     /* line number of the first indented line that continues the value, 0 = none */
} ds_setting;

/* A key occurs at most once per layer; ds_settings_find() returns the one that counts. */
typedef struct ds_section {
    ds_setting *item;
    size_t count, capacity;
} ds_section;

typedef struct ds_settings {
    ds_section section[DS_SECTIONS];
} ds_settings;

/* Releases everything and leaves an empty, usable struct. A zeroed struct is empty. */
void ds_settings_clear(ds_settings *s);

/* Copies deeply into an empty *to. */
int ds_settings_copy(ds_settings *to, const ds_settings *from, ds_error *e);

/* Reads an .ini file. Refuses, with file and line: lines over 8000 bytes, control characters, text that is
 * not UTF-8, unknown or unclosed sections, keys outside a section, repeated keys, lines without '=', files
 * over 1 MiB, other than regular files. An indented line continues the value above. After a failure the
 * settings are incomplete: only call ds_settings_clear(). */
int ds_settings_read(ds_settings *s, const char *path, ds_error *e);

/* The same for a file in a result folder that the user has not named: DS_LAYER_RECORD. */
int ds_settings_read_record(ds_settings *s, const char *path, ds_error *e);

/* The same from memory; `name` stands for the file in messages, `base` is its folder (may be NULL). */
int ds_settings_parse(ds_settings *s, const char *text, size_t length, const char *name, const char *base,
                      ds_error *e);

/* The same for lines of one section without its [NAME]. */
int ds_settings_parse_section(ds_settings *s, int section, const char *text, const char *name, ds_error *e);

/* Adds "section.key=value" of a --set flag; drops blanks around key and value. */
int ds_settings_set(ds_settings *s, const char *assignment, ds_error *e);

/* Adds a value. A second value in DS_LAYER_FILE is an error; in the other layers, where a user types
 * corrections, the last one wins. */
int ds_settings_add(ds_settings *s, int section, const char *key, const char *value, const char *origin,
                    const char *base, int status, int layer, ds_error *e);

/* The flag of a key as the user writes it: "--timeout-s" for timeout_s. Keys of schemas fit. Returns `out`.
 */
enum { DS_FLAG_BYTES = 52 };
char *ds_settings_flag(const char *key, char out[DS_FLAG_BYTES]);

/* Adds the value of the flag of a key. */
int ds_settings_add_flag(ds_settings *s, int section, const char *key, const char *value, ds_error *e);

/* The setting of a key that counts, or NULL. */
const ds_setting *ds_settings_find(const ds_settings *s, int section, const char *key);

#endif
