/* SPDX-License-Identifier: Apache-2.0 */
/* bench_basins.c - where least squares end from each start of a grid: one search of lm against pbh on the
 * double pendulum, after the figure of E. Heiden et al., "NeuralSim" (ICRA 2021). A run of dshost takes 30 ms
 * for its folder alone; here both plugins run in one process, with the points and losses of such a run.
 * Prints shares, and writes images and a table: DS_TOP_BUILD=. DS_PLUGIN_PATH=plugins bench/bench_basins
 * FOLDER [SIDE [SCENE | METHOD...]] */
#define _POSIX_C_SOURCE 200809L
#include "bench/bench.h"
#include "host.h"

#include <diffsim/ext/channel.h>
#include <diffsim/helper/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plot/plot_map.h"

enum { METHODS = 6, SIDE = 100, SETTINGS = 3, OPTIONS = 8 };

/* Starts are the centres of the cells of a grid over two variables, the others as suggested; or all uniform
 * in the box. */
static const struct scene {
    const char *name, *title, *settings[SETTINGS];
    uint64_t axis[2];
    int uniform;
    double samples; /* compared, two angles each */
    double found;   /* a search that ends below this error in rad has found the constants */
    uint64_t budget;
    double limit;
} scenes[] = {
    {"lengths", "lengths of both arms", {"env.variant=lengths"}, {0, 1}, 0, 51, 3.2e-3, 400, 1e-3},
    {"rates",
     "seven constants of synthetic: both rates at the start",
     {"env.variant=synthetic", "env.wrap=false"},
     {3, 4},
     0,
     200,
     0.02,
     6000,
     0.005},
    {"box",
     "seven constants of synthetic, uniform starts",
     {"env.variant=synthetic", "env.wrap=false"},
     {0, 0},
     1,
     200,
     0.02,
     6000,
     0.005},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

/* One search of at most 60 steps, without and with damping towards bounds; such searches one after the other,
 * from uniform points but for the first; and basin hopping. The last two end below the limit of the scene, or
 * with its budget. Then the first and the last with the loss as one residual, as the program of the paper has
 * it, where there are few variables. */
static const struct method {
    const char *name, *plugin, *settings[OPTIONS];
    int once, limited; /* ends with its first search; ends by itself below cost_limit */
    int scalar;
} methods[METHODS] = {
    {"lm", "optimizers/lm", {"iterations=60"}, 1, 0, 0},
    {"lm-damp", "optimizers/lm", {"iterations=60", "bounds=damp"}, 1, 0, 0},
    {"lm-again", "optimizers/lm", {"iterations=60"}, 0, 0, 0},
    {"pbh", "optimizers/pbh", {"workers=8", "initial_std=1"}, 0, 1, 0},
    {"lm-scalar", "optimizers/lm", {"iterations=60", "residuals=scalar"}, 1, 0, 1},
    {"pbh-scalar", "optimizers/pbh", {"workers=8", "initial_std=1", "residuals=scalar"}, 0, 1, 1},
};

/* ---- one run in this process ---- */

typedef struct objective {
    ds_env *env;
    ds_objective table;
    ds_objective_channels channels;
    uint64_t used, budget;
    int once;
    double limit, best;
} objective;

/* One evaluation of the environment evaluates rows `from` to `to` of a table (one row with a gradient): they
 * have the same x and differ in the vector that multiplies the Jacobian. */
static ds_status answer(const objective *o, const ds_rows *rows, const ds_results *results, uint64_t from,
                        uint64_t to)
{
    const uint64_t n = o->env->info.n;
    ds_eval_query query[DS_MAX_QUERIES], *list[DS_MAX_QUERIES];
    uint64_t count = 0;
    for (uint64_t i = from; i < to; i++) {
        for (uint64_t k = 0; k < rows->queries; k++, count++) {
            const ds_query *q = rows->query[k];
            const ds_reply *r = results->reply[k];
            query[count] = (ds_eval_query){.op = q->op,
                                           .channel = q->channel,
                                           .v = q->v != NULL ? q->v + i * q->v_stride : NULL,
                                           .out = (char *)r->out + i * r->stride,
                                           .bytes = r->bytes};
            list[count] = &query[count];
        }
    }
    ds_eval io = {.bad_step = -1,
                  .want = rows->want,
                  .n = n,
                  .x = rows->x + from * rows->stride,
                  .grad = (rows->want & DS_WANT_GRAD) != 0 ? results->grad + from * results->stride : NULL,
                  .queries = count,
                  .query = list};
    const ds_status status = ds_eval_call(o->env->vt, o->env->self, &io);
    for (uint64_t i = from; i < to; i++) {
        results->loss[i] = io.outcome == DS_EVAL_OK ? io.loss : HUGE_VAL;
        if (results->outcome) {
            results->outcome[i] = io.outcome;
        }
    }
    return status;
}

static ds_status evaluate(const ds_objective *table, const ds_rows *rows, const ds_label *label,
                          const ds_results *results, uint64_t *done)
{
    objective *o = table->ctx;
    const size_t bytes = rows->n * sizeof *rows->x;
    uint64_t from = 0;
    *done = 0;
    if ((o->once && label != NULL && label->group > 1) || o->best < o->limit) {
        return DS_STOPPED;
    }
    while (from < rows->count && o->used < o->budget) {
        const double *x = rows->x + from * rows->stride;
        uint64_t to = from + 1;
        while (to < rows->count && rows->queries > 0 && (to - from + 1) * rows->queries <= DS_MAX_QUERIES &&
               o->used + (to - from) < o->budget && memcmp(rows->x + to * rows->stride, x, bytes) == 0) {
            to++;
        }
        const ds_status status = answer(o, rows, results, from, to);
        if (status != DS_OK) {
            return status;
        }
        o->best = fmin(o->best, results->loss[from]);
        o->used += to - from;
        *done = from = to;
    }
    return from < rows->count ? DS_STOPPED : DS_OK;
}

static const void *extension(const ds_objective *table, const char *id)
{
    const objective *o = table->ctx;
    return strcmp(id, DS_EXT_OBJECTIVE_CHANNELS) == 0 ? &o->channels : NULL;
}

/* A run of the plugin from a start: the best loss; adds its evaluations to *used. */
static double search(fake_host *optimizer, ds_env *env, const struct scene *s, const struct method *m,
                     uint64_t seed, const double *start, uint64_t *used)
{
    objective o = {.env = env,
                   .budget = m->once ? UINT64_MAX : s->budget,
                   .once = m->once,
                   .best = HUGE_VAL,
                   .limit = m->once || m->limited ? -HUGE_VAL : s->limit};
    o.channels = (ds_objective_channels){
        .struct_size = sizeof o.channels, .count = env->channels.count, .channel = env->channels.list};
    o.table = (ds_objective){
        .struct_size = sizeof o.table, .ctx = &o, .evaluate = evaluate, .get_extension = extension};
    const ds_problem problem = {.struct_size = sizeof problem,
                                .has_gradient = 1,
                                .n = env->info.n,
                                .lower = env->lower,
                                .upper = env->upper,
                                .x0 = start,
                                .budget = o.budget,
                                .target = -HUGE_VAL,
                                .loss_floor = env->info.loss_floor};
    void *self = NULL;
    optimizer->services.host.seed = seed;
    if (optimizer->plugin->optimizer->create(&optimizer->services.host, &problem, &self) != DS_OK) {
        fprintf(stderr, "%s: %s\n", m->name, optimizer->error);
        exit(1);
    }
    optimizer->plugin->optimizer->run(self, &o.table);
    optimizer->plugin->optimizer->destroy(self);
    *used += o.used;
    return o.best;
}

/* ---- a scene ---- */

/* Start k: a cell of the grid, row by row from below, or a uniform point. */
static void start_of(const struct scene *s, const ds_env *env, uint64_t side, uint64_t k, double *x)
{
    ds_random random = ds_random_open(1, "starts", k);
    for (uint64_t i = 0; i < env->info.n; i++) {
        const double share = s->uniform        ? ds_random_uniform(&random)
                             : i == s->axis[0] ? ((double)(k % side) + 0.5) / (double)side
                             : i == s->axis[1] ? ((double)(k / side) + 0.5) / (double)side
                                               : -1;
        x[i] = share < 0 ? env->x0[i] : env->lower[i] + share * (env->upper[i] - env->lower[i]);
    }
}

/* Share of `found` among `count`, and the ends of its 95 % interval after Wilson. */
static void share_of(uint64_t found, uint64_t count, double out[3])
{
    const double z = 1.959963984540054, n = (double)count, p = (double)found / n;
    const double middle = p + z * z / (2 * n), half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    out[0] = p;
    out[1] = (middle - half) / (1 + z * z / n);
    out[2] = (middle + half) / (1 + z * z / n);
}

static int draw(const struct scene *s, const struct method *m, const ds_env *env, uint64_t side,
                const double *error, const double share[3], const char *folder, ds_error *e)
{
    static const char *const label[] = {"inertia 1", "inertia 2", "moment", "rate 1 (rad/s)",
                                        "rate 2 (rad/s)"};
    const uint64_t a = s->axis[0], b = s->axis[1];
    const double x_half = (env->upper[a] - env->lower[a]) / (double)(2 * side),
                 y_half = (env->upper[b] - env->lower[b]) / (double)(2 * side);
    char title[200], found[80], png[4200], svg[4200];
    const char *const line[] = {found};
    snprintf(title, sizeof title, "%s: where %s ends", s->title, m->name);
    snprintf(found, sizeof found, "found from\t%.1f %% (%.1f to %.1f)", 100 * share[0], 100 * share[1],
             100 * share[2]);
    snprintf(png, sizeof png, "%s/%s-%s.png", folder, s->name, m->name);
    snprintf(svg, sizeof svg, "%s/%s-%s.svg", folder, s->name, m->name);
    const ds_map map = {.title = title,
                        .subtitle = "error of the angles at the end of a search, by its start",
                        .x_label = s->axis[0] > 0 ? label[a] : "length 1 (m)",
                        .y_label = s->axis[0] > 0 ? label[b] : "length 2 (m)",
                        .value_label = "error (rad)",
                        .columns = side,
                        .rows = side,
                        .x_low = env->lower[a] + x_half,
                        .x_high = env->upper[a] - x_half,
                        .y_low = env->lower[b] + y_half,
                        .y_high = env->upper[b] - y_half,
                        .value = error,
                        .kind = DS_SCALE_LOG,
                        .low = 1e-3,
                        .high = 3,
                        .best = {NAN, NAN},
                        .line = line,
                        .lines = 1};
    return ds_plot_map(png, svg, &map, e);
}

static int write_table(const struct scene *s, const ds_env *env, uint64_t side, double *const error[METHODS],
                       const char *folder, ds_error *e)
{
    char path[4200];
    double x[32];
    snprintf(path, sizeof path, "%s/%s.csv", folder, s->name);
    FILE *f = fopen(path, "w");
    for (uint64_t k = 0; f != NULL && k <= side * side; k++) {
        if (k > 0) {
            start_of(s, env, side, k - 1, x);
        }
        for (uint64_t i = 0; i < env->info.n; i++) {
            fprintf(f, k == 0 ? "%sx%.0f" : "%s%.6g", i > 0 ? "," : "", k == 0 ? (double)i : x[i]);
        }
        for (int i = 0; i < METHODS; i++) {
            if (error[i] != NULL && k == 0) {
                fprintf(f, ",%s", methods[i].name);
            } else if (error[i] != NULL) {
                fprintf(f, ",%.6g", error[i][k - 1]);
            }
        }
        fputc('\n', f);
    }
    return f != NULL && fclose(f) == 0 ? 0 : ds_fail(e, DS_EXIT_IO, "%s: cannot be written", path);
}

/* All starts of a scene by one method: errors in rad, a line of what came out, a picture. */
static int try_method(const struct scene *s, const struct method *m, ds_env *env, uint64_t side,
                      double *error, const char *folder, ds_error *e)
{
    const char *settings[OPTIONS + 1] = {NULL};
    const uint64_t starts = side * side;
    uint64_t used = 0, found = 0, given = 0;
    double share[3], x[32];
    char limit[40];
    fake_host optimizer;
    for (; m->settings[given] != NULL; given++) {
        settings[given] = m->settings[given];
    }
    snprintf(limit, sizeof limit, "cost_limit=%g", s->limit);
    settings[given] = m->limited ? limit : NULL;
    fake_host_open(&optimizer, m->plugin, 0, settings);
    const double before = bench_cpu_s();
    for (uint64_t k = 0; k < starts; k++) {
        start_of(s, env, side, k, x);
        const double loss = search(&optimizer, env, s, m, 1000 + k, x, &used);
        error[k] = sqrt(loss / (2 * s->samples));
        found += error[k] < s->found;
    }
    const double seconds = bench_cpu_s() - before;
    fake_host_close(&optimizer);
    share_of(found, starts, share);
    printf(
        "%-8s %-10s %6llu of %6llu starts, %5.1f %% (%.1f to %.1f), %7.1f evaluations and %.2f ms a start\n",
        s->name, m->name, (unsigned long long)found, (unsigned long long)starts, 100 * share[0],
        100 * share[1], 100 * share[2], (double)used / (double)starts, 1e3 * seconds / (double)starts);
    fflush(stdout);
    return s->uniform ? 0 : draw(s, m, env, side, error, share, folder, e);
}

static int try_scene(const struct scene *s, uint32_t chosen, uint64_t side, const char *folder, ds_error *e)
{
    ds_settings settings = {0};
    const ds_module *module = NULL;
    ds_env *env = NULL;
    double *error[METHODS] = {NULL};
    int rc = ds_loader_open("double_pendulum", DS_KIND_ENV, &module, e);
    for (int i = 0; rc == 0 && i < SETTINGS && s->settings[i] != NULL; i++) {
        rc = ds_settings_set(&settings, s->settings[i], e);
    }
    rc = rc != 0 ? rc : ds_env_open(module, &settings, 0, 1, NULL, &env, e);
    for (int i = 0; rc == 0 && i < METHODS; i++) {
        if ((chosen >> i & 1) == 0 || (methods[i].scalar && env->info.n > 2)) {
            continue;
        }
        error[i] = malloc(side * side * sizeof **error);
        rc = error[i] == NULL ? ds_fail(e, DS_EXIT_MEMORY, "out of memory")
                              : try_method(s, &methods[i], env, side, error[i], folder, e);
    }
    rc = rc != 0 ? rc : write_table(s, env, side, error, folder, e);
    for (int i = 0; i < METHODS; i++) {
        free(error[i]);
    }
    ds_env_close(env);
    ds_settings_clear(&settings);
    return rc;
}

int main(int argc, char **argv)
{
    const int side = argc > 2 ? atoi(argv[2]) : SIDE;
    uint32_t scene = 0, method = 0; /* bits of those that are named */
    int rc = 0, known = argc >= 2 && side >= 2 && side <= 1000;
    ds_error e = {0};
    for (int k = 3; k < argc && known; k++) {
        const uint32_t before = scene + method;
        for (int i = 0; i < SCENES; i++) {
            scene |= (uint32_t)(strcmp(argv[k], scenes[i].name) == 0) << i;
        }
        for (int i = 0; i < METHODS; i++) {
            method |= (uint32_t)(strcmp(argv[k], methods[i].name) == 0) << i;
        }
        known = scene + method > before;
    }
    if (!known) {
        fprintf(stderr, "usage: bench_basins FOLDER [SIDE [lengths | rates | box | lm | lm-damp | lm-again | "
                        "pbh | lm-scalar | pbh-scalar ...]]\n");
        return 2;
    }
    for (int i = 0; rc == 0 && i < SCENES; i++) {
        rc = scene == 0 || (scene >> i & 1) != 0
                 ? try_scene(&scenes[i], method != 0 ? method : UINT32_MAX, (uint64_t)side, argv[1], &e)
                 : 0;
    }
    if (rc != 0) {
        fprintf(stderr, "%s\n", e.text);
    }
    return rc;
}
