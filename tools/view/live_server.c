/* SPDX-License-Identifier: Apache-2.0 */
/* live_server.c - see live_server.h. */
#include "config.h"

#include "view/live_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "view/live_request.h"
#include "view/live_run.h"
#include "view/page_files.h"

enum {
    CONNECTIONS = 64, /* at once; where all are taken, the oldest one that has not shown the token goes */
    PENDING = 256,    /* that the system keeps until we take them */
    LOOK_MS = 500,
    PATIENCE = 20 /* looks at a record that cannot be read just now */
};
/* For a head to come, for an answer to one without the token to leave; for an answer to make some progress;
 * without a request before the run is looked at no more. */
static const double HEAD_SECONDS = 2, ANSWER_SECONDS = 15, IDLE_SECONDS = 30;

typedef struct connection {
    int fd; /* -1 = free */
    double deadline;
    uint64_t number; /* in the order in which they came */
    int known;       /* it has shown the token */
    char head[DS_LIVE_HEAD];
    size_t got;
    char *answer; /* NULL while the head comes */
    size_t size, sent;
} connection;

typedef struct server {
    int fd;
    ds_live_guard guard;
    ds_live_run *run;
    connection connection[CONNECTIONS];
    uint64_t accepted;
    double asked_at, looked_at;
    double deaf_until; /* no connection is taken before: the last one could not be */
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

/* The page of the run: its template with script, style and their sums. */
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

/* Fills the answer of a connection; without memory it is closed. */
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
        if (page != NULL) { /* whose own policy lets its script run */
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

/* A free place, or that of the oldest of those that have not shown the token: who only holds connections
 * keeps nobody out. NULL where all belong to the user. */
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

/* Takes one that waits; 0 where there is none. */
static int accept_one(server *s, double now)
{
    const int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
            s->deaf_until = now + 1; /* no descriptors: it waits, and poll() would tell of it at once */
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
            /* What the other side has still sent must not turn the end into a reset that loses the answer. */
            shutdown(c->fd, SHUT_WR);
            for (int k = 0; k < 4 && recv(c->fd, c->head, sizeof c->head, MSG_DONTWAIT) > 0; k++) {
            }
        }
        close_connection(c);
    }
}

/* What has come, or can be sent, of one connection. */
static void serve_one(server *s, connection *c, double now)
{
    if (c->answer == NULL) {
        receive(s, c, now);
    }
    if (c->fd >= 0 && c->answer != NULL) { /* most answers leave at once */
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
         i++) { /* those that there are: poll() takes no more than may be open */
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
    /* All that wait, and what they have sent already: the user is not behind a queue of others. */
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
        /* Where nobody looks nothing is simulated. */
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
