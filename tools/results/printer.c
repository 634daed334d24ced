/* SPDX-License-Identifier: Apache-2.0 */
/* printer.c - buffered text output (see printer.h). */
#include "config.h"

#include "results/printer.h"

#include "base/file.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 16, PIECE_BYTES = 1024 /* longest piece of text */ };

struct ds_printer {
    ds_file *file; /* NULL = standard output */
    int status;
    ds_error error;
    size_t used;
    char buffer[BUFFER_BYTES];
};

int ds_printer_open(const char *path, ds_printer **out, ds_error *e)
{
    ds_printer *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    if (strcmp(path, "-") != 0) {
        int rc = ds_file_open(&p->file, path, e);
        if (rc != 0) {
            free(p);
            return rc;
        }
    }
    *out = p;
    return 0;
}

static void flush(ds_printer *p)
{
    if (p->status == 0 && p->used > 0) {
        if (p->file != NULL) {
            p->status = ds_file_write(p->file, p->buffer, p->used, &p->error);
        } else if (fwrite(p->buffer, 1, p->used, stdout) != p->used) {
            p->status = ds_fail(&p->error, DS_EXIT_IO, "standard output: cannot write: %s", strerror(errno));
        }
    }
    p->used = 0;
}

void ds_print(ds_printer *p, const char *format, ...)
{
    va_list ap;
    if (p->used + PIECE_BYTES > BUFFER_BYTES) {
        flush(p);
    }
    va_start(ap, format);
    int n = vsnprintf(p->buffer + p->used, PIECE_BYTES, format, ap);
    va_end(ap);
    p->used += n < 0 ? 0 : n < PIECE_BYTES ? (size_t)n : PIECE_BYTES - 1;
}

void ds_print_field(ds_printer *p, double v)
{
    if (isfinite(v)) {
        ds_print(p, ",%.17g", v);
    } else {
        ds_print_text(p, ",");
    }
}

void ds_print_text(ds_printer *p, const char *text)
{
    for (size_t n = strlen(text), k; n > 0; n -= k, text += k) {
        k = n < PIECE_BYTES - 1 ? n : PIECE_BYTES - 1;
        ds_print(p, "%.*s", (int)k, text);
    }
}

int ds_printer_close(ds_printer *p, int rc, ds_error *e)
{
    if (rc == 0) {
        flush(p);
        rc = p->status != 0 ? ds_fail(e, p->status, "%s", p->error.text) : 0;
    }
    if (p->file != NULL && rc == 0) {
        rc = ds_file_commit(p->file, e);
    } else if (p->file != NULL) {
        ds_file_abort(p->file);
    }
    free(p);
    return rc;
}
