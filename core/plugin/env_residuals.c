/* SPDX-License-Identifier: Apache-2.0 */
/* env_residuals.c - residuals and products with their Jacobian. */
#include "config.h"

#include "plugin/instance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

uint64_t ds_residual_input(uint32_t kind, uint64_t n, uint64_t m)
{
    return kind == DS_RESIDUALS_JV ? n : kind == DS_RESIDUALS_JTV ? m : 0;
}

uint64_t ds_residual_output(uint32_t kind, uint64_t n, uint64_t m)
{
    return kind == DS_RESIDUALS_JTV ? n : m;
}

/* What the plugin answered, made safe. */
static void validate(const ds_env *env, const ds_residual_eval *io, uint64_t count, ds_answer *a)
{
    static const char *const what[] = {"", "residual", "component of the product J v",
                                       "component of the product J^T v"};
    a->loss = io->loss;
    a->outcome = io->outcome;
    a->bad_step = io->bad_step;
    a->cost_steps = io->cost_steps;
    a->grad_kind = io->kind != DS_RESIDUALS_VALUE ? io->grad_kind : DS_GRAD_NONE;
    if (io->outcome > DS_EVAL_INFEASIBLE) {
        ds_answer_fail(a, DS_EVAL_INVALID, "evaluate() of residuals set an outcome that only the host sets");
    } else if (io->outcome >= DS_EVAL_DIVERGED) {
        ds_answer_fail(a, io->outcome, env->services.last_error);
    } else if (!isfinite(io->loss)) {
        ds_answer_fail(a, DS_EVAL_INVALID,
                       "evaluate() of residuals returned a loss that is not finite as a success");
    } else if (io->outcome == DS_EVAL_BAD_GRAD && io->kind == DS_RESIDUALS_VALUE) {
        ds_answer_fail(a, DS_EVAL_INVALID, "evaluate() of residuals set bad_gradient, which is for products");
    }
    if (a->outcome == DS_EVAL_OK && io->kind != DS_RESIDUALS_VALUE &&
        (io->grad_kind == DS_GRAD_NONE || io->grad_kind > DS_GRAD_SMOOTHED)) {
        a->outcome = DS_EVAL_BAD_GRAD;
        snprintf(a->message, sizeof a->message,
                 "evaluate() of residuals did not say how it made the product");
    }
    for (uint64_t i = 0; a->outcome == DS_EVAL_OK && i < count; i++) {
        if (!isfinite(io->out[i])) {
            int value = io->kind == DS_RESIDUALS_VALUE;
            a->outcome = value ? DS_EVAL_INVALID : DS_EVAL_BAD_GRAD;
            a->loss = value ? (double)INFINITY : a->loss;
            snprintf(a->message, sizeof a->message, "%s %llu is not finite", what[io->kind],
                     (unsigned long long)i);
        }
    }
}

ds_status ds_env_evaluate_residuals(ds_env *env, uint32_t kind, const double *x, const double *v,
                                    uint64_t noise_key, double *out, ds_answer *a)
{
    uint64_t n = env->info.n, m = env->residual_count, count = ds_residual_output(kind, n, m);
    ds_residual_eval io = {.struct_size = sizeof io,
                           .kind = kind,
                           .n = n,
                           .m = m,
                           .x = x,
                           .v = kind == DS_RESIDUALS_VALUE ? NULL : v,
                           .noise_key = noise_key,
                           .out = out,
                           .loss = NAN,
                           .bad_step = -1};
    double start = ds_clock_s();
    memset(out, 0xff, count * sizeof(double)); /* NaN: an answer that is not filled is noticed */
    a->message[0] = '\0';
    a->grad_kind = DS_GRAD_NONE;
    env->services.last_error[0] = '\0';
    ds_status st = env->residuals->evaluate(env->self, &io);
    if (st == DS_OK) {
        validate(env, &io, count, a);
    } else {
        a->bad_step = -1;
        a->cost_steps = io.cost_steps;
        ds_answer_fail_status(env, a, st);
    }
    if (a->outcome != DS_EVAL_OK) {
        memset(out, 0, count * sizeof(double));
        a->grad_kind = DS_GRAD_NONE;
    }
    a->wall_s = ds_clock_s() - start;
    return st == DS_STOPPED ? DS_STOPPED : DS_OK;
}
