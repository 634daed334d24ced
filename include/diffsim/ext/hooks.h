/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/hooks.h - environment extension "ds.env.hooks/1": where a user may put a network into the
 * equations of motion.
 *
 * What for: hybrid simulation. What a model leaves out (friction, drag, play in a joint) is learned by a
 * small network that is added to a quantity of the simulation, or takes its place; its parameters are
 * decision variables beside the physical ones.
 *
 * Scenario: `dshost help ENV` lists the hook points of an environment: "force", an output in N, and the
 * inputs "position" and "velocity". The user wires them by a parameter of the environment, and the variables
 * of the next run are those of the physics and the weights of a network from velocity to force:
 *
 *     dshost --env ENV --opt lbfgsb --set 'env.residual=force = velocity | 5 5 | elu | residual'
 *
 * Rules for the environment: hook points are the same for the whole life of an instance and do not depend on
 * what is wired; names are unique. Where nothing is wired, results are the same bits as without hooks, at the
 * same cost; a network that is wired as "residual" and whose weights are 0 changes nothing either, as long as
 * its activations are 0 at 0. How a wiring is read, and what the parameters are called, is up to the
 * environment: diffsim/helper/hybrid.h does it for plugins of this and of other houses in the same way.
 * Rules for the host: it shows hook points to people and programs; nothing that is computed depends on them.
 *
 * Source: E. Heiden, D. Millard, E. Coumans, Y. Sheng, G. Sukhatme, "NeuralSim: Augmenting differentiable
 * simulators with neural networks", ICRA 2021 (there "neural scalars" and "blueprints").
 */
#ifndef DIFFSIM_EXT_HOOKS_H
#define DIFFSIM_EXT_HOOKS_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_HOOKS "ds.env.hooks/1"

#define DS_MAX_HOOKS 32u         /* hook points of an instance */
#define DS_MAX_HOOK_ELEMENTS 64u /* of one hook point */

/* What a hook point is for a network. */
enum {
    DS_HOOK_INPUT = 1, /* a quantity that it may depend on */
    DS_HOOK_OUTPUT = 2 /* a quantity that it may be added to, or replace */
};

/* One hook point. Texts are valid until destroy(). */
typedef struct ds_hook {
    uint32_t struct_size; /* set by the caller of describe() */
    uint32_t kind;        /* DS_HOOK_* */
    uint64_t count;       /* numbers: 1, or one for each joint, axis ...; at most DS_MAX_HOOK_ELEMENTS */
    const char *name;     /* [a-z][a-z0-9_]{0,46}, unique; its elements are called name.1 .. name.count */
    const char *unit;     /* "N m", "rad/s"; "" for a pure number */
    const char *doc;      /* one sentence: which quantity, in which frame, when it is asked */
    DS_GROWN
} ds_hook;
#define DS_HOOK_SIZE_1_0 DS_SIZE_WITH(ds_hook, doc)

/* The table that get_extension() of an environment returns. */
typedef struct ds_env_hooks {
    uint32_t struct_size;
    uint32_t reserved;

    /* [instance] How many hook points this instance has, 1 .. DS_MAX_HOOKS. */
    ds_status(DS_CALL *count)(void *self, uint64_t *count);

    /* [instance] Fills the fields of hook point i = 0 .. count - 1 that fit into out->struct_size. */
    ds_status(DS_CALL *describe)(void *self, uint64_t i, ds_hook *out);
    DS_GROWN
} ds_env_hooks;
#define DS_ENV_HOOKS_SIZE_1_0 DS_SIZE_WITH(ds_env_hooks, describe)

#ifdef __cplusplus
}
#endif
#endif
