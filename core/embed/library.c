/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - see diffsim/lib/library.h. */
#include "config.h"

#include <diffsim/lib/library.h>

#include "embed/embed.h"

static _Thread_local int last_status;

int ds_embed_note(int rc)
{
    last_status = rc;
    return rc;
}

DS_EXPORT const char *ds_library_version(void)
{
    return PACKAGE_VERSION;
}

DS_EXPORT uint32_t ds_library_exit_status(void)
{
    return (uint32_t)last_status;
}
