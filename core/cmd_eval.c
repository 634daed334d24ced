/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_eval.c - `dshost eval`: one point of an environment: loss, gradient, differences, metrics, trajectory. */
#include "config.h"

#include <diffsim/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "commands.h"
#include "difference.h"
#include "instance.h"
#include "json_text.h"
#include "log.h"
#include "npy.h"
#include "run_options.h"
#include "scenedata.h"

typedef struct request {
    const char *x_spec, *trajectory;
    int gradient, fd, metrics, json;
} request;

typedef struct result {
    uint64_t noise_key;
    double *x, *grad;
    ds_answer answer;
    ds_quotient *fd;     /* n of them, or NULL */
    ds_scenedata *scene; /* or NULL */
} result;

static const char usage[] =
    "usage: dshost eval --env E [OPTIONS]\n"
    "  --env E              environment: id, file name on the plugin path, or path\n"
    "  --set env.K=V        set a parameter; --config F.ini reads them from a file\n"
    "  --x SPEC             FILE.npy, FILE.txt, - (standard input), start (default), center, random:SEED\n"
    "  --gradient           also d loss / d x\n"
    "  --fd                 also finite differences, the step chosen per component\n"
    "  --metrics            also the metrics of every output step\n"
    "  --trajectory F.npz   write the frames as NumPy arrays\n"
    "  --seed N, --threads N\n"
    "  --json               one JSON object with 17 significant digits\n";

/* ---- the point ---- */

static int read_point(const ds_env *env, const char *spec, double *x, ds_error *e)
{
    ds_array a = {0};
    uint64_t n = env->info.n;
    int status = ds_array_read(spec, 0, DS_EXIT_CONFIG, &a, e);
    if (status != 0) {
        return status;
    }
    if (a.size != n) {
        status = ds_fail(e, DS_EXIT_CONFIG, "--x %s: %llu numbers, %s has %llu variables", spec,
                         (unsigned long long)a.size, env->module->id, (unsigned long long)n);
    } else {
        memcpy(x, a.data, n * sizeof *x);
    }
    ds_array_free(&a);
    return status;
}

static int make_point(const ds_env *env, const char *spec, const ds_run_options *run, double *x, ds_error *e)
{
    uint64_t n = env->info.n;
    int status = 0;

    if (spec == NULL && run->x_count > 0) {
        if (run->x_count != n) {
            return ds_fail(e, DS_EXIT_CONFIG, "run.x: %llu numbers, %s has %llu variables",
                           (unsigned long long)run->x_count, env->module->id, (unsigned long long)n);
        }
        memcpy(x, run->x, n * sizeof *x);
    } else if (spec == NULL || strcmp(spec, "start") == 0) {
        memcpy(x, env->x0, n * sizeof *x);
    } else if (strcmp(spec, "center") == 0) {
        for (uint64_t i = 0; i < n; i++) {
            x[i] = 0.5 * (env->lower[i] + env->upper[i]);
        }
    } else if (strncmp(spec, "random:", 7) == 0) {
        int64_t seed;
        if (!ds_parse_int(spec + 7, &seed) || seed < 0) {
            return ds_fail(e, DS_EXIT_USAGE, "--x %s: expected random:SEED with a whole number", spec);
        }
        ds_random r = ds_random_open((uint64_t)seed, "eval.x", 0);
        for (uint64_t i = 0; i < n; i++) {
            x[i] = env->lower[i] + (env->upper[i] - env->lower[i]) * ds_random_uniform(&r);
        }
    } else {
        status = read_point(env, spec, x, e);
    }
    for (uint64_t i = 0; i < n && status == 0; i++) {
        if (!(x[i] >= env->lower[i] && x[i] <= env->upper[i])) {
            status = ds_fail(e, DS_EXIT_CONFIG, "--x: variable %llu is %.17g, outside of its bounds %.17g..%.17g",
                             (unsigned long long)i, x[i], env->lower[i], env->upper[i]);
        }
    }
    return status;
}

/* ---- evaluation ---- */

/* What the differences are taken of. */
typedef struct fd_point {
    ds_env *env;
    uint64_t noise_key;
} fd_point;

static double loss_only(void *ctx, const double *x, int *failed)
{
    const fd_point *p = ctx;
    ds_answer a;
    ds_env_evaluate(p->env, x, p->noise_key, 0, NULL, &a);
    if (a.outcome > DS_EVAL_BAD_GRAD) {
        *failed = 1;
    }
    return a.loss;
}

static int collect_scene(ds_env *env, result *r, ds_error *e)
{
    const ds_scene *ext = ds_env_scene(env);
    if (ext == NULL) {
        return ds_fail(e, DS_EXIT_USAGE, "%s offers no scene: --metrics and --trajectory need the extension %s",
                       env->module->id, DS_EXT_SCENE);
    }
    return ds_scenedata_collect(ext, env->self, NULL, 0, &r->scene, e);
}

static int evaluate(ds_env *env, const request *q, result *r, ds_error *e)
{
    int want_scene = q->metrics || q->trajectory != NULL;
    uint32_t want = (q->gradient ? DS_WANT_GRAD : 0u) | (want_scene ? DS_WANT_SCENE : 0u);
    int status = 0;

    if ((q->gradient || q->fd) && q->gradient && !env->has_gradient) {
        return ds_fail(e, DS_EXIT_USAGE, "%s returns no gradient; --fd gives finite differences", env->module->id);
    }
    ds_env_evaluate(env, r->x, r->noise_key, want, r->grad, &r->answer);
    if (want_scene && r->answer.outcome <= DS_EVAL_INFEASIBLE) {
        status = collect_scene(env, r, e);
    }
    if (status == 0 && q->fd && r->answer.outcome <= DS_EVAL_BAD_GRAD) {
        fd_point point = {env, r->noise_key};
        r->fd = calloc(env->info.n, sizeof *r->fd);
        for (uint64_t i = 0; r->fd != NULL && i < env->info.n; i++) {
            r->fd[i] = ds_difference_component(loss_only, &point, env->info.n, r->x, env->lower, env->upper, i,
                                               r->answer.loss);
        }
    }
    if (status == 0 && q->trajectory != NULL && r->scene != NULL) {
        status = ds_trajectory_write(q->trajectory, r->scene, e);
    }
    return status;
}

/* ---- output ---- */

static const char *grad_kind(uint32_t kind)
{
    static const char *const names[] = {"none", "adjoint", "forward", "fd", "smoothed"};
    return kind < 5 ? names[kind] : "?";
}

static int print_json(const ds_env *env, const request *q, const result *r, ds_error *e)
{
    uint64_t n = env->info.n;
    int has_gradient = q->gradient && r->answer.grad_kind != DS_GRAD_NONE;
    json_t *o = json_object();

    json_object_set_new(o, "env", json_string(env->module->id));
    json_object_set_new(o, "n", json_integer((json_int_t)n));
    json_object_set_new(o, "x", ds_json_reals(r->x, n));
    json_object_set_new(o, "loss", ds_json_real(r->answer.loss));
    json_object_set_new(o, "outcome", json_string(ds_outcome_name(r->answer.outcome)));
    json_object_set_new(o, "gradient", has_gradient ? ds_json_reals(r->grad, n) : json_null());
    json_object_set_new(o, "gradient_kind", json_string(grad_kind(r->answer.grad_kind)));
    if (r->fd != NULL) {
        json_t *value = json_array(), *spread = json_array(), *agreed = json_array();
        for (uint64_t i = 0; i < n; i++) {
            json_array_append_new(value, ds_json_real(r->fd[i].value));
            json_array_append_new(spread, ds_json_real(r->fd[i].spread));
            json_array_append_new(agreed, json_boolean(r->fd[i].agreed));
        }
        json_object_set_new(o, "gradient_fd", value);
        json_object_set_new(o, "gradient_fd_spread", spread);
        json_object_set_new(o, "gradient_fd_agreed", agreed);
    } else if (q->fd) {
        json_object_set_new(o, "gradient_fd", json_null());
    }
    json_object_set_new(o, "steps", json_integer((json_int_t)env->info.steps));
    json_object_set_new(o, "bad_step", r->answer.bad_step >= 0 ? json_integer(r->answer.bad_step) : json_null());
    json_object_set_new(o, "cost_steps", json_integer((json_int_t)r->answer.cost_steps));
    json_object_set_new(o, "wall_s", ds_json_real(r->answer.wall));
    if (r->answer.message[0] != '\0') {
        json_object_set_new(o, "message", json_string(r->answer.message));
    }
    if (q->metrics) {
        json_t *m = json_object();
        for (uint64_t k = 0; r->scene != NULL && k < r->scene->metrics; k++) {
            json_object_set_new(m, r->scene->metric[k].name, ds_json_reals(r->scene->metric[k].values, r->scene->frames));
        }
        json_object_set_new(o, "metrics", m);
    }
    int status = ds_json_write(o, stdout, "standard output", e);
    json_decref(o);
    return status;
}

static void print_text(const ds_env *env, const request *q, const result *r)
{
    uint64_t n = env->info.n;
    printf("env       %s, %llu variables, %llu steps\n", env->module->id, (unsigned long long)n,
           (unsigned long long)env->info.steps);
    printf("outcome   %s%s%s\n", ds_outcome_name(r->answer.outcome), r->answer.message[0] != '\0' ? ": " : "",
           r->answer.message);
    printf("loss      %.17g\n", r->answer.loss);
    printf("time      %.4g s\n", r->answer.wall);
    if (q->gradient || r->fd != NULL) {
        printf("\n%8s %24s", "variable", "x");
        printf("%s%s\n", q->gradient ? "                 gradient" : "",
               r->fd != NULL ? "        finite difference   spread" : "");
        for (uint64_t i = 0; i < n; i++) {
            printf("%8llu %24.17g", (unsigned long long)i, r->x[i]);
            if (q->gradient) {
                printf(" %24.17g", r->grad[i]);
            }
            if (r->fd != NULL) {
                printf(" %24.17g %8.1e%s", r->fd[i].value, r->fd[i].spread,
                       r->fd[i].agreed ? "" : "  (no two steps agree: a switch or noise)");
            }
            printf("\n");
        }
    }
    for (uint64_t k = 0; q->metrics && r->scene != NULL && k < r->scene->metrics; k++) {
        const ds_scenedata_metric *m = &r->scene->metric[k];
        printf("%s%-14s start %-12.6g end %-12.6g %s\n", k == 0 ? "\n" : "", m->name, m->values[0],
               m->values[r->scene->frames - 1], m->unit);
    }
}

/* ---- command ---- */

static int parse(int argc, char **argv, ds_settings *settings, request *q, ds_error *e)
{
    static const struct option options[] = {
        {"env", required_argument, NULL, 'e'},       {"set", required_argument, NULL, 's'},
        {"config", required_argument, NULL, 'c'},    {"x", required_argument, NULL, 'x'},
        {"gradient", no_argument, NULL, 'g'},        {"fd", no_argument, NULL, 'f'},
        {"metrics", no_argument, NULL, 'm'},         {"trajectory", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 'S'},      {"threads", required_argument, NULL, 'T'},
        {"isolation", required_argument, NULL, 'i'}, {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},            {0}};
    int c, status = 0;

    while (status == 0 && (c = ds_arguments_next(argc, argv, "eval", options, e)) != -1) {
        const struct {
            int code;
            const char *key;
        } flags[] = {{'e', "env"}, {'S', "seed"}, {'T', "threads"}, {'i', "isolation"}};
        for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
            if (c == flags[i].code) {
                char origin[32];
                snprintf(origin, sizeof origin, "--%s", flags[i].key);
                status = ds_settings_add(settings, DS_SECTION_RUN, flags[i].key, optarg, origin, NULL, DS_EXIT_USAGE, 2,
                                         e);
            }
        }
        switch (c) {
        case 's':
            status = ds_settings_set(settings, optarg, e);
            break;
        case 'c':
            status = ds_settings_read(settings, optarg, e);
            break;
        case 'x':
            q->x_spec = optarg;
            break;
        case 'g':
            q->gradient = 1;
            break;
        case 'f':
            q->fd = 1;
            break;
        case 'm':
            q->metrics = 1;
            break;
        case 't':
            q->trajectory = optarg;
            break;
        case 'j':
            q->json = 1;
            break;
        case 'h':
            fputs(usage, stdout);
            return -1;
        case '?':
            return e->status;
        default:
            break;
        }
    }
    return status != 0 ? status : ds_arguments_end(argc, argv, "eval", e);
}

static int run(const ds_settings *settings, const ds_run_options *options, const request *q, ds_error *e)
{
    const ds_module *module = NULL;
    ds_env *env = NULL;
    result r = {0};
    int status;

    if (options->env[0] == '\0') {
        return ds_fail(e, DS_EXIT_USAGE, "eval: name an environment with --env (`dshost list` shows them)");
    }
    status = ds_loader_open(options->env, DS_KIND_ENV, &module, e);
    if (status == 0) {
        status = ds_env_open(module, settings, options->seed, options->threads, NULL, &env, e);
    }
    if (status != 0) {
        return status;
    }
    r.noise_key = options->noise_key;
    r.x = calloc(env->info.n, 2 * sizeof *r.x);
    if (r.x == NULL) {
        status = ds_fail(e, DS_EXIT_MEMORY, "out of memory");
    } else {
        r.grad = r.x + env->info.n;
        status = make_point(env, q->x_spec, options, r.x, e);
    }
    if (status == 0) {
        status = evaluate(env, q, &r, e);
    }
    if (status == 0 && q->json) {
        status = print_json(env, q, &r, e);
    } else if (status == 0) {
        print_text(env, q, &r);
    }
    if (status == 0) {
        status = ds_stdout_done(e);
    }
    if (status == 0 && r.answer.outcome > DS_EVAL_BAD_GRAD) {
        status = ds_fail(e, DS_EXIT_ENV, "%s: evaluation failed: %s%s%s", env->module->id,
                         ds_outcome_name(r.answer.outcome), r.answer.message[0] != '\0' ? ": " : "", r.answer.message);
    }
    free(r.x);
    free(r.fd);
    ds_scenedata_free(r.scene);
    ds_env_close(env);
    return status;
}

int ds_cmd_eval(int argc, char **argv)
{
    ds_settings settings = {0};
    ds_run_options options = {0};
    request q = {0};
    ds_error e = {0};
    int status = parse(argc, argv, &settings, &q, &e);

    if (status == 0) {
        status = ds_run_options_make(&settings, &options, &e);
    }
    if (status == 0) {
        status = run(&settings, &options, &q, &e);
    }
    ds_run_options_clear(&options);
    ds_settings_clear(&settings);
    if (status == -1) {
        return DS_EXIT_OK;
    }
    return status != 0 ? ds_command_failed(&e) : DS_EXIT_OK;
}
