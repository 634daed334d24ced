/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - a sphere that takes many rows in one call, and appends how many rows each call has to a file. */
#include <diffsim/ext/batch.h>
#include <diffsim/helper/params.h>
#include <diffsim/plugin.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct calls {
    const char *log;
} calls;

static const ds_param *const params[] = {
    DS_TEXT("log", "", "File to which each call appends a line with its number of rows; empty = none."),
    NULL};

static ds_status create(const ds_host *host, void **out)
{
    calls *c = calloc(1, sizeof *c);
    if (c == NULL || host->get_text(host, "log", &c->log) != DS_OK) {
        host->error(host, DS_E_NOMEM, "no memory");
        free(c);
        return DS_E_NOMEM;
    }
    *out = c;
    return DS_OK;
}

static ds_status info(void *self, ds_env_info *out)
{
    (void)self;
    out->n = 6;
    out->steps = 1;
    out->loss_floor = 0;
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

static ds_status evaluate_many(void *self, uint64_t count, ds_eval *const *io)
{
    const calls *c = self;
    for (uint64_t k = 0; k < count; k++) {
        ds_eval *e = io[k];
        e->loss = 0;
        for (uint64_t i = 0; i < e->n; i++) {
            e->loss += e->x[i] * e->x[i];
            if (e->want & DS_WANT_GRAD) {
                e->grad[i] = 2 * e->x[i];
            }
        }
        e->outcome = DS_EVAL_OK;
        e->grad_kind = e->want & DS_WANT_GRAD ? DS_GRAD_ADJOINT : DS_GRAD_NONE;
        e->bad_step = -1;
        e->cost_steps = 1;
    }
    char line[32];
    const int fd = c->log[0] != '\0' ? open(c->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    const int length = snprintf(line, sizeof line, "%llu\n", (unsigned long long)count);
    ds_status status = c->log[0] == '\0' || write(fd, line, (size_t)length) == length ? DS_OK : DS_E_IO;
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

static ds_status evaluate(void *self, ds_eval *io)
{
    return evaluate_many(self, 1, &io);
}

static const ds_env_batch batch = {.struct_size = sizeof batch, .evaluate = evaluate_many};

static const void *get_extension(void *self, const char *id)
{
    (void)self;
    return strcmp(id, DS_EXT_BATCH) == 0 ? &batch : NULL;
}

static const char *const extensions[] = {DS_EXT_BATCH, NULL};
static const ds_env_vtable vtable = {.struct_size = sizeof vtable,
                                     .create = create,
                                     .destroy = free,
                                     .info = info,
                                     .bounds = bounds,
                                     .evaluate = evaluate,
                                     .get_extension = get_extension};
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
