/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_eval.c - `dshost eval`: one point of an environment: loss, gradient, finite
 * differences, metrics, trajectory. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json_text.h"
#include "base/log.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "config/run_options.h"
#include "eval/best_picture.h"
#include "eval/eval_channels.h"
#include "difference/finite_difference.h"
#include "evaluate/pool.h"
#include "results/point.h"
#include "results/trajectory.h"
#include "run/run.h"

enum { SHOWN = 12 /* variables in the text, without derivatives */ };

typedef struct request {
    const char *x_spec, *trajectory, *picture;
    int gradient, fd, metrics, channels, json;
} request;

/* The environment and what it answered. */
typedef struct evaluation {
    ds_scene_source source;
    const ds_pool_env *env;
    const char *id;
    double *x, *grad; /* n values each */
    ds_answer answer;
    ds_quotient *fd;    /* n of them, or NULL */
    ds_snapshot *scene; /* or NULL */
    ds_channel_values channels;
    int status; /* of the pool: not 0 once it failed as a whole */
    ds_error error;
} evaluation;

static const char usage[] =
    "usage: dshost eval --env E [OPTIONS]\n"
    "  --env E              environment: id, file name on the plugin path, or path; without it, that of the\n"
    "                       run that --x names, with its parameters\n"
    "  --set env.K=V        set a parameter\n"
    "  --config F.ini       read settings from a file; --set and flags win over it\n"
    "  --x SPEC             numbers (1,2,3), FILE.npy, FILE.txt, - (standard input), start (the default),\n"
    "                       center, random:SEED, or DIR or DIR:ID of a run (its best point, or an "
    "evaluation)\n"
    "  --gradient           also d loss / d x\n"
    "  --fd                 also finite differences, the step chosen per component\n"
    "  --metrics            also the metrics of every output step\n"
    "  --channels           also the values of its channels: residuals, constraints, images ...\n"
    "  --trajectory F.npz   write the frames as NumPy arrays\n"
    "  --picture F.png      draw the episode: start, middle, end, target\n"
    "  --seed N             seed of the environment\n"
    "  --threads N          threads inside one evaluation\n"
    "  --isolation I        process (default) or none: evaluate in a worker process or in this one\n"
    "  --json               one JSON object with 17 significant digits\n"
    "  -h, --help           this text\n";

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

static double loss_at(void *ctx, const double *x, int *failed)
{
    evaluation *v = ctx;
    ds_answer a = {.loss = NAN, .outcome = DS_EVAL_ERROR};
    destination d = {&a, NULL, v->env->info.n};
    if (v->status == 0) {
        v->status = ds_pool_evaluate(v->source.pool, 1, x, 0, 1, keep, &d, &v->error);
    }
    *failed |= v->status != 0 || a.outcome > DS_EVAL_BAD_GRAD;
    return a.loss;
}

static int differences(evaluation *v, ds_error *e)
{
    uint64_t n = v->env->info.n;
    v->fd = calloc(n, sizeof *v->fd);
    if (v->fd == NULL) {
        return ds_no_memory(e);
    }
    for (uint64_t i = 0; i < n; i++) {
        v->fd[i] =
            ds_difference_component(loss_at, v, n, v->x, v->env->lower, v->env->upper, i, v->answer.loss);
    }
    if (v->status != 0) {
        *e = v->error;
    }
    return v->status;
}

static int evaluate(evaluation *v, const request *q, uint64_t seed, ds_error *e)
{
    int want_scene = q->metrics || q->trajectory != NULL;
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
                           "%s offers no scene: --metrics and --trajectory need the extension %s", v->id,
                           DS_EXT_SCENE);
        }
    }
    if (status == 0 && (want_grad || !want_scene)) {
        status = ds_pool_evaluate(v->source.pool, 1, v->x, want_grad ? DS_WANT_GRAD : 0, 1, keep, &d, e);
    }
    if (status == 0 && q->channels) {
        status = ds_channel_values_get(v->source.pool, v->id, v->x, &v->channels, e);
    }
    if (status == 0 && q->fd && v->answer.outcome <= DS_EVAL_BAD_GRAD) {
        status = differences(v, e);
    }
    if (status == 0 && q->trajectory != NULL && v->scene != NULL) {
        status = ds_trajectory_write(q->trajectory, v->scene, e);
    }
    if (status == 0 && q->picture != NULL) {
        const ds_caption caption = {v->id, NULL, seed, v->answer.loss, 0, NULL};
        status = ds_best_picture(&v->source, v->x, ds_pool_noise_key(v->source.pool, 1, 0), 1, &caption,
                                 q->picture, e);
    }
    return status;
}

/* ---- output ---- */

static json_t *fd_json(const ds_quotient *fd, uint64_t n)
{
    json_t *a = json_array();
    for (uint64_t i = 0; i < n; i++) {
        json_array_append_new(a, ds_json_real(fd[i].value));
    }
    return a;
}

/* The keys are a contract with users' scripts: none is ever renamed. */
static int print_json(const evaluation *v, const request *q, ds_error *e)
{
    uint64_t n = v->env->info.n;
    int has_gradient = q->gradient && v->answer.grad_kind != DS_GRAD_NONE;
    json_t *o = json_pack("{s:s*, s:I, s:o, s:o, s:s*, s:o, s:s*}", "env", v->id, "n", (json_int_t)n, "x",
                          ds_json_reals(v->x, n), "loss", ds_json_real(v->answer.loss), "outcome",
                          ds_outcome_name(v->answer.outcome), "gradient",
                          has_gradient ? ds_json_reals(v->grad, n) : json_null(), "gradient_kind",
                          ds_gradient_name(has_gradient ? v->answer.grad_kind : DS_GRAD_NONE));
    if (q->fd) {
        json_object_set_new(o, "gradient_fd", v->fd != NULL ? fd_json(v->fd, n) : json_null());
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
    int status = ds_json_write(o, stdout, "standard output", e);
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
    uint64_t n = v->env->info.n, count = gradient || v->fd != NULL || n <= SHOWN ? n : SHOWN;
    int width = label_width(v, count);
    printf("\nvariable%*s                        x%s%s\n", width, "",
           gradient ? "                 gradient" : "",
           v->fd != NULL ? "        finite difference   spread" : "");
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
        if (v->fd != NULL) {
            printf(" %24.17g %8.1e%s", v->fd[i].value, v->fd[i].spread,
                   v->fd[i].agreed ? "" : "  (no two steps agree: a switch or noise)");
        }
        printf("\n");
    }
    if (count < n) {
        printf("%8s and %" PRIu64 " more; --json prints all\n", "...", n - count);
    }
}

static void print_text(const evaluation *v, const request *q)
{
    const ds_answer *a = &v->answer;
    printf("env       %s, %" PRIu64 " variables, %" PRIu64 " steps\n", v->id, v->env->info.n,
           v->env->info.steps);
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
    if (q->metrics && v->scene != NULL && v->scene->metrics > 0) {
        printf("\nmetric                     step 0                last step\n");
        for (uint64_t k = 0; k < v->scene->metrics; k++) {
            const ds_snapshot_metric *m = &v->scene->metric[k];
            printf("%-16s %16.9g %24.9g %s\n", m->name, m->values[0], m->values[v->scene->frames - 1],
                   m->unit);
        }
    }
}

/* ---- command ---- */

/* Pictures are PNG; a name without an ending says nothing else. */
static int check_picture(const char *path, ds_error *e)
{
    const char *name = path != NULL && strrchr(path, '/') != NULL ? strrchr(path, '/') : path;
    const char *dot = name != NULL ? strrchr(name, '.') : NULL;
    return dot == NULL || strcasecmp(dot, ".png") == 0
               ? 0
               : ds_fail(e, DS_EXIT_USAGE,
                         "--picture %.200s: only PNG is drawn: give a name that ends with .png", path);
}

/* 0, -1 = help was printed, or an exit status. */
static int parse(int argc, char **argv, ds_settings *settings, request *q, ds_error *e)
{
    const ds_flag flags[] = {{"env", .take = ds_run_flag_take},
                             {"set", .take = ds_run_flag_take},
                             {"config", .take = ds_run_flag_take},
                             {"x", .text = &q->x_spec},
                             {"gradient", .set = &q->gradient},
                             {"fd", .set = &q->fd},
                             {"metrics", .set = &q->metrics},
                             {"channels", .set = &q->channels},
                             {"trajectory", .text = &q->trajectory},
                             {"picture", .text = &q->picture},
                             {"seed", .take = ds_run_flag_take},
                             {"threads", .take = ds_run_flag_take},
                             {"isolation", .take = ds_run_flag_take},
                             {"json", .set = &q->json},
                             {"help", .usage = usage},
                             {0}};
    int status = ds_arguments_read(argc, argv, "eval", flags, 0, settings, e);
    return status != 0 ? status : check_picture(q->picture, e);
}

static int open_env(evaluation *v, const ds_settings *settings, const ds_run_options *o, ds_error *e)
{
    ds_pool_config config = ds_pool_config_of(NULL, settings, o);
    config.jobs = 1;
    config.exact = 1;
    config.noise_key = o->noise_key;
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

static int run(const ds_settings *settings, const ds_run_options *options, const request *q, ds_error *e)
{
    evaluation v = {0};
    int status = open_env(&v, settings, options, e);

    status = status != 0 ? status : make_point(&v, q->x_spec, options, e);
    status = status != 0 ? status : evaluate(&v, q, options->seed, e);
    if (status == 0 && q->json) {
        status = print_json(&v, q, e);
    } else if (status == 0) {
        print_text(&v, q);
    }
    status = status != 0 ? status : ds_stdout_done(e);
    if (status == 0 && v.answer.outcome > DS_EVAL_BAD_GRAD) {
        status =
            ds_fail(e, DS_EXIT_ENV, "%s: evaluation failed: %s%s%s", v.id, ds_outcome_name(v.answer.outcome),
                    v.answer.message[0] != '\0' ? ": " : "", v.answer.message);
    }
    free(v.x);
    free(v.fd);
    ds_snapshot_free(v.scene);
    ds_channel_values_clear(&v.channels);
    ds_scene_source_close(&v.source);
    return status;
}

/* A run that --x names brings its environment along, unless there is one already. */
static int adopt_run(const char *x_spec, ds_settings *settings, ds_error *e)
{
    char *folder = NULL;
    uint64_t id = 0;
    int status = 0;
    if (x_spec != NULL && ds_settings_find(settings, DS_SECTION_RUN, "env") == NULL &&
        ds_point_names_run(x_spec, &folder, &id)) {
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
    int status = parse(argc, argv, &settings, &q, e);

    status = status != 0 ? status : adopt_run(q.x_spec, &settings, e);
    status = status != 0 ? status : ds_run_options_make(&settings, &options, e);
    status = status != 0 ? status : run(&settings, &options, &q, e);
    ds_run_options_clear(&options);
    ds_settings_clear(&settings);
    return status;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
