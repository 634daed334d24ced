/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - a sphere that takes many rows in one call and holds many lanes, and logs the number of rows of
 * each call to a file. Its channel is x; in stepwise control the actions are the variables. */
#include <diffsim/ext/channel.h>
#include <diffsim/ext/steps.h>
#include <diffsim/helper/eval.h>
#include <diffsim/helper/params.h>
#include <diffsim/plugin.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 6 };

/* An open episode; the key and the loss so far are observed. */
typedef struct lane {
    int open;
    uint64_t key, step;
    double loss;
} lane;

typedef struct calls {
    const char *log;
    int64_t max_rows, max_lanes, crash;
    lane *lane;
} calls;

static const ds_param *const params[] = {
    DS_TEXT("log", "",
            "File to which each call appends a line with its number of rows, behind b and s for begin() and "
            "step(); empty = none."),
    DS_INT("max_rows", "64", 0, 1 << 20, "", "Rows of one call at most."),
    DS_INT("max_lanes", "0", 0, 1000000, "", "Lanes of an instance; 0 = no stepwise control."),
    DS_BOOL("crash", "false", "A step with an action above 2.5 ends the process."), NULL};

static ds_status create(const ds_host *host, void **out)
{
    calls *c = calloc(1, sizeof *c);
    if (c == NULL || host->get_text(host, "log", &c->log) != DS_OK ||
        host->get_int(host, "max_rows", &c->max_rows) != DS_OK ||
        host->get_int(host, "max_lanes", &c->max_lanes) != DS_OK ||
        host->get_int(host, "crash", &c->crash) != DS_OK ||
        (c->lane = calloc((size_t)c->max_lanes + 1, sizeof *c->lane)) == NULL) {
        host->error(host, DS_E_NOMEM, "no memory");
        free(c);
        return DS_E_NOMEM;
    }
    *out = c;
    return DS_OK;
}

static void destroy(void *self)
{
    calls *c = self;
    if (c != NULL) {
        free(c->lane);
        free(c);
    }
}

static ds_status info(void *self, ds_env_info *out)
{
    out->n = N;
    out->steps = 1;
    out->loss_floor = 0;
    out->max_rows = (uint64_t)((const calls *)self)->max_rows;
    return DS_OK;
}

static ds_status bounds(void *self, uint64_t n, double *lower, double *upper, double *x0)
{
    (void)self;
    for (uint64_t i = 0; i < n; i++) {
        lower[i] = -2;
        upper[i] = 3;
        if (x0 != NULL) {
            x0[i] = 1;
        }
    }
    return DS_OK;
}

/* Appends a line to the log: what is called, and how many rows it has. */
static ds_status note(const calls *c, const char *what, uint64_t rows)
{
    char line[32];
    const int fd = c->log[0] != '\0' ? open(c->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    const int length = snprintf(line, sizeof line, "%s%llu\n", what, (unsigned long long)rows);
    ds_status status = c->log[0] == '\0' || write(fd, line, (size_t)length) == length ? DS_OK : DS_E_IO;
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    (void)self;
    io->loss = 0;
    for (uint64_t i = 0; i < io->n; i++) {
        io->loss += io->x[i] * io->x[i];
        if (io->want & DS_WANT_GRAD) {
            io->grad[i] = 2 * io->x[i];
        }
    }
    io->grad_kind = io->want & DS_WANT_GRAD ? DS_GRAD_ADJOINT : DS_GRAD_NONE;
    for (uint64_t i = 0; i < io->queries; i++) {
        ds_eval_query *q = io->query[i];
        memcpy(q->out, q->op == DS_QUERY_VALUE ? io->x : q->v, N * sizeof(double));
        q->kind = q->op == DS_QUERY_VALUE ? DS_GRAD_NONE : DS_GRAD_FORWARD;
    }
    io->cost_steps = 1;
    return DS_OK;
}

static ds_status evaluate_rows(void *self, const ds_rows *rows, const ds_results *results)
{
    ds_status status = ds_eval_each(self, rows, results, evaluate);
    return status == DS_OK ? note(self, "", rows->count) : status;
}

/* ---- channels ---- */

static ds_status count_channels(void *self, uint64_t *count)
{
    (void)self;
    *count = 1;
    return DS_OK;
}

static ds_status describe_channel(void *self, uint64_t i, ds_channel *out)
{
    (void)self;
    (void)i;
    out->name = "x";
    out->role = DS_CHANNEL_RESIDUAL;
    out->type = DS_TYPE_F64;
    out->ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    out->ndim = 1;
    out->shape[0] = N;
    out->unit = out->doc = "";
    return DS_OK;
}

/* ---- stepwise control ---- */

static ds_status steps_info(void *self, ds_steps_info *out)
{
    out->horizon = N;
    out->n_act = 1;
    out->n_obs = 2;
    out->max_lanes = (uint64_t)((const calls *)self)->max_lanes;
    return DS_OK;
}

static ds_status begin(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    calls *c = self;
    for (uint64_t k = 0; k < rows->count; k++) {
        c->lane[rows->lane[k]] = (lane){.open = 1, .key = rows->noise_key[k]};
        results->obs[2 * k] = (double)rows->noise_key[k];
        results->obs[2 * k + 1] = 0;
    }
    return note(c, "b", rows->count);
}

static ds_status step(void *self, const ds_step_rows *rows, const ds_step_results *results)
{
    calls *c = self;
    for (uint64_t k = 0; k < rows->count; k++) {
        lane *l = &c->lane[rows->lane[k]];
        const double action = rows->action[k];
        if (!l->open) {
            return DS_E_STATE;
        }
        if (c->crash && action > 2.5) {
            abort();
        }
        l->loss += action * action;
        l->step++;
        results->obs[2 * k] = (double)l->key;
        results->obs[2 * k + 1] = l->loss;
        results->reward[k] = -action * action;
        results->cost_steps[k] = 1;
        if (l->step == N) {
            results->ended[k] = DS_STEPS_TERMINATED;
            results->loss[k] = l->loss;
            l->open = 0;
        }
    }
    return note(c, "s", rows->count);
}

static const void *get_extension(void *self, const char *id)
{
    static const ds_env_channels channels = {
        .struct_size = sizeof channels, .count = count_channels, .describe = describe_channel};
    static const ds_env_steps steps = {
        .struct_size = sizeof steps, .info = steps_info, .begin = begin, .step = step};
    const calls *c = self;
    return strcmp(id, DS_EXT_CHANNELS) == 0                    ? (const void *)&channels
           : strcmp(id, DS_EXT_STEPS) == 0 && c->max_lanes > 0 ? (const void *)&steps
                                                               : NULL;
}

static const ds_env_vtable vtable = {.struct_size = sizeof vtable,
                                     .create = create,
                                     .destroy = destroy,
                                     .info = info,
                                     .bounds = bounds,
                                     .evaluate = evaluate_rows,
                                     .get_extension = get_extension};
static const char *const extensions[] = {DS_EXT_CHANNELS, DS_EXT_STEPS, NULL};
static const ds_desc desc = {.struct_size = sizeof desc,
                             .kind = DS_KIND_ENV,
                             .flags = DS_ENV_GRADIENT,
                             .id = "calls",
                             .version = "1",
                             .license = "Apache-2.0",
                             .summary = "Counts the rows of its calls.",
                             .description = "",
                             .citation = "",
                             .params = params,
                             .extensions = extensions};
DS_DEFINE_ENV(desc, vtable)
