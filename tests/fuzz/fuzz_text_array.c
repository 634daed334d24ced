/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_text_array.c - any bytes given to the reader of text tables: a table of finite numbers, or one line
 * that says why not. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "config/npy.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ds_array a;
    ds_error e = {0};
    if (ds_array_parse_text(data, size, "input", 1 << 20, 3, &a, &e) != 0) {
        FUZZ_REQUIRE(e.status == 3 && e.text[0] != '\0' && a.data == NULL);
        return 0;
    }
    FUZZ_REQUIRE((a.ndim == 1 && a.shape[0] == a.size) || (a.ndim == 2 && a.shape[0] * a.shape[1] == a.size));
    for (uint64_t i = 0; i < a.size; i++) {
        FUZZ_REQUIRE(isfinite(a.data[i]));
    }
    ds_array_free(&a);
    return 0;
}
