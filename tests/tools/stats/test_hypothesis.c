/* SPDX-License-Identifier: Apache-2.0 */
/* test_hypothesis.c - intervals, rank tests, scores and running times against values of SciPy 1.x on the same
 * samples, and against results that can be counted by hand. */
#include "stats/aggregate.h"
#include "stats/hypothesis.h"
#include "stats/sample.h"
#include "test.h"

static const double x[10] = {0.31, 1.42, 0.77, 2.05, 1.11, 0.58, 3.4, 0.92, 1.63, 0.49};
static const double y[10] = {1.9, 2.2, 0.81, 3.1, 2.75, 1.05, 4.2, 1.77, 2.6, 0.66};

static void close_to(double value, double want, double relative)
{
    if (!(fabs(value - want) <= relative * fabs(want))) {
        fail_msg("%.17g, not %.17g", value, want);
    }
}

#define same(value, want) close_to(value, want, 1e-9)

static void distributions(void **state)
{
    same(ds_student_quantile(0.95, 9), 1.833112932656237);
    same(ds_student_quantile(0.975, 9), 2.262157162798205);
    same(ds_student_quantile(0.999, 2.5), 13.82219311086596);
    same(ds_student_quantile(1e-6, 4), -41.577854150450975);
    same(ds_student_cdf(1.3, 7), 0.8826160823038114);
    same(ds_student_cdf(-25, 3), 7.016569497877428e-05);
    same(ds_normal_quantile(0.025), -1.9599639845400545);
    same(ds_normal_quantile(1e-10), -6.361340902404056);
    same(ds_normal_quantile(0.7), 0.5244005127080407);
    same(ds_normal_cdf(-8), 6.22096057427174e-16);
    same(ds_beta_regular(2.5, 4, 0.3), 0.3521975859067672);
    same(ds_beta_regular(0.5, 0.5, 0.9), 0.7951672353008665);
    assert_true(fabs(ds_normal_quantile(0.5)) < 1e-15 && isinf(ds_normal_quantile(1)) &&
                isnan(ds_student_quantile(1.5, 3)));
    for (double p = 0.01; p < 1; p += 0.07) {
        same(ds_student_cdf(ds_student_quantile(p, 3.3), 3.3), p);
        same(ds_normal_cdf(ds_normal_quantile(p)), p);
    }
}

static void samples(void **state)
{
    double sorted[40];
    memcpy(sorted, x, sizeof x);
    ds_sample_sort(sorted, 10);
    same(ds_sample_mean(x, 10), 1.268);
    same(ds_sample_sd(x, 10), 0.9250561544516575);
    same(ds_sorted_quantile(sorted, 10, 0.5), 1.015);
    same(ds_sorted_quantile(sorted, 10, 0.25), 0.6275);
    same(ds_sorted_quantile(sorted, 10, 0.9), 2.185);
    same(ds_sorted_trimmed_mean(sorted, 10, 0.25), 1.0716666666666665);
    ds_interval t = ds_student_interval(x, 10, 0.9);
    same(t.low, 0.7317623313354817);
    same(t.high, 1.8042376686645176);
    t = ds_student_interval(x, 10, 0.95);
    same(t.low, 0.6062546915023409);
    same(t.high, 1.9297453084976586);
    for (int i = 0; i < 40; i++) {
        sorted[i] = i + 1;
    }
    same(ds_sorted_trimmed_mean(sorted, 40, 0.25), 20.5);
    t = ds_student_interval(sorted, 10, 0.9);
    close_to(0.5 * (t.high - t.low), 1.7551, 3e-5);
    t = ds_student_interval(sorted, 10, 0.95);
    close_to(0.5 * (t.high - t.low), 2.1659, 3e-5);
    close_to(ds_sample_sd(sorted, 10), 3.02765, 2e-6);
    /* A run without a valid loss. */
    const double failed[3] = {1, 2, INFINITY};
    assert_true(isinf(ds_sample_mean(failed, 3)) && ds_sorted_quantile(failed, 3, 0.5) == 2);
    assert_true(isinf(ds_sorted_quantile(failed, 3, 1)) && isinf(ds_student_interval(failed, 3, 0.9).high));
    assert_true(isnan(ds_sample_mean(x, 0)));
    /* One value has no spread. */
    t = ds_student_interval(x, 1, 0.9);
    assert_true(isnan(t.low) && isnan(t.high) && isnan(ds_sample_sd(x, 1)));
}

static void bootstrap(void **state)
{
    /* Means of 40 resamples of x, drawn by SciPy, and its intervals from them. */
    static const double drawn[40] = {1.518, 1.081, 1.148, 1.164,
                                     1.311, 1.244, 1.112, 1.664,
                                     1.191, 1.053, 1.924, 1.273,
                                     1.66,  0.904, 1.452, 1.2009999999999998,
                                     1.017, 1.055, 0.97,  0.947,
                                     1.208, 1.526, 0.878, 1.487,
                                     1.016, 1.386, 1.028, 0.9469999999999998,
                                     1.102, 0.698, 1.883, 1.267,
                                     1.272, 1.412, 1.367, 1.637,
                                     1.289, 0.746, 0.953, 1.188};
    double value[1000], again[1000], scratch[20];
    memcpy(value, drawn, sizeof drawn);
    ds_interval i = ds_percentile_interval(value, 40, 0.9);
    same(i.low, 0.8714);
    same(i.high, 1.67495);
    memcpy(value, drawn, sizeof drawn);
    i = ds_bca_interval(x, 10, ds_statistic_mean, scratch, value, 40, 0.9);
    same(i.low, 0.9528798742217804);
    same(i.high, 1.9115964219144213);
    /* The same seed draws the same, another seed does not; the interval covers what it should. */
    ds_bootstrap(x, 10, ds_statistic_mean, 3, scratch, value, 1000);
    ds_bootstrap(x, 10, ds_statistic_mean, 3, scratch, again, 1000);
    assert_memory_equal(value, again, sizeof value);
    ds_bootstrap(x, 10, ds_statistic_mean, 4, scratch, again, 1000);
    assert_memory_not_equal(value, again, sizeof value);
    close_to(ds_sample_mean(value, 1000), 1.268, 0.02);
    close_to(ds_sample_sd(value, 1000), 0.9250561544516575 * sqrt(0.9) / sqrt(10), 0.08);
    ds_bootstrap(x, 10, ds_statistic_median, 3, scratch, value, 1000);
    i = ds_percentile_interval(value, 1000, 0.95);
    assert_true(i.low < 1.015 && i.low > 0.31 && i.high > 1.015 && i.high < 3.4);
    ds_bootstrap(x, 1, ds_statistic_mean, 3, scratch, value, 1000);
    i = ds_bca_interval(x, 1, ds_statistic_mean, scratch, value, 1000, 0.95);
    assert_true(isnan(i.low) && isnan(i.high));
    const double constant[5] = {2, 2, 2, 2, 2};
    ds_bootstrap(constant, 5, ds_statistic_mean, 3, scratch, value, 100);
    i = ds_bca_interval(constant, 5, ds_statistic_mean, scratch, value, 100, 0.9);
    assert_true(i.low == 2 && i.high == 2);
}

static void rank_tests(void **state)
{
    ds_mann_whitney t = ds_mann_whitney_test(x, 10, y, 10);
    assert_true(t.exact && t.u == 74);
    same(t.p, 0.07525601333650869);
    same(t.a12, 0.74);
    t = ds_mann_whitney_test(y, 10, x, 10);
    same(t.p, 0.07525601333650869);
    same(t.a12, 0.26);
    const double low[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const double high[10] = {11, 12, 13, 14, 15, 16, 17, 18, 19, INFINITY};
    t = ds_mann_whitney_test(low, 10, high, 10);
    close_to(t.p, 1.0825e-5, 1e-4);
    assert_true(t.a12 == 1);
    /* Ties, samples of unequal size: against all 24310 permutations. */
    const double xt[8] = {1, 2, 2, 3, 5, 5, 5, 8}, yt[9] = {2, 4, 5, 6, 7, 8, 8, 9, 10};
    t = ds_mann_whitney_test(xt, 8, yt, 9);
    assert_true(t.exact && t.u == 72 - 15.5);
    same(t.p, 0.04779925956396545);
    same(ds_mann_whitney_test(yt, 9, xt, 8).p, 0.04779925956396545);
    t = ds_mann_whitney_test(low, 10, low, 10);
    assert_true(t.p == 1 && t.a12 == 0.5);
    /* Large samples with ties: the normal approximation. */
    double u[120], v[100];
    for (int i = 0; i < 120; i++) {
        u[i] = round(10 * (sin((i + 1) * 1.7) + 0.1)) / 10;
        v[i < 100 ? i : 99] = i < 100 ? round(10 * cos((i + 1) * 2.3)) / 10 : v[99];
    }
    t = ds_mann_whitney_test(u, 120, v, 100);
    assert_true(!t.exact && t.u == 12000 - 6705.5);
    same(t.p, 0.13310727846838408);
    assert_true(isnan(ds_mann_whitney_test(x, 0, y, 3).p));

    ds_wilcoxon w = ds_wilcoxon_test(x, y, 10);
    assert_true(w.pairs == 10 && w.w == 0);
    same(w.p, 0.001953125);
    const double a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[8] = {0, 1, 3, 2, 3, 9, 1, 3};
    w = ds_wilcoxon_test(a, b, 8);
    assert_true(w.pairs == 7 && w.w == 5.0);
    same(w.p, 0.171875);
    assert_true(ds_wilcoxon_test(a, a, 8).p == 1);

    double p[4] = {0.01, 0.04, 0.03, 0.005};
    const double adjusted[4] = {0.03, 0.06, 0.06, 0.02};
    ds_holm(p, 4);
    for (int i = 0; i < 4; i++) {
        same(p[i], adjusted[i]);
    }
    double rank[8];
    ds_ranks(xt, 8, rank);
    assert_true(rank[0] == 1 && rank[1] == 2.5 && rank[2] == 2.5 && rank[4] == 6 && rank[7] == 8);
}

static void scores(void **state)
{
    assert_true(ds_normal_score(10, 10, 2) == 0 && ds_normal_score(2, 10, 2) == 1 &&
                ds_normal_score(6, 10, 2) == 0.5);
    assert_true(ds_normal_score(INFINITY, -INFINITY, INFINITY) == 0 && ds_normal_score(INFINITY, 3, 3) == 0);
    assert_true(ds_normal_score(INFINITY, 10, 2) == 0 && ds_normal_score(3, 3, 3) == 1 &&
                ds_normal_score(14, 10, 2) == -0.5);
    double value[40];
    for (int i = 0; i < 40; i++) {
        value[i] = i + 1;
    }
    /* Four tasks of ten runs: 1..40. */
    const ds_runs task[4] = {{value, 10}, {value + 10, 10}, {value + 20, 10}, {value + 30, 10}};
    double mean;
    ds_interval i, j;
    assert_int_equal(ds_interquartile_mean(task, 4, 2000, 1, 0.95, &mean, &i), 0);
    same(mean, 20.5);
    assert_true(i.low < 20.5 && i.low > 18 && i.high > 20.5 && i.high < 23);
    assert_int_equal(ds_interquartile_mean(task, 4, 2000, 1, 0.95, &mean, &j), 0);
    assert_true(i.low == j.low && i.high == j.high);
    const ds_runs better[2] = {{x, 10}, {x, 10}}, worse[2] = {{y, 10}, {x, 10}};
    double p;
    ds_probability_of_improvement(better, worse, 2, 0.95, &p, &i);
    same(p, 0.5 * (0.74 + 0.5));
    assert_true(i.low < p && i.high > p && i.low > 0.4 && i.high < 0.8);
    /* rliable 1.2: metrics.probability_of_improvement(-x, -y), metrics.aggregate_iqm(x), and the interval of
     * library.get_interval_estimates(), whose bootstrap draws within tasks too, with a million resamples. */
    const ds_runs halves[2] = {{x, 5}, {x + 5, 5}}, others[2] = {{y, 5}, {y + 5, 5}};
    ds_probability_of_improvement(halves, others, 2, 0.95, &p, &i);
    same(p, 0.78);
    assert_int_equal(ds_interquartile_mean(halves, 2, 50000, 1, 0.95, &mean, &i), 0);
    same(mean, 1.0716666666666665);
    close_to(i.low, 0.66, 0.01);
    close_to(i.high, 1.7533333333, 0.01);
    same(ds_performance_profile(task, 4, 15), 0.625);
    same(ds_performance_profile(task, 4, 0), 1);
}

/* With few runs: the limits of significance, and intervals wide enough. SciPy 1.17. */
static void few_runs(void **state)
{
    same(ds_mann_whitney_least_p(3, 3), 0.1);
    same(ds_mann_whitney_least_p(5, 5), 0.007936507936507936);
    same(ds_mann_whitney_least_p(4, 7), 0.006060606060606061);
    same(ds_mann_whitney_least_p(10, 10), 1.082508822446903e-05);
    assert_true(ds_mann_whitney_least_p(1, 1) == 1 && isnan(ds_mann_whitney_least_p(0, 3)));
    assert_true(ds_runs_needed(1, 0.05) == 4 && ds_runs_needed(6, 0.05) == 5 && ds_runs_needed(7, 0.05) == 6);
    assert_true(ds_runs_needed(11, 0.05) == 6 && ds_runs_needed(1, 0.11) == 3);
    /* All below all others, three runs each: no certainty. The roots of Newcombe's equation by
     * SciPy's brentq. */
    ds_interval i = ds_probability_interval(1, 3, 3, 0.95);
    same(i.low, 0.5010187607014931);
    assert_true(i.high == 1);
    i = ds_probability_interval(0.74, 10, 10, 0.95);
    same(i.low, 0.48094532728070427);
    same(i.high, 0.8911007704077117);
    i = ds_probability_interval(0, 3, 5, 0.95);
    same(i.high, 0.433843231531461);
    assert_true(i.low == 0);
    const double low[3] = {1, 2, 3}, high[3] = {11, 12, 13};
    const ds_runs a[4] = {{low, 3}, {low, 3}, {low, 3}, {low, 3}},
                  b[4] = {{high, 3}, {high, 3}, {high, 3}, {high, 3}};
    double p;
    ds_probability_of_improvement(a, b, 4, 0.95, &p, &i);
    assert_true(p == 1 && i.high == 1);
    same(i.low, 1 - 0.5 * (1 - 0.5010187607014931));
    /* One run each shows nothing. */
    const ds_runs one = {low, 1}, other = {high, 1};
    ds_probability_of_improvement(&one, &other, 1, 0.95, &p, &i);
    assert_true(p == 1 && isnan(i.low));
    /* Levels: 1 - 2 norm.cdf(-t.ppf(...) sqrt(n / (n - 1))). */
    same(ds_expanded_level(3, 0.9), 0.999651424825787);
    same(ds_expanded_level(5, 0.95), 0.998091798896235);
    same(ds_expanded_level(10, 0.9), 0.9466738961355309);
    /* scipy.stats.bootstrap(method='BCa', confidence_level=0.94667...), 400000 resamples. */
    ds_interval mean[2];
    assert_int_equal(ds_mean_intervals(x, 10, 1, 100000, (const double[]){0.9, 0.95}, 2, mean), 0);
    close_to(mean[0].low, 0.856, 0.01);
    close_to(mean[0].high, 1.996, 0.01);
    assert_true(mean[1].low < mean[0].low && mean[1].high > mean[0].high);
    /* Student's t would reach below 0. */
    const double losses[3] = {0.001, 0.004, 0.9};
    assert_true(ds_student_interval(losses, 3, 0.9).low < 0);
    assert_int_equal(ds_mean_intervals(losses, 3, 1, 10000, (const double[]){0.9, 0.95}, 2, mean), 0);
    assert_true(mean[0].low >= 0.001 && mean[1].low >= 0.001 && mean[1].high <= 0.9);
    const double failed[3] = {1, 2, INFINITY};
    assert_int_equal(ds_mean_intervals(failed, 3, 1, 1000, (const double[]){0.9}, 1, mean), 0);
    assert_true(isinf(mean[0].high));
    assert_int_equal(ds_mean_intervals(failed, 1, 1, 1000, (const double[]){0.9}, 1, mean), 0);
    assert_true(isnan(mean[0].low));
}

static void several_tasks(void **state)
{
    /* One task is the test of Mann and Whitney. */
    const ds_runs x1 = {x, 10}, y1 = {y, 10};
    ds_stratified t = ds_stratified_test(&x1, &y1, 1);
    assert_true(t.exact);
    same(t.p, 0.07525601333650869);
    same(t.a12, 0.74);
    same(t.least_p, 1.082508822446903e-05);
    /* Two, of unequal sizes and with ties: all 700 permutations, counted in Python. */
    const double a1[3] = {1, 2, 2.5}, a2[4] = {3, 1, 8, 4}, b1[3] = {2, 4, 6}, b2[3] = {5, 9, 4};
    const ds_runs a[2] = {{a1, 3}, {a2, 4}}, b[2] = {{b1, 3}, {b2, 3}};
    t = ds_stratified_test(a, b, 2);
    assert_true(t.exact && t.a12 == 0.8125);
    same(t.p, 0.07285714285714286);
    same(t.least_p, 2.0 / 700);
    same(ds_stratified_test(b, a, 2).p, 0.07285714285714286);
    /* Too many values to be counted: the normal approximation, with SciPy's U of both tasks. */
    static double u[300], v[300];
    for (int i = 0; i < 300; i++) {
        u[i] = sin(i * 1.7);
        v[i] = sin(i * 2.9) + 0.1;
    }
    const ds_runs many[2] = {{u, 150}, {u + 150, 150}}, more[2] = {{v, 150}, {v + 150, 150}};
    t = ds_stratified_test(many, more, 2);
    assert_true(!t.exact);
    same(t.p, 0.019287527810738836);
    assert_true(isnan(ds_stratified_test(many, more, 0).p));
}

/* Demsar 2006, table 6: accuracies of four classifiers on 14 data sets; larger is better there. */
static void friedman(void **state)
{
    static const double accuracy[14][4] = {{.763, .768, .771, .798},  {.599, .591, .590, .569},
                                           {.954, .971, .968, .967},  {.628, .661, .654, .657},
                                           {.882, .888, .886, .898},  {.936, .931, .916, .931},
                                           {.661, .668, .609, .685},  {.583, .583, .563, .625},
                                           {.775, .838, .866, .875},  {1, 1, 1, 1},
                                           {.940, .962, .965, .962},  {.619, .666, .614, .669},
                                           {.972, .981, .9751, .975}, {.957, .978, .946, .970}};
    double value[14 * 4], rank[4];
    ds_friedman f;
    for (int i = 0; i < 56; i++) {
        value[i] = -accuracy[i / 4][i % 4];
    }
    assert_int_equal(ds_friedman_test(value, 14, 4, 20000, 1, rank, &f), 0);
    same(rank[0], 3.142857142857143); /* as in the paper */
    same(rank[1], 2);
    same(rank[2], 2.892857142857143);
    same(rank[3], 1.9642857142857142);
    same(f.chi2, 10.228346456692925); /* scipy.stats.friedmanchisquare, with the correction for ties */
    same(f.f, 4.1851301115241695);
    same(f.p_f, 0.011620659515310975);
    assert_true(f.p > 0.005 && f.p < 0.025);
    close_to(f.critical_difference, 1.2535591471176057, 1e-8); /* 1.25 in the paper */
    same(ds_fisher_tail(2.7, 3, 39), 0.0588146390937913);
    close_to(ds_normal_range_cdf(3.3, 5), 0.865678522589848, 1e-9); /* scipy.stats.studentized_range */
    /* The same order everywhere: F is infinite, p is not 0. Of 36 equally likely cases 6 are as far. */
    const double same_order[6] = {1, 2, 3, 10, 20, 30};
    assert_int_equal(ds_friedman_test(same_order, 2, 3, 20000, 1, rank, &f), 0);
    assert_true(isinf(f.f) && f.p > 0.15 && f.p < 0.185);
    const double equal[4] = {1, 1, 2, 2};
    assert_int_equal(ds_friedman_test(equal, 2, 2, 1000, 1, rank, &f), 0);
    assert_true(f.p == 1 && rank[0] == 1.5);
}

static void rounding(void **state)
{
    const double three[3] = {0.1, 0.7, 0.3}, mean = ds_sample_mean(three, 3);
    assert_true(ds_normal_score((0.3 + 0.7 + 0.1) / 3, mean, 0.01) == 0);
    assert_true(ds_normal_score(0.5, 0.5 + 1e-9, 0.1) > 0);
    /* Equal losses are all the best one, whichever way their mean is rounded. */
    double equal[40];
    for (size_t n = 0; n < 40; n++) {
        equal[n] = 0.1;
        assert_true(ds_normal_score(0.1, ds_sample_mean(equal, n + 1), 0.1) == 1);
        assert_true(ds_normal_score(-0.1, -ds_sample_mean(equal, n + 1), -0.1) == 1);
    }
    /* Two losses a few roundings apart are one: neither is the best. */
    const double low = -0.010391111027982227, high = -0.010391111027982222;
    assert_true(low < high && ds_normal_score(high, (low + high) / 2, low) == 1 &&
                ds_normal_score(low, high, low) == 1);
    assert_true(ds_normal_score(0.1, 0.1 + 1e-13, 0.1) == 1 &&
                ds_normal_score(0.1 + 1e-13, 0.1 + 1e-13, 0.1) == 0);
}

static void running_times(void **state)
{
    double target[DS_TARGETS];
    ds_targets(12, 2, target);
    same(target[0], 1002);
    same(target[10], 12);
    close_to(target[50] - 2, 1e-7, 1e-7); /* next to 2 */
    const uint64_t id[4] = {1, 3, 5, 6};  /* of the losses 13, failed, 7, 9, 2.5, 2.4 */
    const double loss[4] = {13, 7, 2.5, 2.4};
    const double goal[4] = {20, 8, 3, 2};
    uint64_t first[4], second[4] = {1, 2, 0, 0};
    ds_target_hits(id, loss, 4, goal, 4, first);
    assert_true(first[0] == 1 && first[1] == 3 && first[2] == 5 && first[3] == 0);
    const ds_hits runs[2] = {{first, 6}, {second, 10}};
    same(ds_expected_running_time(runs, 2, 0), 1);
    same(ds_expected_running_time(runs, 2, 1), 2.5);
    same(ds_expected_running_time(runs, 2, 2), 15);
    assert_true(isinf(ds_expected_running_time(runs, 2, 3)));
    /* Best so far 13 13 7 7 2.5 2.4, then 2.4 for the two evaluations that were not made. */
    same(ds_anytime_area(id, loss, 4, 8, 12, 2), (-0.1 - 0.1 + 0.5 + 0.5 + 0.95 + 3 * 0.96) / 8);
}

RUN_TESTS(distributions, samples, bootstrap, rank_tests, scores, running_times, few_runs, several_tasks,
          friedman, rounding)
