/* SPDX-License-Identifier: Apache-2.0 */
/* export_earlier.h - files of an earlier export in the folder that a new one goes to: what reads the folder
 * would count runs that are in both twice. */
#ifndef DS_RESULTS_EXPORT_EARLIER_H
#define DS_RESULTS_EXPORT_EARLIER_H

#include "base/error.h"

/* Removes the files of `folder` that FOLDER.json says an export has written, and folders in it that are empty
 * then; what else is there stays. Does nothing where there is no such note. DS_EXIT_USAGE where the note is
 * there and lists no files (it is damaged, of an older dshost, or something else), DS_EXIT_IO where a file
 * cannot be removed. */
int ds_export_remove_earlier(const char *folder, ds_error *e);

#endif
