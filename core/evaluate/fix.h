/* SPDX-License-Identifier: Apache-2.0 */
/* fix.h - variables that the user fixes (run.fix, "drop=0.5, x[3]=1"). Everything after this sees a fixed
 * variable as one whose bounds are equal. */
#ifndef DS_EVALUATE_FIX_H
#define DS_EVALUATE_FIX_H

#include "config/settings.h"
#include "plugin/instance.h"

/* Sets lower, upper and x0 of the variables that run.fix names to their values. If it names any, *box gets
 * the arrays that *env then points to, to be freed; else *box is NULL and *env unchanged. Refuses, with the
 * origin of the setting, an unknown name, a variable fixed twice, and a value outside the bounds. */
int ds_fix_apply(const ds_settings *settings, const char *id, ds_env_facts *env, double **box, ds_error *e);

#endif
