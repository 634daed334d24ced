/* SPDX-License-Identifier: Apache-2.0 */
/* scene_camera.h - the cameras of a scene file, checked whether or not the loss uses them. */
#ifndef SCENE_CAMERA_H
#define SCENE_CAMERA_H

#include "engines/data/scene_file.h"

#include <diffsim/helper/scene_kit.h>

/* Reads [camera]: key `orbit` has distance (m), elevation and azimuth (degrees, from -z towards +x) for each
 * camera. aims: key look_at has one point or one for each, and distance 0 stands for the one from which all
 * is seen; else cameras look at the origin. Returns the angles of the first camera. Mistakes are in the
 * file. */
ds_scene_kit_camera scene_camera_read(scene_file *f, const char *orbit, bool aims);

#endif
