/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - many points in one call of Python: points and noise keys go into the shared memory, losses and
 * gradients follow them there. */
#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

#include "adapters/python/environment.h"

static ds_status put_points(python_env *p, const ds_rows *rows)
{
    talk *t = &p->child.talk;
    const size_t n = (size_t)p->info.n;
    const uint64_t count = rows->count;
    const ds_status st = child_settle(&p->child, p->host);
    if (st != DS_OK) {
        return st;
    }
    if (talk_grow(t, count * (2 * n + 2) * sizeof(double)) != 0) {
        return ds_host_fail(p->host, DS_E_NOMEM, "no memory for %llu points", (unsigned long long)count);
    }
    for (uint64_t k = 0; k < count; k++) {
        const uint64_t key = rows->noise_key != NULL ? rows->noise_key[k] : 0;
        memcpy(t->room + k * n * sizeof(double), rows->x + k * rows->stride, n * sizeof(double));
        memcpy(t->room + (count * n + k) * sizeof(double), &key, sizeof key);
    }
    t->head->count = count;
    t->head->want = rows->want & DS_WANT_GRAD;
    return DS_OK;
}

/* One that has no loss gets its message alone, when the host evaluates it again. */
static void take_point(const python_env *p, uint64_t count, uint64_t k, uint32_t want, const ds_results *out)
{
    const size_t n = (size_t)p->info.n;
    const char *losses = p->child.talk.room + count * (n + 1) * sizeof(double),
               *grads = losses + count * sizeof(double);
    memcpy(&out->loss[k], losses + k * sizeof(double), sizeof(double));
    out->outcome[k] = isfinite(out->loss[k]) ? DS_EVAL_OK : DS_EVAL_DIVERGED;
    out->loss[k] = isfinite(out->loss[k]) ? out->loss[k] : (double)INFINITY;
    if ((want & DS_WANT_GRAD) != 0) {
        memcpy(out->grad + k * out->stride, grads + k * n * sizeof(double), n * sizeof(double));
        out->grad_kind[k] = DS_GRAD_ADJOINT;
    }
}

int python_env_takes(const python_env *p, const ds_rows *rows)
{
    const uint32_t needed = (rows->want & DS_WANT_GRAD) != 0 ? TALK_BATCH_GRADIENT : TALK_BATCH_LOSS;
    return rows->count > 1 && (p->batches & needed) != 0 && rows->queries == 0 &&
           (rows->want & DS_WANT_SCENE) == 0;
}

ds_status python_env_batch(python_env *p, const ds_rows *rows, const ds_results *results)
{
    picture_clear(&p->picture);
    p->open = 0;
    ds_status st = put_points(p, rows);
    st = st != DS_OK ? st : child_ask(&p->child, p->host, TALK_MANY);
    if (st < 0 && !p->batch_failed) {
        p->batch_failed = 1;
        ds_host_say(p->host, DS_LOG_WARNING, "%.500s; such points are evaluated one by one",
                    p->child.talk.head->text);
    }
    for (uint64_t k = 0; st == DS_OK && k < rows->count; k++) {
        take_point(p, rows->count, k, rows->want, results);
    }
    return st;
}
