/* SPDX-License-Identifier: Apache-2.0 */
/* settings_text.h - the settings of an environment as text for the title of an image. */
#ifndef DS_RESULTS_SETTINGS_TEXT_H
#define DS_RESULTS_SETTINGS_TEXT_H

#include "config/params.h"

#include <stddef.h>

/* The scene, "variant 2, preset small", and other settings that are not the defaults; "" for p == NULL and
 * without any. What does not fit is replaced by "...". */
void ds_settings_text(char *out, size_t room, const ds_params *p);

#endif
