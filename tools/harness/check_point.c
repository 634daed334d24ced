/* SPDX-License-Identifier: Apache-2.0 */
/* check_point.c - see check_point.h. */
#include "config.h"

#include "harness/check_point.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"

enum { INLINE = 100 /* numbers on a command line */ };

static void write_numbers(FILE *f, const double *x, uint64_t n, char separator)
{
    for (uint64_t i = 0; i < n; i++) {
        fprintf(f, "%.17g%c", x[i], i + 1 < n ? separator : '\n');
    }
}

/* 1 = the numbers are in a new file, whose name is in `path`. */
static int write_file(const double *x, uint64_t n, char *path, size_t size)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, size, "%s/dshost-check-XXXXXX.txt", folder != NULL && folder[0] != '\0' ? folder : "/tmp");
    int fd = mkstemps(path, 4);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return 0;
    }
    write_numbers(f, x, n, '\n');
    return fclose(f) == 0;
}

char *ds_check_point_command(const ds_check_options *o, const double *x, uint64_t n, const char *flags)
{
    char *text = NULL, path[4200];
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (f == NULL) {
        return NULL;
    }
    fputs("dshost eval --env ", f);
    ds_text_shell_word(f, o->path);
    for (size_t i = 0; i < o->set_count; i++) {
        fputs(" --set ", f);
        ds_text_shell_word(f, o->sets[i]);
    }
    fputs(flags, f);
    fputs(" --x ", f);
    if (n > INLINE && write_file(x, n, path, sizeof path)) {
        ds_text_shell_word(f, path);
    } else {
        for (uint64_t i = 0; i < n; i++) {
            fprintf(f, "%s%.17g", i > 0 ? "," : "", x[i]);
        }
    }
    return fclose(f) == 0 ? text : NULL;
}
