/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_picture.c - `dshost picture DIR`: draws best.png, the convergence plot, and best.html, which plays the
 * best episode, from the record of a run. A run starts it for its own pictures. */
#include "config.h"

#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "episode/episode.h"
#include "eval/best_picture.h"
#include "evaluate/trust.h"
#include "plot/plot.h"
#include "results/results.h"
#include "store/run_folder.h"
#include "store/store.h"
#include "view/view_page.h"

enum { KINDS = 7 /* tags with their own colour in the convergence plot */ };

typedef struct request {
    int best, convergence, page; /* what to draw; none set = all */
    pid_t of;                    /* process of the run; 0 = started by a user */
    const char *camera;          /* NULL = the default */
    ds_render_eye eye;           /* if `camera` is set */
    const char *folder;
} request;

typedef struct history {
    double *loss;
    uint8_t *kind;
    uint64_t count, room;
    char name[KINDS][16];
    const char *names[KINDS];
    uint32_t kinds;
} history;

/* A run as its record is now. */
typedef struct record {
    ds_store *store;
    ds_result run; /* env, opt, seed, budget, best_id, best_loss */
    ds_run_options options;
    history history; /* if the convergence is to be drawn */
} record;

/* ---- the record ---- */

static int find_best(void *ctx, uint64_t id, double loss, uint64_t cost_steps, double wall)
{
    ds_result *r = ctx;
    (void)cost_steps;
    (void)wall;
    r->evaluations = id;
    if (loss < r->best_loss) {
        r->best_loss = loss;
        r->best_id = id;
    }
    return 0;
}

static int read_facts(record *r, ds_error *e)
{
    char *budget = NULL;
    int rc = ds_store_get_settings(r->store, &r->run.settings, e);
    rc = rc != 0 ? rc : ds_run_options_make(&r->run.settings, &r->options, e);
    rc = rc != 0 ? rc : ds_store_get(r->store, "env", &r->run.env, e);
    rc = rc != 0 ? rc : ds_store_get(r->store, "opt", &r->run.opt, e);
    rc = rc != 0 ? rc : ds_store_get(r->store, "ended", &r->run.ended, e);
    rc = rc != 0 ? rc : ds_store_get(r->store, "budget", &budget, e);
    if (rc == 0 && (r->run.env == NULL || r->run.opt == NULL || budget == NULL)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: damaged: the record does not name the environment and the optimizer",
                     ds_store_path(r->store));
    }
    r->run.budget = budget != NULL ? strtoull(budget, NULL, 10) : 0;
    r->run.seed = r->options.seed;
    free(budget);
    return rc;
}

/* ---- its history ---- */

static uint8_t kind_of(history *h, const char *tag)
{
    uint32_t k = 0;
    while (k < h->kinds && strcmp(h->name[k], tag) != 0) {
        k++;
    }
    if (k == h->kinds) {
        if (k == KINDS) {
            return KINDS - 1; /* more tags than colours: the last colour stands for the rest */
        }
        strcpy(h->name[k], k == KINDS - 1 ? "other" : tag);
        h->names[k] = h->name[k];
        h->kinds++;
    }
    return (uint8_t)k;
}

static int grow_history(history *h, ds_error *e)
{
    if (h->count < h->room) {
        return 0;
    }
    const uint64_t room = 2 * h->room + 1024;
    double *loss = realloc(h->loss, room * sizeof *loss);
    h->loss = loss != NULL ? loss : h->loss;
    uint8_t *kind = realloc(h->kind, room);
    h->kind = kind != NULL ? kind : h->kind;
    h->room = loss != NULL && kind != NULL ? room : h->room;
    return h->room == room ? 0 : ds_no_memory(e);
}

/* Losses and tags of all evaluations, and the best of them, in one pass through the record. */
static int read_history(record *r, ds_error *e)
{
    history *h = &r->history;
    ds_cursor *c = NULL;
    ds_row row;
    int rc = ds_cursor_open(r->store, 1, &c, e);
    int step = 0;
    while (rc == 0 && (step = ds_cursor_next(c, &row, e)) == 1 && (rc = grow_history(h, e)) == 0) {
        h->loss[h->count] = row.answer.loss;
        h->kind[h->count] = kind_of(h, row.tag);
        find_best(&r->run, ++h->count, row.answer.loss, 0, 0);
    }
    ds_cursor_close(c);
    return rc != 0 ? rc : step < 0 ? e->status : 0;
}

static int open_record(const char *folder, record *r, ds_error *e)
{
    r->run.folder = strdup(folder);
    r->run.best_loss = (double)INFINITY;
    int rc = r->run.folder == NULL ? ds_no_memory(e) : ds_result_store(folder, &r->store, e);
    return rc != 0 ? rc : read_facts(r, e);
}

static void close_record(record *r)
{
    free(r->history.loss);
    free(r->history.kind);
    ds_store_close(r->store, NULL);
    ds_run_options_clear(&r->options);
    ds_result_clear(&r->run);
}

/* ---- convergence ---- */

static const char *note_of(const char *ended)
{
    static const char *const notes[][2] = {{"time", "time is up"},
                                           {"signal", "stopped by a signal"},
                                           {"target", "target reached"},
                                           {"too_many_failures", "ended by failures"},
                                           {"error", "ended by failures"}};
    for (size_t i = 0; ended != NULL && i < sizeof notes / sizeof notes[0]; i++) {
        if (strcmp(ended, notes[i][0]) == 0) {
            return notes[i][1];
        }
    }
    return NULL;
}

static int draw_convergence(const record *r, ds_error *e)
{
    const history *h = &r->history;
    char *png = ds_folder_path(r->run.folder, "convergence.png");
    char *svg = ds_folder_path(r->run.folder, "convergence.svg");
    int rc = png == NULL || svg == NULL ? ds_no_memory(e) : 0;
    if (rc == 0) {
        ds_convergence c = {.env = r->run.env,
                            .opt = r->run.opt,
                            .seed = r->run.seed,
                            .count = h->count,
                            .loss = h->loss,
                            .tag = h->kind,
                            .tags = h->kinds,
                            .tag_name = h->names,
                            .budget = r->run.budget,
                            .target = r->options.target,
                            .note = note_of(r->run.ended)};
        rc = ds_picture_convergence(png, svg, &c, e);
    }
    free(png);
    free(svg);
    return rc;
}

/* ---- best.png and best.html ---- */

static int draw_best(const record *r, const ds_render_eye *eye, const ds_view_episode *episode, ds_error *e)
{
    char *path = ds_folder_path(r->run.folder, "best.png");
    int rc = path == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && episode != NULL && episode->scene != NULL) {
        rc = ds_best_picture_of_episode(&r->run, episode, eye, path, e);
    } else if (rc == 0) {
        rc = ds_best_picture_of_record(&r->run, eye, path, e);
    }
    free(path);
    return rc;
}

/* Plays the best episode. An environment without a scene gets no page, and no message. */
static int write_page(const record *r, const ds_view_episodes *all, ds_error *e)
{
    char *path = ds_folder_path(r->run.folder, "best.html");
    int rc = path == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && all->item->scene != NULL) {
        rc = ds_view_page(path, all, e);
    }
    free(path);
    return rc;
}

/* ---- command ---- */

/* A picture process ends with the run that started it, and leaves the terminal's signals to the run. */
static int follow(pid_t run)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    sigset_t none;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        signal(signals[i], SIG_IGN);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return getppid() == run ? 0 : DS_EXIT_USAGE;
}

static int complain(int rc, const ds_error *e, const char *what)
{
    if (rc != 0) {
        ds_log(DS_LOG_WARNING, NULL, "cannot draw %s: %s", what, e->text);
    }
    return rc;
}

/* Draws what shows the best episode, which is simulated once for both. Prints the evaluation in best.png, for
 * the run that requested it. */
static int draw_episode(const request *q, const record *r, int best, int page)
{
    ds_view_episode *episode = calloc(1, sizeof *episode);
    ds_view_episodes all = {.item = episode, .count = 1};
    ds_error e = {0, ""}, why = {0, ""};
    if (episode == NULL) {
        return complain(ds_no_memory(&e), &e, "best.png");
    }
    int rc = 0, status = 0;
    if (page) {
        status = ds_view_episode_of_run(r->run.folder, r->run.best_id, NULL, DS_KEEP_ALL, episode, &why);
    }
    if (best) {
        rc = complain(draw_best(r, q->camera != NULL ? &q->eye : NULL, status == 0 ? episode : NULL, &e), &e,
                      "best.png");
        if (rc == 0) {
            printf("%" PRIu64 "\n", r->run.best_id);
        }
    }
    if (page && rc == 0) {
        status = status != 0 ? status : write_page(r, &all, &why);
        complain(status, &why, "best.html");
    }
    ds_view_episodes_clear(&all);
    return rc != 0 ? rc : status;
}

static int draw(const request *q)
{
    record r = {0};
    ds_error e = {0, ""};
    const int all = !q->best && !q->convergence && !q->page, curve = all || q->convergence;
    int rc = complain(open_record(q->folder, &r, &e), &e, "the run"), status = rc;
    if (rc == 0 && curve) {
        status = read_history(&r, &e);
        status = status != 0 || r.run.evaluations == 0 ? status : draw_convergence(&r, &e);
        complain(status, &e, "the convergence");
    }
    if (rc == 0 && (!curve || status != 0)) {
        rc = complain(ds_store_scan(r.store, find_best, &r.run, &e), &e, "the run");
    }
    ds_store_close(r.store, NULL); /* its files would stay in the run's folder */
    r.store = NULL;
    if (rc == 0 && r.run.best_id != 0 && (all || q->best || q->page)) {
        const int shown = draw_episode(q, &r, all || q->best, all || q->page);
        status = status != 0 ? status : shown;
    }
    close_record(&r);
    return rc != 0 ? rc : status;
}

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    static const char usage[] =
        "usage: dshost picture DIR [--best] [--convergence] [--page] [--camera AZ,EL[,Z]]\nDraws the "
        "pictures of a run again from "
        "its record, and prints the evaluation that best.png shows.\n  --best         only best.png\n  "
        "--convergence  only convergence.png and convergence.svg\n  --page         only best.html, which "
        "plays the best episode\n  --camera AZ,EL[,Z]\n                 azimuth and elevation from which "
        "best.png sees a scene, in degrees; zoom (1 shows everything)\n  --trust-plugin P\n                 "
        "load this plugin if the run names it "
        "and it is not on the plugin path\n";
    const char *of = NULL;
    const ds_flag flags[] = {{"best", .set = &q->best}, {"convergence", .set = &q->convergence},
                             {"page", .set = &q->page}, {"camera", .text = &q->camera},
                             {"of", .text = &of},       {"trust-plugin", .take = ds_trust_flag_take},
                             {"help", .usage = usage},  {0}};
    int rc = ds_arguments_read(argc, argv, "picture", flags, -1, NULL, e);
    if (rc != 0) {
        return rc;
    }
    q->of = of != NULL ? (pid_t)strtol(of, NULL, 10) : 0;
    if (of != NULL) {
        ds_trust_quiet();
    }
    if (q->camera != NULL && !ds_render_eye_read(q->camera, &q->eye)) {
        return ds_fail(e, DS_EXIT_USAGE, "picture: --camera %.100s: expected " DS_RENDER_EYE, q->camera);
    }
    if (optind >= argc) {
        return ds_fail(e, DS_EXIT_USAGE, "picture: name the result folder: dshost picture DIR");
    }
    q->folder = argv[optind++];
    return ds_arguments_end(argc, argv, "picture", e);
}

static int command(int argc, char **argv, ds_error *e)
{
    request q = {0};
    int rc = parse(argc, argv, &q, e);
    if (rc == 0 && q.of != 0) {
        rc = follow(q.of);
    }
    return rc != 0 ? rc : draw(&q);
}

/* Images follow one another: their memory is kept for the next one, instead of new pages for each. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    enum { KEPT = 1 << 28, STEP = 1 << 22 };
    mallopt(M_MMAP_THRESHOLD, KEPT);
    mallopt(M_TRIM_THRESHOLD, KEPT);
    mallopt(M_TOP_PAD, STEP);
#endif
}

int main(int argc, char **argv)
{
    keep_memory();
    return ds_command_main(argc, argv, command);
}
