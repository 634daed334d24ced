/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - a host in miniature for tests of one plugin, see host.h. Fails the running cmocka test where
 * the plugin or the test breaks a rule. */
#include "host.h"

#include "test.h"

#include <diffsim/ext/channel.h>
#include <diffsim/ext/scene.h>

/* ---- services ---- */

static fake_host *of(const ds_host *host)
{
    return host->ctx; /* the services, the first member */
}

static void take_log(const ds_host *host, uint32_t level, const char *line)
{
    snprintf(of(host)->log, sizeof of(host)->log, "%s", line);
}

static void take_error(const ds_host *host, ds_status status, const char *line)
{
    snprintf(of(host)->error, sizeof of(host)->error, "%s", line);
}

static uint32_t should_stop(const ds_host *host)
{
    fake_host *f = of(host);
    f->polls++;
    return f->stop_after > 0 && f->polls >= f->stop_after;
}

static ds_status get_array(const ds_host *host, const char *name, const double **data, uint64_t *ndim,
                           uint64_t shape[8])
{
    const fake_host *f = of(host);
    if (f->array_name == NULL || strcmp(name, f->array_name) != 0) {
        return ds_params_array(f->services.params, name, data, ndim, shape);
    }
    *data = f->array.data;
    *ndim = f->array.ndim;
    memcpy(shape, f->array.shape, sizeof f->array.shape);
    return DS_OK;
}

static void must(int status, const ds_error *e)
{
    if (status != 0) {
        fail_msg("%s", e->text);
    }
}

static void set(fake_host *f, const char *setting)
{
    char text[1024];
    ds_error e = {0};
    snprintf(text, sizeof text, "%s.%s", f->plugin->desc->kind == DS_KIND_ENV ? "env" : "opt", setting);
    must(ds_settings_set(&f->settings, text, &e), &e);
}

static ds_params *parameters(const fake_host *f)
{
    ds_params *params = NULL;
    ds_error e = {0};
    must(ds_params_make(f->plugin->desc->params, f->plugin->desc->id, &f->settings,
                        f->plugin->desc->kind == DS_KIND_ENV ? DS_SECTION_ENV : DS_SECTION_OPT, &params, &e),
         &e);
    return params;
}

void fake_host_open(fake_host *f, const char *name, uint64_t seed, const char *const *settings)
{
    const ds_module *module = NULL;
    ds_error e = {0};
    char file[512], path[4096];
    memset(f, 0, sizeof *f);
    snprintf(file, sizeof file, "plugins/%s.so", name);
    test_path(path, file);
    must(ds_loader_open(name[0] == '/' ? name : path, 0, &module, &e), &e);
    f->plugin = module->plugin;
    for (; settings && *settings; settings++) {
        set(f, *settings);
    }
    ds_services_init(&f->services, module, parameters(f), seed, 1, NULL);
    f->services.host.log = take_log;
    f->services.host.error = take_error;
    f->services.host.should_stop = should_stop;
    f->services.host.get_array = get_array;
}

void fake_host_close(fake_host *f)
{
    ds_services_clear(&f->services);
    ds_settings_clear(&f->settings);
}

void fake_host_set(fake_host *f, const char *name, const char *text)
{
    char setting[512];
    snprintf(setting, sizeof setting, "%s=%s", name, text);
    set(f, setting);
    ds_params_free(f->services.params);
    f->services.params = parameters(f);
}

void fake_host_set_array(fake_host *f, const char *name, const double *data, uint64_t ndim,
                         const uint64_t *shape)
{
    f->array_name = name;
    f->array = (ds_array){.ndim = ndim};
    f->array.data = (double *)(uintptr_t)data;
    memcpy(f->array.shape, shape, ndim * sizeof *shape);
}

void fake_env_refuses(const char *name, const char *const *settings, const char *word)
{
    fake_host f;
    void *self = NULL;
    fake_host_open(&f, name, 0, settings);
    assert_int_equal(f.plugin->env->create(&f.services.host, &self), DS_E_PARAM);
    assert_null(self);
    if (!strstr(f.error, word)) {
        fail_msg("'%s' instead of '%s'", f.error, word);
    }
    fake_host_close(&f);
}

/* ---- environment and objective ---- */

double fake_eval(fake_env *e, const double *x, double *grad, uint64_t noise_key, uint32_t *outcome)
{
    ds_eval io = {.bad_step = -1,
                  .want = grad ? DS_WANT_GRAD : 0,
                  .n = e->info.n,
                  .x = x,
                  .noise_key = noise_key,
                  .grad = grad};
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
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

static ds_status evaluate(const ds_objective *objective, const ds_rows *rows, const ds_label *label,
                          const ds_results *results, uint64_t *done)
{
    fake_env *e = objective->ctx;
    const uint64_t n = e->info.n, group = label ? label->group : 0;
    const int graded = (rows->want & DS_WANT_GRAD) != 0;
    assert_true(rows->count >= 1 && rows->n == n && rows->stride >= n);
    assert_true(!graded || (results->grad && results->stride >= n));
    assert_true(!label || !label->tag || strlen(label->tag) <= DS_MAX_TAG);
    *done = 0;
    e->calls++;
    e->groups = group > e->groups ? group : e->groups;
    for (uint64_t k = 0; k < rows->count; k++) {
        if (e->done >= e->budget || e->best <= e->problem.target) {
            return DS_STOPPED;
        }
        const double *x = rows->x + k * rows->stride;
        uint32_t outcome = 0;
        if (!inside(e, x)) {
            e->out_of_bounds++;
            return DS_E_ARG;
        }
        double loss = fake_eval(e, x, graded ? results->grad + k * results->stride : NULL, 0, &outcome);
        record(e, x, loss);
        results->loss[k] = e->transform && isfinite(loss) ? e->transform(loss) : loss;
        if (results->outcome) {
            results->outcome[k] = outcome;
        }
        ++*done;
    }
    return DS_OK;
}

void fake_env_open(fake_env *e, const char *name, const char *const *settings, uint64_t budget, double target)
{
    memset(e, 0, sizeof *e);
    fake_host_open(&e->host, name, 0, settings);
    e->plugin = e->host.plugin;
    ds_status status = e->plugin->env->create(&e->host.services.host, &e->self);
    if (status != DS_OK) {
        fail_msg("create: %s", e->host.error);
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
    ds_scene_metric metric = {.struct_size = sizeof metric};
    for (uint64_t m = 0; scene->metric(e->self, m, &metric) == DS_OK; m++) {
        if (strcmp(metric.name, want) == 0) {
            return metric.values;
        }
    }
    fail_msg("no metric %s", want);
    return NULL;
}

const double *fake_metric(fake_env *e, const double *x, const char *want)
{
    ds_eval io = {.bad_step = -1, .want = DS_WANT_SCENE, .n = e->info.n, .x = x};
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    return fake_values(e, want);
}

void fake_products(fake_env *e, const double *x, const double *v, double tolerance)
{
    const ds_env_channels *channels = e->plugin->env->get_extension(e->self, DS_EXT_CHANNELS);
    ds_channel c = {.struct_size = sizeof c};
    double left = 0, right = 0, sum = 0, size = 0;
    assert_non_null(channels);
    assert_int_equal(channels->describe(e->self, e->channel, &c), DS_OK);
    const uint64_t m = ds_channel_elements(&c), n = e->info.n;
    assert_true(m > 0);
    double *r = calloc(3 * m + n, sizeof *r), *jv = r + m, *w = jv + m, *back = w + m;
    assert_non_null(r);
    for (uint64_t i = 0; i < m; i++) {
        w[i] = sin((double)i + 1);
    }
    ds_eval_query ask[3] = {
        {.op = DS_QUERY_VALUE, .channel = e->channel, .out = r, .bytes = m * sizeof *r},
        {.op = DS_QUERY_JV, .channel = e->channel, .v = v, .out = jv, .bytes = m * sizeof *r},
        {.op = DS_QUERY_JTV, .channel = e->channel, .v = w, .out = back, .bytes = n * sizeof *r}};
    ds_eval_query *asks[3] = {ask, ask + 1, ask + 2};
    ds_eval io = {.bad_step = -1, .n = n, .x = x, .queries = 3, .query = asks};
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    for (uint64_t i = 0; i < m; i++) {
        sum += r[i] * r[i];
        left += w[i] * jv[i];
        size += fabs(w[i] * jv[i]);
    }
    for (uint64_t i = 0; i < n; i++) {
        right += back[i] * v[i];
    }
    if (c.role == DS_CHANNEL_RESIDUAL) {
        assert_near(sum, io.loss, 1e-12 * io.loss);
    }
    if (!(size > 0 && fabs(left - right) <= tolerance * size)) {
        fail_msg("w . J v = %.17g, J' w . v = %.17g, size %.3g", left, right, size);
    }
    assert_near(fake_eval(e, x, NULL, 0, NULL), io.loss, 0);
    free(r);
}

void fake_quotient(fake_env *e, const double *x, const double *v, double h, double tolerance)
{
    const ds_env_channels *channels = e->plugin->env->get_extension(e->self, DS_EXT_CHANNELS);
    ds_channel c = {.struct_size = sizeof c};
    double worst = 0, most = 0;
    assert_int_equal(channels->describe(e->self, e->channel, &c), DS_OK);
    const uint64_t m = ds_channel_elements(&c), n = e->info.n;
    double *jv = calloc(5 * m + n, sizeof *jv), *value = jv + m, *y = value + 4 * m;
    assert_non_null(jv);
    ds_eval_query ask = {.op = DS_QUERY_JV,
                         .channel = e->channel,
                         .v = v,
                         .out = jv,
                         .bytes = m * sizeof *jv},
                  *asks[] = {&ask};
    ds_eval io = {.bad_step = -1, .n = n, .x = x, .queries = 1, .query = asks};
    assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    for (int k = 0; k < 4; k++) {
        const double at = (k % 2 ? -h : h) * (k < 2 ? 1 : 0.5);
        for (uint64_t i = 0; i < n; i++) {
            y[i] = x[i] + at * v[i];
        }
        ask = (ds_eval_query){.op = DS_QUERY_VALUE,
                              .channel = e->channel,
                              .out = value + (size_t)k * m,
                              .bytes = m * sizeof *jv};
        io = (ds_eval){.bad_step = -1, .n = n, .x = y, .queries = 1, .query = asks};
        assert_int_equal(ds_eval_call(e->plugin->env, e->self, &io), DS_OK);
    }
    for (uint64_t i = 0; i < m; i++) {
        const double wide = (value[i] - value[m + i]) / (2 * h),
                     near = (value[2 * m + i] - value[3 * m + i]) / h;
        worst = fmax(worst, fabs(jv[i] - (4 * near - wide) / 3));
        most = fmax(most, fabs(jv[i]));
    }
    if (!(most > 0 && worst <= tolerance * most)) {
        fail_msg("J v differs from quotients by %.3g, its largest element is %.3g", worst, most);
    }
    free(jv);
}

ds_status fake_env_run(fake_env *e, const char *optimizer, uint64_t seed, const char *const *settings)
{
    fake_host f;
    void *self = NULL;
    fake_host_open(&f, optimizer, seed, settings);
    ds_status status = f.plugin->optimizer->create(&f.services.host, &e->problem, &self);
    if (status == DS_OK) {
        status = f.plugin->optimizer->run(self, &e->objective);
        f.plugin->optimizer->destroy(self);
    }
    snprintf(e->host.error, sizeof e->host.error, "%s", f.error);
    fake_host_close(&f);
    return status;
}
