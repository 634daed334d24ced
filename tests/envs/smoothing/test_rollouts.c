/* SPDX-License-Identifier: Apache-2.0 */
/* test_rollouts.c - the environments of smoothing/ with motion: costs and derivatives measured once,
 * gradients against differences along whole episodes, invariants, the effect of a gap on gradients and the
 * remedies; the score of noise on the actions of a policy (diffsim/ext/draft/score.h). */
#include "differences.h"
#include "host.h"
#include "sanitizers.h"
#include "test.h"

#include <diffsim/ext/draft/score.h>
#include <diffsim/helper/eval.h>
#include <diffsim/helper/random.h>

enum { MOST = 400 };

/* ---- figures measured once with another program ---- */

typedef struct measured {
    const char *env, *settings[4];
    double cost;
    int at[3];
    double slope[3];
} measured;

static const measured cases[] = {
    {"envs/push", {"set=k10"}, 2374.893808, {0, 399}, {-94.648472, 0.206871}},
    {"envs/push", {"set=k100"}, 1746.156951, {0, 199}, {-39.109526, 0.204155}},
    {"envs/push", {"set=k1000"}, 1821.249004, {0, 199}, {-26.482480, 0.202127}},
    {"envs/friction", {NULL}, 16200.4, {-1}, {0}},
    {"envs/friction", {"guess=0.1"}, 11784.175913, {0, 200, -1}, {-295.474671, -60.975532}},
    {"envs/friction", {"guess=1"}, 19830.369787, {-1}, {0}},
    {"envs/spring_wall", {"set=k100"}, 884.202278, {-1}, {0}},
    {"envs/spring_wall", {"set=k500"}, 1040.419828, {-1}, {0}},
    {"envs/spring_wall", {"set=k1000"}, 1173.617219, {-1}, {0}},
    {"envs/pendulum", {"variant=swingup200"}, 2008.015353, {0, 100, 199}, {-8.178383, -10.228603, 0.092632}},
    {"envs/roomba", {NULL}, 3342.540974, {-1}, {0}},
    {"envs/tennis", {"begin=fixed"}, 523.897545, {-1}, {0}},
    {"envs/tennis", {"start=-2,2,0.4,-0.4,0.5,0,0"}, 288.232505, {-1}, {0}},
    {"envs/lqr", {NULL}, 2000, {-1}, {0}},
};

static void measured_once(void **state)
{
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const measured *m = &cases[k];
        fake_env e;
        fake_env_open(&e, m->env, m->settings, 0, 0);
        double *grad = malloc(e.info.n * sizeof *grad);
        assert_non_null(grad);
        /* known to six digits after the point */
        assert_near(fake_eval(&e, e.x0, grad, 0, NULL), m->cost, 1e-8 * m->cost + 5e-7);
        for (int i = 0; i < 3 && m->at[i] >= 0 && fabs(m->slope[i]) > 0; i++) {
            assert_near(grad[m->at[i]], m->slope[i], 1e-5 * fabs(m->slope[i]) + 5e-7);
        }
        free(grad);
        fake_env_close(&e);
    }
}

static int hits(fake_env *e, int *first)
{
    const double *contact = fake_metric(e, e->x0, "contact");
    int count = 0;
    for (int k = 199; k >= 0; k--) {
        if (contact[k] > 0) {
            count++;
            *first = k;
        }
    }
    return count;
}

static void hits_of_tennis(void **state)
{
    fake_env e;
    int first = -1;
    fake_env_open(&e, "envs/tennis", NULL, 0, 0);
    assert_true(hits(&e, &first) == 1 && first == 198);
    fake_env_close(&e);
    fake_env_open(&e, "envs/tennis", SETTINGS("start=-2,2,0.4,-0.4,0.5,0,0"), 0, 0);
    assert_true(hits(&e, &first) >= 1 && first == 94);
    fake_env_close(&e);
}

/* ---- gradients ---- */

/* Counts components that differ from both one-sided quotients, too; *kinks: those between two different
 * quotients, or next to a jump. */
static int wrong_at(fake_env *e, double *x, const double *grad, int *kinks)
{
    const uint64_t n = e->info.n;
    const double middle = fake_eval(e, x, NULL, 0, NULL);
    double largest = 0;
    int wrong = 0;
    for (uint64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(grad[i]));
    }
    for (uint64_t i = 0; i<n; i += n> MOST ? n / MOST : 1) {
        const double kept = x[i], h = 1e-5 * fmax(1, fabs(kept)), rounding = 1e-14 * fabs(middle) / h;
        double loss[4];
        for (int k = 0; k < 4; k++) {
            x[i] = kept + h * (k < 2 ? k - 2 : k - 1); /* -2, -1, 1, 2 */
            loss[k] = fake_eval(e, x, NULL, 0, NULL);
        }
        x[i] = kept;
        const double narrow = (loss[2] - loss[1]) / (2 * h), wide = (loss[3] - loss[0]) / (4 * h);
        const double quotient = narrow + (narrow - wide) / 3, size = fmax(fabs(grad[i]), 1e-3 * largest);
        const double jump = fabs(loss[3] - 3 * loss[2] + 3 * middle - loss[1]) / h +
                            fabs(loss[2] - 3 * middle + 3 * loss[1] - loss[0]) / h;
        if (!(fabs(quotient - grad[i]) <= 1e-6 * size + 20 * rounding)) {
            const int kink = jump > 0.1 * fabs(quotient - grad[i]);
            wrong += !kink;
            *kinks += kink;
            if (!kink) {
                print_message("component %d: %.12g, quotient %.12g\n", (int)i, grad[i], quotient);
            }
        }
    }
    return wrong;
}

static const struct {
    const char *env, *settings[6];
    double part; /* of the box, about the start */
    int smooth;  /* no kinks at all */
} gradients[] = {
    {"envs/push", {"set=k10"}, 0.1, 0},
    {"envs/push", {"set=k1000"}, 0.1, 0},
    {"envs/push", {"set=k100", "softness=softplus"}, 0.1, 1},
    {"envs/push", {"set=k100", "softness=barrier"}, 0.1, 1},
    {"envs/push", {"set=k100", "softness=gaussian"}, 0.1, 1},
    {"envs/push_far", {"guess=2", "contact_loss=1"}, 0.2, 0},
    {"envs/push_far", {"guess=2", "softness=softplus", "contact_loss=1"}, 0.2, 0},
    {"envs/push_far", {"guess=0.5", "contact_loss=1", "proximity=soft", "proximity_scale=0.1"}, 0.1, 0},
    {"envs/friction", {NULL}, 0.05, 0},
    {"envs/friction", {NULL}, 0.005, 0},
    {"envs/spring_wall", {"set=k100"}, 0.3, 0},
    {"envs/spring_wall", {"set=k4000", "control_in_wall=ignored"}, 0.3, 0},
    {"envs/roomba", {NULL}, 0.2, 0},
    {"envs/roomba", {"robot=bicycle", "guess=1"}, 0.1, 0},
    {"envs/roomba", {"softness=softplus", "guess=1"}, 0.1, 1},
    {"envs/roomba", {"softness=barrier", "width=0.01", "guess=1"}, 0.1, 1},
    {"envs/roomba", {"softness=gaussian", "guess=2"}, 0.1, 1},
    {"envs/roomba", {"robot=bicycle", "softness=softplus", "guess=1"}, 0.1, 1},
    {"envs/planar_hand", {NULL}, 0.5, 0},
    {"envs/planar_hand", {"friction=0", "steps=40"}, 0.5, 0},
    {"envs/planar_hand", {"contact=smooth"}, 0.5, 1},
    {"envs/planar_hand", {"contact=smooth", "kappa=1e5", "friction=1"}, 0.3, 1},
    {"envs/planar_hand", {"contact=mean", "draws=2"}, 0.5, 0},
    {"envs/planar_hand", {"contact=mean", "draws=3", "noise=0.01", "friction=0"}, 0.5, 0},
    {"envs/pendulum", {"variant=swingup200"}, 0.3, 1},
    {"envs/tennis", {NULL}, 0.03, 0},
    {"envs/tennis", {"contact=bounce"}, 0.03, 0},
    {"envs/tennis", {"contact=rounded"}, 0.03, 0},
    {"envs/tennis", {"contact=box", "k=1000"}, 0.03, 0},
    {"envs/lqr", {"states=12"}, 0.1, 1},
    {"envs/lqr", {NULL}, 0.01, 1},
    {"envs/pivot", {NULL}, 0.3, 1},
    {"envs/pivot", {"arm=along", "softness=none"}, 0.3, 0},
    {"envs/ball_wall_soft", {NULL}, 0.3, 0},
    {"envs/ball_wall_soft", {"softness=none"}, 0.3, 0},
    {"envs/ball_wall_soft", {"variant=hard", "guess=0.68"}, 0.2, 0},
    {"envs/ball_wall_soft", {"variant=hard", "dome=true", "guess=0.68"}, 0.05, 0},
};

static void gradients_are_slopes(void **state)
{
    for (size_t k = 0; k < sizeof gradients / sizeof gradients[0]; k++) {
        fake_env e;
        int kinks = 0, checked = 0;
        fake_env_open(&e, gradients[k].env, gradients[k].settings, 0, 0);
        const uint64_t n = e.info.n;
        double *x = malloc(2 * n * sizeof *x), *grad = x + n;
        assert_non_null(x);
        for (uint64_t point = 0; point < (n == 1 ? 40 : check_all() ? 5 : 2); point++) {
            rigid_random(x, n, point + 1);
            for (uint64_t i = 0; i < n; i++) {
                x[i] = e.x0[i] + gradients[k].part * 0.5 * (e.upper[i] - e.lower[i]) * x[i];
            }
            fake_eval(&e, x, grad, 0, NULL);
            if (wrong_at(&e, x, grad, &kinks) > 0) {
                fail_msg("%s, %s: set %zu", gradients[k].env, gradients[k].settings[0], k);
            }
            checked += n > MOST ? MOST : (int)n;
        }
        if (kinks > (gradients[k].smooth ? 0 : 0.15 * checked)) {
            fail_msg("%s: %d of %d components undecided, set %zu", gradients[k].env, kinks, checked, k);
        }
        free(x);
        fake_env_close(&e);
    }
}

/* ---- push ---- */

/* Ratio of the variances of first and zeroth order, of samples of noise 0.3. */
static double variance_ratio(const char *stiffness)
{
    enum { T = 30, N = 300 };
    double mean[2][T] = {{0}}, squares[2] = {0, 0}, x[T], w[T], grad[T];
    fake_env e;
    fake_env_open(&e, "envs/push", SETTINGS("set=variance", stiffness), 0, 0);
    ds_random random = ds_random_open(5, "variance", 0);
    const double base = fake_eval(&e, e.x0, NULL, 0, NULL);
    for (int i = 0; i < N; i++) {
        for (int t = 0; t < T; t++) {
            w[t] = 0.3 * ds_random_normal(&random);
            x[t] = e.x0[t] + w[t];
        }
        const double loss = fake_eval(&e, x, grad, 0, NULL);
        for (int t = 0; t < T; t++) {
            const double g[2] = {(loss - base) * w[t] / 0.09, grad[t]};
            for (int k = 0; k < 2; k++) {
                mean[k][t] += g[k] / N;
                squares[k] += g[k] * g[k] / N;
            }
        }
    }
    for (int t = 0; t < T; t++) {
        for (int k = 0; k < 2; k++) {
            squares[k] -= mean[k][t] * mean[k][t];
        }
    }
    fake_env_close(&e);
    return squares[1] / squares[0];
}

/* From k = 2 m / h^2 = 8000 N/m on, a step throws the blocks apart: there the first order becomes better than
 * the zeroth. */
static void stiffness_costs_the_first_order(void **state)
{
    static const char *const k[] = {"k=1e2", "k=1e3", "k=3e3", "k=1e4", "k=1e5", "k=1e6"};
    double before = 0;
    for (int i = 0; i < 6; i++) {
        const double ratio = variance_ratio(k[i]);
        print_message("%s: s1^2/s0^2 = %.4g\n", k[i], ratio);
        assert_true(i < 4 ? ratio > before : ratio > 1);
        assert_true(i > 2 || ratio < 0.1);
        before = ratio;
    }
}

static void narrow_ramp_is_hard(void **state)
{
    fake_env hard, soft;
    double x[200];
    fake_env_open(&hard, "envs/push", SETTINGS("set=k1000"), 0, 0);
    for (int k = 0; k < 3; k++) {
        static const char *const kernels[] = {"softness=softplus", "softness=barrier", "softness=gaussian"};
        fake_env_open(&soft, "envs/push", SETTINGS("set=k1000", kernels[k], "width=1e-9"), 0, 0);
        rigid_random(x, 200, 3);
        const double loss = fake_eval(&hard, x, NULL, 0, NULL);
        assert_near(fake_eval(&soft, x, NULL, 0, NULL), loss, 1e-5 * loss);
        fake_env_close(&soft);
    }
    fake_env_close(&hard);
}

/* ---- push_far ---- */

/* Loss after 300 steps of gradient descent from no force; *first gets the sum of the first gradient. */
static double descend(const char *const *settings, double *first)
{
    double x[200] = {0}, grad[200], sum = 0;
    fake_env e;
    fake_env_open(&e, "envs/push_far", settings, 0, 0);
    for (int k = 0; k <= 300; k++) {
        double length = 0;
        fake_eval(&e, x, grad, 0, NULL);
        sum = 0;
        for (int t = 0; t < 200; t++) {
            sum += grad[t];
            length += grad[t] * grad[t];
        }
        *first = k == 0 ? sum : *first;
        for (int t = 0; t < 200; t++) { /* only the direction matters: the slopes differ by powers of ten */
            x[t] -= length > 0 ? 0.3 * grad[t] / sqrt(length) : 0;
        }
    }
    const double *x2 = fake_metric(&e, x, "x2");
    const double miss = x2[200] - 3;
    fake_env_close(&e);
    return miss * miss;
}

static void gap_without_gradient(void **state)
{
    double first = 1;
    assert_near(descend(SETTINGS("steps=200"), &first), 1, 0);
    assert_true(first == 0);
    const char *const *const remedies[] = {
        SETTINGS("contact_loss=1"), SETTINGS("contact_loss=1", "proximity=soft"),
        SETTINGS("softness=softplus"), SETTINGS("softness=barrier", "width=0.01"),
        SETTINGS("contact_grad=distance")};
    for (int k = 0; k < 5; k++) {
        const double loss = descend(remedies[k], &first);
        print_message("%s: %.3g, first slope %.3g\n", remedies[k][0], loss, first);
        assert_true(first < 0); /* forward, to the other block */
        assert_true(loss < 0.1);
    }
}

/* The weighted mean is 0 in contact, like the least gap; far away it differs from the least gap. */
static void soft_proximity(void **state)
{
    double x[200] = {0};
    fake_env hard, soft;
    fake_env_open(&hard, "envs/push_far", SETTINGS("contact_loss=1", "start=0,1,0,0"), 0, 0);
    fake_env_open(&soft, "envs/push_far", SETTINGS("contact_loss=1", "start=0,1,0,0", "proximity=soft"), 0,
                  0);
    assert_near(fake_eval(&soft, x, NULL, 0, NULL), fake_eval(&hard, x, NULL, 0, NULL), 1e-15);
    fake_env_close(&hard);
    fake_env_close(&soft);
    fake_env_open(&soft, "envs/push_far", SETTINGS("contact_loss=1", "proximity=soft"), 0, 0);
    assert_near(fake_eval(&soft, x, NULL, 0, NULL), 2, 1e-12); /* all gaps are 1 */
    fake_env_close(&soft);
}

/* ---- the others ---- */

static void pivot_keeps_momentum(void **state)
{
    fake_env e;
    double angle = 0.5;
    fake_env_open(&e, "envs/pivot", SETTINGS("h=0.0005", "steps=1000", "softness=none"), 0, 0);
    const double *speed = fake_metric(&e, &angle, "speed"), *rate = fake_values(&e, "rate");
    const double *x = fake_values(&e, "x"), *y = fake_values(&e, "y");
    assert_true(fabs(rate[1000]) > 0.1);
    assert_near(0.5 * speed[1000] * speed[1000] + 0.5 * rate[1000] * rate[1000], 2, 2e-3); /* elastic */
    /* angular momentum about the pivot, clockwise; the last step has the last velocity */
    const double vx = (x[1000] - x[999]) / 0.0005, vy = (y[1000] - y[999]) / 0.0005;
    const double before = 0.7 * 2 * sin(angle);
    assert_near(y[1000] * vx - (x[1000] - 0.7) * vy + rate[1000], before, 1e-9);
    fake_env_close(&e);
    fake_env_open(&e, "envs/pivot", SETTINGS("length_noise=0.2"), 0, 0);
    int missed = 0;
    for (uint64_t key = 1; key <= 100;
         key++) { /* 0.35 m up: a bar of 0.5 +- 0.2 m, 0.055 m more with both radii, is shorter in 1 of 6 */
        missed += fake_eval(&e, &angle, NULL, key, NULL) > -1e-3;
    }
    assert_in_range(missed, 6, 28);
    fake_env_close(&e);
}

/* Beyond the edge of the tower the cost jumps; with a dome it is continuous. */
static void edge_and_dome(void **state)
{
    fake_env e;
    double jump[2], fine = 1e-5;
    for (int dome = 0; dome < 2; dome++) {
        fake_env_open(&e, "envs/ball_wall_soft", SETTINGS("variant=hard", dome ? "dome=true" : "dome=false"),
                      0, 0);
        jump[dome] = 0;
        for (double a = 0.5; a < 0.9; a += fine) {
            const double b = a + fine;
            jump[dome] =
                fmax(jump[dome], fabs(fake_eval(&e, &b, NULL, 0, NULL) - fake_eval(&e, &a, NULL, 0, NULL)));
        }
        fake_env_close(&e);
    }
    print_message("largest jump: edge %.3g, dome %.3g\n", jump[0], jump[1]);
    assert_true(jump[0] > 0.1 && jump[1] < 0.02);
}

static void robot_is_stopped(void **state)
{
    double x[400], grad[400];
    fake_env e;
    for (int t = 0; t < 200; t++) { /* straight into the disc at (0, 1.5), 0.2 */
        x[2 * t] = 0.1;
        x[2 * t + 1] = 3;
    }
    fake_env_open(&e, "envs/roomba", SETTINGS("start=0,0.8"), 0, 0);
    const double *y = fake_metric(&e, x, "y"), *stopped = fake_values(&e, "stopped");
    assert_true(stopped[199] > 0);
    assert_near(y[200], 1.3, 0.04);
    const double loss = fake_eval(&e, x, grad, 0, NULL);
    assert_near(grad[399], 2 * 0.001 * 3, 1e-15); /* a stopped step has only its effort */
    fake_env_close(&e);
    for (int k = 0; k < 2; k++) {
        fake_env_open(&e, "envs/roomba", SETTINGS("start=0,0.8", k ? "collision=any" : "collision=last"), 0,
                      0);
        assert_near(fake_eval(&e, x, NULL, 0, NULL), loss + 100, 1e-9);
        fake_env_close(&e);
    }
    fake_env_refuses("envs/roomba", SETTINGS("discs=1,2"), "three");
    fake_env_refuses("envs/ball_wall_soft", SETTINGS("variant=hard", "tower_x=0.02"), "tower_x");
}

/* Straight into the disc at (0, 1.5): the exact gradient ignores the controls of stopped steps, each remedy
 * does not; narrow softness acts as a stop; without discs nearby all gradients are exact. */
static void discs_felt_from_afar(void **state)
{
    static const char *const remedies[4][3] = {
        {NULL}, {"contact_grad=distance"}, {"softness=softplus"}, {"softness=gaussian", "width=1e-6"}};
    double x[400], grad[4][400], loss[4];
    for (int t = 0; t < 200; t++) {
        x[2 * t] = 0.13;
        x[2 * t + 1] = 3;
    }
    for (int k = 0; k < 4; k++) {
        fake_env e;
        fake_env_open(&e, "envs/roomba",
                      (const char *const[]){"start=0,0.8", remedies[k][0] ? remedies[k][0] : "h=0.01",
                                            remedies[k][1], NULL},
                      0, 0);
        ds_eval io = {.bad_step = -1, .want = DS_WANT_GRAD, .n = 400, .x = x, .grad = grad[k]};
        assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
        assert_int_equal(io.grad_kind, k == 1 ? DS_GRAD_SMOOTHED : DS_GRAD_ADJOINT);
        loss[k] = io.loss;
        fake_env_close(&e);
    }
    assert_true(loss[1] == loss[0]);
    assert_near(loss[3], loss[0], 1e-9 * loss[0]);
    assert_true(loss[2] != loss[0]);
    /* A stopped step has only the gradient of its effort, 2 R u; a remedy adds a part in the direction around
     * the disc. */
    assert_near(grad[0][300], 2 * 0.001 * 0.13, 1e-15);
    assert_true(fabs(grad[1][300] - grad[0][300]) > 1e-6 && fabs(grad[2][300] - grad[0][300]) > 1e-6);
    for (int k = 0; k < 2; k++) { /* in free space */
        fake_env e;
        fake_env_open(&e, "envs/roomba", SETTINGS("discs=100,100,1", k ? "contact_grad=distance" : "h=0.01"),
                      0, 0);
        fake_eval(&e, x, grad[k], 0, NULL);
        fake_env_close(&e);
    }
    assert_memory_equal(grad[0], grad[1], sizeof grad[0]);
}

/* ---- score ---- */

static const ds_env_score *table_of(const fake_env *e)
{
    const ds_env_score *t = e->plugin->env->get_extension(e->self, DS_EXT_SCORE);
    assert_non_null(t);
    return t;
}

typedef struct answer {
    double loss, baseline;
    uint64_t cost;
} answer;

/* An episode with score, and evaluate() of the same. */
static answer ask(fake_env *e, const double *x, uint64_t key, double sigma, double *grad, double *score,
                  double *noise)
{
    ds_eval io = {.bad_step = -1,
                  .want = grad != NULL ? DS_WANT_GRAD : 0,
                  .n = e->info.n,
                  .x = x,
                  .noise_key = key,
                  .grad = grad};
    ds_score s = {
        .struct_size = sizeof s, .flags = DS_SCORE_BASELINE, .sigma = sigma, .score = score, .noise = noise};
    ds_eval_table t;
    ds_eval_table_of(&io, &t);
    assert_int_equal(table_of(e)->evaluate(e->self, &t.rows, &t.results, &s), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_OK);
    return (answer){io.loss, s.baseline, io.cost_steps};
}

static void beside_evaluate(void **state)
{
    static const char *const names[] = {"envs/tennis", "envs/lqr"};
    for (int k = 0; k < 2; k++) {
        fake_env e;
        ds_score_info info = {.struct_size = sizeof info};
        fake_env_open(&e, names[k], k ? SETTINGS("states=4") : NULL, 0, 0);
        const uint64_t n = e.info.n;
        assert_int_equal(table_of(&e)->info(e.self, &info), DS_OK);
        assert_int_equal(info.noise, k ? 40 : 600);
        assert_int_equal(info.action, k ? 4 : 3);
        assert_near(info.sigma, k ? 0.1 : 0.01, 0);
        double *x = calloc(4 * n + 2 * info.noise, sizeof *x), *grad = x + n, *again = grad + n,
               *score = again + n;
        double *noise = score + n, *twice = noise + info.noise;
        assert_non_null(x);
        for (uint64_t i = 0; i < n; i++) {
            x[i] = 0.02 * sin((double)i);
        }
        const answer a = ask(&e, x, 7, 0, grad, score, noise);
        assert_true(a.loss == fake_eval(&e, x, again, 7, NULL));
        assert_memory_equal(grad, again, n * sizeof *grad);
        assert_true(a.loss != a.baseline && a.cost >= 2 * e.info.steps);
        /* the same noise, ten times as strong, and again at another x */
        ask(&e, x, 7, 10 * info.sigma, NULL, again, twice);
        for (uint64_t i = 0; i < info.noise; i++) {
            assert_near(twice[i], 10 * noise[i], 1e-14);
        }
        x[0] += 0.01;
        ask(&e, x, 7, 0, NULL, again, twice);
        assert_memory_equal(noise, twice, info.noise * sizeof *noise);
        /* without a key there is no noise */
        const answer quiet = ask(&e, x, 0, 0, NULL, score, noise);
        assert_true(quiet.loss == quiet.baseline);
        for (uint64_t i = 0; i < n; i++) {
            assert_true(score[i] == 0);
        }
        free(x);
        fake_env_close(&e);
    }
}

/* Sum of w_t x_t' of lqr, whose episode is written out here. */
static void by_definition(void **state)
{
    enum { D = 3, T = 10 };
    double k[D * D], score[D * D], want[D * D] = {0}, noise[D * T], x[D] = {1, 1, 1};
    fake_env e;
    fake_env_open(&e, "envs/lqr", SETTINGS("states=3", "begin=fixed"), 0, 0);
    for (int i = 0; i < D * D; i++) {
        k[i] = 0.1 * cos(i);
    }
    const answer a = ask(&e, k, 3, 0, NULL, score, noise);
    assert_true(a.baseline == fake_eval(&e, k, NULL, 0, NULL));
    double cost = 0;
    for (int t = 0; t < T; t++) {
        double u[D];
        for (int i = 0; i < D; i++) {
            u[i] = noise[t * D + i];
            for (int j = 0; j < D; j++) {
                u[i] += k[i * D + j] * x[j];
                want[i * D + j] += noise[t * D + i] * x[j];
            }
        }
        for (int i = 0; i < D; i++) {
            cost += x[i] * x[i] + 0.1 * u[i] * u[i];
            x[i] += u[i];
        }
    }
    for (int i = 0; i < D; i++) {
        cost += 10 * x[i] * x[i];
    }
    assert_near(a.loss, cost, 1e-12 * cost);
    for (int i = 0; i < D * D; i++) {
        assert_near(score[i], want[i], 1e-13);
    }
    ds_eval io = {.bad_step = -1, .n = e.info.n, .x = k};
    ds_score bad = {.struct_size = sizeof bad, .sigma = -1, .score = score};
    ds_eval_table t;
    ds_eval_table_of(&io, &t);
    assert_int_equal(table_of(&e)->evaluate(e.self, &t.rows, &t.results, &bad), DS_E_ARG);
    assert_non_null(strstr(e.host.error, "sigma"));
    fake_env_close(&e);
}

/* The loss of lqr is smooth: zeroth and first order have the same mean. */
static void same_mean(void **state)
{
    enum { D = 2, M = D * D, N = 20000 };
    double k[M] = {-0.5, 0.1, -0.2, -0.4}, grad[M], score[M], sum[M] = {0}, squares[M] = {0};
    fake_env e;
    fake_env_open(&e, "envs/lqr", SETTINGS("states=2", "steps=4", "sigma=0.3"), 0, 0);
    for (uint64_t key = 1; key <= N; key++) {
        const answer a = ask(&e, k, key, 0, grad, score, NULL);
        for (int i = 0; i < M; i++) {
            const double apart = (a.loss - a.baseline) / 0.09 * score[i] - grad[i];
            sum[i] += apart / N;
            squares[i] += apart * apart / N;
        }
    }
    for (int i = 0; i < M; i++) {
        const double deviation = sqrt((squares[i] - sum[i] * sum[i]) / N);
        print_message("gain %d: means apart by %.3g, standard error %.3g\n", i, sum[i], deviation);
        assert_true(fabs(sum[i]) < 4.5 * deviation);
        assert_true(deviation < 0.5);
    }
    fake_env_close(&e);
}

/* Starts are drawn as described, independently of x. */
static void random_starts(void **state)
{
    enum { N = 4000 };
    double k[21] = {0}, squares = 0;
    fake_env e;
    fake_env_open(&e, "envs/tennis", SETTINGS("steps=1", "goal=0,0,0,0,0,0,0", "qd=1,0,0,0,0,0,0", "r=0"), 0,
                  0);
    for (uint64_t key = 1; key <= N; key++) { /* one step later: x (1 - 0.2 h 0.999) and little else */
        squares += fake_eval(&e, k, NULL, key, NULL) / N;
    }
    assert_near(squares, 4.0 / 3 * 0.99 * 0.99, 0.05);
    fake_env_close(&e);
    fake_env_open(&e, "envs/tennis", SETTINGS("begin=fixed", "sigma=1e-9"), 0, 0);
    assert_near(fake_eval(&e, k, NULL, 5, NULL), 523.897545, 1e-4);
    fake_env_close(&e);
}

/* ---- linear models of open-loop episodes ---- */

/* The channels of an episode at x, in their order: state, state_jacobian, control_jacobian, cost_gradient,
 * cost_hessian. The rows and columns follow from the number of steps and of states. */
enum { MODEL = 5, MODEL_MOST = 24 };

/* `first`: number of channel state; `full`: the second derivatives are matrices, not diagonals. */
typedef struct model_shape {
    const char *env, *settings[5];
    uint64_t n, m; /* numbers of a state, of a control */
    uint32_t first;
    int full;
} model_shape;

static void read_model(fake_env *e, const model_shape *of, const double *x, uint64_t T,
                       double *channel[MODEL])
{
    const uint64_t n = of->n, m = of->m;
    const uint64_t elements[MODEL] = {(T + 1) * n, T * n * n, T * n * m, (T + 1) * (n + m),
                                      (T + 1) * (n + m) * (of->full ? n + m : 1)};
    ds_eval_query query[MODEL], *queries[MODEL];
    for (int i = 0; i < MODEL; i++) {
        channel[i] = calloc(elements[i], sizeof(double));
        assert_non_null(channel[i]);
        query[i] = (ds_eval_query){.op = DS_QUERY_VALUE,
                                   .channel = of->first + (uint32_t)i,
                                   .out = channel[i],
                                   .bytes = elements[i] * sizeof(double)};
        queries[i] = &query[i];
    }
    ds_eval io = {.n = e->info.n, .x = x, .bad_step = -1, .queries = MODEL, .query = queries};
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    assert_int_equal(io.outcome, DS_EVAL_OK);
}

/* The matrices are symmetric and positive; that of a square of linear residuals is the change of the
 * gradient; that of the length of residuals bounds the square of its slope. */
static void has_positive_curvature(const model_shape *of, uint64_t T, double *channel[MODEL])
{
    const uint64_t all = of->n + of->m;
    const int cartpole = strstr(of->env, "cartpole") != NULL;
    const int square = of->settings[1] != NULL && strcmp(of->settings[1], "loss=state_sq") == 0;
    int some = 0;
    for (uint64_t t = 0; t <= T; t++) {
        const double *H = channel[4] + t * all * all, *c = channel[3] + t * all;
        double v[MODEL_MOST], bent = 0, along = 0, size = 0;
        rigid_random(v, all, 100 + t);
        for (uint64_t i = 0; i < all; i++) {
            along += c[i] * v[i];
            for (uint64_t j = 0; j < all; j++) {
                assert_true(H[i * all + j] == H[j * all + i]);
                bent += v[i] * H[i * all + j] * v[j];
                size += fabs(H[i * all + j]);
            }
        }
        some |= size > 0;
        assert_true(bent >= -1e-12 * size);
        for (uint64_t i = 0; t == T && square && i < of->n; i++) { /* c = H x, the least state is 0 */
            double sum = 0;
            for (uint64_t j = 0; j < of->n; j++) {
                sum += H[i * all + j] * channel[0][T * of->n + j];
            }
            assert_near(sum, c[i], 1e-12 * size);
        }
        if (t == T && cartpole && !square) { /* H = J'J / d, c = J' r / d: (c v)^2 <= d v'Hv, d the loss */
            assert_true(along * along <= 10 * bent);
        }
    }
    assert_true(some);
}

/* The gradient of the whole episode follows from the model of its steps; the states move by A and B. */
static void steps_have_linear_models(void **state)
{
    static const model_shape models[] = {
        {"envs/cartpole", {"steps=30"}, 4, 2, 0, 1},
        {"envs/cartpole", {"links=2", "steps=20", "hold=2", "integrator=rk4"}, 6, 3, 0, 1},
        {"envs/cartpole", {"variant=nimble", "steps=30"}, 4, 2, 0, 1},
        {"envs/cartpole", {"links=2", "loss=state_sq", "steps=30"}, 6, 3, 0, 1},
        {"envs/robot", {NULL}, 4, 1, 1, 1},
        {"envs/robot", {"examples/robots/arm.ini"}, 14, 7, 1, 1},
        {"envs/robot", {"examples/robots/pusher.ini"}, 10, 2, 1, 1},
        {"envs/push", {"set=k10"}, 4, 1, 0, 0},
        {"envs/push_far", {"guess=2"}, 4, 1, 0, 0},
        {"envs/friction", {NULL}, 4, 1, 0, 0},
        {"envs/spring_wall", {"set=k100"}, 2, 1, 0, 0},
        {"envs/roomba", {"robot=bicycle", "guess=1"}, 5, 2, 0, 0},
        {"envs/pendulum", {"variant=swingup60"}, 2, 1, 0, 0},
        {"envs/pendulum", {"variant=gym"}, 2, 1, 0, 0},
        {"envs/pendulum", {"variant=swingup200"}, 2, 1, 0, 0},
        {"envs/planar_hand", {NULL}, 7, 4, 0, 0},
        {"envs/planar_hand", {"contact=smooth"}, 7, 4, 0, 0},
        {"envs/planar_hand", {"contact_grad=smooth"}, 7, 4, 0, 0},
        {"envs/planar_hand", {"contact=mean", "draws=10"}, 7, 4, 0, 0},
        {"envs/planar_hand", {"contact_grad=mean", "draws=10"}, 7, 4, 0, 0},
    };
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        fake_env e;
        double *channel[MODEL], bar[MODEL_MOST] = {0};
        char task[600];
        const char *const from_file[] = {task, NULL};
        const int is_file = models[k].settings[0] != NULL && strchr(models[k].settings[0], '=') == NULL;
        snprintf(task, sizeof task, "task=%s/%s", getenv("DS_TOP_SRC") != NULL ? getenv("DS_TOP_SRC") : ".",
                 is_file ? models[k].settings[0] : "");
        fake_env_open(&e, models[k].env, is_file ? from_file : models[k].settings, 0, 0);
        const uint64_t n = models[k].n, m = models[k].m, T = e.info.n / m;
        double *x = malloc(2 * e.info.n * sizeof *x), *grad = x + e.info.n;
        assert_non_null(x);
        rigid_random(x, e.info.n, 7);
        for (uint64_t i = 0; i < e.info.n; i++) {
            x[i] = e.x0[i] + 0.1 * (e.upper[i] - e.lower[i]) * x[i];
        }
        fake_eval(&e, x, grad, 0, NULL);
        read_model(&e, &models[k], x, T, channel);
        double largest = 0;
        for (uint64_t i = 0; i < e.info.n; i++) {
            largest = fmax(largest, fabs(grad[i]));
        }
        assert_true(largest > 0);
        memcpy(bar, channel[3] + T * (n + m), n * sizeof *bar);
        for (uint64_t t = T; t-- > 0;) {
            double before[MODEL_MOST];
            const double *A = channel[1] + t * n * n, *B = channel[2] + t * n * m,
                         *c = channel[3] + t * (n + m);
            for (uint64_t j = 0; j < m; j++) {
                double g = c[n + j];
                for (uint64_t i = 0; i < n; i++) {
                    g += B[i * m + j] * bar[i];
                }
                assert_near(g, grad[t * m + j], 1e-9 * largest);
            }
            for (uint64_t j = 0; j < n; j++) {
                before[j] = c[j];
                for (uint64_t i = 0; i < n; i++) {
                    before[j] += A[i * n + j] * bar[i];
                }
            }
            memcpy(bar, before, sizeof before);
        }
        if (models[k].full) {
            has_positive_curvature(&models[k], T, channel);
        }
        const int is_quadratic = !models[k].full && strcmp(models[k].settings[0] ? models[k].settings[0] : "",
                                                           "variant=swingup60") != 0;
        for (uint64_t i = 0; i < n && is_quadratic; i++) { /* weights of the cost */
            const double weight = channel[4][T * (n + m) + i] / 2, end = channel[0][T * n + i];
            double *moved[MODEL];
            assert_true(weight >= 0);
            x[0] += 1e-4;
            read_model(&e, &models[k], x, T, moved);
            x[0] -= 1e-4;
            const double change = moved[0][T * n + i] - end;
            assert_near(moved[3][T * (n + m) + i] - channel[3][T * (n + m) + i], 2 * weight * change,
                        1e-9 * (1 + fabs(channel[3][T * (n + m) + i])));
            for (int c = 0; c < MODEL; c++) {
                free(moved[c]);
            }
        }
        for (int c = 0; c < MODEL; c++) {
            free(channel[c]);
        }
        free(x);
        fake_env_close(&e);
    }
}

/* Random numbers of one environment, drawn once: the same gradient in every instance, and no other motion. */
static void mean_gradient_of_the_hand(void **state)
{
    enum { N = 80 };
    double x[N], grad[4][N], loss[4];
    rigid_random(x, N, 3);
    for (int i = 0; i < N; i++) {
        x[i] *= 0.05;
    }
    for (int k = 0; k < 4; k++) {
        fake_env e;
        fake_env_open(
            &e, "envs/planar_hand",
            SETTINGS(k < 3 ? "contact_grad=mean" : "contact_grad=exact", k == 2 ? "noise=1e-8" : NULL), 0, 0);
        assert_int_equal(e.info.n, N);
        loss[k] = fake_eval(&e, x, grad[k], (uint64_t)k, NULL);
        assert_true(loss[k] == loss[0]);
        fake_env_close(&e);
    }
    double apart = 0, size = 0;
    assert_memory_equal(grad[0], grad[1], sizeof grad[0]);
    for (int i = 0; i < N; i++) {
        assert_near(grad[2][i], grad[3][i], 1e-4 * (1 + fabs(grad[3][i]))); /* without noise: the hard one */
        apart += pow(grad[0][i] - grad[3][i], 2);
        size += pow(grad[3][i], 2);
    }
    print_message("mean and exact gradient: apart %.3g of %.3g\n", sqrt(apart), sqrt(size));
    assert_true(apart > 1e-4 * size);
    fake_env_refuses("envs/planar_hand", SETTINGS("contact=mean", "contact_grad=mean"), "smooth already");
}

RUN_TESTS(steps_have_linear_models, mean_gradient_of_the_hand, measured_once, hits_of_tennis,
          gradients_are_slopes, stiffness_costs_the_first_order, narrow_ramp_is_hard, gap_without_gradient,
          soft_proximity, pivot_keeps_momentum, edge_and_dome, robot_is_stopped, discs_felt_from_afar,
          beside_evaluate, by_definition, same_mean, random_starts)
