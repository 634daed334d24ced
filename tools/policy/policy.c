/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - reads policies, computes actions, and plays episodes. */
#include "config.h"

#include "policy/policy.h"

#include "base/stop.h"
#include "base/text.h"
#include "evaluate/pool.h"
#include "policy/npz_read.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t FILE_LIMIT = (size_t)1 << 30;
static const double LARGEST_FEATURE = 1e6; /* of an observation */
static const double LEAST_VARIANCE = 1e-6; /* of sde noise */
static const uint64_t LARGEST_COUNT = (uint64_t)1 << 24;

static int wrong(const ds_policy *p, const char *why, ds_error *e)
{
    return ds_fail(e, DS_EXIT_CONFIG, "%.300s: not a policy that can be used: %s", p->path, why);
}

/* ---- reading ---- */

/* An integer in [least, most]. */
static int take_count(const ds_npz_reader *z, const ds_policy *p, const char *name, uint64_t least,
                      uint64_t most, uint64_t *out, ds_error *e)
{
    ds_array a;
    char text[120];
    if (ds_npz_array(z, name, &a, e) != 0) {
        return e->status;
    }
    const double v = a.data[0];
    const int fine = a.size == 1 && v >= (double)least && v <= (double)most && v == floor(v);
    ds_array_free(&a);
    snprintf(text, sizeof text, "%s is not a whole number from %" PRIu64 " to %" PRIu64, name, least, most);
    *out = fine ? (uint64_t)v : 0;
    return fine ? 0 : wrong(p, text, e);
}

static int take_positive(const ds_npz_reader *z, const ds_policy *p, const char *name, double *out,
                         ds_error *e)
{
    ds_array a;
    char text[80];
    if (ds_npz_array(z, name, &a, e) != 0) {
        return e->status;
    }
    *out = a.data[0];
    const int fine = a.size == 1 && *out > 0.0;
    ds_array_free(&a);
    snprintf(text, sizeof text, "%s is not a number above 0", name);
    return fine ? 0 : wrong(p, text, e);
}

/* Index of the word in the list. */
static int take_word(const ds_npz_reader *z, const ds_policy *p, const char *name, const char *const *words,
                     int *out, ds_error *e)
{
    char *text = NULL, line[200];
    int rc = ds_npz_text(z, name, &text, e);
    for (*out = 0; rc == 0 && words[*out] != NULL && strcmp(words[*out], text) != 0;) {
        ++*out;
    }
    if (rc == 0 && words[*out] == NULL) {
        snprintf(line, sizeof line, "%s = '%.60s' is unknown", name, text);
        rc = wrong(p, line, e);
    }
    free(text);
    return rc;
}

/* An array of rows x columns; rows = 0: any number. A one-dimensional array is one row. */
static int take_matrix(const ds_npz_reader *z, const ds_policy *p, const char *name, uint64_t rows,
                       uint64_t columns, ds_array *out, ds_error *e)
{
    char text[200];
    if (ds_npz_array(z, name, out, e) != 0) {
        return e->status;
    }
    const uint64_t have = out->ndim == 2 ? out->shape[0] : 1,
                   wide = out->ndim > 0 ? out->shape[out->ndim - 1] : 1;
    if (out->ndim >= 1 && out->ndim <= 2 && wide == columns && (rows == 0 || have == rows)) {
        return 0;
    }
    snprintf(text, sizeof text,
             "%s does not have the size that the other arrays imply: %s%.0" PRIu64 "%s%" PRIu64 " numbers",
             name, rows > 1 ? "" : "rows of ", rows > 1 ? rows : 0, rows > 1 ? " x " : "", columns);
    return wrong(p, text, e);
}

static int take_texts(const ds_npz_reader *z, ds_policy *p, ds_error *e)
{
    char **const to[] = {&p->method, &p->method_version, &p->env, &p->env_version, &p->env_settings};
    static const char *const names[] = {"method", "method_version", "env", "env_version", "env_settings"};
    static const char *const formats[] = {"diffsim policy 1", NULL};
    int rc = 0, known = 0;
    if (!ds_npz_has(z, "format")) {
        return wrong(p, "it has no array 'format'", e);
    }
    rc = take_word(z, p, "format", formats, &known, e);
    for (size_t i = 0; rc == 0 && i < sizeof to / sizeof *to; i++) {
        rc = ds_npz_text(z, names[i], to[i], e);
    }
    return rc;
}

static int take_features(const ds_npz_reader *z, ds_policy *p, ds_error *e)
{
    uint64_t time = 0;
    int rc = take_count(z, p, "n_obs", 1, DS_MAX_OBSERVED, &p->n_obs, e);
    rc = rc != 0 ? rc : take_count(z, p, "n_act", 1, DS_MAX_VARIABLES, &p->n_act, e);
    rc = rc != 0 ? rc : take_count(z, p, "time", 0, 1, &time, e);
    rc = rc != 0 ? rc : take_count(z, p, "evaluations", 0, (uint64_t)1 << 53, &p->evaluations, e);
    p->time = time != 0;
    rc = rc != 0 ? rc : take_matrix(z, p, "obs_mean", 1, p->n_obs + time, &p->mean, e);
    rc = rc != 0 ? rc : take_matrix(z, p, "obs_variance", 1, p->n_obs + time, &p->variance, e);
    rc = rc != 0 ? rc : take_positive(z, p, "obs_clip", &p->clip, e);
    for (uint64_t k = 0; rc == 0 && k < p->variance.size; k++) {
        rc = p->variance.data[k] > 0.0 ? 0 : wrong(p, "obs_variance has a number that is not above 0", e);
    }
    return rc;
}

/* The layers: each has as many inputs as the previous one has outputs. */
static int take_net(const ds_npz_reader *z, ds_policy *p, ds_error *e)
{
    uint64_t in = p->mean.size;
    char name[32];
    int rc = take_count(z, p, "layers", 1, DS_POLICY_LAYERS, &p->layers, e);
    for (uint64_t l = 0; rc == 0 && l < p->layers; l++) {
        snprintf(name, sizeof name, "bias_%d", (int)l);
        rc = ds_npz_array(z, name, &p->bias[l], e);
        uint64_t out = p->bias[l].size;
        rc = rc == 0 && out > LARGEST_COUNT ? wrong(p, "a layer is too wide", e) : rc;
        snprintf(name, sizeof name, "weight_%d", (int)l);
        rc = rc != 0 ? rc : take_matrix(z, p, name, out, in, &p->weight[l], e);
        p->widest = out > p->widest ? out : p->widest;
        in = out;
    }
    const uint64_t wanted =
        p->noise == DS_POLICY_CLAMP || p->noise == DS_POLICY_TANH ? 2 * p->n_act : p->n_act;
    return rc == 0 && in != wanted
               ? wrong(p, "its last layer does not have the outputs that n_act and noise imply", e)
               : rc;
}

static int take_actions(const ds_npz_reader *z, ds_policy *p, ds_error *e)
{
    int rc = take_positive(z, p, "action_range", &p->range, e);
    rc = rc != 0 ? rc : take_matrix(z, p, "action_lower", 0, p->n_act, &p->lower, e);
    rc = rc != 0 ? rc : take_matrix(z, p, "action_upper", p->lower.size / p->n_act, p->n_act, &p->upper, e);
    for (uint64_t k = 0; rc == 0 && k < p->lower.size; k++) {
        rc = p->lower.data[k] <= p->upper.data[k] ? 0
                                                  : wrong(p, "an action_lower is above its action_upper", e);
    }
    if (rc == 0 && (p->noise == DS_POLICY_PLAIN || p->noise == DS_POLICY_SDE)) {
        const uint64_t latent = p->weight[p->layers - 1].size / p->n_act;
        rc = take_matrix(z, p, "log_std", p->noise == DS_POLICY_SDE ? latent : 1, p->n_act, &p->log_std, e);
    }
    return rc;
}

static int take_all(const ds_npz_reader *z, ds_policy *p, ds_error *e)
{
    static const char *const activations[] = {"tanh", "relu", NULL},
                             *const squashes[] = {"clip", "tanh", NULL},
                             *const noises[] = {"plain", "sde", "clamp", "tanh", NULL}; /* DS_POLICY_* */
    int rc = take_texts(z, p, e);
    rc = rc != 0 ? rc : take_word(z, p, "activation", activations, &p->relu, e);
    rc = rc != 0 ? rc : take_word(z, p, "squash", squashes, &p->tanh_squash, e);
    rc = rc != 0 ? rc : take_word(z, p, "noise", noises, &p->noise, e);
    rc = rc != 0 ? rc : take_features(z, p, e);
    rc = rc != 0 ? rc : take_net(z, p, e);
    rc = rc != 0 ? rc : take_actions(z, p, e);
    p->widest = p->mean.size > p->widest ? p->mean.size : p->widest;
    p->work = rc == 0 ? calloc(2 * p->widest, sizeof *p->work) : NULL;
    return rc == 0 && p->work == NULL ? ds_no_memory(e) : rc;
}

/* Reads the rest of the file; z is freed. */
static int finish(ds_policy *p, const char *name, ds_npz_reader *z, int rc, ds_error *e)
{
    p->path = strdup(name);
    rc = rc == 0 && p->path == NULL ? ds_no_memory(e) : rc;
    rc = rc != 0 ? rc : take_all(z, p, e);
    ds_npz_reader_free(z);
    return rc;
}

int ds_policy_read(ds_policy *p, const char *path, ds_error *e)
{
    ds_npz_reader *z = NULL;
    memset(p, 0, sizeof *p);
    int rc = ds_npz_read(path, FILE_LIMIT, &z, e);
    return finish(p, path, z, rc, e);
}

int ds_policy_parse(ds_policy *p, void *data, size_t bytes, const char *name, ds_error *e)
{
    ds_npz_reader *z = NULL;
    memset(p, 0, sizeof *p);
    int rc = ds_npz_parse(data, bytes, name, FILE_LIMIT, &z, e);
    return finish(p, name, z, rc, e);
}

void ds_policy_free(ds_policy *p)
{
    ds_array *const one[] = {&p->mean, &p->variance, &p->lower, &p->upper, &p->log_std};
    char *const text[] = {p->path, p->method, p->method_version, p->env, p->env_version, p->env_settings};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        ds_array_free(one[i]);
    }
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        free(text[i]);
    }
    for (size_t l = 0; l < DS_POLICY_LAYERS; l++) {
        ds_array_free(&p->weight[l]);
        ds_array_free(&p->bias[l]);
    }
    free(p->work);
    memset(p, 0, sizeof *p);
}

int ds_policy_check(const ds_policy *p, const char *id, const ds_env_facts *env, ds_error *e)
{
    if (strcmp(p->env, id) != 0) {
        return ds_fail(e, DS_EXIT_CONFIG, "%.300s: a policy for %.60s, not for %s", p->path, p->env, id);
    }
    if (env->steps.horizon == 0) {
        return ds_fail(
            e, DS_EXIT_CONFIG,
            "%s: no stepwise control with these parameters (%s): set those that the policy was learned with",
            id, DS_EXT_STEPS);
    }
    if (env->steps.n_obs != p->n_obs || env->steps.n_act != p->n_act) {
        return ds_fail(e, DS_EXIT_CONFIG,
                       "%.300s: learned with %" PRIu64 " observations and %" PRIu64
                       " numbers of an action; with "
                       "these parameters %s has %" PRIu64 " and %" PRIu64,
                       p->path, p->n_obs, p->n_act, id, env->steps.n_obs, env->steps.n_act);
    }
    return 0;
}

/* ---- acting ---- */

static double cut(double v, double least, double most)
{
    return v < least ? least : v > most ? most : v;
}

/* Features are in single precision, as in the optimizers. */
static void features(const ds_policy *p, const double *obs, uint64_t step, uint64_t horizon, double *z)
{
    for (uint64_t k = 0; k < p->mean.size; k++) {
        const double raw =
            k < p->n_obs ? cut(obs[k], -LARGEST_FEATURE, LARGEST_FEATURE) : (double)step / (double)horizon;
        z[k] = cut(((double)(float)raw - p->mean.data[k]) / sqrt(p->variance.data[k]), -p->clip, p->clip);
    }
}

/* y = W x + b, and in hidden layers its activation. */
static void layer(const ds_policy *p, uint64_t l, const double *x, double *y)
{
    const ds_array *w = &p->weight[l], *b = &p->bias[l];
    const uint64_t in = w->size / b->size;
    for (uint64_t o = 0; o < b->size; o++) {
        double sum = 0.0;
        for (uint64_t i = 0; i < in; i++) {
            sum += w->data[o * in + i] * x[i];
        }
        sum += b->data[o];
        y[o] = l + 1 == p->layers ? sum : p->relu ? fmax(sum, 0.0) : tanh(sum);
    }
}

/* Standard deviation of number k; h is the input of the last layer, y its output. */
static double deviation(const ds_policy *p, uint64_t k, const double *h, const double *y)
{
    if (p->noise == DS_POLICY_PLAIN) {
        return exp(p->log_std.data[k]);
    }
    if (p->noise != DS_POLICY_SDE) {
        const double o = y[p->n_act + k];
        return exp(p->noise == DS_POLICY_TANH ? -5.0 + 3.5 * (tanh(o) + 1.0) : cut(o, -20.0, 2.0));
    }
    double sum = LEAST_VARIANCE;
    for (uint64_t i = 0; i < p->log_std.size / p->n_act; i++) {
        const double t = h[i] * exp(p->log_std.data[i * p->n_act + k]);
        sum += t * t;
    }
    return sqrt(sum);
}

void ds_policy_act(ds_policy *p, const double *obs, uint64_t step, uint64_t horizon, ds_random *random,
                   double *action)
{
    double *h = p->work + p->widest, *y = p->work; /* input and output of a layer */
    const uint64_t rows = p->lower.size / p->n_act, row = step < rows ? step : rows - 1;
    features(p, obs, step, horizon, y);
    for (uint64_t l = 0; l < p->layers; l++) {
        double *swap = h;
        h = y;
        y = swap;
        layer(p, l, h, y);
    }
    for (uint64_t k = 0; k < p->n_act; k++) {
        double a = random != NULL ? y[k] + deviation(p, k, h, y) * ds_random_normal(random) : y[k];
        a = (p->tanh_squash ? tanh(a) : a) / p->range;
        /* Overflowing weights may make it undefined: use the middle, as the optimizers do. */
        const double u = isnan(a) ? 0.5 : 0.5 * (cut(a, -1.0, 1.0) + 1.0);
        const double lower = p->lower.data[row * p->n_act + k], upper = p->upper.data[row * p->n_act + k];
        action[k] = cut((1.0 - u) * lower + u * upper, lower, upper);
    }
}

/* ---- playing ---- */

/* Input of an episode. */
typedef struct player {
    const ds_pool_env *env;
    ds_pool *pool;
    ds_policy *policy;
    double *x, *obs;
} player;

static int advance(player *p, const ds_played *of, uint64_t step, ds_lane_step *out, ds_error *e)
{
    *out = (ds_lane_step){.lane = 0, .key = of->key, .step = step, .x = p->x, .obs = p->obs};
    int rc = ds_pool_step(p->pool, 1, out, e);
    return rc == DS_POOL_STOPPED ? ds_fail(e, DS_EXIT_SIGINT, "stopped") : rc;
}

static int play(player *p, ds_played *of, ds_error *e)
{
    const ds_pool_env *env = p->env;
    const uint64_t m = env->steps.n_act;
    ds_random random = ds_random_open(of->seed, "policy", 0);
    ds_lane_step out;
    int rc = advance(p, of, 0, &out, e), ended = 0;
    memcpy(p->x, env->x0, env->info.n * sizeof *p->x);
    of->steps = 0;
    while (rc == 0 && !ended && out.answer.outcome == DS_EVAL_OK) {
        double *action = p->x + of->steps * m;
        ds_policy_act(p->policy, p->obs, of->steps, env->steps.horizon, of->stochastic ? &random : NULL,
                      action);
        for (uint64_t k = 0; k < m; k++) { /* the bounds may differ from those of the policy */
            const double lower = env->lower[of->steps * m + k], upper = env->upper[of->steps * m + k];
            action[k] = action[k] < lower ? lower : action[k] > upper ? upper : action[k];
        }
        of->steps++;
        rc = advance(p, of, of->steps, &out, e);
        ended = out.ended != DS_STEPS_CONTINUES;
    }
    of->answer = out.answer;
    return rc;
}

int ds_policy_play(ds_pool *pool, ds_policy *policy, uint64_t count, ds_played *played, double *x,
                   ds_error *e)
{
    player p = {.env = ds_pool_env_of(pool), .pool = pool, .policy = policy};
    const size_t n = p.env->info.n;
    p.x = calloc(n + p.env->steps.n_obs, sizeof *p.x);
    int rc = p.x == NULL ? ds_no_memory(e) : 0;
    p.obs = p.x != NULL ? p.x + n : NULL;
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        rc = play(&p, &played[i], e);
    }
    if (rc == 0 && x != NULL) {
        memcpy(x, p.x, n * sizeof *x);
    }
    free(p.x);
    return rc;
}
