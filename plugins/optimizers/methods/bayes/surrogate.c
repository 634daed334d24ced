/* SPDX-License-Identifier: Apache-2.0 */
/* surrogate.c - data policy of the Gaussian process in Bayesian optimization, see surrogate.h.
 *
 * Rules, in the order in which they apply:
 *   failed simulations are left out, or get the worst finite loss;
 *   a point nearer than NEAR to a kept one (distance in length scales) is left out, unless it was a new best:
 * descents put many points close together, which add cost and bad conditioning but no information; above
 * n_max points: the best quarter, the starts of searches, then farthest points first; losses are capped at
 * median + 5 interquartile ranges (one exploded simulation must not flatten the model), or their logarithm
 * above the known floor is taken, and standardised; hyperparameters are fitted at every proposal up to
 * REFIT_ALWAYS points, then when the data grew by a tenth, to all points or to fit_max of them: the best
 * third of those, the others drawn at random; between fits, new points extend the Cholesky factor.
 */
#include "methods/bayes/surrogate.h"

#include "methods/base/sobol.h"
#include "methods/bayes/acquisition.h"

#include <diffsim/helper/opt_kit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 1e-3
#define REFIT_ALWAYS 200
#define FIRST_FIT_ITERATIONS 200
#define NEXT_FIT_ITERATIONS 75
#define ACQUISITION_ITERATIONS 200
#define LOG_OFFSET                                                                                           \
    1e-3 /* in units of the interquartile range, so that the logarithm of the least loss is finite */
#define ROUNDING 1e-15

const char *const surrogate_priors[] = {"2024", "2022", NULL};
const char *const surrogate_kernels[] = {"auto", "se", "matern52", NULL};
const char *const surrogate_noises[] = {"inferred", "fixed", NULL};
const char *const surrogate_acquisitions[] = {"lcb", "ei", "logei", NULL};
const char *const surrogate_failures[] = {"skip", "worst", NULL};
const char *const surrogate_warps[] = {"none", "log", NULL};

/* One recorded simulation. */
typedef struct record {
    double loss;
    unsigned char is_start, was_best;
} record;

struct surrogate {
    const ds_host *host;
    size_t n;
    double loss_floor;
    surrogate_options options;
    gp *process;

    double *u; /* recorded x n */
    record *records;
    size_t recorded, capacity;
    double best_loss;

    size_t *kept; /* records that the process holds, in the order of its rows; room for `capacity` */
    size_t kept_count;
    size_t considered;    /* records considered so far: later ones are new */
    size_t usable_at_fit; /* records with a finite loss at the last fit */
    int fitted;

    double cap, range; /* how a loss becomes a target: capped, or its logarithm in units of the quartiles, */
    int is_log;
    double mean, sd;                    /* then standardised */
    double *inputs, *targets, *scratch; /* capacity x n, capacity, 2 x capacity */
    size_t *order;
};

surrogate_options surrogate_read_options(ds_param_reader *in)
{
    surrogate_options o = {0};
    o.model.prior = ds_param_int(in, "gp") == 0 ? GP_PRIOR_2024 : GP_PRIOR_2022;
    int64_t kernel = ds_param_int(in, "kernel");
    o.model.kernel = kernel == 0 ? (o.model.prior == GP_PRIOR_2024 ? GP_SE : GP_MATERN52)
                                 : (kernel == 1 ? GP_SE : GP_MATERN52);
    o.model.fixed_noise = ds_param_int(in, "noise") == 1 ? ds_param_real(in, "noise_variance") : 0.0;
    o.acquisition = (int)ds_param_int(in, "acquisition");
    o.alpha = ds_param_real(in, "alpha");
    o.raw = ds_param_int(in, "raw");
    o.starts = ds_param_int(in, "starts");
    o.around_best = ds_param_int(in, "around_best") != 0;
    o.fit_max = ds_param_int(in, "fit_max");
    o.n_max = ds_param_int(in, "n_max");
    o.on_failure = (int)ds_param_int(in, "on_failure");
    o.warp = (int)ds_param_int(in, "warp");
    return o;
}

surrogate *surrogate_create(const ds_host *host, const ds_problem *problem, const surrogate_options *options)
{
    surrogate *s = calloc(1, sizeof(*s));
    if (!s) {
        return NULL;
    }
    s->host = host;
    s->n = (size_t)problem->n;
    s->loss_floor = problem->loss_floor;
    s->options = *options;
    s->best_loss = INFINITY;
    s->process = gp_create(s->n, &options->model);
    if (!s->process) {
        surrogate_destroy(s);
        return NULL;
    }
    return s;
}

void surrogate_destroy(surrogate *s)
{
    if (s) {
        gp_destroy(s->process);
        free(s->u);
        free(s->records);
        free(s->kept);
        free(s->inputs);
        free(s->targets);
        free(s->scratch);
        free(s->order);
        free(s);
    }
}

static int grow(void *pointer, size_t count, size_t size)
{
    void **p = pointer;
    void *q = realloc(*p, count * size);
    if (q) {
        *p = q;
    }
    return q != NULL;
}

static int reserve_records(surrogate *s, size_t count)
{
    if (count <= s->capacity) {
        return 1;
    }
    size_t room = count + count / 2 + 64;
    if (!grow(&s->u, room * s->n, sizeof(double)) || !grow(&s->records, room, sizeof(record)) ||
        !grow(&s->kept, room, sizeof(size_t)) || !grow(&s->inputs, room * s->n, sizeof(double)) ||
        !grow(&s->targets, room, sizeof(double)) || !grow(&s->scratch, 2 * room, sizeof(double)) ||
        !grow(&s->order, room, sizeof(size_t))) {
        return 0;
    }
    s->capacity = room;
    return 1;
}

/* A target as a multiple of 2^-32: the unit of the loss changes last digits, which must not reach the fit,
 * because the fit amplifies them. Inputs are rounded for the same reason. */
static double rounded(double t)
{
    return rint(t * 0x1p32) * 0x1p-32;
}

/* A point as an input of the process. */
static void inputs_of(const surrogate *s, const double *v, double *u)
{
    ds_box_u_from_v(s->n, v, u);
    ds_box_snap(s->n, u);
}

int surrogate_add(surrogate *s, size_t count, const double *v, const double *loss, int is_start)
{
    if (!reserve_records(s, s->recorded + count)) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        inputs_of(s, v + i * s->n, s->u + s->recorded * s->n);
        record r = {loss[i], is_start && i == 0, loss[i] < s->best_loss};
        s->best_loss = fmin(s->best_loss, loss[i]);
        s->records[s->recorded++] = r;
    }
    return 1;
}

double surrogate_length(const surrogate *s)
{
    double sum = 0.0;
    for (size_t k = 0; k < s->n; k++) {
        sum += log(s->process->hyper.length[k]);
    }
    return exp(sum / (double)s->n);
}

size_t surrogate_recorded(const surrogate *s)
{
    return s->recorded;
}

size_t surrogate_size(const surrogate *s)
{
    return s->kept_count;
}

static uint32_t host_says_stop(const void *ctx)
{
    const ds_host *host = ctx;
    return host->should_stop(host);
}

static int is_usable(const surrogate *s, size_t i)
{
    return isfinite(s->records[i].loss) || s->options.on_failure == SURROGATE_WORST_FOR_FAILED;
}

/* ---- which points the process holds ---- */

/* Squared distance in length scales, or anything above `limit` once it is clear that it exceeds that. */
static double distance2(const surrogate *s, size_t i, size_t j, double limit)
{
    const double *a = s->u + i * s->n, *b = s->u + j * s->n, *length = s->process->hyper.length;
    double sum = 0.0;
    for (size_t k = 0; k < s->n && sum <= limit; k++) {
        double diff = (a[k] - b[k]) / length[k];
        sum += diff * diff;
    }
    return sum;
}

static int is_near_a_kept_point(const surrogate *s, size_t i)
{
    for (size_t j = s->kept_count; j-- > 0;) { /* neighbours are mostly recent */
        if (distance2(s, i, s->kept[j], NEAR * NEAR) < NEAR * NEAR) {
            return 1;
        }
    }
    return 0;
}

static int worth_keeping(const surrogate *s, size_t i)
{
    return is_usable(s, i) && (s->records[i].was_best || !is_near_a_kept_point(s, i));
}

/* Sorts record indices by loss, then by age (a heap sort: deterministic, in place). */
static int comes_after(const surrogate *s, size_t a, size_t b)
{
    double la = s->records[a].loss, lb = s->records[b].loss;
    return la > lb || (la == lb && a > b);
}

static void sort_by_loss(const surrogate *s, size_t *index, size_t count)
{
    for (size_t end = count, root = count / 2; end > 1;) {
        size_t value;
        if (root > 0) {
            value = index[--root];
        } else {
            value = index[--end];
            index[end] = index[0];
        }
        size_t i = root;
        for (size_t child = 2 * i + 1; child < end; child = 2 * i + 1) {
            child += child + 1 < end && comes_after(s, index[child + 1], index[child]);
            if (!comes_after(s, index[child], value)) {
                break;
            }
            index[i] = index[child];
            i = child;
        }
        index[i] = value;
    }
}

/* Moves the kept record at position `at` to the end of the `*count` selected ones. */
static void select_kept(surrogate *s, size_t at, size_t *count)
{
    size_t t = s->kept[*count];
    s->kept[*count] = s->kept[at];
    s->kept[at] = t;
    (*count)++;
}

/* Cuts the kept points down to n_max: the best quarter, the starts, then always the point farthest
 * from those selected. */
static ds_status cut_to_size(surrogate *s)
{
    size_t limit = (size_t)s->options.n_max, count = 0, total = s->kept_count;
    if (total <= limit) {
        return DS_OK;
    }
    sort_by_loss(s, s->kept, total);
    count = limit / 4;
    for (size_t i = count; i < total && count < limit; i++) {
        if (s->records[s->kept[i]].is_start) {
            select_kept(s, i, &count);
        }
    }
    double *nearest = s->scratch; /* squared distance to the selected points, by record position */
    for (size_t i = count; i < total; i++) {
        nearest[i] = INFINITY;
        for (size_t j = 0; j < count; j++) {
            nearest[i] = fmin(nearest[i], distance2(s, s->kept[i], s->kept[j], nearest[i]));
        }
    }
    while (count < limit) {
        if (host_says_stop(s->host)) {
            return DS_STOPPED;
        }
        size_t far = count;
        for (size_t i = count; i < total; i++) {
            far = nearest[i] > nearest[far] ? i : far;
        }
        nearest[far] = nearest[count];
        select_kept(s, far, &count);
        for (size_t i = count; i < total; i++) {
            nearest[i] = fmin(nearest[i], distance2(s, s->kept[i], s->kept[count - 1], nearest[i]));
        }
    }
    s->kept_count = limit;
    return DS_OK;
}

static ds_status select_points(surrogate *s)
{
    s->kept_count = 0;
    for (size_t i = 0; i < s->recorded; i++) {
        if (worth_keeping(s, i)) {
            s->kept[s->kept_count++] = i;
        }
        if ((i & 255u) == 0 && host_says_stop(s->host)) {
            return DS_STOPPED;
        }
    }
    s->considered = s->recorded;
    return cut_to_size(s);
}

/* ---- targets ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear interpolation between order statistics. */
static double quantile(const double *sorted, size_t count, double p)
{
    double at = p * (double)(count - 1);
    size_t i = (size_t)at;
    return i + 1 < count ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[count - 1];
}

static double capped_or_log(const surrogate *s, double loss)
{
    return s->is_log ? log(fmax(loss - s->loss_floor, 0.0) / s->range + LOG_OFFSET) : fmin(loss, s->cap);
}

static double standardised(const surrogate *s, double loss)
{
    return rounded((capped_or_log(s, loss) - s->mean) / s->sd);
}

/* Standardised targets of the kept points. */
static void make_targets(surrogate *s)
{
    size_t count = s->kept_count;
    double *y = s->targets, worst = -INFINITY;
    for (size_t i = 0; i < s->recorded; i++) {
        worst = isfinite(s->records[i].loss) ? fmax(worst, s->records[i].loss) : worst;
    }
    for (size_t i = 0; i < count; i++) {
        double loss = s->records[s->kept[i]].loss;
        y[i] = isfinite(loss) ? loss : worst;
    }
    memcpy(s->scratch, y, count * sizeof(double));
    qsort(s->scratch, count, sizeof(double), compare_doubles);
    double median = quantile(s->scratch, count, 0.5);
    double range = quantile(s->scratch, count, 0.75) - quantile(s->scratch, count, 0.25);
    s->is_log = s->options.warp == SURROGATE_WARP_LOG && isfinite(s->loss_floor) && range > 0.0;
    s->range = range;
    s->cap = range > 0.0 && isfinite(range) ? median + 5.0 * range : (double)INFINITY;
    double mean = 0.0, largest = 0.0, square = 0.0;
    for (size_t i = 0; i < count; i++) {
        y[i] = capped_or_log(s, y[i]);
        mean += y[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(y[i] - mean));
    }
    for (size_t i = 0; i < count && largest > 0.0; i++) { /* scaled: squares of huge losses overflow */
        square += ((y[i] - mean) / largest) * ((y[i] - mean) / largest);
    }
    double sd = count > 1 ? largest * sqrt(square / (double)(count - 1)) : 0.0;
    s->mean = mean;
    s->sd = sd > ROUNDING * fabs(mean) ? sd : (double)INFINITY; /* all equal */
    for (size_t i = 0; i < count; i++) {
        y[i] = rounded((y[i] - s->mean) / s->sd);
    }
}

/* ---- the process ---- */

static void copy_inputs(surrogate *s, const size_t *index, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(s->inputs + i * s->n, s->u + index[i] * s->n, s->n * sizeof(double));
    }
}

/* Fits the hyperparameters to the kept points or to fit_max of them. A failed fit keeps the old ones. */
static ds_status fit(surrogate *s, uint64_t trial)
{
    size_t count = s->kept_count, most = (size_t)s->options.fit_max;
    double *y = s->targets;
    if (count <= most) {
        copy_inputs(s, s->kept, count);
    } else { /* positions in `kept`: the best third of `most`, then a random choice of the others */
        ds_random rng = ds_random_open(s->host->seed, "subset", trial);
        for (size_t i = 0; i < count; i++) {
            s->order[i] = i;
        }
        size_t best = most / 3;
        for (size_t i = 0; i < most; i++) {
            size_t pick = i;
            for (size_t j = i; j < count && i < best; j++) {
                pick = y[s->order[j]] < y[s->order[pick]] ? j : pick;
            }
            pick = i < best ? pick : i + (size_t)ds_random_below(&rng, count - i);
            size_t t = s->order[i];
            s->order[i] = s->order[pick];
            s->order[pick] = t;
        }
        y = s->scratch;
        for (size_t i = 0; i < most; i++) {
            memcpy(s->inputs + i * s->n, s->u + s->kept[s->order[i]] * s->n, s->n * sizeof(double));
            y[i] = s->targets[s->order[i]];
        }
        count = most;
    }
    ds_random rng = ds_random_open(s->host->seed, "prior", trial);
    int iterations = s->fitted ? NEXT_FIT_ITERATIONS : FIRST_FIT_ITERATIONS;
    ds_status status = gp_fit(s->process, count, s->inputs, y, iterations, &rng, host_says_stop, s->host);
    if (status == DS_E_NUMERIC) {
        s->host->log(s->host, DS_LOG_WARNING,
                     "the fit of the Gaussian process failed: keeping its hyperparameters");
        return DS_OK;
    }
    s->fitted |= status == DS_OK;
    return status;
}

/* Chooses the points anew and conditions the process on them, with hyperparameters fitted to them or as
 * they are. */
static ds_status select_anew(surrogate *s, uint64_t trial, int with_fit)
{
    ds_status status = select_points(s);
    if (status != DS_OK) {
        return status;
    }
    make_targets(s);
    status = with_fit ? fit(s, trial) : DS_OK;
    if (status != DS_OK) {
        return status;
    }
    copy_inputs(s, s->kept, s->kept_count);
    status = gp_condition(s->process, s->kept_count, s->inputs);
    if (status == DS_E_NUMERIC) { /* hyperparameters of another subset can fail: the start values never do */
        gp_default_hyper(s->process);
        status = gp_condition(s->process, s->kept_count, s->inputs);
    }
    if (status == DS_OK) {
        gp_set_targets(s->process, s->targets);
    }
    return status;
}

/* Adds the points recorded since the last proposal without a fit. */
static ds_status extend(surrogate *s)
{
    for (; s->considered < s->recorded; s->considered++) {
        size_t i = s->considered;
        if (!worth_keeping(s, i)) {
            continue;
        }
        ds_status status = gp_append(s->process, s->u + i * s->n);
        if (status == DS_E_NOMEM) {
            return status;
        }
        if (status == DS_OK) {
            s->kept[s->kept_count++] = i;
        }
    }
    make_targets(s);
    gp_set_targets(s->process, s->targets);
    return DS_OK;
}

static ds_status update(surrogate *s, uint64_t trial)
{
    size_t usable = 0;
    for (size_t i = 0; i < s->recorded; i++) {
        usable += is_usable(s, i) != 0;
    }
    int grown = usable * 10 >= s->usable_at_fit * 11;
    size_t most = s->kept_count + (s->recorded - s->considered);
    if (usable <= REFIT_ALWAYS || grown || s->process->n == 0) {
        s->usable_at_fit = usable;
        return select_anew(s, trial, 1);
    }
    return most > (size_t)s->options.n_max ? select_anew(s, trial, 0) : extend(s);
}

/* The best twentieth of the points in the process, to s->inputs. */
static size_t best_inputs(surrogate *s)
{
    size_t good = (s->kept_count + 19) / 20;
    memcpy(s->order, s->kept, s->kept_count * sizeof(size_t));
    sort_by_loss(s, s->order, s->kept_count);
    copy_inputs(s, s->order, good);
    return good;
}

/* Appends one more input; leaves it out where it coincides with another. DS_E_NOMEM. */
static ds_status add_fantasy(surrogate *s, const double *u, double target)
{
    ds_status status = gp_append(s->process, u);
    if (status == DS_OK) {
        s->targets[s->process->n - 1] = target;
    }
    return status == DS_E_NOMEM ? status : DS_OK;
}

/* Appends the points of other searches to the data, until drop_fantasies(). Those with unknown losses get the
 * mean of all losses, or the expectation of the process there if that is larger ("constant liar", D.
 * Ginsbourger et al. 2010). The expectation alone, where the process is certain, would place the next search
 * next to them. Their inputs follow the inputs of the records; *expected counts them. */
static ds_status add_fantasies(surrogate *s, size_t count, const double *points, const double *loss,
                               size_t *expected)
{
    ds_status status = DS_OK;
    *expected = 0;
    for (size_t i = 0; status == DS_OK && i < count; i++) {
        if (isfinite(loss[i])) {
            inputs_of(s, points + i * s->n, s->inputs);
            status = add_fantasy(s, s->inputs, standardised(s, loss[i]));
        }
    }
    gp_set_targets(s->process, s->targets);
    for (size_t i = 0; status == DS_OK && i < count; i++) {
        if (!isfinite(loss[i])) {
            double mean, sd, *u = s->u + (s->recorded + (*expected)++) * s->n;
            inputs_of(s, points + i * s->n, u);
            status = gp_predict(s->process, 1, u, &mean, &sd, NULL, NULL);
            status = status != DS_OK ? status : add_fantasy(s, u, fmax(mean, 0.0));
            gp_set_targets(s->process, s->targets);
        }
    }
    return status;
}

static void drop_fantasies(surrogate *s)
{
    if (s->process->n > s->kept_count) {
        s->process->n = s->kept_count;
        gp_set_targets(s->process, s->targets);
    }
}

ds_status surrogate_propose(surrogate *s, uint64_t trial, double *v)
{
    return surrogate_propose_beside(s, trial, 0, NULL, NULL, v);
}

ds_status surrogate_propose_beside(surrogate *s, uint64_t trial, size_t count, const double *points,
                                   const double *loss, double *v)
{
    ds_status status = isfinite(s->best_loss) ? update(s, trial) : DS_E_NUMERIC;
    if (status == DS_E_NUMERIC) { /* nothing to learn from */
        if (isfinite(s->best_loss)) {
            s->host->log(s->host, DS_LOG_WARNING,
                         "no Gaussian process fits the data: starting at a random point");
        }
        ds_opt_kit_random_start(s->host, trial, s->n, v);
        return DS_OK;
    }
    if (status != DS_OK) {
        return status;
    }
    if (count > 0 && !reserve_records(s, s->recorded + count)) {
        return DS_E_NOMEM;
    }
    size_t expected = 0;
    if (count > 0 && (status = add_fantasies(s, count, points, loss, &expected)) != DS_OK) {
        drop_fantasies(s);
        return status;
    }
    acquisition a = {s->options.acquisition, s->options.alpha, INFINITY};
    for (size_t i = 0; i < s->kept_count; i++) {
        a.best = fmin(a.best, s->targets[i]);
    }
    acquisition_search search = {0};
    search.raw = (size_t)s->options.raw;
    search.starts = (size_t)s->options.starts;
    search.max_iterations = ACQUISITION_ITERATIONS;
    search.good_count = s->options.around_best ? best_inputs(s) : 0;
    search.good = s->inputs;
    search.told = s->u;
    search.told_count = s->recorded + expected;
    search.near = NEAR; /* the process would not learn from such a point, and would propose it again */
    ds_random rng = ds_random_open(s->host->seed, "acquisition", trial);
    status = acquisition_minimise(s->process, &a, &search, &rng, host_says_stop, s->host, v);
    drop_fantasies(s);
    ds_box_v_from_u(s->n, v, v);
    return status;
}

void surrogate_design(const surrogate *s, size_t count, double *v)
{
    ds_random rng = ds_random_open(s->host->seed, "design", 0);
    sobol_points(count, s->n, &rng, v);
    for (size_t i = 0; i < count; i++) {
        ds_box_v_from_u(s->n, v + i * s->n, v + i * s->n);
    }
}
