/* SPDX-License-Identifier: Apache-2.0 */
/* instance_internal.h - what instance.c and instance_more.c share: vetting of answers. */
#ifndef DS_PLUGIN_INSTANCE_INTERNAL_H
#define DS_PLUGIN_INSTANCE_INTERNAL_H

#include "plugin/instance.h"

/* What the plugin answered, made safe: see ds_env_evaluate(). */
void ds_answer_validate(ds_env *env, const ds_eval *io, ds_answer *a);

/* There is no loss, for this reason. */
void ds_answer_fail(ds_answer *a, uint32_t outcome, const char *text);

/* Seconds of the monotonic clock. */
double ds_env_now(void);

#endif
