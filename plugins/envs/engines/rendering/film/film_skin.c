/* SPDX-License-Identifier: Apache-2.0 */
/* film_skin.c - a picture that lies on the surface of what is seen: its file, and which of its points each
 * vertex shows. */
#include "engines/rendering/film/film_internal.h"

#include <math.h>
#include <string.h>

static void paint_rgb(const png_picture *png, double *texel)
{
    const size_t of = png->channels, pixels = (size_t)png->width * png->height;
    for (size_t i = 0; i < 3 * pixels; i++) {
        texel[i] = png->pixel[i / 3 * of + (of < 3 ? 0 : i % 3)];
    }
}

ds_status film_skin_read(film *f, const char *path, const ds_host *host)
{
    png_picture png;
    char text[READ_PNG_TEXT];
    const int failed = png_picture_read(&png, path, text);
    if (failed != READ_PNG_OK) {
        return ds_host_fail(host, film_png_status(failed), "parameter texture: %.400s", text);
    }
    f->skin.width = png.width;
    f->skin.height = png.height;
    f->skin.texel = ds_memory_doubles(&f->memory, 3 * (size_t)png.width * png.height);
    if (f->skin.texel != NULL) {
        paint_rgb(&png, f->skin.texel);
    }
    png_picture_free(&png);
    return f->memory.failed ? film_no_memory(host) : DS_OK;
}

/* The box around the corners of the faces. */
static void box_of(const render_mesh *m, const double *rest, double low[3], double size[3])
{
    double high[3];
    for (size_t d = 0; d < 3; d++) {
        low[d] = HUGE_VAL;
        high[d] = -HUGE_VAL;
        for (size_t i = 0; i < 3 * (size_t)m->faces; i++) {
            const double x = rest[3 * (size_t)m->face[i] + d];
            low[d] = fmin(low[d], x);
            high[d] = fmax(high[d], x);
        }
        size[d] = high[d] - low[d];
    }
}

/* The picture has no extent along the shortest side of the box; of sides that are alike z goes first, then y,
 * so that a camera in front of a body sees its picture upright. */
void film_skin_lay(const render_mesh *m, const double *rest, double *uv)
{
    static const double alike = 1 - 1e-9;
    double low[3], size[3];
    box_of(m, rest, low, size);
    size_t thin = 2;
    thin = size[1] < alike * size[thin] ? 1 : thin;
    thin = size[0] < alike * size[thin] ? 0 : thin;
    const size_t axis[2] = {thin == 0 ? 2 : 0, thin == 1 ? 2 : 1};
    for (size_t i = 0; i < 2 * (size_t)m->vertices; i++) {
        const size_t d = axis[i % 2];
        uv[i] = size[d] > 0 ? (rest[i / 2 * 3 + d] - low[d]) / size[d] : 0.5;
    }
}
