/* SPDX-License-Identifier: Apache-2.0 */
/* test_control.c - open-loop controllers: values, and derivatives against central differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "engines/physics/control/control.h"

static void controllers_share_weights_in_groups(void **state)
{
    (void)state;
    enum { E = 11, G = 3, P = 2 };
    ds_memory room = {0};
    uint32_t group[E];
    double phase[P], w[G * P], bar[G * P], act[E], act_bar[E], up, down;
    for (uint32_t i = 0; i < E; i++) {
        group[i] = i * i % G;
        act_bar[i] = cos(i);
    }
    control *c = control_open(&room, &(control_options){.elements = E,
                                                        .groups = G,
                                                        .group = group,
                                                        .phases = P,
                                                        .phase = phase,
                                                        .rate = control_walker_phases(P, phase),
                                                        .scale = 0.3,
                                                        .dt = 0.01,
                                                        .steps = 50});
    assert_non_null(c);
    assert_int_equal(control_weights(c), G * P);
    for (int i = 0; i < G * P; i++) {
        w[i] = sin(i + 1);
    }
    control_set(c, w);
    control_clear(c);
    control_activate(c, 13, act);
    for (int i = 0; i < E; i++) { /* the phases of two are sin and cos */
        const double *row = w + P * group[i], t = 20 * 13 * 0.01;
        assert_true(fabs(act[i] - 0.3 * tanh(row[0] * sin(t) + row[1] * cos(t))) < 1e-14);
    }
    control_adjoint(c, 13, act_bar);
    control_gradient(c, bar);
    for (int k = 0; k < G * P; k++) {
        const double at = w[k], h = 1e-6;
        up = down = 0;
        for (int side = 0; side < 2; side++) {
            w[k] = at + (side ? h : -h);
            control_set(c, w);
            control_activate(c, 13, act);
            for (int i = 0; i < E; i++) {
                *(side ? &up : &down) += act_bar[i] * act[i];
            }
        }
        w[k] = at;
        assert_true(fabs((up - down) / (2 * h) - bar[k]) < 1e-9);
    }
    group[4] = G;
    assert_null(control_open(
        &room, &(control_options){
                   .elements = E, .groups = G, .group = group, .phases = P, .phase = phase, .steps = 1}));
    assert_null(
        control_open(&room, &(control_options){.elements = E, .phases = 0, .phase = phase, .steps = 1}));
    ds_memory_free(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controllers_share_weights_in_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
