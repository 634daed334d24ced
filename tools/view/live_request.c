/* SPDX-License-Identifier: Apache-2.0 */
/* live_request.c - see live_request.h. */
#include "config.h"

#include "view/live_request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A line of the head, without its end. */
typedef struct line {
    const char *at;
    size_t length;
} line;

size_t ds_live_request_end(const char *text, size_t n)
{
    const char *end = memmem(text, n, "\r\n\r\n", 4);
    return end != NULL ? (size_t)(end - text) + 4 : 0;
}

/* The line at *at, which moves behind it; 0 at the end. A line has no control character. */
static int next_line(const char **at, const char *end, line *out)
{
    const char *stop = memmem(*at, (size_t)(end - *at), "\r\n", 2);
    if (stop == NULL) {
        return 0;
    }
    *out = (line){*at, (size_t)(stop - *at)};
    *at = stop + 2;
    return 1;
}

static int is_clean(const line *l)
{
    for (size_t i = 0; i < l->length; i++) {
        const unsigned char c = (unsigned char)l->at[i];
        if (c < 0x20 ? c != '\t' : c == 0x7f) {
            return 0;
        }
    }
    return 1;
}

/* Is it "NAME:"? Then *value gets what stands behind it, without blanks around it. */
static int is_field(const line *l, const char *name, line *value)
{
    const size_t n = strlen(name);
    if (l->length <= n || l->at[n] != ':' || strncasecmp(l->at, name, n) != 0) {
        return 0;
    }
    *value = (line){l->at + n + 1, l->length - n - 1};
    while (value->length > 0 && (value->at[0] == ' ' || value->at[0] == '\t')) {
        value->at++;
        value->length--;
    }
    while (value->length > 0 &&
           (value->at[value->length - 1] == ' ' || value->at[value->length - 1] == '\t')) {
        value->length--;
    }
    return 1;
}

static int is_text(const line *value, const char *text)
{
    return strlen(text) == value->length && strncasecmp(value->at, text, value->length) == 0;
}

/* PREFIX127.0.0.1:PORT or PREFIXlocalhost:PORT? */
static int is_here(const line *value, const char *prefix, int port)
{
    char text[2][64];
    snprintf(text[0], sizeof text[0], "%s127.0.0.1:%d", prefix, port);
    snprintf(text[1], sizeof text[1], "%slocalhost:%d", prefix, port);
    int same = is_text(value, text[0]) || is_text(value, text[1]);
    if (port == 80) { /* which browsers leave out */
        snprintf(text[0], sizeof text[0], "%s127.0.0.1", prefix);
        snprintf(text[1], sizeof text[1], "%slocalhost", prefix);
        same = same || is_text(value, text[0]) || is_text(value, text[1]);
    }
    return same;
}

/* In a time that does not tell how much of it is right. */
static int is_token(const char *at, size_t n, const char *token)
{
    unsigned different = n < DS_LIVE_TOKEN;
    for (size_t i = 0; i < DS_LIVE_TOKEN && i < n; i++) {
        different |= (unsigned)(at[i] ^ token[i]);
    }
    return different == 0;
}

/* "GET /TOKEN/path?query HTTP/1.1" */
static int read_target(const line *first, const ds_live_guard *guard, char path[DS_LIVE_PATH])
{
    const char *space = memchr(first->at, ' ', first->length);
    const char *target = space != NULL ? space + 1 : NULL, *end = first->at + first->length;
    const char *stop = target != NULL ? memchr(target, ' ', (size_t)(end - target)) : NULL;
    if (stop == NULL || end - stop != 9 || strncmp(stop, " HTTP/1.", 8) != 0 || target == stop) {
        return 400;
    }
    if (space - first->at != 3 || strncmp(first->at, "GET", 3) != 0) {
        return 405;
    }
    if (*target != '/' || !is_token(target + 1, (size_t)(stop - target - 1), guard->token)) {
        return 404;
    }
    const char *rest = target + 1 + DS_LIVE_TOKEN, *query = memchr(rest, '?', (size_t)(stop - rest));
    const size_t n = (size_t)((query != NULL ? query : stop) - rest);
    if (n == 0 || n >= DS_LIVE_PATH || rest[0] != '/') {
        return 404;
    }
    memcpy(path, rest, n);
    path[n] = '\0';
    return strspn(path + 1, "abcdefghijklmnopqrstuvwxyz.") == n - 1 && strstr(path, "..") == NULL ? 200 : 404;
}

int ds_live_request_read(const char *head, size_t n, const ds_live_guard *guard, char path[DS_LIVE_PATH])
{
    const char *at = head, *end = head + n;
    line l, value;
    int hosts = 0, foreign = 0;
    path[0] = '\0';
    if (n > DS_LIVE_HEAD || !next_line(&at, end, &l) || !is_clean(&l)) {
        return 400;
    }
    const int status = read_target(&l, guard, path);
    while (status != 400 && next_line(&at, end, &l) && l.length > 0) {
        if (!is_clean(&l) || l.at[0] == ' ' || l.at[0] == '\t') {
            return 400;
        }
        if (is_field(&l, "Host", &value)) {
            hosts++;
            foreign |= !is_here(&value, "", guard->port);
        } else if (is_field(&l, "Origin", &value)) {
            foreign |= !is_here(&value, "http://", guard->port);
        } else if (is_field(&l, "Sec-Fetch-Site", &value)) {
            foreign |= !is_text(&value, "same-origin") && !is_text(&value, "none");
        }
    }
    return status == 400 || hosts != 1 ? 400 : foreign ? 403 : status;
}
