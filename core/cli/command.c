/* SPDX-License-Identifier: Apache-2.0 */
/* command.c - what all commands end with. */
#include "config.h"

#include "cli/command.h"

#include "base/log.h"

int ds_command_failed(const ds_error *e)
{
    ds_log(DS_LOG_ERROR, NULL, "%s", e->text);
    return e->status;
}
