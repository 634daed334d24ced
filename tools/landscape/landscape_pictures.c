/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_pictures.c - the figures of a landscape: losses with arrows, sizes of gradients, or three panels
 * over a line; gradients through time. */
#include "config.h"

#include "config/params.h"
#include "landscape/landscape.h"
#include "plot/plot_axes.h"
#include "plot/plot_lines.h"
#include "plot/plot_map.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- colour scale of losses, for figures and the page ---- */

int ds_landscape_loss_scale(const ds_landscape *l, double *high)
{
    const ds_spread *v = &l->measures.loss.loss;
    *high = NAN;
    /* Values over more than two decades need a logarithmic scale. */
    if (v->min > 0 && v->max > 100 * v->min && v->median < 0.15 * v->max) {
        return DS_SCALE_LOG;
    }
    /* A few exploded losses would leave one colour for all others. */
    if (v->max - v->q90 > 20 * (v->q90 - v->min) && v->q90 > v->min) {
        *high = v->q90 + (v->q90 - v->min);
    }
    return DS_SCALE_LINEAR;
}

#define DOT "\xc2\xb7"
#define TIMES "\xc3\x97"

/* Common parts of the figures of a slice. */
typedef struct sheet {
    const ds_landscape *l;
    ds_field f;
    double *memory; /* of the field */
    uint8_t *cell, *marked;
    double *extra; /* one value per point */
    char text[DS_MAP_LINES][160];
    const char *line[DS_MAP_LINES];
    int lines, loss_lines; /* the first ones describe the loss */
    char title[500], subtitle[400];
} sheet;

/* "torus (variant 1, preset small) . landscape" */
static void set_title(sheet *s, const char *what)
{
    char settings[360];
    ds_settings_text(settings, sizeof settings, s->l->session.env->params);
    snprintf(s->title, sizeof s->title, "%s%s%s%s  " DOT "  %s", s->l->session.env_module->id,
             settings[0] != '\0' ? " (" : "", settings, settings[0] != '\0' ? ")" : "", what);
}

static int no_memory(ds_error *e)
{
    return ds_fail(e, DS_EXIT_MEMORY, "out of memory for the figures");
}

static void add_line(sheet *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_line(sheet *s, const char *format, ...)
{
    va_list args;
    if (s->lines < DS_MAP_LINES) {
        va_start(args, format);
        vsnprintf(s->text[s->lines], sizeof s->text[0], format, args);
        va_end(args);
        s->line[s->lines] = s->text[s->lines];
        s->lines++;
    }
}

static void add_share(sheet *s, const char *name, uint64_t part, uint64_t whole)
{
    if (whole > 0) {
        double percent = 100 * (double)part / (double)whole;
        add_line(s, "%s\t%.*f %%", name, percent > 0 && percent < 1 ? 2 : 1, percent);
    }
}

static void describe_loss(sheet *s)
{
    const ds_landscape_measures *m = &s->l->measures;
    char low[48], high[48];
    uint64_t equal = 0, pairs = 0;
    if (m->loss.with_loss == 0) {
        return;
    }
    for (int a = 0; a < s->f.dims; a++) {
        equal += m->loss.axis[a].equal;
        pairs += m->loss.axis[a].pairs;
    }
    ds_label_number(low, sizeof low, m->loss.loss.min, 4);
    ds_label_number(high, sizeof high, m->loss.loss.max, 4);
    add_line(s, "*Loss");
    add_line(s, "range\t%s \xe2\x80\xa6 %s", low, high);
    add_line(s, "basins deeper than 1 %%\t%" PRIu64, m->basins.basins);
    add_line(s, "local minima\t%" PRIu64, m->basins.minima);
    add_share(s, "drains into the lowest", (uint64_t)(m->basins.drain * 1e6), 1000000);
    add_share(s, "neighbours on a plateau", equal, pairs);
    add_line(s, "turns per line\t%.1f", s->l->verdict.turns_per_line);
    add_share(s, "steep neighbours (> 5 %)", m->jump.steep, m->jump.pairs);
    if (m->jump.tested > 0) {
        add_line(s, "of these jumps\t%" PRIu64 " of %" PRIu64, m->jump.jumps, m->jump.tested);
    }
    if (m->loss.points > m->outside + m->loss.with_loss) {
        add_share(s, "no loss (hatched)", m->loss.points - m->outside - m->loss.with_loss,
                  m->loss.points - m->outside);
    }
}

static void describe_gradient(sheet *s)
{
    const ds_landscape_measures *m = &s->l->measures;
    const ds_gradient_measure *g = &m->gradient;
    char number[48];
    if (!m->has_gradient || m->loss.with_loss == 0) {
        return;
    }
    add_line(s, " ");
    add_line(s, "*Gradient");
    add_share(s, "zero on the slice", g->zero, g->points);
    for (int a = 0; a < s->f.dims && s->f.dims > 1; a++) {
        add_share(s, a == 0 ? "zero along the first axis" : "zero along the second axis", g->zero_axis[a],
                  g->points);
    }
    if (g->missing > 0) {
        add_share(s, "missing", g->missing, g->points + g->missing);
    }
    add_share(s, "exploding (> 100 ranges)", g->exploding, g->points);
    ds_label_number(number, sizeof number, g->size.median, 3);
    add_line(s, "size, median\t%s", number);
    ds_label_number(number, sizeof number, g->size.max, 3);
    add_line(s, "size, largest\t%s", number);
    add_line(s, " ");
    add_line(s, "*Against the trend of the grid");
    add_share(s, "wrong way", g->trend.wrong_way, g->trend.compared);
    add_share(s, "zero where the loss changes", g->trend.blind, g->trend.compared);
    if (g->trend.compared > 0) {
        add_line(s, "cosine, median; 10 %%\t%.2f; %.2f", g->trend.cosine.median, g->trend.cosine.q10);
    }
    if (m->quality.judged > 0) {
        add_line(s, " ");
        add_line(s, "*Against finite differences");
        add_share(s, "differences converge", m->quality.converged, m->quality.judged);
        add_share(s, "gradient is their limit", m->quality.exact, m->quality.converged);
    }
}

/* Marks cells without a value, and gradients that point uphill. */
static void classify(sheet *s)
{
    const ds_landscape *l = s->l;
    for (uint64_t k = 0; k < ds_slice_points(&l->slice); k++) {
        const ds_slice_value *r = &l->grid[k];
        s->cell[k] = r->outcome == DS_POINT_OUTSIDE ? DS_CELL_OUTSIDE
                     : !isfinite(r->loss)           ? DS_CELL_FAILED
                                                    : DS_CELL_VALUE;
        s->marked[k] = (uint8_t)ds_wrong_way(&s->f, l->measures.loss.range, k);
    }
}

static void close_sheet(sheet *s)
{
    free(s->memory);
    free(s->cell);
    free(s->extra);
}

static int open_sheet(const ds_landscape *l, sheet *s, ds_error *e)
{
    const ds_slice *slice = &l->slice;
    uint64_t points = ds_slice_points(slice);
    memset(s, 0, sizeof *s);
    s->l = l;
    s->memory = ds_landscape_field(l, &s->f);
    s->cell = malloc(2 * points);
    s->extra = malloc(4 * points * sizeof *s->extra);
    if (s->memory == NULL || s->cell == NULL || s->extra == NULL) {
        close_sheet(s);
        return no_memory(e);
    }
    s->marked = s->cell + points;
    classify(s);
    set_title(s, "landscape");
    snprintf(s->subtitle, sizeof s->subtitle, "%s", l->verdict.words);
    describe_loss(s);
    s->loss_lines = s->lines;
    describe_gradient(s);
    add_line(s, " ");
    add_line(s, slice->dims > 1 ? "points\t%" PRIu64 " " TIMES " %" PRIu64 : "points\t%" PRIu64,
             slice->count[0], slice->count[1]);
    add_line(s, "evaluations\t%" PRIu64, l->session.journal.statistics.count);
    add_line(s, "variables\t%" PRIu64, slice->n);
    return 0;
}

/* Writes NAME.png and NAME.svg of a map or of panels. */
static int write_both(const ds_landscape *l, const char *name, const ds_map *map, const ds_panels *panels,
                      ds_error *e)
{
    char file[64];
    snprintf(file, sizeof file, "%s.png", name);
    char *png = ds_folder_path(l->session.folder, file);
    snprintf(file, sizeof file, "%s.svg", name);
    char *svg = ds_folder_path(l->session.folder, file);
    int rc = png == NULL || svg == NULL ? no_memory(e)
             : map != NULL              ? ds_plot_map(png, svg, map, e)
                                        : ds_plot_panels(png, svg, panels, e);
    free(png);
    free(svg);
    return rc;
}

/* ---- paths of runs, points of others ---- */

static ds_color mark_color(int number)
{
    static const uint32_t order[DS_MARKS_MAX] = {1, 3, 5};
    return ds_color_series(order[number], 1);
}

enum { TRAILS_MAX = 7, NEAR_POINTS = 400 /* evaluations that are drawn; of more only the best so far */ };

typedef struct trails {
    ds_map_path path[TRAILS_MAX + DS_MARKS_MAX];
    double *xy[TRAILS_MAX + DS_MARKS_MAX]; /* of each the block with its weights and marks */
    char name[TRAILS_MAX][140];
    int count;
} trails;

static int make_trail(const ds_run_path *t, trails *out)
{
    int k = out->count;
    uint64_t n = 0;
    double best = INFINITY, off = 0;
    double *xy = malloc((4 * t->count + 1) * sizeof *xy), *weight = xy + 2 * t->count;
    uint8_t *on_line = (uint8_t *)(weight + t->count);
    out->xy[k] = xy;
    out->count++;
    if (xy == NULL) {
        return DS_EXIT_MEMORY;
    }
    for (uint64_t i = 0; i < t->count; i++) {
        int better = t->loss[i] < best;
        best = better ? t->loss[i] : best;
        off = better ? t->distance[i] : off;
        if (better || t->count <= NEAR_POINTS) {
            memcpy(xy + 2 * n, t->c + 2 * i, 2 * sizeof *xy);
            weight[n] = fmax(0, 1 - 4 * t->distance[i]); /* a quarter of the diagonal away is far */
            on_line[n++] = (uint8_t)better;
        }
    }
    char loss[48];
    ds_label_number(loss, sizeof loss, best, 4);
    int n_name =
        snprintf(out->name[k], sizeof out->name[k], "%s: %s", t->title, isfinite(best) ? loss : "no loss");
    if (off > 0.005 && n_name > 0) {
        snprintf(out->name[k] + n_name, sizeof out->name[k] - (size_t)n_name, ", %.0f %% off", 100 * off);
    }
    /* Starts with orange: the map uses blue and green. */
    static const uint32_t order[TRAILS_MAX] = {5, 3, 1, 4, 6, 0, 2};
    out->path[k] = (ds_map_path){out->name[k], xy, n, weight, on_line, ds_color_series(order[k], 1)};
    return 0;
}

/* Third-party points, as a path without lines. */
static int make_marks(const ds_mark *m, int number, trails *out)
{
    const int k = out->count;
    double *xy = malloc((3 * m->count + 1) * sizeof *xy);
    uint8_t *on_line = (uint8_t *)(xy + 2 * m->count);
    out->xy[k] = xy;
    out->count++;
    if (xy == NULL) {
        return DS_EXIT_MEMORY;
    }
    memset(on_line, 0, m->count);
    for (uint64_t i = 0; i < m->count; i++) {
        memcpy(xy + 2 * i, m->point[i].xy, 2 * sizeof *xy);
    }
    out->path[k] = (ds_map_path){m->name, xy, m->count, NULL, on_line, mark_color(number)};
    return 0;
}

static void free_trails(trails *t)
{
    for (int k = 0; k < t->count; k++) {
        free(t->xy[k]);
    }
}

/* ---- planes ---- */

static ds_map map_of(const sheet *s)
{
    const ds_slice *c = &s->l->slice;
    return (ds_map){.title = s->title,
                    .subtitle = s->subtitle,
                    .x_label = c->label[0],
                    .y_label = c->label[1],
                    .columns = c->count[0],
                    .rows = c->count[1],
                    .x_low = c->low[0],
                    .x_high = c->high[0],
                    .y_low = c->low[1],
                    .y_high = c->high[1],
                    .cell = s->cell,
                    .low = NAN,
                    .high = NAN,
                    .best = {NAN, NAN},
                    .line = s->line,
                    .lines = s->lines};
}

static void explain(ds_map *m, int needed, ds_map_sign sign, const char *text)
{
    if (needed && m->keys < DS_MAP_KEYS) {
        m->key[m->keys++] = (ds_map_key){sign, text};
    }
}

static int has_cells(const sheet *s, uint8_t kind)
{
    return memchr(s->cell, kind, ds_slice_points(&s->l->slice)) != NULL;
}

/* Explains signs without arrows, and cells without a colour. */
static void explain_cells(const sheet *s, ds_map *m, const char *failed)
{
    explain(m, has_cells(s, DS_CELL_FLAT), DS_SIGN_FLAT, "zero gradient");
    explain(m, has_cells(s, DS_CELL_FAILED), DS_SIGN_FAILED, failed);
    explain(m, has_cells(s, DS_CELL_OUTSIDE), DS_SIGN_OUTSIDE, "outside of the bounds");
}

static void explain_losses(const sheet *s, ds_map *m)
{
    const ds_landscape_measures *all = &s->l->measures;
    int arrows = m->dx != NULL && all->gradient.points > 0;
    explain(m, isfinite(m->best[0]), DS_SIGN_RING, "lowest point of the grid");
    explain(m, m->contours > 0 && !s->l->verdict.constant, DS_SIGN_CONTOUR, "equal loss");
    explain(m, arrows, DS_SIGN_ARROW, "downhill by the gradient");
    explain(m, arrows && all->gradient.trend.wrong_way > 0, DS_SIGN_MARKED_ARROW,
            "the same, but uphill by the grid");
    explain(m, arrows && all->gradient.zero > 0, DS_SIGN_DOT, "zero gradient on the slice");
    explain(m, m->dx != NULL && (all->gradient.missing > 0 || !arrows), DS_SIGN_NONE,
            "no arrow: no finite gradient");
    explain_cells(s, m, "no loss");
}

static int draw_losses(sheet *s, ds_error *e)
{
    const ds_landscape *l = s->l;
    uint64_t points = ds_slice_points(&l->slice);
    trails t = {.count = 0};
    ds_map m = map_of(s);
    m.value = s->f.loss;
    m.kind = ds_landscape_loss_scale(l, &m.high);
    m.value_label = isfinite(m.high) ? "loss (cut)" : "loss";
    m.contours = l->verdict.rugged == 2 ? 0 : l->verdict.jumps ? 6 : l->verdict.rugged == 1 ? 10 : 12;
    if (l->measures.loss.with_loss > 0) {
        ds_slice_grid(&l->slice, l->measures.loss.best, m.best);
    }
    if (l->want_gradient) {
        for (uint64_t k = 0; k < points; k++) { /* arrows lead downhill */
            s->extra[k] = -s->f.g[0][k];
            s->extra[points + k] = -s->f.g[1][k];
        }
        m.dx = s->extra;
        m.dy = s->extra + points;
        m.marked = s->marked;
    }
    int rc = 0;
    for (size_t k = 0; k < l->trails && k < TRAILS_MAX && rc == 0; k++) {
        rc = make_trail(&l->trail[k], &t);
    }
    const int runs = t.count;
    for (size_t k = 0; k < l->marks && rc == 0; k++) {
        rc = make_marks(&l->mark[k], (int)k, &t);
    }
    m.path = t.path;
    m.paths = t.count;
    int lines = s->lines;
    explain_losses(s, &m);
    if (runs > 0 && l->slice.n > 2) {
        add_line(s, " ");
        add_line(s, "paths: paler the farther from the slice;");
        add_line(s, "%% off: end to slice, of the diagonal");
    }
    m.lines = s->lines;
    rc = rc != 0 ? no_memory(e) : write_both(l, "landscape", &m, NULL, e);
    s->lines = lines;
    free_trails(&t);
    return rc;
}

static int draw_sizes(sheet *s, ds_error *e)
{
    const ds_landscape *l = s->l;
    uint64_t points = ds_slice_points(&l->slice);
    double range = l->measures.loss.range;
    ds_map m = map_of(s);
    for (uint64_t k = 0; k < points; k++) {
        double size = hypot(s->f.g[0][k] * s->f.width[0], s->f.g[1][k] * s->f.width[1]);
        s->extra[k] = range > 0 ? size / range : size;
        if (isfinite(size) && size <= DS_ZERO * range) {
            s->cell[k] = DS_CELL_FLAT;
        } else if (!isfinite(size) && s->cell[k] == DS_CELL_VALUE) {
            s->cell[k] = DS_CELL_FAILED;
        }
        s->extra[k] = s->cell[k] == DS_CELL_VALUE ? s->extra[k] : (double)NAN;
    }
    set_title(s, "size of the gradient");
    m.value = s->extra;
    m.value_label = "|gradient|";
    m.kind = DS_SCALE_LOG;
    m.marked = s->marked;
    add_line(s, " ");
    add_line(s, "|gradient|: change of the loss across");
    add_line(s, "the slice if it went on, over its range");
    explain(&m, l->measures.gradient.trend.wrong_way > 0, DS_SIGN_MARK, "gradient points uphill by the grid");
    explain_cells(s, &m, l->measures.gradient.missing > 0 ? "no loss, or no gradient" : "no loss");
    m.line = s->line + s->loss_lines + 1; /* without the gap */
    m.lines = s->lines - s->loss_lines - 1;
    return write_both(l, "gradient", &m, NULL, e);
}

/* ---- lines ---- */

/* Fills derivatives per unit of the axis: gradient, red where it points uphill, and the trend of the grid. */
static void fill_line(sheet *s, double *x, double *uphill, double *trend)
{
    for (uint64_t k = 0; k < s->f.count[0]; k++) {
        double c[DS_SLICE_DIMS], d[2];
        ds_slice_grid(&s->l->slice, k, c);
        x[k] = c[0];
        uphill[k] = s->marked[k] ? s->f.g[0][k] : (double)NAN;
        trend[k] = ds_trend(&s->f, k, d) ? d[0] / s->f.width[0] : (double)NAN;
    }
}

/* The finest difference of every sample. */
static uint64_t fill_samples(const ds_landscape *l, double *x, double *d, int step)
{
    const ds_samples *m = &l->samples;
    for (uint64_t k = 0; k < m->count; k++) {
        double c[DS_SLICE_DIMS];
        ds_slice_grid(&l->slice, l->sample_point[k], c);
        x[k] = c[0];
        d[k] = m->d[2 * (k * (uint64_t)m->steps + (uint64_t)step)] / (l->slice.high[0] - l->slice.low[0]);
    }
    return m->count;
}

/* Slopes that span more than a decade need a logarithmic scale. */
static int slope_kind(const ds_panel *p)
{
    double low = 0, high = 0;
    ds_panel_range(p, &low, &high);
    return fmax(fabs(low), fabs(high)) > 12 * p->linear ? DS_SCALE_SYMLOG : DS_SCALE_LINEAR;
}

/* A panel whose first curve has all points. */
static ds_panel panel_of(const char *label, int kind, double linear, ds_panel_curve first)
{
    return (ds_panel){label, kind, linear, NAN, NAN, {first}, 1};
}

/* Third-party points as curves of dots in the loss panel. The coordinates are to be freed; NULL without
 * memory. */
static double *mark_losses(const ds_landscape *l, ds_panel *p)
{
    uint64_t all = 1;
    for (size_t k = 0; k < l->marks; k++) {
        all += 2 * l->mark[k].count;
    }
    double *room = malloc(all * sizeof *room), *x = room;
    for (size_t k = 0; room != NULL && k < l->marks; k++) {
        const ds_mark *m = &l->mark[k];
        double *y = x + m->count;
        for (uint64_t i = 0; i < m->count; i++) {
            x[i] = m->point[i].xy[0];
            y[i] = ds_mark_value(l, &m->point[i]);
        }
        p->curve[p->curves++] =
            (ds_panel_curve){m->name, x, y, m->count, mark_color((int)k), DS_CURVE_DOTS, 4.2};
        x = y + m->count;
    }
    return room;
}

static int draw_line(sheet *s, ds_error *e)
{
    const ds_landscape *l = s->l;
    uint64_t points = ds_slice_points(&l->slice);
    double *x = s->extra, *uphill = x + points, *trend = uphill + points;
    double *sample = malloc((2 * l->samples.count + 1) * sizeof *sample);
    ds_color blue = ds_color_series(0, 1), red = ds_color_series(5, 1), green = ds_color_series(2, 0.8);
    if (sample == NULL) {
        return no_memory(e);
    }
    fill_line(s, x, uphill, trend);
    double unit =
        fmax(l->measures.loss.range / s->f.width[0], 1e-300); /* a slope that crosses the range once */
    ds_panels g = {.title = s->title,
                   .subtitle = s->subtitle,
                   .x_label = l->slice.label[0],
                   .x_low = l->slice.low[0],
                   .x_high = l->slice.high[0],
                   .count = l->want_gradient ? 3 : 2,
                   .line = s->line,
                   .lines = s->lines};
    ds_panel *loss = &g.panel[0], *gradient = &g.panel[1], *difference = &g.panel[g.count - 1];
    *loss = panel_of("loss", DS_SCALE_LINEAR, 1,
                     (ds_panel_curve){l->marks > 0 ? "here" : NULL, x, s->f.loss, points, blue, 0, 1.8});
    double *marks = mark_losses(l, loss);
    if (marks == NULL) {
        free(sample);
        return no_memory(e);
    }
    *difference =
        panel_of("difference", DS_SCALE_SYMLOG, unit,
                 (ds_panel_curve){"difference of the grid (trend)", x, trend, points, blue, 0, 1.5});
    if (l->want_gradient) {
        *gradient = panel_of("gradient", DS_SCALE_SYMLOG, unit,
                             (ds_panel_curve){"gradient", x, s->f.g[0], points, blue, 0, 1.5});
        gradient->curve[gradient->curves++] =
            (ds_panel_curve){"uphill by the trend", x, uphill, points, red, DS_CURVE_DOTS, 2.2};
    }
    char name[80];
    if (l->samples.count > 0) {
        int step = l->samples.steps > 1 ? l->samples.steps - 2 : 0;
        snprintf(name, sizeof name, "difference over %.0e of the width", 2 * l->samples.step[step]);
        uint64_t n = fill_samples(l, sample, sample + l->samples.count, step);
        difference->curve[difference->curves++] =
            (ds_panel_curve){name, sample, sample + l->samples.count, n, green, DS_CURVE_DOTS, 2.6};
    }
    /* A common scale, for comparison. */
    double low[2], high[2];
    if (l->want_gradient && ds_panel_range(gradient, &low[0], &high[0]) &&
        ds_panel_range(difference, &low[1], &high[1])) {
        gradient->low = difference->low = fmin(low[0], low[1]);
        gradient->high = difference->high = fmax(high[0], high[1]);
        int one = slope_kind(gradient), other = slope_kind(difference);
        gradient->kind = difference->kind =
            one == DS_SCALE_SYMLOG || other == DS_SCALE_SYMLOG ? DS_SCALE_SYMLOG : DS_SCALE_LINEAR;
    } else {
        difference->kind = slope_kind(difference);
    }
    int rc = write_both(l, "landscape", NULL, &g, e);
    free(marks);
    free(sample);
    return rc;
}

/* ---- through time ---- */

static int draw_time(sheet *s, ds_error *e)
{
    const ds_landscape *l = s->l;
    const ds_time_measure *t = &l->time;
    double *x = malloc(4 * t->blocks * sizeof *x), *curve = x + t->blocks, top = 0;
    char growth[48], points[80], label[120];
    if (x == NULL) {
        return no_memory(e);
    }
    for (uint64_t k = 0; k < t->blocks; k++) {
        x[k] = (double)(k + 1);
        top = fmax(top, t->high[k]);
    }
    for (uint64_t k = 0; k < 3 * t->blocks; k++) { /* zero has no logarithm */
        curve[k] = t->low[k] > 0 ? t->low[k] : (double)NAN;
    }
    ds_label_number(growth, sizeof growth, t->growth, 3);
    set_title(s, "gradient through time");
    snprintf(s->subtitle, sizeof s->subtitle, "by the first controls %s times as large as by the last ones",
             growth);
    snprintf(points, sizeof points, "median of %" PRIu64 " points", t->points);
    snprintf(label, sizeof label, "%s of the episode that the variables belong to",
             t->blocks == l->session.env->info.steps ? "step" : "segment");
    ds_color blue = ds_color_series(0, 1), pale = ds_color_series(4, 1);
    ds_panels g = {.title = s->title,
                   .subtitle = s->subtitle,
                   .x_label = label,
                   .x_low = 1,
                   .x_high = (double)t->blocks,
                   .count = 1};
    g.panel[0] =
        panel_of("|gradient|", DS_SCALE_LOG, 1,
                 (ds_panel_curve){"smallest and largest", x, curve, t->blocks, pale, DS_CURVE_LINE, 1.2});
    g.panel[0].curve[1] =
        (ds_panel_curve){NULL, x, curve + 2 * t->blocks, t->blocks, pale, DS_CURVE_LINE, 1.2};
    g.panel[0].curve[2] = (ds_panel_curve){points, x, curve + t->blocks, t->blocks, blue, DS_CURVE_LINE, 2.4};
    g.panel[0].curves = 3;
    /* Values below a millionth of the largest count as zero. */
    double low = 0, high = 0;
    if (ds_panel_range(&g.panel[0], &low, &high)) {
        g.panel[0].low = fmax(low, 1e-6 * top);
    }
    int rc = write_both(l, "time", NULL, &g, e);
    free(x);
    return rc;
}

int ds_landscape_draw(const ds_landscape *l, ds_error *e)
{
    sheet s;
    int rc = open_sheet(l, &s, e);
    if (rc != 0) {
        return rc;
    }
    if (l->slice.dims == 1) {
        rc = draw_line(&s, e);
    } else {
        rc = draw_losses(&s, e);
        rc = rc != 0 || !l->want_gradient ? rc : draw_sizes(&s, e);
    }
    rc = rc != 0 || l->time.blocks < 2 ? rc : draw_time(&s, e);
    close_sheet(&s);
    return rc;
}
