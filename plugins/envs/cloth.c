/* SPDX-License-Identifier: Apache-2.0 */
/* cloth.c - a scene of cloth from a file. The file chooses the model: springs (swing, flip, realtosim)
 * or membrane (cloth_throw, cloth_velocity). */
#include "engines/kit/bundled.h"
#include "engines/physics/cloth/env/disc_env.h"
#include "engines/physics/cloth/env/springs_scene.h"
#include "engines/physics/soft/scene/setup.h"

static const ds_param *const params[] = {
    DS_PATH("scene", "", "The scene file (.ini): cloth, contact, variables, target, loss."), DS_HYBRID_PARAMS,
    NULL};

/* ---- membranes ---- */

static void read_membrane(void *self, ds_param_reader *in)
{
    static const soft_choices none = {0};
    soft_scene *e = self;
    scene_file *f = cloth_scene_open(in);
    if (f != NULL) {
        scene_choice(f, scene_find(f, "scene", ""), "model", cloth_scene_models, 0);
        in->status = soft_setup_read(e, f, &none, in->host);
    }
}

static void release_membrane(void *self)
{
    soft_scene *e = self;
    soft_release(&e->soft);
    soft_setup_free(&e->setup);
}

static const ds_scene_kit_label metrics[] = {{"x", "m"},        {"y", "m"},    {"z", "m"},
                                             {"distance", "m"}, {"error", ""}, {NULL, NULL}};

static void measure_membrane(void *self, uint64_t k, double *out)
{
    soft_scene *e = self;
    soft_measure_goal(&e->soft, k, out);
    identified_put(&e->soft.error, out + 4);
}

static const ds_env_table membrane = {.size = sizeof(soft_scene),
                                      .advice = "reduce the cells, the size of images or the duration",
                                      .cure = "raise substeps, or lower stiffness or damping",
                                      .read = read_membrane,
                                      .metrics = metrics,
                                      .measure = measure_membrane,
                                      SOFT_TABLE_OF(release_membrane),
                                      .hook_points = soft_hooks};

/* ---- plugin ---- */

/* The features that some scene has: an instance has those of its own table. */
static const ds_env_table any = {DISC_ENV_TABLE, .size = sizeof(disc_env), .read = disc_env_read,
                                 .hook_points = disc_env_hooks};

static const ds_desc desc = {
    BUNDLED_DESC("cloth", "0.1.1"),
    .flags = DS_ENV_GRADIENT,
    .summary = "Cloth of a scene file (springs or membranes)",
    .description = "Parameter scene is an .ini file with cloth, contact, variables, target and loss; "
                   "docs/scenes.md describes it, and examples/scenes/ has the tasks of this kind as files. "
                   "Without a file a small cloth is swung to where another one lies.",
    .citation = PAPER_ANTONOVA,
};

static ds_status cloth_create(const ds_host *host, void **out)
{
    ds_param_reader in = {host, DS_OK};
    scene_file *f = cloth_scene_open(&in);
    if (in.status != DS_OK) {
        return in.status;
    }
    const uint32_t model = scene_choice(f, scene_find(f, "scene", ""), "model", cloth_scene_models, 0);
    const ds_env_table *table = model == CLOTH_SCENE_SPRINGS ? springs_scene_table(f) : &membrane;
    scene_file_free(f);
    return ds_env_kit_create(table, host, out);
}

static ds_status cloth_evaluate(void *self, const ds_rows *rows, const ds_results *results)
{
    return ds_env_kit_evaluate_table(((const ds_env_kit *)self)->env, self, rows, results);
}

const ds_plugin *DS_CALL ds_plugin_query(uint32_t host_major, uint32_t host_minor)
{
    static const ds_env_vtable vtable = {.struct_size = sizeof(ds_env_vtable),
                                         .create = cloth_create,
                                         .destroy = ds_env_kit_destroy,
                                         .info = ds_env_kit_info,
                                         .bounds = ds_env_kit_bounds,
                                         .evaluate = cloth_evaluate,
                                         .get_extension = ds_env_kit_extension};
    static ds_env_kit_plugin plugin;
    (void)host_major, (void)host_minor;
    return ds_env_kit_query(&plugin, &any, &desc, &vtable);
}
