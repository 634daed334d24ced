/* SPDX-License-Identifier: Apache-2.0 */
/* file_name.h - which files an optimizer may leave in the folder of its run (diffsim/ext/draft/files.h). */
#ifndef DS_STORE_FILE_NAME_H
#define DS_STORE_FILE_NAME_H

#include <diffsim/ext/draft/files.h>

enum { DS_FILES_TEXT = 200 };

/* DS_OK, or DS_E_ARG and what is wrong in `text`. */
ds_status ds_file_allowed(const char *name, const void *data, uint64_t bytes, char text[DS_FILES_TEXT]);

#endif
