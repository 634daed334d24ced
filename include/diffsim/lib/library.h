/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/lib/library.h - version of the library, and the kind of the last failure to open or run something,
 * for programs that turn failures into exceptions or exit statuses.
 *
 *     ds_environment *e = ds_environment_open("torus", &o, why, sizeof why);
 *     if (e == NULL) {
 *         fprintf(stderr, "%s\n", why);
 *         exit((int)ds_library_exit_status());
 *     }
 */
#ifndef DIFFSIM_LIBRARY_H
#define DIFFSIM_LIBRARY_H

#include <diffsim/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* [any] The version of diffsim, "0.1.0". */
const char *ds_library_version(void);

/* [any] Exit status of dshost for the failure of the last ds_environment_open(), ds_search_open(),
 * ds_runner_open() or ds_runner_run() in this thread: 2 usage, 3 a setting, 4 a plugin, 5 the environment
 * failed too often, 6 input or output, 7 memory, 75 another process works on the folder; 1 where a run did
 * not meet its target, 130 where it was stopped. 0 where the call did not fail, and before the first call. */
uint32_t ds_library_exit_status(void);

#ifdef __cplusplus
}
#endif
#endif
