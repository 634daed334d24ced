/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_report.c - the results of a landscape: summary.json, the text with its thresholds, and data files
 * for other programs. */
#include "config.h"

#include "base/json_text.h"
#include "landscape/landscape.h"
#include "results/export.h"
#include "results/npy_write.h"
#include "results/printer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

static json_t *spread_json(const ds_spread *s)
{
    return ds_json_object((ds_json_entry[]){{"count", ds_json_whole(s->count)},
                                            {"min", ds_json_real(s->min)},
                                            {"q10", ds_json_real(s->q10)},
                                            {"median", ds_json_real(s->median)},
                                            {"q90", ds_json_real(s->q90)},
                                            {"max", ds_json_real(s->max)},
                                            {NULL, NULL}});
}

/* A share; null if `whole` is 0. */
static json_t *share(uint64_t part, uint64_t whole)
{
    return ds_json_real(whole > 0 ? (double)part / (double)whole : (double)NAN);
}

/* An array with the result of `of` for each axis. */
static json_t *each_axis(const ds_landscape *l, json_t *(*of)(const ds_landscape *l, int axis))
{
    json_t *list = json_array();
    for (int a = 0; a < l->slice.dims; a++) {
        json_array_append_new(list, of(l, a));
    }
    return list;
}

static json_t *axis_loss(const ds_landscape *l, int axis)
{
    const ds_axis_measure *x = &l->measures.loss.axis[axis];
    return ds_json_object((ds_json_entry[]){{"neighbours", ds_json_whole(x->pairs)},
                                            {"equal_share", share(x->equal, x->pairs)},
                                            {"steep_share", share(x->steep, x->pairs)},
                                            {"turns", ds_json_whole(x->turns)},
                                            {"turns_per_line", share(x->turns, x->lines)},
                                            {"turn_share", share(x->turns, x->triples)},
                                            {"sweeps", ds_json_real(x->sweeps)},
                                            {NULL, NULL}});
}

static json_t *axis_zero(const ds_landscape *l, int axis)
{
    return share(l->measures.gradient.zero_axis[axis], l->measures.gradient.points);
}

static json_t *axis_slice(const ds_landscape *l, int axis)
{
    static const char *const kinds[] = {"variable", "random", "line"};
    const ds_slice *s = &l->slice;
    int kind = s->kind[axis];
    const ds_named_variable *v = kind == DS_AXIS_VARIABLE ? l->session.env->variables : NULL;
    return ds_json_object((ds_json_entry[]){
        {"kind", json_string(kinds[kind])},
        {"variable", kind == DS_AXIS_VARIABLE ? ds_json_whole(s->variable[axis]) : json_null()},
        {"name", v != NULL ? ds_json_text(v[s->variable[axis]].name) : json_null()},
        {"unit", v != NULL ? ds_json_text(v[s->variable[axis]].unit) : json_null()},
        {"label", ds_json_text(s->label[axis])},
        {"low", ds_json_real(s->low[axis])},
        {"high", ds_json_real(s->high[axis])},
        {"points", ds_json_whole(s->count[axis])},
        {NULL, NULL}});
}

static json_t *loss_json(const ds_landscape *l)
{
    const ds_loss_measure *m = &l->measures.loss;
    const ds_verdict *v = &l->verdict;
    return ds_json_object((ds_json_entry[]){{"spread", spread_json(&m->loss)},
                                            {"range", ds_json_real(m->range)},
                                            {"turns_per_line", ds_json_real(v->turns_per_line)},
                                            {"turn_share", ds_json_real(v->turn_share)},
                                            {"plateau_share", ds_json_real(v->plateau_share)},
                                            {"steep_cell_share", share(m->steep_cells, m->cells)},
                                            {"axes", each_axis(l, axis_loss)},
                                            {NULL, NULL}});
}

static json_t *agreement_json(const ds_agreement *a)
{
    return ds_json_object((ds_json_entry[]){{"step", ds_json_real(a->step)},
                                            {"compared", ds_json_whole(a->compared)},
                                            {"zero_share", share(a->blind, a->compared)},
                                            {"wrong_way_share", share(a->wrong_way, a->compared)},
                                            {"wrong_sign_share", share(a->wrong_sign, a->signs)},
                                            {"cosine", spread_json(&a->cosine)},
                                            {"ratio", spread_json(&a->ratio)},
                                            {NULL, NULL}});
}

/* Random points of the whole box. */
static json_t *box_json(const ds_box_measure *b)
{
    return ds_json_object((ds_json_entry[]){{"points", ds_json_whole(b->points)},
                                            {"with_loss", ds_json_whole(b->with_loss)},
                                            {"missing", ds_json_whole(b->missing)},
                                            {"missing_share", share(b->missing, b->with_loss)},
                                            {NULL, NULL}});
}

static json_t *gradient_json(const ds_landscape *l)
{
    const ds_gradient_measure *g = &l->measures.gradient;
    const ds_quality_measure *q = &l->measures.quality;
    json_t *steps = json_array();
    for (int k = 0; k < q->steps; k++) {
        json_array_append_new(steps, agreement_json(&q->at[k]));
    }
    return ds_json_object((ds_json_entry[]){{"points", ds_json_whole(g->points)},
                                            {"missing", ds_json_whole(g->missing)},
                                            {"missing_share", share(g->missing, g->points + g->missing)},
                                            {"box", box_json(&l->measures.box)},
                                            {"zero_share", share(g->zero, g->points)},
                                            {"zero_share_along", each_axis(l, axis_zero)},
                                            {"all_zero_share", share(g->all_zero, g->points)},
                                            {"exploding_share", share(g->exploding, g->points)},
                                            {"sign_changes", ds_json_whole(g->turns)},
                                            {"sign_change_share", share(g->turns, g->pairs)},
                                            {"size", spread_json(&g->size)},
                                            {"norm", spread_json(&g->norm)},
                                            {"trend", agreement_json(&g->trend)},
                                            {"differences", steps},
                                            {"samples", ds_json_whole(q->samples)},
                                            {"judged", ds_json_whole(q->judged)},
                                            {"converged", ds_json_whole(q->converged)},
                                            {"exact", ds_json_whole(q->exact)},
                                            {"opposite", ds_json_whole(q->opposite)},
                                            {"converged_share", ds_json_real(l->verdict.converged_share)},
                                            {"exact_share", ds_json_real(l->verdict.exact_share)},
                                            {"error", spread_json(&q->error)},
                                            {NULL, NULL}});
}

static json_t *time_json(const ds_time_measure *t)
{
    return ds_json_object((ds_json_entry[]){{"moments", ds_json_whole(t->blocks)},
                                            {"points", ds_json_whole(t->points)},
                                            {"growth", ds_json_real(t->growth)},
                                            {"min", ds_json_reals(t->low, t->blocks)},
                                            {"median", ds_json_reals(t->median, t->blocks)},
                                            {"max", ds_json_reals(t->high, t->blocks)},
                                            {NULL, NULL}});
}

static json_t *thresholds_json(const ds_verdict *v)
{
    json_t *list = json_array();
    for (int k = 0; k < DS_THRESHOLDS; k++) {
        const ds_threshold *t = &ds_thresholds[k];
        json_array_append_new(list,
                              ds_json_object((ds_json_entry[]){{"word", json_string(t->word)},
                                                               {"measure", json_string(t->measure)},
                                                               {"from", ds_json_real(t->value)},
                                                               {"measured", ds_json_real(v->measured[k])},
                                                               {"said", json_boolean(v->said[k])},
                                                               {NULL, NULL}}));
    }
    return list;
}

static json_t *best_json(const ds_landscape *l)
{
    double c[DS_SLICE_DIMS];
    ds_slice_grid(&l->slice, l->measures.loss.best, c);
    return ds_json_object((ds_json_entry[]){{"loss", ds_json_real(l->measures.loss.loss.min)},
                                            {"coordinates", l->measures.loss.with_loss > 0
                                                                ? ds_json_reals(c, (uint64_t)l->slice.dims)
                                                                : json_null()},
                                            {NULL, NULL}});
}

json_t *ds_landscape_summary(const ds_landscape *l)
{
    const ds_landscape_measures *m = &l->measures;
    const ds_session *s = &l->session;
    const ds_basin_measure *b = &m->basins;
    const ds_jump_measure *j = &m->jump;
    json_t *basins = ds_json_object((ds_json_entry[]){{"basins", ds_json_whole(b->basins)},
                                                      {"minima", ds_json_whole(b->minima)},
                                                      {"drain_share", ds_json_real(b->drain)},
                                                      {"second", ds_json_real(b->second)},
                                                      {NULL, NULL}});
    json_t *jumps = ds_json_object((ds_json_entry[]){{"steep", ds_json_whole(j->steep)},
                                                     {"neighbours", ds_json_whole(j->pairs)},
                                                     {"tested", ds_json_whole(j->tested)},
                                                     {"jumps", ds_json_whole(j->jumps)},
                                                     {"jump_share", ds_json_real(l->verdict.jump_share)},
                                                     {NULL, NULL}});
    return ds_json_object(
        (ds_json_entry[]){{"folder", ds_json_text(s->folder)},
                          {"env", json_string(s->env_module->id)},
                          {"n", ds_json_whole(l->slice.n)},
                          {"seed", ds_session_seed(s)},
                          {"verdict", json_string(l->verdict.words)},
                          {"advice", json_string(l->verdict.advice)},
                          {"axes", each_axis(l, axis_slice)},
                          {"center", ds_json_reals(l->slice.center, l->slice.n)},
                          {"points", ds_json_whole(m->loss.points)},
                          {"with_loss", ds_json_whole(m->loss.with_loss)},
                          {"outside", ds_json_whole(m->outside)},
                          {"lossless_share", ds_json_real(l->verdict.lossless_share)},
                          {"best", best_json(l)},
                          {"loss", loss_json(l)},
                          {"basins", basins},
                          {"jumps", jumps},
                          {"gradient", m->has_gradient ? gradient_json(l) : json_null()},
                          {"time", l->time.blocks > 0 ? time_json(&l->time) : json_null()},
                          {"thresholds", thresholds_json(&l->verdict)},
                          {"marks", ds_landscape_marks_json(l)},
                          {"evaluations", ds_json_whole(s->journal.statistics.count)},
                          {"outcomes", ds_session_outcomes(s)},
                          {"evaluation_s", ds_json_real(s->journal.statistics.wall_s)},
                          {"wall_s", ds_json_real(ds_session_wall(s))},
                          {"dshost", json_string(PACKAGE_VERSION)},
                          {"env_version", json_string(s->env_module->plugin->desc->version)},
                          {NULL, NULL}});
}

/* ---- text ---- */

static void print_share(FILE *f, const char *name, uint64_t part, uint64_t whole, const char *of)
{
    if (whole > 0) {
        fprintf(f, "  %-24s %6.2f %%  of %" PRIu64 " %s\n", name, 100 * (double)part / (double)whole, whole,
                of);
    }
}

static void print_agreement(FILE *f, const char *name, const ds_agreement *a)
{
    if (a->compared > 0) {
        fprintf(f, "  %-12s %8" PRIu64 " %9.4f %9.4f %9.3g %9.3g %8.1f %% %7.1f %%\n", name, a->compared,
                a->cosine.median, a->cosine.q10, a->ratio.median, a->ratio.q90,
                100 * (double)a->wrong_way / (double)a->compared,
                100 * (double)a->blind / (double)a->compared);
    }
}

static void print_gradient(const ds_landscape *l, FILE *f)
{
    const ds_gradient_measure *g = &l->measures.gradient;
    const ds_quality_measure *q = &l->measures.quality;
    const ds_box_measure *b = &l->measures.box;
    fprintf(f, "\ngradient\n");
    print_share(f, "zero on the slice", g->zero, g->points, "points");
    for (int a = 0; a < l->slice.dims && l->slice.dims > 1; a++) {
        print_share(f, a == 0 ? "zero along axis 0" : "zero along axis 1", g->zero_axis[a], g->points,
                    "points");
    }
    print_share(f, "zero altogether", g->all_zero, g->points, "points");
    print_share(f, "missing", g->missing, g->points + g->missing, "points with a loss");
    print_share(f, "missing in the box", b->missing, b->with_loss, "random points with a loss");
    print_share(f, "exploding", g->exploding, g->points, "points");
    print_share(f, "changes its sign", g->turns, g->pairs, "neighbours");
    fprintf(f, "  %-24s median %.3g, largest %.3g (times the range, across the slice)\n", "size",
            g->size.median, g->size.max);
    fprintf(f, "\n  %-12s %8s %9s %9s %9s %9s %10s %9s\n", "difference", "points", "cosine", "10 %", "ratio",
            "90 %", "wrong way", "zero");
    print_agreement(f, "trend (grid)", &g->trend);
    for (int k = 0; k < q->steps; k++) {
        char name[32];
        snprintf(name, sizeof name, "%.3g", q->at[k].step);
        print_agreement(f, name, &q->at[k]);
    }
    print_share(f, "differences converge", q->converged, q->judged, "samples");
    print_share(f, "gradient is their limit", q->exact, q->converged, "samples that converge");
    if (l->time.blocks > 0) {
        fprintf(f,
                "  %-24s %.3g times as large by the first controls as by the last ones (%" PRIu64
                " moments)\n",
                "through time", l->time.growth, l->time.blocks);
    }
}

/* Thresholds that were reached; summary.json has all. */
static void print_reasons(const ds_verdict *v, FILE *f)
{
    int rows = 0;
    for (int k = 0; k < DS_THRESHOLDS; k++) {
        if (v->said[k]) {
            fprintf(f, "%s  %-34s %s is %.3g, from %g on\n", rows++ == 0 ? "\nwhy\n" : "",
                    ds_thresholds[k].word, ds_thresholds[k].measure, v->measured[k], ds_thresholds[k].value);
        }
    }
}

/* The grid, on which numbers of basins, turns and steep cells depend. */
static void put_grid(const ds_landscape *l, FILE *f)
{
    fprintf(f, "%" PRIu64, l->slice.count[0]);
    if (l->slice.dims > 1) {
        fprintf(f, " x %" PRIu64, l->slice.count[1]);
    }
    fputs(" points", f);
}

static void print_measures(const ds_landscape *l, FILE *f)
{
    const ds_landscape_measures *m = &l->measures;
    const ds_slice *s = &l->slice;
    double c[DS_SLICE_DIMS];
    ds_slice_grid(s, m->loss.best, c);
    fprintf(f, "\nloss      %.6g to %.6g, median %.6g; %" PRIu64 " of %" PRIu64 " points have one\n",
            m->loss.loss.min, m->loss.loss.max, m->loss.loss.median, m->loss.with_loss, m->loss.points);
    fprintf(f, "lowest    at %.6g%s", c[0], s->dims > 1 ? ", " : "\n");
    if (s->dims > 1) {
        fprintf(f, "%.6g\n", c[1]);
    }
    for (int a = 0; a < s->dims; a++) {
        char name[32];
        snprintf(name, sizeof name, "equal along axis %d", a);
        print_share(f, name, m->loss.axis[a].equal, m->loss.axis[a].pairs, "neighbours");
        fprintf(f, "  turns along axis %d       %6.2f    a line, deeper than 1 %%\n", a,
                (double)m->loss.axis[a].turns / (double)m->loss.axis[a].lines);
    }
    print_share(f, "cells steeper than 5 %", m->loss.steep_cells, m->loss.cells, "cells");
    print_share(f, "steep neighbours", m->jump.steep, m->jump.pairs, "neighbours");
    print_share(f, "of these, jumps", m->jump.jumps, m->jump.tested, "tested");
    fprintf(
        f, "  %-24s %" PRIu64 " deeper than 1 %%, %" PRIu64 " minima in all; %.3g %% drain into the lowest\n",
        "basins", m->basins.basins, m->basins.minima, 100 * m->basins.drain);
    fprintf(f, "  %-24s ", "counted on a grid of");
    put_grid(l, f);
    fprintf(f, "; a finer one may find more\n");
    if (m->has_gradient) {
        print_gradient(l, f);
    }
}

void ds_landscape_print(const ds_landscape *l, FILE *f)
{
    const ds_landscape_measures *m = &l->measures;
    const ds_slice *s = &l->slice;
    fprintf(f, "%s\n\n", l->session.folder);
    for (int a = 0; a < s->dims; a++) {
        fprintf(f, "axis %d    %s, %.6g to %.6g, %" PRIu64 " points\n", a, s->label[a], s->low[a], s->high[a],
                s->count[a]);
    }
    if (m->loss.with_loss > 0) {
        print_measures(l, f);
    }
    print_reasons(&l->verdict, f);
    fprintf(f, "\nverdict   %s\n", l->verdict.words);
}

void ds_landscape_print_advice(const ds_landscape *l, FILE *f)
{
    const ds_verdict *v = &l->verdict;
    fprintf(f, "verdict   %s\nadvice    %s\n", v->words, v->advice[0] != '\0' ? v->advice : "none");
    fputs("grid      ", f);
    put_grid(l, f);
    fputs(": basins are counted on them, and a finer grid may find more (--grid)\n", f);
    if (l->measures.has_gradient) {
        const ds_gradient_measure *g = &l->measures.gradient;
        const ds_box_measure *b = &l->measures.box;
        const uint64_t all = g->points + g->missing;
        fprintf(f,
                "gradient  missing at %" PRIu64 " of %" PRIu64
                " points of the slice with a loss (%.3g %%), and at %" PRIu64 " of %" PRIu64
                " random points of the box (%.3g %%)\n",
                g->missing, all, all > 0 ? 100 * (double)g->missing / (double)all : 0.0, b->missing,
                b->with_loss, b->with_loss > 0 ? 100 * (double)b->missing / (double)b->with_loss : 0.0);
    }
}

/* ---- data files: grid.csv, samples.csv, landscape.npz ---- */

static const char *outcome_name(uint32_t outcome)
{
    return outcome == DS_POINT_OUTSIDE ? "outside" : ds_outcome_name(outcome);
}

/* Is it the name of another column? */
static int is_taken(const char *name)
{
    static const char *const others[] = {"i", "j", "loss", "outcome", "norm", "point", "step"};
    int taken = strncmp(name, "g.", 2) == 0 || strncmp(name, "d.", 2) == 0 || strncmp(name, "x.", 2) == 0;
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        taken |= strcmp(name, others[k]) == 0;
    }
    return taken;
}

/* Writes the headers of one column per axis: NAME, g.NAME, d.NAME of a named variable, as `export` does; c0,
 * g0, d0 of other axes. */
static void put_heads(ds_printer *p, const ds_landscape *l, char what)
{
    const ds_slice *s = &l->slice;
    for (int a = 0; a < s->dims; a++) {
        const ds_named_variable *v = s->kind[a] == DS_AXIS_VARIABLE ? l->session.env->variables : NULL;
        const char *name = v != NULL ? v[s->variable[a]].name : "";
        if (name[0] == '\0') {
            ds_print(p, ",%c%d", what, a);
        } else if (what != 'c') {
            ds_print(p, ",%c.%s", what, name);
        } else {
            ds_print(p, is_taken(name) ? ",x.%s" : ",%s", name);
        }
    }
}

static int write_grid(const ds_landscape *l, const char *path, ds_error *e)
{
    const ds_slice *s = &l->slice;
    ds_printer *p = NULL;
    int rc = ds_printer_open(path, &p, e);
    if (rc != 0) {
        return rc;
    }
    ds_print(p, s->dims > 1 ? "i,j" : "i");
    put_heads(p, l, 'c');
    ds_print(p, ",loss,outcome");
    if (l->want_gradient) {
        put_heads(p, l, 'g');
        ds_print(p, ",norm");
    }
    ds_print(p, "\n");
    for (uint64_t k = 0; k < ds_slice_points(s); k++) {
        const ds_slice_value *r = &l->grid[k];
        double c[DS_SLICE_DIMS];
        ds_slice_grid(s, k, c);
        ds_print(p, "%llu", (unsigned long long)(k % s->count[0]));
        if (s->dims > 1) {
            ds_print(p, ",%llu", (unsigned long long)(k / s->count[0]));
        }
        for (int a = 0; a < s->dims; a++) {
            ds_print_field(p, c[a]);
        }
        ds_print_field(p, r->loss);
        ds_print(p, ",%s", outcome_name(r->outcome));
        for (int a = 0; a < s->dims && l->want_gradient; a++) {
            ds_print_field(p, r->grad[a]);
        }
        if (l->want_gradient) {
            ds_print_field(p, r->norm);
        }
        ds_print(p, "\n");
    }
    return ds_printer_close(p, 0, e);
}

/* One row per sample and step: derivatives of the gradient and of the difference, per unit of the axis. */
static int write_samples(const ds_landscape *l, const char *path, ds_error *e)
{
    const ds_slice *s = &l->slice;
    const ds_samples *m = &l->samples;
    ds_printer *p = NULL;
    int rc = ds_printer_open(path, &p, e);
    if (rc != 0) {
        return rc;
    }
    ds_print(p, "point,step");
    put_heads(p, l, 'c');
    put_heads(p, l, 'g');
    put_heads(p, l, 'd');
    ds_print(p, "\n");
    for (uint64_t k = 0; k < m->count * (uint64_t)m->steps; k++) {
        uint64_t at = k / (uint64_t)m->steps;
        double c[DS_SLICE_DIMS];
        ds_slice_grid(s, l->sample_point[at], c);
        ds_print(p, "%llu", (unsigned long long)l->sample_point[at]);
        ds_print_field(p, m->step[k % (uint64_t)m->steps]);
        for (int a = 0; a < s->dims; a++) {
            ds_print_field(p, c[a]);
        }
        for (int a = 0; a < s->dims; a++) {
            ds_print_field(p, m->g[2 * at + (uint64_t)a] / (s->high[a] - s->low[a]));
        }
        for (int a = 0; a < s->dims; a++) {
            ds_print_field(p, m->d[2 * k + (uint64_t)a] / (s->high[a] - s->low[a]));
        }
        ds_print(p, "\n");
    }
    return ds_printer_close(p, 0, e);
}

/* Arrays loss, g0, g1, norm (rows are the second axis), the coordinates c0 and c1, the point `center`, and
 * the names of its variables. */
static int write_arrays(const ds_landscape *l, const char *path, ds_error *e)
{
    static const char *const names[] = {"loss", "g0", "g1", "norm"};
    const ds_slice *s = &l->slice;
    uint64_t points = ds_slice_points(s);
    uint64_t shape[2] = {s->dims > 1 ? s->count[1] : s->count[0], s->count[0]};
    ds_field f;
    ds_npz *z = NULL;
    double *v = ds_landscape_field(l, &f);
    double *c = malloc((s->count[0] > s->count[1] ? s->count[0] : s->count[1]) * sizeof *c);
    int rc = v == NULL || c == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : ds_npz_open(&z, path, e);
    for (uint64_t k = 0; k < 4 && rc == 0; k++) {
        if (k == 0 || (l->want_gradient && (k != 2 || s->dims > 1))) {
            rc = ds_npz_add(z, names[k], DS_NPY_F8, (uint32_t)s->dims, shape, v + k * points, e);
        }
    }
    for (int a = 0; a < s->dims && rc == 0; a++) {
        for (uint64_t i = 0; i < s->count[a]; i++) {
            double at[DS_SLICE_DIMS];
            ds_slice_grid(s, a == 0 ? i : i * s->count[0], at);
            c[i] = at[a];
        }
        rc = ds_npz_add(z, a == 0 ? "c0" : "c1", DS_NPY_F8, 1, &s->count[a], c, e);
    }
    rc = rc != 0 ? rc : ds_npz_add(z, "center", DS_NPY_F8, 1, &s->n, s->center, e);
    rc = rc != 0 ? rc : ds_npz_add_variables(z, l->session.env->variables, s->n, e);
    if (rc == 0) {
        rc = ds_npz_close(z, e);
    } else {
        ds_npz_abort(z);
    }
    free(v);
    free(c);
    return rc;
}

int ds_landscape_write_files(const ds_landscape *l, ds_error *e)
{
    typedef int writer(const ds_landscape *, const char *, ds_error *);
    static const struct {
        const char *name;
        writer *write;
    } files[] = {{"grid.csv", write_grid}, {"samples.csv", write_samples}, {"landscape.npz", write_arrays}};
    int rc = 0;
    for (size_t k = 0; k < sizeof files / sizeof files[0] && rc == 0; k++) {
        char *path = ds_folder_path(l->session.folder, files[k].name);
        rc = path == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory") : files[k].write(l, path, e);
        free(path);
    }
    return rc;
}
