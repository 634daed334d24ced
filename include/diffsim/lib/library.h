/* SPDX-License-Identifier: Apache-2.0 */
/* diffsim/lib/library.h - the library itself: its version, and what kind of failure it was when it could not
 * open or run something. For programs that turn failures into exceptions or exit statuses of their own.
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

/* [any] The exit status that dshost would have ended with where the last call of ds_environment_open(),
 * ds_search_open(), ds_runner_open() or ds_runner_run() in this thread failed: 2 usage, 3 a setting, 4 a
 * plugin, 5 the environment failed too often, 6 input or output, 7 memory, 75 another process works on the
 * folder; 1 where a run did not meet its target, 130 where it was stopped. 0 where it did not fail, and
 * before the first call. */
uint32_t ds_library_exit_status(void);

#ifdef __cplusplus
}
#endif
#endif
