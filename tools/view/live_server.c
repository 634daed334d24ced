/* SPDX-License-Identifier: Apache-2.0 */
/* live_server.c - `dshost view --live` (see live_server.h). */
#include "config.h"

#include "view/live_server.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "view/live_run.h"
#include "view/view_page.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- requests ---- */

/* A line of the head, without its line end. */
typedef struct text_line {
    const char *at;
    size_t length;
} text_line;

size_t ds_live_request_end(const char *text, size_t n)
{
    const char *end = memmem(text, n, "\r\n\r\n", 4);
    return end != NULL ? (size_t)(end - text) + 4 : 0;
}

/* Takes the line at *at and advances *at; returns 0 at the end. Control characters are an error. */
static int next_line(const char **at, const char *end, text_line *out)
{
    const char *stop = memmem(*at, (size_t)(end - *at), "\r\n", 2);
    if (stop == NULL) {
        return 0;
    }
    *out = (text_line){*at, (size_t)(stop - *at)};
    *at = stop + 2;
    return 1;
}

static int is_clean(const text_line *l)
{
    for (size_t i = 0; i < l->length; i++) {
        const unsigned char c = (unsigned char)l->at[i];
        if (c < 0x20 ? c != '\t' : c == 0x7f) {
            return 0;
        }
    }
    return 1;
}

/* Is it "NAME:"? Then *value receives the rest without blanks around it. */
static int is_field(const text_line *l, const char *name, text_line *value)
{
    const size_t n = strlen(name);
    if (l->length <= n || l->at[n] != ':' || strncasecmp(l->at, name, n) != 0) {
        return 0;
    }
    *value = (text_line){l->at + n + 1, l->length - n - 1};
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

static int is_text(const text_line *value, const char *text)
{
    return strlen(text) == value->length && strncasecmp(value->at, text, value->length) == 0;
}

/* Is it PREFIX127.0.0.1:PORT or PREFIXlocalhost:PORT? */
static int is_here(const text_line *value, const char *prefix, int port)
{
    char text[2][64];
    snprintf(text[0], sizeof text[0], "%s127.0.0.1:%d", prefix, port);
    snprintf(text[1], sizeof text[1], "%slocalhost:%d", prefix, port);
    int same = is_text(value, text[0]) || is_text(value, text[1]);
    if (port == 80) { /* browsers leave out the default port */
        snprintf(text[0], sizeof text[0], "%s127.0.0.1", prefix);
        snprintf(text[1], sizeof text[1], "%slocalhost", prefix);
        same = same || is_text(value, text[0]) || is_text(value, text[1]);
    }
    return same;
}

/* Takes the same time however many characters match. */
static int is_token(const char *at, size_t n, const char *token)
{
    unsigned different = n < DS_LIVE_TOKEN;
    for (size_t i = 0; i < DS_LIVE_TOKEN && i < n; i++) {
        different |= (unsigned)(at[i] ^ token[i]);
    }
    return different == 0;
}

/* "GET /TOKEN/path?query HTTP/1.1" */
static int read_target(const text_line *first, const ds_live_guard *guard, char path[DS_LIVE_PATH])
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
    text_line l, value;
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

enum {
    CONNECTIONS = 64, /* at once; if all are used, the oldest one without the token is closed */
    PENDING = 256,    /* connections that the system queues */
    LOOK_MS = 500,
    PATIENCE = 20 /* attempts to read a record that is temporarily unreadable */
};
/* Limits: until a head is complete, or an answer without the token is sent; until an answer makes progress;
 * without requests until the run is not read any more. */
static const double HEAD_SECONDS = 2, ANSWER_SECONDS = 15, IDLE_SECONDS = 30;

typedef struct connection {
    int fd; /* -1 = free */
    double deadline;
    uint64_t number; /* in order of arrival */
    int known;       /* its request had the token */
    char head[DS_LIVE_HEAD];
    size_t got;
    char *answer; /* NULL until the head is complete */
    size_t size, sent;
} connection;

typedef struct server {
    int fd;
    ds_live_guard guard;
    ds_live_run *run;
    connection connection[CONNECTIONS];
    uint64_t accepted;
    double asked_at, looked_at;
    double deaf_until; /* accept no connection until then, because the last attempt failed */
} server;

/* ---- answers ---- */

static const char *reason(int status)
{
    return status == 200   ? "OK"
           : status == 400 ? "Bad Request"
           : status == 403 ? "Forbidden"
           : status == 404 ? "Not Found"
           : status == 405 ? "Method Not Allowed"
           : status == 408 ? "Request Timeout"
           : status == 431 ? "Request Header Fields Too Large"
                           : "Service Unavailable";
}

static void put_head(FILE *f, int status, const char *type, size_t length, const char *policy)
{
    fprintf(f,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s"
            "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
            "Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n"
            "Content-Security-Policy: %s\r\n\r\n",
            status, reason(status), type, length, status == 405 ? "Allow: GET\r\n" : "", policy);
}

/* The page of the run: the template with script, style and their sums. */
static char *live_page(size_t *size)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, size);
    if (f == NULL) {
        return NULL;
    }
    for (const char *const *line = ds_page_live_html; *line != NULL; line++) {
        const char *const *part = strcmp(*line, "@STYLE@") == 0    ? ds_page_live_css
                                  : strcmp(*line, "@SCRIPT@") == 0 ? ds_page_live_js
                                                                   : NULL;
        for (; part != NULL && *part != NULL; part++) {
            fprintf(f, "%s\n", *part);
        }
        fprintf(f, "%s\n", part != NULL ? "" : *line);
    }
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Sets the answer of a connection; without memory the connection is closed. */
static void answer(connection *c, int status, const char *type, const char *body, size_t length,
                   const char *policy)
{
    FILE *f = open_memstream(&c->answer, &c->size);
    if (f == NULL) {
        c->answer = NULL;
        return;
    }
    put_head(f, status, type, length, policy);
    fwrite(body, 1, length, f);
    if (fclose(f) != 0) {
        free(c->answer);
        c->answer = NULL;
    }
}

static void refuse(connection *c, int status)
{
    char text[80];
    const int n = snprintf(text, sizeof text, "%d %s\n", status, reason(status));
    answer(c, status, "text/plain; charset=utf-8", text, (size_t)n, "default-src 'none'");
}

static void respond(server *s, connection *c, const char *path)
{
    char policy[400];
    size_t size = 0;
    if (strcmp(path, "/") == 0) {
        char *text = live_page(&size);
        snprintf(
            policy, sizeof policy,
            "default-src 'none'; connect-src 'self'; frame-src 'self'; script-src %s; style-src %s; base-uri "
            "'none'; form-action 'none'; frame-ancestors 'none'",
            ds_page_live_js_sum, ds_page_live_css_sum);
        if (text != NULL) {
            answer(c, 200, "text/html; charset=utf-8", text, size, policy);
        }
        free(text);
    } else if (strcmp(path, "/state") == 0) {
        char *text = ds_live_run_state(s->run);
        if (text != NULL) {
            answer(c, 200, "application/json", text, strlen(text), "default-src 'none'");
        }
        free(text);
    } else if (strcmp(path, "/best.html") == 0) {
        const char *page = ds_live_run_page(s->run, &size);
        if (page != NULL) { /* its own policy permits its script */
            answer(c, 200, "text/html; charset=utf-8", page, size, "frame-ancestors 'self'");
        } else {
            refuse(c, 503);
        }
    } else {
        refuse(c, 404);
    }
}

/* ---- connections ---- */

static void close_connection(connection *c)
{
    close(c->fd);
    free(c->answer);
    c->answer = NULL;
    c->fd = -1;
}

/* A free place, or the oldest connection without the token, so that held connections lock nobody out. NULL if
 * all connections belong to the user. */
static connection *place_for_one(server *s)
{
    connection *oldest = NULL;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        connection *c = &s->connection[i];
        if (c->fd < 0) {
            return c;
        }
        if (!c->known && (oldest == NULL || c->number < oldest->number)) {
            oldest = c;
        }
    }
    if (oldest != NULL) {
        close_connection(oldest);
    }
    return oldest;
}

/* Accepts a waiting connection; returns 0 if there is none. */
static int accept_one(server *s, double now)
{
    const int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
            /* no descriptors left: the connection still waits, and poll() would report it at once */
            s->deaf_until = now + 1;
        }
        return 0;
    }
    connection *c = place_for_one(s);
    if (c == NULL) {
        close(fd);
        return 1;
    }
    c->fd = fd;
    c->deadline = now + HEAD_SECONDS;
    c->number = s->accepted++;
    c->known = 0;
    c->got = c->size = c->sent = 0;
    return 1;
}

static void receive(server *s, connection *c, double now)
{
    const ssize_t n = recv(c->fd, c->head + c->got, sizeof c->head - c->got, 0);
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            close_connection(c);
        }
        return;
    }
    c->got += (size_t)n;
    const size_t end = ds_live_request_end(c->head, c->got);
    if (end == 0 && c->got < sizeof c->head) {
        return;
    }
    char path[DS_LIVE_PATH];
    const int status = end == 0 ? 431 : ds_live_request_read(c->head, end, &s->guard, path);
    if (status == 200) {
        s->asked_at = now;
        c->known = 1;
        respond(s, c, path);
    } else {
        refuse(c, status);
    }
    c->deadline = now + (c->known ? ANSWER_SECONDS : HEAD_SECONDS);
    if (c->answer == NULL) {
        close_connection(c);
    }
}

static void send_more(connection *c, double now)
{
    const ssize_t n = send(c->fd, c->answer + c->sent, c->size - c->sent, MSG_NOSIGNAL);
    if (n > 0) {
        c->sent += (size_t)n;
        c->deadline = c->known ? now + ANSWER_SECONDS : c->deadline;
    }
    if (c->sent == c->size || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        if (c->sent == c->size) {
            /* Drain what the client still sends: a reset would lose the answer. */
            shutdown(c->fd, SHUT_WR);
            for (int k = 0; k < 4 && recv(c->fd, c->head, sizeof c->head, MSG_DONTWAIT) > 0; k++) {
            }
        }
        close_connection(c);
    }
}

/* Reads or writes what is possible for one connection. */
static void serve_one(server *s, connection *c, double now)
{
    if (c->answer == NULL) {
        receive(s, c, now);
    }
    if (c->fd >= 0 && c->answer != NULL) { /* most answers are sent at once */
        send_more(c, now);
    }
}

static void serve_connections(server *s, struct pollfd *wait)
{
    connection *of[CONNECTIONS + 1];
    size_t n = 0;
    if (ds_clock_s() >= s->deaf_until) {
        of[n] = NULL;
        wait[n++] = (struct pollfd){.fd = s->fd, .events = POLLIN};
    }
    for (size_t i = 0; i < CONNECTIONS;
         i++) { /* only open ones: poll() accepts no more entries than descriptors may be open */
        connection *c = &s->connection[i];
        if (c->fd >= 0) {
            of[n] = c;
            wait[n++] = (struct pollfd){.fd = c->fd, .events = c->answer != NULL ? POLLOUT : POLLIN};
        }
    }
    if (poll(wait, n, LOOK_MS) < 0 && errno != EINTR) {
        ds_sleep_ms(LOOK_MS / 10);
    }
    const double now = ds_clock_s();
    int more = 0;
    for (size_t i = 0; i < n; i++) {
        if (of[i] == NULL) {
            more = wait[i].revents != 0;
            continue;
        }
        if (wait[i].revents != 0) {
            serve_one(s, of[i], now);
        }
        if (of[i]->fd >= 0 && now > of[i]->deadline) {
            close_connection(of[i]);
        }
    }
    /* Accept and read all waiting connections, so that the user does not wait for others. */
    for (int k = 0; more && k < PENDING && accept_one(s, now); k++) {
        for (size_t i = 0; i < CONNECTIONS; i++) {
            connection *c = &s->connection[i];
            if (c->fd >= 0 && c->number + 1 == s->accepted) {
                serve_one(s, c, now);
            }
        }
    }
}

/* ---- the server ---- */

static int make_token(char token[DS_LIVE_TOKEN + 1], ds_error *e)
{
    unsigned char bytes[DS_LIVE_TOKEN / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return ds_fail(e, DS_EXIT_IO, "view --live: no random numbers for the token: %s", strerror(errno));
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    }
    return 0;
}

static int listen_at(server *s, int port, ds_error *e)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof at;
    const int yes = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd >= 0) {
        setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    }
    if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(s->fd, PENDING) != 0 ||
        getsockname(s->fd, (struct sockaddr *)&at, &size) != 0) {
        return ds_fail(e, DS_EXIT_IO,
                       "view --live: cannot listen at 127.0.0.1:%d: %s; choose another with --port", port,
                       strerror(errno));
    }
    s->guard.port = ntohs(at.sin_port);
    return 0;
}

/* The first signal ends the loop, the second one the process. */
static void catch_signals(void)
{
    const struct sigaction stop = {.sa_handler = ds_stop_raise, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGHUP, &stop, NULL);
}

static int loop(server *s, ds_error *e)
{
    struct pollfd wait[CONNECTIONS + 1];
    int rc = 0, failed = 0;
    while (rc == 0 && atomic_load(&ds_stop_flag) == 0) {
        const double now = ds_clock_s();
        /* Nothing is simulated while nobody looks. */
        if (now - s->looked_at >= 1e-3 * LOOK_MS && now - s->asked_at < IDLE_SECONDS) {
            failed = ds_live_run_look(s->run, e) == 0 ? 0 : failed + 1;
            rc = failed < PATIENCE ? 0 : e->status;
            s->looked_at = now;
        }
        serve_connections(s, wait);
    }
    return rc;
}

int ds_live_serve(const char *folder, int port, ds_error *e)
{
    server *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return ds_no_memory(e);
    }
    s->fd = -1;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        s->connection[i].fd = -1;
    }
    int rc = ds_live_run_open(folder, &s->run, e);
    rc = rc != 0 ? rc : make_token(s->guard.token, e);
    rc = rc != 0 ? rc : listen_at(s, port, e);
    if (rc == 0) {
        catch_signals();
        printf("http://127.0.0.1:%d/%s/\n", s->guard.port, s->guard.token);
        fflush(stdout);
        ds_log(DS_LOG_INFO, NULL, "following %s; Ctrl-C ends it", folder);
        s->asked_at = ds_clock_s();
        rc = loop(s, e);
    }
    for (size_t i = 0; i < CONNECTIONS; i++) {
        if (s->connection[i].fd >= 0) {
            close_connection(&s->connection[i]);
        }
    }
    if (s->fd >= 0) {
        close(s->fd);
    }
    ds_live_run_close(s->run);
    free(s);
    return rc;
}
