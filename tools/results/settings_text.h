/* SPDX-License-Identifier: Apache-2.0 */
/* settings_text.h - what an environment was made with, as the title of a picture says it. */
#ifndef DS_RESULTS_SETTINGS_TEXT_H
#define DS_RESULTS_SETTINGS_TEXT_H

#include <stddef.h>

#include "config/params.h"

/* Which scene it is, "variant 2, preset small", and what else is not as it is by default; "" for p == NULL
 * and where there is nothing to say. What has no room is left out, with "...". */
void ds_settings_text(char *out, size_t room, const ds_params *p);

#endif
