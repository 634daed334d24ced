/* SPDX-License-Identifier: Apache-2.0 */
/* gmsh.c - Gmsh MSH, versions 2.2 and 4.1, as text: triangles and tetrahedra of the first order. Points and
 * lines are left out, other elements are an error. C. Geuzaine, J.-F. Remacle: Gmsh reference manual, section
 * "MSH file format". */
#include "reader.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Nodes have tags; elements name them by these. */
typedef struct tag {
    int64_t tag;
    uint32_t point;
    size_t line;
} tag;

typedef struct gmsh {
    reader r;
    int version; /* 2 or 4; 0: not known yet */
    tag *tags;
    size_t count, room;
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

static int read_count(gmsh *g, const char *what, int64_t *out)
{
    return reader_integer(&g->r, 1, what, 0, FEM_MOST_ELEMENTS, out);
}

static int skip_integers(gmsh *g, int n, const char *what)
{
    int64_t ignored;
    for (int i = 0; i < n; i++) {
        if (!reader_integer(&g->r, 1, what, INT64_MIN, INT64_MAX, &ignored)) {
            return 0;
        }
    }
    return 1;
}

static int read_tag(gmsh *g)
{
    int64_t value;
    return reader_integer(&g->r, 1, "the tag of a node", 1, INT64_MAX, &value) && add_tag(g, value);
}

static int read_point(gmsh *g)
{
    double p[3];
    for (int i = 0; i < 3; i++) {
        if (!reader_number(&g->r, 1, "a coordinate", &p[i])) {
            return 0;
        }
    }
    return reader_add_point(&g->r, p);
}

/* Version 2: tag x y z. Version 4: blocks of all tags, then all coordinates. */
static int read_nodes(gmsh *g)
{
    int64_t blocks = 1, nodes, parametric;
    if (g->version == 4 &&
        !(read_count(g, "the number of blocks", &blocks) && skip_integers(g, 3, "a number of nodes"))) {
        return 0;
    }
    for (int64_t b = 0; b < blocks; b++) {
        if (g->version == 4 &&
            !(skip_integers(g, 2, "an entity") &&
              reader_integer(&g->r, 1, "parametric (which must be 0)", 0, 0, &parametric))) {
            return 0;
        }
        if (!read_count(g, "the number of nodes", &nodes)) {
            return 0;
        }
        for (int64_t i = 0; i < nodes; i++) {
            if (!read_tag(g) || (g->version == 2 && !read_point(g))) {
                return 0;
            }
        }
        for (int64_t i = 0; i < nodes && g->version == 4; i++) {
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
        return reader_fail(&g->r, "there is no node %lld", (long long)value);
    }
    *out = found->point;
    return 1;
}

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
        if (!reader_integer(&g->r, 1, "a node", 1, INT64_MAX, &node) || !find_node(g, node, &v[i])) {
            return 0;
        }
    }
    return type == TRIANGLE      ? reader_add_triangle(&g->r, v)
           : type == TETRAHEDRON ? reader_add_tet(&g->r, v)
                                 : 1;
}

static int read_elements_2(gmsh *g)
{
    int64_t count, type, tags;
    if (!read_count(g, "the number of elements", &count)) {
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        if (!(skip_integers(g, 1, "the number of an element") &&
              reader_integer(&g->r, 1, "the type of an element", 1, 200, &type) &&
              reader_integer(&g->r, 1, "the number of tags", 0, 100, &tags) &&
              skip_integers(g, (int)tags, "a tag") && read_element(g, type))) {
            return 0;
        }
    }
    return 1;
}

static int read_elements_4(gmsh *g)
{
    int64_t blocks, count, type;
    if (!(read_count(g, "the number of blocks", &blocks) && skip_integers(g, 3, "a number of elements"))) {
        return 0;
    }
    for (int64_t b = 0; b < blocks; b++) {
        if (!(skip_integers(g, 2, "an entity") &&
              reader_integer(&g->r, 1, "the type of elements", 1, 200, &type) &&
              read_count(g, "the number of elements", &count))) {
            return 0;
        }
        for (int64_t i = 0; i < count; i++) {
            if (!(skip_integers(g, 1, "the tag of an element") && read_element(g, type))) {
                return 0;
            }
        }
    }
    return 1;
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
        return reader_fail(&g->r, "version '%s'; 2.2 and 4.1 are read", word);
    }
    return reader_integer(&g->r, 1, "the type of file (0: text; binary files are not read)", 0, 0, &type) &&
           reader_integer(&g->r, 1, "the size of a number", 1, 16, &bytes);
}

/* Any other section is left out, to its $End. */
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
              elements = strcmp(name, "$Elements") == 0;
    if (!format && g->version == 0) {
        return reader_fail(&g->r, "'%s' where $MeshFormat must stand", name);
    }
    if (!format && !nodes && !elements) {
        return name[0] == '$' ? skip_section(g, name) : reader_fail(&g->r, "'%s' between sections", name);
    }
    if ((nodes || elements) && (nodes ? g->count : g->r.mesh.triangles + g->r.mesh.tets) > 0) {
        return reader_fail(&g->r, "a second section %s", name);
    }
    const int good = format  ? read_format(g)
                     : nodes ? read_nodes(g) && sort_tags(g)
                             : (g->version == 2 ? read_elements_2(g) : read_elements_4(g));
    if (!good) {
        return 0;
    }
    if (!reader_word(&g->r, 1, word) || strncmp(word, "$End", 4) != 0 || strcmp(word + 4, name + 1) != 0) {
        return reader_fail(&g->r, "'%s' where $End%s must stand", word, name + 1);
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
    return reader_finish(&g.r, m);
}
