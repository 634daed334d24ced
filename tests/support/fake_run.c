/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/fake_run.c - a miniature host for optimizer tests, see fake_run.h. */
#include "fake_run.h"

#include <diffsim/ext/residuals.h>
#include <diffsim/random.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARAMS 64

typedef struct fake_host {
    ds_host host;
    const ds_desc *desc;
    char text[MAX_PARAMS][128]; /* value of each schema parameter */
    double *list[MAX_PARAMS];   /* parsed LIST parameters */
    const fake_problem *problem;
    ds_problem described;
    ds_objective objective;
    ds_residual_objective residuals;
    fake_result *result;
    uint64_t room;
    int stopped;
} fake_host;

static void die(const char *what, const char *which)
{
    fprintf(stderr, "fake_run: %s: %s\n", what, which);
    abort();
}

static int find(const ds_desc *desc, const char *name, size_t length)
{
    for (int i = 0; desc->params && desc->params[i]; i++) {
        if (strlen(desc->params[i]->name) == length && strncmp(desc->params[i]->name, name, length) == 0) {
            return i;
        }
    }
    return -1;
}

/* Index of a parameter asked for by the plugin; -1 where the schema lacks it. */
static int asked(const ds_host *host, const char *name)
{
    const fake_host *f = host->ctx;
    int i = find(f->desc, name, strlen(name));
    if (i < 0) {
        die("the plugin asks for a parameter that its schema lacks", name);
    }
    return i;
}

static ds_status get_int(const ds_host *host, const char *name, int64_t *out)
{
    const fake_host *f = host->ctx;
    int i = asked(host, name);
    const ds_param *p = f->desc->params[i];
    const char *text = f->text[i];
    if (p->type == DS_PARAM_INT) {
        *out = (int64_t)strtod(text, NULL);
        return DS_OK;
    }
    if (p->type == DS_PARAM_BOOL) {
        *out = strcmp(text, "true") == 0 || strcmp(text, "yes") == 0 || strcmp(text, "on") == 0 ||
               strcmp(text, "1") == 0;
        return DS_OK;
    }
    for (int k = 0; p->type == DS_PARAM_ENUM && p->choices[k]; k++) {
        if (strcmp(p->choices[k], text) == 0) {
            *out = k;
            return DS_OK;
        }
    }
    die("not an integer or not a choice", name);
    return DS_E_PARAM;
}

static ds_status get_real(const ds_host *host, const char *name, double *out)
{
    const fake_host *f = host->ctx;
    int i = asked(host, name);
    if (f->desc->params[i]->type != DS_PARAM_REAL && f->desc->params[i]->type != DS_PARAM_INT) {
        die("not a real", name);
    }
    *out = strtod(f->text[i], NULL);
    return DS_OK;
}

static ds_status get_text(const ds_host *host, const char *name, const char **out)
{
    const fake_host *f = host->ctx;
    *out = f->text[asked(host, name)];
    return DS_OK;
}

static ds_status get_list(const ds_host *host, const char *name, const double **out, uint64_t *count)
{
    fake_host *f = host->ctx;
    int i = asked(host, name);
    if (!f->list[i]) {
        f->list[i] = calloc(64, sizeof(double));
    }
    *count = 0;
    char *at = f->text[i], *end;
    for (double v = strtod(at, &end); end != at && *count < 64; v = strtod(at, &end)) {
        f->list[i][(*count)++] = v;
        at = *end == ',' ? end + 1 : end;
    }
    *out = f->list[i];
    return DS_OK;
}

static ds_status get_array(const ds_host *host, const char *name, const double **data, uint64_t *ndim,
                           uint64_t shape[8])
{
    (void)shape;
    asked(host, name);
    *data = NULL;
    *ndim = 0;
    return DS_OK;
}

static ds_status resource(const ds_host *host, const char *relative, char *buf, uint64_t cap)
{
    (void)host, (void)relative, (void)buf, (void)cap;
    return DS_E_IO;
}

static const void *no_extension(const ds_host *host, const char *id)
{
    (void)host, (void)id;
    return NULL;
}

static void host_log(const ds_host *host, uint32_t level, const char *line)
{
    fake_host *f = host->ctx;
    (void)level;
    snprintf(f->result->log, sizeof(f->result->log), "%s", line);
}

static void host_error(const ds_host *host, ds_status status, const char *line)
{
    fake_host *f = host->ctx;
    (void)status;
    snprintf(f->result->error, sizeof(f->result->error), "%s", line);
}

static uint32_t should_stop(const ds_host *host)
{
    fake_host *f = host->ctx;
    f->result->polls++;
    return f->problem->stop_after > 0 && f->result->polls > f->problem->stop_after;
}

/* Whether evaluation number `i` of the run fails; the same for every seed. */
static int happens(uint64_t i, const char *what, double rate)
{
    ds_random r = ds_random_open(0, what, i);
    return ds_random_uniform(&r) < rate;
}

static int inside(const fake_problem *p, const double *x)
{
    for (size_t k = 0; k < p->n; k++) {
        if (!(x[k] >= p->lower && x[k] <= p->upper)) {
            return 0;
        }
    }
    return 1;
}

static void record(fake_host *f, const ds_batch *batch, const double *x, double loss, uint32_t outcome)
{
    fake_result *r = f->result;
    size_t n = f->problem->n;
    if (r->evaluations == f->room) {
        f->room = f->room ? 2 * f->room : 256;
        r->x = realloc(r->x, f->room * n * sizeof(double));
        r->rows = realloc(r->rows, f->room * sizeof(fake_row));
    }
    memcpy(r->x + r->evaluations * n, x, n * sizeof(double));
    fake_row *row = r->rows + r->evaluations++;
    row->loss = loss;
    row->want = batch->want;
    row->outcome = outcome;
    row->group = batch->group;
    snprintf(row->tag, sizeof(row->tag), "%s", batch->tag ? batch->tag : "");
    r->best = loss < r->best ? loss : r->best;
}

static ds_status evaluate(const ds_objective *objective, ds_batch *batch)
{
    fake_host *f = objective->ctx;
    const fake_problem *p = f->problem;
    fake_result *r = f->result;
    r->calls++;
    batch->done = 0;
    if (f->stopped) {
        return DS_STOPPED;
    }
    int gradient = (batch->want & DS_WANT_GRAD) != 0;
    if (batch->count == 0 || (gradient && (p->no_gradient || !batch->grad))) {
        r->violations++;
        return DS_E_ARG;
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (!inside(p, batch->x + i * p->n)) {
            r->violations++;
            return DS_E_ARG;
        }
    }
    for (size_t i = 0; i < batch->count && !f->stopped; i++) {
        const double *x = batch->x + i * p->n;
        double *g = gradient ? batch->grad + i * p->n : NULL;
        double loss = p->f(p->ctx, p->n, x, g);
        uint32_t outcome = DS_EVAL_OK;
        if (happens(r->evaluations, "failure", p->failure_rate)) {
            loss = INFINITY;
            outcome = DS_EVAL_DIVERGED;
        } else if (g && happens(r->evaluations, "gradient", p->bad_gradient_rate)) {
            outcome = DS_EVAL_BAD_GRAD;
        }
        if (g && outcome != DS_EVAL_OK) {
            memset(g, 0, p->n * sizeof(double));
        }
        batch->loss[i] = loss;
        if (batch->outcome) {
            batch->outcome[i] = outcome;
        }
        record(f, batch, x, loss, outcome);
        batch->done = i + 1;
        f->stopped = r->evaluations >= p->budget || loss <= p->target;
    }
    return f->stopped ? DS_STOPPED : DS_OK;
}

static ds_status evaluate_residuals(const ds_objective *objective, ds_residual_batch *batch)
{
    fake_host *f = objective->ctx;
    const fake_problem *p = f->problem;
    size_t in = batch->kind == DS_RESIDUALS_JV ? p->n : p->m,
           out = batch->kind == DS_RESIDUALS_JTV ? p->n : p->m;
    ds_batch plain = {sizeof(plain),  0,          batch->count, batch->x, batch->loss, NULL,
                      batch->outcome, batch->tag, batch->group, 0};
    double *r = calloc(p->m * (p->n + 1), sizeof(double)), *j = r + p->m;
    if (batch->kind < DS_RESIDUALS_VALUE || batch->kind > DS_RESIDUALS_JTV || !batch->out ||
        (!batch->v && batch->kind != DS_RESIDUALS_VALUE)) {
        f->result->violations++;
        free(r);
        return DS_E_ARG;
    }
    ds_status status = evaluate(objective, &plain);
    batch->done = plain.done;
    for (size_t k = 0; k < plain.done; k++) {
        const double *v = batch->v + k * in;
        double *to = batch->out + k * out;
        p->squares(p->ctx, p->n, batch->x + k * p->n, r, j);
        for (size_t i = 0; i < out; i++) {
            to[i] = batch->kind == DS_RESIDUALS_VALUE ? r[i] : 0;
        }
        for (size_t i = 0; batch->kind != DS_RESIDUALS_VALUE && i < p->m * p->n; i++) {
            size_t row = i / p->n, column = i % p->n;
            to[batch->kind == DS_RESIDUALS_JV ? row : column] +=
                j[i] * v[batch->kind == DS_RESIDUALS_JV ? column : row];
        }
        for (size_t i = 0; i < out && batch->loss[k] > 1e308; i++) {
            to[i] = 0;
        }
    }
    free(r);
    return status;
}

static const void *objective_extension(const ds_objective *objective, const char *id)
{
    fake_host *f = objective->ctx;
    f->residuals = (ds_residual_objective){sizeof(f->residuals), 0, f->problem->m, evaluate_residuals};
    return f->problem->m > 0 && strcmp(id, DS_EXT_RESIDUALS) == 0 ? &f->residuals : NULL;
}

static void set_parameters(fake_host *f, const char *text)
{
    for (int i = 0; f->desc->params && f->desc->params[i]; i++) {
        if (i == MAX_PARAMS) {
            die("too many parameters", f->desc->id);
        }
        snprintf(f->text[i], sizeof(f->text[i]), "%s", f->desc->params[i]->default_text);
    }
    while (text && *(text += strspn(text, " "))) {
        size_t length = strcspn(text, " "), name = strcspn(text, "=");
        int i = name < length ? find(f->desc, text, name) : -1;
        if (i < 0) {
            die("unknown parameter", text);
        }
        snprintf(f->text[i], sizeof(f->text[i]), "%.*s", (int)(length - name - 1), text + name + 1);
        text += length;
    }
}

static void describe(fake_host *f, double *bounds)
{
    const fake_problem *p = f->problem;
    for (size_t k = 0; k < p->n; k++) {
        bounds[k] = p->lower;
        bounds[p->n + k] = p->upper;
        bounds[2 * p->n + k] = 0.5 * (p->lower + p->upper);
    }
    f->described = (ds_problem){.struct_size = sizeof(ds_problem),
                                .has_gradient = !p->no_gradient,
                                .n = p->n,
                                .lower = bounds,
                                .upper = bounds + p->n,
                                .x0 = bounds + 2 * p->n,
                                .budget = p->budget,
                                .target = p->target,
                                .loss_floor = p->loss_floor};
}

fake_result fake_run(const char *plugin, const char *parameters, const fake_problem *problem, uint64_t seed)
{
    fake_result result = {0};
    fake_host f = {.problem = problem, .result = &result};
    char path[4096];
    const char *top = getenv("DS_TOP_BUILD");
    snprintf(path, sizeof(path), "%s/plugins/optimizers/%s.so", top ? top : ".", plugin);
    void *library = dlopen(strchr(plugin, '/') ? plugin : path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        die("cannot load", dlerror());
    }
    void *symbol = dlsym(library, "ds_plugin_query");
    const ds_plugin *(*query)(void);
    memcpy(&query, &symbol, sizeof(query));
    const ds_optimizer_vtable *vtable = query()->optimizer;
    f.desc = query()->desc;
    set_parameters(&f, parameters);
    double *bounds = calloc(3 * problem->n, sizeof(double));
    describe(&f, bounds);
    f.host = (ds_host){.struct_size = sizeof(ds_host),
                       .abi_minor = DS_ABI_MINOR,
                       .ctx = &f,
                       .seed = seed,
                       .threads = 1,
                       .log = host_log,
                       .error = host_error,
                       .should_stop = should_stop,
                       .get_int = get_int,
                       .get_real = get_real,
                       .get_text = get_text,
                       .get_list = get_list,
                       .get_array = get_array,
                       .resource = resource,
                       .get_extension = no_extension};
    f.objective = (ds_objective){sizeof(ds_objective), 0, &f, evaluate, objective_extension};
    result.best = INFINITY;
    void *self = NULL;
    result.create_status = vtable->create(&f.host, &f.described, &self);
    if (result.create_status == DS_OK) {
        result.status = vtable->run(self, &f.objective);
        vtable->destroy(self);
    }
    for (int i = 0; i < MAX_PARAMS; i++) {
        free(f.list[i]);
    }
    free(bounds);
    return result; /* the library stays loaded, as in the host */
}

void fake_free(fake_result *result)
{
    free(result->x);
    free(result->rows);
    memset(result, 0, sizeof(*result));
}

uint64_t fake_count(const fake_result *result, const char *tag)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < result->evaluations; i++) {
        count += strcmp(result->rows[i].tag, tag) == 0;
    }
    return count;
}

uint64_t fake_groups(const fake_result *result)
{
    uint64_t groups = 0;
    for (uint64_t i = 0; i < result->evaluations; i++) {
        groups = result->rows[i].group > groups ? result->rows[i].group : groups;
    }
    return groups;
}

double fake_best_after(const fake_result *result, uint64_t count)
{
    double best = INFINITY;
    for (uint64_t i = 0; i < count && i < result->evaluations; i++) {
        best = result->rows[i].loss < best ? result->rows[i].loss : best;
    }
    return best;
}
