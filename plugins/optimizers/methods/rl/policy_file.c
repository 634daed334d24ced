/* SPDX-License-Identifier: Apache-2.0 */
/* policy_file.c - see policy_file.h. */
#include "methods/rl/policy_file.h"

#include <diffsim/helper/fail.h>

static void put_count(ds_npz_memory *z, const char *name, uint64_t value)
{
    const int64_t v = (int64_t)value;
    ds_npz_put(z, name, "<i8", 0, NULL, &v);
}

static void put_real(ds_npz_memory *z, const char *name, double v)
{
    ds_npz_put(z, name, "<f8", 0, NULL, &v);
}

static void put_net(ds_npz_memory *z, const mlp *net, const float *w)
{
    char name[32];
    put_count(z, "layers", (uint64_t)net->layers);
    for (int l = 0; l < net->layers; l++) {
        const uint64_t shape[2] = {net->size[l + 1], net->size[l]};
        snprintf(name, sizeof name, "weight_%d", l);
        ds_npz_put(z, name, "<f4", 2, shape, w + mlp_matrix(net, l));
        snprintf(name, sizeof name, "bias_%d", l);
        ds_npz_put(z, name, "<f4", 1, shape, w + mlp_bias(net, l));
    }
}

/* Features that are not normalised have mean 0 and variance 1: one formula for all. */
static void put_moments(ds_npz_memory *z, const policy_parts *p, const stepwise *s)
{
    const uint64_t n = s->obs;
    double *v = calloc(2 * s->obs, sizeof *v);
    if (!v) {
        z->failed = 1;
        return;
    }
    for (size_t k = 0; k < s->obs; k++) {
        const running_moments *m = p->moments ? &p->moments[k] : NULL;
        v[k] = m ? m->mean : 0.0;
        v[n + k] = m && m->count > 0.0 ? m->sum / m->count + 1e-8 : 1.0;
    }
    ds_npz_put(z, "obs_mean", "<f8", 1, &n, v);
    ds_npz_put(z, "obs_variance", "<f8", 1, &n, v + n);
    put_real(z, "obs_clip", p->moments ? p->limit : STEPWISE_LARGEST_FEATURE);
    free(v);
}

/* Bounds of an action, one row where all steps have the same. */
static void put_bounds(ds_npz_memory *z, const stepwise *s)
{
    const double *lower = s->problem->lower, *upper = s->problem->upper;
    size_t same = s->act;
    while (same < s->horizon * s->act && lower[same] == lower[same % s->act] &&
           upper[same] == upper[same % s->act]) {
        same++;
    }
    const uint64_t shape[2] = {same < s->horizon * s->act ? s->horizon : 1, s->act};
    ds_npz_put(z, "action_lower", "<f8", 2, shape, lower);
    ds_npz_put(z, "action_upper", "<f8", 2, shape, upper);
}

int policy_file_make(ds_npz_memory *z, const policy_parts *p, const stepwise *s,
                     const ds_objective_files *files, const ds_host *host, const policy_moment *when)
{
    ds_npz_put_text(z, "format", "diffsim policy 1");
    ds_npz_put_text(z, "method", p->method);
    ds_npz_put_text(z, "method_version", p->version);
    ds_npz_put_text(z, "env", files ? files->env : "");
    ds_npz_put_text(z, "env_version", files ? files->env_version : "");
    ds_npz_put_text(z, "env_settings", files ? files->env_settings : "");
    ds_npz_put(z, "seed", "<u8", 0, NULL, &host->seed);
    put_count(z, "evaluations", when->evaluations);
    if (when->episodes > 0) {
        put_count(z, "trial_episodes", when->episodes);
        put_real(z, "trial_loss", when->loss);
    }
    put_count(z, "horizon", s->horizon);
    put_count(z, "n_obs", s->host.info->n_obs);
    put_count(z, "n_act", s->act);
    put_count(z, "time", s->time ? 1 : 0);
    put_real(z, "dt", s->host.info->dt);
    put_moments(z, p, s);
    ds_npz_put_text(z, "activation", p->net->activation == MLP_RELU ? "relu" : "tanh");
    put_net(z, p->net, p->w);
    ds_npz_put_text(z, "squash", p->squash);
    put_real(z, "action_range", s->range);
    put_bounds(z, s);
    ds_npz_put_text(z, "noise", p->noise);
    if (p->log_std) {
        const uint64_t shape[2] = {p->log_std_rows, s->act};
        ds_npz_put(z, "log_std", "<f4", 2, shape, p->log_std);
    }
    return ds_npz_finish(z);
}

void policy_file_save(const ds_opt_kit *kit, const char *name, const policy_parts *p, const stepwise *s,
                      const policy_moment *when)
{
    const ds_objective_files *files = ds_opt_kit_files(kit);
    ds_npz_memory z = {0};
    if (!files) {
        return;
    }
    if (!policy_file_make(&z, p, s, files, kit->host, when)) {
        ds_host_say(kit->host, DS_LOG_WARNING, "no %s: out of memory", name);
    } else if (z.bytes > DS_MAX_FILE_BYTES) {
        ds_host_say(kit->host, DS_LOG_WARNING, "no %s: it would have more than %u MiB", name,
                    DS_MAX_FILE_BYTES >> 20);
    } else if (ds_opt_kit_save(kit, name, z.data, z.bytes) == DS_E_NOMEM) {
        ds_host_say(kit->host, DS_LOG_WARNING, "no %s: the host is out of memory", name);
    }
    ds_npz_free(&z);
}
