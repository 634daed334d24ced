/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/host.h - the services that a plugin instance gets from the program that loaded it.
 *
 * Every instance has its own ds_host, so that each message and each parameter is attributed to it. The
 * host fills the struct; a plugin never writes to it. The pointer is valid from create() until
 * destroy() has returned.
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
    /* Of the run, for optimizers: combine it with a stream name (diffsim/helper/random.h), never with the
     * time. An environment gets 0: what it draws depends on its parameters and ds_eval.noise_key. */
    uint64_t seed;
    uint32_t threads; /* how many threads one call may use, at least 1; results must not depend on it */
    uint32_t reserved;

    /* [any] One line of text without a newline; truncated at DS_MAX_LOG bytes. Shown with the plugin's id. */
    void(DS_CALL *log)(const ds_host *host, uint32_t level, const char *line);

    /* [any] Says why the plugin is about to return `status` (negative): what, which value, what is allowed,
     * what to do. One line, at most DS_MAX_ERROR bytes, of what an evaluation says the first 199. Only the
     * last message before the return is kept. */
    void(DS_CALL *error)(const ds_host *host, ds_status status, const char *line);

    /* [any] Nonzero once the run should end: return DS_STOPPED soon. Cheap (an atomic load); poll it at least
     * every 100 ms of work. */
    uint32_t(DS_CALL *should_stop)(const ds_host *host);

    /* Typed access to the parameters that the plugin's schema declares. The host has parsed, range-checked
     * and defaulted them; values do not change during the life of the instance. Asking for a name that the
     * schema does not declare, or with the wrong type, returns DS_E_PARAM and leaves *out alone. Returned
     * pointers stay valid until destroy() has returned. [instance] */

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

    /* [any] Absolute path of a data file installed beside the plugin (`relative` without ".." and
     * not absolute). Writes it to `buf` where it fits into `cap` bytes with its NUL, else returns DS_E_ARG;
     * *needed (may be NULL) gets the bytes that it takes. DS_E_IO where there is no such file. */
    ds_status(DS_CALL *resource)(const ds_host *host, const char *relative, char *buf, uint64_t cap,
                                 uint64_t *needed);

    /* [any] Optional services by id; NULL where the host does not offer it. */
    const void *(DS_CALL *get_extension)(const ds_host *host, const char *id);

    /* Of the program, for messages and logs: "dshost", "0.3.0". What depends on them is a bug. */
    const char *name;
    const char *version;
    DS_GROWN
};
#define DS_HOST_SIZE_1_0 DS_SIZE_WITH(ds_host, version)

#ifdef __cplusplus
}
#endif
#endif
