/* SPDX-License-Identifier: Apache-2.0 */
/* dibr.c - rasterization that interpolates (see dibr.h): faces in the image plane, which of them a pixel
 * shows, the soft silhouette. Tiles are drawn by several threads. */
#include "dibr_internal.h"

#include "engines/rendering/render/vec3.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double margin = 0.02; /* of bounding boxes, half images */

/* ---- set-up ---- */

dibr_options dibr_defaults(dibr_mode mode, uint32_t size)
{
    return (dibr_options){.mode = mode,
                          .size = size,
                          .light = {0, 1, 0},
                          .ambient = 0.5,
                          .diffuse = 0.5,
                          .shine = 1,
                          .threads = 1};
}

static int dibr_check(const dibr_options *o, char text[RENDER_TEXT])
{
    const double number[] = {o->background[0], o->background[1], o->background[2], o->light[0], o->light[1],
                             o->light[2],      o->ambient,       o->diffuse,       o->specular, o->shine};
    const int textured = o->texture_width > 0 && o->texture_height > 0;
    const char *what = NULL;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        what = isfinite(number[i]) ? what : "background, light and material must be finite";
    }
    if (o->size < RENDER_MIN_SIZE || o->size > RENDER_MAX_SIZE) {
        what = "a side must have 8 to 1024 pixels";
    } else if ((unsigned)o->mode > DIBR_HARMONICS) {
        what = "unknown mode";
    } else if (textured != (o->texture_width > 0 || o->texture_height > 0) ||
               (o->mode == DIBR_COLOR && textured) || (o->mode == DIBR_TEXTURE && !textured)) {
        what = "the texture must have a width and a height in mode texture, and none in mode color";
    } else if (o->texture_width > 16384 || o->texture_height > 16384) {
        what = "a texture has at most 16384 x 16384 texels";
    } else if (o->threads < 1 || o->threads > RENDER_MAX_THREADS) {
        what = "threads must be 1 to 256";
    } else if (o->shine < 0) {
        what = "shine must not be negative";
    }
    if (what) {
        snprintf(text, RENDER_TEXT, "image: %s", what);
    }
    return what != NULL;
}

static int open_arrays(dibr *r, const render_mesh *m)
{
    const size_t faces = m->faces, vertices = m->vertices;
    uint32_t *face = ds_memory_take(&r->memory, 3 * faces + 1, sizeof *face);
    r->mesh = (render_mesh){m->vertices, m->faces, face};
    r->face = ds_memory_take(&r->memory, faces + 1, sizeof *r->face);
    ds_memory_each(&r->memory, 3 * vertices + 1,
                   (double **const[]){&r->q, &r->q_bar, &r->normal, &r->normal_bar, NULL});
    r->shown = ds_memory_take(&r->memory, (size_t)r->o.size * r->o.size, sizeof *r->shown);
    int bins = bins_open(&r->bins, r->o.size);
    r->team = kit_team_create(r->o.threads);
    if (!bins || !r->team || r->memory.failed) {
        return 0;
    }
    if (faces > 0) {
        memcpy(face, m->face, 3 * faces * sizeof *face);
    }
    return 1;
}

dibr *dibr_create(const dibr_options *o, const render_mesh *m, ds_status *status, char text[RENDER_TEXT])
{
    *status = DS_E_ARG;
    text[0] = '\0';
    if (dibr_check(o, text) != 0 || render_mesh_check(m, text) != 0) {
        return NULL;
    }
    dibr *r = calloc(1, sizeof *r);
    if (r) {
        r->o = *o;
    }
    if (!r || !open_arrays(r, m)) {
        dibr_destroy(r);
        memcpy(text, "image: out of memory", sizeof "image: out of memory");
        *status = DS_E_NOMEM;
        return NULL;
    }
    *status = DS_OK;
    return r;
}

void dibr_destroy(dibr *r)
{
    if (r) {
        kit_team_destroy(r->team);
        bins_close(&r->bins);
        ds_memory_free(&r->memory);
        free(r->pair);
        free(r);
    }
}

/* ---- faces ---- */

/* Twice the area in the image plane, positive where the outside is seen. */
static double facing(const camera *c, const dibr_face *f)
{
    const double area = (f->x[1] - f->x[0]) * (f->y[2] - f->y[0]) - (f->x[2] - f->x[0]) * (f->y[1] - f->y[0]);
    return c->kind == CAMERA_DIBR ? area : -area;
}

static void place(dibr *r, dibr_face *f, const uint32_t v[3])
{
    for (int k = 0; k < 3; k++) {
        const double *q = r->q + 3 * (size_t)v[k];
        f->x[k] = q[0];
        f->y[k] = q[1];
        f->depth[k] = q[2];
    }
    const double area = (f->x[1] - f->x[0]) * (f->y[2] - f->y[0]) - (f->x[2] - f->x[0]) * (f->y[1] - f->y[0]);
    for (int k = 0; k < 3; k++) {
        const int a = (k + 1) % 3, b = (k + 2) % 3;
        f->slope_x[k] = (f->y[a] - f->y[b]) / area;
        f->slope_y[k] = (f->x[b] - f->x[a]) / area;
    }
    f->low[0] = fmin(f->x[0], fmin(f->x[1], f->x[2])) - margin;
    f->low[1] = fmin(f->y[0], fmin(f->y[1], f->y[2])) - margin;
    f->high[0] = fmax(f->x[0], fmax(f->x[1], f->x[2])) + margin;
    f->high[1] = fmax(f->y[0], fmax(f->y[1], f->y[2])) + margin;
    f->box = bins_box(r->o.size, (double[2]){f->low[0], f->high[0]}, (double[2]){f->low[1], f->high[1]});
}

static int attributes_finite(const dibr *r, const uint32_t v[3])
{
    int finite = 1;
    for (int k = 0; k < 3; k++) {
        const double *uv = r->surface.uv, *color = r->surface.color;
        const size_t i = v[k];
        finite &= r->o.texture_width > 0 ? isfinite(uv[2 * i]) && isfinite(uv[2 * i + 1])
                                         : vec3_finite(color + 3 * i);
    }
    return finite;
}

static void make_faces(dibr *r, render_report *report)
{
    *report = (render_report){.drawn = 0};
    for (size_t i = 0; i < r->mesh.faces; i++) {
        const uint32_t *v = r->mesh.face + 3 * i;
        dibr_face *f = &r->face[i];
        softras_kind kind = softras_kind_of(&r->camera, v, r->q, NULL);
        kind = attributes_finite(r, v) ? kind : SOFTRAS_BROKEN;
        f->box = (render_box){.column = {1, 0}};
        report->behind += kind == SOFTRAS_BEHIND;
        report->broken += kind == SOFTRAS_BROKEN;
        report->flat += kind == SOFTRAS_LINE;
        if (kind == SOFTRAS_DRAWN) {
            place(r, f, v);
            if (facing(&r->camera, f) <= 0) {
                f->box = (render_box){.column = {1, 0}};
            }
            report->drawn += (uint32_t)!bins_empty(&f->box);
            report->outside += (uint32_t)bins_empty(&f->box);
        }
    }
}

/* Sums of the normals of the faces of each vertex, times twice their areas; faces that are broken give
 * none. */
static void make_normals(dibr *r, const double *p)
{
    memset(r->normal, 0, 3 * (size_t)r->mesh.vertices * sizeof *r->normal);
    for (size_t i = 0; i < r->mesh.faces; i++) {
        const uint32_t *v = r->mesh.face + 3 * i;
        double a[3], b[3], n[3];
        vec3_minus(p + 3 * (size_t)v[1], p + 3 * (size_t)v[0], a);
        vec3_minus(p + 3 * (size_t)v[2], p + 3 * (size_t)v[0], b);
        vec3_cross(a, b, n);
        for (int k = 0; k < 3 && vec3_finite(n); k++) {
            vec3_add(r->normal + 3 * (size_t)v[k], 1, n);
        }
    }
}

/* ---- pixels ---- */

int dibr_weights(const dibr_face *f, double x, double y, double w[3])
{
    const double dx = x - f->x[0], dy = y - f->y[0];
    w[1] = dx * f->slope_x[1] + dy * f->slope_y[1];
    w[2] = dx * f->slope_x[2] + dy * f->slope_y[2];
    w[0] = 1 - w[1] - w[2];
    return w[0] >= 0 && w[1] >= 0 && w[2] >= 0;
}

static void nearest_point(const dibr_face *f, double x, double y, dibr_neighbour *n)
{
    n->square = HUGE_VAL;
    for (int k = 0; k < 3; k++) {
        const int next = (k + 1) % 3;
        const double ex = f->x[next] - f->x[k], ey = f->y[next] - f->y[k], dx = x - f->x[k], dy = y - f->y[k];
        const double square = ex * ex + ey * ey;
        double t = square > 1e-300 ? (dx * ex + dy * ey) / square : 0;
        t = t < 0 ? 0 : t > 1 ? 1 : t;
        const double tx = t * ex - dx, ty = t * ey - dy, d2 = tx * tx + ty * ty;
        if (d2 < n->square) {
            n->square = d2;
            n->to[0] = tx;
            n->to[1] = ty;
            n->te[k] = 1 - t;
            n->te[next] = t;
            n->te[(k + 2) % 3] = 0;
        }
    }
}

/* Keeps the nearest in their order; what comes first wins where distances are equal. Returns how many
 * there are. */
static int keep_nearest(dibr_neighbour list[DIBR_NEAREST], int n, const dibr_neighbour *one)
{
    if (n == DIBR_NEAREST && one->square >= list[n - 1].square) {
        return n;
    }
    int at = n < DIBR_NEAREST ? n++ : n - 1;
    for (; at > 0 && list[at - 1].square > one->square; at--) {
        list[at] = list[at - 1];
    }
    list[at] = *one;
    return n;
}

uint32_t dibr_look(const dibr *r, const render_tile *t, double x, double y, dibr_neighbour list[DIBR_NEAREST],
                   int *n)
{
    uint32_t shown = DIBR_NOTHING;
    double nearest = HUGE_VAL, w[3];
    *n = 0;
    for (size_t i = 0; i < t->items; i++) {
        const dibr_face *f = &r->face[t->item[i]];
        if (x < f->low[0] || x > f->high[0] || y < f->low[1] || y > f->high[1]) {
            continue;
        }
        if (dibr_weights(f, x, y, w)) {
            const double depth = w[0] * f->depth[0] + w[1] * f->depth[1] + w[2] * f->depth[2];
            shown = depth < nearest ? t->item[i] : shown;
            nearest = fmin(depth, nearest);
        } else if (shown == DIBR_NOTHING) {
            dibr_neighbour one = {.place = i};
            nearest_point(f, x, y, &one);
            *n = keep_nearest(list, *n, &one);
        }
    }
    return shown;
}

dibr_attributes dibr_attributes_of(const dibr *r, uint32_t face, const double w[3])
{
    dibr_attributes a = {.uv = {0}};
    const dibr_surface *s = &r->surface;
    for (int k = 0; k < 3; k++) {
        const size_t v = r->mesh.face[3 * (size_t)face + (size_t)k];
        double n[3] = {r->normal[3 * v], r->normal[3 * v + 1], r->normal[3 * v + 2]};
        vec3_unit(n);
        vec3_add(a.normal, w[k], n);
        vec3_add(a.position, w[k], s->p + 3 * v);
        if (r->o.texture_width > 0) {
            a.uv[0] += w[k] * s->uv[2 * v];
            a.uv[1] += w[k] * s->uv[2 * v + 1];
        } else {
            vec3_add(a.color, w[k], s->color + 3 * v);
        }
    }
    return a;
}

static void finite_or(double fallback[3], double rgb[3])
{
    if (!vec3_finite(rgb)) {
        memcpy(rgb, fallback, 3 * sizeof *rgb);
    }
}

void dibr_visit_tile(const dibr_job *j, int tile, dibr_visit *visit)
{
    const render_tile t = bins_tile(&j->r->bins, (uint32_t)tile);
    for (size_t i = 0; i < TILE_PIXELS; i++) {
        const size_t row = t.row + i / TILE_COLUMNS, column = t.column + i % TILE_COLUMNS;
        if (row < j->r->o.size && column < j->r->o.size) {
            visit(j, tile, &t, row * j->r->o.size + column);
        }
    }
}

static void draw_pixel(const dibr_job *j, int tile, const render_tile *t, size_t pixel)
{
    dibr *r = j->r;
    dibr_neighbour list[DIBR_NEAREST];
    double at[2], w[3], *out = j->out + DIBR_CHANNELS * pixel, clear = 1;
    int n;
    (void)tile;
    dibr_center(r, pixel, at);
    const uint32_t face = r->shown[pixel] = dibr_look(r, t, at[0], at[1], list, &n);
    if (face != DIBR_NOTHING) {
        dibr_weights(&r->face[face], at[0], at[1], w);
        const dibr_attributes a = dibr_attributes_of(r, face, w);
        dibr_shade(&r->o, &r->surface, r->camera.pose.eye, &a, out);
        finite_or(r->o.background, out);
        out[3] = 1;
        return;
    }
    for (int k = 0; k < n; k++) {
        clear *= 1 - dibr_covers(list[k].square);
    }
    memcpy(out, r->o.background, 3 * sizeof *out);
    out[3] = 1 - clear;
}

static void draw_tile(void *context, int tile, int member)
{
    (void)member;
    dibr_visit_tile(context, tile, draw_pixel);
}

static int surface_complete(const dibr_options *o, const dibr_surface *s)
{
    return s->p && (o->texture_width > 0 ? s->uv && s->texture : s->color != NULL) &&
           (o->mode != DIBR_HARMONICS || s->harmonics);
}

ds_status dibr_draw(dibr *r, const camera *c, const dibr_surface *s, double *image, render_report *report)
{
    char text[RENDER_TEXT];
    render_report own;
    r->drawn = 0;
    if (camera_check(c, text) != 0 || (r->mesh.faces > 0 && !surface_complete(&r->o, s))) {
        return DS_E_ARG;
    }
    r->camera = *c;
    r->surface = *s;
    camera_project(c, r->mesh.vertices, s->p, r->q);
    make_faces(r, report ? report : &own);
    make_normals(r, s->p);
    if (!bins_fill(&r->bins, r->mesh.faces, &r->face->box, sizeof *r->face)) {
        return DS_E_NOMEM;
    }
    kit_team_run(r->team, draw_tile, &(dibr_job){.r = r, .out = image}, (int)r->bins.tiles);
    r->drawn = 1;
    return DS_OK;
}
