/* SPDX-License-Identifier: Apache-2.0 */
/* live_server.h - `dshost view --live`: a page on this machine that follows a run. */
#ifndef DS_VIEW_LIVE_SERVER_H
#define DS_VIEW_LIVE_SERVER_H

#include "base/error.h"

/* Follows the run in a folder until a signal ends it. Listens on 127.0.0.1 alone, at `port` (0 = a free one),
 * and prints the address, which holds a token that nobody else knows. One thread; each connection has one
 * request, a limited head and a limited time. DS_EXIT_IO where the run or the port cannot be had, or the
 * record cannot be read any more. */
int ds_live_serve(const char *folder, int port, ds_error *e);

#endif
