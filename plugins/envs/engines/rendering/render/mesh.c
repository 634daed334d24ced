/* SPDX-License-Identifier: Apache-2.0 */
/* mesh.c - checks of meshes, and Lambert light per face with its derivatives. */
#include "engines/rendering/render/mesh.h"

#include "engines/rendering/render/vec3.h"

#include <stdio.h>

int render_mesh_check(const render_mesh *m, char text[RENDER_TEXT])
{
    if (m->vertices > RENDER_MAX_COUNT || m->faces > RENDER_MAX_COUNT) {
        snprintf(text, RENDER_TEXT, "mesh: %u vertices and %u faces; at most %d of each can be drawn",
                 m->vertices, m->faces, (int)RENDER_MAX_COUNT);
        return 1;
    }
    for (size_t i = 0; i < 3 * (size_t)m->faces; i++) {
        if (m->face[i] >= m->vertices) {
            snprintf(text, RENDER_TEXT, "mesh: face %zu uses vertex %u, but there are only %u vertices",
                     i / 3, m->face[i], m->vertices);
            return 1;
        }
    }
    return 0;
}

/* ---- light ---- */

light light_default(void)
{
    return (light){.ambient = 0.5, .directional = 0.5, .direction = {0, 1, 0}};
}

/* The edges v2 - v1 and v0 - v1 of a face, its unit normal and twice its area. */
typedef struct facing {
    const uint32_t *v;
    double a[3], b[3], n[3], length;
} facing;

static facing facing_of(const render_mesh *m, size_t face, const double *p)
{
    facing f = {.v = m->face + 3 * face};
    vec3_minus(p + 3 * (size_t)f.v[2], p + 3 * (size_t)f.v[1], f.a);
    vec3_minus(p + 3 * (size_t)f.v[0], p + 3 * (size_t)f.v[1], f.b);
    vec3_cross(f.a, f.b, f.n);
    f.length = vec3_unit(f.n);
    return f;
}

static double shade(const light *l, const facing *f)
{
    double towards = vec3_dot(f->n, l->direction);
    return l->ambient + l->directional * (towards > 0 ? towards : 0);
}

static int lit(const light *l, const facing *f)
{
    return f->length > 0 && vec3_dot(f->n, l->direction) > 0;
}

void light_faces(const light *l, const render_mesh *m, const double *p, const double *texture,
                 size_t texture_stride, double *color)
{
    for (size_t i = 0; i < m->faces; i++) {
        facing f = facing_of(m, i, p);
        double s = shade(l, &f);
        for (size_t k = 0; k < 3; k++) {
            color[3 * i + k] = texture[i * texture_stride + k] * s;
        }
    }
}

/* Adds the derivatives by the three vertices, from the derivative by the shade. */
static void shade_adjoint(const light *l, const facing *f, double bar, double *p_bar)
{
    double n_bar[3] = {0}, N_bar[3], a_bar[3], b_bar[3];
    vec3_add(n_bar, bar * l->directional, l->direction);
    vec3_unit_adjoint(f->n, f->length, n_bar, N_bar);
    vec3_cross(f->b, N_bar, a_bar);
    vec3_cross(N_bar, f->a, b_bar);
    vec3_add(p_bar + 3 * (size_t)f->v[2], 1, a_bar);
    vec3_add(p_bar + 3 * (size_t)f->v[0], 1, b_bar);
    vec3_add(p_bar + 3 * (size_t)f->v[1], -1, a_bar);
    vec3_add(p_bar + 3 * (size_t)f->v[1], -1, b_bar);
}

void light_faces_adjoint(const light *l, const render_mesh *m, const double *p, const double *texture,
                         size_t texture_stride, const double *color_bar, double *p_bar, double *texture_bar)
{
    for (size_t i = 0; i < m->faces; i++) {
        const double *g = color_bar + 3 * i, *t = texture + i * texture_stride;
        if (g[0] == 0 && g[1] == 0 && g[2] == 0) {
            continue; /* includes faces that were not drawn, whose vertices may be anything */
        }
        facing f = facing_of(m, i, p);
        if (texture_bar) {
            vec3_add(texture_bar + i * texture_stride, shade(l, &f), g);
        }
        if (p_bar && lit(l, &f)) {
            shade_adjoint(l, &f, vec3_dot(g, t), p_bar);
        }
    }
}

/* Change of the shade along p_dot. */
static double shade_tangent(const light *l, const facing *f, const double *p_dot)
{
    double a_dot[3], b_dot[3], N_dot[3] = {0}, n_dot[3];
    vec3_minus(p_dot + 3 * (size_t)f->v[2], p_dot + 3 * (size_t)f->v[1], a_dot);
    vec3_minus(p_dot + 3 * (size_t)f->v[0], p_dot + 3 * (size_t)f->v[1], b_dot);
    vec3_add_cross(N_dot, 1, a_dot, f->b);
    vec3_add_cross(N_dot, 1, f->a, b_dot);
    vec3_unit_adjoint(f->n, f->length, N_dot, n_dot);
    return l->directional * vec3_dot(n_dot, l->direction);
}

void light_faces_tangent(const light *l, const render_mesh *m, const double *p, const double *texture,
                         size_t texture_stride, const double *p_dot, const double *texture_dot,
                         double *color_dot)
{
    for (size_t i = 0; i < m->faces; i++) {
        facing f = facing_of(m, i, p);
        double s = texture_dot ? shade(l, &f) : 0,
               s_dot = p_dot && lit(l, &f) ? shade_tangent(l, &f, p_dot) : 0;
        for (size_t k = 0; k < 3; k++) {
            color_dot[3 * i + k] = s_dot * texture[i * texture_stride + k] +
                                   (texture_dot ? s * texture_dot[i * texture_stride + k] : 0);
        }
    }
}

/* Derivatives of the shade of a face by the light. */
static light shade_by_light(const light *l, const facing *f)
{
    light by = {.ambient = 1};
    if (lit(l, f)) {
        by.directional = vec3_dot(f->n, l->direction);
        vec3_add(by.direction, l->directional, f->n);
    }
    return by;
}

void light_adjoint(const light *l, const render_mesh *m, const double *p, const double *texture,
                   size_t texture_stride, const double *color_bar, light *bar)
{
    for (size_t i = 0; i < m->faces; i++) {
        const double *g = color_bar + 3 * i;
        if (g[0] != 0 || g[1] != 0 || g[2] != 0) {
            const facing f = facing_of(m, i, p);
            const light by = shade_by_light(l, &f);
            const double shade_bar = vec3_dot(g, texture + i * texture_stride);
            bar->ambient += shade_bar * by.ambient;
            bar->directional += shade_bar * by.directional;
            vec3_add(bar->direction, shade_bar, by.direction);
        }
    }
}

void light_tangent(const light *l, const render_mesh *m, const double *p, const double *texture,
                   size_t texture_stride, const light *dot, double *color_dot)
{
    for (size_t i = 0; i < m->faces; i++) {
        const facing f = facing_of(m, i, p);
        const light by = shade_by_light(l, &f);
        vec3_add(color_dot + 3 * i,
                 dot->ambient + by.directional * dot->directional + vec3_dot(by.direction, dot->direction),
                 texture + i * texture_stride);
    }
}
