/* SPDX-License-Identifier: Apache-2.0 */
/* softras.c - soft rasterization: options, faces in the image plane, tiles drawn by several threads, and
 * derivatives from tiles over faces to vertices and camera. */
#include "engines/rendering/render/softras.h"

#include "engines/kit/team.h"
#include "engines/rendering/render/image.h"
#include "engines/rendering/render/softras_internal.h"
#include "engines/rendering/render/vec3.h"

#include <diffsim/helper/memory.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options and faces ---- */

softras_options softras_defaults(softras_mode mode, uint32_t size)
{
    return (softras_options){
        .mode = mode, .size = size, .sigma_scale = 1, .gamma = 1e-4, .eps = 1e-3, .threads = 1};
}

uint32_t softras_channels(softras_mode mode)
{
    return mode == SOFTRAS_ALPHA ? 1 : 4;
}

double softras_sigma(const softras_options *o)
{
    return o->sigma_scale * 1e-5 * (256.0 / o->size) * (256.0 / o->size);
}

uint32_t softras_drawn_size(const softras_options *o)
{
    return o->antialias ? 2 * o->size : o->size;
}

static int positive(double v)
{
    return v > 0 && isfinite(v);
}

int softras_check(const softras_options *o, char text[RENDER_TEXT])
{
    const char *what = NULL;
    if (o->mode != SOFTRAS_ALPHA && o->mode != SOFTRAS_OVER && o->mode != SOFTRAS_RGBA) {
        what = "unknown mode";
    } else if (!positive(o->sigma_scale) || o->sigma_scale > 1e6 || !positive(softras_sigma(o))) {
        what = "sigma_scale must be above 0 and at most 1e6";
    } else if (!positive(o->gamma) || !isfinite(1 / o->gamma) || !isfinite(o->eps)) {
        what = "gamma must be above 0 and eps finite";
    } else if (!isfinite(o->background[0]) || !isfinite(o->background[1]) || !isfinite(o->background[2])) {
        what = "the background must be finite";
    } else if (o->threads < 1 || o->threads > RENDER_MAX_THREADS) {
        what = "threads must be 1 to 256";
    } else if (render_kernels_find(o->isa) == NULL) {
        what = "unknown instruction set";
    }
    if (what) {
        snprintf(text, RENDER_TEXT, "image: %s", what);
        return 1;
    }
    if (o->size < RENDER_MIN_SIZE || softras_drawn_size(o) > RENDER_MAX_SIZE) {
        snprintf(text, RENDER_TEXT, "image: %u pixels per side; allowed are %d to %d%s", o->size,
                 (int)RENDER_MIN_SIZE, RENDER_MAX_SIZE / (o->antialias ? 2 : 1),
                 o->antialias ? " with antialiasing" : "");
        return 1;
    }
    return 0;
}

static int drawable(const double q[3])
{
    return fabs(q[0]) <= 1e8 && fabs(q[1]) <= 1e8; /* false for NaN */
}

static double area_of(const double *a, const double *b, const double *c)
{
    return (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]);
}

softras_kind softras_kind_of(const camera *c, const uint32_t v[3], const double *q, const double *color)
{
    const double *at[3] = {q + 3 * (size_t)v[0], q + 3 * (size_t)v[1], q + 3 * (size_t)v[2]};
    for (int k = 0; k < 3; k++) {
        if (!isfinite(at[k][2]) || (color && !isfinite(color[k]))) {
            return SOFTRAS_BROKEN;
        }
    }
    for (int k = 0; k < 3; k++) {
        if (at[k][2] < c->near) {
            return SOFTRAS_BEHIND;
        }
        if (!drawable(at[k])) {
            return SOFTRAS_BROKEN;
        }
    }
    return fabs(area_of(at[0], at[1], at[2])) > SOFTRAS_FLAT ? SOFTRAS_DRAWN : SOFTRAS_LINE;
}

static double least_of(double a, double b, double c)
{
    return fmin(a, fmin(b, c));
}

static double most_of(double a, double b, double c)
{
    return fmax(a, fmax(b, c));
}

/* Corners, edges and slopes. */
static void place(const double *const at[3], int has_area, softras_face *f)
{
    const double area = has_area ? area_of(at[0], at[1], at[2]) : 1;
    f->x = at[0][0];
    f->y = at[0][1];
    for (int k = 0; k < 3; k++) {
        const double *next = at[k < 2 ? k + 1 : 0];
        double x = next[0] - at[k][0], y = next[1] - at[k][1], square = x * x + y * y;
        f->edge_x[k] = x;
        f->edge_y[k] = y;
        f->per_square[k] = square > 1e-300 ? 1 / square : 0;
        f->inverse_z[k] = 1 / at[k][2];
    }
    f->slope_x[0] = has_area ? -f->edge_y[2] / area : 0;
    f->slope_y[0] = has_area ? f->edge_x[2] / area : 0;
    f->slope_x[1] = has_area ? -f->edge_y[0] / area : 0;
    f->slope_y[1] = has_area ? f->edge_x[0] / area : 0;
}

render_box softras_box(const softras_options *o, const double *const at[3])
{
    const double margin = sqrt(SOFTRAS_REACH * softras_sigma(o)) * (1 + 1e-9);
    const double x[2] = {least_of(at[0][0], at[1][0], at[2][0]) - margin,
                         most_of(at[0][0], at[1][0], at[2][0]) + margin};
    const double y[2] = {least_of(at[0][1], at[1][1], at[2][1]) - margin,
                         most_of(at[0][1], at[1][1], at[2][1]) + margin};
    return bins_box(softras_drawn_size(o), x, y);
}

void softras_count(softras_kind kind, const render_box *box, render_report *report)
{
    const int seen = kind == SOFTRAS_DRAWN || kind == SOFTRAS_LINE, outside = seen && bins_empty(box);
    report->behind += kind == SOFTRAS_BEHIND;
    report->broken += kind == SOFTRAS_BROKEN;
    report->outside += (uint32_t)outside;
    report->drawn += (uint32_t)(seen && !outside);
    report->flat += (uint32_t)(kind == SOFTRAS_LINE && !outside);
}

/* The faces for the kernels, from the images of the vertices; skipped faces have an empty box. */
static void faces_of(const softras_options *o, const render_mesh *m, const camera *c, const double *q,
                     const double *color, softras_face *face, render_report *report)
{
    *report = (render_report){.drawn = 0};
    for (size_t i = 0; i < m->faces; i++) {
        const uint32_t *v = m->face + 3 * i;
        const double *const at[3] = {q + 3 * (size_t)v[0], q + 3 * (size_t)v[1], q + 3 * (size_t)v[2]};
        const softras_kind kind = softras_kind_of(c, v, q, color ? color + 3 * i : NULL);
        softras_face *f = &face[i];
        *f = (softras_face){.box = {.column = {1, 0}}};
        if (kind == SOFTRAS_DRAWN || kind == SOFTRAS_LINE) {
            place(at, kind == SOFTRAS_DRAWN, f);
            f->box = softras_box(o, at);
            for (int k = 0; k < 3; k++) {
                f->color[k] = color ? color[3 * i + (size_t)k] : 0;
            }
        }
        softras_count(kind, &f->box, report);
    }
}

enum { MOST_CHANNELS = 4 };

struct softras {
    softras_options o;
    render_mesh mesh; /* a copy */
    const render_kernels *kernels;
    kit_team *team;
    ds_memory memory;
    size_t bytes; /* of `memory` */
    render_bins bins;
    softras_face *face;
    softras_face_dot *dot;
    softras_face_bar *pair; /* per face and tile, in the order of bins.item */
    size_t pairs;           /* capacity */
    /* the last image */
    int drawn;
    camera camera;
    double *p, *q, *q_bar; /* vertices x 3 */
    softras_pixels pixels; /* tiles x TILE_PIXELS */
    softras_law law;
};

/* The work of the threads. */
typedef struct job {
    softras *r;
    const double *in; /* image_bar */
    double *out;      /* image or image_dot */
} job;

/* ---- channels ---- */

/* The channels of one pixel. */
static void channels_of(const softras_options *o, double alpha, const double c[3], double out[MOST_CHANNELS])
{
    if (o->mode == SOFTRAS_ALPHA) {
        out[0] = alpha;
        return;
    }
    for (int k = 0; k < 3; k++) {
        out[k] = o->mode == SOFTRAS_OVER ? alpha * c[k] + (1 - alpha) * o->background[k] : c[k];
    }
    out[3] = alpha;
}

/* From the derivatives by the channels to the derivatives by the colour; returns the derivative by alpha. */
static double channels_adjoint(const softras_options *o, double alpha, const double c[3],
                               const double g[MOST_CHANNELS], double c_bar[3])
{
    if (o->mode == SOFTRAS_ALPHA) {
        return g[0];
    }
    double alpha_bar = g[3];
    for (int k = 0; k < 3; k++) {
        c_bar[k] = o->mode == SOFTRAS_OVER ? alpha * g[k] : g[k];
        alpha_bar += o->mode == SOFTRAS_OVER ? g[k] * (c[k] - o->background[k]) : 0;
    }
    return alpha_bar;
}

static void channels_tangent(const softras_options *o, double alpha, const double c[3], double alpha_dot,
                             const double c_dot[3], double out[MOST_CHANNELS])
{
    if (o->mode == SOFTRAS_ALPHA) {
        out[0] = alpha_dot;
        return;
    }
    for (int k = 0; k < 3; k++) {
        out[k] =
            o->mode == SOFTRAS_OVER ? alpha * c_dot[k] + alpha_dot * (c[k] - o->background[k]) : c_dot[k];
    }
    out[3] = alpha_dot;
}

static void color_at(const softras *r, size_t i, double c[3])
{
    for (int k = 0; k < 3; k++) {
        c[k] = r->law.color ? r->pixels.color[k][i] : 0;
    }
}

/* ---- between tiles and images ---- */

/* Pixels of a tile that belong to the image. */
typedef struct extent {
    size_t row, column, rows, columns;
} extent;

static extent extent_of(const softras *r, const render_tile *t)
{
    const uint32_t down = r->bins.size - t->row, across = r->bins.size - t->column;
    return (extent){t->row, t->column, down < TILE_ROWS ? down : TILE_ROWS,
                    across < TILE_COLUMNS ? across : TILE_COLUMNS};
}

/* Writes a tile of pixels [TILE_PIXELS][channels] to an image; with antialiasing, means of 2 x 2 pixels. */
static void write_tile(const softras *r, const render_tile *t, double (*pixel)[MOST_CHANNELS], double *image)
{
    const size_t channels = softras_channels(r->o.mode), size = r->o.size;
    const extent e = extent_of(r, t);
    const size_t step = r->o.antialias ? 2 : 1;
    for (size_t row = 0; row < e.rows; row += step) {
        for (size_t column = 0; column < e.columns; column += step) {
            double *to = image + ((e.row + row) / step * size + (e.column + column) / step) * channels;
            double(*a)[MOST_CHANNELS] = pixel + row * TILE_COLUMNS + column,
            (*b)[MOST_CHANNELS] = a + TILE_COLUMNS;
            for (size_t k = 0; k < channels; k++) {
                to[k] = r->o.antialias ? 0.25 * ((a[0][k] + a[1][k]) + (b[0][k] + b[1][k])) : a[0][k];
            }
        }
    }
}

/* The derivatives by the channels of one drawn pixel. */
static void read_bar(const softras *r, size_t row, size_t column, const double *image_bar,
                     double g[MOST_CHANNELS])
{
    const size_t channels = softras_channels(r->o.mode), step = r->o.antialias ? 2 : 1;
    const double *from = image_bar + (row / step * r->o.size + column / step) * channels;
    for (size_t k = 0; k < channels; k++) {
        g[k] = r->o.antialias ? 0.25 * from[k] : from[k];
    }
}

/* The arrays of one tile. */
static softras_pixels pixels_of(const softras *r, int tile)
{
    const size_t at = (size_t)tile * TILE_PIXELS;
    softras_pixels p = {.product = r->pixels.product + at};
    if (r->law.color) {
        p.nearest = r->pixels.nearest + at;
        p.weight = r->pixels.weight + at;
        for (int k = 0; k < 3; k++) {
            p.color[k] = r->pixels.color[k] + at;
        }
    }
    return p;
}

/* ---- set-up ---- */

static void *take(softras *r, size_t count, size_t size)
{
    r->bytes += count * size;
    return ds_memory_take(&r->memory, count, size);
}

static void take_pixels(softras *r)
{
    const size_t n = (size_t)r->bins.tiles * TILE_PIXELS;
    r->pixels.product = take(r, n, sizeof(double));
    if (r->o.mode != SOFTRAS_ALPHA) {
        r->pixels.nearest = take(r, n, sizeof(double));
        r->pixels.weight = take(r, n, sizeof(double));
        for (int k = 0; k < 3; k++) {
            r->pixels.color[k] = take(r, n, sizeof(double));
        }
    }
}

static int open_arrays(softras *r, const render_mesh *m)
{
    const size_t faces = m->faces, vertices = m->vertices;
    uint32_t *face = take(r, 3 * faces + 1, sizeof *face);
    r->mesh = (render_mesh){m->vertices, m->faces, face};
    r->face = take(r, faces + 1, sizeof *r->face);
    r->dot = take(r, faces + 1, sizeof *r->dot);
    r->p = take(r, 3 * vertices + 1, sizeof *r->p);
    r->q = take(r, 3 * vertices + 1, sizeof *r->q);
    r->q_bar = take(r, 3 * vertices + 1, sizeof *r->q_bar);
    int bins = bins_open(&r->bins, softras_drawn_size(&r->o));
    if (bins) {
        take_pixels(r);
    }
    r->team = kit_team_create(r->o.threads);
    if (!bins || !r->team || r->memory.failed) {
        return 0;
    }
    if (faces > 0) {
        memcpy(face, m->face, 3 * faces * sizeof *face);
    }
    return 1;
}

softras *softras_create(const softras_options *o, const render_mesh *m, ds_status *status,
                        char text[RENDER_TEXT])
{
    *status = DS_E_ARG;
    text[0] = '\0';
    if (softras_check(o, text) != 0 || render_mesh_check(m, text) != 0) {
        return NULL;
    }
    softras *r = calloc(1, sizeof *r);
    if (r) {
        r->o = *o;
        r->kernels = render_kernels_find(o->isa);
    }
    if (!r || !open_arrays(r, m)) {
        softras_destroy(r);
        memcpy(text, "image: out of memory", sizeof "image: out of memory");
        *status = DS_E_NOMEM;
        return NULL;
    }
    *status = DS_OK;
    return r;
}

void softras_destroy(softras *r)
{
    if (r) {
        kit_team_destroy(r->team);
        bins_close(&r->bins);
        ds_memory_free(&r->memory);
        free(r->pair);
        free(r);
    }
}

size_t softras_memory(const softras *r)
{
    return sizeof *r + r->bytes + bins_memory(&r->bins) + r->pairs * sizeof *r->pair;
}

/* ---- image ---- */

static void begin_tile(const softras *r, const softras_pixels *at)
{
    for (size_t i = 0; i < TILE_PIXELS; i++) {
        at->product[i] = 1;
    }
    for (size_t i = 0; r->law.color && i < TILE_PIXELS; i++) {
        at->nearest[i] = r->o.eps;
        at->weight[i] = 1;
        for (int k = 0; k < 3; k++) {
            at->color[k][i] = r->o.background[k];
        }
    }
}

static void finish_tile(const softras *r, const softras_pixels *at)
{
    for (size_t i = 0; r->law.color && i < TILE_PIXELS; i++) {
        at->weight[i] = 1 / at->weight[i];
        for (int k = 0; k < 3; k++) {
            at->color[k][i] *= at->weight[i];
        }
    }
}

static void draw_tile(void *context, int tile, int member)
{
    const job *j = context;
    const softras *r = j->r;
    const render_tile t = bins_tile(&r->bins, (uint32_t)tile);
    const softras_pixels at = pixels_of(r, tile);
    double pixel[TILE_PIXELS][MOST_CHANNELS];
    (void)member;
    begin_tile(r, &at);
    r->kernels->softras_draw(&r->law, r->face, &t, &at);
    finish_tile(r, &at);
    for (size_t i = 0; i < TILE_PIXELS; i++) {
        double c[3];
        color_at(r, (size_t)tile * TILE_PIXELS + i, c);
        channels_of(&r->o, 1 - at.product[i], c, pixel[i]);
    }
    write_tile(r, &t, pixel, j->out);
}

static softras_law law_of(const softras_options *o, const camera *c)
{
    return (softras_law){.per_sigma = 1 / softras_sigma(o),
                         .near = c->near,
                         .far = c->far,
                         .per_range = 1 / (c->far - c->near),
                         .per_gamma = 1 / o->gamma,
                         .color = o->mode != SOFTRAS_ALPHA};
}

ds_status softras_draw(softras *r, const camera *c, const double *p, const double *color, double *image,
                       render_report *report)
{
    char text[RENDER_TEXT];
    render_report own;
    r->drawn = 0;
    if (camera_check(c, text) != 0 || (r->o.mode != SOFTRAS_ALPHA && !color)) {
        return DS_E_ARG;
    }
    r->camera = *c;
    r->law = law_of(&r->o, c);
    memcpy(r->p, p, 3 * (size_t)r->mesh.vertices * sizeof *p);
    camera_project(c, r->mesh.vertices, p, r->q);
    faces_of(&r->o, &r->mesh, c, r->q, r->law.color ? color : NULL, r->face, report ? report : &own);
    if (!bins_fill(&r->bins, r->mesh.faces, &r->face->box, sizeof *r->face)) {
        return DS_E_NOMEM;
    }
    kit_team_run(r->team, draw_tile, &(job){.r = r, .out = image}, (int)r->bins.tiles);
    r->drawn = 1;
    return DS_OK;
}

/* ---- derivatives ---- */

static void read_tile_bar(const softras *r, const render_tile *t, int tile, const double *image_bar,
                          softras_pixels_bar *g)
{
    const extent e = extent_of(r, t);
    memset(g, 0, sizeof *g);
    for (size_t row = 0; row < e.rows; row++) {
        for (size_t column = 0; column < e.columns; column++) {
            const size_t i = row * TILE_COLUMNS + column, at = (size_t)tile * TILE_PIXELS + i;
            const double product = r->pixels.product[at];
            double in[MOST_CHANNELS], c[3], c_bar[3] = {0};
            read_bar(r, e.row + row, e.column + column, image_bar, in);
            color_at(r, at, c);
            g->alpha[i] = channels_adjoint(&r->o, 1 - product, c, in, c_bar) * product;
            for (int k = 0; k < 3; k++) {
                g->color[k][i] = c_bar[k];
            }
            g->dot[i] = vec3_dot(c_bar, c);
        }
    }
}

static void adjoint_tile(void *context, int tile, int member)
{
    const job *j = context;
    const softras *r = j->r;
    const render_tile t = bins_tile(&r->bins, (uint32_t)tile);
    (void)member;
    if (t.items > 0) {
        const softras_pixels at = pixels_of(r, tile);
        softras_pixels_bar g;
        read_tile_bar(r, &t, tile, j->in, &g);
        r->kernels->softras_adjoint(&r->law, r->face, &t, &at, &g, r->pair + r->bins.start[tile]);
    }
}

static int make_pairs(softras *r)
{
    r->pair = bins_pairs(&r->bins, r->pair, &r->pairs, sizeof *r->pair);
    return bins_fit(&r->bins, r->pairs);
}

/* Adds the results of the tiles, tile by tile and face by face. */
static void collect(softras *r, double *color_bar)
{
    const size_t pairs = r->bins.start[r->bins.tiles];
    memset(r->q_bar, 0, 3 * (size_t)r->mesh.vertices * sizeof *r->q_bar);
    for (size_t i = 0; i < pairs; i++) {
        const uint32_t face = r->bins.item[i], *v = r->mesh.face + 3 * (size_t)face;
        const softras_face *f = &r->face[face];
        const softras_face_bar *g = &r->pair[i];
        for (int k = 0; k < 3; k++) {
            double *to = r->q_bar + 3 * (size_t)v[k];
            to[0] += g->x[k];
            to[1] += g->y[k];
            to[2] += g->z[k] * f->inverse_z[k] * f->inverse_z[k];
        }
        if (color_bar) {
            vec3_add(color_bar + 3 * (size_t)face, 1, g->color);
        }
    }
}

ds_status softras_adjoint(softras *r, const double *image_bar, const softras_bar *bar)
{
    if (!r->drawn) {
        return DS_E_STATE;
    }
    if (!make_pairs(r)) {
        return DS_E_NOMEM;
    }
    kit_team_run(r->team, adjoint_tile, &(job){.r = r, .in = image_bar}, (int)r->bins.tiles);
    collect(r, r->law.color ? bar->color : NULL);
    camera_project_adjoint(&r->camera, r->mesh.vertices, r->p, r->q_bar, bar->p, bar->camera);
    return DS_OK;
}

/* ---- change along a direction ---- */

static void tangent_tile(void *context, int tile, int member)
{
    const job *j = context;
    const softras *r = j->r;
    const render_tile t = bins_tile(&r->bins, (uint32_t)tile);
    const softras_pixels at = pixels_of(r, tile);
    softras_pixels_dot d;
    double pixel[TILE_PIXELS][MOST_CHANNELS];
    (void)member;
    memset(&d, 0, sizeof d);
    r->kernels->softras_tangent(&r->law, r->face, r->dot, &t, &at, &d);
    for (size_t i = 0; i < TILE_PIXELS; i++) {
        double c[3], c_dot[3] = {d.color[0][i], d.color[1][i], d.color[2][i]};
        color_at(r, (size_t)tile * TILE_PIXELS + i, c);
        channels_tangent(&r->o, 1 - at.product[i], c, at.product[i] * d.alpha[i], c_dot, pixel[i]);
    }
    write_tile(r, &t, pixel, j->out);
}

/* Change of the faces, from the change of the vertices in the image. */
static void face_dots(softras *r, const double *q_dot, const double *color_dot)
{
    for (size_t i = 0; i < r->mesh.faces; i++) {
        const uint32_t *v = r->mesh.face + 3 * i;
        softras_face_dot *d = &r->dot[i];
        for (int k = 0; k < 3; k++) {
            const double *at = q_dot + 3 * (size_t)v[k], inverse = r->face[i].inverse_z[k];
            d->x[k] = at[0];
            d->y[k] = at[1];
            d->z[k] = at[2] * inverse * inverse;
            d->color[k] = color_dot ? color_dot[3 * i + (size_t)k] : 0;
        }
    }
}

ds_status softras_tangent(softras *r, const softras_dot *dot, double *image_dot)
{
    if (!r->drawn) {
        return DS_E_STATE;
    }
    camera_project_tangent(&r->camera, r->mesh.vertices, r->p, dot->p, dot->camera, r->q_bar);
    face_dots(r, r->q_bar, r->law.color ? dot->color : NULL);
    kit_team_run(r->team, tangent_tile, &(job){.r = r, .out = image_dot}, (int)r->bins.tiles);
    return DS_OK;
}
