/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_cases.h - what every optimizer has to stand: exact budgets, the box, failing
 * simulations, determinism, the answer "stop". */
#ifndef DS_TESTS_OPTIMIZER_CASES_H
#define DS_TESTS_OPTIMIZER_CASES_H

#include "objective.h"

/* A problem with the same bounds for every variable, without target. */
fake_problem optimizer_box(size_t n, double lower, double upper, fake_function f, uint64_t budget);

/* The run made `budget` evaluations, none outside the box, and ended with DS_STOPPED. */
void optimizer_assert_sound(const fake_result *r, uint64_t budget);

/* The same points, bit for bit, up to the shorter run. */
void optimizer_assert_same(const fake_result *a, const fake_result *b, size_t n);

/* All of the above for one plugin with one set of parameters at a small budget: 20 % failing simulations and
 * bad gradients, all failing, two equal runs, a longer run with the same beginning (unless the plugin looks
 * at its budget), huge, constant and jumping losses, one variable, and stopping on request. `least` is the
 * smallest dimension. */
void optimizer_stands(const char *plugin, const char *parameters, uint64_t budget, size_t least,
                      int uses_budget);

#endif
