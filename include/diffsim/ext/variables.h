/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/variables.h - environment extension "ds.env.variables/1": what the
 * decision variables are called.
 *
 * What for: tables, pictures and messages that say "stiffness [N/m]" or "push, x, step 12" instead of x17.
 *
 * Scenario: `dshost eval` prints the best point of a run by name and unit, a landscape writes the names at
 * its axes, and the columns of an exported table are headed by them.
 *
 * Rules for the environment: names are unique within an instance and do not change; variables that belong
 * together (the actions of one tool, the parameters of one material) share the name of a group. Rules for
 * the host: names are for people and files; nothing that is computed depends on them. It asks after the
 * bounds, where there are at most DS_MAX_NAMED variables, and refuses an instance that breaks the rules;
 * without names they are called x0, x1, ...
 */
#ifndef DIFFSIM_EXT_VARIABLES_H
#define DIFFSIM_EXT_VARIABLES_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_VARIABLES "ds.env.variables/1"

#define DS_MAX_NAMED 16384u /* variables whose names a host asks for, 2^14 */

/* ds_variable.flags: it is positive, and varied by factors rather than by steps. */
enum { DS_VARIABLE_LOG = 1 };

/* One variable. Texts are copied by the caller before its next call. */
typedef struct ds_variable {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* DS_VARIABLE_* or 0 */
    const char *name;     /* [A-Za-z][A-Za-z0-9_.]*, at most DS_MAX_NAME bytes, unique; "push.x.12" */
    const char *unit;  /* "N/m", "2 m/s" of multiples of it; at most DS_MAX_NAME bytes; "" = a pure number */
    const char *group; /* what it belongs to, as `name`; "" = nothing */
    DS_GROWN
} ds_variable;
#define DS_VARIABLE_SIZE_1_0 DS_SIZE_WITH(ds_variable, group)

/* The table that get_extension() of an environment returns. */
typedef struct ds_env_variables {
    uint32_t struct_size;
    uint32_t reserved;

    /* [instance] Fills the fields of variable i = 0 .. n - 1 that fit into out->struct_size. */
    ds_status(DS_CALL *describe)(void *self, uint64_t i, ds_variable *out);
    DS_GROWN
} ds_env_variables;
#define DS_ENV_VARIABLES_SIZE_1_0 DS_SIZE_WITH(ds_env_variables, describe)

#ifdef __cplusplus
}
#endif
#endif
