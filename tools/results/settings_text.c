/* SPDX-License-Identifier: Apache-2.0 */
/* settings_text.c - settings in a title (see settings_text.h). */
#include "config.h"

#include "results/settings_text.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 40 /* bytes shown of a setting */ };

void ds_settings_text(char *out, size_t room, const ds_params *p)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; p != NULL && i < ds_params_count(p); i++) {
        const char *name = ds_params_info(p, i)->name, *value = ds_params_value_text(p, i);
        int which =
            strcmp(name, "variant") == 0 || strcmp(name, "preset") == 0 || strcmp(name, "function") == 0;
        if (value == NULL || value[0] == '\0' ||
            !(which || (ds_params_given(p, i) && strcmp(value, ds_params_info(p, i)->default_text) != 0))) {
            continue;
        }
        const char *file = strrchr(value, '/'); /* of a path the file: its folders are those of one machine */
        value = file != NULL && file[1] != '\0' ? file + 1 : value;
        char part[DS_MAX_NAME + LONGEST + 8];
        int cut = strlen(value) > LONGEST;
        int k = snprintf(part, sizeof part, "%s%.*s %.*s%s", n > 0 ? ", " : "", DS_MAX_NAME, name,
                         LONGEST - 3 * cut, value, cut ? "..." : "");
        if (k < 0 || n + (size_t)k + 6 >= room) {
            snprintf(out + n, room - n, ", ...");
            return;
        }
        memcpy(out + n, part, (size_t)k + 1);
        n += (size_t)k;
    }
}
