/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_store.c - any bytes as the record of a run: they are read to the end, or one line says why not. */
#include "config.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "store/store.h"
#include "tests/fuzz/fuzz.h"

static char path[64]; /* in memory, where the system has such a folder */

static void forget(void)
{
    char other[80];
    unlink(path);
    for (int k = 0; k < 2; k++) {
        snprintf(other, sizeof other, "%s%s", path, k == 0 ? "-wal" : "-shm");
        unlink(other);
    }
}

/* One thread reads, and no other process knows the file: without SQLite's mutexes, statistics and locks there
 * are more executions per second. What our code reads lies in guarded memory. */
static void begin(void)
{
    snprintf(path, sizeof path, "%s/fuzz_store-%ld.sqlite",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
    atexit(forget);
    FUZZ_REQUIRE(sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK);
    FUZZ_REQUIRE(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK);
    FUZZ_REQUIRE(sqlite3_initialize() == SQLITE_OK);
    sqlite3_vfs *unlocked = sqlite3_vfs_find("unix-none");
    FUZZ_REQUIRE(unlocked == NULL || sqlite3_vfs_register(unlocked, 1) == SQLITE_OK);
}

static void write_input(const uint8_t *data, size_t size)
{
    if (path[0] == '\0') {
        begin();
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static int visit(void *ctx, uint64_t id, double loss, uint64_t cost_steps, double wall_s)
{
    uint64_t *last = ctx;
    (void)loss, (void)cost_steps, (void)wall_s;
    FUZZ_REQUIRE(id == *last + 1);
    *last = id;
    return 0;
}

static int read_rows(ds_store *s, ds_error *e)
{
    ds_cursor *c = NULL;
    ds_row row;
    uint64_t last = 0;
    int step = 0, rc = ds_store_scan(s, visit, &last, e);
    rc = rc != 0 || ds_store_n(s) > 4096 ? rc : ds_cursor_open(s, 1, &c, e);
    while (rc == 0 && c != NULL && (step = ds_cursor_next(c, &row, e)) == 1) {
        double obs[64], reward[16];
        uint64_t steps;
        uint32_t ended;
        rc = ds_store_read_episode(s, row.id, 15, 4, &steps, &ended, obs, reward, e);
    }
    ds_cursor_close(c);
    return step < 0 ? e->status : rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ds_store *s = NULL;
    ds_error e = {0, ""};
    ds_settings settings = {0};
    ds_named_variable *v = NULL;
    uint64_t count = 0;
    write_input(data, size);
    int rc = ds_store_open(path, DS_STORE_READ, &s, &e);
    rc = rc != 0 ? rc : ds_store_count(s, &count, &e);
    rc = rc != 0 ? rc : read_rows(s, &e);
    rc = rc != 0 ? rc : ds_store_get_settings(s, &settings, &e);
    rc = rc != 0 ? rc : ds_store_get_variables(s, &v, &count, &e);
    FUZZ_REQUIRE(rc == 0 || (e.status == rc && ds_text_is_line(e.text, strlen(e.text))));
    ds_settings_clear(&settings);
    free(v);
    ds_store_close(s, NULL);
    return 0;
}
