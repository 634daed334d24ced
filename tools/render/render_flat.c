/* SPDX-License-Identifier: Apache-2.0 */
/* render_flat.c - drawing on a canvas: a frame of a flat (2-D) scene with axes; axes and numbers over other
 * scenes. */
#include "config.h"

#include "render/render_flat.h"

#include "plot/plot_axes.h"
#include "render/render.h"
#include "render/render_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM_LEFT = 48, ROOM_BOTTOM = 30, ROOM_TOP = 6, ROOM_RIGHT = 14 };

#define TICK_COLOR 0x666666
#define GRID_COLOR 0xededed
#define NO_COLOR ds_color_hex(0, 0)

/* Transform from the world to the canvas. */
typedef struct flat {
    ds_canvas *c;
    double scale;  /* pixels per metre */
    double x0, y0; /* canvas position of the world's origin */
    double text;   /* text size relative to the default */
    uint32_t background;
    ds_color fill;
    ds_color edge;
} flat;

static double px(const flat *f, double x)
{
    return f->x0 + f->scale * x;
}

static double py(const flat *f, double y)
{
    return f->y0 - f->scale * y;
}

static int usable(const double *p)
{
    return fabs(p[0]) < 1e12 && fabs(p[1]) < 1e12;
}

static int compare_xy(const void *a, const void *b)
{
    const double *p = a;
    const double *q = b;
    return p[0] < q[0] ? -1 : p[0] > q[0] ? 1 : p[1] < q[1] ? -1 : p[1] > q[1];
}

/* Convex hull of up to 8 points (Andrew's monotone chain), drawn filled. */
static void draw_hull(const flat *f, double p[][2], int n)
{
    double hull[18][2];
    int m = 0;
    qsort(p, (size_t)n, sizeof p[0], compare_xy);
    for (int pass = 0; pass < 2; pass++) {
        int start = m;
        for (int i = 0; i < n; i++) {
            const double *q = p[pass == 0 ? i : n - 1 - i];
            while (m >= start + 2 && (hull[m - 1][0] - hull[m - 2][0]) * (q[1] - hull[m - 2][1]) -
                                             (hull[m - 1][1] - hull[m - 2][1]) * (q[0] - hull[m - 2][0]) <=
                                         0) {
                m--;
            }
            hull[m][0] = q[0];
            hull[m][1] = q[1];
            m++;
        }
        m--;
    }
    ds_canvas_polygon(f->c, &hull[0][0], (size_t)(m > 0 ? m : 0), f->fill, f->edge, 1.2);
}

static void draw_disc(const flat *f, const double *p, double r)
{
    ds_canvas_circle(f->c, px(f, p[0]), py(f, p[1]), fmax(r * f->scale, 1.5), f->fill, f->edge, 1.2);
}

/* A stick with round ends centred at a pose, along `axis` (projected), with an outline. */
static void draw_stick(const flat *f, const double *p, vec3 axis, double length, double radius)
{
    double dx = length / 2 * (double)axis.x;
    double dy = length / 2 * (double)axis.y;
    double wide = fmax(2 * radius * f->scale, 2);
    double x0 = px(f, p[0] - dx);
    double y0 = py(f, p[1] - dy);
    double x1 = px(f, p[0] + dx);
    double y1 = py(f, p[1] + dy);
    if (f->edge.a >= 1) {
        ds_canvas_stick(f->c, x0, y0, x1, y1, f->edge, wide + 1.2);
    }
    ds_canvas_stick(f->c, x0, y0, x1, y1, f->fill, fmax(wide - 1.2, 1));
}

/* A box, or a cylinder seen from the side, as the hull of its corners. */
static void draw_block(const flat *f, const double *p, const vec3 axis[3], const double half[3])
{
    double corner[8][2];
    for (int k = 0; k < 8; k++) {
        double a = (k & 1) != 0 ? half[0] : -half[0];
        double b = (k & 2) != 0 ? half[1] : -half[1];
        double c = (k & 4) != 0 ? half[2] : -half[2];
        corner[k][0] = px(f, p[0] + a * (double)axis[0].x + b * (double)axis[1].x + c * (double)axis[2].x);
        corner[k][1] = py(f, p[1] + a * (double)axis[0].y + b * (double)axis[1].y + c * (double)axis[2].y);
    }
    draw_hull(f, corner, 8);
}

static void draw_rigid(const flat *f, const ds_snapshot_body *body, const double *data)
{
    const double *size = body->size;
    for (uint64_t i = 0; i < body->count; i++) {
        const double *p = data + 7 * i;
        vec3 axis[3];
        if (!usable(p) || !ds_axes_from_quaternion(p + 3, axis)) {
            continue;
        }
        int end_on = fabsf(axis[1].z) > 0.7f;
        if (body->shape == DS_BODY_SPHERE || (body->shape == DS_BODY_CYLINDER && end_on)) {
            draw_disc(f, p, size[0]);
        } else if (body->shape == DS_BODY_CAPSULE) {
            draw_stick(f, p, axis[1], size[1], size[0]);
        } else if (body->shape == DS_BODY_CYLINDER) {
            double half[3] = {size[0], size[1] / 2, size[0]};
            draw_block(f, p, axis, half);
        } else if (body->shape == DS_BODY_TORUS && end_on) {
            ds_canvas_circle(f->c, px(f, p[0]), py(f, p[1]), size[0] * f->scale, NO_COLOR, f->fill,
                             fmax(2 * size[1] * f->scale, 2));
        } else if (body->shape == DS_BODY_TORUS) {
            vec3 across = v3_unit(v3(axis[1].y, -axis[1].x, 0));
            draw_stick(f, p, across, 2 * size[0], size[1]);
        } else {
            draw_block(f, p, axis, size);
        }
    }
}

static void draw_points(const flat *f, const ds_snapshot_body *body, const double *data)
{
    enum { PIECE = 256 };
    double xy[2 * PIECE];
    size_t n = 0;
    double r = body->size[0] > 0 ? fmax(body->size[0] * f->scale, 1) : body->count > 2000 ? 1.5 : 3;
    for (uint64_t i = 0; i < body->count; i++) {
        if (usable(data + 3 * i)) {
            xy[2 * n] = px(f, data[3 * i]);
            xy[2 * n + 1] = py(f, data[3 * i + 1]);
            n++;
        }
        if (n == PIECE || i + 1 == body->count) {
            ds_canvas_dots(f->c, xy, n, r, f->fill);
            n = 0;
        }
    }
}

static void draw_indexed(const flat *f, const ds_snapshot_body *body, const double *data)
{
    uint64_t per = body->shape == DS_BODY_MESH ? 3 : 2;
    for (uint64_t i = 0; i + per <= body->index_count; i += per) {
        double xy[6];
        int good = 1;
        for (uint64_t k = 0; k < per; k++) {
            const double *p = data + 3 * (uint64_t)body->index[i + k];
            good &= usable(p);
            xy[2 * k] = px(f, p[0]);
            xy[2 * k + 1] = py(f, p[1]);
        }
        if (good && per == 3) {
            /* An outline in the same colour closes seams between neighbours. */
            ds_canvas_polygon(f->c, xy, 3, f->fill, f->fill, f->fill.a < 1 ? 0 : 0.7);
        } else if (good) {
            ds_canvas_stick(f->c, xy[0], xy[1], xy[2], xy[3], f->fill, fmax(body->size[0] * f->scale, 2));
        }
    }
}

static void draw_body(flat *f, const ds_snapshot *s, uint64_t k, uint64_t b, double opacity)
{
    const ds_snapshot_body *body = &s->body[b];
    const double *data = ds_snapshot_at(s, k, b);
    f->fill = ds_color_hex(ds_render_color(body->role, body->variety), opacity);
    f->edge = f->fill;
    f->edge.r *= 0.7;
    f->edge.g *= 0.7;
    f->edge.b *= 0.7;
    if (body->shape == DS_BODY_POINTS) {
        draw_points(f, body, data);
    } else if (body->width == 3) {
        draw_indexed(f, body, data);
    } else {
        draw_rigid(f, body, data);
    }
}

/* ---- traces ---- */

enum { TRACED = 4 /* trajectories of more bodies would hide the scene */ };

/* Draws the trajectory of the centre of rigid body i of `body` in the kept frames up to k, if it moves. */
static void draw_trace(const flat *f, const ds_snapshot *s, uint64_t k, uint64_t b, uint64_t i, double *xy)
{
    double moved = 0;
    size_t n = 0;
    for (uint64_t t = 0; t <= k; t++) {
        const double *p = ds_snapshot_at(s, t, b) + 7 * i;
        if (usable(p)) {
            xy[2 * n] = px(f, p[0]);
            xy[2 * n + 1] = py(f, p[1]);
            moved = fmax(moved, hypot(xy[2 * n] - xy[0], xy[2 * n + 1] - xy[1]));
            n++;
        }
    }
    if (moved > 3) {
        ds_color color = ds_color_hex(ds_render_color(s->body[b].role, s->body[b].variety), 0.6);
        ds_canvas_polyline(f->c, xy, n, color, 1.6, 0);
    }
}

static void draw_traces(const flat *f, const ds_snapshot *s, uint64_t k)
{
    double *xy = malloc(2 * (k + 1) * sizeof *xy);
    for (uint64_t b = 0; b < s->bodies && xy != NULL; b++) {
        const ds_snapshot_body *body = &s->body[b];
        int moves = body->role == DS_ROLE_MATERIAL || body->role == DS_ROLE_TOOL;
        for (uint64_t i = 0; moves && body->width == 7 && body->count <= TRACED && i < body->count; i++) {
            draw_trace(f, s, k, b, i, xy);
        }
    }
    free(xy);
}

static void draw_frame(const flat *f, const ds_snapshot *s, double x, double y, double w, double h)
{
    ds_scale sx = {DS_SCALE_LINEAR, (x - f->x0) / f->scale, (x + w - f->x0) / f->scale, 0, x, x + w};
    ds_scale sy = {DS_SCALE_LINEAR, (f->y0 - y - h) / f->scale, (f->y0 - y) / f->scale, 0, y + h, y};
    ds_tick ticks[DS_SCALE_MAX_TICKS];
    const ds_color grid = ds_color_on(f->background, GRID_COLOR, 1),
                   ticks_color = ds_color_on(f->background, TICK_COLOR, 1);
    if (isfinite(s->ground)) {
        double g = fmax(y, fmin(y + h, py(f, s->ground)));
        ds_canvas_rect(f->c, x, g, w, y + h - g, ds_color_on(f->background, 0xf1efec, 1), NO_COLOR, 0);
    }
    double t = f->text;
    size_t n = ds_scale_ticks(&sx, 5, ticks);
    for (size_t i = 0; i < n; i++) {
        double p = ds_scale_map(&sx, ticks[i].value);
        ds_canvas_line(f->c, p, y, p, y + h, grid, 1, 0);
        ds_canvas_text(f->c, p, y + h + 18 * t, 13 * t, DS_TEXT_CENTER, ticks_color, 0, ticks[i].label);
    }
    ds_canvas_text(f->c, x + w + 4, y + h + 18 * t, 13 * t, 0, ticks_color, 0, "m");
    n = ds_scale_ticks(&sy, 5, ticks);
    for (size_t i = 0; i < n; i++) {
        double p = ds_scale_map(&sy, ticks[i].value);
        ds_canvas_line(f->c, x, p, x + w, p, grid, 1, 0);
        ds_canvas_text(f->c, x - 7 * t, p + 4.5 * t, 13 * t, DS_TEXT_RIGHT, ticks_color, 0, ticks[i].label);
    }
    if (isfinite(s->ground)) {
        double g = py(f, s->ground);
        if (g > y && g < y + h) {
            ds_canvas_line(f->c, x, g, x + w, g, ds_color_on(f->background, 0x8f877c, 1), 1.5, 0);
        }
    }
}

void ds_flat_draw(ds_canvas *c, const ds_snapshot *s, uint64_t k, uint32_t what, const ds_render_eye *eye,
                  double x, double y, double w, double h, double text)
{
    flat f = {.c = c, .text = text, .background = eye != NULL ? eye->background : 0xffffff};
    x += ROOM_LEFT * text;
    y += ROOM_TOP;
    w -= (ROOM_LEFT + ROOM_RIGHT) * text;
    h -= ROOM_TOP + ROOM_BOTTOM * text;
    /* A box without height or width still needs an area around it. */
    double wide = s->box[3] - s->box[0];
    double tall = s->box[4] - s->box[1];
    double thin = fmax(fmax(wide, tall), s->box[5] - s->box[2]) * 0.02;
    f.scale = fmin(w / fmax(wide, thin), h / fmax(tall, thin)) * 0.97 * (eye != NULL ? eye->zoom : 1);
    f.x0 = x + w / 2 - f.scale * (s->box[0] + wide / 2);
    f.y0 = y + h / 2 + f.scale * (s->box[1] + tall / 2);
    draw_frame(&f, s, x, y, w, h);
    static const uint32_t order[4] = {DS_ROLE_FIXED, DS_ROLE_TARGET, DS_ROLE_MATERIAL, DS_ROLE_TOOL};
    ds_canvas_clip(c, x, y, w, h);
    for (int pass = 0; pass < 4; pass++) {
        if (pass == 2 && (what & DS_RENDER_TRACE) != 0) { /* below moving bodies */
            draw_traces(&f, s, k);
        }
        uint32_t role = order[pass];
        for (uint64_t b = 0; b < s->bodies; b++) {
            if (s->body[b].role != role) {
                continue;
            }
            if (role == DS_ROLE_TARGET) {
                if ((what & (DS_RENDER_TARGET | DS_RENDER_GHOST)) != 0) {
                    draw_body(&f, s, 0, b, (what & DS_RENDER_TARGET) != 0 ? 1 : 0.35);
                }
            } else if (role == DS_ROLE_FIXED || (what & DS_RENDER_SCENE) != 0) {
                draw_body(&f, s, k, b, 1);
            }
        }
    }
    ds_canvas_unclip(c);
    ds_canvas_rect(c, x, y, w, h, NO_COLOR, ds_color_on(f.background, 0xb5b5b5, 1), 1);
}

/* ---- text over scenes that are not flat ---- */

#define AXIS_COLOR 0x555555
#define LINK_COLOR ds_color_hex(0x1f4e79, 0.75)

enum { MOST_PAIRS = 9 };

/* Draws the axes x, y, z with the length of one grid spacing in the middle of the scene, in the lower left
 * corner. */
static void draw_axes(ds_canvas *c, const ds_snapshot *s, const ds_render_eye *eye, double x, double y, int w,
                      int h, double t)
{
    static const char *const names[3] = {"x", "y", "z"};
    const ds_color color = ds_color_on(eye != NULL ? eye->background : 0xffffff, AXIS_COLOR, 1);
    double spacing = ds_render_spacing(s), middle[3], at[2], tip[3][2], low = 0, left = 0;
    for (int k = 0; k < 3; k++) {
        middle[k] = s->box[k] + (s->box[3 + k] - s->box[k]) / 2;
    }
    if (!ds_render_project(s, eye, w, h, middle, at)) {
        return;
    }
    for (int k = 0; k < 3; k++) {
        double end[3] = {middle[0], middle[1], middle[2]};
        end[k] += spacing;
        if (!ds_render_project(s, eye, w, h, end, tip[k])) {
            return;
        }
        tip[k][0] -= at[0];
        tip[k][1] -= at[1];
        low = fmax(low, tip[k][1]);
        left = fmax(left, -tip[k][0]);
    }
    double x0 = x + 24 * t + left, y0 = y + h - 40 * t - low;
    for (int k = 0; k < 3; k++) {
        double length = hypot(tip[k][0], tip[k][1]), out = length > 0 ? 1 + 9 * t / length : 1;
        ds_canvas_line(c, x0, y0, x0 + tip[k][0], y0 + tip[k][1], color, 1.6 * t, 0);
        ds_canvas_text(c, x0 + out * tip[k][0], y0 + out * tip[k][1] + 4 * t, 13 * t, DS_TEXT_CENTER, color,
                       0, names[k]);
    }
    char number[48], text[64];
    ds_label_number(number, sizeof number, spacing, 3);
    snprintf(text, sizeof text, "each %s m", number);
    ds_canvas_text(c, x + 12, y + h - 8 * t, 13 * t, 0, color, 0, text);
}

/* The body whose elements are the marks of the elements of target body t, or -1. */
static int64_t marks_of(const ds_snapshot *s, uint64_t t)
{
    const ds_snapshot_body *target = &s->body[t];
    if (target->role != DS_ROLE_TARGET || target->width != 7 || target->count < 2 ||
        target->count > MOST_PAIRS) {
        return -1;
    }
    for (uint64_t b = 0; b < s->bodies; b++) {
        const ds_snapshot_body *body = &s->body[b];
        if (body->role == DS_ROLE_MATERIAL && body->width == 7 && body->count == target->count) {
            return (int64_t)b;
        }
    }
    return -1;
}

int ds_overlay_has_pairs(const ds_snapshot *s)
{
    for (uint64_t t = 0; t < s->bodies; t++) {
        if (!s->flat && marks_of(s, t) >= 0) {
            return 1;
        }
    }
    return 0;
}

/* Writes a number above the point, or below it, so that a mark that reached its target does not cover the
 * target's number. */
static void draw_number(ds_canvas *c, const double *at, uint64_t number, ds_color color, int below, double t)
{
    char text[24];
    double y = at[1] + (below ? 17 : -17) * t;
    snprintf(text, sizeof text, "%d", (int)number);
    ds_canvas_circle(c, at[0], y, 9.5 * t, ds_color_hex(0xffffff, 0.85), color, 1.2 * t);
    ds_canvas_text(c, at[0], y + 5 * t, 14 * t, DS_TEXT_CENTER | DS_TEXT_BOLD, color, 0, text);
}

static void draw_pairs(ds_canvas *c, const ds_snapshot *s, uint64_t k, uint64_t target,
                       const ds_render_eye *eye, double x, double y, int w, int h, double t)
{
    int64_t marks = marks_of(s, target);
    t = fmin(t, 1.2); /* numbers are close together */
    for (uint64_t i = 0; marks >= 0 && i < s->body[target].count; i++) {
        const double *goal = ds_snapshot_at(s, 0, target) + 7 * i,
                     *mark = ds_snapshot_at(s, k, (uint64_t)marks) + 7 * i;
        uint32_t rgb = ds_render_color(DS_ROLE_MATERIAL, s->body[marks].variety);
        double from[2], to[2];
        if (ds_render_project(s, eye, w, h, mark, from) && ds_render_project(s, eye, w, h, goal, to)) {
            for (int d = 0; d < 2; d++) {
                from[d] += d ? y : x;
                to[d] += d ? y : x;
            }
            ds_canvas_line(c, from[0], from[1], to[0], to[1], LINK_COLOR, 1.3 * t, 4);
            draw_number(c, to, i + 1, LINK_COLOR, 1, t);
            draw_number(c, from, i + 1, ds_color_hex((rgb & 0xfefefe) >> 1, 1), 0, t);
        }
    }
}

void ds_overlay_draw(ds_canvas *c, const ds_snapshot *s, uint64_t k, uint32_t what, const ds_render_eye *eye,
                     double x, double y, int w, int h, double text)
{
    draw_axes(c, s, eye, x, y, w, h, text);
    for (uint64_t b = 0; b < s->bodies && (what & DS_RENDER_GHOST) != 0; b++) {
        draw_pairs(c, s, k, b, eye, x, y, w, h, text);
    }
}
