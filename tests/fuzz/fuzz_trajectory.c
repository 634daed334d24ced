/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trajectory.c - any bytes given to the reader of recorded lifts: a recording that can be simulated, or
 * one line that names what is wrong. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "engines/physics/cloth/trajectory.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trajectory t;
    char error[512] = "";
    int status = trajectory_parse(&t, (const char *)data, size, error);
    if (status != 0) {
        FUZZ_REQUIRE(status <= 2 && error[0] != '\0' && strchr(error, '\n') == NULL && t.row == NULL);
        return 0;
    }
    FUZZ_REQUIRE(t.rows >= 1 && t.rows <= TRAJECTORY_MAX_ROWS && t.size[0] > 0 && t.size[1] > 0);
    FUZZ_REQUIRE(isfinite(t.size[0]) && isfinite(t.size[1]) && isfinite(t.rate));
    double before = -INFINITY;
    for (uint64_t i = 0; i < t.rows; i++) {
        const double *row = t.row + TRAJECTORY_COLUMNS * i;
        FUZZ_REQUIRE(row[0] > before && isfinite(row[0]));
        before = row[0];
        for (int k = 1; k < 4; k++) {
            FUZZ_REQUIRE(isfinite(row[k]));
        }
        for (int c = 0; c < 4; c++) { /* a corner is seen as a whole or not at all */
            const double *seen = row + 4 + 3 * c;
            FUZZ_REQUIRE((isfinite(seen[0]) && isfinite(seen[1]) && isfinite(seen[2])) ||
                         (isnan(seen[0]) && isnan(seen[1]) && isnan(seen[2])));
        }
    }
    trajectory_free(&t);
    return 0;
}
