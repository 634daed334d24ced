/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - for all fuzz targets: the entry point that libFuzzer and replay.c call, and an assertion that is
 * always active. */
#ifndef DS_TESTS_FUZZ_H
#define DS_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* An assertion that is always on. */
#define FUZZ_REQUIRE(condition)                                                                              \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                    \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* All targets; fuzz_NAME() starts from tests/fuzz/corpus/NAME. `store` is the first: it configures SQLite. */
/* clang-format off */
#define FUZZ_TARGETS(X) \
    X(store) X(bench) X(cloth) X(descriptor) X(elf) X(gmsh) X(ini) X(network) X(npy) X(obj) X(particles) \
    X(ply) X(png) X(policy) X(recording) X(robot) X(run_table) X(scene) X(set) X(slice) X(snapshot) X(soft) \
    X(stl) X(summary) X(tetgen) X(text_array) X(trajectory)
/* clang-format on */
#define FUZZ_DECLARE(name) int fuzz_##name(const uint8_t *data, size_t size);
FUZZ_TARGETS(FUZZ_DECLARE)

#endif
