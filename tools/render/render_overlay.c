/* SPDX-License-Identifier: Apache-2.0 */
/* render_overlay.c - see render_overlay.h. */
#include "config.h"

#include "render/render_overlay.h"

#include <math.h>
#include <stdio.h>

#include "render/render.h"

#define AXIS_COLOR 0x555555
#define LINK_COLOR ds_color_hex(0x1f4e79, 0.75)

enum { MOST_PAIRS = 9 };

/* The axes x, y, z of one spacing of the floor's grid, as long as they look in the middle of the scene. They
 * stand in the lower left corner, where nothing else is. */
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

/* The body of marks that belong to the elements of target body t, or -1. */
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

/* Above the point or, with `below`, below it, so that a mark that has arrived leaves its target's number to
 * be read. */
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
    t = fmin(t, 1.2); /* numbers stand close together */
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
