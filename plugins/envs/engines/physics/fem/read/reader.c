/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - what all mesh formats share: words, a growing mesh, its checks (see reader.h). */
#include "reader.h"

#include "engines/physics/fem/read.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

reader reader_of(const char *text, size_t size, const char *name, char comment, char error[FEM_READ_ERROR])
{
    error[0] = '\0';
    return (reader){
        .at = text, .end = text + size, .name = name, .line = 1, .comment = comment, .error = error};
}

int reader_fail(reader *r, const char *format, ...)
{
    char text[FEM_READ_ERROR / 2];
    va_list values;
    if (r->status == 0) {
        va_start(values, format);
        vsnprintf(text, sizeof text, format, values);
        va_end(values);
        snprintf(r->error, FEM_READ_ERROR, "%.190s:%zu: %s", r->name, r->line, text);
        for (char *c = r->error; *c; c++) { /* a word of the file may hold any byte */
            *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c;
        }
        r->status = 1;
    }
    return 0;
}

static int no_memory(reader *r)
{
    snprintf(r->error, FEM_READ_ERROR, "%.190s: no memory", r->name);
    r->status = 2;
    return 0;
}

/* ---- words ---- */

static int is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Skips white space and comments, on this line or (`any`) over lines. */
static void skip(reader *r, int any)
{
    while (r->at < r->end) {
        if (r->comment && *r->at == r->comment) {
            while (r->at < r->end && *r->at != '\n') {
                r->at++;
            }
        } else if (is_space(*r->at) || (any && *r->at == '\n')) {
            r->line += *r->at == '\n';
            r->at++;
        } else {
            return;
        }
    }
}

int reader_word(reader *r, int any, char word[WORD])
{
    size_t n = 0;
    skip(r, any);
    while (r->at < r->end && !is_space(*r->at) && *r->at != '\n' && !(r->comment && *r->at == r->comment)) {
        if (n < WORD - 1) {
            word[n++] = *r->at;
        }
        r->at++;
    }
    word[n] = '\0';
    return n > 0 && r->status == 0;
}

int reader_next_line(reader *r)
{
    while (r->at < r->end && *r->at != '\n') {
        r->at++;
    }
    if (r->at >= r->end || r->status != 0) {
        return 0;
    }
    r->at++;
    r->line++;
    return r->at < r->end;
}

int reader_number(reader *r, int any, const char *what, double *out)
{
    char word[WORD], *end;
    if (!reader_word(r, any, word)) {
        return reader_fail(r, "%s is missing", what);
    }
    *out = strtod(word, &end);
    if (*end != '\0' || !isfinite(*out)) {
        return reader_fail(r, "%s is '%s', not a finite number", what, word);
    }
    return 1;
}

int reader_integer(reader *r, int any, const char *what, int64_t low, int64_t high, int64_t *out)
{
    char word[WORD], *end;
    if (!reader_word(r, any, word)) {
        return reader_fail(r, "%s is missing", what);
    }
    errno = 0;
    *out = strtoll(word, &end, 10);
    if (*end != '\0' || errno != 0 || *out < low || *out > high) {
        return reader_fail(r, "%s is '%s', not an integer from %lld to %lld", what, word, (long long)low,
                           (long long)high);
    }
    return 1;
}

int reader_bytes(reader *r, size_t count, const char *what, void *out)
{
    if (r->status != 0 || (size_t)(r->end - r->at) < count) {
        return reader_fail(r, "%s is missing", what);
    }
    memcpy(out, r->at, count);
    r->at += count;
    return 1;
}

/* ---- a mesh that grows ---- */

/* Makes room for one more item of `per` numbers; NULL after a failure. */
static void *grown(reader *r, void *array, size_t have, size_t room, size_t bytes)
{
    if (have < room) {
        return array;
    }
    void *larger = realloc(array, (room ? 2 * room : 256) * bytes);
    if (!larger) {
        no_memory(r);
    }
    return larger;
}

static size_t grown_room(size_t have, size_t room)
{
    return have < room ? room : room ? 2 * room : 256;
}

int reader_add_point(reader *r, const double p[3])
{
    fem_mesh *m = &r->mesh;
    if (r->status != 0 || m->points >= FEM_MOST_POINTS) {
        return reader_fail(r, "more than %d points", FEM_MOST_POINTS);
    }
    double *larger = grown(r, m->point, m->points, r->point_room, 3 * sizeof *larger);
    if (!larger) {
        return 0;
    }
    m->point = larger;
    r->point_room = grown_room(m->points, r->point_room);
    memcpy(m->point + 3 * m->points++, p, 3 * sizeof *p);
    return 1;
}

/* Adds an element of n vertices and its line. */
static int add_element(reader *r, const uint32_t *v, size_t n, uint32_t **array, size_t **line, size_t *count,
                       size_t *room)
{
    if (r->status != 0 || *count >= FEM_MOST_ELEMENTS) {
        return reader_fail(r, "more than %d elements", FEM_MOST_ELEMENTS);
    }
    uint32_t *larger = grown(r, *array, *count, *room, n * sizeof *larger);
    if (!larger) {
        return 0;
    }
    *array = larger;
    size_t *longer = grown(r, *line, *count, *room, sizeof *longer);
    if (!longer) {
        return 0;
    }
    *line = longer;
    *room = grown_room(*count, *room);
    memcpy(*array + n * *count, v, n * sizeof *v);
    (*line)[(*count)++] = r->line;
    return 1;
}

int reader_add_triangle(reader *r, const uint32_t v[3])
{
    fem_mesh *m = &r->mesh;
    int32_t *larger = grown(r, m->triangle_group, m->triangles, r->triangle_room, sizeof *larger);
    if (!larger) {
        return 0;
    }
    m->triangle_group = larger;
    m->triangle_group[m->triangles] = r->group;
    return add_element(r, v, 3, &m->triangle, &r->triangle_line, &m->triangles, &r->triangle_room);
}

int reader_add_tet(reader *r, const uint32_t v[4])
{
    fem_mesh *m = &r->mesh;
    int32_t *larger = grown(r, m->group, m->tets, r->tet_room, sizeof *larger);
    if (!larger) {
        return 0;
    }
    m->group = larger;
    m->group[m->tets] = r->group;
    return add_element(r, v, 4, &m->tet, &r->tet_line, &m->tets, &r->tet_room);
}

/* ---- final checks ---- */

/* Checks that the vertices exist and differ. */
static int check_vertices(reader *r, const uint32_t *v, size_t n, size_t line)
{
    r->line = line;
    for (size_t i = 0; i < n; i++) {
        if (v[i] >= r->mesh.points) {
            return reader_fail(r, "vertex %u of %zu", v[i] + 1, r->mesh.points);
        }
        for (size_t j = 0; j < i; j++) {
            if (v[i] == v[j]) {
                return reader_fail(r, "vertex %u twice in one element", v[i] + 1);
            }
        }
    }
    return 1;
}

static const double *corner(const fem_mesh *m, uint32_t i)
{
    return m->point + 3 * (size_t)i;
}

static int check_triangles(reader *r)
{
    fem_mesh *m = &r->mesh;
    size_t kept = 0;
    for (size_t t = 0; t < m->triangles; t++) {
        uint32_t *v = m->triangle + 3 * t;
        double inverse[4];
        int line = r->loose && (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]);
        if (!line && !check_vertices(r, v, 3, r->triangle_line[t])) {
            return 0;
        }
        if (!line && fem_rest_triangle(corner(m, v[0]), corner(m, v[1]), corner(m, v[2]), inverse) > 0) {
            m->triangle_group[kept] = m->triangle_group[t];
            memmove(m->triangle + 3 * kept++, v, 3 * sizeof *v);
        } else if (!r->loose) {
            return reader_fail(r, "triangle %zu has no area", t + 1);
        }
    }
    m->triangles = kept;
    return kept > 0 || m->tets > 0 || reader_fail(r, "no triangle has an area");
}

static int check_tets(reader *r)
{
    fem_mesh *m = &r->mesh;
    for (size_t t = 0; t < m->tets; t++) {
        if (!check_vertices(r, m->tet + 4 * t, 4, r->tet_line[t])) {
            return 0;
        }
    }
    for (size_t t = m->tets; t-- > 0;) {
        const uint32_t *v = m->tet + 4 * t;
        const int turned =
            fem_tet_volume(corner(m, v[0]), corner(m, v[1]), corner(m, v[2]), corner(m, v[3])) < 0;
        m->turned += turned ? 1 : 0;
        m->first_turned = turned ? t : m->first_turned;
    }
    fem_mesh_orient(m);
    for (size_t t = 0; t < m->tets; t++) {
        const uint32_t *v = m->tet + 4 * t;
        double inverse[9];
        r->line = r->tet_line[t];
        if (!(fem_rest_tet(corner(m, v[0]), corner(m, v[1]), corner(m, v[2]), corner(m, v[3]), inverse) >
              0)) {
            return reader_fail(r, "tetrahedron %zu has no volume", t + 1);
        }
    }
    return 1;
}

/* Checks that no face has more than two tetrahedra. */
static int check_faces(reader *r)
{
    fem_mesh copy = r->mesh;
    size_t bad = 0;
    copy.triangle = NULL;
    copy.triangles = 0;
    const ds_status status = copy.tets > 0 ? fem_mesh_surface(&copy, &bad) : DS_OK;
    free(copy.triangle);
    if (status == DS_E_NOMEM) {
        return no_memory(r);
    }
    if (status != DS_OK) {
        r->line = r->tet_line[bad];
        return reader_fail(r, "tetrahedron %zu has a face that two others already share", bad + 1);
    }
    return 1;
}

int reader_finish(reader *r, fem_mesh *out)
{
    const fem_mesh *m = &r->mesh;
    if (r->status == 0 && m->triangles + m->tets == 0) {
        reader_fail(r, "no triangles and no tetrahedra");
    }
    if (r->status == 0 && check_triangles(r) && check_tets(r)) {
        check_faces(r);
    }
    free(r->triangle_line);
    free(r->tet_line);
    *out = r->mesh;
    if (r->status != 0) {
        fem_mesh_free(out);
    }
    return r->status;
}
