/* SPDX-License-Identifier: Apache-2.0 */
/* live_request.h - a request to the server of `dshost view --live`: read, and refused unless it comes from
 * its own page. */
#ifndef DS_VIEW_LIVE_REQUEST_H
#define DS_VIEW_LIVE_REQUEST_H

#include <stddef.h>

enum { DS_LIVE_TOKEN = 32 /* hexadecimal digits */, DS_LIVE_HEAD = 8192, DS_LIVE_PATH = 64 };

/* What a request has to know or to come from. */
typedef struct ds_live_guard {
    char token[DS_LIVE_TOKEN + 1];
    int port;
} ds_live_guard;

/* Reads the head of an HTTP/1 request, up to and with its empty line: n bytes, at most DS_LIVE_HEAD. Returns
 * the status of the answer:
 *   200  `path` gets what follows /TOKEN, "/" or "/state", without a query
 *   400  not a request, or not exactly one Host
 *   403  Host is not 127.0.0.1:PORT or localhost:PORT (a name of another page that leads here), or Origin or
 *        Sec-Fetch-Site tell that another page asks
 *   404  without the token, or a path with anything but lower case letters and dots
 *   405  not GET
 * A pure function that believes nothing of the bytes. */
int ds_live_request_read(const char *head, size_t n, const ds_live_guard *guard, char path[DS_LIVE_PATH]);

/* Where the head ends: the bytes with the empty line, or 0 where it is not complete. */
size_t ds_live_request_end(const char *text, size_t n);

#endif
