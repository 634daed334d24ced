/* SPDX-License-Identifier: Apache-2.0 */
/* picture.c - the picture of an episode: its start, its end and the target side by side. */
#include "config.h"

#include "render/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot/canvas.h"
#include "render/render.h"
#include "render/render_flat.h"

enum {
    MARGIN = 36,
    GAP = 16,
    HEADER = 104,
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
    char detail[64];
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

static int plan(panel panels[MAX_PANELS], const ds_snapshot *s, int middle)
{
    int n = 0;
    int beside = ds_render_target_beside(s);
    uint32_t what = DS_RENDER_SCENE | (!beside && ds_render_has_target(s) ? DS_RENDER_GHOST : 0u);
    memset(panels, 0, MAX_PANELS * sizeof *panels);
    name_frame(&panels[n++], s->frame[0] == 0 ? "start" : "first frame", s, 0);
    if (middle && s->kept > 2) {
        name_frame(&panels[n++], "middle", s, s->kept / 2);
    }
    if (s->kept > 1) {
        name_frame(&panels[n++], s->frame[s->kept - 1] + 1 == s->frames ? "end" : "last frame", s,
                   s->kept - 1);
    }
    for (int i = 0; i < n; i++) {
        panels[i].what = what | (s->flat && panels[i].k > 0 ? DS_RENDER_TRACE : 0u);
    }
    if (beside) {
        snprintf(panels[n].label, sizeof panels[n].label, "target");
        panels[n++].what = DS_RENDER_TARGET;
    }
    return n;
}

/* What a reader cannot guess. */
static const char *legend(const ds_snapshot *s)
{
    int ghost = !ds_render_target_beside(s) && ds_render_has_target(s), trace = s->flat && s->kept > 2;
    return ghost && trace ? "pale: target, line: way so far"
           : ghost        ? "pale: target"
           : trace        ? "line: way so far"
                          : "";
}

static void draw_header(ds_canvas *c, int width, const ds_caption *caption, const char *explained)
{
    char text[512];
    double room = explained[0] != '\0' ? ds_canvas_text_width(c, 15, 0, explained) + 24 : 0;
    ds_caption_title(text, sizeof text, caption);
    ds_canvas_text_fit(c, MARGIN, 48, 27, DS_TEXT_BOLD, TEXT_COLOR, width - 2 * MARGIN, text);
    ds_caption_line(text, sizeof text, caption);
    ds_canvas_text_fit(c, MARGIN, 78, 17, 0, SOFT_COLOR, width - 2 * MARGIN - room, text);
    ds_canvas_text(c, width - MARGIN, 78, 15, DS_TEXT_RIGHT, SOFT_COLOR, 0, explained);
}

static int draw_panel(ds_canvas *c, const panel *p, const ds_snapshot *s, int x, int y, int height,
                      uint32_t *pixels, ds_error *e)
{
    ds_canvas_text(c, x, y - 12, 19, DS_TEXT_BOLD, TEXT_COLOR, 0, p->label);
    double used = ds_canvas_text_width(c, 19, DS_TEXT_BOLD, p->label);
    ds_canvas_text(c, x + used + 12, y - 12, 16, 0, SOFT_COLOR, 0, p->detail);
    if (s->flat) {
        ds_flat_draw(c, s, p->k, p->what, x, y, PANEL_WIDTH, height);
        return 0;
    }
    int status = ds_render(s, p->k, p->what, PANEL_WIDTH, height, pixels, e);
    if (status == 0) {
        ds_canvas_image(c, x, y, PANEL_WIDTH, height, pixels);
        ds_canvas_rect(c, x + 0.5, y + 0.5, PANEL_WIDTH - 1, height - 1, ds_color_hex(0, 0), FRAME_COLOR, 1);
    }
    return status;
}

int ds_picture_best(const char *path, const ds_snapshot *scene, int middle, const ds_caption *caption,
                    ds_error *e)
{
    if (scene->kept == 0) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: the scene has no frame to draw", path);
    }
    panel panels[MAX_PANELS];
    int n = plan(panels, scene, middle);
    int height = scene->flat ? FLAT_HEIGHT : PANEL_HEIGHT;
    int width = 2 * MARGIN + n * PANEL_WIDTH + (n - 1) * GAP;
    ds_canvas *c = ds_canvas_new(DS_CANVAS_PNG, width, HEADER + LABEL + height + BOTTOM);
    uint32_t *pixels = malloc((size_t)PANEL_WIDTH * (size_t)height * sizeof *pixels);
    int status = 0;
    if (c == NULL || pixels == NULL) {
        status = ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory for the picture", path);
    } else {
        draw_header(c, width, caption, legend(scene));
        for (int i = 0; i < n && status == 0; i++) {
            status = draw_panel(c, &panels[i], scene, MARGIN + i * (PANEL_WIDTH + GAP), HEADER + LABEL,
                                height, pixels, e);
        }
        status = status != 0 ? status : ds_canvas_write(c, path, e);
    }
    free(pixels);
    ds_canvas_free(c);
    return status;
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
        char number[48];
        char part[192];
        ds_label_number(number, sizeof number, v, 4);
        int k = snprintf(part, sizeof part, "%s%s %s%s%s", n > 0 ? ", " : "", metric->name, number,
                         metric->unit[0] != '\0' ? " " : "", metric->unit);
        if (k < 0 || n + (size_t)k >= room) {
            break;
        }
        memcpy(out + n, part, (size_t)k + 1);
        n += (size_t)k;
        count--;
    }
}
