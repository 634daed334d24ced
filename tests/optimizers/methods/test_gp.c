/* SPDX-License-Identifier: Apache-2.0 */
/* test_gp.c - the Gaussian process against recorded values of BoTorch and against identities that
 * exact inference fulfils. */
#include "golden.h"

#include "methods/bayes/acquisition.h"
#include "methods/bayes/gp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

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

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * fmax(1.0, fabs(b)))) {
        fail_msg("%.17g and %.17g differ by more than %g", a, b, tolerance);
    }
}

/* ---- recorded values
 * ------------------------------------------------------------------------------------------- */

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
    assert_near(best, golden_number(item, "best_f"), 1e-12);
    acquisition lcb = {ACQUISITION_LCB, 1.0, best}, ei = {ACQUISITION_EI, 1.0, best};
    acquisition log_ei = {ACQUISITION_LOGEI, 1.0, best};
    for (size_t i = 0; i < count; i++) {
        const json_t *t = json_array_get(list, i);
        double dm, ds;
        assert_near(mean[i], golden_number(t, "mean"), tolerance);
        assert_near(sd[i] * sd[i], golden_number(t, "var"), tolerance);
        assert_near(acquisition_value(&lcb, mean[i], sd[i], &dm, &ds), golden_number(t, "lcb"), tolerance);
        golden_array(t, "lcb_grad", expected);
        for (size_t k = 0; k < d; k++) {
            assert_near(dm * dmean[i * d + k] + ds * dsd[i * d + k], expected[k], tolerance);
        }
        double recorded = golden_number(t, "ei");
        if (recorded > 1e-250) {
            assert_near(-acquisition_value(&ei, mean[i], sd[i], &dm, &ds), recorded, tolerance);
        }
        recorded = golden_number(t, "log_ei");
        assert_near(-acquisition_value(&log_ei, mean[i], sd[i], &dm, &ds), recorded,
                    fmax(1e-9, 10.0 * tolerance));
        golden_array(t, "log_ei_grad", expected);
        for (size_t k = 0; k < d; k++) {
            assert_near(-(dm * dmean[i * d + k] + ds * dsd[i * d + k]), expected[k],
                        fmax(1e-8, 100.0 * tolerance));
        }
    }
}

static void test_recorded_values(void **state)
{
    (void)state;
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
        assert_near(value, golden_number(item, "F_sheet"), tolerance);
        const json_t *slopes = json_object_get(item, "grad_F");
        golden_array(slopes, "ln_l", expected);
        for (size_t k = 0; k < s.d; k++) {
            assert_near(gradient[k], expected[k], tolerance);
        }
        assert_near(gradient[s.d], golden_number(slopes, "ln_noise"), tolerance);
        assert_near(gradient[s.d + 1], golden_number(slopes, "c"), tolerance);
        if (g->model.prior == GP_PRIOR_2022) {
            assert_near(gradient[s.d + 2], golden_number(slopes, "ln_s2"), tolerance);
        }
        assert_int_equal(gp_condition(g, s.n, s.u), DS_OK);
        gp_set_targets(g, s.y);
        assert_near(gp_log_likelihood(g), golden_number(item, "log_marginal_likelihood"), tolerance);
        compare_predictions(item, g, &s, tolerance);
        gp_destroy(g);
    }
    json_decref(root);
}

static void test_recorded_fits(void **state)
{
    (void)state;
    json_t *root = golden_or_skip("optimizers/gp.json");
    const json_t *list = golden_list(root, "fitted");
    static dataset s;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        load_dataset(root, golden_text(item, "data"), &s);
        gp *g = gp_create(s.d, model_named(golden_text(item, "model")));
        double theta[MAX_D + 3], gradient[MAX_D + 3];
        gp_get_theta(g, theta);
        assert_near(gp_objective(g, s.n, s.u, s.y, theta, gradient), golden_number(item, "F_sheet_at_start"),
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

/* ---- identities
 * ------------------------------------------------------------------------------------------------ */

static void test_objective_gradient(void **state)
{
    (void)state;
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
    (void)state;
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
                assert_near(dmean[i * 4 + k], (m1 - m2) / (2.0 * h), 1e-6);
                assert_near(dsd[i * 4 + k], (s1 - s2) / (2.0 * h), 1e-6);
            }
        }
        gp_destroy(g);
    }
}

static void test_interpolation_and_prior(void **state)
{
    (void)state;
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
            assert_near(mean[i], s.y[i], 1e-6);
            assert_true(sd[i] < 1e-4);
        }
        gp_predict(g, 16, s.t, mean, sd, NULL, NULL);
        for (size_t i = 0; i < 16; i++) {
            assert_true(sd[i] * sd[i] <= variance * (1.0 + 1e-12));
        }
        set_hyper(g, 0.001, 1e-2, 0.1, variance); /* everything is far from everything */
        double far[2] = {0.5 * (s.u[0] + s.u[2]), 0.987654};
        assert_int_equal(gp_condition(g, s.n, s.u), DS_OK);
        gp_set_targets(g, s.y);
        gp_predict(g, 1, far, mean, sd, NULL, NULL);
        assert_near(mean[0], 0.1, 1e-12);
        assert_near(sd[0] * sd[0], variance, 1e-12);
        gp_destroy(g);
    }
}

static void test_one_datum(void **state)
{
    (void)state;
    double zero = 0.0, one = 1.0, mean, sd;
    gp *g = gp_create(1, &models[0]);
    set_hyper(g, 1.0, 0.0, 0.0, 1.0);
    assert_int_equal(gp_condition(g, 1, &zero), DS_OK);
    gp_set_targets(g, &one);
    gp_predict(g, 1, &one, &mean, &sd, NULL, NULL);
    assert_near(mean, exp(-0.5), 1e-14);
    assert_near(sd * sd, 1.0 - exp(-1.0), 1e-14);
    gp_destroy(g);
    g = gp_create(1, &models[1]);
    set_hyper(g, 1.0, 0.0, 0.0, 1.0);
    assert_int_equal(gp_condition(g, 1, &zero), DS_OK);
    gp_set_targets(g, &one);
    gp_predict(g, 1, &one, &mean, &sd, NULL, NULL);
    assert_near(mean, 0.52399411, 1e-8);
    gp_destroy(g);
}

/* A factor that grew by 100 points equals the one made at once; the likelihood is the product of the
 * densities of each target given those before it. */
static void test_append(void **state)
{
    (void)state;
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
                assert_near(grown->factor[i + j * grown->capacity], batch->factor[i + j * batch->capacity],
                            1e-9);
            }
        }
        assert_near(total, gp_log_likelihood(batch), 1e-8);
        gp_destroy(grown);
        gp_destroy(batch);
    }
}

/* Leave-one-out: mean_{-i} = y_i - a_i / (K^{-1})_ii, var_{-i} = 1 / (K^{-1})_ii (Rasmussen, Williams,
 * eq. 5.12). */
static void test_leave_one_out(void **state)
{
    (void)state;
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
        assert_near(mean, s.y[i] - a / inverse, 1e-9);
        assert_near(sd * sd + 1e-2, 1.0 / inverse, 1e-9);
    }
    gp_destroy(g);
    gp_destroy(without);
}

static void test_permutation_and_twins(void **state)
{
    (void)state;
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
        assert_near(mean[i], mean2[i], 1e-10);
        assert_near(sd[i], sd2[i], 1e-10);
    }
    double twice[6] = {0.3, 0.4, 0.5, 0.3, 0.4, 0.5}, y[2] = {1.0, 0.4}, both = 0.7; /* two at one place */
    gp_condition(g, 2, twice);
    gp_set_targets(g, y);
    h->hyper.noise = 0.5e-2;
    gp_condition(h, 1, twice);
    gp_set_targets(h, &both);
    gp_predict(g, 16, s.t, mean, sd, NULL, NULL);
    gp_predict(h, 16, s.t, mean2, sd2, NULL, NULL);
    for (size_t i = 0; i < 16; i++) {
        assert_near(mean[i], mean2[i], 1e-10);
        assert_near(sd[i], sd2[i], 1e-10);
    }
    gp_destroy(g);
    gp_destroy(h);
}

/* Ten points in one place without noise: the factor needs jitter, an eleventh is refused. */
static void test_degenerate(void **state)
{
    (void)state;
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
    assert_near(mean, 0.5, 1e-6);
    assert_int_equal(gp_condition(g, 1, u), DS_OK);
    assert_int_equal(gp_append(g, u), DS_E_NUMERIC);
    assert_int_equal(g->n, 1);
    gp_destroy(g);
}

static uint32_t stop_now(const void *ctx)
{
    (void)ctx;
    return 1;
}

static void test_stop(void **state)
{
    (void)state;
    static dataset s;
    make_data(&s, 20, 2, 8);
    gp *g = gp_create(2, &models[0]);
    ds_random rng = ds_random_open(1, "fit", 0);
    double before[8], after[8];
    gp_get_theta(g, before);
    assert_int_equal(gp_fit(g, s.n, s.u, s.y, 200, &rng, stop_now, NULL), DS_STOPPED);
    gp_get_theta(g, after);
    for (size_t k = 0; k < gp_theta_size(g); k++) {
        assert_near(after[k], before[k], 1e-14);
    }
    gp_destroy(g);
}

/* Modes of the length scale prior of 2024, to the digits of its definition. */
static void test_start_values(void **state)
{
    (void)state;
    static const size_t dims[] = {1, 6, 10, 15, 30, 68, 90, 200, 400};
    static const double modes[] = {0.204787, 0.501623, 0.647592, 0.793135, 1.121663,
                                   1.688714, 1.942777, 2.896121, 4.095734};
    for (size_t i = 0; i < 9; i++) {
        gp *g = gp_create(dims[i], &models[0]);
        assert_near(g->hyper.length[0], modes[i], 5e-7);
        assert_near(g->hyper.noise, 0.006737947, 1e-9);
        gp_destroy(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_values),
        cmocka_unit_test(test_recorded_fits),
        cmocka_unit_test(test_objective_gradient),
        cmocka_unit_test(test_prediction_gradient),
        cmocka_unit_test(test_interpolation_and_prior),
        cmocka_unit_test(test_one_datum),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_leave_one_out),
        cmocka_unit_test(test_permutation_and_twins),
        cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_start_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
