/* SPDX-License-Identifier: Apache-2.0 */
/* report_table.c - CSV files (see report_table.h). */
#include "config.h"

#include "report/report_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

struct ds_table {
    FILE *f; /* into `text` */
    char *text;
    size_t size;
    int begun; /* the row has a cell */
};

ds_table *ds_table_new(const char *header)
{
    ds_table *t = calloc(1, sizeof *t);
    t = t != NULL && (t->f = open_memstream(&t->text, &t->size)) != NULL ? t : (free(t), NULL);
    if (t != NULL) {
        fprintf(t->f, "%s\n", header);
    }
    return t;
}

void ds_table_free(ds_table *t)
{
    if (t != NULL) {
        if (t->f != NULL) {
            fclose(t->f);
        }
        free(t->text);
        free(t);
    }
}

static void separate(ds_table *t)
{
    if (t->begun) {
        fputc(',', t->f);
    }
    t->begun = 1;
}

void ds_table_text(ds_table *t, const char *text)
{
    separate(t);
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, t->f);
        return;
    }
    fputc('"', t->f);
    for (; *text != '\0'; text++) {
        fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, t->f);
    }
    fputc('"', t->f);
}

void ds_table_count(ds_table *t, uint64_t v)
{
    separate(t);
    fprintf(t->f, "%llu", (unsigned long long)v);
}

void ds_table_reals(ds_table *t, size_t count, const double *v)
{
    for (size_t i = 0; i < count; i++) {
        separate(t);
        if (isfinite(v[i])) {
            fprintf(t->f, "%.17g", v[i]);
        }
    }
}

void ds_table_end(ds_table *t)
{
    fputc('\n', t->f);
    t->begun = 0;
}

int ds_table_write(ds_table *t, const char *path, ds_error *e)
{
    int failed = fflush(t->f) != 0 || ferror(t->f);
    if (failed) {
        return ds_no_memory(e);
    }
    return path != NULL ? ds_file_write_atomic(path, t->text, t->size, e) : 0;
}
