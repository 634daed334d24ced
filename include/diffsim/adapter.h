/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/adapter.h - plugins in other languages: an adapter makes a plugin of a file that is not a shared
 * object.
 *
 * Purpose: `dshost --env my_env.py:Env`, and the same for other languages, without code for a language in the
 * host.
 *
 * An adapter is a shared object in the folder adapters/ of a folder of the plugin path. Its file name is the
 * ending that it serves: adapters/py.so serves FILE.py:NAME (NAME is an object in the file; it may be left
 * out where there is one). It exports one function, which returns a plugin as ds_plugin_query() does, with
 * three differences: it may take time and start processes, the plugin may differ between files, and its id is
 * free. All other rules for environments and optimizers apply.
 *
 * The host calls an adapter in a process of its own, as it loads third-party plugins.
 */
#ifndef DIFFSIM_ADAPTER_H
#define DIFFSIM_ADAPTER_H

#include <diffsim/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A request to an adapter. */
typedef struct ds_adapter_request {
    uint32_t struct_size; /* set by the caller */
    uint32_t reserved;
    const char *file;   /* in: absolute path of the file */
    const char *object; /* in: NAME after the colon; "" = the only one in the file */
    char *error;        /* out: on an error, one line: what happened, where, what to do */
    uint64_t room;      /* in: bytes at `error` */
} ds_adapter_request;
#define DS_ADAPTER_REQUEST_SIZE_1_0 DS_SIZE_WITH(ds_adapter_request, room)

/* The only symbol that the host looks for. Returns constant data, valid until the process ends and the same
 * at every call for the same file and object; NULL on an error. [any] */
DS_EXPORT const ds_plugin *DS_CALL ds_adapter_query(uint32_t host_major, uint32_t host_minor,
                                                    ds_adapter_request *request);

#ifdef __cplusplus
}
#endif
#endif
