/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - reads .ini files and --set into lists of key = value with their origin. */
#include "config.h"

#include "config/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/inifile.h"

enum { KEY_LIMIT = 4096 /* keys of one section: more than any schema has; look-up is linear */ };

const char *const ds_section_names[DS_SECTIONS] = {"run", "env", "opt", "landscape", "gradients", "identify"};

/* ---- the list ---- */

static void free_setting(ds_setting *s)
{
    free(s->key);
    free(s->value);
    free(s->origin);
    free(s->base);
}

void ds_settings_clear(ds_settings *s)
{
    for (int k = 0; k < DS_SECTIONS; k++) {
        for (size_t i = 0; i < s->section[k].count; i++) {
            free_setting(&s->section[k].item[i]);
        }
        free(s->section[k].item);
    }
    memset(s, 0, sizeof *s);
}

static ds_setting *find_in_layer(ds_section *section, const char *key, int layer)
{
    for (size_t i = 0; i < section->count; i++) {
        if (section->item[i].layer == layer && strcmp(section->item[i].key, key) == 0) {
            return &section->item[i];
        }
    }
    return NULL;
}

const ds_setting *ds_settings_find(const ds_settings *s, int section, const char *key)
{
    const ds_section *sec = &s->section[section];
    const ds_setting *best = NULL;
    for (size_t i = 0; i < sec->count; i++) {
        const ds_setting *item = &sec->item[i];
        if ((best == NULL || item->layer > best->layer) && strcmp(item->key, key) == 0) {
            best = item;
        }
    }
    return best;
}

/* Appends *fresh to a section, which takes over its texts. */
static int append(ds_section *sec, const ds_setting *fresh, ds_error *e)
{
    if (sec->count == KEY_LIMIT) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: more than %d keys in one section", fresh->origin, KEY_LIMIT);
    }
    if (sec->count == sec->capacity) {
        size_t capacity = sec->capacity == 0 ? 16 : 2 * sec->capacity;
        ds_setting *grown = realloc(sec->item, capacity * sizeof *grown);
        if (grown == NULL) {
            return ds_no_memory(e);
        }
        sec->item = grown;
        sec->capacity = capacity;
    }
    sec->item[sec->count++] = *fresh;
    return 0;
}

int ds_settings_add(ds_settings *s, int section, const char *key, const char *value, const char *origin,
                    const char *base, int status, int layer, ds_error *e)
{
    ds_section *sec = &s->section[section];
    ds_setting *old = find_in_layer(sec, key, layer);
    if (old != NULL && layer <= DS_LAYER_FILE) {
        return ds_fail(e, status, "%s: '%s' is set twice (first at %s): remove one", origin, key,
                       old->origin);
    }
    ds_setting fresh = {
        strdup(key), strdup(value), strdup(origin), base != NULL ? strdup(base) : NULL, status, layer, 0};
    int whole = fresh.key != NULL && fresh.value != NULL && fresh.origin != NULL &&
                (base == NULL) == (fresh.base == NULL);
    int failed = !whole ? ds_no_memory(e) : old == NULL ? append(sec, &fresh, e) : 0;
    if (failed != 0) {
        free_setting(&fresh);
    } else if (old != NULL) {
        free_setting(old);
        *old = fresh;
    }
    return failed;
}

char *ds_settings_flag(const char *key, char out[DS_FLAG_BYTES])
{
    snprintf(out, DS_FLAG_BYTES, "--%s", key);
    for (char *c = out; *c != '\0'; c++) {
        *c = (char)(*c == '_' ? '-' : *c);
    }
    return out;
}

int ds_settings_add_flag(ds_settings *s, int section, const char *key, const char *value, ds_error *e)
{
    char flag[DS_FLAG_BYTES];
    return ds_settings_add(s, section, key, value, ds_settings_flag(key, flag), NULL, DS_EXIT_USAGE,
                           DS_LAYER_FLAG, e);
}

int ds_settings_copy(ds_settings *to, const ds_settings *from, ds_error *e)
{
    for (int k = 0; k < DS_SECTIONS; k++) {
        for (size_t i = 0; i < from->section[k].count; i++) {
            const ds_setting *s = &from->section[k].item[i];
            int status = ds_settings_add(to, k, s->key, s->value, s->origin, s->base, s->status, s->layer, e);
            if (status != 0) {
                return status;
            }
            to->section[k].item[to->section[k].count - 1].more = s->more;
        }
    }
    return 0;
}

static int section_number(const char *name, size_t length)
{
    for (int k = 0; k < DS_SECTIONS; k++) {
        if (strlen(ds_section_names[k]) == length && memcmp(ds_section_names[k], name, length) == 0) {
            return k;
        }
    }
    return -1;
}

/* ---- --set ---- */

int ds_settings_set(ds_settings *s, const char *assignment, ds_error *e)
{
    const char *equals = strchr(assignment, '=');
    const char *dot = strchr(assignment, '.');
    char key[DS_INI_NAME_LIMIT + 1], origin[DS_INI_NAME_LIMIT + 32];

    if (!ds_text_is_line(assignment, strlen(assignment))) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "--set %.60s: not UTF-8 text, or a line break or control character in it", assignment);
    }
    if (equals == NULL || dot == NULL || dot > equals) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "--set %.200s: expected SECTION.KEY=VALUE, for example env.steps=20", assignment);
    }
    const char *name = dot + 1, *value = equals + 1;
    size_t length = (size_t)(equals - name), value_length = strlen(value);
    ds_ini_trim(&name, &length);
    ds_ini_trim(&value, &value_length);
    int section = section_number(assignment, (size_t)(dot - assignment));
    if (section < 0) {
        return ds_fail(
            e, DS_EXIT_CONFIG,
            "--set %.200s: unknown section '%.*s': use run, env, opt, landscape, gradients or identify",
            assignment, dot - assignment < 60 ? (int)(dot - assignment) : 60, assignment);
    }
    if (length == 0 || length > DS_INI_NAME_LIMIT) {
        return ds_fail(e, DS_EXIT_CONFIG, "--set %.200s: the key has %zu bytes, 1 to %d are possible",
                       assignment, length, DS_INI_NAME_LIMIT);
    }
    memcpy(key, name, length);
    key[length] = '\0';
    snprintf(origin, sizeof origin, "--set %s.%s", ds_section_names[section], key);
    char *copy = strndup(value, value_length);
    if (copy == NULL) {
        return ds_no_memory(e);
    }
    int status = ds_settings_add(s, section, key, copy, origin, NULL, DS_EXIT_CONFIG, DS_LAYER_SET, e);
    free(copy);
    return status;
}

/* ---- .ini files ---- */

typedef struct target {
    ds_settings *settings;
    const char *const *base; /* the folder, once it is known */
    int section;
} target;

static const char sections[] = "[run], [env], [opt], [landscape], [gradients] or [identify]";

static int on_section(void *user, const char *name, const char *origin, ds_error *e)
{
    target *t = user;
    t->section = section_number(name, strlen(name));
    if (t->section >= 0) {
        return 0;
    }
    if (strcmp(name, "bench") == 0 || strncmp(name, "env ", 4) == 0 || strncmp(name, "opt ", 4) == 0 ||
        strncmp(name, "sweep ", 6) == 0) {
        const char *colon = strrchr(origin, ':');
        return ds_fail(e, DS_EXIT_CONFIG,
                       "%s: [%s] belongs to an experiment file, which dshost bench reads: dshost bench %.*s",
                       origin, name, colon != NULL ? (int)(colon - origin) : 0, origin);
    }
    return ds_fail(e, DS_EXIT_CONFIG, "%s: unknown section [%s]: use %s", origin, name, sections);
}

static int on_value(void *user, const char *key, const char *value, const char *origin, int more, ds_error *e)
{
    target *t = user;
    ds_section *sec = &t->settings->section[t->section];
    int status = ds_settings_add(t->settings, t->section, key, value, origin, *t->base, DS_EXIT_CONFIG,
                                 DS_LAYER_FILE, e);
    if (status == 0) {
        sec->item[sec->count - 1].more = more;
    }
    return status;
}

static ds_ini_handler handler_of(target *t)
{
    return (ds_ini_handler){t, sections, on_section, on_value};
}

int ds_settings_parse(ds_settings *s, const char *text, size_t length, const char *name, const char *base,
                      ds_error *e)
{
    target t = {.settings = s, .base = &base};
    const ds_ini_handler handler = handler_of(&t);
    return ds_ini_parse(NULL, text, length, DS_INI_FILE_LIMIT, name, &handler, e);
}

int ds_settings_parse_section(ds_settings *s, int section, const char *text, const char *name, ds_error *e)
{
    const char *base = NULL;
    target t = {.settings = s, .base = &base, .section = section};
    const ds_ini_handler handler = handler_of(&t);
    return ds_ini_parse(ds_section_names[section], text, strlen(text), DS_INI_FILE_LIMIT, name, &handler, e);
}

int ds_settings_read(ds_settings *s, const char *path, ds_error *e)
{
    char *folder = NULL;
    target t = {.settings = s, .base = (const char *const *)&folder};
    const ds_ini_handler handler = handler_of(&t);
    int status = ds_ini_read(path, DS_INI_FILE_LIMIT, &handler, &folder, e);
    free(folder);
    return status;
}

int ds_settings_read_record(ds_settings *s, const char *path, ds_error *e)
{
    int rc = ds_settings_read(s, path, e);
    for (int k = 0; k < DS_SECTIONS; k++) {
        for (size_t i = 0; i < s->section[k].count; i++) {
            ds_setting *one = &s->section[k].item[i];
            one->layer = one->layer == DS_LAYER_FILE ? DS_LAYER_RECORD : one->layer;
        }
    }
    return rc;
}
