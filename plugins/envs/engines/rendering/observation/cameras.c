/* SPDX-License-Identifier: Apache-2.0 */
/* cameras.c - parameters of cameras, light and images; views as variables. */
#include "engines/rendering/observation/cameras.h"

#include <math.h>
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

/* ---- view ---- */

/* Direction to the light, exact from above; its derivatives by elevation and azimuth (radians; may be NULL).
 */
static void direction_of(const double from[2], double out[3], double by_elevation[3], double by_azimuth[3])
{
    const double down = radians(90 - from[0]), c = sin(down), s = cos(down), ca = cos(radians(from[1])),
                 sa = sin(radians(from[1]));
    const double d[3] = {c * sa, s, -c * ca};
    memcpy(out, d, sizeof d);
    if (by_elevation != NULL) {
        memcpy(by_elevation, (const double[3]){-s * sa, c, s * ca}, sizeof d);
        memcpy(by_azimuth, (const double[3]){c * ca, 0, c * sa}, sizeof d);
    }
}

static void set_lighting(cameras *l, const double view[VIEW_NUMBERS])
{
    memcpy(l->view, view, sizeof l->view);
    l->lighting = (dibr_lighting){.ambient = view[VIEW_AMBIENT],
                                  .diffuse = view[VIEW_DIFFUSE],
                                  .specular = view[VIEW_SPECULAR],
                                  .shine = view[VIEW_SHINE]};
    direction_of(view + VIEW_LIGHT, l->lighting.light, NULL, NULL);
}

int cameras_view(cameras *l, const double view[VIEW_NUMBERS])
{
    char text[RENDER_TEXT];
    set_lighting(l, view);
    return cameras_place(l, 0, view + VIEW_CAMERA, text);
}

void cameras_view_adjoint(const cameras *l, const camera_pose *pose_bar, const dibr_lighting *lighting_bar,
                          double view_bar[VIEW_NUMBERS])
{
    const double *v = l->view, degree = radians(1);
    double orbit[3] = {0}, to[3], by_elevation[3], by_azimuth[3];
    camera_orbit_adjoint(CAMERA_SOFTRAS, v[0], radians(v[1]), radians(v[2]), pose_bar, orbit);
    direction_of(v + VIEW_LIGHT, to, by_elevation, by_azimuth);
    for (int i = 0; i < 3; i++) {
        view_bar[VIEW_CAMERA + i] += orbit[i] * (i == 0 ? 1 : degree);
        view_bar[VIEW_LIGHT] += lighting_bar->light[i] * by_elevation[i] * degree;
        view_bar[VIEW_LIGHT + 1] += lighting_bar->light[i] * by_azimuth[i] * degree;
    }
    view_bar[VIEW_AMBIENT] += lighting_bar->ambient;
    view_bar[VIEW_DIFFUSE] += lighting_bar->diffuse;
    view_bar[VIEW_SPECULAR] += lighting_bar->specular;
    view_bar[VIEW_SHINE] += lighting_bar->shine;
}

void cameras_view_tangent(const cameras *l, const double view_dot[VIEW_NUMBERS], camera_pose *pose_dot,
                          dibr_lighting *lighting_dot)
{
    const double *v = l->view, degree = radians(1);
    double to[3], by_elevation[3], by_azimuth[3];
    *pose_dot = (camera_pose){.half_angle = 0};
    *lighting_dot = (dibr_lighting){.ambient = view_dot[VIEW_AMBIENT],
                                    .diffuse = view_dot[VIEW_DIFFUSE],
                                    .specular = view_dot[VIEW_SPECULAR],
                                    .shine = view_dot[VIEW_SHINE]};
    direction_of(v + VIEW_LIGHT, to, by_elevation, by_azimuth);
    for (int i = 0; i < 3; i++) { /* row i of the derivatives of the eye by the orbit */
        camera_pose one = {.half_angle = 0};
        double row[3] = {0};
        one.eye[i] = 1;
        camera_orbit_adjoint(CAMERA_SOFTRAS, v[0], radians(v[1]), radians(v[2]), &one, row);
        pose_dot->eye[i] = row[0] * view_dot[0] + (row[1] * view_dot[1] + row[2] * view_dot[2]) * degree;
        lighting_dot->light[i] =
            (by_elevation[i] * view_dot[VIEW_LIGHT] + by_azimuth[i] * view_dot[VIEW_LIGHT + 1]) * degree;
    }
}

/* ---- parameters ---- */

static void read_light(cameras *l, ds_param_reader *in, int triangles)
{
    double view[VIEW_NUMBERS] = {[VIEW_LIGHT] = 90, [VIEW_AMBIENT] = 0.5, [VIEW_DIFFUSE] = 0.5};
    if (triangles) {
        ds_param_values(in, "light_from", 2, view + VIEW_LIGHT);
        ds_param_values(in, "light", 4, view + VIEW_AMBIENT);
    }
    if (in->status == DS_OK && view[VIEW_SPECULAR] > 0 &&
        (l->renderer != CAMERAS_DIBR || l->shading != CAMERAS_LIGHT)) {
        in->status = ds_host_fail(in->host, DS_E_PARAM,
                                  "parameter light: its third number, the reflected share, is %g: set 0, or "
                                  "renderer = dibr and shading = light",
                                  view[VIEW_SPECULAR]);
    }
    set_lighting(l, view);
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
    read_light(l, in, triangles);
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
    if (in->status == DS_OK) {
        memcpy(l->view + VIEW_CAMERA, orbit, 3 * sizeof *orbit);
    }
}
