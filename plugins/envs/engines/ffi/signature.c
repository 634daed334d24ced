/* SPDX-License-Identifier: Apache-2.0 */
/* signature.c - reads the one-line description of a C function. */
#include "engines/ffi/signature.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const type_names[] = {"void", "i32", "i64", "u32", "u64", "f32", "f64"};

static int bad(char error[SIGNATURE_ERROR], const char *format, ...) __attribute__((format(printf, 2, 3)));
static int bad(char error[SIGNATURE_ERROR], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error, SIGNATURE_ERROR, format, args);
    va_end(args);
    return 0;
}

static void skip_blanks(const char **at)
{
    *at += strspn(*at, " \t");
}

/* Consumes one character; 0 if another one stands there. */
static int take(const char **at, char wanted)
{
    skip_blanks(at);
    if (**at != wanted) {
        return 0;
    }
    ++*at;
    return 1;
}

/* Length of the word up to the next mark, without trailing blanks. */
static size_t word_length(const char *at)
{
    size_t length = strcspn(at, "(),:*");
    while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t')) {
        length--;
    }
    return length;
}

static int read_type(const char **at, scalar *type, int *pointer, char error[SIGNATURE_ERROR])
{
    skip_blanks(at);
    size_t length = word_length(*at);
    for (size_t k = 0; k < sizeof type_names / sizeof *type_names; k++) {
        if (strlen(type_names[k]) == length && strncmp(*at, type_names[k], length) == 0) {
            *type = (scalar)k;
            *at += length;
            *pointer = take(at, '*');
            return 1;
        }
    }
    return bad(error, "unknown type '%.*s': write void, i32, i64, u32, u64, f32 or f64, with * for a pointer",
               (int)(length < 40 ? length : 40), *at);
}

/* Reads a plain decimal number independently of the locale. */
static int read_number(const char *at, size_t length, double *out)
{
    double value = 0, sign = 1, unit = 1;
    int exponent = 0, exponent_sign = 1, digits = 0;
    size_t i = 0;
    if (i < length && (at[i] == '-' || at[i] == '+')) {
        sign = at[i++] == '-' ? -1 : 1;
    }
    for (; i < length && isdigit((unsigned char)at[i]); i++, digits++) {
        value = 10 * value + (at[i] - '0');
    }
    if (i < length && at[i] == '.') {
        for (i++; i < length && isdigit((unsigned char)at[i]); i++, digits++) {
            value = 10 * value + (at[i] - '0');
            unit *= 10;
        }
    }
    if (digits > 0 && i + 1 < length && (at[i] == 'e' || at[i] == 'E')) {
        i++;
        if (i + 1 < length && (at[i] == '-' || at[i] == '+')) {
            exponent_sign = at[i++] == '-' ? -1 : 1;
        }
        for (; i < length && isdigit((unsigned char)at[i]) && exponent < 1000; i++) {
            exponent = 10 * exponent + (at[i] - '0');
        }
    }
    *out = sign * (exponent_sign < 0 ? value / unit / pow(10, exponent) : value / unit * pow(10, exponent));
    return digits > 0 && i == length && isfinite(*out);
}

static int read_role(const char *word, size_t length, argument *a, char error[SIGNATURE_ERROR])
{
    static const struct {
        const char *name;
        argument_role role;
    } names[] = {{"n", ROLE_N}, {"m", ROLE_M}, {"x", ROLE_X}, {"g", ROLE_G},
                 {"f", ROLE_F}, {"r", ROLE_R}, {"J", ROLE_J}, {"ctx", ROLE_CTX}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (strlen(names[k].name) == length && strncmp(word, names[k].name, length) == 0) {
            a->role = names[k].role;
            return 1;
        }
    }
    double index;
    if (length > 1 && length < 10 && word[0] == 'x' && strspn(word + 1, "0123456789") == length - 1 &&
        read_number(word + 1, length - 1, &index)) {
        a->role = ROLE_COMPONENT;
        a->index = (uint64_t)index;
        return 1;
    }
    if (read_number(word, length, &a->value)) {
        a->role = ROLE_CONSTANT;
        return 1;
    }
    return bad(error, "unknown role '%.*s': write n, m, x, x0 x1 ..., g, f, r, J, ctx or a number",
               (int)(length < 40 ? length : 40), word);
}

/* Do role and type fit together? */
static int check_argument(const argument *a, char error[SIGNATURE_ERROR])
{
    int floating = a->type == SCALAR_F32 || a->type == SCALAR_F64;
    switch (a->role) {
    case ROLE_N:
    case ROLE_M:
        return (!floating && a->type != SCALAR_VOID) ||
               bad(error, "n and m must be integers: i32, i64, u32 or u64");
    case ROLE_X:
    case ROLE_G:
    case ROLE_F:
    case ROLE_R:
    case ROLE_J:
        return (floating && a->pointer) || bad(error, "x, g, f, r and J must be pointers: f64* or f32*");
    case ROLE_COMPONENT:
        return floating ||
               bad(error, "a single variable (x0, x1, ...) must be f64 or f32, by value or with *");
    case ROLE_CTX:
        return a->pointer || bad(error, "ctx must be a pointer: void*");
    default:
        break;
    }
    if (a->type == SCALAR_VOID) {
        return bad(error, "a constant needs a type other than void");
    }
    double least = a->type == SCALAR_I32 ? -2147483648.0 : a->type == SCALAR_I64 ? -0x1p53 : 0;
    double most = a->type == SCALAR_I32 ? 2147483647.0 : a->type == SCALAR_U32 ? 4294967295.0 : 0x1p53;
    if (!floating && !(a->value >= least && a->value <= most && a->value == floor(a->value))) {
        return bad(error, "the constant %g does not fit its integer type", a->value);
    }
    return 1;
}

int signature_parse(const char *text, signature *s, char error[SIGNATURE_ERROR])
{
    const char *at = text;
    int pointer = 0;
    memset(s, 0, sizeof *s);
    if (!read_type(&at, &s->result, &pointer, error)) {
        return 0;
    }
    if (pointer) {
        return bad(error, "functions that return a pointer are not supported");
    }
    if (!take(&at, '(')) {
        return bad(error, "'(' is missing after the return type");
    }
    while (!take(&at, ')')) {
        argument *a = &s->argument[s->count];
        if (s->count > 0 && !take(&at, ',')) {
            return bad(error, "',' or ')' is missing at '%.20s'", at);
        }
        if (s->count == SIGNATURE_ARGUMENTS) {
            return bad(error, "more than %d arguments", SIGNATURE_ARGUMENTS);
        }
        skip_blanks(&at);
        size_t length = word_length(at);
        if (!read_role(at, length, a, error)) {
            return 0;
        }
        at += length;
        if (!take(&at, ':')) {
            return bad(error, "':' is missing between role and type at '%.20s'", at);
        }
        if (!read_type(&at, &a->type, &a->pointer, error) || !check_argument(a, error)) {
            return 0;
        }
        s->count++;
    }
    skip_blanks(&at);
    return *at == '\0' || bad(error, "unexpected text after the last ')': '%.20s'", at);
}

const argument *signature_find(const signature *s, argument_role wanted)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->argument[i].role == wanted) {
            return &s->argument[i];
        }
    }
    return NULL;
}
