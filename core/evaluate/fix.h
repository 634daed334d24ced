/* SPDX-License-Identifier: Apache-2.0 */
/* fix.h - variables that the user fixes: run.fix, "drop=0.5, x[3]=1". To everything behind it a fixed
 * variable is one whose bounds are equal. */
#ifndef DS_EVALUATE_FIX_H
#define DS_EVALUATE_FIX_H

#include "config/settings.h"
#include "plugin/instance.h"

/* Sets lower, upper and start of the variables that run.fix of the settings names to its values. Where it
 * names none, *box stays NULL and *env unchanged; else *box, to be freed, holds the arrays that *env then
 * points to. Refused with the origin of the setting: a name that does not exist, a variable that is named
 * twice, a value outside the bounds. */
int ds_fix_apply(const ds_settings *settings, const char *id, ds_env_facts *env, double **box, ds_error *e);

#endif
