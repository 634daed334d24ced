/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - reads .ini files (through inih) and --set into lists of key = value with their origin. */
#include "config.h"

#include "settings.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "params.h"

/* inih keeps 199 characters of a line and hands a cut one on as if it were whole, so longer ones never reach it. */
enum { LINE_LIMIT = 197, NAME_LIMIT = 47, FILE_LIMIT = 1 << 20 };

const char *const ds_section_names[DS_SECTIONS] = {"run", "env", "opt"};

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

static ds_setting *find(const ds_settings *s, int section, const char *key)
{
    for (size_t i = 0; i < s->section[section].count; i++) {
        if (strcmp(s->section[section].item[i].key, key) == 0) {
            return &s->section[section].item[i];
        }
    }
    return NULL;
}

const ds_setting *ds_settings_find(const ds_settings *s, int section, const char *key)
{
    return find(s, section, key);
}

static int no_memory(ds_error *e)
{
    return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
}

int ds_settings_add(ds_settings *s, int section, const char *key, const char *value, const char *origin,
                    const char *base, int status, int layer, ds_error *e)
{
    ds_section *sec = &s->section[section];
    ds_setting fresh = {strdup(key), strdup(value), strdup(origin), base != NULL ? strdup(base) : NULL, status, layer};
    ds_setting *old = find(s, section, key);

    if (fresh.key == NULL || fresh.value == NULL || fresh.origin == NULL || (base != NULL && fresh.base == NULL)) {
        free_setting(&fresh);
        return no_memory(e);
    }
    if (old != NULL) {
        if (old->layer == layer && layer < 2) {
            free_setting(&fresh);
            return ds_fail(e, status, "%s: '%s' is set twice (first at %s): remove one", origin, key, old->origin);
        }
        if (old->layer > layer) {
            free_setting(&fresh);
            return 0;
        }
        free_setting(old);
        *old = fresh;
        return 0;
    }
    if (sec->count == sec->capacity) {
        size_t capacity = sec->capacity == 0 ? 16 : 2 * sec->capacity;
        ds_setting *grown = realloc(sec->item, capacity * sizeof *grown);
        if (grown == NULL) {
            free_setting(&fresh);
            return no_memory(e);
        }
        sec->item = grown;
        sec->capacity = capacity;
    }
    sec->item[sec->count++] = fresh;
    return 0;
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

int ds_settings_set(ds_settings *s, const char *assignment, ds_error *e)
{
    const char *equals = strchr(assignment, '=');
    const char *dot = strchr(assignment, '.');
    char key[NAME_LIMIT + 1], origin[NAME_LIMIT + 32];

    if (equals == NULL || dot == NULL || dot > equals || dot + 1 == equals) {
        return ds_fail(e, DS_EXIT_CONFIG, "--set %s: expected SECTION.KEY=VALUE, for example env.steps=20", assignment);
    }
    int section = section_number(assignment, (size_t)(dot - assignment));
    if (section < 0) {
        return ds_fail(e, DS_EXIT_CONFIG, "--set %s: unknown section '%.*s': use run, env or opt", assignment,
                       (int)(dot - assignment), assignment);
    }
    size_t length = (size_t)(equals - dot - 1);
    if (length > NAME_LIMIT) {
        return ds_fail(e, DS_EXIT_CONFIG, "--set %s: the name has %zu characters, at most %d are possible", assignment,
                       length, NAME_LIMIT);
    }
    memcpy(key, dot + 1, length);
    key[length] = '\0';
    snprintf(origin, sizeof origin, "--set %s.%s", ds_section_names[section], key);
    /* A repeated --set of one key is taken as a correction: the last one wins. */
    ds_setting *old = find(s, section, key);
    if (old != NULL && old->layer == 1) {
        old->layer = 0;
    }
    return ds_settings_add(s, section, key, equals + 1, origin, NULL, DS_EXIT_CONFIG, 1, e);
}

/* State of one parse: the text that is left, and what the line reader saw. */
typedef struct reader {
    const char *at, *end;
    int line;
    int indented; /* the line last handed out began with white space */
    const char *name, *base;
    ds_settings *settings;
    ds_error *e;
    int status;
    char section[NAME_LIMIT + 1];
    int have_key;     /* an indented line continues a value */
    ds_setting *last; /* that value; NULL where a flag overrides it */
} reader;

static int bad_line(reader *r, const char *what)
{
    if (r->status == 0) {
        r->status = ds_fail(r->e, DS_EXIT_CONFIG, "%s:%d: %s", r->name, r->line, what);
    }
    return 0;
}

/* Length of the UTF-8 sequence at s (at most n bytes), 0 if it is none. */
static size_t utf8_length(const unsigned char *s, size_t n)
{
    size_t len = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 :
                 s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
    if (len == 0 || len > n) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return len;
}

/* Tests the shape of a line before inih sees it, because inih would accept too much. */
static int check_line(reader *r, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        if (s[i] == '\0') {
            return bad_line(r, "NUL byte: this is not a text file");
        }
        size_t len = utf8_length((const unsigned char *)s + i, n - i);
        if (len == 0) {
            return bad_line(r, "not UTF-8 text");
        }
        i += len;
    }
    while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t')) {
        n--;
    }
    size_t i = 0;
    while (i < n && (s[i] == ' ' || s[i] == '\t')) {
        i++;
    }
    if (i == n || s[i] == '#' || s[i] == ';') {
        return 1;
    }
    if (s[i] == '[') {
        const char *close = memchr(s + i, ']', n - i);
        size_t length = close != NULL ? (size_t)(close - s) - i - 1 : 0;
        if (close == NULL) {
            return bad_line(r, "section without ']'");
        }
        const char *rest = close + 1;
        while (rest < s + n && (*rest == ' ' || *rest == '\t')) {
            rest++;
        }
        if (rest < s + n && *rest != ';' && *rest != '#') {
            return bad_line(r, "text after ']'");
        }
        if (section_number(s + i + 1, length) < 0) {
            char text[160];
            snprintf(text, sizeof text, "unknown section [%.*s]: use [run], [env] or [opt]",
                     length < 60 ? (int)length : 60, s + i + 1);
            return bad_line(r, text);
        }
        snprintf(r->section, sizeof r->section, "%.*s", (int)length, s + i + 1);
        r->have_key = 0;
        return 1;
    }
    if (i > 0 && r->have_key) {
        return 1; /* continues the value above */
    }
    if (r->section[0] == '\0') {
        return bad_line(r, "a key before the first section: begin with [run], [env] or [opt]");
    }
    const char *sep = s + i;
    while (sep < s + n && *sep != '=' && *sep != ':') {
        sep++;
    }
    if (sep == s + n) {
        return bad_line(r, "expected KEY = VALUE");
    }
    size_t key = (size_t)(sep - s) - i;
    while (key > 0 && (s[i + key - 1] == ' ' || s[i + key - 1] == '\t')) {
        key--;
    }
    if (key == 0 || key > NAME_LIMIT) {
        return bad_line(r, key == 0 ? "a value without a key" : "the key is longer than 47 characters");
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
    if (r->line == 1 && n >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
        line += 3;
        n -= 3;
    }
    if (n > 0 && line[n - 1] == '\r') {
        n--;
    }
    if (n > LINE_LIMIT || n + 2 > (size_t)size) {
        bad_line(r, "line longer than 197 bytes: continue the value on an indented line");
        return NULL;
    }
    if (!check_line(r, line, n)) {
        return NULL;
    }
    r->indented = n > 0 && (line[0] == ' ' || line[0] == '\t');
    memcpy(buffer, line, n);
    buffer[n] = '\n';
    buffer[n + 1] = '\0';
    return buffer;
}

static int on_value(void *user, const char *section, const char *key, const char *value)
{
    reader *r = user;
    char origin[300];

    if (r->status != 0) {
        return 0;
    }
    int k = section_number(section, strlen(section));
    if (k < 0 || value == NULL) {
        return bad_line(r, "expected KEY = VALUE inside [run], [env] or [opt]");
    }
    if (r->indented && r->have_key) {
        if (r->last == NULL) {
            return 1;
        }
        size_t size = strlen(r->last->value) + strlen(value) + 2;
        char *joined = malloc(size);
        if (joined == NULL) {
            r->status = no_memory(r->e);
            return 0;
        }
        snprintf(joined, size, "%s %s", r->last->value, value);
        free(r->last->value);
        r->last->value = joined;
        return 1;
    }
    snprintf(origin, sizeof origin, "%s:%d", r->name, r->line);
    int status = ds_settings_add(r->settings, k, key, value, origin, r->base, DS_EXIT_CONFIG, 0, r->e);
    if (status != 0) {
        r->status = status;
        return 0;
    }
    r->have_key = 1;
    r->last = find(r->settings, k, key);
    if (r->last->layer != 0) {
        r->last = NULL;
    }
    return 1;
}

int ds_settings_parse(ds_settings *s, const char *text, size_t length, const char *name, const char *base, ds_error *e)
{
    reader r = {.at = text, .end = text + length, .name = name, .base = base, .settings = s, .e = e};
    int bad;

    if (length > FILE_LIMIT) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: %zu bytes, an .ini file may have at most %d", name, length, FILE_LIMIT);
    }
    bad = ini_parse_stream(next_line, &r, on_value, &r);
    if (r.status == 0 && bad != 0) {
        r.status = bad == -2 ? no_memory(e) : ds_fail(e, DS_EXIT_CONFIG, "%s:%d: expected KEY = VALUE", name, bad);
    }
    return r.status;
}

int ds_settings_read(ds_settings *s, const char *path, ds_error *e)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    char *text = NULL, *base = NULL;
    int status;

    if (f == NULL) {
        return ds_fail(e, DS_EXIT_CONFIG, "%s: cannot be opened: %s", path, strerror(errno));
    }
    if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode)) {
        fclose(f);
        return ds_fail(e, DS_EXIT_CONFIG, "%s: not a regular file", path);
    }
    if (st.st_size > FILE_LIMIT) {
        fclose(f);
        return ds_fail(e, DS_EXIT_CONFIG, "%s: %lld bytes, an .ini file may have at most %d", path,
                       (long long)st.st_size, FILE_LIMIT);
    }
    text = malloc((size_t)st.st_size + 1);
    base = realpath(path, NULL);
    if (text == NULL || base == NULL) {
        status = no_memory(e);
    } else {
        size_t n = fread(text, 1, (size_t)st.st_size, f);
        char *slash = strrchr(base, '/');
        if (ferror(f)) {
            status = ds_fail(e, DS_EXIT_CONFIG, "%s: cannot be read", path);
        } else {
            slash[slash == base ? 1 : 0] = '\0';
            status = ds_settings_parse(s, text, n, path, base, e);
        }
    }
    fclose(f);
    free(text);
    free(base);
    return status;
}
