/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - for all fuzz targets: the entry point that libFuzzer and replay.c call, and an assertion that is
 * always active. */
#ifndef DS_TESTS_FUZZ_H
#define DS_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_REQUIRE(condition)                                                                              \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                    \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

#endif
