/* SPDX-License-Identifier: Apache-2.0 */
/* moving_hooks - there are other hook points once the environment has evaluated. */
#include <diffsim/ext/draft/hooks.h>
#include <string.h>

#define BAD_ID "moving_hooks"
#define BAD_EVALUATE evaluations++;
#define BAD_EXTENSIONS DS_EXT_HOOKS
#define BAD_TABLE(id) (strcmp(id, DS_EXT_HOOKS) == 0 ? &hooks : NULL)
#define BAD_TABLES                                                                                           \
    static ds_status count(void *self, uint64_t *n)                                                          \
    {                                                                                                        \
        (void)self;                                                                                          \
        *n = 1;                                                                                              \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static ds_status describe(void *self, uint64_t i, ds_hook *out)                                          \
    {                                                                                                        \
        (void)self;                                                                                          \
        (void)i;                                                                                             \
        out->kind = DS_HOOK_OUTPUT;                                                                          \
        out->count = evaluations > 0 ? 2 : 1;                                                                \
        out->name = "force";                                                                                 \
        out->unit = "N";                                                                                     \
        out->doc = "On the bowl.";                                                                           \
        return DS_OK;                                                                                        \
    }                                                                                                        \
    static const ds_env_hooks hooks = {sizeof hooks, 0, count, describe};
static int evaluations;
#include "env_base.h"
