/* SPDX-License-Identifier: Apache-2.0 */
/* check_record.c - what a test of the conformance kit records, and how much of a thing it does. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/check.h"

enum { SEEN_MAX = 8, HINTS_MAX = 8 };

/* Seconds that the repetitions within one test should take together. */
static const double PLAN_SECONDS = 15;

int ds_check_lines_add(ds_check_lines *l, char kind, const char *text, size_t length)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity > 0 ? 2 * l->capacity : 16;
        ds_check_line *grown = realloc(l->item, capacity * sizeof *grown);
        if (grown == NULL) {
            return 0;
        }
        l->item = grown;
        l->capacity = capacity;
    }
    char *copy = strndup(text, length);
    if (copy == NULL) {
        return 0;
    }
    l->item[l->count].kind = kind;
    l->item[l->count++].text = copy;
    return 1;
}

void ds_check_lines_clear(ds_check_lines *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->item[i].text);
    }
    free(l->item);
    memset(l, 0, sizeof *l);
}

const char *ds_check_lines_find(const ds_check_lines *l, char kind)
{
    for (size_t i = l->count; i-- > 0;) {
        if (l->item[i].kind == kind) {
            return l->item[i].text;
        }
    }
    return NULL;
}

void ds_check_record(ds_check *c, char kind, const char *text)
{
    char line[4200];
    int n = snprintf(line, sizeof line, "%c %s", kind, text);
    if (n >= (int)sizeof line) {
        n = (int)sizeof line - 1;
    }
    for (int i = 0; i < n; i++) {
        if (line[i] == '\n' || line[i] == '\r') {
            line[i] = ' ';
        }
    }
    if (c->fd < 0) {
        ds_check_lines_add(c->lines, kind, line + 2, (size_t)n - 2);
        return;
    }
    line[n] = '\n';
    /* One write, at once: what was recorded before a crash must have arrived. */
    if (write(c->fd, line, (size_t)n + 1) != n + 1) {
        _exit(DS_EXIT_IO);
    }
}

__attribute__((format(printf, 3, 0))) static void record_format(ds_check *c, char kind, const char *format,
                                                                va_list args)
{
    char text[4096];
    vsnprintf(text, sizeof text, format, args);
    ds_check_record(c, kind, text);
}

void ds_check_fail(ds_check *c, const char *format, ...)
{
    va_list args;
    c->failed++;
    if (c->failed > SEEN_MAX) {
        return;
    }
    va_start(args, format);
    record_format(c, DS_CHECK_FAILURE, format, args);
    va_end(args);
}

void ds_check_hint(ds_check *c, const char *format, ...)
{
    va_list args;
    if (c->hints++ >= HINTS_MAX) {
        return;
    }
    va_start(args, format);
    record_format(c, DS_CHECK_HINT, format, args);
    va_end(args);
}

void ds_check_note(ds_check *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    record_format(c, DS_CHECK_NOTE, format, args);
    va_end(args);
}

void ds_check_skip(ds_check *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    record_format(c, DS_CHECK_SKIP, format, args);
    va_end(args);
}

void ds_check_doing(ds_check *c, const char *what)
{
    ds_check_record(c, DS_CHECK_DOING, what);
}

uint64_t ds_check_plan(ds_check *c, const char *what, uint64_t wish, uint64_t least, double seconds)
{
    if (!(seconds * (double)wish > PLAN_SECONDS)) {
        return wish;
    }
    uint64_t n = (uint64_t)(PLAN_SECONDS / seconds);
    n = n < least ? least : n;
    if (n >= wish) {
        return wish;
    }
    ds_check_note(
        c,
        "%s: %llu instead of %llu, because one takes %.2g s (smaller parameters, given with --set, make it "
        "complete)",
        what, (unsigned long long)n, (unsigned long long)wish, seconds);
    return n;
}
