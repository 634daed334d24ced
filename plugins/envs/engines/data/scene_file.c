/* SPDX-License-Identifier: Apache-2.0 */
/* scene_file.c - checks every line before inih sees it, because inih cuts long lines and names silently, and
 * collects sections and keys. */
#include "engines/data/scene_file.h"

#include <diffsim/helper/nearest.h>
#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 16, ASKED = 64, LONGEST_FILE = 1 << 20 };

typedef struct entry {
    char key[SCENE_NAME + 1];
    char *value, *resolved; /* the path that the value means, once asked for */
    uint32_t line, file;
    bool used;
} entry;

struct scene_section {
    char kind[SCENE_NAME + 1], name[SCENE_NAME + 1];
    uint32_t line, file;
    size_t count, room;
    entry *entries;
    size_t n_asked;
    const char *asked[ASKED]; /* names of constants of the caller */
};

struct scene_file {
    char error[SCENE_ERROR];
    bool failed;
    const char *variables; /* NULL, or what can be a variable */
    uint32_t n_files;
    char *path[FILES];
    size_t count, room;
    scene_section **sections;
    /* of the file that is being read */
    const char *at, *end;
    uint32_t line, file;
    bool indented;
    scene_section *current;
    entry *last;
};

/* ---- messages ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void fail_at(scene_file *f, uint32_t file, uint32_t line, const char *format, va_list list)
{
    if (f->failed) {
        return;
    }
    f->failed = true;
    int n = snprintf(f->error, sizeof f->error, line > 0 ? "%.200s:%u: " : "%.200s: ",
                     base_name(file < f->n_files ? f->path[file] : "scene"), line);
    vsnprintf(f->error + n, sizeof f->error - (size_t)n, format, list);
}

DS_PRINTF(2, 3)
static void fail_here(scene_file *f, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fail_at(f, f->file, f->line, format, list);
    va_end(list);
}

static entry *entry_of(const scene_section *s, const char *key)
{
    for (size_t i = 0; s && i < s->count; i++) {
        if (strcmp(s->entries[i].key, key) == 0) {
            return &s->entries[i];
        }
    }
    return NULL;
}

void scene_fail(scene_file *f, const scene_section *s, const char *key, const char *format, ...)
{
    const entry *e = key ? entry_of(s, key) : NULL;
    va_list list;
    va_start(list, format);
    fail_at(f, e ? e->file : s ? s->file : 0, e ? e->line : s ? s->line : 0, format, list);
    va_end(list);
}

bool scene_failed(const scene_file *f)
{
    return f->failed;
}

const char *scene_error(const scene_file *f)
{
    return f->error;
}

const char *scene_file_name(const scene_file *f)
{
    return base_name(f->path[0]);
}

/* "[body dough]" */
static const char *label(const scene_section *s, char out[2 * SCENE_NAME + 4])
{
    snprintf(out, 2 * SCENE_NAME + 4, s->name[0] ? "[%s %s]" : "[%s]", s->kind, s->name);
    return out;
}

/* ---- form ---- */

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char **s, size_t *n)
{
    while (*n > 0 && blank((*s)[*n - 1])) {
        --*n;
    }
    while (*n > 0 && blank(**s)) {
        ++*s;
        --*n;
    }
}

static void put_name(char out[SCENE_NAME + 1], const char *s, size_t n)
{
    memcpy(out, s, n);
    out[n] = '\0';
}

static void begin_section(scene_file *f, const char *s, size_t n)
{
    const char *close = memchr(s, ']', n);
    if (!close) {
        fail_here(f, "section without ']'");
        return;
    }
    const char *kind = s + 1;
    size_t length = (size_t)(close - kind), first = 0;
    trim(&kind, &length);
    while (first < length && !blank(kind[first])) {
        first++;
    }
    const char *name = kind + first;
    size_t rest = length - first;
    trim(&name, &rest);
    if (first == 0 || first > SCENE_NAME || rest > SCENE_NAME) {
        fail_here(f, "a section is [kind] or [kind name], each of at most %d bytes", SCENE_NAME);
        return;
    }
    scene_section *own = calloc(1, sizeof *own);
    if (own) {
        put_name(own->kind, kind, first);
        put_name(own->name, name, rest);
        own->line = f->line;
        own->file = f->file;
    }
    for (size_t i = 0; own && i < f->count; i++) {
        scene_section *other = f->sections[i];
        if (strcmp(other->kind, own->kind) == 0 && strcmp(other->name, own->name) == 0) {
            char text[2 * SCENE_NAME + 4];
            if (other->file == own->file) {
                fail_here(f, "section %s again: it begins in line %u", label(other, text), other->line);
            }
            free(own);
            f->current = other; /* an included file adds keys to it */
            return;
        }
    }
    if (f->count == f->room) {
        size_t room = 2 * f->room + 8;
        scene_section **grown = realloc(f->sections, room * sizeof(scene_section *));
        if (grown) {
            f->sections = grown;
            f->room = room;
        }
    }
    if (!own || f->count == f->room) {
        free(own);
        fail_here(f, "no memory");
        return;
    }
    f->sections[f->count++] = own;
    f->current = own;
}

/* Checks the line before inih gets it. */
static void check_line(scene_file *f, const char *s, size_t n)
{
    if (n > SCENE_LINE) {
        fail_here(f, "line of more than %d bytes: continue the value in an indented line", SCENE_LINE);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)s[i] < ' ' && s[i] != '\t' && s[i] != '\r') {
            fail_here(f, "a control character: this is not a text file");
            return;
        }
    }
    f->indented = n > 0 && blank(s[0]);
    trim(&s, &n);
    if (n == 0 || s[0] == '#' || s[0] == ';') {
        return;
    }
    if (s[0] == '[' && f->indented) {
        fail_here(f, "indented section: '[' must be the first character of the line");
    } else if (s[0] == '[') {
        f->last = NULL;
        begin_section(f, s, n);
    } else if (f->indented && !f->last) {
        fail_here(f, "an indented line continues a value, and there is none above it");
    } else if (!f->indented) {
        size_t key = 0; /* the text has no end of its own */
        while (key < n && s[key] != '=' && s[key] != ':') {
            key++;
        }
        const char *name = s;
        size_t length = key;
        trim(&name, &length);
        if (!f->current) {
            fail_here(f, "a key before the first section: begin with [scene]");
        } else if (key == n || length == 0) {
            fail_here(f, "expected KEY = VALUE");
        } else if (length > SCENE_NAME) {
            fail_here(f, "a key of more than %d bytes", SCENE_NAME);
        }
    }
}

/* inih's reader: the next line. */
static char *next_line(char *buffer, int size, void *user)
{
    scene_file *f = user;
    if (f->failed || f->at >= f->end) {
        return NULL;
    }
    const char *newline = memchr(f->at, '\n', (size_t)(f->end - f->at)), *stop = newline ? newline : f->end;
    size_t n = (size_t)(stop - f->at);
    f->line++;
    check_line(f, f->at, n);
    if (f->failed || n + 2 > (size_t)size) {
        return NULL;
    }
    memcpy(buffer, f->at, n);
    buffer[n] = '\n';
    buffer[n + 1] = '\0';
    f->at = newline ? newline + 1 : f->end;
    return buffer;
}

static int continue_value(scene_file *f, const char *value)
{
    entry *e = f->last;
    size_t n = strlen(e->value), more = strlen(value);
    char *grown = realloc(e->value, n + more + 2);
    if (!grown) {
        fail_here(f, "no memory");
        return 0;
    }
    grown[n] = ' ';
    memcpy(grown + n + 1, value, more + 1);
    e->value = grown;
    return 1;
}

/* inih's handler. */
static int take(void *user, const char *section, const char *key, const char *value)
{
    scene_file *f = user;
    scene_section *s = f->current;
    (void)section;
    if (f->failed || !s) {
        return 0;
    }
    if (f->indented && f->last) {
        return continue_value(f, value);
    }
    entry *e = entry_of(s, key);
    if (e && e->file == f->file) {
        fail_here(f, "key '%s' again: it is in line %u", key, e->line);
        return 0;
    }
    if (!e || (strcmp(s->kind, "scene") == 0 && strcmp(key, "include") == 0)) {
        if (s->count == s->room) {
            size_t room = 2 * s->room + 8;
            entry *grown = realloc(s->entries, room * sizeof *grown);
            if (!grown) {
                fail_here(f, "no memory");
                return 0;
            }
            s->entries = grown;
            s->room = room;
        }
        e = &s->entries[s->count];
        *e = (entry){.value = strdup(value), .line = f->line, .file = f->file};
        put_name(e->key, key, strlen(key));
        s->count += e->value != NULL;
        if (!e->value) {
            fail_here(f, "no memory");
            return 0;
        }
        f->last = e;
    } else {
        f->last = NULL; /* the including file wins */
        f->indented = false;
    }
    return 1;
}

static char *join(const char *folder_of, const char *relative)
{
    const char *slash = strrchr(folder_of, '/');
    size_t n = relative[0] == '/' || !slash ? 0 : (size_t)(slash - folder_of) + 1, more = strlen(relative);
    char *out = malloc(n + more + 1);
    if (out) {
        memcpy(out, folder_of, n);
        memcpy(out + n, relative, more + 1);
    }
    return out;
}

static void parse(scene_file *f, const char *text, size_t length)
{
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        length -= 3;
    }
    f->at = text;
    f->end = text + length;
    f->line = 0;
    f->current = NULL;
    f->last = NULL;
    int bad = ini_parse_stream(next_line, f, take, f);
    if (bad != 0 && !f->failed) {
        fail_here(f, "this line cannot be read (%d)", bad);
    }
}

static void parse_file(scene_file *f)
{
    const char *path = f->path[f->file];
    f->line = 0;
    FILE *in = fopen(path, "rb");
    if (!in) {
        fail_here(f, "cannot be opened: %s", strerror(errno));
        return;
    }
    char *text = malloc(LONGEST_FILE + 1);
    size_t n = text ? fread(text, 1, LONGEST_FILE + 1, in) : 0;
    if (!text) {
        fail_here(f, "no memory");
    } else if (ferror(in)) {
        fail_here(f, "cannot be read: %s", strerror(errno));
    } else if (n > LONGEST_FILE) {
        fail_here(f, "more than %d bytes: this is not a scene file", LONGEST_FILE);
    } else {
        parse(f, text, n);
    }
    free(text);
    fclose(in);
}

/* Reads what [scene] includes, one file after the other; later files may include more. */
static void parse_includes(scene_file *f)
{
    for (size_t at = 0; !f->failed; at++) {
        const scene_section *s = scene_find(f, "scene", "");
        size_t i = 0, seen = 0;
        for (; s && i < s->count; i++) {
            if (strcmp(s->entries[i].key, "include") == 0 && seen++ == at) {
                break;
            }
        }
        if (!s || i == s->count) {
            return;
        }
        entry *e = &s->entries[i];
        e->used = true;
        if (f->n_files == FILES) {
            scene_fail(f, s, "include", "more than %d included files: do they include each other?",
                       FILES - 1);
            return;
        }
        char *path = join(f->path[e->file], e->value);
        if (!path) {
            scene_fail(f, s, "include", "no memory");
            return;
        }
        f->path[f->n_files] = path;
        f->file = f->n_files++;
        parse_file(f);
    }
}

static scene_file *open_scene(char *path)
{
    scene_file *f = path ? calloc(1, sizeof *f) : NULL;
    if (!f) {
        free(path);
        return NULL;
    }
    f->path[f->n_files++] = path;
    return f;
}

scene_file *scene_file_read(const char *path)
{
    scene_file *f = open_scene(strdup(path));
    if (f) {
        parse_file(f);
        parse_includes(f);
    }
    return f;
}

scene_file *scene_file_parse(const char *text, size_t length, const char *name, const char *folder)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);
    if (path) {
        snprintf(path, n, folder[0] ? "%s/%s" : "%s%s", folder, name);
    }
    scene_file *f = open_scene(path);
    if (f) {
        parse(f, text, length);
        parse_includes(f);
    }
    return f;
}

void scene_file_free(scene_file *f)
{
    for (size_t i = 0; f && i < f->count; i++) {
        for (size_t k = 0; k < f->sections[i]->count; k++) {
            free(f->sections[i]->entries[k].value);
            free(f->sections[i]->entries[k].resolved);
        }
        free(f->sections[i]->entries);
        free(f->sections[i]);
    }
    for (uint32_t i = 0; f && i < f->n_files; i++) {
        free(f->path[i]);
    }
    if (f) {
        free(f->sections);
        free(f);
    }
}

/* ---- sections ---- */

const scene_section *scene_next(scene_file *f, const scene_section *last, const char *kind)
{
    bool after = last == NULL;
    for (size_t i = 0; i < f->count; i++) {
        scene_section *s = f->sections[i];
        if (after && strcmp(s->kind, kind) == 0) {
            return s;
        }
        after = after || s == last;
    }
    return NULL;
}

const scene_section *scene_find(scene_file *f, const char *kind, const char *name)
{
    for (size_t i = 0; i < f->count; i++) {
        scene_section *s = f->sections[i];
        if (strcmp(s->kind, kind) == 0 && strcmp(s->name, name) == 0) {
            return s;
        }
    }
    return NULL;
}

const char *scene_name(const scene_section *s)
{
    return s->name;
}

/* ---- values ---- */

/* Notes that the caller knows the key. */
static entry *ask(scene_file *f, const scene_section *section, const char *key)
{
    if (!section || f->failed) {
        return NULL;
    }
    scene_section *s = NULL;
    for (size_t i = 0; i < f->count && !s; i++) {
        s = f->sections[i] == section ? f->sections[i] : NULL;
    }
    bool known = false;
    for (size_t i = 0; s && i < s->n_asked; i++) {
        known = known || strcmp(s->asked[i], key) == 0;
    }
    if (s && !known && s->n_asked < ASKED) {
        s->asked[s->n_asked++] = key;
    }
    entry *e = entry_of(s, key);
    if (e) {
        e->used = true;
    }
    return e;
}

bool scene_has(scene_file *f, const scene_section *s, const char *key)
{
    return ask(f, s, key) != NULL;
}

/* A key that nobody has asked for and that is almost this one; mistakes are rarely in the first letter. */
static const entry *misspelt(const scene_section *s, const char *key)
{
    for (size_t i = 0; i < s->count; i++) {
        const char *const words[] = {key};
        if (!s->entries[i].used && s->entries[i].key[0] == key[0] &&
            ds_nearest(s->entries[i].key, words, 1)) {
            return &s->entries[i];
        }
    }
    return NULL;
}

bool scene_needs(scene_file *f, const scene_section *s, const char *key)
{
    char text[2 * SCENE_NAME + 4];
    if (ask(f, s, key)) {
        return true;
    }
    const entry *typo = s ? misspelt(s, key) : NULL;
    if (typo) {
        scene_fail(f, s, typo->key, "%s needs the key '%s': did you mean it by '%s'?", label(s, text), key,
                   typo->key);
    } else if (s) {
        scene_fail(f, s, NULL, "%s needs the key '%s'", label(s, text), key);
    }
    return false;
}

static bool decimal_at(const char **s, double *out)
{
    static const char digits[] = "0123456789.+-eE";
    char *end;
    size_t n = strspn(*s, digits);
    char text[64];
    if (n == 0 || n >= sizeof text) {
        return false;
    }
    memcpy(text, *s, n);
    text[n] = '\0';
    const char *dots = strstr(text, "..");
    if (dots) { /* a range */
        n = (size_t)(dots - text);
        text[n] = '\0';
    }
    *out = strtod(text, &end); /* workers have the C locale */
    *s += n;
    return end != text && *end == '\0' && isfinite(*out);
}

/* Reads the number at *s, such as 50 or 10^1.7, and moves *s past it. Returns false where there is none. */
static bool number_at(const char **s, double *out)
{
    if (strncmp(*s, "10^", 3) != 0) {
        return decimal_at(s, out);
    }
    *s += 3;
    const bool good = decimal_at(s, out);
    *out = good ? pow(10.0, *out) : *out;
    return good && isfinite(*out);
}

static void skip_blanks(const char **s)
{
    while (blank(**s) || **s == ',') {
        ++*s;
    }
}

static bool in_range(scene_file *f, const scene_section *s, const char *key, double v, double low,
                     double high)
{
    if (v < low || v > high) {
        scene_fail(f, s, key, "%s = %.9g is out of range: use a value from %.9g to %.9g", key, v, low, high);
        return false;
    }
    return true;
}

scene_quantity scene_quantity_of(scene_file *f, const scene_section *s, const char *key, double low,
                                 double high, double otherwise)
{
    scene_quantity q = {.value = otherwise, .truth = NAN, .lower = low, .upper = high};
    const entry *e = ask(f, s, key);
    if (!e) {
        return q;
    }
    const char *at = e->value;
    if (strncmp(at, "variable", 8) != 0) {
        if (!number_at(&at, &q.value) || *at != '\0') {
            scene_fail(f, s, key,
                       "%s = %.60s: expected a number, or 'variable LOWER..UPPER [log] [start VALUE] [truth "
                       "VALUE]'",
                       key, e->value);
            q.value = otherwise;
        } else if (!in_range(f, s, key, q.value, low, high)) {
            q.value = otherwise;
        }
        return q;
    }
    at += 8;
    skip_blanks(&at);
    bool good = number_at(&at, &q.lower) && strncmp(at, "..", 2) == 0;
    at += good ? 2 : 0;
    good = good && number_at(&at, &q.upper) && q.lower < q.upper;
    skip_blanks(&at);
    if (good && strncmp(at, "log", 3) == 0) {
        q.log = true;
        at += 3;
        good = q.lower > 0.0;
        skip_blanks(&at);
    }
    q.value = q.log && good ? sqrt(q.lower * q.upper) : 0.5 * (q.lower + q.upper);
    if (good && strncmp(at, "start", 5) == 0) {
        at += 5;
        skip_blanks(&at);
        good = number_at(&at, &q.value) && q.value >= q.lower && q.value <= q.upper;
        skip_blanks(&at);
    }
    if (good && strncmp(at, "truth", 5) == 0) {
        at += 5;
        skip_blanks(&at);
        good = number_at(&at, &q.truth) && (!q.log || q.truth > 0.0);
    }
    q.variable = true;
    if (!good || *at != '\0') {
        scene_fail(
            f, s, key,
            "%s = %.60s: expected 'variable LOWER..UPPER [log] [start VALUE] [truth VALUE]' with LOWER "
            "below UPPER, the start between them, and LOWER above 0 with log",
            key, e->value);
    } else if (in_range(f, s, key, q.lower, low, high) && in_range(f, s, key, q.upper, low, high) &&
               !isnan(q.truth)) {
        in_range(f, s, key, q.truth, low, high);
    }
    return q;
}

static void refuse_variable(scene_file *f, const scene_section *s, const char *key)
{
    scene_fail(f, s, key, "%s cannot be a variable: give a number%s%s%s", key,
               f->variables ? " (variables can be: " : "", f->variables ? f->variables : "",
               f->variables ? ")" : "");
}

bool scene_varies(scene_file *f, const scene_section *s, const char *key)
{
    const entry *e = ask(f, s, key);
    return e && strncmp(e->value, "variable", 8) == 0;
}

void scene_variables(scene_file *f, const char *list)
{
    f->variables = list;
}

double scene_number(scene_file *f, const scene_section *s, const char *key, double low, double high,
                    double otherwise)
{
    if (scene_varies(f, s, key)) {
        refuse_variable(f, s, key);
        return otherwise;
    }
    return scene_quantity_of(f, s, key, low, high, otherwise).value;
}

uint32_t scene_whole(scene_file *f, const scene_section *s, const char *key, uint32_t low, uint32_t high,
                     uint32_t otherwise)
{
    double v = scene_number(f, s, key, low, high, otherwise);
    if (v != floor(v)) {
        scene_fail(f, s, key, "%s = %.9g is not a whole number", key, v);
        return otherwise;
    }
    return (uint32_t)v;
}

bool scene_numbers(scene_file *f, const scene_section *s, const char *key, size_t n, bool spread, double low,
                   double high, double *out)
{
    const entry *e = ask(f, s, key);
    size_t count = 0;
    if (!e) {
        return false;
    }
    if (scene_varies(f, s, key)) {
        refuse_variable(f, s, key);
        return true;
    }
    const char *at = e->value;
    for (skip_blanks(&at); *at != '\0'; skip_blanks(&at)) {
        double v;
        if (!number_at(&at, &v) || (*at != '\0' && !blank(*at) && *at != ',')) {
            scene_fail(f, s, key,
                       strstr(e->value, "variable")
                           ? "%s = %.60s: the word 'variable' comes first, then %zu ranges or numbers"
                           : "%s = %.60s: expected %zu numbers",
                       key, e->value, n);
            return true;
        }
        if (!in_range(f, s, key, v, low, high)) {
            return true;
        }
        if (count < n) {
            out[count] = v;
        }
        count++;
    }
    if (count != n && !(spread && count == 1)) {
        scene_fail(f, s, key,
                   spread ? "%s has %zu numbers: give one, or %zu" : "%s has %zu numbers: give %zu", key,
                   count, n);
        return true;
    }
    for (size_t i = 1; count == 1 && i < n; i++) {
        out[i] = out[0];
    }
    return true;
}

size_t scene_list(scene_file *f, const scene_section *s, const char *key, size_t most, double low,
                  double high, double *out)
{
    const entry *e = ask(f, s, key);
    size_t count = 0;
    if (scene_varies(f, s, key)) {
        refuse_variable(f, s, key);
        return 0;
    }
    const char *at = e ? e->value : "";
    for (skip_blanks(&at); *at != '\0'; skip_blanks(&at)) {
        double v;
        if (!number_at(&at, &v) || (*at != '\0' && !blank(*at) && *at != ',')) {
            scene_fail(f, s, key, "%s = %.60s: expected numbers", key, e->value);
            return 0;
        }
        if (!in_range(f, s, key, v, low, high)) {
            return 0;
        }
        if (count == most) {
            scene_fail(f, s, key, "%s has more than %zu numbers", key, most);
            return 0;
        }
        out[count++] = v;
    }
    return count;
}

/* Reads one value for all variables of q, or one for each; `offset`: of the member in scene_quantity. */
static bool values_at(const char **at, size_t n, scene_quantity *q, size_t offset)
{
    double v[SCENE_MOST_QUANTITIES];
    size_t count = 0, variables = 0;
    for (skip_blanks(at); count < n && number_at(at, &v[count]); skip_blanks(at)) {
        count++;
    }
    for (size_t i = 0; i < n; i++) {
        if (q[i].variable) {
            const size_t k = count == 1 ? 0 : variables;
            if (k < count) {
                memcpy((char *)&q[i] + offset, &v[k], sizeof *v);
            }
            variables++;
        }
    }
    return count == variables || count == 1;
}

/* "variable 0..1 0.5 0..2 [log] [start 0 1] [truth 0 1] [random R]", after the first word; else false. */
static bool variables_at(const char *at, size_t n, scene_quantity *q)
{
    size_t count = 0, ranges = 0;
    bool log = false;
    double v, w;
    for (skip_blanks(&at); count < n && number_at(&at, &v); skip_blanks(&at)) {
        q[count].variable = strncmp(at, "..", 2) == 0;
        q[count].value = q[count].lower = q[count].upper = v;
        if (q[count].variable) {
            if (at += 2, !number_at(&at, &w) || !(v < w)) {
                return false;
            }
            q[count].upper = w;
            ranges++;
        }
        count++;
    }
    if (ranges == 0 || (count != n && count != 1)) {
        return false;
    }
    for (size_t i = count; i < n; i++) {
        q[i] = q[0];
    }
    if (strncmp(at, "log", 3) == 0) {
        log = true;
        at += 3;
        skip_blanks(&at);
    }
    for (size_t i = 0; i < n; i++) {
        if (!q[i].variable) {
            continue;
        }
        if (log && !(q[i].lower > 0.0)) {
            return false;
        }
        q[i].log = log;
        q[i].value = log ? sqrt(q[i].lower * q[i].upper) : 0.5 * (q[i].lower + q[i].upper);
    }
    if (strncmp(at, "start", 5) == 0) {
        at += 5;
        if (!values_at(&at, n, q, offsetof(scene_quantity, value))) {
            return false;
        }
    }
    if (strncmp(at, "truth", 5) == 0) {
        at += 5;
        if (!values_at(&at, n, q, offsetof(scene_quantity, truth))) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            if (log && q[i].variable && !(q[i].truth > 0.0)) {
                return false;
            }
        }
    }
    if (strncmp(at, "random", 6) == 0) {
        at += 6;
        skip_blanks(&at);
        if (!number_at(&at, &v) || v < 0.0) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            q[i].random = q[i].variable ? v : 0.0;
        }
        skip_blanks(&at);
    }
    for (size_t i = 0; i < n; i++) {
        if (!(q[i].value >= q[i].lower && q[i].value + q[i].random <= q[i].upper)) {
            return false;
        }
    }
    return *at == '\0';
}

bool scene_components(scene_file *f, const scene_section *s, const char *key, size_t n, double low,
                      double high, scene_quantity *out)
{
    const entry *e = ask(f, s, key);
    double values[SCENE_MOST_QUANTITIES];
    for (size_t i = 0; i < n; i++) {
        out[i].truth = NAN;
    }
    if (!e) {
        return false;
    }
    if (strncmp(e->value, "variable", 8) != 0) {
        for (size_t i = 0; i < n; i++) {
            values[i] = out[i].value;
        }
        scene_numbers(f, s, key, n, true, low, high, values);
        for (size_t i = 0; i < n; i++) {
            out[i].value = values[i];
        }
        return true;
    }
    if (!variables_at(e->value + 8, n, out)) {
        scene_fail(
            f, s, key,
            "%s = %.80s: expected 'variable LOWER..UPPER [log] [start VALUE] [truth VALUE] [random WIDTH]' "
            "with one range or %zu, LOWER below UPPER, starts between them, and LOWER above 0 with log",
            key, e->value, n);
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        if (!in_range(f, s, key, out[i].lower, low, high) || !in_range(f, s, key, out[i].upper, low, high) ||
            (!isnan(out[i].truth) && !in_range(f, s, key, out[i].truth, low, high))) {
            return true;
        }
    }
    return true;
}

size_t scene_count(scene_file *f, const scene_section *s, const char *key)
{
    const entry *e = ask(f, s, key);
    const char *at = e ? e->value : "";
    size_t count = 0;
    double v;
    at += strncmp(at, "variable", 8) == 0 ? 8 : 0;
    for (skip_blanks(&at); number_at(&at, &v); skip_blanks(&at)) {
        if (strncmp(at, "..", 2) == 0) {
            at += 2;
            number_at(&at, &v);
        }
        count++;
    }
    return count;
}

bool scene_quantities(scene_file *f, const scene_section *s, const char *key, size_t n, double low,
                      double high, scene_quantity *out)
{
    const bool there = scene_components(f, s, key, n, low, high, out);
    for (size_t i = 1; there && i < n && !f->failed; i++) {
        if (out[i].variable != out[0].variable) {
            scene_fail(f, s, key, "%s: give a range for each of the %zu numbers", key, n);
        }
    }
    return there;
}

const char *scene_text(scene_file *f, const scene_section *s, const char *key, const char *otherwise)
{
    const entry *e = ask(f, s, key);
    return e ? e->value : otherwise;
}

/* "expected one of a, b; did you mean 'b'?" */
static void list_choices(const char *word, const char *const *words, size_t n, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "expected one of");
    for (size_t i = 0; i < n && used < size; i++) {
        used += (size_t)snprintf(out + used, size - used, "%s %s", i > 0 ? "," : "", words[i]);
    }
    const char *near = ds_nearest(word, words, n);
    if (near && used < size) {
        snprintf(out + used, size - used, "; did you mean '%s'?", near);
    }
}

uint32_t scene_choice(scene_file *f, const scene_section *s, const char *key, const char *const *words,
                      uint32_t otherwise)
{
    const entry *e = ask(f, s, key);
    size_t n = 0;
    if (!e) {
        return otherwise;
    }
    for (; words[n]; n++) {
        if (strcmp(words[n], e->value) == 0) {
            return (uint32_t)n;
        }
    }
    char text[400];
    list_choices(e->value, words, n, text, sizeof text);
    scene_fail(f, s, key, "%s = '%.47s': %s", key, e->value, text);
    return otherwise;
}

const char *scene_path(scene_file *f, const scene_section *s, const char *key)
{
    entry *e = ask(f, s, key);
    if (!e) {
        return "";
    }
    if (!e->resolved) {
        e->resolved = join(f->path[e->file], e->value);
    }
    if (!e->resolved) {
        scene_fail(f, s, key, "no memory");
        return "";
    }
    return e->resolved;
}

const char *scene_existing(scene_file *f, const scene_section *s, const char *key)
{
    const char *path = scene_path(f, s, key), *given = scene_text(f, s, key, "");
    if (given[0] && access(path, R_OK) != 0) {
        scene_fail(f, s, key, "%s = %.60s: %.200s: %s%s", key, given, path, strerror(errno),
                   given[0] == '/' ? "" : "; file names are relative to the scene file");
    }
    return path;
}

static bool among(const char *word, const char *const *words)
{
    for (; *words; words++) {
        if (strcmp(word, *words) == 0) {
            return true;
        }
    }
    return false;
}

void scene_names(scene_file *f, const char *const *kinds, const char *const *reserved, bool unnamed)
{
    char text[2 * SCENE_NAME + 4], other[2 * SCENE_NAME + 4];
    for (size_t i = 0; i < f->count && !f->failed; i++) {
        const scene_section *s = f->sections[i];
        if (!among(s->kind, kinds) || (unnamed && s->name[0] == '\0')) {
            continue;
        }
        if (!(s->name[0] >= 'a' && s->name[0] <= 'z') ||
            s->name[strspn(s->name, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0') {
            scene_fail(f, s, NULL,
                       "%s: a name begins with a small letter and has small letters, digits and _ only",
                       label(s, text));
        } else if (among(s->name, reserved)) {
            scene_fail(f, s, NULL, "%s: this name is taken by what is drawn; choose another one",
                       label(s, text));
        }
        for (size_t k = 0; k < i; k++) {
            if (among(f->sections[k]->kind, kinds) && strcmp(f->sections[k]->name, s->name) == 0) {
                scene_fail(f, s, NULL, "%s has the name of %s: choose another one", label(s, text),
                           label(f->sections[k], other));
            }
        }
    }
}

/* The environment whose files have sections of this kind, where that is certain, else NULL. */
static const char *owner(const char *kind)
{
    static const char *const owners[][2] = {{"tool", "particles"},
                                            {"grid", "particles"},
                                            {"drive", "soft"},
                                            {"muscle", "soft"},
                                            {"task", "robot"}};
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        if (strcmp(owners[i][0], kind) == 0) {
            return owners[i][1];
        }
    }
    return NULL;
}

void scene_kinds(scene_file *f, const char *const *kinds)
{
    char text[2 * SCENE_NAME + 4], choices[400];
    size_t n = 0, k;
    while (kinds[n]) {
        n++;
    }
    for (size_t i = 0; i < f->count; i++) {
        const scene_section *s = f->sections[i];
        for (k = 0; k < n && strcmp(kinds[k], s->kind) != 0; k++) {
        }
        if (k == n) {
            list_choices(s->kind, kinds, n, choices, sizeof choices);
            const char *env = owner(s->kind);
            scene_fail(f, s, NULL, "unknown section %s: %s%s%s", label(s, text), choices,
                       env ? "; a file with it is for environment " : "", env ? env : "");
        }
    }
}

void scene_done(scene_file *f)
{
    char text[2 * SCENE_NAME + 4], choices[400];
    for (size_t i = 0; !f->failed && i < f->count; i++) {
        const scene_section *s = f->sections[i];
        for (size_t k = 0; !f->failed && k < s->count; k++) {
            if (!s->entries[k].used) {
                list_choices(s->entries[k].key, s->asked, s->n_asked, choices, sizeof choices);
                scene_fail(f, s, s->entries[k].key, "unknown key '%s' in %s: %s", s->entries[k].key,
                           label(s, text), choices);
            }
        }
    }
}
