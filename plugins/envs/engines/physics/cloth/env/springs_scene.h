/* SPDX-License-Identifier: Apache-2.0 */
/* springs_scene.h - scenes of `model = springs` (docs/scenes.md): a file fills what the environments swing,
 * flip and realtosim fill from their parameters. */
#ifndef DS_ENGINES_CLOTH_SPRINGS_SCENE_H
#define DS_ENGINES_CLOTH_SPRINGS_SCENE_H

#include "engines/data/scene_params.h"

#include <diffsim/helper/env_kit.h>

/* The environment for such a file: a sheet on the floor, a slab in a pan ([pan]), or a recorded lift
 * ([recording]). Its read() opens the file of parameter `scene`. */
const ds_env_table *springs_scene_table(scene_file *f);

/* Words of key `model` in [scene]; the first one is the default. */
enum { CLOTH_SCENE_MEMBRANE, CLOTH_SCENE_SPRINGS };
extern const char *const cloth_scene_models[];

/* Opens the file of parameter `scene`, or the scene of the environment without a file; NULL after a failure,
 * which is in in->status. */
scene_file *cloth_scene_open(ds_param_reader *in);

#endif
