/* SPDX-License-Identifier: Apache-2.0 */
/* watcher.c - an environment whose loss is that of a watch: its channels. */
#include "engines/rendering/film/watcher.h"

const char *const watcher_observes[] = {"image", "state", NULL};

uint64_t watcher_channels(const void *self)
{
    const watcher *e = self;
    return e->watch.film != NULL ? FILM_CHANNELS : 1;
}

void watcher_channel(const void *self, uint64_t i, ds_channel *out)
{
    const watcher *e = self;
    const uint32_t ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    if (e->watch.film != NULL) {
        film_describe(e->watch.film, i, ops, out);
        return;
    }
    out->role = DS_CHANNEL_RESIDUAL;
    out->ops = ops;
    out->shape[0] = watch_residuals(&e->watch);
    out->name = "residuals";
    out->doc = "Differences from the target, scaled so that their squares add up to the loss.";
}

ds_status watcher_answer(void *self, ds_eval *io, ds_eval_query *ask)
{
    watcher *e = self;
    if (ask->op == DS_QUERY_JV) {
        ask->kind = e->kit.grad_kind == DS_GRAD_SMOOTHED ? DS_GRAD_SMOOTHED : DS_GRAD_FORWARD;
        return e->forward(e, io, ask->v, ask->out);
    }
    if (ask->op == DS_QUERY_JTV) {
        ask->kind = e->kit.grad_kind == DS_GRAD_SMOOTHED ? DS_GRAD_SMOOTHED : DS_GRAD_ADJOINT;
        return e->reverse(e, io, ask->v, ask->out);
    }
    if (e->watch.film != NULL) {
        film_answer(e->watch.film, ask->channel, ask->out);
    } else {
        watch_residual(&e->watch, ask->out);
    }
    return DS_OK;
}

int watcher_reverses(const ds_eval *io)
{
    for (uint64_t i = 0; i < io->queries; i++) {
        if (io->query[i]->op == DS_QUERY_JTV) {
            return 1;
        }
    }
    return (io->want & DS_WANT_GRAD) != 0;
}
