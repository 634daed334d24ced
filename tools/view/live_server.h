/* SPDX-License-Identifier: Apache-2.0 */
/* live_server.h - `dshost view --live`: a page on this machine that follows a run. */
#ifndef DS_VIEW_LIVE_SERVER_H
#define DS_VIEW_LIVE_SERVER_H

#include "base/error.h"

#include <stddef.h>

/* ---- requests: only the server's own page may send them ---- */

enum { DS_LIVE_TOKEN = 32 /* hexadecimal digits */, DS_LIVE_HEAD = 8192, DS_LIVE_PATH = 64 };

/* What a request must know (token) or come from (port). */
typedef struct ds_live_guard {
    char token[DS_LIVE_TOKEN + 1];
    int port;
} ds_live_guard;

/* Reads the head of an HTTP/1 request, up to and including its empty line: n bytes, at most DS_LIVE_HEAD.
 * Returns the status of the answer:
 *   200  `path` receives what follows /TOKEN, "/" or "/state", without a query
 *   400  not a request, or not exactly one Host
 *   403  Host is not 127.0.0.1:PORT or localhost:PORT (another name that resolves here), or Origin or
 *        Sec-Fetch-Site show that another page sent it
 *   404  no token, or a path with anything but lower case letters and dots
 *   405  not GET
 * A pure function that trusts none of the bytes. */
int ds_live_request_read(const char *head, size_t n, const ds_live_guard *guard, char path[DS_LIVE_PATH]);

/* Length of the head including the empty line, or 0 if it is incomplete. */
size_t ds_live_request_end(const char *text, size_t n);

/* Follows the run in a folder until a signal ends it. Listens only on 127.0.0.1, at `port` (0 = a free one),
 * and prints the address, which contains a secret token. One thread; each connection has one request, and
 * limits of size and time. DS_EXIT_IO if the run cannot be read or the port is not available. */
int ds_live_serve(const char *folder, int port, ds_error *e);

#endif
