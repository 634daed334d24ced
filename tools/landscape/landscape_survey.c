/* SPDX-License-Identifier: Apache-2.0 */
/* landscape_survey.c - evaluates the grid, finite differences of several steps at some of its points, steep
 * places halved repeatedly, and random points of the box, in this order; then gradients through time. The
 * requests depend only on results, so that an interrupted survey is replayed from its record. */
#include "config.h"

#include "landscape/landscape.h"

#include <diffsim/env.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- evaluating points ---- */

enum {
    CHUNK_BYTES = 16 << 20, /* memory for the points of a chunk, unless single points are larger */
    CHUNK_ROWS = 8192
};

/* The rows of a call that are evaluated together: those inside the box. */
typedef struct chunk {
    uint64_t *row;        /* their row numbers in the call */
    double *x, *c, *grad; /* points, their record (landscape.h), derivatives and norm */
    double *loss;
    uint32_t *outcome;
} chunk;

static int open_chunk(chunk *k, uint64_t rows, uint64_t n, ds_error *e)
{
    k->x = malloc((rows + 1) * (n + 7) * sizeof(double));
    k->row = malloc((rows + 1) * sizeof *k->row);
    k->outcome = malloc((rows + 1) * sizeof *k->outcome);
    if (k->x == NULL || k->row == NULL || k->outcome == NULL) {
        return ds_no_memory(e);
    }
    k->c = k->x + (rows + 1) * n;
    k->grad = k->c + 3 * (rows + 1);
    k->loss = k->grad + 3 * (rows + 1);
    return 0;
}

static void close_chunk(chunk *k)
{
    free(k->x);
    free(k->row);
    free(k->outcome);
}

/* Reduces a gradient for the record: derivatives along the axes, and the norm of the whole with variables in
 * widths of their bounds. */
static void condense(const void *ctx, const double *grad, double *out)
{
    const ds_slice *s = ctx;
    double largest = 0, sum = 0;
    for (uint64_t i = 0; i < s->n; i++) {
        largest = fmax(largest, fabs(grad[i]) * (s->upper[i] - s->lower[i]));
    }
    for (uint64_t i = 0; i < s->n && largest > 0; i++) {
        double g = grad[i] * (s->upper[i] - s->lower[i]) / largest;
        sum += g * g;
    }
    ds_slice_gradient(s, grad, out);
    out[2] = largest * sqrt(sum);
}

/* Why the journal has ended; 0 if it has not. */
static int end_of(const ds_landscape *l, ds_error *e)
{
    const ds_session *s = &l->session;
    const ds_journal *j = &s->journal;
    uint64_t broken = 0;
    switch (j->end) {
    case DS_END_NONE:
        return 0;
    case DS_END_ERROR:
        return ds_fail(e, j->error.status, "%s", j->error.text);
    case DS_END_FAILURES:
        for (uint32_t k = DS_EVAL_INVALID; k < DS_OUTCOMES; k++) {
            broken += j->statistics.outcome[k];
        }
        return ds_fail(e, DS_EXIT_ENV,
                       "%s: stopped: %llu of the first %llu evaluations failed (run.max_failed allows a "
                       "share of %g); the files %s/failure-*.ini repeat some of them",
                       s->spec.env.id, (unsigned long long)broken, (unsigned long long)j->statistics.count,
                       s->options.max_failed, s->folder);
    default:
        return DS_POOL_STOPPED;
    }
}

/* Evaluates points from..to of the call. */
static int evaluate(ds_landscape *l, chunk *k, uint64_t from, uint64_t to, const double *c, int gradient,
                    const char *tag, ds_slice_value *out, ds_error *e)
{
    uint64_t inside = 0, done = 0;
    for (uint64_t i = from; i < to; i++) {
        out[i] = (ds_slice_value){NAN, {NAN, NAN}, NAN, DS_POINT_OUTSIDE};
        if (ds_slice_x(&l->slice, c + 2 * i, k->x + inside * l->slice.n)) {
            memcpy(k->c + 3 * inside, c + 2 * i, 2 * sizeof *c);
            k->c[3 * inside + 2] = 0;
            k->row[inside++] = i;
        }
    }
    ds_journal_request q = {.count = inside,
                            .x = k->x,
                            .recorded = k->c,
                            .want = gradient ? DS_WANT_GRAD : 0,
                            .tag = tag,
                            .loss = k->loss,
                            .outcome = k->outcome,
                            .values = k->grad,
                            .condense = condense,
                            .ctx = &l->slice};
    if (inside > 0) {
        ds_journal_execute(&l->session.journal, &q, &done);
    }
    for (uint64_t i = 0; i < done; i++) {
        ds_slice_value *v = &out[k->row[i]];
        v->outcome = k->outcome[i];
        v->loss = isfinite(k->loss[i]) ? k->loss[i] : (double)NAN;
        if (gradient && k->outcome[i] == DS_EVAL_OK) {
            memcpy(v->grad, k->grad + 3 * i, sizeof v->grad);
            v->norm = k->grad[3 * i + 2];
        }
    }
    return end_of(l, e);
}

/* Number of points evaluated together. */
static uint64_t rows_of_chunk(const ds_landscape *l, uint64_t count)
{
    uint64_t rows = CHUNK_BYTES / (l->slice.n * sizeof(double));
    rows = rows > CHUNK_ROWS ? CHUNK_ROWS : rows < 64 ? 64 : rows;
    return rows > count ? count : rows;
}

/* Evaluates `count` points of the slice (2 coordinates each) through the journal. Returns 0, an exit status,
 * or DS_POOL_STOPPED. */
static int landscape_ask(ds_landscape *l, uint64_t count, const double *c, int gradient, const char *tag,
                         ds_slice_value *out, ds_error *e)
{
    const uint64_t n = l->slice.n, rows = rows_of_chunk(l, count);
    chunk k = {0};
    int rc = open_chunk(&k, rows, n, e);
    for (uint64_t from = 0, to; rc == 0 && from < count; from = to) {
        to = count - from < rows ? count : from + rows;
        rc = evaluate(l, &k, from, to, c, gradient, tag, out, e);
    }
    close_chunk(&k);
    return rc;
}

/* Random points first .. first + count - 1 of the box. */
static void draw_points(const ds_landscape *l, uint64_t first, uint64_t count, chunk *k)
{
    const ds_slice *s = &l->slice;
    for (uint64_t i = 0; i < count; i++) {
        ds_random r = ds_random_open(l->session.options.seed, "landscape box", first + i);
        for (uint64_t d = 0; d < s->n; d++) {
            const double x = s->lower[d] + ds_random_uniform(&r) * (s->upper[d] - s->lower[d]);
            k->x[i * s->n + d] = fmin(x, s->upper[d]);
        }
        memcpy(k->c + 3 * i, (double[]){(double)(first + i), 0, 1}, 3 * sizeof *k->c);
    }
}

/* The same for random points of the whole box, with gradients; fills the measures of the box. */
static int landscape_ask_box(ds_landscape *l, uint64_t count, ds_error *e)
{
    const uint64_t rows = rows_of_chunk(l, count);
    ds_box_measure *b = &l->measures.box;
    chunk k = {0};
    int rc = open_chunk(&k, rows, l->slice.n, e);
    for (uint64_t first = 0; rc == 0 && first < count; first += rows) {
        uint64_t done = 0;
        ds_journal_request q = {.count = count - first < rows ? count - first : rows,
                                .x = k.x,
                                .recorded = k.c,
                                .want = DS_WANT_GRAD,
                                .tag = "box",
                                .loss = k.loss,
                                .outcome = k.outcome,
                                .values = k.grad,
                                .condense = condense,
                                .ctx = &l->slice};
        draw_points(l, first, q.count, &k);
        ds_journal_execute(&l->session.journal, &q, &done);
        for (uint64_t i = 0; i < done; i++) {
            const int loss = k.outcome[i] <= DS_EVAL_BAD_GRAD && isfinite(k.loss[i]);
            b->points++;
            b->failed += !loss && k.outcome[i] != DS_EVAL_INFEASIBLE;
            b->with_loss += (uint64_t)loss;
            b->missing += loss && k.outcome[i] == DS_EVAL_BAD_GRAD;
        }
        rc = end_of(l, e);
    }
    close_chunk(&k);
    return rc;
}

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
    int rc = landscape_ask(l, points, c, l->want_gradient, "grid", l->grid, e);
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

/* Chooses the grid points of the samples: all interior points, or a quasi-random selection of them. */
static void choose_samples(ds_landscape *l)
{
    const ds_slice *s = &l->slice;
    uint64_t w = s->count[0] - 2, h = s->dims > 1 ? s->count[1] - 2 : 1;
    for (uint64_t m = 0; m < l->samples.count; m++) {
        int all = l->samples.count == w * h;
        /* Powers of the plastic number on a plane, the golden ratio on a line. */
        uint64_t i =
            all ? m % w : spread_index(m, s->dims > 1 ? 0.75487766624669276 : 0.61803398874989485, w);
        uint64_t j = s->dims == 1 ? 0 : all ? m / w : spread_index(m, 0.56984029099805327, h);
        l->sample_point[m] = (j + (s->dims > 1 ? 1 : 0)) * s->count[0] + i + 1;
    }
}

/* The points for a sample's differences: on both sides along every axis, for every step. */
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

/* Computes scaled difference quotients from the results of one sample. */
static void take_sample(const ds_landscape *l, const double *c, const ds_slice_value *r, double *d)
{
    const ds_slice *s = &l->slice;
    for (int k = 0; k < l->samples.steps; k++) {
        d[2 * k] = d[2 * k + 1] = 0;
        for (int a = 0; a < s->dims; a++) {
            uint64_t first = (uint64_t)(2 * (k * s->dims + a));
            /* The actual step, which differs from the nominal one by rounding. */
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
        rc = landscape_ask(l, total, c, 0, "difference", r, e);
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
    double low[2], high[2]; /* ends, along one axis */
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
    } else { /* also if the middle has no loss: then the result has none */
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
        rc = landscape_ask(l, count, c, 0, "jump", r, e);
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

/* ---- all together ---- */

/* Random points of the box: at most as many as the slice has. */
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
    rc = rc != 0 ? rc : landscape_ask_box(l, box_count(l), e);
    free(memory);
    if (rc == 0) {
        ds_verdict_make(m, &l->verdict);
    }
    return rc;
}

/* ---- gradients through time ---- */

/* How much the controls of each moment matter for the loss: gradients that explode or vanish over time show
 * here.
 *
 * Variables are in the order of time if their number is a multiple of the number of output steps (controls of
 * every step), or of the environment's parameter `segments` (controls of every segment). A few points of the
 * slice are evaluated again for their whole gradients. Evaluations are pure, so nothing is recorded. */

enum { POINTS = 10, BLOCKS_MAX = 100000 };

/* Moments that the variables belong to; 0 = not known. */
static uint64_t count_blocks(const ds_landscape *l)
{
    uint64_t n = l->slice.n, steps = l->session.env->info.steps;
    int64_t segments = 0;
    if (steps > 1 && steps <= BLOCKS_MAX && n % steps == 0) {
        return steps;
    }
    return ds_params_int(l->session.env->params, "segments", &segments) == DS_OK && segments > 1 &&
                   n % (uint64_t)segments == 0
               ? (uint64_t)segments
               : 0;
}

typedef struct block_norms {
    ds_landscape *l;
    uint64_t blocks, points;
    double *norm; /* points x blocks */
} block_norms;

static int sink(void *ctx, uint64_t i, const ds_answer *a, const double *grad, const void *out)
{
    block_norms *b = ctx;
    const ds_slice *s = &b->l->slice;
    uint64_t each = s->n / b->blocks;
    (void)i, (void)out;
    if (grad == NULL || a->grad_kind == DS_GRAD_NONE || !isfinite(a->loss)) {
        return 0;
    }
    for (uint64_t k = 0; k < b->blocks; k++) {
        double norm = 0;
        for (uint64_t j = k * each; j < (k + 1) * each; j++) {
            norm = hypot(norm, grad[j] * (s->upper[j] - s->lower[j]));
        }
        b->norm[b->points * b->blocks + k] = norm;
    }
    b->points++;
    return 0;
}

/* The centre, and points from all over the grid. */
static uint64_t choose_points(const ds_landscape *l, double *x)
{
    const ds_slice *s = &l->slice;
    uint64_t points = ds_slice_points(s), n = 1;
    memcpy(x, s->center, s->n * sizeof *x);
    for (uint64_t m = 1; m < POINTS; m++) {
        double c[DS_SLICE_DIMS];
        /* Steps by the golden ratio avoid repetitions. */
        double t = 0.61803398874989485 * (double)m;
        ds_slice_grid(s, (uint64_t)((t - floor(t)) * (double)points), c);
        n += (uint64_t)ds_slice_x(s, c, x + n * s->n);
    }
    return n;
}

static int summarise(block_norms *b, ds_time_measure *out, ds_error *e)
{
    double *column = malloc((b->points + 1) * sizeof *column);
    out->low = malloc(3 * b->blocks * sizeof *out->low);
    if (column == NULL || out->low == NULL) {
        free(column);
        return ds_no_memory(e);
    }
    out->median = out->low + b->blocks;
    out->high = out->median + b->blocks;
    out->blocks = b->blocks;
    out->points = b->points;
    out->growth = NAN;
    double first = 0, last = 0;
    uint64_t tenth = b->blocks / 10 > 0 ? b->blocks / 10 : 1;
    for (uint64_t k = 0; k < b->blocks; k++) {
        for (uint64_t i = 0; i < b->points; i++) {
            column[i] = b->norm[i * b->blocks + k];
        }
        ds_spread s = ds_spread_of(column, b->points);
        out->low[k] = s.min;
        out->median[k] = s.median;
        out->high[k] = s.max;
        first += k < tenth ? s.median : 0;
        last += k + tenth >= b->blocks ? s.median : 0;
    }
    out->growth = last > 0 ? first / last : (double)NAN;
    free(column);
    return 0;
}

int ds_landscape_time(ds_landscape *l, ds_error *e)
{
    block_norms b = {l, l->want_gradient ? count_blocks(l) : 0, 0, NULL};
    if (b.blocks == 0) {
        return 0;
    }
    double *x = malloc(POINTS * l->slice.n * sizeof *x);
    b.norm = malloc(POINTS * b.blocks * sizeof *b.norm);
    int rc = x == NULL || b.norm == NULL ? ds_no_memory(e) : 0;
    rc = rc != 0 ? rc
                 : ds_pool_evaluate(l->session.pool, choose_points(l, x), x, DS_WANT_GRAD,
                                    l->session.journal.statistics.count + 1, sink, &b, e);
    if (rc == 0 && b.points > 0) {
        rc = summarise(&b, &l->time, e);
    }
    free(x);
    free(b.norm);
    return rc;
}
