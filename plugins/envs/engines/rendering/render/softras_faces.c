/* SPDX-License-Identifier: Apache-2.0 */
/* softras_faces.c - options of the soft rasterizer, and its faces in the image plane (see
 * softras_internal.h). */
#include "softras_internal.h"

#include <math.h>
#include <stdio.h>

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

void softras_faces(const softras_options *o, const render_mesh *m, const camera *c, const double *q,
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
