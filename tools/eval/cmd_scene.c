/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_scene.c - `dshost scene FILE`: checks a scene file by making its environment, draws its start, target
 * and tools, and measures what an episode costs. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "config/run_options.h"
#include "evaluate/pool.h"
#include "render/picture.h"
#include "run/session.h"
#include "snapshot/episode_scene.h"

/* Episodes of up to this many steps are measured whole; of longer ones this many steps first, and then the
 * whole if that promises to end within the time. */
enum { FEW_STEPS = 4 };
static const double patience_s = 5.0;
static const double still = 1e-9; /* of the loss: a smaller change is rounding */

typedef struct request {
    const char *picture, *camera;
    ds_render_eye eye; /* if `camera` is set */
    int json;
} request;

typedef struct findings {
    const char *file, *env;
    uint64_t n, steps;
    double dt;
    ds_named_variable *variables; /* n */
    ds_snapshot *scene;           /* its first frame is the start */
    double loss, plain_s, gradient_s, memory_bytes;
    int has_gradient, estimated, failed; /* failed: the episode at the start point, with `message` */
    int flat;                            /* there the gradient is zero, but for rounding */
    char message[400];
} findings;

static const char *const role_names[] = {[DS_ROLE_MATERIAL] = "material",
                                         [DS_ROLE_TOOL] = "tool",
                                         [DS_ROLE_FIXED] = "fixed",
                                         [DS_ROLE_TARGET] = "target"};
static const char *const shape_names[] = {
    [DS_BODY_POINTS] = "particles",  [DS_BODY_SPHERE] = "sphere", [DS_BODY_CAPSULE] = "capsule",
    [DS_BODY_CYLINDER] = "cylinder", [DS_BODY_TORUS] = "torus",   [DS_BODY_BOX] = "box",
    [DS_BODY_MESH] = "mesh",         [DS_BODY_LINES] = "lines"};

/* ---- the environment ---- */

/* Sections and keys of the environments whose files are not the usual ones. What both have marks soft: the
 * sections of cloth decide first. Tools, which only particles have, have some of the keys, too. */
static const char *const of_cloth[] = {"[cloth", "[recording", "[pan", "[anchor", NULL};
static const char *const of_soft[] = {"[region",  "[hold",   "[drive",   "[force",    "[ground",
                                      "[muscle",  "[marker", "[control", "[obstacle", "substeps",
                                      "duration", "cells",   NULL};
enum { PARTICLES, SOFT, CLOTH, MOST_INCLUDES = 8 };
static const char *const env_names[] = {"particles", "soft", "cloth"};

static int begins_with(const char *line, const char *const *words)
{
    for (; *words != NULL; words++) {
        const size_t n = strlen(*words);
        if (strncmp(line, *words, n) == 0 && strchr(line[0] == '[' ? " ]" : " =", line[n]) != NULL) {
            return 1;
        }
    }
    return 0;
}

/* The path of an included file, which the line names relative to the file `path`. */
static char *included(const char *path, const char *line)
{
    const char *value = strchr(line, '=') + 1, *slash = strrchr(path, '/');
    value += strspn(value, " \t");
    const int n = (int)strcspn(value, " \t;\r\n"),
              folder = slash == NULL || *value == '/' ? 0 : (int)(slash - path) + 1;
    char *out = NULL;
    return asprintf(&out, "%.*s%.*s", folder, path, n, value) < 0 ? NULL : out;
}

/* Which environment a file is for, by its sections; of a file that cannot be read the usual one, which
 * reports it. */
static int env_of(const char *path, int includes)
{
    FILE *in = fopen(path, "rb");
    char *line = NULL;
    size_t room = 0;
    int env = PARTICLES, tool = 0;
    while (in != NULL && env != CLOTH && getline(&line, &room, in) > 0) {
        const char *at = line + strspn(line, " \t\xEF\xBB\xBF");
        tool = at[0] == '[' ? begins_with(at, (const char *const[]){"[tool", NULL}) : tool;
        if (begins_with(at, of_cloth)) {
            env = CLOTH;
        } else if (!tool && begins_with(at, of_soft)) {
            env = SOFT;
        } else if (begins_with(at, (const char *const[]){"include", NULL}) && strchr(at, '=') != NULL &&
                   includes < MOST_INCLUDES) {
            char *other = included(path, at);
            const int its = other != NULL ? env_of(other, includes + 1) : PARTICLES;
            env = its > env ? its : env;
            free(other);
        }
    }
    free(line);
    if (in != NULL) {
        fclose(in);
    }
    return env;
}

/* ---- measuring ---- */

static int is_parameter(const ds_env_facts *env, const char *name)
{
    for (size_t i = 0; i < ds_params_count(env->params); i++) {
        if (strcmp(ds_params_info(env->params, i)->name, name) == 0) {
            return 1;
        }
    }
    return 0;
}

/* One evaluation. */
typedef struct kept {
    const ds_env_facts *env;
    ds_answer answer;
    double slope; /* the most that the gradient changes the loss by the whole range of a variable */
} kept;

static int keep(void *ctx, uint64_t i, const ds_answer *answer, const double *grad, const void *out)
{
    kept *k = ctx;
    (void)i, (void)out;
    k->answer = *answer;
    k->slope = 0.0;
    for (uint64_t j = 0; grad != NULL && j < k->env->info.n; j++) {
        k->slope = fmax(k->slope, fabs(grad[j]) * (k->env->upper[j] - k->env->lower[j]));
    }
    return 0;
}

static int open_pool(const ds_settings *settings, const ds_run_options *o, const char *env, ds_pool **out,
                     ds_error *e)
{
    ds_pool_config config = ds_pool_config_of(NULL, settings, o);
    config.jobs = 1;
    config.exact = 1;
    const int rc = ds_pool_find_env(&config, env, e);
    return rc != 0 ? rc : ds_pool_open(&config, out, e);
}

static int fails(findings *f, const ds_answer *a)
{
    f->failed = a->outcome > DS_EVAL_BAD_GRAD;
    if (f->failed) {
        snprintf(f->message, sizeof f->message, "%s%s%.300s", ds_outcome_name(a->outcome),
                 a->message[0] != '\0' ? ": " : "", a->message);
    }
    return f->failed;
}

/* Evaluates the start `times` times with and without gradient, and keeps the last times: the first evaluation
 * of a worker also takes its memory. `share` of the episode is simulated. */
static int measure(findings *f, ds_pool *pool, int times, double share, ds_error *e)
{
    const ds_env_facts *env = ds_pool_env_of(pool);
    kept plain = {.env = env}, gradient = plain;
    int rc = 0;
    for (int k = 0; rc == 0 && !f->failed && k < times; k++) {
        rc = ds_pool_evaluate(pool, 1, env->x0, 0, 1, keep, &plain, e);
        if (rc == 0 && !fails(f, &plain.answer) && env->has_gradient) {
            rc = ds_pool_evaluate(pool, 1, env->x0, DS_WANT_GRAD, 1, keep, &gradient, e);
        }
    }
    f->loss = plain.answer.loss;
    f->plain_s = plain.answer.wall_s / share;
    f->gradient_s = gradient.answer.wall_s / share;
    f->has_gradient = env->has_gradient;
    f->estimated = share < 1.0;
    f->flat = f->has_gradient && !f->estimated && gradient.slope < still * fabs(f->loss);
    return rc;
}

static int look(findings *f, ds_pool *pool, ds_error *e)
{
    ds_scene_source source = {.pool = pool};
    const ds_env_facts *env = ds_pool_env_of(pool);
    ds_answer a = {0};
    int rc = ds_episode_scene(&source, env->x0, ds_pool_noise_key(pool, 1, 0), DS_KEEP_FEW, &a, &f->scene, e);
    if (rc == 0 && f->scene == NULL && !fails(f, &a)) {
        rc = ds_fail(e, DS_EXIT_USAGE, "scene: %s offers no scene to draw", f->env);
    }
    if (f->scene != NULL) {
        f->scene->kept = 1;
    }
    rc = f->failed ? 0 : rc; /* the failure of the episode says more */
    ds_scene_source_close(&source);
    return rc;
}

static int note_facts(findings *f, const ds_env_facts *env, ds_error *e)
{
    f->n = env->info.n;
    f->steps = env->info.steps;
    f->dt = env->info.dt;
    f->variables = env->variables != NULL ? calloc(f->n + 1, sizeof *f->variables) : NULL;
    if (env->variables != NULL && f->variables == NULL) {
        return ds_no_memory(e);
    }
    for (uint64_t i = 0; f->variables != NULL && i < f->n; i++) {
        f->variables[i] = env->variables[i];
    }
    return 0;
}

static int add(ds_settings *s, const char *key, const char *value, ds_error *e)
{
    return ds_settings_add(s, DS_SECTION_ENV, key, value, "dshost scene", NULL, DS_EXIT_USAGE, DS_LAYER_FLAG,
                           e);
}

/* Measures whole episodes, or a few steps of long ones; then simulates a little in a worker of its own, to
 * draw the start. */
static int find_out(findings *f, const ds_settings *settings, const ds_run_options *o, ds_error *e)
{
    ds_pool *whole = NULL, *few = NULL, *drawn = NULL;
    ds_settings cut = {0};
    char steps[24];
    int rc = open_pool(settings, o, f->env, &whole, e);
    const ds_env_facts *env = rc == 0 ? ds_pool_env_of(whole) : NULL;
    rc = rc != 0 ? rc : note_facts(f, env, e);
    rc = rc != 0 ? rc : ds_settings_copy(&cut, settings, e);
    const int is_long = rc == 0 && f->steps > FEW_STEPS && is_parameter(env, "steps");
    if (is_long) {
        snprintf(steps, sizeof steps, "%d", FEW_STEPS);
        rc = add(&cut, "steps", steps, e);
        rc = rc == 0 && is_parameter(env, "segments") ? add(&cut, "segments", "1", e) : rc;
        rc = rc != 0 ? rc : open_pool(&cut, o, f->env, &few, e);
        rc = rc != 0 ? rc : measure(f, few, 2, (double)FEW_STEPS / (double)f->steps, e);
    }
    const int patient = !is_long || fmax(f->gradient_s, 2.0 * f->plain_s) < patience_s;
    if (rc == 0 && !f->failed && patient) {
        rc = measure(f, whole, is_long ? 1 : 2, 1.0, e);
    }
    rc = rc == 0 && is_parameter(env, "outline") ? add(&cut, "outline", "true", e) : rc;
    ds_pool_close(few);
    ds_pool_close(whole);
    struct rusage use; /* the largest worker so far */
    getrusage(o->isolation == DS_ISOLATION_NONE ? RUSAGE_SELF : RUSAGE_CHILDREN, &use);
    f->memory_bytes = 1024.0 * (double)use.ru_maxrss;
    rc = rc != 0 ? rc : open_pool(&cut, o, f->env, &drawn, e);
    rc = rc != 0 ? rc : look(f, drawn, e);
    ds_settings_clear(&cut);
    return rc;
}

/* ---- output ---- */

/* The loss of a whole episode, if one was simulated. */
static double whole_loss(const findings *f)
{
    return f->failed || f->estimated ? (double)NAN : f->loss;
}

/* Extent of a body at the start: lower x y z, upper x y z. Returns 0 without finite positions. */
static int extent(const ds_snapshot_body *b, double box[6])
{
    for (int d = 0; d < 3; d++) {
        box[d] = HUGE_VAL;
        box[3 + d] = -HUGE_VAL;
    }
    for (uint64_t i = 0; i < b->count; i++) {
        for (int d = 0; d < 3; d++) {
            const double at = b->data[i * b->width + (uint64_t)d];
            box[d] = fmin(box[d], at);
            box[3 + d] = fmax(box[3 + d], at);
        }
    }
    return isfinite(box[0]) && isfinite(box[3]);
}

static void print_body(const ds_snapshot_body *b)
{
    double box[6];
    const char *shape = shape_names[b->shape < sizeof shape_names / sizeof *shape_names ? b->shape : 0];
    const char *role = role_names[b->role < sizeof role_names / sizeof *role_names ? b->role : 0];
    printf("%-9s %-16s ", role, b->name);
    if (b->shape == DS_BODY_POINTS) {
        printf("%" PRIu64 " particles", b->count);
    } else if (b->shape == DS_BODY_MESH) {
        printf("mesh of %" PRIu64 " triangles", b->index_count / 3);
    } else {
        printf("%s", shape != NULL ? shape : "shape");
    }
    if (extent(b, box) && (b->width == 7 && b->count == 1)) {
        printf(" at %.3g %.3g %.3g", box[0], box[1], box[2]);
    } else if (extent(b, box)) {
        printf(", x %.3g to %.3g, y %.3g to %.3g, z %.3g to %.3g", box[0], box[3], box[1], box[4], box[2],
               box[5]);
    }
    printf("\n");
}

/* How many variables each group has, and the names of those without a group, in their order. */
static void print_groups(const findings *f)
{
    const char *between = ":";
    printf("variables %" PRIu64, f->n);
    for (uint64_t i = 0, k; f->variables != NULL && i < f->n; i = k) {
        const char *group = f->variables[i].group;
        k = i;
        while (k < f->n && strcmp(f->variables[k].group, group) == 0) {
            k++;
        }
        if (group[0] != '\0') {
            printf("%s %s %" PRIu64, between, group, k - i);
            between = ",";
        } else if (f->variables[i].name[0] != '\0') {
            for (uint64_t j = i; j < k; j++) {
                printf("%s %s", between, f->variables[j].name);
                between = ",";
            }
        }
    }
    printf("\n");
}

static int is_bounds(const ds_snapshot_body *b)
{
    return b->shape == DS_BODY_LINES && strncmp(b->name, "bounds_", 7) == 0;
}

static int print_text(const findings *f, const request *q, ds_error *e)
{
    const char *about = f->estimated ? "about " : "";
    printf("%s: a scene of %s\n", f->file, f->env);
    for (uint64_t b = 0; f->scene != NULL && b < f->scene->bodies; b++) {
        if (!is_bounds(&f->scene->body[b])) {
            print_body(&f->scene->body[b]);
        }
    }
    print_groups(f);
    printf("episode   %" PRIu64 " steps of %.4g s: %.4g s\n", f->steps, f->dt, (double)f->steps * f->dt);
    if (!f->failed) {
        printf("time      %s%.2g s", about, f->plain_s);
        if (f->has_gradient) {
            printf(", with gradient %s%.2g s", about, f->gradient_s);
        }
        printf("%s\nmemory    %s%.0f MB\n", f->estimated ? ", from the first steps" : "",
               f->estimated ? "at least " : "", 1e-6 * f->memory_bytes);
    }
    if (!f->failed && !f->estimated) {
        printf("loss      %.8g at the start\n", f->loss);
    }
    if (q->picture != NULL && f->scene != NULL) {
        printf("picture   %s\n", q->picture);
    }
    return ds_stdout_done(e);
}

static json_t *body_json(const ds_snapshot_body *b)
{
    double box[6];
    const char *shape = b->shape < sizeof shape_names / sizeof *shape_names ? shape_names[b->shape] : NULL;
    const char *role = b->role < sizeof role_names / sizeof *role_names ? role_names[b->role] : NULL;
    json_t *o = json_pack("{s:s, s:s*, s:s*, s:I}", "name", b->name, "role", role, "shape", shape, "count",
                          (json_int_t)b->count);
    if (extent(b, box)) {
        json_object_set_new(o, "extent", ds_json_reals(box, 6));
    }
    return o;
}

/* User scripts read these keys: never rename one. */
static int print_json(const findings *f, const request *q, ds_error *e)
{
    json_t *bodies = json_array();
    for (uint64_t b = 0; f->scene != NULL && b < f->scene->bodies; b++) {
        if (!is_bounds(&f->scene->body[b])) {
            json_array_append_new(bodies, body_json(&f->scene->body[b]));
        }
    }
    json_t *o = json_pack("{s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:b, s:s*, s:o}", "file", f->file,
                          "env", f->env, "variables", (json_int_t)f->n, "steps", (json_int_t)f->steps, "dt",
                          ds_json_real(f->dt), "loss", ds_json_real(whole_loss(f)), "loss_s",
                          ds_json_real(f->plain_s), "gradient_s", ds_json_real(f->gradient_s), "memory_bytes",
                          ds_json_real(f->memory_bytes), "estimated", f->estimated, "picture", q->picture,
                          "bodies", bodies);
    if (o == NULL) {
        return ds_no_memory(e);
    }
    const ds_json_array none[] = {{NULL, NULL, 0}};
    const int rc = ds_json_write_arrays(o, none, stdout, "standard output", e);
    json_decref(o);
    return rc != 0 ? rc : ds_stdout_done(e);
}

static int draw(const findings *f, const request *q, ds_error *e)
{
    char text[200];
    if (q->picture == NULL || f->scene == NULL) {
        return 0;
    }
    snprintf(text, sizeof text, "%" PRIu64 " variables, %" PRIu64 " steps", f->n, f->steps);
    const char *name = strrchr(f->file, '/');
    const ds_caption caption = {.env = name != NULL ? name + 1 : f->file, .text = text, .no_loss = 1};
    return ds_picture_best(q->picture, f->scene, 0, &caption, q->camera != NULL ? &q->eye : NULL, e);
}

/* ---- the command ---- */

static int parse(int argc, char **argv, ds_settings *settings, request *q, const char **file, ds_error *e)
{
    static const char usage[] =
        "usage: dshost scene FILE.ini [OPTIONS]\nChecks a scene file: draws its start, target and tools, and "
        "measures what an episode costs.\n  -o, --out F.png      the picture\n  --camera AZ,EL[,Z]   its "
        "azimuth and elevation in degrees, and zoom\n  --env E              the "
        "environment of the scene [by its sections]\n  --set env.K=V        set a parameter\n  --memory-mb M "
        "      "
        " "
        "memory limit of the worker process, in MiB [8192]\n  --threads N          threads inside one "
        "evaluation\n  --json               print one JSON object\n  -h, --help           print this text\n"
        "Exit status: 0; 3 a mistake in the file, printed with its line; 5 the episode at the start fails.\n";
    const ds_flag flags[] = {{"out", .text = &q->picture, .letter = 'o'},
                             {"camera", .text = &q->camera},
                             {"env", .take = ds_run_flag_take},
                             {"set", .take = ds_run_flag_take},
                             {"memory_mb", .take = ds_run_flag_take},
                             {"threads", .take = ds_run_flag_take},
                             {"json", .set = &q->json},
                             {"help", .usage = usage},
                             {0}};
    int rc = ds_arguments_read(argc, argv, "scene", flags, 1, settings, e);
    if (rc == 0 && optind >= argc) {
        rc = ds_fail(e, DS_EXIT_USAGE, "scene: name the scene file, as in `dshost scene my.ini -o my.png`");
    }
    if (rc == 0) {
        *file = argv[optind++];
        rc = ds_arguments_end(argc, argv, "scene", e);
    }
    if (rc == 0 && q->camera != NULL && !ds_render_eye_read(q->camera, &q->eye)) {
        rc = ds_fail(e, DS_EXIT_USAGE, "scene: --camera %.100s: expected " DS_RENDER_EYE, q->camera);
    }
    rc = rc != 0 ? rc : ds_run_sets_check(settings, "scene", 1u << DS_SECTION_RUN | 1u << DS_SECTION_ENV, e);
    if (rc == 0 && q->picture != NULL && !ds_text_ends_with(q->picture, (const char *const[]){"png", NULL})) {
        rc = ds_fail(e, DS_EXIT_USAGE, "scene: -o %.200s: use a file name that ends with .png", q->picture);
    }
    ds_file_named(q->picture);
    return rc;
}

static int command(int argc, char **argv, ds_error *e)
{
    ds_settings settings = {0};
    ds_run_options options = {0};
    request q = {0};
    findings f = {0};
    int rc = parse(argc, argv, &settings, &q, &f.file, e);
    rc = rc != 0 ? rc : add(&settings, "scene", f.file, e);
    rc = rc != 0 ? rc : ds_run_options_make(&settings, &options, e);
    if (rc == 0) {
        f.env = options.env[0] != '\0' ? options.env : env_names[env_of(f.file, 0)];
        rc = find_out(&f, &settings, &options, e);
    }
    rc = rc != 0 ? rc : draw(&f, &q, e);
    if (rc == 0 && f.flat) {
        ds_log(DS_LOG_WARNING, NULL,
               "%s: at the start no variable changes the loss (the gradient is zero): let the episode last "
               "until "
               "they matter, or start nearer",
               f.file);
    }
    if (rc == 0) {
        rc = q.json ? print_json(&f, &q, e) : print_text(&f, &q, e);
    }
    if (rc == 0 && f.failed) {
        rc = ds_fail(e, DS_EXIT_ENV, "%s: the episode at the start fails: %s", f.file, f.message);
    }
    free(f.variables);
    ds_snapshot_free(f.scene);
    ds_run_options_clear(&options);
    ds_settings_clear(&settings);
    return rc;
}

int main(int argc, char **argv)
{
    return ds_command_main(argc, argv, command);
}
