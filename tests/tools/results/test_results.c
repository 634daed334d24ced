/* SPDX-License-Identifier: Apache-2.0 */
/* test_results.c - the reader of result folders: which folders are runs, their names and curves; with ROWS
 * evaluations per run (the slow version has 1e6 and a time limit). */
#include "config.h"

#include "results/results.h"
#include "store/run_folder.h"
#include "store/store.h"
#include "temporary.h"
#include "test.h"

#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef ROWS
#define ROWS 3000
#endif

enum { N = 15 };

static temporary place;
static const char *const top = place.folder;

/* A loss that falls at some evaluations, and fails at every 50th. */
static double loss_at(uint64_t id)
{
    return id % 50 == 0 ? (double)INFINITY : 1e3 / (double)id + (id % 3 == 0 ? 0.0 : 1.0);
}

static void make_store(const char *folder)
{
    ds_error e = {0, ""};
    ds_store *s = NULL;
    double x[N], grad[N];
    char path[500];
    assert_int_equal(ds_folder_make(folder, &e), 0);
    snprintf(path, sizeof(path), "%s/run.sqlite", folder);
    assert_int_equal(ds_store_create(path, NULL, N, &s, &e), 0);
    assert_int_equal(ds_store_set(s, "env", "analytic", &e), 0);
    assert_int_equal(ds_store_set(s, "opt", "rand", &e), 0);
    for (int i = 0; i < N; i++) {
        x[i] = 0.1 * i;
        grad[i] = 1.0 / (1 + i);
    }
    assert_int_equal(ds_store_begin(s, &e), 0);
    for (uint64_t id = 1; id <= ROWS; id++) {
        ds_row row = {.id = id, .n = N, .x = x, .grad = grad};
        row.answer = (ds_answer){.loss = loss_at(id), .cost_steps = 10, .wall_s = 0.5};
        row.answer.outcome = isfinite(row.answer.loss) ? 0 : 2;
        assert_int_equal(ds_store_insert(s, &row, &e), 0);
    }
    assert_int_equal(ds_store_commit(s, &e), 0);
    assert_int_equal(ds_store_close(s, &e), 0);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[500];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
    char folder[400];
    temporary_open(&place);
    snprintf(folder, sizeof(folder), "%s/exp/ana2/rand@lr=1/seed-7", top);
    make_store(folder);
    write_text(
        folder, "summary.json",
        "{\"env\":\"analytic\",\"opt\":\"rand\",\"seed\":7,\"n\":15,\"budget\":100,\"evaluations\":100,"
        "\"best_loss\":0.5,\"best_evaluation\":3,\"cost_steps\":12,\"ended\":\"budget\",\"error\":null}");
    snprintf(folder, sizeof(folder), "%s/exp", top);
    write_text(folder, "bench.ini", "");
    snprintf(folder, sizeof(folder), "%s/plain", top);
    if (mkdir(folder, 0777) == 0) { /* a killed run: a store without a summary */
        char from[500], to[500];
        snprintf(from, sizeof(from), "%s/exp/ana2/rand@lr=1/seed-7/run.sqlite", top);
        snprintf(to, sizeof(to), "%s/run.sqlite", folder);
        assert_int_equal(link(from, to), 0);
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

static int tear_down(void **state)
{
    return nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void finds_runs(void **state)
{
    ds_run_results r;
    ds_error e = {0, ""};
    const char *folders[] = {top};
    assert_int_equal(ds_results_read(folders, 1, &r, &e), 0);
    assert_int_equal(r.count, 2);
    assert_string_equal(r.item[0].env, "ana2");
    assert_string_equal(r.item[0].opt, "rand@lr=1");
    assert_string_equal(r.item[0].env_id, "analytic");
    assert_int_equal(r.item[0].seed, 7);
    assert_int_equal(r.item[0].evaluations, ROWS); /* from the store, not the summary */
    double best = (double)INFINITY;
    for (uint64_t id = 1; id <= ROWS; id++) {
        best = fmin(best, loss_at(id));
    }
    assert_true(r.item[0].best_loss == best);
    assert_true(ds_result_is_done(&r.item[0]));
    assert_string_equal(r.item[1].env, "analytic");
    assert_string_equal(r.item[1].opt, "rand");
    assert_null(r.item[1].ended);
    assert_int_equal(r.item[1].n, N);
    assert_false(ds_result_is_done(&r.item[1]));
    ds_results_clear(&r);
}

static void refuses_empty_folders(void **state)
{
    ds_run_results r;
    ds_error e = {0, ""};
    char empty[400];
    snprintf(empty, sizeof(empty), "%s/empty", top);
    assert_int_equal(mkdir(empty, 0777), 0);
    const char *folders[] = {empty};
    assert_int_equal(ds_results_read(folders, 1, &r, &e), DS_EXIT_IO);
    assert_non_null(strstr(e.text, "holds no run"));
    folders[0] = "/nonexistent/folder";
    assert_int_equal(ds_results_read(folders, 1, &r, &e), DS_EXIT_IO);
}

static void reads_curves(void **state)
{
    ds_curve c;
    ds_error e = {0, ""};
    char folder[400];
    struct timespec a, b;
    double best = (double)INFINITY;
    size_t k = 0;
    snprintf(folder, sizeof(folder), "%s/plain", top);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    assert_int_equal(ds_curve_read(folder, &c, &e), 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    double seconds = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
    for (uint64_t id = 1; id <= ROWS; id++) {
        if (loss_at(id) < best) {
            best = loss_at(id);
            assert_true(k < c.count);
            assert_int_equal(c.id[k], id);
            assert_true(c.loss[k] == best);
            assert_int_equal(c.cost_steps[k], 10 * id);
            assert_true(c.wall[k] == 0.5 * (double)id);
            k++;
        }
    }
    assert_int_equal(k, c.count);
    assert_int_equal(c.evaluations, ROWS);
    assert_int_equal(c.all_cost_steps, 10 * (uint64_t)ROWS);
    print_message("# curve of %d evaluations: %.3f s\n", ROWS, seconds);
#ifdef LIMIT_S
    assert_true(seconds < LIMIT_S);
#endif
    ds_curve_clear(&c);
}

RUN_TESTS_WITH(set_up, tear_down, finds_runs, refuses_empty_folders, reads_curves)
