/* SPDX-License-Identifier: Apache-2.0 */
/* check_point.h - how a user repeats an evaluation of the kit. */
#ifndef DS_HARNESS_CHECK_POINT_H
#define DS_HARNESS_CHECK_POINT_H

#include "harness/check.h"

/* The command that evaluates x (n values, 17 digits each; many go to a file of their own in $TMPDIR) with the
 * parameters of this check, and with `flags` (" --gradient --fd"). free() it; NULL without memory. */
char *ds_check_point_command(const ds_check_options *o, const double *x, uint64_t n, const char *flags);

#endif
