/* SPDX-License-Identifier: Apache-2.0 */
/* identify_statistics.c - intervals, residuals at the estimate, and the recovery certificate.
 *
 * Intervals are computed in coordinates. Four methods:
 *
 *     linear      sigma^2 (J'J)^-1 with Student's t (G. Seber and C. Wild, "Nonlinear regression", 1989,
 *                 section 2.1); exact for linear models with white noise
 *     correlated  the same, wider by the square root of (1 + r)/(1 - r), for residuals whose neighbours have
 *                 the correlation r (first-order autoregression)
 *     windows     moving a step of Gauss-Newton for resampled windows of the recording (block bootstrap: H.
 *                 Kuensch, "The jackknife and the bootstrap for general stationary observations", 1989); for
 *                 residuals that are not white. The wider of the last two counts
 *     profile     where the loss, minimised over all other parameters, rises by t^2 sigma^2 (D. Bates and D.
 *                 Watts, "Nonlinear regression analysis and its applications", 1988, chapter 6); for
 *                 parameters that the data determine poorly */
#include "config.h"

#include "identify/identify.h"

#include "base/stop.h"
#include "stats/sample.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 20, BISECTIONS = 7 };
static const double poor = 0.25;

/* ---- undetermined directions ---- */

static double wide_of(const ds_identify_problem *p, size_t i)
{
    return p->upper[i] - p->lower[i];
}

static void add_undetermined(ds_identify_result *r, const char *words)
{
    for (size_t i = 0; i < r->undetermined_count; i++) {
        if (strcmp(r->undetermined[i], words) == 0) {
            return;
        }
    }
    if (r->undetermined_count < sizeof r->undetermined / sizeof *r->undetermined) {
        snprintf(r->undetermined[r->undetermined_count++], DS_IDENTIFY_LINE, "%s", words);
    }
}

/* ---- before the search ---- */

static void draw(const ds_identify_problem *p, uint64_t seed, const char *stream, uint64_t k, double *u)
{
    ds_random random = ds_random_open(seed, stream, k);
    for (size_t i = 0; i < p->n; i++) {
        u[i] = p->lower[i] + wide_of(p, i) * (0.1 + 0.8 * ds_random_uniform(&random));
    }
}

/* Directions that no point determines are named; those that some do are counted. */
int ds_identify_check(ds_identify_problem *p, ds_identify_result *r, ds_error *e)
{
    const int points = p->c->options.points;
    double *u = malloc(2 * p->n * sizeof *u), *kept = u != NULL ? u + p->n : NULL;
    ds_identify_determined best = {0};
    int rc = u == NULL ? ds_no_memory(e) : 0;
    const uint64_t before = p->evaluations;
    ds_identify_window(p, ds_identify_fitted(p));
    r->check_condition[0] = INFINITY;
    for (int k = 0; rc == 0 && k < points && atomic_load(&ds_stop_flag) == 0; k++) {
        ds_identify_determined d = {0};
        int failed = 0;
        if (k == 0) {
            memcpy(u, p->start, p->n * sizeof *u);
        } else {
            draw(p, p->c->run.seed, "check", (uint64_t)k, u);
        }
        rc = ds_identify_determine(p, u, &d, &failed, e);
        if (rc == 0 && !failed && d.rank > 0) {
            r->check_points++;
            r->check_deficient += d.rank < p->n;
            r->check_condition[0] = fmin(r->check_condition[0], d.condition);
            r->check_condition[1] = fmax(r->check_condition[1], d.condition);
            if (best.value == NULL || d.rank > best.rank) {
                ds_identify_determined_clear(&best);
                best = d;
                memcpy(kept, u, p->n * sizeof *u);
                continue;
            }
        }
        ds_identify_determined_clear(&d);
    }
    for (size_t k = best.rank; rc == 0 && best.value != NULL && k < p->n; k++) {
        char words[DS_IDENTIFY_LINE];
        ds_identify_direction_words(p, kept, best.vector + k * p->n, words);
        add_undetermined(r, words);
    }
    if (rc == 0 && points > 0 && best.value == NULL) {
        rc = ds_identify_warn(
            p->c, e,
            "identifiability: no Jacobian at the start and %d random points: the simulation fails "
            "there, or no parameter has an effect; narrow the bounds",
            points - 1);
    }
    ds_identify_determined_clear(&best);
    r->check_evaluations = p->evaluations - before;
    free(u);
    return rc;
}

/* ---- residuals at the estimate ---- */

/* Correlation of neighbouring residuals of one signal, mean over standard error, averaged over the signals.
 * */
static void look_at_residuals(const ds_identify_problem *p, ds_identify_result *r)
{
    double lag = 0, sum = 0, squares = 0;
    uint64_t at = 0, count = 0;
    for (size_t k = 0; k < p->recordings; k++) {
        const ds_identify_recording *q = &p->c->recording[p->recording[k]];
        for (uint64_t i = 0; i < q->m; i++) {
            const double v = r->residual[at + i];
            if (q->weight[i] > 0 && fabs(v) > 0) {
                count++;
                sum += v;
                squares += v * v;
                lag += q->timed && i >= q->width ? v * r->residual[at + i - q->width] : 0;
            }
        }
        at += q->m;
    }
    r->counted = count;
    r->white = squares > 0 ? lag / squares : 0;
    const double rho = fmin(0.999, fmax(0, r->white));
    r->effective = (double)count * (1 - rho) / (1 + rho);
    r->bias = squares > 0 ? sum / sqrt(squares) * sqrt(r->effective / (double)(count > 0 ? count : 1)) : 0;
}

/* ---- windows ---- */

/* Solves a x = b (n x n, positive definite; destroyed) in place; 0 where it is not. */
static int solve(double *a, double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (size_t k = 0; k < j; k++) {
                sum -= a[i * n + k] * a[j * n + k];
            }
            if (i == j && !(sum > 0)) {
                return 0;
            }
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
        for (size_t k = 0; k < i; k++) {
            b[i] -= a[i * n + k] * b[k];
        }
        b[i] /= a[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) {
            b[i] -= a[k * n + i] * b[k];
        }
        b[i] /= a[i * n + i];
    }
    return 1;
}

/* Sums of J'J and J'r of each window, in determined directions: block (n x n, then n) of width `rank`. */
static size_t sum_windows(const ds_identify_problem *p, const ds_identify_determined *d, const double *j,
                          const double *r, double *block, size_t blocks)
{
    const size_t n = d->rank, each = n * n + n;
    double row[DS_IDENTIFY_PARAMETERS];
    uint64_t at = 0;
    memset(block, 0, blocks * each * sizeof *block);
    for (size_t k = 0; k < p->recordings; k++) {
        const ds_identify_recording *q = &p->c->recording[p->recording[k]];
        const uint64_t fitted = q->fitted * q->width;
        for (uint64_t i = 0; i < fitted; i++) {
            double *b = block + (i * blocks / fitted) * each;
            for (size_t a = 0; a < n; a++) {
                row[a] = 0;
                for (size_t l = 0; l < p->n; l++) {
                    row[a] += j[l * p->m + at + i] * wide_of(p, l) * d->vector[a * p->n + l];
                }
                row[a] /= d->value[a];
            }
            for (size_t a = 0; a < n; a++) {
                for (size_t c = 0; c < n; c++) {
                    b[a * n + c] += row[a] * row[c];
                }
                b[n * n + a] += row[a] * r[at + i];
            }
        }
        at += q->m;
    }
    return blocks;
}

/* Subtracts the mean of J'r, which is not 0 where the search has not converged to the last digit. */
static void centre(double *block, size_t blocks, size_t n)
{
    for (size_t a = n * n; a < n * n + n; a++) {
        double sum = 0;
        for (size_t b = 0; b < blocks; b++) {
            sum += block[b * (n * n + n) + a];
        }
        for (size_t b = 0; b < blocks; b++) {
            block[b * (n * n + n) + a] -= sum / (double)blocks;
        }
    }
}

static void bootstrap(const ds_identify_problem *p, const ds_identify_determined *d, const double *j,
                      ds_identify_result *r)
{
    const size_t n = d->rank, each = n * n + n, samples = (size_t)p->c->options.bootstrap;
    size_t blocks = BLOCKS, good = 0;
    for (size_t k = 0; k < p->recordings; k++) {
        const uint64_t fitted = p->c->recording[p->recording[k]].fitted;
        blocks = fitted / 4 < blocks ? (size_t)(fitted / 4) : blocks;
    }
    if (blocks < 4 || n == 0 || samples < 20) {
        return;
    }
    double *block = malloc(blocks * each * sizeof *block), *sum = malloc(each * sizeof *sum);
    double *values = malloc(samples * p->n * sizeof *values);
    if (block != NULL && sum != NULL && values != NULL) {
        sum_windows(p, d, j, r->residual, block, blocks);
        centre(block, blocks, n);
        for (size_t s = 0; s < samples; s++) {
            ds_random random = ds_random_open(p->c->run.seed, "windows", s);
            memset(sum, 0, each * sizeof *sum);
            for (size_t b = 0; b < blocks; b++) {
                const double *from = block + ds_random_below(&random, (uint32_t)blocks) * each;
                for (size_t i = 0; i < each; i++) {
                    sum[i] += from[i];
                }
            }
            if (solve(sum, sum + n * n, n)) {
                for (size_t i = 0; i < p->n; i++) {
                    double *v = &values[i * samples + good];
                    *v = r->u[i];
                    for (size_t a = 0; a < n; a++) {
                        *v -= sum[n * n + a] / d->value[a] * d->vector[a * p->n + i] * wide_of(p, i);
                    }
                }
                good++;
            }
        }
        for (size_t i = 0; good > samples / 2 && i < p->n; i++) {
            const ds_interval x = ds_percentile_interval(values + i * samples, good, p->c->options.level);
            /* Few windows spread less than new data would. */
            const double more = sqrt((double)blocks / (double)(blocks - 1));
            r->estimate[i].window_low = r->u[i] + more * fmin(0, x.low - r->u[i]);
            r->estimate[i].window_high = r->u[i] + more * fmax(0, x.high - r->u[i]);
        }
    }
    free(block);
    free(sum);
    free(values);
}

/* ---- profile ---- */

/* Least loss with parameter i at a value of its coordinate. */
static int profile_loss(ds_identify_problem *p, size_t i, double at, const double *u, double *loss,
                        ds_error *e)
{
    ds_identify_case *c = p->c;
    ds_identify_problem rest = *p;
    const size_t number = p->parameter[i];
    unsigned char *mark[DS_IDENTIFY_RECORDINGS] = {NULL};
    double *room = calloc(4 * p->n, sizeof *room);
    ds_identify_found found = {.count = 0};
    int rc = room == NULL ? ds_no_memory(e) : 0;
    rest.n = 0;
    rest.lower = room;
    rest.upper = room + p->n;
    rest.start = room + 2 * p->n;
    for (size_t k = 0; rc == 0 && k < p->n; k++) {
        if (k != i) {
            rest.parameter[rest.n] = p->parameter[k];
            rest.lower[rest.n] = p->lower[k];
            rest.upper[rest.n] = p->upper[k];
            rest.start[rest.n++] = u[k];
        }
    }
    for (size_t k = 0; rc == 0 && k < p->recordings; k++) {
        ds_identify_recording *q = &c->recording[p->recording[k]];
        mark[k] = calloc(q->n, 1);
        rc = mark[k] == NULL ? ds_no_memory(e) : 0;
        for (uint64_t x = 0; rc == 0 && x < q->n; x++) {
            if (q->parameter[x] == (int64_t)number) {
                mark[k][x] = 1;
                q->parameter[x] = -1;
                q->constant[x] = ds_identify_value(&c->parameter[number], at);
            }
        }
    }
    *loss = INFINITY;
    if (rc == 0 && rest.n > 0) {
        rc = ds_identify_optimize(&rest, "lm", "iterations = 10", 0, rest.start, 10 * (rest.n + 1), 1, &found,
                                  e);
        *loss = found.count > 0 ? found.minimum[0].loss : (double)INFINITY;
    } else if (rc == 0) {
        rc = ds_identify_residuals(&rest, 1, room, NULL, loss, e);
    }
    for (size_t k = 0; k < p->recordings; k++) {
        ds_identify_recording *q = &c->recording[p->recording[k]];
        for (uint64_t x = 0; mark[k] != NULL && x < q->n; x++) {
            q->parameter[x] = mark[k][x] ? (int64_t)number : q->parameter[x];
        }
        free(mark[k]);
    }
    p->evaluations = rest.evaluations;
    ds_identify_found_clear(&found);
    free(room);
    return rc;
}

/* Where the profile crosses the limit between the estimate and a bound; the bound where it does not. */
static int profile_end(ds_identify_problem *p, size_t i, const double *u, double bound, double limit,
                       double *end, ds_error *e)
{
    double in = u[i], out = bound, loss;
    int rc = profile_loss(p, i, bound, u, &loss, e);
    if (rc != 0 || loss <= limit) {
        *end = bound;
        return rc;
    }
    for (int k = 0; rc == 0 && k < BISECTIONS && atomic_load(&ds_stop_flag) == 0; k++) {
        const double middle = (in + out) / 2;
        rc = profile_loss(p, i, middle, u, &loss, e);
        if (loss <= limit) {
            in = middle;
        } else {
            out = middle;
        }
    }
    *end = (in + out) / 2;
    return rc;
}

/* ---- estimates ---- */

static void put_interval(const ds_identify_problem *p, size_t i, double low, double high, const char *method,
                         ds_identify_estimate *x)
{
    const ds_identify_parameter *q = &p->c->parameter[p->parameter[i]];
    x->low = q->log ? exp(low) : low;
    x->high = q->log ? exp(high) : high;
    x->interval = method;
}

static double quantile_of(const ds_identify_problem *p, const ds_identify_result *r)
{
    const double freedom = (double)r->counted - (double)r->determined.rank;
    return freedom > 0 ? ds_student_quantile(0.5 + p->c->options.level / 2, freedom) : (double)INFINITY;
}

/* Is the noise of every residual given? Then weighted residuals have this deviation. */
static double given_noise(const ds_identify_problem *p)
{
    int all = 1;
    for (size_t k = 0; k < p->recordings; k++) {
        const ds_identify_recording *q = &p->c->recording[p->recording[k]];
        all &= q->signals > 0;
        for (uint64_t i = 0; i < q->signals; i++) {
            all &= q->element[i].noise > 0;
        }
    }
    return all ? 1 : p->c->options.noise;
}

static void estimate(ds_identify_problem *p, ds_identify_result *r, const double *j)
{
    const ds_identify_determined *d = &r->determined;
    const double t = quantile_of(p, r), freedom = (double)r->counted - (double)d->rank,
                 given = given_noise(p);
    r->sigma = given > 0 ? given : freedom > 0 ? sqrt(r->loss / freedom) : (double)NAN;
    for (size_t i = 0; i < p->n; i++) {
        ds_identify_estimate *x = &r->estimate[i];
        const double half = d->known[i] ? t * r->sigma * sqrt(d->covariance[i * p->n + i]) : (double)INFINITY;
        x->value = ds_identify_value(&p->c->parameter[p->parameter[i]], r->u[i]);
        x->known = d->known[i];
        x->at_bound = r->u[i] - p->lower[i] < 1e-6 * wide_of(p, i)   ? -1
                      : p->upper[i] - r->u[i] < 1e-6 * wide_of(p, i) ? 1
                                                                     : 0;
        x->linear_low = r->u[i] - half;
        x->linear_high = r->u[i] + half;
        x->window_low = x->window_high = NAN;
    }
    bootstrap(p, d, j, r);
    const int white = fabs(r->white) < 2.6 / sqrt((double)(r->counted > 0 ? r->counted : 1));
    for (size_t i = 0; i < p->n; i++) {
        ds_identify_estimate *x = &r->estimate[i];
        const double half =
            (x->linear_high - r->u[i]) * (white ? 1 : sqrt((double)r->counted / r->effective));
        if (!white && x->window_high - x->window_low > 2 * half) {
            put_interval(p, i, x->window_low, x->window_high, "windows", x);
        } else {
            put_interval(p, i, r->u[i] - half, r->u[i] + half, white ? "linear" : "correlated", x);
        }
    }
}

/* Residuals, Jacobian and intervals without profiles at r->u. */
static int describe(ds_identify_problem *p, ds_identify_result *r, ds_error *e)
{
    int failed = 0;
    double *j = malloc(p->m * p->n * sizeof *j);
    int rc = j == NULL ? ds_no_memory(e) : 0;
    ds_identify_window(p, ds_identify_fitted(p));
    rc = rc != 0 ? rc : ds_identify_residuals(p, 1, r->u, r->residual, &r->loss, e);
    rc = rc != 0 ? rc : ds_identify_jacobian(p, r->u, j, &failed, e);
    if (rc == 0 && failed) {
        rc =
            ds_fail(e, DS_EXIT_ENV, "identify: no Jacobian at the estimate: the simulation fails next to it");
    }
    rc = rc != 0 ? rc : ds_identify_decompose(p, r->residual, j, &r->determined, e);
    if (rc == 0) {
        look_at_residuals(p, r);
        estimate(p, r, j);
    }
    free(j);
    return rc;
}

static int room_for(const ds_identify_problem *p, ds_identify_result *r)
{
    r->estimate = calloc(p->n, sizeof *r->estimate);
    r->u = calloc(p->n + p->m, sizeof *r->u);
    r->residual = r->u != NULL ? r->u + p->n : NULL;
    return r->estimate != NULL && r->u != NULL;
}

/* As many as half a budget allows; the others keep their interval. */
static int profiles(ds_identify_problem *p, ds_identify_result *r, ds_error *e)
{
    const double t = quantile_of(p, r), limit = r->loss + t * t * r->sigma * r->sigma;
    const uint64_t end = p->evaluations + p->budget / 2, each = 20 * (BISECTIONS + 1) * p->n;
    int rc = 0;
    for (size_t i = 0; rc == 0 && isfinite(limit) && i < p->n; i++) {
        ds_identify_estimate *x = &r->estimate[i];
        const int wide = !x->known || x->linear_high - r->u[i] > poor * wide_of(p, i) || x->at_bound != 0;
        double low = 0, high = 0;
        if (wide && p->evaluations + each <= end) {
            rc = profile_end(p, i, r->u, p->lower[i], limit, &low, e);
            rc = rc != 0 ? rc : profile_end(p, i, r->u, p->upper[i], limit, &high, e);
            put_interval(p, i, low, high, "profile", x);
        }
    }
    return rc;
}

/* Errors of the fitted and of the held-out samples at a point. */
static int errors_at(ds_identify_problem *p, const double *u, double *fit, double *held_out, ds_error *e)
{
    ds_identify_errors all = {{0, 0}, {0, 0}};
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < p->recordings; k++) {
        ds_identify_errors one;
        rc = ds_identify_errors_of(p, k, u, -1, &one, e);
        for (int w = 0; w < 2; w++) {
            all.sum[w] += one.sum[w];
            all.count[w] += one.count[w];
        }
    }
    *fit = all.count[0] > 0 ? ds_identify_rmse(&all, 0) : 0;
    *held_out = ds_identify_rmse(&all, 1);
    return rc;
}

int ds_identify_conclude(ds_identify_problem *p, ds_identify_result *r, ds_error *e)
{
    if (r->found.count == 0) {
        return ds_fail(e, DS_EXIT_ENV,
                       "identify: no simulation succeeded: narrow the bounds of the parameters");
    }
    if (!room_for(p, r)) {
        return ds_no_memory(e);
    }
    memcpy(r->u, r->found.minimum[0].u, p->n * sizeof *r->u);
    int rc = describe(p, r, e);
    /* Beale's region of equal fit, with as many residuals as are independent. */
    const double freedom = fmax(1, r->effective - (double)p->n), t = ds_student_quantile(0.975, freedom);
    for (size_t i = 0; rc == 0 && i < r->found.count; i++) {
        ds_identify_minimum *m = &r->found.minimum[i];
        m->within = m->loss <= r->loss * (1 + (double)p->n * t * t / freedom);
        rc = errors_at(p, m->u, &m->fit, &m->held_out, e);
    }
    for (size_t k = r->determined.rank; rc == 0 && k < p->n; k++) {
        char words[DS_IDENTIFY_LINE];
        ds_identify_direction_words(p, r->u, r->determined.vector + k * p->n, words);
        add_undetermined(r, words);
    }
    r->evaluations = p->evaluations;
    rc = rc == 0 && p->c->options.profile ? profiles(p, r, e) : rc;
    r->certificate_evaluations = p->evaluations - r->evaluations;
    return rc;
}

void ds_identify_result_clear(ds_identify_result *r)
{
    ds_identify_found_clear(&r->found);
    ds_identify_determined_clear(&r->determined);
    free(r->estimate);
    free(r->u);
    *r = (ds_identify_result){.loss = 0};
}

/* ---- recovery certificate ---- */

/* Made data: the simulation at the estimate, with noise of the same size and correlation in every residual
 * that was recorded. */
static int make_data(ds_identify_problem *p, const ds_identify_result *r, uint64_t key, ds_error *e)
{
    const double rho = fmin(0.999, fmax(0, r->white)), fresh = sqrt(1 - rho * rho);
    const double size = r->counted > 0 ? sqrt(r->loss / (double)r->counted) : 0;
    double loss;
    int rc = ds_identify_residuals(p, 1, r->u, NULL, &loss, e);
    for (size_t k = 0; rc == 0 && k < p->recordings; k++) {
        ds_identify_recording *q = &p->c->recording[p->recording[k]];
        ds_random random = ds_random_open(p->c->run.seed, "recovery", key * DS_IDENTIFY_RECORDINGS + k);
        double noise[DS_IDENTIFY_SIGNALS * 4] = {0};
        q->shift = q->shift != NULL ? q->shift : calloc(q->m, sizeof *q->shift);
        if (q->shift == NULL) {
            return ds_no_memory(e);
        }
        for (uint64_t i = 0; i < q->m; i++) {
            double *last = &noise[i % q->width % (sizeof noise / sizeof *noise)];
            const double normal = ds_random_normal(&random);
            const double scale =
                q->signals > 0 && q->element[i % q->width].noise > 0 ? q->element[i % q->width].noise : 1;
            *last = i < q->width || !q->timed ? normal : rho * *last + fresh * normal;
            q->shift[i] = fabs(q->last_r[i]) > 0 ? -q->last_r[i] - scale * size * *last : 0;
        }
    }
    return rc;
}

static void drop_data(ds_identify_problem *p)
{
    for (size_t k = 0; k < p->recordings; k++) {
        ds_identify_recording *q = &p->c->recording[p->recording[k]];
        free(q->shift);
        q->shift = NULL;
    }
}

/* One identification of made data from a random start. It has recovered the truth where its fit is not worse
 * than that of the truth. */
static int recover(ds_identify_problem *p, const ds_identify_result *truth, size_t number,
                   ds_identify_recovery *out, ds_error *e)
{
    ds_identify_result r = {.loss = 0};
    double true_loss = 0, far = 0, *start = malloc(p->n * sizeof *start);
    int rc = start == NULL ? ds_no_memory(e) : make_data(p, truth, number, e);
    rc = rc != 0 ? rc : ds_identify_residuals(p, 1, truth->u, NULL, &true_loss, e);
    if (rc == 0) {
        ds_identify_problem again = *p;
        draw(p, p->c->run.seed, "start", number, start);
        rc = ds_identify_residuals(p, 1, start, NULL, &far, e);
        far = isfinite(far) ? far : 0;
        again.start = start;
        again.evaluations = p->evaluations;
        again.budget = again.evaluations + p->budget;
        rc = rc != 0 ? rc : ds_identify_search(&again, p->c->run.seed + number + 1, &r.found, e);
        if (rc == 0 && r.found.count > 0) {
            rc = room_for(p, &r) ? 0 : ds_no_memory(e);
            if (rc == 0) {
                memcpy(r.u, r.found.minimum[0].u, p->n * sizeof *r.u);
                rc = describe(&again, &r, e);
            }
        }
        p->evaluations = again.evaluations;
    }
    if (rc == 0 && atomic_load(&ds_stop_flag) == 0) {
        out->starts++;
        /* Data without noise leave only round-off. */
        const int good = r.found.count > 0 && r.loss <= true_loss * (1 + 1e-6) + 1e-12 * far;
        out->recovered += (size_t)good;
        for (size_t i = 0; good && i < p->n; i++) {
            const double true_value = ds_identify_value(&p->c->parameter[p->parameter[i]], truth->u[i]);
            if (r.estimate[i].known) {
                out->intervals++;
                out->covered += r.estimate[i].low <= true_value && r.estimate[i].high >= true_value;
            }
        }
    }
    ds_identify_result_clear(&r);
    free(start);
    return rc;
}

void ds_identify_judge_coverage(const ds_identify_recovery *r, double level, char out[DS_IDENTIFY_LINE])
{
    const double n = (double)r->intervals, share = n > 0 ? (double)r->covered / n : level;
    const double chance = 2 * sqrt(level * (1 - level) / fmax(1, n));
    const char *what = share < level ? "may be too narrow" : "may be too wide";
    out[0] = '\0';
    if (fabs(share - level) <= 0.02) {
        return;
    }
    if (fabs(share - level) > chance) {
        snprintf(out, DS_IDENTIFY_LINE, ", outside of %.0f to %.0f %%: the intervals %s", 100 * level - 2,
                 100 * level + 2, what);
    } else {
        snprintf(out, DS_IDENTIFY_LINE,
                 ", outside of %.0f to %.0f %%, but chance alone moves %zu intervals by %.0f %%: raise "
                 "recovery to "
                 "know whether they %s",
                 100 * level - 2, 100 * level + 2, r->intervals, 100 * chance,
                 share < level ? "are too narrow" : "are too wide");
    }
}

int ds_identify_certify(ds_identify_problem *p, ds_identify_result *r, ds_error *e)
{
    const uint64_t before = p->evaluations;
    int rc = 0;
    for (int k = 0; rc == 0 && k < p->c->options.recovery && atomic_load(&ds_stop_flag) == 0; k++) {
        rc = recover(p, r, (size_t)k, &r->recovery, e);
        drop_data(p);
    }
    r->certificate_evaluations += p->evaluations - before;
    return rc;
}
