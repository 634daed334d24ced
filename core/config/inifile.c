/* SPDX-License-Identifier: Apache-2.0 */
/* inifile.c - checks every line before inih sees it, and joins continued values.
 *
 * inih keeps 199 bytes of a line and passes on a cut line as if it were whole. A longer line therefore goes
 * to inih in pieces: the first ends with MARK, each later one is an indented continuation between two MARKs.
 * MARK is a control character, which the text of a file cannot contain, and it keeps inih from trimming
 * blanks at the cuts. */
#include "config.h"

#include "config/inifile.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"

enum {
    PIECE = 180, /* bytes of a line that inih gets at once */
    MARK = '\x01',
    ORIGIN_SIZE = 300
};

/* State of one parse: the remaining text, the rest of a long line, what the line reader saw, and the current
 * value, which the next lines may continue. */
typedef struct reader {
    const char *at, *end;
    const char *rest;
    size_t rest_length;
    int line;
    int indented; /* the last line passed on began with a blank */
    const char *name;
    const ds_ini_handler *handler;
    ds_error *e;
    int status;
    int in_section, named; /* by a [NAME] in the text */
    char section[DS_INI_NAME_LIMIT + 1];
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

/* "runs.ini:12"; drops the beginning of a very long file name. */
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

/* Appends to the current value, in time proportional to the text. */
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

/* Passes on the current value: no line can continue it now. */
static int deliver(reader *r)
{
    if (r->have_key && r->status == 0) {
        const char *value = r->value;
        size_t n = r->length;
        ds_ini_trim(&value, &n);
        r->value[(size_t)(value - r->value) + n] = '\0';
        r->status = r->handler->value(r->handler->user, r->key, value, r->origin, r->more, r->e);
    }
    r->have_key = 0;
    return r->status == 0;
}

/* Length of a text without its comment, which begins with a ';' after a blank. */
static size_t before_comment(const char *s, size_t n)
{
    size_t k = 0;
    while (k < n && !(s[k] == ';' && k > 0 && is_blank(s[k - 1]))) {
        k++;
    }
    return k;
}

static int begin_section(reader *r, const char *s, size_t n)
{
    const char *close = memchr(s, ']', n), *name = s + 1;
    char origin[ORIGIN_SIZE], text[200];
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
    memcpy(r->section, name, length);
    r->section[length] = '\0';
    r->in_section = r->named = 1;
    origin_text(r, origin);
    r->status = r->handler->section(r->handler->user, r->section, origin, r->e);
    return r->status == 0;
}

/* Checks a line before inih sees it, because inih accepts too much. */
static int check_line(reader *r, const char *s, size_t n)
{
    char text[160];
    if (memchr(s, '\0', n) != NULL) {
        return bad_line(r, "NUL byte: this is not a text file");
    }
    if (!ds_text_is_line(s, n)) {
        return bad_line(r, "not UTF-8 text, or a control character in it");
    }
    r->indented = n > 0 && is_blank(s[0]);
    ds_ini_trim(&s, &n);
    if (n == 0 || s[0] == '#' || s[0] == ';') {
        return 1;
    }
    if (s[0] == '[' && r->indented) {
        /* inih takes an indented section for a part of the value above. */
        return bad_line(r, "indented section: '[' must be the first character of the line");
    }
    if (r->indented && r->have_key) {
        return 1;
    }
    if (!deliver(r) || s[0] == '[') {
        return r->status == 0 && begin_section(r, s, n);
    }
    if (!r->in_section) {
        snprintf(text, sizeof text, "a key before the first section: begin with %.90s", r->handler->sections);
        return bad_line(r, text);
    }
    size_t key = 0;
    while (key < n && s[key] != '=' && s[key] != ':') {
        key++;
    }
    if (key == n) {
        return bad_line(r, "expected KEY = VALUE");
    }
    ds_ini_trim(&s, &key);
    if (key == 0 || key > DS_INI_NAME_LIMIT) {
        return bad_line(r, key == 0 ? "a value without a key" : "the key is longer than 47 bytes");
    }
    return 1;
}

/* Copies n bytes of a line to inih's buffer, with a MARK before them where `later`, and after them where
 * `marked`. */
static char *hand_out(char *buffer, const char *s, size_t n, int later, int marked)
{
    char *to = buffer;
    if (later) {
        *to++ = ' ';
        *to++ = MARK;
    }
    memcpy(to, s, n);
    to += n;
    if (marked) {
        *to++ = MARK;
    }
    memcpy(to, "\n", 2);
    return buffer;
}

/* The next piece of a long line. */
static char *next_piece(reader *r, char *buffer, int later)
{
    const char *s = r->rest;
    const size_t n = r->rest_length < PIECE ? r->rest_length : PIECE;
    r->rest += n;
    r->rest_length -= n;
    return hand_out(buffer, s, n, later, 1);
}

/* inih reads lines through this function as through fgets(). */
static char *next_line(char *buffer, int size, void *stream)
{
    reader *r = stream;
    if (r->status != 0 || size < PIECE + 8) {
        return NULL;
    }
    if (r->rest_length > 0) {
        return next_piece(r, buffer, 1);
    }
    if (r->at == r->end) {
        return NULL;
    }
    const char *line = r->at, *newline = memchr(line, '\n', (size_t)(r->end - line));
    size_t n = (size_t)((newline != NULL ? newline : r->end) - line);
    r->at = newline != NULL ? newline + 1 : r->end;
    r->line++;
    if (r->line == 1 && n >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) { /* byte order mark */
        line += 3;
        n -= 3;
    }
    if (n > 0 && line[n - 1] == '\r') {
        n--;
    }
    if (n > DS_INI_LINE_LIMIT) {
        char text[120];
        snprintf(text, sizeof text,
                 "line longer than %d bytes: shorten it; a list may continue in an indented line",
                 DS_INI_LINE_LIMIT);
        bad_line(r, text);
        return NULL;
    }
    if (!check_line(r, line, n)) {
        return NULL;
    }
    if (n <= PIECE) {
        return hand_out(buffer, line, n, 0, 0);
    }
    const char *shown = line;
    size_t length = n;
    ds_ini_trim(&shown, &length);
    if (length == 0 || *shown == '#' || *shown == ';') {
        return hand_out(buffer, line, 0, 0, 0);
    }
    n = *line == '[' ? (size_t)((const char *)memchr(line, ']', n) + 1 - line) : before_comment(line, n);
    while (n > 0 && is_blank(line[n - 1])) {
        n--;
    }
    /* A value does not include the indentation of its line. */
    const size_t indent = (size_t)(shown - line);
    r->rest = indent > 0 ? shown - 1 : line;
    r->rest_length = n - (size_t)(r->rest - line);
    if (r->rest_length <= PIECE) {
        char *out = hand_out(buffer, r->rest, r->rest_length, 0, 0);
        r->rest_length = 0;
        return out;
    }
    return next_piece(r, buffer, 0);
}

/* Appends a value or a part of it without its MARKs. */
static int append_piece(reader *r, const char *value)
{
    size_t n = strlen(value);
    n -= n > 0 && value[n - 1] == MARK;
    return append(r, value, n);
}

static int continue_value(reader *r, const char *value)
{
    if (*value == MARK) {
        return append_piece(r, value + 1);
    }
    /* Not every version of inih removes comments from such lines. */
    size_t n = before_comment(value, strlen(value));
    n -= n > 0 && value[n - 1] == MARK;
    r->more = r->more == 0 ? r->line : r->more;
    return append(r, " ", 1) && append(r, value, n);
}

static int on_value(void *user, const char *section, const char *key, const char *value)
{
    reader *r = user;
    if (r->status != 0) {
        return 0;
    }
    /* Our reading of the line and inih's must agree. */
    if (!r->in_section || strcmp(section, r->named ? r->section : "") != 0 || value == NULL ||
        strlen(key) > DS_INI_NAME_LIMIT) {
        return bad_line(r, "expected KEY = VALUE inside a section");
    }
    if ((value[0] == MARK && value[1] != '\0') || (r->indented && r->have_key)) {
        return continue_value(r, value);
    }
    origin_text(r, r->origin);
    strcpy(r->key, key);
    r->have_key = 1;
    r->length = 0;
    r->more = 0;
    return append_piece(r, value);
}

int ds_ini_parse(const char *section, const char *text, size_t length, size_t limit, const char *name,
                 const ds_ini_handler *handler, ds_error *e)
{
    reader r = {.at = text, .end = text + length, .name = name, .handler = handler, .e = e};
    if (section != NULL) {
        snprintf(r.section, sizeof r.section, "%s", section);
        r.in_section = 1;
    }
    if (length > limit) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: %zu bytes, an .ini file may have at most %zu", name, length,
                       limit);
    }
    int bad = ini_parse_stream(next_line, &r, on_value, &r);
    if (r.status == 0 && bad != 0) {
        r.line = bad;
        r.status = bad == -2 ? ds_no_memory(e) : (bad_line(&r, "expected KEY = VALUE"), r.status);
    }
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
