/* SPDX-License-Identifier: Apache-2.0 */
/* film_frame.c - plans and draws the frames of a film, and the loop that writes them (see film_frame.h). */
#include "config.h"

#include "exchange/film_frame.h"

#include "plot/canvas.h"
#include "render/picture.h"
#include "render/render.h"
#include "render/render_flat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 640, /* of the first column, and of each further one */
    COLUMN = 240,
    MOST_COLUMNS = 3,
    SHORTEST = 2, /* playing time in seconds */
    LONGEST = 15,
    MOST_FPS = 30,
    METRICS = 2,
    LEAST_TEXT = 200 /* pixels: smaller frames have no text */
};

#define WHITE 0xffffffu

/* Height of a panel over its width. */
#define ROUND_ASPECT 0.84
#define FLAT_ASPECT 1.0

/* Share of a panel that an inset of the target covers. */
#define INSET 0.3

/* A rectangle of the film that shows one episode. */
typedef struct panel {
    const ds_view_episode *episode;
    uint32_t what;    /* DS_RENDER_* */
    uint32_t *target; /* image of the target, inset x inset_height; NULL = none */
    ds_render_eye eye;
    int x, y;
} panel;

struct ds_film {
    const ds_view_options *options;
    ds_film_plan plan;
    const ds_snapshot *longest; /* its frames are counted */
    double step;                /* of these frames per frame of the film; below 1 some are repeated */
    panel *panel;
    size_t panels;
    int columns;
    int panel_width, panel_height, inset, inset_height;
    size_t common; /* length of the common beginning of all names of episodes, with its separator */
    char title[200];
    /* heights of the title, of the line below and of a name above a panel; 0 = none */
    int top, bottom, label;
    double text; /* text size relative to the default */
    uint32_t background;
    ds_canvas *canvas;
    uint32_t *pixels; /* of one panel */
};

/* ---- time ---- */

static double seconds(const ds_snapshot *s)
{
    return (double)(s->kept - 1) * s->dt;
}

/* Episodes without a step length advance frame by frame. */
static int has_time(const ds_film *f)
{
    int all = 1;
    for (size_t i = 0; i < f->panels; i++) {
        all &= f->panel[i].episode->scene->dt > 0;
    }
    return all;
}

/* The frame of the longest episode that frame i shows. */
static uint64_t shown(const ds_film *f, uint64_t i)
{
    const uint64_t last = f->longest->kept - 1;
    const double k = (double)i * f->step;
    return k < (double)last ? (uint64_t)(k + 0.5) : last;
}

/* The kept frame of a scene at that moment; the last one if the episode has ended. */
static uint64_t frame_of(const ds_film *f, const ds_snapshot *s, uint64_t k)
{
    if (s->dt != f->longest->dt && has_time(f)) {
        const double at = (double)k * f->longest->dt / s->dt;
        return at < (double)(s->kept - 1) ? (uint64_t)(at + 0.5) : s->kept - 1;
    }
    return k < s->kept ? k : s->kept - 1;
}

/* Chooses frames and speed. */
static void plan_time(ds_film *f)
{
    f->longest = f->panel[0].episode->scene;
    for (size_t i = 1; i < f->panels; i++) {
        const ds_snapshot *s = f->panel[i].episode->scene;
        const int longer = has_time(f) ? seconds(s) > seconds(f->longest) : s->kept > f->longest->kept;
        f->longest = longer ? s : f->longest;
    }
    const double last = (double)(f->longest->kept - 1);
    const double whole = has_time(f) ? seconds(f->longest) : last / 20;
    const double length = fmin(LONGEST, fmax(SHORTEST, whole));
    const double most = f->options->fps > 0 ? f->options->fps : MOST_FPS;
    const double wanted = last / (most * length); /* a requested rate keeps the speed of the episode */
    f->step = f->options->every > 0               ? (double)f->options->every
              : f->options->fps > 0 && wanted > 0 ? wanted
                                                  : fmax(1, ceil(wanted));
    f->plan.frames = (uint64_t)ceil(last / f->step - 1e-9) + 1;
    f->plan.fps =
        f->options->fps > 0 ? f->options->fps : fmin(60, fmax(1, (double)(f->plan.frames - 1) / length));
}

/* ---- space ---- */

static int even(double v)
{
    return 2 * (int)lround(v / 2);
}

/* The common beginning of all names, up to a separator, becomes the title: "pinball at " for "pinball at
 * start" and "pinball at random:1". */
static void plan_title(ds_film *f)
{
    static const char *const separator[] = {", ", " at "};
    const char *first = f->panel[0].episode->title;
    size_t same = f->panels > 1 ? strlen(first) : 0, shown_of_it = 0;
    for (size_t i = 1; i < f->panels; i++) {
        const char *other = f->panel[i].episode->title;
        size_t n = 0;
        while (n < same && first[n] == other[n]) {
            n++;
        }
        same = n;
    }
    for (size_t n = 1; n <= same; n++) {
        for (int k = 0; k < 2; k++) {
            const size_t m = strlen(separator[k]);
            if (n >= m && memcmp(first + n - m, separator[k], m) == 0) {
                f->common = n;
                shown_of_it = n - m;
            }
        }
    }
    if (f->options->caption != NULL) {
        snprintf(f->title, sizeof f->title, "%s", f->options->caption);
    } else {
        snprintf(f->title, sizeof f->title, "%.*s", f->panels == 1 ? 199 : (int)shown_of_it, first);
    }
}

/* All panels have the same size: as high as the highest one needs. */
static int plan_space(ds_film *f, const char *path, ds_error *e)
{
    const ds_view_options *o = f->options;
    double aspect = 0;
    for (size_t i = 0; i < f->panels; i++) {
        aspect = fmax(aspect, f->panel[i].episode->scene->flat ? FLAT_ASPECT : ROUND_ASPECT);
    }
    f->columns = f->panels <= MOST_COLUMNS ? (int)f->panels : (int)ceil(sqrt((double)f->panels));
    const int rows = ((int)f->panels + f->columns - 1) / f->columns;
    f->plan.width = o->width > 0 ? o->width : WIDTH + COLUMN * (f->columns - 1);
    const int texts = f->plan.width >= LEAST_TEXT && (o->height == 0 || o->height >= LEAST_TEXT);
    f->text = fmin(2.5, fmax(0.72, (double)f->plan.width / (WIDTH + COLUMN * (f->columns - 1))));
    f->top = texts && f->title[0] != '\0' ? even(32 * f->text) : 0;
    f->bottom = texts ? even(30 * f->text) : 0;
    f->label = texts && f->panels > 1 ? even(24 * f->text) : 0;
    f->panel_width = f->plan.width / f->columns;
    f->plan.height =
        o->height > 0 ? o->height : even(f->top + f->bottom + rows * (f->label + f->panel_width * aspect));
    f->panel_height = (f->plan.height - f->top - f->bottom) / rows - f->label;
    if (f->panel_width < 8 || f->panel_height < 8) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "%s: %zu episode%s cannot be shown in %d x %d pixels: set a larger --size", path,
                       f->panels, f->panels == 1 ? "" : "s", f->plan.width, f->plan.height);
    }
    for (size_t i = 0; i < f->panels; i++) {
        f->panel[i].x = (int)i % f->columns * f->panel_width;
        f->panel[i].y = f->top + (int)i / f->columns * (f->label + f->panel_height) + f->label;
    }
    f->inset = (int)(INSET * f->panel_width);
    f->inset_height = (int)(INSET * f->panel_height);
    return 0;
}

/* ---- content of a panel ---- */

static ds_color ink(const ds_film *f, uint32_t rgb)
{
    return ds_color_on(f->background, rgb, 1);
}

static int plan_panel(ds_film *f, panel *p, ds_error *e)
{
    const ds_view_options *o = f->options;
    const ds_snapshot *s = p->episode->scene;
    const int beside = !s->flat && ds_render_target_beside(s);
    p->what = DS_RENDER_SCENE | (!beside && ds_render_has_target(s) ? DS_RENDER_GHOST : 0u) |
              (ds_render_has_trace(s) ? DS_RENDER_TRACE : 0u);
    p->eye = ds_render_usual_eye(s);
    p->eye.background = f->background;
    p->eye.zoom = o->zoom > 0 ? o->zoom : 1;
    if (o->camera_set) {
        p->eye.azimuth = o->azimuth;
        p->eye.elevation = o->elevation;
    }
    p->eye.around = o->orbit < 0 || o->orbit > 0;
    p->eye.turned = o->camera_set || p->eye.around;
    if (beside && f->bottom > 0) {
        p->target = malloc((size_t)f->inset * (size_t)f->inset_height * sizeof *p->target);
        return p->target == NULL
                   ? ds_no_memory(e)
                   : ds_render_seen(s, 0, DS_RENDER_TARGET, &p->eye, f->inset, f->inset_height, p->target, e);
    }
    return 0;
}

int ds_film_open(ds_film **out, ds_film_plan *plan, const char *path, const ds_view_episodes *episodes,
                 ds_error *e)
{
    ds_film *f = calloc(1, sizeof *f);
    *out = f;
    if (f == NULL || (f->panel = calloc(episodes->count, sizeof *f->panel)) == NULL) {
        return ds_no_memory(e);
    }
    f->options = &episodes->options;
    f->panels = episodes->count;
    f->background =
        f->options->background != NULL ? (uint32_t)strtoul(f->options->background + 1, NULL, 16) : WHITE;
    for (size_t i = 0; i < f->panels; i++) {
        f->panel[i].episode = &episodes->item[i];
    }
    plan_time(f);
    plan_title(f);
    int status = plan_space(f, path, e);
    for (size_t i = 0; i < f->panels && status == 0; i++) {
        status = plan_panel(f, &f->panel[i], e);
    }
    if (status == 0) {
        f->canvas = ds_canvas_new(DS_CANVAS_PNG, f->plan.width, f->plan.height);
        f->pixels = malloc((size_t)f->panel_width * (size_t)f->panel_height * sizeof *f->pixels);
        status = f->canvas == NULL || f->pixels == NULL ? ds_no_memory(e) : 0;
    }
    f->plan.background = f->background;
    *plan = f->plan;
    return status;
}

void ds_film_close(ds_film *f)
{
    for (size_t i = 0; f != NULL && f->panel != NULL && i < f->panels; i++) {
        free(f->panel[i].target);
    }
    if (f != NULL) {
        ds_canvas_free(f->canvas);
        free(f->pixels);
        free(f->panel);
        free(f);
    }
}

/* ---- drawing ---- */

/* Name and loss of one of several episodes. */
static void draw_label(const ds_film *f, const panel *p)
{
    const double size = 14 * f->text, x = p->x + 8 * f->text;
    char loss[80] = "failed", number[48];
    if (isfinite(p->episode->loss)) {
        ds_label_number(number, sizeof number, p->episode->loss, 4);
        snprintf(loss, sizeof loss, "loss %s", number);
    }
    const double right = ds_canvas_text_width(f->canvas, size, 0, loss);
    const double room = f->panel_width - 16 * f->text - right;
    ds_canvas_text_fit(f->canvas, x, p->y - 7 * f->text, size, DS_TEXT_BOLD, ink(f, 0x222222),
                       room - 10 * f->text, p->episode->title + f->common);
    ds_canvas_text(f->canvas, p->x + f->panel_width - 8 * f->text, p->y - 7 * f->text, size, DS_TEXT_RIGHT,
                   ink(f, 0x666666), 0, loss);
}

static void draw_target(const ds_film *f, const panel *p)
{
    const int x = p->x + f->panel_width - f->inset - 6, y = p->y + 6;
    const ds_color none = ds_color_hex(0, 0);
    ds_canvas_image(f->canvas, x, y, f->inset, f->inset_height, p->target);
    ds_canvas_rect(f->canvas, x + 0.5, y + 0.5, f->inset - 1, f->inset_height - 1, none, ink(f, 0xcccccc), 1);
    ds_canvas_text(f->canvas, x + 7 * f->text, y + 17 * f->text, 12 * f->text, 0, ink(f, 0x555555), 0,
                   "target");
}

static int draw_panel(ds_film *f, panel *p, uint64_t i, ds_error *e)
{
    const ds_snapshot *s = p->episode->scene;
    const uint64_t k = frame_of(f, s, shown(f, i));
    const uint32_t what = k > 0 ? p->what : p->what & ~(uint32_t)DS_RENDER_TRACE;
    ds_render_eye eye = p->eye;
    if (eye.around && f->plan.frames > 1) {
        eye.azimuth += f->options->orbit * (double)i / (double)(f->plan.frames - 1);
    }
    if (f->label > 0) {
        draw_label(f, p);
    }
    if (s->flat) {
        ds_flat_draw(f->canvas, s, k, what, &eye, p->x, p->y, f->panel_width - 6 * f->text, f->panel_height,
                     fmin(1, f->text));
        return 0;
    }
    int status = ds_render_seen(s, k, what, &eye, f->panel_width, f->panel_height, f->pixels, e);
    if (status == 0) {
        ds_canvas_image(f->canvas, p->x, p->y, f->panel_width, f->panel_height, f->pixels);
        if (f->bottom > 0) {
            ds_overlay_draw(f->canvas, s, k, what, &eye, p->x, p->y, f->panel_width, f->panel_height,
                            0.85 * f->text);
        }
        if (p->target != NULL) {
            draw_target(f, p);
        }
    }
    return status;
}

/* "0.42 s   iou 0.512": time, and the first metrics defined at that moment, of a single episode. */
static void draw_moment(const ds_film *f, uint64_t i)
{
    const double y = f->plan.height - 10 * f->text, size = 13 * f->text, left = 10 * f->text;
    const uint64_t at = shown(f, i);
    const ds_snapshot *s = f->longest;
    char number[48], line[200];
    if (s->dt > 0) {
        snprintf(line, sizeof line, "%.*f s", s->dt < 0.01 ? 3 : 2, (double)s->frame[at] * s->dt);
    } else {
        snprintf(line, sizeof line, "frame %llu", (unsigned long long)s->frame[at]);
    }
    ds_canvas_text(f->canvas, left, y, size, 0, ink(f, 0x222222), 0, line);
    int n = 0, used = 0;
    line[0] = '\0';
    for (uint64_t m = 0; m < s->metrics && n < METRICS && f->panels == 1; m++) {
        const double v = s->metric[m].values[s->frame[at]];
        char unit[2 * DS_SCENE_UNIT_MAX];
        if (isfinite(v) && used < 110) {
            ds_label_number(number, sizeof number, fabs(v) < 1e-12 ? 0 : v, 3);
            ds_label_unit(unit, sizeof unit, s->metric[m].unit);
            used += snprintf(line + used, sizeof line - (size_t)used, "%s%.40s %s%s%.12s", n > 0 ? ",  " : "",
                             s->metric[m].name, number, unit[0] != '\0' ? " " : "", unit);
            n++;
        }
    }
    if (f->panels == 1 && isfinite(f->panel[0].episode->loss) && used < 140) {
        ds_label_number(number, sizeof number, f->panel[0].episode->loss, 4);
        snprintf(line + used, sizeof line - (size_t)used, "%sloss %s", n > 0 ? "   |   " : "", number);
    }
    const double width = ds_canvas_text_width(f->canvas, size, 0, line);
    ds_canvas_text_fit(f->canvas, fmax(110 * f->text, f->plan.width - left - width), y, size, 0,
                       ink(f, 0x666666), f->plan.width - left - 110 * f->text, line);
    const double done = f->plan.frames > 1 ? (double)i / (double)(f->plan.frames - 1) : 1;
    ds_canvas_rect(f->canvas, 0, f->plan.height - 4, f->plan.width * done, 4, ink(f, 0xb0b0b0),
                   ds_color_hex(0, 0), 0);
}

int ds_film_draw(ds_film *f, uint64_t i, uint32_t *pixels, ds_error *e)
{
    const ds_color none = ds_color_hex(0, 0);
    int status = 0;
    ds_canvas_rect(f->canvas, 0, 0, f->plan.width, f->plan.height, ds_color_hex(f->background, 1), none, 0);
    for (size_t k = 0; k < f->panels && status == 0; k++) {
        status = draw_panel(f, &f->panel[k], i, e);
    }
    if (f->top > 0) {
        ds_canvas_text_fit(f->canvas, 10 * f->text, 22 * f->text, 17 * f->text, DS_TEXT_BOLD,
                           ink(f, 0x222222), f->plan.width - 20 * f->text, f->title);
    }
    if (f->bottom > 0) {
        draw_moment(f, i);
    }
    return status != 0 ? status : ds_canvas_pixels(f->canvas, pixels, e);
}

/* ---- writing ---- */

int ds_film_write(const char *path, const ds_view_episodes *episodes, const ds_film_format *format,
                  ds_error *e)
{
    ds_film *film = NULL;
    ds_film_plan plan = {0};
    uint32_t *pixels = NULL;
    void *self = NULL;
    int status = ds_film_open(&film, &plan, path, episodes, e);
    if (status == 0) {
        pixels = malloc((size_t)plan.width * (size_t)plan.height * sizeof *pixels);
        self = calloc(1, format->size);
        status = pixels == NULL || self == NULL ? ds_no_memory(e) : 0;
    }
    if (status == 0) {
        status = format->begin(self, path, &plan, e);
        for (uint64_t i = 0; i < plan.frames && status == 0; i++) {
            status = ds_film_draw(film, i, pixels, e);
            status = status != 0 ? status : format->frame(self, i, pixels, e);
        }
        status = format->end(self, status, e);
    }
    free(self);
    free(pixels);
    ds_film_close(film);
    return status;
}
