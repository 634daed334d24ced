/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/draft/hooks.h - hook points for networks in the equations of motion, a draft: environment
 * extension "ds.draft.env.hooks/1".
 *
 * Purpose: hybrid simulation. A small network learns what the model leaves out (friction, drag, play in a
 * joint): its output is added to a quantity of the simulation or replaces it, and its parameters are decision
 * variables in addition to the physical ones.
 *
 * Scenario: `dshost help ENV` lists the hook points of an environment: an output "force" in N, and the inputs
 * "position" and "velocity". The user wires them by a parameter of the environment. The variables of the next
 * run are the physical ones and the weights of a network from velocity to force:
 *
 *     dshost --env ENV --opt lbfgsb --set 'env.residual=force = velocity | 5 5 | elu | residual'
 *
 * Rules for the environment: hook points do not change during the life of an instance and do not depend on
 * the wiring; names are unique. Without a network, results have the same bits as without hook points, at the
 * same cost. A network that is wired as "residual" and has weights 0 changes nothing, where its activations
 * are 0 at 0. The environment defines the syntax of the wiring and the names of the parameters;
 * diffsim/helper/hybrid.h does both in the same way for all plugins that use it. Rules for the host: it shows
 * hook points to people and programs; no result depends on them.
 *
 * Source: E. Heiden, D. Millard, E. Coumans, Y. Sheng, G. Sukhatme, "NeuralSim: Augmenting differentiable
 * simulators with neural networks", ICRA 2021 (there "neural scalars" and "blueprints").
 */
#ifndef DIFFSIM_EXT_DRAFT_HOOKS_H
#define DIFFSIM_EXT_DRAFT_HOOKS_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_HOOKS "ds.draft.env.hooks/1"

#define DS_MAX_HOOKS 32u         /* hook points of an instance */
#define DS_MAX_HOOK_ELEMENTS 64u /* of one hook point */

/* Kind of a hook point. */
enum {
    DS_HOOK_INPUT = 1, /* a quantity that a network may depend on */
    DS_HOOK_OUTPUT = 2 /* a quantity that a network may be added to, or replace */
};

/* One hook point. Its texts stay valid until destroy(). */
typedef struct ds_hook {
    uint32_t struct_size; /* set by the caller of describe() */
    uint32_t kind;        /* DS_HOOK_* */
    uint64_t count;       /* numbers: 1, or one for each joint, axis ...; at most DS_MAX_HOOK_ELEMENTS */
    const char *name;     /* [a-z][a-z0-9_]{0,46}, unique; its elements are called name.1 .. name.count */
    const char *unit;     /* "N m", "rad/s"; "" for a pure number */
    const char *doc;      /* one sentence: which quantity, in which frame, at which time of a step */
} ds_hook;
#define DS_HOOK_SIZE_1_0 DS_SIZE_WITH(ds_hook, doc)

/* The table that get_extension() of an environment returns. */
typedef struct ds_env_hooks {
    uint32_t struct_size;
    uint32_t reserved;

    /* [instance] Writes the number of hook points, 1 .. DS_MAX_HOOKS. */
    ds_status(DS_CALL *count)(void *self, uint64_t *count);

    /* [instance] Fills the fields of hook point i = 0 .. count - 1 that fit into out->struct_size. */
    ds_status(DS_CALL *describe)(void *self, uint64_t i, ds_hook *out);
} ds_env_hooks;
#define DS_ENV_HOOKS_SIZE_1_0 DS_SIZE_WITH(ds_env_hooks, describe)

#ifdef __cplusplus
}
#endif
#endif
