/* SPDX-License-Identifier: Apache-2.0 */
/* check_tests.h - the tests of the conformance kit, and the tables that they stand in. */
#ifndef DS_CHECK_CHECK_TESTS_H
#define DS_CHECK_CHECK_TESTS_H

#include "harness/check.h"

/* The tables, each ended by an id of NULL. */
extern const ds_check_test ds_check_load_tests[];
extern const ds_check_test ds_check_env_tests[];
extern const ds_check_test ds_check_opt_tests[];

/* Makes a module of the test's plugin through the host's loader; 0 after recording why not. */
int ds_check_load(ds_check *c);

/* Hidden tests by which the parent learns what it needs: kind of the plugin; time and bits of a first
 * evaluation. */
void ds_check_describe(ds_check *c);
void ds_check_env_measure(ds_check *c);
void ds_check_opt_measure(ds_check *c);

/* check_instance.c: both kinds */
void ds_check_instance_params(ds_check *c);
void ds_check_instance_errors(ds_check *c);
void ds_check_instance_leak(ds_check *c);
void ds_check_instance_sizes(ds_check *c);
void ds_check_instance_extensions(ds_check *c);

/* check_eval.c */
void ds_check_eval_points(ds_check *c);
void ds_check_eval_buffers(ds_check *c);
void ds_check_eval_strange(ds_check *c);
void ds_check_eval_stop(ds_check *c);
void ds_check_eval_state(ds_check *c);
void ds_check_eval_quiet(ds_check *c);
void ds_check_eval_leak(ds_check *c);

/* check_pure.c */
void ds_check_pure_repeat(ds_check *c);
void ds_check_pure_want(ds_check *c);
void ds_check_pure_instance(ds_check *c);
void ds_check_pure_process(ds_check *c);
void ds_check_pure_threads(ds_check *c);
void ds_check_pure_parallel(ds_check *c);
void ds_check_pure_noise(ds_check *c);

/* check_gradient.c */
void ds_check_gradient(ds_check *c);

/* check_rl.c */
void ds_check_rl_loss(ds_check *c);
void ds_check_rl_repeat(ds_check *c);
void ds_check_rl_strange(ds_check *c);

/* check_extensions.c */
void ds_check_batch(ds_check *c);
void ds_check_residuals(ds_check *c);

/* check_scene.c */
void ds_check_scene(ds_check *c);

/* check_search.c */
void ds_check_search_points(ds_check *c);
void ds_check_search_stop(ds_check *c);
void ds_check_search_interrupt(ds_check *c);
void ds_check_search_failures(ds_check *c);
void ds_check_search_better(ds_check *c);
void ds_check_search_gradient(ds_check *c);
void ds_check_search_residuals(ds_check *c);
void ds_check_search_repeat(ds_check *c);
void ds_check_search_process(ds_check *c);
void ds_check_search_seed(ds_check *c);
void ds_check_search_state(ds_check *c);
void ds_check_search_quiet(ds_check *c);
void ds_check_search_leak(ds_check *c);
void ds_check_search_speed(ds_check *c);

#endif
