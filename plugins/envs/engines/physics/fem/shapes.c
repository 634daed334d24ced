/* SPDX-License-Identifier: Apache-2.0 */
/* shapes.c - round meshes and the cube: the gear, the ball, the sphere. */
#include "mesh.h"

#include <math.h>
#include <string.h>

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

/* Points of the ring: (part, inner or outer, level); then those of the tips: (tooth, side, level). */
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

/* Six tetrahedra about the diagonal from corner 0 to corner 6. */
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
        /* three golden rectangles, in the planes of x and y, of y and z, of z and x */
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

/* The middle of an edge, made once for both its faces. */
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

/* Tetrahedra of a face: one to the centre, three in the prism between the shells, whose diagonals follow the
 * order of the points and so agree between neighbours. */
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
