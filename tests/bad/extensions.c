/* SPDX-License-Identifier: Apache-2.0 */
/* extensions.c - faults of tables of rows, stepwise control and other extensions: -DBAD_IS_NAME compiles
 * plugin NAME (compile_bad of tests/cli/lib.sh). */

/* batch_gradient - with several points in one call their gradients are wrong. */
#ifdef BAD_IS_batch_gradient
#define BAD_ID "batch_gradient"
#define BAD_ROW                                                                                              \
    if (count > 1 && (io[k]->want & DS_WANT_GRAD)) {                                                         \
        io[k]->grad[1] *= 1.001;                                                                             \
    }
#include "batch_base.h"
#include "env_base.h"
#endif

/* batch_of_many - with more than 32 points in one call the last one has another loss. */
#ifdef BAD_IS_batch_of_many
#define BAD_ID "batch_of_many"
#define BAD_ROW                                                                                              \
    if (k > 32 && k + 1 == count) {                                                                          \
        io[k]->loss += 1e-9;                                                                                 \
    }
#include "batch_base.h"

#include "env_base.h"
#endif

/* batch_warm - with many points in one call each begins from where the one before ended. */
#ifdef BAD_IS_batch_warm
#define BAD_ID "batch_warm"
#define BAD_ROW io[k]->loss += k > 0 ? 1e-12 * io[k - 1]->loss : 0;
#include "batch_base.h"
#include "env_base.h"
#endif

/* crashes_in_batch - dies where many points are asked for together and a gradient is wanted. */
#ifdef BAD_IS_crashes_in_batch
#include <signal.h>
#define BAD_ID "crashes_in_batch"
#define BAD_ROW                                                                                              \
    if (k > 0 && (io[k]->want & DS_WANT_GRAD)) {                                                             \
        raise(SIGSEGV);                                                                                      \
    }
#include "batch_base.h"
#include "env_base.h"
#endif

/* lane_next - a step in one lane also changes the next one. */
#ifdef BAD_IS_lane_next
#define BAD_ID "lane_next"
#define BAD_LANES 4
#define BAD_FLAGS 0
#define BAD_END DS_STEPS_TERMINATED
#define BAD_STEP b->lane[(lane + 1) % BAD_LANES].x[2] += 1e-9;
#include "steps_base.h"
#include "env_base.h"
#endif

/* lane_begin - to begin some lanes takes the others back to their beginning. */
#ifdef BAD_IS_lane_begin
#define BAD_ID "lane_begin"
#define BAD_LANES 4
#define BAD_FLAGS 0
#define BAD_END DS_STEPS_TERMINATED
#define BAD_BEGIN                                                                                            \
    for (uint64_t i = 0; i < BAD_LANES; i++) {                                                               \
        b->lane[i].t = 0;                                                                                    \
    }
#include "steps_base.h"
#include "env_base.h"
#endif

/* lane_number - the third lane observes something else. */
#ifdef BAD_IS_lane_number
#define BAD_ID "lane_number"
#define BAD_LANES 4
#define BAD_FLAGS 0
#define BAD_END DS_STEPS_TERMINATED
#define BAD_STEP io->obs[0] += lane == 2 ? 1e-9 : 0;
#include "steps_base.h"
#include "env_base.h"
#endif

/* lanes_sound - several lanes without a fault. */
#ifdef BAD_IS_lanes_sound
#define BAD_ID "lanes_sound"
#define BAD_LANES 4
#define BAD_FLAGS 0
#define BAD_END DS_STEPS_TERMINATED
#include "steps_base.h"
#include "env_base.h"
#endif

/* limit_terminates - says that its horizon is a time limit, and terminates there. */
#ifdef BAD_IS_limit_terminates
#define BAD_ID "limit_terminates"
#define BAD_FLAGS DS_STEPS_TIME_LIMIT
#define BAD_END DS_STEPS_TERMINATED
#include "steps_base.h"
#include "env_base.h"
#endif

/* task_truncates - says that its horizon is a part of the task, and truncates there. */
#ifdef BAD_IS_task_truncates
#define BAD_ID "task_truncates"
#define BAD_FLAGS 0
#define BAD_END DS_STEPS_TRUNCATED
#include "steps_base.h"
#include "env_base.h"
#endif

/* unknown_end - ends its episodes in a way that there is not. */
#ifdef BAD_IS_unknown_end
#define BAD_ID "unknown_end"
#define BAD_FLAGS 0
#define BAD_END (DS_STEPS_TRUNCATED + 1)
#include "steps_base.h"
#include "env_base.h"
#endif

/* same_names - two of three variables have the same name. */
#ifdef BAD_IS_same_names
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
#endif

/* renames - variables are called otherwise once the environment has evaluated. */
#ifdef BAD_IS_renames
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
#endif

/* moving_hooks - there are other hook points once the environment has evaluated. */
#ifdef BAD_IS_moving_hooks
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
#endif
