/* SPDX-License-Identifier: Apache-2.0 */
/* identify_figure.c - figures of a recording: the simulated motion at the estimate over the recorded one, and
 * the residuals. Each file has up to four panels. */
#include "config.h"

#include "identify/identify.h"

#include "page/page.h"
#include "plot/plot_lines.h"
#include "store/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t colours[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7};

typedef struct figure {
    const ds_identify_recording *q;
    ds_identify_pair pair[DS_IDENTIFY_SIGNALS];
    size_t pairs;
    double *times[DS_IDENTIFY_SIGNALS]; /* of the pairs */
    double *x, *residual;               /* rows; columns x rows */
    uint64_t columns;
    double low, high; /* of x */
} figure;

static double time_of(const ds_identify_recording *q, uint64_t i)
{
    return q->signals > 0 ? q->data.value[(i + 1) * q->data.columns - 1]
           : q->dt > 0    ? q->dt * (double)i
                          : (double)i;
}

static int is_timed(const ds_identify_recording *q)
{
    return q->signals > 0 || q->dt > 0;
}

static int add_pairs(figure *f, ds_error *e)
{
    int rc = ds_identify_pairs(f->q, f->pair, &f->pairs, e);
    for (size_t k = 0; rc == 0 && k < f->pairs; k++) {
        const ds_identify_pair *p = &f->pair[k];
        f->times[k] = calloc(p->rows + 1, sizeof *f->times[k]);
        rc = f->times[k] == NULL ? ds_no_memory(e) : 0;
        for (uint64_t i = 0; rc == 0 && i < p->rows; i++) {
            f->times[k][i] = f->q->signals > 0 ? time_of(f->q, i)
                             : p->step > 0     ? p->step * (double)i
                                               : (double)i;
        }
    }
    return rc;
}

static int add_residuals(figure *f, ds_error *e)
{
    const ds_identify_recording *q = f->q;
    const uint64_t rows = q->rows;
    f->columns = q->width <= DS_IDENTIFY_SIGNALS ? q->width : 1;
    f->x = calloc(rows * (1 + f->columns), sizeof *f->x);
    if (f->x == NULL) {
        return ds_no_memory(e);
    }
    f->residual = f->x + rows;
    for (uint64_t i = 0; i < rows; i++) {
        f->x[i] = time_of(q, i);
        for (uint64_t s = 0; s < f->columns; s++) {
            const double r = q->last_r[i * q->width + s];
            f->residual[s * rows + i] = fabs(r) > 0 ? r : (double)NAN;
        }
    }
    f->low = rows > 0 ? f->x[0] : 0;
    f->high = rows > 1 ? f->x[rows - 1] : f->low + 1;
    return 0;
}

static int make(figure *f, ds_identify_problem *p, size_t k, const ds_identify_result *v, ds_error *e)
{
    ds_identify_errors errors;
    f->q = &p->c->recording[p->recording[k]];
    int rc = ds_identify_errors_of(p, k, v->u, -1, &errors, e); /* leaves last_x and last_r */
    rc = rc != 0 ? rc : add_residuals(f, e);
    return rc != 0 ? rc : add_pairs(f, e);
}

static void clear(figure *f)
{
    for (size_t i = 0; i < f->pairs; i++) {
        free(f->times[i]);
    }
    ds_identify_pairs_clear(f->pair, &f->pairs);
    free(f->x);
}

static void put_curve(ds_panel *panel, const double *x, const double *y, uint64_t rows, size_t colour,
                      const char *name, int style)
{
    panel->curve[panel->curves++] = (ds_panel_curve){.name = name,
                                                     .x = x,
                                                     .y = y,
                                                     .count = rows,
                                                     .color = ds_color_hex(colours[colour % 4], 1),
                                                     .style = style,
                                                     .size = style == DS_CURVE_DOTS ? 1.8 : 1.6};
}

/* Panel `number` of the figure: pairs, then residuals, four to a panel. 0 after the last one. */
static int fill_panel(const figure *f, size_t number, char names[][DS_IDENTIFY_NAME], ds_panel *panel)
{
    if (number < f->pairs) {
        const ds_identify_pair *p = &f->pair[number];
        const double *x = f->times[number];
        *panel = (ds_panel){.label = p->name, .low = NAN, .high = NAN};
        put_curve(panel, x, p->recorded, p->rows, 1, "recorded", DS_CURVE_DOTS);
        put_curve(panel, x, p->simulated, p->rows, 0, "simulated", DS_CURVE_LINE);
        return 1;
    }
    const uint64_t first = (number - f->pairs) * DS_PANEL_CURVES;
    if (first >= f->columns) {
        return 0;
    }
    *panel = (ds_panel){.label = "residual", .low = NAN, .high = NAN};
    for (uint64_t s = first; s < f->columns && s < first + DS_PANEL_CURVES; s++) {
        ds_identify_column_name(f->q, s, names[s - first]);
        put_curve(panel, f->x, f->residual + s * f->q->rows, f->q->rows, s - first, names[s - first],
                  DS_CURVE_LINE);
    }
    return 1;
}

/* One file from panel `first` on; *next = the panel after its last one. */
static int draw(const figure *f, const char *path, size_t first, size_t *next, ds_error *e)
{
    char title[120], subtitle[160], names[DS_PANELS_MAX][DS_PANEL_CURVES][DS_IDENTIFY_NAME];
    ds_panels all = {.title = title,
                     .subtitle = subtitle,
                     .x_label = is_timed(f->q) ? "time, s" : "sample",
                     .x_low = f->low,
                     .x_high = f->high};
    snprintf(title, sizeof title, "Recording %s", f->q->name);
    if (f->q->fitted < f->q->rows) {
        snprintf(subtitle, sizeof subtitle, "fitted up to %s %.4g, the rest is only predicted",
                 is_timed(f->q) ? "t =" : "sample", f->x[f->q->fitted - 1]);
    } else {
        snprintf(subtitle, sizeof subtitle, "all samples are fitted");
    }
    for (*next = first; all.count < DS_PANELS_MAX; (*next)++) {
        if (!fill_panel(f, *next, names[all.count], &all.panel[all.count])) {
            break;
        }
        all.count++;
    }
    return ds_plot_panels(NULL, path, &all, e);
}

int ds_identify_figures(const ds_identify_report *r, ds_identify_problem *p, size_t k,
                        const ds_identify_result *v, FILE *f, ds_error *e)
{
    figure of = {.pairs = 0};
    char name[DS_MAX_NAME + 24], about[DS_MAX_NAME + 40];
    int rc = make(&of, p, k, v, e), number = 1;
    const size_t panels = of.pairs + (size_t)((of.columns + DS_PANEL_CURVES - 1) / DS_PANEL_CURVES);
    snprintf(about, sizeof about, "Fit and residuals of recording %s", p->c->recording[p->recording[k]].name);
    for (size_t at = 0; rc == 0 && at < panels; number++) {
        snprintf(name, sizeof name, number == 1 ? "fit-%s.svg" : "fit-%s-%d.svg", of.q->name, number);
        char *path = ds_folder_path(r->folder, name);
        rc = path == NULL ? ds_no_memory(e) : draw(&of, path, at, &at, e);
        if (rc == 0) {
            fputs("<figure><div class=o>", f);
            if (!ds_html_svg(f, path, about)) {
                ds_html_link(f, name, about);
            }
            fputs("</div><figcaption class=s>", f);
            ds_html_text(f, about);
            fputs("</figcaption></figure>\n", f);
        }
        free(path);
    }
    clear(&of);
    return rc;
}
