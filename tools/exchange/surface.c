/* SPDX-License-Identifier: Apache-2.0 */
/* surface.c - see surface.h. The shapes are those that pictures show. */
#include "config.h"

#include "exchange/surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/render_internal.h"

/* ---- rigid shapes ---- */

/* Corners of triangles that are the same point, but for rounding, become one. */
typedef struct place {
    long key[3];
    size_t corner;
} place;

static int by_key(const void *a, const void *b)
{
    const place *p = a, *q = b;
    for (int k = 0; k < 3; k++) {
        if (p->key[k] != q->key[k]) {
            return p->key[k] < q->key[k] ? -1 : 1;
        }
    }
    return (p->corner > q->corner) - (p->corner < q->corner);
}

static const vec3 *corner_of(const ds_geometry *g, size_t i)
{
    return &g->triangle[i / 3].p[i % 3];
}

/* Numbers the different corners in the order in which they first occur, and drops triangles that have
 * become lines. */
static int weld(ds_surface *s, const ds_geometry *g, double size)
{
    const size_t n = 3 * g->triangles;
    place *p = malloc((n + 1) * sizeof *p);
    size_t *first = malloc((n + 1) * sizeof *first); /* of each corner: the first one at its place */
    uint32_t *number = malloc((n + 1) * sizeof *number);
    s->model = malloc((3 * n + 1) * sizeof *s->model);
    s->index = malloc((n + 1) * sizeof *s->index);
    const int good = p != NULL && first != NULL && number != NULL && s->model != NULL && s->index != NULL;
    for (size_t i = 0; good && i < n; i++) {
        const vec3 *v = corner_of(g, i);
        const double grid = 1e-4 * size;
        p[i] = (place){
            {lround((double)v->x / grid), lround((double)v->y / grid), lround((double)v->z / grid)}, i};
    }
    if (good) {
        qsort(p, n, sizeof *p, by_key);
    }
    for (size_t i = 0; good && i < n; i++) {
        const int same = i > 0 && memcmp(p[i].key, p[i - 1].key, sizeof p[i].key) == 0;
        first[p[i].corner] = same ? first[p[i - 1].corner] : p[i].corner;
    }
    for (size_t i = 0; good && i < n; i++) {
        if (first[i] == i) {
            const vec3 *v = corner_of(g, i);
            double *to = s->model + 3 * s->model_vertices;
            to[0] = (double)v->x;
            to[1] = (double)v->y;
            to[2] = (double)v->z;
            number[i] = (uint32_t)s->model_vertices++;
        }
    }
    for (size_t t = 0; good && t < g->triangles; t++) {
        const uint32_t a = number[first[3 * t]], b = number[first[3 * t + 1]], c = number[first[3 * t + 2]];
        if (a != b && b != c && c != a) {
            uint32_t *to = s->index + 3 * s->cells++;
            /* The renderer lights both sides; here a normal tells which one is outside. */
            const vec3 *v = g->triangle[t].p;
            const vec3 face = v3_cross(v3_sub(v[1], v[0]), v3_sub(v[2], v[0]));
            const vec3 n0 = v3_add(v3_add(g->triangle[t].n[0], g->triangle[t].n[1]), g->triangle[t].n[2]);
            const int turned = v3_dot(face, n0) < 0;
            to[0] = a;
            to[1] = turned ? c : b;
            to[2] = turned ? b : c;
        }
    }
    free(p);
    free(first);
    free(number);
    return good;
}

/* One element in its own axes. */
static int model(ds_surface *s)
{
    const ds_snapshot_body *b = s->body;
    const int detail = b->count > 1000 ? 12 : b->count > 50 ? 24 : 96;
    const ds_rigid o = {.axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, .detail = detail};
    const float half[3] = {(float)b->size[0], (float)b->size[1], (float)b->size[2]};
    ds_geometry g = {0};
    switch (b->shape) {
    case DS_BODY_SPHERE:
        ds_shape_sphere(&g, &o, half[0]);
        break;
    case DS_BODY_CAPSULE:
        ds_shape_capsule(&g, &o, half[0], half[1]);
        break;
    case DS_BODY_CYLINDER:
        ds_shape_cylinder(&g, &o, half[0], half[1]);
        break;
    case DS_BODY_TORUS:
        ds_shape_torus(&g, &o, half[0], half[1]);
        break;
    default:
        ds_shape_box(&g, &o, half);
        break;
    }
    double size = 1e-30;
    for (int k = 0; k < 3; k++) {
        size = fmax(size, fabs(b->size[k]));
    }
    const int good = !g.failed && weld(s, &g, size);
    ds_geometry_free(&g);
    return good;
}

/* The cells of one element, again for each other one. */
static int repeat(ds_surface *s)
{
    const uint64_t n = s->body->count, one = 3 * s->cells;
    s->vertices = n * s->model_vertices;
    if (s->vertices > UINT32_MAX || (one > 0 && n > SIZE_MAX / sizeof *s->index / one)) {
        return 0;
    }
    uint32_t *index = realloc(s->index, (size_t)(n * one + 1) * sizeof *index);
    if (index == NULL) {
        return 0;
    }
    for (uint64_t i = one; i < n * one; i++) {
        index[i] = index[i - one] + (uint32_t)s->model_vertices;
    }
    s->index = index;
    s->cells *= n;
    return 1;
}

/* ---- all bodies ---- */

int ds_surface_make(const ds_snapshot_body *body, ds_surface *out, ds_error *e)
{
    *out = (ds_surface){.body = body, .vertices = body->count};
    int good;
    if (body->width == 7) {
        out->corners = 3;
        good = model(out) && repeat(out);
    } else {
        out->corners = body->shape == DS_BODY_MESH ? 3 : body->shape == DS_BODY_LINES ? 2 : 1;
        out->cells = out->corners == 1 ? body->count : body->index_count / out->corners;
        out->index = malloc((size_t)(out->cells * out->corners + 1) * sizeof *out->index);
        good = out->index != NULL && body->count <= UINT32_MAX;
        for (uint64_t i = 0; good && i < out->cells * out->corners; i++) {
            out->index[i] = out->corners == 1 ? (uint32_t)i : body->index[i];
        }
    }
    return good ? 0 : ds_no_memory(e);
}

void ds_surface_clear(ds_surface *s)
{
    free(s->index);
    free(s->model);
}

int ds_surfaces_make(const ds_snapshot *scene, ds_surface **out, ds_error *e)
{
    ds_surface *s = *out = calloc((size_t)scene->bodies + 1, sizeof *s);
    int status = s == NULL ? ds_no_memory(e) : 0;
    for (uint64_t b = 0; b < scene->bodies && status == 0; b++) {
        status = ds_surface_make(&scene->body[b], &s[b], e);
    }
    return status;
}

void ds_surfaces_free(const ds_snapshot *scene, ds_surface *s)
{
    for (uint64_t b = 0; s != NULL && b < scene->bodies; b++) {
        ds_surface_clear(&s[b]);
    }
    free(s);
}

uint64_t ds_surface_element(const ds_surface *s, uint64_t vertex)
{
    return s->model != NULL ? vertex / s->model_vertices : vertex;
}

/* v turned by a unit quaternion w x y z: v + 2 q x (q x v + w v). */
static void turned(const double q[4], const double v[3], double out[3])
{
    const double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), f = n > 0 ? 1 / n : 0;
    const double w = n > 0 ? q[0] * f : 1, x = q[1] * f, y = q[2] * f, z = q[3] * f;
    const double t[3] = {y * v[2] - z * v[1] + w * v[0], z * v[0] - x * v[2] + w * v[1],
                         x * v[1] - y * v[0] + w * v[2]};
    out[0] = v[0] + 2 * (y * t[2] - z * t[1]);
    out[1] = v[1] + 2 * (z * t[0] - x * t[2]);
    out[2] = v[2] + 2 * (x * t[1] - y * t[0]);
}

void ds_surface_place(const ds_surface *s, const double *data, double *xyz)
{
    if (s->model == NULL) {
        memcpy(xyz, data, (size_t)s->vertices * 3 * sizeof *xyz);
        return;
    }
    for (uint64_t i = 0; i < s->body->count; i++) {
        const double *pose = data + 7 * i;
        for (uint64_t v = 0; v < s->model_vertices; v++, xyz += 3) {
            turned(pose + 3, s->model + 3 * v, xyz);
            for (int k = 0; k < 3; k++) {
                xyz[k] += pose[k];
            }
        }
    }
}
