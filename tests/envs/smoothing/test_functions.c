/* SPDX-License-Identifier: Apache-2.0 */
/* test_functions.c - the environments of smoothing/ in closed form: their means under noise by quadrature,
 * where estimates of the gradient lead, and the contact of boxes. */
#include "differences.h"
#include "host.h"
#include "methods/gradient/alpha_gradient.h"
#include "test.h"

#include <diffsim/ext/scene.h>
#include <diffsim/helper/random.h>

static double value(fake_env *e, double x)
{
    return fake_eval(e, &x, NULL, 0, NULL);
}

static double slope(fake_env *e, double x)
{
    double grad;
    fake_eval(e, &x, &grad, 0, NULL);
    return grad;
}

/* ---- estimates ---- */

typedef struct estimate {
    double mean[2], variance[2]; /* of zeroth and first order, of one sample */
} estimate;

/* Of a function of one variable at x, with n samples of noise sigma. */
static estimate sample(fake_env *e, double x, double sigma, int n, ds_random *random)
{
    double sum[2] = {0, 0}, squares[2] = {0, 0}, base = value(e, x);
    for (int i = 0; i < n; i++) {
        const double w = sigma * ds_random_normal(random), v = sigma * ds_random_normal(random);
        const double g[2] = {(value(e, x + w) - base) * w / (sigma * sigma), slope(e, x + v)};
        for (int k = 0; k < 2; k++) {
            sum[k] += g[k];
            squares[k] += g[k] * g[k];
        }
    }
    estimate out;
    for (int k = 0; k < 2; k++) {
        out.mean[k] = sum[k] / n;
        out.variance[k] = (squares[k] - sum[k] * sum[k] / n) / (n - 1);
    }
    return out;
}

/* E[f(x + w)] and, with order = 1, the mean of the zeroth-order estimate, by the midpoint rule over 8
 * sigma. */
static double smoothed(fake_env *e, double x, double sigma, int order)
{
    enum { POINTS = 40000 };
    double sum = 0;
    for (int i = 0; i < POINTS; i++) {
        const double z = 16 * (i + 0.5) / POINTS - 8, density = 0.39894228040143267794 * exp(-0.5 * z * z);
        sum += 16.0 / POINTS * density * value(e, x + sigma * z) * (order == 1 ? z / sigma : 1);
    }
    return sum;
}

static void step_has_no_gradient(void **state)
{
    fake_env e;
    fake_env_open(&e, "envs/heaviside", NULL, 0, 0);
    ds_random random = ds_random_open(1, "heaviside", 0);
    const estimate s = sample(&e, 0, 0.2, 100000, &random);
    assert_near(s.mean[0], 1.99471, 0.03);
    assert_near(s.variance[0], 8.52113, 0.03 * 8.52113);
    assert_true(s.mean[1] == 0 && s.variance[1] == 0);
    for (double x = -0.4; x < 0.5; x += 0.13) {
        assert_near(smoothed(&e, x, 0.2, 0), 0.5 * erfc(-x / 0.2 / sqrt(2)), 1e-3 * 0.2);
        assert_near(smoothed(&e, x, 0.2, 1), 1.99471140 * exp(-0.5 * x * x / 0.04), 2e-3);
    }
    fake_env_close(&e);
}

/* Variance of one zeroth-order sample, (f(x + w) - f(x)) w / sigma^2, in closed form: with a = x / sigma
 * [Phi(-|a|) + |a| phi(a) - phi(a)^2] / sigma^2, 0.340845 / sigma^2 at the step. By quadrature of
 * the environment. */
static void variance_of_step(void **state)
{
    enum { POINTS = 400000 };
    fake_env e;
    fake_env_open(&e, "envs/heaviside", NULL, 0, 0);
    for (int sign = -1; sign <= 1; sign += 2) {
        for (double a = 0; a < 3; a += 0.45) {
            const double sigma = 0.2, x = sign * a * sigma, base = value(&e, x);
            double mean = 0, square = 0;
            for (int i = 0; i < POINTS; i++) {
                const double z = 20 * ((i + 0.5) / POINTS - 0.5);
                const double weight = 20.0 / POINTS * 0.39894228040143267794 * exp(-0.5 * z * z);
                const double g = (value(&e, x + sigma * z) - base) * z / sigma;
                mean += weight * g;
                square += weight * g * g;
            }
            const double phi = 0.39894228040143267794 * exp(-0.5 * a * a);
            const double closed = 0.5 * erfc(a / sqrt(2)) + a * phi - phi * phi;
            assert_near(sigma * sigma * (square - mean * mean), closed, 1e-4);
            assert_true(a > 0 || fabs(closed - 0.340845) < 1e-6);
        }
    }
    fake_env_close(&e);
}

static void rules_of_step(void **state)
{
    static const double points[4][3] = {{1, 0, 1}, {1, -1e-9, 1}, {-1, -1, -1}, {-1, 0, -1}};
    static const double all[4] = {1, 0, 0, 0}, any[4] = {1, 1, 0, 1};
    fake_env e;
    for (int rule = 0; rule < 2; rule++) {
        fake_env_open(&e, "envs/heaviside", SETTINGS("dim=3", rule ? "rule=any" : "rule=all"), 0, 0);
        for (int k = 0; k < 4; k++) {
            assert_true(fake_eval(&e, points[k], NULL, 0, NULL) == (rule ? any : all)[k]);
        }
        fake_env_close(&e);
    }
}

static void steep_ramp(void **state)
{
    static const struct {
        const char *delta;
        double mean, variance;
        int n;
    } cases[] = {{"delta=0.01", 7.9755, 1531.5, 1000000}, {"delta=0.4", 4.7725, 1.0857, 100000}};
    fake_env e;
    for (int k = 0; k < 2; k++) {
        double sum = 0, squares = 0;
        fake_env_open(&e, "envs/soft_heaviside", SETTINGS(cases[k].delta), 0, 0);
        ds_random random = ds_random_open(2, "ramp", 0);
        for (int i = 0; i < cases[k].n; i++) {
            const double g = slope(&e, 0.1 * ds_random_normal(&random));
            sum += g;
            squares += g * g;
        }
        const double mean = sum / cases[k].n, variance = squares / cases[k].n - mean * mean;
        assert_near(mean, cases[k].mean, 0.01 * cases[k].mean + 4 * sqrt(variance / cases[k].n));
        assert_near(variance, cases[k].variance, 0.05 * cases[k].variance);
        assert_near(smoothed(&e, 0, 0.1, 1), cases[k].mean, 1e-3 * cases[k].mean);
        fake_env_close(&e);
    }
}

static void ripples_vanish(void **state)
{
    fake_env e;
    int minima = 0;
    fake_env_open(&e, "envs/sine_quadratic", NULL, 0, 0);
    for (double x = -0.7; x < 0.8; x += 0.2) {
        assert_near(smoothed(&e, x, 0.1, 0), x * x + 0.01, 1e-10);
        assert_near(smoothed(&e, x, 0.1, 1), 2 * x, 1e-9);
    }
    for (int i = 0; i < 10000; i++) {
        const double x = 1e-4 * i;
        minima += value(&e, x) < value(&e, x - 1e-4) && value(&e, x) <= value(&e, x + 1e-4);
    }
    assert_in_range(minima, 10, 12);
    fake_env_close(&e);
}

/* |x|^2: both estimates have the mean 2 x; the first-order one has the variance 4 d sigma^2. */
static void quadratic(void **state)
{
    enum { D = 5, N = 20000 };
    const double x[D] = {1, -0.5, 0.25, 0, 0.7}, sigma = 0.1;
    double mean[2][D] = {{0}}, squares = 0, grad[D], at[D];
    fake_env e;
    fake_env_open(&e, "envs/sine_quadratic", SETTINGS("dim=5", "amplitude=0"), 0, 0);
    ds_random random = ds_random_open(3, "quadratic", 0);
    const double base = fake_eval(&e, x, NULL, 0, NULL);
    for (int i = 0; i < N; i++) {
        double w[D];
        for (int k = 0; k < D; k++) {
            w[k] = sigma * ds_random_normal(&random);
            at[k] = x[k] + w[k];
        }
        const double loss = fake_eval(&e, at, grad, 0, NULL);
        for (int k = 0; k < D; k++) {
            mean[0][k] += (loss - base) * w[k] / (sigma * sigma) / N;
            mean[1][k] += grad[k] / N;
            squares += (grad[k] - 2 * x[k]) * (grad[k] - 2 * x[k]) / N;
        }
    }
    assert_near(squares, 4 * D * sigma * sigma, 0.03 * 4 * D * sigma * sigma);
    for (int k = 0; k < D; k++) {
        assert_near(mean[1][k], 2 * x[k], 4 * 2 * sigma / sqrt(N));
        assert_near(mean[0][k], 2 * x[k], 4 * 5 / sqrt(N)); /* variance of a sample below 5^2 */
    }
    fake_env_close(&e);
}

/* At 1: d^(1/p); x . grad = |x|; the gradient has the dual norm 1. */
static void norms(void **state)
{
    static const char *const exponents[] = {"p=1", "p=2", "p=3"};
    static double grad[5000];
    fake_env e;
    for (int p = 1; p <= 3; p++) {
        fake_env_open(&e, "envs/lp_norm", SETTINGS(exponents[p - 1]), 0, 0);
        assert_int_equal(e.info.n, 5000);
        assert_near(fake_eval(&e, e.x0, grad, 0, NULL), pow(5000, 1.0 / p), 1e-10 * 5000);
        double *x = e.x0, along = 0;
        for (int i = 0; i < 5000; i++) {
            x[i] = sin(i) * (i % 7 == 0 ? 0 : 1);
        }
        const double norm = fake_eval(&e, x, grad, 0, NULL);
        for (int i = 0; i < 5000; i++) {
            along += x[i] * grad[i];
        }
        assert_near(along, norm, 1e-11 * norm);
        fake_env_close(&e);
    }
    fake_env_open(&e, "envs/lp_norm", SETTINGS("dim=3"), 0, 0);
    assert_true(fake_eval(&e, (double[3]){0, 0, 0}, grad, 0, NULL) == 0 && grad[0] == 0);
    fake_env_close(&e);
}

/* ---- throws ---- */

static void throw_over_wall(void **state)
{
    static const double edges[] = {0.314663, 0.693204, 1.199343, 1.256133};
    fake_env e;
    double least = HUGE_VAL, best = 0;
    fake_env_open(&e, "envs/ball_wall", NULL, 0, 0);
    for (int k = 0; k < 4; k++) { /* on the plateau on one side, beyond it on the other */
        const double in = edges[k] + (k % 2 ? -2e-6 : 2e-6), out = edges[k] + (k % 2 ? 2e-6 : -2e-6);
        assert_near(value(&e, in), -0.0036, 1e-15);
        assert_true(slope(&e, in) == 0 && slope(&e, out) != 0);
    }
    const double range = sin(2 * (edges[1] + 2e-6)) / 9.81; /* a jump to -0.010042 */
    assert_near(value(&e, edges[1] + 2e-6), -range * range, 1e-16);
    assert_near(-range * range, -0.010042, 1e-6);
    assert_near(value(&e, 0.78539816339744831), -0.0103911, 1e-7);
    for (double x = 0.6; x < 1.1; x += 0.001) {
        const double f = smoothed(&e, x, 0.1, 0);
        best = f < least ? x : best;
        least = fmin(f, least);
    }
    assert_near(best, 0.861, 0.002);
    fake_env_close(&e);
}

enum { SAMPLES = 50 };

/* alpha g1 + (1 - alpha) g0 from independent samples, with the authors' constants: a largest sample of 1, and
 * the confidence 0.95 in place of a probability of failure. */
static double mixture(fake_env *e, double x, double sigma, double gamma, ds_random *random, double *alpha)
{
    const alpha_rule rule = {.rule = ALPHA_BIAS,
                             .s = sigma,
                             .gamma = gamma,
                             .chance = 0.95,
                             .largest = 1,
                             .small = 1e-5,
                             .fixed = -1};
    double w[2 * SAMPLES], loss[2 * SAMPLES], grad[2 * SAMPLES], work[2 * SAMPLES + 1], g;
    const uint32_t outcome[2 * SAMPLES] = {0};
    for (int i = 0; i < 2 * SAMPLES; i++) {
        w[i] = sigma * ds_random_normal(random);
        const double at = x + w[i];
        loss[i] = fake_eval(e, &at, &grad[i], 0, NULL);
    }
    const alpha_samples zeroth = {1, SAMPLES, w, loss, grad, outcome, value(e, x)};
    const alpha_samples first = {1, SAMPLES, w + SAMPLES, loss + SAMPLES, grad + SAMPLES, outcome, 0};
    alpha_report report;
    assert_int_equal(alpha_gradient(&rule, &first, &zeroth, work, &g, &report), 1);
    *alpha += report.alpha;
    return g;
}

/* Mean end of 20 descents with 50 samples per step, with estimates of zeroth (0), first (1) or mixed (2)
 * order; *alpha: mean weight of the first order in a mixture. */
static double descend(const char *name, double sigma, double step, int steps, int order, double gamma,
                      double *alpha)
{
    fake_env e;
    double sum = 0, weights = 0;
    fake_env_open(&e, name, NULL, 0, 0);
    for (int trial = 0; trial < 20; trial++) {
        ds_random random = ds_random_open(4, name, (uint64_t)trial);
        double x = 0.1;
        for (int k = 0; k < steps; k++) {
            const double base = order == 0 ? value(&e, x) : 0;
            double g = order == 2 ? mixture(&e, x, sigma, gamma, &random, &weights) : 0;
            for (int i = 0; i < SAMPLES && order < 2; i++) {
                const double w = sigma * ds_random_normal(&random);
                g += order == 0 ? (value(&e, x + w) - base) * w / (sigma * sigma) / SAMPLES
                                : slope(&e, x + w) / SAMPLES;
            }
            x -= step * g;
        }
        sum += x / 20;
    }
    fake_env_close(&e);
    *alpha = weights / (20.0 * steps);
    return sum;
}

/* The first order stays on the plateau or goes over the cliff; the mixture does neither. On ball_wall its
 * bound is nearly always wider than gamma, so it equals the zeroth order there. */
static void end_points(void **state)
{
    double alpha;
    assert_near(descend("envs/ball_wall", 0.1, 0.1, 1000, 0, 0, &alpha), 0.854, 0.006);
    assert_near(descend("envs/ball_wall", 0.1, 0.1, 1000, 1, 0, &alpha), 0.4947, 0.001);
    assert_near(descend("envs/ball_wall", 0.1, 0.1, 1000, 2, 0.01, &alpha), 0.854, 0.006);
    print_message("ball_wall: mean weight of the first order %.2g\n", alpha);
    assert_true(alpha < 1e-4);
    assert_near(descend("envs/momentum", 0.02, 0.01, 500, 0, 0, &alpha), 0.739, 0.009);
    assert_near(descend("envs/momentum", 0.02, 0.01, 500, 1, 0, &alpha), 0.8436, 0.0009);
    assert_near(descend("envs/momentum", 0.02, 0.01, 500, 2, 0.2, &alpha), 0.739, 0.009);
    print_message("momentum: mean weight of the first order %.3g\n", alpha);
    assert_near(alpha, 0.15, 0.03);
}

/* ---- pusher1d ---- */

static double density(int kernel, double z)
{
    return kernel == 0 ? exp(-fabs(z)) / ((1 + exp(-fabs(z))) * (1 + exp(-fabs(z))))
                       : 0.39894228040143267794 * exp(-0.5 * z * z);
}

/* Mean of the hard ramp at x under the noise of a kernel of width 0.1. With w = 2 width sinh(t) the
 * density of Student's t is 1/(2 cosh^2 t). */
static double mean_of_ramp(int kernel, double x)
{
    enum { POINTS = 200000 };
    double sum = 0;
    for (int i = 0; i < POINTS; i++) {
        const double z = 80 * ((i + 0.5) / POINTS - 0.5);
        const double w = kernel == 1 ? 0.2 * sinh(z / 2) : 0.1 * z, cosine = cosh(z / 2);
        const double weight = kernel == 1 ? 0.25 / (cosine * cosine) : density(kernel, z);
        sum += 80.0 / POINTS * weight * fmax(x + w, 0);
    }
    return sum;
}

static void ramps_are_means(void **state)
{
    static const char *const softness[] = {"softness=softplus", "softness=barrier", "softness=gaussian"};
    static const char *const noise[] = {"noise=softplus", "noise=barrier", "noise=gaussian"};
    static const double x[] = {-0.3, -0.05, 0, 0.05, 0.3};
    static const double barrier[] = {0.030278, 0.078078, 0.1, 0.128078, 0.330278};
    fake_env soft, hard;
    for (int k = 0; k < 3; k++) {
        fake_env_open(&soft, "envs/pusher1d", SETTINGS("loss=position", softness[k]), 0, 0);
        fake_env_open(&hard, "envs/pusher1d", SETTINGS("loss=position", noise[k]), 0, 0);
        for (int i = 0; i < 5; i++) { /* the block moves by half the ramp */
            const double ramp = 2 * value(&soft, x[i]);
            assert_near(ramp, mean_of_ramp(k, x[i]), 1e-7);
            assert_near(2 * value(&hard, x[i]), fmax(x[i], 0), 1e-15);
            if (k == 1) {
                assert_near(ramp, barrier[i], 1e-6);
            }
            double mean = 0;
            for (uint64_t key = 1; k != 1 && key <= 20000; key++) { /* the variance of barrier is infinite */
                mean += 2 * fake_eval(&hard, &x[i], NULL, key, NULL) / 20000;
            }
            assert_true(k == 1 || fabs(mean - ramp) < 5 * 0.2 / sqrt(20000));
        }
        fake_env_close(&soft);
        fake_env_close(&hard);
    }
}

/* Half of the draws of Student's t lie within the quartiles -+ scale sqrt(2/3), scale = sqrt(2) 0.1. */
static void quartiles_of_barrier(void **state)
{
    const double quartile = 0.2 / sqrt(3);
    fake_env e;
    int below = 0, within = 0;
    fake_env_open(&e, "envs/pusher1d", SETTINGS("loss=position", "noise=barrier", "block=-1e4"), 0, 0);
    for (uint64_t key = 1; key <= 20000; key++) {
        const double w = 2 * (fake_eval(&e, (double[1]){0}, NULL, key, NULL) + 1e4) - 1e4;
        below += w < 0;
        within += fabs(w) < quartile;
    }
    assert_near(below, 10000, 4 * sqrt(5000));
    assert_near(within, 10000, 4 * sqrt(5000));
    fake_env_close(&e);
}

/* The loss is that of hard contact; the gradient leads to contact and reports that it is not a derivative. */
static void gradient_at_a_distance(void **state)
{
    fake_env exact, far;
    double grad = 0;
    fake_env_open(&exact, "envs/pusher1d", NULL, 0, 0);
    fake_env_open(&far, "envs/pusher1d", SETTINGS("contact_grad=distance"), 0, 0);
    for (double x = -0.9; x < 1; x += 0.1) {
        ds_eval io = {.bad_step = -1, .want = DS_WANT_GRAD, .n = 1, .x = &x, .grad = &grad};
        assert_int_equal(ds_eval_call(far.plugin->env, far.self, &io), DS_OK);
        assert_int_equal(io.grad_kind, DS_GRAD_SMOOTHED);
        assert_true(io.loss == value(&exact, x));
        assert_true(x > 0.4 || grad < 0);
        assert_true(x > 0 || slope(&exact, x) == 0);
    }
    fake_env_close(&exact);
    fake_env_close(&far);
}

/* ---- hydro2d ---- */

static double contact(fake_env *e, double first, double second)
{
    return fake_eval(e, (double[2]){first, second}, NULL, 0, NULL);
}

static void box_on_ground(void **state)
{
    static const double tilt[] = {-0.02, -0.01, 0, 0.01, 0.02};
    static const double torque[] = {0.005550, 0.002770, 0, -0.002770, -0.005550};
    static const double force[] = {0.07787, 0.07827, 0.0784, 0.07827, 0.07787};
    fake_env n, t, p;
    fake_env_open(&n, "envs/hydro2d", SETTINGS("loss=first"), 0, 0);
    fake_env_open(&t, "envs/hydro2d", SETTINGS("loss=second"), 0, 0);
    fake_env_open(&p, "envs/hydro2d", SETTINGS("loss=second", "contact=point"), 0, 0);
    for (double d = 0.01; d < 0.2; d += 0.01) {
        assert_near(contact(&n, 0.25 - d, 0), (d - d * d) / 0.25, 1e-14);
        assert_near(contact(&t, 0.25 - d, 0), 0, 1e-15);
    }
    assert_near(contact(&n, 0.24, 0), 0.0396, 1e-14);
    assert_near(contact(&n, 0.23, 0), 0.0784, 1e-14);
    for (int k = 0; k < 5; k++) {
        assert_near(contact(&t, 0.23, tilt[k]), torque[k], 1e-6);
        assert_near(contact(&n, 0.23, tilt[k]), force[k], 1e-5);
        assert_near(contact(&t, 0.23, tilt[k]), -contact(&t, 0.23, -tilt[k]), 1e-15);
    }
    for (double a = -1e-6; a < 1.1e-6; a += 2e-7) { /* continuous where the point jumps */
        assert_near(contact(&t, 0.23, a), -0.277 * a, 1e-9);
    }
    assert_near(contact(&p, 0.23, -1e-9) - contact(&p, 0.23, 1e-9), 0.02, 1e-6);
    assert_near(contact(&p, 0.23, -0.01) / (0.23 * 0 + 1),
                0.4975 * (0.25 * cos(0.01) + 0.5 * sin(0.01) - 0.23), 1e-5);
    assert_near(contact(&n, 0.3, 0.05), 0, 0);
    fake_env_close(&n);
    fake_env_close(&t);
    fake_env_close(&p);
}

/* Pressure scaled by (1 - d v)_+: of a flat box sunk by 0.01 and of corners, with force, torque and slopes.
 */
static void dissipation(void **state)
{
    static const char *const velocity[] = {"velocity=-0.1", "velocity=0.02", "velocity=0.2"};
    static const double factor[] = {3, 0.6, 0};
    const double flat[2] = {0.24, 0}, tilted[2] = {0.23, 0.01}, corner[2] = {0.1, 0.3};
    for (int k = 0; k < 3; k++) {
        double grad[2], still[2];
        fake_env e, plain;
        fake_env_open(&e, "envs/hydro2d", SETTINGS("loss=first", "dissipation=20", velocity[k]), 0, 0);
        fake_env_open(&plain, "envs/hydro2d", SETTINGS("loss=first", velocity[k]), 0, 0);
        assert_near(fake_eval(&e, flat, NULL, 0, NULL), factor[k] * 0.0396, 1e-14);
        assert_near(fake_eval(&e, tilted, grad, 0, NULL),
                    factor[k] * fake_eval(&plain, tilted, still, 0, NULL), 1e-14);
        assert_near(grad[0], factor[k] * still[0], 1e-13);
        assert_near(grad[1], factor[k] * still[1], 1e-13);
        fake_env_close(&plain);
        fake_env_close(&e);
        fake_env_open(&e, "envs/hydro2d", SETTINGS("scene=B", "loss=second", "dissipation=20", velocity[k]),
                      0, 0);
        assert_near(fake_eval(&e, corner, NULL, 0, NULL), factor[k] * 0.0025, 1e-14);
        fake_env_close(&e);
    }
}

/* ---- a box that falls and slides ---- */

static const char *const falls[] = {"contact=hydroelastic", "contact=point", "contact=corners"};

/* Free flight; on the ground a flat box keeps its depth m g / stiffness and loses mu g of its speed, by all
 * of the corners and by the field. */
static void falling_box(void **state)
{
    const double flight[6] = {9, 0.3, 1.5, -1, 0.2, 0.4};
    for (int k = 0; k < 3; k++) {
        fake_env e;
        double pose[3] = {150 * 0.005 * 1.5, 9 - 150 * 0.005 - 9.81 * 0.005 * 0.005 * 150 * 151 / 2,
                          0.3 + 150 * 0.005 * 0.2};
        char goal[100];
        snprintf(goal, sizeof goal, "goal=%.17g,%.17g,%.17g", pose[0], pose[1], pose[2]);
        fake_env_open(&e, "envs/hydro2d", SETTINGS("scene=C", "steps=150", falls[k], goal), 0, 0);
        assert_near(fake_eval(&e, flight, NULL, 0, NULL), 0, 1e-20);
        fake_env_close(&e);
    }
    for (int k = 0; k < 3;
         k += 2) { /* stopping distance v^2 / (2 mu g), and the slip of the regularization */
        const double depth = 9.81 / 2000, from[6] = {0.01 - depth, 0, 2, 0, 0, 0.3};
        const double distance = 2 * 2 / (2 * 0.3 * 9.81);
        fake_env e;
        fake_env_open(&e, "envs/hydro2d",
                      SETTINGS("scene=C", "steps=4000", "h=0.0005", "slip=0.002", "b=0.01", "a=1",
                               "goal=0,0.01,0", falls[k]),
                      0, 0);
        const double end = sqrt(fake_eval(&e, from, NULL, 0, NULL));
        print_message("%s: slides %.4f m, %.4f by hand\n", falls[k], end, distance);
        assert_near(end, distance, 0.01 * distance);
        assert_near(fake_metric(&e, from, "first")[0], 9.81, k == 0 ? 0.6 : 1e-9);
        fake_env_close(&e);
    }
}

/* The torque of a flat box is continuous in its tilt by the field and the corners, and jumps by the width
 * times the force where a point carries it. */
static void torque_of_the_box(void **state)
{
    for (int k = 0; k < 3; k++) {
        fake_env e;
        fake_env_open(&e, "envs/hydro2d", SETTINGS("scene=C", "steps=1", falls[k]), 0, 0);
        double x[6] = {0.24, -1e-9, 0, 0, 0, 0}, left, right;
        left = fake_metric(&e, x, "second")[0];
        x[1] = 1e-9;
        right = fake_metric(&e, x, "second")[0];
        assert_near(left - right, k == 1 ? 2000 * 0.01 * 1 : 0, 1e-5);
        fake_env_close(&e);
    }
}

/* Central differences of the end pose at random starts: exact for field and corners. A point changes its
 * corner between two steps, where the loss jumps: those components are counted. */
static void gradient_of_the_fall(void **state)
{
    enum { RANDOM = 6 };
    for (int k = 0; k < 3; k++) {
        fake_env e;
        int apart = 0;
        fake_env_open(&e, "envs/hydro2d", SETTINGS("scene=C", "steps=250", falls[k]), 0, 0);
        for (uint64_t point = 0; point < RANDOM; point++) {
            double x[6], grad[6], largest = 0;
            differences_random(40 + point, 6, x);
            for (int i = 0; i < 6; i++) {
                x[i] = 0.5 * (e.lower[i] + e.upper[i]) + 0.4 * (e.upper[i] - e.lower[i]) * x[i];
            }
            x[0] = e.lower[0] + 0.2 * fabs(x[0] - e.lower[0]);
            fake_eval(&e, x, grad, 0, NULL);
            for (int i = 0; i < 6; i++) {
                largest = fmax(largest, fabs(grad[i]));
            }
            for (int i = 0; i < 6; i++) {
                double slope[2];
                const double kept = x[i];
                for (int half = 0; half < 2; half++) {
                    const double h = 1e-7 / (1 + half);
                    x[i] = kept + h;
                    const double up = fake_eval(&e, x, NULL, 0, NULL);
                    x[i] = kept - h;
                    slope[half] = (up - fake_eval(&e, x, NULL, 0, NULL)) / (2 * h);
                }
                x[i] = kept;
                if (fabs(slope[1] - slope[0]) > 1e-4 * largest) {
                    apart++; /* a contact begins or ends within the differences */
                } else {
                    assert_near(grad[i], slope[1], 2e-4 * largest);
                }
            }
            assert_true(largest > 0);
        }
        print_message("%s: %d of %d differences do not converge\n", falls[k], apart, 6 * RANDOM);
        assert_true(apart <= (k == 1 ? 10 : 3));
        fake_env_close(&e);
    }
}

static void box_corners(void **state)
{
    fake_env x, y, p;
    fake_env_open(&x, "envs/hydro2d", SETTINGS("scene=B", "loss=first"), 0, 0);
    fake_env_open(&y, "envs/hydro2d", SETTINGS("scene=B", "loss=second"), 0, 0);
    fake_env_open(&p, "envs/hydro2d", SETTINGS("scene=B", "loss=first", "contact=point"), 0, 0);
    assert_near(contact(&x, 0.1, 0.3), 0.0125, 1e-15);
    assert_near(contact(&y, 0.1, 0.3), 0.0025, 1e-15);
    assert_near(contact(&x, 0.3, 0.1), 0.0025, 1e-15);
    assert_near(contact(&x, 0.2, 0.2), 0.01, 1e-15);
    assert_near(contact(&y, 0.2, 0.2), 0.01, 1e-15);
    assert_near(contact(&y, 0.2, 0.2), 0.01, 1e-15);
    assert_near(contact(&x, 0.2 - 1e-9, 0.2), contact(&x, 0.2 + 1e-9, 0.2), 1e-8);
    assert_near(contact(&p, 0.2 - 1e-9, 0.2) - contact(&p, 0.2 + 1e-9, 0.2), 0.2, 1e-8);
    assert_true(contact(&x, -0.1, 0.3) == 0 && contact(&y, 0.3, 0) == 0);
    fake_env_close(&x);
    fake_env_close(&y);
    fake_env_close(&p);
}

/* The scenes: a ball lands where the loss says, or ends at the wall; boxes lie as in their pose. */
static void scenes(void **state)
{
    static const double angle[3] = {0.2, 0.5, 0.8};
    fake_env e;
    double at[2][7];
    fake_env_open(&e, "envs/ball_wall", NULL, 0, 0);
    for (int k = 0; k < 3; k++) {
        const double *x = fake_metric(&e, &angle[k], "x"), *y = fake_values(&e, "y");
        const double loss = value(&e, angle[k]);
        assert_near(x[40], sqrt(-loss), 1e-12);
        assert_true(k == 1 ? x[40] == 0.06 && y[40] > 0 && y[40] < 0.02 : fabs(y[40]) < 1e-12);
        assert_true(x[0] == 0 && y[0] == 0 && y[1] > 0);
    }
    fake_env_close(&e);
    fake_env_open(&e, "envs/hydro2d", SETTINGS("scene=B"), 0, 0);
    const double *first = fake_metric(&e, (double[2]){0.1, 0.3}, "first"),
                 *second = fake_values(&e, "second");
    assert_near(first[1], 0.0125, 1e-15);
    assert_near(second[1], 0.0025, 1e-15);
    const ds_scene *scene = e.plugin->env->get_extension(e.self, DS_EXT_SCENE);
    for (uint64_t b = 0; b < 2; b++) {
        assert_int_equal(scene->frame(e.self, 1, b, 7, at[b]), DS_OK);
    }
    assert_near(at[1][0] + 0.5 - (at[0][0] - 0.5), 0.1, 1e-15); /* the overlaps */
    assert_near(at[1][1] + 0.5 - (at[0][1] - 0.5), 0.3, 1e-15);
    fake_env_close(&e);
}

static void refusals(void **state)
{
    fake_env_refuses("envs/heaviside", SETTINGS("lower=1", "upper=1"), "lower");
    fake_env_refuses("envs/ball_wall", SETTINGS("lower=2"), "upper");
}

/* Numbers of a body in a frame of the last episode. */
static const double *pose_of(fake_env *e, uint64_t frame, uint64_t body)
{
    static double pose[7];
    const ds_scene *scene = e->plugin->env->get_extension(e->self, DS_EXT_SCENE);
    assert_int_equal(scene->frame(e->self, frame, body, 7, pose), DS_OK);
    return pose;
}

/* The bar of momentum turns at a rate whose square is minus the loss, on the side where it was hit, and the
 * ball stays there; a throw beyond the cliff passes the bar. */
static void momentum_is_seen(void **state)
{
    static const double angle[] = {0.2, 0.78, 0.79, -0.4};
    fake_env e;
    fake_env_open(&e, "envs/momentum", SETTINGS("lower=-1"), 0, 0);
    for (int k = 0; k < 4; k++) {
        const double loss = fake_eval(&e, &angle[k], NULL, 0, NULL),
                     *rate = fake_metric(&e, &angle[k], "rate");
        const double *x = fake_values(&e, "x"), *y = fake_values(&e, "y"), *tilt = fake_values(&e, "tilt");
        const int hit = k != 2;
        assert_near(-rate[40] * rate[40], loss, 1e-15);
        assert_near(x[40], hit ? sqrt(0.5) : 2 * cos(angle[k]), 1e-12);
        assert_near(y[40], x[40] * tan(angle[k]), 1e-12);
        assert_true(rate[0] == 0 && tilt[0] == 0 && (tilt[40] > 0) == (k < 2) && (tilt[40] < 0) == (k == 3));
        assert_near(tilt[40] - tilt[39], rate[40] * 0.05, 1e-12);
        const double *bar = pose_of(&e, 40, 1), way = hypot(bar[0] - sqrt(0.5), bar[1]);
        assert_near(way, 0.5 * sqrt(0.5), 1e-12); /* its middle, from the pivot */
        assert_true((bar[0] > sqrt(0.5) + 1e-3) == hit && (bar[1] > 0) == (k != 3));
    }
    fake_env_close(&e);
}

/* The last frame of pusher1d shows the episode. For every ramp spring and block pull equally, and with hard
 * contact the pusher touches the block or is at its command. */
static void pusher_is_seen(void **state)
{
    static const char *const softness[] = {"softness=none", "softness=barrier"};
    static const double command[] = {-0.4, 0.1, 0.9};
    for (int k = 0; k < 6; k++) {
        fake_env e;
        fake_env_open(&e, "envs/pusher1d",
                      SETTINGS("loss=position", "k=3", "m=2", "block=-0.05", softness[k / 3]), 0, 0);
        const double loss = fake_eval(&e, &command[k % 3], NULL, 0, NULL);
        const double *u = fake_metric(&e, &command[k % 3], "command"), *pusher = fake_values(&e, "pusher"),
                     *block = fake_values(&e, "position"), *force = fake_values(&e, "force");
        assert_near(u[0], -1, 1e-15);
        assert_near(u[40], command[k % 3], 1e-15);
        assert_near(block[40], loss, 1e-15);
        for (int i = 0; i <= 40; i++) {
            assert_near(force[i], 3 * (u[i] - pusher[i]), 1e-12);
            assert_near(force[i], 2 * (block[i] + 0.05), 1e-12);
            assert_true(k >= 3 || fabs(pusher[i] - (force[i] > 0 ? block[i] : u[i])) < 1e-12);
            assert_true(k < 3 || pusher[i] < block[i]);
        }
        assert_near(pose_of(&e, 40, 0)[0], pusher[40] - 0.08, 1e-12);
        assert_near(pose_of(&e, 40, 1)[0], block[40] + 0.08, 1e-12);
        fake_env_close(&e);
    }
}

RUN_TESTS(step_has_no_gradient, variance_of_step, rules_of_step, steep_ramp, ripples_vanish, quadratic, norms,
          throw_over_wall, end_points, ramps_are_means, quartiles_of_barrier, gradient_at_a_distance,
          box_on_ground, falling_box, torque_of_the_box, gradient_of_the_fall, dissipation, box_corners,
          scenes, refusals, momentum_is_seen, pusher_is_seen)
