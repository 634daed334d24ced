/* SPDX-License-Identifier: Apache-2.0 */
/* test_fem_recorded.c - an episode against a recording of another simulator: states, loss, gradient. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "engines/physics/fem/episode.h"
#include "golden.h"

enum { POINTS = 200 };

typedef struct recorded {
    const json_t *frames;
    double target[3 * POINTS], loss;
    size_t n;
    uint64_t steps;
    double worst_before, worst_after;
} recorded;

static void compare_frame(void *self, uint64_t k, const fem_state *s)
{
    recorded *r = self;
    char key[24];
    double x[3 * POINTS];
    snprintf(key, sizeof key, "%llu", (unsigned long long)k);
    const json_t *frame = json_object_get(r->frames, key);
    if (frame) {
        assert_int_equal(golden_array(frame, "x", x), 3 * r->n);
        double *worst = k <= 100 ? &r->worst_before : &r->worst_after;
        for (size_t i = 0; i < 3 * r->n; i++) {
            *worst = fmax(*worst, fabs(x[i] - s->q[i]));
        }
    }
    r->loss = 0;
    for (size_t i = 0; i < 3 * r->n; i++) {
        r->loss += (s->q[i] - r->target[i]) * (s->q[i] - r->target[i]) / (double)r->n;
    }
}

static void recorded_bar(void *self, uint64_t k, const fem_state *s, fem_state *bar)
{
    recorded *r = self;
    for (size_t i = 0; i < 3 * r->n && k == r->steps; i++) {
        bar->q[i] += 2 * (s->q[i] - r->target[i]) / (double)r->n;
    }
}

static void check_share(const char *what, double have, double want, double share)
{
    print_message("# %s: %.6g, recorded %.6g\n", what, have, want);
    if (!(fabs(have - want) <= share * fabs(want))) {
        fail_msg("%s: %.8g, recorded %.8g", what, have, want);
    }
}

static void build_recorded(fem_model *m, const json_t *c, size_t n, double mu, double lambda,
                           const double v0[3])
{
    double x[3 * POINTS], mass[POINTS], ground[4];
    const json_t *tets = json_object_get(c, "tetrahedra");
    golden_array(c, "points", x);
    golden_array(c, "mass", mass);
    golden_array(c, "ke_kd_kf_mu", ground);
    fem_model_open(m);
    for (size_t i = 0; i < n; i++) {
        fem_add_particle(m, x + 3 * i, v0, mass[i]);
    }
    for (size_t t = 0; t < json_array_size(tets); t++) {
        double corner[4];
        golden_copy(json_array_get(tets, t), corner);
        fem_add_tet(m,
                    (const uint32_t[]){(uint32_t)corner[0], (uint32_t)corner[1], (uint32_t)corner[2],
                                       (uint32_t)corner[3]},
                    (fem_solid){mu, lambda, 0});
    }
    m->gravity[1] = golden_number(c, "gravity");
    m->ground = (fem_ground){
        1, FEM_FRICTION_COULOMB, golden_number(c, "radius"), ground[0], ground[1], ground[2], ground[3]};
    assert_int_equal(fem_model_finish(m), DS_OK);
}

static void recorded_episode(void **state)
{
    (void)state;
    static const uint64_t all[] = {1, 50, 100, 200, 300};
    json_t *root = golden_or_skip("fem/warp_elements.json");
    const json_t *c = json_object_get(root, "episode"), *grad = json_object_get(c, "grad");
    static recorded r;
    double v0[3], want[3], by[3] = {0}, mu = 0, lambda = 0;
    fem_model m;
    fem_episode *e;
    fem_variation g;
    ds_memory room = {0};
    int64_t bad;
    r = (recorded){.frames = json_object_get(c, "frames"), .steps = (uint64_t)golden_number(c, "steps")};
    r.n = golden_array(c, "target", r.target) / 3;
    assert_true(r.n <= POINTS && r.steps == 300);
    golden_array(c, "v0", v0);
    build_recorded(&m, c, r.n, golden_number(c, "mu"), golden_number(c, "lambda"), v0);
    const fem_options o = {.dt = golden_number(c, "dt"), .steps = r.steps, .want = FEM_WANT_MATERIAL};
    assert_int_equal(fem_episode_open(&e, &m, &o, NULL), DS_OK);
    fem_variation_open(&g, &room, &m);
    const fem_driver d = {.frames = all, .frame_count = 5, .state = compare_frame, .state_bar = recorded_bar};
    assert_int_equal(fem_episode_run(e, &d, &r, 1, &bad), DS_OK);
    print_message("# frames differ by %.2g m before the contact, %.2g m after it\n", r.worst_before,
                  r.worst_after);
    assert_true(r.worst_before > 0 && r.worst_before <= 1e-5 && r.worst_after <= 2e-3);
    check_share("loss", r.loss, golden_number(c, "loss"), 1e-3);
    assert_int_equal(fem_episode_adjoint(e, &g, &bad), DS_OK);
    for (size_t i = 0; i < 3 * r.n; i++) {
        by[i % 3] += g.u[i];
    }
    for (size_t i = 0; i < m.tets; i++) {
        mu += g.solid[i].mu;
        lambda += g.solid[i].lambda;
    }
    golden_array(grad, "v0", want);
    check_share("derivative by v0x", by[0], want[0], 0.02);
    check_share("derivative by v0z", by[2], want[2], 0.02);
    check_share("derivative by mu", mu, golden_number(grad, "mu"), 0.02);
    check_share("derivative by lambda", lambda, golden_number(grad, "lambda"), 0.02);
    /* v0y is finer than the recording: our own differences */
    double loss[2];
    const double h = 1e-7;
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < r.n; i++) {
            m.u[3 * i + 1] = v0[1] + (side ? h : -h);
        }
        fem_episode_run(e, &d, &r, 0, &bad);
        loss[side] = r.loss;
    }
    check_share("derivative by v0y (against our differences)", by[1], (loss[1] - loss[0]) / (2 * h), 0.01);
    ds_memory_free(&room);
    fem_episode_close(e);
    fem_model_close(&m);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_episode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
