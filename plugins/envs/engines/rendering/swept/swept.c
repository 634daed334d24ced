/* SPDX-License-Identifier: Apache-2.0 */
/* swept.c - environments whose state is a few numbers: their episodes, losses and derivatives. */
#include "swept.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

/* ---- parameters ---- */

void swept_read(swept *s, ds_param_reader *in, const swept_task *task)
{
    s->task = task;
    s->knobs.seed = (uint64_t)ds_param_int(in, "seed");
    s->observe = (int)ds_param_int(in, "observe");
    s->image = ds_param_text(in, "target_image");
    s->floor = -HUGE_VAL;
    look_read(&s->look, in, 1);
}

void swept_object(swept *s, ds_param_reader *in)
{
    s->knobs.object = (uint64_t)ds_param_int(in, "object");
}

void swept_ready(swept *s, ds_param_reader *in)
{
    ds_env_kit *kit = &s->watcher.kit;
    if (in->status == DS_OK) {
        knob_pick(&s->knobs, in);
        knob_identify(&s->knobs, &s->error);
    }
    kit->n = s->knobs.n;
    kit->cost = s->steps;
    kit->steps = (s->steps + s->shown_each - 1) / s->shown_each;
    kit->dt = s->dt * (double)s->shown_each;
}

/* Parameters are 0 where they could not be read. */
static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void swept_frames(swept *s, ds_param_reader *in, double between, int64_t first)
{
    const int64_t frames = larger(2, ds_param_int(in, "frames"));
    const int64_t each = larger(1, ds_param_int(in, "compare_every"));
    const int64_t substeps = larger(1, ds_param_int(in, "substeps"));
    s->dt = between / (double)substeps;
    s->steps = (uint64_t)((first + frames - 1) * substeps);
    s->shown_each = (uint64_t)substeps;
    s->states = (uint64_t)((frames - 1) / each + 1);
    uint64_t *compared = ds_memory_take(&s->watcher.kit.memory, s->states, sizeof *compared);
    for (uint64_t k = 0; compared != NULL && k < s->states; k++) {
        compared[k] = (uint64_t)((first + (int64_t)k * each) * substeps);
    }
    s->compared = compared;
}

void swept_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    knob_range(&((const swept *)self)->knobs, i, lower, upper, start);
}

void swept_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    knob_name(&((const swept *)self)->knobs, i, out);
}

/* ---- an episode ---- */

static ds_status no_picture(const swept *s, ds_status status)
{
    return status == DS_OK || status == DS_STOPPED
               ? status
               : ds_host_fail(s->watcher.kit.host, status,
                              "no memory for a picture: reduce parameter image_size");
}

/* Asked before each picture: these take longer than what is between them. */
static ds_status going_on(const swept *s)
{
    return s->watcher.kit.host->should_stop(s->watcher.kit.host) != 0 ? DS_STOPPED : DS_OK;
}

/* The episode of these numbers; *bad: -1, or the step that went wrong. */
static ds_status run(swept *s, int64_t *bad)
{
    ds_status status = DS_OK;
    *bad = s->task->launch(s, s->value);
    for (uint64_t k = 0; *bad < 0 && status == DS_OK && k < s->states; k++) {
        s->task->place(s, s->compared[k], s->points);
        status = going_on(s);
        status = status != DS_OK ? status : watch_show(&s->watcher.watch, k, s->points);
    }
    return no_picture(s, status);
}

ds_status swept_simulate(void *self, ds_eval *io)
{
    swept *s = self;
    int64_t bad = -1;
    knob_values(&s->knobs, io->x, s->value);
    s->w = io->x + s->knobs.n;
    knob_error(&s->knobs, s->value, &s->error);
    const ds_status status = run(s, &bad);
    io->bad_step = bad < 0 ? -1 : bad / (int64_t)s->shown_each;
    io->loss = status == DS_OK && bad < 0 ? watch_loss(&s->watcher.watch) : HUGE_VAL;
    return status;
}

/* x_bar[n] = the derivatives by x of sum(r_bar * residuals); r_bar NULL: of the loss. */
static ds_status reverse(swept *s, const double *r_bar, double *x_bar)
{
    watch *w = &s->watcher.watch;
    const size_t n = 3 * (size_t)s->subject.mesh.vertices;
    double bar[SWEPT_NUMBERS] = {0};
    ds_status status = DS_OK;
    int finite = 1;
    memset(s->value_bar, 0, sizeof s->value_bar);
    s->w_bar = x_bar + s->knobs.n;
    memset(s->w_bar, 0, s->watcher.kit.hybrid.variables * sizeof *s->w_bar);
    for (uint64_t k = s->states; status == DS_OK && finite && k-- > 0;) {
        const uint64_t t = s->compared[k];
        memset(s->points_bar, 0, n * sizeof *s->points_bar);
        s->task->place(s, t, s->points);
        const double *here = r_bar != NULL ? r_bar + k * w->size : NULL;
        status = going_on(s);
        status = status != DS_OK ? status : watch_adjoint(w, k, s->points, here, s->points_bar);
        s->task->place_bar(s, t, s->points_bar, bar, s->value_bar);
        finite = s->task->back(s, k > 0 ? s->compared[k - 1] : 0, t, bar, s->value_bar);
    }
    s->task->start_bar(s, bar, s->value_bar);
    knob_gather(&s->knobs, s->value, s->value_bar, x_bar);
    if (!finite) {
        x_bar[0] = NAN; /* for the kit to see */
    }
    return no_picture(s, status);
}

ds_status swept_adjoint(void *self, ds_eval *io)
{
    io->grad_kind = DS_GRAD_ADJOINT;
    return reverse(self, NULL, io->grad);
}

static ds_status swept_reverse(void *self, ds_eval *io, const double *w, double *x_bar)
{
    swept *s = self;
    io->cost_steps += 2 * s->steps;
    return reverse(s, w, x_bar);
}

static ds_status swept_forward(void *self, ds_eval *io, const double *v, double *out)
{
    swept *s = self;
    watch *w = &s->watcher.watch;
    double dot[SWEPT_NUMBERS] = {0}, value_dot[KNOBS];
    ds_status status = DS_OK;
    int finite = 1;
    knob_spread(&s->knobs, s->value, v, value_dot);
    s->w_dot = v + s->knobs.n;
    s->task->start_dot(s, value_dot, dot);
    for (uint64_t k = 0; status == DS_OK && finite && k < s->states; k++) {
        const uint64_t t = s->compared[k];
        finite = s->task->forth(s, k > 0 ? s->compared[k - 1] : 0, t, dot, value_dot);
        s->task->place(s, t, s->points);
        s->task->place_dot(s, t, dot, value_dot, s->points_bar);
        status = going_on(s);
        status = status != DS_OK ? status : watch_tangent(w, k, s->points, s->points_bar, out + k * w->size);
    }
    io->cost_steps += 2 * s->steps;
    if (!finite) {
        out[0] = NAN;
    }
    return no_picture(s, status);
}

/* ---- what is made once ---- */

static ds_status make_target(swept *s)
{
    int64_t bad = -1;
    knob_values(&s->knobs, NULL, s->value);
    s->is_target = 1;
    ds_status status = run(s, &bad);
    s->is_target = 0;
    if (status == DS_OK && bad >= 0) {
        return ds_host_fail(s->watcher.kit.host, DS_E_PARAM,
                            "the episode of the target diverges at step %lld: %s", (long long)bad,
                            s->task->cure);
    }
    for (uint64_t k = 0; status == DS_OK && k < s->states; k++) {
        watch_target(&s->watcher.watch, k);
    }
    s->task->place(s, s->steps, s->goal);
    if (status == DS_OK && s->watcher.watch.film != NULL && s->image[0] != '\0') {
        status = film_read_targets(s->watcher.watch.film, s->image, "target_image", s->watcher.kit.host);
    }
    return status;
}

ds_status swept_allocate(void *self)
{
    swept *s = self;
    ds_memory *m = &s->watcher.kit.memory;
    const size_t points = s->subject.mesh.vertices;
    const ds_hybrid *h = &s->watcher.kit.hybrid;
    if (h->l1 > 0 || h->l2 > 0) {
        return ds_host_fail(
            s->watcher.kit.host, DS_E_PARAM,
            "parameters residual_l1 and residual_l2: the loss of this environment is a sum of squares, "
            "which they would not be part of: leave them 0, and limit weights by residual_limit");
    }
    s->watcher.forward = swept_forward;
    s->watcher.reverse = swept_reverse;
    ds_memory_each(m, 3 * points, (double **const[]){&s->points, &s->points_bar, &s->goal, NULL});
    if (m->failed) {
        return DS_OK; /* the kit says so */
    }
    const ds_status status = watch_open(&s->watcher.watch, s->observe ? WATCH_POINTS : WATCH_PICTURES,
                                        s->states, points, NULL, &s->look, &s->subject, s->watcher.kit.host);
    return status != DS_OK ? status : make_target(s);
}

void swept_release(void *self)
{
    watch_close(&((swept *)self)->watcher.watch);
}

/* ---- what is seen ---- */

enum { BODY, TARGET };

void swept_bodies(void *self, ds_scene_kit *k)
{
    const swept *s = self;
    for (int b = BODY; b <= TARGET; b++) {
        const uint64_t at = ds_scene_kit_body(k, b == BODY ? "body" : "target", DS_BODY_MESH,
                                              b == BODY ? DS_ROLE_MATERIAL : DS_ROLE_TARGET,
                                              s->subject.mesh.vertices, (double[4]){0, 0, 0, 0});
        k->body[at].index = s->subject.mesh.face;
        k->body[at].index_count = 3 * (uint64_t)s->subject.mesh.faces;
    }
    for (size_t i = 0; i < s->subject.mesh.vertices; i++) {
        ds_scene_kit_include(k, s->goal[3 * i], s->goal[3 * i + 1], s->goal[3 * i + 2], 0);
    }
    identified_metrics(&s->error, k);
    k->info.ground = s->floor;
    if (isfinite(s->floor)) {
        k->info.box[1] = fmin(k->info.box[1], s->floor);
    }
}

uint64_t swept_state(const swept *s, uint64_t k)
{
    return k * s->shown_each < s->steps ? k * s->shown_each : s->steps;
}

void swept_place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const swept *s = self;
    if (b == TARGET) {
        memcpy(out, s->goal, 3 * (size_t)s->subject.mesh.vertices * sizeof *out);
    } else {
        s->task->place(s, swept_state(s, k), out);
    }
}

double swept_measure(swept *s, uint64_t k, double mean[3])
{
    const size_t n = s->subject.mesh.vertices;
    double goal[3] = {0, 0, 0}, square = 0;
    mean[0] = mean[1] = mean[2] = 0;
    s->task->place(s, swept_state(s, k), s->points);
    for (size_t i = 0; i < n; i++) {
        const double *p = s->points + 3 * i;
        ds_scene_kit_include(&s->watcher.kit.scene, p[0], p[1], p[2], 0);
        for (int d = 0; d < 3; d++) {
            mean[d] += p[d] / (double)n;
            goal[d] += s->goal[3 * i + (size_t)d] / (double)n;
        }
    }
    for (int d = 0; d < 3; d++) {
        square += (mean[d] - goal[d]) * (mean[d] - goal[d]);
    }
    return sqrt(square);
}
