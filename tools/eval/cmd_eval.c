/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_eval.c - `dshost eval`: one point of an environment: loss, gradient, finite
 * differences, metrics, trajectory. */
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
#include "eval/eval_channels.h"
#include "eval/eval_fit.h"
#include "eval/eval_gradient.h"
#include "eval/eval_images.h"
#include "eval/eval_intervals.h"
#include "eval/eval_policy.h"
#include "evaluate/pool.h"
#include "results/point.h"
#include "results/trajectory.h"
#include "run/run.h"

enum { SHOWN = 12 /* variables in the text, without derivatives */ };

typedef struct request {
    const char *x_spec, *trajectory, *picture, *images, *fit;
    int gradient, fd, metrics, channels, intervals, json;
    ds_policy_request policy;
} request;

/* The environment and what it answered. */
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
    ds_played *played; /* by the policy, or NULL */
} evaluation;

static const char usage[] =
    "usage: dshost eval --env E [OPTIONS]\n"
    "  --env E              environment: id, file name on the plugin path, or path; without it, that of the\n"
    "                       run that --x or --policy names, with its parameters\n"
    "  --set env.K=V        set a parameter\n"
    "  --config F.ini       read settings from a file; --set and flags win over it\n"
    "  --x SPEC             numbers (1,2,3), FILE.npy, FILE.txt, - (standard input), start (the default),\n"
    "                       center, random:SEED, or DIR or DIR:ID of a run (its best point, or an "
    "evaluation)\n"
    "  --policy P           x are the actions of a policy: the folder of a run of ppo, sac, apg or "
    "shac, or a policy.npz\n"
    "  --stochastic         actions are drawn, with random numbers of --seed or --seeds; else the mean is "
    "taken\n"
    "  --seeds S            start and noise of these seeds: 7, 1,4,9 or 0..9; several give a table of "
    "losses\n"
    "  --gradient           also d loss / d x\n"
    "  --fd                 also finite differences, steps chosen per component; with --gradient: do they "
    "agree?\n"
    "  --metrics            also the metrics of every output step\n"
    "  --channels           also the values of its channels: residuals, constraints, images ...\n"
    "  --intervals          also how well the residuals determine the variables: intervals of 95 %, from "
    "their\n"
    "                       Jacobian\n"
    "  --fit F.svg          draw what is simulated over what was recorded (also F.png)\n"
    "  --images FOLDER      write its image channels, what cameras see and are to see, to FOLDER/NAME.png\n"
    "  --trajectory F       write the frames: all as NumPy arrays (F.npz), or metrics and poses as a "
    "table (F.csv)\n"
    "  --picture F.png      draw the episode: start, middle, end, target\n"
    "  --fix NAME=VALUE     a variable keeps this value in start, center and random points; may be repeated\n"
    "  --seed N             seed of the environment\n"
    "  --threads N          threads inside one evaluation\n"
    "  --isolation I        process (default) or none: evaluate in a worker process or in this one\n"
    "  --timeout-s S        time limit of one evaluation in a worker process [600]; 0 = none\n"
    "  --start-timeout-s S  time limit of loading and creating the environment\n"
    "  --memory-mb M        memory limit of the worker process, in MiB [8192]\n"
    "  --portable           the same bits on every x86-64 processor\n"
    "  --trust-plugin P     run this plugin where a run that --x or --policy names has it and it is not on "
    "the\n"
    "                       plugin path: its file, a folder, or an id\n"
    "  --json               one JSON object with 17 significant digits\n"
    "  -h, --help           this text\n"
    "Stochastic environments are simulated without noise, unless --seeds names one.\n"
    "Exit status: 0, 5 the evaluation failed, 8 --gradient --fd: differences say that the gradient is "
    "wrong,\n"
    "or it is not finite.\n";

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

/* Where an answer of the pool goes. */
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
        ds_log(DS_LOG_WARNING, NULL, "%s returns no gradient; --fd gives finite differences", v->id);
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
        status = ds_best_picture(&v->source, v->x, ds_pool_noise_key(v->source.pool, 1, 0), &caption,
                                 q->picture, e);
    }
    return status;
}

/* ---- output ---- */

/* The keys are a contract with users' scripts: none is ever renamed. */
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

/* Width of the labels of the first `count` variables, with the gap before them; 0 = they have no names. */
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

/* All of them with derivatives, else the first ones. */
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

/* "-" where a metric is undefined, as that of an action after the last step. */
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

/* Several episodes. */
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

/* What is written is what the name says; one without an ending says nothing else. */
static int check_files(const request *q, ds_error *e)
{
    static const char *const png[] = {"png", "", NULL}, *const arrays[] = {"npz", "csv", "", NULL};
    static const char *const curves[] = {"svg", "png", "", NULL};
    if (q->fit != NULL && !ds_text_ends_with(q->fit, curves)) {
        return ds_fail(e, DS_EXIT_USAGE, "--fit %.200s: give a name that ends with .svg or .png", q->fit);
    }
    if (q->picture != NULL && !ds_text_ends_with(q->picture, png)) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "--picture %.200s: only PNG is drawn: give a name that ends with .png", q->picture);
    }
    if (q->trajectory != NULL && !ds_text_ends_with(q->trajectory, arrays)) {
        return ds_fail(
            e, DS_EXIT_USAGE,
            "--trajectory %.200s: give a name that ends with .npz (all as NumPy arrays) or .csv (a table "
            "of metrics and poses)",
            q->trajectory);
    }
    return 0;
}

/* A policy makes the point, and several episodes are no point. */
static int check_policy(const request *q, ds_error *e)
{
    const int single = q->gradient || q->fd || q->metrics || q->channels || q->intervals || q->fit != NULL ||
                       q->trajectory != NULL || q->images != NULL || q->picture != NULL;
    if (q->policy.spec != NULL && q->x_spec != NULL) {
        return ds_fail(e, DS_EXIT_USAGE, "--x and --policy: give one of them, both say what x is");
    }
    if (q->policy.seeds > 1 && single) {
        return ds_fail(
            e, DS_EXIT_USAGE,
            "--seeds %.100s: several episodes give a table of losses; --gradient, --fd, --metrics, "
            "--channels, --intervals, --fit, --images, --trajectory and --picture show one: give a single "
            "seed",
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
                       "eval: name an environment with --env (`dshost list` shows them), or a run with --x");
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

/* Evaluates the point and shows what came out; v->x is set. */
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
        status = ds_fail(e, DS_EXIT_CHECK, "%s: there is no gradient to hold against differences: %s", v.id,
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

/* A run that --x names brings its environment along, unless there is one already. */
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
