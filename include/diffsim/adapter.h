/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/adapter.h - plugins that are written in another language: an adapter makes a plugin of a file that
 * is no shared object.
 *
 * What for: `dshost --env my_env.py:Env` and whatever else a language has in place of a shared object,
 * without a word about that language in the host.
 *
 * An adapter is a shared object in the folder adapters/ below a folder of the plugin path. Its file name is
 * the ending that it serves: adapters/py.so serves FILE.py:NAME (NAME says what in the file is meant; it may
 * be left out where that is clear). It exports one function. What that returns is a plugin as
 * ds_plugin_query() returns one, with three differences: it may take time and start processes, it may differ
 * between files, and its id is free. Everything else, the rules for environments and optimizers above all,
 * holds as it stands.
 *
 * The host calls it where it would load a plugin of somebody else: in a process of its own.
 */
#ifndef DIFFSIM_ADAPTER_H
#define DIFFSIM_ADAPTER_H

#include <diffsim/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The question to an adapter, in and out. */
typedef struct ds_adapter_request {
    uint32_t struct_size; /* set by the caller */
    uint32_t reserved;
    const char *file;   /* in: absolute path of the file */
    const char *object; /* in: NAME behind the colon; "" = the only one that there is */
    char *error;        /* out: where NULL is returned, one line that says why: what, where, what to do */
    uint64_t room;      /* in: bytes at `error` */
    DS_GROWN
} ds_adapter_request;
#define DS_ADAPTER_REQUEST_SIZE_1_0 DS_SIZE_WITH(ds_adapter_request, room)

/* The only symbol that the host looks for. Returns data that stay as they are until the process ends, the
 * same at every call for the same file and object, or NULL. [any] */
DS_EXPORT const ds_plugin *DS_CALL ds_adapter_query(uint32_t host_major, uint32_t host_minor,
                                                    ds_adapter_request *request);

#ifdef __cplusplus
}
#endif
#endif
