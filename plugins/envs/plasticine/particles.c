/* SPDX-License-Identifier: Apache-2.0 */
/* particles.c - a scene of material points from a file: the bodies, tools, materials, target and loss that it
 * describes, with the engine of PlasticineLab's tasks (Huang et al. 2021). */
#include "engines/physics/mpm/env/setup.h"

#include <string.h>

/* Without a file: a ball presses a lump of dough flat. */
static const char own_scene[] = "[scene]\n"
                                "gravity = 0 -1 0\n"
                                "[material dough]\n"
                                "youngs_modulus = 5000\n"
                                "yield_stress = 50\n"
                                "[body lump]\n"
                                "shape = sphere\n"
                                "material = dough\n"
                                "center = 0.5 0.12 0.5\n"
                                "radius = 0.12\n"
                                "count = 8000\n"
                                "[tool ball]\n"
                                "shape = sphere\n"
                                "radius = 0.05\n"
                                "position = 0.5 0.3 0.5\n"
                                "speed = 0.01\n"
                                "[target cake]\n"
                                "shape = cylinder\n"
                                "center = 0.5 0.06 0.5\n"
                                "radius = 0.14\n"
                                "height = 0.12\n"
                                "count = 8000\n";

typedef struct particles {
    mpm_env env; /* first */
    mpm_setup setup;
} particles;

/* Reads the scene: of a file, a body alone, or our own. */
static ds_status read_setup(particles *p, ds_param_reader *in)
{
    enum { USUAL_COUNT = 100000 };
    mpm_filling filling = {.path = ds_param_text(in, "fill"), .center = {0.5, 0.0, 0.5}};
    const char *path = ds_param_text(in, "scene");
    const bool is_small = ds_param_int(in, "preset") == MPM_PRESET_SMALL;
    filling.scale = ds_param_real(in, "fill_scale");
    ds_param_values(in, "fill_center", 3, filling.center);
    filling.count = (uint32_t)ds_param_int(in, "particles");
    filling.count = filling.count > 0 ? filling.count : USUAL_COUNT;
    if (in->status != DS_OK) {
        return in->status;
    }
    if (filling.path[0] && path[0]) {
        return ds_host_fail(in->host, DS_E_PARAM, "parameters scene and fill: give only one of them");
    }
    if (filling.path[0]) {
        return mpm_setup_fill(&p->setup, &filling, in->host);
    }
    scene_file *file = path[0] ? mpm_setup_file(path, is_small)
                               : scene_file_parse(own_scene, strlen(own_scene), "own scene", "");
    return mpm_setup_read(&p->setup, file, in->host);
}

static void read_particles(void *self, ds_param_reader *in)
{
    particles *p = self;
    in->status = read_setup(p, in);
    mpm_choices choices = p->setup.choices;
    p->env.kit.camera = p->setup.camera;
    p->env.outline = ds_param_int(in, "outline") == 1;
    mpm_scene_choices(in, &choices);
    if (in->status == DS_OK && p->setup.file) {
        scene_params_override(&p->setup.cameras, in);
        choices.cameras = &p->setup.cameras.host;
    }
    if (in->status == DS_OK) {
        mpm_env_configure_as(&p->env, &p->setup.task, &choices, in);
    }
}

static void release_particles(void *self)
{
    particles *p = self;
    mpm_env_release(&p->env);
    mpm_setup_free(&p->setup);
}

IMAGE_LOSS_DEFINE_CHANNELS(mpm_env, image.image_loss)

static const ds_env_table table = {.size = sizeof(particles),
                                   .advice = "",
                                   .read = read_particles,
                                   .hook_points = mpm_env_hooks,
                                   .allocate = mpm_env_wire,
                                   .release = release_particles,
                                   .range = mpm_env_range,
                                   .variable = mpm_env_variable,
                                   .simulate = mpm_env_simulate,
                                   .metrics = mpm_env_metrics,
                                   .bodies = mpm_env_bodies,
                                   .place = mpm_env_place,
                                   .begin = mpm_env_begin,
                                   .observe = mpm_env_observe,
                                   .act = mpm_env_act,
                                   .back_begin = mpm_env_back_begin,
                                   .back = mpm_env_back,
                                   IMAGE_LOSS_TABLE};

static const ds_desc desc = {
    DS_ENV_KIT_DESC("particles", "0.1.0", "Apache-2.0", mpm_scene_params),
    .flags = DS_ENV_GRADIENT,
    .summary = "Soft bodies, fluids and tools of a scene file (material points)",
    .description =
        "Parameter scene is an .ini file with bodies, materials, tools, target, actions and loss; "
        "docs/scenes.md describes it, and examples/scenes/ has PlasticineLab's tasks as files. Without a "
        "file a ball presses a lump of dough flat. Variables: per segment the motion of each tool per step, "
        "in units of its speed.\n"
        "The loss sums, over the chosen steps, the difference of mass density to the target, the distance of "
        "the mass to the target, and how far each tool is from the material. The gradient is the exact "
        "adjoint of the whole episode." MPM_STEPWISE_TEXT,
    .citation = "Huang et al., PlasticineLab: A soft-body manipulation benchmark with differentiable "
                "physics, ICLR 2021",
};

DS_ENV_KIT_DEFINE(table, desc)
