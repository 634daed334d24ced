/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_report.c - the results of a landscape: summary.json, and a text with the thresholds. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "landscape/landscape_internal.h"

/* ---- JSON ---- */

static void put(json_t *o, const char *key, double v)
{
    json_object_set_new(o, key, ds_json_real(v));
}

static void put_count(json_t *o, const char *key, uint64_t v)
{
    json_object_set_new(o, key, json_integer((json_int_t)v));
}

static void put_spread(json_t *o, const char *key, const ds_spread *s)
{
    json_t *v = json_object();
    put_count(v, "count", s->count);
    put(v, "min", s->min);
    put(v, "q10", s->q10);
    put(v, "median", s->median);
    put(v, "q90", s->q90);
    put(v, "max", s->max);
    json_object_set_new(o, key, v);
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

static json_t *loss_json(const ds_landscape *l)
{
    const ds_loss_measure *m = &l->measures.loss;
    json_t *o = json_object(), *axes = json_array();
    put_spread(o, "spread", &m->loss);
    put(o, "range", m->range);
    put(o, "turns_per_line", l->verdict.turns_per_line);
    put(o, "turn_share", l->verdict.turn_share);
    put(o, "plateau_share", l->verdict.plateau_share);
    put(o, "steep_cell_share", share(m->steep_cells, m->cells));
    for (int a = 0; a < l->slice.dims; a++) {
        const ds_axis_measure *x = &m->axis[a];
        json_t *v = json_object();
        put_count(v, "neighbours", x->pairs);
        put(v, "equal_share", share(x->equal, x->pairs));
        put(v, "steep_share", share(x->steep, x->pairs));
        put_count(v, "turns", x->turns);
        put(v, "turns_per_line", share(x->turns, x->lines));
        put(v, "turn_share", share(x->turns, x->triples));
        put(v, "sweeps", x->sweeps);
        json_array_append_new(axes, v);
    }
    json_object_set_new(o, "axes", axes);
    return o;
}

static json_t *jumps_json(const ds_landscape *l)
{
    const ds_jump_measure *j = &l->measures.jump;
    json_t *o = json_object();
    put_count(o, "steep", j->steep);
    put_count(o, "neighbours", j->pairs);
    put_count(o, "tested", j->tested);
    put_count(o, "jumps", j->jumps);
    put(o, "jump_share", l->verdict.jump_share);
    return o;
}

static json_t *agreement_json(const ds_agreement *a)
{
    json_t *o = json_object();
    put(o, "step", a->step);
    put_count(o, "compared", a->compared);
    put(o, "zero_share", share(a->blind, a->compared));
    put(o, "wrong_way_share", share(a->wrong_way, a->compared));
    put(o, "wrong_sign_share", share(a->wrong_sign, a->signs));
    put_spread(o, "cosine", &a->cosine);
    put_spread(o, "ratio", &a->ratio);
    return o;
}

static json_t *gradient_json(const ds_landscape *l)
{
    const ds_gradient_measure *g = &l->measures.gradient;
    const ds_quality_measure *q = &l->measures.quality;
    json_t *o = json_object(), *steps = json_array();
    put_count(o, "points", g->points);
    put_count(o, "missing", g->missing);
    put(o, "missing_share", l->verdict.missing_share);
    put(o, "zero_share", share(g->zero, g->points));
    json_t *axes = json_array();
    for (int a = 0; a < l->slice.dims; a++) {
        json_array_append_new(axes, ds_json_real(share(g->zero_axis[a], g->points)));
    }
    json_object_set_new(o, "zero_share_along", axes);
    put(o, "all_zero_share", share(g->all_zero, g->points));
    put(o, "exploding_share", share(g->exploding, g->points));
    put_count(o, "sign_changes", g->turns);
    put(o, "sign_change_share", share(g->turns, g->pairs));
    put_spread(o, "size", &g->size);
    put_spread(o, "norm", &g->norm);
    json_object_set_new(o, "trend", agreement_json(&g->trend));
    for (int k = 0; k < q->steps; k++) {
        json_array_append_new(steps, agreement_json(&q->at[k]));
    }
    json_object_set_new(o, "differences", steps);
    put_count(o, "samples", q->samples);
    put_count(o, "judged", q->judged);
    put_count(o, "converged", q->converged);
    put_count(o, "exact", q->exact);
    put_count(o, "opposite", q->opposite);
    put(o, "converged_share", l->verdict.converged_share);
    put(o, "exact_share", l->verdict.exact_share);
    put_spread(o, "error", &q->error);
    return o;
}

static json_t *time_json(const ds_landscape *l)
{
    const ds_time_measure *t = &l->time;
    json_t *o = json_object();
    if (t->blocks == 0) {
        json_decref(o);
        return json_null();
    }
    put_count(o, "moments", t->blocks);
    put_count(o, "points", t->points);
    put(o, "growth", t->growth);
    json_object_set_new(o, "min", ds_json_reals(t->low, t->blocks));
    json_object_set_new(o, "median", ds_json_reals(t->median, t->blocks));
    json_object_set_new(o, "max", ds_json_reals(t->high, t->blocks));
    return o;
}

static json_t *axes_json(const ds_landscape *l)
{
    json_t *axes = json_array();
    for (int a = 0; a < l->slice.dims; a++) {
        const ds_slice *s = &l->slice;
        json_t *v = json_object();
        static const char *const kinds[] = {"variable", "random", "line"};
        json_object_set_new(v, "kind", json_string(kinds[s->kind[a]]));
        json_object_set_new(v, "variable",
                            s->kind[a] == DS_AXIS_VARIABLE ? json_integer((json_int_t)s->variable[a])
                                                           : json_null());
        json_object_set_new(v, "label", ds_json_text(s->label[a]));
        put(v, "low", s->low[a]);
        put(v, "high", s->high[a]);
        put_count(v, "points", s->count[a]);
        json_array_append_new(axes, v);
    }
    return axes;
}

static json_t *thresholds_json(void)
{
    json_t *list = json_array();
    for (int k = 0; k < ds_threshold_count; k++) {
        json_t *v = json_object();
        json_object_set_new(v, "word", json_string(ds_thresholds[k].word));
        json_object_set_new(v, "measure", json_string(ds_thresholds[k].measure));
        put(v, "from", ds_thresholds[k].value);
        json_array_append_new(list, v);
    }
    return list;
}

static json_t *best_json(const ds_landscape *l)
{
    json_t *o = json_object();
    double c[DS_SLICE_DIMS];
    int found = l->measures.loss.with_loss > 0;
    ds_slice_grid(&l->slice, l->measures.loss.best, c);
    put(o, "loss", l->measures.loss.loss.min);
    json_object_set_new(o, "coordinates", found ? ds_json_reals(c, (uint64_t)l->slice.dims) : json_null());
    return o;
}

json_t *ds_landscape_summary(const ds_landscape *l)
{
    const ds_landscape_measures *m = &l->measures;
    json_t *o = json_object(), *basins = json_object(), *outcomes = json_object();
    char seed[32];
    snprintf(seed, sizeof seed, "%" PRIu64, l->session.options.seed);
    json_object_set_new(o, "folder", ds_json_text(l->session.folder));
    json_object_set_new(o, "env", json_string(l->session.env_module->id));
    json_object_set_new(o, "n", json_integer((json_int_t)l->slice.n));
    json_object_set_new(o, "seed",
                        l->session.options.seed <= INT64_MAX
                            ? json_integer((json_int_t)l->session.options.seed)
                            : json_string(seed));
    json_object_set_new(o, "verdict", json_string(l->verdict.words));
    json_object_set_new(o, "axes", axes_json(l));
    json_object_set_new(o, "center", ds_json_reals(l->slice.center, l->slice.n));
    put_count(o, "points", m->loss.points);
    put_count(o, "with_loss", m->loss.with_loss);
    put_count(o, "outside", m->outside);
    put(o, "lossless_share", l->verdict.lossless_share);
    json_object_set_new(o, "best", best_json(l));
    json_object_set_new(o, "loss", loss_json(l));
    put_count(basins, "basins", m->basins.basins);
    put_count(basins, "minima", m->basins.minima);
    put(basins, "drain_share", m->basins.drain);
    put(basins, "second", m->basins.second);
    json_object_set_new(o, "basins", basins);
    json_object_set_new(o, "jumps", jumps_json(l));
    json_object_set_new(o, "gradient", m->has_gradient ? gradient_json(l) : json_null());
    json_object_set_new(o, "time", time_json(l));
    json_object_set_new(o, "thresholds", thresholds_json());
    put_count(o, "evaluations", l->session.journal.statistics.count);
    for (uint32_t k = 0; k < DS_OUTCOMES; k++) {
        if (l->session.journal.statistics.outcome[k] > 0) {
            put_count(outcomes, ds_outcome_name(k), l->session.journal.statistics.outcome[k]);
        }
    }
    json_object_set_new(o, "outcomes", outcomes);
    put(o, "evaluation_s", l->session.journal.statistics.wall_s);
    put(o, "wall_s", ds_session_wall(&l->session));
    json_object_set_new(o, "dshost", json_string(PACKAGE_VERSION));
    json_object_set_new(o, "env_version", json_string(l->session.env_module->plugin->desc->version));
    return o;
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
    fprintf(f, "\ngradient\n");
    print_share(f, "zero on the slice", g->zero, g->points, "points");
    for (int a = 0; a < l->slice.dims && l->slice.dims > 1; a++) {
        print_share(f, a == 0 ? "zero along axis 0" : "zero along axis 1", g->zero_axis[a], g->points,
                    "points");
    }
    print_share(f, "zero altogether", g->all_zero, g->points, "points");
    print_share(f, "not finite", g->missing, g->points + g->missing, "points");
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

static void print_thresholds(FILE *f)
{
    fprintf(f, "\nwords are said from here on\n");
    for (int k = 0; k < ds_threshold_count; k++) {
        fprintf(f, "  %-32s %s >= %g\n", ds_thresholds[k].word, ds_thresholds[k].measure,
                ds_thresholds[k].value);
    }
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
    if (m->has_gradient) {
        print_gradient(l, f);
    }
}

void ds_landscape_print(const ds_landscape *l, FILE *f)
{
    const ds_landscape_measures *m = &l->measures;
    const ds_slice *s = &l->slice;
    fprintf(f, "%s\n\n%s\n\n", l->session.folder, l->verdict.words);
    for (int a = 0; a < s->dims; a++) {
        fprintf(f, "axis %d    %s, %.6g to %.6g, %" PRIu64 " points\n", a, s->label[a], s->low[a], s->high[a],
                s->count[a]);
    }
    if (m->loss.with_loss > 0) {
        print_measures(l, f);
    }
    print_thresholds(f);
}
