/* SPDX-License-Identifier: Apache-2.0 */
/* surfaces.c - readers of STL and PLY meshes (see read.h).
 *
 * - STL, text or binary: corners with equal coordinates become one point, triangles between fewer than three
 *   points are dropped, normals and attributes are ignored (3D Systems, StereoLithography Interface
 *   Specification, 1989). A file is binary if its size is that of its number of triangles.
 * - PLY, text or binary in either byte order: x, y, z of the vertices and the lists vertex_indices or
 *   vertex_index of the faces; other properties and elements are skipped (G. Turk, The PLY Polygon File
 *   Format, 1994). */
#include "reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- equal points ---- */

/* Open addressing; `slot` holds numbers of points, UINT32_MAX = free. */
typedef struct merge {
    uint32_t *slot;
    size_t slots;
} merge;

static size_t hash_of(const double p[3])
{
    uint64_t h = 14695981039346656037u;
    for (int d = 0; d < 3; d++) {
        const double v = p[d] + 0.0; /* -0 is 0 */
        uint64_t bits;
        memcpy(&bits, &v, sizeof bits);
        h = (h ^ bits) * 1099511628211u;
        h ^= h >> 29;
    }
    return (size_t)h;
}

static int grow_slots(reader *r, merge *m)
{
    const size_t slots = m->slots ? 2 * m->slots : 1024;
    uint32_t *slot = malloc(slots * sizeof *slot);
    if (!slot) {
        reader_fail(r, "no memory");
        r->status = 2;
        return 0;
    }
    memset(slot, 0xff, slots * sizeof *slot);
    for (uint32_t i = 0; i < r->mesh.points; i++) {
        size_t at = hash_of(r->mesh.point + 3 * (size_t)i) & (slots - 1);
        while (slot[at] != UINT32_MAX) {
            at = (at + 1) & (slots - 1);
        }
        slot[at] = i;
    }
    free(m->slot);
    m->slot = slot;
    m->slots = slots;
    return 1;
}

/* The number of the point, which is new or equals an earlier one. */
static int merged_point(reader *r, merge *m, const double p[3], uint32_t *out)
{
    if (2 * (r->mesh.points + 1) > m->slots && !grow_slots(r, m)) {
        return 0;
    }
    size_t at = hash_of(p) & (m->slots - 1);
    for (; m->slot[at] != UINT32_MAX; at = (at + 1) & (m->slots - 1)) {
        const double *q = r->mesh.point + 3 * (size_t)m->slot[at];
        if (q[0] == p[0] && q[1] == p[1] && q[2] == p[2]) {
            *out = m->slot[at];
            return 1;
        }
    }
    *out = m->slot[at] = (uint32_t)r->mesh.points;
    return reader_add_point(r, p);
}

static int add_unless_flat(reader *r, const uint32_t v[3])
{
    return v[0] == v[1] || v[1] == v[2] || v[2] == v[0] || reader_add_triangle(r, v);
}

/* ---- STL ---- */

enum { STL_HEAD = 84, STL_TRIANGLE = 50 };

static uint32_t little32(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static double little_float(const char *p)
{
    const uint32_t bits = little32(p);
    float v;
    memcpy(&v, &bits, sizeof v);
    return (double)v;
}

static void read_binary_stl(reader *r, merge *m, uint32_t count)
{
    const char *at = r->at + STL_HEAD;
    for (uint32_t t = 0; t < count && r->status == 0; t++, at += STL_TRIANGLE) {
        uint32_t v[3] = {0};
        for (int k = 0; k < 3 && r->status == 0; k++) {
            double p[3];
            for (int d = 0; d < 3; d++) {
                p[d] = little_float(at + 12 + 12 * k + 4 * d);
                if (!isfinite(p[d])) {
                    reader_fail(r, "triangle %u has a coordinate that is not finite", t + 1);
                    return;
                }
            }
            merged_point(r, m, p, &v[k]);
        }
        if (r->status == 0) {
            add_unless_flat(r, v);
        }
    }
}

static void read_text_stl(reader *r, merge *m)
{
    char word[WORD];
    uint32_t v[3] = {0};
    int corners = 0;
    while (r->status == 0 && reader_word(r, 1, word)) {
        if (strcmp(word, "vertex") == 0) {
            double p[3];
            for (int d = 0; d < 3; d++) {
                if (!reader_number(r, 0, "a coordinate", &p[d])) {
                    return;
                }
            }
            if (corners == 3) {
                reader_fail(r, "a facet with more than 3 corners");
            } else if (merged_point(r, m, p, &v[corners])) {
                corners++;
            }
        } else if (strcmp(word, "endfacet") == 0) {
            if (corners != 3) {
                reader_fail(r, "a facet with %d corners", corners);
            } else {
                add_unless_flat(r, v);
            }
            corners = 0;
        }
    }
}

void reader_stl(reader *r)
{
    const char *text = r->at;
    const size_t size = (size_t)(r->end - r->at);
    merge points = {0};
    if (size >= STL_HEAD && size == STL_HEAD + (size_t)STL_TRIANGLE * little32(text + 80)) {
        read_binary_stl(r, &points, little32(text + 80));
    } else if (size >= 5 && memcmp(text, "solid", 5) == 0) {
        read_text_stl(r, &points);
    } else {
        reader_fail(r, "neither a text STL file, which begins with 'solid', nor a whole binary one");
    }
    free(points.slot);
}

int fem_parse_stl(fem_mesh *m, const char *text, size_t size, const char *name, char error[FEM_READ_ERROR])
{
    reader r = reader_of(text, size, name, '\0', error);
    reader_stl(&r);
    return reader_finish(&r, m);
}

/* ---- PLY ---- */

enum { MOST_PROPERTIES = 64, MOST_PLY_ELEMENTS = 16, MOST_FACE = 1024 };
enum { I8, U8, I16, U16, I32, U32, F32, F64 };

typedef struct property {
    int type, count_type; /* count_type < 0: a single number */
    int role;             /* 0..2: x, y, z; 3: vertex indices; -1: skipped */
} property;

typedef struct ply_element {
    int role; /* 0: vertices, 1: faces, -1: skipped */
    int64_t count;
    int properties;
    property property[MOST_PROPERTIES];
} ply_element;

typedef struct ply {
    reader *r;
    int binary, big;
    int elements;
    ply_element element[MOST_PLY_ELEMENTS];
} ply;

static int type_of(const char *word)
{
    static const char *const names[2][8] = {
        {"char", "uchar", "short", "ushort", "int", "uint", "float", "double"},
        {"int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"}};
    for (int k = 0; k < 16; k++) {
        if (strcmp(word, names[k / 8][k % 8]) == 0) {
            return k % 8;
        }
    }
    return -1;
}

static int read_property(ply *f)
{
    reader *r = f->r;
    char word[WORD] = "", name[WORD] = "";
    if (f->elements == 0) {
        return reader_fail(r, "a property before the first element");
    }
    ply_element *e = &f->element[f->elements - 1];
    if (e->properties == MOST_PROPERTIES) {
        return reader_fail(r, "more than %d properties", MOST_PROPERTIES);
    }
    property p = {.count_type = -1, .role = -1};
    reader_word(r, 0, word);
    if (strcmp(word, "list") == 0) {
        reader_word(r, 0, word);
        p.count_type = type_of(word);
        reader_word(r, 0, word);
        if (p.count_type < 0 || p.count_type >= F32) {
            return reader_fail(r, "a list needs a whole type for its length");
        }
    }
    p.type = type_of(word);
    if (p.type < 0 || !reader_word(r, 0, name)) {
        return reader_fail(r, "'%s' is not a type of PLY files", word);
    }
    if (e->role == 0 && p.count_type < 0 && name[1] == '\0' && name[0] >= 'x' && name[0] <= 'z') {
        p.role = name[0] - 'x';
    } else if (e->role == 1 && p.count_type >= 0 && p.type < F32 &&
               (strcmp(name, "vertex_indices") == 0 || strcmp(name, "vertex_index") == 0)) {
        p.role = 3;
    }
    e->property[e->properties++] = p;
    return 1;
}

static int read_element(ply *f)
{
    char word[WORD] = "";
    if (f->elements == MOST_PLY_ELEMENTS) {
        return reader_fail(f->r, "more than %d elements", MOST_PLY_ELEMENTS);
    }
    ply_element *e = &f->element[f->elements++];
    reader_word(f->r, 0, word);
    e->role = strcmp(word, "vertex") == 0 ? 0 : strcmp(word, "face") == 0 ? 1 : -1;
    return reader_integer(f->r, 0, "the number of elements", 0, (int64_t)1 << 31, &e->count);
}

static int read_header(ply *f)
{
    reader *r = f->r;
    char word[WORD] = "";
    if (!reader_word(r, 0, word) || strcmp(word, "ply") != 0) {
        return reader_fail(r, "a PLY file begins with 'ply'");
    }
    while (r->status == 0 && reader_next_line(r)) {
        if (!reader_word(r, 0, word)) {
            continue;
        }
        if (strcmp(word, "end_header") == 0) {
            reader_next_line(r);
            return r->status == 0;
        }
        if (strcmp(word, "format") == 0) {
            reader_word(r, 0, word);
            f->binary = strcmp(word, "ascii") != 0;
            f->big = strcmp(word, "binary_big_endian") == 0;
            if (f->binary && !f->big && strcmp(word, "binary_little_endian") != 0) {
                return reader_fail(r, "'%s' is not a format of PLY files", word);
            }
        } else if (strcmp(word, "element") == 0) {
            read_element(f);
        } else if (strcmp(word, "property") == 0) {
            read_property(f);
        }
    }
    return reader_fail(r, "the header does not end");
}

static int ply_number(ply *f, int type, double *out)
{
    static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 8};
    unsigned char raw[8] = {0};
    uint64_t bits = 0;
    if (!f->binary) {
        return reader_number(f->r, 1, "a number", out);
    }
    const size_t n = sizes[type];
    if (!reader_bytes(f->r, n, "a number", raw)) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        bits |= (uint64_t)raw[f->big ? n - 1 - i : i] << (8 * i);
    }
    if (type == F32) {
        const uint32_t low = (uint32_t)bits;
        float v;
        memcpy(&v, &low, sizeof v);
        *out = (double)v;
    } else if (type == F64) {
        memcpy(out, &bits, sizeof *out);
    } else {
        *out = type == I8    ? (double)(int8_t)bits
               : type == I16 ? (double)(int16_t)bits
               : type == I32 ? (double)(int32_t)bits
                             : (double)bits;
    }
    return isfinite(*out) || reader_fail(f->r, "a number that is not finite");
}

/* A list; the indices of a face become a fan of triangles. */
static int read_list(ply *f, const property *p)
{
    double length, v;
    uint32_t corner[3] = {0};
    if (!ply_number(f, p->count_type, &length)) {
        return 0;
    }
    if (length < 0 || (p->role == 3 && (length < 3 || length > MOST_FACE))) {
        return reader_fail(f->r, "a face with %.0f corners", length);
    }
    for (double k = 0; k < length; k++) {
        if (!ply_number(f, p->type, &v)) {
            return 0;
        }
        if (p->role != 3) {
            continue;
        }
        if (!(v >= 0.0 && v < (double)FEM_MOST_POINTS)) {
            return reader_fail(f->r, "vertex %.0f", v);
        }
        corner[k < 1 ? 0 : 2] = (uint32_t)v;
        if (k >= 2 && !reader_add_triangle(f->r, corner)) {
            return 0;
        }
        corner[1] = (uint32_t)v;
    }
    return 1;
}

static int read_item(ply *f, const ply_element *e)
{
    double x[3] = {0.0};
    for (int i = 0; i < e->properties; i++) {
        const property *p = &e->property[i];
        double v;
        if (p->count_type >= 0 ? !read_list(f, p) : !ply_number(f, p->type, &v)) {
            return 0;
        }
        if (p->count_type < 0 && p->role >= 0) {
            x[p->role] = v;
        }
    }
    return e->role != 0 || reader_add_point(f->r, x);
}

void reader_ply(reader *r)
{
    ply f = {.r = r};
    if (!read_header(&f)) {
        return;
    }
    for (int k = 0; k < f.elements; k++) {
        const ply_element *e = &f.element[k];
        int roles = 0;
        for (int i = 0; i < e->properties; i++) {
            roles += e->property[i].role >= 0;
        }
        if ((e->role == 0 && roles != 3) || (e->role == 1 && roles != 1)) {
            reader_fail(r, e->role == 0 ? "the vertices have no x, y and z"
                                        : "the faces have no list vertex_indices");
        }
        for (int64_t i = 0; i < e->count && r->status == 0; i++) {
            read_item(&f, e);
        }
    }
}

int fem_parse_ply(fem_mesh *m, const char *text, size_t size, const char *name, char error[FEM_READ_ERROR])
{
    reader r = reader_of(text, size, name, '\0', error);
    reader_ply(&r);
    return reader_finish(&r, m);
}

int fem_parse_ply_points(fem_mesh *m, const char *text, size_t size, const char *name,
                         char error[FEM_READ_ERROR])
{
    reader r = reader_of(text, size, name, '\0', error);
    reader_ply(&r);
    free(r.triangle_line);
    free(r.mesh.triangle);
    r.mesh.triangle = NULL;
    r.mesh.triangles = 0;
    if (r.status == 0 && r.mesh.points == 0) {
        reader_fail(&r, "no vertices");
    }
    *m = r.mesh;
    if (r.status != 0) {
        fem_mesh_free(m);
    }
    return r.status;
}
