/* SPDX-License-Identifier: Apache-2.0 */
/* soft.c - environments of deformable bodies: an episode, and its derivatives. */
#include "engines/physics/soft/soft_internal.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

/* ---- states ---- */

uint64_t soft_compared(const soft *s)
{
    return s->compared + (s->last ? 1 : 0);
}

int64_t soft_compared_at(const soft *s, uint64_t k)
{
    if (k >= s->first && (k - s->first) % s->each == 0 && (k - s->first) / s->each < s->compared) {
        return (int64_t)((k - s->first) / s->each);
    }
    return s->last && k == s->steps ? (int64_t)s->compared : SOFT_NOT_COMPARED;
}

int soft_is_shown(const soft *s, uint64_t k)
{
    return k % s->shown_each == 0 || k == s->steps;
}

const double *soft_frame(const soft *s, uint64_t k)
{
    return s->shown + k * 3 * s->model.particles;
}

/* ---- an episode ---- */

static void note(soft *s, ds_status status)
{
    s->failed = s->failed != DS_OK ? s->failed : status;
}

static void see_state(void *self, uint64_t k, const fem_state *at)
{
    soft *s = self;
    const int64_t i = soft_compared_at(s, k);
    if (soft_is_shown(s, k)) {
        const uint64_t frame = (k + s->shown_each - 1) / s->shown_each;
        memcpy(s->shown + frame * 3 * s->model.particles, at->q, 3 * s->model.particles * sizeof *at->q);
    }
    if (i != SOFT_NOT_COMPARED) {
        note(s, watch_show(&s->watcher.watch, (uint64_t)i, at->q));
    }
}

static void see_state_bar(void *self, uint64_t k, const fem_state *at, fem_state *bar)
{
    soft *s = self;
    const int64_t i = soft_compared_at(s, k);
    if (i != SOFT_NOT_COMPARED) {
        const double *r_bar = s->r_bar != NULL ? s->r_bar + (size_t)i * s->watcher.watch.size : NULL;
        note(s, watch_adjoint(&s->watcher.watch, (uint64_t)i, at->q, r_bar, bar->q));
    }
}

static void see_state_dot(void *self, uint64_t k, const fem_state *at, const fem_state *dot)
{
    soft *s = self;
    const int64_t i = soft_compared_at(s, k);
    if (i != SOFT_NOT_COMPARED) {
        double *out = s->r_dot + (size_t)i * s->watcher.watch.size;
        note(s, watch_tangent(&s->watcher.watch, (uint64_t)i, at->q, dot->q, out));
    }
}

static ds_status take_failure(soft *s, ds_status status)
{
    const ds_status failed = s->failed;
    s->failed = DS_OK;
    return status != DS_OK || failed == DS_OK
               ? status
               : ds_host_fail(s->watcher.kit.host, failed,
                              "no memory for a picture: reduce parameter image_size");
}

static double *driven(const soft *s, const fem_activation *act)
{
    return s->driven == SOFT_TETS ? act->tet : act->triangle;
}

static void activate(void *self, uint64_t step, fem_activation *act)
{
    const soft *s = self;
    control_activate(s->unknown.control, step, driven(s, act));
}

static void activate_bar(void *self, uint64_t step, const fem_activation *bar)
{
    const soft *s = self;
    control_adjoint(s->unknown.control, step, driven(s, bar));
}

static void activate_dot(void *self, uint64_t step, fem_activation *dot)
{
    const soft *s = self;
    if (s->unknown.weights_dot != NULL) { /* else they are no variables, and nothing changes */
        control_tangent(s->unknown.control, step, s->unknown.weights_dot, driven(s, dot));
    }
}

void soft_drive(soft *s)
{
    s->driver = (fem_driver){
        .frames = s->state, .state = see_state, .state_bar = see_state_bar, .state_dot = see_state_dot};
    if (s->unknown.control != NULL) {
        s->driver.activate = activate;
        s->driver.activate_bar = activate_bar;
        s->driver.activate_dot = activate_dot;
    }
}

ds_status soft_run(soft *s, int keep, int64_t *bad)
{
    return take_failure(s, fem_episode_run(s->episode, &s->driver, s, keep, bad));
}

ds_status soft_simulate(void *self, ds_eval *io)
{
    soft *s = self;
    int64_t bad = -1;
    quantity_apply(&s->unknown, io->x);
    quantity_error(&s->unknown, io->x, &s->error);
    const ds_status status = soft_run(s, watcher_reverses(io), &bad);
    io->bad_step = bad < 0 ? -1 : bad / (int64_t)s->shown_each;
    io->loss = status == DS_OK && bad < 0 ? watch_loss(&s->watcher.watch) : HUGE_VAL;
    return status;
}

/* x_bar[n] = the derivatives by x of sum(r_bar * residuals); r_bar NULL: of the loss. */
static ds_status reverse(soft *s, ds_eval *io, const double *r_bar, double *x_bar)
{
    int64_t bad = -1;
    s->r_bar = r_bar;
    if (s->unknown.control != NULL) {
        control_clear(s->unknown.control);
    }
    const ds_status status = take_failure(s, fem_episode_adjoint(s->episode, &s->bar, &bad));
    s->r_bar = NULL;
    quantity_gather(&s->unknown, io->x, &s->bar, x_bar);
    if (bad >= 0) {
        x_bar[0] = NAN; /* for the kit to see */
    }
    return status;
}

ds_status soft_adjoint(void *self, ds_eval *io)
{
    io->grad_kind = DS_GRAD_ADJOINT;
    return reverse(self, io, NULL, io->grad);
}

ds_status soft_reverse(void *self, ds_eval *io, const double *w, double *x_bar)
{
    soft *s = self;
    io->cost_steps += 2 * s->steps;
    return reverse(s, io, w, x_bar);
}

ds_status soft_forward(void *self, ds_eval *io, const double *v, double *out)
{
    soft *s = self;
    int64_t bad = -1;
    fem_variation_clear(&s->dot, &s->model);
    quantity_spread(&s->unknown, io->x, v, &s->dot);
    s->r_dot = out;
    io->cost_steps += 2 * s->steps;
    const ds_status status = take_failure(s, fem_tangent(s->episode, &s->driver, s, &s->dot, &bad));
    if (bad >= 0) {
        out[0] = NAN;
    }
    return status;
}
