/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/host.h - services of the host for a plugin instance.
 *
 * Every instance has its own ds_host, so that messages and parameters belong to it. The host fills the
 * struct; a plugin never writes to it. The pointer is valid from create() until destroy() has returned.
 */
#ifndef DIFFSIM_HOST_H
#define DIFFSIM_HOST_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Levels of ds_host.log. */
enum { DS_LOG_DEBUG = 0, DS_LOG_INFO = 1, DS_LOG_WARNING = 2, DS_LOG_ERROR = 3 };

typedef struct ds_host ds_host;
struct ds_host {
    uint32_t struct_size;
    uint32_t abi_minor; /* minor version of the host */
    void *ctx;          /* private to the host */
    /* Seed of the run, for optimizers: combine it with a stream name (diffsim/helper/random.h), never with
     * the time. An environment gets 0: its random numbers depend on its parameters and ds_rows.noise_key. */
    uint64_t seed;
    uint32_t threads; /* most threads of one call, at least 1; results do not depend on it */
    /* Number of the worker process of this instance, 0 .. workers - 1, and the number of workers, at least 1:
     * an environment may choose a device by them. Results do not depend on them. */
    uint32_t worker;
    uint32_t workers;
    uint32_t reserved;

    /* [any] Prints one line of text, without a newline, with the id of the plugin. Cut at DS_MAX_LOG
     * bytes. */
    void(DS_CALL *log)(const ds_host *host, uint32_t level, const char *line);

    /* [any] Reports why the plugin is about to return `status` (negative): what happened, which value, what
     * is allowed, what to do. One line, at most DS_MAX_ERROR bytes; of an evaluation the host keeps the first
     * 199. The last message before the return counts. */
    void(DS_CALL *error)(const ds_host *host, ds_status status, const char *line);

    /* [any] Nonzero when the run should end: return DS_STOPPED soon. Costs an atomic load; poll it at least
     * every 100 ms of work. */
    uint32_t(DS_CALL *should_stop)(const ds_host *host);

    /* Typed access to the parameters of the schema. The host has parsed them, checked their ranges and filled
     * in defaults; values do not change during the life of the instance. A name that the schema does not
     * declare, or the wrong type, returns DS_E_PARAM and leaves *out as it was. Returned pointers stay valid
     * until destroy() has returned. [instance] */

    /* BOOL (0 or 1), INT, ENUM (index of the choice). */
    ds_status(DS_CALL *get_int)(const ds_host *host, const char *name, int64_t *out);
    /* REAL, INT. */
    ds_status(DS_CALL *get_real)(const ds_host *host, const char *name, double *out);
    /* TEXT, PATH, ENUM (the choice). */
    ds_status(DS_CALL *get_text)(const ds_host *host, const char *name, const char **out);
    /* LIST. */
    ds_status(DS_CALL *get_list)(const ds_host *host, const char *name, const double **out, uint64_t *count);
    /* ARRAY: *data holds the product of shape[0..*ndim-1] doubles in C order; *ndim is 0 and *data NULL where
     * the parameter is empty. */
    ds_status(DS_CALL *get_array)(const ds_host *host, const char *name, const double **data, uint64_t *ndim,
                                  uint64_t shape[8]);

    /* [any] Writes the absolute path of a data file next to the plugin (`relative` without ".." and not
     * absolute) to `buf`. DS_E_ARG where it does not fit into `cap` bytes with its NUL; *needed (may be NULL)
     * gets the bytes that it needs. DS_E_IO where the file does not exist. */
    ds_status(DS_CALL *resource)(const ds_host *host, const char *relative, char *buf, uint64_t cap,
                                 uint64_t *needed);

    /* [any] Returns the table of an optional service by its id; NULL where the host does not offer it. */
    const void *(DS_CALL *get_extension)(const ds_host *host, const char *id);

    /* Name and version of the program, for messages: "dshost", "0.3.0". Nothing may depend on them. */
    const char *name;
    const char *version;
};
#define DS_HOST_SIZE_1_0 DS_SIZE_WITH(ds_host, version)

#ifdef __cplusplus
}
#endif
#endif
