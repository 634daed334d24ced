/* SPDX-License-Identifier: Apache-2.0 */
/* check_tables.c - the tables of the tests of environments and of optimizers; the measurement of an environment
 * before them, and what its info() and bounds() promise. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/check_host.h"
#include "check/check_tests.h"

/* Evaluates the start point with and without gradient: the parent plans all tests by the time, and compares
 * all processes with the bits. */
void ds_check_env_measure(ds_check *c)
{
    ds_check_env env;
    ds_check_answer a;
    char text[80];
    double plain = 0, full = 0;

    if (!ds_check_env_open(c, 1, &env)) {
        return;
    }
    double *g = calloc(env.n, sizeof *g);
    uint32_t want = env.has_gradient ? DS_WANT_GRAD : 0;
    for (int k = 0; g != NULL && k < 20 && (k == 0 || (k + 1) * (plain + full) / k < 0.2); k++) {
        ds_check_evaluate(&env, env.x0, want, 0, want != 0 ? g : NULL, &a);
        full += a.wall;
        if (k == 0 && a.status == DS_OK) {
            ds_check_bits b = ds_check_answer_bits(&a, env.n);
            snprintf(text, sizeof text, "%" PRIx64 " %" PRIx64, b.loss, b.grad);
            ds_check_record(c, DS_CHECK_BITS, text);
        }
        ds_check_evaluate(&env, env.x0, 0, 0, NULL, &a);
        plain += a.wall;
        snprintf(text, sizeof text, "%.9g %.9g", plain / (k + 1), full / (k + 1));
    }
    if (g != NULL) {
        ds_check_record(c, DS_CHECK_COST, text);
    }
    free(g);
    ds_check_env_close(&env);
}

static void test_speed(ds_check *c)
{
    const ds_check_options *o = c->options;
    if (!(o->cost > 0)) {
        ds_check_skip(c, "the first evaluation failed, see eval.points");
        return;
    }
    ds_check_note(c, "one evaluation: %.3g ms, with gradient %.3g ms (%.2g times)", 1e3 * o->cost,
                  1e3 * o->cost_gradient, o->cost_gradient / o->cost);
}

static void test_info(ds_check *c)
{
    ds_check_env env;
    ds_env_info a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};

    if (!ds_check_env_open(c, 1, &env)) {
        return;
    }
    a.loss_floor = b.loss_floor = -INFINITY;
    env.vt->info(env.self, &a);
    env.vt->info(env.self, &b);
    if (a.n != b.n || a.steps != b.steps || memcmp(&a.dt, &b.dt, sizeof a.dt) != 0 ||
        memcmp(&a.loss_floor, &b.loss_floor, sizeof a.loss_floor) != 0) {
        ds_check_fail(c, "two calls of info() give different answers");
    }
    if (!(a.dt >= 0) || isinf(a.dt)) {
        ds_check_fail(c, "dt is %g: seconds per output step, or 0", a.dt);
    }
    if (isnan(a.loss_floor) || a.loss_floor == (double)INFINITY) {
        ds_check_fail(c, "loss_floor is %g: a finite bound or -INFINITY", a.loss_floor);
    }
    double *again = calloc(3 * env.n, sizeof *again);
    for (uint64_t i = 0; i < env.n; i++) {
        double lo = env.lower[i], hi = env.upper[i], x0 = env.x0[i];
        if (!(isfinite(lo) && isfinite(hi) && lo < hi)) {
            ds_check_fail(c, "bounds of variable %" PRIu64 " are %g..%g", i, lo, hi);
            ds_check_hint(c, "every variable needs finite bounds with lower < upper: searches scale by them");
        }
        if (!(x0 >= lo && x0 <= hi)) {
            ds_check_fail(c, "start point: variable %" PRIu64 " is %g, outside of %g..%g", i, x0, lo, hi);
            ds_check_hint(c, "write all n values of x0, where it is not NULL");
        }
    }
    if (again != NULL) {
        ds_status st = env.vt->bounds(env.self, env.n, again, again + env.n, NULL); /* x0 may be NULL */
        if (st != DS_OK || memcmp(again, env.lower, 2 * env.n * sizeof *again) != 0) {
            ds_check_fail(c, "a second call of bounds(), with x0 = NULL, returns %s or other bounds",
                          ds_status_name(st));
        }
    }
    ds_check_note(c, "%" PRIu64 " variables, %" PRIu64 " steps of %g s", env.n, env.steps, a.dt);
    free(again);
    ds_check_env_close(&env);
}

/* What instances of both kinds promise. */
#define INSTANCE_TESTS                                                                                       \
    {"inst.params",           "every parameter works over its range, or is refused with a message", 0, 0, 0, \
     ds_check_instance_params},                                                                              \
        {"inst.errors",           "create() passes on errors and leaves nothing behind", 0, 0, 0,            \
         ds_check_instance_errors},                                                                          \
        {"inst.leak",                                                                                        \
         "create() and destroy() leave no memory, files or threads",                                         \
         DS_CHECK_ALONE,                                                                                     \
         0,                                                                                                  \
         0,                                                                                                  \
         ds_check_instance_leak},                                                                            \
        {"inst.sizes",                                                                                       \
         "hosts of other versions, with longer or shorter structs, are no trouble",                          \
         0,                                                                                                  \
         0,                                                                                                  \
         0,                                                                                                  \
         ds_check_instance_sizes},                                                                           \
    {                                                                                                        \
        "inst.extensions", "get_extension() answers for what the descriptor lists, and for nothing else", 0, \
            0, 0, ds_check_instance_extensions                                                               \
    }

const ds_check_test ds_check_env_tests[] = {
    INSTANCE_TESTS,
    {"env.info", "info() and bounds() are consistent and repeatable, the start point is inside", 0, 0, 0,
     test_info},
    {"env.speed", "time of one evaluation", 0, 0, 0, test_speed},
    {"eval.points", "evaluate() gives a finite loss or says that there is none", 0, 2, 0,
     ds_check_eval_points},
    {"eval.buffers", "evaluate() writes all of its outputs and nothing else", DS_CHECK_ALONE, 1, 1,
     ds_check_eval_buffers},
    {"eval.strange", "points outside of the box and NaN do no harm", 0, 3, 0, ds_check_eval_strange},
    {"eval.stop", "evaluate() ends soon when the host asks for it", 0, 0, 1, ds_check_eval_stop},
    {"eval.state", "evaluate() changes nothing in the process", 0, 0, 1, ds_check_eval_state},
    {"eval.quiet", "nothing is printed", 0, 1, 0, ds_check_eval_quiet},
    {"eval.leak", "evaluate() leaves no memory", DS_CHECK_ALONE, 4, 0, ds_check_eval_leak},
    {"pure.repeat", "the same point gives the same bits, whatever came before", 0, 0, 2,
     ds_check_pure_repeat},
    {"pure.want", "the loss is the same with and without gradient", DS_CHECK_GRADIENT, 1, 0,
     ds_check_pure_want},
    {"pure.instance", "another instance gives the same bits", 0, 0, 1, ds_check_pure_instance},
    {"pure.process", "another process gives the same bits", 0, 0, 1, ds_check_pure_process},
    {"pure.threads", "every number of threads gives the same bits", 0, 0, 2, ds_check_pure_threads},
    {"pure.parallel", "instances in two threads do not disturb each other", 0, 0, 2, ds_check_pure_parallel},
    {"pure.noise", "noise depends on the noise key alone", 0, 1, 0, ds_check_pure_noise},
    {"grad.difference", "the gradient equals difference quotients", DS_CHECK_GRADIENT, 8, 1,
     ds_check_gradient},
    {"ext.batch", "many points in one call give the bits of single calls", 0, 8, 4, ds_check_batch},
    {"ext.residuals", "residuals are those of the loss, and products those with their Jacobian", 0, 8, 4,
     ds_check_residuals},
    {"scene.data", "the scene is complete, repeatable and without effect on the loss", 0, 2, 0,
     ds_check_scene},
    {"rl.loss",
     "an episode of steps has the loss of evaluate() at its actions, and rewards that add up to it", 0, 0, 0,
     ds_check_rl_loss},
    {"rl.repeat", "the same actions give the same answers", 0, 0, 0, ds_check_rl_repeat},
    {"rl.strange", "steps without an episode and actions outside of the box do no harm", 0, 0, 0,
     ds_check_rl_strange},
    {NULL, NULL, 0, 0, 0, NULL}};

const ds_check_test ds_check_opt_tests[] = {
    INSTANCE_TESTS,
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
    {NULL, NULL, 0, 0, 0, NULL}};
