/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c - the loss of an episode by images, points or their centre, and its channels. */
#include "engines/rendering/observation/comparison.h"

#include "engines/rendering/render/vec3.h"

#include <diffsim/helper/fail.h>

#include <math.h>
#include <string.h>

static void take_weights(comparison *w, const double *weight)
{
    double sum = 0;
    w->weight = ds_memory_doubles(&w->memory, w->points);
    for (size_t i = 0; i < w->points; i++) {
        sum += weight != NULL ? weight[i] : 1;
    }
    for (size_t i = 0; w->weight != NULL && i < w->points; i++) {
        w->weight[i] = (weight != NULL ? weight[i] : 1) / sum;
    }
}

static ds_status take_states(comparison *w, const ds_host *host)
{
    w->here = ds_memory_doubles(&w->memory, w->states * w->size);
    w->target = ds_memory_doubles(&w->memory, w->states * w->size);
    return w->memory.failed
               ? ds_host_fail(host, DS_E_NOMEM, "no memory for the compared states: reduce parameter frames")
               : DS_OK;
}

ds_status comparison_open(comparison *w, comparison_kind kind, uint64_t states, size_t points,
                          const double *weight, const cameras *l, const frames_subject *subject,
                          const ds_host *host)
{
    *w = (comparison){
        .kind = kind, .states = states, .points = points, .size = kind == COMPARISON_CENTRE ? 3 : 3 * points};
    if (kind == COMPARISON_IMAGES) {
        const ds_status status = frames_open(&w->images, l, subject, states, host);
        w->size = status == DS_OK ? frames_frame_size(w->images) : 0;
        return status;
    }
    if (kind == COMPARISON_CENTRE) {
        take_weights(w, weight);
    }
    return take_states(w, host);
}

ds_status comparison_open_some(comparison *w, uint64_t states, size_t points, const uint32_t *chosen,
                               size_t count, const ds_host *host)
{
    *w = (comparison){.kind = COMPARISON_POINTS, .states = states, .points = points, .size = 3 * count};
    w->chosen = ds_memory_take(&w->memory, count + 1, sizeof *w->chosen);
    if (w->chosen != NULL) {
        memcpy(w->chosen, chosen, count * sizeof *chosen);
    }
    return take_states(w, host);
}

void comparison_close(comparison *w)
{
    frames_close(w->images);
    w->images = NULL;
    ds_memory_free(&w->memory);
}

/* Place of compared number i among those of all points, for COMPARISON_POINTS. */
static size_t place_of(const comparison *w, size_t i)
{
    return w->chosen != NULL ? 3 * (size_t)w->chosen[i / 3] + i % 3 : i;
}

/* Sets out to the compared numbers of the points, or of their changes. */
static void reduce(const comparison *w, const double *p, double *out)
{
    if (w->kind == COMPARISON_POINTS && w->chosen == NULL) {
        memcpy(out, p, w->size * sizeof *out);
        return;
    }
    if (w->kind == COMPARISON_POINTS) {
        for (size_t i = 0; i < w->size; i++) {
            out[i] = p[place_of(w, i)];
        }
        return;
    }
    out[0] = out[1] = out[2] = 0;
    for (size_t i = 0; i < w->points; i++) {
        for (size_t d = 0; d < 3; d++) {
            out[d] += w->weight[i] * p[3 * i + d];
        }
    }
}

ds_status comparison_record(comparison *w, uint64_t k, const double *p)
{
    if (w->images != NULL) {
        return frames_draw(w->images, k, p);
    }
    reduce(w, p, w->here + k * w->size);
    return DS_OK;
}

void comparison_target(comparison *w, uint64_t k)
{
    if (w->images != NULL) {
        frames_target(w->images, k);
    } else {
        memcpy(w->target + k * w->size, w->here + k * w->size, w->size * sizeof *w->target);
    }
}

void comparison_target_all(comparison *w, uint64_t k)
{
    if (w->images != NULL) {
        frames_target_all(w->images, k);
        return;
    }
    for (uint64_t i = 0; i < w->states; i++) {
        memcpy(w->target + i * w->size, w->here + k * w->size, w->size * sizeof *w->target);
    }
}

/* ---- loss ---- */

/* Residual = scale (here - target). */
static double scale_of(const comparison *w)
{
    const double each = w->kind == COMPARISON_POINTS ? (double)(w->size / 3) : 3;
    return 1 / sqrt((double)w->states * each);
}

/* Residuals of all states. */
static size_t residuals_of(const comparison *w)
{
    return w->states * w->size;
}

double comparison_loss(const comparison *w)
{
    double sum = 0;
    if (w->images != NULL) {
        return frames_loss(w->images);
    }
    for (size_t i = 0; i < residuals_of(w); i++) {
        const double e = w->here[i] - w->target[i];
        sum += e * e;
    }
    const double scale = scale_of(w);
    return scale * scale * sum;
}

static void comparison_residuals(const comparison *w, double *out)
{
    if (w->images != NULL) {
        frames_residuals(w->images, out);
        return;
    }
    const double scale = scale_of(w);
    for (size_t i = 0; i < residuals_of(w); i++) {
        out[i] = scale * (w->here[i] - w->target[i]);
    }
}

/* ---- derivatives ---- */

/* Derivative by number i of state k. */
static double bar_of(const comparison *w, uint64_t k, const double *r_bar, size_t i)
{
    const double scale = scale_of(w);
    const size_t at = k * w->size + i;
    return r_bar != NULL ? scale * r_bar[i] : 2 * scale * scale * (w->here[at] - w->target[at]);
}

ds_status comparison_adjoint(comparison *w, uint64_t k, const double *p, const double *r_bar, double *p_bar)
{
    if (w->images != NULL) {
        return frames_adjoint(w->images, k, p, r_bar, p_bar);
    }
    for (size_t i = 0; w->kind == COMPARISON_POINTS && i < w->size; i++) {
        p_bar[place_of(w, i)] += bar_of(w, k, r_bar, i);
    }
    if (w->kind == COMPARISON_CENTRE) {
        const double bar[3] = {bar_of(w, k, r_bar, 0), bar_of(w, k, r_bar, 1), bar_of(w, k, r_bar, 2)};
        for (size_t i = 0; i < 3 * w->points; i++) {
            p_bar[i] += w->weight[i / 3] * bar[i % 3];
        }
    }
    return DS_OK;
}

ds_status comparison_tangent(comparison *w, uint64_t k, const double *p, const double *p_dot, double *out)
{
    if (w->images != NULL) {
        return frames_tangent(w->images, k, p, p_dot, out);
    }
    const double scale = scale_of(w);
    reduce(w, p_dot, out);
    for (size_t i = 0; i < w->size; i++) {
        out[i] *= scale;
    }
    return DS_OK;
}

/* ---- environments whose loss is a comparison ---- */

const char *const comparison_observes[] = {"image", "state", NULL};

uint64_t comparison_env_channels(const void *self)
{
    const comparison_env *e = self;
    return e->comparison.images != NULL ? FRAMES_CHANNELS : 1;
}

void comparison_env_channel(const void *self, uint64_t i, ds_channel *out)
{
    const comparison_env *e = self;
    const uint32_t ops = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JV) | DS_CAN(DS_QUERY_JTV);
    if (e->comparison.images != NULL) {
        frames_describe(e->comparison.images, i, ops, out);
        return;
    }
    out->role = DS_CHANNEL_RESIDUAL;
    out->ops = ops;
    out->shape[0] = residuals_of(&e->comparison);
    out->name = "residuals";
    out->doc = "Differences from the target, scaled so that their squares add up to the loss.";
}

ds_status comparison_env_answer(void *self, ds_eval *io, ds_eval_query *ask)
{
    comparison_env *e = self;
    if (ask->op == DS_QUERY_JV) {
        ask->kind = e->kit.grad_kind == DS_GRAD_SMOOTHED ? DS_GRAD_SMOOTHED : DS_GRAD_FORWARD;
        return e->forward(e, io, ask->v, ask->out);
    }
    if (ask->op == DS_QUERY_JTV) {
        ask->kind = e->kit.grad_kind == DS_GRAD_SMOOTHED ? DS_GRAD_SMOOTHED : DS_GRAD_ADJOINT;
        return e->reverse(e, io, ask->v, ask->out);
    }
    if (e->comparison.images != NULL) {
        frames_answer(e->comparison.images, ask->channel, ask->out);
    } else {
        comparison_residuals(&e->comparison, ask->out);
    }
    return DS_OK;
}

int comparison_needs_reverse(const ds_eval *io)
{
    for (uint64_t i = 0; i < io->queries; i++) {
        if (io->query[i]->op == DS_QUERY_JTV) {
            return 1;
        }
    }
    return (io->want & DS_WANT_GRAD) != 0;
}

/* ---- loss = image: parameters ---- */

static void read_places(image_loss *s, ds_param_reader *in)
{
    uint64_t count = 0;
    s->orbit = cameras_read_orbits(&s->cameras, in);
    s->at = ds_param_list(in, "look_at", &count);
    s->at = count > 0 ? s->at : NULL;
    s->shared = count == 3;
    if (in->status == DS_OK && count != 0 && count != 3 && count != 3 * (uint64_t)s->cameras.count) {
        const unsigned long long has = count;
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameter look_at has %llu values: give x, y and z of one point, of one "
                                  "point for each of the %u cameras, or leave it empty",
                                  has, s->cameras.count);
    }
}

void image_loss_read(image_loss *s, ds_param_reader *in, int wanted, uint64_t steps, int mesh)
{
    memset(s, 0, sizeof *s);
    if (!wanted || in->status != DS_OK) {
        return;
    }
    const uint64_t frames = (uint64_t)ds_param_int(in, "frames");
    s->wanted = 1;
    s->steps = steps;
    s->frames = frames < steps ? frames : steps;
    s->image = ds_param_text(in, "target_image");
    s->radius = mesh ? 0 : ds_param_real(in, "disc_radius");
    s->opacity = mesh ? 0 : ds_param_real(in, "disc_opacity");
    cameras_read_images(&s->cameras, in, mesh);
    read_places(s, in);
}

int64_t image_loss_frame(const image_loss *s, uint64_t step)
{
    const uint64_t each = s->steps / s->frames, left = s->steps - step;
    return left % each == 0 && left / each < s->frames ? (int64_t)(s->frames - 1 - left / each) : -1;
}

uint64_t image_loss_step(const image_loss *s, uint64_t k)
{
    return s->steps - (s->frames - 1 - k) * (s->steps / s->frames);
}

/* ---- loss = image: cameras ---- */

static void middle_of(size_t count, const image_loss_points *seen, double out[3])
{
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    for (size_t g = 0; g < count; g++) {
        for (size_t i = 0; i < 3 * seen[g].points; i++) {
            low[i % 3] = fmin(low[i % 3], seen[g].p[i]);
            high[i % 3] = fmax(high[i % 3], seen[g].p[i]);
        }
    }
    for (int d = 0; d < 3; d++) {
        out[d] = 0.5 * (low[d] + high[d]);
    }
}

/* Distance from which a camera with these angles that looks at `at` sees all points (or discs), with a
 * margin. */
static double distance_for(image_loss *s, uint32_t i, const double orbit[3], const double at[3], size_t count,
                           const image_loss_points *seen)
{
    cameras *l = &s->cameras;
    const double margin = 1.25;
    const camera_pose *pose = &l->camera[i].pose;
    double x[3], y[3], z[3], distance = 0;
    char text[RENDER_TEXT];
    if (cameras_place(l, i, (const double[3]){1, orbit[1], orbit[2]}, text) != 0) {
        return 1; /* place_cameras() reports it */
    }
    const double slope = tan(pose->half_angle);
    for (int d = 0; d < 3; d++) {
        z[d] = -pose->eye[d];
    }
    vec3_cross(pose->up, z, x);
    vec3_unit(x);
    vec3_cross(z, x, y);
    for (size_t g = 0; g < count; g++) {
        for (size_t k = 0; k < seen[g].points; k++) {
            double v[3];
            vec3_minus(seen[g].p + 3 * k, at, v);
            const double aside = fmax(fabs(vec3_dot(x, v)), fabs(vec3_dot(y, v)));
            distance = fmax(distance, margin * (aside + s->radius) / slope - vec3_dot(z, v));
        }
    }
    return distance;
}

/* Checks that no point is behind the camera or closer than its near plane. */
static ds_status check_outside(const image_loss *s, uint32_t i, size_t count, const image_loss_points *seen)
{
    const camera *c = &s->cameras.camera[i];
    for (size_t g = 0; g < count; g++) {
        for (size_t k = 0; k < seen[g].points; k++) {
            double q[3];
            camera_project(c, 1, seen[g].p + 3 * k, q);
            if (q[2] < c->near) {
                return ds_host_fail(s->host, DS_E_PARAM,
                                    "parameter camera: camera %u at (%.3g, %.3g, %.3g) is inside the scene: "
                                    "increase its distance, or set 0 to find one",
                                    i + 1, c->pose.eye[0], c->pose.eye[1], c->pose.eye[2]);
            }
        }
    }
    return DS_OK;
}

static ds_status place_cameras(image_loss *s, size_t count, const image_loss_points *seen)
{
    double middle[3];
    ds_status status = DS_OK;
    middle_of(count, seen, middle);
    for (uint32_t i = 0; status == DS_OK && i < s->cameras.count; i++) {
        const double *at = s->at == NULL ? middle : s->shared ? s->at : s->at + 3 * (size_t)i;
        double orbit[3];
        char text[RENDER_TEXT];
        memcpy(orbit, s->orbit + 3 * (size_t)i, sizeof orbit);
        if (!(fabs(orbit[0]) > 0)) {
            orbit[0] = distance_for(s, i, orbit, at, count, seen);
        }
        camera *c = &s->cameras.camera[i];
        const int unusable = cameras_place(&s->cameras, i, orbit, text);
        vec3_add(c->pose.eye, 1, at);
        vec3_add(c->pose.target, 1, at);
        c->near = 0.1 * fabs(orbit[0]);
        c->far = 10 * fabs(orbit[0]);
        status = unusable
                     ? ds_host_fail(s->host, DS_E_PARAM, "parameter camera: camera %u: %.200s", i + 1, text)
                     : check_outside(s, i, count, seen);
    }
    return status;
}

/* ---- loss = image: target ---- */

static ds_status say(const image_loss *s, ds_status status)
{
    return status == DS_OK
               ? DS_OK
               : ds_host_fail(s->host, status, "no memory for an image: reduce parameter image_size");
}

ds_status image_loss_open(image_loss *s, const frames_subject *subject, size_t count,
                          const image_loss_points *seen, const ds_host *host)
{
    s->host = host;
    s->points = subject->mesh.faces > 0 ? subject->mesh.vertices : subject->particles;
    ds_memory_each(&s->memory, 3 * s->points, (double **const[]){&s->p, &s->p_bar, NULL});
    if (s->memory.failed) {
        return say(s, DS_E_NOMEM);
    }
    const ds_status status = place_cameras(s, count, seen);
    return status != DS_OK ? status : frames_open(&s->images, &s->cameras, subject, s->frames, host);
}

void image_loss_close(image_loss *s)
{
    frames_close(s->images);
    ds_memory_free(&s->memory);
    memset(s, 0, sizeof *s);
}

ds_status image_loss_target(image_loss *s, uint64_t k)
{
    const ds_status status = frames_draw(s->images, k, s->p);
    frames_target(s->images, k);
    return say(s, status);
}

ds_status image_loss_target_cloud(image_loss *s, image_loss_points target)
{
    return frames_target_cloud(s->images, (uint32_t)target.points, target.p, s->host);
}

ds_status image_loss_target_file(image_loss *s)
{
    return s->image[0] != '\0' ? frames_read_targets(s->images, s->image, "target_image", s->host) : DS_OK;
}

/* ---- loss = image: an episode ---- */

ds_status image_loss_draw(image_loss *s, uint64_t k, double *share)
{
    const ds_status status = frames_draw(s->images, k, s->p);
    *share = frames_frame_loss(s->images, k);
    return say(s, status);
}

ds_status image_loss_adjoint(image_loss *s, uint64_t k)
{
    memset(s->p_bar, 0, 3 * s->points * sizeof *s->p_bar);
    const double *w = s->w != NULL ? s->w + k * frames_frame_size(s->images) : NULL;
    return say(s, frames_adjoint(s->images, k, s->p, w, s->p_bar));
}

/* ---- loss = image: J v and J' w ---- */

/* Longest change of a variable, relative to half the distance of its bounds. Short, because contacts begin
 * and end everywhere. */
static const double share = 1e-8;

/* Simulates the episode at x again, as evaluate() does, without other queries. scene: DS_WANT_SCENE if this
 * episode is shown. grad: NULL, or where the derivatives go: of the loss, or with s->w of the weighted
 * residuals. Adds the cost to *io. */
static ds_status repeat(ds_env_kit *kit, ds_eval *io, const double *x, uint32_t scene, double *grad,
                        ds_eval *again)
{
    const uint64_t cost = kit->cost ? kit->cost : kit->steps;
    *again = (ds_eval){.want = (grad != NULL ? DS_WANT_GRAD : 0) | scene,
                       .n = io->n,
                       .x = x,
                       .noise_key = io->noise_key,
                       .grad = grad,
                       .outcome = DS_EVAL_OK,
                       .bad_step = -1,
                       .cost_steps = cost};
    ds_status status = kit->env->simulate(kit, again);
    const int sound = isfinite(again->loss) && again->outcome == DS_EVAL_OK;
    if (status == DS_OK && sound && grad != NULL && kit->env->adjoint != NULL) {
        status = kit->env->adjoint(kit, again);
        again->grad_kind = kit->grad_kind;
        again->cost_steps += kit->env->passes * cost;
    }
    io->cost_steps += again->cost_steps;
    io->outcome = sound ? io->outcome : DS_EVAL_BAD_GRAD;
    return status;
}

static ds_status reverse(image_loss *s, ds_env_kit *kit, ds_eval *io, ds_eval_query *ask)
{
    ds_eval again;
    s->w = ask->v;
    const ds_status status = repeat(kit, io, io->x, io->want & DS_WANT_SCENE, ask->out, &again);
    s->w = NULL;
    ask->kind = again.grad_kind;
    if (status != DS_OK || io->outcome != DS_EVAL_OK) {
        memset(ask->out, 0, ask->bytes);
    }
    return status;
}

typedef struct walk {
    double *x, *lower, *upper, *start; /* [n] */
    double *near;                      /* [residuals] */
} walk;

/* there = x + t v, and the residuals of its episode; they may not be finite. */
static ds_status residuals_at(const image_loss *s, ds_env_kit *kit, ds_eval *io, const double *v, double t,
                              const walk *there, double *out)
{
    ds_eval again;
    for (uint64_t i = 0; i < io->n; i++) {
        there->x[i] = io->x[i] + t * v[i];
    }
    const ds_status status = repeat(kit, io, there->x, 0, NULL, &again);
    frames_residuals(s->images, out);
    return status;
}

/* The longest step along v. */
static double step_along(const ds_eval *io, const double *v, const walk *there)
{
    double largest = 0;
    for (uint64_t i = 0; i < io->n; i++) {
        largest = fmax(largest, fabs(v[i]) / (0.5 * (there->upper[i] - there->lower[i])));
    }
    return largest > 0 ? share / largest : 0;
}

/* Do x + t v and x + 2 t v lie between the bounds? */
static int is_inside(const ds_eval *io, const double *v, double t, const walk *there)
{
    for (uint64_t i = 0; i < io->n; i++) {
        const double x = io->x[i] + t * v[i];
        if (x < there->lower[i] || x > there->upper[i]) {
            return 0;
        }
    }
    return 1;
}

/* Central differences if both sides lie between the bounds, else one-sided differences of second order. */
static ds_status difference(const image_loss *s, ds_env_kit *kit, ds_eval *io, ds_eval_query *ask,
                            const walk *there)
{
    const size_t size = frames_size(s->images);
    const double *v = ask->v;
    double *out = ask->out, t = step_along(io, v, there);
    if (!(t > 0)) {
        memset(out, 0, ask->bytes);
        return DS_OK;
    }
    const int central = is_inside(io, v, t, there) && is_inside(io, v, -t, there);
    t = central || is_inside(io, v, 2 * t, there) ? t : -t;
    ds_status status = central ? DS_OK : residuals_at(s, kit, io, v, 0, there, out);
    status = status != DS_OK ? status : residuals_at(s, kit, io, v, t, there, there->near);
    for (size_t k = 0; status == DS_OK && k < size; k++) {
        out[k] = central ? there->near[k] : 4 * there->near[k] - 3 * out[k];
    }
    status = status != DS_OK ? status : residuals_at(s, kit, io, v, central ? -t : 2 * t, there, there->near);
    for (size_t k = 0; status == DS_OK && k < size; k++) {
        out[k] = (out[k] - there->near[k]) / (2 * t);
    }
    return status;
}

static ds_status forward(const image_loss *s, ds_env_kit *kit, ds_eval *io, ds_eval_query *ask)
{
    ds_memory room = {0};
    walk there;
    ds_memory_each(&room, io->n,
                   (double **const[]){&there.x, &there.lower, &there.upper, &there.start, NULL});
    there.near = ds_memory_doubles(&room, frames_size(s->images));
    ds_status status =
        room.failed ? DS_E_NOMEM : ds_env_kit_bounds(kit, io->n, there.lower, there.upper, there.start);
    status = status != DS_OK ? status : difference(s, kit, io, ask, &there);
    if (status == DS_OK && (io->want & DS_WANT_SCENE) != 0) { /* the scene is read later */
        ds_eval again;
        status = repeat(kit, io, io->x, DS_WANT_SCENE, NULL, &again);
    }
    ds_memory_free(&room);
    ask->kind = DS_GRAD_FD;
    return status;
}

/* ---- loss = image: channels ---- */

uint64_t image_loss_channels(const image_loss *s)
{
    return s->wanted ? FRAMES_CHANNELS : 0;
}

void image_loss_channel(const image_loss *s, const ds_env_kit *kit, uint64_t i, ds_channel *out)
{
    const int partial = s->partial || kit->hybrid.l1 > 0 || kit->hybrid.l2 > 0;
    const uint32_t reverse_only = DS_CAN(DS_QUERY_VALUE) | DS_CAN(DS_QUERY_JTV);
    const uint32_t ops = s->single ? reverse_only : reverse_only | DS_CAN(DS_QUERY_JV);
    frames_describe(s->images, i, partial ? DS_CAN(DS_QUERY_VALUE) : ops, out);
    if (i == FRAMES_RESIDUALS && partial) {
        out->role = DS_CHANNEL_STATE;
        out->doc = "Differences from the target, scaled so that their squares add up to the images' part of "
                   "the loss.";
    }
}

ds_status image_loss_answer(image_loss *s, ds_env_kit *kit, ds_eval *io, ds_eval_query *ask)
{
    if (ask->op == DS_QUERY_VALUE) {
        frames_answer(s->images, ask->channel, ask->out);
        return DS_OK;
    }
    return ask->op == DS_QUERY_JV ? forward(s, kit, io, ask) : reverse(s, kit, io, ask);
}
