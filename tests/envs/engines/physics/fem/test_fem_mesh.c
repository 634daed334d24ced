/* SPDX-License-Identifier: Apache-2.0 */
/* test_fem_mesh.c - procedural meshes: counts, areas, volumes, surfaces, edges, masses; readers of mesh files
 * and their messages about bad ones. */
#include "engines/physics/fem/model.h"
#include "engines/physics/fem/read.h"
#include "test.h"
#include "test.h"

/* Whether each edge of the triangles has exactly two of them, in opposite sense. */
static int is_closed(const fem_mesh *m)
{
    uint32_t *edge;
    size_t edges = 0, bad = 0;
    const ds_status status = fem_mesh_edges(m, &edge, &edges, &bad);
    free(edge);
    return status == DS_OK && 2 * edges == 3 * m->triangles;
}

/* Of a surface that points outward: Gauss. */
static double enclosed_volume(const fem_mesh *m)
{
    double sum = 0;
    for (size_t t = 0; t < m->triangles; t++) {
        const uint32_t *v = m->triangle + 3 * t;
        sum += fem_tet_volume((const double[]){0, 0, 0}, m->point + 3 * v[0], m->point + 3 * v[1],
                              m->point + 3 * v[2]);
    }
    return sum;
}

static void check_solid(const char *name, ds_status (*make)(fem_mesh *), size_t points, size_t tets,
                        size_t surface, double volume, double tolerance)
{
    fem_mesh m;
    assert_int_equal(make(&m), DS_OK);
    assert_int_equal(m.points, points);
    assert_int_equal(m.tets, tets);
    assert_int_equal(fem_mesh_orient(&m), 0);
    if (!(fabs(fem_mesh_volume(&m) - volume) <= tolerance)) {
        fail_msg("volume of %s: %.9g, not %.9g", name, fem_mesh_volume(&m), volume);
    }
    /* every inner face is shared by exactly two: the rest is closed */
    assert_int_equal(fem_mesh_surface(&m, NULL), DS_OK);
    assert_int_equal(m.triangles, surface);
    assert_int_equal(is_closed(&m), 1);
    assert_true(fabs(enclosed_volume(&m) - fem_mesh_volume(&m)) < 1e-12);
    fem_mesh_free(&m);
}

static void solids_have_their_counts(void **state)
{
    check_solid("gear", fem_mesh_gear, 480, 1152, 960, 9.67037, 5e-6);
    check_solid("ball", fem_mesh_ball, 85, 320, 80, 3.658712, 5e-7);
    check_solid("beam", fem_mesh_beam, 189, 400, 336, 0.08, 1e-15);
}

/* Closed, outward, every point at distance 1, and balanced: the centre is the origin. */
static void the_sphere_is_round(void **state)
{
    fem_mesh m;
    double sum[3] = {0};
    assert_int_equal(fem_mesh_sphere(&m), DS_OK);
    assert_int_equal(m.points, 162);
    assert_int_equal(m.triangles, 320);
    assert_int_equal(is_closed(&m), 1);
    for (size_t i = 0; i < m.points; i++) {
        const double *p = m.point + 3 * i;
        assert_true(fabs(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] - 1) < 1e-14);
        for (int d = 0; d < 3; d++) {
            sum[d] += p[d];
        }
    }
    assert_true(fabs(sum[0]) + fabs(sum[1]) + fabs(sum[2]) < 1e-12);
    const double volume = enclosed_volume(&m), area = fem_mesh_area(&m);
    assert_true(volume > 0.95 * 4 * acos(-1) / 3 && volume < 4 * acos(-1) / 3);
    assert_true(area > 0.97 * 4 * acos(-1) && area < 4 * acos(-1));
    fem_mesh_free(&m);
}

/* Closed, outward, with the volume of the solid of frusta of their polygons; finally of one size. */
static void surfaces_have_their_counts(void **state)
{
    const double pi = acos(-1), circle = 16 * sin(2 * pi / 32);
    const struct {
        ds_status (*make)(fem_mesh *);
        size_t points;
        double volume, tolerance;
    } cases[] = {{fem_mesh_cone, 34, 2 * circle / 3, 1e-13},
                 {fem_mesh_cylinder, 66, 2 * circle, 1e-13},
                 {fem_mesh_capsule, 594, 10.173884483215055, 1e-12}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fem_mesh m;
        double largest = 0, sum = 0;
        assert_int_equal(cases[k].make(&m), DS_OK);
        assert_int_equal(m.points, cases[k].points);
        assert_int_equal(m.triangles, 2 * m.points - 4); /* Euler */
        assert_int_equal(is_closed(&m), 1);
        if (!(fabs(enclosed_volume(&m) - cases[k].volume) <= cases[k].tolerance)) {
            fail_msg("surface %zu: volume %.9g, not %.9g", k, enclosed_volume(&m), cases[k].volume);
        }
        assert_int_equal(fem_mesh_normalise(&m), 1);
        for (size_t i = 0; i < m.points; i++) {
            const double *p = m.point + 3 * i;
            largest = fmax(largest, sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]));
            sum += p[0] + 2 * p[1] + 3 * p[2];
        }
        assert_true(fabs(largest - 1) < 1e-14 && fabs(sum) < 1e-11);
        fem_mesh_free(&m);
    }
    fem_mesh m;
    assert_int_equal(fem_mesh_box(&m, (const double[3]){1, 0.75, 0.5}), DS_OK);
    assert_true(fabs(enclosed_volume(&m) - 3) < 1e-14);
    for (size_t i = 0; i < 3 * m.points; i++) {
        m.point[i] = 7;
    }
    assert_int_equal(fem_mesh_normalise(&m), 0);
    fem_mesh_free(&m);
}

static void the_gear_is_centred(void **state)
{
    fem_mesh m;
    fem_model b;
    double centre[3], mass = 0;
    assert_int_equal(fem_mesh_gear(&m), DS_OK);
    fem_model_open(&b);
    fem_add_soft(&b, &m, &(fem_placing){.angle = 0}, 1, (fem_solid){1000, 1000, 1});
    assert_int_equal(fem_model_finish(&b), DS_OK);
    for (size_t i = 0; i < b.particles; i++) {
        mass += b.mass[i];
    }
    fem_centre(&b, b.q, centre);
    assert_true(fabs(mass - fem_mesh_volume(&m)) < 1e-12);
    assert_true(fabs(centre[0]) < 1e-3 && fabs(centre[1]) < 1e-3 && fabs(centre[2]) < 1e-3);
    fem_model_close(&b);
    fem_mesh_free(&m);
}

static void flat_meshes_have_their_counts(void **state)
{
    fem_mesh m;
    uint32_t *edge;
    size_t edges;
    assert_int_equal(fem_mesh_walker(&m), DS_OK);
    assert_int_equal(m.points, 74);
    assert_int_equal(m.triangles, 104);
    assert_true(fabs(fem_mesh_area(&m) - 2.567901) < 5e-7);
    double low = 1, high = -1;
    for (size_t i = 0; i < m.points; i++) {
        low = fmin(low, m.point[3 * i]);
        high = fmax(high, m.point[3 * i]);
    }
    assert_true(low == -1 && fabs(high - 1) < 1e-15);
    fem_mesh_free(&m);

    assert_int_equal(fem_mesh_grid(&m, 20, 10, (double[]){0.1, 0, 0}, (double[]){0, 0.1, 0}), DS_OK);
    assert_int_equal(m.points, 231);
    assert_int_equal(m.triangles, 400);
    assert_true(fabs(fem_mesh_area(&m) - 2) < 1e-13);
    const uint32_t first[6] = {0, 1, 21, 1, 22, 21};
    assert_memory_equal(m.triangle, first, sizeof first);
    assert_int_equal(fem_mesh_edges(&m, &edge, &edges, NULL), DS_OK);
    assert_int_equal(edges, (3 * 400 - 2 * 30) / 2);
    for (size_t e = 0; e < edges; e++) { /* both sides have the same orientation: flat at rest */
        assert_true(edge[4 * e] != edge[4 * e + 1]);
    }
    free(edge);
    fem_mesh_free(&m);

    assert_int_equal(fem_mesh_cube(&m), DS_OK);
    assert_true(fabs(fem_mesh_area(&m) - 8) < 1e-14);
    assert_int_equal(is_closed(&m), 1);
    assert_int_equal(fem_mesh_edges(&m, &edge, &edges, NULL), DS_OK);
    assert_int_equal(edges, 18);
    free(edge);
    m.triangle[0] = m.triangle[1]; /* leaves a hole and a twisted rest */
    assert_int_equal(is_closed(&m), 0);
    fem_mesh_free(&m);
    assert_int_equal(fem_mesh_grid(&m, 0, 3, (double[]){1, 0, 0}, (double[]){0, 1, 0}), DS_E_PARAM);
    assert_int_equal(fem_mesh_block(&m, SIZE_MAX / 2, 2, 3, (double[]){1, 1, 1}), DS_E_PARAM);
}

/* Folded by a known angle; flat edges have none. */
static void edges_know_their_angle(void **state)
{
    fem_mesh m;
    fem_model b;
    assert_int_equal(fem_mesh_grid(&m, 2, 1, (double[]){1, 0, 0}, (double[]){0, 1, 0}), DS_OK);
    fem_model_open(&b);
    fem_add_cloth(&b, &m, &(fem_placing){.axis = {1, 1, 1}, .angle = 0.4}, 1, 3, 1);
    assert_int_equal(fem_model_finish(&b), DS_OK);
    assert_int_equal(b.edges, 3);
    for (size_t e = 0; e < b.edges; e++) {
        assert_true(fabs(b.edge_rest[e]) < 1e-15);
    }
    fem_model_close(&b);
    m.point[3 * 2] = m.point[3 * 5] = 1; /* the second cell stands upright on the first */
    m.point[3 * 2 + 2] = m.point[3 * 5 + 2] = 1;
    fem_model_open(&b);
    fem_add_cloth(&b, &m, &(fem_placing){.angle = 0}, 1, 3, 1);
    assert_int_equal(fem_model_finish(&b), DS_OK);
    int upright = 0;
    for (size_t e = 0; e < b.edges; e++) {
        upright += fabs(fabs(b.edge_rest[e]) - 1.5707963267948966) < 1e-14;
    }
    assert_int_equal(upright, 1);
    /* mass: one per point, and three per area */
    double mass = 0;
    for (size_t i = 0; i < b.particles; i++) {
        mass += b.mass[i];
    }
    assert_true(fabs(mass - 6 - 3 * 2) < 1e-14);
    fem_model_close(&b);
    fem_mesh_free(&m);
}

static void turned_tetrahedra_are_turned_back(void **state)
{
    fem_model b;
    static const double o[3] = {0, 0, 0}, x[3] = {1, 0, 0}, y[3] = {0, 1, 0}, z[3] = {0, 0, 1};
    fem_model_open(&b);
    fem_add_particle(&b, o, o, 1);
    fem_add_particle(&b, x, o, 1);
    fem_add_particle(&b, y, o, 1);
    fem_add_particle(&b, z, o, 1);
    fem_add_tet(&b, (const uint32_t[]){0, 2, 1, 3}, (fem_solid){1, 1, 1});
    assert_int_equal(fem_model_finish(&b), DS_OK);
    assert_true(fabs(b.tet_volume[0] - 1.0 / 6) < 1e-16);
    fem_model_close(&b);
}

/* ---- readers ---- */

typedef int (*parser)(fem_mesh *m, const char *text, size_t size, const char *name, char *error);

static int parse_tetgen(fem_mesh *m, const char *text, size_t size, const char *name, char *error)
{
    const char *cut = strstr(text, "====\n");
    (void)name;
    assert_non_null(cut);
    const char *ele = cut + 5;
    return fem_parse_tetgen(m, text, (size_t)(cut - text), "a.node", ele, size - (size_t)(ele - text),
                            "a.ele", error);
}

#define FACET(a_, b_, c_)                                                                                    \
    " facet normal 0 0 1\n outer loop\n vertex " a_ "\n vertex " b_ "\n vertex " c_ "\n endloop\n "          \
    "endfacet\n"
#define PLY_HEAD(n_) "ply\nformat ascii 1.0\ncomment by hand\nelement vertex " n_ "\n"
#define PLY_XYZ "property float x\nproperty uchar red\nproperty float y\nproperty double z\n"
#define PLY_FACES(n_) "element face " n_ "\nproperty list uchar int vertex_indices\nend_header\n"
#define SQUARE "v 0 0 0\nv 1 0 0 0.5 0.5 0.5\nv 1 1 0\nv 0 1 0\n"
#define MSH2 "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
#define NODES2 "$Nodes\n4\n10 0 0 0\n20 1 0 0\n30 0 1 0\n5 0 0 1\n$EndNodes\n"
#define MSH4 "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
#define NODES4 "$Nodes\n1 4 1 9\n3 1 0 4\n1\n2\n3\n9\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n"
#define NODE "# points\n4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n"

static void files_become_meshes(void **state)
{
    static const struct {
        parser parse;
        const char *text;
        size_t points, triangles, tets;
        double area, volume;
    } cases[] = {
        {fem_parse_obj, SQUARE "# a square\nf 1/2/3 2//1 3 4\n", 4, 2, 0, 1, 0},
        {fem_parse_obj, SQUARE "vn 0 0 1\r\ng left\r\nf -4 -3 -2\r\n", 4, 1, 0, 0.5, 0},
        {fem_parse_stl, "solid a\n" FACET("0 0 0", "1 0 0", "1 1 0") FACET("-0 0 0", "1 1 0", "0 1 0"), 4, 2,
         0, 1, 0},
        {fem_parse_ply,
         PLY_HEAD("4") PLY_XYZ PLY_FACES("1") "0 7 0 0\n1 7 0 0\n1 7 1 0\n0 7 1 0\n4 0 1 2 3\n", 4, 2, 0, 1,
         0},
        {fem_parse_gmsh,
         MSH2 "$PhysicalNames\n1\n2 1 \"skin\"\n$EndPhysicalNames\n" NODES2
              "$Elements\n4\n1 15 2 0 1 10\n2 1 2 0 1 10 20\n3 2 2 0 1 10 20 30\n4 4 2 0 1 10 20 30 "
              "5\n$EndElements\n",
         4, 1, 1, 0.5, 1.0 / 6},
        {fem_parse_gmsh,
         MSH4 NODES4 "$Elements\n2 2 1 2\n2 1 2 1\n1 1 2 3\n3 1 4 1\n2 1 3 2 9\n$EndElements\n", 4, 1, 1, 0.5,
         1.0 / 6},
        {parse_tetgen, NODE "====\n1 4 0\n1 1 3 2 4\n# made by hand\n", 4, 0, 1, 0, 1.0 / 6},
        {parse_tetgen,
         "4 3 1 1\n0 0 0 0 7 1\n1 1 0 0 7 1\n2 0 1 0 7 1\n3 0 0 1 7 1\n====\n1 4 1\n0 0 1 2 3 5\n", 4, 0, 1,
         0, 1.0 / 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fem_mesh m;
        char error[FEM_READ_ERROR];
        if (cases[i].parse(&m, cases[i].text, strlen(cases[i].text), "a", error) != 0) {
            fail_msg("case %zu: %s", i, error);
        }
        assert_int_equal(m.points, cases[i].points);
        assert_int_equal(m.triangles, cases[i].triangles);
        assert_int_equal(m.tets, cases[i].tets);
        assert_true(fabs(fem_mesh_area(&m) - cases[i].area) < 1e-15);
        assert_true(fabs(fem_mesh_volume(&m) - cases[i].volume) < 1e-15);
        fem_mesh_free(&m);
    }
}

/* ---- binary files ---- */

typedef struct bytes {
    char data[2048];
    size_t size;
    int swapped;
} bytes;

static void put(bytes *b, const void *from, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        b->data[b->size++] = ((const char *)from)[b->swapped ? size - 1 - i : i];
    }
}

static void put_text(bytes *b, const char *text)
{
    memcpy(b->data + b->size, text, strlen(text));
    b->size += strlen(text);
}

/* Numbers of `size` bytes. */
static void put_integers(bytes *b, size_t size, size_t n, const int64_t *value)
{
    for (size_t i = 0; i < n; i++) {
        const int32_t narrow = (int32_t)value[i];
        put(b, size == 4 ? (const void *)&narrow : (const void *)&value[i], size);
    }
}

#define INTEGERS(b, size, ...)                                                                               \
    put_integers(b, size, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static const double corner[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

static void put_version_2(bytes *b)
{
    static const int64_t tag[4] = {10, 20, 30, 5};
    put_text(b, "$MeshFormat\n2.2 1 8\n");
    INTEGERS(b, 4, 1);
    put_text(b, "\n$EndMeshFormat\n$Nodes\n4\n");
    for (size_t i = 0; i < 4; i++) {
        put_integers(b, 4, 1, &tag[i]);
        for (size_t k = 0; k < 3; k++) {
            put(b, &corner[i][k], 8);
        }
    }
    put_text(b, "\n$EndNodes\n$Elements\n4\n");
    INTEGERS(b, 4, 15, 1, 2, 1, 0, 1, 10);                /* one point with two tags */
    INTEGERS(b, 4, 2, 2, 0, 2, 10, 20, 30, 3, 10, 20, 5); /* two triangles without */
    INTEGERS(b, 4, 4, 1, 1, 4, 7, 10, 20, 30, 5);
    put_text(b, "\n$EndElements\n");
}

static void put_version_4(bytes *b)
{
    put_text(b, "$MeshFormat\n4.1 1 8\n");
    INTEGERS(b, 4, 1);
    put_text(b, "\n$EndMeshFormat\n$Entities\n");
    INTEGERS(b, 8, 1, 0, 1, 1);
    for (size_t dimension = 0; dimension < 4; dimension++) { /* a point; a surface and a volume in groups */
        const size_t numbers = dimension == 0 ? 3 : 6;
        if (dimension == 1) {
            continue;
        }
        INTEGERS(b, 4, 1);
        for (size_t i = 0; i < numbers; i++) {
            put(b, &corner[0][0], 8);
        }
        INTEGERS(b, 8, dimension == 0 ? 0 : 2);
        if (dimension > 0) {
            INTEGERS(b, 4, dimension == 3 ? 7 : -5, 9);
            INTEGERS(b, 8, 1);
            INTEGERS(b, 4, 1);
        }
    }
    put_text(b, "\n$EndEntities\n$Nodes\n");
    INTEGERS(b, 8, 2, 4, 5, 30);
    for (size_t block = 0; block < 2; block++) {
        INTEGERS(b, 4, 3, 1, 0);
        INTEGERS(b, 8, 2, block ? 30 : 10, block ? 5 : 20);
        for (size_t i = 0; i < 6; i++) {
            put(b, &corner[2 * block + i / 3][i % 3], 8);
        }
    }
    put_text(b, "\n$EndNodes\n$Elements\n");
    INTEGERS(b, 8, 2, 3, 1, 3);
    INTEGERS(b, 4, 2, 1, 2);
    INTEGERS(b, 8, 2, 1, 10, 20, 30, 2, 10, 20, 5);
    INTEGERS(b, 4, 3, 1, 4);
    INTEGERS(b, 8, 1, 3, 10, 20, 30, 5);
    put_text(b, "\n$EndElements\n");
}

/* The group of a tetrahedron: its first tag, the number of its volume, its attribute. */
static void tetrahedra_have_groups(void **state)
{
    static const struct {
        parser parse;
        const char *text;
        int32_t want[2];
    } cases[] = {
        {fem_parse_gmsh,
         MSH2 NODES2
         "$Elements\n3\n1 2 2 9 9 10 20 30\n2 4 2 3 8 10 20 30 5\n3 4 0 10 30 20 5\n$EndElements\n",
         {3, 0}},
        {fem_parse_gmsh,
         MSH4 NODES4 "$Elements\n2 2 1 2\n3 6 4 1\n1 1 2 3 9\n3 -2 4 1\n2 1 3 2 9\n$EndElements\n",
         {6, -2}},
        {parse_tetgen, NODE "====\n2 4 1\n1 1 2 3 4 -5\n2 1 3 2 4 12 7\n", {-5, 12}},
        {parse_tetgen, NODE "====\n2 10 1\n1 1 2 3 4 1 1 1 1 1 1 8\n2 1 3 2 4 1 1 1 1 1 1 0.5\n", {8, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fem_mesh m;
        char error[FEM_READ_ERROR];
        if (cases[i].parse(&m, cases[i].text, strlen(cases[i].text), "a", error) != 0) {
            fail_msg("case %zu: %s", i, error);
        }
        assert_true(m.tets == 2 && m.group[0] == cases[i].want[0] && m.group[1] == cases[i].want[1]);
        fem_mesh_free(&m);
    }
}

/* Both versions in both byte orders; a truncated file gives one line. */
static void binary_files_become_meshes(void **state)
{
    for (int i = 0; i < 4; i++) {
        bytes b = {.swapped = i % 2};
        fem_mesh m;
        char error[FEM_READ_ERROR];
        (i < 2 ? put_version_2 : put_version_4)(&b);
        if (fem_parse_gmsh(&m, b.data, b.size, "a", error) != 0) {
            fail_msg("case %d: %s", i, error);
        }
        assert_true(m.points == 4 && m.triangles == 2 && m.tets == 1);
        assert_true(fabs(fem_mesh_area(&m) - 1) < 1e-15 && fabs(fem_mesh_volume(&m) - 1.0 / 6) < 1e-15);
        assert_int_equal(m.group[0], 7);
        assert_int_equal(m.triangle_group[1], i < 2 ? 0 : 5);
        fem_mesh_free(&m);
        const size_t least = b.size - strlen("\n$EndElements\n");
        for (size_t size = 0; size <= least; size++) {
            assert_int_equal(fem_parse_gmsh(&m, b.data, size, "a", error), 1);
            assert_non_null(strstr(error, "a:"));
        }
    }
}

static void bad_files_are_told_with_their_line(void **state)
{
    static const struct {
        parser parse;
        const char *text, *want;
    } cases[] = {
        {fem_parse_obj, "", "a:1: no triangles and no tetrahedra"},
        {fem_parse_obj, SQUARE "f 1 2 9\n", "a:5: vertex 9 of 4"},
        {fem_parse_obj, SQUARE "f 1 2 2\n", "a:5: vertex 2 twice in one element"},
        {fem_parse_obj, SQUARE "\nf 1 2\n", "a:6: a face with 2 corners"},
        {fem_parse_obj, SQUARE "f 1 0 2\n", "a:5: vertex 0 of 4"},
        {fem_parse_obj, SQUARE "f 1 x 2\n", "a:5: 'x' is not a corner of a face"},
        {fem_parse_obj, "v 0 nan 0\n", "a:1: a coordinate is 'nan', not a finite number"},
        {fem_parse_obj, "v 0 1e999 0\n", "a:1: a coordinate is '1e999', not a finite number"},
        {fem_parse_obj, "v 0 1\n", "a:1: a coordinate is missing"},
        {fem_parse_obj, "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", "a:4: triangle 1 has no area"},
        {fem_parse_stl, "hello",
         "a:1: neither a text STL file, which begins with 'solid', nor a whole binary one"},
        {fem_parse_stl, "solid a\nfacet\nvertex 0 0 0\nendfacet\n", "a:4: a facet with 1 corners"},
        {fem_parse_stl, "solid a\nfacet\nvertex 0 0 nan\n",
         "a:3: a coordinate is 'nan', not a finite number"},
        {fem_parse_ply, "obj\n", "a:1: a PLY file begins with 'ply'"},
        {fem_parse_ply, "ply\nformat binary 1.0\n", "a:2: 'binary' is not a format of PLY files"},
        {fem_parse_ply, PLY_HEAD("1") PLY_FACES("0"), "a:8: the vertices have no x, y and z"},
        {fem_parse_ply, PLY_HEAD("1") PLY_XYZ PLY_FACES("1") "0 0 0 0\n2 0 0\n",
         "a:13: a face with 2 corners"},
        {fem_parse_ply, PLY_HEAD("9") PLY_XYZ PLY_FACES("1") "0 0 0 0\n", "a:13: a number is missing"},
        {fem_parse_gmsh, "hello", "a:1: 'hello' found, $MeshFormat expected"},
        {fem_parse_gmsh, "$MeshFormat\n4.0 0 8\n", "a:2: version '4.0' is not supported; use 2.2 or 4.1"},
        {fem_parse_gmsh, "$MeshFormat\n2.2 2 8\n",
         "a:2: the type of file (0: text, 1: binary) is '2', not an integer from 0 to 1"},
        {fem_parse_gmsh, "$MeshFormat\n2.2 1 8\n", "a:3: the file ends before its numbers"},
        {fem_parse_gmsh, "$MeshFormat\n2.2 1 4\n", "a:2: numbers of 4 bytes; binary files are read with 8"},
        {fem_parse_gmsh, "$MeshFormat\n4.1 1 8\nabcd\n",
         "a:3: the first number of a binary file is 1684234849, not 1 in either byte order"},
        {fem_parse_gmsh, MSH2 MSH2, "a:4: a second section $MeshFormat"},
        {fem_parse_gmsh, MSH2 "$Nodes\n2\n1 0 0 0\n1 0 0 1\n$EndNodes\n", "a:7: node 1 twice"},
        {fem_parse_gmsh, MSH2 NODES2 "$Elements\n1\n1 5 0 10 20 30 5 10 20 30 5\n",
         "a:13: an element of type 5, neither a triangle nor a tetrahedron"},
        {fem_parse_gmsh, MSH2 NODES2 "$Elements\n1\n1 4 0 10 20 30 6\n", "a:13: node 6 does not exist"},
        {fem_parse_gmsh, MSH2 NODES2 "$Elements\n2\n1 4 0 10 20 30 5\n$EndElements\n",
         "a:14: the number of an element is '$EndElements', not an integer from -9223372036854775808 to "
         "9223372036854775807"},
        {fem_parse_gmsh, MSH2 "$Comment\nabc\n", "a:4: section $Comment has no end"},
        {fem_parse_gmsh,
         MSH2 "$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n5 1 1 1\n$EndNodes\n"
              "$Elements\n3\n1 4 0 1 2 3 4\n2 4 0 1 2 3 5\n3 4 0 3 2 1 4\n$EndElements\n",
         "a:16: tetrahedron 3 has a face that two others already share"},
        {parse_tetgen, NODE "====\n1 4 0\n1 1 3 2 5\n", "a.ele:2: a node is '5', not an integer from 1 to 4"},
        {parse_tetgen, NODE "====\n1 3 0\n",
         "a.ele:1: the number of nodes of each (4 or 10) is '3', not an integer from 4 to 10"},
        {parse_tetgen, NODE "====\n2 4 0\n1 1 2 3 4\n", "a.ele:3: the index of a tetrahedron is missing"},
        {parse_tetgen, "4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 1 1 0\n====\n1 4 0\n1 1 2 3 4\n",
         "a.ele:2: tetrahedron 1 has no volume"},
        {parse_tetgen, "4 2 0 0\n====\n1 4 0\n",
         "a.node:1: the dimension (which must be 3) is '2', not an integer from 3 to 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fem_mesh m;
        char error[FEM_READ_ERROR];
        assert_int_equal(cases[i].parse(&m, cases[i].text, strlen(cases[i].text), "a", error), 1);
        assert_string_equal(error, cases[i].want);
        assert_null(m.point);
    }
}

/* All points of the bell lie on its sphere, its area approaches that of the cap, its edges have two sides. */
static void the_bell_is_a_cap(void **state)
{
    const double radius = 0.5, angle = 1.2, cap = 2 * acos(-1) * radius * radius * (1 - cos(angle));
    fem_mesh m;
    uint32_t *edge;
    size_t edges, bad;
    assert_int_equal(fem_mesh_bell(&m, 30, 90, radius, angle), DS_OK);
    for (size_t i = 0; i < m.points; i++) {
        const double *p = m.point + 3 * i;
        assert_true(fabs(sqrt(p[0] * p[0] + (p[1] + radius) * (p[1] + radius) + p[2] * p[2]) - radius) <
                    1e-14);
    }
    assert_true(fabs(fem_mesh_area(&m) / cap - 1) < 2e-3);
    assert_int_equal(fem_mesh_edges(&m, &edge, &edges, &bad), DS_OK);
    assert_int_equal(edges, (3 * m.triangles - 90) / 2);
    free(edge);
    fem_mesh_free(&m);
    assert_int_equal(fem_mesh_bell(&m, 1, 2, 1, 1), DS_E_PARAM);
    assert_int_equal(fem_mesh_bell(&m, 0, 8, 1, 1), DS_E_PARAM);
}

RUN_TESTS(the_bell_is_a_cap, solids_have_their_counts, the_sphere_is_round, surfaces_have_their_counts,
          the_gear_is_centred, flat_meshes_have_their_counts, edges_know_their_angle,
          turned_tetrahedra_are_turned_back, files_become_meshes, tetrahedra_have_groups,
          binary_files_become_meshes, bad_files_are_told_with_their_line)
