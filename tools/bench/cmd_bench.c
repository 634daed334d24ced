/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_bench.c - `dshost bench`: runs an experiment from a file; and the internal command of its runs. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/json_text.h"
#include "base/log.h"
#include "base/program.h"
#include "base/stop.h"
#include "bench/experiment.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "progress/progress.h"
#include "store/run_folder.h"

typedef struct request {
    const char *path;
    ds_settings flags, sets;
    ds_bench_choice choice;
    char *only; /* all --only flags, joined */
    int dry, retry, json, help;
} request;

static void usage(void)
{
    printf("usage: dshost bench FILE.ini [OPTIONS]\n\nRuns an experiment: every environment with every "
           "optimizer and every seed, each an ordinary run in a folder\nOUT/ENV/OPT/seed-K. Run the same "
           "command again to continue, or after adding to the file.\n\n  --dry-run       print the cells and "
           "an estimate of the time, from a few trial evaluations\n  --jobs N        runs at the same time; "
           "0 = as many as fit on the processors [0]\n  --out DIR       result folder [results/FILE without "
           ".ini]\n  --only PATTERN  only matching cells ENV/OPT, as in 'torus/*'; may be repeated, or "
           "separated by commas\n  --budget N      evaluations of every run, instead of [run] budget\n  "
           "--runs N        runs of every cell, instead of [bench] runs\n  --seed N        seed of the first "
           "run, instead of [bench] seed; without a gap to the seeds in OUT\n  --set run.K=V   another "
           "setting of [run]\n  --skip-missing  leave out environments and optimizers that cannot be "
           "loaded\n  --retry         repeat runs that ended because too many evaluations failed\n  --shard "
           "I/N     only part I of N of the runs, in OUT-IofN; `dshost merge` combines the parts\n  --json   "
           "       print bench.json, or with --dry-run the estimate, as JSON\n\nUnder mpirun, rank 0 keeps "
           "the queue, and every rank works on --jobs runs (1 if not given).\n\nThe file has these "
           "sections:\n\n  [bench]             what to run:\n");
    for (int i = 0; ds_bench_schema[i] != NULL; i++) {
        printf("    %-17s %s", ds_bench_schema[i]->name, ds_bench_schema[i]->doc);
        printf(ds_bench_schema[i]->default_text[0] != '\0' ? " [%s]\n" : "\n",
               ds_bench_schema[i]->default_text);
    }
    printf("  [run]               settings of every run, as in `dshost help run`; jobs = 1 and pictures = "
           "false by default\n  [env A B]           parameters of the environments A and B; plugin = ID or "
           "PATH if the name is not the id\n  [opt A B]           the same for optimizers\n  [sweep env A]   "
           "    key = VALUE | VALUE: a variant A@key=VALUE for each; several keys: every combination\n  "
           "[sweep opt A]\n\nExit status: 0 all runs are done, 4 5 6 7 that of the first run that failed, 2 "
           "usage, 3 the file, 4 a plugin is\nmissing, 75 another process works on OUT, 130 143 stopped by a "
           "signal, everything saved.\n");
}

/* ---- arguments ---- */

static int take_shard(void *to, const char *name, const char *text, ds_error *e)
{
    ds_bench_choice *c = &((request *)to)->choice;
    (void)name;
    char *end = NULL;
    unsigned long i = text[0] >= '1' && text[0] <= '9' ? strtoul(text, &end, 10) : 0;
    const char *rest = end != NULL && *end == '/' ? end + 1 : "";
    unsigned long n = rest[0] >= '1' && rest[0] <= '9' ? strtoul(rest, &end, 10) : 0;
    if (n == 0 || *end != '\0' || i > n || n > 100000) {
        return ds_fail(e, DS_EXIT_USAGE, "bench: --shard %.40s: expected I/N with I from 1 to N, as in 2/8",
                       text);
    }
    c->shard = i - 1;
    c->shards = n;
    return 0;
}

static int take_set(void *to, const char *name, const char *text, ds_error *e)
{
    (void)name;
    if (strncmp(text, "env.", 4) == 0 || strncmp(text, "opt.", 4) == 0) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "bench: --set %.80s: only run.KEY is possible here; put parameters of plugins into "
                       "sections [env NAME] and [opt NAME] of the file",
                       text);
    }
    return ds_settings_set(&((request *)to)->sets, text, e);
}

/* A key of [bench], or the budget, which belongs to [run]. */
static int take_key(void *to, const char *name, const char *value, ds_error *e)
{
    request *q = to;
    return ds_settings_add_flag(strcmp(name, "budget") == 0 ? &q->sets : &q->flags, DS_SECTION_RUN, name,
                                value, e);
}

static int parse(int argc, char **argv, request *q, ds_error *e)
{
    const ds_flag flags[] = {{"out", .take = take_key},     {"jobs", .take = take_key},
                             {"seed", .take = take_key},    {"runs", .take = take_key},
                             {"budget", .take = take_key},  {"set", .take = take_set},
                             {"only", .list = &q->only},    {"skip-missing", .set = &q->choice.skip_missing},
                             {"shard", .take = take_shard}, {"dry-run", .set = &q->dry},
                             {"retry", .set = &q->retry},   {"json", .set = &q->json},
                             {"help", .set = &q->help},     {0}};
    *q = (request){.choice.shards = 1};
    int rc = ds_arguments_read(argc, argv, "bench", flags, 1, q, e);
    if (rc != 0 || q->help) {
        return rc;
    }
    if (optind >= argc) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "bench: name the experiment file: dshost bench FILE.ini [--dry-run]");
    }
    q->path = argv[optind++];
    q->choice.only = q->only;
    const ds_setting *out = ds_settings_find(&q->flags, DS_SECTION_RUN, "out");
    q->choice.out = out != NULL ? out->value : NULL;
    return ds_arguments_end(argc, argv, "bench", e);
}

/* ---- execution ---- */

static void report_failures(const ds_bench_state *s)
{
    for (size_t k = 0; k < s->plan->runs; k++) {
        const ds_bench_run *r = &s->run[k];
        if (r->state == DS_BENCH_FAILED && ds_bench_is_mine(s->plan, k)) {
            char *name = ds_bench_run_name(s->plan, k);
            ds_log(DS_LOG_INFO, NULL, "failed: %s (status %d): %s", name != NULL ? name : "?", r->status,
                   r->error != NULL ? r->error : "no message");
            free(name);
        }
    }
}

/* Prints a row for each cell with finished runs. */
static void print_table(const ds_bench_state *s)
{
    const ds_bench_plan *p = s->plan;
    ds_runs_row *row = calloc(p->cells + 1, sizeof *row);
    double *loss = calloc(p->runs + 1, sizeof *loss);
    size_t rows = 0;
    for (size_t c = 0; row != NULL && loss != NULL && c < p->cells; c++) {
        ds_runs_row *r = &row[rows];
        *r = (ds_runs_row){.env = p->variant[DS_BENCH_ENV][p->cell[c].env].part->name,
                           .opt = p->variant[DS_BENCH_OPT][p->cell[c].opt].part->name,
                           .loss = loss + c * p->seeds};
        for (size_t k = c; k < p->runs; k += p->cells) {
            const ds_bench_run *run = &s->run[k];
            r->planned += (size_t)ds_bench_is_mine(p, k);
            r->failed += run->state == DS_BENCH_FAILED && ds_bench_is_mine(p, k);
            if (run->state == DS_BENCH_DONE && ds_bench_is_mine(p, k)) {
                r->loss[r->done++] = run->best;
                r->wall_s += isfinite(run->wall_s) ? run->wall_s : 0;
            }
        }
        rows += r->done + r->failed > 0;
    }
    if (rows > 0) {
        ds_runs_table(row, rows, p->out);
    }
    free(row);
    free(loss);
}

static int print_end(const ds_bench_state *s, int json, ds_error *e)
{
    size_t left = s->mine - s->done - s->failed;
    report_failures(s);
    print_table(s);
    ds_log(DS_LOG_INFO, NULL, "%zu of %zu runs done, %zu failed%s", s->done, s->mine, s->failed,
           left > 0 ? "; run the same command again to continue" : "");
    if (!json) {
        printf("%s\n", s->plan->out);
        return ds_stdout_done(e);
    }
    char *path = ds_folder_path(s->plan->out, "bench.json");
    json_t *o = path != NULL ? ds_json_read_file(path) : NULL;
    int rc = o == NULL ? ds_fail(e, DS_EXIT_IO, "%s: cannot be read", path != NULL ? path : s->plan->out)
                       : ds_json_write(o, stdout, "standard output", e);
    json_decref(o);
    free(path);
    return rc != 0 ? rc : ds_stdout_done(e);
}

/* Rank 0, or the only process. */
static int lead(const request *q, ds_bench_plan *plan, const ds_ranks *ranks, size_t *lost, ds_error *e)
{
    ds_bench_state state = {0};
    ds_runlock *lock = NULL;
    int rc = ds_bench_out_is_free(plan->out, e);
    rc = rc != 0 ? rc : ds_folder_make(plan->out, e);
    rc = rc != 0 ? rc : ds_runlock_take(plan->out, &lock, e);
    rc = rc != 0 ? rc : ds_bench_plan_join(plan, e);
    rc = rc != 0 ? rc : ds_bench_plan_write(plan, e);
    rc = rc != 0 ? rc : ds_bench_state_open(plan, q->retry, &state, e);
    if (rc == 0) {
        ds_log(DS_LOG_INFO, NULL, "%zu runs in %zu cells, %zu done already -> %s", state.mine,
               ds_bench_wanted_cells(plan), state.done, plan->out);
        rc = ds_bench_loop(&state, ranks, lost, e);
    } else {
        ds_bench_dismiss(ranks);
    }
    if (rc == 0) {
        rc = print_end(&state, q->json, e);
        rc = rc != 0 ? rc : ds_bench_status(&state);
        if (rc == 0 && state.done + state.failed < state.mine) { /* stopped before any of them was at work */
            rc = 128 + atomic_load(&ds_stop_flag);
        }
    }
    ds_bench_state_close(&state);
    ds_runlock_drop(lock);
    return rc;
}

static int dry_run(const request *q, ds_bench_plan *plan, ds_error *e)
{
    ds_bench_state state = {0};
    int rc = ds_bench_plan_join(plan, e); /* fails where the real command would */
    rc = rc != 0 ? rc : ds_bench_state_open(plan, q->retry, &state, e);
    rc = rc != 0 ? rc : ds_bench_dry_run(&state, q->json, e);
    ds_bench_state_close(&state);
    return rc;
}

/* Another .ini file is probably a file of settings for one run: say so, instead of reporting a wrong section.
 */
static void name_other_kind(const char *path, ds_error *e)
{
    ds_settings s = {0};
    ds_error ignored = {0, ""};
    if (e->status == DS_EXIT_CONFIG && ds_settings_read(&s, path, &ignored) == 0 &&
        ds_settings_find(&s, DS_SECTION_RUN, "env") != NULL) {
        ds_fail(e, DS_EXIT_CONFIG,
                "%s: contains settings for one run, not an experiment: use dshost %s --config %s", path,
                s.section[DS_SECTION_LANDSCAPE].count > 0   ? "landscape"
                : s.section[DS_SECTION_GRADIENTS].count > 0 ? "gradients"
                                                            : "run",
                path);
    }
    ds_settings_clear(&s);
}

static int run_bench(const request *q, ds_error *e)
{
    ds_bench_plan plan = {0};
    ds_ranks *ranks = NULL;
    int rc = ds_ranks_given() >= 0 && !q->dry ? ds_ranks_open(&ranks, e) : 0;
    if (rc != 0) {
        return rc;
    }
    size_t lost = 0; /* ranks */
    int follower = ranks != NULL && ranks->rank != 0;
    if (follower) {
        ds_log_set_level(DS_LOG_ERROR); /* rank 0 has warned */
    }
    ds_signals_install();
    rc = ds_bench_plan_make(q->path, &q->flags, &q->sets, &q->choice, &plan, e);
    if (rc != 0) {
        name_other_kind(q->path, e);
    }
    if (rc == 0 && ranks != NULL && ds_bench_int(&plan.file, "jobs") == 0) {
        plan.jobs = 1; /* mpirun -n sets how many run at the same time */
    }
    rc = ds_bench_agree(&plan, ranks, rc, e);
    if (rc == 0) {
        rc = q->dry     ? dry_run(q, &plan, e)
             : follower ? ds_bench_follow(&plan, ranks, &lost, e)
                        : lead(q, &plan, ranks, &lost, e);
    }
    if (rc != 0 && (!follower || lost > 0) && ranks != NULL && e->text[0] != '\0') {
        ds_log(DS_LOG_ERROR, NULL, "%s", e->text); /* before MPI prints that a rank has ended */
        e->text[0] = '\0';
    }
    if (ranks != NULL && lost > 0) { /* leaving would wait for them; everything is written */
        fflush(NULL);
        ranks->abort(ranks, rc);
    } else if (ranks != NULL) {
        ranks->leave(ranks);
    }
    ds_bench_plan_clear(&plan);
    return follower && rc < 0 ? 0 : rc;
}

/* `dshost-bench --run PARENT run ...`: one run of an experiment. */
static int become_run(char **argv, ds_error *e)
{
    char name[] = "dshost", program[PATH_MAX];
    /* When the parent is killed, its runs must end and release their folders. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != (pid_t)strtol(argv[2], NULL, 10)) {
        return DS_EXIT_USAGE;
    }
    if (ds_program_find(name, program, e) != 0) {
        return e->status;
    }
    argv[2] = name;
    execv(program, argv + 2);
    return ds_fail(e, DS_EXIT_IO, "cannot start %.200s: %s", program, strerror(errno));
}

static int command(int argc, char **argv, ds_error *e)
{
    request q;
    if (argc > 3 && strcmp(argv[1], "--run") == 0) {
        return become_run(argv, e);
    }
    int rc = parse(argc, argv, &q, e);
    if (ds_ranks_given() > 0 && (rc != 0 || q.help || q.dry)) {
        rc = 0; /* rank 0 reports the error; a failure here might end it first */
    } else if (rc == 0 && q.help) {
        usage();
    } else if (rc == 0) {
        rc = run_bench(&q, e);
    }
    ds_settings_clear(&q.flags);
    free(q.only);
    ds_settings_clear(&q.sets);
    return ds_stop_status(rc);
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
