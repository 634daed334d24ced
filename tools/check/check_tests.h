/* SPDX-License-Identifier: Apache-2.0 */
/* check_tests.h - the tests of the conformance kit, and the tables that they stand in. */
#ifndef DS_CHECK_CHECK_TESTS_H
#define DS_CHECK_CHECK_TESTS_H

#include "harness/check.h"

/* The tables, each ended by an id of NULL: loading; instances of both kinds; environments; optimizers. */
extern const ds_check_test ds_check_load_tests[];
extern const ds_check_test ds_check_instance_tests[];
extern const ds_check_test ds_check_info_tests[], ds_check_eval_tests[], ds_check_pure_tests[];
extern const ds_check_test ds_check_gradient_tests[], ds_check_extension_tests[], ds_check_scene_tests[];
extern const ds_check_test ds_check_channel_tests[], ds_check_variables_tests[], ds_check_rl_tests[],
    ds_check_sweep_tests[];
extern const ds_check_test ds_check_score_tests[], ds_check_hook_tests[];
extern const ds_check_test ds_check_search_tests[];

/* Makes a module of the test's plugin through the host's loader; 0 after recording why not. */
int ds_check_load(ds_check *c);

/* Hidden tests that tell the parent what it needs: kind of the plugin; time and bits of an evaluation. */
void ds_check_describe(ds_check *c);
void ds_check_env_measure(ds_check *c);
void ds_check_opt_measure(ds_check *c);

#endif
