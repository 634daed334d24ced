/* SPDX-License-Identifier: Apache-2.0 */
/* test_box.c - random points in the boxes of our environments: a finite loss has a finite gradient, and
 * forward and reverse mode agree (cheap environments only; with SLOW all, at more points). Close to its
 * target a loss that is a distance still has its derivative. */
#include "host.h"
#include "test.h"

#include <diffsim/ext/channel.h>
#include <diffsim/helper/random.h>

/* ---- random points ---- */

#ifdef SLOW
enum { POINTS = 200, SPARED = 1 };
static const double seconds = 20; /* per environment, about */
#else
enum { POINTS = 40, SPARED = 0 };
static const double seconds = 0.3;
#endif

/* Products are compared at one of PRODUCTS points. They agree to this fraction of the sum of their terms'
 * sizes. Rounding grows in motions that are about to diverge: one product in UNSTABLE, and SPARED more, may
 * deviate by up to `most`. */
enum { PRODUCTS = 4, UNSTABLE = 20 };
static const double agree = 1e-9, most = 1e-3;

typedef struct scene {
    const char *name;
    const char *const settings[4];
    double cost; /* s per point with its gradient, about */
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
    {"planar_hand", {0}, 0},
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

/* Adds up a . b and the sizes of the terms. */
static double dot(uint64_t n, const double *a, const double *b, double *size)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
        *size += fabs(a[i] * b[i]);
    }
    return sum;
}

/* J v and J' w of a channel of doubles at x: w . J v = J' w . v. For residuals r also grad . v = 2 r . J v.
 */
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

/* ---- near the optimum ---- */

enum { MOST = 200 };

/* Along x the loss of swing is |v_x| times a smooth factor: central differences on one side of the kink are
 * exact to many digits. */
static void swing_close_to_its_target(void **state)
{
    static const char *const losses[3] = {"loss=single", "loss=corner", "loss=mesh"};
    for (int k = 0; k < 9; k++) {
        fake_env e;
        double g[3], at = pow(10, -4 - 2 * (k / 3)), v[3] = {at, -0.4, 0.6};
        fake_env_open(
            &e, "envs/swing",
            (const char *const[]){losses[k % 3], "variables=velocity", "duration=0.2", "cells=6", NULL}, 0,
            0);
        fake_eval(&e, v, g, 0, NULL);
        v[0] = 1.25 * at;
        double up = fake_eval(&e, v, NULL, 0, NULL);
        v[0] = 0.75 * at;
        assert_near(g[0] / ((up - fake_eval(&e, v, NULL, 0, NULL)) / (0.5 * at)), 1, 1e-5);
        fake_env_close(&e);
    }
}

/* The gradient where the target is `off` away from the end of the episode. For a distance its size does not
 * depend on `off`. */
static void gradient_beside(const char *name, const char *loss, const char *x_name, const char *y_name,
                            double off, double *g)
{
    fake_env e;
    double x[MOST];
    char target[128];
    fake_env_open(&e, name, (const char *const[]){loss, NULL}, 0, 0);
    assert_true(e.info.n <= MOST);
    for (uint64_t i = 0; i < e.info.n; i++) {
        x[i] = e.x0[i] + 0.01 * (double)(i % 7);
    }
    double at = fake_metric(&e, x, x_name)[e.info.steps];
    int used = snprintf(target, sizeof target, "target=%.17g,%.17g", at + off,
                        fake_values(&e, y_name)[e.info.steps]);
    if (e.info.n == 3) {
        snprintf(target + used, sizeof target - (size_t)used, ",%.17g", fake_values(&e, "z")[e.info.steps]);
    }
    fake_env_close(&e);
    fake_env_open(&e, name, (const char *const[]){loss, target, NULL}, 0, 0);
    assert_near(fake_eval(&e, x, g, 0, NULL), off, 1e-3 * off);
    fake_env_close(&e);
}

static void rigid_scenes_close_to_their_targets(void **state)
{
    static const char *const near_scenes[3][4] = {{"envs/bounce", "loss=l2", "x", "y"},
                                                  {"envs/pinball", "variant=pinball2", "x", "y"},
                                                  {"envs/cartpole", "loss=tip", "tip_x", "tip_y"}};
    for (int s = 0; s < 3; s++) {
        const char *const *c = near_scenes[s];
        double far[MOST] = {0}, near[MOST] = {0}, size = 0;
        gradient_beside(c[0], c[1], c[2], c[3], 1e-6, far);
        gradient_beside(c[0], c[1], c[2], c[3], 4e-13, near);
        for (int i = 0; i < MOST; i++) {
            size = fmax(size, fabs(far[i]));
        }
        assert_true(size > 0);
        for (int i = 0; i < MOST; i++) {
            assert_near(near[i], far[i], 1e-2 * size);
        }
    }
}

RUN_TESTS(gradients_are_everywhere, swing_close_to_its_target, rigid_scenes_close_to_their_targets)
