/* SPDX-License-Identifier: Apache-2.0 */
/* check_pure.c - conformance of evaluate() as a pure function: the same bits after any other calls, in
 * another instance, process or thread, and for every number of threads. Resuming a run depends on it. */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_items.h"
#include "check/check_tests.h"
#include "harness/check_process.h"

static const char hint_state[] = "look for state that outlives a call: static variables, warm starts, "
                                 "buffers that are not cleared, uninitialised memory";
static const char hint_threads[] =
    "sum in a fixed order: per block, then over blocks; no atomic additions of doubles. Where that is "
    "impossible, declare DS_ENV_INEXACT and a tolerance";
static const char has_process[] = "each instance has its own process (DS_ENV_OWN_PROCESS), see pure.process";

enum { POINTS = 6 };

/* Results of one instance at the points of a test. */
typedef struct results {
    ds_check_result a[POINTS];
    double *grad; /* POINTS x n */
} results;

typedef struct points {
    uint64_t n, count;
    uint32_t want;
    double *x; /* POINTS x n; the first one is the start point */
} points;

static double seconds(const ds_check *c, const ds_check_env *env)
{
    return env->has_gradient ? c->options->cost_gradient : c->options->cost;
}

static int make_points(ds_check *c, const ds_check_env *env, uint64_t least, points *p)
{
    p->n = env->n;
    p->want = env->has_gradient ? DS_WANT_GRAD : 0;
    p->count = ds_check_plan(c, "points", POINTS, least, seconds(c, env));
    p->x = ds_check_room(c, POINTS * env->n, sizeof *p->x);
    if (p->x == NULL) {
        return 0;
    }
    memcpy(p->x, env->x0, env->n * sizeof *p->x);
    for (uint64_t k = 1; k < POINTS; k++) {
        ds_check_random_point(c, env, p->x + k * env->n);
    }
    return 1;
}

static int make_results(ds_check *c, const points *p, results *r)
{
    memset(r, 0, sizeof *r);
    r->grad = ds_check_room(c, POINTS * p->n, sizeof *r->grad);
    return r->grad != NULL;
}

static void evaluate(ds_check_env *env, const points *p, uint64_t k, results *r)
{
    ds_check_evaluate(env, p->x + k * p->n, p->want, 0, p->want != 0 ? r->grad + k * p->n : NULL, &r->a[k]);
}

/* Compares a result at the start point with the parent's first measurement, made in another process. */
static void compare_reference(ds_check *c, const ds_check_env *env, const ds_check_result *a,
                              const char *what)
{
    if (!c->options->has_reference) {
        ds_check_fail(c, "nothing to compare with: the parent's first evaluation failed");
        ds_check_hint(c, "see eval.points first");
        return;
    }
    if (!ds_check_is_reference(c, a, env->n, 0)) {
        double before;
        memcpy(&before, &c->options->reference.loss, sizeof before);
        ds_check_fail(c, "%s: loss %.17g, then %.17g", what, before, a->io.loss);
    } else if (!ds_check_is_reference(c, a, env->n, 1)) {
        ds_check_fail(c, "%s: the same loss, but another gradient", what);
    }
}

/* ---- everything that can be requested of an instance ---- */

typedef struct bench {
    ds_check_items items;
    ds_check_player player;
    double *first, *again; /* numbers of all items, and of the longest one */
    uint64_t *place;       /* offset of an item in `first` */
} bench;

/* The items of an instance, played once. 0 without memory (recorded). */
static int open_bench(ds_check *c, ds_check_env *env, bench *b)
{
    memset(b, 0, sizeof *b);
    if (!ds_check_items_open(c, env, 0, 1, &b->items)) {
        return 0;
    }
    b->first = malloc(2 * b->items.size * sizeof *b->first);
    b->place = calloc(b->items.count + 1, sizeof *b->place);
    if (b->first == NULL || b->place == NULL || !ds_check_player_open(&b->items, env, &b->player)) {
        free(b->first);
        free(b->place);
        ds_check_items_close(&b->items);
        b->first = NULL;
        return 0;
    }
    for (uint64_t k = 0; k < b->items.count; k++) {
        b->place[k + 1] = b->place[k] + b->items.item[k].size;
    }
    b->again = b->first + b->items.size;
    ds_check_items_play(&b->player, b->first);
    return 1;
}

static void close_bench(bench *b)
{
    ds_check_player_close(&b->player);
    free(b->first);
    free(b->place);
    ds_check_items_close(&b->items);
}

static int play_again(ds_check *c, bench *b, uint64_t k, const char *what)
{
    const ds_check_items *s = &b->items;
    ds_check_item_play(&b->player, &s->item[k], b->again);
    return ds_check_item_same(c, s, &s->item[k], b->first + b->place[k], b->again, what);
}

/* Plays items in reverse and in random order. */
static void items_repeat(ds_check *c)
{
    bench b;
    if (!open_bench(c, c->env, &b)) {
        return;
    }
    const uint64_t count = b.items.count;
    for (uint64_t k = count; k-- > 0 && c->failed == 0;) {
        play_again(c, &b, k, "again, in reverse order");
    }
    for (uint64_t k = 0; k < count && c->failed == 0; k++) {
        play_again(c, &b, ds_random_u32(&c->random) % count, "again, in another order");
    }
    close_bench(&b);
}

/* Repeats each item for its share of the time, but at least some times, and at most LONGEST seconds. */
static void items_often(ds_check *c)
{
    enum { LEAST = 100, MOST = 2000 };                /* rounds */
    static const double SHARE = 0.008, LONGEST = 0.5; /* seconds */
    const double begin = ds_check_worked();
    bench b;
    if (!open_bench(c, c->env, &b)) {
        return;
    }
    const ds_check_items *s = &b.items;
    double now = begin;
    for (uint64_t round = 0;
         round < MOST && c->failed == 0 && now < begin + (round < LEAST ? LONGEST : SHARE); round++) {
        char what[80];
        snprintf(what, sizeof what, "again, %llu rounds later", (unsigned long long)round + 1);
        for (uint64_t k = 0; k < s->count && c->failed == 0; k++) {
            if (s->item[k].point == round % s->points) {
                play_again(c, &b, k, what);
            }
        }
        now = ds_check_worked();
    }
    close_bench(&b);
}

/* An item of the same kind at another point. */
static uint64_t partner(const ds_check_items *s, uint64_t k)
{
    uint64_t evaluations = 0;
    while (evaluations < s->count && s->item[evaluations].request != NULL) {
        evaluations++;
    }
    return k < evaluations ? (k + 1) % evaluations
                           : evaluations + (k - evaluations + 1) % (s->count - evaluations);
}

/* Calls of two instances in turn: an item of one alternates with an item of the other. */
static void items_in_turn(ds_check *c, ds_check_env *two)
{
    bench b;
    ds_check_player other;
    double *out;
    if (!open_bench(c, c->env, &b)) {
        return;
    }
    const ds_check_items *s = &b.items;
    out = malloc(s->size * sizeof *out);
    if (out != NULL && ds_check_player_open(s, two, &other)) {
        for (uint64_t k = 0; k < s->count && c->failed == 0; k++) {
            const uint64_t l = partner(s, k);
            ds_check_item_begin(&b.player, &s->item[k], b.again);
            ds_check_item_begin(&other, &s->item[l], out);
            int more = 1;
            while (more) {
                more = ds_check_item_next(&b.player);
                more |= ds_check_item_next(&other);
            }
            ds_check_item_same(c, s, &s->item[k], b.first + b.place[k], b.again,
                               "alternating with calls of another instance");
            ds_check_item_same(c, s, &s->item[l], b.first + b.place[l], out, "in another instance");
        }
        ds_check_player_close(&other);
    }
    free(out);
    close_bench(&b);
}

/* ---- tests ---- */

static void pure_repeat(ds_check *c)
{
    ds_check_env *env = c->env;
    points p = {0};
    results first = {0}, again = {0};

    if (make_points(c, env, 2, &p) && make_results(c, &p, &first) && make_results(c, &p, &again)) {
        if (p.count <
            POINTS) { /* slow: another point, then the start point against the parent's measurement */
            evaluate(env, &p, 1, &first);
            evaluate(env, &p, 0, &first);
            compare_reference(c, env, &first.a[0], "the start point after another point");
        } else {
            for (uint64_t k = 0; k < p.count; k++) {
                evaluate(env, &p, k, &first);
            }
            for (uint64_t k = p.count;
                 k-- > 0;) { /* in reverse order, so that each has another predecessor */
                evaluate(env, &p, k, &again);
                ds_check_same(c, &first.a[k], &again.a[k], p.n, 1, "the same point again");
            }
            evaluate(env, &p, 0, &again);
            evaluate(env, &p, 0, &first);
            ds_check_same(c, &again.a[0], &first.a[0], p.n, 1, "twice in a row");
        }
        if (c->failed > 0) {
            ds_check_hint(c, "%s", hint_state);
        }
    }
    free(p.x);
    free(first.grad);
    free(again.grad);
    if (c->failed == 0) {
        items_repeat(c);
    }
}

/* ---- caches ---- */

/* Steps from a point to the next. Points that a program might mistake for each other come first. */
enum {
    STEP_LAST,
    STEP_CLOSE,
    STEP_FIRST,
    STEP_PAIR,
    STEP_NOT_FIRST,
    STEP_NOT_LAST,
    STEP_SWAP,
    STEP_ANY,
    STEPS
};
enum { WALKS = 2, LENGTH = STEPS + 1, AT_MOST = WALKS * LENGTH }; /* points of a walk */

static const double STEP_CLOSE_BY = 1e-9; /* in parts of the box */
/* Time for all steps, and for the calls of a test with many calls, seconds. */
static const double STEPS_SECONDS = 4, OFTEN_SECONDS = 0.5, OFTEN_MOST = 8;

static double inside(const ds_check_env *env, uint64_t i, double x)
{
    return fmin(fmax(x, env->lower[i]), env->upper[i]);
}

/* Moves x to the next point; `room` has space for n numbers. */
static void step_on(ds_check *c, const ds_check_env *env, unsigned step, double *x, double *room)
{
    uint64_t last = env->n - 1;
    double one = x[0], two = x[last];
    ds_check_random_point(c, env, room);
    if (step == STEP_CLOSE) {
        for (uint64_t i = 0; i <= last; i++) {
            double by = STEP_CLOSE_BY * (env->upper[i] - env->lower[i]);
            x[i] += x[i] + by <= env->upper[i] ? by : -by;
        }
    } else if (last > 0 && step == STEP_PAIR) { /* the sum stays the same */
        double by = 0.5 * fmin(env->upper[0] - one, two - env->lower[last]);
        x[0] = inside(env, 0, one + by);
        x[last] = inside(env, last, two - by);
    } else if (last > 0 && step == STEP_SWAP) { /* and every sum of powers */
        x[0] = inside(env, 0, two);
        x[last] = inside(env, last, one);
    } else if (last > 0 && (step == STEP_NOT_FIRST || step == STEP_NOT_LAST)) {
        uint64_t stays = step == STEP_NOT_FIRST ? 0 : last;
        room[stays] = x[stays];
        memcpy(x, room, env->n * sizeof *x);
    } else {
        /* neither the first nor the last one, if there are others */
        uint64_t any = last < 2 ? 0 : 1 + ds_random_u32(&c->random) % (last - 1);
        uint64_t i = step == STEP_LAST ? last : step == STEP_FIRST ? 0 : any;
        x[i] = room[i];
    }
}

/* A cached result may be used only at the same point: a point with the same first variable, the same sum, or
 * close by is another one. Makes two walks of such steps, then visits the same points, each after one of the
 * other walk. */
static void pure_beside(ds_check *c)
{
    ds_check_env *env = c->env;
    uint64_t n = env->n, length = LENGTH;
    double each = 2 * WALKS * seconds(c, env);
    double *x = ds_check_room(c, (2 * AT_MOST + 2) * n, sizeof *x), *grad = x + AT_MOST * n;
    ds_check_result first[AT_MOST], again;
    if (x == NULL) {
        return;
    }
    double *g = grad + AT_MOST * n, *room = g + n;
    uint32_t want = env->has_gradient ? DS_WANT_GRAD : 0;
    if (each * LENGTH > STEPS_SECONDS) {
        length = (uint64_t)fmax(2, STEPS_SECONDS / each);
        ds_check_note(c, "steps: %d instead of %d, because an evaluation takes %.2g s", (int)length - 1,
                      STEPS, seconds(c, env));
    }
    for (uint64_t k = 0; k < WALKS * length; k++) {
        double *at = x + k * n;
        if (k % length == 0) {
            ds_check_random_point(c, env, at);
        } else {
            memcpy(at, at - n, n * sizeof *at);
            step_on(c, env, (unsigned)(k % length - 1), at, room);
        }
        ds_check_evaluate(env, at, want, 0, want != 0 ? grad + k * n : NULL, &first[k]);
    }
    for (uint64_t k = 0; k < WALKS * length; k++) {
        uint64_t point = k % WALKS * length + k / WALKS;
        ds_check_evaluate(env, x + point * n, want, 0, want != 0 ? g : NULL, &again);
        ds_check_same(c, &first[point], &again, n, 1,
                      "after a point that shares something with it, and after another one");
    }
    if (c->failed > 0) {
        ds_check_hint(
            c, "compare x, noise key and `want` completely before you reuse a result of the last call");
    }
    free(x);
}

/* Counters, caches that fill up and stale data show after many calls. Points may take far longer than the
 * start point, by which the rounds are planned. */
static void pure_often(ds_check *c)
{
    enum { ROUNDS = 2000 };
    const double end = ds_check_worked() + OFTEN_MOST * OFTEN_SECONDS;
    ds_check_env *env = c->env;
    points p = {0};
    results first = {0}, again = {0};
    uint64_t rounds = (uint64_t)fmin(ROUNDS, OFTEN_SECONDS / (POINTS * seconds(c, env)));

    if (rounds < 2) {
        ds_check_skip(c, "an evaluation takes %.2g s: too long for many of them", seconds(c, env));
    } else if (make_points(c, env, 1, &p) && make_results(c, &p, &first) && make_results(c, &p, &again)) {
        for (uint64_t k = 0; k < POINTS; k++) {
            evaluate(env, &p, k, &first);
        }
        for (uint64_t call = 0;
             call < rounds * POINTS && c->failed == 0 && (call < POINTS || ds_check_worked() < end); call++) {
            char what[80];
            snprintf(what, sizeof what, "the same point again, %llu calls later",
                     (unsigned long long)(call / POINTS * POINTS + POINTS));
            evaluate(env, &p, call % POINTS, &again);
            ds_check_same(c, &first.a[call % POINTS], &again.a[call % POINTS], p.n, 1, what);
        }
        if (c->failed > 0) {
            ds_check_hint(c, "%s", hint_state);
        }
    }
    free(p.x);
    free(first.grad);
    free(again.grad);
    if (c->failed == 0) {
        items_often(c);
    }
}

static const char after_loss[] = "the gradient alone, and after the loss of the same point";

/* The loss must not depend on whether a gradient is requested, or runs with and without gradients could not
 * be compared. The gradient must not depend on whether the loss was requested before, as line searches do. */
static void pure_want(ds_check *c)
{
    ds_check_env *env = c->env;
    points p = {0};
    results with = {0}, alone = {0};
    ds_check_result without;

    if (!env->has_gradient) {
        ds_check_skip(c, "no gradient with these parameters");
    } else if (make_points(c, env, 1, &p) && make_results(c, &p, &with) && make_results(c, &p, &alone)) {
        for (uint64_t k = 0; k < p.count; k++) {
            if (p.count == POINTS) { /* after another point */
                evaluate(env, &p, k, &alone);
            }
            ds_check_evaluate(env, p.x + k * p.n, 0, 0, NULL, &without);
            evaluate(env, &p, k, &with);
            if (p.count < POINTS) {
                compare_reference(c, env, &without, "with and without gradient");
                compare_reference(c, env, &with.a[k], after_loss);
                break;
            }
            ds_check_same(c, &alone.a[k], &with.a[k], p.n, 1, after_loss);
            if (with.a[k].io.outcome == DS_EVAL_BAD_GRAD) {
                with.a[k].io.outcome = DS_EVAL_OK; /* status of the gradient alone */
            }
            ds_check_same(c, &with.a[k], &without, p.n, 0, "with and without gradient");
        }
        if (c->failed > 0) {
            ds_check_hint(c, "let both use the same code for the forward simulation (the version with "
                             "gradient records in addition)");
        }
    }
    free(p.x);
    free(with.grad);
    free(alone.grad);
}

static void pure_instance(ds_check *c)
{
    ds_check_env *one = c->env, two;
    points p = {0};
    results a = {0}, b = {0};

    if (ds_check_needs_process(c)) {
        ds_check_skip(c, "%s", has_process);
        return;
    }
    if (!ds_check_env_open(c, 1, &two)) {
        ds_check_hint(c, "a second instance must be possible while the first one exists");
        return;
    }
    if (one->n != two.n || memcmp(one->lower, two.lower, 3 * one->n * sizeof(double)) != 0) {
        ds_check_fail(c, "two instances with the same parameters have different sizes, bounds or start "
                         "points: derive them from the parameters alone");
    } else if (make_points(c, one, 1, &p) && make_results(c, &p, &a) && make_results(c, &p, &b)) {
        if (p.count < POINTS) {
            evaluate(&two, &p, 0, &b);
            compare_reference(c, &two, &b.a[0], "a second instance");
        }
        for (uint64_t k = 0; k < p.count && p.count == POINTS;
             k++) { /* alternating: neither may see the other's state */
            evaluate(one, &p, k, &a);
            evaluate(&two, &p, p.count - 1 - k, &b);
        }
        for (uint64_t k = 0; k < p.count && p.count == POINTS; k++) {
            ds_check_same(c, &a.a[k], &b.a[k], p.n, 1, "another instance");
        }
        if (c->failed > 0) {
            ds_check_hint(c, "%s", hint_state);
        }
    }
    free(p.x);
    free(a.grad);
    free(b.grad);
    if (c->failed == 0) {
        items_in_turn(c, &two);
    }
    ds_check_env_close(&two);
}

typedef struct one_call {
    uint32_t threads;
    const char *what, *hint;
} one_call;

static void make_one_call(ds_check *c, void *arg)
{
    const one_call *call = arg;
    ds_check_env env;
    ds_check_result a;
    if (!ds_check_env_open(c, call->threads, &env)) {
        return;
    }
    ds_check_call(&env, env.x0, 1, &a);
    if (ds_check_result_check(c, &env, &a, "start point")) {
        compare_reference(c, &env, &a, call->what);
    }
    if (c->failed == 0) {
        ds_check_items_as_kept(c, &env, call->what);
    } else {
        ds_check_hint(c, "%s", call->hint);
    }
    ds_check_env_close(&env);
}

/* One evaluation at the start point with `threads` threads, compared with the parent's measurement. */
static void start_point(ds_check *c, uint32_t threads, const char *what, const char *hint)
{
    one_call call = {threads, what, hint};
    ds_check_in_child(c, make_one_call, &call, sizeof call);
}

static void call_in_process(ds_check *c, void *arg)
{
    ds_check_env env;
    if (ds_check_env_open(c, 1, &env)) {
        ds_check_items_as_kept(c, &env, (const char *)arg);
        ds_check_env_close(&env);
    }
}

/* Repeats this in more processes if that is cheap: their memory has other contents. */
static void pure_process(ds_check *c)
{
    enum { PROCESSES = 8 };
    static const double LONGEST = 0.1, ENDLESS = 60;
    char what[] = "another process";
    start_point(c, 1, what, "use no time, addresses, process ids or uninitialised memory in the computation");
    const double each = 20 * (c->options->cost + c->options->cost_gradient);
    for (int k = 0; k < PROCESSES && c->failed == 0 && each < LONGEST && !ds_check_needs_process(c); k++) {
        ds_check_limited(c, call_in_process, what, sizeof what, ENDLESS);
    }
}

static void pure_threads(ds_check *c)
{
    start_point(c, 2, "with 1 and 2 threads", hint_threads);
    start_point(c, 3, "with 1 and 3 threads", hint_threads);
    start_point(c, 4, "with 1 and 4 threads", hint_threads);
}

/* ---- two instances at once ---- */

/* After all items were played once, calls must not change static variables of the plugin: instances share
 * nothing. A race between two threads may take long to show. */
static void check_statics(ds_check *c, bench *b)
{
    enum { MOST = 1 << 18 }; /* bytes */
    const void *code = (const void *)(uintptr_t)c->module->env.evaluate;
    uint64_t before = ds_process_statics(code, MOST);
    for (uint64_t k = 0; before != 0 && k < b->items.count && c->failed == 0; k++) {
        char name[160];
        ds_check_item_play(&b->player, &b->items.item[k], b->again);
        const uint64_t after = ds_process_statics(code, MOST);
        if (after != before) {
            ds_check_item_name(&b->items, &b->items.item[k], name, sizeof name);
            ds_check_fail(c, "%s: static variables of the plugin have changed", name);
            ds_check_hint(c, "a plugin keeps no mutable global state (diffsim/env.h), since several threads "
                             "may use instances: move it into the instance; nm -S FILE.so | grep -i ' [bd] ' "
                             "lists static variables");
        }
        before = after;
    }
}

typedef struct parallel {
    const ds_check *c;
    ds_check_env env;
    const points *p;
    const results *alone; /* NULL: only the first point, once */
    results r;
    uint64_t rounds;
    pthread_barrier_t *start;
    bench *bench; /* items with the numbers of a single thread; NULL = none */
    ds_check_player player;
    double *out;
    int second;
    atomic_ulong *met; /* calls begun by both */
    int64_t differs;   /* the item that differed, its numbers in `out`; -1 = none */
} parallel;

/* Waits briefly until the other thread is at the same call; it may have no processor. */
static void meet(atomic_ulong *met, unsigned long number)
{
    enum { PATIENCE = 2000 };
    atomic_fetch_add(met, 1);
    for (int k = 0; k < PATIENCE && atomic_load(met) < 2 * number; k++) {
    }
}

/* Plays all items several times while the other thread plays the same item at another point; ends with the
 * first one that differs. */
static void run_items(parallel *t)
{
    const ds_check_items *s = &t->bench->items;
    const uint64_t rounds = s->seconds < 0.05 ? t->rounds : 1;
    unsigned long number = 0;
    t->differs = -1;
    for (uint64_t round = 0; t->differs < 0 && round < rounds; round++) {
        for (uint64_t i = 0; i < s->count && t->differs < 0; i++) {
            const uint64_t k = t->second ? partner(s, i) : i;
            meet(t->met, ++number);
            ds_check_item_play(&t->player, &s->item[k], t->out);
            t->differs =
                ds_check_item_same(NULL, s, &s->item[k], t->bench->first + t->bench->place[k], t->out, "")
                    ? -1
                    : (int64_t)k;
        }
    }
}

/* Evaluates each point several times; keeps a result that was disturbed. */
static void *run_parallel(void *arg)
{
    parallel *t = arg;
    int kept[POINTS] = {0};
    pthread_barrier_wait(t->start);
    if (t->alone == NULL) {
        evaluate(&t->env, t->p, 0, &t->r);
        return NULL;
    }
    for (uint64_t round = 0; round < t->rounds; round++) {
        for (uint64_t k = 0; k < t->p->count; k++) {
            if (!kept[k]) {
                evaluate(&t->env, t->p, k, &t->r);
                kept[k] = ds_check_distance(t->c, &t->alone->a[k], &t->r.a[k], t->p->n, 1) > t->c->tolerance;
            }
        }
    }
    if (t->bench != NULL) {
        run_items(t);
    }
    return NULL;
}

static void compare_parallel(ds_check *c, const parallel *t)
{
    static const char what[] = "while another instance runs in another thread";
    for (int i = 0; i < 2; i++) {
        if (t[i].alone == NULL) {
            compare_reference(c, &t[i].env, &t[i].r.a[0], what);
        }
        for (uint64_t k = 0; t[i].alone != NULL && k < t[i].p->count; k++) {
            ds_check_same(c, &t[i].alone->a[k], &t[i].r.a[k], t[i].p->n, 1, what);
        }
        if (t[i].bench != NULL && t[i].differs >= 0) {
            const ds_check_items *s = &t[i].bench->items;
            const uint64_t k = (uint64_t)t[i].differs;
            ds_check_item_same(c, s, &s->item[k], t[i].bench->first + t[i].bench->place[k], t[i].out, what);
        }
    }
    if (c->failed > 0) {
        ds_check_hint(c, "write no static or global variables; -fsanitize=thread finds the place");
    }
}

/* Runs both, starting at the same moment. */
static void two_at_once(ds_check *c, parallel *t)
{
    pthread_barrier_t start;
    pthread_t thread;
    if (pthread_barrier_init(&start, NULL, 2) != 0) {
        ds_check_fail(c, "cannot create a barrier for two threads");
        return;
    }
    t[0].start = t[1].start = &start;
    if (pthread_create(&thread, NULL, run_parallel, &t[1]) == 0) {
        run_parallel(&t[0]);
        pthread_join(thread, NULL);
        compare_parallel(c, t);
    } else {
        ds_check_fail(c, "cannot start a second thread");
    }
    pthread_barrier_destroy(&start);
}

static void pure_parallel(ds_check *c)
{
    atomic_ulong met = 0;
    parallel t[2];
    bench b = {0};
    points p = {0};
    results alone = {0};
    int made = 0;

    if (ds_check_needs_process(c)) {
        ds_check_skip(c, "%s", has_process);
        return;
    }
    memset(t, 0, sizeof t);
    for (; made < 2 && ds_check_env_open(c, 1, &t[made].env); made++) {
        t[made].p = &p;
        t[made].c = c;
    }
    if (made == 2 && make_points(c, &t[0].env, 1, &p) && make_results(c, &p, &alone) &&
        make_results(c, &p, &t[0].r) && make_results(c, &p, &t[1].r)) {
        for (uint64_t k = 0; p.count == POINTS && k < POINTS; k++) {
            evaluate(&t[0].env, &p, k, &alone);
            t[0].alone = t[1].alone = &alone;
        }
        t[0].rounds = t[1].rounds =
            p.count == POINTS ? ds_check_plan(c, "rounds", 5, 1, POINTS * seconds(c, &t[0].env)) : 1;
        if (p.count == POINTS && open_bench(c, &t[0].env, &b)) {
            for (int i = 0; i < 2; i++) {
                t[i].out = malloc(b.items.size * sizeof *t[i].out);
                t[i].bench =
                    t[i].out != NULL && ds_check_player_open(&b.items, &t[i].env, &t[i].player) ? &b : NULL;
                t[i].second = i;
                t[i].met = &met;
            }
            check_statics(c, &b);
        }
        two_at_once(c, t);
    }
    for (int i = 0; i < made; i++) {
        ds_check_player_close(&t[i].player);
        free(t[i].out);
        free(t[i].r.grad);
        ds_check_env_close(&t[i].env);
    }
    if (b.first != NULL) {
        close_bench(&b);
    }
    free(alone.grad);
    free(p.x);
}

/* ---- noise ---- */

static void pure_noise(ds_check *c)
{
    int stochastic = (c->module->plugin->desc->flags & DS_ENV_STOCHASTIC) != 0;
    ds_check_env *env = c->env;
    ds_check_result exact, a, b;

    ds_check_evaluate(env, env->x0, 0, 12345, NULL, &a);
    if (stochastic) {
        ds_check_evaluate(env, env->x0, 0, 0, NULL, &exact);
        ds_check_evaluate(env, env->x0, 0, 12345, NULL, &b);
        ds_check_same(c, &a, &b, env->n, 0, "the same noise key again");
        ds_check_note(c, "loss %.10g without noise, %.10g with one key", exact.io.loss, a.io.loss);
        if (c->failed > 0) {
            ds_check_hint(c, "open the random stream from io->noise_key in every evaluate()");
        }
    } else {
        compare_reference(c, env, &a,
                          "another noise key, although the descriptor does not declare DS_ENV_STOCHASTIC");
    }
}

const ds_check_test ds_check_pure_tests[] = {
    {"pure.repeat", "the same point gives the same bits, whatever came before", DS_CHECK_ENV, 0, 2,
     pure_repeat},
    {"pure.beside", "a result is not that of a point that shares something with it", DS_CHECK_ENV, 0, 8,
     pure_beside},
    {"pure.often", "the same point gives the same bits after many calls", DS_CHECK_ENV, 0, 0, pure_often},
    {"pure.want",
     "the loss is the same with and without gradient, and the gradient with and without loss before",
     DS_CHECK_ENV | DS_CHECK_GRADIENT, 1, 1, pure_want},
    {"pure.instance", "another instance gives the same bits", DS_CHECK_ENV, 0, 1, pure_instance},
    {"pure.process", "another process gives the same bits", DS_CHECK_KEPT, 0, 1, pure_process},
    {"pure.threads", "every number of threads gives the same bits", DS_CHECK_KEPT, 0, 3, pure_threads},
    {"pure.parallel", "instances in two threads do not disturb each other", 0, 0, 2, pure_parallel},
    {"pure.noise", "noise depends on the noise key alone", DS_CHECK_ENV, 1, 0, pure_noise},
    {NULL, NULL, 0, 0, 0, NULL}};
