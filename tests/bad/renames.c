/* SPDX-License-Identifier: Apache-2.0 */
/* renames - variables are called otherwise once the environment has evaluated. */
#include <diffsim/ext/variables.h>
#include <stdio.h>
#include <string.h>

#define BAD_ID "renames"
#define BAD_EVALUATE evaluations++;
#define BAD_EXTENSIONS DS_EXT_VARIABLES
#define BAD_TABLE(id) (strcmp(id, DS_EXT_VARIABLES) == 0 ? &variables : NULL)
#define BAD_TABLES                                                                                           \
    static ds_status describe(void *self, uint64_t i, ds_variable *out)                                      \
    {                                                                                                        \
        static char name[32];                                                                                \
        (void)self;                                                                                          \
        snprintf(name, sizeof name, "%s.%u", evaluations > 0 ? "warm" : "cold", (unsigned)i);                \
        out->flags = 0;                                                                                      \
        out->name = name;                                                                                    \
        out->unit = out->group = "";                                                                         \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static const ds_env_variables variables = {sizeof variables, 0, describe};
static int evaluations;
#include "env_base.h"
