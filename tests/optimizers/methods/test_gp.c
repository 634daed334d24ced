/* SPDX-License-Identifier: Apache-2.0 */
/* test_gp.c - the Gaussian process against recorded values of BoTorch and identities of exact inference;
 * acquisition functions, their search and its Sobol points; which simulations enter the model of Bayesian
 * optimization, and that its proposals depend on nothing else. */
#include "functions.h"
#include "golden.h"
#include "methods/base/sobol.h"
#include "methods/bayes/acquisition.h"
#include "methods/bayes/gp.h"
#include "methods/bayes/surrogate.h"
#include "test.h"

#define MAX_N 256
#define MAX_D 32

static const gp_model models[] = {{GP_SE, GP_PRIOR_2024, 0.0},
                                  {GP_MATERN52, GP_PRIOR_2024, 0.0},
                                  {GP_MATERN52, GP_PRIOR_2022, 0.0},
                                  {GP_SE, GP_PRIOR_2022, 0.0}};

typedef struct dataset {
    size_t n, d;
    double u[MAX_N * MAX_D], y[MAX_N], t[16 * MAX_D];
} dataset;

/* Smooth data on Sobol-like random points. */
static void make_data(dataset *s, size_t n, size_t d, uint64_t seed)
{
    ds_random rng = ds_random_open(seed, "data", 0);
    s->n = n;
    s->d = d;
    double mean = 0.0, square = 0.0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (size_t k = 0; k < d; k++) {
            s->u[i * d + k] = ds_random_uniform(&rng);
            sum += sin(3.0 * s->u[i * d + k] + (double)k) / (1.0 + (double)k);
        }
        s->y[i] = sum;
        mean += sum / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        square += (s->y[i] - mean) * (s->y[i] - mean);
    }
    for (size_t i = 0; i < n; i++) {
        s->y[i] = (s->y[i] - mean) / sqrt(square / (double)(n - 1));
    }
    for (size_t i = 0; i < 16 * d; i++) {
        s->t[i] = ds_random_uniform(&rng);
    }
}

static void set_hyper(gp *g, double length, double noise, double mean, double variance)
{
    for (size_t k = 0; k < g->d; k++) {
        g->hyper.length[k] = length * (1.0 + 0.3 * (double)k);
    }
    g->hyper.noise = noise;
    g->hyper.mean = mean;
    g->hyper.variance = variance;
}

static void assert_close(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * fmax(1.0, fabs(b)))) {
        fail_msg("%.17g and %.17g differ by more than %g", a, b, tolerance);
    }
}

/* ---- recorded values ---- */

static const gp_model *model_named(const char *name)
{
    return &models[strcmp(name, "se_2024") == 0 ? 0 : (strcmp(name, "matern52_2024") == 0 ? 1 : 2)];
}

static void load_dataset(const json_t *root, const char *name, dataset *s)
{
    const json_t *list = json_object_get(root, "datasets");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        if (strcmp(golden_text(item, "name"), name) == 0) {
            s->n = (size_t)golden_number(item, "n");
            s->d = (size_t)golden_number(item, "d");
            assert_int_equal(golden_array(item, "U", s->u), s->n * s->d);
            golden_array(item, "Y", s->y);
            golden_array(item, "T", s->t);
            for (size_t k = 0; k < s->n; k++) {
                s->y[k] = (s->y[k] - golden_number(item, "Y_mean")) / golden_number(item, "Y_std");
            }
            return;
        }
    }
    fail_msg("no data set %s", name);
}

static void load_hyper(const json_t *hyper, gp *g)
{
    golden_array(hyper, "l", g->hyper.length);
    g->hyper.noise = golden_number(hyper, "noise");
    g->hyper.mean = golden_number(hyper, "c");
    g->hyper.variance = golden_number(hyper, "s2");
}

static void compare_predictions(const json_t *item, gp *g, const dataset *s, double tolerance)
{
    double mean[16], sd[16], dmean[16 * MAX_D], dsd[16 * MAX_D], expected[MAX_D], best = INFINITY;
    const json_t *list = json_object_get(item, "test");
    size_t count = json_array_size(list), d = s->d;
    assert_int_equal(gp_predict(g, count, s->t, mean, sd, dmean, dsd), DS_OK);
    for (size_t i = 0; i < s->n; i++) {
        best = fmin(best, s->y[i]);
    }
    assert_close(best, golden_number(item, "best_f"), 1e-12);
    acquisition lcb = {ACQUISITION_LCB, 1.0, best}, ei = {ACQUISITION_EI, 1.0, best};
    acquisition log_ei = {ACQUISITION_LOGEI, 1.0, best};
    for (size_t i = 0; i < count; i++) {
        const json_t *t = json_array_get(list, i);
        double dm, ds;
        assert_close(mean[i], golden_number(t, "mean"), tolerance);
        assert_close(sd[i] * sd[i], golden_number(t, "var"), tolerance);
        assert_close(acquisition_value(&lcb, mean[i], sd[i], &dm, &ds), golden_number(t, "lcb"), tolerance);
        golden_array(t, "lcb_grad", expected);
        for (size_t k = 0; k < d; k++) {
            assert_close(dm * dmean[i * d + k] + ds * dsd[i * d + k], expected[k], tolerance);
        }
        double recorded = golden_number(t, "ei");
        if (recorded > 1e-250) {
            assert_close(-acquisition_value(&ei, mean[i], sd[i], &dm, &ds), recorded, tolerance);
        }
        recorded = golden_number(t, "log_ei");
        assert_close(-acquisition_value(&log_ei, mean[i], sd[i], &dm, &ds), recorded,
                     fmax(1e-9, 10.0 * tolerance));
        golden_array(t, "log_ei_grad", expected);
        for (size_t k = 0; k < d; k++) {
            assert_close(-(dm * dmean[i * d + k] + ds * dsd[i * d + k]), expected[k],
                         fmax(1e-8, 100.0 * tolerance));
        }
    }
}

static void test_recorded_values(void **state)
{
    json_t *root = golden_or_skip("optimizers/gp.json");
    const json_t *list = golden_list(root, "fixed");
    static dataset s;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        load_dataset(root, golden_text(item, "data"), &s);
        gp *g = gp_create(s.d, model_named(golden_text(item, "model")));
        load_hyper(json_object_get(item, "hyper"), g);
        double tolerance = g->hyper.noise < 1e-3 ? 1e-8 : 1e-10;
        double theta[MAX_D + 3], gradient[MAX_D + 3], expected[MAX_D];
        gp_get_theta(g, theta);
        double value = gp_objective(g, s.n, s.u, s.y, theta, gradient);
        assert_close(value, golden_number(item, "F_sheet"), tolerance);
        const json_t *slopes = json_object_get(item, "grad_F");
        golden_array(slopes, "ln_l", expected);
        for (size_t k = 0; k < s.d; k++) {
            assert_close(gradient[k], expected[k], tolerance);
        }
        assert_close(gradient[s.d], golden_number(slopes, "ln_noise"), tolerance);
        assert_close(gradient[s.d + 1], golden_number(slopes, "c"), tolerance);
        if (g->model.prior == GP_PRIOR_2022) {
            assert_close(gradient[s.d + 2], golden_number(slopes, "ln_s2"), tolerance);
        }
        assert_int_equal(gp_condition(g, s.n, s.u), DS_OK);
        gp_set_targets(g, s.y);
        assert_close(gp_log_likelihood(g), golden_number(item, "log_marginal_likelihood"), tolerance);
        compare_predictions(item, g, &s, tolerance);
        gp_destroy(g);
    }
    json_decref(root);
}

static void test_recorded_fits(void **state)
{
    json_t *root = golden_or_skip("optimizers/gp.json");
    const json_t *list = golden_list(root, "fitted");
    static dataset s;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        load_dataset(root, golden_text(item, "data"), &s);
        gp *g = gp_create(s.d, model_named(golden_text(item, "model")));
        double theta[MAX_D + 3], gradient[MAX_D + 3];
        gp_get_theta(g, theta);
        assert_close(gp_objective(g, s.n, s.u, s.y, theta, gradient), golden_number(item, "F_sheet_at_start"),
                     1e-10);
        ds_random rng = ds_random_open(1, "fit", i);
        gp_default_hyper(g);
        assert_int_equal(gp_fit(g, s.n, s.u, s.y, 200, &rng, NULL, NULL), DS_OK);
        gp_get_theta(g, theta);
        double best = golden_number(json_object_get(item, "log_space_best_of"), "F_sheet");
        double value = gp_objective(g, s.n, s.u, s.y, theta, gradient);
        print_message("# %s %-14s F %.9f, %.1e above the best recorded\n", golden_text(item, "data"),
                      golden_text(item, "model"), value, value - best);
        assert_true(value - best < 1e-3);
        gp_destroy(g);
    }
    json_decref(root);
}

/* ---- identities ---- */

static void test_objective_gradient(void **state)
{
    static dataset s;
    make_data(&s, 20, 3, 1);
    ds_random rng = ds_random_open(2, "theta", 0);
    for (size_t m = 0; m < 4; m++) {
        gp *g = gp_create(s.d, &models[m]);
        size_t size = gp_theta_size(g);
        for (int trial = 0; trial < 20; trial++) {
            double theta[8], gradient[8], unused[8];
            for (size_t k = 0; k < size; k++) {
                theta[k] = -1.0 + 0.7 * ds_random_normal(&rng);
            }
            gp_objective(g, s.n, s.u, s.y, theta, gradient);
            double largest = 0.0, error = 0.0;
            for (size_t k = 0; k < size; k++) {
                double t = theta[k], h = 1e-5;
                theta[k] = t + h;
                double up = gp_objective(g, s.n, s.u, s.y, theta, unused);
                theta[k] = t - h;
                double down = gp_objective(g, s.n, s.u, s.y, theta, unused);
                theta[k] = t;
                largest = fmax(largest, fabs(gradient[k]));
                error = fmax(error, fabs((up - down) / (2.0 * h) - gradient[k]));
            }
            assert_true(error < 1e-6 * fmax(largest, 1e-3));
        }
        gp_destroy(g);
    }
}

static void test_prediction_gradient(void **state)
{
    static dataset s;
    make_data(&s, 30, 4, 3);
    for (size_t m = 0; m < 3; m++) {
        gp *g = gp_create(s.d, &models[m]);
        set_hyper(g, 0.4, 1e-3, 0.2, 1.3);
        assert_int_equal(gp_condition(g, s.n, s.u), DS_OK);
        gp_set_targets(g, s.y);
        double mean[16], sd[16], dmean[64], dsd[64];
        gp_predict(g, 16, s.t, mean, sd, dmean, dsd);
        for (size_t i = 0; i < 16; i++) {
            for (size_t k = 0; k < 4; k++) {
                double p[4], m1, s1, m2, s2, h = 1e-5;
                memcpy(p, s.t + i * 4, sizeof(p));
                p[k] += h;
                gp_predict(g, 1, p, &m1, &s1, NULL, NULL);
                p[k] -= 2.0 * h;
                gp_predict(g, 1, p, &m2, &s2, NULL, NULL);
                assert_close(dmean[i * 4 + k], (m1 - m2) / (2.0 * h), 1e-6);
                assert_close(dsd[i * 4 + k], (s1 - s2) / (2.0 * h), 1e-6);
            }
        }
        gp_destroy(g);
    }
}

static void test_interpolation_and_prior(void **state)
{
    static dataset s;
    make_data(&s, 12, 2, 4);
    for (size_t m = 0; m < 4; m++) {
        gp *g = gp_create(s.d, &models[m]);
        double variance = m < 2 ? 1.0 : 1.7, mean[16], sd[16];
        set_hyper(g, 0.3, 1e-10, 0.1, variance);
        assert_int_equal(gp_condition(g, s.n, s.u), DS_OK);
        gp_set_targets(g, s.y);
        gp_predict(g, s.n, s.u, mean, sd, NULL, NULL);
        for (size_t i = 0; i < s.n; i++) {
            assert_close(mean[i], s.y[i], 1e-6);
            assert_true(sd[i] < 1e-4);
        }
        gp_predict(g, 16, s.t, mean, sd, NULL, NULL);
        for (size_t i = 0; i < 16; i++) {
            assert_true(sd[i] * sd[i] <= variance * (1.0 + 1e-12));
        }
        set_hyper(g, 0.001, 1e-2, 0.1, variance); /* all points are far apart */
        double far[2] = {0.5 * (s.u[0] + s.u[2]), 0.987654};
        assert_int_equal(gp_condition(g, s.n, s.u), DS_OK);
        gp_set_targets(g, s.y);
        gp_predict(g, 1, far, mean, sd, NULL, NULL);
        assert_close(mean[0], 0.1, 1e-12);
        assert_close(sd[0] * sd[0], variance, 1e-12);
        gp_destroy(g);
    }
}

static void test_one_datum(void **state)
{
    double zero = 0.0, one = 1.0, mean, sd;
    gp *g = gp_create(1, &models[0]);
    set_hyper(g, 1.0, 0.0, 0.0, 1.0);
    assert_int_equal(gp_condition(g, 1, &zero), DS_OK);
    gp_set_targets(g, &one);
    gp_predict(g, 1, &one, &mean, &sd, NULL, NULL);
    assert_close(mean, exp(-0.5), 1e-14);
    assert_close(sd * sd, 1.0 - exp(-1.0), 1e-14);
    gp_destroy(g);
    g = gp_create(1, &models[1]);
    set_hyper(g, 1.0, 0.0, 0.0, 1.0);
    assert_int_equal(gp_condition(g, 1, &zero), DS_OK);
    gp_set_targets(g, &one);
    gp_predict(g, 1, &one, &mean, &sd, NULL, NULL);
    assert_close(mean, 0.52399411, 1e-8);
    gp_destroy(g);
}

/* A factor extended by 100 points equals one computed at once; the likelihood is the product of the densities
 * of each target given the earlier ones. */
static void test_append(void **state)
{
    static dataset s;
    make_data(&s, 120, 3, 5);
    for (size_t m = 0; m < 3; m++) {
        gp *grown = gp_create(s.d, &models[m]), *batch = gp_create(s.d, &models[m]);
        set_hyper(grown, 0.5, 1e-3, 0.3, 1.0);
        set_hyper(batch, 0.5, 1e-3, 0.3, 1.0);
        double total = 0.0;
        assert_int_equal(gp_condition(grown, 20, s.u), DS_OK);
        gp_set_targets(grown, s.y);
        total = gp_log_likelihood(grown);
        for (size_t i = 20; i < s.n; i++) {
            double mean, sd;
            gp_predict(grown, 1, s.u + i * 3, &mean, &sd, NULL, NULL);
            double var = sd * sd + 1e-3, diff = s.y[i] - mean;
            total += -0.5 * diff * diff / var - 0.5 * log(2.0 * 3.14159265358979323846 * var);
            assert_int_equal(gp_append(grown, s.u + i * 3), DS_OK);
            gp_set_targets(grown, s.y);
        }
        assert_int_equal(gp_condition(batch, s.n, s.u), DS_OK);
        gp_set_targets(batch, s.y);
        for (size_t j = 0; j < s.n; j++) {
            for (size_t i = 0; i <= j; i++) {
                assert_close(grown->factor[i + j * grown->capacity], batch->factor[i + j * batch->capacity],
                             1e-9);
            }
        }
        assert_close(total, gp_log_likelihood(batch), 1e-8);
        gp_destroy(grown);
        gp_destroy(batch);
    }
}

/* Leave-one-out: mean_{-i} = y_i - a_i / (K^{-1})_ii, var_{-i} = 1 / (K^{-1})_ii (Rasmussen, Williams,
 * eq. 5.12). */
static void test_leave_one_out(void **state)
{
    static dataset s, less;
    make_data(&s, 15, 2, 6);
    gp *g = gp_create(2, &models[1]), *without = gp_create(2, &models[1]);
    set_hyper(g, 0.5, 1e-2, 0.2, 1.0);
    set_hyper(without, 0.5, 1e-2, 0.2, 1.0);
    gp_condition(g, s.n, s.u);
    gp_set_targets(g, s.y);
    for (size_t i = 0; i < s.n; i++) {
        double unit[15] = {0}, a = g->weight[i], mean, sd;
        less = s;
        memmove(less.u + 2 * i, less.u + 2 * (i + 1), (s.n - 1 - i) * 2 * sizeof(double));
        memmove(less.y + i, less.y + i + 1, (s.n - 1 - i) * sizeof(double));
        gp_condition(without, s.n - 1, less.u);
        gp_set_targets(without, less.y);
        gp_predict(without, 1, s.u + 2 * i, &mean, &sd, NULL, NULL);
        for (size_t j = 0; j < s.n; j++) {
            unit[j] = g->hyper.mean + (i == j ? 1.0 : 0.0);
        }
        gp_set_targets(g, unit); /* the weights are then column i of the inverse */
        double inverse = g->weight[i];
        gp_set_targets(g, s.y);
        assert_close(mean, s.y[i] - a / inverse, 1e-9);
        assert_close(sd * sd + 1e-2, 1.0 / inverse, 1e-9);
    }
    gp_destroy(g);
    gp_destroy(without);
}

static void test_permutation_and_twins(void **state)
{
    static dataset s, r;
    make_data(&s, 25, 3, 7);
    r = s;
    for (size_t i = 0; i < s.n; i++) {
        memcpy(r.u + 3 * i, s.u + 3 * (s.n - 1 - i), 3 * sizeof(double));
        r.y[i] = s.y[s.n - 1 - i];
    }
    gp *g = gp_create(3, &models[0]), *h = gp_create(3, &models[0]);
    set_hyper(g, 0.5, 1e-2, 0.0, 1.0);
    set_hyper(h, 0.5, 1e-2, 0.0, 1.0);
    double mean[16], sd[16], mean2[16], sd2[16];
    gp_condition(g, s.n, s.u);
    gp_set_targets(g, s.y);
    gp_condition(h, s.n, r.u);
    gp_set_targets(h, r.y);
    gp_predict(g, 16, s.t, mean, sd, NULL, NULL);
    gp_predict(h, 16, s.t, mean2, sd2, NULL, NULL);
    for (size_t i = 0; i < 16; i++) {
        assert_close(mean[i], mean2[i], 1e-10);
        assert_close(sd[i], sd2[i], 1e-10);
    }
    /* two at the same point */
    double twice[6] = {0.3, 0.4, 0.5, 0.3, 0.4, 0.5}, y[2] = {1.0, 0.4}, both = 0.7;
    gp_condition(g, 2, twice);
    gp_set_targets(g, y);
    h->hyper.noise = 0.5e-2;
    gp_condition(h, 1, twice);
    gp_set_targets(h, &both);
    gp_predict(g, 16, s.t, mean, sd, NULL, NULL);
    gp_predict(h, 16, s.t, mean2, sd2, NULL, NULL);
    for (size_t i = 0; i < 16; i++) {
        assert_close(mean[i], mean2[i], 1e-10);
        assert_close(sd[i], sd2[i], 1e-10);
    }
    gp_destroy(g);
    gp_destroy(h);
}

/* Ten equal points without noise: the factor needs jitter, an eleventh point is refused. */
static void test_degenerate(void **state)
{
    gp_model exact = {GP_SE, GP_PRIOR_2024, 1e-12};
    gp *g = gp_create(2, &exact);
    double u[20], y[10], mean, sd;
    for (int i = 0; i < 10; i++) {
        u[2 * i] = 0.4;
        u[2 * i + 1] = 0.6;
        y[i] = 0.5;
    }
    g->hyper.noise = 0.0;
    assert_int_equal(gp_condition(g, 10, u), DS_OK);
    gp_set_targets(g, y);
    gp_predict(g, 1, u, &mean, &sd, NULL, NULL);
    assert_close(mean, 0.5, 1e-6);
    assert_int_equal(gp_condition(g, 1, u), DS_OK);
    assert_int_equal(gp_append(g, u), DS_E_NUMERIC);
    assert_int_equal(g->n, 1);
    gp_destroy(g);
}

static uint32_t stop_now(const void *ctx)
{
    return 1;
}

static void test_stop(void **state)
{
    static dataset s;
    make_data(&s, 20, 2, 8);
    gp *g = gp_create(2, &models[0]);
    ds_random rng = ds_random_open(1, "fit", 0);
    double before[8], after[8];
    gp_get_theta(g, before);
    assert_int_equal(gp_fit(g, s.n, s.u, s.y, 200, &rng, stop_now, NULL), DS_STOPPED);
    gp_get_theta(g, after);
    for (size_t k = 0; k < gp_theta_size(g); k++) {
        assert_close(after[k], before[k], 1e-14);
    }
    gp_destroy(g);
}

/* Modes of the length scale prior of 2024, to the digits of its definition. */
static void test_start_values(void **state)
{
    static const size_t dims[] = {1, 6, 10, 15, 30, 68, 90, 200, 400};
    static const double modes[] = {0.204787, 0.501623, 0.647592, 0.793135, 1.121663,
                                   1.688714, 1.942777, 2.896121, 4.095734};
    for (size_t i = 0; i < 9; i++) {
        gp *g = gp_create(dims[i], &models[0]);
        assert_close(g->hyper.length[0], modes[i], 5e-7);
        assert_close(g->hyper.noise, 0.006737947, 1e-9);
        gp_destroy(g);
    }
}

/* ---- acquisition ---- */

/* ln h at values computed with many digits. */
static void test_log_h(void **state)
{
    static const double z[] = {3, 1, 0, -0.5, -1, -2, -5, -10, -40, -1000};
    static const double expected[] = {1.0987396653,   0.0800262188,  -0.9189385332,  -1.6205162643,
                                      -2.4851210257,  -4.7687835239, -16.7443011627, -55.5531220361,
                                      -808.298568357, -500014.734452};
    for (size_t i = 0; i < 10; i++) {
        double slope;
        double value = acquisition_log_h(z[i], &slope);
        assert_true(fabs(value - expected[i]) < 1e-10 * fmax(1.0, fabs(expected[i])));
        double h = 1e-6 * fmax(1.0, fabs(z[i])), unused;
        double numeric =
            (acquisition_log_h(z[i] + h, &unused) - acquisition_log_h(z[i] - h, &unused)) / (2.0 * h);
        assert_true(fabs(numeric - slope) < 1e-6 * fmax(1.0, fabs(slope)));
    }
    double a, b, unused; /* continuous where the formulas meet */
    for (double at = -1.0; at > -1e7; at = at > -2.0 ? -1e6 : -1e8) {
        a = acquisition_log_h(at * (1.0 + 1e-12), &unused);
        b = acquisition_log_h(at * (1.0 - 1e-12), &unused);
        assert_true(fabs(a - b) < 1e-9 * fabs(a));
    }
    a = acquisition_log_h(-25.0 * sqrt(2.0) * (1.0 + 1e-13), &unused);
    b = acquisition_log_h(-25.0 * sqrt(2.0) * (1.0 - 1e-13), &unused);
    assert_true(fabs(a - b) < 1e-9);
    assert_true(isfinite(acquisition_log_h(-1e100, &unused)) && isfinite(unused));
}

static void test_derivatives(void **state)
{
    ds_random rng = ds_random_open(1, "points", 0);
    for (int kind = ACQUISITION_LCB; kind <= ACQUISITION_LOGEI; kind++) {
        for (int i = 0; i < 200; i++) {
            acquisition a = {kind, 1.5, ds_random_normal(&rng)};
            double mean = 2.0 * ds_random_normal(&rng), sd = exp(ds_random_normal(&rng)), dm, ds, u1, u2,
                   h = 1e-6;
            double value = acquisition_value(&a, mean, sd, &dm, &ds);
            assert_true(kind != ACQUISITION_EI || value <= 0.0);
            double nm = (acquisition_value(&a, mean + h, sd, &u1, &u2) -
                         acquisition_value(&a, mean - h, sd, &u1, &u2));
            double ns = (acquisition_value(&a, mean, sd + h, &u1, &u2) -
                         acquisition_value(&a, mean, sd - h, &u1, &u2));
            assert_true(fabs(nm / (2.0 * h) - dm) < 1e-6 * fmax(1.0, fabs(dm)));
            assert_true(fabs(ns / (2.0 * h) - ds) < 1e-6 * fmax(1.0, fabs(ds)));
        }
    }
}

/* A process on a bowl in two dimensions. */
static gp *bowl(double *u, double *y, size_t n)
{
    static const gp_model model = {GP_SE, GP_PRIOR_2024, 0.0};
    gp *g = gp_create(2, &model);
    ds_random rng = ds_random_open(3, "bowl", 0);
    sobol_points(n, 2, &rng, u);
    for (size_t i = 0; i < n; i++) {
        double a = u[2 * i] - 0.3, b = u[2 * i + 1] - 0.8;
        y[i] = 5.0 * (a * a + b * b) - 1.0;
    }
    g->hyper.length[0] = g->hyper.length[1] = 0.5;
    g->hyper.noise = 1e-4;
    assert_int_equal(gp_condition(g, n, u), DS_OK);
    gp_set_targets(g, y);
    return g;
}

/* LCB without exploration has its minimum at that of the mean; no point of a grid is better. */
static void test_minimise(void **state)
{
    double u[80], y[40], best[2], mean, sd, dm, ds;
    gp *g = bowl(u, y, 40);
    for (int kind = ACQUISITION_LCB; kind <= ACQUISITION_LOGEI; kind++) {
        acquisition a = {kind, kind == ACQUISITION_LCB ? 0.0 : 1.0, -0.9};
        acquisition_search search = {
            .raw = 128, .starts = 5, .max_iterations = 200, .told = u, .told_count = 40};
        ds_random rng = ds_random_open(1, "search", 0);
        assert_int_equal(acquisition_minimise(g, &a, &search, &rng, NULL, NULL, best), DS_OK);
        if (kind == ACQUISITION_LCB) {
            assert_true(fabs(best[0] - 0.3) < 0.02 && fabs(best[1] - 0.8) < 0.02);
        }
        gp_predict(g, 1, best, &mean, &sd, NULL, NULL);
        double found = acquisition_value(&a, mean, sd, &dm, &ds);
        for (int i = 0; i <= 50; i++) {
            for (int j = 0; j <= 50; j++) {
                double p[2] = {i / 50.0, j / 50.0};
                gp_predict(g, 1, p, &mean, &sd, NULL, NULL);
                assert_true(acquisition_value(&a, mean, sd, &dm, &ds) >= found - 1e-7);
            }
        }
    }
    gp_destroy(g);
}

/* The minimiser itself was already evaluated: another point must be returned. Equal seeds give equal results.
 */
static void test_told_points(void **state)
{
    double u[80], y[40], told[2], other[2], again[2];
    gp *g = bowl(u, y, 40);
    acquisition a = {ACQUISITION_LCB, 0.0, 0.0};
    acquisition_search search = {.raw = 64, .starts = 4, .max_iterations = 200, .good = u, .good_count = 2};
    ds_random rng = ds_random_open(1, "search", 0), copy = rng;
    acquisition_minimise(g, &a, &search, &rng, NULL, NULL, told);
    search.told = told;
    search.told_count = 1;
    rng = copy;
    acquisition_minimise(g, &a, &search, &rng, NULL, NULL, other);
    assert_true(fabs(other[0] - told[0]) > 1e-6 || fabs(other[1] - told[1]) > 1e-6);
    rng = copy;
    acquisition_minimise(g, &a, &search, &rng, NULL, NULL, again);
    assert_memory_equal(again, other, sizeof(other));
    gp_destroy(g);
}

/* In every dimension, the first 2^m points have one point in each of the 2^m intervals. */
static void test_sobol(void **state)
{
    static double points[64 * SOBOL_MAX_DIM];
    ds_random rng = ds_random_open(5, "sobol", 0);
    sobol_points(64, SOBOL_MAX_DIM, &rng, points);
    for (size_t k = 0; k < SOBOL_MAX_DIM; k++) {
        int seen[64] = {0};
        for (size_t i = 0; i < 64; i++) {
            double p = points[i * SOBOL_MAX_DIM + k];
            assert_true(p > 0.0 && p < 1.0);
            seen[(int)(64.0 * p)]++;
        }
        for (int i = 0; i < 64; i++) {
            assert_int_equal(seen[i], 1);
        }
    }
    int cells[8][8] = {{0}}; /* dimensions 1 and 2 are a (0, 2)-sequence: also every 8 x 8 box */
    for (size_t i = 0; i < 64; i++) {
        cells[(int)(8.0 * points[i * SOBOL_MAX_DIM])][(int)(8.0 * points[i * SOBOL_MAX_DIM + 1])]++;
    }
    for (int i = 0; i < 64; i++) {
        assert_int_equal(cells[i / 8][i % 8], 1);
    }
    double many[400];
    sobol_points(1, 400, &rng, many);
    for (int k = 0; k < 400; k++) {
        assert_true(many[k] > 0.0 && many[k] < 1.0);
    }
}

/* ---- model of the simulations ---- */

static int polls_left;

static uint32_t should_stop(const ds_host *host)
{
    return polls_left >= 0 && polls_left-- == 0;
}

static void silent(const ds_host *host, uint32_t level, const char *line)
{
}

static const double lower[8] = {0}, upper[8] = {1, 1, 1, 1, 1, 1, 1, 1};
static const ds_host host = {
    .struct_size = sizeof(ds_host), .seed = 3, .log = silent, .should_stop = should_stop};

static surrogate *make(size_t n, const surrogate_options *options)
{
    static ds_problem problem;
    problem =
        (ds_problem){.struct_size = sizeof(problem), .n = n, .lower = lower, .upper = upper, .x0 = lower};
    problem.target = problem.loss_floor = -INFINITY;
    polls_left = -1;
    surrogate *s = surrogate_create(&host, &problem, options);
    assert_non_null(s);
    return s;
}

static const surrogate_options usual = {
    .alpha = 1.0, .raw = 64, .starts = 3, .around_best = 1, .fit_max = 500, .n_max = 2000};

static void add_random(surrogate *s, size_t n, int count, uint64_t stream)
{
    ds_random rng = ds_random_open(1, "points", stream);
    for (int i = 0; i < count; i++) {
        double v[8];
        for (size_t k = 0; k < n; k++) {
            v[k] = 2.0 * ds_random_uniform(&rng) - 1.0;
        }
        double loss = ripples(NULL, n, v, NULL);
        assert_true(surrogate_add(s, 1, v, &loss, i % 10 == 0));
    }
}

static void test_empty(void **state)
{
    surrogate *s = make(3, &usual);
    double a[3], b[3], failed = INFINITY;
    assert_int_equal(surrogate_propose(s, 1, a), DS_OK);
    for (int k = 0; k < 3; k++) {
        assert_true(a[k] > -1.0 && a[k] < 1.0);
    }
    assert_true(
        surrogate_add(s, 1, a, &failed, 1)); /* a failure adds no information: uniform again, but elsewhere */
    assert_int_equal(surrogate_propose(s, 2, b), DS_OK);
    assert_memory_not_equal(a, b, sizeof(a));
    assert_int_equal(surrogate_recorded(s), 1);
    surrogate_destroy(s);
}

static void test_near_points_and_failures(void **state)
{
    for (int worst = 0; worst < 2; worst++) {
        surrogate_options o = usual;
        o.on_failure = worst ? SURROGATE_WORST_FOR_FAILED : SURROGATE_SKIP_FAILED;
        surrogate *s = make(2, &o);
        static const double v[7][2] = {{0, 0},         {1e-9, 0}, {0, 1e-9}, {0.5, 0.5},
                                       {0.5, 0.50001}, {-0.7, 0}, {0.7, 0}};
        static const double loss[7] = {2.0, 2.5, 1.0, 3.0, 3.0, INFINITY, 1e9};
        assert_true(surrogate_add(s, 7, v[0], loss, 0));
        double proposal[2];
        assert_int_equal(surrogate_propose(s, 1, proposal), DS_OK);
        /* left out: the second (near the first, no new best), the fifth; the third was a new best */
        assert_int_equal(surrogate_recorded(s), 7);
        assert_int_equal(surrogate_size(s), worst ? 5 : 4);
        assert_true(fabs(proposal[0]) <= 1.0 && fabs(proposal[1]) <= 1.0);
        surrogate_destroy(s);
    }
}

static void test_limits(void **state)
{
    surrogate_options o = usual;
    o.n_max = 60;
    o.fit_max = 30;
    surrogate *s = make(4, &o);
    double v[4];
    for (int i = 0; i < 5; i++) {
        add_random(s, 4, 40, (uint64_t)i);
        assert_int_equal(surrogate_propose(s, (uint64_t)i + 1, v), DS_OK);
        assert_int_equal(surrogate_recorded(s), 40 * (i + 1));
        assert_int_equal(surrogate_size(s), i == 0 ? 40 : 60);
    }
    surrogate_destroy(s);
}

/* Above 200 points some proposals extend the factor instead of fitting again; no point is lost. */
static void test_growth(void **state)
{
    surrogate *s = make(5, &usual);
    double v[5];
    add_random(s, 5, 230, 0);
    assert_int_equal(surrogate_propose(s, 1, v), DS_OK);
    for (int i = 1; i <= 4; i++) {
        add_random(s, 5, 7, (uint64_t)i);
        assert_int_equal(surrogate_propose(s, (uint64_t)i + 1, v), DS_OK);
        assert_int_equal(surrogate_size(s), 230 + 7 * i);
    }
    surrogate_destroy(s);
}

/* The losses are standardised: an affine change of them changes proposals only by rounding. */
static void test_affine_losses(void **state)
{
    surrogate *s = make(3, &usual), *t = make(3, &usual);
    ds_random rng = ds_random_open(4, "points", 0);
    for (int i = 0; i < 30; i++) {
        double v[3];
        for (int k = 0; k < 3; k++) {
            v[k] = 2.0 * ds_random_uniform(&rng) - 1.0;
        }
        double loss = sphere(NULL, 3, v, NULL), other = 1e6 + 1e3 * loss;
        surrogate_add(s, 1, v, &loss, 0);
        surrogate_add(t, 1, v, &other, 0);
    }
    double a[3], b[3];
    assert_int_equal(surrogate_propose(s, 1, a), DS_OK);
    assert_int_equal(surrogate_propose(t, 1, b), DS_OK);
    for (int k = 0; k < 3; k++) {
        assert_true(fabs(a[k] - b[k]) < 1e-3);
        assert_true(fabs(a[k]) < 0.3); /* it found the bowl */
    }
    surrogate_destroy(s);
    surrogate_destroy(t);
}

/* A running search counts as if it had been simulated: the next one begins elsewhere. Afterwards the model
 * has no trace of it. */
static void test_searches_in_progress(void **state)
{
    surrogate *s = make(3, &usual), *t = make(3, &usual);
    double a[3], b[3], bad = 1e3, distance = 0.0;
    add_random(s, 3, 40, 0);
    add_random(t, 3, 40, 0);
    assert_int_equal(surrogate_propose(t, 1, a), DS_OK);
    assert_int_equal(surrogate_propose_beside(s, 1, 1, a, &bad, b), DS_OK);
    for (int k = 0; k < 3; k++) {
        distance = fmax(distance, fabs(a[k] - b[k]));
    }
    assert_true(distance > 0.05);
    assert_int_equal(surrogate_size(s), surrogate_size(t));
    assert_int_equal(surrogate_propose(s, 2, a), DS_OK);
    assert_int_equal(surrogate_propose(t, 2, b), DS_OK);
    assert_memory_equal(a, b, sizeof(a));
    surrogate_destroy(s);
    surrogate_destroy(t);
}

/* Four searches that have just begun, with unknown losses, also begin apart. */
static void test_searches_just_begun(void **state)
{
    surrogate *s = make(3, &usual), *t = make(3, &usual);
    double begun[12], again[3], last[3];
    const double unknown[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
    add_random(s, 3, 40, 0);
    add_random(t, 3, 40, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(surrogate_propose_beside(s, 1, i, begun, unknown, begun + 3 * i), DS_OK);
        for (size_t j = 0; j < i; j++) {
            double distance = 0.0;
            for (size_t k = 0; k < 3; k++) {
                distance = fmax(distance, fabs(begun[3 * i + k] - begun[3 * j + k]));
            }
            print_message("# starts %zu and %zu are %.3g apart\n", j, i, distance);
            assert_true(distance > 0.02);
        }
    }
    assert_int_equal(surrogate_recorded(s), 40);
    assert_int_equal(surrogate_size(s), 40);
    assert_int_equal(surrogate_propose(s, 2, again), DS_OK);
    assert_int_equal(surrogate_propose(t, 2, last), DS_OK);
    assert_memory_equal(again, last, sizeof again);
    surrogate_destroy(s);
    surrogate_destroy(t);
}

/* A stop request at any moment of a proposal ends it; repeated, it succeeds. */
static void test_stop_surrogate(void **state)
{
    surrogate *s = make(4, &usual);
    double v[4];
    add_random(s, 4, 60, 0);
    for (int after = 0; after < 12; after++) {
        polls_left = after;
        assert_int_equal(surrogate_propose(s, 1, v), DS_STOPPED);
    }
    polls_left = -1;
    assert_int_equal(surrogate_propose(s, 1, v), DS_OK);
    surrogate_destroy(s);
}

/* Constant losses, enormous ones, and a single one. */
static void test_odd_losses(void **state)
{
    for (int kind = 0; kind < 4; kind++) {
        surrogate *s = make(2, &usual);
        for (int i = 0; i < (kind == 3 ? 1 : 20); i++) {
            double v[2] = {0.05 * i - 0.5, 0.3 * sin(i)}, loss = 7.0;
            loss = kind == 1 ? (i % 2 ? 1e307 : -1e307) : (kind == 2 ? (i == 9 ? 1e300 : 1e-300 * i) : loss);
            assert_true(surrogate_add(s, 1, v, &loss, 0));
        }
        for (uint64_t trial = 1; trial < 4; trial++) {
            double v[2];
            assert_int_equal(surrogate_propose(s, trial, v), DS_OK);
            assert_true(fabs(v[0]) <= 1.0 && fabs(v[1]) <= 1.0);
        }
        surrogate_destroy(s);
    }
}

/* Kernels agree with the C library, for numbers of points that fill vectors and that do not, and have the
 * same bits with every instruction set, with and without slopes. */
static void test_kernel_values(void **state)
{
    enum { MOST = 700, SETS = 3 };
    static const char *const names[SETS] = {"baseline", "avx2", "avx512"};
    static double r2[MOST], k[SETS][MOST], h[SETS][MOST], alone[MOST];
    ds_random rng = ds_random_open(3, "kernel", 0);
    for (size_t i = 0; i < MOST; i++) {
        r2[i] = i % 50 == 7 ? -1e-15 : (i % 50 == 8 ? 1e7 : exp(4.0 * ds_random_normal(&rng)));
    }
    for (int kernel = GP_SE; kernel <= GP_MATERN52; kernel++) {
        for (size_t count = 1; count <= MOST; count = count < 20 ? count + 1 : 2 * count + 7) {
            for (int set = 0; set < SETS; set++) {
                kernel_set(names[set]);
                memcpy(k[set], r2, sizeof r2);
                memcpy(alone, r2, sizeof r2);
                kernel_values(kernel, 1.5, count, k[set], h[set]);
                kernel_values(kernel, 1.5, count, alone, NULL);
                assert_memory_equal(alone, k[set], sizeof alone);
                assert_memory_equal(k[set], k[0], sizeof *k);
                assert_memory_equal(h[set], h[0], count * sizeof **h);
            }
            for (size_t i = 0; i < count; i++) {
                const double q = sqrt(5.0 * fmax(r2[i], 0.0)), e = 1.5 * exp(-q);
                const double wanted =
                    kernel == GP_SE ? 1.5 * exp(-0.5 * fmax(r2[i], 0.0)) : (1 + q + q * q / 3) * e;
                const double slope = kernel == GP_SE ? wanted : 5.0 / 3.0 * (1 + q) * e;
                assert_true(fabs(k[0][i] - wanted) <= 1e-14 * wanted + 1e-300);
                assert_true(fabs(h[0][i] - slope) <= 1e-14 * slope + 1e-300);
            }
        }
    }
    kernel_set(NULL);
}

RUN_TESTS(test_kernel_values, test_recorded_values, test_recorded_fits, test_objective_gradient,
          test_prediction_gradient, test_interpolation_and_prior, test_one_datum, test_append,
          test_leave_one_out, test_permutation_and_twins, test_degenerate, test_stop, test_start_values,
          test_log_h, test_derivatives, test_minimise, test_told_points, test_sobol, test_empty,
          test_near_points_and_failures, test_limits, test_growth, test_stop_surrogate, test_affine_losses,
          test_odd_losses, test_searches_in_progress, test_searches_just_begun)
