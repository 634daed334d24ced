/* SPDX-License-Identifier: Apache-2.0 */
/* shapes.c - procedural meshes: grids (cloth, block, beam, walker), closed surfaces, gear, ball, sphere, cube
 * (see mesh.h). */
#include "mesh.h"

#include <math.h>
#include <string.h>

/* ---- grids ---- */

/* Checks sizes, so that products cannot overflow. */
static int fits(size_t nx, size_t ny, size_t nz)
{
    return nx >= 1 && ny >= 1 && nz >= 1 && nx < FEM_MOST_POINTS && ny < FEM_MOST_POINTS &&
           nz < FEM_MOST_POINTS && (nx + 1) * (ny + 1) <= FEM_MOST_POINTS &&
           (nx + 1) * (ny + 1) * (nz + 1) <= FEM_MOST_POINTS;
}

ds_status fem_mesh_grid(fem_mesh *m, size_t nx, size_t ny, const double a[3], const double b[3])
{
    *m = (fem_mesh){0};
    ds_status status = fits(nx, ny, 1) ? fem_mesh_open(m, (nx + 1) * (ny + 1), 2 * nx * ny, 0) : DS_E_PARAM;
    if (status != DS_OK) {
        return status;
    }
    for (size_t i = 0; i < m->points; i++) {
        size_t x = i % (nx + 1), y = i / (nx + 1);
        for (int k = 0; k < 3; k++) {
            m->point[3 * i + (size_t)k] = (double)x * a[k] + (double)y * b[k];
        }
    }
    uint32_t *to = m->triangle;
    for (size_t cell = 0; cell < nx * ny; cell++) {
        uint32_t low = (uint32_t)(cell / nx * (nx + 1) + cell % nx), up = low + (uint32_t)nx + 1;
        const uint32_t vertex[6] = {low, low + 1, up, low + 1, up + 1, up};
        for (int k = 0; k < 6; k++) {
            *to++ = vertex[k];
        }
    }
    return DS_OK;
}

/* Corner c of the cell at (x, y, z): 0..3 around the lower face in the x-z plane, 4..7 above them. */
static uint32_t block_corner(size_t nx, size_t ny, const size_t cell[3], uint8_t c)
{
    static const uint8_t dx[4] = {0, 1, 1, 0}, dz[4] = {0, 0, 1, 1};
    return fem_block_index(nx, ny, cell[0] + dx[c % 4], cell[1] + c / 4, cell[2] + dz[c % 4]);
}

/* Neighbouring cells differ in parity, so that the diagonals of their common face agree. */
static const uint8_t block_tets[2][5][4] = {
    {{1, 2, 5, 0}, {3, 0, 7, 2}, {4, 7, 0, 5}, {6, 5, 2, 7}, {5, 2, 7, 0}},
    {{0, 1, 4, 3}, {2, 3, 6, 1}, {5, 4, 1, 6}, {7, 6, 3, 4}, {4, 1, 6, 3}},
};

ds_status fem_mesh_block(fem_mesh *m, size_t nx, size_t ny, size_t nz, const double size[3])
{
    *m = (fem_mesh){0};
    if (!fits(nx, ny, nz)) {
        return DS_E_PARAM;
    }
    ds_status status = fem_mesh_open(m, (nx + 1) * (ny + 1) * (nz + 1), 0, 5 * nx * ny * nz);
    if (status != DS_OK) {
        return status;
    }
    for (size_t i = 0; i < m->points; i++) {
        m->point[3 * i] = (double)(i % (nx + 1)) * size[0];
        m->point[3 * i + 1] = (double)(i / (nx + 1) % (ny + 1)) * size[1];
        m->point[3 * i + 2] = (double)(i / ((nx + 1) * (ny + 1))) * size[2];
    }
    for (size_t i = 0; i < m->tets; i++) {
        const size_t n = i / 5, cell[3] = {n % nx, n / nx % ny, n / (nx * ny)};
        const uint8_t *corner = block_tets[(cell[0] ^ cell[1] ^ cell[2]) & 1][i % 5];
        for (size_t k = 0; k < 4; k++) {
            m->tet[4 * i + k] = block_corner(nx, ny, cell, corner[k]);
        }
    }
    fem_mesh_orient(m);
    return DS_OK;
}

ds_status fem_mesh_beam(fem_mesh *m)
{
    static const double cell[3] = {0.1, 0.1, 0.1};
    ds_status status = fem_mesh_block(m, 20, 2, 2, cell);
    for (size_t i = 0; i < m->points; i++) {
        m->point[3 * i] -= 1;
        m->point[3 * i + 2] -= 0.1;
    }
    return status;
}

/* The walker: cells of 2/9 in columns 0..8 and rows 0..7; below row 4 only the cells of the legs. */
enum { WALKER_COLUMNS = 9, WALKER_ROWS = 8, WALKER_HIP = 4, WALKER_NONE = -1 };

static int walker_cell(int x, int y)
{
    return y >= WALKER_HIP || x < 2 || x >= 7;
}

/* A lattice point belongs to the walker if a cell around it does. */
static int walker_point(int x, int y)
{
    for (int i = 0; i < 4; i++) {
        int cx = x - i % 2, cy = y - i / 2;
        if (cx >= 0 && cy >= 0 && cx < WALKER_COLUMNS && cy < WALKER_ROWS && walker_cell(cx, cy)) {
            return 1;
        }
    }
    return 0;
}

static void walker_points(fem_mesh *m, int32_t index[WALKER_ROWS + 1][WALKER_COLUMNS + 1])
{
    static const double feet = 0.0571795;
    int32_t n = 0;
    for (int y = 0; y <= WALKER_ROWS; y++) {
        for (int x = 0; x <= WALKER_COLUMNS; x++) {
            index[y][x] = walker_point(x, y) ? n++ : WALKER_NONE;
            if (index[y][x] != WALKER_NONE) {
                double *p = m->point + 3 * (size_t)index[y][x];
                p[0] = -1 + 2 * (double)x / 9;
                p[1] = feet + 2 * (double)y / 9;
            }
        }
    }
}

ds_status fem_mesh_walker(fem_mesh *m)
{
    int32_t index[WALKER_ROWS + 1][WALKER_COLUMNS + 1];
    ds_status status = fem_mesh_open(m, 74, 104, 0);
    if (status != DS_OK) {
        return status;
    }
    walker_points(m, index);
    uint32_t *to = m->triangle;
    for (int y = 0; y < WALKER_ROWS; y++) {
        for (int x = 0; x < WALKER_COLUMNS; x++) {
            const int32_t a = index[y][x], b = index[y][x + 1], c = index[y + 1][x], d = index[y + 1][x + 1];
            const int32_t vertex[6] = {b, c, a, b, d, c};
            for (int k = 0; walker_cell(x, y) && k < 6; k++) {
                *to++ = (uint32_t)vertex[k];
            }
        }
    }
    return DS_OK;
}

/* ---- the gear: a ring of hexahedra, a tooth of hexahedra on every other one ---- */

enum {
    GEAR_PARTS = 32,
    GEAR_TEETH = GEAR_PARTS / 2,
    GEAR_LEVELS = 5,
    GEAR_RING = 2 * GEAR_PARTS * GEAR_LEVELS
};

static const double gear_inner = 1.11, gear_outer = 1.438, gear_tip = 1.842; /* m */
static const double gear_half = 1.14, gear_tip_half = 1.01;                  /* m, along z */
static const double gear_slope = 1.74;                                       /* degrees, of the flanks */

static void polar(double *p, double radius, double degrees, double z)
{
    double angle = degrees * (3.14159265358979323846 / 180);
    p[0] = radius * cos(angle);
    p[1] = radius * sin(angle);
    p[2] = z;
}

static double gear_angle(size_t part)
{
    return -168.75 + 11.25 * (double)part;
}

/* Points of the ring: (part, inner or outer, level); then points of the tips: (tooth, side, level). */
static uint32_t ring_point(size_t part, size_t outer, size_t level)
{
    return (uint32_t)((part % GEAR_PARTS * 2 + outer) * GEAR_LEVELS + level);
}

static uint32_t tip_point(size_t tooth, size_t side, size_t level)
{
    return (uint32_t)(GEAR_RING + (tooth * 2 + side) * GEAR_LEVELS + level);
}

static void gear_points(fem_mesh *m)
{
    for (size_t level = 0; level < GEAR_LEVELS; level++) {
        double z = gear_half * ((double)level - 2) / 2;
        for (size_t part = 0; part < GEAR_PARTS; part++) {
            polar(m->point + 3 * ring_point(part, 0, level), gear_inner, gear_angle(part), z);
            polar(m->point + 3 * ring_point(part, 1, level), gear_outer, gear_angle(part), z);
        }
        for (size_t tooth = 0; tooth < GEAR_TEETH; tooth++) {
            double from = gear_angle(2 * tooth) + gear_slope, to = gear_angle(2 * tooth + 1) - gear_slope;
            polar(m->point + 3 * tip_point(tooth, 0, level), gear_tip, from, z * (gear_tip_half / gear_half));
            polar(m->point + 3 * tip_point(tooth, 1, level), gear_tip, to, z * (gear_tip_half / gear_half));
        }
    }
}

/* Adds six tetrahedra about the diagonal from corner 0 to corner 6. */
static uint32_t *split_hexahedron(uint32_t *to, const uint32_t corner[8])
{
    static const uint8_t split[6][4] = {{0, 1, 2, 6}, {0, 2, 3, 6}, {0, 3, 7, 6},
                                        {0, 7, 4, 6}, {0, 4, 5, 6}, {0, 5, 1, 6}};
    for (int t = 0; t < 6; t++) {
        for (int k = 0; k < 4; k++) {
            *to++ = corner[split[t][k]];
        }
    }
    return to;
}

ds_status fem_mesh_gear(fem_mesh *m)
{
    const size_t tets = (size_t)6 * (GEAR_PARTS + GEAR_TEETH) * (GEAR_LEVELS - 1);
    ds_status status = fem_mesh_open(m, GEAR_RING + 2 * GEAR_TEETH * GEAR_LEVELS, 0, tets);
    if (status != DS_OK) {
        return status;
    }
    gear_points(m);
    uint32_t *to = m->tet;
    for (size_t part = 0; part < GEAR_PARTS; part++) {
        for (size_t level = 0; level + 1 < GEAR_LEVELS; level++) {
            uint32_t ring[8], tooth[8];
            for (size_t k = 0; k < 8; k++) { /* around the face at each of the two levels */
                size_t l = level + k / 4, far = k % 4 == 1 || k % 4 == 2, next = k % 4 >= 2;
                ring[k] = ring_point(part + next, far, l);
                tooth[k] = far ? tip_point(part / 2, next, l) : ring_point(part + next, 1, l);
            }
            to = split_hexahedron(to, ring);
            to = part % 2 == 0 ? split_hexahedron(to, tooth) : to;
        }
    }
    fem_mesh_orient(m);
    return DS_OK;
}

/* ---- an icosahedron, subdivided: once, as two shells about a centre, the ball; twice, the sphere ---- */

enum {
    BALL_SHELL = 42,
    BALL_FACES = 80,
    BALL_CENTRE = 2 * BALL_SHELL,
    SPHERE_POINTS = 162,
    SPHERE_FACES = 320
};

typedef struct shell {
    double point[SPHERE_POINTS][3];
    uint32_t face[SPHERE_FACES][3];
    uint32_t points, faces;
} shell;

static uint32_t shell_point(shell *s, double x, double y, double z)
{
    double *p = s->point[s->points], size = sqrt(x * x + y * y + z * z);
    p[0] = x / size;
    p[1] = y / size;
    p[2] = z / size;
    return s->points++;
}

static void icosahedron(shell *s)
{
    static const uint8_t face[20][3] = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                        {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                        {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                        {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};
    const double t = (1 + sqrt(5)) / 2;
    for (int i = 0; i < 12; i++) {
        double one = i % 2 == 0 ? -1 : 1, far = i % 4 < 2 ? t : -t;
        /* three golden rectangles in the x-y, y-z and z-x planes */
        i < 4   ? shell_point(s, one, far, 0)
        : i < 8 ? shell_point(s, 0, one, far)
                : shell_point(s, far, 0, one);
    }
    for (s->faces = 0; s->faces < 20; s->faces++) {
        for (int k = 0; k < 3; k++) {
            s->face[s->faces][k] = face[s->faces][k];
        }
    }
}

/* Returns the middle of an edge, made once for both its faces. */
static uint32_t middle(shell *s, uint32_t made[BALL_SHELL][BALL_SHELL], uint32_t a, uint32_t b)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    if (made[low][high] == 0) {
        const double *p = s->point[a], *q = s->point[b];
        made[low][high] = shell_point(s, p[0] + q[0], p[1] + q[1], p[2] + q[2]);
    }
    return made[low][high];
}

static void subdivide(shell *s)
{
    uint32_t made[BALL_SHELL][BALL_SHELL] = {{0}}, old[BALL_FACES][3];
    const uint32_t faces = s->faces;
    memcpy(old, s->face, sizeof old);
    s->faces = 0;
    for (uint32_t f = 0; f < faces; f++) {
        const uint32_t *v = old[f];
        const uint32_t ab = middle(s, made, v[0], v[1]), bc = middle(s, made, v[1], v[2]),
                       ca = middle(s, made, v[2], v[0]);
        const uint32_t parts[4][3] = {{v[0], ab, ca}, {v[1], bc, ab}, {v[2], ca, bc}, {ab, bc, ca}};
        memcpy(s->face[s->faces], parts, sizeof parts);
        s->faces += 4;
    }
}

static void sort3(uint32_t v[3])
{
    for (int i = 0; i < 3; i++) {
        int k = i % 2;
        if (v[k] > v[k + 1]) {
            uint32_t high = v[k];
            v[k] = v[k + 1];
            v[k + 1] = high;
        }
    }
}

/* Adds the tetrahedra of a face: one to the centre, three in the prism between the shells. Their diagonals
 * follow the order of the points and therefore agree between neighbours. */
static uint32_t *ball_tets(uint32_t *to, const uint32_t face[3])
{
    uint32_t i[3] = {face[0], face[1], face[2]};
    sort3(i);
    const uint32_t o[3] = {i[0] + BALL_SHELL, i[1] + BALL_SHELL, i[2] + BALL_SHELL};
    const uint32_t tet[4][4] = {{i[0], i[1], i[2], BALL_CENTRE},
                                {i[0], i[1], i[2], o[2]},
                                {i[0], i[1], o[1], o[2]},
                                {i[0], o[0], o[1], o[2]}};
    memcpy(to, tet, sizeof tet);
    return to + 16;
}

ds_status fem_mesh_ball(fem_mesh *m)
{
    shell s = {.points = 0};
    ds_status status = fem_mesh_open(m, 2 * BALL_SHELL + 1, 0, 4 * BALL_FACES);
    if (status != DS_OK) {
        return status;
    }
    icosahedron(&s);
    subdivide(&s);
    for (size_t i = 0; i < 3 * BALL_SHELL; i++) {
        m->point[i] = 0.5 * s.point[i / 3][i % 3];
        m->point[3 * BALL_SHELL + i] = s.point[i / 3][i % 3];
    }
    uint32_t *to = m->tet;
    for (int f = 0; f < BALL_FACES; f++) {
        to = ball_tets(to, s.face[f]);
    }
    fem_mesh_orient(m);
    return DS_OK;
}

ds_status fem_mesh_sphere(fem_mesh *m)
{
    shell s = {.points = 0};
    ds_status status = fem_mesh_open(m, SPHERE_POINTS, SPHERE_FACES, 0);
    if (status != DS_OK) {
        return status;
    }
    icosahedron(&s);
    subdivide(&s);
    subdivide(&s);
    memcpy(m->point, s.point, sizeof s.point);
    memcpy(m->triangle, s.face, sizeof s.face);
    return DS_OK;
}

/* ---- the cube ---- */

ds_status fem_mesh_cube(fem_mesh *m)
{
    static const uint8_t face[12][3] = {{0, 6, 4}, {0, 2, 6}, {0, 3, 2}, {0, 1, 3}, {2, 7, 6}, {2, 3, 7},
                                        {4, 6, 7}, {4, 7, 5}, {0, 4, 5}, {0, 5, 1}, {1, 5, 7}, {1, 7, 3}};
    ds_status status = fem_mesh_open(m, 8, 12, 0);
    if (status != DS_OK) {
        return status;
    }
    const double side = 1 / sqrt(3);
    for (size_t i = 0; i < 24; i++) {
        m->point[i] = (i / 3 >> (2 - i % 3)) & 1 ? side : -side;
    }
    for (size_t i = 0; i < 36; i++) {
        m->triangle[i] = face[i / 3][i % 3];
    }
    return DS_OK;
}

/* ---- closed surfaces ---- */

static const double pi = 3.14159265358979323846;

ds_status fem_mesh_box(fem_mesh *m, const double half[3])
{
    const ds_status status = fem_mesh_cube(m);
    for (size_t i = 0; i < 3 * m->points; i++) {
        m->point[i] = copysign(half[i % 3], m->point[i]);
    }
    return status;
}

/* ---- about the y axis ---- */

typedef struct ring {
    double radius, height; /* m */
} ring;

static void ring_points(double *to, size_t segments, ring r)
{
    for (size_t s = 0; s < segments; s++, to += 3) {
        const double angle = 2 * pi * (double)s / (double)segments;
        to[0] = r.radius * cos(angle);
        to[1] = r.height;
        to[2] = -r.radius * sin(angle);
    }
}

static uint32_t *add(uint32_t *to, size_t a, size_t b, size_t c)
{
    to[0] = (uint32_t)a;
    to[1] = (uint32_t)b;
    to[2] = (uint32_t)c;
    return to + 3;
}

/* Points: a pole at the bottom, rings of equal size from below, a pole at the top. */
static ds_status revolve(fem_mesh *m, size_t segments, size_t rings, const ring *r, double bottom, double top)
{
    const size_t last = 1 + rings * segments, highest = last - segments;
    const ds_status status = fem_mesh_open(m, last + 1, 2 * rings * segments, 0);
    if (status != DS_OK) {
        return status;
    }
    m->point[1] = bottom;
    m->point[3 * last + 1] = top;
    uint32_t *to = m->triangle;
    for (size_t k = 0; k < rings; k++) {
        const size_t here = 1 + k * segments, above = here + segments;
        ring_points(m->point + 3 * here, segments, r[k]);
        for (size_t s = 0; s < segments; s++) {
            const size_t next = (s + 1) % segments;
            to = k == 0 ? add(to, 0, here + next, here + s) : to;
            to = k + 1 < rings ? add(to, here + s, here + next, above + next) : to;
            to = k + 1 < rings ? add(to, here + s, above + next, above + s) : to;
            to = k + 1 == rings ? add(to, last, highest + s, highest + next) : to;
        }
    }
    return DS_OK;
}

enum { ROUND = 32, CAPSULE_ROUND = 16, CAPSULE_CAP = 9, CAPSULE_SIDE = 19 };

ds_status fem_mesh_cone(fem_mesh *m)
{
    return revolve(m, ROUND, 1, &(ring){1, -1}, -1, 1);
}

ds_status fem_mesh_cylinder(fem_mesh *m)
{
    return revolve(m, ROUND, 2, (const ring[]){{1, -1}, {1, 1}}, -1, 1);
}

ds_status fem_mesh_capsule(fem_mesh *m)
{
    ring r[CAPSULE_CAP + CAPSULE_SIDE + CAPSULE_CAP];
    for (int k = 0; k < CAPSULE_CAP; k++) { /* up to and including the rim */
        const double angle = pi / 2 * (k + 1) / CAPSULE_CAP;
        r[k] = (ring){sin(angle), -1 - cos(angle)};
        r[CAPSULE_CAP + CAPSULE_SIDE + CAPSULE_CAP - 1 - k] = (ring){sin(angle), 1 + cos(angle)};
    }
    for (int k = 0; k < CAPSULE_SIDE; k++) {
        r[CAPSULE_CAP + k] = (ring){1, -1 + 2 * (k + 1) / (CAPSULE_SIDE + 1.0)};
    }
    return revolve(m, CAPSULE_ROUND, CAPSULE_CAP + CAPSULE_SIDE + CAPSULE_CAP, r, -2, 2);
}

ds_status fem_mesh_bell(fem_mesh *m, size_t rings, size_t sectors, double radius, double angle)
{
    *m = (fem_mesh){0};
    if (rings < 1 || sectors < 3 || !fits(rings, sectors, 1)) {
        return DS_E_PARAM;
    }
    const ds_status status = fem_mesh_open(m, 1 + rings * sectors, sectors * (2 * rings - 1), 0);
    if (status != DS_OK) {
        return status;
    }
    uint32_t *to = m->triangle;
    for (size_t k = 0; k < rings; k++) {
        const double at = angle * (double)(k + 1) / (double)rings;
        const size_t here = 1 + k * sectors, above = k > 0 ? here - sectors : 0;
        ring_points(m->point + 3 * here, sectors, (ring){radius * sin(at), radius * (cos(at) - 1)});
        for (size_t s = 0; s < sectors; s++) {
            const size_t next = (s + 1) % sectors;
            to = k == 0 ? add(to, 0, here + s, here + next) : to;
            to = k > 0 ? add(to, here + s, here + next, above + next) : to;
            to = k > 0 ? add(to, here + s, above + next, above + s) : to;
        }
    }
    return DS_OK;
}
