/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - reads .ini files (through inih) and --set into lists of key = value with their origin. */
#include "config.h"

#include "settings.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "text.h"

enum {
    LINE_LIMIT = 197, /* inih keeps 199 bytes of a line and hands a cut one on as if it were whole */
    NAME_LIMIT = 47,
    FILE_LIMIT = 1 << 20,
    KEY_LIMIT = 4096, /* keys of one section: no schema has as many, and look-up is linear */
    ORIGIN_SIZE = 300
};

const char *const ds_section_names[DS_SECTIONS] = {"run", "env", "opt", "landscape"};

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

static int no_memory(ds_error *e)
{
    return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
}

/* Appends *fresh to a section, which then owns its texts. */
static int append(ds_section *sec, const ds_setting *fresh, ds_error *e)
{
    if (sec->count == KEY_LIMIT) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: more than %d keys in one section", fresh->origin, KEY_LIMIT);
    }
    if (sec->count == sec->capacity) {
        size_t capacity = sec->capacity == 0 ? 16 : 2 * sec->capacity;
        ds_setting *grown = realloc(sec->item, capacity * sizeof *grown);
        if (grown == NULL) {
            return no_memory(e);
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
    ds_setting fresh = {.status = status, .layer = layer};
    int failed;

    if (old != NULL && layer == DS_LAYER_FILE) {
        return ds_fail(e, status, "%s: '%s' is set twice (first at %s): remove one", origin, key,
                       old->origin);
    }
    fresh.key = strdup(key);
    fresh.value = strdup(value);
    fresh.origin = strdup(origin);
    fresh.base = base != NULL ? strdup(base) : NULL;
    if (fresh.key == NULL || fresh.value == NULL || fresh.origin == NULL ||
        (base != NULL && fresh.base == NULL)) {
        failed = no_memory(e);
    } else if (old != NULL) {
        free_setting(old);
        *old = fresh;
        return 0;
    } else {
        failed = append(sec, &fresh, e);
    }
    if (failed != 0) {
        free_setting(&fresh);
    }
    return failed;
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

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Drops blanks at both ends of the part at *s of *n bytes. */
static void trim(const char **s, size_t *n)
{
    while (*n > 0 && is_blank((*s)[*n - 1])) {
        --*n;
    }
    while (*n > 0 && is_blank(**s)) {
        ++*s;
        --*n;
    }
}

int ds_settings_set(ds_settings *s, const char *assignment, ds_error *e)
{
    const char *equals = strchr(assignment, '=');
    const char *dot = strchr(assignment, '.');
    char key[NAME_LIMIT + 1], origin[NAME_LIMIT + 32];

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
    trim(&name, &length);
    trim(&value, &value_length);
    int section = section_number(assignment, (size_t)(dot - assignment));
    if (section < 0) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "--set %.200s: unknown section '%.*s': use run, env, opt or landscape", assignment,
                       dot - assignment < 60 ? (int)(dot - assignment) : 60, assignment);
    }
    if (length == 0 || length > NAME_LIMIT) {
        return ds_fail(e, DS_EXIT_CONFIG, "--set %.200s: the key has %zu bytes, 1 to %d are possible",
                       assignment, length, NAME_LIMIT);
    }
    memcpy(key, name, length);
    key[length] = '\0';
    snprintf(origin, sizeof origin, "--set %s.%s", ds_section_names[section], key);
    char *copy = strndup(value, value_length);
    if (copy == NULL) {
        return no_memory(e);
    }
    int status = ds_settings_add(s, section, key, copy, origin, NULL, DS_EXIT_CONFIG, DS_LAYER_SET, e);
    free(copy);
    return status;
}

/* ---- .ini files ---- */

/* State of one parse: the text that is left, and what the line reader saw. */
typedef struct reader {
    const char *at, *end;
    int line;
    int indented; /* the line last handed out began with a blank */
    const char *name, *base;
    ds_settings *settings;
    ds_error *e;
    int status;
    int section;  /* DS_SECTION_*, -1 before the first */
    int have_key; /* an indented line continues the value that was added last */
    size_t length, capacity; /* of that value, once it was continued; else 0 */
} reader;

/* "runs.ini:12"; the beginning of a very long file name is left out. */
static void origin_text(const reader *r, char out[ORIGIN_SIZE])
{
    size_t n = strlen(r->name), most = ORIGIN_SIZE - 20;
    snprintf(out, ORIGIN_SIZE, "%s%s:%d", n > most ? "..." : "", n > most ? r->name + n - most : r->name,
             r->line);
}

static int bad_line(reader *r, const char *what)
{
    char origin[ORIGIN_SIZE];
    if (r->status == 0) {
        origin_text(r, origin);
        r->status = ds_fail(r->e, DS_EXIT_CONFIG, "%s: %s", origin, what);
    }
    return 0;
}

static int check_section(reader *r, const char *s, size_t n)
{
    const char *close = memchr(s, ']', n);
    char text[160];

    if (close == NULL) {
        return bad_line(r, "section without ']'");
    }
    const char *rest = close + 1;
    size_t length = (size_t)(close - s) - 1, rest_length = n - length - 2;
    trim(&rest, &rest_length);
    if (rest_length > 0 && *rest != ';' && *rest != '#') {
        return bad_line(r, "text after ']'");
    }
    r->section = section_number(s + 1, length);
    r->have_key = 0;
    if (r->section < 0) {
        snprintf(text, sizeof text, "unknown section [%.*s]: use [run], [env], [opt] or [landscape]",
                 length < 60 ? (int)length : 60, s + 1);
        return bad_line(r, text);
    }
    return 1;
}

/* Tests the shape of a line before inih sees it, because inih would accept too much. */
static int check_line(reader *r, const char *s, size_t n)
{
    if (memchr(s, '\0', n) != NULL) {
        return bad_line(r, "NUL byte: this is not a text file");
    }
    if (!ds_text_is_line(s, n)) {
        return bad_line(r, "not UTF-8 text, or a control character in it");
    }
    r->indented = n > 0 && is_blank(s[0]);
    trim(&s, &n);
    if (n == 0 || s[0] == '#' || s[0] == ';') {
        return 1;
    }
    if (s[0] == '[') {
        /* inih takes an indented section for a part of the value above. */
        return r->indented ? bad_line(r, "indented section: '[' must be the first character of the line")
                           : check_section(r, s, n);
    }
    if (r->indented && r->have_key) {
        return 1;
    }
    if (r->section < 0) {
        return bad_line(r, "a key before the first section: begin with [run], [env], [opt] or [landscape]");
    }
    size_t key = 0;
    while (key < n && s[key] != '=' && s[key] != ':') {
        key++;
    }
    if (key == n) {
        return bad_line(r, "expected KEY = VALUE");
    }
    trim(&s, &key);
    if (key == 0 || key > NAME_LIMIT) {
        return bad_line(r, key == 0 ? "a value without a key" : "the key is longer than 47 bytes");
    }
    return 1;
}

/* inih asks for lines in the manner of fgets. */
static char *next_line(char *buffer, int size, void *stream)
{
    reader *r = stream;
    if (r->status != 0 || r->at == r->end) {
        return NULL;
    }
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    const char *stop = newline != NULL ? newline : r->end;
    size_t n = (size_t)(stop - r->at);
    const char *line = r->at;
    r->at = newline != NULL ? newline + 1 : r->end;
    r->line++;
    if (r->line == 1 && n >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) { /* byte order mark */
        line += 3;
        n -= 3;
    }
    if (n > 0 && line[n - 1] == '\r') {
        n--;
    }
    if (n > LINE_LIMIT || n + 2 > (size_t)size) {
        bad_line(r, "line longer than 197 bytes: shorten it; a list may go on in an indented line");
        return NULL;
    }
    if (!check_line(r, line, n)) {
        return NULL;
    }
    memcpy(buffer, line, n);
    buffer[n] = '\n';
    buffer[n + 1] = '\0';
    return buffer;
}

/* Appends to the value that was added last, in time proportional to the text. */
static int continue_value(reader *r, const char *value)
{
    ds_section *sec = &r->settings->section[r->section];
    ds_setting *last = &sec->item[sec->count - 1];
    size_t n = 0;

    /* Not every version of inih takes comments out of such lines. */
    while (value[n] != '\0' && !(value[n] == ';' && n > 0 && is_blank(value[n - 1]))) {
        n++;
    }
    trim(&value, &n);
    if (r->length == 0) {
        r->length = strlen(last->value);
        r->capacity = r->length + 1;
        last->more = r->line;
    }
    if (r->length + n + 2 > r->capacity) {
        size_t capacity = 2 * (r->length + n + 2);
        char *grown = realloc(last->value, capacity);
        if (grown == NULL) {
            r->status = no_memory(r->e);
            return 0;
        }
        last->value = grown;
        r->capacity = capacity;
    }
    last->value[r->length] = ' ';
    memcpy(last->value + r->length + 1, value, n);
    r->length += n + 1;
    last->value[r->length] = '\0';
    return 1;
}

static int on_value(void *user, const char *section, const char *key, const char *value)
{
    reader *r = user;
    char origin[ORIGIN_SIZE];

    if (r->status != 0) {
        return 0;
    }
    /* Our reading of the line and inih's must agree. */
    if (r->section < 0 || section_number(section, strlen(section)) != r->section || value == NULL) {
        return bad_line(r, "expected KEY = VALUE inside [run], [env], [opt] or [landscape]");
    }
    if (r->indented && r->have_key) {
        return continue_value(r, value);
    }
    origin_text(r, origin);
    r->status = ds_settings_add(r->settings, r->section, key, value, origin, r->base, DS_EXIT_CONFIG,
                                DS_LAYER_FILE, r->e);
    r->have_key = 1;
    r->length = 0;
    return r->status == 0;
}

int ds_settings_parse(ds_settings *s, const char *text, size_t length, const char *name, const char *base,
                      ds_error *e)
{
    reader r = {
        .at = text, .end = text + length, .name = name, .base = base, .settings = s, .e = e, .section = -1};

    if (length > FILE_LIMIT) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: %zu bytes, an .ini file may have at most %d", name, length,
                       FILE_LIMIT);
    }
    int bad = ini_parse_stream(next_line, &r, on_value, &r);
    if (r.status == 0 && bad != 0) {
        r.line = bad;
        r.status = bad == -2 ? no_memory(e) : (bad_line(&r, "expected KEY = VALUE"), r.status);
    }
    return r.status;
}

int ds_settings_read(ds_settings *s, const char *path, ds_error *e)
{
    struct stat st;
    void *text = NULL;
    size_t length = 0;

    if (stat(path, &st) != 0) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: cannot be opened: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: %s, expected an .ini file", path,
                       S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
    }
    int status = ds_file_read(path, FILE_LIMIT, &text, &length, DS_EXIT_CONFIG, e);
    if (status != 0) {
        return status;
    }
    char *base = realpath(path, NULL);
    if (base == NULL) {
        status = ds_fail(e, DS_EXIT_CONFIG, "%s: cannot be opened: %s", path, strerror(errno));
    } else {
        char *slash = strrchr(base, '/');
        slash[slash == base ? 1 : 0] = '\0';
        status = ds_settings_parse(s, text, length, path, base, e);
    }
    free(text);
    free(base);
    return status;
}
