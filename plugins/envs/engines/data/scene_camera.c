/* SPDX-License-Identifier: Apache-2.0 */
/* scene_camera.c - the cameras of a scene file (see scene_camera.h). */
#include "engines/data/scene_camera.h"

#include <math.h>

enum { MOST_NUMBERS = 300 };

static void check_orbit(scene_file *f, const scene_section *s, const char *key, size_t i,
                        const double orbit[3], bool aims)
{
    if (!aims && !(fabs(orbit[0]) > 0)) {
        scene_fail(f, s, key, "camera %zu is at the point it looks at: give a distance above 0", i + 1);
    } else if (fabs(cos(orbit[1] * (3.14159265358979323846 / 180))) < 1e-9) {
        scene_fail(f, s, key,
                   "camera %zu looks straight along y, so no direction of its image is up: use an elevation "
                   "such as 89",
                   i + 1);
    }
}

/* The same direction with an elevation from -90 to 90 and an azimuth from +z. Usual angles keep all bits. */
static ds_scene_kit_camera aimed(const double orbit[3])
{
    double elevation = remainder(orbit[1], 360), azimuth = 180 - remainder(orbit[2], 360);
    if (fabs(elevation) > 90) {
        elevation = copysign(180, elevation) - elevation;
        azimuth += 180;
    }
    if (orbit[0] < 0) {
        elevation = -elevation;
        azimuth += 180;
    }
    return (ds_scene_kit_camera){.given = 1, .azimuth = remainder(azimuth, 360), .elevation = elevation};
}

ds_scene_kit_camera scene_camera_read(scene_file *f, const char *orbit, bool aims)
{
    const scene_section *s = scene_find(f, "camera", "");
    double v[MOST_NUMBERS] = {0}, at[MOST_NUMBERS];
    s = s ? s : scene_next(f, NULL, "camera");
    const size_t n = scene_list(f, s, orbit, MOST_NUMBERS, -1e4, 1e4, v),
                 points = aims ? scene_list(f, s, "look_at", MOST_NUMBERS, -1e4, 1e4, at) : 0;
    const bool given = scene_has(f, s, orbit);
    if (scene_failed(f)) {
        return (ds_scene_kit_camera){.given = 0};
    }
    if (given && (n == 0 || n % 3 != 0)) {
        scene_fail(f, s, orbit, "%s has %zu values: give distance, elevation and azimuth of each camera",
                   orbit, n);
    } else if (points != 0 && points != 3 && (!given || points != n)) {
        scene_fail(f, s, "look_at",
                   "look_at has %zu values: give x, y and z of one point, or of one for each camera", points);
    }
    for (size_t i = 0; 3 * i < n && !scene_failed(f); i++) {
        check_orbit(f, s, orbit, i, v + 3 * i, aims);
    }
    return given && !scene_failed(f) ? aimed(v) : (ds_scene_kit_camera){.given = 0};
}
