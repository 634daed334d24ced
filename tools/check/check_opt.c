/* SPDX-License-Identifier: Apache-2.0 */
/* check_opt.c - the table of the tests of an optimizer. */
#include "config.h"

#include "check/check_tests.h"

const ds_check_test ds_check_opt_tests[] = {
    {"inst.params", "every parameter works over its range, or is refused with a message", 0, 0, 0,
     ds_check_instance_params},
    {"inst.errors", "create() passes on errors and leaves nothing behind", 0, 0, 0, ds_check_instance_errors},
    {"inst.leak", "create() and destroy() leave no memory, files or threads", DS_CHECK_ALONE, 0, 0,
     ds_check_instance_leak},
    {"inst.sizes", "hosts of other versions, with longer or shorter structs, are no trouble", 0, 0, 0,
     ds_check_instance_sizes},
    {"inst.extensions", "get_extension() answers for what the descriptor lists, and for nothing else", 0, 0,
     0, ds_check_instance_extensions},
    {"search.speed", "time of its own per evaluation", 0, 0, 0, ds_check_search_speed},
    {"search.points", "every point is finite and inside the box, in 1, 2 and 10 variables", 0, 0, 0,
     ds_check_search_points},
    {"search.stop", "it ends when the objective says DS_STOPPED", 0, 0, 0, ds_check_search_stop},
    {"search.interrupt", "it ends soon when the user asks for it", 0, 0, 0, ds_check_search_interrupt},
    {"search.failures", "failed points, huge and equal losses and broken gradients do no harm", 0, 0, 0,
     ds_check_search_failures},
    {"search.better", "on the sphere it is no worse than random search", 0, 0, 0, ds_check_search_better},
    {"search.gradient", "gradients are wanted as the descriptor says", 0, 0, 0, ds_check_search_gradient},
    {"search.residuals", "where it uses residuals, it asks for them as it should, and gains by them", 0, 0, 0,
     ds_check_search_residuals},
    {"search.repeat", "the same seed gives the same search, bit for bit", 0, 0, 0, ds_check_search_repeat},
    {"search.process", "another process makes the same search", 0, 0, 0, ds_check_search_process},
    {"search.seed", "another seed gives another search", 0, 0, 0, ds_check_search_seed},
    {"search.state", "a search changes nothing in the process", 0, 0, 0, ds_check_search_state},
    {"search.quiet", "nothing is printed", 0, 0, 0, ds_check_search_quiet},
    {"search.leak", "a search leaves no memory", DS_CHECK_ALONE, 0, 0, ds_check_search_leak},
    {0}};
