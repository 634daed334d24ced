/* SPDX-License-Identifier: Apache-2.0 */
/* check_eval.c - conformance of info(), bounds() and evaluate(): results, buffers, bad input, stopping, side
 * effects. */
#include "config.h"

#include "base/text.h"
#include "check/check_items.h"
#include "check/check_tests.h"
#include "harness/check_process.h"
#include "harness/check_host.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- measurement and info() ---- */

/* Plays all items with this instance and keeps the results for comparison with other processes; plans them by
 * the costs as the other processes will read them. */
static void keep_items(ds_check *c, const char *costs)
{
    const ds_check_options *given = c->options;
    ds_check_options own = *given;
    if (sscanf(costs, "%lf %lf", &own.cost, &own.cost_gradient) != 2) {
        return;
    }
    c->options = &own;
    if (!own.in_process) {
        alarm((unsigned)ceil(fmin(own.timeout, 1e6))); /* an endless step is found by other tests */
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
    ds_check_result a;
    char text[80];
    double plain = 0, full = 0;

    for (int k = 0; k < 20 && (k == 0 || (k + 1) * (plain + full) / k < 0.1); k++) {
        ds_check_call(env, env->x0, 1, &a);
        full += a.seconds;
        if (k == 0 && a.status == DS_OK) {
            ds_check_bits b = ds_check_result_bits(c, &a, env->n);
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

static void info_consistent(ds_check *c)
{
    ds_check_env *env = c->env;
    ds_env_info a = {.struct_size = sizeof a}, b = {.struct_size = sizeof b};

    a.loss_floor = b.loss_floor = -INFINITY;
    env->vt->info(env->self, &a);
    env->vt->info(env->self, &b);
    if (a.n != b.n || a.steps != b.steps || memcmp(&a.dt, &b.dt, sizeof a.dt) != 0 ||
        memcmp(&a.loss_floor, &b.loss_floor, sizeof a.loss_floor) != 0) {
        ds_check_fail(c, "two calls of info() give different results: they must not change until destroy()");
    }
    if (!(a.dt >= 0) || isinf(a.dt)) {
        ds_check_fail(c, "dt is %g: expected seconds per output step, or 0", a.dt);
    }
    if (isnan(a.loss_floor) || a.loss_floor == (double)INFINITY) {
        ds_check_fail(c, "loss_floor is %g: expected a finite bound or -INFINITY", a.loss_floor);
    }
    for (uint64_t i = 0; i < env->n; i++) {
        double lo = env->lower[i], hi = env->upper[i], x0 = env->x0[i];
        if (!(isfinite(lo) && isfinite(hi) && lo <= hi)) {
            ds_check_fail(c, "bounds of variable %" PRIu64 " are %s..%s", i, DS_TEXT_OF(lo), DS_TEXT_OF(hi));
            ds_check_hint(
                c, "every variable needs finite bounds with lower <= upper; equal bounds fix a variable");
        }
        if (!(x0 >= lo && x0 <= hi)) {
            ds_check_fail(c, "start point: variable %" PRIu64 " is %s, outside of %s..%s", i, DS_TEXT_OF(x0),
                          DS_TEXT_OF(lo), DS_TEXT_OF(hi));
            ds_check_hint(c, "write all n values of x0 if it is not NULL");
        }
    }
    const size_t bytes = env->n * sizeof *env->x;
    ds_status st = env->vt->bounds(env->self, env->n, env->x, env->g, NULL); /* x0 may be NULL */
    if (st != DS_OK || memcmp(env->x, env->lower, bytes) != 0 || memcmp(env->g, env->upper, bytes) != 0) {
        ds_check_fail(c,
                      "a second call of bounds(), with x0 = NULL, returned %s or other bounds: they must not "
                      "change, and x0 may be NULL",
                      ds_status_name(st));
    }
    ds_check_note(c, "%" PRIu64 " variables, %" PRIu64 " steps of %g s", env->n, env->steps, a.dt);
}

/* Measured time of one call. */
static double cost(const ds_check *c, int gradient)
{
    return gradient && c->env->has_gradient ? c->options->cost_gradient : c->options->cost;
}

/* ---- results ---- */

static void eval_points(ds_check *c)
{
    ds_check_env *env = c->env;
    ds_check_result a;
    unsigned outcomes[4] = {0, 0, 0, 0};
    char where[64];

    int gradient = env->has_gradient && c->options->cost_gradient < 2;
    uint64_t count = ds_check_plan(c, "points", 26, 2, cost(c, gradient));
    for (uint64_t k = 0; k < count; k++) {
        if (k == 0) {
            snprintf(where, sizeof where, "start point");
        } else if (k <= 5) {
            ds_check_corner(c, env, (int)k - 1, env->x);
            snprintf(where, sizeof where, "corner of the box %llu", (unsigned long long)k);
        } else {
            ds_check_random_point(c, env, env->x);
            snprintf(where, sizeof where, "random point %llu", (unsigned long long)k - 5);
        }
        ds_check_call(env, env->x, gradient, &a);
        ds_check_result_check(c, env, &a, where);
        if (a.status == DS_OK && a.io.outcome <= DS_EVAL_INFEASIBLE) {
            outcomes[a.io.outcome]++;
        }
        if (a.io.outcome == DS_EVAL_OK && a.io.bad_step >= 0) {
            ds_check_fail(c, "%s: bad_step is %lld although the outcome is ok", where,
                          (long long)a.io.bad_step);
            ds_check_hint(c, "leave bad_step at -1 if nothing went wrong");
        }
        if (k == 0 && a.status == DS_OK && a.io.outcome >= DS_EVAL_DIVERGED) {
            ds_check_note(
                c, "the start point has no loss, so searches that begin there fail: choose another x0");
        }
    }
    ds_check_note(c, "%llu points: %u ok, %u bad_gradient, %u diverged, %u infeasible",
                  (unsigned long long)count, outcomes[0], outcomes[1], outcomes[2], outcomes[3]);
}

/* ---- buffers ---- */

enum { X, GRAD, GUARDS };

static void eval_buffers(ds_check *c)
{
    ds_check_env *env = c->env;
    ds_check_result a;

    size_t bytes = env->n * sizeof(double);
    ds_check_buffer buffer[GUARDS] = {0};
    ds_check_buffer_watch(c, buffer, GUARDS, "evaluate()");
    for (int at_end = 1; at_end >= 0; at_end--) {
        if (!ds_check_buffer_open(&buffer[X], "x", env->n, at_end) ||
            !ds_check_buffer_open(&buffer[GRAD], "grad", env->n, at_end)) {
            ds_check_note(c, "no memory for guarded buffers");
            break;
        }
        /* evaluate() gets addresses that are only multiples of 8: the contract guarantees no more. */
        double *x = buffer[X].guard.data, *g = buffer[GRAD].guard.data;
        memcpy(x, env->x0, bytes);
        ds_guard_readonly(&buffer[X].guard, 1);
        ds_check_evaluate(env, x, at_end && env->has_gradient ? DS_WANT_GRAD : 0, 0, g, &a);
        ds_guard_readonly(&buffer[X].guard, 0);
        ds_check_result_check(c, env, &a, at_end ? "guarded buffers" : "gradient not requested");
        for (int i = 0; i < GUARDS; i++) {
            ds_check_buffer_check(c, &buffer[i], "evaluate()");
        }
        if (memcmp(x, env->x0, bytes) != 0) {
            ds_check_fail(c, "evaluate() changed x: work on a copy");
        }
        for (uint64_t i = 0; i < env->n && !(at_end && env->has_gradient); i++) {
            if (!ds_check_is_poison(g[i])) {
                ds_check_fail(c, "entry %llu of grad was written although no gradient was requested",
                              (unsigned long long)i);
                ds_check_hint(
                    c, "write results->grad only if rows->want has DS_WANT_GRAD; otherwise it may be NULL");
                break;
            }
        }
        ds_guard_close(&buffer[X].guard);
        ds_guard_close(&buffer[GRAD].guard);
    }
}

/* ---- bad input ---- */

/* For points that break the host's side of the contract, a plugin only must not crash. */
static void eval_strange(ds_check *c)
{
    static const double strange[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e12};
    ds_check_env *env = c->env;
    ds_check_result a;
    char where[64];
    unsigned refused = 0;

    uint64_t count =
        ds_check_plan(c, "strange points", 2 * sizeof strange / sizeof strange[0], 2, c->options->cost);
    for (uint64_t k = 0; k < count; k++) {
        double v = strange[(k / 2) % (sizeof strange / sizeof strange[0])];
        for (uint64_t i = 0; i < env->n; i++) {
            env->x[i] = k % 2 == 0 || i == 0 ? v : env->x0[i];
        }
        snprintf(where, sizeof where, "%s variable%s %g", k % 2 == 0 ? "every" : "the first",
                 k % 2 == 0 ? "" : " alone", v);
        ds_check_call(env, env->x, 0, &a);
        if (a.status < 0) {
            refused++; /* a plugin may reject its input */
        } else {
            env->loss_floor = -INFINITY; /* loss_floor is proven only inside the box */
            ds_check_result_check(c, env, &a, where);
        }
    }
    ds_check_note(c, "%llu points outside of the box or not finite, %u refused with an error",
                  (unsigned long long)count, refused);
    ds_check_call(env, env->x0, 0, &a);
    if (ds_check_result_check(c, env, &a, "start point") && c->options->has_reference &&
        !ds_check_is_reference(c, &a, env->n, 0)) {
        ds_check_fail(c, "after strange points, the loss at the start point has changed");
        ds_check_hint(c, "initialise all state in every evaluate()");
    }
}

/* ---- unknown flags ---- */

static void eval_want(ds_check *c)
{
    static const uint32_t unknown[] = {0x80000000u, 0x40000000u, 0xfffffffcu};
    ds_check_env *env = c->env;
    ds_check_result plain, a;
    uint32_t want = env->has_gradient ? DS_WANT_GRAD : 0;
    double *grad = want != 0 ? calloc(env->n, sizeof *grad) : NULL;
    char where[64];

    if (want != 0 && grad == NULL) {
        ds_check_fail(c, "out of memory");
        return;
    }
    ds_check_call(env, env->x0, 1, &plain);
    uint64_t count =
        ds_check_plan(c, "unknown bits", sizeof unknown / sizeof unknown[0], 1, cost(c, want != 0));
    for (uint64_t k = 0; k < count && c->failed == 0; k++) {
        ds_check_evaluate(env, env->x0, want | unknown[k], 0, grad, &a);
        snprintf(where, sizeof where, "with the unknown bits %x in want", unknown[k]);
        if (ds_check_result_check(c, env, &a, where)) {
            ds_check_same(c, &plain, &a, env->n, 1, where);
        }
    }
    if (c->failed > 0) {
        ds_check_hint(c, "test single bits, (io->want & DS_WANT_GRAD) != 0, and ignore unknown ones");
    }
    free(grad);
}

/* ---- stopping ---- */

typedef struct timer {
    atomic_int *flag;
    double after; /* seconds */
    double set;   /* when the stop flag was set */
} timer;

static void *run_timer(void *arg)
{
    timer *t = arg;
    struct timespec pause = {(time_t)t->after, (long)(1e9 * (t->after - floor(t->after)))};
    nanosleep(&pause, NULL);
    t->set = ds_check_now();
    atomic_store(t->flag, 1);
    return NULL;
}

static void eval_stop(ds_check *c)
{
    /* An evaluation shorter than this need not call should_stop(). */
    const double allowed = 2;
    ds_check_env *env = c->env;
    ds_check_result a;
    pthread_t thread;

    timer t = {&env->h.stop, 0.05, 0};
    if (cost(c, 1) < 0.5) {
        t.after = 0;
    }
    if (pthread_create(&thread, NULL, run_timer, &t) != 0) {
        ds_check_skip(c, "cannot start a thread for the timer");
        return;
    }
    if (t.after == 0) {
        pthread_join(thread, NULL);
    }
    ds_check_call(env, env->x, 1, &a);
    const double since = ds_check_now() - t.set;
    const double on = t.after > 0 && since < a.seconds ? since : a.seconds; /* worked no longer than that */
    if (t.after > 0) {
        pthread_join(thread, NULL);
    }
    ds_check_note(c, "returned %s %.2g s after the request to stop; should_stop() was called %u times",
                  ds_status_name(a.status), on, atomic_load(&env->h.polls));
    if (on > allowed) {
        ds_check_fail(c, "evaluate() continued for %.1f s after should_stop() had become true", on);
        ds_check_hint(c, "call host->should_stop(host) about every 100 ms of work, also in the backward "
                         "pass, and return DS_STOPPED");
    }
    if (a.status < 0) {
        ds_check_fail(c, "evaluate() returned %s after a request to stop", ds_status_name(a.status));
        ds_check_hint(c, "stopping on request is not an error: return DS_STOPPED (or finish with DS_OK)");
    }
    /* The next evaluation must not be affected. */
    atomic_store(&env->h.stop, 0);
    int gradient = env->has_gradient;
    ds_check_call(env, env->x, gradient, &a);
    if (ds_check_result_check(c, env, &a, "the evaluation after a stopped one") &&
        c->options->has_reference) {
        if (!ds_check_is_reference(c, &a, env->n, gradient)) {
            ds_check_fail(c, "the evaluation after a stopped one has another result: loss %.17g", a.io.loss);
            ds_check_hint(c, "initialise all state in every evaluate()");
        }
    }
}

/* ---- side effects ---- */

static void compare_state(ds_check *c, ds_check_env *env, uint64_t count, const char *who)
{
    ds_check_result a;
    ds_process *before = ds_process_snapshot();
    for (uint64_t k = 0; k < count; k++) {
        ds_check_call(env, env->x, k % 2 == 0, &a);
    }
    ds_process *after = ds_process_snapshot();
    ds_process_compare(c, before, after, who);
    free(before);
    free(after);
}

static void state_with_threads(ds_check *c, void *arg)
{
    ds_check_env env;
    if (ds_check_env_open(c, 4, &env)) {
        compare_state(c, &env, *(const uint64_t *)arg, "evaluate() with 4 threads");
        ds_check_env_close(&env);
    }
}

static void eval_state(ds_check *c)
{
    uint64_t count = ds_check_plan(c, "evaluations", 3, 1, cost(c, 1));
    compare_state(c, c->env, count, "evaluate()");
    if (!ds_check_needs_process(c)) { /* changes in the plugin's own process are not examined */
        ds_check_in_child(c, state_with_threads, &count, sizeof count);
    }
}

/* The whole life of an instance that may use threads. */
static void eval_threads(ds_check *c)
{
    static const uint32_t threads[] = {1, 4};
    ds_check_env env;
    ds_check_result a;
    if (ds_check_needs_process(c)) {
        ds_check_skip(c, "its process ends with it (DS_ENV_OWN_PROCESS)");
        return;
    }
    for (size_t k = 0; k < sizeof threads / sizeof threads[0]; k++) {
        ds_process *before = ds_process_snapshot();
        if (ds_check_env_open(c, threads[k], &env)) {
            ds_check_call(&env, env.x, 1, &a);
            ds_check_env_close(&env);
        }
        ds_process_compare_threads(c, before, "destroy()");
        free(before);
    }
}

static void eval_quiet(ds_check *c)
{
    ds_check_env env;
    ds_check_result a;
    ds_capture *capture = ds_capture_start();
    if (ds_check_env_open(c, 1, &env)) {
        ds_check_call(&env, env.x, c->options->cost_gradient < 5, &a);
        ds_check_env_close(&env);
    }
    ds_capture_end(c, capture, "create(), evaluate() or destroy()");
}

static void eval_leak(ds_check *c)
{
    ds_check_env *env = c->env;
    ds_check_result a;
    uint64_t heap[3], resident[3];

    int gradient = c->options->cost_gradient < 2;
    uint64_t half = ds_check_plan(c, "evaluations", 40, 4, cost(c, gradient)) / 2;
    for (uint64_t i = 0; i < 2 && i < half; i++) {
        ds_check_call(env, env->x, gradient, &a);
    }
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < half && round > 0; i++) {
            ds_check_call(env, env->x, gradient, &a);
        }
        heap[round] = ds_process_heap();
        resident[round] = ds_process_resident();
    }
    if (heap[1] >= heap[0] + 8 * half && heap[2] >= heap[1] + 8 * half) {
        ds_check_fail(c, "every evaluation leaks about %llu bytes of the heap",
                      (unsigned long long)((heap[2] - heap[1]) / half));
        ds_check_hint(c, "allocate in create(), or free before evaluate() returns, also on error paths");
    } else if (resident[2] > resident[1] + (1u << 20) && resident[1] > resident[0] + (1u << 20)) {
        ds_check_fail(c,
                      "the process grew by %llu KiB in %llu evaluations: release memory from mmap() and "
                      "other allocators, too",
                      (unsigned long long)((resident[2] - resident[0]) >> 10),
                      (unsigned long long)(2 * half));
    }
    ds_check_note(c, "%llu evaluations, %llu MiB resident", (unsigned long long)(2 * half),
                  (unsigned long long)(resident[2] >> 20));
}

const ds_check_test ds_check_eval_tests[] = {
    {"env.info", "info() and bounds() are consistent and repeatable, the start point is inside", DS_CHECK_ENV,
     0, 0, info_consistent},
    {"env.speed", "time of one evaluation", DS_CHECK_ENV, 0, 0, info_speed},
    {"eval.points", "evaluate() gives a finite loss or reports that there is none", DS_CHECK_ENV, 2, 0,
     eval_points},
    {"eval.buffers", "evaluate() writes all of its outputs and nothing else", DS_CHECK_ENV | DS_CHECK_ALONE,
     1, 1, eval_buffers},
    {"eval.strange", "points outside of the box and NaN do no harm", DS_CHECK_ENV, 3, 0, eval_strange},
    {"eval.want", "unknown flags are ignored", DS_CHECK_ENV, 0, 2, eval_want},
    {"eval.stop", "evaluate() ends soon after the host requests it", DS_CHECK_ENV, 0, 1, eval_stop},
    {"eval.state", "evaluate() changes nothing in the process, with 1 thread and with 4", DS_CHECK_ENV, 0, 2,
     eval_state},
    {"eval.threads", "no thread outlives destroy(), with 1 thread and with 4", 0, 0, 2, eval_threads},
    {"eval.quiet", "nothing is printed", 0, 1, 0, eval_quiet},
    {"eval.leak", "evaluate() leaves no memory", DS_CHECK_ENV | DS_CHECK_ALONE, 4, 0, eval_leak},
    {NULL, NULL, 0, 0, 0, NULL}};
