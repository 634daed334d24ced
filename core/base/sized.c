/* SPDX-License-Identifier: Apache-2.0 */
/* sized.c - structs of another version of the plugin interface, copied into those of ours. */
#include "config.h"

#include "base/sized.h"

#include <string.h>

int ds_sized_read(void *own, size_t size, const void *theirs, size_t said, size_t least, const char *where,
                  const char *what, ds_error *e)
{
    const char *colon = where[0] != '\0' ? ": " : "";
    memset(own, 0, size);
    if (theirs == NULL) {
        return ds_fail(e, DS_EXIT_PLUGIN, "%s%s%s is missing: the pointer to it is NULL", where, colon, what);
    }
    if (said < least || said > DS_SIZE_MAX) {
        return ds_fail(e, DS_EXIT_PLUGIN,
                       "%s%s%s: struct_size is %zu, %zu to %d are possible: set it to the sizeof of the type",
                       where, colon, what, said, least, DS_SIZE_MAX);
    }
    memcpy(own, theirs, said < size ? said : size);
    return 0;
}
