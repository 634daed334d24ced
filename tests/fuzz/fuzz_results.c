/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_results.c - readers of results and experiments: any bytes give names that can be parts of paths and
 * numbers that can be counted, or one line with the reason. */
#include "config.h"

#include "base/log.h"
#include "base/text.h"
#include "bench/bench_file.h"
#include "landscape/landscape_slice.h"
#include "results/results.h"
#include "store/store.h"
#include "results/run_table.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the record of a run ---- */

static char path[64]; /* in memory, where the system has this folder */

static void forget(void)
{
    char other[80];
    unlink(path);
    for (int k = 0; k < 2; k++) {
        snprintf(other, sizeof other, "%s%s", path, k == 0 ? "-wal" : "-shm");
        unlink(other);
    }
}

/* One thread reads a file that no other process uses: without SQLite's mutexes, statistics and locks more
 * inputs run per second. Our code still reads guarded memory. */
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

int fuzz_store(const uint8_t *data, size_t size)
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

/* ---- summary.json of a run ---- */

static char folder[64], path_summary[96];

static void forget_summary(void)
{
    unlink(path_summary);
    rmdir(folder);
}

static void write_input_summary(const uint8_t *data, size_t size)
{
    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "%s/fuzz_summary-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        FUZZ_REQUIRE(mkdtemp(folder) != NULL);
        snprintf(path_summary, sizeof path_summary, "%s/summary.json", folder);
        atexit(forget_summary);
    }
    int fd = open(path_summary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static void require_name(const char *name)
{
    FUZZ_REQUIRE(name != NULL && strchr(name, '/') == NULL && name[0] != '.' && name[0] != '-');
    FUZZ_REQUIRE(ds_text_is_line(name, strlen(name)) && strlen(name) <= 120);
}

int fuzz_summary(const uint8_t *data, size_t size)
{
    ds_result r;
    ds_error e = {0, ""};
    write_input_summary(data, size);
    int has = ds_result_read(folder, &r, &e);
    FUZZ_REQUIRE(has >= 0 && has == (r.ended != NULL));
    require_name(r.env);
    require_name(r.opt);
    ds_result_clear(&r);
    return 0;
}

/* ---- a table of runs ---- */

static void require_name_run_table(const char *name)
{
    FUZZ_REQUIRE(name != NULL && name[0] != '\0' && strchr(name, '/') == NULL && name[0] != '.' &&
                 name[0] != '-');
    FUZZ_REQUIRE(ds_text_is_line(name, strlen(name)) && strlen(name) <= 120);
}

static void require_run(const ds_result *r)
{
    require_name_run_table(r->env);
    require_name_run_table(r->opt);
    FUZZ_REQUIRE(r->table != NULL && r->where != NULL && r->folder != NULL && r->ended != NULL);
    FUZZ_REQUIRE(isfinite(r->best_loss) || r->best_loss > 0);
    FUZZ_REQUIRE(r->wall_s >= 0 && r->evaluation_s >= 0 && r->n > 0 && r->best_id == 0);
    FUZZ_REQUIRE(ds_text_is_line(r->folder, strlen(r->folder)) &&
                 ds_text_is_line(r->ended, strlen(r->ended)));
}

int fuzz_run_table(const uint8_t *data, size_t size)
{
    ds_run_results all = {NULL, 0, 0}, own = {NULL, 0, 0};
    ds_error e = {0, ""};
    ds_log_set_level(DS_LOG_ERROR);
    int rc = ds_run_table_parse((const char *)data, size, "input", &all, &e);
    for (size_t i = 0; rc == 0 && i < all.count; i++) {
        require_run(&all.item[i]);
    }
    rc = rc != 0 ? rc : ds_run_table_join(&own, &all, 0, &e);
    rc = rc != 0 ? rc : ds_run_table_settle(&own, &e);
    if (rc != 0) {
        FUZZ_REQUIRE((rc == DS_EXIT_CONFIG || rc == DS_EXIT_MEMORY) && e.status == rc);
        FUZZ_REQUIRE(e.text[0] != '\0' && ds_text_is_line(e.text, strlen(e.text)));
    }
    ds_results_clear(&all);
    ds_results_clear(&own);
    return 0;
}

/* ---- experiment files: parts with distinct names that can be folders ---- */

int fuzz_bench(const uint8_t *data, size_t size)
{
    ds_settings none = {0};
    ds_bench_file f;
    ds_error e = {0};
    int status = ds_bench_file_parse((const char *)data, size, "input", "/base", &none, &none, &f, &e);
    if (status != 0) {
        FUZZ_REQUIRE((status == DS_EXIT_CONFIG || status == DS_EXIT_MEMORY) && e.status == status);
        FUZZ_REQUIRE(ds_text_is_line(e.text, strlen(e.text)));
    }
    for (int which = 0; which < 2 && status == 0; which++) {
        const ds_bench_parts *list = &f.part[which];
        FUZZ_REQUIRE(list->count > 0);
        for (size_t i = 0; i < list->count; i++) {
            const char *name = list->item[i].name;
            FUZZ_REQUIRE(name[0] != '\0' && name[0] != '.' && strlen(name) <= DS_BENCH_NAME);
            FUZZ_REQUIRE(strpbrk(name, "/ ,;[]") == NULL && list->item[i].plugin[0] != '\0');
            for (size_t k = 0; k < i && k < 50; k++) {
                FUZZ_REQUIRE(strcmp(list->item[k].name, name) != 0);
            }
        }
    }
    ds_bench_file_clear(&f);
    return 0;
}

/* ---- --axes, --from, --to, --center, --range and --grid, separated by line ends ---- */

enum { N = 3, TEXTS = 6 };

/* Files and runs have other parsers: points are words here. */
static int is_word(const char *text)
{
    return text[0] == '\0' || strcmp(text, "start") == 0 || strcmp(text, "center") == 0 ||
           (strncmp(text, "random:", 7) == 0 && strchr(text, '/') == NULL);
}

static void check_slice(const ds_slice *s)
{
    uint64_t points = ds_slice_points(s);
    double x[N], c[2], back[2];
    FUZZ_REQUIRE(s->dims >= 1 && s->dims <= 2 && points >= 3 && points <= 4000000);
    for (int a = 0; a < s->dims; a++) {
        FUZZ_REQUIRE(s->low[a] < s->high[a] && s->label[a][0] != '\0');
    }
    for (uint64_t k = 0; k < points; k += 1 + points / 16) {
        ds_slice_grid(s, k, c);
        FUZZ_REQUIRE(isfinite(c[0]) && isfinite(c[1]));
        if (ds_slice_x(s, c, x)) {
            for (int i = 0; i < N; i++) {
                FUZZ_REQUIRE(x[i] >= s->lower[i] && x[i] <= s->upper[i]);
            }
            ds_slice_project(s, x, back);
        }
    }
}

int fuzz_slice(const uint8_t *data, size_t size)
{
    static const double lower[N] = {-1, 0, -3}, upper[N] = {1, 2, 5}, start[N] = {0, 0.5, 1};
    char line[TEXTS][200];
    memset(line, 0, sizeof line);
    for (int k = 0; k < TEXTS && size > 0; k++) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t n = end != NULL ? (size_t)(end - data) : size;
        memcpy(line[k], data, n < sizeof line[k] ? n : sizeof line[k] - 1);
        n += end != NULL;
        data += n;
        size -= n;
    }
    ds_slice_text text = {line[0], line[1], line[2], line[3], line[4], line[5]};
    ds_pool_env env = {.info = {.n = N}, .lower = lower, .upper = upper, .x0 = start};
    ds_slice_plan plan;
    ds_slice s;
    ds_error e = {0, ""};
    const char *key = NULL;
    char why[160] = "";
    if (!is_word(text.from) || !is_word(text.to) || !is_word(text.center)) {
        return 0;
    }
    int rc = ds_slice_parse(&text, &plan, &key, why);
    rc = rc != 0 ? rc : ds_slice_make(&plan, &text, "toy", &env, 1, &s, &key, why, &e);
    if (rc == 0) {
        check_slice(&s);
        ds_slice_free(&s);
    } else {
        FUZZ_REQUIRE(rc == -1 ? key != NULL && why[0] != '\0' : e.text[0] != '\0');
    }
    return 0;
}
