/* SPDX-License-Identifier: Apache-2.0 */
/* dibr.c - rasterization by interpolation: faces in the image plane, the face of each pixel, the soft
 * silhouette, and derivatives back to vertices, surface and camera or along a direction. Several threads
 * process tiles; their results are added in a fixed order. */
#include "engines/rendering/render/dibr.h"

#include "common/exp.h"
#include "engines/kit/team.h"
#include "engines/rendering/render/dibr_internal.h"
#include "engines/rendering/render/softras_internal.h"
#include "engines/rendering/render/vec3.h"

#include <diffsim/helper/memory.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- faces and pixels ---- */

static const double sharpness = 7000; /* of the silhouette, per squared half image */

/* A front face in the image plane. */
typedef struct face_image {
    render_box box;
    double x[3], y[3], depth[3];
    double slope_x[3], slope_y[3]; /* of the barycentric coordinates */
    double low[2], high[2];        /* of the box grown by `margin` */
} face_image;

/* Derivatives by the corners in the image plane. */
typedef struct corner_bar {
    double x[3], y[3];
} corner_bar;

struct dibr {
    dibr_options o;
    render_mesh mesh; /* a copy */
    kit_team *team;
    ds_memory memory;
    render_bins bins;
    face_image *face;
    corner_bar *pair; /* per face and tile, in the order of bins.item */
    size_t pairs;     /* room */
    /* the last image */
    int drawn;
    camera camera;
    dibr_surface surface;
    double *q, *q_bar;           /* vertices x 3 */
    double *normal, *normal_bar; /* vertices x 3: sums over faces */
    uint32_t *shown;             /* pixels: the face, or NO_FACE */
};

enum { NO_FACE = UINT32_MAX };

typedef struct dibr_job {
    dibr *r;
    const double *in;
    double *out;
    const dibr_dot *dot; /* of a tangent */
} dibr_job;

/* A face near a background pixel: squared distance, place in the tile's list, nearest point. */
typedef struct neighbour {
    double square, to[2], te[3];
    size_t place;
} neighbour;

typedef void pixel_visit(const dibr_job *j, int tile, const render_tile *t, size_t pixel);

/* Coverage of a background pixel by a face at this squared distance. */
static double coverage(double square)
{
    return exp_same(-sharpness * square);
}

/* Position of a pixel. */
static void center_of(const dibr *r, size_t pixel, double at[2])
{
    at[0] = r->bins.center[pixel % r->o.size];
    at[1] = -r->bins.center[pixel / r->o.size];
}

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

void dibr_light(dibr *r, const dibr_lighting *l)
{
    memcpy(r->o.light, l->light, sizeof r->o.light);
    r->o.ambient = l->ambient;
    r->o.diffuse = l->diffuse;
    r->o.specular = l->specular;
    r->o.shine = l->shine;
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
        what = "an image must have 8 to 1024 pixels per side";
    } else if ((unsigned)o->mode > DIBR_HARMONICS) {
        what = "unknown mode";
    } else if (textured != (o->texture_width > 0 || o->texture_height > 0) ||
               (o->mode == DIBR_COLOR && textured) || (o->mode == DIBR_TEXTURE && !textured)) {
        what = "the texture must have a width and a height in mode texture, and none in mode color";
    } else if (o->texture_width > 16384 || o->texture_height > 16384) {
        what = "a texture may have at most 16384 x 16384 texels";
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

/* Twice the area in the image plane, positive if the outside is visible. */
static double facing(const camera *c, const face_image *f)
{
    const double area = (f->x[1] - f->x[0]) * (f->y[2] - f->y[0]) - (f->x[2] - f->x[0]) * (f->y[1] - f->y[0]);
    return c->kind == CAMERA_DIBR ? area : -area;
}

static void place(dibr *r, face_image *f, const uint32_t v[3])
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
        face_image *f = &r->face[i];
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

/* Sums of the normals of the faces of each vertex, times twice their areas; broken faces add nothing. */
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

/* Barycentric coordinates; returns 1 if the point is in the face or on its edge. */
static int weights_of(const face_image *f, double x, double y, double w[3])
{
    const double dx = x - f->x[0], dy = y - f->y[0];
    w[1] = dx * f->slope_x[1] + dy * f->slope_y[1];
    w[2] = dx * f->slope_x[2] + dy * f->slope_y[2];
    w[0] = 1 - w[1] - w[2];
    return w[0] >= 0 && w[1] >= 0 && w[2] >= 0;
}

static void nearest_point(const face_image *f, double x, double y, neighbour *n)
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

/* Inserts into the list of nearest faces; of equal distances the first stays. Returns the length of the list.
 */
static int keep_nearest(neighbour list[DIBR_NEAREST], int n, const neighbour *one)
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

/* The face that a pixel shows, or NO_FACE; then the nearest faces around it. */
static uint32_t find_faces(const dibr *r, const render_tile *t, double x, double y,
                           neighbour list[DIBR_NEAREST], int *n)
{
    uint32_t shown = NO_FACE;
    double nearest = HUGE_VAL, w[3];
    *n = 0;
    for (size_t i = 0; i < t->items; i++) {
        const face_image *f = &r->face[t->item[i]];
        if (x < f->low[0] || x > f->high[0] || y < f->low[1] || y > f->high[1]) {
            continue;
        }
        if (weights_of(f, x, y, w)) {
            const double depth = w[0] * f->depth[0] + w[1] * f->depth[1] + w[2] * f->depth[2];
            shown = depth < nearest ? t->item[i] : shown;
            nearest = fmin(depth, nearest);
        } else if (shown == NO_FACE) {
            neighbour one = {.place = i};
            nearest_point(f, x, y, &one);
            *n = keep_nearest(list, *n, &one);
        }
    }
    return shown;
}

static dibr_attributes attributes_of(const dibr *r, uint32_t face, const double w[3])
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

/* Calls `visit` for each pixel of a tile that belongs to the image. */
static void visit_tile(const dibr_job *j, int tile, pixel_visit *visit)
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
    neighbour list[DIBR_NEAREST];
    double at[2], w[3], *out = j->out + DIBR_CHANNELS * pixel, clear = 1;
    int n;
    (void)tile;
    center_of(r, pixel, at);
    const uint32_t face = r->shown[pixel] = find_faces(r, t, at[0], at[1], list, &n);
    if (face != NO_FACE) {
        weights_of(&r->face[face], at[0], at[1], w);
        const dibr_attributes a = attributes_of(r, face, w);
        dibr_shade(&r->o, &r->surface, r->camera.pose.eye, &a, out);
        finite_or(r->o.background, out);
        out[3] = 1;
        return;
    }
    for (int k = 0; k < n; k++) {
        clear *= 1 - coverage(list[k].square);
    }
    memcpy(out, r->o.background, 3 * sizeof *out);
    out[3] = 1 - clear;
}

static void draw_tile(void *context, int tile, int member)
{
    (void)member;
    visit_tile(context, tile, draw_pixel);
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

/* ---- derivatives backwards ---- */

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

/* The product of 1 - A of all faces but the k-th. */
static double product_of_others(int n, const double *A, int k)
{
    double others = 1;
    for (int i = 0; i < n; i++) {
        others *= i == k ? 1 : 1 - A[i];
    }
    return others;
}

/* The silhouette: d alpha / d A_f is the product over the others, A_f = exp(-7000 D^2). A pixel on the edge
 * of a face (A = 1) is inside it. */
static void silhouette_pixel(const dibr_job *j, int tile, const render_tile *t, size_t pixel)
{
    dibr *r = j->r;
    neighbour list[DIBR_NEAREST];
    double at[2], A[DIBR_NEAREST];
    int n;
    const double g = j->in[DIBR_CHANNELS * pixel + 3];
    if (r->shown[pixel] != NO_FACE || g == 0) {
        return;
    }
    center_of(r, pixel, at);
    find_faces(r, t, at[0], at[1], list, &n);
    for (int k = 0; k < n; k++) {
        A[k] = coverage(list[k].square);
    }
    for (int k = 0; k < n; k++) {
        corner_bar *to = r->pair + r->bins.start[tile] + list[k].place;
        const double factor = g * product_of_others(n, A, k) * -sharpness * A[k] * 2;
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
        visit_tile(j, tile, silhouette_pixel);
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

/* From the derivatives by interpolated attributes to the derivatives by the attributes of vertex v, with
 * weight w; returns the derivative by the weight. */
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
    const face_image *f = &r->face[face];
    double at[2], w[3], rgb[3], x = 0, y = 0;
    dibr_attributes a_bar = {.uv = {0}};
    center_of(r, pixel, at);
    weights_of(f, at[0], at[1], w);
    const dibr_attributes a = attributes_of(r, face, w);
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
        if (r->shown[i] != NO_FACE && (g[0] != 0 || g[1] != 0 || g[2] != 0)) {
            shown_adjoint(r, i, g, bar, camera_bar ? camera_bar->eye : NULL);
        }
    }
    if (bar->p) {
        normals_adjoint(r, r->surface.p, bar->p);
    }
    camera_project_adjoint(&r->camera, r->mesh.vertices, r->surface.p, r->q_bar, bar->p, camera_bar);
    return DS_OK;
}

/* ---- derivatives along a direction ---- */

/* The changes of the sums of normals at the vertices. */
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

/* Adds the part of vertex v, with weight w and its change w_dot, to the change of the attributes. */
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
    const face_image *f = &r->face[face];
    static const double still[3] = {0, 0, 0};
    const double *eye = r->camera.pose.eye, *eye_dot = j->dot->camera ? j->dot->camera->eye : still;
    double at[2], w[3], rgb[3], x = 0, y = 0;
    dibr_attributes a_dot = {.uv = {0}};
    center_of(r, pixel, at);
    weights_of(f, at[0], at[1], w);
    const dibr_attributes a = attributes_of(r, face, w);
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
    neighbour list[DIBR_NEAREST];
    double at[2], A[DIBR_NEAREST], *out = j->out + DIBR_CHANNELS * pixel;
    int n;
    (void)tile;
    memset(out, 0, DIBR_CHANNELS * sizeof *out);
    if (r->shown[pixel] != NO_FACE) {
        shown_tangent(j, pixel, out);
        return;
    }
    center_of(r, pixel, at);
    find_faces(r, t, at[0], at[1], list, &n);
    for (int k = 0; k < n; k++) {
        A[k] = coverage(list[k].square);
    }
    for (int k = 0; k < n; k++) {
        const uint32_t *v = r->mesh.face + 3 * (size_t)t->item[list[k].place];
        double along = 0;
        for (int i = 0; i < 3; i++) {
            const double *q_dot = r->q_bar + 3 * (size_t)v[i];
            along += list[k].te[i] * (list[k].to[0] * q_dot[0] + list[k].to[1] * q_dot[1]);
        }
        out[3] += product_of_others(n, A, k) * -sharpness * A[k] * 2 * along;
    }
}

static void tangent_tile(void *context, int tile, int member)
{
    (void)member;
    visit_tile(context, tile, tangent_pixel);
}

/* q_bar and normal_bar serve as room for the changes. */
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
