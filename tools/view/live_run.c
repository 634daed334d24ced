/* SPDX-License-Identifier: Apache-2.0 */
/* live_run.c - follows a run (see live_run.h). */
#include "config.h"

#include "view/live_run.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json_text.h"
#include "config/run_options.h"
#include "episode/episode.h"
#include "results/results.h"
#include "view/view_page.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_POINTS = 1200, /* losses in the state; when there are more, every second one is dropped */
    TIMES = 64,         /* looks within the last seconds */
    WHY = 300
};
static const double RATE_SECONDS = 10, APART_SECONDS = 2; /* least time between two pages */

/* [evaluation, loss] */
typedef struct mark {
    uint64_t id;
    double loss;
} mark;

typedef struct marks {
    mark *item;
    size_t count, room;
} marks;

/* The values that the optimizer reported under a name, thinned out as the losses are. */
typedef struct scalar {
    char name[DS_MAX_NAME + 1];
    marks marks;
} scalar;

struct ds_live_run {
    char *folder, *env, *opt, *ended;
    uint64_t seed, budget, seen, failed;
    double target;
    marks improvements, points;
    uint64_t stride; /* of the points */
    scalar *scalar;
    size_t scalars;
    struct {
        double at;
        uint64_t seen;
    } look[TIMES]; /* ring buffer */
    size_t looks;
    /* the page */
    pid_t maker; /* 0 = none */
    int file;    /* its output */
    uint64_t making, shown, tried;
    double made_at;
    char *page;
    size_t page_size;
    char why[WHY]; /* reason why there is no page */
};

static int add_mark(marks *m, uint64_t id, double loss)
{
    if (m->count == m->room) {
        const size_t room = m->room > 0 ? 2 * m->room : 64;
        mark *grown = realloc(m->item, room * sizeof *grown);
        if (grown == NULL) {
            return 0;
        }
        m->item = grown;
        m->room = room;
    }
    m->item[m->count++] = (mark){id, loss};
    return 1;
}

static int add_row(ds_live_run *run, uint64_t id, double loss)
{
    const size_t best = run->improvements.count;
    run->seen = id;
    if (!isfinite(loss)) {
        run->failed++;
        return 1;
    }
    if ((best == 0 || loss < run->improvements.item[best - 1].loss) &&
        !add_mark(&run->improvements, id, loss)) {
        return 0;
    }
    if (id % run->stride != 0) {
        return 1;
    }
    while (run->points.count >= MOST_POINTS) {
        size_t kept = 0;
        run->stride *= 2;
        for (size_t i = 0; i < run->points.count; i++) {
            if (run->points.item[i].id % run->stride == 0) {
                run->points.item[kept++] = run->points.item[i];
            }
        }
        run->points.count = kept;
    }
    return id % run->stride != 0 || add_mark(&run->points, id, loss);
}

/* Halves a series that has become too long. */
static void thin_out(marks *m)
{
    size_t kept = 0;
    if (m->count < MOST_POINTS) {
        return;
    }
    for (size_t i = 0; i < m->count; i += 2) {
        m->item[kept++] = m->item[i];
    }
    m->count = kept;
}

static int add_scalars(ds_live_run *run, uint64_t id, const ds_row_progress *p)
{
    char name[DS_MAX_NAME + 1];
    const char *at = p->names;
    for (uint64_t i = 0; i < p->count && (at = ds_progress_name(at, name)) != NULL; i++) {
        size_t k = 0;
        while (k < run->scalars && strcmp(run->scalar[k].name, name) != 0) {
            k++;
        }
        if (k == run->scalars) {
            scalar *grown = realloc(run->scalar, (k + 1) * sizeof *grown);
            if (grown == NULL) {
                return 0;
            }
            run->scalar = grown;
            run->scalar[k] = (scalar){.marks = {NULL, 0, 0}};
            memcpy(run->scalar[run->scalars++].name, name, sizeof name);
        }
        thin_out(&run->scalar[k].marks);
        if (isfinite(p->value[i]) && !add_mark(&run->scalar[k].marks, id, p->value[i])) {
            return 0;
        }
    }
    return 1;
}

/* ---- the record ---- */

static int read_rows(ds_live_run *run, ds_store *store, ds_error *e)
{
    ds_cursor *cursor = NULL;
    ds_row row;
    int step = 0, rc = ds_cursor_open(store, run->seen + 1, &cursor, e);
    while (rc == 0 && (step = ds_cursor_next(cursor, &row, e)) == 1) {
        const int added = row.progress == NULL || add_scalars(run, row.id, row.progress);
        rc = added && add_row(run, row.id, row.answer.loss) ? 0 : ds_no_memory(e);
    }
    ds_cursor_close(cursor);
    return rc != 0 ? rc : step < 0 ? e->status : 0;
}

static int read_facts(ds_live_run *run, ds_store *store, ds_error *e)
{
    ds_settings settings = {0};
    ds_run_options options = {0};
    int rc = ds_store_get_settings(store, &settings, e);
    rc = rc != 0 ? rc : ds_run_options_make(&settings, &options, e);
    rc = rc != 0 ? rc : ds_store_get(store, "env", &run->env, e);
    rc = rc != 0 ? rc : ds_store_get(store, "opt", &run->opt, e);
    if (rc == 0) {
        run->seed = options.seed;
        run->target = options.target;
    }
    ds_run_options_clear(&options);
    ds_settings_clear(&settings);
    return rc;
}

int ds_live_run_open(const char *folder, ds_live_run **out, ds_error *e)
{
    ds_store *store = NULL;
    ds_live_run *run = calloc(1, sizeof *run);
    *out = NULL;
    if (run == NULL || (run->folder = strdup(folder)) == NULL) {
        free(run);
        return ds_no_memory(e);
    }
    run->stride = 1;
    run->file = -1;
    run->made_at = -APART_SECONDS;
    int rc = ds_result_store(folder, &store, e);
    rc = rc != 0 ? rc : read_facts(run, store, e);
    ds_store_close(store, NULL);
    if (rc != 0) {
        ds_live_run_close(run);
        return rc;
    }
    *out = run;
    return 0;
}

void ds_live_run_close(ds_live_run *run)
{
    if (run == NULL) {
        return;
    }
    if (run->maker > 0) {
        kill(run->maker, SIGKILL);
        while (waitpid(run->maker, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (run->file >= 0) {
        close(run->file);
    }
    free(run->folder);
    free(run->env);
    free(run->opt);
    free(run->ended);
    free(run->improvements.item);
    free(run->points.item);
    for (size_t k = 0; k < run->scalars; k++) {
        free(run->scalar[k].marks.item);
    }
    free(run->scalar);
    free(run->page);
    free(run);
}

/* ---- the page of the best episode ---- */

/* Runs in a separate process. The output is the page, or with a nonzero exit status the reason for the
 * failure. */
static void make_page(const ds_live_run *run, uint64_t id, int file)
{
    ds_view_episode *episode = calloc(1, sizeof *episode);
    ds_view_episodes all = {.item = episode, .count = 1};
    ds_error e = {0, ""};
    FILE *f = fdopen(file, "w");
    int rc = episode == NULL || f == NULL ? ds_no_memory(&e) : 0;
    rc = rc != 0 ? rc : ds_view_episode_of_run(run->folder, id, NULL, DS_KEEP_ALL, episode, &e);
    rc = rc != 0 ? rc : ds_view_episode_seen(episode, &e);
    rc = rc != 0 ? rc : ds_view_page_put(f, &all, &e);
    if (f != NULL && (fflush(f) != 0 || ferror(f)) && rc == 0) {
        rc = ds_fail(&e, DS_EXIT_IO, "the page cannot be kept: %s", strerror(errno));
    }
    if (rc != 0 && ftruncate(file, 0) == 0) { /* discard a partial page */
        rc = pwrite(file, e.text, strlen(e.text), 0) >= 0 ? rc : DS_EXIT_IO;
    }
    _exit(rc);
}

static void begin_page(ds_live_run *run, uint64_t id)
{
    const pid_t parent = getpid();
    run->file = memfd_create("page", MFD_CLOEXEC);
    run->tried = run->making = id;
    run->maker = run->file >= 0 ? fork() : -1;
    if (run->maker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            make_page(run, id, run->file);
        }
        _exit(DS_EXIT_IO);
    }
    if (run->maker < 0) {
        snprintf(run->why, sizeof run->why, "cannot start a process: %s", strerror(errno));
        run->maker = 0;
        run->tried = 0; /* try again later */
        run->made_at = ds_clock_s();
        if (run->file >= 0) {
            close(run->file);
            run->file = -1;
        }
    }
}

/* The output of the process as a text ended by NUL. */
static char *written(int file, size_t *size)
{
    const off_t end = lseek(file, 0, SEEK_END);
    char *text = end >= 0 ? malloc((size_t)end + 1) : NULL;
    *size = 0;
    while (text != NULL && *size < (size_t)end) {
        const ssize_t n = pread(file, text + *size, (size_t)end - *size, (off_t)*size);
        if (n <= 0) {
            free(text);
            return NULL;
        }
        *size += (size_t)n;
    }
    if (text != NULL) {
        text[*size] = '\0';
    }
    return text;
}

static void end_page(ds_live_run *run)
{
    int status = 0;
    size_t size = 0;
    if (waitpid(run->maker, &status, WNOHANG) != run->maker) {
        return;
    }
    char *text = written(run->file, &size);
    close(run->file);
    run->file = -1;
    run->maker = 0;
    run->made_at = ds_clock_s();
    if (text != NULL && status == 0) {
        free(run->page);
        run->page = text;
        run->page_size = size;
        run->shown = run->making;
        run->why[0] = '\0';
        return;
    }
    snprintf(run->why, sizeof run->why, "%s",
             text != NULL && WIFEXITED(status) && size > 0 ? text
                                                           : "the process that makes the page has failed");
    free(text);
}

int ds_live_run_look(ds_live_run *run, ds_error *e)
{
    ds_store *store = NULL;
    char *ended = NULL, *budget = NULL;
    int rc = ds_result_store(run->folder, &store, e);
    rc = rc != 0 ? rc : read_rows(run, store, e);
    rc = rc != 0 ? rc : ds_store_get(store, "ended", &ended, e);
    rc = rc != 0 ? rc : ds_store_get(store, "budget", &budget, e);
    ds_store_close(store, NULL);
    if (rc != 0) {
        free(ended);
        return rc;
    }
    run->budget = budget != NULL ? strtoull(budget, NULL, 10) : 0; /* larger if the run was extended */
    free(budget);
    free(run->ended);
    run->ended = ended != NULL && ended[0] != '\0' ? ended : NULL; /* "" while the run continues */
    if (run->ended == NULL) {
        free(ended);
    }
    const double now = ds_clock_s();
    run->look[run->looks % TIMES].at = now;
    run->look[run->looks++ % TIMES].seen = run->seen;
    if (run->maker > 0) {
        end_page(run);
    }
    const size_t n = run->improvements.count;
    if (run->maker == 0 && n > 0 && run->improvements.item[n - 1].id != run->tried &&
        now - run->made_at >= APART_SECONDS) {
        begin_page(run, run->improvements.item[n - 1].id);
    }
    return 0;
}

/* ---- state ---- */

static double rate_of(const ds_live_run *run)
{
    const size_t n = run->looks < TIMES ? run->looks : TIMES;
    if (n == 0) {
        return 0;
    }
    const size_t last = (run->looks - 1) % TIMES;
    size_t first = last;
    for (size_t k = 1; k < n; k++) {
        const size_t i = (run->looks - 1 - k) % TIMES;
        if (run->look[last].at - run->look[i].at > RATE_SECONDS) {
            break;
        }
        first = i;
    }
    const double seconds = run->look[last].at - run->look[first].at;
    return seconds > 0 ? (double)(run->look[last].seen - run->look[first].seen) / seconds : 0;
}

static json_t *marks_json(const marks *m)
{
    json_t *all = json_array();
    /* A long series is represented by its last steps and a part of the others. */
    const size_t jump = m->count / MOST_POINTS + 1;
    for (size_t i = 0; i < m->count; i++) {
        if (i % jump == 0 || i + 1 == m->count) {
            json_t *one = json_array();
            json_array_append_new(one, ds_json_whole(m->item[i].id));
            json_array_append_new(one, ds_json_real(m->item[i].loss));
            json_array_append_new(all, one);
        }
    }
    return all;
}

/* {"sigma": [[evaluation, value], ...], ...} */
static json_t *scalars_json(const ds_live_run *run)
{
    json_t *all = json_object();
    for (size_t k = 0; k < run->scalars; k++) {
        json_object_set_new(all, run->scalar[k].name, marks_json(&run->scalar[k].marks));
    }
    return all;
}

char *ds_live_run_state(const ds_live_run *run)
{
    const size_t n = run->improvements.count;
    const mark none = {0, (double)INFINITY}, *best = n > 0 ? &run->improvements.item[n - 1] : &none;
    json_t *o = ds_json_object(
        (const ds_json_entry[]){{"folder", ds_json_text(run->folder)},
                                {"env", ds_json_text(run->env != NULL ? run->env : "")},
                                {"opt", ds_json_text(run->opt != NULL ? run->opt : "")},
                                {"seed", ds_json_seed(run->seed)},
                                {"budget", ds_json_whole(run->budget)},
                                {"evaluations", ds_json_whole(run->seen)},
                                {"failed", ds_json_whole(run->failed)},
                                {"rate", ds_json_real(rate_of(run))},
                                {"best_id", ds_json_whole(best->id)},
                                {"best_loss", ds_json_real(best->loss)},
                                {"target", ds_json_real(run->target)},
                                {"ended", run->ended != NULL ? ds_json_text(run->ended) : json_null()},
                                {"improvements", marks_json(&run->improvements)},
                                {"points", marks_json(&run->points)},
                                {"progress", scalars_json(run)},
                                {"page", ds_json_whole(run->shown)},
                                {"page_error", ds_json_text(run->why)},
                                {0}});
    char *text = o != NULL ? json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12)) : NULL;
    json_decref(o);
    return text;
}

const char *ds_live_run_page(const ds_live_run *run, size_t *size)
{
    *size = run->page_size;
    return run->page;
}
