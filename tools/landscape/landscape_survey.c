/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_survey.c - what is evaluated, in this order: the grid, finite differences of several steps at
 * some of its points, steep places halved again and again, and random points of the box. What is asked
 * depends on answers alone. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "landscape/landscape_internal.h"

double *ds_landscape_field(const ds_landscape *l, ds_field *out)
{
    uint64_t points = ds_slice_points(&l->slice);
    double *v = malloc(4 * points * sizeof *v);
    memset(out, 0, sizeof *out);
    if (v == NULL) {
        return NULL;
    }
    for (uint64_t k = 0; k < points; k++) {
        const ds_slice_value *r = &l->grid[k];
        v[k] = r->loss;
        v[points + k] = r->grad[0];
        v[2 * points + k] = r->grad[1];
        v[3 * points + k] = r->norm;
    }
    out->dims = l->slice.dims;
    out->loss = v;
    if (l->want_gradient) {
        out->g[0] = v + points;
        out->g[1] = v + 2 * points;
        out->norm = v + 3 * points;
    }
    for (int a = 0; a < DS_FIELD_DIMS; a++) {
        out->count[a] = l->slice.count[a];
        out->width[a] = l->slice.high[a] - l->slice.low[a];
    }
    return v;
}

/* ---- grid ---- */

static int survey_grid(ds_landscape *l, ds_error *e)
{
    uint64_t points = ds_slice_points(&l->slice);
    double *c = malloc(2 * points * sizeof *c);
    l->grid = malloc(points * sizeof *l->grid);
    if (c == NULL || l->grid == NULL) {
        free(c);
        return ds_no_memory(e);
    }
    for (uint64_t k = 0; k < points; k++) {
        ds_slice_grid(&l->slice, k, c + 2 * k);
    }
    int rc = ds_landscape_ask(l, points, c, l->want_gradient, "grid", l->grid, e);
    free(c);
    return rc;
}

/* ---- samples ---- */

/* Fractional part of a multiple of an irrational number: evenly spread without a pattern. */
static uint64_t spread_index(uint64_t m, double step, uint64_t count)
{
    double t = 0.5 + (double)m * step;
    uint64_t k = (uint64_t)((t - floor(t)) * (double)count);
    return k < count ? k : count - 1;
}

/* Number of samples: at most the interior points of the grid. */
static uint64_t sample_count(const ds_landscape *l)
{
    const ds_slice *s = &l->slice;
    uint64_t interior = (s->count[0] - 2) * (s->dims > 1 ? s->count[1] - 2 : 1);
    uint64_t wanted = l->want_gradient && l->wish.steps > 0 ? l->wish.samples : 0;
    return wanted < interior ? wanted : interior;
}

/* Grid points of the samples, none at the edge: all interior points, or a quasi-random choice. */
static void choose_samples(ds_landscape *l)
{
    const ds_slice *s = &l->slice;
    uint64_t w = s->count[0] - 2, h = s->dims > 1 ? s->count[1] - 2 : 1;
    for (uint64_t m = 0; m < l->samples.count; m++) {
        int all = l->samples.count == w * h;
        /* The plastic number's powers in the plane, the golden ratio on a line. */
        uint64_t i =
            all ? m % w : spread_index(m, s->dims > 1 ? 0.75487766624669276 : 0.61803398874989485, w);
        uint64_t j = s->dims == 1 ? 0 : all ? m / w : spread_index(m, 0.56984029099805327, h);
        l->sample_point[m] = (j + (s->dims > 1 ? 1 : 0)) * s->count[0] + i + 1;
    }
}

/* The points of a sample's difference: to both sides along every axis, for every step. */
static uint64_t sample_points(const ds_landscape *l, uint64_t m, double *c)
{
    const ds_slice *s = &l->slice;
    uint64_t n = 0;
    double at[2];
    ds_slice_grid(s, l->sample_point[m], at);
    for (int k = 0; k < l->samples.steps; k++) {
        for (int a = 0; a < s->dims; a++) {
            double h = l->wish.step[k] * (s->high[a] - s->low[a]);
            for (int side = 0; side < 2; side++) {
                memcpy(c + 2 * n, at, sizeof at);
                c[2 * n + (uint64_t)a] += side == 0 ? -h : h;
                n++;
            }
        }
    }
    return n;
}

/* Scaled difference quotients from the answers of one sample. */
static void take_sample(const ds_landscape *l, const double *c, const ds_slice_value *r, double *d)
{
    const ds_slice *s = &l->slice;
    for (int k = 0; k < l->samples.steps; k++) {
        d[2 * k] = d[2 * k + 1] = 0;
        for (int a = 0; a < s->dims; a++) {
            uint64_t first = (uint64_t)(2 * (k * s->dims + a));
            /* The step that was made, not the one that was meant: they differ by rounding. */
            double h = c[2 * first + 2 + (uint64_t)a] - c[2 * first + (uint64_t)a];
            d[2 * k + a] = (r[first + 1].loss - r[first].loss) / h * (s->high[a] - s->low[a]);
        }
    }
}

static int survey_samples(ds_landscape *l, ds_error *e)
{
    ds_samples *s = &l->samples;
    s->count = sample_count(l);
    s->dims = l->slice.dims;
    s->steps = s->count > 0 ? l->wish.steps : 0;
    s->step = l->wish.step;
    uint64_t each = (uint64_t)(2 * s->dims * s->steps), total = each * s->count;
    double *loss = malloc((s->count + 1) * sizeof *loss);
    double *g = malloc((2 * s->count + 1) * sizeof *g);
    double *d = malloc((2 * s->count * (uint64_t)s->steps + 1) * sizeof *d);
    double *c = malloc((2 * total + 1) * sizeof *c);
    ds_slice_value *r = malloc((total + 1) * sizeof *r);
    l->sample_point = malloc((s->count + 1) * sizeof *l->sample_point);
    s->loss = loss;
    s->g = g;
    s->d = d;
    int rc = loss == NULL || g == NULL || d == NULL || c == NULL || r == NULL || l->sample_point == NULL
                 ? ds_no_memory(e)
                 : 0;
    if (rc == 0) {
        choose_samples(l);
        for (uint64_t m = 0; m < s->count; m++) {
            const ds_slice_value *at = &l->grid[l->sample_point[m]];
            loss[m] = at->loss;
            for (int a = 0; a < 2; a++) {
                g[2 * m + (uint64_t)a] = a < s->dims ? at->grad[a] * (l->slice.high[a] - l->slice.low[a]) : 0;
            }
            sample_points(l, m, c + 2 * each * m);
        }
        rc = ds_landscape_ask(l, total, c, 0, "difference", r, e);
    }
    for (uint64_t m = 0; rc == 0 && m < s->count; m++) {
        take_sample(l, c + 2 * each * m, r + each * m, d + 2 * (uint64_t)s->steps * m);
    }
    free(c);
    free(r);
    return rc;
}

/* ---- jumps ---- */

typedef struct interval {
    double low[2], high[2]; /* ends, on one axis */
    double at_low, at_high; /* losses */
    int axis;
} interval;

static void open_interval(const ds_landscape *l, ds_pair p, interval *v)
{
    uint64_t next = p.point + (p.axis == 0 ? 1 : l->slice.count[0]);
    ds_slice_grid(&l->slice, p.point, v->low);
    ds_slice_grid(&l->slice, next, v->high);
    v->at_low = l->grid[p.point].loss;
    v->at_high = l->grid[next].loss;
    v->axis = p.axis;
}

/* Keeps the half in which the loss changes more. */
static void halve(interval *v, const double *middle, double loss)
{
    if (fabs(v->at_high - loss) > fabs(loss - v->at_low)) {
        memcpy(v->low, middle, sizeof v->low);
        v->at_low = loss;
    } else { /* also where the middle has no loss: then the result has none */
        memcpy(v->high, middle, sizeof v->high);
        v->at_high = loss;
    }
}

static int survey_jumps(ds_landscape *l, const ds_field *f, ds_error *e)
{
    ds_jump_measure *j = &l->measures.jump;
    double range = l->measures.loss.range;
    uint64_t room = l->wish.jumps;
    ds_pair *pair = malloc((room + 1) * sizeof *pair);
    interval *v = malloc((room + 1) * sizeof *v);
    double *c = malloc((2 * room + 2) * sizeof *c);
    ds_slice_value *r = malloc((room + 1) * sizeof *r);
    int rc = pair == NULL || v == NULL || c == NULL || r == NULL ? ds_no_memory(e) : 0;
    for (int a = 0; a < f->dims; a++) {
        j->steep += l->measures.loss.axis[a].steep;
        j->pairs += l->measures.loss.axis[a].pairs;
    }
    uint64_t count = rc == 0 && room > 0 ? ds_measure_steep(f, range, pair, room) : 0;
    for (uint64_t k = 0; k < count; k++) {
        open_interval(l, pair[k], &v[k]);
    }
    for (int level = 0; level < DS_JUMP_LEVELS && rc == 0 && count > 0; level++) {
        for (uint64_t k = 0; k < count; k++) {
            c[2 * k] = 0.5 * v[k].low[0] + 0.5 * v[k].high[0];
            c[2 * k + 1] = 0.5 * v[k].low[1] + 0.5 * v[k].high[1];
        }
        rc = ds_landscape_ask(l, count, c, 0, "jump", r, e);
        for (uint64_t k = 0; k < count && rc == 0; k++) {
            halve(&v[k], c + 2 * k, r[k].loss);
        }
    }
    for (uint64_t k = 0; k < count && rc == 0; k++) {
        double gap = fabs(v[k].at_high - v[k].at_low);
        j->tested += isfinite(gap) != 0;
        j->jumps += gap > DS_JUMP * range;
    }
    free(pair);
    free(v);
    free(c);
    free(r);
    return rc;
}

/* ---- all ---- */

/* Random points of the box: no more than the slice has. */
static uint64_t box_count(const ds_landscape *l)
{
    const uint64_t points = ds_slice_points(&l->slice);
    return !l->want_gradient ? 0 : l->wish.box < points ? l->wish.box : points;
}

uint64_t ds_landscape_planned(const ds_landscape *l)
{
    return ds_slice_points(&l->slice) + sample_count(l) * (uint64_t)(2 * l->slice.dims * l->wish.steps) +
           l->wish.jumps * DS_JUMP_LEVELS + box_count(l);
}

int ds_landscape_survey(ds_landscape *l, ds_error *e)
{
    ds_field f;
    ds_landscape_measures *m = &l->measures;
    int rc = survey_grid(l, e);
    rc = rc != 0 ? rc : survey_samples(l, e);
    if (rc != 0) {
        return rc;
    }
    double *memory = ds_landscape_field(l, &f);
    m->n = l->slice.n;
    m->has_gradient = l->want_gradient;
    m->not_measured = !l->want_gradient && l->session.env->has_gradient;
    for (uint64_t k = 0; k < ds_slice_points(&l->slice); k++) {
        m->outside += l->grid[k].outcome == DS_POINT_OUTSIDE;
    }
    if (memory == NULL || ds_measure_loss(&f, &m->loss) != 0 ||
        ds_measure_basins(&f, m->loss.range, &m->basins) != 0 ||
        (l->want_gradient && (ds_measure_gradient(&f, m->loss.range, &m->gradient) != 0 ||
                              ds_measure_quality(&l->samples, m->loss.range, &m->quality) != 0))) {
        rc = ds_no_memory(e);
    }
    rc = rc != 0 ? rc : survey_jumps(l, &f, e);
    rc = rc != 0 ? rc : ds_landscape_ask_box(l, box_count(l), e);
    free(memory);
    if (rc == 0) {
        ds_verdict_make(m, &l->verdict);
    }
    return rc;
}
