/* SPDX-License-Identifier: Apache-2.0 */
/* softras_plain.c - soft rasterization exactly as its formulas read. The derivatives are those of the paper,
 * with the product over all other faces in each pixel. */
#include "softras_plain.h"

#include "common/exp.h"
#include "engines/rendering/render/softras_internal.h"
#include "engines/rendering/render/vec3.h"

#include <stdlib.h>
#include <string.h>

void image_halve(uint32_t size, uint32_t channels, const double *in, double *out)
{
    const size_t row = 2 * (size_t)size * channels;
    for (size_t r = 0; r < size; r++) {
        for (size_t c = 0; c < size; c++) {
            const double *a = in + 2 * r * row + 2 * c * channels;
            for (size_t k = 0; k < channels; k++) {
                out[(r * size + c) * channels + k] =
                    0.25 * ((a[k] + a[channels + k]) + (a[row + k] + a[row + channels + k]));
            }
        }
    }
}

void image_halve_adjoint(uint32_t size, uint32_t channels, const double *out_bar, double *in_bar)
{
    const size_t row = 2 * (size_t)size * channels;
    for (size_t r = 0; r < 2 * (size_t)size; r++) {
        for (size_t c = 0; c < 2 * (size_t)size; c++) {
            const double *g = out_bar + (r / 2 * size + c / 2) * channels;
            for (size_t k = 0; k < channels; k++) {
                in_bar[r * row + c * channels + k] = 0.25 * g[k];
            }
        }
    }
}

/* A face at a pixel. */
typedef struct sample {
    int active, inside, visible;
    /* barycentric coordinates; of the nearest boundary point; from the pixel to it */
    double w[3], te[3], to[2];
    double A, clipped[3], sum, z, zn;
    double weight; /* A exp((zn - largest zn) / gamma) */
} sample;

typedef struct plain {
    softras_options o;
    const render_mesh *m;
    const camera *c;
    const double *p, *color;
    double *q, *q_bar;
    sample *at; /* faces */
    softras_kind *kind;
} plain;

/* Rows k: (slope in x, slope in y, constant) of barycentric coordinate k. */
static void invert(const double *const v[3], double out[3][3])
{
    const double area =
        v[0][0] * (v[1][1] - v[2][1]) + v[1][0] * (v[2][1] - v[0][1]) + v[2][0] * (v[0][1] - v[1][1]);
    for (int k = 0; k < 3; k++) {
        const double *a = v[(k + 1) % 3], *b = v[(k + 2) % 3];
        out[k][0] = (a[1] - b[1]) / area;
        out[k][1] = (b[0] - a[0]) / area;
        out[k][2] = (a[0] * b[1] - b[0] * a[1]) / area;
    }
}

/* Finds the nearest point of the boundary; returns the squared distance. */
static double nearest(const double *const v[3], const double pixel[2], sample *s)
{
    double best = 1e300;
    for (int k = 0; k < 3; k++) {
        const double *a = v[k], *b = v[(k + 1) % 3];
        double e[2] = {b[0] - a[0], b[1] - a[1]}, square = e[0] * e[0] + e[1] * e[1];
        double t = square > 1e-300 ? ((pixel[0] - a[0]) * e[0] + (pixel[1] - a[1]) * e[1]) / square : 0;
        t = t < 0 ? 0 : t > 1 ? 1 : t;
        double x = a[0] + t * e[0] - pixel[0], y = a[1] + t * e[1] - pixel[1], d2 = x * x + y * y;
        if (d2 < best) {
            best = d2;
            s->to[0] = x;
            s->to[1] = y;
            s->te[k] = 1 - t;
            s->te[(k + 1) % 3] = t;
            s->te[(k + 2) % 3] = 0;
        }
    }
    return best;
}

static void depth(const plain *r, const double *const v[3], sample *s)
{
    double inverse = 0;
    s->sum = 0;
    for (int k = 0; k < 3; k++) {
        s->clipped[k] = s->w[k] < 0 ? 0 : s->w[k] > 1 ? 1 : s->w[k];
        s->sum += s->clipped[k];
        inverse += s->clipped[k] / v[k][2];
    }
    s->z = s->sum / inverse;
    s->zn = (r->c->far - s->z) / (r->c->far - r->c->near);
    s->visible = s->active && s->z >= r->c->near && s->z <= r->c->far;
}

static void corners(const plain *r, size_t face, const double *v[3])
{
    for (int k = 0; k < 3; k++) {
        v[k] = r->q + 3 * (size_t)r->m->face[3 * face + (size_t)k];
    }
}

static void look(const plain *r, size_t face, const double pixel[2], sample *s)
{
    const double *v[3];
    *s = (sample){.active = 0};
    if (r->kind[face] != SOFTRAS_DRAWN && r->kind[face] != SOFTRAS_LINE) {
        return;
    }
    corners(r, face, v);
    s->w[0] = 1;
    if (r->kind[face] == SOFTRAS_DRAWN) {
        double inverse[3][3];
        invert(v, inverse);
        for (int k = 0; k < 3; k++) {
            s->w[k] = inverse[k][0] * pixel[0] + inverse[k][1] * pixel[1] + inverse[k][2];
        }
    }
    const double scaled = nearest(v, pixel, s) / softras_sigma(&r->o);
    s->inside = s->w[0] > 0 && s->w[1] > 0 && s->w[2] > 0;
    s->active = s->inside || scaled < SOFTRAS_REACH;
    s->A = s->active ? 1 / (1 + exp_same(s->inside ? -scaled : scaled)) : 0;
    if (r->o.mode != SOFTRAS_ALPHA) {
        depth(r, v, s);
    }
}

/* Shades a pixel with all faces: alpha and colour. Returns alpha. */
static double shade(plain *r, const double pixel[2], double c[3], double *total)
{
    double product = 1, most = r->o.eps;
    for (size_t f = 0; f < r->m->faces; f++) {
        look(r, f, pixel, &r->at[f]);
        product *= 1 - r->at[f].A;
        most = r->at[f].visible && r->at[f].zn > most ? r->at[f].zn : most;
    }
    *total = exp_same((r->o.eps - most) / r->o.gamma);
    for (int k = 0; k < 3; k++) {
        c[k] = *total * r->o.background[k];
    }
    for (size_t f = 0; f < r->m->faces; f++) {
        sample *s = &r->at[f];
        s->weight = s->visible ? s->A * exp_same((s->zn - most) / r->o.gamma) : 0;
        *total += s->weight;
        if (s->visible) {
            vec3_add(c, s->weight, r->color + 3 * f);
        }
    }
    for (int k = 0; k < 3; k++) {
        c[k] /= *total;
    }
    return 1 - product;
}

/* The product of 1 - A over all faces but one. */
static double others(const plain *r, size_t face)
{
    double product = 1;
    for (size_t f = 0; f < r->m->faces; f++) {
        product *= f == face ? 1 : 1 - r->at[f].A;
    }
    return product;
}

static void add_xy(plain *r, size_t face, int k, double x, double y)
{
    double *to = r->q_bar + 3 * (size_t)r->m->face[3 * face + (size_t)k];
    to[0] += x;
    to[1] += y;
}

/* From the derivative by the depth of the face at the pixel. */
static void depth_bar(plain *r, size_t face, double gz)
{
    const sample *s = &r->at[face];
    const double *v[3];
    double wc[3], gn[3], gw[3], along = 0, inverse[3][3], x = 0, y = 0;
    corners(r, face, v);
    for (int k = 0; k < 3; k++) {
        wc[k] = s->clipped[k] / s->sum;
        gn[k] = -gz * s->z * s->z / v[k][2];
        along += gn[k] * wc[k];
        r->q_bar[3 * (size_t)r->m->face[3 * face + (size_t)k] + 2] +=
            gz * s->z * s->z * wc[k] / (v[k][2] * v[k][2]);
    }
    if (r->kind[face] != SOFTRAS_DRAWN) {
        return;
    }
    invert(v, inverse);
    for (int k = 0; k < 3; k++) {
        gw[k] = s->w[k] > 0 && s->w[k] < 1 ? (gn[k] - along) / s->sum : 0;
        x += gw[k] * inverse[k][0];
        y += gw[k] * inverse[k][1];
    }
    for (int k = 0; k < 3; k++) {
        add_xy(r, face, k, -s->w[k] * x, -s->w[k] * y);
    }
}

/* From the derivatives by colour and alpha of the pixel shaded last. */
static void shade_bar(plain *r, const double c[3], double total, const double gc[3], double ga,
                      double *color_bar)
{
    const double sigma = softras_sigma(&r->o), range = r->c->far - r->c->near;
    for (size_t f = 0; f < r->m->faces; f++) {
        const sample *s = &r->at[f];
        if (!s->active) {
            continue;
        }
        double g_A = ga * others(r, f);
        if (s->visible) {
            double omega = s->weight / total, difference[3];
            vec3_minus(r->color + 3 * f, c, difference);
            double more = omega * vec3_dot(gc, difference);
            g_A += s->A > 0 ? more / s->A : 0;
            depth_bar(r, f, -more / r->o.gamma / range);
            if (color_bar) {
                vec3_add(color_bar + 3 * f, omega, gc);
            }
        }
        double g = g_A * s->A * (1 - s->A) / sigma * (s->inside ? 2 : -2);
        for (int k = 0; k < 3; k++) {
            add_xy(r, f, k, g * s->te[k] * s->to[0], g * s->te[k] * s->to[1]);
        }
    }
}

static void channels(const plain *r, double alpha, const double c[3], double *out)
{
    if (r->o.mode == SOFTRAS_ALPHA) {
        out[0] = alpha;
        return;
    }
    for (int k = 0; k < 3; k++) {
        out[k] = r->o.mode == SOFTRAS_OVER ? alpha * c[k] + (1 - alpha) * r->o.background[k] : c[k];
    }
    out[3] = alpha;
}

static void channels_bar(const plain *r, double alpha, const double c[3], const double *g, double gc[3],
                         double *ga)
{
    const int over = r->o.mode == SOFTRAS_OVER;
    *ga = g[softras_channels(r->o.mode) - 1];
    for (int k = 0; k < 3 && r->o.mode != SOFTRAS_ALPHA; k++) {
        gc[k] = over ? alpha * g[k] : g[k];
        *ga += over ? g[k] * (c[k] - r->o.background[k]) : 0;
    }
}

/* All pixels of an image of the drawn size. */
static void all_pixels(plain *r, uint32_t size, double *image, const double *image_bar, double *color_bar)
{
    const size_t n = softras_channels(r->o.mode);
    for (size_t i = 0; i < (size_t)size * size; i++) {
        const double pixel[2] = {(2.0 * (double)(i % size) + 1 - size) / size,
                                 (size - 1 - 2.0 * (double)(i / size)) / size};
        double c[3] = {0}, gc[3] = {0}, ga, total, alpha = shade(r, pixel, c, &total);
        channels(r, alpha, c, image + n * i);
        if (image_bar) {
            channels_bar(r, alpha, c, image_bar + n * i, gc, &ga);
            shade_bar(r, c, total, gc, ga, color_bar);
        }
    }
}

static void count(plain *r, render_report *report)
{
    *report = (render_report){.drawn = 0};
    for (size_t f = 0; f < r->m->faces; f++) {
        const double *v[3];
        corners(r, f, v);
        r->kind[f] = softras_kind_of(r->c, r->m->face + 3 * f, r->q, r->color ? r->color + 3 * f : NULL);
        const render_box box = softras_box(&r->o, v);
        softras_count(r->kind[f], &box, report);
    }
}

/* At twice the size with antialiasing. */
static void draw(plain *r, double *work, double *work_bar, double *image, const double *image_bar,
                 const softras_bar *bar)
{
    const uint32_t size = softras_drawn_size(&r->o), n = softras_channels(r->o.mode);
    if (image_bar && r->o.antialias) {
        image_halve_adjoint(r->o.size, n, image_bar, work_bar);
        image_bar = work_bar;
    }
    all_pixels(r, size, work, image_bar, bar ? bar->color : NULL);
    if (image && r->o.antialias) {
        image_halve(r->o.size, n, work, image);
    } else if (image) {
        memcpy(image, work, (size_t)size * size * n * sizeof *image);
    }
    if (image_bar) {
        camera_project_adjoint(r->c, r->m->vertices, r->p, r->q_bar, bar->p, bar->camera);
    }
}

ds_status softras_plain(const softras_options *o, const render_mesh *m, const camera *c, const double *p,
                        const double *color, double *image, const double *image_bar, const softras_bar *bar,
                        render_report *report)
{
    char text[RENDER_TEXT];
    render_report own;
    if (softras_check(o, text) != 0 || render_mesh_check(m, text) != 0 || camera_check(c, text) != 0 ||
        (o->mode != SOFTRAS_ALPHA && !color)) {
        return DS_E_ARG;
    }
    const size_t size = softras_drawn_size(o), pixels = size * size * softras_channels(o->mode);
    plain r = {.o = *o, .m = m, .c = c, .p = p, .color = o->mode == SOFTRAS_ALPHA ? NULL : color};
    r.q = calloc(6 * (size_t)m->vertices + 1, sizeof *r.q);
    r.at = calloc(m->faces + (size_t)1, sizeof *r.at);
    r.kind = calloc(m->faces + (size_t)1, sizeof *r.kind);
    double *work = calloc(2 * pixels, sizeof *work);
    ds_status status = r.q && r.at && r.kind && work ? DS_OK : DS_E_NOMEM;
    if (status == DS_OK) {
        r.q_bar = r.q + 3 * (size_t)m->vertices;
        camera_project(c, m->vertices, p, r.q);
        count(&r, report ? report : &own);
        draw(&r, work, work + pixels, image, image_bar, bar);
    }
    free(r.q);
    free(r.at);
    free(r.kind);
    free(work);
    return status;
}
