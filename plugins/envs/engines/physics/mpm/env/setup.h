/* SPDX-License-Identifier: Apache-2.0 */
/* setup.h - the task that a scene file describes. Sections: [scene], [grid], [material NAME], [body NAME],
 * [tool NAME], [target], [target NAME], [actions], [loss], [loss NAME], [camera]; docs/scenes.md lists their
 * keys. */
#ifndef MPM_SETUP_H
#define MPM_SETUP_H

#include "engines/physics/mpm/env/setup_bodies.h"

/* Fills a setup of zeros, which must stay where it is, from a file that scene_file_read() or
 * scene_file_parse() has opened (NULL: no memory), and owns it. A target file that is missing beside the
 * scene is looked for among the data of the plugins. Reports the first mistake to the host, with file and
 * line. */
ds_status mpm_setup_read(mpm_setup *setup, scene_file *file, const ds_host *host);
void mpm_setup_free(mpm_setup *setup);

/* Opens the scene of a preset: the file, or with preset small the one that its key `small` names. NULL
 * without memory. */
scene_file *mpm_setup_file(const char *path, bool is_small);

#endif
