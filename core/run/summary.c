/* SPDX-License-Identifier: Apache-2.0 */
/* summary.c - summary.json: what a run was and what came out of it. */
#include "config.h"

#include "run/summary.h"

#include <math.h>

#include "base/json_text.h"

static json_t *versions(const ds_session *run)
{
    json_t *o = json_object();
    char abi[32];
    snprintf(abi, sizeof(abi), "%u.%u", DS_ABI_MAJOR, DS_ABI_MINOR);
    json_object_set_new(o, "dshost", json_string(PACKAGE_VERSION));
    json_object_set_new(o, "abi", json_string(abi));
    json_object_set_new(o, "env", json_string(run->spec.env.version));
    json_object_set_new(o, "opt", json_string(run->spec.opt.version));
    return o;
}

json_t *ds_run_summary(const ds_session *run, uint64_t plan)
{
    const ds_statistics *l = &run->journal.statistics;
    json_t *o = json_object();
    json_t *outcomes = json_object();
    int found = l->best_id > 0;
    json_object_set_new(o, "folder", json_string(run->folder));
    json_object_set_new(o, "env", json_string(run->spec.env.id));
    json_object_set_new(o, "opt", json_string(run->spec.opt.id));
    /* A seed above 2^63 does not fit into a JSON integer of jansson. */
    char seed[32];
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)run->options.seed);
    json_object_set_new(o, "seed",
                        run->options.seed <= INT64_MAX ? json_integer((json_int_t)run->options.seed)
                                                       : json_string(seed));
    json_object_set_new(o, "n", json_integer((json_int_t)run->env->info.n));
    json_object_set_new(o, "budget", json_integer((json_int_t)run->journal.budget));
    json_object_set_new(o, "planned_budget", json_integer((json_int_t)plan));
    json_object_set_new(o, "target", ds_json_real(run->options.target));
    json_object_set_new(o, "evaluations", json_integer((json_int_t)l->count));
    uint64_t recorded = 0;
    ds_error unread = {0, ""};
    if (ds_store_count(run->journal.store, &recorded, &unread) == 0) { /* fewer where the disk was full */
        json_object_set_new(o, "recorded", json_integer((json_int_t)recorded));
    }
    json_object_set_new(o, "gradients", json_integer((json_int_t)l->gradients));
    json_object_set_new(o, "best_loss", ds_json_real(l->best_loss));
    json_object_set_new(o, "best_evaluation", found ? json_integer((json_int_t)l->best_id) : json_null());
    json_object_set_new(o, "best_x", found ? ds_json_reals(l->best_x, l->n) : json_null());
    for (uint32_t k = 0; k < DS_OUTCOMES; k++) {
        if (l->outcome[k] > 0) {
            json_object_set_new(outcomes, ds_outcome_name(k), json_integer((json_int_t)l->outcome[k]));
        }
    }
    json_object_set_new(o, "outcomes", outcomes);
    json_object_set_new(o, "cost_steps", json_integer((json_int_t)l->cost_steps));
    json_object_set_new(o, "evaluation_s", ds_json_real(l->wall_s));
    json_object_set_new(o, "wall_s", ds_json_real(ds_session_wall(run)));
    json_object_set_new(o, "ended", json_string(ds_end_name(run->journal.end)));
    json_object_set_new(
        o, "error", run->journal.error.text[0] != '\0' ? json_string(run->journal.error.text) : json_null());
    json_object_set_new(o, "versions", versions(run));
    return o;
}
