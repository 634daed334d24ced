/* SPDX-License-Identifier: Apache-2.0 */
/* inquiry.c - see inquiry.h. */
#include "config.h"

#include "plugin/query.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sized.h"

/* The first number of an answer that is not finite; their count where all are. */
static uint64_t first_wild(const ds_placed_query *a, uint32_t type, const void *out)
{
    int single = a->op == DS_QUERY_VALUE && type == DS_TYPE_F32;
    uint64_t i = a->op == DS_QUERY_VALUE && type == DS_TYPE_U8 ? a->elements : 0;
    while (i < a->elements && isfinite(single ? (double)((const float *)out)[i] : ((const double *)out)[i])) {
        i++;
    }
    return i;
}

static void check_one(const ds_channels *channels, const ds_placed_query *a, uint32_t kind, const void *out,
                      ds_answer *answer)
{
    static const char *const what[] = {"", "element", "component of J v", "component of J' v",
                                       "component of H v"};
    const ds_channel *c = channels->list[a->channel];
    int product = a->op != DS_QUERY_VALUE;
    uint64_t wild = first_wild(a, c->type, out);
    if (wild < a->elements) {
        answer->outcome = product ? DS_EVAL_BAD_GRAD : DS_EVAL_INVALID;
        answer->loss = product ? answer->loss : (double)INFINITY;
        snprintf(answer->message, sizeof answer->message, "channel %s: %s %llu is not finite", c->name,
                 what[a->op], (unsigned long long)wild);
    } else if (product && kind == DS_GRAD_NONE) {
        answer->outcome = DS_EVAL_BAD_GRAD;
        snprintf(answer->message, sizeof answer->message,
                 "evaluate() did not say how it made the product with channel '%s'", c->name);
    }
}

void ds_query_check(const ds_channels *channels, const ds_query_io *q, const uint32_t *kind, uint64_t stride,
                    ds_answer *answer)
{
    const ds_query_layout *queries = q->queries;
    unsigned char *out = q->out;
    for (uint32_t i = 0; answer->outcome == DS_EVAL_OK && i < queries->count; i++) {
        check_one(channels, &queries->query[i], kind[i * stride], out + 8 * queries->query[i].out, answer);
    }
    if (answer->outcome > DS_EVAL_BAD_GRAD) {
        memset(out, 0, queries->out * 8);
    } else if (answer->outcome == DS_EVAL_BAD_GRAD) {
        memset(out + queries->values * 8, 0, (queries->out - queries->values) * 8);
    } else if (queries->product) {
        const uint32_t last = kind[(queries->count - 1) * stride];
        answer->product_kind =
            last <= DS_GRAD_SMOOTHED ? last : DS_GRAD_SMOOTHED; /* that of a later version */
    }
}

/* ---- the score ---- */

/* Numbers of operations that no plugin sees: beyond those of ds_query.op. */
enum { SCORE = 0x10000, SCORE_AND_BASELINE = 0x10001 };

int ds_score_credible(const ds_score_info *info)
{
    return info->noise == 0 ||
           (info->action >= 1 && info->action <= info->noise && info->noise % info->action == 0 &&
            info->noise <= DS_MAX_ELEMENTS && isfinite(info->sigma) && info->sigma > 0);
}

int ds_score_accept(const char *id, const ds_env_score *table, void *self, ds_env_score *own,
                    ds_score_info *info, ds_error *e)
{
    *info = (ds_score_info){.struct_size = sizeof *info};
    if (table == NULL) {
        return 0;
    }
    if (DS_SIZED_READ(own, table, DS_ENV_SCORE_SIZE_1_0, id, "the table of " DS_EXT_SCORE, e) != 0) {
        return DS_EXIT_PLUGIN;
    }
    if (own->info == NULL || own->evaluate == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: extension " DS_EXT_SCORE ": a function is missing", id);
    }
    ds_status st = own->info(self, info);
    if (st != DS_OK || info->noise == 0 || !ds_score_credible(info)) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s: extension " DS_EXT_SCORE
                       ": info() returned %s with %llu numbers of noise, %llu a step, and "
                       "sigma %g: each step needs the same number, at least 1, and sigma must be positive",
                       id, ds_status_name(st), (unsigned long long)info->noise,
                       (unsigned long long)info->action, info->sigma);
    }
    return 0;
}

void ds_score_query(ds_query_layout *a, uint64_t n, int baseline)
{
    memset(a, 0, sizeof *a);
    a->count = 1;
    a->in = 1;
    a->out = a->values = n + 1;
    a->query[0] = (ds_placed_query){
        .op = baseline ? SCORE_AND_BASELINE : SCORE, .v_count = 1, .bytes = 8 * (n + 1), .elements = n + 1};
}

int ds_score_is_queried(const ds_query_layout *a)
{
    return a->count == 1 && (a->query[0].op == SCORE || a->query[0].op == SCORE_AND_BASELINE);
}

int ds_score_wants_baseline(const ds_query_layout *a)
{
    return a->query[0].op == SCORE_AND_BASELINE;
}

void ds_score_room(const ds_score_info *info, uint64_t n, uint64_t *in, uint64_t *out)
{
    if (info->noise > 0) {
        *in = *in > 1 ? *in : 1;
        *out = *out > n + 1 ? *out : n + 1;
    }
}
