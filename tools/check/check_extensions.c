/* SPDX-License-Identifier: Apache-2.0 */
/* check_extensions.c - conformance of the extension batch: the same numbers as from evaluate(). */
#include "config.h"

#include <diffsim/ext/batch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "harness/check_flight.h"
#include "harness/check_host.h"
#include "check/check_tests.h"

/* Points, and rows of the longest call. */
enum { ROWS = 5, MANY = DS_MAX_ROWS };

static const void *ask_extension(const ds_check_env *env, const char *id)
{
    return env->vt->get_extension != NULL ? env->vt->get_extension(env->self, id) : NULL;
}

/* One call with `count` rows of x in the order given, compared with single calls. 0 = the environment does
 * not answer such a call: the host asks for the points one by one then. */
static int compare_rows(ds_check *c, ds_check_env *env, const ds_env_batch *ext, uint64_t count,
                        const double *x, const uint64_t *order, uint32_t want, double *grad, double *single)
{
    ds_eval io[MANY], *list[MANY];
    uint64_t n = env->n;
    for (uint64_t k = 0; k < count; k++) {
        double *g = grad + k * n;
        for (uint64_t i = 0; i < n; i++) {
            g[i] = ds_check_poison();
        }
        io[k] = (ds_eval){.struct_size = sizeof io[k],
                          .want = want,
                          .n = n,
                          .x = x + order[k] * n,
                          .noise_key = order[k],
                          .grad = want != 0 ? g : NULL,
                          .loss = NAN,
                          .outcome = UINT32_MAX,
                          .bad_step = -1};
        list[k] = &io[k];
    }
    ds_flight_begin(x + order[0] * n, n, want, order[0], (uint32_t)count);
    ds_status st = ext->evaluate(env->self, count, list);
    ds_flight_end();
    if (st == DS_E_UNSUPPORTED) {
        return 0;
    }
    if (st != DS_OK) {
        ds_check_fail(c, "evaluate() of %llu points returned %s: %.200s", (unsigned long long)count,
                      ds_status_name(st), env->h.error_text);
        return 1;
    }
    for (uint64_t k = 0; k < count; k++) {
        ds_check_answer many = {.status = DS_OK, .io = io[k]}, alone;
        char where[80];
        snprintf(where, sizeof where, "point %llu of %llu in one call", (unsigned long long)k,
                 (unsigned long long)count);
        ds_check_evaluate(env, x + order[k] * n, want, order[k], want != 0 ? single : NULL, &alone);
        ds_check_same(c, &many, &alone, n, want != 0 && alone.io.outcome == DS_EVAL_OK, where);
    }
    return 1;
}

static void extension_batch(ds_check *c)
{
    static const uint64_t orders[][ROWS] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {1, 1, 1, 0, 1}};
    ds_check_env *env = c->env;
    const ds_env_batch *theirs = ask_extension(env, DS_EXT_BATCH);
    ds_env_batch own, *ext = &own;
    ds_error e;
    double *x = calloc((size_t)(ROWS + MANY + 1) * env->n, sizeof *x);
    if (theirs == NULL) {
        ds_check_skip(c, "this environment does not offer it");
    } else if (x == NULL) {
        ds_check_fail(c, "out of memory");
    } else if (DS_SIZED_READ(ext, theirs, DS_ENV_BATCH_SIZE_1_0, "", "the table of " DS_EXT_BATCH, &e) != 0) {
        ds_check_fail(c, "%s", e.text);
        ds_check_hint(c, "static const ds_env_batch table = {.struct_size = sizeof table, ...};");
    } else if (ext->evaluate == NULL) {
        ds_check_fail(c, "evaluate() is missing in the table of " DS_EXT_BATCH);
    } else {
        double *grad = x + ROWS * env->n, *single = grad + MANY * env->n;
        int answered = 0;
        for (uint64_t k = 1; k < ROWS; k++) {
            ds_check_random_point(c, env, x + k * env->n);
        }
        memcpy(x, env->x0, env->n * sizeof *x);
        for (size_t k = 0; k < sizeof orders / sizeof orders[0]; k++) {
            answered |= compare_rows(c, env, ext, ROWS, x, orders[k], 0, grad, single);
            if (env->has_gradient) {
                answered |= compare_rows(c, env, ext, ROWS, x, orders[k], DS_WANT_GRAD, grad, single);
            }
        }
        answered |= compare_rows(c, env, ext, 1, x, orders[0], 0, grad, single);
        const uint32_t want = env->has_gradient ? DS_WANT_GRAD : 0;
        uint64_t many[MANY],
            rows = ds_check_plan(c, "rows of one call", MANY, 1,
                                 2 * (want != 0 ? c->options->cost_gradient : c->options->cost));
        for (uint64_t k = 0; k < rows; k++) {
            many[k] = ds_random_u32(&c->random) % ROWS;
        }
        answered |= compare_rows(c, env, ext, rows, x, many, want, grad, single);
        if (!answered) {
            ds_check_skip(c, "it answers no call with several points (DS_E_UNSUPPORTED)");
        }
        if (c->failed > 0) {
            ds_check_hint(
                c, "a point's answer must not depend on its company: no state that goes from one to the "
                   "next, sums in the same order as for a point alone");
        }
    }
    free(x);
}

const ds_check_test ds_check_extension_tests[] = {{"ext.batch",
                                                   "many points in one call give the bits of single calls",
                                                   DS_CHECK_ENV, 8, 4, extension_batch},
                                                  {NULL, NULL, 0, 0, 0, NULL}};
