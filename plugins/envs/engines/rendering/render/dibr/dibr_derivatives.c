/* SPDX-License-Identifier: Apache-2.0 */
/* dibr_derivatives.c - derivatives of the interpolating rasterizer: back to vertices, surface and camera, and
 * along a direction of them. Tiles are visited by several threads; what they find is added up in
 * one order. */
#include "dibr_internal.h"

#include "engines/rendering/render/vec3.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- back ---- */

static void normals_adjoint(const dibr *r, const double *p, double *p_bar)
{
    for (size_t i = 0; i < r->mesh.faces; i++) {
        const uint32_t *v = r->mesh.face + 3 * i;
        double a[3], b[3], n[3], g[3] = {0}, a_bar[3], b_bar[3];
        for (int k = 0; k < 3; k++) {
            vec3_add(g, 1, r->normal_bar + 3 * (size_t)v[k]);
        }
        vec3_minus(p + 3 * (size_t)v[1], p + 3 * (size_t)v[0], a);
        vec3_minus(p + 3 * (size_t)v[2], p + 3 * (size_t)v[0], b);
        vec3_cross(a, b, n);
        if (!vec3_finite(n)) {
            continue;
        }
        vec3_cross(b, g, a_bar);
        vec3_cross(g, a, b_bar);
        vec3_add(p_bar + 3 * (size_t)v[1], 1, a_bar);
        vec3_add(p_bar + 3 * (size_t)v[2], 1, b_bar);
        vec3_add(p_bar + 3 * (size_t)v[0], -1, a_bar);
        vec3_add(p_bar + 3 * (size_t)v[0], -1, b_bar);
    }
}

/* The product of 1 - A of all but the k-th. */
static double product_of_others(int n, const double *A, int k)
{
    double others = 1;
    for (int i = 0; i < n; i++) {
        others *= i == k ? 1 : 1 - A[i];
    }
    return others;
}

/* The silhouette: d alpha / d A_f is the product over the others, A_f = exp(-7000 D^2). A pixel on the
 * edge of a face (A = 1) is in it. */
static void silhouette_pixel(const dibr_job *j, int tile, const render_tile *t, size_t pixel)
{
    dibr *r = j->r;
    dibr_neighbour list[DIBR_NEAREST];
    double at[2], A[DIBR_NEAREST];
    int n;
    const double g = j->in[DIBR_CHANNELS * pixel + 3];
    if (r->shown[pixel] != DIBR_NOTHING || g == 0) {
        return;
    }
    dibr_center(r, pixel, at);
    dibr_look(r, t, at[0], at[1], list, &n);
    for (int k = 0; k < n; k++) {
        A[k] = dibr_covers(list[k].square);
    }
    for (int k = 0; k < n; k++) {
        dibr_corner_bar *to = r->pair + r->bins.start[tile] + list[k].place;
        const double factor = g * product_of_others(n, A, k) * -dibr_sharpness * A[k] * 2;
        for (int i = 0; i < 3; i++) {
            to->x[i] += factor * list[k].te[i] * list[k].to[0];
            to->y[i] += factor * list[k].te[i] * list[k].to[1];
        }
    }
}

static void silhouette_tile(void *context, int tile, int member)
{
    const dibr_job *j = context;
    dibr *r = j->r;
    (void)member;
    const size_t first = r->bins.start[tile], count = r->bins.start[tile + 1] - first;
    if (count > 0) {
        memset(r->pair + first, 0, count * sizeof *r->pair);
        dibr_visit_tile(j, tile, silhouette_pixel);
    }
}

static int make_pairs(dibr *r)
{
    r->pair = bins_pairs(&r->bins, r->pair, &r->pairs, sizeof *r->pair);
    return bins_fit(&r->bins, r->pairs);
}

static void collect_silhouette(dibr *r)
{
    for (size_t i = 0; i < r->bins.start[r->bins.tiles]; i++) {
        const uint32_t *v = r->mesh.face + 3 * (size_t)r->bins.item[i];
        for (int k = 0; k < 3; k++) {
            r->q_bar[3 * (size_t)v[k]] += r->pair[i].x[k];
            r->q_bar[3 * (size_t)v[k] + 1] += r->pair[i].y[k];
        }
    }
}

/* From the derivatives by interpolated attributes to those by the attributes of vertex v with the weight
 * w; returns that by the weight. */
static double vertex_adjoint(dibr *r, size_t v, double w, const dibr_attributes *g, const dibr_surface *bar)
{
    const dibr_surface *s = &r->surface;
    double n[3] = {r->normal[3 * v], r->normal[3 * v + 1], r->normal[3 * v + 2]}, N_bar[3];
    const double length = vec3_unit(n);
    double weight_bar = vec3_dot(g->normal, n) + vec3_dot(g->position, s->p + 3 * v);
    if (length > 0) {
        vec3_unit_adjoint(n, length, g->normal, N_bar);
        vec3_add(r->normal_bar + 3 * v, w, N_bar);
    }
    if (bar->p) {
        vec3_add(bar->p + 3 * v, w, g->position);
    }
    if (r->o.texture_width > 0) {
        for (size_t i = 0; i < 2; i++) {
            weight_bar += g->uv[i] * s->uv[2 * v + i];
            if (bar->uv) {
                bar->uv[2 * v + i] += w * g->uv[i];
            }
        }
    } else {
        weight_bar += vec3_dot(g->color, s->color + 3 * v);
        if (bar->color) {
            vec3_add(bar->color + 3 * v, w, g->color);
        }
    }
    return weight_bar;
}

/* A pixel that shows a face. */
static void shown_adjoint(dibr *r, size_t pixel, const double g[3], const dibr_surface *bar,
                          double eye_bar[3])
{
    const uint32_t face = r->shown[pixel], *v = r->mesh.face + 3 * (size_t)face;
    const dibr_face *f = &r->face[face];
    double at[2], w[3], rgb[3], x = 0, y = 0;
    dibr_attributes a_bar = {.uv = {0}};
    dibr_center(r, pixel, at);
    dibr_weights(f, at[0], at[1], w);
    const dibr_attributes a = dibr_attributes_of(r, face, w);
    dibr_shade(&r->o, &r->surface, r->camera.pose.eye, &a, rgb);
    if (!vec3_finite(rgb)) {
        return;
    }
    dibr_shade_adjoint(&r->o, &r->surface, r->camera.pose.eye, &a, g, &a_bar, bar, eye_bar);
    for (int k = 0; k < 3; k++) {
        const double w_bar = vertex_adjoint(r, v[k], w[k], &a_bar, bar);
        x += w_bar * f->slope_x[k];
        y += w_bar * f->slope_y[k];
    }
    for (int k = 0; k < 3; k++) {
        r->q_bar[3 * (size_t)v[k]] -= w[k] * x;
        r->q_bar[3 * (size_t)v[k] + 1] -= w[k] * y;
    }
}

ds_status dibr_adjoint(dibr *r, const double *image_bar, const dibr_surface *bar, camera_pose *camera_bar)
{
    const size_t numbers = 3 * (size_t)r->mesh.vertices;
    if (!r->drawn) {
        return DS_E_STATE;
    }
    if (!make_pairs(r)) {
        return DS_E_NOMEM;
    }
    memset(r->q_bar, 0, numbers * sizeof *r->q_bar);
    memset(r->normal_bar, 0, numbers * sizeof *r->normal_bar);
    kit_team_run(r->team, silhouette_tile, &(dibr_job){.r = r, .in = image_bar}, (int)r->bins.tiles);
    collect_silhouette(r);
    for (size_t i = 0; i < (size_t)r->o.size * r->o.size; i++) {
        const double *g = image_bar + DIBR_CHANNELS * i;
        if (r->shown[i] != DIBR_NOTHING && (g[0] != 0 || g[1] != 0 || g[2] != 0)) {
            shown_adjoint(r, i, g, bar, camera_bar ? camera_bar->eye : NULL);
        }
    }
    if (bar->p) {
        normals_adjoint(r, r->surface.p, bar->p);
    }
    camera_project_adjoint(&r->camera, r->mesh.vertices, r->surface.p, r->q_bar, bar->p, camera_bar);
    return DS_OK;
}

/* ---- along a direction ---- */

/* The changes of the sums that the normals of the vertices are made of. */
static void normals_tangent(dibr *r, const double *p, const double *p_dot)
{
    memset(r->normal_bar, 0, 3 * (size_t)r->mesh.vertices * sizeof *r->normal_bar);
    for (size_t i = 0; i < r->mesh.faces && p_dot; i++) {
        const uint32_t *v = r->mesh.face + 3 * i;
        double a[3], b[3], n[3], a_dot[3], b_dot[3], n_dot[3];
        vec3_minus(p + 3 * (size_t)v[1], p + 3 * (size_t)v[0], a);
        vec3_minus(p + 3 * (size_t)v[2], p + 3 * (size_t)v[0], b);
        vec3_minus(p_dot + 3 * (size_t)v[1], p_dot + 3 * (size_t)v[0], a_dot);
        vec3_minus(p_dot + 3 * (size_t)v[2], p_dot + 3 * (size_t)v[0], b_dot);
        vec3_cross(a, b, n);
        vec3_cross(a_dot, b, n_dot);
        vec3_add_cross(n_dot, 1, a, b_dot);
        for (int k = 0; k < 3 && vec3_finite(n); k++) {
            vec3_add(r->normal_bar + 3 * (size_t)v[k], 1, n_dot);
        }
    }
}

/* Adds what vertex v with the weight w, which changes by w_dot, gives to the change of the attributes. */
static void vertex_tangent(const dibr *r, size_t v, double w, double w_dot, const dibr_dot *dot,
                           dibr_attributes *a_dot)
{
    const dibr_surface *s = &r->surface;
    double n[3] = {r->normal[3 * v], r->normal[3 * v + 1], r->normal[3 * v + 2]}, n_dot[3] = {0};
    const double length = vec3_unit(n);
    if (length > 0) {
        vec3_unit_adjoint(n, length, r->normal_bar + 3 * v, n_dot);
    }
    vec3_add(a_dot->normal, w_dot, n);
    vec3_add(a_dot->normal, w, n_dot);
    vec3_add(a_dot->position, w_dot, s->p + 3 * v);
    if (dot->p) {
        vec3_add(a_dot->position, w, dot->p + 3 * v);
    }
    for (size_t i = 0; i < 2 && r->o.texture_width > 0; i++) {
        a_dot->uv[i] += w_dot * s->uv[2 * v + i] + (dot->uv ? w * dot->uv[2 * v + i] : 0);
    }
    if (r->o.texture_width == 0) {
        vec3_add(a_dot->color, w_dot, s->color + 3 * v);
        if (dot->color) {
            vec3_add(a_dot->color, w, dot->color + 3 * v);
        }
    }
}

static void shown_tangent(const dibr_job *j, size_t pixel, double *out)
{
    const dibr *r = j->r;
    const uint32_t face = r->shown[pixel], *v = r->mesh.face + 3 * (size_t)face;
    const dibr_face *f = &r->face[face];
    static const double still[3] = {0, 0, 0};
    const double *eye = r->camera.pose.eye, *eye_dot = j->dot->camera ? j->dot->camera->eye : still;
    double at[2], w[3], rgb[3], x = 0, y = 0;
    dibr_attributes a_dot = {.uv = {0}};
    dibr_center(r, pixel, at);
    dibr_weights(f, at[0], at[1], w);
    const dibr_attributes a = dibr_attributes_of(r, face, w);
    dibr_shade(&r->o, &r->surface, eye, &a, rgb);
    for (int k = 0; k < 3; k++) {
        x += w[k] * r->q_bar[3 * (size_t)v[k]];
        y += w[k] * r->q_bar[3 * (size_t)v[k] + 1];
    }
    for (int k = 0; k < 3; k++) {
        vertex_tangent(r, v[k], w[k], -(f->slope_x[k] * x + f->slope_y[k] * y), j->dot, &a_dot);
    }
    if (vec3_finite(rgb)) {
        dibr_shade_tangent(&r->o, &r->surface, eye, &a, &a_dot, j->dot, eye_dot, out);
    }
}

static void tangent_pixel(const dibr_job *j, int tile, const render_tile *t, size_t pixel)
{
    const dibr *r = j->r;
    dibr_neighbour list[DIBR_NEAREST];
    double at[2], A[DIBR_NEAREST], *out = j->out + DIBR_CHANNELS * pixel;
    int n;
    (void)tile;
    memset(out, 0, DIBR_CHANNELS * sizeof *out);
    if (r->shown[pixel] != DIBR_NOTHING) {
        shown_tangent(j, pixel, out);
        return;
    }
    dibr_center(r, pixel, at);
    dibr_look(r, t, at[0], at[1], list, &n);
    for (int k = 0; k < n; k++) {
        A[k] = dibr_covers(list[k].square);
    }
    for (int k = 0; k < n; k++) {
        const uint32_t *v = r->mesh.face + 3 * (size_t)t->item[list[k].place];
        double along = 0;
        for (int i = 0; i < 3; i++) {
            const double *q_dot = r->q_bar + 3 * (size_t)v[i];
            along += list[k].te[i] * (list[k].to[0] * q_dot[0] + list[k].to[1] * q_dot[1]);
        }
        out[3] += product_of_others(n, A, k) * -dibr_sharpness * A[k] * 2 * along;
    }
}

static void tangent_tile(void *context, int tile, int member)
{
    (void)member;
    dibr_visit_tile(context, tile, tangent_pixel);
}

/* q_bar and normal_bar have the room for the changes. */
ds_status dibr_tangent(dibr *r, const dibr_dot *dot, double *image_dot)
{
    if (!r->drawn) {
        return DS_E_STATE;
    }
    camera_project_tangent(&r->camera, r->mesh.vertices, r->surface.p, dot->p, dot->camera, r->q_bar);
    normals_tangent(r, r->surface.p, dot->p);
    kit_team_run(r->team, tangent_tile, &(dibr_job){.r = r, .out = image_dot, .dot = dot},
                 (int)r->bins.tiles);
    return DS_OK;
}
