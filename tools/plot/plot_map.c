/* SPDX-License-Identifier: Apache-2.0 */
/* plot_map.c - contours, and a heat map with arrows, paths and points (see plot_map.h). */
#include "config.h"

#include "plot/plot_map.h"

#include "plot/canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- contour lines: marching squares, whose segments are joined ---- */

#define NONE UINT64_MAX

/* Edge 2k leads from grid point k to the right, edge 2k + 1 from k to the next row. A line passes from edge
 * to edge; each edge has at most two neighbours on the line. */
typedef struct mesh {
    const double *v;
    uint64_t columns, rows;
    double level;
    uint64_t (*link)[2];
} mesh;

static void join(mesh *m, uint64_t a, uint64_t b)
{
    m->link[a][m->link[a][0] == NONE ? 0 : 1] = b;
    m->link[b][m->link[b][0] == NONE ? 0 : 1] = a;
}

/* The segments of the cell whose first corner is point k. */
static void join_cell(mesh *m, uint64_t k)
{
    const double *v = m->v;
    uint64_t w = m->columns;
    double corner[4] = {v[k], v[k + 1], v[k + w + 1], v[k + w]};
    uint64_t edge[4] = {2 * k, 2 * (k + 1) + 1, 2 * (k + w), 2 * k + 1}; /* bottom, right, top, left */
    uint64_t crossed[4];
    int above[4], n = 0;
    double sum = 0;
    for (int c = 0; c < 4; c++) {
        if (!isfinite(corner[c])) {
            return;
        }
        above[c] = corner[c] >= m->level;
        sum += corner[c] / 4;
    }
    for (int c = 0; c < 4; c++) {
        if (above[c] != above[(c + 1) % 4]) {
            crossed[n++] = edge[c];
        }
    }
    if (n == 2) {
        join(m, crossed[0], crossed[1]);
    } else if (n == 4) {
        /* At a saddle the mean decides which corners are connected. */
        int with_first = (sum >= m->level) == above[0];
        join(m, crossed[0], crossed[with_first ? 1 : 3]);
        join(m, crossed[2], crossed[with_first ? 3 : 1]);
    }
}

static void place(const mesh *m, uint64_t edge, double *xy)
{
    uint64_t a = edge / 2, b = edge % 2 == 0 ? a + 1 : a + m->columns;
    double t = (m->level - m->v[a]) / (m->v[b] - m->v[a]);
    t = isfinite(t) ? t : 0.5;
    xy[0] = (double)(a % m->columns) + (edge % 2 == 0 ? t : 0);
    xy[1] = (double)(a / m->columns) + (edge % 2 == 0 ? 0 : t);
}

/* Walks along a line from one end, or around it, and removes its links. */
static size_t walk(mesh *m, uint64_t edge, double *xy)
{
    size_t n = 0;
    place(m, edge, xy);
    for (n = 1; m->link[edge][0] != NONE || m->link[edge][1] != NONE; n++) {
        int side = m->link[edge][0] != NONE ? 0 : 1;
        uint64_t next = m->link[edge][side];
        m->link[edge][side] = NONE;
        int back = m->link[next][0] == edge ? 0 : 1;
        m->link[next][back] = NONE;
        edge = next;
        place(m, edge, xy + 2 * n);
    }
    return n;
}

int ds_contour(const double *v, uint64_t columns, uint64_t rows, double level, ds_contour_line *line,
               void *ctx)
{
    if (columns < 2 || rows < 2) {
        return 0;
    }
    uint64_t edges = 2 * columns * rows;
    mesh m = {v, columns, rows, level, malloc(edges * sizeof *m.link)};
    double *xy = malloc((edges + 1) * 2 * sizeof *xy);
    if (m.link == NULL || xy == NULL) {
        free(m.link);
        free(xy);
        return -1;
    }
    for (uint64_t k = 0; k < edges; k++) {
        m.link[k][0] = m.link[k][1] = NONE;
    }
    for (uint64_t j = 0; j + 1 < rows; j++) {
        for (uint64_t i = 0; i + 1 < columns; i++) {
            join_cell(&m, j * columns + i);
        }
    }
    for (int closed = 0; closed < 2; closed++) { /* open lines from their ends first */
        for (uint64_t k = 0; k < edges; k++) {
            int one = m.link[k][0] != NONE, two = m.link[k][1] != NONE;
            if (closed ? one || two : one != two) {
                line(ctx, xy, walk(&m, k, xy));
            }
        }
    }
    free(m.link);
    free(xy);
    return 0;
}

enum {
    LEFT = 110,
    TOP = 110,
    SIDE = 640, /* of the square frame */
    BAR_LEFT = LEFT + SIDE + 24,
    BAR_WIDTH = 22,
    TEXT_LEFT = BAR_LEFT + BAR_WIDTH + 100,
    ARROWS = 20,         /* about, along one side */
    COLORS = 256,        /* of the bar */
    SIDE_MAX = 2000,     /* grid points along a side that are drawn individually */
    KEY_HEIGHT = 23,     /* of a row of the legend */
    HATCHES_MAX = 20000, /* failed cells that are hatched individually */
    CONTOUR_POINTS = 1000000
};
#define OUTSIDE_COLOR ds_color_hex(0xeeeeee, 1)
#define FAILED_COLOR ds_color_hex(0xcfc4bc, 1)
#define HATCH_COLOR ds_color_hex(0x8c7b70, 1)
#define FLAT_COLOR ds_color_hex(0xffffff, 1)
#define MARK_COLOR ds_color_hex(0xff5a36, 1)

typedef struct drawing {
    ds_canvas *c;
    const ds_map *m;
    ds_scale x, y;
    ds_scale color; /* values to 0..1 */
} drawing;

/* ---- scales ---- */

static void value_range(const ds_map *m, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (uint64_t k = 0; k < m->columns * m->rows; k++) {
        double v = m->value[k];
        if (isfinite(v) && (m->kind != DS_SCALE_LOG || v > 0)) {
            *low = fmin(*low, v);
            *high = fmax(*high, v);
        }
    }
    *low = isfinite(m->low) ? m->low : *low;
    *high = isfinite(m->high) ? m->high : *high;
}

static drawing begin_map(ds_canvas *c, const ds_map *m)
{
    drawing d = {.c = c, .m = m};
    double low, high;
    value_range(m, &low, &high);
    int logarithmic = m->kind == DS_SCALE_LOG && low > 0 && high > 2 * low;
    d.x = (ds_scale){DS_SCALE_LINEAR, m->x_low, m->x_high, 1, LEFT, LEFT + SIDE};
    d.y = (ds_scale){DS_SCALE_LINEAR, m->y_low, m->y_high, 1, TOP + SIDE, TOP};
    if (!isfinite(low) || !isfinite(high)) {
        low = 0;
        high = 1;
    }
    if (!(high > low)) { /* a constant field has one colour, the middle one */
        double half = low < 0 || low > 0 ? 0.1 * fabs(low) : 0.5;
        low -= half;
        high += half;
    }
    d.color = (ds_scale){logarithmic ? DS_SCALE_LOG : DS_SCALE_LINEAR, low, high, 1, 0, 1};
    return d;
}

/* Grid point for column or row k, if at most SIDE_MAX of `count` are drawn. */
static uint64_t thin(uint64_t k, uint64_t drawn, uint64_t count)
{
    return drawn == count ? k : k * (count - 1) / (drawn - 1);
}

/* ---- field ---- */

static uint32_t pixel_of(const drawing *d, uint64_t k)
{
    const ds_map *m = d->m;
    uint8_t cell = m->cell != NULL ? m->cell[k] : DS_CELL_VALUE;
    if (cell == DS_CELL_OUTSIDE) {
        return ds_color_pixel(OUTSIDE_COLOR);
    }
    if (cell == DS_CELL_FLAT) {
        return ds_color_pixel(FLAT_COLOR);
    }
    return cell == DS_CELL_FAILED || !isfinite(m->value[k])
               ? ds_color_pixel(FAILED_COLOR)
               : ds_color_pixel(ds_color_viridis(ds_scale_map(&d->color, m->value[k])));
}

static int draw_field(const drawing *d)
{
    const ds_map *m = d->m;
    uint64_t w = m->columns < SIDE_MAX ? m->columns : SIDE_MAX, h = m->rows < SIDE_MAX ? m->rows : SIDE_MAX;
    uint32_t *pixels = malloc(w * h * sizeof *pixels);
    if (pixels == NULL) {
        return DS_EXIT_MEMORY;
    }
    for (uint64_t j = 0; j < h; j++) {
        for (uint64_t i = 0; i < w; i++) {
            uint64_t k = thin(h - 1 - j, h, m->rows) * m->columns + thin(i, w, m->columns);
            pixels[j * w + i] = pixel_of(d, k);
        }
    }
    /* Cells extend half a spacing beyond their points. */
    double dx = (double)SIDE / (double)(w - 1), dy = (double)SIDE / (double)(h - 1);
    ds_canvas_cells(d->c, LEFT - dx / 2, TOP - dy / 2, SIDE + dx, SIDE + dy, (int)w, (int)h, pixels);
    free(pixels);
    return 0;
}

static void draw_hatches(const drawing *d)
{
    const ds_map *m = d->m;
    uint64_t failed = 0;
    double dx = (double)SIDE / (double)(m->columns - 1) / 2, dy = (double)SIDE / (double)(m->rows - 1) / 2;
    for (uint64_t k = 0; k < m->columns * m->rows && m->cell != NULL; k++) {
        failed += m->cell[k] == DS_CELL_FAILED;
    }
    for (uint64_t k = 0; k < m->columns * m->rows && failed > 0 && failed <= HATCHES_MAX; k++) {
        if (m->cell[k] == DS_CELL_FAILED) {
            double px = LEFT + 2 * dx * (double)(k % m->columns);
            double py = TOP + SIDE - 2 * dy * (double)(k / m->columns);
            ds_canvas_line(d->c, px - dx, py + dy, px + dx, py - dy, HATCH_COLOR, 1, 0);
        }
    }
}

/* ---- contours ---- */

static void draw_contour(void *ctx, const double *xy, size_t n)
{
    const drawing *d = ctx;
    double *p = malloc(2 * n * sizeof *p);
    for (size_t k = 0; k < n && p != NULL; k++) {
        p[2 * k] = LEFT + SIDE * xy[2 * k] / (double)(d->m->columns - 1);
        p[2 * k + 1] = TOP + SIDE - SIDE * xy[2 * k + 1] / (double)(d->m->rows - 1);
    }
    if (p != NULL) {
        ds_canvas_polyline(d->c, p, n, ds_color_hex(0x000000, 0.38), 0.9, 0);
    }
    free(p);
}

static int draw_contours(drawing *d)
{
    ds_tick ticks[DS_SCALE_MAX_TICKS];
    const ds_map *m = d->m;
    int rc = 0;
    if (m->contours <= 0 || m->columns * m->rows > CONTOUR_POINTS) {
        return 0;
    }
    size_t n = ds_scale_ticks(&d->color, m->contours, ticks);
    for (size_t k = 0; k < n && rc == 0; k++) {
        if (ticks[k].value > d->color.low && ticks[k].value < d->color.high) {
            rc = ds_contour(m->value, m->columns, m->rows, ticks[k].value, draw_contour, d);
        }
    }
    return rc != 0 ? DS_EXIT_MEMORY : 0;
}

/* ---- arrows and marks ---- */

/* An arrow centred at (x, y) along the unit vector (u, v), in pixels. */
static void draw_arrow(ds_canvas *c, double x, double y, double u, double v, double length, ds_color color)
{
    double h = length / 2, head = fmin(6.5, length * 0.4);
    double x0 = x - u * h, y0 = y - v * h, x1 = x + u * h, y1 = y + v * h;
    double tip[6] = {x1,
                     y1,
                     x1 - u * head - v * head * 0.55,
                     y1 - v * head + u * head * 0.55,
                     x1 - u * head + v * head * 0.55,
                     y1 - v * head - u * head * 0.55};
    ds_color dark = ds_color_hex(0x000000, 0.45);
    ds_canvas_line(c, x0, y0, x1 - u * head * 0.7, y1 - v * head * 0.7, dark, 3, 0);
    ds_canvas_polygon(c, tip, 3, dark, dark, 1.6);
    ds_canvas_line(c, x0, y0, x1 - u * head * 0.7, y1 - v * head * 0.7, color, 1.5, 0);
    ds_canvas_polygon(c, tip, 3, color, color, 0);
}

/* Marks a zero gradient. */
static void draw_zero(ds_canvas *c, double x, double y)
{
    ds_canvas_circle(c, x, y, 2.4, ds_color_hex(0xffffff, 1), ds_color_hex(0x000000, 0.6), 1);
}

/* Marks the lowest point. */
static void draw_ring(ds_canvas *c, double x, double y, double radius)
{
    ds_canvas_circle(c, x, y, radius, ds_color_hex(0, 0), ds_color_hex(0x000000, 0.7), 4.5);
    ds_canvas_circle(c, x, y, radius, ds_color_hex(0, 0), ds_color_hex(0xffffff, 1), 2.4);
}

static void draw_one_arrow(const drawing *d, uint64_t i, uint64_t j, double length)
{
    const ds_map *m = d->m;
    uint64_t k = j * m->columns + i;
    double u = m->dx[k] * (m->x_high - m->x_low), v = -m->dy[k] * (m->y_high - m->y_low);
    double x = LEFT + SIDE * (double)i / (double)(m->columns - 1);
    double y = TOP + SIDE - SIDE * (double)j / (double)(m->rows - 1);
    double size = hypot(u, v);
    if (!isfinite(size)) {
        return;
    }
    if (size > 0) {
        draw_arrow(d->c, x, y, u / size, v / size, length,
                   m->marked != NULL && m->marked[k] ? MARK_COLOR : ds_color_hex(0xffffff, 1));
    } else {
        draw_zero(d->c, x, y);
    }
}

/* Stride in grid points between arrows along a side. */
static uint64_t arrow_stride(uint64_t count)
{
    uint64_t stride = (count - 1 + ARROWS / 2) / ARROWS;
    return stride > 0 ? stride : 1;
}

static void draw_arrows(const drawing *d)
{
    const ds_map *m = d->m;
    uint64_t across = arrow_stride(m->columns), up = arrow_stride(m->rows);
    double dx = SIDE * (double)across / (double)(m->columns - 1);
    double dy = SIDE * (double)up / (double)(m->rows - 1);
    /* Centres the arrows; arrows on the edge would be cut. */
    uint64_t i0 = (m->columns - 1) % across / 2, j0 = (m->rows - 1) % up / 2;
    i0 = i0 == 0 ? across : i0;
    j0 = j0 == 0 ? up : j0;
    for (uint64_t j = j0; j + 1 < m->rows; j += up) {
        for (uint64_t i = i0; i + 1 < m->columns; i += across) {
            draw_one_arrow(d, i, j, fmin(28, 0.66 * fmin(dx, dy)));
        }
    }
}

static int draw_marks(const drawing *d)
{
    const ds_map *m = d->m;
    double *xy = malloc((2 * m->columns * m->rows + 1) * sizeof *xy);
    size_t n = 0;
    for (uint64_t k = 0; k < m->columns * m->rows && xy != NULL; k++) {
        if (m->marked[k]) {
            xy[2 * n] = LEFT + SIDE * (double)(k % m->columns) / (double)(m->columns - 1);
            xy[2 * n + 1] = TOP + SIDE - SIDE * (double)(k / m->columns) / (double)(m->rows - 1);
            n++;
        }
    }
    double spacing = (double)SIDE / (double)((m->columns > m->rows ? m->columns : m->rows) - 1);
    ds_canvas_dots(d->c, xy, n, fmax(0.8, fmin(3, 0.3 * spacing)), MARK_COLOR);
    free(xy);
    return xy == NULL ? DS_EXIT_MEMORY : 0;
}

/* ---- paths ---- */

/* Points far from the map are pale, and so is the line to them. */
static double strength(const ds_map_path *p, uint64_t k)
{
    return 0.25 + 0.75 * (p->weight != NULL ? p->weight[k] : 1);
}

static void draw_end(const drawing *d, const ds_map_path *p, uint64_t k, int last)
{
    double x = ds_scale_map(&d->x, p->xy[2 * k]), y = ds_scale_map(&d->y, p->xy[2 * k + 1]);
    ds_color color = p->color, white = ds_color_hex(0xffffff, 1);
    color.a = white.a = strength(p, k);
    ds_canvas_circle(d->c, x, y, last ? 6 : 5, last ? color : white, last ? white : color, 2);
}

/* Draws the line through the points of a path; `white` draws its outline. */
static void draw_line(const drawing *d, const ds_map_path *p, int white)
{
    uint64_t last = UINT64_MAX;
    for (uint64_t k = 0; k < p->count; k++) {
        if (p->on_line != NULL && !p->on_line[k]) {
            continue;
        }
        if (last != UINT64_MAX) {
            ds_color color = white ? ds_color_hex(0xffffff, 0.9) : p->color;
            color.a *= fmin(strength(p, last), strength(p, k));
            ds_canvas_line(d->c, ds_scale_map(&d->x, p->xy[2 * last]),
                           ds_scale_map(&d->y, p->xy[2 * last + 1]), ds_scale_map(&d->x, p->xy[2 * k]),
                           ds_scale_map(&d->y, p->xy[2 * k + 1]), color, white ? 4.4 : 2.4, 0);
        }
        last = k;
    }
}

static void draw_path(const drawing *d, const ds_map_path *p)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (uint64_t k = 0; k < p->count; k++) {
        ds_color fill = p->color;
        fill.a = strength(p, k);
        ds_canvas_circle(d->c, ds_scale_map(&d->x, p->xy[2 * k]), ds_scale_map(&d->y, p->xy[2 * k + 1]), 3.2,
                         fill, ds_color_hex(0xffffff, fill.a), 0.8);
        if (p->on_line == NULL || p->on_line[k]) {
            first = first == UINT64_MAX ? k : first;
            last = k;
        }
    }
    if (first != UINT64_MAX) {
        draw_line(d, p, 1);
        draw_line(d, p, 0);
        draw_end(d, p, first, 0);
        draw_end(d, p, last, 1);
    }
}

/* ---- around ---- */

static void draw_bar(const drawing *d)
{
    uint32_t pixels[COLORS][BAR_WIDTH]; /* viewers that smooth images would blur a single column */
    ds_scale y = d->color;
    y.from = TOP + SIDE;
    y.to = TOP;
    for (int k = 0; k < COLORS; k++) {
        for (int i = 0; i < BAR_WIDTH; i++) {
            pixels[k][i] = ds_color_pixel(ds_color_viridis(1 - (double)k / (COLORS - 1)));
        }
    }
    ds_canvas_cells(d->c, BAR_LEFT, TOP, BAR_WIDTH, SIDE, BAR_WIDTH, COLORS, pixels[0]);
    ds_tick ticks[DS_SCALE_MAX_TICKS];
    size_t n = ds_scale_ticks(&y, 8, ticks);
    for (size_t k = 0; k < n; k++) {
        double p = ds_scale_map(&y, ticks[k].value);
        if (ticks[k].major && p > TOP - 1 && p < TOP + SIDE + 1) {
            ds_canvas_line(d->c, BAR_LEFT + BAR_WIDTH, p, BAR_LEFT + BAR_WIDTH + 5, p, DS_PLOT_SOFT, 1, 0);
            ds_canvas_text(d->c, BAR_LEFT + BAR_WIDTH + 9, p + 5, 14, 0, DS_PLOT_TEXT, 0, ticks[k].label);
        }
    }
    ds_canvas_rect(d->c, BAR_LEFT, TOP, BAR_WIDTH, SIDE, ds_color_hex(0, 0), DS_PLOT_SOFT, 1);
    if (d->m->value_label != NULL) {
        ds_canvas_text(d->c, BAR_LEFT, TOP + SIDE + 22, 14, 0, DS_PLOT_TEXT, 0, d->m->value_label);
    }
}

static void draw_swatch(ds_canvas *c, double x, double y, ds_color color)
{
    ds_canvas_rect(c, x + 4, y - 7, 20, 14, color, DS_PLOT_SOFT, 1);
}

/* A sign on a background in the map's colours, as far as it is white. */
static void draw_sign(ds_canvas *c, ds_map_sign sign, double x, double y)
{
    if (sign == DS_SIGN_ARROW || sign == DS_SIGN_MARKED_ARROW || sign == DS_SIGN_DOT ||
        sign == DS_SIGN_RING) {
        ds_canvas_rect(c, x, y - 9, 28, 18, ds_color_viridis(0.35), ds_color_hex(0, 0), 0);
    }
    switch (sign) {
    case DS_SIGN_ARROW:
    case DS_SIGN_MARKED_ARROW:
        draw_arrow(c, x + 14, y, 1, 0, 20, sign == DS_SIGN_ARROW ? ds_color_hex(0xffffff, 1) : MARK_COLOR);
        break;
    case DS_SIGN_DOT:
        draw_zero(c, x + 14, y);
        break;
    case DS_SIGN_MARK:
        ds_canvas_circle(c, x + 14, y, 3, MARK_COLOR, ds_color_hex(0, 0), 0);
        break;
    case DS_SIGN_RING:
        draw_ring(c, x + 14, y, 5.5);
        break;
    case DS_SIGN_CONTOUR:
        ds_canvas_line(c, x, y, x + 28, y, ds_color_hex(0x000000, 0.6), 1, 0);
        break;
    case DS_SIGN_FLAT:
        draw_swatch(c, x, y, FLAT_COLOR);
        break;
    case DS_SIGN_FAILED:
        draw_swatch(c, x, y, FAILED_COLOR);
        ds_canvas_line(c, x + 7, y + 7, x + 21, y - 7, HATCH_COLOR, 1, 0);
        break;
    case DS_SIGN_OUTSIDE:
        draw_swatch(c, x, y, OUTSIDE_COLOR);
        break;
    case DS_SIGN_NONE:
        break;
    }
}

static double draw_legend(const drawing *d, double y)
{
    for (int k = 0; k < d->m->keys; k++) {
        /* A line has no background of its own: the page decides how dark it is. */
        ds_canvas_group(d->c, d->m->key[k].sign == DS_SIGN_CONTOUR ? "sign" : "ink", "sign", NULL);
        draw_sign(d->c, d->m->key[k].sign, TEXT_LEFT, y - 5);
        ds_canvas_group_end(d->c);
        ds_canvas_text_fit(d->c, TEXT_LEFT + 38, y, 14, 0, DS_PLOT_SOFT, DS_MAP_WIDTH - TEXT_LEFT - 60,
                           d->m->key[k].text);
        y += KEY_HEIGHT;
    }
    return y;
}

static void draw_names(const drawing *d, double y)
{
    for (int k = 0; k < d->m->paths; k++) {
        const ds_map_path *p = &d->m->path[k];
        ds_canvas_group(d->c, "entry", p->name, NULL);
        ds_canvas_line(d->c, TEXT_LEFT, y - 5, TEXT_LEFT + 24, y - 5, p->color, 2.8, 0);
        ds_canvas_circle(d->c, TEXT_LEFT + 24, y - 5, 5, p->color, ds_color_hex(0xffffff, 1), 1.5);
        ds_canvas_text_fit(d->c, TEXT_LEFT + 38, y, 14, 0, DS_PLOT_TEXT, DS_MAP_WIDTH - TEXT_LEFT - 60,
                           p->name);
        ds_canvas_group_end(d->c);
        y += 22;
    }
}

static int draw(ds_canvas *c, const void *what)
{
    const ds_map *m = what;
    drawing d = begin_map(c, m);
    ds_axes axes = {LEFT, TOP, LEFT + SIDE, TOP + SIDE, &d.x, &d.y, m->x_label, m->y_label, 0, 0, 76, 0};
    ds_plot_title(c, m->title, m->subtitle, DS_MAP_WIDTH);
    ds_canvas_clip(c, LEFT, TOP, SIDE, SIDE);
    int rc = draw_field(&d);
    draw_hatches(&d);
    ds_canvas_group(c, "ink contours", "contours", NULL);
    rc = rc != 0 ? rc : draw_contours(&d);
    ds_canvas_group_end(c);
    ds_canvas_group(c, "ink arrows", "arrows", NULL);
    if (m->dx != NULL) {
        draw_arrows(&d);
    } else if (m->marked != NULL && rc == 0) {
        rc = draw_marks(&d);
    }
    ds_canvas_group_end(c);
    for (int k = 0; k < m->paths; k++) {
        ds_canvas_group(c, "ink marks", m->path[k].name, NULL);
        draw_path(&d, &m->path[k]);
        ds_canvas_group_end(c);
    }
    ds_canvas_unclip(c);
    ds_canvas_group(c, "ink", "lowest", NULL);
    if (isfinite(m->best[0]) && isfinite(m->best[1])) {
        draw_ring(c, ds_scale_map(&d.x, m->best[0]), ds_scale_map(&d.y, m->best[1]), 8);
    }
    ds_canvas_group_end(c);
    ds_axes_draw(c, &axes);
    draw_bar(&d);
    double y = ds_plot_text(c, TEXT_LEFT, TOP + 14, DS_MAP_WIDTH - TEXT_LEFT - 30, m->line, m->lines);
    draw_names(&d, draw_legend(&d, y + 14));
    return rc;
}

int ds_plot_map(const char *png_path, const char *svg_path, const ds_map *map, ds_error *e)
{
    int text = TOP + 60 + 21 * map->lines + KEY_HEIGHT * map->keys +
               22 * map->paths; /* the text next to the map may be longer */
    return ds_canvas_files(png_path, svg_path, DS_MAP_WIDTH, text > DS_MAP_HEIGHT ? text : DS_MAP_HEIGHT,
                           draw, map, e);
}
