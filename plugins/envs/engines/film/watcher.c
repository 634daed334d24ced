/* SPDX-License-Identifier: Apache-2.0 */
/* watcher.c - an environment whose loss is that of a watch: its channels. */
#include "engines/film/watcher.h"

enum { RESIDUALS, PICTURES, TARGET, CHANNELS };

const char *const watcher_observes[] = {"image", "state", NULL};

uint64_t watcher_channels(const void *self)
{
    const watcher *e = self;
    return e->watch.film != NULL ? CHANNELS : 1;
}

void watcher_channel(const void *self, uint64_t i, ds_channel *out)
{
    const watcher *e = self;
    if (i == RESIDUALS) {
        out->role = DS_CHANNEL_RESIDUAL;
        out->ops = DS_CAN(DS_ASK_VALUE) | DS_CAN(DS_ASK_JV) | DS_CAN(DS_ASK_JTV);
        out->shape[0] = watch_residuals(&e->watch);
        out->name = "residuals";
        out->doc = "Differences from the target, scaled so that their squares add up to the loss.";
        return;
    }
    film_describe(e->watch.film, out);
    out->name = i == PICTURES ? "pictures" : "target";
    out->doc = i == PICTURES ? "What the cameras see of the compared states, side by side."
                             : "What the cameras are to see.";
}

ds_status watcher_answer(void *self, ds_eval *io, ds_ask *ask)
{
    watcher *e = self;
    if (ask->op == DS_ASK_JV) {
        ask->kind = DS_GRAD_FORWARD;
        return e->forward(e, io, ask->v, ask->out);
    }
    if (ask->op == DS_ASK_JTV) {
        ask->kind = DS_GRAD_ADJOINT;
        return e->reverse(e, io, ask->v, ask->out);
    }
    if (ask->channel == RESIDUALS) {
        watch_residual(&e->watch, ask->out);
    } else {
        film_strip(e->watch.film, ask->channel == TARGET, ask->out);
    }
    return DS_OK;
}

int watcher_reverses(const ds_eval *io)
{
    for (uint64_t i = 0; i < io->asks; i++) {
        if (io->ask[i]->op == DS_ASK_JTV) {
            return 1;
        }
    }
    return (io->want & DS_WANT_GRAD) != 0;
}
