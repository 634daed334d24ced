/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_slice.c - any texts for --axes, --from, --to, --center, --range and --grid (separated by line ends): a
 * slice whose points can be counted and are inside of the box or said not to be, or one line that says why
 * not. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "landscape/landscape_slice.h"
#include "tests/fuzz/fuzz.h"

enum { N = 3, TEXTS = 6 };

/* Other fuzz targets cover the parsers of files and runs: points are words here. */
static int is_word(const char *text)
{
    return text[0] == '\0' || strcmp(text, "start") == 0 || strcmp(text, "center") == 0 ||
           (strncmp(text, "random:", 7) == 0 && strchr(text, '/') == NULL);
}

static void check_slice(const ds_slice *s)
{
    uint64_t points = ds_slice_points(s);
    double x[N], c[2], back[2];
    FUZZ_REQUIRE(s->dims >= 1 && s->dims <= 2 && points >= 3 && points <= 4000000);
    for (int a = 0; a < s->dims; a++) {
        FUZZ_REQUIRE(s->low[a] < s->high[a] && s->label[a][0] != '\0');
    }
    for (uint64_t k = 0; k < points; k += 1 + points / 16) {
        ds_slice_grid(s, k, c);
        FUZZ_REQUIRE(isfinite(c[0]) && isfinite(c[1]));
        if (ds_slice_x(s, c, x)) {
            for (int i = 0; i < N; i++) {
                FUZZ_REQUIRE(x[i] >= s->lower[i] && x[i] <= s->upper[i]);
            }
            ds_slice_project(s, x, back);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const double lower[N] = {-1, 0, -3}, upper[N] = {1, 2, 5}, start[N] = {0, 0.5, 1};
    char line[TEXTS][200];
    memset(line, 0, sizeof line);
    for (int k = 0; k < TEXTS && size > 0; k++) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t n = end != NULL ? (size_t)(end - data) : size;
        memcpy(line[k], data, n < sizeof line[k] ? n : sizeof line[k] - 1);
        n += end != NULL;
        data += n;
        size -= n;
    }
    ds_slice_text text = {line[0], line[1], line[2], line[3], line[4], line[5]};
    ds_pool_env env = {.info = {.n = N}, .lower = lower, .upper = upper, .x0 = start};
    ds_slice_plan plan;
    ds_slice s;
    ds_error e = {0, ""};
    const char *key = NULL;
    char why[160] = "";
    if (!is_word(text.from) || !is_word(text.to) || !is_word(text.center)) {
        return 0;
    }
    int rc = ds_slice_parse(&text, &plan, &key, why);
    rc = rc != 0 ? rc : ds_slice_make(&plan, &text, "toy", &env, 1, &s, &key, why, &e);
    if (rc == 0) {
        check_slice(&s);
        ds_slice_free(&s);
    } else {
        FUZZ_REQUIRE(rc == -1 ? key != NULL && why[0] != '\0' : e.text[0] != '\0');
    }
    return 0;
}
