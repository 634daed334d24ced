/* SPDX-License-Identifier: Apache-2.0 */
/* check_extensions.c - conformance of the extensions batch and residuals: the same numbers as from
 * evaluate(), and products that fit the residuals and each other. */
#include "config.h"

#include <diffsim/ext/batch.h>
#include <diffsim/ext/residuals.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "harness/check_host.h"
#include "check/check_tests.h"

enum { ROWS = 5, POINTS = 5 };

static const void *ask_extension(const ds_check_env *env, const char *id)
{
    return env->vt->get_extension != NULL ? env->vt->get_extension(env->self, id) : NULL;
}

/* ---- batch ---- */

/* One call with `count` rows of x in the order given, compared with single calls. */
static void compare_rows(ds_check *c, ds_check_env *env, const ds_env_batch *ext, uint64_t count,
                         const double *x, const uint64_t *order, uint32_t want, double *grad, double *single)
{
    ds_eval io[ROWS], *list[ROWS];
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
    ds_status st = ext->evaluate(env->self, count, list);
    if (st != DS_OK) {
        ds_check_fail(c, "evaluate() of %llu points returned %s: %.200s", (unsigned long long)count,
                      ds_status_name(st), env->h.error_text);
        return;
    }
    for (uint64_t k = 0; k < count; k++) {
        ds_check_answer many = {.status = DS_OK, .io = io[k]}, alone;
        char where[80];
        snprintf(where, sizeof where, "point %llu of %llu in one call", (unsigned long long)k,
                 (unsigned long long)count);
        ds_check_evaluate(env, x + order[k] * n, want, order[k], want != 0 ? single : NULL, &alone);
        ds_check_same(c, &many, &alone, n, want != 0 && alone.io.outcome == DS_EVAL_OK, where);
    }
}

static void extension_batch(ds_check *c)
{
    static const uint64_t orders[][ROWS] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {1, 1, 1, 0, 1}};
    ds_check_env *env = c->env;
    const ds_env_batch *theirs = ask_extension(env, DS_EXT_BATCH);
    ds_env_batch own, *ext = &own;
    ds_error e;
    double *x = calloc((size_t)(2 * ROWS + 1) * env->n, sizeof *x);
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
        double *grad = x + ROWS * env->n, *single = grad + ROWS * env->n;
        for (uint64_t k = 1; k < ROWS; k++) {
            ds_check_random_point(c, env, x + k * env->n);
        }
        memcpy(x, env->x0, env->n * sizeof *x);
        for (size_t k = 0; k < sizeof orders / sizeof orders[0]; k++) {
            compare_rows(c, env, ext, ROWS, x, orders[k], 0, grad, single);
            if (env->has_gradient) {
                compare_rows(c, env, ext, ROWS, x, orders[k], DS_WANT_GRAD, grad, single);
            }
        }
        compare_rows(c, env, ext, 1, x, orders[0], 0, grad, single);
        if (c->failed > 0) {
            ds_check_hint(
                c, "a point's answer must not depend on its company: no state that goes from one to the "
                   "next, sums in the same order as for a point alone");
        }
    }
    free(x);
}

/* ---- residuals ---- */

typedef struct bench {
    ds_check *c;
    ds_check_env *env;
    const ds_residuals *ext;
    uint64_t n, m;
    double *x, *y, *v, *w, *r, *above, *below, *jv, *jtw, *grad; /* n or m values each */
    unsigned answered, judged;
    double dot, sum, slope, quotient[POINTS]; /* largest errors; of difference quotients at each point */
} bench;

/* Asks once; 0 where there is no answer (recorded where that is wrong). */
static int get(bench *b, uint32_t kind, const double *x, const double *v, double *out, ds_residual_eval *io)
{
    static const char *const names[] = {"", "residuals", "J v", "J^T v"};
    uint64_t count = kind == DS_RESIDUALS_JTV ? b->n : b->m;
    for (uint64_t i = 0; i < count; i++) {
        out[i] = ds_check_poison();
    }
    *io = (ds_residual_eval){.struct_size = sizeof *io,
                             .kind = kind,
                             .n = b->n,
                             .m = b->m,
                             .x = x,
                             .v = v,
                             .out = out,
                             .loss = NAN,
                             .outcome = UINT32_MAX,
                             .bad_step = -1};
    ds_status st = b->ext->evaluate(b->env->self, io);
    if (st != DS_OK) {
        ds_check_fail(b->c, "%s: evaluate() returned %s: %.200s", names[kind], ds_status_name(st),
                      b->env->h.error_text);
        return 0;
    }
    if (io->outcome != DS_EVAL_OK) {
        if (io->outcome > DS_EVAL_INFEASIBLE) {
            ds_check_fail(b->c, "%s: the outcome is not set, or one that only the host sets", names[kind]);
        }
        return 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!isfinite(out[i]) || ds_check_is_poison(out[i])) {
            ds_check_fail(b->c, "%s: component %llu of %llu %s", names[kind], (unsigned long long)i,
                          (unsigned long long)count,
                          ds_check_is_poison(out[i]) ? "is not written" : "is not finite");
            return 0;
        }
    }
    if (kind != DS_RESIDUALS_VALUE && (io->grad_kind == DS_GRAD_NONE || io->grad_kind > DS_GRAD_SMOOTHED)) {
        ds_check_fail(b->c, "%s: grad_kind is %u", names[kind], io->grad_kind);
        ds_check_hint(b->c, "say how the product was made: DS_GRAD_ADJOINT, DS_GRAD_FORWARD or DS_GRAD_FD");
    }
    return 1;
}

static double dot(uint64_t count, const double *a, const double *b)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static double relative(double a, double b, double scale)
{
    double size = fmax(fmax(fabs(a), fabs(b)), scale);
    return size > 0 ? fabs(a - b) / size : 0;
}

/* Difference quotients of r along v, best of three step sizes, against J v; relative to the
 * larger of both. */
static double quotient_error(bench *b)
{
    double best = INFINITY;
    ds_residual_eval io;
    for (double h = 1e-4; h > 5e-7; h *= 0.1) {
        double error = 0, size = 0;
        for (int side = -1; side <= 1; side += 2) {
            for (uint64_t i = 0; i < b->n; i++) {
                b->y[i] = b->x[i] + side * h * b->v[i];
            }
            if (!get(b, DS_RESIDUALS_VALUE, b->y, NULL, side < 0 ? b->below : b->above, &io)) {
                return INFINITY;
            }
        }
        for (uint64_t i = 0; i < b->m; i++) {
            double d = (b->above[i] - b->below[i]) / (2 * h) - b->jv[i];
            error += d * d;
            size += b->jv[i] * b->jv[i];
        }
        best = fmin(best, size > 0 ? sqrt(error / size) : sqrt(error));
    }
    return best;
}

static void try_point(bench *b, unsigned number)
{
    ds_check_env *env = b->env;
    ds_check_answer loss;
    ds_residual_eval io, again;
    ds_check_random_point(b->c, env, b->x);
    for (uint64_t i = 0; i < b->n; i++) { /* a little inside of the box, for the quotients */
        b->x[i] = 0.01 * (0.5 * env->lower[i] + 0.5 * env->upper[i]) + 0.99 * b->x[i];
        b->v[i] = (2 * ds_random_uniform(&b->c->random) - 1) * (env->upper[i] - env->lower[i]);
    }
    for (uint64_t i = 0; i < b->m; i++) {
        b->w[i] = 2 * ds_random_uniform(&b->c->random) - 1;
    }
    ds_check_evaluate(env, b->x, env->has_gradient ? DS_WANT_GRAD : 0, 0, env->has_gradient ? b->grad : NULL,
                      &loss);
    int usable = loss.status == DS_OK && loss.io.outcome == DS_EVAL_OK;
    if (!get(b, DS_RESIDUALS_VALUE, b->x, NULL, b->r, &io) || !usable) {
        if (usable) {
            ds_check_fail(b->c, "point %u: evaluate() gives a loss, and there are no residuals", number);
        }
        return;
    }
    b->answered++;
    b->sum = fmax(b->sum, relative(dot(b->m, b->r, b->r), io.loss, 0));
    if (!get(b, DS_RESIDUALS_JV, b->x, b->v, b->jv, &again) ||
        !get(b, DS_RESIDUALS_JTV, b->x, b->w, b->jtw, &again)) {
        return;
    }
    if (memcmp(&io.loss, &loss.io.loss, sizeof io.loss) != 0 ||
        memcmp(&again.loss, &io.loss, sizeof io.loss) != 0) {
        ds_check_fail(
            b->c, "point %u: the loss is %.17g from evaluate(), %.17g with residuals, %.17g with a product",
            number, loss.io.loss, io.loss, again.loss);
        ds_check_hint(b->c, "one x has one loss, bit for bit: let all of them take the same forward code");
    }
    double size = sqrt(dot(b->m, b->w, b->w) * dot(b->m, b->jv, b->jv));
    b->dot = fmax(b->dot, relative(dot(b->m, b->w, b->jv), dot(b->n, b->v, b->jtw), size));
    b->quotient[b->judged++] = quotient_error(b);
    if (env->has_gradient && get(b, DS_RESIDUALS_JTV, b->x, b->r, b->jtw, &again)) {
        double error = 0;
        for (uint64_t i = 0; i < b->n; i++) {
            double d = b->grad[i] - 2 * b->jtw[i];
            error += d * d;
        }
        double length = dot(b->n, b->grad, b->grad);
        b->slope = fmax(b->slope, length > 0 ? sqrt(error / length) : sqrt(error));
    }
    memcpy(b->above, b->r, b->m * sizeof *b->r);
    if (get(b, DS_RESIDUALS_VALUE, b->x, NULL, b->r, &again) &&
        memcmp(b->above, b->r, b->m * sizeof *b->r) != 0) {
        ds_check_fail(b->c, "point %u: the same point gives other residuals the second time", number);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void judge(bench *b)
{
    ds_check *c = b->c;
    if (b->answered == 0) {
        ds_check_skip(c, "no point has residuals");
        return;
    }
    if (b->sum > 1e-9) {
        ds_check_fail(c, "the sum of the squares of the residuals differs from the loss by %.2g relative",
                      b->sum);
        ds_check_hint(c, "loss = sum of r_i^2: without a factor 1/2, weights inside of the residuals");
    }
    if (b->dot > 1e-5) {
        ds_check_fail(c, "w.(J v) and v.(J^T w) differ by %.2g relative", b->dot);
        ds_check_hint(
            c, "the two products belong to different matrices: test single steps with the dot product");
    }
    if (b->slope > 1e-5) {
        ds_check_fail(c, "2 J^T r differs from the gradient of the loss by %.2g relative", b->slope);
    }
    if (b->judged > 0) {
        qsort(b->quotient, b->judged, sizeof b->quotient[0], by_size);
        double median = b->quotient[b->judged / 2];
        if (!(median < 1e-4)) {
            ds_check_fail(c, "J v differs from difference quotients by %.2g relative (median)", median);
        }
        ds_check_note(
            c, "%llu residuals; relative errors: sum %.1e, dot product %.1e, gradient %.1e, quotients %.1e",
            (unsigned long long)b->m, b->sum, b->dot, b->slope, median);
    }
}

static void extension_residuals(ds_check *c)
{
    ds_check_env *env = c->env;
    bench b = {.c = c, .env = env};
    b.ext = ask_extension(env, DS_EXT_RESIDUALS);
    b.n = env->n;
    if (b.ext == NULL) {
        ds_check_skip(c, "this environment does not offer them");
        return;
    }
    uint64_t second = 0;
    if (!DS_HAS(ds_residuals, b.ext, evaluate) || b.ext->size(env->self, &b.m) != DS_OK || b.m < 1 ||
        b.ext->size(env->self, &second) != DS_OK || second != b.m) {
        ds_check_fail(c, "size() fails, says 0, or something else the second time");
        return;
    }
    double *memory = calloc(5 * env->n + 5 * b.m, sizeof *memory);
    if (memory == NULL) {
        ds_check_fail(c, "out of memory");
    } else {
        double **const ns[] = {&b.x, &b.y, &b.v, &b.jtw, &b.grad},
                       **const ms[] = {&b.w, &b.r, &b.above, &b.below, &b.jv};
        for (int k = 0; k < 5; k++) {
            *ns[k] = memory + (size_t)k * env->n;
            *ms[k] = memory + 5 * env->n + (size_t)k * b.m;
        }
        uint64_t points =
            ds_check_plan(c, "points", POINTS, 1, 8 * c->options->cost + 4 * c->options->cost_gradient);
        for (unsigned k = 0; k < points; k++) {
            try_point(&b, k);
        }
        judge(&b);
    }
    free(memory);
}

const ds_check_test ds_check_extension_tests[] = {
    {"ext.batch", "many points in one call give the bits of single calls", DS_CHECK_ENV, 8, 4,
     extension_batch},
    {"ext.residuals", "residuals are those of the loss, and products those with their Jacobian", DS_CHECK_ENV,
     8, 4, extension_residuals},
    {NULL, NULL, 0, 0, 0, NULL}};
