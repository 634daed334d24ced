/* SPDX-License-Identifier: Apache-2.0 */
/* picture.c - the image of an episode: start, middle, end and target side by side (see picture.h). */
#include "config.h"

#include "render/picture.h"

#include "plot/canvas.h"
#include "render/render.h"
#include "render/render_flat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARGIN = 36,
    GAP = 16,
    HEADER = 104,
    LINE = 26,
    LABEL = 34,
    PANEL_WIDTH = 560,
    PANEL_HEIGHT = 470,
    FLAT_HEIGHT = 560,
    BOTTOM = 26,
    MAX_PANELS = 4
};

#define TEXT_COLOR ds_color_hex(0x222222, 1)
#define SOFT_COLOR ds_color_hex(0x666666, 1)
#define FRAME_COLOR ds_color_hex(0xdddddd, 1)

typedef struct panel {
    char label[64];
    char detail[128];
    uint64_t k;    /* kept frame */
    uint32_t what; /* DS_RENDER_* */
} panel;

static void name_frame(panel *p, const char *label, const ds_snapshot *s, uint64_t k)
{
    snprintf(p->label, sizeof p->label, "%s", label);
    p->k = k;
    if (s->dt > 0 && s->frame[k] > 0) {
        char number[48];
        ds_label_number(number, sizeof number, (double)s->frame[k] * s->dt, 4);
        snprintf(p->detail, sizeof p->detail, "%s s", number);
    }
}

/* Notes in the last panel that the episode's own rules ended it early. */
static void name_early_end(panel *p, const ds_snapshot *s, uint64_t frames)
{
    char number[48];
    if (s->dt > 0 && frames > s->frames && s->frame[p->k] + 1 == s->frames) {
        size_t n = strlen(p->detail);
        ds_label_number(number, sizeof number, (double)(frames - 1) * s->dt, 4);
        snprintf(p->detail + n, sizeof p->detail - n, " of %s s: ended early", number);
    }
}

static int plan(panel panels[MAX_PANELS], const ds_snapshot *s, uint64_t frames)
{
    int n = 0;
    int beside = ds_render_target_beside(s);
    uint32_t what = DS_RENDER_SCENE | (!beside && ds_render_has_target(s) ? DS_RENDER_GHOST : 0u);
    memset(panels, 0, MAX_PANELS * sizeof *panels);
    name_frame(&panels[n++], s->frame[0] == 0 ? "start" : "first frame", s, 0);
    if (s->kept > 2) {
        name_frame(&panels[n++], "middle", s, s->kept / 2);
    }
    if (s->kept > 1) {
        name_frame(&panels[n++], s->frame[s->kept - 1] + 1 == s->frames ? "end" : "last frame", s,
                   s->kept - 1);
        name_early_end(&panels[n - 1], s, frames);
    }
    for (int i = 0; i < n; i++) {
        panels[i].what = what | (panels[i].k > 0 && ds_snapshot_is_traced(s) ? DS_RENDER_TRACE : 0u);
    }
    if (beside) {
        snprintf(panels[n].label, sizeof panels[n].label, "target");
        panels[n++].what = DS_RENDER_TARGET;
    }
    return n;
}

/* Wider images have larger text, so that on a page, which scales all images to one width, the text has one
 * size. */
static double text_of(int width)
{
    return fmin(1.7, fmax(1, width / 1208.0));
}

/* What a reader cannot guess. */
static const char *legend(const ds_snapshot *s)
{
    int ghost = !ds_render_target_beside(s) && ds_render_has_target(s), trace = ds_snapshot_is_traced(s);
    return ds_overlay_has_pairs(s) ? "pale: targets, each with the number of its mark"
           : ghost && trace        ? "pale: target, line: trajectory so far"
           : ghost                 ? "pale: target"
           : trace                 ? "line: trajectory so far"
                                   : "";
}

/* Breaks a text into lines of at most `room`, if possible after commas and dots. Draws them if y >= 0;
 * returns the number of lines. */
static int lines_of(ds_canvas *c, double y, double size, int style, ds_color color, double room,
                    double line_height, const char *text)
{
    int lines = 0;
    while (*text != '\0') {
        char line[512];
        size_t fits = 0;
        for (size_t n = 1; n < sizeof line - 1 && text[n - 1] != '\0'; n++) {
            int end = text[n] == '\0';
            if (!end && !(text[n] == ' ' && (text[n - 1] == ',' || text[n - 1] == ' '))) {
                continue;
            }
            memcpy(line, text, n);
            line[n] = '\0';
            fits = fits == 0 || ds_canvas_text_width(c, size, style, line) <= room ? n : fits;
        }
        fits = fits > 0 ? fits : strlen(text);
        snprintf(line, sizeof line, "%.*s", (int)fits, text);
        if (y >= 0) {
            ds_canvas_text_fit(c, MARGIN, y + lines * line_height, size, style, color, room, line);
        }
        lines++;
        for (text += fits; *text == ' '; text++) {
        }
    }
    return lines;
}

/* Draws the title, the line below it and the explanation, in as many lines as they need. Returns the height.
 * Draws nothing if y is negative. */
static int draw_header(ds_canvas *c, int width, const ds_caption *caption, const char *explained, int draw)
{
    char text[1024];
    double room = width - 2 * MARGIN, t = text_of(width);
    double right = explained[0] != '\0' ? ds_canvas_text_width(c, 15 * t, 0, explained) + 24 : 0;
    ds_caption_title(text, sizeof text, caption);
    int titles = lines_of(c, draw ? 48 * t : -1, 27 * t, DS_TEXT_BOLD, TEXT_COLOR, room, LINE * t, text);
    double y = (78 + (titles - 1) * LINE) * t;
    ds_caption_line(text, sizeof text, caption);
    int lines = lines_of(c, draw ? y : -1, 17 * t, 0, SOFT_COLOR, room - right, LINE * t, text);
    if (draw) {
        ds_canvas_text(c, width - MARGIN, y, 15 * t, DS_TEXT_RIGHT, SOFT_COLOR, 0, explained);
    }
    return (int)((HEADER + (titles - 1 + lines - 1) * LINE) * t);
}

static int draw_panel(ds_canvas *c, const panel *p, const ds_snapshot *s, const ds_render_eye *eye, int x,
                      int y, int height, double t, uint32_t *pixels, ds_error *e)
{
    ds_canvas_text(c, x, y - 12, 19 * t, DS_TEXT_BOLD, TEXT_COLOR, 0, p->label);
    double used = ds_canvas_text_width(c, 19 * t, DS_TEXT_BOLD, p->label) + 12 * t;
    ds_canvas_text_fit(c, x + used, y - 12, 16 * t, 0, SOFT_COLOR, PANEL_WIDTH - used, p->detail);
    if (s->flat) {
        ds_flat_draw(c, s, p->k, p->what, NULL, x, y, PANEL_WIDTH, height, t);
        return 0;
    }
    int status = ds_render_seen(s, p->k, p->what, eye, PANEL_WIDTH, height, pixels, e);
    if (status == 0) {
        ds_canvas_image(c, x, y, PANEL_WIDTH, height, pixels);
        ds_overlay_draw(c, s, p->k, p->what, eye, x, y, PANEL_WIDTH, height, t);
        ds_canvas_rect(c, x + 0.5, y + 0.5, PANEL_WIDTH - 1, height - 1, ds_color_hex(0, 0), FRAME_COLOR, 1);
    }
    return status;
}

/* Height of the text above the panels, measured on a temporary canvas. */
static int header_height(int width, const ds_caption *caption, const char *explained)
{
    ds_canvas *c = ds_canvas_new(DS_CANVAS_PNG, 16, 16);
    int height = c != NULL ? draw_header(c, width, caption, explained, 0) : HEADER;
    ds_canvas_free(c);
    return height;
}

int ds_picture_best(const char *path, const ds_snapshot *scene, uint64_t frames, const ds_caption *caption,
                    const ds_render_eye *eye, ds_error *e)
{
    if (scene->kept == 0) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: the scene has no frame to draw", path);
    }
    panel panels[MAX_PANELS];
    int n = plan(panels, scene, frames);
    int height = scene->flat ? FLAT_HEIGHT : PANEL_HEIGHT;
    int width = 2 * MARGIN + n * PANEL_WIDTH + (n - 1) * GAP;
    double t = text_of(width);
    int top = header_height(width, caption, legend(scene)) + (int)(LABEL * t);
    ds_canvas *c = ds_canvas_new(DS_CANVAS_PNG, width, top + height + BOTTOM);
    uint32_t *pixels = malloc((size_t)PANEL_WIDTH * (size_t)height * sizeof *pixels);
    int status = 0;
    if (c == NULL || pixels == NULL) {
        status = ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory for the image", path);
    } else {
        draw_header(c, width, caption, legend(scene), 1);
        for (int i = 0; i < n && status == 0; i++) {
            status = draw_panel(c, &panels[i], scene, eye, MARGIN + i * (PANEL_WIDTH + GAP), top, height, t,
                                pixels, e);
        }
        status = status != 0 ? status : ds_canvas_write(c, path, e);
    }
    free(pixels);
    ds_canvas_free(c);
    return status;
}

static int draw_still(ds_canvas *c, const ds_snapshot *scene, uint64_t k, int width, int height, ds_error *e)
{
    const uint32_t what = DS_RENDER_SCENE | DS_RENDER_GHOST;
    if (scene->flat) {
        ds_flat_draw(c, scene, k, what, NULL, 0, 0, width, height, 1);
        return 0;
    }
    uint32_t *pixels = malloc((size_t)width * (size_t)height * sizeof *pixels);
    int rc = pixels == NULL ? ds_no_memory(e) : ds_render(scene, k, what, width, height, pixels, e);
    if (rc == 0) {
        ds_canvas_image(c, 0, 0, width, height, pixels);
    }
    free(pixels);
    return rc;
}

int ds_picture_still(const ds_snapshot *scene, uint64_t k, int width, int height, unsigned char **png,
                     size_t *size, ds_error *e)
{
    ds_canvas *c = ds_canvas_new(DS_CANVAS_PNG, width, height);
    *png = NULL;
    int rc = c == NULL ? ds_no_memory(e) : draw_still(c, scene, k, width, height, e);
    rc = rc != 0 ? rc : ds_canvas_png(c, png, size, e);
    ds_canvas_free(c);
    return rc;
}

void ds_picture_metrics(char *out, size_t room, const ds_snapshot *scene, uint64_t count)
{
    size_t n = 0;
    out[0] = '\0';
    for (uint64_t m = 0; m < scene->metrics && count > 0; m++) {
        const ds_snapshot_metric *metric = &scene->metric[m];
        double v = metric->values[scene->frames - 1];
        if (!isfinite(v)) {
            continue;
        }
        v = fabs(v) < 1e-12 ? 0 : v; /* rounding error */
        char number[48], unit[2 * DS_SCENE_UNIT_MAX], part[224];
        ds_label_number(number, sizeof number, v, 4);
        ds_label_unit(unit, sizeof unit, metric->unit);
        int k = snprintf(part, sizeof part, "%s%s %s%s%s", n > 0 ? ", " : "", metric->name, number,
                         unit[0] != '\0' ? " " : "", unit);
        if (k < 0 || n + (size_t)k >= room) {
            break;
        }
        memcpy(out + n, part, (size_t)k + 1);
        n += (size_t)k;
        count--;
    }
}
