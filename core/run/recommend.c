/* SPDX-License-Identifier: Apache-2.0 */
/* recommend.c - evaluates the most promising points of a noisy run again (see recommend.h). */
#include "config.h"

#include "run/recommend.h"

#include <diffsim/helper/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/log.h"
#include "base/stop.h"
#include "evaluate/pool.h"

enum {
    PROBES = 4,      /* keys that show whether there is noise at all */
    LATEST_MAX = 100 /* last evaluations whose mean point is a candidate */
};
static const double TIME_SHARE = 0.1; /* of run.seconds, where they ended the run */

enum { MOST = DS_RECOMMEND_BEST + 4 };

/* A point, its source, and its losses so far. */
typedef struct candidate {
    double *x;
    char from[60];
    double loss[DS_RECOMMEND_KEYS];
    int keys;
    double mean, se;
} candidate;

typedef struct contest {
    ds_session *s;
    ds_pool *pool;
    uint64_t n;
    candidate item[MOST];
    int count, episodes;
    uint64_t best[DS_RECOMMEND_BEST]; /* evaluations, the lowest loss first */
    double best_loss[DS_RECOMMEND_BEST];
    int bests;
    uint64_t last;
    uint64_t evaluations, cost_steps;
} contest;

/* ---- candidates ---- */

static int note_loss(void *ctx, uint64_t id, double loss, uint64_t cost_steps, double wall_s)
{
    contest *c = ctx;
    (void)cost_steps;
    (void)wall_s;
    c->last = id;
    if (!isfinite(loss)) {
        return 0;
    }
    int at = c->bests;
    while (at > 0 && loss < c->best_loss[at - 1]) {
        at--;
    }
    if (at == DS_RECOMMEND_BEST) {
        return 0;
    }
    c->bests += c->bests < DS_RECOMMEND_BEST;
    for (int k = c->bests - 1; k > at; k--) {
        c->best[k] = c->best[k - 1];
        c->best_loss[k] = c->best_loss[k - 1];
    }
    c->best[at] = id;
    c->best_loss[at] = loss;
    return 0;
}

/* The next candidate, a copy of x. */
static int add(contest *c, const double *x, ds_error *e)
{
    candidate *to = &c->item[c->count];
    to->x = malloc(c->n * sizeof *to->x);
    if (to->x == NULL) {
        return ds_no_memory(e);
    }
    memcpy(to->x, x, c->n * sizeof *to->x);
    for (int k = 0; k < c->count; k++) { /* each once */
        if (memcmp(c->item[k].x, x, c->n * sizeof *x) == 0) {
            free(to->x);
            to->x = NULL;
            return 0;
        }
    }
    c->count++;
    return 0;
}

/* Adds the recorded points from `first` to `last` to `sum`, and notes episodes. */
static int read_rows(contest *c, uint64_t first, uint64_t last, double *sum, ds_error *e)
{
    ds_cursor *cursor = NULL;
    ds_row row;
    int got = 1, rc = ds_cursor_open(c->s->journal.store, first, &cursor, e);
    memset(sum, 0, c->n * sizeof *sum);
    while (rc == 0 && (got = ds_cursor_next(cursor, &row, e)) == 1) {
        c->episodes |= row.episode != NULL;
        for (uint64_t i = 0; i < c->n; i++) {
            sum[i] += row.x[i];
        }
        if (row.id >= last) {
            break;
        }
    }
    ds_cursor_close(cursor);
    return rc != 0 ? rc : got < 0 ? e->status : 0;
}

/* Adds the mean of `count` points as a candidate; it lies in the box, as they do. */
static int add_mean(contest *c, double *sum, uint64_t count, const char *from, ds_error *e)
{
    const ds_pool_env *env = c->s->env;
    for (uint64_t i = 0; i < c->n; i++) {
        sum[i] = fmax(env->lower[i], fmin(env->upper[i], sum[i] / (double)count));
    }
    snprintf(c->item[c->count].from, sizeof c->item[c->count].from, "%s", from);
    return add(c, sum, e);
}

/* Adds the point that the optimizer recommends, if any. */
static int add_reported(contest *c, double *x, ds_error *e)
{
    const double *reported = c->s->journal.reports.x;
    int has = reported != NULL, rc = 0;
    if (has) {
        memcpy(x, reported, c->n * sizeof *x);
    } else {
        rc = ds_store_recommended_point(c->s->journal.store, x, &has, e);
    }
    snprintf(c->item[c->count].from, sizeof c->item[c->count].from, "recommended by the optimizer");
    return rc != 0 || !has ? rc : add(c, x, e);
}

/* The first candidate is the best evaluation. The others are needed only under noise, because finding them
 * reads the whole record. */
static int find_best(contest *c, ds_error *e)
{
    const uint64_t id = c->s->journal.statistics.best_id;
    double *x = malloc(c->n * sizeof *x);
    int rc = x == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && id != 0) {
        rc = read_rows(c, id, id, x, e);
        snprintf(c->item[0].from, sizeof c->item[0].from, "evaluation %llu", (unsigned long long)id);
        rc = rc != 0 ? rc : add(c, x, e);
    }
    free(x);
    return rc;
}

static int find_candidates(contest *c, ds_error *e)
{
    double *sum = calloc(2 * c->n, sizeof *sum), *x = sum + c->n;
    int rc = sum == NULL ? ds_no_memory(e) : ds_store_scan(c->s->journal.store, note_loss, c, e);
    for (int k = 0; rc == 0 && k < c->bests; k++) {
        rc = read_rows(c, c->best[k], c->best[k], x, e);
        for (uint64_t i = 0; rc == 0 && i < c->n; i++) {
            sum[i] += x[i];
        }
        snprintf(c->item[c->count].from, sizeof c->item[c->count].from, "evaluation %llu",
                 (unsigned long long)c->best[k]);
        rc = rc != 0 ? rc : add(c, x, e);
    }
    if (rc == 0 && c->bests > 1) {
        rc = add_mean(c, sum, (uint64_t)c->bests, "the mean of the points with the lowest losses", e);
    }
    if (rc == 0 && c->bests > 0) {
        const uint64_t tenth = c->last / 10, latest = tenth < 1 ? 1 : tenth > LATEST_MAX ? LATEST_MAX : tenth;
        rc = read_rows(c, c->last, c->last, x, e);
        snprintf(c->item[c->count].from, sizeof c->item[c->count].from, "the last evaluation");
        rc = rc != 0 ? rc : add(c, x, e);
        rc = rc != 0 ? rc : read_rows(c, c->last - latest + 1, c->last, sum, e);
        rc = rc != 0 ? rc : add_mean(c, sum, latest, "the mean of the latest points", e);
        rc = rc != 0 ? rc : add_reported(c, x, e);
    }
    free(sum);
    return rc;
}

/* ---- evaluation ---- */

/* The same for all runs: 52 bits, never 0. */
static uint64_t key_of(int k)
{
    ds_random r = ds_random_open(0, "recommendation", (uint64_t)k);
    return (ds_random_below(&r, (uint64_t)1 << 51) << 1) | 1;
}

typedef struct answers {
    contest *c;
    const int *of; /* candidate of each row */
} answers;

static int take(void *ctx, uint64_t i, const ds_answer *answer, const double *grad, const void *out)
{
    const answers *a = ctx;
    candidate *to = &a->c->item[a->of[i]];
    (void)grad;
    (void)out;
    to->loss[to->keys++] = answer->loss;
    a->c->evaluations++;
    a->c->cost_steps += answer->cost_steps;
    return 0;
}

/* Evaluates the candidates in `order` on the keys up to `keys`. */
static int evaluate(contest *c, const int *order, int count, int keys, ds_error *e)
{
    const size_t most = (size_t)count * (size_t)keys;
    double *x = malloc((most * c->n + 1) * sizeof *x);
    uint64_t *key = malloc((most + 1) * sizeof *key), rows = 0;
    int *of = malloc((most + 1) * sizeof *of);
    int rc = x == NULL || key == NULL || of == NULL ? ds_no_memory(e) : 0;
    for (int k = 0; rc == 0 && k < count; k++) {
        const candidate *p = &c->item[order[k]];
        for (int j = p->keys; j < keys; j++) {
            memcpy(x + rows * c->n, p->x, c->n * sizeof *x);
            of[rows] = order[k];
            key[rows++] = key_of(j);
        }
    }
    if (rc == 0 && rows > 0) {
        const ds_pool_request q = {.count = rows, .x = x, .first = 1, .key = key};
        answers a = {c, of};
        rc = ds_pool_execute(c->pool, &q, take, &a, e);
    }
    free(x);
    free(key);
    free(of);
    return rc;
}

static void describe(candidate *p)
{
    double sum = 0, squares = 0;
    for (int k = 0; k < p->keys; k++) {
        sum += p->loss[k];
    }
    p->mean = sum / p->keys;
    for (int k = 0; k < p->keys; k++) {
        squares += (p->loss[k] - p->mean) * (p->loss[k] - p->mean);
    }
    p->se = isfinite(p->mean) && p->keys > 1 ? sqrt(squares / (p->keys - 1) / p->keys) : (double)NAN;
}

static int is_noisy(const candidate *p)
{
    for (int k = 1; k < p->keys; k++) {
        if (memcmp(&p->loss[k], &p->loss[0], sizeof p->loss[0]) != 0) {
            return 1;
        }
    }
    return 0;
}

/* Sorts the numbers of the candidates by mean; earlier ones win ties. */
static void rank(const contest *c, int *order)
{
    for (int k = 0; k < c->count; k++) {
        int at = k;
        for (; at > 0 && c->item[k].mean < c->item[order[at - 1]].mean; at--) {
            order[at] = order[at - 1];
        }
        order[at] = k;
    }
}

/* *winner is NULL without noise, or without a valid loss. */
static int decide(contest *c, const candidate **winner, ds_error *e)
{
    int order[MOST], first = 0;
    *winner = NULL;
    int rc = evaluate(c, &first, 1, PROBES, e);
    if (rc != 0 || !is_noisy(&c->item[0])) {
        return rc;
    }
    rc = find_candidates(c, e);
    if (rc != 0) {
        return rc;
    }
    for (int k = 0; k < c->count; k++) {
        order[k] = k;
    }
    rc = evaluate(c, order, c->count, DS_RECOMMEND_FIRST, e);
    for (int k = 0; rc == 0 && k < c->count; k++) {
        describe(&c->item[k]);
    }
    if (rc != 0) {
        return rc;
    }
    rank(c, order);
    const int finalists = c->count < DS_RECOMMEND_FINAL ? c->count : DS_RECOMMEND_FINAL;
    rc = evaluate(c, order, finalists, DS_RECOMMEND_KEYS, e);
    for (int k = 0; rc == 0 && k < finalists; k++) {
        candidate *p = &c->item[order[k]];
        describe(p);
        if (isfinite(p->mean) && (*winner == NULL || p->mean < (*winner)->mean)) {
            *winner = p;
        }
    }
    return rc;
}

/* ---- the record ---- */

json_t *ds_recommended(ds_store *store)
{
    char *text = NULL;
    json_t *o = ds_store_get(store, "recommended", &text, NULL) == 0 && text != NULL && text[0] != '\0'
                    ? json_loads(text, 0, NULL)
                    : NULL;
    free(text);
    return o;
}

static int record(const contest *c, const candidate *p, ds_error *e)
{
    json_t *o = ds_json_object((ds_json_entry[]){{"mean", ds_json_real(p->mean)},
                                                 {"se", ds_json_real(p->se)},
                                                 {"n_keys", ds_json_whole((uint64_t)p->keys)},
                                                 {"from", json_string(p->from)},
                                                 {"candidates", ds_json_whole((uint64_t)c->count)},
                                                 {"evaluations", ds_json_whole(c->evaluations)},
                                                 {"cost_steps", ds_json_whole(c->cost_steps)},
                                                 {"x", ds_json_reals(p->x, c->n)},
                                                 {NULL, NULL}});
    char *text = o != NULL ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    int rc = text == NULL ? ds_no_memory(e) : ds_store_set(c->s->journal.store, "recommended", text, e);
    free(text);
    json_decref(o);
    if (rc == 0) {
        ds_log(DS_LOG_INFO, NULL,
               "recommended: mean loss %.10g (standard error %.2g) over %d fixed noise keys, %s; %llu "
               "evaluations of "
               "%d candidates, outside the budget",
               p->mean, p->se, p->keys, p->from, (unsigned long long)c->evaluations, c->count);
    }
    return rc;
}

/* Where the time of the run is over, the recommendation must be quick. */
static int is_affordable(const ds_session *s)
{
    const ds_statistics *l = &s->journal.statistics;
    const double evaluations = MOST * DS_RECOMMEND_FIRST + DS_RECOMMEND_FINAL * DS_RECOMMEND_KEYS;
    return s->journal.end != DS_END_TIME ||
           evaluations * l->wall_s / (double)(l->count > 0 ? l->count : 1) <= TIME_SHARE * s->options.seconds;
}

void ds_recommend(ds_session *s)
{
    ds_error e = {0, ""};
    ds_pool *own = NULL;
    const candidate *winner = NULL;
    const int time = s->journal.end == DS_END_TIME;
    contest *c = calloc(1, sizeof *c);
    int rc = c == NULL ? ds_no_memory(&e) : 0;
    if (rc == 0 && !is_affordable(s)) {
        ds_log(DS_LOG_INFO, NULL, "no point is recommended: evaluating candidates again would take too long");
        free(c);
        return;
    }
    if (rc == 0) {
        c->s = s;
        c->n = s->env->info.n;
        rc = find_best(c, &e);
    }
    if (rc == 0 && c->count > 0 && !c->episodes) {
        ds_pool_config config = ds_pool_config_of(s->env_module, &s->settings, &s->options);
        config.stop = time ? NULL : s->journal.stop;
        rc = ds_pool_open(&config, &own, &e);
        c->pool = own;
        rc = rc != 0 ? rc : decide(c, &winner, &e);
        rc = rc == 0 && winner != NULL ? record(c, winner, &e) : rc;
    }
    if (rc != 0) {
        ds_log(DS_LOG_WARNING, NULL,
               "no point is recommended (%s); to add the recommendation: dshost resume %s",
               rc == DS_POOL_STOPPED ? "stopped by a signal" : e.text, s->folder);
    }
    ds_pool_close(own);
    for (int k = 0; c != NULL && k < c->count; k++) {
        free(c->item[k].x);
    }
    free(c);
}
