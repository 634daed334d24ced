/* SPDX-License-Identifier: Apache-2.0 */
/* temporary.h - a fresh folder for the files of a test, and reading files back. */
#ifndef DS_TESTS_TEMPORARY_H
#define DS_TESTS_TEMPORARY_H

#include "test.h"

#include <dirent.h>
#include <unistd.h>

typedef struct temporary {
    char folder[256];
    char path[512];
} temporary;

static inline void temporary_open(temporary *t)
{
    const char *base = getenv("TMPDIR");
    snprintf(t->folder, sizeof t->folder, "%s/diffsim-test-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(t->folder));
}

/* Path of a file in the folder; valid until the next call. */
static inline const char *temporary_path(temporary *t, const char *name)
{
    snprintf(t->path, sizeof t->path, "%s/%s", t->folder, name);
    return t->path;
}

/* Number of files in the folder. */
static inline int temporary_count(const temporary *t)
{
    int n = 0;
    DIR *d = opendir(t->folder);
    assert_non_null(d);
    for (const struct dirent *f = readdir(d); f != NULL; f = readdir(d)) {
        n += strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0;
    }
    closedir(d);
    return n;
}

/* Removes the folder with all that is in it; returns 0. */
static inline int temporary_close(temporary *t)
{
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", t->folder);
    assert_int_equal(system(command), 0);
    return 0;
}

/* The bytes of a file, followed by a NUL byte. */
static inline unsigned char *temporary_read(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long size = ftell(f);
    assert_true(size >= 0);
    rewind(f);
    unsigned char *p = malloc((size_t)size + 1);
    assert_non_null(p);
    assert_int_equal(fread(p, 1, (size_t)size, f), (size_t)size);
    p[size] = '\0';
    fclose(f);
    *len = (size_t)size;
    return p;
}

static inline void temporary_write(const char *path, const void *data, size_t len)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

#endif
