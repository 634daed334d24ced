/* SPDX-License-Identifier: Apache-2.0 */
/* gradients_run.c - runs the command: the cells, an environment for each combination of parameters, and the
 * results. */
#include "config.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "landscape/gradients.h"
#include "run/session.h"
#include "store/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CELLS_MAX = 1000000, LEAST_REFERENCE = 40 };
#define USUAL_SIGMA 0.1

/* ---- which cells ---- */

static void add_dim(ds_gradients *g, const ds_sweep *sweep, uint64_t count)
{
    g->dim[g->dims++] = (ds_dim){sweep, count};
    g->cells *= count;
}

/* Parameters of the environment vary most slowly, because each value needs new processes; then what the long
 * run depends on. */
static void add_sweeps(ds_gradients *g, int what)
{
    for (int k = 0; k < g->wish.sweeps; k++) {
        if (g->wish.sweep[k].what == what) {
            add_dim(g, &g->wish.sweep[k], g->wish.sweep[k].count);
        }
    }
}

static int lay_out(ds_gradients *g, ds_error *e)
{
    g->cells = 1;
    add_sweeps(g, DS_SWEEP_ENV);
    if (g->wish.slice) {
        add_dim(g, NULL, g->wish.plan.count[0]);
    }
    add_sweeps(g, DS_SWEEP_SIGMA);
    add_sweeps(g, DS_SWEEP_SAMPLES);
    add_sweeps(g, DS_SWEEP_GAMMA);
    if (g->cells > CELLS_MAX) {
        return ds_fail(e, DS_EXIT_USAGE,
                       "gradients: %llu estimates are more than %d: use fewer values or --grid points",
                       (unsigned long long)g->cells, CELLS_MAX);
    }
    g->cell = calloc(g->cells, sizeof *g->cell);
    return g->cell != NULL ? 0 : ds_no_memory(e);
}

/* ---- the environment of a combination of parameters ---- */

static void close_env(ds_gradients *g)
{
    ds_pool_close(g->pool);
    ds_slice_free(&g->place);
    ds_settings_clear(&g->varied);
    free(g->x);
    g->pool = NULL;
    g->x = NULL;
}

/* Chooses the noise: on the variables, or on the actions of a policy. */
static int choose_noise(ds_gradients *g, ds_error *e)
{
    int offered = g->env->score.noise > 0;
    g->actions = g->wish.noise == DS_NOISE_ACTIONS || (g->wish.noise == DS_NOISE_AUTO && offered);
    g->has_gradient = g->env->has_gradient;
    if (g->actions && !offered) {
        return ds_gradients_refuse(
            g->settings, "noise", "this environment has no noise on actions (extension " DS_EXT_SCORE ")", e);
    }
    if (g->actions && g->wish.antithetic) {
        return ds_gradients_refuse(
            g->settings, "antithetic",
            "noise on actions is drawn by the environment, not in pairs (--noise variables)", e);
    }
    return 0;
}

/* Coordinates at which the slice leaves the bounds. */
static void find_ends(const ds_slice *s, double *low, double *high)
{
    *low = -INFINITY;
    *high = INFINITY;
    for (uint64_t k = 0; k < s->n; k++) {
        const double d = s->dir[0][k];
        if (d < 0 || d > 0) {
            const double a = (s->lower[k] - s->origin[k]) / d, b = (s->upper[k] - s->origin[k]) / d;
            *low = fmax(*low, fmin(a, b));
            *high = fmin(*high, fmax(a, b));
        }
    }
}

/* All points of the slice must be inside. A given range is checked; a random direction without a range is
 * made as long as possible. The box is convex, so checking the ends is enough. */
static int fit_slice(ds_gradients *g, ds_error *e)
{
    ds_slice *s = &g->place;
    double low, high, at[DS_SLICE_DIMS] = {0};
    char why[160];
    int inside = 1;
    find_ends(s, &low, &high);
    if (g->wish.plan.ranges == 0) {
        s->low[0] = fmax(s->low[0], low);
        s->high[0] = fmin(s->high[0], high);
        return s->low[0] < s->high[0]
                   ? 0
                   : ds_gradients_refuse(g->settings, "x",
                                         "no point of the slice but this one is inside the bounds", e);
    }
    for (int end = 0; end < 2; end++) {
        at[0] = end == 0 ? s->low[0] : s->high[0];
        inside &= ds_slice_x(s, at, g->x);
    }
    snprintf(why, sizeof why, "the slice leaves the bounds: %.6g to %.6g is inside", low, high);
    return inside ? 0 : ds_gradients_refuse(g->settings, "range", why, e);
}

static int make_places(ds_gradients *g, ds_error *e)
{
    const uint64_t n = g->env->info.n;
    const ds_point_request point = {"--x", g->id, g->env};
    const char *key = "axes";
    char why[160] = "";
    g->x = malloc((3 * n + ds_gradients_room(n)) * sizeof *g->x);
    if (g->x == NULL) {
        return ds_no_memory(e);
    }
    g->scale = g->x + n;
    g->axis = g->scale + n;
    g->work = g->axis + n;
    for (uint64_t k = 0; k < n; k++) {
        const double half = 0.5 * g->env->upper[k] - 0.5 * g->env->lower[k];
        g->scale[k] = g->wish.units == DS_UNITS_BOX || !(half > 0) ? half : 1.0;
    }
    if (!g->wish.slice) {
        return ds_point_read(&point, g->wish.x, g->x, e);
    }
    int rc = ds_slice_make(&g->wish.plan, &g->wish.slice_text, g->id, g->env, g->run.seed, &g->place, &key,
                           why, e);
    if (rc != 0) {
        return rc == -1 ? ds_gradients_refuse(g->settings, strcmp(key, "center") == 0 ? "x" : key, why, e)
                        : rc;
    }
    memcpy(g->axis, g->place.dir[0], n * sizeof *g->axis);
    snprintf(g->label, sizeof g->label, "%s", g->place.label[0]);
    return fit_slice(g, e);
}

/* Opens the environment with the parameters of cell k in `jobs` processes. */
static int open_env(ds_gradients *g, const ds_pool_config *base, uint64_t k, uint32_t jobs, ds_error *e)
{
    uint64_t at[DS_DIMS_MAX];
    close_env(g);
    g->reference.place = 0;
    ds_gradients_index(g, k, at);
    int rc = ds_settings_copy(&g->varied, g->settings, e);
    for (int d = 0; d < g->dims && rc == 0; d++) {
        const ds_sweep *s = g->dim[d].sweep;
        if (s != NULL && s->what == DS_SWEEP_ENV) {
            rc = ds_settings_add(&g->varied, DS_SECTION_ENV, s->key, s->value[at[d]].text, "--sweep", NULL,
                                 DS_EXIT_USAGE, DS_LAYER_FLAG, e);
        }
    }
    ds_pool_config c = *base;
    c.settings = &g->varied;
    c.jobs = jobs;
    c.exact = 1;
    rc = rc != 0 ? rc : ds_pool_open(&c, &g->pool, e);
    if (rc == 0) {
        g->env = ds_pool_env_of(g->pool);
        g->n = g->n == 0 ? g->env->info.n : g->n;
        rc = choose_noise(g, e);
    }
    return rc != 0 ? rc : make_places(g, e);
}

/* ---- cells ---- */

/* Sets point and settings of cell k; *place receives the number of what the long run depends on, from 1. */
static void set_cell(ds_gradients *g, uint64_t k, uint64_t *place)
{
    uint64_t at[DS_DIMS_MAX] = {0}, number = 0;
    ds_cell *c = &g->cell[k];
    double unset = g->actions ? g->env->score.sigma : USUAL_SIGMA;
    ds_gradients_index(g, k, at);
    c->samples = g->wish.samples;
    c->gamma = g->wish.rule.gamma;
    c->sigma = g->wish.sigma > 0 ? g->wish.sigma : unset;
    for (int d = 0; d < g->dims; d++) {
        const ds_sweep *s = g->dim[d].sweep;
        double value = s != NULL ? s->value[at[d]].number : 0;
        int what = s != NULL ? s->what : -1;
        c->samples = what == DS_SWEEP_SAMPLES ? (uint64_t)value : c->samples;
        c->gamma = what == DS_SWEEP_GAMMA ? value : c->gamma;
        c->sigma = what == DS_SWEEP_SIGMA ? value : c->sigma;
        number =
            what == DS_SWEEP_SAMPLES || what == DS_SWEEP_GAMMA ? number : number * g->dim[d].count + at[d];
        if (s == NULL) {
            double point[DS_SLICE_DIMS];
            ds_slice_grid(&g->place, at[d], point);
            g->slice_at[at[d]] = point[0];
            ds_slice_x(&g->place, point, g->x); /* the ends are inside */
        }
    }
    *place = number + 1;
}

static void show_progress(const ds_gradients *g, uint64_t k)
{
    char line[160];
    if (ds_clock_s() - g->start < 2) {
        return;
    }
    snprintf(line, sizeof line, "gradients of %s: %llu of %llu estimates, %llu evaluations", g->id,
             (unsigned long long)k, (unsigned long long)g->cells, (unsigned long long)g->evaluations);
    ds_log_progress(line);
}

/* Number of cells per combination of parameters. */
static uint64_t cells_of_env(const ds_gradients *g)
{
    uint64_t inner = g->cells;
    for (int d = 0; d < g->dims; d++) {
        int env = g->dim[d].sweep != NULL && g->dim[d].sweep->what == DS_SWEEP_ENV;
        inner = env ? inner / g->dim[d].count : inner;
    }
    return inner;
}

/* Checks what all estimates need before the first one, to avoid a failure hours later. With a single
 * environment it stays open for the first cell. */
static int check_all(ds_gradients *g, const ds_pool_config *base, ds_error *e)
{
    const uint64_t inner = cells_of_env(g);
    int rc = 0;
    for (uint64_t k = 0; k < g->cells && rc == 0; k += inner) {
        rc = open_env(g, base, k, inner < g->cells ? 1 : base->jobs, e);
    }
    if (rc == 0 && g->wish.reference > 0 && g->wish.reference_order == DS_REFERENCE_FIRST &&
        !g->has_gradient) {
        ds_log(DS_LOG_WARNING, NULL,
               "%s returns no gradient: the long run is of zeroth order in spite of --reference-order",
               g->id);
    }
    if (rc == 0 && g->run.out[0] != '\0') {
        struct stat st;
        g->made_folder = stat(g->run.out, &st) != 0;
        rc = ds_folder_make(g->run.out, e);
    }
    return rc;
}

static int estimate(ds_gradients *g, const ds_pool_config *base, ds_error *e)
{
    const uint64_t inner = cells_of_env(g);
    int rc = check_all(g, base, e);
    for (uint64_t k = 0; k < g->cells && rc == 0; k++) {
        uint64_t place = 0;
        rc = k % inner == 0 && inner < g->cells ? open_env(g, base, k, base->jobs, e) : 0;
        if (rc == 0) {
            set_cell(g, k, &place);
            rc = ds_gradients_cell(g, k, place, e);
        }
        if (rc == 0) {
            show_progress(g, k + 1);
        }
    }
    ds_log_progress("");
    return rc;
}

/* ---- the command ---- */

/* One pair is one estimate, which has no variance. */
static int check_pairs(const ds_gradients *g, ds_error *e)
{
    enum { LEAST = 4 };
    double least = (double)g->wish.samples;
    for (int k = 0; k < g->wish.sweeps; k++) {
        const ds_sweep *s = &g->wish.sweep[k];
        for (uint64_t i = 0; s->what == DS_SWEEP_SAMPLES && i < s->count; i++) {
            least = i == 0 ? s->value[i].number : fmin(least, s->value[i].number);
        }
    }
    return g->wish.antithetic && least < LEAST
               ? ds_gradients_refuse(g->settings, "antithetic",
                                     "use at least two pairs, that is four samples", e)
               : 0;
}

static int open_gradients(ds_gradients *g, const ds_settings *settings, ds_pool_config *base, ds_error *e)
{
    char why[DS_SWEEP_WHY] = "";
    g->settings = settings;
    g->start = ds_clock_s();
    int rc = ds_run_options_make(settings, &g->run, e);
    rc = rc != 0 ? rc : ds_gradients_options_make(settings, &g->wish, e);
    if (rc != 0) {
        return rc;
    }
    if (g->wish.reference > 0 && g->wish.reference < LEAST_REFERENCE) {
        return ds_gradients_refuse(settings, "reference", "a long run needs at least 40 samples; 0 = none",
                                   e);
    }
    if (g->run.env[0] == '\0') {
        return ds_fail(e, DS_EXIT_USAGE,
                       "gradients: name an environment with --env (`dshost list` shows them)");
    }
    *base = ds_pool_config_of(NULL, settings, &g->run);
    rc = ds_pool_find_env(base, g->run.env, e);
    if (rc != 0) {
        return rc;
    }
    g->id = base->module->id;
    for (int k = 0; k < g->wish.sweeps; k++) {
        if (ds_sweep_fit(&g->wish.sweep[k], base->module->plugin->desc->params, why) != 0) {
            return ds_gradients_refuse(settings, "sweep", why, e);
        }
    }
    rc = check_pairs(g, e);
    if (rc != 0) {
        return rc;
    }
    g->slice_at = calloc(g->wish.slice ? g->wish.plan.count[0] : 1, sizeof *g->slice_at);
    rc = g->slice_at == NULL ? ds_no_memory(e) : lay_out(g, e);
    if (rc == 0 && g->run.out[0] != '\0') {
        rc = ds_folder_vacant(g->run.out, 0, e);
    }
    return rc;
}

static void close_gradients(ds_gradients *g)
{
    close_env(g);
    for (uint64_t k = 0; g->cell != NULL && k < g->cells; k++) {
        free(g->cell[k].vector);
    }
    free(g->cell);
    free(g->slice_at);
    ds_gradients_options_clear(&g->wish);
    ds_run_options_clear(&g->run);
}

/* Many clamped samples estimate a different loss than the user may expect. */
static void warn(const ds_gradients *g)
{
    double most = 0;
    for (uint64_t k = 0; k < g->cells; k++) {
        most = fmax(most, g->cell[k].clamped);
    }
    if (most > 0.05) {
        ds_log(DS_LOG_WARNING, NULL,
               "up to %.0f %% of the samples were outside the bounds and were moved to them: the smoothed "
               "loss is that of the loss continued from its bounds",
               100 * most);
    }
}

/* Without the baseline there are no zeroth-order samples. */
static void warn_lossless(const ds_gradients *g)
{
    uint64_t lossless = 0;
    for (uint64_t k = 0; k < g->cells; k++) {
        lossless += isnan(g->cell[k].loss);
    }
    if (lossless > 0 && g->wish.baseline == DS_BASELINE_CENTER) {
        char where[80] = "x";
        if (g->cells > 1) {
            snprintf(where, sizeof where, "x of %llu of %llu estimates", (unsigned long long)lossless,
                     (unsigned long long)g->cells);
        }
        ds_log(DS_LOG_WARNING, NULL,
               "%s has no loss (%s), so baseline = center gives no zeroth order there: use --baseline mean",
               where, g->message);
    }
}

/* Errors below the error of the long run are unreliable. */
static void warn_noisy(const ds_gradients *g)
{
    uint64_t noisy = 0;
    for (uint64_t k = 0; k < g->cells; k++) {
        const ds_cell *c = &g->cell[k];
        double least = INFINITY;
        for (int i = 0; i < DS_ESTIMATES; i++) {
            least = fmin(least, isnan(c->error[i].mean) ? (double)INFINITY : c->error[i].mean);
        }
        noisy += isfinite(least) && c->reference_error > least;
    }
    if (noisy > 0) {
        ds_log(DS_LOG_WARNING, NULL,
               "the long run is no more precise than the best estimate at %llu of %llu places: errors and "
               "biases mean little there; use a larger --reference, or --reference-order first if the loss "
               "is continuous",
               (unsigned long long)noisy, (unsigned long long)g->cells);
    }
}

static int write_results(const ds_gradients *g, const json_t *summary, ds_error *e)
{
    ds_error picture = {0, ""};
    int rc = ds_gradients_write(g, summary, e);
    if (rc == 0 && g->run.pictures && g->cells > 1 && ds_gradients_draw(g, &picture) != 0) {
        ds_log(DS_LOG_WARNING, NULL, "no figures: %s", picture.text);
    }
    return rc;
}

int ds_gradients_make(const ds_settings *settings, const ds_gradients_request *q, json_t **summary,
                      ds_error *e)
{
    ds_gradients g;
    ds_pool_config base;
    memset(&g, 0, sizeof g);
    *summary = NULL;
    int rc = open_gradients(&g, settings, &base, e);
    rc = rc != 0 ? rc : estimate(&g, &base, e);
    if (rc == DS_POOL_STOPPED) {
        ds_log(DS_LOG_INFO, NULL, "stopped by a signal: estimates are not kept");
        rc = DS_EXIT_SIGINT;
    }
    if (rc == 0) {
        warn(&g);
        warn_lossless(&g);
        warn_noisy(&g);
        *summary = ds_gradients_summary(&g);
        rc = *summary == NULL ? ds_no_memory(e) : 0;
        const int written = rc == 0 && g.run.out[0] != '\0';
        rc = written ? write_results(&g, *summary, e) : rc;
        if (*summary != NULL && q->text) { /* also if the folder could not be written */
            ds_gradients_print(&g, written && rc == 0);
        }
        if (rc == 0 && (double)g.failed > g.run.max_failed * (double)g.evaluations) {
            rc = ds_fail(e, DS_EXIT_ENV,
                         "%s: %llu of %llu evaluations failed (run.max_failed allows a share of %g): %s",
                         g.id, (unsigned long long)g.failed, (unsigned long long)g.evaluations,
                         g.run.max_failed, g.message);
        }
    }
    if (rc != 0 && g.made_folder) {
        rmdir(g.run.out); /* if it is empty */
    }
    close_gradients(&g);
    return rc;
}
