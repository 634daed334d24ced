/* SPDX-License-Identifier: Apache-2.0 */
/* test_search.c - optimizers inside another program (diffsim/lib/ask_tell.h): the same points as in a run,
 * budgets, failures, ends at every moment, several at once in one thread and in many, records, and refusals.
 */
#include "objective.h"
#include "store/store.h"
#include "temporary.h"
#include "test.h"

#include <diffsim/lib/ask_tell.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 3, BUDGET = 150, ROOM = 4096 };

static const double lower[N] = {-3, -3, -3}, upper[N] = {3, 3, 3};

static double bowl(void *ctx, size_t n, const double *x, double *gradient)
{
    double sum = 0;
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        double d = x[i] - 0.3 * (double)(i + 1);
        sum += (double)(i + 1) * d * d + 0.1 * sin(9 * x[i]);
        if (gradient != NULL) {
            gradient[i] = 2 * (double)(i + 1) * d + 0.9 * cos(9 * x[i]);
        }
    }
    return sum;
}

static ds_search_options options(uint64_t budget, uint64_t seed, const char *settings)
{
    return (ds_search_options){.struct_size = sizeof(ds_search_options),
                               .has_gradient = 1,
                               .n = N,
                               .lower = lower,
                               .upper = upper,
                               .budget = budget,
                               .seed = seed,
                               .settings = settings};
}

static ds_search *must_open(const char *optimizer, const ds_search_options *o)
{
    char why[600] = "";
    ds_search *s = ds_search_open(optimizer, o, why, sizeof why);
    if (s == NULL) {
        print_message("%s\n", why);
    }
    assert_non_null(s);
    return s;
}

/* One ask and one tell: the rows are appended to `points`, if given. Returns what ask() returned. */
static ds_status step(ds_search *s, double *points)
{
    static _Thread_local double loss[ROOM], grad[ROOM * N];
    uint64_t count, again, used = ds_search_used(s);
    uint32_t want, want_again;
    const double *x, *x_again;
    ds_status status = ds_search_ask(s, &count, &x, &want);
    if (status != DS_OK) {
        return status;
    }
    assert_int_equal(ds_search_ask(s, &again, &x_again, &want_again), DS_OK);
    assert_true(again == count && x_again == x && want_again == want && count <= ROOM);
    for (uint64_t row = 0; row < count; row++) {
        loss[row] = bowl(NULL, N, x + row * N, want & DS_WANT_GRAD ? grad + row * N : NULL);
    }
    if (points != NULL) {
        memcpy(points + used * N, x, count * N * sizeof *x);
    }
    assert_int_equal(ds_search_tell(s, loss, want & DS_WANT_GRAD ? grad : NULL), DS_OK);
    assert_int_equal(ds_search_used(s), used + count);
    return DS_OK;
}

/* ---- searches ---- */

static void test_same_points_as_a_run(void **state)
{
    static const struct {
        const char *plugin, *settings, *parameters;
    } cases[] = {{"cmaes", NULL, ""},
                 {"boleap", "", ""},
                 {"lbfgsb", NULL, ""},
                 {"turbo", "n_init = 7\nbatch=3", "n_init=7 batch=3"},
                 {"rand", NULL, ""},
                 {"lm", NULL, ""},
                 {"nlopt", "algorithm = ln_sbplx\n", "algorithm=ln_sbplx"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fake_problem p = {.n = N, .lower = -3, .upper = 3, .f = bowl, .budget = BUDGET};
        double points[BUDGET * N], best;
        const double *best_x;
        p.target = p.loss_floor = -INFINITY;
        fake_result r = fake_run(cases[k].plugin, cases[k].parameters, &p, 11);
        ds_search_options o = options(BUDGET, 11, cases[k].settings);
        ds_search *s = must_open(cases[k].plugin, &o);
        while (step(s, points) == DS_OK) {
        }
        assert_int_equal(ds_search_used(s), r.evaluations);
        assert_memory_equal(points, r.x, r.evaluations * N * sizeof *points);
        assert_int_equal(ds_search_best(s, &best, &best_x), DS_OK);
        assert_true(best == r.best && bowl(NULL, N, best_x, NULL) == best);
        assert_string_equal(ds_search_message(s), "");
        ds_search_close(s);
        fake_free(&r);
    }
}

/* A start of the program is evaluated first; a suggestion is not; the settings override both. */
static void test_start_is_evaluated_first(void **state)
{
    static const double x0[N] = {0.1234567890123456, -2.9999999999999996};
    static const struct {
        const char *settings;
        uint32_t is_suggestion;
        int is_first;
    } cases[] = {{NULL, 0, 1}, {NULL, 1, 0}, {"use_x0 = false", 0, 0}, {"use_x0 = true", 1, 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double points[BUDGET * N];
        ds_search_options o = options(BUDGET, 11, cases[k].settings);
        o.x0 = x0;
        o.is_suggestion = cases[k].is_suggestion;
        ds_search *s = must_open("cmaes", &o);
        assert_int_equal(step(s, points), DS_OK);
        assert_int_equal(memcmp(points, x0, sizeof x0) == 0, cases[k].is_first);
        ds_search_close(s);
    }
}

static void test_budget_cuts_a_batch(void **state)
{
    ds_search_options o = options(25, 1, "lambda = 10");
    ds_search *s = must_open("cmaes", &o);
    uint64_t count;
    uint32_t want;
    const double *x;
    while (step(s, NULL) == DS_OK) {
    }
    assert_int_equal(ds_search_used(s), 25);
    for (int i = 0; i < 3; i++) { /* after the end it stays ended */
        assert_int_equal(ds_search_ask(s, &count, &x, &want), DS_STOPPED);
        assert_true(count == 0 && x == NULL);
        assert_int_equal(ds_search_tell(s, lower, NULL), DS_E_ARG);
    }
    ds_search_close(s);
}

static void test_closed_at_any_moment(void **state)
{
    static const char *const plugins[] = {"cmaes", "boleap", "lbfgsb", "rand"};
    for (size_t k = 0; k < sizeof plugins / sizeof *plugins; k++) {
        for (int steps = 0; steps < 12; steps++) {
            ds_search_options o = options(0, 3, NULL);
            ds_search *s = must_open(plugins[k], &o);
            for (int i = 0; i < steps / 2; i++) {
                assert_int_equal(step(s, NULL), DS_OK);
            }
            if (steps % 2) { /* asked, not told */
                uint64_t count;
                uint32_t want;
                const double *x;
                assert_int_equal(ds_search_ask(s, &count, &x, &want), DS_OK);
            }
            ds_search_close(s);
        }
    }
    ds_search_close(NULL);
}

typedef struct walk {
    ds_search *search;
    double points[BUDGET * N];
} walk;

static void *walk_on(void *arg)
{
    walk *w = arg;
    while (step(w->search, w->points) == DS_OK) {
    }
    return NULL;
}

static void test_two_at_once(void **state)
{
    double alone[2][BUDGET * N], together[2][BUDGET * N];
    static const char *const plugins[2] = {"boleap", "cmaes"};
    static walk beside[2];
    pthread_t thread;
    ds_search *s[2];
    int running = 2;
    for (size_t k = 0; k < 2; k++) {
        ds_search_options o = options(BUDGET, 5 + k, NULL);
        s[k] = must_open(plugins[k], &o);
        while (step(s[k], alone[k]) == DS_OK) {
        }
        ds_search_close(s[k]);
        s[k] = must_open(plugins[k], &o);
        beside[k].search = must_open(plugins[k], &o);
    }
    while (running > 0) {
        running = 0;
        for (int k = 0; k < 2; k++) {
            running += step(s[k], together[k]) == DS_OK;
        }
    }
    for (int k = 0; k < 2; k++) {
        assert_memory_equal(alone[k], together[k], sizeof alone[k]);
        ds_search_close(s[k]);
    }
    /* From two threads of the program they compute at the same time. */
    assert_int_equal(pthread_create(&thread, NULL, walk_on, &beside[1]), 0);
    walk_on(&beside[0]);
    pthread_join(thread, NULL);
    for (int k = 0; k < 2; k++) {
        assert_memory_equal(alone[k], beside[k].points, sizeof alone[k]);
        ds_search_close(beside[k].search);
    }
}

/* Every third evaluation fails, every fifth gradient is bad: the search continues, and no such loss is the
 * best. */
static void test_failed_evaluations(void **state)
{
    static const char *const plugins[] = {"cmaes", "boleap", "bo", "lbfgsb", "adam"};
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t k = 0; k < sizeof plugins / sizeof *plugins; k++) {
        ds_search_options o = options(90, 3, NULL);
        ds_search *s = must_open(plugins[k], &o);
        double loss[ROOM], grad[ROOM * N], best;
        uint64_t count, number = 0;
        uint32_t want;
        const double *x;
        while (ds_search_ask(s, &count, &x, &want) == DS_OK) {
            for (uint64_t row = 0; row < count; row++, number++) {
                loss[row] = bowl(NULL, N, x + row * N, grad + row * N);
                loss[row] = number % 3 == 1 ? bad[number % 9 / 3] : loss[row];
                grad[row * N + 1] = number % 5 == 2 ? (double)NAN : grad[row * N + 1];
                for (int i = 0; i < N; i++) {
                    assert_true(x[row * N + (uint64_t)i] >= lower[i] && x[row * N + (uint64_t)i] <= upper[i]);
                }
            }
            assert_int_equal(ds_search_tell(s, loss, grad), DS_OK);
        }
        assert_int_equal(ds_search_used(s), 90);
        assert_int_equal(ds_search_best(s, &best, NULL), DS_OK);
        assert_true(isfinite(best));
        ds_search_close(s);
    }
}

static void test_nothing_but_failures(void **state)
{
    ds_search_options o = options(30, 3, NULL);
    ds_search *s = must_open("cmaes", &o);
    double loss[ROOM], best = 0;
    const double *x, *best_x = lower;
    uint64_t count;
    uint32_t want;
    for (int i = 0; i < ROOM; i++) {
        loss[i] = NAN;
    }
    while (ds_search_ask(s, &count, &x, &want) == DS_OK) {
        assert_int_equal(ds_search_tell(s, loss, NULL), DS_OK);
    }
    assert_int_equal(ds_search_best(s, &best, &best_x), DS_STOPPED);
    assert_true(isinf(best) && best_x == NULL);
    ds_search_close(s);
}

static void test_told_wrongly(void **state)
{
    ds_search_options o = options(30, 3, NULL);
    ds_search *s = must_open("lbfgsb", &o);
    double loss[ROOM] = {0};
    const double *x;
    uint64_t count;
    uint32_t want;
    assert_int_equal(ds_search_tell(s, loss, NULL), DS_E_ARG); /* ask() was not called */
    assert_int_equal(ds_search_ask(s, &count, &x, &want), DS_OK);
    assert_int_equal(want, DS_WANT_GRAD);
    assert_int_equal(ds_search_tell(s, loss, NULL), DS_E_ARG); /* without the requested gradient */
    assert_int_equal(ds_search_tell(s, NULL, loss), DS_E_ARG);
    assert_int_equal(ds_search_used(s), 0);
    ds_search_close(s);
}

static void refused(const char *optimizer, const ds_search_options *o, const char *part)
{
    char why[600] = "", shorter[8];
    assert_null(ds_search_open(optimizer, o, why, sizeof why));
    if (strstr(why, part) == NULL || strchr(why, '\n') != NULL) {
        print_message("'%s' does not contain '%s'\n", why, part);
        fail();
    }
    assert_null(ds_search_open(optimizer, o, shorter, sizeof shorter));
    assert_int_equal(strlen(shorter), 7);
    assert_null(ds_search_open(optimizer, o, NULL, 0));
}

static void test_refused(void **state)
{
    const double nan_lower[N] = {-1, NAN, -1}, outside[N] = {0, 0, 4};
    ds_search_options o = options(30, 3, NULL), bad = o;
    refused("cmeas", &o, "cmaes"); /* the nearest name */
    refused("torus", &o, "torus");
    refused(NULL, &o, "missing");
    refused("ppo", &o, "ppo needs stepwise control, which a search with ask and tell does not have; use");
    refused("cmaes", NULL, "options");
    bad.struct_size = 8;
    refused("cmaes", &bad, "struct_size");
    bad = o;
    bad.n = 0;
    refused("cmaes", &bad, "n >= 1");
    bad = o;
    bad.lower = nan_lower;
    refused("cmaes", &bad, "variable 1");
    bad.lower = upper;
    bad.upper = lower;
    refused("cmaes", &bad, "lower <= upper");
    bad.upper = upper;
    refused("cmaes", &bad, "all 3 variables are fixed");
    bad = o;
    bad.x0 = outside;
    refused("cmaes", &bad, "start point: variable 2");
    bad = o;
    bad.has_gradient = 0;
    refused("lbfgsb", &bad, "needs gradients");
    bad = o;
    bad.settings = "sigma0 = 0.3\nlamda = 5\n";
    refused("cmaes", &bad, "lambda");
    bad.settings = "lambda = -5";
    refused("cmaes", &bad, "lambda");
    bad.settings = "lambda";
    refused("cmaes", &bad, "settings:1: expected KEY = VALUE");
    bad.settings = "lambda = 8\n\n  \nlamda = 5";
    refused("cmaes", &bad, "settings:4: cmaes: unknown parameter 'lamda'");
    bad.settings = "[opt]\nlamda = 5";
    refused("cmaes", &bad, "settings:2: ");
    bad.settings = "[run]\nbudget = 5";
    refused("cmaes", &bad, "[opt]");
}

/* ---- at the same time ---- */

/* A search that a thread makes alone. */
typedef struct alone {
    const char *plugin;
    uint64_t seed, used;
    double points[BUDGET * N];
} alone;

static void *search_all(void *self)
{
    alone *a = self;
    ds_search_options o = options(BUDGET, a->seed, NULL);
    ds_search *s = must_open(a->plugin, &o);
    double loss[ROOM], grad[ROOM * N];
    const double *x;
    uint64_t count;
    uint32_t want;
    while (ds_search_ask(s, &count, &x, &want) == DS_OK) {
        memcpy(a->points + a->used * N, x, count * N * sizeof *x);
        for (uint64_t row = 0; row < count; row++) {
            loss[row] = bowl(NULL, N, x + row * N, grad + row * N);
        }
        a->used += count;
        if (ds_search_tell(s, loss, grad) != DS_OK) {
            break;
        }
    }
    ds_search_close(s);
    return NULL;
}

/* Searches that compute at once in several threads give the points that each gives alone. */
static void test_threads(void **state)
{
    static const char *const plugins[] = {"boleap", "cmaes", "bo", "boleap", "nlopt", "lbfgsb"};
    enum { SEARCHES = sizeof plugins / sizeof *plugins };
    static alone apart[SEARCHES], together[SEARCHES];
    pthread_t thread[SEARCHES];
    for (size_t k = 0; k < SEARCHES; k++) {
        apart[k].plugin = together[k].plugin = plugins[k];
        apart[k].seed = together[k].seed = k;
        search_all(&apart[k]);
    }
    for (size_t k = 0; k < SEARCHES; k++) {
        assert_int_equal(pthread_create(&thread[k], NULL, search_all, &together[k]), 0);
    }
    for (size_t k = 0; k < SEARCHES; k++) {
        assert_int_equal(pthread_join(thread[k], NULL), 0);
        assert_true(apart[k].used > 0 && apart[k].used == together[k].used);
        assert_memory_equal(apart[k].points, together[k].points, sizeof apart[k].points);
    }
}

static void test_null(void **state)
{
    uint64_t count = 0;
    uint32_t want = 0;
    double loss = 0;
    const double *x = NULL;
    ds_search_options o = options(30, 3, NULL);
    ds_search *s = must_open("rand", &o);
    assert_int_equal(ds_search_ask(NULL, &count, &x, &want), DS_E_ARG);
    assert_int_equal(ds_search_ask(s, NULL, &x, &want), DS_E_ARG);
    assert_int_equal(ds_search_ask(s, &count, NULL, &want), DS_E_ARG);
    assert_int_equal(ds_search_ask(s, &count, &x, NULL), DS_E_ARG);
    assert_int_equal(ds_search_tell(NULL, &loss, NULL), DS_E_ARG);
    assert_int_equal(ds_search_best(NULL, NULL, NULL), DS_E_ARG);
    assert_int_equal(ds_search_used(NULL), 0);
    assert_string_equal(ds_search_message(NULL), "");
    ds_search_close(s);
}

/* ---- recorded ---- */

static temporary place;

static ds_search_options recorded(const char *folder, uint64_t budget, uint32_t resume)
{
    ds_search_options o = options(budget, 8, NULL);
    o.folder = temporary_path(&place, folder);
    o.name = "bowl";
    o.resume = resume;
    return o;
}

/* Asks until the end or until `most` evaluations, and closes. Returns how many evaluations the program made
 * itself; all points go to `points`, if there is room for them. */
static uint64_t go_on(const char *optimizer, const ds_search_options *o, uint64_t most, double *points)
{
    ds_search *s = must_open(optimizer, o);
    double loss[ROOM], grad[ROOM * N];
    const double *x;
    uint64_t count, asked = 0;
    uint32_t want;
    while (ds_search_used(s) < most && ds_search_ask(s, &count, &x, &want) == DS_OK) {
        memcpy(points + ds_search_used(s) * N, x, count * N * sizeof *x);
        for (uint64_t row = 0; row < count; row++) {
            loss[row] = bowl(NULL, N, x + row * N, grad + row * N);
            if (asked + row == 7) {
                loss[row] = NAN;
            }
        }
        asked += count;
        assert_int_equal(ds_search_tell(s, loss, grad), DS_OK);
    }
    assert_string_equal(ds_search_message(s), "");
    ds_search_close(s);
    return asked;
}

static uint64_t rows_of(const char *folder)
{
    char path[800];
    ds_store *store = NULL;
    ds_error e = {0, ""};
    uint64_t count = 0;
    snprintf(path, sizeof path, "%s/run.sqlite", folder);
    assert_int_equal(ds_store_open(path, DS_STORE_READ, &store, &e), 0);
    assert_int_equal(ds_store_count(store, &count, &e), 0);
    ds_store_close(store, NULL);
    return count;
}

static int has_text(const char *folder, const char *file, const char *part)
{
    char path[800];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    char *text = (char *)temporary_read(path, &size);
    int has = strstr(text, part) != NULL;
    free(text);
    return has;
}

/* An interrupted search, even in the middle of a batch, continues from its record as if nothing had happened.
 */
static void test_recorded(void **state)
{
    static const char *const plugins[] = {"cmaes", "boleap", "lbfgsb"};
    static const double one_lower[N] = {-3, 0.25, -3}, one_upper[N] = {3, 0.25, 3};
    const size_t count = sizeof plugins / sizeof *plugins;
    for (size_t k = 0; k < 2 * count; k++) { /* with all variables free, then with one of them fixed */
        static double whole[ROOM * N], parts[ROOM * N];
        const int fixed = k >= count;
        const char *plugin = plugins[k % count];
        char name[40];
        memset(whole, 0, sizeof whole);
        memset(parts, 0, sizeof parts);
        snprintf(name, sizeof name, "whole%zu", k);
        ds_search_options o = recorded(name, 90, 0);
        o.lower = fixed ? one_lower : o.lower;
        o.upper = fixed ? one_upper : o.upper;
        assert_int_equal(go_on(plugin, &o, ROOM, whole), 90);
        for (size_t i = 0; fixed && i < 90; i++) {
            assert_true(whole[N * i + 1] == 0.25 && whole[N * i] >= -3 && whole[N * i + 2] >= -3);
        }
        assert_int_equal(rows_of(o.folder), 90);
        assert_true(has_text(o.folder, "summary.json", "\"ended\": \"budget\""));
        assert_true(has_text(o.folder, "run.ini", "env = bowl"));
        snprintf(name, sizeof name, "parts%zu", k);
        o = recorded(name, 90, 1); /* creates a record where there is none */
        o.lower = fixed ? one_lower : o.lower;
        o.upper = fixed ? one_upper : o.upper;
        uint64_t first = go_on(plugin, &o, 30, parts);
        assert_true(first >= 30 && first < 90);
        assert_true(has_text(o.folder, "summary.json", "\"ended\": \"signal\""));
        assert_int_equal(rows_of(o.folder), first);
        assert_int_equal(go_on(plugin, &o, ROOM, parts), 90 - first);
        assert_int_equal(rows_of(o.folder), 90);
        o.budget = 95;
        assert_int_equal(go_on(plugin, &o, ROOM, parts), 5);
    }
}

static void test_recorded_refused(void **state)
{
    ds_search_options o = recorded("once", 20, 0), other = o;
    double points[ROOM * N];
    char *folder = strdup(o.folder);
    o.folder = other.folder = folder;
    go_on("cmaes", &o, ROOM, points);
    refused("cmaes", &o, "already");
    o.resume = 1;
    refused("rand", &o, "another optimizer");
    other = o;
    other.seed = 9;
    refused("cmaes", &other, "another seed");
    other = o;
    other.n = 2;
    refused("cmaes", &other, "another number of variables");
    other = o;
    other.name = "cup";
    refused("cmaes", &other, "another name");
    other = o;
    other.settings = "lambda = 5";
    refused("cmaes", &other, "another value of lambda");
    other = o;
    other.budget = 10;
    refused("cmaes", &other, "already holds 20 evaluations");
    other.budget = 0;
    refused("cmaes", &other, "needs a budget");
    other = o;
    other.name = "Big Name";
    refused("cmaes", &other, "lower-case letters");
    other = o;
    other.resume = 2;
    refused("cmaes", &other, "resume is 2");
    other = o;
    other.folder = "/proc/nothing/here";
    refused("cmaes", &other, "/proc/nothing");
    assert_int_equal(go_on("cmaes", &o, ROOM, points), 0); /* all is recorded */
    free(folder);
}

/* Continues in other bounds: the record, which does not fit, is left unchanged. */
static void does_not_fit(const char *optimizer, ds_search_options o)
{
    const double narrow[N] = {-2, -3, -3};
    uint64_t count, rows = rows_of(o.folder);
    uint32_t want;
    const double *x;
    o.resume = 1;
    o.lower = narrow;
    ds_search *s = must_open(optimizer, &o);
    assert_int_equal(ds_search_ask(s, &count, &x, &want), DS_E_DATA);
    assert_non_null(strstr(ds_search_message(s), "requests another point"));
    ds_search_close(s);
    assert_int_equal(rows_of(o.folder), rows);
    assert_true(has_text(o.folder, "summary.json", "\"ended\": \"signal\""));
}

static void test_recorded_other_points(void **state)
{
    ds_search_options o = recorded("other", 40, 0);
    double points[ROOM * N];
    go_on("cmaes", &o, 20, points);
    does_not_fit("cmaes", o);
}

/* The same if only the last recorded evaluation shows it. */
static void test_recorded_other_last_point(void **state)
{
    ds_search_options o = recorded("last", 40, 0);
    double points[ROOM * N];
    assert_int_equal(go_on("lbfgsb", &o, 1, points), 1);
    does_not_fit("lbfgsb", o);
    assert_true(has_text(o.folder, "summary.json", "\"evaluations\": 1"));
}

/* A search that its program has ended differs from an interrupted one. */
static void test_recorded_end(void **state)
{
    static const struct {
        uint32_t why;
        const char *said;
    } ends[] = {{DS_SEARCH_STOPPED, "\"ended\": \"signal\""},
                {DS_SEARCH_TARGET, "\"ended\": \"target\""},
                {DS_SEARCH_TIME, "\"ended\": \"time\""}};
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        char name[20];
        snprintf(name, sizeof name, "end%zu", k);
        ds_search_options o = recorded(name, 90, 0);
        ds_search *s = must_open("cmaes", &o);
        assert_int_equal(step(s, NULL), DS_OK);
        assert_int_equal(ds_search_end(s, ends[k].why), DS_OK);
        assert_int_equal(ds_search_end(s, 3), DS_E_ARG);
        ds_search_close(s);
        assert_true(has_text(o.folder, "summary.json", ends[k].said));
    }
    assert_int_equal(ds_search_end(NULL, DS_SEARCH_TIME), DS_E_ARG);
}

/* A record that can no longer be written ends the search: neither ask() nor tell() continues silently. */
static void test_recorded_on_full_disk(void **state)
{
    ds_search_options o = recorded("full", 1000000, 0);
    struct rlimit was, none;
    static double loss[ROOM];
    uint64_t count, used = 0;
    uint32_t want;
    const double *x;
    ds_status told = DS_OK;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    ds_search *s = must_open("rand", &o);
    none = (struct rlimit){0, was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    for (int k = 0; k < 5000 && told == DS_OK; k++) {
        assert_int_equal(ds_search_ask(s, &count, &x, &want), DS_OK);
        told = ds_search_tell(s, loss, NULL);
        used = ds_search_used(s);
        usleep(1000);
    }
    assert_int_equal(told, DS_E_IO);
    assert_int_equal(ds_search_tell(s, loss, NULL), DS_E_IO);
    assert_int_equal(ds_search_used(s), used);
    assert_int_equal(ds_search_ask(s, &count, &x, &want), DS_E_IO);
    assert_true(count == 0 && x == NULL);
    assert_int_equal(ds_search_ask(s, &count, &x, &want), DS_E_IO);
    assert_int_equal(ds_search_used(s), used);
    assert_string_not_equal(ds_search_message(s), "");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    ds_search_close(s);
}

/* The write-ahead log of a killed search whose record was removed is not taken for that of a new one. */
static void test_recorded_over_old_log(void **state)
{
    ds_search_options o = recorded("log", 40, 0);
    double points[ROOM * N];
    char command[800];
    int status;
    pid_t child = fork();
    if (child == 0) {
        ds_search *s = ds_search_open("cmaes", &o, NULL, 0);
        while (s != NULL && ds_search_used(s) < 20 && step(s, NULL) == DS_OK) {
        }
        sleep(1); /* then it is on the disk, in the log */
        _exit(s == NULL);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    snprintf(command, sizeof command, "cd '%s' && test -s run.sqlite-wal && rm run.sqlite", o.folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(go_on("cmaes", &o, ROOM, points), 40);
    assert_int_equal(rows_of(o.folder), 40);
    assert_true(has_text(o.folder, "summary.json", "\"ended\": \"budget\""));
}

static int open_place(void **state)
{
    temporary_open(&place);
    test_find_plugins();
    return 0;
}

static int close_place(void **state)
{
    return temporary_close(&place);
}

RUN_TESTS_WITH(open_place, close_place, test_same_points_as_a_run, test_start_is_evaluated_first,
               test_budget_cuts_a_batch, test_closed_at_any_moment, test_two_at_once, test_failed_evaluations,
               test_nothing_but_failures, test_told_wrongly, test_refused, test_threads, test_null,
               test_recorded, test_recorded_refused, test_recorded_other_points,
               test_recorded_other_last_point, test_recorded_over_old_log, test_recorded_end,
               test_recorded_on_full_disk)
