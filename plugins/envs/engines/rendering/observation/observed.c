/* SPDX-License-Identifier: Apache-2.0 */
/* observed.c - environments with a small state: their episodes, losses and derivatives. */
#include "engines/rendering/observation/observed.h"

#include "engines/kit/penalties.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

/* ---- parameters ---- */

void observed_read(observed *s, ds_param_reader *in, const observed_task *task)
{
    s->task = task;
    s->decisions.seed = (uint64_t)ds_param_int(in, "seed");
    s->observe = (int)ds_param_int(in, "observe");
    s->image = ds_param_text(in, "target_image");
    s->floor = -HUGE_VAL;
    cameras_read(&s->cameras, in, 1);
}

void observed_object(observed *s, ds_param_reader *in)
{
    s->decisions.object = (uint64_t)ds_param_int(in, "object");
}

/* Bounds and start of the numbers of the view; ours. Those of the camera are relative to its place. */
static const decision view_decisions[VIEW_NUMBERS] = {
    DECISION("camera.distance", "m", 0.6, 1.6, 1.15), DECISION("camera.elevation", "deg", -30, 30, 10),
    DECISION("camera.azimuth", "deg", -45, 45, 15),   DECISION("light.elevation", "deg", 0, 90, 60),
    DECISION("light.azimuth", "deg", -180, 180, 30),  DECISION("light.ambient", "", 0, 1, 0.4),
    DECISION("light.diffuse", "", 0, 1, 0.4),         DECISION("light.specular", "", 0, 1, 0.2),
    DECISION("light.shine", "", 1, 100, 10)};

/* Adds the numbers of the view that this renderer shows to those that the scene offers. */
static void offer_view(observed *s)
{
    decision_set *set = &s->decisions;
    const cameras *l = &s->cameras;
    const int lit = l->mode != SOFTRAS_ALPHA && l->shading == CAMERAS_LIGHT;
    const uint32_t shown = s->observe                    ? 0
                           : !lit                        ? VIEW_LIGHT
                           : l->renderer == CAMERAS_DIBR ? VIEW_NUMBERS
                                                         : VIEW_SPECULAR;
    decision *all = ds_memory_take(&s->env.kit.memory, set->offers + VIEW_NUMBERS, sizeof *all);
    s->view = set->offers;
    if (all == NULL) {
        return; /* the kit reports it */
    }
    memcpy(all, set->offered, set->offers * sizeof *all);
    for (uint32_t i = 0; i < shown; i++) {
        decision *d = &all[set->offers + i];
        const double at = l->view[i];
        *d = view_decisions[i];
        if (i == VIEW_CAMERA) {
            d->lower *= at;
            d->upper *= at;
            d->start *= at;
        } else if (i < VIEW_LIGHT) {
            d->lower = fmax(at + d->lower, i == VIEW_CAMERA + 1 ? -89 : -HUGE_VAL);
            d->upper = fmin(at + d->upper, i == VIEW_CAMERA + 1 ? 89 : HUGE_VAL);
            d->start = fmin(at + d->start, d->upper);
        }
        set->truth[set->offers + i] = at;
    }
    set->offered = all;
    set->offers += shown;
}

void observed_ready(observed *s, ds_param_reader *in)
{
    ds_env_kit *kit = &s->env.kit;
    offer_view(s);
    if (in->status == DS_OK) {
        decision_pick(&s->decisions, in);
        decision_identify(&s->decisions, &s->error);
    }
    for (uint64_t i = 0; i < s->decisions.n; i++) {
        s->view_varies |= s->decisions.at[i] >= s->view;
    }
    kit->n = s->decisions.n;
    kit->cost = s->steps;
    kit->steps = (s->steps + s->shown_each - 1) / s->shown_each;
    kit->dt = s->dt * (double)s->shown_each;
}

/* For parameters that are 0 because reading failed. */
static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void observed_frames(observed *s, ds_param_reader *in, double between, int64_t first)
{
    const int64_t frames = larger(2, ds_param_int(in, "frames"));
    const int64_t each = larger(1, ds_param_int(in, "compare_every"));
    const int64_t substeps = larger(1, ds_param_int(in, "substeps"));
    s->dt = between / (double)substeps;
    s->steps = (uint64_t)((first + frames - 1) * substeps);
    s->shown_each = (uint64_t)substeps;
    s->states = (uint64_t)((frames - 1) / each + 1);
    uint64_t *compared = ds_memory_take(&s->env.kit.memory, s->states, sizeof *compared);
    for (uint64_t k = 0; compared != NULL && k < s->states; k++) {
        compared[k] = (uint64_t)((first + (int64_t)k * each) * substeps);
    }
    s->compared = compared;
}

void observed_range(const void *self, uint64_t i, double *lower, double *upper, double *start)
{
    decision_range(&((const observed *)self)->decisions, i, lower, upper, start);
}

void observed_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    decision_name(&((const observed *)self)->decisions, i, out);
}

/* ---- an episode ---- */

static ds_status no_picture(const observed *s, ds_status status)
{
    return status == DS_OK || status == DS_STOPPED
               ? status
               : ds_host_fail(s->env.kit.host, status, "no memory for an image: reduce parameter image_size");
}

/* Checked before each image: drawing takes longer than the steps between. */
static ds_status going_on(const observed *s)
{
    return s->env.kit.host->should_stop(s->env.kit.host) != 0 ? DS_STOPPED : DS_OK;
}

/* The view of the episode: numbers that are not offered stay. */
static void set_view(const observed *s)
{
    double view[VIEW_NUMBERS];
    memcpy(view, s->cameras.view, sizeof view);
    memcpy(view, s->value + s->view, (s->decisions.offers - s->view) * sizeof *view);
    frames_view(s->env.comparison.images, view); /* an unusable camera sees nothing */
}

/* Room for derivatives by the view; not all of it need be offered. */
typedef double view_numbers[VIEW_NUMBERS];

/* Simulates with s->value; *bad: -1, or the step that diverged. */
static ds_status run(observed *s, int64_t *bad)
{
    ds_status status = DS_OK;
    if (s->view_varies) {
        set_view(s);
    }
    *bad = s->task->launch(s, s->value);
    for (uint64_t k = 0; *bad < 0 && status == DS_OK && k < s->states; k++) {
        s->task->place(s, s->compared[k], s->points);
        status = going_on(s);
        status = status != DS_OK ? status : comparison_record(&s->env.comparison, k, s->points);
    }
    return no_picture(s, status);
}

ds_status observed_simulate(void *self, ds_eval *io)
{
    observed *s = self;
    int64_t bad = -1;
    decision_values(&s->decisions, io->x, s->value);
    s->w = io->x + s->decisions.n;
    decision_error(&s->decisions, s->value, &s->error);
    const ds_status status = run(s, &bad);
    io->bad_step = bad < 0 ? -1 : bad / (int64_t)s->shown_each;
    io->loss = status == DS_OK && bad < 0 ? comparison_loss(&s->env.comparison) : HUGE_VAL;
    return status;
}

/* x_bar[n] = the derivatives by x of sum(r_bar * residuals); r_bar NULL: of the loss. */
static ds_status reverse(observed *s, const double *r_bar, double *x_bar)
{
    comparison *w = &s->env.comparison;
    const size_t n = 3 * (size_t)s->subject.mesh.vertices;
    double bar[OBSERVED_NUMBERS] = {0};
    ds_status status = DS_OK;
    view_numbers view_bar = {0};
    int finite = 1;
    if (s->view_varies) {
        frames_view_derivatives(w->images, view_bar, NULL);
    }
    memset(s->value_bar, 0, sizeof s->value_bar);
    s->w_bar = x_bar + s->decisions.n;
    memset(s->w_bar, 0, s->env.kit.hybrid.variables * sizeof *s->w_bar);
    for (uint64_t k = s->states; status == DS_OK && finite && k-- > 0;) {
        const uint64_t t = s->compared[k];
        memset(s->points_bar, 0, n * sizeof *s->points_bar);
        s->task->place(s, t, s->points);
        const double *here = r_bar != NULL ? r_bar + k * w->size : NULL;
        status = going_on(s);
        status = status != DS_OK ? status : comparison_adjoint(w, k, s->points, here, s->points_bar);
        s->task->place_bar(s, t, s->points_bar, bar, s->value_bar);
        finite = s->task->back(s, k > 0 ? s->compared[k - 1] : 0, t, bar, s->value_bar);
    }
    s->task->start_bar(s, bar, s->value_bar);
    if (s->view_varies) {
        memcpy(s->value_bar + s->view, view_bar, (s->decisions.offers - s->view) * sizeof *view_bar);
        frames_view_derivatives(w->images, NULL, NULL);
    }
    decision_gather(&s->decisions, s->value, s->value_bar, x_bar);
    if (!finite) {
        x_bar[0] = NAN; /* makes the kit report a bad gradient */
    }
    return no_picture(s, status);
}

ds_status observed_adjoint(void *self, ds_eval *io)
{
    io->grad_kind = DS_GRAD_ADJOINT;
    return reverse(self, NULL, io->grad);
}

static ds_status observed_reverse(void *self, ds_eval *io, const double *w, double *x_bar)
{
    observed *s = self;
    io->cost_steps += 2 * s->steps;
    return reverse(s, w, x_bar);
}

static ds_status observed_forward(void *self, ds_eval *io, const double *v, double *out)
{
    observed *s = self;
    comparison *w = &s->env.comparison;
    double dot[OBSERVED_NUMBERS] = {0}, value_dot[DECISIONS_MAX];
    ds_status status = DS_OK;
    int finite = 1;
    decision_spread(&s->decisions, s->value, v, value_dot);
    s->w_dot = v + s->decisions.n;
    view_numbers view_dot = {0};
    if (s->view_varies) {
        memcpy(view_dot, value_dot + s->view, (s->decisions.offers - s->view) * sizeof *view_dot);
        frames_view_derivatives(w->images, NULL, view_dot);
    }
    s->task->start_dot(s, value_dot, dot);
    for (uint64_t k = 0; status == DS_OK && finite && k < s->states; k++) {
        const uint64_t t = s->compared[k];
        finite = s->task->forth(s, k > 0 ? s->compared[k - 1] : 0, t, dot, value_dot);
        s->task->place(s, t, s->points);
        s->task->place_dot(s, t, dot, value_dot, s->points_bar);
        status = going_on(s);
        status =
            status != DS_OK ? status : comparison_tangent(w, k, s->points, s->points_bar, out + k * w->size);
    }
    if (s->view_varies) {
        frames_view_derivatives(w->images, NULL, NULL);
    }
    io->cost_steps += 2 * s->steps;
    if (!finite) {
        out[0] = NAN;
    }
    return no_picture(s, status);
}

/* ---- target and memory ---- */

static ds_status make_target(observed *s)
{
    int64_t bad = -1;
    decision_values(&s->decisions, NULL, s->value);
    s->is_target = 1;
    ds_status status = run(s, &bad);
    s->is_target = 0;
    if (status == DS_OK && bad >= 0) {
        return ds_host_fail(s->env.kit.host, DS_E_PARAM, "the target episode diverges at step %lld: %s",
                            (long long)bad, s->task->cure);
    }
    for (uint64_t k = 0; status == DS_OK && k < s->states; k++) {
        comparison_target(&s->env.comparison, k);
    }
    s->task->place(s, s->steps, s->goal);
    if (status == DS_OK && s->env.comparison.images != NULL && s->image[0] != '\0') {
        status = frames_read_targets(s->env.comparison.images, s->image, "target_image", s->env.kit.host);
    }
    return status;
}

ds_status observed_allocate(void *self)
{
    observed *s = self;
    ds_memory *m = &s->env.kit.memory;
    const size_t points = s->subject.mesh.vertices;
    const ds_status wired = penalties_refused(&s->env.kit);
    if (wired != DS_OK) {
        return wired;
    }
    s->env.forward = observed_forward;
    s->env.reverse = observed_reverse;
    ds_memory_each(m, 3 * points, (double **const[]){&s->points, &s->points_bar, &s->goal, NULL});
    if (m->failed) {
        return DS_OK; /* the kit reports it */
    }
    const ds_status status =
        comparison_open(&s->env.comparison, s->observe ? COMPARISON_POINTS : COMPARISON_IMAGES, s->states,
                        points, NULL, &s->cameras, &s->subject, s->env.kit.host);
    return status != DS_OK ? status : make_target(s);
}

void observed_release(void *self)
{
    comparison_close(&((observed *)self)->env.comparison);
}

/* ---- scene ---- */

enum { BODY, TARGET };

void observed_bodies(void *self, ds_scene_kit *k)
{
    const observed *s = self;
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

uint64_t observed_state(const observed *s, uint64_t k)
{
    return k * s->shown_each < s->steps ? k * s->shown_each : s->steps;
}

void observed_place(const void *self, uint64_t k, uint64_t b, double *out)
{
    const observed *s = self;
    if (b == TARGET) {
        memcpy(out, s->goal, 3 * (size_t)s->subject.mesh.vertices * sizeof *out);
    } else {
        s->task->place(s, observed_state(s, k), out);
    }
}

double observed_measure(observed *s, uint64_t k, double mean[3])
{
    const size_t n = s->subject.mesh.vertices;
    double goal[3] = {0, 0, 0}, square = 0;
    mean[0] = mean[1] = mean[2] = 0;
    s->task->place(s, observed_state(s, k), s->points);
    for (size_t i = 0; i < n; i++) {
        const double *p = s->points + 3 * i;
        ds_scene_kit_include(&s->env.kit.scene, p[0], p[1], p[2], 0);
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
