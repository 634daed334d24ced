/* SPDX-License-Identifier: Apache-2.0 */
/* env_variables.c - what an environment calls its variables. */
#include "config.h"

#include <diffsim/ext/variables.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/sized.h"
#include "plugin/instance.h"

static int describe(ds_env *env, const ds_env_variables *table, uint64_t i, ds_error *e)
{
    ds_variable out = {.struct_size = sizeof out, .name = "", .unit = "", .group = ""};
    char why[DS_VARIABLE_WHY];
    ds_status st = table->describe(env->self, i, &out);
    if (st != DS_OK) {
        return ds_services_fail(&env->services, e, "describe() of " DS_EXT_VARIABLES, st);
    }
    return ds_variable_set(&env->variables[i], out.name, out.unit, out.group, out.flags, why) == 0
               ? 0
               : ds_fail(e, DS_EXIT_PLUGIN, "%s: " DS_EXT_VARIABLES ": variable %" PRIu64 ": %s",
                         env->module->id, i, why);
}

static int check_unique(const ds_env *env, ds_error *e)
{
    uint64_t a = 0, b = 0;
    int rc = ds_variables_unique(env->variables, env->info.n, &a, &b);
    return rc > 0   ? ds_no_memory(e)
           : rc < 0 ? ds_fail(e, DS_EXIT_PLUGIN,
                              "%s: " DS_EXT_VARIABLES ": variables %" PRIu64 " and %" PRIu64
                              " are both called '%s': names must be unique",
                              env->module->id, a, b, env->variables[a].name)
                    : 0;
}

int ds_env_read_variables(ds_env *env, ds_error *e)
{
    const ds_env_variables *theirs = ds_env_extension(env, DS_EXT_VARIABLES);
    ds_env_variables own, *table = &own;
    if (theirs == NULL || env->info.n > DS_MAX_NAMED) {
        return 0;
    }
    if (DS_SIZED_READ(table, theirs, DS_ENV_VARIABLES_SIZE_1_0, env->module->id,
                      "the table of " DS_EXT_VARIABLES, e) != 0) {
        return DS_EXIT_PLUGIN;
    }
    if (table->describe == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s: extension " DS_EXT_VARIABLES ": a function is missing",
                       env->module->id);
    }
    env->variables = calloc(env->info.n, sizeof *env->variables);
    int rc = env->variables != NULL ? 0 : ds_no_memory(e);
    for (uint64_t i = 0; i < env->info.n && rc == 0; i++) {
        rc = describe(env, table, i, e);
    }
    return rc != 0 ? rc : check_unique(env, e);
}
