/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - what the readers of recordings share (see recording.h). */
#include "source.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int recording_wrong(const source *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->error, RECORDING_ERROR, format, args);
    va_end(args);
    return RECORDING_MALFORMED;
}

uint64_t recording_number(const char *word)
{
    const size_t length = strlen(word);
    return length > 0 && length < 7 && strspn(word, "0123456789") == length ? strtoul(word, NULL, 10) : 0;
}

int recording_make(source *s, uint64_t rows)
{
    recording *r = s->out;
    r->rows = rows;
    r->columns = s->want.columns;
    r->value = calloc(rows * r->columns, sizeof *r->value);
    r->time = s->want.time ? calloc(rows, sizeof *r->time) : NULL;
    return r->value == NULL || (s->want.time && r->time == NULL) ? RECORDING_NO_MEMORY : RECORDING_OK;
}

void recording_put(source *s, uint64_t row, uint64_t column, double value)
{
    if (column < s->want.columns) {
        s->out->value[row * s->want.columns + column] = value;
    } else {
        s->out->time[row] = value;
    }
}
