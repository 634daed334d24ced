/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/ext/variables.h - names, units and groups of the decision variables: environment extension
 * "ds.env.variables/1", and what the host makes of it for optimizers, "ds.objective.variables/1".
 *
 * Purpose: tables, figures and messages that print "stiffness [N/m]" or "push.x.12" instead of x17.
 *
 * Scenario: `dshost eval` prints the best point of a run by name and unit, a landscape labels its axes, and
 * the columns of an exported table have the names as headers.
 *
 * Rules for the environment: names are unique within an instance and depend on the parameters alone.
 * Variables that belong together (the actions of one tool, the parameters of one material) share a group.
 * Rules for the host: it computes nothing from the names. It reads them after the
 * bounds where there are at most DS_MAX_NAMED variables, and refuses an instance that breaks the rules.
 * Variables without names are called x0, x1, ...
 */
#ifndef DIFFSIM_EXT_VARIABLES_H
#define DIFFSIM_EXT_VARIABLES_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_EXT_VARIABLES "ds.env.variables/1"
#define DS_EXT_OBJECTIVE_VARIABLES "ds.objective.variables/1"

#define DS_MAX_NAMED 16384u /* most variables whose names a host reads, 2^14 */

/* ds_variable.flags. Unlike other flags they change the meaning of a value: a reader refuses a variable with
 * a flag that it does not know, with one line. This host refuses INTEGER and CATEGORICAL, which are
 * reserved. */
enum {
    DS_VARIABLE_LOG = 1,        /* positive, varied by factors, not by steps */
    DS_VARIABLE_INTEGER = 2,    /* reserved: takes whole numbers only */
    DS_VARIABLE_CATEGORICAL = 4 /* reserved: number of a choice, without an order */
};

/* One variable. The caller copies the texts before its next call. */
typedef struct ds_variable {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* DS_VARIABLE_* or 0 */
    const char *name;     /* [A-Za-z][A-Za-z0-9_.]*, at most DS_MAX_NAME bytes, unique; "push.x.12" */
    const char *unit;  /* "N/m"; "2 m/s" = multiples of that; at most DS_MAX_NAME bytes; "" = a pure number */
    const char *group; /* name of its group, written as `name`; "" = none */
} ds_variable;
#define DS_VARIABLE_SIZE_1_0 DS_SIZE_WITH(ds_variable, group)

/* The table that get_extension() of an environment returns. */
typedef struct ds_env_variables {
    uint32_t struct_size;
    uint32_t reserved;

    /* [instance] Fills the fields of variable i = 0 .. n - 1 that fit into out->struct_size. */
    ds_status(DS_CALL *describe)(void *self, uint64_t i, ds_variable *out);
} ds_env_variables;
#define DS_ENV_VARIABLES_SIZE_1_0 DS_SIZE_WITH(ds_env_variables, describe)

/* objective->get_extension(objective, DS_EXT_OBJECTIVE_VARIABLES), valid during run(); NULL where the
 * variables have no names. For searches that treat groups separately or vary a variable by factors
 * (DS_VARIABLE_LOG), and for the files that they save. */
typedef struct ds_objective_variables {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t count; /* ds_problem.n: variables that the user has fixed are left out */
    const ds_variable *const *variable;
} ds_objective_variables;
#define DS_OBJECTIVE_VARIABLES_SIZE_1_0 DS_SIZE_WITH(ds_objective_variables, variable)

#ifdef __cplusplus
}
#endif
#endif
