/* SPDX-License-Identifier: Apache-2.0 */
/* test_live_request.c - requests to the server of `dshost view --live`: its own page gets in, nobody
 * else does. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/live_server.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define HOST "Host: 127.0.0.1:4321\r\n"

static const ds_live_guard guard = {.token = TOKEN, .port = 4321};

/* In memory of its own, so that a read behind its end is found by sanitizers. */
static int answer(const char *head, char path[DS_LIVE_PATH])
{
    const size_t n = strlen(head);
    char *copy = malloc(n + (n == 0));
    memcpy(copy, head, n);
    const int status = ds_live_request_read(copy, n, &guard, path);
    free(copy);
    return status;
}

static void test_cases(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *path, *head;
    } cases[] = {
        {200, "/", "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n"},
        {200, "/state", "GET /" TOKEN "/state?17 HTTP/1.1\r\nhost:127.0.0.1:4321\r\nAccept: */*\r\n\r\n"},
        {200, "/best.html", "GET /" TOKEN "/best.html HTTP/1.0\r\nHost:\tlocalhost:4321 \r\n\r\n"},
        {200, "/", "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Origin: http://127.0.0.1:4321\r\n\r\n"},
        {200, "/", "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Sec-Fetch-Site: same-origin\r\n\r\n"},
        {200, "/", "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Sec-Fetch-Site: none\r\n\r\n"},
        /* other pages */
        {403, NULL, "GET /" TOKEN "/ HTTP/1.1\r\nHost: evil.example:4321\r\n\r\n"},
        {403, NULL, "GET /" TOKEN "/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"},
        {403, NULL, "GET /" TOKEN "/ HTTP/1.1\r\nHost: 127.0.0.1:43210\r\n\r\n"},
        {403, NULL, "GET /" TOKEN "/ HTTP/1.1\r\nHost: 127.0.0.1:4321.evil.example\r\n\r\n"},
        {403, NULL, "GET /" TOKEN "/ HTTP/1.1\r\nHost:\r\n\r\n"},
        {403, NULL, "GET /" TOKEN "/state HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\n\r\n"},
        {403, NULL, "GET /" TOKEN "/state HTTP/1.1\r\n" HOST "Origin: null\r\n\r\n"},
        {403, NULL, "GET /" TOKEN "/state HTTP/1.1\r\n" HOST "Origin: https://127.0.0.1:4321\r\n\r\n"},
        {403, NULL, "GET /" TOKEN "/state HTTP/1.1\r\n" HOST "Sec-Fetch-Site: cross-site\r\n\r\n"},
        {403, NULL, "GET /" TOKEN "/state HTTP/1.1\r\n" HOST "sec-fetch-site: same-site\r\n\r\n"},
        {403, NULL, "GET /wrong/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"},
        /* two hosts, none */
        {400, NULL, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST HOST "\r\n"},
        {400, NULL, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "Host: evil.example\r\n\r\n"},
        {400, NULL, "GET /" TOKEN "/ HTTP/1.1\r\n\r\n"},
        {400, NULL, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST " folded\r\n\r\n"},
        /* the token */
        {404, NULL, "GET / HTTP/1.1\r\n" HOST "\r\n"},
        {404, NULL, "GET /" TOKEN " HTTP/1.1\r\n" HOST "\r\n"},
        {404, NULL, "GET /1123456789abcdef0123456789abcdef/ HTTP/1.1\r\n" HOST "\r\n"},
        {404, NULL, "GET /0123456789abcdef0123456789abcde/ HTTP/1.1\r\n" HOST "\r\n"},
        {404, NULL, "GET /0123456789ABCDEF0123456789ABCDEF/ HTTP/1.1\r\n" HOST "\r\n"},
        {404, NULL, "GET http://127.0.0.1:4321/" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n"},
        /* paths */
        {404, NULL, "GET /" TOKEN "/../../etc/passwd HTTP/1.1\r\n" HOST "\r\n"},
        {404, NULL, "GET /" TOKEN "/..%2f..%2fetc HTTP/1.1\r\n" HOST "\r\n"},
        {404, NULL, "GET /" TOKEN "/.. HTTP/1.1\r\n" HOST "\r\n"},
        {404, NULL, "GET /" TOKEN "//etc HTTP/1.1\r\n" HOST "\r\n"},
        {404, NULL, "GET /" TOKEN "x/state HTTP/1.1\r\n" HOST "\r\n"},
        {404, NULL,
         "GET /" TOKEN
         "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\n" HOST "\r\n"},
        /* methods, and what is no request */
        {405, NULL, "POST /" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n"},
        {405, NULL, "HEAD /" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n"},
        {405, NULL, "get /" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n"},
        {400, NULL, "GET /" TOKEN "/ HTTP/2.0\r\n" HOST "\r\n"},
        {400, NULL, "GET /" TOKEN "/\r\n" HOST "\r\n"},
        {400, NULL, "GET /" TOKEN "/ HTTP/1.1 x\r\n" HOST "\r\n"},
        {400, NULL, "GET  HTTP/1.1\r\n" HOST "\r\n"},
        {400, NULL, "\r\n\r\n"},
        {400, NULL, "GET /" TOKEN "/ HTTP/1.1\n" HOST "\n"},
        {400, NULL, "GET /\x01" TOKEN "/ HTTP/1.1\r\n" HOST "\r\n"},
        {400, NULL, "GET /" TOKEN "/ HTTP/1.1\r\n" HOST "X: \x7f\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[DS_LIVE_PATH];
        const int status = answer(cases[i].head, path);
        if (status != cases[i].status) {
            fail_msg("%d instead of %d: %s", status, cases[i].status, cases[i].head);
        }
        if (status == 200) {
            assert_string_equal(path, cases[i].path);
        }
    }
}

/* A head is read once it is complete; cut anywhere it is never taken for a right one with another path. */
static void test_cut(void **state)
{
    (void)state;
    static const char head[] = "GET /" TOKEN "/state HTTP/1.1\r\n" HOST "Accept: */*\r\n\r\n";
    char path[DS_LIVE_PATH], part[sizeof head];
    for (size_t n = 0; n < sizeof head; n++) {
        assert_int_equal(ds_live_request_end(head, n), n == sizeof head - 1 ? n : 0);
        memcpy(part, head, n);
        part[n] = '\0';
        if (answer(part, path) == 200) {
            assert_string_equal(path, "/state");
        }
    }
    assert_int_equal(ds_live_request_end("a\r\n\r\nGET", 8), 5);
    char *giant = malloc(DS_LIVE_HEAD + 1);
    memset(giant, 'a', DS_LIVE_HEAD + 1);
    assert_int_equal(ds_live_request_read(giant, DS_LIVE_HEAD + 1, &guard, path), 400);
    free(giant);
}

/* Every byte of a right head changed to every other one: no crash, and the path stays one that is
 * asked for. */
static void test_changed(void **state)
{
    (void)state;
    static const char head[] =
        "GET /" TOKEN "/state HTTP/1.1\r\n" HOST "Origin: http://localhost:4321\r\n\r\n";
    char path[DS_LIVE_PATH], changed[sizeof head];
    size_t taken = 0;
    for (size_t i = 0; i < sizeof head - 1; i++) {
        for (int c = 0; c < 256; c++) {
            memcpy(changed, head, sizeof head);
            changed[i] = (char)c;
            const int status = ds_live_request_read(changed, sizeof head - 1, &guard, path);
            if (status == 200 && i > 5 && i < 5 + DS_LIVE_TOKEN && changed[i] != head[i]) {
                fail_msg("a token with another letter %zu gets in", i - 5);
            }
            taken += status == 200;
            assert_true(strspn(path, "abcdefghijklmnopqrstuvwxyz./") == strlen(path) || status != 200);
        }
    }
    assert_true(taken > sizeof head - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_cut),
                                       cmocka_unit_test(test_changed)};
    return cmocka_run_group_tests_name("live_request", tests, NULL, NULL);
}
