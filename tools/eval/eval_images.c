/* SPDX-License-Identifier: Apache-2.0 */
/* eval_images.c - image channels as PNG files, written by libpng. */
#include "config.h"

#include "eval/eval_images.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "store/run_folder.h"

enum { MOST_PIXELS = 1 << 26 }; /* of an image */

/* Its colours where it is an image that can be written, else 0. */
static uint32_t colours_of(const ds_channel *c)
{
    const uint64_t colours = c->ndim == 2 ? 1 : c->ndim == 3 ? c->shape[2] : 0;
    const int fits = colours > 0 && c->shape[0] <= MOST_PIXELS && c->shape[1] <= MOST_PIXELS / c->shape[0];
    return c->role == DS_CHANNEL_IMAGE && fits && colours <= 4 ? (uint32_t)colours : 0;
}

#ifdef EVAL_LIBPNG
#include <png.h>

/* Numbers of an image of doubles are 0 .. 1, of bytes 0 .. 255. */
static png_bytep quantise(const ds_channel *c, const double *value)
{
    const uint64_t count = ds_channel_elements(c);
    const double scale = c->type == DS_TYPE_U8 ? 1 : 255;
    png_bytep out = malloc(count);
    for (uint64_t i = 0; out != NULL && i < count; i++) {
        const double v = fmin(255, fmax(0, scale * value[i])); /* NaN becomes 0 */
        out[i] = (png_byte)lrint(v);
    }
    return out;
}

static int write_png(const char *path, const ds_channel *c, const double *value, ds_error *e)
{
    static const uint32_t format[] = {0, PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)c->shape[1],
                       .height = (png_uint_32)c->shape[0],
                       .format = format[colours_of(c)]};
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    png_bytep bytes = quantise(c, value), file = malloc(size);
    int rc = bytes == NULL || file == NULL ? ds_no_memory(e) : 0;
    if (rc == 0 && !png_image_write_to_memory(&image, file, &size, 0, bytes, 0, NULL)) {
        rc = ds_fail(e, DS_EXIT_IO, "%s: %s", path, image.message);
    }
    rc = rc != 0 ? rc : ds_file_write_atomic(path, file, size, e);
    free(bytes);
    free(file);
    return rc;
}
#else
static int write_png(const char *path, const ds_channel *c, const double *value, ds_error *e)
{
    (void)c, (void)value;
    return ds_fail(e, DS_EXIT_USAGE, "%s: this dshost was built without libpng: --images writes nothing",
                   path);
}
#endif

static int write_channel(const ds_channel_values *v, uint64_t i, const char *folder, ds_error *e)
{
    const ds_channel *c = v->channels->list[i];
    char *path = NULL;
    int rc = asprintf(&path, "%s/%s.png", folder, c->name) < 0 ? ds_no_memory(e)
                                                               : write_png(path, c, v->value[i], e);
    free(path);
    return rc;
}

static int is_written(const ds_channel_values *v, uint64_t i)
{
    return v->value[i] != NULL && colours_of(v->channels->list[i]) > 0;
}

int ds_eval_images(const ds_channel_values *v, const char *id, const char *folder, ds_error *e)
{
    uint64_t images = 0;
    for (uint64_t i = 0; i < v->channels->count; i++) {
        images += (uint64_t)is_written(v, i);
    }
    if (images == 0) {
        return v->answer.outcome > DS_EVAL_BAD_GRAD
                   ? 0
                   : ds_fail(e, DS_EXIT_USAGE,
                             "%s has no image among its channels: --images writes those that dshost help %s "
                             "lists",
                             id, id);
    }
    int rc = ds_folder_make(folder, e);
    for (uint64_t i = 0; rc == 0 && i < v->channels->count; i++) {
        rc = is_written(v, i) ? write_channel(v, i, folder, e) : 0;
    }
    return rc;
}
