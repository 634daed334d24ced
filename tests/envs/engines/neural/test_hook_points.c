/* SPDX-License-Identifier: Apache-2.0 */
/* test_hook_points.c - networks at the hook points of environments: gradients over whole episodes against
 * differences, zero weights that change no bit, products, controllers by hand. */
#include "differences.h"
#include "engines/physics/pendulum/compound.h"
#include "host.h"
#include "temporary.h"
#include "test.h"

#include <diffsim/ext/draft/hooks.h>
#include <diffsim/ext/variables.h>
#include <diffsim/helper/hybrid.h>

typedef struct scene {
    const char *env;
    const char *setting[7];
    double step, tolerance;
} scene;

/* One wiring of each kind in each environment. Contacts begin at whole steps: gradients are compared where no
 * contact changes its step. */
static const scene scenes[] = {
    {"envs/cartpole",
     {"steps=60", "residual=joint_torque = joint_angle, joint_rate | 4 | tanh | residual | all"},
     1e-4,
     1e-6},
    {"envs/cartpole",
     {"links=3", "steps=40", "hold=2",
      "residual=joint_torque.2 = joint_rate.2, joint_angle.1 | 3 2 | elu | replace"},
     1e-4,
     1e-6},
    {"envs/cartpole",
     {"links=2", "steps=40", "control=force", "integrator=semi-implicit",
      "residual=cart_force = cart_velocity, cart_position | 3 | softsign & joint_torque = joint_rate | - | "
      "identity"},
     1e-4,
     1e-6},
    {"envs/bounce",
     {"variant=paper", "residual=force = velocity, contact_force.2 | 4 | tanh | residual | all"},
     1e-7,
     1e-4},
    {"envs/bounce",
     {"residual=force.1, force.3 = position.2, contact_force | 3 | sigmoid | replace"},
     1e-7,
     1e-4},
    {"envs/pinball",
     {"friction=0.2",
      "residual=friction = sliding_velocity, normal_velocity, depth | 4 | tanh | residual | all"},
     1e-7,
     1e-4},
    {"envs/pinball",
     {"variant=pinball16", "contact_order=sequential", "integrator=semi-implicit",
      "residual=friction = sliding_velocity | 4 | sin"},
     1e-7,
     1e-4},
    {"envs/swing",
     {"variables=velocity", "cells=4", "h=1e-3", "duration=0.25", "residual_limit=0.01",
      "residual=force = velocity, height | 3 | tanh | residual | hidden"},
     1e-5,
     1e-5},
    {"envs/double_pendulum",
     {"variant=damping", "n_samples=200",
      "residual=joint_torque = joint_angle, joint_rate | 3 2 | elu | residual | all"},
     1e-4,
     1e-6},
    {"envs/double_pendulum",
     {"variant=synthetic", "n_samples=60", "steps_per_sample=2", "held_out=20",
      "residual=joint_torque.1 = joint_rate | 3 | tanh | replace & joint_torque.2 = joint_angle | - | "
      "identity"},
     1e-5,
     1e-5},
    {"envs/double_pendulum",
     {"variant=damping", "rollout=onestep", "n_samples=100", "held_out=30",
      "residual=joint_torque = joint_angle, joint_rate | 3 2 | elu | residual | all"},
     1e-4,
     1e-6},
    {"envs/double_pendulum",
     {"variant=synthetic", "rollout=onestep", "n_samples=60", "steps_per_sample=2",
      "residual=joint_torque = joint_rate, joint_angle | 3 | tanh | replace"},
     1e-5,
     1e-5},
    {"envs/cube_throw",
     {"variables=stiffness damping mu", "n_samples=100", "network_force=50",
      "residual=friction = normal_force, sliding_speed | 3 2 | elu | residual | all & normal = depth, "
      "depth_rate | 3 | tanh"},
     1e-7,
     1e-4},
    {"envs/cube_throw", /* with the network of the paper */
     {"n_samples=80", "network_force=50", "residual=friction, normal = normal_force, depth | 3 | tanh"},
     1e-7,
     1e-4},
    {"envs/cube_throw",
     {"variables=stiffness", "n_samples=80", "network_force=50",
      "residual=normal, friction = depth, depth_rate, sliding_speed | 4 | sigmoid | replace"},
     1e-7,
     1e-4},
    {"envs/rigid_contact",
     {"observe=state", "duration=1", "residual=force, torque = velocity, spin | 3 | tanh | residual | all"},
     1e-6,
     1e-5},
    {"envs/rigid_contact",
     {"observe=state", "duration=0.5", "force=1, 2, 3",
      "residual=force = position, velocity | 3 | tanh | replace & torque.2 = spin | - | identity"},
     1e-6,
     1e-5},
    {"envs/rigid_mass",
     {"observe=state",
      "residual=force, torque = position, momentum, angular_momentum | 3 | tanh | residual | all"},
     1e-5,
     1e-6},
    {"envs/push",
     {"set=k100", "steps=80", "residual=actuation, force = state, control | 3 | tanh | residual | all"},
     1e-5,
     1e-6},
    {"envs/push", {"steps=30", "residual=actuation = control, state.3 | 3 | tanh | replace"}, 1e-5, 1e-6},
    {"envs/push_far",
     {"steps=60", "softness=softplus", "contact_loss=1", "residual=force.2 = state | 3 | tanh"},
     1e-5,
     1e-6},
    {"envs/spring_wall",
     {"steps=60", "residual=force = state | 3 | tanh & actuation = control | 2 | softsign"},
     1e-5,
     1e-6},
    {"envs/friction", {"steps=60", "residual=force, actuation = state | 3 | tanh"}, 1e-6, 1e-5},
    {"envs/roomba",
     {"robot=bicycle", "steps=40", "softness=softplus",
      "residual=actuation = state, control | 3 | tanh | residual | all"},
     1e-5,
     1e-6},
    {"envs/tennis",
     {"steps=60", "begin=fixed", "residual=actuation, force = state | 3 | tanh | residual | all"},
     1e-6,
     1e-5},
    {"envs/lqr", {"states=4", "residual=actuation = state, control | 3 | tanh"}, 1e-5, 1e-6},
    {"envs/planar_hand",
     {"contact=smooth", "steps=8", "residual_limit=0.02",
      "residual=actuation = state, control | 3 | tanh | residual | all"},
     1e-6,
     1e-5},
    {"envs/pendulum", {"residual=torque = angle, rate, control | 4 | tanh | residual | all"}, 1e-5, 1e-6},
    {"envs/pendulum",
     {"variant=swingup200", "residual=torque = control, rate | 3 | tanh | replace"},
     1e-5,
     1e-6},
    {"envs/realtosim",
     {"n_samples=2", "h=1e-3", "residual_limit=1e-4", "residual_bias_limit=1e-4", "r2s_norm=sq",
      "residual=force = velocity, height | 2 | tanh | residual | hidden"},
     1e-5,
     1e-4},
    {"envs/beam",
     {"observe=state", "duration=0.02", "residual_limit=0.02", "residual_bias_limit=0.02",
      "residual=force = velocity, height | 3 | tanh | residual | all"},
     1e-5,
     1e-5},
    {"envs/soft_ball",
     {"observe=state", "duration=0.04", "frames=2", "variables=mu velocity",
      "residual=force.1, force.2 = velocity | 3 | tanh | replace"},
     1e-5,
     1e-5},
    {"envs/walker",
     {"observe=state", "duration=0.1", "residual=force = velocity, height | 2 | tanh"},
     1e-5,
     1e-5},
    {"envs/gear", {"observe=state", "duration=0.02", "residual=force.1 = velocity.1 | - | tanh"}, 1e-5, 1e-5},
    {"envs/cloth_velocity",
     {"observe=state", "duration=0.02", "variables=velocity", "residual=force = velocity | 2 | tanh"},
     1e-5,
     1e-5},
    {"envs/spring_cage",
     {"observe=state", "duration=0.2", "residual=force = velocity, height | 3 | tanh"},
     1e-5,
     1e-5},
    {"envs/smoke",
     {"size=12", "waves=2", "steps=6", "residual=push = velocity, density | 3 | tanh | residual | all"},
     1e-7,
     1e-5},
    {"envs/ball2d",
     {"observe=state", "frames=60", "residual=force = state | 3 | tanh | residual | all"},
     1e-5,
     1e-5},
    {"envs/pendulum_id",
     {"observe=state", "variables=length gravity damping force angle rate",
      "residual=torque = angle, rate | 3 | tanh | residual | all"},
     1e-5,
     1e-5},
    {"envs/pivot", {"residual=force = state | 3 | tanh | residual | all", "residual_l2=0.1"}, 1e-6, 1e-5},
    {"envs/pivot", {"arm=along", "steps=60", "residual=force.3 = state.5, state.6 | 2 | sin"}, 1e-6, 1e-5},
    {"envs/ball_wall_soft", {"residual=force = state | 3 | tanh | residual | all"}, 1e-6, 1e-5},
    {"envs/ball_wall_soft",
     {"variant=hard", "dome=true", "residual=force.2 = state.4 | 3 | tanh"},
     1e-6,
     1e-5},
    {"envs/billiards",
     {"steps=60", "mu=0", "residual=force, torque = position, velocity, spin | 3 | tanh | residual | all"},
     1e-5,
     1e-5},
    {"envs/billiards",
     {"steps=25", "mu=0.1", "restitution=0.5",
      "residual=force = velocity | 2 | sin | replace & torque = spin | 2 | tanh"},
     1e-6,
     1e-5},
    {"envs/hydro2d",
     {"scene=C", "steps=40", "residual=force = state | 3 | tanh | residual | all"},
     1e-6,
     1e-5},
    {"envs/soft",
     {"duration=0.05", "residual=force = velocity, height | 3 | tanh | residual | all"},
     1e-5,
     1e-5},
    {"envs/fluid",
     {"preset=small", "segments=2", "steps=2", "residual_limit=0.2",
      "residual=velocity = control, before | 3 | tanh | residual | all"},
     1e-6,
     1e-5},
};
enum { SCENES = sizeof scenes / sizeof *scenes, POINTS = 3 };

static double loss_at(void *self, const double *x)
{
    uint32_t outcome;
    return fake_eval(self, x, NULL, 0, &outcome);
}

static double one_side(fake_env *e, double *x, uint64_t i, double h)
{
    const double kept = x[i];
    x[i] = kept + h;
    const double loss = loss_at(e, x);
    x[i] = kept;
    return loss;
}

/* The gradient by the weights, and by a sample of the other variables. Where two difference quotients
 * disagree a contact has changed its step and nothing is compared: at most one in ten. */
static void check_gradient(const scene *s, fake_env *e, uint64_t point)
{
    const uint64_t n = e->info.n, stride = n > 120 ? n / 60 : 1;
    double *x = malloc(3 * n * sizeof *x), *grad = x + n, largest = 0, worst = 0;
    unsigned compared = 0, skipped = 0;
    uint32_t outcome;
    assert_non_null(x);
    differences_random(17 + point, n, x);
    for (uint64_t i = 0; i < n; i++) {
        const double middle = 0.5 * (e->lower[i] + e->upper[i]), half = 0.5 * (e->upper[i] - e->lower[i]);
        x[i] = middle + 0.8 * half * x[i];
    }
    fake_eval(e, x, grad, 0, &outcome);
    assert_int_equal(outcome, DS_EVAL_OK);
    for (uint64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(grad[i]));
    }
    for (uint64_t i = point % stride; i < n; i += stride) {
        const double h = s->step;
        const double wide = (one_side(e, x, i, h) - one_side(e, x, i, -h)) / (2 * h),
                     narrow = (one_side(e, x, i, 0.5 * h) - one_side(e, x, i, -0.5 * h)) / h;
        if (fabs(wide - narrow) > s->tolerance * largest) {
            skipped++;
            continue;
        }
        compared++;
        worst = fmax(worst, fabs(grad[i] - narrow) / largest);
    }
    print_message("%s, %llu variables: %u compared, %u not, worst %.1e\n", s->env, (unsigned long long)n,
                  compared, skipped, worst);
    assert_true(largest > 0 && worst <= s->tolerance && skipped * 10 <= compared);
    free(x);
}

static void gradients(void **state)
{
    for (int k = 0; k < SCENES; k++) {
        fake_env e;
        fake_env_open(&e, scenes[k].env, scenes[k].setting, 1, -INFINITY);
        for (uint64_t point = 0; point < POINTS; point++) {
            check_gradient(&scenes[k], &e, point);
        }
        fake_env_close(&e);
    }
}

/* The three kinds of cloth scenes, with their own variables beside the weights. */
static const char *const cloths[] = {
    "[scene]\nmodel = springs\nstep = 1e-3\nduration = 0.25\n[cloth a]\ncells = 4\nmass = variable "
    "0.01..0.03 "
    "start 0.02 truth 0.02\nvelocity = variable -1..1\n[hold]\nduration = 0.2\n[floor]\n[target]\nvelocity = "
    "0 -0.4 "
    "0.6\n",
    "[scene]\nmodel = springs\nstep = 5e-4\nduration = 0.05\n[cloth a]\nshape = disc\ncells = 2\nspacing = "
    "0.01\ndrag = variable 0.1..1 start 0.5\n[pan]\nflat = 0.15\nradius = 0.2\n[actions]\nsegments = 2\n",
    "[scene]\nmodel = membrane\nduration = 0.1\nsubsteps = 32\n[material]\nlaw = membrane\nstretch = 60\n"
    "area = 60\ndamping = 0.3\nbend = 0.02\ndensity = 1\n[cloth]\nshape = grid\ncells = 4 2\nsize = 1 1\n"
    "center = 0 1 0\nvelocity = variable -2..2 start 0.1 truth 1 0 0\n[loss]\ncompare = points\n"};

/* `out`: the settings with the networks, and without. */
static void cloth_settings(temporary *folder, size_t k, char file[600], const char *const *out[2])
{
    static const char *wired[] = {NULL, "residual_limit=0.01", "residual=force = velocity, height | 2 | tanh",
                                  "residual_start=zero", NULL};
    static const char *plain[] = {NULL, NULL};
    const char *path = temporary_path(folder, "scene.ini");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(cloths[k], f) >= 0);
    assert_int_equal(fclose(f), 0);
    snprintf(file, 600, "scene=%s", path);
    wired[0] = plain[0] = file;
    out[0] = wired;
    out[1] = plain;
}

static void cloth_scenes(void **state)
{
    temporary folder;
    temporary_open(&folder);
    for (size_t k = 0; k < sizeof cloths / sizeof *cloths; k++) {
        const scene s = {"envs/cloth", {NULL}, 1e-5, 1e-5};
        const char *const *setting[2];
        char file[600];
        fake_env e, plain;
        cloth_settings(&folder, k, file, setting);
        fake_env_open(&e, s.env, setting[0], 1, -INFINITY);
        fake_env_open(&plain, s.env, setting[1], 1, -INFINITY);
        assert_int_equal(e.info.n, plain.info.n + 16); /* 4 x 2 + 2 x 3 weights, 2 biases */
        for (uint64_t point = 0; point < POINTS; point++) {
            check_gradient(&s, &e, point);
        }
        double x[64] = {0};
        memcpy(x, plain.x0, plain.info.n * sizeof *x);
        assert_true(fake_eval(&e, x, NULL, 0, NULL) == fake_eval(&plain, x, NULL, 0, NULL));
        fake_env_close(&e);
        fake_env_close(&plain);
    }
    temporary_close(&folder);
}

/* With weights of 0 a residual changes no bit of the loss, and of the gradient only the order of its sums
 * (without networks flights of many steps are one term). All variables start at the same values. */
static void zero_weights(void **state)
{
    for (int k = 0; k < SCENES; k++) {
        fake_env with, without;
        const char *plain[7] = {NULL}, *zero[8] = {"residual_start=zero"};
        int residual = 0;
        for (int i = 0, p = 0; scenes[k].setting[i] != NULL; i++) {
            const int wiring = strncmp(scenes[k].setting[i], "residual=", 9) == 0;
            residual |= wiring && strstr(scenes[k].setting[i], "replace") == NULL &&
                        strstr(scenes[k].setting[i], "sigmoid") == NULL;
            zero[i + 1] = scenes[k].setting[i];
            if (!wiring) {
                plain[p++] = scenes[k].setting[i];
            }
        }
        if (!residual) {
            continue;
        }
        fake_env_open(&with, scenes[k].env, zero, 1, -INFINITY);
        fake_env_open(&without, scenes[k].env, plain, 1, -INFINITY);
        const uint64_t n = without.info.n;
        assert_true(with.info.n > n);
        assert_memory_equal(with.x0, without.x0, n * sizeof *with.x0);
        double *x = calloc(4 * with.info.n, sizeof *x), *g = x + with.info.n, *plain_g = g + with.info.n;
        assert_non_null(x);
        differences_random(2, n, x);
        uint32_t outcome;
        const double a = fake_eval(&with, x, g, 0, &outcome),
                     b = fake_eval(&without, x, plain_g, 0, &outcome);
        assert_true(a == b);
        for (uint64_t i = 0; i < n; i++) {
            assert_near(g[i], plain_g[i], 1e-12 * fmax(1, fabs(plain_g[i])));
        }
        free(x);
        fake_env_close(&with);
        fake_env_close(&without);
    }
}

/* Where there are residuals: products with their Jacobian, by all variables. */
static void products(void **state)
{
    for (int k = 0; k < SCENES; k++) {
        fake_env e;
        double x[80], v[80];
        char name[64];
        snprintf(name, sizeof name, " %s ", scenes[k].env);
        if (strstr(" envs/double_pendulum envs/cube_throw envs/rigid_contact envs/rigid_mass envs/beam "
                   "envs/soft_ball envs/walker envs/cloth_velocity envs/spring_cage envs/smoke envs/ball2d "
                   "envs/pendulum_id envs/billiards ",
                   name) == NULL) {
            continue;
        }
        fake_env_open(&e, scenes[k].env, scenes[k].setting, 1, -INFINITY);
        assert_true(e.info.n <= 80);
        differences_random(5, e.info.n, x);
        differences_random(6, e.info.n, v);
        for (uint64_t i = 0; i < e.info.n; i++) {
            x[i] = 0.5 * (e.lower[i] + e.upper[i]) + 0.4 * (e.upper[i] - e.lower[i]) * x[i];
        }
        fake_products(&e, x, v, 1e-9);
        fake_env_close(&e);
    }
}

/* The paper's network in the friction of the cube equals a general wiring: the same loss and gradient. */
static void network_of_the_cube(void **state)
{
    fake_env own, wired;
    double x[24], v[24], g[2][24];
    fake_env_open(&own, "envs/cube_throw", (const char *[]){"network_force=50", "weight_cost=0", NULL}, 1,
                  -INFINITY);
    fake_env_open(
        &wired, "envs/cube_throw",
        (const char *[]){"network_force=50", "variables=stiffness damping",
                         "residual=friction = normal_force, sliding_speed | 3 2 | elu identity identity | "
                         "residual | all",
                         NULL},
        1, -INFINITY);
    assert_true(own.info.n == 24 && wired.info.n == 24);
    differences_random(3, 24, x);
    x[0] = 5000;
    x[1] = 6000;
    const double loss = fake_eval(&own, x, g[0], 0, NULL);
    assert_true(loss == fake_eval(&wired, x, g[1], 0, NULL));
    assert_memory_equal(g[0], g[1], sizeof g[0]);
    differences_random(4, 24, v);
    fake_products(&own, x, v, 1e-9);
    fake_products(&wired, x, v, 1e-9);
    fake_env_close(&own);
    fake_env_close(&wired);
}

/* A network in place of the pushes of CartPole-v1 is a linear controller: the pole stands, whatever the
 * variables push, and moves by its equations (Barto, Sutton and Anderson 1983), written here once more. */
static void controller_of_the_pole(void **state)
{
    enum { STEPS = 120, GAINS = 4 };
    static const double gain[GAINS] = {1, 2, 30, 6};
    const char *wiring = "residual=force = position, velocity, angle, rate | - | identity | replace | none";
    double x[STEPS + GAINS], q[GAINS] = {0, 0, 0.1, 0}, worst = 0;
    fake_env plain, e;
    fake_env_open(&plain, "envs/cartpole_gym", (const char *[]){"steps=120", "theta0=0.1", NULL}, 1,
                  -INFINITY);
    fake_env_open(&e, "envs/cartpole_gym",
                  (const char *[]){"steps=120", "theta0=0.1", "residual_limit=100", wiring, NULL}, 1,
                  -INFINITY);
    assert_int_equal(e.info.n, STEPS + GAINS);
    differences_random(11, STEPS, x);
    memcpy(x + STEPS, gain, sizeof gain);
    assert_true(fake_eval(&plain, x, NULL, 0, NULL) > 50);
    assert_true(fake_eval(&e, x, NULL, 0, NULL) == 0);
    const double *tilt = fake_metric(&e, x, "theta");
    for (int k = 0; k <= STEPS; k++) {
        const double force = differences_dot(GAINS, gain, q), s = sin(q[2]), c = cos(q[2]);
        worst = fmax(worst, fabs(tilt[k] - q[2]));
        const double part = (force + 0.05 * q[3] * q[3] * s) / 1.1,
                     turn = (9.8 * s - c * part) / (0.5 * (4.0 / 3 - 0.1 * c * c / 1.1)),
                     cart = part - 0.05 * turn * c / 1.1;
        const double next[GAINS] = {q[0] + 0.02 * q[1], q[1] + 0.02 * cart, q[2] + 0.02 * q[3],
                                    q[3] + 0.02 * turn};
        memcpy(q, next, sizeof q);
    }
    print_message("cartpole_gym: angles differ by %.1e from the equations\n", worst);
    assert_true(worst < 1e-12 && fabs(q[2]) < 0.01);
    fake_env_close(&plain);
    fake_env_close(&e);
}

/* With a cost of weights the loss of billiards is not a sum of squares: there are no residuals. */
static void residuals_of_billiards(void **state)
{
    for (int penalty = 0; penalty < 2; penalty++) {
        fake_env e;
        uint64_t count = 0;
        fake_env_open(&e, "envs/billiards",
                      (const char *[]){"steps=2", "residual=force = velocity | 1",
                                       penalty ? "residual_l1=1" : "residual_l1=0", NULL},
                      1, -INFINITY);
        const ds_env_channels *channels = e.plugin->env->get_extension(e.self, DS_EXT_CHANNELS);
        assert_int_equal(channels != NULL ? channels->count(e.self, &count) : DS_OK, DS_OK);
        assert_int_equal(count, penalty ? 0 : 1);
        fake_env_close(&e);
    }
}

/* Penalties are added to loss and gradient; hook points and names are listed. */
static void told(void **state)
{
    fake_env plain, e;
    const char *wiring = "residual=joint_torque = joint_rate | 2 | tanh";
    fake_env_open(&plain, "envs/cartpole", (const char *[]){"steps=20", wiring, NULL}, 1, -INFINITY);
    fake_env_open(&e, "envs/cartpole",
                  (const char *[]){"steps=20", wiring, "residual_l1=0.3", "residual_l2=0.2",
                                   "residual_limit=0.25", "residual_bias_limit=0.125", NULL},
                  1, -INFINITY);
    const uint64_t n = e.info.n, first = n - 6; /* 1 x 2 + 2 x 1 weights, 2 biases */
    double x[64] = {0}, g[64], plain_g[64];
    uint32_t outcome;
    assert_int_equal(n, 46);
    for (uint64_t i = 0; i < 6; i++) {
        x[first + i] = 0.02 * (double)(i + 1);
        assert_true(e.upper[first + i] == (i < 4 ? 0.25 : 0.125) &&
                    e.lower[first + i] == -e.upper[first + i]);
    }
    const double with = fake_eval(&e, x, g, 0, &outcome),
                 without = fake_eval(&plain, x, plain_g, 0, &outcome);
    assert_near(with - without, 0.3 * 0.06 + 0.2 * 0.0004 * 91, 1e-14);
    assert_near(g[first] - plain_g[first], 0.3 + 0.4 * 0.02, 1e-14);
    assert_near(g[n - 1] - plain_g[n - 1], 0.4 * 0.12, 1e-14);

    const ds_env_vtable *vt = e.plugin->env;
    const ds_env_variables *names = vt->get_extension(e.self, DS_EXT_VARIABLES);
    ds_variable v = {.struct_size = sizeof v};
    assert_int_equal(names->describe(e.self, n - 1, &v), DS_OK);
    assert_string_equal(v.name, "net1.b1.2");
    assert_string_equal(v.group, "net1");
    const ds_env_hooks *hooks = vt->get_extension(e.self, DS_EXT_HOOKS);
    uint64_t count = 0;
    ds_hook h = {.struct_size = sizeof h};
    assert_int_equal(hooks->count(e.self, &count), DS_OK);
    assert_int_equal(count, 5);
    assert_int_equal(hooks->describe(e.self, 4, &h), DS_OK);
    assert_string_equal(h.name, "joint_torque");
    assert_true(h.kind == DS_HOOK_OUTPUT && h.count == 1);
    fake_env_close(&plain);
    fake_env_close(&e);
}

/* The pendulum with networks keeps the stages of its steps for the sweeps where there are few: the same bits
 * either way. */
static void kept_stages(void **state)
{
    enum { FRAMES = 30, S = COMPOUND_STATES, K = COMPOUND_VARIABLES, MOST = 64 };
    static const ds_hook joints[] = {DS_HYBRID_HOOK(DS_HOOK_INPUT, 4, "joint", "rad", "Angles and rates."),
                                     DS_HYBRID_HOOK(DS_HOOK_OUTPUT, 2, "torque", "N m", "Torques.")};
    for (int method = 0; method < 2; method++) {
        double w[MOST], dot[MOST], y[2][(FRAMES + 1) * S], x_bar[2][K] = {{0}}, w_bar[2][MOST] = {{0}},
                                                           y_dot[2][(FRAMES + 1) * S], x_dot[K];
        char why[DS_NETWORK_FILE_TEXT];
        ds_memory m = {.last = NULL};
        ds_hybrid h;
        compound_net net;
        compound p = {.method = method == 0 ? COMPOUND_RK4 : COMPOUND_SEMI_IMPLICIT,
                      .constant = {9.8, 0.735, 1, 1000, 107.8, -0.3, -0.1},
                      .start = {1.9, -0.1, -20, -26}};
        p.slope[COMPOUND_A][0] = p.start_dot[2 * K + 1] = 1;
        assert_true(ds_hybrid_wire(&h, "torque = joint | 5 | tanh | residual | all", 2, joints, why) &&
                    h.variables <= MOST);
        assert_true(compound_net_open(&net, &m, &h, 0.001, FRAMES, 2) && net.keeps);
        differences_random(7, h.variables, w);
        differences_random(8, h.variables, dot);
        differences_random(9, K, x_dot);
        for (int k = 0; k < 2; k++) {
            net.keeps = k == 0;
            assert_int_equal(compound_net_run(&net, &p, w, FRAMES, y[k]), -1);
            compound_net_adjoint(&net, &p, FRAMES, y[0], x_bar[k], w_bar[k]);
            compound_net_tangent(&net, &p, FRAMES, x_dot, dot, y_dot[k]);
        }
        assert_memory_equal(y[0], y[1], sizeof y[0]);
        assert_memory_equal(x_bar[0], x_bar[1], sizeof x_bar[0]);
        assert_memory_equal(w_bar[0], w_bar[1], h.variables * sizeof(double));
        assert_memory_equal(y_dot[0], y_dot[1], sizeof y_dot[0]);
        assert_true(x_bar[0][0] != 0 && w_bar[0][0] != 0 && y_dot[0][FRAMES * S] != 0);
        ds_memory_free(&m);
    }
}

/* A motion that diverges among the predicted samples has the derivatives of the compared ones. */
static void lost_behind(void **state)
{
    enum { MOST = 16 };
    double x[MOST], grad[2][MOST] = {{0}}, loss[2];
    fake_env e;
    fake_env_open(&e, "envs/double_pendulum",
                  (const char *const[]){"variant=damping", "n_samples=5", "held_out=300",
                                        "residual=joint_torque = joint_rate | 1 | identity | residual | all",
                                        NULL},
                  1, -INFINITY);
    assert_true(e.info.n <= MOST);
    for (uint64_t i = 0; i < e.info.n; i++) {
        x[i] = i < 2 ? 0.1 : 1e3;
    }
    for (int k = 0; k < 2; k++) {
        ds_eval io = {.bad_step = -1,
                      .want = DS_WANT_GRAD | (k == 1 ? DS_WANT_SCENE : 0),
                      .n = e.info.n,
                      .x = x,
                      .grad = grad[k]};
        assert_int_equal(ds_eval_call(e.plugin->env, e.self, &io), DS_OK);
        assert_int_equal(io.outcome, DS_EVAL_OK);
        loss[k] = io.loss;
    }
    assert_true(isnan(fake_metric(&e, x, "rmse")[304]) || !isfinite(fake_values(&e, "angle1")[304]));
    assert_true(loss[0] == loss[1] && isfinite(grad[0][2]) && grad[0][2] != 0);
    assert_memory_equal(grad[0], grad[1], sizeof grad[0]);
    fake_env_close(&e);
}

RUN_TESTS(gradients, cloth_scenes, zero_weights, products, network_of_the_cube, controller_of_the_pole,
          residuals_of_billiards, told, kept_stages, lost_behind)
