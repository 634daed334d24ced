/* SPDX-License-Identifier: Apache-2.0 */
/* test_distance.c - contact at a distance in bounce, pinball, flip and rigid_contact: gradients of softened
 * contact and of proximity against differences, the limit of narrow ramps, what a gradient at a distance
 * changes and what not. */
#include "differences.h"
#include "engines/physics/smoothing/softness.h"
#include "host.h"
#include "sanitizers.h"
#include "test.h"

enum { MOST = 16 }; /* variables */

static double loss_at(void *self, const double *x)
{
    return fake_eval(self, x, NULL, 0, NULL);
}

/* ---- derivatives ---- */

static void ramps(void **state)
{
    for (int64_t kernel = SOFTNESS_SOFTPLUS; kernel <= SOFTNESS_GAUSSIAN; kernel++) {
        const softness s = {.kernel = kernel, .width = 0.2};
        for (int k = -20; k <= 20; k++) {
            const double x = 0.05 * k, h = 1e-4;
            const double slope = (softness_ramp(&s, x + h) - softness_ramp(&s, x - h)) / (2 * h);
            const double density = (softness_slope(&s, x + h) - softness_slope(&s, x - h)) / (2 * h);
            assert_near(softness_slope(&s, x), slope, 1e-6);
            assert_near(softness_density(&s, x), density, 1e-5);
        }
    }
}

static const struct {
    const char *env, *settings[6];
    double part; /* of the box, about its middle */
    double step;
} gradients[] = {
    {"envs/bounce", {"softness=softplus"}, 0.5, 1e-5},
    {"envs/bounce", {"softness=barrier", "variant=paper"}, 0.5, 1e-6},
    {"envs/bounce", {"softness=gaussian", "kf=10"}, 0.5, 1e-5},
    {"envs/pinball", {"softness=softplus"}, 1, 1e-5},
    {"envs/pinball", {"softness=barrier", "softness_width=0.02", "friction=0.3"}, 1, 1e-6},
    {"envs/pinball", {"softness=gaussian", "integrator=semi-implicit", "friction=0.3"}, 1, 1e-5},
    {"envs/pinball", {"softness=softplus", "variant=pinball16"}, 0.5, 1e-6},
    {"envs/pinball", {"contact_loss=1"}, 1, 1e-6},
    {"envs/pinball", {"contact_loss=1", "proximity=soft", "integrator=semi-implicit"}, 1, 1e-6},
    {"envs/pinball", {"contact_loss=0.1", "proximity=soft", "variant=pinball16"}, 0.5, 1e-6},
    {"envs/pinball", {"contact_loss=1", "proximity=soft", "softness=gaussian"}, 1, 1e-5},
    {"envs/flip", {"softness=softplus", "segments=2", "duration=0.1"}, 0.5, 1e-7},
    {"envs/flip", {"softness=barrier", "width=0.002", "segments=2", "duration=0.1"}, 0.5, 1e-7},
    {"envs/flip", {"softness=gaussian", "segments=2", "duration=0.1"}, 0.5, 1e-7},
    {"envs/flip", {"contact_loss=1", "segments=2", "duration=0.1"}, 1, 1e-8},
    {"envs/flip", {"contact_loss=1", "proximity=soft", "segments=2", "duration=0.1"}, 1, 1e-8},
    {"envs/rigid_contact", {"softness=softplus", "observe=state", "duration=1.5"}, 0.5, 1e-6},
    {"envs/rigid_contact", {"softness=barrier", "observe=state", "width=0.005"}, 0.5, 1e-6},
    {"envs/rigid_contact",
     {"softness=gaussian", "observe=state", "duration=1.2", "variables=position velocity turn ke mu"},
     0.3,
     1e-6},
};

static void gradients_are_slopes(void **state)
{
    size_t wrong = 0;
    for (size_t k = 0; k < sizeof gradients / sizeof gradients[0]; k++) {
        double x[MOST], g[MOST];
        fake_env e;
        fake_env_open(&e, gradients[k].env, gradients[k].settings, 0, 0);
        assert_true(e.info.n <= MOST);
        for (uint64_t point = 0; point < (check_all() ? 3u : 1u); point++) {
            rigid_random(x, e.info.n, 40 + point);
            for (uint64_t i = 0; i < e.info.n; i++) {
                x[i] = 0.5 * (e.upper[i] + e.lower[i]) +
                       gradients[k].part * 0.5 * (e.upper[i] - e.lower[i]) * x[i];
            }
            fake_eval(&e, x, g, 0, NULL);
            const differences d = {.name = gradients[k].settings[0],
                                   .n = e.info.n,
                                   .x = x,
                                   .grad = g,
                                   .loss = loss_at,
                                   .self = &e,
                                   .step = gradients[k].step,
                                   .tolerance = 2e-5};
            wrong += differences_check(&d, NULL);
        }
        fake_env_close(&e);
    }
    assert_int_equal(wrong, 0);
}

/* ---- limit of narrow ramps ---- */

/* The ball drops 1 m onto a level bar and rebounds with e times its speed, to e^2 of the height; less if c,
 * the scale of the return push (0.1 m/s), is not far below the speed: 2 % of 4.4 m/s here. */
static void restitution_of_a_spring(void **state)
{
    static const char *const e_text[] = {"restitution=0.9", "restitution=0.5"};
    const double e_value[] = {0.9, 0.5};
    for (int k = 0; k < 2; k++) {
        fake_env e;
        const double x[2] = {0, 0};
        fake_env_open(&e, "envs/pinball",
                      SETTINGS("softness=softplus", "softness_width=1e-4", "stiffness=1e6", "h=1e-5",
                               "steps=80000", "start=2,6.3", e_text[k]),
                      0, 0);
        const double *y = fake_metric(&e, x, "y");
        int t = 0;
        while (y[t + 1] <= y[t]) {
            t++;
        }
        double top = 0;
        for (; t < 80000 && y[t + 1] > y[t]; t++) {
            top = y[t + 1] - 5.3;
        }
        print_message("%s: rises to %.4f m\n", e_text[k], top);
        assert_near(top, e_value[k] * e_value[k], 0.03 * e_value[k] * e_value[k]);
        fake_env_close(&e);
    }
}

static void narrow_ramp_is_hard(void **state)
{
    static const char *const kernels[] = {"softness=softplus", "softness=barrier", "softness=gaussian"};
    for (int k = 0; k < 3; k++) {
        fake_env hard, soft;
        double x[MOST];
        rigid_random(x, 3, 9);
        fake_env_open(&hard, "envs/bounce", NULL, 0, 0);
        fake_env_open(&soft, "envs/bounce", SETTINGS(kernels[k], "width=1e-9"), 0, 0);
        const double loss = fake_eval(&hard, x, NULL, 0, NULL);
        assert_near(fake_eval(&soft, x, NULL, 0, NULL), loss, 1e-4 * loss);
        fake_env_close(&soft);
        fake_env_close(&hard);
        fake_env_open(&hard, "envs/flip", SETTINGS("segments=2", "duration=0.05"), 0, 0);
        fake_env_open(&soft, "envs/flip", SETTINGS(kernels[k], "width=1e-10", "segments=2", "duration=0.05"),
                      0, 0);
        for (uint64_t i = 0; i < hard.info.n; i++) {
            x[i] = hard.lower[i] + 0.2 * (double)(i + 1) * (hard.upper[i] - hard.lower[i]) / 2;
        }
        assert_near(fake_eval(&soft, x, NULL, 0, NULL), fake_eval(&hard, x, NULL, 0, NULL), 1e-5);
        fake_env_close(&soft);
        fake_env_close(&hard);
        fake_env_open(&hard, "envs/rigid_contact", SETTINGS("observe=state"), 0, 0);
        fake_env_open(&soft, "envs/rigid_contact", SETTINGS(kernels[k], "width=1e-10", "observe=state"), 0,
                      0);
        const double far = fake_eval(&hard, hard.x0, NULL, 0, NULL);
        assert_near(fake_eval(&soft, hard.x0, NULL, 0, NULL), far, 1e-4 * far);
        fake_env_close(&soft);
        fake_env_close(&hard);
    }
}

/* ---- without contact ---- */

/* The ball falls between two bars: no derivative, except at a distance, and towards the bars. */
static void what_is_not_touched(void **state)
{
    static const struct {
        const char *settings[4];
        int same_loss;
    } cases[] = {{{"start=4,9.5", NULL}, 1},
                 {{"start=4,9.5", "contact_grad=distance", NULL}, 1},
                 {{"start=4,9.5", "contact_grad=distance", "grad_softness=barrier", NULL}, 1},
                 {{"start=4,9.5", "contact_loss=1", NULL}, 0},
                 {{"start=4,9.5", "softness=barrier", NULL}, 0}};
    const double x[2] = {0.3, 0.2};
    double loss[5], g[5][2];
    for (int k = 0; k < 5; k++) {
        fake_env e;
        fake_env_open(&e, "envs/pinball", cases[k].settings, 0, 0);
        loss[k] = fake_eval(&e, x, g[k], 0, NULL);
        fake_env_close(&e);
        assert_true(!cases[k].same_loss || loss[k] == loss[0]);
        assert_true(k == 0 ? g[k][0] == 0 && g[k][1] == 0 : g[k][0] != 0 && g[k][1] != 0);
    }
    assert_true(g[3][0] > 0 && g[3][1] > 0); /* level bars (angle 0) reach nearest to the ball */
}

/* Before a cube reaches the ground, the gradient says nothing about its contact. With contact at a distance
 * it does, and so do the products with the Jacobian of the residuals, which agree. */
static void ground_is_felt(void **state)
{
    static const char *const remedies[3] = {"contact_grad=exact", "contact_grad=distance",
                                            "softness=barrier"};
    double g[3][2], loss[3];
    for (int k = 0; k < 3; k++) {
        fake_env e;
        fake_env_open(&e, "envs/rigid_contact",
                      SETTINGS("observe=state", "duration=0.5", "variables=ke mu", "gravity=5", remedies[k]),
                      0, 0);
        loss[k] = fake_eval(&e, e.x0, g[k], 0, NULL);
        if (k > 0) { /* otherwise all of them are 0 */
            fake_products(&e, (double[2]){3.8, 0.4}, (double[2]){0.3, -0.2}, 1e-9);
        }
        fake_env_close(&e);
    }
    assert_true(g[0][0] == 0 && g[0][1] == 0);
    assert_true(loss[1] == loss[0] && loss[2] != loss[0]);
    assert_true(g[2][0] != 0);
    fake_env e; /* with a moving start the position shows the ground from a distance, too */
    double by[2][3];
    for (int k = 0; k < 2; k++) {
        fake_env_open(&e, "envs/rigid_contact",
                      SETTINGS("observe=state", "variables=position", "velocity=2,0,0", remedies[k]), 0, 0);
        const double at[3] = {0.1, 0.2, 0};
        fake_eval(&e, at, by[k], 0, NULL);
        fake_products(&e, at, (double[3]){0.3, -0.2, 0.1}, 1e-9);
        fake_env_close(&e);
    }
    assert_true(by[0][1] != by[1][1]);
}

/* DS_GRAD_ADJOINT if the loss has no contact at a distance, otherwise DS_GRAD_SMOOTHED. */
static void kinds_of_gradient(void **state)
{
    static const char *const envs[] = {"envs/pinball", "envs/bounce", "envs/flip", "envs/rigid_contact"};
    for (int k = 0; k < 4; k++) {
        double x[MOST] = {0}, g[MOST], loss[2];
        for (int far = 0; far < 2; far++) {
            fake_env e;
            fake_env_open(&e, envs[k], far ? SETTINGS("contact_grad=distance") : NULL, 0, 0);
            memcpy(x, e.x0, e.info.n * sizeof *x);
            ds_eval io = {.bad_step = -1, .want = DS_WANT_GRAD, .n = e.info.n, .x = x, .grad = g};
            assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
            assert_int_equal(io.grad_kind, far ? DS_GRAD_SMOOTHED : DS_GRAD_ADJOINT);
            loss[far] = io.loss;
            fake_env_close(&e);
        }
        assert_true(loss[0] == loss[1]);
    }
}

static void refused(void **state)
{
    static const char *const envs[] = {"envs/pusher1d", "envs/push", "envs/push_far",      "envs/bounce",
                                       "envs/pinball",  "envs/flip", "envs/rigid_contact", "envs/roomba"};
    for (size_t k = 0; k < sizeof envs / sizeof *envs; k++) {
        fake_env_refuses(envs[k], SETTINGS("softness=barrier", "contact_grad=distance"),
                         "set only one of them");
    }
    fake_env_refuses("envs/pinball", SETTINGS("softness=barrier", "gradient=saltation"), "discrete");
    fake_env_refuses("envs/pinball", SETTINGS("softness=barrier", "residual=friction = depth"), "residual");
}

RUN_TESTS(ramps, gradients_are_slopes, restitution_of_a_spring, narrow_ramp_is_hard, what_is_not_touched,
          ground_is_felt, kinds_of_gradient, refused)
