/* SPDX-License-Identifier: Apache-2.0 */
/* check_info.c - an environment's measurement before the tests, and what its info() and bounds() promise. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "check/check_items.h"
#include "check/check_tests.h"

/* What the instance answers to everything else, for the comparison with other processes; planned by the costs
 * as the other processes will read them. */
static void keep_items(ds_check *c, const char *costs)
{
    const ds_check_options *given = c->options;
    ds_check_options own = *given;
    if (sscanf(costs, "%lf %lf", &own.cost, &own.cost_gradient) != 2) {
        return;
    }
    c->options = &own;
    if (!own.in_process) {
        alarm((unsigned)ceil(fmin(own.timeout, 1e6))); /* a step without end is found by other tests */
    }
    ds_check_items_keep(c, c->env);
    if (!own.in_process) {
        alarm(0);
    }
    c->options = given;
}

/* Evaluates the start point with and without gradient: the parent plans all tests by the time, and compares
 * all processes with the bits. */
void ds_check_env_measure(ds_check *c)
{
    ds_check_env *env = c->env;
    ds_check_answer a;
    char text[80];
    double plain = 0, full = 0;

    for (int k = 0; k < 20 && (k == 0 || (k + 1) * (plain + full) / k < 0.1); k++) {
        ds_check_call(env, env->x0, 1, &a);
        full += a.seconds;
        if (k == 0 && a.status == DS_OK) {
            ds_check_bits b = ds_check_answer_bits(c, &a, env->n);
            snprintf(text, sizeof text, "%" PRIx64 " %" PRIx64, b.loss, b.grad);
            ds_check_record(c, DS_CHECK_BITS, text);
        }
        ds_check_call(env, env->x0, 0, &a);
        plain += a.seconds;
        snprintf(text, sizeof text, "%.9g %.9g", plain / (k + 1), full / (k + 1));
    }
    ds_check_record(c, DS_CHECK_COST, text);
    keep_items(c, text);
}

static void info_speed(ds_check *c)
{
    const ds_check_options *o = c->options;
    if (!(o->cost > 0)) {
        ds_check_skip(c, "the first evaluation failed, see eval.points");
        return;
    }
    ds_check_note(c, "one evaluation: %.3g ms, with gradient %.3g ms (%.2g times)", 1e3 * o->cost,
                  1e3 * o->cost_gradient, o->cost_gradient / o->cost);
}

static void info_answers(ds_check *c)
{
    ds_check_env *env = c->env;
    ds_env_info a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};

    a.loss_floor = b.loss_floor = -INFINITY;
    env->vt->info(env->self, &a);
    env->vt->info(env->self, &b);
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
    for (uint64_t i = 0; i < env->n; i++) {
        double lo = env->lower[i], hi = env->upper[i], x0 = env->x0[i];
        if (!(isfinite(lo) && isfinite(hi) && lo <= hi)) {
            ds_check_fail(c, "bounds of variable %" PRIu64 " are %s..%s", i, DS_TEXT_OF(lo), DS_TEXT_OF(hi));
            ds_check_hint(c, "every variable needs finite bounds with lower <= upper; equal ones fix it");
        }
        if (!(x0 >= lo && x0 <= hi)) {
            ds_check_fail(c, "start point: variable %" PRIu64 " is %s, outside of %s..%s", i, DS_TEXT_OF(x0),
                          DS_TEXT_OF(lo), DS_TEXT_OF(hi));
            ds_check_hint(c, "write all n values of x0, where it is not NULL");
        }
    }
    const size_t bytes = env->n * sizeof *env->x;
    ds_status st = env->vt->bounds(env->self, env->n, env->x, env->g, NULL); /* x0 may be NULL */
    if (st != DS_OK || memcmp(env->x, env->lower, bytes) != 0 || memcmp(env->g, env->upper, bytes) != 0) {
        ds_check_fail(c, "a second call of bounds(), with x0 = NULL, returns %s or other bounds",
                      ds_status_name(st));
    }
    ds_check_note(c, "%" PRIu64 " variables, %" PRIu64 " steps of %g s", env->n, env->steps, a.dt);
}

const ds_check_test ds_check_info_tests[] = {
    {"env.info", "info() and bounds() are consistent and repeatable, the start point is inside", DS_CHECK_ENV,
     0, 0, info_answers},
    {"env.speed", "time of one evaluation", DS_CHECK_ENV, 0, 0, info_speed},
    {NULL, NULL, 0, 0, 0, NULL}};
