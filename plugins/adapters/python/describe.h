/* SPDX-License-Identifier: Apache-2.0 */
/* describe.h - the descriptor of a plugin from what Python says of it, and the values of its parameters for
 * Python, both as JSON. */
#ifndef DS_ADAPTERS_PYTHON_DESCRIBE_H
#define DS_ADAPTERS_PYTHON_DESCRIBE_H

#include <diffsim/plugin.h>
#include <jansson.h>

/* Lives as long as the process: the descriptor, and the JSON that owns its texts. */
typedef struct description {
    ds_desc desc;
    ds_param *param;
    const ds_param **params;
    const char **pointers;
    json_t *json;
} description;

/* 0, or -1 where the text is not a description (of another version of the package) or memory is short. */
int description_read(description *d, const char *text, size_t bytes);
void description_clear(description *d);

/* The values of the parameters of an instance: {"NAME": VALUE}; NULL after a failure that was reported to the
 * host. Release with json_decref(). */
json_t *description_values(const ds_desc *desc, const ds_host *host);

#endif
