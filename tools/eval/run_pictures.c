/* SPDX-License-Identifier: Apache-2.0 */
/* run_pictures.c - the pictures of a run: best.png while it goes on and at its end, convergence at its end.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "eval/best_picture.h"
#include "plot/plot.h"
#include "run/run_internal.h"

enum {
    KINDS = 7,       /* tags that the convergence plot tells apart */
    CLOCK_CALLS = 64 /* cheap calls between two looks at the clock */
};
static const double SHARE = 0.05;        /* of the time of a run for pictures */
static const double APART_SECONDS = 2.0; /* between two pictures, at least */
static const double CHEAP_SECONDS = 1.0; /* a picture that a user who wants to stop will wait for */

static void complain(const ds_error *e, const char *what)
{
    ds_log(DS_LOG_WARNING, NULL, "no picture %s: %s", what, e->text);
}

/* Draws best.png of the best point so far. */
static void draw_best(ds_run *run)
{
    const ds_statistics *l = &run->statistics;
    ds_error e = {0, ""};
    ds_caption caption = {run->env_module->id, run->opt_module->id, run->options.seed,
                          l->best_loss,        l->best_id,          NULL};
    char *path = ds_folder_path(run->folder, "best.png");
    uint64_t start = ds_clock_ns();
    int rc = path == NULL ? ds_fail(&e, DS_EXIT_MEMORY, "out of memory")
                          : ds_best_picture(run->pool, l->best_x, ds_pool_noise_key(run->pool, l->best_id), 0,
                                            &caption, path, &e);
    if (rc != 0) {
        complain(&e, "best.png");
    }
    free(path);
    run->pictures.shown_id = l->best_id;
    run->pictures.last_ns = ds_clock_ns();
    run->pictures.spent_ns += run->pictures.last_ns - start;
}

/* Pictures may take SHARE of the time, and come at least APART_SECONDS apart. */
void ds_run_pictures_due(ds_run *run, double last_wall)
{
    ds_run_pictures *p = &run->pictures;
    if (!run->options.pictures || run->statistics.best_id == p->shown_id) {
        return;
    }
    if (last_wall < 1e-3 && ++p->idle_calls < CLOCK_CALLS) {
        return;
    }
    p->idle_calls = 0;
    uint64_t now = ds_clock_ns();
    uint64_t since = p->last_ns != 0 ? p->last_ns : p->start_ns;
    double elapsed = 1e-9 * (double)(now - p->start_ns);
    /* The first one takes about an episode, of which the last call tells the time. */
    double spent = p->last_ns != 0 ? 1e-9 * (double)p->spent_ns : last_wall;
    if (1e-9 * (double)(now - since) >= APART_SECONDS && spent <= SHARE * elapsed) {
        draw_best(run);
    }
}

/* ---- convergence ---- */

typedef struct history {
    double *loss;
    uint8_t *kind;
    uint64_t count;
    char name[KINDS][16];
    const char *names[KINDS];
    uint32_t kinds;
} history;

static uint8_t kind_of(history *h, const char *tag)
{
    uint32_t k = 0;
    while (k < h->kinds && strcmp(h->name[k], tag) != 0) {
        k++;
    }
    if (k == h->kinds) {
        if (k == KINDS) {
            return KINDS - 1; /* more kinds than colours: the last one stands for the rest */
        }
        strcpy(h->name[k], k == KINDS - 1 ? "other" : tag);
        h->names[k] = h->name[k];
        h->kinds++;
    }
    return (uint8_t)k;
}

static int read_history(ds_store *store, uint64_t count, history *h, ds_error *e)
{
    ds_cursor *c = NULL;
    ds_row row;
    h->loss = malloc((count + 1) * sizeof(double));
    h->kind = malloc(count + 1);
    if (h->loss == NULL || h->kind == NULL) {
        return ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    }
    int rc = ds_cursor_open(store, 1, &c, e);
    int step = 0;
    while (rc == 0 && h->count < count && (step = ds_cursor_next(c, &row, e)) == 1) {
        h->loss[h->count] = row.answer.loss;
        h->kind[h->count] = kind_of(h, row.tag);
        h->count++;
    }
    ds_cursor_close(c);
    return rc != 0 ? rc : step < 0 ? e->status : 0;
}

static const char *note_of(const ds_run *run)
{
    switch (run->end) {
    case DS_END_TIME:
        return "time is up";
    case DS_END_SIGNAL:
        return "stopped by a signal";
    case DS_END_TARGET:
        return "target reached";
    case DS_END_FAILURES:
    case DS_END_ERROR:
        return "ended by failures";
    default:
        return NULL;
    }
}

static void draw_convergence(ds_run *run)
{
    history h;
    ds_error e = {0, ""};
    char *png = ds_folder_path(run->folder, "convergence.png");
    char *svg = ds_folder_path(run->folder, "convergence.svg");
    memset(&h, 0, sizeof(h));
    int rc = png == NULL || svg == NULL ? ds_fail(&e, DS_EXIT_MEMORY, "out of memory")
                                        : read_history(run->store, run->statistics.count, &h, &e);
    if (rc == 0) {
        ds_convergence c = {.env = run->env_module->id,
                            .opt = run->opt_module->id,
                            .seed = run->options.seed,
                            .count = h.count,
                            .loss = h.loss,
                            .tag = h.kind,
                            .tags = h.kinds,
                            .tag_name = h.names,
                            .budget = run->budget,
                            .target = run->options.target,
                            .note = note_of(run)};
        rc = ds_picture_convergence(png, svg, &c, &e);
    }
    if (rc != 0) {
        complain(&e, "of the convergence");
    }
    free(h.loss);
    free(h.kind);
    free(png);
    free(svg);
}

void ds_run_pictures_final(ds_run *run)
{
    const ds_statistics *l = &run->statistics;
    if (!run->options.pictures || l->count == 0) {
        return;
    }
    draw_convergence(run);
    double episode = l->wall / (double)l->count;
    if (l->best_id != 0 && l->best_id != run->pictures.shown_id &&
        (run->end != DS_END_SIGNAL || episode < CHEAP_SECONDS)) {
        draw_best(run);
    }
}
