/* SPDX-License-Identifier: Apache-2.0 */
/* film.c - pictures of the states of an episode, and the derivatives of what they are compared to. */
#include "engines/rendering/film/film_internal.h"
#include "engines/rendering/render/image.h"

#include <math.h>
#include <string.h>

#include <diffsim/helper/fail.h>

/* ---- making one ---- */

static ds_status open_mesh(film *f, const film_subject *s, const ds_host *host)
{
    const film_group all = {0, s->mesh.faces};
    ds_status status = DS_OK;
    f->parts = s->groups > 0 ? s->groups : 1;
    if (f->look.texture != NULL && s->rest == NULL) {
        return ds_host_fail(host, DS_E_PARAM,
                            "parameter texture: nothing here can carry a picture: leave it out");
    }
    if (f->look.texture != NULL) {
        status = film_skin_read(f, f->look.texture, host);
    }
    for (uint32_t i = 0; !f->memory.failed && status == DS_OK && i < f->parts; i++) {
        status = film_part_open(f, &f->part[i], s, s->groups > 0 ? s->group[i] : all, host);
    }
    return f->memory.failed ? film_no_memory(host) : status;
}

static ds_status open_cloud(const film *f, uint32_t particles, splat **out, const ds_host *host)
{
    splat_options o = splat_defaults(f->look.size);
    char text[RENDER_TEXT] = "";
    ds_status status = DS_OK;
    o.cameras = f->look.cameras;
    o.threads = f->look.threads;
    o.opacity = f->opacity > 0 ? f->opacity : o.opacity;
    *out = splat_create(&o, particles, &status, text);
    if (*out != NULL) {
        return DS_OK;
    }
    return status == DS_E_NOMEM ? film_no_memory(host)
                                : ds_host_fail(host, DS_E_PARAM, "pictures: %.200s", text);
}

ds_status film_open(film **out, const look *l, const film_subject *subject, uint64_t frames,
                    const ds_host *host)
{
    const int cloud = subject->mesh.faces == 0;
    const uint32_t groups = !cloud && subject->groups > 0 ? subject->groups : 1;
    film *f = calloc(1, sizeof *f);
    *out = f;
    if (f == NULL) {
        return film_no_memory(host);
    }
    f->look = *l;
    f->light = light_default();
    f->frames = frames;
    f->views = groups * l->cameras;
    f->vertices = cloud ? subject->particles : subject->mesh.vertices;
    f->channels = softras_channels(l->mode);
    f->drawn = UINT64_MAX;
    if (cloud && (l->mode != SOFTRAS_ALPHA || l->renderer != LOOK_SOFTRAS)) {
        return ds_host_fail(host, DS_E_PARAM,
                            "parameter %s: of particles only silhouettes are seen: leave it out",
                            l->mode != SOFTRAS_ALPHA ? "obs" : "renderer");
    }
    if (f->views == 0 || f->views > FILM_VIEWS) {
        return ds_host_fail(host, DS_E_PARAM,
                            "parameter camera: %u views of every frame: at most %d are possible", f->views,
                            FILM_VIEWS);
    }
    if (film_size(f) > DS_MAX_ELEMENTS) {
        return ds_host_fail(
            host, DS_E_PARAM,
            "the pictures have %.3g numbers, at most %u are possible: reduce parameter image_size",
            (double)film_size(f), DS_MAX_ELEMENTS);
    }
    f->picture = ds_memory_doubles(&f->memory, film_size(f));
    f->target = ds_memory_doubles(&f->memory, film_size(f));
    f->side = ds_memory_doubles(&f->memory, film_frame_size(f));
    f->radius = subject->radius;
    f->opacity = subject->opacity;
    return cloud ? open_cloud(f, subject->particles, &f->cloud, host) : open_mesh(f, subject, host);
}

void film_close(film *f)
{
    if (f == NULL) {
        return;
    }
    for (uint32_t i = 0; i < f->parts; i++) {
        film_part_close(&f->part[i]);
    }
    splat_destroy(f->cloud);
    ds_memory_free(&f->memory);
    free(f);
}

uint64_t film_frames(const film *f)
{
    return f->frames;
}

size_t film_frame_size(const film *f)
{
    return f->views * film_picture_size(f);
}

size_t film_size(const film *f)
{
    return f->frames * film_frame_size(f);
}

const double *film_picture(const film *f, uint64_t k)
{
    return f->picture + k * film_frame_size(f);
}

/* ---- pictures ---- */

static ds_status draw(film *f, const double *p, double *image)
{
    ds_status status = DS_OK;
    if (f->cloud != NULL) {
        return splat_draw(f->cloud, f->look.camera, p, &f->radius, 0, image, NULL);
    }
    for (uint32_t i = 0; status == DS_OK && i < f->parts; i++) {
        status = film_part_draw(f, &f->part[i], p, image + i * f->look.cameras * film_picture_size(f));
    }
    return status;
}

ds_status film_shoot(film *f, uint64_t k, const double *p)
{
    const ds_status status = draw(f, p, f->picture + k * film_frame_size(f));
    f->drawn = status == DS_OK ? k : UINT64_MAX;
    return status;
}

ds_status film_target_cloud(film *f, uint32_t particles, const double *p, const ds_host *host)
{
    splat *cloud = NULL;
    ds_status status = open_cloud(f, particles, &cloud, host);
    status = status != DS_OK ? status : splat_draw(cloud, f->look.camera, p, &f->radius, 0, f->target, NULL);
    splat_destroy(cloud);
    for (uint64_t k = 1; k < f->frames; k++) {
        memcpy(f->target + k * film_frame_size(f), f->target, film_frame_size(f) * sizeof *f->target);
    }
    return status;
}

/* The renderers hold frame k again; pictures stay as they are. */
static ds_status hold(film *f, uint64_t k, const double *p)
{
    const ds_status status = f->drawn == k ? DS_OK : draw(f, p, f->side);
    f->drawn = status == DS_OK ? k : UINT64_MAX;
    return status;
}

/* ---- what they are compared to ---- */

static double frame_mean_square(const film *f, uint64_t k)
{
    const size_t at = k * film_frame_size(f);
    return image_mean_square(film_frame_size(f), f->picture + at, f->target + at);
}

double film_loss(const film *f)
{
    double sum = 0;
    for (uint64_t k = 0; k < f->frames; k++) {
        sum += frame_mean_square(f, k);
    }
    return sum / (double)f->frames;
}

double film_frame_loss(const film *f, uint64_t k)
{
    return frame_mean_square(f, k) / (double)f->frames;
}

static double residual_scale(const film *f)
{
    return 1 / sqrt((double)film_size(f));
}

void film_residuals(const film *f, double *out)
{
    const double scale = residual_scale(f);
    for (size_t i = 0; i < film_size(f); i++) {
        out[i] = scale * (f->picture[i] - f->target[i]);
    }
}

/* side = the derivatives by the pictures of frame k. */
static void weigh(film *f, uint64_t k, const double *w)
{
    const size_t n = film_frame_size(f), at = k * n;
    const double scale = w != NULL ? residual_scale(f) : 2 / (double)film_size(f);
    for (size_t i = 0; i < n; i++) {
        f->side[i] = scale * (w != NULL ? w[i] : f->picture[at + i] - f->target[at + i]);
    }
}

ds_status film_adjoint(film *f, uint64_t k, const double *p, const double *w, double *p_bar)
{
    ds_status status = hold(f, k, p);
    weigh(f, k, w);
    if (status == DS_OK && f->cloud != NULL) {
        return splat_adjoint(f->cloud, f->side, p_bar, NULL, 0, NULL);
    }
    for (uint32_t i = 0; status == DS_OK && i < f->parts; i++) {
        status =
            film_part_adjoint(f, &f->part[i], p, f->side + i * f->look.cameras * film_picture_size(f), p_bar);
    }
    return status;
}

ds_status film_tangent(film *f, uint64_t k, const double *p, const double *p_dot, double *out)
{
    const double scale = residual_scale(f);
    ds_status status = hold(f, k, p);
    if (status == DS_OK && f->cloud != NULL) {
        status = splat_tangent(f->cloud, p_dot, NULL, 0, NULL, out);
    }
    for (uint32_t i = 0; status == DS_OK && i < f->parts; i++) {
        status =
            film_part_tangent(f, &f->part[i], p, p_dot, out + i * f->look.cameras * film_picture_size(f));
    }
    for (size_t i = 0; i < film_frame_size(f); i++) {
        out[i] *= scale;
    }
    return status;
}
