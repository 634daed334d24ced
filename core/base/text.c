/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - numbers in text, UTF-8, the nearest known word, shell words. */
#include "config.h"

#include "base/text.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- numbers ---- */

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t ds_locale_c(void)
{
    pthread_once(&locale_once, make_locale);
    return c_locale;
}

double ds_strtod(const char *text, char **end)
{
    return strtod_l(text, end, ds_locale_c());
}

int ds_parse_real(const char *text, double *out)
{
    const char *digits = text[0] == '-' || text[0] == '+' ? text + 1 : text;
    char *end;

    if (strcmp(digits, "inf") == 0) {
        *out = text[0] == '-' ? (double)-INFINITY : (double)INFINITY;
        return 1;
    }
    /* strtod also accepts leading blanks, hexadecimal numbers and several spellings of nan. */
    if (digits[0] == '\0' || digits[strspn(digits, "0123456789.eE+-")] != '\0') {
        return 0;
    }
    double v = ds_strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(v)) {
        return 0;
    }
    *out = v;
    return 1;
}

const char *ds_real_text(double v, char out[DS_REAL_TEXT])
{
    double same;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(out, DS_REAL_TEXT, "%.*g", digits, v);
        for (char *p = out; *p != '\0'; p++) {
            *p = *p == ',' ? '.' : *p; /* of a locale */
        }
        if (!isfinite(v) || (ds_parse_real(out, &same) && same == v)) {
            break;
        }
    }
    return out;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int ds_parse_int(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    int good = is_digit(text[text[0] == '-' || text[0] == '+']) && *end == '\0' && errno == 0;
    if (good) {
        *out = v;
    }
    return good;
}

int ds_parse_seed(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    int good = is_digit(text[0]) && *end == '\0' && errno == 0;
    if (good) {
        *out = v;
    }
    return good;
}

/* ---- shell ---- */

void ds_text_choices(const char *word, const char *const *known, size_t count, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "expected one of");
    for (size_t k = 0; k < count && used < size; k++) {
        used += (size_t)snprintf(out + used, size - used, "%s %s", k > 0 ? "," : "", known[k]);
    }
    const char *near = ds_nearest(word, known, count);
    if (near != NULL && used < size) {
        snprintf(out + used, size - used, "; did you mean '%s'?", near);
    }
}

void ds_text_shell_word(FILE *f, const char *text)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
    if (text[0] != '\0' && text[strspn(text, safe)] == '\0') {
        fputs(text, f);
        return;
    }
    fputc('\'', f);
    for (; *text != '\0'; text++) {
        fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, f);
    }
    fputc('\'', f);
}

char *ds_text_shell_line(const char *first, int count, char *const *word)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f == NULL) {
        return NULL;
    }
    fputs(first, f);
    for (int i = 0; i < count; i++) {
        if (i > 0 || first[0] != '\0') {
            fputc(' ', f);
        }
        ds_text_shell_word(f, word[i]);
    }
    return fclose(f) == 0 ? text : NULL;
}

/* ---- HTML ---- */

void ds_text_html(FILE *f, const char *text)
{
    for (; *text != '\0'; text++) {
        fputs(*text == '<'   ? "&lt;"
              : *text == '>' ? "&gt;"
              : *text == '&' ? "&amp;"
              : *text == '"' ? "&quot;"
                             : (char[]){*text, '\0'},
              f);
    }
}

/* ---- UTF-8 ---- */

size_t ds_utf8_length(const char *text, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    size_t length = s[0] < 0x80   ? 1
                    : s[0] < 0xc0 ? 0
                    : s[0] < 0xe0 ? 2
                    : s[0] < 0xf0 ? 3
                    : s[0] < 0xf8 ? 4
                                  : 0;
    uint32_t code = length > 1 ? s[0] & (0x7fu >> length) : s[0];
    if (length > n) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (s[i] & 0x3fu);
    }
    return code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0 : length;
}

static int is_control(char c)
{
    unsigned char u = (unsigned char)c;
    return (u < 0x20 && u != '\t') || u == 0x7f;
}

int ds_text_is_line(const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t length = ds_utf8_length(s + i, n - i);
        if (length == 0 || is_control(s[i])) {
            return 0;
        }
        i += length;
    }
    return 1;
}

void ds_text_clean(char *s)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n;) {
        size_t length = ds_utf8_length(s + i, n - i);
        if (length == 0) {
            s[i] = '?';
            length = 1;
        } else if (length == 2 && (unsigned char)s[i] == 0xc2 && (unsigned char)s[i + 1] < 0xa0) {
            memset(s + i, ' ', length); /* U+0080 to U+009F control terminals as well */
        } else if (is_control(s[i])) {
            s[i] = ' ';
        }
        i += length;
    }
}

void ds_text_shorten(char *to, size_t room, const char *from)
{
    static const char gap[] = "...";
    const size_t n = strlen(from), tail = room / 2, head = room - 1 - tail - (sizeof gap - 1);
    if (n < room) {
        memcpy(to, from, n + 1);
    } else {
        memcpy(to, from, head);
        memcpy(to + head, gap, sizeof gap - 1);
        memcpy(to + head + sizeof gap - 1, from + n - tail, tail + 1);
    }
    ds_text_clean(to); /* may have been cut inside a character */
}

const char *ds_text_ending(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot != NULL && dot > name ? dot + 1 : "";
}

int ds_text_ends_with(const char *path, const char *const *endings)
{
    const char *ending = ds_text_ending(path);
    while (*endings != NULL && strcasecmp(ending, *endings) != 0) {
        endings++;
    }
    return *endings != NULL;
}

int ds_path_leaves(const char *path)
{
    int leaves = path[0] == '/';
    for (const char *part = path; part != NULL && !leaves; part = strchr(part, '/')) {
        part += part[0] == '/';
        leaves = strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0');
    }
    return leaves;
}
