/* SPDX-License-Identifier: Apache-2.0 */
/* identify_search.c - the search: bundled optimizers on the residuals of a problem, and the recipe.
 *
 * The recipe for few parameters, with a budget B:
 *
 *     lm from the start on all samples, once, with at most B / 16, of a small budget more
 *     window 1:  lm from the start, then from random starts, with 0.17 B; keeps the best of each search
 *     window k:  lm from each of the best CARRIED points, with 0.21 B; the last window has all fitted
 *                samples; where the error grows by more than JUMP, by a window between
 *     again from new random starts, with half of what is left
 *     (a single window: lm from random starts, with seven eighths of what is left, of a small budget all)
 *     lm from points along the valley around the best point, with three quarters of the rest
 *     pbh around the best point with short hops that fade, with the remainder
 *
 * A long motion that is chaotic or has contacts has a loss with many minima; a short one has few, and its
 * minimum lies in the basin of that of the next window. */
#include "config.h"

#include "identify/identify.h"

#include "base/stop.h"
#include "plugin/loader.h"
#include "plugin/services.h"

#include <diffsim/ext/channel.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CARRIED = 4, SHORTEST = 50, WINDOWS = 16, DIVISIONS = 3, JUMP = 6 };
static const double WIDEST = 0.1; /* step of a hop along a direction, in widths of the box */
static const double same = 0.01;  /* minima closer than this, in widths of the box, are one */

/* ---- minima ---- */

static double distance(const ds_identify_problem *p, const double *a, const double *b)
{
    double most = 0;
    for (size_t i = 0; i < p->n; i++) {
        most = fmax(most, fabs(a[i] - b[i]) / (p->upper[i] - p->lower[i]));
    }
    return most;
}

/* Adds the end of a search; keeps the minima apart and ascending. Returns 0 without memory. */
static int found_add(const ds_identify_problem *p, ds_identify_found *f, const double *u, double loss)
{
    size_t at = 0;
    uint64_t times = 1;
    if (!isfinite(loss)) {
        return 1;
    }
    for (size_t i = 0; i < f->count; i++) {
        ds_identify_minimum *m = &f->minimum[i];
        if (distance(p, m->u, u) < same) {
            if (m->loss <= loss) {
                m->found++;
                return 1;
            }
            times = m->found + 1;
            free(m->u);
            memmove(m, m + 1, (--f->count - i) * sizeof *m);
            break;
        }
    }
    while (at < f->count && f->minimum[at].loss <= loss) {
        at++;
    }
    if (at == DS_IDENTIFY_MINIMA) {
        return 1;
    }
    if (f->count == DS_IDENTIFY_MINIMA) {
        free(f->minimum[--f->count].u);
    }
    memmove(&f->minimum[at + 1], &f->minimum[at], (f->count - at) * sizeof *f->minimum);
    f->minimum[at] = (ds_identify_minimum){.u = malloc(p->n * sizeof *u), .loss = loss, .found = times};
    f->count++;
    if (f->minimum[at].u == NULL) {
        return 0;
    }
    memcpy(f->minimum[at].u, u, p->n * sizeof *u);
    return 1;
}

void ds_identify_found_clear(ds_identify_found *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free(f->minimum[i].u);
    }
    f->count = 0;
}

/* ---- the objective of an optimizer ---- */

typedef struct objective {
    ds_objective table;
    ds_identify_problem *p;
    ds_identify_found *found;
    ds_channel channel;
    const ds_channel *list[1];
    ds_objective_channels channels;
    uint64_t end; /* evaluations of the problem at which it stops */
    int one, begun;
    uint64_t group;
    double *best, best_loss; /* of the search with this number */
    ds_error *e;
    int rc;
} objective;

static void end_group(objective *o)
{
    if (isfinite(o->best_loss) && !found_add(o->p, o->found, o->best, o->best_loss)) {
        o->rc = ds_no_memory(o->e);
    }
    o->best_loss = INFINITY;
}

/* The results of one table: where its queries lie. */
typedef struct table {
    const ds_request *r;
    uint64_t rows, wide; /* wide: numbers of a product, at most */
    double *u, *v, *residual, *product;
    int *failed;
} table;

static const ds_query *query_of(const ds_request *r, uint32_t op, uint64_t *number)
{
    for (uint64_t i = 0; i < r->rows.queries; i++) {
        if (r->query[i].op == op) {
            *number = i;
            return &r->query[i];
        }
    }
    return NULL;
}

static int compute(objective *o, table *t)
{
    ds_identify_problem *p = o->p;
    const ds_request *r = t->r;
    uint64_t jv = 0, jtv = 0;
    const ds_query *along = query_of(r, DS_QUERY_JV, &jv), *back = query_of(r, DS_QUERY_JTV, &jtv);
    for (uint64_t k = 0; k < t->rows; k++) {
        memcpy(t->u + k * p->n, r->rows.x + k * r->rows.stride, p->n * sizeof *t->u);
        if (along != NULL) {
            memcpy(t->v + k * p->n, along->v + k * along->v_stride, p->n * sizeof *t->v);
        }
    }
    if (along != NULL) {
        return ds_identify_products(p, t->rows, t->u, t->v, t->product, t->residual, r->results.loss,
                                    t->failed, o->e);
    }
    int rc = ds_identify_residuals(p, t->rows, t->u, t->residual, r->results.loss, o->e);
    for (uint64_t k = 0; rc == 0 && k < t->rows; k++) {
        t->failed[k] = !isfinite(r->results.loss[k]);
        if (back != NULL && !t->failed[k]) {
            rc = ds_identify_transposed(p, t->u + k * p->n, back->v + k * back->v_stride,
                                        t->product + k * t->wide, &t->failed[k], o->e);
        } else if ((r->rows.want & DS_WANT_GRAD) != 0 && !t->failed[k]) {
            double *to = r->results.grad + k * r->results.stride;
            rc = ds_identify_transposed(p, t->u + k * p->n, t->residual + k * p->m, to, &t->failed[k], o->e);
            for (size_t i = 0; i < p->n; i++) {
                to[i] *= 2;
            }
        }
    }
    return rc;
}

static void reply(objective *o, const table *t)
{
    const ds_identify_problem *p = o->p;
    const ds_request *r = t->r;
    for (uint64_t k = 0; k < t->rows; k++) {
        const int lost = !isfinite(r->results.loss[k]);
        if (r->results.outcome != NULL) {
            r->results.outcome[k] = lost ? DS_EVAL_DIVERGED : t->failed[k] ? DS_EVAL_BAD_GRAD : DS_EVAL_OK;
        }
        if (r->results.grad_kind != NULL) {
            r->results.grad_kind[k] =
                (r->rows.want & DS_WANT_GRAD) != 0 && !t->failed[k] ? DS_GRAD_ADJOINT : DS_GRAD_NONE;
        }
        if (r->results.bad_step != NULL) {
            r->results.bad_step[k] = -1;
        }
        if (r->results.cost_steps != NULL) {
            r->results.cost_steps[k] = 0;
        }
        if ((r->rows.want & DS_WANT_GRAD) != 0 && t->failed[k]) {
            memset(r->results.grad + k * r->results.stride, 0, p->n * sizeof(double));
        }
        for (uint64_t i = 0; i < r->rows.queries; i++) {
            const ds_reply *to = &r->reply[i];
            const int is_value = r->query[i].op == DS_QUERY_VALUE;
            double *out = (double *)(void *)((char *)to->out + k * to->stride);
            const uint64_t stride = r->query[i].op == DS_QUERY_JV ? p->m : t->wide;
            const double *from = is_value ? t->residual + k * p->m : t->product + k * stride;
            if (lost || (!is_value && t->failed[k])) {
                memset(out, 0, to->bytes);
            } else {
                memcpy(out, from, to->bytes);
            }
            if (to->kind != NULL) {
                to->kind[k] = is_value || t->failed[k] ? DS_GRAD_NONE : DS_GRAD_FORWARD;
            }
        }
        if (r->results.loss[k] < o->best_loss) {
            o->best_loss = r->results.loss[k];
            memcpy(o->best, t->u + k * p->n, p->n * sizeof *o->best);
        }
    }
}

static ds_status evaluate(const ds_objective *table_, const ds_rows *rows, const ds_label *label,
                          const ds_results *results, uint64_t *done)
{
    objective *o = table_->ctx;
    ds_identify_problem *p = o->p;
    ds_request r;
    char text[DS_REQUEST_TEXT];
    *done = 0;
    if (o->rc != 0 || ds_request_read(&r, rows, label, results, text) != 0) {
        o->rc = o->rc != 0 ? o->rc : ds_fail(o->e, DS_EXIT_PLUGIN, "identify: %s", text);
        return DS_E_ARG;
    }
    if (!o->begun || r.label.group != o->group) {
        if (o->begun && o->one) {
            return DS_STOPPED;
        }
        end_group(o);
        o->begun = 1;
        o->group = r.label.group;
    }
    const uint64_t left = p->evaluations < o->end ? o->end - p->evaluations : 0;
    table t = {.r = &r, .rows = r.rows.count < left ? r.rows.count : left};
    if (t.rows == 0 || atomic_load(&ds_stop_flag) != 0) {
        return DS_STOPPED;
    }
    t.wide = p->m > p->n ? p->m : p->n;
    t.u = malloc(t.rows * (2 * p->n + p->m + t.wide) * sizeof *t.u);
    t.failed = calloc(t.rows, sizeof *t.failed);
    if (t.u == NULL || t.failed == NULL) {
        o->rc = ds_no_memory(o->e);
    } else {
        t.v = t.u + t.rows * p->n;
        t.residual = t.v + t.rows * p->n;
        t.product = t.residual + t.rows * p->m;
        o->rc = compute(o, &t);
    }
    if (o->rc == 0) {
        reply(o, &t);
        *done = t.rows;
    }
    free(t.u);
    free(t.failed);
    return o->rc != 0 || t.rows < r.rows.count ? DS_STOPPED : DS_OK;
}

static const void *get_extension(const ds_objective *table_, const char *id)
{
    const objective *o = table_->ctx;
    return strcmp(id, DS_EXT_OBJECTIVE_CHANNELS) == 0 ? &o->channels : NULL;
}

static void objective_open(objective *o)
{
    o->table = (ds_objective){sizeof o->table, 0, o, evaluate, get_extension};
    o->channel = (ds_channel){.struct_size = sizeof o->channel,
                              .role = DS_CHANNEL_RESIDUAL,
                              .type = DS_TYPE_F64,
                              .ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV),
                              .ndim = 1,
                              .shape = {o->p->m},
                              .lower = -INFINITY,
                              .upper = INFINITY,
                              .name = "residuals",
                              .unit = "",
                              .doc = "Of all recordings."};
    o->list[0] = &o->channel;
    o->channels = (ds_objective_channels){sizeof o->channels, 0, 1, o->list};
    o->best_loss = INFINITY;
}

/* ---- one optimizer ---- */

static int load(const char *id, const ds_module **out, ds_error *e)
{
    ds_plugin_file f;
    int rc = ds_plugin_find(id, DS_KIND_OPTIMIZER, &f, e);
    if (rc == 0 && !ds_plugin_is_own(&f)) {
        return ds_fail(e, DS_EXIT_PLUGIN, "identify: method %.60s: only bundled optimizers can be used here",
                       id);
    }
    return rc != 0 ? rc : ds_loader_load(&f, out, e);
}

static int run_module(const ds_module *module, const char *settings, uint64_t seed, const ds_problem *problem,
                      objective *o)
{
    ds_settings text = {0};
    ds_params *params = NULL;
    ds_services services;
    void *self = NULL;
    int rc = ds_settings_parse_section(&text, DS_SECTION_OPT, settings, "identify", o->e);
    rc = rc != 0
             ? rc
             : ds_params_make(module->plugin->desc->params, module->id, &text, DS_SECTION_OPT, &params, o->e);
    ds_settings_clear(&text);
    if (rc != 0) {
        return rc;
    }
    ds_services_init(&services, module, params, seed, 1, &ds_stop_flag);
    ds_module_begin(module);
    ds_status st = module->opt.create(&services.host, problem, &self);
    const char *where = "create()";
    if (st == DS_OK) {
        where = "run()";
        st = module->opt.run(self, &o->table);
        module->opt.destroy(self);
    }
    ds_module_end(module);
    rc = o->rc != 0 ? o->rc : st < 0 ? ds_services_fail(&services, o->e, where, st) : 0;
    ds_services_clear(&services);
    return rc;
}

int ds_identify_optimize(ds_identify_problem *p, const char *optimizer, const char *settings, uint64_t seed,
                         const double *start, uint64_t budget, int one, ds_identify_found *out, ds_error *e)
{
    objective o = {.p = p, .found = out, .end = p->evaluations + budget, .one = one, .e = e};
    const ds_problem problem = {.struct_size = sizeof problem,
                                .has_gradient = 1,
                                .n = p->n,
                                .lower = p->lower,
                                .upper = p->upper,
                                .x0 = start != NULL ? start : p->start,
                                .budget = budget,
                                .target = -INFINITY,
                                .loss_floor = 0};
    const ds_module *module = NULL;
    objective_open(&o);
    o.best = malloc(p->n * sizeof *o.best);
    int rc = o.best == NULL ? ds_no_memory(e) : load(optimizer, &module, e);
    rc = rc != 0 ? rc : run_module(module, settings, seed, &problem, &o);
    if (rc == 0) {
        end_group(&o);
        rc = o.rc;
    }
    free(o.best);
    return rc;
}

/* ---- the recipe ---- */

static int read_windows(const ds_identify_problem *p, uint64_t window[WINDOWS], size_t *count, ds_error *e)
{
    const char *text = p->c->options.windows;
    const uint64_t all = ds_identify_fitted(p);
    int timed = 1;
    *count = 0;
    for (size_t k = 0; k < p->recordings; k++) {
        timed &= p->c->recording[p->recording[k]].timed;
    }
    if (strcmp(text, "auto") == 0) {
        for (uint64_t w = all; timed && w / 2 >= SHORTEST && *count + 1 < WINDOWS; w /= 2) {
            memmove(window + 1, window, (*count)++ * sizeof *window);
            window[0] = w / 2;
        }
    } else if (strcmp(text, "none") != 0) {
        for (const char *at = text + strspn(text, " ,"); *at != '\0'; at += strspn(at, " ,")) {
            char word[24];
            int64_t v = 0;
            const size_t n = strcspn(at, " ,");
            snprintf(word, sizeof word, "%.*s", (int)(n < 23 ? n : 23), at);
            if (!ds_parse_int(word, &v) || v < 1 || *count + 1 == WINDOWS ||
                (*count > 0 && (uint64_t)v <= window[*count - 1])) {
                return ds_fail(
                    e, DS_EXIT_CONFIG,
                    "identify.windows = %.100s: expected ascending numbers of samples, auto or none", text);
            }
            if ((uint64_t)v < all) {
                window[(*count)++] = (uint64_t)v;
            }
            at += n;
        }
    }
    window[(*count)++] = all;
    return 0;
}

static uint64_t left_of(const ds_identify_problem *p, uint64_t end)
{
    return p->evaluations < end ? end - p->evaluations : 0;
}

/* Fits the best points of `from` in a window; adds the ends to `to`. */
static int refit(ds_identify_problem *p, uint64_t window, const ds_identify_found *from, size_t most,
                 uint64_t seed, uint64_t end, ds_identify_found *to, ds_error *e)
{
    const uint64_t each = 40 * (p->n + 1);
    int rc = 0;
    ds_identify_window(p, window);
    for (size_t i = 0; rc == 0 && i < from->count && i < most; i++) {
        /* The best point gets what it needs: a later one may have less. */
        const uint64_t share = left_of(p, end) / (i == 0 ? 2 : most - i);
        rc = ds_identify_optimize(p, "lm", "", seed, from->minimum[i].u,
                                  share > each ? each
                                  : share > 0  ? share
                                               : 1,
                                  1, to, e);
    }
    return rc;
}

static double error_of(const ds_identify_found *f, uint64_t window)
{
    return f->count > 0 ? sqrt(f->minimum[0].loss / (double)window) : (double)INFINITY;
}

/* Brings the points of a window to a longer one. Where the error jumps, the step was too long: it is
 * divided. */
static int reach(ds_identify_problem *p, uint64_t from_window, uint64_t window, const ds_identify_found *from,
                 int depth, uint64_t seed, uint64_t end, ds_identify_found *to, ds_error *e)
{
    const double limit = JUMP * error_of(from, from_window);
    const uint64_t middle = from_window + (window - from_window) / 2;
    int rc = refit(p, window, from, depth == DIVISIONS ? CARRIED : CARRIED / 2, seed, end, to, e);
    if (rc == 0 && depth > 0 && error_of(to, window) > limit && window - from_window >= 16 &&
        left_of(p, end) > 4 * (p->n + 1)) {
        ds_identify_found between = {.count = 0};
        rc = reach(p, from_window, middle, from, depth - 1, seed, end, &between, e);
        if (rc == 0 && error_of(&between, middle) <= limit) {
            rc = reach(p, middle, window, &between, depth - 1, seed, end, to, e);
        }
        ds_identify_found_clear(&between);
    }
    return rc;
}

/* Takes the best points of window 0 through the others. `to` gets the ends; `from` is used up. */
static int carry(ds_identify_problem *p, const uint64_t *window, size_t windows, ds_identify_found *from,
                 uint64_t seed, uint64_t end, ds_identify_found *to, ds_error *e)
{
    int rc = 0;
    for (size_t w = 1; rc == 0 && w < windows; w++) {
        ds_identify_found next = {.count = 0};
        rc = reach(p, window[w - 1], window[w], from, DIVISIONS, seed, end, &next, e);
        ds_identify_found_clear(from);
        *from = next;
    }
    for (size_t i = 0; rc == 0 && i < from->count; i++) {
        rc = found_add(p, to, from->minimum[i].u, from->minimum[i].loss) ? 0 : ds_no_memory(e);
    }
    ds_identify_found_clear(from);
    return rc;
}

/* One round: the first window, then the others. A single window has nothing to carry. */
static int grow_once(ds_identify_problem *p, const uint64_t *window, size_t windows, int fresh, uint64_t seed,
                     uint64_t share, ds_identify_found *out, ds_error *e)
{
    const uint64_t end = p->evaluations + share;
    const char *settings = fresh ? "use_x0 = false" : "";
    ds_identify_found first = {.count = 0};
    ds_identify_window(p, window[0]);
    if (windows == 1) {
        return ds_identify_optimize(p, "lm", settings, seed, NULL, share, 0, out, e);
    }
    int rc = ds_identify_optimize(p, "lm", settings, seed, NULL, 4 * share / 9, 0, &first, e);
    rc = rc != 0 ? rc : carry(p, window, windows, &first, seed, end, out, e);
    ds_identify_found_clear(&first);
    return rc;
}

static int hop(ds_identify_problem *p, uint64_t seed, uint64_t budget, ds_identify_found *out, ds_error *e)
{
    char settings[100], digits[DS_REAL_TEXT];
    double *best = malloc(p->n * sizeof *best);
    if (best == NULL) {
        return ds_no_memory(e);
    }
    snprintf(settings, sizeof settings, "initial_std = %s\nfade_std = true",
             ds_real_text(p->c->options.hop, digits));
    memcpy(best, out->minimum[0].u, p->n * sizeof *best);
    const int rc = ds_identify_optimize(p, "pbh", settings, seed, best, budget, 0, out, e);
    free(best);
    return rc;
}

/* Hops along the valley around the best point: lm from points that lie 2 to 60 standard deviations of the
 * estimate away. Minima of a long motion differ most in what the data determine least. */
static int follow_valley(ds_identify_problem *p, uint64_t seed, uint64_t end, ds_identify_found *out,
                         ds_error *e)
{
    const size_t n = p->n;
    const uint64_t each = 12 * (n + 1);
    ds_identify_determined d = {0};
    double *u = malloc(n * sizeof *u), at = INFINITY;
    int rc = u == NULL ? ds_no_memory(e) : 0, failed = 0;
    for (uint64_t k = 0; rc == 0 && left_of(p, end) >= each && atomic_load(&ds_stop_flag) == 0; k++) {
        if (out->minimum[0].loss < at) { /* a better point: its own valley */
            at = out->minimum[0].loss;
            ds_identify_determined_clear(&d);
            rc = ds_identify_determine(p, out->minimum[0].u, &d, &failed, e);
        }
        if (rc != 0 || failed || d.rank == 0) {
            break;
        }
        ds_random random = ds_random_open(seed, "valley", k);
        const double sigma = sqrt(at / fmax(1, (double)d.rows - (double)n)),
                     far = 2 * pow(30, ds_random_uniform(&random));
        memcpy(u, out->minimum[0].u, n * sizeof *u);
        for (size_t j = 0; j < d.rank; j++) {
            const double step = fmin(WIDEST, far * sigma / d.value[j]) * ds_random_normal(&random);
            for (size_t i = 0; i < n; i++) {
                u[i] += step * d.vector[j * n + i] * (p->upper[i] - p->lower[i]);
            }
        }
        for (size_t i = 0; i < n; i++) {
            u[i] = fmin(p->upper[i], fmax(p->lower[i], u[i]));
        }
        rc = ds_identify_optimize(p, "lm", "", seed, u, each, 1, out, e);
    }
    ds_identify_determined_clear(&d);
    free(u);
    return rc;
}

/* One lm from the start on all samples: where the motion is neither long nor chaotic it is enough. A small
 * budget has little use of windows. */
static int try_all(ds_identify_problem *p, uint64_t seed, uint64_t end, ds_identify_found *out, ds_error *e)
{
    const uint64_t left = left_of(p, end), least = 15 * (p->n + 1);
    const uint64_t share = left / 16 > least ? left / 16 : least < 3 * left / 4 ? least : 3 * left / 4;
    ds_identify_window(p, ds_identify_fitted(p));
    return share > 0 ? ds_identify_optimize(p, "lm", "", seed, NULL, share, 1, out, e) : 0;
}

static int grow(ds_identify_problem *p, uint64_t seed, uint64_t end, ds_identify_found *out, ds_error *e)
{
    uint64_t window[WINDOWS];
    size_t windows = 0;
    int rc = read_windows(p, window, &windows, e);
    /* Enough for few descents: each gets what it needs, and nothing is left for hops. */
    if (rc == 0 && windows == 1 && p->budget < 100 * (p->n + 1)) {
        snprintf(out->recipe, sizeof out->recipe, "lm");
        return ds_identify_optimize(p, "lm", "", seed, NULL, left_of(p, end), 0, out, e);
    }
    rc = rc != 0 ? rc : try_all(p, seed, end, out, e);
    if (rc == 0 && windows == 1) { /* other starts find other minima: hops are for the rest */
        rc = grow_once(p, window, 1, 1, seed, 7 * left_of(p, end) / 8, out, e);
    } else if (rc == 0 && left_of(p, end) > 8 * (p->n + 1)) {
        rc = grow_once(p, window, windows, 0, seed, 2 * left_of(p, end) / 5, out, e);
        rc = rc != 0 ? rc : grow_once(p, window, windows, 1, seed + 1, left_of(p, end) / 2, out, e);
    }
    ds_identify_window(p, window[windows - 1]);
    if (rc == 0 && out->count > 0) {
        rc = follow_valley(p, seed, p->evaluations + 3 * left_of(p, end) / 4, out, e);
    }
    if (rc == 0 && out->count > 0 && left_of(p, end) > 8 * (p->n + 1)) {
        rc = hop(p, seed, left_of(p, end), out, e);
    }
    if (windows > 1) {
        snprintf(out->recipe, sizeof out->recipe, "lm; lm in %zu windows, twice; valley; pbh", windows);
    } else {
        snprintf(out->recipe, sizeof out->recipe, "lm; valley; pbh");
    }
    return rc;
}

int ds_identify_search(ds_identify_problem *p, uint64_t seed, ds_identify_found *out, ds_error *e)
{
    const char *method = p->c->options.method;
    const uint64_t reserve = 2 * p->n + 4, spent = p->evaluations;
    const uint64_t end = p->budget > reserve + spent ? p->budget - reserve : spent + 1;
    const int few = 20 * (p->n + 1) <= p->budget;
    if (strcmp(method, "windows") == 0 || (strcmp(method, "auto") == 0 && few)) {
        return grow(p, seed, end, out, e);
    }
    const char *id = strcmp(method, "auto") == 0 ? "racer" : method;
    ds_identify_window(p, ds_identify_fitted(p));
    snprintf(out->recipe, sizeof out->recipe, "%s", id);
    return ds_identify_optimize(p, id, "", seed, NULL, end - spent, 0, out, e);
}
