/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - meshes from files by the ends of their names (see read.h). */
#include "engines/physics/fem/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 29 };

/* The bytes of a file, the caller's to free(); NULL with a line in `error`. */
static char *contents(const char *path, size_t *size, char error[FEM_READ_ERROR])
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long bytes = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (bytes < 0 || bytes > MOST_BYTES) {
        snprintf(error, FEM_READ_ERROR, "%.190s: %s", path,
                 bytes < 0 ? strerror(errno) : "larger than 512 MB");
    } else {
        rewind(f);
        text = malloc((size_t)bytes + 1);
        *size = text ? fread(text, 1, (size_t)bytes, f) : 0;
        if (!text) {
            snprintf(error, FEM_READ_ERROR, "%.190s: no memory", path);
        }
    }
    if (f) {
        fclose(f);
    }
    return text;
}

static int ends_in(const char *path, const char *end)
{
    const size_t n = strlen(path), m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}

static int read_tetgen(fem_mesh *m, const char *path, char error[FEM_READ_ERROR])
{
    char node[4096], ele[4096];
    const int stem = (int)(strrchr(path, '.') - path);
    size_t node_size = 0, ele_size = 0;
    if (stem + 6 > (int)sizeof node) {
        snprintf(error, FEM_READ_ERROR, "%.190s...: a path that is too long", path);
        return 1;
    }
    snprintf(node, sizeof node, "%.*s.node", stem, path);
    snprintf(ele, sizeof ele, "%.*s.ele", stem, path);
    char *node_text = contents(node, &node_size, error),
         *ele_text = node_text ? contents(ele, &ele_size, error) : NULL;
    int status =
        ele_text ? fem_parse_tetgen(m, node_text, node_size, node, ele_text, ele_size, ele, error) : 1;
    free(node_text);
    free(ele_text);
    return status;
}

int fem_read_mesh(fem_mesh *m, const char *path, char error[FEM_READ_ERROR])
{
    size_t size = 0;
    *m = (fem_mesh){0};
    error[0] = '\0';
    if (ends_in(path, ".node") || ends_in(path, ".ele")) {
        return read_tetgen(m, path, error);
    }
    if (!ends_in(path, ".obj") && !ends_in(path, ".msh")) {
        snprintf(error, FEM_READ_ERROR, "%.190s: a mesh is a .obj, .msh, .node or .ele file", path);
        return 1;
    }
    char *text = contents(path, &size, error);
    int status = !text                   ? 1
                 : ends_in(path, ".obj") ? fem_parse_obj(m, text, size, path, error)
                                         : fem_parse_gmsh(m, text, size, path, error);
    free(text);
    return status;
}
