/* SPDX-License-Identifier: Apache-2.0 */
/* same_names - two of three variables have the same name. */
#include <diffsim/ext/variables.h>
#include <string.h>

#define BAD_ID "same_names"
#define BAD_EXTENSIONS DS_EXT_VARIABLES
#define BAD_TABLE(id) (strcmp(id, DS_EXT_VARIABLES) == 0 ? &variables : NULL)
#define BAD_TABLES                                                                                           \
    static ds_status describe(void *self, uint64_t i, ds_variable *out)                                      \
    {                                                                                                        \
        static const char *const names[] = {"push.x", "push.y", "push.x"};                                   \
        (void)self;                                                                                          \
        out->flags = 0;                                                                                      \
        out->name = names[i];                                                                                \
        out->unit = "N";                                                                                     \
        out->group = "push";                                                                                 \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static const ds_env_variables variables = {sizeof variables, 0, describe};
#include "env_base.h"
