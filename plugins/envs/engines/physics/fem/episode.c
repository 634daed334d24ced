/* SPDX-License-Identifier: Apache-2.0 */
/* episode.c - episodes forward (see episode.h). States are kept as the kernels write them; where that
 * would need more memory than allowed, those of one segment and a checkpoint at the begin of each. */
#include "episode_internal.h"

#include <math.h>
#include <string.h>

static const size_t default_bytes = 300000000;
static const double default_speed = 1e5;

enum { STOP_EVERY = 64 };

/* Steps between checkpoints: all steps where that fits, or about the root of them, which needs least. */
static uint64_t segment_of(const fem_options *o, size_t state_bytes)
{
    if (o->steps + 1 <= o->memory_bytes / state_bytes) {
        return o->steps;
    }
    return (uint64_t)ceil(sqrt((double)o->steps));
}

static void *take(fem_episode *e, size_t count, size_t size)
{
    e->bytes += count * size;
    return ds_memory_take(&e->room, count, size);
}

/* A line of the cache for each particle. */
static double *aligned(double *block)
{
    const uintptr_t line = 64;
    return (double *)(((uintptr_t)block + line - 1) / line * line);
}

static void open_arrays(fem_episode *e)
{
    const size_t n = e->model->particles, width = FEM_WIDTH * n;
    e->segment = segment_of(&e->options, width * sizeof(double));
    const uint64_t segments = (e->options.steps + e->segment - 1) / e->segment;
    e->kept = take(e, width * (e->segment + 1) + FEM_WIDTH, sizeof *e->kept);
    e->kept = e->kept ? aligned(e->kept) : NULL;
    e->checkpoint = segments > 1 ? take(e, width * segments, sizeof *e->checkpoint) : NULL;
    e->force = take(e, 4 * n, sizeof *e->force);
    e->bar = take(e, width, sizeof *e->bar);
    e->mass_bar = take(e, n, sizeof *e->mass_bar);
    e->shown.q = take(e, 3 * n, sizeof(double));
    e->shown.u = take(e, 3 * n, sizeof(double));
    e->shown_bar.q = take(e, 3 * n, sizeof(double));
    e->shown_bar.u = take(e, 3 * n, sizeof(double));
}

ds_status fem_episode_open(fem_episode **out, const fem_model *m, const fem_options *o, const ds_host *host)
{
    *out = NULL;
    const fem_kernels *kernels = fem_kernels_find(o->isa);
    if (!(isfinite(o->dt) && o->dt > 0) || o->steps == 0 || o->steps > (uint64_t)1 << 32 || !kernels) {
        return DS_E_PARAM;
    }
    fem_episode *e = calloc(1, sizeof *e);
    if (!e) {
        return DS_E_NOMEM;
    }
    *e = (fem_episode){.model = m, .host = host, .kernels = kernels, .options = *o};
    e->options.memory_bytes = o->memory_bytes ? o->memory_bytes : default_bytes;
    e->options.most_speed = o->most_speed > 0 ? o->most_speed : default_speed;
    fem_pack_open(&e->pack, &e->room, m);
    open_arrays(e);
    if (e->room.failed) {
        fem_episode_close(e);
        return DS_E_NOMEM;
    }
    *out = e;
    return DS_OK;
}

void fem_episode_close(fem_episode *e)
{
    if (e) {
        ds_memory_free(&e->room);
        free(e);
    }
}

size_t fem_episode_bytes(const fem_episode *e)
{
    return e->bytes + e->pack.slots * FEM_WIDTH * sizeof(double);
}

const char *fem_episode_isa(const fem_episode *e)
{
    return e->kernels->isa;
}

/* ---- forward ---- */

int episode_frame(fem_episode *e, uint64_t k)
{
    const fem_driver *d = e->driver;
    while (e->frame < d->frame_count && d->frames[e->frame] < k) {
        e->frame++;
    }
    return e->frame < d->frame_count && d->frames[e->frame] == k;
}

void episode_show(fem_episode *e, const double *state)
{
    fem_pack_from_state(e->pack.particles, state, 0, e->shown.q);
    fem_pack_from_state(e->pack.particles, state, 4, e->shown.u);
}

void episode_force(fem_episode *e, uint64_t step, const double *state)
{
    if (e->driver->activate) {
        fem_activation act = episode_activation(&e->pack);
        e->driver->activate(e->self, step, &act);
    }
    e->kernels->force(&e->pack, state, e->force);
}

int episode_step(fem_episode *e, uint64_t step, const double *state, double *next)
{
    episode_force(e, step, state);
    const double most = e->kernels->step(&e->pack, e->options.dt, state, e->force, next);
    return most <= e->options.most_speed * e->options.most_speed;
}

int episode_stopped(const fem_episode *e, uint64_t step)
{
    return step % STOP_EVERY == 0 && e->host && e->host->should_stop(e->host);
}

/* Where state k is while the segment of `at` is in work; without `keep` two places take turns. */
static double *place_of(const fem_episode *e, uint64_t k)
{
    const uint64_t begin = k == 0 ? 0 : (k - 1) / e->segment * e->segment;
    return e->kept + episode_width(e) * (e->keep ? k - begin : k % 2);
}

static void show_frame(fem_episode *e)
{
    if (episode_frame(e, e->at) && e->driver->state) {
        episode_show(e, place_of(e, e->at));
        e->driver->state(e->self, e->at, &e->shown);
    }
}

void fem_episode_begin(fem_episode *e, const fem_driver *driver, void *self, int keep)
{
    static const fem_driver none = {0};
    const size_t n = e->pack.particles;
    fem_pack_load(&e->pack, e->model);
    e->driver = driver ? driver : &none;
    e->self = self;
    e->keep = keep;
    e->ended = 0;
    e->frame = 0;
    e->at = 0;
    e->here = 0;
    fem_pack_to_state(n, e->model->q, e->kept, 0);
    fem_pack_to_state(n, e->model->u, e->kept, 4);
    show_frame(e);
}

/* The state at the begin of a segment goes to its place in the new segment, and to the checkpoint. */
static double *begin_step(fem_episode *e)
{
    double *state = place_of(e, e->at);
    if (!e->keep || e->at % e->segment != 0 || !e->checkpoint) {
        return state;
    }
    const size_t bytes = episode_width(e) * sizeof *state;
    memcpy(e->checkpoint + e->at / e->segment * episode_width(e), state, bytes);
    e->here = e->at;
    if (state != e->kept) {
        memcpy(e->kept, state, bytes);
    }
    return e->kept;
}

ds_status fem_episode_advance(fem_episode *e, uint64_t until, int64_t *bad)
{
    *bad = -1;
    while (e->at < until && e->at < e->options.steps) {
        if (episode_stopped(e, e->at)) {
            return DS_STOPPED;
        }
        const double *state = begin_step(e);
        if (e->ended || !episode_step(e, e->at, state, place_of(e, e->at + 1))) {
            e->ended = 1;
            *bad = (int64_t)e->at;
            return DS_OK;
        }
        e->at++;
        show_frame(e);
    }
    return DS_OK;
}

ds_status fem_episode_run(fem_episode *e, const fem_driver *driver, void *self, int keep, int64_t *bad)
{
    fem_episode_begin(e, driver, self, keep);
    return fem_episode_advance(e, e->options.steps, bad);
}

fem_state fem_episode_state(fem_episode *e)
{
    episode_show(e, place_of(e, e->at));
    return e->shown;
}
