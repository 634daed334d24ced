/* SPDX-License-Identifier: Apache-2.0 */
/* test_store.c - rows are read as they were written, groups are whole or absent, files of other programs and
 * damaged files are refused. */
#include "config.h"

#include "sanitizers.h"
#include "store/optimizer_output.h"
#include "store/recorder.h"
#include "store/run_folder.h"
#include "store/store.h"
#include "temporary.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static temporary place;
static char path[512];

static int set_up(void **state)
{
    temporary_open(&place);
    snprintf(path, sizeof path, "%s/run.sqlite", place.folder);
    return 0;
}

static int tear_down(void **state)
{
    return temporary_close(&place);
}

static ds_row make_row(uint64_t id, double *x, double *grad)
{
    ds_row row;
    memset(&row, 0, sizeof(row));
    row.id = id;
    row.n = 3;
    for (int i = 0; i < 3; i++) {
        x[i] = 0.1 * (double)id + i;
        grad[i] = -x[i] / 3.0;
    }
    row.x = x;
    row.grad = id % 2 == 0 ? grad : NULL;
    row.answer.loss = id % 5 == 0 ? HUGE_VAL : 1.0 / (double)id;
    row.answer.grad_kind = row.grad != NULL ? DS_GRAD_ADJOINT : DS_GRAD_NONE;
    row.answer.outcome = id % 5 == 0 ? DS_EVAL_DIVERGED : DS_EVAL_OK;
    row.group = id / 7;
    row.answer.cost_steps = 50;
    row.answer.bad_step = id % 5 == 0 ? 4 : -1;
    row.answer.wall_s = 1e-3;
    row.at = 1.7e9;
    strcpy(row.tag, id % 2 == 0 ? "init" : "");
    strcpy(row.answer.message, id % 5 == 0 ? "left the box" : "");
    return row;
}

static void check_rows(ds_store *s, uint64_t count)
{
    ds_cursor *c = NULL;
    ds_error e = {0, ""};
    ds_row got;
    double x[3], grad[3];
    uint64_t have = 0;
    assert_int_equal(ds_store_count(s, &have, &e), 0);
    assert_int_equal(have, count);
    assert_int_equal(ds_cursor_open(s, 1, &c, &e), 0);
    for (uint64_t id = 1; id <= count; id++) {
        ds_row want = make_row(id, x, grad);
        assert_int_equal(ds_cursor_next(c, &got, &e), 1);
        assert_int_equal(got.id, id);
        assert_memory_equal(got.x, want.x, sizeof(x));
        assert_true((got.grad == NULL) == (want.grad == NULL));
        if (got.grad != NULL) {
            assert_memory_equal(got.grad, want.grad, sizeof(grad));
        }
        assert_true(got.answer.loss == want.answer.loss);
        assert_int_equal(got.answer.outcome, want.answer.outcome);
        assert_int_equal(got.answer.grad_kind, want.answer.grad_kind);
        assert_int_equal(got.group, want.group);
        assert_int_equal(got.answer.cost_steps, want.answer.cost_steps);
        assert_int_equal(got.answer.bad_step, want.answer.bad_step);
        assert_string_equal(got.tag, want.tag);
        assert_string_equal(got.answer.message, want.answer.message);
    }
    assert_int_equal(ds_cursor_next(c, &got, &e), 0);
    ds_cursor_close(c);
}

static void test_round_trip(void **state)
{
    ds_store *s = NULL;
    ds_recorder *r = NULL;
    ds_error e = {0, ""};
    double x[3], grad[3];
    char *value = NULL;
    assert_int_equal(ds_store_create(path, NULL, 3, &s, &e), 0);
    assert_int_equal(ds_store_set(s, "plan", "100", &e), 0);
    assert_int_equal(ds_store_put_setting(s, DS_SECTION_ENV, "steps", "7", &e), 0);
    assert_int_equal(ds_recorder_open(s, 0, &r, &e), 0);
    for (uint64_t id = 1; id <= 20000; id++) {
        ds_row row = make_row(id, x, grad);
        assert_int_equal(ds_recorder_append(r, &row, id % 1000 == 0, &e), 0);
        if (id == 5000) {
            assert_int_equal(ds_recorder_drain(r, &e), 0);
        }
    }
    assert_int_equal(ds_recorder_close(r, &e), 0);
    assert_int_equal(ds_store_close(s, &e), 0);

    assert_int_equal(ds_store_open(path, DS_STORE_READ, &s, &e), 0);
    assert_int_equal(ds_store_n(s), 3);
    check_rows(s, 20000);
    assert_int_equal(ds_store_get(s, "plan", &value, &e), 0);
    assert_string_equal(value, "100");
    free(value);
    assert_int_equal(ds_store_get(s, "nothing", &value, &e), 0);
    assert_null(value);
    ds_settings settings;
    memset(&settings, 0, sizeof(settings));
    assert_int_equal(ds_store_get_settings(s, &settings, &e), 0);
    assert_string_equal(ds_settings_find(&settings, DS_SECTION_ENV, "steps")->value, "7");
    ds_settings_clear(&settings);
    assert_int_equal(ds_store_close(s, &e), 0);
    assert_int_equal(ds_store_create(path, NULL, 3, &s, &e), DS_EXIT_IO); /* exists */
}

/* Where the file system offers no shared memory: exclusive locking. */
/* Names of variables are read as written; a store without names has none, and a damaged table is reported. */
static void test_variables(void **state)
{
    ds_store *s = NULL;
    ds_error e = {0, ""};
    ds_named_variable v[3], *got = NULL;
    uint64_t count = 7;
    char why[DS_VARIABLE_WHY];
    assert_int_equal(ds_variable_set(&v[0], "push.x", "N/m\xc2\xb2", "push", 0, why), 0);
    assert_int_equal(ds_variable_set(&v[1], "push.y", "", "", 1, why), 0);
    assert_int_equal(ds_variable_set(&v[2], "k", "m", "", 0, why), 0);
    assert_int_equal(ds_store_create(path, NULL, 3, &s, &e), 0);
    assert_int_equal(ds_store_get_variables(s, &got, &count, &e), 0);
    assert_true(got == NULL && count == 0);
    assert_int_equal(ds_store_begin(s, &e), 0);
    assert_int_equal(ds_store_put_variables(s, v, 3, &e), 0);
    assert_int_equal(ds_store_commit(s, &e), 0);
    assert_int_equal(ds_store_close(s, &e), 0);
    assert_int_equal(ds_store_open(path, DS_STORE_READ, &s, &e), 0);
    assert_int_equal(ds_store_get_variables(s, &got, &count, &e), 0);
    assert_int_equal(count, 3);
    assert_memory_equal(got, v, sizeof v);
    free(got);
    assert_int_equal(ds_store_close(s, &e), 0);
    static const char *const harm[] = {"UPDATE variable SET name='2' WHERE id=1",
                                       "UPDATE variable SET id=9 WHERE id=2", "DELETE FROM variable"};
    for (size_t i = 0; i < sizeof harm / sizeof *harm; i++) {
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, harm[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        assert_int_equal(ds_store_open(path, DS_STORE_READ, &s, &e), DS_EXIT_IO);
        assert_non_null(strstr(e.text, "damaged: variable "));
    }
}

static void test_without_shared_memory(void **state)
{
    ds_store *s = NULL;
    ds_error e = {0, ""};
    double x[3], grad[3];
    assert_int_equal(ds_store_create(path, "unix-dotfile", 3, &s, &e), 0);
    assert_int_equal(ds_store_begin(s, &e), 0);
    for (uint64_t id = 1; id <= 10; id++) {
        ds_row row = make_row(id, x, grad);
        assert_int_equal(ds_store_insert(s, &row, &e), 0);
    }
    assert_int_equal(ds_store_commit(s, &e), 0);
    check_rows(s, 10);
    assert_int_equal(ds_store_close(s, &e), 0);
    assert_int_equal(ds_store_open(path, DS_STORE_READ, &s, &e), 0);
    check_rows(s, 10);
    assert_int_equal(ds_store_close(s, &e), 0);
}

/* A process killed at any moment leaves whole groups. */
static void test_killed(void **state)
{
    for (int round = 0; round < 8; round++) {
        unlink(path);
        int made[2]; /* the child reports when the store exists: that time is not part of the test */
        assert_int_equal(pipe(made), 0);
        pid_t pid = fork();
        if (pid == 0) {
            ds_store *s = NULL;
            ds_recorder *r = NULL;
            double x[3], grad[3];
            if (ds_store_create(path, NULL, 3, &s, NULL) != 0 || ds_recorder_open(s, 0, &r, NULL) != 0 ||
                write(made[1], "", 1) != 1) {
                _exit(1);
            }
            for (uint64_t id = 1;; id++) {
                ds_row row = make_row(id, x, grad);
                if (ds_recorder_append(r, &row, id % 100 == 0, NULL) != 0) {
                    _exit(1);
                }
            }
        }
        char byte;
        close(made[1]);
        assert_int_equal(read(made[0], &byte, 1), 1);
        close(made[0]);
        usleep((useconds_t)(20000 + 17000 * round));
        kill(pid, SIGKILL);
        int status = 0;
        waitpid(pid, &status, 0);
        assert_true(WIFSIGNALED(status));
        ds_store *s = NULL;
        ds_error e = {0, ""};
        uint64_t count = 0;
        assert_int_equal(ds_store_open(path, DS_STORE_WRITE, &s, &e), 0);
        assert_int_equal(ds_store_count(s, &count, &e), 0);
        check_rows(s, count);
        assert_int_equal(ds_store_close(s, &e), 0);
        char rest[600];
        snprintf(rest, sizeof(rest), "%s-wal", path);
        unlink(rest);
        snprintf(rest, sizeof(rest), "%s-shm", path);
        unlink(rest);
    }
}

/* A full disk ends in one clear failure, and committed rows stay readable. */
static void test_full_disk(void **state)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit = {300000, 300000};
        ds_store *s = NULL;
        ds_recorder *r = NULL;
        ds_error e = {0, ""};
        double x[3], grad[3];
        signal(SIGXFSZ, SIG_IGN);
        if (ds_store_create(path, NULL, 3, &s, &e) != 0 || ds_recorder_open(s, 0, &r, &e) != 0) {
            _exit(1);
        }
        setrlimit(RLIMIT_FSIZE, &limit);
        for (uint64_t id = 1; id < 1000000; id++) {
            ds_row row = make_row(id, x, grad);
            int rc = ds_recorder_append(r, &row, id % 50 == 0, &e);
            if (rc == 0 && id == 50 && ds_recorder_drain(r, &e) != 0) {
                _exit(4);
            }
            if (rc != 0) {
                int again = ds_recorder_close(r, &e);
                ds_store_close(s, NULL);
                _exit(rc == DS_EXIT_IO && again == DS_EXIT_IO && strstr(e.text, "File too large") != NULL
                          ? 7
                          : 2);
            }
        }
        _exit(3);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    ds_store *s = NULL;
    ds_error e = {0, ""};
    uint64_t count = 0;
    assert_int_equal(ds_store_open(path, DS_STORE_WRITE, &s, &e), 0);
    assert_int_equal(ds_store_count(s, &count, &e), 0);
    assert_true(count >= 50);
    check_rows(s, count);
    assert_int_equal(ds_store_close(s, &e), 0);
}

static void write_text(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void run_sql(const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void test_refused(void **state)
{
    ds_store *s = NULL;
    ds_error e = {0, ""};
    assert_int_equal(ds_store_open(path, DS_STORE_READ, &s, &e), DS_EXIT_IO); /* absent */
    assert_int_equal(ds_store_open(place.folder, DS_STORE_READ, &s, &e), DS_EXIT_IO);
    write_text("This is a text that is no data base, and long enough to be sure of that at the first look at "
               "its head.");
    assert_int_equal(ds_store_open(path, DS_STORE_WRITE, &s, &e), DS_EXIT_IO);
    assert_non_null(strstr(e.text, "not the store of a run"));
    unlink(path);
    run_sql("CREATE TABLE t(a)");
    assert_int_equal(ds_store_open(path, DS_STORE_READ, &s, &e), DS_EXIT_IO);
    assert_non_null(strstr(e.text, "not the store of a run"));
    unlink(path);
    write_text("");
    assert_int_equal(ds_store_open(path, DS_STORE_WRITE, &s, &e), DS_EXIT_IO);
    unlink(path);
    assert_int_equal(ds_store_create(path, NULL, 3, &s, &e), 0);
    assert_int_equal(ds_store_close(s, &e), 0);
    run_sql("PRAGMA user_version=99");
    assert_int_equal(ds_store_open(path, DS_STORE_READ, &s, &e), DS_EXIT_IO);
    assert_non_null(strstr(e.text, "format 99"));
}

static void test_damaged(void **state)
{
    ds_store *s = NULL;
    ds_error e = {0, ""};
    double x[3], grad[3];
    char noise[4096];
    assert_int_equal(ds_store_create(path, NULL, 3, &s, &e), 0);
    assert_int_equal(ds_store_begin(s, &e), 0);
    for (uint64_t id = 1; id <= 2000; id++) {
        ds_row row = make_row(id, x, grad);
        assert_int_equal(ds_store_insert(s, &row, &e), 0);
    }
    assert_int_equal(ds_store_commit(s, &e), 0);
    assert_int_equal(ds_store_close(s, &e), 0);
    memset(noise, 0xa5, sizeof(noise));
    int fd = open(path, O_WRONLY);
    for (off_t at = 4096 * 8; at < 4096 * 30; at += 4096) {
        assert_int_equal(pwrite(fd, noise, sizeof(noise), at), sizeof(noise));
    }
    close(fd);
    int failed = ds_store_open(path, DS_STORE_READ, &s, &e) != 0;
    if (!failed) {
        ds_cursor *c = NULL;
        ds_row row;
        int step = 1;
        assert_int_equal(ds_cursor_open(s, 1, &c, &e), 0);
        while (step == 1) {
            step = ds_cursor_next(c, &row, &e);
        }
        failed = step < 0;
        ds_cursor_close(c);
        ds_store_close(s, NULL);
    }
    assert_true(failed);
    assert_int_equal(e.status, DS_EXIT_IO);
    assert_non_null(strstr(e.text, "damaged"));
}

/* ---- flipped bits ---- */

/* All contents of a store as one number; 0 = a line reports that it cannot be read. */
static uint64_t mix(uint64_t sum, const void *data, size_t size)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < size; i++) {
        sum = (sum ^ p[i]) * 1099511628211u;
    }
    return sum;
}

static int add_loss(void *ctx, uint64_t id, double loss, uint64_t cost_steps, double wall_s)
{
    uint64_t *sum = ctx;
    *sum = mix(mix(mix(mix(*sum, &id, 8), &loss, 8), &cost_steps, 8), &wall_s, 8);
    return 0;
}

static int read_rows(ds_store *s, uint64_t *sum, ds_error *e)
{
    ds_cursor *c = NULL;
    ds_row row;
    int step = 0, rc = ds_cursor_open(s, 1, &c, e);
    while (rc == 0 && (step = ds_cursor_next(c, &row, e)) == 1) {
        *sum = mix(mix(*sum, row.x, row.n * 8), &row.answer.loss, 8);
        *sum = row.grad != NULL ? mix(*sum, row.grad, row.n * 8) : *sum;
        *sum = mix(mix(*sum, row.tag, strlen(row.tag)), row.answer.message, strlen(row.answer.message));
        *sum = mix(mix(*sum, &row.answer.outcome, 4), &row.group, 8);
        *sum = mix(mix(*sum, &row.extra.kind, 4), row.extra.asked, row.extra.asked_count * 8);
        double obs[8], reward[4];
        uint64_t steps;
        uint32_t ended;
        rc = ds_store_read_episode(s, row.id, 3, 2, &steps, &ended, obs, reward, e);
        *sum = rc == 0
                   ? mix(mix(mix(*sum, &steps, 8), obs, steps > 0 ? (steps + 1) * 16 : 0), reward, steps * 8)
                   : 0;
    }
    ds_cursor_close(c);
    return step < 0 ? e->status : rc;
}

static uint64_t read_all(void)
{
    ds_store *s = NULL;
    ds_error e = {0, ""};
    ds_settings settings = {0};
    ds_named_variable *v = NULL;
    uint64_t sum = 14695981039346656037u, count = 0;
    char *plan = NULL;
    int rc = ds_store_open(path, DS_STORE_READ, &s, &e);
    rc = rc != 0 ? rc : ds_store_count(s, &count, &e);
    rc = rc != 0 ? rc : ds_store_scan(s, add_loss, &sum, &e);
    rc = rc != 0 ? rc : read_rows(s, &sum, &e);
    rc = rc != 0 ? rc : ds_store_get_settings(s, &settings, &e);
    rc = rc != 0 ? rc : ds_store_get(s, "plan", &plan, &e);
    rc = rc != 0 ? rc : ds_store_get_variables(s, &v, &count, &e);
    if (rc == 0) {
        const ds_setting *steps = ds_settings_find(&settings, DS_SECTION_ENV, "steps");
        sum = mix(sum, steps != NULL ? steps->value : "", steps != NULL ? strlen(steps->value) : 0);
        sum = mix(sum, plan != NULL ? plan : "", plan != NULL ? strlen(plan) : 0);
        sum = mix(sum, v, count * sizeof *v);
    } else {
        assert_true(rc == DS_EXIT_IO && e.status == rc && strncmp(e.text, path, strlen(path)) == 0);
    }
    ds_settings_clear(&settings);
    free(plan);
    free(v);
    ds_store_close(s, NULL);
    return rc == 0 ? sum : 0;
}

/* A store with rows of every table. */
static void make_full(void)
{
    ds_store *s = NULL;
    ds_error e = {0, ""};
    ds_named_variable v[3];
    double x[3], grad[3], obs[8] = {1, 2, 3, 4, 5, 6, 7, 8}, reward[3] = {0.5, -1, 2};
    char why[DS_VARIABLE_WHY];
    for (int i = 0; i < 3; i++) {
        const char name[2] = {(char)('a' + i), '\0'};
        assert_int_equal(ds_variable_set(&v[i], name, "m", "", 0, why), 0);
    }
    assert_int_equal(ds_store_create(path, NULL, 3, &s, &e), 0);
    assert_int_equal(ds_store_begin(s, &e), 0);
    assert_int_equal(ds_store_put_variables(s, v, 3, &e), 0);
    assert_int_equal(ds_store_set(s, "plan", "100", &e), 0);
    assert_int_equal(ds_store_put_setting(s, DS_SECTION_ENV, "steps", "7", &e), 0);
    for (uint64_t id = 1; id <= 120; id++) {
        ds_row row = make_row(id, x, grad);
        ds_row_episode episode = {
            .key = id, .steps = 3, .n_obs = 2, .obs = obs, .reward = reward, .ended = 1};
        row.episode = id % 4 == 0 ? &episode : NULL;
        row.extra = id % 3 == 0 ? (ds_extra){.kind = 2, .asked = obs, .asked_count = id % 5} : row.extra;
        assert_int_equal(ds_store_insert(s, &row, &e), 0);
    }
    assert_int_equal(ds_store_commit(s, &e), 0);
    assert_int_equal(ds_store_close(s, &e), 0);
}

/* For every flipped bit the contents are unchanged or a line reports the damage. The same for pages of zeros
 * and truncated files. */
static void test_flipped(void **state)
{
    const int flips = check_all() ? 1000 : 300;
    static unsigned char whole[1 << 18];
    uint64_t random = 12345;
    int told = 0;
    make_full();
    const uint64_t expected = read_all();
    assert_true(expected != 0);
    int fd = open(path, O_RDWR);
    const ssize_t size = read(fd, whole, sizeof whole);
    assert_true(size > 8192 && (size_t)size < sizeof whole);
    for (int k = 0; k < flips; k++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const off_t at = (off_t)((random >> 33) % (uint64_t)size);
        const unsigned char byte = (unsigned char)(whole[at] ^ 1u << (random >> 29) % 8);
        if (byte == whole[at]) {
            continue;
        }
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        const uint64_t got = read_all();
        if (got != expected && got != 0) {
            print_message("bit at byte %lld\n", (long long)at);
        }
        assert_true(got == expected || got == 0);
        told += got == 0;
        assert_int_equal(pwrite(fd, &whole[at], 1, at), 1);
    }
    assert_true(told > flips / 20);
    for (off_t page = 0; page < size; page += 8192) {
        static const unsigned char nothing[8192];
        assert_int_equal(pwrite(fd, nothing, 8192, page), 8192);
        assert_int_equal(read_all(), 0);
        assert_int_equal(pwrite(fd, whole + page, 8192, page), 8192);
        assert_int_equal(ftruncate(fd, page), 0);
        assert_int_equal(read_all(), 0);
        assert_int_equal(pwrite(fd, whole, (size_t)size, 0), size);
    }
    assert_true(read_all() == expected);
    close(fd);
}

/* Rows before the first damaged one stay, and the file is kept. */
static void test_repair(void **state)
{
    ds_store *s = NULL;
    ds_error e = {0, ""};
    char *kept = NULL;
    uint64_t rows = 0;
    make_full();
    assert_int_equal(ds_store_repair(path, &kept, &rows, &e), 0);
    assert_true(kept == NULL && rows == 120);
    run_sql("UPDATE episode SET reward = zeroblob(24) WHERE id = 40");
    assert_int_equal(ds_store_open(path, DS_STORE_READ, &s, &e), 0);
    assert_int_equal(ds_store_verify(s, &e), DS_EXIT_IO);
    assert_non_null(strstr(e.text, "damaged: episode 40 (its lists)"));
    ds_store_close(s, NULL);
    assert_int_equal(ds_store_repair(path, &kept, &rows, &e), 0);
    assert_int_equal(rows, 39);
    assert_int_equal(access(kept, F_OK), 0);
    free(kept);
    assert_int_equal(ds_store_open(path, DS_STORE_WRITE, &s, &e), 0);
    assert_int_equal(ds_store_verify(s, &e), 0);
    assert_int_equal(ds_store_count(s, &rows, &e), 0);
    assert_int_equal(rows, 39);
    double x[3], grad[3];
    ds_row next = make_row(40, x, grad);
    assert_int_equal(ds_store_begin(s, &e), 0);
    assert_int_equal(ds_store_insert(s, &next, &e), 0);
    assert_int_equal(ds_store_commit(s, &e), 0);
    assert_int_equal(ds_store_verify(s, &e), 0);
    assert_int_equal(ds_store_close(s, &e), 0);
    run_sql("UPDATE setting SET value = '8'");
    assert_int_equal(ds_store_repair(path, &kept, &rows, &e), DS_EXIT_IO);
    assert_non_null(strstr(e.text, "cannot be repaired: setting env.steps"));
}

/* ---- reports ---- */

/* One block, as the recorder takes it. */
static ds_row_progress *make_progress(uint64_t id)
{
    ds_row_progress *p = malloc(sizeof *p + 5 * sizeof(double) + 16);
    assert_non_null(p);
    double *value = (double *)(void *)(p + 1);
    char *names = (char *)(value + 5);
    value[0] = 1.0 / (double)id;
    value[1] = (double)INFINITY;
    value[2] = value[3] = value[4] = (double)id;
    strcpy(names, "sigma a.b_1");
    *p = (ds_row_progress){2, names, value, id % 3 == 0 ? value + 2 : NULL};
    return p;
}

static int count_reports(void *ctx, uint64_t id, const ds_row_progress *p)
{
    uint64_t *seen = ctx;
    assert_int_equal(id, ++*seen * 5);
    assert_int_equal(p->count, 2);
    return 0;
}

static void test_reports(void **state)
{
    ds_store *s = NULL;
    ds_recorder *r = NULL;
    ds_cursor *c = NULL;
    ds_error e = {0, ""};
    ds_row got;
    double x[3], grad[3], point[3] = {0};
    char name[DS_MAX_NAME + 1];
    uint64_t seen = 0;
    int has = 1;
    assert_int_equal(ds_store_create(path, NULL, 3, &s, &e), 0);
    assert_int_equal(ds_store_recommended_point(s, point, &has, &e), 0);
    assert_int_equal(has, 0);
    assert_int_equal(ds_store_scan_progress(s, count_reports, &seen, &e), 0);
    assert_int_equal(ds_recorder_open(s, 0, &r, &e), 0);
    for (uint64_t id = 1; id <= 40; id++) {
        ds_row row = make_row(id, x, grad);
        row.progress = id % 5 == 0 ? make_progress(id) : NULL;
        assert_int_equal(ds_recorder_append(r, &row, 0, &e), 0);
    }
    assert_int_equal(ds_recorder_close(r, &e), 0);
    assert_int_equal(ds_store_close(s, &e), 0);
    assert_int_equal(ds_store_open(path, DS_STORE_WRITE, &s, &e), 0);
    assert_int_equal(ds_store_format(s), DS_STORE_FORMAT);
    assert_int_equal(ds_store_verify(s, &e), 0);
    check_rows(s, 40);
    assert_int_equal(ds_cursor_open(s, 8, &c, &e), 0); /* from the middle on */
    while (ds_cursor_next(c, &got, &e) == 1) {
        assert_true((got.progress != NULL) == (got.id % 5 == 0));
        if (got.progress != NULL) {
            assert_true(got.progress->value[0] == 1.0 / (double)got.id && isinf(got.progress->value[1]));
            assert_true((got.progress->x != NULL) == (got.id % 3 == 0));
        }
    }
    ds_cursor_close(c);
    assert_int_equal(ds_store_scan_progress(s, count_reports, &seen, &e), 0);
    assert_int_equal(seen, 8);
    assert_int_equal(ds_store_recommended_point(s, point, &has, &e), 0);
    assert_true(has && point[0] == 30 && point[2] == 30);
    const char *rest = ds_progress_name("sigma a.b_1", name);
    assert_string_equal(name, "sigma");
    rest = ds_progress_name(rest, name);
    assert_string_equal(name, "a.b_1");
    assert_null(ds_progress_name(rest, name));
    assert_int_equal(ds_store_close(s, &e), 0);
    run_sql("UPDATE progress SET value = x'0000000000000000' WHERE id = 20");
    assert_int_equal(ds_store_open(path, DS_STORE_READ, &s, &e), 0);
    assert_int_equal(ds_cursor_open(s, 20, &c, &e), 0);
    assert_int_equal(ds_cursor_next(c, &got, &e), -1);
    assert_non_null(strstr(e.text, "damaged: progress 20 (its lists)"));
    ds_cursor_close(c);
    ds_store_close(s, NULL);
}

/* Reports between two evaluations are one record with the last values. */
static void test_reports_joined(void **state)
{
    static const char *const names[] = {"a", "b"}, *const bad[] = {"a b"};
    const double lower[] = {0, 0}, upper[] = {1, 1}, values[] = {1, 2}, inside[] = {0.5, 1},
                 outside[] = {0.5, 1.5};
    const ds_problem problem = {.struct_size = sizeof problem, .n = 2, .lower = lower, .upper = upper};
    ds_progress_report given = {.struct_size = sizeof given, .count = 2, .name = names, .value = values}, own;
    ds_reports r = {0};
    ds_row_progress *p = NULL;
    ds_error e = {0, ""};
    char text[DS_REPORTS_TEXT];
    assert_int_equal(ds_reports_take(&r, 2, &p, &e), 0);
    assert_null(p);
    assert_int_equal(ds_reports_read(&own, &given, &problem, text), DS_OK);
    assert_int_equal(ds_reports_add(&r, &own, 2, inside, text), DS_OK);
    given = (ds_progress_report){.struct_size = sizeof given, .count = 1, .name = names + 1, .value = values};
    assert_int_equal(ds_reports_read(&own, &given, &problem, text), DS_OK);
    assert_int_equal(ds_reports_add(&r, &own, 2, NULL, text), DS_OK);
    assert_int_equal(ds_reports_take(&r, 2, &p, &e), 0);
    assert_string_equal(p->names, "a b");
    assert_true(p->count == 2 && p->value[0] == 1 && p->value[1] == 1 && p->x[1] == 1);
    free(p);
    assert_int_equal(ds_reports_take(&r, 2, &p, &e), 0);
    assert_null(p);
    given.name = bad;
    assert_int_equal(ds_reports_read(&own, &given, &problem, text), DS_E_ARG);
    given = (ds_progress_report){.struct_size = sizeof given, .x = outside};
    assert_int_equal(ds_reports_read(&own, &given, &problem, text), DS_E_ARG);
    assert_non_null(strstr(text, "variable 1"));
    ds_reports_close(&r);
}

static void test_lock(void **state)
{
    ds_runlock *lock = NULL;
    ds_error e = {0, ""};
    assert_int_equal(ds_runlock_take(place.folder, &lock, &e), 0);
    pid_t pid = fork();
    if (pid == 0) {
        ds_runlock *second = NULL;
        char expected[64];
        snprintf(expected, sizeof(expected), "process %ld ", (long)getppid());
        _exit(ds_runlock_take(place.folder, &second, &e) == DS_EXIT_LOCKED && strstr(e.text, expected) != NULL
                  ? 0
                  : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    ds_runlock_drop(lock);
    assert_int_equal(ds_runlock_take(place.folder, &lock, &e), 0);
    ds_runlock_drop(lock);
    assert_int_equal(ds_runlock_take("/nonexistent/folder", &lock, &e), DS_EXIT_IO);
}

RUN_EACH_WITH(set_up, tear_down, test_round_trip, test_variables, test_without_shared_memory, test_killed,
              test_full_disk, test_refused, test_damaged, test_flipped, test_repair, test_reports,
              test_reports_joined, test_lock)
