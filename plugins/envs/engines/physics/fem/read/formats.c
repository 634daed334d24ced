/* SPDX-License-Identifier: Apache-2.0 */
/* formats.c - readers of Wavefront OBJ, TetGen and Gmsh meshes (see read.h).
 *
 * - OBJ: vertices and faces; normals, textures, groups and materials are ignored.
 * - TetGen: points from a .node file, tetrahedra from its .ele file (H. Si, TetGen, ACM Trans. Math. Softw.
 *   41(2), 2015, and its manual, section "File formats"). Other attributes than the first of a tetrahedron,
 *   markers and the nodes of second order are ignored; the first index, 0 or 1, is that of the first point.
 * - Gmsh MSH 2.2 and 4.1, as text or binary (in either byte order): triangles and tetrahedra of first order,
 *   physical groups with their names.
 *   Points and lines are ignored, other elements are an error. C. Geuzaine, J.-F. Remacle: Gmsh reference
 *   manual, section "MSH file format". Messages about binary numbers name the line of the last text before
 *   them. */
#include "reader.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Wavefront OBJ ---- */

enum { MOST_CORNERS = 1024 };

/* Parses the vertex of "7", "7/1", "7//3" or, counted from the last, "-1". */
static int face_corner(reader *r, const char *word, uint32_t *out)
{
    char *end;
    const int64_t have = (int64_t)r->mesh.points, i = strtoll(word, &end, 10);
    if (end == word || (*end != '\0' && *end != '/')) {
        return reader_fail(r, "'%s' is not a corner of a face", word);
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

void reader_obj(reader *r)
{
    char word[WORD];
    do {
        if (!reader_word(r, 0, word)) {
            continue;
        }
        if (strcmp(word, "v") == 0) {
            read_vertex(r);
        } else if (strcmp(word, "f") == 0) {
            read_face(r);
        }
    } while (reader_next_line(r));
}

int fem_parse_obj(fem_mesh *m, const char *text, size_t size, const char *name, char error[FEM_READ_ERROR])
{
    reader r = reader_of(text, size, name, '#', error);
    reader_obj(&r);
    return reader_finish(&r, m);
}

/* ---- TetGen ---- */

enum { MOST_ATTRIBUTES = 1000 };

/* A whole number becomes the group of the next elements, anything else 0. */
static void set_group(reader *r, const char *word)
{
    char *end;
    const long number = strtol(word, &end, 10);
    r->group =
        end != word && *end == '\0' && number >= INT32_MIN && number <= INT32_MAX ? (int32_t)number : 0;
}

/* Skips the rest of a line, which must be numbers: attributes and markers. The first becomes the group. */
static int skip_numbers(reader *r)
{
    char word[WORD];
    size_t n = 0;
    r->group = 0;
    while (reader_word(r, 0, word)) {
        if (n == 0) {
            set_group(r, word);
        }
        if (++n > MOST_ATTRIBUTES) {
            return reader_fail(r, "more than %d attributes", MOST_ATTRIBUTES);
        }
    }
    return r->status == 0;
}

static int read_nodes(reader *r, int64_t *first)
{
    int64_t count, dimension, index;
    if (!(reader_integer(r, 1, "the number of points", 1, FEM_MOST_POINTS, &count) &&
          reader_integer(r, 0, "the dimension (which must be 3)", 3, 3, &dimension) && skip_numbers(r))) {
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        double p[3];
        const int64_t low = i == 0 ? 0 : *first + i, high = i == 0 ? 1 : low;
        if (!reader_integer(r, 1, "the index of a point", low, high, &index)) {
            return 0;
        }
        *first = i == 0 ? index : *first;
        for (int k = 0; k < 3; k++) {
            if (!reader_number(r, 0, "a coordinate", &p[k])) {
                return 0;
            }
        }
        if (!reader_add_point(r, p) || !skip_numbers(r)) {
            return 0;
        }
    }
    return 1;
}

static int read_tets(reader *r, int64_t first)
{
    int64_t count, corners, index;
    if (!(reader_integer(r, 1, "the number of tetrahedra", 1, FEM_MOST_ELEMENTS, &count) &&
          reader_integer(r, 0, "the number of nodes of each (4 or 10)", 4, 10, &corners) &&
          skip_numbers(r))) {
        return 0;
    }
    const int64_t last = first + (int64_t)r->mesh.points - 1;
    for (int64_t i = 0; i < count; i++) {
        uint32_t v[4];
        if (!reader_integer(r, 1, "the index of a tetrahedron", first + i, first + i, &index)) {
            return 0;
        }
        for (int k = 0; k < 4; k++) {
            if (!reader_integer(r, 0, "a node", first, last, &index)) {
                return 0;
            }
            v[k] = (uint32_t)(index - first);
        }
        const size_t at = r->mesh.tets;
        if (!reader_add_tet(r, v)) {
            return 0;
        }
        /* nodes of second order come before the attribute */
        for (int64_t k = 4; k < corners; k++) {
            if (!reader_integer(r, 0, "a node", INT64_MIN, INT64_MAX, &index)) {
                return 0;
            }
        }
        if (!skip_numbers(r)) {
            return 0;
        }
        r->mesh.group[at] = r->group;
    }
    return 1;
}

/* Checks that nothing follows the last line. */
static void check_end(reader *r)
{
    char word[WORD];
    if (r->status == 0 && reader_word(r, 1, word)) {
        reader_fail(r, "'%s' after the last line", word);
    }
}

int fem_parse_tetgen(fem_mesh *m, const char *node, size_t node_size, const char *node_name, const char *ele,
                     size_t ele_size, const char *ele_name, char error[FEM_READ_ERROR])
{
    reader r = reader_of(node, node_size, node_name, '#', error);
    int64_t first = 0;
    if (read_nodes(&r, &first)) {
        check_end(&r);
    }
    if (r.status == 0) {
        r.at = ele;
        r.end = ele + ele_size;
        r.name = ele_name;
        r.line = 1;
        if (read_tets(&r, first)) {
            check_end(&r);
        }
    }
    return reader_finish(&r, m);
}

/* ---- Gmsh ---- */

/* Nodes have tags; elements refer to them. */
typedef struct tag {
    int64_t tag;
    uint32_t point;
    size_t line;
} tag;

/* The first physical group of a surface or a volume. */
typedef struct grouped_entity {
    int32_t dimension, number, group;
} grouped_entity;

typedef struct gmsh {
    reader r;
    int version;         /* 2 or 4; 0: not yet known */
    int binary, swapped; /* numbers are binary; in the other byte order */
    tag *tags;
    size_t count, room;
    grouped_entity *entities; /* those with a group */
    size_t grouped, entity_room;
} gmsh;

static int compare_tags(const void *left, const void *right)
{
    const tag *a = left, *b = right;
    return a->tag < b->tag ? -1 : a->tag > b->tag;
}

static int add_tag(gmsh *g, int64_t value)
{
    if (g->count >= FEM_MOST_POINTS) {
        return reader_fail(&g->r, "more than %d nodes", FEM_MOST_POINTS);
    }
    if (g->count >= g->room) {
        const size_t room = g->room ? 2 * g->room : 256;
        tag *larger = realloc(g->tags, room * sizeof *larger);
        if (!larger) {
            reader_fail(&g->r, "no memory");
            g->r.status = 2;
            return 0;
        }
        g->tags = larger;
        g->room = room;
    }
    g->tags[g->count] = (tag){value, (uint32_t)g->count, g->r.line};
    g->count++;
    return 1;
}

/* ---- numbers ---- */

enum { INT = 4, DOUBLE = 8 }; /* bytes */

/* Bytes of a tag or a count. */
static size_t wide(const gmsh *g)
{
    return g->version == 4 ? 8 : INT;
}

static int read_bytes(gmsh *g, size_t count, const char *what, unsigned char out[8])
{
    unsigned char raw[8];
    if (!reader_bytes(&g->r, count, what, raw)) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = raw[g->swapped ? count - 1 - i : i];
    }
    return 1;
}

/* `bytes`: its size in a binary file. */
static int read_integer(gmsh *g, size_t bytes, const char *what, int64_t low, int64_t high, int64_t *out)
{
    unsigned char b[8] = {0};
    int32_t narrow;
    if (!g->binary) {
        return reader_integer(&g->r, 1, what, low, high, out);
    }
    if (!read_bytes(g, bytes, what, b)) {
        return 0;
    }
    memcpy(&narrow, b, sizeof narrow);
    memcpy(out, b, sizeof *out);
    *out = bytes == INT ? narrow : *out;
    if (*out < low || *out > high) {
        return reader_fail(&g->r, "%s is %lld, not an integer from %lld to %lld", what, (long long)*out,
                           (long long)low, (long long)high);
    }
    return 1;
}

static int read_number(gmsh *g, const char *what, double *out)
{
    unsigned char b[8];
    if (!g->binary) {
        return reader_number(&g->r, 1, what, out);
    }
    if (!read_bytes(g, DOUBLE, what, b)) {
        return 0;
    }
    memcpy(out, b, sizeof *out);
    return isfinite(*out) ? 1 : reader_fail(&g->r, "%s is not a finite number", what);
}

/* Binary data starts after the end of the line. */
static int begin_bytes(gmsh *g)
{
    return !g->binary || reader_next_line(&g->r) || reader_fail(&g->r, "the file ends before its numbers");
}

static int read_count(gmsh *g, const char *what, int64_t *out)
{
    return read_integer(g, wide(g), what, 0, FEM_MOST_ELEMENTS, out);
}

/* A count; in version 2 it is text even in binary files. */
static int read_first_count(gmsh *g, const char *what, int64_t *out)
{
    return g->version == 2 ? reader_integer(&g->r, 1, what, 0, FEM_MOST_ELEMENTS, out) && begin_bytes(g)
                           : begin_bytes(g) && read_count(g, what, out);
}

static int skip_integers(gmsh *g, int n, size_t bytes, const char *what)
{
    int64_t ignored;
    for (int i = 0; i < n; i++) {
        if (!read_integer(g, bytes, what, INT64_MIN, INT64_MAX, &ignored)) {
            return 0;
        }
    }
    return 1;
}

/* ---- nodes ---- */

static int read_tag(gmsh *g)
{
    int64_t value;
    return read_integer(g, wide(g), "the tag of a node", 1, INT64_MAX, &value) && add_tag(g, value);
}

static int read_point(gmsh *g)
{
    double p[3];
    for (int i = 0; i < 3; i++) {
        if (!read_number(g, "a coordinate", &p[i])) {
            return 0;
        }
    }
    return reader_add_point(&g->r, p);
}

/* Tag x y z. */
static int read_nodes_2(gmsh *g)
{
    int64_t nodes;
    if (!read_first_count(g, "the number of nodes", &nodes)) {
        return 0;
    }
    for (int64_t i = 0; i < nodes; i++) {
        if (!read_tag(g) || !read_point(g)) {
            return 0;
        }
    }
    return 1;
}

/* Blocks of all tags, then all coordinates. */
static int read_nodes_4(gmsh *g)
{
    int64_t blocks, nodes, parametric;
    if (!(read_first_count(g, "the number of blocks", &blocks) &&
          skip_integers(g, 3, wide(g), "a number of nodes"))) {
        return 0;
    }
    for (int64_t b = 0; b < blocks; b++) {
        if (!(skip_integers(g, 2, INT, "an entity") &&
              read_integer(g, INT, "parametric (which must be 0)", 0, 0, &parametric) &&
              read_count(g, "the number of nodes", &nodes))) {
            return 0;
        }
        for (int64_t i = 0; i < nodes; i++) {
            if (!read_tag(g)) {
                return 0;
            }
        }
        for (int64_t i = 0; i < nodes; i++) {
            if (!read_point(g)) {
                return 0;
            }
        }
    }
    return 1;
}

static int sort_tags(gmsh *g)
{
    if (g->count > 1) {
        qsort(g->tags, g->count, sizeof *g->tags, compare_tags);
    }
    for (size_t i = 1; i < g->count; i++) {
        if (g->tags[i].tag == g->tags[i - 1].tag) {
            g->r.line = g->tags[i].line;
            return reader_fail(&g->r, "node %lld twice", (long long)g->tags[i].tag);
        }
    }
    return 1;
}

static int find_node(gmsh *g, int64_t value, uint32_t *out)
{
    const tag *found =
        g->count ? bsearch(&(tag){.tag = value}, g->tags, g->count, sizeof *g->tags, compare_tags) : NULL;
    if (!found) {
        return reader_fail(&g->r, "node %lld does not exist", (long long)value);
    }
    *out = found->point;
    return 1;
}

/* ---- elements ---- */

enum { LINE = 1, TRIANGLE = 2, TETRAHEDRON = 4, POINT = 15 };

static int read_element(gmsh *g, int64_t type)
{
    const int n = type == TRIANGLE ? 3 : type == TETRAHEDRON ? 4 : type == LINE ? 2 : type == POINT ? 1 : 0;
    uint32_t v[4];
    if (n == 0) {
        return reader_fail(&g->r, "an element of type %lld, neither a triangle nor a tetrahedron",
                           (long long)type);
    }
    for (int i = 0; i < n; i++) {
        int64_t node;
        if (!read_integer(g, wide(g), "a node", 1, INT64_MAX, &node) || !find_node(g, node, &v[i])) {
            return 0;
        }
    }
    return type == TRIANGLE      ? reader_add_triangle(&g->r, v)
           : type == TETRAHEDRON ? reader_add_tet(&g->r, v)
                                 : 1;
}

static int read_type(gmsh *g, int64_t *type)
{
    return read_integer(g, INT, "the type of elements", 1, 200, type);
}

static int read_tags(gmsh *g, int64_t *tags)
{
    return read_integer(g, INT, "the number of tags", 0, 100, tags);
}

/* The tags of an element; the first one is its physical group. */
static int read_group(gmsh *g, int64_t tags)
{
    int64_t first = 0;
    g->r.group = 0;
    if (tags == 0) {
        return 1;
    }
    if (!read_integer(g, INT, "a tag", INT32_MIN, INT32_MAX, &first)) {
        return 0;
    }
    g->r.group = (int32_t)first;
    return skip_integers(g, (int)tags - 1, INT, "a tag");
}

/* Number, type, number of tags, tags, nodes; binary files have groups of one type and number of tags. */
static int read_elements_2(gmsh *g)
{
    int64_t count, type = 0, tags = 0, left = 0;
    if (!read_first_count(g, "the number of elements", &count)) {
        return 0;
    }
    for (int64_t i = 0; i < count; i++, left--) {
        if (g->binary && left == 0 &&
            !(read_type(g, &type) &&
              read_integer(g, INT, "the number of elements of a group", 1, count - i, &left) &&
              read_tags(g, &tags))) {
            return 0;
        }
        if (!(skip_integers(g, 1, INT, "the number of an element") &&
              (g->binary || (read_type(g, &type) && read_tags(g, &tags))) && read_group(g, tags) &&
              read_element(g, type))) {
            return 0;
        }
    }
    return 1;
}

/* ---- groups ---- */

static void *one_more(gmsh *g, void *array, size_t have, size_t *room, size_t bytes)
{
    if (have < *room) {
        return array;
    }
    void *larger = realloc(array, (*room ? 2 * *room : 64) * bytes);
    if (!larger) {
        reader_fail(&g->r, "no memory");
        g->r.status = 2;
    }
    *room = larger ? (*room ? 2 * *room : 64) : *room;
    return larger;
}

/* `dimension number "name"` in each line, text also in binary files. */
static int read_names(gmsh *g)
{
    fem_mesh *m = &g->r.mesh;
    int64_t count, dimension, number;
    size_t room = 0;
    if (!reader_integer(&g->r, 1, "the number of names", 0, FEM_MOST_ELEMENTS, &count)) {
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        if (!(reader_integer(&g->r, 1, "a dimension", 0, 3, &dimension) &&
              reader_integer(&g->r, 0, "the number of a group", INT32_MIN, INT32_MAX, &number))) {
            return 0;
        }
        const char *from = memchr(g->r.at, '"', (size_t)(g->r.end - g->r.at));
        const char *to = from ? memchr(from + 1, '"', (size_t)(g->r.end - from - 1)) : NULL;
        if (!to || memchr(g->r.at, '\n', (size_t)(to - g->r.at)) || to - from > FEM_GROUP_NAME) {
            return reader_fail(&g->r, "group %lld needs a name in quotes of at most %d bytes",
                               (long long)number, FEM_GROUP_NAME - 1);
        }
        fem_group *larger = one_more(g, m->named, m->groups, &room, sizeof *larger);
        if (!larger) {
            return 0;
        }
        m->named = larger;
        fem_group *to_fill = &m->named[m->groups++];
        *to_fill = (fem_group){(int32_t)dimension, (int32_t)number, ""};
        memcpy(to_fill->name, from + 1, (size_t)(to - from - 1));
        g->r.at = to + 1;
    }
    return 1;
}

/* The groups of one surface or volume. */
static int read_entity(gmsh *g, int dimension)
{
    int64_t number, groups, group = 0, sides;
    double ignored;
    if (!read_integer(g, INT, "the number of an entity", INT32_MIN, INT32_MAX, &number)) {
        return 0;
    }
    for (int i = 0; i < (dimension == 0 ? 3 : 6); i++) {
        if (!read_number(g, "a coordinate", &ignored)) {
            return 0;
        }
    }
    if (!read_count(g, "the number of groups", &groups)) {
        return 0;
    }
    for (int64_t i = groups; i-- > 0;) {
        int64_t value;
        if (!read_integer(g, INT, "a group", INT32_MIN + 1, INT32_MAX, &value)) {
            return 0;
        }
        group = i + 1 == groups ? value : group; /* the first; negative: turned round */
    }
    if (dimension > 0 &&
        !(read_count(g, "the number of sides", &sides) && skip_integers(g, (int)sides, INT, "a side"))) {
        return 0;
    }
    if (dimension < 2 || groups == 0) {
        return 1;
    }
    grouped_entity *larger = one_more(g, g->entities, g->grouped, &g->entity_room, sizeof *larger);
    if (!larger) {
        return 0;
    }
    g->entities = larger;
    g->entities[g->grouped++] =
        (grouped_entity){dimension, (int32_t)number, (int32_t)(group < 0 ? -group : group)};
    return 1;
}

static int compare_entities(const void *left, const void *right)
{
    const grouped_entity *a = left, *b = right;
    const int by_dimension = (a->dimension > b->dimension) - (a->dimension < b->dimension);
    return by_dimension ? by_dimension : (a->number > b->number) - (a->number < b->number);
}

static int read_entities(gmsh *g)
{
    int64_t count[4];
    if (g->version != 4) {
        return reader_fail(&g->r, "$Entities belongs to version 4.1");
    }
    for (int d = 0; d < 4; d++) {
        if (!(d == 0 ? read_first_count(g, "a number of entities", &count[d])
                     : read_count(g, "a number of entities", &count[d]))) {
            return 0;
        }
    }
    for (int d = 0; d < 4; d++) {
        for (int64_t i = 0; i < count[d]; i++) {
            if (!read_entity(g, d)) {
                return 0;
            }
        }
    }
    if (g->grouped > 1) {
        qsort(g->entities, g->grouped, sizeof *g->entities, compare_entities);
    }
    return 1;
}

/* Without any groups the number of the entity. */
static int32_t group_of(const gmsh *g, int64_t dimension, int64_t number)
{
    const grouped_entity key = {(int32_t)dimension, (int32_t)number, 0};
    const grouped_entity *found =
        g->grouped ? bsearch(&key, g->entities, g->grouped, sizeof key, compare_entities) : NULL;
    return found ? found->group : g->grouped > 0 ? 0 : (int32_t)number;
}

static int read_elements_4(gmsh *g)
{
    int64_t blocks, count, type, dimension, entity;
    if (!(read_first_count(g, "the number of blocks", &blocks) &&
          skip_integers(g, 3, wide(g), "a number of elements"))) {
        return 0;
    }
    for (int64_t b = 0; b < blocks; b++) {
        if (!(read_integer(g, INT, "the dimension of an entity", 0, 3, &dimension) &&
              read_integer(g, INT, "the number of an entity", INT32_MIN, INT32_MAX, &entity) &&
              read_type(g, &type) && read_count(g, "the number of elements", &count))) {
            return 0;
        }
        g->r.group = group_of(g, dimension, entity);
        for (int64_t i = 0; i < count; i++) {
            if (!(skip_integers(g, 1, wide(g), "the tag of an element") && read_element(g, type))) {
                return 0;
            }
        }
    }
    return 1;
}

/* ---- sections ---- */

/* A binary file starts with the number 1, which shows its byte order. */
static int read_order(gmsh *g, int64_t bytes)
{
    int64_t one;
    if (bytes != DOUBLE) {
        return reader_fail(&g->r, "numbers of %lld bytes; binary files are read with 8", (long long)bytes);
    }
    if (!begin_bytes(g) || !read_integer(g, INT, "the number 1", INT32_MIN, INT32_MAX, &one)) {
        return 0;
    }
    g->swapped = one == 0x01000000;
    return one == 1 || g->swapped ||
           reader_fail(&g->r, "the first number of a binary file is %lld, not 1 in either byte order",
                       (long long)one);
}

static int read_format(gmsh *g)
{
    char word[WORD];
    int64_t type, bytes;
    if (!reader_word(&g->r, 1, word)) {
        return reader_fail(&g->r, "the version is missing");
    }
    g->version = strncmp(word, "2.", 2) == 0 || strcmp(word, "2") == 0 ? 2 : strcmp(word, "4.1") == 0 ? 4 : 0;
    if (g->version == 0) {
        return reader_fail(&g->r, "version '%s' is not supported; use 2.2 or 4.1", word);
    }
    if (!reader_integer(&g->r, 1, "the type of file (0: text, 1: binary)", 0, 1, &type) ||
        !reader_integer(&g->r, 1, "the size of a number", 1, 16, &bytes)) {
        return 0;
    }
    g->binary = type == 1;
    return !g->binary || read_order(g, bytes);
}

/* Skips any other section, up to its $End. */
static int skip_section(gmsh *g, const char *name)
{
    char word[WORD], end[WORD + 8] = "$End";
    strncat(end, name + 1, WORD);
    const size_t line = g->r.line;
    while (reader_next_line(&g->r)) {
        if (reader_word(&g->r, 0, word) && strcmp(word, end) == 0) {
            return 1;
        }
    }
    g->r.line = line;
    return reader_fail(&g->r, "section %s has no end", name);
}

static int read_section(gmsh *g, const char *name)
{
    char word[WORD];
    const int format = strcmp(name, "$MeshFormat") == 0, nodes = strcmp(name, "$Nodes") == 0,
              elements = strcmp(name, "$Elements") == 0, names = strcmp(name, "$PhysicalNames") == 0,
              entities = strcmp(name, "$Entities") == 0;
    if (format && g->version != 0) {
        return reader_fail(&g->r, "a second section %s", name);
    }
    if (!format && g->version == 0) {
        return reader_fail(&g->r, "'%s' found, $MeshFormat expected", name);
    }
    if (!format && !nodes && !elements && !names && !entities) {
        return name[0] == '$' ? skip_section(g, name) : reader_fail(&g->r, "'%s' between sections", name);
    }
    if ((nodes && g->count > 0) || (elements && g->r.mesh.triangles + g->r.mesh.tets > 0) ||
        (names && g->r.mesh.groups > 0) || (entities && g->grouped > 0)) {
        return reader_fail(&g->r, "a second section %s", name);
    }
    const int good = format     ? read_format(g)
                     : names    ? read_names(g)
                     : entities ? read_entities(g)
                     : nodes    ? (g->version == 2 ? read_nodes_2(g) : read_nodes_4(g)) && sort_tags(g)
                                : (g->version == 2 ? read_elements_2(g) : read_elements_4(g));
    if (!good) {
        return 0;
    }
    if (!reader_word(&g->r, 1, word) || strncmp(word, "$End", 4) != 0 || strcmp(word + 4, name + 1) != 0) {
        return reader_fail(&g->r, "'%s' found, $End%s expected", word, name + 1);
    }
    return 1;
}

int fem_parse_gmsh(fem_mesh *m, const char *text, size_t size, const char *name, char error[FEM_READ_ERROR])
{
    gmsh g = {.r = reader_of(text, size, name, 0, error)};
    char word[WORD];
    while (reader_word(&g.r, 1, word) && read_section(&g, word)) {
    }
    free(g.tags);
    free(g.entities);
    return reader_finish(&g.r, m);
}

/* ---- files ---- */

enum { MOST_BYTES = 1 << 29 };

/* Returns the bytes of a file, which the caller frees; NULL with a line in `error`. */
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
    return n > m && strcasecmp(path + n - m, end) == 0;
}

static int read_tetgen(fem_mesh *m, const char *path, char error[FEM_READ_ERROR])
{
    char node[4096], ele[4096];
    const int stem = (int)(strrchr(path, '.') - path);
    size_t node_size = 0, ele_size = 0;
    if (stem + 6 > (int)sizeof node) {
        snprintf(error, FEM_READ_ERROR, "%.190s...: the path is too long", path);
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
    const bool obj = ends_in(path, ".obj"), stl = ends_in(path, ".stl"), ply = ends_in(path, ".ply");
    if (!obj && !stl && !ply && !ends_in(path, ".msh")) {
        snprintf(error, FEM_READ_ERROR, "%.190s: not a mesh file; use .obj, .stl, .ply, .msh, .node or .ele",
                 path);
        return 1;
    }
    char *text = contents(path, &size, error);
    int status = !text ? 1
                 : obj ? fem_parse_obj(m, text, size, path, error)
                 : stl ? fem_parse_stl(m, text, size, path, error)
                 : ply ? fem_parse_ply(m, text, size, path, error)
                       : fem_parse_gmsh(m, text, size, path, error);
    free(text);
    return status;
}

int fem_read_faces(fem_mesh *m, const char *path, char error[FEM_READ_ERROR])
{
    static const struct {
        const char *end;
        char comment;
        void (*read)(reader *r);
    } formats[] = {{".obj", '#', reader_obj}, {".stl", '\0', reader_stl}, {".ply", '\0', reader_ply}};
    size_t k = 0, size = 0;
    *m = (fem_mesh){0};
    error[0] = '\0';
    while (k < 3 && !ends_in(path, formats[k].end)) {
        k++;
    }
    if (k == 3) {
        snprintf(error, FEM_READ_ERROR, "%.190s: not a surface; use .obj, .stl or .ply", path);
        return 1;
    }
    char *text = contents(path, &size, error);
    if (text == NULL) {
        return 1;
    }
    reader r = reader_of(text, size, path, formats[k].comment, error);
    r.loose = 1;
    formats[k].read(&r);
    int status = reader_finish(&r, m);
    free(text);
    return status;
}

int fem_read_points(fem_mesh *m, const char *path, char error[FEM_READ_ERROR])
{
    size_t size = 0;
    *m = (fem_mesh){0};
    error[0] = '\0';
    char *text = contents(path, &size, error);
    int status = text ? fem_parse_ply_points(m, text, size, path, error) : 1;
    free(text);
    return status;
}
