/* SPDX-License-Identifier: Apache-2.0 */
/* mppi.c - model predictive path integral control: moves a sequence of actions to the mean of its noisy
 * samples, weighted by exp(-cost). G. Williams, P. Drews, B. Goldfain, J. Rehg, E. Theodorou,
 * "Information-theoretic model predictive control: theory and applications to autonomous driving" (IEEE
 * Transactions on Robotics 34, 2018, algorithms 1 and 2):
 *
 *     u = start;  t = 0
 *     repeat
 *         repeat `updates` times
 *             e_1, ..., e_K ~ N(0, sigma^2 I) on the actions t, ..., t + horizon - 1, elsewhere 0
 *             S_k = f(clamp(u + e_k)) + lambda (1 - alpha) u' e_k / sigma^2
 *             w_k = exp(-(S_k - min S) / lambda), divided by their sum
 *             u = u + sum of w_k e_k
 *         t = t + 1, after the last action 0 again
 *
 * f is the loss of the whole episode, so that after the horizon the present actions count: the paper's cost
 * ends there. With horizon = 0 every update moves all actions. Noise that leaves the box is cut there, in u
 * as in f. With `nominal` e_1 is 0, which keeps a good u from getting lost. Noise may be correlated over
 * time: e(t) = rho e(t-1) + sqrt(1 - rho^2) n(t), in place of the paper's smoothing filter. lambda in units
 * of the loss is the paper's; by default it is a share of mean f - min f of the samples, so that the unit of
 * the loss has no effect. */
#include "methods/base/own.h"

#include <math.h>
#include <string.h>

enum { X0, CENTER, RANDOM };
static const char *const starts[] = {"x0", "center", "random", NULL};
enum { BOX, UNITS_X };
static const char *const units[] = {"box", "x", NULL};
enum { EXCESS, LOSS };
static const char *const temperatures[] = {"excess", "loss", NULL};

typedef struct mppi {
    ds_opt_kit kit;
    size_t n, samples;
    size_t block;   /* variables of an action */
    size_t actions; /* n / block, rounded up */
    size_t horizon; /* actions that an update moves, 1 .. actions */
    int64_t updates, j, patience;
    int start, units, temperature, nominal;
    double sigma, sigma_decay, lambda, alpha, rho, tol;
    ds_random rng;    /* random numbers of this search */
    double *scale;    /* n: one unit in [-1, 1] in the unit of sigma */
    double *zero;     /* n: x = 0 in [-1, 1], where the paper's base distribution has its mean */
    double *u;        /* n: present actions */
    double *v;        /* samples x n */
    double *cost, *w; /* samples: S, weights */
    double *loss;     /* samples */
    uint32_t *outcome;
} mppi;

static void begin_search(mppi *m)
{
    const uint64_t number = m->kit.round;
    m->rng = ds_random_open(m->kit.host->seed, "noise", number);
    if (number > 1 || m->start == RANDOM || m->kit.start.v) {
        ds_opt_kit_start(&m->kit, number, m->u);
    } else if (m->start == X0) {
        ds_opt_kit_x0(m->kit.problem, m->u);
    } else {
        memset(m->u, 0, m->n * sizeof(double));
    }
}

/* Draws the samples of an update that moves `count` variables from `first` on. */
static void draw(mppi *m, size_t first, size_t count, double sigma)
{
    const double fresh = sqrt(1.0 - m->rho * m->rho);
    for (size_t i = 0; i < m->samples; i++) {
        double *v = m->v + i * m->n;
        memcpy(v, m->u, m->n * sizeof *v);
        if (m->nominal && i == 0) {
            continue;
        }
        double *e = v + first; /* noise with deviation 1, until it becomes the point itself */
        for (size_t k = 0; k < count; k++) {
            const double z = ds_random_normal(&m->rng);
            e[k] = k < m->block ? z : m->rho * e[k - m->block] + fresh * z;
        }
        for (size_t k = 0; k < count; k++) {
            e[k] = ds_box_clamp(m->u[first + k] + sigma / m->scale[first + k] * e[k], -1.0, 1.0);
        }
    }
}

/* Mean and smallest of the finite losses. Returns how many there are. */
static size_t survey(const mppi *m, double *mean, double *least)
{
    size_t finite = 0;
    *mean = 0.0;
    *least = INFINITY;
    for (size_t i = 0; i < m->samples; i++) {
        finite += isfinite(m->loss[i]) != 0;
    }
    for (size_t i = 0; i < m->samples; i++) {
        if (isfinite(m->loss[i])) {
            *mean += m->loss[i] / (double)finite;
            *least = fmin(*least, m->loss[i]);
        }
    }
    return finite;
}

/* Adds the paper's price of noise along u: lambda (1 - alpha) u' e / sigma^2. */
static void add_control_cost(mppi *m, size_t first, size_t count, double sigma, double lambda)
{
    for (size_t i = 0; i < m->samples; i++) {
        double sum = 0.0;
        for (size_t k = first; k < first + count; k++) {
            const double s = sigma / m->scale[k];
            sum += (m->u[k] - m->zero[k]) / s * ((m->v[i * m->n + k] - m->u[k]) / s);
        }
        m->cost[i] = m->loss[i] + lambda * (1.0 - m->alpha) * sum;
    }
}

/* Weights the samples and moves u. Returns the weighted mean of the losses; INFINITY where all failed. */
static double move(mppi *m, size_t first, size_t count, double sigma)
{
    double mean, least, sum = 0.0, reached = 0.0, best = INFINITY;
    if (survey(m, &mean, &least) == 0) {
        return INFINITY;
    }
    const double lambda = m->temperature == LOSS ? m->lambda : m->lambda * (mean - least);
    add_control_cost(m, first, count, sigma, lambda);
    for (size_t i = 0; i < m->samples; i++) {
        best = isfinite(m->loss[i]) ? fmin(best, m->cost[i]) : best;
    }
    for (size_t i = 0; i < m->samples; i++) {
        const double more = m->cost[i] - best;
        m->w[i] = !isfinite(m->loss[i]) ? 0.0 : more > 0.0 ? exp(-more / lambda) : 1.0;
        sum += m->w[i];
    }
    for (size_t i = 0; i < m->samples; i++) {
        reached += m->w[i] > 0.0 ? m->w[i] / sum * m->loss[i] : 0.0;
    }
    for (size_t k = first; k < first + count; k++) {
        double change = 0.0;
        for (size_t i = 0; i < m->samples; i++) {
            change += m->w[i] / sum * (m->v[i * m->n + k] - m->u[k]);
        }
        m->u[k] = ds_box_clamp(m->u[k] + change, -1.0, 1.0);
    }
    return reached;
}

/* One pass of the horizon over all actions: one iteration of the search. Sets *reached to the weighted mean
 * loss of its last update. */
static ds_status pass(mppi *m, int64_t iteration, double *reached)
{
    const double sigma = m->sigma / pow((double)iteration, m->sigma_decay);
    const size_t places = m->horizon == m->actions ? 1 : m->actions;
    for (size_t t = 0; t < places; t++) {
        const size_t first = t * m->block, end = (t + m->horizon) * m->block;
        const size_t count = (end < m->n ? end : m->n) - first;
        for (int64_t i = 0; i < m->updates; i++) {
            size_t done;
            const ds_evaluator_label label = {"sample", m->kit.round};
            draw(m, first, count, sigma);
            ds_status status = ds_evaluator_run(&m->kit.evaluator, label, m->samples, m->v, m->loss, NULL,
                                                m->outcome, &done);
            if (status != DS_OK) {
                return status;
            }
            *reached = move(m, first, count, sigma);
            if (isinf(*reached) || m->kit.host->should_stop(m->kit.host)) {
                return isinf(*reached) ? DS_OK : DS_STOPPED;
            }
        }
    }
    return DS_OK;
}

static int mppi_begins_at_start(const void *self)
{
    return ((const mppi *)self)->nominal;
}

/* One search from its start until it makes no more progress. */
static ds_status mppi_search(void *self)
{
    mppi *m = self;
    double first = INFINITY, best = INFINITY;
    int64_t stall = 0;
    begin_search(m);
    for (int64_t t = 1; t <= m->j && stall <= m->patience; t++) {
        double reached = INFINITY;
        ds_status status = pass(m, t, &reached);
        if (status != DS_OK) {
            return status;
        }
        if (isinf(reached)) {
            return DS_OK;
        }
        first = t == 1 ? reached : first;
        const int progress = t == 1 || reached < best - m->tol * (first - best);
        best = progress ? reached : best;
        stall = progress ? 0 : stall + 1;
    }
    return DS_OK;
}

static int mppi_allocate(void *self)
{
    mppi *m = self;
    ds_memory *own = &m->kit.memory;
    const ds_problem *p = m->kit.problem;
    m->scale = ds_memory_doubles(own, m->n);
    m->zero = ds_memory_doubles(own, m->n);
    m->u = ds_memory_doubles(own, m->n);
    m->v = ds_memory_doubles(own, m->samples * m->n);
    m->cost = ds_memory_doubles(own, m->samples);
    m->w = ds_memory_doubles(own, m->samples);
    m->loss = ds_memory_doubles(own, m->samples);
    m->outcome = ds_memory_take(own, m->samples, sizeof *m->outcome);
    for (size_t k = 0; m->scale && m->zero && k < m->n; k++) {
        const double half = 0.5 * p->upper[k] - 0.5 * p->lower[k];
        m->scale[k] = m->units == UNITS_X ? half : 1.0;
        m->zero[k] = half > 0.0 ? -(0.5 * p->upper[k] + 0.5 * p->lower[k]) / half : 0.0;
    }
    return ds_opt_kit_rows(&m->kit, m->samples);
}

static void mppi_read(void *self, ds_param_reader *in)
{
    mppi *m = self;
    m->n = m->kit.n;
    m->samples = (size_t)ds_param_int(in, "samples");
    m->block = (size_t)ds_param_int(in, "block");
    m->horizon = (size_t)ds_param_int(in, "horizon");
    m->updates = ds_param_int(in, "updates");
    m->j = ds_param_int(in, "j");
    m->patience = ds_param_int(in, "patience");
    m->start = (int)ds_param_int(in, "start");
    m->units = (int)ds_param_int(in, "units");
    m->temperature = (int)ds_param_int(in, "temperature");
    m->nominal = ds_param_int(in, "nominal") != 0;
    m->sigma = ds_param_real(in, "sigma");
    m->sigma_decay = ds_param_real(in, "sigma_decay");
    m->lambda = ds_param_real(in, "lambda");
    m->alpha = ds_param_real(in, "alpha");
    m->rho = ds_param_real(in, "correlation");
    m->tol = ds_param_real(in, "tol");
    m->block = m->block < m->n ? m->block : m->n;
    m->actions = m->block > 0 ? (m->n + m->block - 1) / m->block : 1;
    m->horizon = m->horizon > 0 && m->horizon < m->actions ? m->horizon : m->actions;
}

static const ds_param *const params[] = {
    DS_INT("samples", "32", 2, 1e6, "", "Samples K of an update."),
    DS_REAL("sigma", "0.2", 1e-12, 1e12, "", "Standard deviation of the noise, in `units`."),
    DS_REAL("sigma_decay", "0", 0, 10, "", "In iteration t it is sigma / t^sigma_decay."),
    DS_ENUM("units", "box", units,
            "Unit of sigma: box = the box is [-1, 1]; x = the variables themselves (the paper)."),
    DS_REAL("lambda", "0.1", 1e-12, 1e12, "",
            "Temperature: small = the best samples alone, large = all samples alike."),
    DS_ENUM("temperature", "excess", temperatures,
            "Unit of lambda: excess = mean minus smallest loss of the samples; loss = the loss (the paper)."),
    DS_REAL("alpha", "1", 0, 1, "",
            "Base distribution: 1 = the noise costs nothing; below, noise along u costs lambda (1 - alpha) "
            "u' e / sigma^2, which pulls u to x = 0."),
    DS_REAL("correlation", "0", 0, 0.999, "", "Correlation rho of the noise of two successive actions."),
    DS_INT("block", "1", 1, 1e6, "", "Variables of an action: n_act where the task is controlled stepwise."),
    DS_INT("horizon", "0", 0, 1e9, "",
           "Actions that an update moves; the window advances by one action after `updates`. 0 = all."),
    DS_INT("updates", "1", 1, 1e6, "", "Updates before the window advances."),
    DS_BOOL("nominal", "true", "The first sample of an update has no noise."),
    DS_ENUM("start", "x0", starts,
            "Actions of the first search without use_x0 and x0: x0, which the environment suggests; center "
            "of the box; or random, as in all further searches."),
    DS_OPT_START_PARAMS("false"),
    DS_INT("j", "1000000", 1, 1e9, "", "Most iterations of a search, each a pass over all actions."),
    DS_INT("patience", "20", 0, 1e9, "",
           "A search ends when the weighted mean loss has not fallen for more than this many iterations in a "
           "row; another begins at a random point."),
    DS_REAL("tol", "1e-6", 0, 1, "",
            "Least decrease that counts as progress, as a share of the decrease since the start."),
    NULL};

static const ds_desc desc = {
    OPT_DESC("mppi", "0.1.0"),
    .summary = "Model predictive path integral control: means of noisy samples weighted by exp(-cost)",
    .description =
        "Repeats: disturb the present actions, evaluate, and move to the mean of the samples weighted by "
        "exp(-loss / lambda). With a horizon it updates a window of actions that advances by one action, as "
        "a controller does, and begins again at the first action. Uses no gradients.\n\nThe paper: "
        "units=x temperature=loss nominal=false patience, j as large as the budget, its lambda and alpha.",
    .citation = "G. Williams, P. Drews, B. Goldfain, J. Rehg, E. Theodorou: Information-theoretic model "
                "predictive control: theory and applications to autonomous driving. IEEE Transactions on "
                "Robotics 34, 2018, arXiv:1707.02342",
};

static const ds_opt_table table = {
    .size = sizeof(mppi),
    .no_memory = "out of memory: lower samples",
    .read = mppi_read,
    .allocate = mppi_allocate,
    .begins_at_start = mppi_begins_at_start,
    .round = mppi_search,
};

DS_OPT_KIT_DEFINE(table, desc)
