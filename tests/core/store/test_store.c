/* SPDX-License-Identifier: Apache-2.0 */
/* test_store.c - rows come back as they went in, groups are whole or absent, foreign and damaged files are
 * refused. */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/recorder.h"
#include "store/runlock.h"
#include "store/store.h"

static char folder[] = "/tmp/diffsim-store-XXXXXX";
static char path[256];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/run.sqlite", folder);
    return 0;
}

static int tear_down(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
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
    (void)state;
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
/* Names of variables come back as they were; a store without any has none, and a damaged table is told. */
static void test_variables(void **state)
{
    ds_store *s = NULL;
    ds_error e = {0, ""};
    ds_named_variable v[3], *got = NULL;
    uint64_t count = 7;
    char why[DS_VARIABLE_WHY];
    (void)state;
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
        assert_int_equal(ds_store_open(path, DS_STORE_READ, &s, &e), 0);
        assert_int_equal(ds_store_get_variables(s, &got, &count, &e), DS_EXIT_IO);
        assert_non_null(strstr(e.text, "damaged: the names of its variables"));
        assert_null(got);
        ds_store_close(s, NULL);
    }
}

static void test_without_shared_memory(void **state)
{
    ds_store *s = NULL;
    ds_error e = {0, ""};
    double x[3], grad[3];
    (void)state;
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
    (void)state;
    for (int round = 0; round < 8; round++) {
        unlink(path);
        int made[2]; /* the child tells when the store exists: how long that takes is not what is tested */
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
        char rest[300];
        snprintf(rest, sizeof(rest), "%s-wal", path);
        unlink(rest);
        snprintf(rest, sizeof(rest), "%s-shm", path);
        unlink(rest);
    }
}

/* A disk that is full ends in one clear failure, and what was committed stays readable. */
static void test_full_disk(void **state)
{
    (void)state;
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
    (void)state;
    assert_int_equal(ds_store_open(path, DS_STORE_READ, &s, &e), DS_EXIT_IO); /* absent */
    assert_int_equal(ds_store_open(folder, DS_STORE_READ, &s, &e), DS_EXIT_IO);
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
    (void)state;
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

static void test_lock(void **state)
{
    ds_runlock *lock = NULL;
    ds_error e = {0, ""};
    (void)state;
    assert_int_equal(ds_runlock_take(folder, &lock, &e), 0);
    pid_t pid = fork();
    if (pid == 0) {
        ds_runlock *second = NULL;
        char expected[64];
        snprintf(expected, sizeof(expected), "process %ld ", (long)getppid());
        _exit(ds_runlock_take(folder, &second, &e) == DS_EXIT_LOCKED && strstr(e.text, expected) != NULL ? 0
                                                                                                         : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    ds_runlock_drop(lock);
    assert_int_equal(ds_runlock_take(folder, &lock, &e), 0);
    ds_runlock_drop(lock);
    assert_int_equal(ds_runlock_take("/nonexistent/folder", &lock, &e), DS_EXIT_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_variables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_shared_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lock, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
