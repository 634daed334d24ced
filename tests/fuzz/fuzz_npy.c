/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_npy.c - any bytes given to the reader of .npy files: an array that is consistent, or one line that
 * says why not. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "config/npy.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ds_array a;
    ds_error e = {0};
    if (ds_array_parse_npy(data, size, "input", 1 << 20, 3, &a, &e) != 0) {
        FUZZ_REQUIRE(e.status == 3 && e.text[0] != '\0' && a.data == NULL);
        return 0;
    }
    uint64_t n = 1;
    for (uint32_t k = 0; k < a.ndim; k++) {
        n *= a.shape[k];
    }
    FUZZ_REQUIRE(n == a.size && n > 0 && a.ndim <= DS_MAX_DIMENSIONS);
    for (uint64_t i = 0; i < n; i++) {
        FUZZ_REQUIRE(isfinite(a.data[i]));
    }
    ds_array_free(&a);
    return 0;
}
