/* SPDX-License-Identifier: Apache-2.0 */
/* look.c - how an environment is seen: the parameters of cameras and pictures. */
#include "engines/film/look.h"

#include <string.h>

const char *const look_modes[] = {"alpha", "over", "rgba", NULL};
const char *const look_renderers[] = {"softras", "dibr", NULL};
const char *const look_shadings[] = {"light", "color", NULL};

static double radians(double degrees)
{
    return degrees * (3.14159265358979323846 / 180);
}

static void read_cameras(look *l, ds_param_reader *in)
{
    uint64_t count = 0;
    const double *value = ds_param_list(in, "camera", &count);
    const unsigned long long has = count;
    char text[RENDER_TEXT];
    if (in->status == DS_OK && (count == 0 || count % 3 != 0)) {
        in->status = ds_host_fail(
            in->host, DS_E_PARAM,
            "parameter camera has %llu values: give distance, elevation and azimuth of each camera", has);
    }
    l->cameras = in->status == DS_OK ? (uint32_t)(count / 3) : 0;
    for (uint32_t i = 0; in->status == DS_OK && i < l->cameras; i++) {
        const double *v = value + 3 * (size_t)i;
        l->camera[i] = camera_orbit(CAMERA_SOFTRAS, v[0], radians(v[1]), radians(v[2]));
        if (camera_check(&l->camera[i], text) != 0) {
            in->status =
                ds_host_fail(in->host, DS_E_PARAM, "parameter camera: camera %u: %.200s", i + 1, text);
        }
    }
}

void look_read(look *l, ds_param_reader *in, int triangles)
{
    memset(l, 0, sizeof *l);
    l->size = (uint32_t)ds_param_int(in, "image_size");
    l->threads = (uint32_t)ds_param_int(in, "image_threads");
    l->mode = triangles ? (softras_mode)ds_param_int(in, "obs") : SOFTRAS_ALPHA;
    l->renderer = triangles ? (look_renderer)ds_param_int(in, "renderer") : LOOK_SOFTRAS;
    l->shading = triangles ? (look_shading)ds_param_int(in, "shading") : LOOK_LIGHT;
    l->antialias = triangles && ds_param_int(in, "antialias") != 0;
    l->sigma_scale = triangles ? ds_param_real(in, "sigma_scale") : 1;
    if (in->status == DS_OK && l->renderer == LOOK_DIBR && l->antialias) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameter antialias: renderer = dibr draws without; set false");
    }
    read_cameras(l, in);
}
