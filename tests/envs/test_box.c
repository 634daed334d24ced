/* SPDX-License-Identifier: Apache-2.0 */
/* test_box.c - random points of the boxes of our environments: where there is a loss there is a gradient, and
 * forward and reverse mode agree. Cheap environments, or with SLOW all of them, at more points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <diffsim/ext/channel.h>
#include <diffsim/helper/random.h>
#include <math.h>

#include "host.h"

#ifdef SLOW
enum { POINTS = 200, SPARED = 1 };
static const double seconds = 20; /* of an environment, about */
#else
enum { POINTS = 40, SPARED = 0 };
static const double seconds = 0.3;
#endif

/* Products are compared at one of so many points. They agree to this part of the sum of the sizes of their
 * terms. In motions that are about to diverge rounding grows: one product of so many, and SPARED more, may
 * be off by up to `most`. */
enum { PRODUCTS = 4, UNSTABLE = 20 };
static const double agree = 1e-9, most = 1e-3;

typedef struct scene {
    const char *name;
    const char *const settings[4];
    double cost; /* s, of a point with its gradient, about */
} scene;

#define SMALL(id)                                                                                            \
    {                                                                                                        \
        id, {"preset=small"}, 0.03                                                                           \
    }
static const scene scenes[] = {
    {"analytic", {0}, 0},
    {"ball2d", {0}, 0.011},
    {"ball_wall", {0}, 0},
    {"ball_wall_soft", {0}, 0},
    {"billiards", {0}, 0},
    {"bounce", {0}, 0},
    {"cartpole", {0}, 0},
    {"cartpole", {"links=3", "integrator=rk4"}, 0},
    {"cube_throw", {0}, 0},
    {"double_pendulum", {0}, 0.011},
    {"friction", {0}, 0},
    {"heaviside", {0}, 0},
    {"hydro2d", {0}, 0},
    {"lp_norm", {0}, 0},
    {"lqr", {0}, 0},
    {"momentum", {0}, 0},
    {"pendulum", {0}, 0},
    {"pendulum_id", {0}, 0.003},
    {"pinball", {0}, 0},
    {"pivot", {0}, 0},
    {"push", {0}, 0},
    {"push_far", {0}, 0},
    {"pusher1d", {0}, 0},
    {"realtosim", {0}, 0.028},
    {"rigid_contact", {0}, 0.003},
    {"rigid_mass", {0}, 0.004},
    {"roomba", {0}, 0},
    {"sine_quadratic", {0}, 0},
    {"soft_heaviside", {0}, 0},
    {"spring_cage", {"cube=true", "variables=rest stiff damp mass velocity gravity"}, 0.001},
    {"spring_wall", {0}, 0},
    {"tennis", {0}, 0},
    {"walker", {"observe=state"}, 0.14},
#ifdef SLOW
    {"beam", {0}, 0.2},
    {"cloth_throw", {0}, 0.3},
    {"cloth_throw", {"observe=state", "variables=velocity lift drag mass bend turn"}, 0.3},
    {"cloth_velocity", {0}, 0.36},
    {"flip", {0}, 0.12},
    {"gear", {0}, 1.2},
    {"smoke", {0}, 0.12},
    {"soft_ball", {0}, 0.16},
    {"swing", {0}, 0.11},
    {"swing", {"variables=velocity"}, 0.11},
    {"walker", {"observe=state", "variables=weights mass stretch area gravity contact_mu"}, 0.14},
    {"walker", {"observe=state", "controller=full"}, 0.14},
    {"walker", {"friction=isotropic"}, 0.18},
    SMALL("assembly"),
    SMALL("chopsticks"),
    SMALL("fluid"),
    SMALL("move"),
    SMALL("pinch"),
    SMALL("rollingpin"),
    SMALL("rope"),
    SMALL("table"),
    SMALL("torus"),
    SMALL("triplemove"),
    SMALL("writer"),
#endif
};
enum { SCENES = sizeof scenes / sizeof *scenes };

typedef struct work {
    fake_env e;
    double *x, *v, *grad, *back;
    uint64_t key;
    unsigned with_loss, missing, products, disagree, wrong;
} work;

static void fill(ds_random *r, uint64_t n, double *out)
{
    for (uint64_t i = 0; i < n; i++) {
        out[i] = ds_random_normal(r);
    }
}

/* Adds up a . b, and the sizes of the terms. */
static double dot(uint64_t n, const double *a, const double *b, double *size)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
        *size += fabs(a[i] * b[i]);
    }
    return sum;
}

/* J v and J' w of a channel of doubles at x: w . J v = J' w . v; of residuals r also grad . v = 2 r . J v. */
static void compare_products(work *t, uint32_t channel, const ds_channel *c, ds_random *r, uint64_t key)
{
    const uint64_t n = t->e.info.n, m = ds_channel_elements(c);
    double *value = calloc(3 * m, sizeof *value), *jv = value + m, *w = jv + m, size = 0, along = 0;
    assert_non_null(value);
    fill(r, m, w);
    ds_eval_query ask[3] = {{.op = DS_QUERY_VALUE, .out = value, .bytes = m * sizeof *value},
                            {.op = DS_QUERY_JV, .v = t->v, .out = jv, .bytes = m * sizeof *value},
                            {.op = DS_QUERY_JTV, .v = w, .out = t->back, .bytes = n * sizeof *value}};
    ds_eval_query *asks[3] = {ask, ask + 1, ask + 2};
    for (int k = 0; k < 3; k++) {
        ask[k].channel = channel;
    }
    ds_eval io = {.bad_step = -1, .n = n, .x = t->x, .noise_key = key, .queries = 3, .query = asks};
    assert_int_equal(ds_eval_call(t->e.plugin->env, t->e.self, &io), DS_OK);
    const double off = fabs(dot(m, w, jv, &size) - dot(n, t->back, t->v, &size));
    double off_gradient = 0;
    if (c->role == DS_CHANNEL_RESIDUAL) {
        off_gradient = fabs(dot(n, t->grad, t->v, &along) - 2 * dot(m, value, jv, &along));
    }
    t->products++;
    t->disagree += !(off <= agree * size && off_gradient <= agree * along);
    t->wrong += !(io.outcome == DS_EVAL_OK && off <= most * size && off_gradient <= most * along);
    free(value);
}

static void compare_channels(work *t, ds_random *r, uint64_t key)
{
    const ds_env_channels *channels = t->e.plugin->env->get_extension != NULL
                                          ? t->e.plugin->env->get_extension(t->e.self, DS_EXT_CHANNELS)
                                          : NULL;
    const uint32_t both = DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    uint64_t count = 0;
    if (channels != NULL) {
        assert_int_equal(channels->count(t->e.self, &count), DS_OK);
    }
    for (uint64_t k = 0; k < count; k++) {
        ds_channel c = {.struct_size = sizeof c};
        assert_int_equal(channels->describe(t->e.self, k, &c), DS_OK);
        if ((c.ops & both) == both && c.type == DS_TYPE_F64) {
            compare_products(t, (uint32_t)k, &c, r, key);
        }
    }
}

/* Random point k of the box. */
static void visit(work *t, uint64_t k)
{
    const int noise = (t->e.plugin->desc->flags & DS_ENV_STOCHASTIC) != 0 && k % 2 != 0;
    ds_random r = ds_random_open(t->key, "box", k);
    int finite = 1;
    for (uint64_t i = 0; i < t->e.info.n; i++) {
        const double width = t->e.upper[i] - t->e.lower[i];
        t->x[i] = fmin(t->e.lower[i] + width * ds_random_uniform(&r), t->e.upper[i]);
        t->v[i] = width * ds_random_normal(&r);
    }
    ds_eval io = {.bad_step = -1,
                  .want = DS_WANT_GRAD,
                  .n = t->e.info.n,
                  .x = t->x,
                  .grad = t->grad,
                  .noise_key = noise ? k + 1 : 0};
    assert_int_equal(ds_eval_call(t->e.plugin->env, t->e.self, &io), DS_OK);
    if (io.outcome > DS_EVAL_BAD_GRAD) {
        return;
    }
    for (uint64_t i = 0; i < t->e.info.n; i++) {
        finite = finite && isfinite(t->grad[i]);
    }
    t->with_loss++;
    t->missing += !finite || io.outcome == DS_EVAL_BAD_GRAD;
    if (io.outcome == DS_EVAL_OK && k % PRODUCTS == 0) {
        compare_channels(t, &r, io.noise_key);
    }
}

static void gradients_are_everywhere(void **state)
{
    (void)state;
    unsigned bad = 0;
    for (size_t s = 0; s < SCENES; s++) {
        const scene *is = &scenes[s];
        const double fit = is->cost > 0 ? ceil(seconds / is->cost) : POINTS;
        char path[64];
        work t = {.key = s};
        snprintf(path, sizeof path, "envs/%s", is->name);
        fake_env_open(&t.e, path, is->settings, 0, -INFINITY);
        t.x = calloc(4 * t.e.info.n, sizeof *t.x);
        assert_non_null(t.x);
        t.v = t.x + t.e.info.n;
        t.grad = t.v + t.e.info.n;
        t.back = t.grad + t.e.info.n;
        for (uint64_t k = 0; k < (fit < POINTS ? (uint64_t)fit : POINTS); k++) {
            visit(&t, k);
        }
        if (t.with_loss == 0 || t.missing > 0 || t.wrong > 0 || t.disagree > SPARED + t.products / UNSTABLE) {
            bad++;
            print_message(
                "# %s %s: %u of %u points with a loss have no gradient; %u of %u products disagree\n",
                is->name, is->settings[0] != NULL ? is->settings[0] : "", t.missing, t.with_loss, t.disagree,
                t.products);
        }
        free(t.x);
        fake_env_close(&t.e);
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
