/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_verdict.c - describes measures in words. All thresholds are in one table, which the report shows.
 */
#include "config.h"

#include "landscape/landscape_verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    T_RUGGED,
    T_RUGGED_N,
    T_EXTREME,
    T_EXTREME_N,
    T_PLATEAUS,
    T_JUMPS,
    T_LOSSLESS,
    T_ZERO,
    T_MISSING,
    T_EXPLODING,
    T_SOMETIMES,
    T_OFTEN,
    T_NOISY,
    T_WRONG,
};
_Static_assert(T_WRONG + 1 == DS_THRESHOLDS, "one row for each");

const ds_threshold ds_thresholds[DS_THRESHOLDS] = {
    [T_RUGGED] = {"rugged", "turns_per_line", 6},
    [T_RUGGED_N] = {"rugged", "basins", 10},
    [T_EXTREME] = {"extremely rugged", "turn_share", 0.25},
    [T_EXTREME_N] = {"extremely rugged", "basins", 200},
    [T_PLATEAUS] = {"plateaus", "plateau_share", 0.1},
    [T_JUMPS] = {"jumps", "jump_share", 0.002},
    [T_LOSSLESS] = {"no loss at", "lossless_share", 0.01},
    [T_ZERO] = {"zero in large areas", "zero_share", 0.1},
    [T_MISSING] = {"missing in places", "missing_share", 1e-9},
    [T_EXPLODING] = {"exploding", "exploding_share", 0.02},
    [T_SOMETIMES] = {"sometimes the wrong way", "wrong_way_share", 0.05},
    [T_OFTEN] = {"often the wrong way", "wrong_way_share", 0.2},
    [T_NOISY] = {"finite differences do not converge", "1 - converged_share", 0.5},
    [T_WRONG] = {"not the derivative of the loss", "1 - exact_share", 0.1},
};

/* Share of missing gradients from which on the advice is about them. */
static const double MISSING_MATTERS = 0.02;

enum { ENOUGH = 10 /* least number of samples for a share */ };

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static int reached(double value, int threshold)
{
    return value >= ds_thresholds[threshold].value;
}

static void describe_shape(const ds_landscape_measures *m, ds_verdict *v)
{
    const ds_loss_measure *l = &m->loss;
    uint64_t turns = 0, lines = 0, triples = 0, equal = 0, pairs = 0;
    double largest = fmax(fabs(l->loss.min), fabs(l->loss.max));
    for (int a = 0; a < DS_FIELD_DIMS; a++) {
        turns += l->axis[a].turns;
        lines += l->axis[a].lines;
        triples += l->axis[a].triples;
        equal += l->axis[a].equal;
        pairs += l->axis[a].pairs;
    }
    v->turns_per_line = share(turns, lines);
    v->turn_share = share(turns, triples);
    v->plateau_share = share(equal, pairs);
    v->untested = m->jump.steep > 0 && m->jump.tested == 0;
    v->jump_share = v->untested ? (double)NAN
                                : share(m->jump.steep, m->jump.pairs) * share(m->jump.jumps, m->jump.tested);
    v->constant = l->with_loss > 0 && l->range <= DS_EQUAL * largest;
    v->plateaus = reached(v->plateau_share, T_PLATEAUS);
    v->jumps = reached(v->jump_share, T_JUMPS);
    double basins = (double)m->basins.basins;
    v->rugged = reached(v->turn_share, T_EXTREME) || reached(basins, T_EXTREME_N)     ? 2
                : reached(v->turns_per_line, T_RUGGED) || reached(basins, T_RUGGED_N) ? 1
                                                                                      : 0;
    if (l->with_loss == 0) {
        snprintf(v->shape, sizeof v->shape, "no loss anywhere");
    } else if (v->constant) {
        snprintf(v->shape, sizeof v->shape, "constant");
    } else {
        const int few = !v->jumps && m->jump.jumps > 0, jumps = v->jumps || few;
        const char *how = v->rugged == 2         ? "extremely rugged, "
                          : v->rugged == 1       ? "rugged, "
                          : jumps || v->untested ? ""
                                                 : "smooth, ";
        snprintf(v->shape, sizeof v->shape, "%s%" PRIu64 " basin%s%s%s%s%s%s", how, m->basins.basins,
                 m->basins.basins == 1 ? "" : "s", v->plateaus || jumps ? ", with " : "",
                 v->plateaus ? "plateaus" : "", v->plateaus && jumps ? " and " : "",
                 few     ? "few jumps"
                 : jumps ? "jumps"
                         : "",
                 v->untested ? ", jumps not tested" : "");
    }
    uint64_t inside = l->points - m->outside;
    v->lossless_share = share(inside - l->with_loss, inside);
    v->lossless = l->with_loss > 0 && reached(v->lossless_share, T_LOSSLESS);
    if (v->lossless) {
        size_t n = strlen(v->shape);
        snprintf(v->shape + n, sizeof v->shape - n, ", no loss at %.*f %%", v->lossless_share < 0.99 ? 0 : 1,
                 100 * v->lossless_share);
    }
}

/* Appends the word of a threshold that holds to a list. */
static void say(char *out, size_t room, int holds, int threshold)
{
    size_t n = strlen(out);
    if (holds) {
        snprintf(out + n, room - n, "%s%s", out[n - 1] != ' ' ? ", " : "", ds_thresholds[threshold].word);
    }
}

static void describe_gradients(const ds_landscape_measures *m, ds_verdict *v)
{
    const ds_gradient_measure *g = &m->gradient;
    const ds_quality_measure *q = &m->quality;
    char *out = v->gradients;
    size_t room = sizeof v->gradients;
    v->no_gradient = !m->has_gradient || g->points == 0; /* missing everywhere means that there are none */
    v->converged_share = q->judged > 0 ? share(q->converged, q->judged) : (double)NAN;
    v->exact_share = q->converged > 0 ? share(q->exact, q->converged) : (double)NAN;
    if (v->no_gradient) {
        snprintf(out, room, m->not_measured ? "gradients not measured" : "no gradients");
        return;
    }
    v->zero_share = share(g->zero, g->points);
    v->missing_share =
        fmax(share(g->missing, g->points + g->missing), share(m->box.missing, m->box.with_loss));
    v->exploding_share = share(g->exploding, g->points);
    v->wrong_way_share = share(g->trend.wrong_way, g->trend.compared);
    v->zero = !v->constant && reached(v->zero_share, T_ZERO);
    v->missing = reached(v->missing_share, T_MISSING);
    v->exploding = reached(v->exploding_share, T_EXPLODING);
    /* a constant loss has no direction except by rounding */
    v->wrong_way = v->constant                                ? 0
                   : reached(v->wrong_way_share, T_OFTEN)     ? 2
                   : reached(v->wrong_way_share, T_SOMETIMES) ? 1
                                                              : 0;
    v->noisy = q->judged >= ENOUGH && reached(1 - v->converged_share, T_NOISY);
    v->not_derivative = q->converged >= ENOUGH && reached(1 - v->exact_share, T_WRONG);
    if (!v->zero && v->wrong_way == 0 && !v->missing && !v->exploding && !v->noisy && !v->not_derivative) {
        snprintf(out, room, "%s",
                 !v->constant           ? "good gradients"
                 : g->zero == g->points ? "zero gradients"
                                        : "gradients not zero");
        return;
    }
    /* A gradient can be exact and useless, such as the derivative of a saw-tooth. */
    int exact = q->converged >= ENOUGH && !v->not_derivative && !v->noisy;
    snprintf(out, room, exact ? "gradients exact but " : "gradients ");
    say(out, room, v->zero, T_ZERO);
    say(out, room, v->wrong_way > 0, v->wrong_way == 2 ? T_OFTEN : T_SOMETIMES);
    say(out, room, v->missing, T_MISSING);
    say(out, room, v->exploding, T_EXPLODING);
    say(out, room, v->noisy, T_NOISY);
    say(out, room, v->not_derivative, T_WRONG);
}

/* Records what was compared with each threshold, and which words it caused. */
static void give_reasons(const ds_landscape_measures *m, ds_verdict *v)
{
    double basins = m->loss.with_loss > 0 ? (double)m->basins.basins : (double)NAN;
    const struct {
        double measured;
        int said;
    } row[DS_THRESHOLDS] = {
        [T_RUGGED] = {v->turns_per_line, v->rugged == 1},
        [T_RUGGED_N] = {basins, v->rugged == 1},
        [T_EXTREME] = {v->turn_share, v->rugged == 2},
        [T_EXTREME_N] = {basins, v->rugged == 2},
        [T_PLATEAUS] = {v->plateau_share, v->plateaus && !v->constant},
        [T_JUMPS] = {v->jump_share, v->jumps},
        [T_LOSSLESS] = {v->lossless_share, v->lossless},
        [T_ZERO] = {v->zero_share, v->zero},
        [T_MISSING] = {v->missing_share, v->missing},
        [T_EXPLODING] = {v->exploding_share, v->exploding},
        [T_SOMETIMES] = {v->wrong_way_share, v->wrong_way == 1},
        [T_OFTEN] = {v->wrong_way_share, v->wrong_way == 2},
        [T_NOISY] = {1 - v->converged_share, v->noisy},
        [T_WRONG] = {1 - v->exact_share, v->not_derivative},
    };
    for (int k = 0; k < DS_THRESHOLDS; k++) {
        v->measured[k] = k >= T_ZERO && v->no_gradient ? (double)NAN : row[k].measured;
        v->said[k] = row[k].said && reached(v->measured[k], k);
    }
}

/* Up to 400 variables racer leaps (LEAP_MOST of methods/race/race.c), up to 5000 leaprefine is practical
 * (docs/optimizers.md, "Many variables"). */
enum { FEW, MANY, MORE, SIZES };
enum { RACER_LEAPS = 400, LEAPREFINE_MOST = 5000 };

/* Advice if gradients are worth following, but not alone. */
static void advise_leaps(const ds_landscape_measures *m, ds_verdict *v)
{
    static const char *const averages[SIZES] = {
        "racer or leaprefine, which average them over samples, or cmaes",
        "leaprefine, which averages them over samples, or cmaes",
        "alphaorder, which averages them over samples, or cmaes with covariance = diagonal"};
    static const char *const leaps[SIZES] = {"racer or leaprefine, which leap", "leaprefine, which leaps",
                                             "racer, which restarts from many places"};
    const int size = m->n <= RACER_LEAPS ? FEW : m->n <= LEAPREFINE_MOST ? MANY : MORE;
    const int several = m->basins.basins > 1;
    char what[120];
    if (v->wrong_way > 0) {
        snprintf(what, sizeof what, "point the wrong way at %.0f %% of the points", 100 * v->wrong_way_share);
    } else if (several) {
        snprintf(what, sizeof what, "are right, but lead to one of %" PRIu64 " basins", m->basins.basins);
    } else {
        snprintf(what, sizeof what, "are right, but the loss %s, where line searches stop",
                 v->jumps ? "jumps" : "has bumps");
    }
    const char *where = size == MORE       ? ""
                        : v->wrong_way > 0 ? " between basins"
                        : several          ? " between them"
                                           : "";
    snprintf(v->advice, sizeof v->advice, "gradients %s: %s%s; not lbfgsb%s", what,
             v->wrong_way == 2 ? averages[size] : leaps[size], v->wrong_way == 2 ? "" : where,
             v->wrong_way == 2 ? "" : " alone");
}

/* A rule of thumb, the most severe obstacle first; docs/landscape.md describes the runs that support it. */
static void advise(const ds_landscape_measures *m, ds_verdict *v)
{
    char *out = v->advice;
    size_t room = sizeof v->advice;
    if (m->loss.with_loss == 0 || v->constant || m->not_measured) {
        return;
    }
    if (v->no_gradient) {
        snprintf(out, room,
                 "there are no gradients: racer or cmaes, which sample; bo if episodes are expensive and "
                 "variables are few");
    } else if (v->zero) {
        snprintf(out, room,
                 "gradients vanish at %.0f %% of the points, where descents stop: racer, which samples "
                 "there, or cmaes; not adam, lbfgsb, randdescents",
                 100 * v->zero_share);
    } else if (v->exploding || v->missing_share >= MISSING_MATTERS || v->noisy || v->not_derivative) {
        snprintf(out, room,
                 "gradients are %s: racer, which measures how useful they are, or cmaes, which uses none; "
                 "not lbfgsb",
                 v->exploding                          ? "huge in places"
                 : v->missing_share >= MISSING_MATTERS ? "missing in places"
                 : v->noisy                            ? "no limit of differences"
                                                       : "not the derivative of the loss");
    } else if (v->wrong_way > 0 || v->rugged > 0 || v->jumps) {
        advise_leaps(m, v);
    } else {
        snprintf(out, room,
                 "gradients are good: racer; lbfgsb if there is one basin, whose minimum it reaches first");
    }
}

void ds_verdict_make(const ds_landscape_measures *m, ds_verdict *out)
{
    memset(out, 0, sizeof *out);
    describe_shape(m, out);
    describe_gradients(m, out);
    give_reasons(m, out);
    int some = m->loss.with_loss > 0;
    snprintf(out->words, sizeof out->words, "%s%s%s", out->shape, some ? "; " : "",
             some ? out->gradients : "");
    advise(m, out);
}
