/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_eval.c - `dshost eval`: evaluates one point: loss, gradient, finite differences, metrics, trajectory.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "config/run_options.h"
#include "eval/best_picture.h"
#include "eval/eval.h"
#include "evaluate/pool.h"
#include "plot/plot.h"
#include "plot/plot_lines.h"
#include "plot/plot_axes.h"
#include "results/point.h"
#include "results/trajectory.h"
#include "run/run.h"
#include "snapshot/snapshot.h"

/* ---- --fit: how a simulated motion follows a recorded one ---- */

/* Each metric NAME with a counterpart recorded_NAME is drawn with it over time. The prediction begins where
 * the metric held_out becomes 1. */

enum { LINES = 32, NAME = 80 };
static const char prefix[] = "recorded_";

typedef struct curves {
    ds_line line[LINES + 1];
    size_t lines;
    char name[LINES][NAME];
    double low, high;
    char unit[NAME];
} curves;

static const ds_snapshot_metric *find(const ds_snapshot *s, const char *name)
{
    for (uint64_t k = 0; k < s->metrics; k++) {
        if (strcmp(s->metric[k].name, name) == 0) {
            return &s->metric[k];
        }
    }
    return NULL;
}

static void add(curves *c, const ds_snapshot *s, const ds_snapshot_metric *m, const double *time,
                uint32_t series, int style)
{
    ds_line *l = &c->line[c->lines];
    snprintf(c->name[c->lines], NAME, "%.70s", m->name);
    *l = (ds_line){.name = c->name[c->lines],
                   .color = ds_color_series(series, style == DS_LINE_SOLID ? 0.55 : 1),
                   .x = time,
                   .y = m->values,
                   .count = s->frames,
                   .dashed = style};
    c->lines++;
    for (uint64_t k = 0; k < s->frames; k++) {
        c->low = isfinite(m->values[k]) ? fmin(c->low, m->values[k]) : c->low;
        c->high = isfinite(m->values[k]) ? fmax(c->high, m->values[k]) : c->high;
    }
    snprintf(c->unit, sizeof c->unit, "%s", m->unit);
}

/* Collects the pairs of a metric and its recorded counterpart. */
static void add_pairs(curves *c, const ds_snapshot *s, const double *time)
{
    uint32_t series = 0;
    for (uint64_t k = 0; k < s->metrics && c->lines + 2 <= LINES; k++) {
        const ds_snapshot_metric *m = &s->metric[k];
        if (strncmp(m->name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        const ds_snapshot_metric *simulated = find(s, m->name + strlen(prefix));
        if (simulated != NULL) {
            add(c, s, m, time, series, DS_LINE_SOLID);
            add(c, s, simulated, time, series, DS_LINE_DASHED);
            series++;
        }
    }
}

/* The line where the held-out part begins; `at` and `over` are its ends. */
static void add_border(curves *c, const ds_snapshot *s, const double *time, double at[2], double over[2])
{
    const ds_snapshot_metric *held = find(s, "held_out");
    for (uint64_t k = 0; held != NULL && k < s->frames; k++) {
        if (held->values[k] > 0) {
            at[0] = at[1] = time[k];
            over[0] = c->low;
            over[1] = c->high;
            c->line[c->lines++] = (ds_line){.name = "held out",
                                            .color = ds_color_hex(0x555555, 1),
                                            .x = at,
                                            .y = over,
                                            .count = 2,
                                            .dashed = DS_LINE_DOTTED};
            return;
        }
    }
}

/* Writes `path`, .png or .svg. Fails with DS_EXIT_USAGE if the episode has no such metrics. */
static int ds_picture_fit(const char *path, const ds_snapshot *scene, const ds_caption *caption, ds_error *e)
{
    static const char *const svg[] = {"svg", NULL};
    char title[400], subtitle[400], label[NAME + 20];
    double at[2], over[2];
    curves *c = calloc(1, sizeof *c);
    double *time = calloc(scene->frames + 1, sizeof *time);
    int status = c == NULL || time == NULL ? ds_no_memory(e) : 0;
    if (status == 0) {
        c->low = HUGE_VAL;
        c->high = -HUGE_VAL;
        for (uint64_t k = 0; k < scene->frames; k++) {
            time[k] = (double)k * scene->dt;
        }
        add_pairs(c, scene, time);
        status = c->lines > 0
                     ? 0
                     : ds_fail(e, DS_EXIT_USAGE,
                               "--fit: %s has no metric NAME with a counterpart recorded_NAME to draw",
                               caption->env);
    }
    if (status == 0) {
        add_border(c, scene, time, at, over);
        ds_caption_title(title, sizeof title, caption);
        const ds_snapshot_metric *rmse = find(scene, "rmse"), *held = find(scene, "held_out");
        snprintf(subtitle, sizeof subtitle, "simulated (dashed) over recorded, loss %.6g", caption->loss);
        for (uint64_t k = 0; rmse != NULL && held != NULL && k < scene->frames; k++) {
            const int last = k + 1 == scene->frames, turns = !last && held->values[k + 1] > held->values[k];
            if (last || turns) {
                const size_t used = strlen(subtitle);
                snprintf(subtitle + used, sizeof subtitle - used, ", rmse %.4g %s%s", rmse->values[k],
                         rmse->unit, held->values[k] > 0 ? " held out" : "");
            }
        }
        snprintf(label, sizeof label, "%s", c->unit);
        const ds_lines p = {title,   subtitle, "time, s", label, DS_SCALE_LINEAR, DS_SCALE_LINEAR, NAN, NAN,
                            c->line, c->lines, NULL,      0};
        const int vector = ds_text_ends_with(path, svg);
        status = ds_plot_lines(vector ? NULL : path, vector ? path : NULL, &p, e);
    }
    free(time);
    free(c);
    return status;
}

enum { SHOWN = 12 /* variables printed as text without derivatives */ };

typedef struct request {
    const char *x_spec, *trajectory, *picture, *images, *fit, *objects_text;
    uint64_t objects; /* 0: a single point */
    int gradient, fd, metrics, channels, intervals, json;
    ds_policy_request policy;
} request;

/* The environment and the results. */
typedef struct evaluation {
    ds_scene_source source;
    const ds_pool_env *env;
    const char *id;
    double *x, *grad; /* n values each */
    ds_answer answer;
    ds_gradient_table fd;
    ds_snapshot *scene; /* or NULL */
    ds_channel_values channels;
    ds_intervals intervals;
    ds_policy *policy;
    ds_played *played; /* played by the policy, or NULL */
} evaluation;

static const char usage[] =
    "usage: dshost eval --env E [OPTIONS]\n  --env E              environment: id, file name on the plugin "
    "path, or path (default: the environment and\n                       parameters of the run that --x or "
    "--policy names)\n  --set env.K=V        set a parameter\n  --config F.ini       read settings from a "
    "file; --set and flags override it\n  --x SPEC             numbers (1,2,3), FILE.npy, FILE.txt, - "
    "(standard input), start (the default),\n                       center, random:SEED, or DIR or DIR:ID of "
    "a run (its best point, or an evaluation)\n  --policy P           use the actions of a policy as x: the "
    "folder of a run of ppo, sac, apg or shac, or a policy.npz\n  --stochastic         draw the actions at "
    "random with --seed or --seeds (default: use their mean)\n  --seeds S            start and noise of "
    "these seeds: 7, 1,4,9 or 0..9; several give a table of losses\n  --gradient           also print d loss "
    "/ d x\n  --fd                 also print finite differences, and with --gradient compare them with the "
    "gradient\n  --metrics            also print the metrics of every output step\n  --channels           "
    "also print the values of all channels: residuals, constraints, images ...\n  --intervals          also "
    "print how well the residuals determine the variables: 95 % intervals from their\n                       "
    "Jacobian\n  --fit F.svg          draw the simulated over the recorded motion (also F.png)\n  --images "
    "FOLDER      write the image channels (camera and target images) to FOLDER/NAME.png\n  "
    "--objects N          with --images: a data set of N random points (random:SEED, random:SEED + 1, ...): "
    "their images in\n                       FOLDER/SEED/NAME.png, ..., with parameters.csv and "
    "objects.npz\n  --trajectory F    "
    "   write the frames: all as NumPy arrays (F.npz), or metrics and poses as a table (F.csv)\n  --picture "
    "F.png      draw the episode: start, middle, end, target\n  --fix NAME=VALUE     fix a variable at this "
    "value in start, center and random points; may be repeated\n  --seed N             seed of the "
    "environment\n  --threads N          threads inside one evaluation\n  --isolation I        process "
    "(default) or none: evaluate in a worker process or in this one\n  --timeout-s S        time limit of "
    "one evaluation in a worker process [600]; 0 = none\n  --start-timeout-s S  time limit of loading and "
    "creating the environment\n  --memory-mb M        memory limit of the worker process, in MiB [8192]\n  "
    "--portable           compute the same bits on every x86-64 processor\n  --trust-plugin P     load this "
    "plugin (file, folder or id) if a run that --x or --policy names needs it and it is\n                    "
    "   not on the plugin path\n  --json               print one JSON object with 17 significant digits\n  "
    "-h, --help           print this text\nStochastic environments are simulated without noise, except with "
    "--seeds.\nExit status: 0; 5 the evaluation failed; 8 with --gradient --fd the gradient is wrong or not "
    "finite.\n";

/* ---- the point ---- */

static int make_point(const evaluation *v, const char *spec, const ds_run_options *run, ds_error *e)
{
    const ds_point_request q = {spec != NULL ? "--x" : "run.x", v->id, v->env};

    if (spec == NULL && run->x_count > 0) {
        if (run->x_count != v->env->info.n) {
            return ds_point_wrong_count("run.x", v->id, run->x_count, v->env->info.n, e);
        }
        memcpy(v->x, run->x, run->x_count * sizeof *v->x);
        return ds_point_check(&q, v->x, e);
    }
    return ds_point_read(&q, spec != NULL ? spec : "start", v->x, e);
}

/* ---- evaluation ---- */

/* Destination of a result of the pool. */
typedef struct destination {
    ds_answer *answer;
    double *grad; /* or NULL */
    uint64_t n;
} destination;

static int keep(void *ctx, uint64_t i, const ds_answer *answer, const double *grad, const void *out)
{
    const destination *d = ctx;
    (void)i, (void)out;
    *d->answer = *answer;
    if (d->grad != NULL && grad != NULL) {
        memcpy(d->grad, grad, d->n * sizeof *grad);
    }
    return 0;
}

static int evaluate(evaluation *v, const request *q, uint64_t seed, ds_error *e)
{
    int want_scene = q->metrics || q->trajectory != NULL || q->fit != NULL;
    int want_grad = q->gradient && v->env->has_gradient;
    destination d = {&v->answer, want_grad ? v->grad : NULL, v->env->info.n};
    int status = 0;

    if (q->gradient && !want_grad) {
        ds_log(DS_LOG_WARNING, NULL, "%s returns no gradient; --fd computes finite differences instead",
               v->id);
    }
    if (want_scene) {
        status =
            ds_episode_scene(&v->source, v->x, ds_pool_noise_key(v->source.pool, 1, 0),
                             q->trajectory != NULL ? DS_KEEP_ALL : DS_KEEP_METRICS, &v->answer, &v->scene, e);
        if (status == 0 && v->scene == NULL && v->answer.outcome <= DS_EVAL_INFEASIBLE) {
            return ds_fail(e, DS_EXIT_USAGE,
                           "%s offers no scene: --metrics, --trajectory and --fit need the extension %s",
                           v->id, DS_EXT_SCENE);
        }
    }
    if (status == 0 && (want_grad || !want_scene)) {
        status = ds_pool_evaluate(v->source.pool, 1, v->x, want_grad ? DS_WANT_GRAD : 0, 1, keep, &d, e);
    }
    if (status == 0 && (q->channels || q->images != NULL)) {
        status = ds_channel_values_get(v->source.pool, v->id, v->x, &v->channels, e);
    }
    if (status == 0 && q->intervals && v->answer.outcome == DS_EVAL_OK) {
        status = ds_intervals_get(v->source.pool, v->id, v->x, &v->intervals, e);
    }
    if (status == 0 && q->fit != NULL && v->scene != NULL) {
        const ds_caption caption = {.env = v->id, .seed = seed, .loss = v->answer.loss};
        status = ds_picture_fit(q->fit, v->scene, &caption, e);
    }
    if (status == 0 && q->images != NULL) {
        status = ds_eval_images(&v->channels, v->id, q->images, e);
    }
    if (status == 0 && q->fd && v->answer.outcome <= DS_EVAL_BAD_GRAD) {
        int exact = v->answer.grad_kind != DS_GRAD_NONE && v->answer.grad_kind != DS_GRAD_SMOOTHED;
        const double *grad = want_grad && exact ? v->grad : NULL;
        status = ds_gradient_table_make(v->source.pool, v->x, &v->answer, grad, &v->fd, e);
    }
    if (status == 0 && q->trajectory != NULL && v->scene != NULL) {
        status = ds_trajectory_write(q->trajectory, v->scene, e);
    }
    if (status == 0 && q->picture != NULL) {
        const ds_caption caption = {.env = v->id, .seed = seed, .loss = v->answer.loss};
        status = ds_best_picture(&v->source, v->x, ds_pool_noise_key(v->source.pool, 1, 0), &caption, NULL,
                                 q->picture, e);
    }
    return status;
}

/* ---- output ---- */

/* User scripts read these keys: never rename one. */
static int print_json(const evaluation *v, const request *q, ds_error *e)
{
    uint64_t n = v->env->info.n;
    int has_gradient = q->gradient && v->answer.grad_kind != DS_GRAD_NONE;
    json_t *o = json_pack("{s:s*, s:I, s:o, s:o, s:s*, s:o, s:s*}", "env", v->id, "n", (json_int_t)n, "x",
                          json_null(), "loss", ds_json_real(v->answer.loss), "outcome",
                          ds_outcome_name(v->answer.outcome), "gradient", json_null(), "gradient_kind",
                          ds_gradient_name(has_gradient ? v->answer.grad_kind : DS_GRAD_NONE));
    if (v->played != NULL) {
        json_object_set_new(o, "policy", ds_policy_json(&q->policy, v->policy, v->played));
    }
    if (q->fd) {
        ds_gradient_table_json(&v->fd, o);
    }
    ds_json_add_variables(o, v->env->variables, n);
    json_object_set_new(o, "steps", json_integer((json_int_t)v->env->info.steps));
    json_object_set_new(o, "wall_s", ds_json_real(v->answer.wall_s));
    if (q->metrics) {
        json_t *m = json_object();
        for (uint64_t k = 0; v->scene != NULL && k < v->scene->metrics; k++) {
            const ds_snapshot_metric *metric = &v->scene->metric[k];
            json_object_set_new(m, metric->name, ds_json_reals(metric->values, v->scene->frames));
        }
        json_object_set_new(o, "metrics", m);
    }
    if (q->channels) {
        json_object_set_new(o, "channels", ds_channel_values_json(&v->channels));
    }
    if (v->intervals.n > 0) {
        json_object_set_new(o, "intervals", ds_intervals_json(&v->intervals, v->x));
    }
    const ds_json_array arrays[] = {
        {"x", v->x, n}, {"gradient", has_gradient ? v->grad : NULL, n}, {NULL, NULL, 0}};
    int status = ds_json_write_arrays(o, arrays, stdout, "standard output", e);
    json_decref(o);
    return status;
}

/* Width of the labels of the first `count` variables, including the gap; 0 = they have no names. */
static int label_width(const evaluation *v, uint64_t count)
{
    size_t width = 0;
    for (uint64_t i = 0; i < count && v->env->variables != NULL; i++) {
        char label[DS_VARIABLE_LABEL];
        ds_variable_label(v->env->variables, i, label);
        width = strlen(label) + 2 > width ? strlen(label) + 2 : width;
    }
    return (int)width;
}

/* All variables with derivatives, else the first ones. */
static void print_variables(const evaluation *v, int gradient)
{
    uint64_t n = v->env->info.n, count = gradient || v->fd.row != NULL || n <= SHOWN ? n : SHOWN;
    int width = label_width(v, count);
    printf("\nvariable%*s                        x%s%s\n", width, "",
           gradient ? "                 gradient" : "",
           v->fd.row != NULL ? "        finite difference   spread" : "");
    for (uint64_t i = 0; i < count; i++) {
        char label[DS_VARIABLE_LABEL] = "";
        if (width > 0) {
            ds_variable_label(v->env->variables, i, label);
        }
        int gap = width > 0 ? 2 : 0;
        printf("%8" PRIu64 "%*s%-*s %24.17g", i, gap, "", width - gap, label, v->x[i]);
        if (gradient) {
            printf(" %24.17g", v->grad[i]);
        }
        if (v->fd.row != NULL) {
            ds_gradient_table_print_row(&v->fd, i);
        }
        printf("\n");
    }
    if (count < n) {
        printf("%8s and %" PRIu64 " more; --json prints all\n", "...", n - count);
    }
    if (v->fd.row != NULL) {
        ds_gradient_table_print_verdict(&v->fd);
    }
}

/* Prints "-" for an undefined metric, such as the action after the last step. */
static const char *metric_text(double value, char *out, size_t size)
{
    snprintf(out, size, isnan(value) ? "-" : "%.9g", value);
    return out;
}

static void print_head(const evaluation *v, const request *q)
{
    printf("env       %s, %" PRIu64 " variables, %" PRIu64 " steps\n", v->id, v->env->info.n,
           v->env->info.steps);
    if (v->played != NULL) {
        ds_policy_print(&q->policy, v->policy, v->played);
    }
}

/* Output of several episodes. */
static int print_table(const evaluation *v, const request *q, ds_error *e)
{
    if (!q->json) {
        print_head(v, q);
        ds_policy_print_table(&q->policy, v->played);
        return 0;
    }
    json_t *o = ds_policy_table_json(&q->policy, v->played);
    json_object_set_new(o, "env", json_string(v->id));
    json_object_set_new(o, "policy", ds_policy_json(&q->policy, v->policy, v->played));
    int status = ds_json_write(o, stdout, "standard output", e);
    json_decref(o);
    return status;
}

static void print_text(const evaluation *v, const request *q)
{
    const ds_answer *a = &v->answer;
    print_head(v, q);
    printf("outcome   %s%s%s\n", ds_outcome_name(a->outcome), a->message[0] != '\0' ? ": " : "", a->message);
    if (a->bad_step >= 0) {
        printf("bad step  %" PRId64 "\n", a->bad_step);
    }
    printf("loss      %.17g\n", a->loss);
    printf("time      %.4g s\n", a->wall_s);
    print_variables(v, q->gradient && a->grad_kind != DS_GRAD_NONE);
    if (q->channels) {
        ds_channel_values_print(&v->channels);
    }
    if (v->intervals.n > 0) {
        ds_intervals_print(&v->intervals, v->x, v->env->variables);
    }
    if (q->metrics && v->scene != NULL && v->scene->metrics > 0) {
        printf("\nmetric                     step 0                last step\n");
        for (uint64_t k = 0; k < v->scene->metrics; k++) {
            const ds_snapshot_metric *m = &v->scene->metric[k];
            char first[32], last[32];
            printf("%-16s %16s %24s %s\n", m->name, metric_text(m->values[0], first, sizeof first),
                   metric_text(m->values[v->scene->frames - 1], last, sizeof last), m->unit);
        }
    }
}

/* ---- command ---- */

/* The ending of a file name selects the format. */
static int check_files(const request *q, ds_error *e)
{
    static const char *const png[] = {"png", "", NULL}, *const arrays[] = {"npz", "csv", "", NULL};
    static const char *const endings[] = {"svg", "png", "", NULL};
    if (q->fit != NULL && !ds_text_ends_with(q->fit, endings)) {
        return ds_fail(e, DS_EXIT_USAGE, "--fit %.200s: use a file name that ends with .svg or .png", q->fit);
    }
    if (q->picture != NULL && !ds_text_ends_with(q->picture, png)) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "--picture %.200s: only PNG is supported: use a file name that ends with .png",
                       q->picture);
    }
    if (q->trajectory != NULL && !ds_text_ends_with(q->trajectory, arrays)) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "--trajectory %.200s: use a file name that ends with .npz (all as NumPy arrays) or "
                       ".csv (a table of metrics and poses)",
                       q->trajectory);
    }
    return 0;
}

enum { MOST_OBJECTS = 1000000 };

/* A data set has its own points and files. */
static int check_objects(request *q, ds_error *e)
{
    const int other = q->x_spec != NULL || q->policy.spec != NULL || q->gradient || q->fd || q->metrics ||
                      q->channels || q->intervals || q->fit != NULL || q->trajectory != NULL ||
                      q->picture != NULL || q->json;
    if (q->objects_text == NULL) {
        return 0;
    }
    char *end = NULL;
    const double count = strtod(q->objects_text, &end);
    if (end == q->objects_text || *end != '\0' || !(count >= 1 && count <= MOST_OBJECTS) ||
        count != floor(count)) {
        return ds_fail(e, DS_EXIT_USAGE, "--objects %.40s: give a whole number from 1 to %d", q->objects_text,
                       MOST_OBJECTS);
    }
    q->objects = (uint64_t)count;
    if (q->images == NULL || other) {
        return ds_fail(e, DS_EXIT_USAGE,
                       q->images == NULL ? "--objects: name the folder of the data set with --images FOLDER"
                                         : "--objects draws its own points and writes files only: combine it "
                                           "with --images, --seed and settings of the environment alone");
    }
    return 0;
}

/* A policy defines the point, and several episodes are not a point. */
static int check_policy(const request *q, ds_error *e)
{
    const int single = q->gradient || q->fd || q->metrics || q->channels || q->intervals || q->fit != NULL ||
                       q->trajectory != NULL || q->images != NULL || q->picture != NULL;
    if (q->policy.spec != NULL && q->x_spec != NULL) {
        return ds_fail(e, DS_EXIT_USAGE, "--x and --policy both define x: give only one of them");
    }
    if (q->policy.seeds > 1 && single) {
        return ds_fail(
            e, DS_EXIT_USAGE,
            "--seeds %.100s: several episodes print a table of losses; --gradient, --fd, --metrics, "
            "--channels, --intervals, --fit, --images, --trajectory and --picture need a single seed",
            q->policy.seed_spec);
    }
    return 0;
}

/* 0, -1 = help was printed, or an exit status. */
static int parse(int argc, char **argv, ds_settings *settings, request *q, ds_error *e)
{
    const ds_flag flags[] = {{"env", .take = ds_run_flag_take},
                             {"set", .take = ds_run_flag_take},
                             {"config", .take = ds_run_flag_take},
                             {"x", .text = &q->x_spec},
                             {"policy", .text = &q->policy.spec},
                             {"stochastic", .set = &q->policy.stochastic},
                             {"seeds", .list = &q->policy.seed_spec},
                             {"gradient", .set = &q->gradient},
                             {"fd", .set = &q->fd},
                             {"metrics", .set = &q->metrics},
                             {"channels", .set = &q->channels},
                             {"intervals", .set = &q->intervals},
                             {"fit", .text = &q->fit},
                             {"images", .text = &q->images},
                             {"objects", .text = &q->objects_text},
                             {"trajectory", .text = &q->trajectory},
                             {"picture", .text = &q->picture},
                             {"fix", .take = ds_run_flag_take},
                             {"seed", .take = ds_run_flag_take},
                             {"timeout_s", .take = ds_run_flag_take},
                             {"start_timeout_s", .take = ds_run_flag_take},
                             {"memory_mb", .take = ds_run_flag_take},
                             {"threads", .take = ds_run_flag_take},
                             {"isolation", .take = ds_run_flag_take},
                             {"portable", .take = ds_run_flag_take, .is_switch = 1},
                             {"trust-plugin", .take = ds_trust_flag_take},
                             {"json", .set = &q->json},
                             {"help", .usage = usage},
                             {0}};
    int status = ds_arguments_read(argc, argv, "eval", flags, 0, settings, e);
    status = status != 0
                 ? status
                 : ds_run_sets_check(settings, "eval", 1u << DS_SECTION_RUN | 1u << DS_SECTION_ENV, e);
    ds_file_named(q->fit);
    ds_file_named(q->trajectory);
    ds_file_named(q->picture);
    status = status != 0 ? status : check_files(q, e);
    status = status != 0 ? status : check_objects(q, e);
    status = status != 0 ? status : ds_policy_request_check(&q->policy, e);
    return status != 0 ? status : check_policy(q, e);
}

static int open_env(evaluation *v, const request *q, const ds_settings *settings, const ds_run_options *o,
                    ds_error *e)
{
    ds_pool_config config = ds_pool_config_of(NULL, settings, o);
    config.jobs = 1;
    config.exact = 1;
    config.noise_key = q->policy.seeds == 1 ? ds_noise_key_of(q->policy.seed[0], 1) : o->noise_key;
    if (o->env[0] == '\0') {
        return ds_fail(e, DS_EXIT_USAGE,
                       "eval: name an environment with --env (`dshost list` prints them), or a run with --x");
    }
    int status = ds_pool_find_env(&config, o->env, e);
    if (status == 0) {
        v->id = config.module->id;
        status = ds_pool_open(&config, &v->source.pool, e);
    }
    if (status == 0) {
        v->env = ds_pool_env_of(v->source.pool);
        v->x = calloc(v->env->info.n, 2 * sizeof *v->x);
        status = v->x != NULL ? 0 : ds_no_memory(e);
        v->grad = v->x != NULL ? v->x + v->env->info.n : NULL;
    }
    return status;
}

/* Evaluates the point and prints the results; v->x is set. */
static int show_point(evaluation *v, const ds_run_options *options, const request *q, ds_error *e)
{
    int status = evaluate(v, q, options->seed, e);
    if (status == 0 && q->json) {
        status = print_json(v, q, e);
    } else if (status == 0) {
        print_text(v, q);
    }
    return status;
}

static int run(const ds_settings *settings, const ds_run_options *options, const request *q,
               ds_policy *policy, ds_error *e)
{
    evaluation v = {.policy = policy};
    int status = open_env(&v, q, settings, options, e);

    if (status == 0 && q->objects > 0) {
        const ds_objects set = {v.id, q->images, options->seed, q->objects};
        status = ds_eval_objects(v.source.pool, &set, e);
        free(v.x);
        ds_scene_source_close(&v.source);
        return status;
    }
    if (status == 0 && q->policy.spec != NULL) {
        status =
            ds_policy_episodes(&q->policy, v.source.pool, v.id, options->seed, policy, &v.played, v.x, e);
    } else if (status == 0) {
        status = make_point(&v, q->x_spec, options, e);
    }
    if (status == 0) {
        status = q->policy.seeds > 1 ? print_table(&v, q, e) : show_point(&v, options, q, e);
    }
    status = status != 0 ? status : ds_stdout_done(e);
    if (status == 0 && q->policy.seeds > 1) {
        status = ds_policy_table_status(&q->policy, v.id, v.played, e);
    }
    if (status == 0 && v.answer.outcome > DS_EVAL_BAD_GRAD) {
        status =
            ds_fail(e, DS_EXIT_ENV, "%s: evaluation failed: %s%s%s", v.id, ds_outcome_name(v.answer.outcome),
                    v.answer.message[0] != '\0' ? ": " : "", v.answer.message);
    }
    if (status == 0 && q->gradient && q->fd && v.answer.outcome == DS_EVAL_BAD_GRAD) {
        status = ds_fail(e, DS_EXIT_CHECK, "%s: no gradient to compare with finite differences: %s", v.id,
                         v.answer.message[0] != '\0' ? v.answer.message : ds_outcome_name(v.answer.outcome));
    }
    status = status != 0 ? status : ds_gradient_table_status(&v.fd, v.id, e);
    free(v.x);
    free(v.played);
    ds_gradient_table_clear(&v.fd);
    ds_snapshot_free(v.scene);
    ds_channel_values_clear(&v.channels);
    ds_intervals_clear(&v.intervals);
    ds_scene_source_close(&v.source);
    return status;
}

/* A run named by --x also selects the environment, unless one is given. */
static int adopt_run(const char *x_spec, ds_settings *settings, ds_error *e)
{
    char *folder = NULL;
    uint64_t id = 0;
    if (x_spec == NULL || ds_settings_find(settings, DS_SECTION_RUN, "env") != NULL) {
        return 0;
    }
    int status = ds_point_check_run("--x", x_spec, e);
    if (status == 0 && ds_point_names_run(x_spec, &folder, &id)) {
        status = ds_provenance_load(folder, settings, e);
        free(folder);
    }
    return status;
}

static int command(int argc, char **argv, ds_error *e)
{
    ds_settings settings = {0};
    ds_run_options options = {0};
    request q = {0};
    ds_policy policy = {0};
    int status = parse(argc, argv, &settings, &q, e);

    status = status != 0 ? status : adopt_run(q.x_spec, &settings, e);
    status = status == 0 && q.policy.spec != NULL ? ds_policy_open(&q.policy, &settings, &policy, e) : status;
    status = status != 0 ? status : ds_portable_settle(&settings, e);
    status = status != 0 ? status : ds_run_options_make(&settings, &options, e);
    status = status != 0 ? status : run(&settings, &options, &q, &policy, e);
    ds_policy_free(&policy);
    ds_policy_request_clear(&q.policy);
    ds_run_options_clear(&options);
    ds_settings_clear(&settings);
    return status;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
