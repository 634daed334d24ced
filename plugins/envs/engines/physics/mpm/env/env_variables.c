/* SPDX-License-Identifier: Apache-2.0 */
/* What the actions of the tools are called: "ball1.x.0" is the displacement along x, per output step, of the
 * first ball in segment 0. */
#include "env.h"

/* One component of an action. */
typedef struct component {
    const char *name, *unit;
} component;

static const component moves[MPM_MAX_ACTION] = {{"x", "m/step"},    {"y", "m/step"},    {"z", "m/step"},
                                                {"rx", "rad/step"}, {"ry", "rad/step"}, {"rz", "rad/step"},
                                                {"close", "m/step"}};
static const component rolls[3] = {{"roll", "rad/step"}, {"turn", "rad/step"}, {"lift", "m/step"}};

/* "ball", or "ball1", "ball2" ... where several tools move. */
static void name_tool(const mpm_scene *scene, uint32_t tool, char out[DS_MAX_NAME + 1])
{
    static const char *const names[] = {
        [MPM_SPHERE] = "ball", [MPM_CAPSULE] = "pen",     [MPM_CYLINDER] = "cylinder", [MPM_TORUS] = "ring",
        [MPM_BOX] = "box",     [MPM_ROLLING_PIN] = "pin", [MPM_CHOPSTICKS] = "sticks", [MPM_LADLE] = "ladle"};
    uint32_t moved = 0, number = 0;
    for (uint32_t t = 0; t < scene->n_tools; t++) {
        moved += scene->tools[t].action_dim > 0;
        number = t == tool ? moved : number;
    }
    const char *name = names[scene->tools[tool].shape];
    if (moved > 1) {
        ds_env_variable_put(out, "%s%u", name, number);
    } else {
        ds_env_variable_put(out, "%s", name);
    }
}

void mpm_env_variable(const void *self, uint64_t i, ds_env_variable *out)
{
    const mpm_env *env = self;
    const mpm_scene *scene = &env->scene;
    uint32_t dim = env->episode.action_dim, k = (uint32_t)(i % dim), t = 0;
    while (k >= scene->tools[t].action_dim) {
        k -= scene->tools[t++].action_dim;
    }
    const mpm_tool *tool = &scene->tools[t];
    const component *c = tool->shape == MPM_ROLLING_PIN ? &rolls[k] : &moves[k];
    name_tool(scene, t, out->group);
    ds_env_variable_put(out->name, "%.20s.%s.%u", out->group, c->name, (unsigned)(i / dim));
    ds_env_variable_unit(out, tool->scale[k], c->unit);
}
