/* SPDX-License-Identifier: Apache-2.0 */
/* film_target.c - the pictures that those of an episode are compared to, and both as one image. */
#include "engines/rendering/film/film_internal.h"

#include <diffsim/helper/fail.h>
#include <stdio.h>
#include <string.h>

void film_target(film *f, uint64_t k)
{
    const size_t n = film_frame_size(f);
    memcpy(f->target + k * n, f->picture + k * n, n * sizeof *f->target);
}

void film_target_all(film *f, uint64_t k)
{
    const size_t n = film_frame_size(f);
    for (uint64_t i = 0; i < f->frames; i++) {
        memcpy(f->target + i * n, f->picture + k * n, n * sizeof *f->target);
    }
}

const double *film_target_picture(const film *f, uint64_t k)
{
    return f->target + k * film_frame_size(f);
}

/* Has the file transparent pixels? Many programs write an alpha of 1 everywhere. */
static int transparent(const png_picture *png)
{
    const size_t of = png->channels, pixels = (size_t)png->width * png->height;
    for (size_t i = 0; of % 2 == 0 && i < pixels; i++) {
        if (png->pixel[i * of + of - 1] < 1) {
            return 1;
        }
    }
    return 0;
}

/* What a picture of the film has in the pixel of a file. */
static void convert(uint32_t channels, const double *pixel, uint32_t of, int by_alpha, double *out)
{
    const int grey = of < 3;
    if (channels == 1) {
        const double mean = grey ? pixel[0] : (pixel[0] + pixel[1] + pixel[2]) / 3;
        out[0] = by_alpha ? pixel[of - 1] : mean;
        return;
    }
    for (uint32_t i = 0; i < 3; i++) {
        out[i] = pixel[grey ? 0 : i];
    }
    out[3] = of % 2 == 0 ? pixel[of - 1] : 1;
}

/* The target of view v in frame k from the part of the file that shows it. */
static void cut(film *f, const png_picture *png, int by_alpha, uint32_t v, uint64_t k)
{
    const size_t size = f->look.size, column = png->width == size ? 0 : k;
    double *out = f->target + k * film_frame_size(f) + v * film_picture_size(f);
    for (size_t r = 0; r < size; r++) {
        const double *row = png->pixel + ((v * size + r) * png->width + column * size) * png->channels;
        for (size_t c = 0; c < size; c++) {
            convert(f->channels, row + c * png->channels, png->channels, by_alpha,
                    out + (r * size + c) * f->channels);
        }
    }
}

static ds_status fits(const film *f, const png_picture *png, const char *path, const char *name,
                      const ds_host *host)
{
    const uint64_t size = f->look.size;
    if (png->height == f->views * size && (png->width == size || png->width == f->frames * size)) {
        return DS_OK;
    }
    char one[80] = "";
    if (f->frames > 1) {
        snprintf(one, sizeof one, ", or %llu x %llu for the same target in all states",
                 (unsigned long long)size, (unsigned long long)(f->views * size));
    }
    return ds_host_fail(host, DS_E_PARAM, "parameter %s: %.200s has %u x %u pixels: give %llu x %llu%s", name,
                        path, png->width, png->height, (unsigned long long)(f->frames * size),
                        (unsigned long long)(f->views * size), one);
}

ds_status film_read_targets(film *f, const char *path, const char *name, const ds_host *host)
{
    png_picture png;
    char text[READ_PNG_TEXT];
    const int failed = png_picture_read(&png, path, text);
    if (failed != READ_PNG_OK) {
        return ds_host_fail(host, film_png_status(failed), "parameter %s: %.400s", name, text);
    }
    const ds_status status = fits(f, &png, path, name, host);
    const int by_alpha = status == DS_OK && transparent(&png);
    for (uint64_t k = 0; status == DS_OK && k < f->frames; k++) {
        for (uint32_t v = 0; v < f->views; v++) {
            cut(f, &png, by_alpha, v, k);
        }
    }
    png_picture_free(&png);
    return status;
}

void film_describe(const film *f, uint64_t channel, uint32_t ops, ds_channel *out)
{
    if (channel == FILM_RESIDUALS) {
        out->role = DS_CHANNEL_RESIDUAL;
        out->ops = ops;
        out->shape[0] = film_size(f);
        out->name = "residuals";
        out->doc = "Differences from the target, scaled so that their squares add up to the loss.";
        return;
    }
    out->role = DS_CHANNEL_IMAGE;
    out->ops = DS_CAN(DS_QUERY_VALUE);
    out->ndim = f->channels > 1 ? 3 : 2;
    out->shape[0] = (uint64_t)f->views * f->look.size;
    out->shape[1] = f->frames * f->look.size;
    out->shape[2] = f->channels;
    out->name = channel == FILM_PICTURES ? "pictures" : "target";
    out->doc = channel == FILM_PICTURES ? "What the cameras see of the compared states, side by side."
                                        : "What the cameras are to see.";
}

void film_answer(const film *f, uint64_t channel, double *out)
{
    const size_t size = f->look.size, row = size * f->channels, line = f->frames * row;
    const double *from = channel == FILM_TARGET ? f->target : f->picture;
    if (channel == FILM_RESIDUALS) {
        film_residuals(f, out);
        return;
    }
    for (uint64_t k = 0; k < f->frames; k++) {
        for (size_t r = 0; r < f->views * size; r++) {
            memcpy(out + r * line + k * row, from + k * film_frame_size(f) + r * row, row * sizeof *out);
        }
    }
}
