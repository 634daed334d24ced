/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - how an episode is compared with its target: by pictures, points or their centre. */
#include "engines/rendering/film/watch.h"

#include <diffsim/helper/fail.h>
#include <math.h>
#include <string.h>

static void take_weights(watch *w, const double *weight)
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

ds_status watch_open(watch *w, watch_kind kind, uint64_t states, size_t points, const double *weight,
                     const look *l, const film_subject *subject, const ds_host *host)
{
    *w = (watch){
        .kind = kind, .states = states, .points = points, .size = kind == WATCH_CENTRE ? 3 : 3 * points};
    if (kind == WATCH_PICTURES) {
        const ds_status status = film_open(&w->film, l, subject, states, host);
        w->size = status == DS_OK ? film_frame_size(w->film) : 0;
        return status;
    }
    if (kind == WATCH_CENTRE) {
        take_weights(w, weight);
    }
    w->here = ds_memory_doubles(&w->memory, states * w->size);
    w->target = ds_memory_doubles(&w->memory, states * w->size);
    return w->memory.failed ? ds_host_fail(host, DS_E_NOMEM, "no memory for the states that are compared")
                            : DS_OK;
}

void watch_close(watch *w)
{
    film_close(w->film);
    w->film = NULL;
    ds_memory_free(&w->memory);
}

/* What is compared of points, or of their changes. */
static void reduce(const watch *w, const double *p, double *out)
{
    if (w->kind == WATCH_POINTS) {
        memcpy(out, p, w->size * sizeof *out);
        return;
    }
    out[0] = out[1] = out[2] = 0;
    for (size_t i = 0; i < w->points; i++) {
        for (size_t d = 0; d < 3; d++) {
            out[d] += w->weight[i] * p[3 * i + d];
        }
    }
}

ds_status watch_show(watch *w, uint64_t k, const double *p)
{
    if (w->film != NULL) {
        return film_shoot(w->film, k, p);
    }
    reduce(w, p, w->here + k * w->size);
    return DS_OK;
}

void watch_target(watch *w, uint64_t k)
{
    if (w->film != NULL) {
        film_target(w->film, k);
    } else {
        memcpy(w->target + k * w->size, w->here + k * w->size, w->size * sizeof *w->target);
    }
}

void watch_target_all(watch *w, uint64_t k)
{
    if (w->film != NULL) {
        film_target_all(w->film, k);
        return;
    }
    for (uint64_t i = 0; i < w->states; i++) {
        memcpy(w->target + i * w->size, w->here + k * w->size, w->size * sizeof *w->target);
    }
}

/* ---- loss ---- */

/* Residual = scale (here - target). */
static double scale_of(const watch *w)
{
    const double each = w->kind == WATCH_POINTS ? (double)w->points : 3;
    return 1 / sqrt((double)w->states * each);
}

double watch_loss(const watch *w)
{
    double sum = 0;
    if (w->film != NULL) {
        return film_loss(w->film);
    }
    for (size_t i = 0; i < watch_residuals(w); i++) {
        const double e = w->here[i] - w->target[i];
        sum += e * e;
    }
    const double scale = scale_of(w);
    return scale * scale * sum;
}

size_t watch_residuals(const watch *w)
{
    return w->states * w->size;
}

void watch_residual(const watch *w, double *out)
{
    if (w->film != NULL) {
        film_residuals(w->film, out);
        return;
    }
    const double scale = scale_of(w);
    for (size_t i = 0; i < watch_residuals(w); i++) {
        out[i] = scale * (w->here[i] - w->target[i]);
    }
}

/* ---- derivatives ---- */

/* Derivative by number i of state k. */
static double bar_of(const watch *w, uint64_t k, const double *r_bar, size_t i)
{
    const double scale = scale_of(w);
    const size_t at = k * w->size + i;
    return r_bar != NULL ? scale * r_bar[i] : 2 * scale * scale * (w->here[at] - w->target[at]);
}

ds_status watch_adjoint(watch *w, uint64_t k, const double *p, const double *r_bar, double *p_bar)
{
    if (w->film != NULL) {
        return film_adjoint(w->film, k, p, r_bar, p_bar);
    }
    for (size_t i = 0; w->kind == WATCH_POINTS && i < w->size; i++) {
        p_bar[i] += bar_of(w, k, r_bar, i);
    }
    if (w->kind == WATCH_CENTRE) {
        const double bar[3] = {bar_of(w, k, r_bar, 0), bar_of(w, k, r_bar, 1), bar_of(w, k, r_bar, 2)};
        for (size_t i = 0; i < 3 * w->points; i++) {
            p_bar[i] += w->weight[i / 3] * bar[i % 3];
        }
    }
    return DS_OK;
}

ds_status watch_tangent(watch *w, uint64_t k, const double *p, const double *p_dot, double *out)
{
    if (w->film != NULL) {
        return film_tangent(w->film, k, p, p_dot, out);
    }
    const double scale = scale_of(w);
    reduce(w, p_dot, out);
    for (size_t i = 0; i < w->size; i++) {
        out[i] *= scale;
    }
    return DS_OK;
}
