/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_recording.c - any bytes given to the reader of recordings: columns of numbers, or one line that says
 * where they are wrong. The checksums of an archive are corrected first, so that changes get past them. */
#include "config.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "engines/data/recording.h"
#include "tests/fuzz/fuzz.h"

static void parse(const uint8_t *data, size_t size, const recording_request *q, int cut)
{
    recording r;
    char error[RECORDING_ERROR] = "";
    const int status = recording_parse(&r, q, data, size, cut, error);
    if (status != RECORDING_OK) {
        FUZZ_REQUIRE(status == RECORDING_MALFORMED || status == RECORDING_NO_MEMORY);
        FUZZ_REQUIRE(error[0] != '\0' && r.value == NULL && r.time == NULL && r.rows == 0);
        return;
    }
    FUZZ_REQUIRE(r.rows >= 1 && r.rows <= RECORDING_ROWS && (q->rows == 0 || r.rows <= q->rows));
    FUZZ_REQUIRE(r.columns >= 1 && r.columns <= RECORDING_COLUMNS &&
                 (r.time != NULL) == (q->time[0] != '\0'));
    for (uint64_t k = 0; k < r.rows * r.columns; k++) {
        FUZZ_REQUIRE(isnan(r.value[k]) || fabs(r.value[k]) <= 1e12);
    }
    for (uint64_t i = 1; r.time != NULL && i < r.rows; i++) {
        FUZZ_REQUIRE(r.time[i] > r.time[i - 1]);
    }
    recording_free(&r);
}

static uint32_t little(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Corrects the checksum of members that are stored without compression. */
static void mend_checksums(uint8_t *data, size_t size)
{
    for (size_t at = 0; size >= 46 && at <= size - 46; at++) {
        if (memcmp(data + at, "PK\1\2", 4) != 0) {
            continue;
        }
        const size_t local = little(data + at + 42), length = little(data + at + 24);
        if (local > size || size - local < 30) {
            continue;
        }
        const size_t begin =
            local + 30 + (little(data + local + 26) & 0xffff) + (little(data + local + 26) >> 16);
        if (begin <= size && length <= size - begin) {
            const uLong sum = crc32(0, data + begin, (uInt)length);
            for (int i = 0; i < 4; i++) {
                data[at + 16 + (size_t)i] = (uint8_t)(sum >> (8 * i));
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const recording_request requests[] = {{.columns = "1", .time = ""},
                                                 {.columns = "2 3", .time = "1", .rows = 20},
                                                 {.columns = "a, b.2", .time = "t", .first = 1, .rows = 3},
                                                 {.columns = "angle", .time = "", .first = 2}};
    uint8_t *mended = malloc(size > 0 ? size : 1);
    FUZZ_REQUIRE(mended != NULL);
    memcpy(mended, data, size);
    mend_checksums(mended, size);
    for (size_t k = 0; k < sizeof requests / sizeof *requests; k++) {
        parse(data, size, &requests[k], k % 2 == 1);
        parse(mended, size, &requests[k], 0);
    }
    free(mended);
    return 0;
}
