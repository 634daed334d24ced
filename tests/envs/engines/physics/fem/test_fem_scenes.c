/* SPDX-License-Identifier: Apache-2.0 */
/* test_fem_scenes.c - gradSim's scenes (Jatavallabhula et al., ICLR 2021) against values measured with
 * independent prototypes: sags of the beam, the bouncing ball, gear and walker without actuation;
 * gradients of whole episodes by the weights of the controllers against central differences (with -DSLOW,
 * by more of them). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "engines/physics/fem/episode.h"
#include "fem_scenes.h"

static double sag(double mu, double lambda, double seconds)
{
    fem_scene s;
    const uint64_t at = (uint64_t)(seconds * 1920 + 1.5);
    assert_true(fem_scene_beam(&s, at, NULL, mu, lambda));
    assert_true(fem_step_limit(&s.model, 1.0 / 1920).load < 1);
    const size_t node = 3 * (size_t)fem_block_index(20, 2, 10, 0, 1) + 1;
    int64_t bad;
    fem_episode_run(s.episode, NULL, NULL, 0, &bad);
    assert_true(bad == -1);
    const double out = fem_episode_state(s.episode).q[node] - s.model.q[node];
    print_message("# mu %g, lambda %g, t = %g s: %.4f m\n", mu, lambda, seconds, out);
    fem_scene_close(&s);
    return out;
}

static void beams_sag(void **state)
{
    (void)state;
    static const double measured[][4] = {
        {1000, 1000, 0.3, -0.3464}, {1000, 1000, 0.6, -0.2726}, {1000, 1000, 0.9, -0.2317},
        {1000, 1000, 1.2, -0.3385}, {100, 50, 0.6, -1.2122},    {2000, 1000, 0.6, -0.1505},
        {1000, 210, 0.6, -0.4459},
    };
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const double *m = measured[i];
        assert_true(fabs(sag(m[0], m[1], m[2]) - m[3]) < 1e-4);
    }
    const double stiff = sag(2e4, 2e4, 0.3); /* still stable */
    assert_true(stiff < 0 && stiff > -0.1);
}

static void balls_bounce(void **state)
{
    (void)state;
    /* state after 384 steps k: x and y of the centre. Before the contact the shape does not matter; after it,
     * the directions of the icosahedron's corners do, which are not part of the measured scene. */
    static const struct {
        int k;
        double x, y, tolerance;
    } measured[] = {
        {1, -1.6, 1.80349, 1e-5},       {2, -1.2, 1.21498, 1e-5},       {3, -0.81371, 0.44481, 1.5e-3},
        {5, -0.26490, 1.26751, 1.5e-3}, {10, 0.89763, 1.13572, 1.5e-3},
    };
    fem_scene s;
    assert_true(fem_scene_ball(&s, 3840, NULL));
    assert_true(fabs(s.total_mass - 36.587) < 1e-3);
    fem_scene_run(&s, 0);
    assert_true(s.bad == -1 && s.seen == 10);
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const double *c = s.centre[measured[i].k - 1];
        print_message("# t = %g s: (%.5f, %.5f), measured (%.5f, %.5f)\n", 0.2 * measured[i].k, c[0], c[1],
                      measured[i].x, measured[i].y);
        assert_true(fabs(c[0] - measured[i].x) < measured[i].tolerance);
        assert_true(fabs(c[1] - measured[i].y) < measured[i].tolerance);
    }
    fem_scene_close(&s);
}

static void bodies_without_actuation(void **state)
{
    (void)state;
    fem_scene s;
    assert_true(fem_scene_gear(&s, 5760, NULL));
    memset(s.weights, 0, control_weights(s.net) * sizeof *s.weights);
    fem_scene_run(&s, 0);
    print_message("# gear: %.4f\n", s.centre[0][0]);
    assert_true(s.bad == -1 && fabs(s.centre[0][0] + 2.558) < 0.02);
    fem_scene_close(&s);
    assert_true(fem_scene_walker(&s, 9600, NULL));
    memset(s.weights, 0, control_weights(s.net) * sizeof *s.weights);
    fem_scene_run(&s, 0);
    print_message("# walker: %.5f\n", s.centre[0][0]);
    assert_true(s.bad == -1 && fabs(s.centre[0][0]) < 0.01);
    fem_scene_close(&s);
}

/* Derivatives by some weights over the whole episode. Contact has kinks: a few may lie within a difference.
 */
static void compare_weights(fem_scene *s, size_t count, double h)
{
    const size_t n = control_weights(s->net);
    size_t wrong = 0;
    double errors = 0, most = 0;
    fem_scene_run(s, 1);
    assert_true(s->bad == -1);
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(s->bar[i]));
    }
    for (size_t k = 0; k < count; k++) {
        const size_t i = k * n / count;
        const double at = s->weights[i];
        s->weights[i] = at + h;
        fem_scene_run(s, 0);
        const double up = s->loss;
        s->weights[i] = at - h;
        fem_scene_run(s, 0);
        const double by = (up - s->loss) / (2 * h), error = fabs(by - s->bar[i]) / most;
        s->weights[i] = at;
        errors += error / (double)count;
        wrong += error > 1e-3;
        if (error > 1e-3) {
            print_message("# weight %zu: %.6g, by differences %.6g\n", i, s->bar[i], by);
        }
    }
    print_message(
        "# %zu of %zu derivatives by weights differ by more than 1e-3 of the largest, %.3g; mean %.2g\n",
        wrong, count, most, errors);
    assert_true(most > 0 && wrong * 5 <= count && errors < 1e-2);
}

static void gradients_of_whole_episodes(void **state)
{
    (void)state;
#ifdef SLOW
    const size_t count = 200;
#else
    const size_t count = 2;
#endif
    fem_scene s;
    assert_true(fem_scene_gear(&s, 5760, NULL));
    assert_true(fem_episode_bytes(s.episode) <= 300000000);
    compare_weights(&s, count, 1e-6);
    fem_scene_close(&s);
    assert_true(fem_scene_walker(&s, 9600, NULL));
    assert_true(fem_episode_bytes(s.episode) <= 300000000);
    compare_weights(&s, count, 1e-6);
    fem_scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beams_sag),
        cmocka_unit_test(balls_bounce),
        cmocka_unit_test(bodies_without_actuation),
        cmocka_unit_test(gradients_of_whole_episodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
