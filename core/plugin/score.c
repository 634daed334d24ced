/* SPDX-License-Identifier: Apache-2.0 */
/* score.c - see score.h. */
#include "config.h"

#include "plugin/score.h"

#include <math.h>
#include <string.h>

#include "base/sized.h"

/* Numbers of operations that no plugin sees: beyond those of ds_ask.op. */
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

void ds_score_question(ds_asks *a, uint64_t n, int baseline)
{
    memset(a, 0, sizeof *a);
    a->count = 1;
    a->in = 1;
    a->out = a->values = n + 1;
    a->ask[0] = (ds_asked){
        .op = baseline ? SCORE_AND_BASELINE : SCORE, .v_count = 1, .bytes = 8 * (n + 1), .elements = n + 1};
}

int ds_score_asked(const ds_asks *a)
{
    return a->count == 1 && (a->ask[0].op == SCORE || a->ask[0].op == SCORE_AND_BASELINE);
}

int ds_score_baseline_asked(const ds_asks *a)
{
    return a->ask[0].op == SCORE_AND_BASELINE;
}

void ds_score_room(const ds_score_info *info, uint64_t n, uint64_t *in, uint64_t *out)
{
    if (info->noise > 0) {
        *in = *in > 1 ? *in : 1;
        *out = *out > n + 1 ? *out : n + 1;
    }
}
