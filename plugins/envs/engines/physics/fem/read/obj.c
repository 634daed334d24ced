/* SPDX-License-Identifier: Apache-2.0 */
/* obj.c - Wavefront OBJ: vertices and faces; normals, textures, groups and materials are left out. */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CORNERS = 1024 };

/* The vertex of "7", "7/1", "7//3" or, counted from the last, "-1". */
static int face_corner(reader *r, const char *word, uint32_t *out)
{
    char *end;
    const int64_t have = (int64_t)r->mesh.points, i = strtoll(word, &end, 10);
    if (end == word || (*end != '\0' && *end != '/')) {
        return reader_fail(r, "'%s' is no corner of a face", word);
    }
    if (i == 0 || i > FEM_MOST_POINTS || i < -have) {
        return reader_fail(r, "vertex %lld of %lld", (long long)i, (long long)have);
    }
    *out = (uint32_t)(i > 0 ? i - 1 : have + i);
    return 1;
}

/* A polygon becomes a fan from its first corner. */
static int read_face(reader *r)
{
    char word[WORD];
    uint32_t v[3] = {0};
    size_t n = 0;
    for (; reader_word(r, 0, word); n++) {
        uint32_t next = 0;
        if (n >= MOST_CORNERS) {
            return reader_fail(r, "a face with more than %d corners", MOST_CORNERS);
        }
        if (!face_corner(r, word, &next)) {
            return 0;
        }
        v[n == 0 ? 0 : 2] = next;
        if (n >= 2 && !reader_add_triangle(r, v)) {
            return 0;
        }
        v[1] = next;
    }
    return n >= 3 ? 1 : reader_fail(r, "a face with %zu corners", n);
}

static int read_vertex(reader *r)
{
    double p[3];
    for (int i = 0; i < 3; i++) {
        if (!reader_number(r, 0, "a coordinate", &p[i])) {
            return 0;
        }
    }
    return reader_add_point(r, p);
}

int fem_parse_obj(fem_mesh *m, const char *text, size_t size, const char *name, char error[FEM_READ_ERROR])
{
    reader r = reader_of(text, size, name, '#', error);
    char word[WORD];
    do {
        if (!reader_word(&r, 0, word)) {
            continue;
        }
        if (strcmp(word, "v") == 0) {
            read_vertex(&r);
        } else if (strcmp(word, "f") == 0) {
            read_face(&r);
        }
    } while (reader_next_line(&r));
    return reader_finish(&r, m);
}
