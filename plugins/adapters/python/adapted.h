/* SPDX-License-Identifier: Apache-2.0 */
/* adapted.h - a plugin made from a Python file: its description, and the functions of its instances. */
#ifndef DS_ADAPTERS_PYTHON_ADAPTED_H
#define DS_ADAPTERS_PYTHON_ADAPTED_H

#include "adapters/python/child.h"

#include <diffsim/plugin.h>

#include <jansson.h>
#include <limits.h>

/* ---- the description ---- */

/* The descriptor of a plugin from what Python says of it, and the values of its parameters for
 * Python, both as JSON. */

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

/* ---- instances ---- */

typedef struct adapted {
    char file[PATH_MAX], object[64];
    description description;
    ds_plugin plugin;
    ds_env_vtable env;
    ds_optimizer_vtable optimizer;
    child first; /* has described it, and waits for the first instance */
} adapted;

/* Starts an instance: its Python process has created the object with the values of the parameters, and its
 * description lies in the shared memory. DS_OK, or a status that was reported to the host, and no process.
 * [any] */
ds_status adapted_begin(adapted *a, const ds_host *host, child *out);

/* All but create(), which needs its file. */
extern const ds_env_vtable adapted_env;
extern const ds_optimizer_vtable adapted_optimizer;
ds_status adapted_create_env(adapted *a, const ds_host *host, void **out);
ds_status adapted_create_optimizer(adapted *a, const ds_host *host, const ds_problem *problem, void **out);

#endif
