/* SPDX-License-Identifier: Apache-2.0 */
/* sheet.c - a rectangular cloth (see sheet.h). */
#include "sheet.h"

#include "engines/kit/norm.h"

#include <math.h>
#include <string.h>

static const struct kind {
    int row, column;
    double factor;
} kinds[6] = {{1, 0, 1}, {0, 1, 1}, {1, 1, 0.5}, {1, -1, 0.5}, {2, 0, 0.1}, {0, 2, 0.1}};

static double factor_of(const cloth_band *b)
{
    for (int i = 0; i < 6; i++) {
        if (kinds[i].row == b->step[1] && kinds[i].column == b->step[2]) {
            return kinds[i].factor;
        }
    }
    return 0;
}

/* Index of the patch that holds a midpoint, given as the sum of the indices of both ends. */
static size_t patch_index(size_t sum, size_t cells, size_t patches)
{
    size_t p = sum * patches / (2 * cells);
    return p < patches ? p : patches - 1;
}

static void set_patches(sheet *s, const cloth_mesh *m)
{
    for (size_t i = 0; i < m->bands; i++) {
        const cloth_band *b = &m->band[i];
        for (size_t k = 0; k < b->count; k++) {
            size_t from[3], to[3];
            cloth_mesh_at(m, b->first + k, from);
            cloth_mesh_at(m, b->first + b->offset + k, to);
            size_t pi = patch_index(from[1] + to[1], s->cells, s->patches[0]);
            size_t pj = patch_index(from[2] + to[2], s->cells, s->patches[1]);
            s->patch[b->at + k] = (uint32_t)(s->patches[1] * pi + pj);
            s->factor[b->at + k] = cloth_mesh_has(m, b, k) ? factor_of(b) : 0;
        }
    }
}

static void set_triangles(sheet *s)
{
    uint32_t *t = s->triangle, n = (uint32_t)s->cells + 1;
    for (uint32_t i = 0; i + 1 < n; i++) {
        for (uint32_t j = 0; j + 1 < n; j++) {
            uint32_t a = n * i + j;
            const uint32_t two[6] = {a, a + n, a + n + 1, a, a + n + 1, a + 1};
            memcpy(t, two, sizeof two);
            t += 6;
        }
    }
}

int sheet_open(sheet *s, cloth_mesh *m, ds_memory *room, size_t cells, size_t rows, size_t columns,
               double damping)
{
    memset(s, 0, sizeof *s);
    s->cells = cells;
    s->patches[0] = rows;
    s->patches[1] = columns;
    if (!cloth_mesh_open(m, room, 1, cells + 1, cells + 1)) {
        return 0;
    }
    for (int i = 0; i < 6; i++) {
        cloth_mesh_band(m, 0, kinds[i].row, kinds[i].column, kinds[i].factor, damping, 0);
    }
    s->patch = ds_memory_take(room, m->springs, sizeof *s->patch);
    s->factor = ds_memory_doubles(room, m->springs);
    s->triangle = ds_memory_take(room, 6 * cells * cells, sizeof *s->triangle);
    if (room->failed) {
        return 0;
    }
    set_patches(s, m);
    set_triangles(s);
    return 1;
}

/* ---- size ---- */

void sheet_set_size(const sheet *s, cloth_mesh *m, double width, double length)
{
    for (size_t i = 0; i < m->bands; i++) {
        cloth_band *b = &m->band[i];
        b->rest = hypot(b->step[1] * width / (double)s->cells, b->step[2] * length / (double)s->cells);
    }
}

void sheet_size_bar(const sheet *s, const cloth *c, double width, double length, double bar[2])
{
    const double cells = (double)s->cells;
    bar[0] = 0;
    bar[1] = 0;
    for (size_t i = 0; i < c->mesh.bands; i++) {
        const cloth_band *b = &c->mesh.band[i];
        double rest_bar = 0, di = b->step[1] / cells, dj = b->step[2] / cells;
        for (size_t k = 0; k < b->count; k++) {
            rest_bar += c->rest_bar[b->at + k];
        }
        bar[0] += rest_bar * di * di * width / b->rest;
        bar[1] += rest_bar * dj * dj * length / b->rest;
    }
}

/* ---- stiffness ---- */

void sheet_set_stiffness(const sheet *s, cloth_mesh *m, const double *patch)
{
    for (size_t i = 0; i < m->springs; i++) {
        m->k[i] = s->factor[i] * patch[s->patch[i]];
    }
}

void sheet_stiffness_bar(const sheet *s, const cloth *c, double *patch_bar)
{
    memset(patch_bar, 0, s->patches[0] * s->patches[1] * sizeof *patch_bar);
    for (size_t i = 0; i < c->mesh.springs; i++) {
        if (s->factor[i] > 0) {
            patch_bar[s->patch[i]] += s->factor[i] * c->k_bar[i];
        }
    }
}

/* ---- measures ---- */

double sheet_stretch(const sheet *s, const cloth_mesh *m, const double *x)
{
    double most = 0;
    for (size_t i = 0; i < m->bands; i++) {
        const cloth_band *b = &m->band[i];
        for (size_t k = 0; k < b->count; k++) {
            const double *from = x + b->first + k, *to = from + b->offset;
            const size_t n = m->stride;
            const double d[3] = {to[0] - from[0], to[n] - from[n], to[2 * n] - from[2 * n]};
            most = s->factor[b->at + k] > 0 ? fmax(most, norm_of(3, d, NULL) / b->rest) : most;
        }
    }
    return most;
}

static void difference(const cloth_mesh *m, size_t vertex, const double *x, const double *goal, double e[3])
{
    for (size_t i = 0; i < 3; i++) {
        e[i] = x[i * m->stride + vertex] - goal[i * m->stride + vertex];
    }
}

double sheet_distance(const cloth_mesh *m, const uint32_t *list, size_t count, const double *x,
                      const double *goal)
{
    double sum = 0, e[3];
    for (size_t k = 0; k < count; k++) {
        difference(m, list ? list[k] : k, x, goal, e);
        sum += norm_of(3, e, NULL);
    }
    return sum / (double)count;
}

void sheet_distance_bar(const cloth_mesh *m, const uint32_t *list, size_t count, const double *x,
                        const double *goal, double weight, double *x_bar)
{
    double e[3];
    for (size_t k = 0; k < count; k++) {
        size_t vertex = list ? list[k] : k;
        difference(m, vertex, x, goal, e);
        norm_of(3, e, e);
        for (size_t i = 0; i < 3; i++) {
            x_bar[i * m->stride + vertex] += weight / (double)count * e[i];
        }
    }
}
