/* SPDX-License-Identifier: Apache-2.0 */
/* eval_gradient.c - finite differences of `dshost eval --fd`. */
#include "config.h"

#include "eval/eval.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "difference/finite_difference.h"

/* Number of disagreeing components that are tested for a seam. */
enum { SEAMS = 8 };

typedef struct asker {
    ds_pool *pool;
    uint64_t n;
    int status; /* of the pool; not 0 once it has failed as a whole */
    ds_error error;
} asker;

static int keep(void *ctx, uint64_t i, const ds_answer *answer, const double *grad, const void *out)
{
    (void)i, (void)grad, (void)out;
    *(ds_answer *)ctx = *answer;
    return 0;
}

static double loss_at(void *ctx, const double *x, int *failed)
{
    asker *s = ctx;
    ds_answer a = {.loss = NAN, .outcome = DS_EVAL_ERROR};
    if (s->status == 0) {
        s->status = ds_pool_evaluate(s->pool, 1, x, 0, 1, keep, &a, &s->error);
    }
    *failed |= s->status != 0 || a.outcome > DS_EVAL_BAD_GRAD;
    return a.loss;
}

typedef struct gradient_answer {
    uint64_t n;
    double *grad;
    int known;
} gradient_answer;

static int keep_gradient(void *ctx, uint64_t i, const ds_answer *answer, const double *grad, const void *out)
{
    gradient_answer *a = ctx;
    (void)i, (void)out;
    a->known = answer->outcome == DS_EVAL_OK && grad != NULL;
    if (a->known) {
        memcpy(a->grad, grad, a->n * sizeof *grad);
    }
    return 0;
}

static int gradient_at(void *ctx, const double *x, double *grad)
{
    asker *s = ctx;
    gradient_answer a = {s->n, grad, 0};
    if (s->status == 0) {
        s->status = ds_pool_evaluate(s->pool, 1, x, DS_WANT_GRAD, 1, keep_gradient, &a, &s->error);
    }
    return s->status == 0 && a.known;
}

/* A disagreement because x lies on a seam is not an error. */
static void look_for_seams(ds_gradient_table *t, const ds_around *around, const ds_gradient_claim *g)
{
    double *room = t->count[DS_SLOPE_WRONG] > 0 ? calloc(2 * t->n, sizeof *room) : NULL;
    const ds_seam_test beside = {around, g, gradient_at, room, 0};
    int looked = 0;
    for (uint64_t i = 0; room != NULL && i < t->n && looked < SEAMS; i++) {
        ds_quotient *q = &t->row[i];
        double width = around->upper[i] - around->lower[i];
        const ds_direction along = {&width, i, 1};
        if (q->verdict != DS_SLOPE_WRONG) {
            continue;
        }
        looked++;
        q->seam = ds_on_seam(&beside, &along, (q->value - g->grad[i]) * width);
        if (q->seam != DS_SEAM_NONE) {
            q->verdict = DS_SLOPE_KINK;
            t->count[DS_SLOPE_WRONG]--;
            t->count[DS_SLOPE_KINK]++;
        }
    }
    free(room);
}

static int is_fixed(const ds_gradient_table *t, uint64_t i)
{
    return !(t->env->lower[i] < t->env->upper[i]);
}

int ds_gradient_table_make(ds_pool *pool, double *x, const ds_answer *at_x, const double *grad,
                           ds_gradient_table *t, ds_error *e)
{
    const ds_pool_env *env = ds_pool_env_of(pool);
    asker s = {.pool = pool, .n = env->info.n};
    ds_around around = {loss_at,    &s,         env->info.n, x,
                        env->lower, env->upper, at_x->loss,  2 * env->info.tolerance * fabs(at_x->loss),
                        0};
    ds_gradient_claim g = {0};
    *t = (ds_gradient_table){.n = env->info.n, .env = env, .judged = grad != NULL};
    t->row = calloc(t->n, sizeof *t->row);
    if (t->row == NULL) {
        return ds_no_memory(e);
    }
    if (grad != NULL) {
        g = ds_gradient_claim_make(t->n, grad, env->lower, env->upper, at_x->grad_kind, env->info.tolerance);
    }
    for (uint64_t i = 0; i < t->n && s.status == 0; i++) {
        const ds_claim claim = grad != NULL ? ds_gradient_claim_of(&g, i, env->upper[i] - env->lower[i])
                                            : (ds_claim){.slope = NAN};
        ds_quotient *q = &t->row[i];
        *q = ds_difference_component(&around, i, &claim);
        if (grad == NULL) {
            q->verdict = q->kink ? DS_SLOPE_KINK : q->agreed ? DS_SLOPE_AGREES : DS_SLOPE_UNKNOWN;
        }
        if (is_fixed(t, i)) {
            t->fixed++;
        } else {
            t->count[q->verdict]++;
        }
    }
    if (grad != NULL) {
        look_for_seams(t, &around, &g);
    }
    if (s.status != 0) {
        *e = s.error;
    }
    return s.status;
}

void ds_gradient_table_clear(ds_gradient_table *t)
{
    free(t->row);
    t->row = NULL;
}

void ds_gradient_table_print_row(const ds_gradient_table *t, uint64_t i)
{
    const ds_quotient *q = &t->row[i];
    if (is_fixed(t, i)) {
        printf(" %24s %8s  fixed", "-", "-");
        return;
    }
    printf(" %24.17g %8.1e", q->value, q->spread);
    if (q->verdict == DS_SLOPE_WRONG) {
        printf("  WRONG");
    }
    if (q->seam == DS_SEAM_BOUND) {
        printf("  kink at the bound: one step inside the gradient is the difference quotient");
    } else if (q->seam) {
        printf("  seam: the gradient jumps next to x (%.9g on the left, %.9g on the right)", q->left,
               q->right);
    } else if (q->kink) {
        printf("  kink: %.9g on the left, %.9g on the right", q->left, q->right);
    } else if (q->verdict == DS_SLOPE_KINK) {
        printf("  agrees at finer steps, or on one side (%.9g on the left, %.9g on the right)", q->left,
               q->right);
    } else if (q->verdict == DS_SLOPE_UNKNOWN) {
        printf("  undecided: jumps, noise or failures (%.9g on the left, %.9g on the right)", q->left,
               q->right);
    }
}

void ds_gradient_table_print_verdict(const ds_gradient_table *t)
{
    printf("\nverdict   %s in %" PRIu64 " of %" PRIu64 " components",
           t->judged ? "gradient agrees with differences" : "differences are precise",
           t->count[DS_SLOPE_AGREES], t->n - t->fixed);
    if (t->count[DS_SLOPE_KINK] > 0) {
        printf(", kinks in %" PRIu64, t->count[DS_SLOPE_KINK]);
    }
    if (t->count[DS_SLOPE_UNKNOWN] > 0) {
        printf(", undecided in %" PRIu64, t->count[DS_SLOPE_UNKNOWN]);
    }
    if (t->count[DS_SLOPE_WRONG] > 0) {
        printf(", WRONG in %" PRIu64, t->count[DS_SLOPE_WRONG]);
    }
    printf("\n");
}

/* ---- JSON ---- */

static json_t *column(const ds_gradient_table *t, size_t offset)
{
    json_t *a = json_array();
    for (uint64_t i = 0; i < t->n; i++) {
        json_array_append_new(a, ds_json_real(*(const double *)((const char *)&t->row[i] + offset)));
    }
    return a;
}

static json_t *verdicts(const ds_gradient_table *t)
{
    json_t *a = json_array();
    for (uint64_t i = 0; i < t->n; i++) {
        json_array_append_new(a, json_string(is_fixed(t, i) ? "fixed" : ds_slope_name(t->row[i].verdict)));
    }
    return a;
}

void ds_gradient_table_json(const ds_gradient_table *t, json_t *o)
{
    const struct {
        const char *key;
        size_t offset;
    } columns[] = {{"gradient_fd", offsetof(ds_quotient, value)},
                   {"gradient_fd_spread", offsetof(ds_quotient, spread)},
                   {"gradient_fd_left", offsetof(ds_quotient, left)},
                   {"gradient_fd_right", offsetof(ds_quotient, right)}};
    for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++) {
        json_object_set_new(o, columns[k].key, t->row != NULL ? column(t, columns[k].offset) : json_null());
    }
    json_object_set_new(o, "gradient_fd_verdict", t->row != NULL ? verdicts(t) : json_null());
}

int ds_gradient_table_status(const ds_gradient_table *t, const char *id, ds_error *e)
{
    uint64_t wrong = t->row != NULL ? t->count[DS_SLOPE_WRONG] : 0;
    return wrong == 0 ? 0
                      : ds_fail(e, DS_EXIT_CHECK,
                                "%s: the gradient is wrong in %" PRIu64 " of %" PRIu64
                                " components: difference quotients disagree",
                                id, wrong, t->n);
}
