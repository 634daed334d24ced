/* SPDX-License-Identifier: Apache-2.0 */
/* new_files.h - the files that `dshost new` writes, as in examples/ and tools/catalog/new/. */
#ifndef DS_CATALOG_NEW_FILES_H
#define DS_CATALOG_NEW_FILES_H

#include <stddef.h>

typedef struct ds_new_file {
    const char *name;         /* without its folder, but scenes/ of examples/scenes; NULL ends the list */
    const char *const *lines; /* ends with NULL */
} ds_new_file;

extern const ds_new_file ds_new_files[];

#endif
