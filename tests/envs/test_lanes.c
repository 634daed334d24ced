/* SPDX-License-Identifier: Apache-2.0 */
/* test_lanes.c - environments with episodes side by side (engines/kit/lanes.h): every row of a call has the
 * bits of the point evaluated alone, with each instruction set and number of rows, without and with gradient;
 * also where an episode diverges, and where rows differ in their contacts. */
#include "common/isa.h"
#include "host.h"
#include "test.h"

#include <diffsim/helper/random.h>
#include <stdlib.h>

enum { MOST = 64 };

typedef struct scene {
    const char *name;
    double wide; /* points are drawn from the box times this number */
    const char *settings[8];
} scene;

static const scene scenes[] = {
    {"roomba", 1, {NULL}},
    {"cartpole_gym", 1, {"start=random", NULL}},
    {"cartpole_gym", 1, {"steps=40", "theta0=-0.1", NULL}},
    {"push", 1, {NULL}},
    {"push", 1, {"set=variance", "goal=1,2,3,4", "mass=3", NULL}},
    {"push_far", 1, {"start=0,1.2,5,0", NULL}},
    {"spring_wall", 1, {NULL}},
    {"spring_wall", 1, {"set=k2000", "control_in_wall=ignored", "r=0", NULL}},
    {"pinball", 1, {NULL}},
    {"pinball", 1, {"variant=pinball16", "integrator=semi-implicit", "steps=400", NULL}},
    {"pinball", 1, {"contact_order=sequential", "gradient=saltation", "clip=0.05", NULL}},
    {"pinball",
     1,
     {"gravity=-3", "height=3", "width=4", "start=2,1", "start_velocity=30,9", "steps=300", NULL}},
    {"pinball", 1, {"half_thickness=0.02", "restitution=0", NULL}},
    {"pendulum", 1, {NULL}},
    {"pendulum", 1, {"variant=gym", "start=random", NULL}},
    {"pendulum", 1, {"variant=gym", "theta0=-990", "omega0=8", NULL}},
    {"pendulum", 50, {"variant=gym", NULL}}, /* at the speed limit */
    {"pendulum", 1, {"variant=swingup200", "theta0=1000", "start=random", NULL}},
    {"bounce", 1, {NULL}},
    {"bounce", 1, {"variant=paper", "steps=700", "loss=l2", NULL}},
    {"bounce", 1, {"kf=30", "mu=0.5", "gravity=3", "start=1.5,0.2,0", NULL}},
    {"bounce", 1, {"steps=5", "kd=0", "radius=0.9", NULL}},
    {"bounce", 1, {"gravity=-10", "kf=1", "mu=1", "kd=1e5", NULL}},
    {"bounce", 1, {"ke=1e300", NULL}}, /* diverges in a contact */
    {"cartpole", 1, {NULL}},
    {"cartpole", 1, {"links=1", "control=force", "loss=state_sq", "hold=3", "steps=7", NULL}},
    {"cartpole", 1, {"links=2", "integrator=semi-implicit", "steps=20", NULL}},
    {"cartpole", 1, {"links=3", "steps=20", NULL}},
    {"cartpole", 1, {"links=5", "control=force", "steps=9", NULL}},
    {"cartpole", 1, {"start_omega=1000", "h=10", "steps=300", "gravity=0", NULL}}, /* beyond SINCOS_MOST */
    {"cartpole", 1, {"links=3", "h=0.08", "steps=40", NULL}},                      /* some diverge */
};

/* One point in, one row of results out. */
typedef struct row {
    double loss;
    uint32_t outcome, kind;
    int64_t bad;
    uint64_t cost;
} row;

static void evaluate(fake_env *e, uint64_t count, const double *x, const uint64_t *key, uint32_t want,
                     row *out, double *grad)
{
    const uint64_t n = e->info.n;
    double loss[MOST];
    uint32_t outcome[MOST], kind[MOST];
    int64_t bad[MOST];
    uint64_t cost[MOST];
    for (uint64_t k = 0; k < count; k++) {
        loss[k] = INFINITY;
        outcome[k] = kind[k] = 0;
        bad[k] = -1;
        cost[k] = 0;
    }
    const ds_rows rows = {.struct_size = sizeof rows,
                          .count = count,
                          .n = n,
                          .x = x,
                          .stride = n,
                          .want = want,
                          .noise_key = key};
    const ds_results results = {.struct_size = sizeof results,
                                .stride = n,
                                .loss = loss,
                                .grad = want & DS_WANT_GRAD ? grad : NULL,
                                .outcome = outcome,
                                .bad_step = bad,
                                .cost_steps = cost,
                                .grad_kind = kind};
    assert_int_equal(e->plugin->env->evaluate(e->self, &rows, &results), DS_OK);
    for (uint64_t k = 0; k < count; k++) {
        memset(&out[k], 0, sizeof out[k]);
        out[k] = (row){loss[k], outcome[k], kind[k], bad[k], cost[k]};
    }
}

static uint64_t checksum(const row *r, uint64_t count, const double *grad, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t k = 0; k < count; k++) {
        sum += r[k].outcome != DS_EVAL_OK;
        for (uint64_t i = 0; i < n; i++) {
            sum += grad[k * n + i] != 0;
        }
    }
    return sum;
}

static void check_scene(const scene *s, const char *isa)
{
    fake_env e;
    char name[64];
    snprintf(name, sizeof name, "envs/%s", s->name);
    setenv("DS_ISA", isa, 1);
    fake_env_open(&e, name, s->settings, 1, -INFINITY);
    const uint64_t n = e.info.n;
    double *x = calloc(MOST * n, sizeof *x), *one = calloc(MOST * n, sizeof *one),
           *many = calloc(MOST * n, sizeof *many);
    uint64_t key[MOST];
    assert_true(x && one && many);
    assert_true(e.info.max_rows >= MOST); /* else nothing is side by side */
    ds_random rng = ds_random_open(7, s->name, 0);
    for (uint64_t i = 0; i < MOST * n; i++) {
        const double u = ds_random_uniform(&rng), at = (1 - u) * e.lower[i % n] + u * e.upper[i % n];
        x[i] = s->wide * at;
    }
    for (uint64_t k = 0; k < MOST; k++) {
        key[k] = 3 * k;
    }
    const int most = (e.plugin->desc->flags & DS_ENV_GRADIENT) != 0;
    for (int graded = 0; graded <= most; graded++) {
        const uint32_t want = graded ? DS_WANT_GRAD : 0;
        row alone[MOST], together[MOST];
        for (uint64_t k = 0; k < MOST; k++) {
            evaluate(&e, 1, x + k * n, key + k, want, alone + k, one + k * n);
        }
        if (graded && checksum(alone, MOST, one, n) < MOST / 2) {
            fail_msg("%s %s: nothing to compare", s->name, s->settings[0] ? s->settings[0] : "");
        }
        for (uint64_t count = 1; count <= MOST; count += count < 10 ? 1 : 9) {
            for (uint64_t first = 0; first + count <= MOST && first < 3; first++) {
                memset(many, 0, MOST * n * sizeof *many);
                evaluate(&e, count, x + first * n, key + first, want, together, many);
                if (memcmp(together, alone + first, count * sizeof *alone) != 0 ||
                    (graded && memcmp(many, one + first * n, count * n * sizeof *one) != 0)) {
                    fail_msg("%s %s, %s: %llu rows from %llu, gradient %d, have other bits than alone",
                             s->name, s->settings[0] ? s->settings[0] : "", isa, (unsigned long long)count,
                             (unsigned long long)first, graded);
                }
            }
        }
    }
    fake_env_close(&e);
    free(x);
    free(one);
    free(many);
}

static void rows_have_the_bits_of_points(void **state)
{
    static const char *const sets[] = {"baseline", "avx2", "avx512"};
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        for (int k = 0; k < 3; k++) {
            check_scene(&scenes[i], sets[k]);
        }
    }
    unsetenv("DS_ISA");
}

RUN_TESTS(rows_have_the_bits_of_points)
