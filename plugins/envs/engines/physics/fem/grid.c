/* SPDX-License-Identifier: Apache-2.0 */
/* grid.c - meshes on lattices: cloth, blocks of tetrahedra, the beam, the walker. */
#include "mesh.h"

/* Sizes that cannot overflow when they are multiplied. */
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

/* Corner c of the cell at (x, y, z): 0..3 around the lower face in the plane of x and z, 4..7 above them. */
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

/* The walker: cells of 2/9 in columns 0..8 and rows 0..7; below row 4 only those of the legs. */
enum { WALKER_COLUMNS = 9, WALKER_ROWS = 8, WALKER_HIP = 4, WALKER_NONE = -1 };

static int walker_cell(int x, int y)
{
    return y >= WALKER_HIP || x < 2 || x >= 7;
}

/* A point of the lattice belongs to it where a cell around it does. */
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
