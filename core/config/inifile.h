/* SPDX-License-Identifier: Apache-2.0 */
/* inifile.h - the form of .ini files (through inih): sections, keys, values and their indented continuation
 * lines, with file and line in every message. The caller interprets the names. */
#ifndef DS_CONFIG_INIFILE_H
#define DS_CONFIG_INIFILE_H

#include <stddef.h>

#include "base/error.h"

enum {
    DS_INI_NAME_LIMIT = DS_MAX_NAME, /* bytes of a key or a section name */
    DS_INI_LINE_LIMIT = 8000,        /* bytes of a line: every path fits, PATH_MAX is 4096 */
    DS_INI_FILE_LIMIT = 1 << 20,
    DS_INI_LARGE_LIMIT = 16 << 20 /* room for all parameters of a thousand plugins */
};

/* The reader of a file. Each function returns 0, or an exit status after filling *e; `origin` is "FILE:LINE".
 * Texts are valid during the call. */
typedef struct ds_ini_handler {
    void *user;
    const char *sections; /* the allowed sections, for messages: "[run], [env] or [opt]" */
    /* [NAME] begins. */
    int (*section)(void *user, const char *name, const char *origin, ds_error *e);
    /* key = value of the last section. `more` is the number of the first indented line that continues the
     * value, 0 = none. */
    int (*value)(void *user, const char *key, const char *value, const char *origin, int more, ds_error *e);
} ds_ini_handler;

/* Reads a text of at most `limit` bytes; `name` stands for the file in messages, `section` (NULL = none) is
 * the section of the first lines. Refuses, with file and line: lines over DS_INI_LINE_LIMIT bytes, control
 * characters, text that is not UTF-8, unclosed sections, keys outside a section, lines without '='. Returns
 * 0, DS_EXIT_CONFIG, or the result of a handler. */
int ds_ini_parse(const char *section, const char *text, size_t length, size_t limit, const char *name,
                 const ds_ini_handler *handler, ds_error *e);

/* The same from a regular file. *folder, to be freed, is the absolute folder of the file, also during calls
 * of handlers; NULL where there is none. */
int ds_ini_read(const char *path, size_t limit, const ds_ini_handler *handler, char **folder, ds_error *e);

/* Drops blanks at both ends of the n bytes at *s. */
void ds_ini_trim(const char **s, size_t *n);

#endif
