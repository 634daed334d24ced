/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cma_run.c - a host in miniature for unit tests (see fake_cma_run.h).
 * Fails the running cmocka test where the plugin or the test breaks a rule. */
#include "fake_cma_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <diffsim/ext/scene.h>
#include <dlfcn.h>
#include <math.h>

const ds_plugin *fake_load(const char *name)
{
    const char *top = getenv("DS_TOP_BUILD");
    char path[1024];
    snprintf(path, sizeof path, "%s/plugins/%s.so", top ? top : ".", name);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so) {
        fail_msg("%s", dlerror());
    }
    const ds_plugin *(*query)(void);
    *(void **)&query = dlsym(so, "ds_plugin_query");
    assert_non_null(query);
    return query();
}

/* ---- parameters ---- */

static void log_line(const ds_host *host, uint32_t level, const char *line)
{
    fake_host *fake = host->ctx;
    if (level >= DS_LOG_WARNING) {
        snprintf(fake->message, sizeof fake->message, "%s", line);
    }
}

static void error_line(const ds_host *host, ds_status status, const char *line)
{
    (void)status;
    log_line(host, DS_LOG_ERROR, line);
}

static uint32_t never_stop(const ds_host *host)
{
    (void)host;
    return 0;
}

static const fake_value *find(const ds_host *host, const char *name, const ds_param **param)
{
    const fake_host *fake = host->ctx;
    for (int i = 0; fake->desc->params && fake->desc->params[i]; i++) {
        if (strcmp(fake->desc->params[i]->name, name) == 0) {
            *param = fake->desc->params[i];
            return &fake->value[i];
        }
    }
    fail_msg("plugin %s asks for the undeclared parameter %s", fake->desc->id, name);
    return NULL;
}

static ds_status get_int(const ds_host *host, const char *name, int64_t *out)
{
    const ds_param *p = NULL;
    const fake_value *v = find(host, name, &p);
    assert_true(p->type == DS_PARAM_BOOL || p->type == DS_PARAM_INT || p->type == DS_PARAM_ENUM);
    *out = v->integer;
    return DS_OK;
}

static ds_status get_real(const ds_host *host, const char *name, double *out)
{
    const ds_param *p = NULL;
    const fake_value *v = find(host, name, &p);
    assert_true(p->type == DS_PARAM_REAL || p->type == DS_PARAM_INT);
    *out = p->type == DS_PARAM_REAL ? v->real : (double)v->integer;
    return DS_OK;
}

static ds_status get_text(const ds_host *host, const char *name, const char **out)
{
    const ds_param *p = NULL;
    *out = find(host, name, &p)->text;
    return DS_OK;
}

static ds_status get_list(const ds_host *host, const char *name, const double **out, uint64_t *count)
{
    const ds_param *p = NULL;
    const fake_value *v = find(host, name, &p);
    assert_int_equal(p->type, DS_PARAM_LIST);
    *out = v->list;
    *count = v->count;
    return DS_OK;
}

/* Arrays are always empty. */
static ds_status get_array(const ds_host *host, const char *name, const double **data, uint64_t *ndim,
                           uint64_t shape[8])
{
    const ds_param *p = NULL;
    find(host, name, &p);
    assert_int_equal(p->type, DS_PARAM_ARRAY);
    *data = NULL;
    *ndim = 0;
    memset(shape, 0, 8 * sizeof *shape);
    return DS_OK;
}

/* Data of the plugins lies in the source tree. */
static ds_status resource(const ds_host *host, const char *relative, char *buf, uint64_t cap)
{
    (void)host;
    const char *top = getenv("DS_TOP_SRC");
    int used = snprintf(buf, cap, "%s/plugins/envs/%s", top ? top : ".", relative);
    return used > 0 && (uint64_t)used < cap ? DS_OK : DS_E_IO;
}

static void parse(const ds_param *p, const char *text, fake_value *v)
{
    snprintf(v->text, sizeof v->text, "%s", text);
    if (p->type == DS_PARAM_BOOL) {
        v->integer = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    } else if (p->type == DS_PARAM_INT) {
        v->integer = strtoll(text, NULL, 10);
    } else if (p->type == DS_PARAM_REAL) {
        v->real = strtod(text, NULL);
    } else if (p->type == DS_PARAM_ENUM) {
        v->integer = -1;
        for (int i = 0; p->choices[i]; i++) {
            v->integer = strcmp(p->choices[i], text) == 0 ? i : v->integer;
        }
        if (v->integer < 0) {
            fail_msg("parameter %s has no choice %s", p->name, text);
        }
    } else if (p->type == DS_PARAM_LIST) {
        free(v->list);
        v->list = malloc((strlen(text) + 1) * sizeof(double));
        v->count = 0;
        for (char *end = NULL; *text; text = end) {
            double number = strtod(text, &end);
            if (end == text) {
                break;
            }
            v->list[v->count++] = number;
            end += *end == ',';
        }
    }
}

void fake_host_open(fake_host *fake, const ds_plugin *plugin, uint64_t seed, const char *const *settings)
{
    memset(fake, 0, sizeof *fake);
    fake->host = (ds_host){.struct_size = sizeof(ds_host),
                           .abi_minor = DS_ABI_MINOR,
                           .ctx = fake,
                           .seed = seed,
                           .threads = 1,
                           .log = log_line,
                           .error = error_line,
                           .should_stop = never_stop,
                           .get_int = get_int,
                           .get_real = get_real,
                           .get_text = get_text,
                           .get_list = get_list,
                           .get_array = get_array,
                           .resource = resource};
    fake->desc = plugin->desc;
    const ds_param *const *params = plugin->desc->params;
    for (int i = 0; params && params[i]; i++) {
        assert_true(i < FAKE_PARAMS);
        parse(params[i], params[i]->default_text, &fake->value[i]);
        if (params[i]->type == DS_PARAM_ENUM && params[i]->default_text[0] == '\0') {
            fail_msg("enum parameter %s without default", params[i]->name);
        }
    }
    for (; settings && *settings; settings++) {
        const char *equal = strchr(*settings, '=');
        int i = 0;
        while (params[i] && (strncmp(params[i]->name, *settings, (size_t)(equal - *settings)) != 0 ||
                             params[i]->name[equal - *settings] != '\0')) {
            i++;
        }
        if (!params[i]) {
            fail_msg("plugin %s has no parameter for %s", plugin->desc->id, *settings);
        }
        parse(params[i], equal + 1, &fake->value[i]);
    }
}

void fake_host_close(fake_host *fake)
{
    for (int i = 0; i < FAKE_PARAMS; i++) {
        free(fake->value[i].list);
    }
}

/* ---- environment and objective ---- */

double fake_eval(fake_env *e, const double *x, double *grad, uint64_t noise_key, uint32_t *outcome)
{
    ds_eval io = {.struct_size = sizeof io,
                  .want = grad ? DS_WANT_GRAD : 0,
                  .n = e->info.n,
                  .x = x,
                  .noise_key = noise_key,
                  .grad = grad};
    assert_int_equal(e->plugin->env->evaluate(e->self, &io), DS_OK);
    assert_true(io.outcome == DS_EVAL_OK || io.outcome == DS_EVAL_BAD_GRAD ? isfinite(io.loss)
                                                                           : isinf(io.loss));
    if (outcome) {
        *outcome = io.outcome;
    }
    return io.loss;
}

static int inside(const fake_env *e, const double *x)
{
    for (uint64_t i = 0; i < e->info.n; i++) {
        if (!(x[i] >= e->lower[i] && x[i] <= e->upper[i])) {
            return 0;
        }
    }
    return 1;
}

static void record(fake_env *e, const double *x, double loss)
{
    uint64_t n = e->info.n;
    if (e->done == e->capacity) {
        e->capacity = e->capacity ? 2 * e->capacity : 1024;
        e->x = realloc(e->x, e->capacity * n * sizeof(double));
        e->loss = realloc(e->loss, e->capacity * sizeof(double));
        assert_true(e->x && e->loss);
    }
    memcpy(e->x + e->done * n, x, n * sizeof(double));
    e->loss[e->done++] = loss;
    e->best = fmin(e->best, loss);
}

static ds_status evaluate(const ds_objective *objective, ds_batch *batch)
{
    fake_env *e = objective->ctx;
    uint64_t n = e->info.n;
    assert_true(batch->count >= 1);
    assert_true(!batch->tag || strlen(batch->tag) <= 15);
    batch->done = 0;
    e->calls++;
    e->groups = batch->group > e->groups ? batch->group : e->groups;
    for (uint64_t k = 0; k < batch->count; k++) {
        if (e->done >= e->budget || e->best <= e->problem.target) {
            return DS_STOPPED;
        }
        const double *x = batch->x + k * n;
        uint32_t outcome = 0;
        if (!inside(e, x)) {
            e->out_of_bounds++;
            return DS_E_ARG;
        }
        double loss = fake_eval(e, x, batch->want & DS_WANT_GRAD ? batch->grad + k * n : NULL, 0, &outcome);
        record(e, x, loss);
        batch->loss[k] = e->transform && isfinite(loss) ? e->transform(loss) : loss;
        if (batch->outcome) {
            batch->outcome[k] = outcome;
        }
        batch->done++;
    }
    return DS_OK;
}

void fake_env_open(fake_env *e, const char *name, const char *const *settings, uint64_t budget, double target)
{
    memset(e, 0, sizeof *e);
    e->plugin = fake_load(name);
    fake_host_open(&e->host, e->plugin, 0, settings);
    ds_status status = e->plugin->env->create(&e->host.host, &e->self);
    if (status != DS_OK) {
        fail_msg("create: %s", e->host.message);
    }
    e->info.struct_size = sizeof e->info;
    assert_int_equal(e->plugin->env->info(e->self, &e->info), DS_OK);
    uint64_t n = e->info.n;
    e->lower = malloc(3 * n * sizeof(double));
    assert_non_null(e->lower);
    e->upper = e->lower + n;
    e->x0 = e->upper + n;
    assert_int_equal(e->plugin->env->bounds(e->self, n, e->lower, e->upper, e->x0), DS_OK);
    assert_true(inside(e, e->x0));
    e->problem = (ds_problem){.struct_size = sizeof(ds_problem),
                              .has_gradient = (e->plugin->desc->flags & DS_ENV_GRADIENT) != 0,
                              .n = n,
                              .lower = e->lower,
                              .upper = e->upper,
                              .x0 = e->x0,
                              .budget = budget,
                              .target = target,
                              .loss_floor = e->info.loss_floor};
    e->objective = (ds_objective){.struct_size = sizeof(ds_objective), .ctx = e, .evaluate = evaluate};
    e->budget = budget;
    e->best = HUGE_VAL;
}

void fake_env_close(fake_env *e)
{
    e->plugin->env->destroy(e->self);
    fake_host_close(&e->host);
    free(e->lower);
    free(e->x);
    free(e->loss);
}

const double *fake_values(fake_env *e, const char *want)
{
    const ds_scene *scene = e->plugin->env->get_extension(e->self, DS_EXT_SCENE);
    const char *name = NULL, *unit = NULL;
    const double *values = NULL;
    for (uint64_t m = 0; scene->metric(e->self, m, &name, &unit, &values) == DS_OK; m++) {
        if (strcmp(name, want) == 0) {
            return values;
        }
    }
    fail_msg("no metric %s", want);
    return NULL;
}

const double *fake_metric(fake_env *e, const double *x, const char *want)
{
    ds_eval io = {.struct_size = sizeof io, .want = DS_WANT_SCENE, .n = e->info.n, .x = x};
    assert_int_equal(e->plugin->env->evaluate(e->self, &io), DS_OK);
    return fake_values(e, want);
}

ds_status fake_run(fake_env *e, const char *optimizer, uint64_t seed, const char *const *settings)
{
    const ds_plugin *plugin = fake_load(optimizer);
    fake_host host;
    void *self = NULL;
    fake_host_open(&host, plugin, seed, settings);
    ds_status status = plugin->optimizer->create(&host.host, &e->problem, &self);
    if (status == DS_OK) {
        status = plugin->optimizer->run(self, &e->objective);
        plugin->optimizer->destroy(self);
    }
    snprintf(e->host.message, sizeof e->host.message, "%s", host.message);
    fake_host_close(&host);
    return status;
}
