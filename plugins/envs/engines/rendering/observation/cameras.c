/* SPDX-License-Identifier: Apache-2.0 */
/* cameras.c - parameters of cameras and images. */
#include "engines/rendering/observation/cameras.h"

#include <string.h>

const char *const cameras_modes[] = {"alpha", "over", "rgba", NULL};
const char *const cameras_renderers[] = {"softras", "dibr", NULL};
const char *const cameras_shadings[] = {"light", "color", NULL};

static double radians(double degrees)
{
    return degrees * (3.14159265358979323846 / 180);
}

const double *cameras_read_orbits(cameras *l, ds_param_reader *in)
{
    uint64_t count = 0;
    const double *value = ds_param_list(in, "camera", &count);
    const unsigned long long has = count;
    if (in->status == DS_OK && (count == 0 || count % 3 != 0)) {
        in->status = ds_host_fail(
            in->host, DS_E_PARAM,
            "parameter camera has %llu values: give distance, elevation and azimuth of each camera", has);
    }
    l->count = in->status == DS_OK ? (uint32_t)(count / 3) : 0;
    return in->status == DS_OK ? value : NULL;
}

int cameras_place(cameras *l, uint32_t i, const double orbit[3], char text[RENDER_TEXT])
{
    l->camera[i] = camera_orbit(CAMERA_SOFTRAS, orbit[0], radians(orbit[1]), radians(orbit[2]));
    return camera_check(&l->camera[i], text);
}

void cameras_read_images(cameras *l, ds_param_reader *in, int triangles)
{
    memset(l, 0, sizeof *l);
    l->size = (uint32_t)ds_param_int(in, "image_size");
    l->threads = (uint32_t)ds_param_int(in, "image_threads");
    l->mode = triangles ? (softras_mode)ds_param_int(in, "obs") : SOFTRAS_ALPHA;
    l->renderer = triangles ? (cameras_renderer)ds_param_int(in, "renderer") : CAMERAS_SOFTRAS;
    l->shading = triangles ? (cameras_shading)ds_param_int(in, "shading") : CAMERAS_LIGHT;
    l->antialias = triangles && ds_param_int(in, "antialias") != 0;
    l->sigma_scale = triangles ? ds_param_real(in, "sigma_scale") : 1;
    const char *texture = triangles ? ds_param_text(in, "texture") : "";
    l->texture = texture[0] != '\0' ? texture : NULL;
    if (in->status == DS_OK && l->renderer == CAMERAS_DIBR && l->antialias) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameter antialias: renderer = dibr does not antialias; set false");
    }
    if (in->status == DS_OK && l->texture != NULL &&
        (l->renderer != CAMERAS_DIBR || l->mode == SOFTRAS_ALPHA)) {
        in->status = ds_host_fail(
            in->host, DS_E_PARAM,
            l->renderer != CAMERAS_DIBR
                ? "parameter texture: renderer = softras draws each face in one colour; set renderer = dibr"
                : "parameter texture: obs = alpha compares silhouettes only; set obs = over");
    }
}

void cameras_read(cameras *l, ds_param_reader *in, int triangles)
{
    char text[RENDER_TEXT];
    cameras_read_images(l, in, triangles);
    const double *orbit = cameras_read_orbits(l, in);
    for (uint32_t i = 0; in->status == DS_OK && i < l->count; i++) {
        if (cameras_place(l, i, orbit + 3 * (size_t)i, text) != 0) {
            in->status =
                ds_host_fail(in->host, DS_E_PARAM, "parameter camera: camera %u: %.200s", i + 1, text);
        }
    }
}
