/* SPDX-License-Identifier: Apache-2.0 */
/* inifile.c - the lines of an .ini file: tests their shape, cuts comments off, and joins continued values. */
#include "config.h"

#include "config/inifile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"

enum { ORIGIN_SIZE = 300 };

/* State of one parse: the line at hand, and the value in hand, which the next lines may continue. */
typedef struct reader {
    int line;
    const char *name;
    const ds_ini_handler *handler;
    ds_error *e;
    int status;
    int in_section;
    int have_key;
    char key[DS_INI_NAME_LIMIT + 1];
    char origin[ORIGIN_SIZE];
    char *value;
    size_t length, capacity;
    int more;
} reader;

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

void ds_ini_trim(const char **s, size_t *n)
{
    while (*n > 0 && is_blank((*s)[*n - 1])) {
        --*n;
    }
    while (*n > 0 && is_blank(**s)) {
        ++*s;
        --*n;
    }
}

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

/* Appends to the value in hand, in time proportional to the text. */
static int append(reader *r, const char *text, size_t n)
{
    if (r->length + n + 2 > r->capacity) {
        size_t capacity = 2 * (r->length + n + 2);
        char *grown = realloc(r->value, capacity);
        if (grown == NULL) {
            r->status = ds_no_memory(r->e);
            return 0;
        }
        r->value = grown;
        r->capacity = capacity;
    }
    memcpy(r->value + r->length, text, n);
    r->length += n;
    r->value[r->length] = '\0';
    return 1;
}

/* No line can continue the value in hand any more: hands it on. */
static int deliver(reader *r)
{
    if (r->have_key && r->status == 0) {
        r->status = r->handler->value(r->handler->user, r->key, r->value, r->origin, r->more, r->e);
    }
    r->have_key = 0;
    return r->status == 0;
}

static int begin_section(reader *r, const char *s, size_t n)
{
    const char *close = memchr(s, ']', n), *name = s + 1;
    char origin[ORIGIN_SIZE], section[DS_INI_NAME_LIMIT + 1], text[200];
    if (close == NULL) {
        return bad_line(r, "section without ']'");
    }
    size_t length = (size_t)(close++ - name), rest = n - length - 2;
    ds_ini_trim(&close, &rest);
    if (rest > 0 && *close != ';' && *close != '#') {
        return bad_line(r, "text after ']'");
    }
    if (length > DS_INI_NAME_LIMIT) {
        snprintf(text, sizeof text, "section [%.*s...] is longer than %d bytes: split it, or use %.90s", 40,
                 name, DS_INI_NAME_LIMIT, r->handler->sections);
        return bad_line(r, text);
    }
    memcpy(section, name, length);
    section[length] = '\0';
    r->in_section = 1;
    origin_text(r, origin);
    r->status = r->handler->section(r->handler->user, section, origin, r->e);
    return r->status == 0;
}

/* Length of a text without the comment behind it, which begins with a ';' after a blank. */
static size_t before_comment(const char *s, size_t n)
{
    size_t k = 0;
    while (k < n && !(s[k] == ';' && k > 0 && is_blank(s[k - 1]))) {
        k++;
    }
    return k;
}

/* Appends a text to the value in hand, without its comment. */
static int add_text(reader *r, const char *s, size_t n)
{
    n = before_comment(s, n);
    ds_ini_trim(&s, &n);
    return append(r, s, n);
}

/* KEY = VALUE: the value in hand is this one from here on. */
static int begin_value(reader *r, const char *s, size_t n)
{
    char text[160];
    if (!r->in_section) {
        snprintf(text, sizeof text, "a key before the first section: begin with %.90s", r->handler->sections);
        return bad_line(r, text);
    }
    const size_t named = before_comment(s, n);
    size_t key = 0;
    while (key < named && s[key] != '=' && s[key] != ':') {
        key++;
    }
    if (key == named) {
        return bad_line(r, "expected KEY = VALUE");
    }
    const char *value = s + key + 1;
    const size_t length = n - key - 1;
    ds_ini_trim(&s, &key);
    if (key == 0 || key > DS_INI_NAME_LIMIT) {
        return bad_line(r, key == 0 ? "a value without a key" : "the key is longer than 47 bytes");
    }
    memcpy(r->key, s, key);
    r->key[key] = '\0';
    origin_text(r, r->origin);
    r->have_key = 1;
    r->length = 0;
    r->more = 0;
    return add_text(r, value, length);
}

/* Takes one line. 0 = r->status says what is wrong. */
static int take_line(reader *r, const char *s, size_t n)
{
    if (n > DS_INI_LINE_LIMIT) {
        char text[120];
        snprintf(text, sizeof text,
                 "line longer than %d bytes: shorten it; a list may go on in an indented line",
                 DS_INI_LINE_LIMIT);
        return bad_line(r, text);
    }
    if (memchr(s, '\0', n) != NULL) {
        return bad_line(r, "NUL byte: this is not a text file");
    }
    if (!ds_text_is_line(s, n)) {
        return bad_line(r, "not UTF-8 text, or a control character in it");
    }
    const int indented = n > 0 && is_blank(s[0]);
    ds_ini_trim(&s, &n);
    if (n == 0 || s[0] == '#' || s[0] == ';') {
        return 1;
    }
    if (s[0] == '[' && indented) {
        return bad_line(r, "indented section: '[' must be the first character of the line");
    }
    if (indented && r->have_key) {
        r->more = r->more == 0 ? r->line : r->more;
        return append(r, " ", 1) && add_text(r, s, n);
    }
    return deliver(r) && (s[0] == '[' ? begin_section(r, s, n) : begin_value(r, s, n));
}

static void take_lines(reader *r, const char *at, const char *end)
{
    int good = 1;
    if (end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) { /* byte order mark */
        at += 3;
    }
    for (r->line = 1; good && at < end; r->line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((newline != NULL ? newline : end) - at);
        const size_t shown = n > 0 && at[n - 1] == '\r' ? n - 1 : n;
        good = take_line(r, at, shown);
        at = newline != NULL ? newline + 1 : end;
    }
}

int ds_ini_parse(const char *section, const char *text, size_t length, size_t limit, const char *name,
                 const ds_ini_handler *handler, ds_error *e)
{
    reader r = {.name = name, .handler = handler, .e = e, .in_section = section != NULL};
    if (length > limit) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: %zu bytes, an .ini file may have at most %zu", name, length,
                       limit);
    }
    take_lines(&r, text, text + length);
    deliver(&r);
    free(r.value);
    return r.status;
}

int ds_ini_read(const char *path, size_t limit, const ds_ini_handler *handler, char **folder, ds_error *e)
{
    struct stat st;
    void *text = NULL;
    size_t length = 0;
    *folder = NULL;
    if (stat(path, &st) != 0 || (S_ISREG(st.st_mode) && (*folder = realpath(path, NULL)) == NULL)) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: cannot be opened: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: %s, expected an .ini file", path,
                       S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
    }
    char *slash = strrchr(*folder, '/');
    slash[slash == *folder] = '\0';
    int status = ds_file_read(path, limit, &text, &length, DS_EXIT_CONFIG, e);
    status = status != 0 ? status : ds_ini_parse(NULL, text, length, limit, path, handler, e);
    free(text);
    return status;
}
