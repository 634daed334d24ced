/* SPDX-License-Identifier: Apache-2.0 */
/* tetgen.c - TetGen: points from a .node file, tetrahedra from its .ele file (H. Si, TetGen, ACM Trans.
 * Math. Softw. 41(2), 2015, and its manual, section "File formats"). Attributes, markers and the nodes of
 * second order are left out; the first index, 0 or 1, is that of the first point. */
#include "reader.h"

#include <string.h>

enum { MOST_ATTRIBUTES = 1000 };

/* The rest of a line must be numbers: attributes and markers. */
static int skip_numbers(reader *r)
{
    char word[WORD];
    size_t n = 0;
    while (reader_word(r, 0, word)) {
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
        if (!reader_add_tet(r, v) || !skip_numbers(r)) {
            return 0;
        }
    }
    return 1;
}

/* Nothing follows the last line. */
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
