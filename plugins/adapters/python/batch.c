/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - many points in one call of Python: points and noise keys go into the shared memory, losses and
 * gradients come out of it behind them. */
#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

#include "adapters/python/environment.h"

static ds_status put_points(python_env *p, uint64_t count, ds_eval *const *io)
{
    talk *t = &p->child.talk;
    const size_t n = (size_t)p->info.n;
    const ds_status st = child_settle(&p->child, p->host);
    if (st != DS_OK) {
        return st;
    }
    if (talk_grow(t, count * (2 * n + 2) * sizeof(double)) != 0) {
        return ds_host_fail(p->host, DS_E_NOMEM, "no memory for %llu points", (unsigned long long)count);
    }
    for (uint64_t k = 0; k < count; k++) {
        memcpy(t->room + k * n * sizeof(double), io[k]->x, n * sizeof(double));
        memcpy(t->room + (count * n + k) * sizeof(double), &io[k]->noise_key, sizeof io[k]->noise_key);
    }
    t->head->count = count;
    t->head->want = io[0]->want & DS_WANT_GRAD;
    return DS_OK;
}

/* One that has no loss is told so alone, where it is asked for again, with the line that belongs to it. */
static void take_point(const python_env *p, uint64_t count, uint64_t k, ds_eval *io)
{
    const size_t n = (size_t)p->info.n;
    const char *losses = p->child.talk.room + count * (n + 1) * sizeof(double),
               *grads = losses + count * sizeof(double);
    memcpy(&io->loss, losses + k * sizeof(double), sizeof(double));
    io->outcome = isfinite(io->loss) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    io->loss = isfinite(io->loss) ? io->loss : (double)INFINITY;
    io->bad_step = -1;
    io->cost_steps = 0;
    io->grad_kind = DS_GRAD_NONE;
    if ((io->want & DS_WANT_GRAD) != 0 && io->grad != NULL) {
        memcpy(io->grad, grads + k * n * sizeof(double), n * sizeof(double));
        io->grad_kind = DS_GRAD_ADJOINT;
    }
}

static ds_status batch_evaluate(void *self, uint64_t count, ds_eval *const *io)
{
    python_env *p = self;
    const uint32_t needed = (io[0]->want & DS_WANT_GRAD) != 0 ? TALK_BATCH_GRADIENT : TALK_BATCH_LOSS;
    const uint64_t asks = DS_HAS(ds_eval, io[0], ask) ? io[0]->asks : 0;
    if ((p->batches & needed) == 0 || asks > 0) {
        return DS_E_UNSUPPORTED;
    }
    picture_clear(&p->picture);
    p->open = 0;
    ds_status st = put_points(p, count, io);
    st = st != DS_OK ? st : child_ask(&p->child, p->host, TALK_MANY);
    if (st < 0 && !p->batch_failed) {
        p->batch_failed = 1;
        ds_host_say(p->host, DS_LOG_WARNING, "%.500s; such points are evaluated one by one",
                    p->child.talk.head->text);
    }
    for (uint64_t k = 0; st == DS_OK && k < count; k++) {
        take_point(p, count, k, io[k]);
    }
    return st;
}

const ds_env_batch python_env_batch = {.struct_size = sizeof python_env_batch, .evaluate = batch_evaluate};
