/* SPDX-License-Identifier: Apache-2.0 */
/* plot.c - figures of one run: convergence, and the best point within its bounds (see plot.h). */
#include "config.h"

#include "plot/plot.h"

#include "plot/plot_axes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The plot area in pixels. */
enum { LEFT = 110, RIGHT = DS_PLOT_WIDTH - 40, TOP = 132, BOTTOM = DS_PLOT_HEIGHT - 84 };

enum {
    MAX_DOTS = 6000,  /* keeps SVG files small */
    MAX_TAGS = 8,     /* kinds with their own colour */
    SAMPLE = 1 << 16, /* losses inspected for the range of the axis */
    FAILED_BAND = 20  /* height of the strip for failed evaluations, inside the plot area */
};

#define DOT "\xc2\xb7"
#define GRID_COLOR ds_color_hex(0xe7e7e7, 1)
#define BEST_COLOR ds_color_hex(0x0072b2, 1)
#define FAIL_COLOR ds_color_hex(0xd55e00, 1)

/* Results of one pass over the losses. */
typedef struct history {
    const ds_convergence *run;
    uint64_t failed;
    uint64_t first; /* index of the first finite loss, count = none */
    uint64_t best;  /* index of the best, count = none */
    uint64_t used[MAX_TAGS];
    uint64_t *step; /* indices where the best loss improved */
    uint64_t steps;
    double typical_high; /* 98th percentile of the finite losses */
    double largest;      /* the highest finite loss */
    double smallest;     /* smallest magnitude of a nonzero improvement */
} history;

static int compare_double(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

static uint32_t tag_of(const ds_convergence *run, uint64_t i)
{
    return run->tag != NULL && run->tags > 0 && run->tag[i] < run->tags ? run->tag[i] % MAX_TAGS : 0;
}

static int look_at_run(const ds_convergence *run, history *h)
{
    memset(h, 0, sizeof *h);
    h->run = run;
    h->first = h->best = run->count;
    uint64_t room = 0;
    uint64_t stride = run->count / SAMPLE + 1;
    double *sample = malloc((size_t)(run->count / stride + 1) * sizeof *sample);
    size_t sampled = 0;
    if (sample == NULL) {
        return DS_EXIT_MEMORY;
    }
    for (uint64_t i = 0; i < run->count; i++) {
        double v = run->loss[i];
        if (!isfinite(v)) {
            h->failed++;
            continue;
        }
        h->used[tag_of(run, i)]++;
        h->largest = h->steps == 0 ? v : fmax(h->largest, v);
        if (i % stride == 0) {
            sample[sampled++] = v;
        }
        if (h->steps > 0 && v >= run->loss[h->best]) {
            continue;
        }
        if (h->steps == room) {
            room = room == 0 ? 256 : room * 2;
            uint64_t *more = realloc(h->step, (size_t)room * sizeof *more);
            if (more == NULL) {
                free(sample);
                return DS_EXIT_MEMORY;
            }
            h->step = more;
        }
        h->first = h->steps == 0 ? i : h->first;
        h->best = i;
        h->step[h->steps++] = i;
        if (fabs(v) > 0 && (h->smallest <= 0 || fabs(v) < h->smallest)) {
            h->smallest = fabs(v);
        }
    }
    if (sampled > 0) {
        qsort(sample, sampled, sizeof *sample, compare_double);
        h->typical_high = sample[sampled - 1 - sampled / 50];
    } else if (h->steps > 0) {
        h->typical_high = run->loss[h->first];
    }
    free(sample);
    return 0;
}

/* ---- axes ---- */

static ds_scale x_scale(const ds_convergence *run)
{
    double last = run->count > 0 ? (double)run->count : 1;
    if ((double)run->budget > last && (double)run->budget < last * 2.5) {
        last = (double)run->budget;
    }
    ds_scale s = {DS_SCALE_LINEAR, 0, fmax(last * 1.02, 2), 0, LEFT, RIGHT};
    if (run->count > 20000) {
        s.kind = DS_SCALE_LOG;
        s.low = 0.8;
        s.high = last * 1.15;
    }
    return s;
}

static ds_scale y_scale(const ds_convergence *run, const history *h)
{
    double top = TOP + (h->failed > 0 ? FAILED_BAND : 0);
    if (h->steps == 0) {
        return ds_scale_make(DS_SCALE_LINEAR, 0, 1, 0, BOTTOM, top);
    }
    double low = run->loss[h->best];
    double high = fmax(h->typical_high, run->loss[h->first]);
    /* A few very high losses are shown at the edge if they would squeeze the rest together. */
    if (h->largest / 3 - low / 3 <= high - low ||
        (low > 0 && high / low > 10 && h->largest / high < high / low)) {
        high = fmax(high, h->largest);
    }
    if (isfinite(run->target)) {
        low = fmin(low, run->target);
        high = fmax(high, run->target);
    }
    int kind = DS_SCALE_LINEAR;
    double linear = 0;
    if (low > 0) {
        kind = high / low > 10 ? DS_SCALE_LOG : DS_SCALE_LINEAR;
    } else {
        double large = fmax(fabs(low), fabs(high));
        linear = fmax(h->smallest, large * 1e-9);
        kind = large > linear * 200 ? DS_SCALE_SYMLOG : DS_SCALE_LINEAR;
    }
    return ds_scale_make(kind, low, high, linear, BOTTOM, top);
}

static void draw_axes(ds_canvas *c, const ds_scale *x, const ds_scale *y)
{
    ds_tick ticks[DS_SCALE_MAX_TICKS];
    size_t n = ds_scale_ticks(y, 7, ticks);
    for (size_t i = 0; i < n; i++) {
        double p = ds_scale_map(y, ticks[i].value);
        if (ticks[i].major) {
            ds_canvas_line(c, LEFT, p, RIGHT, p, GRID_COLOR, 1, 0);
            ds_canvas_text(c, LEFT - 10, p + 5, 15, DS_TEXT_RIGHT, DS_PLOT_TEXT, 0, ticks[i].label);
        } else {
            ds_canvas_line(c, LEFT - 4, p, LEFT, p, DS_PLOT_SOFT, 1, 0);
        }
    }
    n = ds_scale_ticks(x, 9, ticks);
    for (size_t i = 0; i < n; i++) {
        double p = ds_scale_map(x, ticks[i].value);
        if (ticks[i].major && fabs(ticks[i].value - rint(ticks[i].value)) < 1e-6) {
            ds_canvas_line(c, p, TOP, p, BOTTOM, GRID_COLOR, 1, 0);
            ds_canvas_line(c, p, BOTTOM, p, BOTTOM + 5, DS_PLOT_SOFT, 1, 0);
            ds_canvas_text(c, p, BOTTOM + 24, 15, DS_TEXT_CENTER, DS_PLOT_TEXT, 0, ticks[i].label);
        }
    }
    ds_canvas_line(c, LEFT, TOP, LEFT, BOTTOM, DS_PLOT_SOFT, 1.2, 0);
    ds_canvas_line(c, LEFT, BOTTOM, RIGHT, BOTTOM, DS_PLOT_SOFT, 1.2, 0);
    ds_canvas_text(c, (LEFT + RIGHT) / 2.0, BOTTOM + 58, 18, DS_TEXT_CENTER, DS_PLOT_TEXT, 0, "evaluations");
    ds_canvas_text(c, 34, (TOP + BOTTOM) / 2.0, 18, DS_TEXT_CENTER, DS_PLOT_TEXT, -90,
                   y->kind == DS_SCALE_LOG      ? "loss (log scale)"
                   : y->kind == DS_SCALE_SYMLOG ? "loss (symmetric log scale)"
                                                : "loss");
}

/* ---- data ---- */

/* Colours of the kinds of evaluations; blue is the curve. */
static ds_color tag_color(uint32_t tag, double a)
{
    static const uint32_t order[MAX_TAGS] = {1, 2, 3, 4, 6, 5, 1, 2};
    return ds_color_series(order[tag], a);
}

static ds_color pale(ds_color c, double a)
{
    ds_color p = {1 - a + a * c.r, 1 - a + a * c.g, 1 - a + a * c.b, 1};
    return p;
}

/* Evaluations to draw, in pixels. */
typedef struct dots {
    double xy[2 * MAX_DOTS];
    unsigned char kind[MAX_DOTS];
    size_t count;
    int64_t above; /* how many lie above the range */
    /* per cell: the kinds that already have a dot in it */
    unsigned char cells[(RIGHT - LEFT) * (BOTTOM - TOP)];
} dots;

/* Is this the first dot of its kind in its cell? Marks the cell. */
static int first_in_cell(dots *d, int cell, double px, double py, uint32_t kind)
{
    int cx = (int)(px - LEFT) / cell;
    int cy = (int)(py - TOP) / cell;
    cx = cx < 0 ? 0 : cx >= RIGHT - LEFT ? RIGHT - LEFT - 1 : cx;
    cy = cy < 0 ? 0 : cy >= BOTTOM - TOP ? BOTTOM - TOP - 1 : cy;
    unsigned char *at = &d->cells[(size_t)cy * (RIGHT - LEFT) + (size_t)cx];
    int first = (*at & 1u << kind) == 0;
    *at = (unsigned char)(*at | 1u << kind);
    return first;
}

/* Chooses dots, at most one of each kind per cell (cell 0 = all). Returns 0 if there are too many. */
static int choose_dots(dots *d, int cell, const ds_convergence *run, const ds_scale *x, const ds_scale *y)
{
    memset(d->cells, 0, sizeof d->cells);
    d->count = 0;
    d->above = 0;
    for (uint64_t i = 0; i < run->count; i++) {
        if (!isfinite(run->loss[i])) {
            continue;
        }
        double px = ds_scale_map(x, (double)i + 1);
        double py = fmin(ds_scale_map(y, run->loss[i]), BOTTOM);
        if (py < y->to) {
            d->above++;
            py = y->to;
        }
        if (cell > 0 && !first_in_cell(d, cell, px, py, tag_of(run, i))) {
            continue;
        }
        if (d->count == MAX_DOTS) {
            return 0;
        }
        d->xy[2 * d->count] = px;
        d->xy[2 * d->count + 1] = py;
        d->kind[d->count] = (unsigned char)tag_of(run, i);
        d->count++;
    }
    return 1;
}

/* Draws the evaluations, thinned by the finest raster that leaves few enough. Returns how many lie above the
 * range, or -1 without memory. */
static int64_t draw_dots(ds_canvas *c, const ds_convergence *run, const ds_scale *x, const ds_scale *y)
{
    dots *d = malloc(sizeof *d);
    double *one = malloc((size_t)MAX_DOTS * 2 * sizeof *one);
    int64_t above = -1;
    if (d != NULL && one != NULL) {
        int cell = run->count <= MAX_DOTS ? 0 : 2;
        while (!choose_dots(d, cell, run, x, y)) {
            cell += cell / 2 + 1;
        }
        above = d->above;
        double radius = d->count < 100 ? 5 : d->count < 1000 ? 4 : 3;
        for (uint32_t t = 0; t < MAX_TAGS; t++) {
            size_t m = 0;
            for (size_t i = 0; i < d->count; i++) {
                if (d->kind[i] == t) {
                    one[2 * m] = d->xy[2 * i];
                    one[2 * m + 1] = d->xy[2 * i + 1];
                    m++;
                }
            }
            /* Many dots overlap: opaque pale colours do not add up to dark patches. */
            ds_canvas_dots(c, one, m, radius,
                           d->count < 1000 ? tag_color(t, 0.55) : pale(tag_color(t, 1), 0.45));
        }
    }
    free(one);
    free(d);
    return above;
}

/* The curve in pixels: steps, thinned to the width of a pixel. Returns the number of points, 0 without
 * memory. */
static size_t curve_points(const ds_convergence *run, const history *h, const ds_scale *x, const ds_scale *y,
                           double **out)
{
    double *xy = malloc((size_t)(2 * h->steps + 2) * 2 * sizeof *xy);
    size_t n = 0;
    *out = xy;
    if (xy == NULL) {
        return 0;
    }
    for (uint64_t k = 0; k < h->steps; k++) {
        double px = ds_scale_map(x, (double)h->step[k] + 1);
        double py = fmax(y->to, ds_scale_map(y, run->loss[h->step[k]]));
        if (n >= 2 && px - xy[2 * n - 2] < 0.25) {
            xy[2 * n - 1] = py;
            continue;
        }
        if (n > 0) {
            xy[2 * n] = px;
            xy[2 * n + 1] = xy[2 * n - 1];
            n++;
        }
        xy[2 * n] = px;
        xy[2 * n + 1] = py;
        n++;
    }
    if (n > 0) {
        xy[2 * n] = ds_scale_map(x, (double)run->count);
        xy[2 * n + 1] = xy[2 * n - 1];
        n++;
    }
    return n;
}

static void draw_cross(ds_canvas *c, double x, double y, double r, ds_color color)
{
    ds_canvas_line(c, x - r, y - r, x + r, y + r, color, 1.6, 0);
    ds_canvas_line(c, x - r, y + r, x + r, y - r, color, 1.6, 0);
}

static void draw_failed(ds_canvas *c, const ds_convergence *run, const history *h, const ds_scale *x)
{
    if (h->failed == 0) {
        return;
    }
    ds_canvas_rect(c, LEFT, TOP, RIGHT - LEFT, FAILED_BAND, ds_color_hex(0xf6f1ec, 1), GRID_COLOR, 0);
    double last = -1e9;
    for (uint64_t i = 0; i < run->count; i++) {
        double p = ds_scale_map(x, (double)i + 1);
        if (!isfinite(run->loss[i]) && p - last >= 1.5) {
            draw_cross(c, p, TOP + FAILED_BAND / 2.0, 4, FAIL_COLOR);
            last = p;
        }
    }
}

/* ---- labels ---- */

typedef struct box {
    double x, y, w, h;
} box;

static double overlap(box a, box b)
{
    double w = fmin(a.x + a.w, b.x + b.w) - fmax(a.x, b.x);
    double h = fmin(a.y + a.h, b.y + b.h) - fmax(a.y, b.y);
    return w > 0 && h > 0 ? w * h : 0;
}

/* How much of the curve a label would cover, in pixels. */
static double covered(box b, const double *xy, size_t n)
{
    double sum = 0;
    for (size_t i = 1; i < n; i++) {
        box s = {fmin(xy[2 * i - 2], xy[2 * i]), fmin(xy[2 * i - 1], xy[2 * i + 1]), 0, 0};
        s.w = fmax(xy[2 * i - 2], xy[2 * i]) - s.x + 1;
        s.h = fmax(xy[2 * i - 1], xy[2 * i + 1]) - s.y + 1;
        sum += overlap(b, s);
    }
    return sum;
}

/* Writes a label near (px, py) where it covers least, clear of the label `taken`. */
static box place_label(ds_canvas *c, double px, double py, const char *text, const double *xy, size_t n,
                       double top, box taken)
{
    double w = ds_canvas_text_width(c, 16, DS_TEXT_BOLD, text) + 12;
    double h = 24;
    double dx[6] = {12, -w - 12, 12, -w - 12, -w / 2, -w / 2};
    double dy[6] = {-h - 8, -h - 8, 8, 8, -h - 12, 12};
    box chosen = {0, 0, 0, 0};
    double least = INFINITY;
    for (int k = 0; k < 6; k++) {
        box b = {px + dx[k], py + dy[k], w, h};
        double outside = fmax(0, LEFT + 2 - b.x) + fmax(0, b.x + w - RIGHT) + fmax(0, top - b.y) +
                         fmax(0, b.y + h - (BOTTOM - 2));
        double cost = outside * 1000 + overlap(b, taken) * 100 + covered(b, xy, n) + k;
        if (cost < least) {
            least = cost;
            chosen = b;
        }
    }
    chosen.x = fmax(LEFT + 2, fmin(RIGHT - w, chosen.x));
    ds_canvas_rect(c, chosen.x, chosen.y, w, h, ds_color_hex(0xffffff, 0.85), GRID_COLOR, 0);
    ds_canvas_text(c, chosen.x + 6, chosen.y + 17, 16, DS_TEXT_BOLD, DS_PLOT_TEXT, 0, text);
    return chosen;
}

static void draw_curve(ds_canvas *c, const ds_convergence *run, const history *h, const ds_scale *x,
                       const ds_scale *y, int64_t above)
{
    double *xy;
    size_t n = curve_points(run, h, x, y, &xy);
    ds_canvas_polyline(c, xy, n, ds_color_hex(0xffffff, 0.8), 5, 0);
    ds_canvas_polyline(c, xy, n, BEST_COLOR, 2.8, 0);
    char number[64];
    char text[160];
    box none = {0, 0, 0, 0};
    if (above > 0) {
        snprintf(text, sizeof text, "%lld above the range", (long long)above);
        none.w = ds_canvas_text_width(c, 13, 0, text) + 16;
        none.x = RIGHT - none.w;
        none.y = y->to;
        none.h = 22;
        ds_canvas_rect(c, none.x, none.y, none.w, none.h, ds_color_hex(0xffffff, 0.85), GRID_COLOR, 0);
        ds_canvas_text(c, RIGHT - 8, y->to + 16, 13, DS_TEXT_RIGHT, DS_PLOT_SOFT, 0, text);
    }
    double bx = ds_scale_map(x, (double)h->best + 1);
    double by = ds_scale_map(y, run->loss[h->best]);
    ds_canvas_circle(c, bx, by, 6, ds_color_hex(0xffffff, 1), BEST_COLOR, 2.8);
    ds_label_number(number, sizeof number, run->loss[h->best], 6);
    snprintf(text, sizeof text, "best %s", number);
    box taken = place_label(c, bx, by, text, xy, n, y->to, none);
    if (h->first != h->best) {
        double fx = ds_scale_map(x, (double)h->first + 1);
        double fy = fmax(y->to, ds_scale_map(y, run->loss[h->first]));
        ds_canvas_circle(c, fx, fy, 5, ds_color_hex(0xffffff, 1), BEST_COLOR, 2.2);
        ds_label_number(number, sizeof number, run->loss[h->first], 5);
        snprintf(text, sizeof text, "start %s", number);
        place_label(c, fx, fy, text, xy, n, y->to, taken);
    }
    free(xy);
}

static void draw_guides(ds_canvas *c, const ds_convergence *run, const ds_scale *x, const ds_scale *y)
{
    if (isfinite(run->target)) {
        double p = ds_scale_map(y, run->target);
        ds_canvas_line(c, LEFT, p, RIGHT, p, ds_color_hex(0x009e73, 1), 1.6, 7);
        ds_canvas_text(c, LEFT + 8, p - 6, 14, DS_TEXT_LEFT, ds_color_hex(0x00785a, 1), 0, "target");
    }
    if (run->budget > 0 && run->budget != run->count && (double)run->budget <= x->high) {
        double p = ds_scale_map(x, (double)run->budget);
        ds_canvas_line(c, p, TOP, p, BOTTOM, ds_color_hex(0x999999, 1), 1.4, 5);
        ds_canvas_text(c, p - 6, TOP + 90, 14, DS_TEXT_CENTER, DS_PLOT_SOFT, -90, "budget planned");
    }
}

static void draw_title(ds_canvas *c, const ds_convergence *run, const history *h)
{
    char title[256], text[512], part[128];
    snprintf(title, sizeof title, "%.100s  " DOT "  %.100s", run->env, run->opt);
    if (h->steps > 0) {
        ds_label_number(part, sizeof part, run->loss[h->best], 8);
        snprintf(text, sizeof text, "best loss %s at evaluation %llu of %llu", part,
                 (unsigned long long)h->best + 1, (unsigned long long)run->count);
    } else {
        snprintf(text, sizeof text, "%llu evaluation%s", (unsigned long long)run->count,
                 run->count == 1 ? "" : "s");
    }
    size_t n = strlen(text);
    if (run->budget > 0 && run->budget != run->count) {
        n += (size_t)snprintf(text + n, sizeof text - n, " (budget %llu)", (unsigned long long)run->budget);
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "  " DOT "  seed %llu", (unsigned long long)run->seed);
    if (h->failed > 0) {
        n += (size_t)snprintf(text + n, sizeof text - n, "  " DOT "  %llu failed",
                              (unsigned long long)h->failed);
    }
    if (run->note != NULL && run->note[0] != '\0') {
        snprintf(text + n, sizeof text - n, "  " DOT "  %.200s", run->note);
    }
    ds_plot_title(c, title, text, DS_PLOT_WIDTH);
}

/* One row above the plot area: the curve, the kinds that occur, failed evaluations. */
static void draw_legend(ds_canvas *c, const ds_convergence *run, const history *h)
{
    double x = LEFT;
    double y = TOP - 16;
    if (h->steps > 0) {
        ds_canvas_line(c, x, y - 5, x + 26, y - 5, BEST_COLOR, 2.8, 0);
        ds_canvas_text(c, x + 34, y, 15, 0, DS_PLOT_TEXT, 0, "best so far");
        x += 34 + ds_canvas_text_width(c, 15, 0, "best so far") + 28;
    }
    for (uint32_t t = 0; t < MAX_TAGS; t++) {
        if (h->used[t] == 0) {
            continue;
        }
        const char *name = run->tag != NULL && t < run->tags && run->tag_name != NULL ? run->tag_name[t] : "";
        name = name == NULL || name[0] == '\0' ? "evaluations" : name;
        double dot[2] = {x + 5, y - 5};
        ds_canvas_dots(c, dot, 1, 5, tag_color(t, 0.75));
        ds_canvas_text_fit(c, x + 18, y, 15, 0, DS_PLOT_TEXT, 130, name);
        x += 18 + fmin(130, ds_canvas_text_width(c, 15, 0, name)) + 24;
    }
    if (h->failed > 0 && x < RIGHT - 80) {
        draw_cross(c, x + 5, y - 5, 4.5, FAIL_COLOR);
        ds_canvas_text(c, x + 18, y, 15, 0, DS_PLOT_TEXT, 0, "failed");
    }
}

static int draw(ds_canvas *c, const void *what)
{
    const history *h = what;
    const ds_convergence *run = h->run;
    ds_scale x = x_scale(run);
    ds_scale y = y_scale(run, h);
    draw_title(c, run, h);
    draw_legend(c, run, h);
    if (h->steps > 0) {
        draw_axes(c, &x, &y);
    } else {
        ds_canvas_rect(c, LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP, ds_color_hex(0xfafafa, 1), GRID_COLOR, 1);
    }
    draw_failed(c, run, h, &x);
    if (h->steps == 0) {
        ds_canvas_text(c, (LEFT + RIGHT) / 2.0, (TOP + BOTTOM) / 2.0, 24, DS_TEXT_CENTER, DS_PLOT_SOFT, 0,
                       run->count == 0 ? "no evaluations" : "no finite loss: every evaluation failed");
        return 0;
    }
    draw_guides(c, run, &x, &y);
    int64_t above = draw_dots(c, run, &x, &y);
    if (above < 0) {
        return DS_EXIT_MEMORY;
    }
    draw_curve(c, run, h, &x, &y, above);
    return 0;
}

int ds_picture_convergence(const char *png_path, const char *svg_path, const ds_convergence *run, ds_error *e)
{
    history h;
    int status = look_at_run(run, &h) != 0
                     ? ds_no_memory(e)
                     : ds_canvas_files(png_path, svg_path, DS_PLOT_WIDTH, DS_PLOT_HEIGHT, draw, &h, e);
    free(h.step);
    return status;
}

/* ---- the best point as bars within its bounds, for environments without a scene ---- */

enum { NAMES_MAX = 40, BAR_MAX = 120 /* pixels, so that few variables do not fill the page */ };
enum { BARS_LEFT = 100, BARS_RIGHT = DS_PLOT_WIDTH - 40, BARS_TOP = 120, BARS_BOTTOM = DS_PLOT_HEIGHT - 84 };

#define DOT "\xc2\xb7"
#define GRID_COLOR ds_color_hex(0xe7e7e7, 1)

/* With equal bounds for all variables the axis can show values instead of shares. */
static int same_bounds(uint64_t n, const double *lower, const double *upper)
{
    for (uint64_t i = 1; i < n; i++) {
        if (lower[i] < lower[0] || lower[i] > lower[0] || upper[i] < upper[0] || upper[i] > upper[0]) {
            return 0;
        }
    }
    return 1;
}

/* 0 at the lower, 1 at the upper bound. */
static double share(double x, double lower, double upper)
{
    /* a fixed variable is in the middle */
    double t = lower < upper ? (x / 2 - lower / 2) / (upper / 2 - lower / 2) : 0.5;
    return isnan(t) ? 0 : fmax(0, fmin(1, t));
}

static double height(double t)
{
    return BARS_BOTTOM - t * (BARS_BOTTOM - BARS_TOP);
}

static void draw_axis(ds_canvas *c, int values, double lower, double upper)
{
    ds_scale s = {DS_SCALE_LINEAR, values ? lower : 0, values ? upper : 100, 0, BARS_BOTTOM, BARS_TOP};
    ds_tick ticks[DS_SCALE_MAX_TICKS];
    size_t n = ds_scale_ticks(&s, values ? 7 : 4, ticks);
    for (size_t i = 0; i < n; i++) {
        double p = ds_scale_map(&s, ticks[i].value);
        char text[DS_TICK_LABEL_MAX + 4];
        snprintf(text, sizeof text, "%s%s", ticks[i].label, values ? "" : " %");
        ds_canvas_line(c, BARS_LEFT, p, BARS_RIGHT, p, GRID_COLOR, 1, 0);
        ds_canvas_text(c, BARS_LEFT - 10, p + 5, 15, DS_TEXT_RIGHT, DS_PLOT_TEXT, 0, text);
    }
    ds_canvas_text(c, 30, (BARS_TOP + BARS_BOTTOM) / 2.0, 18, DS_TEXT_CENTER, DS_PLOT_TEXT, -90,
                   values ? "value of the variable" : "position between its bounds");
}

/* Writes the variables' names and units below the bars. Returns 0 if they do not fit. */
static int draw_names(ds_canvas *c, uint64_t n, const ds_named_variable *variables)
{
    double wide = (double)(BARS_RIGHT - BARS_LEFT) / (double)n;
    char label[DS_VARIABLE_LABEL];
    int fit = variables != NULL && n <= NAMES_MAX;
    for (uint64_t i = 0; i < n && fit; i++) {
        ds_variable_label(variables, i, label);
        fit = ds_canvas_text_width(c, 13, 0, label) + 8 < wide;
    }
    for (uint64_t i = 0; i < n && fit; i++) {
        ds_variable_label(variables, i, label);
        ds_canvas_text(c, BARS_LEFT + ((double)i + 0.5) * wide, BARS_BOTTOM + 22, 13, DS_TEXT_CENTER,
                       DS_PLOT_TEXT, 0, label);
    }
    return fit;
}

/* Numbers the variables below the bars, as many as fit. */
static void draw_numbers(ds_canvas *c, uint64_t n)
{
    double wide = (double)(BARS_RIGHT - BARS_LEFT) / (double)n;
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)(n - 1));
    double room = ds_canvas_text_width(c, 15, 0, text) + 12;
    static const uint64_t steps[3] = {1, 2, 5};
    uint64_t every = 1;
    for (uint64_t power = 1, k = 0; wide * (double)every < room; k++) {
        power *= k > 0 && k % 3 == 0 ? 10 : 1;
        every = power * steps[k % 3];
    }
    for (uint64_t i = 0; i < n; i += every) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)i);
        ds_canvas_text(c, BARS_LEFT + ((double)i + 0.5) * wide, BARS_BOTTOM + 22, 15, DS_TEXT_CENTER,
                       DS_PLOT_TEXT, 0, text);
    }
}

static void draw_bar(ds_canvas *c, double left, double wide, double from, double to)
{
    double y = height(fmax(from, to));
    ds_canvas_rect(c, left, y, wide, fmax(2, height(fmin(from, to)) - y), ds_color_hex(0x56b4e9, 1),
                   GRID_COLOR, 0);
}

static void draw_bars(ds_canvas *c, uint64_t n, const double *x, const double *lower, const double *upper,
                      int values)
{
    double wide = (double)(BARS_RIGHT - BARS_LEFT) / (double)n;
    double gap = wide > 6 ? fmax(fmin(14, wide * 0.22), wide - BAR_MAX) : 0;
    /* Bars start at zero if the bounds of all variables contain it, else in the middle. */
    int zero = values && lower[0] < 0 && upper[0] > 0;
    double from = zero ? share(0, lower[0], upper[0]) : 0.5;
    if (wide < 2) {
        /* With more variables than pixels each column shows a range. */
        uint64_t columns = (BARS_RIGHT - BARS_LEFT) / 2;
        for (uint64_t k = 0; k < columns; k++) {
            double low = 1;
            double high = 0;
            for (uint64_t i = k * n / columns; i < (k + 1) * n / columns; i++) {
                low = fmin(low, share(x[i], lower[i], upper[i]));
                high = fmax(high, share(x[i], lower[i], upper[i]));
            }
            draw_bar(c, BARS_LEFT + 2.0 * (double)k, 2, low, high);
        }
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        double left = BARS_LEFT + (double)i * wide + gap / 2;
        double t = share(x[i], lower[i], upper[i]);
        if (gap > 0) {
            ds_canvas_rect(c, left, BARS_TOP, wide - gap, BARS_BOTTOM - BARS_TOP, ds_color_hex(0xf3f5f7, 1),
                           GRID_COLOR, 0);
        }
        draw_bar(c, left, wide - gap, from, t);
        ds_canvas_line(c, left, height(t), left + wide - gap, height(t), ds_color_hex(0x0072b2, 1), 3, 0);
        if (n <= 16) {
            char text[64];
            ds_label_number(text, sizeof text, x[i], 4);
            double y = t >= from ? height(t) - 9 : height(t) + 21;
            y = y < BARS_TOP + 16 ? height(t) + 21 : y > BARS_BOTTOM - 6 ? height(t) - 9 : y;
            ds_canvas_text(c, left + (wide - gap) / 2, y, wide > 70 ? 15 : 13, DS_TEXT_CENTER, DS_PLOT_TEXT,
                           0, text);
        }
    }
    ds_canvas_line(c, BARS_LEFT, height(from), BARS_RIGHT, height(from), ds_color_hex(0x999999, 1), 1, 0);
    if (!zero) {
        ds_canvas_text(c, BARS_RIGHT, BARS_TOP - 12, 15, DS_TEXT_RIGHT, DS_PLOT_SOFT, 0,
                       "bars start midway between the bounds");
    }
}

int ds_picture_best_x(const char *path, const ds_bars *bars, const ds_caption *caption, ds_error *e)
{
    uint64_t n = bars->n;
    const double *lower = bars->lower, *upper = bars->upper;
    ds_canvas *c = ds_canvas_new(DS_CANVAS_PNG, DS_PLOT_WIDTH, DS_PLOT_HEIGHT);
    if (c == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "%s: out of memory for the figure", path);
    }
    char title[512], line[512];
    ds_caption_title(title, sizeof title, caption);
    ds_caption_line(line, sizeof line, caption);
    ds_plot_title(c, title, line, DS_PLOT_WIDTH);
    int values = n > 0 && same_bounds(n, lower, upper);
    if (n > 0) {
        draw_axis(c, values, lower[0], upper[0]);
        draw_bars(c, n, bars->x, lower, upper, values);
        if (!draw_names(c, n, bars->variables)) {
            draw_numbers(c, n);
        }
        ds_canvas_text(c, (BARS_LEFT + BARS_RIGHT) / 2.0, BARS_BOTTOM + 56, 18, DS_TEXT_CENTER, DS_PLOT_TEXT,
                       0, "decision variable");
    }
    int status = ds_canvas_write(c, path, e);
    ds_canvas_free(c);
    return status;
}

void ds_caption_title(char *out, size_t room, const ds_caption *caption)
{
    int named = caption->settings != NULL && caption->settings[0] != '\0';
    snprintf(out, room, "%.100s%s%.300s%s%s%.100s", caption->env, named ? " (" : "",
             named ? caption->settings : "", named ? ")" : "", caption->opt != NULL ? "  " DOT "  " : "",
             caption->opt != NULL ? caption->opt : "");
}

void ds_caption_line(char *out, size_t room, const ds_caption *caption)
{
    char number[64] = "none: the evaluation failed";
    if (caption->no_loss) {
        snprintf(out, room, "%s", caption->text);
        return;
    }
    if (isfinite(caption->loss)) {
        ds_label_number(number, sizeof number, caption->loss, 8);
    }
    size_t n = (size_t)snprintf(out, room, "loss %s", number);
    if (caption->number > 0 && n < room) {
        n += (size_t)snprintf(out + n, room - n, " at evaluation %llu", (unsigned long long)caption->number);
    }
    if (caption->opt != NULL && n < room) {
        n += (size_t)snprintf(out + n, room - n, "  " DOT "  seed %llu", (unsigned long long)caption->seed);
    }
    if (caption->text != NULL && caption->text[0] != '\0' && n < room) {
        snprintf(out + n, room - n, "  " DOT "  %s", caption->text);
    }
}
