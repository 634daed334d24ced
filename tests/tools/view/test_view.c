/* SPDX-License-Identifier: Apache-2.0 */
/* test_view.c - the page of episodes: its numbers are the trajectory to half a step, its texts cannot become
 * part of it, it is small; and requests to the server of `dshost view --live`: its own page has access,
 * others do not. */
#include "config.h"

#include "base/file.h"
#include "synthetic_scene.h"
#include "temporary.h"
#include "test.h"
#include "view/live_server.h"
#include "view/view_page.h"

#include <jansson.h>
#include <time.h>
#include <zlib.h>

enum { PARTICLES = 10000, FRAMES = 51, PAGE_LIMIT = 4000000 };

/* ---- a page, and what it holds ---- */

typedef struct page {
    temporary t;
    char *text;
    size_t size;
    json_t *description;
} page;

static void open_page(page *p, ds_view_episode *item, size_t count, uint64_t every)
{
    const ds_view_episodes all = {.item = item, .count = count, .options = {.every = every}};
    ds_error e = {0};
    void *data;
    temporary_open(&p->t);
    const char *path = temporary_path(&p->t, "page.html");
    if (ds_view_page(path, &all, &e) != 0) {
        fail_msg("%s", e.text);
    }
    assert_int_equal(ds_file_read(path, (size_t)1 << 30, &data, &p->size, DS_EXIT_IO, &e), 0);
    p->text = data;
    static const char mark[] = "<script type=\"application/json\" id=\"description\">\n";
    char *start = strstr(p->text, mark);
    assert_non_null(start);
    start += strlen(mark);
    const char *end = strstr(start, "\n</script>");
    assert_non_null(end);
    p->description = json_loadb(start, (size_t)(end - start), 0, NULL);
    assert_non_null(p->description);
}

static void close_page(page *p)
{
    json_decref(p->description);
    free(p->text);
    unlink(temporary_path(&p->t, "page.html"));
    rmdir(p->t.folder);
}

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, c);
    return at != NULL && c != '\0' ? (int)(at - digits) : -1;
}

/* The bytes of block `id`, which are `size`. */
static unsigned char *block_of(const page *p, const char *id, size_t size)
{
    char mark[80];
    snprintf(mark, sizeof mark, "<script type=\"text/plain\" id=\"%s\">", id);
    const char *c = strstr(p->text, mark);
    assert_non_null(c);
    c += strlen(mark);
    const size_t length = strcspn(c, "<");
    unsigned char *packed = malloc(length), *bytes = malloc(size + 1);
    size_t n = 0;
    uint32_t bits = 0, held = 0;
    assert_int_equal(length % 4, 0);
    for (size_t i = 0; i < length && c[i] != '='; i++) {
        assert_true(digit_of(c[i]) >= 0);
        bits = bits << 6 | (uint32_t)digit_of(c[i]);
        held += 6;
        if (held >= 8) {
            held -= 8;
            packed[n++] = (unsigned char)(bits >> held & 255);
        }
    }
    uLongf out = (uLongf)size + 1;
    assert_int_equal(uncompress(bytes, &out, packed, (uLong)n), Z_OK);
    assert_int_equal(out, size);
    free(packed);
    return bytes;
}

static uint64_t whole(const json_t *o, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(o, key));
}

static double real_at(const json_t *o, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(o, key), i));
}

static json_t *episode_of(const page *p, size_t i)
{
    return json_array_get(json_object_get(p->description, "episodes"), i);
}

static json_t *body_of(const page *p, size_t i, size_t b)
{
    return json_array_get(json_object_get(episode_of(p, i), "bodies"), b);
}

/* The whole numbers of a body, frame by frame, component by component; to be freed. */
static uint16_t *numbers_of(const page *p, size_t i, size_t b)
{
    const json_t *body = body_of(p, i, b);
    const uint64_t count = whole(body, "count"), n = count * whole(body, "width"),
                   frames = whole(body, "frames");
    char id[40];
    snprintf(id, sizeof id, "p%zu-%zu", i, b);
    unsigned char *bytes = block_of(p, id, (size_t)(2 * n * frames));
    uint16_t *q = malloc((size_t)(n * frames) * sizeof *q);
    for (uint64_t k = 0; k < frames; k++) {
        for (uint64_t j = 0; j < n; j++) {
            const unsigned z = bytes[2 * k * n + j] | (unsigned)bytes[2 * k * n + n + j] << 8;
            const unsigned d = z % 2 == 0 ? z / 2 : ~(z / 2);
            const unsigned from = k > 0 ? q[(k - 1) * n + j] : j % count > 0 ? q[j - 1] : 0;
            q[k * n + j] = (uint16_t)(from + d);
        }
    }
    free(bytes);
    return q;
}

/* Every number of a body, against the snapshot. */
static void check_body(const page *p, size_t i, const ds_snapshot *s, size_t b, uint64_t frames)
{
    const json_t *body = body_of(p, i, b);
    const ds_snapshot_body *from = &s->body[b];
    uint16_t *q = numbers_of(p, i, b);
    assert_int_equal(whole(body, "frames"), frames);
    assert_int_equal(whole(body, "count"), from->count);
    assert_string_equal(json_string_value(json_object_get(body, "name")), from->name);
    for (uint64_t k = 0; k < frames; k++) {
        for (uint32_t c = 0; c < from->width; c++) {
            const double low = real_at(body, "low", c),
                         step = (real_at(body, "high", c) - low) / DS_PACK_LEVELS;
            for (uint64_t j = 0; j < from->count; j++) {
                const double v = ds_snapshot_at(s, k, b)[j * from->width + c];
                const unsigned got = q[(k * from->width + c) * from->count + j];
                assert_true(got != DS_PACK_NOTHING);
                /* Half a step, and the digits of low and high. */
                assert_true(fabs(low + got * step - v) <= 0.5 * step + 1e-8 * fabs(low) + 1e-8);
            }
        }
    }
    free(q);
}

static ds_snapshot *take(synthetic *s)
{
    ds_snapshot *d = NULL;
    ds_error e = {0};
    if (ds_snapshot_collect(&synthetic_ext, s, NULL, 0, &d, &e) != 0) {
        fail_msg("%s", e.text);
    }
    return d;
}

static ds_view_episode episode(ds_snapshot *s, const char *title)
{
    return (ds_view_episode){.title = strdup(title),
                             .env = strdup("synthetic"),
                             .opt = strdup(""),
                             .settings = strdup("variant 1"),
                             .loss = 0.25,
                             .whole = s->frames,
                             .scene = s};
}

/* ---- tests ---- */

static void test_numbers(void **state)
{
    synthetic s;
    page p;
    synthetic_init(&s);
    ds_view_episode item = episode(take(&s), "an episode");
    open_page(&p, &item, 1, 0);
    check_body(&p, 0, item.scene, SYN_SLAB, SYN_FRAMES);
    check_body(&p, 0, item.scene, SYN_TOOL, SYN_FRAMES);
    check_body(&p, 0, item.scene, SYN_TARGET, 1); /* what does not move is there once */
    check_body(&p, 0, item.scene, SYN_CLOTH, 1);
    check_body(&p, 0, item.scene, SYN_ROPE, 1);
    const json_t *e = episode_of(&p, 0), *metrics = json_object_get(e, "metrics");
    assert_true(json_number_value(json_object_get(e, "loss")) == 0.25);
    assert_true(fabs(real_at(json_array_get(metrics, 0), "values", 3) - 0.3) < 1e-9);
    assert_true(json_is_null(json_array_get(json_object_get(json_array_get(metrics, 1), "values"), 0)));
    unsigned char *index = block_of(&p, "i0-3", sizeof(uint32_t) * 6);
    uint32_t at = 0;
    for (size_t i = 0; i < 6; i++) {
        at += index[i] | (uint32_t)index[6 + i] << 8 | (uint32_t)index[12 + i] << 16 |
              (uint32_t)index[18 + i] << 24;
        assert_int_equal(at, s.triangles[i]);
    }
    free(index);
    close_page(&p);
    ds_view_episode_clear(&item);
}

/* Every fourth frame, and the last one; of each body and metric. */
static void test_every(void **state)
{
    static const uint64_t shown[] = {0, 4, 8, 10};
    synthetic s;
    page p;
    synthetic_init(&s);
    ds_view_episode item = episode(take(&s), "an episode");
    open_page(&p, &item, 1, 4);
    const json_t *frame = json_object_get(episode_of(&p, 0), "frame");
    assert_int_equal(json_array_size(frame), 4);
    uint16_t *q = numbers_of(&p, 0, SYN_TOOL);
    const double low = real_at(body_of(&p, 0, SYN_TOOL), "low", 1),
                 high = real_at(body_of(&p, 0, SYN_TOOL), "high", 1);
    for (size_t k = 0; k < 4; k++) {
        assert_int_equal(json_integer_value(json_array_get(frame, k)), shown[k]);
        const double y = low + q[7 * k + 1] * (high - low) / DS_PACK_LEVELS;
        assert_true(fabs(y - ds_snapshot_at(item.scene, shown[k], SYN_TOOL)[1]) < 1e-5);
        const json_t *iou = json_array_get(json_object_get(episode_of(&p, 0), "metrics"), 0);
        assert_true(fabs(real_at(iou, "values", k) - (double)shown[k] / 10) < 1e-9);
    }
    free(q);
    close_page(&p);
    ds_view_episode_clear(&item);
}

/* What is not finite or far away is not drawn, and costs the others no precision. */
static void test_nowhere(void **state)
{
    synthetic s;
    page p;
    synthetic_init(&s);
    ds_view_episode item = episode(take(&s), "an episode");
    double *data = item.scene->body[SYN_SLAB].data;
    data[3 * 7 + 1] = (double)NAN;
    data[3 * 8] = 1e9;
    data[3 * (SYN_POINTS + 9) + 2] = -(double)INFINITY;
    open_page(&p, &item, 1, 0);
    uint16_t *q = numbers_of(&p, 0, SYN_SLAB);
    assert_true(real_at(body_of(&p, 0, SYN_SLAB), "high", 0) < 1);
    for (size_t c = 0; c < 3; c++) {
        assert_int_equal(q[c * SYN_POINTS + 7], DS_PACK_NOTHING);
        assert_int_equal(q[c * SYN_POINTS + 8], DS_PACK_NOTHING);
        assert_int_equal(q[(3 + c) * SYN_POINTS + 9], DS_PACK_NOTHING);
        assert_true(q[c * SYN_POINTS + 6] != DS_PACK_NOTHING && q[c * SYN_POINTS + 9] != DS_PACK_NOTHING);
    }
    free(q);
    close_page(&p);
    ds_view_episode_clear(&item);
}

static size_t occurrences(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) {
        n++;
    }
    return n;
}

/* Titles, settings, units that try to get out of their place. */
static void test_evil(void **state)
{
    static const char *const evil[] = {"</script><script>alert(1)</script>",
                                       "\"><img src=x onerror=alert(1)>", "]]></style><!--<script>",
                                       "../../etc/passwd & 'x' \xe2\x80\xa8 \\u003c", "@SCRIPT@ @BLOCKS@"};
    enum { COUNT = sizeof evil / sizeof *evil };
    ds_view_episode item[COUNT];
    synthetic s;
    page p;
    synthetic_init(&s);
    for (size_t i = 0; i < COUNT; i++) {
        item[i] = episode(take(&s), evil[i]);
        free(item[i].settings);
        item[i].settings = strdup(evil[i]);
        snprintf(item[i].scene->metric[0].unit, sizeof item[i].scene->metric[0].unit, "%.31s", evil[i]);
    }
    open_page(&p, item, COUNT, 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_string_equal(json_string_value(json_object_get(episode_of(&p, i), "title")), evil[i]);
        assert_string_equal(json_string_value(json_object_get(episode_of(&p, i), "settings")), evil[i]);
    }
    /* Description, the page's script, and the blocks. */
    assert_int_equal(occurrences(p.text, "<script"), 2 + COUNT * (SYN_BODIES + 2));
    assert_int_equal(occurrences(p.text, "</script"), 2 + COUNT * (SYN_BODIES + 2));
    assert_int_equal(occurrences(p.text, "<style"), 1);
    assert_int_equal(occurrences(p.text, "</style"), 1);
    assert_int_equal(occurrences(p.text, "<img"), COUNT);
    assert_int_equal(occurrences(p.text, "<!--"), 0);
    assert_int_equal(occurrences(p.text, "alert(1)"),
                     3 * 2 + 2 + 1); /* texts and units; captions; the page's title */
    close_page(&p);
    for (size_t i = 0; i < COUNT; i++) {
        ds_view_episode_clear(&item[i]);
    }
}

/* 10000 particles of which each moves another way, in 51 frames, and as many of a target. */
static ds_snapshot *large(void)
{
    synthetic s;
    synthetic_init(&s);
    ds_snapshot *d = take(&s);
    ds_snapshot_body *slab = &d->body[SYN_SLAB];
    free(slab->data);
    slab->count = PARTICLES;
    slab->data = malloc(sizeof(double) * FRAMES * PARTICLES * 3);
    d->kept = d->frames = FRAMES;
    free(d->frame);
    d->frame = malloc(sizeof(uint64_t) * FRAMES);
    uint32_t random = 1;
    for (size_t k = 0; k < FRAMES; k++) {
        d->frame[k] = k;
        for (size_t i = 0; i < 3 * PARTICLES; i++) {
            random = random * 1664525u + 1013904223u;
            const double u = (double)(random >> 8) / 16777216.0;
            double *v = &slab->data[k * 3 * PARTICLES + i];
            *v = k == 0 ? 0.25 + 0.5 * u : v[-3 * PARTICLES] + 0.004 * (u - 0.5);
        }
    }
    for (size_t m = 0; m < SYN_METRICS; m++) {
        free(d->metric[m].values);
        d->metric[m].values = calloc(FRAMES, sizeof(double));
    }
    for (size_t b = 1; b < SYN_BODIES; b++) {
        const size_t n = (size_t)(d->body[b].count * d->body[b].width);
        d->body[b].data = realloc(d->body[b].data, sizeof(double) * n * FRAMES);
        for (size_t k = SYN_FRAMES; k < FRAMES; k++) {
            memcpy(d->body[b].data + k * n, d->body[b].data, sizeof(double) * n);
        }
    }
    return d;
}

static void test_size(void **state)
{
    page p;
    ds_view_episode item = episode(large(), "an episode");
    const clock_t start = clock();
    open_page(&p, &item, 1, 0);
    printf("# %zu bytes of %d particles in %d frames, %.2f s of the processor with reading it\n", p.size,
           PARTICLES, FRAMES, (double)(clock() - start) / CLOCKS_PER_SEC);
    assert_true(p.size < PAGE_LIMIT);
    check_body(&p, 0, item.scene, SYN_SLAB, FRAMES);
    close_page(&p);
    ds_view_episode_clear(&item);
}

/* A scene that cannot be played whole: frames are left out, the last one is not. */
static void test_many_frames(void **state)
{
    const ds_snapshot_body body = {.shape = DS_BODY_POINTS, .width = 3, .count = 100000};
    const ds_snapshot s = {.kept = 900, .bodies = 1, .body = (ds_snapshot_body[]){body}};
    ds_pack_frames frames;
    ds_error e = {0};
    assert_int_equal(ds_pack_frames_choose(&s, 0, 4, &frames, &e), 0);
    assert_true(frames.count * 300000 * 4 < DS_PACK_NUMBERS + 3 * 1200000 && frames.count > 10);
    assert_int_equal(frames.kept[0], 0);
    assert_int_equal(frames.kept[frames.count - 1], 899);
    free(frames.kept);
}

/* No page is left where it cannot be written. */
static void test_no_folder(void **state)
{
    synthetic s;
    synthetic_init(&s);
    ds_view_episode item = episode(take(&s), "an episode");
    const ds_view_episodes all = {.item = &item, .count = 1};
    ds_error e = {0};
    assert_int_equal(ds_view_page("/nowhere/at/all.html", &all, &e), DS_EXIT_IO);
    assert_non_null(strstr(e.text, "/nowhere/at"));
    ds_view_episode_clear(&item);
}

/* ---- requests to the live server ---- */

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

RUN_TESTS(test_numbers, test_every, test_nowhere, test_evil, test_size, test_many_frames, test_no_folder,
          test_cases, test_cut, test_changed)
