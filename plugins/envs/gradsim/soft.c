/* SPDX-License-Identifier: Apache-2.0 */
/* soft.c - a scene of deformable bodies from a file: the bodies, materials, contacts, variables, target and
 * loss that it describes, with the engine of gradSim's scenes (Jatavallabhula et al. 2021). */
#include "engines/kit/bundled.h"
#include "engines/physics/soft/scene/setup.h"

#include <string.h>

/* Without a file: a rod is bent by its end, which is driven. */
static const char own_scene[] = "[scene]\n"
                                "duration = 0.5\n"
                                "substeps = 32\n"
                                "[material]\n"
                                "youngs_modulus = 20000\n"
                                "damping = 10\n"
                                "density = 100\n"
                                "[body rod]\n"
                                "shape = box\n"
                                "center = 0 0.5 0\n"
                                "size = 1 0.2 0.2\n"
                                "cells = 10 2 2\n"
                                "[hold left]\n"
                                "box = -1 0 -1 -0.49 1 1\n"
                                "[drive right]\n"
                                "box = 0.49 0 -1 1 1 1\n"
                                "velocity = variable -1..1 start 0\n"
                                "move = xy\n"
                                "segments = 2\n"
                                "[target rod]\n"
                                "shift = -0.05 0.1 0\n"
                                "[loss]\n"
                                "compare = centre\n";

static const char *const observed[] = {"scene", "image", "points", "centre", NULL};

static const ds_param *const params[] = {
    DS_PATH("scene", "", "The scene file (.ini): bodies, materials, contacts, target, loss."),
    DS_REAL("duration", "0", 0, 1000, "s", "Length of an episode; 0 = the scene's."),
    DS_INT("substeps", "0", 0, 10000, "", "Time steps in 1/60 s; 0 = the scene's."),
    DS_INT("frames", "0", 0, 10000, "", "Number of compared states; 0 = the scene's."),
    DS_ENUM("observe", "scene", observed, "What is compared with the target; scene: as the scene says."),
    DS_INT("image_size", "0", 0, 512, "", "Pixels per side of an image; 0 = the scene's."),
    DS_INT("seed", "0", 0, 1000000000, "", "Seed of the random values at the start of the variables."),
    DS_HYBRID_PARAMS,
    NULL};

static void read_soft(void *self, ds_param_reader *in)
{
    soft_scene *e = self;
    const char *path = ds_param_text(in, "scene");
    const soft_choices choices = {.duration = ds_param_real(in, "duration"),
                                  .substeps = (uint32_t)ds_param_int(in, "substeps"),
                                  .frames = (uint32_t)ds_param_int(in, "frames"),
                                  .observe = (uint32_t)ds_param_int(in, "observe"),
                                  .image_size = (uint32_t)ds_param_int(in, "image_size"),
                                  .seed = (uint64_t)ds_param_int(in, "seed")};
    if (in->status != DS_OK) {
        return;
    }
    scene_file *file = path[0] != '\0' ? scene_file_read(path)
                                       : scene_file_parse(own_scene, strlen(own_scene), "own scene", "");
    const scene_section *scene = file != NULL ? scene_find(file, "scene", "") : NULL;
    if (scene != NULL && scene_has(file, scene, "model")) {
        scene_fail(file, scene, "model",
                   "a scene of soft bodies has no model: this is one of cloth (--env cloth)");
    }
    in->status = soft_setup_read(e, file, &choices, in->host);
}

static void release(void *self)
{
    soft_scene *e = self;
    soft_release(&e->soft);
    soft_setup_free(&e->setup);
}

static const ds_scene_kit_label metrics[] = {{"x", "m"},        {"y", "m"},    {"z", "m"},
                                             {"distance", "m"}, {"error", ""}, {NULL, NULL}};

static void measure(void *self, uint64_t k, double *out)
{
    soft_scene *e = self;
    soft_measure_goal(&e->soft, k, out);
    identified_put(&e->soft.error, out + 4);
}

/* ---- plugin ---- */

static const ds_env_table env = {.size = sizeof(soft_scene),
                                 .advice = "reduce image size or duration",
                                 .cure = "raise substeps, or lower stiffness or damping",
                                 .read = read_soft,
                                 .metrics = metrics,
                                 .measure = measure,
                                 SOFT_TABLE_OF(release),
                                 .hook_points = soft_hooks};

static const ds_desc desc = {
    BUNDLED_DESC("soft", "2"), .flags = DS_ENV_GRADIENT,
    .summary = "Deformable bodies of a scene file (finite elements)",
    .description =
        "Parameter scene is an .ini file with bodies, materials, contacts, actuation, target and loss; "
        "docs/scenes.md describes it, and examples/scenes/ has gradSim's tasks as files. Without a file the "
        "end "
        "of a rod is moved. The variables are the numbers of the file that it names as such: material, "
        "velocities, forces, weights of a controller." COMPARISON_CHANNELS COMPARISON_ERROR("logarithms"),
    .citation = PAPER_GRADSIM};

DS_ENV_KIT_DEFINE(env, desc)
